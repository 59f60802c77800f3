"""The loss of a linear layer's scores as a module."""

from __future__ import annotations

import math
from typing import Any

from opweave.nn import functional as F
from opweave.nn.linear_cross_entropy import LinearCrossEntropyOptions
from opweave.nn.modules.linear import Linear
from opweave.nn.modules.module import Module
from opweave.registry.errors import DomainError, ShapeError
from opweave.registry.tensor import Tensor, describe


class LinearCrossEntropyLoss(Module):
    """Cross entropy of the scores that a linear layer of its own gives.

    Parameters
    ----------
    in_features, num_classes : int
        Sizes of the layer.
    out_features : tuple of int
        More dimensions of the loss.
    bias : bool
        Whether the layer has one.
    weight : Tensor, optional
        Of each class.
    ignore_index : int, optional
        A class that does not count.
    options : LinearCrossEntropyOptions, optional
        How the batch is cut into pieces.

    Examples
    --------
    >>> loss = opweave.nn.LinearCrossEntropyLoss(4, 3)
    >>> loss(opweave.ones(2, 4), opweave.tensor([0, 2])).shape
    opweave.Size([])
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise ShapeError("LinearCrossEntropyLoss: needs a weight for each class", got=describe(weight))
        if not 0 <= label_smoothing <= 1:
            raise DomainError(
                "LinearCrossEntropyLoss: expected label_smoothing to be in range [0, 1]", got=f"{label_smoothing}",
                hint="it is a part of the probability: 0.1, for one",
            )  # fmt: skip
        super().__init__()
        self.register_buffer("weight", weight)
        self.reduction = reduction
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing, self.options = ignore_index, label_smoothing, options
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        sizes, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(
            input, self.linear.weight.reshape(*sizes, self.linear.in_features), target,
            linear_bias=None if bias is None else bias.reshape(sizes), weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """What the layer and the loss are made with."""
        linear = self.linear
        return (
            f"in_features={linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
