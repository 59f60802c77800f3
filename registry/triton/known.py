"""What a kernel does in a launch whose grid and numbers are known, in part or all of them.

    x_ptr  load  [pid0*BLOCK + r0]  where pid0*BLOCK + r0 < n           of any launch
    x_ptr  load  [pid0*1024 + r0]  where pid0*1024 + r0 < 100000        of one with n=100000 and 98 programs

A number that is left open, a size of a trace, is a `Known` leaf: arguments that are made of the same sizes can be
compared with each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from opweave.registry.triton.access import Access, KernelAccesses
from opweave.registry.triton.address import Number
from opweave.registry.triton.masks import Fact
from opweave.registry.triton.polynomial import (
    Argument,
    Counter,
    Leaf,
    Loop,
    Polynomial,
    Program,
    Programs,
    Trips,
    is_natural,
    quotient,
    remainder,
)


def in_launch(
    accesses: KernelAccesses, numbers: Mapping[str, Polynomial], grid: Sequence[int | None]
) -> KernelAccesses:
    """The accesses with what a launch tells put in.

    Parameters
    ----------
    accesses : KernelAccesses
        Of the kernel.
    numbers : mapping of str to Polynomial
        Arguments by name.
    grid : sequence of int or None
        Programs along each axis; None for a number that is not known.
    """
    loops: dict[Loop, Loop] = {}

    def put(leaf: Leaf) -> Polynomial | None:
        if isinstance(leaf, Argument):
            return numbers.get(leaf.name)
        if isinstance(leaf, (Program, Programs)):
            count = grid[leaf.axis] if leaf.axis < len(grid) else 1
            if count is None:
                return None
            return Polynomial.of(count if isinstance(leaf, Programs) else Program(leaf.axis, count))
        if isinstance(leaf, (Counter, Trips)):
            return Polynomial.of(type(leaf)(loop_of(leaf.loop)))
        return None

    def loop_of(loop: Loop) -> Loop:
        found = loops.get(loop)
        if found is None:
            bounds = [p and p.substitute(put) for p in (loop.lower, loop.upper, loop.step)]
            found = loops[loop] = replace(loop, lower=bounds[0], upper=bounds[1], step=bounds[2])
        return found

    def fact_of(fact: Fact) -> Fact:
        return replace(fact, left=fact.left.substitute(put), right=fact.right.substitute(put))

    def access_of(access: Access) -> Access:
        return replace(
            access,
            offset=Number(access.offset.polynomial.substitute(put), access.offset.bits),
            mask=tuple(map(fact_of, access.mask)),
            guards=tuple(map(fact_of, access.guards)),
            loops=tuple(map(loop_of, access.loops)),
        )

    parameters = tuple(replace(p, accesses=tuple(map(access_of, p.accesses))) for p in accesses.parameters)
    return replace(accesses, parameters=parameters)


def follows(claim: Polynomial, facts: Sequence[Fact]) -> bool:
    """Whether a polynomial is known not to be negative where facts hold."""
    return is_natural(claim) or any(is_natural(claim - slack) for fact in facts for slack in _slacks(fact))


def _slacks(fact: Fact) -> list[Polynomial]:
    """What a fact says is not negative."""
    if fact.relation == "<":
        return [fact.right - fact.left - 1]
    if fact.relation == ">=":
        return [fact.left - fact.right]
    return [fact.left - fact.right, fact.right - fact.left] if fact.relation == "==" else []


def digits(
    offset: Polynomial, sizes: Sequence[Polynomial], strides: Sequence[Polynomial], facts: Sequence[Fact]
) -> tuple[Polynomial, ...] | None:
    """The index, along each dimension of a dense tensor, of the element at an offset.

    Parameters
    ----------
    offset : Polynomial
        In elements, of an element of the tensor wherever the facts hold.
    sizes, strides : sequence of Polynomial
        The tensor's, outermost dimension first; a stride is the product of the sizes that follow.
    facts : sequence of Fact
        What holds of the lanes that count.

    Returns
    -------
    tuple of Polynomial or None
        None where the terms of the offset are not all multiples of strides, or may be negative.
    """
    found: list[dict[tuple[Leaf, ...], int]] = [{} for _ in sizes]
    for product, c in offset.terms:
        rest = c
        for place, stride in zip(found, strides, strict=True):
            divided = _divided(product, rest, stride, whole=not product)
            if divided is None:
                continue
            monomial, count, rest = divided
            place[monomial] = place.get(monomial, 0) + count
            if not rest:
                break
        else:
            return None
    result = list(map(Polynomial.sum, found))
    for d in range(len(result) - 1, 0, -1):
        index, size = result[d], sizes[d]
        if not follows(index, facts):
            return None
        if not follows(size - 1 - index, facts):
            # What reaches beyond a dimension counts in the one before it.
            result[d - 1] = result[d - 1] + quotient(index, size, True)
            result[d] = remainder(index, size, True)
    return tuple(result)


def _divided(
    product: tuple[Leaf, ...], c: int, stride: Polynomial, *, whole: bool
) -> tuple[tuple[Leaf, ...], int, int] | None:
    """A term divided by a stride: leaves and coefficient, and what is left; only a plain number leaves something."""
    if len(stride.terms) != 1:
        return None
    ((factors, by),) = stride.terms
    left = list(product)
    for leaf in factors:
        if leaf not in left:
            return None
        left.remove(leaf)
    if whole:
        return ((), *divmod(c, by)) if c >= by and not factors else None
    return (tuple(left), c // by, 0) if c % by == 0 else None
