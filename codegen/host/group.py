"""Let many small kernels of one form run in one launch (`codegen.groups`), as the updates of all parameters.

    launch fused_mul: x0, y -> mul
    launch fused_mul: x1, y -> mul_1   ->   group fused_mul_group: (x0, x1, ...), (mul, mul_1, ...), y
    ...

A run of kernels that do not need each other waits for the last of them; then each form among them that has enough
members is launched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opweave.codegen.host.operands import GroupLoops, Local, Loops, OpaqueType
from opweave.codegen.host.steps import Bump, Group, Launch, Program, Read, Step, Tuned, View
from opweave.codegen.loops.nest import LoopNest
from opweave.codegen.loops.schedule import Lane, Schedule
from opweave.codegen.triton_source import print_group
from opweave.registry.dataclass import dataclass
from opweave.registry.device import Device
from opweave.tracer.loops.size import INT32_OFFSETS

#: From this many members on a table of addresses costs less than launches.
LEAST = 4


@dataclass(frozen=True, eq=False)
class _Member:
    """A launch that may be part of a group.

    Attributes
    ----------
    unit : int
        Where it stands.
    launch, loops : Launch, Loops
        What it computes, along one axis.
    text : str
        The same for members of one form.
    """

    unit: int
    launch: Launch
    loops: Loops
    text: str

    @property
    def size(self) -> int:
        """Elements."""
        size = self.loops.schedule.lanes[0].axis.size
        assert isinstance(size, int)
        return size

    @property
    def places(self) -> tuple[Local, ...]:
        """Inputs, then outputs."""
        return (*self.launch.inputs, *self.launch.outputs)


def run(program: Program, device: Device) -> Program:
    """Join launches in groups."""
    units = program.units()
    forms: dict[int, list[list[_Member]]] = {}
    for members in _runs(units):
        chosen = [form for form in _by_form(members) if len(form) >= LEAST]
        if chosen:
            forms[max(form[-1].unit for form in chosen)] = chosen
    if not forms:
        return program
    waiting = {member.unit for chosen in forms.values() for form in chosen for member in form}
    steps: list[Step] = []
    for number, unit in enumerate(units):
        steps += [s for s in unit if number not in waiting or not isinstance(s, (Launch, Bump))]
        for form in forms.get(number, ()):
            steps.append(_group(program, form, unit[-1], device))
            bumps = (s for member in form for s in units[member.unit] if isinstance(s, Bump))
            bumped = tuple([local for bump in bumps for local in bump.locals])
            steps += [Bump(unit[-1].origin, bumped)] if bumped else []
    return replace(program, steps=tuple(steps))


def _runs(units: Sequence[Sequence[Step]]) -> list[list[_Member]]:
    """Kernels in a row of which none needs another, nor anything in between."""
    runs: list[list[_Member]] = [[]]
    written: set[Local] = set()
    read: set[Local] = set()
    for number, unit in enumerate(units):
        if all(isinstance(step, Read) for step in unit):
            continue
        reads, writes = _touched(unit)
        if not writes or reads & written or writes & (written | read):
            # Something of another kind, or that has to wait for those before.
            runs.append([])
            written, read = set(), set()
        member = _member(number, unit)
        runs[-1] += [member] if member is not None else []
        read |= reads
        written |= writes
    return runs


def _touched(unit: Sequence[Step]) -> tuple[set[Local], set[Local]]:
    """What the kernels of a node read that was there before, and what they write."""
    if not any(isinstance(step, (Launch, Tuned)) for step in unit):
        return set(), set()
    made = {local for step in unit for local in step.defines}
    reads = {local for step in unit for local in step.uses if local not in made and local not in step.writes}
    writes = {local for step in unit for local in step.writes}
    return reads, writes | {step.base for step in unit if isinstance(step, View) and step.result in writes}


def _by_form(members: Sequence[_Member]) -> list[list[_Member]]:
    forms: dict[str, list[_Member]] = {}
    for member in members:
        forms.setdefault(member.text, []).append(member)
    return [*forms.values()]


def _member(number: int, unit: Sequence[Step]) -> _Member | None:
    launches = [step for step in unit if isinstance(step, Launch)]
    if len(launches) != 1 or not isinstance(launches[0].kernel, Loops):
        return None
    loops = launches[0].kernel
    if not _is_flat(loops.nest, loops.schedule):
        return None
    text = print_group(loops.nest, _in_blocks(loops.schedule, 1), 0, (), anonymous=True).source
    return _Member(number, launches[0], loops, text)


def _is_flat(nest: LoopNest, schedule: Schedule) -> bool:
    """Whether a kernel runs along one axis of fixed size, a block a program."""
    if nest.reduced or nest.checks() or len(schedule.lanes) != 1 or schedule.scalars or schedule.loops:
        return False
    size = schedule.lanes[0].axis.size
    return isinstance(size, int) and size < INT32_OFFSETS


def _in_blocks(schedule: Schedule, block: int) -> Schedule:
    """A member's schedule with a block size for the whole group."""
    (lane,) = schedule.lanes
    return Schedule((Lane(lane.axis, block, "grid", "i", "BLOCK"),), (), (), None, False)


def _shared(members: Sequence[_Member]) -> tuple[int, ...]:
    """Positions of the buffers that all members read from one place, and none writes."""
    written = {local for member in members for local in member.launch.outputs}
    found: list[int] = []
    for position in range(len(members[0].launch.inputs)):
        places = {member.places[position] for member in members}
        if len(places) == 1 and not places & written:
            found.append(position)
    return tuple(found)


def _group(program: Program, members: Sequence[_Member], at: Step, device: Device) -> Group:
    block = max(member.loops.schedule.lanes[0].block for member in members)
    first, shared = members[0], _shared(members)
    kernel = GroupLoops(first.loops.nest, _in_blocks(first.loops.schedule, block), shared)
    rows = [tuple(m.places[i] for m in members) for i in range(len(first.places)) if i not in shared]
    tables = program.names.fresh("tables")
    places = Local(program.names.fresh("places"), OpaqueType("addresses"))
    return Group(
        at.origin,
        kernel,
        places,
        tables,
        tuple(member.size for member in members),
        block,
        device,
        tuple(rows),
        tuple(first.places[i] for i in shared),
        tuple(local for m in members for local in m.launch.outputs),
    )
