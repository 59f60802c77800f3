"""Sums of products as one product.

    x0 @ y0 + x1 @ y1 + x2 @ y2   becomes   cat(x0, x1, x2; 1) @ cat(y0, y1, y2; 0)

A weight that is used many times, as at each step of a recurrent network, gets its gradient in so many products with few
terms each, whose results are written and read again to be added. The operands are much smaller then. Where some are
side by side already, in whatever order, as the gradients of parts of one tensor, that is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from opweave.registry.op import ops
from opweave.registry.tensor import Tensor
from opweave.tracer.aliasing import escaping
from opweave.tracer.declared import declared
from opweave.tracer.emission import Emitter, value_of
from opweave.tracer.graph import Graph, Node

aten = ops.aten
#: Products that a sum has at least: laying operands side by side is a step of its own.
LEAST = 3


def run(graph: Graph, is_product: Callable[[Node], bool]) -> Graph:
    """Join the products of each sum.

    Parameters
    ----------
    graph : Graph
        Changed in place.
    is_product : callable
        Whether a node is a product of two matrices that may be computed together with others.
    """
    if sum(1 for node in graph if is_product(node)) < LEAST:
        return graph
    kept = escaping(graph)
    emit = Emitter(graph)
    for root in [node for node in graph if _is_sum(node) and not _is_only_summed(node, kept)]:
        terms = list(_terms(root, kept))
        products = [term for term in terms if is_product(term) and _is_only_summed(term, kept)]
        if len(products) >= LEAST and _pays(products):
            with graph.inserting_before(root):
                total = _joined(graph, products, emit, root)
                for term in terms:
                    if term not in products:
                        total = emit.call(aten.add.Tensor, total, term, like=root)
            root.replace_all_uses_with(total)
            graph.erase_node(root)
    return graph


# ---- sums ----------------------------------------------------------------------------------------------------------


def _is_sum(node: Node) -> bool:
    """Whether a node adds two tensors of its own sizes and type."""
    if node.target is not aten.add.Tensor or node.kwargs or len(node.args) != 2 or declared(node) is None:
        return False
    return all(isinstance(term, Node) and _alike(value_of(term), value_of(node)) for term in node.args)


def _alike(one: Tensor, other: Tensor) -> bool:
    fixed = all(type(size) is int for size in one._sizes)
    return fixed and one._sizes == other._sizes and one._dtype is other._dtype


def _is_only_summed(node: Node, kept: set[Node]) -> bool:
    """Whether a node is a term of one sum and nothing else."""
    users = list(node.users)
    return len(users) == 1 and node not in kept and _is_sum(users[0]) and users[0].args[0] is not users[0].args[1]


def _terms(root: Node, kept: set[Node]) -> Iterator[Node]:
    """What a sum adds, sums among it taken apart, in order."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node is root or (_is_sum(node) and _is_only_summed(node, kept)):
            waiting += reversed(node.args)
        else:
            yield node


# ---- products ------------------------------------------------------------------------------------------------------


def _pays(products: Sequence[Node]) -> bool:
    """Whether the operands have fewer elements than the results."""
    m, n = value_of(products[0])._sizes
    depth = 0
    for product in products:
        inner = value_of(product.args[0])._sizes[1]
        if type(inner) is not int or not inner:
            return False
        depth += inner
    return depth * (m + n) <= len(products) * m * n


def _joined(graph: Graph, products: Sequence[Node], emit: Emitter, like: Node) -> Node:
    """The product of the operands side by side."""
    lefts: list[Node] = [product.args[0] for product in products]
    rights: list[Node] = [product.args[1] for product in products]
    sources = [_transposed(left) for left in lefts]
    flipped = [source for source in sources if source is not None]
    upright = len(flipped) == len(lefts)
    parts, dim = (flipped, 0) if upright else (lefts, 1)
    left = _found(graph, parts, dim, like)
    if left is not None:
        at = {part: number for number, part in enumerate(parts)}
        rights = [rights[at[part]] for part in left.args[0]]
        right = _found(graph, rights, 0, like, in_order=True)
    else:
        right = _found(graph, rights, 0, like)
        if right is not None:
            at = {part: number for number, part in enumerate(rights)}
            parts = [parts[at[part]] for part in right.args[0]]
    left = left or emit.call(aten.cat.default, parts, dim, like=like)
    right = right or emit.call(aten.cat.default, rights, 0, like=like)
    if upright:
        left = emit.call(aten.transpose.int, left, 0, 1, like=like)
    return emit.call(aten.mm.default, left, right, like=like)


def _transposed(node: Node) -> Node | None:
    """What a matrix is the transpose of."""
    if node.target is aten.t.default or (
        node.target is aten.transpose.int and sorted(d % 2 for d in node.args[1:]) == [0, 1]
    ):
        return node.all_input_nodes[0]
    return None


def _found(graph: Graph, parts: Sequence[Node], dim: int, like: Node, *, in_order: bool = False) -> Node | None:
    """A node before another that has these tensors side by side already, in any order or in this one."""
    wanted = set(parts)
    if len(wanted) != len(parts):
        return None
    for user in parts[0].users:
        if user.target is not aten.cat.default or declared(user) is None:
            continue
        given, *along = user.args
        if len(given) != len(parts) or set(given) != wanted or (in_order and list(given) != list(parts)):
            continue
        if (along[0] if along else 0) % 2 == dim and _is_before(graph, user, like):
            return user
    return None


def _is_before(graph: Graph, node: Node, other: Node) -> bool:
    return next(each for each in graph if each is node or each is other) is node
