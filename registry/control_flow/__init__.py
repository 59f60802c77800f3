"""Control flow as ops: `cond`, `while_loop`, `scan`, `associative_scan`, `map`.

==============  ======================================================================================
module          content
==============  ======================================================================================
`operators`     the higher-order ops, on flat tuples of tensors: what runs eagerly and under `vmap`
`functions`     what a user calls, on pytrees (loaded when it is first used, since it needs pytrees)
==============  ======================================================================================
"""

from __future__ import annotations

from opweave.registry.control_flow import operators

__all__ = ["operators"]
