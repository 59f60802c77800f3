"""Fused regions as loops: what one kernel computes, and how it runs.

`steps` has the way from a region to what is printed as a script. In between stands a `LoopNest` (`nest`) of typed
values (`values`), which prints as text (`printing`) and has rules (`spec`).
"""
