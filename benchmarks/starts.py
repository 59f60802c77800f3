"""Seconds from the start of a process to the first result of a compiled function, imports included: cold and warm.

    python benchmarks/starts.py                              opweave, with what it loads
    python benchmarks/starts.py --jax-python /path/python    beside jax.jit, of an interpreter that has JAX
    python benchmarks/starts.py --torch                      beside torch.compile, where there is a C++ compiler

Cold: all caches are empty. Warm: another process has run the same program; JAX has its persistent cache switched on for
everything. Each figure is the median of processes that run in turns.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

if __name__ == "__main__" and sys.argv[1:2] != ["--serve"]:  # what is measured shall load nothing but the library
    import argparse
    import shutil
    import statistics
    import subprocess
    import tempfile

PROGRAMS = ("softmax", "mlp forward and backward", "transformer block", "modules, a step")
WIDTH, HEADS, TOKENS = 128, 4, 64
#: Packages whose loading tells what a start does.
TOLD = ("numpy", "optree", "networkx", "sympy", "triton", "llvmlite", "jax", "torch")


class Library:
    """What the programs need of a library."""

    def __init__(self, name: str) -> None:
        self.name = name
        module: Any
        if name == "jax":
            jax: Any = importlib.import_module("jax")
            self.array, self.softmax, self.relu, self.jit = jax.numpy.asarray, jax.nn.softmax, jax.nn.relu, jax.jit
            self.grad, self.keep = jax.value_and_grad, {"keepdims": True}
        else:
            module = self.module = importlib.import_module(name)
            self.array, self.softmax, self.relu = module.from_numpy, module.softmax, module.relu
            self.jit, self.keep = module.compile, {"keepdim": True}


def softmax(library: Library, draw: Callable[..., Any]) -> Callable[[], Any]:
    """One kernel."""
    x = library.array(draw(64, 1024))
    compiled = library.jit(lambda x: library.softmax(x * 2, -1))
    return lambda: compiled(x)


def mlp(library: Library, draw: Callable[..., Any]) -> Callable[[], Any]:
    """Loss and gradients of two layers."""
    x, first, second = (library.array(draw(*size) / 8) for size in ((32, 64), (64, 128), (128, 10)))

    def loss(first: Any, second: Any, x: Any) -> Any:
        return (library.relu(x @ first) @ second).mean()

    if library.name == "jax":
        step = library.jit(library.grad(loss, (0, 1)))
        return lambda: step(first, second, x)[1][0]
    first.requires_grad_()
    second.requires_grad_()
    compiled = library.jit(loss)

    def run() -> Any:
        compiled(first, second, x).backward()
        return first.grad

    return run


def block(library: Library, draw: Callable[..., Any]) -> Callable[[], Any]:
    """Attention and two layers with norms, forward."""
    sizes = [(WIDTH, WIDTH)] * 4 + [(WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)]
    weights = [library.array(draw(*size) / WIDTH**0.5) for size in sizes]
    x = library.array(draw(TOKENS, WIDTH))

    def normed(x: Any) -> Any:
        centered = x - x.mean(-1, **library.keep)
        return centered / ((centered * centered).mean(-1, **library.keep) + 1e-5) ** 0.5

    def forward(x: Any, q: Any, k: Any, v: Any, o: Any, up: Any, down: Any) -> Any:
        y = normed(x)
        heads = [(y @ w).reshape(TOKENS, HEADS, WIDTH // HEADS).swapaxes(0, 1) for w in (q, k, v)]
        weights = library.softmax(heads[0] @ heads[1].swapaxes(1, 2) * (WIDTH // HEADS) ** -0.5, -1)
        x = x + (weights @ heads[2]).swapaxes(0, 1).reshape(TOKENS, WIDTH) @ o
        return x + library.relu(normed(x) @ up) @ down

    compiled = library.jit(forward)
    return lambda: compiled(x, *weights)


def modules(library: Library, draw: Callable[..., Any]) -> Callable[[], Any]:
    """Loss and gradients of a network of modules; JAX has none."""
    nn = library.module.nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.read = nn.Sequential(nn.Conv1d(8, WIDTH, 3, padding=1), nn.BatchNorm1d(WIDTH), nn.ReLU())
            self.mix = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, dropout=0.0, batch_first=True)
            self.walk, self.head = nn.GRU(WIDTH, WIDTH, batch_first=True), nn.Linear(WIDTH, 10)

        def forward(self, x: Any) -> Any:
            y, _ = self.walk(self.mix(self.read(x).transpose(1, 2)))
            return self.head(y).square().mean()

    network, x = Network(), library.array(draw(4, 8, 16))
    with library.module.no_grad():
        for weights in network.parameters():
            weights.copy_(library.array(draw(*weights.shape) / WIDTH**0.5))
    compiled = library.jit(network)

    def run() -> Any:
        compiled(x).backward()
        return network.head.weight.grad

    return run


def serve(name: str, program: str) -> None:
    """Run one program once; prints when the result was there, and what was loaded."""
    import numpy

    make = dict(zip(PROGRAMS, (softmax, mlp, block, modules), strict=True))[program]

    def draw(*size: int) -> Any:
        return numpy.sin(numpy.arange(numpy.prod(size), dtype="float32") ** 1.5).reshape(size)

    call = make(Library(name), draw)
    started = time.perf_counter()
    result = numpy.asarray(call().tolist())
    took, now = time.perf_counter() - started, time.time()
    told = [each for each in TOLD if each in sys.modules]
    about = {"first call": took, "there": now, "modules": len(sys.modules), "told": told}
    print(json.dumps({**about, "sum": float(abs(result).sum())}))


def measure(python: str, library: str, program: str, caches: str) -> dict[str, Any]:
    """Seconds of one process."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OPWEAVE_CACHE_DIR": f"{caches}/opweave",
        "TRITON_CACHE_DIR": f"{caches}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{caches}/torch",
        "JAX_COMPILATION_CACHE_DIR": f"{caches}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [python, __file__, "--serve", library, program]
    started = time.time()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{library}, {program}: exit status {done.returncode}")
    outcome = json.loads(done.stdout.splitlines()[-1])
    return {**outcome, "seconds": outcome["there"] - started}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jax-python", help="an interpreter that has JAX")
    parser.add_argument("--torch", action="store_true", help="torch.compile beside it")
    options = parser.parse_args()
    pythons = {"opweave": sys.executable}
    pythons.update({"torch": sys.executable} if options.torch else {})
    pythons.update({"jax": options.jax_python} if options.jax_python else {})
    head = f"{'seconds, import included':30}{'':10}{'cold':>10}{'warm':>10}{'its first call':>16}"
    print(f"{head}   modules when warm, and which of those told of")
    for program in PROGRAMS:
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for _ in range(options.rounds):
            for library, python in pythons.items():
                if library == "jax" and program == PROGRAMS[-1]:
                    continue
                caches = tempfile.mkdtemp(prefix="starts-")
                try:
                    for state in ("cold", "warm", "warm"):  # the second of the warm ones counts: files are in memory
                        outcome = measure(python, library, program, caches)
                        found.setdefault((library, state), []).append(outcome)
                finally:
                    shutil.rmtree(caches)
        for library in dict.fromkeys(library for library, _ in found):
            cold = statistics.median(outcome["seconds"] for outcome in found[library, "cold"])
            warm = found[library, "warm"][1::2]
            seconds, call = (statistics.median(outcome[key] for outcome in warm) for key in ("seconds", "first call"))
            loaded = f"{warm[0]['modules']}, {', '.join(warm[0]['told'])}"
            print(f"{program:30}{library:10}{cold:10.3f}{seconds:10.3f}{call:16.3f}   {loaded}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:])
    else:
        main()
