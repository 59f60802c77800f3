"""Pointwise ops: arithmetic, comparison, logic, selection and casts.

A body is written once in the vocabulary of `registry.scalar`; see `registry.ops.kinds` for what follows from it.
"""

from __future__ import annotations

import cmath
import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, Unpack

from opweave.registry import dtypes
from opweave.registry.device import Device, parse_device
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, DTypeError
from opweave.registry.memory_format import as_memory_format, preserve_format, suggested_format
from opweave.registry.op import ops, registry
from opweave.registry.ops.kinds import COMPARE, DEFAULT, INT_TO_FLOAT, PointwiseDecl, composite, pointwise, with_traits
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.promote import as_element, result_type
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, allocate_like, describe

Types = tuple[DType, DType]


def _computed(dtype: DType) -> Types:
    return dtype.compute, dtype


# ---- what derivatives are written with -------------------------------------------------------------------------------


def conjugate(value: Any) -> Any:
    """The conjugate of a tensor or number; what is real is returned as it is."""
    if not isinstance(value, Tensor):
        return value.conjugate() if isinstance(value, complex) else value
    return ops.aten.conj_physical.default(value) if value._dtype.is_complex else value


def zeros(grad: Tensor) -> Tensor:
    """The gradient of what is constant nearly everywhere."""
    return ops.aten.zeros_like.default(grad)


def kept(condition: Tensor, grad: Tensor) -> Tensor:
    """The gradient where the condition holds, else 0."""
    return ops.aten.where.self(condition, grad, 0)


def dropped(condition: Tensor, grad: Tensor) -> Tensor:
    """0 where the condition holds, else the gradient."""
    return ops.aten.masked_fill.Scalar(grad, condition, 0)


# ---- arithmetic ----------------------------------------------------------------------------------------------------


def _check_alpha(name: str, common: DType, alpha: Any) -> None:
    if common.kind != "b" and isinstance(alpha, bool):
        raise DTypeError(f"{name}: a bool alpha is only for bool tensors", got=f"alpha={alpha}")
    if common.kind in "biu" and isinstance(alpha, float):
        raise DTypeError(f"{name}: alpha must be an integer for integer tensors", got=f"alpha={alpha}")
    if common.kind != "c" and isinstance(alpha, complex):
        raise DTypeError(f"{name}: alpha must be a real number for real tensors", got=f"alpha={alpha}")
    as_element(name, alpha, common)


def _add_types(*operands: Any, alpha: Any = 1) -> Types:
    common = result_type(*operands)
    _check_alpha("add", common, alpha)
    return _computed(common)


def _sub_types(*operands: Any, alpha: Any = 1) -> Types:
    common = result_type(*operands)
    _check_alpha("sub", common, alpha)
    kinds = [operand.kind if isinstance(operand, DType) else result_type(operand).kind for operand in operands]
    if "b" in kinds:
        raise DTypeError(
            "sub: not defined for bool", got=", ".join(map(describe, operands)), hint="use logical_xor or bitwise_xor"
        )
    return _computed(common)


def _scaled(y: Any, alpha: Any) -> Any:
    return y if alpha == 1 else y * alpha


@pointwise(
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    promote=_add_types,
    is_cheap=True,
    is_strict=True,
)
def add(k: Any, x: Any, y: Any, alpha: Any = 1) -> Any:
    return x + _scaled(y, alpha)


add.backward(self=lambda grad: grad, other=lambda grad, alpha: _scaled(grad, conjugate(alpha)))


@pointwise(
    "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    promote=_sub_types,
    is_cheap=True,
    is_strict=True,
)
def sub(k: Any, x: Any, y: Any, alpha: Any = 1) -> Any:
    return x - _scaled(y, alpha)


sub.backward(self=lambda grad: grad, other=lambda grad, alpha: -_scaled(grad, conjugate(alpha)))


@composite("aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", outs="Tensor_out")
def rsub(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    return ops.aten.sub.Tensor(other, self, alpha=alpha)


@pointwise("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", is_cheap=True, accuracy="rounded")
def mul(k: Any, x: Any, y: Any) -> Any:
    return x * y


mul.backward(self=lambda grad, other: grad * conjugate(other), other=lambda grad, self: grad * conjugate(self))


@pointwise("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", promote=INT_TO_FLOAT, accuracy="rounded")
def div(k: Any, x: Any, y: Any) -> Any:
    return x / y


def _div_other(grad: Tensor, self: Any, other: Tensor) -> Tensor:
    return -grad * conjugate(self / other / other)


div.backward(self=lambda grad, other: grad / conjugate(other), other=_div_other)


def _div_mode_types(*operands: Any, rounding_mode: str | None = None) -> Types:
    if rounding_mode not in (None, "trunc", "floor"):
        raise ArgumentError("div: unknown rounding_mode", got=repr(rounding_mode), hint="None, 'trunc' or 'floor'")
    common = result_type(*operands)
    if rounding_mode is None:
        return _computed(dtypes.get_default_dtype() if common.kind in "biu" else common)
    if common.kind in "bc":
        raise DTypeError(f"div: rounding is not defined for {common.name}", got=", ".join(map(describe, operands)))
    # What is cut is the quotient as the type has it, so half types are not widened.
    return (common, common) if rounding_mode == "trunc" else _computed(common)


@pointwise(
    "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", promote=_div_mode_types,
    out="out_mode", accuracy="rounded"
)  # fmt: skip
def div_mode(k: Any, x: Any, y: Any, rounding_mode: str | None) -> Any:
    if rounding_mode is None:
        return x / y
    return k.trunc_divide(x, y) if rounding_mode == "trunc" else k.floor_divide(x, y)


div_mode.backward(
    self=lambda grad, other, rounding_mode: grad / conjugate(other) if rounding_mode is None else zeros(grad),
    other=lambda grad, self, other, rounding_mode: (
        _div_other(grad, self, other) if rounding_mode is None else zeros(grad)
    ),
)


# PyTorch refuses to differentiate floor_divide; so does an op without formula.
@pointwise("aten::floor_divide(Tensor self, Tensor other) -> Tensor", kinds="uif", inplace="Tensor")
def floor_divide(k: Any, x: Any, y: Any) -> Any:
    return k.floor_divide(x, y)


@pointwise(
    "aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", kinds="uif", out="Tensor_out", accuracy="rounded"
)
def remainder(k: Any, x: Any, y: Any) -> Any:
    return k.remainder(x, y)


remainder.backward(
    self=lambda grad: grad,
    other=lambda grad, self, other: -grad * ops.aten.div.Tensor_mode(self, other, rounding_mode="floor"),
)


@pointwise("aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", kinds="uif", out="Tensor_out", accuracy="rounded")
def fmod(k: Any, x: Any, y: Any) -> Any:
    return k.fmod(x, y)


fmod.backward(
    self=lambda grad: grad,
    other=lambda grad, self, other: -grad * ops.aten.div.Tensor_mode(self, other, rounding_mode="trunc"),
)


def _pow_types(*operands: Any) -> Types:
    common = result_type(*operands)
    base, exponent = operands
    if common.kind in "iu" and isinstance(exponent, int) and exponent < 0:
        raise ArgumentError(
            "pow: integers to negative integer powers are not integers", got=f"{describe(base)}, {exponent}",
            hint="convert to float first",
        )  # fmt: skip
    if common.kind == "b" and not isinstance(exponent, bool):
        raise DTypeError("pow: not defined for bool", got=f"{describe(base)}, {describe(exponent)}")
    if isinstance(exponent, (int, float)) and (common.kind in "iu" or common.compute is not common):
        as_element("pow", exponent, common)  # an exponent must not wrap, as a factor may
    return _computed(common)


@pointwise(
    "aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    promote=_pow_types,
    inplace="Tensor",
    is_expensive=True,
    autocast={"cuda": "fp32"},
)
def pow_(k: Any, x: Any, y: Any) -> Any:
    exponent = k.number(y)
    if exponent == 2.0:
        return x * x
    if exponent in (0.5, -0.5):
        # The roots know the sign of zero, and that -inf has none; C's pow, which tensors of exponents get, does not.
        return k.sqrt(x) if exponent == 0.5 else k.rsqrt(x)
    return k.pow(x, y)


def _pow_self(grad: Tensor, self: Tensor, exponent: Any) -> Tensor:
    if isinstance(exponent, Tensor):
        # The slope at exponent 0 is 0 also where 0 ** -1 is not finite.
        return dropped(exponent == 0, grad * conjugate(exponent * self ** (exponent - 1)))
    if exponent == 0:
        return zeros(grad)
    return grad * conjugate(self * 2 if exponent == 2 else self ** (exponent - 1) * exponent)


def _pow_exponent(grad: Tensor, self: Any, exponent: Tensor, result: Tensor) -> Tensor:
    if exponent._dtype.is_complex:
        positive = (ops.aten.real.default(exponent) >= 0) & (ops.aten.imag.default(exponent) == 0)
    else:
        positive = exponent >= 0
    if isinstance(self, Tensor):
        slope = result * ops.aten.log.default(self)
        return grad * conjugate(dropped((self == 0) & positive, slope))
    if self == 0:
        return grad * conjugate(dropped(positive, result * -math.inf))
    # Of a real negative base, as of a tensor of such, the logarithm is NaN.
    slope = cmath.log(self) if isinstance(self, complex) else math.log(self) if self > 0 else math.nan
    return grad * conjugate(result * slope)


pow_.backward(self=_pow_self, exponent=_pow_exponent)


@pointwise(
    "aten::maximum(Tensor self, Tensor other) -> Tensor",
    kinds="buif",
    inplace=False,
    is_cheap=True,
    accuracy="rounded",
    either_zero=True,
)
def maximum(k: Any, x: Any, y: Any) -> Any:
    return k.maximum(x, y)


def _halved(grad: Tensor, self: Any, other: Any) -> Tensor:
    """The gradient, shared where both operands are equal."""
    return ops.aten.where.self(self == other, grad / 2, grad)


maximum.backward(
    self=lambda grad, self, other: dropped(self < other, _halved(grad, self, other)),
    other=lambda grad, self, other: dropped(other < self, _halved(grad, other, self)),
)


@pointwise(
    "aten::minimum(Tensor self, Tensor other) -> Tensor",
    kinds="buif",
    inplace=False,
    is_cheap=True,
    accuracy="rounded",
    either_zero=True,
)
def minimum(k: Any, x: Any, y: Any) -> Any:
    return k.minimum(x, y)


minimum.backward(
    self=lambda grad, self, other: dropped(self > other, _halved(grad, self, other)),
    other=lambda grad, self, other: dropped(other > self, _halved(grad, other, self)),
)


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


@pointwise(
    "aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
    kinds="fc",
    out="Tensor_out",
    accuracy="cancels",
)
def lerp(k: Any, x: Any, end: Any, weight: Any) -> Any:
    # Interpolate from the nearer end, so that weight 1 gives exactly `end`.
    near = k.abs(weight) < 0.5 if not isinstance(weight, float) else abs(weight) < 0.5
    low, high = x + weight * (end - x), end - (end - x) * (1 - weight)
    if isinstance(near, bool):
        return low if near else high
    return k.where(near, low, high)


lerp.backward(
    self=lambda grad, weight: grad * conjugate(1 - weight),
    end=lambda grad, weight: grad * conjugate(weight),
    weight=lambda grad, self, end: grad * conjugate(end - self),
)


@pointwise(
    "aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    kinds="uifc",
    autocast={"cuda": "promote"},
    accuracy="cancels",
)
def addcmul(k: Any, x: Any, a: Any, b: Any, value: Any = 1) -> Any:
    return x + _scaled(a, value) * b


addcmul.backward(
    self=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * conjugate(_scaled(tensor2, value)),
    tensor2=lambda grad, tensor1, value: grad * conjugate(_scaled(tensor1, value)),
)


@pointwise(
    "aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    kinds="fc",
    autocast={"cuda": "promote"},
    accuracy="cancels",
)
def addcdiv(k: Any, x: Any, a: Any, b: Any, value: Any = 1) -> Any:
    return x + _scaled(a, value) / b


addcdiv.backward(
    self=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * conjugate(value / tensor2),
    tensor2=lambda grad, tensor1, tensor2, value: -grad * conjugate(_scaled(tensor1, value) / (tensor2 * tensor2)),
)


# ---- comparison and logic ------------------------------------------------------------------------------------------


def _comparison(name: str, kinds: str = "buifc") -> Callable[[Callable[..., Any]], PointwiseDecl]:
    schema = f"aten::{name}.Tensor(Tensor self, Tensor other) -> Tensor"
    return pointwise(schema, kinds=kinds, promote=COMPARE, out="Tensor_out", is_cheap=True)


@_comparison("eq")
def eq(k: Any, x: Any, y: Any) -> Any:
    return x == y


@_comparison("ne")
def ne(k: Any, x: Any, y: Any) -> Any:
    return x != y


@_comparison("lt", kinds="buif")
def lt(k: Any, x: Any, y: Any) -> Any:
    return x < y


@_comparison("le", kinds="buif")
def le(k: Any, x: Any, y: Any) -> Any:
    return x <= y


@_comparison("gt", kinds="buif")
def gt(k: Any, x: Any, y: Any) -> Any:
    return x > y


@_comparison("ge", kinds="buif")
def ge(k: Any, x: Any, y: Any) -> Any:
    return x >= y


@pointwise("aten::logical_and(Tensor self, Tensor other) -> Tensor", promote=COMPARE)
def logical_and(k: Any, x: Any, y: Any) -> Any:
    return k.cast(x, dtypes.bool_) & k.cast(y, dtypes.bool_)


@pointwise("aten::logical_or(Tensor self, Tensor other) -> Tensor", promote=COMPARE)
def logical_or(k: Any, x: Any, y: Any) -> Any:
    return k.cast(x, dtypes.bool_) | k.cast(y, dtypes.bool_)


@pointwise("aten::logical_xor(Tensor self, Tensor other) -> Tensor", promote=COMPARE)
def logical_xor(k: Any, x: Any, y: Any) -> Any:
    return k.cast(x, dtypes.bool_) ^ k.cast(y, dtypes.bool_)


@pointwise("aten::logical_not(Tensor self) -> Tensor", promote=COMPARE)
def logical_not(k: Any, x: Any) -> Any:
    return k.logical_not(x)


def _bitwise_types(*operands: Any) -> Types:
    common = result_type(*operands)
    if common.kind not in "biu":
        raise DTypeError("bitwise op: only for integers and bools", got=", ".join(map(describe, operands)))
    return common, common


@pointwise("aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", promote=_bitwise_types, out="Tensor_out")
def bitwise_and(k: Any, x: Any, y: Any) -> Any:
    return x & y


@pointwise("aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", promote=_bitwise_types, out="Tensor_out")
def bitwise_or(k: Any, x: Any, y: Any) -> Any:
    return x | y


@pointwise("aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", promote=_bitwise_types, out="Tensor_out")
def bitwise_xor(k: Any, x: Any, y: Any) -> Any:
    return x ^ y


@pointwise("aten::bitwise_not(Tensor self) -> Tensor", promote=_bitwise_types)
def bitwise_not(k: Any, x: Any) -> Any:
    return k.logical_not(x) if k.dtype(x) is dtypes.bool_ else ~x


@pointwise("aten::isnan(Tensor self) -> Tensor", promote=COMPARE, inplace=False)
def isnan(k: Any, x: Any) -> Any:
    return x != x


@pointwise("aten::isinf(Tensor self) -> Tensor", promote=COMPARE, inplace=False)
def isinf(k: Any, x: Any) -> Any:
    return k.isinf(x)


@pointwise("aten::isfinite(Tensor self) -> Tensor", promote=COMPARE, inplace=False, out=False)
def isfinite(k: Any, x: Any) -> Any:
    return k.isfinite(x)


@pointwise("aten::signbit(Tensor self) -> Tensor", kinds="buif", promote=COMPARE, inplace=False)
def signbit(k: Any, x: Any) -> Any:
    return k.signbit(x)


# ---- unary ---------------------------------------------------------------------------------------------------------


def _unary(
    name: str, promote: Any, low: float = -3.0, high: float = 3.0, kinds: str = "buifc", **traits: Unpack[Traits]
) -> PointwiseDecl:
    """A unary op that is one function of the vocabulary."""

    def body(k: Any, x: Any) -> Any:
        return getattr(k, name)(x)

    body.__name__ = name
    decl = pointwise(f"aten::{name}(Tensor self) -> Tensor", promote=promote, kinds=kinds, **traits)(body)
    decl.with_samples(lambda make: [((make(3, 4, low=low, high=high),), {}), ((make(low=low, high=high),), {})])
    return decl


_costly = functools.partial(_unary, promote=INT_TO_FLOAT, is_expensive=True)

exp = _costly("exp", is_strict=True, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, result: grad * conjugate(result)
)
exp2 = _costly("exp2", is_strict=True).backward(self=lambda grad, result: grad * conjugate(result) * math.log(2))
expm1 = _costly("expm1", is_strict=True, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, result: grad * conjugate(result + 1)
)
sin = _costly("sin", is_strict=True).backward(self=lambda grad, self: grad * conjugate(ops.aten.cos.default(self)))
cos = _costly("cos", is_strict=True).backward(self=lambda grad, self: grad * -conjugate(ops.aten.sin.default(self)))
tan = _costly("tan", is_strict=True, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, result: grad * conjugate(result * result + 1)
)
atan = _costly("atan").backward(self=lambda grad, self: grad / conjugate(self * self + 1))
sinh = _costly("sinh", autocast={"cuda": "fp32"}).backward(
    self=lambda grad, self: grad * conjugate(ops.aten.cosh.default(self))
)
cosh = _costly("cosh", autocast={"cuda": "fp32"}).backward(
    self=lambda grad, self: grad * conjugate(ops.aten.sinh.default(self))
)
asinh = _costly("asinh").backward(self=lambda grad, self: grad * conjugate(ops.aten.rsqrt.default(self * self + 1)))
erf = _costly("erf", kinds="f", is_strict=True).backward(
    self=lambda grad, self: ops.aten.exp.default(-(self * self)) * grad * (2 / math.sqrt(math.pi))
)
log = _costly("log", low=0.1, is_strict=True, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, self: grad / conjugate(self)
)
log2 = _costly("log2", low=0.1, is_strict=True, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, self: grad / (conjugate(self) * math.log(2))
)
log10 = _costly("log10", low=0.1, is_strict=True, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, self: grad / (conjugate(self) * math.log(10))
)
log1p = _costly("log1p", low=-0.9, is_strict=True, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, self: grad / conjugate(self + 1)
)
sqrt = _unary("sqrt", INT_TO_FLOAT, low=0.1, is_strict=True, accuracy="rounded").backward(
    self=lambda grad, result: grad / (conjugate(result) * 2)
)
rsqrt = _unary("rsqrt", INT_TO_FLOAT, low=0.1, is_strict=True, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, result: -0.5 * grad * conjugate(result**3)
)
reciprocal = _unary(
    "reciprocal", INT_TO_FLOAT, low=0.1, is_strict=True, is_cheap=True, autocast={"cuda": "fp32"}, accuracy="rounded"
).backward(self=lambda grad, result: -grad * conjugate(result * result))
asin = _costly("asin", low=-0.9, high=0.9, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, self: grad * conjugate(ops.aten.rsqrt.default(1 - self * self))
)
acos = _costly("acos", low=-0.9, high=0.9, autocast={"cuda": "fp32"}).backward(
    self=lambda grad, self: grad * -conjugate(ops.aten.rsqrt.default(1 - self * self))
)
atanh = _costly("atanh", low=-0.9, high=0.9).backward(self=lambda grad, self: grad / conjugate(1 - self * self))


def _acosh_self(grad: Tensor, self: Tensor) -> Tensor:
    rsqrt = ops.aten.rsqrt.default
    # The complex roots apart, for the sake of the branch.
    slope = rsqrt(self + 1) * rsqrt(self - 1) if self._dtype.is_complex else rsqrt(self * self - 1)
    return grad * conjugate(slope)


acosh = _costly("acosh", low=1.1).backward(self=_acosh_self)
sigmoid = _costly("sigmoid", is_strict=True)
tanh = _costly("tanh", is_strict=True)


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


def _abs_types(x: Any) -> Types:
    common = result_type(x)
    return common.compute, common.to_real()


def _abs_self(grad: Tensor, self: Tensor) -> Tensor:
    if not self._dtype.is_complex:
        return grad * ops.aten.sign.default(self)
    grad = ops.aten.real.default(grad)  # in place, the real size is a complex number
    size = ops.aten.abs.default(self)
    is_zero = size == 0
    return grad * dropped(is_zero, self / ops.aten.masked_fill.Scalar(size, is_zero, 1))


abs_ = _unary("abs", _abs_types, kinds="uifc", is_strict=True, is_cheap=True, accuracy="rounded").backward(
    self=_abs_self
)
for _name in ("floor", "ceil", "trunc", "round"):
    _unary(_name, DEFAULT, kinds="uif", accuracy="rounded").backward(self=zeros)
neg = _unary("neg", DEFAULT, kinds="uifc", is_strict=True, is_cheap=True, accuracy="rounded").backward(
    self=lambda grad: -grad
)


@pointwise("aten::sign(Tensor self) -> Tensor", kinds="buif", accuracy="rounded")
def sign(k: Any, x: Any) -> Any:
    """-1, 0 or 1; 0 for NaN, as in PyTorch."""
    found = k.sign(x)
    return k.where(x == x, found, k.const(0, k.dtype(x))) if k.dtype(x).kind == "f" else found


sign.backward(self=zeros)


def _square_types(x: Any) -> Types:
    common = result_type(x)
    return _computed(dtypes.int64 if common.kind == "b" else common)


@pointwise(
    "aten::square(Tensor self) -> Tensor",
    promote=_square_types,
    is_cheap=True,
    is_strict=True,
    autocast={"cuda": "fp32"},
    accuracy="rounded",
)
def square(k: Any, x: Any) -> Any:
    return x * x


square.backward(self=lambda grad, self: grad * conjugate(self * 2))


# ---- selection -----------------------------------------------------------------------------------------------------


def _where_types(condition: Any, a: Any, b: Any) -> Types:
    kind = condition if isinstance(condition, DType) else getattr(condition, "_dtype", None)
    if kind is not None and kind not in (dtypes.bool_, dtypes.uint8):
        raise DTypeError("where: the condition must be bool", got=describe(condition), hint="compare with != 0")
    common = result_type(a, b)
    return _computed(common)


@pointwise(
    "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", promote=_where_types, inplace=False,
    is_cheap=True, outs="self_out", accuracy="rounded"
)  # fmt: skip
def where(k: Any, condition: Any, a: Any, b: Any) -> Any:
    return k.where(k.cast(condition, dtypes.bool_), a, b)


where.backward(
    self=lambda grad, condition: kept(condition, grad),
    other=lambda grad, condition: ops.aten.where.self(condition, 0, grad),
)


def _masked_fill_types(x: Any, mask: Any, value: Any = 0) -> Types:
    dtype = x if isinstance(x, DType) else result_type(x)
    as_element("masked_fill", value, dtype)
    return _computed(dtype)


@pointwise(
    "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    promote=_masked_fill_types, outs="Scalar_out", accuracy="rounded"
)  # fmt: skip
def masked_fill(k: Any, x: Any, mask: Any, value: Any) -> Any:
    return k.where(k.cast(mask, dtypes.bool_), k.const(value, k.dtype(x)), x)


masked_fill.backward(self=lambda grad, mask: dropped(mask, grad))


def _clamp_types(x: Any, low: Any = None, high: Any = None, *, min: Any = None, max: Any = None) -> Types:
    bounds = [bound for bound in (low, high, min, max) if bound is not None]
    if not bounds:
        raise ArgumentError("clamp: needs min or max")
    common = result_type(x, *bounds)
    for bound in bounds:
        if isinstance(bound, (int, float, complex)):
            as_element("clamp", bound, common)
    return _computed(common)


def _clamp(k: Any, x: Any, low: Any, high: Any) -> Any:
    if low is not None:
        x = k.maximum(x, low)
    return x if high is None else k.minimum(x, high)


@pointwise(
    "aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    kinds="uif",
    promote=_clamp_types,
    is_cheap=True,
    accuracy="rounded",
    either_zero=True,
)
def clamp(k: Any, x: Any, min: Any, max: Any) -> Any:
    if any(isinstance(bound, float) and math.isnan(bound) for bound in (min, max)):
        return k.const(math.nan, k.dtype(x)) + x * 0
    # A zero at a limit of zero keeps its sign, and NaN is beyond no limit: `maximum` would take the limit's zero.
    if min is not None:
        low = k.const(min, k.dtype(x))
        x = k.where(x < low, low, x)
    if max is not None:
        high = k.const(max, k.dtype(x))
        x = k.where(x > high, high, x)
    return x


def _clamp_self(grad: Tensor, self: Tensor, min: Any, max: Any) -> Tensor:
    """The bounds belong to the range."""
    if min is None:
        return kept(self <= max, grad)
    return kept(self >= min if max is None else (self >= min) & (self <= max), grad)


clamp.backward(self=_clamp_self)


@pointwise(
    "aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", kinds="uif",
    promote=_clamp_types, is_cheap=True, out="Tensor_out", accuracy="rounded", either_zero=True
)  # fmt: skip
def clamp_tensor(k: Any, x: Any, min: Any, max: Any) -> Any:
    return _clamp(k, x, min, max)


def _clamp_min(grad: Tensor, self: Tensor, min: Any, max: Any) -> Tensor:
    return kept(self < min if max is None else (self < min) & (min < max), grad)


def _clamp_max(grad: Tensor, self: Tensor, min: Any, max: Any) -> Tensor:
    # Where the bounds cross, the upper one wins.
    return kept(self > max if min is None else (self > max) | (max < min), grad)


clamp_tensor.backward(self=_clamp_self, min=_clamp_min, max=_clamp_max)


@composite("aten::clamp_min(Tensor self, Scalar min) -> Tensor", tags="pointwise", outs="out")
def clamp_min(self: Tensor, min: Any) -> Tensor:
    return ops.aten.clamp.default(self, min)


@composite("aten::clamp_max(Tensor self, Scalar max) -> Tensor", tags="pointwise", outs="out")
def clamp_max(self: Tensor, max: Any) -> Tensor:
    return ops.aten.clamp.default(self, None, max)


# ---- copies and casts ----------------------------------------------------------------------------------------------


@pointwise("aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
           promote=lambda x, memory_format=None: (result_type(x), result_type(x)), inplace=False,
           is_cheap=True, is_strict=True, accuracy="rounded")  # fmt: skip
def clone(k: Any, x: Any, memory_format: Any) -> Any:
    return x


clone.gives_memory = True


clone.backward(self=lambda grad: grad)


@pointwise(
    "aten::lift_fresh_copy(Tensor self) -> Tensor", promote=lambda x: (result_type(x), result_type(x)), inplace=False,
    tags="view_copy", outs="out"
)  # fmt: skip
def lift_fresh_copy(k: Any, x: Any) -> Any:
    """A copy of data that came from Python while tracing: each run of the trace starts from its own."""
    return x


lift_fresh_copy.backward(self=lambda grad: grad)


class ToCopyDecl(PointwiseDecl):
    """A cast; also the one pointwise op whose result may be on another device."""

    def spec(self, operands: Any, attributes: dict[str, Any]) -> TensorSpec:
        found = super().spec(operands, attributes)
        device = attributes.get("device")
        return found if device is None else found._replace(device=parse_device(device))

    def eager(self, *args: Any, **kwargs: Any) -> Tensor:
        if kwargs.get("device") is None:
            result = self.large(args, kwargs)
            if result is not None:
                return result
        (source,), attributes = self.operands(args, kwargs)
        spec = self.spec([source], attributes)
        if spec.device is not source._device:
            if spec.device.type == "meta":
                return allocate_like(spec)
            source = Tensor._from_array(_moved(source, spec.device), spec.device)
        return self.fill([source], attributes, spec, None)


def _moved(source: Tensor, device: Device) -> Any:
    """The elements as an array of another device's module."""
    if device.is_host:
        return source._device.memory.to_host(source._array)
    return device.memory.from_host(source._array, device.index)


def _to_copy_types(x: Any, dtype: DType | None = None, **_: Any) -> Types:
    source = x if isinstance(x, DType) else result_type(x)
    return source, source if dtype is None else dtype


_to_copy = ToCopyDecl(
    "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    lambda k, x, **_: x, _to_copy_types,
)  # fmt: skip
with_traits(_to_copy, is_cheap=True, outs="out", accuracy="rounded")


def _to_copy_self(grad: Tensor, self_spec: TensorSpec) -> Tensor:
    # The way back to the dtype is that of every gradient.
    return grad if grad._device is self_spec.device else ops.aten._to_copy.default(grad, device=self_spec.device)


_to_copy.backward(self=_to_copy_self)


def to(
    self: Tensor, *args: Any, dtype: DType | None = None, device: Any = None, non_blocking: bool = False,
    copy: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """The tensor with another dtype or on another device; itself where nothing changes and `copy` is false.

    Parameters
    ----------
    *args
        A dtype, a device, both in either order, or a tensor whose dtype and device are taken.
    dtype, device
        The same by name.
    copy : bool
        Whether the result is new even where nothing changes.
    memory_format : MemoryFormat, optional
        How the result lies in memory; as the tensor does by default.
    """
    for arg in args:
        if isinstance(arg, Tensor):
            dtype, device = arg._dtype, arg._device
        elif isinstance(arg, bool):
            continue  # PyTorch's positional non_blocking and copy
        elif isinstance(arg, (str, Device, int)):
            device = arg
        elif arg is not None:
            dtype = dtypes.as_dtype(arg, "to")
    target = self._device if device is None else parse_device(device)
    wanted = self._dtype if dtype is None else dtypes.as_dtype(dtype, "to")
    layout = preserve_format if memory_format is None else as_memory_format(memory_format, "to")
    if wanted is self._dtype and target is self._device and not copy:
        if layout == preserve_format or layout == suggested_format(self._sizes, self._strides):
            return self
    attributes: dict[str, Any] = {"dtype": wanted} if wanted is not self._dtype else {}
    if target is not self._device:
        attributes["device"] = target
    if layout != preserve_format:
        attributes["memory_format"] = layout
    return ops.aten._to_copy.default(self, **attributes)


# ---- samples -------------------------------------------------------------------------------------------------------


def _pairs(make: Callable[..., Tensor]) -> Iterable[Any]:
    """Two operands: equal shapes, broadcast, 0-d, transposed, empty, and a number."""
    yield (make(3, 4), make(3, 4, low=1)), {}
    yield (make(3, 1), make(4, low=1)), {}
    yield (make(2, 3), make(low=1)), {}
    yield (ops.aten.transpose.int(make(4, 3), 0, 1), make(3, 4, low=1)), {}
    yield (make(0, 4), make(1, 4, low=1)), {}
    yield (make(3), 2), {}


for _decl in (add, sub, rsub, mul, div, floor_divide, remainder, fmod, pow_, maximum, minimum, atan2, eq, ne, lt, le,
              gt, ge, logical_and, logical_or, logical_xor, bitwise_and, bitwise_or, bitwise_xor,
              sigmoid_backward, tanh_backward):  # fmt: skip
    _decl.with_samples(_pairs)
for _decl in (logical_not, bitwise_not, isnan, isinf, isfinite, signbit, sign, square, clone):
    _decl.with_samples(lambda make: [((make(3, 4),), {}), ((make(),), {}), ((make(0, 2),), {})])


@clamp.with_samples
def _(make: Callable[..., Tensor]) -> Iterable[Any]:
    return [((make(3, 4), 0, 2), {}), ((make(3), None, 1), {}), ((make(3), 1), {})]


def _triples(make: Callable[..., Tensor]) -> Iterable[Any]:
    return [((make(3, 4), make(3, 4), make(4, low=1)), {}), ((make(2, 1), make(2, 3), make(low=1)), {})]


for _decl in (addcmul, addcdiv, lerp, clamp_tensor):
    _decl.with_samples(_triples)


@div_mode.with_samples
def _(make: Callable[..., Tensor]) -> Iterable[Any]:
    return [((make(3, 4), make(4, low=1)), {"rounding_mode": mode}) for mode in (None, "trunc", "floor")]


@masked_fill.with_samples
def _(make: Callable[..., Tensor]) -> Iterable[Any]:
    return [((make(3, 4), ops.aten.ne.Tensor(make(4), 0), 1), {})]


@where.with_samples
def _(make: Callable[..., Tensor]) -> Iterable[Any]:
    condition = ops.aten.ne.Tensor(make(3, 4), 0)
    return [((condition, make(3, 4), make(4)), {}), ((condition, make(3, 4), 0), {})]


@_to_copy.with_samples
def _(make: Callable[..., Tensor]) -> Iterable[Any]:
    targets = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.bool_, dtypes.float16)
    return [((make(3, 4, low=0),), {"dtype": dtype}) for dtype in targets]


#: The types that the tests run most ops with.
SAMPLE_DTYPES = (
    dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16, dtypes.int64, dtypes.int32, dtypes.int8,
    dtypes.uint8, dtypes.bool_, dtypes.complex64,
)  # fmt: skip

for _decl in (sigmoid_backward, tanh_backward):
    _decl.sample_dtypes = (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16)

for _op in list(registry.operators.values()):
    if isinstance(_op.decl, PointwiseDecl) and _op.decl.samples is not None and _op.decl.sample_dtypes is None:
        _op.decl.sample_dtypes = SAMPLE_DTYPES
