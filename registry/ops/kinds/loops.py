"""What a kind is told of a call that may become part of a kernel, and of the kernel's loops.

A kernel runs over axes. A kind says at which indices it needs its operands for the index at which it is needed, and
whether it fits among the axes; the tracer keeps the books (`tracer.iteration`) and has the arithmetic (`tracer.index`).
Sizes are ints or polynomials in sizes that are not fixed, indices integer expressions over axes: both have Python's
operators, and a kind needs to know no more of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

Size = Any
Axis = Any
Index = Any


class Guard(NamedTuple):
    """Where a piece lies: `start <= position < stop`."""

    position: Index
    start: Size
    stop: Size


@dataclass(frozen=True, slots=True)
class Demand:
    """An index at which a value is needed where all guards hold; `exact` if all its elements are, each once."""

    index: tuple[Index, ...]
    exact: bool
    guards: tuple[Guard, ...] = ()

    @property
    def axes(self) -> frozenset[Axis]:
        """What the index depends on."""
        return frozenset[Axis]().union(*[part.axes() for part in self.index])

    def at(self, index: tuple[Index, ...], exact: bool = False) -> Demand:
        """What an operand is needed at, under the same guards."""
        return Demand(index, exact and not self.guards, self.guards)

    def within(self, dim: int, start: Size, stop: Size) -> Demand:
        """Where a piece is needed that lies from `start` to `stop` in a dimension."""
        index = list(self.index)
        guard = Guard(index[dim], start, stop)
        index[dim] = index[dim] + -1 * start
        return Demand(tuple(index), False, (*self.guards, guard))

    def same(self, other: Demand) -> bool:
        """Whether the same elements are needed at the same points."""
        return self.index == other.index and self.guards == other.guards


class Operand(Protocol):
    """A tensor of a call; `sizes` are as kernels count them, `_sizes` the trace's own numbers."""

    @property
    def ndim(self) -> int: ...
    @property
    def sizes(self) -> tuple[Size, ...]: ...
    @property
    def _sizes(self) -> tuple[Any, ...]: ...
    @property
    def _dtype(self) -> Any: ...
    @property
    def _device(self) -> Any: ...


class Indices(Protocol):
    """Arithmetic of indices; see `tracer.index`."""

    @property
    def ZERO(self) -> Index: ...
    def linearize(self, index: Sequence[Index], strides: Sequence[Size], /) -> Index: ...
    def broadcast(self, index: Sequence[Index], sizes: Sequence[Size], out: Sequence[Size], /) -> tuple[Index, ...]: ...
    def regroup(
        self, index: Sequence[Index], sizes: Sequence[Size], target: Sequence[Size], /
    ) -> tuple[Index, ...]: ...
    def can_regroup(self, sizes: Sequence[Size], target: Sequence[Size], /) -> bool: ...
    def runs_backwards(self, axis: Axis, part: Index, /) -> bool | None: ...


class Call(Protocol):
    """A call of an op.

    Attributes
    ----------
    node : object
        What stands for it in the tracer.
    args, kwargs : arguments
        As they were given; what is done with them need not look at tensors.
    result : Operand
        What it gives.
    operands : sequence of Operand
        The tensors among its arguments, each once.
    indices : Indices
        The arithmetic.
    memo : dict
        What a kind remembers of the call.
    """

    @property
    def node(self) -> Any: ...
    @property
    def args(self) -> tuple[Any, ...]: ...
    @property
    def kwargs(self) -> Any: ...
    @property
    def result(self) -> Operand: ...
    @property
    def operands(self) -> Sequence[Operand]: ...
    @property
    def indices(self) -> Indices: ...
    @property
    def memo(self) -> dict[str, Any]: ...

    def arguments(self) -> list[Any]:
        """The arguments in the schema's order, defaults filled in, an `Operand` for each tensor."""
        ...

    def size(self, value: Any, least: int = 1) -> Size:
        """A number of the trace that is at least `least`, as kernels count."""
        ...

    def is_known(self, condition: Any) -> bool:
        """Whether a comparison of the trace's numbers holds for all values that they may have."""
        ...


class Space(Protocol):
    """The axes of a kernel and what is evaluated in it.

    Attributes
    ----------
    kept, reduced : list of Axis
        Axes of the results, and axes that reductions run over.
    frames : dict
        Shapes that results have, with their index.
    """

    kept: list[Any]
    reduced: list[Any]
    frames: dict[tuple[Size, ...], tuple[Index, ...]]

    def add_reduced(self, sizes: Sequence[Size]) -> None:
        """Run over more axes, of these sizes, for each of the kept ones."""
        ...

    def reduced_index(self, sizes: Sequence[Size]) -> Sequence[Index]:
        """The reduced axes as an index into dimensions of these sizes."""
        ...

    def runs_over(self, sizes: Sequence[Size], demand: Demand) -> bool:
        """Whether a demand is for all elements of a tensor, each once for the kept axes or for all axes."""
        ...

    def join(self, call: Call, demands: Sequence[Demand], source: tuple[Index, ...] | None = None) -> None:
        """Make the call a member, needed at the demands; a reduction needs its operand at `source`."""
        ...

    def source_of(self, call: Call) -> tuple[Index, ...]:
        """Where a reduction that is a member needs its operand."""
        ...
