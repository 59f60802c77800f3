"""Rows of arrays, a few at a time, so that what is computed of them stays in the cache."""

from __future__ import annotations

from collections.abc import Iterator

#: Elements that are computed at a time.
_PIECE = 1 << 15


def pieces_of_rows(count: int, length: int) -> Iterator[slice]:
    """Slices of `count` rows of `length` elements.

    Examples
    --------
    >>> list(pieces_of_rows(3, 1 << 14))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    step = max(1, _PIECE // max(length, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
