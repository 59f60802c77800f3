"""Triton imported in less time: it finds the same sources, and Gluon's functions where somebody loads Gluon."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import subprocess
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import pytest
from triton.runtime.jit import JITFunction

from opweave.codegen.modules import load_module
from opweave.registry.loading import load_heavy, load_triton
from opweave.registry.quick_triton import quick_sources, quicken_generator, source_lines

#: Modules of Triton's with functions in all the forms that its authors write.
_MODULES = (
    "triton.language.standard", "triton.language.random", "triton.language.math", "triton.language.core",
    "triton.language.semantic", "triton.compiler.code_generator", "triton.runtime.jit", "triton.testing",
)  # fmt: skip

ENDS = '''
def decorator(function):
    return function


def in_brackets(x):
    return (
        x
    )


# of nobody
def commented(x):
    y = [
        x,  # one
    ]

    # of the body, after a gap
# of nobody


@decorator
@decorator
def decorated(
    x,
    y=1,
):
    """One

no more indented.
    """


def nested(x):
    def inner(y):
        return {
            y: x,
        }
    # of `nested`


def text(x):
    return """
def not_a_function():
"""


class Holder:
    def method(self):
        if self:
            return 1
        # of `method`

    # of `Holder`
    attribute = 1


def one_line(x): return x


def documented(x):
    """One

    two"""


def annotated(x):
    x = 1
    y: "int"


def unreached(x):
    return x
    """One
    two
    """


def skipped(x):
    if False:
        return (
            x
        )


def last(x):
    return f(
        x)
'''


def functions_of(module: Any) -> list[types.FunctionType]:
    found: list[types.FunctionType] = []
    for value in vars(module).values():
        value = value.fn if isinstance(value, JITFunction) else value
        members = [value, *vars(value).values()] if isinstance(value, type) else [value]
        found += [each for each in members if isinstance(each, types.FunctionType)]
    return [f for f in found if f.__code__.co_filename == module.__file__ and not hasattr(f, "__wrapped__")]


@pytest.mark.parametrize("name", _MODULES)
def test_sources_of_tritons_functions(name: str) -> None:
    functions = functions_of(importlib.import_module(name))
    assert functions
    for function in functions:
        assert source_lines(function.__code__) == inspect.getsourcelines(function), function


def test_where_functions_end() -> None:
    module = load_module(Path("/nowhere/ends.py"), ENDS, {})
    functions = functions_of(module)
    found = {function: inspect.getsourcelines(function) for function in functions}
    quick = {function: source_lines(function.__code__) for function in functions}
    unknown = {function.__name__ for function in functions if quick[function] is None}
    # Where the last statement leaves no code, a docstring for one.
    assert unknown <= {"one_line", "documented", "decorated", "annotated", "unreached"} and len(functions) == 13
    assert all(quick[function] == found[function] for function in functions if quick[function] is not None)
    with quick_sources("ends.py"):
        assert {function: inspect.getsourcelines(function) for function in functions} == found


def test_what_stood_there_stands_there_again() -> None:
    before = inspect.getsourcelines
    with quick_sources("one"):
        with quick_sources("two"):
            assert inspect.getsourcelines is not before
        assert inspect.getsourcelines is not before
        assert inspect.getsourcelines(test_where_functions_end) == before(test_where_functions_end)
    assert inspect.getsourcelines is before


PROGRAM = """
import sys
import opweave
from opweave.codegen.triton_cpu.driver import activate
activate()
f = opweave.compile(lambda x: x * 2 + 1)
assert f(opweave.ones(3)).tolist() == [3, 3, 3]
assert "triton.compiler.code_generator" in sys.modules and "triton.experimental.gluon" not in sys.modules
from triton.compiler.code_generator import CodeGenerator
import triton.language as tl
table = CodeGenerator.statically_implemented_functions
assert table.get(tl.static_assert) is not None and table.get(print) is None
from triton.experimental.gluon import language as gl
assert gl.static_assert is not tl.static_assert and gl.program_id
assert table.get(gl.static_assert) is table.get(tl.static_assert)
assert table.get(gl.static_print) is table.get(tl.static_print)
assert table.get(len) is not None
"""


def test_gluon_is_loaded_when_it_is_asked_for(tmp_path: Path) -> None:
    caches = {"OPWEAVE_CACHE_DIR": str(tmp_path / "opweave"), "TRITON_CACHE_DIR": str(tmp_path / "triton")}
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=300, env={**os.environ, **caches})


# ---- the generator ---------------------------------------------------------------------------------------------------

GENERATOR = "triton.compiler.code_generator"


@pytest.fixture
def generator() -> Any:
    load_triton()
    return load_heavy(GENERATOR)


def test_the_generator_is_quickened_once(generator: Any):
    before = (generator.warnings, generator.inspect, JITFunction.parse)
    assert all(before[:2]) and generator.warnings is not warnings and generator.inspect is not inspect
    quicken_generator()
    assert (generator.warnings, generator.inspect, JITFunction.parse) == before
    assert generator.inspect.getcallargs is inspect.getcallargs and generator.warnings.warn is warnings.warn


def test_warnings_are_left_out_from_the_outermost_node_on(generator: Any):
    outside = warnings.catch_warnings(record=True)
    with outside as heard:
        warnings.simplefilter("always")
        for _ in range(2):  # the second time as the first
            with generator.warnings.catch_warnings():
                generator.warnings.simplefilter("ignore", DeprecationWarning)
                with generator.warnings.catch_warnings():
                    warnings.warn("old", DeprecationWarning, stacklevel=1)
                    warnings.warn("older", PendingDeprecationWarning, stacklevel=1)
                warnings.warn("old still", DeprecationWarning, stacklevel=1)
                warnings.warn("other", UserWarning, stacklevel=1)
        with pytest.raises(KeyError), generator.warnings.catch_warnings():
            raise KeyError
        warnings.warn("after", DeprecationWarning, stacklevel=1)
    assert [str(each.message) for each in heard] == ["other", "other", "after"]


def test_other_filters_are_set(generator: Any):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        generator.warnings.simplefilter("ignore", UserWarning)
        warnings.warn("user", UserWarning, stacklevel=1)
        warnings.warn("runtime", RuntimeWarning, stacklevel=1)
    assert [str(each.message) for each in heard] == ["runtime"]


def test_signatures_are_those_that_inspect_finds(generator: Any):
    language = importlib.import_module("triton.language")
    value = language.tensor(None, language.float32)
    found = [language.load, language.tensor.to, value.to, value.__add__, value.sum, language.sum, language.cdiv]
    for function in (*found, test_other_filters_are_set, len):
        if not callable(function) or isinstance(function, JITFunction):
            continue
        for _ in range(2):
            assert generator.inspect.signature(function) == inspect.signature(function)
    assert "self" not in generator.inspect.signature(value.to).parameters
    assert "self" in generator.inspect.signature(language.tensor.to).parameters


def test_functions_of_tritons_own_are_parsed_once_for_one_source(generator: Any):
    standard = importlib.import_module("triton.language.standard")
    first = standard.zeros.parse()
    assert standard.zeros.parse() is first
    source = standard.zeros._src
    try:
        standard.zeros._unsafe_update_src(source + "    # another\n")
        assert standard.zeros.parse() is not first
    finally:
        standard.zeros._unsafe_update_src(source)
    assert ast.dump(standard.zeros.parse()) == ast.dump(ast.parse(source))
    other = load_module(Path("own_kernel.py"), "import triton\n\n\n@triton.jit\ndef k(x):\n    x + 1\n", {}).k
    assert other.parse() is not other.parse()


def test_types_of_tuples_have_names(generator: Any):
    core = importlib.import_module("triton.language.core")
    # From 3.7 on, they are made when they are asked for, and other ones.
    names = ("[:int32,:fp32]", "[x:int32]", "[]") if hasattr(core.tuple_type.__init__, "__wrapped__") else ()
    kinds = core.tuple_type([core.int32, core.float32]), core.tuple_type([core.int32], ["x"]), core.tuple_type([])
    for kind, name in zip(kinds, names, strict=False):
        assert (kind.name, str(kind)) == (name, name)
    assert len({str(kind) for kind in kinds}) == len(kinds)
    assert core.tuple_type([core.int32]) == core.tuple_type([core.int32]) != core.tuple_type([core.int32], ["x"])
