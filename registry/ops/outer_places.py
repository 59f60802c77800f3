"""Index arrays of which each has a dimension of its own, as the rows and columns of a smaller image have.

What they name is read, and added to, along one dimension after the other: NumPy goes element by element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from opweave.registry import rows
from opweave.registry.rows import row_program
from opweave.registry.scalar import converted

#: Elements that are added at a time from which on it is worth a call of its own.
_LEAST_PART = 256
#: Slices that are as good as an array of numbers.
_MOST_RUNS = 4


class OuterPlaces(NamedTuple):
    """Places along dimensions that lie side by side.

    Attributes
    ----------
    first : int
        The first of these.
    shape : tuple of int
        Of all that is named along them.
    vectors : tuple of numpy.ndarray
        Numbers for each, none of them negative.
    """

    first: int
    shape: tuple[int, ...]
    vectors: tuple[Any, ...]

    def sizes(self, whole: Sequence[int]) -> tuple[int, ...]:
        """Of what is named of an array with these."""
        return (*whole[: self.first], *self.shape, *whole[self.first + len(self.vectors) :])

    def taken(self, array: Any) -> Any:
        """The elements there; the array itself is nobody's to write to."""
        sizes = self.sizes(array.shape)
        for axis, vector in reversed(list(enumerate(self.vectors, self.first))):
            array = np.take(array, vector, axis=axis, mode="wrap")
        return array.reshape(sizes)

    def add(self, target: Any, source: Any) -> bool:
        """Add the source, which has the sizes of what is named, to a target; whether it was done."""
        counts = [len(vector) for vector in self.vectors]
        source = source.reshape(*target.shape[: self.first], *counts, *target.shape[self.first + len(counts) :])
        parts = [_parts(vector) for vector in self.vectors]
        if any(len(found) * _LEAST_PART > source.size for found in parts):
            return False
        for axis, found in reversed(list(enumerate(parts, self.first))):
            is_slices = all(isinstance(part, slice) for of_part in found for part in of_part)
            vector = self.vectors[axis - self.first]
            if not is_slices and len(vector) * _LEAST_PART > source.size:
                return False
            if is_slices and axis == self.first:
                _add_slices(target, source, found, axis)
                return True
            sizes = (*source.shape[:axis], target.shape[axis], *source.shape[axis + 1 :])
            # What changes nothing that it is added to: a zero without sign may.
            nothing = -0.0 if source.dtype.kind in "fc" else 0
            if is_slices:
                folded = np.full(sizes, nothing, source.dtype)
                _add_slices(folded, source, found, axis)
            else:
                turned = np.moveaxis(source, axis, 0)
                moved = np.full((target.shape[axis], *turned.shape[1:]), nothing, source.dtype)
                add_rows(moved, vector, turned if axis < source.ndim - 1 else np.ascontiguousarray(turned))
                folded = np.moveaxis(moved, 0, axis)
            source = folded
        target += source
        return True


@row_program("places", "chosen", "rows")
def _added_row(k: Any, places: Any, target: Any, source: Any) -> list[Any]:
    return [target + source]


def add_rows(target: Any, numbers: Any, source: Any) -> None:
    """Add rows of a source to those of a target that have these numbers, none of them negative, in their order."""
    if target.dtype == np.float32 and target.flags.c_contiguous and source.flags.c_contiguous and len(source):
        wide, length = target.reshape(len(target), -1), source.size // len(source)
        if rows.run(_added_row, [numbers.astype(np.int64, copy=False), wide, source], [wide], len(source), length):
            return
    source = source if source.dtype == target.dtype else converted(source, target.dtype)
    for row, values in zip(numbers.tolist(), source, strict=True):
        place = target[row]
        np.add(place, values, out=place)


def outer_places(where: Sequence[Any], sizes: Sequence[int]) -> OuterPlaces | None:
    """The places of an index, if each of its arrays has a dimension of its own, or there is one array.

    Parameters
    ----------
    where : sequence of slice or numpy.ndarray
        An index for each of the first dimensions, in range; the slices are whole.
    sizes : sequence of int
        Of what is indexed.
    """
    given = [d for d, part in enumerate(where) if isinstance(part, np.ndarray)]
    count = len(given)
    if not count or given != list(range(given[0], given[0] + count)) or any(where[d].dtype.kind != "i" for d in given):
        return None
    if count > 1:
        for own, d in enumerate(given):
            array = where[d]
            own -= count - array.ndim  # among the dimensions that it has
            if own < 0 or array.size != array.shape[own]:
                return None
    flat = [(where[d].reshape(-1), sizes[d]) for d in given]
    # Dimensions of size 1 may come before those of their own.
    before = max(where[d].ndim for d in given) - count
    shape = where[given[0]].shape if count == 1 else ((1,) * before + tuple([len(v) for v, _ in flat]))
    return OuterPlaces(given[0], shape, tuple([np.where(v < 0, v + size, v) for v, size in flat]))


def _parts(vector: Any) -> list[tuple[Any, ...]]:
    """(places, where they stand in the vector), all in order and no place twice in a part."""
    order = np.argsort(vector, kind="stable")
    ordered = vector[order]
    is_first = np.ones(len(vector), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(is_first)
    turn = np.arange(len(vector)) - np.repeat(starts, np.diff(starts, append=len(vector)))
    found: list[tuple[Any, ...]] = []
    for n in range(turn.max(initial=-1) + 1):
        found += _as_slices(ordered[turn == n], order[turn == n])
    return found


def _as_slices(*numbers: Any) -> list[tuple[Any, ...]]:
    """Numbers with few steps between them as slices, which name elements without a copy."""
    steps = np.stack([np.diff(v) for v in numbers])
    runs: list[tuple[int, int]] = []
    start, count = 0, len(numbers[0])
    changes = np.flatnonzero((steps[:, 1:] != steps[:, :-1]).any(0)) + 1
    if len(changes) > 2 * _MOST_RUNS:
        return [numbers]
    while start < count:
        # Up to where the next step is another one.
        later = changes[changes > start]
        end = int(later[0]) + 1 if len(later) else count
        if len(runs) == _MOST_RUNS or (steps[:, start : start + 1] <= 0).any():
            return [numbers]
        runs.append((start, end))
        start = end
    return [
        tuple([slice(int(v[i]), int(v[j - 1]) + 1, int(v[i + 1] - v[i]) if j - i > 1 else 1) for v in numbers])
        for i, j in runs
    ]


def _add_slices(target: Any, source: Any, parts: Sequence[tuple[Any, ...]], axis: int) -> None:
    lead = (slice(None),) * axis
    for places, standing in parts:
        target[(*lead, places)] += source[(*lead, standing)]


def is_large(sizes: Sequence[int]) -> bool:
    """Whether there are elements enough for a call for each dimension."""
    return math.prod(sizes) >= 2 * _LEAST_PART
