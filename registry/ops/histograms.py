"""Histograms between edges, of numbers and of points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.copies import rounded, widened
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.scalar import convert_into, converted
from opweave.registry.spec import contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten


# ---- edges ---------------------------------------------------------------------------------------------------------


def _check(op: str, self: Tensor, weight: Tensor | None, sizes: Sequence[int]) -> None:
    if self._dtype.kind != "f":
        raise DTypeError(f"{op}: expected floating numbers", got=describe(self))
    if weight is not None and (weight._sizes != tuple(sizes) or weight._dtype is not self._dtype):
        raise ShapeError(
            f"{op}: weight must have the sizes {list(sizes)} and the type of the tensor", got=describe([self, weight])
        )


def _ends(op: str, values: Tensor, range: Sequence[float] | None) -> tuple[float, float]:
    """What bins lie between: a range, or the least and the largest number, if they differ."""
    low, high = (0.0, 0.0 if values.numel() else 1.0) if range is None else range
    if range is None and values.numel():
        low, high = aten.amin.default(values).item(), aten.amax.default(values).item()
    if not (math.isfinite(low) and math.isfinite(high)) or low > high:
        raise ArgumentError(f"{op}: bins lie between two finite numbers, the lower one first", got=f"[{low}, {high}]")
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _edges(op: str, values: Tensor, bins: int, range: Sequence[float] | None) -> Tensor:
    """As many bins as wide as each other."""
    if bins < 1:
        raise ArgumentError(f"{op}: bins must be positive", got=f"bins={bins}")
    low, high = _ends(op, values, range)
    return aten.linspace.default(low, high, bins + 1, dtype=values._dtype, device=values._device)


def _check_edges(op: str, points: Tensor, edges: Sequence[Tensor]) -> None:
    for line in edges:
        if line.ndim != 1 or not line._sizes[0] > 1 or line._dtype is not points._dtype:
            raise ShapeError(
                f"{op}: edges are vectors of two numbers or more, of the tensor's type", got=describe([points, line])
            )


# ---- of numbers ----------------------------------------------------------------------------------------------------


def _of_numbers(self: Tensor, edges: Tensor, weight: Tensor | None, density: bool) -> Tensor:
    points = aten.reshape.default(self, [self.numel(), 1])
    flat = None if weight is None else aten.reshape.default(weight, [self.numel()])
    return aten._histogramdd_from_bin_tensors.default(points, [edges], weight=flat, density=density)


@composite(
    "aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False)"
    " -> (Tensor hist, Tensor bin_edges)",
    outs=("bin_ct_out", "hist", "bin_edges"),
)
def histogram_of(
    self: Tensor, bins: int = 100, *, range: Sequence[float] | None = None, weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """The same between as many edges, from the least to the largest element, or in a range."""
    _check("histogram", self, weight, self._sizes)
    if range is not None and len(range) != 2:
        raise ArgumentError("histogram: a range is two numbers", got=f"range={list(range)}")
    edges = _edges("histogram", self, bins, range)
    return _of_numbers(self, edges, weight, density), edges


@composite(
    "aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False)"
    " -> (Tensor hist, Tensor bin_edges)",
    outs=("bins_tensor_out", "hist", "bin_edges"),
)
def histogram(self: Tensor, bins: Tensor, *, weight: Tensor | None = None, density: bool = False) -> tuple[Any, Any]:
    """How many elements, or how much of a weight, lies between edges; the last edge belongs to the last bin."""
    _check("histogram", self, weight, self._sizes)
    _check_edges("histogram", self, [bins])
    return _of_numbers(self, bins, weight, density), aten.clone.default(bins)


# ---- of points -----------------------------------------------------------------------------------------------------


def _points(self: Tensor, bins: int, weight: Tensor | None) -> Tensor:
    """(number, dimensions), after checking the arguments."""
    if self.ndim < 2:
        raise ShapeError("histogramdd: expected points along the last of 2 dimensions or more", got=describe(self))
    if bins != self._sizes[-1]:
        raise ShapeError(f"histogramdd: needs bins for each of {self._sizes[-1]} dimensions, not {bins}")
    _check("histogramdd", self, weight, self._sizes[:-1])
    return aten.reshape.default(self, [math.prod(self._sizes[:-1]), self._sizes[-1]])


@composite(
    "aten::_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None,"
    " bool density=False) -> Tensor[]"
)
def histogramdd_bin_edges(
    self: Tensor, bins: Sequence[int], *, range: Sequence[float] | None = None, weight: Tensor | None = None,
    density: bool = False,
) -> list[Tensor]:  # fmt: skip
    """For each dimension edges from the least to the largest number, or in its range."""
    points, count = _points(self, len(bins), weight), len(bins)
    if range is not None and len(range) != 2 * count:
        raise ArgumentError(f"histogramdd: {count} ranges are {2 * count} numbers", got=f"range={list(range)}")
    return [
        _edges("histogramdd", aten.select.int(points, 1, d), n, None if range is None else range[2 * d : 2 * d + 2])
        for d, n in enumerate(bins)
    ]


def _histogram_kernel(
    self: Tensor, bins: Sequence[Tensor], *, weight: Tensor | None = None, density: bool = False
) -> Tensor:
    """The same by arrays, whose counts and sums are whole numbers and float64."""
    points = _points(self, len(bins), weight)
    _check_edges("histogramdd", points, bins)
    xp, compute = self._device.xp, self._dtype.compute.numpy
    lines = [converted(line._array, compute) for line in bins]
    counts = [len(line) - 1 for line in lines]
    place, inside = xp.zeros(points._sizes[0], np.int64), xp.ones(points._sizes[0], bool)
    for d, (line, count) in enumerate(zip(lines, counts, strict=True)):
        values = converted(points._array[:, d], compute)
        at = xp.searchsorted(line, values, side="right") - 1
        at[values == line[-1]] = count - 1
        inside &= (values >= line[0]) & (values <= line[-1])
        place = place * count + xp.clip(at, 0, count - 1)
    amount = None if weight is None else weight._array.reshape(-1)[inside].astype(np.float64)
    found = xp.bincount(place[inside], amount, minlength=math.prod(counts)).reshape(counts)
    out = allocate_like(contiguous(tuple(counts), self._dtype, self._device))
    with np.errstate(all="ignore"):
        if density:
            found = found / found.sum()
            for d, line in enumerate(lines):
                found = found / xp.diff(line).reshape([-1 if d == k else 1 for k, _ in enumerate(counts)])
        convert_into(out._array, xp.asarray(found, compute))
    return out


@composite(
    "aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False)"
    " -> Tensor",
    explicit=True,
    kernel=_histogram_kernel,
    outs="out",
)
def histogramdd_from_bin_tensors(
    self: Tensor, bins: Sequence[Tensor], *, weight: Tensor | None = None, density: bool = False
) -> Tensor:
    """How many points, or how much of a weight, lies between edges of each dimension."""
    points = _points(self, len(bins), weight)
    _check_edges("histogramdd", points, bins)
    counts = [line._sizes[0] - 1 for line in bins]
    place: Any = aten.new_zeros.default(points, [points._sizes[0]], dtype=dtypes.int64)
    inside: Any = None
    for d, (line, count) in enumerate(zip(bins, counts, strict=True)):
        values = aten.contiguous.default(aten.select.int(points, 1, d))
        at = aten.sub.Tensor(aten.searchsorted.Tensor(aten.contiguous.default(line), values, right=True), 1)
        first, last = (aten.select.int(line, 0, end) for end in (0, -1))
        # The last edge belongs to the last bin.
        at = aten.where.self(aten.eq.Tensor(values, last), count - 1, at)
        within = aten.logical_and.default(aten.ge.Tensor(values, first), aten.le.Tensor(values, last))
        inside = within if inside is None else aten.logical_and.default(inside, within)
        place = aten.add.Tensor(aten.mul.Tensor(place, count), aten.clamp.default(at, 0, count - 1))
    wide = points._dtype.compute
    if weight is None:
        amount = aten.new_ones.default(points, [points._sizes[0]], dtype=wide)
    else:
        amount = widened(aten.reshape.default(weight, [-1]))
    if inside is not None:
        amount = aten.where.self(inside, amount, 0)
    nothing = aten.new_zeros.default(points, [math.prod(counts)], dtype=wide)
    found = aten.view.default(aten.index_add.default(nothing, 0, place, amount), counts)
    if density:
        found = aten.div.Tensor(found, aten.sum.default(found))
        for d, line in enumerate(bins):
            width = aten.view.default(aten.diff.default(line), [-1 if d == k else 1 for k, _ in enumerate(counts)])
            found = aten.div.Tensor(found, width)
    return rounded(found, self._dtype)


@composite(
    "aten::_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None,"
    " bool density=False) -> Tensor",
    outs="out",
)
def histogramdd_from_bin_cts(
    self: Tensor, bins: Sequence[int], *, range: Sequence[float] | None = None, weight: Tensor | None = None,
    density: bool = False,
) -> Tensor:  # fmt: skip
    """How many points, or how much of a weight, lies in as many bins of each dimension."""
    return histogramdd_of(self, bins, range, weight, density)[0]


@composite(
    "aten::histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool density=False)"
    " -> (Tensor hist, Tensor[] bin_edges)"
)
def histogramdd(
    self: Tensor, bins: Sequence[int], range: Sequence[float] | None = None, weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """How many points, or how much of a weight, lies in as many bins of each dimension, and their edges."""
    return histogramdd_of(self, bins, range, weight, density)


def histogramdd_of(
    self: Tensor, bins: Sequence[int], range: Sequence[float] | None, weight: Tensor | None, density: bool
) -> tuple[Tensor, list[Tensor]]:
    """`histogramdd`, as Python calls it."""
    edges = aten._histogramdd_bin_edges.default(self, bins, range=range, weight=weight, density=density)
    found = aten._histogramdd_from_bin_tensors.default(self, edges, weight=weight, density=density)
    return found, list(edges)


@composite(
    "aten::histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, bool density=False)"
    " -> (Tensor hist, Tensor[] bin_edges)"
)
def histogramdd_int_bins(
    self: Tensor, bins: int, range: Sequence[float] | None = None, weight: Tensor | None = None, density: bool = False
) -> tuple[Any, Any]:
    count = self._sizes[-1] if self.ndim else 0
    return histogramdd_of(self, [bins] * count, range, weight, density)


@composite(
    "aten::histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? weight=None,"
    " bool density=False) -> (Tensor hist, Tensor[] bin_edges)"
)
def histogramdd_tensors(
    self: Tensor, bins: Sequence[Tensor], range: Sequence[float] | None = None, weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    found = aten._histogramdd_from_bin_tensors.default(self, bins, weight=weight, density=density)
    return found, [aten.clone.default(line) for line in bins]


# ---- samples -------------------------------------------------------------------------------------------------------


@histogramdd_from_bin_tensors.with_samples
def _(make: Make) -> Samples:
    edges = [aten.linspace.default(-2.0, 2.0, n, dtype=make()._dtype) for n in (3, 4)]
    yield (make(7, 2), edges), {}
    yield (make(2, 4, 2), edges), {"weight": make(2, 4, low=0.5, high=2.0), "density": True}
    yield (make(0, 2), edges), {}


histogramdd_from_bin_tensors.sample_dtypes = (dtypes.float32, dtypes.float64, dtypes.float16)
