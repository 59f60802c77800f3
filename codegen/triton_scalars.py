"""The scalar vocabulary as Triton expressions.

`render(value, operands)` gives the Python text of one primitive (`spec.PRIMITIVES`) from the texts of its
operands. Types are explicit in the values, and a constant beside a tensor takes the tensor's type in Triton as here, so
float32 stays float32 and a constant of a float64 kernel keeps all its digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opweave.codegen.loops.values import Extern, Prim
from opweave.registry.dtypes import DType
from opweave.registry.errors import CompileError

TYPE = {
    "uint16": "tl.uint16", "uint32": "tl.uint32", "uint64": "tl.uint64", "float8_e4m3fn": "tl.float8e4nv",
    "float8_e5m2": "tl.float8e5", "float8_e4m3fnuz": "tl.float8e4b8", "float8_e5m2fnuz": "tl.float8e5b16",
    "bool": "tl.int1", "uint8": "tl.uint8", "int8": "tl.int8", "int16": "tl.int16", "int32": "tl.int32",
    "int64": "tl.int64", "float16": "tl.float16", "bfloat16": "tl.bfloat16", "float32": "tl.float32",
    "float64": "tl.float64",
}  # fmt: skip

#: Binary operators with their precedence in Python; a higher number binds tighter.
OPERATORS = {
    "mul": ("*", 7), "truediv": ("/", 7), "tdiv": ("//", 7), "tmod": ("%", 7), "add": ("+", 6), "sub": ("-", 6),
    "lshift": ("<<", 5), "rshift": (">>", 5), "and_": ("&", 4), "xor": ("^", 3), "or_": ("|", 2), "eq": ("==", 1),
    "ne": ("!=", 1), "lt": ("<", 1), "le": ("<=", 1), "gt": (">", 1), "ge": (">=", 1),
}  # fmt: skip
ATOM = 10
_UNARY = 8

_TL = frozenset(("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "floor", "ceil", "erf", "abs"))
_LIBDEVICE = {name: name for name in (
    "expm1", "log10", "log1p", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "trunc", "fmod", "pow", "atan2",
)} | {"round": "rint"}  # fmt: skip
_EXTREMES = {"maximum": "tl.maximum", "minimum": "tl.minimum"}
#: What users' kernels have besides (`tracer.loops.element_maps`), by how Triton names it.
_TRITONS = {
    "fma": "tl.fma", "maxnum": "tl.maximum", "minnum": "tl.minimum", "clamp": "tl.clamp", "sqrt_rn": "tl.sqrt_rn",
    "div_rn": "tl.div_rn",
}  # fmt: skip
#: Where numbers begin that a float8 type rounds to no finite one.
_BEYOND = {"float8_e4m3fnuz": 248.0, "float8_e5m2": 61440.0, "float8_e5m2fnuz": 61440.0}
_ALL_NAN = ", propagate_nan=tl.PropagateNan.ALL"
#: Primitives that are given constants with their types.
TYPED = frozenset((*_TRITONS, "clamp_nan", "convert", "bits"))


def constant(value: Any, dtype: DType) -> str:
    """Text of a constant; its type comes from what it meets."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if dtype.kind == "f":
        number = float(value)
        if number == 0 and math.copysign(1.0, number) < 0:  # Triton makes a positive zero of `-0.0`
            bits = dtype.itemsize * 8
            return f"tl.full((), {1 << bits - 1:#x}, tl.uint{bits}).to({TYPE[dtype.name]}, bitcast=True)"
        return repr(number)
    return repr(value)


def typed_constant(value: object, dtype: DType) -> str:
    """Text of a constant that has its type on its own."""
    return f"tl.full((), {constant(value, dtype)}, {TYPE[dtype.name]})"


def render(value: Prim | Extern, operands: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """Text and precedence of a primitive.

    Parameters
    ----------
    value : Prim or Extern
        What to compute.
    operands : sequence of (str, int)
        Texts of its operands, with their precedence.

    Raises
    ------
    CompileError
        For a function that has no Triton form.
    """
    op, texts = value.name, [text for text, _ in operands]
    if isinstance(value, Extern):
        return f"libdevice.{op}({', '.join(texts)})", ATOM
    if op in OPERATORS:
        sign, level = OPERATORS[op]
        if op == "tmod" and value.dtype.kind == "u":
            level = 7
        left = _wrap(operands[0], level if op not in ("eq", "ne", "lt", "le", "gt", "ge") else level + 1)
        return f"{left} {sign} {_wrap(operands[1], level + 1)}", level
    if op == "neg":
        return f"-{_wrap(operands[0], _UNARY)}", _UNARY
    if op == "invert":
        return f"~{_wrap(operands[0], _UNARY)}", _UNARY
    if op == "where":
        return f"tl.where({', '.join(texts)})", ATOM
    if op == "cast":
        return _cast(value, operands[0])
    if op in _EXTREMES:
        nan = _ALL_NAN if value.dtype.kind == "f" else ""
        return f"{_EXTREMES[op]}({', '.join(texts)}{nan})", ATOM
    if op == "signbit":
        bits = value.args[0].dtype.itemsize * 8
        return f"{_wrap(operands[0], ATOM)}.to(tl.int{bits}, bitcast=True) < 0", 1
    if op in _TL:
        return f"tl.{op}({texts[0]})", ATOM
    if op in _TRITONS:
        return f"{_TRITONS[op]}({', '.join(texts)})", ATOM
    if op == "clamp_nan":
        return f"tl.clamp({', '.join(texts)}{_ALL_NAN})", ATOM
    if op in ("convert", "bits"):
        bits = ", bitcast=True" if op == "bits" else ""
        return f"{_wrap(operands[0], ATOM)}.to({TYPE[value.dtype.name]}{bits})", ATOM
    if op in _LIBDEVICE:
        return f"libdevice.{_LIBDEVICE[op]}({', '.join(texts)})", ATOM
    raise CompileError(f"codegen: scalar function {op!r} has no Triton form", got=value.label, at=value.site)


def needs_libdevice(value: Prim | Extern) -> bool:
    """Whether a function is libdevice's."""
    return isinstance(value, Extern) or value.name in _LIBDEVICE


def _cast(value: Prim, operand: tuple[str, int]) -> tuple[str, int]:
    source, target = value.args[0].dtype, value.dtype
    text = _wrap(operand, ATOM)
    if target.is_stored:
        return _narrowed(text if source.name == "float32" else f"{text}.to(tl.float32)", target), ATOM
    if source.is_stored and target.name != "float32":
        text = f"{text}.to(tl.float32)"
    if source.kind == "f" and target.kind in "iu" and target.itemsize < 4:
        # Through a wide integer: out of range values wrap as they do in PyTorch, instead of saturating.
        return f"{text}.to(tl.int32).to({TYPE[target.name]})", ATOM
    return f"{text}.to({TYPE[target.name]})", ATOM


def _narrowed(text: str, target: DType) -> str:
    """A float32 as a float8: Triton takes the greatest value for what is beyond, PyTorch does so in one type alone."""
    name, beyond = TYPE[target.name], _BEYOND.get(target.name)
    if beyond is None:
        return f"{text}.to({name})"
    if target.name.endswith("fnuz"):
        return f"tl.where(tl.abs({text}) >= {beyond}, float('nan'), {text}).to({name})"
    # The greatest value and infinity are neighbours.
    return (
        f"({text}.to({name}).to(tl.uint8, bitcast=True) + (tl.abs({text}) >= {beyond}).to(tl.uint8))"
        f".to({name}, bitcast=True)"
    )


def _wrap(operand: tuple[str, int], level: int) -> str:
    text, own = operand
    return text if own >= level else f"({text})"
