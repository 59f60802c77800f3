"""Drop every name behind the node that needs it last, so that the caching allocator hands its memory out again.

Python counts who holds a tensor's memory, so views may outlive the name of what they look into. What is returned lives
on; inputs, constants, symbols and the cell of failed checks are not the program's to drop.
"""

from __future__ import annotations

from dataclasses import replace

from opweave.codegen.host.operands import Local
from opweave.codegen.host.steps import Cell, Constant, Free, Program, Read, Return, Step


def run(program: Program) -> Program:
    """Add a `Free` behind each node that is the last to need something."""
    units = program.units()
    made: dict[Local, int] = {}
    first: dict[Local, int] = {}
    last: dict[Local, int] = {}
    kept: set[Local] = set()
    for number, unit in enumerate(units):
        for step in unit:
            if not isinstance(step, (Read, Constant, Cell)):
                made.update((local, len(made)) for local in step.defines)
            last.update(dict.fromkeys(step.defines, number))
            last.update(dict.fromkeys(step.uses, number))
            for local in step.writes:
                first.setdefault(local, number)
            if isinstance(step, Return):
                kept.update(step.uses)
    dead: dict[int, list[Local]] = {}
    for local in made:
        if local not in kept:
            dead.setdefault(last[local], []).append(local)
    steps: list[Step] = []
    for number, unit in enumerate(units):
        steps += unit
        if number in dead:
            # What came and went with the node, then what it was given.
            names = sorted(dead[number], key=lambda local: (first.get(local) != number, made[local]))
            steps.append(Free(unit[-1].origin, tuple(names)))
    return replace(program, steps=tuple(steps))
