"""A long reduction as two kernels: one reduces parts of an axis into workspaces, the next combines them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opweave.codegen.backends import Target
from opweave.codegen.loops.axes import substitute
from opweave.codegen.loops.nest import LoopNest, Store
from opweave.codegen.loops.schedule import Schedule
from opweave.codegen.loops.values import Buffer, Read, Reduce, Value, Values, topological
from opweave.tracer.loops.index import Axis, Index, linearize, row_major
from opweave.tracer.loops.size import divide, hint, product


def find_parts(nest: LoopNest, schedule: Schedule, target: Target) -> tuple[Axis, int] | None:
    """The reduced axis to split and into how many parts, None where one kernel does well."""
    if not nest.reduced or nest.scatters or nest.scans:
        return None
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


def in_parts(nest: LoopNest, axis: Axis, parts: int) -> tuple[LoopNest, LoopNest]:
    """A nest that reduces parts of an axis into workspaces, and one that combines them and does what follows."""
    length = divide(axis.size, parts)
    assert length is not None
    part, rest = Axis("part", parts), Axis(axis.name, length)
    halved = substitute(nest, {axis: (part, rest)})
    first_values, second_values = Values(), Values()
    kept = [part, *halved.kept]
    strides = tuple(row_major([a.size for a in kept]))
    offset = linearize([Index.of(a) for a in kept], strides)
    reduced = [axis for axis in halved.reduced if axis is not part]
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
        if value.depth == 0:
            known[value] = first_values.again(value, [known[arg] for arg in value.args])
            if not value.axes & frozenset(halved.reduced):
                combined[value] = second_values.again(value, [combined[arg] for arg in value.args])
        elif isinstance(value, Reduce):
            own = first_values.again(value, [known[arg] for arg in value.args], over=reduced)
            found = [first_values.best(own), own] if len(value.args) == 2 else [own]
            operands = [keep(result, value) for result in found]
            combined[value] = second_values.again(value, operands, over=[part])
        else:
            combined[value] = second_values.again(value, [combined[arg] for arg in value.args])
    first = replace(
        nest, names=(*nest.names, "parts"), kept=tuple(kept), reduced=tuple(reduced), inputs=_used(nest.inputs, stores),
        outputs=tuple(workspaces), stores=tuple(stores),
    )  # fmt: skip
    final = tuple(replace(store, value=combined[store.value]) for store in halved.stores)
    inputs = (*workspaces, *_used(nest.inputs, final))
    second = replace(nest, kept=halved.kept, reduced=(part,), inputs=inputs, stores=final)
    return first, second


def _used(inputs: Sequence[Buffer], stores: Sequence[Store]) -> tuple[Buffer, ...]:
    values = topological([operand for store in stores for operand in store.operands])
    read = {value.buffer for value in values if isinstance(value, Read)}
    return tuple(buffer for buffer in inputs if buffer in read)
