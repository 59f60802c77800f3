"""What a user's kernel computes of each element, as values of a generated kernel.

A rule says of each TTIR operation what a generated kernel has to say for Triton to make it again, so that every bit is
as the user's own kernel has it.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.ops.kinds.loops import KernelScalars
from opweave.registry.triton.expression import Expression, NotAMap, Step
from opweave.tracer.launches import ELEMENTS


class Term(Protocol):
    """A value of a kernel, as the recorder makes it."""

    @property
    def dtype(self) -> DType: ...
    @property
    def constant(self) -> bool | int | float | None:
        """The number that it is; None where that is not known."""
        ...


_TYPES: dict[str, DType] = {
    elem: getattr(dtypes, name) for name, elem in ELEMENTS.items() if name != "uint8"
} | {"i1": dtypes.bool_}  # fmt: skip
_Rule = Callable[[KernelScalars, Step, Sequence[Term]], Term]
_RULES: dict[str, _Rule] = {}


def evaluate(k: KernelScalars, expression: Expression, loaded: Mapping[str, Term], numbers: Mapping[str, Any]) -> Term:
    """The value of an expression.

    Parameters
    ----------
    k : KernelScalars
        Records it.
    expression : Expression
        What to compute.
    loaded : mapping of str to Term
        What is loaded, by pointer.
    numbers : mapping of str to number
        Arguments that are numbers.

    Raises
    ------
    NotAMap
        If there is no rule for an operation.
    """
    terms: list[Term] = []
    for step in expression.steps:
        operands = _of_one_sign(k, step, [terms[i] for i in step.operands])
        if step.name == "load":
            terms.append(loaded[str(step.detail)])
        elif step.name in ("number", "constant"):
            number: Any = numbers[str(step.detail)] if step.name == "number" else step.detail
            terms.append(k.const(number, _type(step.elem)))
        else:
            rule = _RULES.get(step.name)
            if rule is None:
                raise NotAMap(f"it has a {step.name}")
            terms.append(rule(k, step, operands))
    return terms[-1]


def _type(elem: str) -> DType:
    found = _TYPES.get(elem)
    if found is None:
        raise NotAMap(f"it has numbers of type {elem}")
    return found


_SIGNED_OPS = re.compile(r"arith\.(?:divsi|remsi|shrsi|maxsi|minsi|extsi|sitofp)$|math\.absi$")
_UNSIGNED_OPS = re.compile(r"arith\.(?:divui|remui|shrui|maxui|minui|extui|uitofp)$")


def _of_one_sign(k: KernelScalars, step: Step, operands: list[Term]) -> list[Term]:
    """Operands of a byte, which has no sign in TTIR, as the operation takes it; their bits stay."""
    if dtypes.uint8 not in [t.dtype for t in operands] and not _UNSIGNED_OPS.match(step.name):
        return operands
    kind = dtypes.uint8
    if _SIGNED_OPS.match(step.name) or (step.name == "arith.cmpi" and str(step.detail).startswith("s")):
        kind = dtypes.int8
    bytes_ = (dtypes.int8, dtypes.uint8)
    return [_as_byte(k, t, kind) if t.dtype in bytes_ and t.dtype is not kind else t for t in operands]


def _as_byte(k: KernelScalars, x: Term, kind: DType) -> Term:
    return k.const(x.constant, kind) if x.constant is not None else k.op("convert", x, dtype=kind)


def _rule(*names: str) -> Callable[[_Rule], _Rule]:
    def note(rule: _Rule) -> _Rule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return note


def _alike(step: Step, operands: Sequence[Term]) -> None:
    """Refuse operands of two types: of one number with a sign and one without."""
    if len({t.dtype.name for t in operands}) != 1:
        raise NotAMap(f"it has a {step.name} of numbers with and without a sign")


def _signs(step: Step, operands: Sequence[Term], kinds: str) -> None:
    if any(t.dtype.kind not in kinds for t in operands):
        raise NotAMap(f"it has a {step.name} of {', '.join(t.dtype.name for t in operands)}")


_BINARY = {
    "arith.addf": "add", "arith.subf": "sub", "arith.mulf": "mul", "arith.divf": "truediv", "arith.addi": "add",
    "arith.subi": "sub", "arith.muli": "mul", "arith.andi": "and_", "arith.ori": "or_", "arith.xori": "xor",
    "arith.shli": "lshift", "arith.maximumf": "maximum", "arith.minimumf": "minimum", "arith.maxnumf": "maxnum",
    "arith.minnumf": "minnum", "tt.precise_divf": "div_rn",
}  # fmt: skip
_SIGNED = {
    "arith.divsi": "tdiv", "arith.remsi": "tmod", "arith.shrsi": "rshift", "arith.maxsi": "maximum",
    "arith.minsi": "minimum",
}  # fmt: skip
_UNSIGNED = {
    "arith.divui": "tdiv", "arith.remui": "tmod", "arith.shrui": "rshift", "arith.maxui": "maximum",
    "arith.minui": "minimum",
}  # fmt: skip
_UNARY = {
    "math.exp": "exp", "math.exp2": "exp2", "math.log": "log", "math.log2": "log2", "math.sin": "sin",
    "math.cos": "cos", "math.sqrt": "sqrt", "math.rsqrt": "rsqrt", "math.floor": "floor", "math.ceil": "ceil",
    "math.erf": "erf", "math.absf": "abs", "math.absi": "abs", "tt.precise_sqrt": "sqrt_rn",
}  # fmt: skip
#: Comparisons, those that hold of unordered numbers as what does not hold.
_ORDERS = {
    "oeq": "eq", "une": "ne", "olt": "lt", "ole": "le", "ogt": "gt", "oge": "ge", "eq": "eq", "ne": "ne", "slt": "lt",
    "sle": "le", "sgt": "gt", "sge": "ge", "ult": "lt", "ule": "le", "ugt": "gt", "uge": "ge",
}  # fmt: skip
_NEGATED = {"ult": "ge", "ule": "gt", "ugt": "le", "uge": "lt"}


@_rule(*_BINARY)
def _binary(k: KernelScalars, step: Step, operands: Sequence[Term]) -> Term:
    _alike(step, operands)
    a, b = operands
    name = _BINARY[step.name]
    if a.dtype.kind == "b":
        _signs(step, operands, "b" if name in ("and_", "or_", "xor") else "")
        for this, other in ((a, b), (b, a)):
            if this.constant is not None:
                return _with_truth(k, name, other, bool(this.constant))
    if name == "lshift":
        _within(step, b)
    _not_promoted(name, a)
    return k.op(name, a, b)


def _with_truth(k: KernelScalars, name: str, x: Term, truth: bool) -> Term:
    """A truth value joined with a fixed one."""
    if name == "xor":
        return k.logical_not(x) if truth else x
    return x if truth == (name == "and_") else k.const(truth, dtypes.bool_)


def _not_promoted(name: str, operand: Term) -> None:
    """Refuse what Triton's functions of this name would compute in float32."""
    if operand.dtype is dtypes.bfloat16 and name in ("maximum", "minimum", "maxnum", "minnum", "clamp"):
        raise NotAMap(f"it has a {name} of bfloat16")


@_rule(*_SIGNED, *_UNSIGNED)
def _of_a_sign(k: KernelScalars, step: Step, operands: Sequence[Term]) -> Term:
    _alike(step, operands)
    _signs(step, operands, "i" if step.name in _SIGNED else "u")
    name = {**_SIGNED, **_UNSIGNED}[step.name]
    if name == "rshift":
        _within(step, operands[1])
    return k.op(name, *operands)


def _within(step: Step, count: Term) -> None:
    """Refuse shifts by more bits than there are, which mean nothing: no two compilers need agree on them."""
    bits = count.dtype.itemsize * 8
    if count.constant is None or not 0 <= int(count.constant) < bits:
        raise NotAMap(f"it has a {step.name} by a number that is not fixed")


@_rule(*_UNARY)
def _unary(k: KernelScalars, step: Step, operands: Sequence[Term]) -> Term:
    if step.name == "math.absi":
        _signs(step, operands, "i")
    return k.op(_UNARY[step.name], *operands)


@_rule("arith.negf")
def _negf(k: KernelScalars, step: Step, operands: Sequence[Term]) -> Term:
    return k.neg(operands[0])


@_rule("math.fma")
def _fma(k: KernelScalars, step: Step, operands: Sequence[Term]) -> Term:
    return k.op("fma", *operands)


@_rule("tt.clampf")
def _clampf(k: KernelScalars, step: Step, operands: Sequence[Term]) -> Term:
    _not_promoted("clamp", operands[0])
    return k.op("clamp_nan" if step.detail == "all" else "clamp", *operands)


@_rule("arith.cmpf")
def _cmpf(k: KernelScalars, step: Step, operands: Sequence[Term]) -> Term:
    a, b = operands
    order = str(step.detail)
    if order in _NEGATED:
        return k.op("invert", k.op(_NEGATED[order], a, b, dtype=dtypes.bool_))
    if order not in _ORDERS:
        raise NotAMap(f"it compares by {order}")
    return k.op(_ORDERS[order], a, b, dtype=dtypes.bool_)


@_rule("arith.cmpi")
def _cmpi(k: KernelScalars, step: Step, operands: Sequence[Term]) -> Term:
    _alike(step, operands)
    order = str(step.detail)
    _signs(step, operands, {"s": "i", "u": "u"}.get(order[0], "iub"))
    return k.op(_ORDERS[order], *operands, dtype=dtypes.bool_)


@_rule("arith.select")
def _select(k: KernelScalars, step: Step, operands: Sequence[Term]) -> Term:
    condition, a, b = operands
    _alike(step, [a, b])
    _signs(step, [condition], "b")
    if condition.constant is not None:
        return a if condition.constant else b
    return k.op("where", condition, a, b, dtype=a.dtype)


@_rule("arith.extf", "arith.truncf")
def _convert(k: KernelScalars, step: Step, operands: Sequence[Term]) -> Term:
    return k.op("convert", *operands, dtype=_type(step.elem))


@_rule("arith.extsi", "arith.sitofp", "arith.trunci")
def _convert_signed(k: KernelScalars, step: Step, operands: Sequence[Term]) -> Term:
    _signs(step, operands, "iu" if step.name == "arith.trunci" else "i")
    if step.elem == "i1":
        raise NotAMap("it has an arith.trunci to i1")
    return k.op("convert", *operands, dtype=_type(step.elem))


@_rule("arith.extui", "arith.uitofp")
def _convert_unsigned(k: KernelScalars, step: Step, operands: Sequence[Term]) -> Term:
    _signs(step, operands, "bu")
    return k.op("convert", *operands, dtype=_type(step.elem))


@_rule("arith.fptosi")
def _fptosi(k: KernelScalars, step: Step, operands: Sequence[Term]) -> Term:
    if step.elem == "i1":
        raise NotAMap("it has an arith.fptosi to i1")
    return k.op("convert", *operands, dtype=_type(step.elem))


@_rule("arith.fptoui")
def _fptoui(k: KernelScalars, step: Step, operands: Sequence[Term]) -> Term:
    if step.elem != "i8":
        raise NotAMap(f"it has an arith.fptoui to {step.elem}")
    return k.op("convert", *operands, dtype=dtypes.uint8)


@_rule("tt.bitcast", "arith.bitcast")
def _bitcast(k: KernelScalars, step: Step, operands: Sequence[Term]) -> Term:
    _signs(step, operands, "fi")
    if step.elem == "i1":
        raise NotAMap("it has a bitcast to i1")
    return k.op("bits", *operands, dtype=_type(step.elem))


@_rule("tt.extern_elementwise")
def _extern(k: KernelScalars, step: Step, operands: Sequence[Term]) -> Term:
    """A function of libdevice; its symbol has an `f` behind it for float32."""
    _alike(step, operands)
    word = str(step.detail).removeprefix("__nv_")
    dtype, result = operands[0].dtype, _type(step.elem)
    if dtype is not result or dtype not in (dtypes.float32, dtypes.float64) or not word.isidentifier():
        raise NotAMap(f"it calls {step.detail}")
    if dtype is dtypes.float32:
        word = word if word.startswith("fast_") else re.sub(r"f(?=(?:_r[nzud])?$)", "", word)
    if not hasattr(importlib.import_module("triton.language.extra.cuda.libdevice"), word):
        raise NotAMap(f"it calls {step.detail}")
    return k.extern(word, operands, result)
