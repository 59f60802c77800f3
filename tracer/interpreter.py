"""Run a graph node by node, or rebuild it node by node; subclasses change what a node does."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from opweave.fake.symbolic import UNDECIDED
from opweave.registry.errors import ArgumentError, GraphError
from opweave.tracer.graph import Graph, Node
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.operands import map_operands


def called(target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What a call of a node's target gives, where the graph may be traced again, with symbolic numbers."""
    function: Any = UNDECIDED.get(target, target)
    return function(*args, **kwargs)


class Interpreter:
    """Runs a graph's nodes in order.

    Parameters
    ----------
    module : GraphModule or Graph
        What to run.
    constants : mapping, optional
        What `get_attr` reads, where `module` is a `Graph`.

    Examples
    --------
    >>> class Shapes(Interpreter):
    ...     def call_function(self, target, args, kwargs):
    ...         result = super().call_function(target, args, kwargs)
    ...         print(self.node, getattr(result, "shape", None))
    ...         return result
    """

    #: The node being run.
    node: Node

    def __init__(self, module: GraphModule | Graph, constants: Mapping[str, Any] | None = None):
        self.graph = module.graph if isinstance(module, GraphModule) else module
        self.constants: Mapping[str, Any] = module.constants if isinstance(module, GraphModule) else constants or {}
        self.env: dict[Node, Any] = {}

    def run(self, *args: Any) -> Any:
        """Run on flat inputs; gives what the output node returns.

        Raises
        ------
        ArgumentError
            If there are more or fewer inputs than placeholders.
        """
        nodes = list(self.graph.nodes)
        inputs = [node for node in nodes if node.op == "placeholder"]
        if len(args) != len(inputs):
            raise ArgumentError(f"the graph takes {len(inputs)} inputs", got=f"{len(args)} inputs")
        self.env = dict(zip(inputs, args, strict=True))
        last_use = _last_uses(nodes)
        result: Any = None
        for node in nodes:
            self.node = node
            value = self.run_node(node)
            if node.op == "output":
                result = value
                break
            self.env[node] = value
            for done in last_use.get(node, ()):
                del self.env[done]
        self.env = {}
        return result

    def run_node(self, node: Node) -> Any:
        """The value of one node."""
        if node.op == "placeholder":
            return self.placeholder(node, self.env[node])
        if node.op == "get_attr":
            return self.get_attr(node.target)
        args = map_operands(node.args, self.value)
        if node.op == "output":
            return self.output(args[0])
        return self.call_function(node.target, args, map_operands(node.kwargs, self.value))

    def value(self, operand: Any) -> Any:
        """The value of an operand; a function that runs it for a graph."""
        if isinstance(operand, Graph):

            def run(*args: Any) -> Any:
                return self._inner(operand).run(*args)

            return run
        return self.env[operand] if isinstance(operand, Node) else operand

    def placeholder(self, node: Node, value: Any) -> Any:
        """The value of an input."""
        return value

    def get_attr(self, name: str) -> Any:
        """The value of a constant."""
        if name not in self.constants:
            raise GraphError(f"{self.node}: no constant {name!r}")
        return self.constants[name]

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The value of a call."""
        if isinstance(target, Graph):
            return self._inner(target).run(*args)
        return called(target, args, kwargs)

    def output(self, value: Any) -> Any:
        """The result."""
        return value

    def _inner(self, graph: Graph) -> Interpreter:
        """One for a graph in this graph, whatever a subclass needs to be made."""
        inner = copy.copy(self)
        inner.graph, inner.env = graph, {}
        return inner


class Transformer:
    """Rebuilds a graph; override `call_function` to put other nodes in a node's place.

    Parameters
    ----------
    source : Graph
        Left as it is.

    Examples
    --------
    >>> class MulToAdd(Transformer):
    ...     def call_function(self, node, args, kwargs):
    ...         if node.target is ops.aten.mul.Tensor and args[1] == 2:
    ...             return self.emit(ops.aten.add.Tensor, (args[0], args[0]), val=node.meta["val"])
    ...         return super().call_function(node, args, kwargs)
    >>> graph = MulToAdd(graph).transform()
    """

    def __init__(self, source: Graph):
        self.source = source
        self.graph = Graph()
        self.graph.graph.update(source.graph)
        self.node: Node | None = None
        self._new: dict[Node, Any] = {}

    def transform(self) -> Graph:
        """The new graph."""
        for node in self.source.nodes:
            self.node = node
            if node.op == "output":
                value = self.output(map_operands(node.args[0], self.value))
                self.graph.output(value).meta = dict(node.meta)
            elif node.op == "call_function":
                args = map_operands(node.args, self.value)
                self._new[node] = self.call_function(node, args, map_operands(node.kwargs, self.value))
            else:
                self._new[node] = self.graph.node_copy(node, self.value)
        return self.graph

    def value(self, operand: Any) -> Any:
        """What stands for a node of the source in the new graph."""
        return self._new[operand] if isinstance(operand, Node) else operand

    def call_function(self, node: Node, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What takes a call's place: a new node, an existing one, or a constant; a copy by default."""
        return self.graph.node_copy(node, self.value)

    def output(self, value: Any) -> Any:
        """What the new graph returns."""
        return value

    def emit(
        self, target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None, *, val: Any = None
    ) -> Node:
        """Add a call that has the place of the node being transformed."""
        made = self.graph.call_function(target, args, kwargs)
        if self.node is not None:
            made.meta = {key: value for key, value in self.node.meta.items() if key in ("site", "stack")}
        if val is not None:
            made.meta["val"] = val
        return made


def _last_uses(nodes: list[Node]) -> dict[Node, list[Node]]:
    """For each node, the operands that no later node needs (values are freed early)."""
    seen: set[Node] = set()
    found: dict[Node, list[Node]] = {}
    for node in reversed(nodes):
        for source in node.all_input_nodes:
            if source not in seen:
                seen.add(source)
                found.setdefault(node, []).append(source)
    return found
