"""What LLVM gets wrong where it knows masks and zeros: see `hidden`."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable

import numpy as np
import pytest
import triton
import triton.language as tl
from expecttest import assert_expected_inline

import opweave
from opweave.codegen.native import llvm, objects
from opweave.codegen.native.hidden import hide, hide_zeros

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
            code = objects.load(llvm.compile_object(_source(kind, lanes, form, bound)), ["copied"])
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
            code = objects.load(llvm.compile_object(text), ["copied"])
            y = (TYPES[target][1] * lanes)(*[77] * lanes)
            ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address("copied"))(
                ctypes.addressof(x), ctypes.addressof(y)
            )
            assert list(y) == [-(i + 1) if i in chosen else 77 for i in range(lanes)], (lanes, chosen)


# -- zeros behind casts

NUMBERS = {"half": np.float16, "float": np.float32, "double": np.float64}
ORDERS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "gt": np.greater, "ge": np.greater_equal, "lt": np.less, "le": np.less_equal, "eq": np.equal,
}  # fmt: skip
SPECIAL = np.array([-0.0, 0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 0.5])


def _choice(name: str, narrow: str, wide: str, order: str, *, late: bool, zero: float, zero_first: bool) -> str:
    """A choice between zero and a number by their comparison, which is stored too, narrowed before or after it."""
    n, w = f"<{len(SPECIAL)} x {narrow}>", f"<{len(SPECIAL)} x {wide}>"
    sign = f"splat ({wide} 0x{np.float64(zero).view(np.uint64):016X})"
    kind, number = (w, "%u") if late else (n, "%v")
    arms = [f"{kind} zeroinitializer", f"{kind} {number}"][:: 1 if zero_first else -1]
    return f"""
define void @{name}(ptr %from, ptr %mask, ptr %to) {{
  %x = load {n}, ptr %from, align 2
  %e = fpext {n} %x to {w}
  %u = fmul {w} %e, splat ({wide} 0x4000000000000000)
  %v = fptrunc {w} %u to {n}
  %c = fcmp {order} {w} %u, {sign}
  %z = zext <{len(SPECIAL)} x i1> %c to <{len(SPECIAL)} x i8>
  store <{len(SPECIAL)} x i8> %z, ptr %mask, align 1
  %s = select <{len(SPECIAL)} x i1> %c, {", ".join(arms)}
  {f"%o = fptrunc {w} %s to {n}" if late else ""}
  store {n} {"%o" if late else "%s"}, ptr %to, align 2
  ret void
}}
"""


@pytest.mark.parametrize(("narrow", "wide"), [("half", "float"), ("half", "double"), ("float", "double")])
def test_a_choice_between_a_number_and_zero_keeps_the_sign_of_zero(narrow: str, wide: str) -> None:
    cases = {
        f"f{i}": case
        for i, case in enumerate(itertools.product("ou", ORDERS, (False, True), (0.0, -0.0), (False, True)))
    }
    text = [
        _choice(name, narrow, wide, ordered + order, late=late, zero=zero, zero_first=first)
        for name, (ordered, order, late, zero, first) in cases.items()
    ]
    code = objects.load(llvm.compile_object("\n".join(text)), list(cases))
    x = SPECIAL.astype(NUMBERS[narrow])
    for name, (ordered, order, _, zero, first) in cases.items():
        mask, out = np.zeros(len(x), np.uint8), np.zeros_like(x)
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address(name))
        call(x.ctypes.data, mask.ctypes.data, out.ctypes.data)
        holds = ORDERS[order](2 * x, zero) | ((ordered == "u") & np.isnan(x))
        expected = np.where(holds, 0, 2 * x) if first else np.where(holds, 2 * x, 0)
        assert mask.tolist() == holds.tolist(), cases[name]
        assert np.array_equal(out, expected, equal_nan=True), cases[name]
        # The sign of a NaN is open.
        assert np.array_equal(np.signbit(out)[x == x], np.signbit(expected)[x == x]), cases[name]


def test_only_what_is_compared_with_zero_where_numbers_are_narrowed_is_hidden() -> None:
    text = """define void @f(ptr %p, double %x, double %y) {
  %c = fcmp ogt double %x, 0x0000000000000000
  %d = fcmp ogt double %x, %y
  %e = fcmp oge double %x, 0x0000000000000000
  %s = select i1 %c, double 0.0, double %x
  store double %s, ptr %p
  ret void
}
"""
    assert hide_zeros(text) == text
    text = text.replace("store double %s", "%n = fptrunc double %s to float\n  store float %n")
    assert_expected_inline(
        hide_zeros(text),
        """\
define void @f(ptr %p, double %x, double %y) {
  %zero0.r = call i64 asm "", "=r,0"(i64 0) memory(none) nounwind
  %zero0.n = bitcast i64 %zero0.r to double
  %c = fcmp ogt double %x, %zero0.n
  %d = fcmp ogt double %x, %y
  %e = fcmp oge double %x, 0x0000000000000000
  %s = select i1 %c, double 0.0, double %x
  %n = fptrunc double %s to float
  store float %n, ptr %p
  ret void
}
""",
    )


@triton.jit
def _relu_of_the_negative(x, y, m, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i).to(tl.float32)
    positive = v > 0
    tl.store(m + i, positive)
    tl.store(y + i, tl.where(positive, 0.0, v).to(tl.float16))


def test_a_kernel_that_narrows_what_it_chooses_keeps_negative_zeros() -> None:
    x = opweave.tensor([-0.0, 0.0, 1.0, -1.0] * 4).to(opweave.float16)
    y, mask = opweave.empty_like(x), opweave.empty(16, dtype=opweave.bool)
    _relu_of_the_negative[(1,)](x, y, mask, N=16)
    assert np.signbit(y.numpy()).tolist() == [True, False, False, True] * 4
    assert mask.tolist() == [False, False, True, False] * 4


def test_a_compiled_function_that_keeps_the_mask_of_masked_fill_keeps_negative_zeros() -> None:
    x = opweave.tensor([-0.0, 0.0, 1.0, -1.0]).to(opweave.float16).requires_grad_()
    y = opweave.compile(lambda a: a.masked_fill(a > 0, 0.0))(x)
    assert np.signbit(y.detach().numpy()).tolist() == [True, False, False, True]
