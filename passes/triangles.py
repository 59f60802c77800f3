"""Masks that show each query the keys up to its own place: comparisons of places, and triangles of ones."""

from __future__ import annotations

from typing import Any

from opweave.registry.op import ops
from opweave.registry.tensor import Tensor
from opweave.tracer.emission import value_of
from opweave.tracer.graph import Node

aten = ops.aten
#: Ops that show a tensor in other sizes.
VIEWS = (aten.view.default, aten._unsafe_view.default, aten.reshape.default)


def causal(mask: Node) -> bool | None:
    """Whether a mask shows each query the keys up to its own place (True) or those behind it (False)."""
    while mask.target in (aten.unsqueeze.default, aten.expand.default, *VIEWS):
        source = value_of(mask.args[0])._sizes
        if len(source) < 2 or tuple(source[-2:]) != tuple(value_of(mask)._sizes[-2:]):
            break
        mask = mask.args[0]
    if mask.target in (aten.logical_not.default, aten.bitwise_not.default):
        found = causal(mask.args[0])
        return None if found is None else not found
    if mask.target in (aten.eq.Scalar, aten.eq.Tensor) and mask.args[1] == 0:
        found = _triangle(mask.args[0])
        return None if found is None else not found
    triangle = _triangle(mask)
    if triangle is not None:
        return triangle
    if mask.target not in _ORDERS or len(mask.args) < 2 or not all(isinstance(x, Node) for x in mask.args[:2]):
        return None
    a, b = mask.args[:2]
    if _counts(a, -2) and _counts(b, -1):
        return {"ge": True, "lt": False}.get(_ORDERS[mask.target])
    if _counts(a, -1) and _counts(b, -2):
        return {"le": True, "gt": False}.get(_ORDERS[mask.target])
    return None


_ORDERS: dict[Any, str] = {aten.ge.Tensor: "ge", aten.le.Tensor: "le", aten.gt.Tensor: "gt", aten.lt.Tensor: "lt"}


def _triangle(node: Node) -> bool | None:
    """Of ones in a triangle: whether they are those of `causal`."""
    if node.target not in (aten.tril.default, aten.triu.default) or not isinstance(node.args[0], Node):
        return None
    ones = node.args[0]
    is_ones = ones.target is aten.ones.default or (ones.target is aten.full.default and ones.args[1] in (1, True))
    diagonal = node.args[1] if len(node.args) > 1 else 0
    if not is_ones or value_of(ones).ndim != 2 or node.kwargs:
        return None
    if node.target is aten.tril.default:
        return True if diagonal == 0 else None
    return False if diagonal == 1 else None


def _counts(node: Node, dim: int) -> bool:
    """Whether elements are their places along a dimension from the end."""
    value = value_of(node)
    if not isinstance(value, Tensor) or value._dtype.kind not in "iu":
        return False
    others = [size for d, size in enumerate(value._sizes) if d - value.ndim != dim]
    if value.ndim < -dim or any(type(size) is not int or size != 1 for size in others):
        return False
    while node.target in (aten.unsqueeze.default, *VIEWS):
        (node,) = node.all_input_nodes
    args: list[Any] = [*node.args]
    if node.target is aten.arange.default:
        return True
    if node.target is aten.arange.start_step:
        return args[0] == 0 and args[2:] in ([], [1])
    return node.target is aten.arange.start and args[0] == 0
