"""How long kernels take to compile and to launch on the CPU: every kernel of the test suite, from Triton's cold cache.

The process is warm (a few kernels went before), the cache folder empty. `cached` is the first launch of a process that
finds the kernel on disk. Times are without the kernel's own run. On a machine that others use too, `--clock cpu`
counts processor time instead.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(prefix="opweave-latency-")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "triton_cpu"))

import numpy as np
import suite
import triton
import triton.language as tl
from triton.compiler import ASTSource

from opweave.codegen.native import objects
from opweave.codegen.native.arguments import HostArray
from opweave.codegen.native.launch import direct_launcher
from opweave.codegen.triton_cpu import driver
from opweave.codegen.triton_cpu.compiler import CPUBackend

STAGES: tuple[str, ...] = ("front end", "TTIR passes", "lowering", "LLVM", "load")
_WARM_UP = 5
_clock: Callable[[], float] = time.perf_counter


class Timer:
    """Adds up what the stages of a compilation take."""

    def __init__(self) -> None:
        self.spent = dict.fromkeys(STAGES, 0.0)

    def around(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = _clock()
            try:
                return function(*args, **kwargs)
            finally:
                self.spent[stage] += _clock() - start

        return timed

    def take(self) -> dict[str, float]:
        """What was spent since the last call, in milliseconds."""
        spent, self.spent = self.spent, dict.fromkeys(STAGES, 0.0)
        return {stage: t * 1e3 for stage, t in spent.items()}


@contextmanager
def stages_timed() -> Iterator[Timer]:
    """Within this context, the timer hears of each stage."""
    timer = Timer()
    places: list[tuple[Any, str, str]] = [
        (ASTSource, "make_ir", STAGES[0]), (CPUBackend, "make_ttir", STAGES[1]), (CPUBackend, "make_llir", STAGES[2]),
        (CPUBackend, "make_obj", STAGES[3]), (objects, "load", STAGES[4]),
    ]  # fmt: skip
    saved = [(owner, name, owner.__dict__[name]) for owner, name, _ in places]
    for owner, name, stage in places:
        timed = timer.around(stage, getattr(owner, name))
        setattr(owner, name, staticmethod(timed) if isinstance(owner.__dict__[name], staticmethod) else timed)
    try:
        yield timer
    finally:
        for owner, name, function in saved:
            setattr(owner, name, function)


def forget(kernel: Any) -> None:
    """Make a JIT function as it is in a new process."""
    while not hasattr(kernel, "device_caches"):  # an autotuner or heuristics around it
        kernel = kernel.fn
    kernel.device_caches.clear()
    kernel.hash = None


def first_launch(case: suite.Case) -> float:
    """Milliseconds of a launch less those of the same launch again."""

    def launch() -> float:
        arguments = [HostArray(a) if isinstance(a, np.ndarray) else a for a in case.make(np.random.default_rng(0))]
        start = _clock()
        case.kernel[case.grid](*arguments, **case.constants)
        return (_clock() - start) * 1e3

    forget(case.kernel)
    return launch() - launch()


def compile_times(names: list[str]) -> None:
    cold: dict[str, dict[str, float]] = {}
    cached: dict[str, float] = {}
    with stages_timed() as timer:
        for number, name in enumerate(names[:_WARM_UP] + names):
            timer.take()
            total = first_launch(suite.CASES[name])
            row = timer.take() | {"cold": total}
            if number >= _WARM_UP:
                cold.setdefault(name, row)
    for name in names:
        cached[name] = first_launch(suite.CASES[name])
    # A kernel that went before with the same constants was on disk already.
    fresh = [name for name in names if cold[name][STAGES[3]] > 0]
    print(f"{len(fresh)} kernels, milliseconds\n{'':14}{'median':>10}{'90 %':>10}{'worst':>10}")
    for column in (*STAGES, "cold"):
        _print_row(column, [cold[name][column] for name in fresh])
    _print_row("rest of Triton", [cold[n]["cold"] - sum(cold[n][s] for s in STAGES) for n in fresh])
    _print_row("cached", [cached[name] for name in fresh])
    print("\nworst")
    for name in sorted(fresh, key=lambda n: -cold[n]["cold"])[:5]:
        parts = ", ".join(f"{stage} {cold[name][stage]:.0f}" for stage in STAGES)
        print(f"  {cold[name]['cold']:8.0f}  {name} ({parts})")


def _print_row(label: str, times: list[float]) -> None:
    tenths = statistics.quantiles(times, n=10)
    print(f"{label:14}{statistics.median(times):10.1f}{tenths[-1]:10.1f}{max(times):10.1f}")


@triton.jit
def _four(a, b, c, d, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(d + i, tl.load(a + i, m) + tl.load(b + i, m) * tl.load(c + i, m), m)


def launch_times(rounds: int = 20, calls: int = 2000) -> None:
    """The best of some rounds: microseconds of a launch of a kernel with four pointers on 16 elements."""
    arrays = [HostArray(np.ones(16, np.float32)) for _ in range(4)]
    jitted: Any = _four
    kernel = jitted[(1,)](*arrays, 16, BLOCK=16)
    direct, addresses = direct_launcher(kernel), [a.data_ptr() for a in arrays]
    run, function, packed = kernel.run, kernel.function, kernel.packed_metadata
    ways: dict[str, Callable[[], Any]] = {
        "direct_launcher": lambda: direct(1, 1, 1, *addresses, 16),
        "kernel.run": lambda: run(1, 1, 1, 0, function, packed, None, None, None, *addresses, 16, 16),
        "kernel[grid]": lambda: jitted[(1,)](*arrays, 16, BLOCK=16),
    }
    print("\nlaunch of a kernel with 4 pointers, microseconds")
    for name, way in ways.items():
        best = float("inf")
        for _ in range(rounds):
            start = time.perf_counter()
            for _ in range(calls):
                way()
            best = min(best, (time.perf_counter() - start) / calls)
        print(f"{name:18}{best * 1e6:8.2f}")


def main() -> None:
    global _clock
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="take every n-th kernel only")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    options = parser.parse_args()
    _clock = time.perf_counter if options.clock == "wall" else time.thread_time
    driver.activate()
    for module in pkgutil.iter_modules(suite.__path__):
        importlib.import_module(f"suite.{module.name}")
    with np.errstate(all="ignore"):
        compile_times(sorted(suite.CASES)[:: options.every])
    launch_times()


if __name__ == "__main__":
    main()
