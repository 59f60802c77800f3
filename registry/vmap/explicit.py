"""Batching rules that do not follow from an op's kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opweave.registry.autograd.graph import reach
from opweave.registry.batched import Level, make_batched
from opweave.registry.batching import (
    as_view_of,
    bound,
    call,
    channels_last,
    flat,
    front,
    is_at,
    one_by_one,
    ranked,
    refuse_write,
    stretched,
    wrap,
)
from opweave.registry.errors import DataDependentError
from opweave.registry.kernels import fallthrough_kernel
from opweave.registry.keys import AUTOGRAD_KEYS, DispatchKey
from opweave.registry.memory_format import CHANNELS_LAST, contiguous_format
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.indexing import MASK_TYPES, without_masks
from opweave.registry.ops.rearranging import roll_axes
from opweave.registry.promote import broadcast_shapes
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, describe
from opweave.registry.vmap.rules import Rule, rule

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def _validate(op: OpOverload, args: Args, kwargs: Kwargs) -> None:
    """Raise what the op would raise on one example, so that messages show the shapes that the user sees."""
    op.decl.spec(*op.decl.bind(args, kwargs))


# ---- matrix products -----------------------------------------------------------------------------------------------


@rule("mm")
def _mm(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    a, b = args
    aten = ops.aten
    if is_at(a, level) and is_at(b, level):
        return wrap(aten.bmm.default(front(a, level), front(b, level)), level)
    if is_at(a, level):
        return wrap(_rows(front(a, level), b), level)
    # One product with the columns of all examples side by side.
    whole = aten.movedim.int(front(b, level), 0, 1)
    inner, size, columns = whole._sizes
    product = aten.mm.default(a, aten.reshape.default(whole, [inner, size * columns]))
    return make_batched(aten.view.default(product, [a._sizes[0], size, columns]), 1, level)


def _rows(a: Tensor, b: Tensor) -> Tensor:
    """Many matrices times one, as one product."""
    size, rows, inner = a._sizes
    product = ops.aten.mm.default(ops.aten.reshape.default(a, [size * rows, inner]), b)
    return ops.aten.view.default(product, [size, rows, b._sizes[1]])


@rule("batched_mm")
def _batched_mm(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    a, b, order = args
    order = [0, *[d + 1 for d in order]]
    a, b = (stretched(x, level) for x in (a, b))
    return wrap(ops.opweave.batched_mm.default(a, b, order), level)


@rule("bmm")
def _bmm(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    a, b = (_joined(t, level) for t in args)
    return wrap(_split(ops.aten.bmm.default(a, b), level), level)


def _joined(t: Tensor, level: Level) -> Tensor:
    """Examples and the first dimension as one."""
    whole = stretched(t, level)
    return ops.aten.reshape.default(whole, [level.size * t._sizes[0], *t._sizes[1:]])


def _split(t: Tensor, level: Level) -> Tensor:
    rows = t._sizes[0] // level.size if level.size else 0
    return ops.aten.view.default(t, [level.size, rows, *t._sizes[1:]])


@rule("mv")
def _mv(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    a, b = args
    aten = ops.aten
    if not is_at(b, level):
        whole = front(a, level)
        size, rows, inner = whole._sizes
        return wrap(aten.view.default(aten.mv.default(aten.reshape.default(whole, [size * rows, inner]), b),
                                      [size, rows]), level)  # fmt: skip
    if not is_at(a, level):
        return wrap(aten.mm.default(front(b, level), aten.t.default(a)), level)
    column = aten.unsqueeze.default(front(b, level), -1)
    return wrap(aten.squeeze.dim(aten.bmm.default(front(a, level), column), -1), level)


@rule("dot")
def _dot(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    a, b = args
    aten = ops.aten
    if not is_at(a, level):
        return wrap(aten.mv.default(front(b, level), a), level)
    if not is_at(b, level):
        return wrap(aten.mv.default(front(a, level), b), level)
    row, column = aten.unsqueeze.default(front(a, level), 1), aten.unsqueeze.default(front(b, level), 2)
    return wrap(aten.view.default(aten.bmm.default(row, column), [level.size]), level)


@rule("addmm")
def _addmm(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    values = bound(op, args, kwargs)
    term, a, b = values["self"], values["mat1"], values["mat2"]
    aten = ops.aten
    factors = {"beta": values["beta"], "alpha": values["alpha"]}
    if is_at(a, level) and not is_at(b, level) and not is_at(term, level) and (term.ndim < 2 or term._sizes[0] == 1):
        whole = front(a, level)
        size, rows, inner = whole._sizes
        product = aten.addmm.default(term, aten.reshape.default(whole, [size * rows, inner]), b, **factors)
        return wrap(aten.view.default(product, [size, rows, b._sizes[1]]), level)
    product = aten.baddbmm.default(ranked(term, level, 2), stretched(a, level), stretched(b, level), **factors)
    return wrap(product, level)


@rule("addmv")
def _addmv(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    values = bound(op, args, kwargs)
    aten = ops.aten
    term = ranked(values["self"], level, 1)
    product = aten.baddbmm.default(
        aten.unsqueeze.default(term, -1), stretched(values["mat"], level),
        aten.unsqueeze.default(stretched(values["vec"], level), -1), beta=values["beta"], alpha=values["alpha"],
    )  # fmt: skip
    return wrap(aten.squeeze.dim(product, -1), level)


@rule("baddbmm")
def _baddbmm(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    values = bound(op, args, kwargs)
    term, a, b = values["self"], values["batch1"], values["batch2"]
    aten = ops.aten
    sizes = (a._sizes[0], a._sizes[1], b._sizes[2])
    wide = aten.expand.default(ranked(term, level, 3), [level.size, *sizes])
    wide = aten.reshape.default(wide, [level.size * sizes[0], *sizes[1:]])
    product = aten.baddbmm.default(
        wide, _joined(a, level), _joined(b, level), beta=values["beta"], alpha=values["alpha"]
    )
    return wrap(aten.view.default(product, [level.size, *sizes]), level)


# ---- convolution ---------------------------------------------------------------------------------------------------


@rule("convolution")
def _convolution(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    values = bound(op, args, kwargs)
    x, weight, bias = values["input"], values["weight"], values["bias"]
    if not level.size:
        return one_by_one(op, level, args, kwargs)
    aten = ops.aten
    late = is_at(weight, level) or is_at(bias, level)
    values["bias"] = None if late else bias
    if is_at(weight, level):
        # The examples are groups of channels of one convolution.
        values["input"] = _as_channels(x, level)
        values["weight"] = _joined(weight, level)
        values["groups"] = values["groups"] * level.size
        found = call(op, values)
        count, channels = found._sizes[:2]
        shape = [count, level.size, channels // level.size, *found._sizes[2:]]
        result = make_batched(aten.view.default(found, shape), 1, level)
    elif is_at(x, level):
        values["input"] = _joined(x, level)
        result = wrap(_split(call(op, values), level), level)
    else:
        result = call(op, values)
    if late and bias is not None:
        result = aten.add.Tensor(result, aten.view.default(bias, [-1, *[1] * (x.ndim - 2)]))
    return result


@rule("im2col", "col2im")
def _columns(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    values = bound(op, args, kwargs)
    self = values["self"]
    # The examples are the batch, or join it.
    joins = self.ndim == (4 if op.opname == "im2col" else 3)
    values["self"] = _joined(self, level) if joins else front(self, level)
    found = call(op, values)
    return wrap(_split(found, level) if joins else found, level)


def _as_channels(t: Tensor, level: Level) -> Tensor:
    """Examples and channels of an image as one dimension."""
    whole = ops.aten.movedim.int(stretched(t, level), 0, 1)
    return ops.aten.reshape.default(whole, [t._sizes[0], level.size * t._sizes[1], *t._sizes[2:]])


@rule("convolution_weight")
def _convolution_weight(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    if not level.size:
        return one_by_one(op, level, args, kwargs)
    values = bound(op, args, kwargs)
    for name in ("grad_output", "input"):
        values[name] = _as_channels(values[name], level)
    rows, *rest = values["weight_sizes"]
    values["weight_sizes"] = [rows * level.size, *rest]
    values["groups"] = values["groups"] * level.size
    return wrap(_split(call(op, values), level), level)


# ---- along dimensions ----------------------------------------------------------------------------------------------


def _along(*tensors: str, dims: str = "dim") -> Rule:
    """The rule of ops that do the same along a dimension of each tensor; the sizes of the others are kept."""

    def shifted(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
        values = bound(op, args, kwargs)
        rank = max(values[name].ndim for name in tensors)
        dim = values[dims]
        scalar = not rank
        for name in tensors:
            whole = stretched(values[name], level)
            values[name] = ops.aten.unsqueeze.default(whole, 1) if scalar else whole
        if isinstance(dim, (list, tuple)):
            values[dims] = [wrap_dim(d, rank, op.opname) + 1 for d in dim]
        else:
            values[dims] = wrap_dim(dim, rank, op.opname) + 1
        if "keepdim" in values:
            values["keepdim"] = values["keepdim"] and not scalar
        found = call(op, values)
        if scalar and "keepdim" not in values:
            if isinstance(found, Tensor):
                found = ops.aten.squeeze.dim(found, 1)
            else:
                found = tuple([ops.aten.squeeze.dim(t, 1) for t in found])
        return wrap(found, level)

    return shifted


rule("_softmax", "_log_softmax", "cumsum", "cumprod", "max.dim", "min.dim", "sort")(_along("self"))


@rule("topk")
def _topk(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    values = bound(op, args, kwargs)
    if not values["self"].ndim and values["k"] == 0:
        values["k"] = 1  # of a number there is no less
    return _along("self")(op, level, (), values)


rule("_softmax_backward_data", "_log_softmax_backward_data")(_along("grad_output", "output"))


@rule("_fft_c2c", "_fft_r2c", "_fft_c2r")
def _fft(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    return _along("self")(op, level, args, kwargs)


@rule("flip")
def _flip(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    t, dims = args
    if not t._sizes:
        return wrap(ops.aten.clone.default(front(t, level)), level)
    return wrap(op(front(t, level), [wrap_dim(d, t.ndim, "flip") + 1 for d in dims]), level)


@rule("roll")
def _roll(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    roll_axes(*op.decl.bind(args, kwargs))
    values = bound(op, args, kwargs)
    t, shifts, dims = values["self"], values["shifts"], values["dims"]
    whole = front(t, level)
    if dims:
        return wrap(op(whole, shifts, [wrap_dim(d, t.ndim, "roll") + 1 for d in dims]), level)
    return wrap(ops.aten.view.default(op(flat(whole), shifts, [1]), list(whole._sizes)), level)


@rule("cat")
def _cat(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
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


@rule("conj_physical", "view_as_real", "view_as_complex")
def _elementwise(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    t = args[0]
    found = op(front(t, level))
    return as_view_of(t, found, level) if op.is_view else wrap(found, level)


@rule("view.dtype")
def _view_dtype(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    t, dtype = args
    whole = front(t, level)
    if not t._sizes and dtype.itemsize != t._dtype.itemsize:
        op.decl.rule(t, dtype)  # raises: the last dimension of the batch is not the example's
    return as_view_of(t, op(whole, dtype), level)


@rule("as_strided")
def _as_strided(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    values = bound(op, args, kwargs)
    t = values["self"]
    whole = front(t, level)
    offset = values["storage_offset"]
    found = op(
        whole, [whole._sizes[0], *values["size"]], [whole._strides[0], *values["stride"]],
        whole._offset if offset is None else offset,
    )  # fmt: skip
    return as_view_of(t, found, level)


# ---- normalisation -------------------------------------------------------------------------------------------------


@rule("native_layer_norm")
def _layer_norm(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    values = bound(op, args, kwargs)
    if is_at(values["weight"], level) or is_at(values["bias"], level):
        return op.decl.batch(level, args, kwargs)
    t, wanted = values["input"], tuple(values["normalized_shape"])
    if t._sizes[t.ndim - len(wanted) :] != wanted or not wanted:
        return op.decl.batch(level, args, kwargs)  # raises
    values["input"] = front(t, level)
    return wrap(call(op, values), level)


# ---- new tensors in the shape of others ----------------------------------------------------------------------------


@rule("full_like", "empty_like")
def _like(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    values = bound(op, args, kwargs)
    example = values["self"]
    values["self"] = front(example, level)
    if values["memory_format"] in CHANNELS_LAST:
        return channels_last(op, level, values, "self", example)
    return wrap(call(op, values), level)


@rule("new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided")
def _new(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    values = bound(op, args, kwargs)
    values["self"] = front(values["self"], level)
    if "stride" in values:
        span = reach((tuple(values["size"]), tuple(values["stride"]), 0))
        values["stride"] = [span, *values["stride"]]
    values["size"] = [level.size, *values["size"]]
    return wrap(call(op, values), level)


def _install_new() -> None:
    """Let the `new_*` ops, which are written with ops that see no tensor, reach their rule."""
    for name in ("new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided"):
        op = getattr(ops.aten, name).default
        for key in (DispatchKey.AutogradOther, *AUTOGRAD_KEYS.values()):
            op.register(key, fallthrough_kernel, site=op.site)

        def kernel(*args: Any, _op: OpOverload = op, **kwargs: Any) -> Any:
            level = args[0].level
            return _new(_op, level, args, kwargs)

        op.register(DispatchKey.FuncTorchBatched, kernel, site=op.site)


_install_new()


# ---- overwriting ---------------------------------------------------------------------------------------------------


@rule("fill.Tensor", "fill_.Tensor")
def _fill(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    t, value = args
    if value._sizes:
        op.decl.types(t, value) if op.opname == "fill" else op.decl.functional.decl.types(t, value)  # raises
    if op.opname == "fill_":
        refuse_write(op, t, level)
        return ops.aten.copy_.default(t, value)
    whole = stretched(t, level)
    return wrap(ops.aten.copy.default(whole, ranked(value, level, t.ndim)), level)


# ---- indexing ------------------------------------------------------------------------------------------------------


def _plain_indices(op: OpOverload, indices: Sequence[Tensor | None], level: Level) -> list[Tensor | None]:
    """The index tensors with masks, which no example has to itself, as places."""
    for index in indices:
        if index is not None and index._dtype in MASK_TYPES and is_at(index, level):
            raise DataDependentError(
                f"vmap: {op.opname}: a mask that differs between examples picks another number of elements for each",
                got=describe(index), hint="use opweave.where(mask, a, b), or x.masked_fill(mask, value)",
            )  # fmt: skip
    if any(index is not None and index._dtype in MASK_TYPES for index in indices):
        return without_masks(op.opname, indices)
    return list(indices)


def _examples(level: Level, rank: int, device: Any) -> Tensor:
    """The numbers of the examples, as an index tensor with `rank` dimensions behind."""
    return ops.aten.view.default(ops.aten.arange.default(level.size, device=device), [level.size, *(1,) * rank])


def _places(indices: Sequence[Tensor | None]) -> tuple[list[int], int, bool]:
    """(dimensions with an index, dimensions of the indices, whether they stand side by side)."""
    given = [d for d, index in enumerate(indices) if index is not None]
    rank = max((index.ndim for index in indices if index is not None), default=0)
    return given, rank, not given or given == list(range(given[0], given[-1] + 1))


@rule("index.Tensor")
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


@rule("index_put", "index_put_")
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


@rule("index_select")
def _index_select(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    t, dim, index = args
    aten = ops.aten
    axis = wrap_dim(dim, t.ndim, "index_select")
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


def _raised(t: Tensor, level: Level) -> Tensor:
    """The whole batch, a 0-d example as a vector of one element."""
    whole = stretched(t, level)
    return whole if t._sizes else ops.aten.unsqueeze.default(whole, 1)


@rule("gather")
def _gather(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    t, dim, index = args
    if not index.numel():
        return wrap(ops.aten.new_zeros.default(stretched(t, level), [level.size, *index._sizes]), level)
    found = op(_raised(t, level), wrap_dim(dim, t.ndim, "gather") + 1, _raised(index, level), **kwargs)
    return wrap(found if index._sizes else ops.aten.view.default(found, [level.size]), level)


@rule("scatter.src", "scatter_add", "scatter_reduce.two")
def _scatter(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    t, dim, index, source, *rest = args
    if not index.numel():
        return wrap(ops.aten.clone.default(stretched(t, level), memory_format=contiguous_format), level)
    axis = wrap_dim(dim, t.ndim, "scatter") + 1
    found = op(_raised(t, level), axis, _raised(index, level), _raised(source, level), *rest, **kwargs)
    return wrap(found if t._sizes else ops.aten.view.default(found, [level.size]), level)


@rule("masked_scatter")
def _masked_scatter(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    values = bound(op, args, kwargs)
    t, mask, source = values["self"], values["mask"], values["source"]
    sizes = broadcast_shapes("masked_scatter", t._sizes, mask._sizes)
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


@rule("embedding")
def _embedding(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    _validate(op, args, kwargs)
    values = bound(op, args, kwargs)
    weight, indices = values["weight"], values["indices"]
    if not is_at(weight, level):
        return wrap(call(op, {**values, "indices": front(indices, level)}), level)
    aten = ops.aten
    row = aten.reshape.default(indices, [math.prod(indices._sizes)])
    found = aten.index_select.default(weight, 0, row)
    return aten.view.default(found, [*indices._sizes, weight._sizes[1]])


@rule("nonzero", "masked_select")
def _unknown_size(op: OpOverload, level: Level, args: Args, kwargs: Kwargs) -> Any:
    raise DataDependentError(
        f"vmap: {op.opname}: the size of the result differs between examples",
        got=describe(list(tensors_in([*args, *kwargs.values()]))),
        hint="use opweave.where(mask, x, other), which keeps the size",
    )
