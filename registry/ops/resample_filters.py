"""Images at other sizes as weighted sums along one dimension after the other: by cubics, with antialiasing, of bytes.

For each element of a dimension of the result there are places and weights, which follow from the sizes. Bytes are added
up in whole numbers, by weights that are rounded to a fixed number of binary digits, as PyTorch and Pillow do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.dataclass import dataclass
from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.loading import load_heavy
from opweave.registry.op import ops
from opweave.registry.ops.copies import format_of, laid_out, rounded, spec_like, widened
from opweave.registry.ops.kinds import CompositeDecl, composite
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.symbolic import Symbolic, whole
from opweave.registry.tensor import Tensor, allocate_like, describe

Sizes = Sequence[int]
aten = ops.aten
FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
#: The digits that a weight of bytes is rounded to fit in, with its sign: 16 bits.
_MOST_DIGITS, _WEIGHT_LIMIT = 22, 1 << 15


def check_image(op: str, self: Tensor, output_size: Sizes, types: Sequence[DType]) -> None:
    if self._dtype not in types:
        raise DTypeError(f"{op}: not defined for {self._dtype.name}", got=describe(self), hint="convert first")
    if self.ndim != 4 or len(output_size) != 2:
        raise ShapeError(
            f"{op}: expected an image (batch, channels, height, width) and two output sizes",
            got=f"{describe(self)}, output_size={list(output_size)}",
        )
    if any(n == 0 for n in self._sizes[1:]) or any(n < 1 for n in output_size):
        raise ShapeError(f"{op}: only the batch may be empty", got=f"{describe(self)}, output_size={list(output_size)}")


def chosen_sizes(op: str, input: Tensor, output_size: Sizes | None, scale_factors: Sequence[float] | None) -> list[int]:
    """The output sizes that are given, or follow from scale factors."""
    if (output_size is None) == (scale_factors is None):
        raise ShapeError(
            f"{op}: give either output_size or scale_factors",
            got=f"output_size={output_size}, scale_factors={scale_factors}",
        )
    given: Any = output_size if output_size is not None else scale_factors
    if input.ndim != 4 or len(given) != 2:
        raise ShapeError(f"{op}: expected a 4-d image and two numbers", got=f"{describe(input)}, {list(given)}")
    if output_size is not None:
        return list(output_size)
    return [whole(size * factor) for size, factor in zip(input._sizes[2:], given, strict=True)]


@dataclass(frozen=True)
class Filter:
    """How an element of the result is mixed from its neighbours.

    Attributes
    ----------
    taps : int
        How many neighbours an enlarged image takes.
    antialias : bool
        Whether a reduced image takes all elements that its own cover.
    """

    taps: int
    antialias: bool

    def value(self, x: Tensor) -> Tensor:
        """The weight of a neighbour at this distance, with antialiasing."""
        far = aten.abs.default(x)
        if self.taps == 2:
            return aten.clamp.default(aten.rsub.Scalar(far, 1), 0, None)
        a = -0.5  # as Pillow has it; without antialiasing it is -0.75
        inner = _polynomial(far, [a + 2, -(a + 3), 0.0, 1.0])
        outer = aten.where(aten.lt.Scalar(far, 2), _polynomial(far, [a, -5 * a, 8 * a, -4 * a]), 0.0)
        return aten.where(aten.lt.Scalar(far, 1), inner, outer)


def _polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    total: Any = coefficients[0]
    for c in coefficients[1:]:
        total = aten.add.Scalar(aten.mul.Tensor(x, total), c)
    return total


@dataclass(frozen=True)
class Axis:
    """A dimension of an image and of the result.

    Attributes
    ----------
    size, count : int
        Of the image, of the result.
    align_corners : bool
        Whether the outer elements are where the image has them.
    factor : float, optional
        What the size was multiplied by.
    """

    size: int
    count: int
    align_corners: bool
    factor: float | None

    @property
    def step(self) -> Any:
        """How far elements of the result are from each other, in elements of the image."""
        if self.align_corners:
            return (self.size - 1) / (self.count - 1) if self.count > 1 else 0.0
        return 1.0 / self.factor if self.factor is not None and self.factor > 0 else self.size / self.count


def _weights(axis: Axis, kernel: Filter, dtype: DType, like: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
    """(places, weights, which count), of (elements of the result, neighbours)."""
    line = aten.arange.default(axis.count, dtype=dtype, device=like._device)
    if kernel.antialias:
        return _covering(axis, kernel, aten.unsqueeze.default(line, 1), like)
    if axis.align_corners:
        at = aten.mul.Tensor(line, axis.step)
    else:
        at = aten.sub.Tensor(aten.mul.Tensor(aten.add.Tensor(line, 0.5), axis.step), 0.5)
        if kernel.taps == 2:
            at = aten.clamp.default(at, 0.0, None)
    base = aten.clamp.default(aten.floor.default(at), None, axis.size - 1)
    share = aten.unsqueeze.default(aten.clamp.default(aten.sub.Tensor(at, base), 0.0, 1.0), 1)
    rest = aten.rsub.Scalar(share, 1)
    if kernel.taps == 2:
        weights = [rest, share]
    else:
        a = -0.75
        near, far = [a + 2, -(a + 3), 0.0, 1.0], [a, -5 * a, 8 * a, -4 * a]
        weights = [
            _polynomial(aten.add.Tensor(share, 1), far), _polynomial(share, near), _polynomial(rest, near),
            _polynomial(aten.add.Tensor(rest, 1), far),
        ]  # fmt: skip
    first = aten.sub.Tensor(aten.unsqueeze.default(rounded(base, dtypes.int64), 1), kernel.taps // 2 - 1)
    taps = aten.arange.default(kernel.taps, dtype=dtypes.int64, device=like._device)
    places = aten.clamp.default(aten.add.Tensor(first, taps), 0, axis.size - 1)
    return places, aten.cat.default(weights, 1), None


def _covering(axis: Axis, kernel: Filter, line: Tensor, like: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
    """All elements that an element of the result covers, weighted by the filter and normalised."""
    step = axis.step
    wide = step if step > 1.0 else 1.0
    support = kernel.taps // 2 * wide
    if isinstance(support, Symbolic):  # of sizes alone, so that whole numbers bound it
        size, count = (axis.size - 1, axis.count - 1) if axis.align_corners else (axis.size, axis.count)
        most = int(kernel.taps * ((size + count - 1) // count) + 1)  # a new kernel for each number
    else:
        most = math.ceil(support) * 2 + 1
    centre = aten.mul.Tensor(aten.add.Tensor(line, 0.5), step)

    # In whole numbers, so that code that computes the ends twice finds the same; at an end the weight is 0.
    if axis.factor is not None and axis.factor > 0 and not axis.align_corners:
        over, under = load_heavy("fractions").Fraction(step).limit_denominator(4096).as_integer_ratio()
    elif axis.align_corners:
        over, under = (axis.size - 1, axis.count - 1) if axis.count > 1 else (0, 1)
    else:
        over, under = axis.size, axis.count
    reach = kernel.taps * (over if step > 1.0 else under)
    middle = aten.mul.Tensor(aten.add.Scalar(aten.mul.Tensor(rounded(line, dtypes.int64), 2), 1), over)

    def end(by: Any) -> Tensor:
        return aten.floor_divide.default(aten.add.Tensor(middle, by + under), 2 * under)

    first = aten.clamp.default(end(-reach), 0, None)
    stop = aten.clamp.default(end(reach), None, axis.size)
    taps = aten.arange.default(most, dtype=dtypes.int64, device=like._device)
    places = aten.add.Tensor(first, taps)
    valid = aten.lt.Tensor(places, stop)
    distance = aten.add.Tensor(aten.sub.Tensor(rounded(places, line._dtype), centre), 0.5)
    weights = aten.where(valid, kernel.value(aten.mul.Tensor(distance, 1.0 / wide)), 0.0)
    weights = aten.div.Tensor(weights, aten.sum.dim_IntList(weights, [1], True))
    return aten.clamp.default(places, None, axis.size - 1), weights, valid


# ---- sums ----------------------------------------------------------------------------------------------------------


def _whole_weights(places: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """(weights as whole numbers, by how many binary digits), as many digits as fit."""
    # A place at the border that is taken more than once has one weight, which is rounded once.
    same = aten.eq.Tensor(aten.unsqueeze.default(places, 2), aten.unsqueeze.default(places, 1))
    total = aten.sum.dim_IntList(aten.where(same, aten.unsqueeze.default(weights, 1), 0.0), [2])
    again = aten.any.dim(aten.tril.default(same, -1), 2)
    weights = aten.where(again, 0.0, total)
    largest = aten.amax.default(weights, [])
    digits = aten.arange.default(_MOST_DIGITS, dtype=dtypes.float64, device=weights._device)
    next_up = aten.floor.default(aten.add.Tensor(aten.mul.Tensor(aten.exp2.default(digits + 1), largest), 0.5))  # type: ignore[operator]
    precision = aten.sum.default(aten.lt.Scalar(next_up, _WEIGHT_LIMIT))
    scaled = aten.mul.Tensor(weights, aten.exp2.default(rounded(precision, dtypes.float64)))
    nearest = aten.trunc.default(aten.add.Tensor(scaled, aten.mul.Tensor(aten.sign.default(scaled), 0.5)))
    return rounded(nearest, dtypes.int64), precision


def _changed(axes: Sequence[Axis], kernel: Filter, bytes_: bool) -> list[tuple[int, Axis]]:
    """(dimension, axis) of what is resized, columns first."""
    both = [(3, axes[1]), (2, axes[0])]
    if not kernel.antialias and not bytes_:
        return both
    # PyTorch leaves a size that does not change as it is here, whatever the factor was.
    return [(dim, a) for dim, a in both if isinstance(a.count, Symbolic) or a.count != a.size]


def _resized(self: Tensor, axes: Sequence[Axis], kernel: Filter) -> Tensor:
    """The image with its last two dimensions resized, columns first."""
    bytes_, layout = self._dtype.kind == "u", format_of(self)
    changed = _changed(axes, kernel, bytes_)
    if not changed:
        return aten.clone.default(self, memory_format=layout)
    found = laid_out(self, layout)
    if not bytes_:
        found = widened(found)
    for dim, axis in changed:
        places, weights, valid = _weights(axis, kernel, dtypes.float64 if bytes_ else found._dtype, self)
        shape = [-1, places._sizes[1]] if dim == 3 else [-1, places._sizes[1], 1]
        digits: Any = None
        if bytes_:
            weights, digits = _whole_weights(places, weights)
            found = rounded(found, dtypes.int64)
        near = aten.index.Tensor(found, [*[None] * dim, places])
        parts = aten.mul.Tensor(near, aten.view.default(weights, shape))
        if valid is not None and not bytes_:
            parts = aten.where(aten.view.default(valid, shape), parts, 0.0)  # 0 times infinity is no 0
        found = aten.sum.dim_IntList(parts, [dim + 1])
        if digits is not None:
            half = aten.bitwise_left_shift.Tensor(aten.ones_like.default(digits), digits - 1)
            found = aten.bitwise_right_shift.Tensor(aten.add.Tensor(found, half), digits)
            found = aten.clamp.default(found, 0, 255)
    return laid_out(rounded(found, self._dtype), layout)


def _eager(self: Tensor, axes: Sequence[Axis], kernel: Filter) -> Tensor:
    """The same, neighbour by neighbour, all elements at once."""
    xp = self._device.xp
    bytes_ = self._dtype.kind == "u"
    found = self._array.astype(np.int64 if bytes_ else self._dtype.compute.numpy, copy=False)
    out = allocate_like(spec_like(self, (*self._sizes[:2], axes[0].count, axes[1].count)))
    with np.errstate(all="ignore"):
        for dim, axis in _changed(axes, kernel, bytes_):
            dtype = dtypes.float64 if bytes_ else self._dtype.compute
            places, weights, valid = _weights(axis, kernel, dtype, self)
            digits = 0
            if bytes_:
                weights, precision = _whole_weights(places, weights)
                digits = int(precision._array)
            total: Any = None
            for tap in range(places._sizes[1]):
                by = weights._array[:, tap].reshape(-1, *(1,) * (3 - dim))
                part = found.take(places._array[:, tap], axis=dim)
                part *= by
                if valid is not None and not bytes_:
                    part = xp.where(valid._array[:, tap].reshape(by.shape), part, part.dtype.type(0))
                total = part if total is None else total + part
            found = xp.clip((total + (1 << (digits - 1))) >> digits, 0, 255) if bytes_ else total
        out._array[...] = found
    return out


def resized(
    op: str, self: Tensor, output_size: Sizes, align_corners: bool, scales: Sequence[float | None], kernel: Filter,
    eager: bool = False,
) -> Tensor:  # fmt: skip
    """An image at another size, by a filter.

    Parameters
    ----------
    op : str
        The name in errors.
    self : Tensor
        (batch, channels, height, width), floating or uint8.
    output_size : sequence of int
    align_corners : bool
    scales : (float or None, float or None)
        What the sizes were multiplied by.
    kernel : Filter
    eager : bool
        Whether to compute it at once, rather than with ops.
    """
    check_image(op, self, output_size, (*FLOATING, dtypes.uint8))
    axes = [Axis(self._sizes[d + 2], output_size[d], align_corners, scales[d]) for d in range(2)]
    return (_eager if eager else _resized)(self, axes, kernel)


# ---- the ops -------------------------------------------------------------------------------------------------------


def _declare(name: str, kernel: Filter) -> tuple[CompositeDecl, CompositeDecl]:
    def eager(
        self: Tensor, output_size: Sizes, align_corners: bool, scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:  # fmt: skip
        return resized(name, self, output_size, align_corners, (scales_h, scales_w), kernel, eager=True)

    @composite(
        f"aten::{name}(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None,"
        " float? scales_w=None) -> Tensor",
        explicit=True, kernel=eager, autocast={"cuda": "fp32"}, outs="out"
    )  # fmt: skip
    def resize(
        self: Tensor, output_size: Sizes, align_corners: bool, scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:  # fmt: skip
        return resized(name, self, output_size, align_corners, (scales_h, scales_w), kernel)

    @composite(
        f"aten::{name}.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? scale_factors) -> Tensor",
    )
    def chosen(
        input: Tensor, output_size: Sizes | None, align_corners: bool, scale_factors: Sequence[float] | None
    ) -> Tensor:
        sizes = chosen_sizes(name, input, output_size, scale_factors)
        return resize.op(input, sizes, align_corners, *(scale_factors or (None, None)))

    return resize, chosen


upsample_bicubic2d, upsample_bicubic2d_vec = _declare("upsample_bicubic2d", Filter(4, False))
upsample_bilinear2d_aa, upsample_bilinear2d_aa_vec = _declare("_upsample_bilinear2d_aa", Filter(2, True))
upsample_bicubic2d_aa, upsample_bicubic2d_aa_vec = _declare("_upsample_bicubic2d_aa", Filter(4, True))


# ---- samples -------------------------------------------------------------------------------------------------------

for _decl in (upsample_bicubic2d, upsample_bilinear2d_aa, upsample_bicubic2d_aa):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        yield (make(2, 3, 5, 4), [3, 7], False), {}
        yield (make(2, 3, 5, 4), [7, 2], True), {}

    _decl.sample_dtypes = (dtypes.float32,)
