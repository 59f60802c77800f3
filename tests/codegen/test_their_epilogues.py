"""Cases of PyTorch's tests of `epilogue_fusion_user_defined_triton_kernel`, and what precedes a launch instead.

Each has the number of launches that PyTorch's test asserts, on a GPU; here it is never more. What PyTorch never puts
into a user's kernel is what computes its operands: the same programs the other way round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl

import opweave
from opweave import Tensor


@triton.jit
def summed(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


@triton.jit
def twice(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < n
    value = tl.load(x + at, mask=live)
    # A store over several lines, with comments between: nothing here reads the text.

    tl.store(
        out + at,
        (
            # the value
            value + value
        ),
        mask=live,
    )


@triton.jit
def twice_with_another(x, out, other, n: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) * 2, at < n)


@triton.jit
def added_to(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = at < n
    tl.store(out + at, tl.load(x + at, live) + tl.load(y + at, live) + tl.load(out + at, live), live)


@triton.jit
def put(to, value, live):
    tl.store(to, value, live)


@triton.jit
def stored_twice(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + at, at < n) + tl.load(y + at, at < n)
    tl.store(out + at, total, at < n)
    put(out + at, total, at < n)


@triton.jit
def in_pairs(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = (at < n) & (at % 2 == 1)
    tl.store(out + at // 2, tl.load(x + at, live) + tl.load(y + at, live), live)


@triton.jit
def exchanged(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_xchg(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


def launched(kernel: Any, *args: Tensor, out: Tensor | None = None, block: int = 16) -> Tensor:
    out = opweave.empty_like(args[0]) if out is None else out
    kernel[(triton.cdiv(out.numel(), block),)](*args, out, out.numel(), BLOCK=block)
    return out


def add(x: Tensor, y: Tensor) -> Tensor:
    return launched(summed, x, y, block=1)


def with_another(x: Tensor) -> Tensor:
    out, other = opweave.empty_like(x), opweave.empty(x.numel())
    twice_with_another[(1,)](x, out, other, x.numel(), BLOCK=32)
    return out


def joined(x: Tensor, y: Tensor) -> Tensor:
    halves = opweave.empty(x.numel() // 2), opweave.empty(x.numel() // 2)
    return launched(summed, x, y, out=opweave.cat(halves))


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def rand(*sizes: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)


Case = tuple[Callable[..., Any], Callable[..., Any], int, int]
N = 30
X, Y, Z = rand(N), rand(N, seed=1), rand(N, seed=2)

#: The program, the same in NumPy, the launches that PyTorch's test asserts, and those here.
AFTER: dict[str, Case] = {
    "relu": (lambda x, y, _: launched(summed, x, y).relu(), lambda x, y, _: relu(x + y), 1, 1),
    "sigmoid": (lambda x, y, _: launched(twice, x).sigmoid(), lambda x, y, _: sigmoid(2 * x), 1, 1),
    "unused buffer": (lambda x, y, _: with_another(x).relu(), lambda x, y, _: relu(2 * x), 1, 1),
    "two in a row": (lambda x, y, _: add(add(x, y), y).relu(), lambda x, y, _: relu(x + 2 * y), 2, 1),
    "the same kernel, two epilogues": (
        lambda x, y, _: add(add(x, y).sigmoid(), y).relu(), lambda x, y, _: relu(sigmoid(x + y) + y), 2, 1,
    ),
    "several stores": (lambda x, y, _: launched(stored_twice, x, y).relu(), lambda x, y, _: relu(x + y), 2, 1),
    "memory that is not empty": (
        lambda x, y, _: launched(in_pairs, x, y, out=opweave.ones_like(x)).relu(),
        lambda x, y, _: relu(np.concatenate([(x + y)[1::2], np.ones(N // 2, np.float32)])), 3, 3,
    ),
    "several readers": (
        lambda x, y, _: ((s := launched(summed, x, y)).relu(), s.sigmoid()),
        lambda x, y, _: (relu(x + y), sigmoid(x + y)), 2, 1,
    ),
    "atomics": (lambda x, y, _: launched(exchanged, x, y).relu(), lambda x, y, _: relu(x + y), 2, 2),
    "indices": (
        lambda x, y, _: launched(summed, x, y).relu() + opweave.arange(N),
        lambda x, y, _: relu(x + y) + np.arange(N), 2, 1,
    ),
    "another operand": (lambda x, y, z: add(x, y) + z, lambda x, y, z: x + y + z, 2, 1),
}  # fmt: skip

#: The same the other way round: PyTorch computes the operands in kernels before.
BEFORE: dict[str, Case] = {
    "relu": (lambda x, y, _: launched(summed, x.relu(), y), lambda x, y, _: relu(x) + y, 2, 1),
    "sigmoid": (lambda x, y, _: launched(twice, x.sigmoid()), lambda x, y, _: 2 * sigmoid(x), 2, 1),
    "both operands": (
        lambda x, y, _: launched(summed, x.relu(), y.sigmoid()), lambda x, y, _: relu(x) + sigmoid(y), 3, 1,
    ),
    "unused buffer": (lambda x, y, _: with_another(x.relu()), lambda x, y, _: 2 * relu(x), 2, 1),
    "two in a row": (lambda x, y, _: add(add(x.relu(), y), y), lambda x, y, _: relu(x) + 2 * y, 3, 1),
    "several stores": (lambda x, y, _: launched(stored_twice, x.relu(), y), lambda x, y, _: relu(x) + y, 2, 1),
    "memory that is not empty": (
        lambda x, y, _: launched(in_pairs, x.relu(), y, out=opweave.ones_like(x)),
        lambda x, y, _: np.concatenate([(relu(x) + y)[1::2], np.ones(N // 2, np.float32)]), 3, 2,
    ),
    "atomics": (lambda x, y, _: launched(exchanged, x.relu(), y), lambda x, y, _: relu(x) + y, 2, 1),
    "indices": (
        lambda x, y, _: launched(summed, x + opweave.arange(N), y), lambda x, y, _: x + np.arange(N) + y, 2, 1,
    ),
    "another operand": (lambda x, y, z: add(x * z, y), lambda x, y, z: x * z + y, 2, 1),
    "a view between": (
        lambda x, y, _: launched(twice, x.relu().view(5, 6)), lambda x, y, _: 2 * relu(x).reshape(5, 6), 2, 1,
    ),
    "both sides": (
        lambda x, y, z: launched(summed, x.relu(), y).sigmoid() * z, lambda x, y, z: sigmoid(relu(x) + y) * z, 3, 1,
    ),
}  # fmt: skip


def check(case: Case) -> None:
    program, wanted, theirs, ours = case
    function, args = opweave.compile(program), [opweave.from_numpy(x) for x in (X, Y, Z)]
    found = function(*args)
    for one, other in zip(*[r if isinstance(r, tuple) else (r,) for r in (found, wanted(X, Y, Z))], strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-6, atol=1e-6)
    with opweave.profile() as profile:
        function(*args)
    launches = sum(kernel.launches for kernel in profile.kernels)
    assert launches <= theirs
    assert launches == ours


@pytest.mark.parametrize("case", AFTER.values(), ids=AFTER)
def test_what_follows_a_launch(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", BEFORE.values(), ids=BEFORE)
def test_what_precedes_a_launch(case: Case) -> None:
    check(case)


def test_memory_that_the_kernel_reads_before_it_writes() -> None:
    # Theirs is about memory with nothing in it, of which nothing can be said.
    x, y, z = (opweave.from_numpy(one) for one in (X, Y, Z))
    function = opweave.compile(lambda x, y, z: launched(added_to, x, y, out=z.clone()).relu())
    np.testing.assert_allclose(function(x, y, z).numpy(), relu(X + Y + Z), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(z.numpy(), Z)
    with opweave.profile() as profile:
        function(x, y, z)
    assert sum(kernel.launches for kernel in profile.kernels) <= 2


def test_memory_that_is_joined_of_empty_parts() -> None:
    x, y = opweave.from_numpy(X), opweave.from_numpy(Y)
    function = opweave.compile(lambda x, y: joined(x, y).relu())
    np.testing.assert_allclose(function(x, y).numpy(), relu(X + Y), rtol=1e-6, atol=1e-6)
    with opweave.profile() as profile:
        function(x, y)
    assert sum(kernel.launches for kernel in profile.kernels) == 1  # theirs: 3


@pytest.mark.parametrize("shown", [lambda s: s.t().contiguous(), lambda s: s.t().reshape(-1) * 2, lambda s: s.t() + 1])
def test_what_follows_in_another_order(shown: Callable[[Tensor], Tensor]) -> None:
    # They wrote right values to wrong places (issue 184247).
    x, y = rand(4, 8), rand(4, 8, seed=1)
    function = opweave.compile(lambda x, y: shown(launched(summed, x, y)))
    wanted = shown(opweave.from_numpy(x + y))
    np.testing.assert_allclose(
        function(opweave.from_numpy(x), opweave.from_numpy(y)).numpy(), wanted.numpy(), rtol=1e-6
    )
