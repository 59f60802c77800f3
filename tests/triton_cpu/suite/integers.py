"""Integers of all widths: wrapping, signs, divisions, shifts, hashes, and indices that are data."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl

from suite import case

Rng = np.random.Generator
ALL = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
WIDE = ("i4", "i8", "u4", "u8")


def draw(rng: Rng, dtype: str, n: int = 128) -> Any:
    """Numbers over all magnitudes, the ends among them."""
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
    x = x >> rng.integers(0, info.bits - 1, n).astype(dtype)
    x[:6] = [info.min, info.max, 0, 1, info.max - 1, info.min + 1]
    return rng.permutation(x)


@triton.jit
def arithmetic(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(out + i, a + b)
    tl.store(out + N + i, a - b)
    tl.store(out + 2 * N + i, a * b)
    tl.store(out + 3 * N + i, -a)
    tl.store(out + 4 * N + i, a * 3 + 1)
    tl.store(out + 5 * N + i, (a ^ b) | (a & 5))
    tl.store(out + 6 * N + i, ~a)
    tl.store(out + 7 * N + i, tl.minimum(a, b))
    tl.store(out + 8 * N + i, tl.maximum(a, b))


def _arithmetic(x: Any, y: Any, out: Any) -> Any:
    t = x.dtype.type
    return np.stack(
        [x + y, x - y, x * y, -x, x * t(3) + t(1), (x ^ y) | (x & t(5)), ~x, np.minimum(x, y), np.maximum(x, y)]
    )


for _t in ALL:
    case(
        f"integer arithmetic of {_t} wraps",
        arithmetic,
        lambda rng, t=_t: [draw(rng, t), draw(rng, t), np.zeros((9, 128), t)],
        _arithmetic,
        2,
        constants={"N": 128},
    )


@triton.jit
def division(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(out + i, a // b)
    tl.store(out + N + i, a % b)
    tl.store(out + 2 * N + i, a // 7)
    tl.store(out + 3 * N + i, a % 7)
    tl.store(out + 4 * N + i, tl.cdiv(a, b))


def _division(x: Any, y: Any, out: Any) -> Any:
    """C's: toward zero, the rest with the sign of the dividend."""
    t = x.dtype

    def divide(a: list[int], b: list[int]) -> tuple[Any, Any]:
        q = [abs(p) // abs(r) * (1 if (p < 0) == (r < 0) else -1) for p, r in zip(a, b, strict=True)]
        rest = [p - r * s for p, r, s in zip(a, b, q, strict=True)]
        return np.array(q).astype(t), np.array(rest).astype(t)

    a, b = x.tolist(), y.tolist()
    bits, low = t.itemsize * 8, int(np.iinfo(t).min)
    top = [(p + r - 1 - low) % (1 << bits) + low for p, r in zip(a, b, strict=True)]
    return np.stack([*divide(a, b), *divide(a, [7] * len(a)), divide(top, b)[0]])


def _divisors(rng: Rng, t: str) -> Any:
    x, y = draw(rng, t), draw(rng, t)
    y[y == 0] = 3
    if np.dtype(t).kind == "i":
        y[y == -1] = -2
    return [x, y, np.zeros((5, 128), t)]


for _t in ALL:
    case(
        f"integer division of {_t} truncates",
        division,
        lambda rng, t=_t: _divisors(rng, t),
        _division,
        2,
        constants={"N": 128},
        interpreter="the interpreter divides in floating point" if _t[1] == "8" else
        "the interpreter computes in 32 bits" if _t[1] in "12" else "",
    )  # fmt: skip


@triton.jit
def shifts(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(out + i, a << b)
    tl.store(out + N + i, a >> b)
    tl.store(out + 2 * N + i, a << 3)
    tl.store(out + 3 * N + i, a >> 3)


for _t in ALL:
    case(
        f"shifts of {_t}",
        shifts,
        lambda rng, t=_t: [draw(rng, t), rng.integers(0, np.iinfo(t).bits, 128).astype(t), np.zeros((4, 128), t)],
        lambda x, y, out: np.stack([x << y, x >> y, x << x.dtype.type(3), x >> x.dtype.type(3)]),
        2,
        constants={"N": 128},
    )


@triton.jit
def comparison(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(out + i, a < b)
    tl.store(out + N + i, a >= b)
    tl.store(out + 2 * N + i, a == b)
    tl.store(out + 3 * N + i, (a > 0) & (b != 0))


for _t in ALL:
    case(
        f"comparisons of {_t}",
        comparison,
        lambda rng, t=_t: [draw(rng, t), draw(rng, t), np.zeros((4, 128), bool)],
        lambda x, y, out: np.stack([x < y, x >= y, x == y, (x > 0) & (y != 0)]),
        2,
        constants={"N": 128},
    )


@triton.jit
def upper_half(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.umulhi(tl.load(x + i), tl.load(y + i)))


def _unsigned(x: Any) -> list[int]:
    return x.view(f"u{x.dtype.itemsize}").tolist()


for _t in ("u4", "u8", "i4", "i8"):
    case(
        f"umulhi of {_t}",
        upper_half,
        lambda rng, t=_t: [draw(rng, t), draw(rng, t), np.zeros(128, t)],
        lambda x, y, out: np.array(
            [p * q >> (8 * x.dtype.itemsize) for p, q in zip(_unsigned(x), _unsigned(y), strict=True)],
            f"u{x.dtype.itemsize}").view(x.dtype),
        2,
        constants={"N": 128},
        interpreter="" if _t[0] == "u" else "the interpreter multiplies with signs",
    )  # fmt: skip


@triton.jit
def promoted(a, b, c, d, out, N: tl.constexpr):
    """int8 with uint8, int16 with int32, uint32 with int32, int64 with uint32."""
    i = tl.arange(0, N)
    p = tl.load(a + i)
    q = tl.load(b + i)
    r = tl.load(c + i)
    s = tl.load(d + i)
    tl.store(out + i, (p + q).to(tl.int64))
    tl.store(out + N + i, (p.to(tl.int16) * r).to(tl.int64))
    tl.store(out + 2 * N + i, (r + s).to(tl.int64))
    tl.store(out + 3 * N + i, p.to(tl.int64) + s)
    tl.store(out + 4 * N + i, (q > p).to(tl.int64))
    tl.store(out + 5 * N + i, (s // 3 + q).to(tl.int64))


def _promoted(p: Any, q: Any, r: Any, s: Any, out: Any) -> Any:
    return np.stack([
        (p.view("u1") + q).astype("i8"), (p.astype("i4") * r).astype("i8"), (r.view("u4") + s).astype("i8"),
        p.astype("i8") + s, (q > p.view("u1")).astype("i8"), (s // np.uint32(3) + q).astype("i8"),
    ])  # fmt: skip


case(
    "promotions of integers",
    promoted,
    lambda rng: [draw(rng, "i1"), draw(rng, "u1"), draw(rng, "i4"), draw(rng, "u4"), np.zeros((6, 128), "i8")],
    _promoted,
    4,
    constants={"N": 128},
    interpreter="the interpreter promotes as NumPy does",
)


@triton.jit
def absolute(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, tl.abs(a))
    tl.store(out + N + i, tl.clamp(a.to(tl.float32), -5.0, 100.0).to(out.dtype.element_ty))
    tl.store(out + 2 * N + i, tl.where(a < 0, -a, a) // 2)


for _t in ("i1", "i2", "i4", "i8"):
    case(
        f"absolute values of {_t}",
        absolute,
        lambda rng, t=_t: [draw(rng, t), np.zeros((3, 128), t)],
        lambda x, out: np.stack([
            np.abs(x), np.clip(x.astype("f4"), -5, 100).astype(x.dtype),
            np.trunc(np.where(x < 0, -x, x).astype(np.longdouble) / 2).astype(x.dtype)]),
        1,
        constants={"N": 128},
        interpreter="the interpreter computes in 32 bits",
    )  # fmt: skip


# --- hashes: arithmetic that must wrap


@triton.jit
def mix(h):
    h ^= h >> 16
    h *= 0x85EBCA6B
    h ^= h >> 13
    h *= 0xC2B2AE35
    return h ^ (h >> 16)


@triton.jit
def hash_rows(x, out, rows, cols, N: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, N)
    v = tl.load(x + r * cols + c, c < cols, 0).to(tl.uint32, bitcast=True)
    tl.store(out + r, tl.xor_sum(tl.where(c < cols, mix(v + c.to(tl.uint32) * 0x9E3779B9), 0), 0))


def _mix(h: Any) -> Any:
    h = h ^ (h >> np.uint32(16))
    h = h * np.uint32(0x85EBCA6B)
    h = h ^ (h >> np.uint32(13))
    h = h * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


case(
    "hashes of rows",
    hash_rows,
    lambda rng: [draw(rng, "i4", 15 * 50).reshape(15, 50), np.zeros(15, "u4"), 15, 50],
    lambda x, out, rows, cols: np.bitwise_xor.reduce(
        _mix(x.view("u4") + np.arange(50, dtype="u4") * np.uint32(0x9E3779B9)), 1),
    1,
    grid=(15,),
    constants={"N": 64},
)  # fmt: skip


@triton.jit
def wrapping_indices(out, start, step, N: tl.constexpr):
    """Indices as data: 32 bits wrap before they are widened, whatever made them."""
    i = tl.arange(0, N)
    tl.store(out + i, (i + 2147483640).to(tl.int64))
    tl.store(out + N + i, (i * 123456789).to(tl.int64))
    tl.store(out + 2 * N + i, (i + start).to(tl.int64))
    tl.store(out + 3 * N + i, (i * step).to(tl.int64))
    tl.store(out + 4 * N + i, (i * step + start).to(tl.int64) * 3)
    tl.store(out + 5 * N + i, (i.to(tl.uint32) * 0x9E3779B9).to(tl.int64))
    tl.store(out + 6 * N + i, (i.to(tl.int8) * 9).to(tl.int64))
    tl.store(out + 7 * N + i, ((i - 5).to(tl.int16) << 12).to(tl.int64))
    tl.store(out + 8 * N + i, (i * step < start).to(tl.int64))
    tl.store(out + 9 * N + i, tl.where(i + 2147483640 < 2147483645, 1, 0).to(tl.int64))


case(
    "indices that are data wrap in 32 bits",
    wrapping_indices,
    lambda rng: [np.zeros((10, 64), "i8"), 2147483620, 76543217],
    lambda out, start, step: np.stack([r.astype("i8") for r in _rows(start, step)]),
    0,
    constants={"N": 64},
    interpreter="the interpreter computes with 64-bit Python numbers",
)


def _rows(start: int, step: int) -> list[Any]:
    i, s, k = np.arange(64, dtype="i4"), np.int32(start), np.int32(step)
    return [
        i + np.int32(2147483640), i * np.int32(123456789), i + s, i * k, (i * k + s).astype("i8") * 3,
        i.astype("u4") * np.uint32(0x9E3779B9), i.astype("i1") * np.int8(9),
        (i - np.int32(5)).astype("i2") << np.int16(12),
        i * k < s, i + np.int32(2147483640) < np.int32(2147483645),
    ]  # fmt: skip


@triton.jit
def lcg(out, n, seed, BLOCK: tl.constexpr):
    """A linear congruence iterated, in 64 bits."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    state = i.to(tl.uint64) + seed
    for _ in range(10):
        state = state * 6364136223846793005 + 1442695040888963407
    tl.store(out + i, (state >> 33).to(tl.int32), i < n)


def _lcg(out: Any, n: int, seed: int) -> Any:
    state = np.arange(n, dtype="u8") + np.uint64(seed)
    for _ in range(10):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return (state >> np.uint64(33)).astype("i4")


case("linear congruence in 64 bits", lcg, lambda rng: [np.zeros(100, "i4"), 100, 12345], _lcg, 0, grid=(2,),
     constants={"BLOCK": 64})  # fmt: skip


@triton.jit
def greatest_divisor(x, y, out, N: tl.constexpr):
    """Euclid, all lanes at once: lanes that are done divide by nothing."""
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    while tl.max(b, 0) > 0:
        rest = tl.where(b > 0, a % tl.where(b > 0, b, 1), 0)
        a = tl.where(b > 0, b, a)
        b = rest
    tl.store(out + i, a)


case(
    "greatest common divisors",
    greatest_divisor,
    lambda rng: [rng.integers(1, 10**6, 64).astype("i4"), rng.integers(1, 10**6, 64).astype("i4"), np.zeros(64, "i4")],
    lambda x, y, out: np.gcd(x, y),
    2,
    constants={"N": 64},
)


@triton.jit
def masked_division(x, y, out, n, BLOCK: tl.constexpr):
    """Lanes beyond the end divide zero by zero, which nobody sees."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, i < n, 0)
    b = tl.load(y + i, i < n, 0)
    tl.store(out + i, a // b + a % b, i < n)


for _t in ("i4", "u8"):
    case(
        f"division in masked lanes of {_t}",
        masked_division,
        lambda rng, t=_t: [
            rng.integers(0, 10**6, 100).astype(t), rng.integers(1, 99, 100).astype(t), np.zeros(100, t), 100],
        lambda x, y, out, n: x // y + x % y,
        2,
        grid=(2,),
        constants={"BLOCK": 64},
        interpreter="the interpreter divides unsigned 64-bit integers in floating point" if _t == "u8" else "",
    )  # fmt: skip


@triton.jit
def unravel(x, out, n, A, B, C, BLOCK: tl.constexpr):
    """A permuted copy by division and remainder of a linear index."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = i // (B * C)
    b = i // C % B
    c = i % C
    tl.store(out + (c * A + a) * B + b, tl.load(x + i, i < n), i < n)


case(
    "a permutation by division and remainder",
    unravel,
    lambda rng: [rng.integers(0, 99, (5, 7, 9)).astype("i4"), np.zeros((9, 5, 7), "i4"), 315, 5, 7, 9],
    lambda x, out, n, a, b, c: x.transpose(2, 0, 1),
    1,
    grid=(5,),
    constants={"BLOCK": 64},
)


@triton.jit
def constant_divisors(out, rest, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """Divisors that divide a vector's lanes, and one that does not; offsets that are negative too."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = i - 100
    tl.store(out + i, i // WIDTH * 1000 + i % WIDTH)
    tl.store(rest + i, j // WIDTH * 1000 + j % WIDTH)


def _constant_divisors(width: int) -> Any:
    i = np.arange(256)
    j = i - 100
    return i // width * 1000 + i % width, np.trunc(j / width).astype("i8") * 1000 + np.fmod(j, width)


for _width in (64, 16, 10, 1, 256):
    case(
        f"division of indices by {_width}",
        constant_divisors,
        lambda rng: [np.zeros(256, "i4"), np.zeros(256, "i4")],
        lambda out, rest, w=_width: _constant_divisors(w),
        (0, 1),
        grid=(2,),
        constants={"WIDTH": _width, "BLOCK": 128},
    )


@triton.jit
def popcount_parity(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n).to(tl.uint32, bitcast=True)
    v = v - ((v >> 1) & 0x55555555)
    v = (v & 0x33333333) + ((v >> 2) & 0x33333333)
    tl.store(out + i, ((((v + (v >> 4)) & 0x0F0F0F0F) * 0x01010101) >> 24).to(tl.int32), i < n)


case(
    "bits counted by arithmetic",
    popcount_parity,
    lambda rng: [draw(rng, "i4", 200), np.zeros(200, "i4"), 200],
    lambda x, out, n: np.array([int(v).bit_count() for v in x.view("u4")]),
    1,
    grid=(4,),
    constants={"BLOCK": 64},
)


@triton.jit
def boolean_logic(x, y, out, counts, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i) > 0
    b = tl.load(y + i) > 0
    tl.store(out + i, a & b)
    tl.store(out + N + i, a | b)
    tl.store(out + 2 * N + i, a ^ b)
    tl.store(out + 3 * N + i, ~a)
    tl.store(out + 4 * N + i, a == b)
    tl.store(out + 5 * N + i, a.logical_and(b).logical_or(~b))
    tl.store(out + 6 * N + i, tl.where(a, b, ~b))
    tl.store(counts, tl.sum(a.to(tl.int32), 0))
    tl.store(counts + 1, tl.sum((a & ~b).to(tl.int32), 0))


case(
    "logic of booleans",
    boolean_logic,
    lambda rng: [rng.integers(-3, 4, 64).astype("i4"), rng.integers(-3, 4, 64).astype("i4"), np.zeros((7, 64), bool),
                 np.zeros(2, "i4")],
    lambda x, y, out, counts: (
        np.stack([(x > 0) & (y > 0), (x > 0) | (y > 0), (x > 0) ^ (y > 0), x <= 0, (x > 0) == (y > 0),
                  (x > 0) | (y <= 0), np.where(x > 0, y > 0, y <= 0)]),
        np.array([(x > 0).sum(), ((x > 0) & (y <= 0)).sum()])),
    (2, 3),
    constants={"N": 64},
)  # fmt: skip


@triton.jit
def scalar_integers(x, out):
    """Scalars of all kinds: promotion, division, shifts and comparisons without a tensor."""
    a = tl.load(x)
    b = tl.load(x + 1)
    tl.store(out, a // b)
    tl.store(out + 1, a % b)
    tl.store(out + 2, a << 2)
    tl.store(out + 3, a >> 1)
    tl.store(out + 4, (a < b).to(tl.int32))
    tl.store(out + 5, min(a, b) * max(a, b))
    tl.store(out + 6, tl.cdiv(a, b) + tl.abs(b))
    tl.store(out + 7, tl.where(a > b, a, b))


case(
    "scalar integers",
    scalar_integers,
    lambda rng: [np.array([-17, 5], "i4"), np.zeros(8, "i4")],
    lambda x, out: np.array([-3, -2, -68, -9, 1, -85, -2 + 5, 5]),
    1,
    interpreter="the interpreter divides Python's way",
)
