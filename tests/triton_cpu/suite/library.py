"""tl.math and tl.extra.libdevice: one row of the output a function."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice

from suite import case

Rng = np.random.Generator
NO_EXTERN = "the interpreter has no libdevice"
N = 64
F32, F64 = {"rtol": 1e-6, "atol": 1e-37}, {"rtol": 2e-13, "atol": 1e-300}
"""A few units of the last place, and what SciPy is off by in f64; the smallest numbers are subnormal."""


def special() -> Any:
    import scipy.special

    return scipy.special


def rows(name: str, kernel: Any, draw: Any, reference: Any, count: int, types: str = "f4 f8", **rest: Any) -> None:
    """A case a type: `kernel(x, ..., out)` writes `count` rows, `reference(x, ...)` lists them."""
    for t in types.split():
        tolerance = F32 if t == "f4" else F64

        def make(rng: Rng, t: str = t) -> list[Any]:
            arrays = draw(rng)
            arrays = arrays if isinstance(arrays, list) else [arrays]
            with np.errstate(all="ignore"):
                return [
                    *(a.astype(t) if a.dtype == np.float64 else a for a in arrays),
                    np.zeros((count, N), rest.get("result", t)),
                ]

        def expect(*args: Any) -> Any:
            with np.errstate(all="ignore"):
                wide = [a.astype("f8") if a.dtype.kind == "f" else a for a in args[:-1]]
                return np.stack([np.broadcast_to(r, N) for r in reference(*wide)]).astype(args[-1].dtype)

        inputs = kernel.arg_names.index("out")
        more = {k: v for k, v in rest.items() if k != "result"}
        settings = {"interpreter": NO_EXTERN, "constants": {"N": N}, **tolerance, **more}
        case(f"{name} {t}", kernel, make, expect, inputs, **settings)


# --- functions of one number


@triton.jit
def anywhere(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    o = out + i
    tl.store(o, libdevice.sin(v))
    tl.store(o + N, libdevice.cos(v))
    tl.store(o + 2 * N, libdevice.tan(v))
    tl.store(o + 3 * N, libdevice.sinh(v))
    tl.store(o + 4 * N, libdevice.cosh(v))
    tl.store(o + 5 * N, libdevice.tanh(v))
    tl.store(o + 6 * N, libdevice.asinh(v))
    tl.store(o + 7 * N, libdevice.atan(v))
    tl.store(o + 8 * N, libdevice.exp(v))
    tl.store(o + 9 * N, libdevice.exp2(v))
    tl.store(o + 10 * N, libdevice.exp10(v))
    tl.store(o + 11 * N, libdevice.expm1(v))


def _real(rng: Rng) -> Any:
    x = rng.uniform(-12, 12, N)
    x[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, -1.0, 1e-20]
    return x


rows("libdevice on all numbers", anywhere, _real, lambda x: [
    np.sin(x), np.cos(x), np.tan(x), np.sinh(x), np.cosh(x), np.tanh(x), np.arcsinh(x), np.arctan(x), np.exp(x),
    np.exp2(x), 10.0**x, np.expm1(x)], 12)  # fmt: skip


@triton.jit
def special_functions(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    o = out + i
    tl.store(o, libdevice.erf(v))
    tl.store(o + N, libdevice.erfc(v))
    tl.store(o + 2 * N, libdevice.erfcx(v))
    tl.store(o + 3 * N, libdevice.normcdf(v))
    tl.store(o + 4 * N, libdevice.cyl_bessel_i0(v * 4))
    tl.store(o + 5 * N, libdevice.cyl_bessel_i1(v * 4))
    tl.store(o + 6 * N, libdevice.cbrt(v))
    tl.store(o + 7 * N, libdevice.rcbrt(v))
    tl.store(o + 8 * N, libdevice.erfcx(v * 100))


rows("libdevice special functions", special_functions, _real, lambda x: [
    special().erf(x), special().erfc(x), special().erfcx(x), special().ndtr(x),
    np.where(np.isinf(x), np.inf, special().i0(x * 4)), np.where(np.isinf(x), x, special().i1(x * 4)),
    np.cbrt(x), 1 / np.cbrt(x), special().erfcx(x * 100)], 9)  # fmt: skip


@triton.jit
def half_turns(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, libdevice.sinpi(v))
    tl.store(out + N + i, libdevice.cospi(v))


def _turns(rng: Rng) -> Any:
    """Quarters, where the functions are 0 or 1 exactly or the root of a half."""
    x = rng.integers(-40, 40, N) * 0.25
    x[:4] = [np.inf, np.nan, -0.0, 1e6 + 0.25]
    return x


def _sine(x: Any, shift: int) -> Any:
    quarters = np.nan_to_num(np.abs(x) * 4, nan=0, posinf=0)
    table = np.array([0, np.sqrt(0.5), 1, np.sqrt(0.5), 0, -np.sqrt(0.5), -1, -np.sqrt(0.5)])
    value = table[(quarters.astype("i8") + shift) % 8] * (np.copysign(1, x) if shift == 0 else 1)
    return np.where(np.isfinite(x), value, np.nan)


rows("libdevice half turns", half_turns, _turns, lambda x: [_sine(x, 0), _sine(x, 2)], 2)


@triton.jit
def above_zero(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    o = out + i
    tl.store(o, libdevice.log(v))
    tl.store(o + N, libdevice.log2(v))
    tl.store(o + 2 * N, libdevice.log10(v))
    tl.store(o + 3 * N, libdevice.log1p(v))
    tl.store(o + 4 * N, libdevice.sqrt(v))
    tl.store(o + 5 * N, libdevice.rsqrt(v))
    tl.store(o + 6 * N, libdevice.acosh(tl.load(y + i)))
    tl.store(o + 7 * N, libdevice.lgamma(v))
    tl.store(o + 8 * N, libdevice.tgamma(v))
    tl.store(o + 9 * N, libdevice.logb(v))
    tl.store(o + 10 * N, libdevice.ilogb(v).to(out.dtype.element_ty))


def _positive(rng: Rng) -> Any:
    x = np.exp(rng.uniform(-5, 3.4, N))
    x[:6] = [np.inf, 1.0, 2.0, 0.5, 1e-30, 33.5]
    return [x, 1 + rng.uniform(0, 9, N) ** 3]


def _exponent(x: Any) -> Any:
    return np.where(np.isinf(x), 2.0**31 - 1, np.frexp(x)[1] - 1)


rows("libdevice on positive numbers", above_zero, _positive, lambda x, y: [
    np.log(x), np.log2(x), np.log10(x), np.log1p(x), np.sqrt(x), 1 / np.sqrt(x), np.arccosh(y),
    special().gammaln(x), special().gamma(x), np.where(np.isinf(x), x, np.frexp(x)[1] - 1), _exponent(x)],
    11)  # fmt: skip


@triton.jit
def bessel_functions(x, n, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    k = tl.load(n + i)
    o = out + i
    tl.store(o, libdevice.j0(v))
    tl.store(o + N, libdevice.j1(v))
    tl.store(o + 2 * N, libdevice.jn(k, v))
    tl.store(o + 3 * N, libdevice.y0(v))
    tl.store(o + 4 * N, libdevice.y1(v))
    tl.store(o + 5 * N, libdevice.yn(k, v))


rows("libdevice Bessel functions", bessel_functions,
     lambda rng: [rng.uniform(0.5, 20, N), rng.integers(0, 6, N).astype("i4")],
     lambda x, n: [special().j0(x), special().j1(x), special().jv(n, x), special().y0(x), special().y1(x),
                   special().yn(n, x)], 6, atol=2e-13)  # fmt: skip  # near their zeros


@triton.jit
def quantiles(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    w = tl.load(y + i)
    o = out + i
    tl.store(o, libdevice.erfinv(v))
    tl.store(o + N, libdevice.erfcinv(v))
    tl.store(o + 2 * N, libdevice.normcdfinv(v))
    tl.store(o + 3 * N, libdevice.erfcinv(w))
    tl.store(o + 4 * N, libdevice.asin(v))
    tl.store(o + 5 * N, libdevice.acos(v))
    tl.store(o + 6 * N, libdevice.atanh(v))


def _probabilities(rng: Rng) -> Any:
    x = rng.uniform(-1, 1, N)
    x[:12] = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1e-30, 1e-300, 0.9999, 1.5, np.nan, 0.25]
    x[12:24] = 10.0 ** -rng.uniform(0, 37, 12)
    return [x, rng.uniform(0, 2, N)]


def _erfcinv(x: Any) -> Any:
    return special().erfcinv(np.where((x >= 0) & (x <= 2), x, np.nan))


rows("libdevice inverses", quantiles, _probabilities, lambda x, y: [
    special().erfinv(x), _erfcinv(x), special().ndtri(x), _erfcinv(y), np.arcsin(x), np.arccos(x),
    np.arctanh(x)], 7)  # fmt: skip


@triton.jit
def roundings(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    o = out + i
    tl.store(o, libdevice.floor(v))
    tl.store(o + N, libdevice.ceil(v))
    tl.store(o + 2 * N, libdevice.trunc(v))
    tl.store(o + 3 * N, libdevice.rint(v))
    tl.store(o + 4 * N, libdevice.nearbyint(v))
    tl.store(o + 5 * N, libdevice.round(v))
    tl.store(o + 6 * N, libdevice.abs(v))
    tl.store(o + 7 * N, libdevice.llrint(v).to(out.dtype.element_ty))
    tl.store(o + 8 * N, libdevice.llround(v).to(out.dtype.element_ty))


def _halves(rng: Rng) -> Any:
    x = rng.integers(-20, 20, N) * 0.5
    x[:6] = [-0.0, 0.49999997, -0.49999997, 0.3, 8388609.0, -7.5]
    return x


def _away(x: Any) -> Any:
    return np.copysign(np.floor(np.abs(x)) + (np.abs(x) - np.floor(np.abs(x)) >= 0.5), x)


rows("libdevice roundings", roundings, _halves, lambda x: [
    np.floor(x), np.ceil(x), np.trunc(x), np.rint(x), np.rint(x), _away(x), np.abs(x), np.rint(x) + 0.0,
    _away(x) + 0.0], 9, rtol=0.0, atol=0.0)  # fmt: skip


@triton.jit
def predicates(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    o = out + i
    tl.store(o, libdevice.isnan(v).to(tl.int32))
    tl.store(o + N, libdevice.isinf(v).to(tl.int32))
    tl.store(o + 2 * N, libdevice.signbit(v).to(tl.int32))


rows("libdevice predicates", predicates, _real,
     lambda x: [np.isnan(x), np.isinf(x), np.signbit(x)], 3, result="i4")  # fmt: skip


@triton.jit
def finite_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, libdevice.finitef(v).to(tl.int32))
    tl.store(out + N + i, libdevice.isfinited(v.to(tl.float64)).to(tl.int32))


rows("libdevice finite", finite_kernel, _real, lambda x: [np.isfinite(x)] * 2, 2, "f4", result="i4")


# --- functions of several


@triton.jit
def of_two(x, y, n, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    k = tl.load(n + i)
    o = out + i
    tl.store(o, libdevice.atan2(a, b))
    tl.store(o + N, libdevice.pow(tl.abs(a), b))
    tl.store(o + 2 * N, libdevice.fmod(a, b))
    tl.store(o + 3 * N, libdevice.remainder(a, b))
    tl.store(o + 4 * N, libdevice.fdim(a, b))
    tl.store(o + 5 * N, libdevice.hypot(a, b))
    tl.store(o + 6 * N, libdevice.rhypot(a, b))
    tl.store(o + 7 * N, libdevice.nextafter(a, b))
    tl.store(o + 8 * N, libdevice.copysign(a, b))
    tl.store(o + 9 * N, libdevice.pow(a, k))
    tl.store(o + 10 * N, libdevice.ldexp(a, k))
    tl.store(o + 11 * N, libdevice.scalbn(a, k))


def _pairs(rng: Rng) -> Any:
    x, y = rng.uniform(-8, 8, (2, N))
    x[:4], y[:4] = [0.0, -0.0, np.nan, 5.0], [-1.0, 1.0, 2.0, np.nan]
    return [x, y, rng.integers(-6, 7, N).astype("i4")]


def _of_two(t: str) -> Any:
    def reference(a: Any, b: Any, n: Any) -> Any:
        return [
            np.arctan2(a, b), np.abs(a) ** b, np.fmod(a, b), a - b * np.rint(a / b), np.where(a <= b, 0.0, a - b),
            np.hypot(a, b), 1 / np.hypot(a, b),
            np.nextafter(a.astype(t), b.astype(t)).astype("f8"), np.copysign(a, b), a ** n.astype("f8"),
            np.ldexp(a, n), np.ldexp(a, n),
        ]  # fmt: skip

    return reference


for _t in ("f4", "f8"):
    rows("libdevice of two", of_two, _pairs, _of_two(_t), 12, _t, atol=1e-12 if _t == "f8" else 1e-37)


@triton.jit
def lengths(a, b, c, d, out, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(a + i)
    y = tl.load(b + i)
    z = tl.load(c + i)
    w = tl.load(d + i)
    tl.store(out + i, libdevice.norm3d(x, y, z))
    tl.store(out + N + i, libdevice.norm4d(x, y, z, w))
    tl.store(out + 2 * N + i, libdevice.rnorm3d(x, y, z))
    tl.store(out + 3 * N + i, libdevice.rnorm4d(x, y, z, w))


def _length(*x: Any) -> Any:
    return np.sqrt(sum(v.astype(np.longdouble) ** 2 for v in x)).astype("f8")


rows("libdevice lengths", lengths, lambda rng: list(rng.uniform(-1, 1, (4, N)) * 10.0 ** rng.integers(-18, 19, N)),
     lambda a, b, c, d: [_length(a, b, c), _length(a, b, c, d), 1 / _length(a, b, c), 1 / _length(a, b, c, d)],
     4)  # fmt: skip


@triton.jit
def fast_functions(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    o = out + i
    tl.store(o, libdevice.fast_sinf(a))
    tl.store(o + N, libdevice.fast_cosf(a))
    tl.store(o + 2 * N, libdevice.fast_tanf(a))
    tl.store(o + 3 * N, libdevice.fast_expf(a))
    tl.store(o + 4 * N, libdevice.fast_exp10f(a))
    tl.store(o + 5 * N, libdevice.fast_logf(b))
    tl.store(o + 6 * N, libdevice.fast_log2f(b))
    tl.store(o + 7 * N, libdevice.fast_log10f(b))
    tl.store(o + 8 * N, libdevice.fast_powf(b, a))
    tl.store(o + 9 * N, libdevice.fast_dividef(a, b))
    tl.store(o + 10 * N, libdevice.saturatef(a))
    tl.store(o + 11 * N, libdevice.fma(a, b, a))
    tl.store(o + 12 * N, libdevice.rsqrt_rn(b))


rows("libdevice fast functions", fast_functions, lambda rng: [rng.uniform(-3, 3, N), rng.uniform(0.1, 9, N)],
     lambda a, b: [np.sin(a), np.cos(a), np.tan(a), np.exp(a), 10**a, np.log(b), np.log2(b), np.log10(b), b**a, a / b,
                   np.clip(a, 0, 1), a * b + a, 1 / np.sqrt(b)], 13, "f4")  # fmt: skip


# --- directed rounding


@triton.jit
def rounded_sums(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    o = out + i
    tl.store(o, libdevice.add_rn(a, b))
    tl.store(o + N, libdevice.add_rd(a, b))
    tl.store(o + 2 * N, libdevice.add_ru(a, b))
    tl.store(o + 3 * N, libdevice.add_rz(a, b))
    tl.store(o + 4 * N, libdevice.sub_rn(a, b))
    tl.store(o + 5 * N, libdevice.sub_rd(a, b))
    tl.store(o + 6 * N, libdevice.sub_ru(a, b))
    tl.store(o + 7 * N, libdevice.sub_rz(a, b))


@triton.jit
def rounded_products(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    o = out + i
    tl.store(o, libdevice.mul_rn(a, b))
    tl.store(o + N, libdevice.mul_rd(a, b))
    tl.store(o + 2 * N, libdevice.mul_ru(a, b))
    tl.store(o + 3 * N, libdevice.mul_rz(a, b))
    tl.store(o + 4 * N, libdevice.div_rn(a, b))
    tl.store(o + 5 * N, libdevice.div_rd(a, b))
    tl.store(o + 6 * N, libdevice.div_ru(a, b))
    tl.store(o + 7 * N, libdevice.div_rz(a, b))


@triton.jit
def rounded_fma(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    o = out + i
    tl.store(o, libdevice.fma_rn(a, b, a))
    tl.store(o + N, libdevice.fma_rd(a, b, a))
    tl.store(o + 2 * N, libdevice.fma_ru(a, b, a))
    tl.store(o + 3 * N, libdevice.fma_rz(a, b, a))
    tl.store(o + 4 * N, libdevice.rcp_rn(b))
    tl.store(o + 5 * N, libdevice.rcp_rd(b))
    tl.store(o + 6 * N, libdevice.rcp_ru(b))
    tl.store(o + 7 * N, libdevice.rcp_rz(b))


def _direct(exact: Fraction, mode: str, t: str) -> Any:
    """An exact number rounded to a type."""
    near = np.dtype(t).type(float(exact)) if t == "f8" else np.float32(float(exact))
    if t == "f4":  # float() has rounded already: look at the neighbours
        options = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
        near = min(options, key=lambda v: (abs(Fraction(float(v)) - exact), int(v.view("u4")) & 1))
    below = near if Fraction(float(near)) <= exact else np.nextafter(near, near.dtype.type(-np.inf))
    above = near if Fraction(float(near)) >= exact else np.nextafter(near, near.dtype.type(np.inf))
    toward_zero = below if exact > 0 else above
    return {"rn": near, "rd": below, "ru": above, "rz": toward_zero}[mode]


def _rounded(*formulas: Any) -> Any:
    def reference(t: str) -> Any:
        def lists(a: Any, b: Any) -> Any:
            pairs = [(Fraction(float(p)), Fraction(float(q))) for p, q in zip(a, b, strict=True)]
            return [
                np.array([_direct(f(p, q), mode, t) for p, q in pairs], "f8")
                for f in formulas
                for mode in ("rn", "rd", "ru", "rz")
            ]

        return lists

    return reference


def _uneven(rng: Rng) -> Any:
    return [s * rng.uniform(1, 2, N) * 10.0 ** rng.integers(-8, 8, N) for s in rng.choice([-1, 1], (2, N))]


for _t in ("f4", "f8"):
    rows("directed sums", rounded_sums, _uneven, _rounded(lambda p, q: p + q, lambda p, q: p - q)(_t), 8, _t, rtol=0.0,
         atol=0.0)  # fmt: skip
    rows("directed products", rounded_products, _uneven, _rounded(lambda p, q: p * q, lambda p, q: p / q)(_t), 8, _t,
         rtol=0.0, atol=0.0)  # fmt: skip
    rows("directed fma", rounded_fma, _uneven, _rounded(lambda p, q: p * q + p, lambda p, q: 1 / q)(_t), 8, _t,
         rtol=0.0, atol=0.0)  # fmt: skip


@triton.jit
def rounded_roots(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, libdevice.sqrt_rd(v))
    tl.store(out + N + i, libdevice.sqrt_ru(v))
    tl.store(out + 2 * N + i, libdevice.sqrt_rz(v))
    tl.store(out + 3 * N + i, libdevice.sqrt_rn(v))


def _roots(t: str) -> Any:
    def reference(x: Any) -> Any:
        near = np.sqrt(x.astype(t))
        square = [Fraction(float(r)) ** 2 - Fraction(float(v)) for r, v in zip(near, x, strict=True)]
        below = np.where([s > 0 for s in square], np.nextafter(near, near.dtype.type(0)), near)
        above = np.where([s < 0 for s in square], np.nextafter(near, near.dtype.type(np.inf)), near)
        return [v.astype("f8") for v in (below, above, below, near)]

    return reference


for _t in ("f4", "f8"):
    rows("directed roots", rounded_roots, lambda rng: rng.uniform(0, 100, N), _roots(_t), 4, _t, rtol=0.0, atol=0.0)


@triton.jit
def float_to_int(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    o = out + i
    tl.store(o, libdevice.float2int_rn(v).to(tl.int64))
    tl.store(o + N, libdevice.float2int_rd(v).to(tl.int64))
    tl.store(o + 2 * N, libdevice.float2int_ru(v).to(tl.int64))
    tl.store(o + 3 * N, libdevice.float2int_rz(v).to(tl.int64))
    tl.store(o + 4 * N, libdevice.float2ll_rd(v))
    tl.store(o + 5 * N, libdevice.float2uint_ru(v).to(tl.uint32, bitcast=True).to(tl.int64))
    tl.store(o + 6 * N, libdevice.double2int_ru(v.to(tl.float64)).to(tl.int64))
    tl.store(o + 7 * N, libdevice.double2ll_rn(v.to(tl.float64)))
    tl.store(o + 8 * N, libdevice.double2uint_rz(v.to(tl.float64)).to(tl.uint32, bitcast=True).to(tl.int64))


def _clip(x: Any, low: int, high: int, nan: int) -> Any:
    return [nan if v != v else int(max(low, min(high, v))) if abs(v) < np.inf else (high if v > 0 else low) for v in x]


def _float_to_int(x: Any) -> Any:
    i, u, q = (-(2**31), 2**31 - 1), (0, 2**32 - 1), (-(2**63), 2**63 - 1)
    return np.array([
        _clip(np.rint(x), *i, 0), _clip(np.floor(x), *i, 0), _clip(np.ceil(x), *i, 0), _clip(np.trunc(x), *i, 0),
        _clip(np.floor(x), *q, q[0]), _clip(np.ceil(x), *u, 0), _clip(np.ceil(x), *i, i[0]),
        _clip(np.rint(x), *q, q[0]), _clip(np.trunc(x), *u, 2**31),
    ], dtype=np.int64)  # fmt: skip


def _wild(rng: Rng) -> Any:
    x = rng.integers(-100, 100, N) * 0.5
    x[:8] = [np.nan, np.inf, -np.inf, 3e9, -3e9, 1e19, -1e19, -0.75]
    return x


rows("libdevice floats to integers", float_to_int, _wild, _float_to_int, 9, "f4", result="i8")


@triton.jit
def int_to_float(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    o = out + i
    tl.store(o, libdevice.int2float_rn(a))
    tl.store(o + N, libdevice.int2float_rd(a))
    tl.store(o + 2 * N, libdevice.int2float_ru(a))
    tl.store(o + 3 * N, libdevice.int2float_rz(a))
    tl.store(o + 4 * N, libdevice.ll2float_rd(b))
    tl.store(o + 5 * N, libdevice.ll2float_ru(b))
    tl.store(o + 6 * N, libdevice.ull2float_rz(b.to(tl.uint64, bitcast=True)))
    tl.store(o + 7 * N, libdevice.uint2float_ru(a.to(tl.uint32, bitcast=True)))
    tl.store(o + 8 * N, libdevice.double2float_ru(libdevice.int2double_rn(a) / 3.0))


def _int_to_float(a: Any, b: Any) -> Any:
    def each(values: Any, mode: str) -> Any:
        return np.array([_direct(Fraction(int(v)), mode, "f4") for v in values], "f8")

    thirds = np.array([_direct(Fraction(float(v) / 3.0), "ru", "f4") for v in a], "f8")
    return [each(a, m) for m in ("rn", "rd", "ru", "rz")] + [
        each(b, "rd"), each(b, "ru"), each(b.view("u8"), "rz"), each(a.view("u4"), "ru"), thirds]  # fmt: skip


rows("libdevice integers to floats", int_to_float,
     lambda rng: [rng.integers(-(2**31), 2**31, N).astype("i4"), rng.integers(-(2**63), 2**63 - 1, N)],
     _int_to_float, 9, "f4", rtol=0.0, atol=0.0)  # fmt: skip


# --- integers and bits


@triton.jit
def integer_functions(x, y, z, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    c = tl.load(z + i)
    o = out + i
    tl.store(o, libdevice.clz(a))
    tl.store(o + N, libdevice.popc(a))
    tl.store(o + 2 * N, libdevice.brev(a))
    tl.store(o + 3 * N, libdevice.ffs(a))
    tl.store(o + 4 * N, libdevice.mulhi(a, b))
    tl.store(o + 5 * N, libdevice.mul24(a, b))
    tl.store(o + 6 * N, libdevice.hadd(a, b))
    tl.store(o + 7 * N, libdevice.rhadd(a, b))
    tl.store(o + 8 * N, libdevice.byte_perm(a, b, c))
    tl.store(o + 9 * N, libdevice.sad(a, b, c.to(tl.uint32, bitcast=True)))
    tl.store(o + 10 * N, libdevice.abs(a))


def _sign_extended(v: int, bits: int) -> int:
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> (bits - 1) else v


def _permuted(a: int, b: int, c: int) -> int:
    data = (a & 0xFFFFFFFF).to_bytes(4, "little") + (b & 0xFFFFFFFF).to_bytes(4, "little")
    picks = [c >> (4 * k) & 15 for k in range(4)]
    chosen = [(0xFF if data[p & 7] & 0x80 else 0) if p & 8 else data[p & 7] for p in picks]
    return int.from_bytes(bytes(chosen), "little")


def _integer_functions(xs: Any, ys: Any, zs: Any) -> Any:
    table = []
    for a, b, c in zip(xs.tolist(), ys.tolist(), zs.tolist(), strict=True):
        u = a & 0xFFFFFFFF
        row = [
            32 - u.bit_length(), u.bit_count(), int(f"{u:032b}"[::-1], 2), (u & -u).bit_length(), a * b >> 32,
            _sign_extended(a, 24) * _sign_extended(b, 24), (a + b) >> 1, (a + b + 1) >> 1, _permuted(a, b, c),
            abs(a - b) + c, abs(a),
        ]  # fmt: skip
        table.append([_sign_extended(v, 32) for v in row])
    return np.array(table).T


def _words(rng: Rng) -> Any:
    x, y, z = rng.integers(-(2**31), 2**31, (3, N)).astype("i4")
    x[:4] = [0, 1, -1, 1 << 20]
    return [x, y, z]


rows("libdevice integers", integer_functions, _words, _integer_functions, 11, "f4", result="i4")


@triton.jit
def unsigned_functions(x, y, z, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i).to(tl.uint32, bitcast=True)
    b = tl.load(y + i).to(tl.uint32, bitcast=True)
    c = tl.load(z + i).to(tl.uint32, bitcast=True)
    o = out + i
    tl.store(o, libdevice.mulhi(a, b))
    tl.store(o + N, libdevice.mul24(a, b))
    tl.store(o + 2 * N, libdevice.hadd(a, b))
    tl.store(o + 3 * N, libdevice.rhadd(a, b))
    tl.store(o + 4 * N, libdevice.sad(a, b, c))


rows("libdevice unsigned integers", unsigned_functions, _words, lambda x, y, z: np.array([
    [(a * b >> 32), (a & 0xFFFFFF) * (b & 0xFFFFFF) & 0xFFFFFFFF, (a + b) >> 1, (a + b + 1) >> 1,
     (abs(a - b) + c) & 0xFFFFFFFF]
    for a, b, c in zip(*(v.view("u4").tolist() for v in (x, y, z)), strict=True)]).T, 5, "f4", result="u4")  # fmt: skip


@triton.jit
def long_functions(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    o = out + i
    tl.store(o, libdevice.clz(a).to(tl.int64))
    tl.store(o + N, libdevice.popc(a).to(tl.int64))
    tl.store(o + 2 * N, libdevice.brev(a))
    tl.store(o + 3 * N, libdevice.ffs(a).to(tl.int64))
    tl.store(o + 4 * N, libdevice.mulhi(a, b))
    tl.store(o + 5 * N, libdevice.mulhi(a.to(tl.uint64, bitcast=True), b.to(tl.uint64, bitcast=True)).to(tl.int64))
    tl.store(o + 6 * N, libdevice.abs(a))


def _long_functions(xs: Any, ys: Any) -> Any:
    table = []
    for a, b in zip(xs.tolist(), ys.tolist(), strict=True):
        u, w = a & (2**64 - 1), b & (2**64 - 1)
        row = [64 - u.bit_length(), u.bit_count(), int(f"{u:064b}"[::-1], 2), (u & -u).bit_length(), a * b >> 64,
               u * w >> 64, abs(a)]  # fmt: skip
        table.append([_sign_extended(v, 64) for v in row])
    return np.array(table, np.int64).T


rows("libdevice long integers", long_functions, lambda rng: list(rng.integers(-(2**63), 2**63 - 1, (2, N))),
     _long_functions, 7, "f4", result="i8")  # fmt: skip


@triton.jit
def bit_casts(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    o = out + i
    tl.store(o, libdevice.float_as_int(a).to(tl.int64))
    tl.store(o + N, libdevice.int_as_float(libdevice.float_as_int(a) ^ 1).to(tl.int64))
    tl.store(o + 2 * N, libdevice.double_as_longlong(b))
    tl.store(o + 3 * N, libdevice.double2hiint(b).to(tl.int64))
    tl.store(o + 4 * N, libdevice.double2loint(b).to(tl.int64))
    again = libdevice.hiloint2double(libdevice.double2hiint(b), libdevice.double2loint(b))
    tl.store(o + 5 * N, libdevice.double_as_longlong(libdevice.longlong_as_double(libdevice.double_as_longlong(again))))


case(
    "libdevice bits",
    bit_casts,
    lambda rng: [rng.uniform(-9, 9, N).astype("f4"), rng.standard_normal(N), np.zeros((6, N), "i8")],
    lambda x, y, out: np.stack([
        x.view("i4").astype("i8"), (x.view("i4") ^ 1).view("f4").astype("i8"), y.view("i8"), y.view("i8") >> 32,
        y.view("i8").astype("i4").astype("i8"), y.view("i8")]),
    2,
    constants={"N": N},
    interpreter=NO_EXTERN,
)  # fmt: skip


# --- tl.math


@triton.jit
def core_math(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    o = out + i
    tl.store(o, tl.exp(a))
    tl.store(o + N, tl.exp2(a))
    tl.store(o + 2 * N, tl.log(b))
    tl.store(o + 3 * N, tl.log2(b))
    tl.store(o + 4 * N, tl.sin(a))
    tl.store(o + 5 * N, tl.cos(a))
    tl.store(o + 6 * N, tl.sqrt(b))
    tl.store(o + 7 * N, tl.rsqrt(b))
    tl.store(o + 8 * N, tl.erf(a))
    tl.store(o + 9 * N, tl.floor(a))
    tl.store(o + 10 * N, tl.ceil(a))
    tl.store(o + 11 * N, tl.fma(a, b, a))
    tl.store(o + 12 * N, tl.fdiv(a, b))
    tl.store(o + 13 * N, tl.abs(a))
    tl.store(o + 14 * N, tl.sigmoid(a.to(tl.float32)).to(out.dtype.element_ty))


def _core(x: Any, y: Any) -> Any:
    return [
        np.exp(x), np.exp2(x), np.log(y), np.log2(y), np.sin(x), np.cos(x), np.sqrt(y), 1 / np.sqrt(y),
        special().erf(x), np.floor(x), np.ceil(x), x * y + x, x / y, np.abs(x),
        (1 / (1 + np.exp(-x.astype("f4").astype("f8")))).astype("f4"),
    ]  # fmt: skip


def _core_pairs(rng: Rng) -> Any:
    x, y = _real(rng), rng.uniform(1e-3, 50, N)
    x[2] = 7.0  # libm and polynomials agree on the rest of the special numbers
    return [x, y]


rows("tl.math", core_math, _core_pairs, _core, 15, "f4", interpreter="", rtol=2e-6, atol=1e-7)
rows("tl.math", core_math, _core_pairs, _core, 15, "f8", interpreter="", rtol=3e-7)  # tl.sigmoid is of f32


@triton.jit
def rounded_division(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(x + i)
    b = tl.load(y + i)
    tl.store(out + i, tl.div_rn(a, b))
    tl.store(out + N + i, tl.sqrt_rn(b))
    tl.store(out + 2 * N + i, a / b)


rows("div_rn and sqrt_rn", rounded_division, lambda rng: [rng.uniform(-9, 9, N), rng.uniform(0.1, 9, N)],
     lambda a, b: [a / b, np.sqrt(b), a / b], 3, "f4", rtol=0.0, atol=0.0, interpreter="")  # fmt: skip
