"""Tensors side by side, as pieces in their places in one memory.

    launch fused_exp_0: x -> exp        alloc cat: f32[5, 4]
    call aten.cat((exp, y)) -> cat      view exp = cat + 0
                                   ->   launch fused_exp_0: x -> exp
                                        view cat_part = cat + 8
                                        copy y to cat_part

A piece that a kernel or a product makes, and that nothing keeps, is made in its place. Of the others, what lies there
as it lay before is a move of bytes, and the rest is copied by kernels. Types and sizes that differ or are not fixed are
left to the op.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from opweave.registry.dtypes import DType
from opweave.registry.op import ops
from opweave.registry.ops.kinds.concat import ConcatDecl
from opweave.registry.spec import span
from opweave.registry.tensor import as_alias
from opweave.tracer.aliasing import is_view
from opweave.tracer.declared import declared
from opweave.tracer.emission import map_nodes, nodes_in, value_of
from opweave.tracer.graph import Graph, Node
from opweave.tracer.launches import launch_of
from opweave.tracer.loops.iteration import classify, is_scatter

#: Bytes of which the addresses of aligned tensors are multiples.
ALIGNED = 16


def is_aligned(shift: int, dtype: DType) -> bool:
    """Whether a place so many elements behind an aligned one is aligned."""
    return shift * dtype.itemsize % ALIGNED == 0


class Piece(NamedTuple):
    """One of the tensors.

    Attributes
    ----------
    node : Node
        What it is.
    whole : Node
        What it is a part of.
    shift : int
        Elements from the start of the whole to it.
    is_moved : bool
        Whether it lies there as it does by itself, without gaps.
    """

    node: Node
    whole: Node
    shift: int
    is_moved: bool

    @property
    def strides(self) -> tuple[int, ...]:
        """As a part."""
        return value_of(self.whole)._strides

    @property
    def is_aligned(self) -> bool:
        """Whether it begins at an aligned address."""
        return is_aligned(self.shift, value_of(self.whole)._dtype)

    def copy(self) -> Graph:
        """Its copy as a region that becomes a kernel."""
        region, value = Graph(), value_of(self.node)
        given = region.placeholder(self.node.name)
        given.meta["val"] = value
        copied = region.call_function(ops.aten.clone.default, (given,), name=self.whole.name)
        copied.meta["val"] = as_alias(value, value._sizes, self.strides, 0)
        if "site" in self.whole.meta:
            copied.meta["site"] = self.whole.meta["site"]
        region.output((copied,)).meta["val"] = (copied.meta["val"],)
        return region


class Joins:
    """What a graph lays side by side.

    Parameters
    ----------
    graph : Graph
        From the fusion pass.
    multiplies : callable
        Whether a call is a product that writes its result to memory that it is given.

    Attributes
    ----------
    pieces : dict of Node to list of Piece
        By call, the tensors without empty ones.
    placed : dict of Node to Piece
        The tensors that are made in their places.
    """

    def __init__(self, graph: Graph, multiplies: Callable[[Node], bool]) -> None:
        found = {node: _pieces_of(node) for node in graph}
        self.pieces = {node: pieces for node, pieces in found.items() if pieces is not None}
        self.placed: dict[Node, Piece] = {}
        if not self.pieces:
            return
        written = {target for node in graph for _, target in node.kwargs.get("into", ())}
        for pieces in self.pieces.values():
            for piece in pieces:
                node = piece.node
                makes = _is_of_region(node) or node in self.pieces or multiplies(node)
                once = node not in self.placed and sum(each.node is node for each in pieces) == 1
                if makes and once and node not in written and piece.is_aligned and self._stays(piece, multiplies):
                    self.placed[node] = piece

    def _stays(self, piece: Piece, multiplies: Callable[[Node], bool]) -> bool:
        """Whether a piece may lie in its place: nobody else is told another, or keeps it."""
        if not piece.is_moved:
            return _is_of_region(piece.node) and list(piece.node.users) == [piece.whole]
        waiting = [piece.node]
        while waiting:
            for user in waiting.pop().users:
                if is_view(user):
                    waiting.append(user)
                elif not (isinstance(user.target, Graph) or user in self.pieces or multiplies(user)):
                    return False
        return True

    def region(self, node: Node, region: Graph) -> Graph:
        """A region with the strides that its results have in their places."""
        items = [user for user in node.users if user in self.placed and not self.placed[user].is_moved]
        if not items:
            return region
        changed = region.clone()
        results = changed.output_node().args[0]
        for item in items:
            value = value_of(item)
            results[item.args[1]].meta["val"] = as_alias(value, value._sizes, self.placed[item].strides, 0)
        return changed


def _is_of_region(node: Node) -> bool:
    """Whether a node is a result of loops, and not of a scatter or with a launch of a user's among them."""
    made_by: Any = node.args[0] if node.target is operator.getitem else None
    if not isinstance(made_by, Node) or not isinstance(made_by.target, Graph) or launch_of(made_by.target) is not None:
        return False
    number, region = node.args[1], made_by.target
    into = {at for at, _ in made_by.kwargs.get("into", ())}
    results = region.output_node().args[0]
    return number not in into and list(results).count(results[number]) == 1 and not any(map(is_scatter, region))


def _pieces_of(node: Node) -> list[Piece] | None:
    """The tensors that a call lays side by side, without empty ones; None where the op has to be called."""
    kind, whole = declared(node), value_of(node)
    if not isinstance(kind, ConcatDecl) or not whole._device.is_host:
        return None
    values = [whole, *(value_of(part) for part in nodes_in(node.args))]
    if any(type(n) is not int for value in values for n in (*value._sizes, *value._strides)):
        return None
    if any(value._dtype is not whole._dtype for value in values):
        return None
    found = list(_pieces(node, kind))
    if not found:  # a result without elements that nothing would make
        return None
    kernels = all(piece.is_moved or classify(_copied(piece.copy()))[0] is not None for piece in found)
    return found if kernels else None


def _pieces(node: Node, kind: ConcatDecl) -> Iterator[Piece]:
    whole, start = value_of(node), 0
    along = kind.pieces(*map_nodes(node.args, value_of), **map_nodes(node.kwargs, value_of)).dim
    for part in nodes_in(node.args):
        value = value_of(part)
        count = math.prod(value._sizes)
        if not count:
            continue
        shift, start = start * whole._strides[along], start + value._sizes[along]
        steps = [(s, one, other) for s, one, other in zip(value._sizes, value._strides, whole._strides, strict=True)]
        alike = all(size == 1 or one == other for size, one, other in steps)
        yield Piece(part, node, shift, alike and span(value._sizes, value._strides) == count)


def _copied(region: Graph) -> Node:
    return region.output_node().args[0][0]
