"""Other names that PyTorch's functions have for their arguments, besides those of schemas."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

#: By another name, what it may stand for: the documentation's `input` and `A`, and what NumPy calls an argument.
OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "input": ("self",),
    "A": ("self",),
    "x": ("self", "input"),
    "a": ("self", "input"),
    "x1": ("self", "input"),
    "x2": ("other",),
    "axis": ("dim", "dims"),
    "keepdims": ("keepdim",),
}


def respell(kwargs: dict[str, Any], own: Collection[str]) -> dict[str, Any]:
    """Keyword arguments by the names that a function has; as they are where it has none of them.

    Parameters
    ----------
    kwargs : dict of str to object
        As they were given.
    own : collection of str
        What the function calls its arguments.
    """
    found: dict[str, Any] = {}
    for name, value in kwargs.items():
        if name not in own:
            meant = next((n for n in OTHER_NAMES.get(name, ()) if n in own and n not in kwargs), name)
            if meant not in found:
                name = meant
        found[name] = value
    return found
