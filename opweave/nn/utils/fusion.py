"""Batch normalization, as it is in inference, put into the weights before it."""

from __future__ import annotations

import copy
from typing import Any

from opweave.nn.parameter import Parameter
from opweave.registry.errors import ArgumentError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]

aten = ops.aten
Pair = tuple[Parameter, Parameter]


def _fused(
    weight: Any, bias: Any, mean: Any, variance: Any, eps: float, scale: Any, shift: Any, sizes: list[int]
) -> Pair:
    """Weight and bias with a normalization behind them, whose channels the weight has at the -1 of `sizes`."""
    bias_type, learns = (weight._dtype, False) if bias is None else (bias._dtype, bias.requires_grad)
    bias = aten.zeros_like.default(mean) if bias is None else bias
    factor = (variance + eps).rsqrt()
    if scale is not None:
        factor = scale * factor
    made = (bias - mean) * factor
    if shift is not None:
        made = made + shift
    return (
        Parameter((weight * factor.reshape(sizes)).to(dtype=weight._dtype).detach(), weight.requires_grad),
        Parameter(made.to(dtype=bias_type).detach(), learns),
    )


def fuse_conv_bn_weights(
    conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor | None,
    bn_b: Tensor | None, transpose: bool = False,
) -> Pair:  # fmt: skip
    """Weight and bias of a convolution that does what another one and a batch normalization behind it do.

    Parameters
    ----------
    conv_w, conv_b : Tensor, Tensor or None
        Of the convolution.
    bn_rm, bn_rv, bn_eps : Tensor, Tensor, float
        Mean and variance of the normalization, and what is added to the latter.
    bn_w, bn_b : Tensor or None
        Its weight and bias.
    transpose : bool
        Whether the convolution is transposed.

    Examples
    --------
    >>> one = opweave.ones(1)
    >>> weight, bias = opweave.nn.utils.fuse_conv_bn_weights(opweave.ones(1, 1, 1), None, one, one, 0.0, one * 3, one)
    >>> weight.item(), bias.item()
    (3.0, -2.0)
    """
    ends = [1] * (conv_w.ndim - 2)
    sizes = [1, -1, *ends] if transpose else [-1, 1, *ends]
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, sizes)


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> Pair:
    """Weight and bias of a linear map that does what another one and a batch normalization behind it do.

    Examples
    --------
    >>> one = opweave.ones(1)
    >>> weight, bias = opweave.nn.utils.fuse_linear_bn_weights(opweave.ones(1, 1), one, one, one, 0.0, one * 3, one)
    >>> weight.item(), bias.item()
    (3.0, 1.0)
    """
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _in_inference(module: Any, bn: Any) -> Any:
    if module.training or bn.training:
        raise ArgumentError("fusion is for inference: both modules must be in eval mode", hint="call .eval() on both")
    if bn.running_mean is None or bn.running_var is None:
        raise ArgumentError("fusion needs a normalization that keeps statistics", hint="track_running_stats=True")
    return copy.deepcopy(module)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A convolution that does what another one and a batch normalization behind it do in inference.

    Raises
    ------
    ArgumentError
        If one of them is in training mode, or the normalization keeps no statistics.

    Examples
    --------
    >>> conv, bn = opweave.nn.Conv1d(2, 3, 1).eval(), opweave.nn.BatchNorm1d(3).eval()
    >>> x = opweave.ones(1, 2, 4)
    >>> opweave.allclose(opweave.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)))
    True
    """
    fused = _in_inference(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A linear map that does what another one and a batch normalization behind it do in inference.

    Raises
    ------
    ArgumentError
        If one of them is in training mode, the normalization keeps no statistics, or sizes do not fit.

    Examples
    --------
    >>> linear, bn = opweave.nn.Linear(2, 3).eval(), opweave.nn.BatchNorm1d(3).eval()
    >>> x = opweave.ones(4, 2)
    >>> opweave.allclose(opweave.nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)))
    True
    """
    fused = _in_inference(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise ArgumentError(
            "fusion: the normalization has as many features as the linear map gives, or one",
            got=f"{bn.num_features} for {linear.out_features}",
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def __dir__() -> list[str]:
    return sorted(__all__)
