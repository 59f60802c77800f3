"""What becomes of a nest's axes: merged where no index tells two apart, split where an index needs a part, ordered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from opweave.codegen.loops.nest import LoopNest, rewrite
from opweave.codegen.loops.values import Read
from opweave.tracer.loops.index import Axis, Digit, Index, linearize, row_major
from opweave.tracer.loops.size import Size, divide, hint, product

#: Axes are split at most so often: one that an index takes apart without end stays as it is.
_SPLITS = 16


# ---- merge ---------------------------------------------------------------------------------------------------------


def merge(nest: LoopNest) -> LoopNest:
    """Join axes that every index has side by side."""
    while True:
        pair = _find_merge(nest)
        if pair is None:
            return nest
        nest = _merge(nest, *pair)


def _find_merge(nest: LoopNest) -> tuple[Axis, Axis] | None:
    indices = nest.indices()
    for axes in (nest.kept, nest.reduced):
        for outer in axes:
            for inner in axes:
                if outer is not inner and all(_mergeable(index, outer, inner) for index in indices):
                    return outer, inner
    return None


def _mergeable(index: Index, outer: Axis, inner: Axis) -> bool:
    if index.terms.get(outer, 0) != inner.size * index.terms.get(inner, 0):
        return False
    return all(_mergeable(atom.base, outer, inner) for atom in index.terms if isinstance(atom, Digit))


def _merge(nest: LoopNest, outer: Axis, inner: Axis) -> LoopNest:
    merged = Axis(outer.name, outer.size * inner.size)

    def without(axes: Sequence[Axis]) -> list[Axis]:
        return [merged if axis is inner else axis for axis in axes if axis is not outer]

    # outer * s + inner is the merged axis wherever the two stand together, which is everywhere.
    mapping = {outer: Index(None, 0), inner: Index.of(merged)}
    return rewrite(nest, mapping, without(nest.kept), without(nest.reduced))


# ---- split ---------------------------------------------------------------------------------------------------------


def split(nest: LoopNest) -> LoopNest:
    """Make digits of axes that indices need axes of their own."""
    for _ in range(_SPLITS):
        found = _find_split(nest)
        if found is None:
            break
        axis, inner_size = found
        outer_size = divide(axis.size, inner_size)
        assert outer_size is not None
        outer, inner = Axis(axis.name + "o", outer_size), Axis(axis.name + "i", inner_size)
        nest = substitute(nest, {axis: (outer, inner)})
    return nest


def _find_split(nest: LoopNest) -> tuple[Axis, Size] | None:
    for index in nest.indices():
        for digit in index.digits():
            for point in (digit.divisor, digit.divisor * (1 if digit.modulus is None else digit.modulus)):
                found = _split_at(digit, point)
                if found is not None:
                    return found
    return None


def _split_at(digit: Digit, point: Size) -> tuple[Axis, Size] | None:
    for atom, coefficient in digit.base.terms.items():
        if isinstance(atom, Axis) and hint(coefficient) > 0:
            inner = divide(point, coefficient)
            if inner is not None and inner != 1 and divide(atom.size, inner) not in (None, 1):
                return atom, inner
    return None


def substitute(nest: LoopNest, parts: Mapping[Axis, tuple[Axis, ...]]) -> LoopNest:
    """Replace axes by several, outermost first."""
    mapping: dict[Axis, Index] = {}
    for axis, pieces in parts.items():
        strides = row_major([p.size for p in pieces])
        mapping[axis] = linearize([Index.of(p) for p in pieces], strides)
    kept = [p for axis in nest.kept for p in parts.get(axis, (axis,)) if p.size != 1]
    reduced = [p for axis in nest.reduced for p in parts.get(axis, (axis,)) if p.size != 1]
    return rewrite(nest, mapping, kept, reduced)


# ---- join and order ------------------------------------------------------------------------------------------------


def join_reduced(nest: LoopNest) -> LoopNest:
    """One reduced axis in place of several, which become its digits."""
    if len(nest.reduced) < 2:
        return nest
    sizes = [axis.size for axis in nest.reduced]
    flat = Axis("r", product(sizes))
    mapping: dict[Axis, Index] = {}
    for axis, step in zip(nest.reduced, row_major(sizes), strict=True):
        mapping[axis] = (Index.of(flat) // step) % axis.size
    return rewrite(nest, mapping, nest.kept, [flat])


def order(nest: LoopNest) -> LoopNest:
    """Put loops in the order of memory; that of the reduced ones stays where it is what they mean."""
    ordered = nest.scatters or nest.scans
    reduced = nest.reduced if ordered else _by_stride(nest, nest.reduced)
    return replace(nest, kept=_by_stride(nest, nest.kept), reduced=reduced)


def _by_stride(nest: LoopNest, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Outermost first: by the strides of the stores, then of the loads."""
    offsets = [store.offset for store in nest.stores]
    offsets += [value.offset for value in nest.values() if isinstance(value, Read)]

    def weight(axis: Axis) -> int:
        strides = [offset.stride(axis) for offset in offsets]
        return next((-abs(hint(stride)) for stride in strides if stride), 0)

    return tuple(sorted(axes, key=weight))
