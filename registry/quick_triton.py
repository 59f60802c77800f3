"""Import Triton in two thirds of the time that it takes by itself, and have it read kernels in four fifths.

Two things take the time, and neither is needed. Each `@triton.jit` function, as its language has many and generated
code has some, asks `inspect` for its source, which splits the function into tokens in Python to find where it ends;
`source_lines` knows that from the function's code. And the code generator loads Gluon, a second language of Triton's
with its own copy of the first one's functions, to name two of them in a table; `without_gluon` names them once somebody
has loaded Gluon.

The generator then does three things again and again that need be done once: it has warnings left out for each node of a
kernel's tree, looks at the signature of each function that the kernel calls, and parses the functions of Triton's own
that it uses. `quicken_generator` has it do them once, and has names of the types of shapes made for whoever asks.
"""

from __future__ import annotations

import functools
import inspect
import linecache
import os
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from opweave.registry import forking
from opweave.registry.interrupts import contextmanager

_GENERATOR, _GLUON = "triton.compiler.code_generator", "triton.experimental.gluon"
#: Part of the names of Triton's own files.
PACKAGE = f"{os.sep}triton{os.sep}"
#: Functions of Gluon that the generator runs itself, as those of `triton.language` that have the same names.
_SHARED = ("static_assert", "static_print")


# ---- where a function ends -------------------------------------------------------------------------------------------


#: Parts of the names of the files whose functions are found without splitting them into tokens.
_files: list[str] = []
_lock = forking.short_lock()
_find = inspect.getsourcelines
#: What stood in the place of `_found`.
_before = _find


@contextmanager
def quick_sources(part: str) -> Iterator[None]:
    """Within the block `inspect.getsourcelines` finds some functions by `source_lines`.

    Parameters
    ----------
    part : str
        Of the names of their files.
    """
    global _before
    with _lock:
        if inspect.getsourcelines is not _found:
            _before, inspect.getsourcelines = inspect.getsourcelines, _found
        _files.append(part)
    try:
        yield
    finally:
        with _lock:
            _files.remove(part)
            if not _files and inspect.getsourcelines is _found:
                inspect.getsourcelines = _before


def _found(value: Any) -> tuple[list[str], int]:
    code = value.__code__ if isinstance(value, types.FunctionType) and not hasattr(value, "__wrapped__") else None
    if code is None or not any(part in code.co_filename for part in [*_files]):
        return _find(value)
    return source_lines(code) or _find(value)


def source_lines(code: types.CodeType) -> tuple[list[str], int] | None:
    """The lines of a function, decorators and all, and the number of the first; None where its code does not tell.

    As `inspect.getsourcelines` has them: up to the last line of its last statement, and what comments follow that are
    indented as its body is.
    """
    lines = linecache.getlines(code.co_filename)
    first, last = code.co_firstlineno, _last_line(code)
    if not 0 < first < last <= len(lines):
        return None  # all in one line, or another file
    outer = _indent(lines[first - 1])
    for number in range(last, len(lines)):
        text = lines[number].strip()
        if not text:
            continue
        is_inside = _indent(lines[number]) > outer
        if not text.startswith("#") and text.partition("#")[0].strip(" )]},"):  # no end of the last statement
            if is_inside:
                return None  # a statement that leaves no code
            break
        if text.startswith("#") and not is_inside:
            break
        last = number + 1
    return lines[first - 1 : last], first


def _last_line(code: types.CodeType) -> int:
    ends = [end or 0 for _, end, _, _ in code.co_positions()]
    return max([0, *ends, *(_last_line(inner) for inner in code.co_consts if isinstance(inner, types.CodeType))])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


# ---- Gluon -----------------------------------------------------------------------------------------------------------


class _Functions(dict[Any, Any]):
    """The generator's table of functions that it runs itself, to which Gluon's are added once it is loaded."""

    def get(self, key: Any, default: Any = None) -> Any:
        found = super().get(key)
        if found is None and f"{_GLUON}.language" in sys.modules:
            gluon, language = (sys.modules[f"{name}.language"] for name in (_GLUON, "triton"))
            self.update({getattr(gluon, name): self[getattr(language, name)] for name in _SHARED})
            found = super().get(key)
        return default if found is None else found


@contextmanager
def without_gluon() -> Iterator[None]:
    """Within the block Triton's code generator is imported without Gluon, where neither has been."""
    if _GENERATOR in sys.modules or _GLUON in sys.modules:
        yield
        return
    stand_in: Any = types.ModuleType(_GLUON)
    stand_in.language = types.SimpleNamespace(**{name: object() for name in _SHARED})
    sys.modules[_GLUON] = stand_in
    try:
        yield
        generator: Any = getattr(sys.modules.get(_GENERATOR), "CodeGenerator", None)
        if generator is not None:
            own = generator.statically_implemented_functions
            absent = {*vars(stand_in.language).values()}
            generator.statically_implemented_functions = _Functions(
                {key: value for key, value in own.items() if key not in absent}
            )
    finally:
        if sys.modules.get(_GLUON) is stand_in:
            del sys.modules[_GLUON]


# ---- reading kernels -------------------------------------------------------------------------------------------------


class _StandIn:
    """A module as the generator sees it: some functions in another way, the others as they are."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class _Warnings(_StandIn):
    """Leaves warnings out where a thread's outermost node is visited, until that has been: the nodes are inside of it.

    Each change of what is left out has Python look anew at all that was warned of before.
    """

    _LEFT_OUT = (DeprecationWarning, PendingDeprecationWarning)

    def __init__(self) -> None:
        super().__init__(warnings)
        self._thread, self._nothing = threading.local(), nullcontext()

    def catch_warnings(self) -> AbstractContextManager[Any]:
        return self._nothing if getattr(self._thread, "inside", False) else self._outermost()

    @contextmanager
    def _outermost(self) -> Iterator[None]:
        with warnings.catch_warnings():
            for category in self._LEFT_OUT:
                warnings.simplefilter("ignore", category)
            self._thread.inside = True
            try:
                yield
            finally:
                self._thread.inside = False

    def simplefilter(self, action: Any, category: type[Warning] = Warning, *rest: Any) -> None:
        if action != "ignore" or category not in self._LEFT_OUT:
            warnings.simplefilter(action, category, *rest)


class _Inspect(_StandIn):
    """Keeps the signatures of Triton's own functions, of which there are few."""

    def __init__(self) -> None:
        super().__init__(inspect)
        self._functions: dict[Any, inspect.Signature] = {}
        self._methods: dict[Any, inspect.Signature] = {}

    def signature(self, value: Any) -> inspect.Signature:
        function, kept = value, self._functions
        if isinstance(value, types.MethodType):
            function, kept = value.__func__, self._methods
        if not isinstance(function, types.FunctionType) or PACKAGE not in function.__code__.co_filename:
            return inspect.signature(value)
        found = kept.get(function)
        if found is None:
            found = kept[function] = inspect.signature(value)
        return found


def quicken_generator() -> None:
    """Have Triton's code generator, where it has been imported, do once what need be done once."""
    generator: Any = sys.modules.get(_GENERATOR)
    if generator is None or isinstance(getattr(generator, "inspect", None), _Inspect):
        return
    if getattr(generator, "warnings", None) is warnings:
        generator.warnings = _Warnings()
    if getattr(generator, "inspect", None) is inspect:
        generator.inspect = _Inspect()
    _name_tuples_when_asked(getattr(sys.modules.get("triton.language.core"), "tuple_type", None))
    kind = getattr(sys.modules.get("triton.runtime.jit"), "JITFunction", None)
    if kind is not None and hasattr(kind, "parse"):
        kind.parse = _parse_once(kind.parse)


def _parse_once(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(parse)
    def parsed(self: Any) -> Any:
        if PACKAGE not in self.fn.__code__.co_filename:
            return parse(self)
        source, tree = vars(self).get("_parsed", ("", None))
        if tree is None or source != self.src:
            source = self.src
            tree = parse(self)
            self._parsed = source, tree
        return tree

    return parsed


def _name_tuples_when_asked(kind: Any) -> None:
    """A kernel's values have tuples for their shapes, whose types print all numbers in names that nobody reads."""
    made = getattr(kind, "__init__", None)
    code = getattr(made, "__code__", None)
    known = {"fields", "join", "len", "name", "types", "zip"}
    if made is None or code is None or not {"fields", "name", "types"} <= set(code.co_names) <= known:
        return  # another Triton

    def name(self: Any) -> str:
        return f"[{','.join(f'{field}:{inner}' for field, inner in zip(self.fields, self.types, strict=False))}]"

    def __init__(self: Any, types: Any, fields: Any = None) -> None:
        self.types = types
        self.fields = fields or [""] * len(types)

    kind.name, kind.__init__ = functools.cached_property(name), functools.wraps(made)(__init__)
    kind.name.__set_name__(kind, "name")
