"""Sample calls of ops in many layouts and with special values, and what has to agree between eager and the stages."""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from op_samples import DEFAULT_DTYPES, Call, as_list, maker, replace_tensors

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload, ops, registry
from opweave.registry.spec import overlaps_itself, span
from opweave.registry.tags import Tag
from opweave.registry.tensor import Tensor, allocate, as_view

#: Every dtype and layout of every sample, instead of a selection.
FULL = os.environ.get("OPWEAVE_FULL_MATRIX", "") not in ("", "0")

#: Integer division by zero raises, in eager and in kernels; tested on its own.
DIVISIONS = frozenset(("floor_divide", "remainder", "fmod", "div"))


def cases() -> list[OpOverload]:
    """All ops with samples that give the same each time; those of an in-place op are its functional form's."""
    found = [op for op in registry.operators.values() if op.decl and op.decl.samples]
    found = [op for op in found if Tag.nondeterministic_seeded not in op.tags]
    return [op for op in found if (op.decl.functional or op).decl.samples]


def dtypes_of(op: OpOverload) -> tuple[DType, ...]:
    """Those to test an op with: all that exist for the full matrix (eager refuses what does not fit)."""
    declared = op.decl.sample_dtypes or DEFAULT_DTYPES
    return tuple(dict.fromkeys((*declared, *dtypes.COMPUTED))) if FULL else declared


def copied(value: Any) -> Any:
    """Arguments with tensors copied as they lie in memory; tensors of one storage stay so."""
    storages: dict[int, Tensor] = {}

    def copy(t: Tensor) -> Tensor:
        key = id(t._storage)
        if key not in storages:
            size = t._storage.nbytes
            base = storages[key] = allocate((size,), (1,), dtypes.uint8, t._device)
            base._array[...] = t._storage.array((size,), (1,), 0, dtypes.uint8)
        result = as_view(t, t._sizes, t._strides, t._offset)
        result._storage = storages[key]._storage
        result._view_of = None
        return result

    return replace_tensors(value, copy)


# ---- inputs --------------------------------------------------------------------------------------------------------


def _placed(t: Tensor, strides: Sequence[int], offset: int = 0) -> Tensor:
    """The values of a tensor in other strides; the gaps hold other values."""
    count = span(t._sizes, strides) + offset
    storage = allocate((count,), (1,), t._dtype, t._device)
    storage._array[...] = 1
    result = ops.aten.as_strided.default(storage, list(t._sizes), list(strides), offset)
    if not overlaps_itself(t._sizes, strides):
        result._array[...] = t._array
    return result


def _gaps(t: Tensor) -> Tensor:
    steps, step = [], 2
    for size in reversed(t._sizes):
        steps.append(step)
        step *= max(size, 1) + 1
    return _placed(t, steps[::-1], 3)


def _column_major(t: Tensor) -> Tensor:
    steps, step = [], 1
    for size in t._sizes:
        steps.append(step)
        step *= max(size, 1)
    return _placed(t, steps)


def _expanded(t: Tensor) -> Tensor:
    if not t._sizes or 0 in t._sizes:
        return t
    return ops.aten.expand.default(ops.aten.slice.Tensor(t, 0, 0, 1), list(t._sizes))


def _emptied(dim: int) -> Callable[[Tensor], Tensor]:
    def cut(t: Tensor) -> Tensor:
        if not t._sizes:
            return t
        sizes = list(t._sizes)
        sizes[dim] = 0
        return ops.aten.clone.default(ops.aten.slice.Tensor(t, dim, 0, 0))

    return cut


#: The same call with its tensors elsewhere in memory, or without elements.
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "gaps": _gaps, "column major": _column_major, "expanded": _expanded, "no rows": _emptied(0),
    "no columns": _emptied(-1),
}  # fmt: skip


def special(dtype: DType, *, nonzero: bool = False, few: bool = False) -> Any:
    """Values at the ends and in the gaps of a type."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype.numpy)
        values = [info.min, -1, 0, 1, 3, info.max] if few else [
            info.min, info.min + 1, -100, -7, -3, -2, -1, 0, 1, 2, 3, 5, 7, 64, 100, info.max - 1, info.max,
        ]  # fmt: skip
        kept = [v for v in values if info.min <= v <= info.max and (v or not nonzero)]
        return np.array(list(dict.fromkeys(kept)), dtype.numpy)
    if dtype.kind == "c":
        parts = special(dtypes.float64, few=True)
        with np.errstate(all="ignore"):
            return (parts[:, None] + 1j * parts).reshape(-1).astype(dtype.numpy)
    largest, tiny = _limits(dtype)
    values = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -2.5]
    if not few:
        values += [
            largest, -largest, tiny, -tiny, tiny * 4, -1.0, 0.5, -0.5, 1.5, 2.0, 2.5, 3.0, 7.0, -7.0, 1e-4, -1e-4, 0.3,
            88.0, -88.0, 90.0, -104.0, 710.0, -746.0, 100.0, 255.0, 1e4,
        ]  # fmt: skip
    with np.errstate(all="ignore"):
        return np.array(values).astype(dtype.numpy)


def _limits(dtype: DType) -> tuple[float, float]:
    """Largest finite and smallest positive value."""
    if dtype is dtypes.bfloat16:
        return 3.3895313892515355e38, 2.0**-133
    info = np.finfo(dtype.numpy)
    return float(info.max), float(info.smallest_subnormal)


def _special_calls(op: OpOverload, dtype: DType) -> Iterator[Call]:
    """Each sample's attributes with tensors of special values, combined each with each."""
    functional = op.decl.functional or op
    if functional.decl.kind != "pointwise":
        return
    seen = set()
    for args, kwargs in op.decl.samples(maker(dtype)):
        tensors: list[Tensor] = []
        replace_tensors((args, kwargs), lambda t: tensors.append(t) or t)  # noqa: B023
        key = repr(replace_tensors((args, kwargs), lambda t: t._dtype))
        if key in seen or not tensors:
            continue
        seen.add(key)
        values = [
            special(t._dtype, few=len(tensors) > 2, nonzero=i > 0 and op.opname.rstrip("_") in DIVISIONS)
            for i, t in enumerate(tensors)
        ]
        whole = tuple(v.size for v in values)
        place = {id(t): i for i, t in enumerate(tensors)}

        def put(t: Tensor) -> Tensor:
            i = place[id(t)]  # noqa: B023
            shape = [1] * len(whole)  # noqa: B023
            shape[i] = whole[i]  # noqa: B023
            array = values[i].reshape(shape)  # noqa: B023
            if i == 0:
                array = np.broadcast_to(array, whole)  # noqa: B023
            return Tensor._from_array(np.array(array))

        yield replace_tensors((args, kwargs), put)


def _special_rows(op: OpOverload, dtype: DType) -> Iterator[Call]:
    """A reduction's samples with a special value at the start, in the middle and at the end."""
    if op.decl.kind != "reduction" and op.opname not in ("_softmax", "_log_softmax", "max", "min", "logsumexp"):
        return
    values = special(dtype, few=True)
    for args, kwargs in op.decl.samples(maker(dtype)):
        tensors: list[Tensor] = []
        replace_tensors((args, kwargs), lambda t: tensors.append(t) or t)  # noqa: B023
        if len(tensors) == 1 and tensors[0].numel() > 1 and tensors[0]._dtype is dtype:
            flat = tensors[0]._array.copy()
            index = np.linspace(0, flat.size - 1, min(flat.size, values.size)).astype(int)
            flat.reshape(-1)[index] = values[: index.size]
            yield replace_tensors((args, kwargs), lambda t: Tensor._from_array(flat))  # noqa: B023


def calls_of(op: OpOverload, dtype: DType) -> list[tuple[str, Call]]:
    """Sample calls in all layouts, and calls with special values, each with a word on what is special."""
    samples = list(op.decl.samples(maker(dtype)))
    if not FULL and len(samples) > 12:
        # Half of them in the most used type, some in the others.
        samples = samples[:: len(samples) // 6] if dtype is not dtypes.float32 else samples[::2]
    found = [("sample", call) for call in samples]
    if FULL or dtype in (dtypes.float32, dtypes.int64):
        few = samples if FULL else samples[:1]
        found += [(name, replace_tensors(call, change)) for name, change in LAYOUTS.items() for call in few]
    found += [("special values", call) for call in _special_calls(op, dtype)]
    rows = [("special values", call) for call in _special_rows(op, dtype)]
    return found + (rows if FULL else rows[:2])


def compiled_dtypes_of(op: OpOverload) -> tuple[DType, ...]:
    """Types to compile an op for: float32 and two more, other ones for each op."""
    known = dtypes_of(op)
    if FULL or len(known) <= 3:
        return known
    first = dtypes.float32 if dtypes.float32 in known else known[0]
    rest = [dtype for dtype in known if dtype is not first]
    start = zlib.crc32(str(op).encode())
    return first, rest[start % len(rest)], rest[(start + len(rest) // 2) % len(rest)]


def compiled_of(op: OpOverload, calls: list[Any], dtype: DType) -> list[Any]:
    """Those of an op's calls to compile, which takes longest: evenly chosen, more of them in the most used type.

    An in-place op is its functional form and a write, so a few of it do.
    """
    most = 10 if dtype is dtypes.float32 else 4
    if op.decl.functional is not None:
        most = 3 if dtype is dtypes.float32 else 1
    return calls if FULL else calls[:: -(-len(calls) // most)]


# ---- what has to agree ---------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What a call gave: its results, and its arguments after it."""

    result: Any
    arguments: Any

    def shared(self) -> list[Any]:
        """For each result, the argument whose memory it shows."""
        tensors: list[Tensor] = []
        replace_tensors(self.arguments, lambda t: tensors.append(t) or t)
        places = {id(t._storage): i for i, t in reversed(list(enumerate(tensors)))}
        return [places.get(id(t._storage)) for t in as_list(self.result) if isinstance(t, Tensor)]


def eagerly(op: OpOverload, call: Call) -> Outcome | OpweaveError:
    """A call's outcome in eager, on copies of its arguments; or why it was refused."""
    arguments = copied(call)
    try:
        return Outcome(op(*arguments[0], **arguments[1]), arguments)
    except OpweaveError as error:
        return error


def compare(found: Outcome, expected: Outcome, op: OpOverload, note: Any) -> None:
    """Fail unless the outcomes agree in values, dtype, sizes, strides, what they share, and the arguments' values."""
    results, wanted = as_list(found.result), as_list(expected.result)
    assert len(results) == len(wanted), note
    scale = _magnitude(expected.arguments)
    for mine, other in zip(results, wanted, strict=True):
        if not isinstance(other, Tensor):
            assert type(mine) is type(other) and (mine == other or mine != mine), (note, mine, other)
            continue
        agree(mine, other, op, scale, note)
    assert found.shared() == expected.shared(), (*note, "memory shared with arguments")
    written: list[tuple[Tensor, Tensor]] = []
    others: list[Tensor] = []
    replace_tensors(expected.arguments, lambda t: others.append(t) or t)
    replace_tensors(found.arguments, lambda t: written.append((t, others[len(written)])) or t)
    for mine, other in written:
        agree(mine, other, op, scale, (*note, "argument after the call"))


def _magnitude(arguments: Any) -> tuple[float, float]:
    """The largest value, and that times the number of elements: what a sum can reach."""
    found = [1.0]
    count = [1]

    def look(t: Tensor) -> Tensor:
        if t._dtype.kind in "fc" and t.numel():
            wide = np.abs(t._array.astype(np.complex128 if t._dtype.kind == "c" else np.float64))
            wide = wide[np.isfinite(wide)]
            found.append(float(wide.max()) if wide.size else 1.0)
            count.append(t.numel())
        return t

    replace_tensors(arguments, look)
    return max(found), max(found) * max(count)


def agree(mine: Tensor, other: Tensor, op: OpOverload, scale: tuple[float, float], note: Any) -> None:
    """Fail unless two tensors agree: integers and rounded ops in every bit, the rest within a few ulp."""
    assert mine._dtype is other._dtype, (*note, mine._dtype, other._dtype)
    assert mine._sizes == other._sizes, (*note, mine._sizes, other._sizes)
    assert mine._strides == other._strides, (*note, "strides", mine._strides, other._strides)
    assert mine._device is other._device, (*note, mine._device, other._device)
    a, b = mine._array, other._array
    if a.dtype.kind == "c":
        a, b = np.stack([a.real, a.imag]), np.stack([b.real, b.imag])
    elif mine._dtype.kind != "f":
        assert np.array_equal(a, b), _told(note, a, b, a != b)
        return
    base = (op.decl.functional or op) if op.decl else op
    cancels, exact = base.decl.accuracy == "cancels", base.decl.accuracy == "rounded"
    pointwise = base.decl.kind in ("pointwise", "view", "generator") and not cancels
    wide, want = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        same = (wide == want) | (np.isnan(wide) & np.isnan(want))
        if pointwise and not base.decl.either_zero:
            same &= (np.signbit(wide) == np.signbit(want)) | (want != 0) | np.isnan(want)
        if not exact:
            half = mine._dtype.itemsize == 2
            bound = (1 if half else 6) * _ulp(np.abs(want), mine._dtype)
            if not pointwise:
                # Half types are summed in float32, but a value between two ops may be rounded or not.
                reach = _ulp(np.asarray(min(scale[0] if half else scale[1], 1e6)), mine._dtype)
                # 1 - tanh(x)^2 and the like lose digits before they are multiplied with a large gradient.
                bound = np.maximum((12 if cancels else 5) * bound, (2 if half else 32) * reach)
            same |= (
                np.isfinite(wide) & np.isfinite(want) & (np.abs(wide - want) <= bound) & ((want != 0) | (not pointwise))
            )
    assert same.all(), _told(note, a, b, ~same)


def _ulp(values: Any, dtype: DType) -> Any:
    digits = {"float16": 11, "bfloat16": 8, "float32": 24, "complex64": 24}.get(dtype.name, 53)
    least = {"float16": -24, "bfloat16": -133, "float32": -149, "complex64": -149}.get(dtype.name, -1074)
    exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))[1]
    return np.ldexp(1.0, np.maximum(exponent - digits, least))


def _told(note: Any, a: Any, b: Any, bad: Any) -> str:
    where = np.argwhere(bad)[:6]
    lines = [f"  at {tuple(map(int, i))}: {a[tuple(i)]!r}, eager {b[tuple(i)]!r}" for i in where]
    return "\n".join([f"{note}: {int(bad.sum())} of {bad.size} differ", *lines])
