"""Elements chosen by a mask."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import bound, check_example, flat, one_by_one, ranked, stretched, wrap
from opweave.registry.errors import DataDependentError, DTypeError, ShapeError
from opweave.registry.fake_context import dynamic_size
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.indexing import MASK_TYPES, added_at, sample_sources
from opweave.registry.ops.kinds import composite, extern
from opweave.registry.promote import broadcast_shapes
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten
Make = Callable[..., Tensor]
Samples = Iterable[tuple[tuple[Any, ...], dict[str, Any]]]
_ACCUMULATED = (dtypes.float32, dtypes.float16, dtypes.bfloat16, dtypes.int64, dtypes.uint8)


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


# ---- samples -------------------------------------------------------------------------------------------------------


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
