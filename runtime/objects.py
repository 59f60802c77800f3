"""Guards on what has attributes: instances, classes, functions and modules.

Looking a name up gives what the first of a row of namespaces has: an instance's own, then those of its classes.
So guards tell not only what was found but that nothing was found before it, and where nothing was found at all.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
import functools
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any

from opweave.registry.binding import Awaited
from opweave.registry.errors import Site, UnrecordedError, UnsupportedError
from opweave.registry.op import Namespace, OpOverload, Ops
from opweave.registry.packet import OpOverloadPacket
from opweave.registry.replay import Function
from opweave.registry.tensor import Tensor
from opweave.runtime.classes import CONSTRUCTORS, RARE, SPECIAL, ClassFacts, Registered, static_lookup
from opweave.runtime.draws import drawing
from opweave.runtime.exact import scalar_token
from opweave.runtime.purity import asking_names, asks, impure, is_library, may_call_back
from opweave.runtime.sources import MISSING, Source, brief, code_site
from opweave.runtime.world import WorldGuards, warning_filters

_DESCRIPTORS = (
    types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType, types.MethodDescriptorType,
    types.ClassMethodDescriptorType, types.BuiltinFunctionType,
)  # fmt: skip
_ENUM_OWN = frozenset({"_name_", "__objclass__", "_sort_order_", "_inverted_"})


class ObjectGuards(WorldGuards):
    """Guards of attributes; `visit` comes with `runtime.values`."""

    def __init__(self, scope: Any, prefix: str) -> None:
        super().__init__(scope, prefix)
        self._classes: dict[type, Source] = {}
        self._constructed: set[type] = set()
        self._sets: dict[frozenset[str], frozenset[str]] = {}
        self._data: dict[type, frozenset[str]] = {}
        self.class_facts: list[ClassFacts] = []
        #: Where objects were found that code may compare by `is`.
        self.objects: list[Source] = []

    def visit(self, source: Source, value: Any) -> None:
        """Guard a value and everything in it that the code may read."""
        raise NotImplementedError

    def apart(self) -> None:
        """Require that objects that were different ones stay so."""
        if len(self.objects) > 1:
            ids = ", ".join(f"id({source.var})" for source in self.objects)
            names = ", ".join(source.text for source in self.objects)
            test = f"len({{{ids}}}) == {len(self.objects)}"
            self.require(test, self.objects[0], lambda now: f"two of {names} became one object")

    # ---- functions -------------------------------------------------------------------------------------------------

    def look_into(self, source: Source, value: Any) -> None:
        """Find the code behind a function, class, module or op, which then is part of what is traced."""
        if id(value) in self.seen:
            return
        self.seen[id(value)] = (value, source)
        if isinstance(value, types.FunctionType):
            self._function(source, value)
        elif isinstance(value, type):
            self._type(source, value)
        elif isinstance(value, types.ModuleType):
            self._module(source, value)
        elif isinstance(value, Awaited):
            return  # a function of opweave's own
        elif isinstance(value, Function):
            self.look_into(source, value.__wrapped__)
        elif isinstance(value, OpOverloadPacket) and not value.is_waiting:  # for which no user registered anything
            for name in value.overloads():
                self.op_rules(getattr(value, name), source.site)

    def walk(self, function: Any, site: Site) -> None:
        """Follow the code of a function that something else is known by."""
        while isinstance(function, (types.MethodType, staticmethod, classmethod)):
            function = function.__func__
        if isinstance(function, types.FunctionType):
            if is_library(function.__globals__.get("__name__")):
                # What a library's decorator made of a user's function, as `contextmanager` does.
                if not is_library(function.__module__):
                    for cell in function.__closure__ or ():
                        if cell != _EMPTY_CELL and isinstance(cell.cell_contents, _FUNCTIONS):
                            self.walk(cell.cell_contents, site)
            elif not is_library(function.__module__):
                self.scope.add(function)
            wrapped = function.__dict__.get("__wrapped__")
            if isinstance(wrapped, types.FunctionType) and wrapped is not function:
                self.walk(wrapped, site)

    def op_rules(self, op: OpOverload, site: Site) -> None:
        """What a user registered for an op and runs in a trace is part of it."""
        self.walk(getattr(op.body, "fn", op.body), site)
        self.calls_back |= has_rules(op)
        before, self.scope.in_rules = self.scope.in_rules, True
        for rule in (op.fake, op.batch_rule):
            self.walk(getattr(rule, "fn", rule), site)
        self.scope.in_rules = before

    def _function(self, source: Source, function: types.FunctionType) -> None:
        if is_library(function.__module__):
            self.pure(function.__module__, function.__name__, source)
            return
        self.walk(function, source.site)
        self._about(source, function, _OF_FUNCTIONS)
        own = function.__dict__
        if own or self.scope.loose or self.scope.reflects:
            names = frozenset(self.scope.loose) | (self.scope.names if self.scope.reflects else frozenset())
            if isinstance(own.get("registry"), types.MappingProxyType) and "dispatch" in own:  # singledispatch
                self._attribute(source, "registry", own["registry"])
            if self.scope.reflects:
                self.same_names(source, own)
                names = names.union(own)
            self._attributes(source, own, names, self.scope.lacking, lazily=True)

    def _about(self, source: Source, value: Any, names: tuple[str, ...]) -> None:
        """What a function or class tells of itself, where the code names it."""
        for name in names:
            if name in self.scope.attributes:
                if name in _NAMESPACES:
                    raise unrecorded(f"{source.text}.{name}", self.scope.attributes[name])
                self._attribute(source, name, getattr(value, name, None))

    def pure(self, module: str | None, name: str, source: Source) -> None:
        """Refuse a library's function or class that asks for more than its arguments."""
        if module == "decimal":
            self.decimals(source)
        elif module == "warnings":
            self.world(source, warning_filters, "warnings' filters")
        elif module == "dataclasses":
            self.scope.mention(["__dataclass_fields__"], source.site)
        elif module == "inspect":
            self.scope.mention(_SIGNATURES, source.site)
        elif module == "os" and name == "getenv":
            self.environment(source)
            return
        self.calls_back |= may_call_back(module)
        if impure(module or "", name):
            raise _impure(f"{module}.{name}", source.site)
        if asks(module, name):
            raise unrecorded(source.text or f"{module}.{name}", source.site, f"{module}.{name}")

    def code(self, function: types.FunctionType) -> None:
        """Guard a function whose code is part of the trace: its code, which a notebook may replace, and defaults."""
        site = code_site(function.__code__)
        text, owner = function.__name__, self.constant(function)
        known = self.seen.get(id(function))
        if known is not None:
            text = known[1].text
        self.same(self.source(f"{owner}.__code__", f"the code of {text}", site), function.__code__)
        if function.__defaults__:
            self.visit(self.source(f"{owner}.__defaults__", f"{text}.__defaults__", site), function.__defaults__)
        if function.__kwdefaults__:
            self.visit(self.source(f"{owner}.__kwdefaults__", f"{text}.__kwdefaults__", site), function.__kwdefaults__)

    # ---- namespaces ------------------------------------------------------------------------------------------------

    def _attribute(self, source: Source, name: str, value: Any, *, stored: bool = False) -> None:
        load = f"{source.var}.__dict__[{name!r}]" if stored or not name.isidentifier() else f"{source.var}.{name}"
        site = self.scope.attributes.get(name, source.site)
        self.visit(self.source(load, f"{source.text}.{name}", site), value)

    def _attributes(
        self,
        source: Source,
        own: dict[str, Any],
        names: frozenset[str],
        lacking: frozenset[str],
        *,
        lazily: bool = False,
        stored: bool = False,
    ) -> None:
        """Guard the names that a namespace `source.__dict__` has, and that it lacks others.

        Parameters
        ----------
        source : Source
            The owner.
        own : dict
            Its namespace.
        names : frozenset of str
            Those that the code may read.
        lacking : frozenset of str
            Those of them whose absence makes a difference.
        lazily : bool
            The namespace is empty as a rule, which is tested first.
        stored : bool
            Values are fetched from the namespace, since reading the attribute may run code.
        """
        absent = (names & lacking).difference(own)
        if absent:
            text, space, held = source.text, f"{self.get(source)}.__dict__", f"{self.prefix}d"
            if len(absent) <= 4:
                first, *others = sorted(absent)
                test = " and ".join(
                    [f"{first!r} not in ({held} := {space})", *(f"{n!r} not in {held}" for n in others)]
                )
            else:
                test = f"{self.constant(self._sets.setdefault(absent, absent))}.isdisjoint({space})"
            if lazily and not own:
                test = f"(not {space} or {test})"
            self.require(test, source, _appeared(text, absent))
        for name in own:
            if name in names:
                self._attribute(source, name, own[name], stored=stored)

    def same_names(self, source: Source, own: Iterable[str]) -> None:
        """Require that a namespace has the very names, in their order."""
        names, text = [*own], source.text
        self.require(
            f"[*{self.get(source)}.__dict__] == {self.constant(names)}",
            source,
            lambda now: f"attributes of {text} {brief(names)} → {brief(list(getattr(now, '__dict__', ())))}",
        )

    # ---- instances -------------------------------------------------------------------------------------------------

    def instance(self, source: Source, value: Any, *, whole: bool = False) -> None:
        """Guard an object by the attributes that the code names; with `whole`, by all that it has."""
        kind: Any = type(value)
        self.get(source)
        if not is_library(kind.__module__):
            self.user_class(kind, source.site)
        names = self.scope.names
        if hasattr(kind, "__dataclass_fields__"):
            names |= {f.name for f in dataclasses.fields(value)}
        own = getattr(value, "__dict__", None)
        if isinstance(own, dict):
            hooked = static_lookup(kind, "__getattribute__")[1] is not object.__getattribute__
            if whole or self.scope.reflects:
                self.same_names(source, own)
                names = names.union(own)
            shown = names - self._overriding(kind)
            if isinstance(value, enum.Enum):
                shown = (shown - _ENUM_OWN) | {"_value_"}
            lacking = self._lacking(kind)
            self._attributes(source, own, shown, shown if lacking is None else lacking, stored=hooked)
        for name in [s for c in kind.__mro__ for s in _slots(c)]:
            if name in names or whole or self.scope.reflects:
                self._slot(source, value, kind, name)

    def _lacking(self, kind: type) -> frozenset[str] | None:
        """Names for which it matters that an instance does not have them; None for all."""
        if static_lookup(kind, "__getattr__")[0] is not None:
            return None
        names = {name for base in kind.__mro__ for name in base.__dict__}
        return self.scope.lacking | names

    def _overriding(self, kind: type) -> frozenset[str]:
        """Names for which a class answers even where its instance has them itself, as a property does."""
        found = self._data.get(kind)
        if found is None:
            names = {name for base in kind.__mro__ for name in base.__dict__}
            found = self._data[kind] = frozenset(name for name in names if _overrides(kind, name))
        return found

    def _slot(self, source: Source, value: Any, kind: type, name: str) -> None:
        if name.startswith("__") and not name.endswith("__"):
            owner = next(c for c in kind.__mro__ if name in _slots(c))
            name = f"_{owner.__name__.lstrip('_')}{name}"
        if not isinstance(static_lookup(kind, name)[1], types.MemberDescriptorType):
            return
        now = getattr(value, name, MISSING)
        if now is not MISSING:
            self._attribute(source, name, now)
            return
        text = f"{source.text}.{name}"
        self.require(
            f"not hasattr({source.var}, {name!r})", source, lambda now: f"{text} nothing → {brief(getattr(now, name))}"
        )

    # ---- classes ---------------------------------------------------------------------------------------------------

    def _type(self, source: Source, kind: type) -> None:
        if self.scope.tests_types:
            self._registrations(source, kind)
        if is_library(kind.__module__):
            if kind is not Tensor and not issubclass(kind, BaseException):
                self.pure(kind.__module__, kind.__name__, source)
                self.asks_by_method(kind, source)
            return
        self.user_class(kind, source.site)
        self._constructor(kind, source.site)

    def _constructor(self, kind: type, site: Site) -> None:
        """What making an instance runs."""
        if kind in self._constructed:
            return
        self._constructed.add(kind)
        facts = ClassFacts(kind, CONSTRUCTORS, self._stateful, deep=self.scope.uses_super)
        self.facts(self._classes[kind], facts)
        self._class_attributes(facts, site)

    def asks_by_method(self, kind: type, source: Source) -> None:
        """Refuse methods of a library's class that ask the world, where the code names them."""
        for base in kind.__mro__:
            for name in asking_names(base.__module__) & self.scope.attributes.keys():
                if name in vars(base):
                    raise unrecorded(f"{base.__module__}.{base.__name__}.{name}", self.scope.attributes[name])

    def user_class(self, kind: type, site: Site) -> None:
        """Guard what a class gives to its instances and by itself, once: methods, properties and constants."""
        if kind in self._classes:
            return
        name = self.constant(kind)
        source = self._classes[kind] = Source(name, kind.__name__, site, name, bound=True)
        self.seen.setdefault(id(kind), (kind, source))
        names = self.scope.names | SPECIAL
        own = [base for base in kind.__mro__ if not is_library(base.__module__)]
        if any((c.__module__ or "").startswith("opweave") and c is not Tensor for c in kind.__mro__):
            # Classes derived from opweave's (an autograd Function) are called back through methods no user code names.
            names |= {n for base in own for n, v in vars(base).items() if isinstance(v, _CODE)}
        if self.scope.reflects or "__dict__" in self.scope.attributes:
            names |= {n for base in own for n in vars(base)}
        facts = ClassFacts(kind, names, self._stateful, closed=self.scope.reflects, deep=self.scope.uses_super)
        self.facts(source, facts)
        self._class_attributes(facts, site)
        if "__class__" in self.scope.attributes or self.scope.makes_types:
            self._constructor(kind, site)
        if issubclass(kind, enum.Enum):
            for member in kind:
                if member.name in names or member.__dict__.keys() - _ENUM_OWN - {"_value_"}:
                    load = f"{name}.__members__[{member.name!r}]"
                    self.visit(self.source(load, f"{kind.__name__}.{member.name}", site), member)
        self._about(source, kind, _OF_CLASSES)
        if "__subclasses__" in self.scope.attributes:
            self._subclasses(source, kind)
        if self.scope.tests_types:
            self._registrations(source, kind)
            if getattr(kind, "_is_protocol", False):  # asks for each of its names
                asked = [n for n in {*vars(kind), *vars(kind).get("__annotations__", ())} if not n.startswith("_")]
                self.scope.mention(asked, site)
                self.scope.optional.update(asked)
        if not is_library(type(kind).__module__):
            self.user_class(type(kind), site)

    def _class_attributes(self, facts: ClassFacts, site: Site) -> None:
        for name, base, value in facts.found:
            if is_library(base.__module__):
                continue
            if name not in RARE or name in self.scope.attributes:
                self._class_attribute(base, name, value, site)
            elif isinstance(value, _CODE):
                self.calls_back = True
            if isinstance(value, classmethod):  # it may make an instance
                self._constructor(facts.kind, site)

    def facts(self, source: Source, facts: ClassFacts) -> None:
        """Guard a class by its version, and where that moved by its attributes."""
        self.class_facts.append(facts)
        tag, known, holds = self.constant(facts.tag), self.constant(facts.known), self.constant(facts.holds)
        text = facts.kind.__name__
        self.require(
            f"({tag}[0] == {known}[0] or {holds}())", source, lambda now: facts.difference() or f"class {text} changed"
        )

    @staticmethod
    def _stateful(attribute: Any) -> bool:
        """Whether a class attribute has a guard of its own, so that its class only has to have it at all."""
        if attribute is MISSING or isinstance(attribute, (*_CODE, *_DESCRIPTORS, type)):
            return False
        return scalar_token(attribute) is None

    def _class_attribute(self, base: type, name: str, value: Any, site: Site) -> None:
        site = self.scope.attributes.get(name, site)
        text, owner = f"{base.__name__}.{name}", self.constant(base)
        if isinstance(getattr(value, "__func__", value), _BOUND):  # nothing else tells of the object
            held = value if isinstance(value, _BOUND) else value.__func__
            self.visit(Source("", text, site, self.constant(held), bound=True), held)
        elif isinstance(value, (types.FunctionType, staticmethod, classmethod)):
            self.walk(value, site)
        elif isinstance(value, property):
            for part in (value.fget, value.fset, value.fdel):
                self.walk(part, site)
        elif isinstance(value, functools.cached_property):
            self.walk(value.func, site)
        elif isinstance(value, _DESCRIPTORS) or name in ("__class__", "__dict__", "__weakref__"):
            return
        elif isinstance(value, type):
            self.look_into(Source("", text, site, f"{owner}.__dict__[{name!r}]", bound=True), value)
        elif scalar_token(value) is None:
            self.visit(self.source(f"{owner}.__dict__[{name!r}]", text, site), value)

    def _subclasses(self, source: Source, kind: type) -> None:
        text, read = kind.__name__, self.constant(type.__subclasses__)
        known = type.__subclasses__(kind)
        self.require(
            f"{read}({source.var}) == {self.constant(known)}", source, lambda now: f"subclasses of {text} changed"
        )
        for each in known:
            self.user_class(each, source.site)

    def _registrations(self, source: Source, kind: type) -> None:
        if not hasattr(kind, "_abc_impl") or ("abc", kind) in self._once:
            return
        self._once.add(("abc", kind))
        made, text = Registered(kind), kind.__name__
        token = self.constant(_TOKEN)
        self.require(
            f"({token}() == {self.constant(made.known)}[0] or {self.constant(made.holds)}())",
            source,
            lambda now: f"classes registered with {text} changed",
        )

    # ---- modules ---------------------------------------------------------------------------------------------------

    def _module(self, source: Source, module: types.ModuleType) -> None:
        """A module that is used otherwise than by its attributes: any of those the code names may be read from it."""
        if self.scope.reflects:
            if asks(module.__name__, None) or not is_library(module.__name__) or impure(module.__name__, ""):
                raise unrecorded(f"{module.__name__} by computed names", source.site)
            self._numbers_of(source, module)
        self.module_names(source, module)

    def _numbers_of(self, source: Source, module: types.ModuleType) -> None:
        """Guard what a library's module has besides functions, classes and objects, which are taken as they are."""
        known = {name: value for name, value in vars(module).items() if type(value) in _NUMBERS and name[:2] != "__"}
        if not known:
            return
        read, text = operator.itemgetter(*known), source.text
        test = f"{self.constant(read)}({self.get(source)}.__dict__) == {self.constant(read(vars(module)))}"
        self.require(test, source, lambda now: f"settings of {text} changed")

    def module_names(self, source: Source, module: types.ModuleType) -> None:
        """Guard all names of a module that the code mentions, and that it lacks those it asks for."""
        for name in sorted(self.scope.names):
            if name in vars(module):
                self.module_attribute(source, module, (name,), self.scope.attributes.get(name, source.site))
        absent = self.scope.lacking.difference(vars(module))
        if absent:
            test = f"{self.get(source)}.__dict__.keys().isdisjoint({self.constant(absent)})"
            self.require(test, source, _appeared(source.text, absent))

    def module_attribute(self, source: Source, module: types.ModuleType, path: tuple[str, ...], site: Site) -> None:
        """Follow `module.a.b`."""
        name, library = path[0], is_library(module.__name__)
        text = f"{source.text}.{name}"
        if name == "__dict__":
            raise unrecorded(f"{module.__name__}.__dict__", site)
        load = f"{self.get(source)}.{name}"
        value = getattr(module, name, MISSING)
        if name not in vars(module):  # what the module gives by a function of its own, or does not have
            self.walk(vars(module).get("__getattr__"), site)
            if value is MISSING:
                self._no_attribute(source, module, name, site)
                return
        where = Source("", text, site, load, bound=True)
        if isinstance(value, types.ModuleType):
            if len(path) > 1:
                self.module_attribute(where, value, path[1:], site)
            else:
                self.look_into(where, value)
            return
        stand_in = drawing(value)
        if stand_in is not None:
            if (id(module), name) not in self._once:
                self._once.add((id(module), name))
                self.draw(self.source(load, text, site), vars(module), name, stand_in)
            return
        if library:
            for each in path[:2]:
                if impure(module.__name__, each):
                    raise _impure(f"{module.__name__}.{each}", site)
            if name in asking_names(module.__name__):
                raise unrecorded(f"{module.__name__}.{name}", site)
        if isinstance(value, (Ops, Namespace)):
            self.op_path(where, value, path[1:])
            return
        if isinstance(value, type):
            refuse_impure(value.__module__, path[1:], site)
        if (id(module), name) in self._once:
            return
        self._once.add((id(module), name))
        # A number of a library is compared as an object: nobody makes another of it but by assigning it.
        structure = isinstance(value, tuple) and type(value) is not tuple
        fixed = library and (callable(value) or scalar_token(value) is not None or structure)
        if fixed:
            self.same(self.source(load, text, site), value)
            self.look_into_callable(where, value)
            return
        try:
            self.visit(self.source(load, text, site), value)
        except UnsupportedError:
            if library:
                raise unrecorded(f"{module.__name__}.{name}", site) from None
            raise

    def look_into_callable(self, source: Source, value: Any) -> None:
        """What a library's function, class or op is taken as."""
        if isinstance(value, types.BuiltinFunctionType):
            self.builtin(source, value)
        else:
            self.look_into(source, value)

    def builtin(self, source: Source, value: types.BuiltinFunctionType) -> None:
        """A function in C: of a module, or bound to an object."""
        owner = value.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            self.pure(value.__module__ or "builtins", value.__name__, source)
        elif isinstance(owner, type):
            if is_library(owner.__module__):
                self.pure(owner.__module__, value.__name__, source)
        else:
            self.visit(self.source(f"{source.var}.__self__", f"{source.text}.__self__", source.site), owner)

    def _no_attribute(self, source: Source, module: types.ModuleType, name: str, site: Site) -> None:
        text = f"{source.text}.{name}"
        where = Source("", text, site, source.var, bound=True)
        test = f"{name!r} not in {self.get(source)}.__dict__"
        self.require(test, where, lambda now: f"{text} nothing → {brief(vars(now).get(name))}")

    def op_path(self, source: Source, value: Any, path: tuple[str, ...]) -> None:
        """`ops.namespace.name`: a triton_op's body is part of the trace."""
        for name in path:
            value = getattr(value, name, None)
            if isinstance(value, OpOverloadPacket):
                self.look_into(source, value)


_NUMBERS = (bool, int, float, str, type(None))
#: What tells a function's signature.
_SIGNATURES = ("__signature__", "__wrapped__", "__defaults__", "__kwdefaults__", "__annotations__", "__code__")
_NAMESPACES = frozenset({"__globals__", "__closure__", "__builtins__"})
_OF_FUNCTIONS = ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__", *sorted(_NAMESPACES))
_OF_CLASSES = ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__")
_FUNCTIONS = (types.FunctionType, types.MethodType)
_EMPTY_CELL = types.CellType()
_CODE = (types.FunctionType, staticmethod, classmethod, property, functools.cached_property)
_BOUND = (types.BuiltinFunctionType, types.MethodType)
_TOKEN = abc.get_cache_token


def has_rules(op: OpOverload) -> bool:
    """Whether a user registered something for an op that a trace may run."""
    if op.decl is None:
        return True
    rules = (op.fake, op.batch_rule, *op.kernels.values(), *op.dispatch_rules.values(), *op.autocast_rules.values())
    functions = [getattr(rule, "fn", rule) for rule in rules]
    return any(isinstance(f, types.FunctionType) and not is_library(f.__module__) for f in functions)


def unrecorded(what: str, site: Site, got: str | None = None) -> UnrecordedError:
    """An error for what no guard can see change; by default the function then runs uncompiled, with a warning."""
    return UnrecordedError(
        f"compile: what {what} gives may change, which no guard would see",
        got=got or what,
        at=site,
        hint="read it outside of the compiled function, and pass what it gave as an argument",
    )


def refuse_impure(module: str, path: tuple[str, ...], site: Site) -> None:
    """Refuse names of a module, or of a class of its, that give another value at each call."""
    for name in path:
        if impure(module, name):
            raise _impure(f"{module}.{name}", site)


def _impure(name: str, site: Site) -> UnsupportedError:
    return UnsupportedError(
        f"compile: {name} gives another value at each call, but a compiled function would keep the first one",
        got=name,
        at=site,
        hint="call it outside and pass the result as an argument",
    )


def _appeared(text: str, absent: frozenset[str]) -> Callable[[Any], str]:
    def explain(now: Any) -> str:
        space = getattr(now, "__dict__", {})
        name = next((name for name in space if name in absent), None)
        return f"attributes of {text} changed" if name is None else f"{text}.{name} nothing → {brief(space[name])}"

    return explain


def _overrides(kind: type, name: str) -> bool:
    """Whether a class answers for a name even where its instance has that itself, as a property does."""
    attribute = static_lookup(kind, name)[1]
    if attribute is MISSING:
        return False
    of = type(attribute)
    return static_lookup(of, "__set__")[1] is not MISSING or static_lookup(of, "__delete__")[1] is not MISSING


def _slots(kind: type) -> list[str]:
    slots = vars(kind).get("__slots__", ())
    return [slots] if isinstance(slots, str) else [s for s in slots if s not in ("__dict__", "__weakref__")]
