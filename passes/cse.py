"""Common subexpression elimination: compute once what is computed twice from the same operands."""

from __future__ import annotations

import operator
from typing import Any

from opweave.fake.symbolic import SymNumber
from opweave.passes.emission import escaping, is_random
from opweave.registry.op import OpOverload
from opweave.registry.python_dispatch import tensors_in
from opweave.tracer.declared import declared
from opweave.tracer.graph import Graph, Node

#: A user's op with this tag promises the same result for the same arguments, and nothing else.
PURE_TAG = "pure"


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


def is_pure(node: Node) -> bool:
    """Whether equal operands give equal results, and a shared result cannot be told from two."""
    target = node.target
    if node.op != "call_function":
        return False
    if target is operator.getitem:
        return True
    if not isinstance(target, OpOverload) or target.is_mutable or is_random(target):
        return False
    if declared(node) is None:
        return PURE_TAG in target.tags
    # `x.clone()` asks for a second buffer, and memory from `empty` has no value that could be equal.
    return target.opname not in ("clone", "empty", "empty_like", "empty_strided", "new_empty")


def _key(value: Any) -> Any:
    if isinstance(value, Node):
        return id(value)
    if isinstance(value, (list, tuple)):
        return (list, *map(_key, value))
    if isinstance(value, dict):
        return (dict, *((name, _key(item)) for name, item in value.items()))
    # 1, 1.0 and True are equal but not the same operand, and neither are 0.0 and -0.0.
    return type(value), repr(value)
