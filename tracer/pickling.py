"""A graph as plain values, for `pickle`: nodes by name, and of their meta what belongs to no trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from opweave.registry.dataclass import dataclass
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor
from opweave.tracer import printing
from opweave.tracer.node import Node
from opweave.tracer.operands import map_operands

if TYPE_CHECKING:
    from opweave.tracer.graph import Graph


@dataclass(frozen=True)
class _Reference:
    """Stands for the node of a name."""

    name: str


#: (op, name, target, args, kwargs, meta)
Row = tuple[str, str, Any, Any, Any, dict[str, Any]]


def rows_of(graph: Graph) -> list[Row]:
    """Each node as a row, in order."""

    def plain(value: Any) -> Any:
        return _Reference(value.name) if isinstance(value, Node) else value

    return [(n.op, n.name, n.target, map_operands(n.args, plain), map_operands(n.kwargs, plain), _meta_of(n))
            for n in graph.nodes]  # fmt: skip


def _meta_of(node: Node) -> dict[str, Any]:
    """The user's line and the type; the value itself where it is a constant."""
    found = {key: node.meta[key] for key in ("site", "type") if key in node.meta}
    if "val" in node.meta:
        value = node.meta["val"]
        if isinstance(value, (Tensor, Symbolic, tuple, list, dict)):
            found["type"] = printing.type_text(value)
        else:
            found["val"] = value
    return found


def fill(graph: Graph, rows: list[Row], attributes: Mapping[str, Any]) -> None:
    """Add the nodes of `rows_of` to an empty graph."""
    graph.graph.update(attributes)
    nodes: dict[str, Node] = {}

    def real(value: Any) -> Any:
        return nodes[value.name] if isinstance(value, _Reference) else value

    for op, name, target, args, kwargs, meta in rows:
        node = graph.create_node(op, target, map_operands(args, real), map_operands(kwargs, real), name)
        nodes[name] = node
        node.meta = dict(meta)
