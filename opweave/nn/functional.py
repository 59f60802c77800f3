"""The names and signatures of `torch.nn.functional`, over the ops."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from opweave.nn.activations import (
    celu as celu,
    celu_ as celu_,
    elu as elu,
    elu_ as elu_,
    gelu as gelu,
    glu as glu,
    gumbel_softmax as gumbel_softmax,
    hardshrink as hardshrink,
    hardsigmoid as hardsigmoid,
    hardswish as hardswish,
    hardtanh as hardtanh,
    hardtanh_ as hardtanh_,
    leaky_relu as leaky_relu,
    leaky_relu_ as leaky_relu_,
    log_softmax as log_softmax,
    logsigmoid as logsigmoid,
    mish as mish,
    prelu as prelu,
    relu as relu,
    relu6 as relu6,
    relu_ as relu_,
    rrelu as rrelu,
    rrelu_ as rrelu_,
    selu as selu,
    selu_ as selu_,
    sigmoid as sigmoid,
    silu as silu,
    softmax as softmax,
    softmin as softmin,
    softplus as softplus,
    softshrink as softshrink,
    softsign as softsign,
    tanh as tanh,
    tanhshrink as tanhshrink,
    threshold as threshold,
    threshold_ as threshold_,
)
from opweave.nn.fractional import (
    fractional_max_pool2d as fractional_max_pool2d,
    fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices,
    fractional_max_pool3d as fractional_max_pool3d,
    fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices,
)
from opweave.nn.linear_cross_entropy import linear_cross_entropy as linear_cross_entropy
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
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
    nll_loss as nll_loss,
    poisson_nll_loss as poisson_nll_loss,
    smooth_l1_loss as smooth_l1_loss,
    soft_margin_loss as soft_margin_loss,
    triplet_margin_loss as triplet_margin_loss,
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from opweave.nn.margins import (
    multi_margin_loss as multi_margin_loss,
    multilabel_margin_loss as multilabel_margin_loss,
)
from opweave.nn.multi_head import multi_head_attention_forward as multi_head_attention_forward
from opweave.nn.regularizing import (
    alpha_dropout as alpha_dropout,
    batch_norm as batch_norm,
    dropout as dropout,
    dropout1d as dropout1d,
    dropout2d as dropout2d,
    dropout3d as dropout3d,
    feature_alpha_dropout as feature_alpha_dropout,
    group_norm as group_norm,
    instance_norm as instance_norm,
    layer_norm as layer_norm,
    local_response_norm as local_response_norm,
    rms_norm as rms_norm,
)
from opweave.nn.resizing import interpolate as interpolate
from opweave.nn.windows import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
    adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_avg_pool3d as adaptive_avg_pool3d,
    adaptive_max_pool1d as adaptive_max_pool1d,
    adaptive_max_pool2d as adaptive_max_pool2d,
    adaptive_max_pool3d as adaptive_max_pool3d,
    avg_pool1d as avg_pool1d,
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    conv_tbc as conv_tbc,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
    conv_transpose3d as conv_transpose3d,
    fold as fold,
    lp_pool1d as lp_pool1d,
    lp_pool2d as lp_pool2d,
    lp_pool3d as lp_pool3d,
    max_pool1d as max_pool1d,
    max_pool2d as max_pool2d,
    max_pool3d as max_pool3d,
    max_unpool1d as max_unpool1d,
    max_unpool2d as max_unpool2d,
    max_unpool3d as max_unpool3d,
    unfold as unfold,
)
from opweave.nn.with_indices import (
    adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices,
    max_pool1d_with_indices as max_pool1d_with_indices,
    max_pool2d_with_indices as max_pool2d_with_indices,
    max_pool3d_with_indices as max_pool3d_with_indices,
)
from opweave.registry.asking import ask_about
from opweave.registry.autograd.mode import is_grad_enabled, no_grad
from opweave.registry.binding import writing as _writing
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.patches import patchable
from opweave.registry.tensor import Tensor, describe

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "affine_grid", "alpha_dropout", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm",
    "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "celu_", "channel_shuffle",
    "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d",
    "dropout3d", "elu", "elu_", "embedding", "embedding_bag", "feature_alpha_dropout", "fold", "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices", "fractional_max_pool3d", "fractional_max_pool3d_with_indices",
    "gaussian_nll_loss", "gelu", "glu", "grid_sample", "group_norm", "gumbel_softmax", "hardshrink", "hardsigmoid",
    "hardswish", "hardtanh", "hardtanh_", "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate",
    "kl_div", "l1_loss", "layer_norm", "leaky_relu", "leaky_relu_", "linear", "linear_cross_entropy",
    "local_response_norm", "log_softmax",
    "logsigmoid", "lp_pool1d", "lp_pool2d", "lp_pool3d", "margin_ranking_loss", "max_pool1d", "max_pool2d",
    "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish", "mse_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "native_channel_shuffle", "nll_loss", "normalize",
    "one_hot", "pad", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "prelu",
    "relu", "relu6", "relu_", "rms_norm", "rrelu", "rrelu_", "scaled_dot_product_attention", "selu", "selu_", "sigmoid",
    "silu", "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh",
    "tanhshrink", "threshold", "threshold_", "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold",
    "upsample", "upsample_bilinear", "upsample_nearest",
]  # fmt: skip

_ = _surface  # declares the ops
aten = ops.aten


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x · weightᵀ + bias; weight is (out, in).

    Examples
    --------
    >>> opweave.nn.functional.linear(opweave.tensor([1.0, 2.0]), opweave.tensor([[1.0, 0.0], [1.0, 1.0]]))
    tensor([1., 3.])
    """
    return ops.aten.linear.default(input, weight, bias)


def _limited(op: str, weight: Tensor, rows: Tensor, max_norm: float | None, norm_type: float, sparse: bool) -> None:
    """Shorten the rows of an embedding that are read, in place and apart from gradients."""
    if sparse and weight.requires_grad and is_grad_enabled():
        raise UnsupportedError(f"{op}: there is no sparse gradient", got="sparse=True", hint="pass sparse=False")
    if max_norm is not None:
        with no_grad():
            aten.embedding_renorm_.default(weight, rows, max_norm, norm_type)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
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
        Whether the gradient would be sparse, which there is not; without gradients it makes no difference.

    Raises
    ------
    UnsupportedError
        With `sparse`, of a weight that wants a gradient.

    Examples
    --------
    >>> opweave.nn.functional.embedding(opweave.tensor([1, 0]), opweave.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
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
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows: `input` is (bags, rows each), or a vector with `offsets` where bags begin.

    Raises
    ------
    UnsupportedError
        With `sparse`, of a weight that wants a gradient.

    Examples
    --------
    >>> opweave.nn.functional.embedding_bag(opweave.tensor([[0, 1]]), opweave.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[2., 3.]])
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
    """A new last dimension of zeros with a 1 in the place of each number; -1 takes the largest number's place.

    Examples
    --------
    >>> opweave.nn.functional.one_hot(opweave.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    return ops.aten.one_hot.default(tensor, num_classes)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x over its p-norm in a dimension, which counts as eps at least.

    Examples
    --------
    >>> opweave.nn.functional.normalize(opweave.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    norm = aten.linalg_vector_norm.default(input, p, [dim], True)
    return aten.div.Tensor(input, aten.clamp_min.default(norm, eps))


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 · x2 / (|x1| |x2|) over a dimension; a norm counts as eps at least.

    Examples
    --------
    >>> opweave.nn.functional.cosine_similarity(opweave.tensor([[1.0, 0.0]]), opweave.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    return ops.aten.cosine_similarity.default(x1, x2, dim, eps)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps over the last dimension.

    Examples
    --------
    >>> opweave.nn.functional.pairwise_distance(opweave.tensor([[0.0, 0.0]]), opweave.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    return ops.aten.pairwise_distance.default(x1, x2, p, eps, keepdim)


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The distances of all pairs of rows.

    Examples
    --------
    >>> opweave.nn.functional.pdist(opweave.tensor([[0.0, 0.0], [3.0, 4.0]]))
    tensor([5.])
    """
    return ops.aten.pdist.default(input, p)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1ᵀ W x2 + b for each matrix of the weight (out, in1, in2).

    Examples
    --------
    >>> opweave.nn.functional.bilinear(opweave.ones(1, 2), opweave.ones(1, 3), opweave.ones(4, 2, 3))
    tensor([[6., 6., 6., 6.]])
    """
    return ops.aten.bilinear.default(input1, input2, weight, bias)


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

    Examples
    --------
    >>> opweave.nn.functional.pad(opweave.tensor([1.0, 2.0]), (1, 0))
    tensor([0., 1., 2.])
    """
    return ops.aten.pad.default(input, pad, mode, value)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
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

    Examples
    --------
    >>> q, k = opweave.ones(1, 2, 4), opweave.ones(1, 3, 4)
    >>> opweave.nn.functional.scaled_dot_product_attention(q, k, k).shape
    opweave.Size([1, 2, 4])
    """
    return ops.aten.scaled_dot_product_attention.default(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C r², H, W) as (..., C, H r, W r): the channels of a pixel become a square of pixels (Shi et al. 2016).

    Examples
    --------
    >>> opweave.nn.functional.pixel_shuffle(opweave.arange(4.0).view(1, 4, 1, 1), 2)
    tensor([[[[0., 1.],
              [2., 3.]]]])
    """
    return ops.aten.pixel_shuffle.default(input, upscale_factor)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of `pixel_shuffle`.

    Examples
    --------
    >>> opweave.nn.functional.pixel_unshuffle(opweave.arange(4.0).view(1, 1, 2, 2), 2).shape
    opweave.Size([1, 4, 1, 1])
    """
    return ops.aten.pixel_unshuffle.default(input, downscale_factor)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of (N, C, ...) dealt out in turn to the groups that they came in (Zhang et al. 2018).

    Examples
    --------
    >>> opweave.nn.functional.channel_shuffle(opweave.arange(4.0).view(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    return ops.aten.channel_shuffle.default(input, groups)


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """`channel_shuffle`, by the name that PyTorch has for its kernel.

    Examples
    --------
    >>> opweave.nn.functional.native_channel_shuffle(opweave.arange(4.0).view(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    return ops.aten.channel_shuffle.default(input, groups)


_SAMPLING = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_OUTSIDE = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Tensor:
    """The image at the places (x, y) of a grid (batch, rows, columns, 2), -1 and 1 being its borders.

    A volume has a grid (batch, depth, rows, columns, 3) of places (x, y, z).

    Examples
    --------
    >>> opweave.nn.functional.grid_sample(opweave.ones(1, 1, 2, 2), opweave.zeros(1, 1, 1, 2), align_corners=False)
    tensor([[[[1.]]]])
    """
    if mode not in _SAMPLING or padding_mode not in _OUTSIDE:
        raise ArgumentError(
            "grid_sample: unknown mode",
            got=f"mode={mode!r}, padding_mode={padding_mode!r}",
            hint=f"modes are {list(_SAMPLING)}, paddings {list(_OUTSIDE)}",
        )
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

    Examples
    --------
    >>> opweave.nn.functional.affine_grid(opweave.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), [1, 1, 1, 2])
    tensor([[[[-0.5000,  0.0000],
              [ 0.5000,  0.0000]]]])
    """
    spatial = len(size) - 2
    if spatial not in (2, 3) or theta._sizes != (size[0], spatial, spatial + 1) or any(n < 1 for n in size):
        raise ShapeError(
            "affine_grid: expected a map (2, 3) or (3, 4) for each image of the size",
            got=f"{describe(theta)}, size={list(size)}",
        )
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


def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """`interpolate`, by its earlier name.

    Examples
    --------
    >>> opweave.nn.functional.upsample(opweave.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` by the nearest element.

    Examples
    --------
    >>> opweave.nn.functional.upsample_nearest(opweave.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` of images by neighbours, with corners that are centres of pixels.

    Examples
    --------
    >>> opweave.nn.functional.upsample_bilinear(opweave.ones(1, 1, 2, 2), scale_factor=2).shape
    opweave.Size([1, 1, 4, 4])
    """
    return interpolate(input, size, scale_factor, "bilinear", True)


def _bind() -> None:
    """Let those be called with `out=` that PyTorch's are."""
    for name in (
        "avg_pool2d", "avg_pool3d", "gelu", "hardshrink", "linear", "logsigmoid", "normalize", "softplus", "softshrink",
    ):  # fmt: skip
        globals()[name] = _writing(globals()[name])


_bind()


#: Those that are functions in C in PyTorch.
_IN_C = frozenset(
    "adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear celu_ channel_shuffle conv1d conv2d conv3d "
    "conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity elu_ gelu hardshrink hardtanh_ "
    "leaky_relu_ linear logsigmoid native_channel_shuffle one_hot pairwise_distance pdist pixel_shuffle "
    "pixel_unshuffle prelu relu_ rrelu_ scaled_dot_product_attention selu_ softplus softshrink threshold_".split()
)
_ASKED = [
    value for name, value in [*globals().items()]
    if type(value) is FunctionType and (name in __all__ or value.__module__.startswith("opweave.nn."))
    and not name.startswith("_") and name not in ("sigmoid", "tanh")
]  # fmt: skip
ask_about(_ASKED, _IN_C)
patchable(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
