"""From a user's function and one set of arguments to a graph, and to everything that graph depends on.

`capture` guards what the function may read (`runtime.dependencies`), traces it with fake tensors, lifts the outside
tensors it read to inputs of the graph, describes how the results are put together again, and makes sure that the trace
left no mark: a function that changes Python state would do so only once.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

from opweave.fake.mode import FakeTensorMode
from opweave.fake.shape_env import ShapeEnv
from opweave.fake.tensor import FakeTensor
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import UnrecordedError, UnsupportedError
from opweave.registry.interrupts import allowed, contextmanager
from opweave.registry.keys import GRAD, OVERRIDDEN, state as threads
from opweave.registry.op import OpOverload
from opweave.registry.patches import replaced
from opweave.registry.tensor import Tensor, describe
from opweave.runtime.backward import Backward
from opweave.runtime.containers import Rebuild, tensors_of
from opweave.runtime.dependencies import guards_of, name_of, too_deep
from opweave.runtime.draws import Draws
from opweave.runtime.gradients import Inputs, assign, forget, trace_back
from opweave.runtime.guards import GuardSet
from opweave.runtime.objects import has_rules
from opweave.runtime.output import refused
from opweave.runtime.python_state import PythonState
from opweave.runtime.reads import scan
from opweave.runtime.relaid import note_relaid, relaid_among, show_as
from opweave.runtime.request import Request
from opweave.runtime.results import Results
from opweave.runtime.sources import NumberInput, Scope, Source, TensorInput, brief, code_site
from opweave.runtime.values import ValueGuards
from opweave.runtime.watching import watched
from opweave.tracer.graph import Graph
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.make_fx import trace_flat
from opweave.tracer.printing import operand_graphs
from opweave.tracer.proxy import ProxyMode


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
    #: What calls draw, in order.
    draws: list[Source] = field(default_factory=list)


def capture(request: Request, guards: ValueGuards) -> Captured:
    """Trace one call.

    Parameters
    ----------
    request : Request
        The call. What its trace was seen to do, beside what reading its code tells, is added to `also`.
    guards : ValueGuards
        From `guards_of`.

    Raises
    ------
    UnsupportedError
        If the function reads what cannot be guarded, or leaves changed Python state behind.
    """
    while True:
        captured = _captured(request, guards)
        if captured is not None:
            return captured
        guards = guards_of(request)


def _captured(request: Request, guards: ValueGuards) -> Captured | None:
    """Trace one call; None if the trace did what was not known of, which is added to `also`."""
    function, arguments, name = request.function, request.arguments, request.name
    openness, also = request.openness, request.also
    dispatch = threads.snapshot()
    try:
        given = {id(t): i for i, t in enumerate(tensors_of(list(arguments.values())))}
    except RecursionError:
        raise too_deep(function, "takes") from None
    explicit = sorted([t for t in guards.tensors if id(t.tensor) in given], key=lambda t: given[id(t.tensor)])
    openness.note(explicit)
    # What stands for a number has another type, which `isinstance` does not tell.
    asked = next((site for f in guards.scope.functions if (site := scan(f.__code__).asked_number) is not None), None)
    for t in explicit:
        t.options = openness.options(t) if asked is None else None
    ints = {name: value for name, value in arguments.items() if type(value) is int and name in guards.ints}
    openness.note_ints(ints)
    opened = [name for name, value in ints.items() if openness.leaves_open(name, value) and asked is None]
    env = openness.env() if opened or any(t.options is not None for t in explicit) else None
    state = PythonState(
        [value for key, (value, _) in guards.seen.items() if key not in guards.books],
        [f.__globals__ for f in guards.scope.functions],
        guards.scope,
    )
    books = [(guards.seen[key][0], PythonState([guards.seen[key][0]], [], Scope())) for key in guards.books]
    also.draws = bool(guards.draws)
    watching = also.watching or guards.calls_back or also.ran is not None or bool(replaced())
    also.traced.update([f.__code__ for f in guards.scope.functions])
    trace = _Trace(function, arguments, request.caller(), guards, explicit, opened)
    try:
        names = [identifier(t.source.text) for t in explicit]
        mode = FakeTensorMode(shape_env=env, make_env=openness.env)
        with (
            refused(guards),
            trace.inputs.apart(),
            trace.draws.installed(),
            _ops_used() as ops,
            watched(watching) as watch,
        ):
            values: list[Any] = [_opened(t, mode) for t in explicit]
            numbers = [] if env is None else [_number(name, ints[name], guards, env) for name in opened]
            values += [number.value for number in numbers]
            with allowed():  # the user's code runs
                graph, constants = trace_flat(trace.run, values, mode, names=[*names, *opened], compiling=True)
    except BaseException:
        threads.restore(dispatch)  # an interruption may have kept a block from being left
        state.restore()
        raise
    if not also.gradients and trace.asks_unguarded:
        state.restore()
        also.gradients = True
        return None
    if not watching and any(isinstance(op, OpOverload) and has_rules(op) for op in {**ops, **_ops_of(graph)}):
        state.restore()
        also.watching = True
        return None
    missed = watch.unknown([*guards.scope.functions, *guards.scope.rules])
    changed = [value for value, book in books if book.changed()]
    if missed or changed:
        state.restore()
        if not also.add(missed, changed) and missed:
            raise _always_new(missed[0][0])
        return None
    for before in (state, *(new for new, _ in trace.renewed)):
        change = before.changed()
        if change:
            state.restore()
            raise UnsupportedError(
                f"compile: {name_of(function)} changes {trace.name_of(change[0])}, which compiled code would not do",
                got=change[1],
                at=code_site(function.__code__) if isinstance(function, types.FunctionType) else None,
                hint="return the new value and assign it outside",
            )
    if asked is not None and mode.shape_env is not None and mode.shape_env.symbols:
        state.restore()
        raise UnsupportedError(
            "compile: the type of a number that depends on data is not int or float", got="type(...) compared with one",
            at=asked, hint="isinstance(n, int) asks the same, and compiles",
        )  # fmt: skip
    guards.settle()
    module = GraphModule(constants, graph, name=name)
    module.shape_env = env = mode.shape_env  # made in the trace, where a number depends on data
    forget(graph)
    ops.update(_ops_of(graph))
    drawn = trace.draws.inputs
    inputs = _lift(module, [*explicit, *numbers], [*guards.tensors, *drawn])
    draws = [each.source for each in drawn]
    return Captured(module, inputs, guards, trace.result, trace.backward, ops, env, numbers, trace.relaid, draws)


class _Trace:
    """The function as a trace runs it: on fake tensors, to a flat list of outputs.

    Parameters
    ----------
    function, arguments, call
        Of `capture`.
    guards : GuardSet
        What the function may read.
    explicit : list of TensorInput
        The tensors among its arguments.
    opened : list of str
        The arguments that are ints and are left open.

    Attributes
    ----------
    inputs : Inputs
        What autograd knows of the tensors that it can reach.
    renewed : list of (PythonState, dict)
        What its copies of containers were before it ran, and the copies by the ids of the originals.
    result, backward, relaid
        Of `Captured`; known when it has run.
    asks_unguarded : bool
        Whether it asked for a gradient that is not guarded.
    """

    result: str
    backward: Backward | None
    relaid: list[tuple[int, int]]
    asks_unguarded = False

    def __init__(
        self,
        function: Any,
        arguments: dict[str, Any],
        call: Callable[[dict[str, Any]], Any],
        guards: GuardSet,
        explicit: list[TensorInput],
        opened: list[str],
    ) -> None:
        self.function, self.arguments, self.call = function, arguments, call
        self.guards, self.explicit, self.opened = guards, explicit, opened
        self.inputs = Inputs(name_of(function), guards.tensors)
        self.draws = Draws(guards)
        self.renewed: list[tuple[PythonState, dict[int, Any]]] = []

    def run(self, *values: Any) -> list[Any]:
        """The outputs of the graph for fake arguments: results, changed and written arguments, gradients."""
        guards, name = self.guards, name_of(self.function)
        pairs = list(zip(self.explicit, values[: len(self.explicit)], strict=True))
        rebuild = Rebuild({id(t.tensor): fake for t, fake in pairs})
        results = self._called(rebuild, pairs, values[len(self.explicit) :])
        mode = threads.modes[-1]
        assert isinstance(mode, ProxyMode)
        self.inputs.refuse_hooks(mode.gained)
        self.asks_unguarded = self.inputs.unguarded(mode.gradients, guards.gradients)
        changed = relaid_among(mode, pairs, name)
        self.relaid = [(len(results.tensors) + i, each.fake._relaid) for i, each in enumerate(changed)]
        written = self.inputs.written(pairs)
        self.inputs.check(mode.lifted(), [fake for _, fake in written])
        outputs = [*results.tensors, *(each.fake._alias() for each in changed), *(fake for _, fake in written)]
        rewritten = [real for real, _ in written]
        self.backward, gradients = trace_back(mode, outputs, self._leaves(pairs), name, rewritten)
        if self.backward is not None:
            note_relaid(self.backward, changed, [fake for _, fake in written], guards)
        if changed:
            show = guards.constant(show_as)
            shown = [
                f"{show}({each.given.source.var}, _ow_o[{at}])"
                for each, (at, _) in zip(changed, self.relaid, strict=True)
            ]
            self.result = f"({', '.join(shown)}, {self.result})[-1]"
        return [*outputs, *gradients]

    def _called(self, rebuild: Rebuild, pairs: list[tuple[TensorInput, Any]], numbers: tuple[Any, ...]) -> Results:
        """Call the function, and describe its result."""
        guards = self.guards
        rebuilt = {name: rebuild(value) for name, value in self.arguments.items()}
        rebuilt.update(zip(self.opened, numbers, strict=True))
        self.renewed.append((PythonState(list(rebuild.made.values()), [], guards.scope), rebuild.made))
        for t, fake in pairs:
            if t.tensor.__dict__:  # attributes of the user's
                fake.__dict__.update({name: rebuild(v) for name, v in t.tensor.__dict__.items()})
        self.inputs.enter(pairs)
        with self.draws.called():
            value = self.call(rebuilt)
        known = {id(fake): t.source.var for t, fake in pairs}
        known.update({id(v): source.var for v, source in guards.seen.values() if source.bound})
        known.update({id(new): guards.seen[old][1].var for old, new in rebuild.made.items() if old in guards.seen})
        results = Results(guards, known)
        try:
            self.result = results.expression(value, "result")
        except RecursionError:
            raise too_deep(self.function, "returns") from None
        changed = self.inputs.assigned()
        if changed:
            self._assign(changed, results)
        return results

    def _assign(self, changed: Sequence[tuple[TensorInput, Tensor | None]], results: Results) -> None:
        """Have the result's expression assign gradients first."""
        for given, gradient in changed:
            is_made = gradient is None or isinstance(gradient, FakeTensor)
            if not is_made and id(gradient) not in results.known:
                raise UnsupportedError(
                    f"compile: {name_of(self.function)} assigns a tensor that no variable leads to",
                    got=f"{given.source.text}.grad = {brief(gradient)}",
                    at=given.source.site,
                    hint="assign it outside, or a copy of it",
                )
        tensors = "".join(f"{given.source.var}, " for given, _ in changed)
        gradients = results.expression(tuple(gradient for _, gradient in changed), "the gradients")
        self.result = f"({self.guards.constant(assign)}(({tensors}), {gradients}), {self.result})[1]"

    def _leaves(self, pairs: list[tuple[TensorInput, Any]]) -> list[tuple[Any, Any]]:
        """The tensors that gradients may flow to, and what stands for them."""
        given = {id(t.tensor) for t in self.explicit}
        leaves = [(t.tensor, self.inputs.entered[id(fake)]) for t, fake in pairs]
        leaves += [(t.tensor, t.tensor) for t in self.guards.tensors if id(t.tensor) not in given]
        return [(real, traced) for real, traced in leaves if real._keys & GRAD]

    def name_of(self, value: Any) -> str:
        """How the user's code reaches an object, for messages."""
        if isinstance(value, str):
            return value
        seen = self.guards.seen
        originals = [old for _, made in self.renewed for old, new in made.items() if new is value]
        known = next((seen[key] for key in (id(value), *originals) if key in seen), None)
        return known[1].text if known else brief(value)


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
    if t.tensor._keys & OVERRIDDEN:
        raise UnsupportedError(
            f"compile: {t.source.text} is a {type(t.tensor).__name__}, whose __torch_function__ no graph can ask",
            got=describe(t.tensor), hint="pass x.as_subclass(opweave.Tensor), and make the result the subclass outside",
        )  # fmt: skip
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


def _lift(
    module: GraphModule, explicit: list[TensorInput | NumberInput], outside: list[TensorInput]
) -> list[TensorInput | NumberInput]:
    """Make an input of every outside tensor the graph holds as a constant, if a variable leads to it."""
    inputs = list(explicit)
    graph = module.graph
    placeholders = graph.placeholders()
    by_tensor = {id(t.tensor): t for t in outside}
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
