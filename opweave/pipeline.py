"""The compiler from end to end: which stages a function goes through, in which order. Read it from top to bottom.

compile(fn)            a CompiledFunction: guards and compiled versions         (opweave.compiling, runtime.compiled)
  found                a version that another process kept ends it here         (runtime.records)
  capture              tracer: one call of fn becomes a graph              (runtime.capture)
  PASSES               graph -> graph
  generate             graph -> Triton kernels and a wrapper               (codegen.wrapper)
  load                 source -> functions                                 (runtime.load)
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from opweave.codegen import needed
from opweave.codegen.host.text import text as host_text
from opweave.codegen.wrapper import generate, host_program
from opweave.nn.traced import as_module
from opweave.passes import (
    attention,
    bundle,
    canonicalize,
    cse,
    dce,
    decompose,
    fold,
    functionalize,
    fuse,
    lookups,
    overwrite,
    partition,
    products,
    reinplace,
    sizes,
    unfuse,
)
from opweave.registry.device import Device, cpu
from opweave.registry.dtypes import DType
from opweave.registry.errors import CompileError, DeviceError
from opweave.registry.interrupts import checkpoint, let_through
from opweave.registry.loading import HAS_NATIVE, load_heavy, missing_triton
from opweave.registry.tensor import Tensor, describe
from opweave.registry.triton_op import triton_kernel_wrapper_functional
from opweave.runtime import progress
from opweave.runtime.context import below_autograd
from opweave.runtime.load import load
from opweave.runtime.logging import DEBUG, channel, lazily
from opweave.runtime.request import Program
from opweave.tracer import spec
from opweave.tracer.graph import Graph
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.interpreter import Interpreter
from opweave.tracer.printing import operand_graphs

Pass = Callable[[Graph], Graph]


def launch_objection(region: Graph) -> str:
    """Why a region with a launch of a user's kernel cannot be one kernel; empty where it can."""
    return load_heavy("opweave.codegen.launches").objection(region)


def read_launch(kernel: Any, values: Mapping[str, Any], device: Device) -> tuple[str, Sequence[str]]:
    """The text of a user's kernel as its launch would compile it, and what its parameters are called."""
    found = load_heavy("opweave.codegen.launch_text").launch_text(kernel, values, device, contract=True)
    return found.text, found.names


def map_objection(expression: Any, loaded: Mapping[str, DType], numbers: Mapping[str, Any]) -> str:
    """Why what a user's kernel computes cannot be computed in a generated one; empty where it can."""
    return load_heavy("opweave.codegen.loops.recorder").map_objection(expression, loaded, numbers)


def lift_launches(graph: Graph) -> Graph:
    """Users' kernels that are pointwise as pointwise ops."""
    if not any(node.target is triton_kernel_wrapper_functional for node in graph.nodes):
        return graph
    return load_heavy("opweave.passes.lift").run(graph, read_launch, map_objection)


#: Graph to graph, in this order.
PASSES: tuple[tuple[str, Pass], ...] = (
    ("sizes", sizes.run),  # numbers that follow from sizes of inputs become operands
    ("functionalize", functionalize.run),  # no mutation but the write-back of inputs
    ("attention", attention.run),  # products with a softmax between them become one op
    ("decompose", decompose.run),  # composite ops become pointwise ops, reductions and views
    ("canonicalize", canonicalize.run),  # ops that change nothing go
    ("fold", fold.run),  # what depends on no input becomes a literal
    ("cse", cse.run),  # what is computed twice is computed once
    ("lookups", lookups.run),  # what is looked up in a pointwise result is computed of what is in its operands
    ("products", products.run),  # what is added to a product fuses; batched products read and write in place
    ("lift", lift_launches),  # users' kernels that are pointwise become pointwise ops
    ("dce", dce.run),  # what no result needs goes
    ("fuse", functools.partial(fuse.run, objection=launch_objection)),  # what can be one kernel becomes one node
    ("reinplace", reinplace.run),  # mutating calls write in place where no copy is needed
    ("overwrite", overwrite.run),  # kernels store into the inputs that their results are written to
    ("unfuse", functools.partial(unfuse.run, passes=(fuse.run, reinplace.run, overwrite.run))),  # for tuned launches
    ("hoist", sizes.hoist),  # checks of sizes run before the kernels that rely on them
    ("limit", sizes.limit),  # offsets get 32 bits where sizes that are not fixed allow it
)

#: The level of `tracer.spec` that a graph is at from a pass on.
LEVELS = {"functionalize": "functional", "fuse": "fused"}

_passes_log = channel("passes")
_fusion_log = channel("fusion")
_host_log = channel("host")
_code_log = channel("code")


def lower(
    graph: Graph,
    stages: dict[str, str] | None = None,
    *,
    fuse_launches: bool = True,
    watch: Callable[[str, Graph, float], None] | None = None,
) -> Graph:
    """Run all passes.

    Parameters
    ----------
    graph : Graph
        As traced; changed in place.
    stages : dict, optional
        Receives the printed result of each pass that changed the graph.
    fuse_launches : bool
        Whether launches of users' kernels take in the kernels next to them.
    watch : callable, optional
        Called after each pass with its name, the graph, which it must leave as it is, and the seconds that it took.
    """
    if not fuse_launches:
        graph.graph["fuse_launches"] = False
    printing = stages is not None or _passes_log.isEnabledFor(DEBUG)
    printed = str(graph) if printing else ""
    for node in list(graph):
        if operand_graphs(node):
            # The functions of control flow are programs of their own; to the node that holds them they are opaque.
            node.args = tuple(
                [
                    lower(value, fuse_launches=fuse_launches) if isinstance(value, Graph) else value
                    for value in node.args
                ]
            )
    level = "traced"
    for name, run in PASSES:
        checkpoint()
        progress.now(name)
        level = LEVELS.get(name, level)
        version, start = graph.version, time.perf_counter()
        with below_autograd():
            graph = run(graph)
        took = time.perf_counter() - start
        if graph.version != version:
            _check(name, graph, level)
        if watch is not None:
            watch(name, graph, took)
        if printing:
            before, printed = printed, str(graph)
            changed = printed != before
            _passes_log.debug("%s: %.2f ms%s", name, took * 1e3, f"\n{printed}" if changed else ", no change")
            if stages is not None and changed:
                stages[name] = printed
    return graph


#: What a joint graph of forward and backward goes through before it is cut in two.
JOINT_PASSES = ("functionalize", "attention", "decompose", "canonicalize", "fold", "cse", "dce")


def split(
    joint: Graph, results: int, names: Sequence[str] = JOINT_PASSES, *, budget: float = 1.0, bundled: bool = False
) -> partition.Partition:
    """Forward and backward of a joint graph; both then go through all passes.

    Parameters
    ----------
    joint : Graph
        As traced; changed.
    results : int
        How many of its outputs are the function's; the others are gradients.
    names : sequence of str
        The passes before.
    budget : float
        The part of what would be saved that may be.
    bundled : bool
        Whether many saved tensors may become parts of one, which the compiler makes where they are.
    """
    passes, level = dict(PASSES), "traced"
    with below_autograd():
        for name in names:
            joint, level = passes[name](joint), LEVELS.get(name, level)
            _check(name, joint, level)
        found = partition.run(joint, results, budget=budget)
        return bundle.run(found) if bundled else found


def _check(name: str, graph: Graph, level: str) -> None:
    try:
        graph.lint()
        if spec.verifying:
            spec.verify(graph, level)
    except Exception as error:
        let_through(error)
        raise CompileError(f"the pass {name} left a graph that breaks the rules: {error}") from error


def compile_graph(module: GraphModule, name: str, *, fuse_launches: bool = True) -> Program:
    """From a captured graph to something that runs.

    Parameters
    ----------
    module : GraphModule
        The graph, and the constants it refers to.
    name : str
        Of the user's function, for the generated code.
    fuse_launches : bool
        Whether launches of users' kernels take in the kernels next to them.
    """
    if not HAS_NATIVE:
        raise missing_triton("compile: kernels are compiled on Linux only", "backend='opweave'")
    graph = lower(module.graph, fuse_launches=fuse_launches)
    needed.begin(graph)
    progress.now("host program")
    _fusion_log.debug("%s", lazily(lambda: fusion_report(graph)))
    device = _device(graph)
    with module.shape_env.settled() if module.shape_env is not None else nullcontext():
        _host_log.debug("%s", lazily(lambda: host_text(host_program(graph, name, device))))
        # Code from the cache could not repeat a decision.
        loaded = load(graph, name, device, module.constants, lambda: generate(graph, name=name, device=device))
    _code_log.debug("%s\n%s", loaded.path, loaded.source)

    def stages(captured: Graph) -> dict[str, str]:
        printed = {"captured": str(captured)}
        lower(captured.clone(), printed, fuse_launches=fuse_launches)
        return {**printed, "code": loaded.source}

    written = functionalize.written_inputs(graph)
    return Program(loaded.call, written, stages, loaded.key, str(device), module.constants)


def _device(graph: Graph) -> Device:
    """Where kernels run: the GPU if any tensor is there."""
    devices: dict[Device, Any] = {}
    for node in _nodes(graph):
        value = node.meta.get("val")
        if isinstance(value, Tensor):
            devices.setdefault(value._device, node)
    for device, node in devices.items():
        if device.type == "meta":
            raise DeviceError(
                "compile: meta tensors have no data to run on",
                got=f"{node.name}: {describe(node.meta['val'])}",
                at=node.meta.get("site"),
                hint="call the uncompiled function on meta tensors, or compile with tensors of cpu or cuda",
            )
    return next((device for device in devices if not device.is_host), cpu)


def _nodes(graph: Graph) -> Iterator[Any]:
    """All nodes, also of the functions of control flow."""
    for node in graph:
        yield node
        for inner in operand_graphs(node):
            yield from _nodes(inner)


def fusion_report(graph: Graph) -> str:
    """What became one kernel and what did not, and why; a line each."""
    return "\n".join(str(decision) for decision in graph.graph.get("fusion", ()))


def run_eagerly(module: GraphModule, name: str) -> Program:
    """The backend "eager": the captured graph, run op by op."""
    graph = sizes.spell(functionalize.run(module.graph), module.shape_env)
    return Program(lambda *inputs: Interpreter(module).run(*inputs), functionalize.written_inputs(graph))


def hand_on(backend: Callable[[GraphModule, list[Any]], Callable[..., Any]], module: GraphModule) -> Program:
    """A user's backend: what it makes of the graph and of its example inputs."""
    graph = sizes.spell(functionalize.run(module.graph), module.shape_env)
    module.recompile()
    run: Any = backend(as_module(module), [node.meta["val"] for node in graph.placeholders()])
    return Program(run, functionalize.written_inputs(graph))
