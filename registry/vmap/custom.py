"""Batching rules that users register: for ops (`register_vmap`), and `vmap` of an `autograd.Function`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from opweave.registry.autograd import function
from opweave.registry.batched import BatchedTensor, Level, make_batched
from opweave.registry.errors import ArgumentError, RegistrationError, ShapeError
from opweave.registry.interrupts import let_through
from opweave.registry.op import OpOverload
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.tensor import Tensor, describe
from opweave.registry.vmap import rules
from opweave.registry.vmap.levels import top_level


class VmapInfo(NamedTuple):
    """What a batching rule is told.

    Attributes
    ----------
    batch_size : int
        Number of examples.
    randomness : str
        What random ops do: "error", "different" or "same".
    """

    batch_size: int
    randomness: str


def _taken_apart(value: Any, level: Level) -> tuple[Any, Any]:
    """(the value with whole batches, where their examples are counted)."""
    if isinstance(value, BatchedTensor) and value.level == level:
        return value.value, value.bdim
    if isinstance(value, (list, tuple)):
        pairs = [_taken_apart(item, level) for item in value]
        if not any(isinstance(item, Tensor) for item in value):
            return value, None
        return type(value)(pair[0] for pair in pairs), [pair[1] for pair in pairs]
    return value, None


def call_batch_rule(op: OpOverload, rule: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a rule as `register_vmap` takes it on the innermost level of the arguments.

    Parameters
    ----------
    rule : callable
        `rule(info, in_dims, *args, **kwargs) -> (outputs, out_dims)`. It gets all arguments of the op; where it takes
        fewer, those that are left at their defaults are left out.

    Raises
    ------
    RegistrationError, ShapeError
        If what it returns is no such pair, or the dimensions do not count the examples.
    """
    if not _takes(rule, args, kwargs):
        args, kwargs = op.trim(args, kwargs)
    return _called(op.name, rule, args, kwargs)


def _takes(rule: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        inspect.signature(rule).bind(None, None, *args, **kwargs)
    except (TypeError, ValueError) as error:  # a function of C may have no signature
        let_through(error)
        return isinstance(error, ValueError)
    return True


def _called(name: str, rule: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    level = top_level(tensors_in([*args, *kwargs.values()]))
    assert level is not None
    pairs = [_taken_apart(value, level) for value in args]
    info = VmapInfo(level.size, level.randomness)
    found = rule(info, tuple(pair[1] for pair in pairs), *[pair[0] for pair in pairs], **kwargs)
    if not isinstance(found, tuple) or len(found) != 2:
        raise RegistrationError(
            f"{name}: the vmap rule must return (outputs, out_dims)",
            got=f"{type(found).__name__} of {len(found)}" if isinstance(found, tuple) else type(found).__name__,
            hint="return result, 0  # the dimension of the result that counts the examples",
        )
    return _put_together(name, *found, level)


def _put_together(name: str, outputs: Any, dims: Any, level: Level) -> Any:
    if isinstance(outputs, (list, tuple)):
        if isinstance(dims, (list, tuple)):
            if len(dims) != len(outputs):
                raise RegistrationError(
                    f"{name}: the vmap rule returned {len(outputs)} outputs and {len(dims)} out_dims for them"
                )
            spread = list(dims)
        else:
            spread = [dims] * len(outputs)
        items = [_put_together(name, item, dim, level) for item, dim in zip(outputs, spread, strict=True)]
        return type(outputs)(items)
    if dims is None or not isinstance(outputs, Tensor):
        if dims is not None and outputs is not None:
            raise RegistrationError(
                f"{name}: the vmap rule returned an out_dim for what is no tensor",
                got=type(outputs).__name__,
                hint="None in that place",
            )
        return outputs
    if not isinstance(dims, int) or isinstance(dims, bool):
        raise RegistrationError(
            f"{name}: out_dims of the vmap rule must be int or None", got=repr(dims), hint="one for each output"
        )
    rank = outputs.ndim
    if not -rank <= dims < rank:
        raise ShapeError(
            f"{name}: out_dim {dims} of the vmap rule is out of range",
            got=describe(outputs),
            hint="the dimension of the output that counts the examples",
        )
    at = dims + rank if dims < 0 else dims
    if outputs._sizes[at] != level.size:
        raise ShapeError(
            f"{name}: dimension {at} of the vmap rule's output has size {outputs._sizes[at]}, not one entry for each "
            f"of the {level.size} examples",
            got=describe(outputs),
        )
    return make_batched(outputs, at, level)


rules.by_user.supply(call_batch_rule)


# ---- autograd.Function ---------------------------------------------------------------------------------------------


def function_over_batch(cls: type[Any], args: tuple[Any, ...]) -> Any:
    """The forward of a `Function` on batched tensors by its static `vmap(info, in_dims, *args)`.

    Raises
    ------
    ArgumentError
        If the class has no `setup_context`: its `forward` takes a context that the rule cannot give it.
    """
    if cls.setup_context is function.Function.setup_context:
        raise ArgumentError(
            f"{cls.__name__}: a Function with `vmap` needs `setup_context`",
            got="forward(ctx, *args)",
            hint="split it: forward(*args) and setup_context(ctx, inputs, output)",
        )
    found = _called(cls.__name__, cls.vmap, args, {})
    # What the rule gives back as it was given is the argument itself, as `mark_dirty` wants it.
    given = {(id(t.value), t.bdim, t.level): t for t in args if isinstance(t, BatchedTensor)}

    def same(t: Any) -> Any:
        return given.get((id(t.value), t.bdim, t.level), t) if isinstance(t, BatchedTensor) else t

    return type(found)(map(same, found)) if isinstance(found, (tuple, list)) else same(found)


function.over_batch.supply(function_over_batch)
