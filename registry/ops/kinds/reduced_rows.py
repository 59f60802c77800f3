"""Reductions of large tensors over dimensions that lie side by side, by row programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.registry import rows
from opweave.registry.device import cpu
from opweave.registry.dtypes import DType
from opweave.registry.rows import RowProgram
from opweave.registry.scalar import convert_into
from opweave.registry.spec import contiguous
from opweave.registry.tape import Tape, Value
from opweave.registry.tensor import Tensor, allocate_like

#: Elements of the rows that all elements are taken apart into.
_PIECE = 1 << 14
_SINGLE = np.dtype(np.float32)


def _program(name: str) -> RowProgram:
    return RowProgram(f"{__name__}.{name}", ("rows",), lambda k, x: [getattr(k, name)(x)])


_PROGRAMS = {name: _program(name) for name in ("sum", "prod", "max", "min")}
_DOWN = _program("down")
#: What puts together what pieces came to, and where that begins; None where it does with the first.
_COMBINE: dict[str, tuple[np.ufunc, Any]] = {
    "sum": (np.add, 0), "prod": (np.multiply, 1), "max": (np.maximum, None), "min": (np.minimum, None),
}  # fmt: skip


def are_whole_rows(sizes: Sequence[int], axes: tuple[int, ...]) -> bool:
    """Whether whole rows are combined: NumPy goes through them as they lie."""
    return len(axes) < len(sizes) and axes == tuple(range(len(axes)))


def combined_by_rows(name: str, array: Any, axes: tuple[int, ...]) -> Any:
    """The elements of an array combined along axes, in float32.

    Parameters
    ----------
    name : str
        A key of `_PROGRAMS`; anything else is left to other ways.
    array : numpy.ndarray
        Of float32 or a half type.
    axes : tuple of int
        The dimensions that go, sorted.

    Returns
    -------
    numpy.ndarray or None
        None where it is left to other ways.
    """
    program = _PROGRAMS.get(name)
    if program is None or not rows.are_enough(array.size):
        return None
    is_first = are_whole_rows(array.shape, axes)
    if is_first and name == "sum" and array.dtype != _SINGLE:
        kept = array.shape[len(axes) :]
        length = math.prod(kept)
        down = rows.sums(_DOWN, [array], [], array.size // length, length)
        return None if down is None else down[0].reshape(kept)
    # NumPy adds whole rows to each other, and reads them as they lie.
    return None if is_first and array.dtype == _SINGLE else reduced_by_rows(program, name, [array], axes)


def write_rows(tape: Tape, name: str, source: Value, axes: tuple[int, ...], out: Value) -> bool:
    """Write down what `combined_by_rows` does for elements that lie row-major; whether it is what it does.

    Parameters
    ----------
    tape : Tape
        Where it is written.
    name, axes
        As for `combined_by_rows`.
    source, out : Value
        The elements, and float32 memory for what they come to.
    """
    program, count = _PROGRAMS.get(name), math.prod(source.sizes)
    if program is None or not rows.are_enough(count) or not axes or axes != tuple(range(axes[0], axes[-1] + 1)):
        return False
    first, last = axes[0], axes[-1] + 1
    before, length, inner = (
        math.prod(part) for part in (source.sizes[:first], source.sizes[first:last], source.sizes[last:])
    )
    if axes[0]:
        return rows.write(tape, program, [source], [out], before * inner, length, inner)
    if inner > 1 or not rows.are_enough(length):
        return False
    pieces, rest = divmod(length, _PIECE)
    parts = tape.scratch((pieces + (rest > 0),), _SINGLE)
    flat = source._replace(sizes=(length,), strides=(1,))
    for begin, many, size in ((0, pieces, _PIECE), (pieces, 1, rest)):
        given = [flat.part([begin * _PIECE], (many * size,))], [parts.part([begin], (many,))]
        if size and not rows.write(tape, program, *given, many, size, is_part=True):
            return False
    function, start = _COMBINE[name]
    tape.fold(function, parts, (0,), out, start)
    return True


def reduced_by_rows(program: RowProgram, name: str, arrays: Sequence[Any], axes: tuple[int, ...]) -> Any:
    """What a program gives for rows that are all elements along axes, in float32.

    Parameters
    ----------
    program : RowProgram
        Of arrays of one shape; its result is one number of a row.
    name : str
        How two results for parts of a row are combined; where they cannot be, empty.
    arrays, axes
        As for `combined_by_rows`.
    """
    shape = arrays[0].shape
    start = axes[0] if axes else 0
    stop = start + len(axes)
    if axes != tuple(range(start, stop)) or not all(a.flags.c_contiguous for a in arrays):
        return None
    length, inner = math.prod(shape[start:stop]), math.prod(shape[stop:])
    if start or inner > 1 or not name:
        out = np.empty(shape[:start] + shape[stop:], _SINGLE)
        return out if rows.run(program, arrays, [out], out.size, length, inner=inner) else None
    if not rows.are_enough(length):
        return None
    # In pieces, of which there are as many whatever runs them.
    count = length // _PIECE
    flat = [a.reshape(-1) for a in arrays]
    parts = np.empty(count, _SINGLE)
    if not rows.run(program, [a[: count * _PIECE] for a in flat], [parts], count, _PIECE, is_part=True):
        return None
    if length % _PIECE:
        rest = np.empty(1, _SINGLE)
        if not rows.run(program, [a[count * _PIECE :] for a in flat], [rest], 1, length % _PIECE, is_part=True):
            return None
        parts = np.concatenate([parts, rest])
    return _COMBINE[name][0].reduce(parts)


def reduced(
    program: RowProgram, name: str, tensors: Sequence[Tensor], axes: Sequence[int], keepdim: bool, result: DType,
    finish: Callable[[Any], Any],
) -> Tensor | None:  # fmt: skip
    """The same of tensors, finished and rounded to a type."""
    sizes = tensors[0]._sizes
    if not all(t._device is cpu and t._sizes == sizes for t in tensors):
        return None
    with np.errstate(all="ignore"):
        found = reduced_by_rows(program, name, [t._array for t in tensors], tuple(axes))
        if found is None:
            return None
        kept = tuple(1 if d in axes else n for d, n in enumerate(sizes) if keepdim or d not in axes)
        out = allocate_like(contiguous(kept, result, cpu))
        convert_into(out._array, np.asarray(finish(found)).reshape(kept))
    return out
