"""Batched products that read and write where their neighbours lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.registry.tensor import Tensor, from_numpy

DRAW = np.random.default_rng(0)
HEADS, WIDE = 4, 8


def real(*sizes: int, dtype: str = "float32") -> Tensor:
    return from_numpy(DRAW.standard_normal(sizes).astype(dtype))


def heads(x: Tensor) -> Tensor:
    b, t, _ = x.shape
    return x.reshape(b, t, HEADS, WIDE).transpose(1, 2)


def attention(x: Tensor, w: Tensor) -> Tensor:
    q, k, v = [heads(part) for part in (x @ w).split(HEADS * WIDE, -1)]
    weights = (q @ k.transpose(-2, -1)).softmax(-1)
    return (weights @ v).transpose(1, 2).reshape(x.shape)


CASES: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...], int]] = {
    # with the number of kernels
    "attention": (attention, (real(2, 6, 32), real(32, 96)), 1),
    "one that is contiguous": (lambda q, k: heads(q) @ k, (real(2, 6, 32), real(2, 4, 8, 5)), 0),
    "two copies of inputs": (lambda q, k: heads(q) @ heads(k).mT, (real(2, 6, 32), real(2, 9, 32)), 0),
    "a result in another order": (
        lambda q, k: (q @ k).transpose(1, 2).reshape(2, 6, 20),
        (real(2, 4, 6, 8), real(2, 4, 8, 5)),
        0,
    ),
    "a result in two orders": (
        lambda q, k: (lambda y: (y.transpose(1, 2).reshape(2, 6, 20), y.reshape(8, 6, 5) * 2))(heads(q) @ k),
        (real(2, 6, 32), real(2, 4, 8, 5)),
        2,
    ),
    "computed ones": (lambda q, k: heads(q * 2) @ heads(k + 1).mT, (real(2, 6, 32), real(2, 9, 32)), 2),
    "every other element": (
        lambda q, k: heads(q[..., ::2]) @ heads(k).mT,
        (real(2, 6, 64), real(2, 9, 32)),
        1,
    ),
    "the last dimension moved": (
        lambda q, k: (heads(q) @ k).permute(0, 3, 2, 1).reshape(2, 30, 4),
        (real(2, 6, 32), real(2, 4, 8, 5)),
        1,
    ),
    "a batch that is stretched": (lambda q, k: heads(q) @ k, (real(2, 6, 32), real(8, 5)), 0),
    "a copy that is given back": (
        lambda q, k: (lambda c: (c.reshape(8, 6, 8) @ k, c))(heads(q).contiguous()),
        (real(2, 6, 32), real(8, 8, 5)),
        1,
    ),
    "a product that is given back": (
        lambda q, k: (lambda p: (p, p.reshape(2, 4, 6, 5).transpose(1, 2).reshape(2, 6, 20)))(q.bmm(k)),
        (real(8, 6, 8), real(8, 8, 5)),
        1,
    ),
}


def copies_of(fn: Callable[..., Any], arguments: tuple[Tensor, ...]) -> int:
    fusion = opweave.explain(fn)(*arguments).versions[-1].fusion
    return sum(line.startswith("kernel") for line in fusion.splitlines())


@pytest.mark.parametrize("name", CASES)
def test_compiled_equals_eager(name: str) -> None:
    fn, arguments, kernels = CASES[name]
    for dtype in (opweave.float32, opweave.float64, opweave.float16):
        given = [t.to(dtype) for t in arguments]
        want, found = fn(*given), opweave.compile(fn)(*given)
        unit = {opweave.float32: 1e-5, opweave.float64: 1e-13, opweave.float16: 2e-2}[dtype]
        pairs = zip(*[v if isinstance(v, tuple) else (v,) for v in (want, found)], strict=True)
        for a, b in pairs:
            assert (b.shape, b.stride(), b.dtype) == (a.shape, a.stride(), a.dtype)
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=unit, atol=unit)
    assert copies_of(fn, arguments) == kernels


def test_gradients_of_attention() -> None:
    x, w = real(2, 6, 32, dtype="float64"), real(32, 96, dtype="float64")
    grad = opweave.func.grad(lambda x, w: (attention(x, w) ** 2).sum(), argnums=(0, 1))
    for a, b in zip(grad(x, w), opweave.compile(grad)(x, w), strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-11, atol=1e-11)


def test_an_open_batch_is_left_as_it_is() -> None:
    compiled = opweave.compile(attention, dynamic=True)
    w = real(32, 96)
    for b, t in ((2, 6), (3, 7), (1, 4)):
        x = real(b, t, 32)
        np.testing.assert_allclose(compiled(x, w).numpy(), attention(x, w).numpy(), rtol=1e-5, atol=1e-5)


def test_written_operands() -> None:
    """What is multiplied after it was written in place is multiplied as it is then."""

    def f(q: Tensor, k: Tensor) -> Tensor:
        first = heads(q) @ heads(k).mT
        q.mul_(2)
        return first + heads(q) @ heads(k).mT

    given = [[t.clone() for t in (real(2, 6, 32), real(2, 9, 32))]]
    given.append([t.clone() for t in given[0]])
    want, found = f(*given[0]), opweave.compile(f)(*given[1])
    np.testing.assert_allclose(found.numpy(), want.numpy(), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(given[0][0].numpy(), given[1][0].numpy())
