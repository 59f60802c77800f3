"""From a fused graph to kernels and the Python that runs them: the steps of its host program, and what is done to them.

build        a step or several for each node of the graph
reuse        scatters write in place where nothing else needs what they would copy
group        many small kernels of one form become one launch
epilogue     kernels follow matrix products slab by slab
lifetimes    names are dropped behind their last use
kernels      loops become Triton
natives      calls of kernels of libraries become steps that need no Python
segments     steps that need no Python between them become one native call
Printer      steps become Python
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from opweave.codegen import blas
from opweave.codegen.generated import Generated
from opweave.codegen.host import epilogue, group, kernels, lifetimes, natives, reuse, segments, spec
from opweave.codegen.host.build import build
from opweave.codegen.host.python import Printer
from opweave.codegen.host.steps import Program
from opweave.codegen.host.subprograms import with_programs
from opweave.registry.device import Device
from opweave.tracer.graph import Graph, Node

Pass = Callable[[Program], Program]


def generate(graph: Graph, *, name: str = "call", device: str | Device = "cpu") -> Generated:
    """The wrapper and the kernels of a graph.

    Parameters
    ----------
    graph : Graph
        From the fusion pass: calls, and regions whose target is a `Graph`.
    name : str
        Of the generated function.
    device : str or Device
        Where the kernels run.

    Raises
    ------
    CompileError
        If a region cannot be lowered.
    """
    program, printer = host_program(graph, name, Device(device)), Printer()
    source = printer.module(program)
    return Generated(source, name, [*program.kernels], printer.names, list(dict.fromkeys(printer.attributes)))


def host_program(
    graph: Graph,
    name: str,
    device: Device,
    *,
    grouped: bool = True,
    segmented: bool = True,
    multiplies: Callable[[Node], bool] = blas.multiplies,
) -> Program:
    """What a graph does on the host at each call, ready to be printed.

    Parameters
    ----------
    graph, name, device
        As of `generate`.
    grouped, segmented : bool
        Whether small kernels may share a launch, and steps a native call.
    multiplies : callable
        Whether a call is a product that a step of the host makes.

    Raises
    ------
    CompileError
        If a region cannot be lowered.
    HostError
        If a pass leaves a program that breaks the rules.
    """
    program = build(graph, name, device, multiplies)
    if spec.verifying:
        spec.verify(program)
    grouping: tuple[Pass, ...] = (partial(group.run, device=device),) if grouped else ()
    for run in (reuse.run, *grouping, epilogue.run, lifetimes.run):
        program = _everywhere(run, program)
        if spec.verifying:
            spec.verify(program, freed=run is lifetimes.run)
    program = kernels.run(program, device)
    if segmented:
        for cut in (natives.run, segments.run):
            program = _everywhere(partial(cut, device=device), program)
    spec.verify(program, freed=True, made=True)
    return program


def _everywhere(run: Pass, program: Program) -> Program:
    """Run a pass on a program and on the functions in it."""
    program = run(program)
    return replace(program, steps=tuple(with_programs(step, partial(_everywhere, run)) for step in program.steps))
