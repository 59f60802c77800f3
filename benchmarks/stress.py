"""Launch kernels on the CPU from many threads, in forked processes, and compile thousands: nothing may break or grow.

python benchmarks/stress.py --seconds 30 --compilations 10000
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import triton
import triton.language as tl

import opweave
from opweave.codegen.triton_cpu.driver import activate

Check = Callable[[np.random.Generator, int], None]
"""Draws arguments of a size, launches a kernel, and compares."""


@triton.jit
def affine(x, out, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * factor + 1, i < n)


@triton.jit
def row_sums(x, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * columns + i, i < columns, 0), 0))


@triton.jit
def transpose(x, out, rows, columns, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = (r < rows)[:, None] & (c < columns)[None, :]
    tile = tl.load(x + r[:, None] * columns + c[None, :], live)
    tl.store(out + c[None, :] * rows + r[:, None], tile, live)


@triton.jit
def count(x, bins, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(bins + tl.load(x + i, i < n, 0), 1, i < n)


@triton.jit
def products(a, b, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j, k = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, n, BLOCK):
        left = tl.load(a + i[:, None] * n + (start + k)[None, :])
        total = tl.dot(left, tl.load(b + (start + k)[:, None] * BLOCK + j[None, :]), total)
    tl.store(out + i[:, None] * BLOCK + j[None, :], total)


@triton.jit
def collatz(x, steps, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, i < n, 1)
    taken = tl.zeros((BLOCK,), tl.int32)
    while tl.max(value, 0) > 1:
        more = value > 1
        value = tl.where(more, tl.where(value % 2 == 0, value // 2, value * 3 + 1), value)
        taken += more.to(tl.int32)
    tl.store(steps + i, taken, i < n)


@triton.jit
def guarded(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, i < n, 0)
    tl.device_assert(value >= 0, "negative")
    tl.store(out + i, value, i < n)


def _whole(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return rng.integers(0, 64, shape).astype(dtype)


def _check_affine(rng: np.random.Generator, n: int) -> None:
    x = _whole(rng, n)
    out = np.empty_like(x)
    factor = int(rng.integers(2, 9))
    affine[(triton.cdiv(n, 256),)](opweave.from_numpy(x), opweave.from_numpy(out), n, factor, BLOCK=256)
    np.testing.assert_array_equal(out, x * factor + 1)


def _check_row_sums(rng: np.random.Generator, n: int) -> None:
    x = _whole(rng, max(n // 100, 1), 100)
    out = np.empty(len(x), np.float32)
    row_sums[(len(x),)](opweave.from_numpy(x), opweave.from_numpy(out), 100, BLOCK=128)
    np.testing.assert_array_equal(out, x.sum(1))


def _check_transpose(rng: np.random.Generator, n: int) -> None:
    x = _whole(rng, 50, max(n // 50, 1), dtype=np.int32)
    out = np.empty(x.shape[::-1], np.int32)
    grid = (triton.cdiv(x.shape[0], 32), triton.cdiv(x.shape[1], 32))
    transpose[grid](opweave.from_numpy(x), opweave.from_numpy(out), *x.shape, BLOCK=32)
    np.testing.assert_array_equal(out, x.T)


def _check_count(rng: np.random.Generator, n: int) -> None:
    x, bins = _whole(rng, n, dtype=np.int32), np.zeros(64, np.int32)
    count[(triton.cdiv(n, 128),)](opweave.from_numpy(x), opweave.from_numpy(bins), n, BLOCK=128)
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=64))


def _check_products(rng: np.random.Generator, n: int) -> None:
    a, b = _whole(rng, 64, 64), _whole(rng, 64, 32)
    out = np.empty((64, 32), np.float32)
    products[(2,)](opweave.from_numpy(a), opweave.from_numpy(b), opweave.from_numpy(out), 64, BLOCK=32)
    np.testing.assert_array_equal(out, a @ b)


def _check_collatz(rng: np.random.Generator, n: int) -> None:
    x = rng.integers(1, 2000, min(n, 500)).astype(np.int64)
    steps = np.empty(len(x), np.int32)
    collatz[(triton.cdiv(len(x), 64),)](opweave.from_numpy(x), opweave.from_numpy(steps), len(x), BLOCK=64)
    value, wanted = x.copy(), np.zeros(len(x), np.int32)
    while (more := value > 1).any():
        value = np.where(more, np.where(value % 2 == 0, value // 2, value * 3 + 1), value)
        wanted += more
    np.testing.assert_array_equal(steps, wanted)


def _check_guarded(rng: np.random.Generator, n: int) -> None:
    x = _whole(rng, n, dtype=np.int32)
    out = np.empty_like(x)
    arguments = (opweave.from_numpy(x), opweave.from_numpy(out), n)
    guarded[(triton.cdiv(n, 128),)](*arguments, BLOCK=128, debug=True)
    np.testing.assert_array_equal(out, x)
    x[rng.integers(0, n)] = -1
    try:
        guarded[(triton.cdiv(n, 128),)](*arguments, BLOCK=128, debug=True)
    except AssertionError:
        return
    raise RuntimeError("an assertion that fails was not reported")


CHECKS: tuple[Check, ...] = (
    _check_affine, _check_row_sums, _check_transpose, _check_count, _check_products, _check_collatz, _check_guarded,
)  # fmt: skip


def launch_from_threads(threads: int, seconds: float) -> int:
    """Launch every kernel from many threads at once and check each result; at least once a thread and kernel.

    Returns
    -------
    int
        The number of launches.

    Raises
    ------
    Exception
        The first that a thread met.
    """
    activate()
    until = time.monotonic() + seconds
    counts, problems = [0] * threads, list[BaseException]()
    together = threading.Barrier(threads)

    def work(k: int) -> None:
        rng = np.random.default_rng(k)
        try:
            together.wait(60)
            while (counts[k] < len(CHECKS) or time.monotonic() < until) and not problems:
                CHECKS[(k + counts[k]) % len(CHECKS)](rng, int(rng.integers(1, 20_000)))
                counts[k] += 1
        except BaseException as error:
            problems.append(error)

    started = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(seconds + 120)
        if thread.is_alive():
            raise RuntimeError("a thread hangs")
    if problems:
        raise problems[0]
    return sum(counts)


def launch_after_fork(rounds: int, timeout: float = 60) -> None:
    """Launch in a forked child and in its parent, again and again.

    Raises
    ------
    RuntimeError
        If a child fails or hangs.
    """
    activate()
    rng = np.random.default_rng(0)
    for turn in range(rounds):
        CHECKS[turn % len(CHECKS)](rng, 5000)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for check in CHECKS:
                    check(rng, 100_000)
                code = 0
            finally:
                os._exit(code)
        CHECKS[turn % len(CHECKS)](rng, 100_000)
        until = time.monotonic() + timeout
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
            if time.monotonic() > until:
                os.kill(child, 9)
                os.waitpid(child, 0)
                raise RuntimeError(f"child {turn} hangs")
            time.sleep(0.002)
        if ended[1] != 0:
            raise RuntimeError(f"child {turn} ended with status {ended[1]}")


def compile_many(count: int, every: int, report: Callable[[int, float], None]) -> tuple[float, float]:
    """Compile, load, launch and drop distinct small kernels.

    Parameters
    ----------
    count : int
        How many.
    every : int
        After how many to drop what Triton keeps of them in this process, and to report.
    report : callable
        Gets the number of kernels so far and the resident memory in MiB.

    Returns
    -------
    (float, float)
        MiB after a tenth of the kernels, which is when memory is warm, and after all.
    """
    activate()
    array = np.zeros(8, np.float32)
    x = opweave.from_numpy(array)
    warm = 0.0
    for done in range(1, count + 1):
        _added[(1,)](x, C=done, N=8)
        if array[0] != done:
            raise RuntimeError(f"kernel {done} gave {array[0]}")
        array[:] = 0
        if done % every == 0:
            _added.device_caches.clear()
            gc.collect()
            report(done, resident())
        if done == count // 10:
            warm = resident()
    return warm, resident()


@triton.jit
def _added(x, C: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.load(x + i) + C)


def resident() -> float:
    """Memory of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--forks", type=int, default=100)
    parser.add_argument("--compilations", type=int, default=10_000)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="opweave-stress-")
    os.environ["TRITON_CACHE_DIR"] = folder  # a cache would spare the compilations
    try:
        print(f"{launch_from_threads(options.threads, options.seconds)} launches from {options.threads} threads")
        launch_after_fork(options.forks)
        print(f"{options.forks} forks")
        if options.compilations:
            started = time.monotonic()
            warm, last = compile_many(
                options.compilations, max(options.compilations // 20, 1),
                lambda done, size: print(f"{done} kernels: {size:.0f} MiB", flush=True),
            )  # fmt: skip
            growth = (last - warm) * 1024 / max(options.compilations * 0.9, 1)
            seconds = time.monotonic() - started
            print(f"{options.compilations} kernels in {seconds:.0f} s, {growth:.1f} KiB of growth each when warm")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
