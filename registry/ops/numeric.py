"""Less common arithmetic: shifts, special values, sums of logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError
from opweave.registry.op import ops
from opweave.registry.ops.kinds import COMPARE, INT_TO_FLOAT, pointwise
from opweave.registry.ops.pointwise import dropped, zeros
from opweave.registry.promote import result_type
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor

#: The greatest finite value of each floating type.
_GREATEST = {
    "float16": 65504.0,
    "bfloat16": math.ldexp(255.0, 120),
    "float32": math.ldexp(16777215.0, 104),
    "float64": math.ldexp(9007199254740991.0, 971),
}


# ---- numbers as elements -------------------------------------------------------------------------------------------


def as_element(op: str, value: Any, dtype: DType) -> Any:
    """A number as an element of the type.

    Raises
    ------
    DTypeError
        If the type cannot hold it.
    """
    if isinstance(value, Symbolic):
        return value
    error = DTypeError(f"{op}: the value does not fit {dtype.name}", got=repr(value))
    if dtype.kind == "b":
        return bool(value)
    if dtype.kind == "c":
        greatest = _GREATEST["float32" if dtype is dtypes.complex64 else "float64"]
        if any(greatest < abs(part) < math.inf for part in (complex(value).real, complex(value).imag)):
            raise error
        return value
    if isinstance(value, complex):
        if value.imag:
            raise error
        value = value.real
    if dtype.kind in "iu":
        if isinstance(value, float) and not abs(value) < 2.0**64:
            raise error
        bits = 8 * dtype.itemsize
        most = 2 ** (bits - (dtype.kind == "i")) - 1
        # A negative number wraps into an unsigned type.
        least = -most if dtype.kind == "u" else -most - 1
        if not least <= int(value) <= most:
            raise error
        return int(value) % 2**bits if dtype.kind == "u" else int(value)
    if dtype.kind == "f":
        value = float(value)
        if _GREATEST[dtype.name] < abs(value) < math.inf:
            raise error
    return value


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
    kinds="buif",
)
def nan_to_num(k: Any, x: Any, nan: float | None, posinf: float | None, neginf: float | None) -> Any:
    dtype = k.dtype(x)
    if dtype.kind != "f":
        return x
    greatest = _GREATEST[dtype.name]
    high, low = (greatest if posinf is None else posinf), (-greatest if neginf is None else neginf)
    finite = k.where(x == -math.inf, k.const(low, dtype), x)
    finite = k.where(x == math.inf, k.const(high, dtype), finite)
    return k.where(x != x, k.const(0.0 if nan is None else nan, dtype), finite)


nan_to_num.backward(self=lambda grad, self: grad * ops.aten.isfinite.default(self))


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


@pointwise("aten::logaddexp(Tensor self, Tensor other) -> Tensor", kinds="f", inplace=False)
def logaddexp(k: Any, x: Any, y: Any) -> Any:
    # Of two equal infinities the difference is NaN, the sum of exponentials is not.
    return k.where((x == y) & k.isinf(x), x, k.maximum(x, y) + k.log1p(k.exp(-k.abs(x - y))))


def _logaddexp_share(grad: Tensor, self: Any, other: Any) -> Tensor:
    return grad / (1 + ops.aten.exp.default(other - self))


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


@nan_to_num.with_samples
def _(make: _Make) -> Iterable[Any]:
    return [((make(3, 4),), {}), ((make(3), 1.5, 2.0, -3.0), {}), ((make(), None, 7.0), {})]


for _decl in (copysign, logaddexp, xlogy):
    _decl.with_samples(lambda make: [((make(3, 4), make(4, low=1)), {}), ((make(2, 1), make(3, low=1)), {})])
    _decl.sample_dtypes = _FLOATS

frac.with_samples(lambda make: [((make(3, 4),), {}), ((make(),), {})])
frac.sample_dtypes = _FLOATS
