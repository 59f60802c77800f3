"""What PTX's arithmetic, logic, moves and comparisons do to the registers of a run (`inline_asm`)."""

from __future__ import annotations

from collections.abc import Sequence

from opweave.codegen.instructions.emit import vector
from opweave.codegen.triton_cpu.elementwise import (
    binary,
    cast,
    compare,
    constant,
    flagged,
    intrinsic,
    select,
    shifted,
    to_f32,
)
from opweave.codegen.triton_cpu.inline_asm import FLOATS, PAIRS, Run, at_least_zero, bits_of, instruction, only, whole
from opweave.codegen.triton_cpu.lanes import Lanes
from opweave.codegen.triton_cpu.math import apply
from opweave.codegen.triton_cpu.ptx import Group, Instruction, Literal, PTXError, width_of

_OF_PTX = {"ex2": "exp2", "lg2": "log2", "rsqrt": "rsqrt", "sqrt": "sqrt", "sin": "sin", "cos": "cos", "tanh": "tanh"}


# -- floating-point arithmetic


def _fma(run: Run, elem: str, args: Sequence[Lanes]) -> Lanes:
    """Rounded once: a product of two half numbers is exact in f64, and the sum's lost part makes its last bit odd."""
    cx = run.cx
    if elem in ("f32", "f64"):
        return intrinsic(cx, "fma", list(args))
    a, b, c = (cast(cx, "fpext", x, "f64") for x in args)
    product = binary(cx, "fmul", [a, b])
    total = binary(cx, "fadd", [product, c])
    rest = binary(cx, "fsub", [total, product])
    lost = binary(
        cx, "fadd",
        [binary(cx, "fsub", [product, binary(cx, "fsub", [total, rest])]), binary(cx, "fsub", [c, rest])],
    )  # fmt: skip
    bits, zero = run.as_bits(total), constant("f64", 0.0)
    # Toward zero, where rounding went away from it; nothing is lost, or NaN, where the total is not finite.
    beyond = compare(cx, "olt", binary(cx, "fmul", [_sign(run, lost), _sign(run, total)]), zero)
    bits = run.op2("sub", bits, cast(cx, "zext", beyond, "i64"))
    bits = run.op2("or", bits, cast(cx, "zext", compare(cx, "one", lost, zero), "i64"))
    return run.as_type(bits, "f64")


def _sign(run: Run, x: Lanes) -> Lanes:
    """-1, 0 or 1, so that a product cannot underflow."""
    one, zero = constant("f64", 1.0), constant("f64", 0.0)
    found = select(run.cx, compare(run.cx, "ogt", x, zero), one, zero)
    return select(run.cx, compare(run.cx, "olt", x, zero), constant("f64", -1.0), found)


_OPCODES = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_REAL = {
    "add": ("rn",), "sub": ("rn",), "mul": ("rn",), "fma": ("rn", "relu"), "neg": (), "abs": (), "min": ("NaN",),
    "max": ("NaN",), "div": ("rn", "approx", "full"), "rcp": ("rn", "approx"), "sqrt": ("rn", "approx"),
    "rsqrt": ("approx",), "ex2": ("approx",), "lg2": ("approx",), "sin": ("approx",), "cos": ("approx",),
    "tanh": ("approx",), "copysign": (),
}  # fmt: skip
"""Modifiers of the instructions on floats, besides `ftz` and `sat`."""


def _computed(run: Run, name: str, modifiers: frozenset[str], elem: str, args: list[Lanes]) -> Lanes:
    """A result, from and to f32 or f64."""
    cx = run.cx
    if name in _OPCODES:
        return binary(cx, _OPCODES[name], args)
    if name == "fma":
        return _fma(run, elem, args)
    if name == "neg":
        w, (x,) = cx.operands(args)
        return cx.like(args, cx.em.inst(f"fneg {vector(args[0].elem, w)} {x}"), args[0].elem)
    if name == "abs":
        return intrinsic(cx, "fabs", args)
    if name in ("min", "max"):
        return intrinsic(cx, f"{name}imum" if "NaN" in modifiers else f"{name}num", args)
    if name == "rcp":
        return binary(cx, "fdiv", [constant(args[0].elem, 1.0), args[0]])
    if name == "copysign":
        return intrinsic(cx, "copysign", [args[1], args[0]])  # the sign of the first
    return apply(cx, run.op, _OF_PTX[name], args)


def _real(run: Run, i: Instruction) -> None:
    *modifiers, type_ = i.modifiers
    given = only(i, modifiers, "ftz", "sat", *_REAL[i.name])
    elem, cx = FLOATS.get(type_) or PAIRS[type_], run.cx

    def computed(args: list[Lanes]) -> Lanes:
        wide = [to_f32(cx, x) for x in args]
        if "ftz" in given and elem == "f32":
            wide = [run.flushed(x) for x in wide]
        out = _computed(run, i.name, given, elem, wide)
        if "ftz" in given and elem == "f32":
            out = run.flushed(out)
        for modifier in given & {"sat", "relu"}:
            out = at_least_zero(run, out, one=modifier == "sat")
        return run.narrowed(out, elem)

    if type_ in FLOATS:
        run.put(i, computed([run.get(a, type_) for a in i.arguments[1:]]))
        return
    pairs = [run.halves(run.bits(a, 32), 16) for a in i.arguments[1:]]
    low, high = (computed([run.as_type(pair[k], elem) for pair in pairs]) for k in (0, 1))
    run.put(i, run.joined(low, high))


# -- whole numbers


def _quotient(run: Run, opcode: str, a: Lanes, b: Lanes) -> Lanes:
    """All bits set where the divisor is 0 (the dividend, of a remainder), without a trap."""
    cx = run.cx
    zero, minus = (compare(cx, "eq", b, constant(b.elem, n)) for n in (0, -1))
    unsafe = zero if opcode[0] == "u" else run.op2("or", zero, minus)
    out = binary(cx, opcode, [a, select(cx, unsafe, constant(b.elem, 1), b)])
    if opcode[0] == "s":  # by -1: the least number stays what it is
        negative = run.op2("sub", constant(a.elem, 0), a) if opcode == "sdiv" else constant(a.elem, 0)
        out = select(cx, minus, negative, out)
    return select(cx, zero, constant(a.elem, -1) if opcode.endswith("div") else a, out)


def _integer(run: Run, i: Instruction) -> None:
    *modifiers, type_ = i.modifiers
    signed, width, cx = type_[0] == "s", width_of(type_), run.cx
    a, *rest = (run.get(x, type_) for x in i.arguments[1:])
    prefix = "s" if signed else "u"
    if i.name in ("mul", "mad"):
        (part,) = only(i, modifiers, "lo", "hi", "wide")
        extend = "sext" if signed else "zext"
        if part == "lo":
            product = run.op2("mul", a, rest[0])
        else:
            double = whole(2 * width)
            product = binary(cx, "mul", [cast(cx, extend, a, double), cast(cx, extend, rest[0], double)])
            if part == "hi":
                product = cast(cx, "trunc", run.op2("lshr", product, width), a.elem)
        if i.name == "mad":
            product = run.op2("add", product, run.bits(i.arguments[3], bits_of(product.elem)))
        run.put(i, product)
        return
    given = only(i, modifiers, "sat") if i.name in ("add", "sub") else only(i, modifiers)
    if i.name in ("add", "sub"):
        out = intrinsic(cx, f"s{i.name}.sat", [a, *rest]) if given else binary(cx, i.name, [a, *rest])
    elif i.name in ("div", "rem"):
        out = _quotient(run, prefix + i.name, a, *rest)
    elif i.name in ("min", "max"):
        out = intrinsic(cx, prefix + i.name, [a, *rest])
    elif i.name == "neg":
        out = run.op2("sub", constant(a.elem, 0), a)
    else:
        out = flagged(cx, "abs", a)
    run.put(i, out)


@instruction(*_REAL)
def _arithmetic(run: Run, i: Instruction) -> None:
    (_real if i.modifiers[-1] in FLOATS or i.modifiers[-1] in PAIRS else _integer)(run, i)


instruction("mad", "rem")(_integer)


@instruction("and", "or", "xor", "not")
def _logic(run: Run, i: Instruction) -> None:
    (type_,) = i.modifiers
    args = [run.bits(a, width_of(type_)) for a in i.arguments[1:]]
    run.put(i, run.op2("xor", args[0], -1) if i.name == "not" else binary(run.cx, i.name, args))


@instruction("shl", "shr")
def _shift(run: Run, i: Instruction) -> None:
    (type_,) = i.modifiers
    opcode = "shl" if i.name == "shl" else "ashr" if type_[0] == "s" else "lshr"
    x, width = run.get(i.arguments[1], type_), width_of(type_)
    # Of a count of 32 bits, what is beyond the width may not be cut off.
    count = intrinsic(run.cx, "umin", [run.bits(i.arguments[2], 32), constant("i32", width)])
    run.put(i, shifted(run.cx, opcode, x, run.resized(count, width)))


@instruction("shf")
def _funnel(run: Run, i: Instruction) -> None:
    side, mode, _ = i.modifiers
    low, high, by = (run.bits(a, 32) for a in i.arguments[1:])
    by = run.op2("and", by, 31) if mode == "wrap" else intrinsic(run.cx, "umin", [by, constant("i32", 32)])
    both, by = run.joined(low, high), run.resized(by, 64)
    if side == "r":
        run.put(i, run.resized(run.op2("lshr", both, by), 32))
    else:
        run.put(i, run.resized(run.op2("lshr", run.op2("shl", both, by), 32), 32))


@instruction("popc", "clz", "brev")
def _counted(run: Run, i: Instruction) -> None:
    (type_,) = i.modifiers
    x = run.get(i.arguments[1], type_)
    if i.name == "clz":
        run.put(i, flagged(run.cx, "ctlz", x))
    else:
        run.put(i, intrinsic(run.cx, {"popc": "ctpop", "brev": "bitreverse"}[i.name], [x]))


@instruction("lop3")
def _table(run: Run, i: Instruction) -> None:
    """Three inputs and the truth table of what they make."""
    only(i, i.modifiers, "b32")
    *args, table = i.arguments[1:]
    if not isinstance(table, Literal):
        raise PTXError
    inputs = [run.bits(a, 32) for a in args]
    both = [(run.op2("xor", x, -1), x) for x in inputs]
    out = constant("i32", 0)
    for k in range(8):
        if table.bits >> k & 1:
            term = run.op2("and", both[0][k >> 2], run.op2("and", both[1][k >> 1 & 1], both[2][k & 1]))
            out = run.op2("or", out, term)
    run.put(i, out)


@instruction("prmt")
def _permuted(run: Run, i: Instruction) -> None:
    """Four bytes out of eight; of those whose selector has its highest bit, the sign."""
    only(i, i.modifiers, "b32")
    low, high, selectors = (run.bits(a, 32) for a in i.arguments[1:])
    both, out = run.joined(low, high), constant("i32", 0)
    for k in range(4):
        selector = run.op2("and", run.op2("lshr", selectors, 4 * k), 15)
        by = run.resized(run.op2("shl", run.op2("and", selector, 7), 3), 64)
        byte = run.resized(run.op2("lshr", both, by), 8)
        signs = compare(run.cx, "ne", run.op2("and", selector, 8), constant("i32", 0))
        byte = run.resized(select(run.cx, signs, run.op2("ashr", byte, 7), byte), 32)
        out = run.op2("or", out, run.op2("shl", byte, 8 * k))
    run.put(i, out)


def _mask(run: Run, count: Lanes) -> Lanes:
    """So many ones, of 64 bits; at most 32."""
    count = intrinsic(run.cx, "umin", [run.op2("and", count, 0xFF), constant("i32", 32)])
    return run.op2("sub", run.op2("shl", constant("i64", 1), run.resized(count, 64)), 1)


@instruction("bfe", "bfi")
def _field(run: Run, i: Instruction) -> None:
    """Bits from a position on, cut out or put in."""
    (type_,) = only(i, i.modifiers, *(("u32", "s32") if i.name == "bfe" else ("b32",)))
    *args, position, count = (run.bits(a, 32) for a in i.arguments[1:])
    at = run.resized(intrinsic(run.cx, "umin", [run.op2("and", position, 0xFF), constant("i32", 63)]), 64)
    mask = _mask(run, count)
    if i.name == "bfi":
        mask = run.op2("shl", mask, at)
        put = run.op2("and", run.op2("shl", run.resized(args[0], 64), at), mask)
        kept = run.op2("and", run.resized(args[1], 64), run.op2("xor", mask, -1))
        run.put(i, run.resized(run.op2("or", put, kept), 32))
        return
    field = run.op2("ashr", run.resized(args[0], 64, signed=type_ == "s32"), at)
    field = run.op2("and", field, mask)
    if type_ == "s32":  # of a mask 0..01..1 the highest bit is (mask + 1) / 2
        top = run.op2("lshr", run.op2("add", mask, 1), 1)
        field = run.op2("sub", run.op2("xor", field, top), top)
        field = select(run.cx, compare(run.cx, "eq", mask, constant("i64", 0)), constant("i64", 0), field)
    run.put(i, run.resized(field, 32))


@instruction("dp4a")
def _dot_of_bytes(run: Run, i: Instruction) -> None:
    types = i.modifiers
    a, b, out = (run.bits(x, 32) for x in i.arguments[1:])
    for k in range(4):
        bytes_ = [run.resized(run.op2("lshr", x, 8 * k), 8) for x in (a, b)]
        pair = [run.resized(x, 32, signed=t == "s32") for x, t in zip(bytes_, types, strict=True)]
        out = run.op2("add", out, binary(run.cx, "mul", pair))
    run.put(i, out)


# -- moves, comparisons


@instruction("mov")
def _mov(run: Run, i: Instruction) -> None:
    (type_,) = i.modifiers
    to, source = i.arguments
    width = width_of(type_)
    if isinstance(source, Group):
        part = width // len(source.parts)
        value = constant(whole(width), 0)
        for k, x in enumerate(source.parts):
            moved = run.op2("shl", run.resized(run.bits(x, part), width), part * k)
            value = run.op2("or", value, moved)
    else:
        value = run.bits(source, width)
    if not isinstance(to, Group):
        run.put(i, value)
        return
    part = width // len(to.parts)
    for k, x in enumerate(to.parts):
        run.put(i, run.resized(run.op2("lshr", value, part * k), part), to=x)


_ORDERED = {"eq": "oeq", "ne": "one", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "num": "ord", "nan": "uno"}
_UNORDERED = {f"{name}u": f"u{name}" for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_UNSIGNED = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}


def _compared(run: Run, i: Instruction, predicate: str, type_: str, modifiers: Sequence[str]) -> Lanes:
    given = only(i, modifiers, "ftz")
    a, b = (run.get(x, type_) for x in i.arguments[1:3])
    if type_ in FLOATS:
        a, b = (to_f32(run.cx, x) for x in (a, b))
        if given and type_ == "f32":
            a, b = (run.flushed(x) for x in (a, b))
        return compare(run.cx, {**_ORDERED, **_UNORDERED}[predicate], a, b)
    if predicate not in ("eq", "ne"):
        sign = "s" if type_[0] == "s" else "u"
        predicate = _UNSIGNED.get(predicate) or sign + {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}[predicate]
    return compare(run.cx, predicate, a, b)


@instruction("setp")
def _setp(run: Run, i: Instruction) -> None:
    predicate, *modifiers, type_ = i.modifiers
    if len(i.arguments) != 3:
        raise PTXError
    run.put(i, _compared(run, i, predicate, type_, modifiers))


@instruction("selp")
def _selp(run: Run, i: Instruction) -> None:
    (type_,) = i.modifiers
    a, b = (run.bits(x, width_of(type_)) for x in i.arguments[1:3])
    run.put(i, select(run.cx, run.bits(i.arguments[3], 1), a, b))
