"""Elementary functions: exponentials, logarithms, trigonometry and roots."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any, Unpack

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError
from opweave.registry.op import ops
from opweave.registry.ops.gradients import conjugate, dropped, zeros
from opweave.registry.ops.kinds import INT_TO_FLOAT, PointwiseDecl, composite, pointwise
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.ops.numbers import first_number, second_number
from opweave.registry.ops.samples import Make, bounded_pairs, near_and_far, pairs
from opweave.registry.promote import result_type
from opweave.registry.tensor import Tensor

_FLOATS = (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16)
aten = ops.aten


# ---- of two numbers ------------------------------------------------------------------------------------------------


@pointwise(
    "aten::atan2(Tensor self, Tensor other) -> Tensor",
    kinds="f",
    promote=INT_TO_FLOAT,
    is_expensive=True,
    autocast={"cuda": "promote"},
)
def atan2(k: Any, x: Any, y: Any) -> Any:
    return k.atan2(x, y)


def _atan2_scale(self: Any, other: Any) -> Tensor:
    squared = self * self + other * other
    return dropped(squared == 0, ops.aten.reciprocal.default(squared))


atan2.backward(
    self=lambda grad, self, other: grad * other * _atan2_scale(self, other),
    other=lambda grad, self, other: grad * -self * _atan2_scale(self, other),
)


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


@pointwise(
    "aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor", kinds="f", promote=INT_TO_FLOAT, out="OutTensor",
    rounds_numbers=(0, 1),
)  # fmt: skip
def xlogy(k: Any, x: Any, y: Any) -> Any:
    product = x * k.log(y)
    return k.where(y != y, y, k.where(x == 0, k.const(0.0, k.dtype(product)), product))


def _xlogy_self(grad: Tensor, self: Tensor, other: Any) -> Tensor:
    slope = ops.aten.xlogy.Tensor(grad, other)
    if isinstance(other, Tensor):
        return dropped((self == 0) & (other <= 0), slope)
    return slope if other > 0 else dropped(self == 0, slope)


xlogy.backward(self=_xlogy_self, other=lambda grad, self, other: grad * self / other)


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


@pointwise("aten::logaddexp2(Tensor self, Tensor other) -> Tensor", kinds="f", inplace=False, accuracy="cancels")
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


def _with_number(name: str, into: Any, **traits: Unpack[Traits]) -> None:
    """The forms of a special function of two arguments that take a number for one."""
    rest = {"self": "Scalar self, Tensor other", "other": "Tensor self, Scalar other"}
    for which, arguments in rest.items():
        said: Traits = {"outs": f"{which}_scalar_out", **traits}

        @composite(f"aten::{name}.{which}_scalar({arguments}) -> Tensor", **said)
        def number(self: Any, other: Any) -> Tensor:
            return into(self, other)


_with_number("special_xlog1py", special_xlog1py.op, tags="pointwise")


@composite("aten::special_xlogy(Tensor self, Tensor other) -> Tensor", outs="out")
def special_xlogy(self: Tensor, other: Tensor) -> Tensor:
    """x log(y), 0 where x is."""
    return aten.xlogy.Tensor(self, other)


_with_number("special_xlogy", aten.xlogy.Tensor)


# ---- of one number -------------------------------------------------------------------------------------------------


def unary(
    name: str, promote: Any, low: float = -3.0, high: float = 3.0, kinds: str = "buifc", **traits: Unpack[Traits]
) -> PointwiseDecl:
    """A unary op that is one function of the vocabulary."""

    def body(k: Any, x: Any) -> Any:
        return getattr(k, name)(x)

    body.__name__ = name
    decl = pointwise(f"aten::{name}(Tensor self) -> Tensor", promote=promote, kinds=kinds, **traits)(body)
    decl.with_samples(lambda make: [((make(3, 4, low=low, high=high),), {}), ((make(low=low, high=high),), {})])
    return decl


costly = functools.partial(unary, promote=INT_TO_FLOAT, is_expensive=True)

exp = costly("exp", is_strict=True, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, result: grad * conjugate(result)
)

exp2 = costly("exp2", is_strict=True).backward(self=lambda grad, result: grad * conjugate(result) * math.log(2))

expm1 = costly("expm1", is_strict=True, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, result: grad * conjugate(result + 1)
)

sin = costly("sin", is_strict=True).backward(self=lambda grad, self: grad * conjugate(ops.aten.cos.default(self)))

cos = costly("cos", is_strict=True).backward(self=lambda grad, self: grad * -conjugate(ops.aten.sin.default(self)))

tan = costly("tan", is_strict=True, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, result: grad * conjugate(result * result + 1)
)

atan = costly("atan").backward(self=lambda grad, self: grad / conjugate(self * self + 1))

sinh = costly("sinh", autocast={"cuda": "fp32"}).backward(
    self=lambda grad, self: grad * conjugate(ops.aten.cosh.default(self))
)

cosh = costly("cosh", autocast={"cuda": "fp32"}).backward(
    self=lambda grad, self: grad * conjugate(ops.aten.sinh.default(self))
)

asinh = costly("asinh").backward(self=lambda grad, self: grad * conjugate(ops.aten.rsqrt.default(self * self + 1)))

log = costly("log", low=0.1, is_strict=True, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, self: grad / conjugate(self)
)

log2 = costly("log2", low=0.1, is_strict=True, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, self: grad / (conjugate(self) * math.log(2))
)

log10 = costly("log10", low=0.1, is_strict=True, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, self: grad / (conjugate(self) * math.log(10))
)

log1p = costly("log1p", low=-0.9, is_strict=True, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, self: grad / conjugate(self + 1)
)

sqrt = unary("sqrt", INT_TO_FLOAT, low=0.1, is_strict=True, accuracy="rounded").backward(
    self=lambda grad, result: grad / (conjugate(result) * 2)
)

rsqrt = unary("rsqrt", INT_TO_FLOAT, low=0.1, is_strict=True, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, result: -0.5 * grad * conjugate(result**3)
)

reciprocal = unary(
    "reciprocal", INT_TO_FLOAT, low=0.1, is_strict=True, is_cheap=True, autocast={"cuda": "fp32"}, accuracy="rounded"
).backward(self=lambda grad, result: -grad * conjugate(result * result))

asin = costly("asin", low=-0.9, high=0.9, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, self: grad * conjugate(ops.aten.rsqrt.default(1 - self * self))
)

acos = costly("acos", low=-0.9, high=0.9, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, self: grad * -conjugate(ops.aten.rsqrt.default(1 - self * self))
)

atanh = costly("atanh", low=-0.9, high=0.9).backward(self=lambda grad, self: grad / conjugate(1 - self * self))


def _acosh_self(grad: Tensor, self: Tensor) -> Tensor:
    rsqrt = ops.aten.rsqrt.default
    # The complex roots apart, for the sake of the branch.
    slope = rsqrt(self + 1) * rsqrt(self - 1) if self._dtype.is_complex else rsqrt(self * self - 1)
    return grad * conjugate(slope)


acosh = costly("acosh", low=1.1).backward(self=_acosh_self)

sigmoid = costly("sigmoid", is_strict=True)

tanh = costly("tanh", is_strict=True)


@pointwise(
    "aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor", kinds="fc", inplace=False, outs="grad_input"
)
def sigmoid_backward(k: Any, grad: Any, output: Any) -> Any:
    if k.dtype(output).is_complex:
        return grad * k.conj((1 - output) * output)
    return grad * (1 - output) * output


@pointwise(
    "aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor",
    kinds="fc",
    inplace=False,
    outs="grad_input",
    accuracy="cancels",
)
def tanh_backward(k: Any, grad: Any, output: Any) -> Any:
    slope = 1 - output * output
    return grad * (k.conj(slope) if k.dtype(output).is_complex else slope)


sigmoid.backward(self=lambda grad, result: ops.aten.sigmoid_backward.default(grad, result))

tanh.backward(self=lambda grad, result: ops.aten.tanh_backward.default(grad, result))

# They conjugate the output, so the gradient of that goes through its conjugate.
sigmoid_backward.backward(
    grad_output=lambda grad, output: ops.aten.sigmoid_backward.default(grad, conjugate(output)),
    output=lambda grad, grad_output, output: conjugate(grad) * grad_output * (1 - 2 * conjugate(output)),
)

tanh_backward.backward(
    grad_output=lambda grad, output: ops.aten.tanh_backward.default(grad, conjugate(output)),
    output=lambda grad, grad_output, output: conjugate(grad) * (-2 * conjugate(output) * grad_output),
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


# ---- numbers in place of tensors -----------------------------------------------------------------------------------


first_number("xlogy", "Scalar_Self", outs="OutScalar_Self")
second_number("xlogy", "Scalar_Other", inplace_tags=(), outs="OutScalar_Other")


# ---- samples -------------------------------------------------------------------------------------------------------


for _decl in (atan2, sigmoid_backward, tanh_backward):
    _decl.with_samples(pairs)

for _decl in (sigmoid_backward, tanh_backward):
    _decl.sample_dtypes = (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16)

for _decl in (logaddexp, xlogy):
    _decl.with_samples(lambda make: [((make(3, 4), make(4, low=1)), {}), ((make(2, 1), make(3, low=1)), {})])
    _decl.sample_dtypes = _FLOATS

logaddexp.sample_dtypes = (*_FLOATS, dtypes.complex64)


@heaviside.with_samples
def _(make: Make) -> Iterable[Any]:
    steps = make(3, 4, dtype=dtypes.int64, low=-1, high=1)
    x = make(3, 4)
    if x._dtype.kind != "f":  # a float that is 0 has no slope
        yield (ops.aten._to_copy.default(steps, dtype=x._dtype), make(4)), {}
    yield (x, make()), {}


heaviside.sample_dtypes = (*_FLOATS, dtypes.int64, dtypes.uint8, dtypes.bool_)

for _decl in (hypot, logaddexp2):
    _decl.with_samples(bounded_pairs)
    _decl.sample_dtypes = (dtypes.float32,)

for _decl in (deg2rad, rad2deg, sinc, logit):
    _decl.with_samples(near_and_far)
    _decl.sample_dtypes = (dtypes.float32,)

special_xlog1py.with_samples(lambda make: [((make(3, 4), make(4, low=0)), {}), ((make(2, 1), make(3, low=0)), {})])

special_xlog1py.sample_dtypes = (dtypes.float32, dtypes.bfloat16)
