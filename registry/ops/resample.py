"""Images at other sizes.

Everything is a gather at computed places and a weighted sum, which a compiler fuses to one kernel. Places and weights
are computed in float32 (float64 for float64 images), half types too, and the result is rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.op import ops
from opweave.registry.ops.copies import format_of, laid_out, rounded, spec_like, widened
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.resample_filters import FLOATING, Filter, Sizes, check_image, chosen_sizes, resized
from opweave.registry.ops.row_pieces import pieces_of_rows
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.scalar import convert_into, converted
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, allocate_like

# ---- other sizes ---------------------------------------------------------------------------------------------------


def _given(factor: float | None) -> bool:
    return factor is not None and factor > 0


def _centres(count: int, dtype: DType, like: Tensor) -> Tensor:
    return ops.aten.arange.default(count, dtype=dtype, device=like._device)


def _nearest(self: Tensor, size: int, count: int, factor: float | None, small: bool) -> Tensor:
    """For each of `count` places the nearest of `size` places, rounded down."""
    aten = ops.aten
    if small and _given(factor):
        # Where the sizes say it all, they do: a factor may have been rounded to get them.
        if count == size:
            return aten.arange.default(count, dtype=dtypes.int64, device=self._device)
        if count == 2 * size:
            steps = aten.arange.default(count, dtype=dtypes.int64, device=self._device)
            return aten.floor_divide.default(steps, 2)
    step: Any = 1.0 / factor if factor is not None and factor > 0 else size / count
    exact = dtypes.float32 if small or self._dtype is not dtypes.float64 else dtypes.float64
    at = aten.floor.default(rounded(aten.mul.Tensor(_centres(count, exact, self), step), dtypes.float32))
    return aten.clamp.default(rounded(at, dtypes.int64), None, size - 1)


def _nearest_places(
    self: Tensor, output_size: Sizes, scales_h: float | None, scales_w: float | None
) -> tuple[Tensor, Tensor]:
    """(row, column) of the image for each row and column of the result, after checking the arguments."""
    check_image("upsample_nearest2d", self, output_size, (*FLOATING, dtypes.uint8))
    height, width = output_size
    # PyTorch has two kernels, which round differently; asked only where it matters, since it decides on sizes.
    matters = self._dtype is dtypes.float64 or _given(scales_h) or _given(scales_w)
    small = not matters or height + width <= 128
    rows = _nearest(self, self._sizes[2], height, scales_h, small)
    return rows, _nearest(self, self._sizes[3], width, scales_w, small)


def _nearest_kernel(
    self: Tensor, output_size: Sizes, scales_h: float | None = None, scales_w: float | None = None
) -> Tensor:
    rows, columns = _nearest_places(self, output_size, scales_h, scales_w)
    out = allocate_like(spec_like(self, (*self._sizes[:2], *output_size)))
    out._array[...] = self._array.take(columns._array, axis=3).take(rows._array, axis=2)
    return out


@composite(
    "aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? scales_w=None)"
    " -> Tensor",
    explicit=True,
    kernel=_nearest_kernel,
    autocast={"cuda": "fp32"},
    outs="out",
)
def upsample_nearest2d(
    self: Tensor, output_size: Sizes, scales_h: float | None = None, scales_w: float | None = None
) -> Tensor:
    """The image at another size, each element that of the nearest place above and left."""
    rows, columns = _nearest_places(self, output_size, scales_h, scales_w)
    aten = ops.aten
    layout = format_of(self)
    found = aten.index.Tensor(laid_out(self, layout), [None, None, aten.unsqueeze.default(rows, 1), columns])
    return laid_out(found, layout)


@composite(
    "aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
    explicit=True,
    autocast={"cuda": "fp32"},
    outs="vec_out",
)
def upsample_nearest2d_vec(input: Tensor, output_size: Sizes | None, scale_factors: Sequence[float] | None) -> Tensor:
    sizes = chosen_sizes("upsample_nearest2d", input, output_size, scale_factors)
    return ops.aten.upsample_nearest2d.default(input, sizes, *(scale_factors or (None, None)))


def _step(size: int, count: int, align_corners: bool, factor: float | None) -> Any:
    """How far the places of neighbours are from each other."""
    if align_corners:
        return (size - 1) / (count - 1) if count > 1 else 0.0
    return 1.0 / factor if factor is not None and factor > 0 else size / count


def _between(
    self: Tensor, size: int, count: int, align_corners: bool, factor: float | None, steps: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """For each of `count` places, or some, the places before and behind it, and how far it is from the first."""
    aten = ops.aten
    dtype = self._dtype.compute
    steps = _centres(count, dtype, self) if steps is None else steps
    step = _step(size, count, align_corners, factor)
    if _given(factor) and not align_corners and count == size:
        at = steps
    elif align_corners:
        at = aten.mul.Tensor(steps, step)
    else:
        at = aten.sub.Tensor(aten.mul.Tensor(aten.add.Tensor(steps, 0.5), step), 0.5)
        at = aten.clamp.default(at, 0.0, None)
    before = aten.clamp.default(rounded(at, dtypes.int64), None, size - 1)
    behind = aten.clamp.default(aten.add.Tensor(before, 1), None, size - 1)
    share = aten.clamp.default(aten.sub.Tensor(at, rounded(before, dtype)), 0.0, 1.0)
    return before, behind, share


def _is_line(size: int, count: int) -> bool:
    """Whether there is nothing to weight along a dimension, as in the image that a vector is."""
    return type(size) is type(count) is int and size == count == 1


#: The filter by which bytes are added up.
_BYTES = Filter(2, antialias=False)


def _bilinear_kernel(
    self: Tensor,
    output_size: Sizes,
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Tensor:
    if self._dtype is dtypes.uint8:
        scales = scales_h, scales_w
        return resized("upsample_bilinear2d", self, output_size, align_corners, scales, _BYTES, eager=True)
    check_image("upsample_bilinear2d", self, output_size, FLOATING)
    out = allocate_like(spec_like(self, (*self._sizes[:2], *output_size)))
    # Columns first, then rows, where whole lines are added.
    axes: list[tuple[int, Any, Any, Any]] = []
    for axis, factor in ((3, scales_w), (2, scales_h)):
        size, count = self._sizes[axis], output_size[axis - 2]
        if not _is_line(size, count):
            before, behind, share = (t._array for t in _between(self, size, count, align_corners, factor))
            axes.append((axis, before, behind, share.reshape(-1, *(1,) * (3 - axis))))
    images, results = self._array, out._array
    parts: Iterable[slice] = [slice(None)]
    if self._device.is_host and images.flags.c_contiguous and results.flags.c_contiguous and results.size:
        images, results = (array.reshape(-1, 1, *array.shape[2:]) for array in (images, results))
        parts = pieces_of_rows(len(results), results[0].size)
    with np.errstate(all="ignore"):
        for part in parts:
            found = converted(images[part], self._dtype.compute.numpy)
            for axis, before, behind, share in axes:
                first, second = found.take(before, axis=axis), found.take(behind, axis=axis)
                first *= 1 - share
                second *= share
                found = first
                found += second
            convert_into(results[part], found)
    return out


@composite(
    "aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None,"
    " float? scales_w=None) -> Tensor",
    explicit=True,
    kernel=_bilinear_kernel,
    autocast={"cuda": "fp32"},
    outs="out",
)
def upsample_bilinear2d(
    self: Tensor, output_size: Sizes, align_corners: bool, scales_h: float | None = None,
    scales_w: float | None = None,
) -> Tensor:  # fmt: skip
    """The image at another size, each element weighted from the four around its place."""
    if self._dtype is dtypes.uint8:
        scales = scales_h, scales_w
        return resized("upsample_bilinear2d", self, output_size, align_corners, scales, _BYTES)
    check_image("upsample_bilinear2d", self, output_size, FLOATING)
    aten = ops.aten
    height, width = output_size
    top, bottom, down = _between(self, self._sizes[2], height, align_corners, scales_h)
    left, right, along = _between(self, self._sizes[3], width, align_corners, scales_w)
    top, bottom, down = (aten.unsqueeze.default(t, 1) for t in (top, bottom, down))
    source = widened(laid_out(self, format_of(self)))

    def line(rows: Tensor) -> Tensor:
        first = aten.index.Tensor(source, [None, None, rows, left])
        second = aten.index.Tensor(source, [None, None, rows, right])
        return aten.add.Tensor(
            aten.mul.Tensor(first, aten.sub.Tensor(_one(along), along)), aten.mul.Tensor(second, along)
        )

    found = line(top)
    if not _is_line(self._sizes[2], height):
        upper = aten.mul.Tensor(found, aten.sub.Tensor(_one(down), down))
        found = aten.add.Tensor(upper, aten.mul.Tensor(line(bottom), down))
    found = rounded(found, self._dtype)
    return laid_out(found, format_of(self))


def _one(like: Tensor) -> Tensor:
    return ops.aten.full.default([], 1, dtype=like._dtype, device=like._device)


#: Results that an element of an image has a share in, along one dimension, up to which they are looked up.
_MOST_SHARES = 12


@upsample_bilinear2d.backward
def _(
    grad: Tensor, self_spec: TensorSpec, output_size: Sizes, align_corners: bool, scales_h: float | None,
    scales_w: float | None,
) -> tuple[Tensor]:  # fmt: skip
    found = widened(grad)
    for axis, factor in ((2, scales_h), (3, scales_w)):
        size, count = self_spec.sizes[axis], output_size[axis - 2]
        if not _is_line(size, count):
            shares = _shares(size, count, align_corners, factor)
            if shares is None:
                found = _scattered(found, axis, size, align_corners, factor)
            else:
                found = _gathered(found, axis, size, align_corners, factor, shares)
    return (rounded(found, grad._dtype),)


def _shares(size: int, count: int, align_corners: bool, factor: float | None) -> int | None:
    """How many results in a row an element may have a share in; None where that is many, or not known."""
    if type(size) is not int or type(count) is not int:
        return None
    step = _step(size, count, align_corners, factor)
    most = 2 / step + 2 if step > 0 else math.inf
    # Where a factor is not that of the sizes, all that lie behind the last element share in it.
    last = (count - 1) * step if align_corners else (count - 0.5) * step - 0.5
    return int(most) if most <= _MOST_SHARES and last < size else None


def _gathered(grad: Tensor, axis: int, size: int, align_corners: bool, factor: float | None, shares: int) -> Tensor:
    """The gradient along a dimension: for each element the sum over the results that it has a share in."""
    aten, count = ops.aten, grad._sizes[axis]
    centre = 0.0 if align_corners else 0.5
    places = _centres(size, grad._dtype, grad)
    first = aten.mul.Tensor(aten.add.Tensor(places, centre - 1), 1 / _step(size, count, align_corners, factor))
    first = aten.floor.default(aten.sub.Tensor(first, centre))
    own = rounded(places, dtypes.int64)
    behind_axis = [-1, *(1,) * (grad.ndim - 1 - axis)]
    total: Any = None
    for number in range(shares):
        steps = aten.add.Tensor(first, number)
        before, behind, share = _between(grad, size, count, align_corners, factor, steps)
        near, far = aten.eq.Tensor(before, own), aten.eq.Tensor(behind, own)
        weight = aten.where.self(near, aten.sub.Tensor(_one(share), share), aten.mul.Tensor(share, 0))
        weight = aten.add.Tensor(weight, aten.where.self(far, share, aten.mul.Tensor(share, 0)))
        inside = aten.logical_and.default(aten.ge.Scalar(steps, 0), aten.lt.Scalar(steps, count))
        inside = aten.logical_and.default(inside, aten.logical_or.default(near, far))
        at = aten.clamp.default(rounded(steps, dtypes.int64), 0, count - 1)
        part = aten.mul.Tensor(aten.index_select.default(grad, axis, at), aten.view.default(weight, behind_axis))
        part = aten.where.ScalarOther(aten.view.default(inside, behind_axis), part, 0.0)
        total = part if total is None else aten.add.Tensor(total, part)
    return total


def _scattered(grad: Tensor, axis: int, size: int, align_corners: bool, factor: float | None) -> Tensor:
    """The same where it is not known how many these are: each result adds to two elements."""
    aten, count = ops.aten, grad._sizes[axis]
    before, behind, share = _between(grad, size, count, align_corners, factor)
    weight = aten.view.default(share, [-1, *(1,) * (grad.ndim - 1 - axis)])
    total = aten.new_zeros.default(grad, [*grad._sizes[:axis], size, *grad._sizes[axis + 1 :]])
    for places, part in ((before, aten.sub.Tensor(_one(weight), weight)), (behind, weight)):
        total = aten.index_put.default(total, [*(None,) * axis, places], aten.mul.Tensor(grad, part), True)
    return total


@composite(
    "aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors)"
    " -> Tensor",
    explicit=True,
    autocast={"cuda": "fp32"},
    outs="vec_out",
)
def upsample_bilinear2d_vec(
    input: Tensor, output_size: Sizes | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Tensor:
    sizes = chosen_sizes("upsample_bilinear2d", input, output_size, scale_factors)
    return ops.aten.upsample_bilinear2d.default(input, sizes, align_corners, *(scale_factors or (None, None)))


# ---- samples -------------------------------------------------------------------------------------------------------


@upsample_nearest2d.with_samples
def _(make: Make) -> Samples:
    for size in ([3, 11], [5, 4], [10, 8]):
        yield (make(2, 3, 5, 4), size), {}
    yield (make(1, 2, 5, 4), [7, 4], 1.5, 1.1), {}
    yield (make(0, 2, 5, 4), [7, 3]), {}


@upsample_nearest2d_vec.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3, 5, 4), [7, 3], None), {}
    yield (make(2, 3, 5, 4), None, [1.5, 0.7]), {}


@upsample_bilinear2d.with_samples
def _(make: Make) -> Samples:
    for size in ([3, 11], [5, 4], [10, 1]):
        for align_corners in (False, True):
            yield (make(2, 3, 5, 4), size, align_corners), {}
    yield (make(1, 2, 5, 4), [7, 4], False, 1.5, 1.1), {}
    yield (make(0, 2, 5, 4), [7, 3], False), {}


@upsample_bilinear2d_vec.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3, 5, 4), [7, 3], True, None), {}
    yield (make(2, 3, 5, 4), None, False, [1.5, 0.7]), {}


for _decl in (upsample_bilinear2d, upsample_bilinear2d_vec):
    _decl.sample_dtypes = FLOATING
for _decl in (upsample_nearest2d, upsample_nearest2d_vec):
    _decl.sample_dtypes = (*FLOATING, dtypes.uint8)
