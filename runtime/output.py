"""Output that a traced function makes: compiled code would do without it, so it is refused rather than lost.

So is the question whether the type of a traced value is `Tensor`, which it would answer with no.

A profile function of the tracing thread sees each call of `print` and each log record that is about to be written, and
only those: a `print` that stands in the code but is not reached, or a log message below its level, is no obstacle.
"""

from __future__ import annotations

import builtins
import logging
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from opweave.registry.errors import UnsupportedError, is_own_file
from opweave.registry.interrupts import contextmanager
from opweave.runtime.guards import GuardSet
from opweave.runtime.reads import scan

_HANDLE = logging.Logger.handle.__code__


@contextmanager
def refused(guards: GuardSet) -> Iterator[None]:
    """Raise where the code in the block prints or logs, if the guarded code mentions either at all.

    Raises
    ------
    UnsupportedError
        At the user's line; again at the end, should the traced code have caught it.
    """
    for function in guards.scope.functions:
        asked = scan(function.__code__).asked_type
        if asked is not None:
            raise UnsupportedError(
                "compile: the type of a traced tensor is not Tensor", got="type(...) compared with a class of tensors",
                at=asked, hint="isinstance(x, opweave.Tensor) asks the same, and compiles",
            )  # fmt: skip
    # A profiler that is running cannot be put back from Python, so it goes first.
    if not _mentions_output(guards) or sys.getprofile() is not None:
        yield
        return
    errors: list[UnsupportedError] = []

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        if event == "c_call" and argument is builtins.print and not is_own_file(frame.f_code.co_filename):
            errors.append(_error("print", "return the value and print it outside, or call print in a custom_op"))
            raise errors[0]
        if event == "call" and frame.f_code is _HANDLE:
            record = frame.f_locals.get("record")
            if not (record is not None and record.name.partition(".")[0] == "opweave"):
                errors.append(_error("a log message", "log outside of the compiled function"))
                raise errors[0]

    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(None)
    if errors:
        raise errors[0]


def _error(what: str, hint: str) -> UnsupportedError:
    return UnsupportedError(
        f"compile: {what} inside a compiled function would come only when it is traced",
        got="output while tracing",
        hint=hint,
    )


def _mentions_output(guards: GuardSet) -> bool:
    if any(isinstance(value, logging.Logger) for value in guards.constants.values()):
        return True
    return any(
        name.path[0] == "print" and name.kind == "global" and "print" not in function.__globals__
        for function in guards.scope.functions
        for name in scan(function.__code__).names
    )
