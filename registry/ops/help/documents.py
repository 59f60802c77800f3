"""Docstrings of functions and methods that are made from ops: from the declaration, its summary and its example.

What a name computes stands in the docstring of its declaration or in `summaries`, what arguments mean in `arguments`;
the example is one of the declaration's samples with what it gave when `python -m opweave.doc_examples` wrote it down,
in `examples.json`.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
from collections.abc import Iterator, Sequence
from inspect import Parameter, Signature
from typing import Any

from opweave.registry.op import OpOverload, registry
from opweave.registry.ops import surface
from opweave.registry.ops.help.arguments import ARGUMENTS
from opweave.registry.ops.help.forms import SELF, forms, is_factory, is_out, merged, packet_of
from opweave.registry.ops.help.summaries import SUMMARIES
from opweave.registry.packet import OpOverloadPacket

_WIDTH = 100
#: Words for the types of arguments and results.
_WORDS = {"Int": "int", "Float": "float", "Bool": "bool", "Number": "number", "DTypeLike": "dtype",
          "DeviceLike": "device or str", "Layout": "layout", "MemoryFormat": "memory_format",
          "Tensor": "Tensor", "Generator": "Generator", "Any": "object"}  # fmt: skip


def signature(instance: Any) -> Signature:
    """`__signature__` of a packet, an op, a bound method, or a function that may be replayed.

    Raises
    ------
    AttributeError
        If it has none that says more than Python finds by itself.
    """
    if isinstance(instance, OpOverload):
        return _of_overload(instance)
    packet = packet_of(instance)
    if packet is not None:
        method = bool(getattr(instance, "is_method", False))
        return merged(forms(packet, method), [SELF] if method else [])
    bound = getattr(instance, "packet", None)
    if isinstance(bound, OpOverloadPacket):
        return merged(forms(bound, method=True))
    return inspect.signature(instance.__wrapped__)


def _of_overload(op: OpOverload) -> Signature:
    kinds = {True: Parameter.KEYWORD_ONLY, False: Parameter.POSITIONAL_OR_KEYWORD}
    return merged([
        Signature([
            Parameter(a.name if a.name.isidentifier() else f"{a.name}_", kinds[a.kwarg_only], annotation=str(a.type),
                      default=a.default if a.has_default else Parameter.empty)
            for a in op._schema.arguments if a.name not in _KEYWORDS
        ], return_annotation=", ".join(str(r.type) for r in op._schema.returns) or "None")
    ])  # fmt: skip


_KEYWORDS = frozenset({"from", "lambda"})


def document(instance: Any) -> str | None:
    """`__doc__` of a packet, an op, a bound method, or a function that may be replayed."""
    if isinstance(instance, OpOverload):
        return _overload(instance)
    packet = packet_of(instance) or getattr(instance, "packet", None)
    if isinstance(packet, OpOverloadPacket):
        return _packet(packet)
    function = instance.__wrapped__
    packet = getattr(function, "of_packet", None)
    return summary(packet) if packet is not None else function.__doc__


# ---- the parts -------------------------------------------------------------------------------------------------------


def _declared(packet: OpOverloadPacket) -> str:
    """The first line of a docstring among the declarations of a name."""
    for overload in packet.overloads():
        body = getattr(getattr(packet, overload).decl, "body", None)
        text = getattr(body, "__doc__", None)
        if text:
            return " ".join(text.split("\n\n")[0].split())
    return ""


def _stem(name: str) -> OpOverloadPacket | None:
    return registry.packets.get(f"aten::{name}")


_WORD = re.compile(r"[a-z]{2,} [a-z`]")


def summary(packet: OpOverloadPacket) -> str:
    """What a name computes, in a line; empty where nothing says it."""
    name = packet.opname
    found = SUMMARIES.get(name) or _declared(packet)
    if not found and name.endswith("_") and (stem := _stem(name[:-1])) is not None:
        return f"{summary(stem)} In place."
    if not found and name.endswith("_copy") and (stem := _stem(name.removesuffix("_copy"))) is not None:
        return f"{summary(stem)} Here as a copy."
    if found and not found.endswith((".", "!", "?")):
        found += "."
    return found[:1].upper() + found[1:] if _WORD.match(found) else found  # and no formula


def _prefix(packet: OpOverloadPacket) -> tuple[str, str]:
    """(module, name) of the function that an op is."""
    for module in ("linalg", "special", "fft"):
        if packet.opname.startswith(f"{module}_"):
            return f"opweave.{module}", packet.opname.removeprefix(f"{module}_")
    return "opweave", packet.opname


def is_function(packet: OpOverloadPacket) -> bool:
    """Whether the package, or a module of it, has a function of the op's name."""
    module, name = _prefix(packet)
    return packet.opname in surface.functions() if module == "opweave" else not name.startswith("_")


def _is_method(packet: OpOverloadPacket) -> bool:
    arguments = getattr(packet, packet.overloads()[0])._schema.arguments
    module, _ = _prefix(packet)
    return module == "opweave" and bool(arguments) and arguments[0].name == "self" and packet.opname[0] != "_"


def _shown(name: str, form: Signature) -> str:
    parts: list[str] = []
    star = False
    for p in form.parameters.values():
        if p.kind is Parameter.KEYWORD_ONLY and not star:
            parts.append("*")
        star = star or p.kind in (Parameter.KEYWORD_ONLY, Parameter.VAR_POSITIONAL)
        text = f"*{p.name}" if p.kind is Parameter.VAR_POSITIONAL else p.name
        parts.append(text if p.default is Parameter.empty else f"{text}={p.default!r}")
    return f"{name}({', '.join(parts)}) -> {form.return_annotation}"


def _words(text: str) -> str:
    """A type in words: `Int | Sequence[Int] | None` is `int or sequence of int, optional`."""
    parts = re.split(r" \| (?![^\[]*\])", text)
    optional = "None" in parts
    found: list[str] = []
    for part in parts:
        if part == "None":
            continue
        if part.startswith("Literal["):
            found.append("{" + part[len("Literal[") : -1] + "}")
        elif part.startswith("Sequence["):
            inner = part[len("Sequence[") : -1].removesuffix(" | None")
            found.append(f"sequence of {_WORDS.get(inner, inner)}")
        elif part.startswith("tuple["):
            found.append("tuple of Tensor")
        else:
            found.append(_WORDS.get(part, part))
    return " or ".join(dict.fromkeys(found)) + (", optional" if optional else "")


def _wrapped(text: str, indent: str = "    ") -> Iterator[str]:
    line = indent
    for word in text.split():
        if len(line) + len(word) > _WIDTH and line.strip():
            yield line.rstrip()
            line = indent
        line += f"{word} "
    yield line.rstrip()


def meaning(packet: OpOverloadPacket, name: str) -> str:
    """What an argument of an op means; empty where nothing says it."""
    stem = packet.opname.rstrip("_").removesuffix("_copy")
    return ARGUMENTS.get(f"{stem}.{name}") or ARGUMENTS.get(name, "")


def _parameters(packet: OpOverloadPacket, found: Sequence[Signature]) -> Iterator[str]:
    for p in merged(found).parameters.values():
        default = "" if p.default in (Parameter.empty, None) else f", default {p.default!r}"
        star = "*" if p.kind is Parameter.VAR_POSITIONAL else ""
        yield f"{star}{p.name} : {_words(str(p.annotation))}{default}"
        yield from _wrapped(meaning(packet, p.name) or f"See the schema: {_source(packet)}.")


def _source(packet: OpOverloadPacket) -> str:
    return str(getattr(packet, packet.overloads()[0])._schema)


def _decls(packet: OpOverloadPacket) -> list[Any]:
    overloads = [getattr(packet, name) for name in packet.overloads()]
    return [op.decl for op in overloads if op.decl is not None and not is_out(op)]


_TYPES = {
    "default": "elements have the promoted type of the arguments",
    "int_to_float": "elements have the promoted type of the arguments, for whole numbers the default floating type",
    "compare": "elements are bool",
}


def _returns(packet: OpOverloadPacket, found: Sequence[Signature]) -> Iterator[str]:
    for text in dict.fromkeys(str(form.return_annotation) for form in found):
        yield text
        if text.startswith("return_types."):
            fields = ", ".join(_fields(packet))
            yield from _wrapped(f"A named tuple of tensors: {fields}.")
        elif text == "Tensor":
            yield from _wrapped(_result(packet))
        elif text.startswith("tuple["):
            yield from _wrapped("The tensors.")
        else:
            yield from _wrapped("The answer, as Python has it.")


def _fields(packet: OpOverloadPacket) -> Sequence[str]:
    for overload in packet.overloads():
        returns = getattr(packet, overload)._schema.returns
        if len(returns) > 1:
            return [r.name or str(r.type) for r in returns]
    return ()


def _result(packet: OpOverloadPacket) -> str:
    decl: Any = next(iter(_decls(packet)), None)
    op = getattr(packet, packet.overloads()[0])
    if op.is_mutable:
        return "The first tensor, which was written to."
    if op.is_view:
        return "A tensor over the same memory: what is written to one is in the other."
    if getattr(decl, "elementwise", False) and hasattr(decl, "promote"):
        tensors = [a for a in op._schema.arguments if a.type.is_tensor]
        shape = "Its shape is that of the arguments, broadcast" if len(tensors) > 1 else "Its shape is the argument's"
        kind = _TYPES.get(decl.promote) if isinstance(decl.promote, str) else None
        return f"{shape}; {kind}." if kind else f"{shape}."
    if getattr(decl, "reduces", False):
        return "A tensor without the reduced dimensions, or with size 1 there where `keepdim` is true."
    if is_factory(packet):
        return "A new tensor."
    return "A new tensor."


def _errors(packet: OpOverloadPacket, found: Sequence[Signature]) -> Iterator[str]:
    decls = _decls(packet)
    names = {p.name: str(p.annotation) for form in found for p in form.parameters.values()}
    yield "ArgumentError"
    yield from _wrapped("If the arguments do not fit the signature, or are not of its types.")
    kinds = {getattr(decl, "kinds", "buifc") for decl in decls}
    if len(kinds) == 1 and (missing := [_KINDS[k] for k in "buifc" if k not in next(iter(kinds))]):
        yield "DTypeError"
        yield from _wrapped(f"For {', '.join(dict.fromkeys(missing))}.")
    several = sum(text.startswith("Tensor") for name, text in names.items() if name != "out") > 1
    if several and any(getattr(decl, "elementwise", False) for decl in decls):
        yield "ShapeError"
        yield from _wrapped("If the shapes do not broadcast.")
    if "dim" in names and "Int" in names["dim"]:
        yield "OutOfRangeError"
        yield from _wrapped("If there is no such dimension.")
    if "out" in names:
        yield "AutogradError"
        yield from _wrapped("If `out` is given, and an argument requires grad.")


_KINDS = {"b": "truth values", "u": "whole numbers", "i": "whole numbers", "f": "real floating numbers",
          "c": "complex numbers"}  # fmt: skip


# ---- examples --------------------------------------------------------------------------------------------------------


@functools.cache
def _examples() -> dict[str, Any]:
    path = os.path.join(os.path.dirname(__file__), "examples.json")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def example(name: str) -> list[str]:
    """The lines of an op's example; none where it has none."""
    found = _examples().get(name)
    if found is None:
        return []
    lines = [f">>> {text}" for text in found["setup"]]
    for call in found["calls"]:
        lines += [f">>> {call}", *(line or "<BLANKLINE>" for line in found["result"].splitlines())]
    return lines


# ---- all of it -------------------------------------------------------------------------------------------------------


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", title, "-" * len(title), *lines] if lines else []


@functools.lru_cache(maxsize=256)
def _text(packet: OpOverloadPacket, version: int) -> str:
    name = _prefix(packet)[1]
    builtin = packet.namespace == "aten"
    label = (name if is_function(packet) else f"Tensor.{name}") if builtin else str(packet)
    ways = forms(packet)
    lines = [summary(packet) or f"The op {packet}.", ""]
    lines += [f"    {_shown(label, form)}" for form in ways]
    if builtin and _is_method(packet) and is_function(packet):
        lines += ["", f"As a method: `{_shown(f'x.{name}', merged(forms(packet, method=True)))}`."]
    lines += _section("Parameters", list(_parameters(packet, ways)))
    lines += _section("Returns", list(_returns(packet, ways)))
    if builtin:
        lines += _section("Raises", list(_errors(packet, ways)))
        lines += _section("Examples", example(packet.opname))
    return "\n".join(lines)


def _packet(packet: OpOverloadPacket) -> str:
    return _text(packet, registry.version)


def _overload(op: OpOverload) -> str:
    text = summary(op.packet) if registry.packets.get(f"{op.namespace}::{op.opname}") is not None else ""
    return f"{op._schema}\n\n{text}" if text else str(op._schema)
