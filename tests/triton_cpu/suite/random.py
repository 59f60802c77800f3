"""tl.rand and its kin: the numbers of philox4x32-10, as on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl

from suite import case

Rng = np.random.Generator


def philox(seed: int, offsets: Any, rounds: int = 10) -> list[Any]:
    """Four words for each counter (offset, 0, 0, 0) under the 64-bit key `seed`, as Salmon and others define it."""
    mask = np.uint64(0xFFFFFFFF)
    c = [np.asarray(offsets).astype(np.uint64) & mask, *np.zeros((3, *np.shape(offsets)), np.uint64)]
    keys = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32 & 0xFFFFFFFF)]
    for _ in range(rounds):
        first, second = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [
            (second >> np.uint64(32)) ^ c[1] ^ keys[0],
            second & mask,
            (first >> np.uint64(32)) ^ c[3] ^ keys[1],
            first & mask,
        ]
        keys = [(keys[0] + np.uint64(0x9E3779B9)) & mask, (keys[1] + np.uint64(0xBB67AE85)) & mask]
    return [w.astype(np.uint32) for w in c]


def uniform(words: Any) -> Any:
    """31 bits to [0, 1) in f32."""
    signed = words.view(np.int32)
    return np.where(signed < 0, ~signed, signed).astype(np.float32) * np.float32(4.6566127342e-10)


@triton.jit
def integers(out, seed, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.randint(seed, i), i < n)


case(
    "randint",
    integers,
    lambda rng: [np.zeros(500, "u4"), 1234, 500],
    lambda out, seed, n: philox(seed, np.arange(n))[0],
    0,
    grid=(4,),
    constants={"BLOCK": 128},
)
case(
    "randint with a seed of 64 bits",
    integers,
    lambda rng: [np.zeros(500, "u4"), 0x123456789ABCDEF, 500],
    lambda out, seed, n: philox(seed, np.arange(n))[0],
    0,
    grid=(4,),
    constants={"BLOCK": 128},
    interpreter="the interpreter overflows where it splits the seed",
)


@triton.jit
def four_integers(out, seed, BLOCK: tl.constexpr, ROUNDS: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b, c, d = tl.randint4x(seed, i * 7 + 3, ROUNDS)
    tl.store(out + i, a)
    tl.store(out + BLOCK + i, b)
    tl.store(out + 2 * BLOCK + i, c)
    tl.store(out + 3 * BLOCK + i, d)


for _rounds in (10, 7):
    case(
        f"randint4x with {_rounds} rounds",
        four_integers,
        lambda rng: [np.zeros((4, 64), "u4"), 42],
        lambda out, seed, r=_rounds: np.stack(philox(seed, np.arange(64) * 7 + 3, r)),
        0,
        constants={"BLOCK": 64, "ROUNDS": _rounds},
    )


@triton.jit
def uniform_floats(out, seed, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.rand(seed, i), i < n)


case(
    "rand",
    uniform_floats,
    lambda rng: [np.zeros(1000, "f4"), 7, 1000],
    lambda out, seed, n: uniform(philox(seed, np.arange(n))[0]),
    0,
    grid=(4,),
    constants={"BLOCK": 256},
)


@triton.jit
def four_floats(out, seed, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b, c, d = tl.rand4x(seed, i)
    tl.store(out + i[:, None] * 4 + tl.arange(0, 4)[None, :], tl.join(tl.join(a, c), tl.join(b, d)).reshape(BLOCK, 4))


case(
    "rand4x interleaved",
    four_floats,
    lambda rng: [np.zeros((128, 4), "f4"), 99],
    lambda out, seed: np.stack([uniform(w) for w in philox(seed, np.arange(128))], -1),
    0,
    constants={"BLOCK": 128},
)


def normal_pair(words: Any, others: Any) -> Any:
    """Box and Muller's pair of normal numbers."""
    u, v = np.maximum(1e-7, uniform(words).astype("f8")), uniform(others).astype("f8")
    return np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v), np.sqrt(-2 * np.log(u)) * np.sin(2 * np.pi * v)


@triton.jit
def normal_floats(out, seed, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.randn(seed, i), i < n)


case(
    "randn",
    normal_floats,
    lambda rng: [np.zeros(700, "f4"), 5, 700],
    lambda out, seed, n: normal_pair(*philox(seed, np.arange(n))[:2])[0],
    0,
    grid=(3,),
    constants={"BLOCK": 256},
    rtol=1e-5,
    atol=3e-6,  # the angle is rounded to f32 before its cosine is taken
)


@triton.jit
def four_normals(out, seed, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b, c, d = tl.randn4x(seed, i)
    tl.store(out + i, a)
    tl.store(out + BLOCK + i, b)
    tl.store(out + 2 * BLOCK + i, c)
    tl.store(out + 3 * BLOCK + i, d)


def _four_normals(out: Any, seed: int) -> Any:
    a, b, c, d = philox(seed, np.arange(128))
    return np.stack([*normal_pair(a, b), *normal_pair(c, d)])


case("randn4x", four_normals, lambda rng: [np.zeros((4, 128), "f4"), 31], _four_normals, 0, constants={"BLOCK": 128},
     rtol=1e-5, atol=3e-6)  # fmt: skip


@triton.jit
def dropout(x, out, mask, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    keep = tl.rand(seed, i) > p
    tl.store(out + i, tl.where(keep, tl.load(x + i, live) / (1 - p), 0.0), live)
    tl.store(mask + i, keep, live)


def _dropout(x: Any, out: Any, mask: Any, n: int, p: float, seed: int) -> Any:
    keep = uniform(philox(seed, np.arange(n))[0]) > np.float32(p)
    return np.where(keep, x / (1 - np.float32(p)), 0), keep


case(
    "seeded dropout",
    dropout,
    lambda rng: [rng.standard_normal(900).astype("f4"), np.zeros(900, "f4"), np.zeros(900, bool), 900, 0.3, 17],
    _dropout,
    (1, 2),
    grid=(4,),
    constants={"BLOCK": 256},
)


@triton.jit
def raw_philox(out, lo, hi, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK).to(tl.uint32)
    zero = i * 0
    a, b, c, d = tl.philox_impl(i, zero, zero, zero, lo + zero, hi + zero)
    tl.store(out + i, a ^ b ^ c ^ d)


case(
    "philox by its parts",
    raw_philox,
    lambda rng: [np.zeros(64, "u4"), 77, 88],
    lambda out, lo, hi: np.bitwise_xor.reduce(philox(lo | hi << 32, np.arange(64))),
    0,
    constants={"BLOCK": 64},
)
