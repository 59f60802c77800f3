"""Batching rules of the ops that read or write the places that index tensors and masks name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.registry.batched import Level, make_batched
from opweave.registry.batching import (
    bound,
    check_example,
    front,
    is_at,
    raised,
    ranked,
    refuse_write,
    stretched,
    wrap,
)
from opweave.registry.errors import DataDependentError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.indexing import MASK_TYPES, has_data, without_masks
from opweave.registry.promote import broadcast_shapes
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, describe

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def _plain_indices(op: OpOverload, indices: Sequence[Tensor | None], level: Level) -> list[Tensor | None]:
    """The index tensors with masks, which no example has to itself, as places."""
    for index in indices:
        if index is not None and index._dtype in MASK_TYPES and is_at(index, level):
            raise DataDependentError(
                f"vmap: {op.opname}: a mask that differs between examples picks another number of elements for each",
                got=describe(index),
                hint="use opweave.where(mask, a, b), or x.masked_fill(mask, value)",
            )
    masks = [index for index in indices if index is not None and index._dtype in MASK_TYPES]
    if all(has_data(mask) for mask in masks):
        return without_masks(op.opname, indices) if masks else list(indices)
    places: list[Tensor | None] = []
    for index in indices:
        if index is None or index._dtype not in MASK_TYPES:
            places.append(index)
        else:  # an op, which a trace sees
            places += ops.aten.unbind.int(ops.aten.nonzero.default(index), 1)
    return places


def _examples(level: Level, rank: int, device: Any) -> Tensor:
    """The numbers of the examples, as an index tensor with `rank` dimensions behind."""
    return ops.aten.view.default(ops.aten.arange.default(level.size, device=device), [level.size, *(1,) * rank])


def _places(indices: Sequence[Tensor | None]) -> tuple[list[int], int, bool]:
    """(dimensions with an index, dimensions of the indices, whether they stand side by side)."""
    given = [d for d, index in enumerate(indices) if index is not None]
    rank = max((index.ndim for index in indices if index is not None), default=0)
    return given, rank, not given or given == list(range(given[0], given[-1] + 1))


@ops.aten.index.Tensor.decl.batching
def _index(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    t, raw = args
    indices = _plain_indices(op, raw, level)
    given, rank, adjacent = _places(indices)
    aten = ops.aten
    if not any(is_at(index, level) for index in indices):
        found = op(front(t, level), [None, *indices])
        # Index tensors that stand apart put their dimensions before all others, the examples too.
        return make_batched(found, 0 if adjacent else rank, level)
    aligned = [ranked(index, level, rank) for index in indices]
    lead = given[0] if adjacent else 0
    if not is_at(t, level):
        return make_batched(op(t, aligned), lead, level)
    found = op(front(t, level), [_examples(level, rank, t._device), *aligned])
    if lead:
        # Examples, index dimensions, then those before and behind: the index stands apart from the examples.
        order = [0, *range(rank + 1, rank + 1 + lead), *range(1, rank + 1), *range(rank + 1 + lead, found.ndim)]
        found = aten.permute.default(found, order)
    return wrap(found, level)


@ops.aten.index_put.default.decl.batching
@ops.aten.index_put_.default.decl.batching
def _index_put(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    values = bound(op, args, kwargs)
    t, source = values["self"], values["values"]
    indices = _plain_indices(op, values["indices"], level)
    if op.is_mutable:
        refuse_write(op, t, level)
    given, rank, adjacent = _places(indices)
    aten = ops.aten
    shape = broadcast_shapes(op.opname, *[index._sizes for index in indices if index is not None])
    rest = [size for d, size in enumerate(t._sizes) if d not in given]
    lead = given[0] if adjacent and given else 0
    sizes = [*rest[:lead], *shape, *rest[lead:]]
    whole = stretched(t, level)
    wide = ranked(source, level, len(sizes))
    if not given:
        places: list[Any] = [None, *indices]
    else:
        places = [_examples(level, rank, t._device), *(ranked(index, level, rank) for index in indices)]
        if lead:
            # The index stands apart from the examples, so its dimensions come before the others.
            broadcast_shapes(op.opname, sizes, source._sizes)
            wide = aten.expand.default(wide, [level.size, *sizes])
            order = [0, *range(1 + lead, 1 + lead + rank), *range(1, 1 + lead), *range(1 + lead + rank, wide.ndim)]
            wide = aten.permute.default(wide, order)
    found = op(whole, places, wide, values["accumulate"])
    return t if op.is_mutable else wrap(found, level)


@ops.aten.index_select.default.decl.batching
def _index_select(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    check_example(op, args, kwargs)
    t, dim, index = args
    aten = ops.aten
    axis = wrap_dim(dim, t.ndim, op.opname)
    whole = stretched(t, level)
    if not t._sizes:
        whole = aten.unsqueeze.default(whole, 1)
    if not is_at(index, level):
        found = op(whole, axis + 1, index)
    else:
        places = aten.reshape.default(front(index, level), [level.size, index.numel()])
        for _ in range(axis):
            places = aten.unsqueeze.default(places, 1)
        for _ in range(whole.ndim - axis - 2):
            places = aten.unsqueeze.default(places, -1)
        sizes = [*whole._sizes[: axis + 1], index.numel(), *whole._sizes[axis + 2 :]]
        found = aten.gather.default(whole, axis + 1, aten.expand.default(places, sizes))
    return wrap(found if t._sizes else aten.view.default(found, [level.size]), level)


@ops.aten.gather.default.decl.batching
def _gather(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    check_example(op, args, kwargs)
    t, dim, index = args
    if not index.numel():
        return wrap(ops.aten.new_zeros.default(stretched(t, level), [level.size, *index._sizes]), level)
    found = op(raised(t, level), wrap_dim(dim, t.ndim, "gather") + 1, raised(index, level), **kwargs)
    return wrap(found if index._sizes else ops.aten.view.default(found, [level.size]), level)
