"""Compiling kernels for a device that need not be there."""

from __future__ import annotations

import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.driver import driver as triton_driver

from opweave.codegen.aot import compile_kernel, parse_target
from opweave.codegen.native.launch import direct_launcher
from opweave.registry.errors import ArgumentError, CompileError, DeviceError, UnsupportedError


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr = 64):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    tl.store(out + i, tl.load(x + i, live) + tl.load(y + i, live), live)


@triton.jit
def matmul(a, b, c, K, N: tl.constexpr):
    i = tl.arange(0, N)[:, None]
    j = tl.arange(0, N)[None, :]
    total = tl.zeros((N, N), tl.float32)
    for k in range(0, K, N):
        total += tl.dot(tl.load(a + i * K + (k + j)), tl.load(b + (k + i) * N + j))
    tl.store(c + i * N + j, total)


@triton.jit
def target_of(out):
    if tl.target_info.is_cuda():
        tl.store(out, 1)
    else:
        tl.store(out, 2)


@triton.jit
def callee(x):
    return x + not_defined_anywhere  # noqa: F821


@triton.jit
def calls_a_broken_one(x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, callee(i))


@triton.jit
def assembler(x):
    v = tl.inline_asm_elementwise("mov $0, $1;", "=r,r", [tl.load(x)], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x, v)


FLOATS = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}


def test_cpu_and_direct_launch():
    kernel = compile_kernel(add, FLOATS, {"BLOCK": 128}, {"x": 16})
    launch = direct_launcher(kernel)
    x, y = np.random.default_rng(0).random((2, 1000), np.float32)
    out = np.zeros_like(x)
    launch(8, 1, 1, x.ctypes.data, y.ctypes.data, out.ctypes.data, 1000)
    np.testing.assert_array_equal(out, x + y)


def test_defaults_of_constants():
    kernel = compile_kernel(add, FLOATS)
    assert kernel.src.constants == {(4,): 64}


def test_divisibility_reaches_the_kernel():
    plain = compile_kernel(add, FLOATS).asm["ttir"]
    for attrs in (
        {"x": 16, "n": 16},
        {0: 16, 3: 16},
        {(0,): [["tt.divisibility", 16]], (3,): [["tt.divisibility", 16]]},
    ):
        text = compile_kernel(add, FLOATS, attrs=attrs).asm["ttir"]
        assert text.count("tt.divisibility = 16") == 2
    assert "tt.divisibility" not in plain


@pytest.mark.parametrize("target", ["sm_90", "sm90", "sm_80", GPUTarget("cuda", 90, 32)])
def test_cubin_without_a_gpu(target: str | GPUTarget):
    kernel = compile_kernel(add, FLOATS, {"BLOCK": 256}, {"x": 16, "y": 16, "out": 16}, target=target)
    assert kernel.asm["cubin"][:4] == b"\x7fELF"
    assert f".target sm_{parse_target(target).arch}" in kernel.asm["ptx"]
    with pytest.raises(DeviceError, match="compiled for cuda"):
        direct_launcher(kernel)


def test_tensor_cores_of_compute_capability_90():
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "i32"}
    attrs = dict.fromkeys(signature, 16)
    kernel = compile_kernel(matmul, signature, {"N": 64}, attrs, target="sm_90", options={"num_warps": 4})
    assert "wgmma" in kernel.asm["ptx"]
    assert kernel.metadata.num_warps == 4


def test_a_whole_source():
    source = ASTSource(add, {**FLOATS, "BLOCK": "constexpr"}, {(4,): 32})
    assert compile_kernel(source).hash == compile_kernel(add, FLOATS, {"BLOCK": 32}).hash


def test_the_frontend_sees_the_target_that_is_compiled_for():
    before = triton_driver.active
    cuda = compile_kernel(target_of, {"out": "*i32"}, target="sm_90")
    cpu = compile_kernel(target_of, {"out": "*i32"}, target="cpu")
    assert "arith.constant 1 : i32" in cuda.asm["ttir"]
    assert "arith.constant 2 : i32" in cpu.asm["ttir"]
    assert triton_driver.active is before


def line_of(text: str) -> int:
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()  # type: ignore[arg-type]
    return 1 + next(i for i, line in enumerate(lines) if text in line)


def test_errors_name_the_kernel_and_its_line():
    with pytest.raises(CompileError) as caught:
        compile_kernel(calls_a_broken_one, {"x": "*i32"}, {"B": 100})
    assert caught.value.what.startswith("calls_a_broken_one: cannot be compiled for cpu:")
    assert caught.value.got == "arange's range must be a power of 2, at `i = tl.arange(0, B)`"
    assert str(caught.value.at) == f"test_aot.py:{line_of('i = tl.arange(0, B)')} in calls_a_broken_one"
    assert caught.value.__cause__ is not None


def test_errors_in_a_called_function():
    with pytest.raises(CompileError) as caught:
        compile_kernel(calls_a_broken_one, {"x": "*i32"}, {"B": 128}, target="sm_90")
    assert "cuda:90" in caught.value.what
    assert "not_defined_anywhere is not defined" in str(caught.value.got)
    assert "return x + not_defined_anywhere" in str(caught.value.got)
    assert str(caught.value.at) == f"test_aot.py:{line_of('tl.store(x + i, callee(i))')} in calls_a_broken_one"


def test_what_the_cpu_backend_lacks():
    with pytest.raises(UnsupportedError, match="assembler: cannot be compiled for cpu") as caught:
        compile_kernel(assembler, {"x": "*i32"})
    assert isinstance(caught.value, NotImplementedError)
    assert "test_aot.py" in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"signature": {"x": "*fp32"}}, "nothing is said about parameter 'y'"),
        ({"signature": FLOATS | {"z": "i32"}}, "no such parameters"),
        ({"signature": FLOATS, "constexprs": {"SIZE": 1}}, "no such parameter"),
        ({"signature": FLOATS, "target": "tpu"}, "unknown target"),
        ({"signature": FLOATS, "target": 90}, "unknown target"),
    ],
)
def test_wrong_requests(arguments: dict[str, Any], message: str):
    with pytest.raises(ArgumentError, match=message):
        compile_kernel(add, **arguments)


def test_not_a_kernel():
    with pytest.raises(ArgumentError, match="expected a @triton"):
        compile_kernel(len, {})
    tuned = triton.autotune([triton.Config({"BLOCK": 64})], key=[])(add)
    with pytest.raises(ArgumentError, match="expected a @triton") as caught:
        compile_kernel(tuned, FLOATS)
    assert "autotuned" in str(caught.value)


@pytest.mark.parametrize("target", ["cpu", "sm_90"])
@pytest.mark.parametrize(
    ("suffix", "content"),
    [(".json", b"{"), (".json", b""), (".llir", b"\xff\xfe"), ("binary", None), ("__grp__", b"[")],
)
def test_broken_cache_entries_are_made_again(target: str, suffix: str, content: bytes | None):
    request = (add, FLOATS, {"BLOCK": 16})
    good = compile_kernel(*request, target=target)
    files = {name: Path(path) for name, path in good.metadata_group.items()}
    binary = "add.obj" if target == "cpu" else "add.cubin"
    folder = files[binary].parent
    victim = {"binary": files[binary], "__grp__": folder / "__grp__add.json"}.get(suffix, folder / f"add{suffix}")
    if content is None:
        victim.unlink()
    else:
        victim.write_bytes(content)
    again = compile_kernel(*request, target=target)
    assert again.asm[binary[4:]][:4] == b"\x7fELF"
    assert "add" in compile_kernel(*request, target=target).asm["ttir"]


@pytest.mark.parametrize("damage", [b"", b"\x7fELF" + bytes(100)])
def test_damaged_object_code_is_made_again(damage: bytes):
    request = (add, FLOATS, {"BLOCK": 8})
    path = Path(compile_kernel(*request).metadata_group["add.obj"])
    path.write_bytes(damage)
    direct_launcher(compile_kernel(*request))
    assert path.stat().st_size > len(damage)


def test_threads_compile_for_two_targets():
    start = threading.Barrier(4)

    def work(number: int) -> list[bool]:
        target = ("cpu", "sm_90")[number % 2]
        start.wait()
        kernels = [compile_kernel(target_of, {"out": kind}, target=target) for kind in ("*i32", "*i64", "*i32")]
        kernels += [compile_kernel(add, FLOATS, {"BLOCK": 2 ** (3 + k)}, target=target) for k in range(3)]
        expected = "arith.constant 1 : i" if target == "sm_90" else "arith.constant 2 : i"
        return [expected in k.asm["ttir"] for k in kernels[:3]] + ["obj" in k.asm or "cubin" in k.asm for k in kernels]

    with ThreadPoolExecutor(4) as threads:
        assert all(all(results) for results in threads.map(work, range(4)))
