"""Modules that arrange elements anew: other sizes, other resolutions, windows as columns; and distances."""

from __future__ import annotations

from typing import Any

from opweave.nn import functional as F
from opweave.nn.modules.module import Module
from opweave.registry.errors import ArgumentError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

aten = ops.aten


class Flatten(Module):
    """Several dimensions as one.

    Examples
    --------
    >>> opweave.nn.Flatten()(opweave.ones(2, 3, 4)).shape
    opweave.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        """The same elements."""
        return aten.flatten.using_ints(input, self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Settings."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension as several.

    Examples
    --------
    >>> opweave.nn.Unflatten(1, (2, 3))(opweave.ones(1, 6)).shape
    opweave.Size([1, 2, 3])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(dim, int):
            raise ArgumentError("Unflatten: dimensions have no names here", got=repr(dim), hint="pass a number")
        if not isinstance(unflattened_size, (tuple, list)) or not all(isinstance(n, int) for n in unflattened_size):
            raise ArgumentError("unflattened_size must be tuple of ints", got=repr(unflattened_size))
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """The same elements."""
        return aten.unflatten.int(input, self.dim, list(self.unflattened_size))

    def extra_repr(self) -> str:
        """Settings."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Upsample(Module):
    """A line, image or volume at another size; see `functional.interpolate`.

    Examples
    --------
    >>> opweave.nn.Upsample(scale_factor=2)(opweave.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """At the other size."""
        return F.interpolate(
            input, self.size, self.scale_factor, self.mode, self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Settings."""
        sizes = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{sizes}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """An image at another size, by the nearest element.

    Examples
    --------
    >>> opweave.nn.UpsamplingNearest2d(scale_factor=2)(opweave.ones(1, 1, 2, 2)).shape
    opweave.Size([1, 1, 4, 4])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """An image at another size, by neighbours, with corners that are centres of pixels.

    Examples
    --------
    >>> opweave.nn.UpsamplingBilinear2d(scale_factor=2)(opweave.ones(1, 1, 2, 2)).shape
    opweave.Size([1, 1, 4, 4])
    """

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(Module):
    """Channels as finer pixels (Shi et al. 2016).

    Examples
    --------
    >>> opweave.nn.PixelShuffle(2)(opweave.ones(1, 4, 1, 1)).shape
    opweave.Size([1, 1, 2, 2])
    """

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """(..., C r², H, W) to (..., C, H r, W r)."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """Settings."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Pixels as channels of coarser ones.

    Examples
    --------
    >>> opweave.nn.PixelUnshuffle(2)(opweave.ones(1, 1, 2, 2)).shape
    opweave.Size([1, 4, 1, 1])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """(..., C, H r, W r) to (..., C r², H, W)."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """Settings."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """The channels of groups, dealt out in turn (Zhang et al. 2018).

    Examples
    --------
    >>> opweave.nn.ChannelShuffle(2)(opweave.arange(4.0).view(1, 4, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """Of the input's sizes."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """Settings."""
        return f"groups={self.groups}"


class Unfold(Module):
    """The windows of an image as columns.

    Examples
    --------
    >>> opweave.nn.Unfold(2)(opweave.ones(1, 1, 2, 2)).shape
    opweave.Size([1, 4, 1])
    """

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """(N, C, H, W) to (N, C · kernel, windows)."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Settings."""
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """The image that has these windows; where they overlap, their sum.

    Examples
    --------
    >>> opweave.nn.Fold(2, 2)(opweave.ones(1, 4, 1))
    tensor([[[[1., 1.],
              [1., 1.]]]])
    """

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """(N, C · kernel, windows) to (N, C, H, W)."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Settings."""
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class PairwiseDistance(Module):
    """The p-norm of x1 - x2 + eps over the last dimension.

    Examples
    --------
    >>> opweave.nn.PairwiseDistance()(opweave.tensor([[0.0, 0.0]]), opweave.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distances."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """x1 · x2 / (|x1| |x2|) over a dimension.

    Examples
    --------
    >>> opweave.nn.CosineSimilarity()(opweave.tensor([[1.0, 0.0]]), opweave.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The cosines."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
