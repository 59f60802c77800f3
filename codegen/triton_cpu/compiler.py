"""The compiler half of the backend: `ttir` -> `llir` (LLVM IR text) -> `obj` (object code with a checksum).

Triton finds `CPUBackend` here; it must stay this module's only concrete `BaseBackend`. Triton imports this module
while it is imported itself, so LLVM and the lowering load at the first compilation.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from triton.backends.compiler import BaseBackend, GPUTarget, Language

from opweave.codegen import contraction, native
from opweave.codegen.native import llvm, objects
from opweave.codegen.triton_cpu.analysis import Lowered, TargetFeatures
from opweave.codegen.triton_cpu.refusal import UnsupportedTritonOp
from opweave.registry import interrupts
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import UnsupportedError
from opweave.registry.loading import load_heavy
from opweave.registry.triton import inline, modules, ttir


@dataclass(frozen=True)
class CPUOptions:
    """Compilation options: those that Triton's frontend and launcher read from any backend.

    What only means something on a GPU (`num_warps`, `num_stages`, ...) is accepted, so that kernels and autotuning
    configurations written for CUDA run unchanged, and set to one value, so that it does not multiply compilations.
    """

    num_warps: int = 1
    num_ctas: int = 1
    num_stages: int = 1
    warp_size: int = 1
    maxnreg: int | None = None
    ptx_version: int | None = None
    ptx_options: str | None = None
    enable_reflect_ftz: bool = False
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    extern_libs: tuple[tuple[str, str], ...] = ()

    arch: str = ""
    backend_name: str = "cpu"
    debug: bool = False
    sanitize_overflow: bool = False
    debug_info: bool = False
    """Source lines for debuggers and profilers; `OPWEAVE_DEBUG_INFO=1` turns them on."""
    enable_fp_fusion: bool = True
    supported_fp8_dtypes: tuple[str, ...] = ("fp8e5", "fp8e4nv", "fp8e4b15", "fp8e4b8", "fp8e5b16")
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    default_dot_input_precision: str = "ieee"
    allowed_dot_input_precisions: tuple[str, ...] = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = 0
    instrumentation_mode: str = ""
    fpsan_homomorphic_casts: bool = False
    ir_override: str | None = None

    def hash(self) -> str:
        """Key of these options in Triton's disk cache."""
        values = repr([(f.name, getattr(self, f.name)) for f in fields(self)])
        return hashlib.sha256(values.encode()).hexdigest()


_GPU_ONLY = frozenset(
    {
        "num_warps", "num_ctas", "num_stages", "warp_size", "maxnreg", "ptx_version", "ptx_options",
        "enable_reflect_ftz", "launch_cooperative_grid", "launch_pdl", "extern_libs",
    }
)  # fmt: skip


_PASSES = (
    "common.inliner", modules.BLOCK_POINTERS, "ttir.rewrite_tensor_descriptor_to_pointer",
    "common.canonicalizer", "ttir.combine", "ttir.reorder_broadcast", "common.cse", "ttir.triton_licm",
    "common.symbol_dce", "ttir.loop_unroll",
)  # fmt: skip
"""Those of Triton's passes that hang on no target. Block pointers and descriptors become plain pointers."""


class CPUBackend(BaseBackend):
    """Compiles Triton kernels to native code for the host CPU."""

    binary_ext = "obj"

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "cpu"

    def hash(self) -> str:
        """Everything but the kernel and its options that decides what the object code is."""
        return f"{_toolchain()}-{self.target.arch}"

    def parse_options(self, options: dict[str, Any]) -> CPUOptions:
        known = {f.name for f in fields(CPUOptions)} - _GPU_ONLY
        chosen = {name: value for name, value in options.items() if name in known and value is not None}
        chosen["arch"] = str(self.target.arch)
        # Overflow checks are device assertions, which only a debug build has.
        chosen["sanitize_overflow"] = bool(chosen.get("debug")) and bool(options.get("sanitize_overflow", True))
        if os.environ.get("OPWEAVE_DEBUG_INFO", "") not in ("", "0"):
            chosen["debug_info"] = True
        return CPUOptions(**chosen)

    def pack_metadata(self, metadata: Any) -> tuple[int, int, int]:
        return (metadata.num_warps, metadata.num_ctas, metadata.shared)

    def get_codegen_implementation(self, options: CPUOptions) -> dict[str, Any]:
        return {"min_dot_size": _smallest_dot, "convert_custom_types": _convert_float8e4b15}

    def get_module_map(self) -> dict[str, ModuleType]:
        # CUDA's names (`__nv_expf`): the lowering knows them and puts its own code in their place.
        from triton.language.extra.cuda import libdevice

        return {"triton.language.extra.libdevice": libdevice}

    def load_dialects(self, context: Any) -> None:
        modules.refuse_nested_pointers()

    def add_stages(
        self, stages: dict[str, Callable[[Any, Any], Any]], options: object, language: Language | None = None
    ) -> None:
        if language not in (None, Language.TRITON):
            raise UnsupportedError("the CPU backend compiles Triton kernels only", got=f"a {language.name} kernel")
        stages["ttir"] = lambda module, metadata: _logged_ttir(self.make_ttir(module))
        stages["llir"] = lambda module, metadata: self.make_llir(module, metadata)
        stages["obj"] = lambda text, metadata: self.make_obj(text, metadata)
        hook = _stages_hook()
        if hook is not None:
            hook(self, stages, options, language, None)

    @staticmethod
    def make_ttir(module: Any) -> Any:
        """Triton's own target-independent passes."""
        return modules.run_passes(module, _PASSES, "make_ttir")

    @staticmethod
    def make_llir(module: Any, metadata: dict[str, Any]) -> str:
        """Our lowering, from the printed module to LLVM IR text."""
        lower: Callable[..., Lowered] = load_heavy("opweave.codegen.triton_cpu.lower").lower
        interrupts.checkpoint()
        host = llvm.host()
        sanitize = is_sanitized(metadata["target"])
        features = TargetFeatures.of(host, sanitize)
        contract = contraction.contracted if contracts(metadata) else str
        text = contract(module.str_nodebug())
        try:
            # Places in the user's source make the text twice as long: only where something will name them.
            lines = bool(metadata.get("debug_info"))
            placed = sanitize or lines or "tt.assert" in text
            lowered = lower(contract(str(module)) if placed else text, features=features, debug_info=lines)
        except UnsupportedTritonOp:
            lower(contract(str(module)), features=features)  # refuses again, and says where
            raise
        metadata["name"] = lowered.name
        metadata["assertions"], metadata["written"] = lowered.assertions, lowered.written
        metadata["sites"], metadata["parameters"] = lowered.sites, lowered.params
        # For a launch on memory that the kernel both reads and writes, it is compiled again, from this text.
        metadata["apart"], metadata["text"] = lowered.apart, text if lowered.apart else ""
        # Read by Triton of every kernel: there is no shared memory and no scratch memory here.
        metadata["shared"] = 0
        metadata["global_scratch_size"] = metadata["profile_scratch_size"] = 0
        metadata["global_scratch_align"] = metadata["profile_scratch_align"] = 1
        return lowered.llvm_ir

    @staticmethod
    def make_obj(text: str, metadata: dict[str, Any]) -> bytes:
        name = metadata["name"]
        _log("llvm", name, lambda: text)
        _log("asm", name, lambda: llvm.assembly(text, name=name))
        sanitized = is_sanitized(metadata["target"])
        return llvm.compile_object(
            text, name=name, level=objects.AS_IS if sanitized and len(text) > LONG else objects.CLEANED
        )


def contracts(options: Any) -> bool:
    """Whether a product and a sum may become one operation, and the machine has it.

    Parameters
    ----------
    options : CPUOptions or mapping
        What the kernel is compiled with.
    """
    found = cast("Mapping[str, Any]", options if isinstance(options, Mapping) else vars(options))
    return found.get("enable_fp_fusion", True) is not False and llvm.host().fma


def _smallest_dot(lhs: Any, rhs: Any) -> tuple[int, int, int]:
    return 1, 1, 1


def _logged_ttir(module: Any) -> Any:
    _log("ttir", module.get_entry_func_name() or "kernel", module.str_nodebug)
    return module


def _log(channel: str, name: str, form: Callable[[], str]) -> None:
    """Show one form of a kernel that is being compiled, where `OPWEAVE_LOGS` asks for it."""
    logger = logging.getLogger(f"opweave.{channel}")
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug("%s\n%s", name, form())


def _convert_float8e4b15(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = None, _semantic: Any = None) -> Any:
    """To and from float8e4b15, which in the IR is an i8: the upper byte of a float16 without its first exponent bit.

    As on a GPU: what reaches 1.75 becomes 1.75, NaN too (the format has none), and halves are rounded up.
    """
    from triton import language as tl

    s = _semantic

    def binary(name: str, x: Any, y: int, *rest: Any) -> Any:
        return getattr(s, name)(x, s.scalar_constant(y, tl.uint16), *rest)

    if arg.dtype.is_fp8e4b15():
        if dst_ty.scalar not in (tl.float16, tl.float32):
            raise UnsupportedError("float8e4b15 converts to float16 and float32", got=str(dst_ty.scalar))
        byte = tl.tensor(arg.handle, arg.type.with_element_ty(tl.uint8) if arg.type.is_block() else tl.uint8)
        bits = s.cast(byte, tl.uint16)
        upper = binary("shl", binary("and_", bits, 0x80), 8)
        whole = s.or_(binary("shl", binary("and_", bits, 0x7F), 7), upper)
        return s.cast(s.bitcast(whole, tl.float16), dst_ty.scalar)
    if arg.dtype not in (tl.float16, tl.float32):
        raise UnsupportedError("float8e4b15 is made of float16 and float32", got=str(arg.dtype))
    half = s.cast(arg, tl.float16, "rtz") if arg.dtype == tl.float32 else arg
    bits = s.bitcast(half, tl.uint16)
    magnitude = binary("minimum", binary("and_", bits, 0x7FFF), 0x3F00, None)
    rounded = binary("lshr", binary("add", binary("shl", magnitude, 1), 0x80, False), 8)
    byte = s.cast(s.or_(rounded, binary("lshr", binary("and_", bits, 0x8000), 8)), tl.uint8)
    return tl.tensor(byte.handle, arg.type.with_element_ty(tl.float8e4b15) if arg.type.is_block() else tl.float8e4b15)


LONG = 300_000
"""Characters of a sanitized kernel's LLVM IR from which on it is not optimised: that would take minutes."""
SANITIZED = "+sanitize"
"""Ends the architecture of a target whose kernels are sanitized."""


def is_sanitized(target: Any) -> bool:
    """Whether kernels for a target look at every access before they make it."""
    return str(getattr(target, "arch", "")).endswith(SANITIZED)


def _stages_hook() -> Any:
    from triton import knobs

    return getattr(knobs.runtime, "add_stages_inspection_hook", None)


@functools.cache
def _toolchain() -> str:
    import llvmlite
    import triton

    digest = hashlib.sha256()
    others = [Path(str(module.__file__)) for module in (contraction, ttir, modules, inline)]
    folders = (Path(__file__).parent, Path(str(native.__file__)).parent)
    for source in [*(file for folder in folders for file in sorted(folder.glob("*.py"))), *others]:
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    host = llvm.host()
    machine = (host.triple, host.cpu, sorted(host.features))
    digest.update(repr((triton.__version__, llvmlite.__version__, machine)).encode())
    return "opweave-" + digest.hexdigest()[:32]
