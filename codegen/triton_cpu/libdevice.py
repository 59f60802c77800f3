"""CUDA's libdevice (`tl.extra.libdevice`), by the symbols that `tt.extern_elementwise` names.

What LLVM or the C library has is called; the rest is written here. Special functions are computed in f64, f32 ones too.
Operations with a directed rounding set the processor's rounding mode around one instruction, in a function of their own
that LLVM neither inlines nor folds.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Sequence

from opweave.codegen.instructions.emit import LLVM_TYPE, SIZE, suffix, vector
from opweave.codegen.instructions.operands import FALSE, I1, POISON, Operand
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.elementwise import binary, cast, compare, constant, intrinsic, select
from opweave.codegen.triton_cpu.lanes import Lanes
from opweave.codegen.triton_cpu.math import apply
from opweave.codegen.triton_cpu.operations import elementwise
from opweave.codegen.triton_cpu.refusal import unsupported
from opweave.codegen.triton_cpu.special import FUNCTIONS, function
from opweave.registry.triton.ttir import Op

Rule = Callable[[Context, Op, list[Lanes]], Lanes]
SYMBOLS: dict[str, Rule] = {}
"""How each function of libdevice is computed."""


@elementwise("tt.extern_elementwise", cost=14)
def _extern(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    symbol = op.attr("symbol") or ""
    rule = SYMBOLS.get(symbol.removeprefix("__nv_"))
    if rule is None or not symbol.startswith("__nv_"):
        raise unsupported(op, f"external function {symbol!r} is not available on the CPU")
    return rule(cx, op, args)


def _define(*names: str) -> Callable[[Rule], Rule]:
    return lambda rule: SYMBOLS.update(dict.fromkeys(names, rule)) or rule


def per_lane(cx: Context, args: Sequence[Lanes], elem: str, call: Callable[[Sequence[Operand]], Operand]) -> Lanes:
    """A result of type `elem` from scalar code, which `call` emits for one lane's operands."""
    w, values = cx.operands(list(args))
    if w == 1:
        return cx.like(list(args), call(values), elem)
    em, whole = cx.em, vector(elem, w)
    out: Operand = POISON
    for k in range(w):
        types = [vector(a.elem, w) for a in args]
        lanes = [em.inst(f"extractelement {t} {v}, i64 {k}") for t, v in zip(types, values, strict=True)]
        out = em.inst(f"insertelement {whole} {out}, {LLVM_TYPE[elem]} {call(lanes)}, i64 {k}")
    return Lanes("vector", out, elem)


def _call(cx: Context, name: str, args: Sequence[Lanes], elem: str) -> Lanes:
    """Call a C function or one of ours lane by lane."""
    types = [LLVM_TYPE[a.elem] for a in args]

    def one(values: Sequence[Operand]) -> Operand:
        return cx.em.call(LLVM_TYPE[elem], name, list(zip(types, values, strict=True)))

    return per_lane(cx, args, elem, one)


def _wide(cx: Context, x: Lanes) -> Lanes:
    return cast(cx, "fpext", x, "f64") if x.elem == "f32" else x


def _narrow(cx: Context, x: Lanes, elem: str) -> Lanes:
    return cast(cx, "fptrunc", x, elem) if elem != x.elem else x


# -- what the C library has

for _name in (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2",
    "expm1", "fdim", "fmod", "hypot", "log", "log10", "log1p", "log2", "logb", "nextafter", "pow", "remainder", "sin",
    "sinh", "tan", "tanh", "rsqrt", "ceil", "copysign", "floor", "fma", "nearbyint", "rint", "round", "trunc", "sqrt",
):  # fmt: skip
    SYMBOLS[_name] = SYMBOLS[_name + "f"] = lambda cx, op, args, n=_name: apply(cx, op, n, args)
SYMBOLS["fabs"] = SYMBOLS["fabsf"] = lambda cx, op, args: apply(cx, op, "fabs", args)
for _name in ("cos", "exp", "log", "log10", "log2", "pow", "sin", "tan"):
    SYMBOLS[f"fast_{_name}f"] = SYMBOLS[_name]
SYMBOLS["fast_fdividef"] = lambda cx, op, args: binary(cx, "fdiv", args)


def _special(name: str, arity: int = 1) -> Rule:
    """A function of the C library, in f64 for both types: its f32 versions are further off."""

    def rule(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
        assert len(args) == arity
        return _narrow(cx, _call(cx, name, [_wide(cx, a) for a in args], "f64"), args[0].elem)

    return rule


for _name in ("j0", "j1", "y0", "y1", "lgamma", "tgamma"):
    SYMBOLS[_name] = SYMBOLS[_name + "f"] = _special(_name)


@_define("jn", "jnf", "yn", "ynf")
def _bessel_of_order(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    name = "jn" if "jn" in (op.attr("symbol") or "") else "yn"
    return _narrow(cx, _call(cx, name, [args[0], _wide(cx, args[1])], "f64"), args[1].elem)


@_define("exp10", "exp10f", "fast_exp10f")
def _exp10(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    x = _wide(cx, args[0])
    return _narrow(cx, _call(cx, "pow", [constant("f64", 10.0), x], "f64"), args[0].elem)


@_define("powi", "powif")
def _powi(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    x, n = _wide(cx, args[0]), cast(cx, "sitofp", args[1], "f64")
    return _narrow(cx, _call(cx, "pow", [x, n], "f64"), args[0].elem)


@_define("ldexp", "ldexpf", "scalbn", "scalbnf")
def _ldexp(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    return _call(cx, "ldexp" if args[0].elem == "f64" else "ldexpf", args, args[0].elem)


@_define("ilogb", "ilogbf")
def _ilogb(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    """The exponent; the least integer at zero and NaN, the largest at infinity."""
    x = args[0]
    exponent = _call(cx, "ilogb", [_wide(cx, x)], "i32")
    least, largest = constant("i32", -(2**31)), constant("i32", 2**31 - 1)
    size = intrinsic(cx, "fabs", [x])
    exponent = select(cx, compare(cx, "oeq", size, constant(x.elem, math.inf)), largest, exponent)
    return select(cx, compare(cx, "ueq", x, constant(x.elem, 0.0)), least, exponent)


# -- simple formulas


@_define("saturatef")
def _saturate(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    """To [0, 1]; NaN becomes 0."""
    x, zero, one = args[0], constant("f32", 0.0), constant("f32", 1.0)
    low = select(cx, compare(cx, "ogt", x, zero), x, zero)
    return select(cx, compare(cx, "ogt", low, one), one, low)


def _inverse(cx: Context, x: Lanes, elem: str) -> Lanes:
    return _narrow(cx, binary(cx, "fdiv", [constant("f64", 1.0), x]), elem)


@_define("rcbrt", "rcbrtf")
def _rcbrt(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    return _inverse(cx, _call(cx, "cbrt", [_wide(cx, args[0])], "f64"), args[0].elem)


@_define("frsqrt_rn")
def _frsqrt(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    return _inverse(cx, intrinsic(cx, "sqrt", [_wide(cx, args[0])]), "f32")


@_define("rhypot", "rhypotf", "norm3d", "norm3df", "norm4d", "norm4df", "rnorm3d", "rnorm3df", "rnorm4d", "rnorm4df")
def _norm(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    """The length of a vector, or one over it, without overflow on the way."""
    length = _wide(cx, args[0])
    for x in args[1:]:
        length = _call(cx, "hypot", [length, _wide(cx, x)], "f64")
    inverse = (op.attr("symbol") or "").startswith("__nv_r")
    return _inverse(cx, length, args[0].elem) if inverse else _narrow(cx, length, args[0].elem)


@_define("rcp64h")
def _rcp64h(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    """The upper word of the inverse."""
    inverse = binary(cx, "fdiv", [constant("f64", 1.0), args[0]])
    upper = binary(cx, "and", [cast(cx, "bitcast", inverse, "i64"), constant("i64", -(1 << 32))])
    return cast(cx, "bitcast", upper, "f64")


def _predicate(test: Callable[[Context, Lanes], Lanes]) -> Rule:
    return lambda cx, op, args: cast(cx, "zext", test(cx, args[0]), op.result.type.elem)


def _magnitude(predicate: str) -> Rule:
    return _predicate(lambda cx, x: compare(cx, predicate, intrinsic(cx, "fabs", [x]), constant(x.elem, math.inf)))


def _is_negative(cx: Context, x: Lanes) -> Lanes:
    bits = cast(cx, "bitcast", x, "i32" if x.elem == "f32" else "i64")
    return compare(cx, "slt", bits, constant(bits.elem, 0))


_define("isnanf", "isnand")(_predicate(lambda cx, x: compare(cx, "uno", x, x)))
_define("isinff", "isinfd")(_magnitude("oeq"))
_define("finitef", "isfinited")(_magnitude("olt"))
_define("signbitf", "signbitd")(_predicate(_is_negative))


# -- integers


def _ints(name: str, formula: Callable[[Context, list[Lanes]], Lanes]) -> None:
    SYMBOLS[name] = lambda cx, op, args: _fit(cx, formula(cx, args), op.result.type.elem)


def _fit(cx: Context, x: Lanes, elem: str) -> Lanes:
    """Truncate or zero-extend."""
    if x.elem == elem:
        return x
    return cast(cx, "trunc" if SIZE[elem] < SIZE[x.elem] else "zext", x, elem)


def _flagged(name: str) -> Callable[[Context, list[Lanes]], Lanes]:
    """Intrinsics with an `is_poison` flag, which stays off."""

    def formula(cx: Context, args: list[Lanes]) -> Lanes:
        w, (x,) = cx.operands(args)
        elem = args[0].elem
        t = vector(elem, w)
        return cx.like(args, cx.em.call(t, f"llvm.{name}.{suffix(elem, w)}", [(t, x), (I1, FALSE)]), elem)

    return formula


def _first_set(cx: Context, args: list[Lanes]) -> Lanes:
    """The place of the lowest bit that is set, from 1; 0 where none is."""
    x = args[0]
    place = binary(cx, "add", [_flagged("cttz")(cx, args), constant(x.elem, 1)])
    return select(cx, compare(cx, "eq", x, constant(x.elem, 0)), constant(x.elem, 0), place)


def _widening(
    signed: bool, formula: Callable[[Context, list[Lanes]], Lanes]
) -> Callable[[Context, list[Lanes]], Lanes]:
    """Compute in integers of twice the width."""

    def rule(cx: Context, args: list[Lanes]) -> Lanes:
        elem = args[0].elem
        wide = [cast(cx, "sext" if signed else "zext", a, "i64" if elem == "i32" else "i128") for a in args]
        return cast(cx, "trunc", formula(cx, wide), elem)

    return rule


def _upper_product(cx: Context, args: list[Lanes]) -> Lanes:
    product = binary(cx, "mul", args)
    return binary(cx, "lshr", [product, constant(product.elem, SIZE[product.elem] * 4)])


def _mean(round_up: int) -> Callable[[Context, list[Lanes]], Lanes]:
    def formula(cx: Context, args: list[Lanes]) -> Lanes:
        total = binary(cx, "add", [binary(cx, "add", args), constant(args[0].elem, round_up)])
        return binary(cx, "ashr", [total, constant(total.elem, 1)])

    return formula


def _product24(signed: bool) -> Callable[[Context, list[Lanes]], Lanes]:
    def formula(cx: Context, args: list[Lanes]) -> Lanes:
        eight = constant("i32", 8)
        parts = [binary(cx, "ashr" if signed else "lshr", [binary(cx, "shl", [a, eight]), eight]) for a in args]
        return binary(cx, "mul", parts)

    return formula


def _absolute_difference(signed: bool) -> Callable[[Context, list[Lanes]], Lanes]:
    def formula(cx: Context, args: list[Lanes]) -> Lanes:
        high, low = (intrinsic(cx, ("s" if signed else "u") + end, args[:2]) for end in ("max", "min"))
        return binary(cx, "add", [binary(cx, "sub", [high, low]), args[2]])

    return formula


def _byte_permutation(cx: Context, args: list[Lanes]) -> Lanes:
    """Four of the eight bytes of two words; the selector's highest bit asks for a byte's sign instead."""
    x, y, selector = args

    def n(value: int) -> Lanes:
        return constant("i64", value)

    both = binary(cx, "or", [cast(cx, "zext", x, "i64"), binary(cx, "shl", [cast(cx, "zext", y, "i64"), n(32)])])
    which, result = cast(cx, "zext", selector, "i64"), n(0)
    for k in range(4):
        nibble = binary(cx, "lshr", [which, n(4 * k)])
        place = binary(cx, "shl", [binary(cx, "and", [nibble, n(7)]), n(3)])
        byte = binary(cx, "and", [binary(cx, "lshr", [both, place]), n(255)])
        sign = select(cx, compare(cx, "ugt", byte, n(127)), n(255), n(0))
        wants_sign = compare(cx, "ne", binary(cx, "and", [nibble, n(8)]), n(0))
        byte = select(cx, wants_sign, sign, byte)
        result = binary(cx, "or", [result, binary(cx, "shl", [byte, n(8 * k)])])
    return cast(cx, "trunc", result, "i32")


for _end in ("", "ll"):
    _ints("clz" + _end, _flagged("ctlz"))
    _ints("ffs" + _end, _first_set)
    _ints("popc" + _end, lambda cx, args: intrinsic(cx, "ctpop", args))
    _ints("brev" + _end, lambda cx, args: intrinsic(cx, "bitreverse", args))
_ints("abs", _flagged("abs"))
_ints("llabs", _flagged("abs"))
_ints("mulhi", _widening(True, _upper_product))
_ints("umulhi", _widening(False, _upper_product))
_ints("mul64hi", _widening(True, _upper_product))
_ints("umul64hi", _widening(False, _upper_product))
_ints("hadd", _widening(True, _mean(0)))
_ints("rhadd", _widening(True, _mean(1)))
_ints("uhadd", _widening(False, _mean(0)))
_ints("urhadd", _widening(False, _mean(1)))
_ints("mul24", _product24(True))
_ints("umul24", _product24(False))
_ints("sad", _absolute_difference(True))
_ints("usad", _absolute_difference(False))
_ints("byte_perm", _byte_permutation)


# -- bits


@_define("float_as_int", "float_as_uint", "int_as_float", "uint_as_float", "double_as_longlong", "longlong_as_double")
def _reinterpret(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    return cast(cx, "bitcast", args[0], op.result.type.elem)


@_define("double2hiint", "double2loint")
def _word(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    bits = cast(cx, "bitcast", args[0], "i64")
    high = "hi" in (op.attr("symbol") or "")
    return cast(cx, "trunc", binary(cx, "lshr", [bits, constant("i64", 32 if high else 0)]), "i32")


@_define("hiloint2double")
def _words(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    high, low = (cast(cx, "zext", a, "i64") for a in args)
    whole = binary(cx, "or", [binary(cx, "shl", [high, constant("i64", 32)]), low])
    return cast(cx, "bitcast", whole, "f64")


# -- conversions and arithmetic with a given rounding

_MODES = {"rn": "roundeven", "rd": "floor", "ru": "ceil", "rz": "trunc"}
_FESETROUND = {
    "x86_64": {"rd": 0x400, "ru": 0x800, "rz": 0xC00},
    "amd64": {"rd": 0x400, "ru": 0x800, "rz": 0xC00},
    "aarch64": {"rd": 0x800000, "ru": 0x400000, "rz": 0xC00000},
    "arm64": {"rd": 0x800000, "ru": 0x400000, "rz": 0xC00000},
}
"""The arguments of the C library's fesetround."""


def _to_int(cx: Context, x: Lanes, mode: str, elem: str, signed: bool) -> Lanes:
    """Round, then saturate; NaN is 0, or the least integer (the upper bit) where one of the types has 64 bits."""
    x = x if mode == "rz" else intrinsic(cx, _MODES[mode], [x])
    w, (v,) = cx.operands([x])
    t, name = vector(elem, w), f"llvm.fpto{'si' if signed else 'ui'}.sat.{suffix(elem, w)}.{suffix(x.elem, w)}"
    result = cx.like([x], cx.em.call(t, name, [(vector(x.elem, w), v)]), elem)
    if x.elem == "f32" and elem == "i32":
        return result
    return select(cx, compare(cx, "uno", x, x), constant(elem, -(1 << (SIZE[elem] * 8 - 1))), result)


def _rounded(cx: Context, op: Op, args: list[Lanes], kind: str, mode: str) -> Lanes:
    """One operation in a rounding mode; `kind` is LLVM's name of it."""
    elem, source = op.result.type.elem, args[0].elem
    converts = kind in ("fptrunc", "sitofp", "uitofp")
    if mode == "rn":
        if converts:
            return cast(cx, kind, args[0], elem)
        return intrinsic(cx, kind, args) if kind in ("sqrt", "fma") else binary(cx, kind, args)
    modes = _FESETROUND.get(platform.machine().lower())
    if modes is None:
        raise unsupported(op, f"no directed rounding on {platform.machine()}")
    t, types, em = LLVM_TYPE[elem], [LLVM_TYPE[a.elem] for a in args], cx.em
    name = f"opweave.{kind}.{mode}.{elem}" + (f".{source}" if converts else "")
    inner = f"llvm.experimental.constrained.{kind}.{elem}" + (f".{source}" if converts else "")
    if name not in em.defined:
        listed = ", ".join(f"{x} %{k}" for k, x in enumerate(types))
        metadata = 'metadata !"round.dynamic", metadata !"fpexcept.ignore"'
        em.declarations["fesetround"] = "declare i32 @fesetround(i32)"
        em.declarations[inner] = f"declare {t} @{inner}({', '.join([*types, 'metadata', 'metadata'])})"
        em.define(
            name,
            f"define private {t} @{name}({listed}) noinline strictfp nounwind {{\n"
            f"  call i32 @fesetround(i32 {modes[mode]}) strictfp\n"
            f"  %result = call {t} @{inner}({listed}, {metadata}) strictfp\n"
            f"  call i32 @fesetround(i32 0) strictfp\n"
            f"  ret {t} %result\n}}",
        )
    return _call(cx, name, args, elem)


def _rounded_rule(kind: str, mode: str) -> Rule:
    return lambda cx, op, args: _rounded(cx, op, args, kind, mode)


def _reciprocal_rule(mode: str) -> Rule:
    return lambda cx, op, args: _rounded(cx, op, [constant(args[0].elem, 1.0), args[0]], "fdiv", mode)


def _to_int_rule(mode: str, elem: str, signed: bool) -> Rule:
    return lambda cx, op, args: _to_int(cx, args[0], mode, elem, signed)


for _mode in _MODES:
    for _letter in "fd":
        for _name in ("add", "sub", "mul", "div", "sqrt"):
            SYMBOLS[f"{_letter}{_name}_{_mode}"] = _rounded_rule(("f" if _name != "sqrt" else "") + _name, _mode)
        SYMBOLS[f"{_letter}rcp_{_mode}"] = _reciprocal_rule(_mode)
    SYMBOLS[f"fma_{_mode}"] = SYMBOLS[f"fmaf_{_mode}"] = _rounded_rule("fma", _mode)
    SYMBOLS[f"double2float_{_mode}"] = _rounded_rule("fptrunc", _mode)
    for _int in ("int", "ll"):
        for _to in ("float", "double"):
            SYMBOLS[f"{_int}2{_to}_{_mode}"] = _rounded_rule("sitofp", _mode)
            SYMBOLS[f"u{_int}2{_to}_{_mode}"] = _rounded_rule("uitofp", _mode)
            _elem = "i32" if _int == "int" else "i64"
            SYMBOLS[f"{_to}2{_int}_{_mode}"] = _to_int_rule(_mode, _elem, True)
            SYMBOLS[f"{_to}2u{_int}_{_mode}"] = _to_int_rule(_mode, _elem, False)
_define("llrint", "llrintf")(_to_int_rule("rn", "i64", True))


@_define("llround", "llroundf")
def _llround(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    return _to_int(cx, intrinsic(cx, "round", args[:1]), "rz", "i64", True)


# -- special functions, in f64


def _own(name: str) -> Rule:
    def rule(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
        return _narrow(cx, _call(cx, function(cx, name), [_wide(cx, args[0])], "f64"), args[0].elem)

    return rule


for _name in FUNCTIONS:
    if "quantile" not in _name:
        SYMBOLS[_name] = SYMBOLS[_name + "f"] = _own(_name)
