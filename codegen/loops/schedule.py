"""How a loop nest runs: which axes become lanes of a tile, programs, or loops.

=============== ============================================ ===========================================
nest            tile                                         programs
=============== ============================================ ===========================================
pointwise       blocks of the one merged axis                one a block
 .. broadcast   rows of the innermost axis, several if short one a row or bundle of rows
 .. transpose   a square over the two unit-stride axes       one a square
row reduction   the row whole, or looped over in chunks      one a row or bundle of short rows
column reduction a block of columns, rows looped over        one a block of columns
window          a block of results, the window looped over   one a block of results
running totals  rows or columns whole                        one a bundle of rows or block of columns
few long rows   as above over parts of the row               a second, small kernel combines the parts
scatter         a block of columns, values looped over       one a block of columns
=============== ============================================ ===========================================

Along an axis whose size is not fixed blocks are masked or looped over; how large they are follows the example.

All numbers that depend on the device stand in a `Target`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from opweave.codegen.backends import Target
from opweave.codegen.loops.axes import join_reduced
from opweave.codegen.loops.nest import LoopNest, Store
from opweave.codegen.loops.printing import print_schedule
from opweave.codegen.loops.values import Buffer, Extern, Load, Prim, Read
from opweave.registry.dataclass import dataclass
from opweave.registry.scalar import UNARY_FLOAT
from opweave.tracer.loops.index import Axis, Index
from opweave.tracer.loops.size import Size, ceil_div, divide, hint, product

#: Elements that a block along an axis of no fixed size holds at least.
MANY = 256
#: Elements of an innermost reduced axis below which the reduced axes are joined rather than looped over.
SHORT = 32
#: Additions of float32 that take as long as reading or writing an element, and as a function of it.
_MEMORY, _FUNCTION = 4, 16
#: Functions that the processor has instructions for.
_INSTRUCTIONS = frozenset(("floor", "ceil", "trunc", "round", "sqrt", "rsqrt"))
_FUNCTIONS = frozenset(UNARY_FLOAT) - _INSTRUCTIONS | {"pow", "atan2", "fmod", "philox"}
#: Elements of a program at least, if there are so many.
_LEAST = 1024
#: Elements that become one up to which results that lie side by side are lanes, and so many results at least.
WINDOW, _FEW = 64, 8


Role = Literal["grid", "whole", "loop"]


@dataclass(frozen=True)
class Lane:
    """An axis along a dimension of the tile.

    Attributes
    ----------
    axis : Axis
        What it runs over.
    block : int
        Elements a tile holds, a power of two.
    role : str
        `"grid"` (a program has one block), `"whole"` (the block covers the axis) or `"loop"`.
    name, constant : str
        Of the index vector and of the block size in the source.
    """

    axis: Axis
    block: int
    role: Role
    name: str
    constant: str

    @property
    def partial(self) -> bool:
        """Whether some lanes may lie outside the axis."""
        return divide(self.axis.size, self.block) is None

    @property
    def blocks(self) -> Size:
        """Blocks that cover the axis."""
        return ceil_div(self.axis.size, self.block)


@dataclass(frozen=True)
class Schedule:
    """The choice for one kernel.

    Attributes
    ----------
    lanes : tuple of Lane
        Dimensions of the tile (none, one or two), outermost first.
    scalars : tuple of Axis
        Kept axes of which a program has one point, outermost first.
    loops : tuple of Axis
        Reduced axes that are looped over one by one, outermost first.
    reduced_lane : Lane or None
        The lane that reductions run along.
    lane_accumulators : bool
        See `Target`.
    past : tuple of Store
        What is written past the caches.
    """

    lanes: tuple[Lane, ...]
    scalars: tuple[Axis, ...]
    loops: tuple[Axis, ...]
    reduced_lane: Lane | None
    lane_accumulators: bool
    past: tuple[Store, ...] = ()

    @property
    def digits(self) -> list[tuple[Size, Axis | Lane]]:
        """What a program's number says, outermost first: which point of an axis, and which block of a lane."""
        digits: list[tuple[Size, Axis | Lane]] = [(axis.size, axis) for axis in self.scalars]
        return digits + [(lane.blocks, lane) for lane in self.lanes if lane.role == "grid"]

    @property
    def programs(self) -> Size:
        """How many programs run."""
        return product(size for size, _ in self.digits)

    @property
    def looped(self) -> bool:
        """Whether reductions loop."""
        return bool(self.loops) or (self.reduced_lane is not None and self.reduced_lane.role == "loop")

    def __str__(self) -> str:
        return print_schedule(self)


def choose(nest: LoopNest, target: Target, again: frozenset[Buffer] = frozenset()) -> tuple[LoopNest, Schedule]:
    """How one kernel computes a nest, whose reduced axes may have been joined for it.

    Parameters
    ----------
    nest : LoopNest
        What to compute.
    target : Target
        The device's numbers.
    again : frozenset of Buffer
        Outputs whose memory is an input's.
    """
    nest, schedule = _tiled(nest, target)
    past = tuple(s for s in nest.stores if s.buffer not in again and _goes_past(nest, s, target))
    return nest, replace(schedule, past=past) if past else schedule


def _goes_past(nest: LoopNest, store: Store, target: Target) -> bool:
    """Whether a result fills the caches, so that all that it does there is to make room for itself.

    A processor reads each line that it is to write a part of, which takes a third of the time of what reads and writes
    as much. What is read in place is there already.
    """
    buffer = store.buffer
    if target.past is None or store.more is not None or store.accumulate or buffer in nest.inputs:
        return False
    count = product(buffer.sizes)
    # Of sizes that are not fixed, others may be small.
    return isinstance(count, int) and count * buffer.dtype.itemsize >= target.past


def _tiled(nest: LoopNest, target: Target) -> tuple[LoopNest, Schedule]:
    if not nest.reduced:
        return nest, _pointwise(nest, target)
    if nest.scatters:
        return nest, _scatter(nest, target)
    if nest.scans:
        return _scan(nest, target)
    columns = _columns_axis(nest)
    if columns is not None and hint(columns.size) > 4:
        return nest, _column_reduction(nest, columns, target)
    if _has_windows(nest):
        return _windows(nest, target)
    return _row_reduction(nest, target)


def power_of_two(size: int) -> int:
    return 1 << (size - 1).bit_length()


def _cover(size: Size, floor: int = MANY) -> int:
    """The least power of two that covers a size; for one that is not fixed, the example's and `floor` at least."""
    return power_of_two(size) if isinstance(size, int) else max(power_of_two(hint(size)), floor)


def _covers(block: int, size: Size) -> bool:
    return isinstance(size, int) and block >= size


def _floor_power(size: int) -> int:
    return 1 << (size.bit_length() - 1)


def _lane(axis: Axis, block: int, role: Role, name: str, constant: str) -> Lane:
    return Lane(axis, block, "whole" if role == "grid" and _covers(block, axis.size) else role, name, constant)


def _pointwise(nest: LoopNest, target: Target) -> Schedule:
    axes = nest.kept
    if not axes:
        return Schedule((), (), (), None, False)
    inner, flat = axes[-1], _flat(nest, target)
    if len(axes) == 1:
        lane = _lane(inner, min(flat, _cover(inner.size)), "grid", "i", "BLOCK")
        return Schedule((lane,), (), (), None, False)
    other = _transposed(nest, inner)
    if other is not None:
        high, wide = target.square
        lanes = (
            _lane(other, min(high, _cover(other.size)), "grid", "r", "ROWS"),
            _lane(inner, min(wide, _cover(inner.size)), "grid", "c", "COLS"),
        )
    else:
        wide = min(flat, _cover(inner.size))
        lane = _lane(inner, wide, "grid", "c", "COLS")
        outer = axes[-2]
        high = min(_floor_power(max(flat // wide, 1)), _cover(outer.size, 4))
        lanes = (_lane(outer, high, "grid", "r", "ROWS"), lane) if high > 1 else (lane,)
    used = [lane.axis for lane in lanes]
    return Schedule(lanes, tuple(a for a in axes if a not in used), (), None, False)


def _flat(nest: LoopNest, target: Target) -> int:
    """Elements of a pointwise program: fewer where each takes long, so that small results keep cores busy."""
    each = _MEMORY * len(nest.stores)
    for value in nest.values():
        match value:
            case Read():
                each += _MEMORY
            case Prim() | Extern():
                dear = isinstance(value, Extern) or value.name in _FUNCTIONS
                each += (_FUNCTION if dear else 1) * max(value.dtype.itemsize // 4, 1)
            case _:
                pass
    return min(target.flat, max(_floor_power(target.work // max(each, 1)), _LEAST))


def _transposed(nest: LoopNest, inner: Axis) -> Axis | None:
    """An axis other than the stores' innermost along which some load is contiguous."""
    for offset in _load_offsets(nest):
        for axis in nest.kept:
            if (
                axis is not inner
                and hint(axis.size) > 2
                and offset.stride(axis) == 1
                and hint(offset.stride(inner) or 0) > 1
            ):
                return axis
    return None


def _load_offsets(nest: LoopNest) -> list[Index]:
    loads = [value for value in nest.values() if isinstance(value, Load)]
    loads.sort(key=lambda load: -hint(product(axis.size for axis in load.axes)))
    return [load.offset for load in loads]


def _columns_axis(nest: LoopNest) -> Axis | None:
    """The kept axis along which the largest load is contiguous, None for a row reduction."""
    reduced = frozenset(nest.reduced)
    for offset in _load_offsets(nest):
        if not offset.axes() & reduced:
            continue
        for axis in nest.reduced:
            if offset.stride(axis) == 1:
                return None
        for axis in nest.kept:
            if offset.stride(axis) == 1:
                return axis
        return None
    return None


def _has_windows(nest: LoopNest) -> bool:
    """Whether few elements that do not lie side by side become one, as those that a pooling window shows."""
    count = product(axis.size for axis in nest.reduced)
    if not isinstance(count, int) or count > WINDOW or not nest.kept or hint(nest.kept[-1].size) < _FEW:
        return False
    inner = nest.reduced[-1]
    return all(value.offset.stride(inner) != 1 for value in nest.values() if isinstance(value, Read))


def _windows(nest: LoopNest, target: Target) -> tuple[LoopNest, Schedule]:
    """Neighbouring results in lanes, and a loop over what becomes one of them."""
    nest = join_reduced(nest)
    row = Lane(nest.reduced[0], 1, "loop", "r", "ROWS")
    columns = nest.kept[-1]
    lanes = (row, _lane(columns, min(target.bundle, _cover(columns.size)), "grid", "c", "COLS"))
    return nest, Schedule(lanes, nest.kept[:-1], (), row, target.lane_accumulators)


def _row_reduction(nest: LoopNest, target: Target) -> tuple[LoopNest, Schedule]:
    count = product(axis.size for axis in nest.reduced)
    loops: tuple[Axis, ...] = ()
    axis = nest.reduced[-1]
    short = len(nest.reduced) == 1 or hint(axis.size) < SHORT
    if isinstance(count, int) and count <= target.whole_row and short:
        nest = join_reduced(nest)
        row = Lane(nest.reduced[0], power_of_two(count), "whole", "c", "COLS")
    else:
        # Several axes that do not merge: the inner one in lanes, the outer ones in loops, without division of indices.
        loops = nest.reduced[:-1]
        block = min(target.chunk, _cover(axis.size))
        row = Lane(axis, block, "whole" if _covers(block, axis.size) else "loop", "c", "COLS")
    high = _floor_power(max(target.bundle // row.block, 1))
    lanes: tuple[Lane, ...] = (row,)
    if high > 1 and nest.kept and not loops:
        outer = nest.kept[-1]
        high = min(high, _cover(outer.size, 4))
        if high > 1:
            lanes = (_lane(outer, high, "grid", "r", "ROWS"), row)
    used = [lane.axis for lane in lanes]
    scalars = tuple(axis for axis in nest.kept if axis not in used)
    return nest, Schedule(lanes, scalars, loops, row, target.lane_accumulators)


def _column_reduction(nest: LoopNest, columns: Axis, target: Target) -> Schedule:
    axis = nest.reduced[-1]
    wide = min(target.columns, _cover(columns.size))
    high = min(target.column_rows * max(target.columns // wide, 1), _cover(axis.size, 8))
    size = axis.size
    if len(nest.reduced) == 1 and isinstance(size, int) and (high >= size or size * wide <= target.bundle):
        row = Lane(axis, power_of_two(size), "whole", "r", "ROWS")
    else:
        row = Lane(axis, high, "loop", "r", "ROWS")
    lanes = (row, _lane(columns, wide, "grid", "c", "COLS"))
    scalars = tuple(a for a in nest.kept if a is not columns)
    return Schedule(lanes, scalars, nest.reduced[:-1], row, target.lane_accumulators)


def _scan(nest: LoopNest, target: Target) -> tuple[LoopNest, Schedule]:
    """Programs that hold rows, or columns, whole."""
    nest = join_reduced(nest)
    axis = nest.reduced[-1]
    columns = _columns_axis(nest)
    if columns is None or hint(columns.size) <= 4:
        return _row_reduction(nest, target)
    assert isinstance(axis.size, int)
    row = Lane(axis, power_of_two(axis.size), "whole", "r", "ROWS")
    wide = min(_floor_power(max(target.whole_row // row.block, 1)), _cover(columns.size))
    lanes = (row, _lane(columns, wide, "grid", "c", "COLS"))
    return nest, Schedule(lanes, tuple(a for a in nest.kept if a is not columns), (), row, target.lane_accumulators)


def _scatter(nest: LoopNest, target: Target) -> Schedule:
    """Programs that share no place; each runs through the values in order, since places may repeat."""
    loops = nest.reduced
    if not nest.kept or any(offset.stride(loops[-1]) == 1 for offset in _load_offsets(nest)[:1]):
        # The values lie along the loop.
        return Schedule((), nest.kept, loops, None, False)
    inner = nest.kept[-1]
    lane = _lane(inner, min(target.columns, _cover(inner.size)), "grid", "c", "COLS")
    return Schedule((lane,), nest.kept[:-1], loops, None, False)
