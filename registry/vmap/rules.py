"""What ops do with batched tensors.

A rule takes the arguments apart at the innermost level that occurs among them, calls ops on the whole batches (which
may be batched at other levels, and are then handled in turn), and puts the results together. Most follow from the kind
of an op; those that do not stand in `registry.vmap.explicit`. What has no rule is run for one example after the other.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from opweave.registry.batched import BatchedTensor, Level, make_batched, to_front
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from opweave.registry.keys import DispatchKey
from opweave.registry.memory_format import CHANNELS_LAST, contiguous_format, dims_in_memory
from opweave.registry.nested import map_leaves
from opweave.registry.op import Kernel, OpOverload, ops, resolvers, tensors_in
from opweave.registry.ops.kinds import (
    InplaceDecl,
    OutDecl,
    OutsDecl,
    PointwiseDecl,
    ReductionDecl,
    ViewDecl,
    normalize_axes,
)
from opweave.registry.ops.reshape import infer_size
from opweave.registry.promote import can_cast, result_type
from opweave.registry.tensor import Tensor, describe, wrap_dim
from opweave.registry.vmap.levels import top_level

#: `rule(op, level, args, kwargs)` for one op; arguments are as the call gave them, batched tensors among them.
Rule = Callable[[OpOverload, Level, tuple[Any, ...], dict[str, Any]], Any]

#: Rules of ops by name, for those where the kind does not tell.
explicit: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Decorator: the rule of the ops of these names."""

    def register(found: Rule) -> Rule:
        for name in names:
            explicit[name] = found
        return found

    return register


# ---- taking apart and putting together -----------------------------------------------------------------------------


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


# ---- pointwise -----------------------------------------------------------------------------------------------------


def _operands(decl: PointwiseDecl, values: dict[str, Any]) -> list[str]:
    return [a.name for a, is_operand in zip(decl.arguments, decl.is_operand, strict=True) if is_operand]


def pointwise(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Examples first, and as many dimensions in each operand."""
    decl = op.decl.functional.decl if op.decl.kind == "inplace" else op.decl
    values = bound(op, args, kwargs)
    names = _operands(decl, values)
    logical = {name: values[name] for name in names}
    tensors = [t for t in logical.values() if isinstance(t, Tensor)]
    rank = max(t.ndim for t in tensors)
    inplace = op.decl.kind == "inplace"
    target = logical[names[0]]
    if inplace:
        refuse_write(op, target, level)
        if rank > target.ndim:
            raise ShapeError(
                f"{op.opname}: the result does not fit the tensor written to", got=describe(tensors),
                hint="opweave never resizes a tensor; pass one of the right shape",
            )  # fmt: skip
    values.update({name: ranked(t, level, rank) for name, t in logical.items()})
    if len({t._dtype for t in tensors}) > 1 and any(not t._sizes and is_at(t, level) for t in tensors):
        _keep_types(op, decl, logical, values)
    if values.get("memory_format") in CHANNELS_LAST:
        return channels_last(op, level, values, names[0], target)
    result = call(op, values)
    return target if inplace else make_batched(result, 0, level)


def channels_last(op: OpOverload, level: Level, values: dict[str, Any], name: str, example: Tensor) -> Any:
    """Call an op on a whole batch so that each example lies with its channels innermost."""
    order = [0, *(d + 1 for d in dims_in_memory(op.opname, example._sizes, values["memory_format"]))]
    values[name] = ops.aten.permute.default(values[name], order)
    values["memory_format"] = contiguous_format
    return wrap(ops.aten.permute.default(call(op, values), [order.index(d) for d in range(len(order))]), level)


def _keep_types(op: OpOverload, decl: PointwiseDecl, logical: dict[str, Any], values: dict[str, Any]) -> None:
    """A 0-d example promotes less than the batch of them, which has a dimension: cast it to what it would become."""
    attributes = {name: value for name, value in values.items() if name not in logical}
    wanted = decl.types(*logical.values(), **attributes)
    if decl.types(*[values[name] for name in logical], **attributes) == wanted:
        return
    numbers = [v for v in logical.values() if v is not None and not (isinstance(v, Tensor) and v._dtype.kind == "b")]
    common = result_type(*numbers) if numbers else wanted[0]
    for name, t in logical.items():
        if isinstance(t, Tensor) and not t._sizes and isinstance(t, BatchedTensor) and t._dtype.kind != "b":
            values[name] = ops.aten._to_copy.default(values[name], dtype=common)
    if decl.types(*[values[name] for name in logical], **attributes) != wanted:
        raise DTypeError(
            f"vmap: {op} on 0-d examples of other types than the other operands", got=describe(list(logical.values())),
            hint="convert them to one dtype first",
        )  # fmt: skip


# ---- views ---------------------------------------------------------------------------------------------------------


def as_view_of(base: BatchedTensor, whole: Tensor, level: Level, bdim: int = 0) -> BatchedTensor:
    """A view of a batched tensor from the view of its batch: for autograd one is a view of the other, too."""
    made = make_batched(whole, bdim, level)
    made._view_of = base if base._view_of is None else base._view_of
    base._storage.note_view(made)
    return made


def _view_call(name: str, t: Tensor, whole: Tensor, values: dict[str, Any]) -> Tensor | None:
    """The view of the whole batch, for ops whose arguments say which dimensions they mean; None for others."""
    aten, sizes, rank = ops.aten, t._sizes, t.ndim

    def at(dim: int) -> int:
        return wrap_dim(dim, rank, name.partition(".")[0]) + 1

    if name in ("view", "_unsafe_view"):
        full = infer_size(name, sizes, values["size"])
        return getattr(aten, name).default(whole, [whole._sizes[0], *full])
    if name == "unsqueeze":
        return aten.unsqueeze.default(whole, wrap_dim(values["dim"], rank + 1, name) + 1)
    if name == "expand":
        lead = len(values["size"]) - rank
        if lead < 0 or -1 in values["size"][:lead]:
            return None
        for _ in range(lead):
            whole = aten.unsqueeze.default(whole, 1)
        return aten.expand.default(whole, [whole._sizes[0], *values["size"]])
    if name == "squeeze":
        return aten.squeeze.dims(whole, [d + 1 for d, size in enumerate(sizes) if size == 1])
    if not rank:
        return None
    if name == "permute":
        return aten.permute.default(whole, [0, *map(at, values["dims"])])
    if name == "transpose.int":
        return aten.transpose.int(whole, at(values["dim0"]), at(values["dim1"]))
    if name == "t":
        return None if rank > 2 else aten.transpose.int(whole, 1, rank)
    if name == "squeeze.dim":
        return aten.squeeze.dim(whole, at(values["dim"]))
    if name == "squeeze.dims":
        return aten.squeeze.dims(whole, [at(d) for d in values["dim"]])
    if name == "select.int" and -sizes[at(values["dim"]) - 1] <= values["index"] < sizes[at(values["dim"]) - 1]:
        return aten.select.int(whole, at(values["dim"]), values["index"])
    if name == "slice.Tensor":
        return aten.slice.Tensor(whole, at(values["dim"]), values["start"], values["end"], values["step"])
    if name == "diagonal" and at(values["dim1"]) != at(values["dim2"]):
        return aten.diagonal.default(whole, values["offset"], at(values["dim1"]), at(values["dim2"]))
    return None


def view(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A view of the whole batch."""
    decl: ViewDecl = op.decl
    t = args[0]
    name = op.name.partition("::")[2]
    if name in ("alias", "detach"):
        made = make_batched(op(t.value), t.bdim, level)
        if name == "alias":
            made = as_view_of(t, made.value, level, t.bdim)
        return made
    whole = front(t, level)
    values = bound(op, args, kwargs)
    found = _view_call(name, t, whole, values)
    if found is None:
        # By its own rule on one example's layout, which also says what is wrong with the arguments.
        rest = [values[a.name] for a in op._schema.arguments[1:]]
        sizes, strides, offset = decl.rule(whole._sizes[1:], whole._strides[1:], whole._offset, *rest)
        found = ops.aten.as_strided.default(
            whole, [whole._sizes[0], *sizes], [whole._strides[0], *strides], offset
        )  # fmt: skip
    return as_view_of(t, found, level)


# ---- reductions ----------------------------------------------------------------------------------------------------

#: The forms with dimensions of reductions of everything, and whether these take a list of them.
_BY_DIMS = {
    "sum": ("sum.dim_IntList", True), "mean": ("mean.dim", True), "prod": ("prod.dim_int", False),
    "max": ("amax", True), "min": ("amin", True), "any": ("any.dims", True), "all": ("all.dims", True),
}  # fmt: skip


def _named(name: str) -> OpOverload:
    packet, _, overload = name.partition(".")
    return getattr(getattr(ops.aten, packet), overload or "default")


def flat(whole: Tensor) -> Tensor:
    """The elements of each example in a row."""
    count = 1
    for size in whole._sizes[1:]:
        count *= size
    return ops.aten.reshape.default(whole, [whole._sizes[0], count])


def reduction(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Over the same dimensions of the whole batch; over all of an example's, where all are meant."""
    values = bound(op, args, kwargs)
    t = values["self"]
    whole = front(t, level)
    rank = t.ndim
    decl: ReductionDecl = op.decl
    if "dim" not in values:
        name = op.name.partition("::")[2]
        if name not in _BY_DIMS:
            return one_by_one(op, level, args, kwargs)
        target, takes_list = _BY_DIMS[name]
        if takes_list and rank:
            dims: Any = list(range(1, rank + 1))
        else:
            whole, dims = flat(whole), [1] if takes_list else 1
        extra = {key: value for key, value in values.items() if key != "self"}
        return wrap(_named(target)(whole, dims, **extra), level)
    dim = values["dim"]
    one = not next(a.type.is_list for a in op._schema.arguments if a.name == "dim")
    axes = normalize_axes(dim, rank, op.opname)
    if isinstance(dim, (list, tuple)) and not dim and not decl.empty_is_all:
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


# ---- writing -------------------------------------------------------------------------------------------------------


def _check_result(op: OpOverload, target: Tensor, result: Tensor) -> None:
    if result._sizes != target._sizes:
        raise ShapeError(
            f"{op.opname}: the result's shape {list(result._sizes)} does not fit the tensor written to",
            got=describe(target), hint="opweave never resizes a tensor; pass one of the right shape",
        )  # fmt: skip
    if not can_cast(result._dtype, target._dtype):
        raise DTypeError(
            f"{op.opname}: result type {result._dtype.name} cannot be written to {target._dtype.name}",
            got=describe(target), hint="use the functional form, or convert the tensor first",
        )  # fmt: skip


def inplace(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The functional form, copied to the first argument."""
    target = args[0]
    refuse_write(op, target, level)
    result = op.decl.functional(*args, **kwargs)
    _check_result(op, target, result)
    return ops.aten.copy_.default(target, result)


def out(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The functional form, copied to `out`."""
    rest = dict(kwargs)
    target = rest.pop("out")
    refuse_write(op, target, level)
    result = op.decl.functional(*args, **rest)
    _check_result(op, target, result)
    return ops.aten.copy_.default(target, result)


def outs(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The functional form, each result copied to an argument."""
    targets, rest = op.decl.split(kwargs)
    for target in targets:
        refuse_write(op, target, level)
    results = op.decl.functional(*args, **rest)
    return write_each(op, targets, [results] if isinstance(results, Tensor) else list(results))


def write_each(op: OpOverload, targets: list[Tensor], results: list[Tensor]) -> Any:
    """Results of the functional form, copied to what an op writes to."""
    for target, result in zip(targets, results, strict=True):
        _check_result(op, target, result)
    for target, result in zip(targets, results, strict=True):
        ops.aten.copy_.default(target, result)
    return targets[0] if len(targets) == 1 else tuple(targets)


def body(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The ops that a composite is written with."""
    return op.decl.body(*args, **kwargs)


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
        warnings.warn(
            f"vmap: {op} has no batching rule and is run for one example after the other, which is slow; "
            f"{_register(op)}",
            stacklevel=2,
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


# ---- finding the rule ----------------------------------------------------------------------------------------------


def rule_of(op: OpOverload) -> Rule:
    """What an op does with batched tensors."""
    decl = op.decl
    if op.batch_rule is not None:
        return _by_user
    own = op.namespace in ("aten", "opweave") and decl is not None
    found = explicit.get(op.name.partition("::")[2]) if own else None
    if found is not None:
        return found
    if isinstance(decl, PointwiseDecl):
        return pointwise
    if isinstance(decl, ReductionDecl):
        return reduction
    if isinstance(decl, ViewDecl) and decl.kind == "view":
        return view
    if isinstance(decl, InplaceDecl):
        # Its functional form may have operands of other kinds than the body has (numbers, say).
        return pointwise if isinstance(decl.functional.decl, PointwiseDecl) else inplace
    if isinstance(decl, OutDecl):
        return out
    if isinstance(decl, OutsDecl):
        return outs
    if decl is not None and decl.kind == "composite":
        return body
    return one_by_one


#: How a user's rule is called; `registry.vmap.custom` sets it.
by_user: Callable[[OpOverload, Any, tuple[Any, ...], dict[str, Any]], Any] | None = None


def _by_user(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    assert by_user is not None and op.batch_rule is not None
    return by_user(op, op.batch_rule, args, kwargs)


def resolve(op: OpOverload, bits: int) -> Kernel:
    """The kernel of an op on batched tensors."""
    found = rule_of(op)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        level = top_level(tensors_in([*args, *kwargs.values()]))
        assert level is not None, "the key of batched tensors comes from one"
        return found(op, level, args, kwargs)

    return kernel


resolvers[DispatchKey.FuncTorchBatched] = resolve
