"""Elements combined with those at places that an index names along one dimension, in the order in which they stand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.hooks import Hook
from opweave.registry.scalar import convert_into, converted

#: Elements from which on native code is worth being asked for.
_LEAST = 64
#: How many times as many elements as are written make it worth to convert only those that are named.
FEW = 4

#: `native(kind, target, index, source, axis, lowest)` combines `source[..., n, ...]` with the target at
#: `[..., index[..., n, ...], ...]`, of arrays with as many dimensions: `"add"`, `"multiply"`, `"maximum"` or
#: `"minimum"`, or puts it there (`"last"`). False where a number is less than `lowest` or names no place, None where
#: there is no code for that; nothing is written then. `opweave` supplies it.
native: Hook[[str, Any, Any, Any, int, int], bool | None] = Hook()

#: `native_within(numbers, lowest, size)` says whether numbers that lie in one piece are all from `lowest` to below
#: `size`; None where there is no code for that.
native_within: Hook[[Any, int, int], bool | None] = Hook()
#: Numbers from which on it is worth asking.
_MANY = 1024


def are_within(numbers: Any, lowest: int, size: int) -> bool:
    """Whether an array of numbers is known to have none less than `lowest`, and none from `size` on."""
    if native_within.call is None or type(numbers) is not np.ndarray or numbers.size < _MANY:
        return False
    if numbers.dtype != np.int64 or not numbers.flags.c_contiguous:
        return False
    return bool(native_within.call(numbers, lowest, size))


def combine(kind: str, target: Any, index: Any, source: Any, axis: int, lowest: int) -> bool:
    """Combine the elements of a source with those of a target; half types in float32, each rounded once.

    Parameters
    ----------
    kind : {"add", "multiply", "maximum", "minimum", "last"}
        What becomes of two; the new one where it is the last that stays.
    target : numpy.ndarray
        What is written to, at least as large as the index along the other dimensions.
    index : numpy.ndarray
        Numbers of places along `axis`.
    source : numpy.ndarray
        Of the same type as the target and the same sizes as the index.
    axis : int
        The dimension.
    lowest : int
        The least number that is one: 0, or minus the size along `axis`.

    Returns
    -------
    bool
        Whether it was done; nothing is written if not. There are few elements, no code for them, or numbers that name
        no place.
    """
    if native.call is None or index.size < _LEAST or index.dtype.kind != "i" or not target.flags.writeable:
        return False
    index = index if index.dtype == np.int64 else index.astype(np.int64)
    if not all(type(array) is np.ndarray and array.dtype.isnative for array in (target, index, source)):
        return False
    part = target[tuple([slice(None) if d == axis else slice(n) for d, n in enumerate(index.shape)])]
    if kind != "last" and dtypes.from_numpy(target.dtype).compute.numpy != target.dtype:
        if index.size * FEW < target.size:
            return False
        wide_type = np.dtype(np.float32)
        wide = converted(part, wide_type)
        done = _run(kind, wide, index, converted(source, wide_type), axis, lowest)
        if done:
            convert_into(part, wide)
        return done
    if kind == "last":  # bits that are moved
        letters = {1: "i1", 2: "i2", 4: "i4", 8: "i8"}.get(target.dtype.itemsize)
        if letters is None or source.dtype != target.dtype:
            return False
        part, source = part.view(letters), source.view(letters)
    elif target.dtype.kind == "b":
        return False
    return source.dtype == part.dtype and _run(kind, part, index, source, axis, lowest)


def _run(kind: str, target: Any, index: Any, source: Any, axis: int, lowest: int) -> bool:
    assert native.call is not None
    done = native.call(kind, target, index, source, axis, lowest)
    if done is None:  # dimensions that are not one: what lies in one piece has few of them
        work = np.ascontiguousarray(target)
        if work is target:
            return False
        done = native.call(kind, work, np.ascontiguousarray(index), np.ascontiguousarray(source), axis, lowest)
        if done:
            target[...] = work
    return bool(done)


def along_one(where: Sequence[Any], sizes: Sequence[int]) -> tuple[int, int, Any] | None:
    """An index as numbers along dimensions that are made one.

    Parameters
    ----------
    where : sequence of slice or numpy.ndarray
        An index for each of the first dimensions; the slices are whole.
    sizes : sequence of int
        Of what is indexed.

    Returns
    -------
    tuple or None
        The first of these dimensions, how many they are, and the numbers; None where they do not lie side by side.
    """
    given = [d for d, part in enumerate(where) if isinstance(part, np.ndarray)]
    if not given or given != list(range(given[0], given[0] + len(given))):
        return None
    if any(where[d].dtype.kind != "i" for d in given) or not math.prod(sizes):
        return None
    if len(given) == 1:
        return given[0], 1, where[given[0]].astype(np.int64, copy=False)
    numbers: Any = 0
    for d in given:
        part = where[d].astype(np.int64, copy=False)
        numbers = numbers * sizes[d] + (np.where(part < 0, part + sizes[d], part) if (part < 0).any() else part)
    return given[0], len(given), numbers


def combine_at(kind: str, target: Any, where: Any, source: Any) -> bool:
    """`combine` at the places of a NumPy index, with a source that broadcasts to what it names; whether it was done."""
    if native.call is None:
        return False
    found = along_one(where if isinstance(where, tuple) else (where,), target.shape)
    if found is None:
        return False
    first, count, numbers = found
    before, after = target.shape[:first], target.shape[first + count :]
    if math.prod((*before, *numbers.shape, *after)) < _LEAST:
        return False
    size = math.prod(target.shape[first : first + count])
    flat = target if count == 1 else target.reshape(*before, size, *after)
    if count > 1 and not np.may_share_memory(flat, target):
        return False  # a copy, since these dimensions do not lie in one
    whole = np.broadcast_to(source, (*before, *numbers.shape, *after)).reshape(*before, numbers.size, *after)
    index = numbers.reshape(*(1,) * first, -1, *(1,) * len(after))
    return combine(kind, flat, np.broadcast_to(index, whole.shape), whole, first, -size)
