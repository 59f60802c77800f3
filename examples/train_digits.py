"""Train a small network on scikit-learn's handwritten digits, each step one compiled function: `make examples`.

A step is forward, loss, backward and Adam. It is compiled once: the first call traces all of it into one graph, in
which pointwise ops fuse with the reductions around them, and the updates of all parameters are one launch.
"""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import opweave
from opweave import Tensor, optim
from opweave.nn import functional as F

Parameters = dict[str, Tensor]
EPOCHS, BATCH = 30, 64


def data() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Training and test images, float32[n, 64] from 0 to 1, and their digits, int64[n]."""
    digits: Any = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images = (digits.data[order] / 16).astype(np.float32)
    labels = digits.target[order].astype(np.int64)
    cut = len(labels) * 4 // 5
    parts = (images[:cut], labels[:cut], images[cut:], labels[cut:])
    x, y, x_test, y_test = map(opweave.from_numpy, map(np.ascontiguousarray, parts))
    return x, y, x_test, y_test


def initial(sizes: tuple[int, ...] = (64, 128, 64, 10)) -> Parameters:
    """Weights and biases, after He et al., 2015."""
    params = {}
    for i, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
        params[f"weight{i}"] = opweave.randn(outputs, inputs) * (2 / inputs) ** 0.5
        params[f"bias{i}"] = opweave.zeros(outputs)
    return params


def network(params: Parameters, x: Tensor) -> Tensor:
    """Scores of the ten digits, float32[n, 10]."""
    layers = len(params) // 2
    for i in range(layers):
        x = F.linear(x, params[f"weight{i}"], params[f"bias{i}"])
        if i + 1 < layers:
            x = F.relu(x)
    return x


def loss_of(params: Parameters, x: Tensor, y: Tensor) -> Tensor:
    """Cross entropy."""
    return F.cross_entropy(network(params, x), y)


@opweave.compile
def step(params: Parameters, state: optim.AdamState, x: Tensor, y: Tensor) -> Tensor:
    """One step of training, in place."""
    grads, loss = opweave.func.grad_and_value(loss_of)(params, x, y)
    optim.adam_(params, grads, state, lr=2e-3)
    return loss


def main() -> float:
    """Train; gives the accuracy on the test images."""
    opweave.manual_seed(0)
    x, y, x_test, y_test = data()
    params = initial()
    state = optim.adam_init(params)
    draw = np.random.default_rng(1)
    started = time.perf_counter()
    accuracy = 0.0
    for epoch in range(EPOCHS):
        order = opweave.from_numpy(draw.permutation(len(y)))
        total, batches = 0.0, len(y) // BATCH
        for i in range(batches):
            picked = order[i * BATCH : (i + 1) * BATCH]
            total += step(params, state, x[picked], y[picked]).item()
        accuracy = (network(params, x_test).argmax(-1) == y_test).float().mean().item()
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1:3}   loss {total / batches:.4f}   test accuracy {accuracy:.1%}")
    print(f"{time.perf_counter() - started:.1f} s, of which the first step took most; {step}")
    return accuracy


if __name__ == "__main__":
    assert main() >= 0.97
