"""Kernels as LLVM IR for the machine that an artifact is made for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opweave.codegen.aot import as_ttir, function_source
from opweave.codegen.contraction import contracted
from opweave.codegen.kernel import KernelSource
from opweave.codegen.modules import load_module
from opweave.codegen.native.arguments import Parameter, parameters
from opweave.codegen.native.launch import NativeParameter, native_parameters
from opweave.codegen.native.llvm import Host
from opweave.codegen.native.segments import Symbol
from opweave.codegen.triton_cpu.analysis import Lowered, TargetFeatures
from opweave.codegen.triton_cpu.lower import lower
from opweave.registry.dataclass import dataclass


@dataclass(frozen=True)
class Compiled:
    """A kernel of an artifact, as what records launches wants it (`codegen.native.segments`).

    Attributes
    ----------
    name : str
        Its symbol.
    params, native_params
        Its parameters, as `launch.Launcher` has them.
    lowered : Lowered
        Its code.
    """

    name: str
    params: tuple[Parameter, ...]
    native_params: Sequence[NativeParameter]
    lowered: Lowered

    @property
    def assertions(self) -> tuple[str, ...]:
        """Its device assertions."""
        return self.lowered.assertions

    @property
    def word(self) -> Symbol:
        """The address of its description."""
        return Symbol(f"kernel.{self.name}")

    @property
    def is_plain(self) -> bool:
        """Whether a launch is all that is to be done: one that may fail, or takes halves, does not follow a product."""
        return not self.assertions


def compiled(kernel: KernelSource, machine: Host, *, apart: bool = True) -> Compiled:
    """Lower a kernel for a machine.

    Parameters
    ----------
    kernel : KernelSource
        What to lower.
    machine : Host
        For which.
    apart : bool
        Whether memory that it reads and memory that it writes are known to be different, where that matters.

    Raises
    ------
    CompileError
        If it does not compile.
    """
    options: dict[str, Any] = dict(kernel.options)
    if kernel.language == "ttir":
        text, fuses = kernel.source, options.get("enable_fp_fusion", True) is not False
    else:
        function = getattr(load_module(Path(kernel.file_name), kernel.source, {}), kernel.name)
        source = function_source(function, kernel.signature, dict(kernel.constexprs), kernel.attributes)
        text, fuses = as_ttir(source, {"enable_fp_fusion": False}), False
    text = contracted(text) if fuses and machine.fma else text
    features = TargetFeatures.of(machine)
    lowered = lower(text, features=features)
    if lowered.apart and not apart:
        lowered = lower(text, features=features, distinct=False)
    given = parameters(kernel.signature)
    return Compiled(lowered.name, given, native_parameters(given, lowered.assertions), lowered)
