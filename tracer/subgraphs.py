"""Functions that are handed to an op, traced as graphs of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from opweave.fake.constraints import Assertion
from opweave.fake.symbolic import SymFloat
from opweave.fake.tensor import FakeTensor
from opweave.registry.control_flow.operators import ControlFlowOperator, Flat, aten, fresh, refuse_write
from opweave.registry.dataclass import dataclass
from opweave.registry.dtypes import float64, int64
from opweave.registry.errors import OpweaveError, UnsupportedError
from opweave.registry.keys import GRAD, state
from opweave.registry.spec import is_contiguous
from opweave.registry.tensor import Tensor, describe
from opweave.tracer.graph import Graph, Node
from opweave.tracer.numbers import Numbers
from opweave.tracer.proxy import ProxyMode


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
            keep_triton_ops=outer.keep_triton_ops, decompositions=outer.decompositions,
            pre_dispatch=outer.pre_dispatch,
        )  # fmt: skip
        self.outer = outer
        #: What was lifted, with what stands for it and the version of its memory at that time.
        self.closures: list[tuple[Tensor, FakeTensor, int]] = []

    @property
    def numbers(self) -> Numbers | None:
        numbers = super().numbers
        if numbers is not None:
            numbers.bring = self._bring
        return numbers

    def tells(self, expr: Any) -> bool:
        return super().tells(expr) or self.outer.tells(expr)

    def _demand(self, assertion: Assertion) -> None:
        # What is demanded counts as known everywhere, so it is checked where all that follows sees it.
        if self.outer.tells(assertion.expr):
            self.outer._demand(assertion)
        else:
            super()._demand(assertion)

    def _bring(self, symbol: Any) -> bool:
        """Make a further input of a number that the trace around knows: a tensor that holds it."""
        outer, numbers = self.outer, self.numbers
        if numbers is None or not outer.tells(symbol):
            return False
        env = numbers.env
        number = env.wrap(symbol) if symbol.is_integer else env.wrap(symbol, SymFloat)
        modes = state.modes
        state.modes = [outer.fake_mode, outer]
        try:
            t = aten.full.default([], number, dtype=int64 if symbol.is_integer else float64)
        finally:
            state.modes = modes
        numbers.bind_item(symbol, self._fake_of(t)._node)
        return True

    def _fake_of(self, t: Tensor) -> FakeTensor:
        if isinstance(t, FakeTensor) and t._tracer is self:
            return t
        found = self._lifted.get(id(t))
        if found is None:
            graph = self.graph
            inputs = graph.placeholders()
            with graph.inserting_after(inputs[-1]) if inputs else graph.inserting_before(None):
                node = graph.placeholder(name_of(t))
            found = self.fake_mode.fresh(t)
            self._track(found, node)
            self._lifted[id(t)] = found
            self.closures.append((t, found, found._storage.version))
        return found


@dataclass(slots=True)
class Traced:
    """A function as a graph: of its own inputs, then of what it closes over."""

    label: str
    fn: Any
    graph: Graph
    closures: list[Tensor]
    results: list[FakeTensor]


def trace_function(
    outer: ProxyMode, label: str, fn: Flat, inputs: Sequence[FakeTensor], named: Sequence[FakeTensor] | None = None,
    *, is_predicate: bool = False, differentiable: bool = False, copies: bool = False,
) -> Traced:  # fmt: skip
    """Trace a function; its inputs have the names of `named`.

    Results that are inputs, or each other, are refused, or copied where `copies` says that nobody can tell.
    """
    mode = SubgraphMode(outer)
    graph = mode.graph
    try:
        values = [mode.add_input(name_of(name), t) for name, t in zip(named or inputs, inputs, strict=True)]
        versions = [t._storage.version for t in values]
        with mode:
            found = [mode._fake_of(t) for t in fn(*values)]
            if mode.refused is not None:
                raise mode.refused
            mode.check_inputs()
            given = [*zip(values, versions, strict=True), *((fake, version) for _, fake, version in mode.closures)]
            if copies:
                found = _separate(given, found)
            # A predicate is only looked at.
            check_memory(label, given, [] if is_predicate else found)
            if any(t._keys & GRAD for t in found) and not differentiable:
                raise no_gradient(label, next(t for t in found if t._keys & GRAD))
            results = [t if is_contiguous(t._sizes, t._strides) else aten.contiguous.default(t) for t in found]
        graph.output(tuple([t._node for t in results]))
    except OpweaveError as error:
        # The traced function may catch it and go on, on a path that it would not take otherwise.
        outer.refused = outer.refused or error
        raise
    finally:
        mode.finish()
    return Traced(label, fn, graph, [t for t, _, _ in mode.closures], results)


def name_of(t: Tensor) -> str:
    """What an input is named after that stands for a tensor."""
    return t._node.name if isinstance(t, FakeTensor) and t._tracer is not None else "w_1"


def _separate(given: Sequence[tuple[FakeTensor, int]], results: Sequence[FakeTensor]) -> list[FakeTensor]:
    """The results, each in memory of its own."""
    taken = {id(t._storage) for t, _ in given}
    found: list[FakeTensor] = []
    for t in results:
        t = cast("FakeTensor", fresh(t)) if id(t._storage) in taken else t
        taken.add(id(t._storage))
        found.append(t)
    return found


def check_memory(label: str, given: Sequence[tuple[FakeTensor, int]], results: Sequence[FakeTensor]) -> None:
    """Refuse writes to inputs, and results that share memory with them or each other."""
    for t, version in given:
        if t._storage.version != version:
            refuse_write(label, t)
    taken = {id(t._storage): "a tensor that it was given" for t, _ in given}
    for i, t in enumerate(results):
        other = taken.setdefault(id(t._storage), f"its result {i}")
        if other != f"its result {i}":
            raise UnsupportedError(
                f"{label}: its result {i} is {other}, or a view of it", got=describe(t),
                hint="return a copy: x.clone()",
            )  # fmt: skip


def no_gradient(label: str, t: Tensor) -> UnsupportedError:
    """The error for control flow that would lose a gradient."""
    what = label.partition(":")[0]
    return UnsupportedError(
        f"{what}: a tensor that requires grad is used in traced control flow, which is not differentiated",
        got=describe(t), hint=f"call {what} uncompiled, detach() the tensor, or trace under opweave.no_grad()",
    )  # fmt: skip


def merged(parts: Sequence[Traced], names: Sequence[str], outer: ProxyMode) -> tuple[list[Graph], list[Tensor]]:
    """The graphs, all with the same inputs for what any of them closes over; and what that is."""
    closures = list({id(t): t for part in parts for t in part.closures}.values())
    number = sum(isinstance(node.target, ControlFlowOperator) for node in outer.graph.find_nodes(op="call_function"))
    graphs: list[Graph] = []
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
