"""Elements and slices written along one dimension where an index says: in the place of others, added or combined."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes, rows
from opweave.registry.batched import Level
from opweave.registry.batching import check_example, raised, stretched, wrap
from opweave.registry.errors import DTypeError, OutOfRangeError, ShapeError
from opweave.registry.memory_format import contiguous_format
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.adding import add_at
from opweave.registry.ops.combining import combine
from opweave.registry.ops.gradients import conjugate
from opweave.registry.ops.indexing import check_range, gather_places, sample_places, sample_sources
from opweave.registry.ops.joining import atleast_1d
from opweave.registry.ops.kinds import Scatter, composite, declare_copied_back, reducing_scatter, scatter as scattering
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import as_element
from opweave.registry.scalar import convert_into, converted
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten
_ACCUMULATED = (dtypes.float32, dtypes.float16, dtypes.bfloat16, dtypes.int64, dtypes.uint8)


# ---- elements ------------------------------------------------------------------------------------------------------


def _scatter_spec(self: Tensor, dim: int, index: Tensor, src: Tensor) -> TensorSpec:
    axis = wrap_dim(dim, self.ndim, "scatter")
    if index._dtype not in (dtypes.int64, dtypes.int32) or src._dtype is not self._dtype:
        raise DTypeError("scatter: needs an int64 index and a source of the tensor's type", got=describe([index, src]))
    if index.numel() and not max(self.ndim, 1) == max(index.ndim, 1) == max(src.ndim, 1):
        raise ShapeError("scatter: tensor, index and source differ in dimensions", got=describe([self, index, src]))
    sizes, own = src._sizes or (1,), self._sizes or (1,)  # a number is a vector of one
    for d, size in enumerate((index._sizes or (1,)) if index.numel() else ()):
        if size > sizes[d] or (d != axis and size > own[d]):
            raise ShapeError(f"scatter: the index is too large in dimension {d}", got=describe([self, index, src]))
    return contiguous(self._sizes, self._dtype, self._device)


_Write = Callable[[Any, Any, Any], None]


def _scattered(self: Tensor, dim: int, index: Tensor, src: Tensor, kind: str, write: _Write) -> Tensor:
    """A copy, with the source written at the places the index names."""
    out = allocate_like(_scatter_spec(self, dim, index, src))
    out._array[...] = self._array
    _scatter_into(out, dim, index, src, kind, write)
    return out


def _scatter_into(out: Tensor, dim: int, index: Tensor, src: Tensor, kind: str, write: _Write) -> None:
    """Write the source into a tensor that shares no memory with it, natively (as in `combine`) or by a function."""
    if index.numel():
        axis = wrap_dim(dim, out.ndim, "scatter")
        target, places, source = (t._array.reshape(t._sizes or (1,)) for t in (out, index, src))
        part = tuple([slice(0, n) for n in places.shape])
        if kind and out._device.is_host and combine(kind, target, places, source[part], axis, 0):
            return
        check_range("scatter", places, target.shape[axis], axis, lowest=0)
        is_rows = not axis and not any(places.strides[1:]) and places.shape[1:] == target.shape[1:]
        if kind and is_rows:
            # One index for each row, expanded.
            write(target, (places[(slice(None), *(0,) * (places.ndim - 1))],), source[part])
            return
        where = list(out._device.xp.ogrid[part])
        where[axis] = places
        write(target, tuple(where), source[part])


def _touching(kind: str, write: Callable[[Tensor, Any, Any, Any], None]) -> Callable[..., bool]:
    def scatter_in_place(self: Tensor, dim: int, index: Tensor, src: Tensor) -> bool:
        _scatter_spec(self, dim, index, src)
        if not self._device.is_host or not all(t._device is self._device for t in (index, src)):
            return False
        if any(np.may_share_memory(self._array, t._array) for t in (index, src)):
            return False
        _scatter_into(self, dim, index, src, kind, lambda *parts: write(self, *parts))
        return True

    return scatter_in_place


def _write(target: Any, where: Any, source: Any) -> None:
    target[where] = source


def _scatter_target(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Scatter | None:
    if not self.ndim == index.ndim == src.ndim:
        return None  # numbers beside vectors of one
    places = gather_places(self, dim, index)
    return None if places is None else Scatter(places, src, False)


def _scatter_add_target(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Scatter | None:
    found = _scatter_target(self, dim, index, src)
    return None if found is None else found._replace(accumulate=True)


@scattering(
    "aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    spec=_scatter_spec, target=_scatter_target, out=True, inplace=True
)  # fmt: skip
def scatter(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with `out[index[i][j]][j] = src[i][j]` for dimension 0, and so on."""
    return _scattered(self, dim, index, src, "last", _write)


@scattering(
    "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    spec=_scatter_spec, target=_scatter_add_target, autocast={"cuda": "promote"}, out=True, inplace=True
)  # fmt: skip
def scatter_add(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with `out[index[i][j]][j] += src[i][j]` for dimension 0, and so on."""
    return _scattered(self, dim, index, src, "add", lambda *parts: add_at(self, *parts))


aten.scatter_.src.decl.touching = _touching("last", lambda _, *parts: _write(*parts))
aten.scatter_add_.default.decl.touching = _touching("add", add_at)


@composite(
    "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", explicit=True, outs="value_out"
)
def scatter_value(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy with a number at the places that the index names."""
    number = as_element("scatter", value, self._dtype)
    source = ops.aten.new_full.default(self, index._sizes, number)
    return ops.aten.scatter.src(self, dim, index, source)


@composite("aten::scatter_.value(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)")
def scatter_value_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    number = as_element("scatter_", value, self._dtype)
    return ops.aten.scatter_.src(self, dim, index, ops.aten.new_full.default(self, index._sizes, number))


_REDUCES = ("sum", "prod", "mean", "amax", "amin")


def _scatter_reduce_spec(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True
) -> TensorSpec:
    if reduce not in _REDUCES:
        raise ShapeError("scatter_reduce: unknown reduction", got=repr(reduce), hint="one of " + ", ".join(_REDUCES))
    unordered = self._dtype.is_complex and reduce in ("amax", "amin") and index.numel()
    if unordered or (self._dtype.kind == "b" and reduce == "mean"):
        raise DTypeError(f"scatter_reduce: {reduce} is not defined for {self._dtype.name}", got=describe(self))
    return _scatter_spec(self, dim, index, src)


def _identity(reduce: str, dtype: dtypes.DType) -> Any:
    """What changes nothing in a reduction."""
    if reduce in ("amax", "amin"):
        lowest = reduce == "amax"
        if dtype.kind == "f":
            return -math.inf if lowest else math.inf
        if dtype.kind == "b":
            return not lowest
        limits = np.iinfo(dtype.numpy)
        return limits.min if lowest else limits.max
    return 1 if reduce == "prod" else 0


_UFUNCS = {"sum": "add", "prod": "multiply", "mean": "add", "amax": "maximum", "amin": "minimum"}

#: With bools, addition is `or` and multiplication `and`.
_BOOL_UFUNCS = {"sum": "logical_or", "prod": "logical_and", "amax": "logical_or", "amin": "logical_and"}


@reducing_scatter(
    "aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True)"
    " -> Tensor",
    spec=_scatter_reduce_spec,
    target=_scatter_target,
    identity=_identity,
    out=True,
    inplace=True,
)
def scatter_reduce(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    """A copy in which each place is reduced with all source elements that the index sends there.

    Without `include_self`, the places that get any lose what they had.
    """
    _scatter_reduce_spec(self, dim, index, src, reduce)
    xp = self._device.xp
    dtype = self._dtype
    names = _BOOL_UFUNCS if dtype is dtypes.bool_ else _UFUNCS
    axis = wrap_dim(dim, self.ndim, "scatter")

    def put(kind: str, target: Any, where: Any, source: Any) -> None:
        index_of_axis = where[axis] if len(where) > axis else None
        if xp is np and isinstance(index_of_axis, np.ndarray) and index_of_axis.ndim == target.ndim:
            whole = np.broadcast_to(np.asarray(source, target.dtype), index_of_axis.shape)
            if combine(kind, target, index_of_axis, whole, axis, 0):
                return
        if kind == "last":
            target[where] = source
        else:
            getattr(xp, kind).at(target, where, source)

    def write(target: Any, where: Any, source: Any) -> None:
        work = target if dtype.compute is dtype else converted(target, dtype.compute.numpy)
        if not include_self:
            put("last", work, where, _identity(reduce, dtype))
        with np.errstate(all="ignore"):
            put(names[reduce], work, where, source if source.dtype == work.dtype else converted(source, work.dtype))
            if reduce == "mean":
                count = xp.full(work.shape, int(include_self), np.int64)
                put("add", count, where, 1)
                count = xp.maximum(count, 1)
                exact = dtype.kind in "iu"
                if exact:
                    work = (work // count).astype(work.dtype)
                else:
                    work = work / count.astype(work.dtype)
            if work is not target:
                convert_into(target, work)

    return _scattered(self, dim, index, src, "", write)


# ---- elements that are added or multiplied -------------------------------------------------------------------------


_NAMED_REDUCES = {"add": "sum", "multiply": "prod"}


def _reduce_of(name: str) -> str:
    if name not in _NAMED_REDUCES:
        raise ShapeError("scatter: unknown reduction", got=repr(name), hint="'add' or 'multiply'")
    return _NAMED_REDUCES[name]


# A number would do for a tensor too, so these forms are looked at first.


@composite(
    "aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
    outs="value_reduce_out",
)
def scatter_value_with(self: Tensor, dim: int, index: Tensor, value: Any, *, reduce: str) -> Tensor:
    source = aten.new_full.default(self, index._sizes, as_element("scatter", value, self._dtype))
    return aten.scatter_reduce.two(self, dim, index, source, _reduce_of(reduce))


@composite(
    "aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor", outs="reduce_out"
)
def scatter_with(self: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
    return aten.scatter_reduce.two(self, dim, index, src, _reduce_of(reduce))


@composite(
    "aten::scatter_.value_reduce(Tensor(a!) self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor(a!)"
)
def scatter_value_with_(self: Tensor, dim: int, index: Tensor, value: Any, *, reduce: str) -> Tensor:
    source = aten.new_full.default(self, index._sizes, as_element("scatter_", value, self._dtype))
    return aten.scatter_reduce_.two(self, dim, index, source, _reduce_of(reduce))


@composite("aten::scatter_.reduce(Tensor(a!) self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor(a!)")
def scatter_with_(self: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
    return aten.scatter_reduce_.two(self, dim, index, src, _reduce_of(reduce))


for _decl in (scatter_with, scatter_value_with):

    @_decl.with_samples
    def _(make: Any, number: bool = _decl is scatter_value_with) -> Any:
        index = make(2, 4, dtype=dtypes.int64, low=0, high=2)
        for reduce in _NAMED_REDUCES:
            yield (make(3, 4), 0, index, 2 if number else make(2, 4)), {"reduce": reduce}
            yield (make(4, 3).t(), -2, index, 2 if number else make(3, 5)), {"reduce": reduce}

    _decl.sample_dtypes = (dtypes.float32, dtypes.float64)


# ---- slices --------------------------------------------------------------------------------------------------------


def _int64(op: str, index: Tensor) -> Tensor:
    if index._dtype not in (dtypes.int64, dtypes.int32):
        raise DTypeError(f"{op}: the index must be int32 or int64", got=describe(index))
    return index if index._dtype is dtypes.int64 else aten._to_copy.default(index, dtype=dtypes.int64)


def _slices(op: str, self: Tensor, dim: int, index: Tensor, source: Any) -> tuple[Any, int, Any, Any]:
    """(tensor, dimension, index of each element, source), a number as a vector of one."""
    at = _int64(op, index)
    if index.ndim > 1:
        raise ShapeError(f"{op}: the index must be a vector", got=describe(index))
    at = aten.reshape.default(at, [-1])
    axis = wrap_dim(dim, self.ndim, op)
    x = atleast_1d.body(self)
    sizes = [*x._sizes[:axis], at._sizes[0], *x._sizes[axis + 1 :]]
    if source is not None:
        if source._dtype is not self._dtype:
            raise DTypeError(f"{op}: the source must have the tensor's type", got=describe([self, source]))
        if source.ndim == 0 and (not self.ndim or (op == "index_copy" and x.ndim == 1)) and at._sizes[0] == 1:
            source = atleast_1d.body(source)
        if source._sizes != tuple(sizes):
            kind = OutOfRangeError if op == "index_copy" and source.ndim == x.ndim else ShapeError
            raise kind(f"{op}: the source must be a slice for each number", got=describe([self, index, source]))
    wide = aten.view.default(at, [-1 if d == axis else 1 for d in range(x.ndim)])
    return x, axis, aten.expand.default(wide, sizes), source


def _like(self: Tensor, found: Tensor) -> Tensor:
    return found if self.ndim else aten.reshape.default(found, [])


@composite(
    "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor", outs="out"
)
def index_add(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """A copy with slices of the source, times alpha, added to those of these numbers."""
    x, axis, at, source = _slices("index_add", self, dim, index, source)
    return _like(self, aten.scatter_add.default(x, axis, at, source if alpha == 1 else aten.mul.Tensor(source, alpha)))


@composite(
    "aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
    autocast={"cpu": "promote"},
    outs="out",
)
def index_copy(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """A copy with slices of the source in the place of those of these numbers."""
    x, axis, at, source = _slices("index_copy", self, dim, index, source)
    return _like(self, aten.scatter.src(x, axis, at, source))


def _named(op: str, self: Tensor, dim: int, index: Tensor) -> tuple[Tensor, Tensor]:
    """(tensor, where an index of slices names one), a number as a vector of one; which counts once, however often."""
    x, axis, at, _ = _slices(op, self, dim, index, None)
    size = x._sizes[axis]
    at = aten.reshape.default(_int64(op, index), [-1])
    at = aten.where.self(aten.lt.Scalar(at, 0), aten.add.Scalar(at, size), at)
    none = aten.zeros.default([size], dtype=dtypes.bool_, device=self._device)
    named = aten.scatter.value(none, 0, at, True)
    return x, aten.view.default(named, [size if d == axis else 1 for d in range(x.ndim)])


@composite("aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor")
def index_fill(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy with a number in the slices of these numbers."""
    x, named = _named("index_fill", self, dim, index)
    return _like(self, aten.masked_fill.Scalar(x, named, value))


@composite("aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor")
def index_fill_tensor(self: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
    if value.ndim:
        raise ShapeError("index_fill: the value must be a 0-d tensor", got=describe(value))
    x, named = _named("index_fill", self, dim, index)
    return _like(self, aten.masked_fill.Tensor(x, named, value))


_INDEX_REDUCES = ("prod", "mean", "amax", "amin")


@composite(
    "aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True)"
    " -> Tensor",
    outs="out",
)
def index_reduce(
    self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """A copy with the products, means or extremes of slices of the source that have one number."""
    if reduce not in _INDEX_REDUCES:
        raise ShapeError("index_reduce: unknown reduction", got=repr(reduce), hint=f"one of {list(_INDEX_REDUCES)}")
    x, axis, at, source = _slices("index_reduce", self, dim, index, source)
    return _like(self, aten.scatter_reduce.two(x, axis, at, source, reduce, include_self=include_self))


def _is_large(self: Tensor, source: Tensor) -> bool:
    """Whether it is worth writing in place: there is much to write, or to copy."""
    counts = self.numel(), source.numel()
    return all(type(count) is int for count in counts) and rows.are_enough(max(counts))


def _add_large(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> bool:
    if not _is_large(self, source):
        return False
    x, axis, at, source = _slices("index_add", self, dim, index, source)
    aten.scatter_add_.default(x, axis, at, source if alpha == 1 else aten.mul.Tensor(source, alpha))
    return True


def _copy_large(self: Tensor, dim: int, index: Tensor, source: Tensor) -> bool:
    if not _is_large(self, source):
        return False
    x, axis, at, source = _slices("index_copy", self, dim, index, source)
    aten.scatter_.src(x, axis, at, source)
    return True


declare_copied_back(
    "aten::index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor(a!)",
    index_add, of_large=_add_large
)  # fmt: skip
declare_copied_back(
    "aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)", index_copy,
    of_large=_copy_large
)  # fmt: skip
for _schema, _decl in (
    ("index_fill_.int_Scalar(Tensor(a!) self, int dim, Tensor index, Scalar value)", index_fill),
    ("index_fill_.int_Tensor(Tensor(a!) self, int dim, Tensor index, Tensor value)", index_fill_tensor),
    ("index_reduce_(Tensor(a!) self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True)",
     index_reduce),
):  # fmt: skip
    declare_copied_back(f"aten::{_schema} -> Tensor(a!)", _decl)


# ---- gradients -----------------------------------------------------------------------------------------------------


def _gathered(grad: Tensor, dim: int, index: Tensor, src_spec: TensorSpec) -> Tensor:
    """The gradient of a scattered source, which may be larger than the index."""
    return _widened_to(ops.aten.gather.default(grad, dim, index), src_spec.sizes)


def _widened_to(t: Tensor, sizes: Sequence[int]) -> Tensor:
    """The tensor with zeros behind, up to these sizes."""
    for d, (size, used) in enumerate(zip(sizes, t._sizes, strict=False)):
        if size != used:
            t = ops.aten.slice_backward.default(t, (*sizes[: d + 1], *t._sizes[d + 1 :]), d, 0, used, 1)
    return t


scatter.backward(
    self=lambda grad, dim, index: ops.aten.scatter.src(
        grad, dim, index, ops.aten.new_zeros.default(grad, index._sizes)
    ),
    src=_gathered,
)

scatter_add.backward(self=lambda grad: grad, src=_gathered)

scatter_value.backward(self=lambda grad, dim, index: ops.aten.scatter.value(grad, dim, index, 0))


@scatter_reduce.backward
def _scatter_reduce_backward(
    grad: Tensor, needs: Sequence[bool], self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str,
    include_self: bool, result: Tensor,
) -> tuple[Any, ...]:  # fmt: skip
    aten = ops.aten
    if not index.numel():
        return grad, None, aten.zeros_like.default(src)
    whole, src = src, _first_of(src, index._sizes)

    def at(t: Tensor) -> Tensor:
        return aten.gather.default(t, dim, index)

    def added(t: Tensor) -> Tensor:
        return aten.scatter_add.default(aten.new_zeros.default(grad, self._sizes), dim, index, t)

    if reduce == "sum":
        of_self, of_src = grad, at(grad)
    elif reduce == "mean":
        count = added(aten.ones_like.default(src))
        shared = aten.div.Tensor(grad, aten.clamp_min.default(count + 1 if include_self else count, 1))
        of_self, of_src = shared, at(shared)
    elif reduce == "prod":
        of_self, of_src = _product_gradients(grad, self, dim, index, src, include_self, result, added)
    else:
        own, theirs = aten.eq.Tensor(self, result), aten.eq.Tensor(src, at(result))
        of_type = {"dtype": grad._dtype}
        own, theirs = (aten._to_copy.default(t, **of_type) for t in (own, theirs))
        shared = aten.div.Tensor(grad, aten.add.Tensor(own, added(theirs)))
        of_self, of_src = aten.mul.Tensor(own, shared), aten.mul.Tensor(theirs, at(shared))
    if needs[0] and not include_self:
        of_self = aten.scatter.value(of_self, dim, index, 0)
    return of_self, None, _widened_to(of_src, whole._sizes) if needs[-1] else None


def _product_gradients(
    grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool, result: Tensor,
    added: Callable[[Tensor], Tensor],
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """For each factor the gradient times the product of all others, which division does not give where one is 0."""
    aten = ops.aten
    reduced = {"include_self": include_self}

    def at(t: Tensor) -> Tensor:
        return aten.gather.default(t, dim, index)

    own_zero, zero = aten.eq.Scalar(self, 0), aten.eq.Scalar(src, 0)
    filled = aten.masked_fill.Scalar(self, own_zero, 1)
    others = aten.scatter_reduce.two(filled, dim, index, src, "prod", **reduced)
    of_self = aten.div.Tensor(aten.mul.Tensor(grad, conjugate(others)), conjugate(filled))
    zeros = added(aten._to_copy.default(zero, dtype=grad._dtype))
    single = aten.logical_and.default(zero, aten.eq.Scalar(at(zeros), 1))
    without = aten.scatter_reduce.two(self, dim, index, aten.masked_fill.Scalar(src, single, 1), "prod", **reduced)
    at_single = at(aten.mul.Tensor(grad, conjugate(without)))
    # Of several zeros for one place, each has another zero among its others.
    slope = aten.div.Tensor(
        at(aten.mul.Tensor(grad, conjugate(result))), conjugate(aten.masked_fill.Scalar(src, zero, 1))
    )
    return of_self, aten.where.self(single, at_single, slope)


def _first_of(t: Tensor, sizes: Sequence[int]) -> Tensor:
    for d, (size, used) in enumerate(zip(t._sizes, sizes, strict=False)):
        if size != used:
            t = ops.aten.slice.Tensor(t, d, 0, used)
    return t


@scatter.batching
@scatter_add.batching
@scatter_reduce.batching
def _scatter_batch(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    t, dim, index, source, *rest = args
    if not index.numel():
        return wrap(ops.aten.clone.default(stretched(t, level), memory_format=contiguous_format), level)
    axis = wrap_dim(dim, t.ndim, "scatter") + 1
    found = op(raised(t, level), axis, raised(index, level), raised(source, level), *rest, **kwargs)
    return wrap(found if t._sizes else ops.aten.view.default(found, [level.size]), level)


# ---- samples -------------------------------------------------------------------------------------------------------


@scatter.with_samples
def _(make: Make) -> Samples:
    order = Tensor._from_array(np.array([[2, 0, 1], [0, 1, 2]]))
    yield (make(2, 3), 1, order, make(2, 3)), {}
    yield (ops.aten.transpose.int(make(4, 3), 0, 1), 0, order, make(3, 3)), {}


@scatter_add.with_samples
def _(make: Make) -> Samples:
    for x in sample_sources(make):
        yield (x, 1, sample_places(make, 3, 7, 2), make(4, 7, 2)), {}
    yield (make(), 0, sample_places(make, below=1), make()), {}
    yield (make(3, 4), 0, sample_places(make, 0, 4), make(2, 4)), {}


@scatter_value.with_samples
def _(make: Make) -> Samples:
    for x in sample_sources(make):
        yield (x, 1, sample_places(make, 3, 7, 2), 2), {}
        yield (x, -1, sample_places(make, 2, 3, 2), True), {}
    yield (make(), 0, sample_places(make, below=1), 3), {}
    yield (make(3, 4), 0, sample_places(make, 0, 4), 1), {}


@scatter_reduce.with_samples
def _(make: Make) -> Samples:
    for reduce in _REDUCES:
        for include_self in (True, False):
            options = {"include_self": include_self}
            for x in sample_sources(make):
                yield (x, 1, sample_places(make, 3, 7, 2), make(4, 7, 2), reduce), options
            yield (make(), 0, sample_places(make, below=1), make(), reduce), options
            yield (make(3, 4), 0, sample_places(make, 0, 4), make(2, 4), reduce), options


for _decl in (scatter,):
    _decl.sample_dtypes = (dtypes.float32, dtypes.bfloat16, dtypes.int64, dtypes.bool_, dtypes.complex64)

for _decl in (scatter_add,):
    _decl.sample_dtypes = _ACCUMULATED

for _decl in (scatter_value,):
    _decl.sample_dtypes = (*_ACCUMULATED, dtypes.bool_, dtypes.complex64)

scatter_reduce.sample_dtypes = _ACCUMULATED
