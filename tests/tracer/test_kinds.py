"""A kind of op is one class: passes and the analysis of loops ask it, and know no kind by its name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.passes.fuse import fuse
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds.base import Decl, Maker
from opweave.registry.ops.kinds.loops import Call, Demand, Operand, Point, Space
from opweave.registry.spec import contiguous
from opweave.registry.tensor import Tensor, from_numpy
from opweave.tracer.graph import Graph, Node
from opweave.tracer.loops.iteration import analyse, classify


class Outer(Decl):
    """Each element of one vector by each of another."""

    kind = "outer"
    cost = 1

    def __init__(self) -> None:
        super().__init__("test::outer(Tensor x, Tensor y) -> Tensor", self.eager)
        self._run_by(self.eager)

    def eager(self, x: Tensor, y: Tensor) -> Tensor:
        return from_numpy(np.multiply.outer(x.numpy(), y.numpy()))

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        x, y = args
        return make(contiguous((*x._sizes, *y._sizes), x._dtype, x._device))

    def objection(self, call: Call) -> str:
        return "" if all(operand.ndim == 1 for operand in call.operands) else "no vectors"

    def demands(self, call: Call, operand: Operand, demand: Demand, space: Space) -> Iterable[Demand]:
        both = zip(call.arguments(), demand.index, strict=True)
        return [demand.at((part,)) for vector, part in both if vector == operand]

    def evaluate(self, call: Call, point: Point) -> Any:
        both = zip(call.arguments(), point.demand.index, strict=True)
        x, y = [point.value(vector, point.demand.at((part,))) for vector, part in both]
        return x * y


@pytest.fixture
def outer(forget: None) -> OpOverload:
    return Outer().op


def _graph(outer: OpOverload, *sizes: tuple[int, ...]) -> tuple[Graph, Node]:
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


def test_a_new_kind_is_asked_where_it_needs_its_operands(outer: OpOverload) -> None:
    graph, found = _graph(outer, (3,), (4,))
    space = analyse(graph, [found])
    (negated, y) = found.all_input_nodes
    rows, columns = space.kept
    assert (rows.size, columns.size, space.reduced) == (3, 4, [])
    assert [demand.axes for demand in space.demands[negated]] == [{rows}]
    assert [demand.axes for demand in space.demand_of(y, y.users)] == [{columns}]


def test_a_new_kind_fuses(outer: OpOverload) -> None:
    graph, _ = _graph(outer, (3,), (4,))
    (region,) = [node.target for node in fuse(graph) if isinstance(node.target, Graph)]
    assert [node.target for node in region if node.op == "call_function"] == [ops.aten.neg.default, outer]


def test_a_new_kind_is_compiled(outer: OpOverload) -> None:
    def total(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        both = outer(-x, opweave.cat([y, y + 1]))
        return both.sum(1), outer(x, x).exp()

    x, y = (from_numpy(np.random.default_rng(n).normal(size=n).astype(np.float32)) for n in (5, 7))
    compiled = opweave.compile(total)
    for found, expected in zip(compiled(x, y), total(x, y), strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)
    report = str(opweave.explain(total)(x, y))
    assert "cat, outer, sum" in report and "outer, exp" in report, report


def test_a_new_kind_says_what_it_cannot_do(outer: OpOverload) -> None:
    graph, found = _graph(outer, (3, 2), (4,))
    assert classify(found) == (None, "no vectors")
    (refused,) = [line for line in fuse(graph).graph["fusion"] if line.verdict == "extern"]
    assert (refused.node, refused.reason) == ("test.outer", "no vectors")
