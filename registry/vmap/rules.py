"""What ops do with batched tensors: as users registered it, as is said beside the op, or by its kind."""

from __future__ import annotations

from typing import Any

from opweave.registry.batched import Level
from opweave.registry.batching import Rule, one_by_one
from opweave.registry.dispatching import resolvers
from opweave.registry.hooks import Hook
from opweave.registry.kernels import Kernel
from opweave.registry.keys import DispatchKey
from opweave.registry.op import OpOverload
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.vmap.levels import top_level


def rule_of(op: OpOverload) -> Rule:
    """What an op does with batched tensors."""
    decl = op.decl
    if op.batch_rule is not None:
        return _by_user
    if decl is None:
        return one_by_one
    return lambda op, level, args, kwargs: decl.batch(level, args, kwargs)


#: How a user's rule is called; `registry.vmap.custom` supplies it.
by_user: Hook[[OpOverload, Any, tuple[Any, ...], dict[str, Any]], Any] = Hook()


def _by_user(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    assert by_user.call is not None and op.batch_rule is not None
    return by_user.call(op, op.batch_rule, args, kwargs)


def resolve(op: OpOverload, bits: int) -> Kernel:
    """The kernel of an op on batched tensors."""
    found = rule_of(op)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        level = top_level(tensors_in([*args, *kwargs.values()]))
        assert level is not None, "the key of batched tensors comes from one"
        return found(op, level, args, kwargs)

    return kernel


resolvers[DispatchKey.FuncTorchBatched] = resolve
