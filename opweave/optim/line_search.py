"""A line search: how far to go along a direction, by the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable

from opweave.registry.dataclass import dataclass
from opweave.registry.tensor import Tensor

#: How much of what the slope promises the loss must fall by, and which part of the slope may be left.
DECREASE, CURVATURE = 1e-4, 0.9


@dataclass(frozen=True)
class Point:
    """What was found at a place of the line."""

    length: float  # how far along the direction
    loss: float
    gradient: Tensor
    slope: float  # of the loss along the direction


def strong_wolfe(
    at: Callable[[float], Point], start: Point, length: float, limit: int, size: float, tolerance: float
) -> tuple[Point, int]:
    """Where the loss is lower and its slope flatter (Nocedal & Wright 2006, algorithms 3.5 and 3.6).

    Parameters
    ----------
    at : callable
        Gives the point at a length.
    start : Point
        Where the search begins, at length 0.
    length : float
        The first to try.
    limit : int
        How many points more are tried at most.
    size, tolerance : float
        Largest number of the direction; an interval whose length times that is below the tolerance is not divided.

    Returns
    -------
    tuple of Point and int
        What was found, and how many points were tried.
    """

    def too_high(point: Point) -> bool:
        return point.loss > start.loss + DECREASE * point.length * start.slope

    def flat(point: Point) -> bool:
        return abs(point.slope) <= -CURVATURE * start.slope

    last, here, tried = start, at(length), 0
    while tried < limit:
        if too_high(here) or (tried > 1 and here.loss >= last.loss):
            ends = [last, here]
            break
        if flat(here):
            return here, tried + 1
        if here.slope >= 0:
            ends = [last, here]
            break
        shortest = here.length + 0.01 * (here.length - last.length)
        last, here = here, at(_lowest_of_cubic(last, here, shortest, here.length * 10))
        tried += 1
    else:
        ends = [start, here]

    low = _lower(ends)
    hesitates = False  # whether the last length was near an end, where little is learned
    while tried < limit and abs(ends[1].length - ends[0].length) * size >= tolerance:
        least, most = sorted(end.length for end in ends)
        length, margin = _lowest_of_cubic(ends[0], ends[1], least, most), 0.1 * (most - least)
        near = min(most - length, length - least) < margin
        if near and (hesitates or not least < length < most):
            length = most - margin if abs(length - most) < abs(length - least) else least + margin
            near = False
        hesitates = near
        here = at(length)
        tried += 1
        if too_high(here) or here.loss >= ends[low].loss:
            ends[1 - low] = here
            low = _lower(ends)
            continue
        if flat(here):
            return here, tried + 1
        if here.slope * (ends[1 - low].length - ends[low].length) >= 0:
            ends[1 - low] = ends[low]
        ends[low] = here
    return ends[low], tried + 1


def _lower(ends: list[Point]) -> int:
    return 0 if ends[0].loss <= ends[1].loss else 1


def _lowest_of_cubic(one: Point, other: Point, least: float, most: float) -> float:
    """Where the polynomial of degree 3 with both points' losses and slopes is lowest, within bounds; else their middle.

    Nocedal & Wright 2006, equation 3.59.
    """
    if one.length > other.length:
        one, other = other, one
    width = other.length - one.length
    if width == 0:
        return min(max(one.length, least), most)
    bend = one.slope + other.slope - 3 * (other.loss - one.loss) / width
    square = bend * bend - one.slope * other.slope
    if not square >= 0:
        return (least + most) / 2
    root = math.sqrt(square)
    under = other.slope - one.slope + 2 * root
    if under == 0:
        return (least + most) / 2
    return min(max(other.length - width * (other.slope + root - bend) / under, least), most)
