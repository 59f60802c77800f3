"""Everything a call of a function may read, found by following its code, and guarded.

A function's values come from three places: its arguments, the variables it closes over, and global variables. The
functions it calls are followed in turn; those of libraries are taken as they are.
"""

from __future__ import annotations

import builtins
import sys
import types
from typing import Any

from opweave.registry.errors import Site, UnsupportedError
from opweave.registry.op import Namespace, OpOverloadPacket, Ops
from opweave.runtime.guards import GuardSet
from opweave.runtime.reads import Name, impure, is_library, scan
from opweave.runtime.sources import Scope, Source, brief, code_site


def find_dependencies(function: Any, arguments: dict[str, Any], prefix: str) -> GuardSet:
    """Guard everything that a call of `function` with these arguments may read.

    Parameters
    ----------
    function : callable
        The user's function.
    arguments : dict of str to object
        Parameter name -> value.
    prefix : str
        For the names in the guards' expressions.
    """
    scope = Scope()
    target = function
    while isinstance(target, types.MethodType):
        target = target.__func__
    if isinstance(target, types.FunctionType):
        scope.add(target)
    while True:
        before = scope.size
        guards = GuardSet(scope, prefix)
        _Roots(guards).visit(function, target, arguments)
        if scope.size == before:
            return guards


class _Roots:
    """Visits the places where a function's values come from."""

    def __init__(self, guards: GuardSet) -> None:
        self.guards = guards
        self.variables: dict[tuple[int, str], Source] = {}
        self.shadowing: dict[int, tuple[dict[str, Any], set[str]]] = {}

    def visit(self, function: Any, target: Any, arguments: dict[str, Any]) -> None:
        guards = self.guards
        site = (
            code_site(target.__code__)
            if isinstance(target, types.FunctionType)
            else Site("<callable>", 0, brief(target))
        )
        for name, value in arguments.items():
            guards.visit(guards.argument(name, site), value)
        if isinstance(target, types.FunctionType):
            load, text = f"{guards.constant(target)}.__code__", f"the code of {target.__name__}"
            guards.same(guards.source(load, text, site), target.__code__)
        if isinstance(function, types.MethodType):
            guards.visit(guards.source(guards.constant(function.__self__), "self", site), function.__self__)
        elif not isinstance(target, types.FunctionType):
            guards.visit(guards.source(guards.constant(target), brief(target), site), target)
        done: set[types.FunctionType] = set()
        while len(done) < len(guards.scope.functions):
            for each in [f for f in guards.scope.functions if f not in done]:
                done.add(each)
                self._function(each)
        for namespace, names in self.shadowing.values():
            source = guards.source(guards.constant(namespace), "builtins", site)
            test = f"{guards.get(source)}.keys().isdisjoint({guards.constant(frozenset(names))})"
            guards.require(test, source, lambda now: "a builtin is shadowed by a new global variable")

    def _function(self, function: types.FunctionType) -> None:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
        for name in scan(function.__code__).names:
            if name.kind == "global":
                self._global(function, name)
            elif name.kind == "cell" and name.path[0] in cells:
                self._cell(cells[name.path[0]], name)
            elif name.kind == "import" and name.path[0] in sys.modules and not is_library(name.path[0]):
                load = f"{self.guards.constant(sys.modules)}[{name.path[0]!r}]"
                self._module_variable(
                    self.guards.source(load, name.path[0], name.site), sys.modules[name.path[0]], (), name.site
                )

    def _global(self, function: types.FunctionType, name: Name) -> None:
        namespace, variable = function.__globals__, name.path[0]
        if variable not in namespace:
            if impure("builtins", variable):
                raise UnsupportedError(
                    f"compile: {variable} inside a compiled function runs only when it is traced",
                    got=f"builtins.{variable}",
                    at=name.site,
                    hint="call it outside and pass the result as an argument",
                )
            if hasattr(builtins, variable):
                self.shadowing.setdefault(id(namespace), (namespace, set()))[1].add(variable)
            return
        self._variable(
            namespace, variable, f"{self.guards.constant(namespace)}[{variable!r}]", namespace[variable], name
        )

    def _cell(self, cell: types.CellType, name: Name) -> None:
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet: reading it raises NameError in the user's own code
            return
        self._variable(cell, name.path[0], f"{self.guards.constant(cell)}.cell_contents", value, name)

    def _variable(self, holder: Any, variable: str, load: str, value: Any, name: Name) -> None:
        key = (id(holder), variable)
        source = self.variables.get(key)
        if source is None:
            source = self.variables[key] = self.guards.source(load, variable, name.site)
            self.guards.visit(source, value)
        if isinstance(value, types.ModuleType):
            self._module_variable(source, value, name.path[1:], name.site)
        elif isinstance(value, (Ops, Namespace)):
            self._op(source, value, name.path[1:])
        elif isinstance(value, type):
            _refuse_impure(value.__module__, name.path[1:], name.site)

    def _module_variable(self, source: Source, module: types.ModuleType, path: tuple[str, ...], site: Site) -> None:
        """Follow `module.a.b`; a module used in any other way is looked through for every name the code mentions."""
        guards, library = self.guards, is_library(module.__name__)
        if not source.bound:
            guards.visit(source, module)
        if not path:
            for name in [n for n in guards.scope.attributes if n in vars(module) and not library]:
                self._module_variable(source, module, (name,), guards.scope.attributes[name])
            return
        name = path[0]
        _refuse_impure(module.__name__, path[:2], site)
        value = getattr(module, name, None)
        part = Source("", f"{source.text}.{name}", site, f"{source.var}.{name}", bound=True)
        if isinstance(value, types.ModuleType):
            self._module_variable(part, value, path[1:], site)
        elif isinstance(value, (Ops, Namespace)):
            self._op(part, value, path[1:])
        elif value is None or (library and (callable(value) or is_library(type(value).__module__))):
            # A library's own functions and types do not change; a name it lacks raises in the user's own code.
            guards.look_into(part, value)
        elif (id(module), name) not in self.variables:
            source = self.variables[id(module), name] = guards.source(part.var, part.text, site)
            guards.visit(source, value)

    def _op(self, source: Source, value: Any, path: tuple[str, ...]) -> None:
        """`ops.namespace.name`: a triton_op's body is part of the trace."""
        for name in path:
            value = getattr(value, name, None)
            if isinstance(value, OpOverloadPacket):
                self.guards.look_into(source, value)


def _refuse_impure(module: str, path: tuple[str, ...], site: Site) -> None:
    for name in path:
        if impure(module, name):
            raise UnsupportedError(
                f"compile: {module}.{name} gives another value at each call, compiled code would keep the first one",
                got=f"{module}.{name}",
                at=site,
                hint="call it outside and pass the result as an argument",
            )
