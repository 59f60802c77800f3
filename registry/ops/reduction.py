"""Reductions: sums, products, extremes and truths over dimensions, and what is written with them.

Half types are accumulated in float32, integers in int64. NaN wins a maximum or minimum; argmax and argmin give the
first place of the winner.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from opweave.registry import dtypes
from opweave.registry.batching import along
from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError, OutOfRangeError
from opweave.registry.op import ops
from opweave.registry.ops.copies import rounded
from opweave.registry.ops.gradients import conjugate
from opweave.registry.ops.kinds import composite, normalize_axes, reduction
from opweave.registry.ops.kinds.reduced_rows import reduced
from opweave.registry.ops.numbers import hand_on
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.ops.selection import maximum, minimum
from opweave.registry.rows import are_enough, row_program
from opweave.registry.spec import TensorSpec
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, describe

_FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_ALL = (dtypes.bool_, dtypes.uint8, dtypes.int8, dtypes.int32, dtypes.int64, *_FLOATING)
aten = ops.aten


def _factors(make: Make) -> Samples:
    for x in (make(4, 3, low=1, high=2), make(3, 0), make(low=1, high=2)):
        yield (x, 0), {}
        yield (x, -1, True), {}


_ORDERED = (dtypes.uint8, dtypes.int8, dtypes.int32, dtypes.int64, *_FLOATING)


# ---- types ---------------------------------------------------------------------------------------------------------


def accumulated(source: DType, dtype: DType | None = None) -> tuple[DType, DType]:
    """Sums and products: integers and bools give int64."""
    result = dtype or (dtypes.int64 if source.kind in "biu" else source)
    if result.kind == "b":
        return dtypes.int64, result
    # A wide input is added up as it is, and rounded to a narrow result once.
    wider = source if source.kind == "f" and result.kind == "f" and source.itemsize > result.itemsize else result
    return wider.compute, result


def _averaged(source: DType, dtype: DType | None = None) -> tuple[DType, DType]:
    result = dtype or source
    if result.kind in "biu":
        raise DTypeError(
            f"mean: defined for floating and complex types only, not {result.name}",
            hint="convert first, or pass dtype=opweave.float32",
        )
    return accumulated(source, result)


def _same(source: DType) -> tuple[DType, DType]:
    return source.compute, source


def _ordered(name: str) -> Callable[[DType], tuple[DType, DType]]:
    def types(source: DType) -> tuple[DType, DType]:
        if source.is_complex:
            raise DTypeError(f"{name}: complex numbers have no order", got=source.name)
        return source.compute, source

    return types


def _truth(source: DType) -> tuple[DType, DType]:
    # uint8 stood for bool before there was one, and keeps its type.
    return dtypes.bool_, dtypes.uint8 if source is dtypes.uint8 else dtypes.bool_


def _place(name: str) -> Callable[[DType], tuple[DType, DType]]:
    def types(source: DType) -> tuple[DType, DType]:
        if source.kind in "bc":
            raise DTypeError(f"{name}: not defined for {source.name}")
        return source.compute, dtypes.int64

    return types


# ---- the reductions ------------------------------------------------------------------------------------------------


@reduction(
    "aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    combine="sum",
    types=accumulated,
    autocast={"cuda": "fp32_set_opt_dtype"},
    out=True,
)
def sum_() -> None:
    """Sum of all elements."""


@reduction(
    "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    combine="sum", types=accumulated, autocast={"cuda": "fp32_set_opt_dtype"}, out="IntList_out"
)  # fmt: skip
def sum_dim() -> None:
    """Sum over some dimensions."""


def _divide_by_count(k: Any, total: Any, count: Any) -> Any:
    return total / count


@reduction(
    "aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", combine="sum", types=_averaged,
    finalize=_divide_by_count, out="dtype_out"
)  # fmt: skip
def mean() -> None:
    """Mean of all elements."""


@reduction(
    "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    combine="sum", types=_averaged, finalize=_divide_by_count, out="out"
)  # fmt: skip
def mean_dim() -> None:
    """Mean over some dimensions."""


@reduction(
    "aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
    combine="prod",
    types=accumulated,
    autocast={"cpu": "fp32", "cuda": "fp32_set_opt_dtype"},
    out=True,
)
def prod() -> None:
    """Product of all elements."""


@reduction(
    "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    combine="prod", types=accumulated, autocast={"cpu": "fp32", "cuda": "fp32_set_opt_dtype"}, out="int_out"
)  # fmt: skip
def prod_dim() -> None:
    """Product over a dimension."""


@reduction(
    "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    combine="max",
    types=_ordered("amax"),
    out=True,
    accuracy="rounded",
)
def amax() -> None:
    """Maximum over some dimensions; NaN wins."""


@reduction(
    "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    combine="min",
    types=_ordered("amin"),
    out=True,
    accuracy="rounded",
)
def amin() -> None:
    """Minimum over some dimensions; NaN wins."""


@reduction("aten::max(Tensor self) -> Tensor", combine="max", types=_ordered("max"), out="unary_out")
def max_() -> None:
    """Maximum of all elements; NaN wins."""


@reduction("aten::min(Tensor self) -> Tensor", combine="min", types=_ordered("min"), out="unary_out")
def min_() -> None:
    """Minimum of all elements; NaN wins."""


@reduction("aten::any(Tensor self) -> Tensor", combine="any", types=_truth, out="all_out")
def any_() -> None:
    """Whether any element is not 0."""


@reduction("aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", combine="any", types=_truth, out="out")
def any_dim() -> None:
    """Whether any element over a dimension is not 0."""


@reduction(
    "aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", combine="any", types=_truth, out=True
)
def any_dims() -> None:
    """Whether any element over some dimensions is not 0."""


@reduction("aten::all(Tensor self) -> Tensor", combine="all", types=_truth, out="all_out")
def all_() -> None:
    """Whether no element is 0."""


@reduction("aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", combine="all", types=_truth, out="out")
def all_dim() -> None:
    """Whether no element over a dimension is 0."""


@reduction(
    "aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", combine="all", types=_truth, out=True
)
def all_dims() -> None:
    """Whether no element over some dimensions is 0."""


for _all, _some in (
    (sum_, sum_dim), (mean, mean_dim), (prod, prod_dim), (max_, amax), (min_, amin), (any_, any_dims), (all_, all_dims),
):  # fmt: skip
    _all.by_dims = _some

for _decl in (any_dims, all_dims):
    _decl.empty_is_all = False


@reduction(
    "aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    combine="argmax",
    types=_place("argmax"),
    out=True,
)
def argmax() -> None:
    """Index of the first maximum (of the flattened tensor where no dimension is given)."""


@reduction(
    "aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    combine="argmin",
    types=_place("argmin"),
    out=True,
)
def argmin() -> None:
    """Index of the first minimum (of the flattened tensor where no dimension is given)."""


# ---- written with them ---------------------------------------------------------------------------------------------


def _extremum(value: Any, index: Any, self: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    if self._sizes and not self._sizes[wrap_dim(dim, self.ndim, value.opname)]:
        raise OutOfRangeError(
            f"{value.opname}: cannot reduce over an empty dimension", got=describe(self), hint="test x.numel() before"
        )
    source = rounded(self, dtypes.uint8) if self._dtype is dtypes.bool_ else self
    return value(self, [dim], keepdim), index(source, dim, keepdim)


@composite(
    "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    explicit=True,
    tags="reduction",
    outs=("dim_max", "max", "max_values"),
)
def max_dim(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return _extremum(ops.aten.amax.default, ops.aten.argmax.default, self, dim, keepdim)


@composite(
    "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    explicit=True,
    tags="reduction",
    outs=("dim_min", "min", "min_indices"),
)
def min_dim(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return _extremum(ops.aten.amin.default, ops.aten.argmin.default, self, dim, keepdim)


@composite(
    "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
    explicit=True,
    tags="reduction",
    outs=("out", "min", "max"),
)
def aminmax(self: Tensor, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    axes = [] if dim is None else [dim]
    return ops.aten.amin.default(self, axes, keepdim), ops.aten.amax.default(self, axes, keepdim)


@row_program("rows")
def _logsumexp_of_row(k: Any, x: Any) -> list[Any]:
    top = k.finite(k.max(x))
    return [k.log(k.sum(k.exp(x - top))) + top]


def _logsumexp_of_rows(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Tensor | None:
    if not are_enough(self.numel()) or self._dtype.kind != "f":
        return None
    axes = normalize_axes(dim, self.ndim, "logsumexp")
    return reduced(_logsumexp_of_row, "", [self], axes, keepdim, self._dtype, lambda found: found)


@composite(
    "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    explicit=True,
    of_rows=_logsumexp_of_rows,
    tags="reduction",
    autocast={"cuda": "fp32"},
    outs="out",
)
def logsumexp(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    axes = list(normalize_axes(dim, self.ndim, "logsumexp"))
    result = self._dtype if self._dtype.kind in "fc" else dtypes.get_default_dtype()
    wide = rounded(self, result.compute)
    if 0 in self._sizes:
        total = ops.aten.sum.dim_IntList(ops.aten.exp.default(wide), axes, keepdim)
        return rounded(ops.aten.log.default(total), result)
    top = ops.aten.amax.default(ops.aten.real.default(wide), axes, True)
    # An infinite maximum would give inf - inf.
    top = ops.aten.where(ops.aten.isfinite.default(top), top, 0)
    total = ops.aten.sum.dim_IntList(ops.aten.exp.default(ops.aten.sub.Tensor(wide, top)), axes, keepdim)
    shift = top if keepdim or not self._sizes else ops.aten.squeeze.dims(top, axes)
    return rounded(ops.aten.add.Tensor(ops.aten.log.default(total), shift), result)


@composite(
    "aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
    explicit=True,
    own_tags="reduction",
    outs="dim_IntList_out",
)
def count_nonzero(self: Tensor, dim: Sequence[int]) -> Tensor:
    return ops.aten.sum.dim_IntList(ops.aten.ne(self, 0), dim)


@composite("aten::count_nonzero(Tensor self, int? dim=None) -> Tensor", explicit=True, own_tags="reduction", outs="out")
def count_nonzero_default(self: Tensor, dim: int | None = None) -> Tensor:
    return ops.aten.sum.dim_IntList(ops.aten.ne(self, 0), None if dim is None else [dim])


# ---- sums without NaN ----------------------------------------------------------------------------------------------


def dims_of(dim: Any) -> list[int] | None:
    return None if dim is None else [dim] if isinstance(dim, int) else list(dim)


def _known(self: Any) -> Any:
    """The elements, 0 for NaN."""
    return aten.where(aten.isnan.default(self), 0.0, self) if self._dtype.kind == "f" else self


@composite(
    "aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    tags="reduction",
    outs="out",
)
def nansum(self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """The sum of what is a number."""
    if self._dtype.kind == "c":
        raise DTypeError("nansum: not defined for complex numbers", got=describe(self))
    return aten.sum.dim_IntList(_known(self), dims_of(dim), keepdim, dtype=dtype)


@composite(
    "aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", outs="out"
)
def nanmean(self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """The mean of what is a number."""
    if self._dtype.kind != "f":
        raise DTypeError("nanmean: expected a floating type", got=describe(self), hint="x.to(float32)")
    counted = aten.logical_not.default(aten.isnan.default(self))
    count: Any = aten.sum.dim_IntList(counted, dims_of(dim), keepdim)
    total: Any = nansum.body(self, dim, keepdim, dtype=dtype)
    return total / count


for _decl in (max_dim, min_dim):
    _decl.batching(along("self"))


# ---- gradients -----------------------------------------------------------------------------------------------------


def kept_dims(reduced: Tensor, sizes: Sequence[int], dim: Any, keepdim: bool) -> Tensor:
    """The result of a reduction with its reduced dimensions put back, of size 1."""
    if keepdim or not sizes:
        return reduced
    for d in sorted(normalize_axes(dim, len(sizes), "reduction")):
        reduced = ops.aten.unsqueeze.default(reduced, d)
    return reduced


def spread(grad: Tensor, sizes: Sequence[int], dim: Any = None, keepdim: bool = False) -> Tensor:
    """A gradient given to each element that a sum took."""
    return ops.aten.expand.default(kept_dims(grad, sizes, dim, keepdim), list(sizes))


def count_of(sizes: Sequence[int], dim: Any) -> int:
    return math.prod(sizes[d] for d in normalize_axes(dim, len(sizes), "mean")) if sizes else 1


sum_.backward(self=lambda grad, self_spec: spread(grad, self_spec.sizes))

sum_dim.backward(self=lambda grad, self_spec, dim, keepdim: spread(grad, self_spec.sizes, dim, keepdim))

mean.backward(self=lambda grad, self_spec: spread(ops.aten.div(grad, count_of(self_spec.sizes, None)), self_spec.sizes))


@mean_dim.backward
def _mean_backward(grad: Tensor, self_spec: TensorSpec, dim: Any, keepdim: bool) -> tuple[Tensor]:
    return (spread(ops.aten.div(grad, count_of(self_spec.sizes, dim)), self_spec.sizes, dim, keepdim),)


def _product_of_others(x: Tensor, dim: int) -> Tensor:
    """For each element the product of all others of its row, which division would not give where one is 0."""
    aten = ops.aten
    size = x._sizes[dim]
    one = aten.new_ones.default(x, [1 if d == dim else n for d, n in enumerate(x._sizes)])
    before = aten.cumprod.default(aten.cat.default([one, aten.slice.Tensor(x, dim, 0, size - 1)], dim), dim)
    last_first = aten.flip.default(aten.slice.Tensor(x, dim, 1, size), [dim])
    after = aten.cumprod.default(aten.cat.default([one, last_first], dim), dim)
    return aten.mul.Tensor(before, aten.flip.default(after, [dim]))


def _prod_gradient(grad: Tensor, self: Tensor, dim: int, keepdim: bool) -> Tensor:
    if not self._sizes:
        return grad
    at = wrap_dim(dim, self.ndim, "prod")
    if not self._sizes[at]:
        return ops.aten.new_zeros.default(grad, self._sizes)
    others = conjugate(_product_of_others(rounded(self, grad._dtype), at))
    return ops.aten.mul.Tensor(kept_dims(grad, self._sizes, [at], keepdim), others)


@prod.backward
def _prod_backward(grad: Tensor, self: Tensor) -> tuple[Tensor]:
    flat = _prod_gradient(grad, ops.aten.reshape.default(self, [-1]), 0, False)
    return (ops.aten.reshape.default(flat, self._sizes),)


prod_dim.backward(self=_prod_gradient)


def shared_out(grad: Tensor, chosen: Tensor, dim: Any) -> Tensor:
    """A gradient divided among the elements that a mask chooses."""
    aten = ops.aten
    weight = rounded(chosen, grad._dtype)
    count = aten.sum.dim_IntList(weight, dim, True) if chosen._sizes else weight
    return aten.div.Tensor(aten.mul.Tensor(grad, weight), count)


def _extreme_gradient(grad: Tensor, self: Tensor, result: Tensor, dim: Any, keepdim: bool) -> Tensor:
    chosen = ops.aten.eq.Tensor(self, kept_dims(result, self._sizes, dim, keepdim))
    return shared_out(kept_dims(grad, self._sizes, dim, keepdim), chosen, list(dim or ()))


@amax.backward
def _amax_backward(grad: Tensor, self: Tensor, result: Tensor, dim: Any, keepdim: bool) -> tuple[Tensor]:
    return (_extreme_gradient(grad, self, result, dim, keepdim),)


amin.backward(_amax_backward)


@max_.backward
def _max_backward(grad: Tensor, self: Tensor, result: Tensor) -> tuple[Tensor]:
    aten = ops.aten
    is_nan = aten.logical_and.default(aten.isnan.default(self), aten.isnan.default(result))
    chosen = aten.logical_or.default(aten.eq.Tensor(self, result), is_nan)
    return (shared_out(grad, chosen, list(range(self.ndim))),)


min_.backward(_max_backward)


@max_dim.backward
def _chosen_backward(grad: Tensor, self_spec: TensorSpec, dim: int, keepdim: bool, result1: Tensor) -> tuple[Tensor]:
    if not self_spec.sizes:
        return (grad,)
    whole = ops.aten.new_zeros.default(grad, self_spec.sizes)
    places, values = (kept_dims(t, self_spec.sizes, [dim], keepdim) for t in (result1, grad))
    return (ops.aten.scatter.src(whole, dim, places, values),)


min_dim.backward(_chosen_backward)

for _decl in (any_, any_dim, any_dims, all_, all_dim, all_dims, argmax, argmin):
    _decl.backward()


@logsumexp.backward
def _logsumexp_backward(grad: Tensor, self: Tensor, result: Tensor, dim: Any, keepdim: bool) -> tuple[Tensor]:
    aten = ops.aten
    grad, result = (kept_dims(t, self._sizes, dim, keepdim) for t in (grad, result))
    return (aten.mul.Tensor(grad, conjugate(aten.exp.default(aten.sub.Tensor(self, result)))),)


# ---- of two tensors ------------------------------------------------------------------------------------------------


for _name, _decl in (("max", maximum), ("min", minimum)):
    hand_on(f"aten::{_name}.other(Tensor self, Tensor other) -> Tensor", _decl.op)
    _written = getattr(ops.aten, f"{_name}imum").out
    hand_on(f"aten::{_name}.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", _written)


# ---- samples -------------------------------------------------------------------------------------------------------


def _shapes(make: Make, **kwargs: Any) -> Iterable[Tensor]:
    """Contiguous, transposed, sliced, expanded, 0-d and long tensors."""
    yield make(4, 5, 3, **kwargs)
    yield ops.aten.permute.default(make(4, 5, 3, **kwargs), [2, 0, 1])
    yield ops.aten.slice.Tensor(make(4, 9, 3, **kwargs), 1, 1, 8, 2)
    yield ops.aten.expand.default(make(4, 1, 3, **kwargs), [4, 3, 3])
    yield make(700, 3, 2, **kwargs)


def _whole(make: Make) -> Samples:
    for x in (*_shapes(make), make()):
        yield (x,), {}


def _with_empty(make: Make) -> Samples:
    yield from _whole(make)
    yield (make(0, 3),), {}


def _by_dims(make: Make) -> Samples:
    for x in _shapes(make):
        for dim in ([0], [1], [-1], [0, 2], [1, 0], []):
            yield (x, dim), {}
        yield (x, [1], True), {}
    yield (make(), [0]), {}


def _by_dims_or_empty(make: Make) -> Samples:
    yield from _by_dims(make)
    yield (make(3, 4), None), {}
    yield (make(0, 3), [0]), {}
    yield (make(0, 3), [1], True), {}


def _by_dim(make: Make) -> Samples:
    for x in _shapes(make):
        for dim in (0, 1, -1):
            yield (x, dim), {}
        yield (x, 1, True), {}
    yield (make(), 0), {}


def _places(make: Make) -> Samples:
    yield from _by_dim(make)
    yield (make(3, 4), None), {}
    yield (make(3, 4), None, True), {}


_SAMPLES: dict[Callable[[Make], Samples], tuple[Any, ...]] = {
    _with_empty: (sum_, any_, all_),
    _whole: (mean, max_, min_, count_nonzero_default),
    _by_dims_or_empty: (sum_dim, any_dims, all_dims),
    _by_dims: (mean_dim, amax, amin, logsumexp),
    _by_dim: (any_dim, all_dim, max_dim, min_dim),
    _factors: (prod_dim,),
    _places: (argmax, argmin),
}

for _samples, _decls in _SAMPLES.items():
    for _decl in _decls:
        _decl.with_samples(_samples)
        _decl.sample_dtypes = _ALL

for _decl in (mean, mean_dim):
    _decl.sample_dtypes = _FLOATING

for _decl in (logsumexp,):
    _decl.sample_dtypes = (*_FLOATING, dtypes.complex64)

for _decl in (argmax, argmin):
    _decl.sample_dtypes = _ORDERED


@prod.with_samples
def _(make: Make) -> Samples:
    yield (make(4, 3, low=1, high=2),), {}
    yield (make(0),), {}
    yield (make(4, low=1, high=2),), {"dtype": dtypes.float64}


prod.sample_dtypes = _ALL
