"""A report as text: what the page shows first."""

from __future__ import annotations

import os
from collections.abc import Sequence

from opweave.reporting.model import BufferRow, Facts, ProgramRow, VersionRow
from opweave.reporting.rows import WORKING
from opweave.reporting.text import seconds, size

_SHOWN = 12


def summary(facts: Facts) -> str:
    """Some lines: times, the costliest steps and lines, why they are apart, memory, guards."""
    many = len(facts.versions) != 1
    lines = [f"{facts.name}: {len(facts.versions)} version{'s' * many}, {facts.device}, opweave {facts.opweave}"]
    lines += facts.notes
    for version in facts.versions:
        lines += ["", *_version(facts, version)]
    return "\n".join(lines)


def peak(buffers: Sequence[BufferRow]) -> int:
    """The most bytes that are needed at once beside inputs and constants."""
    changes: dict[int, int] = {}
    for row in buffers:
        if row.kind not in ("input", "constant"):
            changes[row.first] = changes.get(row.first, 0) + row.nbytes
            changes[row.last + 1] = changes.get(row.last + 1, 0) - row.nbytes
    most = now = 0
    for at in sorted(changes):
        now += changes[at]
        most = max(most, now)
    return most


def _version(facts: Facts, version: VersionRow) -> list[str]:
    fits = "fits this call" if version.misfit is None else f"does not fit this call: {version.misfit}"
    lines = [f"version {version.index}: {len(version.guards)} guards; {fits}"]
    lines += [f"  compiled since {reason}" for reason in version.reasons]
    for program in version.programs:
        lines += [f"  {program.name}", *(f"    {line}" for line in _program(facts, program))]
    return lines


def _program(facts: Facts, program: ProgramRow) -> list[str]:
    ops = sum(node.kind == "op" for node in program.stages[0].nodes)
    working = [step for step in program.steps if step.kind in WORKING]
    if not program.steps:
        return [f"{ops} ops"]
    kernels = sum(step.kind == "kernel" for step in working)
    text = f"{ops} ops, {kernels} launches of kernels, {len(working) - kernels} other calls"
    if program.seconds is not None:
        text += f"; {seconds(program.seconds)} a call ({seconds(program.stepwise)} step by step)"
    lines = [text, f"memory beside inputs: {size(peak(program.buffers))} at most"]
    if program.problem:
        lines.append(program.problem)
    total = sum(step.seconds or 0.0 for step in program.steps)
    for step in sorted(working, key=lambda step: -(step.seconds or 0.0))[:_SHOWN]:
        part = f"{(step.seconds or 0.0) / total:5.1%}" if total else "     "
        roof = f"  {step.share:.0%} of the roof ({step.bound})" if step.share is not None else ""
        lines.append(f"{part} {seconds(step.seconds):>9}  {step.label}{roof}")
        where = ", ".join(_place(facts, site) for site in step.sites[:4])
        if where:
            lines.append(f"{'':17}{where}")
        if step.reason:
            lines.append(f"{'':17}{step.reason}")
    return lines


def _place(facts: Facts, number: int) -> str:
    file, line, _ = facts.sites[number]
    return f"{os.path.basename(file)}:{line}"
