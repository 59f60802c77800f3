"""Tracebacks as a user reads them: the user's frames, and one line for those of opweave between them.

The exception itself stays whole: its frames are left out only where one that nobody caught is printed, by
`sys.excepthook`, by `threading.excepthook`, by IPython (which asks an `OpweaveError` how it wants to be shown), and by
the plugin of pytest. Debuggers and `logging` see every frame. `OPWEAVE_TRACEBACK=full` leaves them in everywhere, and
so does an exception that opweave did not raise on purpose, whose frames a report of it needs.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from opweave.registry.errors import OpweaveError, is_own_file, is_own_package


def shortened(error: BaseException, trace: TracebackType | None) -> tuple[TracebackType | None, int]:
    """A traceback without the frames of opweave, and how many these are.

    Libraries that opweave was called by, or called, are left out with it; alone they stay.

    Parameters
    ----------
    error : BaseException
        What was raised.
    trace : traceback or None
        Its traceback.
    """
    frames: list[TracebackType] = []
    step = trace
    while step is not None:
        frames.append(step)
        step = step.tb_next
    kept: list[TracebackType] = []
    run: list[TracebackType] = []
    last_is_own = False
    for frame in frames:
        file = frame.tb_frame.f_code.co_filename
        if is_own_file(file):
            run.append(frame)
            continue
        if not any(is_own_package(f.tb_frame.f_code.co_filename) for f in run):
            kept += run
        kept.append(frame)
        run = []
    if run:
        last_is_own = any(is_own_package(f.tb_frame.f_code.co_filename) for f in run)
        if not last_is_own:
            kept += run
    by_accident = last_is_own and not isinstance(error, OpweaveError)
    if not kept or by_accident or len(kept) == len(frames):
        return trace, 0
    made: TracebackType | None = None
    for frame in reversed(kept):
        made = TracebackType(made, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return made, len(frames) - len(kept)


@contextmanager
def shown_short(error: BaseException) -> Iterator[None]:
    """Within it, an error and what it came from have short tracebacks; after that they are as they were."""
    seen: dict[int, tuple[BaseException, TracebackType | None]] = {}
    todo: list[BaseException | None] = [error]
    omitted = 0
    while todo:
        each = todo.pop()
        if each is None or id(each) in seen:
            continue
        seen[id(each)] = each, each.__traceback__
        todo += [each.__cause__, each.__context__]
        each.__traceback__, count = shortened(each, each.__traceback__)
        omitted += count
    before = getattr(error, "__notes__", None)
    if omitted:
        frames = "1 frame" if omitted == 1 else f"{omitted} frames"
        error.__notes__ = [*(before or ()), f"({frames} inside opweave left out: OPWEAVE_TRACEBACK=full shows them)"]
    try:
        yield
    finally:
        for each, trace in seen.values():
            each.__traceback__ = trace
        if omitted:
            if before is None:
                del error.__notes__
            else:
                error.__notes__ = before


def is_full() -> bool:
    """Whether the environment asks for every frame."""
    return os.environ.get("OPWEAVE_TRACEBACK", "") == "full"


def lines_of(error: BaseException) -> list[str]:
    """An error with its traceback, as it is printed, a line each."""
    import traceback  # it loads much, for what rarely happens

    if is_full():
        return traceback.format_exception(error)
    with shown_short(error):
        return traceback.format_exception(error)


def _rendered(error: OpweaveError) -> list[str]:
    return "".join(lines_of(error)).splitlines()


def install() -> None:
    """Have exceptions that nobody catches printed short, by whatever prints them now."""
    if is_full():
        return
    setattr(OpweaveError, "_render_traceback_", _rendered)  # noqa: B010  # what IPython asks for
    uncaught, in_thread = sys.excepthook, threading.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if is_full() or trace is not error.__traceback__:
            uncaught(kind, error, trace)
            return
        with shown_short(error):
            uncaught(kind, error, error.__traceback__)

    def thread_excepthook(args: threading.ExceptHookArgs) -> None:
        error = args.exc_value
        if error is None or is_full():
            in_thread(args)
            return
        with shown_short(error):
            in_thread(threading.ExceptHookArgs((args.exc_type, error, error.__traceback__, args.thread)))

    sys.excepthook, threading.excepthook = excepthook, thread_excepthook
