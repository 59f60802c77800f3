"""opweave: a compiler stack for Python array programs, centred on op registration.

`import opweave as torch` gives tensors, dtypes, ops and `library` under the names that users of `torch.library` know.
The compiler (`compile`, `make_fx`, `fx`, `FakeTensorMode`) loads at first use, so that importing costs little more than
NumPy.
"""

from __future__ import annotations

import importlib as _importlib
import os as _os
import typing as _typing

from opweave.registry.interrupts import deferred as _deferred
from opweave.registry.loading import uncollected as _uncollected


def _supply_products(matmul: _typing.Any) -> None:
    matmul.large.supply(lambda *args: _load_heavy("opweave.codegen.blas").multiply(*args))
    matmul.narrow.supply(lambda *args: _load_heavy("opweave.codegen.narrow_products").multiply(*args))


def _supply_sampling(grid_sampling: _typing.Any) -> None:
    grid_sampling.native.supply(lambda *args: _load_heavy("opweave.codegen.grid_sampling").run(*args))


def _supply_layers(recurrent_layers: _typing.Any) -> None:
    recurrent_layers.native.supply(lambda *args: _load_heavy("opweave.codegen.recurrent").run(*args))


def _supply_draws(philox: _typing.Any) -> None:
    philox.native.supply(lambda *args: _load_heavy("opweave.codegen.eager_random").fill(*args))


def _supply_distances(distance: _typing.Any) -> None:
    distance.native.supply(lambda *args: _load_heavy("opweave.codegen.distances").run(*args))


def _supply_running(cumulative: _typing.Any) -> None:
    cumulative.native.supply(lambda *args: _load_heavy("opweave.codegen.running").run(*args))


def _supply_convolutions(convolution: _typing.Any) -> None:
    convolution.native.supply(lambda *args: _load_heavy("opweave.codegen.convolution").convolve(*args))


# Interrupted half way, it could not be imported again: its modules declare ops, and NumPy loads once a process.
with _deferred(patient=False), _uncollected():
    from opweave import library
    from opweave.registry import (
        dtypes as _dtypes,
        exchange as _exchange,
        families as _families,
        folders as _folders,
        native_bodies as _native_bodies,
        plain_launches as _plain_launches,  # noqa: F401  # looks for Triton when a mode becomes active
        replay as _replay,
        rows as _rows,
        scalar as _scalar,
        tracebacks as _tracebacks,
        triton_op as _triton_op,
    )
    from opweave.registry.autograd.mode import (
        enable_grad,
        inference_mode,
        is_grad_enabled,
        is_inference_mode_enabled,
        no_grad,
        set_grad_enabled,
    )
    from opweave.registry.device import Device as device, is_cuda_available as _is_cuda_available
    from opweave.registry.dtypes import (
        DType as dtype,
        bfloat16,
        cdouble,
        cfloat,
        complex64,
        complex128,
        double,
        float8_e4m3fn,
        float8_e4m3fnuz,
        float8_e5m2,
        float8_e5m2fnuz,
        float8_e8m0fnu,
        float16,
        float32,
        float64,
        get_default_dtype,
        half,
        int8,
        int16,
        int32,
        int64,
        long,
        promote_types,
        set_default_dtype,
        short,
        uint8,
        uint16,
        uint32,
        uint64,
    )
    from opweave.registry.errors import MissingNameError as _MissingNameError
    from opweave.registry.exchange import from_dlpack
    from opweave.registry.higher_order import HigherOrderOperator
    from opweave.registry.keys import DispatchKey, DispatchKeySet, DispatchMode
    from opweave.registry.loading import HAS_NATIVE as _HAS_NATIVE, load_heavy as _load_heavy
    from opweave.registry.memory_format import (
        Layout as layout,
        MemoryFormat as memory_format,
        channels_last,
        channels_last_3d,
        contiguous_format,
        preserve_format,
        strided,
    )
    from opweave.registry.op import (
        OpOverload,
        load_imported as _load_imported,
        load_library as _load_library,
        ops,
        registry as _registry,
    )
    from opweave.registry.ops import combining as _combining, surface as _surface
    from opweave.registry.packet import OpOverloadPacket
    from opweave.registry.printing import get_printoptions, set_printoptions
    from opweave.registry.promote import result_type
    from opweave.registry.strided import Size
    from opweave.registry.tags import Tag
    from opweave.registry.tensor import Tensor, from_numpy
    from opweave.registry.triton import effects as _triton_effects

    _folders.note_start()  # folders of caches are found from here, wherever the process goes
    _importlib.import_module("opweave.registry.vmap")  # what the key of batched tensors does
    _importlib.import_module("opweave.registry.autocast")  # what the Autocast keys do
    _importlib.import_module("opweave.registry.control_flow")  # ops whose operands are functions
    _families.shipped()
    _tracebacks.install()
    if _HAS_NATIVE:
        if _os.environ.get("OPWEAVE_REPLAY") != "0":
            _replay.install = lambda may_compile: _load_heavy("opweave.codegen.native.calls").install(may_compile)
            _replay.direct = lambda op, keys: _load_heavy("opweave.codegen.native.direct").adopt(op, keys)
        _exchange.make_table.supply(lambda: _load_heavy("opweave.codegen.native.exchange").table())
        _scalar.native.supply(lambda name, x: _load_heavy("opweave.codegen.eager_math").apply(name, x))
        _scalar.ufunc.supply(lambda name: _load_heavy("opweave.codegen.eager_math").ufunc(name))
        _native_bodies.compiled.supply(lambda *args: _load_heavy("opweave.codegen.eager_math").of_body(*args))
        _scalar.convert.supply(lambda x, out: _load_heavy("opweave.codegen.casts").convert(x, out))
        _scalar.turn.supply(lambda x, out: _load_heavy("opweave.codegen.turning").turn(x, out))
        _rows.native.supply(lambda *args: _load_heavy("opweave.codegen.rows").run(*args))
        _combining.native.supply(lambda *args: _load_heavy("opweave.codegen.combining").run(*args))
        _combining.native_within.supply(lambda *args: _load_heavy("opweave.codegen.combining").within(*args))
        _families.when_run(
            matmul=_supply_products, convolution=_supply_convolutions, grid_sampling=_supply_sampling,
            philox=_supply_draws, recurrent_layers=_supply_layers, distance=_supply_distances,
            cumulative=_supply_running,
        )  # fmt: skip
    if _os.environ.get("OPWEAVE_LOGS"):  # kernels are compiled and launched without the compiler, too
        _importlib.import_module("opweave.runtime.logging")

if _typing.TYPE_CHECKING:
    from opweave import (
        amp,
        autograd,
        distributions,
        export,
        fft,
        func,
        fx,
        linalg,
        masked,
        nn,
        optim,
        overrides,
        safetensors,
        signal,
        special,
        testing,
    )
    from opweave.amp import (
        autocast,
        clear_autocast_cache,
        get_autocast_dtype,
        is_autocast_cache_enabled,
        is_autocast_enabled,
        set_autocast_cache_enabled,
        set_autocast_dtype,
        set_autocast_enabled,
    )
    from opweave.codegen.native.pool import get_num_threads, set_num_threads
    from opweave.compiling import compile
    from opweave.explaining import explain, kernel_accesses
    from opweave.fake.mode import FakeTensorMode
    from opweave.fake.shape_env import ShapeEnv
    from opweave.fake.symbolic import (
        SymBool,
        SymFloat,
        SymInt,
        check,
        check_is_size,
        sym_float,
        sym_int,
        sym_max,
        sym_min,
        sym_not,
    )
    from opweave.fake.tensor import FakeTensor
    from opweave.nn.traced import make_fx
    from opweave.registry import return_types
    from opweave.registry.autograd.anomaly import is_anomaly_check_nan_enabled, is_anomaly_enabled
    from opweave.registry.conversion import asarray, frombuffer
    from opweave.registry.numeric_limits import finfo, iinfo
    from opweave.registry.random_state import get_rng_state, initial_seed, seed, set_rng_state
    from opweave.registry.vmap.transform import vmap
    from opweave.runtime.artifact import load_compiled
    from opweave.saving import load, save
    from opweave.tracer.control_flow import associative_scan, cond, map, scan, while_loop

__version__ = "0.1.0"

TorchDispatchMode = DispatchMode
globals().update({"bool": _dtypes.bool_, "int": _dtypes.int32, "float": _dtypes.float32})
globals().update(_surface.functions())

_LAZY = {
    "FakeTensorMode": ("opweave.fake.mode", "FakeTensorMode"),
    "FakeTensor": ("opweave.fake.tensor", "FakeTensor"),
    "make_fx": ("opweave.nn.traced", "make_fx"),
    "compile": ("opweave.compiling", "compile"),
    "fx": ("opweave.fx", None),
    "nn": ("opweave.nn", None),
    "testing": ("opweave.testing", None),
    "return_types": ("opweave.registry.return_types", None),
    "explain": ("opweave.explaining", "explain"),
    "kernel_accesses": ("opweave.explaining", "kernel_accesses"),
    "report": ("opweave.reporting.observing", "report"),
    **dict.fromkeys(
        (
            "SymBool",
            "SymFloat",
            "SymInt",
            "check",
            "check_is_size",
            "sym_float",
            "sym_int",
            "sym_max",
            "sym_min",
            "sym_not",
        ),
        ("opweave.fake.symbolic", ""),
    ),
    "load_compiled": ("opweave.runtime.artifact", "load_compiled"),
    "mark_dynamic": ("opweave.runtime.dynamic", "mark_dynamic"),
    "KernelProfile": ("opweave.codegen.native.profile", "KernelProfile"),
    "LaunchProfile": ("opweave.codegen.native.profile", "LaunchProfile"),
    "profile": ("opweave.codegen.native.profile", "profile"),
    "sanitize": ("opweave.codegen.triton_cpu.sanitizer", "sanitize"),
    "mark_static": ("opweave.runtime.dynamic", "mark_static"),
    "ShapeEnv": ("opweave.fake.shape_env", "ShapeEnv"),
    "export": ("opweave.export", None),
    "autograd": ("opweave.autograd", None),
    "func": ("opweave.func", None),
    "optim": ("opweave.optim", None),
    "utils": ("opweave.utils", None),
    "safetensors": ("opweave.safetensors", None),
    "fft": ("opweave.fft", None),
    "linalg": ("opweave.linalg", None),
    "special": ("opweave.special", None),
    "distributions": ("opweave.distributions", None),
    "masked": ("opweave.masked", None),
    "overrides": ("opweave.overrides", None),
    "finfo": ("opweave.registry.numeric_limits", "finfo"),
    "iinfo": ("opweave.registry.numeric_limits", "iinfo"),
    "asarray": ("opweave.registry.conversion", "asarray"),
    "frombuffer": ("opweave.registry.conversion", "frombuffer"),
    "get_rng_state": ("opweave.registry.random_state", "get_rng_state"),
    "set_rng_state": ("opweave.registry.random_state", "set_rng_state"),
    "initial_seed": ("opweave.registry.random_state", "initial_seed"),
    "seed": ("opweave.registry.random_state", "seed"),
    "get_num_threads": ("opweave.codegen.native.pool", "get_num_threads"),
    "set_num_threads": ("opweave.codegen.native.pool", "set_num_threads"),
    "save": ("opweave.saving", "save"),
    "load": ("opweave.saving", "load"),
    "signal": ("opweave.signal", None),
    "checkpoint": ("opweave.registry.autograd.checkpoint", "checkpoint"),
    "is_anomaly_enabled": ("opweave.registry.autograd.anomaly", "is_anomaly_enabled"),
    "is_anomaly_check_nan_enabled": ("opweave.registry.autograd.anomaly", "is_anomaly_check_nan_enabled"),
    "vmap": ("opweave.registry.vmap.transform", "vmap"),
    "cond": ("opweave.tracer.control_flow", "cond"),
    "while_loop": ("opweave.tracer.control_flow", "while_loop"),
    "scan": ("opweave.tracer.control_flow", "scan"),
    "associative_scan": ("opweave.tracer.control_flow", "associative_scan"),
    "map": ("opweave.tracer.control_flow", "map"),
    "amp": ("opweave.amp", None),
    "autocast": ("opweave.amp", "autocast"),
    "clear_autocast_cache": ("opweave.amp", "clear_autocast_cache"),
    "get_autocast_dtype": ("opweave.amp", "get_autocast_dtype"),
    "is_autocast_cache_enabled": ("opweave.amp", "is_autocast_cache_enabled"),
    "is_autocast_enabled": ("opweave.amp", "is_autocast_enabled"),
    "set_autocast_cache_enabled": ("opweave.amp", "set_autocast_cache_enabled"),
    "set_autocast_dtype": ("opweave.amp", "set_autocast_dtype"),
    "set_autocast_enabled": ("opweave.amp", "set_autocast_enabled"),
}

__all__ = [
    "DispatchKey", "DispatchKeySet", "DispatchMode", "FakeTensor", "FakeTensorMode", "HigherOrderOperator",
    "OpOverload", "OpOverloadPacket", "Size", "Tag", "Tensor", "TorchDispatchMode", "autograd", "bfloat16", "cdouble",
    "cfloat", "compile", "complex128", "complex64", "cuda_is_available", "device", "double", "dtype", "enable_grad",
    "float16", "float32", "float64", "from_dlpack", "from_numpy", "fx", "get_default_dtype", "half", "inference_mode",
    "int16", "int32", "int64", "int8", "is_grad_enabled", "is_inference_mode_enabled", "library", "long", "make_fx",
    "nn", "no_grad", "ops", "promote_types", "result_type", "return_types", "set_default_dtype", "set_grad_enabled",
    "short", "testing", "channels_last", "channels_last_3d", "contiguous_format", "memory_format", "preserve_format",
    "strided", "layout", "finfo", "iinfo", "asarray", "frombuffer", "get_rng_state",
    "set_rng_state", "initial_seed", "seed", "get_num_threads", "set_num_threads", "save", "load",
    "get_printoptions", "kernel_accesses", "set_printoptions", "KernelProfile", "LaunchProfile", "profile", "sanitize",
    "utils",
    "amp", "autocast", "clear_autocast_cache", "get_autocast_dtype", "is_autocast_cache_enabled", "is_autocast_enabled",
    "set_autocast_cache_enabled", "set_autocast_dtype", "set_autocast_enabled",
    "ShapeEnv", "SymBool", "SymFloat", "SymInt", "associative_scan", "check", "check_is_size", "checkpoint", "cond",
    "distributions",
    "explain", "export", "fft", "func", "linalg", "load_compiled", "map", "mark_dynamic", "mark_static", "masked",
    "overrides",
    "optim", "report", "safetensors", "scan", "signal", "special", "sym_float", "sym_int", "sym_max", "sym_min",
    "sym_not", "is_anomaly_check_nan_enabled", "is_anomaly_enabled",
    "uint8", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu", "vmap", "while_loop", *_surface.functions(),
]  # fmt: skip


#: Names of PyTorch's that are there only where opweave stands for it: for scripts, not for use here.
_BY_COMPAT = frozenset(
    "accelerator are_deterministic_algorithms_enabled backends compiler cpu cuda distributed get_default_device "
    "get_float32_matmul_precision hub jit mps onnx profiler random serialization set_float32_matmul_precision typename "
    "types use_deterministic_algorithms version xpu".split()
)


def cuda_is_available() -> bool:
    """Whether `cuda` tensors can be made here (CuPy and a GPU are there).

    Examples
    --------
    >>> device = "cuda" if opweave.cuda_is_available() else "cpu"
    >>> opweave.ones(2, device=device).shape
    opweave.Size([2])
    """
    return _is_cuda_available()


@_triton_op.prepare.supply
def _prepare_launch() -> None:
    """Make Triton launch on opweave's devices, before the first kernel does."""
    _load_heavy("opweave.codegen.backends").prepare()


@_triton_effects.compiling_for.supply
def _compiling(target: _typing.Any) -> _typing.Any:
    """A context in which Triton compiles for a target, as it would for a launch there."""
    return _load_heavy("opweave.codegen.triton_cpu.targets").compiling(target)


def _cpp_libraries() -> _typing.Any:
    """What loads op libraries in C++, and what their code gets of the layers above the registry."""
    found = _load_heavy("opweave.registry.cpp.library")
    found.host.pool_address.supply(lambda: _load_heavy("opweave.codegen.native.pool").run_address())
    return found


_load_library.supply(lambda path: _cpp_libraries().load_library(path))


@_load_imported.supply
def _register_imported() -> bool:
    """Register the ops of extension modules that were imported since this was last called."""
    paths = _load_heavy("opweave.registry.cpp.imported").new_libraries()
    for path in paths:
        _cpp_libraries().load_library(path)
    return len(paths) > 0


def __getattr__(name: str) -> _typing.Any:
    found = _LAZY.get(name)
    if found is None:
        packet = _registry.packets.get(f"aten::{name}") if name.startswith("_") else None
        if packet is not None:
            return _surface.hidden(packet)  # `torch._softmax` and the like
        hint = f"; `import torch` has it after opweave.compat.install(): torch.{name}" if name in _BY_COMPAT else ""
        if name == "cuda":
            hint += ". Whether there is a GPU: opweave.cuda_is_available()"
        raise _MissingNameError(
            f"module 'opweave' has no attribute {name!r}{hint}", name, lambda: [] if hint else __dir__()
        )
    module = _load_heavy(found[0])
    value = module if found[1] is None else getattr(module, found[1] or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


del annotations  # which is no name of the package
