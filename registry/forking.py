"""What a forked child has to make its own: locks that nobody there releases, and folders that are not its to remove.

A fork copies a process with one of its threads. A lock that another thread held stays locked in the child for good, and
what it guards may be half changed. So every lock of opweave is made here, and is one of two sorts:

* `short_lock`: held for moments, never while code of the user's runs. A fork waits until it can hold them all, so that
  the child gets what they guard whole.
* `lock`: may be held for long (while a function is traced, which runs the user's code). It is free in the child, and
  what it guards bears being left in the middle by a thread that is gone.

Both are reentrant: whoever forks may hold some, in a signal handler or a finaliser.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

from opweave.registry import interrupts
from opweave.registry.references import References

#: Seconds that a fork waits for locks. One that is not free by then is likely to wait for whoever forks.
PATIENCE = 10.0

_locks: References[Any] = References()
_short: list[Any] = []
#: What threads that fork hold, by thread: several may be at it.
_held: dict[int, list[Any]] = {}
_foreign: list[Callable[[], Any]] = []
#: Whether a process had one thread only when it last forked.
_alone = True


def lock() -> Any:
    """A reentrant lock that is free in a forked child, unless the thread that forked holds it."""
    made: Any = threading.RLock()
    _locks.add(made)
    return made


def locks() -> list[Any]:
    """All locks there are, those of other libraries included."""
    return [*_locks, *(found for find in _foreign if (found := find()) is not None)]


def short_lock() -> Any:
    """A reentrant lock, for a module, that forks wait for; never to be held while code of the user's runs."""
    made = lock()
    _short.append(made)
    return made


def guard_library(find: Callable[[], Any]) -> None:
    """Have forks wait for a lock that belongs to another library.

    Parameters
    ----------
    find : callable
        Gives the lock, a `threading.RLock`; None while there is none.
    """
    _foreign.append(find)


def after_fork_in_child(function: Callable[[], None]) -> None:
    """Call a function in each forked child, when locks are in order there."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=function)


def temporary_folder(prefix: str, parent: str | None = None) -> str:
    """A new folder, removed when this process ends: not when a child that was forked from it does."""
    import tempfile  # it loads much, and few processes need it

    path = tempfile.mkdtemp(prefix=prefix, dir=parent)
    atexit.register(_remove, path, os.getpid())
    return path


def _remove(path: str, owner: int) -> None:
    if os.getpid() == owner:
        import shutil

        shutil.rmtree(path, ignore_errors=True)


def _before() -> None:
    """Hold all short locks: while it waits for one, it holds none, so that it is part of no deadlock."""
    global _alone
    _alone = len(sys._current_frames()) == 1
    with interrupts.deferred(patient=False):
        held = _held.setdefault(threading.get_ident(), [])
        wanted = [*_short, *(found for find in _foreign if (found := find()) is not None)]
        until = time.monotonic() + PATIENCE
        awaited: Any = None
        while True:
            if awaited is not None and awaited.acquire(timeout=max(until - time.monotonic(), 0)):
                held.append(awaited)
            late = time.monotonic() > until
            missing = None
            for each in wanted:
                if any(each is other for other in held):
                    continue
                if each.acquire(blocking=False):
                    held.append(each)
                else:
                    missing = each
                    if not late:
                        break
            if missing is None or late:
                return
            _release()
            held = _held.setdefault(threading.get_ident(), [])
            awaited = missing


def _release() -> None:
    for each in _held.pop(threading.get_ident(), ()):
        each.release()


def _renew() -> None:
    """Free what threads that are not here held."""
    _release()
    _held.clear()
    for each in locks():
        if not each._is_owned():
            each._at_fork_reinit()
    if sys.version_info < (3, 12) and not _alone:
        # Each has a lock, which it holds while a value is computed, those of other libraries too.
        for found in gc.get_referrers(cached_property):
            if type(found) is cached_property:
                found.lock = threading.RLock()  # type: ignore[attr-defined]  # has one there


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_renew)
