"""Activations, each from the paper that its docstring names, and their backward ops.

The gradient of an activation is an op of its own, with PyTorch's name and values where the slope jumps. It is pointwise
too, so a compiled backward pass fuses it like any other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.gradients import conjugate, kept, zeros
from opweave.registry.ops.kinds import composite, pointwise
from opweave.registry.ops.selection import clamp
from opweave.registry.promote import as_element, result_type
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, describe

# ---- the common ones -----------------------------------------------------------------------------------------------


@pointwise("aten::relu(Tensor self) -> Tensor", kinds="uif", is_cheap=True, accuracy="rounded", either_zero=True)
def relu(k: Any, x: Any) -> Any:
    # -0.0 and NaN are not below 0 and stay what they are.
    zero = k.const(0, k.dtype(x))
    return k.where(x < zero, zero, x)


@pointwise(
    "aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor", kinds="uif",
    inplace=False, outs="grad_input"
)  # fmt: skip
def threshold_backward(k: Any, grad: Any, x: Any, threshold: Any) -> Any:
    dtype = k.dtype(x)
    return k.where(x <= k.const(threshold, dtype), k.const(0, dtype), grad)


relu.backward(self=lambda grad, result: ops.aten.threshold_backward.default(grad, result, 0))
threshold_backward.backward(
    grad_output=lambda grad, self, threshold: ops.aten.threshold_backward.default(grad, self, threshold), self=zeros
)


@pointwise("aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", kinds="f", accuracy="rounded")
def leaky_relu(k: Any, x: Any, negative_slope: Any) -> Any:
    return k.where(x > 0, x, x * float(negative_slope))


@pointwise(
    "aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor",
    kinds="f", inplace=False, outs="grad_input"
)  # fmt: skip
def leaky_relu_backward(k: Any, grad: Any, x: Any, negative_slope: Any, self_is_result: bool) -> Any:
    return k.where(x > 0, grad, grad * float(negative_slope))


leaky_relu.backward(
    self=lambda grad, self, negative_slope: ops.aten.leaky_relu_backward.default(grad, self, negative_slope, False)
)
leaky_relu_backward.backward(
    grad_output=lambda grad, self, negative_slope: ops.aten.leaky_relu_backward.default(
        grad, self, negative_slope, False
    ),
    self=zeros,
)


@pointwise("aten::silu(Tensor self) -> Tensor", kinds="fc", is_expensive=True, is_strict=True)
def silu(k: Any, x: Any) -> Any:
    """x sigmoid(x) (Elfwing et al. 2017)."""
    return x / (1 + k.exp(-x))


@pointwise(
    "aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor",
    kinds="fc",
    inplace=False,
    outs="grad_input",
    accuracy="cancels",
)
def silu_backward(k: Any, grad: Any, x: Any) -> Any:
    """The gradient of silu for real numbers; for complex ones PyTorch's op does not conjugate, as a gradient would."""
    s = k.sigmoid(x)
    return grad * s * (1 + x * (1 - s))


def _silu_self(grad: Tensor, self: Tensor) -> Tensor:
    if not self._dtype.is_complex:
        return ops.aten.silu_backward.default(grad, self)
    s = ops.aten.sigmoid.default(self)
    return grad * conjugate(s * (1 + self * (1 - s)))


def _silu_bend(grad: Tensor, grad_output: Tensor, self: Tensor) -> Tensor:
    s = ops.aten.sigmoid.default(self)
    return grad * conjugate(grad_output * (s * (1 - s) * (2 + self * (1 - 2 * s))))


silu.backward(self=_silu_self)
silu_backward.backward(grad_output=_silu_self, self=_silu_bend)


_Types = tuple[DType, DType]
#: The weights of x and its cube in the tanh form of gelu, and of the normal density.
_BETA, _KAPPA, _DENSITY = math.sqrt(2 / math.pi), 0.044715, 1 / math.sqrt(2 * math.pi)


def _gelu_types(*operands: Any, approximate: str = "none") -> _Types:
    if approximate not in ("none", "tanh"):
        raise ArgumentError("gelu: unknown approximate", got=repr(approximate), hint="'none' or 'tanh'")
    common = result_type(*operands)
    if common.kind not in "f":
        raise DTypeError("gelu: only for floating tensors", got=", ".join(map(describe, operands)))
    return common.compute, common


@pointwise(
    "aten::gelu(Tensor self, *, str approximate='none') -> Tensor",
    promote=_gelu_types,
    is_expensive=True,
    is_strict=True,
)
def gelu(k: Any, x: Any, approximate: str) -> Any:
    """Hendrycks & Gimpel 2016: x Φ(x); "tanh" is the paper's approximation of Φ."""
    if approximate == "tanh":
        inner = _BETA * (x + _KAPPA * (x * x * x))
        return 0.5 * x * (1 + k.tanh(inner))
    return 0.5 * x * (1 + k.erf(x * math.sqrt(0.5)))


@pointwise(
    "aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> Tensor", promote=_gelu_types,
    inplace=False, outs="grad_input", accuracy="cancels"
)  # fmt: skip
def gelu_backward(k: Any, grad: Any, x: Any, approximate: str) -> Any:
    if approximate == "tanh":
        t = k.tanh(_BETA * (x + _KAPPA * (x * x * x)))
        inner_slope = _BETA * (1 + 3 * _KAPPA * (x * x))
        return grad * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner_slope)
    share = 0.5 * (1 + k.erf(x * math.sqrt(0.5)))
    return grad * (share + x * (k.exp(-0.5 * (x * x)) * _DENSITY))


def _gelu_bend(grad: Tensor, grad_output: Tensor, self: Tensor, approximate: str) -> Tensor:
    """The second derivative of gelu times both gradients."""
    squared = self * self
    if approximate == "tanh":
        t = ops.aten.tanh.default(_BETA * (self + _KAPPA * (squared * self)))
        inner_slope, inner_bend = _BETA * (1 + 3 * _KAPPA * squared), 6 * _BETA * _KAPPA * self
        bend = (1 - t * t) * (inner_slope + 0.5 * self * inner_bend - self * t * inner_slope * inner_slope)
    else:
        bend = ops.aten.exp.default(-0.5 * squared) * _DENSITY * (2 - squared)
    return grad * grad_output * bend


gelu.backward(self=lambda grad, self, approximate: ops.aten.gelu_backward.default(grad, self, approximate=approximate))
gelu_backward.backward(
    grad_output=lambda grad, self, approximate: ops.aten.gelu_backward.default(grad, self, approximate=approximate),
    self=_gelu_bend,
)


@pointwise(
    "aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
    kinds="f",
    inplace=False,
    is_expensive=True,
    is_strict=True,
    autocast={"cuda": "fp32"},
)
def softplus(k: Any, x: Any, beta: Any, threshold: Any) -> Any:
    scaled = x * float(beta)
    return k.where(scaled > float(threshold), x, k.log1p(k.exp(scaled)) / float(beta))


@pointwise(
    "aten::softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor", kinds="f",
    inplace=False, outs="grad_input", accuracy="cancels"
)  # fmt: skip
def softplus_backward(k: Any, grad: Any, x: Any, beta: Any, threshold: Any) -> Any:
    scaled = x * float(beta)
    return k.where(scaled > float(threshold), grad, grad * k.sigmoid(scaled))


def _softplus_bend(grad: Tensor, grad_output: Tensor, self: Tensor, beta: Any, threshold: Any) -> Tensor:
    scaled = self * beta
    s = ops.aten.sigmoid.default(scaled)
    return kept(scaled < threshold, grad * grad_output * (s * (1 - s) * beta))


softplus.backward(
    self=lambda grad, self, beta, threshold: ops.aten.softplus_backward.default(grad, self, beta, threshold)
)
softplus_backward.backward(
    grad_output=lambda grad, self, beta, threshold: ops.aten.softplus_backward.default(grad, self, beta, threshold),
    self=_softplus_bend,
)


@pointwise("aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", kinds="f")
def elu(k: Any, x: Any, alpha: Any, scale: Any, input_scale: Any) -> Any:
    negative = k.expm1(x * float(input_scale)) * (float(alpha) * float(scale))
    # At 0 the straight part, which is 0 whatever alpha is.
    return k.where(x < 0, negative, x * float(scale))


@pointwise(
    "aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, "
    "Tensor self_or_result) -> Tensor", kinds="f", inplace=False, outs="grad_input"
)  # fmt: skip
def elu_backward(
    k: Any, grad: Any, x: Any, alpha: Any, scale: Any, input_scale: Any, is_result: bool
) -> Any:  # fmt: skip
    """The input, or the result, from which the slope of the curved part follows as well."""
    height = float(alpha) * float(scale)
    curved = x + height if is_result else k.exp(x * float(input_scale)) * height
    return k.where(x <= 0, grad * (float(input_scale) * curved), grad * float(scale))


def _elu_bend(
    grad: Tensor, grad_output: Tensor, alpha: Any, scale: Any, input_scale: Any, is_result: bool,
    self_or_result: Tensor,
) -> Tensor:  # fmt: skip
    bend = grad * grad_output * input_scale
    if not is_result:
        bend = bend * ops.aten.exp.default(self_or_result * input_scale) * (alpha * scale * input_scale)
    return kept(self_or_result < 0, bend)


elu.backward(
    self=lambda grad, self, alpha, scale, input_scale: ops.aten.elu_backward.default(
        grad, alpha, scale, input_scale, False, self
    )
)
elu_backward.backward(
    grad_output=lambda grad, alpha, scale, input_scale, is_result, self_or_result: ops.aten.elu_backward.default(
        grad, alpha, scale, input_scale, is_result, self_or_result
    ),
    self_or_result=_elu_bend,
)


# ---- in straight pieces, and others --------------------------------------------------------------------------------


def _hardtanh_types(x: Any, min_val: Any = -1, max_val: Any = 1) -> _Types:
    common = result_type(x)
    held = dtypes.int64 if common is dtypes.uint8 else common
    min_val, max_val = (as_element("hardtanh", limit, held) for limit in (min_val, max_val))
    if common is dtypes.uint8 and (min_val < 0 or max_val < 0):
        raise ArgumentError("hardtanh: a negative limit for an unsigned tensor", got=f"{min_val}, {max_val}")
    return common.compute, common


@pointwise(
    "aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", kinds="uif", promote=_hardtanh_types
)
def hardtanh(k: Any, x: Any, min_val: Any, max_val: Any) -> Any:
    """x limited to [min_val, max_val]; an integer's limits are integers."""
    return clamp.body(k, x, min=min_val, max=max_val)


@pointwise(
    "aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> Tensor", kinds="uif",
    inplace=False, outs="grad_input"
)  # fmt: skip
def hardtanh_backward(k: Any, grad: Any, x: Any, min_val: Any, max_val: Any) -> Any:
    """The gradient strictly between the limits; `clamp` has it at the limits too."""
    dtype = k.dtype(x)
    outside = (x <= k.const(min_val, dtype)) | (x >= k.const(max_val, dtype))
    return k.where(outside, k.const(0, dtype), grad)


hardtanh.backward(
    self=lambda grad, self, min_val, max_val: ops.aten.hardtanh_backward.default(grad, self, min_val, max_val)
)
hardtanh_backward.backward(
    grad_output=lambda grad, self, min_val, max_val: ops.aten.hardtanh_backward.default(grad, self, min_val, max_val),
    self=zeros,
)


@composite("aten::relu6(Tensor self) -> Tensor", tags="pointwise")
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


@pointwise(
    "aten::hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor", kinds="f", inplace=False, outs="grad_input"
)
def hardsigmoid_backward(k: Any, grad: Any, x: Any) -> Any:
    return k.where((x > -3.0) & (x < 3.0), grad / 6.0, k.const(0.0, k.dtype(x)))


hardsigmoid.backward(self=lambda grad, self: ops.aten.hardsigmoid_backward.default(grad, self))
hardsigmoid_backward.backward(
    grad_output=lambda grad, self: ops.aten.hardsigmoid_backward.default(grad, self), self=zeros
)


@pointwise("aten::hardswish(Tensor self) -> Tensor", kinds="f")
def hardswish(k: Any, x: Any) -> Any:
    """x hardsigmoid(x) (Howard et al. 2019)."""
    return x * _limited(k, x) / 6.0


@pointwise("aten::hardswish_backward(Tensor grad_output, Tensor self) -> Tensor", kinds="f", inplace=False, outs="out")
def hardswish_backward(k: Any, grad: Any, x: Any) -> Any:
    inner = k.where(x < 3.0, grad * (x / 3.0 + 0.5), grad)
    return k.where(x <= -3.0, k.const(0.0, k.dtype(x)), inner)


hardswish.backward(self=lambda grad, self: ops.aten.hardswish_backward.default(grad, self))
hardswish_backward.backward(
    grad_output=lambda grad, self: ops.aten.hardswish_backward.default(grad, self),
    self=lambda grad, grad_output, self: kept((self > -3.0) & (self < 3.0), grad * grad_output / 3.0),
)


@pointwise("aten::mish(Tensor self) -> Tensor", kinds="f", is_expensive=True)
def mish(k: Any, x: Any) -> Any:
    """x tanh(log(1 + exp(x))) (Misra 2019)."""
    return x * _tanh_softplus(k, x)


def _tanh_softplus(k: Any, x: Any) -> Any:
    return k.tanh(k.maximum(x, k.const(0.0, k.dtype(x))) + k.log1p(k.exp(-k.abs(x))))


@pointwise(
    "aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor",
    kinds="f",
    inplace=False,
    out=False,
    accuracy="cancels",
)
def mish_backward(k: Any, grad: Any, x: Any) -> Any:
    t = _tanh_softplus(k, x)
    return grad * (t + x * k.sigmoid(x) * (1 - t * t))


def _mish_bend(grad: Tensor, grad_output: Tensor, self: Tensor) -> Tensor:
    t = ops.aten.tanh.default(ops.aten.softplus.default(self))
    s = ops.aten.sigmoid.default(self)
    return grad * grad_output * (s * (1 - t * t) * (2 + self * (1 - s - 2 * s * t)))


mish.backward(self=lambda grad, self: ops.aten.mish_backward.default(grad, self))
mish_backward.backward(grad_output=lambda grad, self: ops.aten.mish_backward.default(grad, self), self=_mish_bend)


@composite("aten::selu(Tensor self) -> Tensor", tags="pointwise")
def selu(self: Tensor) -> Tensor:
    """elu with the two constants that keep mean 0 and variance 1 (Klambauer et al. 2017)."""
    return ops.aten.elu.default(self, 1.6732632423543772, 1.0507009873554805)


@composite("aten::celu(Tensor self, Scalar alpha=1.0) -> Tensor", own_tags="pointwise", outs="out")
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


threshold.backward(self=lambda grad, self, threshold: ops.aten.threshold_backward.default(grad, self, threshold))


@pointwise("aten::log_sigmoid(Tensor self) -> Tensor", kinds="f", inplace=False, autocast={"cuda": "keep"})
def log_sigmoid(k: Any, x: Any) -> Any:
    """log(sigmoid(x)) without overflow: min(x, 0) - log(1 + exp(-|x|))."""
    return k.minimum(x, k.const(0.0, k.dtype(x))) - k.log1p(k.exp(-k.abs(x)))


log_sigmoid.backward(self=lambda grad, self: grad * ops.aten.sigmoid.default(-self))


# ---- samples -------------------------------------------------------------------------------------------------------

_FLOATS = (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16)
_Make = Callable[..., Tensor]


@pointwise("aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", kinds="f", inplace=False)
def hardshrink(k: Any, x: Any, lambd: Any) -> Any:
    """0 from -lambd to lambd, x elsewhere."""
    dtype = k.dtype(x)
    inside = (x >= k.const(-lambd, dtype)) & (x <= k.const(lambd, dtype))
    return k.where(inside, k.const(0, dtype), x)


def _outside(grad: Tensor, self: Tensor, lambd: Any) -> Tensor:
    return kept((self < -lambd) | (self > lambd), grad)


hardshrink.backward(self=_outside)


def _softshrink_types(x: Any, lambd: Any = 0.5) -> _Types:
    common = result_type(x)
    if common.kind == "f" and not 0 <= as_element("softshrink", lambd, common) < math.inf:
        raise ArgumentError("softshrink: lambd must be finite and not negative", got=f"lambd={lambd}")
    return common.compute, common


@pointwise(
    "aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", kinds="f", promote=_softshrink_types, inplace=False
)
def _softshrink(k: Any, x: Any, lambd: Any) -> Any:
    dtype = k.dtype(x)
    limit = k.const(lambd, dtype)
    # x * 0, so that NaN stays what it is.
    return k.where(x > limit, x - limit, k.where(x < -limit, x + limit, x * k.const(0, dtype)))


_softshrink.backward(self=_outside)


@composite("aten::glu(Tensor self, int dim=-1) -> Tensor", outs="out")
def glu(self: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second (Dauphin et al. 2016)."""
    if not self.ndim:
        raise ShapeError("glu: a 0-d tensor has no halves", got=describe(self))
    axis = wrap_dim(dim, self.ndim, "glu")
    if self._sizes[axis] % 2:
        raise ShapeError("glu: the dimension must have an even size", got=f"dim={dim} of {describe(self)}")
    half = self._sizes[axis] // 2
    first, second = (ops.aten.narrow.default(self, axis, start, half) for start in (0, half))
    return ops.aten.mul.Tensor(first, ops.aten.sigmoid.default(second))


@composite("aten::prelu(Tensor self, Tensor weight) -> Tensor", autocast="lower_precision_fp")
def prelu(self: Tensor, weight: Tensor) -> Tensor:
    """x where positive, else weight x, with one weight for all or one for each channel (He et al. 2015)."""
    aten = ops.aten
    if weight._dtype is not self._dtype:
        raise DTypeError("prelu: expected one dtype", got=describe([self, weight]))
    if weight.ndim > 1:
        raise ShapeError("prelu: the weight has one dimension or none", got=describe(weight))
    if weight.numel() != 1:
        channels = self._sizes[1] if self.ndim > 1 else 1
        if not self.ndim or weight.numel() != channels:
            raise ShapeError("prelu: needs a weight for each channel", got=describe([self, weight]))
        weight = aten.view.default(weight, [-1 if d == 1 else 1 for d in range(max(self.ndim, 2))][: max(self.ndim, 1)])
    elif weight.ndim != self.ndim:
        weight = aten.view.default(weight, [1] * self.ndim)
    return aten.where.self(aten.gt.Scalar(self, 0), self, aten.mul.Tensor(weight, self))


def _common(make: _Make) -> Iterable[Any]:
    return [((make(3, 4),), {}), ((make(),), {}), ((make(0, 2),), {})]


for _decl in (relu, leaky_relu, silu, gelu, softplus, elu):
    _decl.with_samples(_common)


def _alone(make: _Make) -> Iterable[Any]:
    return [((make(3, 4, low=-8.0, high=8.0),), {}), ((make(),), {}), ((make(0, 2),), {})]


for _decl in (hardtanh, relu6, relu6_, hardsigmoid, hardswish, mish, selu, celu, log_sigmoid):
    _decl.with_samples(_alone)
    _decl.sample_dtypes = _FLOATS


@threshold.with_samples
def _(make: _Make) -> Iterable[Any]:
    return [((make(3, 4), 1, 2), {}), ((make(3), 0.5, -1), {})]


def _with_gradient(*attributes: Any, **named: Any) -> Callable[[_Make], Iterable[Any]]:
    """Samples of a backward op: gradient and input, equal in shape and broadcast."""

    def samples(make: _Make) -> Iterable[Any]:
        for grad, x in ((make(3, 4), make(3, 4, low=-4.0, high=4.0)), (make(), make()), (make(3, 4), make(4))):
            yield (grad, x, *attributes), named

    return samples


threshold_backward.with_samples(_with_gradient(0.5))
leaky_relu_backward.with_samples(_with_gradient(0.1, False))
hardtanh_backward.with_samples(_with_gradient(-1.0, 1.0))
softplus_backward.with_samples(_with_gradient(2.0, 3.0))
gelu_backward.with_samples(lambda make: [*_with_gradient()(make), *_with_gradient(approximate="tanh")(make)])
for _decl in (silu_backward, hardsigmoid_backward, hardswish_backward, mish_backward):
    _decl.with_samples(_with_gradient())
elu_backward.with_samples(
    lambda make: [((make(3, 4), 1.5, 2.0, 0.5, is_result, make(3, 4)), {}) for is_result in (False, True)]
)
for _decl in (threshold, threshold_backward, leaky_relu_backward, hardtanh_backward, softplus_backward, gelu_backward,
              silu_backward, hardsigmoid_backward, hardswish_backward, mish_backward, elu_backward):  # fmt: skip
    _decl.sample_dtypes = _FLOATS
# PyTorch rounds a sixth to float32 in this op.
hardsigmoid_backward.sample_dtypes = (dtypes.float32, dtypes.bfloat16, dtypes.float16)


for _decl in (hardshrink, _softshrink):
    _decl.with_samples(lambda make: [*_alone(make), ((make(3, 4), 1.25), {})])
    _decl.sample_dtypes = _FLOATS


@glu.with_samples
def _(make: _Make) -> Iterable[Any]:
    return [((make(3, 4),), {}), ((make(4, 3, 2), 0), {}), ((make(2, 6, 3), -2), {})]


@prelu.with_samples
def _(make: _Make) -> Iterable[Any]:
    return [
        ((make(2, 3, 4), make(3)), {}),
        ((make(3, 4), make(1)), {}),
        ((make(5), make(1)), {}),
        ((make(), make()), {}),
    ]


for _decl in (glu, prelu):
    _decl.sample_dtypes = _FLOATS
