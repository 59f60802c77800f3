"""From a compiled function and a call of it to the facts of a report."""

from __future__ import annotations

import datetime
import functools
import importlib.metadata
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from opweave.codegen.backends import backend_of
from opweave.codegen.host.python import Printer
from opweave.codegen.host.segments import Segment
from opweave.codegen.host.text import text as host_text
from opweave.codegen.kernel import KernelSource, compile_source
from opweave.codegen.native import llvm
from opweave.codegen.wrapper import host_program
from opweave.fake.symbolic import SymNumber
from opweave.passes.regions import Decision
from opweave.pipeline import _device, lower
from opweave.registry.dataclass import dataclass
from opweave.registry.device import Device
from opweave.registry.errors import OpweaveError, user_frame
from opweave.registry.interrupts import let_through
from opweave.registry.nested import leaves
from opweave.registry.tensor import Tensor, allocate_like
from opweave.reporting import rows
from opweave.reporting.launches import is_launch, texts_of
from opweave.reporting.machine import measured
from opweave.reporting.measuring import Copies, Measured, measure
from opweave.reporting.model import Facts, GuardRow, KernelRow, ProgramRow, VersionRow
from opweave.reporting.sources import Sites, files
from opweave.reporting.words import in_words, subject
from opweave.runtime.compiled import CompiledFunction
from opweave.runtime.context import below_autograd
from opweave.runtime.entry import Entry
from opweave.tracer.drawing import label_of
from opweave.tracer.graph import Graph


@dataclass
class Call:
    """What a version was called with, as it was before the call; None where it is not to be measured."""

    entry: Entry
    inputs: Copies | None


def _is_all_of_the_library(compiled: CompiledFunction[..., Any]) -> bool:
    """Whether no line of the user's computes anything, as of a bare `nn.Sequential`."""
    seen = Sites()
    nodes = (node for entry in compiled.entries for node in entry.compiled_graph.nodes)
    return not any(seen.of(node) for node in nodes)


class Gathering:
    """Collects the facts.

    Parameters
    ----------
    compiled : CompiledFunction
        Whose.
    misfits : mapping
        By `id` of a version why it does not fit the call.
    call : Call or None
        The version that was called.
    recompiled : bool
        Whether it was compiled for this call.
    """

    def __init__(
        self,
        compiled: CompiledFunction[..., Any],
        misfits: Mapping[int, str | None],
        call: Call | None,
        recompiled: bool,
    ) -> None:
        self.compiled, self.misfits, self.call = compiled, misfits, call
        self.sites = Sites(user_frame() if _is_all_of_the_library(compiled) else None)
        build = compiled._compile_graph
        self.settings: dict[str, Any] = getattr(build, "keywords", {})
        name = getattr(compiled, "__name__", compiled._name)
        if name == "__call__":
            name = compiled._name
        now = datetime.datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        self.facts = Facts(name, now, importlib.metadata.version("opweave"), "cpu", recompiled=recompiled)

    def run(self) -> Facts:
        """All of them."""
        facts = self.facts
        for entry in sorted(self.compiled.entries, key=lambda e: e.index):
            facts.versions.append(self._version(entry))
        facts.sites = self.sites.rows()
        facts.files = files(self.sites.known)
        return facts

    # ---- versions --------------------------------------------------------------------------------------------------

    def _version(self, entry: Entry) -> VersionRow:
        guards = [
            GuardRow(
                subject(guard, entry.guards.constants),
                in_words(guard, entry.guards.constants),
                guard.test,
                self.sites.number(guard.source.site),
            )
            for guard in entry.guards.guards
        ]
        partition = entry.partition
        about = "" if partition is None else str(partition)
        row = VersionRow(entry.index, list(entry.reasons), self.misfits.get(id(entry)), guards, about)
        called = self.call is not None and entry is self.call.entry
        inputs = self.call.inputs if self.call is not None and called else None
        forward, results = self._program(
            "forward", entry.compiled_graph, entry.program.run, entry.program.constants, inputs,
            writes=bool(entry.program.written), whole=called,
        )  # fmt: skip
        row.programs.append(forward)
        if partition is not None:
            given = None if results is None else self._gradients(entry, results)
            row.programs.append(self._backward(entry, given, whole=called))
        row.stub = not called
        return row

    def _gradients(self, entry: Entry, results: Sequence[Any]) -> Copies | None:
        """What the backward is called with when all gradients come, each full of ones."""
        backward = entry.backward
        tangents: list[Any] = []
        for position in backward.attached:
            like = results[position]
            tangent = allocate_like(like.spec)
            tangent._array[...] = 1
            tangents.append(tangent)
        return Copies([*results[backward.outputs :], *tangents])

    def _backward(self, entry: Entry, inputs: Copies | None, *, whole: bool) -> ProgramRow:
        backward, none = entry.backward, frozenset[int]()
        graph = backward._graph(none)
        run: Callable[..., Any] | None = None
        if inputs is not None:
            run = lambda *values: backward.run(none, *values)  # noqa: E731
        found, _ = self._program("backward", graph, run, backward.constants, inputs, writes=False, whole=whole)
        return found

    # ---- programs --------------------------------------------------------------------------------------------------

    def _program(
        self,
        name: str,
        captured: Graph,
        run: Callable[..., Any] | None,
        constants: Mapping[str, Tensor],
        inputs: Copies | None,
        *,
        writes: bool,
        whole: bool,
    ) -> tuple[ProgramRow, Sequence[Any] | None]:
        """One graph; `whole` with texts, steps and times, else with its stages alone."""
        row, sites = ProgramRow(name), self.sites
        stages = rows.Stages(sites)
        stages.add("captured", captured, 0.0)
        with below_autograd():
            graph = lower(captured.clone(), watch=lambda n, g, s: stages.add(n, g, s), **self.settings)
        row.stages = stages.found
        decisions: Sequence[Decision] = graph.graph.get("fusion", ())
        row.apart = [(d.node, d.reason, sites.number(d.site)) for d in decisions if d.verdict in rows._APART]
        if not whole:
            return row, None
        device = _device(graph)
        self.facts.device = str(device)
        with _settled(graph), below_autograd():
            stepwise = host_program(graph, self.compiled._name, device, segmented=False)
            segmented = host_program(graph, self.compiled._name, device)
        row.host = host_text(segmented)
        row.arena = sum(
            step.nbytes for step in segmented.steps if isinstance(step, Segment) and isinstance(step.nbytes, int)
        )
        row.code = Printer().module(segmented)
        found: Measured | None = None
        results: Sequence[Any] | None = None
        if inputs is not None and run is not None:
            try:
                found, results = measure(stepwise, run, inputs, device, constants, writes=writes)
                self.facts.machine = measured(device)
            except Exception as error:  # what cannot be run twice is shown without times
                let_through(error)
                row.problem = f"not measured: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        row.steps = rows.steps(stepwise, graph, decisions, sites, found, self.facts.machine)
        row.buffers = rows.buffers(stepwise, found)
        row.kernels = [
            _kernel(kernel.name, functools.partial(stages_of, kernel, device), found) for kernel in stepwise.kernels
        ]
        launched = {label_of(node): node for node in graph.nodes if is_launch(node)}
        row.kernels += [
            _kernel(label, functools.partial(texts_of, node, device), found) for label, node in launched.items()
        ]
        row.lines = rows.lines(row, graph, decisions, sites)
        if found is not None:
            row.seconds, row.stepwise = found.whole, found.stepwise
        return row, results


def _kernel(name: str, texts: Callable[[], dict[str, str]], found: Measured | None) -> KernelRow:
    row = KernelRow(name, {})
    try:
        row.texts = texts()
    except OpweaveError as error:
        let_through(error)
        row.problem = str(error)
    if "llir" in row.texts and "asm" not in row.texts and "ptx" not in row.texts:
        row.texts["asm"] = llvm.assembly(row.texts["llir"], name=name)
    if found is not None and name in found.kernels:
        row.launches, row.seconds = found.kernels[name]
    return row


def stages_of(kernel: KernelSource, device: Device) -> dict[str, str]:
    """The texts that a kernel becomes, by language."""
    made = compile_source(kernel, Path("<opweave report>"), backend_of(device).target(device))
    found = {key: text for key, text in made.asm.items() if isinstance(text, str) and key != "source"}
    return {"triton": kernel.text, **found}


def _settled(graph: Graph) -> AbstractContextManager[Any]:
    """A context in which nothing more is decided about sizes that are open."""
    for node in graph.nodes:
        for value in leaves(node.meta.get("val")):
            for number in value._sizes if isinstance(value, Tensor) else (value,):
                if isinstance(number, SymNumber):
                    return number.env.settled()
    return nullcontext()
