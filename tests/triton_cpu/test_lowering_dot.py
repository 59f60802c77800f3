"""tl.dot in every operand type, carried through loops, chained and transposed."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest
import triton
import triton.language as tl
from emulated_tiles import emulated_tiles
from native import BF16, compiled, launch

from opweave.codegen.native import llvm
from opweave.codegen.triton_cpu.analysis import TargetFeatures


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = a_ptr + rm[:, None] * K + rk[None, :]
    b_ptrs = b_ptr + rk[:, None] * N + rn[None, :]
    acc = tl.zeros((BM, BN), ACC)
    for k in range(0, K, BK):
        a = tl.load(a_ptrs, mask=(rm[:, None] < M) & (rk[None, :] + k < K), other=0)
        b = tl.load(b_ptrs, mask=(rk[:, None] + k < K) & (rn[None, :] < N), other=0)
        acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=ACC)
        a_ptrs += BK
        b_ptrs += BK * N
    c_ptrs = c_ptr + rm[:, None] * N + rn[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


KINDS = [
    (np.float32, tl.float32),
    (np.float16, tl.float32),
    (BF16, tl.float32),
    (np.float64, tl.float64),
    (np.int8, tl.int32),
]


def features_of(kind: str) -> TargetFeatures:
    """This machine's with AMX, without, without any instruction for narrow types, or with tiles in memory."""
    here = TargetFeatures.of(llvm.host())
    if kind == "here":
        return here
    if kind == "tiles":
        return replace(here, vector_bits=512, bf16_tiles=True, int8_tiles=True)
    without = replace(here, bf16_tiles=False, int8_tiles=False)
    return without if kind == "registers" else replace(without, bf16_dots=False, int8_dots=False)


@pytest.mark.parametrize(("dtype", "acc"), KINDS, ids=lambda v: str(v) if isinstance(v, tl.dtype) else np.dtype(v).name)
@pytest.mark.parametrize("shape", [(70, 50, 33), (16, 16, 16)], ids=str)
def test_matmul(dtype: type, acc: tl.dtype, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, s).astype(np.float64).astype(dtype) for s in ((m, k), (k, n)))
    out = np.zeros((m, n), {tl.float32: np.float32, tl.float64: np.float64, tl.int32: np.int32}[acc])
    launch(
        matmul,
        (triton.cdiv(m, 32), triton.cdiv(n, 16)),
        a,
        b,
        out,
        m,
        n,
        k,
        ACC=acc,
        BM=32,
        BN=16,
        BK=32 if dtype is np.int8 else 16,
    )
    np.testing.assert_array_equal(out, a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("tile", [(16, 32, 512), (16, 64, 256), (64, 128, 256), (128, 256, 32), (8, 64, 32)], ids=str)
@pytest.mark.parametrize(
    ("dtype", "acc"), [KINDS[0], KINDS[3], KINDS[4]], ids=lambda v: str(np.dtype(v)) if isinstance(v, type) else ""
)
def test_panels_of_every_width(dtype: type, acc: tl.dtype, tile: tuple[int, int, int], bits: int) -> None:
    """Tiles that are several panels, one, or none; deeper than the cache; whose rows leave a rest."""
    (bm, bn, bk), rng = tile, np.random.default_rng(0)
    m, n, k = bm + 3, bn + 5, bk + 7
    a, b = (rng.integers(-9, 9, s).astype(dtype) for s in ((m, k), (k, n)))
    out = np.zeros((m, n), {tl.float32: np.float32, tl.float64: np.float64, tl.int32: np.int32}[acc])
    features = TargetFeatures(bits)
    launch(matmul, (2, 2), a, b, out, m, n, k, ACC=acc, BM=bm, BN=bn, BK=bk, features_=features)
    np.testing.assert_array_equal(out, a.astype(np.float64) @ b.astype(np.float64))


@triton.jit
def strided(
    a_ptr, b_ptr, c_ptr, M, N, K, AM: tl.constexpr, AK: tl.constexpr, BK_: tl.constexpr, BN_: tl.constexpr,
    ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TWICE: tl.constexpr,
):  # fmt: skip
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.full((BM, BN), 3, ACC)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rm[:, None] * AM + rk[None, :] * AK, mask=(rm[:, None] < M) & (rk[None, :] < K), other=0)
        b = tl.load(b_ptr + rn[:, None] * BN_ + rk[None, :] * BK_, mask=(rn[:, None] < N) & (rk[None, :] < K), other=0)
        if TWICE:
            a = (a * 2).to(a_ptr.dtype.element_ty)
        acc = tl.dot(a, tl.trans(b), acc, out_dtype=ACC)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def made_for(kind: str) -> contextlib.AbstractContextManager[None]:
    """How code is made for `features_of(kind)`."""
    if kind != "tiles":
        return contextlib.nullcontext()
    if llvm.host().vector_bits < 512:
        pytest.skip("tiles come with registers that this machine does not have")
    return emulated_tiles()


@pytest.mark.parametrize("features", ["here", "registers", "widened", "tiles"])
@pytest.mark.parametrize(("turned_a", "turned_b"), [(False, True), (True, False)])
@pytest.mark.parametrize("tile", [(16, 16, 32), (32, 128, 64), (64, 32, 128), (32, 32, 16), (16, 64, 16)], ids=str)
@pytest.mark.parametrize("dtype", [BF16, np.int8], ids=lambda t: np.dtype(t).name)
def test_narrow_operands_in_every_order(
    dtype: type, tile: tuple[int, int, int], turned_a: bool, turned_b: bool, features: str
) -> None:
    """By the machine's instructions for narrow types, where it has them, and without."""
    (bm, bn, bk), rng = tile, np.random.default_rng(0)
    whole = dtype is np.int8
    bk = max(bk, 32) if whole else bk  # Triton's least
    m, n, k = bm + 3, bn + 5, bk + 7
    a, b = (
        (rng.integers(-128, 128, s) if whole else rng.standard_normal(s)).astype(dtype)
        for s in ((k, m) if turned_a else (m, k), (n, k) if turned_b else (k, n))
    )
    left, right = a.T if turned_a else a, b.T if turned_b else b
    (am, ak), (bk_, bn_) = ([s // a.itemsize for s in x.strides] for x in (left, right))
    out = np.zeros((m, n), np.int32 if whole else np.float32)
    with made_for(features):
        launch(
            strided, (2, 2), a, b, out, m, n, k, AM=am, AK=ak, BK_=bk_, BN_=bn_, ACC=tl.int32 if whole else tl.float32,
            BM=bm, BN=bn, BK=bk, TWICE=turned_a, features_=features_of(features),
        )  # fmt: skip
    if turned_a:
        left = left + left
    exact = [x.astype(np.int64 if whole else np.float64) for x in (left, right)]
    if whole:
        np.testing.assert_array_equal(out, exact[0] @ exact[1] + 3)
        return
    bound = (np.abs(exact[0]) @ np.abs(exact[1]) + 3) * (k + 4) * np.finfo(np.float32).eps
    assert np.all(np.abs(out - (exact[0] @ exact[1] + 3)) <= bound)


@pytest.mark.parametrize("kind", ["here", "registers", "tiles"])
def test_narrow_operands_at_the_ends_of_their_range(kind: str) -> None:
    features, making = features_of(kind), made_for(kind)
    with making:
        _at_the_ends(features)


def _at_the_ends(features: TargetFeatures) -> None:
    for x, y in ((-128, -128), (-128, 127), (127, 127)):
        a, b, out = np.full((16, 64), x, np.int8), np.full((64, 16), y, np.int8), np.zeros((16, 16), np.int32)
        launch(matmul, (1, 1), a, b, out, 16, 16, 64, ACC=tl.int32, BM=16, BN=16, BK=32, features_=features)
        np.testing.assert_array_equal(out, x * y * 64)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-9, 9, (32, 32)).astype(BF16) for _ in range(2))
    a[3, 5], a[4, 7], a[6, 9], b[9, 11] = np.inf, np.nan, 0, -np.inf
    out = np.zeros((32, 32), np.float32)
    launch(matmul, (1, 1), a, b, out, 32, 32, 32, ACC=tl.float32, BM=32, BN=32, BK=32, features_=features)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(out, a.astype(np.float64) @ b.astype(np.float64))


@pytest.mark.parametrize("features", ["here", "registers", "widened"])
@pytest.mark.parametrize("dtype", [BF16, np.int8], ids=lambda t: np.dtype(t).name)
def test_narrow_instructions_are_for_machines_that_have_them(dtype: type, features: str) -> None:
    whole = dtype is np.int8
    host = llvm.host()
    names = {
        "here": "tdpbssd" if whole else "tdpbf16ps",
        "registers": "avx512.vpdpbusd.512" if whole else "avx512bf16.dpbf16ps.512",
        "widened": "",
    }
    needed = {"here": "amx-tile", "registers": "avx512vnni" if whole else "avx512bf16", "widened": "sse2"}[features]
    if needed not in host.features and host.triple.startswith("x86_64"):
        pytest.skip("the machine has no such instructions")
    a, out = np.zeros((64, 64), dtype), np.zeros((64, 64), np.int32 if whole else np.float32)
    text = compiled(
        matmul, a, a, out, 64, 64, 64, ACC=tl.int32 if whole else tl.float32, BM=64, BN=64, BK=64,
        features_=features_of(features),
    )[2].llvm_ir  # fmt: skip
    assert {name for name in names.values() if name and f" @llvm.x86.{name}(" in text} == {names[features]} - {""}


@triton.jit
def chained(a_ptr, b_ptr, c_ptr, o_ptr, N: tl.constexpr):
    place = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a, b, c = tl.load(a_ptr + place), tl.load(b_ptr + place), tl.load(c_ptr + place)
    p = tl.dot(a, tl.trans(b))
    q = tl.dot(tl.maximum(p, 0).to(tl.float16), c)
    tl.store(o_ptr + place, tl.dot(q.to(tl.float16), c, q))


def test_chained_half_precision_dots() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.standard_normal((16, 16)).astype(np.float16) / 4 for _ in range(3))
    out = np.zeros((16, 16), np.float32)
    launch(chained, (1,), a, b, c, out, N=16)
    f = [x.astype(np.float32) for x in (a, b, c)]
    p = np.maximum(f[0] @ f[1].T, 0).astype(np.float16).astype(np.float32)
    q = p @ f[2]
    np.testing.assert_allclose(out, q.astype(np.float16).astype(np.float32) @ f[2] + q, rtol=1e-3, atol=1e-4)


def test_dots_of_one_shape_share_their_code() -> None:
    a, out = np.zeros((16, 16), np.float16), np.zeros((16, 16), np.float32)
    text = compiled(chained, a, a, a, out, N=16)[2].llvm_ir
    assert text.count('call void @"opweave.dot.f32.16x16x16"') == 3
    assert text.count('define internal void @"opweave.dot.') == 1


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, o_ptr, S, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    base = tl.program_id(1) * S * D
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + base + rm[:, None] * D + rd[None, :], mask=rm[:, None] < S, other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(0, S, BN):
        rn = n + tl.arange(0, BN)
        k = tl.load(k_ptr + base + rn[:, None] * D + rd[None, :], mask=rn[:, None] < S, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        s = tl.where(rn[None, :] < S, s, -float("inf"))
        new_top = tl.maximum(top, tl.max(s, 1))
        alpha = tl.exp(top - new_top)
        p = tl.exp(s - new_top[:, None])
        total = total * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + base + rn[:, None] * D + rd[None, :], mask=rn[:, None] < S, other=0.0)
        acc = tl.dot(p, v, acc * alpha[:, None], input_precision="ieee")
        top = new_top
    tl.store(o_ptr + base + rm[:, None] * D + rd[None, :], acc / total[:, None], mask=rm[:, None] < S)


def test_flash_attention() -> None:
    heads, s, d = 2, 50, 16
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((heads, s, d)).astype(np.float32) for _ in range(3))
    out = np.zeros_like(q)
    launch(attention, (triton.cdiv(s, 16), heads), q, k, v, out, s, 0.25, D=d, BM=16, BN=16)
    scores = np.exp((q.astype(np.float64) @ k.transpose(0, 2, 1)) * 0.25)
    want = scores / scores.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-6)


@triton.jit
def batched(a_ptr, b_ptr, o_ptr, B: tl.constexpr, N: tl.constexpr):
    place = tl.arange(0, B)[:, None, None] * N * N + tl.arange(0, N)[None, :, None] * N + tl.arange(0, N)[None, None, :]
    tl.store(o_ptr + place, tl.dot(tl.load(a_ptr + place), tl.load(b_ptr + place), input_precision="ieee"))


def test_batched_dot() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((4, 16, 16)).astype(np.float32) for _ in range(2))
    out = np.zeros_like(a)
    launch(batched, (1,), a, b, out, B=4, N=16)
    np.testing.assert_allclose(out, a @ b, rtol=1e-4, atol=1e-5)


@triton.jit
def accumulated_and_read(a_ptr, o_ptr, n, N: tl.constexpr):
    place = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(a_ptr + place)
    acc = tl.zeros((N, N), tl.float32)
    largest = tl.full((N, N), -float("inf"), tl.float32)
    for _ in range(n):
        largest = tl.maximum(largest, acc)
        acc = tl.dot(a, a, acc, input_precision="ieee")
    tl.store(o_ptr + place, acc + largest)


def test_accumulator_with_another_reader_is_copied() -> None:
    a = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)
    out = np.zeros_like(a)
    launch(accumulated_and_read, (1,), a, out, 3, N=16)
    p = a.astype(np.float64) @ a
    np.testing.assert_allclose(out, 3 * p + np.maximum(0, 2 * p), rtol=1e-4, atol=1e-4)
