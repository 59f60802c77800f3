"""Batched products that read and write where their neighbours lie."""

from __future__ import annotations

import re
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


# ---- what is added to a product ------------------------------------------------------------------------------------

ADDED: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...], str]] = {
    # with the call that is left besides one kernel
    "addmm": (
        lambda b, x, w: opweave.relu(opweave.addmm(b, x, w)),
        (real(7), real(9, 5), real(5, 7)),
        "product",
    ),
    "scaled": (
        lambda b, x, w: opweave.addmm(b, x, w, beta=0.5, alpha=-2),
        (real(9, 1), real(9, 5), real(5, 7)),
        "product",
    ),
    "baddbmm": (
        lambda b, x, w: opweave.baddbmm(b, x, w, beta=2) * 3,
        (real(2, 9, 7), real(2, 9, 5), real(2, 5, 7)),
        "product",
    ),
    "float64": (
        lambda b, x, w: opweave.addmm(b, x, w),
        tuple(real(*sizes, dtype="float64") for sizes in ((7,), (9, 5), (5, 7))),
        "product",
    ),
    "a convolution's bias": (
        lambda x, w, b: opweave.relu(opweave.nn.functional.conv2d(x, w, b, stride=2, padding=1)),
        (real(2, 3, 8, 9), real(5, 3, 3, 3), real(5)),
        "convolution_at",
    ),
    "a transposed convolution's": (
        lambda x, w, b: opweave.relu(opweave.nn.functional.conv_transpose2d(x, w, b, stride=2)),
        (real(2, 3, 8, 9), real(3, 5, 3, 3), real(5)),
        "convolution_at",
    ),
    "windows of one element": (
        lambda x, w, b: opweave.relu(opweave.nn.functional.conv2d(x, w, b)),
        (real(2, 3, 8, 9), real(5, 3, 1, 1), real(5)),
        "product",
    ),
    "windows of one element, one dimension, no bias": (
        lambda x, w: opweave.relu(opweave.nn.functional.conv1d(x, w)),
        (real(2, 3, 8), real(5, 3, 1)),
        "product",
    ),
    "windows of one element with gaps": (
        lambda x, w, b: opweave.relu(opweave.nn.functional.conv2d(x, w, b, stride=2)),
        (real(2, 3, 8, 9), real(5, 3, 1, 1), real(5)),
        "convolution_at",
    ),
    "windows of one element in groups": (
        lambda x, w, b: opweave.relu(opweave.nn.functional.conv2d(x, w, b, groups=2)),
        (real(2, 6, 8, 9), real(4, 3, 1, 1), real(4)),
        "convolution_at",
    ),
}


@pytest.mark.parametrize("case", ADDED.values(), ids=ADDED)
def test_what_is_added_is_left_to_a_kernel(case: tuple[Callable[..., Any], tuple[Tensor, ...], str]) -> None:
    function, args, call = case
    wrapper = opweave.explain(function)(*args).versions[-1].code.partition("import triton")[0]
    assert re.findall(r"aten_\w+|(?:convolution_at|product)(?=\()", wrapper) == [call]
    assert len(re.findall(r"\bfused_\w+", wrapper)) == 1
    np.testing.assert_allclose(opweave.compile(function)(*args).numpy(), function(*args).numpy(), rtol=2e-5, atol=1e-5)


def test_a_factor_of_zero_hides_nan() -> None:
    b, x, w = from_numpy(np.full(7, np.nan, np.float32)), real(9, 5), real(5, 7)
    found = opweave.compile(lambda b, x, w: opweave.addmm(b, x, w, beta=0))(b, x, w)
    np.testing.assert_allclose(found.numpy(), x.numpy() @ w.numpy(), rtol=2e-5, atol=1e-5)


def test_half_types_are_rounded_once() -> None:
    """So what is added stays with the product."""
    b, x, w = (real(*sizes).to(opweave.float16) for sizes in ((7,), (9, 300), (300, 7)))
    function = lambda b, x, w: opweave.addmm(b, x, w)  # noqa: E731
    np.testing.assert_array_equal(opweave.compile(function)(b, x, w).numpy(), function(b, x, w).numpy())


# ---- operands in which rows or columns are equal ---------------------------------------------------------------------


def _row(x: Tensor, *sizes: int) -> Tensor:
    return x[..., :1, :].expand(*sizes)


def _column(x: Tensor, *sizes: int) -> Tensor:
    return x[..., :1].expand(*sizes)


REPEATED: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...], str]] = {
    # with the sizes of the product that is made instead
    "rows": (lambda x, y: _row(x, 7, 5) @ y, (real(7, 5), real(5, 6)), "1, 6"),
    "columns": (lambda x, y: x @ _column(y, 5, 6), (real(7, 5), real(5, 6)), "7, 1"),
    "both": (lambda x, y: _row(x, 7, 5) @ _column(y, 5, 6), (real(7, 5), real(5, 6)), "1, 1"),
    "one number": (lambda x, y: x[0, 0].expand(7, 5) @ y, (real(7, 5), real(5, 6)), "1, 6"),
    "what is summed over": (lambda x, y: _column(x, 7, 5) @ y, (real(7, 5), real(5, 6)), ""),
    "batches": (lambda x, y: _row(x, 3, 7, 5) @ y, (real(3, 7, 5), real(3, 5, 6)), "3, 1, 6"),
    "a batch that is stretched": (lambda x, y: x.expand(3, 7, 5) @ y, (real(7, 5), real(3, 5, 6)), ""),
    "a term": (lambda x, y, b: opweave.addmm(b, _row(x, 7, 5), y), (real(7, 5), real(5, 6), real(6)), "1, 6"),
    "no rows": (lambda x, y: _row(x, 0, 5) @ y, (real(7, 5), real(5, 6)), ""),
    "nothing is summed": (lambda x, y: x[:1, :0].expand(7, 0) @ y[:0], (real(7, 5), real(5, 6)), "1, 6"),
}  # fmt: skip


@pytest.mark.parametrize("case", REPEATED)
def test_rows_that_are_equal_are_made_once(case: str) -> None:
    f, args, sizes = REPEATED[case]
    compiled = opweave.compile(f)
    found, wanted = compiled(*args), f(*args)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)
    assert found._strides == wanted._strides
    graph = compiled.stages().get("products", "")
    assert re.findall(r'\w*mm\w*: "f32\[([\d, ]+)\]"', graph) == ([sizes] if sizes else [])
    found.add_(1)  # it has memory of its own
    np.testing.assert_allclose(compiled(*args).numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


def test_the_gradient_of_a_mean_needs_few_products() -> None:
    def f(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return (opweave.relu(x @ a) @ b).mean()

    args = [real(64, 128), real(128, 256), real(256, 96)]
    gradients: list[list[np.ndarray[Any, Any]]] = []
    for g in (f, opweave.compile(f)):
        leaves = [x.clone().requires_grad_() for x in args]
        g(*leaves).backward()
        gradients.append([leaf.grad.numpy() for leaf in leaves if leaf.grad is not None])
    for one, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)
