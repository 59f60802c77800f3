"""Work of LLVM beside Python's, on another core: LLVM needs no interpreter while it works.

    task = begin(lambda: llvm.compile_object(text, name="relu"))
    ...  # the next kernel is lowered meanwhile
    obj = task.result()

One thread works off what was begun, in that order. Who asks for a result that nobody has begun makes it, and who would
have to wait for one does other things that wait meanwhile. So nothing is lost where there is no thread: while the
interpreter ends, and in a child that was forked meanwhile.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from opweave.registry import forking
from opweave.registry.interrupts import contextmanager, leave_to_others, let_through

T = TypeVar("T")


class Task(Generic[T]):
    """Something that is made once, by whoever comes first.

    Parameters
    ----------
    work : callable
        Makes it.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work: Callable[[], T] | None = work
        self._lock = forking.lock()
        self._made: Any = None
        self._error: Exception | None = None

    def result(self) -> T:
        """What it made, or its exception."""
        with busily(self._lock):
            if self._work is not None:
                try:
                    self._made = self._work()
                except Exception as error:
                    let_through(error)
                    self._error = error
                self._work = None
        if self._error is not None:
            raise self._error
        return self._made

    def run(self) -> None:
        """Have it made; whoever asks for the result will be told if it fails."""
        try:
            self.result()
        except Exception as error:
            let_through(error)


@contextmanager
def busily(lock: Any) -> Iterator[None]:
    """Hold a lock; what waits to be done is done while another thread has it."""
    while not lock.acquire(blocking=False):
        other = _take()
        if other is None:
            lock.acquire()
            break
        other.run()
    try:
        yield
    finally:
        lock.release()


_waiting: deque[Task[Any]] = deque()
#: Held for moments: who takes the last task leaves before another may be begun.
_state = forking.short_lock()
_is_running = False


def begin(*works: Callable[[], T], first: bool = False) -> list[Task[T]]:
    """Have some things made one after the other; the process ends no sooner than it.

    Parameters
    ----------
    *works : callable
        Each makes one.
    first : bool
        Whether they go before what was begun earlier.
    """
    global _is_running
    tasks = [Task(work) for work in works]
    if not tasks or _cores() == 1:
        return tasks
    with _state:
        if first:
            _waiting.extendleft(reversed(tasks))
        else:
            _waiting.extend(tasks)
        if not _is_running:
            try:
                threading.Thread(target=_work_off, name="opweave: native code").start()
                _is_running = True
            except RuntimeError as error:  # there are no new threads while the interpreter ends
                let_through(error)
    return tasks


def _work_off() -> None:
    global _is_running
    leave_to_others()
    while True:
        with _state:
            task = _take()
            if task is None:
                _is_running = False
                return
        task.run()


def _take() -> Task[Any] | None:
    """The next thing to do."""
    with _state:
        return _waiting.popleft() if _waiting else None


def _cores() -> int:
    """How many this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _renew() -> None:
    """In a forked child: the thread is the parent's."""
    global _is_running
    _waiting.clear()
    _is_running = False


forking.after_fork_in_child(_renew)
