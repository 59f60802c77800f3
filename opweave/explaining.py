"""`explain`: what compiling a function made of it, and why; `kernel_accesses`: what a Triton kernel does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

from opweave.compiling import compile
from opweave.pipeline import fusion_report, lower
from opweave.registry.dataclass import dataclass
from opweave.registry.loading import can_compile
from opweave.registry.triton import effects
from opweave.registry.triton.access import KernelAccesses
from opweave.registry.triton_op import wrap_triton
from opweave.reporting.words import in_full
from opweave.runtime.compiled import CompiledFunction
from opweave.runtime.modules import is_module
from opweave.tracer.graph import Graph

if TYPE_CHECKING:
    from opweave.runtime.parts import Break


@dataclass(frozen=True)
class Version:
    """One compiled version of a function.

    Attributes
    ----------
    graph : Graph
        As captured.
    guards : tuple of str
        What it depends on: the value, what must hold of it, in words, and the user's line that reads it.
    fusion : str
        For each kernel and call of the compiled graph what is in it, and why it is apart; a line each.
    code : str
        The generated source.
    misfit : str or None
        Why it did not fit the arguments of the explained call; None if it did.
    backward : str or None
        What the forward saves for the backward, and what the backward computes again; None where there is no backward.
    """

    graph: Graph
    guards: tuple[str, ...]
    fusion: str
    code: str
    misfit: str | None
    backward: str | None = None

    @property
    def op_count(self) -> int:
        """Ops in the captured graph."""
        return sum(node.op == "call_function" for node in self.graph)

    @property
    def kernel_count(self) -> int:
        """Generated kernels."""
        return sum(line.startswith("kernel") for line in self.fusion.splitlines())


@dataclass(frozen=True, repr=False)
class Explanation:
    """What `explain` found; prints as a report.

    Attributes
    ----------
    name : str
        The function's.
    versions : tuple of Version
        Oldest first.
    recompiled : bool
        Whether the call needed a version that was not there.
    breaks : tuple of Break
        Of a function that runs in parts: the lines that it breaks at, and what they cost, all calls together.
    segments : int
        The stretches of ops between them that were met.
    programs : int
        Those of them that are compiled; a segment is when it comes a second time.
    reason : str
        Why the function is no single graph; empty where it is.
    is_small : bool
        Whether some calls run as plain Python from the second time on, since their tensors are too small to gain.
    """

    name: str
    versions: tuple[Version, ...]
    recompiled: bool
    breaks: tuple[Break, ...] = ()
    segments: int = 0
    programs: int = 0
    reason: str = ""
    is_small: bool = False

    @property
    def graphs(self) -> list[Graph]:
        """The captured graphs."""
        return [version.graph for version in self.versions]

    @property
    def guards(self) -> list[str]:
        """What the version that fits the call depends on."""
        return [guard for version in self.versions if version.misfit is None for guard in version.guards]

    @property
    def recompile_reasons(self) -> list[str]:
        """Why each earlier version did not fit the call."""
        return [version.misfit for version in self.versions if version.misfit is not None]

    def __str__(self) -> str:
        many = len(self.versions) != 1
        lines = [f"{self.name}: {len(self.versions)} version{'s' * many}"]
        for number, version in enumerate(self.versions):
            fits = "fits this call" if version.misfit is None else f"does not fit this call: {version.misfit}"
            lines += ["", f"version {number}: {version.op_count} ops, {version.kernel_count} kernels; {fits}"]
            lines += ["  depends on", *(f"    {guard}" for guard in version.guards)]
            lines += ["  graph", *(f"    {line}" for line in str(version.graph).splitlines())]
            lines += ["  backward", f"    {version.backward}"] if version.backward is not None else []
            lines += ["  kernels and calls", *(f"    {line}" for line in version.fusion.splitlines())]
        if self.reason:
            lines += ["", f"runs in parts: {self.segments} segments, {self.programs} compiled; {self.reason}"]
            lines += [f"  break at {each}" for each in self.breaks]
            lines += (
                ["  calls with small tensors run as plain Python: waiting costs them more than fusing saves"]
                if self.is_small
                else []
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)  # what a prompt shows

    def _repr_html_(self) -> str:
        parts = [f"<b>{escape(self.name)}</b>"]
        for number, version in enumerate(self.versions):
            fits = "fits this call" if version.misfit is None else f"does not fit this call: {version.misfit}"
            parts.append(
                f"<p>version {number}: {version.op_count} ops, {version.kernel_count} kernels; {escape(fits)}</p>"
            )
            texts = (("depends on", "\n".join(version.guards)), ("graph", str(version.graph)),
                     ("kernels and calls", version.fusion), ("code", version.code))  # fmt: skip
            parts += [f"<details><summary>{name}</summary><pre>{escape(text)}</pre></details>" for name, text in texts]
        return f"<div>{''.join(parts)}</div>"


def explain(fn: Callable[..., Any]) -> Callable[..., Explanation]:
    """Call a function compiled, and tell what was captured, on what it depends, and why versions were made.

    Parameters
    ----------
    fn : callable or CompiledFunction
        A function; or one that is compiled already, whose versions are told too, with the reason why they do not fit.

    Returns
    -------
    callable
        `(*args, **kwargs) -> Explanation`, called like `fn`. The function runs; where no kernels can be compiled, op by
        op, and what would be one is told all the same.

    Examples
    --------
    >>> print(opweave.explain(f)(x))  # doctest: +SKIP
    """
    if is_module(type(fn)):  # a compiled one has its function; any other is called as one
        fn = vars(fn).get("function", fn.__call__)
    compiled: CompiledFunction[..., Any] = (
        fn if isinstance(fn, CompiledFunction) else compile(fn, backend="opweave" if can_compile() else "eager")
    )

    def explained(*args: Any, **kwargs: Any) -> Explanation:
        misfits = {id(entry): reason for entry, reason in compiled.mismatches(args, kwargs)}
        fitted = None in misfits.values()
        compiled(*args, **kwargs)
        entries = sorted(compiled.entries, key=lambda entry: entry.index)
        versions = []
        for entry in entries:
            partition = entry.partition
            settings = getattr(compiled._compile_graph, "keywords", {})  # of the call of `compile`
            lowered = lower(entry.compiled_graph.clone(), **settings)
            guards = tuple(in_full(guard, entry.guards.constants) for guard in entry.guards.guards)
            code = entry.program.stages(entry.compiled_graph).get("code", "")
            about = None if partition is None else str(partition)
            versions.append(Version(entry.graph, guards, fusion_report(lowered), code, misfits.get(id(entry)), about))
        name, parts = compiled._name, compiled.parts
        if parts is None:
            return Explanation(name, tuple(versions), not fitted)
        breaks = tuple(replace(each) for each in parts.breaks.values())
        about = parts.segments, parts.compiled, parts.reason, any(parts.small.values())
        return Explanation(name, tuple(versions), not fitted, breaks, *about)

    return explained


def kernel_accesses(kernel: Any, /, *args: Any, **kwargs: Any) -> tuple[KernelAccesses, ...]:
    """What a Triton kernel does with each of its pointers: its loads, stores and atomics, with offsets and masks.

    Parameters
    ----------
    kernel : JITFunction, Autotuner or Heuristics
        A Triton kernel.
    *args, **kwargs
        As for a launch. Tensors may be fake; nothing is launched.

    Returns
    -------
    tuple of KernelAccesses
        One for each configuration of an autotuned kernel; else one. It prints as a table.

    Raises
    ------
    ArgumentError
        If it is no Triton kernel.
    CompileError
        If Triton cannot lower the kernel for these arguments.

    Examples
    --------
    >>> print(*opweave.kernel_accesses(add, x, y, out, 1000, BLOCK=256))  # doctest: +SKIP
    x    f32[256]  load   [pid0*256 + r0]:i32  where pid0*256 + r0 < n    kernels.py:9
    ...
    """
    return effects.accesses(wrap_triton(kernel).kernel, args, kwargs)
