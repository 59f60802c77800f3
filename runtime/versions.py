"""A compiled version of a function, from a call: the function is traced, and its graph compiled.

What this loads, a process that finds the version kept (`runtime.records`) never does.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from opweave.codegen import needed
from opweave.passes.partition import TANGENT, WAY_BACK, Partition
from opweave.registry.errors import UnsupportedError
from opweave.registry.op import ops, registry
from opweave.runtime.aliases import join
from opweave.runtime.capture import Captured, capture
from opweave.runtime.context import Context, below_autograd
from opweave.runtime.dependencies import guards_of
from opweave.runtime.draws import settled
from opweave.runtime.entry import Entry
from opweave.runtime.logging import DEBUG, channel
from opweave.runtime.recording import counting, is_opaque, running
from opweave.runtime.records import Wanted
from opweave.runtime.relations import relate
from opweave.runtime.request import Program, Request
from opweave.tracer.graph import Graph
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.printing import print_graph

aten = ops.aten
_guards_log = channel("guards")
_graph_log = channel("graph")


def make(request: Request, wanted: Wanted) -> Entry:
    """A version for a call.

    Parameters
    ----------
    request : Request
        The call.
    wanted : Wanted
        What the function reads in it; the version is kept for other processes under that, where it can be.

    Raises
    ------
    UnsupportedError
        If the function cannot be traced, or what it reads changes by itself.
    """
    name = request.name
    context, changes = Context.now(), registry.builtin_version
    captured = capture(request, wanted.take() or guards_of(request))
    backward = captured.backward
    if _graph_log.isEnabledFor(DEBUG):
        module = captured.module
        _graph_log.debug("%s", print_graph(module.graph, name, takes_self=bool(module.constants)))
    needed.begin(captured.module.graph)
    captured.inputs = _drop_unused(captured)
    joined = join(captured)
    keep = _without_gradients(captured)
    with below_autograd():
        program, partition = _programs(request, captured)
    if backward is not None:
        backward.place(captured.inputs)
    opaque = is_opaque(captured.ops, captured.inputs)
    run = running(counting(program.run, captured.relaid), backward, context, opaque)
    if captured.shape_env is not None:
        captured.guards.open(captured.shape_env, captured.numbers)
    relaid = bool(captured.relaid)
    relate(name, captured.guards, captured.inputs, program.written, relaid=relaid, joined=joined)
    if any(node.target is aten.as_strided.default for node in keep):
        captured.guards.offsets()
    for guard in captured.guards.guards:
        _guards_log.debug("%s: %s", name, guard)
    entry = Entry(
        request.index, captured.guards, captured.inputs, captured.result, run, captured.ops, program,
        (keep, partition), context, changes,
    )  # fmt: skip
    entry.backward, entry.draws = backward, captured.draws
    if not joined and not captured.draws:
        wanted.keep(request, entry, captured)
    captured.guards.release()
    for whole in joined.values():
        whole.tensor = None
    with settled() if captured.draws else nullcontext():
        reason = entry.mismatch(request.parameters, request.args, request.kwargs)
    if reason is not None:
        # A name that is loaded when it is first asked for is there at the next call, which is traced again.
        raise UnsupportedError(
            f"compile: {name} depends on something that changes by itself: {reason}",
            hint="a property or __getattr__ that gives another value each time cannot be compiled in",
        )
    return entry


def _programs(request: Request, captured: Captured) -> tuple[Program, Partition | None]:
    """The forward's program; the backward's is made when it is first asked for."""
    module, backward = captured.module, captured.backward
    if backward is None or backward.problem is not None:
        return request.compile_graph(module, request.name), None
    partition = request.split(module.graph, backward.outputs)
    backward.split(partition.forward, partition.backward, module.constants)
    module.graph = partition.forward.clone()
    program = request.compile_graph(module, request.name)
    constants, env = backward.constants, module.shape_env
    # Of the request no more: it holds the arguments.
    name, compile_graph = f"{request.name}_backward", request.compile_graph

    def compile_backward(graph: Graph, first: bool = False) -> Program:
        way_back = GraphModule(dict(constants), graph, name=name)
        way_back.shape_env = env
        with below_autograd(), nullcontext() if env is None or first else env.settled():
            return compile_graph(way_back, name)

    backward.compile = compile_backward
    if env is not None:
        # With sizes left open it may add to what the version depends on, so it has to be made now.
        backward.compiled[frozenset()] = compile_backward(partition.backward.clone(), first=True).run
    return program, partition


def _without_gradients(captured: Captured) -> Graph:
    """The function itself, as captured."""
    graph = captured.module.graph.clone()
    if captured.backward is not None and captured.backward.problem is None:
        output = graph.output_node()
        output.args = (tuple(output.args[0][: captured.backward.outputs]),)
        for node in reversed(list(graph)):
            if not node.users and (WAY_BACK in node.meta or TANGENT in node.meta):
                graph.erase_node(node)
    return graph


def _drop_unused(captured: Captured) -> list[Any]:
    graph, kept = captured.module.graph, []
    inputs = [node for node in graph.placeholders() if TANGENT not in node.meta]
    for node, tensor in zip(inputs, captured.inputs, strict=True):
        if node.users:
            kept.append(tensor)
        else:
            graph.erase_node(node)
    return kept
