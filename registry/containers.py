"""Whether a value that may be anything holds others: checks that tell a type checker that these may be anything too.

After `isinstance(value, list)` it would be a list of what nobody knows.
"""

from __future__ import annotations

from typing import Any, TypeGuard


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value is a list."""
    return isinstance(value, list)


def is_tuple(value: object) -> TypeGuard[tuple[Any, ...]]:
    """Whether a value is a tuple, a named one too."""
    return isinstance(value, tuple)


def is_sequence(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Whether a value is a list or a tuple."""
    return isinstance(value, (list, tuple))


def is_dict(value: object) -> TypeGuard[dict[Any, Any]]:
    """Whether a value is a dict."""
    return isinstance(value, dict)


def is_slice(value: object) -> TypeGuard[slice[Any, Any, Any]]:
    """Whether a value is a slice."""
    return isinstance(value, slice)
