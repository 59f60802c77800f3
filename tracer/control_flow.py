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

A tensor that a function closes over becomes a further operand, and a further input of all graphs of the call. Carried
values and results are row-major, so that one graph is good for all steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opweave.fake.mode import FakeTensorMode
from opweave.fake.tensor import FakeTensor
from opweave.registry.autograd.mode import no_grad
from opweave.registry.control_flow import functions
from opweave.registry.control_flow.operators import (
    CARRY_HINT,
    Flat,
    check_agreement,
    check_predicate,
    cond_op,
    map_op,
    refuse_write,
    scan_op,
    while_loop_op,
)
from opweave.registry.errors import ArgumentError, OpweaveError, UnsupportedError
from opweave.registry.keys import BATCHED_BIT, GRAD, no_modes, state
from opweave.registry.op import ops
from opweave.registry.spec import TensorSpec, contiguous, is_contiguous
from opweave.registry.tensor import Tensor, describe
from opweave.registry.vmap.levels import active
from opweave.tracer.graph import Graph, Node
from opweave.tracer.interpreter import Interpreter
from opweave.tracer.proxy import ProxyMode

aten = ops.aten

associative_scan = functions.associative_scan
cond = functions.cond
map = functions.map
scan = functions.scan
while_loop = functions.while_loop


# ---- a function as a graph -------------------------------------------------------------------------------------------


class SubgraphMode(ProxyMode):
    """Records a function that a traced function hands to an op; tensors from outside become inputs.

    Parameters
    ----------
    outer : ProxyMode
        Of the trace that the op is called in.
    """

    def __init__(self, outer: ProxyMode):
        super().__init__(
            Graph(), outer.fake_mode, site=outer._site, boundary=outer._stacks._boundary, compiling=outer.compiling,
            keep_triton_ops=outer.keep_triton_ops,
        )  # fmt: skip
        #: What was lifted, with what stands for it and the version of its memory at that time.
        self.closures: list[tuple[Tensor, FakeTensor, int]] = []

    def _fake_of(self, t: Tensor) -> FakeTensor:
        if isinstance(t, FakeTensor) and t._tracer is self:
            return t
        found = self._lifted.get(id(t))
        if found is None:
            graph = self.graph
            inputs = graph.placeholders()
            with graph.inserting_after(inputs[-1]) if inputs else graph.inserting_before(None):
                node = graph.placeholder(_name_of(t))
            found = self.fake_mode.fresh(t)
            self._track(found, node)
            self._lifted[id(t)] = found
            self.closures.append((t, found, found._storage.version))
        return found


@dataclass(slots=True)
class _Traced:
    """A function as a graph: of its own inputs, then of what it closes over."""

    label: str
    fn: Any
    graph: Graph
    closures: list[Tensor]
    results: list[FakeTensor]


def _trace(
    outer: ProxyMode, label: str, fn: Flat, inputs: Sequence[FakeTensor], named: Sequence[FakeTensor] | None = None,
    *, is_predicate: bool = False,
) -> _Traced:  # fmt: skip
    """Trace a function; its inputs have the names of `named`."""
    env = outer.fake_mode.shape_env
    demand = None if env is None else env.on_assertion
    mode = SubgraphMode(outer)
    graph = mode.graph
    try:
        values = [mode.add_input(_name_of(name), t) for name, t in zip(named or inputs, inputs, strict=True)]
        versions = [t._storage.version for t in values]
        with mode:
            found = [mode._fake_of(t) for t in fn(*values)]
            if mode.refused is not None:
                raise mode.refused
            given = [*zip(values, versions, strict=True), *((fake, version) for _, fake, version in mode.closures)]
            # A predicate is only looked at.
            _check_memory(label, given, [] if is_predicate else found)
            results = [t if is_contiguous(t._sizes, t._strides) else aten.contiguous.default(t) for t in found]
        graph.output(tuple([t._node for t in results]))
    except OpweaveError as error:
        # The traced function may catch it and go on, on a path that it would not take otherwise.
        outer.refused = outer.refused or error
        raise
    finally:
        mode.finish()
        if env is not None:
            env.on_assertion = demand
    return _Traced(label, fn, graph, [t for t, _, _ in mode.closures], results)


def _name_of(t: Tensor) -> str:
    return t._node.name if isinstance(t, FakeTensor) and t._tracer is not None else "w_1"


def _check_memory(label: str, given: Sequence[tuple[FakeTensor, int]], results: Sequence[FakeTensor]) -> None:
    """Refuse writes to inputs, and results that share memory with them or each other."""
    for t, version in given:
        if t._storage.version != version:
            refuse_write(label, t)
    taken = {id(t._storage): "a tensor that it was given" for t, _ in given}
    for i, t in enumerate(results):
        if t._keys & GRAD:
            raise _no_gradient(label, t)
        other = taken.setdefault(id(t._storage), f"its result {i}")
        if other != f"its result {i}":
            raise UnsupportedError(
                f"{label}: its result {i} is {other}, or a view of it", got=describe(t),
                hint="return a copy: x.clone()",
            )  # fmt: skip


def _no_gradient(label: str, t: Tensor) -> UnsupportedError:
    what = label.partition(":")[0]
    return UnsupportedError(
        f"{what}: a tensor that requires grad is used in traced control flow, which is not differentiated",
        got=describe(t), hint=f"call {what} uncompiled, detach() the tensor, or trace under opweave.no_grad()",
    )  # fmt: skip


def _merged(parts: Sequence[_Traced], names: Sequence[str], outer: ProxyMode) -> tuple[list[Graph], list[Tensor]]:
    """The graphs, all with the same inputs for what any of them closes over; and what that is."""
    closures = list({id(t): t for part in parts for t in part.closures}.values())
    number = sum(isinstance(node.target, type(cond_op)) for node in outer.graph.find_nodes(op="call_function"))
    graphs = []
    for part, name in zip(parts, names, strict=True):
        graph = Graph()
        graph.name = f"{name}_{number}"
        inputs = part.graph.placeholders()
        own = len(inputs) - len(part.closures)
        mapping: dict[Node, Any] = {node: graph.node_copy(node, _no_operands) for node in inputs[:own]}
        lifted = dict(zip([id(t) for t in part.closures], inputs[own:], strict=True))
        for t in closures:
            node = lifted.get(id(t))
            if node is not None:
                mapping[node] = graph.node_copy(node, _no_operands)
            else:
                unused = graph.placeholder("unused_1")
                unused.meta["val"] = outer.fake_mode.fresh(t)
        graph.output(graph.copy_nodes(part.graph, mapping))
        graphs.append(graph)
    return graphs, closures


def _no_operands(node: Node) -> Any:
    raise AssertionError("an input has no operands")


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

    def lifted(self, tensors: Sequence[Tensor]) -> tuple[FakeTensor, ...]:
        """What stands for tensors in this trace."""
        found = tuple([self.mode._fake_of(t) for t in tensors])
        for t in found:
            if t._keys & GRAD and not state.exclude & GRAD:
                raise _no_gradient(self.op.name.removesuffix("_impl"), t)
        return found

    def like(self, tensors: Sequence[FakeTensor]) -> list[FakeTensor]:
        """Row-major tensors of their own."""
        make = self.mode.fake_mode.make
        return [make(contiguous(t._sizes, t._dtype, t._device)) for t in tensors]

    def slices(self, xs: Sequence[FakeTensor]) -> list[FakeTensor]:
        """What a step gets of tensors that are gone through."""
        make = self.mode.fake_mode.make
        return [make(TensorSpec(t._sizes[1:], t._strides[1:], t._dtype, t._device)) for t in xs]

    def record(self, args: tuple[Any, ...], results: Sequence[FakeTensor]) -> tuple[FakeTensor, ...]:
        """The node, and what stands for its results."""
        mode = self.mode
        outputs = self.like(results)
        if mode.real:
            with no_modes():
                values = self.op.kernel(*[_real(value) for value in args])
            outputs = [mode.fake_mode.fresh(value) for value in values]
            for output, value in zip(outputs, values, strict=True):
                output._real = value
        return mode._record(self.op, args, {}, tuple(outputs), *self.place)


def _real(value: Any) -> Any:
    """An operand for running an op at once."""
    if isinstance(value, Graph):
        return lambda *values: Interpreter(value).run(*values)
    if isinstance(value, tuple):
        return tuple([_real(item) for item in value])
    return value._real if isinstance(value, FakeTensor) else value


@cond_op.py_impl(ProxyMode)
def _cond(mode: ProxyMode, pred: Any, true_fn: Flat, false_fn: Flat, operands: Sequence[Tensor]) -> Any:
    check_predicate("cond: pred", pred)
    call = _Call(mode, cond_op)
    (pred,) = call.lifted((pred,))
    given = call.lifted(operands)
    parts = [_trace(mode, "cond: true_fn", true_fn, given), _trace(mode, "cond: false_fn", false_fn, given)]
    _same_structure(true_fn, false_fn)
    check_agreement("cond", ("true_fn", parts[0].results), ("false_fn", parts[1].results), true_fn)
    graphs, closures = _merged(parts, ("true_graph", "false_graph"), mode)
    return call.record((pred, *graphs, (*given, *call.lifted(closures))), parts[0].results)


@while_loop_op.py_impl(ProxyMode)
def _while_loop(
    mode: ProxyMode, cond_fn: Flat, body_fn: Flat, carried: Sequence[Tensor], extra: Sequence[Tensor]
) -> Any:
    call = _Call(mode, while_loop_op)
    given, rest = call.lifted(carried), call.lifted(extra)
    going = _trace(mode, "while_loop: cond_fn", cond_fn, [*call.like(given), *rest], (*given, *rest), is_predicate=True)
    if len(going.results) != 1:
        raise ArgumentError("while_loop: cond_fn must return one tensor", got=describe(going.results))
    check_predicate("while_loop: what cond_fn returns", going.results[0])
    body = _trace(mode, "while_loop: body_fn", body_fn, [*call.like(given), *rest], (*given, *rest))
    ends = ("the carried values", given), ("what body_fn returns", body.results)
    check_agreement("while_loop", *ends, body_fn, hint=CARRY_HINT)
    graphs, closures = _merged([going, body], ("cond_graph", "body_graph"), mode)
    return call.record((*graphs, given, (*rest, *call.lifted(closures))), body.results)


@scan_op.py_impl(ProxyMode)
def _scan(
    mode: ProxyMode, combine_fn: Flat, init: Sequence[Tensor], xs: Sequence[Tensor], extra: Sequence[Tensor]
) -> Any:
    call = _Call(mode, scan_op)
    given, whole, rest = call.lifted(init), call.lifted(xs), call.lifted(extra)
    inputs = [*call.like(given), *call.slices(whole), *rest]
    step = _trace(mode, "scan: combine_fn", combine_fn, inputs, (*given, *whole, *rest))
    carry, row = step.results[: len(given)], step.results[len(given) :]
    check_agreement("scan", ("the carry", given), ("the next carry", carry), combine_fn, hint=CARRY_HINT)
    graphs, closures = _merged([step], ("combine_graph",), mode)
    results = [*carry, *_stacked(mode, row, whole[0]._sizes[0])]
    return call.record((*graphs, given, whole, (*rest, *call.lifted(closures))), results)


@map_op.py_impl(ProxyMode)
def _map(mode: ProxyMode, f: Flat, xs: Sequence[Tensor], args: Sequence[Tensor]) -> Any:
    call = _Call(mode, map_op)
    whole, rest = call.lifted(xs), call.lifted(args)
    step = _trace(mode, "map: f", f, [*call.slices(whole), *rest], (*whole, *rest))
    graphs, closures = _merged([step], ("body_graph",), mode)
    results = _stacked(mode, step.results, whole[0]._sizes[0])
    return call.record((*graphs, whole, (*rest, *call.lifted(closures))), results)


def _stacked(mode: ProxyMode, row: Sequence[FakeTensor], length: Any) -> list[FakeTensor]:
    return [mode.fake_mode.make(contiguous((length, *t._sizes), t._dtype, t._device)) for t in row]


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
    except Exception:
        # It cannot run without data, or not at all: that is said when it is chosen.
        return
    functions.check_same_structure("cond", *sorted((ran, other), key=lambda part: part.label, reverse=True))
    sides = {ran.label: results, other.label: found}
    ends = ("true_fn", sides["cond: true_fn"]), ("false_fn", sides["cond: false_fn"])
    check_agreement("cond", *ends, other)
    if None not in codes:
        _compared.add(key)


functions.compare_branches = _compare_branches
