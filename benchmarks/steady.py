"""Time of a call that is compiled already, beside PyTorch in the same process; prints one JSON object.

Run by `run.py`, once for each environment and number of threads. Contestants take turns, round by round, so that a
slower machine in between slows them all.
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
from workloads import STEADY, TINY, Workload

import opweave

Contestants = dict[str, Callable[[], Any]]


def contestants(workload: Workload) -> Contestants:
    """Everyone's call without arguments, checked to agree."""
    arrays = workload.inputs()
    ours = [opweave.from_numpy(array) for array in arrays]
    theirs = [torch.from_numpy(array) for array in arrays]
    functions = {
        "opweave": (opweave.compile(workload.make(opweave)), ours),
        "torch.compile": (torch.compile(workload.make(torch)), theirs),
        "torch eager": (workload.make(torch), theirs),
    }
    if workload is TINY:
        functions["opweave eager"] = (workload.make(opweave), ours)
        functions["numpy"] = (workload.make(np), arrays)
    results = {name: np.asarray(function(*inputs)) for name, (function, inputs) in functions.items()}
    for name, result in results.items():
        reference, label = results["torch eager"], f"{workload.name}, {name}"
        np.testing.assert_allclose(result, reference, rtol=2e-4, atol=2e-4, err_msg=label)
    return {name: (lambda f=function, i=inputs: f(*i)) for name, (function, inputs) in functions.items()}


def alternate(calls: Contestants, rounds: int, seconds: float) -> dict[str, float]:
    """Seconds a call, medians over rounds of about `seconds` for each contestant."""
    repeats = {}
    for name, call in calls.items():
        for _ in range(3):
            call()
        start = time.perf_counter()
        call()
        repeats[name] = max(1, int(seconds / max(time.perf_counter() - start, 1e-7)))
    times: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    for _ in range(rounds):
        for name in order:
            call, count = calls[name], repeats[name]
            # The threads of the one before spin for a while before they sleep.
            time.sleep(0.005)
            call()
            start = time.perf_counter()
            for _ in range(count):
                call()
            times[name].append((time.perf_counter() - start) / count)
        order.append(order.pop(0))
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--tiny", action="store_true", help="only the overhead of a call")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rows = {}
    with torch.no_grad():
        for workload in (TINY,) if options.tiny else STEADY:
            seconds = 0.02 if options.tiny else 0.06
            rows[workload.name] = alternate(contestants(workload), options.rounds, seconds)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
