"""Reductions: a combine over axes, and a finish after."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np

from opweave.registry import dtypes, memory
from opweave.registry.batched import Level
from opweave.registry.batching import bound, call, flat, front, wrap
from opweave.registry.device import cpu
from opweave.registry.dtypes import DType
from opweave.registry.errors import ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.kinds.base import IGNORED, Decl, Maker, handler, reset_errors, set_errors
from opweave.registry.ops.kinds.loops import Call, Demand, Index, Operand, Point, Space
from opweave.registry.ops.kinds.reduced_rows import combined_by_rows, write_rows
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.ops.kinds.ufunc_plan import trace
from opweave.registry.ops.kinds.writing import with_traits
from opweave.registry.promote import not_computed
from opweave.registry.spec import contiguous, row_major
from opweave.registry.strided import wrap_dim
from opweave.registry.tape import NotTaped, Tape, Value
from opweave.registry.tensor import Tensor, describe, wrap_array

#: The combines, with what an empty axis gives (None: an error).
COMBINES: dict[str, Any] = {
    "sum": 0, "prod": 1, "max": None, "min": None, "any": False, "all": True, "argmax": None, "argmin": None,
}  # fmt: skip


def normalize_axes(dim: Any, ndim: int, op: str) -> tuple[int, ...]:
    """Axes as sorted non-negative numbers; None or an empty list means all.

    Raises
    ------
    OutOfRangeError, ShapeError
        For a dimension that is not there, or is named twice.
    """
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return tuple(range(ndim))
    axes = [wrap_dim(d, ndim, op) for d in (dim if isinstance(dim, (list, tuple)) else [dim])]
    if len(set(axes)) != len(axes):
        raise ShapeError(
            f"{op}: a dimension appears twice", got=f"dim={list(dim)}", hint="name each dimension once; -1 is the last"
        )
    return () if not ndim else tuple(sorted(axes))


def reduced_sizes(sizes: Sequence[int], axes: Sequence[int], keepdim: bool) -> tuple[int, ...]:
    """Sizes after reducing over the axes."""
    if keepdim:
        return tuple(1 if d in axes else size for d, size in enumerate(sizes))
    return tuple(size for d, size in enumerate(sizes) if d not in axes)


# Calls that an op remembers.
_MOST_PLANS = 256
#: Rows that are added up before they go to the sums of such, where there are many.
_BLOCK = 64


class _Plan(NamedTuple):
    """What a call with tensors of one shape leads to."""

    axes: tuple[int, ...]
    compute: DType
    result: DType
    sizes: tuple[int, ...]
    elements: int


def _arithmetic(types: Callable[..., tuple[DType, DType]]) -> Callable[..., tuple[DType, DType]]:
    def checked(source: DType, /, **attributes: Any) -> tuple[DType, DType]:
        if source.is_stored:
            raise not_computed(source)
        return types(source, **attributes)

    return checked


class ReductionDecl(Decl):
    """`finalize(combine over axes of x)`.

    The schema has `self`, `dim` (missing or None: all), `keepdim` (missing: False) and attributes.

    Attributes
    ----------
    combine : str
        A key of `COMBINES`.
    finalize : callable or None
        `finalize(k, accumulated, count)` of a value of the compute type.
    """

    kind = "reduction"
    tag = "reduction"
    allocates = True
    reduces = True
    spans = True
    #: Of one over all elements, the same over some dimensions.
    by_dims: ReductionDecl | None = None
    #: Whether an empty list of dimensions means all of them.
    empty_is_all = True

    def __init__(
        self, schema: str, body: Callable[..., Any], combine: str, types: Callable[..., tuple[DType, DType]],
        finalize: Callable[..., Any] | None,
    ):  # fmt: skip
        super().__init__(schema, body)
        self.combine = combine
        self.types = types if combine in ("any", "all") else _arithmetic(types)
        self.finalize = finalize
        self._plans: dict[Any, _Plan] = {}
        self._run_by(self.eager)

    def params(
        self, args: Sequence[Any], kwargs: dict[str, Any], ndim: int
    ) -> tuple[Any, tuple[int, ...], bool, dict[str, Any]]:
        """(input, axes, keepdim, attributes) of a call; the input may be anything, it is not looked at."""
        names = [a.name for a in self.op._schema.arguments]
        bound = dict(zip(names, self.bind(args, kwargs), strict=True))
        source = bound.pop("self")
        dim = bound.pop("dim", None)
        nothing = isinstance(dim, (list, tuple)) and not dim and not self.empty_is_all
        axes = () if nothing else normalize_axes(dim, ndim, self.op.opname)
        return source, axes, bool(bound.pop("keepdim", False)), bound

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        source = args[0] if args else kwargs["self"]
        source, axes, keepdim, attributes = self.params(args, kwargs, source.ndim)
        self._check_nonempty(source, axes)
        result = self.types(source._dtype, **attributes)[1]
        return make(contiguous(reduced_sizes(source._sizes, axes, keepdim), result, source._device))

    def _check_nonempty(self, source: Tensor, axes: tuple[int, ...]) -> None:
        if COMBINES[self.combine] is None and any(source._sizes[d] == 0 for d in axes):
            raise ShapeError(
                f"{self.op.opname}: cannot reduce over an empty dimension, it has no identity",
                got=describe(source),
                hint="test x.numel() before",
            )

    def eager(self, *args: Any, **kwargs: Any) -> Tensor:
        """Evaluate on the input's array module."""
        source = args[0]
        axes, compute, result, sizes, count = self._planned(args, kwargs)
        xp = np if source._device is cpu else source._device.xp
        k = handler(xp)
        array = source._array
        token = set_errors(IGNORED)
        try:
            reduced = None
            if xp is np and compute is dtypes.float32:
                reduced = combined_by_rows(self.combine, array, axes)
            if reduced is None:
                if array.dtype != compute.numpy:
                    array = k.cast(array, compute)
                reduced = _combine(xp, self.combine, array, axes)
            if self.finalize is not None:
                reduced = self.finalize(k, reduced, count)
            if type(reduced) is not np.ndarray:
                reduced = xp.asarray(reduced)
            if reduced.shape != sizes:
                reduced = reduced.reshape(sizes)
            if reduced.dtype != result.numpy:
                reduced = k.cast(reduced, result)
        finally:
            reset_errors(token)
        if not reduced.flags.c_contiguous:
            reduced = xp.ascontiguousarray(reduced).reshape(sizes)
        return wrap_array(reduced, sizes, row_major(sizes), result, source._device)

    def replay(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
        axes, compute, found, _, count = self._planned(args, kwargs)
        function = _UFUNCS.get(self.combine)
        if compute.numpy is None or not count or not result.numel():
            raise NotTaped(str(self.op))
        given = tape.value(args[0])
        # What is computed in another type is converted in the end.
        made = tape.made(result) if found is compute else tape.scratch(result._sizes, compute.numpy)
        if compute is dtypes.float32 and write_rows(tape, self.combine, given, axes, made):
            self._write_rest(tape, made, result, count)
            return
        source = tape.converted(given, compute.numpy)
        if function is None:
            tape.find(self.combine, source, axes, tape.made(result))
            return
        start = None if COMBINES[self.combine] is None else COMBINES[self.combine]
        if not axes:
            tape.map("copied", [source], made)
        elif self.combine == "sum" and _has_two_levels(source.dtype, source.sizes, axes):
            _write_two_levels(tape, source, axes, made)
        else:
            tape.fold(function, source, axes, made, start)
        self._write_rest(tape, made, result, count)

    def _write_rest(self, tape: Tape, made: Value, result: Tensor, count: int) -> None:
        """What is done with what the elements came to."""
        if self.finalize is not None:
            finish = self.finalize
            steps = trace(lambda value: finish(handler(np), value, count), [made.dtype])
            if steps is None or steps.dtype != made.dtype:
                raise NotTaped(str(self.op))
            steps.write(tape, [made], made)
        if made.dtype != result._dtype.numpy:
            tape.map("cast", [made], tape.made(result))

    def _planned(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Plan:
        """What follows from a call's arguments but not from the elements; remembered."""
        source = args[0]
        key: tuple[Any, ...] | None = (source._sizes, source._dtype, dtypes.get_default_dtype())
        for value in (*args[1:], *kwargs.items()) if kwargs else args[1:]:
            key = (*key, tuple(value) if type(value) is list else value, type(value))
        try:
            found = self._plans.get(key)
        except TypeError:  # unhashable
            key = found = None
        if found is None:
            source, axes, keepdim, attributes = self.params(args, kwargs, source.ndim)
            self._check_nonempty(source, axes)
            compute, result = self.types(source._dtype, **attributes)
            count = math.prod(source._sizes[d] for d in axes)
            found = _Plan(axes, compute, result, reduced_sizes(source._sizes, axes, keepdim), count)
            if len(self._plans) > _MOST_PLANS:
                self._plans.clear()
            if key is not None:
                self._plans[key] = found
        return found

    def batch(self, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Over the same dimensions of the whole batch; over all of an example's, where all are meant."""
        op, values = self.op, bound(self.op, args, kwargs)
        t = values["self"]
        whole, rank = front(t, level), t.ndim
        if "dim" not in values:
            return self._batch_all(level, args, kwargs)
        dim, one = values["dim"], self._takes_one_dim
        axes = normalize_axes(dim, rank, op.opname)
        if isinstance(dim, (list, tuple)) and not dim and not self.empty_is_all:
            return wrap(call(op, {**values, "self": whole, "dim": []}), level)
        if not rank:
            return wrap(call(op, {**values, "self": flat(whole), "dim": 1 if one else [1], "keepdim": False}), level)
        if one and dim is None:
            found = call(op, {**values, "self": flat(whole), "dim": 1, "keepdim": False})
            if values["keepdim"]:
                found = ops.aten.view.default(found, [whole._sizes[0], *(1,) * rank])
            return wrap(found, level)
        shifted = axes[0] + 1 if one else [d + 1 for d in axes]
        return wrap(call(op, {**values, "self": whole, "dim": shifted}), level)

    @property
    def _takes_one_dim(self) -> bool:
        return not next(a.type.is_list for a in self.op._schema.arguments if a.name == "dim")

    def _batch_all(self, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """All elements of each example, by the form of the op that takes dimensions."""
        if self.by_dims is None:
            return super().batch(level, args, kwargs)
        values = bound(self.op, args, kwargs)
        t, one = values.pop("self"), self.by_dims._takes_one_dim
        whole = front(t, level)
        if one or not t.ndim:
            whole, dims = flat(whole), 1 if one else [1]
        else:
            dims = list(range(1, t.ndim + 1))
        return wrap(self.by_dims.op(whole, dims, **values), level)

    # ---- in a kernel -------------------------------------------------------------------------------------------------

    def reduced_dims(self, call: Call) -> tuple[int, ...]:
        return self.params(call.args, call.kwargs, call.operands[0].ndim)[1]

    def objection(self, call: Call) -> str:
        sizes = call.operands[0]._sizes
        if COMBINES[self.combine] is not None or all(type(size) is int for size in sizes):
            return ""
        # Only a call finds out that there is no element, and refuses it.
        may_be_empty = any(not call.is_known(sizes[d] > 0) for d in self.reduced_dims(call))
        return "the reduced dimensions may be empty" if may_be_empty else ""

    def demands(self, call: Call, operand: Operand, demand: Demand, space: Space) -> Iterable[Demand]:
        index = space.source_of(call)
        return [Demand(index, space.runs_over(operand.sizes, Demand(index, demand.exact)))]

    def admit(self, call: Call, demands: Sequence[Demand], space: Space) -> str:
        """The first reduction fixes the reduced axes."""
        if any(demand.guards for demand in demands):
            return "one of several pieces"
        if len(demands) != 1:
            return "reduction needed at several indices"
        (demand,) = demands
        used = demand.axes
        if used & frozenset(space.reduced):
            return "reduces along another axis"
        sizes = call.operands[0].sizes
        _, dims, keepdim, _ = self.params(call.args, call.kwargs, len(sizes))
        extent = [sizes[d] for d in dims if sizes[d] != 1]
        count = math.prod(extent)
        missing = [axis for axis in space.kept if axis not in used]
        if count != 1:
            if space.reduced:
                if missing:
                    return "reduction is broadcast along a kept axis"
                if math.prod(axis.size for axis in space.reduced) != count:
                    return "reduces over another number of elements"
            elif missing:
                if math.prod(axis.size for axis in missing) != count:
                    return "iteration spaces differ"
                space.reduced = missing
                space.kept = [axis for axis in space.kept if axis in used]
            else:
                space.add_reduced(extent)
        inner = iter(space.reduced_index(extent) if count != 1 else ())
        outer = iter(part for d, part in enumerate(demand.index) if not (keepdim and d in dims))
        zero = call.indices.ZERO
        full = tuple((zero if sizes[d] == 1 else next(inner)) if d in dims else next(outer) for d in range(len(sizes)))
        space.join(call, demands, full)
        if space.runs_over(sizes, Demand(full, False)):
            space.frames.setdefault(sizes, full)
        space.frames.setdefault(call.result.sizes, demand.index)
        return ""

    def place(self, call: Call, space: Space) -> tuple[Index, ...] | None:
        """Beside a result that has the shape of the operand."""
        sizes = call.operands[0].sizes
        whole = space.frames.get(sizes)
        if whole is None or space.reduced:
            return None
        _, dims, keepdim, _ = self.params(call.args, call.kwargs, len(sizes))
        zero = call.indices.ZERO
        return tuple(zero if d in dims else part for d, part in enumerate(whole) if keepdim or d not in dims)

    def evaluate(self, call: Call, point: Point) -> Any:
        k, source, index = point.k, call.operands[0], point.space.source_of(call)
        _, dims, _, attributes = self.params(call.args, call.kwargs, source.ndim)
        compute, result = self.types(source._dtype, **attributes)
        along = [(index[d], source.sizes[d]) for d in dims]
        found = point.reduce(self.combine, k.cast(point.value(source, point.demand.at(index)), compute), along)
        if self.finalize is not None:
            found = self.finalize(k, found, math.prod(size for _, size in along))
        return k.cast(found, result)


def _combine(xp: Any, combine: str, array: Any, axes: tuple[int, ...]) -> Any:
    if combine in ("argmax", "argmin"):
        if len(axes) == 1:
            return getattr(array, combine)(axis=axes[0])
        lead = array.transpose([*(d for d in range(array.ndim) if d not in axes), *axes])
        outer = array.ndim - len(axes)
        lead = lead.reshape(*lead.shape[:outer], math.prod(lead.shape[outer:]))
        return getattr(xp, combine)(lead, axis=-1)
    if not axes:
        return array.copy()
    if combine == "sum":
        return _sum(xp, array, axes)
    if combine == "prod":
        return array.prod(axis=axes, dtype=array.dtype)
    if xp is np:  # as the method does, two calls deeper
        return _REDUCE[combine](array, axes)
    return getattr(array, combine)(axis=axes)


#: What NumPy's methods call.
_REDUCE = {
    "max": np.maximum.reduce, "min": np.minimum.reduce, "any": np.logical_or.reduce, "all": np.logical_and.reduce,
}  # fmt: skip


def _sum(xp: Any, array: Any, axes: tuple[int, ...]) -> Any:
    """Sum in the array's type; long outer axes in two levels, since NumPy adds those one by one and errors add up."""
    add: Any = np.add.reduce if xp is np else xp.sum
    if _has_two_levels(array.dtype, array.shape, axes):
        for axis in axes:
            size = array.shape[axis]
            if _is_long(array.shape, axis):
                whole = size // _BLOCK * _BLOCK
                split = array[(slice(None),) * axis + (slice(0, whole),)]
                split = split.reshape(*array.shape[:axis], whole // _BLOCK, _BLOCK, *array.shape[axis + 1 :])
                rest = array[(slice(None),) * axis + (slice(whole, None),)]
                empty = memory.empty if xp is np else xp.empty
                partial = empty((*array.shape[:axis], whole // _BLOCK + 1, *array.shape[axis + 1 :]), array.dtype)
                add(split, axis + 1, None, partial[(slice(None),) * axis + (slice(0, -1),)])
                add(rest, axis, None, partial[(slice(None),) * axis + (-1,)])
                array = partial
    return add(array, axes, array.dtype)


def _write_two_levels(tape: Tape, source: Value, axes: tuple[int, ...], out: Value) -> None:
    """Write down what `_combine` does with the rows of a long first dimension."""
    axis = next((d for d, size in enumerate(source.sizes) if size != 1), 0)
    if axis not in axes or any(_is_long(source.sizes, d) for d in axes if d != axis):
        raise NotTaped("sums in two levels")
    whole, rest = divmod(source.sizes[axis], _BLOCK)
    behind, step = source.sizes[axis + 1 :], source.strides[axis]
    further = source.strides[axis + 1 :]
    partial = tape.scratch((whole + 1, *behind), source.dtype)
    split = source._replace(sizes=(whole, _BLOCK, *behind), strides=(_BLOCK * step, step, *further))
    tape.fold(np.add, split, (1,), partial._replace(sizes=(whole, *behind)), 0)
    last = partial.part([whole, *[0] * len(behind)], (1, *behind))._replace(sizes=behind, strides=partial.strides[1:])
    begin = [0] * len(source.sizes)
    begin[axis] = whole * _BLOCK
    left = source.part(begin, (rest, *behind))._replace(sizes=(rest, *behind), strides=(step, *further))
    tape.fold(np.add, left, (0,), last, 0)
    tape.fold(np.add, partial, tuple([d - axis for d in axes if d >= axis]), out, 0)


def _has_two_levels(dtype: np.dtype[Any], sizes: Sequence[int], axes: Sequence[int]) -> bool:
    return dtype.kind == "f" and any(_is_long(sizes, axis) for axis in axes)


def _is_long(sizes: Sequence[int], axis: int) -> bool:
    return axis != len(sizes) - 1 and sizes[axis] >= 256


#: Combines as NumPy's loops.
_UFUNCS = {
    "sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum, "any": np.logical_or,
    "all": np.logical_and,
}  # fmt: skip


def reduction(
    schema: str, *, combine: str, types: Callable[..., tuple[DType, DType]],
    finalize: Callable[..., Any] | None = None, **traits: Unpack[Traits]
) -> Callable[[Callable[..., Any]], ReductionDecl]:  # fmt: skip
    """Declare a reduction; the decorated function carries its docstring.

    Parameters
    ----------
    combine : str
        A key of `COMBINES`.
    types : callable
        `types(dtype, **attributes) -> (compute type, result type)`.
    finalize : callable, optional
        See `ReductionDecl`.
    """

    def declare(body: Callable[..., Any]) -> ReductionDecl:
        return with_traits(ReductionDecl(schema, body, combine, types, finalize), **traits)

    return declare
