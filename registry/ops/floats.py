"""Floats as they are written: rounding, sign, exponent and mantissa, and the next one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError
from opweave.registry.op import ops
from opweave.registry.ops.copies import rounded
from opweave.registry.ops.elementary import unary
from opweave.registry.ops.gradients import dropped, zeros
from opweave.registry.ops.kinds import DEFAULT, INT_TO_FLOAT, before_write, composite, pointwise
from opweave.registry.ops.numbers import second_number
from opweave.registry.ops.samples import Make
from opweave.registry.promote import GREATEST, pointwise_strides, result_type
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, allocate_like, describe

_FLOATS = (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16)
aten = ops.aten


# ---- rounding ------------------------------------------------------------------------------------------------------


for _name in ("floor", "ceil", "trunc", "round"):
    unary(_name, DEFAULT, kinds="uif", accuracy="rounded").backward(self=zeros)


@pointwise("aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor", kinds="f", promote=INT_TO_FLOAT)
def copysign(k: Any, x: Any, y: Any) -> Any:
    magnitude = k.abs(x)
    return k.where(k.signbit(y), -magnitude, magnitude)


copysign.backward(self=lambda grad, self, result: grad * dropped(self == 0, result / self), other=zeros)


@pointwise("aten::frac(Tensor self) -> Tensor", kinds="f")
def frac(k: Any, x: Any) -> Any:
    return x - k.trunc(x)


frac.backward(self=lambda grad: grad)


@pointwise("aten::round.decimals(Tensor self, *, int decimals) -> Tensor", kinds="f", accuracy="rounded")
def round_decimals(k: Any, x: Any, decimals: int) -> Any:
    """The nearest number of so many decimals, half to even; a negative number of them rounds to tens and so on."""
    if decimals == 0:
        return k.round(x)
    factor = k.const(10.0 ** abs(decimals), k.dtype(x))
    return k.round(x * factor) / factor if decimals > 0 else k.round(x / factor) * factor


round_decimals.backward(self=zeros)


# ---- parts of floats -----------------------------------------------------------------------------------------------


@composite("aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor", tags="pointwise", outs="out")
def ldexp(self: Any, other: Any) -> Any:
    """x 2^y; of a whole y rounded once, and no larger a type than that of x, whatever 2^y is by itself."""
    dtype = result_type(self, other)
    if other._dtype.kind not in "bui" or dtype.kind != "f":
        found = self * aten.pow.Scalar(2.0, other)
        return found if dtype.kind in "bui" else rounded(found, dtype)
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


def _mantissa_and_exponent(k: Any, x: Any) -> tuple[Any, Any]:
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
    size = k.cast(_mantissa_and_exponent(k, x)[0], k.dtype(x))
    return k.where(k.isfinite(x) & (x != k.const(0.0, k.dtype(x))), k.where(k.signbit(x), -size, size), x)


@pointwise("aten::_exponent(Tensor self) -> Tensor", kinds="f", promote=_exponent_type, inplace=False, out=False)
def _exponent(k: Any, x: Any) -> Any:
    power = _mantissa_and_exponent(k, x)[1]
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


# ---- numbers in place of tensors -----------------------------------------------------------------------------------


second_number("copysign", inplace_tags=())


# ---- samples -------------------------------------------------------------------------------------------------------


for _decl in (copysign,):
    _decl.with_samples(lambda make: [((make(3, 4), make(4, low=1)), {}), ((make(2, 1), make(3, low=1)), {})])
    _decl.sample_dtypes = _FLOATS

frac.with_samples(lambda make: [((make(3, 4),), {}), ((make(),), {})])

frac.sample_dtypes = _FLOATS


@round_decimals.with_samples
def _(make: Make) -> Iterable[Any]:
    for decimals in (0, 1, 3, -1):
        yield (make(3, 4, low=-40.0, high=40.0),), {"decimals": decimals}
    yield (make(),), {"decimals": 2}


round_decimals.sample_dtypes = (dtypes.float32, dtypes.float64)

nextafter.with_samples(lambda make: [((make(3, 4), make(3, 4)), {}), ((make(4), make(2, 1)), {})])

nextafter.sample_dtypes = (dtypes.float32, dtypes.float64, dtypes.bfloat16)

frexp.with_samples(lambda make: [((make(3, 4),), {}), ((make(),), {}), ((make(0, 2),), {})])

frexp.sample_dtypes = (dtypes.float32, dtypes.float64, dtypes.bfloat16)
