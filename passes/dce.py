"""Dead code elimination: drop what no result needs."""

from __future__ import annotations

from opweave.passes.emission import is_random
from opweave.registry.op import OpOverload
from opweave.tracer.graph import Graph, Node
from opweave.tracer.printing import operand_graphs


def run(graph: Graph) -> Graph:
    """Erase nodes without users, last first; inputs, mutations and random draws stay."""
    for node in reversed(list(graph)):
        if not node.users and not has_effect(node):
            graph.erase_node(node)
    return graph


def has_effect(node: Node) -> bool:
    """Whether running a node changes anything besides giving its result."""
    if node.op in ("placeholder", "output"):
        return True
    if node.op == "get_attr":
        return False
    target = node.target
    if isinstance(target, OpOverload):
        # A draw moves the generator on; an op that returns nothing can only be there for its effect.
        return target.is_mutable or is_random(target) or not target._schema.returns
    if any(has_effect(inner) for graph in operand_graphs(node) for inner in graph if inner.op == "call_function"):
        return True
    return bool(getattr(target, "is_mutable", False))
