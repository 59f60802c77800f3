"""Images and volumes at places that a grid names, and the gradients of that.

Places and weights are computed in float32 (float64 for float64 images), half types too, and the result is rounded once.
What the bodies say with ops is native code where it is called on tensors of the CPU (`codegen.grid_sampling`).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from opweave.registry import dtypes
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError
from opweave.registry.hooks import Hook
from opweave.registry.op import ops
from opweave.registry.ops.copies import rounded, widened
from opweave.registry.ops.kinds import CompositeDecl, composite
from opweave.registry.ops.resample_filters import FLOATING
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.scalar import convert_into, converted
from opweave.registry.spec import contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2

#: `native(image, grid, mode, padding, align_corners, out, None, None, None)` writes the image at the places of a grid
#: to `out`; `native(image, grid, mode, padding, align_corners, None, grad, of_image, of_grid)` adds the gradient of the
#: image to zeros and writes that of the grid. All are row-major arrays of float32 or float64 with elements.
#: False where there is no code for that. `opweave` supplies it.
native: Hook[[Any, Any, int, int, bool, Any, Any, Any, Any], bool] = Hook()
#: Elements of an image up to which int32 numbers them.
_MOST_ELEMENTS = 1 << 31


# ---- places --------------------------------------------------------------------------------------------------------


def _unnormalized(at: Tensor, size: int, align_corners: bool) -> Tensor:
    """Places of [-1, 1] in elements: -1 and 1 are the centres of the outer elements, or the outer edges."""
    if align_corners:
        return aten.mul.Tensor(aten.add.Tensor(at, 1), (size - 1) / 2)
    return aten.div.Tensor(aten.sub.Tensor(aten.mul.Tensor(aten.add.Tensor(at, 1), size), 1), 2)


def _limited(at: Tensor, size: int) -> Tensor:
    """Places moved to the border, which has no slope itself; NaN to the first."""
    low = aten.where(aten.gt(at, 0), at, 0.0)
    return aten.where(aten.lt(low, size - 1), low, aten.full_like.default(low, size - 1))


def _reflected(at: Tensor, size: int, align_corners: bool) -> Tensor:
    """Places mirrored at the outer elements' centres (edges) until they are between them."""
    twice, low = (2 * (size - 1), 0.0) if align_corners else (2 * size, -0.5)
    if twice == 0:
        return aten.mul.Tensor(at, 0.0)
    far = aten.abs.default(aten.sub.Tensor(at, low))
    over = aten.sub.Tensor(far, aten.mul.Tensor(aten.trunc.default(aten.div.Tensor(far, twice)), twice))
    back = aten.add.Tensor(aten.neg.default(over), twice)
    return aten.add.Tensor(aten.minimum.default(over, back), low)


def _brought_in(at: Tensor, size: int, padding_mode: int, align_corners: bool) -> Tensor:
    if padding_mode == REFLECTION:
        at = _reflected(at, size, align_corners)
    return at if padding_mode == ZEROS else _limited(at, size)


def _inside(places: Sequence[Tensor], sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Whether whole places of each dimension are inside, and which element of the flattened image is there, if so."""
    inside: Any = None
    for at, size in zip(places, sizes, strict=True):
        within = aten.logical_and.default(aten.ge(at, 0), aten.lt(at, size))
        inside = within if inside is None else aten.logical_and.default(inside, within)
    flat: Any = None
    for at, size in zip(places, sizes, strict=True):
        place = rounded(aten.where(inside, at, 0.0), dtypes.int64)
        flat = place if flat is None else aten.add.Tensor(aten.mul.Tensor(flat, size), place)
    return aten.unsqueeze.default(inside, 1), aten.unsqueeze.default(flat, 1)


def _numbers(input: Tensor, flat: Tensor) -> list[Tensor]:
    """Index tensors of the elements of (batch, channels, elements) that are meant in each example and channel."""
    ones = [1] * (flat.ndim - 2)
    batch, channel = (
        aten.view.default(aten.arange.default(n, dtype=dtypes.int64, device=input._device), shape)
        for n, shape in ((input._sizes[0], [-1, 1, *ones]), (input._sizes[1], [1, -1, *ones]))
    )
    return [batch, channel, flat]


def _flattened(input: Tensor) -> Tensor:
    return aten.view.default(input, [*input._sizes[:2], math.prod(input._sizes[2:])])


def _at(input: Tensor, places: Sequence[Tensor]) -> Tensor:
    """(batch, channels, *places) of the image's elements at whole places of each dimension, 0 outside."""
    inside, flat = _inside(places, input._sizes[2:])
    found = aten.index.Tensor(_flattened(input), _numbers(input, flat))
    return aten.where(inside, found, 0.0)


def _between_corners(source: Tensor, places: Sequence[Tensor]) -> Tensor:
    """The mean of the elements around each place, by how near they are."""
    before = [aten.floor.default(at) for at in places]
    behind = [aten.add.Tensor(at, 1) for at in before]
    to_before = [aten.sub.Tensor(at, low) for at, low in zip(places, before, strict=True)]
    to_behind = [aten.sub.Tensor(high, at) for at, high in zip(places, behind, strict=True)]
    total: Any = None
    for far in itertools.product((False, True), repeat=len(places)):
        corner = [b if is_far else a for a, b, is_far in zip(before, behind, far, strict=True)]
        shares = [a if is_far else b for a, b, is_far in zip(to_before, to_behind, far, strict=True)]
        weight = functools.reduce(aten.mul.Tensor, shares)
        part = aten.mul.Tensor(_at(source, corner), aten.unsqueeze.default(weight, 1))
        total = part if total is None else aten.add.Tensor(total, part)
    return total


def _check_grid(op: str, input: Tensor, grid: Tensor, mode: int, padding_mode: int) -> None:
    """Whether the arguments are an image of as many dimensions as a place has, and a grid for it."""
    both, spatial = [input, grid], 3 if op.startswith("grid_sampler_3d") else 2
    if mode not in (BILINEAR, NEAREST, BICUBIC) or padding_mode not in (ZEROS, BORDER, REFLECTION):
        raise ArgumentError(
            f"{op}: unknown mode", got=f"interpolation_mode={mode}, padding_mode={padding_mode}",
            hint="modes are bilinear, nearest, bicubic; paddings zeros, border, reflection",
        )  # fmt: skip
    if mode == BICUBIC and spatial == 3:
        raise ShapeError(f"{op}: bicubic is for images", got=describe(both), hint="bilinear")
    if input._dtype not in FLOATING or grid._dtype is not input._dtype:
        raise DTypeError(f"{op}: image and grid must have one floating type", got=describe(both))
    wanted = spatial + 2
    if input.ndim != wanted or grid.ndim != wanted or grid._sizes[-1] != spatial or grid._sizes[0] != input._sizes[0]:
        image, places = ("depth, height", "depth, rows") if spatial == 3 else ("height", "rows")
        raise ShapeError(
            f"{op}: expected an image (batch, channels, {image}, width) and a grid (batch, {places}, columns,"
            f" {spatial})",
            got=describe(both),
        )
    if any(n == 0 for n in input._sizes[2:]):
        raise ShapeError(f"{op}: the image has no elements", got=describe(both))


def _places_of(grid: Tensor, sizes: Sequence[int], align_corners: bool) -> list[Tensor]:
    """The places of a grid in elements, in the order of the image's dimensions; a grid has the last one first."""
    wide = widened(aten.contiguous.default(grid))
    last = len(sizes) - 1
    return [_unnormalized(aten.select.int(wide, -1, last - d), size, align_corners) for d, size in enumerate(sizes)]


def _cubic(share: Tensor) -> list[Tensor]:
    """The weights of the four elements around a place (Keys 1981, with a = -0.75)."""
    a = -0.75

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    rest = 1 - share  # type: ignore[operator]  # bound by the surface
    return [far(share + 1), near(share), near(rest), far(rest + 1)]  # type: ignore[operator]


def _takes(input: Tensor, grid: Tensor) -> bool:
    """Whether native code does it, the arguments being right."""
    is_plain = all(t._device.is_host and t.numel() for t in (input, grid))
    return native.call is not None and is_plain and math.prod(input._sizes[2:]) < _MOST_ELEMENTS


def _plain(t: Tensor) -> Any:
    """The elements row-major, half types as float32."""
    array = t._array
    wide = t._dtype.compute.numpy
    return np.ascontiguousarray(array if array.dtype == wide else converted(array, wide))


def _sampled_natively(
    op: str, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor | None:
    _check_grid(op, input, grid, interpolation_mode, padding_mode)
    if not _takes(input, grid):
        return None
    out = allocate_like(contiguous((*input._sizes[:2], *grid._sizes[1:-1]), input._dtype, input._device))
    image = _plain(input)
    wide = out._array if image.dtype == out._array.dtype else np.empty(out._sizes, image.dtype)
    assert native.call is not None
    how = interpolation_mode, padding_mode, bool(align_corners)
    if not native.call(image, _plain(grid), *how, wide, None, None, None):
        return None
    if wide is not out._array:
        convert_into(out._array, wide)
    return out


@composite(
    "aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners)"
    " -> Tensor",
    explicit=True,
    of_rows=functools.partial(_sampled_natively, "grid_sampler_2d"),
    autocast={"cpu": "fp32"},
    outs="out",
)
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """The image at the places (x, y) of a grid, -1 and 1 being its borders."""
    _check_grid("grid_sampler_2d", input, grid, interpolation_mode, padding_mode)
    if interpolation_mode != BICUBIC:
        return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)
    source = widened(aten.contiguous.default(input))
    y, x = _places_of(grid, input._sizes[2:], align_corners)
    height, width = input._sizes[2:]
    options = padding_mode, align_corners
    left, top = aten.floor.default(x), aten.floor.default(y)
    across, down = _cubic(aten.sub.Tensor(x, left)), _cubic(aten.sub.Tensor(y, top))
    total: Any = None
    for i, weight in enumerate(down):
        row = _brought_in(aten.add.Tensor(top, i - 1), height, *options)
        line: Any = None
        for j, other in enumerate(across):
            column = _brought_in(aten.add.Tensor(left, j - 1), width, *options)
            # A place mirrored at an edge may lie on it.
            part = _at(source, [aten.floor.default(row), aten.floor.default(column)])
            part = aten.mul.Tensor(part, aten.unsqueeze.default(other, 1))
            line = part if line is None else aten.add.Tensor(line, part)
        line = aten.mul.Tensor(line, aten.unsqueeze.default(weight, 1))
        total = line if total is None else aten.add.Tensor(total, line)
    return rounded(total, input._dtype)


def _sampled(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """The nearest elements, or the means of those around, of an image of any number of dimensions."""
    source, sizes = widened(aten.contiguous.default(input)), input._sizes[2:]
    places = _places_of(grid, sizes, align_corners)
    places = [_brought_in(at, n, padding_mode, align_corners) for at, n in zip(places, sizes, strict=True)]
    if interpolation_mode == NEAREST:
        found = _at(source, [aten.round.default(at) for at in places])
    else:
        found = _between_corners(source, places)
    return rounded(found, input._dtype)


@composite(
    "aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners)"
    " -> Tensor",
    explicit=True,
    of_rows=functools.partial(_sampled_natively, "grid_sampler_3d"),
    autocast={"cpu": "fp32"},
    outs="out",
)
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """The volume at the places (x, y, z) of a grid, -1 and 1 being its borders."""
    _check_grid("grid_sampler_3d", input, grid, interpolation_mode, padding_mode)
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)


@composite(
    "aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners)"
    " -> Tensor",
    autocast={"cpu": "fp32", "cuda": "promote"},
)
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    op = aten.grid_sampler_3d if input.ndim == 5 else aten.grid_sampler_2d
    return op.default(input, grid, interpolation_mode, padding_mode, align_corners)


# ---- gradients -----------------------------------------------------------------------------------------------------


class _Tap(NamedTuple):
    """An element that has a share in a place, along one dimension.

    Attributes
    ----------
    at : Tensor
        Which one.
    weight, slope : Tensor
        Its share, and how fast that changes with the place.
    """

    at: Tensor
    weight: Tensor
    slope: Tensor


def _taps(at: Tensor, size: int, mode: int, padding_mode: int, align_corners: bool) -> list[_Tap]:
    """The elements along one dimension that have a share in places, which are in elements."""
    slope = (size - 1) / 2 if align_corners else size / 2
    if mode != BICUBIC:
        place, speed = _brought_in_at_speed(at, slope, size, padding_mode, align_corners)
        if mode == NEAREST:
            return [_Tap(aten.round.default(place), aten.ones_like.default(place), aten.zeros_like.default(place))]
        before = aten.floor.default(place)
        behind = aten.add.Tensor(before, 1)
        return [
            _Tap(before, aten.sub.Tensor(behind, place), aten.neg.default(speed)),
            _Tap(behind, aten.sub.Tensor(place, before), speed),
        ]
    first = aten.floor.default(at)
    share = aten.sub.Tensor(at, first)
    found = []
    for number, (weight, change) in enumerate(zip(_cubic(share), _cubic_slopes(share), strict=True)):
        place = _brought_in(aten.add.Tensor(first, number - 1), size, padding_mode, align_corners)
        found.append(_Tap(aten.floor.default(place), weight, aten.mul.Tensor(change, slope)))
    return found


def _cubic_slopes(share: Tensor) -> list[Tensor]:
    """The derivatives of `_cubic`."""
    a = -0.75

    def near(x: Any) -> Any:
        return (3 * (a + 2) * x - 2 * (a + 3)) * x

    def far(x: Any) -> Any:
        return (3 * a * x - 10 * a) * x + 8 * a

    rest = 1 - share  # type: ignore[operator]  # bound by the surface
    return [far(share + 1), near(share), -near(rest), -far(rest + 1)]  # type: ignore[operator]


def _brought_in_at_speed(
    at: Tensor, slope: float, size: int, padding_mode: int, align_corners: bool
) -> tuple[Tensor, Tensor]:
    """`_brought_in`, and how fast that changes with what the grid has."""
    speed = aten.full_like.default(at, slope)
    if padding_mode == REFLECTION:
        twice, low = (2 * (size - 1), 0.0) if align_corners else (2 * size, -0.5)
        moved = aten.sub.Tensor(at, low)
        if twice:
            far = aten.abs.default(moved)
            over = aten.sub.Tensor(far, aten.mul.Tensor(aten.trunc.default(aten.div.Tensor(far, twice)), twice))
            back = aten.add.Tensor(aten.neg.default(over), twice)
            turned = aten.logical_xor.default(aten.lt.Tensor(over, back), aten.lt.Scalar(moved, 0))
            speed = aten.where.self(turned, speed, aten.neg.default(speed))
        else:
            speed = aten.zeros_like.default(speed)
        at = _reflected(at, size, align_corners)
    if padding_mode == ZEROS:
        return at, speed
    between = aten.logical_and.default(aten.gt.Scalar(at, 0), aten.lt.Scalar(at, size - 1))
    return _limited(at, size), aten.where(between, speed, 0.0)


def _gradients(
    op: str, grad: Tensor, input: Tensor, grid: Tensor, mode: int, padding_mode: int, align_corners: bool,
    mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:  # fmt: skip
    """Those of image and grid; None for what is not asked for."""
    _check_grid(op, input, grid, mode, padding_mode)
    if grad._sizes != (*input._sizes[:2], *grid._sizes[1:-1]) or grad._dtype is not input._dtype:
        raise ShapeError(f"{op}: the gradient is not that of the result", got=describe([grad, input, grid]))
    source, above, sizes = widened(aten.contiguous.default(input)), widened(grad), input._sizes[2:]
    places = _places_of(grid, sizes, align_corners)
    taps = [_taps(at, size, mode, padding_mode, align_corners) for at, size in zip(places, sizes, strict=True)]
    of_input: Any = aten.zeros_like.default(_flattened(source))
    of_places: list[Any] = [aten.zeros_like.default(at) for at in places]
    for corner in itertools.product(*taps):
        inside, flat = _inside([tap.at for tap in corner], sizes)
        if mask[0]:
            weight = functools.reduce(aten.mul.Tensor, [tap.weight for tap in corner])
            part = aten.where(inside, aten.mul.Tensor(above, aten.unsqueeze.default(weight, 1)), 0.0)
            of_input = aten.index_put.default(of_input, _numbers(input, flat), part, True)
        if mask[1] and mode != NEAREST:
            value = aten.mul.Tensor(above, _at(source, [tap.at for tap in corner]))
            total = aten.sum.dim_IntList(value, [1])
            for d in range(len(sizes)):
                shares = [tap.slope if d == other else tap.weight for other, tap in enumerate(corner)]
                of_places[d] = aten.add.Tensor(of_places[d], functools.reduce(aten.mul.Tensor, [total, *shares]))
    return (
        rounded(aten.view.default(of_input, list(input._sizes)), input._dtype) if mask[0] else None,
        rounded(aten.stack.default(of_places[::-1], -1), grid._dtype) if mask[1] else None,
    )


def _gradients_natively(
    op: str, grad_output: Tensor, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None] | None:  # fmt: skip
    _check_grid(op, input, grid, interpolation_mode, padding_mode)
    fits = grad_output._sizes == (*input._sizes[:2], *grid._sizes[1:-1]) and grad_output._dtype is input._dtype
    if not (fits and grad_output._device.is_host and _takes(input, grid)):
        return None
    image = _plain(input)
    wide = [np.zeros(t._sizes, image.dtype) for t in (input, grid)]
    assert native.call is not None
    how = interpolation_mode, padding_mode, bool(align_corners)
    if not native.call(image, _plain(grid), *how, None, _plain(grad_output), *wide):
        return None
    found: list[Tensor | None] = []
    for t, array, is_wanted in zip((input, grid), wide, output_mask, strict=True):
        made = allocate_like(contiguous(t._sizes, t._dtype, t._device)) if is_wanted else None
        if made is not None:
            convert_into(made._array, array)
        found.append(made)
    return found[0], found[1]


def _declare_gradients(dims: int, forward: CompositeDecl) -> None:
    name = f"grid_sampler_{dims}d_backward"

    @composite(
        f"aten::{name}(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode,"
        " bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)",
        explicit=True,
        of_rows=functools.partial(_gradients_natively, name),
    )
    def backward(
        grad_output: Tensor, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int,
        align_corners: bool, output_mask: Sequence[bool],
    ) -> tuple[Tensor | None, Tensor | None]:  # fmt: skip
        return _gradients(
            name, grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask
        )  # fmt: skip

    @backward.with_samples
    def _(make: Make) -> Samples:
        sizes, places = (4, 5, 3)[:dims], (2, 3, 2)[:dims]
        for mode in (BILINEAR, NEAREST, BICUBIC)[: 5 - dims]:
            for padding in (ZEROS, BORDER, REFLECTION):
                grid = make(2, *places, dims, low=-1.7, high=1.7)
                yield (make(2, 3, *places), make(2, 3, *sizes), grid, mode, padding, padding == mode, [True, True]), {}
        yield (make(1, 2, *places), make(1, 2, *sizes), make(1, *places, dims), 0, 0, False, [False, True]), {}

    backward.sample_dtypes = FLOATING

    @forward.backward
    def _(
        grad: Tensor, needs: Sequence[bool], input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int,
        align_corners: bool,
    ) -> tuple[Tensor | None, ...]:  # fmt: skip
        return backward.op(grad, input, grid, interpolation_mode, padding_mode, align_corners, list(needs[:2]))


_declare_gradients(2, grid_sampler_2d)
_declare_gradients(3, grid_sampler_3d)


# ---- samples -------------------------------------------------------------------------------------------------------


@grid_sampler_2d.with_samples
def _(make: Make) -> Samples:
    for mode in (BILINEAR, NEAREST, BICUBIC):
        for padding in (ZEROS, BORDER, REFLECTION):
            yield (make(2, 3, 4, 5), make(2, 2, 3, 2, low=-1.7, high=1.7), mode, padding, padding == mode), {}
    yield (make(1, 2, 4, 5), make(1, 0, 3, 2), 0, 0, False), {}


@grid_sampler_3d.with_samples
def _(make: Make) -> Samples:
    for mode in (BILINEAR, NEAREST):
        for padding in (ZEROS, BORDER, REFLECTION):
            yield (make(2, 3, 2, 4, 5), make(2, 1, 2, 3, 3, low=-1.7, high=1.7), mode, padding, padding == mode), {}
    yield (make(1, 2, 3, 4, 5), make(1, 2, 0, 3, 3), 0, 0, False), {}


@grid_sampler.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3, 4, 5), make(2, 2, 3, 2, low=-1.5, high=1.5), 0, 0, False), {}
    yield (make(2, 3, 2, 4, 5), make(2, 1, 2, 3, 3, low=-1.5, high=1.5), 0, 0, False), {}


for _decl in (grid_sampler_2d, grid_sampler_3d, grid_sampler):
    _decl.sample_dtypes = FLOATING
