"""Less common arithmetic: shifts, special values, sums of logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError
from opweave.registry.memory_format import contiguous_format
from opweave.registry.op import ops
from opweave.registry.ops.kinds import COMPARE, INT_TO_FLOAT, pointwise
from opweave.registry.ops.pointwise import conjugate, dropped, zeros
from opweave.registry.promote import GREATEST, result_type
from opweave.registry.scalar import erfc_tail
from opweave.registry.tensor import Tensor

# ---- shifts: by the width or more, or by a negative count, as an endless shift would --------------------------------


@pointwise("aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", kinds="ui", out="Tensor_out")
def bitwise_left_shift(k: Any, x: Any, y: Any) -> Any:
    return x << y


@pointwise("aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor", kinds="ui", out="Tensor_out")
def bitwise_right_shift(k: Any, x: Any, y: Any) -> Any:
    return x >> y


# ---- special values ------------------------------------------------------------------------------------------------


def _own_type(x: Any, **_: Any) -> tuple[DType, DType]:
    # Only compared and selected, so that half types need no widening, and infinities become their own greatest value.
    common = result_type(x)
    return common, common


@pointwise(
    "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    promote=_own_type,
)
def nan_to_num(k: Any, x: Any, nan: float | None, posinf: float | None, neginf: float | None) -> Any:
    dtype = k.dtype(x)
    if dtype.is_complex:
        parts = (nan_to_num.body(k, part, nan, posinf, neginf) for part in (k.real(x), k.imag(x)))
        return k.complex(*parts)
    if dtype.kind != "f":
        return x
    greatest = GREATEST[dtype.name]
    high, low = (greatest if posinf is None else posinf), (-greatest if neginf is None else neginf)
    finite = k.where(x == -math.inf, k.const(low, dtype), x)
    finite = k.where(x == math.inf, k.const(high, dtype), finite)
    return k.where(x != x, k.const(0.0 if nan is None else nan, dtype), finite)


@nan_to_num.backward
def _nan_to_num_backward(grad: Tensor, self: Tensor) -> tuple[Tensor]:
    if not self._dtype.is_complex:
        return (grad * ops.aten.isfinite.default(self),)
    parts = ops.aten.view_as_real.default(grad) * ops.aten.isfinite.default(ops.aten.view_as_real.default(self))
    return (ops.aten.view_as_complex.default(ops.aten.clone.default(parts, memory_format=contiguous_format)),)


@pointwise("aten::isposinf(Tensor self) -> Tensor", kinds="buif", promote=COMPARE, inplace=False)
def isposinf(k: Any, x: Any) -> Any:
    return k.isinf(x) & k.logical_not(k.signbit(x))


@pointwise("aten::isneginf(Tensor self) -> Tensor", kinds="buif", promote=COMPARE, inplace=False)
def isneginf(k: Any, x: Any) -> Any:
    return k.isinf(x) & k.signbit(x)


@pointwise("aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor", kinds="f", promote=INT_TO_FLOAT)
def copysign(k: Any, x: Any, y: Any) -> Any:
    magnitude = k.abs(x)
    return k.where(k.signbit(y), -magnitude, magnitude)


copysign.backward(self=lambda grad, self, result: grad * dropped(self == 0, result / self), other=zeros)


# ---- parts and logarithms ------------------------------------------------------------------------------------------


@pointwise("aten::frac(Tensor self) -> Tensor", kinds="f")
def frac(k: Any, x: Any) -> Any:
    return x - k.trunc(x)


frac.backward(self=lambda grad: grad)


@pointwise("aten::logaddexp(Tensor self, Tensor other) -> Tensor", kinds="fc", inplace=False)
def logaddexp(k: Any, x: Any, y: Any) -> Any:
    if k.dtype(x).is_complex or k.dtype(y).is_complex:
        return _complex_logaddexp(k, x, y)
    # Of two equal infinities the difference is NaN, the sum of exponentials is not.
    return k.where((x == y) & k.isinf(x), x, k.maximum(x, y) + k.log1p(k.exp(-k.abs(x - y))))


def _complex_logaddexp(k: Any, x: Any, y: Any) -> Any:
    """The one with the smaller real part beside the other; NaN in any part makes all NaN, as in PyTorch."""
    below = k.real(x) < k.real(y)
    least, most = k.where(below, x, y), k.where(below, y, x)
    # Infinities of one sign have no difference. Of negative ones the sum of exponentials is 0, whatever its angle.
    same = k.isinf(k.real(least)) & (k.real(least) == k.real(most))
    infinite = k.where(k.real(least) < 0, least, k.log(k.exp(least) + k.exp(most)))
    found = k.where(same, infinite, k.log1p(k.exp(least - most)) + most)
    return k.where(k.isnan(x) | k.isnan(y), k.const(complex(math.nan, math.nan), k.dtype(found)), found)


def _logaddexp_share(grad: Tensor, self: Any, other: Any) -> Tensor:
    return grad / conjugate(1 + ops.aten.exp.default(other - self))


logaddexp.backward(self=_logaddexp_share, other=lambda grad, self, other: _logaddexp_share(grad, other, self))


@pointwise("aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor", kinds="f", promote=INT_TO_FLOAT, out="OutTensor")
def xlogy(k: Any, x: Any, y: Any) -> Any:
    product = x * k.log(y)
    return k.where(y != y, y, k.where(x == 0, k.const(0.0, k.dtype(product)), product))


def _xlogy_self(grad: Tensor, self: Tensor, other: Any) -> Tensor:
    slope = ops.aten.xlogy.Tensor(grad, other)
    if isinstance(other, Tensor):
        return dropped((self == 0) & (other <= 0), slope)
    return slope if other > 0 else dropped(self == 0, slope)


xlogy.backward(self=_xlogy_self, other=lambda grad, self, other: grad * self / other)


# ---- signs and steps -----------------------------------------------------------------------------------------------


@pointwise("aten::sgn(Tensor self) -> Tensor", kinds="buifc")
def sgn(k: Any, x: Any) -> Any:
    """x / |x|, 0 for 0: the sign of a real number, the direction of a complex one."""
    dtype = k.dtype(x)
    if dtype.kind != "c":
        found = k.sign(x)
        return k.where(x == x, found, k.const(0, dtype)) if dtype.kind == "f" else found
    size = k.cast(k.abs(x), dtype)
    zero = size == k.const(0, dtype)
    return k.where(zero, k.const(0, dtype), x / k.where(zero, k.const(1, dtype), size))


@sgn.backward
def _sgn_backward(grad: Tensor, self: Tensor, result: Tensor) -> tuple[Tensor]:
    if self._dtype.kind != "c":
        return (ops.aten.zeros_like.default(grad),)
    aten = ops.aten
    size = aten.abs.default(self)
    zero = aten.eq.Scalar(size, 0)
    scaled = aten.div.Tensor(grad, aten.masked_fill.Scalar(size, zero, 1))
    along = aten.real.default(aten.mul.Tensor(scaled, aten.conj_physical.default(result)))
    across = aten.sub.Tensor(scaled, aten.mul.Tensor(along, result))
    return (aten.masked_fill.Scalar(across, zero, 0),)


def _one_type(self: Any, values: Any) -> tuple[DType, DType]:
    kinds = {t._dtype for t in (self, values) if isinstance(t, Tensor)}
    if len(kinds) > 1:
        raise DTypeError("heaviside: expected one dtype", got=", ".join(sorted(d.name for d in kinds)))
    dtype = result_type(self, values)
    return dtype, dtype


@pointwise("aten::heaviside(Tensor self, Tensor values) -> Tensor", kinds="buif", promote=_one_type)
def heaviside(k: Any, x: Any, values: Any) -> Any:
    """0 below 0, 1 above, and the value given at 0; 0 for NaN."""
    dtype = k.dtype(x)
    zero = k.const(0, dtype)
    return k.where(x == zero, values, k.where(x > zero, k.const(1, dtype), zero))


heaviside.backward(self=zeros, values=lambda grad, self: dropped(self != 0, grad))


@pointwise("aten::round.decimals(Tensor self, *, int decimals) -> Tensor", kinds="f", accuracy="rounded")
def round_decimals(k: Any, x: Any, decimals: int) -> Any:
    """The nearest number of so many decimals, half to even; a negative number of them rounds to tens and so on."""
    if decimals == 0:
        return k.round(x)
    factor = k.const(10.0 ** abs(decimals), k.dtype(x))
    return k.round(x * factor) / factor if decimals > 0 else k.round(x / factor) * factor


round_decimals.backward(self=zeros)


# ---- the complement of the error function --------------------------------------------------------------------------

#: Where 1 - erf(x) loses digits, and where the result is below the smallest number.
_TAIL, _END = 1.25, 28.0


@pointwise("aten::erfc(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT)
def erfc(k: Any, x: Any) -> Any:
    """1 - erf(x), of which nothing is lost where erf is near 1."""
    dtype = k.dtype(x)
    wide = k.cast(x, dtypes.float64)
    low, end = k.const(_TAIL, dtypes.float64), k.const(_END, dtypes.float64)
    at = k.minimum(k.maximum(wide, low), end)
    return k.cast(k.where(wide > low, erfc_tail(k, at), 1.0 - k.erf(wide)), dtype)


erfc.backward(self=lambda grad, self: grad * (-2 / math.sqrt(math.pi)) * (-(self * self)).exp())


# ---- samples -------------------------------------------------------------------------------------------------------

_INTEGERS = (dtypes.int64, dtypes.int32, dtypes.int8, dtypes.uint8)
_FLOATS = (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16)
_Make = Callable[..., Tensor]


def _shifts(make: _Make) -> Iterable[Any]:
    yield (make(3, 4), make(4, low=0)), {}
    yield (make(3, 1), make(low=0)), {}
    yield (make(3), 2), {}
    yield (make(3), make(3, low=0, high=100)), {}


for _decl in (bitwise_left_shift, bitwise_right_shift):
    _decl.with_samples(_shifts)
    _decl.sample_dtypes = _INTEGERS

for _decl in (nan_to_num, isposinf, isneginf):
    _decl.with_samples(lambda make: [((make(3, 4),), {}), ((make(),), {})])
    _decl.sample_dtypes = (*_FLOATS, dtypes.int64, dtypes.bool_)
nan_to_num.sample_dtypes = (*_FLOATS, dtypes.int64, dtypes.bool_, dtypes.complex64)


@nan_to_num.with_samples
def _(make: _Make) -> Iterable[Any]:
    return [((make(3, 4),), {}), ((make(3), 1.5, 2.0, -3.0), {}), ((make(), None, 7.0), {})]


for _decl in (copysign, logaddexp, xlogy):
    _decl.with_samples(lambda make: [((make(3, 4), make(4, low=1)), {}), ((make(2, 1), make(3, low=1)), {})])
    _decl.sample_dtypes = _FLOATS
logaddexp.sample_dtypes = (*_FLOATS, dtypes.complex64)

frac.with_samples(lambda make: [((make(3, 4),), {}), ((make(),), {})])
frac.sample_dtypes = _FLOATS


@sgn.with_samples
def _(make: _Make) -> Iterable[Any]:
    return [((make(3, 4),), {}), ((make(),), {}), ((make(0, 2),), {})]


sgn.sample_dtypes = (*_FLOATS, dtypes.int64, dtypes.int8, dtypes.uint8, dtypes.bool_, dtypes.complex64)


@heaviside.with_samples
def _(make: _Make) -> Iterable[Any]:
    steps = make(3, 4, dtype=dtypes.int64, low=-1, high=1)
    x = make(3, 4)
    if x._dtype.kind != "f":  # a float that is 0 has no slope
        yield (ops.aten._to_copy.default(steps, dtype=x._dtype), make(4)), {}
    yield (x, make()), {}


heaviside.sample_dtypes = (*_FLOATS, dtypes.int64, dtypes.uint8, dtypes.bool_)


@round_decimals.with_samples
def _(make: _Make) -> Iterable[Any]:
    for decimals in (0, 1, 3, -1):
        yield (make(3, 4, low=-40.0, high=40.0),), {"decimals": decimals}
    yield (make(),), {"decimals": 2}


round_decimals.sample_dtypes = (dtypes.float32, dtypes.float64)


@erfc.with_samples
def _(make: _Make) -> Iterable[Any]:
    return [((make(3, 4),), {}), ((make(40, low=-6.0, high=9.0),), {}), ((make(),), {}), ((make(0, 2),), {})]


erfc.sample_dtypes = (*_FLOATS, dtypes.int64, dtypes.bool_)
