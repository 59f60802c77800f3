"""A call as a trace that Chrome (chrome://tracing) and Perfetto (ui.perfetto.dev) show."""

from __future__ import annotations

from typing import Any

from opweave.reporting.model import Facts
from opweave.reporting.rows import WORKING

#: Rows of the timeline, by the kind of step.
ROWS = {"kernel": 1, "tuned": 1, "product": 2, "convolve": 2, "call": 3, "copying": 4}
NAMES = {1: "kernels", 2: "library: products and convolutions", 3: "calls of ops", 4: "memory"}


def trace_events(facts: Facts) -> dict[str, Any]:
    """The timelines of a report's programs, and the passes of their compilation, in the trace event format.

    Parameters
    ----------
    facts : Facts
        Of a call that was measured.

    Returns
    -------
    dict
        For `json.dump`; times are microseconds.
    """
    events: list[dict[str, Any]] = []
    process = 0

    def name(what: str, text: str, thread: int = 0) -> None:
        events.append({"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": text}})

    for version in facts.versions:
        for program in version.programs:
            if any(step.start is not None for step in program.steps):
                process += 1
                name("process_name", f"{facts.name} version {version.index} {program.name}")
                for thread, text in NAMES.items():
                    name("thread_name", text, thread)
                events += [
                    _event(
                        step.label, step.kind, step.start, step.took, process, ROWS.get(step.kind, 4),
                        step=step.text, ops=", ".join(step.ops), lines=_lines(facts, step.sites), why=step.reason,
                        bytes_read=step.read, bytes_written=step.written, flops=step.flops,
                    )
                    for step in program.steps
                    if step.kind in WORKING and step.start is not None and step.took is not None
                ]  # fmt: skip
            process += 1
            name("process_name", f"{facts.name} version {version.index} {program.name}: passes")
            at = 0.0
            for stage in program.stages:
                took = stage.milliseconds / 1e3
                events.append(_event(stage.name, "pass", at, took, process, 1, nodes=len(stage.nodes)))
                at += took
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _event(
    name: str, category: str, start: float, took: float, process: int, thread: int, **args: object
) -> dict[str, Any]:
    times = {"ts": round(start * 1e6, 3), "dur": round(took * 1e6, 3)}
    return {"ph": "X", "name": name, "cat": category, **times, "pid": process, "tid": thread, "args": args}


def _lines(facts: Facts, sites: list[int]) -> str:
    return ", ".join(f"{file}:{line}" for file, line, _ in (facts.sites[number] for number in sites))
