"""`opweave explain` and `opweave report`: of a function in a script, or of all that a script compiles."""

from __future__ import annotations

import argparse
import inspect
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import opweave
from opweave.explaining import explain
from opweave.registry.errors import ArgumentError
from opweave.registry.interrupts import let_through
from opweave.reporting.observing import report

#: The name of a function's attribute that holds what it may be called with.
_EXAMPLE = "example"


def run(given: argparse.Namespace) -> int:
    """Run the command."""
    script, name = _parts(given.target)
    if given.command == "report" and name is None:
        return _report_of_script(given, script)
    if getattr(given, "arguments", None):
        raise ArgumentError(
            "a function's arguments are given as Python",
            got=" ".join(given.arguments),
            hint='--args "randn(4, 8), n=2"',
        )
    if name is None:
        raise ArgumentError("explain: which function?", got=given.target, hint=f"opweave explain {script}:FUNCTION")
    module = _loaded(script)
    function = _found(module, script, name)
    args, kwargs = _arguments(module, function, given.args, given.target)
    if given.command == "explain":
        print(explain(function)(*args, **kwargs))
        return 0
    found = report(function, measure=not given.no_measure)(*args, **kwargs)
    print(found.text)
    path = found.save(given.output or f"{name}.html")
    print(f"\n{path}")
    if given.trace:
        print(found.trace(given.trace))
    return 0


def _parts(target: str) -> tuple[Path, str | None]:
    file, colon, name = target.rpartition(":")
    if not colon or os.path.exists(target):
        return Path(target), None
    if not file or not name:
        raise ArgumentError("a script and a function are needed", got=target, hint="model.py:step")
    return Path(file), name


def _loaded(script: Path) -> types.ModuleType:
    """The script as a module, whose `if __name__ == "__main__"` part does not run."""
    if not script.is_file():
        raise ArgumentError("there is no such file", got=str(script))
    name = script.stem
    module = types.ModuleType(name)
    module.__file__ = str(script.resolve())
    sys.modules.setdefault(name, module)
    sys.path.insert(0, str(script.resolve().parent))
    exec(compile(script.read_bytes(), module.__file__, "exec"), vars(module))
    return module


def _found(module: types.ModuleType, script: Path, name: str) -> Callable[..., Any]:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            names = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
            raise ArgumentError(f"{script} has no {name}", hint=f"it has {', '.join(names) or 'no functions'}")
        found = getattr(found, part)
    if not callable(found):
        raise ArgumentError(f"{name} is no function", got=type(found).__name__)
    return found


def _arguments(
    module: types.ModuleType, function: Any, text: str | None, target: str
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What to call a function with: as it was said, its own example, or nothing where it takes nothing."""
    if text is not None:
        names = {**vars(opweave), **{name: getattr(opweave, name) for name in opweave.__all__}, **vars(module)}
        names["_ow_given"] = lambda *args, **kwargs: (args, kwargs)
        try:
            return eval(f"_ow_given({text}\n)", names)
        except SyntaxError as error:
            raise ArgumentError(
                "--args: not what stands in a call", got=text, hint=f'{error.msg}; --args "randn(4, 8), n=2"'
            ) from None
    example = getattr(function, _EXAMPLE, None)
    if example is not None:
        found = example() if callable(example) else example
        return (tuple(found), {}) if isinstance(found, (tuple, list)) else ((found,), {})
    try:
        needed = [p.name for p in inspect.signature(function).parameters.values() if _is_needed(p)]
    except (TypeError, ValueError) as error:  # what has no signature
        let_through(error)
        needed = []
    if needed:
        raise ArgumentError(
            f"{target} takes {', '.join(needed)}",
            hint=f"--args '...', or in the script: {function.__name__}.{_EXAMPLE} = (x, y)",
        )
    return (), {}


def _is_needed(parameter: inspect.Parameter) -> bool:
    kinds = (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and parameter.kind not in kinds


def _report_of_script(given: argparse.Namespace, script: Path) -> int:
    """Run a script in a process of its own, which writes a page for each function that it compiles."""
    if not script.is_file():
        raise ArgumentError("there is no such file", got=str(script))
    if given.args or given.trace:
        option = "--args" if given.args else "--trace"
        raise ArgumentError(f"{option} is for one function", hint=f"opweave report {script}:FUNCTION")
    folder = Path(given.output or f"{script.stem}-report").resolve()
    before = _pages(folder)
    environment = {**os.environ, "OPWEAVE_REPORT": str(folder)}
    code = subprocess.call([sys.executable, str(script), *given.arguments], env=environment)
    written = [path for path, time in _pages(folder).items() if before.get(path) != time]
    for path in written:
        print(path)
    if not written:
        print(f"opweave report: {script} compiled nothing", file=sys.stderr)
    return code or (0 if written else 1)


def _pages(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in sorted(folder.glob("*.html"))}
