"""Sorting, selecting by rank, searching what is sorted, and distinct elements.

NaN counts as the largest number; among equals, the order stays as it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import along, bound, call, front, is_at, stretched, wrap
from opweave.registry.dtypes import promote_types
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.fake_context import dynamic_size
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds import composite, extern
from opweave.registry.ops.ordering import beginning, order
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import pointwise_strides
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.strided import wrap_dim
from opweave.registry.symbolic import demand
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten


def _check_order(op: str, self: Tensor, kinds: str) -> None:
    if self._dtype.kind not in kinds:
        raise DTypeError(f"{op}: not defined for {self._dtype.name}", got=describe(self))


def _filled(self: Tensor, specs: Sequence[TensorSpec], axis: int, descending: bool, count: int | None) -> Any:
    """(elements, places) of the first `count` in order."""
    values, indices = (allocate_like(spec) for spec in specs)
    xp = self._device.xp
    if not self._sizes:
        values._array[...] = self._array
        indices._array[...] = 0
    elif values.numel():
        if count is None:
            places = order(xp, self._array, axis, descending)
        else:
            places = beginning(xp, self._array, axis, descending, count)
        indices._array[...] = places
        values._array[...] = xp.take_along_axis(self._array, places, axis=axis)
    return values, indices


# ---- sort ----------------------------------------------------------------------------------------------------------


def _sort_specs(self: Tensor, dim: int = -1, descending: bool = False) -> tuple[TensorSpec, TensorSpec]:
    wrap_dim(dim, self.ndim, "sort")
    _check_order("sort", self, "biuf")
    strides = pointwise_strides(self._sizes, [self])
    places = TensorSpec(self._sizes, strides, dtypes.int64, self._device)
    return TensorSpec(self._sizes, strides, self._dtype, self._device), places


@extern(
    "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
    spec=_sort_specs,
    outs=("values", "values", "indices"),
)
def sort(self: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """The elements along a dimension in order, and where each was."""
    specs = _sort_specs(self, dim)
    return _filled(self, specs, wrap_dim(dim, self.ndim, "sort"), descending, None)


@composite(
    "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False)"
    " -> (Tensor values, Tensor indices)",
    outs=("values_stable", "values", "indices"),
)
def sort_stable(
    self: Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False
) -> tuple[Tensor, Tensor]:  # fmt: skip
    return ops.aten.sort.default(self, dim, descending)


@composite("aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor")
def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    return ops.aten.sort.default(self, dim, descending)[1]


@composite(
    "aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", outs="stable_out"
)
def argsort_stable(self: Tensor, *, stable: bool, dim: int = -1, descending: bool = False) -> Tensor:
    return ops.aten.sort.default(self, dim, descending)[1]


@composite("aten::msort(Tensor self) -> Tensor", outs="out")
def msort(self: Tensor) -> Tensor:
    return ops.aten.sort.default(self, 0)[0]


# ---- the first of an order -----------------------------------------------------------------------------------------


def _topk_specs(
    self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[TensorSpec, TensorSpec]:
    axis = wrap_dim(dim, self.ndim, "topk")
    _check_order("topk", self, "iuf")
    size = self._sizes[axis] if self._sizes else 1
    for right in (k >= 0, k <= size):
        demand(right, f"topk: k={k} is outside dimension {axis} with size {size}", ShapeError,
               got=describe(self), hint=f"k is at most {size}")  # fmt: skip
    sizes = (*self._sizes[:axis], k, *self._sizes[axis + 1 :]) if self._sizes else ()
    return contiguous(sizes, self._dtype, self._device), contiguous(sizes, dtypes.int64, self._device)


@extern(
    "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True)"
    " -> (Tensor values, Tensor indices)",
    spec=_topk_specs,
    outs=("values", "values", "indices"),
)
def topk(
    self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The k largest (or smallest) elements along a dimension, in order, and where they were: of equals, the first."""
    specs = _topk_specs(self, k, dim)
    return _filled(self, specs, wrap_dim(dim, self.ndim, "topk"), largest, k)


@composite(
    "aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    outs=("values", "values", "indices"),
)
def kthvalue(self: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The k-th smallest element along a dimension, counted from 1, and where it was: of equals, in their order."""
    axis = wrap_dim(dim, self.ndim, "kthvalue")
    size = self._sizes[axis] if self._sizes else 1
    if not 1 <= k <= size:
        raise ShapeError(f"kthvalue: k must be from 1 to {size}", got=f"k={k}")
    if not self._sizes:
        place = ops.aten.zeros.default([], dtype=dtypes.int64, device=self._device)
        return ops.aten.clone.default(self), place
    if self._dtype.kind in "bc":
        raise DTypeError("kthvalue: defined for real numbers", got=describe(self))
    found = ops.aten.topk.default(self, k, axis, False, True)
    values, indices = (ops.aten.select.int(t, axis, k - 1) for t in found)
    if keepdim:
        values, indices = (ops.aten.unsqueeze.default(t, axis) for t in (values, indices))
    return ops.aten.contiguous.default(values), ops.aten.contiguous.default(indices)


sort.batching(along("self"))


@topk.batching
def _topk(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    values = bound(op, args, kwargs)
    if not values["self"].ndim and values["k"] == 0:
        values["k"] = 1  # of a number there is no less
    return along("self")(op, level, (), values)


# ---- places in order -----------------------------------------------------------------------------------------------


def _check_bounds(bounds: Tensor, right: bool, side: str | None) -> str:
    if side not in (None, "left", "right") or (side == "left" and right):
        raise ShapeError("searchsorted: side is 'left' or 'right', and right says the same", got=f"{side!r}, {right}")
    if not bounds.ndim:
        raise ShapeError("searchsorted: the sequence has no dimension", got=describe(bounds))
    return side or ("right" if right else "left")


def _search_spec(
    sorted_sequence: Tensor, self: Tensor, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Tensor | None = None,
) -> TensorSpec:  # fmt: skip
    _check_bounds(sorted_sequence, right, side)
    both = describe([sorted_sequence, self])
    if "c" in (sorted_sequence._dtype.kind, self._dtype.kind):
        raise DTypeError("searchsorted: complex numbers have no order", got=both)
    if sorted_sequence.ndim > 1 and sorted_sequence._sizes[:-1] != self._sizes[:-1]:
        raise ShapeError("searchsorted: rows of sequences go with rows of values", got=both)
    if sorter is not None and (sorter._sizes != sorted_sequence._sizes or sorter._dtype is not dtypes.int64):
        raise ShapeError("searchsorted: the sorter has an int64 place for each element", got=describe(sorter))
    return contiguous(self._sizes, dtypes.int32 if out_int32 else dtypes.int64, self._device)


@composite(
    "aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False,"
    " str? side=None, Tensor? sorter=None) -> Tensor",
    outs="Scalar_out",
)
def searchsorted_number(sorted_sequence: Tensor, self: Any, **options: Any) -> Tensor:
    value = aten.scalar_tensor.default(self, dtype=sorted_sequence._dtype, device=sorted_sequence._device)
    return aten.searchsorted.Tensor(sorted_sequence, value, **options)


@extern(
    "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False,"
    " str? side=None, Tensor? sorter=None) -> Tensor",
    spec=_search_spec,
    outs="Tensor_out",
)
def searchsorted(
    sorted_sequence: Tensor, self: Tensor, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Where each value would be put, for a sorted sequence to stay so: before equal elements, or behind."""
    out = allocate_like(_search_spec(sorted_sequence, self, out_int32, right, side, sorter))
    xp, which = self._device.xp, _check_bounds(sorted_sequence, right, side)
    wide = promote_types(sorted_sequence._dtype, self._dtype).compute.numpy
    bounds, values = (t._array.astype(wide, copy=False) for t in (sorted_sequence, self))
    if sorter is not None:
        bounds = xp.take_along_axis(bounds, sorter._array, axis=-1)
    if bounds.ndim == 1:
        out._array[...] = xp.searchsorted(bounds, values, which)
        return out
    if not out.numel():
        return out
    rows, wanted = (t.reshape(math.prod(t.shape[:-1]), t.shape[-1]) for t in (bounds, values))
    target = out._array.reshape(wanted.shape)
    for row, at, into in zip(rows, wanted, target, strict=True):
        into[...] = xp.searchsorted(row, at, which)
    return out


searchsorted.backward()


@searchsorted.batching
def _searchsorted(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Sequences of examples are rows; values of any sizes are a row for each sequence."""
    values = bound(op, args, kwargs)
    bounds, wanted, sorter = (values[name] for name in ("sorted_sequence", "self", "sorter"))
    if not any(is_at(t, level) for t in (bounds, sorter)):  # one sequence, or none without rows
        if bounds.ndim == 1:
            return wrap(call(op, values | {"self": front(wanted, level)}), level)
    one_row = bounds.ndim == 1
    rows = stretched(wanted, level)
    values["sorted_sequence"] = stretched(bounds, level)
    if sorter is not None:
        values["sorter"] = stretched(sorter, level)
    sizes = rows._sizes
    if one_row:
        rows = aten.reshape.default(rows, [sizes[0], math.prod(sizes[1:])])
    found = call(op, values | {"self": rows})
    return wrap(aten.reshape.default(found, sizes) if one_row else found, level)


def _vector(boundaries: Tensor) -> Tensor:
    if boundaries.ndim != 1:
        raise ShapeError("bucketize: the boundaries must be a vector", got=describe(boundaries))
    return boundaries


@composite(
    "aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    outs="Scalar_out",
)
def bucketize_number(self: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    return aten.searchsorted.Scalar(_vector(boundaries), self, out_int32=out_int32, right=right)


@composite(
    "aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
    outs="Tensor_out",
)
def bucketize(self: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of boundaries below each element; with `right`, of those that it equals too."""
    return aten.searchsorted.Tensor(_vector(boundaries), self, out_int32=out_int32, right=right)


# ---- distinct elements ---------------------------------------------------------------------------------------------


def _distinct_specs(self: Tensor, inverse: bool, counts: bool, shape: Sequence[Any]) -> tuple[TensorSpec, ...]:
    device = self._device
    count = dynamic_size("unique", self, 0, None)
    return (
        contiguous((count,), self._dtype, device), contiguous(shape if inverse else (0,), dtypes.int64, device),
        contiguous((count,) if counts else (0,), dtypes.int64, device),
    )  # fmt: skip


def _results(self: Tensor, arrays: Sequence[Any]) -> tuple[Tensor, ...]:
    xp = self._device.xp
    arrays = [xp.zeros(0, np.int64) if a is None else xp.asarray(a) for a in arrays]
    # What is without dimensions stays so, which `ascontiguousarray` does not see to.
    return tuple(Tensor._from_array(xp.ascontiguousarray(a).reshape(a.shape), self._device) for a in arrays)


def _check_distinct(self: Tensor) -> None:
    if self._dtype.kind == "c":
        raise DTypeError("unique: not defined for complex numbers", got=describe(self))


@extern(
    "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False)"
    " -> (Tensor, Tensor, Tensor)",
    spec=lambda self, sorted=True, inverse=False, counts=False: _distinct_specs(self, inverse, counts, self._sizes),
    tags="dynamic_output_shape",
)
def _unique2(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, ...]:
    """(the distinct elements in order, the place of each element among them, how often each is there)."""
    _check_distinct(self)
    found, inverse, counts = self._device.xp.unique(
        self._array, return_inverse=True, return_counts=True, equal_nan=False
    )
    inverse = inverse.reshape(self._sizes).astype(np.int64) if return_inverse else None
    return _results(self, (found, inverse, counts.astype(np.int64) if return_counts else None))


@extern(
    "aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False)"
    " -> (Tensor, Tensor, Tensor)",
    spec=lambda self, dim, sorted=True, inverse=False, counts=False: _slice_specs(self, dim, inverse, counts),
    tags="dynamic_output_shape",
)
def unique_dim(
    self: Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, ...]:
    """The same of slices along a dimension."""
    _check_distinct(self)
    axis = wrap_dim(dim, self.ndim, "unique")
    found, inverse, counts = np.unique(
        self._array, return_inverse=True, return_counts=True, axis=axis, equal_nan=False
    )  # fmt: skip
    inverse = inverse.reshape(-1).astype(np.int64) if return_inverse else None
    return _results(self, (found, inverse, counts.astype(np.int64) if return_counts else None))


def _slice_specs(self: Tensor, dim: int | None, inverse: bool, counts: bool) -> tuple[TensorSpec, ...]:
    if dim is None:
        return _distinct_specs(self, inverse, counts, self._sizes)
    axis = wrap_dim(dim, self.ndim, "unique")
    first, second, third = _distinct_specs(self, inverse, counts, (self._sizes[axis],))
    sizes = (*self._sizes[:axis], first.sizes[0], *self._sizes[axis + 1 :])
    return contiguous(sizes, self._dtype, self._device), second, third


@extern(
    "aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None)"
    " -> (Tensor, Tensor, Tensor)",
    spec=lambda self, inverse=False, counts=False, dim=None: _slice_specs(self, dim, inverse, counts),
    tags="dynamic_output_shape",
)
def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, ...]:
    """(the first of each run of equal elements or slices, the run that each is in, how long each run is)."""
    _check_distinct(self)
    xp = self._device.xp
    axis = 0 if dim is None else wrap_dim(dim, self.ndim, "unique_consecutive")
    source = self._array.reshape(-1) if dim is None else xp.moveaxis(self._array, axis, 0)
    count = source.shape[0]
    rows = source.reshape(count, -1) if source.size else source.reshape(count, 0)
    new = xp.ones(count, bool)
    if count > 1:
        # Of single elements the comparison itself: to reduce many short rows takes long.
        new[1:] = rows[1:, 0] != rows[:-1, 0] if rows.shape[1] == 1 else (rows[1:] != rows[:-1]).any(axis=1)
    starts = xp.flatnonzero(new)
    found = source[starts]
    inverse = xp.cumsum(new) - 1 if return_inverse else new
    lengths = xp.diff(xp.append(starts, count))
    shaped = inverse.reshape(self._sizes) if dim is None else inverse
    return _results(self, (
        found if dim is None else xp.moveaxis(found, 0, axis), shaped.astype(np.int64) if return_inverse else None,
        lengths.astype(np.int64) if return_counts else None,
    ))  # fmt: skip


def _asked_for(found: Sequence[Tensor], *asked: bool) -> Any:
    results = [found[0], *(t for t, wanted in zip(found[1:], asked, strict=True) if wanted)]
    return results[0] if len(results) == 1 else tuple(results)


def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The distinct elements in order, or slices along a dimension.

    Parameters
    ----------
    input : Tensor
    sorted : bool
        They always are.
    return_inverse : bool
        Give the place of each element among them too.
    return_counts : bool
        Give how often each is there too.
    dim : int, optional
        Compare slices along this dimension.

    Examples
    --------
    >>> opweave.unique(opweave.tensor([2, 1, 2]))
    tensor([1, 2])
    """
    options = sorted, return_inverse, return_counts
    found = aten._unique2.default(input, *options) if dim is None else aten.unique_dim.default(input, dim, *options)
    return _asked_for(found, return_inverse, return_counts)


def consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The first of each run of equal elements, or of equal slices along a dimension.

    Parameters
    ----------
    input : Tensor
    return_inverse : bool
        Give the run of each element too.
    return_counts : bool
        Give how long each run is too.
    dim : int, optional
        Compare slices along this dimension.

    Examples
    --------
    >>> opweave.unique_consecutive(opweave.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    found = aten.unique_consecutive.default(input, return_inverse, return_counts, dim)
    return _asked_for(found, return_inverse, return_counts)


# A number would do for a tensor too, so this form is looked at first.


@composite(
    "aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False)"
    " -> Tensor",
    outs="Tensor_Scalar_out",
)
def isin_number(elements: Tensor, test_element: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    return (aten.ne if invert else aten.eq).Scalar(elements, test_element)


@composite(
    "aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False)"
    " -> Tensor",
    outs="Tensor_Tensor_out",
)
def isin(elements: Tensor, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is among others."""
    tested = aten.reshape.default(test_elements, [-1])
    found = aten.any.dim(aten.eq.Tensor(aten.unsqueeze.default(elements, -1), tested), -1)
    return aten.logical_not.default(found) if invert else found


# ---- gradients -----------------------------------------------------------------------------------------------------


def _returned(grad: Tensor, self_spec: TensorSpec, dim: int, result1: Tensor) -> Tensor:
    """Each gradient at the place its element came from."""
    aten = ops.aten
    if not self_spec.sizes:
        return grad
    return aten.scatter.src(aten.new_zeros.default(grad, self_spec.sizes), dim, result1, grad)


for _decl in (sort, topk):
    _decl.backward(self=_returned)


# ---- functions of the package --------------------------------------------------------------------------------------


#: Functions of the package, and methods, whose results are other than the op's.
METHODS: dict[str, Callable[..., Any]] = {"unique": unique, "unique_consecutive": consecutive}


# ---- samples -------------------------------------------------------------------------------------------------------


def _turned(x: Tensor) -> Tensor:
    return ops.aten.permute.default(x, [2, 0, 1])


def _inputs(make: Make) -> Iterable[Tensor]:
    yield make(4, 5, 3)
    yield _turned(make(4, 5, 3))
    yield ops.aten.slice.Tensor(make(4, 10, 3), 1, 0, None, 2)
    yield make(2, 0, 3)


for _decl in (sort, argsort):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        for x in _inputs(make):
            yield (x,), {}
            yield (x, 0, True), {}
            yield (x, 1), {}
        yield (make(), 0), {}


for _decl in (sort_stable, argsort_stable):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        yield (make(3, 4),), {"stable": True}
        yield (make(40, low=0, high=3),), {"stable": True, "dim": 0, "descending": True}


@msort.with_samples
def _(make: Make) -> Samples:
    yield (make(4, 3),), {}


def _ranks(make: Make, *sizes: int) -> Tensor:
    """A tensor without equal elements, among which PyTorch may choose."""
    x = make(*sizes)
    count = ops.aten.arange.default(x.numel(), dtype=dtypes.int64)
    mixed = ops.aten.remainder.Scalar(ops.aten.mul.Tensor(count, 37), 101)
    return ops.aten.view.default(ops.aten._to_copy.default(mixed, dtype=x._dtype), list(sizes))


@topk.with_samples
def _(make: Make) -> Samples:
    for x in (_ranks(make, 4, 5, 3), _turned(_ranks(make, 4, 5, 3))):
        yield (x, 2), {}
        yield (x, 3, 0), {}
        yield (x, 2, 1, False), {}
        yield (x, 0), {}
    yield (_ranks(make, 7), 7, 0), {}
    yield (make(), 1), {}
    yield (make(2, 0, 3), 2, 0), {}


_ORDERED = (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16, dtypes.int64, dtypes.uint8)

for _decl in (sort, argsort, sort_stable, argsort_stable, msort):
    _decl.sample_dtypes = (*_ORDERED, dtypes.bool_)

topk.sample_dtypes = _ORDERED


@kthvalue.with_samples
def _(make: Make) -> Samples:
    for k, dim, keepdim in ((1, -1, False), (3, 0, True), (4, 1, False)):
        yield (make(4, 5), k, dim, keepdim), {}
    yield (make(), 1), {}


kthvalue.sample_dtypes = (dtypes.float32, dtypes.float64)
