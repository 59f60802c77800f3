"""What ops do with batched tensors: as users registered it, as `registry.vmap.explicit` says, or by their kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.registry.batched import Level
from opweave.registry.batching import one_by_one
from opweave.registry.keys import DispatchKey
from opweave.registry.op import Kernel, OpOverload, resolvers, tensors_in
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


def rule_of(op: OpOverload) -> Rule:
    """What an op does with batched tensors."""
    decl = op.decl
    if op.batch_rule is not None:
        return _by_user
    if decl is None:
        return one_by_one
    found = explicit.get(op.name.partition("::")[2]) if op.namespace in ("aten", "opweave") else None
    return found or (lambda op, level, args, kwargs: decl.batch(level, args, kwargs))


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
