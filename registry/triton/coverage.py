"""Whether the stores of a launch reach every element of a tensor.

A store writes, in each program and turn of its loops, a tile: the elements whose index along each dimension is one of a
run of numbers. Where each tile begins is computed for all programs, so that grids folded by hand, swizzled or walked
through by loops are no special case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from opweave.registry.triton.access import Access
from opweave.registry.triton.known import digits, follows
from opweave.registry.triton.masks import Fact
from opweave.registry.triton.polynomial import Counter, Leaf, Loop, Opaque, Polynomial, Program, Range, Trips

_MOST = 1 << 20
"""Of how many tiles the beginnings are computed at most."""


def covers(access: Access, sizes: Sequence[int], strides: Sequence[int], grid: Sequence[int]) -> bool:
    """Whether a store surely writes all elements of a dense tensor.

    Parameters
    ----------
    access : Access
        The store, its numbers those of the launch (`known.in_launch`).
    sizes, strides : sequence of int
        The tensor's, outermost dimension first.
    grid : sequence of int
        Programs along each axis.
    """
    return any(_tiled(access, *layout, grid) for layout in ((sizes, strides), ((prod(sizes),), (1,))))


def _tiled(access: Access, sizes: Sequence[int], strides: Sequence[int], grid: Sequence[int]) -> bool:
    runs = _runs(access, [Polynomial.of(size) for size in sizes], [Polynomial.of(stride) for stride in strides])
    tiles = _tiles(access.loops, grid) if runs is not None else None
    if runs is None or tiles is None:
        return False
    counts = [-(-size // run.length) for run, size in zip(runs, sizes, strict=True)]
    hit = np.zeros(1, np.int64)
    inside = np.ones(1, bool)
    for run, count in zip(runs, counts, strict=True):
        if any(leaf not in tiles and not leaf.parts() for leaf in run.start.leaves()):
            return False
        first: Any = run.start.evaluate(tiles.__getitem__)
        if np.any(first % run.length):
            return False
        tile = first // run.length
        inside = inside & (tile >= 0) & (tile < count)
        hit = hit * count + tile
    return len(np.unique(np.broadcast_to(hit, inside.shape)[inside])) == prod(counts)


def covers_open(
    access: Access,
    sizes: Sequence[Polynomial],
    strides: Sequence[Polynomial],
    reaches: Callable[[Leaf, int, int], bool],
) -> bool:
    """The same of a tensor or a grid whose sizes are not fixed: each tile's number is a program's, or a turn's.

    Parameters
    ----------
    access : Access
        The store.
    sizes, strides : sequence of Polynomial
        The tensor's, outermost dimension first.
    reaches : callable
        Whether as many tiles as a `Program` or `Counter` has values, of a length, are as long as a dimension: given
        the leaf, the length and the number of the dimension.
    """
    runs = _runs(access, sizes, strides)
    used: set[Leaf] = set()
    for number, run in enumerate(runs or ()):
        size, top = sizes[number], run.start.constant
        if top == 0 and follows(Polynomial.of(run.length) - size, ()):
            continue
        if len(run.start.terms) != 1 or run.start.terms[0][1] != run.length or len(run.start.terms[0][0]) != 1:
            return False
        ((leaf,), _) = run.start.terms[0]
        if leaf in used or not isinstance(leaf, (Program, Counter)) or not reaches(leaf, run.length, number):
            return False
        used.add(leaf)
    return runs is not None and all(Counter(loop) in used for loop in access.loops)


@dataclass(frozen=True)
class _Run:
    """Neighbours along a dimension: where they begin, how many they are, and which dimensions of a block they are."""

    start: Polynomial
    length: int
    dims: frozenset[int]


def _runs(access: Access, sizes: Sequence[Polynomial], strides: Sequence[Polynomial]) -> list[_Run] | None:
    """What a block stores along each dimension; None where that is no run, or where masks leave out more."""
    index = digits(access.offset.polynomial, sizes, strides, access.mask)
    if index is None:
        return None
    inside = [f for i, n in zip(index, sizes, strict=True) for f in (Fact(i, "<", n), Fact(i, ">=", Polynomial()))]
    for fact in (*access.mask, *access.guards):
        slack = fact.right - fact.left - 1 if fact.relation == "<" else fact.left - fact.right
        if fact.relation not in ("<", ">=") or not follows(slack, inside):
            return None
    runs: list[_Run] = []
    used: frozenset[int] = frozenset()
    for i in index:
        run = _run(i)
        if run is None or used & run.dims:
            return None
        used |= run.dims
        runs.append(run)
    return runs


def _run(index: Polynomial) -> _Run | None:
    lanes: list[tuple[int, Range]] = []
    start: dict[tuple[Leaf, ...], int] = {}
    for product, c in index.terms:
        ranges = [leaf for leaf in product if isinstance(leaf, Range)]
        if ranges and len(product) > 1:
            return None
        if ranges:
            lanes.append((c, ranges[0]))
        else:
            start[product] = c
    length = 1
    for c, lane in sorted(lanes, key=lambda item: item[0]):
        if c != length:
            return None
        length *= lane.extent
    first = Polynomial.sum(start)
    if any(isinstance(leaf, (Range, Opaque)) for leaf in first.leaves()):
        return None
    return _Run(first, length, frozenset(lane.dim for _, lane in lanes))


def _tiles(loops: Sequence[Loop], grid: Sequence[int]) -> dict[Leaf, Any] | None:
    """The values of all leaves in each turn of the loops in each program; None where they are too many or not known."""
    if prod(grid) > _MOST:
        return None
    places = np.indices((*grid, 1, 1)[:3]).reshape(3, -1)
    values: dict[Leaf, Any] = {Program(axis, count): places[axis] for axis, count in enumerate((*grid, 1, 1)[:3])}
    for loop in loops:
        bounds = (loop.lower, loop.upper, loop.step)
        if any(p is None or any(leaf not in values and not leaf.parts() for leaf in p.leaves()) for p in bounds):
            return None
        lower, upper, step = (np.broadcast_to(p.evaluate(values.__getitem__), places.shape[1:]) for p in bounds if p)
        if len(bounds) != 3 or np.any(step <= 0):
            return None
        turns = np.maximum(-((lower - upper) // step), 0)
        if turns.sum() > _MOST:
            return None
        values = {leaf: np.repeat(np.broadcast_to(v, turns.shape), turns) for leaf, v in values.items()}
        values[Trips(loop)] = np.repeat(turns, turns)
        values[Counter(loop)] = np.arange(turns.sum()) - np.repeat(np.cumsum(turns) - turns, turns)
        places = np.repeat(places, turns, axis=1)
    return values
