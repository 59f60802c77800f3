"""Special functions: error functions, gamma functions, Bessel functions.

The gamma functions, Bessel functions and the inverse of the error function are computed in float64 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.dtypes import get_default_dtype
from opweave.registry.errors import ArgumentError, DTypeError
from opweave.registry.native_bodies import natively
from opweave.registry.op import ops
from opweave.registry.ops.elementary import costly
from opweave.registry.ops.kinds import INT_TO_FLOAT, before_write, composite, extern, pointwise
from opweave.registry.ops.kinds.base import handler
from opweave.registry.ops.samples import Make, near_and_far
from opweave.registry.promote import pointwise_strides
from opweave.registry.scalar import converted, erfc_tail
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, allocate_like, describe

_FLOATS = (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16)
aten = ops.aten


# ---- error functions -----------------------------------------------------------------------------------------------


erf = costly("erf", kinds="f", is_strict=True).backward(
    self=lambda grad, self: ops.aten.exp.default(-(self * self)) * grad * (2 / math.sqrt(math.pi))
)

#: Where 1 - erf(x) loses digits, and where the result is below the smallest number.
_TAIL, _END = 1.2499, 28.0
# log(erfc(x) exp(x^2) / t) in t - 1/2 for t = 2 / (2 + x) on 0 <= x <= 11, absolute error 2e-10
_ERFC32 = (
    0.18481070926483623, -0.2563273610889471, -0.0909518926380972, 0.32924872257114257, -0.03667906264763201,
    -0.2990474317999422, 0.11247910605015338, 0.2823502447658352, -0.15795966158460603, -0.37516404056167457,
    0.1893731884735347, 1.3452864435278473, -0.6717940839913882,
)  # fmt: skip
_END32 = 11.0


def _polynomial(k: Any, x: Any, coefficients: Sequence[float]) -> Any:
    """By Horner's rule in float64, highest powers first."""
    found: Any = k.const(coefficients[0], dtypes.float64)
    for coefficient in coefficients[1:]:
        found = found * x + k.const(coefficient, dtypes.float64)
    return found


def _erfc32(k: Any, x: Any) -> Any:
    f64 = dtypes.float64
    wide, two = k.cast(x, f64), k.const(2.0, f64)
    size = k.minimum(k.abs(wide), k.const(_END32, f64))
    t = two / (two + size)
    found = t * k.exp(_polynomial(k, t - k.const(0.5, f64), _ERFC32) - size * size)
    return k.cast(k.where(wide < k.const(0.0, f64), two - found, found), dtypes.float32)


@pointwise("aten::erfc(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT)
@natively
def erfc(k: Any, x: Any) -> Any:
    """1 - erf(x), of which nothing is lost where erf is near 1."""
    f64 = dtypes.float64
    if k.dtype(x) is dtypes.float32:
        return _erfc32(k, x)
    wide = k.cast(x, f64)
    low, end, zero = (k.const(c, f64) for c in (_TAIL, _END, 0.0))
    size = k.abs(wide)
    tail = erfc_tail(k, k.minimum(k.maximum(size, low), end))
    tail = k.where(wide < zero, k.const(2.0, f64) - tail, tail)
    near = k.const(1.0, f64) - k.erf(k.minimum(k.maximum(wide, -low), low))
    return k.cast(k.where(size <= low, near, tail), k.dtype(x))


erfc.backward(self=lambda grad, self: grad * (-2 / math.sqrt(math.pi)) * (-(self * self)).exp())


# erfinv(x) / x in w = -log(1 - x²), near-minimax (Chebyshev) fits of relative errors of 4e-10 and 2e-9: on 0 <= w <= 5
# in w - 2.5, and beyond, as far as float32 numbers go, in the root of w.
_ERFINV_NEAR = (
    1.33683426961e-10, 4.36344382123e-10, -1.10377054471e-08, 1.64679581294e-08, 4.79791943943e-07, -3.42607081261e-06,
    -4.99902321662e-06, 0.000218263688354, -0.00125270456949, -0.0041773247384, 0.246640275684, 1.50140935171,
)  # fmt: skip
_ERFINV_FAR = (
    -3.2143094942e-05, 9.39128902428e-05, -2.08347569117e-05, -0.00036209876383, 0.00104536770006, -0.00187841625684,
    0.00277341414248, -0.0040876054928, 0.00574674124159, 1.00490375427, 3.05175710075,
)  # fmt: skip
_FAR_MIDDLE = 3.218033988749895
# The same beyond as far as float64 numbers go, of an error of 2e-6.
_ERFINV_FAR64 = (
    -7.619248016758795e-07, -2.773804641557268e-06, 2.408871107665958e-05, -3.357063817827721e-05,
    -8.475770182493049e-07, -4.1479332371656985e-05, 0.0002726003405871924, -0.0007193464220178745,
    0.0008828592193894898, 1.0098365250041825, 3.999346726673844,
)  # fmt: skip
_FAR_MIDDLE64 = 4.158033988749895


def _erfinv_about(k: Any, size: Any, far: Sequence[float], middle: float) -> Any:
    """erfinv(x) / x for 0 <= x < 1 in float64, by a polynomial."""
    f64 = dtypes.float64
    one = k.const(1.0, f64)
    w = -k.log((one - size) * (one + size))
    beyond = _polynomial(k, k.sqrt(w) - k.const(middle, f64), far)
    return k.where(w < k.const(5.0, f64), _polynomial(k, w - k.const(2.5, f64), _ERFINV_NEAR), beyond)


@pointwise("aten::erfinv(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT, autocast={"cuda": "fp32"})
@natively
def erfinv(k: Any, x: Any) -> Any:
    """The y with erf(y) = x: polynomials in log(1 - x²) (Giles 2010), whose digits are those of float32.

    For float64 a step of Halley's method gives the others.
    """
    f64 = dtypes.float64
    wide, one = k.cast(x, f64), k.const(1.0, f64)
    size = k.abs(wide)
    inner = k.where(size < one, size, k.const(0.5, f64))
    if k.dtype(x) is dtypes.float32:
        found = _erfinv_about(k, inner, _ERFINV_FAR, _FAR_MIDDLE) * wide
    else:
        y = _erfinv_about(k, inner, _ERFINV_FAR64, _FAR_MIDDLE64) * inner
        low = k.const(_TAIL, f64)
        # Beyond 1 by the complement, of which digits are left.
        tail = (one - inner) - erfc_tail(k, k.maximum(y, low))
        error = k.where(y > low, tail, k.erf(k.minimum(y, low)) - inner)
        step = error / (k.const(2 / math.sqrt(math.pi), f64) * k.exp(-y * y))
        y = y - step / (one + y * step)
        found = k.where(k.signbit(wide), -y, y)
    found = k.where(size == one, wide * k.const(math.inf, f64), found)
    return k.cast(k.where(size <= one, found, k.const(math.nan, f64)), k.dtype(x))


erfinv.backward(
    self=lambda grad, self: grad * (math.sqrt(math.pi) / 2) * aten.exp.default(aten.erfinv.default(self) ** 2)
)  # fmt: skip


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


# log Γ(2 + z) / z on |z| <= 1/2, highest powers first: relative error 6e-17
_LGAMMA = (
    2.7475390051909663e-07, -5.811277768921246e-07, 9.242852225162277e-07, -1.9743106888421067e-06,
    4.3828545383846665e-06, -9.45628851510172e-06, 2.050601970174762e-05, -4.4923727564247656e-05,
    9.945761692157133e-05, -0.00022315497746292723, 0.0005096695196526673, -0.0011927539009983087,
    0.002890510330865901, -0.007385551028935545, 0.02058080842778338, -0.06735230105319563, 0.3224670334241132,
    0.42278433509846713,
)  # fmt: skip


@pointwise("aten::lgamma(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT, accuracy="cancels")
@natively
def lgamma(k: Any, x: Any) -> Any:
    """log |Γ(x)|, by Stirling's series, near 1 and 2 by a polynomial; of numbers below 1/2 by reflection."""
    f64 = dtypes.float64
    wide = k.cast(x, f64)
    half, one, far = (k.const(c, f64) for c in (0.5, 1.0, float(_FAR)))
    mirrored = wide < half
    z = k.where(mirrored, one - wide, wide)
    # Γ(z) = z - 1 times Γ(z - 1), down to what the polynomial is for; all terms of the sum but one are positive.
    first, near, whole = z < k.const(1.5, f64), z < far, k.round(z)
    c = k.where(near, z - k.where(first, one, whole), half)
    product: Any = k.where(first, z, one)
    for step in range(1, _FAR - 1):
        product = product * k.where(near & (whole >= k.const(step + 2.0, f64)), z - k.const(float(step), f64), one)
    logarithm = k.log(k.where(near, product, z))
    few = c * _polynomial(k, c, _LGAMMA) + k.where(first, -logarithm, logarithm)
    s = k.where(near, far, z)
    inverse = one / s
    many = (s - half) * logarithm - s + 0.5 * math.log(2 * math.pi) + inverse * _series(_STIRLING, inverse * inverse)
    found = k.where(near, few, many)
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
    return k.cast(found, k.dtype(x))


@pointwise("aten::digamma(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT, accuracy="cancels")
@natively
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


#: From here on Euler's and Maclaurin's sum is exact to the last digits.
_FAR_SUM = 12


@natively
def _trigamma(k: Any, x: Any) -> Any:
    """The second derivative of log Γ(x): Σ 1 / (x + i)²; of numbers below 0 by reflection."""
    f64 = dtypes.float64
    wide = k.cast(x, f64)
    zero, half, one, far = (k.const(c, f64) for c in (0.0, 0.5, 1.0, float(_FAR_SUM)))
    mirrored = wide < zero
    z = k.where(mirrored, one - wide, wide)
    near = z < far
    # Two terms with one division.
    total: Any = zero
    start = k.where(near, z, one)
    for step in range(0, _FAR_SUM, 2):
        a, b = start + k.const(float(step), f64), start + k.const(float(step + 1), f64)
        a, b = a * a, b * b
        total = total + (a + b) / (a * b) if step else one / a + one / b
    s = k.where(near, z + far, z)
    inverse = one / s
    square = inverse * inverse
    found = inverse + half * square + inverse * square * _series(_BERNOULLI, square)
    found = k.where(near, found + total, found)
    # ψ'(x) + ψ'(1 - x) = (π / sin πx)²
    turned = k.const(math.pi, f64) / k.sin((wide - k.round(wide)) * k.const(math.pi, f64))
    return k.cast(k.where(mirrored, turned * turned - found, found), k.dtype(x))


def _polygamma_spec(n: int, self: Tensor) -> TensorSpec:
    if n < 0:
        raise ArgumentError("polygamma: n must not be negative", got=f"n={n}")
    if self._dtype.kind == "c":
        raise DTypeError("polygamma: not defined for complex numbers", got=describe(self))
    dtype = self._dtype if self._dtype.kind == "f" else get_default_dtype()
    return TensorSpec(self._sizes, pointwise_strides(self._sizes, [self]), dtype, self._device)


@extern("aten::polygamma(int n, Tensor self) -> Tensor", spec=_polygamma_spec, tags="pointwise", outs="out")
def polygamma(n: int, self: Tensor) -> Tensor:
    """The n-th derivative of the digamma function; NaN below -1e6, if n is 2 or more."""
    out = allocate_like(_polygamma_spec(n, self))
    if n == 0:
        out._array[...] = aten._to_copy.default(aten.digamma.default(self), dtype=out._dtype)._array
        return out
    xp, order = self._device.xp, n + 1
    if n == 1:
        with np.errstate(all="ignore"):
            given = self._array if self._dtype is out._dtype else converted(self._array, out._dtype.numpy)
            wide = given if self._dtype.itemsize >= 4 else converted(given, np.dtype(np.float32))
            out._array[...] = converted(_trigamma(handler(xp), wide), out._dtype.numpy)
        return out
    x = self._array.astype(np.float64)
    with np.errstate(all="ignore"):
        # Σ 1 / (x + i)^(n + 1), up to where the rest is Euler's and Maclaurin's; terms below 0 are added too.
        total, at = xp.zeros_like(x), x + 0.0  # of both zeros the same
        far = at < -1e6
        # Terms of the series go with ((n + 2 j) / (2 π x))²: they are left when these are a hundredth.
        enough = max(_FAR_SUM, 1.5 * (order + len(_BERNOULLI)))
        low = (at < enough) & ~far
        while bool(low.any()):
            total = total + xp.where(low, at ** -float(order), 0.0)
            at = xp.where(low, at + 1, at)
            low = (at < enough) & ~far
        tail = at ** (1.0 - order) / (order - 1) + 0.5 * at ** -float(order)
        factor, power = float(order), at ** -float(order + 1)
        for j, b in enumerate(_BERNOULLI, 1):
            tail = tail + b / math.factorial(2 * j) * factor * power
            factor *= (order + 2 * j - 1) * (order + 2 * j)
            power = power / (at * at)
        found = (-1.0) ** order * math.factorial(n) * (total + tail)
        out._array[...] = xp.where(far, np.nan, found)
    return out


lgamma.backward(self=lambda grad, self: grad * aten.digamma.default(self))

digamma.backward(self=lambda grad, self: grad * aten.polygamma.default(1, self))

polygamma.backward(self=lambda grad, n, self: grad * aten.polygamma.default(n + 1, self))


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


@composite("aten::polygamma_(Tensor(a!) self, int n) -> Tensor(a!)", tags="pointwise")
def polygamma_(self: Tensor, n: int) -> Tensor:
    return aten.copy_.default(self, aten.polygamma.default(n, before_write(self)))


@pointwise("aten::i0(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT)
@natively
def i0(k: Any, x: Any) -> Any:
    """The modified Bessel function of the first kind and order 0."""
    return _bessel(k, x, 0, False)


@pointwise("aten::special_i0e(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT, inplace=False)
@natively
def special_i0e(k: Any, x: Any) -> Any:
    """exp(-|x|) I0(x)."""
    return _bessel(k, x, 0, True)


@pointwise("aten::special_i1(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT, inplace=False)
@natively
def special_i1(k: Any, x: Any) -> Any:
    """The modified Bessel function of the first kind and order 1."""
    return _bessel(k, x, 1, False)


@pointwise("aten::special_i1e(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT, inplace=False)
@natively
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


# ---- samples -------------------------------------------------------------------------------------------------------


@erfc.with_samples
def _(make: Make) -> Iterable[Any]:
    return [((make(3, 4),), {}), ((make(40, low=-6.0, high=9.0),), {}), ((make(),), {}), ((make(0, 2),), {})]


erfc.sample_dtypes = (*_FLOATS, dtypes.int64, dtypes.bool_)

for _decl in (lgamma, digamma, erfinv):
    _decl.with_samples(near_and_far)
    _decl.sample_dtypes = (dtypes.float32,)

for _decl in (i0, special_i0e, special_i1, special_i1e):
    _decl.with_samples(lambda make: [((make(3, 4, low=-3.0, high=3.0),), {}), ((make(30, low=-40.0, high=40.0),), {})])
    _decl.sample_dtypes = (dtypes.float32,)
