"""Containers as a trace sees them: their parts, copies with the tensors in them replaced, and copies of objects.

A container is a list, a tuple, a dict, a deque, a dataclass or a registered pytree node. What a function adds to one
while it is traced goes to the copy.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
from collections.abc import Iterator
from typing import Any

from opweave.registry.loading import load_heavy
from opweave.registry.tensor import Tensor
from opweave.runtime.sources import PYTREES, is_named_tuple, is_registered

DICTS = (dict, collections.OrderedDict, collections.defaultdict)


def tensors_of(value: Any) -> Iterator[Tensor]:
    """Tensors of an argument, through containers only (an object's attributes are not arguments)."""
    if isinstance(value, Tensor):
        yield value
    else:
        for child in parts(value):
            yield from tensors_of(child)


def parts(value: Any) -> list[Any]:
    kind: Any = type(value)
    if kind in (list, tuple, collections.deque) or is_named_tuple(kind):
        return list(value)
    if kind in DICTS:
        return list(value.values())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, f.name) for f in dataclasses.fields(value) if hasattr(value, f.name)]
    if is_registered(kind) and kind is not type(None):
        return list(load_heavy("optree").tree_flatten_one_level(value, namespace=PYTREES)[0])
    return []


class Rebuild:
    """Copies containers with their tensors replaced; everything else stays the object it is."""

    def __init__(self, replacements: dict[int, Any]) -> None:
        self.replacements = replacements
        self.made: dict[int, Any] = {}

    def __call__(self, value: Any) -> Any:
        if id(value) in self.replacements:
            return self.replacements[id(value)]
        if id(value) in self.made:
            return self.made[id(value)]
        if isinstance(value, Tensor) or not parts(value):
            kind: Any = type(value)
            if kind not in (list, collections.deque, *DICTS):
                return value
            self.made[id(value)] = new = copy.copy(value)  # empty, but what the function adds must not reach the user's
            return new
        new = self.made[id(value)] = self._copy(value)
        return new

    def _copy(self, value: Any) -> Any:
        kind: Any = type(value)
        if kind is tuple or kind is list:
            return kind([self(v) for v in value])
        if is_named_tuple(kind):
            return kind._make([self(v) for v in value])
        if kind is collections.deque:
            return collections.deque([self(v) for v in value], value.maxlen)
        if kind in DICTS:
            new = copy.copy(value)
            for key, item in value.items():
                new[key] = self(item)
            return new
        if dataclasses.is_dataclass(value):
            new = shallow_copy(value)
            for f in dataclasses.fields(value):
                if hasattr(value, f.name):
                    object.__setattr__(new, f.name, self(getattr(value, f.name)))
            return new
        children, metadata, _, unflatten = load_heavy("optree").tree_flatten_one_level(value, namespace=PYTREES)
        return unflatten(metadata, [self(child) for child in children])


def shallow_copy(value: Any) -> Any:
    """A copy of an object that need not let its attributes be assigned."""
    kind: Any = type(value)
    if kind.__reduce_ex__ is not object.__reduce_ex__ or "__copy__" in dir(kind) or "__getstate__" in vars(kind):
        return copy.copy(value)
    state = value.__getstate__() if hasattr(value, "__getstate__") else None
    if not (isinstance(state, tuple) and len(state) == 2) or "__setstate__" in dir(kind):
        return copy.copy(value)
    new = object.__new__(kind)
    for part in state:
        for name, held in (part or {}).items():
            object.__setattr__(new, name, held)
    return new
