"""Convolutions, pooling and windows, under the names of `torch.nn.functional`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opweave.registry.errors import ShapeError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor, describe

_ = _surface  # declares the ops
aten = ops.aten


def _each(value: int | Sequence[int], count: int) -> list[int]:
    """A number for each spatial dimension."""
    return list(value) if isinstance(value, (list, tuple)) else [value] * count  # type: ignore[list-item]


def _conv(op: Any, padding: str | int | Sequence[int], *arguments: Any) -> Tensor:
    input, weight, bias, stride, dilation, groups = arguments
    overload = op.padding if isinstance(padding, str) else op.default
    return overload(input, weight, bias, stride, padding, dilation, groups)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (batch, channels, length) with filters (out, channels / groups, kernel).

    Examples
    --------
    >>> opweave.nn.functional.conv1d(opweave.tensor([[[1.0, 2.0, 4.0]]]), opweave.tensor([[[-1.0, 1.0]]]))
    tensor([[[1., 2.]]])
    """
    return _conv(ops.aten.conv1d, padding, input, weight, bias, stride, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (batch, channels, height, width) with filters (out, channels / groups, *kernel).

    Examples
    --------
    >>> opweave.nn.functional.conv2d(opweave.ones(1, 1, 3, 3), opweave.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return _conv(ops.aten.conv2d, padding, input, weight, bias, stride, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation of (batch, channels, depth, height, width) with filters (out, channels / groups, *kernel).

    Examples
    --------
    >>> opweave.nn.functional.conv3d(opweave.ones(1, 1, 3, 3, 3), opweave.ones(2, 1, 2, 2, 2)).shape
    opweave.Size([1, 2, 2, 2, 2])
    """
    return _conv(ops.aten.conv3d, padding, input, weight, bias, stride, dilation, groups)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Cross-correlation of (length, batch, channels) with filters (kernel, channels, out).

    Examples
    --------
    >>> x, w = opweave.tensor([1.0, 2.0, 4.0]).view(3, 1, 1), opweave.tensor([-1.0, 1.0]).view(2, 1, 1)
    >>> opweave.nn.functional.conv_tbc(x, w, opweave.zeros(1)).flatten()
    tensor([1., 2.])
    """
    if input.ndim != 3 or weight.ndim != 3 or bias.ndim != 1:
        raise ShapeError(
            "conv_tbc: expected input and weight of 3 dimensions, bias of 1", got=describe([input, weight, bias])
        )
    lines, filters = aten.permute.default(input, [1, 2, 0]), aten.permute.default(weight, [2, 1, 0])
    return aten.permute.default(conv1d(lines, filters, bias, padding=pad), [2, 0, 1])


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """The adjoint of `conv1d`; the weight is (channels, out / groups, kernel).

    Examples
    --------
    >>> opweave.nn.functional.conv_transpose1d(opweave.tensor([[[1.0, 2.0]]]), opweave.tensor([[[1.0, 1.0]]]))
    tensor([[[1., 3., 2.]]])
    """
    op = ops.aten.conv_transpose1d.default
    return op(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """The adjoint of `conv2d`; the weight is (channels, out / groups, *kernel).

    Examples
    --------
    >>> opweave.nn.functional.conv_transpose2d(opweave.ones(1, 1, 2, 2), opweave.ones(1, 1, 2, 2))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    op = ops.aten.conv_transpose2d.input
    return op(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """The adjoint of `conv3d`; the weight is (channels, out / groups, *kernel).

    Examples
    --------
    >>> opweave.nn.functional.conv_transpose3d(opweave.ones(1, 1, 2, 2, 2), opweave.ones(1, 1, 2, 2, 2)).shape
    opweave.Size([1, 1, 3, 3, 3])
    """
    op = ops.aten.conv_transpose3d.input
    return op(input, weight, bias, stride, padding, output_padding, groups, dilation)


def max_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of a line; with `return_indices` its place too.

    Examples
    --------
    >>> opweave.nn.functional.max_pool1d(opweave.tensor([[[1.0, 2.0, 3.0, 4.0]]]), 2)
    tensor([[[2., 4.]]])
    """
    if input.ndim not in (2, 3):
        raise ShapeError("max_pool1d: expected (batch, channels, length) or (channels, length)", got=describe(input))
    kernel, pad, gap = (_line(n) for n in (kernel_size, padding, dilation))
    step = kernel if stride is None else _line(stride)
    found = ops.aten.max_pool2d_with_indices.default(
        aten.unsqueeze.default(input, -2), [1, kernel], [1, step], [0, pad], [1, gap], ceil_mode
    )
    values, places = (aten.squeeze.dim(t, -2) for t in found)
    return (values, places) if return_indices else values


def _line(value: int | Sequence[int]) -> int:
    return value[0] if isinstance(value, (list, tuple)) else value  # type: ignore[return-value]


def max_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window; with `return_indices` its place in the flattened image too.

    Examples
    --------
    >>> opweave.nn.functional.max_pool2d(opweave.arange(4.0).view(1, 1, 2, 2), 2)
    tensor([[[[3.]]]])
    """
    options = kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode
    if return_indices:
        return ops.aten.max_pool2d_with_indices.default(input, *options)
    return ops.aten.max_pool2d.default(input, *options)


def max_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window; with `return_indices` its place in the flattened image too.

    Examples
    --------
    >>> opweave.nn.functional.max_pool3d(opweave.ones(1, 1, 4, 4, 4), 2).shape
    opweave.Size([1, 1, 2, 2, 2])
    """
    options = kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode
    if return_indices:
        return ops.aten.max_pool3d_with_indices.default(input, *options)
    return ops.aten.max_pool3d.default(input, *options)


def avg_pool1d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of a line.

    Examples
    --------
    >>> opweave.nn.functional.avg_pool1d(opweave.tensor([[[1.0, 2.0, 3.0, 4.0]]]), 2)
    tensor([[[1.5000, 3.5000]]])
    """
    step = [] if stride is None else stride
    return ops.aten.avg_pool1d.default(input, kernel_size, step, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window, or its sum over `divisor_override`.

    Examples
    --------
    >>> opweave.nn.functional.avg_pool2d(opweave.arange(4.0).view(1, 1, 2, 2), 2)
    tensor([[[[1.5000]]]])
    """
    step = [] if stride is None else stride
    options = padding, ceil_mode, count_include_pad, divisor_override
    return ops.aten.avg_pool2d.default(input, kernel_size, step, *options)


def avg_pool3d(
    input: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window, or its sum over `divisor_override`.

    Examples
    --------
    >>> opweave.nn.functional.avg_pool3d(opweave.ones(1, 1, 4, 4, 4), 2).shape
    opweave.Size([1, 1, 2, 2, 2])
    """
    step = [] if stride is None else stride
    options = padding, ceil_mode, count_include_pad, divisor_override
    return ops.aten.avg_pool3d.default(input, kernel_size, step, *options)


def _sizes_of(input: Tensor, output_size: Any, count: int) -> list[int]:
    """An output size for each spatial dimension; None keeps the input's."""
    given = output_size if isinstance(output_size, (list, tuple)) else [output_size] * count
    return [input.shape[d - count] if n is None else n for d, n in enumerate(given)]


def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int]) -> Tensor:
    """The means over windows that cover a line evenly.

    Examples
    --------
    >>> opweave.nn.functional.adaptive_avg_pool1d(opweave.tensor([[[1.0, 2.0, 3.0, 4.0]]]), 2)
    tensor([[[1.5000, 3.5000]]])
    """
    return ops.aten.adaptive_avg_pool1d.default(input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means over windows that cover an image evenly; None keeps the input's size.

    Examples
    --------
    >>> opweave.nn.functional.adaptive_avg_pool2d(opweave.ones(1, 1, 4, 4), 2).shape
    opweave.Size([1, 1, 2, 2])
    """
    return ops.aten.adaptive_avg_pool2d.default(input, _sizes_of(input, output_size, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means over windows that cover a volume evenly; None keeps the input's size.

    Examples
    --------
    >>> opweave.nn.functional.adaptive_avg_pool3d(opweave.ones(1, 1, 4, 4, 4), 2).shape
    opweave.Size([1, 1, 2, 2, 2])
    """
    return ops.aten.adaptive_avg_pool3d.default(input, _sizes_of(input, output_size, 3))


def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int], return_indices: bool = False) -> Any:
    """The maxima over windows that cover a line evenly; with `return_indices` their places too.

    Examples
    --------
    >>> opweave.nn.functional.adaptive_max_pool1d(opweave.tensor([[[1.0, 2.0, 3.0, 4.0]]]), 2)
    tensor([[[2., 4.]]])
    """
    found = ops.aten.adaptive_max_pool1d.default(input, output_size)
    return found if return_indices else found[0]


def adaptive_max_pool2d(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Any:
    """The maxima over windows that cover an image evenly; with `return_indices` their places in it too.

    Examples
    --------
    >>> opweave.nn.functional.adaptive_max_pool2d(opweave.ones(1, 1, 4, 4), 2).shape
    opweave.Size([1, 1, 2, 2])
    """
    found = ops.aten.adaptive_max_pool2d.default(input, _sizes_of(input, output_size, 2))
    return found if return_indices else found[0]


def adaptive_max_pool3d(
    input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Any:
    """The maxima over windows that cover a volume evenly; with `return_indices` their places in it too.

    Examples
    --------
    >>> opweave.nn.functional.adaptive_max_pool3d(opweave.ones(1, 1, 4, 4, 4), 2).shape
    opweave.Size([1, 1, 2, 2, 2])
    """
    found = ops.aten.adaptive_max_pool3d.default(input, _sizes_of(input, output_size, 3))
    return found if return_indices else found[0]


def _unpooled_sizes(op: str, input: Tensor, count: int, windows: Sequence[Any], output_size: Any) -> list[Any]:
    """(output sizes, strides, paddings) of the inverse of a pooling."""
    kernel, stride, padding = (_each(n, count) for n in windows)
    if not count + 1 <= input.ndim <= count + 2:
        raise ShapeError(f"{op}: expected (batch, channels, ...) or (channels, ...)", got=describe(input))
    usual = [(n - 1) * s - 2 * p + k for n, k, s, p in zip(input._sizes[-count:], kernel, stride, padding, strict=True)]
    if output_size is None:
        return [usual, stride, padding]
    wanted = list(output_size)[-count:]
    if len(output_size) not in (count, count + 2):
        raise ShapeError(f"{op}: output_size needs {count} sizes", got=f"output_size={list(output_size)}")
    if any(not n - s < w < n + s for w, n, s in zip(wanted, usual, stride, strict=True)):
        raise ShapeError(
            f"{op}: no pooling with these windows leads from there to here",
            got=f"output_size={wanted}",
            hint=f"less than a stride from {usual}",
        )
    return [wanted, stride, padding]


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """A line of zeros with the elements where `max_pool1d` found them.

    Examples
    --------
    >>> opweave.nn.functional.max_unpool1d(opweave.tensor([[[5.0]]]), opweave.tensor([[[1]]]), 2)
    tensor([[[0., 5.]]])
    """
    windows = kernel_size, stride or kernel_size, padding
    (size,), _, _ = _unpooled_sizes("max_unpool1d", input, 1, windows, output_size)
    found = ops.aten.max_unpool2d.default(
        aten.unsqueeze.default(input, -1), aten.unsqueeze.default(indices, -1), [size, 1]
    )
    return aten.squeeze.dim(found, -1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """An image of zeros with the elements where `max_pool2d` found them.

    Examples
    --------
    >>> opweave.nn.functional.max_unpool2d(opweave.tensor([[[[5.0]]]]), opweave.tensor([[[[3]]]]), 2)
    tensor([[[[0., 0.],
              [0., 5.]]]])
    """
    windows = kernel_size, stride or kernel_size, padding
    sizes, _, _ = _unpooled_sizes("max_unpool2d", input, 2, windows, output_size)
    return ops.aten.max_unpool2d.default(input, indices, sizes)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """A volume of zeros with the elements where `max_pool3d` found them.

    Examples
    --------
    >>> x = opweave.ones(1, 1, 1, 1, 1)
    >>> opweave.nn.functional.max_unpool3d(x, x.long(), 2).shape
    opweave.Size([1, 1, 2, 2, 2])
    """
    windows = kernel_size, stride or kernel_size, padding
    sizes, strides, paddings = _unpooled_sizes("max_unpool3d", input, 3, windows, output_size)
    return ops.aten.max_unpool3d.default(input, indices, sizes, strides, paddings)


def _power_pool(input: Tensor, norm_type: float, kernel: int, average: Any) -> Tensor:
    """(Σ x^p)^(1/p) of each window, from the mean of x^p."""
    mean = average(aten.pow(input, norm_type))
    total = aten.mul.Tensor(aten.mul.Tensor(aten.sign.default(mean), aten.relu.default(aten.abs.default(mean))), kernel)
    return aten.pow(total, 1.0 / norm_type)


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: int,
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The norm of each window of a line.

    Examples
    --------
    >>> opweave.nn.functional.lp_pool1d(opweave.tensor([[[3.0, 4.0]]]), 2, 2)
    tensor([[[5.]]])
    """
    count = _line(kernel_size)
    return _power_pool(input, norm_type, count, lambda x: avg_pool1d(x, kernel_size, stride, 0, ceil_mode))


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The norm of each window of an image.

    Examples
    --------
    >>> opweave.nn.functional.lp_pool2d(opweave.ones(1, 1, 2, 2), 2, 2)
    tensor([[[[2.]]]])
    """
    count = math.prod(_each(kernel_size, 2))
    return _power_pool(input, norm_type, count, lambda x: avg_pool2d(x, kernel_size, stride, 0, ceil_mode))


def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The norm of each window of a volume.

    Examples
    --------
    >>> opweave.nn.functional.lp_pool3d(opweave.ones(1, 1, 2, 2, 2), 2, 2).shape
    opweave.Size([1, 1, 1, 1, 1])
    """
    count = math.prod(_each(kernel_size, 3))
    return _power_pool(input, norm_type, count, lambda x: avg_pool3d(x, kernel_size, stride, 0, ceil_mode))


def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The windows of an image as columns: (N, C · kernel, windows).

    Examples
    --------
    >>> opweave.nn.functional.unfold(opweave.ones(1, 1, 2, 2), 2).shape
    opweave.Size([1, 4, 1])
    """
    return ops.aten.im2col.default(input, *(_each(n, 2) for n in (kernel_size, dilation, padding, stride)))


def fold(
    input: Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> Tensor:
    """The image that has these windows; where they overlap, their sum.

    Examples
    --------
    >>> opweave.nn.functional.fold(opweave.ones(1, 4, 1), 2, 2)
    tensor([[[[1., 1.],
              [1., 1.]]]])
    """
    given = (output_size, kernel_size, dilation, padding, stride)
    return ops.aten.col2im.default(input, *(_each(n, 2) for n in given))
