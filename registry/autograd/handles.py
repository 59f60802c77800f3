"""Handles that take hooks out again."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any


class RemovableHandle:
    """Takes a hook out again."""

    _ids = itertools.count()

    def __init__(self, hooks: dict[int, Any]):
        self.id = next(self._ids)
        self._hooks = hooks

    def remove(self) -> None:
        """Remove the hook; a no-op the second time."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class MultiHandle:
    """Takes several hooks out again.

    Parameters
    ----------
    handles : sequence of RemovableHandle
        Of each hook.
    """

    def __init__(self, handles: Sequence[RemovableHandle]):
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Remove the hooks; a no-op the second time."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> MultiHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
