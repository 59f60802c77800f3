"""Whether the stores of a launch reach every element of a tensor.

A store writes, in each program and turn of its loops, a tile: the elements whose index along each dimension is one of a
run of numbers. Where each tile begins is computed for all programs, so that grids folded by hand, swizzled or walked
through by loops are no special case.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    if all(_tiled(access, *layout, grid) is False for layout in ((sizes, strides), ((prod(sizes),), (1,)))):
        return False
    return True


def _tiled(access: Access, sizes: Sequence[int], strides: Sequence[int], grid: Sequence[int]) -> bool:
    extents = [Polynomial.of(size) for size in sizes]
    index = digits(access.offset.polynomial, extents, [Polynomial.of(s) for s in strides], access.mask)
    if index is None:
        return False
    inside = [f for i, n in zip(index, extents, strict=True) for f in (Fact(i, "<", n), Fact(i, ">=", Polynomial()))]
    for fact in (*access.mask, *access.guards):
        slack = fact.right - fact.left - 1 if fact.relation == "<" else fact.left - fact.right
        if fact.relation not in ("<", ">=") or not follows(slack, inside):
            return False
    runs = [_run(i) for i in index]
    tiles = _tiles(access.loops, grid)
    if tiles is None:
        return False
    codes: Any = np.zeros(1, np.int64)
    count = 1
    used: set[int] = set()
    for run, size in zip(runs, sizes, strict=True):
        if run is None or used & run[2]:
            return False
        start, extent, dims = run
        used |= dims
        if any(isinstance(leaf, (Range, Opaque)) or not isinstance(leaf, (Program, Counter)) and not leaf.parts()
               for leaf in start.leaves()):  # fmt: skip
            return False
        first: Any = start.evaluate(tiles.__getitem__)
        if np.any(first % extent):
            return False
        tile, most = first // extent, -(-size // extent)
        codes = codes * (most + 1) + np.where((tile < 0) | (tile >= most), most, tile)
        count *= most
    _, radix = codes, [-(-size // run[1]) + 1 for run, size in zip(runs, sizes, strict=True) if run is not None]
    seen = np.unique(codes)
    complete = np.ones(len(seen), bool)
    for most in reversed(radix):
        complete &= seen % most != most - 1
        seen = seen // most
    return int(complete.sum()) == count


def _run(index: Polynomial) -> tuple[Polynomial, int, set[int]] | None:
    """An index as a start and a run of lanes behind it: the start, the length and the dimensions of the block."""
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
    return Polynomial.sum(start), length, {lane.dim for _, lane in lanes}


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
