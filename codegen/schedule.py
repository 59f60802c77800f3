"""How a loop nest runs: which axes become lanes of a tile, programs, or loops.

=============== ============================================ ===========================================
nest            tile                                         programs
=============== ============================================ ===========================================
pointwise       blocks of the one merged axis                one a block
 .. broadcast   rows of the innermost axis, several if short one a row or bundle of rows
 .. transpose   a square over the two unit-stride axes       one a square
row reduction   the row whole, or looped over in chunks      one a row or bundle of short rows
column reduction a block of columns, rows looped over        one a block of columns
running totals  rows or columns whole                        one a bundle of rows or block of columns
few long rows   as above over parts of the row               a second, small kernel combines the parts
scatter         a block of columns, values looped over       one a block of columns
=============== ============================================ ===========================================

Along an axis whose size is not fixed blocks are masked or looped over; how large they are follows the example.

All numbers that depend on the device stand in a `Target`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from opweave.codegen.backends import Target
from opweave.codegen.loopnest import LoopNest, Store, rewrite, substitute
from opweave.codegen.values import Buffer, Value, Values, load_parts
from opweave.tracer.index import Axis, Index, linearize, row_major
from opweave.tracer.size import INT32_OFFSETS, Size, ceil_div, divide, hint, product

#: Elements that a block along an axis of no fixed size holds at least.
MANY = 256
#: Elements of an innermost reduced axis below which the reduced axes are joined rather than looped over.
SHORT = 32


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
    role: str
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
    """

    lanes: tuple[Lane, ...]
    scalars: tuple[Axis, ...]
    loops: tuple[Axis, ...]
    reduced_lane: Lane | None
    lane_accumulators: bool

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


def plan(nest: LoopNest, target: Target) -> list[tuple[LoopNest, Schedule]]:
    """Kernels, in order, that compute a nest.

    Parameters
    ----------
    nest : LoopNest
        What to compute.
    target : Target
        The device's numbers.

    Returns
    -------
    list of (LoopNest, Schedule)
        One kernel, or two where a long reduction is split over programs; then the first one's outputs are inputs of the
        second.
    """
    if not nest.reduced:
        return [(nest, _pointwise(nest, target))]
    if nest.scatters:
        return [(nest, _scatter(nest, target))]
    if nest.scans:
        return [_scan(nest, target)]
    whole, schedule = _reduction(nest, target)
    parts = _parts(nest, schedule, target)
    if parts is not None:
        first, second = _split(nest, *parts)
        return [_reduction(first, target), _reduction(second, target)]
    return [(whole, schedule)]


def power_of_two(size: int) -> int:
    return 1 << (size - 1).bit_length()


def _cover(size: Size, floor: int = MANY) -> int:
    """The least power of two that covers a size; for one that is not fixed, the example's and `floor` at least."""
    return power_of_two(size) if isinstance(size, int) else max(power_of_two(hint(size)), floor)


def _covers(block: int, size: Size) -> bool:
    return isinstance(size, int) and block >= size


def _floor_power(size: int) -> int:
    return 1 << (size.bit_length() - 1)


def _lane(axis: Axis, block: int, role: str, name: str, constant: str) -> Lane:
    return Lane(axis, block, "whole" if role == "grid" and _covers(block, axis.size) else role, name, constant)


def _pointwise(nest: LoopNest, target: Target) -> Schedule:
    axes = nest.kept
    if not axes:
        return Schedule((), (), (), None, False)
    inner = axes[-1]
    if len(axes) == 1:
        lane = _lane(inner, min(target.flat, _cover(inner.size)), "grid", "i", "BLOCK")
        return Schedule((lane,), (), (), None, False)
    other = _transposed(nest, inner)
    if other is not None:
        high, wide = target.square
        lanes = (
            _lane(other, min(high, _cover(other.size)), "grid", "r", "ROWS"),
            _lane(inner, min(wide, _cover(inner.size)), "grid", "c", "COLS"),
        )
    else:
        wide = min(target.flat, _cover(inner.size))
        lane = _lane(inner, wide, "grid", "c", "COLS")
        outer = axes[-2]
        high = min(_floor_power(max(target.flat // wide, 1)), _cover(outer.size, 4))
        lanes = (_lane(outer, high, "grid", "r", "ROWS"), lane) if high > 1 else (lane,)
    used = [lane.axis for lane in lanes]
    return Schedule(lanes, tuple(a for a in axes if a not in used), (), None, False)


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
    loads = [value for value in nest.values() if value.op == "load"]
    loads.sort(key=lambda value: -hint(product(axis.size for axis in value.axes)))
    return [load_parts(value)[1] for value in loads]


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


def _reduction(nest: LoopNest, target: Target) -> tuple[LoopNest, Schedule]:
    if not nest.reduced:
        return nest, _pointwise(nest, target)
    columns = _columns_axis(nest)
    if columns is not None and hint(columns.size) > 4:
        return nest, _column_reduction(nest, columns, target)
    return _row_reduction(nest, target)


def _row_reduction(nest: LoopNest, target: Target) -> tuple[LoopNest, Schedule]:
    count = product(axis.size for axis in nest.reduced)
    loops: tuple[Axis, ...] = ()
    axis = nest.reduced[-1]
    short = len(nest.reduced) == 1 or hint(axis.size) < SHORT
    if isinstance(count, int) and count <= target.whole_row and short:
        if len(nest.reduced) > 1:
            nest = _flatten_reduced(nest)
        row = Lane(nest.reduced[0], power_of_two(count), "whole", "c", "COLS")
    else:
        # Several axes that do not merge: the inner one in lanes, the outer ones in loops, without division of indices.
        loops = tuple(nest.reduced[:-1])
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
    return Schedule(lanes, scalars, tuple(nest.reduced[:-1]), row, target.lane_accumulators)


def _scan(nest: LoopNest, target: Target) -> tuple[LoopNest, Schedule]:
    """Programs that hold rows, or columns, whole."""
    if len(nest.reduced) > 1:
        nest = _flatten_reduced(nest)
    (axis,) = nest.reduced
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
    loops = tuple(nest.reduced)
    if not nest.kept or any(offset.stride(loops[-1]) == 1 for offset in _load_offsets(nest)[:1]):
        # The values lie along the loop.
        return Schedule((), tuple(nest.kept), loops, None, False)
    inner = nest.kept[-1]
    lane = _lane(inner, min(target.columns, _cover(inner.size)), "grid", "c", "COLS")
    return Schedule((lane,), tuple(nest.kept[:-1]), loops, None, False)


def _flatten_reduced(nest: LoopNest) -> LoopNest:
    """One reduced axis in place of several, which become its digits."""
    sizes = [axis.size for axis in nest.reduced]
    flat = Axis("r", product(sizes))
    mapping: dict[Axis, Index] = {}
    for axis, step in zip(nest.reduced, row_major(sizes), strict=True):
        mapping[axis] = (Index.of(flat) // step) % axis.size
    return rewrite(nest, mapping, nest.kept, [flat])


# ---- splitting a long reduction ------------------------------------------------------------------------------------


def _parts(nest: LoopNest, schedule: Schedule, target: Target) -> tuple[Axis, int] | None:
    """The reduced axis to split and into how many parts, None where one kernel does well."""
    count = hint(product(axis.size for axis in nest.reduced))
    total = count * hint(product(axis.size for axis in nest.kept))
    programs = hint(schedule.programs)
    if programs >= target.programs or total < target.split_at or count < 64:
        return None
    if any(value.depth > 1 for value in nest.values()):
        return None
    # Of a constant, only the places depend on the axes.
    if any((store.value.axes | store.axes) & frozenset(nest.reduced) for store in nest.stores):
        return None
    axis = nest.reduced[0]
    wanted = min(-(-target.programs // programs), max(total * 4 // target.split_at, 2))
    most = min(wanted * 2, hint(axis.size))
    divisors = [d for d in range(2, most + 1) if divide(axis.size, d) not in (None, 1)]
    if not divisors:
        return None
    return axis, min(divisors, key=lambda d: abs(d - wanted))


def _split(nest: LoopNest, axis: Axis, parts: int) -> tuple[LoopNest, LoopNest]:
    """A nest that reduces parts of an axis into workspaces, and one that combines them and does what follows."""
    length = divide(axis.size, parts)
    assert length is not None
    part, rest = Axis("part", parts), Axis(axis.name, length)
    halved = substitute(nest, {axis: (part, rest)})
    halved.reduced.remove(part)
    first_values, second_values = Values(), Values()
    kept = [part, *halved.kept]
    strides = tuple(row_major([a.size for a in kept]))
    offset = linearize([Index.of(a) for a in kept], strides)
    reduced = list(halved.reduced)
    known: dict[Value, Value] = {}
    combined: dict[Value, Value] = {}
    workspaces: list[Buffer] = []
    stores: list[Store] = []

    def keep(value: Value, like: Value) -> Value:
        buffer = Buffer(f"part{len(workspaces)}", value.dtype, tuple(a.size for a in kept), strides)
        workspaces.append(buffer)
        stores.append(Store(buffer, offset, value, like.label, like.site))
        return second_values.load(buffer, offset)

    for value in halved.values():
        for values in (first_values, second_values):
            values.label, values.site = value.label, value.site
        if value.depth == 0:
            args = tuple(known[arg] for arg in value.args)
            known[value] = first_values.make(value.op, args, value.dtype, value.detail)
            if not value.axes & frozenset([*reduced, part]):
                args = tuple(combined[arg] for arg in value.args)
                combined[value] = second_values.make(value.op, args, value.dtype, value.detail)
        elif value.op == "reduce":
            own = first_values.reduce(str(value.detail), tuple(known[a] for a in value.args), value.dtype, reduced)
            if len(value.args) == 2:
                best = first_values.make("best", (own,), value.args[0].dtype)
                operands = (keep(best, value), keep(own, value))
            else:
                operands = (keep(own, value),)
            combined[value] = second_values.reduce(str(value.detail), operands, value.dtype, [part])
        else:
            args = tuple(combined[arg] for arg in value.args)
            combined[value] = second_values.make(value.op, args, value.dtype, value.detail)
    first = LoopNest([*nest.names, "parts"], kept, reduced, _used(nest.inputs, stores), workspaces, stores, nest.wide)
    final = [replace(store, value=combined[store.value]) for store in halved.stores]
    inputs = workspaces + _used(nest.inputs, final)
    second = LoopNest(nest.names, halved.kept, [part], inputs, nest.outputs, final, nest.wide)
    return first, second


def _used(inputs: Sequence[Buffer], stores: Sequence[Store]) -> list[Buffer]:
    probe = LoopNest([], [], [], [], [], list(stores))
    read = {load_parts(value)[0] for value in probe.values() if value.op in ("load", "gather")}
    return [buffer for buffer in inputs if buffer in read]


def needs_int64(nest: LoopNest) -> bool:
    """Whether offsets do not fit in 32 bits."""
    if nest.wide:
        return True
    found = nest.indices()
    found += [value.detail for value in nest.values() if value.op == "index" and isinstance(value.detail, Index)]
    return any(max(abs(hint(bound)) for bound in index.bounds()) >= INT32_OFFSETS for index in found)
