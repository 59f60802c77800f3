"""Programs inside of programs: the functions of control flow, and what a tuned launch chooses from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from opweave.codegen.host.steps import Call, Program, Step, Tuned
from opweave.registry.containers import is_sequence
from opweave.tracer.operands import map_operands


def programs_in(step: Step) -> Iterator[Program]:
    """The functions that a step hands on."""
    if isinstance(step, Call):
        yield from _programs((step.args, step.kwargs))
    elif isinstance(step, Tuned):
        yield from (choice.program for choice in step.choices)
        yield step.unfused


def with_programs(step: Step, change: Callable[[Program], Program]) -> Step:
    """A step with the functions changed that it hands on; what a tuned launch chooses from stays."""
    if isinstance(step, Call) and next(programs_in(step), None) is not None:

        def changed(value: Any) -> Any:
            return change(value) if isinstance(value, Program) else value

        return replace(step, args=map_operands(step.args, changed), kwargs=map_operands(step.kwargs, changed))
    return replace(step, unfused=change(step.unfused)) if isinstance(step, Tuned) else step


def _programs(value: Any) -> Iterator[Program]:
    if isinstance(value, Program):
        yield value
    elif is_sequence(value):
        for item in value:
            yield from _programs(item)
    elif isinstance(value, dict):
        yield from _programs((*value.values(),))
