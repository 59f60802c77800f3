"""Time of one eager call, with both libraries in one process by turns; prints JSON.

The functions behind the custom ops return a tensor made beforehand, so that what is left is the call.
"""

from __future__ import annotations

import argparse
import json
import statistics
import timeit
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor as TorchTensor

import opweave
from opweave import Tensor

Calls = dict[str, Callable[[], Any]]


def of_opweave() -> Calls:
    x, made = opweave.zeros(8), opweave.zeros(8)
    leaf = opweave.zeros(8, requires_grad=True)

    def small(x: Tensor) -> Tensor:
        return made

    def wide(
        a: Tensor, b: Tensor, c: Tensor, d: Tensor, e: Tensor, f: Tensor, i: int, j: int, k: float, q: float, m: bool,
        n: str, o: int = 1, p: float = 2.0,
    ) -> Tensor:  # fmt: skip
        return made

    one = opweave.library.custom_op("bench::one", small, mutates_args=())
    many = opweave.library.custom_op("bench::many", wide, mutates_args=())
    recorded = opweave.library.custom_op("bench::recorded", small, mutates_args=())
    recorded.register_autograd(lambda ctx, grad: grad)
    return {
        "function, 1 argument": lambda: small(x),
        "custom_op, 1 argument": lambda: one(x),
        "function, 14 arguments": lambda: wide(x, x, x, x, x, x, 1, 2, 3.0, 4.0, True, "a", 1, 2.0),
        "custom_op, 14 arguments": lambda: many(x, x, x, x, x, x, 1, 2, 3.0, 4.0, True, "a", 1, 2.0),
        "custom_op with autograd": lambda: recorded(leaf),
        "x + y": lambda: x + x,
        "x + y, requires_grad": lambda: leaf + x,
    }


def of_torch() -> Calls:
    x, made = torch.zeros(8), torch.zeros(8)
    leaf = torch.zeros(8, requires_grad=True)

    def small(x: TorchTensor) -> TorchTensor:
        return made

    def wide(
        a: TorchTensor, b: TorchTensor, c: TorchTensor, d: TorchTensor, e: TorchTensor, f: TorchTensor, i: int, j: int,
        k: float, q: float, m: bool, n: str, o: int = 1, p: float = 2.0,
    ) -> TorchTensor:  # fmt: skip
        return made

    one = torch.library.custom_op("bench::one", small, mutates_args=())
    many = torch.library.custom_op("bench::many", wide, mutates_args=())
    recorded = torch.library.custom_op("bench::recorded", small, mutates_args=())
    recorded.register_autograd(lambda ctx, grad: grad)
    return {
        "function, 1 argument": lambda: small(x),
        "custom_op, 1 argument": lambda: one(x),
        "function, 14 arguments": lambda: wide(x, x, x, x, x, x, 1, 2, 3.0, 4.0, True, "a", 1, 2.0),
        "custom_op, 14 arguments": lambda: many(x, x, x, x, x, x, 1, 2, 3.0, 4.0, True, "a", 1, 2.0),
        "custom_op with autograd": lambda: recorded(leaf),
        "x + y": lambda: x + x,
        "x + y, requires_grad": lambda: leaf + x,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    torch.set_num_threads(1)
    contestants = {"torch": of_torch(), "opweave": of_opweave()}
    times: dict[str, dict[str, list[float]]] = {}
    number = 2000
    for _ in range(options.rounds):
        for library, calls in contestants.items():
            for name, call in calls.items():
                times.setdefault(name, {}).setdefault(library, []).append(timeit.timeit(call, number=number) / number)
    print(json.dumps({name: {k: statistics.median(v) for k, v in row.items()} for name, row in times.items()}))


if __name__ == "__main__":
    main()
