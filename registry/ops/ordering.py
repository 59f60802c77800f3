"""The order of elements along a dimension, on arrays: all of it, or its beginning.

NaN counts as the largest number; among equals, the order stays as it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.scalar import converted

#: Times that a row has to be as long as its beginning for the rest to stay unsorted.
_MUCH_LONGER = 4
#: Elements of a row from which on that is faster, and groups of them, at least.
_LONG, _GROUPS = 128, 64


def order(xp: Any, array: Any, axis: int, descending: bool) -> Any:
    """The places of the elements in order, by a stable sort."""
    array = _computed(array)
    keys = _keys(array, axis, descending) if xp is np and array.ndim and array.size else None
    if keys is not None:
        keys.sort(axis=axis)
        return np.bitwise_and(keys, _PLACES, out=keys)
    if not descending:
        return xp.argsort(array, axis=axis, kind="stable")
    # Backwards twice: equal elements stay in their order.
    backwards = xp.argsort(xp.flip(array, axis), axis=axis, kind="stable")
    return array.shape[axis] - 1 - xp.flip(backwards, axis)


#: The half of a key that says where an element is.
_PLACES = (1 << 32) - 1


def _keys(array: Any, axis: int, descending: bool) -> Any:
    """int64 numbers in the order of the elements, of equals in that of their places, which are their lower halves.

    Such numbers are sorted in vectors, while a stable sort of places takes one after another. None where elements have
    more than 32 bits.
    """
    size = array.shape[axis]
    if size > 1 << 31:
        return None
    kind, item = array.dtype.kind, array.dtype.itemsize
    if kind == "f" and item <= 4:
        # The bits of floats are in their order, those of negative ones backwards; zeros are equal, and NaN the largest.
        values = array.astype(np.float32) + np.float32(0)
        bits = values.view(np.int32)
        bits ^= (bits >> 31) & np.int32(0x7FFFFFFF)
        if np.isnan(np.maximum.reduce(array, axis=None)):
            bits[np.isnan(array)] = np.iinfo(np.int32).max
        keys = bits.astype(np.int64)
    elif kind in "bi" or kind == "u" and item < 8:
        keys = array.astype(np.int64)
        if kind == "u" and item == 4:
            keys -= 1 << 31
        elif item > 4:
            least, most = int(keys.min()), int(keys.max())
            if most - least >= 1 << 31:
                return None
            keys -= least
    else:
        return None
    if descending:
        np.invert(keys, out=keys)
    keys <<= 32
    keys |= np.arange(size).reshape([-1 if d == axis else 1 for d in range(array.ndim)])
    return keys


def beginning(xp: Any, array: Any, axis: int, descending: bool, count: int) -> Any:
    """The places of the first `count` elements in order: what `order` begins with."""
    size = array.shape[axis]
    if xp is not np or not count or size < _LONG or size < count * _MUCH_LONGER or not array.size:
        return order(xp, array, axis, descending)[(slice(None),) * axis + (slice(0, count),)]
    lines = np.moveaxis(_computed(array), axis, -1)
    rows = np.ascontiguousarray(lines).reshape(-1, size)
    plain = ~np.isnan(np.maximum.reduce(rows, axis=1)) if rows.dtype.kind == "f" else np.True_
    if plain.all():
        places = _beginning_of_rows(rows, descending, count)
    else:  # comparisons say nothing of NaN
        places = np.empty((len(rows), count), np.int64)
        places[plain] = _beginning_of_rows(rows[plain], descending, count)
        places[~plain] = order(np, rows[~plain], 1, descending)[:, :count]
    return np.moveaxis(places.reshape(*lines.shape[:-1], count), -1, axis)


def _computed(array: Any) -> Any:
    """A half type that NumPy only stores as one that it orders."""
    return array if array.dtype.kind in "biuf" else converted(array, dtypes.float32.numpy)


def _beginning_of_rows(rows: Any, descending: bool, count: int) -> Any:
    """Of each row those that are not behind the last of the best of as many groups, and of these the first."""
    size = rows.shape[1]
    groups = max(_GROUPS, _MUCH_LONGER * count)
    width = size // groups
    pick, compare = (np.maximum, np.greater_equal) if descending else (np.minimum, np.less_equal)
    best = pick.reduce(rows[:, : width * groups].reshape(-1, width, groups), axis=1)
    at = groups - count if descending else count - 1
    last = np.partition(best, at, axis=1)[:, at, None]
    flat = np.flatnonzero(compare(rows, last))
    sorted_ = order(np, rows.reshape(-1)[flat], 0, descending)
    row = np.floor_divide(flat, size)
    sorted_ = sorted_[np.argsort(row[sorted_], kind="stable")]
    starts = np.searchsorted(row, np.arange(len(rows)))
    return flat[sorted_[starts[:, None] + np.arange(count)]] % size
