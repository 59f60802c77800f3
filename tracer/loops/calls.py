"""Calls in a graph, as the kinds of ops see them (`registry.ops.kinds.loops`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.fake.symbolic import statically_known_true
from opweave.registry.containers import is_sequence
from opweave.registry.dtypes import DType
from opweave.registry.ops.kinds.base import Kind
from opweave.registry.ops.kinds.loops import Operand
from opweave.registry.tensor import Tensor
from opweave.tracer.loops import index
from opweave.tracer.loops.size import Size, size_of, sizes
from opweave.tracer.node import Node


class NodeOperand(Operand):
    """A tensor of a call: the node that makes it."""

    __slots__ = ("_known", "node")

    def __init__(self, node: Node):
        self.node = node
        self._known: tuple[Size, ...] | None = None

    @property
    def value(self) -> Tensor:
        """Its fake value."""
        return self.node.meta["val"]

    @property
    def ndim(self) -> int:
        return len(self.value._sizes)

    @property
    def sizes(self) -> tuple[Size, ...]:
        found = self._known
        if found is None:
            found = self._known = sizes(self.value._sizes)
        return found

    @property
    def _sizes(self) -> tuple[Any, ...]:
        return self.value._sizes

    @property
    def _dtype(self) -> DType:
        return self.value._dtype

    @property
    def _device(self) -> Any:
        return self.value._device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeOperand) and self.node is other.node

    def __hash__(self) -> int:
        return hash(self.node)


class NodeCall:
    """A call of a declared op: the node, and what kind of op it calls."""

    __slots__ = ("kind", "node", "result")
    indices = index

    def __init__(self, node: Node):
        self.node = node
        self.kind: Kind = getattr(node.target, "decl", None)  # type: ignore[assignment]  # only calls are asked
        self.result = NodeOperand(node)

    @property
    def args(self) -> tuple[Any, ...]:
        return self.node.args

    @property
    def kwargs(self) -> Any:
        return self.node.kwargs

    @property
    def operands(self) -> Sequence[NodeOperand]:
        return [NodeOperand(node) for node in self.node.all_input_nodes]

    @property
    def memo(self) -> dict[str, Any]:
        return self.node.meta

    def arguments(self) -> list[Any]:
        """The arguments in the schema's order, defaults filled in, an operand for each node."""
        return _with_operands(self.kind.bind(self.args, self.kwargs))

    def size(self, value: Any, least: int = 1) -> Size:
        """A number of the trace as kernels count; see `size_of`."""
        return size_of(value, least)

    def is_known(self, condition: Any) -> bool:
        """Whether a comparison of the trace's numbers holds for all values that they may have."""
        return statically_known_true(condition)


def _with_operands(value: Any) -> Any:
    if is_sequence(value):
        return [_with_operands(item) for item in value]
    return NodeOperand(value) if isinstance(value, Node) else value
