"""What each level of a graph allows, and what is said of what it does not."""

from __future__ import annotations

import operator

import pytest

import opweave
import opweave.pipeline
from opweave.passes import dce, decompose, functionalize, fuse
from opweave.registry.errors import CompileError, GraphError
from opweave.registry.op import ops
from opweave.tracer.graph import Graph
from opweave.tracer.make_fx import make_fx
from opweave.tracer.spec import LEVELS, verify

aten = ops.aten


def traced() -> Graph:
    def f(x):
        low, high = x.split(2)
        low.mul_(2)
        return opweave.softmax(low + high, -1)

    return make_fx(f, tracing_mode="fake")(opweave.ones(4, 3)).graph


def functional() -> Graph:
    return functionalize.run(traced())


def fused() -> Graph:
    return fuse.run(dce.run(decompose.run(functional())))


def levels(graph: Graph) -> list[str]:
    found = []
    for level in LEVELS:
        try:
            verify(graph, level)
        except GraphError:
            continue
        found.append(level)
    return found


def test_each_level_leads_to_the_next() -> None:
    assert levels(traced()) == ["traced"]
    assert levels(functional()) == ["traced", "functional"]
    assert levels(decompose.run(functional())) == ["traced", "functional", "fused"]
    assert levels(fused()) == ["fused"]


def refused(graph: Graph, level: str) -> str:
    with pytest.raises(GraphError) as error:
        verify(graph, level)
    return str(error.value).partition("\n")[0]


def test_it_says_which_node_and_why() -> None:
    assert refused(traced(), "functional") == "mul_: a call that writes in a functional graph"
    assert refused(fused(), "functional") == "kernel_0: a region in a functional graph"
    assert refused(functional(), "fused") == "_softmax: a composite op in a fused graph"
    graph = traced()
    del graph.placeholders()[0].meta["val"]
    assert refused(graph, "traced") == "x_1: no value in a traced graph"


def test_parts_of_results() -> None:
    graph = make_fx(lambda x: opweave.var_mean(x, 1), tracing_mode="fake")(opweave.ones(4, 3)).graph
    item = next(node for node in graph if node.target is operator.getitem)
    source = item.args[0]
    item.args = (source, 2)
    assert refused(graph, "traced") == "getitem: an item that is not there in a traced graph"
    item.args = (graph.placeholders()[0], 0)
    assert refused(graph, "traced") == "getitem: an item of a single result in a traced graph"


def test_regions() -> None:
    graph = fused()
    kernel = next(node for node in graph if isinstance(node.target, Graph))
    region = kernel.target
    kernel.set_operands(kernel.args, {"into": ((3, graph.placeholders()[0]),)})
    assert "stores what it does not compute" in refused(graph, "fused")
    kernel.set_operands(kernel.args[:-1], {})
    assert "other operands than inputs" in refused(graph, "fused")

    graph = fused()
    kernel = next(node for node in graph if isinstance(node.target, Graph))
    region = kernel.target
    inner = next(node for node in region if node.op == "call_function")
    with region.inserting_after(inner):
        region.call_function(aten.mul_.Tensor, (inner, 2)).meta["val"] = inner.meta["val"]
    assert "an effect in a region" in refused(graph, "fused")


def test_a_pass_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(graph: Graph) -> Graph:
        node = graph.output_node().all_input_nodes[0]
        with graph.inserting_before(graph.output_node()):
            graph.call_function(aten.mul_.Tensor, (node, 2)).meta["val"] = node.meta["val"]
        return graph

    passes = tuple((name, spoil if name == "cse" else run) for name, run in opweave.pipeline.PASSES)
    monkeypatch.setattr(opweave.pipeline, "PASSES", passes)
    with pytest.raises(CompileError, match=r"the pass cse left a graph .*: mul_.*: a call that writes"):
        opweave.compile(lambda x: x + 1)(opweave.ones(3))
