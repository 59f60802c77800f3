"""Run random programs in pools of forked processes: each gives what it gives alone, and nobody else's tensors change.

    python tests/runtime/fork_pools.py --count 50 --workers 8 --seed 0

The programs are those of `mutation_programs.py`, run eagerly and compiled; with each goes a function on a large array,
so that the native pool has work. A first pool of processes is forked in peace, a second one while a thread of
the parent launches kernels and another compiles. Every third task is run in a child that the worker forks. Half of the
programs were compiled before the fork. Each task writes to tensors that the parent made.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import multiprocessing
import os
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))

import mutation_programs
import numpy as np

import opweave

SHARED = [opweave.full((size,), 7.0) for size in (3, 1000, 300_000)]
_X = np.random.default_rng(0).standard_normal((3000, 100))
_W = np.random.default_rng(1).standard_normal((100, 100))


class Task:
    """One program, and what it gives in this process.

    Parameters
    ----------
    seed : int
    warm : bool
        Whether it is compiled now.
    """

    def __init__(self, seed: int, warm: bool) -> None:
        self.seed = seed
        self.inputs, self.run = mutation_programs.Maker(seed).make().build()
        self.compiled = opweave.compile(self.run)
        self.large = opweave.compile(lambda x, w: (x @ w).relu().sum(1) + (x * seed).sin().sum(1))
        # Once, here: OpenBLAS holds a lock while it multiplies for NumPy, and leaves it locked in a forked child.
        self.product = np.maximum(_X @ _W, 0).sum(1) + np.sin(_X * seed).sum(1)
        self.expected = self.see(self.run)
        #: Compiled programs may be refused, or their gradients; they are in every process, then.
        here = self.see(self.compiled)
        self.compiles = here.error is None
        self.expected_compiled = here if "gradients" in here.facts else self.expected
        if warm:
            self.check_large()
        else:
            self.compiled = opweave.compile(self.run)

    def see(self, run: Callable[..., Any]) -> mutation_programs.Seen:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return mutation_programs.observe(run, self.inputs, 1)

    def check_large(self) -> str | None:
        got = self.large(opweave.from_numpy(_X), opweave.from_numpy(_W)).numpy()
        well = np.allclose(got, self.product, 1e-9, 1e-9)
        return None if well else f"large {self.seed}: {got[:3]}, not {self.product[:3]}"

    def problems(self) -> list[str]:
        """What is other than it was in the parent."""
        found: list[str | None] = []
        mark = float(os.getpid())
        before = [t.tolist() for t in SHARED]
        if not all(value == before[0][0] for values in before for value in values):
            found.append(f"shared {self.seed}: tensors of another process")
        for t in SHARED:
            t.fill_(mark)
        for name, run in (("eager", self.run), ("compiled", self.compiled)):
            got = self.see(run)
            if (got.error is None) != (self.compiles if name == "compiled" else self.expected.error is None):
                found.append(f"{name} {self.seed}: {got.error!r}")
            elif got.error is None and self.expected.error is None:
                expected = self.expected_compiled if name == "compiled" else self.expected
                difference = mutation_programs.difference(expected, got)
                found.append(difference and f"{name} {self.seed}: {difference}")
        found += [self.check_large(), self.check_large()]
        if not all(value == mark for t in SHARED for value in t.tolist()):
            found.append(f"shared {self.seed}: written by another process")
        return [text for text in found if text]


TASKS: list[Task] = []


def run_task(number: int) -> list[str]:
    """In a worker; every third in a child of it."""
    task = TASKS[number]
    if number % 3:
        return task.problems()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os.write(writer, "\n".join(task.problems()).encode()[:60_000] or b"well")
        os._exit(0)
    os.close(writer)
    found = task.problems()
    with open(reader) as told:
        text = told.read()
    os.waitpid(child, 0)
    return found if text == "well" else [*found, f"child: {text or 'died'}"]


@contextlib.contextmanager
def busy() -> Iterator[list[BaseException]]:
    """Threads of this process launch and compile all the while; yields what they raise."""
    ending, problems = threading.Event(), list[BaseException]()
    numbers = itertools.count(1000)

    def launches() -> None:
        task = Task(0, True)
        while not ending.is_set():
            assert task.check_large() is None

    def compiles() -> None:
        while not ending.is_set():
            k = next(numbers)
            f = opweave.compile(lambda x: (x * k).exp() - k)
            np.testing.assert_allclose(f(opweave.zeros(5)).numpy(), 1.0 - k)

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in (launches, compiles)]
    for thread in threads:
        thread.start()
    try:
        yield problems
    finally:
        ending.set()
        for thread in threads:
            thread.join(120)
    if any(thread.is_alive() for thread in threads):
        problems.append(RuntimeError("a thread of the parent hangs"))


def in_pools(count: int, workers: int, seed: int, timeout: float = 600) -> list[str]:
    """Run programs in two pools; what was wrong.

    Raises
    ------
    multiprocessing.TimeoutError
        If a worker hangs.
    """
    TASKS[:] = [Task(seed + i, i % 2 == 0) for i in range(count)]
    for t in SHARED:
        t.fill_(7.0)
    fork = multiprocessing.get_context("fork")
    with fork.Pool(workers) as pool:
        found = pool.map_async(run_task, range(count), chunksize=1).get(timeout)
    with busy() as problems, fork.Pool(workers) as pool:
        found += pool.map_async(run_task, range(count), chunksize=1).get(timeout)
    found += [[f"parent: {error!r}"] for error in problems]
    if not all(value == 7 for t in SHARED for value in t.tolist()):
        found.append(["parent: its tensors were written"])
    return [text for texts in found for text in texts]


def main() -> int:
    """Run, and print what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["OPWEAVE_CACHE_DIR"] = folder
        found = in_pools(options.count, options.workers, options.seed)
    refused = sum(not task.compiles and task.expected.error is None for task in TASKS)
    print(
        f"{options.count} programs ({refused} refused by compile), two pools of {options.workers}: {len(found)} wrong"
    )
    print(f"{time.perf_counter() - start:.0f} s", *found, sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
