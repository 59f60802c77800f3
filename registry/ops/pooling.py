"""Pooling: the maximum or the average over windows of an image, and over windows that make a given size.

The bodies gather the windows at computed places and reduce them, which a compiler fuses to one kernel; the gradient of
an average is such a gather too, so no kernel has to add up in memory. Eager goes through the places of a window
instead, all windows at once. Half types are averaged in float32 and rounded once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.copies import format_of, laid_out, rounded, widened
from opweave.registry.ops.gradients import zeros
from opweave.registry.ops.kinds import CompositeDecl, composite, with_traits
from opweave.registry.ops.pool_windows import (
    FLOATING,
    Axis,
    all_of,
    axes_of,
    check_gradient,
    check_image,
    check_type,
    computed,
    counted,
    element_axes,
    first_parts,
    first_places,
    format_of_images,
    gathered_at,
    grid_along,
    has_few_taps,
    image_samples,
    inside,
    line_along,
    lowest,
    numbers_of,
    outer_product,
    reaches_out,
    stored,
    tap_parts,
    tap_places,
    taped_taps,
    taped_with_padding,
    taps,
    window_places,
    with_padding,
    without_padding,
)
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.symbolic import Symbolic
from opweave.registry.tape import NotTaped, Tape
from opweave.registry.tensor import Tensor, describe

Sizes = Sequence[int]

_INTEGERS = (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)


# ---- maximum -------------------------------------------------------------------------------------------------------


def _largest(self: Tensor, axes: list[Axis]) -> tuple[Tensor, Tensor]:
    """The largest element of each window and its place, one place of all windows after the other."""
    aten, best, index = ops.aten, None, first_parts(self, axes)
    for value, where in tap_parts(self, axes, lowest(self._dtype)):
        if best is None:
            # Where it is outside of the image, a window begins later.
            best, index = value, aten.expand.default(index, value._sizes)
            continue
        better = aten.gt.Tensor(value, best)
        if self._dtype.kind == "f":
            better = aten.logical_or.default(better, aten.isnan.default(value))
        best = aten.where.self(better, value, best)
        index = aten.where.self(better, where, index)
    assert best is not None
    return best, index


def _declare_max(spatial: int) -> tuple[CompositeDecl, CompositeDecl, CompositeDecl]:
    name = f"max_pool{spatial}d_with_indices"
    ints = f"int[{spatial}]"

    def geometry(
        self: Tensor, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool, op: str
    ) -> tuple[list[Axis], tuple[int, ...]]:
        """(windows, sizes of the result)."""
        axes = axes_of(op, self, kernel_size, stride, padding, dilation, ceil_mode, spatial)
        return axes, (*self._sizes[:-spatial], *(axis.count for axis in axes))

    def kernel(
        self: Tensor, kernel_size: Sizes, stride: Sizes = (), padding: Sizes = (0,), dilation: Sizes = (1,),
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        axes, sizes = geometry(self, kernel_size, stride, padding, dilation, ceil_mode, name)
        check_type(name, self, (*FLOATING, *_INTEGERS))
        xp = self._device.xp
        source = with_padding(xp, axes, computed(self), lowest(self._dtype))
        best = xp.full(sizes, lowest(self._dtype), source.dtype)
        index = xp.zeros(sizes, np.int64)
        index[...] = first_places(xp, axes)
        for tap, taken in taps(axes):
            value = source[taken]
            better = value > best
            if self._dtype.kind == "f":
                better |= xp.isnan(value)
            xp.copyto(best, value, where=better)
            xp.copyto(index, xp.broadcast_to(tap_places(xp, axes, tap), sizes), where=better)
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
        if has_few_taps(axes):
            return tuple([laid_out(t, layout) for t in _largest(source, axes)])  # type: ignore[return-value]
        image = source._sizes[-spatial:]
        places = window_places(axes, source)
        outside = reaches_out(axes, ceil_mode)
        valid = inside(places, image) if outside else None
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

    @max_pool.replaying
    def replay(tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], results: tuple[Tensor, ...]) -> None:
        """`kernel`, loop by loop."""
        self, kernel_size, stride, padding, dilation, ceil_mode = max_pool.bind(args, kwargs)
        axes, sizes = geometry(self, kernel_size, stride, padding, dilation, ceil_mode, name)
        made = [tape.made(t) for t in results]
        least = lowest(self._dtype)
        source = taped_with_padding(tape, axes, self, least)
        best, value, index = (tape.scratch(sizes, t) for t in (source.dtype, source.dtype, np.dtype(np.int64)))
        better, is_nan = (tape.scratch(sizes, np.dtype(bool)) for _ in range(2))
        tape.map("copied", [np.asarray(least, best.dtype)], best)
        tape.map("copied", [tape.constant(first_places(np, axes))], index)
        for tap, begin in taped_taps(axes, source, sizes):
            tape.map("copied", [begin], value)
            tape.map(np.greater, [value, best], better)
            if self._dtype.kind == "f":
                tape.map(np.isnan, [value], is_nan)
                tape.map(np.logical_or, [better, is_nan], better)
            tape.map("chosen", [better, value, best], best)
            tape.map("chosen", [better, tape.constant(tap_places(np, axes, tap)), index], index)
        for found, out in zip((best, index), made, strict=True):
            tape.map("copied" if found.dtype == out.dtype else "cast", [found], out)

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

    def second(grad: Tensor, indices: Tensor) -> Tensor:
        places = ops.aten.reshape.default(indices, [*indices._sizes[:-spatial], -1])
        flat = ops.aten.reshape.default(grad, [*grad._sizes[:-spatial], math.prod(grad._sizes[-spatial:])])
        return ops.aten.view.default(ops.aten.gather.default(flat, -1, places), list(indices._sizes))

    max_pool_backward.backward(grad_output=second, self=zeros)

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
        axes = axes_of(op, self, kernel_size, stride, padding, (1,), ceil_mode, spatial)
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
        source = with_padding(xp, axes, computed(self), 0)
        total = xp.zeros(sizes, source.dtype)
        with np.errstate(all="ignore"):
            for _, taken in taps(axes):
                total += source[taken]
            found = divided(xp, total, divisors(xp, axes, count_include_pad, divisor_override))
        return stored(sizes, self._dtype, self, found, format_for(self))

    def replay(tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
        """`kernel`, loop by loop."""
        self, kernel_size, stride, padding, ceil_mode, include, override = average.bind(args, kwargs)
        axes, sizes = geometry(name, self, kernel_size, stride, padding, ceil_mode, override)
        made = tape.made(result)
        if self._dtype.kind != "f":
            raise NotTaped("whole numbers, which are rounded towards zero")
        source = taped_with_padding(tape, axes, self, 0)
        total = tape.scratch(sizes, source.dtype)
        tape.map("copied", [np.zeros((), total.dtype)], total)
        for _, value in taped_taps(axes, source, sizes):
            tape.map(np.add, [total, value], total)
        by = np.asarray(divisors(np, axes, include, override), total.dtype)
        tape.map(np.true_divide, [total, tape.constant(by) if by.ndim else by], total)
        tape.map("copied" if made.dtype == total.dtype else "cast", [total], made)

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
        places = window_places(axes, source)
        valid = inside(places, source._sizes[-spatial:]) if reaches_out(axes, ceil_mode) else None
        total = aten.sum.dim_IntList(gathered_at(source, places, valid, 0), element_axes(spatial))
        found = rounded(quotient(total, axes, count_include_pad, divisor_override), self._dtype)
        return laid_out(found, format_for(self))

    average.replaying(replay)

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
            for _, taken in taps(axes):
                total[taken] += part
        return stored(self._sizes, self._dtype, self, total[without_padding(axes)], format_for(self))

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
