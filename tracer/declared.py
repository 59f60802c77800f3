"""By which declaration a call may be lowered: the one place where passes and code generation ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opweave.registry.op import OpOverload, tensors_in
from opweave.registry.ops.kinds.base import Kind
from opweave.tracer.graph import Node


def kind_of(node: Node) -> Kind | None:
    """The kind of op that a node calls, whatever is registered for it; None for what has no declaration."""
    return getattr(node.target, "decl", None) if node.op == "call_function" else None


def declared(node: Node) -> Any:
    """The declaration that says what a call computes; None for a call that is opaque.

    Opaque are users' ops, higher-order ops, and built-in ops for which something else was registered on a device of
    the call (`OpOverload.is_overridden`): those have to be called, whatever their name says.
    """
    target = node.target
    if node.op != "call_function" or not isinstance(target, OpOverload) or target.decl is None:
        return None
    return None if is_overridden(target, node) else target.decl


def is_layout(node: Node) -> bool:
    """Whether a node is the memory of its operand with other sizes and strides."""
    kind = declared(node)
    return kind is not None and kind.is_layout


def is_overridden(op: OpOverload, node: Node) -> bool:
    """Whether an op is overridden on a device of a call's tensors."""
    return any(op.is_overridden(kind) for kind in {*_devices(node)} or {"cpu"})


def _devices(node: Node) -> Iterator[str]:
    for source in (node, *node.all_input_nodes):
        for t in tensors_in([source.meta.get("val")]):
            yield t._device.type
