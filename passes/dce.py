"""Dead code elimination: drop what no result needs."""

from __future__ import annotations

from opweave.tracer.effects import has_effect
from opweave.tracer.graph import Graph


def run(graph: Graph) -> Graph:
    """Erase nodes without users, last first; inputs, mutations and random draws stay."""
    for node in reversed(list(graph)):
        if not node.users and not has_effect(node):
            graph.erase_node(node)
    return graph
