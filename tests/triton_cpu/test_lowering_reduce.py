"""Reductions and scans along each axis, of several operands, with NaN and ties."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from native import BF16, launch


@triton.jit
def _welford(m1, s1, w1, m2, s2, w2):
    d = m2 - m1
    w = w1 + w2
    r = tl.where(w == 0.0, 0.0, w2 / w)
    return m1 + d * r, s1 + s2 + d * d * w1 * r, w


@triton.jit
def _product(a, b):
    return a * b


@triton.jit
def _nan_max(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def reduced(x_ptr, o_ptr, rows, cols, OP: tl.constexpr, AXIS: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)[:, None]
    c = tl.arange(0, C)[None, :]
    live = (r < rows) & (c < cols)
    if OP == "sum":
        y = tl.sum(tl.load(x_ptr + r * cols + c, mask=live, other=0), AXIS)
    elif OP == "prod":
        y = tl.reduce(tl.load(x_ptr + r * cols + c, mask=live, other=1), AXIS, _product)
    elif OP == "xor":
        y = tl.xor_sum(tl.load(x_ptr + r * cols + c, mask=live, other=0), AXIS)
    elif OP == "max":
        y = tl.max(tl.load(x_ptr + r * cols + c, mask=live, other=-100), AXIS)
    elif OP == "nan_max":
        y = tl.reduce(tl.load(x_ptr + r * cols + c, mask=live, other=-100), AXIS, _nan_max)
    elif OP == "min":
        y = tl.min(tl.load(x_ptr + r * cols + c, mask=live, other=100), AXIS)
    elif OP == "argmax":
        y = tl.argmax(tl.load(x_ptr + r * cols + c, mask=live, other=-100), AXIS)
    else:
        y = tl.argmin(tl.load(x_ptr + r * cols + c, mask=live, other=100), AXIS)
    if AXIS == 1:
        tl.store(o_ptr + tl.arange(0, R), y, mask=tl.arange(0, R) < rows)
    else:
        tl.store(o_ptr + tl.arange(0, C), y, mask=tl.arange(0, C) < cols)


CASES = [
    ("sum", np.float32), ("sum", np.int32), ("sum", np.int64), ("sum", np.float64), ("sum", BF16), ("prod", np.float32),
    ("xor", np.int32), ("max", np.float32), ("max", np.int8), ("max", np.float16), ("min", np.uint8), ("min", np.int64),
    ("argmax", np.float32), ("argmin", np.float32), ("argmax", np.int32), ("nan_max", np.float32),
]  # fmt: skip


@pytest.mark.parametrize(("op", "dtype"), CASES, ids=lambda v: v if isinstance(v, str) else np.dtype(v).name)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(5, 50), (16, 3), (1, 128)], ids=str)
def test_reduce(op: str, dtype: type, axis: int, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(1 if op == "prod" else 0, 3 if op == "prod" else 60, shape)
    if op == "prod":
        x[:, 2:] = 1
    x = x.astype(dtype)
    block = [1 << (n - 1).bit_length() for n in shape]
    result = np.int32 if op.startswith("arg") else dtype
    out = np.zeros(shape[1 - axis], result)
    launch(reduced, (1,), x, out, *shape, OP=op, AXIS=axis, R=block[0], C=block[1])
    exact = {"sum": np.sum, "prod": np.prod, "xor": np.bitwise_xor.reduce, "max": np.max, "nan_max": np.max,
             "min": np.min,
             "argmax": np.argmax, "argmin": np.argmin}[op]  # fmt: skip
    source = x.astype(np.float32) if dtype is BF16 else x
    np.testing.assert_allclose(
        out.astype(np.float64), exact(source, axis=axis).astype(np.float64), rtol=1e-6 if dtype is not BF16 else 1e-2
    )


@triton.jit
def row_extremes(x_ptr, o_ptr, i_ptr, n, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + c, mask=c < n, other=-float("inf"))
    value, index = tl.max(x, 0, return_indices=True)
    tl.store(o_ptr, value)
    tl.store(i_ptr, index)
    tl.store(o_ptr + 1, tl.max(x, 0))
    tl.store(o_ptr + 2, tl.reduce(x, 0, _nan_max))


def test_maximum_ignores_or_propagates_nan_and_ties_take_the_first() -> None:
    x = np.zeros(100, np.float32)
    x[[7, 70]] = 5.0
    out, index = np.zeros(3, np.float32), np.zeros(1, np.int32)
    launch(row_extremes, (1,), x, out, index, 100, BLOCK=128)
    assert out.tolist() == [5.0, 5.0, 5.0] and index[0] == 7
    x[33] = np.nan
    launch(row_extremes, (1,), x, out, index, 100, BLOCK=128)
    assert out[1] == 5.0 and np.isnan(out[2])


@triton.jit
def statistics(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    live = c < n
    x = tl.load(x_ptr + row * n + c, mask=live, other=0.0)
    m, s, w = tl.reduce((x, tl.zeros((BLOCK,), tl.float32), live.to(tl.float32)), 0, _welford)
    tl.store(o_ptr + row * 3, m)
    tl.store(o_ptr + row * 3 + 1, s / w)
    tl.store(o_ptr + row * 3 + 2, w)


@pytest.mark.parametrize("n", [1, 7, 100, 128])
def test_generic_combine_of_three_operands(n: int) -> None:
    x = np.random.default_rng(0).standard_normal((3, n)).astype(np.float32)
    out = np.zeros((3, 3), np.float32)
    launch(statistics, (3,), x, out, n, BLOCK=128)
    np.testing.assert_allclose(out[:, 0], x.mean(1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(out[:, 1], x.var(1), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(out[:, 2], n)


@triton.jit
def scanned(
    x_ptr, o_ptr, rows, cols, OP: tl.constexpr, AXIS: tl.constexpr, REV: tl.constexpr, R: tl.constexpr, C: tl.constexpr
):
    r = tl.arange(0, R)[:, None]
    c = tl.arange(0, C)[None, :]
    live = (r < rows) & (c < cols)
    x = tl.load(x_ptr + r * cols + c, mask=live, other=0)
    if OP == "sum":
        y = tl.cumsum(x, AXIS, reverse=REV)
    else:
        y = tl.associative_scan(x, AXIS, _nan_max, reverse=REV)
    tl.store(o_ptr + r * cols + c, y, mask=live)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("op", ["sum", "max"])
def test_scan(op: str, axis: int, reverse: bool) -> None:
    x = np.random.default_rng(0).integers(1, 50, (6, 30)).astype(np.float32)
    out = np.zeros_like(x)
    launch(scanned, (1,), x, out, 6, 30, OP=op, AXIS=axis, REV=reverse, R=8, C=32)
    step = np.cumsum if op == "sum" else np.maximum.accumulate
    want = np.flip(step(np.flip(x, axis), axis=axis), axis) if reverse else step(x, axis=axis)
    np.testing.assert_array_equal(out, want)


@triton.jit
def softmax_tile(x_ptr, o_ptr, rows, cols, R: tl.constexpr, C: tl.constexpr):
    r = (tl.program_id(0) * R + tl.arange(0, R))[:, None]
    c = tl.arange(0, C)[None, :]
    live = (r < rows) & (c < cols)
    x = tl.load(x_ptr + r * cols + c, mask=live, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 1)[:, None])
    tl.store(o_ptr + r * cols + c, e / tl.sum(e, 1)[:, None], mask=live)


@pytest.mark.parametrize(("rows", "cols"), [(7, 100), (4, 128), (9, 5)])
def test_several_rows_per_program(rows: int, cols: int) -> None:
    x = np.random.default_rng(0).standard_normal((rows, cols)).astype(np.float32)
    out = np.zeros_like(x)
    launch(softmax_tile, (triton.cdiv(rows, 4),), x, out, rows, cols, R=4, C=128)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=1e-6)


@triton.jit
def column_sums(x_ptr, o_ptr, rows, cols, R: tl.constexpr, C: tl.constexpr):
    c = tl.program_id(0) * C + tl.arange(0, C)
    acc = tl.zeros((R, C), tl.float32)
    for start in range(0, rows, R):
        r = start + tl.arange(0, R)
        acc += tl.load(
            x_ptr + r[:, None] * cols + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < cols), other=0.0
        )
    tl.store(o_ptr + c, tl.sum(acc, 0), mask=c < cols)


@pytest.mark.parametrize("tile", [(1, 32), (8, 64), (4, 128)])
def test_sum_over_the_first_axis(tile: tuple[int, int]) -> None:
    x = np.random.default_rng(0).standard_normal((50, 150)).astype(np.float32)
    out = np.zeros(150, np.float32)
    launch(column_sums, (triton.cdiv(150, tile[1]),), x, out, 50, 150, R=tile[0], C=tile[1])
    np.testing.assert_allclose(out, x.astype(np.float64).sum(0), rtol=1e-5, atol=1e-5)


@triton.jit
def rows_by_lanes(x_ptr, o_ptr, i_ptr, P: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    p = tl.arange(0, P)[:, None, None]
    r = tl.arange(0, R)[None, :, None]
    c = tl.arange(0, C)[None, None, :]
    first = tl.program_id(0) * P * R
    x = tl.load(x_ptr + (first + p * R + r) * C + c)
    m, s, w = tl.reduce((x, tl.zeros((P, R, C), tl.float32), tl.full((P, R, C), 1.0, tl.float32)), 2, _welford)
    at = (first + tl.arange(0, P)[:, None] * R + tl.arange(0, R)[None, :]) * 6
    value, index = tl.max(x, 2, return_indices=True)
    tl.store(o_ptr + at, tl.sum(x, 2))
    tl.store(o_ptr + at + 1, tl.reduce(x, 2, _nan_max))
    tl.store(o_ptr + at + 2, value)
    tl.store(o_ptr + at + 3, m)
    tl.store(o_ptr + at + 4, s)
    tl.store(o_ptr + at + 5, w)
    tl.store(i_ptr + at // 6, index)


@pytest.mark.parametrize("width", [2, 8, 16, 64, 512])
@pytest.mark.parametrize("tile", [(1, 2), (1, 4), (2, 8), (4, 16), (1, 64)], ids=str)
def test_rows_whose_lanes_are_combined_together_are_as_one_row_alone(tile: tuple[int, int], width: int) -> None:
    rows = 64
    x = np.random.default_rng(0).standard_normal((rows, width)).astype(np.float32)
    x[3, 0] = x[9, width - 1] = np.nan
    x[5] = -0.0
    x[6, ::2], x[6, 1::2] = 0.0, -0.0
    x[7] = 2.0  # all are the largest: the first counts
    x[8, width // 2], x[11, 0] = np.inf, -np.inf
    found = []
    for p, r in (tile, (1, 1)):
        out, index = np.zeros((rows, 6), np.float32), np.zeros(rows, np.int32)
        launch(rows_by_lanes, (rows // (p * r),), x, out, index, P=p, R=r, C=width)
        found.append((out, index))
    (together, at), (alone, at_alone) = found
    np.testing.assert_array_equal(together.view(np.int32)[~np.isnan(alone)], alone.view(np.int32)[~np.isnan(alone)])
    np.testing.assert_array_equal(np.isnan(together), np.isnan(alone))
    np.testing.assert_array_equal(at, at_alone)
    plain = np.isfinite(x).all(1)
    np.testing.assert_allclose(together[plain, 0], x[plain].astype(np.float64).sum(1), rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(at[plain], x[plain].argmax(1))
    assert np.isnan(together[[3, 9], 1]).all()
    assert together[8, 1] == np.inf


@triton.jit
def carried_columns(x_ptr, o_ptr, n, cols, OP: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    c = tl.arange(0, C)[None, :]
    total = tl.zeros((1, C), tl.float32)
    least = tl.full((1, C), float("inf"), tl.float32)
    for start in range(0, n, R):
        r = start + tl.arange(0, R)[:, None]
        x = tl.load(x_ptr + r * cols + c, mask=(r < n) & (c < cols), other=0.0)
        if OP == "sum":
            total += tl.sum(x, 0, keep_dims=True)
        elif OP == "scaled":
            total = total * 0.5 + tl.sum(x, 0, keep_dims=True)
        elif OP == "used twice":
            s = tl.sum(x, 0, keep_dims=True)
            total += s
            least = tl.minimum(least, s)
        elif OP == "read before":
            y = tl.sum(x + total, 0, keep_dims=True)
            total = total + y
        else:
            total += tl.sum(x, 0, keep_dims=True)
            least = tl.minimum(least, total)
    tl.store(o_ptr + c, total, mask=c < cols)
    tl.store(o_ptr + cols + c, least, mask=c < cols)


@pytest.mark.parametrize("op", ["sum", "scaled", "used twice", "read before", "handed on twice"])
@pytest.mark.parametrize("shape", [(8, 64), (4, 32), (64, 128)], ids=str)
def test_a_column_reduction_that_a_loop_adds_up(op: str, shape: tuple[int, int]) -> None:
    high, wide = shape
    x = np.random.default_rng(0).integers(-4, 5, (high * 3 - 1, wide - 3)).astype(np.float32)
    out = np.zeros((2, wide - 3), np.float32)
    launch(carried_columns, (1,), x, out, len(x), wide - 3, OP=op, R=high, C=wide)
    total, least = np.zeros(wide - 3), np.full(wide - 3, np.inf)
    for k in range(3):
        rows = np.zeros((high, wide - 3))
        rows[: len(x[k * high : (k + 1) * high])] = x[k * high : (k + 1) * high]
        # Where the mask says no, what is added to the elements is added all the same.
        part = (rows + total).sum(0) if op == "read before" else rows.sum(0)
        total = total * 0.5 + part if op == "scaled" else total + part
        if op in ("used twice", "handed on twice"):
            least = np.minimum(least, part if op == "used twice" else total)
    np.testing.assert_allclose(out[0], total, rtol=1e-6)
    np.testing.assert_allclose(out[1], least, rtol=1e-6)


@triton.jit
def _nan_min(a, b):
    return tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def extremes(x_ptr, o_ptr, ROWS: tl.constexpr, R: tl.constexpr, C: tl.constexpr, WIDE: tl.constexpr):
    r = tl.arange(0, R)[:, None]
    c = tl.arange(0, C)[None, :]
    x = tl.load(x_ptr + r * C + c)
    if WIDE:
        x = x.to(tl.float32)
    tl.store(o_ptr + tl.arange(0, R), tl.reduce(x, 1, _nan_max))
    tl.store(o_ptr + R + tl.arange(0, R), tl.reduce(x, 1, _nan_min))
    most = tl.reduce(x, 0, _nan_max, keep_dims=True)
    least = tl.reduce(x, 0, _nan_min, keep_dims=True)
    for k in range(1, ROWS // R):
        x = tl.load(x_ptr + (k * R + r) * C + c)
        if WIDE:
            x = x.to(tl.float32)
        most = tl.maximum(most, tl.reduce(x, 0, _nan_max, keep_dims=True), propagate_nan=tl.PropagateNan.ALL)
        least = tl.minimum(least, tl.reduce(x, 0, _nan_min, keep_dims=True), propagate_nan=tl.PropagateNan.ALL)
    tl.store(o_ptr + 2 * R + c, most)
    tl.store(o_ptr + 2 * R + C + c, least)


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [(np.float16, False), (np.float16, True), (BF16, True), (np.float32, False), (np.float64, False)],
    ids=["f16", "f16 widened", "bf16 widened", "f32", "f64"],
)
@pytest.mark.parametrize("numbers", ["any", "below 0", "above 0", "zeros", "infinite", "nan", "-nan", "-nan below 0"])
def test_extremes_are_those_of_numbers_with_nan_and_signs_of_zeros(numbers: str, dtype: type, wide: bool) -> None:
    rng, high, count = np.random.default_rng(0), 8, 64
    x = rng.standard_normal((32, count))
    if numbers in ("below 0", "-nan below 0"):
        x = -abs(x)
    elif numbers == "above 0":
        x = abs(x)
    elif numbers == "zeros":
        x = np.where(rng.random(x.shape) < 0.9, -0.0, 0.0)
    elif numbers == "infinite":
        x = np.where(rng.random(x.shape) < 0.1, np.inf, -np.inf)
    x = x.astype(dtype)
    if "nan" in numbers:
        # The sign of a NaN says nothing, and those that arithmetic makes have one on some machines.
        x[rng.random(x.shape) < 0.01] = np.copysign(np.float64("nan"), -1 if "-" in numbers else 1).astype(dtype)
    out = np.zeros(2 * (high + count), np.float32 if wide else dtype)
    launch(extremes, (1,), x, out, ROWS=32, R=high, C=count, WIDE=wide)
    exact = x.astype(np.float64)
    parts = [exact[:high].max(1), exact[:high].min(1), exact.max(0), exact.min(0)]
    want, got = np.concatenate(parts), out.astype(np.float64)
    np.testing.assert_array_equal(got, want)
    if numbers == "zeros":
        sides = [(exact[:high], 1), (exact, 0)]
        signs = [f(np.signbit(a), axis) for a, axis in sides for f in (np.all, np.any)]
        np.testing.assert_array_equal(np.signbit(got), np.concatenate(signs))
