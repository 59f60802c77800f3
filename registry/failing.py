"""What is said of an exception that a user's kernel raised: in which op, with what, called from where."""

from __future__ import annotations

import linecache
import re
import sys
from types import FrameType
from typing import Any

from opweave.registry.errors import is_own_file, user_frame
from opweave.registry.tensor import describe

#: At the end of a line of generated code: the line of the user's that it comes from.
_ORIGIN = r"# ([^\s#]+:\d+)\s*$"


def note_op(op: Any, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Add to an exception, which stays what it is, the op whose kernel raised it.

    Parameters
    ----------
    op : OpOverload
        The op.
    error : BaseException
        What its kernel raised.
    args, kwargs
        What the kernel was given.
    """
    given = [*map(describe, args), *(f"{name}={describe(value)}" for name, value in kwargs.items())]
    text = ", ".join(each if len(each) <= 60 else each[:57] + "..." for each in given)
    origin = _origin(sys._getframe(1))
    # The caller's line, and in compiled code also the line that became the call.
    at = f"{origin}, compiled, in the call at {user_frame()}" if origin else str(user_frame())
    error.add_note(f"in the op {op}({text}), called at {at}")


def _origin(frame: FrameType | None) -> str | None:
    """The user's line that the nearest line of generated code was made from, if there is one below the user's code."""
    while frame is not None and is_own_file(frame.f_code.co_filename):
        if not frame.f_code.co_filename.startswith("<opweave"):
            found = re.search(_ORIGIN, linecache.getline(frame.f_code.co_filename, frame.f_lineno))
            if found:
                return found[1]
        frame = frame.f_back
    return None
