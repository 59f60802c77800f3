"""Matrix products: every type, shape and precision, chains, batches, and products of scaled narrow formats."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import triton
import triton.language as tl

from suite import case

Array = np.ndarray[Any, Any]
BF16: Any = ml_dtypes.bfloat16
BF16_BITS = "multiplies the bits of bfloat16"


def small(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> Array:
    """Whole numbers so small that sums of products are exact in any of the types."""
    return rng.integers(-3, 4, shape).astype(dtype)


@triton.jit
def product(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    z = tl.dot(x, y, input_precision=PRECISION, out_dtype=c.dtype.element_ty)
    tl.store(c + m[:, None] * N + n[None, :], z)


for _m, _n, _k in ((16, 16, 16), (1, 16, 32), (16, 1, 16), (1, 1, 1), (2, 4, 8), (64, 32, 16), (8, 128, 4)):
    case(
        f"product {_m} by {_n} over {_k}", product,
        lambda rng, s=(_m, _n, _k): (small(rng, s[0], s[2]), small(rng, s[2], s[1]), np.zeros(s[:2], np.float32)),
        lambda a, b, _: a @ b, 2, constants={"M": _m, "N": _n, "K": _k, "PRECISION": "ieee"},
    )  # fmt: skip

for _in, _out in ((np.float16, np.float32), (np.float16, np.float16), (BF16, np.float32), (np.float64, np.float64),
                  (np.int8, np.int32)):  # fmt: skip
    case(
        f"product of {np.dtype(_in).name} into {np.dtype(_out).name}", product,
        lambda rng, i=_in, o=_out: (small(rng, 32, 16).astype(i), small(rng, 16, 32).astype(i), np.zeros((32, 32), o)),
        lambda a, b, c: a.astype(np.float64 if a.dtype.kind not in "iu" else np.int32)
        @ b.astype(np.float64 if a.dtype.kind not in "iu" else np.int32), 2,
        constants={"M": 32, "N": 32, "K": 16, "PRECISION": "ieee"}, interpreter=BF16_BITS if _in is BF16 else "",
    )  # fmt: skip

for _precision in ("tf32", "tf32x3", "bf16x3", "bf16x6", "ieee"):
    case(
        f"product of floats in {_precision}", product,
        lambda rng: (rng.standard_normal((32, 32)).astype(np.float32), rng.standard_normal((32, 32)).astype(np.float32),
                     np.zeros((32, 32), np.float32)),
        lambda a, b, _: a.astype(np.float64) @ b.astype(np.float64), 2,
        constants={"M": 32, "N": 32, "K": 32, "PRECISION": _precision},
        rtol=1e-5, atol=1e-5,  # never less than float32, whatever precision is asked for; 32 additions
        interpreter="does not know this precision" if _precision.startswith("bf16") else "",
    )  # fmt: skip


@triton.jit
def tiled(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], (m[:, None] < M) & (k[None, :] < K), 0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], (k[:, None] < K) & (n[None, :] < N), 0.0)
        total = tl.dot(x, y, total)
    tl.store(c + m[:, None] * N + n[None, :], total, (m[:, None] < M) & (n[None, :] < N))


for _size in ((37, 29, 45), (16, 16, 16), (5, 64, 0)):
    for _dtype in (np.float32, np.float16, BF16):
        case(
            f"tiles of a product of {np.dtype(_dtype).name}, sizes {_size}", tiled,
            lambda rng, s=_size, d=_dtype: (small(rng, s[0], s[2], dtype=d), small(rng, s[2], s[1], dtype=d),
                                            np.zeros(s[:2], np.float32), *s),
            lambda a, b, *_: a.astype(np.float64) @ b.astype(np.float64), 2, grid=(3, 4),
            constants={"BM": 16, "BN": 16, "BK": 16}, interpreter=BF16_BITS if _dtype is BF16 else "",
        )  # fmt: skip


@triton.jit
def transposed_operands(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + k[:, None] * M + m[None, :])
    y = tl.load(b + n[:, None] * K + k[None, :])
    z = tl.dot(tl.trans(x), tl.trans(y), input_precision="ieee")
    tl.store(c + n[:, None] * M + m[None, :], tl.trans(z))


case(
    "products of transposed operands, transposed", transposed_operands,
    lambda rng: (small(rng, 16, 32), small(rng, 8, 16), np.zeros((8, 32), np.float32)),
    lambda a, b, _: (a.T @ b.T).T, 2, constants={"M": 32, "N": 8, "K": 16},
)  # fmt: skip


@triton.jit
def chain(a, b, c, out, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    x, y, z = tl.load(a + i * N + j), tl.load(b + i * N + j), tl.load(c + i * N + j)
    first = tl.dot(x, y)
    second = tl.dot(first.to(x.dtype), z, out_dtype=tl.float32)
    third = tl.dot(tl.trans(second).to(x.dtype), first.to(x.dtype))
    tl.store(out + i * N + j, second + third + first)


def _chain(a: Array, b: Array, c: Array, _: Array) -> Array:
    x, y, z = (v.astype(np.float64) for v in (a, b, c))
    first = (x @ y).astype(a.dtype).astype(np.float64)
    second = first @ z
    return second + second.astype(a.dtype).T.astype(np.float64) @ first + x @ y


for _dtype in (np.float16, BF16, np.float32):
    case(
        f"products of products in {np.dtype(_dtype).name}", chain,
        lambda rng, d=_dtype: (*(rng.integers(-1, 2, (16, 16)).astype(d) for _ in range(3)),
                               np.zeros((16, 16), np.float32)),
        _chain, 3, constants={"N": 16}, rtol=1e-6, interpreter=BF16_BITS if _dtype is BF16 else "",
    )  # fmt: skip


@triton.jit
def batched(a, b, c, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    z = tl.arange(0, B)[:, None, None]
    x = tl.load(a + z * (M * K) + tl.arange(0, M)[None, :, None] * K + tl.arange(0, K)[None, None, :])
    y = tl.load(b + z * (K * N) + tl.arange(0, K)[None, :, None] * N + tl.arange(0, N)[None, None, :])
    at = z * (M * N) + tl.arange(0, M)[None, :, None] * N + tl.arange(0, N)[None, None, :]
    tl.store(c + at, tl.dot(x, y, tl.load(c + at), input_precision="ieee"))


case(
    "a batch of products onto what is there", batched,
    lambda rng: (small(rng, 4, 16, 8), small(rng, 4, 8, 32), small(rng, 4, 16, 32)), lambda a, b, c: a @ b + c, 2,
    constants={"B": 4, "M": 16, "N": 32, "K": 8},
)  # fmt: skip


@triton.jit
def accumulator_used_again(a, b, out, n, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    at = i * N + j
    x, y = tl.load(a + at), tl.load(b + at)
    acc = tl.zeros((N, N), tl.float32)
    best = tl.full((N, N), -1e9, tl.float32)
    for _ in range(n):
        new = tl.dot(x, y, acc, input_precision="ieee")
        best = tl.maximum(best, new - acc * 2)
        acc = new
    other = tl.dot(y, x, acc, input_precision="ieee")
    tl.store(out + at, best)
    tl.store(out + N * N + at, other + acc)


def _again(a: Array, b: Array, _: Array, n: int) -> Array:
    acc, best = np.zeros(a.shape), np.full(a.shape, -1e9)
    for _k in range(n):
        new = acc + a.astype(np.float64) @ b
        best, acc = np.maximum(best, new - 2 * acc), new
    return np.stack([best, b.astype(np.float64) @ a + 2 * acc])


for _n in (0, 1, 4):
    case(
        f"an accumulator that is read again, {_n} steps", accumulator_used_again,
        lambda rng, n=_n: (small(rng, 16, 16), small(rng, 16, 16), np.zeros((2, 16, 16), np.float32), n), _again, 2,
        constants={"N": 16},
    )  # fmt: skip


@triton.jit
def scaled_accumulator(a, b, out, n, N: tl.constexpr):
    """As an attention kernel has it: the accumulator is rescaled, then added to."""
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    at = i * N + j
    acc = tl.zeros((N, N), tl.float32)
    for k in range(n):
        x = tl.load(a + k * N * N + at)
        acc = acc * (tl.arange(0, N)[:, None] % 2 + 1)
        acc += tl.dot(x, tl.load(b + at))
    tl.store(out + at, acc)


def _scaled(a: Array, b: Array, _: Array, n: int) -> Array:
    acc = np.zeros(b.shape)
    for k in range(n):
        acc = acc * (np.arange(16)[:, None] % 2 + 1) + a[k].astype(np.float64) @ b.astype(np.float64)
    return acc


case(
    "an accumulator that is rescaled", scaled_accumulator,
    lambda rng: (small(rng, 5, 16, 16, dtype=np.float16), small(rng, 16, 16, dtype=np.float16),
                 np.zeros((16, 16), np.float32), 5), _scaled, 2, constants={"N": 16},
)  # fmt: skip


@triton.jit
def integer_accumulator(a, b, c, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    at = i * N + j
    c0 = tl.load(c + at)
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at), c0, out_dtype=tl.int32))


case(
    "product of whole bytes onto int32", integer_accumulator,
    lambda rng: (*rng.integers(-128, 128, (2, 32, 32), np.int8), rng.integers(-(2**31), 2**31 - 1, (32, 32), np.int32)),
    lambda a, b, c: (a.astype(np.int64) @ b.astype(np.int64) + c).astype(np.int32), 2, constants={"N": 32},
)  # fmt: skip


@triton.jit
def narrow_product(a, b, c, N: tl.constexpr, A: tl.constexpr, B: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    x = tl.load(a + i * N + j).to(A, bitcast=True)
    y = tl.load(b + i * N + j).to(B, bitcast=True)
    tl.store(c + i * N + j, tl.dot(x, y, tl.load(c + i * N + j)))


for _a, _b in (("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2")):
    case(
        f"product of {_a} and {_b}", narrow_product,
        lambda rng, k=(_a, _b): (_codes(rng, k[0], 32, 32), _codes(rng, k[1], 32, 32), small(rng, 32, 32)),
        lambda a, b, c, k=(_a, _b): _numbers(a, k[0]) @ _numbers(b, k[1]) + c, 2,
        constants={"N": 32, "A": {"e4m3": tl.float8e4nv, "e5m2": tl.float8e5}[_a],
                   "B": {"e4m3": tl.float8e4nv, "e5m2": tl.float8e5}[_b]},
        rtol=1e-5, atol=1e-4,  # 32 additions in float32
    )  # fmt: skip


@triton.jit
def nans_and_infinities(a, b, c, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    at = i * N + j
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision="ieee"))


def _special(rng: np.random.Generator) -> tuple[Array, ...]:
    a, b = small(rng, 16, 16), small(rng, 16, 16)
    a[3, 5], a[4, 4], b[2, 7] = np.nan, np.inf, -np.inf
    return a, b, np.zeros((16, 16), np.float32)


def _special_product(a: Array, b: Array, _: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return (a[:, :, None].astype(np.float64) * b[None].astype(np.float64)).sum(1)


case("products with NaN and infinity", nans_and_infinities, _special, _special_product, 2, constants={"N": 16})


# -- scaled products

NO_SCALED = "its dot_scaled cannot be called"
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
NARROW: dict[str, Any] = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}


def _codes(rng: np.random.Generator, kind: str, rows: int, cols: int) -> Array:
    """Numbers of a format, as what holds them in memory, packed along the last axis."""
    if kind == "e2m1":
        return rng.integers(0, 256, (rows, cols // 2), np.uint8)
    if kind in NARROW:
        return rng.standard_normal((rows, cols)).astype(NARROW[kind]).view(np.uint8)
    return rng.integers(-4, 5, (rows, cols)).astype(BF16 if kind == "bf16" else np.float16)


def _numbers(codes: Array, kind: str) -> Array:
    if kind == "e2m1":
        return np.stack([E2M1[codes & 15], E2M1[codes >> 4]], -1).reshape(len(codes), -1)
    return codes.view(NARROW[kind]).astype(np.float64) if kind in NARROW else codes.astype(np.float64)


@triton.jit
def scaled_product(a, a_scale, b, b_scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, A: tl.constexpr,
                   B: tl.constexpr, SCALES: tl.constexpr):  # fmt: skip
    KA: tl.constexpr = K // 2 if A == "e2m1" else K
    KB: tl.constexpr = K // 2 if B == "e2m1" else K
    KS: tl.constexpr = K // 32
    m, n = tl.arange(0, M), tl.arange(0, N)
    x = tl.load(a + m[:, None] * KA + tl.arange(0, KA)[None, :])
    y = tl.load(b + n[None, :] * KB + tl.arange(0, KB)[:, None])
    xs = tl.load(a_scale + m[:, None] * KS + tl.arange(0, KS)[None, :])
    ys = tl.load(b_scale + n[:, None] * KS + tl.arange(0, KS)[None, :])
    z = tl.load(c + m[:, None] * N + n[None, :])
    if SCALES == "both":
        z = tl.dot_scaled(x, xs, A, y, ys, B, z)
    elif SCALES == "left":
        z = tl.dot_scaled(x, xs, A, y, None, B, z)
    elif SCALES == "right":
        z = tl.dot_scaled(x, None, A, y, ys, B, z)
    else:
        z = tl.dot_scaled(x, None, A, y, None, B, z)
    tl.store(c + m[:, None] * N + n[None, :], z)


def _scale(codes: Array) -> Array:
    return np.where(codes == 255, np.nan, np.exp2(codes.astype(np.float64) - 127)).repeat(32, 1)


def _scaled_product(kinds: tuple[str, str], scales: str, *arrays: Array) -> Array:
    a, a_scale, b, b_scale, c = arrays
    x, y = _numbers(a, kinds[0]), _numbers(b, kinds[1])
    x = x * _scale(a_scale) if scales in ("both", "left") else x
    y = y * _scale(b_scale) if scales in ("both", "right") else y
    return x @ y.T + c


for _a, _b, _scales in (
    ("e4m3", "e4m3", "both"), ("e5m2", "e5m2", "both"), ("e5m2", "e4m3", "both"), ("e2m1", "e2m1", "both"),
    ("e2m1", "e4m3", "both"), ("e4m3", "e2m1", "both"), ("bf16", "e2m1", "right"), ("fp16", "e4m3", "right"),
    ("e5m2", "bf16", "left"), ("e4m3", "e4m3", "right"), ("e2m1", "fp16", "left"), ("e4m3", "e5m2", "none"),
):  # fmt: skip
    case(
        f"scaled product of {_a} and {_b}, scales: {_scales}", scaled_product,
        lambda rng, k=(_a, _b): (
            _codes(rng, k[0], 32, 64), rng.integers(120, 134, (32, 2), np.uint8), _codes(rng, k[1], 16, 64),
            rng.integers(120, 134, (16, 2), np.uint8), small(rng, 32, 16)),
        lambda *arrays, k=(_a, _b), s=_scales: _scaled_product(k, s, *arrays), 4,
        constants={"M": 32, "N": 16, "K": 64, "A": _a, "B": _b, "SCALES": _scales},
        rtol=1e-5, atol=2e-2,  # 64 products of up to 6 · 2^7 in both factors, summed in float32
        interpreter=NO_SCALED,
    )  # fmt: skip


@triton.jit
def scaled_packed_rows(a, a_scale, b, b_scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Four-bit operands packed along M and N instead of K."""
    m2, n2, k = tl.arange(0, M // 2), tl.arange(0, N // 2), tl.arange(0, K)
    x = tl.load(a + m2[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * (N // 2) + n2[None, :])
    ks = tl.arange(0, K // 32)
    xs = tl.load(a_scale + tl.arange(0, M)[:, None] * (K // 32) + ks[None, :])
    ys = tl.load(b_scale + tl.arange(0, N)[:, None] * (K // 32) + ks[None, :])
    z = tl.dot_scaled(x, xs, "e2m1", y, ys, "e2m1", lhs_k_pack=False, rhs_k_pack=False)
    tl.store(c + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], z)


def _packed_rows(a: Array, a_scale: Array, b: Array, b_scale: Array, _: Array) -> Array:
    x = np.stack([E2M1[a & 15], E2M1[a >> 4]], 1).reshape(-1, a.shape[1])
    y = np.stack([E2M1[b & 15], E2M1[b >> 4]], -1).reshape(len(b), -1)
    return (x * _scale(a_scale)) @ (y * _scale(b_scale).T)


case(
    "scaled product packed along rows and columns", scaled_packed_rows,
    lambda rng: (rng.integers(0, 256, (16, 64), np.uint8), rng.integers(125, 129, (32, 2), np.uint8),
                 rng.integers(0, 256, (64, 8), np.uint8), rng.integers(125, 129, (16, 2), np.uint8),
                 np.zeros((32, 16), np.float32)),
    _packed_rows, 4, constants={"M": 32, "N": 16, "K": 64}, rtol=1e-5, atol=1e-3,
    interpreter=NO_SCALED,
)  # fmt: skip
