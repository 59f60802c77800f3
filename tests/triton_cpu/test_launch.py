"""Launch functions: how each kind of argument reaches the kernel, and what is refused."""

from __future__ import annotations

import gc
import struct
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from opweave.codegen.native import arguments, llvm, objects
from opweave.codegen.native.arguments import HostArray, Parameter
from opweave.codegen.native.launch import Launcher
from opweave.registry.errors import ArgumentError, DeviceError, OutOfRangeError

# Copies the argument slots after the first (the result's address) to the result.
ECHO = """
define void @echo(ptr %args, i64 %start, i64 %end, i32 %gx, i32 %gy, i32 %gz) {
entry:
  %out = load ptr, ptr %args
  %count.p = getelementptr i64, ptr %args, i64 1
  %count = load i64, ptr %count.p
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %j = add i64 %i, 2
  %from = getelementptr i64, ptr %args, i64 %j
  %to = getelementptr i64, ptr %out, i64 %i
  %v = load i64, ptr %from
  store i64 %v, ptr %to
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""

# Adds one to an element for each program, and leaves the grid in the next three.
TALLY = """
define void @tally(ptr %args, i64 %start, i64 %end, i32 %gx, i32 %gy, i32 %gz) {
  %out = load ptr, ptr %args
  %n = sub i64 %end, %start
  %old = atomicrmw add ptr %out, i64 %n monotonic
  %p1 = getelementptr i64, ptr %out, i64 1
  %g1 = zext i32 %gx to i64
  store atomic i64 %g1, ptr %p1 monotonic, align 8
  %p2 = getelementptr i64, ptr %out, i64 2
  %g2 = zext i32 %gy to i64
  store atomic i64 %g2, ptr %p2 monotonic, align 8
  %p3 = getelementptr i64, ptr %out, i64 3
  %g3 = zext i32 %gz to i64
  store atomic i64 %g3, ptr %p3 monotonic, align 8
  ret void
}
"""


def launcher(source: str, name: str, *types: str) -> Callable[..., None]:
    code = objects.load(llvm.compile_object(source, name=name), [name])
    params = [Parameter(f"p{i}", kind) for i, kind in enumerate(types)]
    return Launcher(name, params, code, code.address(name)).launch


def echo(kind: str, value: Any) -> bytes:
    """The eight bytes that the kernel sees of one argument."""
    out = np.zeros(1, np.uint64)
    launcher(ECHO, "echo", "*i64", "i64", kind)(1, 1, 1, out.ctypes.data, 1, value)
    return out.tobytes()


@pytest.mark.parametrize(
    ("kind", "value", "packed"),
    [
        ("i1", True, struct.pack("q", 1)),
        ("i1", False, struct.pack("q", 0)),
        ("i1", 7, struct.pack("q", 1)),
        ("i1", -1, struct.pack("q", 1)),
        ("i1", np.True_, struct.pack("q", 1)),
        ("i8", -128, struct.pack("q", -128)),
        ("u8", 255, struct.pack("q", 255)),
        ("i16", -5, struct.pack("q", -5)),
        ("i32", -(2**31), struct.pack("q", -(2**31))),
        ("i32", -1, struct.pack("q", -1)),
        ("u32", 2**32 - 1, struct.pack("q", 2**32 - 1)),
        ("i64", -(2**63), struct.pack("q", -(2**63))),
        ("i64", 2**63 - 1, struct.pack("q", 2**63 - 1)),
        ("u64", 2**64 - 1, struct.pack("Q", 2**64 - 1)),
        ("*fp32", 2**64 - 64, struct.pack("Q", 2**64 - 64)),
        ("*fp32", None, struct.pack("Q", 0)),
        ("i32", np.int64(9), struct.pack("q", 9)),
        ("u64", np.uint64(9), struct.pack("q", 9)),
        ("fp64", 0.1, struct.pack("d", 0.1)),
        ("fp64", -1.0, struct.pack("d", -1.0)),
        ("fp32", 0.1, struct.pack("fi", 0.1, 0)),
        ("fp32", -1, struct.pack("fi", -1.0, 0)),
        ("fp32", np.float32(2.5), struct.pack("fi", 2.5, 0)),
        ("fp32", float("inf"), struct.pack("fi", float("inf"), 0)),
        ("fp16", 0.1, struct.pack("exxxxxx", 0.1)),
        ("fp16", 1e9, struct.pack("exxxxxx", float("inf"))),
        ("bf16", 1.00390625, struct.pack("Hxxxxxx", 0x3F80)),  # half-way: to even
        ("bf16", 1.01171875, struct.pack("Hxxxxxx", 0x3F82)),
        ("bf16", float("nan"), struct.pack("Hxxxxxx", 0x7FC0)),
        ("bf16", -2.0, struct.pack("Hxxxxxx", 0xC000)),
    ],
)
def test_packing(kind: str, value: Any, packed: bytes):
    assert echo(kind, value) == packed


def test_objects_with_an_address():
    array = np.arange(4.0)
    expected = struct.pack("Q", array.ctypes.data)
    assert echo("*fp64", HostArray(array)) == expected
    assert echo("*fp64", array) == expected


def test_truth_values_beside_an_object():
    out = np.zeros(1, np.int64)
    launcher(ECHO, "echo", "*i64", "i64", "i1")(1, 1, 1, HostArray(out), 1, 7)
    assert out[0] == 1


def test_many_arguments():
    kinds = ["i64", "fp64", "i1", "*i8"] * 16
    values = [v for k in range(16) for v in (k - 8, k / 2, k % 2 == 0, 64 * k)]
    out = np.zeros(64, np.int64)
    launcher(ECHO, "echo", "*i64", "i64", *kinds)(1, 1, 1, out.ctypes.data, 64, *values)
    assert out[0::4].tolist() == values[0::4]
    assert out[1::4].view(np.float64).tolist() == values[1::4]
    assert out[2::4].tolist() == values[2::4]
    assert out[3::4].tolist() == values[3::4]


@pytest.mark.parametrize(
    ("kind", "value", "error", "message"),
    [
        ("i32", 2**31, OutOfRangeError, "argument 'p0' does not fit i32"),
        ("i8", -129, OutOfRangeError, "does not fit i8"),
        ("u8", -1, OutOfRangeError, "does not fit u8"),
        ("i64", 2**63, OutOfRangeError, "does not fit i64"),
        ("u64", -1, OutOfRangeError, "does not fit u64"),
        ("*fp32", -8, OutOfRangeError, "does not fit"),
        ("i32", 1.5, ArgumentError, "must be an integer"),
        ("i32", "1", ArgumentError, "must be an integer"),
        ("fp32", "1", ArgumentError, "must be a number"),
        ("fp16", None, ArgumentError, "must be a number"),
        ("bf16", "1", ArgumentError, "'p0' must be a number"),
        ("i1", "yes", ArgumentError, "must be an integer"),
        ("*fp32", 1.5, ArgumentError, "must be a tensor or an address"),
        ("*fp32", "x", ArgumentError, "must be a tensor or an address"),
    ],
)
def test_unfit_arguments(kind: str, value: Any, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        launcher(ECHO, "echo", kind)(1, 1, 1, value)


def test_argument_count():
    run = launcher(TALLY, "tally", "*i64", "i32")
    for args in [(), (1, 1), (1, 1, 1, 0), (1, 1, 1, 0, 0, 0)]:
        with pytest.raises(ArgumentError, match="expected 5 arguments") as caught:
            run(*args)
        assert "gx, gy, gz, p0, p1" in str(caught.value)
    with pytest.raises(TypeError):
        run(gx=1, gy=1, gz=1)


class Elsewhere:
    device = "cuda:0"
    dtype = np.dtype("float32")

    def data_ptr(self) -> int:
        raise AssertionError("the address must not be asked for")


def test_a_tensor_on_another_device():
    with pytest.raises(DeviceError, match="'p0' is on cuda:0, but the kernel runs on the CPU"):
        launcher(TALLY, "tally", "*i64")(1, 1, 1, Elsewhere())


def test_an_error_in_data_ptr_reaches_the_caller():
    class Broken:
        def data_ptr(self) -> int:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        launcher(TALLY, "tally", "*i64")(1, 1, 1, Broken())


@pytest.mark.parametrize("grid", [(1, 1, 1), (7, 1, 1), (3, 4, 5), (65_536, 3, 2)])
def test_grid(grid: tuple[int, int, int]):
    out = np.zeros(4, np.int64)
    run = launcher(TALLY, "tally", "*i64")
    for _ in range(3):
        run(*grid, out.ctypes.data)
    assert out.tolist() == [3 * np.prod(grid), *grid]


@pytest.mark.parametrize("grid", [(0, 1, 1), (1, 0, 1), (5, 5, 0)])
def test_an_empty_grid_runs_nothing(grid: tuple[int, int, int]):
    out = np.zeros(4, np.int64)
    launcher(TALLY, "tally", "*i64")(*grid, out.ctypes.data)
    assert out.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("grid", [(-1, 1, 1), (1, 1, -3), (2**31, 1, 1), (2**31 - 1, 2**31 - 1, 4)])
def test_impossible_grids(grid: tuple[int, int, int]):
    out = np.zeros(4, np.int64)
    with pytest.raises(OutOfRangeError, match="tally: "):
        launcher(TALLY, "tally", "*i64")(*grid, out.ctypes.data)
    assert out[0] == 0


def test_a_grid_of_other_numbers():
    out = np.zeros(4, np.int64)
    run = launcher(TALLY, "tally", "*i64")
    run(np.int64(2), np.int32(3), True, out.ctypes.data)
    assert out[0] == 6
    with pytest.raises(ArgumentError, match="grid size y must be an integer"):
        run(1, 2.0, 1, out.ctypes.data)


def test_threads_share_a_launcher():
    run = launcher(TALLY, "tally", "*i64")
    start = threading.Barrier(4)

    def work(_: int) -> list[int]:
        out = np.zeros(4, np.int64)
        start.wait()
        for k in range(2000):
            run(1 + k % 7, 1, 1, out.ctypes.data)
        return out[:1].tolist()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(work, range(4))) == [[sum(1 + k % 7 for k in range(2000))]] * 4


def test_the_launch_function_keeps_the_code():
    out = np.zeros(4, np.int64)
    run = launcher(TALLY, "tally", "*i64")
    gc.collect()
    run(4, 1, 1, out.ctypes.data)
    assert out[0] == 4


def test_a_launcher_is_freed_with_its_last_reference():
    code = objects.load(llvm.compile_object(TALLY, name="tally"), ["tally"])
    made = Launcher("tally", [Parameter("p0", "*i64")], code, code.address("tally"))
    gone = weakref.ref(made)
    del made
    gc.collect()
    assert gone() is None


def test_parameters_of_a_signature():
    signature = {
        "x": "*fp32",
        "n": "i32",
        "B": "constexpr",
        "t": ("*i8", ("fp16", "constexpr")),
        "d": "tensordesc<bf16[8, 4]>",
    }
    spread = [(p.name, p.type) for p in arguments.parameters(signature)]
    assert spread[:4] == [("x", "*fp32"), ("n", "i32"), ("t[0]", "*i8"), ("t[1][0]", "fp16")]
    assert [kind for _, kind in spread[4:]] == ["*bf16", *["i64"] * 4, "i1", "i32", "i32", "i64", "i64"]

    class Descriptor:
        base, shape, strides, padding = "base", [16, 8], [8, 1], "nan"

    values = arguments.flatten(signature.values(), ["x", 3, 64, ("y", (0.5, 1)), Descriptor()])
    assert values == ["x", 3, "y", 0.5, "base", 16, 8, 8, 1, True, 16, 8, 8, 1]
