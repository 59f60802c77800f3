"""What Triton asks of CUDA: devices, streams and events, which are CuPy's."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.driver import CudaDriver

from opweave.codegen.triton_cpu.driver import activate, register_device
from opweave.codegen.triton_cuda.launcher import CtypesLauncher
from opweave.codegen.triton_cuda.library import CtypesUtils, cupy
from opweave.codegen.triton_cuda.memory import allocate_zeros
from opweave.registry.errors import UnsupportedError

# Constants of cuda.h: CUdevice_attribute.
_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76


def install() -> None:
    """Let Triton kernels run on CuPy's devices, besides the CPU."""
    register_device("cuda", CupyDriver)
    activate()


class _Event:
    """The part of `torch.cuda.Event` that `triton.testing.do_bench` uses."""

    def __init__(self, enable_timing: bool = False) -> None:
        self._event = cupy().cuda.Event(disable_timing=not enable_timing)

    def record(self, stream: Any = None) -> None:
        self._event.record(stream)

    def synchronize(self) -> None:
        self._event.synchronize()

    def elapsed_time(self, later: _Event) -> float:
        """Milliseconds from this event to `later`."""
        return cupy().cuda.get_elapsed_time(self._event, later._event)


class _Interface:
    """The part of `torch.cuda` that Triton's benchmarking uses."""

    Event = _Event

    @staticmethod
    def synchronize() -> None:
        cupy().cuda.runtime.deviceSynchronize()

    @staticmethod
    def current_device() -> int:
        return cupy().cuda.runtime.getDevice()


class CupyDriver(CudaDriver):
    """Triton's CUDA driver with CuPy's devices and streams.

    Raises
    ------
    DeviceError
        Where CuPy or a GPU is missing.
    """

    def __init__(self) -> None:
        # The parent's own __init__ would import PyTorch and follow its streams.
        cuda = cupy().cuda
        runtime = cuda.runtime
        self.utils = CtypesUtils()
        self.launcher_cls = CtypesLauncher
        self.get_current_device: Callable[[], int] = runtime.getDevice
        self.set_current_device: Callable[[int], None] = runtime.setDevice

        def current_stream(device: int | None = None) -> int:
            return (cuda.get_current_stream() if device is None else cuda.get_current_stream(device)).ptr

        self.get_current_stream: Callable[..., int] = current_stream
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
        return cupy().empty(256 << 18, dtype=np.int32)

    def clear_cache(self, cache: Any) -> None:
        cache.fill(0)
