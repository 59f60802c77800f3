"""The driver half of the backend: one Triton driver for a process that launches on the CPU and on GPUs.

Triton has one active driver and asks it for the current device before it looks at a kernel's arguments. Switching that
driver at each launch would race between threads, so `OpweaveDriver` stays active and passes every question on to the
device that is meant, which it finds per thread:

1. the device set by `use(...)` in this context, if any;
2. else the device of the first tensor among the arguments of the `kernel[grid](...)` call that is asking;
3. else the driver that Triton would have without opweave (for PyTorch on CUDA), if it is in use;
4. else the CPU.

On a machine where Triton has no other driver, `OpweaveDriver` is active by itself. Elsewhere opweave makes it active
with `activate()`, and what is not opweave's goes on to the driver that was there before.

Triton finds `OpweaveDriver` here; it must stay this module's only concrete `DriverBase`. Triton imports this module
while it is imported itself, so the devices' own drivers load at first use. A layer above registers CUDA's with
`register_device`.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import functools
import importlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextvars import ContextVar
from types import FrameType
from typing import Any, Protocol, cast

from triton.backends.compiler import BaseBackend, GPUTarget
from triton.backends.driver import DriverBase

from opweave.codegen.native.arguments import device_kind
from opweave.registry import forking, interrupts
from opweave.registry.errors import ArgumentError, DeviceError
from opweave.registry.loading import load_heavy, parsing

_log = logging.getLogger("opweave.kernels")

ENTRY_POINT = "opweave_cpu"
"""The backend's name among Triton's entry points."""


class DeviceDriver(Protocol):
    """What `OpweaveDriver` needs of a device's driver; Triton's own drivers have it."""

    utils: Any
    launcher_cls: Any

    def get_current_target(self) -> GPUTarget: ...

    def get_current_device(self) -> Any: ...

    def get_current_stream(self, device: Any = None) -> Any: ...

    def map_python_to_cpp_type(self, ty: str) -> str: ...

    def get_active_torch_device(self) -> Any: ...

    def get_benchmarker(self) -> Callable[..., Any]: ...


class TargetDriver:
    """A driver that only knows its target: while a kernel is compiled for a device that need not be there.

    Triton's frontend asks the active driver for the target, and what it answers is not part of the cache key.
    """

    utils: Any = None
    launcher_cls: Any = None

    def __init__(self, target: GPUTarget) -> None:
        self.target = target

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> Any:
        return ("ahead of time", self.target)

    def get_current_stream(self, device: Any = None) -> int:
        return 0

    def map_python_to_cpp_type(self, ty: str) -> str:
        raise self._absent()

    def get_active_torch_device(self) -> Any:
        raise self._absent()

    def get_benchmarker(self) -> Callable[..., Any]:
        raise self._absent()

    def _absent(self) -> DeviceError:
        target = f"{self.target.backend}:{self.target.arch}"
        return DeviceError(f"a kernel is being compiled for {target}; nothing runs there")


def _host() -> DeviceDriver:
    return load_heavy("opweave.codegen.triton_cpu.host").HostDriver()


_lock = forking.short_lock()
_factories: dict[str, Callable[[], DeviceDriver]] = {"cpu": _host}
_drivers: dict[str, DeviceDriver] = {}
_chosen: ContextVar[DeviceDriver | None] = ContextVar("opweave_triton_device", default=None)
_thread = threading.local()  # .device: the driver of the launch that this thread is in
_foreign: Any = None  # DriverBase or None: the driver Triton would use without opweave
_foreign_sought = False


def register_device(kind: str, factory: Callable[[], DeviceDriver]) -> None:
    """Say how to drive a kind of device.

    Parameters
    ----------
    kind : str
        As in `tensor.device.type` (`cuda`).
    factory : callable
        Makes the driver, at first use; it may raise `DeviceError` where there is no such device.
    """
    with _lock:
        _factories[kind] = factory
        _drivers.pop(kind, None)


def device_driver(kind: str) -> DeviceDriver:
    """The driver of a kind of device.

    Raises
    ------
    DeviceError
        If none is registered.
    """
    found = _drivers.get(kind)
    if found is not None:
        return found
    with _lock:
        if kind not in _factories:
            raise DeviceError(f"kernels cannot run on {kind!r}", hint="available: " + ", ".join(sorted(_factories)))
        if kind not in _drivers:
            _drivers[kind] = _factories[kind]()
        return _drivers[kind]


@contextlib.contextmanager
def use(device: str | GPUTarget) -> Generator[None, None, None]:
    """Within this context (and thread), run kernels on a kind of device, or compile them for a target.

    Parameters
    ----------
    device : str or GPUTarget
        `cpu`, `cuda`; or a target, for which nothing can be launched.
    """
    driver = TargetDriver(device) if isinstance(device, GPUTarget) else device_driver(device)
    token = _chosen.set(driver)
    try:
        yield
    finally:
        _chosen.reset(token)


def activate() -> OpweaveDriver:
    """Make `OpweaveDriver` Triton's active driver and return it.

    Whatever was active before keeps serving launches without an opweave tensor.
    """
    global _foreign
    from triton.runtime.driver import driver

    active: Any = getattr(driver, "_active", None)  # the property would look for a default, and so import PyTorch
    if isinstance(active, OpweaveDriver):
        return active
    with _lock:
        _warn_of_the_interpreter()
        _ensure_backend()
        if active is not None:
            _foreign = active
        made = OpweaveDriver()
        driver.set_active(made)
    return made


def _warn_of_the_interpreter() -> None:
    """Kernels declared in Triton's interpreter mode never come here; who set it should know."""
    from triton import knobs

    if knobs.runtime.interpret:
        _log.warning(
            "TRITON_INTERPRET=%s: Triton interprets kernels, in Python; unset it to run them natively on the CPU",
            os.environ.get("TRITON_INTERPRET", "1"),
        )


def _parse_one_at_a_time() -> None:
    """Have Triton parse kernels under `loading.parsing`, where threads must not do it at once."""
    from triton.runtime.jit import JITFunction

    jit: Any = JITFunction
    original: Callable[[Any], Any] = jit.parse
    if sys.version_info >= (3, 13) or getattr(original, "one_at_a_time", False):
        return

    @functools.wraps(original)
    def parse(self: Any) -> Any:
        with parsing:
            return original(self)

    parse.one_at_a_time = True  # type: ignore[attr-defined]
    jit.parse = parse


def _compile_in_one_piece() -> None:
    """Have no handler of a signal end Triton in the middle of a compilation, and no mark left if an error does.

    To a signal's exception Triton says that the kernel is wrong. While it hashes a kernel's source, the hash is a mark
    against recursion; left there, all kernels of that name would have one entry in its cache.
    """
    from triton.runtime.jit import JITCallable, JITFunction

    jit: Any = JITFunction
    compile_one: Callable[..., Any] = jit._do_compile
    hashed: Any = JITCallable.cache_key
    if getattr(compile_one, "in_one_piece", False):
        return

    @functools.wraps(compile_one)
    def _do_compile(self: Any, *args: Any, **kwargs: Any) -> Any:
        with interrupts.deferred():
            return compile_one(self, *args, **kwargs)

    def cache_key(self: Any) -> str:
        if self.hash is not None:
            return hashed.fget(self)
        with interrupts.deferred():
            try:
                return hashed.fget(self)
            except BaseException:
                self.hash = None
                raise

    _do_compile.in_one_piece = True  # type: ignore[attr-defined]
    JITFunction._do_compile = _do_compile
    setattr(JITCallable, "cache_key", property(cache_key))  # noqa: B010  # it has no setter


def _check_what_is_kept() -> None:
    load_heavy("opweave.codegen.triton_cpu.kernel_cache").install()


def _launch_again_directly() -> None:
    load_heavy("opweave.codegen.triton_cpu.relaunch").install(chosen=_chosen.get)


def _ensure_backend() -> None:
    """Add the backend if Triton did not: a checkout that is not installed, or TRITON_BACKENDS_IN_TREE=1."""
    from triton.backends import Backend, backends

    compiler = load_heavy("opweave.codegen.triton_cpu.compiler")
    if not any(backend.driver is OpweaveDriver for backend in backends.values()):
        backends[ENTRY_POINT] = Backend(compiler.CPUBackend, OpweaveDriver)


def _foreign_driver() -> Any:
    """The driver that Triton would use without opweave, if PyTorch, its usual owner, is in use."""
    global _foreign, _foreign_sought
    if _foreign is None and not _foreign_sought and "torch" in sys.modules:
        with _lock:
            active = [other for other in _other_drivers() if other.is_active()]
            if len(active) == 1:
                _foreign = active[0]()
            _foreign_sought = True
    return _foreign


def _other_drivers() -> list[type[DriverBase]]:
    from triton.backends import backends

    return [backend.driver for backend in backends.values() if backend.driver is not OpweaveDriver]


# ---- PyTorch, which takes seconds to import: the first launch on the CPU would wait for it


def _ask_torch_for_gpus_only() -> None:
    """Have Triton's own drivers, which ask PyTorch for a GPU, say that there is none, where there can be none."""
    for vendor in ("amd", "nvidia"):
        with contextlib.suppress(ImportError):  # a build of Triton may leave one out
            module: Any = importlib.import_module(f"triton.backends.{vendor}.driver")
            for found in cast("dict[str, Any]", vars(module)).values():
                if isinstance(found, type) and issubclass(found, DriverBase) and found is not DriverBase:
                    driver: Any = found
                    driver.is_active = staticmethod(_only_with_gpu(driver.is_active))


def _only_with_gpu(is_active: Callable[[], bool]) -> Callable[[], bool]:
    @functools.wraps(is_active)
    def asked() -> bool:
        return ("torch" in sys.modules or _may_have_gpu()) and is_active()

    return asked


@functools.cache
def _may_have_gpu() -> bool:
    """Whether PyTorch could find a GPU: AMD's are behind this file, NVIDIA's behind this library."""
    if os.path.exists("/dev/kfd"):
        return True
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        interrupts.let_through(error)
        return False
    return True


_specializes = False


class _NoTorch:
    """A finder by which one thread finds no PyTorch."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "torch" and threading.get_ident() == self._thread:
            raise ModuleNotFoundError("it is not looked for", name=name)


def _specialize_without_torch() -> None:
    """Have Triton specialize a number: with the first argument it imports PyTorch, to know its tensors by their class.

    Those of a class that it does not know, as ours, it asks for `data_ptr`; PyTorch's have it, if they come later.
    """
    global _specializes
    specialize: Any = getattr(load_heavy("triton._C.libtriton"), "native_specialize_impl", None)
    if specialize is not None and "torch" not in sys.modules:
        finder: Any = _NoTorch()
        with _lock, interrupts.deferred():
            sys.meta_path.insert(0, finder)
            try:
                specialize(BaseBackend, 2, False, False, False)
            finally:
                sys.meta_path.remove(finder)
    _specializes = True


class _Utils:
    """The current device's `utils`, except that a module is unloaded by whom it belongs to."""

    def __init__(self, owner: OpweaveDriver) -> None:
        self._owner = owner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._owner.current().utils, name)

    def unload_module(self, module: Any) -> None:
        """Called when a kernel is collected, whichever device is current then. Only CUDA's handles are integers."""
        for candidate in (_drivers.get("cuda"), _foreign):
            if isinstance(module, int) and candidate is not None:
                candidate.utils.unload_module(module)
                return


class OpweaveDriver(DriverBase):
    """Passes what Triton asks on to the device that is meant; see the module's description."""

    def __init__(self) -> None:
        super().__init__()
        self.utils = _Utils(self)
        _check_what_is_kept()
        _parse_one_at_a_time()
        _compile_in_one_piece()
        _launch_again_directly()

    @classmethod
    def is_active(cls) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]  (the base is not annotated)
        """Whether Triton should use this driver by default: where no other driver would be."""
        if os.environ.get("TRITON_DEFAULT_BACKEND") == ENTRY_POINT:
            return True
        return not any(other.is_active() for other in _other_drivers())

    def current(self) -> DeviceDriver:
        """The driver of the device that this thread is busy with."""
        return _chosen.get() or getattr(_thread, "device", None) or self._default()

    def _default(self) -> DeviceDriver:
        return _foreign_driver() or device_driver("cpu")

    def get_current_device(self) -> Any:
        """First question of every launch: the device is chosen here, for the questions that follow as well."""
        if not _specializes:
            _specialize_without_torch()
        driver = _chosen.get()
        if driver is None:
            driver = _thread.device = self._meant_by(sys._getframe(1))
        return (driver or self._default()).get_current_device()

    def _meant_by(self, caller: FrameType) -> DeviceDriver | None:
        if caller.f_code.co_name != "run":  # not a launch: what Triton asks in between belongs to the last one
            return getattr(_thread, "device", None)
        values = caller.f_locals
        kernel, grid = values.get("self"), values.get("grid")
        sizes = cast("Sequence[object]", grid) if isinstance(grid, (tuple, list)) else ()
        if len(sizes) > 3:  # Triton would leave out the rest of it
            name = getattr(kernel, "__name__", "kernel")
            raise ArgumentError(
                f"{name}: a grid has one to three sizes", got=repr(sizes), hint=f"{name}[(triton.cdiv(n, BLOCK),)](...)"
            )
        if len(_factories) == 1 and _foreign_driver() is None:
            return device_driver("cpu")
        names = getattr(kernel, "arg_names", ())
        arguments = [*zip(names, values.get("args", ()), strict=False), *values.get("kwargs", {}).items()]
        return _driver_of(getattr(kernel, "__name__", "kernel"), arguments)

    def get_current_stream(self, device: Any = None) -> Any:
        """Asked at every launch: spelled out, since it is faster than `__getattr__`."""
        return self.current().get_current_stream(device)

    # Abstract in DriverBase, so they have to be spelled out; the rest is passed on by __getattr__.
    def map_python_to_cpp_type(self, ty: str) -> str:
        return self.current().map_python_to_cpp_type(ty)

    def get_current_target(self) -> GPUTarget:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.current().get_current_target()

    def get_active_torch_device(self) -> Any:
        return self.current().get_active_torch_device()

    def get_benchmarker(self) -> Callable[..., Any]:
        """A benchmarker that looks for the device when it is called, since an autotuner keeps it."""
        return lambda *args, **kwargs: self.current().get_benchmarker()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.current(), name)


def _driver_of(kernel: str, arguments: Iterable[tuple[str, Any]]) -> DeviceDriver | None:
    """The driver of the first tensor's device; None if there is no tensor."""
    for name, value in arguments:
        tensor = getattr(value, "base", value) if type(value).__name__ == "TensorDescriptor" else value
        if not hasattr(tensor, "data_ptr"):
            continue
        kind = device_kind(getattr(tensor, "device", "cpu"))
        if kind == "cpu":
            return device_driver("cpu")
        # PyTorch's tensors run on PyTorch's streams, which only its own driver knows.
        foreign = _foreign_driver()
        if foreign is not None and type(tensor).__module__.partition(".")[0] == "torch":
            return foreign
        try:
            driver, index = device_driver(kind), device_index(tensor.device)
            # Not the device that is current: the code must be where the tensors are.
            at = getattr(driver, "at", None)
            return driver if index is None or at is None else at(index)
        except DeviceError as error:
            what = f"{kernel}: argument {name!r} is on {tensor.device}, where no kernel can run"
            raise DeviceError(what, got=f"{error.what}: {error.got}", hint=error.hint) from error
    return None


def device_index(device: Any) -> int | None:
    """The ordinal of a tensor's device, where that says one."""
    index = getattr(device, "index", None)
    if isinstance(device, str):
        index = device.partition(":")[2]
    return int(index) if isinstance(index, int) or (isinstance(index, str) and index.isdigit()) else None


def for_device(kernel: Any, kind: str) -> Any:
    """A kernel whose tuning results are its own for one kind of device.

    An autotuner remembers the best configuration by shapes and dtypes, not by device. So each device gets a copy of
    the autotuner (and of heuristics around it). The kernel inside is shared: it keeps its compilations apart itself.

    Parameters
    ----------
    kernel : JITFunction, Autotuner or Heuristics
        The kernel as its author wrote it.
    kind : str
        Kind of device.
    """
    from triton.runtime.autotuner import Autotuner, Heuristics

    if not isinstance(kernel, Autotuner | Heuristics):
        return kernel
    with _lock:
        copies: dict[str, Any] = kernel.__dict__.setdefault("_opweave_per_device", {})
        if kind not in copies:
            own: Any = copy.copy(kernel)
            own.__dict__.pop("_opweave_per_device", None)
            own.fn = for_device(own.fn, kind)
            if isinstance(own, Autotuner):
                own.cache = {}
            copies[kind] = own
        return copies[kind]


_ask_torch_for_gpus_only()
