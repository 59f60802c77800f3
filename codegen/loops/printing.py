"""Loop nests and schedules as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from opweave.codegen.loops.values import (
    Best,
    Buffer,
    Const,
    Extern,
    Gather,
    Load,
    Number,
    Position,
    Prim,
    Reduce,
    Require,
    Scan,
    Value,
)
from opweave.registry.errors import Site
from opweave.tracer.loops.index import Axis, row_major

if TYPE_CHECKING:
    from opweave.codegen.loops.nest import LoopNest, Store
    from opweave.codegen.loops.schedule import Schedule

_COMMENT_COLUMN = 72


def print_nest(nest: LoopNest) -> str:
    """The text of a nest: parameters, loops, a line for each value that is computed, stores."""
    names = names_of(nest)
    lines = [", ".join(nest.names)]
    lines += [f"  read {_buffer(buffer)}" for buffer in nest.inputs]
    lines += [f"  write {_buffer(buffer)}" for buffer in nest.outputs]
    reduced = f"{'in order' if nest.scatters else 'scan' if nest.scans else 'reduce'} {_axes(nest.reduced)}"
    loops = [f"for {_axes(nest.kept)}"] if nest.kept else []
    loops += [reduced] if nest.reduced else []
    lines.append(f"  {', '.join(loops) or 'once'}:")
    for value, name in names.items():
        text = f"    {name}: {value.dtype.short} = {_text(value, names)}"
        lines.append(_noted(text, value.label, value.site))
    for store in nest.stores:
        lines.append(_noted(f"    {_store(store, names)}", store.label, store.site))
    return "\n".join(lines)


def names_of(nest: LoopNest) -> dict[Value, str]:
    """What values are called in the text; those that are written where they are used have no name."""
    named = [value for value in nest.values() if not isinstance(value, (Const, Number, Position))]
    return {value: f"t{i}" for i, value in enumerate(named)}


def describe(value: Value, names: Mapping[Value, str]) -> str:
    """A value as one line, as in the text of its nest."""
    name = names.get(value)
    return f"{name}: {value.dtype.short} = {_text(value, names)}" if name else _text(value, names)


def _noted(text: str, label: str, site: Site | None) -> str:
    place = f"  {site.short}" if site is not None else ""
    return f"{text:<{_COMMENT_COLUMN}}  # {label}{place}" if label else text


def _buffer(buffer: Buffer) -> str:
    text = f"{buffer.name}: {buffer.dtype.short}{list(buffer.sizes)}"
    dense = list(buffer.strides) == row_major(buffer.sizes)
    return text if dense else f"{text} strides {list(buffer.strides)}"


def _axes(axes: Iterable[Axis]) -> str:
    return ", ".join(f"{axis.name} < {axis.size}" for axis in axes)


def _operand(value: Value, names: Mapping[Value, str]) -> str:
    return names.get(value) or _text(value, names)


def _text(value: Value, names: Mapping[Value, str]) -> str:
    args = [_operand(arg, names) for arg in value.args]
    match value:
        case Const():
            return repr(value.value)
        case Number():
            return repr(value.size)
        case Position():
            return f"({value.index!r})"
        case Load():
            return f"load {value.buffer.name}[{value.offset!r}]{f' if {args[0]}' if args else ''}"
        case Gather():
            return f"gather {value.buffer.name}[{value.offset!r} + {args[0]}] if {args[1]}"
        case Require():
            return f"{args[0]} require {args[1]}: {value.message}"
        case Reduce():
            return f"{value.combine}({', '.join(args)})"
        case Best():
            return f"best({args[0]})"
        case Scan():
            return f"running {value.combine}({args[0]}){' backwards' if value.backwards else ''}"
        case Extern():
            return f"libdevice.{value.name}({', '.join(args)})"
        case Prim():
            return f"{value.name}({', '.join(args)})"
        case _:
            return f"{type(value).__name__}({', '.join(args)})"


def _store(store: Store, names: Mapping[Value, str]) -> str:
    place, guard = repr(store.offset), ""
    if store.more is not None and store.inside is not None:
        place, guard = f"{place} + {_operand(store.more, names)}", f" if {_operand(store.inside, names)}"
    sign = "+=" if store.accumulate else "="
    return f"{store.buffer.name}[{place}] {sign} {_operand(store.value, names)}{guard}"


def print_schedule(schedule: Schedule) -> str:
    """The text of a schedule, in one line."""
    lanes: Sequence[str] = [
        f"{lane.constant} {lane.block} of {lane.axis.name} ({lane.role})" for lane in schedule.lanes
    ]
    parts = [f"tile {' x '.join(lanes)}" if lanes else "no tile", f"{schedule.programs!r} programs"]
    parts += [f"a program has one {_axes(schedule.scalars)}"] if schedule.scalars else []
    parts += [f"loops {_axes(schedule.loops)}"] if schedule.loops else []
    parts += ["accumulates in lanes"] if schedule.looped and schedule.lane_accumulators else []
    parts += [f"{', '.join(store.buffer.name for store in schedule.past)} past the caches"] if schedule.past else []
    return "; ".join(parts)
