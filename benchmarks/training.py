"""Time of a whole training step, each library in processes of its own by turns; prints JSON.

In one process their threads would stand in each other's way. Forward and backward of an MLP, of a cross entropy and of
a transformer block, and one step of Adam over 20 tensors. JAX takes part where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import opweave
from opweave import optim

Steps = dict[str, Callable[[], Any]]
DRAW = np.random.default_rng(0)
ROWS, WIDTH, HIDDEN = 256, 512, 2048
EXAMPLES, CLASSES = 2048, 8192
TENSORS, ELEMENTS = 20, 100_000
BATCH, LENGTH, MODEL, HEADS = 8, 128, 256, 4


def array(*shape: int, scale: float = 1.0) -> Any:
    return (DRAW.standard_normal(shape) * scale).astype(np.float32)


MLP = [array(ROWS, WIDTH), array(WIDTH, HIDDEN, scale=0.05), array(HIDDEN, WIDTH, scale=0.05)]
SCORES, LABELS = array(EXAMPLES, CLASSES), DRAW.integers(0, CLASSES, EXAMPLES)
BLOCK = [array(BATCH, LENGTH, MODEL)] + [
    array(*shape, scale=0.05) for shape in ((MODEL, 3 * MODEL), (MODEL, MODEL), (MODEL, 4 * MODEL), (4 * MODEL, MODEL))
]
ADAM = [[array(ELEMENTS) for _ in range(TENSORS)] for _ in range(2)]


def mlp(relu: Any) -> Any:
    return lambda x, w, v: ((relu(x @ w) @ v) ** 2).mean()


def block(layer_norm: Any, gelu: Any, softmax: Any, split: Any, transpose: Any) -> Any:
    def f(x: Any, qkv: Any, mix: Any, up: Any, down: Any) -> Any:
        q, k, v = [
            transpose(part.reshape(BATCH, LENGTH, HEADS, MODEL // HEADS), 1, 2) for part in split(layer_norm(x) @ qkv)
        ]
        weights = softmax(q @ transpose(k, 2, 3) * (MODEL // HEADS) ** -0.5)
        x = x + transpose(weights @ v, 1, 2).reshape(BATCH, LENGTH, MODEL) @ mix
        x = x + gelu(layer_norm(x) @ up) @ down
        return (x * x).mean()

    return f


def block_with(functional: Any) -> Any:
    """`block` in the names that PyTorch and opweave share."""
    return block(
        lambda x: functional.layer_norm(x, [MODEL]), functional.gelu, lambda x: x.softmax(-1),
        lambda x: x.split(MODEL, -1), lambda x, a, b: x.transpose(a, b),
    )  # fmt: skip


def of_opweave() -> Steps:
    F, tensor = opweave.nn.functional, opweave.from_numpy
    f = block_with(F)
    grad = opweave.func.grad_and_value
    labels = tensor(LABELS)
    steps = {
        "MLP": (opweave.compile(grad(mlp(F.relu), argnums=(1, 2))), [tensor(v) for v in MLP]),
        "cross entropy": (opweave.compile(grad(lambda s: F.cross_entropy(s, labels))), [tensor(SCORES)]),
        "transformer block": (opweave.compile(grad(f, argnums=(1, 2, 3, 4))), [tensor(v) for v in BLOCK]),
    }
    params, grads = ([tensor(v.copy()) for v in group] for group in ADAM)
    state = optim.adam_init(params)
    adam = opweave.compile(optim.adam_)
    found: Steps = {name: lambda step=step, args=args: step(*args) for name, (step, args) in steps.items()}
    found["Adam"] = lambda: adam(params, grads, state)
    return found


def of_torch() -> Steps:
    F, tensor = torch.nn.functional, torch.tensor
    f = block_with(F)
    labels = tensor(LABELS)

    def step(function: Any, values: list[Any], learned: int) -> Callable[[], Any]:
        args = [tensor(v).requires_grad_(i >= len(values) - learned) for i, v in enumerate(values)]
        compiled = torch.compile(function)

        def run() -> None:
            for a in args:
                a.grad = None
            compiled(*args).backward()

        return run

    params = [tensor(v) for v in ADAM[0]]
    for p, g in zip(params, ADAM[1], strict=True):
        p.grad = tensor(g)
    optimizer = torch.optim.Adam(params, lr=1e-3)
    return {
        "MLP": step(mlp(torch.relu), MLP, 2),
        "cross entropy": step(lambda s: F.cross_entropy(s, labels), [SCORES], 1),
        "transformer block": step(f, BLOCK, 4),
        "Adam": torch.compile(optimizer.step),
    }


def of_jax() -> Steps:
    import jax
    import jax.numpy as jnp

    def layer_norm(x: Any) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        return centered * jax.lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-5)

    f = block(
        layer_norm, lambda x: jax.nn.gelu(x, approximate=False), lambda x: jax.nn.softmax(x, -1),
        lambda x: jnp.split(x, 3, -1), jnp.swapaxes,
    )  # fmt: skip
    labels = jnp.asarray(LABELS)

    def cross_entropy(s: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(s, -1), labels[:, None], 1).mean()

    def adam(params: Any, grads: Any, means: Any, squares: Any, step: Any) -> Any:
        step = step + 1
        rate, root = 1e-3 / (1 - 0.9**step), jnp.sqrt(1 - 0.999**step)
        means = [m * 0.9 + g * 0.1 for m, g in zip(means, grads, strict=True)]
        squares = [s * 0.999 + g * g * 0.001 for s, g in zip(squares, grads, strict=True)]
        updates = zip(params, means, squares, strict=True)
        return [p - rate * m / (jnp.sqrt(s) / root + 1e-8) for p, m, s in updates], means, squares, step

    grad = jax.value_and_grad
    steps = {
        "MLP": (jax.jit(grad(mlp(jax.nn.relu), (1, 2))), list(map(jnp.asarray, MLP))),
        "cross entropy": (jax.jit(grad(cross_entropy)), [jnp.asarray(SCORES)]),
        "transformer block": (jax.jit(grad(f, (1, 2, 3, 4))), list(map(jnp.asarray, BLOCK))),
    }
    compiled = jax.jit(adam, donate_argnums=(0, 2, 3))
    grads = list(map(jnp.asarray, ADAM[1]))
    zeros = [[jnp.zeros(ELEMENTS) for _ in range(TENSORS)] for _ in range(2)]
    state = [list(map(jnp.asarray, ADAM[0])), *zeros, jnp.zeros(())]

    def run_adam() -> None:
        state[:] = compiled(state[0], grads, *state[1:])
        jax.block_until_ready(state)

    found: Steps = {
        name: lambda step=step, args=args: jax.block_until_ready(step(*args)) for name, (step, args) in steps.items()
    }
    return {**found, "Adam": run_adam}


LIBRARIES: dict[str, Callable[[], Steps]] = {"torch.compile": of_torch, "opweave": of_opweave, "jax.jit": of_jax}


def measured(library: str, calls: int) -> dict[str, float]:
    """Median seconds of each step, in this process."""
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", str(os.cpu_count()))))
    found = {}
    for name, step in LIBRARIES[library]().items():
        times = []
        for i in range(calls + 3):
            started = time.perf_counter()
            step()
            if i >= 3:
                times.append(time.perf_counter() - started)
        found[name] = statistics.median(times)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=15)
    parser.add_argument("--library", choices=LIBRARIES, help="measure one in this process")
    options = parser.parse_args()
    if options.library:
        print(json.dumps(measured(options.library, options.calls)))
        return
    times: dict[str, dict[str, list[float]]] = {}
    for _ in range(options.rounds):
        for library in LIBRARIES:
            if library == "jax.jit" and importlib.util.find_spec("jax") is None:
                continue
            command = [sys.executable, __file__, "--library", library, "--calls", str(options.calls)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            for name, seconds in json.loads(done.stdout.splitlines()[-1]).items():
                times.setdefault(name, {}).setdefault(library, []).append(seconds)
    print(json.dumps({name: {k: statistics.median(v) for k, v in row.items()} for name, row in times.items()}))


if __name__ == "__main__":
    main()
