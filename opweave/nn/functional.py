"""The names and signatures of `torch.nn.functional`, over the ops."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opweave.nn.losses import (
    binary_cross_entropy as binary_cross_entropy,
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    cosine_embedding_loss as cosine_embedding_loss,
    cross_entropy as cross_entropy,
    ctc_loss as ctc_loss,
    gaussian_nll_loss as gaussian_nll_loss,
    hinge_embedding_loss as hinge_embedding_loss,
    huber_loss as huber_loss,
    kl_div as kl_div,
    l1_loss as l1_loss,
    margin_ranking_loss as margin_ranking_loss,
    mse_loss as mse_loss,
    multi_margin_loss as multi_margin_loss,
    multilabel_margin_loss as multilabel_margin_loss,
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
    nll_loss as nll_loss,
    poisson_nll_loss as poisson_nll_loss,
    smooth_l1_loss as smooth_l1_loss,
    soft_margin_loss as soft_margin_loss,
    triplet_margin_loss as triplet_margin_loss,
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from opweave.nn.resizing import interpolate as interpolate
from opweave.registry.autograd.mode import no_grad
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor, describe

_ = _surface  # declares the ops
aten = ops.aten
_SELU = (1.6732632423543772, 1.0507009873554805, 1)


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


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu with the two constants that keep mean 0 and variance 1 (Klambauer et al. 2017)."""
    return ops.aten.elu_.default(input, *_SELU) if inplace else ops.aten.selu.default(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""
    return ops.aten.elu_.default(input, alpha, 1.0, 1.0 / alpha) if inplace else ops.aten.celu.default(input, alpha)


def _written(input: Tensor, result: Tensor, inplace: bool) -> Tensor:
    return ops.aten.copy_.default(input, result) if inplace else result


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where positive, else weight x, with one weight for all or one for each channel (He et al. 2015)."""
    return ops.aten.prelu.default(input, weight)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second (Dauphin et al. 2016)."""
    return ops.aten.glu.default(input, dim)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 from -lambd to lambd, x elsewhere."""
    return ops.aten.hardshrink.default(input, lambd)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x nearer to 0 by lambd, and 0 where that goes past it."""
    if not lambd >= 0:
        raise ShapeError("softshrink: lambd must not be negative", got=f"lambd={lambd}")
    return ops.aten.softshrink.default(input, lambd)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""
    return aten.sub.Tensor(input, aten.tanh.default(input))


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)."""
    return aten.div.Tensor(input, aten.add.Scalar(aten.abs.default(input), 1))


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """leaky_relu with a slope drawn for each element from [lower, upper); outside training the middle (Xu 2015)."""
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    slope = aten.add.Scalar(aten.mul.Tensor(aten.rand_like.default(input), upper - lower), lower)
    return _written(input, aten.where.self(aten.ge.Scalar(input, 0), input, aten.mul.Tensor(input, slope)), inplace)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), computed without overflow."""
    return ops.aten.log_sigmoid.default(input)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """softmax of logits with Gumbel noise, over tau; `hard` is 1 at the largest, with the softmax's gradient.

    Jang et al. 2017. `eps` is not used.
    """
    # -log of a number with the exponential distribution; 1 - u of [0, 1) is never 0.
    drawn = aten.neg.default(aten.log1p.default(aten.neg.default(aten.rand_like.default(logits))))
    least = 2.0**-24 if logits._dtype.itemsize == 2 else 2.0**-60
    noise = aten.neg.default(aten.log.default(aten.clamp_min.default(drawn, least)))
    soft = aten.softmax.int(aten.div.Tensor(aten.add.Tensor(logits, noise), tau), dim)
    if not hard:
        return soft
    at = aten.argmax.default(soft, dim, True)
    sharp = aten.scatter.value(aten.zeros_like.default(logits), dim, at, 1.0)
    return aten.add.Tensor(aten.sub.Tensor(sharp, aten.detach.default(soft)), soft)


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


def softmin(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """softmax(-x)."""
    return ops.aten.softmax.int(aten.neg.default(input), dim, dtype)


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


def instance_norm(
    input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
    bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Tensor:  # fmt: skip
    """Normalise each channel of each example of (N, C, ...), or by the running statistics (Ulyanov et al. 2016)."""
    if input.ndim < 3:
        raise ShapeError("instance_norm: expected (batch, channels, ...)", got=describe(input))
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ShapeError("instance_norm: without the input's statistics, it needs the running ones")
        return batch_norm(aten.contiguous.default(input), running_mean, running_var, weight, bias, False, momentum, eps)
    count, channels, *rest = input._sizes
    if math.prod(rest) == 1:
        raise ShapeError("instance_norm: one element has no variance", got=describe(input))
    flat = aten.reshape.default(aten.contiguous.default(input), [1, count * channels, *rest])
    kept = [None if t is None else aten.repeat.default(t, [count]) for t in (running_mean, running_var)]
    scale, shift = (None if t is None else aten.repeat.default(t, [count]) for t in (weight, bias))
    found = batch_norm(flat, kept[0], kept[1], scale, shift, True, momentum, eps)
    for own, each in zip((running_mean, running_var), kept, strict=True):
        if own is not None and each is not None:
            aten.copy_.default(own, aten.mean.dim(aten.view.default(each, [count, channels]), [0]))
    return aten.reshape.default(found, list(input._sizes))


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + alpha · mean of x² over `size` neighbouring channels)^beta (Krizhevsky et al. 2012)."""
    if input.ndim < 3:
        raise ShapeError("local_response_norm: expected (batch, channels, ...)", got=describe(input))
    if not input.numel():
        return input
    count, channels = input._sizes[:2]
    squares = aten.reshape.default(aten.mul.Tensor(input, input), [count, 1, channels, -1])
    squares = aten.constant_pad_nd.default(squares, [0, 0, size // 2, (size - 1) // 2])
    mean = aten.reshape.default(avg_pool2d(squares, (size, 1), 1), list(input._sizes))
    return aten.div.Tensor(input, aten.pow(aten.add.Scalar(aten.mul.Tensor(mean, alpha), k), beta))


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x · weightᵀ + bias; weight is (out, in)."""
    return ops.aten.linear.default(input, weight, bias)


def _probability(op: str, p: float) -> None:
    if not 0 <= p <= 1:
        raise ShapeError(f"{op}: a probability is from 0 to 1", got=f"p={p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability p and scale the others by 1 / (1 - p); the input itself outside training."""
    _probability("dropout", p)
    found = ops.aten.dropout.default(input, p, training)
    return found if found is input else _written(input, found, inplace)


def _channel_dropout(op: str, input: Tensor, p: float, training: bool, inplace: bool, channel: int) -> Tensor:
    """The channels before dimension `channel` dropped whole."""
    _probability(op, p)
    if not training or p == 0 or not input.numel():
        return input
    sizes = [n if d <= channel else 1 for d, n in enumerate(input._sizes)]
    factors = ops.aten.dropout.default(aten.new_ones.default(input, sizes), p, True)
    return _written(input, aten.mul.Tensor(input, factors), inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of (N, C, L) or (C, L) with probability p and scale the others."""
    return _channel_dropout("dropout1d", input, p, training, inplace, _channel_of("dropout1d", input, 2, 3))


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of (N, C, H, W) with probability p and scale the others."""
    return _channel_dropout("dropout2d", input, p, training, inplace, _channel_of("dropout2d", input, 4, 4))


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of (N, C, D, H, W) or (C, D, H, W) with probability p and scale the others."""
    return _channel_dropout("dropout3d", input, p, training, inplace, _channel_of("dropout3d", input, 4, 5))


def _channel_of(op: str, input: Tensor, least: int, most: int) -> int:
    if not least <= input.ndim <= most:
        raise ShapeError(f"{op}: expected {most} dimensions, or {least}", got=describe(input))
    return 1 if input.ndim == most else 0


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for `selu`: what is dropped gets its least value; mean 0 and variance 1 stay (Klambauer et al. 2017)."""
    _probability("alpha_dropout", p)
    return (aten.alpha_dropout_ if inplace else aten.alpha_dropout).default(input, p, training)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels of (batch, channels, ...)."""
    _probability("feature_alpha_dropout", p)
    return (aten.feature_alpha_dropout_ if inplace else aten.feature_alpha_dropout).default(input, p, training)


def _limited(op: str, weight: Tensor, rows: Tensor, max_norm: float | None, norm_type: float, sparse: bool) -> None:
    """Shorten the rows of an embedding that are read, in place and apart from gradients."""
    if sparse:
        raise UnsupportedError(f"{op}: there is no sparse gradient", got="sparse=True", hint="pass sparse=False")
    if max_norm is not None:
        with no_grad():
            aten.embedding_renorm_.default(weight, rows, max_norm, norm_type)


def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Rows of `weight` at the indices `input`.

    Parameters
    ----------
    input : Tensor
        int32 or int64 numbers of rows.
    weight : Tensor
        (rows, width).
    padding_idx : int, optional
        A row that gets no gradient; a negative one counts from the end.
    max_norm : float, optional
        Rows that are read and have a larger norm are shortened to it, in place.
    norm_type : float
        Which norm.
    scale_grad_by_freq : bool
        Divide a row's gradient by how often it is read.
    sparse : bool
        Not there.

    Raises
    ------
    UnsupportedError
        With `sparse`.
    """
    _limited("embedding", weight, input, max_norm, norm_type, sparse)
    row = -1
    if padding_idx is not None:
        rows = weight._sizes[0]
        if not -rows <= padding_idx < rows:
            raise ShapeError("embedding: padding_idx is no row", got=f"padding_idx={padding_idx} of {rows} rows")
        row = padding_idx + rows if padding_idx < 0 else padding_idx
    return ops.aten.embedding.default(weight, input, row, scale_grad_by_freq)


_BAGS = {"sum": 0, "mean": 1, "max": 2}


def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """Sums, means or maxima of bags of rows: `input` is (bags, rows each), or a vector with `offsets` where bags begin.

    Raises
    ------
    UnsupportedError
        With `sparse`.
    """
    if mode not in _BAGS:
        raise ShapeError("embedding_bag: unknown mode", got=repr(mode), hint=f"one of {list(_BAGS)}")
    factors = per_sample_weights
    if factors is not None and factors._sizes != input._sizes:
        raise ShapeError("embedding_bag: needs a weight for each index", got=describe([input, factors]))
    if input.ndim == 2:
        if offsets is not None:
            raise ShapeError("embedding_bag: a matrix of indices has no offsets", got=describe([input, offsets]))
        bags, count = input._sizes
        offsets = aten.mul.Tensor(aten.arange.default(bags, dtype=input._dtype, device=input._device), count)
        input = aten.reshape.default(input, [-1])
        factors = None if factors is None else aten.reshape.default(factors, [-1])
    elif input.ndim != 1 or offsets is None:
        raise ShapeError("embedding_bag: expected a matrix, or a vector with offsets", got=describe(input))
    _limited("embedding_bag", weight, input, max_norm, norm_type, sparse)
    return aten.embedding_bag.padding_idx(
        weight, input, offsets, scale_grad_by_freq, _BAGS[mode], False, factors, include_last_offset, padding_idx
    )[0]


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """A new last dimension of zeros with a 1 in the place of each number; -1 takes the largest number's place."""
    return ops.aten.one_hot.default(tensor, num_classes)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x over its p-norm in a dimension, which counts as eps at least."""
    norm = aten.linalg_vector_norm.default(input, p, [dim], True)
    return aten.div.Tensor(input, aten.clamp_min.default(norm, eps))


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 · x2 / (|x1| |x2|) over a dimension; a norm counts as eps at least."""
    return ops.aten.cosine_similarity.default(x1, x2, dim, eps)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps over the last dimension."""
    return ops.aten.pairwise_distance.default(x1, x2, p, eps, keepdim)


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The distances of all pairs of rows."""
    return ops.aten.pdist.default(input, p)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1ᵀ W x2 + b for each matrix of the weight (out, in1, in2)."""
    if weight.ndim != 3 or input1._sizes[:-1] != input2._sizes[:-1]:
        raise ShapeError("bilinear: expected (..., in1), (..., in2) and (out, in1, in2)",
                         got=describe([input1, input2, weight]))  # fmt: skip
    out, first, second = weight._sizes
    if input1._sizes[-1] != first or input2._sizes[-1] != second:
        raise ShapeError("bilinear: the widths do not fit the weight", got=describe([input1, input2, weight]))
    batch = list(input1._sizes[:-1])
    rows = aten.reshape.default(input1, [-1, first])
    wide = aten.matmul.default(rows, aten.reshape.default(aten.permute.default(weight, [1, 0, 2]), [first, -1]))
    wide = aten.reshape.default(wide, [*batch, out, second])
    found = aten.squeeze.dim(aten.matmul.default(wide, aten.unsqueeze.default(input2, -1)), -1)
    return found if bias is None else aten.add.Tensor(found, bias)


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


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(query · keyᵀ · scale + mask) · value (Vaswani et al. 2017).

    Parameters
    ----------
    query, key, value : Tensor
        (..., length, width).
    attn_mask : Tensor, optional
        Added to the scores; of bools, False hides.
    dropout_p : float
        Probability that a weight is dropped.
    is_causal : bool
        Hide what comes after a row's own place.
    scale : float, optional
        1 / √width by default.
    enable_gqa : bool
        Each head of keys and values serves as many heads of the query as are there for it.
    """
    return ops.aten.scaled_dot_product_attention.default(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


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


def max_pool1d(
    input: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0, dilation: int | Sequence[int] = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window of a line; with `return_indices` its place too."""
    if input.ndim not in (2, 3):
        raise ShapeError("max_pool1d: expected (batch, channels, length) or (channels, length)", got=describe(input))
    kernel, pad, gap = (_line(n) for n in (kernel_size, padding, dilation))
    step = kernel if stride is None else _line(stride)
    found = ops.aten.max_pool2d_with_indices.default(
        aten.unsqueeze.default(input, -2), [1, kernel], [1, step], [0, pad], [1, gap], ceil_mode
    )
    values, places = (aten.squeeze.dim(t, -2) for t in found)
    return (values, places) if return_indices else values


def _line(value: int | Sequence[int]) -> int:
    return value[0] if isinstance(value, (list, tuple)) else value  # type: ignore[return-value]


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


def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int], return_indices: bool = False) -> Any:
    """The maxima over windows that cover a line evenly; with `return_indices` their places too."""
    found = ops.aten.adaptive_max_pool1d.default(input, output_size)
    return found if return_indices else found[0]


def adaptive_max_pool2d(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Any:
    """The maxima over windows that cover an image evenly; with `return_indices` their places in it too."""
    found = ops.aten.adaptive_max_pool2d.default(input, _sizes_of(input, output_size, 2))
    return found if return_indices else found[0]


def adaptive_max_pool3d(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Any:
    """The maxima over windows that cover a volume evenly; with `return_indices` their places in it too."""
    found = ops.aten.adaptive_max_pool3d.default(input, _sizes_of(input, output_size, 3))
    return found if return_indices else found[0]


def _unpooled_sizes(op: str, input: Tensor, count: int, windows: Sequence[Any], output_size: Any) -> list[Any]:
    """(output sizes, strides, paddings) of the inverse of a pooling."""
    kernel, stride, padding = (_each(n, count) for n in windows)
    if not count + 1 <= input.ndim <= count + 2:
        raise ShapeError(f"{op}: expected (batch, channels, ...) or (channels, ...)", got=describe(input))
    usual = [(n - 1) * s - 2 * p + k for n, k, s, p in zip(input._sizes[-count:], kernel, stride, padding, strict=True)]
    if output_size is None:
        return [usual, stride, padding]
    wanted = list(output_size)[-count:]
    if len(output_size) not in (count, count + 2):
        raise ShapeError(f"{op}: output_size needs {count} sizes", got=f"output_size={list(output_size)}")
    if any(not n - s < w < n + s for w, n, s in zip(wanted, usual, stride, strict=True)):
        raise ShapeError(
            f"{op}: no pooling with these windows leads from there to here", got=f"output_size={wanted}",
            hint=f"less than a stride from {usual}",
        )  # fmt: skip
    return [wanted, stride, padding]


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0, output_size: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """A line of zeros with the elements where `max_pool1d` found them."""
    windows = kernel_size, stride or kernel_size, padding
    (size,), _, _ = _unpooled_sizes("max_unpool1d", input, 1, windows, output_size)
    found = ops.aten.max_unpool2d.default(
        aten.unsqueeze.default(input, -1), aten.unsqueeze.default(indices, -1), [size, 1]
    )
    return aten.squeeze.dim(found, -1)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0, output_size: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """An image of zeros with the elements where `max_pool2d` found them."""
    windows = kernel_size, stride or kernel_size, padding
    sizes, _, _ = _unpooled_sizes("max_unpool2d", input, 2, windows, output_size)
    return ops.aten.max_unpool2d.default(input, indices, sizes)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0, output_size: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """A volume of zeros with the elements where `max_pool3d` found them."""
    windows = kernel_size, stride or kernel_size, padding
    sizes, strides, paddings = _unpooled_sizes("max_unpool3d", input, 3, windows, output_size)
    return ops.aten.max_unpool3d.default(input, indices, sizes, strides, paddings)


def _power_pool(input: Tensor, norm_type: float, kernel: int, average: Any) -> Tensor:
    """(Σ x^p)^(1/p) of each window, from the mean of x^p."""
    mean = average(aten.pow(input, norm_type))
    total = aten.mul.Tensor(aten.mul.Tensor(aten.sign.default(mean), aten.relu.default(aten.abs.default(mean))), kernel)
    return aten.pow(total, 1.0 / norm_type)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: int, stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The norm of each window of a line."""
    count = _line(kernel_size)
    return _power_pool(input, norm_type, count, lambda x: avg_pool1d(x, kernel_size, stride, 0, ceil_mode))


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The norm of each window of an image."""
    count = math.prod(_each(kernel_size, 2))
    return _power_pool(input, norm_type, count, lambda x: avg_pool2d(x, kernel_size, stride, 0, ceil_mode))


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: int | Sequence[int], stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:  # fmt: skip
    """The norm of each window of a volume."""
    count = math.prod(_each(kernel_size, 3))
    return _power_pool(input, norm_type, count, lambda x: avg_pool3d(x, kernel_size, stride, 0, ceil_mode))


def unfold(
    input: Tensor, kernel_size: int | Sequence[int], dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0, stride: int | Sequence[int] = 1,
) -> Tensor:  # fmt: skip
    """The windows of an image as columns: (N, C · kernel, windows)."""
    return ops.aten.im2col.default(input, *(_each(n, 2) for n in (kernel_size, dilation, padding, stride)))


def fold(
    input: Tensor, output_size: int | Sequence[int], kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1, padding: int | Sequence[int] = 0, stride: int | Sequence[int] = 1,
) -> Tensor:  # fmt: skip
    """The image that has these windows; where they overlap, their sum."""
    given = (output_size, kernel_size, dilation, padding, stride)
    return ops.aten.col2im.default(input, *(_each(n, 2) for n in given))


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C r², H, W) as (..., C, H r, W r): the channels of a pixel become a square of pixels (Shi et al. 2016)."""
    return ops.aten.pixel_shuffle.default(input, upscale_factor)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of `pixel_shuffle`."""
    return ops.aten.pixel_unshuffle.default(input, downscale_factor)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of (N, C, ...) dealt out in turn to the groups that they came in (Zhang et al. 2018)."""
    return ops.aten.channel_shuffle.default(input, groups)


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


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The places for `grid_sample` that affine maps take those of an image to.

    Parameters
    ----------
    theta : Tensor
        (batch, 2, 3), or (batch, 3, 4) for volumes.
    size : sequence of int
        Of the image to be made: (batch, channels, height, width), or (batch, channels, depth, height, width).
    align_corners : bool, optional
        Whether -1 and 1 are the centres of the outer elements, rather than their outer edges.

    Returns
    -------
    Tensor
        (batch, height, width, 2) or (batch, depth, height, width, 3).
    """
    spatial = len(size) - 2
    if spatial not in (2, 3) or theta._sizes != (size[0], spatial, spatial + 1) or any(n < 1 for n in size):
        raise ShapeError("affine_grid: expected a map (2, 3) or (3, 4) for each image of the size",
                         got=f"{describe(theta)}, size={list(size)}")  # fmt: skip
    if theta._dtype.kind != "f":
        raise DTypeError("affine_grid: expected a floating type", got=describe(theta))
    lines = []
    for d, n in enumerate(size[2:]):
        line = aten.linspace.default(-1, 1, n, dtype=theta._dtype, device=theta._device)
        if n == 1:
            line = aten.zeros_like.default(line)
        elif not align_corners:
            line = aten.div.Tensor(aten.mul.Tensor(line, n - 1), n)
        wide = aten.view.default(line, [n if d == k else 1 for k in range(spatial)])
        lines.append(aten.expand.default(wide, list(size[2:])))
    lines = [*reversed(lines), aten.ones_like.default(lines[0])]
    base = aten.reshape.default(aten.stack.default(lines, -1), [1, -1, spatial + 1])
    base = aten.expand.default(base, [size[0], base._sizes[1], spatial + 1])
    found = aten.bmm.default(base, aten.transpose.int(theta, 1, 2))
    return aten.view.default(found, [size[0], *size[2:], spatial])


# ---- other names ---------------------------------------------------------------------------------------------------


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """`interpolate`, by its earlier name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` by the nearest element."""
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` of images by neighbours, with corners that are centres of pixels."""
    return interpolate(input, size, scale_factor, "bilinear", True)


def relu_(input: Tensor) -> Tensor:
    """`relu` in place."""
    return relu(input, inplace=True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` in place."""
    return elu(input, alpha, inplace=True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` in place."""
    return celu(input, alpha, inplace=True)


def selu_(input: Tensor) -> Tensor:
    """`selu` in place."""
    return selu(input, inplace=True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` in place."""
    return leaky_relu(input, negative_slope, inplace=True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` in place."""
    return hardtanh(input, min_val, max_val, inplace=True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """x where it exceeds the threshold, else the value, in place."""
    return aten.threshold_.default(input, threshold, value)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """`rrelu` in place."""
    return rrelu(input, lower, upper, training, inplace=True)
