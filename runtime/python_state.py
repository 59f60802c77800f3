"""`PythonState`: what a trace must leave as it is, since compiled code would change it only once."""

from __future__ import annotations

import array
import collections
import copy
import types
from typing import Any

import numpy as np

from opweave.registry.tensor import Tensor
from opweave.runtime.containers import DICTS
from opweave.runtime.modules import is_module
from opweave.runtime.purity import is_library
from opweave.runtime.reads import scan
from opweave.runtime.sources import MISSING, Scope, brief

_EMPTY_CELL = types.CellType()


class PythonState:
    """Python state that tracing must leave as it is: contents of containers, attributes, written global variables."""

    def __init__(self, values: list[Any], namespaces: list[dict[str, Any]], scope: Scope) -> None:
        self.saved: list[tuple[Any, Any, Any]] = []
        self.classes: dict[type, dict[str, Any]] = {}
        self.arrays: list[tuple[Any, Any]] = []
        for value in values:
            kind: Any = type(value)
            for base in value.__mro__ if isinstance(value, type) else kind.__mro__:
                if not is_library(base.__module__):
                    self.classes[base] = dict(vars(base))
            if isinstance(value, (np.ndarray, bytearray, array.array)):
                self.arrays.append((value, copy.copy(value)))
            if kind in (list, set, collections.deque, *DICTS, collections.Counter):
                self.saved.append((value, value, copy.copy(value)))
            elif (
                hasattr(value, "__dict__")
                and isinstance(value.__dict__, dict)
                and (not is_library(kind.__module__) or is_module(kind))
            ):
                if not isinstance(value, (types.FunctionType, Tensor)):
                    self.saved.append((value, value.__dict__, dict(value.__dict__)))
        written = {n.path[0] for f in scope.functions for n in scan(f.__code__).names if n.written}
        self.variables = [
            (space, name, space.get(name, self))
            for space in {id(s): s for s in namespaces}.values()
            for name in written
        ]
        self.cells = [
            (cell, cell.cell_contents)
            for f in scope.functions
            for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=False)
            if name in written and cell != _EMPTY_CELL
        ]

    def changed(self) -> tuple[Any, str] | None:
        """The first thing that differs: the object, and how; or None."""
        for owner, live, saved in self.saved:
            if len(live) != len(saved):
                return owner, f"{len(saved)} entries → {len(live)}"
            if isinstance(live, dict):
                for key, old in saved.items():
                    if live.get(key, self) is not old:
                        return owner, f"{key}: {brief(old)} → {brief(live.get(key))}"
            elif not isinstance(live, set):
                for i, (now, old) in enumerate(zip(live, saved, strict=True)):
                    if now is not old:
                        return owner, f"[{i}]: {brief(old)} → {brief(now)}"
            elif live != saved:
                return owner, f"{brief(saved)} → {brief(live)}"
        for kind, attributes in self.classes.items():
            for name in vars(kind).keys() | attributes.keys():
                now, old = vars(kind).get(name, MISSING), attributes.get(name, MISSING)
                if now is not old and not name.startswith(("__", "_abc_")):
                    return f"class {kind.__qualname__}", f"{name}: {brief(old)} → {brief(now)}"
        for owner, old in self.arrays:
            if bytes(memoryview(owner)) != bytes(memoryview(old)):
                return owner, f"{brief(old)} → {brief(owner)}"
        for space, name, old in self.variables:
            if space.get(name, self) is not old:
                return (
                    f"global {name}",
                    f"{name}: {'nothing' if old is self else brief(old)} → {brief(space.get(name))}",
                )
        for cell, old in self.cells:
            if cell.cell_contents is not old:
                return "a nonlocal variable", f"{brief(old)} → {brief(cell.cell_contents)}"
        return None

    def restore(self) -> None:
        """Put everything back."""
        for _, live, saved in self.saved:
            if isinstance(live, list):
                live[:] = saved
            else:
                live.clear()
                live.extend(saved) if isinstance(live, collections.deque) else live.update(saved)
        for kind, attributes in self.classes.items():
            for name in [n for n in vars(kind).keys() | attributes.keys() if not n.startswith(("__", "_abc_"))]:
                if name not in attributes:
                    delattr(kind, name)
                elif vars(kind).get(name) is not attributes[name]:
                    setattr(kind, name, attributes[name])
        for owner, old in self.arrays:
            owner[... if isinstance(owner, np.ndarray) else slice(None)] = old
        for space, name, old in self.variables:
            if old is self:
                space.pop(name, None)
            else:
                space[name] = old
        for cell, old in self.cells:
            cell.cell_contents = old
