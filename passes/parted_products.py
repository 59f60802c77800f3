"""Products of which parts are read one after the other, made part by part.

    p = x @ w                        p0 = x[0:128] @ w
    ... p[0:32] ...                  ... p0[0:32] ...
    ... p[32:64] ...          ->     ... p0[32:64] ...
    ...                              ...
    ... p[128:160] ...               p1 = x[128:256] @ w
                                     ... p1[0:32] ...

A recurrent network multiplies its input at all steps at once and reads a few rows of that at each step. If all does not
stay in the caches near a core, the rows have left them by then; and it is memory that is needed for long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from opweave.registry.dataclass import dataclass
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor
from opweave.tracer.aliasing import escaping, is_view
from opweave.tracer.emission import Emitter, map_nodes, value_of
from opweave.tracer.graph import Graph, Node

aten = ops.aten
#: Bytes of a product that does not stay in the caches near a core, and those that a part of it has at least.
LARGE, PART = 1 << 20, 1 << 18
#: Rows that a part has at least: each reads the whole right operand.
ROWS = 64


@dataclass(frozen=True)
class _Part:
    """Rows of a product that are read together: the slices that show them, what looks at these, and the first use."""

    slices: Sequence[Node]
    views: Sequence[Node]
    first: int

    @property
    def rows(self) -> tuple[int, int]:
        return min(_rows(node)[0] for node in self.slices), max(_rows(node)[1] for node in self.slices)


def run(graph: Graph, is_product: Callable[[Node], bool]) -> Graph:
    """Part the products of a graph that are read in parts.

    Parameters
    ----------
    graph : Graph
        Changed in place.
    is_product : callable
        Whether a node is a product of two matrices that may be computed in parts.
    """
    large = [node for node in graph if is_product(node) and _is_large(value_of(node))]
    if not large:
        return graph
    kept = escaping(graph)
    order = {node: number for number, node in enumerate(graph)}
    #: How many products stand before each place.
    before = [0, *accumulate(is_product(node) for node in order)]
    chosen = [(node, parts) for node in large if node not in kept and (parts := _parts(node, order, before))]
    places = list(order)
    emit = Emitter(graph)
    for node, parts in chosen:
        for part in parts:
            _make(graph, emit, node, part, places[part.first])
        graph.erase_node(node)
    return graph


def _is_large(value: Tensor) -> bool:
    return all(type(size) is int for size in value._sizes) and _nbytes(value, value._sizes[0]) > LARGE


def _nbytes(value: Tensor, rows: int) -> int:
    return rows * int(value._sizes[1]) * value._dtype.itemsize


def _rows(node: Node) -> tuple[int, int]:
    """The rows that a slice shows: of its operand, and how many it has."""
    start = node.args[2] if len(node.args) > 2 and node.args[2] is not None else 0
    return start, start + value_of(node)._sizes[0]


def _is_slice(node: Node) -> bool:
    """Whether a node shows some rows of a matrix."""
    if node.target is not aten.slice.Tensor or node.kwargs or len(node.args) > 4:
        return False
    dim, start = (*node.args[1:], 0, 0)[:2] if len(node.args) > 1 else (0, 0)
    return dim in (0, -2) and (start is None or (type(start) is int and start >= 0))


def _parts(node: Node, order: dict[Node, int], before: Sequence[int]) -> list[_Part]:
    """In which parts a product is made; none if it is not read so."""
    users = list(node.users)
    if not users or not all(_is_slice(user) for user in users):
        return []
    users.sort(key=_rows)
    value, found, group = value_of(node), list[_Part](), list[Node]()
    for user, following in pairwise([*users, None]):
        assert user is not None
        group.append(user)
        start, end = min(_rows(each)[0] for each in group), max(_rows(each)[1] for each in group)
        parted = following is None or _rows(following)[0] >= end
        enough = end - start >= ROWS and _nbytes(value, end - start) >= PART
        if parted and (enough or following is None):
            part = _part(group, order)
            if part is None:
                return []
            found.append(part)
            group = []
    firsts = sorted(part.first for part in found)
    # Something has to be multiplied between what reads one part and what reads the next: else they are read at once.
    apart = all(before[one] < before[other] for one, other in pairwise(firsts))
    return found if len(found) > 1 and apart else []


def _part(slices: Sequence[Node], order: dict[Node, int]) -> _Part | None:
    views = sorted(_views(slices), key=order.__getitem__)
    uses = [order[user] for shown in (*slices, *views) for user in shown.users if user not in views]
    return _Part(tuple(slices), views, min(uses)) if uses else None


def _views(slices: Sequence[Node]) -> set[Node]:
    """The views of these, and of one another."""
    found: set[Node] = set()
    waiting = list(slices)
    while waiting:
        more = [user for user in waiting.pop().users if is_view(user) and user not in found]
        found.update(more)
        waiting += more
    return found


def _make(graph: Graph, emit: Emitter, product: Node, part: _Part, use: Node) -> None:
    """Make a part before it is used."""
    start, end = part.rows
    with graph.inserting_before(use):
        left = emit.call(aten.slice.Tensor, product.args[0], 0, start, end, like=product)
        made = emit.call(product.target, left, *product.args[1:], like=product)
        known: dict[Node, Node] = {}
        for node in part.slices:
            first, last = (row - start for row in _rows(node))
            known[node] = made if last - first == end - start else emit.call(
                aten.slice.Tensor, made, 0, first, last, like=node
            )  # fmt: skip
        for node in part.views:
            args, kwargs = map_nodes((node.args, node.kwargs), lambda operand: known.get(operand, operand))
            known[node] = emit.insert(node.target, tuple(args), dict(kwargs), node)
    for old, new in reversed(known.items()):
        old.replace_all_uses_with(new)
        graph.erase_node(old)
