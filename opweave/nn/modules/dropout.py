"""Dropout of elements and of whole channels; nothing is dropped in evaluation."""

from __future__ import annotations

from opweave.nn import functional as F
from opweave.nn.modules.module import Module
from opweave.registry.errors import DomainError
from opweave.registry.tensor import Tensor


class _DropoutNd(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise DomainError(
                f"dropout probability has to be between 0 and 1, but got {p}",
                got=f"p={p}",
                hint="the probability of an element being zeroed: nn.Dropout(0.5)",
            )
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Settings."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Zero elements with probability p in training and scale the others by 1 / (1 - p) (Srivastava et al. 2014).

    Examples
    --------
    >>> opweave.nn.Dropout().eval()(opweave.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input, or with elements dropped."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_DropoutNd):
    """Zero whole channels of (N, C, L) with probability p in training.

    Examples
    --------
    >>> opweave.nn.Dropout1d().eval()(opweave.ones(1, 2))
    tensor([[1., 1.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input, or with channels dropped."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_DropoutNd):
    """Zero whole channels of (N, C, H, W) with probability p in training.

    Examples
    --------
    >>> opweave.nn.Dropout2d().eval()(opweave.ones(1, 1, 1, 2))
    tensor([[[[1., 1.]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input, or with channels dropped."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_DropoutNd):
    """Zero whole channels of (N, C, D, H, W) with probability p in training.

    Examples
    --------
    >>> opweave.nn.Dropout3d().eval()(opweave.ones(1, 1, 1, 1, 2))
    tensor([[[[[1., 1.]]]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input, or with channels dropped."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean 0 and variance 1, for `SELU` (Klambauer et al. 2017).

    Examples
    --------
    >>> opweave.nn.AlphaDropout().eval()(opweave.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input, or with elements dropped."""
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels.

    Examples
    --------
    >>> opweave.nn.FeatureAlphaDropout().eval()(opweave.ones(1, 2))
    tensor([[1., 1.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The input, or with channels dropped."""
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
