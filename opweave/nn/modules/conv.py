"""Convolutions and transposed ones, of one, two and three dimensions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from opweave.nn import functional as F, init
from opweave.nn.modules.lazy import SizedByInput
from opweave.nn.modules.linear import empty
from opweave.nn.modules.module import Module
from opweave.nn.parameter import Parameter
from opweave.registry.errors import DomainError, ShapeError
from opweave.registry.tensor import Tensor, describe

_MODES = ("zeros", "reflect", "replicate", "circular")
_CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def several(value: Any, count: int) -> tuple[Any, ...]:
    """A number for each dimension, from one for all."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * count


class _ConvNd(Module):
    """What all have in common."""

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: Any,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise DomainError(
                "groups must be a positive integer", got=f"groups={groups}", hint="1 connects all channels"
            )
        if in_channels % groups:
            raise DomainError(
                "in_channels must be divisible by groups",
                got=f"in_channels={in_channels}, groups={groups}",
                hint="each group has as many channels",
            )
        if out_channels % groups:
            raise DomainError(
                "out_channels must be divisible by groups",
                got=f"out_channels={out_channels}, groups={groups}",
                hint="each group has as many channels",
            )
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise DomainError(
                    f"Invalid padding string {padding!r}, should be one of 'same', 'valid'",
                    got=f"padding={padding!r}",
                    hint="or a number for each dimension",
                )
            if padding == "same" and any(step != 1 for step in stride):
                raise DomainError(
                    "padding='same' is not supported for strided convolutions",
                    got=f"stride={stride}",
                    hint="padding=kernel_size // 2, for odd kernels",
                )
        if padding_mode not in _MODES:
            raise DomainError(
                f"padding_mode must be one of {_MODES}, but got padding_mode='{padding_mode}'",
                got=f"padding_mode={padding_mode!r}",
                hint=f"one of {', '.join(map(repr, _MODES))}",
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        if isinstance(padding, str):
            total = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilation, kernel_size, strict=True)]
            sides = [side for n in reversed(total) for side in (n // 2, n - n // 2)]
        else:
            sides = [n for n in reversed(padding) for _ in range(2)]
        self._reversed_padding_repeated_twice = sides
        channels = (in_channels, out_channels // groups) if transposed else (out_channels, in_channels // groups)
        self.weight = empty(*channels, *kernel_size, device=device, dtype=dtype)
        self.register_parameter("bias", empty(out_channels, device=device, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        """Sizes."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        count = len(self.kernel_size)
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            value = getattr(self, name)
            if value != (usual,) * count:
                text += f", {name}={value}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Forwards(_ConvNd):
    _dims = 0

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        dims = self._dims
        sides = padding if isinstance(padding, str) else several(padding, dims)
        super().__init__(
            in_channels, out_channels, several(kernel_size, dims), several(stride, dims), sides,
            several(dilation, dims), False, (0,) * dims, groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self._dims
        return _CONV[self._dims](input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        """(N, in_channels, ...) to (N, out_channels, ...), with or without N."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Forwards):
    """Convolution of (N, C, L): see `Conv2d`.

    Examples
    --------
    >>> opweave.nn.Conv1d(2, 3, 3)(opweave.ones(1, 2, 4)).shape
    opweave.Size([1, 3, 2])
    """

    _dims = 1


class Conv2d(_Forwards):
    """Convolution of images (N, C, H, W).

    Parameters
    ----------
    in_channels, out_channels : int
        Of the images before and after.
    kernel_size, stride, padding, dilation : int or tuple of int
        For each dimension, or for all. A padding may be `"same"` or `"valid"`.
    groups : int
        Parts of the channels that do not see each other.
    bias : bool
        Whether something is added to each channel.
    padding_mode : str
        `"zeros"`, `"reflect"`, `"replicate"` or `"circular"`.

    Examples
    --------
    >>> opweave.nn.Conv2d(2, 3, 3)(opweave.ones(1, 2, 4, 4)).shape
    opweave.Size([1, 3, 2, 2])
    """

    _dims = 2


class Conv3d(_Forwards):
    """Convolution of (N, C, D, H, W): see `Conv2d`.

    Examples
    --------
    >>> opweave.nn.Conv3d(2, 3, 3)(opweave.ones(1, 2, 4, 4, 4)).shape
    opweave.Size([1, 3, 2, 2, 2])
    """

    _dims = 3


class _ConvTransposeNd(_ConvNd):
    _dims = 0

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        dims = self._dims
        if padding_mode != "zeros":
            raise DomainError(
                f'Only "zeros" padding mode is supported for {type(self).__name__}',
                got=f"padding_mode={padding_mode!r}",
                hint="pad the result by nn.functional.pad",
            )
        super().__init__(
            in_channels, out_channels, several(kernel_size, dims), several(stride, dims), several(padding, dims),
            several(dilation, dims), True, several(output_padding, dims), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """What has to be added at the ends so that the result has the wanted sizes."""
        if output_size is None:
            return several(self.output_padding, self._dims)
        dims = self._dims
        batched = input.ndim == dims + 2
        padding: Any = self.padding
        wanted = [int(n) for n in output_size]
        if len(wanted) == dims + (2 if batched else 1):
            wanted = wanted[-dims:]
        if len(wanted) != dims:
            raise ValueError(f"ConvTranspose{dims}D: output_size must have {dims} or {dims + 2} elements")
        added = []
        for d, size in enumerate(wanted):
            least = (
                (input._sizes[d - dims] - 1) * self.stride[d]
                - 2 * padding[d]
                + self.dilation[d] * (self.kernel_size[d] - 1)
                + 1
            )
            if not least <= size < least + self.stride[d]:
                raise ShapeError(
                    f"{type(self).__name__}: no such output size", got=f"{output_size} of {describe(input)}",
                    hint=f"size {d} may be from {least} to {least + self.stride[d] - 1}",
                )  # fmt: skip
            added.append(size - least)
        return tuple(added)

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """(N, in_channels, ...) to (N, out_channels, ...), with or without N."""
        added = self._output_padding(input, output_size)
        padding: Any = self.padding
        return _TRANSPOSED[self._dims](
            input, self.weight, self.bias, self.stride, padding, added, self.groups, self.dilation
        )


class ConvTranspose1d(_ConvTransposeNd):
    """The gradient of a convolution of (N, C, L) as a layer: see `ConvTranspose2d`.

    Examples
    --------
    >>> opweave.nn.ConvTranspose1d(2, 3, 3)(opweave.ones(1, 2, 4)).shape
    opweave.Size([1, 3, 6])
    """

    _dims = 1


class ConvTranspose2d(_ConvTransposeNd):
    """The gradient of a convolution of images with respect to them, as a layer.

    Parameters
    ----------
    in_channels, out_channels : int
        Of the images before and after.
    kernel_size, stride, padding, output_padding, dilation : int or tuple of int
        For each dimension, or for all.
    groups : int
        Parts of the channels that do not see each other.
    bias : bool
        Whether something is added to each channel.

    Examples
    --------
    >>> opweave.nn.ConvTranspose2d(2, 3, 3)(opweave.ones(1, 2, 4, 4)).shape
    opweave.Size([1, 3, 6, 6])
    """

    _dims = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The gradient of a convolution of (N, C, D, H, W) as a layer: see `ConvTranspose2d`.

    Examples
    --------
    >>> opweave.nn.ConvTranspose3d(2, 3, 3)(opweave.ones(1, 2, 4, 4, 4)).shape
    opweave.Size([1, 3, 6, 6, 6])
    """

    _dims = 3


class _LazyConv(SizedByInput, _ConvNd):
    _counted = "in_channels"
    _dims: int

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Take the number of channels."""
        if not self.has_uninitialized_params():
            return
        if input.ndim not in (self._dims + 1, self._dims + 2):
            raise ShapeError(
                f"{type(self).__name__}: expected an input of {self._dims + 1} dimensions, or {self._dims + 2} with a"
                " batch", got=describe(input),
            )  # fmt: skip
        self.in_channels = input.shape[-self._dims - 1]
        if self.in_channels % self.groups:
            raise DomainError(
                "in_channels must be divisible by groups", got=f"in_channels={self.in_channels}, groups={self.groups}"
            )
        inner, outer = self.in_channels, self.out_channels
        channels = (inner, outer // self.groups) if self.transposed else (outer, inner // self.groups)
        weight, bias = self._lazy()
        weight.materialize((*channels, *self.kernel_size))
        if bias is not None:
            bias.materialize((outer,))
        self.reset_parameters()


class _LazyForwards(_LazyConv, _Forwards):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode)
        self.out_channels = out_channels
        self._give_parameters(bias, device, dtype)


class _LazyTransposed(_LazyConv, _ConvTransposeNd):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode)
        self.out_channels = out_channels
        self._give_parameters(bias, device, dtype)


class LazyConv1d(_LazyForwards, Conv1d):
    """A `Conv1d` whose `in_channels` are those of what it is first called with.

    Examples
    --------
    >>> opweave.nn.LazyConv1d(3, 3)(opweave.ones(1, 2, 4)).shape
    opweave.Size([1, 3, 2])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyForwards, Conv2d):
    """A `Conv2d` whose `in_channels` are those of what it is first called with.

    Examples
    --------
    >>> opweave.nn.LazyConv2d(3, 3)(opweave.ones(1, 2, 4, 4)).shape
    opweave.Size([1, 3, 2, 2])
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyForwards, Conv3d):
    """A `Conv3d` whose `in_channels` are those of what it is first called with.

    Examples
    --------
    >>> opweave.nn.LazyConv3d(3, 3)(opweave.ones(1, 2, 4, 4, 4)).shape
    opweave.Size([1, 3, 2, 2, 2])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A `ConvTranspose1d` whose `in_channels` are those of what it is first called with.

    Examples
    --------
    >>> opweave.nn.LazyConvTranspose1d(3, 3)(opweave.ones(1, 2, 4)).shape
    opweave.Size([1, 3, 6])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A `ConvTranspose2d` whose `in_channels` are those of what it is first called with.

    Examples
    --------
    >>> opweave.nn.LazyConvTranspose2d(3, 3)(opweave.ones(1, 2, 4, 4)).shape
    opweave.Size([1, 3, 6, 6])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A `ConvTranspose3d` whose `in_channels` are those of what it is first called with.

    Examples
    --------
    >>> opweave.nn.LazyConvTranspose3d(3, 3)(opweave.ones(1, 2, 4, 4, 4)).shape
    opweave.Size([1, 3, 6, 6, 6])
    """

    cls_to_become = ConvTranspose3d
