"""The host program of a graph: what happens on the host at each call, as data until it is printed.

`build` makes steps of a graph, passes (`reuse`, `group`, `epilogue`, `lifetimes`, `kernels`) decide, `spec` checks,
`text` shows, and `python` prints; `codegen.wrapper` is that as a script.
"""
