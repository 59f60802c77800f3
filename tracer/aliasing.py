"""Which nodes are in one memory: the one place where passes ask. Where elements lie is `registry.overlap`'s."""

from __future__ import annotations

import operator
from collections.abc import Iterator

from opweave.registry.higher_order import HigherOrderOperator
from opweave.registry.op import OpOverload, ops
from opweave.registry.overlap import overlap
from opweave.registry.tensor import Tensor
from opweave.tracer.effects import copies_what_it_writes, mutates
from opweave.tracer.graph import Graph, Node, nodes_in

aten = ops.aten


def is_view(node: Node) -> bool:
    """Whether a node calls an op whose result, or results, are views of what it is given."""
    return isinstance(node.target, OpOverload) and node.target.is_view


def view_source(node: Node) -> Node | None:
    """What a node is a view of, or is one of several views of (`split`); None if it is none."""
    if node.target is operator.getitem:
        source = node.args[0]
        return source if view_source(source) is not None else None
    return next(iter(node.all_input_nodes), None) if is_view(node) else None


def sources(node: Node) -> list[Node]:
    """What a node is a view of, what that is a view of, and so on."""
    found: list[Node] = []
    while (source := view_source(node)) is not None:
        found.append(node := source)
    return found


def held_in(node: Node) -> Node | None:
    """A node whose memory a node has: what it is a view of or was written to, or the same item; None for its own."""
    if (source := view_source(node)) is not None:
        return source
    if node.target is aten.copy_.default:
        return node.args[0]
    if node.target is operator.getitem:
        same = (u for u in node.args[0].users if u.target is operator.getitem and u.args[1] == node.args[1])
        first = next(same)
        return first if first is not node else None
    return None


def root_of(node: Node) -> Node:
    """The node whose memory a node is in."""
    while (parent := held_in(node)) is not None:
        node = parent
    return node


def members_of(root: Node) -> Iterator[Node]:
    """A node and all that are in its memory."""
    waiting, seen = [root], {root}
    while waiting:
        node = waiting.pop()
        yield node
        near = list(node.users)
        if node.target is operator.getitem:
            near += [u for u in node.args[0].users if u.target is operator.getitem]
        for other in near:
            if other not in seen and root_of(other) is root:
                seen.add(other)
                waiting.append(other)


def may_overlap(one: Node, other: Node) -> bool:
    """Whether two nodes in one memory may have elements in common; sizes that are not fixed are not asked."""
    a, b = one.meta.get("val"), other.meta.get("val")
    if one is other or not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return True
    numbers = [n for value in (a, b) for n in (*value._sizes, *value._strides, value._offset)]
    return any(type(n) is not int for n in numbers) or overlap(a, b)


def makes_memory(node: Node) -> bool:
    """Whether a call's results are in memory of their own, which no other tensor that anybody holds is in."""
    target = node.target
    if isinstance(target, OpOverload):
        return not target._schema.aliased_returns
    if isinstance(target, HigherOrderOperator):
        # Of what its functions return, control flow says nothing.
        return target.is_pure or target.writes_copies or target.is_mutable
    return isinstance(target, Graph)


def is_owned(root: Node) -> bool:
    """Whether the memory of a root was made for it."""
    return makes_memory(root.args[0] if root.target is operator.getitem else root)


def escaping(graph: Graph) -> set[Node]:
    """Nodes whose memory matters beyond their value, themselves or through views.

    Those the caller gets must stay tensors of their own. What is written back to an input must not be a view of an
    input that is itself overwritten before.
    """
    found: set[Node] = set()
    waiting = list(nodes_in(graph.output_node().args))
    # A call that writes copies of its operands must still tell a tensor from its equal twin: `op(x * 1, x)`.
    waiting += [n for node in graph if mutates(node) or copies_what_it_writes(node) for n in node.all_input_nodes]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            if node.target is operator.getitem or is_view(node):
                waiting += node.all_input_nodes
    return found
