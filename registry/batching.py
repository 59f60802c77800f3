"""Taking batched tensors apart, and putting what ops give for whole batches together again.

A rule for batched tensors (`Kind.batch`, or `@op.batching` beside an op) takes the arguments apart at the innermost
level that occurs among them, calls ops on the whole batches (which may be batched at other levels, and are then handled
in turn), and puts the results together. What has no rule is run for one example after the other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from opweave.registry.batched import BatchedTensor, Level, make_batched, to_front
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError, warn_user
from opweave.registry.memory_format import contiguous_format, dims_in_memory
from opweave.registry.nested import map_leaves
from opweave.registry.op import OpOverload, ops
from opweave.registry.promote import can_cast
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, describe

#: `rule(op, level, args, kwargs)` for one op; arguments are as the call gave them, batched tensors among them.
Rule = Callable[[OpOverload, Level, tuple[Any, ...], dict[str, Any]], Any]


def is_at(t: Any, level: Level) -> bool:
    """Whether a value is a tensor batched at the level, which no inner one hides."""
    return isinstance(t, BatchedTensor) and t.level == level


def front(t: Any, level: Level) -> Any:
    """The whole batch, examples first; anything else as it is."""
    return to_front(t.value, t.bdim) if isinstance(t, BatchedTensor) and t.level == level else t


def stretched(t: Tensor, level: Level) -> Tensor:
    """The whole batch, examples first; an unbatched tensor repeated for each example."""
    if is_at(t, level):
        return front(t, level)
    return ops.aten.expand.default(t, [level.size, *t._sizes])


def ranked(t: Any, level: Level, rank: int) -> Any:
    """`front` with dimensions of size 1 behind the examples, so that an example has `rank` dimensions."""
    value = front(t, level)
    if value is not t:
        for _ in range(rank - t.ndim):
            value = ops.aten.unsqueeze.default(value, 1)
    return value


def wrap(result: Any, level: Level, bdim: int = 0) -> Any:
    """Results, lists of them too, as batched tensors."""
    if isinstance(result, Tensor):
        return make_batched(result, bdim, level)
    if isinstance(result, (tuple, list)):
        return type(result)(wrap(item, level, bdim) for item in result)
    return result


def bound(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments by name, defaults filled in."""
    positional, keyword = op._schema.bind(args, kwargs)
    return dict(zip([a.name for a in op._schema.arguments], [*positional, *keyword.values()], strict=True))


def call(op: OpOverload, values: dict[str, Any]) -> Any:
    """Call an op with arguments by name."""
    arguments = op._schema.arguments
    return op(
        *[values[a.name] for a in arguments if not a.kwarg_only],
        **{a.name: values[a.name] for a in arguments if a.kwarg_only},
    )


def refuse_write(op: OpOverload, t: Any, level: Level) -> None:
    """Refuse to write what differs between examples to a tensor that they share.

    Raises
    ------
    UnsupportedError
        If the tensor is not batched at the level.
    """
    if not is_at(t, level):
        raise UnsupportedError(
            f"vmap: {op} writes a batched value to a tensor that all examples share", got=describe(t),
            hint="use the functional form, or make the tensor inside from a batched one: x.new_zeros(...)",
        )  # fmt: skip


def channels_last(op: OpOverload, level: Level, values: dict[str, Any], name: str, example: Tensor) -> Any:
    """Call an op on a whole batch so that each example lies with its channels innermost."""
    order = [0, *(d + 1 for d in dims_in_memory(op.opname, example._sizes, values["memory_format"]))]
    values[name] = ops.aten.permute.default(values[name], order)
    values["memory_format"] = contiguous_format
    return wrap(ops.aten.permute.default(call(op, values), [order.index(d) for d in range(len(order))]), level)


def as_view_of(base: BatchedTensor, whole: Tensor, level: Level, bdim: int = 0) -> BatchedTensor:
    """A view of a batched tensor from the view of its batch: for autograd one is a view of the other, too."""
    made = make_batched(whole, bdim, level)
    made._view_of = base if base._view_of is None else base._view_of
    base._storage.note_view(made)
    return made


def flat(whole: Tensor) -> Tensor:
    """The elements of each example in a row."""
    count = 1
    for size in whole._sizes[1:]:
        count *= size
    return ops.aten.reshape.default(whole, [whole._sizes[0], count])


def check_result(op: OpOverload, target: Tensor, result: Tensor) -> None:
    if result._sizes != target._sizes:
        raise ShapeError(
            f"{op.opname}: the result's shape {list(result._sizes)} does not fit the tensor written to",
            got=describe(target), hint="pass one of the right shape; in place no tensor is resized",
        )  # fmt: skip
    if not can_cast(result._dtype, target._dtype):
        raise DTypeError(
            f"{op.opname}: result type {result._dtype.name} cannot be written to {target._dtype.name}",
            got=describe(target), hint="use the functional form, or convert the tensor first",
        )  # fmt: skip


def write_each(op: OpOverload, targets: list[Tensor], results: list[Tensor]) -> Any:
    """Results of the functional form, copied to what an op writes to."""
    for target, result in zip(targets, results, strict=True):
        check_result(op, target, result)
    for target, result in zip(targets, results, strict=True):
        ops.aten.copy_.default(target, result)
    return targets[0] if len(targets) == 1 else tuple(targets)


# ---- what many rules do --------------------------------------------------------------------------------------------


def check_example(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise what the op would raise on one example, so that messages show the shapes that the user sees."""
    op.decl.spec(*op.decl.bind(args, kwargs))


def raised(t: Tensor, level: Level) -> Tensor:
    """The whole batch, a 0-d example as a vector of one element."""
    whole = stretched(t, level)
    return whole if t._sizes else ops.aten.unsqueeze.default(whole, 1)


def joined(t: Tensor, level: Level) -> Tensor:
    """Examples and the first dimension as one."""
    whole = stretched(t, level)
    return ops.aten.reshape.default(whole, [level.size * t._sizes[0], *t._sizes[1:]])


def parted(t: Tensor, level: Level) -> Tensor:
    """Examples and the first dimension, which are one, as two."""
    rows = t._sizes[0] // level.size if level.size else 0
    return ops.aten.view.default(t, [level.size, rows, *t._sizes[1:]])


def along(*tensors: str, dims: str = "dim") -> Rule:
    """The rule of ops that do the same along a dimension of each tensor; the sizes of the others are kept."""

    def shifted(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
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


# ---- one example after the other -----------------------------------------------------------------------------------

_warned: set[str] = set()


def one_by_one(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the op for each example and stack the results; says so once for each op.

    Raises
    ------
    UnsupportedError
        If the op returns a view, writes to a tensor that all examples share, or there is no example at all.
    """
    if op.is_view:
        raise UnsupportedError(
            f"vmap: {op} has no batching rule, and returns a view, which cannot be stacked",
            hint="return a new tensor, or use other view ops",
        )  # fmt: skip
    if not level.size:
        raise UnsupportedError(
            f"vmap: {op} has no batching rule, and there is no example to run it for", hint=_register(op)
        )
    values = bound(op, args, kwargs)
    for name in op.mutated_args:
        for t in tensors_in([values[name]]):
            refuse_write(op, t, level)
    if op.name not in _warned:
        _warned.add(op.name)
        warn_user(
            f"vmap: {op} has no batching rule and is run for one example after the other, which is slow; "
            f"{_register(op)}"
        )
    results = []
    for i in range(level.size):
        picked, named = map_leaves((args, kwargs), functools.partial(_example, level=level, index=i))
        results.append(op(*picked, **named))
    if op.mutated_args:
        written = [t for name in op.mutated_args for t in tensors_in([values[name]])]
        if not op._schema.returns:
            return None
        if len(op._schema.returns) == len(written) == len(op._schema.aliased_returns):
            return written[0] if len(written) == 1 else tuple(written)
    return _stacked(op, results, level)


def _register(op: OpOverload) -> str:
    return f"register a rule with opweave.library.register_vmap({op.name!r}, rule)"


def _example(value: Any, level: Level, index: int) -> Any:
    if isinstance(value, BatchedTensor) and value.level == level:
        return ops.aten.select.int(value.value, value.bdim, index)
    return value


def _stacked(op: OpOverload, results: Sequence[Any], level: Level) -> Any:
    first = results[0]
    if isinstance(first, Tensor):
        if any(t._sizes != first._sizes for t in results):
            raise ShapeError(
                f"vmap: {op} gave results of different shapes for different examples", got=describe(list(results)[:4])
            )
        return make_batched(ops.aten.stack.default(list(results), 0), 0, level)
    if isinstance(first, (list, tuple)):
        if any(len(items) != len(first) for items in results):
            raise ShapeError(f"vmap: {op} gave a different number of results for different examples")
        return type(first)(_stacked(op, column, level) for column in zip(*results, strict=True))
    if any(value != first for value in results):
        raise ArgumentError(
            f"vmap: {op} returned a Python value that differs between examples", got=f"{list(results)[:4]}",
            hint="return a tensor",
        )  # fmt: skip
    return first
