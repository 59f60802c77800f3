"""`vmap`: a function of one example run on a whole batch.

==============  ======================================================================================
module          content
==============  ======================================================================================
`levels`        active calls, and the way into and out of a batch, with history
`rules`         what ops of each kind do with batched tensors
`explicit`      the ops whose rule does not follow from their kind
`randomness`    random ops inside `vmap`
`custom`        rules that users register, for ops and for `autograd.Function`
`transform`     `vmap` itself (loaded when it is first used, since it needs pytrees)
==============  ======================================================================================

The key of batched tensors stands below Autograd: the tape records ops on batched tensors, and its nodes mean the same
whether they run inside or after the `vmap`.
"""

from __future__ import annotations

from opweave.registry.vmap import indexing, randomness
from opweave.registry.vmap.custom import VmapInfo, call_batch_rule
from opweave.registry.vmap.levels import add_batch_dim, lift, remove_batch_dim

__all__ = ["VmapInfo", "add_batch_dim", "call_batch_rule", "indexing", "lift", "randomness", "remove_batch_dim"]
