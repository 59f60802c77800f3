"""Time of calls of C++ ops, and of building one, beside PyTorch, pybind11 and nanobind; prints a table.

    python benchmarks/cpp_ops.py [--rounds 9]      # what is not installed is left out

Arrays are 2 by 2, so that a call is all there is. Each library takes turns, and the least of its rounds counts.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import subprocess
import sys
import sysconfig
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import opweave
from opweave.utils import compiling, cpp_extension

HERE = Path(__file__).parent
CALLS = 2000
Cases = dict[str, Callable[[], Any]]


def _children() -> float:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


def _compile(target: Path, *arguments: str) -> float:
    """CPU seconds of a build."""
    before = _children()
    subprocess.run([*compiling.compiler(), "-O2", "-fPIC", "-shared", *arguments, "-o", str(target)], check=True)
    return _children() - before


def _of_library(lib: Any) -> Cases:
    """The ops of cpp_ops.cpp, loaded into opweave or into PyTorch."""
    ops = {name: getattr(lib.ops.cpp_bench, name).default for name in ("nothing", "scale_", "add", "many")}
    graded = lib.ops.cpp_bench.add_with_gradient.default
    lib.library.register_autograd("cpp_bench::add_with_gradient", lambda ctx, grad: (grad, grad))
    x, y, leaf = lib.ones(2, 2), lib.ones(2, 2), lib.ones(2, 2, requires_grad=True)
    return _cases(ops, x, y) | {
        "with gradient, forward": lambda: graded(leaf, y),
        "with gradient, both": lambda: graded(leaf, y).backward(x),
    }


def _cases(ops: Any, x: Any, y: Any) -> Cases:
    nothing, scale, add, many = (ops[name] for name in ("nothing", "scale_", "add", "many"))
    numbers = [1, 2, 3]
    return {
        "nothing": lambda: nothing(x),
        "mutating": lambda: scale(x, 1.0),
        "a tensor returned": lambda: add(x, y),
        "14 arguments": lambda: many(x, y, x, y, x, y, 1, 2, 1.0, 2.0, True, False, None, numbers),
    }


def _opweave(folder: Path) -> tuple[float, Cases]:
    before = _children()
    path = cpp_extension.load("cpp_bench", HERE / "cpp_ops.cpp", build_directory=folder / "ow", is_standalone=True)
    seconds = _children() - before
    opweave.ops.load_library(path)
    return seconds, _of_library(opweave) | _compiled()


def _compiled() -> Cases:
    """Graphs of C++ ops with a kernel before and after each."""
    add = opweave.ops.cpp_bench.add.default
    opweave.library.register_fake("cpp_bench::add", lambda a, b: opweave.empty_like(a))
    x, y = opweave.ones(16, 16), opweave.ones(16, 16)

    def chain(x: Any, y: Any, count: int) -> Any:
        for _ in range(count):
            x = add(x * 2, y) * 0.5
        return x

    run = opweave.compile(chain, fullgraph=True)
    return {f"compiled, ops: {count}": lambda count=count: run(x, y, count) for count in (1, 10)}


def _custom_op(lib: Any, name: str) -> Cases:
    def add_in_python(a: Any, b: Any) -> Any:
        return a + b

    add_in_python.__annotations__ = dict.fromkeys(("a", "b", "return"), lib.Tensor)
    add = lib.library.custom_op(name, add_in_python, mutates_args=())
    x, y = lib.ones(2, 2), lib.ones(2, 2)
    return {"a tensor returned": lambda: add(x, y)}


def _torch(folder: Path) -> tuple[float, Cases]:
    torch = importlib.import_module("torch")
    paths = importlib.import_module("torch.utils.cpp_extension")
    torch.set_num_threads(1)
    flags = [f"-I{p}" for p in paths.include_paths()] + [f"-L{p}" for p in paths.library_paths()]
    flags += ["-ltorch", "-ltorch_cpu", "-lc10"]
    seconds = _compile(folder / "torch_bench.so", "-std=c++20", str(HERE / "cpp_ops.cpp"), *flags)
    torch.ops.load_library(folder / "torch_bench.so")
    return seconds, _of_library(torch)


def _binding(folder: Path, name: str, number: int, flags: list[str]) -> tuple[float, Cases]:
    target = folder / f"{name}_bench{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = f"-I{sysconfig.get_paths()['include']}"
    source = str(HERE / "cpp_bindings.cpp")
    seconds = _compile(target, "-std=c++17", f"-DBINDING={number}", include, *flags, source)
    sys.path.insert(0, str(folder))
    module = importlib.import_module(f"{name}_bench")
    x, y = np.ones((2, 2), np.float32), np.ones((2, 2), np.float32)
    return seconds, _cases(vars(module), x, y)


def _others(folder: Path) -> dict[str, tuple[float, Cases]]:
    found: dict[str, tuple[float, Cases]] = {}
    if importlib.util.find_spec("torch"):
        found["torch C++"] = _torch(folder)
        found["torch custom_op"] = 0.0, _custom_op(importlib.import_module("torch"), "cpp_bench_python::add")
    if importlib.util.find_spec("pybind11"):
        include = importlib.import_module("pybind11").get_include()
        found["pybind11"] = _binding(folder, "pybind", 1, [f"-I{include}", "-fvisibility=hidden"])
    if importlib.util.find_spec("nanobind"):
        package = Path(str(importlib.import_module("nanobind").__file__)).parent
        flags = [f"-I{package / 'include'}", f"-I{package / 'ext' / 'robin_map' / 'include'}", "-fno-strict-aliasing"]
        found["nanobind"] = _binding(folder, "nanobind", 2, [*flags, str(package / "src" / "nb_combined.cpp")])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        libraries = {"opweave C++": _opweave(Path(name)), **_others(Path(name))}
        best: dict[tuple[str, str], float] = {}
        for _ in range(rounds):
            for label, (_, cases) in libraries.items():
                for case, call in cases.items():
                    spent = min(timeit.repeat(call, number=CALLS // 10, repeat=10)) / (CALLS // 10) * 1e6
                    best[case, label] = min(spent, best.get((case, label), spent))
    labels = list(libraries)
    print("µs a call".ljust(24), *[label.rjust(16) for label in labels])
    for case in libraries["opweave C++"][1]:
        row = [f"{best[case, label]:.2f}" if (case, label) in best else "" for label in labels]
        print(case.ljust(24), *[text.rjust(16) for text in row])
    built = [f"{seconds:.1f}" if seconds else "" for seconds, _ in libraries.values()]
    print("build, CPU s".ljust(24), *[text.rjust(16) for text in built])


if __name__ == "__main__":
    main()
