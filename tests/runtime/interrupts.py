"""Interrupt a process at random moments of imports, compilations and runs: it must go on, with right numbers.

    python tests/runtime/interrupts.py --count 200 --fresh 40 --seed 0

A part of the interrupts (`--fresh`) hit processes that have just been started and import, compile and run for the first
time. The others hit one of the works below in a process that goes on to the next. Each time the exception has to
arrive as what the handler raised, once for each call of the handler, and the same work done again has to give the
numbers that NumPy gives. Nothing may be left behind: no mode, no key, no lock, no handler.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = str(Path(__file__).parents[2])


class Interrupted(Exception):
    """What a handler of the user's may raise."""


#: What handlers raise, KeyboardInterrupt among them. Each class is one that somebody on the way catches.
RAISED: tuple[type[BaseException], ...] = (
    KeyboardInterrupt, Interrupted, TimeoutError, RuntimeError, ValueError, AttributeError,
)  # fmt: skip


class Alarm:
    """The handler: raises exceptions of all classes in turn, and remembers them."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.raised: list[BaseException] = []

    def __call__(self, number: int, frame: Any) -> None:
        error = self.draw.choice(RAISED)("from the handler")
        self.raised.append(error)
        raise error


def interrupted(work: Callable[[], Any], after: float, alarm: Alarm) -> str:
    """Do work that is interrupted after some seconds; how it ended: `"arrived"`, `"finished"` or what is wrong."""
    alarm.raised.clear()
    ended: BaseException | None = None
    dropped: list[str] = []
    sys.unraisablehook = lambda given: dropped.append(f"{given.err_msg} {given.object!r} {given.exc_value!r}")
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, after)
            work()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except BaseException as error:
        ended = error
    if not alarm.raised:
        return "finished" if ended is None else f"raised {ended!r} by itself"
    if ended is None:
        return f"lost: the work went on; {dropped}"
    return "arrived" if ended is alarm.raised[-1] else f"arrived as {ended!r}"


# ---- what is interrupted ---------------------------------------------------------------------------------------------


def close(got: Any, wanted: Any, rtol: float = 1e-6, atol: float = 0.0) -> None:
    """Compare without NumPy's tests, which make a failed comparison of what a handler raises."""
    import numpy as np

    if not np.allclose(got, wanted, rtol, atol):
        raise AssertionError(f"{got}, not {wanted}")


class Works:
    """Work of each kind, with numbers of its own each time, so that nothing is found in a cache."""

    def __init__(self) -> None:
        self.step: Any = None

    def each(self) -> Iterator[tuple[str, Callable[[int], None]]]:
        """Names and works; a work takes a number and checks its own result."""
        for name in (
            "eager", "compiled", "gradient", "steps", "dynamic", "kernel", "launched", "product", "vmap", "cached"
        ):  # fmt: skip
            yield name, getattr(self, name)

    def eager(self, k: int) -> None:

        import opweave

        x = opweave.ones(100).requires_grad_()
        for _ in range(30):
            with opweave.no_grad():
                y = x * k + 1
            loss = (x * x * k).sum()
            loss.backward()
        close(y.numpy(), k + 1)
        assert not y.requires_grad and loss.requires_grad
        close(x.grad.numpy(), 60.0 * k)

    def compiled(self, k: int) -> None:
        import opweave  # first: NumPy is whole once it is there
        import numpy as np  # isort: skip

        f = opweave.compile(lambda x, y: ((x * k + y).sin().sum(1), (y - k).exp()))
        x, y = (np.random.default_rng(k + i).standard_normal((20, 30)) for i in (0, 1))
        for _ in range(3):
            a, b = f(opweave.from_numpy(x), opweave.from_numpy(y))
        close(a.numpy(), np.sin(x * k + y).sum(1), rtol=1e-9, atol=1e-9)
        close(b.numpy(), np.exp(y - k))

    def gradient(self, k: int) -> None:
        import opweave  # first: NumPy is whole once it is there
        import numpy as np  # isort: skip

        f = opweave.compile(lambda x: ((x * k).tanh() ** 2).sum())
        values = np.random.default_rng(k).standard_normal((10, 7))
        x = opweave.from_numpy(values).requires_grad_()
        f(x).backward()
        t = np.tanh(values * k)
        close(x.grad.numpy(), 2 * t * (1 - t * t) * k, rtol=1e-9, atol=1e-9)

    def steps(self, k: int) -> None:
        """Many short calls of what is compiled, forward and backward."""
        import opweave  # first: NumPy is whole once it is there
        import numpy as np  # isort: skip

        if self.step is None:
            self.step = opweave.compile(lambda x, c: (x * x * c).sum())
        x, c = opweave.ones(8).requires_grad_(), opweave.tensor(float(k))
        for _ in range(200):
            self.step(x, c).backward()
        close(x.grad.numpy(), np.full(8, 400.0 * k))

    def dynamic(self, k: int) -> None:
        import opweave  # first: NumPy is whole once it is there
        import numpy as np  # isort: skip

        f = opweave.compile(lambda x: (x * k).sum(0) / x.shape[0], dynamic=True)
        for n in (5, 9, 12):
            x = np.random.default_rng(n).standard_normal((n, 4))
            close(f(opweave.from_numpy(x)).numpy(), (x * k).mean(0), rtol=1e-9)

    def kernel(self, k: int) -> None:
        """A kernel that takes long, after one of the same name was launched on little."""
        import opweave  # first: NumPy is whole once it is there
        import numpy as np  # isort: skip
        from opweave.registry.interrupts import deferred

        with deferred():  # a user's `import triton` is Python's to protect
            import interrupt_kernels

        programs = 2 + k % 300
        x = opweave.zeros(programs * 64)
        interrupt_kernels.counted[(programs,)](x, 3, B=64)
        assert (x.numpy() == 3).all()
        steps = 600_000_000 // programs
        interrupt_kernels.counted[(programs,)](x, steps, B=64)
        wanted = np.float32(3) + np.float32(steps) if steps < 1 << 23 else None
        assert wanted is None or (x.numpy() == wanted).all()

    def launched(self, k: int) -> None:
        """A kernel that Triton compiles at its launch, in a triton_op."""
        import opweave  # first: NumPy is whole once it is there
        import numpy as np  # isort: skip
        from opweave.registry.interrupts import deferred

        with deferred():  # a user's `import triton` is Python's to protect
            import interrupt_kernels

        x = opweave.arange(40).to(opweave.float32)
        y = opweave.empty(40)
        interrupt_kernels.scaled[(3,)](x, y, 40, C=k, B=16)
        close(y.numpy(), np.arange(40) * k)
        close(interrupt_kernels.shifted(x, k).numpy(), np.arange(40) + k)

    def product(self, k: int) -> None:
        import opweave  # first: NumPy is whole once it is there
        import numpy as np  # isort: skip

        f = opweave.compile(lambda a, b: (a @ b).relu() * k)
        a, b = (np.random.default_rng(i).integers(-3, 4, (300, 300)).astype(float) for i in (k, k + 1))
        for _ in range(3):
            got = f(opweave.from_numpy(a), opweave.from_numpy(b))
        close(got.numpy(), np.maximum(a @ b, 0) * k)

    def vmap(self, k: int) -> None:

        import opweave

        f = opweave.vmap(opweave.func.grad(lambda x: (x * x * k).sum()))
        g = opweave.make_fx(lambda x: x[x > 0] * k, tracing_mode="symbolic")(opweave.tensor([1.0, -1.0, 2.0]))
        for _ in range(5):
            close(f(opweave.ones(4, 3)).numpy(), 2.0 * k)
        close(g(opweave.tensor([5.0, -2.0])).numpy(), [5.0 * k])

    def cached(self, k: int) -> None:
        """What another function left on the disk."""
        import opweave  # first: NumPy is whole once it is there
        import numpy as np  # isort: skip

        for _ in range(3):
            f = opweave.compile(lambda x: (x * 3 + 1).cos())
            close(f(opweave.ones(6)).numpy(), np.cos(np.float32(4)), rtol=1e-6)


def left_behind() -> str | None:
    """What should not be there between two works."""
    import threading

    from opweave.registry import forking, interrupts
    from opweave.registry.keys import state

    if state.modes or state.include or state.exclude or state.used is not None or state.__dict__.get("vmap"):
        return f"dispatch state: {state.__dict__}"
    if sys.getprofile() is not None:
        return "a profile function"
    gate = interrupts._gate
    if gate.depth or gate.stubborn or gate.pending or gate.raised is not None:
        return f"the gate: {gate.__dict__}"
    if any(signal.getsignal(number) is gate for number in signal.valid_signals()):
        return "a handler that is not the user's"
    held: list[Any] = []

    def try_all() -> None:
        for lock in forking.locks():
            if lock.acquire(timeout=5):
                lock.release()
            else:
                held.append(lock)

    thread = threading.Thread(target=try_all)
    thread.start()
    thread.join()
    return f"{len(held)} locks" if held else None


# ---- one process that goes on ----------------------------------------------------------------------------------------


def interrupt_here(count: int, seed: int) -> dict[str, Any]:
    """Interrupt works in this process; counts of how they ended, and what was wrong."""
    draw = random.Random(seed)
    alarm, works = Alarm(draw), list(Works().each())
    took: dict[str, float] = {}
    for name, work in works:  # a first time, which also tells how long it takes
        work(2)
        start = time.perf_counter()
        work(3)
        took[name] = time.perf_counter() - start
    signal.signal(signal.SIGALRM, alarm)
    ends: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    arrived, number = 0, 10
    while arrived < count and number < 10 + 10 * count:
        number += 1
        name, work = draw.choice(works)
        end = interrupted(lambda: work(number), draw.random() * took[name], alarm)
        ends[end if end in ("arrived", "finished") else "wrong"] += 1
        arrived += end == "arrived"
        if end not in ("arrived", "finished"):
            wrong.append(f"{name} {number}: {end}")
        left = left_behind()
        if left is not None:
            wrong.append(f"{name} {number}: left behind {left}")
        try:
            work(number)
        except Exception as error:
            wrong.append(f"{name} {number}, done again: {type(error).__name__}: {error}"[:500])
    return {"ends": dict(ends), "wrong": wrong}


# ---- processes that have just been started ---------------------------------------------------------------------------

_FRESH = """
import faulthandler, signal, sys, time
faulthandler.dump_traceback_later(280)
sys.path[:0] = [{here!r}]
signal.signal(signal.SIGINT, signal.default_int_handler)
print("started", flush=True)
first = None
while True:
    try:
        import interrupts
        works = interrupts.Works()
        for k in (4, 5):
            works.launched(k)
            works.gradient(k)
            works.dynamic(k)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the works are over; what comes now would hit Python's own exit
        break
    except KeyboardInterrupt as error:
        first = first or error
print("interrupted" if first else "finished", interrupts.left_behind(), flush=True)
"""


def interrupt_fresh(after: float, folder: str) -> tuple[str, float]:
    """Interrupt a new process: how it ended, and how long it took."""
    here = str(Path(__file__).parent)
    variables = {"OPWEAVE_CACHE_DIR": f"{folder}/opweave", "TRITON_CACHE_DIR": f"{folder}/triton"}
    child = subprocess.Popen(
        [sys.executable, "-c", _FRESH.format(here=here)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **variables, "PYTHONPATH": os.pathsep.join([ROOT, os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip
    assert child.stdout is not None
    child.stdout.readline()
    start = time.perf_counter()
    try:
        child.wait(after)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGINT)
    try:
        out, err = child.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        child.kill()
        return f"hangs: {child.communicate()[1][-2000:]}", 300.0
    took = time.perf_counter() - start
    if child.returncode != 0 or not out.strip().endswith("None"):
        return f"broken after {after:.3f} s: {out.strip()} {err.strip()[-600:]}", took
    return ("arrived" if "interrupted" in out else "finished"), took


def main() -> int:
    """Interrupt, and print how it ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--fresh", type=int, default=40, help="how many of them hit processes that were just started")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--here", action="store_true", help="interrupt this process only, and print JSON")
    options = parser.parse_args()
    if options.here:
        print(json.dumps(interrupt_here(options.count, options.seed)))
        return 0
    draw, wrong, start = random.Random(options.seed), list[str](), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        variables = {"OPWEAVE_CACHE_DIR": f"{folder}/opweave", "TRITON_CACHE_DIR": f"{folder}/triton"}
        _, whole = interrupt_fresh(100.0, f"{folder}/first")
        ends: collections.Counter[str] = collections.Counter()
        while ends["arrived"] < options.fresh and sum(ends.values()) < 3 * options.fresh:
            end, _ = interrupt_fresh(draw.random() * whole, f"{folder}/{sum(ends.values())}")
            ends[end.partition(" ")[0]] += 1
            if end not in ("arrived", "finished"):
                wrong.append(end)
                print(end, flush=True)
        print(f"new processes ({whole:.1f} s each, uninterrupted): {dict(ends)}", flush=True)
        here = subprocess.run(
            [sys.executable, __file__, "--here", "--count", str(options.count - options.fresh), "--seed",
             str(options.seed)],
            capture_output=True, text=True, env={**os.environ, **variables}, check=False,
        )  # fmt: skip
    if here.returncode:
        wrong.append(here.stderr[-2000:])
    else:
        found = json.loads(here.stdout)
        wrong += found["wrong"]
        print(f"one process: {found['ends']}")
    print(f"{len(wrong)} wrong, in {time.perf_counter() - start:.0f} s")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main())
