"""The Python key: calls go to the innermost active mode, else to the tensor subclass that asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from opweave.registry.errors import DispatchError
from opweave.registry.keys import PYTHON_BIT, state
from opweave.registry.tensor import Tensor


def tensors_in(args: Any) -> Iterator[Tensor]:
    """The tensors among arguments, looking into lists, tuples and dicts."""
    for value in args.values() if isinstance(args, dict) else args:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple, dict)):
            yield from tensors_in(value)


def _rule_for(op: Any, kind: type) -> Callable[..., Any] | None:
    """The rule of `register_torch_dispatch` for a class, if there is one."""
    rules = getattr(op, "dispatch_rules", None)
    return rules.get(kind) if rules else None


def python_dispatch(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Hand a call to the innermost active mode, else to the tensor subclass that asks for it."""
    subclasses: dict[type, None] = {}
    for t in tensors_in([*args, *kwargs.values()]):
        if t._keys & PYTHON_BIT:
            subclasses[type(t)] = None
    types = tuple(subclasses)
    modes = state.modes
    if modes:
        outer = modes[:-1]
        saved_include = state.include
        state.modes = outer
        if not outer:
            state.include = saved_include & ~PYTHON_BIT
        try:
            rule = _rule_for(op, type(modes[-1]))
            if rule is not None:
                return rule(modes[-1], op, types, args, kwargs)
            return modes[-1].__torch_dispatch__(op, types, args, kwargs)
        finally:
            state.modes = modes
            state.include = saved_include
    for kind in types:
        rule = _rule_for(op, kind)
        if rule is not None:
            return rule(kind, op, types, args, kwargs)
        result = kind.__torch_dispatch__(op, types, args, kwargs)  # type: ignore[attr-defined]  # Python key implies it
        if result is not NotImplemented:
            return result
    raise DispatchError(f"{op}: no __torch_dispatch__ handled the call", got=", ".join(t.__name__ for t in types))
