"""What a change of a block's shape does to polynomials about it: their leaves run along other dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opweave.registry.triton.polynomial import Leaf, Opaque, Polynomial, Range, quotient, remainder
from opweave.registry.triton.ttir import Op


def reordered(p: Polynomial, places: Sequence[int]) -> Polynomial:
    """With dimension `d` at place `places[d]`."""

    def moved(leaf: Leaf) -> Polynomial | None:
        if isinstance(leaf, Range):
            return Polynomial.of(replace(leaf, dim=places[leaf.dim]))
        if isinstance(leaf, Opaque):
            return Polynomial.of(replace(leaf, along=tuple(places[d] for d in leaf.along)))
        return None

    return p.substitute(moved)


def reshaped(p: Polynomial, old: Sequence[int], new: Sequence[int]) -> Polynomial | None:
    """After a reshape that keeps the elements in order; None if an opaque value would have to be cut or joined."""
    index = _old_indices(old, new)

    class Cut(Exception):
        pass

    def place(own: int, dim: int) -> int:
        """Where an opaque value's dimension, of size `own`, runs along now."""
        leaf = index[dim].single
        if own == 1:
            return min(dim, len(new) - 1) if len(new) else 0
        if not isinstance(leaf, Range) or leaf.extent != own:
            raise Cut
        return leaf.dim

    def moved(leaf: Leaf) -> Polynomial | None:
        if isinstance(leaf, Range):
            return index[leaf.dim]
        if isinstance(leaf, Opaque):
            sizes = leaf.value.type.dims
            return Polynomial.of(
                replace(leaf, along=tuple(place(n, d) for n, d in zip(sizes, leaf.along, strict=True)))
            )
        return None

    try:
        return p.substitute(moved)
    except Cut:
        return None


def _old_indices(old: Sequence[int], new: Sequence[int]) -> list[Polynomial]:
    """Along each old dimension the index, of the element at an index of the new ones."""
    found: list[Polynomial] = []
    i = j = 0
    while i < len(old):
        olds, news = [i], []
        i, size, have = i + 1, old[i], 1
        while have != size:  # the least runs of dimensions with as many elements
            if have < size:
                news.append(j)
                have, j = have * new[j], j + 1
            else:
                olds.append(i)
                size, i = size * old[i], i + 1
        flat = Polynomial()
        for d in news:
            flat = flat * new[d] + along(d, new[d])
        stride = size
        for d in olds:
            stride //= old[d]
            place = quotient(flat, Polynomial.of(stride), True)
            found.append(remainder(place, Polynomial.of(old[d]), True))
    return found


def along(dim: int, extent: int) -> Polynomial:
    """The index along a dimension."""
    return Polynomial.of(Range(dim, extent)) if extent > 1 else Polynomial()


def through_view(op: Op, p: Polynomial) -> Polynomial | None:
    """A polynomial about a view's operand as one about its result; None if it has none."""
    source, result = op.operands[0].type, op.result.type
    if op.name in ("tt.splat", "tt.broadcast"):
        return p
    if op.name == "tt.expand_dims":
        axis = op.int_attr("axis")
        return reordered(p, [d + (d >= axis) for d in range(len(source.dims))])
    if op.name == "tt.trans":
        order = op.array_attr("order")
        return reordered(p, [order.index(d) for d in range(len(order))])
    if op.name == "tt.reshape" and "allow_reorder" not in op.attrs:
        return reshaped(p, source.dims, result.dims)
    return None


VIEWS = frozenset({"tt.splat", "tt.broadcast", "tt.expand_dims", "tt.trans", "tt.reshape"})
"""What `through_view` knows."""
