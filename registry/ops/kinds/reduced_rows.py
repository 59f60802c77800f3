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
from opweave.registry.spec import contiguous, is_contiguous
from opweave.registry.tape import NotTaped, Tape, Value
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


def way_of_rows(
    name: str, sizes: Sequence[int], dtype: np.dtype[Any], axes: tuple[int, ...], is_row_major: bool
) -> str:
    """How elements are combined by row programs: as `"rows"`, all of them in `"pieces"`, or rows `"down"` to one.

    Parameters
    ----------
    name, axes
        As for `combined_by_rows`.
    sizes, dtype, is_row_major
        Of the elements.

    Returns
    -------
    str
        Empty where it is left to NumPy.
    """
    if name not in _PROGRAMS or not axes or not rows.pay(math.prod(sizes)):
        return ""
    first, last = axes[0], axes[-1] + 1
    if len(axes) < len(sizes) and axes == tuple(range(len(axes))):
        if dtype == _SINGLE:
            return ""  # NumPy adds whole rows to each other, and reads them as they lie
        if name == "sum":
            return "down"
    if axes != tuple(range(first, last)) or not is_row_major:
        return ""
    length, inner = math.prod(sizes[first:last]), math.prod(sizes[last:])
    if first or inner > 1:
        return "rows" if rows.are_long(length, inner) else ""
    return "pieces" if rows.pay(length) else ""


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
    way = way_of_rows(name, array.shape, array.dtype, axes, array.flags.c_contiguous)
    if way == "down":
        kept = array.shape[len(axes) :]
        length = math.prod(kept)
        down = rows.sums(_DOWN, [array], [], array.size // length, length)
        return None if down is None else down[0].reshape(kept)
    return reduced_by_rows(_PROGRAMS[name], name, [array], axes) if way else None


def write_rows(tape: Tape, name: str, source: Value, axes: tuple[int, ...], out: Value) -> bool:
    """Write down what `combined_by_rows` does; False where that leaves it to NumPy.

    Parameters
    ----------
    tape : Tape
        Where it is written.
    name, axes
        As for `combined_by_rows`.
    source, out : Value
        The elements, and float32 memory for what they come to.

    Raises
    ------
    NotTaped
        If it cannot be written down.
    """
    sizes = source.sizes
    way = way_of_rows(name, sizes, source.dtype, axes, is_contiguous(sizes, source.strides))
    if not way:
        return False
    program, first, last = _PROGRAMS[name], axes[0], axes[-1] + 1
    before, length, inner = (math.prod(part) for part in (sizes[:first], sizes[first:last], sizes[last:]))
    if way == "rows":
        done = rows.write(tape, program, [source], [out], before * inner, length, inner)
    elif way == "pieces":
        pieces, rest = divmod(length, _PIECE)
        parts = tape.scratch((pieces + (rest > 0),), _SINGLE)
        flat = source._replace(sizes=(length,), strides=(1,))
        done = True
        for begin, many, size in ((0, pieces, _PIECE), (pieces, 1, rest)):
            if many and size:
                given = [flat.part([begin * _PIECE], (many * size,))], [parts.part([begin], (many,))]
                done = done and rows.write(tape, program, *given, many, size, is_part=True)
        function, start = _COMBINE[name]
        tape.fold(function, parts, (0,), out, start)
    else:
        done = False
    if not done:
        raise NotTaped("rows in another way")
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
    if not rows.pay(length):
        return None
    # In pieces, of which there are as many whatever runs them.
    count = length // _PIECE
    flat = [a.reshape(-1) for a in arrays]
    parts = np.empty(count, _SINGLE)
    whole = [a[: count * _PIECE] for a in flat]
    if count and not rows.run(program, whole, [parts], count, _PIECE, is_part=True):
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
