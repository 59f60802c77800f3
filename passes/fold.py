"""Constant folding: compute at compile time what depends on no input.

Tensors with one value everywhere (`full`, `zeros`, `ones`, and pointwise ops on them) become one `full`, whatever their
size: their value costs one element to compute, and a fused kernel takes it as a literal.
"""

from __future__ import annotations

import math
from typing import Any

from opweave.registry.keys import no_modes
from opweave.registry.op import ops
from opweave.registry.ops.kinds.generator import GeneratorDecl
from opweave.registry.spec import is_contiguous
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor
from opweave.tracer.declared import declared
from opweave.tracer.emission import Emitter, map_nodes, nodes_in, value_of
from opweave.tracer.graph import Graph, Node
from opweave.tracer.rewrite import rewrite

aten = ops.aten


def run(graph: Graph) -> Graph:
    """Replace computed constants by `full`."""
    uniform: dict[Node, Any] = {}
    returned = set(nodes_in(graph.output_node().args))

    def folded(node: Node, emit: Emitter) -> Node | None:
        value = uniform[node] if node in uniform else _uniform_value(node, uniform)
        if value is None:
            return None
        uniform[node] = value
        spec = value_of(node)
        if not node.target.decl.keeps_uniform or node in returned or not is_contiguous(spec._sizes, spec._strides):
            return None
        if not _is_exact(value, spec):
            return None
        new = emit.call(
            aten.full.default, list(spec._sizes), value, like=node, val=spec, dtype=spec._dtype, device=spec._device
        )
        uniform[new] = value
        return new

    return rewrite(graph, lambda node: (folded,))


def _uniform_value(node: Node, uniform: dict[Node, Any]) -> Any:
    """The Python number that every element of a node has; None if there is no such number."""
    decl, spec = declared(node), value_of(node)
    if decl is None:
        return None
    if not isinstance(spec, Tensor) or spec.is_complex():
        return None
    inputs = list(nodes_in((node.args, node.kwargs)))
    if isinstance(decl, GeneratorDecl) and decl.uniform and not inputs:
        return _evaluate(node, {}, one_element=True)
    if not inputs or any(n not in uniform for n in inputs):
        return None
    if decl.is_layout:
        # Seen as another type, the bits are another number.
        return uniform[inputs[0]] if value_of(inputs[0])._dtype is spec._dtype else None
    return _evaluate(node, uniform) if decl.keeps_uniform else None


def _evaluate(node: Node, uniform: dict[Node, Any], *, one_element: bool = False) -> Any:
    """Run the op on one element with the real kernel, so that rounding is the op's own."""

    def scalar(operand: Node) -> Tensor:
        return aten.full.default([], uniform[operand], dtype=value_of(operand)._dtype)

    args, kwargs = map_nodes(node.args, scalar), map_nodes(node.kwargs, scalar)
    with no_modes():
        if one_element and args and isinstance(args[0], (list, tuple)):
            args = ([1], *args[1:])
        elif one_element and math.prod(value_of(node)._sizes) != 1:
            return None
        if any(isinstance(value, Symbolic) for value in (*args, *kwargs.values())):
            return None  # a number that the sizes at hand decide
        result = node.target(*args, **{k: v for k, v in kwargs.items() if k != "device"})
        return result.item()


def _is_exact(value: Any, spec: Tensor) -> bool:
    """Whether printing the number and reading it back gives the same element."""
    return not (isinstance(value, float) and not math.isfinite(value))
