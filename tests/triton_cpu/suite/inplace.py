"""Kernels that write where they have read, at other places: everything must be read first."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl

from suite import case


def matrix(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-99, 99, shape).astype(np.float32)


@triton.jit
def transposed_in_place(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = x + tl.program_id(0) * N * N + i[:, None] * N + i[None, :]
    tl.store(tile, tl.trans(tl.load(tile)) * 2)


for _n in (8, 32):
    case(
        f"a {_n} by {_n} transpose in place",
        transposed_in_place,
        lambda rng, n=_n: [matrix(rng, 3, n, n)],
        lambda x: x.transpose(0, 2, 1) * 2,
        0,
        grid=(3,),
        constants={"N": _n},
    )


@triton.jit
def symmetric_in_place(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = x + i[:, None] * N + i[None, :]
    a = tl.load(tile)
    t = tl.trans(a)
    tl.store(tile, a + t)
    tl.store(y + i[:, None] * N + i[None, :], t - a)


case(
    "a matrix and its transpose, then both again",
    symmetric_in_place,
    lambda rng: [matrix(rng, 16, 16), np.zeros((16, 16), np.float32)],
    lambda x, y: (x + x.T, x.T - x),
    (0, 1),
    constants={"N": 16},
)


@triton.jit
def reversed_in_place(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.flip(tl.load(x + i), 0))


case(
    "a flip in place",
    reversed_in_place,
    lambda rng: [matrix(rng, 64)],
    lambda x: x[::-1],
    0,
    constants={"N": 64},
)  # fmt: skip


@triton.jit
def gathered_in_place(x, index, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.gather(tl.load(x + i), tl.load(index + i), 0))


case(
    "a gather in place",
    gathered_in_place,
    lambda rng: [matrix(rng, 64), rng.permutation(64).astype(np.int32)],
    lambda x, index: x[index],
    0,
    constants={"N": 64},
)


@triton.jit
def transposed_again(x, out, trips, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = i[:, None] * N + i[None, :]
    value = tl.load(x + tile)
    for k in range(trips):
        value = tl.trans(value) + k * i[None, :]
    tl.store(out + tile, value)


def _transposed_again(x: np.ndarray, out: np.ndarray, trips: int) -> np.ndarray:
    for k in range(trips):
        x = x.T + k * np.arange(16)
    return x


for _trips in (0, 1, 4, 5):
    case(
        f"a block transposed {_trips} times by a loop",
        transposed_again,
        lambda rng, n=_trips: [matrix(rng, 16, 16), np.zeros((16, 16), np.float32), n],
        _transposed_again,
        1,
        constants={"N": 16},
    )


@triton.jit
def rows_to_columns(x, N: tl.constexpr):
    i = tl.arange(0, N)
    row = tl.load(x + i)
    tile = x + i[:, None] * N + i[None, :]
    tl.store(tile, tl.load(tile) + row[:, None])


case(
    "the first row added to every column, over itself",
    rows_to_columns,
    lambda rng: [matrix(rng, 16, 16)],
    lambda x: x + x[0][:, None],
    0,
    constants={"N": 16},
)


@triton.jit
def chained_in_place(x, trips, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = x + i[:, None] * N + i[None, :]
    for k in range(trips):
        tl.store(tile, tl.trans(tl.load(tile)) + k)


case(
    "a transpose in place in a loop",
    chained_in_place,
    lambda rng: [matrix(rng, 8, 8), 3],
    lambda x, trips: ((x.T + 0).T + 1).T + 2,
    0,
    constants={"N": 8},
)


@triton.jit
def swapped_halves(x, N: tl.constexpr):
    i = tl.arange(0, N)
    pair = x + i[:, None] * 2 + tl.arange(0, 2)[None, :]
    a, b = tl.split(tl.load(pair))
    tl.store(pair, tl.join(b, a - b))


case(
    "pairs exchanged in place",
    swapped_halves,
    lambda rng: [matrix(rng, 32, 2)],
    lambda x: np.stack([x[:, 1], x[:, 0] - x[:, 1]], 1),
    0,
    constants={"N": 32},
)


@triton.jit
def counted_transposed(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = x + i[:, None] * N + i[None, :]
    tl.atomic_add(tile, tl.trans(tl.load(tile)))


case(
    "a transpose added to a matrix atomically",
    counted_transposed,
    lambda rng: [matrix(rng, 16, 16)],
    lambda x: x + x.T,
    0,
    constants={"N": 16},
    interpreter="its atomic additions go through the block in another order",
)
