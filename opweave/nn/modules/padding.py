"""Paddings of lines, images and volumes."""

from __future__ import annotations

from typing import Any

from opweave.nn import functional as F
from opweave.nn.modules.module import Module
from opweave.registry.errors import ShapeError
from opweave.registry.tensor import Tensor, describe


class _Pad(Module):
    _dims, _mode = 0, "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * (2 * self._dims)

    def forward(self, input: Tensor) -> Tensor:
        """The input, padded."""
        if self._mode == "circular" and input.ndim not in (self._dims + 1, self._dims + 2):
            raise ShapeError(
                f"{type(self).__name__}: expected {self._dims + 1}D or {self._dims + 2}D input", got=describe(input),
                hint="(batch, channels, ...) or (channels, ...)",
            )  # fmt: skip
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """Settings."""
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """The input, padded."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Settings."""
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Settings."""
        return f"{self.padding}"


class ConstantPad1d(_ConstantPadNd):
    """A line padded with a number.

    Examples
    --------
    >>> opweave.nn.ConstantPad1d(1, 0.5)(opweave.ones(1, 1, 4)).shape
    opweave.Size([1, 1, 6])
    """

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """An image padded with a number.

    Examples
    --------
    >>> opweave.nn.ConstantPad2d(1, 0.5)(opweave.ones(1, 1, 4, 4)).shape
    opweave.Size([1, 1, 6, 6])
    """

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """A volume padded with a number.

    Examples
    --------
    >>> opweave.nn.ConstantPad3d(1, 0.5)(opweave.ones(1, 1, 4, 4, 4)).shape
    opweave.Size([1, 1, 6, 6, 6])
    """

    _dims = 3


class ZeroPad1d(_ZeroPadNd):
    """A line padded with zeros.

    Examples
    --------
    >>> opweave.nn.ZeroPad1d(1)(opweave.ones(1, 1, 4)).shape
    opweave.Size([1, 1, 6])
    """

    _dims = 1


class ZeroPad2d(_ZeroPadNd):
    """An image padded with zeros.

    Examples
    --------
    >>> opweave.nn.ZeroPad2d(1)(opweave.ones(1, 1, 4, 4)).shape
    opweave.Size([1, 1, 6, 6])
    """

    _dims = 2


class ZeroPad3d(_ZeroPadNd):
    """A volume padded with zeros.

    Examples
    --------
    >>> opweave.nn.ZeroPad3d(1)(opweave.ones(1, 1, 4, 4, 4)).shape
    opweave.Size([1, 1, 6, 6, 6])
    """

    _dims = 3


class ReflectionPad1d(_Pad):
    """A line padded with its reflection.

    Examples
    --------
    >>> opweave.nn.ReflectionPad1d(1)(opweave.ones(1, 1, 4)).shape
    opweave.Size([1, 1, 6])
    """

    _dims, _mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """An image padded with its reflection.

    Examples
    --------
    >>> opweave.nn.ReflectionPad2d(1)(opweave.ones(1, 1, 4, 4)).shape
    opweave.Size([1, 1, 6, 6])
    """

    _dims, _mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """A volume padded with its reflection.

    Examples
    --------
    >>> opweave.nn.ReflectionPad3d(1)(opweave.ones(1, 1, 4, 4, 4)).shape
    opweave.Size([1, 1, 6, 6, 6])
    """

    _dims, _mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """A line padded with its ends.

    Examples
    --------
    >>> opweave.nn.ReplicationPad1d(1)(opweave.ones(1, 1, 4)).shape
    opweave.Size([1, 1, 6])
    """

    _dims, _mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """An image padded with its edges.

    Examples
    --------
    >>> opweave.nn.ReplicationPad2d(1)(opweave.ones(1, 1, 4, 4)).shape
    opweave.Size([1, 1, 6, 6])
    """

    _dims, _mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """A volume padded with its faces.

    Examples
    --------
    >>> opweave.nn.ReplicationPad3d(1)(opweave.ones(1, 1, 4, 4, 4)).shape
    opweave.Size([1, 1, 6, 6, 6])
    """

    _dims, _mode = 3, "replicate"


class CircularPad1d(_Pad):
    """A line padded with what is at its other end.

    Examples
    --------
    >>> opweave.nn.CircularPad1d(1)(opweave.ones(1, 1, 4)).shape
    opweave.Size([1, 1, 6])
    """

    _dims, _mode = 1, "circular"


class CircularPad2d(_Pad):
    """An image padded with what is at its other side.

    Examples
    --------
    >>> opweave.nn.CircularPad2d(1)(opweave.ones(1, 1, 4, 4)).shape
    opweave.Size([1, 1, 6, 6])
    """

    _dims, _mode = 2, "circular"


class CircularPad3d(_Pad):
    """A volume padded with what is at its other side.

    Examples
    --------
    >>> opweave.nn.CircularPad3d(1)(opweave.ones(1, 1, 4, 4, 4)).shape
    opweave.Size([1, 1, 6, 6, 6])
    """

    _dims, _mode = 3, "circular"
