"""Every public name has a docstring of its own, and the examples in it run and print what they say."""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import inspect
import io
import subprocess
import sys
import types
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import opweave
from opweave.registry.interrupts import let_through
from opweave.registry.op import registry
from opweave.registry.ops.help.arguments import ARGUMENTS
from opweave.registry.ops.help.documents import example, meaning, summary
from opweave.registry.ops.help.example_calls import CALLS
from opweave.registry.ops.help.forms import forms, packet_of
from opweave.registry.ops.help.summaries import SUMMARIES

#: Modules that users import.
MODULES = (
    "amp", "autograd", "autograd.forward_ad", "autograd.graph", "compat", "distributions", "distributions.constraints",
    "export", "fft", "func", "fx", "library", "linalg", "masked", "nn", "nn.attention.flex_attention", "nn.functional",
    "nn.init", "nn.utils", "nn.utils.parametrizations", "nn.utils.parametrize", "nn.utils.prune", "nn.utils.rnn",
    "optim", "optim.lr_scheduler", "optim.swa_utils", "safetensors", "signal", "signal.windows", "special", "testing",
    "utils", "utils.checkpoint", "utils.cpp_extension", "utils.data",
)  # fmt: skip
#: Names without an example.
WITHOUT = 0


def public(module: types.ModuleType) -> Iterator[tuple[str, Any]]:
    """Functions and classes that a module offers."""
    for name in sorted(set(getattr(module, "__all__", dir(module)))):
        value = getattr(module, name)
        if not name.startswith("_") and callable(value) and not isinstance(value, types.ModuleType):
            yield f"{module.__name__}.{name}", value


@cache
def everything() -> dict[str, Any]:
    found = dict(public(opweave))
    for name in MODULES:
        found |= dict(public(importlib.import_module(f"opweave.{name}")))
    for name in dir(opweave.Tensor):
        if not name.startswith("_"):
            found[f"opweave.Tensor.{name}"] = inspect.getattr_static(opweave.Tensor, name)
    return found


def test_every_public_name_has_a_docstring() -> None:
    missing = [name for name, value in everything().items() if not (getattr(value, "__doc__", None) or "").strip()]
    assert not missing


def test_no_docstring_stands_for_several_names() -> None:
    """But for names that mean one thing: an op's function and its method, or two names of one function."""
    named = defaultdict(dict)
    for name, value in everything().items():
        packet = packet_of(value)
        thing = packet if packet is not None else inspect.unwrap(getattr(value, "fget", value))
        if value.__doc__ is type(value).__doc__:  # an object that is explained by its class
            thing = type(value)
        named[value.__doc__][id(thing)] = name
    shared = {tuple(names.values()): text for text, names in named.items() if len(names) > 1}
    assert not shared


@pytest.mark.parametrize("name", ["linalg", "special", ""])
def test_what_ops_are_called_with_is_explained(name: str) -> None:
    module = importlib.import_module(f"opweave.{name}".rstrip("."))
    unsaid = set()
    for _, value in public(module):
        packet = packet_of(value)
        if packet is None or packet.namespace != "aten":
            continue
        if not summary(packet):
            unsaid.add(packet.opname)
        for form in forms(packet):
            unsaid |= {f"{packet.opname}.{name}" for name in form.parameters if not meaning(packet, name)}
    assert not unsaid


def test_tables_of_docstrings_name_what_is_there() -> None:
    names = {packet.opname for packet in registry.packets.values() if packet.namespace == "aten"}
    assert not SUMMARIES.keys() - names
    assert not {name.partition(".")[0] for name in ARGUMENTS if "." in name} - names
    python = {name for name in vars(opweave) if packet_of(getattr(opweave, name)) is None}
    assert not CALLS.keys() - names - python


# ---- examples --------------------------------------------------------------------------------------------------------


def _statements(text: str) -> Iterator[doctest.Example]:
    for item in doctest.DocTestParser().get_examples(inspect.cleandoc(text)):
        if not item.options.get(doctest.OPTIONFLAGS_BY_NAME["SKIP"]):
            yield item


def run(text: str, module: types.ModuleType) -> str:
    """What is wrong with the examples of a docstring; empty where they print what they say."""
    scope: dict[str, Any] = {"opweave": opweave} if module is opweave else {**vars(module), "opweave": opweave}
    for item in _statements(text):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            tree = ast.parse(item.source)
            last = tree.body[-1]
            if isinstance(last, ast.Expr):
                exec(compile(ast.Module(tree.body[:-1], []), "<example>", "exec"), scope)
                value = eval(compile(ast.Expression(last.value), "<example>", "eval"), scope)
                if value is not None:
                    print(repr(value))
            else:
                exec(compile(tree, "<example>", "exec"), scope)
        if not doctest.OutputChecker().check_output(item.want, printed.getvalue(), doctest.NORMALIZE_WHITESPACE):
            return f"{item.source}gives\n{printed.getvalue()}and not\n{item.want}"
    return ""


def test_examples_run_and_print_what_they_say() -> None:
    wrong: dict[str, str] = {}
    seen: set[str] = set()
    for name, value in everything().items():
        text = value.__doc__
        if not text or text in seen or ">>>" not in text:
            continue
        seen.add(text)
        opweave.manual_seed(0)
        try:
            found = run(text, importlib.import_module(name.rpartition(".")[0].removesuffix(".Tensor")))
        except Exception as error:
            let_through(error)
            found = f"{type(error).__name__}: {error}"
        if found:
            wrong[name] = found
    assert len(seen) > 700
    assert not wrong, "\n".join(f"{name}: {text}" for name, text in wrong.items())


def test_nearly_every_name_has_an_example() -> None:
    without = [name for name, value in everything().items()
               if not isinstance(value, property) and ">>>" not in (value.__doc__ or "")]  # fmt: skip
    assert len(without) <= WITHOUT, without


def test_every_method_of_a_public_class_has_a_docstring() -> None:
    """Its own, or that of the method that it takes the place of."""
    missing = set[str]()
    for name, value in everything().items():
        if inspect.isclass(value) and value.__module__.startswith("opweave"):
            for method, function in vars(value).items():
                if not method.startswith("_") and inspect.isroutine(function) and not inspect.getdoc(function):
                    inherited = inspect.getdoc(getattr(value, method))
                    missing |= set() if inherited else {f"{name}.{method}"}
    assert not missing


def test_examples_are_found_by_name() -> None:
    assert example("softmax")[-1].startswith("tensor([")


# ---- how they are asked for ------------------------------------------------------------------------------------------


def test_python_finds_docstrings_and_signatures() -> None:
    x = opweave.ones(2, 3)
    for function in (opweave.softmax, opweave.Tensor.softmax, x.softmax, opweave.zeros, x.max, opweave.linalg.svd):
        text = inspect.getdoc(function)
        assert text is not None and "Parameters\n----------" in text
    assert str(inspect.signature(opweave.softmax)) == (
        "(input: 'Tensor', dim: 'Int', dtype: 'DTypeLike | None' = None, *, out: 'Tensor | None' = None) -> 'Tensor'"
    )
    assert list(inspect.signature(x.softmax).parameters) == ["dim", "dtype"]
    assert list(inspect.signature(opweave.Tensor.topk).parameters)[:3] == ["self", "k", "dim"]
    assert list(inspect.signature(opweave.tensor).parameters) == ["data", "dtype", "device", "requires_grad"]


def test_every_public_name_that_is_called_has_a_signature() -> None:
    for name, value in everything().items():
        if not isinstance(value, property):
            assert inspect.signature(value) is not None, name


def test_help_is_about_the_function() -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        help(opweave.softmax)
    assert "softmax(input: 'Tensor', dim: 'Int'" in printed.getvalue()
    assert ">>> opweave.softmax(x, 0)" in printed.getvalue()


def test_classes_keep_their_own_docstrings() -> None:
    assert opweave.OpOverload.__doc__.startswith("One operator with one schema")
    assert opweave.OpOverloadPacket.__doc__.startswith("All overloads of a name")
    assert "name" in inspect.signature(opweave.OpOverload).parameters


def test_users_ops_say_what_they_take() -> None:
    lib = opweave.library.Library("docstrings", "DEF")
    lib.define("twice(Tensor x, int times=2) -> Tensor")
    assert "twice(x, times=2) -> Tensor" in opweave.ops.docstrings.twice.__doc__


# ---- what modules offer ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", *MODULES])
def test_modules_offer_nothing_that_they_only_import(name: str) -> None:
    module = importlib.import_module(f"opweave.{name}".rstrip("."))
    offered = [n for n in dir(module) if not n.startswith("__")]
    assert sorted(module.__all__) == sorted(set(offered))
    for n in offered:
        value = getattr(module, n)
        home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
        assert not isinstance(home, str) or home.split(".")[0] in ("opweave", "builtins"), f"{n} is from {home}"


def test_the_package_has_no_name_of_another() -> None:
    code = (
        "import opweave, types; known = {*opweave.__all__, 'bool', 'int', 'float'}\n"
        "others = {n: v for n, v in vars(opweave).items() if not n.startswith('_') and n not in known}\n"
        "print(sorted(n for n, v in others.items() if getattr(v, '__name__', '') != f'opweave.{n}'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
