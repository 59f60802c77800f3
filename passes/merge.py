"""Merge: kernels that read the same memory, and do not need each other, become one.

    kernel_0: mean, var of x;  kernel_1: amax, amin of x   become   one kernel, which reads x once

Groups grow from their results against the data flow (`passes.fuse`), so two that meet in what they read have been made
apart. Here, when all are there, those that lie near each other are tried in one iteration space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from opweave.registry.interrupts import let_through
from opweave.registry.tensor import Tensor
from opweave.tracer.graph import Node
from opweave.tracer.loops.iteration import IterationSpace, numel_of, reads_memory, space_of

#: Groups behind one that are tried with it: what is far apart would be kept in memory for longer.
NEAR = 8
#: Of the memory that the smaller of two kernels reads and writes, the part (one in so many) that both read.
SHARED = 4


class Group(Protocol):
    """What becomes a kernel (`passes.fuse`)."""

    number: int
    space: IterationSpace
    members: list[Node]
    results: list[Node]
    reads: set[Node]


G = TypeVar("G", bound=Group)
#: Why two groups are better apart than in a space that has room for both; empty where they are not.
Objection = Callable[[G, G, IterationSpace], str]


def merge(groups: list[G], order: Mapping[Node, int], reach: dict[int, int], objection: Objection[G]) -> None:
    """Merge what can be, where it pays.

    Parameters
    ----------
    groups : list of Group
        Changed in place; of two that are one, the one that is behind in the list is gone.
    order : mapping of Node to int
        The program's order.
    reach : dict of int to int
        For each step's number the bits of those that it leads to; kept true.
    objection : callable
        Why two groups are better apart.
    """
    i = 0
    while i < len(groups):
        first = groups[i]
        for other in groups[i + 1 : i + 1 + NEAR]:
            space = _common(first, other, order, reach, objection)
            if space is not None:
                _join(first, other, space, order, reach)
                groups.remove(other)
                break
        else:
            i += 1


def _common(
    first: G, other: G, order: Mapping[Node, int], reach: Mapping[int, int], objection: Objection[G]
) -> IterationSpace | None:
    """The space of two groups as one; None where they stay apart."""
    shared = _bytes(first.reads & other.reads)
    if not shared or shared * SHARED < min(_bytes([*g.reads, *g.results]) for g in (first, other)):
        return None
    if first.space.scatters or other.space.scatters:
        return None
    if reach[first.number] >> other.number & 1 or reach[other.number] >> first.number & 1:
        return None
    members = _ordered([*first.members, *other.members], order)
    inside = set(members)
    if any(reads_memory(user, operand) for user in members for operand in user.all_input_nodes if operand in inside):
        return None
    try:
        space = space_of(members, {*first.results, *other.results})
    except ValueError as error:
        let_through(error)
        return None
    return None if objection(first, other, space) else space


def _join(first: Group, other: Group, space: IterationSpace, order: Mapping[Node, int], reach: dict[int, int]) -> None:
    both = 1 << first.number | 1 << other.number
    leads_to = reach[first.number] | reach[other.number]
    reach[first.number] = reach[other.number] = leads_to
    for number, bits in reach.items():
        if bits & both:
            reach[number] = bits | both | leads_to
    first.space = space
    first.members = _ordered([*first.members, *other.members], order)
    first.results += other.results
    first.reads = (first.reads | other.reads) - set(first.members)


def _ordered(nodes: Sequence[Node], order: Mapping[Node, int]) -> list[Node]:
    return sorted(dict.fromkeys(nodes), key=order.__getitem__)


def _bytes(nodes: Sequence[Node] | set[Node]) -> int:
    tensors = [node for node in nodes if isinstance(node.meta.get("val"), Tensor)]
    return sum(numel_of(node) * node.meta["val"]._dtype.itemsize for node in tensors)
