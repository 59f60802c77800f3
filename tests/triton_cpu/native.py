"""Compile a `@triton.jit` kernel straight through the lowering and run it on NumPy arrays, without the plug-in."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from triton._C.libtriton import ir, passes
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.runtime.jit import JITFunction

from opweave.codegen.native import amx, llvm, objects
from opweave.codegen.triton_cpu.analysis import Lowered, TargetFeatures
from opweave.codegen.triton_cpu.lower import lower

_TARGET = GPUTarget("cuda", 90, 32)
_DTYPES = {
    "float16": "fp16", "float32": "fp32", "float64": "fp64", "bfloat16": "bf16", "bool": "i1", "int8": "i8",
    "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip
_PACK = {"fp32": "f4x", "fp64": "d"}
BF16 = np.dtype(ml_dtypes.bfloat16)


def ttir(
    kernel: JITFunction[Any], signature: dict[str, str], constants: dict[str, Any], *, locations: bool = False
) -> str:
    """TTIR of a kernel, after the passes that a backend runs on it."""
    backend = make_backend(_TARGET)
    options = backend.parse_options({"debug": True, "sanitize_overflow": False})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source = ASTSource(kernel, signature, constants, {})
    module = source.make_ir(
        _TARGET, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
    )
    manager = ir.pass_manager(context)
    passes.common.add_inliner(manager)
    passes.ttir.add_rewrite_tensor_descriptor_to_pointer(manager)
    if hasattr(passes.ttir, "add_rewrite_tensor_pointer"):  # gone in Triton 3.8
        passes.ttir.add_rewrite_tensor_pointer(manager)
    passes.common.add_canonicalizer(manager)
    passes.ttir.add_combine(manager)
    passes.ttir.add_reorder_broadcast(manager)
    passes.common.add_cse(manager)
    passes.ttir.add_triton_licm(manager)
    passes.common.add_symbol_dce(manager)
    manager.run(module, "ttir")
    return str(module) if locations else module.str_nodebug()


def _kind(arg: Any) -> str:
    match arg:
        case np.ndarray():
            return "*" + _DTYPES[arg.dtype.name]
        case bool() | np.bool_():
            return "i1"
        case int():
            return "i32" if -(2**31) <= arg < 2**31 else "i64"
        case np.integer():
            return _DTYPES[arg.dtype.name]
        case _:
            return "fp32"


@cache
def _compiled(
    kernel: JITFunction[Any],
    kinds: tuple[str, ...],
    constants: tuple[tuple[str, Any], ...],
    features: TargetFeatures,
    instructions: str,
) -> tuple[Any, Lowered]:
    names = [p.name for p in kernel.params if p.name not in dict(constants)]
    signature = dict(zip(names, kinds, strict=True)) | {name: "constexpr" for name, _ in constants}
    ordered = {p.name: signature[p.name] for p in kernel.params}
    lowered = lower(ttir(kernel, ordered, dict(constants)), features=features)
    code = objects.load(llvm.compile_object(lowered.llvm_ir, name=lowered.name), [lowered.name])
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, *[ctypes.c_int32] * 3)
    entry = function(code.address(lowered.name))
    entry.code = code  # type: ignore[attr-defined]
    return entry, lowered


def compiled(
    kernel: JITFunction[Any], *args: Any, features_: TargetFeatures | None = None, **constants: Any
) -> tuple[Callable[..., None], bytes, Lowered]:
    kinds = tuple(_kind(a) for a in args)
    features = features_ or TargetFeatures.of(llvm.host())
    entry, lowered = _compiled(kernel, kinds, tuple(constants.items()), features, amx.DECLARATIONS)
    values = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in args]
    layout = "<" + "".join(_PACK.get(k, "q") for k in kinds)
    return entry, struct.pack(layout, *values), lowered


def launch(kernel: JITFunction[Any], grid: Sequence[int], *args: Any, **constants: Any) -> None:
    """Run `kernel` on a grid; arrays are passed as pointers, keywords as constexprs, but for `features_`."""
    gx, gy, gz = (*grid, 1, 1)[:3]
    entry, packed, _ = compiled(kernel, *args, **constants)
    entry(packed, 0, gx * gy * gz, gx, gy, gz)


def ulps(got: np.ndarray[Any, Any], exact: np.ndarray[Any, Any]) -> float:
    """Largest error in units of the last place of `got`'s type; NaNs and infinities must agree."""
    info = ml_dtypes.finfo(got.dtype)
    with np.errstate(all="ignore"):
        rounded = exact.astype(got.dtype)
    g, e = got.astype(np.float64), exact.astype(np.float64)
    finite = np.isfinite(rounded.astype(np.float64))
    np.testing.assert_array_equal(g[~finite], rounded.astype(np.float64)[~finite])
    _, exponent = np.frexp(e[finite])
    unit = np.ldexp(1.0, np.maximum(exponent - 1, info.minexp) - info.nmant)
    return float(np.max(np.abs(g[finite] - e[finite]) / unit, initial=0.0))
