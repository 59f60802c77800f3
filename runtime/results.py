"""What a function returns, as an expression over the outputs of its graph."""

from __future__ import annotations

import abc
import collections
import dataclasses
import types
import typing
from typing import Any, cast

import optree

from opweave.fake.symbolic import SymNumber
from opweave.registry.errors import Site, UnsupportedError
from opweave.registry.strided import Size
from opweave.registry.tensor import Tensor
from opweave.runtime.containers import DICTS, shallow_copy
from opweave.runtime.guards import GuardSet
from opweave.runtime.purity import is_library
from opweave.runtime.sources import PYTREES, Scope, brief, is_named_tuple, is_registered
from opweave.runtime.values import ValueGuards


class Results:
    """Turns a result into an expression over the graph's outputs `_ow_o`."""

    def __init__(self, guards: GuardSet, known: dict[int, str]) -> None:
        self.guards = guards
        self.known = known
        self.tensors: list[Any] = []
        self.positions: dict[int, int] = {}
        #: Variables that hold objects that were made before, by their ids; "" while one is being described.
        self._objects: dict[int, str] = {}

    def expression(self, value: Any, text: str) -> str:
        kind: Any = type(value)
        if id(value) in self.known:
            return self.known[id(value)]
        if isinstance(value, (Tensor, SymNumber)):
            position = self.positions.setdefault(id(value), len(self.tensors))
            if position == len(self.tensors):
                self.tensors.append(value)
            return f"_ow_o[{position}]"
        if value is None or value is True or value is False or kind in (int, str):
            return repr(value)
        if is_named_tuple(kind):
            inner = [self.expression(v, f"{text}.{n}") for v, n in zip(value, kind._fields, strict=True)]
            return f"{self.guards.constant(kind)}._make(({''.join(i + ', ' for i in inner)}))"
        if kind is Size:
            return f"{self.guards.constant(Size)}({self.expression(tuple(value), text)})"
        if kind is tuple or kind is list:
            inner = [self.expression(v, f"{text}[{i}]") for i, v in enumerate(value)]
            return f"[{', '.join(inner)}]" if kind is list else f"({''.join(i + ', ' for i in inner)})"
        if kind in DICTS:
            return self._dict(value, text)
        if dataclasses.is_dataclass(value) and not isinstance(value, (type, dict, list)):
            names = [f.name for f in dataclasses.fields(value) if hasattr(value, f.name)]
            inner = [f"{n!r}: {self.expression(getattr(value, n), f'{text}.{n}')}" for n in names]
            template = self.guards.constant(_without(value, names))
            return f"{self.guards.constant(_fill)}({template}, {{{', '.join(inner)}}})"
        if is_registered(kind):
            children, metadata, _, unflatten = optree.tree_flatten_one_level(cast(Any, value), namespace=PYTREES)
            inner = [self.expression(child, f"{text}[{i}]") for i, child in enumerate(children)]
            make, meta = self.guards.constant(unflatten), self.guards.constant(metadata)
            return f"{make}({meta}, [{', '.join(inner)}])"
        if kind in (float, complex, bytes) or _is_immutable(value):
            return self.guards.constant(value)
        base = _base_of(kind)
        if base is not None and self._objects.get(id(value)) != "":
            return self._object(value, base, text)
        raise UnsupportedError(
            f"compile: the function returns a {kind.__module__}.{kind.__qualname__} as {text}",
            got=brief(value),
            hint="return tensors and constants in tuples, lists, dicts, dataclasses or registered pytree nodes",
        )

    def _object(self, value: Any, base: type, text: str) -> str:
        """An instance of a user's class, as it was left: its attributes, and what a builtin base holds."""
        held = self._objects.get(id(value))
        if held is not None:
            return held
        self._objects[id(value)] = ""
        items = "None"
        if base is list:
            items = self.expression(list.__getitem__(value, slice(None)), text)
        elif base is not object:
            items = self._dict({key: base.__getitem__(value, key) for key in base.__iter__(value)}, text)
        own = self._dict(vars(value), text)
        held = self._objects[id(value)] = f"_ow_r{len(self._objects)}"
        make, kind = self.guards.constant(_remade), self.guards.constant(type(value))
        return f"({held} := {make}({kind}, {self.guards.constant(base)}, {items}, {own}))"

    def _dict(self, value: Any, text: str) -> str:
        inner = []
        for key, item in value.items():
            if isinstance(key, SymNumber):  # the user's dict has it by its number, which is fixed
                key = key.plain
            literal = repr(key) if type(key) in (int, str) else self.guards.constant(key)
            inner.append(f"{literal}: {self.expression(item, f'{text}[{key!r}]')}")
        body = f"{{{', '.join(inner)}}}"
        if type(value) is collections.OrderedDict:
            return f"{self.guards.constant(collections.OrderedDict)}({body})"
        if type(value) is collections.defaultdict:
            make, factory = self.guards.constant(collections.defaultdict), self.guards.constant(value.default_factory)
            return f"{make}({factory}, {body})"
        return body


def _base_of(kind: type) -> Any:
    """What keeps an object's contents besides its attributes, where those are all that it has; None for others."""
    own = [base for base in kind.__mro__ if not is_library(base.__module__)]
    solid = next((base for base in (collections.OrderedDict, dict, list) if issubclass(kind, base)), object)
    rest = [base for base in kind.__mro__ if base not in own and base not in solid.__mro__]
    good = own and own[0] is kind and all(base in _EMPTY for base in rest)
    if not good or hasattr(kind, "__del__") or any(vars(base).get("__slots__") for base in own):
        return None
    return solid


def _remade(kind: Any, base: Any, items: Any, attributes: dict[str, Any]) -> Any:
    """An object without running code of its class."""
    new = base.__new__(kind)
    if base is list:
        list.extend(new, items)
    elif base is not object:
        for key, item in items.items():
            base.__setitem__(new, key, item)
    vars(new).update(attributes)
    return new


#: Bases of classes in Python that keep nothing.
_EMPTY = (abc.ABC, typing.Generic, typing.Protocol)


def _without(value: Any, names: list[str]) -> Any:
    """A copy of a dataclass instance that holds on to none of its traced fields."""
    template = shallow_copy(value)
    for name in names:
        object.__setattr__(template, name, None)
    return template


def _fill(template: Any, fields: dict[str, Any]) -> Any:
    new = shallow_copy(template)
    for name, value in fields.items():
        object.__setattr__(new, name, value)
    return new


def _is_immutable(value: Any) -> bool:
    probe = ValueGuards(Scope(), "")
    try:
        probe.visit(probe.source("", "", Site("", 0, "")), value)
    except UnsupportedError:
        return False
    return len(probe.seen) == 0 or isinstance(value, (type, types.FunctionType, types.ModuleType))
