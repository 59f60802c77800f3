"""Tables: which names of PyTorch's that opweave has not are there, and what they give.

`PRESENT` has what does something, or says rightly that there is nothing (no CUDA, no processes); `ABSENT` what can only
be named. Where PyTorch's module has another place here, `PLACES` says it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import optree

from opweave import amp
from opweave.compiling import compile
from opweave.registry import dtypes
from opweave.registry.device import Device, is_cuda_available
from opweave.registry.dtypes import DTYPES, DType
from opweave.registry.keys import DispatchMode, state
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor
from opweave.tracer.proxy import ProxyMode

aten = ops.aten
#: Of PyTorch whose names these are, for packages that ask.
VERSION = "2.13.0+opweave"


def _none(*args: Any, **kwargs: Any) -> None:
    """Nothing to do."""


def _no(*args: Any, **kwargs: Any) -> bool:
    """There is no such thing."""
    return False


def _zero(*args: Any, **kwargs: Any) -> int:
    return 0


def _same(fn: Any = None, *args: Any, **kwargs: Any) -> Any:
    """A decorator that does nothing, with or without arguments."""
    return fn if callable(fn) else lambda inner: inner


def is_compiling() -> bool:
    """Whether a function is being traced."""
    return any(isinstance(mode, ProxyMode) for mode in state.modes)


class _Sort(type):
    """Classes such as `FloatTensor`: tensors of a dtype are instances, and a call makes one."""

    _dtype: DType

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance._dtype is cls._dtype

    def __call__(cls, *args: Any) -> Any:
        if args and all(isinstance(n, int) for n in args):
            return aten.empty.memory_format(list(args), dtype=cls._dtype)
        data = args[0] if args else []
        return Tensor._from_array(np.array(data, cls._dtype.numpy))


def _sorts() -> dict[str, Any]:
    names = {
        "FloatTensor": dtypes.float32, "DoubleTensor": dtypes.float64, "HalfTensor": dtypes.float16,
        "BFloat16Tensor": dtypes.bfloat16, "LongTensor": dtypes.int64, "IntTensor": dtypes.int32,
        "ShortTensor": dtypes.int16, "CharTensor": dtypes.int8, "ByteTensor": dtypes.uint8,
        "BoolTensor": dtypes.bool_,
    }  # fmt: skip
    return {name: _Sort(name, (), {"_dtype": dtype, "__module__": "torch"}) for name, dtype in names.items()}


class _Limits:
    """Numbers of a dtype: least, largest, and for floating ones how fine they are."""

    def __init__(self, dtype: DType | None = None) -> None:
        self._about(dtypes.get_default_dtype() if dtype is None else dtype)

    def _about(self, dtype: DType) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={value}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({inner})"


class finfo(_Limits):  # PyTorch's name
    """Of a floating dtype: `bits`, `min`, `max`, `eps`, `tiny`, `smallest_normal`, `resolution`, `dtype`."""

    def _about(self, dtype: DType) -> None:
        if dtype.kind not in "fc":
            raise TypeError(f"torch.finfo() requires a floating point input type, got {dtype}")
        name = {"complex64": "float32", "complex128": "float64"}.get(dtype.name, dtype.name)
        one = DTYPES[name]
        bits = one.itemsize * 8
        mantissa = {16: 10, 32: 23, 64: 52}[bits] if name != "bfloat16" else 7
        exponent = bits - 1 - mantissa
        top = 2 ** (exponent - 1) - 1
        self.bits = bits
        self.max = float((2 - 2.0**-mantissa) * 2.0**top)
        self.min = -self.max
        self.eps = 2.0**-mantissa
        self.tiny = self.smallest_normal = 2.0 ** (1 - top)
        self.resolution = 10.0 ** -int(mantissa * np.log10(2))
        self.dtype = name


class iinfo(_Limits):  # PyTorch's name
    """Of a dtype of whole numbers: `bits`, `min`, `max`, `dtype`."""

    def _about(self, dtype: DType) -> None:
        if dtype.kind not in "iu":
            raise TypeError(f"torch.iinfo() requires an integer input type, got {dtype}")
        about = np.iinfo(dtype.numpy)
        self.bits, self.min, self.max, self.dtype = about.bits, int(about.min), int(about.max), dtype.name


class _Settings:
    """Settings that are kept, and decide nothing here."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


def _custom_fwd(fn: Any = None, *, device_type: str = "cpu", cast_inputs: Any = None) -> Any:
    return _same(fn)


def _custom_bwd(fn: Any = None, *, device_type: str = "cpu") -> Any:
    return _same(fn)


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
_CUSTOM = {"custom_fwd": _custom_fwd, "custom_bwd": _custom_bwd}
_COMPILER = {
    "is_compiling": is_compiling, "is_dynamo_compiling": is_compiling, "disable": _same, "allow_in_graph": _same,
    "assume_constant_result": _same, "cudagraph_mark_step_begin": _none, "is_exporting": _no, "reset": _none,
    "set_stance": _none,
}  # fmt: skip

PRESENT: dict[str, dict[str, Any]] = {
    "torch": {
        **_sorts(), "finfo": finfo, "iinfo": iinfo, "inf": float("inf"), "nan": float("nan"), "pi": np.pi, "e": np.e,
        "set_float32_matmul_precision": _none, "get_float32_matmul_precision": lambda: "highest",
        "use_deterministic_algorithms": _none, "are_deterministic_algorithms_enabled": _no,
        "is_tensor": lambda value: isinstance(value, Tensor),
        "is_floating_point": lambda t: t._dtype.kind == "f", "is_complex": lambda t: t._dtype.kind == "c",
        "is_autocast_cache_enabled": amp.is_autocast_cache_enabled, "compile": _compile,
        "typename": lambda t: type(t).__name__,
        "bool": dtypes.bool_, "int": dtypes.int32, "float": dtypes.float32, "device": Device, "dtype": DType,
    },
    "torch.cuda": {**_UNAVAILABLE, "is_available": is_cuda_available},
    "torch.cuda.amp": {"autocast": functools.partial(amp.autocast, "cuda"), **_CUSTOM},
    "torch.cuda.nvtx": {"range_push": _none, "range_pop": _none},
    **{f"torch.{name}": dict(_UNAVAILABLE) for name in ("xpu", "mps", "hpu", "npu", "musa", "mtia")},
    "torch.cpu": {
        **_UNAVAILABLE, "is_available": lambda: True, "device_count": lambda: 1, "current_device": lambda: "cpu",
    },
    "torch.accelerator": {**_UNAVAILABLE, "current_accelerator": _none},
    "torch.amp": dict(_CUSTOM),
    "torch.backends": {},
    "torch.backends.cuda": dict(  # noqa: C408  # names that are ops' elsewhere
        matmul=_Settings(allow_tf32=False, allow_fp16_reduced_precision_reduction=True), is_built=_no,
        flash_sdp_enabled=_no, mem_efficient_sdp_enabled=_no, math_sdp_enabled=lambda: True,
        enable_flash_sdp=_none, enable_mem_efficient_sdp=_none, enable_math_sdp=_none,
    ),
    "torch.backends.cudnn": {
        "enabled": False, "benchmark": False, "deterministic": False, "allow_tf32": False, "is_available": _no,
        "version": _none,
    },
    "torch.backends.mps": {"is_available": _no, "is_built": _no},
    "torch.backends.mkldnn": {"enabled": False, "is_available": _no},
    "torch.compiler": dict(_COMPILER),
    "torch._dynamo": {**_COMPILER, "mark_static_address": _none, "optimize": _same, "graph_break": _none},
    "torch._dynamo.config": {"cache_size_limit": 8, "suppress_errors": False, "capture_scalar_outputs": False},
    "torch._inductor": {},
    "torch._inductor.config": {"triton": _Settings()},
    "torch._higher_order_ops": {},
    "torch._C": {},
    "torch.distributed": {
        "is_available": _no, "is_initialized": _no, "is_nccl_available": _no, "is_torchelastic_launched": _no,
    },
    "torch.jit": {
        "script": _same, "ignore": _same, "export": _same, "unused": _same, "script_if_tracing": _same,
        "is_scripting": _no, "is_tracing": _no, "interface": _same, "annotate": lambda kind, value: value,
    },
    "torch.version": {
        "__version__": VERSION, "cuda": None, "hip": None, "xpu": None, "git_version": "opweave", "debug": False,
    },
    "torch.types": {
        "Device": Any, "Number": int | float | bool, "_size": tuple[int, ...], "_dtype": DType, "_device": Device,
        "_int": int, "_float": float, "_bool": bool,
    },
    "torch.utils._python_dispatch": {"TorchDispatchMode": DispatchMode},
    "torch.utils._pytree": {
        "tree_map": functools.partial(optree.tree_map, none_is_leaf=True),
        "tree_flatten": functools.partial(optree.tree_flatten, none_is_leaf=True),
        "tree_unflatten": lambda leaves, spec: optree.tree_unflatten(spec, leaves),
        "tree_leaves": functools.partial(optree.tree_leaves, none_is_leaf=True),
    },
    "torch.nn.modules.utils": {
        "_ntuple": _pair, "_single": _pair(1), "_pair": _pair(2), "_triple": _pair(3), "_quadruple": _pair(4),
    },
}  # fmt: skip

ABSENT: dict[str, frozenset[str]] = {
    name: frozenset(names.split())
    for name, names in {
        "torch": "layout strided sparse_coo sparse_csr float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz "
        "float8_e8m0fnu float4_e2m1fn_x2 uint16 uint32 uint64 uint1 uint2 uint3 uint4 int1 int2 int4 complex32 qint8 "
        "quint8 qint32 Event Stream ScriptObject UntypedStorage TypedStorage save load set_default_device "
        "set_num_threads get_num_threads get_rng_state set_rng_state default_generator preserve_rng_state",
        "torch.cuda": "Stream Event CUDAGraph graph graphs get_device_capability get_device_properties get_device_name "
        "current_stream stream default_stream set_stream mem_get_info get_rng_state set_rng_state OutOfMemoryError "
        "is_current_stream_capturing can_device_access_peer ExternalStream",
        "torch.cuda.amp": "GradScaler",
        "torch.amp": "GradScaler",
        "torch.xpu": "Stream Event current_stream get_device_properties",
        "torch.distributed": "ProcessGroup ReduceOp Work Backend GroupMember group all_reduce all_gather "
        "all_gather_into_tensor all_to_all all_to_all_single broadcast reduce_scatter reduce_scatter_tensor barrier "
        "send recv isend irecv P2POp batch_isend_irecv get_rank get_world_size get_process_group_ranks "
        "get_global_rank new_group init_process_group destroy_process_group get_backend broadcast_object_list "
        "all_gather_object gather scatter reduce DeviceMesh init_device_mesh",
        "torch.distributed.device_mesh": "DeviceMesh init_device_mesh _mesh_resources",
        "torch.distributed.tensor": "DTensor Replicate Shard Partial Placement distribute_module distribute_tensor",
        "torch.distributed.tensor.parallel": "ParallelStyle ColwiseParallel RowwiseParallel SequenceParallel "
        "PrepareModuleInput PrepareModuleOutput parallelize_module",
        "torch.distributed.tensor.placement_types": "Placement Replicate Shard Partial",
        "torch.distributed._tensor": "DTensor Replicate Shard Placement distribute_module",
        "torch.distributed._functional_collectives": "all_reduce all_gather_tensor reduce_scatter_tensor "
        "AsyncCollectiveTensor",
        "torch.distributed._symmetric_memory": "empty rendezvous",
        "torch.distributed.fsdp": "FullyShardedDataParallel fully_shard MixedPrecision ShardingStrategy",
        "torch.distributed.distributed_c10d": "ProcessGroup ReduceOp _get_default_group Backend",
        "torch.jit": "trace ScriptModule ScriptFunction Final load save freeze",
        "torch.compiler": "compile wrap_numpy",
        "torch._dynamo": "utils eval_frame",
        "torch._higher_order_ops": "out_dtype cond",
        "torch._higher_order_ops.out_dtype": "out_dtype",
        "torch._higher_order_ops.triton_kernel_wrap": "TritonHOPifier",
        "torch._C": "_functorch _distributed_c10d DispatchKey ScriptObject _TensorMeta",
        "torch.nn.attention": "SDPBackend sdpa_kernel",
        "torch.nn.attention.flex_attention": "flex_attention create_block_mask BlockMask create_mask "
        "noop_mask and_masks or_masks _DEFAULT_SPARSE_BLOCK_SIZE",
        "torch.nn.parallel": "DistributedDataParallel DataParallel",
        "torch.nn": "DataParallel SyncBatchNorm UninitializedParameter LazyLinear",
        "torch.utils": "hooks dlpack benchmark tensorboard",
        "torch.utils._triton": "has_triton",
        "torch.utils._python_dispatch": "return_and_correct_aliasing is_traceable_wrapper_subclass",
        "torch.utils._pytree": "register_pytree_node PyTree TreeSpec",
        "torch.utils.checkpoint": "create_selective_checkpoint_contexts CheckpointPolicy",
        "torch.utils.hooks": "RemovableHandle",
        "torch.utils.benchmark": "Timer Compare",
        "torch.profiler": "profile record_function ProfilerActivity schedule tensorboard_trace_handler",
        "torch.multiprocessing": "spawn Process Queue set_start_method get_context",
        "torch.hub": "load load_state_dict_from_url",
        "torch.onnx": "export is_in_onnx_export",
        "torch.serialization": "add_safe_globals safe_globals",
        "torch.ao.quantization": "quantize_dynamic",
        "torch.fx.experimental.symbolic_shapes": "ShapeEnv",
        "torch.distributions": "Categorical Normal Bernoulli Beta Uniform Distribution",
    }.items()
}

PLACES: dict[str, str] = {
    "torch.nn.modules.instancenorm": "opweave.nn.modules.batchnorm",
    "torch.nn.modules.flatten": "opweave.nn.modules.arranging",
    "torch.nn.modules.pixelshuffle": "opweave.nn.modules.arranging",
    "torch.nn.modules.upsampling": "opweave.nn.modules.arranging",
    "torch.nn.modules.fold": "opweave.nn.modules.arranging",
    "torch.nn.modules.distance": "opweave.nn.modules.arranging",
    "torch.nn.modules": "opweave.nn",
    "torch.utils.data.dataloader": "opweave.utils.data.loader",
    "torch.optim.adamw": "opweave.optim.adaptive",
    "torch.optim.adam": "opweave.optim.adaptive",
    "torch.optim.sgd": "opweave.optim.descent",
}
