"""Normalization over the last dimensions, over groups of channels and across channels."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

from opweave.nn import functional as F, init
from opweave.nn.modules.linear import empty
from opweave.nn.modules.module import Module
from opweave.nn.parameter import Parameter
from opweave.registry.errors import DomainError
from opweave.registry.tensor import Tensor


def _shape(value: int | Sequence[int]) -> tuple[int, ...]:
    return (int(value),) if isinstance(value, numbers.Integral) else tuple(value)  # type: ignore[arg-type]


class LayerNorm(Module):
    """Zero mean and unit variance over the last dimensions (Ba et al. 2016).

    Parameters
    ----------
    normalized_shape : int or sequence of int
        The last sizes.
    eps : float
        Added to the variance.
    elementwise_affine : bool
        Whether there is a weight, ones at first.
    bias : bool
        And a bias, zeros at first.

    Examples
    --------
    >>> opweave.nn.LayerNorm(2)(opweave.ones(1, 2)).shape
    opweave.Size([1, 2])
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        options = {"device": device, "dtype": dtype}
        self.register_parameter("weight", empty(*self.normalized_shape, **options) if elementwise_affine else None)
        has_bias = elementwise_affine and bias
        self.register_parameter("bias", empty(*self.normalized_shape, **options) if has_bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Ones and zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalized."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Settings."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """x / sqrt(mean(x²) + eps) · weight over the last dimensions (Zhang & Sennrich 2019).

    Parameters
    ----------
    normalized_shape : int or sequence of int
        The last sizes.
    eps : float, optional
        That of the dtype by default.
    elementwise_affine : bool
        Whether there is a weight, ones at first.

    Examples
    --------
    >>> opweave.nn.RMSNorm(2)(opweave.ones(1, 2)).shape
    opweave.Size([1, 2])
    """

    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = empty(*self.normalized_shape, device=device, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Ones."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        """The input, normalized."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Settings."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Zero mean and unit variance over each group of channels of (N, C, ...) (Wu & He 2018).

    Parameters
    ----------
    num_groups, num_channels : int
        How many groups, of how many channels together.
    eps : float
        Added to the variance.
    affine : bool
        Whether there is a weight for each channel.
    bias : bool
        And a bias.

    Examples
    --------
    >>> opweave.nn.GroupNorm(1, 2)(opweave.ones(1, 2)).shape
    opweave.Size([1, 2])
    """

    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise DomainError(
                "num_channels must be divisible by num_groups",
                got=f"num_channels={num_channels}, num_groups={num_groups}",
                hint="each group has as many channels",
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, is_there in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, empty(num_channels, device=device, dtype=dtype) if is_there else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Ones and zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalized."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Settings."""
        settings = f"eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"
        return f"{self.num_groups}, {self.num_channels}, {settings}"


class LocalResponseNorm(Module):
    """Divide by the activity of neighbouring channels (Krizhevsky et al. 2012); as in `functional`.

    Examples
    --------
    >>> opweave.nn.LocalResponseNorm(2)(opweave.ones(1, 2, 3)).shape
    opweave.Size([1, 2, 3])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """The input, normalized."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """Settings."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
