"""What a kind is told of a call that may become part of a kernel, and of the kernel's loops.

A kernel runs over axes. A kind says at which indices it needs its operands for the index at which it is needed, and
whether it fits among the axes; `tracer.loops` keeps the books and has the arithmetic. Then the kind computes the call's
value at each such index, with what a `Point` offers (`codegen.loops`). Sizes are ints or polynomials in sizes that are
not fixed, indices integer expressions over axes: both have Python's operators, and a kind needs to know no more.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from opweave.registry.dataclass import dataclass
from opweave.registry.dtypes import DType
from opweave.registry.scalar import Scalars, Value

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
        """What an operand is needed at, under the guards that it depends on.

        An index without the axes of a guard's position is the same where the guard holds and where it does not, so
        there is an element in either case: the mean of a row that is laid side by side is one value.
        """
        if not self.guards:
            return Demand(index, exact)
        found = Demand(index, False)
        axes = found.axes
        return Demand(index, False, tuple(g for g in self.guards if not g.position.axes() or g.position.axes() & axes))

    def within(self, dim: int, start: Size, stop: Size) -> Demand:
        """Where a piece is needed that lies from `start` to `stop` in a dimension."""
        index = list(self.index)
        guard = Guard(index[dim], start, stop)
        index[dim] = index[dim] + -1 * start
        return Demand(tuple(index), False, (*self.guards, guard))

    def same(self, other: Demand) -> bool:
        """Whether the same elements are needed at the same points."""
        return self.index == other.index and self.guards == other.guards


class Operand:
    """A tensor of a call; `sizes` are as kernels count them, `_sizes` the trace's own numbers."""

    __slots__ = ()

    @property
    def value(self) -> Any:
        """What stands for it in the trace, without data; of a number that the trace has open, that."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        raise NotImplementedError

    @property
    def sizes(self) -> tuple[Size, ...]:
        raise NotImplementedError

    @property
    def _sizes(self) -> tuple[Any, ...]:
        raise NotImplementedError

    @property
    def _dtype(self) -> DType:
        raise NotImplementedError

    @property
    def _device(self) -> Any:
        raise NotImplementedError


class Indices(Protocol):
    """Arithmetic of indices; see `tracer.loops.index`."""

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


class KernelScalars(Scalars):
    """Makes the values of a kernel: the vocabulary that op bodies have, and what kernels have besides."""

    @abstractmethod
    def op(self, name: str, *args: Value, dtype: DType | None = None) -> Value:
        """A primitive of kernels; its type is that of its first operand unless given."""

    @abstractmethod
    def extern(self, name: str, args: Sequence[Value], dtype: DType) -> Value:
        """A function of libdevice."""


class Point(Protocol):
    """An index at which a call is evaluated, and what can be computed there.

    Attributes
    ----------
    k : KernelScalars
        Makes the values; what op bodies are called with.
    demand : Demand
        The index, and where it counts.
    space : Space
        The kernel's axes.
    """

    @property
    def k(self) -> KernelScalars: ...
    @property
    def demand(self) -> Demand: ...
    @property
    def space(self) -> Space: ...

    def value(self, operand: Operand, demand: Demand, /) -> Value:
        """An operand's element at an index, one of those that the kind demands."""
        ...

    def number(self, value: Any, dtype: DType, /) -> Value:
        """A Python number in a tensor's place."""
        ...

    def position(self, index: Index, /) -> Value:
        """A part of an index as a value."""
        ...

    def gather(self, source: Operand, at: Sequence[Index | Value], wraps: bool, /) -> Value:
        """The element of an operand that lies in memory, at places some of which are computed, and checked.

        Where it `wraps`, negative ones count from the end.
        """
        ...

    def scatter(self, value: Value, at: Sequence[Index | Value], wraps: bool, accumulate: bool, /) -> None:
        """Store a value, or add it to what is there, at such a place of the result."""
        ...

    def select(self, pieces: Sequence[tuple[Value, Demand]], /) -> Value:
        """Of values that lie side by side the one whose innermost guard holds."""
        ...

    def reduce(self, combine: str, value: Value, along: Sequence[tuple[Index, Size]], /) -> Value:
        """Combine the values along dimensions into one; of `"argmax"` and `"argmin"`, where among them the best is.

        Parameters
        ----------
        combine : str
            A key of `COMBINES`.
        value : Value
            What is combined.
        along : sequence of (Index, Size)
            The operand's index in each dimension that is reduced, and its size there.
        """
        ...

    def scan(self, combine: str, value: Value, backwards: bool, /) -> Value:
        """The `"sum"` or `"prod"` of a value and all before it along the reduced axis, or behind it."""
        ...
