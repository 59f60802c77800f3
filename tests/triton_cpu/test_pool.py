"""The native thread pool: values, concurrency, fork, and when it stays out of the way."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from opweave.codegen.native import llvm, objects, pool
from opweave.registry.errors import ArgumentError
from tests.helpers import fork_server

needs_proc = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

# Adds the program's number and the grid to a counter of its own, so that a program run twice or never shows.
COUNT = """
define void @count(ptr %args, i64 %start, i64 %end, i32 %gx, i32 %gy, i32 %gz) {
entry:
  %out = load ptr, ptr %args
  %gxy = add i32 %gx, %gy
  %g = add i32 %gxy, %gz
  %g64 = zext i32 %g to i64
  br label %loop
loop:
  %i = phi i64 [ %start, %entry ], [ %next, %loop ]
  %p = getelementptr i64, ptr %out, i64 %i
  %old = load i64, ptr %p
  %a = add i64 %old, %i
  %b = add i64 %a, %g64
  store i64 %b, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""

# Each program sleeps a millisecond and notes the thread it ran on.
SLEEP = """
declare i32 @usleep(i32)
declare i64 @pthread_self()
define void @nap(ptr %args, i64 %start, i64 %end, i32 %gx, i32 %gy, i32 %gz) {
entry:
  %out = load ptr, ptr %args
  br label %loop
loop:
  %i = phi i64 [ %start, %entry ], [ %next, %loop ]
  %r = call i32 @usleep(i32 1000)
  %self = call i64 @pthread_self()
  %p = getelementptr i64, ptr %out, i64 %i
  store i64 %self, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""

# Each program spins for about as many turns as its second argument says, and notes the processor it was on.
PLACE = """
declare i32 @sched_getcpu()
define void @place(ptr %args, i64 %start, i64 %end, i32 %gx, i32 %gy, i32 %gz) {
entry:
  %out = load ptr, ptr %args
  br label %loop
loop:
  %i = phi i64 [ %start, %entry ], [ %next, %store ]
  %turns = alloca i64
  store volatile i64 0, ptr %turns
  br label %spin
spin:
  %t = load volatile i64, ptr %turns
  %t1 = add i64 %t, 1
  store volatile i64 %t1, ptr %turns
  %on = icmp slt i64 %t1, 30000
  br i1 %on, label %spin, label %store
store:
  %cpu = call i32 @sched_getcpu()
  %cpu64 = zext i32 %cpu to i64
  %p = getelementptr i64, ptr %out, i64 %i
  store i64 %cpu64, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


@pytest.fixture(scope="module")
def count() -> objects.LoadedCode:
    return objects.load(llvm.compile_object(COUNT, name="count"), ["count"])


@pytest.fixture(scope="module")
def nap() -> objects.LoadedCode:
    return objects.load(llvm.compile_object(SLEEP, name="nap"), ["nap"])


@pytest.fixture(autouse=True)
def restored_threads() -> Iterator[None]:
    before = pool.get_num_threads()
    yield
    pool.set_num_threads(before)


def run(code: objects.LoadedCode, out: np.ndarray, programs: int, grid: tuple[int, int, int] | None = None) -> None:
    args = (ctypes.c_int64 * 1)(out.ctypes.data)
    pool.run(code.address(code.name), ctypes.addressof(args), programs, *(grid or (programs, 1, 1)))


def affinities() -> dict[str, set[int]]:
    return {task: os.sched_getaffinity(int(task)) for task in os.listdir("/proc/self/task")}


@needs_proc
@pytest.mark.parametrize("threads", [2, 5], ids="threads{}".format)
def test_helpers_leave_the_processor_of_their_caller(threads: int):
    place = objects.load(llvm.compile_object(PLACE, name="place"), ["place"])
    pool.set_num_threads(threads)
    out = np.zeros(400, np.int64)
    allowed = os.sched_getaffinity(0)
    run(place, out, 400)
    before = affinities()
    seen: set[int] = set()
    try:
        for cpu in sorted(allowed):
            os.sched_setaffinity(threading.get_native_id(), {cpu})
            for _ in range(20):
                out[:] = -1
                run(place, out, 400)
                assert set(out.tolist()) <= allowed
                seen |= set(out.tolist()) - {cpu}
                time.sleep(0.001)  # helpers fall asleep, and are woken beside their caller, perhaps
    finally:
        os.sched_setaffinity(threading.get_native_id(), allowed)
    assert seen or len(allowed) == 1
    # They are not kept from any that they might use before.
    assert {task: cpus for task, cpus in affinities().items() if task in before} == before


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("programs", [0, 1, 2, 3, 7, 64, 1000, 300_001])
def test_every_program_runs_once(count: objects.LoadedCode, threads: int, programs: int):
    pool.set_num_threads(threads)
    out = np.zeros(programs + 1, np.int64)
    for _ in range(3):
        run(count, out, programs, (programs, 10, 100))
    expected = np.arange(programs) + programs + 110
    np.testing.assert_array_equal(out[:programs], 3 * expected)
    assert out[programs] == 0


def test_a_short_program_that_takes_long_once_is_timed_again(nap: objects.LoadedCode):
    figure, out = ctypes.c_double(500.0), np.zeros(1, np.int64)
    args = (ctypes.c_int64 * 1)(out.ctypes.data)
    run_once = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, *[ctypes.c_int] * 3, ctypes.c_void_p
    )(pool.run_address())
    assert run_once(nap.address("nap"), ctypes.addressof(args), 1, 1, 1, 1, ctypes.addressof(figure)) == 0
    assert out[0] and figure.value == 0.0, "a millisecond is no half of a microsecond"
    assert run_once(nap.address("nap"), ctypes.addressof(args), 1, 1, 1, 1, ctypes.addressof(figure)) == 0
    assert figure.value >= 1e6


def test_concurrent_callers(count: objects.LoadedCode):
    pool.set_num_threads(3)
    start = threading.Barrier(4)

    def work(programs: int) -> bool:
        out = np.zeros(programs, np.int64)
        start.wait()
        for _ in range(200):
            run(count, out, programs)
        return bool((out == 200 * (np.arange(programs) + programs + 2)).all())

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(work, [5, 1000, 20_000, 50_000]))


def test_helpers_take_part(nap: objects.LoadedCode):
    pool.set_num_threads(3)
    out = np.zeros(60, np.int64)
    run(nap, out, 60)
    assert len(np.unique(out)) == 3
    pool.set_num_threads(2)
    run(nap, out, 60)
    assert len(np.unique(out)) == 2
    pool.set_num_threads(1)
    run(nap, out, 10)
    assert len(np.unique(out[:10])) == 1


def test_the_interpreter_lock_is_free_meanwhile(nap: objects.LoadedCode):
    pool.set_num_threads(1)
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    run(nap, np.zeros(100, np.int64), 100)
    done.set()
    thread.join()
    assert ticks > 20


@pytest.mark.parametrize("bad", [0, -1, 1.5, "2", True, None])
def test_thread_count_is_checked(bad: object):
    with pytest.raises(ArgumentError, match="positive integer"):
        pool.set_num_threads(bad)  # type: ignore[arg-type]


def script(body: str, **environment: str) -> str:
    """Run Python code in a process of its own, with `count` and `nap` at hand."""
    lines = [
        "import ctypes, os, sys, threading, time",
        "import numpy as np",
        "from opweave.codegen.native import llvm, objects, pool",
        f"count = objects.load(llvm.compile_object({COUNT!r}), ['count'])",
        f"nap = objects.load(llvm.compile_object({SLEEP!r}), ['nap'])",
        "def run(code, out, n):",
        "    args = (ctypes.c_int64 * 1)(out.ctypes.data)",
        "    pool.run(code.address(code.name), ctypes.addressof(args), n, n, 1, 1)",
        "def threads():",
        "    return len(os.listdir('/proc/self/task'))",
        "def right(n=100_000):",
        "    out = np.zeros(n, np.int64)",
        "    for _ in range(5): run(count, out, n)",
        "    return bool((out == 5 * (np.arange(n) + n + 2)).all())",
        body,
    ]
    import os

    done = fork_server.python(["-c", "\n".join(lines)], timeout=120, env=os.environ | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_environment_sets_the_default():
    assert script("print(pool.get_num_threads())", OPWEAVE_NUM_THREADS="7") == "7"
    told = "try: pool.get_num_threads()\nexcept ValueError: pass\nexcept Exception as e: print(e)"
    assert "OPWEAVE_NUM_THREADS" in script(told, OPWEAVE_NUM_THREADS="many")


@needs_proc
def test_threads_start_only_for_work_that_is_worth_them():
    body = """
before = threads()
out = np.zeros(64, np.int64)
run(count, out, 1)
for _ in range(20): run(count, out, 64)
small = threads() - before
run(nap, out, 16)
print(small, threads() - before)
"""
    # On a busy machine a short launch can be interrupted and look long, so one good run of a few is enough.
    assert "0 3" in (script(body, OPWEAVE_NUM_THREADS="4") for _ in range(5))


@needs_proc
def test_a_forked_child_has_a_pool_of_its_own():
    body = """
assert right()
run(nap, np.zeros(8, np.int64), 8)
inside = threading.Thread(target=lambda: run(nap, np.zeros(400, np.int64), 400))
inside.start()                      # the fork happens while this thread has the pool
time.sleep(0.05)
child = os.fork()
if child == 0:
    alone = threads()
    run(nap, np.zeros(8, np.int64), 8)
    good = right() and right() and alone == 1 and threads() == 3
    grandchild = os.fork()
    if grandchild == 0:
        os._exit(0 if right() else 1)
    good = good and os.waitpid(grandchild, 0)[1] == 0
    os._exit(0 if good else 1)
print(os.waitpid(child, 0)[1])
inside.join()
assert right()
"""
    assert script(body, OPWEAVE_NUM_THREADS="3") == "0"


def test_the_process_ends_while_helpers_spin():
    for _ in range(3):
        script(
            "out = np.zeros(100_000, np.int64)\nfor _ in range(10): run(count, out, 100_000)", OPWEAVE_NUM_THREADS="4"
        )
