"""Programs of each sort that leaves something in a cache; each call starts from the disk, as a new process does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton
import triton.language as tl

import opweave
from opweave import Tensor

Results = list[np.ndarray]


def numbers(*sizes: int, seed: int = 0) -> Tensor:
    values = np.random.default_rng(seed).normal(size=sizes)
    return opweave.from_numpy(values.astype(np.float32))


@triton.jit
def axpy_kernel(x_ptr, y_ptr, out_ptr, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, i < n)
    y = tl.load(y_ptr + i, i < n)
    tl.store(out_ptr + i, a * x + y, i < n)


@triton.autotune([triton.Config({"BLOCK": b}) for b in (32, 64)], key=["n"], cache_results=True)
@triton.jit
def tuned_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, i < n) * 2, i < n)


@opweave.library.triton_op("cached::axpy", mutates_args=())
def axpy(a: float, x: Tensor, y: Tensor) -> Tensor:
    out = opweave.empty_like(x)
    n = x.numel()
    opweave.library.wrap_triton(axpy_kernel)[(triton.cdiv(n, 64),)](x, y, out, a, n, BLOCK=64)
    return out


def _forgetting(kernel: Any) -> Any:
    """A kernel without what it compiled and tuned in this process."""
    if hasattr(kernel, "configs"):
        kernel.cache.clear()
    getattr(kernel, "fn", kernel).__dict__.get("device_caches", {}).clear()
    kernel.__dict__.get("device_caches", {}).clear()
    return kernel


def pointwise() -> Results:
    f = opweave.compile(lambda x, y: opweave.sin(x) * 2.0 + y)
    return [f(numbers(5, 7), numbers(7, seed=1)).numpy()]


def reduction() -> Results:
    f = opweave.compile(lambda x: (x.softmax(-1), x.sum(0)))
    return [part.numpy() for part in f(numbers(6, 33))]


def product() -> Results:
    f = opweave.compile(lambda x, w, b: opweave.nn.functional.gelu(x @ w + b))
    return [f(numbers(9, 16), numbers(16, 8, seed=1), numbers(8, seed=2)).numpy()]


def transparent() -> Results:
    _forgetting(axpy_kernel)
    f = opweave.compile(lambda x, y: axpy(0.5, x + 1.0, y).exp())
    return [f(numbers(100), numbers(100, seed=1)).numpy()]


def backward() -> Results:
    x, w = numbers(4, 6).requires_grad_(), numbers(6, seed=1).requires_grad_()
    loss = opweave.compile(lambda x, w: ((x * w).tanh() ** 2).sum())(x, w)
    loss.backward()
    assert x.grad is not None and w.grad is not None
    return [loss.detach().numpy(), x.grad.numpy(), w.grad.numpy()]


def any_size() -> Results:
    f = opweave.compile(lambda q: (q / q.shape[1]).softmax(-1), dynamic=True)
    return [f(numbers(rows, 5)).numpy() for rows in (3, 8)]


def launch() -> Results:
    x, out = numbers(90), opweave.empty(90)
    _forgetting(axpy_kernel)[(2,)](x, numbers(90, seed=1), out, 3.0, 90, BLOCK=64)
    return [out.numpy()]


def tuned() -> Results:
    x, out = numbers(70), opweave.empty(70)
    _forgetting(tuned_kernel)[lambda meta: (triton.cdiv(70, meta["BLOCK"]),)](x, out, 70)
    return [out.numpy()]


PROGRAMS: dict[str, Callable[[], Results]] = {
    f.__name__: f for f in (pointwise, reduction, product, transparent, backward, any_size, launch, tuned)
}
