"""Scalar values of a kernel: what is computed for each point of its loops, before any choice of how.

Equal values are one object (`Values` makes them), so common subexpressions vanish by construction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.errors import CompileError, Site
from opweave.tracer.index import Axis, Index
from opweave.tracer.size import Poly, Size


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory that a kernel reads or writes; its address is the first element, strides count elements."""

    name: str
    dtype: DType
    sizes: tuple[Size, ...]
    strides: tuple[Size, ...]

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype.short}{list(self.sizes)} strides {list(self.strides)}"


@dataclass(frozen=True, eq=False)
class Value:
    """A scalar computed for each point of the axes it depends on.

    Attributes
    ----------
    op : str
        `"load"`, `"gather"`, `"index"`, `"const"`, `"size"`, `"reduce"`, `"require"`, or a name of the scalar
        vocabulary. A load may have an operand that says where it happens; it is 0 elsewhere. A gather loads from a
        place that its first operand is added to; its second says whether that is inside the buffer. `"require"` is its
        first operand, and reports where the second does not hold.
    args : tuple of Value
        Operands.
    dtype : DType
        Type of the value.
    axes : frozenset of Axis
        What it varies with.
    detail : object
        Constant, index, size (a `Poly`), (buffer, offset) of a load, with what to say of a wrong place of a gather,
        what to say where a requirement does not hold, or combine of a reduction ("sum", "prod", "max", "min",
        "argmax", "argmin"; the last two have a second operand, the position to report).
    label, site : str, Site
        The op and the user's line it comes from.
    depth : int
        How many reductions lie on the longest way to it.
    """

    op: str
    args: tuple[Value, ...]
    dtype: DType
    axes: frozenset[Axis]
    detail: object
    label: str
    site: Site | None
    depth: int


def load_parts(value: Value) -> tuple[Buffer, Index]:
    """Buffer and offset of a load or gather."""
    detail = value.detail
    assert isinstance(detail, tuple)
    return detail[0], detail[1]


def indices_of(value: Value) -> Iterator[Index]:
    """Index expressions in a value itself."""
    if value.op in ("load", "gather"):
        yield load_parts(value)[1]
    elif value.op == "index":
        assert isinstance(value.detail, Index)
        yield value.detail


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
        self._known: dict[object, Value] = {}
        self.label = ""
        self.site: Site | None = None

    def make(self, op: str, args: tuple[Value, ...], dtype: DType, detail: object = None) -> Value:
        """The value of an operation."""
        key = (op, args, dtype, detail if op != "const" else (type(detail), repr(detail)))
        found = self._known.get(key)
        if found is None:
            axes = frozenset[Axis]().union(*[arg.axes for arg in args])
            found = Value(op, args, dtype, axes, detail, self.label, self.site, max((a.depth for a in args), default=0))
            own = frozenset[Axis]().union(*[index.axes() for index in indices_of(found)])
            found = self._known[key] = replace(found, axes=axes | own)
        return found

    def load(self, buffer: Buffer, offset: Index, inside: Value | None = None) -> Value:
        """A buffer's element; 0 where it is not `inside`."""
        return self.make("load", () if inside is None else (inside,), buffer.dtype, (buffer, offset))

    def gather(self, buffer: Buffer, offset: Index, more: Value, inside: Value, where: str) -> Value:
        """The element at `offset` and `more`, if that is `inside` the buffer; `where` tells in messages."""
        return self.make("gather", (more, inside), buffer.dtype, (buffer, offset, where))

    def require(self, value: Value, holds: Value, message: str) -> Value:
        """The value itself, and a check that `holds` wherever it is computed."""
        return self.make("require", (value, holds), value.dtype, message)

    def index(self, index: Index, dtype: DType = dtypes.int64) -> Value:
        """An index as a value."""
        if not index.terms:
            return self.const(index.const, dtype) if isinstance(index.const, int) else self.size(index.const, dtype)
        return self.make("index", (), dtype, index)

    def size(self, size: Poly, dtype: DType) -> Value:
        """A number that is known when the kernel is launched."""
        return self.make("size", (), dtype, size)

    def const(self, value: complex | bool, dtype: DType) -> Value:
        """A constant, wrapped or rounded to what the type can hold."""
        if dtype.kind == "b":
            value = bool(value)
        elif dtype.kind == "f":
            value = _as_float(value)
        elif dtype.kind in "iu":
            value = _wrap(value, dtype)
        return self.make("const", (), dtype, value)

    def reduce(self, combine: str, args: tuple[Value, ...], dtype: DType, reduced: Sequence[Axis]) -> Value:
        """`combine` of a value over the reduced axes; argmax and argmin also take the position to report."""
        found = self.make("reduce", args, dtype, combine)
        if found.depth == max(arg.depth for arg in args):
            axes = frozenset[Axis]().union(*[arg.axes for arg in args]) - frozenset(reduced)
            found = self._known["reduce", args, dtype, combine] = replace(found, axes=axes, depth=found.depth + 1)
        return found

    def scan(self, combine: str, arg: Value, dtype: DType, reduced: Sequence[Axis]) -> Value:
        """`combine` of a value and all before it along the reduced axes."""
        found = self.make("scan", (arg,), dtype, combine)
        axes = arg.axes | frozenset(reduced)
        if found.axes != axes:
            found = self._known["scan", (arg,), dtype, combine] = replace(found, axes=axes)
        return found


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
