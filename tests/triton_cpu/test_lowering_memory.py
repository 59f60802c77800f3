"""Masks, strides, aliasing, atomics, and operations that move elements."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from native import BF16, compiled, launch

import opweave
from opweave.codegen.native import llvm
from opweave.codegen.triton_cpu.analysis import TargetFeatures


@triton.jit
def copied(x_ptr, o_ptr, n, stride, other, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * stride, mask=(i < n) & (i >= 2), other=other)
    tl.store(o_ptr + i, x, mask=i < n)


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.float16, BF16, np.int8, np.int64], ids=lambda d: np.dtype(d).name
)
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("n", [0, 1, 100, 256])
def test_masked_loads_take_other(dtype: type, stride: int, n: int) -> None:
    x = np.random.default_rng(0).integers(0, 100, 512).astype(dtype)
    out = np.full(300, 77).astype(dtype)
    launch(copied, (3,), x, out, n, stride, 5, BLOCK=128)
    want = np.full(300, 77).astype(dtype)
    want[:n] = x[::stride][:n]
    want[: min(n, 2)] = 5
    np.testing.assert_array_equal(out.astype(np.float64), want.astype(np.float64))


@triton.jit
def booleans(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=False)
    tl.store(o_ptr + i, (~x) | (i > 5), mask=i < n)


def test_booleans_are_bytes() -> None:
    x = np.array([True, False] * 20)
    out = np.zeros(40, bool)
    launch(booleans, (1,), x, out, 40, BLOCK=64)
    np.testing.assert_array_equal(out, ~x | (np.arange(40) > 5))


@triton.jit
def flipped(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(x_ptr + n - 1 - i, x, mask=i < n)


def test_in_place_permutation_reads_before_it_writes() -> None:
    x = np.arange(100, dtype=np.float32)
    launch(flipped, (1,), x, 100, BLOCK=128)
    np.testing.assert_array_equal(x, np.arange(100)[::-1])


@triton.jit
def doubled_in_rows(x_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    r, c = tl.arange(0, ROWS), tl.arange(0, COLS)
    place = x_ptr + c[None, :] + 0 * r[:, None]
    tl.store(place, tl.load(place) * 2)


@triton.jit
def doubled_in_turns(x_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    place = x_ptr + tl.arange(0, ROWS * COLS) % COLS
    tl.store(place, tl.load(place) * 2)


@triton.jit
def doubled_at_odd_steps(x_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    place = x_ptr + 3 * tl.arange(0, COLS)[:, None] + 2 * tl.arange(0, 4)[None, :]
    tl.store(place, tl.load(place) * 2)


@triton.jit
def doubled_and_stored_twice(x_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    r, c = tl.arange(0, ROWS), tl.arange(0, COLS)
    place = x_ptr + c[None, :] + 0 * r[:, None]
    x = tl.load(place) * 2
    tl.store(place, x + r[:, None])
    tl.store(place, x)


@pytest.mark.parametrize("kernel", [doubled_in_rows, doubled_in_turns, doubled_at_odd_steps, doubled_and_stored_twice])
def test_places_that_a_block_names_twice_are_read_before_they_are_written(kernel: Any) -> None:
    x = np.arange(1.0, 65.0, dtype=np.float32)
    want = x.copy()
    touched = {3 * i + 2 * j for i in range(8) for j in range(4)} if kernel is doubled_at_odd_steps else range(8)
    want[sorted(touched)] *= 2
    launch(kernel, (1,), x, ROWS=256, COLS=8)
    np.testing.assert_array_equal(x, want)


@triton.jit
def doubled_elsewhere(x_ptr, o_ptr, ROWS: tl.constexpr, COLS: tl.constexpr):
    r, c = tl.arange(0, ROWS), tl.arange(0, COLS)
    place = c[None, :] + 0 * r[:, None]
    tl.store(o_ptr + place, tl.load(x_ptr + place) * 2)


def test_so_they_are_where_two_arguments_are_one_tensor() -> None:
    x = opweave.ones(8)
    doubled_elsewhere[(1,)](x, x, ROWS=256, COLS=8)
    assert x.tolist() == [2.0] * 8


@triton.jit
def updated(x_ptr, o_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(x_ptr + i, x + 1)
    tl.store(o_ptr + i, x * 10)
    again = tl.load(x_ptr + i)
    tl.store(o_ptr + BLOCK + i, again)
    total = tl.sum(x, 0)
    tl.store(o_ptr + 2 * BLOCK + i, total)


def test_loads_do_not_sink_past_stores() -> None:
    x = np.arange(64, dtype=np.float32)
    out = np.zeros((3, 64), np.float32)
    launch(updated, (1,), x, out, BLOCK=64)
    base = np.arange(64)
    np.testing.assert_array_equal(out, [base * 10, base + 1, np.full(64, base.sum())])


@triton.jit
def transposed(x_ptr, o_ptr, rows, cols, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.program_id(1) * C + tl.arange(0, C)
    x = tl.load(x_ptr + r[:, None] * cols + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < cols))
    tl.store(o_ptr + c[:, None] * rows + r[None, :], tl.trans(x), mask=(c[:, None] < cols) & (r[None, :] < rows))


@pytest.mark.parametrize("dtype", [np.float32, np.int8], ids=lambda d: np.dtype(d).name)
def test_transpose(dtype: type) -> None:
    x = np.random.default_rng(0).integers(-100, 100, (70, 45)).astype(dtype)
    out = np.zeros((45, 70), dtype)
    launch(transposed, (triton.cdiv(70, 32), triton.cdiv(45, 16)), x, out, 70, 45, R=32, C=16)
    np.testing.assert_array_equal(out, x.T)


@triton.jit
def flat_indices(a_ptr, b_ptr, o_ptr, n, INNER: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inner, outer = i % INNER, i // INNER
    a = tl.load(a_ptr + inner, mask=i < n)
    b = tl.load(b_ptr + outer, mask=i < n)
    tl.store(o_ptr + i, a * b, mask=i < n)


@pytest.mark.parametrize("inner", [64, 96, 50, 7])
def test_flat_index_arithmetic(inner: int) -> None:
    a, b = np.arange(inner, dtype=np.float32), np.arange(40, dtype=np.float32) + 1
    out = np.zeros((40, inner), np.float32)
    launch(flat_indices, (triton.cdiv(out.size, 256),), a, b, out, out.size, INNER=inner, BLOCK=256)
    np.testing.assert_array_equal(out, b[:, None] * a)


@triton.jit
def rearranged(x_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    even, odd = tl.split(tl.reshape(x, (N // 2, 2)))
    tl.store(o_ptr + i, tl.reshape(tl.join(odd * 2, even + 1), (N,)))
    tl.store(o_ptr + N + i, tl.reshape(tl.trans(tl.reshape(x, (N // 8, 8))), (N,)))
    tl.store(o_ptr + 2 * N + i, tl.flip(x, 0))
    tl.store(o_ptr + 3 * N + i, tl.gather(x, (i * 7) % N, 0))
    tl.store(o_ptr + 4 * N + i, tl.sort(x))
    tl.store(o_ptr + 5 * N + i, tl.ravel(tl.interleave(even, odd)))
    tl.store(o_ptr + 6 * N + i, tl.cat(even, odd, can_reorder=True))


def test_rearrangements() -> None:
    n = 64
    x = np.random.default_rng(0).standard_normal(n).astype(np.float32)
    out = np.zeros((7, n), np.float32)
    launch(rearranged, (1,), x, out, N=n)
    even, odd = x[::2], x[1::2]
    np.testing.assert_array_equal(out[0], np.stack([odd * 2, even + 1], 1).ravel())
    np.testing.assert_array_equal(out[1], x.reshape(n // 8, 8).T.ravel())
    np.testing.assert_array_equal(out[2], x[::-1])
    np.testing.assert_array_equal(out[3], x[np.arange(n) * 7 % n])
    np.testing.assert_array_equal(out[4], np.sort(x))
    np.testing.assert_array_equal(out[5], x)
    np.testing.assert_array_equal(np.sort(out[6]), np.sort(x))


@triton.jit
def gathered_rows(x_ptr, i_ptr, o_ptr, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr):
    place = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(o_ptr + place, tl.gather(tl.load(x_ptr + place), tl.load(i_ptr + place), AXIS))


@pytest.mark.parametrize("axis", [0, 1])
def test_gather_along_each_axis(axis: int) -> None:
    rng = np.random.default_rng(0)
    x, out = rng.standard_normal((8, 32)).astype(np.float32), np.zeros((8, 32), np.float32)
    index = rng.integers(0, x.shape[axis], x.shape).astype(np.int32)
    launch(gathered_rows, (1,), x, index, out, R=8, C=32, AXIS=axis)
    np.testing.assert_array_equal(out, np.take_along_axis(x, index.astype(np.int64), axis))


@triton.jit
def counted(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=-1)
    tl.store(o_ptr + tl.arange(0, 16), tl.histogram(x, 16))


def test_histogram() -> None:
    x = np.random.default_rng(0).integers(0, 16, 100).astype(np.int32)
    out = np.zeros(16, np.int32)
    launch(counted, (1,), x, out, 100, BLOCK=128)
    np.testing.assert_array_equal(out, np.bincount(x, minlength=16))


@triton.jit
def atomics(x_ptr, o_ptr, old_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    p = o_ptr + i % 4
    if OP == "add":
        old = tl.atomic_add(p, x, mask=i < n)
    elif OP == "max":
        old = tl.atomic_max(p, x, mask=i < n)
    elif OP == "min":
        old = tl.atomic_min(p, x, mask=i < n)
    else:
        old = tl.atomic_xchg(p, x, mask=i < n)
    tl.store(old_ptr + i, old, mask=i < n)


@pytest.mark.parametrize("op", ["add", "max", "min", "xchg"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.uint32], ids=lambda d: np.dtype(d).name)
def test_atomics(op: str, dtype: type) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0 if dtype is np.uint32 else -50, 50, 30).astype(dtype)
    out, old = np.zeros(4, dtype), np.zeros(30, dtype)
    launch(atomics, (1,), x, out, old, 30, OP=op, BLOCK=32)
    state = np.zeros(4, dtype)
    f = {"add": lambda a, b: a + b, "max": max, "min": min, "xchg": lambda a, b: b}[op]
    for k, v in enumerate(x):
        # Triton splits maxima of floats into one atomic for each sign, whose order differs.
        assert old[k] == state[k % 4] or (dtype is np.float32 and op in ("max", "min"))
        state[k % 4] = f(state[k % 4], v)
    np.testing.assert_array_equal(out, state)


@triton.jit
def half_sums(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(o_ptr + i * 0, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16], ids=str)
def test_half_precision_atomics(dtype: np.dtype) -> None:
    x, out = np.ones(20).astype(dtype), np.zeros(1).astype(dtype)
    launch(half_sums, (1,), x, out, 20, BLOCK=32)
    assert float(out[0]) == 20


@triton.jit
def swapped(lock_ptr, o_ptr):
    old = tl.atomic_cas(lock_ptr, 0, 7)
    again = tl.atomic_cas(lock_ptr, 0, 9)
    tl.store(o_ptr, old)
    tl.store(o_ptr + 1, again)


def test_compare_and_swap() -> None:
    lock, out = np.zeros(1, np.int32), np.ones(2, np.int32)
    launch(swapped, (1,), lock, out)
    assert (lock[0], out.tolist()) == (7, [0, 7])


@triton.jit
def pointers(o_ptr, table_ptr, pick, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    which = tl.where(i % 2 == 0, o_ptr + i, o_ptr + BLOCK + i)
    address = tl.load(table_ptr + pick).to(tl.pointer_type(tl.float32))
    tl.store(which, tl.load(address + i) + 1)


def test_pointers_are_data() -> None:
    x, y, out = np.zeros(16, np.float32), np.arange(16, dtype=np.float32), np.zeros(32, np.float32)
    table = np.array([x.ctypes.data, y.ctypes.data])
    launch(pointers, (1,), out, table, 1, BLOCK=16)
    i = np.arange(16)
    want = np.zeros(32)
    want[np.where(i % 2 == 0, i, 16 + i)] = i + 1
    np.testing.assert_array_equal(out, want)


# ---- past the caches, and tile by tile -----------------------------------------------------------------------------


def room(shape: tuple[int, ...], dtype: type, offset: int) -> np.ndarray:
    """Memory for a result that starts `offset` elements behind the start of a line of the caches."""
    size = np.dtype(dtype).itemsize
    whole = np.full(int(np.prod(shape)) * size + 192, 0x5A, np.uint8)
    start = -whole.ctypes.data % 64 + offset * size
    return whole[start : start + int(np.prod(shape)) * size].view(dtype).reshape(shape)


@triton.jit
def streamed(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n), i < n, cache_modifier=".cs")


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
def test_stores_past_the_caches(dtype: type, bits: int) -> None:
    features = TargetFeatures(bits, streams=llvm.host().streams)
    x = np.random.default_rng(0).integers(-100, 100, 1000).astype(dtype)
    for offset, n in ((0, 1000), (0, 200), (1, 1000), (5, 700)):
        out = room((1000,), dtype, offset)
        want = out.copy()
        want[:n] = x[:n]
        launch(streamed, (4,), x, out, n, BLOCK=256, features_=features)
        np.testing.assert_array_equal(out, want)
    text = compiled(streamed, x, out, 5, BLOCK=256, features_=features)[2].llvm_ir
    assert ("!nontemporal" in text) == ("sfence" in text) == features.streams
    # What is read is asked for ahead: nothing else is waited for.
    assert ("@llvm.prefetch.p0" in text) == features.streams


@triton.jit
def turned(x, bias, out, positive, rows, cols, HIGH: tl.constexpr, WIDE: tl.constexpr):
    r = tl.program_id(0) * HIGH + tl.arange(0, HIGH)
    c = tl.program_id(1) * WIDE + tl.arange(0, WIDE)
    live = (r[:, None] < rows) & (c[None, :] < cols)
    tile = tl.load(x + r[:, None] * cols + c[None, :], live)
    value = tl.trans(tile) * 2 + tl.load(bias + c, c < cols)[:, None]
    at = c[:, None] * rows + r[None, :]
    tl.store(out + at, value, tl.trans(live), cache_modifier=".cs")
    tl.store(positive + at, value > 0, tl.trans(live))


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("tile", [(16, 64), (32, 32), (64, 16)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_is_turned_tile_by_tile(dtype: type, tile: tuple[int, int], bits: int) -> None:
    features = TargetFeatures(bits, streams=llvm.host().streams)
    rng = np.random.default_rng(1)
    for rows, cols, offset in ((64, 64, 0), (64, 128, 3), (68, 64, 0), (70, 50, 0), (15, 200, 2)):
        x, bias = rng.normal(size=(rows, cols)).astype(dtype), rng.normal(size=cols).astype(dtype)
        out, positive = room((cols, rows), dtype, offset), np.zeros((cols, rows), bool)
        grid = triton.cdiv(rows, tile[0]), triton.cdiv(cols, tile[1])
        launch(turned, grid, x, bias, out, positive, rows, cols, HIGH=tile[0], WIDE=tile[1], features_=features)
        want = x.T * dtype(2) + bias[:, None]  # the kernel rounds once, by an fma
        np.testing.assert_allclose(out, want, rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(positive, out > 0)


def test_no_buffer_stands_between_the_registers_and_a_turned_matrix() -> None:
    x, out, flags = (np.zeros((64, 64), t) for t in (np.float32, np.float32, bool))
    text = compiled(turned, x, x[0], out, flags, 64, 64, HIGH=32, WIDE=32, features_=TargetFeatures(512))[2].llvm_ir
    _, whole, part = re.split(r"^(?:begin|else\w*):$", text, maxsplit=2, flags=re.M)
    assert "shufflevector <16 x float>" in whole and "shufflevector <16 x float>" in part
    assert "masked" not in whole and "masked" in part
    assert "@llvm.prefetch" in whole and "@llvm.prefetch" not in part  # only where all that is read is there


@triton.jit
def shared_row(y, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    r, c = tl.arange(0, ROWS)[:, None], tl.arange(0, COLS)[None, :]
    row = tl.floor(1.0 / tl.load(y + c))
    tl.store(out + r * COLS + c, row * r)
    tl.store(out + (ROWS + r) * COLS + c, row - r)


def test_what_all_rows_share_is_computed_once() -> None:
    y, out = np.linspace(0.01, 1, 64, dtype=np.float32), np.zeros((32, 64), np.float32)
    launch(shared_row, (1,), y, out, ROWS=16, COLS=64)
    row, r = np.floor(np.float32(1) / y), np.arange(16, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(out, np.concatenate([row * r, row - r]))
    text = compiled(shared_row, y, out, ROWS=16, COLS=64)[2].llvm_ir
    quotient, after = text.index("fdiv"), text.index("fmul")
    assert "\nhead" in text[quotient:after]  # the loop over rows begins behind the quotients
