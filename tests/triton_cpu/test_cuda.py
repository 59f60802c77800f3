"""CUDA for Triton through CuPy: what can be tested without a GPU, against stand-ins for CuPy and libcuda."""

from __future__ import annotations

import ctypes
import itertools
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import triton
import triton.language as tl
from triton.backends.driver import DriverBase
from triton.tools.tensor_descriptor import TensorDescriptor

import opweave
from opweave.codegen import backends
from opweave.codegen.aot import compile_kernel
from opweave.codegen.native.arguments import Parameter
from opweave.codegen.triton_cpu import driver as mux
from opweave.codegen.triton_cuda import driver, launcher, library as library_module, memory
from opweave.codegen.triton_cuda.arguments import pack, tensor_maps
from opweave.codegen.triton_cuda.launcher import direct_launcher
from opweave.codegen.triton_cuda.library import CtypesUtils
from opweave.registry.device import Device, cuda as gpu, is_cuda_available
from opweave.registry.errors import ArgumentError, DeviceError, OutOfRangeError, UnsupportedError
from opweave.runtime import code

_handles = itertools.count(1000)


class PretendDriver:
    """libcuda: every function succeeds and is noted; a launch also notes what its arguments hold."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.launches: list[dict[str, Any]] = []
        #: Contexts, the current one last; that of device k is 100 + k.
        self.contexts = [101]
        self.loaded: list[int] = []
        self.maps: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Callable[..., int]:
        def call(*args: Any) -> int:
            self.calls.append(name)
            answer = getattr(type(self), "_" + name, None)
            return answer(self, *args) if answer else 0

        return call

    def _cuCtxGetCurrent(self, context: Any) -> int:
        context._obj.value = self.contexts[-1] if self.contexts else None
        return 0

    def _cuDevicePrimaryCtxRetain(self, context: Any, device: int) -> int:
        context._obj.value = 100 + device
        return 0

    def _cuCtxPushCurrent(self, context: Any) -> int:
        self.contexts.append(context.value)
        return 0

    def _cuCtxPopCurrent(self, context: Any) -> int:
        context._obj.value = self.contexts.pop()
        return 0

    def _cuModuleLoadData(self, module: Any, cubin: bytes) -> int:
        self.loaded.append(self.contexts[-1])
        module._obj.value = next(_handles)
        return 0

    def _cuTensorMapEncodeTiled(self, made: Any, *about: Any) -> int:
        kind, rank, address, sizes, strides, box, steps, interleave, swizzle, promotion, fill = about
        assert ctypes.addressof(made._obj) % 64 == 0
        self.maps.append(
            {
                "kind": kind, "address": address.value, "sizes": list(sizes), "strides": list(strides),
                "box": list(box), "steps": list(steps), "rest": (rank, interleave, swizzle, promotion, fill),
            }
        )  # fmt: skip
        ctypes.memset(made._obj, 0xAB, 128)
        return 0

    def _cuModuleGetFunction(self, function: Any, module: Any, name: bytes) -> int:
        function._obj.value = next(_handles)
        return 0

    def _cuFuncGetAttribute(self, value: Any, attribute: int, function: Any) -> int:
        value._obj.value = {0: 1024, 1: 1024, 3: 8, 4: 40}[attribute]
        return 0

    def _cuDeviceGetAttribute(self, value: Any, attribute: int, device: int) -> int:
        value._obj.value = 227 << 10 if attribute == 97 else attribute
        return 0

    def _cuLaunchKernelEx(self, config: Any, function: Any, pointers: Any, extra: Any) -> int:
        made = config._obj
        self.launches.append(
            {
                "grid": list(made.grid),
                "block": list(made.block),
                "shared": made.shared,
                "stream": made.stream,
                "function": function.value,
                "attributes": [(made.attributes[i].id, made.attributes[i].value[0]) for i in range(made.count)],
                "slots": [ctypes.cast(p, ctypes.POINTER(ctypes.c_uint64))[0] for p in pointers],
                "context": self.contexts[-1],
            }
        )
        return 0


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[PretendDriver]:
    pretend = PretendDriver()
    devices: list[int] = []

    class Device:
        """`with cupy.cuda.Device(1)`."""

        def __init__(self, number: int) -> None:
            self.number = number

        def __enter__(self) -> None:
            devices.append(self.number)

        def __exit__(self, *rest: Any) -> None:
            devices.pop()

    runtime = SimpleNamespace(
        getDevice=lambda: 1, setDevice=lambda device: None, deviceGetAttribute=lambda a, device: {75: 9, 76: 0}[a]
    )
    cupy = SimpleNamespace(
        cuda=SimpleNamespace(
            runtime=runtime, Device=Device,
            get_current_stream=lambda device=1: SimpleNamespace(ptr=4 + device),
            alloc=lambda size: SimpleNamespace(ptr=4096 * (devices or [1])[-1], size=size),
        )
    )  # fmt: skip
    load_library = ctypes.CDLL
    monkeypatch.setattr(
        ctypes, "CDLL", lambda name, *rest: pretend if name == "libcuda.so.1" else load_library(name, *rest)
    )
    monkeypatch.setattr(gpu, "_xp", cupy)
    library_module.libcuda.cache_clear()
    library_module.primary_context.cache_clear()
    yield pretend
    library_module.libcuda.cache_clear()
    library_module.primary_context.cache_clear()
    assert pretend.contexts in ([], [101]), "what was current before is current again"


@pytest.fixture
def installed(library: PretendDriver, monkeypatch: pytest.MonkeyPatch) -> PretendDriver:
    """Launches of `kernel[grid]` reach the stand-in."""
    monkeypatch.setattr(mux, "_factories", dict(mux._factories))
    monkeypatch.setattr(mux, "_drivers", dict(mux._drivers))
    driver.install()
    return library


class OnGpu:
    """A tensor in a GPU's memory."""

    dtype = opweave.float32
    shape = (256, 256)

    def __init__(self, address: int = 0x8000, device: str = "cuda:1") -> None:
        self.address, self.device = address, device

    def data_ptr(self) -> int:
        return self.address

    def stride(self) -> tuple[int, int]:
        return (256, 1)


@triton.jit
def scaled(x, out, n, factor, flag, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, i < n) * factor
    if flag:
        value = -value
    tl.store(out + i, value, i < n)


SIGNATURE = {"x": "*fp32", "out": "*fp32", "n": "i32", "factor": "fp32", "flag": "i1"}


@pytest.mark.skipif(is_cuda_available(), reason="there is a GPU here")
def test_without_a_gpu_there_is_a_clear_error():
    with pytest.raises(DeviceError, match="cuda: not available"):
        driver.CupyDriver()


def test_the_driver_takes_everything_from_cupy(library: PretendDriver):
    made = driver.CupyDriver()
    assert isinstance(made, DriverBase)
    target = made.get_current_target()
    assert (target.backend, target.arch, target.warp_size) == ("cuda", 90, 32)
    assert made.get_current_device() == 1
    assert made.get_current_stream(1) == 5
    assert made.get_device_capability(0) == (9, 0)
    assert not driver.CupyDriver.is_active()
    with pytest.raises(NotImplementedError):
        made.get_active_torch_device()


def test_loading_a_module(library: PretendDriver):
    utils = CtypesUtils()
    module, function, *about = utils.load_binary("scaled", b"cubin", 0, 0)
    assert about == [40, 2, 1024] and module != function and library.loaded == [100]
    assert "cuFuncSetAttribute" not in library.calls
    utils.load_binary("scaled", b"cubin", 100_000, 0)
    assert "cuFuncSetAttribute" in library.calls
    assert utils.get_device_properties(0)["max_shared_mem"] == 227 << 10
    utils.unload_module(module)
    assert library.calls[-3:] == ["cuCtxPushCurrent", "cuModuleUnload", "cuCtxPopCurrent"]


def test_a_direct_launch(library: PretendDriver):
    kernel = compile_kernel(scaled, SIGNATURE, {"BLOCK": 64}, target="sm_90", options={"num_warps": 8})
    launch = direct_launcher(kernel)
    launch(3, 2, 1, 0x7000, None, -5, 1.5, True)
    (made,) = library.launches
    assert made["grid"] == [3, 2, 1]
    assert made["block"] == [256, 1, 1]
    assert (made["stream"], made["function"]) == (5, next(_handles) - 1)
    minus_five = 2**32 - 5
    assert made["slots"] == [0x7000, 0, minus_five, struct.unpack("<I", struct.pack("<f", 1.5))[0], 1, 0, 0]
    launch(0, 1, 1, 0, 0, 0, 0.0, False)
    assert len(library.launches) == 1
    with pytest.raises(OutOfRangeError, match="negative grid"):
        launch(-1, 1, 1, 0, 0, 0, 0.0, False)


def test_kernel_grid_reaches_the_gpu(installed: PretendDriver):
    library = installed
    scaled[(4,)](OnGpu(), OnGpu(), 100, 2.0, False, BLOCK=32)
    assert library.launches[0]["slots"][:3] == [0x8000, 0x8000, 100]
    with pytest.raises(DeviceError, match="'out' is on cpu, but the kernel runs on CUDA"):
        scaled[(4,)](OnGpu(), OnGpu(device="cpu"), 100, 2.0, False, BLOCK=32)
    kernel = scaled[(4,)](OnGpu(), OnGpu(), 100, 2.0, False, BLOCK=32, num_ctas=2)
    assert library.launches[-1]["grid"] == [8, 1, 1]
    assert library.launches[-1]["attributes"] == [(4, 2), (5, 1)]
    assert kernel.metadata.target.arch == 90


# ---- devices ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [[], [101]])
def test_kernels_run_where_their_tensors_are(installed: PretendDriver, before: list[int]):
    """Device 1 is current."""
    installed.contexts = list(before)
    for device in ("cuda:3", "cuda:0", "cuda:1", "cuda:3"):
        x = OnGpu(device=device)
        scaled[(4,)](x, x, 100, 2.0, True, BLOCK=64)
        number = int(device[-1])
        made = installed.launches[-1]
        assert (made["context"], made["stream"]) == (100 + number, 4 + number)
        assert installed.contexts == before
    assert set(installed.loaded) <= {100, 101, 103} and len(installed.loaded) <= 3, "on each device once"
    with pytest.raises(DeviceError, match="'out' is on cuda:2, but the kernel runs on cuda:3"):
        scaled[(4,)](OnGpu(device="cuda:3"), OnGpu(device="cuda:2"), 100, 2.0, True, BLOCK=64)


def test_a_direct_launch_on_another_device(library: PretendDriver):
    kernel = compile_kernel(scaled, SIGNATURE, {"BLOCK": 64}, target="sm_90")
    launch = direct_launcher(kernel, 2)
    assert library.loaded == [102]
    launch(3, 1, 1, 0x7000, None, 5, 1.5, True)
    assert (library.launches[0]["context"], library.launches[0]["stream"]) == (102, 6)
    CtypesUtils().unload_module(launch.module)
    assert library.calls[-3:] == ["cuCtxPushCurrent", "cuModuleUnload", "cuCtxPopCurrent"]


def test_compiled_graphs_load_kernels_on_their_device(library: PretendDriver, monkeypatch: pytest.MonkeyPatch):
    asked: list[Any] = []
    chosen = SimpleNamespace(at=lambda device: SimpleNamespace(get_current_target=lambda: f"target of {device}"))
    monkeypatch.setattr(mux, "device_driver", lambda kind: chosen)
    monkeypatch.setattr(driver, "install", lambda: None)
    monkeypatch.setattr(launcher, "direct_launcher", lambda kernel, device: asked.append((kernel, device)))
    monkeypatch.setattr(backends, "compile_source", lambda kernel, folder, target: target)
    kernel: Any = SimpleNamespace(name="k", grid=(1,), file_name="k.py")
    code.begin(kernel, Path("/nowhere"), Device("cuda", 3))()
    assert asked == [("target of 3", 3)]


# ---- tensor descriptors ----------------------------------------------------------------------------------------------


@triton.jit
def block_copy(source, out, B: tl.constexpr):
    i, j = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    tl.store(out + i * B + j, source.load([0, 0]))


@triton.jit
def block_sum(sources, out, n, B: tl.constexpr):
    i, j = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    tl.store(out + i * B + j, sources[0].load([0, 0]) + sources[1][0].load([n, 0]))


def descriptor(address: int, rows: int = 256, padding: str = "zero", device: str = "cuda:1") -> TensorDescriptor:
    return TensorDescriptor(OnGpu(address, device), [rows, 256], [256, 1], [64, 64], padding)


def test_host_descriptors_become_tensor_maps(installed: PretendDriver):
    block_copy[(1,)](descriptor(0x10000, rows=200), OnGpu(), B=64)
    (made,), (launch,) = installed.maps, installed.launches
    assert (made["address"], made["sizes"], made["strides"]) == (0x10000, [256, 200], [1024, 1024 * 200])
    assert made["steps"] == [1, 1] and made["kind"] == 7 and made["rest"][:2] == (2, 0) and made["rest"][3:] == (2, 0)
    assert launch["slots"][0] == 0xABABABABABABABAB
    assert [slot & 0xFFFFFFFF for slot in launch["slots"][1:3]] == [200, 256]
    assert launch["slots"][3:6] == [256, 1, 0x8000]
    block_copy[(1,)](descriptor(0x10000, padding="nan"), OnGpu(), B=64)
    assert installed.maps[-1]["rest"][-1] == 1
    block_copy[(1,)](descriptor(0x10000, device="cuda:2"), OnGpu(device="cuda:2"), B=64)
    assert installed.launches[-1]["context"] == 102
    with pytest.raises(DeviceError, match="'out' is on cuda:1, but the kernel runs on cuda:2"):
        block_copy[(1,)](descriptor(0x10000, device="cuda:2"), OnGpu(), B=64)


def test_descriptors_inside_of_tuples(installed: PretendDriver):
    block_sum[(1,)]((descriptor(0x10000), (descriptor(0x20000), 7)), OnGpu(), 64, B=64)
    assert [made["address"] for made in installed.maps] == [0x10000, 0x20000]
    slots = installed.launches[0]["slots"]
    wide = 0xABABABABABABABAB
    assert [slot for slot in slots if slot == wide] == [wide] * 2
    assert slots[0] == slots[5] == wide and 0x8000 in slots


def test_descriptors_on_a_gpu_without_tensor_maps(installed: PretendDriver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(driver.CupyDriver, "get_device_capability", lambda self, device=None: (8, 0))
    block_copy[(1,)](descriptor(0x10000, device="cuda:7"), OnGpu(device="cuda:7"), B=64)
    assert installed.maps == []
    assert installed.launches[0]["slots"][0] == 0x10000


def test_descriptors_of_another_triton(library: PretendDriver):
    about = SimpleNamespace(name="k", tensordesc_meta=[{"is_im2col": True}])
    with pytest.raises(UnsupportedError, match="k: this Triton describes"):
        tensor_maps(about)


# ---- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value", "bits"),
    [
        ("i8", -1, 0xFF), ("u8", 255, 0xFF), ("i64", -1, 2**64 - 1), ("u64", 2**64 - 1, 2**64 - 1), ("i1", True, 1),
        ("fp16", 1.0, 0x3C00), ("bf16", 1.0, 0x3F80), ("fp64", 1.0, 0x3FF0000000000000), ("*i8", None, 0),
        ("*i8", 9, 9), ("fp32", 1e39, 0x7F800000),
    ],
)  # fmt: skip
def test_packing(kind: str, value: Any, bits: int):
    assert pack("kernel", Parameter("p", kind), value).value == bits


@pytest.mark.parametrize(("kind", "value"), [("i32", 2**31), ("u8", -1), ("i32", 1.5), ("fp32", "x"), ("*i8", 1.5)])
def test_unfit_arguments(kind: str, value: Any):
    with pytest.raises(ArgumentError, match="kernel: argument 'p'"):
        pack("kernel", Parameter("p", kind), value)


def test_scratch_memory_follows_the_stream(library: PretendDriver):
    assert memory.allocate(100, 128, 5).data_ptr() == 4096
    assert memory.scratch(0, 1, 5, 2) is None
    assert memory.scratch(64, 1, 5, 2).data_ptr() == 2 * 4096
    assert memory.profile_scratch(0, 1, 5, 2) is None
    assert memory.profile_scratch(64, 1, 5, 3).data_ptr() == 3 * 4096 and library.calls[-1] == "cuMemsetD8Async"
    assert driver.CupyDriver().allocate_default_profile_scratch(64, 1, 5).data_ptr() == 4096


def test_errors_of_the_driver_are_named(monkeypatch: pytest.MonkeyPatch):
    class Failing:
        def cuGetErrorString(self, status: int, text: Any) -> int:
            text._obj.value = b"out of memory"
            return 0

    with pytest.raises(DeviceError, match="CUDA: out of memory"):
        library_module.check(2, Failing())
