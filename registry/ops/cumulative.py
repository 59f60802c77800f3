"""Running sums, products and extremes along a dimension, and its differences and areas."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from opweave.registry import dtypes, rows
from opweave.registry.autograd.mode import is_grad_enabled
from opweave.registry.batching import along
from opweave.registry.device import cpu
from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.hooks import Hook
from opweave.registry.op import ops
from opweave.registry.ops.copies import rounded
from opweave.registry.ops.gradients import conjugate
from opweave.registry.ops.kinds import ScanDecl, composite, extern, scan, wide_type
from opweave.registry.ops.reduction import accumulated
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import pointwise_strides
from opweave.registry.rows import row_program
from opweave.registry.scalar import convert_into
from opweave.registry.spec import TensorSpec, contiguous, is_contiguous
from opweave.registry.strided import wrap_dim
from opweave.registry.symbolic import is_open
from opweave.registry.tape import NotTaped, Tape
from opweave.registry.tensor import Tensor, allocate_like, describe

_FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_ALL = (dtypes.bool_, dtypes.uint8, dtypes.int8, dtypes.int32, dtypes.int64, *_FLOATING)


def _factors(make: Make) -> Samples:
    for x in (make(4, 3, low=1, high=2), make(3, 0), make(low=1, high=2)):
        yield (x, 0), {}
        yield (x, -1, True), {}


aten = ops.aten


# ---- running sums --------------------------------------------------------------------------------------------------


def _running_spec(self: Tensor, dim: int, dtype: DType | None = None) -> TensorSpec:
    wrap_dim(dim, self.ndim, "cumsum")
    return contiguous(self._sizes, accumulated(self._dtype, dtype)[1], self._device)


# Elements that are converted and added up at a time, so that they stay in the cache.
_CHUNK = 1 << 16


def _running_rows(function: str, array: Any, wide: DType, result: DType) -> Any:
    """Running totals of each row, a few rows at a time."""
    accumulate = {"cumsum": np.add.accumulate, "cumprod": np.multiply.accumulate}[function]
    count, size = array.shape
    out = np.empty(array.shape, result.numpy)
    if array.dtype == wide.numpy == result.numpy and wide.kind in "iu":
        return accumulate(array, axis=1, out=out)
    step = max(1, min(_CHUNK // max(size, 1), count))
    terms, totals = (np.empty((step, size), wide.numpy) for _ in range(2))
    with np.errstate(all="ignore"):
        for start in range(0, count, step):
            many = min(step, count - start)
            np.copyto(terms[:many], array[start : start + many], casting="unsafe")
            if function == "cumsum" and size:
                terms[:many, 0] += 0  # a sum begins at 0, which -0 added to it leaves
            accumulate(terms[:many], axis=1, out=totals[:many])
            np.copyto(out[start : start + many], totals[:many], casting="unsafe")
    return out


@row_program("rows")
def _sums_of_row(k: Any, x: Any) -> list[Any]:
    return [k.running_sum(x)]


@row_program("rows")
def _products_of_row(k: Any, x: Any) -> list[Any]:
    return [k.running_prod(x)]


def _running_of_rows(function: str, self: Tensor, axis: int, result: DType) -> Tensor | None:
    """The same of a large tensor by native code; None where there is none."""
    if self._device is not cpu or not rows.pay(self.numel()):
        return None
    length, inner = self._sizes[axis], math.prod(self._sizes[axis + 1 :])
    if function == "cumprod" and inner == 1:
        return None  # whose order decides where what overflows meets a zero
    out = allocate_like(contiguous(self._sizes, result, cpu))
    program = _sums_of_row if function == "cumsum" else _products_of_row
    given = aten.contiguous.default(self)._array
    return out if rows.run(program, [given], [out._array], self.numel() // length, length, inner=inner) else None


def _running(function: str, self: Tensor, dim: int, dtype: DType | None) -> Tensor:
    axis = wrap_dim(dim, self.ndim, function)
    result = accumulated(self._dtype, dtype)[1]
    found = _running_of_rows(function, self, axis, result)
    if found is not None:
        return found
    xp = self._device.xp
    wide = wide_type(result)
    if xp is np and self.numel() > 1 and axis == self.ndim - 1 and self._array.flags.c_contiguous:
        found = _running_rows(function, self._array.reshape(-1, self._sizes[-1]), wide, result)
        return Tensor._from_array(found.reshape(self._sizes), self._device)
    with np.errstate(all="ignore"):
        array = self._array.astype(wide.numpy)
        if function == "cumsum" and self.numel() and self._sizes:
            array[(slice(None),) * axis + (0,)] += 0
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
    inplace=True,
)
def cumprod(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    return _running("cumprod", self, dim, dtype)


def _replay_running(decl: ScanDecl, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
    self, dim, _ = decl.bind(args, kwargs)
    source, made = tape.value(self), tape.made(result)
    wide = wide_type(result._dtype).numpy
    if not result.numel() or not self._sizes or wide is None:
        raise NotTaped("no elements, or no dimension")
    axis = wrap_dim(dim, self.ndim, decl.combine)
    length, inner = self._sizes[axis], math.prod(self._sizes[axis + 1 :])
    if rows.pay(self.numel()) and not (decl.combine == "cumprod" and inner == 1):
        program = _sums_of_row if decl.combine == "cumsum" else _products_of_row
        if rows.write(tape, program, [source], [made], self.numel() // length, length, inner):
            return
        if not is_contiguous(source.sizes, source.strides):
            raise NotTaped("a copy")
    function = np.add if decl.combine == "cumsum" else np.multiply
    total = made if made.dtype == wide else tape.scratch(made.sizes, wide)
    tape.accumulate(function, tape.converted(source, wide), wrap_dim(dim, self.ndim, decl.combine), total)
    if total is not made:
        tape.map("cast", [total], made)


for _decl in (cumsum, cumprod):
    _decl.batching(along("self"))
    _decl.replaying(functools.partial(_replay_running, _decl))


# ---- running extremes and sums -------------------------------------------------------------------------------------


def _running_specs(self: Tensor, dim: int) -> tuple[TensorSpec, TensorSpec]:
    wrap_dim(dim, self.ndim, "cummax")
    if self._dtype.kind == "c":
        raise DTypeError("cummax: not defined for complex numbers", got=describe(self))
    sizes = self._sizes
    return contiguous(sizes, self._dtype, self._device), contiguous(sizes, dtypes.int64, self._device)


#: Writes (values, places) of running extremes (the greatest ones or not) of a row-major array, whose lines have a
#: length and whose elements lie so far apart; False where there is no code for that. `opweave` supplies it.
native: Hook[[bool, Any, Any, Any, int, int], bool] = Hook()


def _by_native(larger: bool, source: Any, axis: int, values: Any, places: Any) -> bool:
    if native.call is None:
        return False
    source = np.ascontiguousarray(source)
    found = values if values.dtype == source.dtype else np.empty_like(source)
    length, inner = source.shape[axis], math.prod(source.shape[axis + 1 :])
    if not native.call(larger, source, found, places, length, inner):
        return False
    if found is not values:
        with np.errstate(all="ignore"):
            convert_into(values, found)
    return True


def _declare_running(name: str, larger: bool) -> None:
    @extern(
        f"aten::{name}(Tensor self, int dim) -> (Tensor values, Tensor indices)",
        spec=_running_specs,
        outs=("out", "values", "indices"),
    )
    def running(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        values, indices = (allocate_like(spec) for spec in _running_specs(self, dim))
        if not self.ndim:
            values._array[...] = self._array
            indices._array[...] = 0
        elif self.numel():
            xp, axis = self._device.xp, wrap_dim(dim, self.ndim, name)
            source = self._array.astype(self._dtype.compute.numpy, copy=False)
            if self._device is cpu and _by_native(larger, source, axis, values._array, indices._array):
                return values, indices
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


@extern("aten::logcumsumexp(Tensor self, int dim) -> Tensor", spec=_logcumsumexp_spec, outs="out")
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
    "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", outs="out"
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
    if n == 0:  # of nothing that is put before and behind, either, as NumPy and PyTorch have it
        return aten.clone.default(self)
    x = parts[0] if len(parts) == 1 else aten.cat.default(parts, axis)
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


# ---- gradients -----------------------------------------------------------------------------------------------------


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


def _along(make: Make) -> Samples:
    for args, kwargs in _factors(make):
        yield args[:2], kwargs
    yield (ops.aten.permute.default(make(4, 2, 3, low=1, high=2), [2, 0, 1]), 1), {}
    yield (make(6, low=1, high=2), 0), {"dtype": dtypes.float64}


for _decl in (cumsum, cumprod):
    _decl.with_samples(_along)
    _decl.sample_dtypes = _ALL
