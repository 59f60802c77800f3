"""Kernels as Triton's tutorials have them, launched the ordinary way through the plug-in, against float64 NumPy."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from opweave.registry.tensor import Tensor, from_numpy

_PATH = Path(__file__).parents[2] / "examples" / "triton_tutorials.py"
_spec = importlib.util.spec_from_file_location("triton_tutorials", _PATH)
assert _spec is not None and _spec.loader is not None
tutorials = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tutorials)


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
