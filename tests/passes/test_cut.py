"""Minimum cuts, beside those of networkx."""

from typing import Any

import networkx as nx
from hypothesis import given, strategies as st

from opweave.passes.cut import Network

CAPACITIES = st.sampled_from([None, 0.0, 0.5, 1.0, 2.0, 3.5, 7.0, float(1 << 40)])
PLACES = st.integers(0, 9)


@given(st.dictionaries(st.tuples(PLACES, PLACES).filter(lambda way: way[0] != way[1]), CAPACITIES, max_size=40))
def test_the_cut_is_that_of_networkx(ways: dict[tuple[int, int], float | None]):
    network, theirs = Network(), nx.DiGraph()
    theirs.add_nodes_from([0, 9])
    for (start, end), capacity in ways.items():
        if capacity is None:
            network.add(start, end)
            theirs.add_edge(start, end)
        else:
            network.add(start, end, capacity)
            theirs.add_edge(start, end, capacity=capacity)
    wanted: Any
    try:
        _, (wanted, _) = nx.minimum_cut(theirs, 0, 9)
    except nx.NetworkXUnbounded:
        wanted = None
    assert network.near(0, 9) == wanted


def test_long_and_wide_networks_take_no_recursion():
    network = Network()
    for i in range(20_000):
        network.add(("chain", i), ("chain", i + 1), 2.0 if i != 12_345 else 1.0)
        network.add("source", ("wide", i), 1.0)
        network.add(("wide", i), "sink", 2.0)
    network.add("source", ("chain", 0))
    network.add(("chain", 20_000), "sink")
    near = network.near("source", "sink")
    assert near is not None and ("chain", 12_345) in near and ("chain", 12_346) not in near
    assert len(near) == 1 + 12_346
