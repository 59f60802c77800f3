"""Activations beside the common ones in `pointwise`: each from the paper that its docstring names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opweave.registry import dtypes
from opweave.registry.errors import ArgumentError, DTypeError
from opweave.registry.op import ops
from opweave.registry.ops.kinds import composite, pointwise
from opweave.registry.tensor import Tensor, describe


@composite("aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor")
def hardtanh(self: Tensor, min_val: Any = -1, max_val: Any = 1) -> Tensor:
    """x limited to [min_val, max_val]."""
    _refuse_bool("hardtanh", self)
    return ops.aten.clamp.default(self, min_val, max_val)


@composite("aten::hardtanh_(Tensor(a!) self, Scalar min_val=-1, Scalar max_val=1) -> Tensor(a!)")
def hardtanh_(self: Tensor, min_val: Any = -1, max_val: Any = 1) -> Tensor:
    _refuse_bool("hardtanh_", self)
    return ops.aten.clamp_.default(self, min_val, max_val)


def _refuse_bool(op: str, self: Tensor) -> None:
    if self._dtype.kind == "b":
        raise DTypeError(f"{op}: not defined for bool", got=describe(self))


@composite("aten::relu6(Tensor self) -> Tensor")
def relu6(self: Tensor) -> Tensor:
    """x limited to [0, 6] (Howard et al. 2017)."""
    return ops.aten.hardtanh.default(self, 0, 6)


@composite("aten::relu6_(Tensor(a!) self) -> Tensor(a!)")
def relu6_(self: Tensor) -> Tensor:
    return ops.aten.hardtanh_.default(self, 0, 6)


def _limited(k: Any, x: Any) -> Any:
    dtype = k.dtype(x)
    return k.minimum(k.maximum(x + 3.0, k.const(0.0, dtype)), k.const(6.0, dtype))


@pointwise("aten::hardsigmoid(Tensor self) -> Tensor", kinds="f")
def hardsigmoid(k: Any, x: Any) -> Any:
    """The sigmoid in three straight pieces (Courbariaux et al. 2015)."""
    return _limited(k, x) / 6.0


@pointwise("aten::hardswish(Tensor self) -> Tensor", kinds="f")
def hardswish(k: Any, x: Any) -> Any:
    """x hardsigmoid(x) (Howard et al. 2019)."""
    return x * _limited(k, x) / 6.0


@pointwise("aten::mish(Tensor self) -> Tensor", kinds="f")
def mish(k: Any, x: Any) -> Any:
    """x tanh(log(1 + exp(x))) (Misra 2019)."""
    return x * k.tanh(k.maximum(x, k.const(0.0, k.dtype(x))) + k.log1p(k.exp(-k.abs(x))))


@composite("aten::selu(Tensor self) -> Tensor")
def selu(self: Tensor) -> Tensor:
    """elu with the two constants that keep mean 0 and variance 1 (Klambauer et al. 2017)."""
    return ops.aten.elu.default(self, 1.6732632423543772, 1.0507009873554805)


@composite("aten::celu(Tensor self, Scalar alpha=1.0) -> Tensor")
def celu(self: Tensor, alpha: Any = 1.0) -> Tensor:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)) (Barron 2017)."""
    if alpha == 0:
        raise ArgumentError("celu: alpha must not be 0")
    return ops.aten.elu.default(self, alpha, 1.0, 1.0 / alpha)


@pointwise("aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", kinds="uif")
def threshold(k: Any, x: Any, threshold: Any, value: Any) -> Any:
    """x where it exceeds the threshold, else the value."""
    dtype = k.dtype(x)
    return k.where(x <= k.const(threshold, dtype), k.const(value, dtype), x)


@composite("aten::log_sigmoid(Tensor self) -> Tensor")
def log_sigmoid(self: Tensor) -> Tensor:
    """log(sigmoid(x)) without overflow: min(x, 0) - log(1 + exp(-|x|))."""
    if self._dtype.kind != "f":
        raise DTypeError("log_sigmoid: only for floating tensors", got=describe(self))
    aten = ops.aten
    rest = aten.log1p.default(aten.exp.default(aten.neg.default(aten.abs.default(self))))
    return aten.sub.Tensor(aten.clamp.default(self, None, 0), rest)


# ---- samples -------------------------------------------------------------------------------------------------------

_FLOATS = (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16)
_Make = Callable[..., Tensor]


def _alone(make: _Make) -> Iterable[Any]:
    return [((make(3, 4, low=-8.0, high=8.0),), {}), ((make(),), {}), ((make(0, 2),), {})]


for _decl in (hardtanh, hardtanh_, relu6, relu6_, hardsigmoid, hardswish, mish, selu, celu, log_sigmoid):
    _decl.with_samples(_alone)
    _decl.sample_dtypes = _FLOATS


@threshold.with_samples
def _(make: _Make) -> Iterable[Any]:
    return [((make(3, 4), 1, 2), {}), ((make(3), 0.5, -1), {})]


threshold.sample_dtypes = _FLOATS
