"""The thread pool that runs a kernel's programs, in native code: it never needs the interpreter or its lock.

A *job* is a range of programs of one kernel. The thread that starts a job works on it too; helpers join while it is
open. Each has a part of the programs, of which it takes chunks, and then takes those that are left of the others'
parts. The parts are the same from job to job: what a kernel made lies in the cache of the thread that reads it next.
The caller never waits for a helper to show up, only for those that did join to finish the chunk they are on, so a
helper that the system has not scheduled costs nothing.

Jobs that are too short to be worth a helper run on the caller alone; for one that is awake, since it polls for a while
after a job, less is worth it than for one that sleeps. How long a program takes is measured, not guessed: each kernel
remembers its last figure, and a launch that seems short first runs a few programs by itself.

The system may wake a helper on the processor of the thread that woke it, and leave both there while another is free,
for tens of milliseconds. So a helper that finds a thread of its job on its processor moves to another, and its caller
moves those that do not come. They may run wherever they might before.

One job runs at a time; a thread that finds the pool taken runs its job alone. After a fork the pool belongs to a
process id that is not the child's, by which the child knows to start threads of its own. The handler of a signal may
fork in the middle of a job: helpers finish what they are on before, and the rest is the forking thread's in both.

A job of the main thread that takes long asks the interpreter now and then, between programs, whether a signal has come.
Its handler runs at once, while helpers go on; if it raises, no more programs are started and the exception is the
launch's.
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from opweave.codegen import native as native_code
from opweave.codegen.native import functions, objects
from opweave.registry import forking
from opweave.registry.errors import ArgumentError
from opweave.registry.interrupts import contextmanager

TINY_NS = 2e3
"""A kernel of one program that took less is not timed again as long as it is about that short."""
PROBE_NS = 5e3
"""Work that the caller does before it decides whether helpers are worth waking."""
SERIAL_NS = 15e3
"""Remaining work that is not worth waking helpers for."""
READY_NS = 5e3
"""The same if a helper is awake."""
PARALLEL_NS = 100e3
"""Expected work from which helpers are woken without a probe."""

LATE_NS = 30e3
"""Time after which a helper that was woken for a job should have come to it."""
CHECK_NS = 50e6
"""Time after which a job asks whether a signal has come."""
PIECE_NS = 5e6
"""Time that one call of a kernel's code should take at most, if it runs several programs; they share what they pack."""

_SPINS = 3000  # polls of a helper before it sleeps: about 50 µs
_CHUNKS_PER_THREAD = 8  # enough to even out threads that are slow or busy elsewhere
_CHUNK_NS = 20e6  # longest chunk, if several programs: until a job that is to stop does
_STACK_BYTES = 8 << 20
_PARTS = 128  # of a job's programs, at most, and so threads that share them


def source(of: str | None = None) -> str:
    """The pool's LLVM IR, for this processor or another."""
    # A counter of cycles runs at about three a nanosecond.
    ticks_per_ns = 3 if (of or native_code.machine()) == "x86_64" else 1
    numbers: dict[str, object] = {
        "CLOCK": time.CLOCK_MONOTONIC,
        "PIECE_TICKS": int(PIECE_NS * ticks_per_ns),
        "TINY_NS": f"{TINY_NS:e}",
        "TINY_TICKS": int(10 * TINY_NS * ticks_per_ns),
        "PIECE_NS": f"{PIECE_NS:e}",
        "CHUNK_NS": f"{_CHUNK_NS:e}",
        "CHECK_NS": int(CHECK_NS),
        "LATE_NS": int(LATE_NS),
        "SPINS": _SPINS,
        "SIG_SETMASK": int(signal.SIG_SETMASK),
        "STACK_BYTES": _STACK_BYTES,
        "PARALLEL_NS": f"{PARALLEL_NS:e}",
        "READY_NS": f"{READY_NS:e}",
        "PROBE_NS": f"{PROBE_NS:e}",
        "SERIAL_NS": f"{SERIAL_NS:e}",
        "CHUNKS_PER_THREAD": _CHUNKS_PER_THREAD,
        "PARTS": _PARTS,
        "ALL": _PARTS + 1,
        "KNOWN_BYTES": 16 * (_PARTS + 1),
    }
    numbers |= {name: int(getattr(signal, name)) for name in ("SIGSEGV", "SIGFPE", "SIGILL", "SIGBUS", "SIGABRT")}
    return native_code.source("clock", "ticks", "pause", "pool", numbers=numbers, of=of)


CODE = objects.Code(source, "thread pool", objects.AS_IS)


class _Native:
    """The loaded pool: one a process, never freed, since its threads sleep in it."""

    def __init__(self) -> None:
        imports = functions.c_api(_C_API)
        code = CODE.load(_EXPORTS, imports)
        self.run_address = code.address("opweave_run")
        self.poll_address = code.address("opweave_poll")
        pointer, i64, i32 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32
        # Of Python's own kind, which look for an exception afterwards.
        self.run: Callable[..., None] = ctypes.PYFUNCTYPE(None, pointer, pointer, i64, i32, i32, i32, pointer)(
            code.address("opweave_run_released")
        )
        self.before_fork: Callable[[], None] = ctypes.PYFUNCTYPE(None)(code.address("opweave_before_fork"))
        self.after_fork: Callable[[], None] = ctypes.PYFUNCTYPE(None)(code.address("opweave_after_fork"))
        set_main: Callable[[int | None], None] = ctypes.PYFUNCTYPE(None, i64)(code.address("opweave_set_main"))
        set_main(threading.main_thread().ident)
        self.set_threads: Callable[[int], None] = ctypes.CFUNCTYPE(None, i64)(code.address("opweave_set_threads"))


_EXPORTS = (
    "opweave_run", "opweave_run_released", "opweave_poll", "opweave_set_threads", "opweave_set_main",
    "opweave_before_fork", "opweave_after_fork",
)  # fmt: skip
_C_API = (
    "PyGILState_Ensure", "PyErr_CheckSignals", "PyGILState_Release", "PyEval_SaveThread", "PyEval_RestoreThread",
)  # fmt: skip
_lock = forking.short_lock()
_threads: int | None = None
_native: _Native | None = None


def native() -> _Native:
    """The pool's native side, made at first use."""
    global _native
    if _native is None:
        with _lock:
            if _native is None:
                made = _Native()
                made.set_threads(_thread_count())
                _native = made
    return _native


def _before_fork() -> None:
    if _native is not None:
        _native.before_fork()


def _after_fork() -> None:
    if _native is not None:
        _native.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork)
forking.after_fork_in_child(_after_fork)


def run_address() -> int:
    """Address of `int opweave_run(ptr code, ptr args, i64 n, i32 gx, i32 gy, i32 gz, ptr cost)`."""
    return native().run_address


def poll_address() -> int:
    """Address of `int opweave_poll(ptr since)`: not 0 if the handler of a signal raised; asks every 50 ms."""
    return native().poll_address


def run(code: int, args: int, programs: int, gx: int, gy: int, gz: int) -> None:
    """Run a kernel's programs, on several threads where that pays. The interpreter lock is released meanwhile.

    Parameters
    ----------
    code : int
        Address of `void kernel(ptr args, i64 start, i64 end, i32 gx, i32 gy, i32 gz)`.
    args : int
        Address of its packed arguments.
    programs : int
        Number of programs; nothing happens for 0.
    gx, gy, gz : int
        The grid, handed on to the kernel.
    """
    if programs > 0:
        native().run(code, args, programs, gx, gy, gz, ctypes.byref(ctypes.c_double()))


def set_num_threads(count: int) -> None:
    """Set how many threads a launch, a large product or a convolution may use, the caller's own included.

    Results do not depend on it.

    Raises
    ------
    ArgumentError
        If `count` is not a positive integer.

    Examples
    --------
    >>> opweave.set_num_threads(opweave.get_num_threads())
    """
    global _threads
    given: Any = count
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ArgumentError("set_num_threads: expected a positive integer", got=repr(count))
    with _lock:
        _threads = count
        if _native is not None:
            _native.set_threads(count)


@contextmanager
def alone() -> Iterator[None]:
    """Run launches on their caller's thread only, as for measuring; `set_num_threads` waits meanwhile."""
    made = native()
    with _lock:
        made.set_threads(1)
        try:
            yield
        finally:
            made.set_threads(_thread_count())


def get_num_threads() -> int:
    """How many threads a launch may use: `OPWEAVE_NUM_THREADS`, else the CPUs this process may run on.

    Examples
    --------
    >>> opweave.get_num_threads() >= 1
    True
    """
    with _lock:
        return _thread_count()


def _thread_count() -> int:
    global _threads
    if _threads is None:
        _threads = _default_threads()
    return _threads


@functools.cache
def _default_threads() -> int:
    wanted = os.environ.get("OPWEAVE_NUM_THREADS")
    if wanted:
        if not wanted.strip().isdigit() or int(wanted) < 1:
            raise ArgumentError("OPWEAVE_NUM_THREADS: expected a positive integer", got=repr(wanted))
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
