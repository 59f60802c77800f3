"""Decompose: put the body of a composite op in place of its node, so that its parts can fuse with their neighbours."""

from __future__ import annotations

import operator
from typing import Any

from opweave.registry.containers import is_sequence
from opweave.registry.errors import CompileError
from opweave.registry.keys import DispatchMode
from opweave.registry.nested import map_leaves
from opweave.registry.tensor import Tensor
from opweave.tracer.declared import declared
from opweave.tracer.emission import Emitter, map_nodes, nodes_in, value_of
from opweave.tracer.graph import Graph, Node
from opweave.tracer.rewrite import rewrite


def run(graph: Graph) -> Graph:
    """Replace every composite op by the ops of its body, a draw by how kernels draw it, until only others are left."""
    return rewrite(graph, lambda node: (_inlined,) if has_parts(node) else (), last_first=True)


def has_parts(node: Node) -> bool:
    """Whether a node calls an op that is written with other ops, at least for kernels."""
    kind = declared(node)
    return kind is not None and kind.in_parts is not None


def _inlined(node: Node, emit: Emitter) -> Node | list[Any]:
    recorder = _Recorder(emit, node)
    with emit.mode, recorder:
        args, kwargs = map_nodes(node.args, value_of), map_nodes(node.kwargs, value_of)
        result = node.target.decl.in_parts(*args, **kwargs)
    if isinstance(result, Tensor):
        return recorder.node_of(result)
    return [recorder.node_of(part) if isinstance(part, Tensor) else part for part in result]


class _Recorder(DispatchMode):
    """Writes the ops of a body into the graph as the body runs on fake values."""

    def __init__(self, emit: Emitter, node: Node) -> None:
        self.emit = emit
        self.node = node
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
        if isinstance(result, Tensor):
            self.known[id(result)] = result, node
        elif is_sequence(result):
            for i, part in enumerate(result):
                item = self.emit.call(operator.getitem, node, i, like=self.node, val=part)
                self.known[id(part)] = part, item
        return result
