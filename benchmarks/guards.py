"""What a compiled call costs besides its kernels, with both libraries in one process by turns; prints JSON.

The compiled function adds up 1, 10 and 100 tensors, compiled for their very sizes or for any; the backend gives code
that returns a tensor made beforehand, so that what is left is binding the arguments, testing guards and returning.
"""

from __future__ import annotations

import argparse
import json
import statistics
import timeit
from collections.abc import Callable
from typing import Any

import torch

import opweave

COUNTS = (1, 10, 100)
Calls = dict[str, Callable[[], Any]]


def summing(count: int) -> Callable[..., Any]:
    """`def f(x0, x1, ...): return x0 + x1 + ...`"""
    names = [f"x{i}" for i in range(count)]
    namespace: dict[str, Any] = {}
    exec(f"def f({', '.join(names)}): return {' + '.join([*names, '1'])}", namespace)
    return namespace["f"]


def calls(library: Any, compile: Callable[..., Any]) -> Calls:
    """A compiled function for each number of arguments, called once."""
    made = (library.zeros(8),)
    found: Calls = {}
    for dynamic in (False, True):
        for count in COUNTS:
            function = compile(summing(count), backend=lambda module, inputs: lambda *args: made, dynamic=dynamic)
            tensors = [library.ones(8) for _ in range(count)]
            function(*tensors)
            name = f"{count} tensors, {'any size' if dynamic else 'fixed sizes'}"
            found[name] = lambda function=function, tensors=tensors: function(*tensors)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    libraries = {"torch": calls(torch, torch.compile), "opweave": calls(opweave, opweave.compile)}
    times: dict[str, dict[str, list[float]]] = {}
    for _ in range(rounds):
        for library, cases in libraries.items():
            for name, call in cases.items():
                timer = timeit.Timer(call)
                timer.timeit(10)
                times.setdefault(name, {}).setdefault(library, []).append(timer.timeit(500) / 500)
    print(json.dumps({name: {k: statistics.median(v) for k, v in row.items()} for name, row in times.items()}))


if __name__ == "__main__":
    main()
