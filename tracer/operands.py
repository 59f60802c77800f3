"""Operands of a node: nested lists, tuples, dicts and slices with nodes inside, never changed in place.

A graph's edges follow from its nodes' operands. A list that could be changed behind the graph's back would break that,
so operands are stored as `ImmutableList` and `ImmutableDict`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn, cast

from opweave.registry.errors import GraphError


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise GraphError(
        "operands of a node cannot be changed in place",
        got=repr(self),
        hint="assign node.args or node.kwargs as a whole",
    )


class ImmutableList(list[Any]):
    """A list that refuses to change."""

    __slots__ = ()
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return (ImmutableList, (list(self),))

    def __hash__(self) -> int:  # type: ignore[override]  # a list is unhashable only because it may change
        return hash(tuple(self))


class ImmutableDict(dict[Any, Any]):
    """A dict that refuses to change."""

    __slots__ = ()
    clear = pop = popitem = setdefault = update = _refuse
    __setitem__ = __delitem__ = __ior__ = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return (ImmutableDict, (dict(self),))

    def __hash__(self) -> int:  # type: ignore[override]  # see ImmutableList
        return hash(tuple(self.items()))


#: Types of operands that contain nothing.
ATOMS = frozenset({int, float, bool, str, type(None), complex, bytes})


def map_operands(value: Any, transform: Callable[[Any], Any]) -> Any:
    """Apply a function to every leaf that is no plain number, string or None; containers come out immutable.

    Parameters
    ----------
    value : Any
        Nested operands.
    transform : callable
        Called with nodes, tensors and whatever else is no container.
    """
    kind = value.__class__
    if kind in ATOMS:
        return value
    if kind is tuple:
        return tuple([map_operands(item, transform) for item in value])
    if isinstance(value, list):
        return ImmutableList([map_operands(item, transform) for item in cast("list[Any]", value)])
    if isinstance(value, dict):
        return ImmutableDict(
            [(key, map_operands(item, transform)) for key, item in cast("dict[Any, Any]", value).items()]
        )
    if kind is slice:
        return slice(
            map_operands(value.start, transform),
            map_operands(value.stop, transform),
            map_operands(value.step, transform),
        )
    if isinstance(value, tuple):
        mapped = [map_operands(item, transform) for item in cast("tuple[Any, ...]", value)]
        # A named tuple takes its fields one by one; sizes and the like are plain tuples in a graph.
        return kind(*mapped) if hasattr(kind, "_fields") else tuple(mapped)
    return transform(value)


def operand_paths(value: Any, kind: type, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The leaves that are instances of `kind`, each with the keys that lead to it.

    Parameters
    ----------
    value : Any
        Nested operands.
    kind : type
        What to look for.
    path : tuple
        Where `value` itself stands.
    """
    if isinstance(value, kind):
        yield path, value
    elif isinstance(value, (tuple, list)):
        for index, item in enumerate(cast("list[Any]", value)):
            if type(item) not in ATOMS:
                yield from operand_paths(item, kind, (*path, index))
    elif isinstance(value, dict):
        for key, item in cast("dict[Any, Any]", value).items():
            if type(item) not in ATOMS:
                yield from operand_paths(item, kind, (*path, key))
    elif type(value) is slice:
        for key in ("start", "stop", "step"):
            yield from operand_paths(getattr(value, key), kind, (*path, key))
