"""Modules of this library in which a user may replace functions that other parts of it call by name.

Compiled code has what a function did when it was traced, and nothing in the user's code leads to it. So such a module
notes what was assigned to its names, and moves the count that each compiled call compares anyway.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from typing import Any

from opweave.registry.op import registry

_MISSING = object()
#: By module and name what was there before the first assignment.
_first: dict[tuple[str, str], Any] = {}
_replaced: Mapping[tuple[str, str], Any] = {}


class Patchable(types.ModuleType):
    """A module that tells what was assigned to its names, by `setattr` and so by `mock.patch` and `monkeypatch`."""

    def __setattr__(self, name: str, value: Any) -> None:
        before = vars(self).get(name, _MISSING)
        super().__setattr__(name, value)
        _note(self.__name__, name, before, value)

    def __delattr__(self, name: str) -> None:
        before = vars(self).get(name, _MISSING)
        super().__delattr__(name)
        _note(self.__name__, name, before, _MISSING)


def _note(module: str, name: str, before: Any, now: Any) -> None:
    global _replaced
    key = module, name
    first = _first.setdefault(key, before)
    if before is now or first is _MISSING:  # a name that is new is none that this library's functions ask for
        return
    rest = {each: value for each, value in _replaced.items() if each != key}
    _replaced = rest if now is first else {**rest, key: now}
    registry.version += 1


def patchable(module: str) -> None:
    """Have a module, by its name, note what is assigned to its names from now on."""
    sys.modules[module].__class__ = Patchable


def replaced() -> Mapping[tuple[str, str], Any]:
    """What stands in the place of functions of patchable modules now, by module and name; it is never changed."""
    return _replaced


def difference(before: Mapping[tuple[str, str], Any]) -> str | None:
    """The first function that is another one than it was, in words.

    Parameters
    ----------
    before : mapping
        What `replaced` gave then.
    """
    if before is _replaced:
        return None
    for key in (*before, *_replaced):
        if before.get(key, _MISSING) is not _replaced.get(key, _MISSING):
            return f"{'.'.join(key)} was replaced"
    return None
