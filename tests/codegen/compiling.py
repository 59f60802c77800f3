"""From a function, or from a hand-made loop nest, to native code, with every stop in between in the tests' hands."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from opweave.codegen.backends import CPU, Target
from opweave.codegen.checks import cell_of, passed
from opweave.codegen.kernel import KernelSource, compile_source
from opweave.codegen.loops.nest import LoopNest, Store
from opweave.codegen.loops.recorder import Recorder, Term
from opweave.codegen.loops.steps import plan
from opweave.codegen.loops.values import Buffer, Values
from opweave.codegen.native.launch import direct_launcher
from opweave.codegen.triton_source import print_kernel
from opweave.codegen.wrapper import Generated, generate
from opweave.pipeline import lower
from opweave.registry.device import cpu
from opweave.registry.dtypes import from_numpy as dtype_of
from opweave.registry.tensor import Tensor, from_numpy
from opweave.tracer.graph import Graph
from opweave.tracer.loops.index import Axis, Index
from opweave.tracer.make_fx import make_fx

FOLDER = Path("/opweave_test_kernels")  # named in tracebacks only


def tensor(*sizes: int, dtype: Any = np.float32, seed: int = 0) -> Tensor:
    """Random numbers, the same at each call; integers for integer types."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-4, 5, sizes) if np.dtype(dtype).kind in "iu" else rng.normal(size=sizes)
    return from_numpy(np.asarray(values).astype(dtype))


def traced(fn: Callable[..., Any], *tensors: Tensor) -> Graph:
    """The graph of a function after all passes."""
    return lower(make_fx(fn, tracing_mode="fake")(*tensors).graph)


def regions(graph: Graph) -> list[Graph]:
    """The fused regions of a graph."""
    return [node.target for node in graph.nodes if isinstance(node.target, Graph)]


def bind(generated: Generated) -> Callable[..., Any]:
    """The wrapper with its kernels compiled for this machine."""
    names = dict(generated.names)
    for kernel in generated.kernels:
        names[kernel.name] = launcher(kernel)
    exec(compile(generated.source, "<wrapper>", "exec", dont_inherit=True), names)
    return names[generated.name]


def launcher(kernel: KernelSource) -> Callable[..., None]:
    """A kernel compiled for this machine."""
    return direct_launcher(compile_source(kernel, FOLDER))


def cubin(kernel: KernelSource) -> bytes:
    """A kernel compiled for compute capability 9.0."""
    return compile_source(kernel, FOLDER, "sm_90").asm["cubin"]


def compiled(fn: Callable[..., Any], *tensors: Tensor) -> Callable[..., Any]:
    """A function through the whole compiler, without the runtime's cache and guards."""
    return bind(generate(traced(fn, *tensors)))


def small_target(**changes: Any) -> Target:
    """The CPU's numbers with some replaced, to reach loops and splits with small tensors."""
    return dataclasses.replace(CPU, **changes)


def evaluate(body: Callable[..., Any], *arrays: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A scalar body run natively over equally long arrays: `body(k, *values)` as ops are written."""
    axis = Axis("i", arrays[0].size)
    values = Values()
    k = Recorder(values)
    buffers = [Buffer(f"x{n}", dtype_of(a.dtype), (a.size,), (1,)) for n, a in enumerate(arrays)]
    result = k.term(body(k, *[Term(k, values.load(buffer, Index.of(axis))) for buffer in buffers])).value
    out = Buffer("out", result.dtype, (axis.size,), (1,))
    store = Store(out, Index.of(axis), result, "body", None)
    nest = LoopNest(("body",), (axis,), (), tuple(buffers), (out,), (store,))
    found = np.empty(axis.size, result.dtype.numpy)
    run_nest(nest, CPU, [*arrays, found])
    return found


def run_nest(nest: LoopNest, target: Target, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
    """Run a nest natively; arrays in the order of its inputs and outputs."""
    known = dict(zip([*nest.inputs, *nest.outputs], arrays, strict=True))
    for number, (stage, schedule) in enumerate(plan(nest, target)):
        kernel = print_kernel(stage, schedule, number)
        for buffer in stage.outputs:
            if buffer not in known:
                known[buffer] = np.empty(buffer.sizes, buffer.dtype.numpy)
        addresses = [known[b].ctypes.data for b in (*stage.inputs, *stage.outputs)]
        checks, cell = stage.checks(), cell_of(cpu)
        if checks:
            addresses.append(cell.data_ptr())
        launcher(kernel)(*kernel.grid, *addresses)
        passed(cell, [(check.message, None) for check in checks])
