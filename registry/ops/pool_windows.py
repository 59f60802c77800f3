"""The windows of pooling: where they lie, as tensors of places and on arrays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.dataclass import dataclass
from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.memory_format import MemoryFormat, contiguous_format
from opweave.registry.op import ops
from opweave.registry.ops.copies import format_of, spec_like
from opweave.registry.ops.samples import Make
from opweave.registry.scalar import converted
from opweave.registry.tape import NotTaped, Tape, Value
from opweave.registry.tensor import Tensor, allocate_like, describe

Sizes = Sequence[int]

FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


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


def axes_of(
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
            raise ShapeError(
                f"{op}: a window is larger than the padded input",
                got=f"{describe(self)}, {given}",
                hint="a smaller kernel_size, or more padding",
            )
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


def window_places(axes: Sequence[Axis], self: Tensor) -> list[Tensor]:
    """For each dimension the places that the windows have."""
    aten = ops.aten
    found = []
    for number, axis in enumerate(axes):
        start = aten.sub.Tensor(aten.mul.Tensor(counted(axis.count, self), axis.stride), axis.padding)
        offsets = aten.mul.Tensor(counted(axis.kernel, self), axis.dilation)
        places = aten.add.Tensor(aten.unsqueeze.default(start, 1), offsets)
        found.append(grid_along(places, number, len(axes)))
    return found


def inside(places: Sequence[Tensor], sizes: Sizes) -> Tensor:
    aten = ops.aten
    return all_of([c for at, n in zip(places, sizes, strict=True) for c in (aten.ge(at, 0), aten.lt(at, n))])


def element_axes(spatial: int) -> list[int]:
    return list(range(-spatial, 0))


def reaches_out(axes: Sequence[Axis], ceil_mode: bool) -> bool:
    return ceil_mode or any(axis.padding for axis in axes)


#: Places of a window up to which each is a part of the image of its own.
_MOST_TAPS = 16


def has_few_taps(axes: Sequence[Axis]) -> bool:
    """Whether the windows are known and small, so that `tap_parts` are fewer operations than a gather."""
    known = all(type(n) is int for axis in axes for n in (axis.size, axis.count, axis.kernel, axis.padded))
    return known and math.prod(axis.kernel for axis in axes) <= _MOST_TAPS


def tap_parts(self: Tensor, axes: Sequence[Axis], fill: Any) -> Iterator[tuple[Tensor, Tensor]]:
    """(elements, where in the flattened image they lie) that all windows have at each of their places, in order."""
    aten, spatial = ops.aten, len(axes)
    pads = [n for axis in reversed(axes) for n in (axis.padding, axis.padded - axis.padding - axis.size)]
    padded = aten.constant_pad_nd.default(self, pads, fill) if any(pads) else self
    for tap in itertools.product(*(range(axis.kernel) for axis in axes)):
        part, where = padded, None
        for number, (axis, t) in enumerate(zip(axes, tap, strict=True)):
            taken = axis.taken(t)
            part = aten.slice.Tensor(part, number - spatial, taken.start, taken.stop, taken.step)
            at = aten.add.Tensor(_starts(axis, self), t * axis.dilation)
            where = _flattened(where, line_along(at, number, spatial), axis)
        assert where is not None
        yield part, where


def first_parts(self: Tensor, axes: Sequence[Axis]) -> Tensor:
    """Where in the flattened image each window begins, behind the left padding."""
    aten, where = ops.aten, None
    for number, axis in enumerate(axes):
        start = _starts(axis, self)
        short = aten.rsub.Scalar(aten.clamp.default(start, None, 0), axis.dilation - 1)
        skipped = aten.mul.Tensor(aten.floor_divide.default(short, axis.dilation), axis.dilation)
        where = _flattened(where, line_along(aten.add.Tensor(start, skipped), number, len(axes)), axis)
    assert where is not None
    return where


def _starts(axis: Axis, self: Tensor) -> Tensor:
    return ops.aten.sub.Tensor(ops.aten.mul.Tensor(counted(axis.count, self), axis.stride), axis.padding)


def _flattened(before: Tensor | None, at: Tensor, axis: Axis) -> Tensor:
    return at if before is None else ops.aten.add.Tensor(ops.aten.mul.Tensor(before, axis.size), at)


# ---- windows in eager ----------------------------------------------------------------------------------------------


def with_padding(xp: Any, axes: Sequence[Axis], array: Any, fill: Any) -> Any:
    """The array with padding, as far as the windows reach."""
    lead = array.shape[: array.ndim - len(axes)]
    sizes = tuple(axis.padding + axis.padded for axis in axes)
    if sizes == array.shape[len(lead) :]:
        return array
    padded = xp.full((*lead, *sizes), fill, array.dtype)
    padded[without_padding(axes)] = array
    return padded


def without_padding(axes: Sequence[Axis]) -> tuple[Any, ...]:
    return (..., *(slice(axis.padding, axis.padding + axis.size) for axis in axes))


def taps(axes: Sequence[Axis]) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
    """(place in the windows, index of a padded array's elements that have it), the last dimension fastest."""
    for tap in itertools.product(*(range(axis.kernel) for axis in axes)):
        yield tap, (..., *(axis.taken(t) for axis, t in zip(axes, tap, strict=True)))


def tap_places(xp: Any, axes: Sequence[Axis], tap: Sequence[Any]) -> Any:
    """Where in the flattened image a place of all windows lies."""
    total: Any = None
    for axis, t in zip(axes, tap, strict=True):
        at = xp.arange(axis.count) * axis.stride - axis.padding + t * axis.dilation
        total = at if total is None else total[..., None] * axis.size + at
    return total


def first_places(xp: Any, axes: Sequence[Axis]) -> Any:
    """Where each window begins, behind the left padding."""
    starts = [xp.arange(axis.count) * axis.stride - axis.padding for axis in axes]
    skipped = [(a.dilation - 1 - xp.minimum(s, 0)) // a.dilation for a, s in zip(axes, starts, strict=True)]
    return tap_places(xp, axes, skipped)


def taped_with_padding(tape: Tape, axes: Sequence[Axis], self: Tensor, fill: Any) -> Value:
    """`with_padding` of what is computed with, written down."""
    compute = self._dtype.compute.numpy
    if not self.numel() or compute is None:
        raise NotTaped("no elements")
    source = tape.converted(tape.value(self), compute)
    lead = source.sizes[: len(source.sizes) - len(axes)]
    sizes = (*lead, *(axis.padding + axis.padded for axis in axes))
    if sizes == source.sizes:
        return source
    padded = tape.scratch(sizes, compute)
    tape.map("copied", [np.asarray(fill, compute)], padded)
    tape.map("copied", [source], padded.part([0] * len(lead) + [axis.padding for axis in axes], source.sizes))
    return padded


def taped_taps(axes: Sequence[Axis], source: Value, sizes: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Value]]:
    """`taps` of what `taped_with_padding` gives: the elements of all windows at each place in them."""
    lead = len(sizes) - len(axes)
    strides = [*source.strides[:lead], *(s * a.stride for s, a in zip(source.strides[lead:], axes, strict=True))]
    for tap in itertools.product(*(range(axis.kernel) for axis in axes)):
        begin = [0] * lead + [t * axis.dilation for t, axis in zip(tap, axes, strict=True)]
        yield tap, source.part(begin, sizes)._replace(strides=tuple(strides))


def computed(self: Tensor) -> Any:
    compute = self._dtype.compute
    return self._array if compute is self._dtype else converted(self._array, compute.numpy)


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


def lowest(dtype: DType) -> Any:
    return int(np.iinfo(dtype.numpy).min) if dtype.kind in "iu" else -math.inf


# ---- samples -------------------------------------------------------------------------------------------------------


def _turned(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, 0, -1)


def image_samples(make: Make, spatial: int) -> Iterable[Tensor]:
    sizes = (7, 5, 4)[:spatial]
    yield make(2, 3, *sizes)
    yield make(3, *sizes)
    yield _turned(make(sizes[-1], 3, *sizes[:-1], 2))
