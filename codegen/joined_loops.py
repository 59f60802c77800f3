"""Loops of a replayed call that go over the same elements, one behind the other, as one program (`row_loops`).

    |x - y|, summed up              subtract → a, absolute → b, sum of b
    joined                          a program of x and y → b, sum of b

An op that is written with others leads to such loops. What lies between them is never in memory, so that a call of many
elements needs no room for it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, NamedTuple

import numpy as np
from numpy._core import umath

from opweave.registry import rows
from opweave.registry.ops.kinds.fused_steps import LEAST_REPLAYED, name_of
from opweave.registry.rows import Form, RowProgram
from opweave.registry.scalar import erf_of_array
from opweave.registry.tape import MOST_OPERANDS, Loop, Operand, Value

_SINGLE, _TRUTH = np.dtype(np.float32), np.dtype(np.bool_)
#: The steps of a body that loops stand for.
_STEPS: dict[Any, Any] = {
    "chosen": np.where, vars(umath)["clip"]: np.clip, "erf": erf_of_array, "copied": np.copyto,
}  # fmt: skip
#: By their names, which say what they do.
_programs: dict[str, RowProgram] = {}


class _Step(NamedTuple):
    """What a loop does with each element: a function by its name, or a program, and the loop with its numbers."""

    function: str | RowProgram
    loop: Loop
    numbers: tuple[int, ...]


def joined(loops: Sequence[Loop], kept: Set[int]) -> list[Loop]:
    """Loops that do the same.

    Parameters
    ----------
    loops : sequence of Loop
        In order.
    kept : set of int
        The buffers that are needed afterwards.
    """
    found: list[Loop] = []
    group: list[_Step] = []
    for place, loop in enumerate(loops):
        step = _step_of(loop)
        if group and (step is None or step.loop.counts != group[0].loop.counts):
            found += _as_one(group, loops[place:], kept)
            group = []
        if step is None:
            found.append(loop)
        else:
            group.append(step)
    return found + _as_one(group, (), kept)


def _step_of(loop: Loop) -> _Step | None:
    """None of a loop that does something else than a program can, or of few elements."""
    if loop.outer != 1 or len(loop.counts) != 1 or loop.counts[0] < LEAST_REPLAYED or rows.native.call is None:
        return None
    *_, out = loop.operands
    for operand, far, dtype in zip(loop.operands, loop.steps, loop.types, strict=False):
        is_number = far == 0 and dtype == _SINGLE and operand is not out
        if not is_number and (far != dtype.itemsize or not isinstance(operand.value, Value)):
            return None
    if isinstance(loop.function, RowProgram):
        is_plain = {dtype.itemsize for dtype in loop.types} == {4}
        return _Step(loop.function, loop, loop.data) if is_plain else None
    if loop.function == "cast":
        name = "number" if loop.types == (_TRUTH, _SINGLE) else None
    else:
        name = name_of(_STEPS.get(loop.function, loop.function), loop.types[-1], list(loop.types[:-1]))
    return None if name is None else _Step(name, loop, ())


class _Joining:
    """The program of some steps: its operands, arrays and passed numbers first, then numbers that stay the same."""

    def __init__(self) -> None:
        self.arrays: list[tuple[Operand, int, Any]] = []
        self.places: dict[tuple[int, int], int] = {}
        self.numbers: list[int] = []
        #: What a value is: the number of a step, of an array or of a number.
        self.values: dict[tuple[int, int], tuple[str, int]] = {}
        self.steps: list[tuple[str | RowProgram, list[tuple[str, int]]]] = []

    def add(self, step: _Step) -> None:
        loop = step.loop
        args: list[tuple[str, int]] = []
        for operand, far, dtype in zip(loop.operands[:-1], loop.steps, loop.types, strict=False):
            if not isinstance(operand.value, Value):
                args.append(self.number(int(operand.value.view(np.uint32))))
                continue
            at = operand.value.buffer, operand.value.offset
            if at not in self.values:
                self.values[at] = "array", len(self.arrays)
                self.arrays.append((operand, far, dtype))
            args.append(self.values[at])
        args += [self.number(bits) for bits in step.numbers]
        self.steps.append((step.function, args))
        out = loop.operands[-1].value
        assert isinstance(out, Value)
        self.values[out.buffer, out.offset] = "step", len(self.steps) - 1

    def number(self, bits: int) -> tuple[str, int]:
        self.numbers.append(bits)
        return "number", len(self.numbers) - 1

    def program(self) -> RowProgram:
        forms: tuple[Form, ...] = tuple(["rows" if far else "number" for _, far, _ in self.arrays])
        forms += ("number",) * len(self.numbers)
        told = [(f if isinstance(f, str) else f.name, args) for f, args in self.steps]
        name = f"{__name__} {told} {forms} {[str(dtype) for _, _, dtype in self.arrays]}"
        steps, first = list(self.steps), len(self.arrays)
        truths = [i for i, (_, _, dtype) in enumerate(self.arrays) if dtype == _TRUTH]

        def body(k: Any, *given: Any) -> list[Any]:
            operands = [k.apply("truth", v) if i in truths else v for i, v in enumerate(given)]
            made: list[Any] = []
            for function, args in steps:
                taken = [
                    made[i] if kind == "step" else operands[i if kind == "array" else first + i] for kind, i in args
                ]
                made.append(k.apply(function, *taken) if isinstance(function, str) else function.body(k, *taken)[0])
            return [made[-1]]

        return _programs.setdefault(name, RowProgram(name, forms, body))


def _as_one(group: Sequence[_Step], rest: Sequence[Loop], kept: Set[int]) -> list[Loop]:
    """The loops of steps, or one; `rest` are those that follow."""
    separate = [step.loop for step in group]
    if len(group) < 2:
        return separate
    joining = _Joining()
    for step in group:
        joining.add(step)
    read = {operand.value.buffer for loop in rest for operand in loop.operands if isinstance(operand.value, Value)}
    *_, out = separate[-1].operands
    assert isinstance(out.value, Value)
    written = {at for at, (kind, _) in joining.values.items() if kind == "step"}
    needed = {at for at in written if at[0] in kept or at[0] in read}
    others = {operand.value.buffer for operand, _, _ in joining.arrays if isinstance(operand.value, Value)}
    same = {(v.value.buffer, v.value.offset) for v, _, _ in joining.arrays if isinstance(v.value, Value)}
    at = out.value.buffer, out.value.offset
    if needed != {at} or len(joining.arrays) >= MOST_OPERANDS or separate[-1].types[-1] != _SINGLE:
        return separate
    if at[0] in others and at not in same or any(dtype not in (_SINGLE, _TRUTH) for _, _, dtype in joining.arrays):
        return separate
    types = (*[dtype for _, _, dtype in joining.arrays], _SINGLE)
    steps = (*[far for _, far, _ in joining.arrays], _SINGLE.itemsize)
    operands = (*[operand for operand, _, _ in joining.arrays], out)
    return [Loop(joining.program(), types, 1, separate[0].counts, steps, operands, tuple(joining.numbers))]
