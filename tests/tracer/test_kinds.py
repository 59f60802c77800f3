"""A kind of op is one class: passes and the analysis of loops ask it, and know no kind by its name."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from opweave.passes.fuse import fuse
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds.base import Kind
from opweave.registry.ops.kinds.loops import Call, Demand, Operand, Space
from opweave.registry.tensor import from_numpy
from opweave.tracer.graph import Graph, Node
from opweave.tracer.iteration import analyse, classify


class Outer(Kind):
    """Each element of one vector with each of another."""

    kind = "outer"
    cost = 1

    def __init__(self) -> None:
        self.op = OpOverload("test::outer", "test::outer(Tensor x, Tensor y) -> Tensor")
        self.op.decl, self.op.fake = self, self.fake

    def objection(self, call: Call) -> str:
        return "" if all(operand.ndim == 1 for operand in call.operands) else "no vectors"

    def demands(self, call: Call, operand: Operand, demand: Demand, space: Space) -> Iterable[Demand]:
        both = zip(call.arguments(), demand.index, strict=True)
        return [demand.at((part,)) for vector, part in both if vector == operand]


outer = Outer().op


def _graph(*sizes: tuple[int, ...]) -> tuple[Graph, Node]:
    """`outer(-x, y)`."""
    graph = Graph()
    x, y = (graph.placeholder(name) for name in "xy")
    for node, size in zip((x, y), sizes, strict=True):
        node.meta["val"] = from_numpy(np.zeros(size, np.float32))
    negated = graph.call_function(ops.aten.neg.default, (x,), {})
    negated.meta["val"] = x.meta["val"]
    found = graph.call_function(outer, (negated, y), {})
    found.meta["val"] = from_numpy(np.zeros((*sizes[0], *sizes[1]), np.float32))
    graph.output((found,))
    return graph, found


def test_a_new_kind_is_asked_where_it_needs_its_operands() -> None:
    graph, found = _graph((3,), (4,))
    space = analyse(graph, [found])
    (negated, y) = found.all_input_nodes
    rows, columns = space.kept
    assert (rows.size, columns.size, space.reduced) == (3, 4, [])
    assert [demand.axes for demand in space.demands[negated]] == [{rows}]
    assert [demand.axes for demand in space.demand_of(y, y.users)] == [{columns}]


def test_a_new_kind_fuses() -> None:
    graph, _ = _graph((3,), (4,))
    (region,) = [node.target for node in fuse(graph) if isinstance(node.target, Graph)]
    assert [node.target for node in region if node.op == "call_function"] == [ops.aten.neg.default, outer]


def test_a_new_kind_says_what_it_cannot_do() -> None:
    graph, found = _graph((3, 2), (4,))
    assert classify(found) == (None, "no vectors")
    (refused,) = [line for line in fuse(graph).graph["fusion"] if line.verdict == "extern"]
    assert (refused.node, refused.reason) == ("test.outer", "no vectors")
