"""The rules of loop nests and of their schedules: what every step relies on and leaves so.

With `OPWEAVE_VERIFY=1`, as in tests, they are checked after each step (`codegen.loops.steps`). Sizes that are not fixed
are looked at as they are in the example.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields

from opweave.codegen.loops.nest import LoopNest, Store
from opweave.codegen.loops.printing import describe, names_of
from opweave.codegen.loops.schedule import Schedule
from opweave.codegen.loops.values import (
    Best,
    Buffer,
    Const,
    Extern,
    Gather,
    Load,
    Number,
    Position,
    Prim,
    Read,
    Reduce,
    Require,
    Scan,
    Value,
)
from opweave.registry.dtypes import DType
from opweave.registry.errors import CompileError
from opweave.registry.scalar import UNARY_FLOAT
from opweave.tracer.loops.index import Axis, Index
from opweave.tracer.loops.size import Size, hint, variables_in

#: Whether each step is checked.
checks = os.environ.get("OPWEAVE_VERIFY", "0") not in ("", "0")


class LoopError(CompileError):
    """A nest or a schedule that breaks the rules: a mistake of the compiler, not of its user."""


def verify(nest: LoopNest) -> None:
    """Check a nest: its axes, and of each value and store the types, the axes and where it reads or writes.

    Raises
    ------
    LoopError
        With the value or store that breaks a rule, as it is printed.
    """
    for fault in _axes_faults(nest):
        raise LoopError(f"loops of {', '.join(nest.names)}: {fault}", got=str(nest), at="codegen.loops")
    names = names_of(nest)
    known: dict[object, Value] = {}
    for value in nest.values():
        twin = known.setdefault(_key(value), value)
        faults = [*_value_faults(nest, value), *(["there is an equal value"] if twin is not value else [])]
        for fault in faults:
            raise LoopError(f"{describe(value, names)}: {fault}", got=str(nest), at=value.site or "codegen.loops")
    for store in nest.stores:
        for fault in _store_faults(nest, store):
            name = store.buffer.name
            raise LoopError(f"store to {name}: {fault}", got=str(nest), at=store.site or "codegen.loops")


def verify_schedule(nest: LoopNest, schedule: Schedule) -> None:
    """Check that a schedule runs a nest: along each of its axes, once.

    Raises
    ------
    LoopError
        With the rule that is broken.
    """
    for fault in _schedule_faults(nest, schedule):
        raise LoopError(f"schedule of {', '.join(nest.names)}: {fault}", got=f"{nest}\n{schedule}", at="codegen.loops")


# ---- axes and schedules --------------------------------------------------------------------------------------------


def _axes_faults(nest: LoopNest) -> Iterator[str]:
    axes = [*nest.kept, *nest.reduced]
    if len(set(axes)) != len(axes):
        yield "an axis runs twice"
    for axis in axes:
        if axis.size == 1 or axis.size == 0:  # an open size may be 0 where it was traced: nothing is launched then
            yield f"no loop runs along {axis!r}"
    if len({*nest.inputs, *nest.outputs}) != len(nest.inputs) + len(nest.outputs):
        yield "two parameters are one buffer"


def _schedule_faults(nest: LoopNest, schedule: Schedule) -> Iterator[str]:
    lanes = schedule.lanes
    axes = [*(lane.axis for lane in lanes), *schedule.scalars, *schedule.loops]
    if len(axes) != len(set(axes)) or set(axes) != {*nest.kept, *nest.reduced}:
        yield "it does not run along each axis once"
    if len(lanes) > 2:
        yield "a tile has two dimensions at most"
    if schedule.reduced_lane is not None and schedule.reduced_lane not in lanes:
        yield "what it reduces along is no lane"
    across = {*schedule.loops, *([schedule.reduced_lane.axis] if schedule.reduced_lane is not None else [])}
    if across != set(nest.reduced):
        yield "what it reduces along are other axes than the nest's"
    for store in schedule.past:
        if store not in nest.stores or store.buffer in nest.inputs:
            yield f"it writes {store.buffer.name} past the caches, which it reads or does not write"
    for lane in lanes:
        size = lane.axis.size
        if lane.block < 1 or lane.block & (lane.block - 1):
            yield f"a block of {lane.block} is no power of two"
        if lane.role == "whole" and not (isinstance(size, int) and lane.block >= size):
            yield f"a block of {lane.block} does not cover {lane.axis!r}"
        if lane.role == "loop" and lane is not schedule.reduced_lane:
            yield f"it loops along {lane.axis!r}, which is not reduced"
        if nest.scans and lane is schedule.reduced_lane and lane.role != "whole":
            yield f"running totals along {lane.axis!r}, of which a program has a part"


# ---- values --------------------------------------------------------------------------------------------------------


def _key(value: Value) -> object:
    """What tells a value from others of its nest."""
    if isinstance(value, Const):
        return Const, value.dtype, type(value.value), repr(value.value)
    own = tuple(getattr(value, f.name) for f in fields(value) if f.name not in _SHARED)
    return type(value), value.dtype, value.args, own


_SHARED = frozenset(f.name for f in fields(Value))


def _value_faults(nest: LoopNest, value: Value) -> Iterator[str]:
    if not value.axes <= {*nest.kept, *nest.reduced}:
        yield "it varies along an axis that is none of the nest's"
    if isinstance(value, Read):
        if value.buffer not in nest.inputs:
            yield f"{value.buffer.name} is not read by this nest"
        if value.dtype is not value.buffer.dtype:
            yield f"an element of {value.buffer.name} has another type"
    match value:
        case Const():
            yield from _const_faults(value)
        case Number():
            if not value.size.variables():
                yield "it is a constant"
        case Position():
            low, high = _reach(value.index)
            if value.dtype.kind != "i" or max(-low - 1, high) >> (value.dtype.itemsize * 8 - 1):
                yield f"its type does not hold {low} to {high}"
        case Load():
            if value.inside is None:
                yield from _outside(value.offset, value.buffer)
            elif value.inside.dtype.kind != "b":
                yield "its guard is no truth value"
        case Gather():
            yield from _place_faults(value.offset, value.buffer, value.more, value.inside)
        case Require():
            if value.kept.dtype is not value.dtype or value.holds.dtype.kind != "b":
                yield "its types do not fit"
        case Reduce():
            yield from _reduce_faults(nest, value)
        case Best():
            if not isinstance(value.reduction, Reduce) or len(value.reduction.args) != 2:
                yield "it is not of an argmax or argmin"
        case Scan():
            if value.along != frozenset(nest.reduced):
                yield "it runs along other axes than the nest's"
            if [arg.dtype for arg in value.args] != [value.dtype]:
                yield "its types do not fit"
        case Extern():
            if not value.name.isidentifier():
                yield "it names no function"
        case Prim():
            rule = PRIMITIVES.get(value.name)
            if rule is None:
                yield "it is no primitive"
            elif not rule([arg.dtype for arg in value.args], value.dtype):
                yield f"its types do not fit: {', '.join(arg.dtype.short for arg in value.args)}"
        case _:
            yield f"a value of no known class: {type(value).__name__}"


def _const_faults(value: Const) -> Iterator[str]:
    kind, number = value.dtype.kind, value.value
    if type(number) is not {"b": bool, "f": float}.get(kind, int):
        yield f"its type is {value.dtype.short}, it is {number!r}"
    elif kind in "iu":
        bits = value.dtype.itemsize * 8 - (kind == "i")
        if not (-(1 << bits) if kind == "i" else 0) <= number < 1 << bits:
            yield f"{value.dtype.short} does not hold it"


def _reduce_faults(nest: LoopNest, value: Reduce) -> Iterator[str]:
    if value.over != frozenset(nest.reduced):
        yield "it is over other axes than the nest's"
    types = [arg.dtype for arg in value.args]
    if value.combine in ("argmax", "argmin"):
        if len(types) != 2 or types[1] is not value.dtype or value.dtype.kind != "i":
            yield "its operands are not a value and a position"
    elif types != [value.dtype]:
        yield "its types do not fit"


def _store_faults(nest: LoopNest, store: Store) -> Iterator[str]:
    axes = {*nest.kept, *nest.reduced}
    if store.buffer not in nest.outputs:
        yield "it is not written by this nest"
    if store.value.dtype is not store.buffer.dtype:
        yield f"{store.value.dtype.short} is stored as {store.buffer.dtype.short}"
    if not store.axes <= axes:
        yield "it runs along an axis that is none of the nest's"
    if (store.more is None) != (store.inside is None):
        yield "a scatter knows its place and whether that is inside"
    elif store.more is not None and store.inside is not None:
        yield from _place_faults(store.offset, store.buffer, store.more, store.inside)
    else:
        yield from _outside(store.offset, store.buffer)
        if not store.value.axes <= store.axes:
            yield "it stores several values to one place"
        if store.accumulate:
            yield "only a scatter adds to what is there"


def _place_faults(offset: Index, buffer: Buffer, more: Value, inside: Value) -> Iterator[str]:
    yield from _outside(offset, buffer)
    if more.dtype.kind != "i" or inside.dtype.kind != "b":
        yield "its place is no integer, or whether it is inside no truth value"


# ---- where indices reach -------------------------------------------------------------------------------------------


def _outside(offset: Index, buffer: Buffer) -> Iterator[str]:
    """Whether an offset leaves a buffer."""
    if not _is_exemplified([*buffer.sizes, *buffer.strides, *offset.sizes(), *(axis.size for axis in offset.axes())]):
        return
    if any(hint(axis.size) < 1 for axis in offset.axes()):  # of an open size: nothing runs in the example
        return
    ends = [(hint(size) - 1) * hint(stride) for size, stride in zip(buffer.sizes, buffer.strides, strict=True)]
    first, last = sum(end for end in ends if end < 0), sum(end for end in ends if end > 0)
    low, high = _reach(offset)
    if low < first or high > last:
        yield f"it reaches {low} to {high}, and {buffer.name} is at {first} to {last}"


def _is_exemplified(sizes: Iterable[Size]) -> bool:
    """Whether the example has values for these sizes, all of which can be true at once."""
    return all(variable.number.hint is not None for variable in variables_in(sizes))


def _reach(index: Index) -> tuple[int, int]:
    """The least and greatest value of an index: at the corners, which tells all where it has no digits."""
    axes = index.axes()
    least = {axis: 0 for axis in axes if hint(index.terms.get(axis, 1)) > 0}
    corner = {axis: hint(axis.size) - 1 for axis in axes}
    points: list[Mapping[Axis, int]] = [{**corner, **least}, {**dict.fromkeys(axes, 0)}, corner]
    points.append({axis: 0 if axis not in least else corner[axis] for axis in axes})
    points += [{**dict.fromkeys(axes, 0), axis: corner[axis]} for axis in axes]
    found = [_at(index, point) for point in points]
    return min(found), max(found)


def _at(index: Index, point: Mapping[Axis, int]) -> int:
    """The value of an index at a point."""
    total = hint(index.const)
    for atom, coefficient in index.terms.items():
        if isinstance(atom, Axis):
            number = point[atom]
        else:
            number = _at(atom.base, point) // hint(atom.divisor)
            number = number if atom.modulus is None else number % hint(atom.modulus)
        total += hint(coefficient) * number
    return total


# ---- types of primitives -------------------------------------------------------------------------------------------

Rule = Callable[[Sequence[DType], DType], bool]


def _alike(count: int) -> Rule:
    return lambda args, result: list(args) == [result] * count


def _compares(args: Sequence[DType], result: DType) -> bool:
    return len(args) == 2 and args[0] is args[1] and result.kind == "b"


def _chooses(args: Sequence[DType], result: DType) -> bool:
    return len(args) == 3 and args[0].kind == "b" and args[1] is args[2] is result


def _converts(args: Sequence[DType], result: DType) -> bool:
    del result
    return len(args) == 1


def _keeps_bits(args: Sequence[DType], result: DType) -> bool:
    return len(args) == 1 and args[0].itemsize == result.itemsize


def _asks_sign(args: Sequence[DType], result: DType) -> bool:
    return len(args) == 1 and args[0].kind == "f" and result.kind == "b"


def _draws(args: Sequence[DType], result: DType) -> bool:
    """Of a seed, the draw's number and a place, which of the words."""
    return [arg.name for arg in args] == ["int64", "int64", "int64", "int32"] and result.name == "uint32"


#: What a printer must know of the scalar vocabulary, and of what users' kernels have besides (`element_maps`), by which
#: types they are of.
PRIMITIVES: Mapping[str, Rule] = {
    **dict.fromkeys((name for name in UNARY_FLOAT if name != "sigmoid"), _alike(1)),
    **dict.fromkeys(("neg", "invert", "abs", "sqrt_rn"), _alike(1)),
    **dict.fromkeys(("add", "sub", "mul", "truediv", "tdiv", "tmod", "fmod", "pow", "atan2", "div_rn"), _alike(2)),
    **dict.fromkeys(("and_", "or_", "xor", "lshift", "rshift", "maximum", "minimum", "maxnum", "minnum"), _alike(2)),
    **dict.fromkeys(("fma", "clamp", "clamp_nan"), _alike(3)),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), _compares),
    **dict.fromkeys(("cast", "convert"), _converts),
    "where": _chooses,
    "bits": _keeps_bits,
    "signbit": _asks_sign,
    "philox": _draws,
}
