"""Kernels as Triton's tutorials have them, launched the ordinary way through the plug-in, against float64 NumPy."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import triton.language as tl

from opweave.registry.tensor import Tensor, from_numpy


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[2] / "examples" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Triton looks up the globals of a kernel's module
    spec.loader.exec_module(module)
    return module


tutorials, attention, gemms = (example(f"triton_{name}") for name in ("tutorials", "attention", "gemms"))


def host(*arrays: np.ndarray) -> list[Tensor]:
    return [from_numpy(a) for a in arrays]


@pytest.mark.parametrize("n", [0, 1, 98432])
def test_vector_add(n: int) -> None:
    x, y = np.random.default_rng(0).random((2, n), dtype=np.float32)
    out = np.empty_like(x)
    tutorials.vector_add(*host(x, y, out))
    np.testing.assert_array_equal(out, x + y)


@pytest.mark.parametrize(("rows", "cols"), [(183, 781), (3, 1), (5, 64)])
def test_fused_softmax(rows: int, cols: int) -> None:
    x = np.random.default_rng(0).standard_normal((rows, cols)).astype(np.float32)
    out = np.empty_like(x)
    tutorials.softmax(*host(x, out))
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32], ids=["f16", "f32"])
@pytest.mark.parametrize("activation", ["", "leaky_relu"])
def test_matrix_multiplication(dtype: type, activation: str) -> None:
    m, n, k = 100, 70, 90
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    out = np.empty((m, n), dtype)
    tutorials.matmul(*host(a, b, out), activation)
    want = a.astype(np.float64) @ b.astype(np.float64)
    want = np.where(want >= 0, want, 0.01 * want) if activation else want
    tolerance = 1e-5 if dtype is np.float32 else 2e-3
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float16, np.float32], ids=["f16", "f32"])
def test_layer_norm(dtype: type) -> None:
    m, n = 50, 300
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((m, n)) * 2 + 0.5).astype(dtype)
    w, b = rng.standard_normal((2, n)).astype(dtype)
    y, mean, rstd = np.empty_like(x), np.empty(m, np.float32), np.empty(m, np.float32)
    tutorials.layer_norm(*host(x, w, b, y, mean, rstd))
    f = x.astype(np.float64)
    np.testing.assert_allclose(mean, f.mean(1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(rstd, 1 / np.sqrt(f.var(1) + 1e-5), rtol=1e-5)
    want = (f - f.mean(1, keepdims=True)) / np.sqrt(f.var(1, keepdims=True) + 1e-5) * w + b
    tolerance = 1e-4 if dtype is np.float32 else 1e-2
    np.testing.assert_allclose(y.astype(np.float64), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float16, np.float32], ids=["f16", "f32"])
def test_layer_norm_backward(dtype: type) -> None:
    m, n, groups = 37, 100, 8
    rng = np.random.default_rng(0)
    x, grad = ((rng.standard_normal((m, n)) * 2 + 0.5).astype(dtype) for _ in range(2))
    w = rng.standard_normal(n).astype(dtype)
    f, g = x.astype(np.float64), grad.astype(np.float64)
    mean, rstd = f.mean(1), 1 / np.sqrt(f.var(1) + 1e-5)
    dx, dw, db = np.empty_like(x), np.empty(n, np.float32), np.empty(n, np.float32)
    parts, locks = np.full((2, groups, n), np.nan, np.float32), np.zeros(2 * groups, np.int32)
    tutorials.layer_norm_backward(
        *host(x, w, mean.astype(np.float32), rstd.astype(np.float32), grad), tuple(host(dx, dw, db)),
        tuple(host(*parts)), *host(locks),
    )  # fmt: skip
    xhat = (f - mean[:, None]) * rstd[:, None]
    wdy = g * w
    along, shift = (xhat * wdy).mean(1, keepdims=True), wdy.mean(1, keepdims=True)
    tolerance = 1e-4 if dtype is np.float32 else 1e-2
    want = (wdy - (xhat * along + shift)) * rstd[:, None]
    np.testing.assert_allclose(dx.astype(np.float64), want, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(dw, (g * xhat).sum(0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(db, g.sum(0), rtol=1e-4, atol=1e-4)


def test_dropout() -> None:
    rng = np.random.default_rng(0)
    x, keep = rng.standard_normal(5000).astype(np.float32), rng.random(5000) < 0.5
    out = np.empty_like(x)
    tutorials.dropout(*host(x, keep, out), 0.25)
    np.testing.assert_allclose(out, np.where(keep, x / 0.75, 0), rtol=1e-6)


def test_a_seed_determines_dropout() -> None:
    x = np.random.default_rng(0).standard_normal(10_000).astype(np.float32)
    results = {}
    for seed, block in ((1, 1024), (1, 256), (2, 1024)):
        out = np.empty_like(x)
        tutorials.seeded_dropout(*host(x, out), 0.3, seed, block)
        kept = out != 0
        np.testing.assert_allclose(out[kept], x[kept] / np.float32(0.7), rtol=1e-6)
        assert abs(kept.mean() - 0.7) < 0.02  # four standard deviations
        results[seed, block] = out
    np.testing.assert_array_equal(results[1, 1024], results[1, 256])
    assert (results[1, 1024] != results[2, 1024]).mean() > 0.3


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
def test_libdevice(dtype: type) -> None:
    x = np.random.default_rng(0).uniform(-1, 1, 3000).astype(dtype)
    out = np.empty_like(x)
    tutorials.asin(*host(x, out))
    np.testing.assert_allclose(out, np.arcsin(x.astype(np.float64)), rtol=4 * np.finfo(dtype).eps)


def attention_reference(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, grad: np.ndarray, causal: bool
) -> list[np.ndarray]:
    """Output and gradients of q, k and v."""
    q, k, v, grad = (t.astype(np.float64) for t in (q, k, v, grad))
    scale, n = q.shape[-1] ** -0.5, q.shape[-2]
    scores = q @ k.swapaxes(-1, -2) * scale
    if causal:
        scores = np.where(np.tril(np.ones((n, n), bool)), scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    out = p @ v
    ds = p * (grad @ v.swapaxes(-1, -2) - (out * grad).sum(-1, keepdims=True))
    return [out, ds @ k * scale, ds.swapaxes(-1, -2) @ q * scale, p.swapaxes(-1, -2) @ grad]


@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize(
    ("dtype", "length", "tolerance"),
    [(np.float32, 64, 2e-5), (np.float32, 71, 2e-5), (np.float16, 96, 1e-2)], ids=["f32", "f32 ragged", "f16"],
)  # fmt: skip
@pytest.mark.slow
def test_fused_attention(dtype: type, length: int, tolerance: float, causal: bool) -> None:
    rng = np.random.default_rng(0)
    shape = (2, 2, length, 32)
    q, k, v, grad = (rng.standard_normal(shape).astype(dtype) for _ in range(4))
    out, dq, dk, dv = (np.full(shape, np.nan, dtype) for _ in range(4))
    lse, delta = np.empty((2, *shape[:3]), np.float32)
    attention.attention(*host(q, k, v, out, lse), causal)
    attention.attention_backward(*host(q, k, v, out, lse, grad, delta), tuple(host(dq, dk, dv)), causal)
    for got, want in zip((out, dq, dk, dv), attention_reference(q, k, v, grad, causal), strict=True):
        np.testing.assert_allclose(got.astype(np.float64), want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("programs", [1, 5])
def test_grouped_gemm(programs: int) -> None:
    rng = np.random.default_rng(0)
    sizes = np.array([(64, 32, 96), (33, 70, 5), (1, 1, 1), (100, 65, 40)], np.int32)
    a = [rng.standard_normal((m, k)).astype(np.float16) for m, _, k in sizes]
    b = [rng.standard_normal((k, n)).astype(np.float16) for _, n, k in sizes]
    c = [np.full((m, n), np.nan, np.float16) for m, n, _ in sizes]
    tables = [np.array([x.ctypes.data for x in group]) for group in (a, b, c)]
    gemms.grouped_gemm(*host(*tables, sizes), tl.float16, programs)
    for x, y, z in zip(a, b, c, strict=True):
        np.testing.assert_allclose(z.astype(np.float64), x.astype(np.float64) @ y, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("dtype", [np.float16, np.float32], ids=["f16", "f32"])
def test_persistent_matmul(dtype: type) -> None:
    m, n, k = 100, 72, 80
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((n, k)).astype(dtype)
    out = np.full((m, n), np.nan, dtype)
    gemms.persistent_matmul(*host(a, b, out))
    tolerance = 1e-5 if dtype is np.float32 else 1e-2
    np.testing.assert_allclose(out.astype(np.float64), a.astype(np.float64) @ b.T, rtol=tolerance, atol=tolerance)


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


@pytest.mark.parametrize("formats", [("e4m3", "e4m3"), ("e2m1", "e2m1"), ("e5m2", "e2m1")], ids="-".join)
def test_block_scaled_matmul(formats: tuple[str, str]) -> None:
    m, n, k = 40, 50, 192
    rng = np.random.default_rng(0)

    def operand(rows: int, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        scale = rng.integers(122, 132, (rows, k // 32), np.uint8)
        if kind == "e2m1":
            codes = rng.integers(0, 256, (rows, k // 2), np.uint8)
            numbers = np.stack([E2M1[codes & 15], E2M1[codes >> 4]], -1).reshape(rows, k)
        else:
            narrow = ml_dtypes.float8_e4m3fn if kind == "e4m3" else ml_dtypes.float8_e5m2
            numbers = rng.standard_normal((rows, k)).astype(narrow)
            codes = numbers.view(np.uint8)
        return codes, scale, numbers.astype(np.float64) * np.exp2(scale.astype(np.float64) - 127).repeat(32, 1)

    a, a_scale, x = operand(m, formats[0])
    b, b_scale, y = operand(n, formats[1])
    out = np.full((m, n), np.nan, np.float32)
    gemms.block_scaled_matmul(*host(a, a_scale, b, b_scale, out), k, formats)
    bound = np.abs(x) @ np.abs(y).T
    assert (np.abs(out - x @ y.T) <= 2e-6 * bound).all()
