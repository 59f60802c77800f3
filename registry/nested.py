"""Values nested in lists, tuples and dicts: the walk over them, and the same structure of other values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def leaves(value: Any) -> Iterator[Any]:
    """What is no container, in order."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    else:
        yield value


def map_leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same containers, with `change` applied to what is none; dicts become plain."""
    if isinstance(value, (list, tuple)):
        kind: Any = type(value)
        return getattr(kind, "_make", kind)([map_leaves(item, change) for item in value])
    if isinstance(value, dict):
        return {key: map_leaves(item, change) for key, item in value.items()}
    return change(value)
