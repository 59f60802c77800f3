"""Arithmetic: sums, products, quotients, powers and signs."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterable
from typing import Any, Unpack

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, DTypeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.elementary import unary
from opweave.registry.ops.gradients import conjugate, dropped, zeros
from opweave.registry.ops.kinds import DEFAULT, INT_TO_FLOAT, composite, declare_copied_back, extern, pointwise
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.ops.numbers import first_number, hand_on, into, second_number
from opweave.registry.ops.samples import Make, pairs, triples
from opweave.registry.promote import as_element, broadcast_shapes, computed, pointwise_strides, result_type
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, allocate_like, describe

_FLOATS = (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16)
aten = ops.aten


# ---- arithmetic ----------------------------------------------------------------------------------------------------


def _check_alpha(name: str, common: DType, alpha: Any) -> None:
    if common.kind != "b" and isinstance(alpha, bool):
        raise DTypeError(f"{name}: a bool alpha is only for bool tensors", got=f"alpha={alpha}")
    if common.kind in "biu" and isinstance(alpha, float):
        raise DTypeError(f"{name}: alpha must be an integer for integer tensors", got=f"alpha={alpha}")
    if common.kind != "c" and isinstance(alpha, complex):
        raise DTypeError(f"{name}: alpha must be a real number for real tensors", got=f"alpha={alpha}")
    as_element(name, alpha, common)


def _add_types(*operands: Any, alpha: Any = 1) -> tuple[DType, DType]:
    common = result_type(*operands)
    _check_alpha("add", common, alpha)
    return computed(common)


def _sub_types(*operands: Any, alpha: Any = 1) -> tuple[DType, DType]:
    common = result_type(*operands)
    _check_alpha("sub", common, alpha)
    kinds = [operand.kind if isinstance(operand, DType) else result_type(operand).kind for operand in operands]
    if "b" in kinds:
        raise DTypeError(
            "sub: not defined for bool", got=", ".join(map(describe, operands)), hint="use logical_xor or bitwise_xor"
        )
    return computed(common)


def scaled(y: Any, alpha: Any) -> Any:
    return y if alpha == 1 else y * alpha


@pointwise(
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    promote=_add_types,
    is_cheap=True,
    is_strict=True,
)
def add(k: Any, x: Any, y: Any, alpha: Any = 1) -> Any:
    return x + scaled(y, alpha)


add.backward(self=lambda grad: grad, other=lambda grad, alpha: scaled(grad, conjugate(alpha)))


@pointwise(
    "aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    promote=_sub_types,
    is_cheap=True,
    is_strict=True,
)
def sub(k: Any, x: Any, y: Any, alpha: Any = 1) -> Any:
    return x - scaled(y, alpha)


sub.backward(self=lambda grad: grad, other=lambda grad, alpha: -scaled(grad, conjugate(alpha)))


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


def _div_mode_types(*operands: Any, rounding_mode: str | None = None) -> tuple[DType, DType]:
    if rounding_mode not in (None, "trunc", "floor"):
        raise ArgumentError("div: unknown rounding_mode", got=repr(rounding_mode), hint="None, 'trunc' or 'floor'")
    common = result_type(*operands)
    if rounding_mode is None:
        return computed(dtypes.get_default_dtype() if common.kind in "biu" else common)
    if common.kind in "bc":
        raise DTypeError(f"div: rounding is not defined for {common.name}", got=", ".join(map(describe, operands)))
    # What is cut is the quotient as the type has it, so half types are not widened; by a number it is the exact one.
    by_many = isinstance(operands[1], DType) or isinstance(operands[1], Tensor) and operands[1]._sizes
    return (common, common) if rounding_mode == "trunc" and by_many else computed(common)


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
@pointwise(
    "aten::floor_divide(Tensor self, Tensor other) -> Tensor", kinds="uif", inplace="Tensor", rounds_numbers=(0,)
)
def floor_divide(k: Any, x: Any, y: Any) -> Any:
    return k.floor_divide(x, y)


@pointwise(
    "aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", kinds="uif", out="Tensor_out", accuracy="rounded",
    rounds_numbers=(0, 1),
)  # fmt: skip
def remainder(k: Any, x: Any, y: Any) -> Any:
    return k.remainder(x, y)


remainder.backward(
    self=lambda grad: grad,
    other=lambda grad, self, other: -grad * ops.aten.div.Tensor_mode(self, other, rounding_mode="floor"),
)


@pointwise(
    "aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", kinds="uif", out="Tensor_out", accuracy="rounded",
    rounds_numbers=(0, 1),
)  # fmt: skip
def fmod(k: Any, x: Any, y: Any) -> Any:
    return k.fmod(x, y)


fmod.backward(
    self=lambda grad: grad,
    other=lambda grad, self, other: -grad * ops.aten.div.Tensor_mode(self, other, rounding_mode="trunc"),
)


def _pow_types(*operands: Any) -> tuple[DType, DType]:
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
    return computed(common)


@pointwise(
    "aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    promote=_pow_types,
    inplace="Tensor",
    is_expensive=True,
    autocast={"cuda": "fp32"},
    rounds_numbers=(0, 1),
)
def pow_(k: Any, x: Any, y: Any) -> Any:
    exponent = k.number(y)
    if exponent == 2.0:
        return x * x
    if exponent in (3.0, -1.0, -2.0) and k.dtype(x).kind == "f":  # as PyTorch has them
        return x * x * x if exponent == 3.0 else 1.0 / x if exponent == -1.0 else 1.0 / (x * x)
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
    return x + scaled(a, value) * b


addcmul.backward(
    self=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * conjugate(scaled(tensor2, value)),
    tensor2=lambda grad, tensor1, value: grad * conjugate(scaled(tensor1, value)),
)


@pointwise(
    "aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    kinds="fc",
    autocast={"cuda": "promote"},
    accuracy="cancels",
)
def addcdiv(k: Any, x: Any, a: Any, b: Any, value: Any = 1) -> Any:
    return x + scaled(a, value) / b


addcdiv.backward(
    self=lambda grad: grad,
    tensor1=lambda grad, tensor2, value: grad * conjugate(value / tensor2),
    tensor2=lambda grad, tensor1, tensor2, value: -grad * conjugate(scaled(tensor1, value) / (tensor2 * tensor2)),
)


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

    @extern(f"aten::{name}(Tensor self, Tensor other) -> Tensor", spec=spec, tags="pointwise", outs="out")
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


def _double(x: Any) -> Any:
    if isinstance(x, Tensor):
        return aten._to_copy.default(x, dtype=dtypes.complex128 if x._dtype.kind == "c" else dtypes.float64)
    return x


@composite(
    "aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
    tags="pointwise",
    outs="Tensor_Scalar_out",
)
def float_power_number(self: Tensor, exponent: Any) -> Tensor:
    return aten.pow.Tensor_Scalar(_double(self), exponent)


@composite("aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor", tags="pointwise", outs="Scalar_out")
def float_power_of_number(self: Any, exponent: Tensor) -> Tensor:
    return aten.pow.Scalar(self, _double(exponent))


@composite(
    "aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    tags="pointwise",
    outs="Tensor_Tensor_out",
)
def float_power(self: Tensor, exponent: Tensor) -> Tensor:
    """The power in double precision."""
    return aten.pow.Tensor_Tensor(_double(self), _double(exponent))


declare_copied_back(
    "aten::float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)", float_power_number, "pointwise"
)
declare_copied_back(
    "aten::float_power_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)", float_power, "pointwise"
)


@composite("aten::positive(Tensor(a) self) -> Tensor(a)", tags="pointwise")
def positive(self: Tensor) -> Tensor:
    """The tensor itself."""
    if self._dtype.kind == "b":
        raise DTypeError("positive: not defined for bools", got=describe(self))
    return self


# ---- of one number -------------------------------------------------------------------------------------------------


def _abs_types(x: Any) -> tuple[DType, DType]:
    common = result_type(x)
    return common.compute, common.to_real()


def _abs_self(grad: Tensor, self: Tensor) -> Tensor:
    if not self._dtype.is_complex:
        return grad * ops.aten.sign.default(self)
    grad = ops.aten.real.default(grad)  # in place, the real size is a complex number
    size = ops.aten.abs.default(self)
    is_zero = size == 0
    return grad * dropped(is_zero, self / ops.aten.masked_fill.Scalar(size, is_zero, 1))


abs_ = unary("abs", _abs_types, kinds="uifc", is_strict=True, is_cheap=True, accuracy="rounded").backward(
    self=_abs_self
)

neg = unary("neg", DEFAULT, kinds="uifc", is_strict=True, is_cheap=True, accuracy="rounded").backward(
    self=lambda grad: -grad
)


@pointwise("aten::sign(Tensor self) -> Tensor", kinds="buif", accuracy="rounded")
def sign(k: Any, x: Any) -> Any:
    """-1, 0 or 1; 0 for NaN, as in PyTorch."""
    found = k.sign(x)
    return k.where(x == x, found, k.const(0, k.dtype(x))) if k.dtype(x).kind == "f" else found


sign.backward(self=zeros)


def _square_types(x: Any) -> tuple[DType, DType]:
    common = result_type(x)
    return computed(dtypes.int64 if common.kind == "b" else common)


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


# ---- numbers in place of tensors -----------------------------------------------------------------------------------


for _name in ("mul", "div", "remainder", "fmod"):
    second_number(_name)
second_number("floor_divide", target="default", inplace_tags=())
first_number("remainder")


def _with_alpha(schema: str, target: OpOverload, **traits: Unpack[Traits]) -> None:
    """The number forms of add and sub take alpha by position too."""

    @composite(schema, **traits)
    def body(self: Tensor, other: Any, alpha: Any = 1, **into: Any) -> Tensor:
        return target(self, other, alpha=alpha, **into)


_ALPHA = "(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"
_with_alpha(f"aten::rsub.Scalar{_ALPHA}", rsub.op, own_tags="pointwise", outs="Scalar_out")
for _name in ("add", "sub"):
    _main, _written = getattr(ops.aten, _name), getattr(ops.aten, f"{_name}_").Tensor
    _with_alpha(f"aten::{_name}.Scalar{_ALPHA}", _main.Tensor, tags="pointwise")
    _with_alpha(
        f"aten::{_name}.Scalar_out(Tensor self, Scalar other, Scalar alpha=1, *, Tensor(a!) out) -> Tensor(a!)",
        _main.out,
        tags="pointwise",
    )
    _with_alpha(
        f"aten::{_name}_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
        _written,
        tags="pointwise",
    )

hand_on(
    "aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
    ops.aten.div.Tensor_mode,
    outs="Scalar_mode_out",
)
hand_on(
    "aten::div_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? rounding_mode) -> Tensor(a!)",
    ops.aten.div_.Tensor_mode,
)
hand_on("aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", ops.aten.pow.Tensor_Tensor)
hand_on("aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", ops.aten.pow.Tensor_Tensor)
into("aten::pow.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out)", "pow")
into("aten::pow.Scalar_out(Scalar self, Tensor exponent, *, Tensor(a!) out)", "pow")
hand_on("aten::pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)", ops.aten.pow_.Tensor)
hand_on("aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", ops.aten.lerp.Tensor, outs="Scalar_out")
hand_on("aten::lerp_.Scalar(Tensor(a!) self, Tensor end, Scalar weight) -> Tensor(a!)", ops.aten.lerp_.Tensor)


# ---- samples -------------------------------------------------------------------------------------------------------


for _decl in (add, sub, rsub, mul, div, floor_divide, remainder, fmod, pow_):
    _decl.with_samples(pairs)

for _decl in (sign, square):
    _decl.with_samples(lambda make: [((make(3, 4),), {}), ((make(),), {}), ((make(0, 2),), {})])

for _decl in (addcmul, addcdiv, lerp):
    _decl.with_samples(triples)


@div_mode.with_samples
def _(make: Callable[..., Tensor]) -> Iterable[Any]:
    return [((make(3, 4), make(4, low=1)), {"rounding_mode": mode}) for mode in (None, "trunc", "floor")]


@sgn.with_samples
def _(make: Make) -> Iterable[Any]:
    return [((make(3, 4),), {}), ((make(),), {}), ((make(0, 2),), {})]


sgn.sample_dtypes = (*_FLOATS, dtypes.int64, dtypes.int8, dtypes.uint8, dtypes.bool_, dtypes.complex64)
