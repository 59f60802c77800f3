"""Variances, medians, quantiles and modes, covariances, and how often values are there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.device import cpu
from opweave.registry.errors import ArgumentError, DTypeError, OutOfMemoryError, ShapeError
from opweave.registry.fake_context import dynamic_size
from opweave.registry.keys import state
from opweave.registry.op import ops
from opweave.registry.ops.copies import rounded, widened
from opweave.registry.ops.kinds import CompositeDecl, composite, extern, normalize_axes
from opweave.registry.ops.reduction import count_of, kept_dims, spread
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import as_element
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.strided import wrap_dim
from opweave.registry.symbolic import is_open, larger
from opweave.registry.tensor import Tensor, allocate_like, describe

_FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
aten = ops.aten


# ---- variances -----------------------------------------------------------------------------------------------------


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


# ---- the middle ----------------------------------------------------------------------------------------------------


def _check_ordered(op: str, self: Tensor) -> None:
    if self._dtype.kind not in "iuf":
        raise DTypeError(f"{op}: not defined for {self._dtype.name}", got=describe(self))


def _missing(self: Tensor, axis: int) -> Any:
    """How many elements are NaN along a dimension, which stays."""
    if self._dtype.kind != "f":
        sizes = [1 if d == axis else n for d, n in enumerate(self._sizes)]
        return aten.new_zeros.default(self, sizes, dtype=dtypes.int64)
    return aten.sum.dim_IntList(aten.isnan.default(self), [axis], True)


def _nothing(self: Tensor) -> Tensor:
    """The middle of no elements: NaN, or what PyTorch's conversion makes of NaN in a whole type."""
    if self._dtype.kind == "f":
        return aten.new_full.default(self, [], float("nan"))
    bits = 8 * self._dtype.itemsize
    return aten.new_full.default(self, [], -(2 ** (bits - 1)) if bits >= 32 else 0)


def _declare_median(name: str, ignore: bool) -> tuple[CompositeDecl, CompositeDecl]:
    @composite(
        f"aten::{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        outs=("dim_values", "values", "indices"),
    )
    def by_dim(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
        """The middle element in order, of an even number the lower, and its place."""
        _check_ordered(name, self)
        axis = wrap_dim(dim, self.ndim, name)
        if not self.ndim:
            return aten.clone.default(self), aten.zeros.default([], dtype=dtypes.int64, device=self._device)
        size = self._sizes[axis]
        if size == 0:
            raise ShapeError(f"{name}: the dimension has no elements", got=describe(self))
        _, order = aten.sort.default(self, axis)
        missing = _missing(self, axis)
        count: Any = size - missing
        if ignore:
            rank = aten.clamp_min.default(aten.floor_divide.default(count - 1, 2), 0)
        else:  # the first NaN, where there is one
            rank = aten.where(aten.gt.Scalar(missing, 0), count, (size - 1) // 2)
        place = aten.gather.default(order, axis, rank)
        value = aten.gather.default(self, axis, place)
        return (value, place) if keepdim else (aten.squeeze.dim(value, axis), aten.squeeze.dim(place, axis))

    @composite(f"aten::{name}(Tensor self) -> Tensor", explicit=True)
    def of_all(self: Tensor) -> Tensor:
        """The middle of all elements in order, of an even number the lower."""
        _check_ordered(name, self)
        if not self.numel():
            return _nothing(self)
        return by_dim.body(aten.reshape.default(self, [-1]), 0)[0]

    def shared(grad: Any, self: Any, result: Any) -> Any:
        chosen = aten.eq.Tensor(self, result)
        both = aten.logical_and.default(aten.isnan.default(self), aten.isnan.default(result))
        chosen = aten._to_copy.default(aten.logical_or.default(chosen, both), dtype=self._dtype)
        return chosen * (grad / aten.sum.default(chosen))

    of_all.backward(self=shared)
    return of_all, by_dim


median, median_dim = _declare_median("median", False)

nanmedian, nanmedian_dim = _declare_median("nanmedian", True)

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(
    op: str, self: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str, ignore: bool
) -> Tensor:
    if self._dtype not in (dtypes.float32, dtypes.float64) or q._dtype is not self._dtype:
        raise DTypeError(f"{op}: expected float32 or float64, and q of the same dtype", got=describe([self, q]))
    if q.ndim > 1 or not self.numel():
        raise ShapeError(f"{op}: expected elements, and q as a number or a vector", got=describe([self, q]))
    if interpolation not in _INTERPOLATIONS:
        raise ShapeError(f"{op}: unknown interpolation", got=repr(interpolation), hint=f"one of {_INTERPOLATIONS}")
    x = aten.reshape.default(self, [-1]) if dim is None or not self.ndim else self
    axis = 0 if dim is None else wrap_dim(dim, self.ndim, op)
    rest = [1] * self.ndim if dim is None or not self.ndim else [
        1 if d == axis else n for d, n in enumerate(self._sizes)
    ]  # fmt: skip
    rows = aten.transpose.int(x, axis, -1)
    ordered, _ = aten.sort.default(rows, -1)
    missing = _missing(rows, rows.ndim - 1)
    last: Any = rows._sizes[-1] - 1
    at: Any = aten.reshape.default(q, [-1])
    if ignore:
        rank = aten.clamp_min.default(at * (last - missing), 0.0)
    else:
        rank = aten.where(aten.gt.Scalar(missing, 0), aten.full_like.default(at, float(last)), at * last)
    if interpolation == "lower":
        rank = aten.floor.default(rank)
    elif interpolation == "higher":
        rank = aten.ceil.default(rank)
    elif interpolation == "nearest":
        rank = aten.round.default(rank)
    rank = aten.expand.default(rank, [*rows._sizes[:-1], at._sizes[0]])
    below = aten._to_copy.default(rank, dtype=dtypes.int64)
    found = aten.gather.default(ordered, -1, below)
    if interpolation in ("linear", "midpoint"):
        share = aten.full_like.default(rank, 0.5) if interpolation == "midpoint" else aten.frac.default(rank)
        above = aten.gather.default(ordered, -1, aten._to_copy.default(aten.ceil.default(rank), dtype=dtypes.int64))
        found = aten.lerp.Tensor(found, above, share)
    found = aten.transpose.int(found, axis, -1) if x.ndim else found
    # The numbers asked for come first.
    found = aten.movedim.int(found, axis, 0)
    shape = [d for k, d in enumerate(rest) if k != axis] if dim is not None or not keepdim else rest
    if dim is None:
        shape = rest if keepdim else []
    elif keepdim:
        shape = rest
    return aten.reshape.default(found, [*([] if not q.ndim else [at._sizes[0]]), *shape])


def _check_quantiles(op: str, q: float) -> None:
    if not 0 <= q <= 1:
        raise ShapeError(f"{op}: q must be from 0 to 1", got=f"q={q}")


for _name, _ignore in (("quantile", False), ("nanquantile", True)):
    _rest = 'int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor'

    def _declare_quantile(name: str, ignore: bool, rest: str) -> None:
        @composite(f"aten::{name}.scalar(Tensor self, float q, {rest}", autocast={"cpu": "fp32"}, outs="scalar_out")
        def by_number(
            self: Tensor, q: float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
        ) -> Tensor:
            _check_quantiles(name, q)
            place = aten.scalar_tensor.default(q, dtype=self._dtype, device=self._device)
            return _quantile(name, self, place, dim, keepdim, interpolation, ignore)

        @composite(f"aten::{name}(Tensor self, Tensor q, {rest}", autocast={"cpu": "fp32"}, outs="out")
        def by_tensor(
            self: Tensor, q: Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
        ) -> Tensor:
            """The elements below which these shares of all are, between two by interpolation."""
            return _quantile(name, self, q, dim, keepdim, interpolation, ignore)

    _declare_quantile(_name, _ignore, _rest)


@composite(
    "aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
    outs=("values", "values", "indices"),
)
def mode(self: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The most frequent element, of several the least, and the place of its last."""
    if self._dtype.kind == "c":
        raise DTypeError("mode: not defined for complex numbers", got=describe(self))
    axis = wrap_dim(dim, self.ndim, "mode")
    if not self.ndim:
        return aten.clone.default(self), aten.zeros.default([], dtype=dtypes.int64, device=self._device)
    size = self._sizes[axis]
    if not size:
        raise ShapeError("mode: the dimension has no elements", got=describe(self))
    values, order = aten.sort.stable(self, stable=True, dim=axis)
    line = [-1 if d == axis else 1 for d in range(self.ndim)]
    places = aten.view.default(aten.arange.default(size, dtype=dtypes.int64, device=self._device), line)
    new = aten.ne.Tensor(aten.slice.Tensor(values, axis, 1), aten.slice.Tensor(values, axis, 0, size - 1))
    first = aten.ones_like.default(aten.slice.Tensor(values, axis, 0, 1), dtype=dtypes.bool_)
    starts = aten.where(aten.cat.default([first, new], axis), places, 0)
    run: Any = places - aten.cummax.default(starts, axis)[0]  # type: ignore[operator]  # bound by the surface
    end = aten.argmax.default(run, axis, True)
    place = aten.gather.default(order, axis, end)
    value = aten.gather.default(self, axis, place)
    return (value, place) if keepdim else (aten.squeeze.dim(value, axis), aten.squeeze.dim(place, axis))


# ---- covariance ----------------------------------------------------------------------------------------------------


@composite(
    "aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor"
)  # fmt: skip
def cov(self: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariances of rows, whose columns are observations."""
    if self.ndim > 2 or self._dtype.kind == "b":
        raise ShapeError("cov: expected two dimensions at most, and numbers", got=describe(self))
    weighing: Any = aweights
    x: Any = self if self.ndim == 2 else aten.reshape.default(self, [1, -1])
    count = x._sizes[1]
    weights: Any = None
    for given, kinds in ((fweights, "iu"), (aweights, "f")):
        if given is None:
            continue
        if given.ndim > 1 or given._dtype.kind not in kinds or given.numel() != count:
            raise ShapeError("cov: needs a weight for each observation: fweights are whole, aweights floating",
                             got=describe([self, given]))  # fmt: skip
        weights = given if weights is None else weights * given
    total: Any = count if weights is None else aten.sum.default(weights)
    if weights is None:
        mean = aten.sum.dim_IntList(x, [1], True) / (count or float("nan"))
    else:
        mean = aten.sum.dim_IntList(x * weights, [1], True) / total
    if aweights is not None and fweights is not None and correction:
        norm = total - correction * aten.sum.default(weights * weighing) / total
    elif aweights is not None and correction:
        norm = total - correction * aten.sum.default(weights * weighing) / total
    else:
        norm = total - correction
    norm = aten.clamp_min.default(norm, 0) if isinstance(norm, Tensor) else max(norm, 0)
    x = x - mean
    other = x if weights is None else x * weights
    other = aten.conj_physical.default(other) if other._dtype.kind == "c" else other
    found = aten.mm.default(x, aten.t.default(other))
    if not isinstance(norm, Tensor):
        norm = aten.scalar_tensor.default(norm, dtype=found._dtype, device=found._device)
    found = aten.div.Tensor(found, norm)
    return aten.squeeze.default(found)


@composite("aten::corrcoef(Tensor self) -> Tensor")
def corrcoef(self: Tensor) -> Tensor:
    """The correlations of rows, whose columns are observations."""
    found: Any = cov.body(self)
    if not found.ndim:
        return found / found
    spread: Any = aten.sqrt.default(aten.diagonal.default(found))
    found = found / aten.unsqueeze.default(spread, 1) / aten.unsqueeze.default(spread, 0)
    if found._dtype.kind == "c":
        parts = aten.clamp.default(aten.view_as_real.default(found), -1, 1)
        return aten.view_as_complex.default(aten.contiguous.default(parts))
    return aten.clamp.default(found, -1, 1)


# ---- counts --------------------------------------------------------------------------------------------------------


def _histogram_spec(self: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> TensorSpec:
    if self._dtype not in (dtypes.float32, dtypes.float64):
        raise DTypeError("histc: expected float32 or float64", got=describe(self))
    if bins < 1 or max < min:
        raise ShapeError("histc: needs a bin, and a range", got=f"bins={bins}, min={min}, max={max}")
    return contiguous((bins,), self._dtype, self._device)


@extern(
    "aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", spec=_histogram_spec, outs="out"
)
def histc(self: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """How many elements are in each of equal bins from min to max; of those found, where these are equal."""
    out = allocate_like(_histogram_spec(self, bins, min, max))
    xp, values = self._device.xp, self._array.reshape(-1)
    low, high = float(min), float(max)
    if low == high and values.size:
        low, high = float(values.min()), float(values.max())
    if low == high:
        low, high = low - 1, high + 1
    if not np.isfinite([low, high]).all():
        raise ArgumentError("histc: the range is not finite", got=f"min={low}, max={high}")
    inside = values[(values >= low) & (values <= high)]
    kind = values.dtype.type
    with np.errstate(all="ignore"):
        place = ((inside - kind(low)) * (kind(bins) / (kind(high) - kind(low)))).astype(np.int64)
    out._array[...] = xp.bincount(xp.minimum(place, bins - 1), minlength=bins)[:bins]
    return out


histc.backward()


def _bincount_spec(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> TensorSpec:
    if self.ndim != 1 or self._dtype.kind not in "iu":
        raise ShapeError("bincount: expected a vector of whole numbers", got=describe(self))
    if weights is not None and weights._sizes != self._sizes:
        raise ShapeError("bincount: needs a weight for each number", got=describe([self, weights]))
    if minlength < 0:
        raise ShapeError("bincount: minlength must not be negative", got=f"minlength={minlength}")
    single = weights is not None and weights._dtype is dtypes.float32
    dtype = dtypes.int64 if weights is None else dtypes.float32 if single else dtypes.float64
    return contiguous((dynamic_size("bincount", self, 0, None),), dtype, self._device)


@extern(
    "aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor", spec=_bincount_spec,
    tags="dynamic_output_shape"
)  # fmt: skip
def bincount(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 up is there, or the sum of its weights."""
    xp, numbers = self._device.xp, self._array
    if self.ndim != 1 or self._dtype.kind not in "iu" or (weights is not None and weights._sizes != self._sizes):
        raise ShapeError("bincount: expected a vector of whole numbers, and a weight for each", got=describe(self))
    if minlength < 0 or (numbers.size and int(numbers.min()) < 0):
        raise ShapeError("bincount: numbers and minlength must not be negative", got=f"minlength={minlength}")
    factors = None if weights is None else weights._array.astype(np.float64)
    count = max(minlength, int(numbers.max()) + 1 if numbers.size else 0)
    if count >= 2**60:  # NumPy would compute the size of its result modulo 2 ** 64
        raise OutOfMemoryError("bincount: the numbers are too large to count up to", got=str(count - 1))
    try:
        found = xp.bincount(numbers.astype(np.int64), factors, minlength=minlength)
    except MemoryError as error:
        raise OutOfMemoryError("bincount: no memory to count up to the largest", got=str(count - 1)) from error
    if weights is None:
        found = found.astype(np.int64)
    elif weights._dtype is dtypes.float32:
        found = found.astype(np.float32)
    return Tensor._from_array(xp.ascontiguousarray(found), self._device)


bincount.backward()


# ---- gradients -----------------------------------------------------------------------------------------------------


def _var_gradient(grad: Tensor, self: Tensor, dim: Any, correction: Any, keepdim: bool) -> Tensor:
    aten = ops.aten
    axes = list(normalize_axes(dim, self.ndim, "var"))
    grad = kept_dims(grad, self._sizes, axes, keepdim)
    freedom = count_of(self._sizes, axes) - (1 if correction is None else correction)
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
        each = spread(ops.aten.div(of_mean, count_of(self._sizes, axes)), self._sizes, axes, keepdim)
        found = each if found is None else ops.aten.add.Tensor(found, each)
    return found


# ---- samples -------------------------------------------------------------------------------------------------------


def _spreads(make: Make) -> Samples:
    for x in (make(4, 5, 3), ops.aten.permute.default(make(4, 5, 3), [2, 0, 1]), make(3, 1)):
        yield (x,), {}
        yield (x, [0]), {"correction": 0}
        yield (x, [0, 1]), {"keepdim": True}
    yield (make(3, 4), [1]), {"correction": 2}


for _decl in (var, std, var_mean, std_mean):
    _decl.with_samples(_spreads)

for _decl in (var, std, var_mean, std_mean):
    _decl.sample_dtypes = (*_FLOATING, dtypes.complex64)
