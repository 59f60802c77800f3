"""What ops do with batched tensors: as users registered it, as is said beside the op, or by its kind."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from opweave.registry.batched import Level
from opweave.registry.batching import one_by_one
from opweave.registry.dispatching import resolvers
from opweave.registry.hooks import Hook
from opweave.registry.kernels import Kernel
from opweave.registry.keys import DispatchKey
from opweave.registry.op import OpOverload
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.vmap.levels import top_level

#: How a user's rule is called; `registry.vmap.custom` supplies it.
by_user: Hook[[OpOverload, Any, tuple[Any, ...], dict[str, Any]], Any] = Hook()


def _by_user(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    assert by_user.call is not None and op.batch_rule is not None
    return by_user.call(op, op.batch_rule, args, kwargs)


def resolve(op: OpOverload, bits: int) -> Kernel:
    """The kernel of an op on batched tensors."""
    rule: Callable[[Level, tuple[Any, ...], dict[str, Any]], Any]
    if op.batch_rule is not None:
        rule = functools.partial(_by_user, op)
    else:
        rule = functools.partial(one_by_one, op) if op.decl is None else op.decl.batch

    def kernel(*args: Any, **kwargs: Any) -> Any:
        level = top_level(tensors_in([*args, *kwargs.values()]))
        assert level is not None, "the key of batched tensors comes from one"
        return rule(level, args, kwargs)

    return kernel


resolvers[DispatchKey.FuncTorchBatched] = resolve
