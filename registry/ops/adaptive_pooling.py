"""Pooling over windows that cover an image evenly, as many as a wanted size says: their means or their maxima."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.copies import laid_out, rounded, widened
from opweave.registry.ops.gradients import zeros
from opweave.registry.ops.kinds import CompositeDecl, composite, with_traits
from opweave.registry.ops.pool_windows import (
    FLOATING,
    Sizes,
    all_of,
    check_gradient,
    check_image,
    check_type,
    computed,
    counted,
    element_axes,
    format_of_images,
    gathered_at,
    grid_along,
    image_samples,
    line_along,
    numbers_of,
    outer_product,
    stored,
)
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor, describe

# ---- average to a size ---------------------------------------------------------------------------------------------


def _ends(count: int, size: int, steps: Any, divide: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    """(first, behind the last) element of each of `count` windows that cover `size` elements evenly."""
    return divide(steps * size, count), divide((steps + 1) * size + (count - 1), count)


def _longest(count: int, size: int) -> int:
    """An upper bound of the length of a window; the length itself where the sizes are known."""
    if isinstance(count, Symbolic) or isinstance(size, Symbolic):
        return (size + count - 1) // count + 1
    return max(
        (stop - start for start, stop in (_ends(count, size, o, int.__floordiv__) for o in range(count))), default=0
    )


def _even_places(self: Tensor, sizes: Sizes) -> tuple[list[Tensor], Tensor]:
    """(the places that windows have along each of the last dimensions, which of them are in the window)."""
    aten = ops.aten
    spatial = len(sizes)
    places, conditions = [], []
    for number, (count, size) in enumerate(zip(sizes, self._sizes[-spatial:], strict=True)):
        start, stop = _ends(count, size, counted(count, self), aten.floor_divide.default)
        at = aten.add.Tensor(aten.unsqueeze.default(start, 1), counted(_longest(count, size), self))
        places.append(grid_along(at, number, spatial))
        conditions.append(grid_along(aten.lt(at, aten.unsqueeze.default(stop, 1)), number, spatial))
    return places, all_of(conditions)


def _even_sums(self: Tensor, sizes: Sizes) -> Tensor:
    """Sums over windows that cover the last dimensions evenly, as many as `sizes` says."""
    places, valid = _even_places(self, sizes)
    return ops.aten.sum.dim_IntList(gathered_at(self, places, valid, 0), element_axes(len(sizes)))


def _even_means(total: Tensor, counts: Sizes, sizes: Sizes) -> Tensor:
    """`total` over (..., *counts) divided by the lengths of the windows."""
    aten = ops.aten
    for number, (count, size) in enumerate(zip(counts, sizes, strict=True)):
        start, stop = _ends(count, size, counted(count, total), aten.floor_divide.default)
        total = aten.div.Tensor(total, line_along(aten.sub.Tensor(stop, start), number, len(sizes)))
    return total


@functools.cache
def _segments(count: int, size: int) -> tuple[int, ...]:
    """The windows as `reduceat` takes them, which may overlap: each is the first of two segments."""
    ends = [_ends(count, size, o, int.__floordiv__) for o in range(count)]
    return tuple([end for pair in ends for end in pair][:-1])


def _eager_sums(xp: Any, array: Any, sizes: Sizes) -> Any:
    """`_even_sums` of an array, one dimension after the other, the last one first."""
    for number, count in reversed(list(enumerate(sizes))):
        axis = array.ndim - len(sizes) + number
        size = array.shape[axis]
        if count == size:
            continue
        if count and size % count == 0:
            shape = (*array.shape[:axis], count, size // count, *array.shape[axis + 1 :])
            array = array.reshape(shape).sum(axis=axis + 1, dtype=array.dtype)
        elif not count or not array.size:
            array = xp.zeros((*array.shape[:axis], count, *array.shape[axis + 1 :]), array.dtype)
        elif count > size:  # windows of one element or two
            start, stop = _ends(count, size, xp.arange(count), lambda a, b: a // b)
            first, last = xp.take(array, start, axis=axis), xp.take(array, stop - 1, axis=axis)
            several = (stop - start > 1).reshape(-1, *(1,) * (array.ndim - axis - 1))
            array = xp.where(several, first + last, first)
        else:
            found = xp.add.reduceat(array, xp.asarray(_segments(count, size)), axis=axis, dtype=array.dtype)
            array = found[(slice(None),) * axis + (slice(None, None, 2),)]
    return array


@functools.lru_cache(256)
def _eager_lengths(xp: Any, counts: Sizes, sizes: Sizes, dtype: Any) -> Any:
    ends = [_ends(n, size, xp.arange(n), lambda a, b: a // max(b, 1)) for n, size in zip(counts, sizes, strict=True)]
    return outer_product(xp, [stop - start for start, stop in ends]).astype(dtype)


def _check_sizes(op: str, self: Tensor, output_size: Sizes, spatial: int) -> tuple[int, ...]:
    """Sizes of the result."""
    check_type(op, self, FLOATING)
    if len(output_size) != spatial or any(n < 0 for n in output_size):
        raise ShapeError(f"{op}: output_size must be {spatial} sizes", got=f"output_size={list(output_size)}")
    check_image(op, self, spatial, empty_channels=True)
    return (*self._sizes[:-spatial], *output_size)


def _declare_adaptive(spatial: int) -> tuple[CompositeDecl, CompositeDecl, CompositeDecl]:
    name = f"_adaptive_avg_pool{spatial}d"
    format_for = format_of_images(spatial)

    def kernel(self: Tensor, output_size: Sizes) -> Tensor:
        sizes = _check_sizes(name, self, output_size, spatial)
        xp = self._device.xp
        source = computed(self)
        with np.errstate(all="ignore"):
            total = _eager_sums(xp, source, output_size)
            found = total / _eager_lengths(xp, tuple(output_size), self._sizes[-spatial:], source.dtype)
        return stored(sizes, self._dtype, self, found, format_for(self))

    @composite(
        f"aten::{name}(Tensor self, SymInt[{spatial}] output_size) -> Tensor", explicit=True, kernel=kernel, outs="out"
    )
    def pool(self: Tensor, output_size: Sizes) -> Tensor:
        """The means over windows that cover the image evenly, as many as `output_size` says."""
        sizes = _check_sizes(name, self, output_size, spatial)
        if any(n == 0 for n in output_size):
            return laid_out(ops.aten.new_zeros.default(self, list(sizes)), format_for(self))
        total = _even_sums(widened(laid_out(self, format_for(self))), output_size)
        found = rounded(_even_means(total, output_size, self._sizes[-spatial:]), self._dtype)
        return laid_out(found, format_for(self))

    def check_backward(grad_output: Tensor, self: Tensor) -> tuple[int, ...]:
        op = f"{name}_backward"
        check_type(op, self, FLOATING)
        check_image(op, self, spatial, empty_channels=True)
        check_image(op, grad_output, spatial, empty_channels=True)
        counts = grad_output._sizes[-spatial:]
        check_gradient(op, grad_output, self, (*self._sizes[:-spatial], *counts))
        return counts

    def backward_kernel(grad_output: Tensor, self: Tensor) -> Tensor:
        counts = check_backward(grad_output, self)
        xp = self._device.xp
        image = self._sizes[-spatial:]
        grad = computed(grad_output)
        with np.errstate(all="ignore"):
            part = grad / _eager_lengths(xp, tuple(counts), image, grad.dtype)
            # An element is in the windows that it would be the mean of if the sizes were the other way round.
            found = _eager_sums(xp, part, image)
        return stored(self._sizes, self._dtype, self, found, format_for(self))

    @composite(
        f"aten::{name}_backward(Tensor grad_output, Tensor self) -> Tensor",
        explicit=True,
        kernel=backward_kernel,
        outs="out",
    )
    def pool_backward(grad_output: Tensor, self: Tensor) -> Tensor:
        """For each element of the input the sum over the windows that have it."""
        counts = check_backward(grad_output, self)
        image = self._sizes[-spatial:]
        part = _even_means(widened(laid_out(grad_output, format_for(self))), counts, image)
        return laid_out(rounded(_even_sums(part, image), self._dtype), format_for(self))

    def second(grad: Tensor, grad_output_spec: Any) -> Tensor:
        return pool.op(grad, list(grad_output_spec.sizes[-spatial:]))

    pool.backward(self=lambda grad, self: pool_backward.op(grad, self))
    pool_backward.backward(grad_output=second)

    @composite(f"aten::adaptive_avg_pool{spatial}d(Tensor self, SymInt[{spatial}] output_size) -> Tensor", outs="out")
    def plain(self: Tensor, output_size: Sizes) -> Tensor:
        _check_sizes(name[1:], self, output_size, spatial)
        if all(not isinstance(n, Symbolic) and n == 1 for n in output_size):
            return ops.aten.mean.dim(self, element_axes(spatial), True)
        return pool.op(self, list(output_size))

    return pool, pool_backward, plain


_adaptive_avg_pool2d, _adaptive_avg_pool2d_backward, adaptive_avg_pool2d = _declare_adaptive(2)
_adaptive_avg_pool3d, _adaptive_avg_pool3d_backward, adaptive_avg_pool3d = _declare_adaptive(3)
with_traits(adaptive_avg_pool3d, autocast={"cpu": "fp32"})


@composite("aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor", outs="out")
def adaptive_avg_pool1d(self: Tensor, output_size: Sizes) -> Tensor:
    """The means over windows that cover a line evenly."""
    count = numbers_of("adaptive_avg_pool1d", "output_size", output_size, 1)
    check_image("adaptive_avg_pool1d", self, 1, empty_channels=True)
    aten = ops.aten
    found = aten.adaptive_avg_pool2d.default(aten.unsqueeze.default(self, -2), [1, *count])
    return aten.squeeze.dim(found, -2)


# ---- maximum to a size ---------------------------------------------------------------------------------------------


#: Elements of all windows of an image up to which their places are kept.
_MOST_PLACES = 1 << 20


@functools.lru_cache(64)
def _window_table(xp: Any, counts: Sizes, sizes: Sizes) -> Any:
    """The places of the elements of each window, a row for each; of those that are shorter the last one again."""
    table: Any = xp.zeros((1, 1), np.int64)
    for count, size in zip(counts, sizes, strict=True):
        start, stop = _ends(count, size, xp.arange(count), lambda a, b: a // max(b, 1))
        at = xp.minimum(start[:, None] + xp.arange(_longest(count, size)), stop[:, None] - 1)
        whole = table[:, None, :, None] * size + at[None, :, None, :]
        table = whole.reshape(table.shape[0] * count, -1)
    return table


def _eager_maxima(xp: Any, array: Any, sizes: Sizes) -> tuple[Any, Any]:
    """(maxima, places), of equals the first, or the last NaN."""
    spatial = len(sizes)
    lead, image = array.shape[: array.ndim - spatial], array.shape[array.ndim - spatial :]
    longest = [_longest(count, size) for count, size in zip(sizes, image, strict=True)]
    table = (_window_table if math.prod((*sizes, *longest)) <= _MOST_PLACES else _window_table.__wrapped__)(
        xp, tuple(sizes), image
    )
    if not table.size or not array.size:
        return xp.zeros((*lead, *sizes), array.dtype), xp.zeros((*lead, *sizes), np.int64)
    windows = xp.take(array.reshape(-1, math.prod(image)), table, axis=1)
    at = windows.argmax(-1)
    rows = xp.arange(len(table))
    best = xp.take_along_axis(windows, at[..., None], -1)[..., 0]
    none = xp.isnan(best)
    if bool(none.any()):
        last = windows.shape[-1] - 1 - xp.isnan(windows[..., ::-1]).argmax(-1)
        at = xp.where(none, last, at)
    return best.reshape(*lead, *sizes), table[rows, at].reshape(*lead, *sizes)


def _declare_adaptive_max(spatial: int) -> tuple[CompositeDecl, CompositeDecl]:
    name = f"adaptive_max_pool{spatial}d"
    format_for = format_of_images(spatial)

    def kernel(self: Tensor, output_size: Sizes) -> tuple[Tensor, Tensor]:
        sizes = _check_sizes(name, self, output_size, spatial)
        best, index = _eager_maxima(self._device.xp, computed(self), output_size)
        layout = format_for(self)
        return stored(sizes, self._dtype, self, best, layout), stored(sizes, dtypes.int64, self, index, layout)

    @composite(
        f"aten::{name}(Tensor self, int[{spatial}] output_size) -> (Tensor, Tensor)",
        explicit=True,
        kernel=kernel,
        outs=("out", "out", "indices"),
    )
    def pool(self: Tensor, output_size: Sizes) -> tuple[Tensor, Tensor]:
        """The maxima over windows that cover the image evenly and their places in it: the first, or the last NaN."""
        sizes = _check_sizes(name, self, output_size, spatial)
        aten, layout = ops.aten, format_for(self)
        if any(n == 0 for n in output_size):
            empty, none = (aten.new_zeros.default(self, list(sizes), dtype=t) for t in (self._dtype, dtypes.int64))
            return laid_out(empty, layout), laid_out(none, layout)
        source = laid_out(self, layout)
        image = source._sizes[-spatial:]
        places, valid = _even_places(source, output_size)
        windows = gathered_at(source, places, valid, -math.inf)
        best = aten.amax.default(windows, element_axes(spatial), True)
        flat = places[0]
        for at, size in zip(places[1:], image[1:], strict=True):
            flat = aten.add.Tensor(aten.mul.Tensor(flat, size), at)
        chosen = aten.logical_and.default(aten.eq.Tensor(windows, best), valid)
        beyond = int(np.iinfo(np.int64).max)
        index = aten.amin.default(aten.where(chosen, flat, beyond), element_axes(spatial))
        last = aten.amax.default(aten.where(aten.isnan.default(windows), flat, -1), element_axes(spatial))
        index = aten.where(aten.ge(last, 0), last, index)
        return laid_out(aten.squeeze.dims(best, element_axes(spatial)), layout), laid_out(index, layout)

    @composite(
        f"aten::{name}_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor",
        explicit=True,
        outs="grad_input",
    )
    def pool_backward(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
        """The gradient added up at the places that the forward op found."""
        op = f"{name}_backward"
        check_type(op, self, FLOATING)
        check_image(op, self, spatial, empty_channels=True)
        check_image(op, grad_output, spatial, empty_channels=True)
        lead = self._sizes[:-spatial]
        sizes = (*lead, *grad_output._sizes[-spatial:])
        check_gradient(op, grad_output, self, sizes)
        if indices._dtype is not dtypes.int64 or indices._sizes != sizes:
            raise (DTypeError if indices._sizes == sizes else ShapeError)(
                f"{op}: indices must be int64 of shape {list(sizes)}", got=describe(indices)
            )
        aten = ops.aten
        rows, places = math.prod(lead), math.prod(sizes[len(lead) :])
        empty = aten.new_zeros.default(self, [rows, math.prod(self._sizes[-spatial:])], dtype=self._dtype.compute)
        at = aten.reshape.default(indices, [rows, places])
        total = aten.scatter_add.default(empty, 1, at, aten.reshape.default(widened(grad_output), [rows, places]))
        return laid_out(rounded(aten.view.default(total, list(self._sizes)), self._dtype), format_for(self))

    def second(grad: Tensor, grad_output_spec: Any, indices: Tensor) -> Tensor:
        aten = ops.aten
        flat = aten.flatten.using_ints(grad, -spatial)
        found = aten.gather.default(flat, -1, aten.flatten.using_ints(indices, -spatial))
        return aten.reshape.default(found, list(grad_output_spec.sizes))

    pool.backward(differentiable=(0,), self=lambda grad, self, result1: pool_backward.op(grad, self, result1))
    pool_backward.backward(grad_output=second, self=zeros)
    return pool, pool_backward


adaptive_max_pool2d, adaptive_max_pool2d_backward = _declare_adaptive_max(2)
adaptive_max_pool3d, adaptive_max_pool3d_backward = _declare_adaptive_max(3)
with_traits(adaptive_max_pool3d, autocast={"cpu": "fp32"})


@composite("aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)")
def adaptive_max_pool1d(self: Tensor, output_size: Sizes) -> tuple[Tensor, Tensor]:
    """The maxima over windows that cover a line evenly, and their places in it."""
    count = numbers_of("adaptive_max_pool1d", "output_size", output_size, 1)
    check_image("adaptive_max_pool1d", self, 1, empty_channels=True)
    aten = ops.aten
    found = aten.adaptive_max_pool2d.default(aten.unsqueeze.default(self, -2), [1, *count])
    best, index = (aten.squeeze.dim(t, -2) for t in found)
    return best, index


# ---- the way back --------------------------------------------------------------------------------------------------


def _unpooled(op: str, self: Tensor, indices: Tensor, output_size: Sizes, spatial: int) -> Tensor:
    if indices._dtype is not dtypes.int64:
        raise DTypeError(f"{op}: the places must be int64", got=describe(indices))
    if indices._sizes != self._sizes:
        raise ShapeError(f"{op}: needs a place for each element", got=describe([self, indices]))
    if len(output_size) != spatial:
        raise ShapeError(f"{op}: output_size must be {spatial} sizes", got=f"output_size={list(output_size)}")
    check_image(op, self, spatial, empty_channels=False)
    aten = ops.aten
    lead = self._sizes[:-spatial]
    flat, at = (aten.reshape.default(t, [math.prod(lead), -1]) for t in (self, indices))
    empty = aten.new_zeros.default(self, [math.prod(lead), math.prod(output_size)])
    return aten.reshape.default(aten.scatter.src(empty, 1, at, flat), [*lead, *output_size])


@composite(
    "aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor",
    autocast={"cpu": "fp32"},
    outs="out",
)
def max_unpool2d(self: Tensor, indices: Tensor, output_size: Sizes) -> Tensor:
    """An image of zeros with the elements at the places that pooling found them at."""
    return _unpooled("max_unpool2d", self, indices, output_size, 2)


@composite(
    "aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor",
    autocast={"cpu": "fp32"},
    outs="out",
)
def max_unpool3d(self: Tensor, indices: Tensor, output_size: Sizes, stride: Sizes, padding: Sizes) -> Tensor:
    """A volume of zeros with the elements at the places that pooling found them at."""
    if len(stride) != 3 or len(padding) != 3 or any(s < 1 for s in stride):
        raise ShapeError("max_unpool3d: expected 3 positive strides and 3 paddings", got=f"{stride}, {padding}")
    return _unpooled("max_unpool3d", self, indices, output_size, 3)


# ---- samples -------------------------------------------------------------------------------------------------------


def _sample_adaptive(decl: CompositeDecl, spatial: int) -> None:
    @decl.with_samples
    def _(make: Make) -> Samples:
        targets = [3, 2, 3], [1, 1, 1], [7, 9, 2]
        for x, sizes in zip(image_samples(make, spatial), targets, strict=True):
            yield (x, sizes[:spatial]), {}
        yield (make(1, 2, *(7, 4, 5)[:spatial]), [2, 5, 6][:spatial]), {}
        yield (make(0, 3, *(6, 5, 4)[:spatial]), [2] * spatial), {}
        yield (make(2, *(6, 5, 4)[:spatial]), [0, 2, 3][:spatial]), {}


def _sample_adaptive_backward(decl: CompositeDecl, spatial: int) -> None:
    @decl.with_samples
    def _(make: Make) -> Samples:
        for x, sizes in zip(image_samples(make, spatial), ([3, 2, 3], [1, 1, 1], [7, 9, 2]), strict=True):
            yield (make(*x._sizes[:-spatial], *sizes[:spatial]), x), {}


for _decl, _spatial in (
    (_adaptive_avg_pool2d, 2), (adaptive_avg_pool2d, 2), (_adaptive_avg_pool3d, 3), (adaptive_avg_pool3d, 3),
):  # fmt: skip
    _sample_adaptive(_decl, _spatial)
_sample_adaptive_backward(_adaptive_avg_pool2d_backward, 2)
_sample_adaptive_backward(_adaptive_avg_pool3d_backward, 3)


@adaptive_avg_pool1d.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3, 7), [3]), {}
    yield (make(3, 7), [1]), {}


for _decl in (
    _adaptive_avg_pool2d, _adaptive_avg_pool2d_backward, adaptive_avg_pool2d, _adaptive_avg_pool3d,
    _adaptive_avg_pool3d_backward, adaptive_avg_pool3d, adaptive_avg_pool1d,
):  # fmt: skip
    _decl.sample_dtypes = FLOATING


def _sample_adaptive_max(decl: CompositeDecl, backward: CompositeDecl, spatial: int, kinds: Any) -> None:
    def images(make: Make) -> Samples:
        yield (make(2, 3, *(7, 5, 4)[:spatial]), [3, 2, 3][:spatial]), {}
        yield (ops.aten.transpose.int(make(4, 3, *(7, 5)[: spatial - 1], 2), 0, -1), [1, 7, 2][:spatial]), {}

    decl.with_samples(images)

    @backward.with_samples
    def _(make: Make) -> Samples:
        for (x, sizes), _ in images(make):
            best, index = decl.op(x, sizes)
            yield (make(*best._sizes), x, index), {}

    decl.sample_dtypes = backward.sample_dtypes = kinds


_sample_adaptive_max(adaptive_max_pool2d, adaptive_max_pool2d_backward, 2, (dtypes.float32, dtypes.bfloat16))
_sample_adaptive_max(adaptive_max_pool3d, adaptive_max_pool3d_backward, 3, (dtypes.float32,))
