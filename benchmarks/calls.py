"""Microseconds of a call of small compiled graphs: what launching, products and memory cost besides the arithmetic.

    python benchmarks/calls.py                              opweave and torch.compile, with and without its C++ wrapper
    python benchmarks/calls.py --jax-python /path/python    beside jax.jit, of an interpreter that has JAX

Each library has a process of its own; they work in turns. All matrices are 16 x 16; each figure is the least of all
rounds. `rows and columns` are softmaxes along alternating dimensions, none of which joins the one before.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

COUNTS = (1, 10, 100)
LIBRARIES = ("opweave", "torch", "torch cpp_wrapper", "jax")
Calls = dict[str, Callable[[], Any]]


class Library:
    """What the programs need of a library."""

    def __init__(self, name: str) -> None:
        self.name = name
        if name == "jax":
            jax: Any = importlib.import_module("jax")
            self.compile, self.relu, self.softmax = jax.jit, jax.nn.relu, jax.nn.softmax
            self.array = jax.numpy.asarray
            return
        module: Any = importlib.import_module(name.split()[0])
        if name.endswith("cpp_wrapper"):
            importlib.import_module("torch._inductor.config").cpp_wrapper = True
        if name.startswith("torch"):
            module.set_num_threads(1)
        self.compile, self.relu, self.softmax = module.compile, module.relu, module.softmax
        self.array = module.from_numpy


def programs(library: Library) -> dict[str, tuple[Callable[..., Any], list[Any]]]:
    """Functions and what they are called with."""
    draw = np.random.default_rng(0)

    def matrix() -> Any:
        return library.array(draw.standard_normal((16, 16), dtype=np.float32))

    def softmaxes(count: int, alternate: bool) -> Callable[..., Any]:
        def function(x: Any) -> Any:
            for i in range(count):
                x = library.softmax(x, i % 2 if alternate else -1)
            return x

        return function

    def products(x: Any, *weights: Any) -> Any:
        for weight in weights:
            x = library.relu(x @ weight)
        return x

    def total(*tensors: Any) -> Any:
        found = tensors[0]
        for tensor in tensors[1:]:
            found = found + tensor
        return found * 2

    found: dict[str, tuple[Callable[..., Any], list[Any]]] = {}
    for count in COUNTS:
        found[f"softmax, {count}"] = softmaxes(count, False), [matrix()]
        found[f"softmax of rows and columns, {count}"] = softmaxes(count, True), [matrix()]
        found[f"product and relu, {count}"] = products, [matrix() for _ in range(count + 1)]
        found[f"sum of {count} tensors"] = total, [matrix() for _ in range(count)]
    return found


def serve(name: str) -> None:
    """Time all programs once for each line that comes in."""
    library = Library(name)
    calls: Calls = {}
    for title, (function, args) in programs(library).items():
        compiled = library.compile(function)
        compiled(*args)
        wait = (lambda c=compiled, a=args: c(*a).block_until_ready()) if name == "jax" else None
        calls[title] = wait or (lambda c=compiled, a=args: c(*a))
    print("ready", flush=True)
    for _ in sys.stdin:
        times: dict[str, float] = {}
        for title, call in calls.items():
            timer = timeit.Timer(call)
            timer.timeit(20)
            times[title] = min(timer.repeat(5, 100)) / 100
        print(json.dumps(times), flush=True)


def start(name: str, python: str) -> subprocess.Popen[str]:
    environment = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPWEAVE_NUM_THREADS"), "1")}
    command = [python, __file__, "--library", name]
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", choices=LIBRARIES, help="serve one in this process")
    parser.add_argument("--libraries", default="opweave,torch,torch cpp_wrapper", help="which, separated by commas")
    parser.add_argument("--jax-python", help="an interpreter that has JAX")
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    if options.library:
        serve(options.library)
        return
    names = [*options.libraries.split(","), *(["jax"] if options.jax_python else [])]
    servers = {name: start(name, options.jax_python if name == "jax" else sys.executable) for name in names}
    for server in servers.values():
        assert server.stdout is not None
        server.stdout.readline()
    best: dict[str, dict[str, float]] = {}
    for _ in range(options.rounds):
        for name, server in servers.items():
            assert server.stdin is not None and server.stdout is not None
            server.stdin.write("go\n")
            server.stdin.flush()
            for title, seconds in json.loads(server.stdout.readline()).items():
                row = best.setdefault(title, {})
                row[name] = min(row.get(name, seconds), seconds)
    for server in servers.values():
        assert server.stdin is not None
        server.stdin.close()
    width = max(map(len, best))
    print(f"{'µs a call':{width}}", *(f"{name:>18}" for name in names), "  opweave / best")
    for title, row in best.items():
        others = [row[name] for name in names if name != "opweave"]
        ratio = f"{row['opweave'] / min(others):16.2f}" if others and "opweave" in row else ""
        print(f"{title:{width}}", *(f"{row[name] * 1e6:18.1f}" for name in names), ratio)


if __name__ == "__main__":
    main()
