"""Time of one eager call on small tensors, with both libraries in one process by turns; prints JSON (seconds).

The functions behind the custom ops return a tensor made beforehand, so that what is left is the call. Calls are alike
in all rounds, as in a loop over batches of one size.
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


def small_calls(lib: Any) -> Calls:
    """The same calls for both, each plain and with a tensor that requires grad."""
    found: Calls = {}
    for about in ("", ", requires_grad"):
        x, y = lib.ones(8, requires_grad=bool(about)), lib.ones(8)
        square = lib.ones(64, 64, requires_grad=bool(about))
        found |= {
            f"x + y{about}": lambda x=x, y=y: x + y,
            f"x * 2{about}": lambda x=x: x * 2,
            f"exp{about}": lambda x=x: x.exp(),
            f"empty_like{about}": lambda x=x: lib.empty_like(x),
            f"sum{about}": lambda x=x: x.sum(),
            f"sum of 64 rows{about}": lambda square=square: square.sum(1),
            f"x[i]{about}": lambda x=x: x[3],
            f"x[1:, 2]{about}": lambda square=square: square[1:, 2],
            f"transpose{about}": lambda square=square: square.t(),
            f"64 x 64 product{about}": lambda square=square: square @ square,
        }
    x, y, mask = lib.ones(8), lib.ones(8), lib.ones(8) > 0
    return found | {
        "in place": lambda: x.add_(y),
        "zeros": lambda: lib.zeros(8),
        "where": lambda: lib.where(mask, x, y),
        "cast": lambda: x.to(lib.float64),
    }


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
        **small_calls(opweave),
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
        **small_calls(torch),
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
