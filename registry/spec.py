"""What a tensor looks like without its data: the currency of fake rules."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

from opweave.registry.device import Device
from opweave.registry.dtypes import DType


class TensorSpec(NamedTuple):
    """Sizes and strides (in elements), element type and device of a tensor."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    device: Device

    @property
    def numel(self) -> int:
        """Number of elements."""
        return math.prod(self.sizes)


def contiguous_strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements; a dimension of size 0 counts as 1, as PyTorch does."""
    if len(sizes) == 1:
        return (1,)
    strides = []
    step = 1
    for size in reversed(sizes):
        strides.append(step)
        step = step * (size if size > 1 else 1)
    strides.reverse()
    return tuple(strides)


#: `contiguous_strides` of a tuple of plain ints, remembered.
row_major = functools.lru_cache(maxsize=4096)(contiguous_strides)


def is_contiguous(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether elements lie in row-major order without gaps (strides of size-1 dimensions do not matter)."""
    expected = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size == 0:
            return True
        if size != 1:
            if stride != expected:
                return any(size == 0 for size in sizes)
            expected = expected * size
    return True


def contiguous(sizes: Sequence[int], dtype: DType, device: Device) -> TensorSpec:
    """The spec of a row-major tensor."""
    return TensorSpec(tuple(sizes), contiguous_strides(sizes), dtype, device)


def is_dense(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether a permutation of the dimensions is contiguous: no gaps, no overlap."""
    expected = 1
    for stride, size in sorted((stride, size) for size, stride in zip(sizes, strides, strict=True) if size != 1):
        if size == 0:
            return True
        if stride != expected:
            return False
        expected *= size
    return True


def span(sizes: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to the last that the strides reach, 0 for an empty tensor."""
    reach = 1
    for size, stride in zip(sizes, strides, strict=True):
        if size == 0:
            return 0
        reach += (size - 1) * stride
    return reach


def overlaps_itself(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two indices may name one element (as in an expanded tensor); conservative for odd strides."""
    reach = 1
    for stride, size in sorted((stride, size) for size, stride in zip(sizes, strides, strict=True) if size > 1):
        if stride < reach:
            return True
        reach += (size - 1) * stride
    return False
