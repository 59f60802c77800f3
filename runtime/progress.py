"""A line on the terminal while a compilation takes long: what it is at, and since when.

Where standard error is no terminal nothing is done. A thread writes the line, from the second second on; compiling only
says what it does, which is one assignment. `OPWEAVE_PROGRESS=0` switches it off.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator

from opweave.registry.interrupts import contextmanager, leave_to_others, let_through

#: Seconds before the first line, and between two.
FIRST, NEXT = 1.0, 0.2
_CLEAR = "\r\x1b[2K"

#: What the compilation that is shown is at; and whether there is one.
doing = ""
_shown = False


def now(what: str) -> None:
    """Say what is done from now on."""
    global doing
    doing = what


@contextmanager
def shown(name: str) -> Iterator[None]:
    """Within the block a line is shown, unless one is already or there is no terminal.

    Parameters
    ----------
    name : str
        The function that is compiled.
    """
    global _shown
    if _shown or not _wanted():
        yield
        return
    _shown, ended = True, threading.Event()
    now("tracing")
    thread = threading.Thread(target=_show, args=(name, ended), name="opweave progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        _shown = False
        ended.set()
        thread.join()


def _wanted() -> bool:
    if os.environ.get("OPWEAVE_PROGRESS", "1") in ("", "0"):
        return False
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError) as error:  # there is none, or it was closed
        let_through(error)
        return False


def _show(name: str, ended: threading.Event) -> None:
    leave_to_others()
    start, written = time.monotonic(), False
    wait = FIRST
    while not ended.wait(wait):
        wait, written = NEXT, True
        if not _write(f"{_CLEAR}opweave: compiling {name}, {time.monotonic() - start:.0f} s: {doing}"):
            return
    if written:
        _write(_CLEAR)


def _write(text: str) -> bool:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError) as error:  # the terminal is gone
        let_through(error)
        return False
    return True
