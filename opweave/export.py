"""Programs that leave the process: `export` traces a function, `save` and `load` keep the result in a file.

    program = opweave.export.export(f, (x,))
    opweave.export.save(program, "f.opweave")

    program = opweave.export.load("f.opweave")      # in another process
    program.module()(x)

All sizes are those of the example, unless `dynamic_shapes` says otherwise; each call checks what the code came to
depend on:

    batch = opweave.export.Dim("batch", min=2, max=64)
    program = opweave.export.export(f, (x,), dynamic_shapes={"x": {0: batch}})

A custom_op is one node of the graph, to be registered where the program runs. A triton_op is one node, too, and brings
its kernels along as TTIR, so it runs on the CPU without its author's code; the grid of a launch is computed from the
sizes at hand. Control flow is exported with its branches, which may call such ops as well.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from opweave.nn.exported import UnflattenedModule, unflatten
from opweave.registry.loading import load_heavy, load_triton
from opweave.tracer.export import kernels as _kernels
from opweave.tracer.export.dims import Dim
from opweave.tracer.export.kernels import TextKernel as _TextKernel
from opweave.tracer.export.program import ExportedProgram, compile_flat as _compile_flat
from opweave.tracer.export.serialize import load, save
from opweave.tracer.export.signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from opweave.tracer.export.tracing import export

if TYPE_CHECKING:
    from opweave.artifact import compile

__all__ = [
    "ConstantArgument", "Dim", "ExportGraphSignature", "ExportedProgram", "InputKind", "InputSpec", "OutputKind",
    "OutputSpec", "TensorArgument", "UnflattenedModule", "compile", "export", "load", "save", "unflatten",
]  # fmt: skip


@functools.cache
def _of_backend(name: str) -> Any:
    """A module of the CPU backend, which loads Triton."""
    load_triton()
    return load_heavy(f"opweave.codegen.triton_cpu.{name}")


@_kernels.lower.supply
def _lower(kernel: Any, form: Any, operands: Any) -> Any:
    return _of_backend("portable").to_text(kernel, form, operands)


@_kernels.compile_text.supply
def _compile_text(kernel: _TextKernel) -> Callable[..., None]:
    parameters = [(name, kind) for name, kind in kernel.parameters if kind != "constexpr"]
    return _of_backend("portable").launcher(kernel.name, kernel.ttir, parameters, kernel.writes)


@_compile_flat.supply
def _compiled(program: ExportedProgram) -> Callable[..., Any]:
    def run(leaves: Sequence[Any], tensors: Mapping[str, Any]) -> Any:
        return program.run_flat(leaves, tensors)

    run.__name__ = program.name
    return load_heavy("opweave.compiling").compile(run, fullgraph=True)


@_kernels.verify.supply
def _verify(name: str, text: str, parameters: list[tuple[str, str]]) -> None:
    _of_backend("verify").check_text(name, text, parameters)


@_kernels.sanitized.supply
def _sanitized() -> bool:
    return _of_backend("sanitizer").enabled()


@_kernels.strictly.supply
def _strictly(steps: int) -> AbstractContextManager[None]:
    return _of_backend("sanitizer").strictly(steps)


@_kernels.check_results.supply
def _check_results(name: str, results: Any) -> None:
    _of_backend("sanitizer").require_written(name, results)


def __getattr__(name: str) -> Any:
    if name != "compile":
        raise AttributeError(f"module 'opweave.export' has no attribute {name!r}")
    found = globals()["compile"] = load_heavy("opweave.artifact").compile  # with the compiler
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
