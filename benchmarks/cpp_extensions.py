"""Builds public C++ extensions for opweave and for PyTorch, as they are, and compares what their ops give.

    python benchmarks/cpp_extensions.py FOLDER     # source distributions unpacked there: torch_scatter-*, ...

For each it says which files compile and how many results, gradients included, are the same bits.
"""

from __future__ import annotations

import argparse
import importlib
import pickle
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

PACKAGES = ("torch_scatter", "torch_cluster", "torch_spline_conv")
Case = tuple[str, Callable[..., Any], tuple[Any, ...]]


def build(library: str, package: str, folder: Path, built: Path) -> Path:
    """Compile each source of a package's CPU ops by itself, and link them."""
    (source,) = folder.glob(f"{package}-*/")
    paths = importlib.import_module(f"{library}.utils.cpp_extension")
    standard = "-std=c++20" if library == "torch" else "-std=c++17"
    include = [*paths.include_paths(), sysconfig.get_paths()["include"], source / "csrc"]
    objects = []
    for file in sorted([*source.glob("csrc/*.cpp"), *source.glob("csrc/cpu/*.cpp")]):
        target = built / f"{library}_{package}_{file.parent.name}_{file.stem}.o"
        command = ["c++", "-c", standard, "-O0", "-fPIC", "-DWITH_PYTHON", *[f"-I{path}" for path in include]]
        if not target.exists():
            done = subprocess.run([*command, file, "-o", target], capture_output=True, text=True, check=False)
            print(f"{library:8} {package} {file.name}: {'ok' if not done.returncode else done.stderr}", flush=True)
        objects.append(target)
    result = built / f"{library}_{package}.so"
    needed = ["-ltorch", "-ltorch_cpu", "-lc10", "-ltorch_python"] if library == "torch" else ["-ltvm_ffi"]
    found = [f"-L{path}" for path in paths.library_paths()]
    subprocess.run(["c++", "-shared", *objects, "-o", result, *found, *needed], check=True)
    return result


def _scatter(ops: Any, rng: np.random.Generator) -> Iterator[Case]:
    for dtype in ("float32", "float64", "int64"):
        source, index = (rng.standard_normal((4, 7, 5)) * 4).astype(dtype), rng.integers(0, 6, (4, 7, 5))
        rows, ends = np.array([0, 0, 1, 1, 1, 3, 3]), np.array([0, 2, 2, 5, 7])
        turned = source.transpose(1, 0, 2).copy()
        for name in ("sum", "mul", "mean", "min", "max"):
            scatter = getattr(ops, f"scatter_{name}")
            yield f"scatter {name}", lambda s, i, op=scatter: op(s, i, 1, None, None), (source, index)
        for name in ("sum", "mean", "min", "max"):
            csr, coo = getattr(ops, f"segment_{name}_csr"), getattr(ops, f"segment_{name}_coo")
            yield f"csr {name}", lambda s, e, op=csr: op(s, e, None), (turned, ends)
            yield f"coo {name}", lambda s, r, op=coo: op(s, r, None, None), (turned, rows)
        yield "gather csr", lambda s, e: ops.gather_csr(s, e, None), (turned[:4].copy(), ends)
        yield "gather coo", lambda s, r: ops.gather_coo(s, r, None), (turned, rows)


def _cluster(ops: Any, rng: np.random.Generator) -> Iterator[Case]:
    x, y = rng.standard_normal((30, 3)).astype("float32"), rng.standard_normal((12, 3)).astype("float32")
    ends, ratio = np.array([0, 12, 30]), np.array([0.5, 0.3], np.float32)
    ring = np.array([0, 1, 2, 3, 4]), np.array([1, 2, 3, 0]), np.array([0, 1, 2, 3])
    yield "fps", lambda *t: ops.fps(*t, False), (x, ends, ratio)
    yield "knn", lambda a, b: ops.knn(a, b, None, None, 4, False, 1), (x, y)
    yield "knn in parts", lambda a, b, p, q: ops.knn(a, b, p, q, 3, False, 1), (x, y, ends, np.array([0, 6, 12]))
    yield "radius", lambda a, b: ops.radius(a, b, None, None, 1.2, 16, 1), (x, y)
    yield "grid", lambda a, s: ops.grid(a, s, None, None), (x, np.array([0.5, 0.5, 0.7], np.float32))
    yield "random walk", lambda *t: ops.random_walk(*t, 5, 1.0, 1.0), ring
    yield "graclus", lambda p, c: ops.graclus(p, c, None), (np.array([0, 1, 2]), np.array([1, 0]))


def _spline(ops: Any, rng: np.random.Generator) -> Iterator[Case]:
    sizes, is_open = np.array([5, 5]), np.array([1, 0], np.uint8)
    for dtype in ("float32", "float64"):
        pseudo, x = rng.random((9, 2)).astype(dtype), rng.standard_normal((9, 3)).astype(dtype)
        weight = rng.standard_normal((25, 3, 4)).astype(dtype)
        for degree in (1, 2, 3):
            points = (degree + 1) ** 2
            basis, index = rng.random((9, points)).astype(dtype), rng.integers(0, 25, (9, points))
            yield "basis", lambda *t, d=degree: ops.spline_basis(*t, d), (pseudo, sizes, is_open)
            yield "weighting", ops.spline_weighting, (x, weight, basis, index)


CASES = {"torch_scatter": _scatter, "torch_cluster": _cluster, "torch_spline_conv": _spline}


def results(library: str, package: str, path: Path) -> list[np.ndarray]:
    """What each case gives, and the gradients of what can have one."""
    lib: Any = importlib.import_module(library)
    lib.ops.load_library(path)
    found: list[np.ndarray] = []
    for _, call, arrays in CASES[package](getattr(lib.ops, package), np.random.default_rng(0)):
        leaves = [lib.from_numpy(array.copy()) for array in arrays]
        if package != "torch_cluster":
            leaves = [
                t.requires_grad_() if array.dtype.kind == "f" else t for t, array in zip(leaves, arrays, strict=True)
            ]
        made = call(*leaves)
        outputs = [t for t in (made if isinstance(made, (tuple, list)) else (made,)) if t is not None]
        found += [t.detach().numpy() for t in outputs]
        if outputs[0].requires_grad:
            weights = (
                np.random.default_rng(1).standard_normal(tuple(outputs[0].shape)).astype(found[-len(outputs)].dtype)
            )
            (outputs[0] * lib.from_numpy(weights)).sum().backward()
            found += [t.grad.numpy() for t in leaves if t.requires_grad and t.grad is not None]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--of", nargs=3, help=argparse.SUPPRESS)  # in a process of its own: library, package, file
    given = parser.parse_args()
    if given.of:
        library, package, path = given.of
        sys.stdout.buffer.write(pickle.dumps(results(library, package, Path(path))))
        return
    built = given.folder / "built"
    built.mkdir(exist_ok=True)
    for package in PACKAGES:
        both = []
        for library in ("torch", "opweave"):
            path = build(library, package, given.folder, built)
            command = [sys.executable, __file__, str(given.folder), "--of", library, package, str(path)]
            both.append(pickle.loads(subprocess.run(command, capture_output=True, check=True).stdout))
        pairs = list(zip(*both, strict=True))
        same = sum(a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)
        print(f"{package}: {same} of {len(pairs)} results are the same bits")


if __name__ == "__main__":
    main()
