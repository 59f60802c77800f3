"""`run_decompositions`: graphs take the place of calls."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from opweave.fake.mode import FakeTensorMode
from opweave.fake.tensor import FakeTensor
from opweave.registry.errors import GraphError
from opweave.registry.op import OpOverload
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.tensor import describe
from opweave.tracer.export.bodies import is_current, require_current, trace_body
from opweave.tracer.export.linking import BODY, graphs_in, inner_graphs, registered
from opweave.tracer.graph import Graph, Node


def expand(graph: Graph, table: Mapping[OpOverload, Callable[..., Any]]) -> None:
    """Put graphs in the place of calls, in inner graphs too.

    Parameters
    ----------
    graph : Graph
        Changed in place.
    table : mapping
        Functions that compute what ops do; a triton_op that is not in it becomes its body.

    Raises
    ------
    GraphError
        If a function brings tensors along, or a body was traced for other arguments.
    """
    waiting: list[tuple[Node, frozenset[Any]]] = [(n, frozenset()) for part in graphs_in(graph) for n in part.nodes]
    while waiting:
        node, within = waiting.pop()
        source = None if node.target in within else _expansion(node, table)
        if source is not None:
            for new in _inline(node.graph, node, source):
                inside = (n for inner in inner_graphs(new) for part in graphs_in(inner) for n in part.nodes)
                waiting += [(n, within | {node.target}) for n in (new, *inside)]


def _expansion(node: Node, table: Mapping[OpOverload, Callable[..., Any]]) -> Graph | None:
    """The graph that takes a call's place."""
    if node.op != "call_function" or not isinstance(node.target, OpOverload):
        return None
    function = table.get(node.target)
    if function is None:
        function = next((f for op, f in table.items() if op.name == node.target.name), None)
    if function is None:
        body = node.meta.get(BODY)
        if body is None or is_current(node, body):
            return body
        function = node.target.body
        if function is None or registered(node.target) is not node.target:
            require_current(node, body)
        assert function is not None
    fakes = [t for t in tensors_in([s.meta.get("val") for s in node.all_input_nodes]) if isinstance(t, FakeTensor)]
    body, constants = trace_body(node, fakes[0].fake_mode if fakes else FakeTensorMode(), function)
    if constants:
        raise GraphError(
            f"run_decompositions: the decomposition of {node.target} brings tensors along",
            got=", ".join(map(describe, constants.values())),
            hint="make them in the function: opweave.full(...)",
        )
    return body


def _inline(graph: Graph, node: Node, source: Graph) -> list[Node]:
    """Put a graph's calls in a node's place; gives the new nodes."""
    mapping: dict[Node, Any] = dict(zip(source.placeholders(), node.all_input_nodes, strict=True))
    inputs = set(mapping)
    with graph.inserting_before(node):
        (result,) = graph.copy_nodes(source, mapping)
    _replace(graph, node, result)
    return [new for old, new in mapping.items() if old not in inputs]


def _replace(graph: Graph, node: Node, result: Any) -> None:
    if isinstance(result, (list, tuple)):
        for user in list(node.users):
            if user.target is not operator.getitem:
                raise GraphError(f"{node.name}: {user.name} uses its results as a whole")
            _replace(graph, user, result[user.args[1]])
    else:
        node.replace_all_uses_with(result)
    graph.erase_node(node)
