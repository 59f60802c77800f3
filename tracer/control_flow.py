"""Control flow in traces: each function becomes a graph of its own, an operand of the op's node.

    def forward(self, p_1: "b8[]", x_1: "f32[3]"):
        def true_graph_0(x_1: "f32[3]"):
            cos: "f32[3]" = ops.aten.cos.default(x_1)
            return (cos,)

        def false_graph_0(x_1: "f32[3]"):
            ...

        cond: "(f32[3],)" = ops.cond(p_1, true_graph_0, false_graph_0, (x_1,))
        getitem: "f32[3]" = operator.getitem(cond, 0)
        return (getitem,)

What autograd records of a call runs the derivatives of its functions, traced from the functions themselves, by the same
op: the backward of a `cond` is a `cond`, that of a `scan` a `scan` in the other direction. That of a `while_loop` is a
`scan` too, over what was carried before each step, which the loop then stacks.

A tensor that a function closes over becomes a further operand, and a further input of all graphs of the call. Carried
values and results are row-major, so that one graph is good for all steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from opweave.fake.mode import FakeTensorMode
from opweave.fake.tensor import FakeTensor
from opweave.registry.autograd import engine, graph as autograd
from opweave.registry.autograd.mode import enable_grad, no_grad
from opweave.registry.autograd.saved import SavedTensor, drop
from opweave.registry.batched import Level, levels_among
from opweave.registry.control_flow import functions
from opweave.registry.control_flow.operators import (
    CARRY_HINT,
    Flat,
    check_agreement,
    check_predicate,
    cond_op,
    fresh,
    map_op,
    scan_op,
    while_loop_op,
    while_loop_stack_output_op,
)
from opweave.registry.errors import ArgumentError, UnsupportedError
from opweave.registry.interrupts import contextmanager, let_through
from opweave.registry.keys import BATCHED_BIT, GRAD, no_modes, state
from opweave.registry.nested import map_leaves
from opweave.registry.op import ops
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.tensor import Tensor, describe
from opweave.registry.vmap.levels import active, is_recorded
from opweave.tracer.graph import Graph
from opweave.tracer.interpreter import Interpreter
from opweave.tracer.proxy import ProxyMode
from opweave.tracer.subgraphs import SubgraphMode, Traced, merged, name_of, no_gradient, trace_function

aten = ops.aten

associative_scan = functions.associative_scan
cond = functions.cond
map = functions.map
scan = functions.scan
while_loop = functions.while_loop


# ---- recording -------------------------------------------------------------------------------------------------------


class _Call:
    """One call of an op that is being recorded.

    Parameters
    ----------
    mode : ProxyMode
        Where.
    op : HigherOrderOperator
        What.
    """

    def __init__(self, mode: ProxyMode, op: Any):
        self.mode = mode
        self.op = op
        self.place = (mode._site, None) if mode._site is not None else mode._stacks.read(3)

    def lifted(self, tensors: Sequence[Tensor], *, differentiable: bool = False) -> tuple[FakeTensor, ...]:
        """What stands for tensors in this trace."""
        found = tuple([self.mode._fake_of(t) for t in tensors])
        for t in found:
            if is_recorded(t) and not differentiable:
                raise no_gradient(self.op.name.removesuffix("_impl"), t)
        return found

    def like(self, tensors: Sequence[FakeTensor]) -> list[FakeTensor]:
        """Row-major tensors of their own."""
        make = self.mode.fake_mode.make
        return [make(contiguous(t._sizes, t._dtype, t._device)) for t in tensors]

    def slices(self, xs: Sequence[FakeTensor]) -> list[FakeTensor]:
        """What a step gets of tensors that are gone through."""
        make = self.mode.fake_mode.make
        found = [make(TensorSpec(t._sizes[1:], t._strides[1:], t._dtype, t._device)) for t in xs]
        for one, whole in zip(found, xs, strict=True):
            one._keys |= whole._keys & GRAD
        return found

    def record(self, args: tuple[Any, ...], results: Sequence[FakeTensor]) -> tuple[FakeTensor, ...]:
        """The node, and what stands for its results."""
        mode = self.mode
        outputs = self.like(results)
        if mode.real:
            with no_modes(), no_grad():
                values = self.op.kernel(*[map_leaves(value, _real) for value in args])
            outputs = [mode.fake_mode.fresh(value) for value in values]
            for output, value in zip(outputs, values, strict=True):
                output._real = value
        return mode._record(self.op, args, {}, tuple(outputs), *self.place)


def _real(value: Any) -> Any:
    """An operand for running an op at once."""
    if isinstance(value, Graph):

        def run(*values: Any) -> Any:
            return Interpreter(value).run(*values)

        return run
    return value._real if isinstance(value, FakeTensor) else value


@cond_op.py_impl(ProxyMode)
def _cond(mode: ProxyMode, pred: Any, true_fn: Flat, false_fn: Flat, operands: Sequence[Tensor]) -> Any:
    check_predicate("cond: pred", pred)
    call = _Call(mode, cond_op)
    (pred,) = call.lifted((pred,))
    given = call.lifted(operands, differentiable=True)
    recording = not state.exclude & GRAD
    parts = [
        trace_function(mode, "cond: true_fn", true_fn, given, differentiable=recording),
        trace_function(mode, "cond: false_fn", false_fn, given, differentiable=recording),
    ]
    _same_structure(true_fn, false_fn)
    check_agreement("cond", ("true_fn", parts[0].results), ("false_fn", parts[1].results), true_fn)
    graphs, closures = merged(parts, ("true_graph", "false_graph"), mode)
    rest = call.lifted(closures, differentiable=True)
    results = call.record((pred, *graphs, (*given, *rest)), parts[0].results)
    live = _live([part.results for part in parts])
    if live:
        back = [_trace_back(mode, part, given, closures, live) for part in parts]

        def walk(values: Sequence[Tensor], tangents: Sequence[Tensor]) -> Sequence[Tensor]:
            return cond_op(values[0], *back, (*values[1:], *tangents))

        _attach(results, live, (pred, *given, *closures), (pred, *given, *rest), walk)
    return results


@while_loop_op.py_impl(ProxyMode)
def _while_loop(
    mode: ProxyMode, cond_fn: Flat, body_fn: Flat, carried: Sequence[Tensor], extra: Sequence[Tensor]
) -> Any:
    call = _Call(mode, while_loop_op)
    given, rest = (call.lifted(part, differentiable=True) for part in (carried, extra))
    inputs = [*call.like(given), *rest]
    body = _traced_step(mode, "while_loop: body_fn", body_fn, inputs, given, (*given, *rest))
    ends = ("the carried values", given), ("what body_fn returns", body.results)
    check_agreement("while_loop", *ends, body_fn, hint=CARRY_HINT)
    going = trace_function(
        mode, "while_loop: cond_fn", cond_fn, inputs, (*given, *rest), is_predicate=True, differentiable=True
    )
    if len(going.results) != 1:
        raise ArgumentError("while_loop: cond_fn must return one tensor", got=describe(going.results))
    check_predicate("while_loop: what cond_fn returns", going.results[0])
    live = [] if state.exclude & GRAD else [i for i, t in enumerate(inputs[: len(given)]) if t._keys & GRAD]
    graphs, closures = merged([going, body], ("while_loop_cond_graph", "while_loop_body_graph"), mode)
    lifted = (*rest, *call.lifted(closures, differentiable=True))
    if not live:
        return call.record((*graphs, given, lifted), body.results)
    # The walk back needs the carry before each step; how many steps there are shows when the trace runs.
    call.op = while_loop_stack_output_op
    steps = mode.fake_mode.symbols().new_unbacked(0)
    results = call.record((*graphs, given, lifted), [*body.results, *_stacked(mode, body.results, steps)])
    back = _trace_back(mode, body, inputs, closures, live)
    walk = _scan_back(back, given, (), lifted, live)
    _attach(results, live, (*carried, *extra, *closures), (*results[len(given) :], *lifted), walk)
    return results[: len(given)]


def _traced_step(
    mode: ProxyMode, label: str, fn: Flat, inputs: Sequence[FakeTensor], given: Sequence[FakeTensor],
    names: Sequence[FakeTensor],
) -> Traced:  # fmt: skip
    """The function of a loop, whose first inputs and results are carried; inputs that get a history are marked so."""
    recording = not state.exclude & GRAD
    for one, t in zip(inputs, given, strict=False):
        one._keys |= t._keys & GRAD
    while True:
        step = trace_function(mode, label, fn, inputs, names, differentiable=recording, copies=True)
        # A carry that gets a history in one step has it in the next.
        late = [one for one, t in zip(inputs[: len(given)], step.results, strict=False) if t._keys & GRAD & ~one._keys]
        if not late:
            return step
        for t in late:
            t._keys |= GRAD


@scan_op.py_impl(ProxyMode)
def _scan(
    mode: ProxyMode, combine_fn: Flat, init: Sequence[Tensor], xs: Sequence[Tensor], extra: Sequence[Tensor]
) -> Any:
    call = _Call(mode, scan_op)
    given, whole, rest = (call.lifted(part, differentiable=True) for part in (init, xs, extra))
    inputs = [*call.like(given), *call.slices(whole), *rest]
    names = (*given, *whole, *rest)
    step = _traced_step(mode, "scan: combine_fn", combine_fn, inputs, given, names)
    carry, row = step.results[: len(given)], step.results[len(given) :]
    check_agreement("scan", ("the carry", given), ("the next carry", carry), combine_fn, hint=CARRY_HINT)
    recording = not state.exclude & GRAD
    live = [i for i, t in enumerate((*inputs[: len(given)], *row)) if t._keys & GRAD and recording]
    traced = step
    if live:
        # The walk back needs the carry before each step, and its derivative depends on what that was.
        def keeping(*values: Tensor) -> Sequence[Tensor]:
            return (*combine_fn(*values), *[fresh(t) for t in values[: len(given)]])

        traced = trace_function(mode, "scan: combine_fn", keeping, inputs, names, differentiable=True, copies=True)
        row = traced.results[len(given) :]
        live += [len(step.results) + i for i in live if i < len(given)]
    graphs, closures = merged([traced], ("scan_combine_graph",), mode)
    lifted = (*rest, *call.lifted(closures, differentiable=True))
    results = call.record((*graphs, given, whole, lifted), [*carry, *_stacked(mode, row, whole[0]._sizes[0])])
    count = len(step.results)
    if live:
        back = _trace_back(mode, traced, inputs, closures, live)
        walk = _scan_back(back, given, whole, lifted, live)
        _attach(results, live, (*init, *xs, *rest, *closures), (*results[count:], *whole, *lifted), walk)
    return results[:count]


def _scan_back(
    back: Flat, given: Sequence[Tensor], whole: Sequence[Tensor], lifted: Sequence[Tensor], live: Sequence[int]
) -> Walk:
    """The derivative of a scan: a scan from the last step to the first.

    It carries the gradients of the carry, and sums those of what all steps share.
    """
    n, sliced = len(given), len(whole)
    carries = [i for i in live if i < n]
    shared = [i for i, t in enumerate(lifted) if t._keys & GRAD]
    moving = [i for i, t in enumerate(whole) if t._keys & GRAD]
    own = [k for k, i in enumerate(carries) if given[i]._keys & GRAD]

    def walk(values: Sequence[Tensor], tangents: Sequence[Tensor]) -> Sequence[Tensor]:
        steps, rest = values[: n + sliced], values[n + sliced :]
        sums = [aten.zeros.default(list(t._sizes), dtype=t._dtype, device=t._device) for t in (rest[i] for i in shared)]
        first = len(carries) + len(shared)

        def one(*now: Tensor) -> Sequence[Tensor]:
            gradients, totals, now = now[: len(carries)], now[len(carries) : first], now[first:]
            split = len(now) - len(rest)
            before, rows, fixed = now[: n + sliced], now[n + sliced : split], now[split:]
            found = back(*before, *fixed, *gradients, *rows)
            middle = len(carries) + len(moving)
            added = [aten.add.Tensor(a, b) for a, b in zip(totals, found[middle:], strict=True)]
            return (*found[: len(carries)], *added, *found[len(carries) : middle])

        reverse = [aten.flip.default(t, [0]) for t in (*steps, *tangents[len(carries) :])]
        found = scan_op(one, (*tangents[: len(carries)], *sums), tuple(reverse), tuple(rest))
        starts = [found[k] for k in own]
        return [*starts, *[aten.flip.default(t, [0]) for t in found[first:]], *found[len(carries) : first]]

    return walk


@map_op.py_impl(ProxyMode)
def _map(mode: ProxyMode, f: Flat, xs: Sequence[Tensor], args: Sequence[Tensor]) -> Any:
    call = _Call(mode, map_op)
    whole, rest = call.lifted(xs, differentiable=True), call.lifted(args, differentiable=True)
    inputs = [*call.slices(whole), *rest]
    step = trace_function(
        mode, "map: f", f, inputs, (*whole, *rest), differentiable=not state.exclude & GRAD, copies=True
    )
    graphs, closures = merged([step], ("body_graph",), mode)
    lifted = (*rest, *call.lifted(closures, differentiable=True))
    results = call.record((*graphs, whole, lifted), _stacked(mode, step.results, whole[0]._sizes[0]))
    live = _live([step.results])
    if live:
        back = _trace_back(mode, step, inputs, closures, live)
        sliced = len(whole) + len(live)
        wanted = [i for i, t in enumerate((*whole, *lifted)) if t._keys & GRAD]

        def one(*values: Tensor) -> Sequence[Tensor]:
            return back(*values[: len(whole)], *values[sliced:], *values[len(whole) : sliced])

        def walk(values: Sequence[Tensor], tangents: Sequence[Tensor]) -> Sequence[Tensor]:
            found = map_op(one, (*values[: len(whole)], *tangents), tuple(values[len(whole) :]))
            # What all slices share has the sum of their gradients.
            return [g if i < len(whole) else aten.sum.dim_IntList(g, [0]) for i, g in zip(wanted, found, strict=True)]

        _attach(results, live, (*whole, *rest, *closures), (*whole, *lifted), walk)
    return results


def _stacked(mode: ProxyMode, row: Sequence[FakeTensor], length: Any) -> list[FakeTensor]:
    return [mode.fake_mode.make(contiguous((length, *t._sizes), t._dtype, t._device)) for t in row]


# ---- gradients -------------------------------------------------------------------------------------------------------

Walk = Callable[[Sequence[Tensor], Sequence[Tensor]], Sequence[Tensor]]


class ControlFlowBackward(autograd.Node):
    """Runs the derivative of what ran, which is control flow too.

    Parameters
    ----------
    sources : sequence of Tensor
        What gradients flow to, as autograd knows them.
    values : sequence of Tensor
        The same in the trace.
    walk : callable
        ``(values, tangents)``: gradients of the sources that require grad.
    results : sequence of Tensor
        What gradients come from.
    """

    def __init__(self, sources: Sequence[Tensor], values: Sequence[Tensor], walk: Walk, results: Sequence[Tensor]):
        super().__init__(tuple([autograd.edge_of(t) for t in sources]), tuple([t.spec for t in sources]))
        self.output_count = len(results)
        self.output_specs = [t.spec for t in results]
        outputs = {id(t): k for k, t in enumerate(results)}
        self.saved = [SavedTensor(t, outputs.get(id(t))) for t in values]
        self.walk = walk

    def apply(self, grads: autograd.Grads) -> Sequence[Tensor | None]:
        values = [saved.get(self) for saved in self.saved]
        tangents: list[Tensor] = []
        for grad, spec in zip(grads, self.output_specs, strict=True):
            assert spec is not None
            zeros = grad is None
            tangents.append(aten.zeros.default(spec.sizes, dtype=spec.dtype, device=spec.device) if zeros else grad)
        with _active_only(levels_among([*values, *tangents])):
            found = iter(self.walk(values, tangents))
            return [None if edge is None else next(found) for edge in self.edges]

    def release(self) -> None:
        drop(self.saved)


@contextmanager
def _active_only(levels: set[Level]) -> Iterator[None]:
    """Leave the vmaps that none of the tensors belongs to: their gradients would be stretched over all examples."""
    before = active()
    state.__dict__["vmap"] = [level for level in before if level in levels]
    try:
        yield
    finally:
        state.__dict__["vmap"] = before


def _live(results: Sequence[Sequence[Tensor]]) -> list[int]:
    """Which results have a gradient, in any of the functions."""
    return [i for i, column in enumerate(zip(*results, strict=True)) if any(t._keys & GRAD for t in column)]


def _attach(
    results: Sequence[Tensor], live: Sequence[int], sources: Sequence[Tensor], values: Sequence[Tensor], walk: Walk
) -> None:
    outputs = [results[i] for i in live]
    node = ControlFlowBackward(sources, values, walk, outputs)
    for i, t in enumerate(outputs):
        autograd.attach(t, node, i)


def _trace_back(
    outer: ProxyMode, part: Traced, inputs: Sequence[FakeTensor], closures: Sequence[Tensor], live: Sequence[int]
) -> Flat:
    """The derivative of a function: from inputs, closures and gradients of the live results to those of the former.

    The function runs again, as autograd records it, with what it closes over cut off from its history; so what it does
    under `no_grad`, or by a derivative of the user's, counts.
    """
    mode = SubgraphMode(outer)
    graph = mode.graph
    try:
        values = [mode.add_input(name_of(t), t) for t in inputs]
        for t in closures:
            mode._fake_of(t)
        make = outer.fake_mode.make
        specs = [contiguous(t._sizes, t._dtype, t._device) for t in (part.results[i] for i in live)]
        tangents = [mode.add_input("grad_1", make(spec)) for spec in specs]
        wanted = [t for t in (*values, *closures) if t._keys & GRAD]
        start = autograd.next_sequence()
        with _cut_off(closures), mode, enable_grad():
            found = part.fn(*values)
            _check_history(part.label, [found[i] for i in live], wanted, start)
            ends = [(found[i], t) for i, t in zip(live, tangents, strict=True) if found[i]._keys & GRAD]
            grads: Sequence[Tensor | None] = [None] * len(wanted)
            if ends and wanted:
                grads = engine.grad([t for t, _ in ends], wanted, [t for _, t in ends], allow_unused=True)
        with mode:
            made = [
                aten.zeros.default(list(t._sizes), dtype=t._dtype, device=t._device) if g is None else fresh(g)
                for g, t in zip(grads, wanted, strict=True)
            ]
        if mode.refused is not None:
            raise mode.refused
        mode.check_inputs()
        graph.output(tuple([mode._fake_of(t)._node for t in made]))
    finally:
        mode.finish()
    more = [t for t, _, _ in mode.closures[len(closures) :]]
    own = len(inputs) + len(closures) + len(live)
    # Inputs that were lifted later stand last.
    return lambda *values: Interpreter(graph).run(*values[:own], *more)


def _check_history(label: str, results: Sequence[Tensor], sources: Sequence[Tensor], start: int) -> None:
    """Refuse results with a history that none of the sources is the beginning of.

    A function may close over what `vmap` batches: its history is not that of the whole batch, which the graph holds.
    """
    known = {id(t) for t in sources}
    for t in results:
        root = autograd.grad_fn_of(t)
        for node in autograd.nodes_from([root]) if root is not None else ():
            leaf = node.variable if isinstance(node, autograd.AccumulateGrad) else None
            if id(leaf) not in known if leaf is not None else node.sequence < start:
                raise UnsupportedError(
                    f"{label} closes over a tensor that requires grad inside vmap, which traces do not differentiate",
                    got=describe(leaf) if leaf is not None else f"{node.name()}, a step before the call",
                    hint="pass the tensor as an operand",
                )  # fmt: skip


@contextmanager
def _cut_off(tensors: Sequence[Tensor]) -> Iterator[None]:
    """Make leaves of tensors inside the block: gradients do not go further."""
    kept = [(t, t._autograd) for t in tensors]
    try:
        for t, meta in kept:
            if meta is not None:
                t._autograd = made = autograd.AutogradMeta()
                made.view_version = t._storage.version
        yield
    finally:
        for t, meta in kept:
            t._autograd = meta


# ---- without data ----------------------------------------------------------------------------------------------------


@cond_op.py_impl(FakeTensorMode)
def _fake_cond(mode: FakeTensorMode, pred: Any, true_fn: Flat, false_fn: Flat, operands: Sequence[Tensor]) -> Any:
    check_predicate("cond: pred", pred)
    with mode:
        results = tuple(true_fn(*operands)), tuple(false_fn(*operands))
    _same_structure(true_fn, false_fn)
    check_agreement("cond", ("true_fn", results[0]), ("false_fn", results[1]), true_fn)
    return results[0]


@while_loop_op.py_impl(FakeTensorMode)
def _fake_while_loop(
    mode: FakeTensorMode, cond_fn: Flat, body_fn: Flat, carried: Sequence[Tensor], extra: Sequence[Tensor]
) -> Any:
    with mode:
        check_predicate("while_loop: what cond_fn returns", cond_fn(*carried, *extra)[0])
        results = tuple(body_fn(*carried, *extra))
    ends = ("the carried values", carried), ("what body_fn returns", results)
    check_agreement("while_loop", *ends, body_fn, hint=CARRY_HINT)
    return results


@scan_op.py_impl(FakeTensorMode)
def _fake_scan(
    mode: FakeTensorMode, combine_fn: Flat, init: Sequence[Tensor], xs: Sequence[Tensor], extra: Sequence[Tensor]
) -> Any:
    with mode:
        results = tuple(combine_fn(*init, *[aten.select.int(x, 0, 0) for x in xs], *extra))
        carry, row = results[: len(init)], results[len(init) :]
        check_agreement("scan", ("the carry", init), ("the next carry", carry), combine_fn, hint=CARRY_HINT)
        return (*carry, *[_repeated(t, xs[0]._sizes[0]) for t in row])


@map_op.py_impl(FakeTensorMode)
def _fake_map(mode: FakeTensorMode, f: Flat, xs: Sequence[Tensor], args: Sequence[Tensor]) -> Any:
    with mode:
        row = f(*[aten.select.int(x, 0, 0) for x in xs], *args)
        return tuple([_repeated(t, xs[0]._sizes[0]) for t in row])


def _repeated(t: Tensor, length: Any) -> Tensor:
    whole = aten.expand.default(aten.unsqueeze.default(t, 0), [length, *t._sizes])
    return aten.clone.default(aten.contiguous.default(whole))


def _same_structure(true_fn: Any, false_fn: Any) -> None:
    if isinstance(true_fn, functions.FlatFunction) and isinstance(false_fn, functions.FlatFunction):
        functions.check_same_structure("cond", true_fn, false_fn)


# ---- the branch that did not run -------------------------------------------------------------------------------------

#: Pairs of branches that agree for operands that look the same.
_compared: set[Any] = set()
_MOST = 4096


def _compare_branches(
    ran: functions.FlatFunction, other: functions.FlatFunction, operands: Sequence[Tensor], results: Sequence[Tensor]
) -> None:
    if state.modes or active() or any(t._keys & BATCHED_BIT for t in (*operands, *results)):
        return
    codes = tuple([getattr(part.fn, "__code__", None) for part in (ran, other)])
    key = codes, tuple([t.spec for t in operands])
    if key in _compared:
        return
    try:
        with FakeTensorMode(allow_non_fake_inputs=True) as mode, no_grad():
            found = other(*[mode.from_tensor(t) for t in operands])
    except Exception as error:
        let_through(error)
        # It cannot run without data, or not at all: that is said when it is chosen.
        return
    functions.check_same_structure("cond", *sorted((ran, other), key=lambda part: part.label, reverse=True))
    sides = {ran.label: results, other.label: found}
    ends = ("true_fn", sides["cond: true_fn"]), ("false_fn", sides["cond: false_fn"])
    check_agreement("cond", *ends, other)
    if None not in codes:
        if len(_compared) > _MOST:
            _compared.clear()
        _compared.add(key)


functions.compare_branches.supply(_compare_branches)
