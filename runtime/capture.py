"""From a user's function and one set of arguments to a graph, and to everything that graph depends on.

`capture` guards what the function may read (`runtime.dependencies`), traces it with fake tensors, lifts the outside
tensors it read to inputs of the graph, describes how the results are put together again, and makes sure that the trace
left no mark: a function that changes Python state would do so only once.
"""

from __future__ import annotations

import array
import collections
import copy
import dataclasses
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import optree

from opweave.fake.mode import FakeTensorMode
from opweave.fake.shape_env import ShapeEnv
from opweave.fake.symbolic import SymNumber
from opweave.fake.tensor import FakeTensor
from opweave.registry.errors import Site, UnrecordedError, UnsupportedError
from opweave.registry.interrupts import allowed, contextmanager
from opweave.registry.keys import BATCHED_BIT, GRAD, state as threads
from opweave.registry.op import OpOverload, ops as operators
from opweave.registry.tensor import Size, Tensor, describe
from opweave.runtime.dependencies import find_dependencies
from opweave.runtime.dynamic import Openness
from opweave.runtime.gradients import Backward, Inputs, forget, trace_back
from opweave.runtime.guards import GuardSet
from opweave.runtime.objects import has_rules
from opweave.runtime.output import refused
from opweave.runtime.purity import is_library
from opweave.runtime.reads import scan
from opweave.runtime.sources import (
    MISSING,
    PYTREES,
    NumberInput,
    Scope,
    TensorInput,
    brief,
    code_site,
    is_named_tuple,
    is_registered,
)
from opweave.runtime.values import ValueGuards
from opweave.runtime.watching import Known, watched
from opweave.tracer.graph import Graph
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.make_fx import trace_flat
from opweave.tracer.printing import operand_graphs
from opweave.tracer.proxy import ProxyMode

_EMPTY_CELL = types.CellType()
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)


@dataclass(slots=True)
class Captured:
    """A traced function.

    Attributes
    ----------
    module : GraphModule
        The graph; its placeholders correspond to `inputs`, its outputs to the ``_ow_o[i]`` in `result`.
    inputs : list of TensorInput or NumberInput
        What the graph takes.
    guards : GuardSet
        What it depends on.
    result : str
        Expression that builds the function's result from the graph's outputs `_ow_o`.
    backward : Backward or None
        How it is differentiated, where an output requires grad. The graph then has more outputs, the gradients, and
        more placeholders, for the gradients of its results.
    ops : dict of OpOverload to int
        The ops that were called, with their versions.
    shape_env : ShapeEnv or None
        The symbols of sizes and numbers that are left open.
    numbers : list of NumberInput
        The int arguments that are left open.
    relaid : list of (int, int)
        For each argument whose sizes are changed in place, the output that is a view of it with the new ones, and how
        often they were changed. The expression `result` makes the change.
    """

    module: GraphModule
    inputs: list[TensorInput | NumberInput]
    guards: GuardSet
    result: str
    backward: Backward | None = None
    ops: dict[OpOverload, int] = field(default_factory=dict)
    shape_env: ShapeEnv | None = None
    numbers: list[NumberInput] = field(default_factory=list)
    relaid: list[tuple[int, int]] = field(default_factory=list)


def capture(
    function: Any,
    arguments: dict[str, Any],
    call: Callable[[dict[str, Any]], Any],
    prefix: str,
    name: str,
    openness: Openness,
    *,
    also: Known | None = None,
) -> Captured:
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
    name : str
        Of the printed graph.
    openness : Openness
        Which sizes are left open.
    also : Known, optional
        What earlier traces were seen to do besides; what this one does is added.

    Raises
    ------
    UnsupportedError
        If the function reads what cannot be guarded, or leaves changed Python state behind.
    """
    dispatch = threads.snapshot()
    also = also or Known()
    try:
        guards = find_dependencies(function, arguments, prefix, also)
        given = {id(t): i for i, t in enumerate(_tensors(list(arguments.values())))}
    except RecursionError:
        raise _too_deep(function, "takes") from None
    except UnsupportedError as error:
        error.unguarded = True
        raise
    batched = next((t for t in guards.tensors if t.tensor._keys & BATCHED_BIT), None)
    if batched is not None:
        raise UnsupportedError(
            f"compile: {_name(function)} reads {batched.source.text}, which vmap batches", got=brief(batched.tensor),
            hint="pass it as an argument, or vmap the uncompiled function",
        )  # fmt: skip
    explicit = sorted([t for t in guards.tensors if id(t.tensor) in given], key=lambda t: given[id(t.tensor)])
    openness.note(explicit)
    for t in explicit:
        t.options = openness.options(t)
    ints = {name: value for name, value in arguments.items() if type(value) is int and name in guards.ints}
    openness.note_ints(ints)
    opened = [name for name, value in ints.items() if openness.leaves_open(name, value)]
    env = openness.env() if opened or any(t.options is not None for t in explicit) else None
    state = _State(
        [value for key, (value, _) in guards.seen.items() if key not in guards.books],
        [f.__globals__ for f in guards.scope.functions],
        guards.scope,
    )
    books = [(guards.seen[key][0], _State([guards.seen[key][0]], [], Scope())) for key in guards.books]
    watching = also.watching or guards.calls_back
    known_to_autograd = Inputs(_name(function), guards.tensors)
    backward: list[Backward | None] = []
    result: list[str] = []
    relaid: list[tuple[int, int]] = []
    renewed: list[tuple[_State, dict[int, Any]]] = []

    def flat(*given_values: Any) -> list[Any]:
        fakes = given_values[: len(explicit)]
        rebuild = _Rebuild({id(t.tensor): fake for t, fake in zip(explicit, fakes, strict=True)})
        rebuilt = {name: rebuild(value) for name, value in arguments.items()}
        rebuilt.update(zip(opened, given_values[len(explicit) :], strict=True))
        renewed.append((_State(list(rebuild.made.values()), [], guards.scope), rebuild.made))
        pairs = list(zip(explicit, fakes, strict=True))
        for t, fake in pairs:
            if t.tensor.__dict__:  # attributes of the user's
                fake.__dict__.update({name: rebuild(v) for name, v in t.tensor.__dict__.items()})
        known_to_autograd.enter(pairs)
        value = call(rebuilt)
        known = {id(fake): t.source.var for t, fake in zip(explicit, fakes, strict=True)}
        known.update({id(v): source.var for v, source in guards.seen.values() if source.bound})
        known.update({id(new): guards.seen[old][1].var for old, new in rebuild.made.items() if old in guards.seen})
        results = _Results(guards, known)
        try:
            result.append(results.expression(value, "result"))
        except RecursionError:
            raise _too_deep(function, "returns") from None
        mode = threads.modes[-1]
        assert isinstance(mode, ProxyMode)
        changed = _relaid(mode, pairs, _name(function))
        relaid[:] = [(len(results.tensors) + i, each.fake._relaid) for i, each in enumerate(changed)]
        written = known_to_autograd.written(pairs)
        known_to_autograd.check(mode.lifted(), [fake for _, fake in written])
        leaves = [(t.tensor, known_to_autograd.entered[id(fake)]) for t, fake in pairs]
        leaves += [(t.tensor, t.tensor) for t in guards.tensors if id(t.tensor) not in given]
        leaves = [(real, traced) for real, traced in leaves if real._keys & GRAD]
        outputs = [*results.tensors, *(each.fake._alias() for each in changed), *(fake for _, fake in written)]
        rewritten = [real for real, _ in written]
        found, gradients = trace_back(mode, outputs, leaves, _name(function), rewritten)
        if found is not None:
            _note_relaid(found, changed, [fake for _, fake in written], guards)
        if changed:
            show = guards.constant(_show)
            shown = [
                f"{show}({each.given.source.var}, _ow_o[{at}])" for each, (at, _) in zip(changed, relaid, strict=True)
            ]
            result[-1] = f"({', '.join(shown)}, {result[-1]})[-1]"
        backward.append(found)
        return [*outputs, *gradients]

    try:
        names = [identifier(t.source.text) for t in explicit]
        mode = FakeTensorMode(shape_env=env, make_env=openness.env)
        with refused(guards), known_to_autograd.apart(), _ops_used() as ops, watched(watching) as watch:
            given_to_trace: list[Any] = [_opened(t, mode) for t in explicit]
            numbers = [] if env is None else [_number(name, ints[name], guards, env) for name in opened]
            given_to_trace += [number.value for number in numbers]
            with allowed():  # the user's code runs
                graph, constants = trace_flat(flat, given_to_trace, mode, names=[*names, *opened], compiling=True)
    except BaseException:
        threads.restore(dispatch)  # an interruption may have kept a block from being left
        state.restore()
        raise
    if not watching and any(isinstance(op, OpOverload) and has_rules(op) for op in {**ops, **_ops_of(graph)}):
        state.restore()
        also.watching = True
        return capture(function, arguments, call, prefix, name, openness, also=also)
    missed = watch.unknown([*guards.scope.functions, *guards.scope.rules])
    changed = [value for value, book in books if book.changed()]
    if missed or changed:
        state.restore()
        if not also.add(missed, changed) and missed:
            raise _always_new(missed[0][0])
        return capture(function, arguments, call, prefix, name, openness, also=also)
    for before in (state, *(new for new, _ in renewed)):
        change = before.changed()
        if change:
            state.restore()
            raise UnsupportedError(
                f"compile: {_name(function)} changes {_named(change[0], guards, renewed)}, "
                "which compiled code would not do",
                got=change[1],
                at=code_site(function.__code__) if isinstance(function, types.FunctionType) else None,
                hint="return the new value and assign it outside",
            )
    guards.settle()
    module = GraphModule(constants, graph, name=name)
    module.shape_env = env = mode.shape_env  # made in the trace, where a number depends on data
    forget(graph)
    ops.update(_ops_of(graph))
    inputs = _lift(module, [*explicit, *numbers], guards)
    return Captured(module, inputs, guards, result[-1], backward[-1], ops, env, numbers, relaid)


@dataclass(slots=True)
class _Relaid:
    """An argument whose sizes were changed in place.

    Attributes
    ----------
    given : TensorInput
    fake : FakeTensor
        What stands for it.
    moved : bool
        Whether its sizes, strides or offset are others in the end.
    written : bool
        Whether there were writes to its memory, too.
    strided : bool
        Whether there was a view of it that may have any of its elements.
    """

    given: TensorInput
    fake: FakeTensor
    moved: bool
    written: bool
    strided: bool


def _relaid(mode: ProxyMode, pairs: Sequence[tuple[TensorInput, Tensor]], name: str) -> list[_Relaid]:
    """The arguments whose sizes were changed in place.

    Raises
    ------
    UnsupportedError
        If the function reads one in another way too, where the change is not seen.
    """
    known = {id(fake): given for given, fake in pairs}
    changes = [(fake, moved) for fake, moved in mode.relaid() if id(fake) in known]
    counted = collections.Counter[int]()
    for fake, _ in changes:
        counted[id(fake._storage)] += fake._relaid
    outside = {id(real) for real, _ in mode.lifted()}
    strided = {id(node.meta["val"]._storage) for node in mode.graph if node.target is operators.aten.as_strided.default}
    found = []
    for fake, moved in changes:
        given = known[id(fake)]
        if id(given.tensor) in outside:
            raise UnsupportedError(
                f"compile: {name} changes the sizes of {given.source.text} in place, and reads it from elsewhere too",
                got=brief(given.tensor), at=given.source.site, hint="use the functional form, as in x = x.t()",
            )  # fmt: skip
        written = fake._storage.version != counted[id(fake._storage)]
        found.append(_Relaid(given, fake, moved, written, id(fake._storage) in strided))
    return found


def _note_relaid(backward: Backward, changed: Sequence[_Relaid], written: Sequence[Tensor], guards: GuardSet) -> None:
    """Tell a way back which inputs change their sizes; `written` are those that get another history.

    Raises
    ------
    UnsupportedError
        If one is a leaf, whose gradient has the sizes of before; gets a history together with what it is a view of; or
        may not have all of its elements any more, of which other views are.
    """
    for each in changed:
        given, fake = each.given, each.fake
        at = next((k for k, t in enumerate(written) if t is fake), None)
        owned = given.tensor._view_of is not None
        if not each.moved or not fake._keys & GRAD:
            why = None
        elif at is None:
            why = "a leaf"
        elif owned and each.written:
            why = "a view that is written too"
        else:
            why = "by as_strided_" if each.strided else None
        if why is not None:
            raise UnsupportedError(
                f"compile: {backward.name} changes the sizes of {given.source.text} in place where gradients are "
                "recorded",
                got=f"{describe(given.tensor)} → {describe(fake)}, {why}",
                at=given.source.site,
                hint="use the functional form, as in x = x.t(), or call the uncompiled function",
            )
        if each.moved:
            backward.relaid.append(given.tensor)
        if at is not None and not each.written:
            backward.shown.add(at)
        elif at is not None and each.moved:
            var, text = given.source.var, given.source.text
            guards.require(f"{var}._view_of is None", given.source, lambda now, text=text: f"{text} became a view")


def _show(t: Tensor, view: Tensor) -> None:
    t._show_as(view)


def _always_new(function: types.FunctionType) -> UnrecordedError:
    return UnrecordedError(
        f"compile: {function.__qualname__} is another function at each call, and nothing tells what it reads",
        got=f"{function!r}",
        at=code_site(function.__code__),
        hint="define it once, outside of the compiled function",
    )


def _number(name: str, value: int, guards: GuardSet, env: ShapeEnv) -> NumberInput:
    return NumberInput(guards.ints[name].source, env.new_size(value, name))


def _opened(t: TensorInput, mode: FakeTensorMode) -> Tensor:
    """A fake tensor with symbolic sizes for one that is left open; the tensor itself for one that is not."""
    if t.options is None:
        return t.tensor
    fake = mode.symbolic(t.tensor, t.source.text, t.options)
    t.sizes, t.strides = fake._sizes, fake._strides
    return fake


@contextmanager
def _ops_used() -> Iterator[dict[OpOverload, int]]:
    """Collects the users' ops that a trace goes through without recording them."""
    found: dict[OpOverload, int] = {}
    before, threads.used = threads.used, found
    try:
        yield found
    finally:
        threads.used = before


def _ops_of(graph: Graph) -> dict[OpOverload, int]:
    found = {node.target: node.target.version for node in graph if isinstance(node.target, OpOverload)}
    for node in graph:
        for inner in operand_graphs(node):
            found.update(_ops_of(inner))
    return found


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or brief(function)


def _too_deep(function: Any, does: str) -> UnsupportedError:
    return UnsupportedError(
        f"compile: {_name(function)} {does} something that is nested too deep, or contains itself",
        got="more levels than Python's recursion limit allows",
        hint="use flat lists or dicts of tensors",
    )


def _named(value: Any, guards: GuardSet, renewed: list[tuple[_State, dict[int, Any]]]) -> str:
    if isinstance(value, str):
        return value
    originals = [old for _, made in renewed for old, new in made.items() if new is value]
    known = next((guards.seen[key] for key in (id(value), *originals) if key in guards.seen), None)
    return known[1].text if known else brief(value)


def _lift(
    module: GraphModule, explicit: list[TensorInput | NumberInput], guards: GuardSet
) -> list[TensorInput | NumberInput]:
    """Make an input of every outside tensor the graph holds as a constant, if a variable leads to it."""
    inputs = list(explicit)
    graph = module.graph
    placeholders = graph.placeholders()
    by_tensor = {id(t.tensor): t for t in guards.tensors}
    lifted: dict[int, Any] = {}
    for node in [n for n in graph if n.op == "get_attr"]:
        tensor = module.constants[node.target]
        known = by_tensor.get(id(tensor))
        if known is None:
            continue
        new = lifted.get(id(tensor))
        if new is None:
            last = placeholders[-1] if placeholders else None
            with graph.inserting_after(last) if last is not None else graph.inserting_before(None):
                new = lifted[id(tensor)] = graph.placeholder(identifier(known.source.text))
            new.meta.update(node.meta)
            inputs.append(known)
            placeholders.append(new)
        node.replace_all_uses_with(new)
        graph.erase_node(node)
    used = {node.target for node in graph.find_nodes(op="get_attr")}
    module.constants = {name: value for name, value in module.constants.items() if name in used}
    return inputs


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
    kind: Any = type(value)
    if kind in (list, tuple, collections.deque) or is_named_tuple(kind):
        return list(value)
    if kind in _DICTS:
        return list(value.values())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, f.name) for f in dataclasses.fields(value) if hasattr(value, f.name)]
    if is_registered(kind) and kind is not type(None):
        return list(optree.tree_flatten_one_level(cast(Any, value), namespace=PYTREES)[0])
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
            kind: Any = type(value)
            if kind not in (list, collections.deque, *_DICTS):
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
        if kind in _DICTS:
            new = copy.copy(value)
            for key, item in value.items():
                new[key] = self(item)
            return new
        if dataclasses.is_dataclass(value):
            new = _shallow(value)
            for f in dataclasses.fields(value):
                if hasattr(value, f.name):
                    object.__setattr__(new, f.name, self(getattr(value, f.name)))
            return new
        children, metadata, _, unflatten = optree.tree_flatten_one_level(cast(Any, value), namespace=PYTREES)
        return unflatten(metadata, [self(child) for child in children])


def _shallow(value: Any) -> Any:
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


class _Results:
    """Turns a result into an expression over the graph's outputs `_ow_o`."""

    def __init__(self, guards: GuardSet, known: dict[int, str]) -> None:
        self.guards = guards
        self.known = known
        self.tensors: list[Any] = []
        self.positions: dict[int, int] = {}

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
        if kind in _DICTS:
            return self._dict(value, text)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
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
            make, factory = self.guards.constant(collections.defaultdict), self.guards.constant(value.default_factory)
            return f"{make}({factory}, {body})"
        return body


def _without(value: Any, names: list[str]) -> Any:
    """A copy of a dataclass instance that holds on to none of its traced fields."""
    template = _shallow(value)
    for name in names:
        object.__setattr__(template, name, None)
    return template


def _fill(template: Any, fields: dict[str, Any]) -> Any:
    new = _shallow(template)
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


class _State:
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
            if kind in (list, set, collections.deque, *_DICTS, collections.Counter):
                self.saved.append((value, value, copy.copy(value)))
            elif hasattr(value, "__dict__") and isinstance(value.__dict__, dict) and not is_library(kind.__module__):
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
