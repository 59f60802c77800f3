"""Masked loads wider than a register, under masks that LLVM may know in part."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
import triton
import triton.language as tl
from expecttest import assert_expected_inline

import opweave
from opweave.codegen.triton_cpu import jit
from opweave.codegen.triton_cpu.hidden_masks import hide

pytestmark = pytest.mark.usefixtures("active", "no_device_of_an_earlier_test")

TYPES = {"float": ("f32", ctypes.c_float), "double": ("f64", ctypes.c_double), "i32": ("i32", ctypes.c_int32)}
TYPES |= {"i64": ("i64", ctypes.c_int64), "i16": ("i16", ctypes.c_int16), "i8": ("i8", ctypes.c_int8)}

Rule = Callable[[int, int], bool]
#: How the mask is made (of `all`: n < 3, in every lane; `lane`: lane < n; and a constant), and what it means.
FORMS: dict[str, tuple[str, Callable[[int], Rule]]] = {
    "all and below": ("and {m} %all, {below}", lambda b: lambda i, n: n < 3 and i < b),
    "lane and below": ("and {m} %lane, {below}", lambda b: lambda i, n: i < min(n, b)),
    "choice": ("select i1 %live, {m} {below}, {m} zeroinitializer", lambda b: lambda i, n: n < 3 and i < b),
    "all and above": ("and {m} %all, {above}", lambda b: lambda i, n: n < 3 and i >= b),
    "all or below": ("or {m} %all, {below}", lambda b: lambda i, n: n < 3 or i < b),
    "lane xor below": ("xor {m} %lane, {below}", lambda b: lambda i, n: (i < n) != (i < b)),
    "lane": ("and {m} %lane, %lane", lambda b: lambda i, n: i < n),
}


def _constant(lanes: int, holds: Callable[[int], bool]) -> str:
    return "<" + ", ".join(f"i1 {'true' if holds(i) else 'false'}" for i in range(lanes)) + ">"


def _source(kind: str, lanes: int, form: str, bound: int) -> str:
    m = f"<{lanes} x i1>"
    mask = FORMS[form][0].format(
        m=m, below=_constant(lanes, lambda i: i < bound), above=_constant(lanes, lambda i: i >= bound)
    )
    name, v, n = f"llvm.masked.load.v{lanes}{TYPES[kind][0]}.p0", f"<{lanes} x {kind}>", f"<{lanes} x i32>"
    iota = "<" + ", ".join(f"i32 {i}" for i in range(lanes)) + ">"
    return f"""
declare {v} @{name}(ptr, i32, {m}, {v})

define void @copied(ptr noalias %x, ptr noalias %y, i64 %n) {{
  %live = icmp ult i64 %n, 3
  %one = insertelement {m} poison, i1 %live, i64 0
  %all = shufflevector {m} %one, {m} poison, {n} zeroinitializer
  %n32 = trunc i64 %n to i32
  %n1 = insertelement {n} poison, i32 %n32, i64 0
  %ns = shufflevector {n} %n1, {n} poison, {n} zeroinitializer
  %lane = icmp slt {n} {iota}, %ns
  %mask = {mask}
  %v = call {v} @{name}(ptr %x, i32 1, {m} %mask, {v} zeroinitializer)
  store {v} %v, ptr %y, align 1
  ret void
}}
"""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", TYPES)
def test_lanes_that_are_masked_off_are_zero(kind: str, form: str) -> None:
    for lanes in (4, 8, 16, 32, 64):
        memory = TYPES[kind][1] * lanes
        x = memory(*[i % 100 + 1 for i in range(lanes)])
        for bound in sorted({1, 2, lanes // 2, lanes * 5 // 8, lanes - 1}):
            code = jit.load(jit.compile_object(_source(kind, lanes, form, bound)), ["copied"])
            run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(code.address("copied"))
            for n in (0, 2, 5, lanes):
                y = memory()
                run(ctypes.addressof(x), ctypes.addressof(y), n)
                holds = FORMS[form][1](bound)
                expected = [i % 100 + 1 if holds(i, n) else 0 for i in range(lanes)]
                assert list(y) == expected, f"{lanes} lanes, bound {bound}, n {n}"


@triton.jit
def _sums(x, out, rows, stride, N: tl.constexpr, M: tl.constexpr, BLOCK: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, BLOCK)[None, :]
    tile = tl.load(x + i * stride + j, (i < rows) & (j < N), other=0.5)
    tl.store(out + tl.arange(0, M), tl.sum(tile, 1))


@pytest.mark.parametrize("size", [1, 5, 8, 20, 31])
@pytest.mark.parametrize("rows", [0, 3])
def test_what_a_tile_excludes_is_not_read(size: int, rows: int) -> None:
    """Poison stands behind each row."""
    x = np.full((8, 64), np.nan, np.float32)
    x[:rows, :size] = np.arange(rows * size).reshape(rows, size)
    out = opweave.zeros(4)
    _sums[(1,)](opweave.from_numpy(x), out, rows, 64, N=size, M=4, BLOCK=32)
    expected = [x[i, :size].sum() + (32 - size) / 2 if i < rows else 16 for i in range(4)]
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-6)


def test_comparisons_stay_as_they_are() -> None:
    source = _source("float", 32, "lane", 5)
    assert hide(source) != source
    direct = source.replace("<32 x i1> %mask", "<32 x i1> %lane")
    assert hide(direct) == direct


def test_a_hidden_mask() -> None:
    lines = hide(_source("float", 16, "lane", 5)).splitlines()
    assert_expected_inline(
        "\n".join(line for line in lines if "%hidden" in line and "masked.load" not in line),
        """\
  %hidden0.b = sext <16 x i1> %mask to <16 x i8>
  %hidden0.0r = call <16 x i8> asm "", "=x,0"(<16 x i8> %hidden0.b)
  %hidden0 = icmp slt <16 x i8> %hidden0.0r, zeroinitializer""",
    )


def _converted(source: str, target: str, lanes: int, mask: str) -> str:
    """A masked store of what a masked load gives in another type, under a constant mask."""
    m, a, b = f"<{lanes} x i1>", f"<{lanes} x {source}>", f"<{lanes} x {target}>"
    load = f"llvm.masked.load.v{lanes}{TYPES[source][0]}.p0"
    store = f"llvm.masked.store.v{lanes}{TYPES[target][0]}.p0"
    cast = "trunc" if int(source[1:]) > int(target[1:]) else "sext"
    return f"""
declare {a} @{load}(ptr, i32, {m}, {a})
declare void @{store}({b}, ptr, i32, {m})

define void @copied(ptr noalias %x, ptr noalias %y) {{
  %mask = or {m} {mask}, zeroinitializer
  %v = call {a} @{load}(ptr %x, i32 1, {m} %mask, {a} zeroinitializer)
  %w = {cast} {a} %v to {b}
  call void @{store}({b} %w, ptr %y, i32 1, {m} %mask)
  ret void
}}
"""


@pytest.mark.parametrize(
    ("source", "target"), [(a, b) for a in ("i8", "i16", "i32", "i64") for b in ("i8", "i16", "i32", "i64") if a != b]
)
def test_conversions_under_masks_that_are_constants(source: str, target: str) -> None:
    for lanes in (4, 8, 16, 64):
        x = (TYPES[source][1] * lanes)(*[-(i + 1) for i in range(lanes)])
        for chosen in ({0}, {lanes - 1}, {1, 2}, set(range(lanes // 2))):
            text = _converted(source, target, lanes, _constant(lanes, lambda i, chosen=chosen: i in chosen))
            code = jit.load(jit.compile_object(text), ["copied"])
            y = (TYPES[target][1] * lanes)(*[77] * lanes)
            ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address("copied"))(
                ctypes.addressof(x), ctypes.addressof(y)
            )
            assert list(y) == [-(i + 1) if i in chosen else 77 for i in range(lanes)], (lanes, chosen)
