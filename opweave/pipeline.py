"""The compiler from end to end: which stages a function goes through, in which order. Read it from top to bottom.

compile(fn)            a CompiledFunction: guards and compiled versions
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

from opweave.codegen.host.text import text as host_text
from opweave.codegen.wrapper import generate, host_program
from opweave.passes import (
    canonicalize,
    cse,
    dce,
    decompose,
    fold,
    functionalize,
    fuse,
    overwrite,
    partition,
    products,
    reinplace,
    sizes,
    unfuse,
)
from opweave.registry.device import Device, cpu
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, CompileError, DeviceError, UnsupportedError
from opweave.registry.interrupts import checkpoint, let_through
from opweave.registry.loading import load_heavy
from opweave.registry.tensor import Tensor, describe
from opweave.registry.triton_op import triton_kernel_wrapper_functional
from opweave.runtime.compiled import CompiledFunction, Program
from opweave.runtime.context import below_autograd
from opweave.runtime.load import load
from opweave.runtime.logging import DEBUG, channel, lazily
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
    ("decompose", decompose.run),  # composite ops become pointwise ops, reductions and views
    ("canonicalize", canonicalize.run),  # ops that change nothing go
    ("fold", fold.run),  # what depends on no input becomes a literal
    ("cse", cse.run),  # what is computed twice is computed once
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


def lower(graph: Graph, stages: dict[str, str] | None = None, *, fuse_launches: bool = True) -> Graph:
    """Run all passes.

    Parameters
    ----------
    graph : Graph
        As traced; changed in place.
    stages : dict, optional
        Receives the printed result of each pass that changed the graph.
    fuse_launches : bool
        Whether launches of users' kernels take in the kernels next to them.
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
        level = LEVELS.get(name, level)
        version, start = graph.version, time.perf_counter()
        with below_autograd():
            graph = run(graph)
        took = time.perf_counter() - start
        if graph.version != version:
            _check(name, graph, level)
        if printing:
            before, printed = printed, str(graph)
            changed = printed != before
            _passes_log.debug("%s: %.2f ms%s", name, took * 1e3, f"\n{printed}" if changed else ", no change")
            if stages is not None and changed:
                stages[name] = printed
    return graph


#: What a joint graph of forward and backward goes through before it is cut in two.
JOINT_PASSES = ("functionalize", "decompose", "canonicalize", "fold", "cse", "dce")


def split(
    joint: Graph, results: int, names: Sequence[str] = JOINT_PASSES, *, budget: float = 1.0
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
    """
    passes, level = dict(PASSES), "traced"
    with below_autograd():
        for name in names:
            joint, level = passes[name](joint), LEVELS.get(name, level)
            _check(name, joint, level)
        return partition.run(joint, results, budget=budget)


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
    graph = lower(module.graph, fuse_launches=fuse_launches)
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

    return Program(loaded.call, functionalize.written_inputs(graph), stages)


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


_BACKENDS: dict[str, Callable[[GraphModule, str], Program]] = {
    "opweave": compile_graph,
    "inductor": compile_graph,
    "eager": run_eagerly,
}


def compile(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    fullgraph: bool | None = None,
    dynamic: bool | None = None,
    backend: str | Callable[[GraphModule, list[Any]], Callable[..., Any]] = "opweave",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Compile a function: trace it when called, fuse its ops into kernels, and run those from then on.

    Parameters
    ----------
    fn : callable, optional
        A function, method or callable object on tensors. Arguments and results may be nested in tuples, lists, dicts,
        dataclasses and registered pytree nodes; Python values count as constants. Without it a decorator is returned.
    fullgraph : bool, optional
        A function is always one graph, and what cannot be traced is an error. What it reads beside its arguments is
        guarded; where that cannot be, as what another library's function asks the system for: True raises; None and
        False run the function uncompiled, with one `UncompiledWarning` that names the line. What gives another value at
        each call (`random`, `time`), and objects that cannot be compared, raise unless `fullgraph` is False.
    dynamic : bool, optional
        Whether one version serves many sizes of the arguments. True: all sizes are left open from the start. None: a
        size is fixed until a call brings another one, from then on it is open. False: a version for each size. See
        `mark_dynamic` and `mark_static`. Sizes 0 and 1 are fixed in any case.
    backend : str or callable
        ``"opweave"``; ``"eager"`` runs the graph op by op; or a function ``(GraphModule, example_inputs) -> callable``.
    mode : str, optional
        Only ``"default"``.
    options : dict, optional
        ``recompile_limit`` (8): compiled versions of the function before further ones run uncompiled, with a warning.
        ``fuse_launches`` (True): launches of users' Triton kernels take in the pointwise kernels next to them.
        ``memory_budget`` (1.0): of the bytes that are saved for the backward by default, the part that may be; what is
        not saved is computed again.

    Returns
    -------
    CompiledFunction
        Called like `fn`.

    Raises
    ------
    UnsupportedError
        For an option that does nothing here.

    Notes
    -----
    Where calls are recorded and an input requires grad, the results do too, and `backward` goes through the compiled
    function (`runtime.gradients`); its first derivative only. A version belongs to the grad mode, inference mode,
    autocast settings and default dtype that it was compiled in.

    Examples
    --------
    >>> @opweave.compile
    ... def f(x, bias):
    ...     return (x + bias).relu()
    """
    if dynamic is not None and type(dynamic) is not bool:
        raise ArgumentError("compile: dynamic must be True, False or None", got=repr(dynamic))
    if fullgraph is not None and type(fullgraph) is not bool:
        raise ArgumentError("compile: fullgraph must be True, False or None", got=repr(fullgraph))
    if mode not in (None, "default"):
        raise UnsupportedError(f"compile: mode={mode!r} is not available", hint="leave it out")
    if options is not None and not isinstance(options, dict):
        raise ArgumentError("compile: options must be a dict", got=repr(options), hint="{'recompile_limit': 8}")
    settings = dict(options or {})
    limit, budget = settings.pop("recompile_limit", 8), settings.pop("memory_budget", 1.0)
    fuse_launches = settings.pop("fuse_launches", True)
    if settings:
        raise UnsupportedError(
            f"compile: unknown options {', '.join(map(repr, settings))}",
            got=f"options={options!r}",
            hint="known: 'fuse_launches', 'memory_budget', 'recompile_limit'",
        )
    if type(fuse_launches) is not bool:
        raise ArgumentError("compile: fuse_launches must be True or False", got=repr(fuse_launches))
    if type(limit) is not int or limit < 0:
        raise ArgumentError(
            "compile: recompile_limit must be a number of versions", got=repr(limit), hint="{'recompile_limit': 8}"
        )
    if not isinstance(budget, (int, float)) or isinstance(budget, bool) or not 0 <= budget <= 1:
        raise ArgumentError(
            "compile: memory_budget must be a number from 0 to 1", got=repr(budget), hint="{'memory_budget': 0.5}"
        )
    build = _backend(backend)
    names = JOINT_PASSES if build is compile_graph else ("functionalize", "dce")
    if build is compile_graph and not fuse_launches:
        build = functools.partial(compile_graph, fuse_launches=False)
    halves = functools.partial(split, names=names, budget=float(budget))

    def wrap(function: Any) -> CompiledFunction:
        if not callable(function):
            raise UnsupportedError(
                "compile: expected a function",
                got=f"{function!r} ({type(function).__name__})",
                hint="opweave.compile(f), or @opweave.compile above its definition",
            )
        return CompiledFunction(function, build, split=halves, limit=limit, dynamic=dynamic, fullgraph=fullgraph)

    return wrap if fn is None else wrap(fn)


def _backend(backend: Any) -> Callable[[GraphModule, str], Program]:
    if isinstance(backend, str) or not callable(backend):
        if not isinstance(backend, str) or backend not in _BACKENDS:
            raise UnsupportedError(
                f"compile: no backend named {backend!r}",
                got=f"backend={backend!r}",
                hint=f"one of {', '.join(map(repr, _BACKENDS))}, or a function",
            )
        return _BACKENDS[backend]

    def build(module: GraphModule, name: str) -> Program:
        graph = sizes.spell(functionalize.run(module.graph), module.shape_env)
        module.recompile()
        run: Any = backend(module, [node.meta["val"] for node in graph.placeholders()])
        return Program(run, functionalize.written_inputs(graph))

    return build
