"""Common subexpression elimination: compute once what is computed twice from the same operands."""

from __future__ import annotations

from typing import Any

from opweave.fake.symbolic import SymNumber
from opweave.registry.containers import is_dict, is_sequence
from opweave.registry.python_dispatch import tensors_in
from opweave.tracer.aliasing import escaping
from opweave.tracer.effects import is_pure
from opweave.tracer.graph import Graph, Node


def run(graph: Graph) -> Graph:
    """Merge equal pure nodes; results that the caller gets as separate tensors stay separate."""
    returned = escaping(graph)
    known: dict[Any, Node] = {}
    for node in list(graph):
        if not is_pure(node):
            continue
        key = (node.target, _key(node.args), _key(node.kwargs))
        first = known.setdefault(key, node)
        if first is node or (first in returned and node in returned) or _numbers_of(first) != _numbers_of(node):
            continue
        node.replace_all_uses_with(first)
        graph.erase_node(node)
        if node in returned:
            returned = escaping(graph)
    return graph


def _numbers_of(node: Node) -> frozenset[Any]:
    """The symbols of sizes that depend on data: two calls that give equal sizes have other names for them."""
    value = node.meta.get("val")
    numbers: list[Any] = [value]
    for t in tensors_in([value]):
        numbers += [*t._sizes, *t._strides, t._offset]
    found: set[Any] = set()
    for number in numbers:
        if isinstance(number, SymNumber):
            found |= {s for s in number.expr.free_symbols if number.env.symbols[s].hint is None}
    return frozenset(found)


def _key(value: Any) -> Any:
    if isinstance(value, Node):
        return id(value)
    if is_sequence(value):
        return (list, *map(_key, value))
    if is_dict(value):
        return (dict, *((name, _key(item)) for name, item in value.items()))
    # 1, 1.0 and True are equal but not the same operand, and neither are 0.0 and -0.0.
    return type(value), repr(value)
