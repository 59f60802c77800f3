"""CUDA for stock Triton without PyTorch and without a C compiler: devices, streams and memory are CuPy's.

Triton's own driver takes them from PyTorch, and builds its launchers with gcc. Here launches go through ctypes to the
CUDA driver library, which also encodes tensor descriptors. A kernel is loaded on the device of its tensors and launched
there, whichever is current.

`install()` registers the driver; a machine without a GPU notices at the first CUDA launch.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import functools
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.driver import CudaDriver, CudaUtils
from triton.runtime import _allocation

from opweave.codegen.triton_cpu.driver import activate, device_index, device_kind, register_device
from opweave.codegen.triton_cpu.launch import Parameter, flatten, half_bits, parameters
from opweave.registry.device import Device
from opweave.registry.errors import ArgumentError, DeviceError, OutOfRangeError, UnsupportedError

# Constants of cuda.h: CUdevice_attribute, CUfunction_attribute, CUlaunchAttributeID.
_MULTIPROCESSORS, _WARP_SIZE, _REGISTERS_PER_BLOCK = 16, 10, 12
_CLOCK_RATE, _MEMORY_CLOCK_RATE, _MEMORY_BUS_WIDTH = 13, 36, 37
_CAPABILITY_MAJOR, _CAPABILITY_MINOR, _SHARED_PER_BLOCK_OPTIN = 75, 76, 97
_MAX_THREADS, _SHARED_STATIC, _LOCAL_BYTES, _REGISTERS, _MAX_DYNAMIC_SHARED, _ANY_CLUSTER_SIZE = 0, 1, 3, 4, 8, 14
_COOPERATIVE, _CLUSTER_DIMENSION, _CLUSTER_POLICY, _DEPENDENT_LAUNCH = 2, 4, 5, 6
_CLUSTER_POLICY_SPREAD, _PREFER_SHARED = 1, 1
_DEFAULT_SHARED = 48 << 10  # dynamic shared memory that needs no opting in
_MAX_ATTRIBUTES = 4


def install() -> None:
    """Let Triton kernels run on CuPy's devices, besides the CPU."""
    register_device("cuda", CupyDriver)
    activate()


@functools.cache
def _cupy() -> Any:
    """CuPy, where it and a GPU are there; `DeviceError` elsewhere."""
    return Device("cuda").xp


@functools.cache
def _cuda() -> Any:
    library = ctypes.CDLL("libcuda.so.1")
    _check(library.cuInit(0), library)
    return library


def _check(status: int, library: Any = None) -> None:
    if status:
        text = ctypes.c_char_p()
        (library or _cuda()).cuGetErrorString(status, ctypes.byref(text))
        message = (text.value or b"unknown error").decode()
        raise DeviceError(f"CUDA: {message}", got=f"error {status}")


@functools.cache
def _primary_context(device: int) -> int:
    """The device's primary context, which CuPy uses too; kept for good."""
    context = ctypes.c_void_p()
    _check(_cuda().cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    return context.value or 0


@contextlib.contextmanager
def _on(device: int) -> Iterator[None]:
    """Within this context (and thread) a device is current to the driver library; then what was before."""
    current, wanted = ctypes.c_void_p(), _primary_context(device)
    _check(_cuda().cuCtxGetCurrent(ctypes.byref(current)))
    if (current.value or 0) == wanted:
        yield
        return
    _check(_cuda().cuCtxPushCurrent(ctypes.c_void_p(wanted)))
    try:
        yield
    finally:
        _check(_cuda().cuCtxPopCurrent(ctypes.byref(current)))


#: Where modules and functions were loaded, by handle.
_homes: dict[int, int] = {}


def _device_attribute(attribute: int, device: int) -> int:
    value = ctypes.c_int()
    _check(_cuda().cuDeviceGetAttribute(ctypes.byref(value), attribute, device))
    return value.value


class CtypesUtils:
    """Device properties and module loading; what is missing comes from Triton's compiled helper."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        names = {
            "max_shared_mem": _SHARED_PER_BLOCK_OPTIN,
            "max_num_regs": _REGISTERS_PER_BLOCK,
            "multiprocessor_count": _MULTIPROCESSORS,
            "warpSize": _WARP_SIZE,
            "sm_clock_rate": _CLOCK_RATE,
            "mem_clock_rate": _MEMORY_CLOCK_RATE,
            "mem_bus_width": _MEMORY_BUS_WIDTH,
        }
        return {name: _device_attribute(attribute, device) for name, attribute in names.items()}

    def load_binary(self, name: str, cubin: bytes, shared: int, device: int) -> tuple[int, int, int, int, int]:
        """Module, function, registers a thread, spilled words a thread, and the most threads a block may have."""
        with _on(device):
            loaded = self._load(name, cubin, shared, device)
        _homes[loaded[0]] = _homes[loaded[1]] = device
        return loaded

    def _load(self, name: str, cubin: bytes, shared: int, device: int) -> tuple[int, int, int, int, int]:
        cuda = _cuda()
        module, function, value = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
        _check(cuda.cuModuleLoadData(ctypes.byref(module), cubin))
        _check(cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))

        def attribute(which: int) -> int:
            _check(cuda.cuFuncGetAttribute(ctypes.byref(value), which, function))
            return value.value

        available = _device_attribute(_SHARED_PER_BLOCK_OPTIN, device)
        if shared > _DEFAULT_SHARED and available > _DEFAULT_SHARED:
            _check(cuda.cuFuncSetCacheConfig(function, _PREFER_SHARED))
            dynamic = available - attribute(_SHARED_STATIC)
            _check(cuda.cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED, dynamic))
        spilled = attribute(_LOCAL_BYTES) // 4
        return module.value or 0, function.value or 0, attribute(_REGISTERS), spilled, attribute(_MAX_THREADS)

    def unload_module(self, module: int) -> None:
        with _on(_homes.pop(module)) if module in _homes else contextlib.nullcontext():
            _check(_cuda().cuModuleUnload(ctypes.c_void_p(module)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(CudaUtils(), name)


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_char * 4), ("value", ctypes.c_uint * 16)]


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    ]


class CtypesLauncher:
    """What `kernel[grid](...)` calls on CUDA, made once a compiled kernel.

    Parameters
    ----------
    src : ASTSource
        Its `signature` says how to pass each argument.
    metadata : namedtuple
        The compiled kernel's metadata.
    """

    def __init__(self, src: Any, metadata: Any) -> None:
        self._name: str = metadata.name
        self._signature = tuple(src.signature.values())
        self._maps = _tensor_maps(metadata)
        self._params = (
            tuple(_spread_parameters(src.signature.items(), iter(self._maps)))
            if self._maps
            else (parameters(src.signature))
        )
        self._metadata = metadata
        self._attributes = _launch_attributes(metadata)

    def __call__(
        self,
        grid_x: int,
        grid_y: int,
        grid_z: int,
        stream: int,
        function: int,
        packed_metadata: tuple[int, int, int],
        launch_metadata: Any,
        enter_hook: Callable[[Any], Any] | None,
        exit_hook: Callable[[Any], Any] | None,
        *args: Any,
    ) -> None:
        if min(grid_x, grid_y, grid_z) < 0:
            raise OutOfRangeError(f"{self._name}: negative grid", got=str((grid_x, grid_y, grid_z)))
        if enter_hook is not None:
            enter_hook(launch_metadata)
        if grid_x * grid_y * grid_z > 0:
            if self._maps:
                values = list(_spread(self._signature, args, iter(self._maps)))
            else:
                values = flatten(self._signature, args)
            self._launch((grid_x, grid_y, grid_z), stream, function, packed_metadata, values)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def _launch(
        self, grid: tuple[int, int, int], stream: int, function: int, packed: tuple[int, int, int], values: list[Any]
    ) -> None:
        warps, ctas, shared = packed
        metadata = self._metadata
        programs = grid[0] * grid[1] * grid[2] * ctas
        home = _homes.get(function)
        device = _cupy().cuda.runtime.getDevice() if home is None else home
        with _on(device):
            scratch = _scratch(metadata.global_scratch_size * programs, metadata.global_scratch_align, stream, device)
            profile = _profile_scratch(
                metadata.profile_scratch_size * programs, metadata.profile_scratch_align, stream, device
            )
            slots: list[Any] = [pack(self._name, p, v, device) for p, v in zip(self._params, values, strict=True)]
            slots += [_slot(buffer.data_ptr() if buffer is not None else 0) for buffer in (scratch, profile)]
            pointers = (ctypes.c_void_p * len(slots))(*[ctypes.addressof(slot) for slot in slots])
            attributes = (_Attribute * _MAX_ATTRIBUTES)()
            for place, (which, numbers) in enumerate(self._attributes):
                attributes[place].id = which
                attributes[place].value[: len(numbers)] = numbers
            config = _Config(
                (grid[0] * ctas, grid[1], grid[2]), (32 * warps, 1, 1), shared, stream, attributes,
                len(self._attributes),
            )  # fmt: skip
            entry = ctypes.c_void_p(function)
            if ctas == 16:  # larger than every device must support
                _check(_cuda().cuFuncSetAttribute(entry, _ANY_CLUSTER_SIZE, 1))
            _check(_cuda().cuLaunchKernelEx(ctypes.byref(config), entry, pointers, None))


def _launch_attributes(metadata: Any) -> list[tuple[int, tuple[int, ...]]]:
    attributes: list[tuple[int, tuple[int, ...]]] = []
    if metadata.launch_pdl:
        attributes.append((_DEPENDENT_LAUNCH, (1,)))
    if metadata.launch_cooperative_grid:
        attributes.append((_COOPERATIVE, (1,)))
    if metadata.num_ctas != 1:
        attributes.append((_CLUSTER_DIMENSION, (metadata.num_ctas, 1, 1)))
        attributes.append((_CLUSTER_POLICY, (_CLUSTER_POLICY_SPREAD,)))
    return attributes


# ---- tensor descriptors ----------------------------------------------------------------------------------------------

_TENSOR_MAP = "tensormap"
_MAP_KEYS = frozenset({"swizzle", "elem_size", "elem_type", "block_size", "fp4_padded"})
_MAP_BYTES, _MAP_ALIGNMENT, _MOST_MAP_DIMS = 128, 64, 5
#: The element types of device and driver library, where they have other numbers.
_MAP_TYPES = {8: 10, 9: 8, 10: 9}
_NO_INTERLEAVING, _PROMOTE_128_BYTES = 0, 2


def _tensor_maps(metadata: Any) -> list[Any]:
    """How each descriptor of a kernel is to be encoded; none where descriptors were rewritten to pointers."""
    found = list(getattr(metadata, "tensordesc_meta", None) or ())
    for about in found:
        if about is not None and set(about) != _MAP_KEYS:
            raise UnsupportedError(
                f"{metadata.name}: this Triton describes tensor descriptors in another way",
                got=", ".join(sorted(about)), hint=f"known: {', '.join(sorted(_MAP_KEYS))}",
            )  # fmt: skip
    return found


def _spread_parameters(signature: Any, maps: Iterator[Any]) -> Iterator[Parameter]:
    """As `parameters`, where descriptors are passed as tensor maps, with shape and strides behind."""
    for name, kind in signature:
        if isinstance(kind, tuple):
            yield from _spread_parameters(((f"{name}[{i}]", inner) for i, inner in enumerate(kind)), maps)
        elif not kind.startswith("tensordesc"):
            yield from parameters({name: kind})
        elif next(maps) is None:
            yield from parameters({name: kind})
        else:
            rank = kind.partition("[")[2].partition("]")[0].count(",") + 1
            yield Parameter(str(name), _TENSOR_MAP)
            for width in ("i32", "i64"):
                yield from [Parameter(f"{name}.shape", width)] * rank


def _spread(signature: Sequence[Any], arguments: Sequence[Any], maps: Iterator[Any]) -> Iterator[Any]:
    """The argument of each of `_spread_parameters`."""
    for kind, value in zip(signature, arguments, strict=True):
        if isinstance(kind, tuple):
            yield from _spread(kind, value, maps)
        elif not kind.startswith("tensordesc"):
            yield from flatten((kind,), (value,))
        else:
            about = next(maps)
            if about is None:
                yield from flatten((kind,), (value,))
            else:
                yield (value, about)
                shape = list(value.shape)
                if about["fp4_padded"]:
                    shape[-1] *= 2
                yield from shape
                yield from value.strides


def encode_tensor_map(what: str, descriptor: Any, about: Any, device: int | None) -> Any:
    """A descriptor as the 128 bytes that the hardware reads.

    Raises
    ------
    ArgumentError
        If it is none that the hardware takes.
    """
    rank = len(about["block_size"])
    shape, strides, size = list(descriptor.shape), list(descriptor.strides), about["elem_size"]
    if not 1 <= rank == len(shape) == len(strides) <= _MOST_MAP_DIMS or strides[-1] != 1:
        raise ArgumentError(
            f"{what}: a tensor descriptor has up to {_MOST_MAP_DIMS} dimensions, the last one dense",
            got=f"shape {shape}, strides {strides}, block {list(about['block_size'])}",
        )  # fmt: skip
    if about["fp4_padded"]:
        shape[-1] *= 2
    memory = ctypes.create_string_buffer(_MAP_BYTES + _MAP_ALIGNMENT)
    made = (ctypes.c_char * _MAP_BYTES).from_buffer(memory, -ctypes.addressof(memory) % _MAP_ALIGNMENT)
    steps = [size * stride for stride in reversed(strides[:-1])]
    steps.append(shape[0] * (steps[-1] if steps else size))
    status = _cuda().cuTensorMapEncodeTiled(
        ctypes.byref(made), _MAP_TYPES.get(about["elem_type"], about["elem_type"]), rank,
        ctypes.c_void_p(_address(what, descriptor.base, device)), (ctypes.c_uint64 * rank)(*reversed(shape)),
        (ctypes.c_uint64 * rank)(*steps), (ctypes.c_uint32 * rank)(*reversed(about["block_size"])),
        (ctypes.c_uint32 * rank)(*[1] * rank), _NO_INTERLEAVING, about["swizzle"], _PROMOTE_128_BYTES,
        int(descriptor.padding == "nan"),
    )  # fmt: skip
    _check(status)
    return made


# ---- arguments -------------------------------------------------------------------------------------------------------

_FORMATS = {"fp64": "<d"} | {
    f"{sign}{8 * size}": "<" + (code.upper() if sign == "u" else code)
    for sign in "iu"
    for size, code in ((1, "b"), (2, "h"), (4, "i"), (8, "q"))
}


def pack(kernel: str, parameter: Parameter, value: Any, device: int | None = None) -> Any:
    """An argument as eight bytes, of which CUDA reads as many as the parameter's type has; or as a tensor map.

    Parameters
    ----------
    kernel : str
        Its name, for messages.
    parameter : Parameter
    value : Any
    device : int, optional
        The device that the kernel runs on.

    Raises
    ------
    ArgumentError
        If the value does not fit the parameter.
    DeviceError
        If it is a tensor outside GPU memory.
    """
    what = f"{kernel}: argument {parameter.name!r}"
    try:
        if parameter.is_pointer:
            return _slot(_address(what, value, device))
        if parameter.type == _TENSOR_MAP:
            descriptor, about = value
            return encode_tensor_map(what, descriptor, about, device)
        if parameter.type == "fp32":  # beyond its range it is infinite, as C and the CPU have it
            return _slot(int.from_bytes(bytes(ctypes.c_float(value)), "little"))
        if parameter.type == "i1":
            return _slot(int(bool(value)))
        if parameter.type in ("fp16", "bf16"):
            return _slot(half_bits(value, parameter.type))
        raw = struct.pack(_FORMATS[parameter.type], value)
    except (struct.error, TypeError, OverflowError) as error:
        raise ArgumentError(f"{what} does not fit {parameter.type}", got=f"{value!r}: {error}") from None
    return _slot(int.from_bytes(raw, "little"))


def _slot(bits: int) -> ctypes.c_uint64:
    return ctypes.c_uint64(bits)


def _address(what: str, value: Any, home: int | None = None) -> int:
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    if not hasattr(value, "data_ptr"):
        raise ArgumentError(f"{what} must be a tensor or an address", got=f"{value!r} ({type(value).__name__})")
    device = getattr(value, "device", None)
    if device is not None and device_kind(device) != "cuda":
        raise DeviceError(
            f"{what} is on {device}, but the kernel runs on CUDA",
            hint="a launch runs where its first tensor is: move all tensors to one device",
        )
    place = device_index(device)
    if home is not None and place is not None and place != home:
        raise DeviceError(
            f"{what} is on {device}, but the kernel runs on cuda:{home}",
            hint="a launch runs where its first tensor is: move all tensors to one device",
        )
    return value.data_ptr()


class _Buffer:
    """Device memory that goes back to CuPy's pool when dropped, in the order of its stream."""

    __slots__ = ("_memory",)

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def data_ptr(self) -> int:
        return self._memory.ptr


def allocate(size: int, alignment: int, stream: int | None) -> _Buffer:
    """An allocator for `triton.set_allocator`: memory of CuPy's pool, for use on `stream`."""
    cuda = _cupy().cuda
    if stream is None or stream == cuda.get_current_stream().ptr:
        return _Buffer(cuda.alloc(size))  # blocks are aligned to 512 bytes
    with cuda.ExternalStream(stream) if stream else cuda.Stream.null:
        return _Buffer(cuda.alloc(size))


def _scratch(size: int, alignment: int, stream: int, device: int) -> Any:
    if not size:
        return None
    chosen = _allocation._allocator.get()
    # `triton.set_allocator` is per context, so a new thread starts without.
    if not isinstance(chosen, _allocation.NullAllocator):
        return chosen(size, alignment, stream)
    with _cupy().cuda.Device(device):
        return allocate(size, alignment, stream)


def _profile_scratch(size: int, alignment: int, stream: int, device: int) -> Any:
    if not size:
        return None
    chosen = _allocation._profile_allocator.get()
    if not isinstance(chosen, _allocation.NullAllocator):
        return chosen(size, alignment, stream)
    with _cupy().cuda.Device(device):
        return allocate_zeros(size, alignment, stream)


def allocate_zeros(size: int, alignment: int, stream: int | None) -> _Buffer:
    """The same, filled with zeros: what an instrumented kernel starts from where nobody chose its memory."""
    made = allocate(size, alignment, stream)
    _check(_cuda().cuMemsetD8Async(ctypes.c_uint64(made.data_ptr()), 0, size, ctypes.c_void_p(stream or 0)))
    return made


def direct_launcher(kernel: Any, device: int | None = None) -> Callable[..., None]:
    """`launch(gx, gy, gz, *arguments)` of a kernel compiled for CUDA, on CuPy's current stream of a device.

    The arguments are the kernel's run-time parameters in order, constants left out. It returns once the kernel is
    queued.

    Parameters
    ----------
    kernel : CompiledKernel
    device : int, optional
        The device that it is loaded on and runs on; by default the one that is current now.
    """
    if kernel.metadata.target.backend != "cuda":
        raise DeviceError(f"{kernel.name}: compiled for {kernel.metadata.target.backend}, not for CUDA")
    cuda = _cupy().cuda
    metadata = kernel.metadata
    home = cuda.runtime.getDevice() if device is None else device
    module, function, *_ = CtypesUtils().load_binary(kernel.name, kernel.asm["cubin"], metadata.shared, home)
    launcher = CtypesLauncher(kernel.src, metadata)
    packed = kernel.packed_metadata

    def launch(gx: int, gy: int, gz: int, *arguments: Any) -> None:
        if min(gx, gy, gz) < 0:
            raise OutOfRangeError(f"{kernel.name}: negative grid", got=str((gx, gy, gz)))
        if gx * gy * gz:
            launcher._launch((gx, gy, gz), cuda.get_current_stream(home).ptr, function, packed, list(arguments))

    launch.module = module  # type: ignore[attr-defined]
    return launch


class _Event:
    """The part of `torch.cuda.Event` that `triton.testing.do_bench` uses."""

    def __init__(self, enable_timing: bool = False) -> None:
        self._event = _cupy().cuda.Event(disable_timing=not enable_timing)

    def record(self, stream: Any = None) -> None:
        self._event.record(stream)

    def synchronize(self) -> None:
        self._event.synchronize()

    def elapsed_time(self, later: _Event) -> float:
        """Milliseconds from this event to `later`."""
        return _cupy().cuda.get_elapsed_time(self._event, later._event)


class _Interface:
    """The part of `torch.cuda` that Triton's benchmarking uses."""

    Event = _Event

    @staticmethod
    def synchronize() -> None:
        _cupy().cuda.runtime.deviceSynchronize()

    @staticmethod
    def current_device() -> int:
        return _cupy().cuda.runtime.getDevice()


class CupyDriver(CudaDriver):
    """Triton's CUDA driver with CuPy's devices and streams.

    Raises
    ------
    DeviceError
        Where CuPy or a GPU is missing.
    """

    def __init__(self) -> None:
        # The parent's own __init__ would import PyTorch and follow its streams.
        cuda = _cupy().cuda
        runtime = cuda.runtime
        self.utils = CtypesUtils()
        self.launcher_cls = CtypesLauncher
        self.get_current_device: Callable[[], int] = runtime.getDevice
        self.set_current_device: Callable[[int], None] = runtime.setDevice
        self.get_current_stream: Callable[..., int] = lambda device=None: (
            (cuda.get_current_stream() if device is None else cuda.get_current_stream(device)).ptr
        )
        self._attribute: Callable[[int, int], int] = runtime.deviceGetAttribute
        self._capabilities: dict[int, tuple[int, int]] = {}
        self._of_devices: dict[int, CupyDriver] = {}

    def at(self, device: int) -> CupyDriver:
        """The driver for launches on one device, whichever is current."""
        found = self._of_devices.get(device)
        if found is None:
            found = copy.copy(self)
            found.get_current_device = lambda: device
            found = self._of_devices.setdefault(device, found)
        return found

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: Any) -> Any:
        """Memory for what an instrumented kernel notes, where nobody chose any (Triton 3.8 and later ask for it)."""
        return allocate_zeros(size, alignment, stream)

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        """Compute capability of a device, the current one by default."""
        number = self.get_current_device() if device is None else device
        if number not in self._capabilities:
            major, minor = (self._attribute(a, number) for a in (_CAPABILITY_MAJOR, _CAPABILITY_MINOR))
            self._capabilities[number] = (major, minor)
        return self._capabilities[number]

    def get_current_target(self) -> GPUTarget:
        major, minor = self.get_device_capability()
        return GPUTarget("cuda", major * 10 + minor, 32)

    def get_active_torch_device(self) -> Any:
        raise UnsupportedError("there is no torch device: CUDA is used through CuPy", hint="opweave.Device('cuda')")

    def get_device_interface(self) -> Any:
        return _Interface

    @staticmethod
    def is_active() -> bool:
        """Never by itself: `OpweaveDriver` stands in front of it."""
        return False

    def get_empty_cache_for_benchmark(self) -> Any:
        """256 MiB whose clearing evicts the L2 cache."""
        cupy = _cupy()
        return cupy.empty(256 << 18, dtype=cupy.int32)

    def clear_cache(self, cache: Any) -> None:
        cache.fill(0)
