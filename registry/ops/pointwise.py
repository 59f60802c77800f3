"""Pointwise ops: arithmetic, comparison, logic, selection and casts.

A body is written once in the vocabulary of `registry.scalar`; see `registry.ops.kinds` for what follows from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from opweave.registry import dtypes
from opweave.registry.device import Device, parse_device
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, DTypeError
from opweave.registry.op import ops, registry
from opweave.registry.ops.kinds import COMPARE, DEFAULT, INT_TO_FLOAT, PointwiseDecl, composite, pointwise
from opweave.registry.promote import result_type
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, allocate_like, describe

Types = tuple[DType, DType]


def _computed(dtype: DType) -> Types:
    return dtype.compute, dtype


# ---- arithmetic ----------------------------------------------------------------------------------------------------


def _check_alpha(name: str, common: DType, alpha: Any) -> None:
    if common.kind != "b" and isinstance(alpha, bool):
        raise DTypeError(f"{name}: a bool alpha is only for bool tensors", got=f"alpha={alpha}")
    if common.kind in "biu" and isinstance(alpha, float):
        raise DTypeError(f"{name}: alpha must be an integer for integer tensors", got=f"alpha={alpha}")


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


@pointwise("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", promote=_add_types)
def add(k: Any, x: Any, y: Any, alpha: Any = 1) -> Any:
    return x + _scaled(y, alpha)


@pointwise("aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", promote=_sub_types)
def sub(k: Any, x: Any, y: Any, alpha: Any = 1) -> Any:
    return x - _scaled(y, alpha)


@composite("aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor")
def rsub(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    return ops.aten.sub.Tensor(other, self, alpha=alpha)


@pointwise("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor")
def mul(k: Any, x: Any, y: Any) -> Any:
    return x * y


@pointwise("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", promote=INT_TO_FLOAT)
def div(k: Any, x: Any, y: Any) -> Any:
    return x / y


def _div_mode_types(*operands: Any, rounding_mode: str | None = None) -> Types:
    if rounding_mode not in (None, "trunc", "floor"):
        raise ArgumentError("div: unknown rounding_mode", got=repr(rounding_mode), hint="None, 'trunc' or 'floor'")
    common = result_type(*operands)
    if rounding_mode is None:
        return _computed(dtypes.get_default_dtype() if common.kind in "biu" else common)
    if common.kind in "bc":
        raise DTypeError(f"div: rounding is not defined for {common.name}", got=", ".join(map(describe, operands)))
    return _computed(common)


@pointwise(
    "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", promote=_div_mode_types,
    out=False,
)  # fmt: skip
def div_mode(k: Any, x: Any, y: Any, rounding_mode: str | None) -> Any:
    if rounding_mode is None:
        return x / y
    return k.trunc_divide(x, y) if rounding_mode == "trunc" else k.floor_divide(x, y)


@pointwise("aten::floor_divide(Tensor self, Tensor other) -> Tensor", kinds="uif", inplace="Tensor")
def floor_divide(k: Any, x: Any, y: Any) -> Any:
    return k.floor_divide(x, y)


@pointwise("aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", kinds="uif", out="Tensor_out")
def remainder(k: Any, x: Any, y: Any) -> Any:
    return k.remainder(x, y)


@pointwise("aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", kinds="uif", out="Tensor_out")
def fmod(k: Any, x: Any, y: Any) -> Any:
    return k.fmod(x, y)


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
    return _computed(common)


@pointwise(
    "aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
    promote=_pow_types,
    inplace="Tensor",
)
def pow_(k: Any, x: Any, y: Any) -> Any:
    if isinstance(y, float) and y == 2.0:
        return x * x
    return k.pow(x, y)


@pointwise("aten::maximum(Tensor self, Tensor other) -> Tensor", kinds="buif", inplace=False)
def maximum(k: Any, x: Any, y: Any) -> Any:
    return k.maximum(x, y)


@pointwise("aten::minimum(Tensor self, Tensor other) -> Tensor", kinds="buif", inplace=False)
def minimum(k: Any, x: Any, y: Any) -> Any:
    return k.minimum(x, y)


@pointwise("aten::atan2(Tensor self, Tensor other) -> Tensor", kinds="f", promote=INT_TO_FLOAT)
def atan2(k: Any, x: Any, y: Any) -> Any:
    return k.atan2(x, y)


@pointwise("aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", kinds="fc", out="Tensor_out")
def lerp(k: Any, x: Any, end: Any, weight: Any) -> Any:
    # Interpolate from the nearer end, so that weight 1 gives exactly `end`.
    near = k.abs(weight) < 0.5 if not isinstance(weight, float) else abs(weight) < 0.5
    low, high = x + weight * (end - x), end - (end - x) * (1 - weight)
    if isinstance(near, bool):
        return low if near else high
    return k.where(near, low, high)


@pointwise("aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", kinds="uifc")
def addcmul(k: Any, x: Any, a: Any, b: Any, value: Any = 1) -> Any:
    return x + _scaled(a * b, value)


@pointwise(
    "aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    kinds="fc",
)
def addcdiv(k: Any, x: Any, a: Any, b: Any, value: Any = 1) -> Any:
    return x + _scaled(a / b, value)


# ---- comparison and logic ------------------------------------------------------------------------------------------


@pointwise("aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", promote=COMPARE, out="Tensor_out")
def eq(k: Any, x: Any, y: Any) -> Any:
    return x == y


@pointwise("aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", promote=COMPARE, out="Tensor_out")
def ne(k: Any, x: Any, y: Any) -> Any:
    return x != y


@pointwise("aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", kinds="buif", promote=COMPARE, out="Tensor_out")
def lt(k: Any, x: Any, y: Any) -> Any:
    return x < y


@pointwise("aten::le.Tensor(Tensor self, Tensor other) -> Tensor", kinds="buif", promote=COMPARE, out="Tensor_out")
def le(k: Any, x: Any, y: Any) -> Any:
    return x <= y


@pointwise("aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", kinds="buif", promote=COMPARE, out="Tensor_out")
def gt(k: Any, x: Any, y: Any) -> Any:
    return x > y


@pointwise("aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", kinds="buif", promote=COMPARE, out="Tensor_out")
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


@pointwise("aten::isnan(Tensor self) -> Tensor", promote=COMPARE, inplace=False, out=False)
def isnan(k: Any, x: Any) -> Any:
    return x != x


@pointwise("aten::isinf(Tensor self) -> Tensor", promote=COMPARE, inplace=False, out=False)
def isinf(k: Any, x: Any) -> Any:
    return k.isinf(x)


@pointwise("aten::isfinite(Tensor self) -> Tensor", promote=COMPARE, inplace=False, out=False)
def isfinite(k: Any, x: Any) -> Any:
    return k.isfinite(x)


@pointwise("aten::signbit(Tensor self) -> Tensor", kinds="buif", promote=COMPARE, inplace=False)
def signbit(k: Any, x: Any) -> Any:
    return k.signbit(x)


# ---- unary ---------------------------------------------------------------------------------------------------------


def _unary(name: str, promote: Any, low: float = -3.0, high: float = 3.0, kinds: str = "buifc") -> PointwiseDecl:
    """A unary op that is one function of the vocabulary."""

    def body(k: Any, x: Any) -> Any:
        return getattr(k, name)(x)

    body.__name__ = name
    decl = pointwise(f"aten::{name}(Tensor self) -> Tensor", promote=promote, kinds=kinds)(body)
    decl.with_samples(lambda make: [((make(3, 4, low=low, high=high),), {}), ((make(low=low, high=high),), {})])
    return decl


for _name in ("exp", "exp2", "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "sigmoid"):
    _unary(_name, INT_TO_FLOAT)
_unary("erf", INT_TO_FLOAT, kinds="f")
for _name in ("log", "log2", "log10", "sqrt", "rsqrt", "reciprocal"):
    _unary(_name, INT_TO_FLOAT, low=0.1)
for _name in ("asin", "acos", "atanh"):
    _unary(_name, INT_TO_FLOAT, low=-0.9, high=0.9)
_unary("log1p", INT_TO_FLOAT, low=-0.9)
_unary("acosh", INT_TO_FLOAT, low=1.1)


def _abs_types(x: Any) -> Types:
    common = result_type(x)
    return common.compute, common.to_real()


_unary("abs", _abs_types, kinds="uifc")
for _name in ("floor", "ceil", "trunc", "round"):
    _unary(_name, DEFAULT, kinds="uif")
_unary("neg", DEFAULT, kinds="uifc")


@pointwise("aten::sign(Tensor self) -> Tensor", kinds="buif")
def sign(k: Any, x: Any) -> Any:
    """-1, 0 or 1; 0 for NaN, as in PyTorch."""
    found = k.sign(x)
    return k.where(x == x, found, k.const(0, k.dtype(x))) if k.dtype(x).kind == "f" else found


def _square_types(x: Any) -> Types:
    common = result_type(x)
    return _computed(dtypes.int64 if common.kind == "b" else common)


@pointwise("aten::square(Tensor self) -> Tensor", promote=_square_types)
def square(k: Any, x: Any) -> Any:
    return x * x


# ---- selection -----------------------------------------------------------------------------------------------------


def _where_types(condition: Any, a: Any, b: Any) -> Types:
    kind = condition if isinstance(condition, DType) else getattr(condition, "_dtype", None)
    if kind is not None and kind not in (dtypes.bool_, dtypes.uint8):
        raise DTypeError("where: the condition must be bool", got=describe(condition), hint="compare with != 0")
    common = result_type(a, b)
    return _computed(common)


@pointwise(
    "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", promote=_where_types, inplace=False,
    out=False,
)  # fmt: skip
def where(k: Any, condition: Any, a: Any, b: Any) -> Any:
    return k.where(k.cast(condition, dtypes.bool_), a, b)


@pointwise(
    "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    promote=lambda x, mask, value=0: _computed(x if isinstance(x, DType) else result_type(x)), out=False,
)  # fmt: skip
def masked_fill(k: Any, x: Any, mask: Any, value: Any) -> Any:
    return k.where(k.cast(mask, dtypes.bool_), k.const(value, k.dtype(x)), x)


def _clamp_types(x: Any, low: Any = None, high: Any = None, *, min: Any = None, max: Any = None) -> Types:
    bounds = [bound for bound in (low, high, min, max) if bound is not None]
    if not bounds:
        raise ArgumentError("clamp: needs min or max")
    return _computed(result_type(x, *bounds))


def _clamp(k: Any, x: Any, low: Any, high: Any) -> Any:
    if low is not None:
        x = k.maximum(x, low)
    return x if high is None else k.minimum(x, high)


@pointwise("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", kinds="uif", promote=_clamp_types)
def clamp(k: Any, x: Any, min: Any, max: Any) -> Any:
    if any(isinstance(bound, float) and math.isnan(bound) for bound in (min, max)):
        return k.const(math.nan, k.dtype(x)) + x * 0
    constant = [None if bound is None else k.const(bound, k.dtype(x)) for bound in (min, max)]
    return _clamp(k, x, *constant)


@pointwise(
    "aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", kinds="uif",
    promote=_clamp_types, out=False,
)  # fmt: skip
def clamp_tensor(k: Any, x: Any, min: Any, max: Any) -> Any:
    return _clamp(k, x, min, max)


@composite("aten::clamp_min(Tensor self, Scalar min) -> Tensor")
def clamp_min(self: Tensor, min: Any) -> Tensor:
    return ops.aten.clamp.default(self, min)


@composite("aten::clamp_max(Tensor self, Scalar max) -> Tensor")
def clamp_max(self: Tensor, max: Any) -> Tensor:
    return ops.aten.clamp.default(self, None, max)


# ---- activations ---------------------------------------------------------------------------------------------------


@pointwise("aten::relu(Tensor self) -> Tensor", kinds="uif")
def relu(k: Any, x: Any) -> Any:
    return k.maximum(x, k.const(0, k.dtype(x)))


@pointwise("aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", kinds="f")
def leaky_relu(k: Any, x: Any, negative_slope: Any) -> Any:
    return k.where(x > 0, x, x * float(negative_slope))


@pointwise("aten::silu(Tensor self) -> Tensor", promote=INT_TO_FLOAT)
def silu(k: Any, x: Any) -> Any:
    return x / (1 + k.exp(-x))


def _gelu_types(x: Any, approximate: str = "none") -> Types:
    if approximate not in ("none", "tanh"):
        raise ArgumentError("gelu: unknown approximate", got=repr(approximate), hint="'none' or 'tanh'")
    common = result_type(x)
    if common.kind not in "f":
        raise DTypeError("gelu: only for floating tensors", got=describe(x))
    return _computed(common)


@pointwise("aten::gelu(Tensor self, *, str approximate='none') -> Tensor", promote=_gelu_types)
def gelu(k: Any, x: Any, approximate: str) -> Any:
    """Hendrycks & Gimpel 2016: x Φ(x); "tanh" is the paper's approximation of Φ."""
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))
        return 0.5 * x * (1 + k.tanh(inner))
    return 0.5 * x * (1 + k.erf(x * math.sqrt(0.5)))


@pointwise("aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", kinds="f", inplace=False)
def softplus(k: Any, x: Any, beta: Any, threshold: Any) -> Any:
    scaled = x * float(beta)
    return k.where(scaled > float(threshold), x, k.log1p(k.exp(scaled)) / float(beta))


@pointwise("aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", kinds="f")
def elu(k: Any, x: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    negative = k.expm1(x * float(input_scale)) * (float(alpha) * float(scale))
    return k.where(x > 0, x * float(scale), negative)


# ---- copies and casts ----------------------------------------------------------------------------------------------


@pointwise("aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
           promote=lambda x, memory_format=None: (result_type(x), result_type(x)), inplace=False)  # fmt: skip
def clone(k: Any, x: Any, memory_format: Any) -> Any:
    return x


@pointwise(
    "aten::lift_fresh_copy(Tensor self) -> Tensor", promote=lambda x: (result_type(x), result_type(x)), inplace=False,
    out=False,
)  # fmt: skip
def lift_fresh_copy(k: Any, x: Any) -> Any:
    """A copy of data that came from Python while tracing: each run of the trace starts from its own."""
    return x


class ToCopyDecl(PointwiseDecl):
    """A cast; also the one pointwise op whose result may be on another device."""

    def spec(self, operands: Any, attributes: dict[str, Any]) -> TensorSpec:
        found = super().spec(operands, attributes)
        device = attributes.get("device")
        return found if device is None else found._replace(device=parse_device(device))

    def eager(self, *args: Any, **kwargs: Any) -> Tensor:
        (source,), attributes = self.operands(args, kwargs)
        spec = self.spec([source], attributes)
        if spec.device is not source._device:
            if spec.device.type == "meta":
                return allocate_like(spec)
            source = Tensor._from_array(_moved(source, spec.device), spec.device)
        return self.evaluate([source], attributes, spec, None)


def _moved(source: Tensor, device: Device) -> Any:
    """The elements as an array of another device's module."""
    if device.type == "cpu":
        return source._device.xp.asnumpy(source._array)
    with device.xp.cuda.Device(device.index):
        return device.xp.asarray(source._array)


def _to_copy_types(x: Any, dtype: DType | None = None, **_: Any) -> Types:
    source = x if isinstance(x, DType) else result_type(x)
    return source, source if dtype is None else dtype


_to_copy = ToCopyDecl(
    "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    lambda k, x, **_: x, _to_copy_types, (),
)  # fmt: skip


def to(
    self: Tensor, *args: Any, dtype: DType | None = None, device: Any = None, non_blocking: bool = False,
    copy: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """The tensor with another dtype or on another device; itself where nothing changes and `copy` is false.

    Parameters
    ----------
    *args
        A dtype, a device, both in either order, or a tensor whose dtype and device are taken.
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
    if wanted is self._dtype and target is self._device and not copy:
        return self
    attributes: dict[str, Any] = {"dtype": wanted} if wanted is not self._dtype else {}
    if target is not self._device:
        attributes["device"] = target
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
              gt, ge, logical_and, logical_or, logical_xor, bitwise_and, bitwise_or, bitwise_xor):  # fmt: skip
    _decl.with_samples(_pairs)
for _decl in (logical_not, bitwise_not, isnan, isinf, isfinite, signbit, sign, square, relu, leaky_relu, silu, gelu,
              softplus, elu, clone):  # fmt: skip
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


for _op in list(registry.operators.values()):
    if isinstance(_op.decl, PointwiseDecl) and _op.decl.samples is not None and _op.decl.sample_dtypes is None:
        _op.decl.sample_dtypes = (
            dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16, dtypes.int64, dtypes.int32, dtypes.int8,
            dtypes.uint8, dtypes.bool_, dtypes.complex64,
        )  # fmt: skip
