"""Special functions, and arithmetic that is less common still: gamma functions, roots of numbers, parts of floats.

The gamma functions, Bessel functions and the inverse of the error function are computed in float64 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Unpack

import numpy as np

from opweave.registry import dtypes
from opweave.registry.dtypes import DType, get_default_dtype
from opweave.registry.errors import ArgumentError, DataDependentError, DTypeError
from opweave.registry.op import ops
from opweave.registry.ops.kinds import INT_TO_FLOAT, before_write, composite, extern, pointwise
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.ops.pointwise import conjugate, dropped, zeros
from opweave.registry.ops.reduction import rounded
from opweave.registry.promote import GREATEST, broadcast_shapes, pointwise_strides, result_type
from opweave.registry.scalar import erfc_tail
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, allocate_like, describe

Make = Callable[..., Tensor]
aten = ops.aten


# ---- comparisons and roots -----------------------------------------------------------------------------------------


@composite(
    "aten::isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor"
)
def isclose(self: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Where elements are equal, or finite with `|self - other| <= atol + rtol * |other|`."""
    if self._dtype is not other._dtype:
        raise DTypeError("isclose: expected one dtype", got=describe([self, other]), hint="convert one with .to(dtype)")
    if not (rtol >= 0 and atol >= 0):
        raise ArgumentError("isclose: a tolerance must not be negative", got=f"rtol={rtol}, atol={atol}")
    close = aten.eq.Tensor(self, other)
    if equal_nan and self._dtype.kind in "fc":
        both = aten.logical_and.default(aten.isnan.default(self), aten.isnan.default(other))
        close = aten.logical_or.default(close, both)
    if rtol == 0 and atol == 0:
        return close
    a: Any = self
    b: Any = other
    if self._dtype.kind in "bui":
        b = aten._to_copy.default(b, dtype=get_default_dtype())
        a = aten._to_copy.default(a, dtype=get_default_dtype()) if self._dtype.kind == "b" else a
    allowed = atol + aten.abs.default(b * rtol)
    error = aten.abs.default(a - b)
    near = aten.logical_and.default(aten.isfinite.default(error), aten.le.Tensor(error, allowed))
    return aten.logical_or.default(close, near)


def _truth(found: Any, hint: str) -> bool:
    try:
        return bool(found)
    except DataDependentError as error:
        error.hint = hint  # one that can be traced
        raise


@composite(
    "aten::allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool",
    tags="data_dependent_output",
)
def allclose(self: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close, as `isclose` says."""
    found = aten.all.default(isclose.body(self, other, rtol, atol, equal_nan))
    return _truth(found, "isclose(...).all() gives a tensor, which can be traced")


@composite("aten::equal(Tensor self, Tensor other) -> bool", tags=("data_dependent_output", "pointwise"))
def equal(self: Tensor, other: Tensor) -> bool:
    """Whether both have the same sizes and elements; NaN equals nothing."""
    if self._sizes != other._sizes:
        return False
    found = aten.all.default(aten.eq.Tensor(self, other))
    return _truth(found, "(x == y).all() gives a tensor, which can be traced; isclose(x, y).all() with a tolerance")


@pointwise("aten::fmax(Tensor self, Tensor other) -> Tensor", kinds="buif", inplace=False)
def fmax(k: Any, x: Any, y: Any) -> Any:
    """The larger, or the one that is a number."""
    return k.where(y != y, x, k.where(x != x, y, k.maximum(x, y)))


@pointwise("aten::fmin(Tensor self, Tensor other) -> Tensor", kinds="buif", inplace=False)
def fmin(k: Any, x: Any, y: Any) -> Any:
    """The smaller, or the one that is a number."""
    return k.where(y != y, x, k.where(x != x, y, k.minimum(x, y)))


def _chosen_by(compare: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def first(grad: Any, self: Any, other: Any) -> Any:
        chosen = aten.logical_or.default(getattr(aten, compare).Tensor(self, other), aten.ne(other, other))
        return aten.masked_fill.Scalar(grad, aten.logical_not.default(chosen), 0)

    def second(grad: Any, self: Any, other: Any) -> Any:
        chosen = aten.logical_or.default(getattr(aten, compare).Tensor(self, other), aten.ne(other, other))
        return aten.masked_fill.Scalar(grad, chosen, 0)

    return first, second


for _decl, _compare in ((fmax, "ge"), (fmin, "le")):
    _first, _second = _chosen_by(_compare)
    _decl.backward(self=_first, other=_second)


@pointwise("aten::hypot(Tensor self, Tensor other) -> Tensor", kinds="f")
def hypot(k: Any, x: Any, y: Any) -> Any:
    """√(x² + y²), which overflows only where the result does."""
    a, b = k.abs(x), k.abs(y)
    large, small = k.maximum(a, b), k.minimum(a, b)
    dtype = k.dtype(x)
    zero = k.const(0.0, dtype)
    ratio = small / k.where(large == zero, k.const(1.0, dtype), large)
    found = large * k.sqrt(1 + ratio * ratio)
    return k.where(k.isinf(x) | k.isinf(y), k.const(math.inf, dtype), found)


hypot.backward(
    self=lambda grad, self, result: grad * (self / result), other=lambda grad, other, result: grad * (other / result)
)


@pointwise("aten::logaddexp2(Tensor self, Tensor other) -> Tensor", kinds="f", inplace=False)
def logaddexp2(k: Any, x: Any, y: Any) -> Any:
    """log2(2^x + 2^y)."""
    tail = k.log1p(k.exp2(-k.abs(x - y))) * (1 / math.log(2))
    return k.where((x == y) & k.isinf(x), x, k.maximum(x, y) + tail)


def _share2(grad: Any, self: Any, other: Any) -> Any:
    return grad / (1 + aten.exp2.default(other - self))


logaddexp2.backward(self=_share2, other=lambda grad, self, other: _share2(grad, other, self))


@pointwise("aten::special_xlog1py(Tensor self, Tensor other) -> Tensor", kinds="f", promote=INT_TO_FLOAT, inplace=False)
def special_xlog1py(k: Any, x: Any, y: Any) -> Any:
    """x log(1 + y), 0 where x is."""
    product = x * k.log1p(y)
    return k.where(y != y, y, k.where(x == 0, k.const(0.0, k.dtype(product)), product))


def _xlog1py_self(grad: Tensor, self: Any, other: Any) -> Tensor:
    slope = aten.special_xlog1py.default(grad, other)
    if isinstance(other, Tensor):
        return dropped(aten.logical_and.default(aten.eq(self, 0), aten.le.Scalar(other, -1)), slope)
    return slope if other > -1 else dropped(aten.eq.Scalar(self, 0), slope)


special_xlog1py.backward(self=_xlog1py_self, other=lambda grad, self, other: grad * self / (other + 1))


def _declare_numbers(name: str, into: Any, **traits: Unpack[Traits]) -> None:
    """The forms of a special function of two arguments that take a number for one."""
    rest = {"self": "Scalar self, Tensor other", "other": "Tensor self, Scalar other"}
    for which, arguments in rest.items():
        said: Traits = {"outs": f"{which}_scalar_out", **traits}

        @composite(f"aten::{name}.{which}_scalar({arguments}) -> Tensor", **said)
        def number(self: Any, other: Any) -> Tensor:
            return into(self, other)


_declare_numbers("special_xlog1py", special_xlog1py.op, tags="pointwise")


@composite("aten::special_xlogy(Tensor self, Tensor other) -> Tensor", outs="out")
def special_xlogy(self: Tensor, other: Tensor) -> Tensor:
    """x log(y), 0 where x is."""
    return aten.xlogy.Tensor(self, other)


_declare_numbers("special_xlogy", aten.xlogy.Tensor)


# ---- angles, logits ------------------------------------------------------------------------------------------------


def _parts_type(*operands: Any) -> tuple[DType, DType]:
    common = result_type(*operands)
    if common.kind in "bui":
        common = get_default_dtype()
    return common.compute, common.to_real() if common.kind == "c" else common


@pointwise("aten::angle(Tensor self) -> Tensor", promote=_parts_type, inplace=False)
def angle(k: Any, x: Any) -> Any:
    """The angle of complex numbers, between -π and π; π for negative real numbers, and 0 for others."""
    dtype = k.dtype(x)
    if dtype.kind == "c":
        return k.atan2(k.imag(x), k.real(x))
    zero = k.const(0.0, dtype)
    return k.where(x != x, x, k.where(x < zero, k.const(math.pi, dtype), zero))


@angle.backward
def _angle_backward(grad: Any, self: Any) -> tuple[Tensor]:
    if self._dtype.kind != "c":
        return (aten.zeros_like.default(grad),)
    size = aten.abs.default(self)
    zero = aten.eq.Scalar(size, 0)
    turned = self * (grad / aten.masked_fill.Scalar(size * size, zero, 1)) * 1j
    return (aten.masked_fill.Scalar(turned, zero, 0),)


def _pair_type(op: str) -> Callable[..., tuple[DType, DType]]:
    def types(first: Any, second: Any) -> tuple[DType, DType]:
        dtypes_of = {t._dtype if isinstance(t, Tensor) else result_type(t) for t in (first, second)}
        dtype = dtypes_of.pop()
        if dtypes_of or dtype not in (dtypes.float32, dtypes.float64):
            raise DTypeError(f"{op}: expected two of float32 or two of float64", got=describe([first, second]))
        return dtype, dtype.to_complex()

    return types


@pointwise("aten::complex(Tensor real, Tensor imag) -> Tensor", promote=_pair_type("complex"), inplace=False)
def complex_(k: Any, real: Any, imag: Any) -> Any:
    """Complex numbers of their parts."""
    return k.complex(real, imag)


complex_.backward(
    real=lambda grad: aten.real.default(grad), imag=lambda grad: aten.imag.default(grad)
)  # fmt: skip


@pointwise(
    "aten::polar(Tensor abs, Tensor angle) -> Tensor",
    promote=_pair_type("polar"),
    inplace=False,
    autocast={"cpu": "fp32"},
)
def polar(k: Any, abs: Any, angle: Any) -> Any:
    """Complex numbers of their absolute values and angles."""
    return k.complex(abs * k.cos(angle), abs * k.sin(angle))


def _along(grad: Any, direction: Any) -> Tensor:
    return aten.real.default(aten.conj_physical.default(grad) * direction)


polar.backward(
    abs=lambda grad, result: _along(grad, aten.sgn.default(result)),
    angle=lambda grad, result: _along(grad, result * 1j),
)


@pointwise("aten::deg2rad(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT)
def deg2rad(k: Any, x: Any) -> Any:
    return x * (math.pi / 180)


@pointwise("aten::rad2deg(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT)
def rad2deg(k: Any, x: Any) -> Any:
    return x * (180 / math.pi)


deg2rad.backward(self=lambda grad: grad * (math.pi / 180))
rad2deg.backward(self=lambda grad: grad * (180 / math.pi))


@pointwise("aten::sinc(Tensor self) -> Tensor", kinds="buifc", promote=INT_TO_FLOAT)
def sinc(k: Any, x: Any) -> Any:
    """sin(πx) / (πx), 1 at 0."""
    dtype = k.dtype(x)
    zero, one = k.const(0.0, dtype), k.const(1.0, dtype)
    product = x * math.pi
    return k.where(x == zero, one, k.sin(product) / k.where(x == zero, one, product))


@sinc.backward
def _sinc_backward(grad: Any, self: Any) -> tuple[Tensor]:
    product = self * math.pi
    slope = (product * aten.cos.default(product) - aten.sin.default(product)) / (product * self)
    return (aten.masked_fill.Scalar(grad * conjugate(slope), aten.eq.Scalar(self, 0), 0),)


@pointwise("aten::logit(Tensor self, float? eps=None) -> Tensor", kinds="buif", promote=INT_TO_FLOAT)
def logit(k: Any, x: Any, eps: float | None) -> Any:
    """log(x / (1 - x)), of x that is brought into [eps, 1 - eps] first."""
    dtype = k.dtype(x)
    if eps is not None:
        low, high = k.const(eps, dtype), k.const(1 - eps, dtype)
        x = k.where(x < low, low, k.where(x > high, high, x))
    return k.log(x / (1 - x))


@logit.backward
def _logit_backward(grad: Any, self: Any, eps: float | None) -> tuple[Tensor]:
    slope = grad / (self * (1 - self))
    low, high = (0.0, 1.0) if eps is None else (eps, 1.0 - eps)
    outside = aten.logical_or.default(aten.lt.Scalar(self, low), aten.gt.Scalar(self, high))
    return (aten.masked_fill.Scalar(slope, outside, float("nan") if eps is None else 0.0),)


# ---- gamma functions -----------------------------------------------------------------------------------------------

#: From here on Stirling's series is exact to the last digits.
_FAR = 10
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def _series(coefficients: Sequence[float], square: Any) -> Any:
    total: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * square + c
    return total


@pointwise("aten::lgamma(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT)
def lgamma(k: Any, x: Any) -> Any:
    """log |Γ(x)|, by Stirling's series; of numbers below 1/2 by reflection."""
    f64 = dtypes.float64
    wide = k.cast(x, f64)
    half, one, far = (k.const(c, f64) for c in (0.5, 1.0, float(_FAR)))
    mirrored = wide < half
    z = k.where(mirrored, one - wide, wide)
    near = z < far
    product: Any = k.where(near, z, one)
    for step in range(1, _FAR):
        product = product * k.where(near, z + float(step), one)
    s = k.where(near, z + float(_FAR), z)
    inverse = one / s
    found = (s - half) * k.log(s) - s + 0.5 * math.log(2 * math.pi) + inverse * _series(_STIRLING, inverse * inverse)
    found = found - k.log(product)
    # The distance to the nearest whole number keeps the sine's digits.
    rest = wide - k.round(wide)
    reflected = math.log(math.pi) - k.log(k.abs(k.sin(rest * math.pi))) - found
    found = k.where(mirrored, reflected, found)
    pole = mirrored & (rest == k.const(0.0, f64))
    found = k.where(pole | k.isinf(wide), k.const(math.inf, f64), found)
    # Near 0 it is that of 1 / x, where the sine has lost its digits.
    size = k.abs(wide)
    tiny = (size < k.const(1e-20, f64)) & (size > k.const(0.0, f64))
    found = k.where(tiny, -k.log(k.where(tiny, size, one)), found)
    # At 1 and 2 it is 0.
    found = k.where((wide == one) | (wide == k.const(2.0, f64)), k.const(0.0, f64), found)
    return k.cast(found, k.dtype(x))


@pointwise("aten::digamma(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT)
def digamma(k: Any, x: Any) -> Any:
    """The derivative of log Γ(x)."""
    f64 = dtypes.float64
    wide = k.cast(x, f64)
    zero, half, one, far = (k.const(c, f64) for c in (0.0, 0.5, 1.0, float(_FAR)))
    mirrored = wide < zero
    z = k.where(mirrored, one - wide, wide)
    near = z < far
    total: Any = k.where(near, one / k.where(z == zero, one, z), zero)
    for step in range(1, _FAR):
        total = total + k.where(near, one / (z + float(step)), zero)
    s = k.where(near, z + float(_FAR), z)
    inverse = one / s
    found = k.log(s) - half * inverse - inverse * inverse * _series(_DIGAMMA, inverse * inverse) - total
    rest = wide - k.round(wide)
    angle = rest * math.pi
    found = k.where(mirrored, found - math.pi * (k.cos(angle) / k.sin(angle)), found)
    found = k.where(mirrored & (rest == zero), k.const(math.nan, f64), found)
    signed = k.where(k.signbit(wide), k.const(math.inf, f64), k.const(-math.inf, f64))
    found = k.where(wide == zero, signed, found)
    found = k.where(wide == k.const(math.inf, f64), k.const(math.inf, f64), found)
    found = k.where(wide == k.const(-math.inf, f64), k.const(math.nan, f64), found)
    return k.cast(found, k.dtype(x))


def _polygamma_spec(n: int, self: Tensor) -> TensorSpec:
    if n < 0:
        raise ArgumentError("polygamma: n must not be negative", got=f"n={n}")
    if self._dtype.kind == "c":
        raise DTypeError("polygamma: not defined for complex numbers", got=describe(self))
    dtype = self._dtype if self._dtype.kind == "f" else get_default_dtype()
    return TensorSpec(self._sizes, pointwise_strides(self._sizes, [self]), dtype, self._device)


@extern("aten::polygamma(int n, Tensor self) -> Tensor", spec=_polygamma_spec, tags="pointwise")
def polygamma(n: int, self: Tensor) -> Tensor:
    """The n-th derivative of the digamma function; NaN below -1e6, if n is 2 or more."""
    out = allocate_like(_polygamma_spec(n, self))
    if n == 0:
        out._array[...] = aten._to_copy.default(aten.digamma.default(self), dtype=out._dtype)._array
        return out
    xp, order = self._device.xp, n + 1
    x = self._array.astype(np.float64)
    with np.errstate(all="ignore"):
        # Σ 1 / (x + i)^(n + 1), up to where the rest is Euler's and Maclaurin's; terms below 0 are added too.
        # Of what is mirrored, and of what is too far below 0 to add up to, below.
        mirrored = (x < 0) & (n == 1)
        total, at = xp.zeros_like(x), xp.where(mirrored, 1 - x, x + 0.0)  # of both zeros the same
        far = at < -1e6
        low = (at < 12) & ~far
        while bool(low.any()):
            total = total + xp.where(low, at ** -float(order), 0.0)
            at = xp.where(low, at + 1, at)
            low = (at < 12) & ~far
        tail = at ** (1.0 - order) / (order - 1) + 0.5 * at ** -float(order)
        factor, power = float(order), at ** -float(order + 1)
        for j, b in enumerate(_BERNOULLI, 1):
            tail = tail + b / math.factorial(2 * j) * factor * power
            factor *= (order + 2 * j - 1) * (order + 2 * j)
            power = power / (at * at)
        found = (-1.0) ** order * math.factorial(n) * (total + tail)
        # ψ'(x) + ψ'(1 - x) = (π / sin πx)²
        turned = math.pi / xp.sin(math.pi * (x - xp.round(x)))
        found = xp.where(mirrored, turned * turned - found, found)
        out._array[...] = xp.where(far, np.nan, found)
    return out


lgamma.backward(self=lambda grad, self: grad * aten.digamma.default(self))
digamma.backward(self=lambda grad, self: grad * aten.polygamma.default(1, self))
polygamma.backward(self=lambda grad, n, self: grad * aten.polygamma.default(n + 1, self))


# ---- the inverse of the error function -----------------------------------------------------------------------------


@pointwise("aten::erfinv(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT, autocast={"cuda": "fp32"})
def erfinv(k: Any, x: Any) -> Any:
    """The y with erf(y) = x: an approximation by logarithms (Winitzki 2008), made exact by Halley's method."""
    f64 = dtypes.float64
    wide = k.cast(x, f64)
    one = k.const(1.0, f64)
    size = k.abs(wide)
    inner = k.where(size < one, size, k.const(0.5, f64))
    logs = k.log1p(-inner * inner)
    a = 0.147
    b = 2 / (math.pi * a) + 0.5 * logs
    y = k.sqrt(k.maximum(k.sqrt(b * b - logs * (1 / a)) - b, k.const(0.0, f64)))
    for _ in range(2):
        # Beyond 1 by the complement, of which digits are left.
        tail = y > one
        at = k.maximum(y, k.const(1.25, f64))
        error = k.where(y > k.const(1.25, f64), (one - inner) - erfc_tail(k, at), k.erf(y) - inner)
        error = k.where(tail & (y <= k.const(1.25, f64)), k.erf(y) - inner, error)
        step = error / ((2 / math.sqrt(math.pi)) * k.exp(-y * y))
        y = y - step / (1 + y * step)
    found = k.where(k.signbit(wide), -y, y)
    found = k.where(size == one, k.where(k.signbit(wide), k.const(-math.inf, f64), k.const(math.inf, f64)), found)
    return k.cast(k.where(size <= one, found, k.const(math.nan, f64)), k.dtype(x))


erfinv.backward(
    self=lambda grad, self: grad * (math.sqrt(math.pi) / 2) * aten.exp.default(aten.erfinv.default(self) ** 2)
)  # fmt: skip


# ---- modified Bessel functions -------------------------------------------------------------------------------------

#: From here on the series in 1 / x is exact to the last digits.
_FAR_BESSEL = 20.0


def _bessel(k: Any, x: Any, order: int, scaled: bool) -> Any:
    """The function of the first kind, by its power series of positive terms; `scaled` is divided by exp(|x|)."""
    f64 = dtypes.float64
    wide = k.cast(x, f64)
    size = k.abs(wide)
    far = size > k.const(_FAR_BESSEL, f64)
    z = k.where(far, k.const(0.0, f64), size)
    found = _series([1.0 / (math.factorial(i) * math.factorial(i + order)) for i in range(38)], z * z * 0.25)
    found = found * (0.5 * z) if order else found
    found = found * k.exp(-z) if scaled else found
    # Hankel's expansion, whose terms fall until there are twice as many as x.
    terms = [1.0]
    for i in range(1, 26):
        terms.append(terms[-1] * ((2 * i - 1) ** 2 - 4 * order) / (8 * i))
    y = k.where(far, size, k.const(_FAR_BESSEL, f64))
    tail = _series(terms, 1.0 / y) / (k.sqrt(y) * math.sqrt(2 * math.pi))
    if not scaled:
        half = k.exp(0.5 * y)  # twice, since the exponential overflows before the result does
        infinite = k.isinf(y)
        tail = k.where(infinite, y, k.where(infinite, k.const(1.0, f64), tail) * half * half)
    found = k.where(far, tail, found)
    found = k.where(k.signbit(wide), -found, found) if order else found
    return k.cast(k.where(wide != wide, wide, found), k.dtype(x))


@pointwise("aten::i0(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT)
def i0(k: Any, x: Any) -> Any:
    """The modified Bessel function of the first kind and order 0."""
    return _bessel(k, x, 0, False)


@pointwise("aten::special_i0e(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT, inplace=False)
def special_i0e(k: Any, x: Any) -> Any:
    """exp(-|x|) I0(x)."""
    return _bessel(k, x, 0, True)


@pointwise("aten::special_i1(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT, inplace=False)
def special_i1(k: Any, x: Any) -> Any:
    """The modified Bessel function of the first kind and order 1."""
    return _bessel(k, x, 1, False)


@pointwise("aten::special_i1e(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT, inplace=False)
def special_i1e(k: Any, x: Any) -> Any:
    """exp(-|x|) I1(x)."""
    return _bessel(k, x, 1, True)


@composite("aten::special_i0(Tensor self) -> Tensor", outs="out")
def special_i0(self: Tensor) -> Tensor:
    """The modified Bessel function of the first kind and order 0."""
    return aten.i0.default(self)


def _over(value: Any, x: Any, at_zero: float) -> Any:
    """The quotient, and its limit at 0."""
    zero = aten.eq.Scalar(x, 0)
    return aten.masked_fill.Scalar(value / aten.masked_fill.Scalar(x, zero, 1), zero, at_zero)


i0.backward(self=lambda grad, self: grad * aten.special_i1.default(self))
special_i0e.backward(
    self=lambda grad, self, result: grad * (aten.special_i1e.default(self) - aten.sgn.default(self) * result)
)
special_i1.backward(self=lambda grad, self, result: grad * (aten.i0.default(self) - _over(result, self, 0.5)))
special_i1e.backward(
    self=lambda grad, self, result: (
        grad * (aten.special_i0e.default(self) - aten.sgn.default(self) * result - _over(result, self, 0.5))
    )
)


# ---- whole numbers and parts of floats -----------------------------------------------------------------------------


def _pair_spec(name: str, kinds: str) -> Callable[..., TensorSpec]:
    def spec(self: Tensor, other: Tensor) -> TensorSpec:
        dtype = result_type(self, other)
        if dtype.kind not in kinds:
            raise DTypeError(f"{name}: not defined for {dtype.name}", got=describe([self, other]))
        shape = broadcast_shapes(name, self._sizes, other._sizes)
        return TensorSpec(shape, pointwise_strides(shape, [self, other]), dtype, self._device)

    return spec


def _declare_pair(name: str, kinds: str, function: Callable[[Any], Any]) -> None:
    spec = _pair_spec(name, kinds)

    @extern(f"aten::{name}(Tensor self, Tensor other) -> Tensor", spec=spec, tags="pointwise")
    def pair(self: Tensor, other: Tensor) -> Tensor:
        out = allocate_like(spec(self, other))
        wide = out._dtype.numpy
        out._array[...] = function(self._device.xp)(self._array.astype(wide), other._array.astype(wide))
        return out

    @composite(f"aten::{name}_(Tensor(a!) self, Tensor other) -> Tensor(a!)")
    def written(self: Tensor, other: Tensor) -> Tensor:
        return aten.copy_.default(self, getattr(aten, name).default(self, other))

    pair.backward() if kinds == "ui" else pair.backward(self=zeros, other=zeros)


_declare_pair("gcd", "ui", lambda xp: xp.gcd)
_declare_pair("lcm", "ui", lambda xp: xp.lcm)


@composite("aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor", tags="pointwise", outs="out")
def ldexp(self: Any, other: Any) -> Any:
    """x 2^y; of a whole y rounded once, and no larger a type than that of x, whatever 2^y is by itself."""
    dtype = result_type(self, other)
    if other._dtype.kind not in "bui" or dtype.kind != "f":
        return self * aten.pow.Scalar(2.0, other)
    # Powers that float64 holds; together they go from its largest number to 0 and back.
    rest = aten.clamp.default(aten._to_copy.default(other, dtype=dtypes.float64), -2200, 2200)
    wide = rounded(self, dtypes.float64)
    for _ in range(3):
        step = aten.clamp.default(rest, -1000, 1000)
        wide, rest = wide * aten.pow.Scalar(2.0, step), rest - step
    return rounded(wide, dtype)


@composite("aten::ldexp_(Tensor(a!) self, Tensor other) -> Tensor(a!)", tags="pointwise")
def ldexp_(self: Tensor, other: Tensor) -> Tensor:
    if self._dtype.kind != "f":
        return aten.mul_.Tensor(self, aten.pow.Scalar(2.0, other))  # says what is not allowed
    return aten.copy_.default(self, rounded(aten.ldexp.Tensor(before_write(self, other), other), self._dtype))


def _exponent_type(x: Any) -> tuple[DType, DType]:
    return result_type(x).compute, dtypes.int32


def _scaled(k: Any, x: Any) -> tuple[Any, Any]:
    """(|x| brought between 1/2 and 1 by a power of 2, the power), in float64, where no step rounds."""
    f64 = dtypes.float64
    wide, power = k.abs(k.cast(x, f64)), k.const(0.0, f64)
    for step in (512, 256, 128, 64, 32, 16, 8, 4, 2, 1):
        large = wide >= k.const(2.0**step, f64)
        wide, power = k.where(large, wide * 2.0**-step, wide), k.where(large, power + float(step), power)
    for step in (512, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1):
        small = wide < k.const(2.0 ** (1 - step), f64)
        wide, power = k.where(small, wide * 2.0**step, wide), k.where(small, power - float(step), power)
    return wide * 0.5, power + 1.0


@pointwise("aten::_mantissa(Tensor self) -> Tensor", kinds="f", inplace=False, out=False)
def _mantissa(k: Any, x: Any) -> Any:
    size = k.cast(_scaled(k, x)[0], k.dtype(x))
    return k.where(k.isfinite(x) & (x != k.const(0.0, k.dtype(x))), k.where(k.signbit(x), -size, size), x)


@pointwise("aten::_exponent(Tensor self) -> Tensor", kinds="f", promote=_exponent_type, inplace=False, out=False)
def _exponent(k: Any, x: Any) -> Any:
    power = _scaled(k, x)[1]
    found = k.where(k.isfinite(x) & (x != k.const(0.0, k.dtype(x))), power, k.const(0.0, dtypes.float64))
    return k.cast(found, dtypes.int32)


def _check_frexp(self: Tensor) -> None:
    if self._dtype.kind != "f":
        raise DTypeError("frexp: expected a floating type", got=describe(self), hint="x.to(float32)")


def _frexp_kernel(self: Tensor) -> tuple[Tensor, Tensor]:
    _check_frexp(self)
    strides = pointwise_strides(self._sizes, [self])
    mantissa, exponent = (
        allocate_like(TensorSpec(self._sizes, strides, dtype, self._device)) for dtype in (self._dtype, dtypes.int32)
    )
    xp, values = self._device.xp, self._array.astype(self._dtype.compute.numpy, copy=False)
    parts, powers = xp.frexp(values)
    mantissa._array[...] = parts
    exponent._array[...] = xp.where(xp.isfinite(values), powers, 0)
    return mantissa, exponent


@composite(
    "aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
    explicit=True,
    kernel=_frexp_kernel,
    tags="pointwise",
    outs=("Tensor_out", "mantissa", "exponent"),
)
def frexp(self: Tensor) -> tuple[Tensor, Tensor]:
    """(m, e) with x = m 2^e and m between 1/2 and 1 in size; zeros, infinities and NaN go with an exponent of 0."""
    _check_frexp(self)
    return aten._mantissa.default(self), aten._exponent.default(self)


@frexp.backward
def _frexp_backward(grad: Any, self: Any, result1: Any) -> tuple[Tensor]:
    return (grad / aten.exp2.default(aten._to_copy.default(result1, dtype=grad._dtype)),)


#: By type: half of the distance from 1 to the next number, and the least number above 0.
_SPACING = {
    "float16": (2.0**-11, 2.0**-24), "bfloat16": (2.0**-8, 2.0**-133), "float32": (2.0**-24, 2.0**-149),
    "float64": (2.0**-53, 2.0**-1074),
}  # fmt: skip


def _unwidened(*operands: Any) -> tuple[DType, DType]:
    # What comes next depends on the type itself, so half types are widened by the body.
    common = result_type(*operands)
    return common, common


@pointwise("aten::nextafter(Tensor self, Tensor other) -> Tensor", kinds="f", promote=_unwidened)
def nextafter(k: Any, x: Any, y: Any) -> Any:
    """The next number of the type in the direction of the other (after Rump, Zimmermann, Boldo and Melquiond 2009)."""
    own = k.dtype(y if isinstance(x, (bool, int, float)) else x)
    unit, least = _SPACING[own.name]
    dtype = own.compute
    x, y = k.cast(x, dtype), k.cast(y, dtype)
    factor = unit * (1 + 2 * unit)
    up = y > x
    start = k.where(up, x, -x)
    size = k.abs(start)
    # The sum is rounded to the next number, of small ones after scaling, and of the smallest steps are all alike.
    scaled = start * (1 / unit)
    middle = (scaled + k.abs(scaled) * factor) * unit
    near = k.where(size < k.const(least / unit, dtype), start + k.const(least, dtype), middle)
    above = k.where(size < k.const(least / unit / unit * 0.5, dtype), near, start + size * factor)
    above = k.where(k.isinf(start), k.const(-GREATEST[own.name], dtype), above)
    found = k.where(x == y, y, k.where(up, above, -above))
    found = k.where((found == k.const(0.0, dtype)) & (x != y), x * 0.0, found)  # a zero keeps the sign it comes from
    return k.cast(k.where((x != x) | (y != y), k.const(math.nan, dtype), found), own)


nextafter.backward(self=lambda grad, self, other: dropped(aten.eq(self, other), grad), other=zeros)


def _double(x: Any) -> Any:
    if isinstance(x, Tensor):
        return aten._to_copy.default(x, dtype=dtypes.complex128 if x._dtype.kind == "c" else dtypes.float64)
    return x


@composite("aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", tags="pointwise")
def float_power_number(self: Tensor, exponent: Any) -> Tensor:
    return aten.pow.Tensor_Scalar(_double(self), exponent)


@composite("aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor", tags="pointwise")
def float_power_of_number(self: Any, exponent: Tensor) -> Tensor:
    return aten.pow.Scalar(self, _double(exponent))


@composite("aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", tags="pointwise")
def float_power(self: Tensor, exponent: Tensor) -> Tensor:
    """The power in double precision."""
    return aten.pow.Tensor_Tensor(_double(self), _double(exponent))


@composite("aten::positive(Tensor(a) self) -> Tensor(a)", tags="pointwise")
def positive(self: Tensor) -> Tensor:
    """The tensor itself."""
    if self._dtype.kind == "b":
        raise DTypeError("positive: not defined for bools", got=describe(self))
    return self


@composite("aten::isreal(Tensor self) -> Tensor")
def isreal(self: Tensor) -> Tensor:
    """Whether the imaginary part is 0."""
    if self._dtype.kind == "c":
        return aten.eq.Scalar(aten.imag.default(self), 0)
    return aten.ones_like.default(self, dtype=dtypes.bool_)


# ---- functions of the package --------------------------------------------------------------------------------------


def isclose_function(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:  # fmt: skip
    """Where `|input - other| <= atol + rtol * |other|`, or both are equal.

    Parameters
    ----------
    input, other : Tensor
        Of one dtype.
    rtol, atol : float
        Relative and absolute tolerance.
    equal_nan : bool
        Whether NaN equals NaN.
    """
    return aten.isclose.default(input, other, rtol, atol, equal_nan)


def allclose_function(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether `isclose` holds everywhere; a trace, which does not know, takes `isclose(...).all()`.

    Parameters
    ----------
    input, other : Tensor
        Of one dtype.
    rtol, atol : float
        Relative and absolute tolerance.
    equal_nan : bool
        Whether NaN equals NaN.
    """
    return aten.allclose.default(input, other, rtol, atol, equal_nan)


def equal_function(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same sizes and elements; NaN equals nothing.

    Parameters
    ----------
    input, other : Tensor
    """
    return aten.equal.default(input, other)


#: Functions of the package, and methods, that call their first argument `input`.
METHODS: dict[str, Callable[..., Any]] = {
    "isclose": isclose_function,
    "allclose": allclose_function,
    "equal": equal_function,
}


# ---- samples -------------------------------------------------------------------------------------------------------


def _pairs(make: Make) -> Iterable[Any]:
    return [((make(3, 4), make(4, low=0.5, high=2.0)), {})]


for _decl in (fmax, fmin, hypot, logaddexp2):
    _decl.with_samples(_pairs)
    _decl.sample_dtypes = (dtypes.float32,)


def _alone(make: Make) -> Iterable[Any]:
    return [((make(3, 4, low=0.1, high=0.9),), {}), ((make(30, low=-6.0, high=20.0),), {})]


for _decl in (deg2rad, rad2deg, sinc, logit, lgamma, digamma, erfinv):
    _decl.with_samples(_alone)
    _decl.sample_dtypes = (dtypes.float32,)


@isclose.with_samples
def _(make: Make) -> Iterable[Any]:
    x = make(3, 4)
    yield (x, aten.add.Tensor(x, x) if x._dtype.kind == "b" else x * 1), {}
    yield (x, make(4)), {"rtol": 0.5, "atol": 1.0}
    yield (x, make()), {"rtol": 0.0, "atol": 0.0, "equal_nan": True}
    yield (x, x), {"equal_nan": True}


isclose.sample_dtypes = (dtypes.float32, dtypes.bfloat16, dtypes.int64, dtypes.uint8, dtypes.bool_, dtypes.complex64)


for _decl in (i0, special_i0e, special_i1, special_i1e):
    _decl.with_samples(lambda make: [((make(3, 4, low=-3.0, high=3.0),), {}), ((make(30, low=-40.0, high=40.0),), {})])
    _decl.sample_dtypes = (dtypes.float32,)

angle.with_samples(lambda make: [((make(3, 4),), {}), ((make(),), {}), ((make(0, 2),), {})])
angle.sample_dtypes = (dtypes.float32, dtypes.bfloat16, dtypes.int64, dtypes.bool_, dtypes.complex64)

for _decl in (complex_, polar):
    _decl.with_samples(lambda make: [((make(3, 4), make(3, 4)), {}), ((make(2, 1), make(3)), {})])
    _decl.sample_dtypes = (dtypes.float32, dtypes.float64)

nextafter.with_samples(lambda make: [((make(3, 4), make(3, 4)), {}), ((make(4), make(2, 1)), {})])
nextafter.sample_dtypes = (dtypes.float32, dtypes.float64, dtypes.bfloat16)

frexp.with_samples(lambda make: [((make(3, 4),), {}), ((make(),), {}), ((make(0, 2),), {})])
frexp.sample_dtypes = (dtypes.float32, dtypes.float64, dtypes.bfloat16)

special_xlog1py.with_samples(lambda make: [((make(3, 4), make(4, low=0)), {}), ((make(2, 1), make(3, low=0)), {})])
special_xlog1py.sample_dtypes = (dtypes.float32, dtypes.bfloat16)
