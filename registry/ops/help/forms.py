"""Signatures of functions of the package and of methods of `Tensor`, made from the schemas of their ops.

A schema says what an op takes; how Python calls it is more (see `registry.binding`): the first argument of a function
is `input`, `out=` is an argument rather than an overload, sizes may be written out, results have names. A *form* is one
way of calling as an `inspect.Signature`, whose annotations are text in the words of `ANNOTATIONS`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from inspect import Parameter, Signature
from typing import Any

from opweave.registry.binding import form_of
from opweave.registry.entry import identifier
from opweave.registry.op import OpOverload
from opweave.registry.packet import OpOverloadPacket
from opweave.registry.return_types import names as result_names
from opweave.registry.schema import Argument, ListType, Type
from opweave.registry.types import INTS

#: Types of arguments, as stubs call them (`registry/argument_types.pyi`), by their names in schemas.
ANNOTATIONS = {
    "Tensor": "Tensor", "int": "Int", "SymInt": "Int", "float": "Float", "SymFloat": "Float", "bool": "Bool",
    "SymBool": "Bool", "Scalar": "Number", "complex": "Number", "str": "str", "ScalarType": "DTypeLike",
    "Device": "DeviceLike", "Layout": "Layout", "MemoryFormat": "MemoryFormat", "Generator": "Generator",
}  # fmt: skip
_RESULTS = {"Tensor": "Tensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "SymBool": "bool",
            "str": "str"}  # fmt: skip

_REDUCE = ("sum", "prod", "mean", "amax", "amin")
#: The texts that an argument may be, by its name and, where that is not enough, by the op's.
CHOICES: dict[str | tuple[str, str], tuple[str, ...]] = {
    "approximate": ("none", "tanh"),
    "rounding_mode": ("trunc", "floor"),
    "UPLO": ("L", "U"),
    "side": ("left", "right"),
    "interpolation": ("linear", "lower", "higher", "midpoint", "nearest"),
    "indexing": ("ij", "xy"),
    "padding": ("valid", "same"),
    "pad_mode": ("constant", "reflect", "replicate", "circular"),
    ("linalg_qr", "mode"): ("reduced", "complete", "r"),
    ("pad", "mode"): ("constant", "reflect", "replicate", "circular"),
    ("linalg_lstsq", "driver"): ("gels", "gelsy", "gelsd", "gelss"),
    ("linalg_svd", "driver"): ("gesvd", "gesvdj", "gesvda"),
    ("linalg_svdvals", "driver"): ("gesvd", "gesvdj", "gesvda"),
    ("linalg_norm", "ord"): ("fro", "nuc"),
    ("linalg_matrix_norm", "ord"): ("fro", "nuc"),
    ("linalg_cond", "p"): ("fro", "nuc"),
    ("scatter", "reduce"): ("add", "multiply"),
    ("scatter_reduce", "reduce"): _REDUCE,
    ("index_reduce", "reduce"): ("prod", "mean", "amax", "amin"),
}

#: What stands for a tensor of another op: a number for an operand, in ops that are written with others.
_OPERANDS = ("other", "exponent", "x2")


# ---- types -----------------------------------------------------------------------------------------------------------


def annotation(op: OpOverload, argument: Argument, numbers: bool) -> str:
    """What an argument may be; with `numbers`, a number where the schema has a tensor."""
    kind: Type = argument.type
    inner = kind.required
    if isinstance(inner, ListType):
        element = ANNOTATIONS.get(str(inner.element.required), "Any")
        if inner.element.is_optional:
            element += " | None"
        found = f"Sequence[{element}]"
        if inner.size is not None and inner.element in INTS:
            found = f"{element} | {found}"
    else:
        found = ANNOTATIONS.get(str(inner), "Any")
        if found == "str":
            opname = op.opname.rstrip("_")
            known = CHOICES.get((opname, argument.name)) or CHOICES.get(argument.name)
            if known is not None:
                found = f"Literal[{', '.join(map(repr, known))}]"
        if found == "Tensor" and numbers:
            found = "Tensor | Number"
    return f"{found} | None" if kind.is_optional or (argument.has_default and argument.default is None) else found


def result(op: OpOverload) -> str:
    """What a function or a method gives that calls the op."""
    returns = op._schema.returns
    if not returns:
        return "None"
    if len(returns) == 1:
        kind = returns[0].type
        if isinstance(kind, ListType):
            return f"tuple[{_RESULTS.get(str(kind.element), 'Any')}, ...]"
        found = _RESULTS.get(str(kind.required), "Any")
        return f"{found} | None" if kind.is_optional else found
    fields = result_names(op.packet)
    if len(fields) == len(returns):
        return f"return_types.{op.opname}"
    return f"tuple[{', '.join(_RESULTS.get(str(r.type), 'Any') for r in returns)}]"


def is_out(op: OpOverload) -> bool:
    """Whether it is the variant of another overload that writes its results into arguments."""
    return any(a.kwarg_only and a.alias is not None and a.alias.is_write for a in op._schema.arguments)


def is_factory(packet: OpOverloadPacket) -> bool:
    """Whether the function makes tensors, and takes `requires_grad`."""
    first = getattr(packet, packet.overloads()[0])._schema
    return any(a.name == "pin_memory" for a in first.arguments)


# ---- forms -----------------------------------------------------------------------------------------------------------


def first_name(packet: OpOverloadPacket, name: str) -> str:
    """What a function calls its first argument, which schemas call `self`."""
    if name != "self":
        return identifier(name)
    return "A" if packet.opname.startswith("linalg_") else "input"


def _takes_numbers(op: OpOverload, argument: Argument, index: int) -> bool:
    tensors = [a for a in op._schema.arguments if a.type.is_tensor and not (a.alias and a.alias.is_write)]
    if index == 0 and op.opname.startswith("linalg_"):
        return False
    if getattr(op.decl, "elementwise", False) and getattr(op.decl, "takes_numbers", False):
        return len(tensors) > 1 and argument.name != "condition"
    takes = op.has_composite_implicit or getattr(op.decl, "takes_numbers", False)
    return index > 0 and takes and argument.name in _OPERANDS


def _parameters(op: OpOverload, method: bool) -> list[Parameter]:
    found: list[Parameter] = []
    for index, argument in enumerate(op._schema.arguments):
        if method and index == 0:
            continue
        written = argument.alias is not None and argument.alias.is_write
        numbers = not written and _takes_numbers(op, argument, index)
        name = identifier(argument.name)
        if name == "self" or (index == 0 and not method):
            name = first_name(op.packet, argument.name)
        found.append(
            Parameter(
                name, Parameter.KEYWORD_ONLY if argument.kwarg_only else Parameter.POSITIONAL_OR_KEYWORD,
                default=argument.default if argument.has_default else Parameter.empty,
                annotation=annotation(op, argument, numbers),
            )
        )  # fmt: skip
    seen = False
    for i, parameter in enumerate(found):  # Python wants defaults last; see `registry.entry`
        if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD:
            if parameter.default is not Parameter.empty:
                seen = True
            elif seen:
                found[i] = parameter.replace(default=None, annotation=f"{parameter.annotation} | None")
    return found


def _out(op: OpOverload, outs: Sequence[OpOverload]) -> Parameter | None:
    """The argument `out` of a function, where a variant of the op writes its results into arguments."""
    wanted = [a.name for a in op._schema.arguments if a.name not in _OF_NEW]
    for variant in outs:
        arguments = variant._schema.arguments
        targets = [a for a in arguments if a.kwarg_only and a.alias is not None and a.alias.is_write]
        if [a.name for a in arguments if a not in targets and a.name not in _OF_NEW] == wanted:
            kind = "Tensor" if len(targets) == 1 else f"tuple[{', '.join(['Tensor'] * len(targets))}]"
            return Parameter("out", Parameter.KEYWORD_ONLY, default=None, annotation=f"{kind} | None")
    return None


#: What only overloads that make a tensor are told of it, and those that write into one follow.
_OF_NEW = ("dtype", "layout", "device", "pin_memory", "memory_format")


def forms(packet: OpOverloadPacket, method: bool = False) -> list[Signature]:
    """The ways to call a function of the package, or a method of `Tensor` without `self`.

    Parameters
    ----------
    packet : OpOverloadPacket
        The op.
    method : bool
        Whether it is called as a method.
    """
    overloads = [getattr(packet, name) for name in packet.overloads()]
    outs = [op for op in overloads if is_out(op)]
    may_be_written_out = ("m" if method else "f") in form_of(packet)
    found: list[Signature] = []
    for op in overloads:
        if op in outs and len(outs) < len(overloads):
            continue
        parameters = _parameters(op, method)
        if not method and op not in outs and (out := _out(op, outs)) is not None:
            parameters.append(out)
        if is_factory(packet):
            parameters.append(
                Parameter("requires_grad", Parameter.KEYWORD_ONLY, default=False, annotation="Bool")
            )  # fmt: skip
        returns = result(op)
        found.append(Signature(parameters, return_annotation=returns))
        positional = [p for p in parameters if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
        argument = op._schema.arguments[1 if method else 0] if positional else None
        if argument is None or len(positional) != 1 or not may_be_written_out:
            continue
        if isinstance(argument.type.required, ListType) and argument.type.required.element in INTS:
            spread = Parameter(positional[0].name, Parameter.VAR_POSITIONAL, annotation="Int")
            found.append(Signature([spread, *parameters[1:]], return_annotation=returns))
    return _distinct(found)


#: What a type of arguments takes in besides itself.
_WIDER = {"Number": ("Float", "Int", "Bool"), "Float": ("Int",)}


def _alternatives(text: Any) -> set[str]:
    found = set(str(text).split(" | "))
    return found.union(*(_WIDER.get(name, ()) for name in found))


def _covers(a: Signature, b: Signature) -> bool:
    """Whether what one form takes, another takes too, with the same result."""
    if a.return_annotation != b.return_annotation:
        return False
    mine = [p.name for p in a.parameters.values() if p.kind is not Parameter.KEYWORD_ONLY]
    others = [p.name for p in b.parameters.values() if p.kind is not Parameter.KEYWORD_ONLY]
    if mine[: len(others)] != others:
        return False
    for name, parameter in a.parameters.items():
        if parameter.default is Parameter.empty and name not in b.parameters:
            return False
    return all(
        name in a.parameters and _takes(a.parameters[name], parameter) for name, parameter in b.parameters.items()
    )


def _takes(a: Parameter, b: Parameter) -> bool:
    """Whether what one parameter may be given, another of the same name may, too."""
    if (a.kind is Parameter.VAR_POSITIONAL) != (b.kind is Parameter.VAR_POSITIONAL):
        return False
    if b.default is not Parameter.empty and a.default is Parameter.empty:
        return False
    return _alternatives(a.annotation) >= _alternatives(b.annotation)


def _distinct(found: Sequence[Signature]) -> list[Signature]:
    kept: list[Signature] = []
    for form in found:
        if not any(_covers(other, form) for other in kept):
            kept = [other for other in kept if not _covers(form, other)] + [form]
    return kept


# ---- one signature ---------------------------------------------------------------------------------------------------


def merged(found: Sequence[Signature], leading: Iterable[Parameter] = ()) -> Signature:
    """One signature that takes the arguments of any of the forms, as `inspect.signature` shows it.

    Parameters
    ----------
    found : sequence of Signature
        The forms.
    leading : iterable of Parameter
        What stands before all of them: `self` of a method.
    """
    spread = any(p.kind is Parameter.VAR_POSITIONAL for form in found for p in form.parameters.values())
    order: list[str] = []
    by_name: dict[str, list[Parameter]] = {}
    for form in found:
        position = 0
        for parameter in form.parameters.values():
            if spread and parameter.kind is Parameter.POSITIONAL_OR_KEYWORD and len(form.parameters) == 0:
                continue
            name = parameter.name
            by_name.setdefault(name, []).append(parameter)
            if name in order:
                position = max(position, order.index(name) + 1)
            else:
                order.insert(position, name)
                position += 1
    merged_parameters = [_merged(by_name[name], len(found)) for name in order]
    if spread:
        merged_parameters = _after_spread(merged_parameters)
    positional = [p for p in merged_parameters if p.kind is not Parameter.KEYWORD_ONLY]
    named = [p for p in merged_parameters if p.kind is Parameter.KEYWORD_ONLY]
    seen = False
    for i, parameter in enumerate(positional):
        if parameter.default is not Parameter.empty:
            seen = True
        elif seen and parameter.kind is Parameter.POSITIONAL_OR_KEYWORD:
            positional[i] = parameter.replace(default=None)
    results = dict.fromkeys(form.return_annotation for form in found)
    return Signature([*leading, *positional, *named], return_annotation=" | ".join(results))


def _merged(given: Sequence[Parameter], count: int) -> Parameter:
    """One parameter of several forms, optional where not all have it."""
    texts = list(dict.fromkeys(text for p in given for text in str(p.annotation).split(" | ")))
    kinds = [p.kind for p in given]
    kind = next((k for k in (Parameter.VAR_POSITIONAL, Parameter.POSITIONAL_OR_KEYWORD) if k in kinds), kinds[0])
    if kind is Parameter.VAR_POSITIONAL:
        return Parameter(given[0].name, kind, annotation=" | ".join(texts))
    if "None" in texts:
        texts = [text for text in texts if text != "None"] + ["None"]
    default = next((p.default for p in given if p.default is not Parameter.empty), Parameter.empty)
    if default is Parameter.empty and len(given) < count:
        default = None
        if "None" not in texts:
            texts.append("None")
    return Parameter(given[0].name, kind, default=default, annotation=" | ".join(texts))


def _after_spread(parameters: Sequence[Parameter]) -> list[Parameter]:
    """The parameters where one takes all that is given by position: others are named."""
    found: list[Parameter] = []
    for parameter in parameters:
        if parameter.kind is Parameter.VAR_POSITIONAL:
            found.insert(0, parameter)
        elif parameter.kind is Parameter.POSITIONAL_OR_KEYWORD:
            default = None if parameter.default is Parameter.empty else parameter.default
            found.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, default=default))
        else:
            found.append(parameter)
    return found


SELF = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD, annotation="Tensor")


def signature_of(function: Any) -> Signature:
    """The signature of a function of the package or a method, made from an op or written in Python.

    Raises
    ------
    ValueError
        If it has none.
    """
    packet = packet_of(function)
    if packet is not None:
        method = bool(getattr(function, "is_method", False))
        return merged(forms(packet, method), [SELF] if method else [])
    return inspect.signature(function.__wrapped__)


def packet_of(function: Any) -> OpOverloadPacket | None:
    """The op that a function of the package or a method calls; None where it is written in Python."""
    if isinstance(function, OpOverloadPacket):
        return function
    return getattr(function, "op_packet", None)
