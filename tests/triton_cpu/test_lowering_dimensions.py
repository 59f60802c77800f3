"""Nests that walk through several dimensions as one, and exchanges along an axis of two elements."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from native import compiled, launch


@triton.jit
def _xor(a, b):
    return a ^ b


@triton.jit
def _told_apart_in_the_middle(x, y, z):
    i = tl.arange(0, 256)
    v = tl.reshape(tl.load(x + i), (4, 2, 8, 4))
    w = v + tl.sum(v, 1, keep_dims=True) * 2.0
    tl.store(y + i, tl.reshape(w + tl.max(w, 2, keep_dims=True), (256,)))
    tl.store(z + i, tl.reshape(tl.trans(w, (2, 3, 0, 1)) * 3.0, (256,)))


def test_dimensions_around_a_reduced_one_go_together() -> None:
    x = np.random.default_rng(0).standard_normal(256).astype(np.float32)
    y, z = np.empty_like(x), np.empty_like(x)
    launch(_told_apart_in_the_middle, (1,), x, y, z)
    v = x.astype(np.float64).reshape(4, 2, 8, 4)
    w = v + 2 * v.sum(1, keepdims=True)
    np.testing.assert_allclose(y, (w + w.max(2, keepdims=True)).ravel(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(z, 3 * w.transpose(2, 3, 0, 1).ravel(), rtol=1e-5, atol=1e-5)


@triton.jit
def _ranges_among_dimensions(x, y, n):
    i = tl.arange(0, 128)
    v = tl.reshape(tl.load(x + i), (2, 4, 16))
    a = tl.arange(0, 4)[None, :, None]
    c = tl.arange(0, 16)[None, None, :]
    w = tl.where((a < n) & (c >= a), v, -v)
    left, right = tl.split(tl.reshape(w, (2, 4, 8, 2)))
    tl.store(y + i, tl.reshape(tl.join(right, left * 2.0), (128,)))


def test_ranges_and_splits_keep_their_dimensions() -> None:
    x = np.random.default_rng(0).standard_normal(128).astype(np.float32)
    y = np.empty_like(x)
    launch(_ranges_among_dimensions, (1,), x, y, 3)
    a, c = np.arange(4)[None, :, None], np.arange(16)[None, None, :]
    v = x.reshape(2, 4, 16)
    w = np.where((a < 3) & (c >= a), v, -v).reshape(2, 4, 8, 2)
    np.testing.assert_array_equal(y, np.stack([w[..., 1], w[..., 0] * 2], -1).ravel())


@triton.jit
def _scans(x, y, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, 256)
    v = tl.reshape(tl.load(x + i), (2, 4, 8, 4))
    tl.store(y + i, tl.reshape(tl.cumsum(v * 2, AXIS, reverse=REVERSE), (256,)))


@pytest.mark.parametrize("axis", range(4))
@pytest.mark.parametrize("reverse", [False, True])
def test_scans_along_each_dimension(axis: int, reverse: bool) -> None:
    x = np.random.default_rng(0).integers(-99, 99, 256).astype(np.int32)
    y = np.empty_like(x)
    launch(_scans, (1,), x, y, AXIS=axis, REVERSE=reverse)
    v = 2 * x.reshape(2, 4, 8, 4)
    want = np.flip(np.flip(v, axis).cumsum(axis), axis) if reverse else v.cumsum(axis)
    np.testing.assert_array_equal(y, want.ravel())


@triton.jit
def _exchanged(x, y, AXIS: tl.constexpr):
    i = tl.arange(0, 32)
    v = tl.reshape(tl.load(x + i), (4, 2, 2, 2))
    tl.store(y + i, tl.reshape(v ^ tl.reduce(v, AXIS, _xor, keep_dims=True), (32,)))


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_an_exclusive_or_with_that_of_two_is_the_other(axis: int) -> None:
    x = np.random.default_rng(0).integers(-(2**31), 2**31, 32).astype(np.int32)
    y = np.empty_like(x)
    launch(_exchanged, (1,), x, y, AXIS=axis)
    np.testing.assert_array_equal(y, np.flip(x.reshape(4, 2, 2, 2), axis).ravel())


@triton.jit
def _no_exchange(x, y, z):
    i = tl.arange(0, 16)
    v = tl.reshape(tl.load(x + i), (2, 2, 4))
    tl.store(y + i, tl.reshape(v ^ tl.reduce(v, 2, _xor, keep_dims=True), (16,)))
    other = tl.reduce(v, 0, _xor)  # back along another axis of the same size
    tl.store(z + i, tl.reshape(v ^ tl.expand_dims(other, 1), (16,)))


def test_what_only_looks_like_an_exchange() -> None:
    x = np.random.default_rng(0).integers(-(2**31), 2**31, 16).astype(np.int32)
    y, z = np.empty_like(x), np.empty_like(x)
    launch(_no_exchange, (1,), x, y, z)
    v = x.reshape(2, 2, 4)
    np.testing.assert_array_equal(y, (v ^ np.bitwise_xor.reduce(v, 2, keepdims=True)).ravel())
    np.testing.assert_array_equal(z, (v ^ np.bitwise_xor.reduce(v, 0)[:, None]).ravel())


@triton.jit
def _kept_apart(x, y, z):
    i = tl.arange(0, 8)
    v = tl.reshape(tl.load(x + i), (4, 2))
    both = tl.reduce(v, 1, _xor, keep_dims=True)
    tl.store(y + i, tl.reshape(v ^ both, (8,)))
    tl.store(z + i, tl.reshape(v + both, (8,)))


def test_the_exclusive_or_of_an_exchange_may_be_wanted_too() -> None:
    x = np.random.default_rng(0).integers(0, 1000, 8).astype(np.int32)
    y, z = np.empty_like(x), np.empty_like(x)
    launch(_kept_apart, (1,), x, y, z)
    v = x.reshape(4, 2)
    np.testing.assert_array_equal(y, v[:, ::-1].ravel())
    np.testing.assert_array_equal(z, (v + (v[:, :1] ^ v[:, 1:])).ravel())


@triton.jit
def _flip_and_sort(x, y, z, M: tl.constexpr, N: tl.constexpr, DIM: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + i)
    tl.store(y + i, tl.flip(v, DIM))
    tl.store(z + i, tl.sort(v, 1, descending=DIM == 1))


@pytest.mark.parametrize("shape", [(1, 2), (2, 1), (2, 2), (4, 16), (32, 8), (1, 512)])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8])
def test_flips_and_sorts(shape: tuple[int, int], dim: int, dtype: type) -> None:
    m, n = shape
    x = (np.random.default_rng(0).standard_normal(shape) * 50).astype(dtype)
    y, z = np.empty_like(x), np.empty_like(x)
    launch(_flip_and_sort, (1,), x, y, z, M=m, N=n, DIM=dim)
    np.testing.assert_array_equal(y, np.flip(x, dim))
    np.testing.assert_array_equal(z, np.flip(np.sort(x, 1), 1) if dim == 1 else np.sort(x, 1))


@triton.jit
def _flip_in_place(x, DIM: tl.constexpr):
    i = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    tl.store(x + i, tl.flip(tl.load(x + i), DIM))


@pytest.mark.parametrize("dim", [0, 1])
def test_a_flip_in_place(dim: int) -> None:
    x = np.arange(64, dtype=np.int32).reshape(8, 8)
    want = np.flip(x, dim).copy()
    launch(_flip_in_place, (1,), x, DIM=dim)
    np.testing.assert_array_equal(x, want)


@triton.jit
def _transpose_in_place(x):
    i = tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    p = x + i
    tl.store(p, tl.trans(tl.load(p)))


def test_a_transpose_in_place() -> None:
    x = np.arange(64, dtype=np.int32).reshape(8, 8)
    want = x.T.copy()
    launch(_transpose_in_place, (1,), x)
    np.testing.assert_array_equal(x, want)


@triton.jit
def _sort(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.sort(tl.load(x + i)))


def test_a_long_sort_is_a_short_text() -> None:
    x = np.random.default_rng(0).standard_normal(1024).astype(np.float32)
    y = np.empty_like(x)
    launch(_sort, (1,), x, y, N=1024)
    np.testing.assert_array_equal(y, np.sort(x))
    lines = compiled(_sort, x, y, N=1024)[2].llvm_ir.splitlines()
    assert len(lines) < 80 * 55 + 200  # 55 stages, each a nest of its own: it took seven times as many


@triton.jit
def _quotients(out, A: tl.constexpr, B: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    r, c = tl.arange(0, ROWS)[:, None], tl.arange(0, COLS)[None, :]
    at, n = r * COLS + c, ROWS * COLS
    tl.store(out + at, (r * A + c * B) // D)
    tl.store(out + n + at, (r * A + c * B) % D)
    tl.store(out + 2 * n + at, ((tl.program_id(0) * D + c) // D) + r * 0)


@pytest.mark.parametrize(("rows", "cols"), [(4, 4), (16, 8), (2, 32)])
@pytest.mark.parametrize("divisor", [4, 16])
@pytest.mark.parametrize(("a", "b"), [(3, 1), (1, 3), (4, 1), (1, 1), (8, 1), (1, 32)])
def test_quotients_of_places_in_several_dimensions(a: int, b: int, divisor: int, rows: int, cols: int) -> None:
    """A range of another dimension than the vector's has any of its elements there, not its first."""
    out = np.full((3, rows, cols), -1, np.int32)
    launch(_quotients, (1,), out, A=a, B=b, D=divisor, ROWS=rows, COLS=cols)
    flat = np.arange(rows)[:, None] * a + np.arange(cols) * b
    np.testing.assert_array_equal(out[0], flat // divisor)
    np.testing.assert_array_equal(out[1], flat % divisor)
    np.testing.assert_array_equal(out[2], np.broadcast_to(np.arange(cols) // divisor, (rows, cols)))
