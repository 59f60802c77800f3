"""`BatchedTensor`: a tensor that stands for many, one for each example of a `vmap`.

It looks like one example: its sizes are those without the batch dimension. Each `vmap` call has a level of its own,
counted up and never used again, so that a tensor that outlives its `vmap` (in a recorded graph) still means the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from opweave.registry.errors import DataDependentError
from opweave.registry.hooks import Hook
from opweave.registry.keys import BATCHED_BIT, GRAD
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, as_view, describe

_numbers = itertools.count(1)


class Level(int):
    """The number of one `vmap` call; an inner call's is greater than that of the calls around it.

    Attributes
    ----------
    size : int
        Number of examples.
    randomness : str
        What random ops do inside: "error", "different" or "same".
    """

    size: int
    randomness: str

    @classmethod
    def fresh(cls, size: int, randomness: str = "error") -> Level:
        """The level of a call that begins."""
        level = cls(next(_numbers))
        level.size, level.randomness = size, randomness
        return level


class BatchedTensor(Tensor):
    """One example's view of a batch.

    Attributes
    ----------
    value : Tensor
        The whole batch; batched itself where `vmap` is nested.
    bdim : int
        Its dimension that counts the examples.
    level : Level
        The `vmap` it belongs to; that of `value`, if it is batched too, is smaller.
    """

    __slots__ = ("value", "bdim", "level")

    value: Tensor
    bdim: int
    level: Level

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
        self._refuse("the data")

    def _refuse(self, what: str) -> NoReturn:
        raise DataDependentError(
            f"vmap: {what} of a batched tensor was asked for, which is another for each example", got=describe(self),
            hint="use opweave.where(condition, a, b) instead of `if`, and tensors instead of Python numbers",
        )  # fmt: skip

    def item(self) -> Any:
        """Refused: there is a value for each example."""
        self._refuse("item()")

    def tolist(self) -> Any:
        """Refused: there are values for each example."""
        self._refuse("tolist()")

    def numpy(self, *, force: bool = False) -> Any:
        """Refused: there is an array for each example."""
        self._refuse("numpy()")

    def data_ptr(self) -> int:
        """Refused: there is a place for each example."""
        self._refuse("data_ptr()")

    def __bool__(self) -> bool:
        self._refuse("the truth value")

    def __dlpack__(self, **kwargs: Any) -> Any:
        self._refuse("__dlpack__()")

    def __reduce__(self) -> Any:
        self._refuse("a pickle")

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copy = memo[id(self)] = ops.aten.clone.default(self.detach())
        return copy

    def __repr__(self) -> str:
        return f"BatchedTensor(level={int(self.level)}, bdim={self.bdim}, value={self.value!r})"

    def __format__(self, spec: str) -> str:
        return repr(self)


def make_batched(value: Tensor, bdim: int, level: Level) -> BatchedTensor:
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
    t._autograd = None
    return t


def levels_of(t: Any) -> tuple[Level, ...]:
    """The levels that a tensor is batched at, the innermost first."""
    found = []
    while isinstance(t, BatchedTensor):
        found.append(t.level)
        t = t.value
    return tuple(found)


def levels_among(tensors: Iterable[Tensor]) -> set[Level]:
    """All levels that any of the tensors is batched at."""
    return {level for t in tensors if t._keys & BATCHED_BIT for level in levels_of(t)}


def add_level(t: Tensor, dim: int, level: Level) -> BatchedTensor:
    """The tensor with a dimension made the examples of a level; without history."""
    if not isinstance(t, BatchedTensor) or t.level < level:
        return make_batched(t, dim, level)
    # The level belongs below one that the tensor has.
    place = dim if dim < t.bdim else dim + 1
    inner = add_level(t.value, place, level)
    return make_batched(inner, t.bdim if t.bdim < place else t.bdim - 1, t.level)


def remove_level(t: Tensor, level: Level) -> Tensor:
    """The tensor with the examples of a level as its first dimension; without history.

    One that is not batched at the level is stretched.
    """
    if not isinstance(t, BatchedTensor) or t.level < level:
        return ops.aten.expand.default(t, [level.size, *t._sizes])
    if t.level == level:
        return to_front(t.value, t.bdim)
    return make_batched(remove_level(t.value, level), t.bdim + 1, t.level)


def to_front(value: Tensor, dim: int) -> Tensor:
    """A view with a dimension moved to the front."""
    if dim == 0:
        return value
    return ops.aten.permute.default(value, [dim, *(d for d in range(value.ndim) if d != dim)])


#: `remove_level` with history; `registry.vmap.levels` supplies it, written with the graph that needs `sum_levels`.
leave: Hook[[Tensor, Level], Tensor] = Hook()


def sum_levels(t: Tensor, levels: Sequence[Level]) -> Tensor:
    """The sum over the examples of some levels; an unbatched tensor counts once for each example."""
    removed = leave.call or remove_level
    for level in levels:
        if level in levels_of(t):
            t = ops.aten.sum.dim_IntList(removed(t, level), [0])
        elif level.size != 1:
            t = ops.aten.mul.Tensor(t, level.size)
    return t
