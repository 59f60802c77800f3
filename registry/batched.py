"""`BatchedTensor`: a tensor that stands for many, one for each example of a `vmap`.

It looks like one example: its sizes are those without the batch dimension. Each `vmap` call has a level of its own,
counted up and never used again, so that a tensor that outlives its `vmap` (in a recorded graph) still means the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from opweave.registry.keys import BATCHED_BIT, GRAD
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, as_view


class BatchedTensor(Tensor):
    """One example's view of a batch.

    Attributes
    ----------
    value : Tensor
        The whole batch; batched itself where `vmap` is nested.
    bdim : int
        Its dimension that counts the examples.
    level : int
        The `vmap` it belongs to; that of `value`, if it is batched too, is smaller.
    """

    __slots__ = ("value", "bdim", "level")

    value: Tensor
    bdim: int
    level: int

    def _make_view(self, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int) -> BatchedTensor:
        value = self.value
        size, stride = value._sizes[self.bdim], value._strides[self.bdim]
        whole = as_view(value, (size, *sizes), (stride, *strides), offset)
        return make_batched(whole, 0, self.level)

    @property
    def batch_size(self) -> int:
        """Number of examples."""
        return self.value._sizes[self.bdim]

    @property
    def _array(self) -> Any:
        raise AttributeError("a batched tensor has no data of its own")


def make_batched(value: Tensor, bdim: int, level: int) -> BatchedTensor:
    """A batch as a tensor of one example; without history (see `registry.vmap` for that)."""
    t = BatchedTensor.__new__(BatchedTensor)
    t.value, t.bdim, t.level = value, bdim, level
    t._storage = value._storage
    t._sizes = (*value._sizes[:bdim], *value._sizes[bdim + 1 :])
    t._strides = (*value._strides[:bdim], *value._strides[bdim + 1 :])
    t._offset = value._offset
    t._dtype = value._dtype
    t._device = value._device
    t._keys = (value._keys & ~GRAD) | BATCHED_BIT
    t._cached = None
    t._view_of = None
    return t


def levels_of(t: Any) -> tuple[int, ...]:
    """The levels that a tensor is batched at, the innermost first."""
    found = []
    while isinstance(t, BatchedTensor):
        found.append(t.level)
        t = t.value
    return tuple(found)


def levels_among(tensors: Iterable[Tensor]) -> set[int]:
    """All levels that any of the tensors is batched at."""
    return {level for t in tensors if t._keys & BATCHED_BIT for level in levels_of(t)}


def sum_levels(t: Tensor, levels: Sequence[int]) -> Tensor:
    """The sum over the examples of some levels."""
    if not isinstance(t, BatchedTensor):
        return t
    if t.level in levels:
        return sum_levels(ops.aten.sum.dim_IntList(t.value, [t.bdim]), levels)
    inner = sum_levels(t.value, levels)
    if inner is t.value:
        return t
    # A dimension further left than the example's own went, if the sum took one before it.
    return make_batched(inner, t.bdim, t.level)
