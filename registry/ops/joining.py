"""Several tensors together: side by side, over one grid, in a common shape."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import bound, check_example, stretched, wrap
from opweave.registry.device import cpu
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.memory_format import MemoryFormat, contiguous_format, format_strides, suggested_format
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.copies import assign
from opweave.registry.ops.creation import tensor
from opweave.registry.ops.kinds import Pieces, composite, concat as concatenating, handler
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import broadcast_shapes, common_device, result_type
from opweave.registry.spec import TensorSpec
from opweave.registry.strided import Size, size_of, wrap_dim
from opweave.registry.tape import Tape
from opweave.registry.tensor import Tensor, allocate, allocate_like, describe

_ALL = dtypes.COMPUTED
aten = ops.aten


# ---- side by side --------------------------------------------------------------------------------------------------


def _is_legacy_empty(t: Tensor) -> bool:
    # PyTorch lets a 1-d tensor of size 0 go with anything.
    return t._sizes == (0,)


def _joined(tensors: Sequence[Tensor], dim: int) -> tuple[int, list[Tensor]]:
    """(dimension, tensors that count), after checking that they fit."""
    if not tensors:
        raise ShapeError("cat: expected at least one tensor", got="[]", hint="test for an empty list before")
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
                hint="unsqueeze what lacks a dimension; stack joins along a new one",
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
    # A tensor (0,) goes with any.
    return Pieces(tensors, wrap_dim(dim, max(t.ndim for t in tensors), "cat"))


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
    rest = first[:axis] + first[axis + 1 :]
    if any(len(shape) != len(first) or shape[:axis] + shape[axis + 1 :] != rest for shape in shapes):
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


@cat.replaying
def _replay_cat(tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
    tensors, dim = cat.bind(args, kwargs)
    axis, counted = _joined(tensors, dim)
    made, start = tape.made(result), 0
    for t in counted:
        source = tape.value(t)
        target = made.part([start if d == axis else 0 for d in range(len(made.sizes))], source.sizes)
        tape.map("copied" if source.dtype == made.dtype else "cast", [source], target)
        start += source.sizes[axis]


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


@composite("aten::concat(Tensor[] tensors, int dim=0) -> Tensor", outs="out")
def concat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    return ops.aten.cat.default(tensors, dim)


@composite("aten::stack(Tensor[] tensors, int dim=0) -> Tensor", explicit=True, autocast={"cpu": "promote"}, outs="out")
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    if not tensors:
        raise ShapeError("stack: expected at least one tensor", got="[]", hint="test for an empty list before")
    if any(t._sizes != tensors[0]._sizes for t in tensors):
        raise ShapeError(
            "stack: all tensors must have the same sizes",
            got=describe(tensors),
            hint="pad them to one size; cat joins along a dimension that they have",
        )
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


# ---- in a common shape ---------------------------------------------------------------------------------------------


@composite("aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]")
def broadcast_tensors(tensors: list[Tensor]) -> list[Tensor]:
    """The tensors as views of their common shape."""
    sizes: tuple[int, ...] = ()
    for t in tensors:
        sizes = broadcast_shapes("broadcast_tensors", sizes, t._sizes)
    return [aten.expand.default(t, list(sizes)) for t in tensors]


@composite("aten::atleast_1d(Tensor self) -> Tensor", own_tags="maybe_aliasing_or_mutating")
def atleast_1d(self: Tensor) -> Tensor:
    """A number as a vector of one."""
    return self if self.ndim else aten.reshape.default(self, [1])


@composite("aten::atleast_2d(Tensor self) -> Tensor", own_tags="maybe_aliasing_or_mutating")
def atleast_2d(self: Tensor) -> Tensor:
    """A vector as a row, a number as a matrix of one."""
    return self if self.ndim > 1 else aten.unsqueeze.default(atleast_1d.body(self), 0)


@composite("aten::atleast_3d(Tensor self) -> Tensor", own_tags="maybe_aliasing_or_mutating")
def atleast_3d(self: Tensor) -> Tensor:
    """With a last dimension of 1 for a matrix, a first one too for a vector."""
    return self if self.ndim > 2 else aten.unsqueeze.default(atleast_2d.body(self), -1)


def _each(schema: str, op: Any) -> None:
    @composite(schema)
    def body(tensors: list[Tensor]) -> list[Tensor]:
        return [op(t) for t in tensors]


for _count in (1, 2, 3):
    _op = getattr(aten, f"atleast_{_count}d").default
    _each(f"aten::atleast_{_count}d.Sequence(Tensor[] tensors) -> Tensor[]", _op)


# ---- blocks and grids ----------------------------------------------------------------------------------------------


@composite("aten::column_stack(Tensor[] tensors) -> Tensor", outs="out")
def column_stack(tensors: list[Tensor]) -> Tensor:
    """Side by side, vectors as columns."""
    return aten.hstack.default([t if t.ndim > 1 else aten.reshape.default(t, [-1, 1]) for t in tensors])


@composite("aten::row_stack(Tensor[] tensors) -> Tensor", outs="out")
def row_stack(tensors: list[Tensor]) -> Tensor:
    """One above the other, vectors as rows."""
    return aten.vstack.default(tensors)


@composite("aten::block_diag(Tensor[] tensors) -> Tensor")
def block_diag(tensors: list[Tensor]) -> Tensor:
    """Matrices along the diagonal, 0 elsewhere."""
    if any(t.ndim > 2 for t in tensors):
        raise ShapeError("block_diag: expected two dimensions at most", got=describe(tensors))
    blocks = [atleast_2d.body(t) for t in tensors]
    if not blocks:
        return aten.empty.memory_format([1, 0])
    total, before, rows = sum(t._sizes[1] for t in blocks), 0, []
    for t in blocks:
        rows.append(aten.constant_pad_nd.default(t, [before, total - before - t._sizes[1]]))
        before += t._sizes[1]
    return aten.cat.default(rows)


@composite("aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]")
def meshgrid_indexing(tensors: list[Tensor], *, indexing: str) -> list[Tensor]:
    """Views of each vector over the grid of all; `"xy"` swaps the first two dimensions."""
    if indexing not in ("ij", "xy"):
        raise ShapeError("meshgrid: indexing is 'ij' or 'xy'", got=repr(indexing))
    if not tensors or any(t.ndim > 1 for t in tensors):
        raise ShapeError("meshgrid: expected vectors or numbers", got=describe(tensors))
    if len({t._dtype for t in tensors}) > 1:
        raise DTypeError("meshgrid: expected one dtype", got=describe(tensors))
    lines = list(tensors)
    swap = indexing == "xy" and len(lines) > 1
    if swap:
        lines[0], lines[1] = lines[1], lines[0]
    sizes = [t.numel() for t in lines]
    found = [
        aten.expand.default(aten.view.default(t, [n if d == k else 1 for k in range(len(lines))]), sizes)
        for d, (t, n) in enumerate(zip(lines, sizes, strict=True))
    ]
    if swap:
        found[0], found[1] = found[1], found[0]
    return found


@composite("aten::meshgrid(Tensor[] tensors) -> Tensor[]")
def meshgrid(tensors: list[Tensor]) -> list[Tensor]:
    return meshgrid_indexing.body(tensors, indexing="ij")


@composite("aten::cartesian_prod(Tensor[] tensors) -> Tensor", own_tags="maybe_aliasing_or_mutating")
def cartesian_prod(tensors: list[Tensor]) -> Tensor:
    """All choices of an element of each vector, a row for each."""
    if any(t.ndim != 1 for t in tensors):
        raise ShapeError("cartesian_prod: expected vectors", got=describe(tensors))
    if len(tensors) == 1:
        return tensors[0]
    return aten.stack.default([aten.flatten.using_ints(t) for t in meshgrid.body(tensors)], 1)


@composite("aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor")
def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements, in their order, a row for each."""
    if self.ndim != 1 or r < 0:
        raise ShapeError("combinations: expected a vector, and r from 0 up", got=f"{describe(self)}, r={r}")
    if r == 0:
        return aten.new_empty.default(self, [0])
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(range(int(self._sizes[0])), r)), np.int64).reshape(-1, r)
    return aten.index.Tensor(self, [tensor(places, device=self._device)])


# ---- functions of the package --------------------------------------------------------------------------------------


def _listed(tensors: tuple[Any, ...]) -> list[Tensor]:
    """Tensors written out, or in one list."""
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)


def _all_or_one(packet: Any, document: str) -> Callable[..., Any]:
    def function(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return packet.default(tensors[0])
        return tuple(packet.default(t) for t in _listed(tensors))

    function.__name__ = packet.opname
    function.__doc__ = document
    return function


def _written_out(packet: Any, document: str) -> Callable[..., Tensor]:
    def function(*tensors: Any) -> Tensor:
        return packet.default(_listed(tensors))

    function.__name__ = packet.opname
    function.__doc__ = document
    return function


def meshgrid_function(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Views of each vector over the grid of all; `"xy"` swaps the first two dimensions.

    Examples
    --------
    >>> opweave.meshgrid(opweave.tensor([1, 2]), opweave.tensor([3, 4]))
    (tensor([[1, 1],
            [2, 2]]), tensor([[3, 4],
            [3, 4]]))
    """
    return tuple(aten.meshgrid.indexing(_listed(tensors), indexing=indexing))


def broadcast_function(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors as views of their common shape.

    Examples
    --------
    >>> opweave.broadcast_tensors(opweave.tensor([[1], [2]]), opweave.tensor([3]))
    (tensor([[1],
            [2]]), tensor([[3],
            [3]]))
    """
    return tuple(aten.broadcast_tensors.default(_listed(tensors)))


def broadcast_shapes_function(*shapes: Any) -> Size:
    """The shape that tensors of these shapes have together; an int is a shape of one size.

    Examples
    --------
    >>> opweave.broadcast_shapes((2, 1), (3,))
    opweave.Size([2, 3])
    """
    sizes: tuple[int, ...] = ()
    for shape in shapes:
        sizes = broadcast_shapes("broadcast_shapes", sizes, (shape,) if isinstance(shape, int) else tuple(shape))
    return size_of(sizes)


#: What takes its tensors written out.
_ATLEAST = {
    "atleast_1d": """A tensor with a dimension at least, or a tuple of such for several tensors.

    Examples
    --------
    >>> opweave.atleast_1d(opweave.tensor(1.0))
    tensor([1.])
    """,
    "atleast_2d": """A tensor as a row where it has fewer than two dimensions, or a tuple of such for several tensors.

    Examples
    --------
    >>> opweave.atleast_2d(opweave.tensor([1.0, 2.0]))
    tensor([[1., 2.]])
    """,
    "atleast_3d": """A tensor with three dimensions at least, or a tuple of such for several tensors.

    Examples
    --------
    >>> opweave.atleast_3d(opweave.tensor([1.0, 2.0])).shape
    opweave.Size([1, 2, 1])
    """,
}
_OF_SEVERAL = {
    "block_diag": """Matrices, given one by one, along the diagonal of a larger one that is 0 elsewhere.

    Examples
    --------
    >>> opweave.block_diag(opweave.tensor([[1, 2]]), opweave.tensor([[3]]))
    tensor([[1, 2, 0],
            [0, 0, 3]])
    """,
    "cartesian_prod": """All choices of an element from each of the vectors, a row for each.

    Examples
    --------
    >>> opweave.cartesian_prod(opweave.tensor([1, 2]), opweave.tensor([3]))
    tensor([[1, 3],
            [2, 3]])
    """,
}

FUNCTIONS: dict[str, Any] = {
    **{name: _all_or_one(getattr(aten, name), text) for name, text in _ATLEAST.items()},
    **{name: _written_out(getattr(aten, name), text) for name, text in _OF_SEVERAL.items()},
    "meshgrid": meshgrid_function, "broadcast_tensors": broadcast_function,
    "broadcast_shapes": broadcast_shapes_function,
}  # fmt: skip


# ---- samples -------------------------------------------------------------------------------------------------------


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


for _decl in (cat, concat, stack, hstack, vstack, dstack):
    _decl.sample_dtypes = _ALL


@broadcast_tensors.with_samples
def _(make: Make) -> Samples:
    yield ([make(3, 1), make(4), make()],), {}
