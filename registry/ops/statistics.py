"""Medians, quantiles and modes, running extremes, differences and areas, covariances, counts and distinct elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.dtypes import DType, promote_types
from opweave.registry.errors import ArgumentError, DTypeError, OutOfMemoryError, ShapeError, UnsupportedError
from opweave.registry.fake_context import dynamic_size
from opweave.registry.op import ops
from opweave.registry.ops.kinds import CompositeDecl, composite, extern
from opweave.registry.promote import pointwise_strides
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.strided import wrap_dim
from opweave.registry.symbolic import is_open
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten


# ---- sums without NaN ----------------------------------------------------------------------------------------------


def _dims(dim: Any) -> list[int] | None:
    return None if dim is None else [dim] if isinstance(dim, int) else list(dim)


def _known(self: Any) -> Any:
    """The elements, 0 for NaN."""
    return aten.where(aten.isnan.default(self), 0.0, self) if self._dtype.kind == "f" else self


@composite(
    "aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    tags="reduction",
)
def nansum(self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """The sum of what is a number."""
    if self._dtype.kind == "c":
        raise DTypeError("nansum: not defined for complex numbers", got=describe(self))
    return aten.sum.dim_IntList(_known(self), _dims(dim), keepdim, dtype=dtype)


@composite("aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
def nanmean(self: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """The mean of what is a number."""
    if self._dtype.kind != "f":
        raise DTypeError("nanmean: expected a floating type", got=describe(self), hint="x.to(float32)")
    counted = aten.logical_not.default(aten.isnan.default(self))
    count: Any = aten.sum.dim_IntList(counted, _dims(dim), keepdim)
    total: Any = nansum.body(self, dim, keepdim, dtype=dtype)
    return total / count


# ---- the middle ----------------------------------------------------------------------------------------------------


def _check_order(op: str, self: Tensor) -> None:
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
    @composite(f"aten::{name}.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
    def by_dim(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
        """The middle element in order, of an even number the lower, and its place."""
        _check_order(name, self)
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
        _check_order(name, self)
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
        @composite(f"aten::{name}.scalar(Tensor self, float q, {rest}", autocast={"cpu": "fp32"})
        def by_number(
            self: Tensor, q: float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
        ) -> Tensor:
            _check_quantiles(name, q)
            place = aten.scalar_tensor.default(q, dtype=self._dtype, device=self._device)
            return _quantile(name, self, place, dim, keepdim, interpolation, ignore)

        @composite(f"aten::{name}(Tensor self, Tensor q, {rest}", autocast={"cpu": "fp32"})
        def by_tensor(
            self: Tensor, q: Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
        ) -> Tensor:
            """The elements below which these shares of all are, between two by interpolation."""
            return _quantile(name, self, q, dim, keepdim, interpolation, ignore)

    _declare_quantile(_name, _ignore, _rest)


@composite("aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)")
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


# ---- running extremes and sums -------------------------------------------------------------------------------------


def _running_specs(self: Tensor, dim: int) -> tuple[TensorSpec, TensorSpec]:
    wrap_dim(dim, self.ndim, "cummax")
    if self._dtype.kind == "c":
        raise DTypeError("cummax: not defined for complex numbers", got=describe(self))
    sizes = self._sizes
    return contiguous(sizes, self._dtype, self._device), contiguous(sizes, dtypes.int64, self._device)


def _declare_running(name: str, larger: bool) -> None:
    @extern(f"aten::{name}(Tensor self, int dim) -> (Tensor values, Tensor indices)", spec=_running_specs)
    def running(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        values, indices = (allocate_like(spec) for spec in _running_specs(self, dim))
        if not self.ndim:
            values._array[...] = self._array
            indices._array[...] = 0
        elif self.numel():
            xp, axis = self._device.xp, wrap_dim(dim, self.ndim, name)
            source = self._array.astype(self._dtype.compute.numpy, copy=False)
            best = (xp.maximum if larger else xp.minimum).accumulate(source, axis=axis)
            places = xp.arange(self._sizes[axis]).reshape([-1 if d == axis else 1 for d in range(self.ndim)])
            # Of equals the last; once there is a NaN, only others replace it.
            taken = source == best
            if source.dtype.kind == "f":
                taken |= xp.isnan(source)
            values._array[...] = best
            indices._array[...] = xp.maximum.accumulate(xp.where(taken, places, 0), axis=axis)
        return values, indices

    def of_self(grad: Tensor, self_spec: TensorSpec, dim: int, result1: Tensor) -> Tensor:
        return aten.scatter_add.default(aten.new_zeros.default(grad, list(self_spec.sizes)), dim, result1, grad)

    running.backward(differentiable=(0,), self=of_self)


_declare_running("cummax", True)
_declare_running("cummin", False)


def _logcumsumexp_spec(self: Tensor, dim: int) -> TensorSpec:
    wrap_dim(dim, self.ndim, "logcumsumexp")
    if self._dtype.kind != "f":
        raise DTypeError("logcumsumexp: expected a floating type", got=describe(self))
    return TensorSpec(self._sizes, pointwise_strides(self._sizes, [self]), self._dtype, self._device)


@extern("aten::logcumsumexp(Tensor self, int dim) -> Tensor", spec=_logcumsumexp_spec)
def logcumsumexp(self: Tensor, dim: int) -> Tensor:
    """log(cumsum(exp(x))), without overflow."""
    out = allocate_like(_logcumsumexp_spec(self, dim))
    wide = self._array.astype(np.float64)
    with np.errstate(all="ignore"):
        if self.ndim and self.numel():
            wide = self._device.xp.logaddexp.accumulate(wide, axis=wrap_dim(dim, self.ndim, "logcumsumexp"))
        out._array[...] = wide
    return out


def _logcumsumexp_gradient(grad: Tensor, self: Tensor, dim: int, result: Tensor) -> Tensor:
    least = float(np.finfo(np.float32).min)

    def part(g: Tensor) -> Any:
        # log Σ g exp(x - result) over what follows, of the positive part.
        logs: Any = aten.log.default(aten.clamp_min.default(g, 0.0))
        backwards = aten.logcumsumexp.default(aten.flip.default(logs - result, [dim]), dim)
        total: Any = aten.flip.default(backwards, [dim])
        return aten.exp.default(aten.where(aten.isneginf.default(total), least, total + self))

    if not self.ndim:
        return grad
    return part(grad) - part(aten.neg.default(grad))


logcumsumexp.backward(self=_logcumsumexp_gradient)


# ---- differences and areas -----------------------------------------------------------------------------------------


@composite(
    "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor"
)  # fmt: skip
def diff(
    self: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The n-th differences of neighbours along a dimension."""
    if not self.ndim or n < 0:
        raise ShapeError("diff: expected one dimension at least, and n from 0 up", got=f"{describe(self)}, n={n}")
    axis = wrap_dim(dim, self.ndim, "diff")
    parts = [t for t in (prepend, self, append) if t is not None]
    if any(t.ndim != self.ndim for t in parts):
        raise ShapeError("diff: what is put before and behind needs as many dimensions", got=describe(parts))
    x = parts[0] if len(parts) == 1 else aten.cat.default(parts, axis)
    if n == 0:
        return aten.clone.default(x) if len(parts) == 1 else x
    subtract = aten.logical_xor.default if x._dtype.kind == "b" else aten.sub.Tensor
    for _ in range(n if is_open(x._sizes[axis] >= n) else min(n, x._sizes[axis])):
        x = subtract(aten.slice.Tensor(x, axis, 1), aten.slice.Tensor(x, axis, 0, -1))
    return x


def _pair_sums(y: Tensor, axis: int) -> Any:
    size = y._sizes[axis]
    return aten.add.Tensor(aten.slice.Tensor(y, axis, 0, size - 1), aten.slice.Tensor(y, axis, 1))


def _widths(op: str, y: Tensor, x: Tensor, axis: int) -> Any:
    if x.ndim == 1 and y.ndim != 1:
        if x._sizes[0] != y._sizes[axis]:
            raise ShapeError(f"{op}: needs a place for each element", got=describe([y, x]))
        return aten.view.default(diff.body(x), [-1 if d == axis else 1 for d in range(y.ndim)])
    return diff.body(x, 1, axis - y.ndim)


def _declare_area(name: str, running: bool) -> None:
    def total(parts: Any, axis: int) -> Any:
        return aten.cumsum.default(parts, axis) if running else aten.sum.dim_IntList(parts, [axis])

    def empty(y: Tensor, axis: int) -> bool:
        if y._dtype.kind == "b":
            raise DTypeError(f"{name}: not defined for bools", got=describe(y))
        return y._sizes[axis] == 0

    kind = "float dx=1." if name == "trapz" else "Scalar dx=1"

    @composite(f"aten::{name}.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor")
    def by_places(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
        """The area under lines from element to element."""
        axis = wrap_dim(dim, y.ndim, name)
        if empty(y, axis):
            sizes = [n for d, n in enumerate(y._sizes) if d != axis or running]
            return aten.new_zeros.default(y, sizes)
        return total(_pair_sums(y, axis) * _widths(name, y, x, axis), axis) / 2.0

    @composite(f"aten::{name}.dx(Tensor y, *, {kind}, int dim=-1) -> Tensor")
    def by_step(y: Tensor, *, dx: Any = 1, dim: int = -1) -> Tensor:
        axis = wrap_dim(dim, y.ndim, name)
        if empty(y, axis):
            sizes = [n for d, n in enumerate(y._sizes) if d != axis or running]
            return aten.new_zeros.default(y, sizes)
        if running:
            return total(_pair_sums(y, axis) * (dx / 2.0), axis)
        return total(_pair_sums(y, axis), axis) * (dx / 2.0)


for _name in ("trapezoid", "trapz", "cumulative_trapezoid"):
    _declare_area(_name, _name.startswith("cumulative"))


# ---- covariance ----------------------------------------------------------------------------------------------------


@composite(
    "aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor"
)  # fmt: skip
def cov(self: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariances of rows, whose columns are observations."""
    if self.ndim > 2 or self._dtype.kind == "b":
        raise ShapeError("cov: expected two dimensions at most, and numbers", got=describe(self))
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
    total = count if weights is None else aten.sum.default(weights)
    if weights is None:
        mean = aten.sum.dim_IntList(x, [1], True) / (count or float("nan"))
    else:
        mean = aten.sum.dim_IntList(x * weights, [1], True) / total
    if aweights is not None and fweights is not None and correction:
        norm = total - correction * aten.sum.default(weights * aweights) / total
    elif aweights is not None and correction:
        norm = total - correction * aten.sum.default(weights * aweights) / total
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


@composite("aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", autocast={"cuda": "fp32"})
def dist(self: Tensor, other: Tensor, p: Any = 2) -> Tensor:
    """The p-norm of the difference."""
    difference = aten.sub.Tensor(self, other)
    if difference._dtype.kind == "c":
        difference = aten.abs.default(difference)
    return aten.linalg_vector_norm.default(difference, p)


def norm(
    input: Tensor, p: float | str | None = "fro", dim: Any = None, keepdim: bool = False, out: Tensor | None = None,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """The p-norm of all elements, or of those in some dimensions.

    Parameters
    ----------
    input : Tensor
    p : float or str, optional
        A number, or `"fro"`, which is 2.
    dim : int or sequence of int, optional
        All by default.
    keepdim : bool
        Keep these dimensions, of size 1.
    out : None
        Not there.
    dtype : DType, optional
        The type to convert to first.

    Raises
    ------
    UnsupportedError
        For `"nuc"`, which is by singular values, and with `out`.
    """
    if out is not None or (isinstance(p, str) and p != "fro"):
        raise UnsupportedError(
            "norm: p is a number or 'fro', and there is no out", got=f"p={p!r}, out={out is not None}"
        )
    order = 2 if p is None or isinstance(p, str) else p
    x = input
    if x._dtype.kind == "c":
        x = aten.abs.default(x if dtype is None else aten._to_copy.default(x, dtype=dtype))
        dtype = None
    return aten.linalg_vector_norm.default(x, order, _dims(dim), keepdim, dtype=dtype)


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
    " str? side=None, Tensor? sorter=None) -> Tensor"
)
def searchsorted_number(sorted_sequence: Tensor, self: Any, **options: Any) -> Tensor:
    value = aten.scalar_tensor.default(self, dtype=sorted_sequence._dtype, device=sorted_sequence._device)
    return aten.searchsorted.Tensor(sorted_sequence, value, **options)


@extern(
    "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False,"
    " str? side=None, Tensor? sorter=None) -> Tensor",
    spec=_search_spec,
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
    rows, wanted = bounds.reshape(-1, bounds.shape[-1]), values.reshape(-1, values.shape[-1])
    target = out._array.reshape(wanted.shape)
    for row, at, into in zip(rows, wanted, target, strict=True):
        into[...] = xp.searchsorted(row, at, which)
    return out


searchsorted.backward()


def _vector(boundaries: Tensor) -> Tensor:
    if boundaries.ndim != 1:
        raise ShapeError("bucketize: the boundaries must be a vector", got=describe(boundaries))
    return boundaries


@composite(
    "aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor"
)
def bucketize_number(self: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    return aten.searchsorted.Scalar(_vector(boundaries), self, out_int32=out_int32, right=right)


@composite(
    "aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor"
)
def bucketize(self: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of boundaries below each element; with `right`, of those that it equals too."""
    return aten.searchsorted.Tensor(_vector(boundaries), self, out_int32=out_int32, right=right)


# ---- counts and distinct elements ----------------------------------------------------------------------------------


def _histogram_spec(self: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> TensorSpec:
    if self._dtype not in (dtypes.float32, dtypes.float64):
        raise DTypeError("histc: expected float32 or float64", got=describe(self))
    if bins < 1 or max < min:
        raise ShapeError("histc: needs a bin, and a range", got=f"bins={bins}, min={min}, max={max}")
    return contiguous((bins,), self._dtype, self._device)


@extern("aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", spec=_histogram_spec)
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


def _distinct_specs(self: Tensor, inverse: bool, counts: bool, shape: Sequence[Any]) -> tuple[TensorSpec, ...]:
    device = self._device
    count = dynamic_size("unique", self, 0, None)
    return (
        contiguous((count,), self._dtype, device), contiguous(shape if inverse else (0,), dtypes.int64, device),
        contiguous((count,) if counts else (0,), dtypes.int64, device),
    )  # fmt: skip


def _results(self: Tensor, arrays: Sequence[Any]) -> tuple[Tensor, ...]:
    xp = self._device.xp
    return tuple(
        Tensor._from_array(xp.ascontiguousarray(xp.zeros(0, np.int64) if a is None else a), self._device)
        for a in arrays
    )


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


_unique2.backward()


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


unique_dim.backward()


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
        new[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    starts = xp.flatnonzero(new)
    found = source[starts]
    inverse = xp.cumsum(new) - 1
    lengths = xp.diff(xp.append(starts, count))
    shaped = inverse.reshape(self._sizes) if dim is None else inverse
    return _results(self, (
        found if dim is None else xp.moveaxis(found, 0, axis), shaped.astype(np.int64) if return_inverse else None,
        lengths.astype(np.int64) if return_counts else None,
    ))  # fmt: skip


unique_consecutive.backward()


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
    """
    found = aten.unique_consecutive.default(input, return_inverse, return_counts, dim)
    return _asked_for(found, return_inverse, return_counts)


#: Functions of the package, and methods, whose results or arguments are other than the op's.
METHODS: dict[str, Callable[..., Any]] = {"unique": unique, "unique_consecutive": consecutive, "norm": norm}
