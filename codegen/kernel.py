"""A generated kernel: its source, how it is compiled, and how often it runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opweave.codegen.modules import load_module
from opweave.registry.dataclass import dataclass
from opweave.registry.dtypes import DType
from opweave.registry.loading import load_heavy

#: What TTIR says of a parameter of `KernelSource.apart`.
APART = "tt.apart"


@dataclass(frozen=True)
class KernelSource:
    """A kernel as text.

    Attributes
    ----------
    name : str
        Name of the function.
    source : str
        A whole Python module.
    parameters : tuple of (str, DType)
        Pointers it takes, in order, with what they point to.
    constexprs : mapping of str to int
        Its compile-time parameters.
    grid : tuple of int
        Programs in each dimension; None for a number that follows from sizes which are not fixed.
    numbers : tuple of (str, str)
        Parameters behind the pointers that are plain numbers, in order, with their types as Triton names them.
    num_warps : int
        Warps a program has on CUDA.
    aligned : tuple of str
        Pointers known to be multiples of 16 bytes, so that CUDA loads and stores of neighbours can be joined.
    apart : tuple of str
        Tables of addresses of which two are of different memory, or one address, and then all accesses are at the same
        distance from it.
    language : {"triton", "ttir"}
        Of the source. TTIR is a user's kernel with other ops in it: all its parameters are `numbers`, in order.
    options : tuple of (str, object)
        Options of the compilation, besides.
    helpers : str
        The functions that were put into TTIR, as Triton.
    later : bool
        Whether it is compiled when it is launched first: it may never be, as one of several that are tuned.
    """

    name: str
    source: str
    parameters: tuple[tuple[str, DType], ...]
    constexprs: Mapping[str, int]
    grid: tuple[int | None, int, int]
    numbers: tuple[tuple[str, str], ...] = ()
    num_warps: int = 4
    aligned: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    language: str = "triton"
    options: tuple[tuple[str, Any], ...] = ()
    helpers: str = ""
    later: bool = False

    @property
    def signature(self) -> dict[str, str]:
        """Types of the parameters as Triton names them."""
        return {name: f"*{dtype.triton}" for name, dtype in self.parameters} | dict(self.numbers)

    @property
    def attributes(self) -> dict[str, Any]:
        """What is known of the pointers, as Triton has it."""
        return dict.fromkeys(self.aligned, 16) | {name: [[APART, 1]] for name in self.apart}

    @property
    def file_name(self) -> str:
        """A file name that is its own for this text."""
        ending = "py" if self.language == "triton" else self.language
        return f"{self.name}_{hashlib.sha256(self.source.encode()).hexdigest()[:16]}.{ending}"

    @property
    def text(self) -> str:
        """What there is to read of it."""
        return self.source if self.language == "triton" else self.helpers


def lower_source(kernel: KernelSource, folder: Path) -> Any:
    """A generated kernel for the CPU, all but compiled: an `aot.LoweredKernel`.

    Parameters
    ----------
    kernel : KernelSource
        What to compile.
    folder : Path
        Where its source file is, or would be.
    """
    compiler = load_heavy("opweave.codegen.aot")
    if kernel.language == "ttir":
        return compiler.lower_kernel(kernel.source, dict(kernel.options))
    function = _function(kernel, folder)
    source = compiler.function_source(function, kernel.signature, dict(kernel.constexprs), kernel.attributes)
    return compiler.lower_kernel(source, _options(kernel))


def compile_source(kernel: KernelSource, folder: Path, target: Any = "cpu") -> Any:
    """Compile a generated kernel.

    Parameters
    ----------
    kernel : KernelSource
        What to compile.
    folder : Path
        Where its source file is, or would be: for tracebacks and debuggers.
    target : str or triton GPUTarget
        `"cpu"`, `"sm_90"`, ...

    Returns
    -------
    triton.compiler.CompiledKernel
        For the launcher of the target's runtime.
    """
    compiler = load_heavy("opweave.codegen.aot")
    if kernel.language == "ttir":
        return compiler.compile_text(kernel.source, dict(kernel.options), target=target)
    constants, options = dict(kernel.constexprs), _options(kernel)
    return compiler.compile_kernel(
        _function(kernel, folder), kernel.signature, constants, kernel.attributes, target=target, options=options
    )


def _function(kernel: KernelSource, folder: Path) -> Any:
    return getattr(load_module(folder / kernel.file_name, kernel.source, {}), kernel.name)


def _options(kernel: KernelSource) -> dict[str, Any]:
    # Products and sums are rounded as eager ones are. Joined in one kernel and apart in another, they would give two
    # answers to what is one number, of which one may choose a place and the other its weight.
    return {"enable_fp_fusion": False, "num_warps": kernel.num_warps}
