"""`__torch_function__`: objects that are no tensors and say themselves what a function of tensors is for them.

A function asks for them only where it cannot take its arguments, so that tensors pay nothing for the question. The
protocol is PyTorch's, for objects that are no tensors: subclasses of `Tensor` have `__torch_dispatch__`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from opweave.registry.tensor import Tensor


def overriding(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments, and items of lists among them, that have the method: one of each class, subclasses first."""
    found: list[Any] = []
    for value in _flat([*args, *kwargs.values()]):
        kind = type(value)
        if not hasattr(kind, "__torch_function__") or isinstance(value, Tensor) or kind in map(type, found):
            continue
        place = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
        found.insert(place, value)
    return found


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def overridden(function: Callable[..., Any], others: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the first of the objects that does not decline makes of the call.

    Raises
    ------
    TypeError
        If all return NotImplemented.
    """
    types = tuple(type(value) for value in others)
    for value in others:
        result = value.__torch_function__(function, types, args, kwargs)
        if result is not NotImplemented:
            return result
    names = ", ".join(kind.__name__ for kind in types)
    raise TypeError(f"{function}: no implementation in the __torch_function__ of {names}")
