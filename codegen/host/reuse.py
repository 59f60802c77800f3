"""A scatter writes to the tensor that it would copy, where this program made that tensor and nothing else reads it.

alloc x: f32[8]                        alloc x: f32[8]
launch fused_exp: a -> x               launch fused_exp: a -> x
alloc y: f32[8]                   ->   move x as y
copy x to y
launch fused_scatter: x, i -> y        launch fused_scatter: x, i -> y
"""

from __future__ import annotations

from dataclasses import replace

from opweave.codegen.host.operands import Local, Loops
from opweave.codegen.host.steps import Alloc, Copy, Launch, Move, Program, Return, Step, Tuned, View
from opweave.codegen.loops.values import Read
from opweave.tracer.loops.size import sizes


def run(program: Program) -> Program:
    """Put a `Move` in the place of each `Alloc` and `Copy` that need not be."""
    units = program.units()
    if not any(isinstance(step, Copy) for step in program.steps):
        return program
    made: dict[Local, int] = {}
    used: dict[Local, set[int]] = {}
    base = {step.result: step.base for step in program.steps if isinstance(step, View)}

    def root(local: Local) -> Local:
        return root(base[local]) if local in base else local

    for number, unit in enumerate(units):
        for step in unit:
            if isinstance(step, (Alloc, Tuned)):
                made.update(dict.fromkeys(step.defines, number))
            for local in step.uses:
                used.setdefault(local, set()).add(-1 if isinstance(step, Return) else number)
                used.setdefault(root(local), set()).add(-1 if isinstance(step, Return) else number)

    def spare(of: Local, to: Local, number: int) -> bool:
        """Whether what a unit copies from may itself be written."""
        if of not in made or made[of] == number or used[of] - {made[of]} != {number}:
            return False
        return _alike(of, to) and not any(of in map(root, _loaded(step)) for step in units[number])

    steps: list[Step] = []
    for number, unit in enumerate(units):
        moved = {
            s.to: s.of for s in unit if isinstance(s, Copy) and made.get(s.to) == number and spare(s.of, s.to, number)
        }
        for step in unit:
            if isinstance(step, Alloc) and step.result in moved:
                steps.append(Move(step.origin, step.result, moved[step.result]))
            elif not (isinstance(step, Copy) and step.to in moved):
                steps.append(step)
    return replace(program, steps=tuple(steps))


def _alike(a: Local, b: Local) -> bool:
    one, other = a.tensor, b.tensor
    return (sizes(one.sizes), sizes(one.strides)) == (sizes(other.sizes), sizes(other.strides))


def _loaded(step: Step) -> set[Local]:
    """What a kernel reads elements of."""
    if not isinstance(step, Launch):
        return set()
    assert isinstance(step.kernel, Loops)
    nest = step.kernel.nest
    buffers = {value.buffer for value in nest.values() if isinstance(value, Read)}
    return {local for buffer, local in zip(nest.inputs, step.inputs, strict=True) if buffer in buffers}
