"""CUDA for Triton through CuPy: what can be tested without a GPU, against stand-ins for CuPy and libcuda."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import triton
import triton.language as tl
from triton.backends.driver import DriverBase

from opweave.codegen.aot import compile_kernel
from opweave.codegen.triton_cpu import driver as mux
from opweave.codegen.triton_cpu.launch import Parameter
from opweave.registry.device import is_cuda_available
from opweave.registry.errors import ArgumentError, DeviceError, OutOfRangeError
from opweave.runtime import cuda


class PretendDriver:
    """libcuda: every function succeeds and is noted; a launch also notes what its arguments hold."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.launches: list[dict[str, Any]] = []
        self.argument_count = 0

    def __getattr__(self, name: str) -> Callable[..., int]:
        def call(*args: Any) -> int:
            self.calls.append(name)
            answer = getattr(type(self), "_" + name, None)
            return answer(self, *args) if answer else 0

        return call

    def _cuCtxGetCurrent(self, context: Any) -> int:
        context._obj.value = 1
        return 0

    def _cuModuleLoadData(self, module: Any, cubin: bytes) -> int:
        module._obj.value = 11
        return 0

    def _cuModuleGetFunction(self, function: Any, module: Any, name: bytes) -> int:
        function._obj.value = 22
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
            }
        )
        return 0


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> PretendDriver:
    pretend = PretendDriver()
    stream = SimpleNamespace(ptr=5)
    runtime = SimpleNamespace(
        getDevice=lambda: 1, setDevice=lambda device: None, deviceGetAttribute=lambda a, device: {75: 9, 76: 0}[a]
    )
    cupy = SimpleNamespace(
        cuda=SimpleNamespace(
            runtime=runtime, get_current_stream=lambda: stream, alloc=lambda size: SimpleNamespace(ptr=4096, size=size)
        )
    )
    monkeypatch.setattr(cuda, "_cuda", lambda: pretend)
    monkeypatch.setattr(cuda, "_cupy", lambda: cupy)
    return pretend


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
        cuda.CupyDriver()


def test_the_driver_takes_everything_from_cupy(library: PretendDriver):
    made = cuda.CupyDriver()
    assert isinstance(made, DriverBase)
    target = made.get_current_target()
    assert (target.backend, target.arch, target.warp_size) == ("cuda", 90, 32)
    assert made.get_current_device() == 1
    assert made.get_current_stream(1) == 5
    assert made.get_device_capability(0) == (9, 0)
    assert not cuda.CupyDriver.is_active()
    with pytest.raises(NotImplementedError):
        made.get_active_torch_device()


def test_loading_a_module(library: PretendDriver):
    utils = cuda.CtypesUtils()
    assert utils.load_binary("scaled", b"cubin", 0, 0) == (11, 22, 40, 2, 1024)
    assert "cuFuncSetAttribute" not in library.calls
    utils.load_binary("scaled", b"cubin", 100_000, 0)
    assert "cuFuncSetAttribute" in library.calls
    assert utils.get_device_properties(0)["max_shared_mem"] == 227 << 10
    utils.unload_module(11)
    assert library.calls[-1] == "cuModuleUnload"


def test_a_direct_launch(library: PretendDriver):
    kernel = compile_kernel(scaled, SIGNATURE, {"BLOCK": 64}, target="sm_90", options={"num_warps": 8})
    launch = cuda.direct_launcher(kernel)
    launch(3, 2, 1, 0x7000, None, -5, 1.5, True)
    (made,) = library.launches
    assert made["grid"] == [3, 2, 1]
    assert made["block"] == [256, 1, 1]
    assert (made["stream"], made["function"]) == (5, 22)
    minus_five = 2**32 - 5
    assert made["slots"] == [0x7000, 0, minus_five, struct.unpack("<I", struct.pack("<f", 1.5))[0], 1, 0, 0]
    launch(0, 1, 1, 0, 0, 0, 0.0, False)
    assert len(library.launches) == 1
    with pytest.raises(OutOfRangeError, match="negative grid"):
        launch(-1, 1, 1, 0, 0, 0, 0.0, False)


def test_kernel_grid_reaches_the_gpu(library: PretendDriver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mux, "_factories", dict(mux._factories))
    monkeypatch.setattr(mux, "_drivers", dict(mux._drivers))
    cuda.install()

    class OnGpu:
        device, dtype = "cuda:1", "float32"

        def data_ptr(self) -> int:
            return 0x8000

    class OnHost(OnGpu):
        device = "cpu"

    scaled[(4,)](OnGpu(), OnGpu(), 100, 2.0, False, BLOCK=32)
    assert library.launches[0]["slots"][:3] == [0x8000, 0x8000, 100]
    with pytest.raises(DeviceError, match="'out' is on cpu, but the kernel runs on CUDA"):
        scaled[(4,)](OnGpu(), OnHost(), 100, 2.0, False, BLOCK=32)
    kernel = scaled[(4,)](OnGpu(), OnGpu(), 100, 2.0, False, BLOCK=32, num_ctas=2)
    assert library.launches[-1]["grid"] == [8, 1, 1]
    assert library.launches[-1]["attributes"] == [(4, 2), (5, 1)]
    assert kernel.metadata.target.arch == 90


@pytest.mark.parametrize(
    ("kind", "value", "bits"),
    [
        ("i8", -1, 0xFF), ("u8", 255, 0xFF), ("i64", -1, 2**64 - 1), ("u64", 2**64 - 1, 2**64 - 1), ("i1", True, 1),
        ("fp16", 1.0, 0x3C00), ("bf16", 1.0, 0x3F80), ("fp64", 1.0, 0x3FF0000000000000), ("*i8", None, 0),
        ("*i8", 9, 9),
    ],
)  # fmt: skip
def test_packing(kind: str, value: Any, bits: int):
    assert cuda.pack("kernel", Parameter("p", kind), value).value == bits


@pytest.mark.parametrize(("kind", "value"), [("i32", 2**31), ("u8", -1), ("i32", 1.5), ("fp32", "x"), ("*i8", 1.5)])
def test_unfit_arguments(kind: str, value: Any):
    with pytest.raises(ArgumentError, match="kernel: argument 'p'"):
        cuda.pack("kernel", Parameter("p", kind), value)


def test_scratch_memory_follows_the_stream(library: PretendDriver):
    assert cuda.allocate(100, 128, 5).data_ptr() == 4096
    assert cuda._scratch(0, 1, 5) is None
    assert cuda._scratch(64, 1, 5).data_ptr() == 4096


def test_errors_of_the_driver_are_named(monkeypatch: pytest.MonkeyPatch):
    class Failing:
        def cuGetErrorString(self, status: int, text: Any) -> int:
            text._obj.value = b"out of memory"
            return 0

    with pytest.raises(DeviceError, match="CUDA: out of memory"):
        cuda._check(2, Failing())
