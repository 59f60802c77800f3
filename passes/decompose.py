"""Decompose: put the body of a composite op in place of its node, so that its parts can fuse with their neighbours."""

from __future__ import annotations

import functools
from typing import Any

from opweave.passes.emission import map_nodes, nodes_in, value_of
from opweave.registry.op import OpOverload
from opweave.registry.tensor import Tensor
from opweave.tracer.graph import Graph, Node
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.make_fx import make_fx


def run(graph: Graph) -> Graph:
    """Replace every composite op by the ops of its body, until only others are left."""
    waiting = [node for node in graph if _is_composite(node)]
    while waiting:
        node = waiting.pop()
        waiting += [new for new in _inline(graph, node) if _is_composite(new)]
    return graph


def _is_composite(node: Node) -> bool:
    decl = getattr(node.target, "decl", None)
    return node.op == "call_function" and getattr(decl, "kind", None) == "composite"


def _inline(graph: Graph, node: Node) -> list[Node]:
    body, operands = _body(node)
    env: dict[Node, Any] = dict(zip(body.graph.placeholders(), operands, strict=True))
    added: list[Node] = []
    with graph.inserting_before(node):
        for inner in body.graph:
            if inner.op == "call_function":
                args, kwargs = map_nodes(inner.args, env.__getitem__), map_nodes(inner.kwargs, env.__getitem__)
                new = env[inner] = graph.call_function(inner.target, args, kwargs)
                new.meta.update({k: v for k, v in inner.meta.items() if k not in ("site", "stack")})
                new.meta.update({k: node.meta[k] for k in ("site", "stack") if k in node.meta})
                added.append(new)
    result = map_nodes(body.graph.output_node().args[0], env.__getitem__)
    if isinstance(result, (list, tuple)):
        for user in list(node.users):  # each is a getitem
            user.replace_all_uses_with(result[user.args[1]])
            graph.erase_node(user)
    else:
        node.replace_all_uses_with(result)
    graph.erase_node(node)
    return added


def _body(node: Node) -> tuple[GraphModule, list[Node]]:
    """The traced body for these operands, and the operand of each of its inputs."""
    operands = list(dict.fromkeys(nodes_in((node.args, node.kwargs))))
    position = {operand: _Operand(i) for i, operand in enumerate(operands)}
    args, kwargs = map_nodes((node.args, node.kwargs), position.__getitem__)
    specs = tuple(value_of(operand).spec for operand in operands)
    try:
        return _trace(node.target, _Frozen((args, kwargs)), specs), operands
    except TypeError:  # an argument without a hash
        return _trace.__wrapped__(node.target, _Frozen((args, kwargs)), specs), operands
