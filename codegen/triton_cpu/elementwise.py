"""Elementwise operations: arithmetic, comparisons, selects and casts on uniform values and vectors.

Each rule gets evaluated operands and emits one lane-wise result. Types narrower than f32 are computed in f32 and
rounded after every operation; bf16 and the 8-bit formats are kept as their bits and rounded by integer arithmetic,
which is exact and needs no library call.
"""

from __future__ import annotations

from collections.abc import Sequence

from opweave.codegen.instructions import formulas, formulas64
from opweave.codegen.instructions.arithmetic import F32, F64
from opweave.codegen.instructions.emit import (
    FLOAT8,
    FLOATS,
    LLVM_FLOATS,
    LLVM_TYPE,
    NARROW,
    SIZE,
    float_literal,
    splat,
    suffix,
    vector,
)
from opweave.codegen.instructions.operands import FALSE, I1, POISON, Operand, Register
from opweave.codegen.triton_cpu.context import Context, pointee_size, splat_literal
from opweave.codegen.triton_cpu.float8 import decode, encode
from opweave.codegen.triton_cpu.lanes import Indices, Lanes
from opweave.codegen.triton_cpu.operations import elementwise, lazy
from opweave.codegen.triton_cpu.refusal import unsupported
from opweave.registry.triton.ttir import Op, Value

_FLOAT_BINARY = {"arith.addf": "fadd", "arith.subf": "fsub", "arith.mulf": "fmul", "arith.divf": "fdiv",
                 "tt.precise_divf": "fdiv"}  # fmt: skip
_INT_BINARY = {"arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul", "arith.andi": "and", "arith.ori": "or",
               "arith.xori": "xor"}  # fmt: skip
_SHIFTS = {"arith.shli": "shl", "arith.shrsi": "ashr", "arith.shrui": "lshr"}
_DIVISIONS = {"arith.divsi": "sdiv", "arith.divui": "udiv", "arith.remsi": "srem", "arith.remui": "urem",
              "arith.floordivsi": "floor", "arith.ceildivsi": "ceil"}  # fmt: skip
_INTRINSICS = {
    "arith.maxsi": "smax", "arith.minsi": "smin", "arith.maxui": "umax", "arith.minui": "umin", "math.ctpop": "ctpop",
}  # fmt: skip
_FLOAT_INTRINSICS = {
    "math.sqrt": "sqrt", "tt.precise_sqrt": "sqrt", "math.absf": "fabs", "math.floor": "floor", "math.ceil": "ceil",
    "math.trunc": "trunc", "math.round": "round", "math.roundeven": "roundeven", "math.fma": "fma",
    "math.copysign": "copysign", "arith.maxnumf": "maxnum", "arith.minnumf": "minnum", "arith.maximumf": "maximum",
    "arith.minimumf": "minimum",
}  # fmt: skip


def to_f32(cx: Context, x: Lanes) -> Lanes:
    """Widen f16, bf16 and the 8-bit formats."""
    if x.elem not in NARROW:
        return x
    if x.elem in FLOAT8:
        return decode(cx, x)
    w, (v,) = cx.operands([x])
    t = vector("f32", w)
    if x.elem == "f16":
        return Lanes(x.kind, cx.em.inst(f"fpext {vector('f16', w)} {v} to {t}"), "f32")
    i = vector("i32", w)
    wide = cx.em.inst(f"zext {vector('i16', w)} {v} to {i}")
    wide = cx.em.inst(f"shl {i} {wide}, {splat(16, 'i32', w)}")
    return Lanes(x.kind, cx.em.inst(f"bitcast {i} {wide} to {t}"), "f32")


def from_f32(cx: Context, x: Lanes, elem: str) -> Lanes:
    """Round an f32 to nearest even in a narrower type."""
    if elem == x.elem:
        return x
    if elem in FLOAT8:
        return encode(cx, x, elem)
    w, (v,) = cx.operands([x])
    em, t, i, h = cx.em, vector("f32", w), vector("i32", w), vector("i16", w)
    if elem == "f16":
        return Lanes(x.kind, em.inst(f"fptrunc {t} {v} to {vector('f16', w)}"), "f16")

    def c(value: int, e: str = "i32") -> Operand:
        return splat(value, e, w)

    bits = em.inst(f"bitcast {t} {v} to {i}")
    odd = em.inst(f"and {i} {em.inst(f'lshr {i} {bits}, {c(16)}')}, {c(1)}")
    rounded = em.inst(f"add {i} {em.inst(f'add {i} {bits}, {odd}')}, {c(0x7FFF)}")
    top = em.inst(f"trunc {i} {em.inst(f'lshr {i} {rounded}, {c(16)}')} to {h}")
    nan = em.inst(f"fcmp uno {t} {v}, {v}")
    return Lanes(x.kind, em.inst(f"select {vector('i1', w)} {nan}, {h} {c(0x7FC0, 'i16')}, {h} {top}"), "bf16")


def widened(cx: Context, args: list[Lanes]) -> list[Lanes]:
    return [to_f32(cx, a) for a in args]


def binary(cx: Context, opcode: str, args: list[Lanes]) -> Lanes:
    """One LLVM instruction on two operands of the same type."""
    w, (a, b) = cx.operands(args)
    return cx.like(args, cx.em.inst(f"{opcode} {vector(args[0].elem, w)} {a}, {b}"), args[0].elem)


def intrinsic(cx: Context, name: str, args: list[Lanes]) -> Lanes:
    w, values = cx.operands(args)
    return cx.like(args, cx.em.intrinsic(name, args[0].elem, w, values), args[0].elem)


def constant(elem: str, value: float) -> Lanes:
    return Lanes("uniform", float_literal(value, elem) if elem in FLOATS else int(value), elem)


def select(cx: Context, mask: Lanes, x: Lanes, y: Lanes) -> Lanes:
    if mask.is_true or mask.is_false:
        return x if mask.is_true else y
    w, (m, a, b) = cx.operands([mask, x, y])
    t = vector(x.elem, w)
    return cx.like([mask, x, y], cx.em.inst(f"select {vector('i1', w)} {m}, {t} {a}, {t} {b}"), x.elem)


def compare(cx: Context, predicate: str, x: Lanes, y: Lanes) -> Lanes:
    opcode = "fcmp" if x.elem in LLVM_FLOATS else "icmp"
    w, (a, b) = cx.operands([x, y])
    return cx.like([x, y], cx.em.inst(f"{opcode} {predicate} {vector(x.elem, w)} {a}, {b}"), "i1")


# -- rules


@lazy("arith.constant", cost=0)
def _constant(cx: Context, v: Value, idx: Indices) -> Lanes:
    """A splat is a literal; other dense constants are tables in memory."""
    value = splat_literal(v)
    return cx.load_buffer(cx.table(v), idx) if value is None else Lanes("uniform", value, v.type.elem)


@elementwise(*_FLOAT_BINARY, cost={"arith.divf": 12, "tt.precise_divf": 12})
def _float_binary(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    # Without flags: what becomes one fma is chosen before (`contraction`), and NaN and infinity are never assumed away.
    # Narrow types round after every operation.
    return from_f32(cx, binary(cx, _FLOAT_BINARY[op.name], widened(cx, args)), args[0].elem)


@elementwise("arith.remf", cost=30)
def _remf(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    wide = widened(cx, args)
    return from_f32(cx, remainder_of(cx, wide), args[0].elem)


def remainder_of(cx: Context, args: list[Lanes]) -> Lanes:
    """C's fmod of f32 or f64."""
    w, (a, b) = cx.operands(args)
    if args[0].elem == "f64":
        return cx.like(args, formulas64.fmod(F64(cx.em, w, cx.features.fma), a, b), "f64")
    return cx.like(args, formulas.fmod(F32(cx.em, w, cx.features.fma), a, b), "f32")


def scalar_calls(cx: Context, name: str, elem: str, width: int, values: Sequence[Operand]) -> Operand:
    """Call a libm function lane by lane."""
    em, t = cx.em, LLVM_TYPE[elem]
    if width == 1:
        return em.call(t, name, [(t, v) for v in values])
    out: Operand = POISON
    whole = vector(elem, width)
    for k in range(width):
        lanes = [em.inst(f"extractelement {whole} {v}, i64 {k}") for v in values]
        one = em.call(t, name, [(t, x) for x in lanes])
        out = em.inst(f"insertelement {whole} {out}, {t} {one}, i64 {k}")
    return out


@elementwise(*_INT_BINARY, cost=dict.fromkeys(("arith.addi", "arith.subi", "arith.muli", "arith.andi"), 0))
def _int_binary(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    return binary(cx, _INT_BINARY[op.name], args)


@lazy("arith.andi")
def _and(cx: Context, v: Value, idx: Indices) -> Lanes:
    """Masks: what is assumed about one side may settle the whole."""
    assert v.op is not None
    (a, i), (b, j) = cx.inputs(v.op, idx)
    x = cx.evaluate(a, i)
    if x.is_false:
        return x
    y = cx.evaluate(b, j)
    if x.is_true or y.is_false:
        return y
    return x if y.is_true else binary(cx, "and", [x, y])


@elementwise(*_SHIFTS)
def _shift(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    return shifted(cx, _SHIFTS[op.name], *args)


def shifted(cx: Context, opcode: str, x: Lanes, n: Lanes) -> Lanes:
    """A shift by the width or more gives 0 (or the sign); in LLVM it is poison."""
    bits = SIZE[x.elem] * 8
    if n.uniform and isinstance(n.value, int) and 0 <= n.value < bits:
        return binary(cx, opcode, [x, n])
    if opcode == "ashr":
        return binary(cx, "ashr", [x, intrinsic(cx, "umin", [n, constant(n.elem, bits - 1)])])
    inside = compare(cx, "ult", n, constant(n.elem, bits))
    # Without `freeze` the poison of an oversized shift would reach the select's other arm in some LLVM passes.
    some = binary(cx, opcode, [x, intrinsic(cx, "umin", [n, constant(n.elem, bits - 1)])])
    return select(cx, inside, some, constant(x.elem, 0))


def _safe_divisor(cx: Context, x: Lanes, d: Lanes, signed: bool) -> Lanes:
    """The divisor with 1 where dividing would trap: by zero (masked-off lanes), or INT_MIN by -1."""
    if d.uniform and not isinstance(d.value, Register) and d.value not in (0, -1):
        return d
    one = constant(d.elem, 1)
    unsafe = compare(cx, "eq", d, constant(d.elem, 0))
    if signed:
        least = compare(cx, "eq", x, constant(x.elem, -(1 << (SIZE[x.elem] * 8 - 1))))
        overflow = binary(cx, "and", [least, compare(cx, "eq", d, constant(d.elem, -1))])
        unsafe = binary(cx, "or", [unsafe, overflow])
    return select(cx, unsafe, one, d)


@elementwise(*_DIVISIONS, cost=6)
def _division(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    kind = _DIVISIONS[op.name]
    if kind in ("floor", "ceil"):
        raise unsupported(op)
    x, d = args[0], _safe_divisor(cx, *args, signed=kind[0] == "s")
    if (x.uniform and d.uniform) or not isinstance(d.value, Register) or SIZE[x.elem] == 8 or cx.width == 1:
        return binary(cx, kind, [x, d])
    return _division_by_double(cx, kind, x, d)


def _division_by_double(cx: Context, kind: str, x: Lanes, d: Lanes) -> Lanes:
    """Vector division through f64, which holds 32-bit quotients exactly; LLVM would divide lane by lane."""
    to, back = ("sitofp", "fptosi") if kind[0] == "s" else ("uitofp", "fptoui")
    em, w, t, f = cx.em, cx.width, cx.vector(x.elem), cx.vector("f64")
    a, b = cx.operand(x), cx.operand(d)
    q = em.inst(f"fdiv {f} {em.inst(f'{to} {t} {a} to {f}')}, {em.inst(f'{to} {t} {b} to {f}')}")
    quotient = em.inst(f"{back} {f} {q} to {t}")
    if kind.endswith("div"):
        return Lanes("vector", quotient, x.elem)
    del w
    return Lanes("vector", em.inst(f"sub {t} {a}, {em.inst(f'mul {t} {quotient}, {b}')}"), x.elem)


@elementwise(*_INTRINSICS)
def _int_intrinsic(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    return intrinsic(cx, _INTRINSICS[op.name], args)


@elementwise("math.absi", "math.ctlz", "math.cttz")
def _flagged_intrinsic(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    return flagged(cx, {"math.absi": "abs"}.get(op.name, op.name[5:]), args[0])


def flagged(cx: Context, name: str, x: Lanes) -> Lanes:
    """An intrinsic with an `is_poison` flag, which stays off."""
    w, (value,) = cx.operands([x])
    t = vector(x.elem, w)
    return cx.like([x], cx.em.call(t, f"llvm.{name}.{suffix(x.elem, w)}", [(t, value), (I1, FALSE)]), x.elem)


@elementwise("tt.mulhiui", "arith.mulhiui")
def _mulhiui(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    """The upper half of the full product."""
    w, values = cx.operands(args)
    elem = args[0].elem
    double = {"i64": "i128", "i32": "i64", "i16": "i32", "i8": "i16"}[elem]
    em, t, wide = cx.em, vector(elem, w), vector(double, w)
    a, b = (em.inst(f"zext {t} {v} to {wide}") for v in values)
    high = em.inst(f"lshr {wide} {em.inst(f'mul {wide} {a}, {b}')}, {splat(SIZE[elem] * 8, double, w)}")
    return cx.like(args, em.inst(f"trunc {wide} {high} to {t}"), elem)


@elementwise(*_FLOAT_INTRINSICS, cost={"math.sqrt": 12, "tt.precise_sqrt": 12})
def _float_intrinsic(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    return from_f32(cx, intrinsic(cx, _FLOAT_INTRINSICS[op.name], widened(cx, args)), args[0].elem)


@elementwise("arith.negf")
def _negf(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    wide = widened(cx, args)
    w, (x,) = cx.operands(wide)
    return from_f32(cx, cx.like(wide, cx.em.inst(f"fneg {vector(wide[0].elem, w)} {x}"), wide[0].elem), args[0].elem)


@elementwise("tt.clampf")
def _clampf(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    """min(max(x, lo), hi); NaN passes with `propagateNan = all`, else it becomes lo."""
    x, lo, hi = widened(cx, args)
    top, bottom = ("maximum", "minimum") if op.attr("propagateNan") == "all" else ("maxnum", "minnum")
    return from_f32(cx, intrinsic(cx, bottom, [intrinsic(cx, top, [x, lo]), hi]), args[0].elem)


@elementwise("arith.cmpi", "arith.cmpf", cost={"arith.cmpi": 0})
def _compare(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    return compare(cx, op.word, *widened(cx, args))


@elementwise("arith.select")
def _select(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    return select(cx, *args)


@elementwise("tt.addptr", cost=0)
def _addptr(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    """A pointer plus elements, where the sum is no affine value."""
    offset = args[1]
    size = pointee_size(op.result.type)
    w, (p, o) = cx.operands(args)
    em, t = cx.em, vector("i64", w)
    if SIZE[offset.elem] < 8:
        o = em.inst(f"sext {vector(offset.elem, w)} {o} to {t}")
    if size != 1:
        o = em.inst(f"mul {t} {o}, {splat(size, 'i64', w)}")
    return cx.like(args, em.inst(f"getelementptr i8, {vector('ptr', w)} {p}, {t} {o}"), "ptr")


_CASTS = {
    "arith.extsi": "sext", "arith.extui": "zext", "arith.trunci": "trunc", "arith.sitofp": "sitofp",
    "arith.uitofp": "uitofp", "tt.ptr_to_int": "ptrtoint", "tt.int_to_ptr": "inttoptr",
}  # fmt: skip


def cast(cx: Context, opcode: str, x: Lanes, elem: str) -> Lanes:
    w, (v,) = cx.operands([x])
    return cx.like([x], cx.em.inst(f"{opcode} {vector(x.elem, w)} {v} to {vector(elem, w)}"), elem)


@elementwise(*_CASTS, cost=dict.fromkeys(("arith.extsi", "arith.extui", "arith.trunci"), 0))
def _cast(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    (x,), elem = args, op.result.type.elem
    opcode = _CASTS[op.name]
    if opcode in ("sitofp", "uitofp") and elem in NARROW:
        return from_f32(cx, cast(cx, opcode, x, "f32"), elem)
    return cast(cx, opcode, x, elem)


@elementwise("arith.index_cast", "arith.index_castui", cost={"arith.index_cast": 0})
def _index_cast(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    (x,), elem = args, op.result.type.elem
    if SIZE[elem] == SIZE[x.elem]:
        return Lanes(x.kind, x.value, elem, x.stride, x.origin)
    wider = "zext" if op.name.endswith("ui") else "sext"
    return cast(cx, wider if SIZE[elem] > SIZE[x.elem] else "trunc", x, elem)


@elementwise("arith.extf", "arith.truncf", "tt.fp_to_fp")
def _float_cast(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    (x,), elem = args, op.result.type.elem
    if elem not in FLOATS or x.elem not in FLOATS:
        raise unsupported(op, f"conversions from {x.elem} to {elem} are not supported")
    if op.attr("rounding") == "rtz":
        return _truncate(cx, op, x, elem)
    wide = to_f32(cx, x)
    if elem == "f64":
        return wide if wide.elem == "f64" else cast(cx, "fpext", wide, "f64")
    if wide.elem == "f64":
        if elem == "f32":
            return cast(cx, "fptrunc", wide, "f32")
        wide = round_to_odd(cx, wide)
    return from_f32(cx, wide, elem)


def round_to_odd(cx: Context, x: Lanes) -> Lanes:
    """f64 as an f32 that a further rounding treats like the exact number: the last bit says that something was cut."""
    near = cast(cx, "fptrunc", x, "f32")
    back = cast(cx, "fpext", near, "f64")
    bits = _step_down(cx, cast(cx, "bitcast", near, "i32"), x, back)
    inexact = cast(cx, "zext", compare(cx, "one", x, back), "i32")
    return cast(cx, "bitcast", binary(cx, "or", [bits, inexact]), "f32")


def _step_down(cx: Context, bits: Lanes, exact: Lanes, rounded: Lanes) -> Lanes:
    """The bits of the number below `rounded` in magnitude, where rounding went away from zero."""
    beyond = compare(cx, "ogt", intrinsic(cx, "fabs", [rounded]), intrinsic(cx, "fabs", [exact]))
    return binary(cx, "sub", [bits, cast(cx, "zext", beyond, bits.elem)])


def _truncate(cx: Context, op: Op, x: Lanes, elem: str) -> Lanes:
    """Round toward zero; what is too large becomes the largest finite number, infinity stays."""
    wide = to_f32(cx, x)
    if wide.elem == "f64":
        if elem == "f32":
            near = cast(cx, "fptrunc", wide, "f32")
            bits = cast(cx, "bitcast", near, "i32")
            return cast(cx, "bitcast", _step_down(cx, bits, wide, cast(cx, "fpext", near, "f64")), "f32")
        wide = round_to_odd(cx, wide)
    if elem in FLOAT8:
        return encode(cx, wide, elem, toward_zero=True)
    if elem == "bf16":  # dropping the lower bits; those of a NaN may be all it has
        whole = cast(cx, "bitcast", wide, "i32")
        top = cast(cx, "trunc", binary(cx, "lshr", [whole, constant("i32", 16)]), "i16")
        number = select(cx, compare(cx, "uno", wide, wide), constant("i16", 0x7FC0), top)
        return Lanes(number.kind, number.value, "bf16")
    if elem != "f16":
        raise unsupported(op, f"rounding toward zero from {x.elem} to {elem}")
    near = cast(cx, "fptrunc", wide, "f16")
    bits = cast(cx, "bitcast", near, "i16")
    return cast(cx, "bitcast", _step_down(cx, bits, wide, cast(cx, "fpext", near, "f32")), "f16")


@elementwise("arith.fptosi", "arith.fptoui")
def _float_to_int(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    """Saturating, NaN to 0; types narrower than the conversion wrap, as the C conversion does on x86."""
    x, elem = to_f32(cx, args[0]), op.result.type.elem
    w, (v,) = cx.operands([x])
    if op.name == "arith.fptosi" or SIZE[elem] < 8:
        wide = elem if op.name == "arith.fptosi" and SIZE[elem] >= 4 else "i32" if SIZE[elem] < 4 else "i64"
        sign = "si"
    else:
        wide, sign = "i64", "ui"
    t, name = vector(wide, w), f"llvm.fpto{sign}.sat.{suffix(wide, w)}.{suffix(x.elem, w)}"
    out = cx.em.call(t, name, [(vector(x.elem, w), v)])
    result = Lanes(x.kind, out, wide)
    return result if wide == elem else cast(cx, "trunc", result, elem)


@elementwise("arith.bitcast", "tt.bitcast")
def _bitcast(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    (x,), elem = args, op.result.type.elem
    if elem == "ptr" or LLVM_TYPE[elem] == LLVM_TYPE[x.elem]:
        return Lanes(x.kind, x.value, elem, x.stride, x.origin)
    if {elem, x.elem} == {"i1", "i8"}:
        return cast(cx, "zext" if elem == "i8" else "trunc", x, elem)
    return cast(cx, "bitcast", x, elem)
