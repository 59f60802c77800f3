"""The CPU as a device, in the shape that Triton's runtime wants a device driver to have."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from triton.backends.compiler import GPUTarget

from opweave.codegen.native import arguments, launch, llvm, objects, pool
from opweave.codegen.triton_cpu import access_check, sanitizer
from opweave.codegen.triton_cpu.compiler import SANITIZED
from opweave.codegen.triton_cpu.sharing import careful_launcher, overlap
from opweave.registry.errors import UnsupportedError

_launches = logging.getLogger("opweave.launches")
HOST_DEVICE = -1
"""The CPU's device number: Triton keys its caches by it, so it must be none of CUDA's ordinals."""

SANITIZED_DEVICE = -2
"""The CPU under the sanitizer: to Triton another device, so that its kernels are compiled apart."""

_UNLIMITED = 2**31 - 1


def host_target() -> GPUTarget:
    """The compilation target of this machine's CPU."""
    return GPUTarget("cpu", llvm.host().cpu + (SANITIZED if sanitizer.enabled() else ""), 1)


class HostModule:
    """A loaded kernel. Triton keeps it as the module and as the function handle."""

    __slots__ = ("address", "code", "name")

    def __init__(self, name: str, obj: bytes, sanitized: bool = False) -> None:
        self.name = name
        self.code = objects.load(obj, (name,), imports=access_check.native().imports if sanitized else None)
        self.address = self.code.address(name)


class HostUtils:
    """What Triton asks about the device, and loading of binaries."""

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {
            "max_shared_mem": _UNLIMITED,
            "max_num_regs": _UNLIMITED,
            "multiprocessor_count": pool.get_num_threads(),
            "warpSize": 1,
            "sm_clock_rate": 0,
            "mem_clock_rate": 0,
            "mem_bus_width": 64,
        }

    def load_binary(self, name: str, obj: bytes, shared: int, device: int) -> tuple[Any, ...]:
        """Module, function, registers, spills, and the most threads a program may have."""
        module = HostModule(name, obj, device == SANITIZED_DEVICE)
        return module, module, 0, 0, _UNLIMITED

    def unload_module(self, module: HostModule) -> None:
        """Nothing to do: the code goes with its last reference, which a launch in another thread may hold."""

    def set_printf_fifo_size(self, size: int) -> None:
        """Output of `tl.device_print` is not buffered here."""


class HostLauncher:
    """What `kernel[grid](...)` calls, made once a compiled kernel.

    Parameters
    ----------
    src : ASTSource or IRSource
        Its `signature` says how to pass each argument.
    metadata : namedtuple
        The compiled kernel's metadata.
    """

    def __init__(self, src: Any, metadata: Any) -> None:
        self._name: str = metadata.name
        self._signature = tuple(src.signature.values())
        self._params = arguments.parameters(src.signature)
        arguments.agree(self._name, self._params, metadata)
        self._assertions = tuple(getattr(metadata, "assertions", ()))
        self._module: HostModule | None = None
        self._launch: Callable[..., None] | None = None
        # Positions of the arguments that are passed, unless some have to be spread first.
        plain = all(isinstance(kind, str) and not kind.startswith("tensordesc") for kind in self._signature)
        self.passed = [i for i, kind in enumerate(self._signature) if kind != "constexpr"] if plain else None
        written: frozenset[int] = frozenset(getattr(metadata, "written", ()))
        # Of each pointer its position, what messages call it, and whether it is written to.
        self._pointers = [
            (i, f"{self._name}: argument {p.name!r}", i in written) for i, p in enumerate(self._params) if p.is_pointer
        ]
        self._apart = tuple((i, j, level) for i, j, level in getattr(metadata, "apart", ()))
        self._text: str = getattr(metadata, "text", "")
        self._careful: Callable[..., None] | None = None

    def __call__(
        self,
        grid_x: int,
        grid_y: int,
        grid_z: int,
        stream: int,
        function: HostModule,
        packed_metadata: Any,
        launch_metadata: Any,
        enter_hook: Callable[[Any], Any] | None,
        exit_hook: Callable[[Any], Any] | None,
        *args: Any,
    ) -> None:
        passed = self.passed
        values = arguments.flatten(self._signature, args) if passed is None else [args[i] for i in passed]
        self.start(grid_x, grid_y, grid_z, function, values, enter_hook, exit_hook, launch_metadata)

    def start(
        self,
        grid_x: int,
        grid_y: int,
        grid_z: int,
        function: HostModule,
        values: list[Any],
        enter_hook: Callable[[Any], Any] | None = None,
        exit_hook: Callable[[Any], Any] | None = None,
        launch_metadata: Any = None,
    ) -> None:
        """Launch with the arguments at the positions `passed`; `values` is changed."""
        run = self._launch
        if run is None or self._module is not function:
            self._module = function
            run = launch.Launcher(self._name, self._params, function.code, function.address, self._assertions).launch
            self._launch = run
        if self._apart and overlap(values, self._apart):
            run = self._for_shared_memory()
        for i, what, written in self._pointers:
            value = values[i]
            if type(value) is not int:
                if written and not hasattr(value, "_storage"):  # a tensor's memory can always be written
                    arguments.writable(what, value)
                values[i] = arguments.address(what, value)
        if enter_hook is not None:
            enter_hook(launch_metadata)
        if _launches.isEnabledFor(logging.DEBUG):
            run = launch.timed(self._name, run)
        run(grid_x, grid_y, grid_z, *values)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def _for_shared_memory(self) -> Callable[..., None]:
        if self._careful is None:
            self._careful = careful_launcher(self._name, self._params, self._text)
        return self._careful


class SanitizedLauncher(HostLauncher):
    """A launcher of kernels that ask about every access."""

    def __init__(self, src: Any, metadata: Any) -> None:
        super().__init__(src, metadata)
        self._sites = sanitizer.sites_of(metadata.sites)
        self._names = [p.name for p in self._params]

    def __call__(self, grid_x: int, grid_y: int, grid_z: int, *rest: Any) -> None:
        values = arguments.flatten(self._signature, rest[6:])
        with sanitizer.watching(self._name, (grid_x, grid_y, grid_z), self._sites, self._names, values):
            HostLauncher.__call__(self, grid_x, grid_y, grid_z, *rest)


class HostEvent:
    """A point in time, with the interface of `torch.cuda.Event` that `triton.testing.do_bench` uses."""

    def __init__(self, enable_timing: bool = False) -> None:
        self._time = 0.0

    def record(self, stream: Any = None) -> None:
        self._time = time.perf_counter()

    def synchronize(self) -> None:
        """Launches return when they are done."""

    def elapsed_time(self, later: HostEvent) -> float:
        """Milliseconds from this event to `later`."""
        return (later._time - self._time) * 1e3


class HostInterface:
    """The part of `torch.cuda` that Triton's benchmarking uses, for the CPU."""

    Event = HostEvent

    @staticmethod
    def synchronize() -> None:
        """Launches return when they are done."""

    @staticmethod
    def current_device() -> int:
        return HOST_DEVICE


class HostDriver:
    """The CPU's driver; `driver.OpweaveDriver` stands in front of it."""

    def __init__(self) -> None:
        self.utils = HostUtils()

    @property
    def launcher_cls(self) -> type[HostLauncher]:
        """What launches a kernel that is being loaded."""
        return SanitizedLauncher if sanitizer.enabled() else HostLauncher

    def get_current_target(self) -> GPUTarget:
        return host_target()

    def get_current_device(self) -> int:
        return SANITIZED_DEVICE if sanitizer.enabled() else HOST_DEVICE

    def set_current_device(self, device: int) -> None:
        """There is one."""

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        return (0, 0)

    def map_python_to_cpp_type(self, ty: str) -> str:
        return "void*" if ty.startswith("*") else {"fp32": "float", "fp64": "double"}.get(ty, "int64_t")

    def get_active_torch_device(self) -> Any:
        torch = sys.modules.get("torch")
        if torch is None:
            raise UnsupportedError("there is no torch device: PyTorch is not in use", hint="opweave.Device('cpu')")
        return torch.device("cpu")

    def get_device_interface(self) -> type[HostInterface]:
        return HostInterface

    def get_benchmarker(self) -> Callable[..., Any]:
        return benchmark

    def get_empty_cache_for_benchmark(self) -> bytearray:
        """Memory whose clearing evicts the caches."""
        return bytearray(32 << 20)

    def clear_cache(self, cache: bytearray) -> None:
        cache[:] = bytes(len(cache))

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: Any) -> Any:
        raise UnsupportedError("instrumented kernels are not supported on the CPU")


def benchmark(
    kernel_call: Callable[[], Any],
    *,
    quantiles: Sequence[float] | None = None,
    warmup: float = 5,
    rep: float = 40,
    grad_to_none: Sequence[Any] | None = None,
    return_mode: str = "mean",
) -> Any:
    """Time a call, in milliseconds.

    Parameters
    ----------
    kernel_call : callable
        What to time.
    quantiles : sequence of float, optional
        Return these quantiles, as a list, instead of one figure.
    warmup, rep : float
        Milliseconds to spend before and while measuring (one call and three calls at least).
    grad_to_none : sequence of tensors, optional
        Whose gradients to drop before each call.
    return_mode : {"mean", "median", "min", "max", "all"}
        The figure to return.
    """
    until = time.perf_counter() + warmup * 1e-3
    kernel_call()
    while time.perf_counter() < until:
        kernel_call()
    times: list[float] = []
    until = time.perf_counter() + rep * 1e-3
    while len(times) < 3 or (time.perf_counter() < until and len(times) < 10_000):
        for tensor in grad_to_none or ():
            tensor.grad = None
        start = time.perf_counter()
        kernel_call()
        times.append((time.perf_counter() - start) * 1e3)
    if return_mode == "all" and quantiles is None:
        return times
    times.sort()
    if quantiles is not None:
        return [_quantile(times, q) for q in quantiles]
    return {
        "mean": sum(times) / len(times),
        "median": _quantile(times, 0.5),
        "min": times[0],
        "max": times[-1],
    }[return_mode]


def _quantile(ordered: Sequence[float], q: float) -> float:
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
