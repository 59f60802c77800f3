"""Run the cases: `operations.py reference FILE` beside PyTorch, then `operations.py check FILE` without it.

python tests/packages/operations.py reference /tmp/references.npz     # PyTorch, float64, plain formulas
python tests/packages/operations.py check /tmp/references.npz [PART]  # opweave, the packages' ops

PART is a part of the ops' names; `--quick` leaves out those that take long to compile, and packages that are not there.
"""

from __future__ import annotations

import collections
import functools
import importlib
import importlib.util
import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
from cases import CASES, Case


def tensors(torch: Any, case: Case, wide: bool) -> dict[str, Any]:
    """The arguments; floating ones that are differentiated require grad."""
    found = {}
    for name, array in case.arrays().items():
        t = torch.from_numpy(array.astype(np.float64) if wide and array.dtype.kind == "f" else array)
        if case.backward and array.dtype.kind == "f" and name not in case.constant:
            t.requires_grad_()
        found[name] = t
    return found


def outcome(torch: Any, function: Any, inputs: dict[str, Any], backward: bool) -> list[np.ndarray]:
    """Results and gradients, of a sum of the results with weights."""
    results = function(**inputs)
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    rng = np.random.default_rng(1)
    if backward:
        weights = [torch.from_numpy(rng.standard_normal(tuple(r.shape))).to(r.dtype) for r in results]
        total: Any = sum((r * w).sum() for r, w in zip(results, weights, strict=True))
        total.backward()
    grads = [t.grad for t in inputs.values() if t.requires_grad]
    return [np.asarray(t.detach().numpy(), np.float64) for t in (*results, *grads)]


def write_references(path: str) -> None:
    """What plain formulas give, by PyTorch."""
    import torch

    found: dict[str, np.ndarray] = {}
    for number, case in enumerate(CASES):
        plain = outcome(torch, functools.partial(case.plain, torch), tensors(torch, case, True), case.backward)
        found |= {f"{number}/{i}": array for i, array in enumerate(plain)}
    np.savez(path, **found)


def run(torch: Any, case: Case, wanted: list[np.ndarray], way: Any) -> str:
    """Run the package's op, compiled in some way or not; what is wrong, or nothing."""
    module, _, name = case.where.partition(":")
    op = getattr(importlib.import_module(module), name)
    op = getattr(op, "apply", op)
    call = case.call or _in_order

    def called(**x: Any) -> Any:
        return call(op, torch, **x)

    function = way(called)
    for _ in range(1 if function is called else 2):  # the second time it runs what the first time made
        found = outcome(torch, function, tensors(torch, case, False), case.backward)
    if len(found) != len(wanted):
        return f"{len(found)} results and gradients, not {len(wanted)}"
    for i, (a, b) in enumerate(zip(found, wanted, strict=True)):
        if a.shape != b.shape:
            return f"result or gradient {i} has shape {a.shape}, not {b.shape}"
        error = np.abs(a - b).max() / max(np.abs(b).max(), 1e-3)
        if not error <= case.tolerance:
            return f"result or gradient {i} is off by {error:.1e}"
    return ""


def _in_order(op: Any, _: Any, **x: Any) -> Any:
    return op(*x.values())


def check(path: str, part: str, quick: bool) -> int:
    """Run the cases; the number of those that are wrong, and of counts that are too low."""
    import opweave
    import opweave.compat

    opweave.compat.install(force=True)
    import gpus
    import torch

    gpus.answer()
    ways: dict[str, Any] = {
        "": lambda function: function,
        "compiled": opweave.compile,
        "as one graph": functools.partial(opweave.compile, fullgraph=True),
    }
    references = np.load(path)
    right: dict[str, list[Case]] = {way: [] for way in ways}
    wrong = 0
    for number, case in enumerate(CASES):
        if part not in case.name or (quick and (case.slow or not is_there(case.package))):
            continue
        wanted, i = [], 0
        while f"{number}/{i}" in references:
            wanted.append(references[f"{number}/{i}"])
            i += 1
        tried = [""] if case.slow else ["", "compiled"] if case.breaks else [*ways]
        for way in tried:
            started = time.perf_counter()
            try:
                message = run(torch, case, wanted, ways[way])
            except Exception as error:
                message = f"{type(error).__name__}: {str(error)[:300]}"
            if message:
                wrong += 1
            else:
                right[way].append(case)
            took = time.perf_counter() - started
            print(f"{'FAILED' if message else 'ok':6} {case.name} {way} ({took:.1f} s) {message}", flush=True)
    print(f"{sum(map(len, right.values()))} passed, {wrong} failed")
    return wrong + (0 if part else short(right, quick))


@functools.cache
def is_there(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def short(right: dict[str, list[Case]], quick: bool) -> int:
    """Print how many different ops were right; how many of these numbers are lower than they have to be."""
    least = {"ops": 60, "with gradients": 30 if quick else 60, "packages": 4, "compiled": 20, "as one graph": 20}
    packages = collections.Counter({case.where: case.package for case in right[""]}.values())
    found = {
        "ops": len(_ops(right[""])),
        "with gradients": len(_ops(case for case in right[""] if case.backward or case.gradient)),
        "packages": len(packages),
        "compiled": len(_ops(right["compiled"])),
        "as one graph": len(_ops(right["as one graph"])),
    }
    print("; ".join(f"{name}: {count} (at least {least[name]})" for name, count in found.items()))
    print(", ".join(f"{package} {count}" for package, count in packages.items()))
    return sum(count < least[name] for name, count in found.items())


def _ops(cases: Iterable[Case]) -> set[str]:
    return {case.where for case in cases}


if __name__ == "__main__":
    if sys.argv[1] == "reference":
        write_references(sys.argv[2])
    else:
        parts = [argument for argument in sys.argv[3:] if argument != "--quick"]
        sys.exit(bool(check(sys.argv[2], "".join(parts), "--quick" in sys.argv)))
