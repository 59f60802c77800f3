"""The CUDA driver library by ctypes: contexts, properties of devices, loaded kernels."""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Generator
from typing import Any

from triton.backends.nvidia.driver import CudaUtils

from opweave.registry.device import cuda
from opweave.registry.errors import DeviceError

# Constants of cuda.h: CUdevice_attribute, CUfunction_attribute.
_MULTIPROCESSORS, _WARP_SIZE, _REGISTERS_PER_BLOCK = 16, 10, 12
_CLOCK_RATE, _MEMORY_CLOCK_RATE, _MEMORY_BUS_WIDTH = 13, 36, 37
_SHARED_PER_BLOCK_OPTIN = 97
_MAX_THREADS, _SHARED_STATIC, _LOCAL_BYTES, _REGISTERS, _MAX_DYNAMIC_SHARED = 0, 1, 3, 4, 8
_PREFER_SHARED = 1
_DEFAULT_SHARED = 48 << 10  # dynamic shared memory that needs no opting in


def cupy() -> Any:
    """CuPy, where it and a GPU are there; `DeviceError` elsewhere."""
    return cuda.xp


@functools.cache
def libcuda() -> Any:
    library = ctypes.CDLL("libcuda.so.1")
    check(library.cuInit(0), library)
    return library


def check(status: int, library: Any = None) -> None:
    if status:
        text = ctypes.c_char_p()
        (library or libcuda()).cuGetErrorString(status, ctypes.byref(text))
        message = (text.value or b"unknown error").decode()
        raise DeviceError(f"CUDA: {message}", got=f"error {status}")


@functools.cache
def primary_context(device: int) -> int:
    """The device's primary context, which CuPy uses too; kept for good."""
    context = ctypes.c_void_p()
    check(libcuda().cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    return context.value or 0


@contextlib.contextmanager
def on_device(device: int) -> Generator[None]:
    """Within this context (and thread) a device is current to the driver library; then what was before."""
    current, wanted = ctypes.c_void_p(), primary_context(device)
    check(libcuda().cuCtxGetCurrent(ctypes.byref(current)))
    if (current.value or 0) == wanted:
        yield
        return
    check(libcuda().cuCtxPushCurrent(ctypes.c_void_p(wanted)))
    try:
        yield
    finally:
        check(libcuda().cuCtxPopCurrent(ctypes.byref(current)))


#: Where modules and functions were loaded, by handle.
homes: dict[int, int] = {}


def device_attribute(attribute: int, device: int) -> int:
    value = ctypes.c_int()
    check(libcuda().cuDeviceGetAttribute(ctypes.byref(value), attribute, device))
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
        return {name: device_attribute(attribute, device) for name, attribute in names.items()}

    def load_binary(self, name: str, cubin: bytes, shared: int, device: int) -> tuple[int, int, int, int, int]:
        """Module, function, registers a thread, spilled words a thread, and the most threads a block may have."""
        with on_device(device):
            loaded = self._load(name, cubin, shared, device)
        homes[loaded[0]] = homes[loaded[1]] = device
        return loaded

    def _load(self, name: str, cubin: bytes, shared: int, device: int) -> tuple[int, int, int, int, int]:
        cuda = libcuda()
        module, function, value = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
        check(cuda.cuModuleLoadData(ctypes.byref(module), cubin))
        check(cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))

        def attribute(which: int) -> int:
            check(cuda.cuFuncGetAttribute(ctypes.byref(value), which, function))
            return value.value

        available = device_attribute(_SHARED_PER_BLOCK_OPTIN, device)
        if shared > _DEFAULT_SHARED and available > _DEFAULT_SHARED:
            check(cuda.cuFuncSetCacheConfig(function, _PREFER_SHARED))
            dynamic = available - attribute(_SHARED_STATIC)
            check(cuda.cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED, dynamic))
        spilled = attribute(_LOCAL_BYTES) // 4
        return module.value or 0, function.value or 0, attribute(_REGISTERS), spilled, attribute(_MAX_THREADS)

    def unload_module(self, module: int) -> None:
        with on_device(homes.pop(module)) if module in homes else contextlib.nullcontext():
            check(libcuda().cuModuleUnload(ctypes.c_void_p(module)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(CudaUtils(), name)
