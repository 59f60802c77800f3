"""Ops that put tensors together or move their elements."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import bound, check_example, flat, front, stretched, wrap
from opweave.registry.device import cpu
from opweave.registry.dtypes import DType
from opweave.registry.errors import OutOfRangeError, ShapeError
from opweave.registry.memory_format import MemoryFormat, contiguous_format, format_strides, suggested_format
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds import (
    Pieces,
    composite,
    concat as concatenating,
    extern,
    handler,
    index_map,
    normalize_axes,
)
from opweave.registry.promote import common_device, copied_strides, result_type
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, allocate, allocate_like, describe

Make = Callable[..., Tensor]
Samples = Iterable[tuple[tuple[Any, ...], dict[str, Any]]]


# ---- putting together ----------------------------------------------------------------------------------------------


def _is_legacy_empty(t: Tensor) -> bool:
    # PyTorch lets a 1-d tensor of size 0 go with anything.
    return t._sizes == (0,)


def _joined(tensors: Sequence[Tensor], dim: int) -> tuple[int, list[Tensor]]:
    """(dimension, tensors that count), after checking that they fit."""
    if not tensors:
        raise ShapeError("cat: expected at least one tensor")
    common_device("cat", tensors)
    if any(not t._sizes for t in tensors):
        raise ShapeError("cat: a 0-d tensor has no dimension to join", got=describe(tensors), hint="use stack")
    counted = [t for t in tensors if not _is_legacy_empty(t)]
    if not counted:
        return wrap_dim(dim, 1, "cat"), list(tensors[:1])
    first = counted[0]._sizes
    axis = wrap_dim(dim, len(first), "cat")
    for t in counted[1:]:
        sizes = t._sizes
        if len(sizes) != len(first) or sizes[:axis] != first[:axis] or sizes[axis + 1 :] != first[axis + 1 :]:
            raise ShapeError(
                f"cat: sizes must be the same except in dimension {axis}",
                got=f"{describe(counted[0])} and {describe(t)}",
            )
    return axis, counted


def _cat_spec(tensors: Sequence[Tensor], dim: int = 0) -> TensorSpec:
    return _joined_spec(tensors, *_joined(tensors, dim))


def _joined_spec(tensors: Sequence[Tensor], axis: int, counted: Sequence[Tensor]) -> TensorSpec:
    sizes = list(counted[0]._sizes)
    sizes[axis] = sum([t._sizes[axis] for t in counted])
    dtype = tensors[0]._dtype
    if any(t._dtype is not dtype for t in tensors):
        dtype = result_type(*[t._dtype for t in tensors])
    strides = format_strides("cat", sizes, _joined_format(tensors))
    return TensorSpec(tuple(sizes), strides, dtype, counted[0]._device)


def _joined_format(tensors: Sequence[Tensor]) -> MemoryFormat:
    """The format that all tensors have, else row-major."""
    found = contiguous_format
    for t in tensors:
        seen = suggested_format(t._sizes, t._strides)
        if seen == contiguous_format or seen != found != contiguous_format:
            return contiguous_format
        found = seen
    return found


def _cat_pieces(tensors: Sequence[Any], dim: int = 0) -> Pieces:
    return Pieces(tensors, wrap_dim(dim, tensors[0].ndim, "cat"))


def _joined_on_cpu(tensors: Sequence[Tensor], dim: int) -> Tensor | None:
    """The common case, tensors of one type with data on the CPU, in one call; None for the general way."""
    if not tensors:
        return None
    dtype, shapes = tensors[0]._dtype, []
    for t in tensors:
        if t._device is not cpu or t._dtype is not dtype:
            return None
        shapes.append(t._sizes)
    known = _known_join(tuple(shapes), dim, _joined_format(tensors))
    if known is None:
        return None
    axis, sizes, strides = known
    out = allocate(sizes, strides, dtype, cpu)
    np.concatenate([t._array for t in tensors], axis, out=out._array)
    return out


@functools.lru_cache(maxsize=1024)
def _known_join(
    shapes: tuple[tuple[int, ...], ...], dim: int, memory_format: MemoryFormat
) -> tuple[int, tuple[int, ...], tuple[int, ...]] | None:
    """(dimension, sizes and strides of the result) for shapes that fit, without those that are left out."""
    first = shapes[0]
    axis = dim + len(first) if dim < 0 else dim
    if not first or not 0 <= axis < len(first) or (0,) in shapes:
        return None
    if any(shape[:axis] + shape[axis + 1 :] != first[:axis] + first[axis + 1 :] for shape in shapes):
        return None
    sizes = (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])
    return axis, sizes, format_strides("cat", sizes, memory_format)


@concatenating(
    "aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
    spec=_cat_spec,
    pieces=_cat_pieces,
    autocast={"cpu": "promote"},
    out=True,
)
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors along a dimension."""
    joined = _joined_on_cpu(tensors, dim)
    if joined is not None:
        return joined
    axis, counted = _joined(tensors, dim)
    out = allocate_like(_joined_spec(tensors, axis, counted))
    k = handler(out._device.xp)
    target, start = out._array, 0
    for t in counted:
        stop = start + t._sizes[axis]
        assign(k, target[(slice(None),) * axis + (slice(start, stop),)], t._array, out._dtype)
        start = stop
    return out


@cat.backward
def _cat_backward(grad: Tensor, needs: Sequence[bool], tensors_spec: Sequence[TensorSpec], dim: int) -> tuple[Any]:
    found: list[Tensor | None] = []
    start = 0
    for spec, needed in zip(tensors_spec, needs, strict=True):
        if spec.sizes == (0,):
            found.append(ops.aten.new_zeros.default(grad, [0]) if needed else None)
            continue
        stop = start + spec.sizes[dim]
        found.append(ops.aten.slice.Tensor(grad, dim, start, stop) if needed else None)
        start = stop
    return (found,)


def assign(k: Any, target: Any, source: Any, dtype: DType) -> None:
    if source.dtype == target.dtype:
        target[...] = source
        return
    with np.errstate(all="ignore"):
        target[...] = k.cast(source, dtype)


@composite("aten::concat(Tensor[] tensors, int dim=0) -> Tensor", outs="out")
def concat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    return ops.aten.cat.default(tensors, dim)


@composite("aten::stack(Tensor[] tensors, int dim=0) -> Tensor", explicit=True, autocast={"cpu": "promote"}, outs="out")
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    if not tensors:
        raise ShapeError("stack: expected at least one tensor")
    if any(t._sizes != tensors[0]._sizes for t in tensors):
        raise ShapeError("stack: all tensors must have the same sizes", got=describe(tensors))
    sizes = tensors[0]._sizes
    axis = wrap_dim(dim, len(sizes) + 1, "stack")
    if axis < len(sizes) and _joined_format(tensors) != contiguous_format:  # which tensors of one more dimension hide
        split = [*sizes[:axis], len(tensors), *sizes[axis:]]
        joined = ops.aten.cat.default(tensors, axis)
        return ops.aten._unsafe_view.default(joined, split)
    return ops.aten.cat.default([ops.aten.unsqueeze.default(t, axis) for t in tensors], axis)


stack.backward(
    tensors=lambda grad, needs, dim: [ops.aten.select.int(grad, dim, i) if n else None for i, n in enumerate(needs)]
)


def _at_least(t: Tensor, ndim: int) -> Tensor:
    """A view with at least 1, 2 or 3 dimensions, where NumPy puts them."""
    if ndim == 1:
        return ops.aten.reshape.default(t, [1]) if not t._sizes else t
    if ndim == 2:
        return ops.aten.unsqueeze.default(_at_least(t, 1), 0) if t.ndim < 2 else t
    return ops.aten.unsqueeze.default(_at_least(t, 2), -1) if t.ndim < 3 else t


@composite("aten::hstack(Tensor[] tensors) -> Tensor", outs="out")
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    raised = [_at_least(t, 1) for t in tensors]
    return ops.aten.cat.default(raised, 0 if raised and raised[0].ndim == 1 else 1)


@composite("aten::vstack(Tensor[] tensors) -> Tensor", outs="out")
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    return ops.aten.cat.default([_at_least(t, 2) for t in tensors], 0)


@composite("aten::dstack(Tensor[] tensors) -> Tensor", outs="out")
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    return ops.aten.cat.default([_at_least(t, 3) for t in tensors], 2)


@cat.batching
def _cat(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    values = bound(op, args, kwargs)
    tensors = values["tensors"]
    counted = [t for t in tensors if t._sizes != (0,)] or tensors[:1]
    axis = wrap_dim(values["dim"], counted[0].ndim, "cat")
    wholes = [stretched(t, level) for t in counted]
    found = op(wholes, axis + 1)
    # An empty vector is left out of the shape, but not of the type.
    skipped = [t for t in tensors if t._sizes == (0,)]
    if skipped and len(counted) < len(tensors):
        wanted = op.decl.spec(*op.decl.bind(args, kwargs)).dtype
        if wanted is not found._dtype:
            found = ops.aten._to_copy.default(found, dtype=wanted)
    return wrap(found, level)


# ---- repeating and moving ------------------------------------------------------------------------------------------


@composite("aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", explicit=True, out=True)
def repeat(self: Tensor, repeats: Sequence[int]) -> Tensor:
    lead = len(repeats) - self.ndim
    if lead < 0 or any(r < 0 for r in repeats):
        raise ShapeError(
            "repeat: needs a non-negative count for each dimension", got=f"{list(repeats)} for {describe(self)}"
        )
    aten = ops.aten
    sizes = (*(1,) * lead, *self._sizes)
    # Each dimension gets a neighbour of size 1 to be stretched: (s0, s1) is seen as (1, s0, 1, s1).
    spread = self
    for _ in range(lead):
        spread = aten.unsqueeze.default(spread, 0)
    for d in range(len(sizes)):
        spread = aten.unsqueeze.default(spread, 2 * d)
    stretched = aten.expand.default(spread, [n for r, s in zip(repeats, sizes, strict=True) for n in (r, s)])
    copied = aten.clone.default(stretched, memory_format=contiguous_format)
    return aten._unsafe_view.default(copied, [r * s for r, s in zip(repeats, sizes, strict=True)])


@repeat.backward
def _repeat_backward(grad: Tensor, self_spec: TensorSpec, repeats: Sequence[int]) -> tuple[Tensor]:
    sizes = (*(1,) * (len(repeats) - len(self_spec.sizes)), *self_spec.sizes)
    if not sizes:
        return (grad,)
    spread = ops.aten.reshape.default(grad, [n for r, s in zip(repeats, sizes, strict=True) for n in (r, s)])
    return (ops.aten.sum.dim_IntList(spread, list(range(0, 2 * len(sizes), 2))),)


@composite("aten::tile(Tensor self, SymInt[] dims) -> Tensor")
def tile(self: Tensor, dims: Sequence[int]) -> Tensor:
    return ops.aten.repeat.default(self, [*(1,) * (self.ndim - len(dims)), *dims])


def _flip_spec(self: Tensor, dims: Sequence[int]) -> TensorSpec:
    normalize_axes(list(dims), self.ndim, "flip")
    return TensorSpec(self._sizes, copied_strides(self), self._dtype, self._device)


def _flip_origin(index: Sequence[Any], sizes: Sequence[Any], dims: Sequence[int]) -> list[Any]:
    axes = {d % len(sizes) for d in dims} if sizes else set()
    return [part * -1 + (sizes[d] - 1) if d in axes else part for d, part in enumerate(index)]


@index_map("aten::flip(Tensor self, int[] dims) -> Tensor", spec=_flip_spec, origin=_flip_origin, out=True)
def flip(self: Tensor, dims: Sequence[int]) -> Tensor:
    """Reverse the order along dimensions (a copy: strides are never negative)."""
    out = allocate_like(_flip_spec(self, dims))
    axes = normalize_axes(list(dims), self.ndim, "flip") if dims else ()
    index = tuple(slice(None, None, -1) if d in axes else slice(None) for d in range(self.ndim))
    out._array[...] = self._array[index]
    return out


flip.backward(self=lambda grad, dims: ops.aten.flip.default(grad, dims))


def roll_axes(self: Tensor, shifts: Sequence[int], dims: Sequence[int]) -> tuple[int, ...] | None:
    """The dimensions that a roll shifts, checked; None for all elements in a row."""
    if not dims and len(shifts) == 1:
        return None
    if len(shifts) != len(dims) or not shifts:
        raise ShapeError("roll: needs one shift for each dimension", got=f"shifts={list(shifts)}, dims={list(dims)}")
    if not self._sizes:
        raise OutOfRangeError("roll: a 0-d tensor has no dimension", got=f"dims={list(dims)}")
    return tuple(wrap_dim(d, self.ndim, "roll") for d in dims)


def _roll_spec(self: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> TensorSpec:
    roll_axes(self, shifts, dims)
    return contiguous(self._sizes, self._dtype, self._device)


@extern("aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", spec=_roll_spec, outs="out")
def roll(self: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    """Shift elements along dimensions, those beyond the end coming back at the start."""
    axes = roll_axes(self, shifts, dims)
    out = allocate_like(_roll_spec(self, shifts, dims))
    xp = self._device.xp
    out._array[...] = xp.roll(self._array, shifts[0] if axes is None else tuple(shifts), axis=axes)
    return out


roll.backward(self=lambda grad, shifts, dims: ops.aten.roll.default(grad, [-shift for shift in shifts], dims))


@flip.batching
def _flip(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    t, dims = args
    if not t._sizes:
        return wrap(ops.aten.clone.default(front(t, level)), level)
    return wrap(op(front(t, level), [wrap_dim(d, t.ndim, "flip") + 1 for d in dims]), level)


@roll.batching
def _roll(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    roll_axes(*op.decl.bind(args, kwargs))
    values = bound(op, args, kwargs)
    t, shifts, dims = values["self"], values["shifts"], values["dims"]
    whole = front(t, level)
    if dims:
        return wrap(op(whole, shifts, [wrap_dim(d, t.ndim, "roll") + 1 for d in dims]), level)
    return wrap(ops.aten.view.default(op(flat(whole), shifts, [1]), list(whole._sizes)), level)


# ---- samples -------------------------------------------------------------------------------------------------------

_ALL = tuple(dtypes.DTYPES.values())


def _part(x: Tensor) -> Tensor:
    return ops.aten.slice.Tensor(x, 1, 0, None, 2)


def _turned(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, 0, 1)


@cat.with_samples
def _(make: Make) -> Samples:
    yield ([make(2, 3), make(4, 3)],), {}
    yield ([make(2, 3), make(2, 1), make(2, 0)], -1), {}
    yield ([_turned(make(3, 2)), make(2, 3)], 1), {}
    yield ([make(0), make(2, 3)],), {}
    yield ([make(2), make(2, dtype=dtypes.int64), make(1, dtype=dtypes.float64)],), {}


@stack.with_samples
def _(make: Make) -> Samples:
    for dim in (0, 1, -1):
        yield ([make(2, 3), _turned(make(3, 2))], dim), {}
    yield ([make(), make()],), {}


for _decl in (hstack, vstack, dstack):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        yield ([make(), make()],), {}
        yield ([make(3), make(3)],), {}
        yield ([make(2, 3), make(2, 3)],), {}


@repeat.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3), [2, 2]), {}
    yield (_turned(make(2, 3)), [2, 1, 3]), {}
    yield (make(3), [0]), {}
    yield (make(), [3]), {}
    yield (make(2, 0), [2, 2]), {}


@tile.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3), [2]), {}
    yield (make(2, 3), [2, 1, 2]), {}


@flip.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3), [0]), {}
    yield (_turned(make(2, 3)), [0, -1]), {}
    yield (make(2, 3), []), {}
    yield (_part(make(2, 6)), [1]), {}


@roll.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3), [1]), {}
    yield (_turned(make(2, 3)), [1], [0]), {}
    yield (make(4, 3), [1, -2], [0, 1]), {}
    yield (make(0, 3), [1], [0]), {}


for _decl in (cat, concat, stack, hstack, vstack, dstack, repeat, tile, flip, roll):
    _decl.sample_dtypes = _ALL
