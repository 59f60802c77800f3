"""Time of tracing a chain of pointwise ops, with both libraries in one process by turns; prints JSON (seconds)."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx as torch_make_fx

import opweave

MODES = ("real", "fake", "symbolic")


def chain(nodes: int) -> Callable[[Any], Any]:
    """A function that calls this many pointwise ops."""

    def f(x: Any) -> Any:
        for _ in range(nodes // 4):
            x = ((x * 2 + 1) / 3).sin()
        return x

    return f


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nodes", type=int, nargs="*", default=[100, 1000, 10000])
    options = parser.parse_args()
    torch.set_num_threads(1)
    ours, theirs = opweave.randn(4, 6), torch.randn(4, 6)
    found: dict[str, dict[str, list[float]]] = {}
    for nodes in options.nodes:
        f = chain(nodes)
        for round_ in range(options.rounds + 1):
            for mode in MODES:
                for library, trace, x in (("torch", torch_make_fx, theirs), ("opweave", opweave.make_fx, ours)):
                    if library == "torch" and nodes >= 10000 and round_ > 1:
                        continue  # tens of seconds each
                    start = time.perf_counter()
                    trace(f, tracing_mode=mode)(x)
                    if round_:  # the first loads what it needs
                        times = found.setdefault(f"{nodes} nodes, {mode}", {})
                        times.setdefault(library, []).append(time.perf_counter() - start)
    print(json.dumps({name: {k: statistics.median(v) for k, v in row.items()} for name, row in found.items()}))


if __name__ == "__main__":
    main()
