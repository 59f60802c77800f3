"""When handlers of signals may run.

Python runs the handler of a signal in the main thread, between any two of its instructions, and the exception that the
handler raises (`KeyboardInterrupt`) starts there. Some places do not bear that: an import leaves a half-made module
behind, a library keeps its lock or a mark in a table, and a library that catches whatever its input leads to makes
another error of the exception, or none.

Such work runs inside `deferred()`. A handler that becomes due there waits, and is called at the next `checkpoint()`, in
an `allowed()` window (for code of the user's) or at the end. What it raises arrives as it is: where something in
between turned or swallowed it, it is raised at the end of the outermost section.

Elsewhere, whoever catches exceptions of any class, to explain them or to go on, calls `let_through`: it knows what a
handler raised by the handler's frame, which alone is given the frame that it interrupted.

What a `with` statement changes is put back by an `__exit__` that is decorated with `surely`, or by a generator that
is decorated with `contextmanager` from here: a handler that runs on the way into `__exit__` cannot prevent it.

Threads other than the main one never run handlers; there, all of this does nothing.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, ParamSpec, TypeVar

#: Seconds after which a signal that comes again is handled inside a section too: what runs there seems to hang.
PATIENCE = 5.0

_SIGNALS = tuple(int(number) for number in signal.valid_signals())
#: Python's own functions below `signal`'s: those make enumeration members of numbers, which takes most of a section.
_handler_of: Callable[[int], Any] = getattr(sys.modules.get("_signal"), "getsignal", signal.getsignal)
_set_handler: Callable[[int, Any], Any] = getattr(sys.modules.get("_signal"), "signal", signal.signal)
Handler = Callable[[int, FrameType | None], Any]
P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


#: What a thread's own instructions bring about, which no other thread can take.
_OF_A_THREAD = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS", "SIGABRT"}


def leave_to_others() -> None:
    """Let the calling thread, which is not the main one, take no signals.

    The system gives a signal to any thread that takes it, and Python, whose handlers run in the main one, may then
    notice it late.
    """
    if hasattr(signal, "pthread_sigmask"):
        own = {getattr(signal, name, None) for name in _OF_A_THREAD}
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - own)


class _Gate:
    """The handler in the place of all others while a section runs; of the main thread alone.

    Attributes
    ----------
    depth : int
        Sections that the main thread is in, 0 inside a window.
    stubborn : int
        Those of them that are not left for a signal that comes again.
    pending : dict of int to float
        Signals whose handlers wait, and since when.
    replaced : dict of int to callable
        The handlers.
    raised : BaseException or None
        What a handler raised inside the outermost section.
    thread : int
        The main thread when the outermost section began.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.stubborn = 0
        self.pending: dict[int, float] = {}
        self.replaced: dict[int, Handler] = {}
        self.raised: BaseException | None = None
        self.thread = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.depth:
            since = self.pending.setdefault(number, time.monotonic())
            if self.stubborn or time.monotonic() - since < PATIENCE:
                return
            del self.pending[number]
        handler = self.replaced.get(number)
        if handler is None:
            return
        try:
            handler(number, frame)
        except BaseException as error:
            if self.depth:
                self.raised = error
            raise

    def close(self) -> None:
        """Take the place of all handlers that are written in Python."""
        for number in _SIGNALS:
            handler = _handler_of(number)
            if callable(handler) and handler is not self:
                self.replaced[number] = handler
                _set_handler(number, self)

    def renew(self) -> None:
        """In a forked child: what waits is the parent's, and if another thread forked, so is the section."""
        self.pending.clear()
        if self.depth and threading.get_ident() != self.thread:
            self.open()
            self.depth = self.stubborn = 0
            self.raised = None

    def open(self) -> None:
        """Put the handlers back, but where another was set meanwhile. One that is not is called by this object."""
        for number, handler in [*self.replaced.items()]:
            if _handler_of(number) is self:
                _set_handler(number, handler)
            del self.replaced[number]


_gate = _Gate()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_gate.renew)


def _in_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def _deliver(frame: FrameType | None) -> None:
    """Call the handlers that waited; all of them, whatever one raises."""
    if not _gate.pending:
        return
    number = next(iter(_gate.pending))
    del _gate.pending[number]
    try:
        handler = _handler_of(number)
        if callable(handler):
            handler(number, frame)
    finally:
        _deliver(frame)


class deferred:
    """A section in which no handler of a signal runs.

    Parameters
    ----------
    patient : bool
        Whether a signal that comes again after `PATIENCE` seconds is handled at once. An import, which must not be
        left in the middle, says no.

    Examples
    --------
    >>> with deferred():
    ...     import sympy
    """

    __slots__ = ("_depth", "_stubborn", "_within")

    def __init__(self, *, patient: bool = True) -> None:
        self._stubborn = not patient
        self._within = False
        self._depth = 0

    def __enter__(self) -> None:
        gate = _gate
        self._depth = gate.depth
        if self._depth and gate.thread == threading.get_ident():
            self._within = True
            gate.stubborn += self._stubborn
            gate.depth = self._depth + 1
            return
        if not _in_main_thread():
            return
        self._depth = gate.depth
        if not self._depth:
            try:
                gate.close()
            except BaseException:
                gate.open()
                raise
            gate.thread = threading.get_ident()
        self._within = True
        gate.stubborn += self._stubborn
        gate.depth = self._depth + 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._within:
            return
        gate = _gate
        gate.stubborn -= self._stubborn
        if self._depth:
            gate.depth = self._depth
            return
        gate.open()
        gate.depth = 0
        raised, gate.raised = gate.raised, None
        try:
            _deliver(sys._getframe(1))
        finally:
            if raised is not None and raised is not error:
                raise raised from raised.__cause__


class allowed:
    """A window in a section: handlers run as if there were no section. It does nothing elsewhere."""

    __slots__ = ("_depth", "_stubborn")

    def __init__(self) -> None:
        self._depth = self._stubborn = 0

    def __enter__(self) -> None:
        gate = _gate
        if not gate.depth or not _in_main_thread():
            return
        self._depth, self._stubborn = gate.depth, gate.stubborn
        gate.open()
        gate.depth = gate.stubborn = 0
        try:
            _deliver(sys._getframe(1))
        except BaseException as error:
            self.__exit__(type(error), error, None)
            gate.raised = error
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._depth:
            gate = _gate
            gate.close()
            gate.depth, gate.stubborn = self._depth, self._stubborn


def checkpoint() -> None:
    """Call the handlers that wait, if any: a place in a section that bears an exception."""
    if _gate.pending and _in_main_thread():
        with allowed():
            pass


def let_through(error: BaseException) -> None:
    """Raise what the handler of a signal raised, if that is what was caught, or what it was made of.

    Parameters
    ----------
    error : BaseException
        What an `except` clause for any class caught.
    """
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        if _left_handler(each):
            raise each from each.__cause__
        waiting += [each.__context__, each.__cause__]


def _left_handler(error: BaseException) -> bool:
    step = error.__traceback__
    while step is not None:
        frame = step.tb_frame
        if frame.f_code is _deliver.__code__:
            return True
        caller = frame.f_back
        if caller is not None and frame.f_code.co_argcount + bool(frame.f_code.co_flags & inspect.CO_VARARGS) > 0:
            for value in [*frame.f_locals.values()][:4]:
                if value is caller or (type(value) is tuple and any(item is caller for item in value)):
                    return True
        step = step.tb_next
    return False


def is_deferring() -> bool:
    """Whether the calling thread is in a section."""
    return _gate.depth > 0 and _in_main_thread()


# ---- leaving a `with` statement ------------------------------------------------------------------------------------


def surely(function: F) -> F:
    """Let the first `try` of a function cover its entry too.

    Python runs handlers where a function is entered, before its first statement, so that what one raises would leave an
    `__exit__` undone. Here it arrives in the `try`, whose `finally` or `except` clause then does the work; without
    calls, after which handlers run as well, or so that it can be done twice. (The table of a code object says from
    which instruction on a `try` holds; Python's ``InternalDocs/exception_handling.md`` describes it.)

    Examples
    --------
    >>> @surely
    ... def __exit__(self, *_):
    ...     try:
    ...         _entered = True  # any instruction
    ...     finally:
    ...         state.include = self.before
    """
    code = function.__code__
    entry = next((i.offset // 2 for i in dis.get_instructions(code) if i.opname == "RESUME"), None)
    numbers = list(_numbers(code.co_exceptiontable))  # of each range: start, length, handler, depth
    first = min(range(0, len(numbers), 4), key=lambda at: numbers[at], default=None)
    if entry is not None and first is not None and numbers[first] - entry <= _NEXT:
        numbers[first + 1] += numbers[first] - entry
        numbers[first] = entry
        table = b"".join(_varint(n, starts=at % 4 == 0) for at, n in enumerate(numbers))
        function.__code__ = code.replace(co_exceptiontable=table)
    return function


#: A `try` that comes first starts within as many instructions of the entry; one that is further on is another one.
_NEXT = 2


def _numbers(table: bytes) -> Iterator[int]:
    number = 0
    for byte in table:
        number = number << 6 | byte & 0x3F
        if not byte & 0x40:
            yield number
            number = 0


def _varint(number: int, *, starts: bool) -> bytes:
    """Six bits a byte, the highest ones first; 64 says that more follow, 128 that a range starts."""
    digits = [number & 0x3F]
    while number := number >> 6:
        digits.append(number & 0x3F | 0x40)
    digits[-1] |= 0x80 * starts
    return bytes(reversed(digits))


class _Scope(contextlib._GeneratorContextManager[Any]):
    def __enter__(self) -> Any:
        try:
            return super().__enter__()
        except BaseException:
            self.gen.close()
            raise

    @surely
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        try:
            return super().__exit__(kind, error, traceback)
        except BaseException:
            self.gen.close()  # goes on to its `finally`, if it has not
            raise


def contextmanager(function: Callable[P, Iterator[R]]) -> Callable[P, contextlib.AbstractContextManager[R]]:
    """As `contextlib.contextmanager`, but no handler of a signal can keep the block's end from being run."""

    @functools.wraps(function)
    def entered(*args: P.args, **kwargs: P.kwargs) -> contextlib.AbstractContextManager[R]:
        return _Scope(function, args, kwargs)  # type: ignore[arg-type]  # generators, declared as iterators

    return entered
