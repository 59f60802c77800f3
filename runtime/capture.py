"""From a user's function and one set of arguments to a graph, and to everything that graph depends on.

The function's values come from three places: its arguments, the variables it closes over, and global variables. `find_dependencies`
follows its code (and that of the functions it calls) and guards all of them. `capture` then traces it with fake
tensors, lifts the outside tensors it read to inputs of the graph, describes how the results are put together again,
and makes sure that running it once more would find the world unchanged.
"""

from __future__ import annotations

import builtins
import collections
import copy
import dataclasses
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import optree

from opweave.registry.errors import Site, UnsupportedError
from opweave.registry.op import Namespace, OpOverloadPacket, Ops
from opweave.registry.tensor import Tensor
from opweave.runtime.guards import (
    GuardSet, Scope, Source, TensorInput, brief, code_site, is_registered,
)  # fmt: skip
from opweave.runtime.reads import Name, impure, is_library, scan
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.make_fx import make_fx

_EMPTY_CELL = types.CellType()
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)


@dataclass(slots=True)
class Captured:
    """A traced function.

    Attributes
    ----------
    module : GraphModule
        The graph; its placeholders correspond to `inputs`, its outputs to the ``_ow_o[i]`` in `result`.
    inputs : list of TensorInput
        Tensors the graph takes.
    guards : GuardSet
        What it depends on.
    result : str
        Expression that builds the function's result from the graph's outputs `_ow_o`.
    """

    module: GraphModule
    inputs: list[TensorInput]
    guards: GuardSet
    result: str


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
        site = code_site(target.__code__) if isinstance(target, types.FunctionType) else Site("<callable>", 0, brief(target))
        for name, value in arguments.items():
            guards.visit(guards.argument(name, site), value)
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
            variable = guards.constant(namespace)
            source = guards.source(variable, "builtins", site)
            test = f"{variable}.keys().isdisjoint({guards.constant(frozenset(names))})"
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
                self._module_variable(self.guards.source(load, name.path[0], name.site), sys.modules[name.path[0]], (), name.site)

    def _global(self, function: types.FunctionType, name: Name) -> None:
        namespace, variable = function.__globals__, name.path[0]
        if variable not in namespace:
            if impure("builtins", variable):
                raise UnsupportedError(f"compile: {variable} inside a compiled function runs only when it is traced", at=name.site)
            if hasattr(builtins, variable):
                self.shadowing.setdefault(id(namespace), (namespace, set()))[1].add(variable)
            return
        self._variable(namespace, variable, f"{self.guards.constant(namespace)}[{variable!r}]", namespace[variable], name)

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
        if impure(module.__name__, name):
            raise UnsupportedError(
                f"compile: {module.__name__}.{name} gives another value at each call, but a compiled function keeps the first",
                at=site,
                hint="call it outside and pass the result as an argument",
            )
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


# ---- tracing -------------------------------------------------------------------------------------------------------


def capture(function: Any, arguments: dict[str, Any], call: Callable[[dict[str, Any]], Any], prefix: str) -> Captured:
    """Trace one call.

    Parameters
    ----------
    function : callable
        The user's function.
    arguments : dict of str to object
        Parameter name -> value.
    call : callable
        Calls `function` with such a dict.
    prefix : str
        For the names in generated code.

    Raises
    ------
    UnsupportedError
        If the function reads what cannot be guarded, or leaves changed Python state behind.
    """
    guards = find_dependencies(function, arguments, prefix)
    given = {id(t): i for i, t in enumerate(_tensors(list(arguments.values())))}
    explicit = sorted([t for t in guards.tensors if id(t.tensor) in given], key=lambda t: given[id(t.tensor)])
    state = _State([value for value, _ in guards.seen.values()], [f.__globals__ for f in guards.scope.functions], guards.scope)
    result: list[str] = []
    renewed: list[Any] = []

    def flat(*fakes: Tensor) -> list[Tensor]:
        rebuild = _Rebuild({id(t.tensor): fake for t, fake in zip(explicit, fakes, strict=True)})
        rebuilt = {name: rebuild(value) for name, value in arguments.items()}
        renewed.append(_State(list(rebuild.made.values()), [], guards.scope))
        value = call(rebuilt)
        known = {id(fake): t.source.var for t, fake in zip(explicit, fakes, strict=True)}
        known.update({id(v): source.var for v, source in guards.seen.values() if source.bound})
        known.update({id(new): guards.seen[old][1].var for old, new in rebuild.made.items() if old in guards.seen})
        results = _Results(guards, known)
        result.append(results.expression(value, "result"))
        return results.tensors

    try:
        module = make_fx(flat, tracing_mode="fake")(*[t.tensor for t in explicit])
    except BaseException:
        state.restore()
        raise
    for before in (state, *renewed):
        change = before.changed()
        if change:
            state.restore()
            raise UnsupportedError(
                f"compile: {_name(function)} changes {_named(change[0], guards)} while it runs; compiled code would not",
                got=change[1],
                at=code_site(function.__code__) if isinstance(function, types.FunctionType) else None,
                hint="return the new value and assign it outside",
            )
    inputs = _lift(module, explicit, guards)
    return Captured(module, inputs, guards, result[-1])


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or brief(function)


def _named(value: Any, guards: GuardSet) -> str:
    known = guards.seen.get(id(value))
    return known[1].text if known else brief(value)


def _lift(module: GraphModule, explicit: list[TensorInput], guards: GuardSet) -> list[TensorInput]:
    """Make an input of every outside tensor the graph holds as a constant, if a variable leads to it."""
    inputs = list(explicit)
    graph = module.graph
    placeholders = graph.placeholders()
    by_tensor = {id(t.tensor): t for t in guards.tensors}
    lifted: dict[int, Any] = {}
    for node in [n for n in graph if n.op == "get_attr"]:
        tensor = getattr(module, node.target)
        known = by_tensor.get(id(tensor))
        if known is None:
            continue
        new = lifted.get(id(tensor))
        if new is None:
            with graph.inserting_before(next(iter(graph))):
                new = lifted[id(tensor)] = graph.placeholder(identifier(known.source.text))
            new.meta.update(node.meta)
            inputs.append(known)
            placeholders.append(new)
        node.replace_all_uses_with(new)
        graph.erase_node(node)
    order = {id(p): t for p, t in zip(placeholders, inputs, strict=True)}
    return [order[id(p)] for p in graph.placeholders()]


def identifier(text: str) -> str:
    """A readable Python name made from an expression: ``self.layers[0].w`` -> ``self_layers_0_w``."""
    words = "".join(c if c.isalnum() else " " for c in text).split()
    name = "_".join(words) or "arg"
    return name if name.isidentifier() else f"arg_{name}"


def _tensors(value: Any) -> Iterator[Tensor]:
    """Tensors of an argument, through containers only (an object's attributes are not arguments)."""
    if isinstance(value, Tensor):
        yield value
    else:
        for child in _parts(value):
            yield from _tensors(child)


def _parts(value: Any) -> list[Any]:
    kind = type(value)
    if kind in (list, tuple, collections.deque) or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        return list(value)
    if kind in _DICTS:
        return list(value.values())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, f.name) for f in dataclasses.fields(value) if hasattr(value, f.name)]
    if is_registered(kind) and kind is not type(None):
        return list(optree.tree_flatten_one_level(value)[0])
    return []


class _Rebuild:
    """Copies containers with their tensors replaced; everything else stays the object it is."""

    def __init__(self, replacements: dict[int, Any]) -> None:
        self.replacements = replacements
        self.made: dict[int, Any] = {}

    def __call__(self, value: Any) -> Any:
        if id(value) in self.replacements:
            return self.replacements[id(value)]
        if id(value) in self.made:
            return self.made[id(value)]
        if isinstance(value, Tensor) or not _parts(value):
            kind = type(value)
            if kind not in (list, collections.deque, *_DICTS):
                return value
            self.made[id(value)] = new = copy.copy(value)  # empty, but what the function adds must not reach the user's
            return new
        new = self.made[id(value)] = self._copy(value)
        return new

    def _copy(self, value: Any) -> Any:
        kind = type(value)
        if kind is tuple or kind is list:
            return kind([self(v) for v in value])
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return kind._make([self(v) for v in value])
        if kind is collections.deque:
            return collections.deque([self(v) for v in value], value.maxlen)
        if kind in _DICTS:
            new = copy.copy(value)
            for key, item in value.items():
                new[key] = self(item)
            return new
        if dataclasses.is_dataclass(value):
            new = copy.copy(value)
            for f in dataclasses.fields(value):
                if hasattr(value, f.name):
                    object.__setattr__(new, f.name, self(getattr(value, f.name)))
            return new
        children, metadata, _, unflatten = optree.tree_flatten_one_level(value)
        return unflatten(metadata, [self(child) for child in children])


class _Results:
    """Turns a result into an expression over the graph's outputs `_ow_o`."""

    def __init__(self, guards: GuardSet, known: dict[int, str]) -> None:
        self.guards = guards
        self.known = known
        self.tensors: list[Tensor] = []
        self.positions: dict[int, int] = {}

    def expression(self, value: Any, text: str) -> str:
        kind = type(value)
        if id(value) in self.known:
            return self.known[id(value)]
        if isinstance(value, Tensor):
            position = self.positions.setdefault(id(value), len(self.tensors))
            if position == len(self.tensors):
                self.tensors.append(value)
            return f"_ow_o[{position}]"
        if value is None or value is True or value is False or kind in (int, str):
            return repr(value)
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            inner = [self.expression(v, f"{text}.{n}") for v, n in zip(value, kind._fields, strict=True)]
            return f"{self.guards.constant(kind)}._make(({''.join(i + ', ' for i in inner)}))"
        if kind is tuple or kind is list:
            inner = [self.expression(v, f"{text}[{i}]") for i, v in enumerate(value)]
            return f"[{', '.join(inner)}]" if kind is list else f"({''.join(i + ', ' for i in inner)})"
        if kind in _DICTS:
            return self._dict(value, text)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [f.name for f in dataclasses.fields(value) if hasattr(value, f.name)]
            inner = [f"{n!r}: {self.expression(getattr(value, n), f'{text}.{n}')}" for n in names]
            template = self.guards.constant(_without(value, names))
            return f"{self.guards.constant(_fill)}({template}, {{{', '.join(inner)}}})"
        if is_registered(kind):
            children, metadata, _, unflatten = optree.tree_flatten_one_level(value)
            inner = [self.expression(child, f"{text}[{i}]") for i, child in enumerate(children)]
            make, meta = self.guards.constant(unflatten), self.guards.constant(metadata)
            return f"{make}({meta}, [{', '.join(inner)}])"
        if kind in (float, complex, bytes) or _is_immutable(value):
            return self.guards.constant(value)
        raise UnsupportedError(
            f"compile: the function returns a {kind.__module__}.{kind.__qualname__} as {text}",
            got=brief(value),
            hint="return tensors and constants in tuples, lists, dicts, dataclasses or registered pytree nodes",
        )

    def _dict(self, value: Any, text: str) -> str:
        inner = []
        for key, item in value.items():
            literal = repr(key) if type(key) in (int, str) else self.guards.constant(key)
            inner.append(f"{literal}: {self.expression(item, f'{text}[{key!r}]')}")
        body = f"{{{', '.join(inner)}}}"
        if type(value) is collections.OrderedDict:
            return f"{self.guards.constant(collections.OrderedDict)}({body})"
        if type(value) is collections.defaultdict:
            return f"{self.guards.constant(collections.defaultdict)}({self.guards.constant(value.default_factory)}, {body})"
        return body


def _without(value: Any, names: list[str]) -> Any:
    """A copy of a dataclass instance that holds on to none of its traced fields."""
    template = copy.copy(value)
    for name in names:
        object.__setattr__(template, name, None)
    return template


def _fill(template: Any, fields: dict[str, Any]) -> Any:
    new = copy.copy(template)
    for name, value in fields.items():
        object.__setattr__(new, name, value)
    return new


def _is_immutable(value: Any) -> bool:
    probe = GuardSet(Scope(), "")
    try:
        probe.visit(probe.source("", "", Site("", 0, "")), value)
    except UnsupportedError:
        return False
    return len(probe.seen) == 0 or isinstance(value, (type, types.FunctionType, types.ModuleType))


class _State:
    """Python state that tracing must leave as it is: contents of containers, attributes, written global variables."""

    def __init__(self, values: list[Any], namespaces: list[dict[str, Any]], scope: Scope) -> None:
        self.saved: list[tuple[Any, Any, Any]] = []
        for value in values:
            kind = type(value)
            if kind in (list, set, collections.deque, *_DICTS, collections.Counter):
                self.saved.append((value, value, copy.copy(value)))
            elif hasattr(value, "__dict__") and isinstance(value.__dict__, dict) and not is_library(kind.__module__):
                if not isinstance(value, (types.FunctionType, Tensor)):
                    self.saved.append((value, value.__dict__, dict(value.__dict__)))
        written = {n.path[0] for f in scope.functions for n in scan(f.__code__).names if n.written}
        self.variables = [
            (space, name, space.get(name, self)) for space in {id(s): s for s in namespaces}.values() for name in written
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
        for space, name, old in self.variables:
            if space.get(name, self) is not old:
                return f"global {name}", f"{name}: {'nothing' if old is self else brief(old)} → {brief(space.get(name))}"
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
        for space, name, old in self.variables:
            if old is self:
                space.pop(name, None)
            else:
                space[name] = old
        for cell, old in self.cells:
            cell.cell_contents = old
