"""`report`: a compiled call, looked at: where its time went, line by line, and why."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

from opweave.codegen.native.sanitizing import enabled as sanitizing
from opweave.compiling import _compiled, compile
from opweave.registry.errors import ArgumentError, UnsupportedError
from opweave.registry.tensor import describe
from opweave.reporting.gather import Call, Gathering
from opweave.reporting.measuring import Copies
from opweave.reporting.model import Facts
from opweave.reporting.page import page
from opweave.reporting.summary import summary
from opweave.reporting.trace import trace_events
from opweave.runtime.compiled import CompiledFunction
from opweave.runtime.context import compilable
from opweave.runtime.entry import Entry
from opweave.runtime.modules import is_module


class Report:
    """What `report` found; prints as a summary, and shows itself in a notebook.

    Attributes
    ----------
    facts : Facts
        All of it, as plain data.
    result : Any
        What the call returned.
    """

    def __init__(self, facts: Facts, result: Any) -> None:
        self.facts, self.result = facts, result

    @property
    def text(self) -> str:
        """A summary: times, the costliest steps, their lines, and why they are apart."""
        return summary(self.facts)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Report of {self.facts.name}: {len(self.facts.versions)} versions>"

    def save(self, path: str | os.PathLike[str], *, compress: bool = True) -> Path:
        """Write the report as one HTML file, which needs nothing else.

        Parameters
        ----------
        path : str or path-like
            Where to.
        compress : bool
            Whether its data are deflated; browsers from before 2023 need them as they are.
        """
        target = Path(path)
        target.write_text(page(self.facts, compress=compress), encoding="utf-8")
        return target

    def trace(self, path: str | os.PathLike[str]) -> Path:
        """Write the timeline of the call as JSON for Perfetto (ui.perfetto.dev) and chrome://tracing."""
        target = Path(path)
        target.write_text(json.dumps(trace_events(self.facts)), encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        frame = "width:100%;height:44em;border:1px solid #d0d7de"
        return f'<iframe srcdoc="{escape(page(self.facts))}" style="{frame}"></iframe>'


def report(fn: Callable[..., Any], *, measure: bool = True) -> Callable[..., Report]:
    """Call a function compiled, and report what became of it: by line, kernel, byte and microsecond.

    Parameters
    ----------
    fn : callable or CompiledFunction
        A function, a module, or one that is compiled already.
    measure : bool
        Whether steps are timed. For that they are run again, with copies of the arguments and the same random numbers;
        ops that do something besides, such as printing, do it again.

    Returns
    -------
    callable
        `(*args, **kwargs) -> Report`, called like `fn`. The function runs once for its effects.

    Raises
    ------
    ArgumentError
        If the function is no compiled one of the backend ``"opweave"``.
    UnsupportedError
        If it is called where nothing is compiled: in a trace or a transform. In the sanitizer, which compiles nothing
        either, the report says so.

    Examples
    --------
    >>> found = opweave.report(f)(x)  # doctest: +SKIP
    >>> found.save("f.html")  # doctest: +SKIP
    """
    if is_module(type(fn)):
        fn = vars(fn).get("function", fn.__call__)
    compiled: CompiledFunction[..., Any] = fn if isinstance(fn, CompiledFunction) else compile(fn)
    if getattr(compiled._compile_graph, "func", compiled._compile_graph) is not _compiled:
        raise ArgumentError("report: only what opweave compiles has a report", got=repr(fn))

    def reported(*args: Any, **kwargs: Any) -> Report:
        if sanitizing():
            facts = Gathering(compiled, {}, None, False).run()
            facts.notes.append(f"{facts.name} ran op by op: in the sanitizer nothing is compiled")
            return Report(facts, compiled(*args, **kwargs))
        if not compilable():
            raise UnsupportedError(
                "report: nothing is compiled within a trace or a transform",
                got=f"called on {describe(args)}",
                hint="call it outside",
            )
        misfits = {id(entry): reason for entry, reason in compiled.mismatches(args, kwargs)}
        entry, made = compiled.version_for(args, kwargs)
        if entry is None:
            facts = Gathering(compiled, misfits, None, made).run()
            how = "runs uncompiled" if compiled.parts is None else f"runs in parts: {compiled.parts.reason}"
            facts.notes.append(f"{facts.name} {how}")
            return Report(facts, compiled(*args, **kwargs))
        return observe(compiled, entry, args, kwargs, misfits, made, measure=measure)

    return reported


def observe(
    compiled: CompiledFunction[..., Any],
    entry: Entry,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    misfits: dict[int, str | None],
    made: bool,
    *,
    measure: bool = True,
) -> Report:
    """Call a version that fits, and gather what there is to say of the function."""
    call, result = observed_call(compiled, entry, args, kwargs, measure=measure)
    return Report(Gathering(compiled, misfits, call, made).run(), result)


def observed_call(
    compiled: CompiledFunction[..., Any], entry: Entry, args: tuple[Any, ...], kwargs: dict[str, Any], *, measure: bool
) -> tuple[Call, Any]:
    """Call a version that fits, and keep what its graph was called with."""
    kept: list[Copies] = []

    def run(*inputs: Any) -> Any:
        if measure:
            kept.append(Copies(inputs))
        return entry.run(*inputs)

    watched = dataclasses.replace(entry, run=run)
    result = watched.alone(compiled._name, compiled._parameters)(*args, **kwargs)
    return Call(entry, kept[0] if kept else None), result
