"""Time of eager ops on a million float32, beside NumPy doing the same and PyTorch, one thread; prints JSON (seconds).

Each of the three takes turns. NumPy's column is its own way to the same result, as a person would write it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import opweave

ROWS, COLUMNS = 1000, 1000

Forms = tuple[Callable[..., Any], Callable[..., Any]]
#: For each op (opweave and PyTorch, NumPy) on the arrays x, y (positive) and i (row numbers).
OPS: dict[str, Forms] = {
    "add": (lambda lib, x, y, i: x + y, lambda x, y, i: x + y),
    "sub": (lambda lib, x, y, i: x - y, lambda x, y, i: x - y),
    "mul": (lambda lib, x, y, i: x * y, lambda x, y, i: x * y),
    "div": (lambda lib, x, y, i: x / y, lambda x, y, i: x / y),
    "add a number": (lambda lib, x, y, i: x + 2.0, lambda x, y, i: x + np.float32(2)),
    "add a row": (lambda lib, x, y, i: x + y[0], lambda x, y, i: x + y[0]),
    "maximum": (lambda lib, x, y, i: lib.maximum(x, y), lambda x, y, i: np.maximum(x, y)),
    "neg": (lambda lib, x, y, i: -x, lambda x, y, i: -x),
    "abs": (lambda lib, x, y, i: lib.abs(x), lambda x, y, i: np.abs(x)),
    "sqrt": (lambda lib, x, y, i: lib.sqrt(y), lambda x, y, i: np.sqrt(y)),
    "exp": (lambda lib, x, y, i: lib.exp(x), lambda x, y, i: np.exp(x)),
    "log": (lambda lib, x, y, i: lib.log(y), lambda x, y, i: np.log(y)),
    "sin": (lambda lib, x, y, i: lib.sin(x), lambda x, y, i: np.sin(x)),
    "cos": (lambda lib, x, y, i: lib.cos(x), lambda x, y, i: np.cos(x)),
    "tanh": (lambda lib, x, y, i: lib.tanh(x), lambda x, y, i: np.tanh(x)),
    "sigmoid": (lambda lib, x, y, i: lib.sigmoid(x), lambda x, y, i: 1 / (1 + np.exp(-x))),
    "relu": (lambda lib, x, y, i: lib.relu(x), lambda x, y, i: np.maximum(x, np.float32(0))),
    "silu": (lambda lib, x, y, i: lib.nn.functional.silu(x), lambda x, y, i: x / (1 + np.exp(-x))),
    "pow 2": (lambda lib, x, y, i: x**2, lambda x, y, i: np.square(x)),
    "clamp": (lambda lib, x, y, i: x.clamp(-1, 1), lambda x, y, i: np.clip(x, np.float32(-1), np.float32(1))),
    "lt": (lambda lib, x, y, i: x < y, lambda x, y, i: x < y),
    "where": (lambda lib, x, y, i: lib.where(x > 0, x, y), lambda x, y, i: np.where(x > 0, x, y)),
    "cast": (lambda lib, x, y, i: x.to(lib.float64), lambda x, y, i: x.astype(np.float64)),
    "clone": (lambda lib, x, y, i: x.clone(), lambda x, y, i: x.copy()),
    "sum": (lambda lib, x, y, i: x.sum(), lambda x, y, i: x.sum()),
    "sum of rows": (lambda lib, x, y, i: x.sum(1), lambda x, y, i: x.sum(1)),
    "sum of columns": (lambda lib, x, y, i: x.sum(0), lambda x, y, i: x.sum(0)),
    "mean of rows": (lambda lib, x, y, i: x.mean(1), lambda x, y, i: x.mean(1)),
    "amax of rows": (lambda lib, x, y, i: x.amax(1), lambda x, y, i: x.max(1)),
    "argmax of rows": (lambda lib, x, y, i: x.argmax(1), lambda x, y, i: x.argmax(1)),
    "var of rows": (lambda lib, x, y, i: x.var(1), lambda x, y, i: x.var(1, ddof=1)),
    "cumsum": (lambda lib, x, y, i: x.cumsum(1), lambda x, y, i: x.cumsum(1)),
    "softmax": (lambda lib, x, y, i: lib.softmax(x, -1), lambda x, y, i: _softmax(x)),
    "transposed copy": (lambda lib, x, y, i: x.t().contiguous(), lambda x, y, i: np.ascontiguousarray(x.T)),
    "cat": (lambda lib, x, y, i: lib.cat([x[:500], y[:500]]), lambda x, y, i: np.concatenate([x[:500], y[:500]])),
    "index rows": (lambda lib, x, y, i: x[i], lambda x, y, i: x[i]),
    "sort rows": (lambda lib, x, y, i: lib.sort(x, 1), lambda x, y, i: _sort(x)),
    "matmul": (lambda lib, x, y, i: x @ y, lambda x, y, i: x @ y),
    "in-place add": (lambda lib, x, y, i: y.add_(0.0), lambda x, y, i: np.add(y, np.float32(0), out=y)),
    "zeros": (lambda lib, x, y, i: lib.zeros(ROWS, COLUMNS), lambda x, y, i: np.full((ROWS, COLUMNS), np.float32(0))),
}  # fmt: skip


def _softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _sort(x: Any) -> Any:
    places = np.argsort(x, axis=1, kind="stable")
    return np.take_along_axis(x, places, 1), places


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    options = parser.parse_args()
    torch.set_num_threads(1)
    draw = np.random.default_rng(0)
    x = draw.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    y = draw.random((ROWS, COLUMNS)).astype(np.float32) + 0.5
    arrays = x, y, draw.integers(0, ROWS, ROWS)
    ours, theirs = ([lib.from_numpy(a.copy()) for a in arrays] for lib in (opweave, torch))
    found: dict[str, dict[str, float]] = {}
    for name, (form, plain) in OPS.items():
        calls: dict[str, Callable[[], Any]] = {
            "numpy": lambda f=plain: f(*arrays),
            "torch": lambda f=form: f(torch, *theirs),
            "opweave": lambda f=form: f(opweave, *ours),
        }
        times: dict[str, list[float]] = {library: [] for library in calls}
        for _ in range(options.rounds):
            for library, call in calls.items():
                call()
                start = time.perf_counter()
                for _ in range(3):
                    call()
                times[library].append((time.perf_counter() - start) / 3)
        found[name] = {library: statistics.median(values) for library, values in times.items()}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
