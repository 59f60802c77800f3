"""Means, maxima and norms of windows."""

from __future__ import annotations

from typing import Any

from opweave.nn import functional as F
from opweave.nn.modules.module import Module
from opweave.registry.errors import DomainError
from opweave.registry.tensor import Tensor

_MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
_UNPOOL = {1: F.max_unpool1d, 2: F.max_unpool2d, 3: F.max_unpool3d}
_FRACTIONAL = {2: F.fractional_max_pool2d, 3: F.fractional_max_pool3d}
_NORM = {1: F.lp_pool1d, 2: F.lp_pool2d, 3: F.lp_pool3d}
_ADAPTIVE_AVG = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}
_ADAPTIVE_MAX = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}


class _MaxPoolNd(Module):
    _dims = 0

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        """The largest element of each window; with `return_indices` their places too."""
        return _MAX[self._dims](
            input, self.kernel_size, self.stride, self.padding, self.dilation, ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Settings."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window of (N, C, L).

    Examples
    --------
    >>> opweave.nn.MaxPool1d(2)(opweave.ones(1, 1, 4)).shape
    opweave.Size([1, 1, 2])
    """

    _dims = 1


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window of (N, C, H, W).

    Examples
    --------
    >>> opweave.nn.MaxPool2d(2)(opweave.ones(1, 1, 4, 4)).shape
    opweave.Size([1, 1, 2, 2])
    """

    _dims = 2


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window of (N, C, D, H, W).

    Examples
    --------
    >>> opweave.nn.MaxPool3d(2)(opweave.ones(1, 1, 4, 4, 4)).shape
    opweave.Size([1, 1, 2, 2, 2])
    """

    _dims = 3


class _MaxUnpoolNd(Module):
    _dims = 0

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = (
            tuple(n) if isinstance(n, (tuple, list)) else (n,) * self._dims
            for n in (kernel_size, kernel_size if stride is None else stride, padding)
        )

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        """Zeros, with the elements where the pooling found them."""
        return _UNPOOL[self._dims](input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        """Settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """`MaxPool1d` taken back, with zeros for what was lost.

    Examples
    --------
    >>> places = opweave.zeros(1, 1, 1, dtype=opweave.int64)
    >>> opweave.nn.MaxUnpool1d(2)(opweave.ones(1, 1, 1), places).shape
    opweave.Size([1, 1, 2])
    """

    _dims = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """`MaxPool2d` taken back, with zeros for what was lost.

    Examples
    --------
    >>> places = opweave.zeros(1, 1, 1, 1, dtype=opweave.int64)
    >>> opweave.nn.MaxUnpool2d(2)(opweave.ones(1, 1, 1, 1), places).shape
    opweave.Size([1, 1, 2, 2])
    """

    _dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """`MaxPool3d` taken back, with zeros for what was lost.

    Examples
    --------
    >>> places = opweave.zeros(1, 1, 1, 1, 1, dtype=opweave.int64)
    >>> opweave.nn.MaxUnpool3d(2)(opweave.ones(1, 1, 1, 1, 1), places).shape
    opweave.Size([1, 1, 2, 2, 2])
    """

    _dims = 3


class _FractionalMaxPoolNd(Module):
    _dims = 0
    _random_samples: Tensor | None

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size: Any
        self.kernel_size, self.output_size, self.output_ratio = (
            value if value is None else tuple(value) if isinstance(value, (tuple, list)) else (value,) * self._dims
            for value in (kernel_size, output_size, output_ratio)
        )
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        if (output_size is None) == (output_ratio is None):
            raise DomainError(
                f"{type(self).__name__} takes an output size, or a pooling ratio, and not both",
                got=f"output_size={output_size!r}, output_ratio={output_ratio!r}",
                hint="output_ratio=0.7, for instance",
            )
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise DomainError(
                f"output_ratio must be between 0 and 1 (got {output_ratio})", got=repr(output_ratio), hint="0.7"
            )

    def forward(self, input: Tensor) -> Any:
        """The largest element of each window; with `return_indices` their places too."""
        return _FRACTIONAL[self._dims](
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest element of each of unevenly spaced windows of (N, C, H, W); the spaces are drawn at each call.

    Parameters
    ----------
    kernel_size : int or tuple of int
        Of the windows.
    output_size : int or tuple of int, optional
        How many windows there are.
    output_ratio : float or tuple of float, optional
        The same as a fraction of the size.
    return_indices : bool
        Give the places of the elements, too, for `MaxUnpool2d`.

    Examples
    --------
    >>> opweave.nn.FractionalMaxPool2d(2, output_ratio=0.7)(opweave.ones(1, 1, 10, 20)).shape
    opweave.Size([1, 1, 7, 14])
    """

    _dims = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The largest element of each of unevenly spaced windows of (N, C, T, H, W); the spaces are drawn at each call.

    Parameters
    ----------
    kernel_size : int or tuple of int
        Of the windows.
    output_size : int or tuple of int, optional
        How many windows there are.
    output_ratio : float or tuple of float, optional
        The same as a fraction of the size.
    return_indices : bool
        Give the places of the elements, too, for `MaxUnpool3d`.

    Examples
    --------
    >>> opweave.nn.FractionalMaxPool3d(2, output_size=3)(opweave.ones(1, 1, 4, 5, 6)).shape
    opweave.Size([1, 1, 3, 3, 3])
    """

    _dims = 3


class AvgPool1d(Module):
    """The mean of each window of (N, C, L).

    Examples
    --------
    >>> opweave.nn.AvgPool1d(2)(opweave.ones(1, 1, 4)).shape
    opweave.Size([1, 1, 2])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = (
            tuple(n) if isinstance(n, (tuple, list)) else (n,)
            for n in (kernel_size, kernel_size if stride is None else stride, padding)
        )
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self) -> str:
        """Settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(Module):
    """The mean of each window of (N, C, H, W).

    Examples
    --------
    >>> opweave.nn.AvgPool2d(2)(opweave.ones(1, 1, 4, 4)).shape
    opweave.Size([1, 1, 2, 2])
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        return F.avg_pool2d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Settings."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool3d(AvgPool2d):
    """The mean of each window of (N, C, D, H, W).

    Examples
    --------
    >>> opweave.nn.AvgPool3d(2)(opweave.ones(1, 1, 4, 4, 4)).shape
    opweave.Size([1, 1, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        return F.avg_pool3d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
            self.divisor_override,
        )  # fmt: skip


class _LPPoolNd(Module):
    _dims = 0

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """The norms."""
        return _NORM[self._dims](input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        """Settings."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The norm of each window of (N, C, L).

    Examples
    --------
    >>> opweave.nn.LPPool1d(2, 2)(opweave.ones(1, 1, 4)).shape
    opweave.Size([1, 1, 2])
    """

    _dims = 1


class LPPool2d(_LPPoolNd):
    """The norm of each window of (N, C, H, W).

    Examples
    --------
    >>> opweave.nn.LPPool2d(2, 2)(opweave.ones(1, 1, 4, 4)).shape
    opweave.Size([1, 1, 2, 2])
    """

    _dims = 2


class LPPool3d(_LPPoolNd):
    """The norm of each window of (N, C, D, H, W).

    Examples
    --------
    >>> opweave.nn.LPPool3d(2, 2)(opweave.ones(1, 1, 4, 4, 4)).shape
    opweave.Size([1, 1, 2, 2, 2])
    """

    _dims = 3


class _AdaptiveAvgPoolNd(Module):
    _dims = 0

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """The means."""
        return _ADAPTIVE_AVG[self._dims](input, self.output_size)

    def extra_repr(self) -> str:
        """Settings."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of as many windows as wanted, which cover (N, C, L) evenly.

    Examples
    --------
    >>> opweave.nn.AdaptiveAvgPool1d(2)(opweave.ones(1, 1, 4)).shape
    opweave.Size([1, 1, 2])
    """

    _dims = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means of as many windows as wanted, which cover (N, C, H, W) evenly.

    Examples
    --------
    >>> opweave.nn.AdaptiveAvgPool2d(2)(opweave.ones(1, 1, 4, 4)).shape
    opweave.Size([1, 1, 2, 2])
    """

    _dims = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means of as many windows as wanted, which cover (N, C, D, H, W) evenly.

    Examples
    --------
    >>> opweave.nn.AdaptiveAvgPool3d(2)(opweave.ones(1, 1, 4, 4, 4)).shape
    opweave.Size([1, 1, 2, 2, 2])
    """

    _dims = 3


class _AdaptiveMaxPoolNd(Module):
    _dims = 0

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """The maxima; with `return_indices` their places too."""
        return _ADAPTIVE_MAX[self._dims](input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        """Settings."""
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Maxima of as many windows as wanted, which cover (N, C, L) evenly.

    Examples
    --------
    >>> opweave.nn.AdaptiveMaxPool1d(2)(opweave.ones(1, 1, 4)).shape
    opweave.Size([1, 1, 2])
    """

    _dims = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Maxima of as many windows as wanted, which cover (N, C, H, W) evenly.

    Examples
    --------
    >>> opweave.nn.AdaptiveMaxPool2d(2)(opweave.ones(1, 1, 4, 4)).shape
    opweave.Size([1, 1, 2, 2])
    """

    _dims = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Maxima of as many windows as wanted, which cover (N, C, D, H, W) evenly.

    Examples
    --------
    >>> opweave.nn.AdaptiveMaxPool3d(2)(opweave.ones(1, 1, 4, 4, 4)).shape
    opweave.Size([1, 1, 2, 2, 2])
    """

    _dims = 3
