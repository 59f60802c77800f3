"""Time of eager ops on a million float32, beside NumPy doing the same and PyTorch, one thread; prints JSON (seconds).

Each of the three takes turns. NumPy's column is its own way to the same result, as a person would write it.

`--table ops` and `--table steps` print instead what `eager_ops.py` lists, small and large, in several types, plain and
with gradients: the processor time of a call in opweave and in PyTorch by turns, and its quotient, worst first.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import eager_ops
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


# ---- the table -------------------------------------------------------------------------------------------------------

#: Seconds of calls between two looks at the clock, and calls before the first.
SPAN, WARM_CALLS = 0.003, {"small": 20, "large": 2}


def least(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least processor seconds of a call of each, by turns."""
    found, counts = dict.fromkeys(calls, math.inf), {}
    for name, call in calls.items():
        start = time.process_time()
        for _ in range(2):
            call()
        counts[name] = max(1, min(300, int(SPAN * 2 / max(time.process_time() - start, 1e-6))))
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.process_time()
            for _ in range(counts[name]):
                call()
            found[name] = min(found[name], (time.process_time() - start) / counts[name])
    return found


def table_of_ops(rounds: int) -> list[tuple[str, float, float]]:
    """(what, seconds of opweave, of PyTorch) of each op that both have."""
    rows = []
    for size, warm_calls in WARM_CALLS.items():
        for dtype in eager_ops.DTYPES:
            for requires_grad in (False, True) if dtype in ("float32", "bfloat16") else (False,):
                given = [eager_ops.tensors(lib, size, dtype, requires_grad) for lib in (opweave, torch)]
                for name, op in eager_ops.ops_of(dtype, requires_grad).items():
                    calls = {
                        "opweave": lambda op=op, given=given: op(opweave, given[0]),
                        "torch": lambda op=op, given=given: op(torch, given[1]),
                    }
                    try:
                        for _ in range(warm_calls):
                            calls["opweave"]()
                        calls["torch"]()
                    except (TypeError, RuntimeError):  # not for this type
                        continue
                    times = least(calls, rounds)
                    about = f"{name}, {size} {dtype}{' with gradient' if requires_grad else ''}"
                    rows.append((about, times["opweave"], times["torch"]))
    return rows


def table_of_steps(rounds: int) -> list[tuple[str, float, float]]:
    """The same of whole steps."""
    ours, theirs = eager_ops.steps(opweave), eager_ops.steps(torch)
    rows = []
    for name, step in ours.items():
        for _ in range(60):
            step()
        times = least({"opweave": step, "torch": theirs[name]}, rounds)
        rows.append((name, times["opweave"], times["torch"]))
    return rows


def print_table(rows: list[tuple[str, float, float]]) -> None:
    print(f"{'':44} {'opweave us':>11} {'torch us':>11} {'quotient':>9}")
    for name, ours, theirs in sorted(rows, key=lambda row: row[2] / row[1]):
        print(f"{name:44} {ours * 1e6:11.1f} {theirs * 1e6:11.1f} {ours / theirs:9.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--table", choices=("ops", "steps"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.table:
        opweave.set_num_threads(1)
        print_table((table_of_ops if options.table == "ops" else table_of_steps)(options.rounds))
        return
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
