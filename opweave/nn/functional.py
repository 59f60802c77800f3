"""The names and signatures of `torch.nn.functional`, over the ops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, ShapeError, UnsupportedError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor, describe

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


# ---- convolution, pooling, other sizes -----------------------------------------------------------------------------


def _each(value: int | Sequence[int], count: int) -> list[int]:
    """A number for each spatial dimension."""
    return list(value) if isinstance(value, (list, tuple)) else [value] * count  # type: ignore[list-item]


def _conv(op: Any, padding: str | int | Sequence[int], *arguments: Any) -> Tensor:
    input, weight, bias, stride, dilation, groups = arguments
    overload = op.padding if isinstance(padding, str) else op.default
    return overload(input, weight, bias, stride, padding, dilation, groups)


def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Cross-correlation of (batch, channels, length) with filters (out, channels / groups, kernel)."""
    return _conv(ops.aten.conv1d, padding, input, weight, bias, stride, dilation, groups)


def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Cross-correlation of (batch, channels, height, width) with filters (out, channels / groups, *kernel)."""
    return _conv(ops.aten.conv2d, padding, input, weight, bias, stride, dilation, groups)


def conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Cross-correlation of (batch, channels, depth, height, width) with filters (out, channels / groups, *kernel)."""
    return _conv(ops.aten.conv3d, padding, input, weight, bias, stride, dilation, groups)


def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:  # fmt: skip
    """The adjoint of `conv1d`; the weight is (channels, out / groups, kernel)."""
    op = ops.aten.conv_transpose1d.default
    return op(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:  # fmt: skip
    """The adjoint of `conv2d`; the weight is (channels, out / groups, *kernel)."""
    op = ops.aten.conv_transpose2d.input
    return op(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0, output_padding: int | Sequence[int] = 0, groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:  # fmt: skip
    """The adjoint of `conv3d`; the weight is (channels, out / groups, *kernel)."""
    op = ops.aten.conv_transpose3d.input
    return op(input, weight, bias, stride, padding, output_padding, groups, dilation)


def max_pool2d(
    input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window; with `return_indices` its place in the flattened image too."""
    found = ops.aten.max_pool2d_with_indices.default(
        input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode
    )
    return found if return_indices else found[0]


def max_pool3d(
    input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window; with `return_indices` its place in the flattened image too."""
    found = ops.aten.max_pool3d_with_indices.default(
        input, kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode
    )
    return found if return_indices else found[0]


def avg_pool1d(
    input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The mean of each window of a line."""
    step = [] if stride is None else stride
    return ops.aten.avg_pool1d.default(input, kernel_size, step, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window, or its sum over `divisor_override`."""
    step = [] if stride is None else stride
    options = padding, ceil_mode, count_include_pad, divisor_override
    return ops.aten.avg_pool2d.default(input, kernel_size, step, *options)


def avg_pool3d(
    input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window, or its sum over `divisor_override`."""
    step = [] if stride is None else stride
    options = padding, ceil_mode, count_include_pad, divisor_override
    return ops.aten.avg_pool3d.default(input, kernel_size, step, *options)


def _sizes_of(input: Tensor, output_size: Any, count: int) -> list[int]:
    """An output size for each spatial dimension; None keeps the input's."""
    given = output_size if isinstance(output_size, (list, tuple)) else [output_size] * count
    return [input.shape[d - count] if n is None else n for d, n in enumerate(given)]


def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """The means over windows that cover a line evenly."""
    return ops.aten.adaptive_avg_pool1d.default(input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means over windows that cover an image evenly; None keeps the input's size."""
    return ops.aten.adaptive_avg_pool2d.default(input, _sizes_of(input, output_size, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means over windows that cover a volume evenly; None keeps the input's size."""
    return ops.aten.adaptive_avg_pool3d.default(input, _sizes_of(input, output_size, 3))


def interpolate(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest", align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:  # fmt: skip
    """An image (batch, channels, height, width) at another size: "nearest" or "bilinear"."""
    if mode not in ("nearest", "bilinear") or antialias:
        raise UnsupportedError(
            "interpolate: modes are 'nearest' and 'bilinear', without antialias",
            got=f"mode={mode!r}, antialias={antialias}",
        )
    if input.ndim != 4:
        raise UnsupportedError("interpolate: only for (batch, channels, height, width)", got=describe(input))
    if (size is None) == (scale_factor is None):
        raise ShapeError(
            "interpolate: give either size or scale_factor", got=f"size={size}, scale_factor={scale_factor}"
        )
    if mode == "nearest" and align_corners is not None:
        raise ShapeError("interpolate: align_corners is for mode='bilinear'", got=f"align_corners={align_corners}")
    if recompute_scale_factor and scale_factor is None:
        raise ShapeError("interpolate: recompute_scale_factor needs a scale_factor", got=f"size={size}")
    sizes: Any = None if size is None else _each(size, 2)  # type: ignore[arg-type]
    factors: Any = None
    if scale_factor is not None:
        factors = list(scale_factor) if isinstance(scale_factor, (list, tuple)) else [scale_factor] * 2
        factors = [float(f) for f in factors]
    if len(sizes or factors) != 2:
        raise ShapeError("interpolate: needs a number for height and width", got=f"{sizes or factors}")
    if recompute_scale_factor:
        sizes = [math.floor(n * f) for n, f in zip(input.shape[2:], factors, strict=True)]
        factors = None
    if mode == "nearest":
        return ops.aten.upsample_nearest2d.vec(input, sizes, factors)
    return ops.aten.upsample_bilinear2d.vec(input, sizes, bool(align_corners), factors)


_SAMPLING = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_OUTSIDE = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """The image at the places (x, y) of a grid (batch, rows, columns, 2), -1 and 1 being its borders."""
    if mode not in _SAMPLING or padding_mode not in _OUTSIDE:
        raise ArgumentError(
            "grid_sample: unknown mode", got=f"mode={mode!r}, padding_mode={padding_mode!r}",
            hint=f"modes are {list(_SAMPLING)}, paddings {list(_OUTSIDE)}",
        )  # fmt: skip
    if input.ndim != 4:
        raise UnsupportedError("grid_sample: only for (batch, channels, height, width)", got=describe(input))
    return ops.aten.grid_sampler.default(input, grid, _SAMPLING[mode], _OUTSIDE[padding_mode], bool(align_corners))
