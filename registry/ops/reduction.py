"""Reductions, and what is written with them.

Half types are accumulated in float32, integers in int64. NaN wins a maximum or minimum; argmax and argmin give the
first place of the winner.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.autograd.mode import is_grad_enabled
from opweave.registry.batching import along
from opweave.registry.device import cpu
from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError, OutOfRangeError
from opweave.registry.keys import state
from opweave.registry.op import ops
from opweave.registry.ops.kinds import composite, normalize_axes, reduction, scan, wide_type
from opweave.registry.ops.pointwise import conjugate
from opweave.registry.promote import as_element, result_type
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.strided import wrap_dim
from opweave.registry.symbolic import is_open, larger
from opweave.registry.tensor import Tensor, describe

Make = Callable[..., Tensor]
Samples = Iterable[tuple[tuple[Any, ...], dict[str, Any]]]

_FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_ALL = (dtypes.bool_, dtypes.uint8, dtypes.int8, dtypes.int32, dtypes.int64, *_FLOATING)
_ORDERED = (dtypes.uint8, dtypes.int8, dtypes.int32, dtypes.int64, *_FLOATING)


# ---- types ---------------------------------------------------------------------------------------------------------


def _accumulated(source: DType, dtype: DType | None = None) -> tuple[DType, DType]:
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
    return _accumulated(source, result)


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
    types=_accumulated,
    autocast={"cuda": "fp32_set_opt_dtype"},
    out=True,
)
def sum_() -> None:
    """Sum of all elements."""


@reduction(
    "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    combine="sum", types=_accumulated, autocast={"cuda": "fp32_set_opt_dtype"}, out="IntList_out"
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
    types=_accumulated,
    autocast={"cpu": "fp32", "cuda": "fp32_set_opt_dtype"},
    out=True,
)
def prod() -> None:
    """Product of all elements."""


@reduction(
    "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    combine="prod", types=_accumulated, autocast={"cpu": "fp32", "cuda": "fp32_set_opt_dtype"}, out="int_out"
)  # fmt: skip
def prod_dim() -> None:
    """Product over a dimension."""


@reduction(
    "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    combine="max",
    types=_ordered("amax"),
    out=True,
)
def amax() -> None:
    """Maximum over some dimensions; NaN wins."""


@reduction(
    "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    combine="min",
    types=_ordered("amin"),
    out=True,
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


def widened(self: Tensor) -> Tensor:
    """The tensor in the type that its arithmetic is done in: half types become float32."""
    compute = self._dtype.compute
    return self if compute is self._dtype else ops.aten._to_copy.default(self, dtype=compute)


def rounded(self: Tensor, dtype: DType) -> Tensor:
    """The tensor in a given type."""
    return self if self._dtype is dtype else ops.aten._to_copy.default(self, dtype=dtype)


def _extremum(value: Any, index: Any, self: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    if self._sizes and not self._sizes[wrap_dim(dim, self.ndim, value.opname)]:
        raise OutOfRangeError(f"{value.opname}: cannot reduce over an empty dimension", got=describe(self))
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


def _squared(fresh: Tensor) -> Tensor:
    """The squares of a tensor that nothing else needs: in its own memory where nobody is watching."""
    watched = state.modes or type(fresh) is not Tensor or fresh.requires_grad
    if watched or fresh._device is not cpu:
        return ops.aten.mul.Tensor(fresh, fresh)
    with np.errstate(all="ignore"):
        np.multiply(fresh._array, fresh._array, out=fresh._array)
    return fresh


def _moments(op: str, self: Tensor, dim: Any, correction: Any, keepdim: bool) -> tuple[Tensor, Tensor]:
    """(variance, mean with its dimensions kept) in the compute type; the two-pass formula, which does not cancel."""
    if self._dtype.kind not in "fc":
        raise DTypeError(
            f"{op}: defined for floating and complex types only, not {self._dtype.name}", got=describe(self)
        )
    axes = list(normalize_axes(dim, self.ndim, op))
    wide = widened(self)
    mean_kept = ops.aten.mean.dim(wide, axes, True)
    centred = ops.aten.sub.Tensor(wide, mean_kept)
    if self._dtype.is_complex:
        # The squares of the distances from the mean.
        squares = ops.aten.sum.dim_IntList(_squared(ops.aten.view_as_real.default(centred)), [-1])
    else:
        squares = _squared(centred)
    squares = ops.aten.sum.dim_IntList(squares, axes, keepdim)
    count = math.prod(self._sizes[d] for d in axes) if self._sizes else 1
    freedom = count - (1 if correction is None else as_element(op, correction, dtypes.float64))
    variance = ops.aten.div.Tensor(squares, larger(freedom, 0))
    return variance, mean_kept


@composite(
    "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    explicit=True,
    tags="reduction",
    out=True,
)
def var(self: Tensor, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Tensor:
    return rounded(_moments("var", self, dim, correction, keepdim)[0], self._dtype.to_real())


@composite(
    "aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    explicit=True,
    tags="reduction",
    out=True,
)
def std(self: Tensor, dim: Any = None, correction: Any = None, keepdim: bool = False) -> Tensor:
    return rounded(ops.aten.sqrt.default(_moments("std", self, dim, correction, keepdim)[0]), self._dtype.to_real())


@composite(
    "aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)"
    " -> (Tensor, Tensor)",
    explicit=True,
    own_tags="reduction",
    outs=("correction_out", "out0", "out1"),
)
def var_mean(self: Tensor, dim: Any = None, correction: Any = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    variance, average = _moments("var_mean", self, dim, correction, keepdim)
    if not keepdim and self._sizes:
        average = ops.aten.squeeze.dims(average, list(normalize_axes(dim, self.ndim, "var_mean")))
    return rounded(variance, self._dtype.to_real()), rounded(average, self._dtype)


@composite(
    "aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)"
    " -> (Tensor, Tensor)",
    explicit=True,
    own_tags="reduction",
    outs=("correction_out", "out0", "out1"),
)
def std_mean(self: Tensor, dim: Any = None, correction: Any = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    variance, average = _moments("std_mean", self, dim, correction, keepdim)
    if not keepdim and self._sizes:
        average = ops.aten.squeeze.dims(average, list(normalize_axes(dim, self.ndim, "std_mean")))
    return rounded(ops.aten.sqrt.default(variance), self._dtype.to_real()), rounded(average, self._dtype)


@composite("aten::var(Tensor self, bool unbiased=True) -> Tensor", tags="reduction")
def var_default(self: Tensor, unbiased: bool = True) -> Tensor:
    return ops.aten.var.correction(self, None, correction=int(unbiased))


@composite(
    "aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
    tags="reduction",
    outs="out",
)
def var_dim(self: Tensor, dim: Any, unbiased: bool = True, keepdim: bool = False) -> Tensor:
    return ops.aten.var.correction(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite("aten::std(Tensor self, bool unbiased=True) -> Tensor", tags="reduction")
def std_default(self: Tensor, unbiased: bool = True) -> Tensor:
    return ops.aten.std.correction(self, None, correction=int(unbiased))


@composite(
    "aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
    tags="reduction",
    outs="out",
)
def std_dim(self: Tensor, dim: Any, unbiased: bool = True, keepdim: bool = False) -> Tensor:
    return ops.aten.std.correction(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite("aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", tags="reduction")
def var_mean_default(self: Tensor, unbiased: bool = True) -> tuple[Tensor, Tensor]:
    return ops.aten.var_mean.correction(self, None, correction=int(unbiased))


@composite(
    "aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
    tags="reduction",
)
def var_mean_dim(self: Tensor, dim: Any, unbiased: bool = True, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return ops.aten.var_mean.correction(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite("aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", tags="reduction")
def std_mean_default(self: Tensor, unbiased: bool = True) -> tuple[Tensor, Tensor]:
    return ops.aten.std_mean.correction(self, None, correction=int(unbiased))


@composite(
    "aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
    tags="reduction",
)
def std_mean_dim(self: Tensor, dim: Any, unbiased: bool = True, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    return ops.aten.std_mean.correction(self, dim, correction=int(unbiased), keepdim=keepdim)


@composite(
    "aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
    explicit=True,
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


@composite(
    "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *,"
    " ScalarType? dtype=None) -> Tensor",
    explicit=True,
    tags="reduction",
    autocast={"cuda": "fp32_set_opt_dtype"},
    outs="out",
)
def linalg_vector_norm(
    self: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, dtype: DType | None = None
) -> Tensor:
    if self._dtype.kind not in "fc":
        raise DTypeError("linalg_vector_norm: expected a floating or complex type", got=describe(self))
    if dtype is not None and (dtype.kind != self._dtype.kind or result_type(self._dtype, dtype) is not dtype):
        raise DTypeError(
            f"linalg_vector_norm: {self._dtype.name} does not become {dtype.name} without loss", got=describe(self),
            hint="dtype is a type as wide as the input's, real or complex as that is",
        )  # fmt: skip
    ord = as_element("linalg_vector_norm", ord, dtypes.float64)
    wide = (dtype or self._dtype).compute
    result = (dtype or self._dtype).to_real()
    axes = list(normalize_axes(dim, self.ndim, "linalg_vector_norm"))
    size = ops.aten.abs.default(rounded(self, wide))
    if math.isinf(ord):
        return rounded((ops.aten.amax if ord > 0 else ops.aten.amin).default(size, axes, keepdim), result)
    if ord == 0:
        nonzero = rounded(ops.aten.ne(size, 0), result.compute)
        return rounded(ops.aten.sum.dim_IntList(nonzero, axes, keepdim), result)
    if ord == 1:
        return rounded(ops.aten.sum.dim_IntList(size, axes, keepdim), result)
    powers = ops.aten.mul.Tensor(size, size) if ord == 2 else ops.aten.pow(size, ord)
    total = ops.aten.sum.dim_IntList(powers, axes, keepdim)
    root = ops.aten.sqrt.default(total) if ord == 2 else ops.aten.pow(total, 1 / ord)
    return rounded(root, result)


# ---- running sums --------------------------------------------------------------------------------------------------


def _running_spec(self: Tensor, dim: int, dtype: DType | None = None) -> TensorSpec:
    wrap_dim(dim, self.ndim, "cumsum")
    return contiguous(self._sizes, _accumulated(self._dtype, dtype)[1], self._device)


# Elements that are converted and added up at a time, so that they stay in the cache.
_CHUNK = 1 << 16


def _running_rows(function: str, array: Any, wide: DType, result: DType) -> Any:
    """Running totals of each row, a few rows at a time."""
    accumulate = {"cumsum": np.add.accumulate, "cumprod": np.multiply.accumulate}[function]
    count, size = array.shape
    out = np.empty(array.shape, result.numpy)
    step = max(1, min(_CHUNK // max(size, 1), count))
    terms, totals = (np.empty((step, size), wide.numpy) for _ in range(2))
    with np.errstate(all="ignore"):
        for start in range(0, count, step):
            rows = min(step, count - start)
            np.copyto(terms[:rows], array[start : start + rows], casting="unsafe")
            accumulate(terms[:rows], axis=1, out=totals[:rows])
            np.copyto(out[start : start + rows], totals[:rows], casting="unsafe")
    return out


def _running(function: str, self: Tensor, dim: int, dtype: DType | None) -> Tensor:
    axis = wrap_dim(dim, self.ndim, function)
    result = _accumulated(self._dtype, dtype)[1]
    xp = self._device.xp
    wide = wide_type(result)
    if xp is np and self.numel() > 1 and axis == self.ndim - 1 and self._array.flags.c_contiguous:
        rows = _running_rows(function, self._array.reshape(-1, self._sizes[-1]), wide, result)
        return Tensor._from_array(rows.reshape(self._sizes), self._device)
    with np.errstate(all="ignore"):
        array = self._array.astype(wide.numpy)
        if self._sizes:
            array = getattr(xp, function)(array, axis=axis)
        array = array.astype(result.numpy)
    return Tensor._from_array(xp.ascontiguousarray(array).reshape(self._sizes), self._device)


@scan(
    "aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    spec=_running_spec,
    combine="cumsum",
    autocast={"cuda": "fp32_set_opt_dtype"},
    out=True,
    inplace=True,
)
def cumsum(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    return _running("cumsum", self, dim, dtype)


@scan(
    "aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    spec=_running_spec,
    combine="cumprod",
    autocast={"cuda": "fp32_set_opt_dtype"},
    outs="out",
)
def cumprod(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    return _running("cumprod", self, dim, dtype)


for _decl in (cumsum, cumprod, max_dim, min_dim):
    _decl.batching(along("self"))


# ---- gradients -----------------------------------------------------------------------------------------------------


def _kept(reduced: Tensor, sizes: Sequence[int], dim: Any, keepdim: bool) -> Tensor:
    """The result of a reduction with its reduced dimensions put back, of size 1."""
    if keepdim or not sizes:
        return reduced
    for d in sorted(normalize_axes(dim, len(sizes), "reduction")):
        reduced = ops.aten.unsqueeze.default(reduced, d)
    return reduced


def _spread(grad: Tensor, sizes: Sequence[int], dim: Any = None, keepdim: bool = False) -> Tensor:
    """A gradient given to each element that a sum took."""
    return ops.aten.expand.default(_kept(grad, sizes, dim, keepdim), list(sizes))


def _count(sizes: Sequence[int], dim: Any) -> int:
    return math.prod(sizes[d] for d in normalize_axes(dim, len(sizes), "mean")) if sizes else 1


sum_.backward(self=lambda grad, self_spec: _spread(grad, self_spec.sizes))
sum_dim.backward(self=lambda grad, self_spec, dim, keepdim: _spread(grad, self_spec.sizes, dim, keepdim))
mean.backward(self=lambda grad, self_spec: _spread(ops.aten.div(grad, _count(self_spec.sizes, None)), self_spec.sizes))


@mean_dim.backward
def _mean_backward(grad: Tensor, self_spec: TensorSpec, dim: Any, keepdim: bool) -> tuple[Tensor]:
    return (_spread(ops.aten.div(grad, _count(self_spec.sizes, dim)), self_spec.sizes, dim, keepdim),)


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
    return ops.aten.mul.Tensor(_kept(grad, self._sizes, [at], keepdim), others)


@prod.backward
def _prod_backward(grad: Tensor, self: Tensor) -> tuple[Tensor]:
    flat = _prod_gradient(grad, ops.aten.reshape.default(self, [-1]), 0, False)
    return (ops.aten.reshape.default(flat, self._sizes),)


prod_dim.backward(self=_prod_gradient)


def _shared(grad: Tensor, chosen: Tensor, dim: Any) -> Tensor:
    """A gradient divided among the elements that a mask chooses."""
    aten = ops.aten
    weight = rounded(chosen, grad._dtype)
    count = aten.sum.dim_IntList(weight, dim, True) if chosen._sizes else weight
    return aten.div.Tensor(aten.mul.Tensor(grad, weight), count)


def _extreme_gradient(grad: Tensor, self: Tensor, result: Tensor, dim: Any, keepdim: bool) -> Tensor:
    chosen = ops.aten.eq.Tensor(self, _kept(result, self._sizes, dim, keepdim))
    return _shared(_kept(grad, self._sizes, dim, keepdim), chosen, list(dim or ()))


@amax.backward
def _amax_backward(grad: Tensor, self: Tensor, result: Tensor, dim: Any, keepdim: bool) -> tuple[Tensor]:
    return (_extreme_gradient(grad, self, result, dim, keepdim),)


amin.backward(_amax_backward)


@max_.backward
def _max_backward(grad: Tensor, self: Tensor, result: Tensor) -> tuple[Tensor]:
    aten = ops.aten
    is_nan = aten.logical_and.default(aten.isnan.default(self), aten.isnan.default(result))
    chosen = aten.logical_or.default(aten.eq.Tensor(self, result), is_nan)
    return (_shared(grad, chosen, list(range(self.ndim))),)


min_.backward(_max_backward)


@max_dim.backward
def _chosen_backward(grad: Tensor, self_spec: TensorSpec, dim: int, keepdim: bool, result1: Tensor) -> tuple[Tensor]:
    if not self_spec.sizes:
        return (grad,)
    whole = ops.aten.new_zeros.default(grad, self_spec.sizes)
    places, values = (_kept(t, self_spec.sizes, [dim], keepdim) for t in (result1, grad))
    return (ops.aten.scatter.src(whole, dim, places, values),)


min_dim.backward(_chosen_backward)

for _decl in (any_, any_dim, any_dims, all_, all_dim, all_dims, argmax, argmin):
    _decl.backward()


def _var_gradient(grad: Tensor, self: Tensor, dim: Any, correction: Any, keepdim: bool) -> Tensor:
    aten = ops.aten
    axes = list(normalize_axes(dim, self.ndim, "var"))
    grad = _kept(grad, self._sizes, axes, keepdim)
    freedom = _count(self._sizes, axes) - (1 if correction is None else correction)
    centred = aten.sub.Tensor(self, aten.mean.dim(self, axes, True))
    none = freedom <= 0
    if is_open(none):  # dividing by 0 says the same as what follows
        return aten.div.Tensor(aten.mul.Tensor(aten.mul.Scalar(grad, 2.0), centred), larger(freedom, 0))
    if none:
        where = aten.where(aten.eq.Scalar(centred, 0), math.nan, math.inf)
        return aten.mul.Tensor(grad, rounded(where, grad._dtype))
    return aten.mul.Tensor(aten.mul(grad, 2.0 / freedom), centred)


var.backward(self=_var_gradient)


@std.backward
def _std_backward(
    grad: Tensor, self: Tensor, result: Tensor, dim: Any, correction: Any, keepdim: bool
) -> tuple[Tensor]:
    aten = ops.aten
    # Where all elements are equal the slope is taken as 0.
    of_var = aten.masked_fill.Scalar(aten.div.Tensor(grad, aten.mul(result, 2)), aten.eq.Scalar(result, 0), 0)
    return (_var_gradient(of_var, self, dim, correction, keepdim),)


@var_mean.backward
def _var_mean_backward(
    grads: Sequence[Tensor | None], self: Tensor, dim: Any, correction: Any, keepdim: bool
) -> tuple[Tensor | None]:
    of_var, of_mean = grads
    found = None if of_var is None else _var_gradient(of_var, self, dim, correction, keepdim)
    return (_with_mean_gradient(found, of_mean, self, dim, keepdim),)


@std_mean.backward
def _std_mean_backward(
    grads: Sequence[Tensor | None], self: Tensor, result: Tensor, dim: Any, correction: Any, keepdim: bool
) -> tuple[Tensor | None]:
    of_std, of_mean = grads
    found = None if of_std is None else _std_backward(of_std, self, result, dim, correction, keepdim)[0]
    return (_with_mean_gradient(found, of_mean, self, dim, keepdim),)


def _with_mean_gradient(
    found: Tensor | None, of_mean: Tensor | None, self: Tensor, dim: Any, keepdim: bool
) -> Tensor | None:
    if of_mean is not None:
        axes = normalize_axes(dim, self.ndim, "var_mean")
        each = _spread(ops.aten.div(of_mean, _count(self._sizes, axes)), self._sizes, axes, keepdim)
        found = each if found is None else ops.aten.add.Tensor(found, each)
    return found


@logsumexp.backward
def _logsumexp_backward(grad: Tensor, self: Tensor, result: Tensor, dim: Any, keepdim: bool) -> tuple[Tensor]:
    aten = ops.aten
    grad, result = (_kept(t, self._sizes, dim, keepdim) for t in (grad, result))
    return (aten.mul.Tensor(grad, conjugate(aten.exp.default(aten.sub.Tensor(self, result)))),)


@linalg_vector_norm.backward
def _norm_backward(
    grad: Tensor, self: Tensor, result: Tensor, ord: float, dim: Any, keepdim: bool
) -> tuple[Tensor | None]:
    aten = ops.aten
    if ord == 0:
        return (None,)
    axes = list(normalize_axes(dim, self.ndim, "linalg_vector_norm"))
    grad, norm = (_kept(t, self._sizes, axes, keepdim) for t in (grad, result))
    self = rounded(self, norm._dtype.to_complex() if self._dtype.is_complex else norm._dtype)
    sign = (aten.sgn if self._dtype.is_complex else aten.sign).default(self)
    if ord == 1:
        return (aten.mul.Tensor(grad, sign),)
    if math.isinf(ord):
        size = aten.abs.default(self)
        chosen = aten.logical_or.default(aten.eq.Tensor(size, norm), aten.isnan.default(size))
        return (aten.mul.Tensor(_shared(grad, chosen, axes), sign),)
    is_zero = aten.eq.Scalar(norm, 0)
    if ord == 2:
        slope = aten.masked_fill.Scalar(aten.div.Tensor(self, norm), is_zero, 0)
    else:
        powers = aten.pow(aten.abs.default(self), ord - 1)
        if ord < 1:
            powers = aten.masked_fill.Scalar(powers, aten.eq.Scalar(self, 0), 0)
        slope = aten.div.Tensor(aten.mul.Tensor(sign, powers), aten.pow(norm, ord - 1))
        slope = aten.masked_fill.Scalar(slope, is_zero, 0)
    return (aten.mul.Tensor(grad, slope),)


def _sum_from_here(x: Tensor, dim: int) -> Tensor:
    """For each element the sum of it and all after it."""
    return ops.aten.flip.default(ops.aten.cumsum.default(ops.aten.flip.default(x, [dim]), dim), [dim])


cumsum.backward(self=lambda grad, dim: _sum_from_here(grad, dim) if grad._sizes else grad)


@cumprod.backward
def _cumprod_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> tuple[Tensor]:
    aten = ops.aten
    if not self._sizes or not self._sizes[dim]:
        return (grad,)
    at = wrap_dim(dim, self.ndim, "cumprod")
    x = rounded(self, grad._dtype)
    if is_grad_enabled():
        return (_cumprod_gradient_by_rows(grad, x, at),)
    # Up to the first 0 of a row products may be divided by a factor. At the 0 itself its factor is left out; the
    # products after it have the slope 0 in every other factor.
    is_zero = aten.eq.Scalar(x, 0)
    zeros = aten.cumsum.default(is_zero, at)
    before = aten.eq.Scalar(zeros, 0)
    first = aten.logical_and.default(is_zero, aten.eq.Scalar(zeros, 1))
    slope = aten.div.Tensor(
        _sum_from_here(aten.mul.Tensor(grad, conjugate(result)), at),
        conjugate(aten.masked_fill.Scalar(x, is_zero, 1)),
    )
    without = aten.cumprod.default(aten.masked_fill.Scalar(x, first, 1), at)
    after = aten.masked_fill.Scalar(aten.mul.Tensor(grad, conjugate(without)), before, 0)
    at_first = aten.where.self(first, _sum_from_here(after, at), aten.new_zeros.default(grad, []))
    return (aten.where.self(before, slope, at_first),)


def _cumprod_gradient_by_rows(grad: Tensor, x: Tensor, dim: int) -> Tensor:
    """The same, differentiable again where there are zeros: a running product without each element in turn."""
    aten = ops.aten
    size = x._sizes[dim]
    places = aten.arange.default(size, device=x._device)
    tail = [1] * (x.ndim - dim - 1)
    left_out = aten.reshape.default(places, [size, 1, *tail])
    running = aten.reshape.default(places, [size, *tail])
    rows = aten.masked_fill.Scalar(aten.unsqueeze.default(x, dim), aten.eq.Tensor(left_out, running), 1)
    products = aten.masked_fill.Scalar(
        aten.cumprod.default(rows, dim + 1), aten.gt.Tensor(left_out, running), 0
    )  # fmt: skip
    return aten.sum.dim_IntList(aten.mul.Tensor(aten.unsqueeze.default(grad, dim), conjugate(products)), [dim + 1])


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


def _factors(make: Make) -> Samples:
    for x in (make(4, 3, low=1, high=2), make(3, 0), make(low=1, high=2)):
        yield (x, 0), {}
        yield (x, -1, True), {}


def _along(make: Make) -> Samples:
    for args, kwargs in _factors(make):
        yield args[:2], kwargs
    yield (ops.aten.permute.default(make(4, 2, 3, low=1, high=2), [2, 0, 1]), 1), {}
    yield (make(6, low=1, high=2), 0), {"dtype": dtypes.float64}


def _places(make: Make) -> Samples:
    yield from _by_dim(make)
    yield (make(3, 4), None), {}
    yield (make(3, 4), None, True), {}


def _spreads(make: Make) -> Samples:
    for x in (make(4, 5, 3), ops.aten.permute.default(make(4, 5, 3), [2, 0, 1]), make(3, 1)):
        yield (x,), {}
        yield (x, [0]), {"correction": 0}
        yield (x, [0, 1]), {"keepdim": True}
    yield (make(3, 4), [1]), {"correction": 2}


_SAMPLES: dict[Callable[[Make], Samples], tuple[Any, ...]] = {
    _with_empty: (sum_, any_, all_),
    _whole: (mean, max_, min_, count_nonzero_default),
    _by_dims_or_empty: (sum_dim, any_dims, all_dims),
    _by_dims: (mean_dim, amax, amin, logsumexp),
    _by_dim: (any_dim, all_dim, max_dim, min_dim),
    _along: (cumsum, cumprod),
    _factors: (prod_dim,),
    _places: (argmax, argmin),
    _spreads: (var, std, var_mean, std_mean),
}
for _samples, _decls in _SAMPLES.items():
    for _decl in _decls:
        _decl.with_samples(_samples)
        _decl.sample_dtypes = _ALL
for _decl in (mean, mean_dim):
    _decl.sample_dtypes = _FLOATING
for _decl in (var, std, var_mean, std_mean, logsumexp, linalg_vector_norm):
    _decl.sample_dtypes = (*_FLOATING, dtypes.complex64)
for _decl in (argmax, argmin):
    _decl.sample_dtypes = _ORDERED


@prod.with_samples
def _(make: Make) -> Samples:
    yield (make(4, 3, low=1, high=2),), {}
    yield (make(0),), {}
    yield (make(4, low=1, high=2),), {"dtype": dtypes.float64}


prod.sample_dtypes = _ALL


@linalg_vector_norm.with_samples
def _(make: Make) -> Samples:
    for order in (2, 1, 0, math.inf, -math.inf, 3):
        yield (make(4, 5), order), {}
        yield (make(4, 5), order, [1], True), {}
    x = make(4, 5)
    yield (x, 2, [0]), {"dtype": dtypes.complex128 if x._dtype.is_complex else dtypes.float64}
