"""Adding nodes to a traced graph, each with its fake value and the user's place, as if it had been traced."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from opweave.fake.mode import FakeTensorMode
from opweave.fake.symbolic import SymNumber
from opweave.fake.tensor import FakeTensor
from opweave.registry.nested import leaves
from opweave.registry.op import ops
from opweave.tracer.aliasing import is_view
from opweave.tracer.graph import Graph, Node
from opweave.tracer.operands import map_operands

#: What a node that takes the place of another has of it in its `meta`.
INHERITED = ("site", "stack", "checkpoint", "way_back", "formula", "forward_stack")


def map_nodes(value: Any, change: Callable[[Node], Any]) -> Any:
    """Apply `change` to every node in an argument structure."""
    return map_operands(value, lambda leaf: change(leaf) if isinstance(leaf, Node) else leaf)


def nodes_in(value: Any) -> Iterator[Node]:
    """The nodes in an argument structure, in order."""
    found: list[Node] = []
    map_nodes(value, found.append)
    return iter(found)


def value_of(node: Node) -> Any:
    """A node's fake value."""
    return node.meta.get("val")


def fake_mode(graph: Graph) -> FakeTensorMode:
    """The mode that the graph's fake values belong to; a new one for a graph without tensors."""
    for node in graph:
        for value in leaves(node.meta.get("val")):
            if isinstance(value, FakeTensor):
                return value.fake_mode
    return FakeTensorMode()


class Emitter:
    """Inserts calls into a graph.

    Parameters
    ----------
    graph : Graph
        Where to insert, at the graph's insertion point.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.mode = fake_mode(graph)
        #: The nodes it has made, for who clears it.
        self.made: list[Node] = []

    def call(self, target: Any, *args: Any, like: Node, val: Any = None, **kwargs: Any) -> Node:
        """A call of `target`.

        Parameters
        ----------
        target : OpOverload or callable
            What to call; arguments may hold nodes.
        like : Node
            The node whose user line the new one has.
        val : object, optional
            Its fake value; computed by calling `target` on the arguments' fake values otherwise.
        """
        return self.insert(target, args, kwargs, like, val)

    def insert(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], like: Node, val: Any = None) -> Node:
        """`call` for arguments of any name."""
        if val is None:
            val = self.evaluate(target, args, kwargs)
        node = self.graph.call_function(target, args, kwargs)
        self.made.append(node)
        node.meta["val"] = val
        for key in INHERITED:
            if key in like.meta:
                node.meta[key] = like.meta[key]
        return node

    def evaluate(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call gives on fake values."""
        with self.mode:
            return target(*map_nodes(args, value_of), **map_nodes(kwargs, value_of))


def relocate(emit: Emitter, old: Node, new: Node) -> None:
    """Use one tensor in the place of another that holds the same elsewhere in memory, and tell its views where."""
    users = list(old.users)
    old.replace_all_uses_with(new)
    for user in users:
        _moved(emit, user, value_of(old), new)


def _moved(emit: Emitter, view: Node, before: Any, parent: Node) -> None:
    target, old = view.target, value_of(view)
    if target is operator.getitem:
        if is_view(parent):
            view.meta["val"] = value_of(parent)[view.args[1]]
        else:
            return
    elif is_view(view):
        if target is ops.aten.as_strided.default:  # its offset counts from the start of the memory
            start = value_of(parent)._offset + old._offset - before._offset
            view.set_operands((parent, list(old._sizes), list(old._strides), start), {})
        view.meta["val"] = emit.evaluate(target, view.args, view.kwargs)
    else:
        return
    for user in list(view.users):
        _moved(emit, user, old, view)


def is_told(number: SymNumber) -> bool:
    """Whether sizes of inputs tell a number, and not data."""
    return all(number.env.symbols[symbol].hint is not None for symbol in number.env.simplify(number.expr).free_symbols)
