"""PTX of `tl.inline_asm_elementwise` on the CPU, beside what its instructions are said to do, computed by NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import triton
import triton.language as tl

import opweave as ow
from opweave.codegen.aot import compile_kernel
from opweave.codegen.triton_cpu.ptx import Group, Instruction, Literal, Name, PTXError, read
from opweave.registry.errors import UnsupportedError

N = 1024


@triton.jit
def run1(a, out, ASM: tl.constexpr, REGISTERS: tl.constexpr, PACK: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.inline_asm_elementwise(ASM, REGISTERS, [tl.load(a + i)], out.dtype.element_ty, True, PACK))


@triton.jit
def run2(a, b, out, ASM: tl.constexpr, REGISTERS: tl.constexpr, PACK: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    args = [tl.load(a + i), tl.load(b + i)]
    tl.store(out + i, tl.inline_asm_elementwise(ASM, REGISTERS, args, out.dtype.element_ty, True, PACK))


@triton.jit
def run3(a, b, c, out, ASM: tl.constexpr, REGISTERS: tl.constexpr, PACK: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    args = [tl.load(a + i), tl.load(b + i), tl.load(c + i)]
    tl.store(out + i, tl.inline_asm_elementwise(ASM, REGISTERS, args, out.dtype.element_ty, True, PACK))


_LETTERS = {1: "r", 2: "h", 4: "r", 8: "l"}


def run(asm: str, out: Any, *args: np.ndarray[Any, Any], registers: str | None = None, pack: int = 1) -> Any:
    """What the text makes of arrays of `N` numbers."""
    if registers is None:
        registers = ",".join([f"={_LETTERS[np.dtype(out).itemsize]}", *(_LETTERS[a.dtype.itemsize] for a in args)])
    result = ow.from_numpy(np.zeros(N, out))
    kernel: Any = (run1, run2, run3)[len(args) - 1]
    kernel[(1,)](*(ow.from_numpy(a) for a in args), result, asm, registers, pack, N)
    return result.numpy()


def same(got: Any, expected: Any) -> None:
    """Equal bits, except which NaN it is."""
    expected = np.asarray(expected)
    whole = np.dtype(f"u{expected.itemsize}")
    if expected.dtype.kind in "iu":
        np.testing.assert_array_equal(got, expected)
        return
    nan = np.isnan(expected.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float64)), nan)
    np.testing.assert_array_equal(got.view(whole)[~nan], expected.view(whole)[~nan])


_draw = np.random.default_rng(0)
_SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1e-38, 3e38, 1.0, -1.0, 0.5], np.float32)


def floats(*special: float) -> np.ndarray[Any, Any]:
    """Numbers of all magnitudes, with those that are not like others."""
    x = (_draw.standard_normal(N) * 2.0 ** _draw.integers(-20, 20, N)).astype(np.float32)
    more = np.concatenate([_SPECIAL, np.array(special, np.float32)])
    x[: len(more)] = more
    return _draw.permutation(x)


def wholes(dtype: Any = np.int32) -> np.ndarray[Any, Any]:
    info = np.iinfo(dtype)
    x = _draw.integers(info.min, info.max, N, dtype=dtype, endpoint=True)
    x[:8] = [0, 1, -1, info.min, info.max, 31, 32, 33]
    return _draw.permutation(x)


X, Y, Z = floats(), floats(), floats()
A, B, C = wholes(), wholes(), wholes()
U, V, W = (x.view(np.uint32) for x in (A, B, C))
L, M = wholes(np.int64), wholes(np.int64)


def flushed(x: Any) -> Any:
    return np.where(np.abs(x) < np.float32(2.0**-126), np.copysign(np.float32(0), x), x)


def unsigned(x: Any) -> Any:
    return x.astype(np.uint64)


_FLOATS: list[tuple[str, Callable[[], Any]]] = [
    ("add.rn.f32 $0, $1, $2;", lambda: X + Y),
    ("sub.f32 $0, $1, $2;", lambda: X - Y),
    ("mul.rn.f32 $0, $1, $2;", lambda: X * Y),
    ("mul.ftz.f32 $0, $1, $2;", lambda: flushed(flushed(X) * flushed(Y))),
    ("div.rn.f32 $0, $1, $2;", lambda: X / Y),
    ("div.full.ftz.f32 $0, $1, $2;", lambda: flushed(flushed(X) / flushed(Y))),
    ("add.sat.f32 $0, $1, $2;", lambda: np.where(np.isnan(X + Y), 0, np.clip(X + Y, 0, 1)) + np.float32(0)),
    ("min.f32 $0, $1, $2;", lambda: np.fmin(X, Y)),
    ("max.NaN.f32 $0, $1, $2;", lambda: np.maximum(X, Y)),
    ("copysign.f32 $0, $1, $2;", lambda: np.copysign(Y, X)),
    ("{ neg.f32 $0, $1; abs.f32 $0, $0; }", lambda: np.abs(X)),
    ("rcp.approx.ftz.f32 $0, $1;", lambda: flushed(1 / flushed(X))),
    ("sqrt.rn.f32 $0, $1;", lambda: np.sqrt(X)),
    ("{ .reg .pred p; setp.lt.f32 p, $1, $2; selp.f32 $0, $1, $2, p; }", lambda: np.where(X < Y, X, Y)),
    ("{ .reg .pred p; setp.geu.f32 p, $1, $2; selp.f32 $0, $1, $2, p; }", lambda: np.where(~(X < Y), X, Y)),
    ("{ .reg .pred p; setp.nan.f32 p, $1, $2;\n@p mov.f32 $0, 0f3f800000;\n@!p mov.f32 $0, $2; }",
     lambda: np.where(np.isnan(X) | np.isnan(Y), np.float32(1), Y)),
    ("cvt.rni.f32.f32 $0, $1;", lambda: np.rint(X)),
    ("cvt.sat.f32.f32 $0, $1;", lambda: np.where(np.isnan(X), 0, np.clip(X, 0, 1)) + np.float32(0)),
    ("{ .reg .f64 d, e; cvt.f64.f32 d, $1; cvt.f64.f32 e, $2; add.f64 d, d, e; cvt.rn.f32.f64 $0, d; }",
     lambda: (X.astype(np.float64) + Y).astype(np.float32)),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("asm", "expected"), _FLOATS)
def test_arithmetic_of_floats(asm: str, expected: Callable[[], Any]) -> None:
    args = [X, Y][: 1 + ("$2" in asm)]
    registers = ",".join(["=f", *["f"] * len(args)])
    same(run(asm, np.float32, *args, registers=registers), expected())


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_a_fused_product_of_halves_is_rounded_once(dtype: Any) -> None:
    """The exact sum as a fraction of two whole numbers tells what is nearest."""
    a, b = (_draw.standard_normal(N).astype(dtype) for _ in "ab")
    c = (_draw.standard_normal(N) * 2.0 ** _draw.integers(-12, 12, N)).astype(dtype)
    name = "f16" if dtype is np.float16 else "bf16"
    got = run(f"fma.rn.{name} $0, $1, $2, $3;", dtype, a, b, c)
    exact = a.astype(np.longdouble) * b.astype(np.longdouble) + c.astype(np.longdouble)
    # Every sum here has fewer than 64 digits. What is nearest is at most half of the distance to the next away.
    for step in (-1, 1):
        beside = (got.view(np.int16) + np.int16(step)).view(dtype).astype(np.longdouble)
        assert np.all(np.abs(exact - got.astype(np.longdouble)) <= np.abs(exact - beside))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["f16x2", "bf16x2"])
@pytest.mark.parametrize("opcode", ["add", "mul", "max"])
def test_pairs(name: str, opcode: str) -> None:
    dtype: Any = np.float16 if name == "f16x2" else ml_dtypes.bfloat16
    a, b = X.astype(dtype), Y.astype(dtype)
    f = {"add": np.add, "mul": np.multiply, "max": np.fmax}[opcode]
    expected = f(a.astype(np.float32), b.astype(np.float32)).astype(dtype)
    modifier = "" if opcode == "max" else ".rn"
    same(run(f"{opcode}{modifier}.{name} $0, $1, $2;", dtype, a, b, registers="=r,r,r", pack=2), expected)


def test_a_pair_of_numbers_in_one_register_is_unpacked_and_packed() -> None:
    a, b = X.astype(np.float16), Y.astype(np.float16)
    asm = "{ .reg .b16 a<2>, b<2>; mov.b32 {a0, a1}, $1; mov.b32 {b0, b1}, $2; mov.b32 $0, {b0, a1}; }"
    # Both numbers are one element here: the lower one is what is stored.
    same(run(asm, np.float16, a, b, registers="=r,r,r", pack=2), b)


_APPROXIMATE = [("ex2", np.exp2), ("lg2", np.log2), ("rsqrt", lambda x: 1 / np.sqrt(x)), ("tanh", np.tanh)]


@pytest.mark.parametrize(("name", "exact"), _APPROXIMATE, ids=[name for name, _ in _APPROXIMATE])
def test_approximate_functions_are_accurate(name: str, exact: Callable[[Any], Any]) -> None:
    x = _draw.uniform(0.01, 20, N).astype(np.float32)
    got = run(f"{name}.approx.f32 $0, $1;", np.float32, x, registers="=f,f")
    np.testing.assert_allclose(got, exact(x.astype(np.float64)), rtol=3e-7, atol=1e-7)


_WHOLES: list[tuple[str, Callable[[], Any]]] = [
    ("add.s32 $0, $1, $2;", lambda: U + V),
    ("add.sat.s32 $0, $1, $2;", lambda: np.clip(A.astype(np.int64) + B, -(2**31), 2**31 - 1)),
    ("mul.lo.u32 $0, $1, $2;", lambda: U * V),
    ("mul.hi.u32 $0, $1, $2;", lambda: unsigned(U) * unsigned(V) >> np.uint64(32)),
    ("mul.hi.s32 $0, $1, $2;", lambda: A.astype(np.int64) * B >> 32),
    ("mad.lo.s32 $0, $1, $2, $3;", lambda: U * V + W),
    ("min.u32 $0, $1, $2;", lambda: np.minimum(U, V)),
    ("max.s32 $0, $1, $2;", lambda: np.maximum(A, B)),
    ("abs.s32 $0, $1;", lambda: np.abs(A)),
    ("neg.s32 $0, $1;", lambda: -A),
    ("and.b32 $0, $1, $2;", lambda: A & B),
    ("xor.b32 $0, $1, 0xFFFFFFFF;", lambda: ~A),
    ("not.b32 $0, $1;", lambda: ~A),
    ("lop3.b32 $0, $1, $2, $3, 0xca;", lambda: A & B | ~A & C),
    ("lop3.b32 $0, $1, $2, $3, 0x96;", lambda: A ^ B ^ C),
    ("shl.b32 $0, $1, 5;", lambda: U << np.uint32(5)),
    ("shl.b32 $0, $1, $2;", lambda: np.where(V < 32, U << (V & np.uint32(31)), 0)),
    ("shr.u32 $0, $1, $2;", lambda: np.where(V < 32, U >> (V & np.uint32(31)), 0)),
    ("shr.s32 $0, $1, $2;", lambda: A >> np.minimum(V, 31).astype(np.int32)),
    ("shf.l.wrap.b32 $0, $1, $2, 8;", lambda: V << np.uint32(8) | U >> np.uint32(24)),
    ("shf.r.clamp.b32 $0, $1, $2, 40;", lambda: V),
    ("popc.b32 $0, $1;", lambda: np.array([int(x).bit_count() for x in U])),
    ("clz.b32 $0, $1;", lambda: np.array([32 - int(x).bit_length() for x in U])),
    ("brev.b32 $0, $1;", lambda: np.array([int(f"{int(x):032b}"[::-1], 2) for x in U], np.uint32)),
    ("bfe.u32 $0, $1, 4, 8;", lambda: U >> np.uint32(4) & np.uint32(255)),
    ("bfe.s32 $0, $1, 28, 8;", lambda: A >> 28),
    ("bfe.s32 $0, $1, 4, 8;", lambda: (A << 20) >> 24),
    ("bfe.s32 $0, $1, 4, 0;", lambda: A * 0),
    ("bfi.b32 $0, $1, $2, 4, 8;", lambda: V & np.uint32(0xFFFFF00F) | (U & np.uint32(255)) << np.uint32(4)),
    ("prmt.b32 $0, $1, $2, 0x5410;", lambda: U & np.uint32(0xFFFF) | V << np.uint32(16)),
    ("prmt.b32 $0, $1, $2, $3;", lambda: permuted()),
    ("dp4a.s32.s32 $0, $1, $2, $3;", lambda: (A.view(np.int8).reshape(N, 4).astype(np.int64)
                                              * B.view(np.int8).reshape(N, 4)).sum(1) + C),
    ("dp4a.u32.s32 $0, $1, $2, $3;", lambda: (A.view(np.uint8).reshape(N, 4).astype(np.int64)
                                              * B.view(np.int8).reshape(N, 4)).sum(1) + C),
    ("{ .reg .pred p; setp.lo.u32 p, $1, $2; selp.b32 $0, 1, 0, p; }", lambda: U < V),
    ("{ .reg .pred p, q; setp.lt.s32 p, $1, $2; setp.gt.s32 q, $1, 0; and.pred p, p, q; selp.s32 $0, 7, -7, p; }",
     lambda: np.where((A < B) & (A > 0), 7, -7)),
    ("cvt.s32.s8 $0, $1;", lambda: A.astype(np.int8)),
    ("{ .reg .b64 w; mul.wide.s32 w, $1, $2; shr.s64 w, w, 7; cvt.u32.u64 $0, w; }",
     lambda: A.astype(np.int64) * B >> 7),
    ("{ .reg .b8 b<4>; mov.b32 {b0, b1, b2, b3}, $1; mov.b32 $0, {b3, b2, b1, b0}; }", lambda: U.byteswap()),
    ("{ .reg .u32 t; cvt.sat.u8.s32 t, $1; mov.u32 $0, t; }", lambda: np.clip(A, 0, 255)),
]  # fmt: skip


def permuted() -> Any:
    found = []
    for low, high, selectors in zip(U, V, W, strict=True):
        both, out = int(low) | int(high) << 32, 0
        for k in range(4):
            selector = int(selectors) >> 4 * k & 15
            byte = both >> 8 * (selector & 7) & 255
            out |= ((255 if byte & 128 else 0) if selector & 8 else byte) << 8 * k
        found.append(out)
    return np.array(found, np.uint32)


@pytest.mark.parametrize(("asm", "expected"), _WHOLES)
def test_arithmetic_of_whole_numbers(asm: str, expected: Callable[[], Any]) -> None:
    args = [A, B, C][: 1 + ("$2" in asm) + ("$3" in asm)]
    with np.errstate(over="ignore"):
        same(run(asm, np.int32, *args), np.asarray(expected()).astype(np.int64).astype(np.int32))


def test_wide_numbers() -> None:
    same(run("shr.s64 $0, $1, 63;", np.int64, L), L >> 63)
    same(run("{ .reg .b32 a, b; mov.b64 {a, b}, $1; mov.b64 $0, {b, a}; }", np.int64, L), L.view("i4")[
        np.arange(2 * N).reshape(N, 2)[:, ::-1].ravel()
    ].copy().view(np.int64))  # fmt: skip
    same(run("mad.wide.s32 $0, $1, $2, $3;", np.int64, A, B, L, registers="=l,r,r,l"), A.astype(np.int64) * B + L)


def test_shifts_of_narrow_numbers_by_more_than_their_width() -> None:
    """The count has 32 bits: what 16 of them say would be another one."""
    x, by = wholes(np.int16), np.resize(np.array([0, 3, 15, 16, 65536, 65537, -1], np.int32), N)
    within = np.minimum(by.view(np.uint32), 16).astype(np.int64)
    left = np.where(within < 16, x.astype(np.int64) << within, 0).astype(np.int16)
    same(run("shl.b16 $0, $1, $2;", np.int16, x, by, registers="=h,h,r"), left)
    same(run("shr.s16 $0, $1, $2;", np.int16, x, by, registers="=h,h,r"), x >> np.minimum(within, 15).astype(np.int16))


def test_divisions() -> None:
    safe = np.where(B == 0, 1, B).astype(np.int64)
    quotient = np.where(B == 0, -1, np.trunc(A / safe)).astype(np.int64).astype(np.int32)
    same(run("div.s32 $0, $1, $2;", np.int32, A, B), quotient)
    same(run("rem.u32 $0, $1, 10;", np.int32, A), (U % 10).astype(np.int32))


_TO_PAIRS = {
    "e4m3x2": (ml_dtypes.float8_e4m3fn, 448.0),
    "e5m2x2": (ml_dtypes.float8_e5m2, 57344.0),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", _TO_PAIRS)
def test_pairs_of_bytes(name: str) -> None:
    dtype, most = _TO_PAIRS[name]
    asm = f"{{ .reg .b16 p; cvt.rn.satfinite.{name}.f32 p, $2, $1; cvt.u32.u16 $0, p; }}"
    got = run(asm, np.int32, X, Y, registers="=r,f,f").view(np.uint32)
    for k, x in enumerate((X, Y)):
        byte = (got >> np.uint32(8 * k) & np.uint32(255)).astype(np.uint8)
        clamped = np.where(np.isnan(x), x, np.clip(x, -most, most)).astype(dtype)
        same(byte.view(dtype), clamped)
    codes = np.arange(N).astype(np.uint16)
    back = run(f"cvt.rn.f16x2.{name} $0, $1;", np.int32, codes.view(np.int16), registers="=r,h")
    same(back.view(np.float16)[::2], codes.astype(np.uint8).view(dtype).astype(np.float16))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_pairs_of_four_bits() -> None:
    x = np.concatenate([np.arange(-8, 8, 1 / 64), [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, np.inf]]).astype(np.float32)
    x = np.resize(x, N)
    asm = "{ .reg .b8 b; cvt.rn.satfinite.e2m1x2.f32 b, $2, $1; cvt.u32.u8 $0, b; }"
    got = run(asm, np.int32, x, x[::-1].copy(), registers="=r,f,f")
    for byte, values in ((got & 15, x), (got >> 4, x[::-1])):
        expected = np.clip(values, -6, 6).astype(ml_dtypes.float4_e2m1fn)
        same(byte.astype(np.uint8).view(ml_dtypes.float4_e2m1fn), expected)
    codes = np.arange(N).astype(np.int32) & 255
    asm = "{ .reg .b8 b; cvt.u8.u32 b, $1; cvt.rn.f16x2.e2m1x2 $0, b; }"
    back = run(asm, np.int32, codes).view(np.float16).reshape(N, 2)
    for k in (0, 1):
        same(back[:, k].copy(), (codes >> 4 * k & 15).astype(np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float16))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_conversions() -> None:
    same(run("cvt.rn.bf16.f32 $0, $1;", np.int16, X, registers="=h,f").view(ml_dtypes.bfloat16),
         X.astype(ml_dtypes.bfloat16))  # fmt: skip
    same(run("cvt.rn.f16.f32 $0, $1;", np.float16, X, registers="=h,f"), X.astype(np.float16))
    same(
        run("cvt.f32.f16 $0, $1;", np.float32, X.astype(np.float16), registers="=f,h"),
        X.astype(np.float16).astype("f4"),
    )
    got = run("cvt.rn.bf16x2.f32 $0, $2, $1;", np.int32, X, Y, registers="=r,f,f").view(ml_dtypes.bfloat16)
    same(got[::2].copy(), X.astype(ml_dtypes.bfloat16))
    same(got[1::2].copy(), Y.astype(ml_dtypes.bfloat16))
    with np.errstate(invalid="ignore"):
        rounded = np.nan_to_num(np.trunc(X.astype(np.float64)), nan=0, posinf=2.0**40, neginf=-(2.0**40))
    same(
        run("cvt.rzi.s32.f32 $0, $1;", np.int32, X, registers="=r,f"),
        np.clip(rounded, -(2**31), 2**31 - 1).astype("i4"),
    )
    same(run("cvt.rzi.u8.f32 $0, $1;", np.int32, X, registers="=r,f"), np.clip(rounded, 0, 255).astype("i4"))
    same(run("cvt.rn.f32.s32 $0, $1;", np.float32, A, registers="=f,r"), A.astype(np.float32))
    same(run("cvt.rn.f32.u64 $0, $1;", np.float32, L, registers="=f,l"), L.view(np.uint64).astype(np.float32))
    bits = (X.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    special = ~np.isfinite(X)
    same(run("cvt.rna.tf32.f32 $0, $1;", np.float32, X, registers="=f,f"), np.where(special, X, bits.view(np.float32)))


@triton.jit
def two_results(x, low, high, N: tl.constexpr):
    i = tl.arange(0, N)
    ASM: tl.constexpr = "{ .reg .b32 t; and.b32 $0, $2, 0xffff; mov.b32 t, $2; shr.u32 $1, t, 16; }"
    a, b = tl.inline_asm_elementwise(ASM, "=r,=r,r", [tl.load(x + i)], (tl.int32, tl.int32), True, 1)
    tl.store(low + i, a)
    tl.store(high + i, b)


def test_two_results() -> None:
    low, high = (ow.from_numpy(np.zeros(N, np.int32)) for _ in "lh")
    kernel: Any = two_results
    kernel[(1,)](ow.from_numpy(A), low, high, N)
    same(low.numpy(), (U & np.uint32(0xFFFF)).astype(np.int32))
    same(high.numpy(), (U >> np.uint32(16)).astype(np.int32))


@triton.jit
def chained(x, out, n, BLOCK: tl.constexpr):
    tl.inline_asm_elementwise("griddepcontrol.wait; // dummy $0", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    e = tl.inline_asm_elementwise(
        "{ mul.ftz.f32 $0, $1, 0fBFB8AA3B; ex2.approx.ftz.f32 $0, $0; }", "=f,f", [v], tl.float32, True, 1
    )
    tl.store(out + i, v / (1 + e), i < n)
    tl.inline_asm_elementwise(
        "griddepcontrol.launch_dependents; // dummy $0", "=r", [], dtype=tl.int32, is_pure=False, pack=1
    )


def test_programs_have_nothing_to_wait_for() -> None:
    x = ow.from_numpy(np.linspace(-5, 5, 1000, dtype=np.float32))
    out = ow.empty_like(x)
    kernel: Any = chained
    kernel[(8,)](x, out, 1000, 128)
    exact = x.numpy().astype(np.float64)
    np.testing.assert_allclose(out.numpy(), exact / (1 + np.exp(-exact)), rtol=1e-6)


def test_a_kernel_with_assembly_is_fused_and_exported(tmp_path: Path) -> None:
    """It is known to write nothing but its result."""

    def silu(x: ow.Tensor) -> ow.Tensor:
        out = ow.empty_like(x)
        kernel: Any = chained
        kernel[(8,)](x, out, 1000, 128)
        return out * 2 + 1

    x = ow.from_numpy(np.linspace(-5, 5, 1000, dtype=np.float32))
    expected = silu(x).numpy()
    compiled = ow.compile(silu)
    np.testing.assert_array_equal(compiled(x).numpy(), expected)
    program = ow.export.export(silu, (x,))
    ow.export.save(program, tmp_path / "silu.ow")
    loaded = ow.export.load(tmp_path / "silu.ow")
    np.testing.assert_array_equal(loaded.module()(x).numpy(), expected)


@pytest.mark.parametrize(
    ("asm", "named"),
    [
        ("shfl.sync.bfly.b32 $0, $1, 16, 31, 0xffffffff;", "shfl.sync.bfly.b32"),
        ("ld.global.u32 $0, [$1];", "memory"),
        ("add.rz.f32 $0, $1, $1;", "add.rz.f32"),
        ("mov.u32 $0, %laneid;", "%laneid"),
        ("loop: add.s32 $0, $1, 1; bra loop;", "branches"),
        ("v_mul_u32 $0, $1, $1", "v_mul_u32"),
        ("mov.b32 $0, undeclared;", "undeclared"),
        ("mov.b32 $0, $7;", "$7"),
        ("add.s32 $0, $1;", "add.s32"),
        ("add.s32 $0, $1, $1, $1, $1;", "add.s32"),
        ("mov.b32 5, $1;", "mov.b32"),
        ("nop $0, $1;", "nop"),
    ],
)
def test_what_is_not_done_is_named(asm: str, named: str) -> None:
    with pytest.raises(UnsupportedError, match=re.escape(named)):
        run(asm, np.int32, A)


def test_reading() -> None:
    program = read("{ .reg .b32 t<2>, u; // two\n @!p mov.b64 {t0, _}, $1;\n cvt.rn.f32.s32 $0, -0x10 }")
    assert program.widths == {"t0": 32, "t1": 32, "u": 32}
    assert program.instructions == (
        Instruction("mov", ("b64",), (Group((Name("t0"), Name("_"))), Name("$1")), Name("p"), True),
        Instruction("cvt", ("rn", "f32", "s32"), (Name("$0"), Literal(-16))),
    )
    assert str(program.instructions[1]) == "cvt.rn.f32.s32"


@pytest.mark.parametrize(
    "text",
    ["add.s32 $0 $1;", "@;", "{ .reg t; }", ".reg .b32 ;x", ".reg .b32 a<0>;", "mov.b32 {;", "\x01", "a b {", "@p"],
)
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(PTXError):
        read(text)


@pytest.mark.parametrize("asm", [asm for asm, _ in (*_FLOATS, *_WHOLES)])
def test_what_is_tried_here_is_ptx(asm: str) -> None:
    """The assembler that comes with Triton takes it."""
    of_floats = asm in dict(_FLOATS)
    letter, type_ = ("f", "*fp32") if of_floats else ("r", "*i32")
    constants = {"ASM": asm, "REGISTERS": f"={letter},{letter},{letter},{letter}", "PACK": 1, "N": 128}
    kernel = compile_kernel(run3, dict.fromkeys(("a", "b", "c", "out"), type_), constants, target="sm_90")
    assert kernel.asm["cubin"]
