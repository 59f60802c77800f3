"""Loops, branches, early returns and calls, with scalars, tensors and pointers crossing them."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from native import launch


@triton.jit
def fibonacci(o_ptr, n, BLOCK: tl.constexpr):
    a = tl.zeros((BLOCK,), tl.int32)
    b = tl.arange(0, BLOCK)
    for _ in range(n):
        a, b = b, a + b
    tl.store(o_ptr + tl.arange(0, BLOCK), a)
    tl.store(o_ptr + BLOCK + tl.arange(0, BLOCK), b)


@pytest.mark.parametrize("n", [0, 1, 7])
def test_carried_tensors_swap(n: int) -> None:
    out = np.empty((2, 64), np.int32)
    launch(fibonacci, (1,), out, n, BLOCK=64)
    a, b = np.zeros(64, np.int32), np.arange(64, dtype=np.int32)
    for _ in range(n):
        a, b = b, a + b
    np.testing.assert_array_equal(out, [a, b])


@triton.jit
def rolled(o_ptr, n, R: tl.constexpr, C: tl.constexpr):
    x = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    t = tl.zeros((C, R), tl.int32)
    for _ in range(n):
        x, t = tl.trans(t) + 1, tl.trans(x) * 2
    tl.store(o_ptr + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :], x)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_carried_tensors_of_two_shapes_transpose_into_each_other(n: int) -> None:
    out = np.empty((8, 32), np.int32)
    launch(rolled, (1,), out, n, R=8, C=32)
    x, t = np.arange(256).reshape(8, 32), np.zeros((32, 8))
    for _ in range(n):
        x, t = t.T + 1, x.T * 2
    np.testing.assert_array_equal(out, x)


@triton.jit
def pointer_walk(x_ptr, o_ptr, n, stride, BLOCK: tl.constexpr):
    p = x_ptr + tl.arange(0, BLOCK)
    i = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for k in range(0, n, 1):
        acc += tl.load(p, mask=i < stride * n, other=0.0) * (k + 1)
        p += stride
        i += stride
    tl.store(o_ptr + tl.arange(0, BLOCK), acc)
    tl.store(o_ptr + BLOCK + tl.arange(0, BLOCK), i)


def test_pointers_and_indices_move_with_the_loop() -> None:
    x = np.random.default_rng(0).standard_normal((5, 64)).astype(np.float32)
    out = np.empty((2, 64), np.float32)
    launch(pointer_walk, (1,), x, out, 5, 64, BLOCK=64)
    np.testing.assert_allclose(out[0], (x * np.arange(1, 6)[:, None]).sum(0), rtol=1e-5)
    np.testing.assert_array_equal(out[1], np.arange(64) + 5 * 64)


@triton.jit
def collatz(x_ptr, o_ptr, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    x = tl.load(x_ptr + pid)
    steps = 0
    while x > 1:
        if x % 2 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        steps += 1
    tl.store(o_ptr + pid, steps)


def test_while_and_early_return() -> None:
    out = np.full(12, -1, np.int32)
    launch(collatz, (12,), np.arange(1, 13, dtype=np.int32), out, 10)
    np.testing.assert_array_equal(out, [0, 1, 7, 2, 5, 8, 16, 3, 19, 6, -1, -1])


@triton.jit
def newton(x_ptr, o_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = x
    error = tl.max(tl.abs(y * y - x), 0)
    while error > 1e-3:
        y = 0.5 * (y + x / y)
        error = tl.max(tl.abs(y * y - x), 0)
    tl.store(o_ptr + i, y)


def test_while_with_tensors() -> None:
    x = np.random.default_rng(0).uniform(0.5, 50, 128).astype(np.float32)
    out = np.empty_like(x)
    launch(newton, (1,), x, out, BLOCK=128)
    np.testing.assert_allclose(out, np.sqrt(x), rtol=1e-3)


@triton.jit
def branches(x_ptr, o_ptr, flag, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    e = tl.exp(x)
    if flag > 1:
        y = e + 1
        tl.store(o_ptr + 2 * BLOCK + i, e)
        s = tl.sum(e, 0)
    elif flag == 1:
        y = x * 2
        s = 1.0
    else:
        y = tl.zeros_like(x)
        s = 0.0
    tl.store(o_ptr + i, y)
    tl.store(o_ptr + BLOCK + i, e * s)


@pytest.mark.parametrize("flag", [0, 1, 2])
def test_branches_with_tensor_results(flag: int) -> None:
    x = np.random.default_rng(0).standard_normal(64).astype(np.float32)
    out = np.zeros((3, 64), np.float32)
    launch(branches, (1,), x, out, flag, 64, BLOCK=64)
    e = np.exp(x.astype(np.float64))
    y, s = [(x * 0, 0.0), (x * 2, 1.0), (e + 1, e.sum())][flag]
    np.testing.assert_allclose(out[:2], [y, e * s], rtol=1e-5)
    np.testing.assert_allclose(out[2], e if flag == 2 else e * 0, rtol=1e-6)


@triton.jit
def _clipped(x, bound):
    if bound > 10:
        return x
    return tl.minimum(x, bound)


@triton.jit(noinline=True)
def _scaled(a, b):
    if a > 5:
        return a * 10 + b
    return a - b


@triton.jit
def calls(x_ptr, o_ptr, bound, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    for k in range(n):
        x = _clipped(x, bound + k) + _scaled(bound, k)
    tl.store(o_ptr + i, x)


@pytest.mark.parametrize("bound", [3, 9, 12])
def test_functions_that_return_early(bound: int) -> None:
    x = np.arange(32, dtype=np.int32)
    out = np.empty_like(x)
    launch(calls, (1,), x, out, bound, 3, BLOCK=32)
    want = x
    for k in range(3):
        want = (want if bound + k > 10 else np.minimum(want, bound + k)) + (bound * 10 + k if bound > 5 else bound - k)
    np.testing.assert_array_equal(out, want)


@triton.jit
def returns_twice(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    if pid * BLOCK >= n:
        return
    x = tl.load(x_ptr + i, mask=i < n)
    if tl.sum(x, 0) < 0:
        tl.store(o_ptr + i, -x, mask=i < n)
        return
    tl.store(o_ptr + i, tl.exp(x), mask=i < n)


def test_two_early_returns() -> None:
    x = np.random.default_rng(0).standard_normal(256).astype(np.float32)
    out = np.zeros_like(x)
    launch(returns_twice, (9,), x, out, 256, BLOCK=32)
    blocks = x.reshape(8, 32)
    want = np.where(blocks.sum(1, keepdims=True) < 0, -blocks, np.exp(blocks))
    np.testing.assert_allclose(out.reshape(8, 32), want, rtol=1e-6)


@triton.jit
def nested(x_ptr, o_ptr, n, m, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    scale = tl.exp(tl.load(x_ptr + i))
    total = tl.zeros((BLOCK,), tl.float32)
    for a in range(n):
        inner = tl.full((BLOCK,), 1.0, tl.float32)
        for b in range(a, m):
            inner += scale * b
            if b == 3:
                inner = inner * 0.5
        total += inner
    tl.store(o_ptr + i, total)


def test_nested_loops() -> None:
    x = np.random.default_rng(0).standard_normal(64).astype(np.float32)
    out = np.empty_like(x)
    launch(nested, (1,), x, out, 4, 6, BLOCK=64)
    scale, total = np.exp(x.astype(np.float64)), 0.0
    for a in range(4):
        inner = np.ones(64)
        for b in range(a, 6):
            inner = inner + scale * b
            if b == 3:
                inner = inner * 0.5
        total = total + inner
    np.testing.assert_allclose(out, total, rtol=1e-5)


@triton.jit
def grid_ids(o_ptr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    place = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(o_ptr + place, x + 10 * y + 100 * z)


def test_program_ids() -> None:
    out = np.zeros((4, 3, 2), np.int32)
    launch(grid_ids, (2, 3, 4), out)
    z, y, x = np.indices((4, 3, 2))
    np.testing.assert_array_equal(out, x + 10 * y + 100 * z)
    launch(grid_ids, (0, 3, 4), out)
