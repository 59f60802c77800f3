"""Normalizations and dropout, under the names of `torch.nn.functional`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opweave.nn.activations import written
from opweave.nn.windows import avg_pool2d
from opweave.registry.errors import DomainError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor, describe

_ = _surface  # declares the ops
aten = ops.aten


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x - mean) / sqrt(var + eps) · weight + bias over the last dimensions (Ba et al. 2016).

    Examples
    --------
    >>> opweave.nn.functional.layer_norm(opweave.tensor([[1.0, 3.0]]), [2])
    tensor([[-1.0000,  1.0000]])
    """
    return ops.aten.layer_norm.default(input, normalized_shape, weight, bias, eps)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """x / sqrt(mean(x²) + eps) · weight over the last dimensions (Zhang & Sennrich 2019).

    Examples
    --------
    >>> opweave.nn.functional.rms_norm(opweave.tensor([3.0, 4.0]), [2])
    tensor([0.8485, 1.1314])
    """
    return ops.aten.rms_norm.default(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Zero mean and unit variance over each group of channels of (N, C, ...), then `* weight + bias` by channel.

    Examples
    --------
    >>> opweave.nn.functional.group_norm(opweave.tensor([[1.0, 3.0]]), 1)
    tensor([[-1.0000,  1.0000]])
    """
    return ops.aten.group_norm.default(input, num_groups, weight, bias, eps)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of (N, C, ...): by the batch in training, which updates the running statistics in place,
    by these otherwise.

    Examples
    --------
    >>> opweave.nn.functional.batch_norm(opweave.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if training and input.ndim >= 2 and input._sizes[0] * math.prod(input._sizes[2:]) == 1:
        raise ShapeError("batch_norm: one element of a channel has no variance", got=describe(input))
    if eps < 0 or (training and eps == 0):
        raise DomainError(
            f"batch_norm: eps must be {'positive during training' if training else 'non-negative'}", got=f"eps={eps}",
            hint="it is added to the variance: eps=1e-5",
        )  # fmt: skip
    return ops.aten.batch_norm.default(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of each example of (N, C, ...), or by the running statistics (Ulyanov et al. 2016).

    Examples
    --------
    >>> opweave.nn.functional.instance_norm(opweave.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    if input.ndim < 3:
        raise ShapeError("instance_norm: expected (batch, channels, ...)", got=describe(input))
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ShapeError("instance_norm: without the input's statistics, it needs the running ones")
        made = aten.contiguous.default(input)
        return aten.batch_norm.default(made, weight, bias, running_mean, running_var, False, momentum, eps, False)
    count, channels, *rest = input._sizes
    if math.prod(rest) == 1:
        raise ShapeError("instance_norm: one element has no variance", got=describe(input))
    flat = aten.reshape.default(aten.contiguous.default(input), [1, count * channels, *rest])
    kept = [None if t is None else aten.repeat.default(t, [count]) for t in (running_mean, running_var)]
    scale, shift = (None if t is None else aten.repeat.default(t, [count]) for t in (weight, bias))
    found = aten.batch_norm.default(flat, scale, shift, kept[0], kept[1], True, momentum, eps, False)
    for own, each in zip((running_mean, running_var), kept, strict=True):
        if own is not None and each is not None:
            aten.copy_.default(own, aten.mean.dim(aten.view.default(each, [count, channels]), [0]))
    return aten.reshape.default(found, list(input._sizes))


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + alpha · mean of x² over `size` neighbouring channels)^beta (Krizhevsky et al. 2012).

    Examples
    --------
    >>> opweave.nn.functional.local_response_norm(opweave.ones(1, 2, 2), 2).shape
    opweave.Size([1, 2, 2])
    """
    if input.ndim < 3:
        raise ShapeError("local_response_norm: expected (batch, channels, ...)", got=describe(input))
    if not input.numel():
        return input
    count, channels = input._sizes[:2]
    squares = aten.reshape.default(aten.mul.Tensor(input, input), [count, 1, channels, -1])
    squares = aten.constant_pad_nd.default(squares, [0, 0, size // 2, (size - 1) // 2])
    mean = aten.reshape.default(avg_pool2d(squares, (size, 1), 1), list(input._sizes))
    return aten.div.Tensor(input, aten.pow(aten.add.Scalar(aten.mul.Tensor(mean, alpha), k), beta))


def _probability(op: str, p: float) -> None:
    if not 0 <= p <= 1:
        raise ShapeError(f"{op}: a probability is from 0 to 1", got=f"p={p}", hint="p=0.5 zeroes half")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability p and scale the others by 1 / (1 - p); the input itself outside training.

    Examples
    --------
    >>> opweave.nn.functional.dropout(opweave.ones(2), training=False)
    tensor([1., 1.])
    """
    _probability("dropout", p)
    found = ops.aten.dropout.default(input, p, training)
    return found if found is input else written(input, found, inplace)


def _channel_dropout(op: str, input: Tensor, p: float, training: bool, inplace: bool, channel: int) -> Tensor:
    """The channels before dimension `channel` dropped whole."""
    _probability(op, p)
    if not training or p == 0 or not input.numel():
        return input
    sizes = [n if d <= channel else 1 for d, n in enumerate(input._sizes)]
    factors = ops.aten.dropout.default(aten.new_ones.default(input, sizes), p, True)
    return written(input, aten.mul.Tensor(input, factors), inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of (N, C, L) or (C, L) with probability p and scale the others.

    Examples
    --------
    >>> opweave.nn.functional.dropout1d(opweave.ones(1, 2), training=False)
    tensor([[1., 1.]])
    """
    return _channel_dropout("dropout1d", input, p, training, inplace, _channel_of("dropout1d", input, 2, 3))


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of (N, C, H, W) with probability p and scale the others.

    Three dimensions are (N, C, L), as in PyTorch: an image needs its batch.

    Examples
    --------
    >>> opweave.nn.functional.dropout2d(opweave.ones(1, 1, 1, 2), training=False)
    tensor([[[[1., 1.]]]])
    """
    if input.ndim not in (3, 4):
        raise ShapeError("dropout2d: expected (N, C, H, W) or (N, C, L)", got=describe(input))
    return _channel_dropout("dropout2d", input, p, training, inplace, 1)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero whole channels of (N, C, D, H, W) or (C, D, H, W) with probability p and scale the others.

    Examples
    --------
    >>> opweave.nn.functional.dropout3d(opweave.ones(1, 1, 1, 2), training=False)
    tensor([[[[1., 1.]]]])
    """
    return _channel_dropout("dropout3d", input, p, training, inplace, _channel_of("dropout3d", input, 4, 5))


def _channel_of(op: str, input: Tensor, least: int, most: int) -> int:
    if not least <= input.ndim <= most:
        raise ShapeError(f"{op}: expected {most} dimensions, or {least}", got=describe(input))
    return 1 if input.ndim == most else 0


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for `selu`: what is dropped gets its least value; mean 0 and variance 1 stay (Klambauer et al. 2017).

    Examples
    --------
    >>> opweave.nn.functional.alpha_dropout(opweave.ones(2), training=False)
    tensor([1., 1.])
    """
    _probability("alpha_dropout", p)
    return (aten.alpha_dropout_ if inplace else aten.alpha_dropout).default(input, p, training)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels of (batch, channels, ...).

    Examples
    --------
    >>> opweave.nn.functional.feature_alpha_dropout(opweave.ones(1, 2), training=False)
    tensor([[1., 1.]])
    """
    _probability("feature_alpha_dropout", p)
    return (aten.feature_alpha_dropout_ if inplace else aten.feature_alpha_dropout).default(input, p, training)
