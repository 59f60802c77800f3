"""Tables: which names of PyTorch's that opweave has not are there, and what they give.

`PRESENT` has what does something, or says rightly that there is nothing (no CUDA, no processes). `PYTORCH` has all
names of PyTorch's public modules, and `ABSENT` those of others that packages use: what is not here can only be named.
Where PyTorch's module has another place here, `PLACES` says it.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import importlib.resources
import os
import re
import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Self
from urllib.parse import urlparse

import numpy as np

from opweave import amp, library
from opweave.codegen.native.pool import get_num_threads
from opweave.compat import optimizers, processes, promotion, trees
from opweave.compiling import compile
from opweave.fake.mode import FakeTensorMode
from opweave.fake.symbolic import SymBool, check as demand_size, check_is_size
from opweave.fake.tensor import FakeTensor
from opweave.nn.modules.module import destination
from opweave.nn.modules.states import IncompatibleKeys
from opweave.nn.traced import make_fx
from opweave.registry import dtypes
from opweave.registry.annotations import infer_schema
from opweave.registry.autograd.graph import RemovableHandle
from opweave.registry.constructor import constructed
from opweave.registry.device import Device, cpu, is_cuda_available, parse_device
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, UnsupportedError
from opweave.registry.exchange import from_dlpack
from opweave.registry.higher_order import HigherOrderOperator
from opweave.registry.keys import DispatchKey, DispatchKeySet, DispatchMode, state
from opweave.registry.library import Library
from opweave.registry.op import OpOverload, OpOverloadPacket, ops, registry
from opweave.registry.overridable import disabled
from opweave.registry.overriding import DisableTorchFunction, DisableTorchFunctionSubclass
from opweave.registry.random_generator import default_generator, manual_seed
from opweave.registry.random_state import get_rng_state, initial_seed, seed, set_rng_state
from opweave.registry.storage import UntypedStorage
from opweave.registry.tags import Tag
from opweave.registry.tensor import Tensor
from opweave.runtime.dynamic import mark_dynamic, mark_static
from opweave.tracer.graph import Graph
from opweave.tracer.node import Node
from opweave.tracer.proxy import ProxyMode

aten = ops.aten
#: Of PyTorch whose names these are, for packages that ask.
VERSION = "2.13.0+opweave"


def _none(*args: Any, **kwargs: Any) -> None:
    """Nothing to do."""


def _no(*args: Any, **kwargs: Any) -> bool:
    """There is no such thing."""
    return False


def _registers(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that registers with a compiler that is not there."""
    return lambda fn: fn


def _yes(*args: Any, **kwargs: Any) -> bool:
    """It is there."""
    return True


def _zero(*args: Any, **kwargs: Any) -> int:
    return 0


def _same(fn: Any = None, *args: Any, **kwargs: Any) -> Any:
    """A decorator that does nothing, with or without arguments."""
    return fn if callable(fn) else lambda inner: inner


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)

    def __call__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Tensor:
        return data.detach().requires_grad_(requires_grad)


class Variable(metaclass=_VariableMeta):
    """What tensors with gradients once were: all tensors are instances, and a call gives one that begins a graph."""


class DLDeviceType(enum.IntEnum):
    """Where memory lies, by DLPack's numbers."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLCUDAManaged = 13


def _cpu_capability() -> str:
    """The instructions that PyTorch would be dispatched by on this machine, by their name there."""
    found: Any = np.show_config(mode="dicts")
    features = found.get("SIMD Extensions", {}).get("found", []) + found.get("SIMD Extensions", {}).get("baseline", [])
    if any(name.startswith(("AVX512", "X86_V4")) for name in features):
        return "AVX512"
    return "AVX2" if any(name in ("AVX2", "X86_V3") for name in features) else "DEFAULT"


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """(device, dtype, whether not to wait, layout) of what `Tensor.to` is given."""
    device, dtype, layout = destination(args, kwargs)
    return device, dtype, any(value is True for value in args[:3]) or bool(kwargs.get("non_blocking")), layout


def _is_taken_apart(t: Any) -> bool:
    """Whether a tensor is of a subclass that says which tensors it consists of."""
    return isinstance(t, Tensor) and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def is_compiling() -> bool:
    """Whether a function is being traced."""
    return any(isinstance(mode, ProxyMode) for mode in state.modes)


class _Sort(type):
    """Classes such as `FloatTensor`: tensors of a dtype are instances, and a call makes one."""

    _dtype: DType

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance._dtype is cls._dtype

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        return constructed(cls.__name__, cls._dtype, args, device)


def _sorts() -> dict[str, Any]:
    old = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
    names = {f"{name}Tensor": dtypes.BY_CLASS[f"{name}Tensor"] for name in old}
    return {name: _Sort(name, (), {"_dtype": dtype, "__module__": "torch"}) for name, dtype in names.items()}


class OutOfMemoryError(RuntimeError):
    """What PyTorch raises where a GPU's memory is used up: nothing here does."""


class record_function(contextlib.ContextDecorator):  # PyTorch's name
    """A name for what a profiler sees; `opweave.profile` has kernels alone, and reads none."""

    def __init__(self, name: str, args: Any = None) -> None:
        self.name = name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def get_enum(reduction: str) -> int:
    """The number that a reduction of losses has in ATen.

    Raises
    ------
    ArgumentError
        If it is not "none", "mean" or "sum".
    """
    found = {"none": 0, "mean": 1, "sum": 2}.get(reduction)
    if found is None:
        raise ArgumentError("reduction: expected one of none, mean and sum", got=repr(reduction))
    return found


def _checked(error: type[Exception]) -> Callable[..., None]:
    def check(condition: Any, message: Any = None) -> None:
        if isinstance(condition, SymBool):
            demand_size(condition, message)
        elif not condition:
            raise error(message() if callable(message) else message or "a condition of the caller's does not hold")

    return check


class _Settings:
    """Settings that are kept, and decide nothing here."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


def _configuration() -> str:
    """`torch.__config__.show()`."""
    return f"opweave for PyTorch's names of version {VERSION}\n"


def _threads() -> str:
    """`torch.__config__.parallel_info()`."""
    return f"opweave's pool: {get_num_threads()} threads\n"


def _torch_home() -> str:
    """The folder that PyTorch keeps downloads in."""
    caches = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(caches, "torch")))


class _ForInductor:
    """What packages make for PyTorch's compiler, patterns and choices of kernels: it is kept, and nothing else."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError("torch._inductor is not there", got="a call of what was made for it")


def _for_inductor(*names: str) -> dict[str, Any]:
    return {name: type(name, (_ForInductor,), {}) for name in names}


class ScalingType(enum.IntEnum):
    """What scales of products belong to."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.IntEnum):
    """How scales of products lie in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


class _Keys:
    """`torch._C.DispatchKey`: of hardware that is not there no tensor has a key, so that its keys are `Undefined`."""

    def __getattr__(self, name: str) -> DispatchKey:
        found = DispatchKey.__members__.get(name)
        if found is None and not name.endswith(_HARDWARE):
            raise AttributeError(f"torch._C.DispatchKey has no {name}")
        return DispatchKey.Undefined if found is None else found


_HARDWARE = ("XPU", "MPS", "HPU", "IPU", "XLA", "MTIA", "MAIA", "Lazy", "PrivateUse1", "PrivateUse2", "PrivateUse3")


def _where_defined(register: Callable[..., Any]) -> Callable[..., Any]:
    """A function that registers something for an op, which does nothing for one of a library that is not loaded."""

    @functools.wraps(register)
    def registers(op: Any, *args: Any, **settings: Any) -> Any:
        if isinstance(op, str) and op.partition(".")[0] not in registry.packets:
            return _same(*[fn for fn in args if callable(fn)])
        return register(op, *args, **settings)

    return registers


def _impl(qualname: Any, *args: Any, **settings: Any) -> Any:
    """`torch.library.impl`, which does nothing for an op of a library that is not loaded."""
    name = f"{qualname.ns}::{args[0]}" if isinstance(qualname, Library) and isinstance(args[0], str) else qualname
    if isinstance(name, str) and name.partition(".")[0] not in registry.packets:
        return _same
    return library.impl(qualname, *args, **settings)


def _compile(
    model: Any = None, *, mode: Any = None, disable: bool = False, options: Any = None, **settings: Any
) -> Any:
    """`opweave.compile`; modes and options choose among PyTorch's ways to the same, and are left out."""
    if model is None:
        return functools.partial(_compile, mode=mode, disable=disable, options=options, **settings)
    return model if disable else compile(model, **settings)


class _DeviceContext(contextlib.AbstractContextManager[None]):
    """`with torch.cuda.device(...)`, where there is one place only."""

    def __init__(self, device: Any = None) -> None:
        self.device = device

    def __exit__(self, *_: object) -> None:
        return None


@contextlib.contextmanager
def _fork_rng(devices: Any = (), enabled: bool = True, **_: Any) -> Iterator[None]:
    """What is drawn inside leaves the state of random numbers outside as it was."""
    before = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(before)


def _pair(count: int) -> Callable[[Any], tuple[Any, ...]]:
    def made(value: Any) -> tuple[Any, ...]:
        return tuple(value) if isinstance(value, Iterable) else (value,) * count

    return made


_UNAVAILABLE: dict[str, Any] = {
    "is_available": _no, "device_count": _zero, "is_initialized": _no, "synchronize": _none, "empty_cache": _none,
    "manual_seed": _none, "manual_seed_all": _none, "is_bf16_supported": _no, "current_device": _zero,
    "memory_allocated": _zero, "max_memory_allocated": _zero, "reset_peak_memory_stats": _none,
    "memory_reserved": _zero, "device": _DeviceContext, "set_device": _none,
}  # fmt: skip
_COMPILER = {
    "is_compiling": is_compiling, "is_dynamo_compiling": is_compiling, "disable": _same, "allow_in_graph": _same,
    "assume_constant_result": _same, "cudagraph_mark_step_begin": _none, "is_exporting": _no, "reset": _none,
    "set_stance": _none,
}  # fmt: skip


def _set_default_device(device: Any) -> None:
    """Main memory is where tensors are made that no device is said for, and no other place can be."""
    if device is not None and parse_device(device).type != cpu.type:
        raise UnsupportedError("torch.set_default_device: only the CPU", got=repr(device), hint="hand on device=")


PRESENT: dict[str, dict[str, Any]] = {
    "torch": {
        **_sorts(), "OutOfMemoryError": OutOfMemoryError, "_check": _checked(RuntimeError),
        "_check_value": _checked(ValueError), "_check_type": _checked(TypeError), "_check_index": _checked(IndexError),
        "_check_not_implemented": _checked(NotImplementedError), "_check_is_size": check_is_size,
        "_assert": _checked(AssertionError), "_assert_async": _checked(RuntimeError), "_disable_dynamo": _same,
        "get_default_device": lambda: cpu, "set_default_device": _set_default_device,
        "default_generator": default_generator(cpu), "UntypedStorage": UntypedStorage,
        "inf": float("inf"), "nan": float("nan"), "pi": np.pi, "e": np.e,
        "set_float32_matmul_precision": _none, "get_float32_matmul_precision": lambda: "highest",
        "use_deterministic_algorithms": _none, "are_deterministic_algorithms_enabled": _no,
        "is_deterministic_algorithms_warn_only_enabled": _no, "get_deterministic_debug_mode": _zero,
        "is_tensor": lambda value: isinstance(value, Tensor),
        "is_autocast_cache_enabled": amp.is_autocast_cache_enabled, "compile": _compile,
        "typename": lambda t: type(t).__name__,
        "bool": dtypes.bool_, "int": dtypes.int32, "float": dtypes.float32, "device": Device, "dtype": DType,
    },
    "torch.cuda": {
        **_UNAVAILABLE, "is_available": is_cuda_available, "OutOfMemoryError": OutOfMemoryError,
        "FloatTensor": _sorts()["FloatTensor"], "LongTensor": _sorts()["LongTensor"], "max_memory_reserved": _zero,
        "is_current_stream_capturing": _no, "get_rng_state_all": list, "set_rng_state_all": _none,
    },
    "functorch": {"make_fx": make_fx, "__version__": VERSION},
    "torch.cuda.amp": {
        "GradScaler": functools.partial(amp.GradScaler, "cuda"),
        **{
            name: functools.partial(getattr(amp, name), device_type="cuda")
            for name in ("autocast", "custom_fwd", "custom_bwd")
        },
    },
    "torch.cuda.nvtx": {"range_push": _none, "range_pop": _none},
    **{f"torch.{name}": dict(_UNAVAILABLE) for name in ("xpu", "mps", "hpu", "npu", "musa", "mtia")},
    "torch.cpu": {
        **_UNAVAILABLE, "is_available": lambda: True, "device_count": lambda: 1, "current_device": lambda: "cpu",
        "_is_amx_tile_supported": _no, "_is_vnni_supported": _no,
    },
    "torch.accelerator": {**_UNAVAILABLE, "current_accelerator": _none},
    "torch.backends": {},
    "torch.backends.cuda": dict(  # noqa: C408  # names that are ops' elsewhere
        matmul=_Settings(allow_tf32=False, allow_fp16_reduced_precision_reduction=True), is_built=_no,
        flash_sdp_enabled=_no, mem_efficient_sdp_enabled=_no, math_sdp_enabled=lambda: True,
        SDPAParams=lambda *args: args, can_use_flash_attention=lambda params, debug=False: False,
        can_use_efficient_attention=lambda params, debug=False: False, is_flash_attention_available=_no,
        can_use_cudnn_attention=lambda params, debug=False: False,
        enable_flash_sdp=_none, enable_mem_efficient_sdp=_none, enable_math_sdp=_none,
    ),
    "torch.backends.cudnn": {
        "enabled": False, "benchmark": False, "deterministic": False, "allow_tf32": False, "is_available": _no,
        "version": _none,
    },
    "torch.backends.cpu": {"get_cpu_capability": _cpu_capability},
    "torch.backends.mps": {"is_available": _no, "is_built": _no},
    "torch.backends.mkldnn": {"enabled": False, "is_available": _no},
    "torch.backends.kleidiai": {"is_available": _no},
    "torch.backends.opt_einsum": {"enabled": False, "strategy": None, "is_available": _no},
    "torch.backends.quantized": {"engine": "none", "supported_engines": ["none"]},
    "torch.__config__": {"show": _configuration, "parallel_info": _threads},
    "torch.autograd": {"Variable": Variable, "kineto_available": _no},
    "torch.utils.checkpoint": {
        "get_device_states": lambda *args: ([], []), "set_device_states": _none, "check_backward_validity": _none,
    },
    "torch.utils.dlpack": {
        "from_dlpack": from_dlpack, "to_dlpack": Tensor.__dlpack__, "DLDeviceType": DLDeviceType,
    },
    "torch.autograd.profiler": {"record_function": record_function},
    "torch.profiler": {"record_function": record_function, "kineto_available": _no},
    "torch.nn._reduction": {"get_enum": get_enum},
    "torch.nn.modules.module": {"_IncompatibleKeys": IncompatibleKeys, "_EXTRA_STATE_KEY_SUFFIX": "_extra_state"},
    "torch.random": {"get_rng_state": get_rng_state, "set_rng_state": set_rng_state, "fork_rng": _fork_rng,
                     "manual_seed": manual_seed, "initial_seed": initial_seed, "seed": seed,
                     "default_generator": default_generator(cpu)},
    "torch._ops": {
        "OpOverload": OpOverload, "OpOverloadPacket": OpOverloadPacket, "HigherOrderOperator": HigherOrderOperator,
        "ops": ops,
    },
    "torch._library.infer_schema": {"infer_schema": infer_schema},
    "torch._subclasses": {"FakeTensor": FakeTensor, "FakeTensorMode": FakeTensorMode},
    "torch._subclasses.fake_tensor": {
        "FakeTensor": FakeTensor, "FakeTensorMode": FakeTensorMode, "is_fake": lambda x: isinstance(x, FakeTensor),
    },
    "torch._prims_common": promotion.NAMES,
    "torch.serialization": {
        "add_safe_globals": _none, "safe_globals": contextlib.nullcontext, "clear_safe_globals": _none,
        "get_safe_globals": list, "get_unsafe_globals_in_checkpoint": lambda f: [],
    },
    "torch.multiprocessing": processes.NAMES, "torch.multiprocessing.spawn": processes.NAMES,
    "torch.utils.hooks": {"RemovableHandle": RemovableHandle},
    "torch.nn.functional": {"ScalingType": ScalingType, "SwizzleType": SwizzleType},
    "torch.library": {
        "impl": _impl,
        "register_fake": _where_defined(library.register_fake),
        "register_autograd": _where_defined(library.register_autograd),
        "register_vmap": _where_defined(library.register_vmap),
    },
    "torch.onnx": {"register_custom_op_symbolic": _none, "is_in_onnx_export": _no},
    "torch.onnx.symbolic_helper": {"parse_args": _registers},
    "torch.hub": {
        "_get_torch_home": _torch_home, "get_dir": lambda: os.path.join(_torch_home(), "hub"), "urlparse": urlparse,
        "HASH_REGEX": re.compile(r"-([a-f0-9]*)\."),
    },
    "torch.fx": {"wrap": lambda fn: fn},
    "torch.fx._compatibility": {"compatibility": _same},
    "torch.fx.node": {"Node": Node, "Argument": Any, "Target": Any},
    "torch.fx.graph": {"Graph": Graph, "Node": Node, "Argument": Any, "Target": Any},
    "torch.optim.optimizer": optimizers.NAMES,
    "torch.utils._foreach_utils": optimizers.OF_LISTS,
    "torch.utils.data._utils.collate": {"np_str_obj_array_pattern": re.compile(r"[SaUO]")},
    "torch.compiler": dict(_COMPILER),
    "torch._dynamo": {
        **_COMPILER, "mark_static_address": _none, "nonstrict_trace": _same, "optimize": _same,
        "graph_break": _none, "mark_dynamic": mark_dynamic, "maybe_mark_dynamic": _none,
        "mark_static": mark_static,
    },
    "torch._dynamo.config": {
        "cache_size_limit": 8, "recompile_limit": 8, "accumulated_cache_size_limit": 256, "suppress_errors": False,
        "capture_scalar_outputs": False, "capture_dynamic_output_shape_ops": False, "inline_inbuilt_nn_modules": True,
        "automatic_dynamic_shapes": True, "optimize_ddp": True,
    },
    "torch._inductor": {},
    "torch._inductor.decomposition": {"register_decomposition": _registers, "decompositions": {}},
    "torch._inductor.lowering": {"register_lowering": _registers, "lowerings": {}},
    "torch._inductor.pattern_matcher": {
        "register_lowering_pattern": _registers, "register_graph_pattern": _registers,
        **_for_inductor("Arg", "CallFunction", "KeywordArg", "PatternMatcherPass"),
    },
    "torch._inductor.custom_graph_pass": _for_inductor("CustomGraphPass"),
    "torch._inductor.select_algorithm": _for_inductor("ExternKernelChoice"),
    "torch._inductor.fx_passes.freezing_patterns": {"register_freezing_graph_pattern": _registers},
    "torch.distributed.tensor.experimental": {"register_sharding": _registers, "local_map": _registers},
    "torch._inductor.config": dict(  # noqa: C408
        triton=_Settings(unique_kernel_names=True, cudagraphs=False), max_autotune=False, freezing=False,
        max_autotune_gemm_search_space="DEFAULT", cpp=_Settings(), coordinate_descent_tuning=False,
        coordinate_descent_check_all_directions=False, force_fuse_int_mm_with_mul=False, fx_graph_cache=True,
        epilogue_fusion=True, shape_padding=False, eager_numerics=_Settings(),
    ),
    "torch._higher_order_ops": {},
    "torch._C._nn": {"_parse_to": _parse_to},
    "torch.storage": {"UntypedStorage": UntypedStorage},
    "torch._C": {
        "Tag": Tag, "DispatchKey": _Keys(), "_log_api_usage_once": _none, "_log_api_usage_metadata": _none,
        "_are_functorch_transforms_active": _no, "_get_tracing_state": _none, "DispatchKeySet": DispatchKeySet,
        "DisableTorchFunctionSubclass": DisableTorchFunctionSubclass, "DisableTorchFunction": DisableTorchFunction,
        "_disabled_torch_function_impl": disabled, "_disabled_torch_dispatch_impl": disabled,
    },
    "torch.distributed": {
        "is_available": _no, "is_initialized": _no, "is_nccl_available": _no, "is_torchelastic_launched": _no,
    },
    "torch.distributed.rpc": {"is_available": _no},
    "torch.jit": {
        "script": _same, "ignore": _same, "export": _same, "unused": _same, "script_if_tracing": _same,
        "_script_if_tracing": _same, "_overload_method": _same, "_overload": _same,
        "is_scripting": _no, "is_tracing": _no, "interface": _same, "Final": Final,
        "annotate": lambda kind, value: value,
    },
    "torch._jit_internal": {"_overload": _same, "_overload_method": _same},
    "torch.jit.annotations": {
        name: getattr(typing, name) for name in ("Any", "Dict", "List", "Optional", "Tuple", "Union")
    },
    "torch.version": {
        "__version__": VERSION, "cuda": None, "hip": None, "xpu": None, "git_version": "opweave", "debug": False,
    },
    "torch.types": {
        "Device": Any, "Number": int | float | bool, "_size": tuple[int, ...], "_dtype": DType, "_device": Device,
        "_int": int, "_float": float, "_bool": bool,
    },
    "torch.utils._python_dispatch": {
        "TorchDispatchMode": DispatchMode, "is_traceable_wrapper_subclass": _is_taken_apart,
        "is_traceable_wrapper_subclass_type": lambda kind: hasattr(kind, "__tensor_flatten__"),
    },
    "torch.utils._pytree": trees.NAMES,
    "torch.utils.pytree": trees.NAMES,
    "torch.utils._triton": {"has_triton": _yes, "has_triton_package": _yes},
    "torch.nn.modules.utils": {
        "_ntuple": _pair, "_single": _pair(1), "_pair": _pair(2), "_triple": _pair(3), "_quadruple": _pair(4),
    },
}  # fmt: skip


def _lines(file: str) -> Iterator[tuple[str, list[str]]]:
    """A table's modules, each with the words behind it: a line goes on in lines that begin with a space."""
    text = (importlib.resources.files("opweave.compat") / file).read_text().replace("\n ", " ")
    for line in text.splitlines():
        module, _, words = line.partition(":")
        yield module, words.split()


#: Names of PyTorch's that packages use, and that opweave has not.
ABSENT = {module: frozenset(words) for module, words in _lines("absent.txt")}


def _read_pytorch() -> dict[str, dict[str, str]]:
    """The table in `pytorch.txt`, where names behind `@` and a module are of that module."""
    found: dict[str, dict[str, str]] = {}
    for module, words in _lines("pytorch.txt"):
        home, names = "", found.setdefault(module, {})
        for word in words:
            if word.startswith("@"):
                home = word[1:]
            else:
                names[word] = home
    return found


#: All names of PyTorch's public modules, and where each is at home, if not there.
PYTORCH = _read_pytorch()

PLACES: dict[str, str] = {
    "torch.nn.modules.instancenorm": "opweave.nn.modules.batchnorm",
    "torch.nn.modules.flatten": "opweave.nn.modules.arranging",
    "torch.nn.modules.pixelshuffle": "opweave.nn.modules.arranging",
    "torch.nn.modules.upsampling": "opweave.nn.modules.arranging",
    "torch.nn.modules.fold": "opweave.nn.modules.arranging",
    "torch.nn.modules.distance": "opweave.nn.modules.arranging",
    "torch.nn.modules": "opweave.nn",
    "torch.distributions.normal": "opweave.distributions.continuous",
    "torch.distributions.categorical": "opweave.distributions.discrete",
    "torch.distributions.multivariate_normal": "opweave.distributions.vectors",
    "torch.distributions.distribution": "opweave.distributions.distribution",
    "torch.distributions.bernoulli": "opweave.distributions.discrete",
    "torch.distributions.kl": "opweave.distributions.divergence",
    "torch.distributions.independent": "opweave.distributions.vectors",
    "torch.distributions.uniform": "opweave.distributions.continuous",
    "torch.distributions.beta": "opweave.distributions.continuous",
    "torch.distributions.gamma": "opweave.distributions.continuous",
    "torch.distributions.dirichlet": "opweave.distributions.vectors",
    "torch.distributions.laplace": "opweave.distributions.continuous",
    "torch.distributions.exponential": "opweave.distributions.continuous",
    "torch.distributions.poisson": "opweave.distributions.discrete",
    "torch.distributions.binomial": "opweave.distributions.discrete",
    "torch.distributions.one_hot_categorical": "opweave.distributions.discrete",
    "torch.distributions.log_normal": "opweave.distributions.positive",
    "torch.distributions.chi2": "opweave.distributions.continuous",
    "torch.distributions.cauchy": "opweave.distributions.heavy",
    "torch.distributions.half_cauchy": "opweave.distributions.heavy",
    "torch.distributions.studentT": "opweave.distributions.heavy",
    "torch.distributions.pareto": "opweave.distributions.heavy",
    "torch.distributions.fishersnedecor": "opweave.distributions.heavy",
    "torch.distributions.half_normal": "opweave.distributions.positive",
    "torch.distributions.inverse_gamma": "opweave.distributions.positive",
    "torch.distributions.weibull": "opweave.distributions.positive",
    "torch.distributions.gumbel": "opweave.distributions.positive",
    "torch.distributions.kumaraswamy": "opweave.distributions.positive",
    "torch.distributions.geometric": "opweave.distributions.counts",
    "torch.distributions.negative_binomial": "opweave.distributions.counts",
    "torch.distributions.multinomial": "opweave.distributions.counts",
    "torch.distributions.relaxed_bernoulli": "opweave.distributions.relaxed",
    "torch.distributions.relaxed_categorical": "opweave.distributions.relaxed",
    "torch.distributions.transformed_distribution": "opweave.distributions.transformed",
    "torch.distributions.logistic_normal": "opweave.distributions.transformed",
    "torch.distributions.mixture_same_family": "opweave.distributions.transformed",
    "torch.distributions.constraint_registry": "opweave.distributions.registries",
    "torch.nn.utils.stateless": "opweave.nn.stateless",
    "functorch": "opweave.func",
    "torch.return_types": "opweave.registry.return_types",
    "torch.utils.data.dataloader": "opweave.utils.data.loader",
    "torch.utils.data._utils": "opweave.utils.data",
    "torch.utils.data._utils.collate": "opweave.utils.data",
    "torch.optim.adamw": "opweave.optim.adaptive",
    "torch.optim.adam": "opweave.optim.adaptive",
    "torch.optim.sgd": "opweave.optim.descent",
}
