"""Where the nodes of a drawn graph stand: in layers from top to bottom, each below all that it reads.

Layers are those of the longest path. Edges that pass a layer get a place of their own in it, so that they cross nothing
they need not cross. The order within layers comes from sweeps that sort by the mean of the neighbours, the places from
least squares: as close to the neighbours as the widths allow.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from opweave.registry.dataclass import dataclass
from opweave.tracer.networks import load_networkx

#: Between boxes side by side, and between layers.
GAP, DROP = 18.0, 44.0
#: An edge that passes more layers than this is drawn straight.
LONGEST = 12
_SWEEPS = 4


#: A place in a layer that an edge passes: its ends, and the layer.
_Point = tuple[Any, Any, int]
_Rows = list[list[Any]]
_Near = dict[Any, list[Any]]


@dataclass(frozen=True)
class Box:
    """A place: its centre and its size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Layout:
    """A drawing.

    Attributes
    ----------
    boxes : mapping
        Of each node.
    bends : mapping
        By edge the points that it passes between its ends.
    width, height : float
        Of the whole.
    """

    boxes: Mapping[Any, Box]
    bends: Mapping[tuple[Any, Any], Sequence[tuple[float, float]]]
    width: float
    height: float


def layered(graph: Any, sizes: Mapping[Any, tuple[float, float]]) -> Layout:
    """Lay out an acyclic graph.

    Parameters
    ----------
    graph : networkx.DiGraph or MultiDiGraph
        Its order of nodes decides where nothing else does.
    sizes : mapping
        Width and height of each node.
    """
    layer = _layers(graph)
    edges = list(dict.fromkeys((a, b) for a, b in graph.edges()))
    rows, above, below, virtual = _rows(graph, layer, edges)
    widths: dict[Hashable, float] = {node: sizes[node][0] for node in graph.nodes}
    _sort(rows, above, below)
    x = _places(rows, above, below, widths)
    tops, y = list[float](), GAP
    for row in rows:
        tall = max((sizes[node][1] for node in row if node in sizes), default=0.0)
        tops.append(y + tall / 2)
        y += tall + DROP
    left = min((x[n] - widths.get(n, 0.0) / 2 for row in rows for n in row), default=0.0) - GAP
    boxes = {node: Box(x[node] - left, tops[layer[node]], *sizes[node]) for node in graph.nodes}
    bends = {
        edge: [(x[point] - left, tops[point[2]]) for point in points] for edge, points in virtual.items() if points
    }
    right = max((box.x + box.width / 2 for box in boxes.values()), default=0.0) + GAP
    right = max([right, *(point[0] + GAP for points in bends.values() for point in points)])
    return Layout(boxes, bends, right, max(y - DROP + GAP, 2 * GAP))


def _layers(graph: Any) -> dict[Any, int]:
    """Of each node its layer: one below the lowest that it reads; what reads nothing stands just above its users."""
    layer: dict[Any, int] = {}
    for number, generation in enumerate(load_networkx().topological_generations(graph)):
        layer.update(dict.fromkeys(generation, number))
    for node in graph.nodes:
        if not graph.in_degree(node) and graph.out_degree(node):
            layer[node] = min(layer[user] for user in graph.successors(node)) - 1
    return layer


def _rows(
    graph: Any, layer: Mapping[Any, int], edges: Sequence[tuple[Any, Any]]
) -> tuple[_Rows, _Near, _Near, dict[tuple[Any, Any], list[_Point]]]:
    rows: list[list[Any]] = [[] for _ in range(1 + max(layer.values(), default=-1))]
    for node in graph.nodes:
        rows[layer[node]].append(node)
    above: dict[Any, list[Any]] = {}
    below: dict[Any, list[Any]] = {}
    virtual: dict[tuple[Any, Any], list[tuple[Any, Any, int]]] = {}
    for a, b in edges:
        points = [(a, b, k) for k in range(layer[a] + 1, layer[b])]
        if len(points) > LONGEST:
            points = []
        else:
            for point in points:
                rows[point[2]].append(point)
            chain = [a, *points, b]
            for one, other in itertools.pairwise(chain):
                below.setdefault(one, []).append(other)
                above.setdefault(other, []).append(one)
        virtual[a, b] = points
    return rows, above, below, virtual


def _sort(rows: list[list[Any]], above: Mapping[Any, list[Any]], below: Mapping[Any, list[Any]]) -> None:
    """Order each layer by the mean place of the neighbours, from the top and from the bottom in turn."""
    place = {node: at / max(len(row) - 1, 1) for row in rows for at, node in enumerate(row)}
    for sweep in range(_SWEEPS):
        near = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else reversed(rows):
            for node in row:
                others = near.get(node)
                if others:
                    place[node] = sum(place[other] for other in others) / len(others)
            row.sort(key=place.__getitem__)
            for at, node in enumerate(row):
                place[node] = at / max(len(row) - 1, 1)


def _places(
    rows: list[list[Any]], above: Mapping[Any, list[Any]], below: Mapping[Any, list[Any]], widths: Mapping[Any, float]
) -> dict[Any, float]:
    x: dict[Any, float] = {}
    for row in rows:
        at = 0.0
        for node in row:
            at += widths.get(node, 0.0) / 2
            x[node] = at
            at += widths.get(node, 0.0) / 2 + GAP
        for node in row:
            x[node] -= at / 2
    for sweep in range(2 * _SWEEPS):
        near = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [sum(x[o] for o in near[n]) / len(near[n]) if near.get(n) else x[n] for n in row]
            x.update(zip(row, spread(wanted, [widths.get(n, 0.0) for n in row]), strict=True))
    return x


def spread(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """The centres nearest to those wanted, in the sense of least squares, at which boxes in a row do not overlap."""
    # With what stands to the left of each taken off, they need only not decrease: neighbours that would are pooled.
    offsets, at = list[float](), 0.0
    for i, width in enumerate(widths):
        at += (widths[i - 1] + width) / 2 + GAP if i else 0.0
        offsets.append(at)
    pools: list[tuple[float, int]] = []
    for value, offset in zip(wanted, offsets, strict=True):
        total, count = value - offset, 1
        while pools and pools[-1][0] / pools[-1][1] > total / count:
            before = pools.pop()
            total, count = total + before[0], count + before[1]
        pools.append((total, count))
    means = [total / count for total, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
