"""Hooks: functions that a module calls without importing them, since they belong to a layer above.

A hook is declared with its type where it is called, and supplied where its function stands:

    #: Called with a tensor and a method's name where Python looks at data.
    when_read: Hook[[Tensor, str], None] = Hook()

    when_read.supply(_read_by_python)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

from opweave.registry.families import is_declaring
from opweave.registry.replay import forget

P = ParamSpec("P")
R = TypeVar("R")


class Hook(Generic[P, R]):
    """A function that another module supplies.

    Attributes
    ----------
    call : callable or None
        The function; None until it is supplied.
    """

    __slots__ = ("call",)

    def __init__(self) -> None:
        self.call: Callable[P, R] | None = None

    def supply(self, function: Callable[P, R]) -> Callable[P, R]:
        """Set the function, and give it back; so it is a decorator, too."""
        if not is_declaring():
            forget()  # what native code replays does not call it
        self.call = function
        return function
