"""Stubs for type checkers: what functions of the package and methods of `Tensor` take and give.

    python -m opweave.typing_stubs           # writes the stubs beside the modules
    python -m opweave.typing_stubs --check   # says which are not as they would be written

A type checker cannot follow what is bound from the ops' declarations when opweave is imported. The stubs are made from
the same declarations (`registry.ops.help.forms`):

==============================  ====================================================================================
`opweave/__init__.pyi`          all names of the package
`opweave/linalg.pyi`, ...       the modules whose functions are ops
`opweave/nn/__init__.pyi`       what is loaded when it is asked for
`registry/methods.pyi`          `Methods`, a base of `Tensor` that only type checkers see: what is bound to the class
`registry/return_types.pyi`     results that have names
==============================  ====================================================================================

`registry/argument_types.pyi`, which these import from, is written by hand. Beside what schemas say the stubs allow what
`registry.binding` does: `axis` for `dim` and `keepdims` for `keepdim`. What is bound when opweave is imported an editor
cannot find, so the stubs have its docstrings too, without what is there already: the signatures, and the errors.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from inspect import Parameter, Signature
from pathlib import Path
from typing import Any

import opweave
from opweave import fft, nn
from opweave.registry import return_types
from opweave.registry.loading import load_heavy
from opweave.registry.ops import surface
from opweave.registry.ops.help.forms import forms, packet_of
from opweave.registry.ops.help.written import FUNCTIONS, METHODS, OPERATORS
from opweave.registry.strided import Strided
from opweave.registry.tensor import Tensor

_HERE = Path(__file__).parent
_FIRST = '"""{what}\n\nWritten by `python -m opweave.typing_stubs` from the declarations of the ops; see there."""\n'

#: The types that Python has by names which opweave has for something else.
_BUILTIN = ("bool", "complex", "float", "int", "str", "tuple", "type")
#: Where names in annotations come from.
_HOMES = {
    **dict.fromkeys(("Any", "Literal", "NamedTuple", "overload"), "typing"),
    **dict.fromkeys(("Callable", "Iterator", "Mapping", "Sequence"), "collections.abc"),
    **dict.fromkeys(
        ("Bool", "DTypeLike", "DeviceLike", "Float", "Index", "Int", "Number", "Operand"),
        "opweave.registry.argument_types",
    ),
    **{f"_{name}": "builtins" for name in _BUILTIN},
    "Tensor": "opweave.registry.tensor",
    "Storage": "opweave.registry.storage",
    "Size": "opweave.registry.strided",
    "DType": "opweave.registry.dtypes",
    "Device": "opweave.registry.device",
    "Layout": "opweave.registry.memory_format",
    "MemoryFormat": "opweave.registry.memory_format",
    "Generator": "opweave.registry.ops.random",
    "Node": "opweave.registry.autograd.graph",
    "RemovableHandle": "opweave.registry.autograd.graph",
    "return_types": "opweave.registry",
}
#: What arguments written in Python say too little of, by name.
_BY_NAME = {"dtype": "DTypeLike | None", "device": "DeviceLike | None", "memory_format": "MemoryFormat | None",
            "generator": "Generator | None"}  # fmt: skip
#: Other names of arguments that a call may use for all of these (`registry.argument_names`).
_AXIS = {"dim": "axis", "dims": "axis"}


# ---- text ------------------------------------------------------------------------------------------------------------


class _Words(ast.NodeTransformer):
    """Annotations with Python's own types by names that nothing hides."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(f"_{node.id}" if node.id in _BUILTIN else node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return node  # `return_types.max`


def _typed(text: Any) -> str:
    if not isinstance(text, str):
        return "Any"
    return ast.unparse(_Words().visit(ast.parse(text, mode="eval")))


def _default(value: Any) -> str:
    plain = value is None or type(value) in (bool, int, str) or (type(value) is float and value - value == 0)
    return repr(value) if plain else "..."


def _parameter(parameter: Parameter) -> str:
    star = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = f"{star}{parameter.name}: {_typed(parameter.annotation)}"
    return text if parameter.default is Parameter.empty else f"{text} = {_default(parameter.default)}"


def _definition(name: str, form: Signature, method: bool) -> str:
    """A function, without what it does."""
    parts = ["self"] if method else []
    star = False
    for parameter in form.parameters.values():
        if parameter.kind is Parameter.KEYWORD_ONLY and not star:
            parts.append("*")
        star = star or parameter.kind in (Parameter.KEYWORD_ONLY, Parameter.VAR_POSITIONAL)
        parts.append(_parameter(parameter))
    return f"def {name}({', '.join(parts)}) -> {_typed(form.return_annotation)}: ..."


def _definitions(name: str, found: Sequence[Signature], method: bool) -> list[str]:
    texts = list(dict.fromkeys(_definition(name, form, method) for form in found))
    return texts if len(texts) == 1 else [line for text in texts for line in ("@overload", text)]


#: Sections of docstrings that stubs leave to `help`.
_LEFT_OUT = re.compile(r"\nRaises\n-+\n.*?(?=\n\w+\n-+\n|\Z)", re.S)
_ENTRY = re.compile(r"^(\w+) : .*\n(?:    .*\n)+", re.M)
_SIGNATURES = re.compile(r"\n(?:    .*\n)+(?=\n)|\nAs a (?:method|function): `[^`]*`\.\n")


def _documented(lines: list[str], value: Any) -> list[str]:
    """The definitions of a function, with its docstring in the last of them, where pyright and jedi find it."""
    text = inspect.getdoc(value) or ""
    head, dashes, rest = text.partition("\nParameters\n")
    taken = {p.arg for p in ast.walk(ast.parse("\n".join(lines))) if isinstance(p, ast.arg)}
    rest = _ENTRY.sub(lambda entry: entry[0] if entry[1] in taken else "", rest)  # methods lack some
    none_left = rest.startswith("----------\n\n")
    rest = rest.removeprefix("----------\n") if none_left else dashes + rest
    text = _LEFT_OUT.sub("", _SIGNATURES.sub("", head + "\n") + rest).strip()
    if not text:
        return lines
    text = re.sub(r"\n{3,}", "\n\n", text).replace("\\", "\\\\").replace('"""', '\\"""')
    last = max(number for number, line in enumerate(lines) if line.startswith("def "))
    body = [f"    {line}".rstrip() for line in f'"""{text}"""'.splitlines()]
    return [*lines[:last], lines[last].removesuffix(" ..."), *body, "    ...", *lines[last + 1 :]]


def with_other_names(found: Sequence[Signature]) -> list[Signature]:
    """The forms, and those with the names that NumPy has for dimensions."""
    more: list[Signature] = []
    for form in found:
        parameters = list(form.parameters.values())
        names = [p.name for p in parameters]
        if "keepdim" in names:
            other = next(p for p in parameters if p.name == "keepdim")
            parameters.append(other.replace(name="keepdims", kind=Parameter.KEYWORD_ONLY, default=False))
        more.append(form.replace(parameters=parameters))
        renamed = [p.replace(name=_AXIS.get(p.name, p.name)) for p in parameters]
        has_axis = any(p.name in _AXIS and p.kind is not Parameter.VAR_POSITIONAL for p in parameters)
        if has_axis and len({p.name for p in renamed}) == len(renamed):
            more.append(form.replace(parameters=renamed))
    return more


# ---- functions of the package and methods ----------------------------------------------------------------------------


def _unwrapped(function: Any) -> Any:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def _in_python(function: Callable[..., Any]) -> Signature:
    """The signature of a function that is written in Python, as it says."""
    form = inspect.signature(_unwrapped(function))
    found: list[Parameter] = []
    for p in form.parameters.values():
        if p.annotation in ("Any", Parameter.empty) and p.name in _BY_NAME:
            p = p.replace(annotation=_BY_NAME[p.name])
        found.append(p)
    return form.replace(parameters=found)


def _of_function(name: str, value: Any) -> list[str]:
    packet = packet_of(value)
    if packet is not None:
        return _definitions(name, with_other_names(forms(packet)), False)
    return _definitions(name, with_other_names([_in_python(value)]), False)


def _written(name: str, texts: Sequence[str]) -> list[str]:
    found = [f"def {name}{text}: ..." for text in texts]
    return found if len(found) == 1 else [line for text in found for line in ("@overload", text)]


def _of_method(name: str, value: Any) -> list[str]:
    if name in METHODS:
        return _written(name, METHODS[name])
    if isinstance(value, property):
        returns = _typed(inspect.signature(_unwrapped(value.fget)).return_annotation)
        lines = ["@property", f"def {name}(self) -> {returns}: ..."]
        if value.fset is not None:
            given = list(inspect.signature(value.fset).parameters.values())[1]
            lines += [f"@{name}.setter", f"def {name}(self, value: {_typed(given.annotation)}) -> None: ..."]
        if value.fdel is not None:
            lines += [f"@{name}.deleter", f"def {name}(self) -> None: ..."]
        return lines
    packet = packet_of(value)
    if packet is not None:
        return _definitions(name, with_other_names(forms(packet, method=True)), True)
    form = _in_python(value)
    return _definitions(name, with_other_names([form.replace(parameters=list(form.parameters.values())[1:])]), True)


def bound_methods() -> dict[str, Any]:
    """What is bound to `Tensor` from declarations, by name."""
    written = ast.parse((_HERE / "registry" / "tensor.py").read_text())
    own = {
        item.name
        for node in written.body if isinstance(node, ast.ClassDef) and node.name == "Tensor"
        for item in node.body if isinstance(item, ast.FunctionDef)
    }  # fmt: skip
    own |= set(vars(Strided))
    return {
        name: value
        for name, value in sorted(vars(Tensor).items())
        if not name.startswith("_") and name not in own and (callable(value) or isinstance(value, property))
    }


# ---- the files -------------------------------------------------------------------------------------------------------


def _imports(lines: Sequence[str], defined: set[str]) -> list[str]:
    """What a stub has to import for its annotations."""
    tree = ast.parse("\n".join(lines) or "pass")
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    defined = defined | {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    wanted: dict[str, list[str]] = {}
    for name in sorted(used - defined):
        if name in _HOMES:
            home = _HOMES[name]
            wanted.setdefault(home, []).append(f"{name[1:]} as {name}" if home == "builtins" else name)
        elif not hasattr(builtins, name):
            raise LookupError(f"nothing says where {name} in a stub comes from")
    first = sorted(wanted, key=lambda home: (home.startswith("opweave"), home))
    return [f"from {home} import {', '.join(wanted[home])}" for home in first]


def _exports() -> Iterator[tuple[str, str]]:
    """(name, import) of what the package has from its modules."""
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse((_HERE / "__init__.py").read_text())):
        if isinstance(node, ast.ImportFrom):
            for item in node.names:
                found[item.asname or item.name] = f"from {node.module} import {item.name} as {item.asname or item.name}"
    for name, (module, attribute) in vars(opweave)["_LAZY"].items():
        if attribute is None:
            home, _, last = module.rpartition(".")
            found[name] = f"from {home} import {last} as {name}"
        else:
            found[name] = f"from {module} import {attribute or name} as {name}"
    functions = surface.functions()
    for name in sorted(set(opweave.__all__) - set(functions)):
        if name in found:
            yield name, found[name]


def _package() -> str:
    lines: list[str] = []
    constants: list[str] = []
    for name, value in sorted(surface.functions().items()):
        if value is None or isinstance(value, (float, int)):
            constants.append(f"{name}: {'None' if value is None else f'_{type(value).__name__}'}")
        elif not inspect.isclass(value):
            found = _written(name, FUNCTIONS[name]) if name in FUNCTIONS else _of_function(name, value)
            lines += _documented(found, value)
    constants += [f"{name}: _DType" for name in ("bool", "int", "float")] + ["__version__: _str"]
    lines += ["def cuda_is_available() -> _bool: ...", "def __dir__() -> list[_str]: ..."]
    exports = [text for _, text in _exports()]
    wanted = _imports([line for line in constants if "_DType" not in line] + lines, {"Tensor", "Generator"})
    public = sorted({*opweave.__all__, "bool", "int", "float"})
    return "\n".join(
        [_FIRST.format(what="Names of the package."), *wanted, "from opweave.registry.dtypes import DType as _DType",
         "from opweave.registry.random_generator import Generator as Generator", *exports, "", *constants,
         "TorchDispatchMode = DispatchMode", "", *lines, "", f"__all__ = {public!r}"]
    )  # fmt: skip


def _module(name: str) -> str:
    module = load_heavy(f"opweave.{name}")
    table = surface.functions_of(name)
    lines = [line for key, value in table.items() for line in _documented(_of_function(key, value), value)]
    others = sorted(set(module.__all__) - set(table))
    extra = [f"from {getattr(module, n).__module__} import {n} as {n}" for n in others]
    first = _FIRST.format(what=f"Functions of `opweave.{name}`.")
    return "\n".join([first, *_imports(lines, set()), *extra, "", *lines, "", f"__all__ = {sorted(module.__all__)!r}"])


def _transforms() -> str:
    """`opweave.fft`, whose functions are written in Python and take `out=` and `axis=` besides."""
    lines: list[str] = []
    for name in fft.__all__:
        value = getattr(fft, name)
        form = inspect.signature(value)
        plain = [
            p.replace(annotation=p.annotation.replace("Dims", "int | Sequence[int] | None"))
            for p in form.parameters.values()
        ]
        found = [form.replace(parameters=plain)]
        found = with_other_names(found) if "out" in form.parameters else found  # the rest takes no other names
        lines += _documented(_definitions(name, found, False), value)
    first = _FIRST.format(what="Functions of `opweave.fft`.")
    return "\n".join([first, *_imports(lines, set()), "", *lines, "", f"__all__ = {sorted(fft.__all__)!r}"])


def _methods() -> str:
    lines = [line for text in OPERATORS for line in (text,)]
    for name, value in bound_methods().items():
        lines += _documented(_of_method(name, value), value)
    body = ["class Methods:", "    __slots__ = ()", *(f"    {line}".rstrip() for line in lines)]
    first = _FIRST.format(what="What is bound to `Tensor`: methods, operators and properties.")
    return "\n".join([first, *_imports(lines, {"property"}), "", *body])


def _results() -> str:
    lines = []
    for name, kind in sorted(return_types.classes.items()):
        text = getattr(opweave.ops.aten, name).text
        types = ("tuple[Tensor, ...]" if f"Tensor[] {field}" in text else "Tensor" for field in kind._fields)
        fields = zip(kind._fields, types, strict=True)
        lines += [f"class {name}(NamedTuple):", *(f"    {field}: {type_}" for field, type_ in fields), ""]
    return "\n".join(
        [_FIRST.format(what="Results that have names."), "from collections.abc import Callable",
         "from typing import Any, NamedTuple", "from opweave.registry.packet import OpOverloadPacket",
         "from opweave.registry.tensor import Tensor", "", "classes: dict[str, Any]",
         "def names(packet: OpOverloadPacket) -> tuple[str, ...]: ...",
         "def named(packet: OpOverloadPacket) -> Callable[..., Any]: ...", "", *lines]
    )  # fmt: skip


def _networks() -> str:
    """The names of `opweave.nn`, each with the module that it is in."""
    parts, homes = vars(nn)["_PARTS"], vars(nn)["_WHERE"]
    lines = [f"from opweave.nn import {part} as {part}" for part in sorted(parts)]
    lines += [f"from {home} import {name} as {name}" for name, home in sorted(homes.items())]
    return "\n".join([_FIRST.format(what="Names of `opweave.nn`."), *lines, "", f"__all__ = {sorted(nn.__all__)!r}"])


def stubs() -> dict[Path, str]:
    """The stubs by their places."""
    surface.functions()
    modules = {_HERE / f"{name[:-1]}.pyi": _module(name[:-1]) for name in surface._MODULES if name != "fft_"}
    return {
        _HERE / "__init__.pyi": _package(),
        **modules,
        _HERE / "fft.pyi": _transforms(),
        _HERE / "nn" / "__init__.pyi": _networks(),
        _HERE / "registry" / "methods.pyi": _methods(),
        _HERE / "registry" / "return_types.pyi": _results(),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Write the stubs, or say which are stale."""
    parser = argparse.ArgumentParser(
        prog="python -m opweave.typing_stubs", description="Write the stubs of opweave for type checkers."
    )
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a stub is stale")
    options = parser.parse_args(argv)
    stale = 0
    for path, text in stubs().items():
        text = text.rstrip() + "\n"
        if path.exists() and path.read_text() == text:
            continue
        stale += 1
        print(f"{'stale' if options.check else 'written'}: {path}")
        if not options.check:
            path.write_text(text)
    return int(options.check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
