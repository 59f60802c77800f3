"""Elementwise operations of every type against NumPy in double precision."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from native import BF16, launch, ulps
from triton.language.extra import libdevice

N = 1000
BLOCK = 1024


@triton.jit
def unary(x_ptr, o_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=1.0)
    if OP == "exp":
        y = tl.exp(x)
    elif OP == "exp2":
        y = tl.exp2(x)
    elif OP == "log":
        y = tl.log(x)
    elif OP == "log2":
        y = tl.log2(x)
    elif OP == "sin":
        y = tl.sin(x)
    elif OP == "cos":
        y = tl.cos(x)
    elif OP == "sqrt":
        y = tl.sqrt(x)
    elif OP == "sqrt_rn":
        y = tl.sqrt_rn(x)
    elif OP == "rsqrt":
        y = tl.rsqrt(x)
    elif OP == "erf":
        y = tl.erf(x)
    elif OP == "abs":
        y = tl.abs(x)
    elif OP == "neg":
        y = -x
    elif OP == "floor":
        y = tl.floor(x)
    elif OP == "ceil":
        y = tl.ceil(x)
    elif OP == "sigmoid":
        y = tl.sigmoid(x)
    elif OP == "tanh":
        y = libdevice.tanh(x)
    elif OP == "expm1":
        y = libdevice.expm1(x)
    elif OP == "log1p":
        y = libdevice.log1p(x)
    elif OP == "log10":
        y = libdevice.log10(x)
    elif OP == "tan":
        y = libdevice.tan(x)
    elif OP == "atan":
        y = libdevice.atan(x)
    elif OP == "trunc":
        y = libdevice.trunc(x)
    else:
        y = libdevice.rint(x)
    tl.store(o_ptr + i, y, mask=i < n)


def _erf(x: np.ndarray) -> np.ndarray:
    from math import erf

    return np.vectorize(erf)(x)


EXACT = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "sqrt_rn": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": _erf,
    "abs": np.abs,
    "neg": np.negative,
    "floor": np.floor,
    "ceil": np.ceil,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "log10": np.log10,
    "tan": np.tan,
    "atan": np.arctan,
    "trunc": np.trunc,
    "rint": np.rint,
}
ULPS = {"sigmoid": 3.0, "log10": 2.5, "tan": 2.0}
SPECIAL = np.array([
    0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-40, -1e-40, 88.7, 88.8, -87.5, -103.9, -104.5, 127.9, 128.0,
    -149.0, -150.1, 3.4e38, 1.17e-38, 0.5, 0.91, 0.93, 3.9, 4.1, 9.05, 1e-8, 1e5, 1e10,
])  # fmt: skip


def inputs(op: str) -> np.ndarray:
    rng = np.random.default_rng(7)
    spread = rng.standard_normal(N - len(SPECIAL)) * np.exp2(rng.integers(-12, 6, N - len(SPECIAL)))
    if op.startswith("log"):
        spread[::3] = 1 + spread[::3] / 100
    return np.concatenate([SPECIAL, spread])


@pytest.mark.parametrize("op", list(EXACT))
def test_unary_f32(op: str) -> None:
    x = inputs(op).astype(np.float32)
    out = np.empty_like(x)
    launch(unary, (1,), x, out, N, OP=op, BLOCK=BLOCK)
    with np.errstate(all="ignore"):
        exact = EXACT[op](x.astype(np.float64))
    assert ulps(out, exact) <= ULPS.get(op, 2.0)
    if op in ("sin", "tanh", "erf", "expm1", "log1p", "sqrt", "tan", "rint"):
        np.testing.assert_array_equal(np.signbit(out[:2]), np.signbit(exact[:2]))


@pytest.mark.parametrize("op", ["exp", "log", "erf", "sqrt", "rsqrt", "tanh", "sin", "abs", "floor"])
def test_unary_f64(op: str) -> None:
    x = inputs(op)
    out = np.empty_like(x)
    launch(unary, (1,), x, out, N, OP=op, BLOCK=BLOCK)
    with np.errstate(all="ignore"):
        exact = EXACT[op](x)
    assert ulps(out, exact) <= 2


@triton.jit
def via_f32(x_ptr, y_ptr, o_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    if OP == "add":
        z = x + y
    elif OP == "mul":
        z = x * y
    elif OP == "div":
        z = (x.to(tl.float32) / y.to(tl.float32)).to(x.dtype)
    elif OP == "maximum":
        z = tl.maximum(x, y)
    elif OP == "exp":
        z = tl.exp(x.to(tl.float32)).to(x.dtype)
    else:
        z = tl.where(x < y, x, -y)
    tl.store(o_ptr + i, z, mask=i < n)


@pytest.mark.parametrize("op", ["add", "mul", "div", "maximum", "exp", "where"])
@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16], ids=["f16", "bf16"])
def test_half_precision_is_rounded_to_nearest(op: str, dtype: np.dtype) -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal(N).astype(np.float32).astype(dtype) for _ in range(2))
    x[:6] = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-7]).astype(dtype)
    out = np.empty_like(x)
    launch(via_f32, (1,), x, y, out, N, OP=op, BLOCK=BLOCK)
    a, b = x.astype(np.float32), y.astype(np.float32)
    exact = {
        "add": lambda: a + b, "mul": lambda: a * b, "div": lambda: a / b, "maximum": lambda: np.fmax(a, b),
        "exp": lambda: np.exp(a.astype(np.float64)), "where": lambda: np.where(a < b, a, -b),
    }[op]()  # fmt: skip
    if op == "exp":
        assert ulps(out, exact) <= 0.51
    else:
        np.testing.assert_array_equal(out.astype(np.float32), exact.astype(dtype).astype(np.float32))


@triton.jit
def integer(x_ptr, y_ptr, o_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    if OP == "add":
        z = x + y
    elif OP == "sub":
        z = x - y
    elif OP == "mul":
        z = x * y
    elif OP == "div":
        z = x // y
    elif OP == "mod":
        z = x % y
    elif OP == "and":
        z = x & y
    elif OP == "or":
        z = x | y
    elif OP == "xor":
        z = x ^ y
    elif OP == "shl":
        z = x << (y & 3)
    elif OP == "shr":
        z = x >> (y & 3)
    elif OP == "min":
        z = tl.minimum(x, y)
    elif OP == "max":
        z = tl.maximum(x, y)
    elif OP == "not":
        z = ~x
    elif OP == "abs":
        z = tl.abs(x)
    else:
        z = tl.where(x < y, x, y)
    tl.store(o_ptr + i, z, mask=i < n)


INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]


def _truncated(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """C division, exact for 64 bits too; INT_MIN / -1 wraps."""
    q = np.abs(x.astype(object)) // np.abs(y.astype(object))
    signs = np.where((x < 0) ^ (y < 0), -1, 1)
    bits = 8 * x.dtype.itemsize
    return np.array([(int(v) * int(s)) % 2**bits for v, s in zip(q, signs, strict=True)], dtype=object)


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "mod", "shl", "shr", "min", "max", "xor", "not", "where"])
def test_integers_wrap_and_never_trap(op: str, dtype: type) -> None:
    rng = np.random.default_rng(3)
    info = np.iinfo(dtype)
    x, y = (rng.integers(info.min, info.max, N, dtype=dtype, endpoint=True) for _ in range(2))
    x[:2], y[:2] = info.min, dtype(-1 if info.min < 0 else 1)
    y[y == 0] = 1
    out = np.empty_like(x)
    launch(integer, (1,), x, y, out, N, OP=op, BLOCK=BLOCK)
    with np.errstate(all="ignore"):
        if op in ("div", "mod"):
            q = _truncated(x, y)
            unsigned = np.dtype(f"uint{8 * x.dtype.itemsize}")
            quotient = q.astype(unsigned).view(dtype)
            want = quotient if op == "div" else x - quotient * y
        else:
            want = {
                "add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "shl": lambda: x << (y & dtype(3)),
                "shr": lambda: x >> (y & dtype(3)), "min": lambda: np.minimum(x, y), "max": lambda: np.maximum(x, y),
                "xor": lambda: x ^ y, "not": lambda: ~x, "where": lambda: np.where(x < y, x, y),
            }[op]()  # fmt: skip
    np.testing.assert_array_equal(out, want)


@triton.jit
def converted(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(o_ptr + i, x.to(o_ptr.dtype.element_ty), mask=i < n)


DTYPES = [np.dtype(d) for d in (np.bool_, *INTEGERS, np.float16, BF16, np.float32, np.float64)]


@pytest.mark.parametrize("source", DTYPES, ids=str)
@pytest.mark.parametrize("target", DTYPES, ids=str)
def test_casts(source: np.dtype, target: np.dtype) -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(0, 100, 100).astype(np.float64)
    if source.kind in "fiV" and source.name.startswith(("int", "float", "bf")) and not target.name.startswith("uint"):
        x -= 50
    x = x.astype(source)
    out = np.empty(100, target)
    launch(converted, (1,), x, out, 100, BLOCK=128)
    with np.errstate(all="ignore"):
        want = (x.astype(np.float64) != 0) if target == np.bool_ else x.astype(target)
    np.testing.assert_array_equal(out.astype(np.float64), want.astype(np.float64))


def test_float_to_int_saturates() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 2.9, -2.9, 0.0], np.float32)
    out = np.empty(8, np.int32)
    launch(converted, (1,), x, out, 8, BLOCK=8)
    np.testing.assert_array_equal(out, [0, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 2, -2, 0])


@triton.jit
def hashed(o_ptr, seed, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    h = (i + seed) * 0x7FEB352D
    h = h ^ (h >> 15)
    wide = h.to(tl.int64) + tl.umulhi(h, i + 3).to(tl.int64)
    tl.store(o_ptr + i, wide, mask=i < n)


def test_hashes_wrap() -> None:
    out = np.empty(1000, np.int64)
    seed = 2**31 - 500
    launch(hashed, (1,), out, seed, 1000, BLOCK=1024)
    i = np.arange(1000, dtype=np.int32)
    with np.errstate(all="ignore"):
        h = (i + np.int32(seed)) * np.int32(0x7FEB352D)
        h = h ^ (h >> 15)
        high = (h.view(np.uint32).astype(np.uint64) * (i + 3).astype(np.uint64)) >> np.uint64(32)
        want = h.astype(np.int64) + high.astype(np.uint32).view(np.int32).astype(np.int64)
    np.testing.assert_array_equal(out, want)


@triton.jit
def compared(x_ptr, y_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    r = (x < y).to(tl.int32) + 2 * (x <= y) + 4 * (x == y) + 8 * (x != y) + 16 * (x > y) + 32 * (x >= y)
    tl.store(o_ptr + i, r)


def test_comparisons_with_nan() -> None:
    values = np.array([0.0, -0.0, 1.0, np.nan, np.inf, -np.inf], np.float32)
    x, y = (np.ascontiguousarray(a).ravel()[:32] for a in np.meshgrid(values, values))
    out = np.empty(32, np.int32)
    launch(compared, (1,), x, y, out, 32, BLOCK=32)
    want = (x < y) + 2 * (x <= y) + 4 * (x == y) + 8 * (x != y) + 16 * (x > y) + 32 * (x >= y)
    np.testing.assert_array_equal(out, want)


@triton.jit
def extremes(x_ptr, y_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    tl.store(o_ptr + i, tl.maximum(x, y))
    tl.store(o_ptr + n + i, tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL))
    tl.store(o_ptr + 2 * n + i, tl.clamp(x, -0.5, 0.5))
    tl.store(o_ptr + 3 * n + i, tl.fma(x, y, x))
    tl.store(o_ptr + 4 * n + i, tl.div_rn(x, y))


def test_extremes_propagate_or_ignore_nan() -> None:
    rng = np.random.default_rng(2)
    x, y = (rng.standard_normal(64).astype(np.float32) for _ in range(2))
    x[:3], y[2:5] = np.nan, np.nan
    out = np.empty((5, 64), np.float32)
    launch(extremes, (1,), x, y, out, 64, BLOCK=64)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out[0], np.fmax(x, y))
        np.testing.assert_array_equal(out[1], np.minimum(x, y))
        np.testing.assert_array_equal(out[2], np.fmin(np.fmax(x, np.float32(-0.5)), np.float32(0.5)))
        np.testing.assert_array_equal(out[3], (x.astype(np.float64) * y + x).astype(np.float32))
        np.testing.assert_array_equal(out[4], x / y)


@triton.jit
def power(x_ptr, y_ptr, o_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(o_ptr + i, libdevice.pow(tl.load(x_ptr + i), tl.load(y_ptr + i)))


def test_power() -> None:
    rng = np.random.default_rng(2)
    x, y = np.exp(rng.standard_normal(64)).astype(np.float32), rng.standard_normal(64).astype(np.float32) * 5
    x[:6], y[:6] = [0, -2, -2, np.inf, 1, np.nan], [0, 3, 0.5, -1, np.nan, 0]
    out = np.empty(64, np.float32)
    launch(power, (1,), x, y, out, BLOCK=64)
    with np.errstate(all="ignore"):
        assert ulps(out, np.power(x.astype(np.float64), y.astype(np.float64))) <= 2
