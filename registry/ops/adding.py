"""Adding at places of arrays that may repeat, in the order in which they stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.ops.outer_places import add_rows, is_large, outer_places
from opweave.registry.scalar import convert_into, converted
from opweave.registry.tensor import Tensor

#: Elements of a row from which on it is worth a call of its own.
_LONG_ROW = 32


def add_at(self: Tensor, target: Any, where: Any, source: Any) -> None:
    """Add at places that may repeat."""
    xp = self._device.xp
    if self._dtype is dtypes.bfloat16:
        wide = converted(target, np.dtype(np.float32))
        _add_at(xp, wide, where, source)
        convert_into(target, wide)
    else:
        _add_at(xp, target, where, source)


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
