"""Loops of tl.dot whose turns are multiplied together, and operands that programs share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from native import BF16, compiled, launch

from opweave.codegen.native import llvm
from opweave.codegen.triton_cpu.analysis import TargetFeatures

HERE = TargetFeatures.of(llvm.host())
PATHS = {
    "here": HERE,
    "registers": replace(HERE, bf16_tiles=False, int8_tiles=False),
    "widened": replace(HERE, bf16_tiles=False, int8_tiles=False, bf16_dots=False, int8_dots=False),
    "256": TargetFeatures(256),
}
KINDS = {"f4": (np.float32, tl.float32), "bf16": (BF16, tl.float32), "i1": (np.int8, tl.int32), "f8": (np.float64, tl.float64)}
CASES = [(kind, path) for kind in KINDS for path in PATHS if kind in ("bf16", "i1") or path in ("here", "256")]


@triton.jit
def looped(
    a_ptr, b_ptr, c_ptr, M, N, K, am, ak, bk, bn, cm, ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr, ORDER: tl.constexpr, ADVANCE: tl.constexpr,
):  # fmt: skip
    if ORDER == "columns":
        pm, pn = tl.program_id(0), tl.program_id(1)
    elif ORDER == "rows":
        pm, pn = tl.program_id(1), tl.program_id(0)
    else:
        pid = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
        pm, pn = pid % tl.num_programs(0), pid // tl.num_programs(0)
    rm, rn, rk = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), ACC)
    if ADVANCE:
        a_ptrs = a_ptr + rm[:, None] * am + rk[None, :] * ak
        b_ptrs = b_ptr + rk[:, None] * bk + rn[None, :] * bn
        for k in range(0, K, BK):
            a = tl.load(a_ptrs, mask=(rm[:, None] < M) & (rk[None, :] + k < K), other=0)
            b = tl.load(b_ptrs, mask=(rk[:, None] + k < K) & (rn[None, :] < N), other=0)
            acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=ACC)
            a_ptrs += BK * ak
            b_ptrs += BK * bk
    else:
        for k in range(0, K, BK):
            at = k + rk
            a = tl.load(a_ptr + rm[:, None] * am + at[None, :] * ak, mask=(rm[:, None] < M) & (at[None, :] < K), other=0)
            b = tl.load(b_ptr + at[:, None] * bk + rn[None, :] * bn, mask=(at[:, None] < K) & (rn[None, :] < N), other=0)
            acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=ACC)
    tl.store(c_ptr + rm[:, None] * cm + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def numbers(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> Any:
    """Small whole numbers, of which all sums are exact."""
    return rng.integers(-9, 9, shape).astype(np.float64).astype(dtype)


def strides(x: Any) -> tuple[int, int]:
    return x.strides[0] // x.itemsize, x.strides[1] // x.itemsize


def exact(a: Any, b: Any) -> Any:
    return a.astype(np.float64) @ b.astype(np.float64)


def run(a: Any, b: Any, kind: str, path: str, tile: tuple[int, int, int], order: str, advance: bool) -> Any:
    (m, k), n, acc = a.shape, b.shape[1], KINDS[kind][1]
    out = np.full((m, n + 3), 77, {tl.float32: np.float32, tl.float64: np.float64, tl.int32: np.int32}[acc])
    rows, columns = triton.cdiv(m, tile[0]), triton.cdiv(n, tile[1])
    grid = (columns, rows) if order == "rows" else (rows, columns)
    launch(
        looped, grid, a, b, out, m, n, k, *strides(a), *strides(b), n + 3, ACC=acc, BM=tile[0], BN=tile[1],
        BK=tile[2], ORDER=order, ADVANCE=advance, features_=PATHS[path],
    )  # fmt: skip
    assert np.all(out[:, n:] == 77)
    return out[:, :n]


@pytest.mark.parametrize(("kind", "path"), CASES)
@pytest.mark.parametrize("tile", [(16, 16, 16), (32, 32, 32), (64, 128, 32), (128, 32, 64)], ids=str)
def test_many_turns(kind: str, path: str, tile: tuple[int, int, int]) -> None:
    """Of more than one chunk, with a rest, of sizes that the tiles do not divide; programs in each order."""
    if kind == "i1" and tile[2] < 32:
        tile = (*tile[:2], 32)
    rng, (bm, bn, bk) = np.random.default_rng(0), tile
    for number, (m, n, k) in enumerate(((2 * bm + 3, 2 * bn + 5, 2300 + 7), (2 * bm, 2 * bn, 5 * bk), (bm, bn, bk))):
        a, b = numbers(rng, (m, k), KINDS[kind][0]), numbers(rng, (k, n), KINDS[kind][0])
        order, advance = ("columns", "rows", "one")[number], number != 1
        np.testing.assert_array_equal(run(a, b, kind, path, tile, order, advance), exact(a, b))


@pytest.mark.parametrize(("kind", "path"), [case for case in CASES if case[1] in ("here", "registers")])
@pytest.mark.parametrize("turned", ["a", "b", "both", "spread"])
def test_operands_that_lie_in_other_orders(kind: str, path: str, turned: str) -> None:
    rng, dtype = np.random.default_rng(0), KINDS[kind][0]
    a, b = numbers(rng, (130, 200), dtype), numbers(rng, (200, 130), dtype)
    if turned in ("a", "both"):
        a = np.asfortranarray(a)
    if turned in ("b", "both"):
        b = np.asfortranarray(b)
    if turned == "spread":  # rows an odd number of elements apart; columns that are not neighbours
        a, b = numbers(rng, (130, 401), dtype)[:, 1:201], numbers(rng, (200, 260), dtype)[:, ::2]
    got = run(a, b, kind, path, (64, 64, 64), "columns", True)
    np.testing.assert_array_equal(got, exact(a, b))


@triton.jit
def batched_by_a_loop(a_ptr, b_ptr, c_ptr, COUNT, K, N: tl.constexpr):
    """One program makes all products, so that what is kept has to be found out of date."""
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    for item in range(COUNT):
        acc = tl.zeros((N, N), tl.float32)
        for k in range(0, K, N):
            a = tl.load(a_ptr + item * N * K + i * K + k + j)
            b = tl.load(b_ptr + (item // 2) * N * K + (k + i) * N + j)
            acc = tl.dot(a, b, acc, input_precision="ieee")
        tl.store(c_ptr + item * N * N + i * N + j, acc)


@pytest.mark.parametrize("k", [32, 512, 1024, 96])
def test_what_is_kept_is_of_the_same_place(k: int) -> None:
    rng = np.random.default_rng(0)
    a, b = numbers(rng, (6, 32, k), np.float32), numbers(rng, (3, k, 32), np.float32)
    out = np.zeros((6, 32, 32), np.float32)
    launch(batched_by_a_loop, (1,), a, b, out, 6, k, N=32)
    np.testing.assert_array_equal(out, exact(a, b[np.arange(6) // 2]))


@triton.jit
def squared_in_place(a_ptr, K, N: tl.constexpr):
    """Each program reads what the one before wrote."""
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    acc = tl.zeros((N, N), tl.float32)
    for k in range(0, K, N):
        acc = tl.dot(tl.load(a_ptr + i * K + k + j), tl.load(a_ptr + (k + i) * N + j), acc, input_precision="ieee")
    tl.store(a_ptr + i * K + j, acc % 7)


def test_memory_that_the_kernel_writes_is_read_again() -> None:
    a = numbers(np.random.default_rng(0), (32, 32), np.float32)
    want = a.copy()
    for _ in range(3):
        want = np.fmod(want @ want, 7).astype(np.float32)
    launch(squared_in_place, (3,), a, 32, N=32)
    np.testing.assert_array_equal(a, want)


@triton.jit
def gated(a_ptr, b_ptr, g_ptr, c_ptr, s_ptr, K, N: tl.constexpr, BK: tl.constexpr):
    """Two accumulators, a sum of what the turns load, and rows that jump back and forth."""
    i, j, r = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :], tl.arange(0, BK)
    first, second = tl.zeros((N, N), tl.float32), tl.zeros((N, N), tl.float32)
    total = tl.zeros((N,), tl.float32)
    for turn in range(K // BK):
        k = (turn ^ 1) * BK
        a = tl.load(a_ptr + i * K + k + r[None, :])
        first = tl.dot(a, tl.load(b_ptr + (k + r[:, None]) * N + j), first, input_precision="ieee")
        second = tl.dot(a, tl.load(g_ptr + (k + r[:, None]) * N + j), second, input_precision="ieee")
        total += tl.sum(a.to(tl.float32), 1)
    tl.store(c_ptr + i * N + j, first * second)
    tl.store(s_ptr + tl.arange(0, N), total)


@pytest.mark.parametrize("dtype", [np.float32, BF16], ids=lambda t: np.dtype(t).name)
def test_several_dots_in_a_loop(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    a, b, g = (rng.integers(-3, 3, shape).astype(np.float64).astype(dtype) for shape in ((32, 512), (512, 32), (512, 32)))
    out, total = np.zeros((32, 32), np.float32), np.zeros(32, np.float32)
    launch(gated, (1,), a, b, g, out, total, 512, N=32, BK=32)
    np.testing.assert_array_equal(out, (exact(a, b) * exact(a, g)).astype(np.float32))
    np.testing.assert_array_equal(total, a.astype(np.float32).sum(1))


def test_a_loop_multiplies_its_turns_by_one_function() -> None:
    a, out = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
    text = compiled(
        looped, a, a, out, 64, 64, 64, 64, 1, 64, 1, 64, ACC=tl.float32, BM=32, BN=32, BK=32, ORDER="columns",
        ADVANCE=True,
    )[2].llvm_ir  # fmt: skip
    assert text.count('define internal void @"opweave.dot.') == 1


@pytest.mark.parametrize("path", ["here", "registers"])
def test_special_numbers_of_bfloat16(path: str) -> None:
    """Infinities and NaN as in float32; numbers below the smallest normal one are zero, or are not."""
    rng = np.random.default_rng(0)
    a, b = numbers(rng, (32, 160), BF16), numbers(rng, (160, 32), BF16)
    a[3, 5], a[4, 7], a[6, 9], b[9, 11] = np.inf, np.nan, 0, -np.inf
    got = run(a, b, "bf16", path, (32, 32, 32), "columns", True)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(got, exact(a, b))
    tiny = np.full((32, 160), 2.0**-130, BF16)
    got = run(tiny, np.ones((160, 32), BF16), "bf16", path, (32, 32, 32), "columns", True)
    assert set(np.unique(got)) <= {0.0, np.float32(160 * 2.0**-130)}


@pytest.mark.parametrize("path", ["here", "registers", "widened"])
@pytest.mark.parametrize(("x", "y"), [(-128, -128), (-128, 127), (127, 127)])
def test_sums_of_int8_are_exact_and_wrap(path: str, x: int, y: int) -> None:
    a, b = np.full((32, 4096 + 32), x, np.int8), np.full((4096 + 32, 32), y, np.int8)
    got = run(a, b, "i1", path, (32, 32, 32), "columns", True)
    np.testing.assert_array_equal(got, x * y * (4096 + 32))


@pytest.mark.parametrize("path", ["here", "registers", "widened"])
def test_sums_of_bfloat16_are_as_close_as_float32_gets(path: str) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(BF16) for s in ((70, 1000), (1000, 50)))
    got = run(a, b, "bf16", path, (32, 32, 32), "columns", True)
    bound = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)) * 1000 * np.finfo(np.float32).eps
    assert np.all(np.abs(got - exact(a, b)) <= bound)
