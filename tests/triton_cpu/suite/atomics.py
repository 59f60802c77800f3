"""Atomics: every operation and width, masks, old values, several lanes and programs on one element."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import triton
import triton.language as tl

from suite import case

Array = np.ndarray[Any, Any]

# -- many programs on a few elements


@triton.jit
def accumulate(x, out, n, BLOCK: tl.constexpr, OP: tl.constexpr, BINS: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    v = tl.load(x + i, live)
    p = out + i % BINS
    if OP == "add":
        tl.atomic_add(p, v, live)
    elif OP == "max":
        tl.atomic_max(p, v, live, sem="relaxed")
    elif OP == "min":
        tl.atomic_min(p, v, live, sem="acquire", scope="cta")
    elif OP == "and":
        tl.atomic_and(p, v, live, sem="release", scope="sys")
    elif OP == "or":
        tl.atomic_or(p, v, live, sem="acq_rel", scope="gpu")
    else:
        tl.atomic_xor(p, v, live)


UFUNCS: dict[str, Any] = {
    "add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip


def _accumulate(ufunc: Any, x: Array, out: Array, n: int) -> Array:
    with np.errstate(over="ignore"):
        ufunc.at(out, np.arange(n) % len(out), x[:n])
    return out


def _draw(rng: np.random.Generator, n: int, dtype: str) -> Array:
    if dtype in ("bfloat16", "float16"):
        return rng.integers(-2, 3, n).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    if dtype.startswith("float"):
        return rng.integers(-99, 100, n).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, n, dtype, endpoint=True)


for _dtype in ("int32", "uint32", "int64", "uint64", "float32", "float64", "float16", "bfloat16"):
    for _op in UFUNCS:
        if (
            _dtype in ("float16", "bfloat16")
            and _op != "add"
            or _dtype.startswith("float")
            and _op in ("and", "or", "xor")
        ):
            continue
        case(
            f"atomic {_op} of {_dtype}", accumulate,
            lambda rng, d=_dtype: (_draw(rng, 200, d), _draw(rng, 8, d), 187),
            lambda x, out, n, u=UFUNCS[_op]: _accumulate(u, x, out, n), 1, grid=(7,),
            constants={"BLOCK": 32, "OP": _op, "BINS": 8},
            interpreter="it has no bfloat16" if _dtype == "bfloat16" else "",
        )  # fmt: skip


# -- old values


@triton.jit
def tickets(counter, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    mine = tl.atomic_add(counter + i * 0, tl.full([BLOCK], 1, tl.int32))
    tl.store(out + mine, mine + 1)
    one = tl.atomic_add(counter, 1)
    tl.store(out + one, one + 1)


case(
    "tickets are handed out once", tickets, lambda rng: (np.zeros(1, np.int32), np.zeros(66, np.int32)),
    lambda *_: (np.array([66]), np.arange(1, 67)), (0, 1), grid=(2,), constants={"BLOCK": 32},
)  # fmt: skip


@triton.jit
def old_values(x, y, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    a = tl.atomic_xchg(y + i, v)
    b = tl.atomic_max(y + i, v * 2, i % 2 == 0)
    c = tl.atomic_min(y + i, a)
    d = tl.atomic_cas(y + i, v, v + 1)
    tl.store(out + i, a)
    tl.store(out + BLOCK + i, b, i % 2 == 0)
    tl.store(out + 2 * BLOCK + i, c)
    tl.store(out + 3 * BLOCK + i, d)
    tl.store(out + 4 * BLOCK + i, v)


def _old(x: Array, y: Array, _: Array) -> tuple[Array, Array]:
    even = np.arange(len(x)) % 2 == 0
    s1 = x
    s2 = np.where(even, np.maximum(s1, 2 * x), s1)
    s3 = np.minimum(s2, y)
    s4 = np.where(s3 == x, x + 1, s3)
    return s4, np.stack([y, np.where(even, s1, 0), s2, s3, x])


for _dtype in ("int32", "int64"):
    case(
        f"old values of {_dtype}", old_values,
        lambda rng, d=_dtype: (rng.integers(-9, 9, 64).astype(d), rng.integers(-9, 9, 64).astype(d),
                               np.zeros((5, 64), d)),
        _old, (1, 2), constants={"BLOCK": 64},
    )  # fmt: skip


@triton.jit
def float_old_values(x, y, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    a = tl.atomic_max(y + i, v)
    b = tl.atomic_min(y + i, -v)
    c = tl.atomic_xchg(y + i, v)
    tl.store(out + i, a)
    tl.store(out + BLOCK + i, b)
    tl.store(out + 2 * BLOCK + i, c)


def _float_old(x: Array, y: Array, _: Array) -> tuple[Array, Array]:
    one = np.maximum(x, y)
    two = np.minimum(one, -x)
    return x, np.stack([y, one, two])


for _dtype in ("float32", "float64"):
    case(
        f"float extremes and exchanges of {_dtype}", float_old_values,
        lambda rng, d=_dtype: (_draw(rng, 64, d), _draw(rng, 64, d), np.zeros((3, 64), d)), _float_old, (1, 2),
        constants={"BLOCK": 64}, interpreter="it cannot exchange floats",
    )  # fmt: skip


@triton.jit
def signed_zeros_and_infinities(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.atomic_max(out + i * 0, v)
    tl.atomic_min(out + 1 + i * 0, v)


case(
    "float extremes with infinities", signed_zeros_and_infinities,
    lambda rng: (np.array([-np.inf, -3, 5, np.inf, -1e-40, 0, 1e-40, 2], np.float32), np.ones(2, np.float32)),
    lambda *_: np.array([np.inf, -np.inf]), 1, constants={"BLOCK": 8},
)  # fmt: skip


@triton.jit
def scalars(out, x):
    v = tl.load(x + tl.program_id(0))
    old = tl.atomic_add(out, v)
    tl.atomic_max(out + 1, v, mask=v > 3)
    tl.atomic_cas(out + 2, 0, v)
    tl.store(out + 10 + tl.program_id(0), tl.where(old >= 0, 1, 0))


case(
    "atomics of scalars", scalars, lambda rng: (np.zeros(20, np.int32), rng.integers(1, 9, 10, np.int32)),
    lambda out, x: np.concatenate([[x.sum(), x.max(initial=0, where=x > 3), x[0]], out[3:10], np.ones(10)]), 0,
    grid=(10,),
)  # fmt: skip


@triton.jit
def compare_and_swap_add(out, x, n):
    """A float addition as a loop over cas, by every program."""
    v = tl.load(x + tl.program_id(0))
    place = out.to(tl.pointer_type(tl.int32))
    seen = tl.load(place)
    done = False
    while not done:
        wanted = (seen.to(tl.float32, bitcast=True) + v).to(tl.int32, bitcast=True)
        old = tl.atomic_cas(place, seen, wanted)
        done = old == seen
        seen = old
    tl.store(x + n + tl.program_id(0), v)


case(
    "addition by compare and swap", compare_and_swap_add,
    lambda rng: (np.zeros(1, np.float32), np.concatenate([rng.integers(-9, 9, 40), np.zeros(40)]).astype(np.float32),
                 40),
    lambda out, x, n: (x[:n].sum(keepdims=True), np.concatenate([x[:n], x[:n]])), (0, 1), grid=(40,),
)  # fmt: skip


@triton.jit
def cas_of_width(x, y, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    old = tl.atomic_cas(x + i, tl.load(y + i), tl.load(y + i) + 1)
    tl.store(out + i, old)


for _dtype in ("int16", "uint16", "uint32", "uint64", "float16", "float32", "float64"):
    case(
        f"compare and swap of {_dtype}", cas_of_width,
        lambda rng, d=_dtype: (rng.integers(0, 3, 64).astype(d), rng.integers(0, 3, 64).astype(d), np.ones(64, d)),
        lambda x, y, _: (np.where(x == y, y + y.dtype.type(1), x), x), (0, 2), constants={"BLOCK": 64},
    )  # fmt: skip


@triton.jit
def histogram(x, counts, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    v = tl.load(x + i, live, 0)
    tl.atomic_add(counts + v, 1, live)


case(
    "histogram in memory", histogram,
    lambda rng: (rng.integers(0, 10, 300, np.int32), np.zeros(10, np.int32), 290),
    lambda x, _, n: np.bincount(x[:n], minlength=10), 1, grid=(10,), constants={"BLOCK": 32},
)  # fmt: skip


@triton.jit
def embedding_gradient(index, grad, out, rows, cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    r = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    c = tl.arange(0, BLOCK_N)
    live = (r[:, None] < rows) & (c[None, :] < cols)
    at = tl.load(index + r, r < rows, 0)
    g = tl.load(grad + r[:, None] * cols + c[None, :], live, 0.0)
    tl.atomic_add(out + at[:, None] * cols + c[None, :], g, live)


def _embedding(index: Array, grad: Array, out: Array, *_: int) -> Array:
    np.add.at(out, index, grad)
    return out


case(
    "gradient of an embedding", embedding_gradient,
    lambda rng: (rng.integers(0, 5, 30), rng.integers(-9, 9, (30, 13)).astype(np.float32),
                 np.zeros((5, 13), np.float32), 30, 13),
    _embedding, 2, grid=(4,), constants={"BLOCK_M": 8, "BLOCK_N": 16},
)  # fmt: skip


@triton.jit
def split_reduction(x, partial, out, counter, n, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    """The last program to arrive adds up what all have left."""
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + pid, tl.sum(tl.load(x + i, i < n, 0)))
    arrived = tl.atomic_add(counter, 1)
    if arrived == tl.num_programs(0) - 1:
        p = tl.arange(0, PARTS)
        tl.store(out, tl.sum(tl.load(partial + p, p < tl.num_programs(0), 0)))
        tl.store(counter, 0)


def _split(x: Array, partial: Array, *_: Any) -> tuple[Array, Array, Array]:
    sums = np.pad(x, (0, 256 - len(x))).reshape(8, 32).sum(1)
    return np.concatenate([sums, partial[8:]]), np.array([x.sum()]), np.zeros(1)


case(
    "the last program adds up", split_reduction,
    lambda rng: (rng.integers(-99, 99, 250), np.zeros(16, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int32), 250),
    _split, (1, 2, 3), grid=(8,), constants={"BLOCK": 32, "PARTS": 16},
)  # fmt: skip


@triton.jit
def atomic_of_its_own_neighbour(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    live = i < n - 1
    tl.atomic_add(x + i + 1, tl.load(x + i, live, 0), live)


case(
    "an atomic on what its operand reads", atomic_of_its_own_neighbour, lambda rng: (rng.integers(-9, 9, 50), 50),
    lambda x, n: x + np.concatenate([[0], x[:-1]]), 0, constants={"BLOCK": 64},
)  # fmt: skip


@triton.jit
def load_then_atomic(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    before = tl.load(x + i)
    tl.atomic_add(x + i, before + 1)
    tl.store(out + i, before)
    tl.store(out + BLOCK + i, tl.load(x + i))


case(
    "loads on either side of an atomic", load_then_atomic,
    lambda rng: (rng.integers(-9, 9, 64), np.zeros((2, 64), np.int64)),
    lambda x, _: (2 * x + 1, np.stack([x, 2 * x + 1])), (0, 1), constants={"BLOCK": 64},
)  # fmt: skip


@triton.jit
def spin_lock(lock, total, x):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + tl.load(x + tl.program_id(0)))
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


case(
    "a lock around a sum", spin_lock,
    lambda rng: (np.zeros(1, np.int32), np.zeros(1, np.int64), rng.integers(-99, 99, 64)),
    lambda lock, total, x: (lock, x.sum(keepdims=True)), (0, 1), grid=(64,),
)  # fmt: skip
