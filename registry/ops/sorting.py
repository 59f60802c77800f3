"""Sorting and selecting by rank. NaN counts as the largest number; among equals, the order stays as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import along, bound
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds import composite, extern
from opweave.registry.promote import pointwise_strides
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.strided import wrap_dim
from opweave.registry.symbolic import demand
from opweave.registry.tensor import Tensor, allocate_like, describe

Make = Callable[..., Tensor]
Samples = Iterable[tuple[tuple[Any, ...], dict[str, Any]]]


def _check_order(op: str, self: Tensor, kinds: str) -> None:
    if self._dtype.kind not in kinds:
        raise DTypeError(f"{op}: not defined for {self._dtype.name}", got=describe(self))


def _order(xp: Any, array: Any, axis: int, descending: bool) -> Any:
    """The places of the elements in order, by a stable sort."""
    if array.dtype.kind not in "biuf":  # a half type that NumPy only stores
        array = array.astype(dtypes.float32.numpy)
    if not descending:
        return xp.argsort(array, axis=axis, kind="stable")
    # Backwards twice: equal elements stay in their order.
    backwards = xp.argsort(xp.flip(array, axis), axis=axis, kind="stable")
    return array.shape[axis] - 1 - xp.flip(backwards, axis)


def _filled(self: Tensor, specs: Sequence[TensorSpec], axis: int, descending: bool, count: int | None) -> Any:
    """(elements, places) of the first `count` in order."""
    values, indices = (allocate_like(spec) for spec in specs)
    xp = self._device.xp
    if not self._sizes:
        values._array[...] = self._array
        indices._array[...] = 0
    elif values.numel():
        places = _order(xp, self._array, axis, descending)
        if count is not None:
            places = places[(slice(None),) * axis + (slice(0, count),)]
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
        demand(right, f"topk: k={k} is outside dimension {axis} with size {size}", ShapeError)
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


# ---- gradients -----------------------------------------------------------------------------------------------------


def _returned(grad: Tensor, self_spec: TensorSpec, dim: int, result1: Tensor) -> Tensor:
    """Each gradient at the place its element came from."""
    aten = ops.aten
    if not self_spec.sizes:
        return grad
    return aten.scatter.src(aten.new_zeros.default(grad, self_spec.sizes), dim, result1, grad)


for _decl in (sort, topk):
    _decl.backward(self=_returned)


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
