"""`kernel[grid](...)` on the CPU through stock Triton, and the driver that several devices share."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver as triton_driver

import opweave
from opweave.codegen.native import llvm, objects
from opweave.codegen.native.arguments import HostArray
from opweave.codegen.triton_cpu import driver as mux
from opweave.codegen.triton_cpu.driver import OpweaveDriver, activate, for_device, use
from opweave.codegen.triton_cpu.host import HOST_DEVICE
from opweave.registry.errors import ArgumentError, CompileError, DeviceError, OutOfRangeError

pytestmark = pytest.mark.usefixtures("active", "no_device_of_an_earlier_test")


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    tl.store(out + i, tl.load(x + i, live) + tl.load(y + i, live), live)


@triton.jit
def scale(x, out, n, factor, negate, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    value = tl.load(x + i, live) * factor
    if negate:
        value = -value
    tl.store(out + i, value, live)


@triton.jit
def where_am_i(out):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    width, height = tl.num_programs(0), tl.num_programs(1)
    tl.store(out + (z * height + y) * width + x, x + 10 * y + 100 * z)


@triton.jit
def maybe(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    if x is None:
        tl.store(out + i, i)
    else:
        tl.store(out + i, tl.load(x + i))


def arrays(n: int, dtype: str = "float32") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(n)
    x, y = (generator.integers(-50, 50, n).astype(dtype) for _ in range(2))
    return x, y, np.zeros_like(x)


def launch_add(x: np.ndarray, y: np.ndarray, out: np.ndarray, block: int = 128) -> Any:
    n = x.size
    return add[(triton.cdiv(n, block),)](HostArray(x), HostArray(y), HostArray(out), n, BLOCK=block)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "int64", "uint8"])
@pytest.mark.parametrize("n", [1, 16, 1000, 100_000])
def test_values(dtype: str, n: int):
    x, y, out = arrays(n, dtype)
    kernel = launch_add(x, y, out)
    np.testing.assert_array_equal(out, x + y)
    assert kernel.metadata.target.backend == "cpu"
    assert list(kernel.asm)[-1] == "obj"


@pytest.mark.parametrize("factor", [2.5, 3, 2**40, -1])
@pytest.mark.parametrize("negate", [True, False])
def test_scalars(factor: float, negate: bool):
    x, _, out = arrays(100, "float64")
    scale[(1,)](HostArray(x), HostArray(out), 100, factor, negate, BLOCK=128)
    np.testing.assert_array_equal(out, x * factor * (-1 if negate else 1))


def test_grids():
    for grid in [(3,), (3, 4), (3, 4, 5), lambda meta: (2, 2, 2)]:
        sizes = grid({}) if callable(grid) else (*grid, 1, 1)[:3]
        out = np.full(sizes[::-1], -1, np.int32)
        where_am_i[grid](HostArray(out))
        z, y, x = np.indices(out.shape)
        np.testing.assert_array_equal(out, x + 10 * y + 100 * z)


def test_empty_and_negative_grids():
    x, y, out = arrays(16)
    add[(0,)](HostArray(x), HostArray(y), HostArray(out), 16, BLOCK=16)
    assert not out.any()
    with pytest.raises(OutOfRangeError, match="grid size x"):
        add[(-1,)](HostArray(x), HostArray(y), HostArray(out), 16, BLOCK=16)


def test_none_is_an_argument():
    out = np.zeros(8, np.int32)
    maybe[(1,)](None, HostArray(out), 8)
    assert out.tolist() == list(range(8))
    maybe[(1,)](HostArray(np.full(8, 5, np.int32)), HostArray(out), 8)
    assert out.tolist() == [5] * 8


def test_options_made_for_gpus_are_accepted_and_share_one_compilation():
    x, y, out = arrays(64)
    hosts = [HostArray(a) for a in (x, y, out)]
    plain = add[(1,)](*hosts, 64, BLOCK=64)
    tuned = add[(1,)](*hosts, 64, BLOCK=64, num_warps=8, num_stages=4, maxnreg=64)
    assert plain.hash == tuned.hash
    with pytest.raises(ArgumentError, match="no_such_option"):
        add[(1,)](*hosts, 64, BLOCK=64, no_such_option=1)


def test_launch_hooks():
    x, y, out = arrays(16)
    seen: list[tuple[str, str]] = []
    enter = lambda metadata: seen.append(("enter", metadata.get()["name"]))
    leave = lambda metadata: seen.append(("exit", metadata.get()["name"]))
    knobs.runtime.launch_enter_hook.add(enter)
    knobs.runtime.launch_exit_hook.add(leave)
    try:
        launch_add(x, y, out, 16)
    finally:
        knobs.runtime.launch_enter_hook.remove(enter)
        knobs.runtime.launch_exit_hook.remove(leave)
    assert seen == [("enter", "add"), ("exit", "add")]


def test_a_failing_hook_stops_the_launch():
    x, y, out = arrays(16)

    def fail(metadata: Any) -> None:
        raise ZeroDivisionError

    knobs.runtime.launch_enter_hook.add(fail)
    try:
        with pytest.raises(ZeroDivisionError):
            launch_add(x, y, out, 16)
    finally:
        knobs.runtime.launch_enter_hook.remove(fail)
    assert not out.any()


def test_stages_hook(monkeypatch: pytest.MonkeyPatch):
    seen: list[str] = []

    def inspect(*about: Any) -> tuple[str, str] | None:
        if not about:  # Triton 3.7 and later ask for what to add to the cache key
            return "inspected", "1"
        _backend, stages, _options, _language, _capability = about
        lower = stages["llir"]
        stages["llir"] = lambda module, metadata: seen.append("llir") or lower(module, metadata)

    monkeypatch.setattr(knobs.runtime, "add_stages_inspection_hook", inspect)
    x, y, out = arrays(16)
    launch_add(x, y, out, 4)
    assert seen == ["llir"]


def test_gluon_is_refused():
    from triton.backends.compiler import Language
    from triton.compiler.compiler import make_backend

    with pytest.raises(NotImplementedError, match="Triton kernels only"):
        make_backend(GPUTarget("cpu", "any", 1)).add_stages({}, object(), Language.GLUON)  # type: ignore[call-arg]


def test_the_cache_key_covers_the_machine_and_the_sources(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    from opweave.codegen.native import llvm
    from opweave.codegen.triton_cpu import compiler

    keys = {compiler.CPUBackend(GPUTarget("cpu", arch, 1)).hash() for arch in ("znver3", "skylake")}
    machine = llvm.host()
    monkeypatch.setattr(llvm, "host", lambda: llvm.Host(machine.triple, machine.cpu, frozenset({"sse2"})))
    keys.add(compiler._toolchain.__wrapped__())
    monkeypatch.setattr(compiler, "__file__", str(tmp_path / "compiler.py"))
    (tmp_path / "lower.py").write_text("1")
    keys.add(compiler._toolchain.__wrapped__())
    (tmp_path / "lower.py").write_text("2")
    keys.add(compiler._toolchain.__wrapped__())
    assert len(keys) == 5


class OnDevice:
    """A tensor that says it is somewhere."""

    def __init__(self, array: np.ndarray, device: str) -> None:
        self.array, self.device, self.dtype = array, device, array.dtype

    def data_ptr(self) -> int:
        return self.array.ctypes.data


def test_a_device_that_is_not_there():
    """As where CUDA's driver is registered and there is no GPU."""

    def absent():
        raise DeviceError("nowhere: not available", got="no driver", hint="buy one")

    x, y, out = arrays(16)
    mux.register_device("nowhere", absent)
    try:
        with pytest.raises(DeviceError, match="add: argument 'x' is on nowhere:0, where no kernel can run") as caught:
            add[(1,)](OnDevice(x, "nowhere:0"), HostArray(y), HostArray(out), 16, BLOCK=16)
    finally:
        mux._factories.pop("nowhere")
    assert (caught.value.got, caught.value.hint) == ("nowhere: not available: no driver", "buy one")
    assert "test_driver.py" in str(caught.value.at)


def test_tensors_of_two_devices():
    x, y, out = arrays(16)
    with pytest.raises(DeviceError, match="add: argument 'y' is on cuda:0, but the kernel runs on the CPU") as caught:
        add[(1,)](HostArray(x), OnDevice(y, "cuda:0"), HostArray(out), 16, BLOCK=16)
    assert "hint:" in str(caught.value)
    assert "test_driver.py" in str(caught.value.at)
    with pytest.raises(DeviceError, match="'x' is on cuda:0"):
        add[(1,)](OnDevice(x, "cuda:0"), HostArray(y), HostArray(out), 16, BLOCK=16)
    launch_add(x, y, out, 16)  # the failed launches leave nothing behind
    np.testing.assert_array_equal(out, x + y)


class PretendCuda:
    """Compiles for a GPU and notes launches instead of making them."""

    ordinals = itertools.count(3)

    def __init__(self) -> None:
        self.ordinal = next(self.ordinals)  # kernels keep the launcher that they were first launched with on a device
        self.launches: list[tuple[Any, ...]] = []
        self.utils = self
        self.unloaded: list[int] = []
        record = self.launches

        class Launcher:
            def __init__(self, src: Any, metadata: Any) -> None:
                self.name = metadata.name

            def __call__(self, *args: Any) -> None:
                record.append((threading.get_ident(), self.name, args[:3], args[3]))

        self.launcher_cls = Launcher

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {"max_shared_mem": 1 << 17}

    def load_binary(self, name: str, cubin: bytes, shared: int, device: int) -> tuple[int, int, int, int, int]:
        assert cubin[:4] == b"\x7fELF"
        return 1, 2, 32, 0, 1024

    def unload_module(self, module: int) -> None:
        self.unloaded.append(module)

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return self.ordinal

    def get_current_stream(self, device: int | None = None) -> int:
        return 77

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_active_torch_device(self) -> Any:
        return None

    def get_benchmarker(self) -> Any:
        return lambda *args, **kwargs: "cuda"


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> PretendCuda:
    pretend = PretendCuda()
    monkeypatch.setattr(mux, "_factories", dict(mux._factories))
    monkeypatch.setattr(mux, "_drivers", dict(mux._drivers))
    mux.register_device("cuda", lambda: pretend)
    return pretend


def test_one_process_two_devices(cuda: PretendCuda):
    x, y, out = arrays(16)
    for _ in range(2):
        kernel = add[(2,)](OnDevice(x, "cuda:0"), OnDevice(y, "cuda:0"), OnDevice(out, "cuda:0"), 16, BLOCK=16)
        assert "cubin" in kernel.asm
        assert not out.any()
        launch_add(x, y, out, 16)
        np.testing.assert_array_equal(out, x + y)
        out[:] = 0
    assert [entry[1:] for entry in cuda.launches] == [("add", (2, 1, 1), 77)] * 2
    activate().utils.unload_module(1)
    assert cuda.unloaded == [1]
    activate().utils.unload_module(object())
    assert cuda.unloaded == [1]


def test_the_device_is_chosen_per_thread(cuda: PretendCuda):
    start = threading.Barrier(4)

    def work(number: int) -> int:
        x, y, out = arrays(256 + number)
        start.wait()
        for _ in range(100):
            if number % 2:
                add[(1,)](OnDevice(x, "cuda"), OnDevice(y, "cuda"), OnDevice(out, "cuda"), x.size, BLOCK=512)
                assert not out.any()
            else:
                launch_add(x, y, out, 512)
                np.testing.assert_array_equal(out, x + y)
        return threading.get_ident()

    with ThreadPoolExecutor(4) as threads:
        idents = list(threads.map(work, range(4)))
    assert {entry[0] for entry in cuda.launches} == {idents[1], idents[3]}
    assert len(cuda.launches) == 200


def test_tensors_of_pytorch_keep_their_own_driver(cuda: PretendCuda, monkeypatch: pytest.MonkeyPatch):
    pytorchs = PretendCuda()
    monkeypatch.setattr(mux, "_foreign", pytorchs)
    x, y, out = arrays(16)

    class TorchTensor(OnDevice):
        pass

    TorchTensor.__module__ = "torch"
    add[(1,)](*[TorchTensor(a, "cuda:0") for a in (x, y, out)], 16, BLOCK=16)
    assert (len(pytorchs.launches), len(cuda.launches)) == (1, 0)
    add[(1,)](*[OnDevice(a, "cuda:0") for a in (x, y, out)], 16, BLOCK=16)
    assert (len(pytorchs.launches), len(cuda.launches)) == (1, 1)
    launch_add(x, y, out, 16)
    np.testing.assert_array_equal(out, x + y)
    mux._thread.device = None
    assert activate().get_current_target().backend == "cuda"  # without a tensor it is as if opweave were not there


def test_what_was_active_before_is_kept(monkeypatch: pytest.MonkeyPatch):
    pytorchs = PretendCuda()
    monkeypatch.setattr(triton_driver, "_active", pytorchs)
    monkeypatch.setattr(mux, "_foreign", None)
    assert isinstance(activate(), OpweaveDriver)
    assert activate() is activate()
    assert activate().current() is pytorchs


def test_a_device_can_be_set_for_a_while(cuda: PretendCuda):
    assert activate().current().get_current_device() == HOST_DEVICE
    with use("cuda"):
        assert activate().get_current_device() == cuda.ordinal
        assert activate().get_current_target().backend == "cuda"
        with use("cpu"):
            assert activate().get_current_device() == HOST_DEVICE
        with use(GPUTarget("cuda", 80, 32)):
            assert activate().get_current_target().arch == 80
            with pytest.raises(DeviceError, match="nothing runs there"):
                activate().get_active_torch_device()
        assert activate().get_benchmarker()(None) == "cuda"
    assert activate().get_current_target().backend == "cpu"


def test_tuning_results_belong_to_a_device():
    configs = [triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64}, num_warps=8)]
    tuned = triton.autotune(configs, key=["n"])(add)
    x, y, out = arrays(1000)
    cpu, cuda = for_device(tuned, "cpu"), for_device(tuned, "cuda")
    cpu[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](HostArray(x), HostArray(y), HostArray(out), 1000)
    np.testing.assert_array_equal(out, x + y)
    assert len(cpu.cache) == 1
    assert not cuda.cache
    assert not tuned.cache
    assert cpu is for_device(tuned, "cpu")
    assert cpu.fn is cuda.fn is add
    assert for_device(add, "cpu") is add


def test_benchmarking():
    from triton.testing import do_bench

    calls: list[int] = []
    assert do_bench(lambda: calls.append(1), warmup=1, rep=1) < 5
    assert calls
    own = activate().get_benchmarker()
    low, high = own(lambda: None, quantiles=[0.2, 0.8], rep=1)
    assert 0 <= low <= high
    for mode in ("mean", "median", "min", "max"):
        assert own(lambda: None, rep=1, return_mode=mode) >= 0
    assert len(own(lambda: None, rep=1, return_mode="all")) >= 3


def test_warmup_compiles_without_arguments():
    from triton.runtime.jit import MockTensor

    kernel = add.warmup(*[MockTensor(np.dtype("float32"))] * 3, 1000, BLOCK=32, grid=(1,))
    assert "obj" in kernel.asm


def test_threads_launch_together():
    start = threading.Barrier(4)

    def work(number: int) -> bool:
        x, y, out = arrays(3000 + 1000 * number)
        start.wait()
        for _ in range(50):
            out[:] = 0
            launch_add(x, y, out, 256)
            if not (out == x + y).all():
                return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, range(4)))


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    x = torch.arange(100, dtype=torch.bfloat16)
    out = torch.zeros_like(x)
    scale[(1,)](x, out, 100, 2.0, True, BLOCK=128)
    assert torch.equal(out, x * -2)


# --- in processes of their own

_KERNEL = """
import triton, triton.language as tl
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    tl.store(out + i, tl.load(x + i, live) + tl.load(y + i, live), live)
"""

_RUN = """
import json, sys
import numpy as np
import triton
from triton import knobs
loaded = sorted({"torch", "llvmlite", "sympy"} & set(sys.modules))
from opweave.codegen.native.arguments import HostArray
if "activate" in sys.argv:
    from opweave.codegen.triton_cpu.driver import activate
    activate()
from module import add
hits = []
knobs.compilation.listener = lambda *, cache_hit, **_: hits.append(cache_hit)
x, y = np.random.rand(2, 5000).astype("f4")
out = np.zeros_like(x)
if "direct" in sys.argv:
    from opweave.codegen.aot import compile_kernel
    from opweave.codegen.native.launch import direct_launcher
    kernel = compile_kernel(add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 128})
    direct_launcher(kernel)(40, 1, 1, x.ctypes.data, y.ctypes.data, out.ctypes.data, 5000)
else:
    kernel = add[(40,)](HostArray(x), HostArray(y), HostArray(out), 5000, BLOCK=128)
assert (out == x + y).all()
before = "torch" in sys.modules
if "then torch" in sys.argv:
    import torch
    tensors = [torch.from_numpy(a) for a in (x, y)]
    for made in (torch.zeros(5000), torch.nn.Parameter(torch.zeros(5000))):
        add[(40,)](*tensors, made, 5000, BLOCK=128)
        assert torch.equal(made.detach(), tensors[0] + tensors[1])
print(json.dumps({"loaded": loaded, "hits": hits, "torch": before, "files": kernel.metadata_group}))
"""


@pytest.fixture
def process(tmp_path: Path) -> Any:
    """Start a Python process in which the backend is installed, with a cache folder of its own."""
    (tmp_path / "module.py").write_text(_KERNEL)
    (tmp_path / "run.py").write_text(_RUN)
    info = tmp_path / "opweave_test-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: opweave-test\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[triton.backends]\nopweave_cpu = opweave.codegen.triton_cpu\n")
    (root,) = (Path(folder).parent for folder in opweave.__path__)
    path = os.pathsep.join([str(tmp_path), str(root), os.environ.get("PYTHONPATH", "")])

    def start(*args: str, **variables: str) -> subprocess.Popen[str]:
        environment = os.environ | {"PYTHONPATH": path, "TRITON_CACHE_DIR": str(tmp_path / "cache")} | variables
        command = [sys.executable, str(tmp_path / "run.py"), *args]
        return subprocess.Popen(
            command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
        )

    return start


def result(started: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = started.communicate(timeout=120)
    assert started.returncode == 0, err
    return json.loads(out)


def test_import_triton_stays_light_and_the_backend_is_the_default(process: Any):
    told = result(process())
    assert told["loaded"] == []
    assert told["hits"] == [False]
    assert not told["torch"] or mux._may_have_gpu()


def test_drivers_of_gpus_ask_pytorch_where_there_may_be_a_gpu(monkeypatch: pytest.MonkeyPatch):
    asked = mux._only_with_gpu(lambda: True)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    for may_have in (False, True):
        monkeypatch.setattr(mux, "_may_have_gpu", lambda: may_have)  # noqa: B023
        assert asked() is may_have
    monkeypatch.setattr(mux, "_may_have_gpu", lambda: False)
    monkeypatch.setitem(sys.modules, "torch", object())
    assert asked()


def test_torch_tensors_after_a_launch_without_pytorch(process: Any):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    assert result(process("then torch"))["hits"][0] is False


def test_direct_launches_do_not_load_pytorch(process: Any):
    assert result(process("direct"))["torch"] is False


def test_triton_without_plugins(process: Any):
    assert result(process("activate", TRITON_BACKENDS_IN_TREE="1"))["hits"] == [False]


def test_a_second_process_starts_from_the_disk_cache(process: Any):
    assert result(process("activate"))["hits"] == [False]
    assert result(process("activate"))["hits"] == [True]


def test_processes_share_the_disk_cache(process: Any):
    started = [process("activate") for _ in range(3)]
    assert len([result(p) for p in started]) == 3
    assert result(process("activate"))["hits"] == [True]


def test_a_damaged_cache_entry_is_made_anew(process: Any):
    files = result(process("activate"))["files"]
    obj = Path(files["add.obj"])
    obj.write_bytes(obj.read_bytes()[:-100] + bytes(100))
    assert result(process("activate"))["hits"] == [False]
    assert result(process("activate"))["hits"] == [True]


def test_damaged_object_code_of_another_cache_is_a_clean_error():
    with pytest.raises(CompileError, match="add: its object code is damaged"):
        objects.load(llvm.compile_object("define void @add() { ret void }")[:-1], ("add",))
