"""Functions of the normal distribution, and of the complementary error function scaled by what it falls with."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from opweave.registry import dtypes
from opweave.registry.op import ops
from opweave.registry.ops.kinds import INT_TO_FLOAT, pointwise
from opweave.registry.ops.samples import Make
from opweave.registry.scalar import erfc_power, erfc_tail

aten = ops.aten
_FROM = 1.25  # where the approximation of the tail begins


@pointwise(
    "aten::special_erfcx(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT, inplace=False, is_expensive=True
)
def special_erfcx(k: Any, x: Any) -> Any:
    """exp(x²) (1 - erf(x)), which neither overflows nor vanishes where x is large."""
    f64 = dtypes.float64
    wide = k.cast(x, f64)
    low = k.const(_FROM, f64)
    at = k.maximum(wide, low)
    near = k.maximum(k.where(wide < low, wide, low), k.const(-30.0, f64))  # below, it is infinite
    # exp(x²) with x split so that the square of its head is exact.
    head = k.cast(k.cast(near, dtypes.float32), f64)
    grown = k.exp(head * head) * k.exp((near - head) * (near + head))
    found = k.where(wide > low, k.exp(erfc_power(k, at) - 0.5625) / at, grown * (1.0 - k.erf(near)))
    return k.cast(k.where(k.isnan(wide), wide, found), k.dtype(x))


@pointwise(
    "aten::special_log_ndtr(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT, inplace=False,
    is_expensive=True,
)  # fmt: skip
def special_log_ndtr(k: Any, x: Any) -> Any:
    """The logarithm of the normal distribution, log((1 + erf(x / √2)) / 2), exact far below 0 too."""
    f64 = dtypes.float64
    wide = k.cast(x, f64)
    low, zero = k.const(_FROM, f64), k.const(0.0, f64)
    size = k.abs(wide) * math.sqrt(0.5)
    at = k.maximum(size, low)
    near = 1.0 - k.erf(k.where(size < low, size, low))
    # From 30 on it is 0.
    beyond = k.where(size > low, erfc_tail(k, k.minimum(at, k.const(30.0, f64))), near)
    far = erfc_power(k, at) - 0.5625 - k.log(at + at) - 0.5 * wide * wide
    below = k.where(size > low, far, k.log(0.5 * near))
    found = k.where(wide > zero, k.log1p(-0.5 * beyond), below)
    return k.cast(k.where(k.isnan(wide), wide, found), k.dtype(x))


special_erfcx.backward(self=lambda grad, self, result: grad * (2 * self * result - 2 / math.sqrt(math.pi)))
special_log_ndtr.backward(
    self=lambda grad, self: grad * math.sqrt(2 / math.pi) / aten.special_erfcx.default(self * -math.sqrt(0.5))
)


# ---- samples -------------------------------------------------------------------------------------------------------


def _alone(make: Make) -> Iterable[Any]:
    return [((make(3, 4, low=-4.0, high=6.0),), {}), ((make(30, low=-5.0, high=20.0),), {}), ((make(0, 2),), {})]


for _decl in (special_erfcx, special_log_ndtr):
    _decl.with_samples(_alone)
    _decl.sample_dtypes = (dtypes.float32, dtypes.float64, dtypes.bfloat16)


@pointwise("aten::special_entr(Tensor self) -> Tensor", kinds="buif", promote=INT_TO_FLOAT, inplace=False)
def special_entr(k: Any, x: Any) -> Any:
    """-x log(x), 0 at 0, and -inf for negative numbers."""
    dtype = k.dtype(x)
    zero = k.const(0.0, dtype)
    inside = -x * k.log(k.where(x > zero, x, k.const(1.0, dtype)))
    found = k.where(x > zero, inside, k.where(x == zero, zero, k.const(-math.inf, dtype)))
    return k.where(x != x, x, found)


special_entr.backward(self=lambda grad, self: grad * (-1 - aten.log.default(self)))
special_entr.with_samples(lambda make: [((make(3, 4, low=0.1, high=2.0),), {})])
special_entr.sample_dtypes = (dtypes.float32, dtypes.float64)
