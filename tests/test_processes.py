"""Processes by fork, spawn and forkserver: memory of their own, right numbers, and no lock that nobody releases."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.registry import forking, memory
from opweave.registry.ops import random as random_ops

RUNTIME = Path(__file__).parent / "runtime"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def in_child(work: Callable[[], Any]) -> Any:
    """What work gives in a forked child."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.write(writer, pickle.dumps(work()))
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with open(reader, "rb") as told:
        content = told.read()
    assert os.waitpid(child, 0)[1] == 0
    return pickle.loads(content)


# ---- memory ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 1000, 20_000, 3_000_000])
def test_a_child_and_its_parent_do_not_write_one_anothers_tensors(size):
    kept, freed = opweave.zeros(size), opweave.zeros(size)
    view = kept.numpy()
    del freed  # a block that waits for reuse in both

    def work() -> tuple[bool, bool]:
        ready = (kept.numpy() == 0).all()
        kept.fill_(42.0)
        fresh = [opweave.full((size,), float(k)) for k in range(4)]
        return bool(ready), all((t.numpy() == k).all() for k, t in enumerate(fresh))

    assert in_child(work) == (True, True)
    assert (view == 0).all()
    mine = [opweave.full((size,), 10.0 + k) for k in range(4)]
    assert in_child(lambda: all((t.numpy() == 10 + k).all() for k, t in enumerate(mine)))

    started, written = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.read(written[0], 1)  # until the parent has written
        os._exit(0 if (kept.numpy() == 0).all() else 1)
    kept.fill_(1.0)
    os.write(written[1], b"x")
    assert os.waitpid(child, 0)[1] == 0
    for end in (*started, *written):
        os.close(end)


def test_no_memory_is_mapped_shared():
    opweave.compile(lambda x: (x * 2).sum())(opweave.ones(100_000))
    opweave.zeros(5_000_000)
    with open("/proc/self/maps") as maps:
        shared = [line for line in maps if line.split()[1].endswith("s") and "rw" in line.split()[1]]
    assert not [line for line in shared if len(line.split()) < 6 or "/dev/zero" in line], shared


def test_random_numbers_after_a_fork_are_the_parents_as_in_pytorch():
    opweave.manual_seed(3) if hasattr(opweave, "manual_seed") else random_ops.manual_seed(3)
    theirs = in_child(lambda: opweave.rand(4).tolist())
    assert theirs == opweave.rand(4).tolist()


def test_what_may_wait_is_counted_again_in_a_child():
    memory.empty_cache()
    before = memory._pool.kept_bytes, memory.cached_bytes()
    block = memory.allocate(1 << 20)
    size = block.nbytes
    del block
    memory._pool.kept_bytes = 10**9  # a thread that is gone was changing it
    try:
        found = in_child(lambda: (memory._pool.kept_bytes, memory.cached_bytes()))
        assert tuple(found) == (before[0] + size, before[1] + size)
    finally:
        memory._pool.count()


def test_arrays_that_numpy_derives_from_a_block_own_nothing():
    lease = memory.allocate(256)
    ptr, block = lease.ptr, lease.array()
    del lease
    derived = block[64:]
    del derived
    other = memory.allocate(256)
    assert other.ptr != ptr
    del block
    assert memory.allocate(256).ptr == ptr


# ---- locks -----------------------------------------------------------------------------------------------------------


def _use_everything() -> list[float]:
    x = opweave.arange(6).to(opweave.float32).requires_grad_()
    k = float(time.monotonic_ns() % 1000)
    f = opweave.compile(lambda v: (v * k).sum())
    f(x).backward()
    return [x.grad[0].item() - k, (x.detach() @ x.detach()).item()]


def test_locks_that_another_thread_holds_are_free_in_a_child(monkeypatch):
    monkeypatch.setattr(forking, "PATIENCE", 0.3)
    assert _use_everything() == [0, 55]
    held, leave = threading.Event(), threading.Event()

    def hold() -> None:
        taken = forking.locks()
        for lock in taken:
            lock.acquire()
        held.set()
        leave.wait(120)
        for lock in taken:
            lock.release()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    try:
        assert len(forking.locks()) > 10
        assert in_child(_use_everything) == [0, 55]
    finally:
        leave.set()
        thread.join()
    assert _use_everything() == [0, 55]


def test_a_property_that_another_thread_computes_can_be_computed_in_a_child():
    """Python 3.11 has a lock for each cached property, those of other libraries included."""

    class Slow:
        @cached_property
        def value(self) -> int:
            if os.getpid() == parent:
                computing.set()
                done.wait(60)
            return 7

    parent, computing, done = os.getpid(), threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: Slow().value)
    thread.start()
    computing.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(Slow().value)
    status = os.waitpid(child, 0)[1]
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 7


def test_a_fork_waits_until_what_a_short_lock_guards_is_whole():
    lock = forking.short_lock()
    pair, held = [0, 0], threading.Event()

    def change() -> None:
        with lock:
            pair[0] = 1
            held.set()
            time.sleep(0.3)
            pair[1] = 1

    thread = threading.Thread(target=change)
    thread.start()
    held.wait(60)
    try:
        assert in_child(lambda: pair) == [1, 1]
    finally:
        thread.join()
        forking._short.remove(lock)


def test_whoever_forks_keeps_the_locks_that_it_holds():
    lock = forking.lock()

    def work() -> bool:
        mine = lock._is_owned()
        lock.release()
        return mine and not lock._is_owned()

    with lock:
        assert in_child(work)
        assert lock._is_owned()
    assert not lock._is_owned()


def test_forks_of_forks_with_the_pool_running():
    f = opweave.compile(lambda x: (x.sin() * 2 + x).sum(1))
    values = np.random.default_rng(0).standard_normal((2000, 300))
    wanted = np.sin(values).sum(1) * 2 + values.sum(1)
    ending = threading.Event()

    def right() -> bool:
        return bool(np.allclose(f(opweave.from_numpy(values)).numpy(), wanted))

    def run() -> None:
        while not ending.is_set():
            assert right()

    assert right()
    thread = threading.Thread(target=run)
    thread.start()
    try:
        for _ in range(5):
            assert in_child(lambda: (right(), in_child(lambda: (right(), in_child(right))), right())) == (
                True,
                (True, True),
                True,
            )
            assert right()
    finally:
        ending.set()
        thread.join()


# ---- folders ---------------------------------------------------------------------------------------------------------


def test_a_child_that_ends_leaves_its_parents_folders(tmp_path):
    script = """
import os, sys
import opweave
from opweave.codegen import store
f = opweave.compile(lambda x: x * 2)
f(opweave.ones(2))
path = store.private().root
child = os.fork()
if child == 0:
    g = opweave.compile(lambda x: x * 3)
    assert g(opweave.ones(2)).tolist() == [3, 3]
    own = store.private().root
    assert own != path and own.exists()
    print(own, flush=True)
    sys.exit(0)            # runs what atexit was given
assert os.waitpid(child, 0)[1] == 0
assert path.exists()
assert opweave.compile(lambda x: x * 4)(opweave.ones(2)).tolist() == [4, 4]
print(path)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False,
        env={**ENVIRONMENT, "OPWEAVE_CACHE": "0", "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    folders = done.stdout.split()
    assert len(folders) == 2 and not any(Path(folder).exists() for folder in folders)


# ---- pools -----------------------------------------------------------------------------------------------------------

_POOLS = """
import concurrent.futures, multiprocessing, sys
import numpy as np
import opweave

f = opweave.compile(lambda x, w: ((x * w).sin() + x).sum(1))

def work(given):
    k, w = given
    x = opweave.from_numpy(np.random.default_rng(k).standard_normal((300, 200)))
    with opweave.no_grad():
        result = f(x, w)
    w.fill_(-1.0)
    return result

if __name__ == "__main__":
    tasks = [(k, opweave.full((200,), float(k), dtype=opweave.float64)) for k in range(8)]
    xs = [np.random.default_rng(k).standard_normal((300, 200)) for k in range(8)]
    wanted = [(np.sin(x * k) + x).sum(1) for k, x in enumerate(xs)]
    for method in sys.argv[1:]:
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            found = pool.map(work, tasks)
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
            found += executor.map(work, tasks)
        assert all(type(r) is opweave.Tensor for r in found)
        assert all(np.allclose(r.numpy(), w) for r, w in zip(found, wanted * 2)), method
        assert all((w.numpy() == k).all() for k, w in tasks), method
    if sys.argv[1] == "fork":
        f(opweave.ones(2, 200), opweave.ones(200))
    print("well")
"""


@pytest.mark.parametrize("methods", [["fork"], ["spawn"], ["forkserver"]], ids=lambda methods: methods[0])
@pytest.mark.slow
def test_pools_of_processes_that_are_given_tensors_and_give_tensors(methods, tmp_path):
    path = tmp_path / "pools.py"
    path.write_text(_POOLS)
    done = subprocess.run(
        [sys.executable, str(path), *methods], capture_output=True, text=True, timeout=300, check=False, env=ENVIRONMENT
    )
    assert done.stdout == "well\n", done.stderr


def test_random_programs_in_fork_pools():
    """A few of what `fork_pools.py --count 50` tries."""
    done = subprocess.run(
        [sys.executable, str(RUNTIME / "fork_pools.py"), "--count", "3", "--workers", "3", "--seed", "70"],
        capture_output=True, text=True, timeout=300, check=False, env=ENVIRONMENT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("make", [
    lambda: opweave.arange(6).reshape(2, 3).t(),
    lambda: opweave.arange(3).expand(4, 3),
    lambda: opweave.tensor(1.5),
    lambda: opweave.zeros(0, 3),
    lambda: opweave.arange(20)[3::4],
    lambda: opweave.tensor([1.5, -2.0], dtype=opweave.bfloat16),
    lambda: opweave.tensor([1 + 2j]),
], ids=["transposed", "expanded", "number", "empty", "stepped", "bfloat16", "complex"])  # fmt: skip
def test_a_pickled_tensor_has_its_values_and_strides(make):
    x = make()
    y = pickle.loads(pickle.dumps(x))
    assert y.dtype is x.dtype and y.shape == x.shape and y.stride() == x.stride()
    assert y.tolist() == x.tolist()
    z = pickle.loads(pickle.dumps(opweave.ones(2).requires_grad_()))
    assert z.requires_grad and z.is_leaf


def test_threads_may_fork_at_once():
    problems: list[Any] = []

    def work(k: int) -> None:
        try:
            for i in range(5):
                assert in_child(lambda: opweave.full((3,), 10.0 * k + i).tolist()) == [10.0 * k + i] * 3
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not problems and not any(thread.is_alive() for thread in threads)
    assert not forking._held
