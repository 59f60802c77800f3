"""Which pointers a kernel writes, found from its TTIR without running it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

triton = pytest.importorskip("triton", reason="needs Triton")
tl: Any = pytest.importorskip("triton.language")

from triton.language.target_info import is_cuda

import opweave
from opweave.codegen.triton_cpu.driver import activate
from opweave.registry.errors import CompileError, UnsupportedError
from opweave.registry.tensor import Tensor, from_numpy
from opweave.registry.triton.effects import accesses, device_kind, target_of, written_pointers


def f32(n: int = 16) -> Tensor:
    return from_numpy(np.zeros(n, np.float32))


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    tl.store(out + i, tl.load(x + i, live) + tl.load(y + i, live), live)


@triton.jit
def selected(x, y, z, n):
    p = x if n > 3 else y
    tl.store(p, tl.load(z))


@triton.jit
def where_pointer(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    p = tl.where(i < n, x + i, y + i)
    tl.store(p, tl.load(z + i))


@triton.jit
def carried(x, y, n):
    p = x
    for _ in range(n):
        tl.store(p, tl.load(y))
        p += 4


@triton.jit
def swapped(x, y, z, n):
    a, b = x, y
    for _ in range(n):
        tl.store(a, tl.load(z))
        a, b = b, a


@triton.jit
def rotated_not_written(x, y, z, n):
    a, b = x, y
    total = 0.0
    for _ in range(n):
        total += tl.load(a)
        a, b = b, a
    tl.store(z, total)


@triton.jit
def in_while(x, y, n):
    p = x
    i = 0
    while i < n:
        if i % 2 == 0:
            tl.store(p, tl.load(y))
        p += 1
        i += 1


@triton.jit
def while_result(x, y, n):
    p = x
    i = 0
    while i < n:
        p = p + 1
        i += 1
    tl.store(p, tl.load(y))


@triton.jit(noinline=True)
def put(where, value):
    tl.store(where, value)


@triton.jit(noinline=True)
def take(where, unused):
    return tl.load(where)


@triton.jit(noinline=True)
def step(p):
    return p + 1


@triton.jit
def through_calls(x, y, z):
    put(x + 1, take(y, z))


@triton.jit
def returned_pointer(x, y):
    tl.store(step(x), tl.load(y))


@triton.jit
def atomics(x, y, z, w):
    tl.atomic_add(x, 1.0)
    old = tl.atomic_cas(y, 0, 1)
    tl.store(w, tl.load(z) + old)


@triton.jit
def early_return(x, y, n):
    if n == 0:
        return
    if n > 5:
        tl.store(x, 1.0)
        return
    tl.store(x + 1, tl.load(y))


@triton.jit
def from_integer(x, y, address):
    tl.store(address.to(tl.pointer_type(tl.float32)), tl.load(x) + tl.load(y))


@triton.jit
def block_pointers(x, out, n, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(x, (n,), (1,), (0,), (BLOCK,), (0,))
    target = tl.make_block_ptr(out, (n,), (1,), (0,), (BLOCK,), (0,))
    for _ in range(2):
        tl.store(target, tl.load(source, boundary_check=(0,)), boundary_check=(0,))
        source = tl.advance(source, (BLOCK,))
        target = tl.advance(target, (BLOCK,))


@triton.jit
def assembly(x, y, z, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.inline_asm_elementwise(
        "ld.global.u32 $0, [$1];", "=r,l", [(x + i).to(tl.int64)], dtype=tl.int32, is_pure=False, pack=1
    )
    tl.store(z + i, v + tl.load(y + i))


@triton.jit
def maybe(x, y, n, WRITE_Y: tl.constexpr):
    if WRITE_Y:
        tl.store(y, n)
    else:
        tl.store(x, n)


@triton.jit
def in_tuple(pair, z):
    tl.store(pair[1], tl.load(pair[0]) + tl.load(z))


@triton.jit
def reduced(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, 0.0)
    tl.store(out, tl.sum(tl.cumsum(v, 0), 0))


x, y, z, w = f32(), f32(), f32(), f32()
ints = from_numpy(np.zeros(4, np.int32))


@pytest.mark.parametrize(
    ("kernel", "args", "expected"),
    [
        (add, (x, y, z, 16, 16), {"out"}),
        (selected, (x, y, z, 5), {"x", "y"}),
        (where_pointer, (x, y, z, 5, 16), {"x", "y"}),
        (carried, (x, y, 5), {"x"}),
        (swapped, (x, y, z, 5), {"x", "y"}),
        (rotated_not_written, (x, y, z, 5), {"z"}),
        (in_while, (x, y, 5), {"x"}),
        (while_result, (x, y, 5), {"x"}),
        (through_calls, (x, y, z), {"x"}),
        (returned_pointer, (x, y), {"x"}),
        (atomics, (x, ints, z, w), {"x", "y", "w"}),
        (early_return, (x, y, 5), {"x"}),
        (from_integer, (x, y, 1 << 40), {"x", "y"}),
        (block_pointers, (x, y, 16, 8), {"out"}),
        (assembly, (x, ints, z, 16), {"x", "z"}),
        (maybe, (ints, ints, 5, True), {"y"}),
        (maybe, (ints, ints, 5, False), {"x"}),
        (in_tuple, ((x, y), z), {"pair"}),
        (reduced, (x, y, 16, 16), {"out"}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_written(kernel: Any, args: tuple[Any, ...], expected: set[str]) -> None:
    assert written_pointers(kernel, args) == expected
    assert written_pointers(kernel, (), dict(zip(kernel.arg_names, args, strict=True))) == expected


def test_autotuned_kernels_count_all_configurations() -> None:
    configs = [triton.Config({"WRITE_Y": False}), triton.Config({"WRITE_Y": True}), triton.Config({"WRITE_Y": True}, 8)]
    tuned = triton.autotune(configs, key=["n"])(maybe)
    assert written_pointers(tuned, (ints, ints, 5)) == {"x", "y"}


def test_autotuned_kernel_with_reset_or_hook() -> None:
    config = triton.Config({"WRITE_Y": True})
    assert written_pointers(triton.autotune([config], ["n"], reset_to_zero=["x"])(maybe), (ints, ints, 5)) == {"x", "y"}
    hooked = triton.Config({"WRITE_Y": True}, pre_hook=lambda nargs: None)
    assert written_pointers(triton.autotune([hooked], ["n"])(maybe), (ints, ints, 5)) == {"x", "y"}


def test_heuristics_see_the_arguments() -> None:
    chosen = triton.heuristics({"WRITE_Y": lambda args: args["n"] > 3})(maybe)
    assert written_pointers(chosen, (ints, ints, 5)) == {"y"}
    assert written_pointers(chosen, (ints, ints, 2)) == {"x"}


def test_numpy_scalars_and_second_call_from_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    assert written_pointers(carried, (x, y, np.int64(7))) == {"x"}
    monkeypatch.setattr("opweave.registry.triton.effects._read", None)
    assert written_pointers(carried, (x, y, np.int64(9))) == {"x"}


def test_broken_kernel_names_itself() -> None:
    @triton.jit
    def broken(x):
        tl.store(x, undefined_name)  # noqa: F821  # pyright: ignore[reportUndefinedVariable]

    with pytest.raises(CompileError, match="Triton kernel broken: cannot be lowered"):
        written_pointers(broken, (x,))


def test_needs_no_driver() -> None:
    from triton.runtime import driver

    before = driver._active if hasattr(driver, "_active") else None
    written_pointers(add, (x, y, z, 17, 16))
    assert (driver._active if hasattr(driver, "_active") else None) is before


@triton.jit
def small_dot(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    tl.store(out + at, tl.dot(tl.load(x + at), tl.load(y + at)))


def test_kernels_are_analysed_for_the_device_that_runs_them() -> None:
    """Products of 8x8 blocks are for the CPU, not for CUDA; so are traces of them."""
    a, b = opweave.randn(8, 8), opweave.randn(8, 8)

    def product(a: Tensor, b: Tensor) -> Tensor:
        out = opweave.empty(8, 8)
        opweave.library.wrap_triton(small_dot)[(1,)](a, b, out, 8)
        return out

    expected = a.numpy() @ b.numpy()
    np.testing.assert_allclose(product(a, b).numpy(), expected, rtol=1e-5, atol=1e-5)
    assert written_pointers(small_dot, (a, b, opweave.empty(8, 8), 8)) == {"out"}
    np.testing.assert_allclose(opweave.make_fx(product)(a, b)(a, b).numpy(), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(opweave.compile(product)(a, b).numpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.fixture
def on_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes tensors for tensors on a GPU, which are there only where one is."""
    monkeypatch.setattr("opweave.registry.triton.effects.device_kind", lambda values: "cuda")


def test_kind_of_device() -> None:
    assert device_kind({"n": 3}) == device_kind({"n": 3, "pair": (1, f32())}) == "cpu"
    assert target_of({"n": 3, "x": f32()}).backend == "cpu"


@pytest.mark.usefixtures("on_cuda")
def test_tensors_on_a_gpu_have_their_kernels_analysed_for_one() -> None:
    a = f32(256)
    assert target_of({"x": a}).backend == "cuda"
    with pytest.raises(CompileError, match="small_dot: cannot be lowered"):
        written_pointers(small_dot, (a, a, a, 8))
    assert written_pointers(small_dot, (a, a, a, 16)) == {"out"}


@triton.jit
def per_target(x, y):
    if is_cuda():
        tl.store(x, 1.0)
    else:
        tl.store(y, 1.0)


def test_a_kernel_that_asks_for_its_target_is_told_the_one_it_is_analysed_for() -> None:
    activate()
    assert written_pointers(per_target, (f32(), f32())) == {"y"}


@pytest.mark.usefixtures("on_cuda")
def test_a_kernel_that_asks_for_its_target_on_a_gpu() -> None:
    activate()
    assert written_pointers(per_target, (f32(), f32())) == {"x"}


def test_accesses_of_each_configuration() -> None:
    configs = [triton.Config({"WRITE_Y": False}), triton.Config({"WRITE_Y": True})]
    tuned = triton.autotune(configs, key=["n"], reset_to_zero=["x"])(maybe)
    first, second = accesses(tuned, (ints, ints, 5))
    assert first.written == {"x"} and second.written == {"x", "y"}
    assert [len(first[name].stores) for name in "xy"] == [1, 0]
    assert [e.reason for e in second["x"].escapes] == ["zeroed while the kernel is tuned"]
    hooked = triton.Config({"WRITE_Y": True}, pre_hook=lambda nargs: None)
    (found,) = accesses(triton.autotune([hooked], ["n"])(maybe), (ints, ints, 5))
    assert found.written == {"x", "y"} and not found["y"].is_readable
    with pytest.raises(UnsupportedError, match="not compiled by Triton"):
        accesses(_Interpreted(), (ints, ints, 5))


class _Interpreted:
    arg_names = ("x", "y", "n")
