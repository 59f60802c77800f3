"""The stubs of type checkers: they are as the declarations say, agree with what runs, and find mistakes of users."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from inspect import Parameter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opweave
from opweave import typing_stubs
from opweave.registry import return_types
from opweave.registry.op import OpOverload, registry
from opweave.registry.ops.help.forms import is_out
from opweave.registry.symbolic import Symbolic

ROOT = Path(opweave.__file__).parent
MODULES = {"__init__": opweave, "linalg": opweave.linalg, "special": opweave.special, "fft": opweave.fft}
FILES = Path(__file__).parent / "typing"


@cache
def definitions(stub: str) -> dict[str, list[ast.FunctionDef]]:
    """The functions of a stub, or the methods of its one class, by name; an overload is one."""
    body = ast.parse((ROOT / f"{stub}.pyi").read_text()).body
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    found: dict[str, list[ast.FunctionDef]] = {}
    for node in classes[0].body if len(classes) == 1 else body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(node)
    return found


def parameters(node: ast.FunctionDef) -> list[Parameter]:
    """What a definition takes; annotations are text, defaults values where they are constants, else `...`."""
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    defaults: list[Any] = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    rows: list[Any] = [
        (arg, Parameter.POSITIONAL_ONLY if arg in given.posonlyargs else Parameter.POSITIONAL_OR_KEYWORD, default)
        for arg, default in zip(positional, defaults, strict=True)
    ]
    rows += [(given.vararg, Parameter.VAR_POSITIONAL, None)] if given.vararg else []
    rows += [(arg, Parameter.KEYWORD_ONLY, d) for arg, d in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    rows += [(given.kwarg, Parameter.VAR_KEYWORD, None)] if given.kwarg else []
    return [
        Parameter(arg.arg, kind, annotation=ast.unparse(arg.annotation) if arg.annotation else "",
                  default=Parameter.empty if default is None else ast.literal_eval(default))
        for arg, kind, default in rows
    ]  # fmt: skip


def test_the_stubs_are_as_they_would_be_written_now() -> None:
    stale = [str(path) for path, text in typing_stubs.stubs().items() if path.read_text() != text.rstrip() + "\n"]
    assert not stale, "write them again: python -m opweave.typing_stubs"


@pytest.mark.parametrize("stub", MODULES)
def test_every_name_is_in_the_stub_and_in_the_module(stub: str) -> None:
    module = MODULES[stub]
    tree = ast.parse((ROOT / f"{stub}.pyi").read_text())
    named = set(definitions(stub))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            named |= {item.asname for item in node.names if item.asname}
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            named.add(ast.unparse(target))
    public = {*module.__all__}
    assert not public - named, "no stub has them"
    missing = [name for name in named if not name.startswith("_") and not hasattr(module, name)]
    assert not missing, "nothing of that name is there"


def test_every_method_is_in_the_stub_and_in_the_class() -> None:
    known = {*definitions("registry/methods")}
    assert not typing_stubs.bound_methods().keys() - known
    assert not [name for name in known if not hasattr(opweave.Tensor, name)]


def _runtime() -> Iterator[tuple[str, list[ast.FunctionDef], Any]]:
    for stub, module in MODULES.items():
        for name, nodes in definitions(stub).items():
            yield f"{stub}.{name}", nodes, getattr(module, name)
    for name, nodes in definitions("registry/methods").items():
        value = inspect.getattr_static(opweave.Tensor, name)
        if not name.startswith("__") and not isinstance(value, property):
            yield f"Tensor.{name}", nodes, getattr(opweave.ones(1), name)


def test_editors_find_a_docstring_of_each_function() -> None:
    for stub in ("__init__", "linalg", "special", "fft"):
        bare = [name for name, nodes in definitions(stub).items() if not ast.get_docstring(nodes[-1])]
        assert set(bare) <= {"cuda_is_available", "__dir__"}, stub
    (*_, last) = definitions("registry/methods")["sum"]
    text = ast.get_docstring(last) or ""
    assert text.startswith("The sum of all elements") and "dim : int" in text
    assert "Examples" in text and "out :" not in text and "input :" not in text  # a method has no such arguments


OTHER_NAMES = {"axis": ("dim", "dims"), "keepdims": ("keepdim",)}


def test_what_stubs_take_runs() -> None:
    """Each parameter of a stub is one of the function's signature, with the same default, and none is left out."""
    wrong: list[str] = []
    for name, nodes, function in _runtime():
        signature = inspect.signature(function).parameters
        spreads = {p.kind for p in signature.values()}
        seen: set[str] = set()
        for node in nodes:
            for p in parameters(node)[name.startswith("Tensor.") :]:
                own = next((n for n in (p.name, *OTHER_NAMES.get(p.name, ())) if n in signature), None)
                if own is None:
                    swallowed = Parameter.VAR_KEYWORD if p.kind is Parameter.KEYWORD_ONLY else Parameter.VAR_POSITIONAL
                    if not {swallowed, Parameter.VAR_POSITIONAL} & spreads:
                        wrong.append(f"{name}: no argument {p.name}")
                    continue
                seen.add(own)
                actual = signature[own].default
                stated = p.default
                if stated in (Parameter.empty, ...) or p.name == "keepdims" or len(nodes) > 1:
                    continue
                if actual != stated and not (actual is Parameter.empty and stated is None):
                    wrong.append(f"{name}: {p.name} is {actual!r} by default, not {stated!r}")
        left = [p.name for p in signature.values()
                if p.name not in seen and p.kind not in (Parameter.VAR_KEYWORD, Parameter.VAR_POSITIONAL)]  # fmt: skip
        if left:
            wrong.append(f"{name}: the stub has no {', '.join(left)}")
    assert not wrong, "\n".join(wrong)


# ---- calls that are known to work ------------------------------------------------------------------------------------

_NUMBER = (int, float, complex, Symbolic, np.number, np.bool_)
_KINDS: dict[str, Any] = {
    "Tensor": opweave.Tensor, "Number": _NUMBER, "Int": (int, Symbolic), "Float": (int, float, Symbolic),
    "Bool": bool, "None": type(None), "_bool": bool, "_int": int, "_float": (int, float), "_str": str, "str": str,
    "DTypeLike": (opweave.dtype, type), "DeviceLike": (opweave.device, str, int), "Layout": opweave.layout,
    "MemoryFormat": opweave.memory_format, "Generator": opweave.Generator, "Device": opweave.device,
    "DType": opweave.dtype,
}  # fmt: skip


def takes(annotation: str, value: Any) -> bool:
    """Whether a value is of a type that a stub names."""
    for text in re.split(r" \| (?![^\[]*\])", annotation):
        if text == "Any":
            return True
        if text.startswith("Literal["):
            if isinstance(value, str) and value in ast.literal_eval(text[len("Literal") :]):
                return True
        elif text.startswith(("Sequence[", "_tuple[", "tuple[")):
            inner = text[text.index("[") + 1 : -1].removesuffix(", ...")
            if isinstance(value, list | tuple) and all(takes(inner, item) for item in value):
                return True
        elif text in _KINDS and isinstance(value, _KINDS[text]):
            return not (text == "Int" and isinstance(value, bool))
    return False


def accepts(node: ast.FunctionDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a definition takes a call."""
    own = parameters(node)
    try:
        bound = inspect.Signature(own).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        return False
    for p in own:
        if p.name in bound:
            values = bound[p.name] if p.kind is Parameter.VAR_POSITIONAL else [bound[p.name]]
            if p.name != "self" and not all(takes(p.annotation, value) for value in values):
                return False
    return True


def _make(*sizes: int, dtype: Any = opweave.float32, low: float = -2.0, high: float = 2.0) -> opweave.Tensor:
    return opweave.empty(sizes, dtype=dtype)


def _samples() -> Iterator[tuple[OpOverload, tuple[Any, ...], dict[str, Any]]]:
    for op in registry.operators.values():
        samples = getattr(op.decl, "samples", None)
        if op.namespace == "aten" and samples is not None and not is_out(op):
            for args, kwargs in samples(_make):
                yield op, args, kwargs


def test_stubs_take_all_calls_that_declarations_have_as_samples() -> None:
    """No false alarm: where the op's own tests call it so, the function and the method may be called so."""
    refused: dict[str, str] = {}
    count = 0
    for op, args, kwargs in _samples():
        prefix = next((m for m in ("linalg", "special") if op.opname.startswith(f"{m}_")), "__init__")
        name = op.opname.removeprefix(f"{prefix}_")
        places = [(prefix, name)]
        if prefix == "__init__" and args and isinstance(args[0], opweave.Tensor):
            places.append(("registry/methods", name))
        for stub, key in places:
            nodes = definitions(stub).get(key)
            if nodes is None or key in ("where",) and stub != "__init__":
                continue
            if key == "polygamma" and stub != "__init__":
                continue  # `x.polygamma(n)` has its arguments in the other order
            count += 1
            renamed = {"input" if k == "self" else k: v for k, v in kwargs.items()}
            if not any(accepts(node, args, renamed) for node in nodes):
                given = ", ".join([*(type(a).__name__ for a in args), *map(str, renamed)])
                refused.setdefault(f"{stub}.{key}", given)
    assert count > 3000
    assert not refused, "\n".join(f"{name}({given})" for name, given in refused.items())


def test_named_results_have_the_fields_that_they_have_when_they_run() -> None:
    tree = ast.parse((ROOT / "registry" / "return_types.pyi").read_text())
    written = {
        node.name: [item.target.id for item in node.body if isinstance(item, ast.AnnAssign)]  # type: ignore[union-attr]
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    assert written == {name: list(kind._fields) for name, kind in return_types.classes.items()}


# ---- a checker -------------------------------------------------------------------------------------------------------


def _planted(text: str) -> list[int]:
    return [number for number, line in enumerate(text.splitlines(), 1) if "# error" in line]


def test_a_type_checker_finds_what_is_wrong_and_nothing_else(tmp_path: Path) -> None:
    pyright = Path(sys.executable).with_name("pyright")
    if not pyright.exists():
        pytest.skip("pyright is not installed here: it comes with the extra `lint`")
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps({"typeCheckingMode": "standard", "extraPaths": [str(ROOT.parent)]})
    )
    for name in ("correct.py", "mistaken.py"):
        (tmp_path / name).write_text((FILES / name).read_text())
    done = subprocess.run(
        [pyright, "--outputjson", "--pythonpath", sys.executable, "-p", tmp_path], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    found_at = {"correct.py": set[int](), "mistaken.py": set[int]()}
    for item in json.loads(done.stdout)["generalDiagnostics"]:
        if item["severity"] == "error":
            found_at[Path(item["file"]).name].add(item["range"]["start"]["line"] + 1)
    planted = _planted((FILES / "mistaken.py").read_text())
    assert len(planted) >= 20
    assert found_at == {"correct.py": set(), "mistaken.py": set(planted)}
