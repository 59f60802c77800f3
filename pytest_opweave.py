"""`pytest --opweave-sanitize`: run each test's Triton kernels on the CPU in the sanitizer.

A test fails where a kernel of it reads or writes what it should not; the failure names the kernel, the line and what is
wrong. `@pytest.mark.opweave_sanitize(False)` leaves a test out, `@pytest.mark.opweave_sanitize` checks one without the
option. Without either nothing of opweave is imported.

Errors that opweave raised on purpose are shown with the frames of the test and of what it calls, and one line for those
inside opweave; `--full-trace`, and `OPWEAVE_TRACEBACK=full`, show all.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

_MARK = "opweave_sanitize"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("opweave")
    group.addoption(
        "--opweave-sanitize", action="store_true", help="run the Triton kernels of each test in opweave's sanitizer"
    )
    group.addoption(
        "--opweave-sanitize-benign", action="store_true",
        help="also report programs of a kernel that write the same value to one element; implies --opweave-sanitize",
    )  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark."""
    config.addinivalue_line("markers", f"{_MARK}(enabled=True): run this test's Triton kernels in opweave's sanitizer")


def _loaded() -> Any:
    import opweave
    from opweave.registry.errors import MissingTritonError

    try:
        _ = opweave.sanitize
    except MissingTritonError as error:
        raise pytest.UsageError(f"--opweave-sanitize: {error}") from None
    return opweave


def _wanted(item: pytest.Item) -> bool:
    mark = item.get_closest_marker(_MARK)
    if mark is not None:
        return bool(mark.args[0] if mark.args else mark.kwargs.get("enabled", True))
    return bool(item.config.getoption("--opweave-sanitize") or item.config.getoption("--opweave-sanitize-benign"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Run a test, its fixtures included, within `opweave.sanitize`."""
    with ExitStack() as stack:
        if _wanted(item):
            opweave = _loaded()
            benign = bool(item.config.getoption("--opweave-sanitize-benign"))
            stack.enter_context(opweave.sanitize(benign=benign))
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[Any]:
    """Report an error of opweave by the frames of the user; tests of opweave itself see every frame."""
    tracebacks: Any = sys.modules.get("opweave.registry.tracebacks")
    found = call.excinfo
    if tracebacks is None or found is None or item.config.getoption("fulltrace") or tracebacks.is_full():
        return (yield)
    trace, omitted = tracebacks.shortened(found.value, found.value.__traceback__)
    if not omitted or Path(sys.modules["opweave"].__path__[0]).parent in item.path.parents:
        return (yield)
    found.traceback = type(found.traceback)(trace)
    with tracebacks.shown_short(found.value):
        return (yield)
