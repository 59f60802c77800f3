"""Objects that are to be found as long as somebody else keeps them."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class References(Generic[T]):
    """Refers to objects, without keeping them.

    A `WeakSet` is told of each object that goes, by Python code. The handler of a signal may run there, and what it
    raises is lost. This one looks when it has grown.
    """

    def __init__(self) -> None:
        self._references: deque[weakref.ref[T]] = deque()

    def add(self, value: T) -> None:
        """Refer to one more object."""
        known = self._references
        if len(known) >= 64 and not len(known) & (len(known) - 1):
            for _ in range(len(known)):  # one by one, since other threads may add meanwhile
                reference = known.popleft()
                if reference() is not None:
                    known.append(reference)
        known.append(weakref.ref(value))

    def __iter__(self) -> Iterator[T]:
        for reference in [*self._references]:
            value = reference()
            if value is not None:
                yield value
