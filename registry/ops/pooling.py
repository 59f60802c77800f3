"""Pooling: the maximum or the average over windows of an image, and over windows that make a given size.

The bodies gather the windows at computed places and reduce them, which a compiler fuses to one kernel; the gradient of
an average is such a gather too, so no kernel has to add up in memory. Eager goes through the places of a window
instead, all windows at once. Half types are averaged in float32 and rounded once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.memory_format import MemoryFormat, contiguous_format
from opweave.registry.op import ops
from opweave.registry.ops.copies import format_of, laid_out, rounded, spec_like, widened
from opweave.registry.ops.kinds import CompositeDecl, composite, with_traits
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor, allocate_like, describe

Make = Callable[..., Tensor]
Samples = Iterable[tuple[tuple[Any, ...], dict[str, Any]]]
Sizes = Sequence[int]

FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_INTEGERS = (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)


# ---- where the windows lie -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """The windows along one dimension.

    Attributes
    ----------
    size : int
        Of the input, without padding.
    count : int
        Number of windows.
    kernel, stride, padding, dilation : int
        Of a window.
    """

    size: int
    count: int
    kernel: int
    stride: int
    padding: int
    dilation: int

    @property
    def padded(self) -> int:
        """What the windows reach, from the start of the padding on."""
        return max((self.count - 1) * self.stride + (self.kernel - 1) * self.dilation + 1, self.size + self.padding)

    def taken(self, tap: int) -> slice:
        """The elements of a padded array that a place of all windows has."""
        start = tap * self.dilation
        return slice(start, start + (self.count - 1) * self.stride + 1, self.stride)

    def divisors(self, xp: Any, include_padding: bool) -> Any:
        """How many elements each window has; those beyond the padding never count."""
        start = xp.arange(self.count) * self.stride - self.padding
        stop = xp.minimum(start + self.kernel, self.size + self.padding)
        if not include_padding:
            start, stop = xp.maximum(start, 0), xp.minimum(stop, self.size)
        return stop - start


def numbers_of(op: str, name: str, values: Sequence[int], count: int) -> tuple[int, ...]:
    if len(values) not in (1, count):
        raise ShapeError(f"{op}: {name} must be one number or {count}", got=f"{name}={list(values)}")
    return tuple(values) * (count if len(values) == 1 else 1)


def _axes(
    op: str, self: Tensor, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool,
    spatial: int,
) -> list[Axis]:  # fmt: skip
    """The windows along each dimension, after checking the arguments."""
    kernel = numbers_of(op, "kernel_size", kernel_size, spatial)
    step = numbers_of(op, "stride", stride, spatial) if stride else kernel
    pad, dilations = numbers_of(op, "padding", padding, spatial), numbers_of(op, "dilation", dilation, spatial)
    given = f"kernel_size={list(kernel)}, stride={list(step)}, padding={list(pad)}, dilation={list(dilations)}"
    if min(kernel) < 1 or min(step) < 1 or min(dilations) < 1:
        raise ShapeError(f"{op}: kernel_size, stride and dilation must be positive", got=given)
    if any(p < 0 or 2 * p > k for p, k in zip(pad, kernel, strict=True)):
        raise ShapeError(f"{op}: padding must be between 0 and half of kernel_size", got=given)
    check_image(op, self, spatial, empty_channels=False)
    found = []
    for size, k, s, p, d in zip(self._sizes[-spatial:], kernel, step, pad, dilations, strict=True):
        room = size + 2 * p - d * (k - 1) - 1
        count = (room + s - 1 if ceil_mode else room) // s + 1
        # The last window has to start inside the input or its left padding.
        if ceil_mode and (count - 1) * s >= size + p:
            count = count - 1
        if count < 1:
            raise ShapeError(f"{op}: a window is larger than the padded input", got=f"{describe(self)}, {given}")
        found.append(Axis(size, count, k, s, p, d))
    return found


def check_image(op: str, self: Tensor, spatial: int, empty_channels: bool) -> None:
    """Whether the tensor is (channels, *sizes) or (batch, channels, *sizes); the batch may be empty."""
    if self.ndim not in (spatial + 1, spatial + 2):
        raise ShapeError(
            f"{op}: expected (channels, ...) or (batch, channels, ...) with {spatial} spatial dimensions",
            got=describe(self),
        )
    first = self.ndim - spatial - (0 if empty_channels else 1)
    if any(size == 0 for size in self._sizes[first:]):
        raise ShapeError(f"{op}: only the batch may be empty", got=describe(self))


def check_type(op: str, self: Tensor, types: Sequence[DType]) -> None:
    if self._dtype not in types:
        raise DTypeError(f"{op}: not defined for {self._dtype.name}", got=describe(self), hint="convert first")


def check_gradient(op: str, grad: Tensor, self: Tensor, sizes: Sizes) -> None:
    if grad._dtype is not self._dtype:
        raise DTypeError(f"{op}: the gradient must have the input's type", got=describe([grad, self]))
    if grad._sizes != tuple(sizes):
        raise ShapeError(f"{op}: the gradient must have shape {list(sizes)}", got=describe([grad, self]))


# ---- windows as tensors --------------------------------------------------------------------------------------------


def counted(count: int, self: Tensor) -> Tensor:
    return ops.aten.arange.default(count, dtype=dtypes.int64, device=self._device)


def line_along(values: Tensor, axis: int, spatial: int) -> Tensor:
    """A vector over the windows of one dimension, to be broadcast with all windows."""
    return ops.aten.view.default(values, [-1 if d == axis else 1 for d in range(spatial)])


def grid_along(places: Tensor, axis: int, spatial: int) -> Tensor:
    """Places (windows, elements) of one dimension, to be broadcast over (*windows, *elements) of all."""
    shape = [places._sizes[d // spatial] if d % spatial == axis else 1 for d in range(2 * spatial)]
    return ops.aten.view.default(places, shape)


def all_of(conditions: Sequence[Tensor]) -> Tensor:
    found = conditions[0]
    for condition in conditions[1:]:
        found = ops.aten.logical_and.default(found, condition)
    return found


def gathered_at(self: Tensor, places: Sequence[Tensor], valid: Tensor | None, fill: float) -> Tensor:
    """The elements at places of the last dimensions, `fill` where a place is not valid."""
    aten = ops.aten
    spatial = len(places)
    sizes = self._sizes[-spatial:]
    if valid is not None:
        places = [aten.clamp.default(at, 0, size - 1) for at, size in zip(places, sizes, strict=True)]
    found = aten.index.Tensor(self, [*[None] * (self.ndim - spatial), *places])
    return found if valid is None else aten.where(valid, found, fill)


def _window_places(axes: Sequence[Axis], self: Tensor) -> list[Tensor]:
    """For each dimension the places that the windows have."""
    aten = ops.aten
    found = []
    for number, axis in enumerate(axes):
        start = aten.sub.Tensor(aten.mul.Tensor(counted(axis.count, self), axis.stride), axis.padding)
        offsets = aten.mul.Tensor(counted(axis.kernel, self), axis.dilation)
        places = aten.add.Tensor(aten.unsqueeze.default(start, 1), offsets)
        found.append(grid_along(places, number, len(axes)))
    return found


def _inside(places: Sequence[Tensor], sizes: Sizes) -> Tensor:
    aten = ops.aten
    return all_of([c for at, n in zip(places, sizes, strict=True) for c in (aten.ge(at, 0), aten.lt(at, n))])


def element_axes(spatial: int) -> list[int]:
    return list(range(-spatial, 0))


def _reaches_out(axes: Sequence[Axis], ceil_mode: bool) -> bool:
    return ceil_mode or any(axis.padding for axis in axes)


# ---- windows in eager ----------------------------------------------------------------------------------------------


def _padded(xp: Any, axes: Sequence[Axis], array: Any, fill: Any) -> Any:
    """The array with padding, as far as the windows reach."""
    lead = array.shape[: array.ndim - len(axes)]
    sizes = tuple(axis.padding + axis.padded for axis in axes)
    if sizes == array.shape[len(lead) :]:
        return array
    padded = xp.full((*lead, *sizes), fill, array.dtype)
    padded[_within(axes)] = array
    return padded


def _within(axes: Sequence[Axis]) -> tuple[Any, ...]:
    return (..., *(slice(axis.padding, axis.padding + axis.size) for axis in axes))


def _taps(axes: Sequence[Axis]) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
    """(place in the windows, index of a padded array's elements that have it), the last dimension fastest."""
    for tap in itertools.product(*(range(axis.kernel) for axis in axes)):
        yield tap, (..., *(axis.taken(t) for axis, t in zip(axes, tap, strict=True)))


def computed(self: Tensor) -> Any:
    compute = self._dtype.compute
    return self._array if compute is self._dtype else self._array.astype(compute.numpy)


def stored(sizes: Sizes, dtype: DType, like: Tensor, values: Any, memory_format: MemoryFormat) -> Tensor:
    out = allocate_like(spec_like(like, sizes, memory_format, dtype))
    with np.errstate(all="ignore"):
        out._array[...] = values
    return out


def format_of_images(spatial: int) -> Callable[[Tensor], MemoryFormat]:
    """Images may lie with their channels innermost; what PyTorch averages of volumes is always row-major."""
    return format_of if spatial == 2 else lambda _: contiguous_format


def outer_product(xp: Any, vectors: Sequence[Any]) -> Any:
    """The outer product of vectors."""
    total = vectors[0]
    for vector in vectors[1:]:
        total = xp.multiply.outer(total, vector)
    return total


# ---- maximum -------------------------------------------------------------------------------------------------------


def lowest(dtype: DType) -> Any:
    return int(np.iinfo(dtype.numpy).min) if dtype.kind in "iu" else -math.inf


def _declare_max(spatial: int) -> tuple[CompositeDecl, CompositeDecl, CompositeDecl]:
    name = f"max_pool{spatial}d_with_indices"
    ints = f"int[{spatial}]"

    def geometry(
        self: Tensor, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool, op: str
    ) -> tuple[list[Axis], tuple[int, ...]]:
        """(windows, sizes of the result)."""
        axes = _axes(op, self, kernel_size, stride, padding, dilation, ceil_mode, spatial)
        return axes, (*self._sizes[:-spatial], *(axis.count for axis in axes))

    def kernel(
        self: Tensor, kernel_size: Sizes, stride: Sizes = (), padding: Sizes = (0,), dilation: Sizes = (1,),
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        axes, sizes = geometry(self, kernel_size, stride, padding, dilation, ceil_mode, name)
        check_type(name, self, (*FLOATING, *_INTEGERS))
        xp = self._device.xp
        source = _padded(xp, axes, computed(self), lowest(self._dtype))
        best = xp.full(sizes, lowest(self._dtype), source.dtype)
        index = xp.zeros(sizes, np.int64)
        starts = [xp.arange(axis.count) * axis.stride - axis.padding for axis in axes]
        # Where nothing exceeds the least value, it is the first place that is not in the left padding.
        skipped = [
            (axis.dilation - 1 - xp.minimum(s, 0)) // axis.dilation for axis, s in zip(axes, starts, strict=True)
        ]
        index[...] = _flat(xp, axes, [s + k * a.dilation for s, k, a in zip(starts, skipped, axes, strict=True)])
        for tap, taken in _taps(axes):
            value = source[taken]
            better = value > best
            if self._dtype.kind == "f":
                better |= xp.isnan(value)
            xp.copyto(best, value, where=better)
            place = _flat(xp, axes, [s + t * a.dilation for s, t, a in zip(starts, tap, axes, strict=True)])
            xp.copyto(index, xp.broadcast_to(place, sizes), where=better)
        layout = format_of(self)
        return stored(sizes, self._dtype, self, best, layout), stored(sizes, dtypes.int64, self, index, layout)

    @composite(
        f"aten::{name}(Tensor self, {ints} kernel_size, {ints} stride=[], {ints} padding=0, {ints} dilation=1,"
        " bool ceil_mode=False) -> (Tensor, Tensor)",
        explicit=True, kernel=kernel, outs=("out", "out", "indices")
    )  # fmt: skip
    def max_pool(
        self: Tensor, kernel_size: Sizes, stride: Sizes = (), padding: Sizes = (0,), dilation: Sizes = (1,),
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """The largest element of each window and its place in the flattened image: the first, or the last NaN."""
        axes, _ = geometry(self, kernel_size, stride, padding, dilation, ceil_mode, name)
        check_type(name, self, (*FLOATING, *_INTEGERS))
        aten, layout = ops.aten, format_of(self)
        source = laid_out(self, layout)
        image = source._sizes[-spatial:]
        places = _window_places(axes, source)
        outside = _reaches_out(axes, ceil_mode)
        valid = _inside(places, image) if outside else None
        windows = gathered_at(source, places, valid, lowest(self._dtype))
        best = aten.amax.default(windows, element_axes(spatial), True)
        flat = places[0]
        for at, size in zip(places[1:], image[1:], strict=True):
            flat = aten.add.Tensor(aten.mul.Tensor(flat, size), at)
        chosen = aten.eq(windows, best)
        if outside:
            chosen = aten.logical_and(chosen, all_of([aten.ge(at, 0) for at in places]))
        beyond = np.iinfo(np.int64).max
        index = aten.amin.default(aten.where(chosen, flat, int(beyond)), element_axes(spatial))
        if self._dtype.kind == "f":
            last = aten.amax.default(aten.where(aten.isnan.default(windows), flat, -1), element_axes(spatial))
            index = aten.where(aten.ge(last, 0), last, index)
        return laid_out(aten.squeeze.dims(best, element_axes(spatial)), layout), laid_out(index, layout)

    @composite(
        f"aten::{name}_backward(Tensor grad_output, Tensor self, {ints} kernel_size, {ints} stride, {ints} padding,"
        f" {ints} dilation, bool ceil_mode, Tensor indices) -> Tensor",
        explicit=True,
        outs="grad_input",
    )
    def max_pool_backward(
        grad_output: Tensor, self: Tensor, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
        ceil_mode: bool, indices: Tensor,
    ) -> Tensor:  # fmt: skip
        """The gradient added up at the places that the forward op found."""
        op = f"{name}_backward"
        _, sizes = geometry(self, kernel_size, stride, padding, dilation, ceil_mode, op)
        check_type(op, self, FLOATING)
        check_gradient(op, grad_output, self, sizes)
        if indices._dtype is not dtypes.int64 or indices._sizes != sizes:
            raise (DTypeError if indices._sizes == sizes else ShapeError)(
                f"{op}: indices must be int64 of shape {list(sizes)}", got=describe(indices)
            )
        aten = ops.aten
        lead, image = self._sizes[:-spatial], self._sizes[-spatial:]
        rows, places = math.prod(lead), math.prod(sizes[len(lead) :])
        empty = aten.new_zeros.default(self, [rows, math.prod(image)], dtype=self._dtype.compute)
        at = aten.reshape.default(indices, [rows, places])
        values = aten.reshape.default(widened(grad_output), [rows, places])
        total = aten.scatter_add.default(empty, 1, at, values)
        return laid_out(rounded(aten.view.default(total, list(self._sizes)), self._dtype), format_of(self))

    def gradient(
        grad: Tensor, self: Tensor, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
        ceil_mode: bool, result1: Tensor,
    ) -> Tensor:  # fmt: skip
        return max_pool_backward.op(grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1)

    max_pool.backward(differentiable=(0,), self=gradient)

    @composite(
        f"aten::max_pool{spatial}d(Tensor self, {ints} kernel_size, {ints} stride=[], {ints} padding=0,"
        f" {ints} dilation=1, bool ceil_mode=False) -> Tensor"
    )
    def plain(
        self: Tensor, kernel_size: Sizes, stride: Sizes = (), padding: Sizes = (0,), dilation: Sizes = (1,),
        ceil_mode: bool = False,
    ) -> Tensor:  # fmt: skip
        return max_pool.op(self, kernel_size, stride, padding, dilation, ceil_mode)[0]

    return max_pool, max_pool_backward, plain


def _flat(xp: Any, axes: Sequence[Axis], places: Sequence[Any]) -> Any:
    """Places in the flattened image, from those along each dimension."""
    total = places[0]
    for axis, at in zip(axes[1:], places[1:], strict=True):
        total = total[..., None] * axis.size + at
    return total


max_pool2d_with_indices, max_pool2d_with_indices_backward, max_pool2d = _declare_max(2)
max_pool3d_with_indices, max_pool3d_with_indices_backward, max_pool3d = _declare_max(3)
with_traits(max_pool3d, autocast={"cpu": "fp32"})


# ---- average -------------------------------------------------------------------------------------------------------


def _declare_average(spatial: int) -> tuple[CompositeDecl, CompositeDecl]:
    name = f"avg_pool{spatial}d"
    format_for = format_of_images(spatial)
    ints = f"int[{spatial}]"
    types = (*FLOATING, dtypes.int64)

    def geometry(
        op: str, self: Tensor, kernel_size: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool,
        divisor_override: int | None,
    ) -> tuple[list[Axis], tuple[int, ...]]:  # fmt: skip
        """(windows, sizes of the result)."""
        check_type(op, self, types)
        if divisor_override == 0:
            raise ShapeError(f"{op}: divisor_override must not be 0")
        axes = _axes(op, self, kernel_size, stride, padding, (1,), ceil_mode, spatial)
        return axes, (*self._sizes[:-spatial], *(axis.count for axis in axes))

    def divisors(xp: Any, axes: Sequence[Axis], include: bool, override: int | None) -> Any:
        if override is not None:
            return override
        return outer_product(xp, [axis.divisors(xp, include) for axis in axes])

    def divided(xp: Any, total: Any, by: Any) -> Any:
        if total.dtype.kind == "i":  # rounded towards zero, as C does
            return xp.sign(total) * xp.sign(by) * (abs(total) // abs(by))
        return total / xp.asarray(by, total.dtype)

    def kernel(
        self: Tensor, kernel_size: Sizes, stride: Sizes = (), padding: Sizes = (0,), ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Tensor:  # fmt: skip
        axes, sizes = geometry(name, self, kernel_size, stride, padding, ceil_mode, divisor_override)
        xp = self._device.xp
        source = _padded(xp, axes, computed(self), 0)
        total = xp.zeros(sizes, source.dtype)
        with np.errstate(all="ignore"):
            for _, taken in _taps(axes):
                total += source[taken]
            found = divided(xp, total, divisors(xp, axes, count_include_pad, divisor_override))
        return stored(sizes, self._dtype, self, found, format_for(self))

    def quotient(total: Tensor, axes: Sequence[Axis], include: bool, override: int | None) -> Tensor:
        """The sums divided by the number of elements of each window."""
        aten = ops.aten
        by: Any = override
        if (
            override is None
            and (include or not any(a.padding for a in axes))
            and all(
                not isinstance(a.size, Symbolic) and (a.count - 1) * a.stride + a.kernel <= a.size + 2 * a.padding
                for a in axes
            )
        ):
            by = math.prod(axis.kernel for axis in axes)
        if by is None:
            for number, axis in enumerate(axes):
                start = aten.sub.Tensor(aten.mul.Tensor(counted(axis.count, total), axis.stride), axis.padding)
                stop = aten.clamp.default(aten.add.Tensor(start, axis.kernel), None, axis.size + axis.padding)
                if not include:
                    start = aten.clamp.default(start, 0, None)
                    stop = aten.clamp.default(stop, None, axis.size)
                line = line_along(aten.sub.Tensor(stop, start), number, spatial)
                by = line if by is None else aten.mul.Tensor(by, line)
        if total._dtype.kind == "i":
            return aten.div.Tensor_mode(total, by, rounding_mode="trunc")
        return aten.div.Tensor(total, by)

    @composite(
        f"aten::{name}(Tensor self, {ints} kernel_size, {ints} stride=[], {ints} padding=0, bool ceil_mode=False,"
        " bool count_include_pad=True, int? divisor_override=None) -> Tensor",
        explicit=True, kernel=kernel, outs="out"
    )  # fmt: skip
    def average(
        self: Tensor, kernel_size: Sizes, stride: Sizes = (), padding: Sizes = (0,), ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Tensor:  # fmt: skip
        """The mean of each window."""
        axes, _ = geometry(name, self, kernel_size, stride, padding, ceil_mode, divisor_override)
        aten = ops.aten
        source = widened(laid_out(self, format_for(self)))
        places = _window_places(axes, source)
        valid = _inside(places, source._sizes[-spatial:]) if _reaches_out(axes, ceil_mode) else None
        total = aten.sum.dim_IntList(gathered_at(source, places, valid, 0), element_axes(spatial))
        found = rounded(quotient(total, axes, count_include_pad, divisor_override), self._dtype)
        return laid_out(found, format_for(self))

    def backward_kernel(
        grad_output: Tensor, self: Tensor, kernel_size: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool,
        count_include_pad: bool, divisor_override: int | None,
    ) -> Tensor:  # fmt: skip
        op = f"{name}_backward"
        axes, sizes = geometry(op, self, kernel_size, stride, padding, ceil_mode, divisor_override)
        check_gradient(op, grad_output, self, sizes)
        xp = self._device.xp
        grad = computed(grad_output)
        total = xp.zeros((*sizes[:-spatial], *(axis.padding + axis.padded for axis in axes)), grad.dtype)
        with np.errstate(all="ignore"):
            part = divided(xp, grad, divisors(xp, axes, count_include_pad, divisor_override))
            for _, taken in _taps(axes):
                total[taken] += part
        return stored(self._sizes, self._dtype, self, total[_within(axes)], format_for(self))

    @composite(
        f"aten::{name}_backward(Tensor grad_output, Tensor self, {ints} kernel_size, {ints} stride, {ints} padding,"
        " bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
        explicit=True, kernel=backward_kernel, outs="grad_input"
    )  # fmt: skip
    def average_backward(
        grad_output: Tensor, self: Tensor, kernel_size: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool,
        count_include_pad: bool, divisor_override: int | None,
    ) -> Tensor:  # fmt: skip
        """For each element of the input the sum over the windows that have it."""
        op = f"{name}_backward"
        axes, sizes = geometry(op, self, kernel_size, stride, padding, ceil_mode, divisor_override)
        check_gradient(op, grad_output, self, sizes)
        aten = ops.aten
        grad = widened(laid_out(grad_output, format_for(self)))
        part = quotient(grad, axes, count_include_pad, divisor_override)
        places, conditions = [], []
        for number, axis in enumerate(axes):
            most = (axis.kernel - 1) // axis.stride + 1
            at = aten.unsqueeze.default(aten.add.Tensor(counted(axis.size, grad), axis.padding), 1)
            last = aten.floor_divide.default(at, axis.stride)
            window = aten.add.Tensor(last, aten.sub.Tensor(counted(most, grad), most - 1))
            within = aten.lt(aten.sub.Tensor(at, aten.mul.Tensor(window, axis.stride)), axis.kernel)
            valid = all_of([within, aten.ge(window, 0), aten.lt(window, axis.count)])
            places.append(grid_along(window, number, spatial))
            conditions.append(grid_along(valid, number, spatial))
        gathered = gathered_at(part, places, all_of(conditions), 0)
        found = rounded(aten.sum.dim_IntList(gathered, element_axes(spatial)), self._dtype)
        return laid_out(found, format_for(self))

    def gradient(
        grad: Tensor, self: Tensor, kernel_size: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool,
        count_include_pad: bool, divisor_override: int | None,
    ) -> Tensor:  # fmt: skip
        options = kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        return average_backward.op(grad, self, *options)

    def second(
        grad: Tensor, kernel_size: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool, count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor:  # fmt: skip
        return average.op(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    average.backward(self=gradient)
    average_backward.backward(grad_output=second)
    return average, average_backward


avg_pool2d, avg_pool2d_backward = _declare_average(2)
avg_pool3d, avg_pool3d_backward = _declare_average(3)
with_traits(avg_pool3d, autocast={"cpu": "fp32"})


@composite(
    "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool ceil_mode=False,"
    " bool count_include_pad=True) -> Tensor",
    outs="out",
)
def avg_pool1d(
    self: Tensor, kernel_size: Sizes, stride: Sizes = (), padding: Sizes = (0,), ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The mean of each window of a line."""
    kernel = numbers_of("avg_pool1d", "kernel_size", kernel_size, 1)
    step = numbers_of("avg_pool1d", "stride", stride, 1) if stride else kernel
    pad = numbers_of("avg_pool1d", "padding", padding, 1)
    check_image("avg_pool1d", self, 1, empty_channels=False)
    aten = ops.aten
    image = aten.unsqueeze.default(self, -2)
    found = aten.avg_pool2d.default(image, [1, *kernel], [1, *step], [0, *pad], ceil_mode, count_include_pad)
    return aten.squeeze.dim(found, -2)


# ---- samples -------------------------------------------------------------------------------------------------------


def _turned(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, 0, -1)


def image_samples(make: Make, spatial: int) -> Iterable[Tensor]:
    sizes = (7, 5, 4)[:spatial]
    yield make(2, 3, *sizes)
    yield make(3, *sizes)
    yield _turned(make(sizes[-1], 3, *sizes[:-1], 2))


def _options(spatial: int) -> Iterable[tuple[list[int], list[int], list[int], bool]]:
    """(kernel_size, stride, padding, ceil_mode)."""
    yield [2] * spatial, [2] * spatial, [0] * spatial, False
    yield [3, 2, 2][:spatial], [2, 1, 1][:spatial], [1, 1, 0][:spatial], False
    yield [3, 3, 2][:spatial], [2, 2, 2][:spatial], [1, 0, 1][:spatial], True
    yield [2, 3, 1][:spatial], [], [0], True


def _pairs(make: Make, spatial: int) -> Iterable[tuple[Tensor, tuple[list[int], list[int], list[int], bool]]]:
    """Every image and every way to lay windows, each at least once."""
    images = list(image_samples(make, spatial))
    for number, options in enumerate(_options(spatial)):
        yield images[number % len(images)], options


def _sample_max(decl: CompositeDecl, spatial: int) -> None:
    @decl.with_samples
    def _(make: Make) -> Samples:
        for x, options in _pairs(make, spatial):
            *rest, ceil_mode = options
            yield (x, *rest, [1], ceil_mode), {}
        yield (make(2, *(8, 7, 6)[:spatial]), [2] * spatial, [1], [1], [2]), {}
        yield (make(0, 2, *(6, 5, 4)[:spatial]), [2] * spatial), {}


for _spatial, _decls in (
    (2, (max_pool2d_with_indices, max_pool2d)),
    (3, (max_pool3d_with_indices, max_pool3d)),
):
    for _decl in _decls:
        _sample_max(_decl, _spatial)
        _decl.sample_dtypes = (*FLOATING, dtypes.int64, dtypes.uint8)


def _sample_max_backward(decl: CompositeDecl, forward: CompositeDecl, spatial: int) -> None:
    @decl.with_samples
    def _(make: Make) -> Samples:
        for x, (kernel, stride, padding, ceil_mode) in _pairs(make, spatial):
            options = kernel, stride, padding, [1], ceil_mode
            best, index = forward.op(x, *options)
            yield (make(*best._sizes), x, *options, index), {}


def _sample_average(decl: CompositeDecl, spatial: int) -> None:
    @decl.with_samples
    def _(make: Make) -> Samples:
        for x, options in _pairs(make, spatial):
            yield (x, *options), {}
            yield (x, *options, False), {}
        yield (make(2, 3, *(6, 5, 4)[:spatial]), [2] * spatial, [2], [1], False, True, 3), {}
        yield (make(0, 3, *(6, 5, 4)[:spatial]), [2] * spatial), {}


def _sample_average_backward(decl: CompositeDecl, forward: CompositeDecl, spatial: int) -> None:
    @decl.with_samples
    def _(make: Make) -> Samples:
        rest = itertools.cycle(((True, None), (False, None), (True, 3)))
        for (x, options), (include, divisor) in zip(_pairs(make, spatial), rest):  # noqa: B905  # the second has no end
            sizes = forward.op(x, *options)._sizes
            yield (make(*sizes), x, *options, include, divisor), {}


_sample_max_backward(max_pool2d_with_indices_backward, max_pool2d_with_indices, 2)
_sample_max_backward(max_pool3d_with_indices_backward, max_pool3d_with_indices, 3)
_sample_average(avg_pool2d, 2)
_sample_average(avg_pool3d, 3)
_sample_average_backward(avg_pool2d_backward, avg_pool2d, 2)
_sample_average_backward(avg_pool3d_backward, avg_pool3d, 3)


@avg_pool1d.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3, 7), [2]), {}
    yield (make(3, 7), [3], [2], [1], True, False), {}


for _decl in (
    max_pool2d_with_indices_backward, max_pool3d_with_indices_backward, avg_pool2d, avg_pool3d, avg_pool2d_backward,
    avg_pool3d_backward, avg_pool1d,
):  # fmt: skip
    _decl.sample_dtypes = FLOATING
for _decl in (avg_pool2d, avg_pool3d):
    _decl.sample_dtypes = (*FLOATING, dtypes.int64)
