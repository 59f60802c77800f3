"""Everything a call of a function may read, found by following its code, and guarded.

A function's values come from three places: its arguments, the variables it closes over, and global variables. The
functions it calls are followed in turn; those of libraries are taken as they are. What is followed is more than what a
trace runs; that it is not less is checked by looking on while it runs (`runtime.watching`).
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
import types
from typing import Any

from opweave.registry.errors import Site, UnsupportedError
from opweave.registry.interrupts import let_through
from opweave.registry.keys import BATCHED_BIT
from opweave.registry.op import Namespace, Ops
from opweave.runtime.draws import drawing
from opweave.runtime.objects import refuse_impure, unrecorded
from opweave.runtime.purity import asking_names, impure
from opweave.runtime.reads import Name, scan
from opweave.runtime.request import Request
from opweave.runtime.sources import Scope, Source, brief, code_site
from opweave.runtime.values import ValueGuards
from opweave.runtime.watching import Known

_EMPTY_CELL = types.CellType()


def guards_of(request: Request) -> ValueGuards:
    """Guards of what a call may read.

    Parameters
    ----------
    request : Request
        The call.

    Raises
    ------
    UnsupportedError
        If that cannot be guarded.
    """
    function, arguments = request.function, request.arguments
    try:
        guards = find_dependencies(function, arguments, request.prefix, request.also)
    except RecursionError:
        raise too_deep(function, "takes") from None
    batched = next((t for t in guards.tensors if t.tensor._keys & BATCHED_BIT), None)
    if batched is not None:
        raise UnsupportedError(
            f"compile: {name_of(function)} reads {batched.source.text}, which vmap batches",
            got=brief(batched.tensor),
            hint="pass it as an argument, or vmap the uncompiled function",
        )
    return guards


def find_dependencies(function: Any, arguments: dict[str, Any], prefix: str, also: Known | None = None) -> ValueGuards:
    """Guard everything that a call of `function` with these arguments may read.

    Parameters
    ----------
    function : callable
        The user's function.
    arguments : dict of str to object
        Parameter name -> value.
    prefix : str
        For the names in the guards' expressions.
    also : Known, optional
        What else runs in the trace.
    """
    scope = Scope()
    target = function
    while isinstance(target, types.MethodType):
        target = target.__func__
    if isinstance(target, types.FunctionType):
        scope.add(target)
    also = also or Known()
    scope.ran = also.ran
    for each in also.functions:
        scope.add(each)
    scope.rules.update(dict.fromkeys(also.rules))
    for each in also.rules:
        scope.read(each)
    while True:
        before = scope.size
        guards = ValueGuards(scope, prefix)
        guards.ignored.update({id(value) for value in also.ignored})
        guards.asks_gradients = also.gradients
        _Roots(guards).visit(function, target, arguments)
        if scope.size == before:
            return guards


class _Roots:
    """Visits the places where a function's values come from."""

    def __init__(self, guards: ValueGuards) -> None:
        self.guards = guards
        self.variables: dict[tuple[int, str], Source] = {}
        #: Of each namespace the names that it does not have.
        self.absent: dict[int, tuple[dict[str, Any], set[str]]] = {}

    def visit(self, function: Any, target: Any, arguments: dict[str, Any]) -> None:
        guards = self.guards
        site = (
            code_site(target.__code__)
            if isinstance(target, types.FunctionType)
            else Site("<callable>", 0, brief(target))
        )
        for name, value in arguments.items():
            guards.visit(guards.argument(name, site), value)
        if isinstance(function, types.MethodType):
            guards.visit(guards.source(guards.constant(function.__self__), "self", site), function.__self__)
        elif not isinstance(target, types.FunctionType):
            guards.visit(guards.source(guards.constant(target), brief(target), site), target)
        done: set[types.FunctionType] = set()
        self._functions(guards.scope.functions, done)
        usual = set(guards.seen)
        guards.scope.in_rules = True
        self._functions(guards.scope.rules, done)
        guards.scope.in_rules = False
        guards.books = guards.seen.keys() - usual
        if guards.scope.compares_identity:
            guards.apart()
        for namespace, names in self.absent.values():
            source = guards.source(guards.constant(namespace), "builtins", site)
            test = f"{guards.get(source)}.keys().isdisjoint({guards.constant(frozenset(names))})"
            guards.require(test, source, lambda now, names=names: _appeared(now, names))

    def _functions(self, found: dict[types.FunctionType, None], done: set[types.FunctionType]) -> None:
        todo = [f for f in found if f not in done]
        while todo:
            for each in todo:
                done.add(each)
                self._function(each)
            todo = [f for f in found if f not in done]

    def _function(self, function: types.FunctionType) -> None:
        self.guards.code(function)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
        reads = scan(function.__code__).names
        kept = {n.path[0] for n in reads if n.written} if self.guards.scope.in_rules else ()
        for name in reads:
            if name.path[0] in kept:
                continue
            if name.kind == "global":
                self._global(function, name)
            elif name.kind == "cell" and name.path[0] in cells:
                self._cell(cells[name.path[0]], name)
            elif name.kind == "import":
                self._import(function, name)

    def _import(self, function: types.FunctionType, name: Name) -> None:
        """`import a.b` in a function looks for a module that is there, or not."""
        guards, wanted = self.guards, name.path[0]
        if wanted.startswith("."):
            wanted = importlib.util.resolve_name(wanted, function.__globals__.get("__package__") or "")
        parts = wanted.split(".")
        for module in [".".join(parts[: i + 1]) for i in range(len(parts))]:
            if module not in sys.modules:
                try:
                    importlib.import_module(module)
                except ImportError:
                    source = guards.source(guards.constant(sys.modules), f"the module {module}", name.site)
                    test = f"{module!r} not in {guards.get(source)}"
                    guards.require(test, source, lambda now, module=module: f"a module {module} appeared")
                    return
            key = (id(sys.modules), module)
            if key not in self.variables:
                load = f"{guards.constant(sys.modules)}[{module!r}]"
                self.variables[key] = guards.source(load, module, name.site)
            guards.same(self.variables[key], sys.modules[module])
            guards.module_names(self.variables[key], sys.modules[module])

    def _global(self, function: types.FunctionType, name: Name) -> None:
        namespace, variable = function.__globals__, name.path[0]
        if variable in namespace:
            load = f"{self.guards.constant(namespace)}[{variable!r}]"
            self._variable(namespace, variable, load, namespace[variable], name)
            return
        self.absent.setdefault(id(namespace), (namespace, set()))[1].add(variable)
        given = namespace.get("__builtins__", builtins)
        space = given if isinstance(given, dict) else vars(given)
        if variable in space:
            self._builtin(space, variable, name.site)
        else:
            self.absent.setdefault(id(space), (space, set()))[1].add(variable)

    def _builtin(self, space: dict[str, Any], variable: str, site: Site) -> None:
        if impure("builtins", variable):
            raise UnsupportedError(
                f"compile: {variable} inside a compiled function runs only when it is traced",
                got=f"builtins.{variable}",
                at=site,
                hint="call it outside and pass the result as an argument",
            )
        if variable in asking_names("builtins"):
            raise unrecorded(variable, site)
        if (id(space), variable) in self.variables:
            return
        module = space is vars(builtins)
        owner = self.guards.constant(builtins if module else space)
        load = f"{owner}.{variable}" if module else f"{owner}[{variable!r}]"
        source = self.variables[id(space), variable] = self.guards.source(load, variable, site)
        self.guards.same(source, space[variable])
        self.guards.look_into_callable(source, space[variable])

    def _cell(self, cell: types.CellType, name: Name) -> None:
        guards, variable = self.guards, name.path[0]
        try:
            value = cell.cell_contents
        except ValueError as error:  # not assigned yet: reading it raises NameError in the user's own code
            let_through(error)
            if (id(cell), variable) not in self.variables:
                source = guards.source(guards.constant(cell), variable, name.site)
                self.variables[id(cell), variable] = source
                test = f"{guards.get(source)} == {guards.constant(_EMPTY_CELL)}"
                guards.require(test, source, lambda now: f"{variable} nothing → {brief(now.cell_contents)}")
            return
        self._variable(cell, variable, f"{guards.constant(cell)}.cell_contents", value, name)

    def _variable(self, holder: Any, variable: str, load: str, value: Any, name: Name) -> None:
        guards, path, key = self.guards, name.path[1:], (id(holder), variable)
        source = self.variables.get(key)
        if source is None:
            source = self.variables[key] = guards.source(load, variable, name.site)
            stand_in = drawing(value) if isinstance(holder, dict) else None
            if stand_in is not None:
                guards.draw(source, holder, variable, stand_in)
            elif isinstance(value, types.ModuleType):
                guards.same(source, value)
            else:
                guards.visit(source, value)
        if isinstance(value, types.ModuleType):
            if path:
                guards.module_attribute(source, value, path, name.site)
            else:
                guards.look_into(source, value)
            return
        if path:
            guards.scope.loose.add(path[0])
        if isinstance(value, (Ops, Namespace)):
            guards.op_path(source, value, path)
        elif isinstance(value, type):
            refuse_impure(value.__module__, path, name.site)


def _appeared(namespace: dict[str, Any], names: set[str]) -> str:
    name = next((name for name in sorted(names) if name in namespace), "a name")
    if hasattr(builtins, name) and namespace is not vars(builtins):
        return "a builtin is shadowed by a new global variable"
    return f"{name} nothing → {brief(namespace.get(name))}"


def name_of(function: Any) -> str:
    return getattr(function, "__qualname__", None) or brief(function)


def too_deep(function: Any, does: str) -> UnsupportedError:
    return UnsupportedError(
        f"compile: {name_of(function)} {does} something that is nested too deep, or contains itself",
        got="more levels than Python's recursion limit allows",
        hint="use flat lists or dicts of tensors",
    )
