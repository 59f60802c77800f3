"""Graphs as pictures and in other forms."""

from __future__ import annotations

import itertools
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import isotonic_regression

import opweave
from opweave.registry.errors import ArgumentError
from opweave.tracer.layout import GAP, layered, spread

SVG = "{http://www.w3.org/2000/svg}"


def f(x: Any, w: Any) -> Any:
    for _ in range(2):
        x = (x @ w).relu() + x
    return x.softmax(-1)


@pytest.fixture(scope="module")
def graph() -> Any:
    return opweave.make_fx(f)(opweave.ones(4, 4), opweave.ones(4, 4)).graph


def test_places_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 40):
        wanted, widths = rng.normal(0, 200, n), rng.uniform(0, 90, n)
        offsets = np.concatenate([[0.0], np.cumsum((widths[:-1] + widths[1:]) / 2 + GAP)])
        best = isotonic_regression(wanted - offsets).x + offsets
        np.testing.assert_allclose(spread(list(wanted), list(widths)), best, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_layers_lead_downwards_and_boxes_are_apart(seed: int):
    undirected = nx.gnp_random_graph(60, 0.06, seed=seed)
    dag = nx.DiGraph()
    dag.add_nodes_from(range(60))
    dag.add_edges_from((min(e), max(e)) for e in undirected.edges())
    laid = layered(dag, {n: (20.0 + 3 * n, 20.0 + n % 5) for n in dag})
    assert set(laid.boxes) == set(dag)
    for a, b in dag.edges():
        assert laid.boxes[a].y < laid.boxes[b].y
    for a, b in itertools.combinations(laid.boxes.values(), 2):
        assert abs(a.x - b.x) >= (a.width + b.width) / 2 or abs(a.y - b.y) >= (a.height + b.height) / 2
    for box in laid.boxes.values():
        assert box.width / 2 <= box.x <= laid.width - box.width / 2 and 0 < box.y < laid.height


def test_a_picture_has_a_box_for_each_node_and_a_line_for_each_operand(graph: Any, tmp_path: Path):
    text = graph.draw(tmp_path / "g.svg")
    assert (tmp_path / "g.svg").read_text() == text
    root = ET.fromstring(text)
    titles = [title.text for title in root.iter(f"{SVG}title")]
    assert titles == [graph.format_node(node) for node in graph.nodes]
    drawn = list(root.findall(f"{SVG}path"))
    assert len(drawn) == len({(a, b) for a, b in graph.edges()})


def test_names_and_operands_are_no_markup(graph: Any):
    copy = graph.clone()
    node = copy.find_nodes(op="call_function")[1]
    node.kwargs = {**node.kwargs, "note": "</title><script>alert(1)</script>\x00\ud800&"}
    root = ET.fromstring(copy.draw())
    assert not list(root.iter(f"{SVG}script"))
    assert any("<script>" in (title.text or "") for title in root.iter(f"{SVG}title"))
    assert "<script>" not in copy._repr_html_()


def test_other_endings_are_refused(graph: Any, tmp_path: Path):
    with pytest.raises(ArgumentError, match=r"drawn as SVG") as caught:
        graph.draw(tmp_path / "g.png")
    assert "to_networkx" in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_exporters_of_networkx_take_it(graph: Any, tmp_path: Path):
    plain = graph.to_networkx()
    assert [*plain.nodes] == [node.name for node in graph.nodes]
    assert plain.number_of_edges() == graph.number_of_edges()
    nx.write_graphml(plain, tmp_path / "g.graphml")
    back = nx.read_graphml(tmp_path / "g.graphml", force_multigraph=True)
    assert dict(back.nodes(data=True)) == dict(plain.nodes(data=True))
    data = json.loads(json.dumps(nx.node_link_data(plain, edges="edges")))
    assert nx.utils.graphs_equal(nx.node_link_graph(data, edges="edges"), plain)
    operands = {(a, b, key) for a, b, key in plain.edges(keys=True)}
    assert ("x_1", "mm", "args[0]") in operands and ("w_1", "mm", "args[1]") in operands


def test_pydot_takes_it(graph: Any):
    pytest.importorskip("pydot")
    dot = nx.nx_pydot.to_pydot(graph.to_networkx())
    assert len(dot.get_nodes()) == len(graph) and len(dot.get_edges()) == graph.number_of_edges()


def test_a_notebook_shows_text_and_picture(graph: Any):
    html = graph._repr_html_()
    assert "<svg" in html and "softmax" in html and f"{len(graph)} nodes" in html
