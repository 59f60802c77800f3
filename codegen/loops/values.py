"""Scalar values of a kernel: what is computed for each point of its loops, before any choice of how.

Each sort of value is a class, so what reads them matches by class. Equal values are one object (`Values` makes them):
they compare by identity, and common subexpressions vanish by construction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from opweave.registry import dtypes
from opweave.registry.dataclass import dataclass
from opweave.registry.dtypes import DType
from opweave.registry.errors import CompileError, Site
from opweave.tracer.loops.index import Axis, Index
from opweave.tracer.loops.size import Poly, Size

Combine = Literal["sum", "prod", "max", "min", "argmax", "argmin"]


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory that a kernel reads or writes; its address is the first element, strides count elements."""

    name: str
    dtype: DType
    sizes: tuple[Size, ...]
    strides: tuple[Size, ...]

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype.short}{list(self.sizes)} strides {list(self.strides)}"


@dataclass(frozen=True, eq=False, repr=False)
class Value:
    """A scalar computed for each point of the axes it depends on.

    Attributes
    ----------
    dtype : DType
        Type of the value.
    args : tuple of Value
        Operands.
    label, site : str, Site
        The op and the user's line it comes from.
    axes : frozenset of Axis
        What it varies with.
    depth : int
        How many reductions lie on the longest way to it.
    """

    dtype: DType
    args: tuple[Value, ...]
    label: str
    site: Site | None
    axes: frozenset[Axis] = field(init=False)
    depth: int = field(init=False)

    def __post_init__(self) -> None:
        inputs = [arg.axes for arg in self.args] + [index.axes() for index in self.indices()]
        object.__setattr__(self, "axes", self._varies(frozenset[Axis]().union(*inputs)))
        object.__setattr__(self, "depth", self._nested(max([arg.depth for arg in self.args], default=0)))

    def indices(self) -> tuple[Index, ...]:
        """Index expressions in the value itself."""
        return ()

    def _varies(self, axes: frozenset[Axis]) -> frozenset[Axis]:
        """What it varies with, of operands and indices that vary with these axes."""
        return axes

    def _nested(self, depth: int) -> int:
        """Its depth, of operands that are so deep."""
        return depth


@dataclass(frozen=True, eq=False, repr=False)
class Const(Value):
    """A number that is known."""

    value: bool | int | float


@dataclass(frozen=True, eq=False, repr=False)
class Number(Value):
    """A number that is known when the kernel is launched: a size, or what a trace leaves open."""

    size: Poly


@dataclass(frozen=True, eq=False, repr=False)
class Position(Value):
    """An index as a value."""

    index: Index

    def indices(self) -> tuple[Index, ...]:
        return (self.index,)


@dataclass(frozen=True, eq=False, repr=False)
class Read(Value):
    """An element of a buffer."""

    buffer: Buffer
    offset: Index

    def indices(self) -> tuple[Index, ...]:
        return (self.offset,)


@dataclass(frozen=True, eq=False, repr=False)
class Load(Read):
    """The element at an offset; 0 where the operand, if there is one, does not hold."""

    @property
    def inside(self) -> Value | None:
        """Where the load happens; None if everywhere."""
        return self.args[0] if self.args else None


@dataclass(frozen=True, eq=False, repr=False)
class Gather(Read):
    """The element at an offset and a computed number, if that is inside the buffer; `where` tells in messages."""

    where: str

    @property
    def more(self) -> Value:
        """What is added to the offset."""
        return self.args[0]

    @property
    def inside(self) -> Value:
        """Whether the place is inside the buffer."""
        return self.args[1]


@dataclass(frozen=True, eq=False, repr=False)
class Require(Value):
    """Its first operand; what to report where the second does not hold."""

    message: str

    @property
    def kept(self) -> Value:
        """The value."""
        return self.args[0]

    @property
    def holds(self) -> Value:
        """What is to hold wherever it is computed."""
        return self.args[1]


@dataclass(frozen=True, eq=False, repr=False)
class Reduce(Value):
    """One number of all along the reduced axes.

    That of `"argmax"` and `"argmin"` has a second operand, the position, and is the position of the best.
    """

    combine: Combine
    over: frozenset[Axis]

    def _varies(self, axes: frozenset[Axis]) -> frozenset[Axis]:
        return axes - self.over

    def _nested(self, depth: int) -> int:
        return depth + 1


@dataclass(frozen=True, eq=False, repr=False)
class Best(Value):
    """The value at the position that a reduction found."""

    @property
    def reduction(self) -> Value:
        """The reduction."""
        return self.args[0]


@dataclass(frozen=True, eq=False, repr=False)
class Scan(Value):
    """A running total along the reduced axes: of the value and all before it, or behind it."""

    combine: Literal["sum", "prod"]
    backwards: bool
    along: frozenset[Axis]

    def _varies(self, axes: frozenset[Axis]) -> frozenset[Axis]:
        return axes | self.along


@dataclass(frozen=True, eq=False, repr=False)
class Prim(Value):
    """A function of the scalar vocabulary (`spec.PRIMITIVES`)."""

    name: str


@dataclass(frozen=True, eq=False, repr=False)
class Extern(Value):
    """A function of libdevice, by its name there."""

    name: str


def topological(roots: Sequence[Value]) -> list[Value]:
    """Values that the roots need, operands first, without recursion (chains can be long)."""
    result: list[Value] = []
    seen: set[Value] = set()
    stack: list[tuple[Value, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        value, ready = stack.pop()
        if ready:
            result.append(value)
        elif value not in seen:
            seen.add(value)
            stack.append((value, True))
            stack.extend((arg, False) for arg in reversed(value.args) if arg not in seen)
    return result


class Values:
    """Makes values; equal ones are one object."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Value] = {}
        self.label = ""
        self.site: Site | None = None

    def _one(self, kind: type[Value], dtype: DType, args: tuple[Value, ...], *own: Hashable) -> Value:
        """The value of a class with these fields."""
        return self._known.get(key := (kind, dtype, args, own)) or self._new(key, kind, dtype, args, *own)

    def _new(self, key: Hashable, kind: Callable[..., Value], *parts: Any) -> Value:
        dtype, args, *own = parts
        made = self._known[key] = kind(dtype, args, self.label, self.site, *own)
        return made

    def load(self, buffer: Buffer, offset: Index, inside: Value | None = None) -> Value:
        """A buffer's element; 0 where it is not `inside`."""
        return self._one(Load, buffer.dtype, () if inside is None else (inside,), buffer, offset)

    def gather(self, buffer: Buffer, offset: Index, more: Value, inside: Value, where: str) -> Value:
        """The element at `offset` and `more`, if that is `inside` the buffer; `where` tells in messages."""
        return self._one(Gather, buffer.dtype, (more, inside), buffer, offset, where)

    def require(self, value: Value, holds: Value, message: str) -> Value:
        """The value itself, and a check that `holds` wherever it is computed."""
        return self._one(Require, value.dtype, (value, holds), message)

    def position(self, index: Index, dtype: DType = dtypes.int64) -> Value:
        """An index as a value."""
        if not index.terms:
            return self.const(index.const, dtype) if isinstance(index.const, int) else self.number(index.const, dtype)
        return self._one(Position, dtype, (), index)

    def number(self, size: Poly, dtype: DType) -> Value:
        """A number that is known when the kernel is launched."""
        return self._one(Number, dtype, (), size)

    def const(self, value: complex, dtype: DType) -> Value:
        """A constant, wrapped or rounded to what the type can hold."""
        number = bool(value) if dtype.kind == "b" else _as_float(value) if dtype.kind == "f" else _wrap(value, dtype)
        # NaN, the two zeros, and numbers of different types that Python takes for equal.
        key = (Const, dtype, type(number), repr(number))
        return self._known.get(key) or self._new(key, Const, dtype, (), number)

    def prim(self, name: str, args: Iterable[Value], dtype: DType) -> Value:
        """A function of the scalar vocabulary."""
        return self._one(Prim, dtype, tuple(args), name)

    def extern(self, name: str, args: Iterable[Value], dtype: DType) -> Value:
        """A function of libdevice."""
        return self._one(Extern, dtype, tuple(args), name)

    def reduce(self, combine: Combine, args: Iterable[Value], dtype: DType, over: Iterable[Axis]) -> Value:
        """`combine` of a value over the reduced axes; argmax and argmin also take the position to report."""
        return self._one(Reduce, dtype, tuple(args), combine, frozenset(over))

    def best(self, reduction: Value) -> Value:
        """The value at the position that a reduction reports."""
        return self._one(Best, reduction.args[0].dtype, (reduction,))

    def scan(
        self, combine: Literal["sum", "prod"], backwards: bool, arg: Value, dtype: DType, along: Iterable[Axis]
    ) -> Value:
        """`combine` of a value and all before it along the reduced axes, or behind it."""
        return self._one(Scan, dtype, (arg,), combine, backwards, frozenset(along))

    def again(
        self, value: Value, args: Sequence[Value], at: Mapping[Axis, Index] | None = None, over: Iterable[Axis] = ()
    ) -> Value:
        """A value of another maker again.

        Parameters
        ----------
        value : Value
            The value.
        args : sequence of Value
            Its operands, made here.
        at : mapping of Axis to Index, optional
            What axes are replaced by.
        over : iterable of Axis
            The reduced axes as they are now.
        """
        self.label, self.site = value.label, value.site
        match value:
            case Const():
                return self.const(value.value, value.dtype)
            case Number():
                return self.number(value.size, value.dtype)
            case Position():
                return self.position(_with(value.index, at), value.dtype)
            case Load():
                return self.load(value.buffer, _with(value.offset, at), *args)
            case Gather():
                return self.gather(value.buffer, _with(value.offset, at), args[0], args[1], value.where)
            case Require():
                return self.require(args[0], args[1], value.message)
            case Reduce():
                return self.reduce(value.combine, args, value.dtype, over)
            case Best():
                return self.best(args[0])
            case Scan():
                return self.scan(value.combine, value.backwards, args[0], value.dtype, over)
            case Prim():
                return self.prim(value.name, args, value.dtype)
            case Extern():
                return self.extern(value.name, args, value.dtype)
            case _:
                raise TypeError(f"no sort of value: {type(value).__name__}")


def _with(index: Index, axes: Mapping[Axis, Index] | None) -> Index:
    return index if axes is None else index.substitute(axes)


def _as_float(value: complex) -> float:
    if isinstance(value, complex):
        raise CompileError("a complex constant in a kernel", got=repr(value))
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _wrap(value: complex, dtype: DType) -> int:
    if isinstance(value, complex):
        raise CompileError("a complex constant in a kernel", got=repr(value))
    bits = dtype.itemsize * 8
    number = int(value) & ((1 << bits) - 1)
    return number - (1 << bits) if dtype.kind == "i" and number >> (bits - 1) else number
