"""Sums, means, extrema and products of the segments that a dimension is cut into.

Segments follow each other and are told by their lengths, or by where they begin and where the last one ends. Half types
are computed in float32 and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from opweave.registry.op import ops
from opweave.registry.ops.copies import rounded, widened
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import as_element
from opweave.registry.scalar import convert_into, converted
from opweave.registry.spec import contiguous
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten
_SUM, _MEAN, _MAX, _MIN, _PROD = "sum", "mean", "max", "min", "prod"
#: Reductions by the names that they are called by.
_REDUCTIONS = {_SUM: _SUM, _MEAN: _MEAN, _MAX: _MAX, _MIN: _MIN, _PROD: _PROD, "amax": _MAX, "amin": _MIN}
#: What a segment without elements gives.
_IDENTITY = {_SUM: 0.0, _MEAN: 0.0, _MAX: -math.inf, _MIN: math.inf, _PROD: 1.0}
_PLACES = (dtypes.int64, dtypes.int32)
_UFUNCS = {_SUM: np.add, _MEAN: np.add, _MAX: np.maximum, _MIN: np.minimum, _PROD: np.multiply}
#: Of so many rows of lengths each has a loop of its own.
_ROWS = 4096


def _bounds(data: Tensor, lengths: Tensor | None, offsets: Tensor | None, axis: int) -> tuple[Tensor | None, Tensor]:
    """(where each segment begins, or None if the first one begins at 0; where it ends), after checking arguments."""
    given = offsets if lengths is None else lengths
    if given is None:
        raise ArgumentError("segment_reduce: lengths or offsets must be given")
    name = "offsets" if lengths is None else "lengths"
    got = describe([data, given])
    if data._dtype.kind != "f":
        raise DTypeError("segment_reduce: defined for floating types only", got=got)
    if given._dtype not in _PLACES:
        raise DTypeError(f"segment_reduce: {name} must be int32 or int64", got=got)
    if not given.ndim or data.ndim < given.ndim or given._sizes[:-1] != data._sizes[: given.ndim - 1]:
        raise ShapeError(f"segment_reduce: {name} begin with dimensions of data", got=got)
    if wrap_dim(axis, data.ndim, "segment_reduce") != given.ndim - 1:
        raise ShapeError(
            f"segment_reduce: the axis must be the last dimension of {name}", got=f"{got}, axis={axis}",
            hint="segments of another dimension differ by what is before it: expand the lengths",
        )  # fmt: skip
    if lengths is not None:
        return None, aten.cumsum.default(lengths, -1)
    if not given._sizes[-1]:
        raise ShapeError("segment_reduce: offsets end with the last segment's end", got=got)
    last = given._sizes[-1]
    return aten.slice.Tensor(given, -1, 0, last - 1), aten.slice.Tensor(given, -1, 1, last)


class _Segments:
    """Which segment each element of a tensor is in.

    Attributes
    ----------
    axis, count : int
        The dimension that is cut, and into how many segments.
    counts : Tensor
        The numbers of elements, which broadcast with a result.
    """

    def __init__(self, data: Tensor, lengths: Tensor | None, offsets: Tensor | None, axis: int) -> None:
        starts, ends = _bounds(data, lengths, offsets, axis)
        self.axis = ends.ndim - 1
        self.count, self.length = ends._sizes[-1], data._sizes[self.axis]
        self._rest = data.ndim - ends.ndim
        counts = lengths if lengths is not None else aten.sub.Tensor(ends, starts)
        self.counts = self._beside(counts)
        place = aten.arange.default(self.length, dtype=ends._dtype, device=data._device)
        lines = aten.contiguous.default(aten.expand.default(place, [*ends._sizes[:-1], self.length]))
        number = aten.searchsorted.Tensor(aten.contiguous.default(ends), lines, right=True)
        if starts is not None and self.count:  # what is before the first segment is in none, like what is behind all
            before = aten.lt.Tensor(lines, aten.slice.Tensor(starts, -1, 0, 1))
            number = aten.where.self(before, self.count, number)
        self.number = aten.expand.default(self._beside(number), data._sizes)

    def _beside(self, values: Tensor) -> Tensor:
        """Values of segments or places, to be broadcast over the dimensions behind."""
        return aten.view.default(aten.contiguous.default(values), [*values._sizes, *[1] * self._rest])

    def sizes(self, data: Tensor, more: int = 0) -> list[int]:
        """Of a result; with one more segment, that of the elements which are in none."""
        return [n if d != self.axis else self.count + more for d, n in enumerate(data._sizes)]

    def reduced(self, values: Tensor, initial: float, reduction: str) -> Tensor:
        """The values of each segment combined, and with an initial number."""
        target = aten.new_full.default(values, self.sizes(values, 1), initial)
        if reduction == _SUM:
            found = aten.scatter_add.default(target, self.axis, self.number, values)
        else:
            name = {_MAX: "amax", _MIN: "amin", _PROD: "prod"}[reduction]
            found = aten.scatter_reduce.two(target, self.axis, self.number, values, name)
        return aten.slice.Tensor(found, self.axis, 0, self.count)

    def spread(self, results: Tensor, fill: float) -> Tensor:
        """The result of each element's segment; `fill` for those that are in none."""
        edge = [n if d != self.axis else 1 for d, n in enumerate(results._sizes)]
        wide = aten.cat.default([results, aten.new_full.default(results, edge, fill)], self.axis)
        return aten.gather.default(wide, self.axis, self.number)


def _reduction(reduce: str) -> str:
    if reduce not in _REDUCTIONS:
        raise ArgumentError("segment_reduce: unknown reduction", got=repr(reduce), hint=", ".join(_REDUCTIONS))
    return _REDUCTIONS[reduce]


def _begin(data: Tensor, reduction: str, initial: Any) -> float:
    """What a segment begins with."""
    return _IDENTITY[reduction] if initial is None else float(as_element("segment_reduce", initial, data._dtype))


def _combined(
    data: Tensor, reduce: str, lengths: Tensor | None, offsets: Tensor | None, axis: int, initial: Any
) -> Tensor:
    reduction = _reduction(reduce)
    segments = _Segments(data, lengths, offsets, axis)
    start = _begin(data, reduction, initial)
    found = segments.reduced(widened(data), start, _SUM if reduction == _MEAN else reduction)
    if reduction == _MEAN:
        empty = math.nan if initial is None else start
        is_empty = aten.eq.Scalar(segments.counts, 0)
        found = aten.where(is_empty, empty, aten.div.Tensor(found, aten.where(is_empty, 1, segments.counts)))
    return aten.contiguous.default(rounded(found, data._dtype))


def _segment_reduce_kernel(
    data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None,
    offsets: Tensor | None = None, axis: int = 0, unsafe: bool = False, initial: Any = None,
) -> Tensor:  # fmt: skip
    if lengths is not None and not unsafe:
        _bounds(data, lengths, offsets, axis)
        values = lengths._array
        if values.size and int(values.min()) < 0:
            raise ArgumentError("segment_reduce: a length is negative", got=f"lengths={values.tolist()}")
        if bool((values.sum(-1) != data._sizes[lengths.ndim - 1]).any()):
            raise ArgumentError(
                f"segment_reduce: lengths must sum up to {data._sizes[lengths.ndim - 1]}",
                got=f"lengths={values.tolist()}", hint="unsafe=True leaves out what is behind the last segment",
            )  # fmt: skip
    found = None if indices is not None else _by_arrays(data, reduce, lengths, offsets, axis, initial)
    if found is not None:
        return found
    return segment_reduce.body(
        data, reduce, lengths=lengths, indices=indices, offsets=offsets, axis=axis, unsafe=unsafe, initial=initial
    )


def _by_arrays(
    data: Tensor, reduce: str, lengths: Tensor | None, offsets: Tensor | None, axis: int, initial: Any
) -> Tensor | None:
    """The same by a loop of NumPy's over each row of lengths; None where that is not for the arguments."""
    reduction = _reduction(reduce)
    start, end = _bounds(data, lengths, offsets, axis)
    ends = end._array.reshape(-1, end._sizes[-1]) if end.ndim > 1 else end._array[None]
    if start is not None:
        starts = start._array.reshape(ends.shape)
    else:
        starts = np.concatenate([np.zeros_like(ends[:, :1]), ends[:, :-1]], 1) if data._device.is_host else ends
    outer, length = len(ends), data._sizes[end.ndim - 1]
    if not (data._device.is_host and ends.size and data.numel()) or outer > _ROWS:
        return None
    if int(starts.min()) < 0 or bool((ends < starts).any()) or int(ends.max()) > length:
        return None
    begin = _begin(data, reduction, initial)
    source = converted(data._array, data._dtype.compute.numpy).reshape(outer, length, -1)
    found = np.full((outer, ends.shape[1], source.shape[2]), begin, source.dtype)
    combine: Any = _UFUNCS[reduction]
    counts = ends - starts
    with np.errstate(all="ignore"):
        for row, first, count, stop, into in zip(source, starts, counts, ends[:, -1], found, strict=True):
            filled = count > 0
            if filled.any():
                into[filled] = combine(into[filled], combine.reduceat(row[: int(stop)], first[filled], axis=0))
        if reduction == _MEAN:
            found /= np.maximum(counts, 1)[..., None].astype(found.dtype)
            if initial is None:
                found[counts == 0] = math.nan
        sizes = tuple(ends.shape[1] if d == end.ndim - 1 else n for d, n in enumerate(data._sizes))
        out = allocate_like(contiguous(sizes, data._dtype, data._device))
        convert_into(out._array, found.reshape(sizes))
    return out


@composite(
    "aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None,"
    " Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
    explicit=True,
    kernel=_segment_reduce_kernel,
    outs="out",
)
def segment_reduce(
    data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None,
    offsets: Tensor | None = None, axis: int = 0, unsafe: bool = False, initial: Any = None,
) -> Tensor:  # fmt: skip
    """The sum, mean, largest, least or product of each segment of a dimension, and of an initial number."""
    if indices is not None:
        raise UnsupportedError("segment_reduce: segments are told by lengths or offsets", got=describe(indices))
    return _combined(data, reduce, lengths, offsets, axis, initial)


@composite(
    "aten::_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? lengths=None,"
    " Tensor? offsets=None, int axis=0, Scalar? initial=None) -> Tensor",
    explicit=True,
    outs="out",
)
def segment_reduce_backward(
    grad: Tensor, output: Tensor, data: Tensor, reduce: str, *, lengths: Tensor | None = None,
    offsets: Tensor | None = None, axis: int = 0, initial: Any = None,
) -> Tensor:  # fmt: skip
    """The gradient of the data: of equal extrema each has its share, and none where the initial number is beyond."""
    reduction = _reduction(reduce)
    segments = _Segments(data, lengths, offsets, axis)
    if list(grad._sizes) != segments.sizes(data) or output._sizes != grad._sizes:
        raise ShapeError(
            f"_segment_reduce_backward: expected results of shape {segments.sizes(data)}", got=describe([grad, output])
        )
    if isinstance(initial, int) and not -(2**63) <= initial < 2**64:
        raise DTypeError("_segment_reduce_backward: initial is a number of 64 bits", got=f"initial={initial}")
    wide, values = widened(grad), widened(data)
    if reduction == _MEAN:
        wide = aten.div.Tensor(wide, aten.clamp_min.default(segments.counts, 1))
    if reduction in (_MAX, _MIN):
        best = segments.spread(widened(output), math.nan)
        # The largest of numbers with a NaN among them is each NaN.
        chosen = aten.logical_or.default(aten.eq.Tensor(values, best), aten.isnan.default(values))
        inside = aten.lt.Scalar(segments.number, segments.count)
        chosen = aten._to_copy.default(aten.logical_and.default(chosen, inside), dtype=values._dtype)
        shares = aten.clamp_min.default(segments.reduced(chosen, 0.0, _SUM), 1)
        found = aten.mul.Tensor(segments.spread(aten.div.Tensor(wide, shares), 0.0), chosen)
        # A gradient that is infinite or NaN belongs to what was chosen alone.
        found = aten.where(aten.eq.Scalar(chosen, 0), 0.0, found)
    elif reduction == _PROD:
        found = _without_own(values, segments, wide, _begin(data, reduction, initial))
    else:
        found = segments.spread(wide, 0.0)
    return rounded(found, data._dtype)


def _without_own(values: Tensor, segments: _Segments, grad: Tensor, initial: float) -> Tensor:
    """The gradient of a product: that of all other elements, which no division by a zero or a NaN gives."""

    def among_others(kind: Tensor) -> Tensor:
        own = aten._to_copy.default(kind, dtype=values._dtype)
        return aten.gt.Tensor(segments.spread(segments.reduced(own, 0.0, _SUM), 0.0), own)

    zero, nan = aten.eq.Scalar(values, 0), aten.isnan.default(values)
    plain = aten.where(aten.logical_or.default(zero, nan), 1.0, values)
    rest = segments.spread(segments.reduced(plain, initial, _PROD), 1.0)
    others = aten.where(among_others(zero), 0.0, aten.div.Tensor(rest, plain))
    return aten.mul.Tensor(segments.spread(grad, 0.0), aten.where(among_others(nan), math.nan, others))


def _gradient(
    grad: Tensor, data: Tensor, result: Tensor, reduce: str, lengths: Tensor | None, offsets: Tensor | None, axis: int,
    initial: Any,
) -> Tensor:  # fmt: skip
    return aten._segment_reduce_backward.default(
        grad, result, data, reduce, lengths=lengths, offsets=offsets, axis=axis, initial=initial
    )


segment_reduce.backward(data=_gradient)


# ---- samples -------------------------------------------------------------------------------------------------------


def _numbers(*values: Any) -> Tensor:
    return Tensor._from_array(np.array(values, np.int64))


def _segments_of(make: Make, rows: int) -> Sequence[tuple[Tensor, dict[str, Any]]]:
    return [
        (make(5), {"lengths": _numbers(2, 0, 3)}),
        (make(rows, 6), {"lengths": _numbers(*[[1, 3, 2]] * rows), "axis": 1}),
        (make(4, 2, 2), {"offsets": _numbers(0, 3, 3, 4), "initial": 1}),
        (make(5, 2), {"lengths": _numbers(1, 2), "unsafe": True}),
    ]


@segment_reduce.with_samples
def _(make: Make) -> Samples:
    for reduce in (_SUM, _MEAN, _MAX, _MIN, _PROD):
        for data, options in _segments_of(make, 2):
            yield (data, reduce), {"initial": 0.5, **options}


@segment_reduce_backward.with_samples
def _(make: Make) -> Samples:
    for reduce in (_SUM, _MEAN, _MAX, _MIN, _PROD):
        for data, options in _segments_of(make, 3):
            result = segment_reduce.op(data, reduce, **{"initial": 0.5, **options})
            rest = {name: value for name, value in options.items() if name != "unsafe"}
            yield (make(*result._sizes), result, data, reduce), {"initial": 0.5, **rest}


for _decl in (segment_reduce, segment_reduce_backward):
    _decl.sample_dtypes = (dtypes.float32, dtypes.float64, dtypes.bfloat16)
