"""Arithmetic, comparisons, selects and hints, lane by lane, on floating-point numbers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
from features import MINUS_IS_A_SUBTRACTION

from suite import case

Rng = np.random.Generator
BF16 = np.dtype(ml_dtypes.bfloat16)
NO_BF16 = "the interpreter stores bfloat16 as uint16 and computes with the codes"
FUSED = {"rtol": 2e-7, "atol": 1e-7}
"""A product and a sum may be one fused operation, which rounds once."""


def normal(rng: Rng, n: Any, dtype: Any = "f4") -> Any:
    return rng.standard_normal(n).astype(dtype)


def with_nan(rng: Rng, n: int, dtype: Any = "f4") -> Any:
    x = normal(rng, n, dtype)
    x[rng.integers(0, n, n // 4)] = np.nan
    x[rng.integers(0, n, n // 8)] = np.inf
    x[rng.integers(0, n, n // 8)] = -np.inf
    return x


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    tl.store(out + i, tl.load(x + i, live) + tl.load(y + i, live), live)


for _dtype in ("f4", "f8", "f2", BF16):
    case(
        f"add {np.dtype(_dtype).name}, several programs and an odd tail",
        add_kernel,
        lambda rng, t=_dtype: [normal(rng, 777, t), normal(rng, 777, t), np.zeros(777, t), 777],
        lambda x, y, out, n: x + y,
        2,
        grid=(7,),
        constants={"BLOCK": 128},
        interpreter=NO_BF16 if _dtype == BF16 else "",
    )


@triton.jit
def half_chain(x, y, out, n, BLOCK: tl.constexpr):
    """Every operation rounds to the narrow type."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, i < n)
    b = tl.load(y + i, i < n)
    tl.store(out + i, (a * b + a - b) * (a + 1) - b * b, i < n)


def _half_chain(x: Any, y: Any, out: Any, n: int) -> Any:
    return (x * y + x - y) * (x + x.dtype.type(1)) - y * y


for _dtype in ("f2", BF16):
    case(
        f"a chain in {np.dtype(_dtype).name} rounds after each operation",
        half_chain,
        lambda rng, t=_dtype: [normal(rng, 300, t), normal(rng, 300, t), np.zeros(300, t), 300],
        _half_chain,
        2,
        grid=(3,),
        constants={"BLOCK": 128},
        interpreter=NO_BF16 if _dtype == BF16 else "",
    )


@triton.jit
def divide(x, y, out, rest, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i, i < n)
    b = tl.load(y + i, i < n, other=1)
    tl.store(out + i, a / b, i < n)
    tl.store(rest + i, a % b, i < n)


def _divide(x: Any, y: Any, out: Any, rest: Any, n: int) -> Any:
    wide = "f8" if x.dtype == np.float64 else "f4"
    a, b = x.astype(wide), y.astype(wide)
    return (a / b).astype(x.dtype), np.fmod(a, b).astype(x.dtype)


for _dtype in ("f4", "f8", "f2", BF16):
    case(
        f"division and remainder of {np.dtype(_dtype).name}",
        divide,
        lambda rng, t=_dtype: [
            np.concatenate([normal(rng, 250, t) * t_type(t, 8), np.array([0, 1, -1, np.inf, 5, np.nan], t)]),
            np.concatenate([normal(rng, 250, t), np.array([0, 0, 0, 2, np.inf, 1], t)]),
            np.zeros(256, t), np.zeros(256, t), 256,
        ],
        _divide,
        (2, 3),
        grid=(2,),
        constants={"BLOCK": 128},
        interpreter=NO_BF16 if _dtype == BF16 else "",
    )  # fmt: skip


def t_type(dtype: Any, value: float) -> Any:
    return np.dtype(dtype).type(value)


@triton.jit
def extremes(x, y, out, N: tl.constexpr, ALL: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    if ALL:
        tl.store(out + i, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL))
        tl.store(out + N + i, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL))
        tl.store(out + 2 * N + i, tl.clamp(a, -0.5, 0.5, propagate_nan=tl.PropagateNan.ALL))
    else:
        tl.store(out + i, tl.maximum(a, b))
        tl.store(out + N + i, tl.minimum(a, b))
        tl.store(out + 2 * N + i, tl.clamp(a, -0.5, 0.5))


def _extremes(x: Any, y: Any, every: bool) -> Any:
    if every:
        low = np.clip(x, x.dtype.type(-0.5), x.dtype.type(0.5))
        return np.stack([np.maximum(x, y), np.minimum(x, y), low])
    low = np.clip(np.where(np.isnan(x), x.dtype.type(-0.5), x), x.dtype.type(-0.5), x.dtype.type(0.5))
    return np.stack([np.fmax(x, y), np.fmin(x, y), low])


for _dtype in ("f4", "f8", "f2", BF16):
    for _all in (False, True):
        case(
            f"extremes of {np.dtype(_dtype).name}, NaN {'wins' if _all else 'loses'}",
            extremes,
            lambda rng, t=_dtype: [with_nan(rng, 128, t), with_nan(rng, 128, t), np.zeros((3, 128), t)],
            lambda x, y, out, every=_all: _extremes(x, y, every),
            2,
            constants={"N": 128, "ALL": _all},
            interpreter=NO_BF16 if _dtype == BF16 else "" if _all else "NaN wins in the interpreter",
        )


@triton.jit
def comparisons(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(out + i, a < b)
    tl.store(out + N + i, a <= b)
    tl.store(out + 2 * N + i, a > b)
    tl.store(out + 3 * N + i, a >= b)
    tl.store(out + 4 * N + i, a == b)
    tl.store(out + 5 * N + i, a != b)
    tl.store(out + 6 * N + i, ~(a < b))
    tl.store(out + 7 * N + i, (a < b) | (a != a))


for _dtype in ("f4", "f8", "f2", BF16):
    case(
        f"comparisons of {np.dtype(_dtype).name} with NaN",
        comparisons,
        lambda rng, t=_dtype: [
            np.concatenate([with_nan(rng, 120, t), np.array([0.0, -0.0, 1, 1, np.inf, 2, 3, 4], t)]),
            np.concatenate([with_nan(rng, 120, t), np.array([-0.0, 0.0, 1, 2, np.inf, 1, 3, np.nan], t)]),
            np.zeros((8, 128), bool)],
        lambda x, y, out: np.stack([x < y, x <= y, x > y, x >= y, x == y, x != y, ~(x < y), (x < y) | np.isnan(x)]),
        2,
        constants={"N": 128},
        interpreter=NO_BF16 if _dtype == BF16 else "",
    )  # fmt: skip


def minus(x: np.ndarray) -> np.ndarray:
    return 0 - x if MINUS_IS_A_SUBTRACTION else -x


@triton.jit
def signs(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, -a)
    tl.store(out + N + i, tl.abs(a))
    tl.store(out + 2 * N + i, tl.where(a == 0.0, a, -a))
    tl.store(out + 3 * N + i, 0.0 - a)
    tl.store(out + 4 * N + i, a * 0.0)


for _dtype in ("f4", "f8"):
    case(
        f"signs of {_dtype}, of zero too",
        signs,
        lambda rng, t=_dtype: [np.concatenate([normal(rng, 60, t), np.array([0, -0.0, np.inf, -np.inf], t)]),
                               np.zeros((5, 64), t)],
        lambda x, out: np.stack([minus(x), np.abs(x), np.where(x == 0, x, minus(x)), 0 - x, x * 0]),
        1,
        constants={"N": 64},
        interpreter="",
    )  # fmt: skip


@triton.jit
def subnormals(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    tl.store(out + i, a * 0.5)
    tl.store(out + N + i, a + a)
    tl.store(out + 2 * N + i, tl.where(a > 0, a, 0.0))


case(
    "subnormal numbers are kept",
    subnormals,
    lambda rng: [np.ldexp(rng.standard_normal(64), rng.integers(-149, -120, 64)).astype("f4"), np.zeros((3, 64), "f4")],
    lambda x, out: np.stack([x * np.float32(0.5), x + x, np.where(x > 0, x, 0)]),
    1,
    constants={"N": 64},
)


@triton.jit
def promotions(h, s, d, i8, out, N: tl.constexpr):
    """A float16 with a float32, a double, an int8 and Python numbers."""
    i = tl.arange(0, N)
    a = tl.load(h + i)
    tl.store(out + i, a + tl.load(s + i))
    tl.store(out + N + i, a * tl.load(d + i))
    tl.store(out + 2 * N + i, a + tl.load(i8 + i))
    tl.store(out + 3 * N + i, a * 3)
    tl.store(out + 4 * N + i, tl.load(i8 + i) + 0.5)
    tl.store(out + 5 * N + i, a + 1e-3)


def _promotions(h: Any, s: Any, d: Any, i8: Any, out: Any) -> Any:
    half = np.float16
    return np.stack([
        h.astype("f4") + s, h * d, h + i8.astype(half), h * half(3), i8.astype("f4") + np.float32(0.5), h + half(1e-3),
    ]).astype("f8")  # fmt: skip


case(
    "promotions between types",
    promotions,
    lambda rng: [normal(rng, 64, "f2"), normal(rng, 64), normal(rng, 64, "f8"), rng.integers(-9, 9, 64).astype("i1"),
                 np.zeros((6, 64), "f8")],
    _promotions,
    4,
    constants={"N": 64},
)  # fmt: skip


@triton.jit
def polynomial(x, out, n, BLOCK: tl.constexpr, DEGREE: tl.constexpr):
    tl.static_assert(DEGREE > 1, "a degree")
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    total = tl.zeros_like(v)
    for k in tl.static_range(DEGREE):
        total = tl.fma(total, v, k + 1.0)
    tl.store(out + i, total, i < n)


case(
    "polynomial by static_range and fma",
    polynomial,
    lambda rng: [rng.uniform(-1, 1, 100).astype("f4"), np.zeros(100, "f4"), 100],
    lambda x, out, n: np.polyval(np.arange(1.0, 6), x.astype("f8")),
    1,
    grid=(2,),
    constants={"BLOCK": 64, "DEGREE": 5},
    rtol=3e-6,
    atol=1e-6,
)


@triton.jit
def gelu(x):
    return 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))


@triton.jit
def gated(x, out, rows, D: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, D)
    a = tl.load(x + r * 2 * D + c)
    b = tl.load(x + r * 2 * D + D + c)
    tl.store(out + r * D + c, gelu(a) * b * tl.sigmoid(b))


def _gated(x: Any, out: Any, rows: int) -> Any:
    from math import erf

    a, b = x[:, :32].astype("f8"), x[:, 32:].astype("f8")
    return 0.5 * a * (1 + np.vectorize(erf)(a / np.sqrt(2))) * b / (1 + np.exp(-b))


case("gated gelu by inner functions", gated, lambda rng: [normal(rng, (9, 64)), np.zeros((9, 32), "f4"), 9], _gated, 1,
     grid=(9,), constants={"D": 32}, rtol=3e-6, atol=1e-6)  # fmt: skip


@triton.jit
def huber(x, y, out, n, delta, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.load(x + i, i < n) - tl.load(y + i, i < n)
    small = tl.abs(d) < delta
    tl.store(out + i, tl.where(small, 0.5 * d * d, delta * (tl.abs(d) - 0.5 * delta)), i < n)


case(
    "Huber loss",
    huber,
    lambda rng: [normal(rng, 200) * 2, normal(rng, 200) * 2, np.zeros(200, "f4"), 200, 1.5],
    lambda x, y, out, n, delta: np.where(
        np.abs(x - y) < delta, 0.5 * (x - y).astype("f8") ** 2, delta * (np.abs(x - y).astype("f8") - delta / 2)),
    2,
    grid=(2,),
    constants={"BLOCK": 128},
    **FUSED,
)  # fmt: skip


@triton.jit
def hinted(x, y, out, n, BLOCK: tl.constexpr):
    """All that a GPU is told and the CPU need not know."""
    tl.assume(n > 0)
    start = tl.multiple_of(tl.program_id(0) * BLOCK, BLOCK)
    i = tl.max_contiguous(tl.multiple_of(start + tl.arange(0, BLOCK), BLOCK), BLOCK)
    a = tl.load(x + i, i < n, cache_modifier=".ca", eviction_policy="evict_first")
    b = tl.load(y + i, i < n, cache_modifier=".cg", eviction_policy="evict_last", volatile=True)
    tl.debug_barrier()
    tl.device_assert(n > 0, "empty")
    tl.store(out + i, tl.max_constancy(a - b, 1), i < n, cache_modifier=".wb", eviction_policy="evict_first")


case(
    "hints and cache modifiers",
    hinted,
    lambda rng: [normal(rng, 130), normal(rng, 130), np.zeros(130, "f4"), 130],
    lambda x, y, out, n: x - y,
    2,
    grid=(3,),
    constants={"BLOCK": 64},
)


@triton.jit
def pick_larger(a, b):
    return tl.maximum(a, b), tl.minimum(a, b)


@triton.jit
def step_or_slope(a, b):
    if a > b:
        r = a - b
    else:
        r = b * 2
    return r


@triton.jit
def mapped(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    high, low = tl.map_elementwise(pick_larger, a, b)
    tl.store(out + i, high)
    tl.store(out + N + i, low)
    tl.store(out + 2 * N + i, tl.map_elementwise(step_or_slope, a, b))


case(
    "map_elementwise, two results and a branch",
    mapped,
    lambda rng: [normal(rng, 64), normal(rng, 64), np.zeros((3, 64), "f4")],
    lambda x, y, out: np.stack([np.maximum(x, y), np.minimum(x, y), np.where(x > y, x - y, y * 2)]),
    2,
    constants={"N": 64},
    interpreter="the interpreter does not know map_elementwise",
)


@triton.jit
def packed_pairs(a0, a1, b0, b1):
    return a0 + b1, a1 + b0


@triton.jit
def mapped_in_packs(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.map_elementwise(packed_pairs, tl.load(x + i), tl.load(y + i), pack=2)[0])


case(
    "map_elementwise in packs of two",
    mapped_in_packs,
    lambda rng: [normal(rng, 64), normal(rng, 64), np.zeros(64, "f4")],
    lambda x, y, out: x + y.reshape(-1, 2)[:, ::-1].ravel(),
    2,
    constants={"N": 64},
    interpreter="the interpreter does not know map_elementwise",
)


@triton.jit
def column_affine(x, w, b, out, rows, cols, M: tl.constexpr, N: tl.constexpr):
    """Rows and columns of a ragged matrix over a grid of two dimensions."""
    r = tl.program_id(1) * M + tl.arange(0, M)
    c = tl.program_id(0) * N + tl.arange(0, N)
    live = (r < rows)[:, None] & (c < cols)[None, :]
    v = tl.load(x + r[:, None] * cols + c[None, :], live)
    y = v * tl.load(w + c, c < cols)[None, :] + tl.load(b + r, r < rows)[:, None]
    tl.store(out + r[:, None] * cols + c[None, :], y, live)


case(
    "scale columns and shift rows",
    column_affine,
    lambda rng: [normal(rng, (19, 37)), normal(rng, 37), normal(rng, 19), np.zeros((19, 37), "f4"), 19, 37],
    lambda x, w, b, out, rows, cols: x.astype("f8") * w + b[:, None],
    3,
    grid=(3, 5),
    constants={"M": 4, "N": 16},
    **FUSED,
)


@triton.jit
def three_grid(out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    width = tl.num_programs(0) * 10000 + tl.num_programs(1) * 100 + tl.num_programs(2)
    tl.store(out + (x * B + y) * C + z, width + x * 9 + y * 5 + z)


case(
    "program ids of a grid over three dimensions",
    three_grid,
    lambda rng: [np.zeros((3, 4, 5), "i4")],
    lambda out: 30405 + np.add.outer(np.add.outer(np.arange(3) * 9, np.arange(4) * 5), np.arange(5)),
    0,
    grid=(3, 4, 5),
    constants={"A": 3, "B": 4, "C": 5},
)


@triton.jit
def scalars_only(x, out, n, scale):
    """No tensors at all: scalar loads, arithmetic and stores."""
    p = tl.program_id(0)
    if p < n:
        a = tl.load(x + p)
        tl.store(out + p, tl.exp(a) * scale if p % 2 == 0 else a - scale)


case(
    "scalar programs",
    scalars_only,
    lambda rng: [normal(rng, 11), np.zeros(13, "f4"), 11, 0.5],
    lambda x, out, n, scale: np.append(np.where(np.arange(11) % 2 == 0, np.exp(x.astype("f8")) / 2, x - 0.5), [0, 0]),
    1,
    grid=(13,),
    rtol=3e-7,
    atol=0.0,
)  # fmt: skip


@triton.jit
def shared_loads(x, out, other, n, BLOCK: tl.constexpr):
    """What is loaded once is stored at several places, before and after what overwrites it."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    e = tl.exp(v)
    tl.store(x + i, e, i < n)
    tl.store(out + i, v + 1, i < n)
    tl.store(other + i, tl.load(x + i, i < n) - v, i < n)


case(
    "values before and after a store",
    shared_loads,
    lambda rng: [normal(rng, 100), np.zeros(100, "f4"), np.zeros(100, "f4"), 100],
    lambda x, out, other, n: (np.exp(x.astype("f8")), x + 1.0, np.exp(x.astype("f8")) - x),
    (0, 1, 2),
    grid=(4,),
    constants={"BLOCK": 32},
    rtol=3e-7,
    atol=3e-7,
)


@triton.jit
def products_and_sums(x, y, z, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(out + i, a * b + tl.load(z + i))
    tl.store(out + N + i, a * a - b * b)


case(
    "no fusion where it is switched off",
    products_and_sums,
    lambda rng: [normal(rng, 128), normal(rng, 128), normal(rng, 128), np.zeros((2, 128), "f4")],
    lambda x, y, z, out: np.stack([x * y + z, x * x - y * y]),
    3,
    constants={"N": 128, "enable_fp_fusion": False},
)
