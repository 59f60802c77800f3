"""The names of a graph's nodes, and the symbols that its values are made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opweave.fake.symbolic import SymNumber
from opweave.registry.containers import is_dict, is_sequence
from opweave.registry.tensor import Tensor
from opweave.tracer.graph import Graph
from opweave.tracer.printing import operand_graphs


def names_in(graph: Graph) -> Iterator[str]:
    """Names of all nodes, also of those in functions."""
    for node in graph.nodes:
        yield node.name
        for inner in operand_graphs(node):
            yield from names_in(inner)


def symbols_in(graph: Graph) -> frozenset[str]:
    """Names of all symbols that the graph's values are made of, with what they turned out to equal."""
    found: set[Any] = set()

    def note(value: Any) -> None:
        if isinstance(value, SymNumber):
            expr = value.env.simplify(value.expr)
            found.update(expr.free_symbols)
            found.update(value.expr.free_symbols)
        elif isinstance(value, Tensor):
            for number in (*value._sizes, *value._strides, value._offset):
                if type(number) is not int:
                    note(number)
        elif is_sequence(value):
            for item in value:
                note(item)
        elif is_dict(value):
            note(list(value.values()))

    for node in graph.nodes:
        note(node.meta.get("val"))
        note((node.args, node.kwargs))
    return frozenset(symbol.name for symbol in found)
