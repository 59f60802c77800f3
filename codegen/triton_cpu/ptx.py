"""Reads the PTX that kernels give to `tl.inline_asm_elementwise`.

`read` cuts the text into instructions, each a name with its modifiers, operands and the predicate that guards it. What
they do is in `inline_asm`. Text without branches is all that is read: an instruction is done once, in order.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from opweave.registry.dataclass import dataclass


class PTXError(ValueError):
    """Text that is not read, and why."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A number: its bits, of as many bytes as it is written with (0: as many as needed)."""

    bits: int
    size: int = 0


@dataclass(frozen=True, slots=True)
class Name:
    """A register: `$0` of the constraints, or one that the text declares."""

    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """`{a, b}`: registers side by side, the lowest bits first."""

    parts: tuple[Name | Literal, ...]


Argument = Name | Literal | Group


@dataclass(frozen=True, slots=True)
class Instruction:
    """`@!p cvt.rn.bf16x2.f32 d, a, b;`.

    Attributes
    ----------
    name : str
        `cvt`.
    modifiers : tuple of str
        `rn`, `bf16x2`, `f32`.
    arguments : tuple
        What is written first, then what is read.
    guard : Name, optional
        The predicate that must be true, or false where `unless`.
    """

    name: str
    modifiers: tuple[str, ...]
    arguments: tuple[Argument, ...]
    guard: Name | None = None
    unless: bool = False

    def __str__(self) -> str:
        return ".".join((self.name, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Program:
    """Instructions in order, and the bits of each register that the text declares."""

    instructions: tuple[Instruction, ...]
    widths: dict[str, int]


#: Bits of a register by the letter of its constraint.
CONSTRAINTS = {"h": 16, "r": 32, "l": 64, "f": 32, "d": 64, "b": 1}

_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|[\\\"nt])")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_TOKEN = re.compile(
    r"\s*(?:(?P<float>0[fF][0-9a-fA-F]{8}(?!\w)|0[dD][0-9a-fA-F]{16}(?!\w))"
    r"|(?P<whole>-?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)[uU]?(?![\w.]))"
    r"|(?P<decimal>-?\d+\.\d*(?:[eE][+-]?\d+)?)"
    r"|(?P<name>\$\d+|[%.]?[A-Za-z_$%][\w$%.:]*)"
    r"|(?P<mark>[{}();,@!\[\]+:|<>-]))"
)
_DECLARED = re.compile(r"(?:pred|[busf](\d+)(?:x2)?|bf16(?:x2)?)")


def unescape(text: str) -> str:
    """Text as it was written, of text as MLIR prints it."""
    plain = {"n": "\n", "t": "\t"}
    return _ESCAPE.sub(lambda m: plain.get(m[1], m[1]) if len(m[1]) == 1 else chr(int(m[1], 16)), text)


def width_of(type_: str) -> int:
    """The bits of a register of a type, as `b32` or `bf16x2`.

    Raises
    ------
    PTXError
        If there is no such type.
    """
    match = _DECLARED.fullmatch(type_)
    if match is None:
        raise PTXError(f"type .{type_}")
    bits = 1 if type_ == "pred" else int(match[1] or 16)
    return 2 * bits if type_.endswith("x2") else bits


def read(text: str) -> Program:
    """The instructions of a text.

    Raises
    ------
    PTXError
        If it is not PTX, or has branches or memory of its own.
    """
    tokens = [*_tokens(_COMMENT.sub(" ", text))]
    instructions: list[Instruction] = []
    widths: dict[str, int] = {}
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token in ("{", "}", ";"):  # names of inner blocks must differ from outer ones here
            at += 1
            continue
        end = at
        while end < len(tokens) and tokens[end] != ";":
            end += 1
        statement = tokens[at:end]
        if end == len(tokens):
            # Without its semicolon the last one still ends with the block.
            while statement and statement[-1] == "}" and statement.count("}") > statement.count("{"):
                statement.pop()
        at = end + 1
        if statement and statement[0] == ".reg":
            _declare(statement, widths)
        elif statement:
            instructions.append(_instruction(statement))
    return Program(tuple(instructions), widths)


def _tokens(text: str) -> Iterator[str | Literal]:
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise PTXError(f"{text[at:].strip().splitlines()[0][:40]!r}")
        at = match.end()
        kind, found = match.lastgroup, match[match.lastgroup or 0]
        if kind == "float":
            yield Literal(int(found[2:], 16), 4 if found[1] in "fF" else 8)
        elif kind == "whole":
            digits = found.rstrip("uU")
            yield Literal(int(digits, 8 if re.fullmatch(r"-?0\d+", digits) else 0))
        elif kind == "decimal":
            yield Literal(int.from_bytes(struct.pack("<d", float(found)), "little"), 8)
        else:
            yield found


def _declare(statement: list[str | Literal], widths: dict[str, int]) -> None:
    """`.reg .b32 a, b<3>`: registers a, b0, b1 and b2."""
    type_ = statement[1] if len(statement) > 1 else ""
    if not isinstance(type_, str) or not type_.startswith("."):
        raise PTXError("a .reg without a type")
    bits = width_of(type_[1:])
    rest, at = statement[2:], 0
    if not rest:
        raise PTXError("a .reg without names")
    while at < len(rest):
        name = rest[at]
        if not isinstance(name, str) or name in ("<", ">", "{", "}"):
            raise PTXError("a .reg without names")
        if rest[at + 1 : at + 2] == ["<"]:
            count = rest[at + 2] if at + 3 < len(rest) else None
            if not isinstance(count, Literal) or not 0 < count.bits <= 1024:
                raise PTXError(f".reg {name}<...>")
            names, at = [f"{name}{k}" for k in range(count.bits)], at + 4
        else:
            names, at = [name], at + 1
        if any(widths.setdefault(each, bits) != bits for each in names):
            raise PTXError(f"register {name} declared twice")
        at += rest[at : at + 1] == [","]


def _instruction(statement: list[str | Literal]) -> Instruction:
    guard, unless, at = None, False, 0
    if statement[0] == "@":
        unless = statement[1:2] == ["!"]
        at = 2 + unless
        found = statement[at - 1] if at <= len(statement) else ""
        if not isinstance(found, str):
            raise PTXError("a guard without a predicate")
        guard = Name(found)
    head = statement[at] if at < len(statement) else ""
    if not isinstance(head, str) or not head[:1].isalpha():
        raise PTXError(f"{head!s:.40}")
    if statement[at + 1 : at + 2] == [":"] or head.endswith(":") or head.startswith("bra"):
        raise PTXError("branches")
    name, *modifiers = head.split(".")
    return Instruction(name, tuple(modifiers), tuple(_arguments(statement[at + 1 :], head)), guard, unless)


def _arguments(tokens: list[str | Literal], head: str) -> Iterator[Argument]:
    at = 0
    while at < len(tokens):
        if tokens[at] == "{":
            if "}" not in tokens[at:]:
                raise PTXError(f"the operands of {head}")
            end = tokens.index("}", at)
            yield Group(tuple(_register(token, head) for token in tokens[at + 1 : end] if token != ","))
            at = end + 1
        else:
            yield _register(tokens[at], head)
            at += 1
        if at < len(tokens) and tokens[at] != ",":
            raise PTXError("memory" if "[" in tokens else f"the operands of {head}")
        at += 1


def _register(token: str | Literal, head: str) -> Name | Literal:
    if isinstance(token, Literal):
        return token
    if token == "[":
        raise PTXError(f"memory ({head})")
    if not (token[0].isalpha() or token[0] in "_$%"):
        raise PTXError(f"the operands of {head}")
    return Name(token)
