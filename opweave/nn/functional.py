"""The names and signatures of `torch.nn.functional`, over the ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}
_ = _surface  # declares the ops


def _reduction(name: str) -> int:
    if name not in _REDUCTIONS:
        raise ArgumentError("unknown reduction", got=repr(name), hint="one of " + ", ".join(map(repr, _REDUCTIONS)))
    return _REDUCTIONS[name]


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0)."""
    return ops.aten.relu_.default(input) if inplace else ops.aten.relu.default(input)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x Φ(x) (Hendrycks & Gimpel 2016); `approximate="tanh"` for the paper's approximation."""
    return ops.aten.gelu.default(input, approximate=approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x sigmoid(x)."""
    return ops.aten.silu_.default(input) if inplace else ops.aten.silu.default(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where positive, else negative_slope x."""
    op = ops.aten.leaky_relu_ if inplace else ops.aten.leaky_relu
    return op.default(input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, else alpha (exp(x) - 1)."""
    op = ops.aten.elu_ if inplace else ops.aten.elu
    return op.default(input, alpha)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x limited to [min_val, max_val]."""
    op = ops.aten.hardtanh_ if inplace else ops.aten.hardtanh
    return op.default(input, min_val, max_val)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x limited to [0, 6]."""
    return ops.aten.relu6_.default(input) if inplace else ops.aten.relu6.default(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """The sigmoid in three straight pieces: relu6(x + 3) / 6."""
    return ops.aten.hardsigmoid_.default(input) if inplace else ops.aten.hardsigmoid.default(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x hardsigmoid(x)."""
    return ops.aten.hardswish_.default(input) if inplace else ops.aten.hardswish.default(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x tanh(softplus(x))."""
    return ops.aten.mish_.default(input) if inplace else ops.aten.mish.default(input)


def selu(input: Tensor) -> Tensor:
    """elu with the two constants that keep mean 0 and variance 1 (Klambauer et al. 2017)."""
    return ops.aten.selu.default(input)


def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""
    return ops.aten.celu.default(input, alpha)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), computed without overflow."""
    return ops.aten.log_sigmoid.default(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it exceeds the threshold, else the value."""
    op = ops.aten.threshold_ if inplace else ops.aten.threshold
    return op.default(input, threshold, value)


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """log(1 + exp(beta x)) / beta; x where beta x exceeds the threshold."""
    return ops.aten.softplus.default(input, beta, threshold)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return ops.aten.sigmoid.default(input)


def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    return ops.aten.tanh.default(input)


def softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """exp(x) normalised to sum 1 along `dim`."""
    return ops.aten.softmax.int(input, dim, dtype)


def log_softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """log(softmax(x)) along `dim`, computed without overflow."""
    return ops.aten.log_softmax.int(input, dim, dtype)


def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """(x - mean) / sqrt(var + eps) · weight + bias over the last dimensions (Ba et al. 2016)."""
    return ops.aten.layer_norm.default(input, normalized_shape, weight, bias, eps)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """x / sqrt(mean(x²) + eps) · weight over the last dimensions (Zhang & Sennrich 2019)."""
    return ops.aten.rms_norm.default(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Zero mean and unit variance over each group of channels of (N, C, ...), then `* weight + bias` by channel."""
    return ops.aten.group_norm.default(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
    bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Normalise each channel of (N, C, ...): by the batch in training, which updates the running statistics in place,
    by these otherwise."""
    return ops.aten.batch_norm.default(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x · weightᵀ + bias; weight is (out, in)."""
    return ops.aten.linear.default(input, weight, bias)


def dropout(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Zero elements with probability p and scale the others by 1 / (1 - p); the input itself outside training."""
    return ops.aten.dropout.default(input, p, training)


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Rows of `weight` at the indices `input`."""
    return ops.aten.embedding.default(weight, input, -1 if padding_idx is None else padding_idx)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """The last dimensions padded; `pad` has two numbers for each, the last dimension first.

    Parameters
    ----------
    input : Tensor
    pad : sequence of int
        How many elements to add before and after; a negative number cuts them off.
    mode : str
        `"constant"` (any dimensions), or `"reflect"`, `"replicate"` or `"circular"` for the last 1, 2 or 3 dimensions
        of a tensor with 1 or 2 more.
    value : float, optional
        What a constant padding is filled with; 0 by default.

    Raises
    ------
    ShapeError
        If the numbers do not fit the sizes.
    UnsupportedError
        If there is no such mode for this many dimensions.
    """
    return ops.aten.pad.default(input, pad, mode, value)


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """Negative log likelihood of `target` under softmax(input); `input` holds unnormalised scores."""
    return ops.aten.cross_entropy_loss.default(
        input, target, weight, _reduction(reduction), ignore_index, label_smoothing
    )


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Mean (or sum, or each) squared difference."""
    return ops.aten.mse_loss.default(input, target, _reduction(reduction))


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None,
) -> Tensor:  # fmt: skip
    """softmax(query · keyᵀ · scale + mask) · value (Vaswani et al. 2017)."""
    options: dict[str, Any] = {} if scale is None else {"scale": scale}
    return ops.aten.scaled_dot_product_attention.default(query, key, value, attn_mask, dropout_p, is_causal, **options)
