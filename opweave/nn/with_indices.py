"""Maxima of windows with their places: the functions of `torch.nn.functional` that always give both."""

from __future__ import annotations

from collections.abc import Sequence

from opweave.nn import windows
from opweave.registry.tensor import Tensor

Sizes = int | Sequence[int]


def max_pool1d_with_indices(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The largest element of each window of a line, and its place there.

    Parameters
    ----------
    input : Tensor
        Of channels, with a batch or without.
    kernel_size, stride, padding, dilation : int or sequence of int
        Of the windows; `stride` is `kernel_size` by default.
    ceil_mode : bool
        Whether windows may reach over the end.
    return_indices : bool
        For the signature's sake.

    Examples
    --------
    >>> opweave.nn.functional.max_pool1d_with_indices(opweave.tensor([[[1.0, 3.0, 2.0, 4.0]]]), 2)[1]
    tensor([[[1, 3]]])
    """
    return windows.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d_with_indices(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The largest element of each window of an image, and its place there.

    Parameters
    ----------
    input : Tensor
        Of channels, with a batch or without.
    kernel_size, stride, padding, dilation : int or sequence of int
        Of the windows; `stride` is `kernel_size` by default.
    ceil_mode : bool
        Whether windows may reach over the end.
    return_indices : bool
        For the signature's sake.

    Examples
    --------
    >>> opweave.nn.functional.max_pool2d_with_indices(opweave.arange(4.0).view(1, 1, 2, 2), 2)[1]
    tensor([[[[3]]]])
    """
    return windows.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool3d_with_indices(
    input: Tensor, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0, dilation: Sizes = 1,
    ceil_mode: bool = False, return_indices: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The largest element of each window of a volume, and its place there.

    Parameters
    ----------
    input : Tensor
        Of channels, with a batch or without.
    kernel_size, stride, padding, dilation : int or sequence of int
        Of the windows; `stride` is `kernel_size` by default.
    ceil_mode : bool
        Whether windows may reach over the end.
    return_indices : bool
        For the signature's sake.

    Examples
    --------
    >>> opweave.nn.functional.max_pool3d_with_indices(opweave.arange(8.0).view(1, 1, 2, 2, 2), 2)[1]
    tensor([[[[[7]]]]])
    """
    return windows.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: int | Sequence[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """The maxima over windows that cover a line evenly, and their places there.

    Parameters
    ----------
    input : Tensor
        Of channels, with a batch or without.
    output_size : int or sequence of int
        How many windows.
    return_indices : bool
        For the signature's sake.

    Examples
    --------
    >>> opweave.nn.functional.adaptive_max_pool1d_with_indices(opweave.tensor([[[1.0, 3.0, 2.0, 4.0]]]), 2)[1]
    tensor([[[1, 3]]])
    """
    return windows.adaptive_max_pool1d(input, output_size, True)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """The maxima over windows that cover a image evenly, and their places there.

    Parameters
    ----------
    input : Tensor
        Of channels, with a batch or without.
    output_size : int or sequence of int
        How many windows.
    return_indices : bool
        For the signature's sake.

    Examples
    --------
    >>> opweave.nn.functional.adaptive_max_pool2d_with_indices(opweave.arange(4.0).view(1, 1, 2, 2), 1)[1]
    tensor([[[[3]]]])
    """
    return windows.adaptive_max_pool2d(input, output_size, True)


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """The maxima over windows that cover a volume evenly, and their places there.

    Parameters
    ----------
    input : Tensor
        Of channels, with a batch or without.
    output_size : int or sequence of int
        How many windows.
    return_indices : bool
        For the signature's sake.

    Examples
    --------
    >>> opweave.nn.functional.adaptive_max_pool3d_with_indices(opweave.arange(8.0).view(1, 1, 2, 2, 2), 1)[1]
    tensor([[[[[7]]]]])
    """
    return windows.adaptive_max_pool3d(input, output_size, True)
