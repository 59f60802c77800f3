"""Kernels that read the same, and what else is one kernel since it is cheaper than memory; numbers beside 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.registry.tensor import Tensor, from_numpy

F = opweave.nn.functional
DRAW = np.random.default_rng(0)


def real(*sizes: int) -> np.ndarray[Any, Any]:
    return DRAW.standard_normal(sizes, dtype=np.float32)


def normed(x: Any) -> Any:
    return x / ((x * x).mean(-1, keepdims=True) + 1e-6) ** 0.5


def rope(x: Tensor, w: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    h = x * opweave.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w
    a, b = h.chunk(2, -1)
    return h * cos + opweave.cat((-b, a), -1) * sin


def rope_64(x: Any, w: Any, cos: Any, sin: Any) -> Any:
    h = normed(x) * w
    a, b = np.split(h, 2, -1)
    return h * cos + np.concatenate((-b, a), -1) * sin


def grouped(x: Any, w: Any, b: Any) -> Any:
    n, _, *places = x.shape
    parts = x.reshape(n, 4, -1)
    y = (parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + 1e-5)
    y = y.reshape(x.shape) * w.reshape(-1, *[1] * len(places)) + b.reshape(-1, *[1] * len(places))
    return y / (1 + np.exp(-y))


Arrays = tuple[np.ndarray[Any, Any], ...]
#: What is compiled, the same in NumPy, its inputs, and the number of kernels.
CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Arrays, int]] = {
    "reductions of one input": (
        lambda x: (x.mean(-1), x.var(-1), x.amax(-1), x.amin(-1)),
        lambda x: (x.mean(-1), x.var(-1, ddof=1), x.max(-1), x.min(-1)),
        (real(40, 130),),
        1,
    ),
    "columns of one input": (
        lambda x, y: ((x * y).sum(0), x.sum(0), y.amax(0)),
        lambda x, y: ((x * y).sum(0), x.sum(0), y.max(0)),
        (real(90, 70), real(90, 70)),
        1,
    ),
    "rows and columns": (lambda x: (x.sum(0), x.sum(1)), lambda x: (x.sum(0), x.sum(1)), (real(40, 50),), 2),
    "parts of one input": (
        lambda x: (x[:, :40].exp(), x[:, 40:] * 2),
        lambda x: (np.exp(x[:, :40]), x[:, 40:] * 2),
        (real(30, 80),),
        1,
    ),
    "one that needs the other": (
        lambda x: (lambda s: (s, (x - s.amax()).exp()))(x.sum(1)[:, None]),
        lambda x: (lambda s: (s, np.exp(x - s.max())))(x.sum(1)[:, None]),
        (real(30, 20),),
        3,
    ),
    "norm and rotation of a row": (rope, rope_64, (real(3, 20, 64), real(64), real(20, 64), real(20, 64)), 1),
    "norm of groups of channels": (
        lambda x, w, b: F.silu(F.group_norm(x, 4, w, b)),
        grouped,
        (real(3, 12, 5, 7), real(12), real(12)),
        1,
    ),
    "norm of groups of one channel": (
        lambda x, w, b: F.silu(F.group_norm(x, 4, w, b)),
        grouped,
        (real(3, 4, 9), real(4), real(4)),
        1,
    ),
    "means side by side": (
        lambda x, y: opweave.cat((x - x.mean(-1, keepdim=True), y), 0),
        lambda x, y: np.concatenate((x - x.mean(-1, keepdims=True), y), 0),
        (real(6, 20), real(5, 20)),
        2,
    ),
    "a stencil": (
        lambda x: (lambda y: y[2:] - 2 * y[1:-1] + y[:-2])(x * x + 1),
        lambda x: (lambda y: y[2:] - 2 * y[1:-1] + y[:-2])(x * x + 1),
        (real(500),),
        1,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_kernels(case):
    f, wide, arrays, kernels = CASES[case]
    tensors = [from_numpy(array) for array in arrays]
    compiled = opweave.compile(f)
    compiled(*tensors)
    with opweave.profile() as seen:
        found = compiled(*tensors)
    expected = wide(*[array.astype(np.float64) for array in arrays])
    if isinstance(found, Tensor):
        found, expected = (found,), (expected,)
    for got, exact in zip(found, expected, strict=True):
        np.testing.assert_allclose(got.numpy(), exact, rtol=2e-5, atol=2e-5 * np.abs(exact).max())
    assert sum(kernel.launches for kernel in seen.kernels) == kernels, str(opweave.explain(f)(*tensors))


def test_gradients_of_a_layer_norm_read_their_inputs_together():
    x, w, b, g = (from_numpy(real(*sizes)) for sizes in ((512, 96), (96,), (96,), (512, 96)))
    for t in (x, w, b):
        t.requires_grad_()

    def f(x: Tensor, w: Tensor, b: Tensor, g: Tensor) -> Any:
        return opweave.autograd.grad((F.layer_norm(x, (96,), w, b) * g).sum(), (x, w, b))

    compiled = opweave.compile(f)
    compiled(x, w, b, g)
    with opweave.profile() as seen:
        found = compiled(x, w, b, g)
    for got, eager in zip(found, f(x, w, b, g), strict=True):
        np.testing.assert_allclose(got.numpy(), eager.numpy(), rtol=1e-4, atol=1e-4)
    assert sum(kernel.launches for kernel in seen.kernels) <= 5
