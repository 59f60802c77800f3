"""`Graph`: edges follow operands, networkx's algorithms apply, `lint` notices what is broken."""

from __future__ import annotations

import operator
from typing import Any

import networkx as nx
import numpy as np
import pytest

from opweave.registry.errors import GraphError
from opweave.registry.tensor import from_numpy
from opweave.tracer.graph import Graph, Node, nodes_in
from opweave.tracer.operands import ImmutableList


def diamond() -> tuple[Graph, dict[str, Node]]:
    graph = Graph()
    x = graph.placeholder("x")
    y = graph.placeholder("y")
    a = graph.call_function(operator.add, (x, y), name="a")
    b = graph.call_function(operator.mul, (a, 2), name="b")
    c = graph.call_function(operator.concat, ([a, b],), {"d": {"k": (y, slice(None, x))}}, name="c")
    graph.output((c,))
    graph.lint()
    return graph, {node.name: node for node in graph.nodes}


def test_is_a_networkx_graph_in_program_order() -> None:
    graph, n = diamond()
    assert isinstance(graph, nx.MultiDiGraph)
    assert [node.name for node in graph.nodes] == ["x", "y", "a", "b", "c", "output"]
    assert n["a"] in graph and len(graph) == 6
    assert [str(node) for node in graph.placeholders()] == ["x", "y"]
    assert graph.output_node() is n["output"] and graph.outputs == (n["c"],)
    assert graph.find_nodes(target=operator.mul) == [n["b"]]
    assert graph.find_nodes(op="placeholder") == [n["x"], n["y"]]
    assert graph.nodes[n["b"]] == {"op": "call_function", "target": operator.mul}


def test_edges_carry_operand_positions() -> None:
    graph, n = diamond()
    assert set(graph.in_edges(n["c"], keys=True)) == {
        (n["a"], n["c"], (0, 0)),
        (n["b"], n["c"], (0, 1)),
        (n["y"], n["c"], ("d", "k", 0)),
        (n["x"], n["c"], ("d", "k", 1, "stop")),
    }
    square = graph.call_function(operator.mul, (n["x"], n["x"]))
    assert graph.number_of_edges(n["x"], square) == 2
    assert square.all_input_nodes == [n["x"]]


def test_assigning_operands_keeps_edges_and_users_in_step() -> None:
    graph, n = diamond()
    n["c"].args = ([n["b"], n["x"]],)
    assert set(n["a"].users) == {n["b"]}
    n["c"].kwargs = {}
    assert set(n["y"].users) == {n["a"]}
    n["c"].update_arg(0, n["y"])
    n["c"].update_kwarg("out", n["a"])
    assert n["c"].all_input_nodes == [n["y"], n["a"]]
    graph.lint()


def test_operands_are_immutable() -> None:
    _, n = diamond()
    operands = n["c"].args[0]
    assert type(operands) is ImmutableList and isinstance(operands, list)
    for change in (lambda: operands.append(1), lambda: operands.__setitem__(0, 1), lambda: n["c"].kwargs.update(d=1)):
        with pytest.raises(GraphError, match="cannot be changed in place"):
            change()


def test_replace_all_uses() -> None:
    graph, n = diamond()
    with graph.inserting_after(n["a"]):
        neg = graph.call_function(operator.neg, (n["a"],))
    changed = n["a"].replace_all_uses_with(neg)
    assert changed == [n["b"], n["c"]]
    assert n["b"].args == (neg, 2) and n["c"].args[0][0] is neg and neg.args == (n["a"],)
    n["b"].replace_all_uses_with(3.5, where=lambda user: user.op != "output")
    assert n["c"].args == ([neg, 3.5],)
    graph.erase_node(n["b"])
    graph.lint()


def test_inserting_and_moving() -> None:
    graph, n = diamond()
    with graph.inserting_before(n["b"]):
        first = graph.call_function(operator.neg, (n["x"],))
        second = graph.call_function(operator.neg, (first,))
        with graph.inserting_after(n["x"]):
            graph.call_function(operator.abs, (n["x"],))
        third = graph.call_function(operator.neg, (second,))
    names = [node.name for node in graph.nodes]
    assert names == ["x", "abs_1", "y", "a", "neg", "neg_1", "neg_2", "b", "c", "output"]
    assert first < second < third < n["b"] and n["b"].prev is third and n["output"].next is None and n["x"].prev is None
    assert sorted([n["c"], third, n["x"]]) == [n["x"], third, n["c"]]
    graph.erase_node(graph.find_nodes(target=operator.abs)[0])
    n["y"].append(third)
    with pytest.raises(GraphError, match="neg_2: operand neg_1 at args\\[0\\] comes later"):
        graph.lint()
    n["b"].prepend(third)
    graph.lint()
    assert graph.call_function(operator.neg, (n["x"],)).prev is n["output"]


def test_insertion_point_survives_erasure() -> None:
    graph, n = diamond()
    with graph.inserting_before(n["output"]):
        graph.erase_node(n["output"])
        late = graph.call_function(operator.neg, (n["c"],))
    graph.output((late,))
    graph.lint()


def test_names_are_unique_identifiers() -> None:
    graph = Graph()
    names = [graph.placeholder(name).name for name in ("x", "x", "x_1", "sum", "for", "a.b", "0", "ops", "x")]
    assert names == ["x", "x_1", "x_2", "sum_1", "for_1", "a_b", "_0", "ops_1", "x_3"]
    node = graph.named("a_b")
    assert node is not None
    graph.rename(node, "x")
    assert node.name == node.target == "x_4" and graph.named("a_b") is None


def test_networkx_algorithms() -> None:
    graph, n = diamond()
    assert list(nx.topological_sort(graph))[-1] is n["output"]
    assert list(nx.lexicographical_topological_sort(graph)) == list(graph.nodes)
    assert nx.ancestors(graph, n["b"]) == {n["x"], n["y"], n["a"]}
    assert nx.descendants(graph, n["b"]) == {n["c"], n["output"]}
    assert nx.is_directed_acyclic_graph(graph) and nx.dag_longest_path_length(nx.DiGraph(graph)) == 4
    assert nx.condensation(graph).number_of_nodes() == 6
    assert nx.has_path(graph, n["x"], n["output"])
    flow = nx.DiGraph()
    for source, user, _ in graph.edges(keys=True):
        flow.add_edge(source, user, capacity=1)
    value, (left, right) = nx.minimum_cut(flow, n["b"], n["output"])
    assert value == 1 and n["b"] in left and n["output"] in right
    assert list(nx.immediate_dominators(graph.reverse(), n["output"]))
    assert nx.spring_layout(graph, seed=0).keys() == set(graph.nodes)
    assert "mul" not in "".join(nx.generate_network_text(graph)) and nx.node_link_data(graph)["nodes"]
    assert nx.adjacency_matrix(graph, weight=None).shape == (6, 6) if _has_scipy() else True


def _has_scipy() -> bool:
    try:
        import scipy  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ImportError:
        return False
    return True


def test_isomorphism_with_targets() -> None:
    graph, n = diamond()
    same = nx.algorithms.isomorphism.categorical_node_match(["op", "target"], [None, None])
    other = graph.clone()
    n["x"].graph.rename(n["a"], "renamed")
    assert not nx.is_isomorphic(graph, Graph())
    call = lambda a, b: a["op"] == b["op"] and (a["op"] == "placeholder" or a["target"] == b["target"])  # noqa: E731
    assert nx.is_isomorphic(graph, other, node_match=call) and nx.is_isomorphic(graph, other, node_match=same)
    changed = next(node for node in other.nodes if node.name == "b")
    changed.target = operator.sub
    assert not nx.is_isomorphic(graph, other, node_match=call)


def test_networkx_copies_are_over_the_same_nodes() -> None:
    graph, n = diamond()
    for copy in (graph.copy(), graph.copy(as_view=True), graph.subgraph(graph.nodes), graph.reverse().reverse()):
        assert list(copy.nodes) == list(graph.nodes)
        assert set(copy.edges(keys=True)) == set(graph.edges(keys=True))
        assert str(copy) == str(graph) and repr(copy)
    part = graph.subgraph([n["x"], n["a"], n["c"]])
    assert list(part.nodes) == [n["x"], n["a"], n["c"]] and part.copy().number_of_edges() == 3
    assert nx.relabel_nodes(graph, {node: node.name for node in graph}).has_edge("a", "b")
    assert graph.to_undirected().number_of_nodes() == 6
    graph.lint()


def test_clone_is_independent() -> None:
    graph, n = diamond()
    n["a"].meta["val"] = 3
    region, outer = diamond()[0], Graph()
    x = outer.placeholder("x")
    outer.output((outer.call_function(region, (x, x)),))
    for original in (graph, outer):
        text = str(original)
        copy = original.clone()
        copy.lint()
        assert str(copy) == text and not set(copy.nodes) & set(original.nodes)
        assert [node.meta for node in copy.nodes] == [node.meta for node in original.nodes]
        copy.erase_node(copy.output_node())
        assert str(original) == text
    assert outer.clone().find_nodes(op="call_function")[0].target is not region


def test_copying_nodes_into_another_graph() -> None:
    graph, n = diamond()
    target = Graph()
    p = target.placeholder("p")
    (result,) = target.copy_nodes(graph, {n["x"]: p, n["y"]: 7})
    target.output((result,))
    target.lint()
    assert [node.name for node in target.nodes] == ["p", "a", "b", "c", "output"]
    assert target.find_nodes(target=operator.add)[0].args == (p, 7)


def test_version_counts_changes() -> None:
    graph, n = diamond()
    for change in (
        lambda: n["b"].update_arg(1, 3),
        lambda: setattr(n["b"], "target", operator.sub),
        lambda: graph.call_function(operator.neg, (n["x"],)),
        lambda: graph.erase_node(graph.find_nodes(target=operator.neg)[0]),
        lambda: n["x"].prepend(n["y"]),
    ):
        before = graph.version
        change()
        assert graph.version > before


class TestErrors:
    def test_operand_of_another_graph(self) -> None:
        graph, _ = diamond()
        _, other = diamond()
        with pytest.raises(GraphError, match="neg: operand x belongs to another graph"):
            graph.call_function(operator.neg, (other["x"],))
        graph.lint()

    def test_erasing_a_used_node(self) -> None:
        graph, n = diamond()
        with pytest.raises(GraphError, match="erase_node: a is still used\n  got:  by b, c"):
            graph.erase_node(n["a"])

    def test_kind(self) -> None:
        with pytest.raises(GraphError, match="cannot be a 'call_method'"):
            Graph().create_node("call_method", "x")

    @pytest.mark.parametrize(
        ("breaks", "message"),
        [
            (lambda g, n: g.remove_node(n["a"]), "b: operand a at args.0. is not in the graph"),
            (lambda g, n: g.add_edge(n["x"], n["b"], (7,)), "b: edges and operands differ"),
            (lambda g, n: g.remove_edge(n["y"], n["a"]), "a: edges and operands differ"),
            (lambda g, n: setattr(n["b"], "name", "a"), "a: two nodes have this name"),
            (lambda g, n: setattr(n["b"], "name", "a b"), "'a b': not a usable name"),
            (lambda g, n: g.erase_node(n["output"]), "the graph has no output"),
            (lambda g, n: n["output"].append(n["c"]), "output: operand c at args.0..0. comes later"),
            (lambda g, n: n["a"].append(n["y"]), "a: operand y at args.1. comes later"),
            (lambda g, n: g.output(1), "output_1: stands after the output"),
            (lambda g, n: setattr(n["b"], "target", "mul"), "b: the target cannot be called\n  got:  'mul'"),
            (lambda g, n: n["b"].update_arg(1, object()), "b: an operand has no printed form\n  got:  object"),
            (lambda g, n: n["b"].update_arg(1, from_numpy(np.ones(2))), "make it a constant of the graph module"),
            (lambda g, n: g.add_node("x"), "must be Node objects\n  got:  'x'"),
        ],
    )
    def test_lint(self, breaks: Any, message: str) -> None:
        graph, n = diamond()
        breaks(graph, n)
        with pytest.raises(GraphError, match=message):
            graph.lint()

    def test_late_input(self) -> None:
        graph, n = diamond()
        with graph.inserting_before(n["output"]):
            graph.placeholder("z")
        with pytest.raises(GraphError, match="z: an input must stand before everything else\n  got:  after c"):
            graph.lint()

    def test_regions_are_checked_too(self) -> None:
        graph, _ = diamond()
        inner = Graph()
        with graph.inserting_before(graph.output_node()):
            graph.call_function(inner, ())
        with pytest.raises(GraphError, match="the graph has no output"):
            graph.lint()


def test_nodes_in_nested_operands() -> None:
    _, n = diamond()
    assert list(nodes_in([n["x"], {"a": (n["y"], 1), "b": slice(n["x"], 2)}])) == [n["x"], n["y"], n["x"]]
