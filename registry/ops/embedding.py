"""Rows of a matrix by their numbers: `embedding`, and sums, means and maxima of bags of rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import bound, call, check_example, front, is_at, wrap
from opweave.registry.dtypes import promote_types
from opweave.registry.errors import DTypeError, OutOfRangeError, ShapeError, UnsupportedError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.combining import combine_at
from opweave.registry.ops.indexing import added_at, check_range, sample_places, take_at
from opweave.registry.ops.kinds import Place, Places, composite, extern, gather as gathering
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.strided import wrap_dim
from opweave.registry.symbolic import demand
from opweave.registry.tensor import Tensor, allocate_like, describe

# ---- rows of a matrix ----------------------------------------------------------------------------------------------


def _embedding_spec(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> TensorSpec:
    if weight.ndim != 2:
        raise ShapeError("embedding: the weight must be a matrix", got=describe(weight))
    if indices._dtype not in (dtypes.int64, dtypes.int32):
        raise DTypeError("embedding: indices must be int32 or int64", got=describe(indices), hint="indices.long()")
    return contiguous((*indices._sizes, weight._sizes[1]), weight._dtype, weight._device)


def _embedding_places(weight: Tensor, indices: Tensor, *_: Any) -> Places:
    return Places(weight, (Place(indices, tuple(range(indices.ndim))), indices.ndim), False)


@gathering(
    "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False,"
    " bool sparse=False) -> Tensor",
    spec=_embedding_spec,
    places=_embedding_places,
    out=True,
)
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """The rows of a matrix that an index tensor of any shape names."""
    out = allocate_like(_embedding_spec(weight, indices))
    check_range("embedding", indices._array, weight._sizes[0], 0, lowest=0)
    if indices.numel():
        take_at(weight, indices._array, 0, out)
    return out


def _check_rows(op: str, grad_output: Tensor, indices: Tensor) -> None:
    if indices._dtype not in (dtypes.int64, dtypes.int32):
        raise DTypeError(f"{op}: indices must be int32 or int64", got=describe(indices))
    if grad_output.ndim != indices.ndim + 1 or grad_output._sizes[:-1] != indices._sizes:
        raise ShapeError(f"{op}: needs a row of gradients for each index", got=describe([grad_output, indices]))


@composite(
    "aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx,"
    " bool scale_grad_by_freq) -> Tensor",
    explicit=True,
    outs="out",
)
def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """The gradient of the matrix of an embedding: each row's, added up; none for the row `padding_idx`."""
    aten = ops.aten
    _check_rows("embedding_dense_backward", grad_output, indices)
    width = grad_output._sizes[-1]
    places = aten.reshape.default(indices, [-1])
    # Here a negative number does not count from the end: it is out of range.
    places = aten.where(aten.lt.Scalar(places, 0), num_weights, places)
    grad = aten.reshape.default(grad_output, [places._sizes[0], width])
    if padding_idx >= 0:
        grad = aten.masked_fill.Scalar(grad, aten.unsqueeze.default(aten.eq.Scalar(places, padding_idx), 1), 0)
    if scale_grad_by_freq:
        once = aten.new_ones.default(grad, places._sizes)
        times = aten.index.Tensor(added_at(once, [num_weights], [places]), [places])
        grad = aten.div.Tensor(grad, aten.unsqueeze.default(times, 1))
    return added_at(grad, [num_weights, width], [places])


@embedding.batching
def _embedding_batch(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    values = bound(op, args, kwargs)
    weight, indices = values["weight"], values["indices"]
    if not is_at(weight, level):
        return wrap(call(op, {**values, "indices": front(indices, level)}), level)
    aten = ops.aten
    row = aten.reshape.default(indices, [math.prod(indices._sizes)])
    found = aten.index_select.default(weight, 0, row)
    return aten.view.default(found, [*indices._sizes, weight._sizes[1]])


# ---- bags of rows --------------------------------------------------------------------------------------------------


_SUM, _MEAN, _MAX = 0, 1, 2

_PLACES = (dtypes.int64, dtypes.int32)

_ARGUMENTS = (
    "Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False,"
    " Tensor? per_sample_weights=None, bool include_last_offset=False"
)


def _specs(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[TensorSpec, ...]:  # fmt: skip
    got = describe([weight, indices, offsets])
    if weight.ndim != 2 or indices.ndim != 1 or offsets.ndim != 1:
        raise ShapeError("embedding_bag: expected a matrix, and vectors of indices and offsets", got=got)
    if weight._dtype.kind != "f" or indices._dtype not in _PLACES or offsets._dtype not in _PLACES:
        raise DTypeError("embedding_bag: expected a floating matrix, and int32 or int64 indices and offsets", got=got)
    if mode not in (_SUM, _MEAN, _MAX):
        raise ShapeError(f"embedding_bag: mode is 0 (sum), 1 (mean) or 2 (max), not {mode}")
    factors = per_sample_weights
    if factors is not None:
        if mode != _SUM:
            raise ShapeError("embedding_bag: only a sum takes per_sample_weights", got=f"mode={mode}")
        if factors._dtype is not weight._dtype:
            raise DTypeError("embedding_bag: per_sample_weights must have the matrix's type", got=describe(factors))
        if factors._sizes != indices._sizes:
            raise ShapeError("embedding_bag: needs a weight for each index", got=describe([indices, factors]))
    bags = offsets._sizes[0]
    if include_last_offset:
        demand(bags >= 1, "embedding_bag: with include_last_offset there is at least one offset", ShapeError)
        bags = bags - 1
    place = promote_types(indices._dtype, offsets._dtype)
    width, device = weight._sizes[1], weight._device
    # PyTorch's quick way to sum does not tell which bag an index is in.
    quick = (
        mode == _SUM and weight._dtype is not dtypes.float64 and padding_idx < 0 and weight._strides[1] == 1
        and (factors is None or factors._strides[0] == 1)
    )  # fmt: skip
    return (
        contiguous((bags, width), weight._dtype, device),
        contiguous((0,) if quick else indices._sizes, place, device),
        contiguous((bags,), place, device),
        contiguous((bags, width) if mode == _MAX else (bags,), place, device),
    )


def _check_offsets(xp: Any, offsets: Any, count: int, include_last_offset: bool) -> None:
    rising = not offsets.size or bool((offsets[1:] >= offsets[:-1]).all())
    if offsets.size and (int(offsets[0]) != 0 or not rising or int(offsets[-1]) > count):
        raise ShapeError(
            f"embedding_bag: offsets start at 0, do not fall, and end at the number of indices, {count}, at most",
            got=f"offsets={offsets.tolist()[:8]}",
        )
    bags = offsets.size - bool(include_last_offset)
    if count and (not bags or (include_last_offset and int(offsets[-1]) != count)):
        raise ShapeError(
            f"embedding_bag: {count} indices, some of which are in no bag", got=f"offsets={offsets.tolist()[:8]}",
            hint="with include_last_offset the last offset is the number of indices",
        )  # fmt: skip


@extern(
    f"aten::_embedding_bag({_ARGUMENTS}, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    spec=_specs,
    outs=("out", "out0", "out1", "out2", "out3"),
)
def _embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Tensor, ...]:  # fmt: skip
    """(for each bag the sum, mean or maximum of its rows, the bag of each index, sizes of bags, rows of the maxima)."""
    specs = _specs(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
        padding_idx,
    )  # fmt: skip
    out, bag_of, bag_size, places = (allocate_like(spec) for spec in specs)
    xp = weight._device.xp
    row, starts = indices._array, offsets._array
    _check_offsets(xp, starts, row.size, include_last_offset)
    if row.size and (int(row.min()) < 0 or int(row.max()) >= weight._sizes[0]):
        raise OutOfRangeError(
            f"embedding_bag: an index is out of range for a matrix with {weight._sizes[0]} rows",
            got=f"indices from {int(row.min())} to {int(row.max())}",
        )
    bags, width = out._sizes
    bag = xp.searchsorted(starts[:bags], xp.arange(row.size), side="right") - 1
    if bag_of.numel():
        bag_of._array[...] = bag
    factors = None if per_sample_weights is None else per_sample_weights._array
    if padding_idx >= 0:
        kept = row != padding_idx
        row, bag = row[kept], bag[kept]
        factors = None if factors is None else factors[kept]
    compute = weight._dtype.compute.numpy
    taken = xp.take(weight._array, row, axis=0).astype(compute, copy=False)
    work = xp.zeros((bags, width), compute)
    counts = xp.bincount(bag, minlength=bags) if bags else 0
    places._array[...] = 0
    bag_size._array[...] = 0 if mode == _SUM else counts
    if mode == _MAX:
        _maxima(xp, work, places._array, taken, row, counts)
    else:
        with np.errstate(all="ignore"):
            taken = taken if factors is None else taken * factors.astype(compute)[:, None]
            if not weight._device.is_host or not combine_at("add", work, bag, taken):
                xp.add.at(work, bag, taken)
            if mode == _MEAN and bags:
                work = work / xp.maximum(counts, 1).astype(compute)[:, None]
        places._array[...] = bag_size._array
    with np.errstate(all="ignore"):
        out._array[...] = work
    return out, bag_of, bag_size, places


def _maxima(xp: Any, work: Any, places: Any, taken: Any, row: Any, counts: Any) -> None:
    """The first maximum of each bag, in place; a later NaN is no larger, as in PyTorch."""
    counts = xp.asarray(counts)
    first = xp.cumsum(counts) - counts
    # The first rows of all bags, then the second ones of those that have them.
    for k in range(int(counts.max()) if counts.size else 0):
        bags = xp.flatnonzero(counts > k)
        at = first[bags] + k
        value, number = taken[at], row[at][:, None]
        if k:
            best = work[bags]
            better = value > best
            value, number = xp.where(better, value, best), xp.where(better, number, places[bags])
        work[bags], places[bags] = value, number


# ---- as functions --------------------------------------------------------------------------------------------------


@composite(f"aten::embedding_bag({_ARGUMENTS}) -> (Tensor, Tensor, Tensor, Tensor)")
def embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
) -> tuple[Tensor, ...]:  # fmt: skip
    return ops.aten._embedding_bag.default(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset
    )


@composite(
    "aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode,"
    " bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx)"
    " -> (Tensor, Tensor, Tensor, Tensor)"
)
def embedding_bag_padded(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool, mode: int, sparse: bool,
    per_sample_weights: Tensor | None, include_last_offset: bool, padding_idx: int | None,
) -> tuple[Tensor, ...]:  # fmt: skip
    row = -1 if padding_idx is None else wrap_dim(padding_idx, weight._sizes[0], "embedding_bag: padding_idx")
    return ops.aten._embedding_bag.default(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, row
    )


# ---- gradients -----------------------------------------------------------------------------------------------------


@embedding.backward
def _embedding_backward(
    grad: Tensor, weight_spec: TensorSpec, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> tuple[Any, ...]:
    if sparse:
        raise UnsupportedError("embedding: sparse gradients are not supported", hint="pass sparse=False")
    found = ops.aten.embedding_dense_backward.default(
        grad, indices, weight_spec.sizes[0], padding_idx, scale_grad_by_freq
    )
    return found, None


@embedding_dense_backward.backward
def _embedding_dense_backward_backward(
    grad: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool, grad_output_spec: TensorSpec
) -> tuple[Any, ...]:
    aten = ops.aten
    found = aten.index.Tensor(grad, [indices])
    if padding_idx >= 0:
        found = aten.masked_fill.Scalar(found, aten.unsqueeze.default(aten.eq.Scalar(indices, padding_idx), -1), 0)
    if scale_grad_by_freq:
        row = aten.reshape.default(indices, [-1])
        times = added_at(aten.new_ones.default(grad, row._sizes), [grad._sizes[0]], [row])
        found = aten.div.Tensor(found, aten.unsqueeze.default(aten.index.Tensor(times, [indices]), -1))
    return found, None


def _bag_numbers(indices: Tensor, offsets: Tensor, include_last_offset: bool) -> Tensor:
    """The bag of each index: how many start up to it."""
    aten = ops.aten
    count = indices._sizes[0]
    starts = aten.slice.Tensor(offsets, 0, 0, offsets._sizes[0] - 1) if include_last_offset else offsets
    starts = aten._to_copy.default(starts, dtype=dtypes.int64)
    marks = aten.new_zeros.default(starts, [count + 1])
    marks = aten.scatter_add.default(marks, 0, starts, aten.ones_like.default(starts))
    return aten.sub.Tensor(aten.slice.Tensor(aten.cumsum.default(marks, 0), 0, 0, count), 1)


def _of_weight(
    grad: Tensor, weight_spec: TensorSpec, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool, mode: int,
    sparse: bool, per_sample_weights: Tensor | None, include_last_offset: bool, padding_idx: int, result2: Tensor,
    result3: Tensor,
) -> Tensor:  # fmt: skip
    aten = ops.aten
    if sparse:
        raise UnsupportedError("embedding_bag: sparse gradients are not supported", hint="pass sparse=False")
    if mode == _MAX:
        filled = aten.unsqueeze.default(aten.gt.Scalar(result2, 0), 1)
        grad = aten.where.self(filled, grad, aten.new_zeros.default(grad, []))
        nothing = aten.new_zeros.default(grad, list(weight_spec.sizes))
        return aten.scatter_add.default(nothing, 0, aten._to_copy.default(result3, dtype=dtypes.int64), grad)
    if mode == _MEAN:
        counts = aten._to_copy.default(aten.clamp_min.default(result2, 1), dtype=grad._dtype)
        grad = aten.div.Tensor(grad, aten.unsqueeze.default(counts, 1))
    each = aten.index.Tensor(grad, [_bag_numbers(indices, offsets, include_last_offset)])
    if per_sample_weights is not None:
        each = aten.mul.Tensor(each, aten.unsqueeze.default(per_sample_weights, 1))
    rows = weight_spec.sizes[0]
    return aten.embedding_dense_backward.default(each, indices, rows, padding_idx, scale_grad_by_freq)


def _of_factors(
    grad: Tensor, weight: Tensor, indices: Tensor, offsets: Tensor, include_last_offset: bool, padding_idx: int
) -> Tensor:
    aten = ops.aten
    each = aten.index.Tensor(grad, [_bag_numbers(indices, offsets, include_last_offset)])
    found = aten.sum.dim_IntList(aten.mul.Tensor(each, aten.index.Tensor(weight, [indices])), [1])
    if padding_idx >= 0:
        found = aten.masked_fill.Scalar(found, aten.eq.Scalar(indices, padding_idx), 0)
    return found


_embedding_bag.backward(differentiable=(0,), weight=_of_weight, per_sample_weights=_of_factors)


# ---- samples -------------------------------------------------------------------------------------------------------


@embedding_dense_backward.with_samples
def _(make: Make) -> Samples:
    for padding_idx, scaled in ((-1, False), (1, False), (-1, True), (2, True)):
        if scaled and make()._dtype is dtypes.float64:
            continue  # PyTorch's second derivative leaves the scale out
        yield (make(2, 4, 3), sample_places(make, 2, 4), 5, padding_idx, scaled), {}
        yield (ops.aten.transpose.int(make(3, 4), 0, 1), sample_places(make, 4), 3, padding_idx, scaled), {}
    yield (make(3), sample_places(make), 4, -1, False), {}
    yield (make(0, 3), sample_places(make, 0), 4, -1, False), {}


@embedding.with_samples
def _(make: Make) -> Samples:
    for weight in (make(5, 3), ops.aten.transpose.int(make(3, 5), 0, 1)):
        yield (weight, sample_places(make, 2, 4)), {}
        yield (weight, sample_places(make)), {}


for _decl in (embedding,):
    _decl.sample_dtypes = (dtypes.float32, dtypes.bfloat16, dtypes.int64, dtypes.bool_, dtypes.complex64)

embedding_dense_backward.sample_dtypes = (dtypes.float32, dtypes.float64)


@_embedding_bag.with_samples
def _(make: Make) -> Samples:
    indices = Tensor._from_array(np.array([0, 2, 1, 5, 5, 3, 1]))
    offsets = Tensor._from_array(np.array([0, 2, 2, 5]))
    for mode in (_SUM, _MEAN, _MAX):
        for padding_idx in (-1, 5):
            yield (make(6, 3), indices, offsets, False, mode, False, None, False, padding_idx), {}
            ends = Tensor._from_array(np.array([0, 3, 7]))
            yield (make(6, 3), indices, ends, False, mode, False, None, True, padding_idx), {}
    for padding_idx in (-1, 5):
        yield (make(6, 3), indices, offsets, False, _SUM, False, make(7), False, padding_idx), {}


_embedding_bag.sample_dtypes = (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16)
