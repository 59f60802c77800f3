"""What a break costs: functions that ask for a number, eager and compiled, beside PyTorch, in one process.

    python benchmarks/breaks.py

Eight rounds of five pointwise ops, of which some ask for the sum of what there is; and training steps of that. Prints
microseconds a call, and of the difference between calls with and without breaks, microseconds a break. One thread.
"""

from __future__ import annotations

import argparse
import json
import sys
import timeit
from collections.abc import Callable
from typing import Any

import torch

import opweave

ROUNDS = 8
Calls = dict[str, Callable[[], Any]]


def rounds_of(breaks: int) -> Callable[[Any, Any], Any]:
    """A function that breaks so often."""
    every = ROUNDS // breaks if breaks else 0

    def function(x: Any, w: Any) -> Any:
        y = x
        for i in range(ROUNDS):
            y = (y * 1.5 + w).tanh()
            y = y.relu() + 0.1
            if every and i % every == 0 and float(y.sum()) < -1e9:
                y = y * 2
        return y

    return function


def trained(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The function with its gradient."""

    def step(x: Any, w: Any) -> Any:
        w.grad = None
        function(x, w).sum().backward()
        return w.grad

    return step


def calls(library: Any, size: int, breaks: int) -> Calls:
    """Eager and compiled calls of a library."""
    function = rounds_of(breaks)
    compiled = library.compile(function)
    x, w = library.randn(size), library.randn(size)
    leaf = library.randn(size).requires_grad_()
    name = library.__name__
    return {
        f"{name} eager": lambda: function(x, w),
        f"{name} compiled": lambda: compiled(x, w),
        f"{name} eager, training": lambda: trained(function)(x, leaf),
        f"{name} compiled, training": lambda: trained(compiled)(x, leaf),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    opweave.set_num_threads(1)
    found: dict[str, dict[str, float]] = {}
    for size in (16, 10_000, 100_000):
        for breaks in (0, 1, 4, 8):
            torch._dynamo.reset()
            cases = {**calls(opweave, size, breaks), **calls(torch, size, breaks)}
            number = 100 if size < 1000 else 20 if size < 50_000 else 4
            times: dict[str, list[float]] = {name: [] for name in cases}
            for call in cases.values():
                timeit.timeit(call, number=6)
            for _ in range(options.repeats):
                for name, call in cases.items():
                    times[name].append(timeit.timeit(call, number=number) / number)
            row = {name: min(each) * 1e6 for name, each in times.items()}
            found[f"{size} elements, {breaks} breaks"] = row
            if not options.json:
                print(f"{size} elements, {breaks} breaks")
                for name, each in row.items():
                    whole = found[f"{size} elements, 0 breaks"][name]
                    per = f"  {(each - whole) / breaks:8.1f} a break" if breaks else ""
                    print(f"    {name:30} {each:9.1f} us{per}", flush=True)
    if options.json:
        json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
