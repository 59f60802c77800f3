"""Merge: kernels that read the same memory become one, if none waits for the other by way of another step.

    kernel_0: mean, var of x;  kernel_1: amax, amin of x   become   one kernel, which reads x once
    kernel_0: t = x * y, t + 1;  kernel_1: t - y           become   one kernel, which has t at hand

Groups grow from their results against the data flow (`passes.fuse`), so two that meet in what they read have been made
apart. Here, when all are there, those that lie near each other are tried in one iteration space. Where one reads what
the other makes, all has to be pointwise, each value needed once for an element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from opweave.registry.interrupts import let_through
from opweave.registry.tensor import Tensor
from opweave.tracer.declared import kind_of
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
                first.results = _needed(first, groups)
                break
        else:
            i += 1


def _common(
    first: G, other: G, order: Mapping[Node, int], reach: Mapping[int, int], objection: Objection[G]
) -> IterationSpace | None:
    """The space of two groups as one; None where they stay apart."""
    handed = (first.reads & set(other.results)) | (other.reads & set(first.results))
    shared = _bytes(first.reads & other.reads) + _bytes(handed)
    if not shared or shared * SHARED < min(_bytes([*g.reads, *g.results]) for g in (first, other)):
        return None
    if first.space.scatters or other.space.scatters:
        return None
    after, before = reach[first.number] >> other.number & 1, reach[other.number] >> first.number & 1
    if (after and _is_apart(first, other, reach)) or (before and _is_apart(other, first, reach)):
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
    if (after or before) and not all(_is_once(node, space) for node in handed):
        return None
    return None if objection(first, other, space) else space


def _is_once(node: Node, space: IterationSpace) -> bool:
    """Whether a space needs each element of a node at one place alone."""
    demands = space.demands.get(node, ())
    return len(demands) == 1 and space.covers(node, demands[0])


def _is_apart(first: Group, other: Group, reach: Mapping[int, int]) -> bool:
    """Whether what reads a group's results waits for another step too, or is not computed with them."""
    rest = reach[first.number] & ~(1 << other.number)
    while rest:
        low = rest & -rest
        if reach[low.bit_length() - 1] >> other.number & 1:
            return True
        rest ^= low
    if len({numel_of(node) for node in (*first.results, *other.results)}) > 1:
        return True
    kinds = [kind_of(node) for node in (*first.members, *other.members)]
    return not all(kind is not None and (kind.elementwise or kind.is_layout) for kind in kinds)


def _needed(group: Group, groups: Sequence[Group]) -> list[Node]:
    """A group's results that are read outside of it."""
    inside = set(group.members)
    others = {node for other in groups if other is not group for node in other.members}
    return [node for node in group.results if any(user not in inside or user in others for user in node.users)]


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
