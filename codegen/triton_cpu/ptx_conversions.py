"""What `cvt` of PTX does: conversions between whole numbers, floats, and pairs of narrow floats."""

from __future__ import annotations

from collections.abc import Sequence

from opweave.codegen.instructions.emit import suffix, vector
from opweave.codegen.triton_cpu import float8
from opweave.codegen.triton_cpu.elementwise import binary, cast, compare, constant, intrinsic, select, to_f32
from opweave.codegen.triton_cpu.inline_asm import FLOATS, PAIRS, Run, at_least_zero, instruction, only, whole
from opweave.codegen.triton_cpu.lanes import Lanes
from opweave.codegen.triton_cpu.ptx import Instruction, PTXError, width_of

_FLOAT8 = {"e4m3x2": "f8E4M3FN", "e5m2x2": "f8E5M2"}
#: Halfway between the numbers of e2m1 (0, 0.5, 1, 1.5, 2, 3, 4, 6), and whether that rounds up, to the even code.
_E2M1 = ((0.25, False), (0.75, True), (1.25, False), (1.75, True), (2.5, False), (3.5, True), (5.0, False))
_ROUNDED = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


@instruction("cvt")
def _cvt(run: Run, i: Instruction) -> None:
    *modifiers, to, of = i.modifiers
    if to in PAIRS or to in _FLOAT8 or to == "e2m1x2":
        _paired(run, i, modifiers, to, of)
    elif to == "tf32":
        _tf32(run, i, modifiers, of)
    elif of in FLOATS:
        x = run.get(i.arguments[1], of)
        (_float_to_float if to in FLOATS else _float_to_whole)(run, i, modifiers, to, x)
    else:
        _from_whole(run, i, modifiers, to, of)


def _float_to_float(run: Run, i: Instruction, modifiers: Sequence[str], to: str, x: Lanes) -> None:
    given = only(i, modifiers, "rn", "ftz", "sat", "relu", "satfinite", *_ROUNDED)
    elem, cx = FLOATS[to], run.cx
    wide = to_f32(cx, x)
    if "ftz" in given and wide.elem == "f32":
        wide = run.flushed(wide)
    for name in given & _ROUNDED.keys():
        wide = intrinsic(cx, _ROUNDED[name], [wide])
    for name in given & {"sat", "relu"}:
        wide = at_least_zero(run, wide, one=name == "sat")
    out = run.narrowed(wide, elem)
    if "satfinite" in given:
        out = _finite(run, out, elem)
    run.put(i, run.flushed(out) if "ftz" in given and elem == "f32" else out)


def _finite(run: Run, x: Lanes, elem: str) -> Lanes:
    """The largest number in place of infinity."""
    if elem not in ("f16", "bf16"):
        raise PTXError
    bits, infinity = run.as_bits(x), {"f16": 0x7C00, "bf16": 0x7F80}[elem]
    magnitude = run.op2("and", bits, 0x7FFF)
    infinite = compare(run.cx, "eq", magnitude, constant("i16", infinity))
    return run.as_type(run.op2("sub", bits, cast(run.cx, "zext", infinite, "i16")), elem)


def _float_to_whole(run: Run, i: Instruction, modifiers: Sequence[str], to: str, x: Lanes) -> None:
    """Clamped to what there is; NaN gives 0."""
    given = only(i, modifiers, "ftz", "sat", *_ROUNDED)
    (rounding,) = given & _ROUNDED.keys()
    wide = to_f32(run.cx, x)
    if "ftz" in given and wide.elem == "f32":
        wide = run.flushed(wide)
    wide = intrinsic(run.cx, _ROUNDED[rounding], [wide])
    elem, kind = whole(width_of(to)), "si" if to[0] == "s" else "ui"
    w, (value,) = run.cx.operands([wide])
    name = f"llvm.fpto{kind}.sat.{suffix(elem, w)}.{suffix(wide.elem, w)}"
    out = run.cx.like([wide], run.cx.em.call(vector(elem, w), name, [(vector(wide.elem, w), value)]), elem)
    run.put(i, out, signed=to[0] == "s")


def _from_whole(run: Run, i: Instruction, modifiers: Sequence[str], to: str, of: str) -> None:
    x, signed = run.get(i.arguments[1], of), of[0] == "s"
    if to in FLOATS:
        only(i, modifiers, "rn")
        wide = cast(run.cx, "sitofp" if signed else "uitofp", x, "f32" if to == "f32" else "f64")
        run.put(i, run.narrowed(wide, FLOATS[to]))
        return
    given, width = only(i, modifiers, "sat"), width_of(to)
    if given:
        x = run.resized(x, 64, signed=signed)
        if of == "u64":
            raise PTXError
        low, high = (-(1 << width - 1), (1 << width - 1) - 1) if to[0] == "s" else (0, (1 << min(width, 63)) - 1)
        x = intrinsic(run.cx, "smin", [intrinsic(run.cx, "smax", [x, constant("i64", low)]), constant("i64", high)])
    run.put(i, run.resized(x, width, signed=signed), signed=to[0] == "s")


def _tf32(run: Run, i: Instruction, modifiers: Sequence[str], of: str) -> None:
    """Ten bits of fraction."""
    (rounding,) = only(i, modifiers, "rna", "rn", "rz")
    x = run.get(i.arguments[1], of)
    bits = run.as_bits(x)
    if rounding == "rna":
        rounded = run.op2("add", bits, 0x1000)
    elif rounding == "rn":
        odd = run.op2("and", run.op2("lshr", bits, 13), 1)
        rounded = run.op2("add", bits, run.op2("add", odd, 0xFFF))
    else:
        rounded = bits
    special = compare(run.cx, "eq", run.op2("and", bits, 0x7F800000), constant("i32", 0x7F800000))
    run.put(i, select(run.cx, special, bits, run.op2("and", rounded, -0x2000)))


def _e2m1(run: Run, x: Lanes) -> Lanes:
    """The code of an f32 in four bits; the largest number for NaN."""
    cx, size = run.cx, intrinsic(run.cx, "fabs", [x])
    code = constant("i8", 0)
    for middle, up in _E2M1:
        above = compare(cx, "oge" if up else "ogt", size, constant("f32", middle))
        code = run.op2("add", code, cast(cx, "zext", above, "i8"))
    sign = run.resized(run.op2("and", run.op2("lshr", run.as_bits(x), 28), 8), 8)
    return select(cx, compare(cx, "uno", x, x), constant("i8", 7), run.op2("or", code, sign))


def _from_e2m1(run: Run, code: Lanes) -> Lanes:
    """The f32 of a code in the lower four bits."""
    size = run.op2("and", run.resized(code, 32), 7)
    # As a number of two bits of exponent, whose smallest is 1 there, and one of fraction.
    bits = run.op2("shl", size, 22)
    value = binary(run.cx, "fmul", [run.as_type(bits, "f32"), constant("f32", 2.0**126)])
    sign = run.op2("shl", run.op2("and", run.resized(code, 32), 8), 28)
    return run.as_type(run.op2("or", run.as_bits(value), sign), "f32")


def _paired(run: Run, i: Instruction, modifiers: Sequence[str], to: str, of: str) -> None:
    """Two floats to a pair, the first to the higher half; or the numbers of a pair to those of another."""
    given, cx = only(i, modifiers, "rn", "satfinite", "relu"), run.cx
    if of == "f32":
        high, low = (run.get(a, "f32") for a in i.arguments[1:])
    elif of in PAIRS:
        halves = run.halves(run.bits(i.arguments[1], 32), 16)
        low, high = (to_f32(cx, run.as_type(x, PAIRS[of])) for x in halves)
    elif of in _FLOAT8:
        halves = run.halves(run.bits(i.arguments[1], 16), 8)
        low, high = (float8.decode(cx, run.as_type(x, _FLOAT8[of])) for x in halves)
    elif of == "e2m1x2":
        byte = run.bits(i.arguments[1], 8)
        low, high = (_from_e2m1(run, x) for x in (byte, run.op2("lshr", byte, 4)))
    else:
        raise PTXError
    if "relu" in given:
        low, high = (at_least_zero(run, x, one=False) for x in (low, high))
    if to in PAIRS:
        pair = [run.narrowed(x, PAIRS[to]) for x in (low, high)]
        if "satfinite" in given:
            pair = [_finite(run, x, PAIRS[to]) for x in pair]
        run.put(i, run.joined(*pair))
    elif "satfinite" not in given:
        raise PTXError
    elif to == "e2m1x2":
        low, high = (_e2m1(run, x) for x in (low, high))
        run.put(i, run.op2("or", low, run.op2("shl", high, 4)))
    else:
        run.put(i, run.joined(*(float8.encode(cx, x, _FLOAT8[to]) for x in (low, high))))
