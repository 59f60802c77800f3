"""Lookups: what is picked from a pointwise result is computed of what is picked from its operands.

    gather(x - m, 1, t)   becomes   gather(x, 1, t) - m          where m is (n, 1), and t has n elements

so that the whole of `x - m` need not be in memory for a few of its elements: a cross entropy never writes its
log-probabilities, and of a table of weights that is dequantised only the rows are that an embedding names. Each element
is computed by the same operations as before, so the bits are the same.

It is done where it does not compute more: where the picked elements are no more than there were, or few while others
read the result too.
"""

from __future__ import annotations

from typing import Any

from opweave.fake.symbolic import statically_known_true
from opweave.registry.op import ops
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor
from opweave.tracer.declared import declared
from opweave.tracer.emission import Emitter, map_nodes, nodes_in, value_of
from opweave.tracer.graph import Graph, Node
from opweave.tracer.loops.iteration import numel_of
from opweave.tracer.rewrite import rewrite

aten = ops.aten

#: Of a result that something else reads too, the part that may be computed a second time.
FEW = 8
#: Lookups along one dimension, by the number of the argument that names it; an embedding's is 0.
PICKS: dict[Any, int | None] = {aten.gather.default: 1, aten.index_select.default: 1, aten.embedding.default: None}


def run(graph: Graph) -> Graph:
    """Look up operands of pointwise ops instead of their results."""
    if not any(node.target in PICKS for node in graph):
        return graph
    return rewrite(graph, lambda node: (_through,) if node.target in PICKS else ())


def _through(node: Node, emit: Emitter) -> Node | None:
    source = node.args[0]
    if not isinstance(source, Node) or declared(node) is None or not _is_computed(source) or not _pays(node, source):
        return None
    sizes = value_of(source)._sizes
    if not sizes or node.target is aten.gather.default and len(value_of(node)._sizes) != len(sizes):
        return None  # a number, of which one may look up the element 0
    position = PICKS[node.target]
    dim = 0 if position is None else wrap_dim(node.args[position], len(sizes), node.target.opname)
    if any(not _fits(value_of(operand), sizes) for operand in nodes_in((source.args, source.kwargs))):
        return None
    if node.target is aten.gather.default and not _is_whole(value_of(node)._sizes, sizes, dim):
        return None

    def picked(operand: Node) -> Node:
        return _picked(node, operand, sizes, dim, emit)

    args, kwargs = map_nodes(source.args, picked), map_nodes(source.kwargs, picked)
    value, old = emit.evaluate(source.target, args, kwargs), value_of(node)
    if value._sizes != old._sizes or value._strides != old._strides or value._dtype is not old._dtype:
        return None
    return emit.insert(source.target, args, kwargs, source, value)


def _is_computed(source: Node) -> bool:
    """Whether each element of a node follows from one of each operand, by operations."""
    kind = declared(source)
    if kind is None or not kind.elementwise or not kind.cost or not source.all_input_nodes:
        return False
    tensors = [value_of(operand) for operand in (source, *source.all_input_nodes)]
    return all(isinstance(t, Tensor) and t._device is tensors[0]._device for t in tensors)


def _pays(node: Node, source: Node) -> bool:
    users = [user for user in source.users if user.users or user.op == "output"]  # what was replaced has none
    lookups = [user for user in users if user.target in PICKS and user.args[0] is source]
    times = 1 if len(lookups) == len(users) else FEW
    return sum(map(numel_of, lookups)) * times <= numel_of(source)


def _fits(operand: Tensor, sizes: tuple[Any, ...]) -> bool:
    """Whether an operand has the result's sizes, or is stretched, without doubt."""
    own = (1,) * (len(sizes) - len(operand._sizes)) + tuple(operand._sizes)
    return all(statically_known_true(a == b) or type(a) is int and a == 1 for a, b in zip(own, sizes, strict=True))


def _is_whole(picked: tuple[Any, ...], sizes: tuple[Any, ...], dim: int) -> bool:
    """Whether `gather` looks at each place in the other dimensions."""
    pairs = enumerate(zip(picked, sizes, strict=True))
    return all(d == dim or statically_known_true(one == other) for d, (one, other) in pairs)


def _picked(node: Node, operand: Node, sizes: tuple[Any, ...], dim: int, emit: Emitter) -> Node:
    """The elements of an operand that go with those that are looked up."""
    own = value_of(operand)._sizes
    place = dim - (len(sizes) - len(own))
    if place < 0 or type(own[place]) is int and own[place] == 1 and not statically_known_true(sizes[dim] == 1):
        # It is one element along the dimension, which stretches again.
        if place == 0 and node.target is aten.embedding.default:
            return emit.call(aten.squeeze.dim, operand, 0, like=node)  # whose place any number of dimensions takes
        return operand
    if len(own) < len(sizes) or any(not statically_known_true(a == b) for a, b in zip(own, sizes, strict=True)):
        operand = emit.call(aten.expand.default, operand, list(sizes), like=node)
    return emit.call(node.target, operand, *node.args[1:], like=node, **node.kwargs)
