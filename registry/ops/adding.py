"""Adding at places of arrays that may repeat, in the order in which they stand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opweave.registry.ops.combining import FEW, combine_at
from opweave.registry.ops.outer_places import add_rows, is_large, outer_places
from opweave.registry.scalar import convert_into, converted
from opweave.registry.tensor import Tensor

#: Elements of a row from which on it is worth a call of its own.
_LONG_ROW = 32


def add_at(self: Tensor, target: Any, where: Any, source: Any) -> None:
    """Add at places that may repeat; half types are summed in float32, and each sum is rounded once."""
    xp = self._device.xp
    if xp is np and combine_at("add", target, where, source):
        return
    if self._dtype.compute is self._dtype:
        _add_at(xp, target, where, source)
        return
    wide_type = np.dtype(np.float32)
    named = _named(target, where) if xp is np else None
    if named is None:
        wide = converted(target, wide_type)
        _add_at(xp, wide, where, source)
        convert_into(target, wide)
        return
    places, numbers = named
    wide = converted(target[places], wide_type)
    _add_at(xp, wide, (numbers,), source)
    target[places] = converted(wide, target.dtype)


def _named(target: Any, where: Any) -> tuple[tuple[Any, ...], Any] | None:
    """Those places that are named, once each, and which of them is meant where.

    None where they may be many, or are not rows or elements: the whole target is as soon converted.
    """
    parts = where if isinstance(where, tuple) else (where,)
    while parts and isinstance(parts[-1], slice) and parts[-1] == slice(None):
        parts = parts[:-1]
    if not parts or not all(isinstance(part, np.ndarray) and part.dtype.kind == "i" for part in parts):
        return None
    count = math.prod((*np.broadcast_shapes(*(part.shape for part in parts)), *target.shape[len(parts) :]))
    if not count or count * FEW > target.size:
        return None
    places = np.zeros((), np.int64)
    for part, size in zip(parts, target.shape, strict=False):
        places = places * size + np.where(part < 0, part + size, part)
    found, numbers = np.unique(places, return_inverse=True)
    return np.unravel_index(found, target.shape[: len(parts)]), numbers.reshape(places.shape)


def _add_at(xp: Any, target: Any, where: Any, source: Any) -> None:
    first, *rest = where if isinstance(where, tuple) else (where,)
    is_rows = (
        xp is np and isinstance(first, np.ndarray) and first.ndim == 1 and first.dtype.kind == "i"
        and all(isinstance(part, slice) and part == slice(None) for part in rest)
        and source.shape == (*first.shape, *target.shape[1:]) and source.size >= _LONG_ROW * len(first)
    )  # fmt: skip
    if not is_rows:
        source = source if source.dtype == target.dtype else converted(source, target.dtype)
        places = outer_places((first, *rest), target.shape) if xp is np and is_large(source.shape) else None
        if places is None or not places.add(target, np.broadcast_to(source, places.sizes(target.shape))):
            xp.add.at(target, where, source)
        return
    # In the same order; NumPy takes element by element.
    add_rows(target, np.where(first < 0, first + len(target), first), source)
