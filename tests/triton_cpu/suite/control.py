"""Control flow: loops, branches, early returns, calls, and what is carried through them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import triton
import triton.language as tl

from suite import case

Array = np.ndarray[Any, Any]


def floats(rng: np.random.Generator, *shape: int) -> Array:
    """Small whole numbers: sums of them are exact."""
    return rng.integers(-50, 50, shape).astype(np.float32)


# -- for


@triton.jit
def for_ranges(out, lo, hi, step):
    k = 0
    for i in range(lo, hi, step):
        tl.store(out + k, i)
        k += 1
    tl.store(out + 20, k)


for _lo, _hi, _step in ((0, 10, 1), (3, 17, 4), (5, 5, 1), (7, 2, 1), (-6, 6, 3), (2**40, 2**40 + 5, 2), (9, 10, 100)):
    case(
        f"for from {_lo} to {_hi} by {_step}", for_ranges,
        lambda rng, r=(_lo, _hi, _step): (np.full(21, -1, np.int64), *r),
        lambda out, lo, hi, step: np.concatenate(
            [np.array([*range(lo, hi, step), *[-1] * 20])[:20], [len(range(lo, hi, step))]]
        ), 0,
    )  # fmt: skip


@triton.jit
def count_down(out, N: tl.constexpr):
    k = 0
    for i in range(N, -3, -2):
        tl.store(out + k, i)
        k += 1
    for i in tl.static_range(5, 0, -2):
        tl.store(out + k, i)
        k += 1
    tl.store(out + 15, k)


case(
    "for that counts down", count_down, lambda rng: (np.full(16, -9, np.int32),),
    lambda out: np.array([7, 5, 3, 1, -1, 5, 3, 1, *[-9] * 7, 8]), 0, constants={"N": 7},
)  # fmt: skip


@triton.jit
def near_the_end_of_int32(out, lo, hi, step):
    k = 0
    for _ in range(lo, hi, step):
        k += 1
    tl.store(out, k)


case(
    "for whose last step leaves int32", near_the_end_of_int32,
    lambda rng: (np.zeros(1, np.int32), 2**31 - 10, 2**31 - 1, 4), lambda *_: np.array([3]), 0,
    interpreter="",
)  # fmt: skip


@triton.jit
def carried_tensors(x, out, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.load(x + i), tl.load(x + BLOCK + i)
    for _ in range(n):
        a, b = b, a + b
    for k in tl.static_range(STEPS):
        a += k * b
    tl.store(out + i, a)
    tl.store(out + BLOCK + i, b)


def _carried(x: Array, out: Array, n: int) -> Array:
    a, b = x.astype(np.int64)
    for _ in range(n):
        a, b = b, a + b
    return np.stack([a + 3 * b, b])


for _n in (0, 1, 7):
    case(
        f"tensors that swap through {_n} steps", carried_tensors,
        lambda rng, n=_n: (rng.integers(-9, 9, (2, 64)), np.zeros((2, 64), np.int64), n), _carried, 1,
        constants={"STEPS": 3, "BLOCK": 64},
    )  # fmt: skip


@triton.jit
def shifting_views(x, out, n, M: tl.constexpr):
    r = tl.arange(0, M)
    a = tl.load(x + r[:, None] * M + r[None, :])
    total = tl.zeros([M], tl.float32)
    for _ in range(n):
        a = tl.trans(a) * 2 - a
        total += tl.sum(a, 0)
    tl.store(out + r[:, None] * M + r[None, :], a)
    tl.store(out + M * M + r, total)


def _shifting(x: Array, _: Array, n: int) -> Array:
    a, total = x.astype(np.float64), np.zeros(len(x))
    for _ in range(n):
        a = a.T * 2 - a
        total += a.sum(0)
    return np.concatenate([a.ravel(), total])


for _n in (0, 1, 3):
    case(
        f"a carried matrix that is transposed {_n} times", shifting_views,
        lambda rng, n=_n: (floats(rng, 8, 8), np.zeros(72, np.float32), n), _shifting, 1, constants={"M": 8},
    )  # fmt: skip


@triton.jit
def reshaped_in_a_loop(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    for k in range(n):
        a = tl.reshape(tl.trans(tl.reshape(a, [4, N // 4])), [N]) + k
        a = tl.flip(a, 0) if N > 4 else a
    tl.store(out + i, a)


def _reshaped(x: Array, _: Array, n: int) -> Array:
    for k in range(n):
        x = (x.reshape(4, -1).T.ravel() + k)[::-1]
    return x


case(
    "a carried vector that is permuted", reshaped_in_a_loop,
    lambda rng: (rng.integers(-9, 9, 64), np.zeros(64, np.int64), 5), _reshaped, 1, constants={"N": 64},
)  # fmt: skip


@triton.jit
def nested_loops(x, out, rows, cols, BLOCK: tl.constexpr):
    best = tl.full([BLOCK], -(2**31), tl.int32)
    i = tl.arange(0, BLOCK)
    for r in range(rows):
        total = tl.zeros([BLOCK], tl.int32)
        for c in range(r, cols):
            total += tl.load(x + (r * cols + c) * BLOCK + i)
        best = tl.maximum(best, total)
    tl.store(out + i, best)


def _nested(x: Array, _: Array, rows: int, cols: int) -> Array:
    best = np.full(x.shape[-1], -(2**31))
    for r in range(rows):
        best = np.maximum(best, x[r, r:].sum(0))
    return best


case(
    "nested loops whose inner bound moves", nested_loops,
    lambda rng: (rng.integers(-9, 9, (5, 4, 32), np.int32), np.zeros(32, np.int32), 5, 4), _nested, 1,
    constants={"BLOCK": 32},
)  # fmt: skip


@triton.jit
def range_options(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for k in tl.range(0, n, num_stages=3):
        total += tl.load(x + k * BLOCK + i)
    for k in tl.range(0, n, 2, loop_unroll_factor=2):
        total += tl.load(x + k * BLOCK + i) * 2
    for k in tl.range(0, 2, flatten=True):
        for j in tl.range(0, n, disallow_acc_multi_buffer=True):
            total += tl.load(x + j * BLOCK + i) * k
    tl.store(out + i, total)


for _n in (0, 5, 8):
    case(
        f"tl.range and its hints over {_n}", range_options,
        lambda rng, n=_n: (floats(rng, 8, 16), np.zeros(16, np.float32), n),
        lambda x, _, n: (2 * x[:n].sum(0, dtype=np.float64) + 2 * x[:n:2].sum(0)), 1, constants={"BLOCK": 16},
    )  # fmt: skip


@triton.jit
def moving_pointers(x, out, n, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    p, q, s = x + i, x + i * 2, x
    total = tl.zeros([BLOCK], tl.float32)
    for _ in range(n):
        total += tl.load(p) + tl.load(q) + tl.load(s)
        p += stride
        q = q + i
        s += 1
    tl.store(out + i, total)
    tl.store(out + BLOCK + i, tl.load(p) + tl.load(q))


def _moving(x: Array, _: Array, n: int, stride: int) -> Array:
    i = np.arange(8)
    total = sum((x[i + k * stride] + x[i * 2 + k * i] + x[k] for k in range(n)), np.zeros(8))
    return np.stack([total, x[i + n * stride] + x[i * 2 + n * i]])


for _n, _stride in ((0, 3), (1, 3), (6, 5)):
    case(
        f"pointers that move {_n} times by {_stride}", moving_pointers,
        lambda rng, a=(_n, _stride): (floats(rng, 100), np.zeros((2, 8), np.float32), *a), _moving, 1,
        constants={"BLOCK": 8},
    )  # fmt: skip


# -- while


@triton.jit
def collatz(x, out, BLOCK: tl.constexpr):
    n = tl.load(x + tl.program_id(0))
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    tl.store(out + tl.program_id(0), steps)


def _collatz(x: Array, _: Array) -> Array:
    def steps(n: int) -> int:
        k = 0
        while n != 1:
            n, k = (n // 2 if n % 2 == 0 else 3 * n + 1), k + 1
        return k

    return np.array([steps(int(n)) for n in x])


case(
    "while with a branch, a program a number", collatz,
    lambda rng: (rng.integers(1, 100, 16, np.int32), np.zeros(16, np.int32)), _collatz, 1, grid=(16,),
    constants={"BLOCK": 16},
)  # fmt: skip


@triton.jit
def newton(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    live = i < n
    a = tl.load(x + i, live, 1.0)
    r = a
    error = tl.max(tl.abs(r * r - a))
    k = 0
    while error > 1e-3 and k < 50:
        r = 0.5 * (r + a / r)
        error = tl.max(tl.abs(r * r - a))
        k += 1
    tl.store(out + i, r, live)


case(
    "while until all lanes have converged", newton,
    lambda rng: (rng.uniform(0.5, 40, 50).astype(np.float32), np.zeros(50, np.float32), 50),
    lambda x, *_: np.sqrt(x.astype(np.float64)), 1, constants={"BLOCK": 64}, rtol=2e-3,  # the loop stops at 1e-3
)  # fmt: skip


@triton.jit
def binary_search(keys, x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    low = tl.zeros([BLOCK], tl.int32)
    high = tl.full([BLOCK], n, tl.int32)
    while tl.max(high - low) > 0:
        middle = (low + high) // 2
        less = tl.load(keys + middle, middle < high, 0) < v
        go = low < high
        low = tl.where(go & less, middle + 1, low)
        high = tl.where(go & (less == 0), middle, high)
    tl.store(out + i, low)


case(
    "binary search in all lanes", binary_search,
    lambda rng: (np.sort(rng.integers(0, 100, 37, np.int32)), rng.integers(-5, 105, 64, np.int32),
                 np.zeros(64, np.int32), 37),
    lambda keys, x, *_: np.searchsorted(keys, x), 2, constants={"BLOCK": 64},
)  # fmt: skip


@triton.jit
def find_first(x, out, n, wanted, BLOCK: tl.constexpr):
    start = 0
    found = -1
    while (found < 0) & (start < n):
        i = start + tl.arange(0, BLOCK)
        hit = (tl.load(x + i, i < n, wanted - 1) == wanted) & (i < n)
        place = tl.min(tl.where(hit, i, n))
        found = tl.where(place < n, place, -1)
        start += BLOCK
    tl.store(out, found)


for _wanted in (7, 1000):
    case(
        f"a loop left when {_wanted} is found", find_first,
        lambda rng, w=_wanted: (rng.permutation(100).astype(np.int32), np.zeros(1, np.int32), 100, w),
        lambda x, _, n, w: np.array([*np.flatnonzero(x == w), -1])[:1], 1, constants={"BLOCK": 16},
    )  # fmt: skip


# -- if


@triton.jit
def tensor_branches(x, out, flag, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    w = v
    if flag > 1:
        v = v * 2
        w = v + i
    elif flag == 1:
        v = tl.flip(v, 0)
        w = tl.cumsum(v, 0)
    else:
        tl.store(x + i, w * 0)
    tl.store(out + i, v)
    tl.store(out + BLOCK + i, w)


def _branches(x: Array, _: Array, flag: int) -> tuple[Array, Array]:
    i = np.arange(len(x))
    if flag > 1:
        return x, np.stack([2 * x, 2 * x + i])
    if flag == 1:
        return x, np.stack([x[::-1], np.cumsum(x[::-1])])
    return 0 * x, np.stack([x, x])


for _flag in (0, 1, 2):
    case(
        f"tensors of an if, way {_flag}", tensor_branches,
        lambda rng, f=_flag: (rng.integers(-9, 9, 64), np.zeros((2, 64), np.int64), f + 0), _branches, (0, 1),
        constants={"BLOCK": 64},
    )  # fmt: skip


@triton.jit
def if_in_for(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.int64)
    kept = 0
    for k in range(n):
        v = tl.load(x + k * BLOCK + i)
        if tl.sum(v) > 0:
            total += v
            kept += 1
            if k % 2 == 0:
                total = total * 2
        else:
            total -= 1
    tl.store(out + i, total)
    tl.store(out + BLOCK, kept)


def _if_in_for(x: Array, _: Array, n: int) -> Array:
    total, kept = np.zeros(x.shape[1], np.int64), 0
    for k in range(n):
        if x[k].sum() > 0:
            total, kept = total + x[k], kept + 1
            total = total * (2 if k % 2 == 0 else 1)
        else:
            total = total - 1
    return np.append(total, kept)


case(
    "branches in a loop, nested", if_in_for,
    lambda rng: (rng.integers(-9, 9, (9, 16)), np.zeros(17, np.int64), 9), _if_in_for, 1, constants={"BLOCK": 16},
)  # fmt: skip


@triton.jit
def early_return(x, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if pid * BLOCK >= n:
        return
    i = pid * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, 0)
    if tl.sum(v) < 0:
        tl.store(out + i, -v, i < n)
        return
    tl.store(out + i, v + 1, i < n)


def _early(x: Array, out: Array, n: int) -> Array:
    for p in range(0, n, 16):
        v = x[p : min(p + 16, n)]
        out[p : min(p + 16, n)] = -v if v.sum() < 0 else v + 1
    return out


case(
    "early returns", early_return,
    lambda rng: (rng.integers(-9, 9, 100), np.full(100, 99), 70), lambda x, out, n: _early(x[:n], out, n), 1,
    grid=(7,), constants={"BLOCK": 16},
)  # fmt: skip


@triton.jit
def kind_of(v):
    if v > 10:
        return 3
    if v > 0:
        return 2
    return 1


@triton.jit
def returns_in_a_helper(x, out, n):
    for k in range(n):
        tl.store(out + k, kind_of(tl.load(x + k)) * 10 + kind_of(k))


case(
    "a helper with several returns, in a loop", returns_in_a_helper,
    lambda rng: (rng.integers(-20, 20, 20, np.int32), np.zeros(20, np.int32), 20),
    lambda x, *_: np.where(x > 10, 30, np.where(x > 0, 20, 10)) + np.where(np.arange(20) > 10, 3, np.where(
        np.arange(20) > 0, 2, 1)), 1,
)  # fmt: skip


@triton.jit
def condition_expressions(x, out, a, b, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    low, high = min(a, b), max(a, b)
    y = v * 2 if low > 3 else v - 1
    if low > 0 and high < 10 or low == -5:
        y += 100
    if not (high > 8):
        y += 1000
    tl.store(out + i, y)


for _a, _b in ((4, 7), (12, 5), (-5, 0), (2, 1)):
    case(
        f"conditions on {_a} and {_b}", condition_expressions,
        lambda rng, ab=(_a, _b): (rng.integers(-9, 9, 16), np.zeros(16, np.int64), *ab),
        lambda x, _, a, b: (x * 2 if min(a, b) > 3 else x - 1)
        + (100 if (min(a, b) > 0 and max(a, b) < 10) or min(a, b) == -5 else 0) + (0 if max(a, b) > 8 else 1000), 1,
        constants={"BLOCK": 16},
    )  # fmt: skip


# -- calls, tuples, constants


@triton.jit(noinline=True)
def polar(x, y):
    return tl.sqrt(x * x + y * y), x * y


@triton.jit(noinline=True)
def store_and_count(p, value, wanted):
    if value < 0:
        return wanted
    tl.store(p, value * wanted)
    return wanted + 1.0


@triton.jit
def calls(x, out, n):
    count = 1.0
    for k in range(n):
        radius, product = polar(tl.load(x + k), tl.load(x + n + k))
        count = store_and_count(out + k, product, count)
        tl.store(out + n + k, radius)
    tl.store(out + 2 * n, count)


def _calls(x: Array, _: Array, n: int) -> Array:
    a, b = x.astype(np.float64).reshape(2, n)
    p, count = a * b, 1 + np.cumsum(a * b >= 0)
    return np.concatenate([np.where(p < 0, 0, p * (count - 1)), np.hypot(a, b), count[-1:]])


case(
    "functions that are not inlined", calls,
    lambda rng: (floats(rng, 100), np.zeros(101, np.float32), 50), _calls, 1, rtol=1e-6,  # a square root
)  # fmt: skip


class Moments(NamedTuple):
    """Two sums, carried together."""

    first: Any
    second: Any


@triton.jit
def add_moments(m, v):
    return Moments(m.first + v, m.second + v * v)


@triton.jit
def named_tuples(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    m = Moments(tl.zeros([BLOCK], tl.int64), tl.zeros([BLOCK], tl.int64))
    for k in range(n):
        m = add_moments(m, tl.load(x + i) * k)
        m = add_moments(m, tl.load(y + i))
    a, b = m
    tl.store(out + i, a)
    tl.store(out + BLOCK + i, b)


case(
    "a named tuple carried through a loop", named_tuples,
    lambda rng: (rng.integers(-9, 9, 16), rng.integers(-9, 9, 16), np.zeros((2, 16), np.int64), 3),
    lambda x, y, *_: np.stack([x * 3 + y * 3, x * x * 5 + y * y * 3]), 2, constants={"BLOCK": 16},
    interpreter="",
)  # fmt: skip


@triton.constexpr_function
def log2_of(n: int) -> int:
    return n.bit_length() - 1


@triton.jit
def constant_functions(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    steps: tl.constexpr = log2_of(N)
    v = tl.load(x + i)
    for k in tl.static_range(steps):
        v += tl.gather(v, i ^ (1 << k), 0)
    tl.store(out + i, v)
    tl.static_assert(steps == 5)


case(
    "a butterfly whose depth is a constant function", constant_functions,
    lambda rng: (rng.integers(-9, 9, 32), np.zeros(32, np.int64)), lambda x, _: np.full(32, x.sum()), 1,
    constants={"N": 32},
)  # fmt: skip


@triton.jit
def persistent(x, out, n, BLOCK: tl.constexpr):
    for tile in tl.range(tl.program_id(0), tl.cdiv(n, BLOCK), tl.num_programs(0)):
        i = tile * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + i, i < n, 0)
        tl.store(out + i, v * tile, i < n)


for _grid in (1, 3, 20):
    case(
        f"a persistent kernel of {_grid} programs", persistent,
        lambda rng: (rng.integers(-9, 9, 200), np.zeros(200, np.int64), 200),
        lambda x, *_: x * (np.arange(200) // 16), 1, grid=(_grid,), constants={"BLOCK": 16},
    )  # fmt: skip


@triton.jit
def grid_position(out):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    at = (z * tl.num_programs(1) + y) * tl.num_programs(0) + x
    tl.store(out + at, x + 100 * y + 10000 * z)


case(
    "a grid of three dimensions", grid_position, lambda rng: (np.zeros((2, 3, 5), np.int32),),
    lambda _: np.arange(5) + 100 * np.arange(3)[:, None] + 10000 * np.arange(2)[:, None, None], 0, grid=(5, 3, 2),
)  # fmt: skip


@triton.jit
def carried_mask(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    alive = i < n
    value = tl.load(x + i, alive, 0)
    for _ in range(5):
        alive = alive & (value % 3 != 0)
        value = tl.where(alive, value // 2 + 1, value)
    tl.store(out + i, value, i < n)
    tl.store(out + BLOCK + i, alive)


def _carried_mask(x: Array, _: Array, n: int) -> Array:
    v, alive = np.concatenate([x, np.zeros(32 - n, np.int64)]), np.arange(32) < n
    for _ in range(5):
        alive = alive & (v % 3 != 0)
        v = np.where(alive, v // 2 + 1, v)
    return np.concatenate([v[:n], np.zeros(32 - n, np.int64), alive])


case(
    "a mask carried through a loop", carried_mask,
    lambda rng: (rng.integers(1, 1000, 27), np.zeros(64, np.int64), 27), _carried_mask, 1, constants={"BLOCK": 32},
)  # fmt: skip


@triton.jit
def loop_result_used_twice(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    before = v * 3
    for _ in range(n):
        v = v + before
        before = before - 1
    after = v * 2
    tl.store(out + i, after)
    tl.store(out + BLOCK + i, after + before)


def _used_twice(x: Array, _: Array, n: int) -> Array:
    v, before = x, x * 3
    for _ in range(n):
        v, before = v + before, before - 1
    return np.stack([2 * v, 2 * v + before])


for _n in (0, 4):
    case(
        f"what a loop of {_n} steps leaves, used twice", loop_result_used_twice,
        lambda rng, n=_n: (rng.integers(-9, 9, 32), np.zeros((2, 32), np.int64), n), _used_twice, 1,
        constants={"BLOCK": 32},
    )  # fmt: skip


@triton.jit
def while_with_a_condition(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    k = 0
    while tl.condition(tl.max(v) > 3, disable_licm=True):
        v = v // 2
        k += 1
    tl.store(out + i, v)
    tl.store(out + BLOCK, k)


def _halved(x: Array, _: Array) -> Array:
    k = 0
    while x.max() > 3:
        x, k = x // 2, k + 1
    return np.append(x, k)


case(
    "while with tl.condition", while_with_a_condition,
    lambda rng: (rng.integers(0, 999, 32), np.zeros(33, np.int64)), _halved, 1, constants={"BLOCK": 32},
    interpreter="never leaves such a loop: it asks the condition's truth, not its value's",
)  # fmt: skip


@triton.jit
def warp_specialised(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.int64)
    for k in tl.range(0, n, warp_specialize=True, num_stages=2):
        total += tl.load(x + k * BLOCK + i)
    tl.store(out + i, total)


case(
    "a loop that a GPU may specialise warps for", warp_specialised,
    lambda rng: (rng.integers(-9, 9, (5, 16)), np.zeros(16, np.int64), 5), lambda x, *_: x.sum(0), 1,
    constants={"BLOCK": 16},
)  # fmt: skip


@triton.jit
def divide(a, b):
    quotient = a // b
    return quotient, a - quotient * b


@triton.jit
def digits_of(v, BASE: tl.constexpr):
    total, count = v * 0, 0
    while tl.max(v) > 0:
        v, digit = divide(v, BASE)
        total += digit
        count += 1
    return total, count


@triton.jit
def nested_helpers(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    ten, n10 = digits_of(v, 10)
    two, n2 = digits_of(v, 2)
    tl.store(out + i, ten * 100 + two)
    tl.store(out + BLOCK, n10 * 100 + n2)


def _digits(x: Array, _: Array) -> Array:
    sums = np.array([sum(map(int, str(v))) * 100 + bin(v).count("1") for v in x])
    return np.append(sums, len(str(x.max())) * 100 + int(x.max()).bit_length())


case(
    "helpers that loop and return tuples", nested_helpers,
    lambda rng: (rng.integers(1, 9999, 32), np.zeros(33, np.int64)), _digits, 1, constants={"BLOCK": 32},
)  # fmt: skip


@triton.jit
def returns_from_a_loop_helper(x, out, n, limit):
    pid = tl.program_id(0)
    if pid > 2:
        return
    total = tl.zeros([], tl.int64)
    for k in range(n):
        v = tl.load(x + pid * n + k)
        if total < limit:
            total += v
        elif pid == 1:
            total -= v
    if total == 0:
        tl.store(out + pid, -1)
        return
    tl.store(out + pid, total)


def _limited(x: Array, out: Array, n: int, limit: int) -> Array:
    for p in range(3):
        total = 0
        for v in x[p]:
            total = total + v if total < limit else total - v if p == 1 else total
        out[p] = total or -1
    return out


case(
    "branches, a loop and returns by program", returns_from_a_loop_helper,
    lambda rng: (rng.integers(0, 9, (3, 20)) * (np.arange(3)[:, None] > 0), np.full(5, 7), 20, 30), _limited, 1,
    grid=(5,),
)  # fmt: skip
