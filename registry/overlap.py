"""Whether tensors share memory, told from where their elements lie."""

from __future__ import annotations

import math

from opweave.registry.spec import is_dense
from opweave.registry.tensor import Tensor

#: Up to so many elements two views are compared element by element.
_MAX_ENUMERATED = 1 << 16


def overlap(one: Tensor, other: Tensor) -> bool:
    """Whether two views of one base may share elements."""
    if 0 in one._sizes or 0 in other._sizes:
        return False
    if one._dtype.itemsize != other._dtype.itemsize:  # places are counted in elements
        (a, b), (c, d) = (
            (low * t._dtype.itemsize, (high + 1) * t._dtype.itemsize - 1)
            for t in (one, other) for low, high in (_bounds(t),)
        )  # fmt: skip
        return bool(a <= d and c <= b)
    (a, b), (c, d) = _bounds(one), _bounds(other)
    if not (a <= d and c <= b):
        return False
    mine, theirs = _elements(one), _elements(other)
    return mine is None or theirs is None or not mine.isdisjoint(theirs)


def within(view: Tensor, whole: Tensor) -> bool:
    """Whether all elements of a view are elements of another one on the same memory."""
    if 0 in view._sizes:
        return True
    if 0 in whole._sizes:
        return False
    (a, b), (c, d) = _bounds(view), _bounds(whole)
    if not (c <= a and b <= d):
        return False
    if is_dense(whole._sizes, whole._strides):
        return True
    mine, theirs = _elements(view), _elements(whole)
    return mine is not None and theirs is not None and mine <= theirs


def _bounds(t: Tensor) -> tuple[int, int]:
    """The first and the last place in memory, in elements."""
    reach = sum((size - 1) * stride for size, stride in zip(t._sizes, t._strides, strict=True))
    return t._offset, t._offset + reach


def _elements(t: Tensor) -> set[int] | None:
    """All places in memory; None where they are too many or not known."""
    numbers = (*t._sizes, *t._strides, t._offset)
    if any(type(number) is not int for number in numbers) or math.prod(t._sizes) > _MAX_ENUMERATED:
        return None
    places = {t._offset}
    for size, stride in zip(t._sizes, t._strides, strict=True):
        places = {place + i * stride for place in places for i in range(size)}
    return places


# ---- at run time -----------------------------------------------------------------------------------------------------


def disjoint(written: tuple[Tensor, ...], others: tuple[Tensor, ...]) -> bool:
    """Whether no written tensor shares memory with another one."""
    spans = sorted([(*memory_span(t), True) for t in written] + [(*memory_span(t), False) for t in others])
    end = end_written = -1
    for first, last, is_written in spans:
        if first == last:
            continue
        if first < (end if is_written else end_written):
            return False
        end = max(end, last)
        if is_written:
            end_written = max(end_written, last)
    return True


def memory_span(t: Tensor) -> tuple[int, int]:
    """First byte and end of the memory a tensor's elements lie in."""
    reach = 1
    for size, stride in zip(t._sizes, t._strides, strict=True):
        if size == 0:
            return 0, 0
        reach += (size - 1) * stride
    start = (t._storage._ptr or t._storage.ptr) + t._offset * t._dtype.itemsize
    return start, start + reach * t._dtype.itemsize
