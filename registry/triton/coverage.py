"""Whether the stores of a launch reach every element of a tensor.

A store writes, in each program and turn of its loops, a tile: the elements whose index along each dimension is one of a
run of numbers. Where each tile begins is computed for all programs, so that grids folded by hand, swizzled or walked
through by loops are no special case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, TypeVar

import numpy as np

from opweave.registry.dataclass import dataclass
from opweave.registry.interrupts import let_through
from opweave.registry.triton.access import Access
from opweave.registry.triton.known import digits, follows
from opweave.registry.triton.masks import Fact
from opweave.registry.triton.polynomial import Counter, Leaf, Loop, Opaque, Polynomial, Program, Range, Trips

_DIMENSIONS = 4
"""Of how many dimensions all groups are tried."""
T = TypeVar("T")
_MOST = 1 << 20
"""Of how many tiles the beginnings are computed at most."""


def covers(accesses: Sequence[Access], sizes: Sequence[int], strides: Sequence[int], grid: Sequence[int]) -> bool:
    """Whether stores surely write, between them, all elements of a dense tensor.

    Parameters
    ----------
    accesses : sequence of Access
        The stores, their numbers those of the launch (`known.in_launch`).
    sizes, strides : sequence of int
        The tensor's, outermost dimension first.
    grid : sequence of int
        Programs along each axis.
    """
    return _surely(lambda: any(_covered(accesses, *layout, grid) for layout in layouts(sizes, strides)))


def _surely(question: Callable[[], bool]) -> bool:
    """The answer; no, where a program of the launch divides by 0."""
    try:
        with np.errstate(all="raise"):
            return question()
    except (FloatingPointError, ZeroDivisionError) as error:
        let_through(error)
        return False


def layouts(sizes: Sequence[T], strides: Sequence[T]) -> Iterator[tuple[list[T], list[T]]]:
    """Sizes and strides of a dense tensor with neighbouring dimensions joined, in all ways, the finest first."""
    cuts = range(len(sizes) - 1)
    for joined in range(1 << min(len(cuts), _DIMENSIONS)):
        along, steps = [sizes[0]], [strides[0]]
        for d in cuts:
            if joined >> d & 1:
                along[-1], steps[-1] = along[-1] * sizes[d + 1], strides[d + 1]  # type: ignore[operator]
            else:
                along.append(sizes[d + 1])
                steps.append(strides[d + 1])
        yield along, steps


def _covered(accesses: Sequence[Access], sizes: Sequence[int], strides: Sequence[int], grid: Sequence[int]) -> bool:
    found = [_starts(access, sizes, strides, grid) for access in accesses]
    tiles = [(starts, lengths) for one in found if one is not None for starts, lengths in [one]]
    if not tiles:
        return False
    # Along each dimension, the pieces that beginnings and ends cut it into: a tile is one piece, or more is not shown.
    pieces = []
    for d, size in enumerate(sizes):
        ends = [np.clip(at, 0, size) for starts, lengths in tiles for at in (starts[d], starts[d] + lengths[d])]
        pieces.append(np.unique(np.concatenate([*map(np.ravel, ends), [0, size]])))
    hit = []
    for starts, lengths in tiles:
        code, inside = np.zeros(1, np.int64), np.ones(1, bool)
        for d, (size, cuts) in enumerate(zip(sizes, pieces, strict=True)):
            first = np.searchsorted(cuts, np.clip(starts[d], 0, size))
            last = np.searchsorted(cuts, np.clip(starts[d] + lengths[d], 0, size))
            if np.any(last - first > 1):
                return False
            inside = inside & (last - first == 1)
            code = code * len(cuts) + first
        code, inside = np.broadcast_arrays(code, inside)
        hit.append(code[inside])
    return len(np.unique(np.concatenate(hit))) == prod(len(cuts) - 1 for cuts in pieces)


def _starts(
    access: Access, sizes: Sequence[int], strides: Sequence[int], grid: Sequence[int]
) -> tuple[list[Any], list[int]] | None:
    """Where the tiles of an access begin along each dimension, and how long they are; None where that is not known."""
    runs = _runs(access, [Polynomial.of(size) for size in sizes], [Polynomial.of(stride) for stride in strides])
    values = turns(access.loops, grid) if runs is not None else None
    if runs is None or values is None:
        return None
    if any(leaf not in values and not leaf.parts() for run in runs for leaf in run.start.leaves()):
        return None
    return [np.asarray(run.start.evaluate(values.__getitem__)) for run in runs], [run.length for run in runs]


def is_apart(
    loads: Sequence[Access], stores: Sequence[Access], sizes: Sequence[int], strides: Sequence[int], grid: Sequence[int]
) -> bool:
    """Whether a kernel that writes a tensor in place could as well read one and write another, all of it.

    No load may find what a store has written: it stands before the store, with no loop around both, whose next turn
    might read what this one wrote, and no two programs share an element.
    """
    for load in loads:
        for store in stores:
            if load.op.pos > store.op.pos or any(loop.kind != "for" for loop in (*load.loops, *store.loops)):
                return False
            if any(loop in store.loops for loop in load.loops):
                return False
    return _surely(
        lambda: any(
            _covered(stores, *layout, grid) and _is_owned((*loads, *stores), *layout, grid)
            for layout in layouts(sizes, strides)
        )
    )


def _is_owned(accesses: Sequence[Access], sizes: Sequence[int], strides: Sequence[int], grid: Sequence[int]) -> bool:
    """Whether what one program accesses no other one does: along some dimensions each has tiles of its own."""
    extents, steps = ([Polynomial.of(n) for n in found] for found in (sizes, strides))
    shared: set[tuple[int, _Run]] | None = None
    found = []
    for access in accesses:
        runs = _runs(access, extents, steps)
        if runs is None:
            return False
        own = {(d, run) for d, run in enumerate(runs) if any(isinstance(leaf, Program) for leaf in run.start.leaves())}
        shared = own if shared is None else shared & own
        found.append(access)
    if not shared and prod(grid) > 1:
        return False
    values = turns(found[-1].loops, grid)
    if values is None:
        return False
    starts = []
    for _, run in sorted(shared or (), key=lambda one: one[0]):
        if any(leaf not in values and not leaf.parts() for leaf in run.start.leaves()):
            return False
        first: Any = np.asarray(run.start.evaluate(values.__getitem__))
        if np.any(first % run.length):
            return False
        starts.append(np.broadcast_to(first, _length(values)))
    programs = [values[Program(axis, count)] for axis, count in enumerate((*grid, 1, 1)[:3])]
    places = np.stack([*starts, np.zeros(_length(values), np.int64)])
    return np.unique(places, axis=1).shape[1] == np.unique(np.concatenate([places, programs]), axis=1).shape[1]


def _length(values: Mapping[Leaf, Any]) -> int:
    return max(len(v) for v in values.values())


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
    shorter: dict[int, int] = {}
    for fact in (*access.mask, *access.guards):
        slack = fact.right - fact.left - 1 if fact.relation == "<" else fact.left - fact.right
        if fact.relation not in ("<", ">="):
            return None
        if not follows(slack, inside):
            lane = _limited(slack)
            if lane is None:
                return None
            shorter[lane[0]] = min(lane[1], shorter.get(lane[0], lane[1]))
    runs: list[_Run] = []
    used: frozenset[int] = frozenset()
    for i in index:
        run = _run(i)
        if run is None or used & run.dims:
            return None
        used |= run.dims
        least = [shorter[d] for d in run.dims if d in shorter]
        if least and len(run.dims) > 1:
            return None
        runs.append(replace(run, length=min([run.length, *least])))
    return runs if shorter.keys() <= used else None


def _limited(slack: Polynomial) -> tuple[int, int] | None:
    """A lane, and the number that it is kept below by a polynomial that is not negative."""
    lanes = {product: c for product, c in slack.terms if product}
    if len(lanes) != 1:
        return None
    ((product, c),) = lanes.items()
    top = (slack - Polynomial(((product, c),))).constant
    if len(product) != 1 or not isinstance(product[0], Range) or c != -1 or top is None or top < 0:
        return None
    return product[0].dim, top + 1


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


def turns(loops: Sequence[Loop], grid: Sequence[int]) -> dict[Leaf, Any] | None:
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
        count = np.maximum(-((lower - upper) // step), 0)
        if count.sum() > _MOST:
            return None
        values = {leaf: np.repeat(np.broadcast_to(v, count.shape), count) for leaf, v in values.items()}
        values[Trips(loop)] = np.repeat(count, count)
        values[Counter(loop)] = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        places = np.repeat(places, count, axis=1)
    return values
