"""Combine functions that generated kernels give to `tl.reduce`: associative, and exact about NaN and ties."""

# Triton's language: its functions say nothing of types, and annotations of parameters would be part of the kernel.
# pyright: basic

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def nan_max(a, b):  # noqa: ANN001, ANN201  # Triton reads the body, not the types
    """The larger; NaN if either is."""
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def nan_min(a, b):  # noqa: ANN001, ANN201
    """The smaller; NaN if either is."""
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def product(a, b):  # noqa: ANN001, ANN201
    """The product."""
    return a * b


@triton.jit
def first_max(a, i, b, j):  # noqa: ANN001, ANN201
    """The larger and its position; NaN beats all, equal values give the lower position."""
    a_nan = a != a
    b_nan = b != b
    take = (a > b) | (a_nan & (b == b)) | (((a == b) | (a_nan & b_nan)) & (i < j))
    return tl.where(take, a, b), tl.where(take, i, j)


@triton.jit
def first_min(a, i, b, j):  # noqa: ANN001, ANN201
    """The smaller and its position; NaN beats all, equal values give the lower position."""
    a_nan = a != a
    b_nan = b != b
    take = (a < b) | (a_nan & (b == b)) | (((a == b) | (a_nan & b_nan)) & (i < j))
    return tl.where(take, a, b), tl.where(take, i, j)
