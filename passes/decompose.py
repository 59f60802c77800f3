"""Decompose: put the body of a composite op in place of its node, so that its parts can fuse with their neighbours."""

from __future__ import annotations

import operator
from typing import Any

from opweave.passes.emission import Emitter, map_nodes, nodes_in, value_of
from opweave.registry.errors import CompileError
from opweave.registry.keys import DispatchMode
from opweave.registry.nested import map_leaves
from opweave.registry.tensor import Tensor
from opweave.tracer.declared import declared
from opweave.tracer.graph import Graph, Node


def run(graph: Graph) -> Graph:
    """Replace every composite op by the ops of its body, until only others are left."""
    emit = Emitter(graph)
    waiting = [node for node in graph if is_composite(node)]
    while waiting:
        node = waiting.pop()
        waiting += [new for new in _inline(node, emit) if is_composite(new)]
    return graph


def is_composite(node: Node) -> bool:
    """Whether a node calls an op that is written with other ops."""
    return getattr(declared(node), "kind", None) == "composite"


def _inline(node: Node, emit: Emitter) -> list[Node]:
    graph = emit.graph
    with graph.inserting_before(node):
        recorder = _Recorder(emit, node)
        with emit.mode, recorder:
            args, kwargs = map_nodes(node.args, value_of), map_nodes(node.kwargs, value_of)
            result = node.target.decl.body(*args, **kwargs)
    if isinstance(result, Tensor):
        node.replace_all_uses_with(recorder.node_of(result))
    else:
        parts = [recorder.node_of(part) if isinstance(part, Tensor) else part for part in result]
        for user in list(node.users):
            if user.target is operator.getitem:
                user.replace_all_uses_with(parts[user.args[1]])
                graph.erase_node(user)
    graph.erase_node(node)
    return recorder.added


class _Recorder(DispatchMode):
    """Writes the ops of a body into the graph as the body runs on fake values."""

    def __init__(self, emit: Emitter, node: Node) -> None:
        self.emit = emit
        self.node = node
        self.added: list[Node] = []
        # Values are kept with their nodes: an id is only unique among living objects.
        self.known: dict[int, tuple[Any, Node]] = {}
        for operand in nodes_in((node.args, node.kwargs)):
            self.known[id(value_of(operand))] = value_of(operand), operand

    def node_of(self, value: Any) -> Node:
        """The node that computes a value of the body."""
        if id(value) not in self.known:
            raise CompileError(
                f"decompose: the body of {self.node.target} uses a tensor that is neither an argument nor made in it",
                at=self.node.meta.get("site"),
            )
        return self.known[id(value)][1]

    def __torch_dispatch__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        args, named = map_leaves((args, kwargs), lambda v: self.node_of(v) if isinstance(v, Tensor) else v)
        node = self.emit.insert(func, args, named, self.node, result)
        # Kernels are named after what the user called.
        node.meta["origin"] = self.node.meta.get("origin") or self.node.target.opname.lstrip("_").removeprefix(
            "native_"
        )
        self.added.append(node)
        if isinstance(result, Tensor):
            self.known[id(result)] = result, node
        elif isinstance(result, (list, tuple)):
            for i, part in enumerate(result):
                item = self.emit.call(operator.getitem, node, i, like=self.node, val=part)
                self.added.append(item)
                self.known[id(part)] = part, item
        return result
