"""Random programs that mix views, in-place ops, custom ops and Triton kernels: compiled equals eager."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl

import opweave
from opweave.registry.autograd import engine
from opweave.registry.errors import AutogradError
from opweave.registry.tensor import Tensor

pytestmark = pytest.mark.property

NAMES = (
    "add mul sub neg relu clone t flat row sum softmax add_ mul_ copy_ neg_ fill_ add_ mul_ row t flat accumulate bump "
    "launch launch expand cat"
).split()


@triton.jit
def halve_and_add(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    live = i < n
    tl.store(out + i, tl.load(out + i, live) * 0.5 + tl.load(x + i, live), live)


@opweave.library.custom_op("test_random_programs::accumulate", mutates_args=("out",))
def accumulate(out: opweave.Tensor, x: opweave.Tensor) -> None:
    out.numpy()[...] = out.numpy() * 0.5 + x.numpy().mean()


@opweave.library.custom_op("test_random_programs::bump", mutates_args=("x",))
def bump(x: opweave.Tensor, by: float) -> opweave.Tensor:
    x.numpy()[...] += by
    return opweave.from_numpy(x.numpy() * 0.5)


@bump.register_fake
def _(x, by):
    return x.clone()


def step(name: str, a: Tensor, b: Tensor, n: int) -> Tensor | None:
    fits, other_memory = a.shape == b.shape, a._storage is not b._storage
    other: Any = b if fits else float(n % 3) - 1.0
    match name:
        case "add":
            return a + other
        case "mul":
            return a * other
        case "sub":
            return a - other
        case "neg":
            return -a
        case "relu":
            return a.relu()
        case "clone":
            return a.clone()
        case "sum":
            return a.sum(-1) if a.ndim else None
        case "softmax":
            return opweave.softmax(a, -1) if a.ndim else None
        case "t":
            return a.t() if a.ndim == 2 else None
        case "flat":
            return a.view(-1) if a.is_contiguous() else None
        case "row":
            return a[n % a.shape[0]] if a.ndim else None
        case "expand":
            return a.unsqueeze(0).expand(2, *a.shape) if a.ndim < 2 else None
        case "cat":
            return opweave.cat([a, b], 0) if fits and a.ndim else None
        case "add_":
            a.add_(other) if writable(a) else None
        case "mul_":
            a.mul_(other) if writable(a) else None
        case "neg_":
            a.neg_() if writable(a) else None
        case "fill_":
            a.fill_(float(n)) if writable(a) else None
        case "copy_":
            a.copy_(b) if writable(a) and fits and other_memory else None
        case "accumulate":
            accumulate(a, b) if writable(a) and other_memory else None
        case "bump":
            return bump(a, float(n % 3)) if writable(a) else None
        case "launch":
            plain = a.is_contiguous() and b.is_contiguous() and a.numel() == b.numel() <= 32
            if plain and other_memory and a.numel():
                opweave.library.wrap_triton(halve_and_add)[(1,)](b, a, a.numel(), BLOCK=32)
    return None


def writable(a: Tensor) -> bool:
    return not any(stride == 0 and size > 1 for size, stride in zip(a.shape, a.stride(), strict=True))


def program(seed: int) -> Callable[..., list[Tensor]]:
    draw = random.Random(seed)
    steps = [(draw.choice(NAMES), *(draw.randrange(50) for _ in range(3))) for _ in range(14)]

    def run(*inputs: Tensor) -> list[Tensor]:
        pool = list(inputs)
        for name, i, j, n in steps:
            made = step(name, pool[i % len(pool)], pool[j % len(pool)], n)
            if made is not None:
                pool.append(made)
        return pool[-5:]

    run.__doc__ = f"steps = {steps}"
    return run


def inputs(seed: int) -> list[Tensor]:
    draw = np.random.default_rng(seed)
    return [opweave.from_numpy(draw.normal(size=s).astype(np.float32)) for s in ((2, 3), (2, 3), (3, 2))]


def sharing(tensors: list[Tensor]) -> list[int]:
    """For each tensor the number of its storage, counted in order of appearance."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(id(t._storage), len(numbers)) for t in tensors]


@pytest.mark.parametrize("block", range(8))
def test_compiled_equals_eager(block):
    for seed in range(block * 15, block * 15 + 15):
        run = program(seed)
        given, expected_given = inputs(seed), inputs(seed)
        expected = run(*expected_given)
        got = opweave.compile(run)(*given)
        everything, expected_everything = [*given, *got], [*expected_given, *expected]
        for a, b in zip(everything, expected_everything, strict=True):
            assert a.shape == b.shape and a.stride() == b.stride() and a.dtype is b.dtype, (seed, run.__doc__)
            np.testing.assert_allclose(a.numpy(), b.numpy(), 1e-4, 1e-4, err_msg=f"seed {seed}: {run.__doc__}")
        assert sharing(everything) == sharing(expected_everything), (seed, run.__doc__)


DIFFERENTIABLE = "add mul sub neg relu clone t flat row sum softmax expand cat add_ mul_ copy_ neg_ fill_ row t".split()


def differentiable(seed: int) -> Callable[..., list[Tensor]]:
    draw = random.Random(seed)
    steps = [(draw.choice(DIFFERENTIABLE), *(draw.randrange(50) for _ in range(3))) for _ in range(10)]

    def run(*inputs: Tensor) -> list[Tensor]:
        pool = [t * 1.5 for t in inputs]  # inputs that require grad cannot be written
        for name, i, j, n in steps:
            with opweave.set_grad_enabled(n % 7 != 0):
                made = step(name, pool[i % len(pool)], pool[j % len(pool)], n)
            if made is not None:
                pool.append(made)
        return pool[-4:]

    run.__doc__ = f"steps = {steps}"
    return run


def gradients(run: Callable[..., list[Tensor]], seed: int) -> list[Any]:
    """Results, and the gradients of the inputs, or the kind of error that refuses them."""
    given = [t.requires_grad_(i < 2) for i, t in enumerate(inputs(seed))]
    try:
        results = run(*given)
        roots = [t for t in results if t.requires_grad]
        vectors = [opweave.arange(t.numel()).reshape(t.shape).to(t.dtype) + 1.0 for t in roots]
        found = engine.grad(roots, given[:2], vectors, allow_unused=True) if roots else ()
    except AutogradError:
        return ["refused"]
    flags = [t.requires_grad for t in results]
    return [flags, *[t if t is None else t.detach().numpy() for t in (*results, *found)]]


@pytest.mark.parametrize("block", range(4))
def test_gradients_of_compiled_equal_those_of_eager(block):
    compared = 0
    for seed in range(block * 15, block * 15 + 15):
        run = differentiable(seed)
        expected = gradients(run, seed)
        got = gradients(opweave.compile(run), seed)
        assert got[0] == expected[0] and len(got) == len(expected), (seed, run.__doc__)
        for a, b in zip(got[1:], expected[1:], strict=True):
            assert (a is None) == (b is None), (seed, run.__doc__)
            if a is not None:
                np.testing.assert_allclose(a, b, 1e-4, 1e-4, err_msg=f"seed {seed}: {run.__doc__}")
                compared += 1
    assert compared > 10
