"""Elements chosen by a condition, a limit or a mask."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import bound, check_example, flat, one_by_one, ranked, stretched, wrap
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, DataDependentError, DTypeError, ShapeError
from opweave.registry.fake_context import dynamic_size
from opweave.registry.memory_format import contiguous_format
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.gradients import dropped, kept
from opweave.registry.ops.indexing import MASK_TYPES, added_at, sample_sources
from opweave.registry.ops.kinds import composite, extern, pointwise
from opweave.registry.ops.nonzero_places import MANY, nonzero_places
from opweave.registry.ops.numbers import hand_on
from opweave.registry.ops.samples import Make, Samples, bounded_pairs, pairs, triples
from opweave.registry.promote import (
    GREATEST,
    as_element,
    as_element_or_infinity,
    broadcast_shapes,
    computed,
    result_type,
)
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten
_FLOATS = (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16)
_ACCUMULATED = (dtypes.float32, dtypes.float16, dtypes.bfloat16, dtypes.int64, dtypes.uint8)


# ---- extremes ------------------------------------------------------------------------------------------------------


@pointwise(
    "aten::maximum(Tensor self, Tensor other) -> Tensor",
    kinds="buif",
    inplace=False,
    is_cheap=True,
    accuracy="rounded",
    either_zero=True,
)
def maximum(k: Any, x: Any, y: Any) -> Any:
    return k.maximum(x, y)


def _halved(grad: Tensor, self: Any, other: Any) -> Tensor:
    """The gradient, shared where both operands are equal."""
    return ops.aten.where.self(self == other, grad / 2, grad)


maximum.backward(
    self=lambda grad, self, other: dropped(self < other, _halved(grad, self, other)),
    other=lambda grad, self, other: dropped(other < self, _halved(grad, other, self)),
)


@pointwise(
    "aten::minimum(Tensor self, Tensor other) -> Tensor",
    kinds="buif",
    inplace=False,
    is_cheap=True,
    accuracy="rounded",
    either_zero=True,
)
def minimum(k: Any, x: Any, y: Any) -> Any:
    return k.minimum(x, y)


minimum.backward(
    self=lambda grad, self, other: dropped(self > other, _halved(grad, self, other)),
    other=lambda grad, self, other: dropped(other > self, _halved(grad, other, self)),
)


@pointwise("aten::fmax(Tensor self, Tensor other) -> Tensor", kinds="buif", inplace=False, either_zero=True)
def fmax(k: Any, x: Any, y: Any) -> Any:
    """The larger, or the one that is a number."""
    return k.where(y != y, x, k.where(x != x, y, k.maximum(x, y)))


@pointwise("aten::fmin(Tensor self, Tensor other) -> Tensor", kinds="buif", inplace=False, either_zero=True)
def fmin(k: Any, x: Any, y: Any) -> Any:
    """The smaller, or the one that is a number."""
    return k.where(y != y, x, k.where(x != x, y, k.minimum(x, y)))


def _chosen_by(compare: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    def first(grad: Any, self: Any, other: Any) -> Any:
        chosen = aten.logical_or.default(getattr(aten, compare).Tensor(self, other), aten.ne(other, other))
        return aten.masked_fill.Scalar(grad, aten.logical_not.default(chosen), 0)

    def second(grad: Any, self: Any, other: Any) -> Any:
        chosen = aten.logical_or.default(getattr(aten, compare).Tensor(self, other), aten.ne(other, other))
        return aten.masked_fill.Scalar(grad, chosen, 0)

    return first, second


for _decl, _compare in ((fmax, "ge"), (fmin, "le")):
    _first, _second = _chosen_by(_compare)
    _decl.backward(self=_first, other=_second)


# ---- by conditions and limits --------------------------------------------------------------------------------------


def _where_types(condition: Any, a: Any, b: Any) -> tuple[DType, DType]:
    kind = condition if isinstance(condition, DType) else getattr(condition, "_dtype", None)
    if kind is not None and kind not in (dtypes.bool_, dtypes.uint8):
        raise DTypeError("where: the condition must be bool", got=describe(condition), hint="compare with != 0")
    common = result_type(a, b)
    for value in (a, b):
        if not isinstance(value, (Tensor, DType)):
            as_element_or_infinity("where", value, common)
    return common.compute, common


@pointwise(
    "aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", promote=_where_types, inplace=False,
    is_cheap=True, outs="self_out", accuracy="rounded"
)  # fmt: skip
def where(k: Any, condition: Any, a: Any, b: Any) -> Any:
    return k.where(k.cast(condition, dtypes.bool_), a, b)


where.backward(
    self=lambda grad, condition: kept(condition, grad),
    other=lambda grad, condition: ops.aten.where.self(condition, 0, grad),
)


def _masked_fill_types(x: Any, mask: Any, value: Any = 0) -> tuple[DType, DType]:
    dtype = x if isinstance(x, DType) else result_type(x)
    kind = mask if isinstance(mask, DType) else mask._dtype
    if kind is not dtypes.bool_:
        raise DTypeError("masked_fill: the mask must be bool", got=kind.name, hint="compare with != 0")
    as_element("masked_fill", value, dtype)
    return dtype.compute, dtype


@pointwise(
    "aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    promote=_masked_fill_types, outs="Scalar_out", accuracy="rounded"
)  # fmt: skip
def masked_fill(k: Any, x: Any, mask: Any, value: Any) -> Any:
    return k.where(k.cast(mask, dtypes.bool_), k.const(value, k.dtype(x)), x)


masked_fill.backward(self=lambda grad, mask: dropped(mask, grad))


def _clamp_types(x: Any, low: Any = None, high: Any = None, *, min: Any = None, max: Any = None) -> tuple[DType, DType]:
    bounds = [bound for bound in (low, high, min, max) if bound is not None]
    if not bounds:
        raise ArgumentError("clamp: needs min or max", got=describe(x), hint="x.clamp(min=0)")
    common = result_type(x, *bounds)
    for limit in bounds:
        if isinstance(limit, (int, float, complex)):
            as_element("clamp", limit, common)
    return computed(common)


def _clamp(k: Any, x: Any, low: Any, high: Any) -> Any:
    if low is not None:
        x = k.maximum(x, low)
    return x if high is None else k.minimum(x, high)


@pointwise(
    "aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    kinds="uif",
    promote=_clamp_types,
    is_cheap=True,
    accuracy="rounded",
    either_zero=True,
)
def clamp(k: Any, x: Any, min: Any, max: Any) -> Any:
    if any(isinstance(bound, float) and math.isnan(bound) for bound in (min, max)):
        return k.const(math.nan, k.dtype(x)) + x * 0
    # A zero at a limit of zero keeps its sign, and NaN is beyond no limit: `maximum` would take the limit's zero.
    if min is not None:
        low = k.const(min, k.dtype(x))
        x = k.where(x < low, low, x)
    if max is not None:
        high = k.const(max, k.dtype(x))
        x = k.where(x > high, high, x)
    return x


def _clamp_self(grad: Tensor, self: Tensor, min: Any, max: Any) -> Tensor:
    """The bounds belong to the range."""
    if min is None:
        return kept(self <= max, grad)
    return kept(self >= min if max is None else (self >= min) & (self <= max), grad)


clamp.backward(self=_clamp_self)


@pointwise(
    "aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", kinds="uif",
    promote=_clamp_types, is_cheap=True, out="Tensor_out", accuracy="rounded", either_zero=True
)  # fmt: skip
def clamp_tensor(k: Any, x: Any, min: Any, max: Any) -> Any:
    return _clamp(k, x, min, max)


def _clamp_min(grad: Tensor, self: Tensor, min: Any, max: Any) -> Tensor:
    return kept(self < min if max is None else (self < min) & (min < max), grad)


def _clamp_max(grad: Tensor, self: Tensor, min: Any, max: Any) -> Tensor:
    # Where the bounds cross, the upper one wins.
    return kept(self > max if min is None else (self > max) | (max < min), grad)


clamp_tensor.backward(self=_clamp_self, min=_clamp_min, max=_clamp_max)


@composite("aten::clamp_min(Tensor self, Scalar min) -> Tensor", tags="pointwise", outs="out")
def clamp_min(self: Tensor, min: Any) -> Tensor:
    return ops.aten.clamp.default(self, min)


@composite("aten::clamp_max(Tensor self, Scalar max) -> Tensor", tags="pointwise", outs="out")
def clamp_max(self: Tensor, max: Any) -> Tensor:
    return ops.aten.clamp.default(self, None, max)


def _own_type(x: Any, **_: Any) -> tuple[DType, DType]:
    # Only compared and selected, so that half types need no widening, and infinities become their own greatest value.
    common = result_type(x)
    return common, common


@pointwise(
    "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    promote=_own_type,
)
def nan_to_num(k: Any, x: Any, nan: float | None, posinf: float | None, neginf: float | None) -> Any:
    dtype = k.dtype(x)
    if dtype.is_complex:
        parts = (nan_to_num.body(k, part, nan, posinf, neginf) for part in (k.real(x), k.imag(x)))
        return k.complex(*parts)
    if dtype.kind != "f":
        return x
    greatest = GREATEST[dtype.name]
    high, low = (greatest if posinf is None else posinf), (-greatest if neginf is None else neginf)
    finite = k.where(x == -math.inf, k.const(low, dtype), x)
    finite = k.where(x == math.inf, k.const(high, dtype), finite)
    return k.where(x != x, k.const(0.0 if nan is None else nan, dtype), finite)


@nan_to_num.backward
def _nan_to_num_backward(grad: Tensor, self: Tensor) -> tuple[Tensor]:
    if not self._dtype.is_complex:
        return (grad * ops.aten.isfinite.default(self),)
    parts = ops.aten.view_as_real.default(grad) * ops.aten.isfinite.default(ops.aten.view_as_real.default(self))
    return (ops.aten.view_as_complex.default(ops.aten.clone.default(parts, memory_format=contiguous_format)),)


@composite("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", tags="pointwise", outs="Tensor_out")
def clamp_min_tensor(self: Tensor, min: Tensor) -> Tensor:
    if self._dtype is dtypes.bool_:
        return aten.maximum.default(self, min)
    return aten.clamp.Tensor(self, min)


@composite("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", tags="pointwise", outs="Tensor_out")
def clamp_max_tensor(self: Tensor, max: Tensor) -> Tensor:
    if self._dtype is dtypes.bool_:
        return aten.minimum.default(self, max)
    return aten.clamp.Tensor(self, None, max)


@composite("aten::clamp_min_(Tensor(a!) self, Scalar min) -> Tensor(a!)", tags="pointwise")
def clamp_min_(self: Tensor, min: Any) -> Tensor:
    return aten.clamp_.default(self, min)


@composite("aten::clamp_max_(Tensor(a!) self, Scalar max) -> Tensor(a!)", tags="pointwise")
def clamp_max_(self: Tensor, max: Any) -> Tensor:
    return aten.clamp_.default(self, None, max)


@composite("aten::clamp_min_.Tensor(Tensor(a!) self, Tensor min) -> Tensor(a!)", tags="pointwise")
def clamp_min_tensor_(self: Tensor, min: Tensor) -> Tensor:
    if self._dtype is dtypes.bool_:
        return aten.copy_.default(self, aten.maximum.default(self, min))
    return aten.clamp_.Tensor(self, min)


@composite("aten::clamp_max_.Tensor(Tensor(a!) self, Tensor max) -> Tensor(a!)", tags="pointwise")
def clamp_max_tensor_(self: Tensor, max: Tensor) -> Tensor:
    if self._dtype is dtypes.bool_:
        return aten.copy_.default(self, aten.minimum.default(self, max))
    return aten.clamp_.Tensor(self, None, max)


def _fill_value(self: Tensor, value: Tensor) -> Tensor:
    if value._sizes:
        raise ShapeError("masked_fill: the value must be a 0-d tensor", got=describe(value))
    return value if value._dtype is self._dtype else aten._to_copy.default(value, dtype=self._dtype)


@composite(
    "aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", tags="pointwise", outs="Tensor_out"
)
def masked_fill_tensor(self: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    if mask._dtype.kind != "b":
        raise ArgumentError("masked_fill: the mask must be bool", got=describe(mask), hint="compare with != 0")
    return aten.where.self(mask, _fill_value(self, value), self)


@composite("aten::masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!)")
def masked_fill_tensor_(self: Tensor, mask: Tensor, value: Tensor) -> Tensor:
    return aten.copy_.default(self, masked_fill_tensor.body(self, mask, value))


# ---- by masks ------------------------------------------------------------------------------------------------------


def _nonzero_spec(self: Tensor) -> TensorSpec:
    count = dynamic_size("nonzero", self, 0, self.numel())
    return contiguous((count, self.ndim), dtypes.int64, self._device)


def _masked_select_spec(self: Tensor, mask: Tensor) -> TensorSpec:
    sizes = broadcast_shapes("masked_select", self._sizes, mask._sizes)
    return contiguous((dynamic_size("masked_select", self, 0, math.prod(sizes)),), self._dtype, self._device)


@extern("aten::nonzero(Tensor self) -> Tensor", spec=_nonzero_spec, tags="dynamic_output_shape", out=True)
def nonzero(self: Tensor) -> Tensor:
    """The indices of all elements other than 0, a row for each."""
    xp = self._device.xp
    if self._device.is_host and self.ndim > 1 and self.numel() >= MANY:
        return Tensor._from_array(nonzero_places(self._array), self._device)
    places = xp.nonzero(self._array.reshape(self._sizes or (1,)))
    found = xp.stack(places[: self.ndim], axis=1) if self._sizes else xp.empty((len(places[0]), 0), np.int64)
    return Tensor._from_array(xp.ascontiguousarray(found.astype(np.int64)), self._device)


@extern(
    "aten::masked_select(Tensor self, Tensor mask) -> Tensor", spec=_masked_select_spec,
    tags="dynamic_output_shape", outs="out"
)  # fmt: skip
def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask is true, as a vector."""
    if mask._dtype not in MASK_TYPES:
        raise DTypeError("masked_select: the mask must be bool", got=describe(mask))
    sizes = broadcast_shapes("masked_select", self._sizes, mask._sizes)
    xp = self._device.xp
    wide = xp.broadcast_to(self._array, sizes)
    return Tensor._from_array(wide[xp.broadcast_to(mask._array, sizes) != 0].reshape(-1), self._device)


def _masked_scatter_spec(self: Tensor, mask: Tensor, source: Tensor) -> TensorSpec:
    if mask._dtype is not dtypes.bool_:
        raise DTypeError("masked_scatter: the mask must be bool", got=describe(mask), hint="compare with != 0")
    if source._dtype is not self._dtype:
        raise DTypeError("masked_scatter: the source must have the tensor's type", got=describe([self, source]))
    sizes = broadcast_shapes("masked_scatter", self._sizes, mask._sizes)
    return contiguous(sizes, self._dtype, self._device)


@extern(
    "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    spec=_masked_scatter_spec,
    out=True,
    inplace=True,
)
def masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy in which the places where the mask is true hold the first elements of the source, in order."""
    out = allocate_like(_masked_scatter_spec(self, mask, source))
    xp = self._device.xp
    chosen = xp.broadcast_to(mask._array, out._sizes)
    count = int(chosen.sum())
    if count > source.numel():
        raise ShapeError(
            f"masked_scatter: the mask is true at {count} places, the source has {source.numel()} elements",
            got=describe([mask, source]),
        )
    out._array[...] = self._array
    out._array[chosen] = source._array.reshape(-1)[:count]
    return out


@composite("aten::masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor")
def masked_scatter_backward(grad_output: Tensor, mask: Tensor, sizes: Sequence[int]) -> Tensor:
    """The gradient of the source: what came to the places where the mask is true, in order, and zeros."""
    aten = ops.aten
    count = math.prod(sizes)
    if count == 0 or not grad_output.numel():
        return aten.new_zeros.default(grad_output, list(sizes))
    chosen = aten.reshape.default(aten.expand.default(mask, list(grad_output._sizes)), [-1])
    grad = aten.reshape.default(grad_output, [-1])
    places = aten.sub.Tensor(aten.cumsum.default(chosen, 0), 1)
    # Where it is not true, nothing is added, to the first element.
    places = aten.where.self(chosen, places, aten.zeros_like.default(places))
    grad = aten.where.self(chosen, grad, aten.new_zeros.default(grad, []))
    return aten.view.default(added_at(grad, [count], [places]), list(sizes))


@composite("aten::argwhere(Tensor self) -> Tensor", tags="dynamic_output_shape")
def argwhere(self: Tensor) -> Tensor:
    """The indices of all elements other than 0, a row for each."""
    return aten.nonzero.default(self)


@composite("aten::nonzero_numpy(Tensor self) -> Tensor[]", tags="dynamic_output_shape")
def nonzero_numpy(self: Tensor) -> list[Tensor]:
    """The indices of all elements other than 0, a tensor for each dimension."""
    rows = aten.nonzero.default(self if self.ndim else aten.unsqueeze.default(self, 0))
    return list(aten.unbind.int(rows, 1))


@composite("aten::where(Tensor condition) -> Tensor[]", tags="dynamic_output_shape")
def where_true(condition: Tensor) -> list[Tensor]:
    """The indices of all elements other than 0, a tensor for each dimension."""
    return nonzero_numpy.body(condition)


def nonzero_function(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """The indices of all elements other than 0.

    Parameters
    ----------
    input : Tensor
    out : Tensor, optional
        Where to write them, if they are one tensor.
    as_tuple : bool
        Whether to give a tensor for each dimension, so that `input[input.nonzero(as_tuple=True)]` are these elements.

    Returns
    -------
    Tensor or tuple of Tensor
        int64; a row for each element, or a tensor for each dimension.

    Examples
    --------
    >>> opweave.nonzero(opweave.tensor([0.0, 2.0, 3.0]))
    tensor([[1],
            [2]])
    """
    if as_tuple:
        return tuple(aten.nonzero_numpy.default(input))
    return aten.nonzero.default(input) if out is None else aten.nonzero.out(input, out=out)


#: A function of the package, and method, that is more than its op.
METHODS: dict[str, Callable[..., Any]] = {"nonzero": nonzero_function}


# ---- gradients -----------------------------------------------------------------------------------------------------


masked_scatter.backward(
    self=lambda grad, mask: ops.aten.masked_fill.Scalar(grad, mask, 0),
    source=lambda grad, mask, source_spec: ops.aten.masked_scatter_backward.default(grad, mask, source_spec.sizes),
)

nonzero.backward()


@masked_select.backward
def _masked_select_backward(grad: Tensor, self_spec: TensorSpec, mask: Tensor) -> tuple[Any, ...]:
    sizes = broadcast_shapes("masked_select", self_spec.sizes, mask._sizes)
    if not sizes:
        return ops.aten.sum.default(grad), None
    return added_at(grad, sizes, [ops.aten.expand.default(mask, sizes)]), None


@masked_scatter.batching
def _masked_scatter_batch(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    values = bound(op, args, kwargs)
    t, mask, source = values["self"], values["mask"], values["source"]
    sizes = broadcast_shapes(op.opname, t._sizes, mask._sizes)
    count = math.prod(sizes)
    aten = ops.aten
    if not count:
        return wrap(aten.new_zeros.default(stretched(t, level), [level.size, *sizes]), level)
    if not source.numel():
        return one_by_one(op, level, args, kwargs)  # refused, unless the mask is false everywhere
    # Of a row an example's source takes its elements at the number of places before, as far as they are chosen.
    whole, chosen = (
        aten.reshape.default(
            aten.expand.default(ranked(x, level, len(sizes)), [level.size, *sizes]), [level.size, count]
        )
        for x in (t, mask)
    )
    places = aten.sub.Tensor(aten.cumsum.default(chosen, 1), 1)
    places = aten.where.self(chosen, places, aten.zeros_like.default(places))
    taken = aten.gather.default(flat(stretched(source, level)), 1, places)
    found = aten.where.self(chosen, taken, whole)
    return wrap(aten.view.default(found, [level.size, *sizes]), level)


@nonzero.batching
@masked_select.batching
def _unknown_size(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise DataDependentError(
        f"vmap: {op.opname}: the size of the result differs between examples",
        got=describe(list(tensors_in([*args, *kwargs.values()]))),
        hint="use opweave.where(mask, x, other), which keeps the size",
    )


# ---- numbers in place of tensors -----------------------------------------------------------------------------------


hand_on("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", ops.aten.where.self)
hand_on("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", ops.aten.where.self)
hand_on("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", ops.aten.where.self)


# ---- samples -------------------------------------------------------------------------------------------------------


for _decl in (maximum, minimum):
    _decl.with_samples(pairs)


@clamp.with_samples
def _(make: Callable[..., Tensor]) -> Iterable[Any]:
    return [((make(3, 4), 0, 2), {}), ((make(3), None, 1), {}), ((make(3), 1), {})]


for _decl in (clamp_tensor,):
    _decl.with_samples(triples)


@masked_fill.with_samples
def _(make: Callable[..., Tensor]) -> Iterable[Any]:
    return [((make(3, 4), ops.aten.ne.Tensor(make(4), 0), 1), {})]


@where.with_samples
def _(make: Callable[..., Tensor]) -> Iterable[Any]:
    condition = ops.aten.ne.Tensor(make(3, 4), 0)
    return [((condition, make(3, 4), make(4)), {}), ((condition, make(3, 4), 0), {})]


for _decl in (fmax, fmin):
    _decl.with_samples(bounded_pairs)
    _decl.sample_dtypes = (dtypes.float32,)

for _decl in (nan_to_num,):
    _decl.with_samples(lambda make: [((make(3, 4),), {}), ((make(),), {})])
    _decl.sample_dtypes = (*_FLOATS, dtypes.int64, dtypes.bool_)

nan_to_num.sample_dtypes = (*_FLOATS, dtypes.int64, dtypes.bool_, dtypes.complex64)


@nan_to_num.with_samples
def _(make: Make) -> Iterable[Any]:
    return [((make(3, 4),), {}), ((make(3), 1.5, 2.0, -3.0), {}), ((make(), None, 7.0), {})]


@masked_scatter.with_samples
def _(make: Make) -> Samples:
    for x in sample_sources(make):
        yield (x, make(4, 5, 3, dtype=dtypes.bool_), make(60)), {}
        yield (x, make(5, 1, dtype=dtypes.bool_), make(7, 10)), {}
    yield (make(3), make(2, 3, dtype=dtypes.bool_), ops.aten.transpose.int(make(2, 4), 0, 1)), {}
    yield (make(), make(dtype=dtypes.bool_), make(1)), {}
    yield (make(0, 3), make(0, 3, dtype=dtypes.bool_), make(0)), {}


@masked_scatter_backward.with_samples
def _(make: Make) -> Samples:
    yield (make(3, 4), make(3, 4, dtype=dtypes.bool_), [2, 6]), {}
    yield (make(3, 4), make(3, 4, dtype=dtypes.bool_), [20]), {}
    yield (make(0, 4), make(0, 4, dtype=dtypes.bool_), [2]), {}


for _decl in (masked_scatter,):
    _decl.sample_dtypes = (*_ACCUMULATED, dtypes.bool_, dtypes.complex64)

masked_scatter_backward.sample_dtypes = (dtypes.float32, dtypes.float64)
