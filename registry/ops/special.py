"""Special functions, and arithmetic that is less common still: gamma functions, roots of numbers, parts of floats.

The gamma functions and the inverse of the error function are computed in float64 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.dtypes import get_default_dtype
from opweave.registry.errors import ArgumentError, DTypeError
from opweave.registry.op import ops
from opweave.registry.ops.kinds import INT_TO_FLOAT, composite, extern, pointwise
from opweave.registry.ops.pointwise import conjugate, zeros
from opweave.registry.promote import broadcast_shapes, result_type
from opweave.registry.scalar import erfc_tail
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe

Make = Callable[..., Tensor]
aten = ops.aten


# ---- comparisons and roots -----------------------------------------------------------------------------------------


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


# ---- angles, logits ------------------------------------------------------------------------------------------------


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
    return contiguous(self._sizes, dtype, self._device)


@extern("aten::polygamma(int n, Tensor self) -> Tensor", spec=_polygamma_spec)
def polygamma(n: int, self: Tensor) -> Tensor:
    """The n-th derivative of the digamma function."""
    out = allocate_like(_polygamma_spec(n, self))
    if n == 0:
        out._array[...] = aten._to_copy.default(aten.digamma.default(self), dtype=out._dtype)._array
        return out
    xp, order = self._device.xp, n + 1
    x = self._array.astype(np.float64)
    with np.errstate(all="ignore"):
        # Σ 1 / (x + i)^(n + 1), up to where the rest is Euler's and Maclaurin's; terms below 0 are added too.
        total, at = xp.zeros_like(x), x.copy()
        low = at < 12
        while bool(low.any()) and float(-at[low].min()) < 1e6:
            total = total + xp.where(low, at ** -float(order), 0.0)
            at = xp.where(low, at + 1, at)
            low = at < 12
        tail = at ** (1.0 - order) / (order - 1) + 0.5 * at ** -float(order)
        factor, power = float(order), at ** -float(order + 1)
        for j, b in enumerate(_BERNOULLI, 1):
            tail = tail + b / math.factorial(2 * j) * factor * power
            factor *= (order + 2 * j - 1) * (order + 2 * j)
            power = power / (at * at)
        found = (-1.0) ** order * math.factorial(n) * (total + tail)
        out._array[...] = xp.where(low & ~xp.isnan(x), np.nan, found)
    return out


lgamma.backward(self=lambda grad, self: grad * aten.digamma.default(self))
digamma.backward(self=lambda grad, self: grad * aten.polygamma.default(1, self))
polygamma.backward(self=lambda grad, n, self: grad * aten.polygamma.default(n + 1, self))


# ---- the inverse of the error function -----------------------------------------------------------------------------


@pointwise("aten::erfinv(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT)
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
    self=lambda grad, result: grad * (math.sqrt(math.pi) / 2) * aten.exp.default(result * result)
)  # fmt: skip


# ---- whole numbers and parts of floats -----------------------------------------------------------------------------


def _pair_spec(name: str, kinds: str) -> Callable[..., TensorSpec]:
    def spec(self: Tensor, other: Tensor) -> TensorSpec:
        dtype = result_type(self, other)
        if dtype.kind not in kinds:
            raise DTypeError(f"{name}: not defined for {dtype.name}", got=describe([self, other]))
        return contiguous(broadcast_shapes(name, self._sizes, other._sizes), dtype, self._device)

    return spec


def _declare_pair(name: str, kinds: str, function: Callable[[Any], Any]) -> None:
    spec = _pair_spec(name, kinds)

    @extern(f"aten::{name}(Tensor self, Tensor other) -> Tensor", spec=spec)
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


@composite("aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor")
def ldexp(self: Any, other: Any) -> Any:
    """x 2^y."""
    return self * aten.pow.Scalar(2.0, other)


def _double(x: Any) -> Any:
    if isinstance(x, Tensor):
        return aten._to_copy.default(x, dtype=dtypes.complex128 if x._dtype.kind == "c" else dtypes.float64)
    return x


@composite("aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor")
def float_power_number(self: Tensor, exponent: Any) -> Tensor:
    return aten.pow.Tensor_Scalar(_double(self), exponent)


@composite("aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor")
def float_power_of_number(self: Any, exponent: Tensor) -> Tensor:
    return aten.pow.Scalar(self, _double(exponent))


@composite("aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor")
def float_power(self: Tensor, exponent: Tensor) -> Tensor:
    """The power in double precision."""
    return aten.pow.Tensor_Tensor(_double(self), _double(exponent))


@composite("aten::positive(Tensor(a) self) -> Tensor(a)")
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
