"""Guards of modules (`opweave.nn.Module`): objects whose tensors and parts stand in dicts, where names are looked up.

A module of this library's is guarded by all that it keeps, since its code is not followed; one of the user's by the
attributes that the code names. Its tensors are inputs of what is compiled, by layout: other numbers in them, a loaded
checkpoint and another tensor in the place of a parameter are read at the next call.
"""

from __future__ import annotations

import functools
import operator
import types
from typing import Any

from opweave.runtime.classes import OwnFacts, static_lookup
from opweave.runtime.objects import ObjectGuards
from opweave.runtime.purity import is_library
from opweave.runtime.reads import scan
from opweave.runtime.sources import MISSING, Source, brief

_STORES = ("_parameters", "_buffers", "_modules")
#: What stands in no dict of its own and decides what a call runs, even where a module has it not.
_ALWAYS = frozenset({"training", "forward", "_hooked"})
_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks", "_node_hooks")
#: What calls do not read.
_BOOKS = frozenset({"_non_persistent_buffers_set", *_STORES})
#: What reading a class may give it.
_OF_CLASSES = frozenset({"__annotations__", "__abstractmethods__", "_abc_impl"})
_SIMPLE = (bool, int, str, type(None))


def is_module(kind: type) -> bool:
    """Whether a class is a module's."""
    return hasattr(kind, "__opweave_module__")


@functools.cache
def _mentioned(kind: type) -> frozenset[str]:
    """Attributes that the code of a layer of this library's names, for classes of the user's that derive from it."""
    functions = [f for f in vars(kind).values() if isinstance(f, types.FunctionType)]
    return frozenset(name for f in functions for name in scan(f.__code__).attributes)


def is_optimizer(kind: type) -> bool:
    """Whether a class is an optimizer's."""
    return hasattr(kind, "__opweave_optimizer__")


def _never(attribute: Any) -> bool:
    return False


class ModuleGuards(ObjectGuards):
    """Guards of modules and of optimizers."""

    def optimizer(self, source: Source, value: Any) -> None:
        """Guard an optimizer: the settings of its groups, and the gradients and the state of its parameters."""
        kind: Any = type(value)
        self.exact_type(source, value)
        if not is_library(kind.__module__):
            self.user_class(kind, source.site)
            self.instance(source, value)
        self._own_classes(kind, source)
        where = self.source(f"{source.var}.__dict__['state']", f"{source.text}.state", source.site)
        self.get(where)
        count, text, state = len(value.state), source.text, value.state
        self.seen[id(state)] = (state, where)
        self.require(
            f"len({where.var} := {where.load}) == {count}",
            where,
            lambda now: f"len({text}.state) {count} → {len(now)}",
        )
        for name in ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks"):
            self._attribute(source, name, getattr(value, name), stored=True)
        self._attribute(source, "param_groups", value.param_groups, stored=True)
        for i, group in enumerate(value.param_groups):
            for k, parameter in enumerate(group["params"]):
                var = self.seen[id(parameter)][1].var
                self.gradients.add(id(parameter))
                part = f"{text}.param_groups[{i}]['params'][{k}]"
                self.visit(self.source(f"{var}.grad", f"{part}.grad", source.site), parameter.grad)
                if parameter in state:
                    self.visit(self.source(f"{where.var}[{var}]", f"state of {part}", source.site), state[parameter])

    def module(self, source: Source, value: Any) -> None:
        """Guard a module: its class, its mode, what it keeps, and all modules in it."""
        kind: Any = type(value)
        own: dict[str, Any] = value.__dict__
        self.exact_type(source, value)
        if not is_library(kind.__module__):
            self.user_class(kind, source.site)
        self._own_classes(kind, source)
        if kind._hooked:
            for which, hooks in vars(kind._hooks_of_all).items():
                name = self.constant(hooks)
                self.visit(Source(name, f"{which} hooks of all modules", source.site, name, bound=True), hooks)
        names = self._names(kind, own)
        simple = [name for name in own if name in names and type(own[name]) in _SIMPLE]
        self._simple(source, own, simple)
        self._lacks(source, kind, own)
        for name in own:
            if name in names and type(own[name]) not in _SIMPLE:
                self._attribute(source, name, own[name], stored=True)
        for store in _STORES:
            if store in own:
                self._store(source, store, own[store])

    def _own_classes(self, kind: type, source: Source) -> None:
        """Guard what this library's classes give to a class, each once: nothing else sees methods being replaced."""
        own = [base for base in kind.__mro__ if is_library(base.__module__) and base is not object]
        for base in own:
            if any(issubclass(other, base) for other in own if other is not base) or ("methods", base) in self._once:
                continue
            self._once.add(("methods", base))
            names = {name for each in base.__mro__ if each is not object for name in vars(each)} - _OF_CLASSES
            facts = OwnFacts(base, names, _never)
            derived = next((each for each in self.class_facts if each.kind is kind and kind is not base), None)
            if derived is not None:
                derived.below.append(facts)
            else:
                name = self.constant(base)
                self.facts(Source(name, base.__name__, source.site, name, bound=True), facts)
            modules = {getattr(value, "__module__", None) for _, _, value in facts.found}
            self.calls_back |= any(not is_library(module) for module in modules - {None})

    def _names(self, kind: type, own: dict[str, Any]) -> frozenset[str]:
        """The attributes, other than parameters, buffers and modules, that a call may read."""
        if self.scope.reflects or is_library(kind.__module__):
            found = frozenset(own)
        else:
            found = self.scope.names | _ALWAYS
            for base in kind.__mro__:
                if is_library(base.__module__) and is_module(base) and "__opweave_module__" not in vars(base):
                    found |= _mentioned(base)
        if "_hooked" in own:
            found |= frozenset(_HOOKS)
        elif not self.scope.reflects:
            found -= frozenset(_HOOKS)
        return found - _BOOKS

    def _simple(self, source: Source, own: dict[str, Any], names: list[str]) -> None:
        """Guard numbers and texts, all by one comparison; types too, since 1 equals True."""
        if not names:
            return
        read, held, text = operator.itemgetter(*names), f"{self.prefix}m", source.text
        known: Any = read(own)
        test = f"({held} := {self.constant(read)}({source.var}.__dict__)) == {self.constant(known)}"
        if len(names) > 1:
            kinds = [type(value) for value in known]
            test += f" and [*map(type, {held})] == {self.constant(kinds)}"
        else:
            test += f" and type({held}) is {self.constant(type(known))}"
        old = {name: own[name] for name in names}

        def explain(now: Any) -> str:
            space = getattr(now, "__dict__", {})
            for name, before in old.items():
                value = space.get(name, MISSING)
                if type(value) is not type(before) or value != before:
                    return f"{text}.{name} {brief(before)} → {brief(value)}"
            return f"attributes of {text} changed"

        self.require(test, source, explain)

    def _lacks(self, source: Source, kind: type, own: dict[str, Any]) -> None:
        """Guard that a module has no attributes that would be found before those that the trace found."""
        names = self.scope.names
        if static_lookup(kind, "__getattr__")[0] is not None and not self._gets_by_store(kind):
            absent = names | _ALWAYS
        else:
            held = [name for store in _STORES for name in own.get(store, ()) if name in names]
            of_class = {name for base in kind.__mro__ for name in base.__dict__}
            absent = names & (self.scope.lacking | of_class | frozenset(held)) | _ALWAYS
        if "_hooked" in own:
            absent |= frozenset(_HOOKS)
        absent = absent.difference(own)
        text = source.text
        frozen = self.constant(self._sets.setdefault(absent, absent))
        self.require(
            f"{frozen}.isdisjoint({source.var}.__dict__)",
            source,
            lambda now: next(
                (f"{text}.{n} nothing → {brief(v)}" for n, v in now.__dict__.items() if n in absent),
                f"attributes of {text} changed",
            ),
        )

    @staticmethod
    def _gets_by_store(kind: type) -> bool:
        """Whether names that are no attributes are looked up in the dicts alone."""
        owner = next((base for base in kind.__mro__ if "__getattr__" in vars(base)), None)
        return owner is not None and "__opweave_module__" in vars(owner)

    def _store(self, source: Source, store: str, held: dict[str, Any]) -> None:
        where = self.source(f"{source.var}.__dict__[{store!r}]", source.text, source.site)
        keys, text = [*held], source.text
        self.seen[id(held)] = (held, where)
        self.require(
            f"[*{self.get(where)}] == {self.constant(keys)}" if keys else f"not {self.get(where)}",
            where,
            lambda now: f"{text}: names in {store} {brief(keys)} → {brief(list(now))}",
        )
        for name, value in held.items():
            site = self.scope.attributes.get(name, source.site)
            part = f"{text}[{name}]" if name.isdigit() else f"{text}.{name}"
            self.visit(self.source(f"{where.var}[{name!r}]", part, site), value)
