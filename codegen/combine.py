"""Combine functions that generated kernels give to `tl.reduce`: associative, and exact about NaN and ties."""

from __future__ import annotations

from typing import Any

import triton
from triton import language

# Which say little of their types.
_triton: Any = triton
tl: Any = language


@_triton.jit
def nan_max(a: Any, b: Any) -> Any:
    """The larger; NaN if either is."""
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@_triton.jit
def nan_min(a: Any, b: Any) -> Any:
    """The smaller; NaN if either is."""
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@_triton.jit
def product(a: Any, b: Any) -> Any:
    """The product."""
    return a * b


@_triton.jit
def first_max(a: Any, i: Any, b: Any, j: Any) -> Any:
    """The larger and its position; NaN beats all, equal values give the lower position."""
    a_nan = a != a
    b_nan = b != b
    take = (a > b) | (a_nan & (b == b)) | (((a == b) | (a_nan & b_nan)) & (i < j))
    return tl.where(take, a, b), tl.where(take, i, j)


@_triton.jit
def first_min(a: Any, i: Any, b: Any, j: Any) -> Any:
    """The smaller and its position; NaN beats all, equal values give the lower position."""
    a_nan = a != a
    b_nan = b != b
    take = (a < b) | (a_nan & (b == b)) | (((a == b) | (a_nan & b_nan)) & (i < j))
    return tl.where(take, a, b), tl.where(take, i, j)
