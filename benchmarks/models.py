"""Training steps of whole models, compiled, beside torch.compile: forward, backward and a step of SGD.

    python benchmarks/models.py --only GPT
    python benchmarks/models.py --memory

The models are those of `tests/parity/model_zoo.py`, written for PyTorch, in sizes that a person would train; opweave
runs the same file with the import replaced. One library a process; the processes work in turns, as in `kernels.py`.
Memory is what a process has at most while it makes steps, above what it had before the model, where compiled code was
kept by a process before it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from kernels import Calls, all_of, serve

ZOO = Path(__file__).parents[1] / "tests" / "parity" / "model_zoo.py"
LIBRARIES: tuple[str, ...] = ("opweave", "torch.compile")
DRAW = np.random.default_rng(0)


def numbers(count: int, *sizes: int) -> Any:
    return DRAW.integers(0, count, sizes)


def normal(*sizes: int) -> Any:
    return DRAW.normal(size=sizes).astype(np.float32)


#: Of each model its sizes, and what it is trained on.
WORK: dict[str, tuple[dict[str, Any], Callable[[], tuple[Any, ...]]]] = {
    "GPT": (
        {"vocab": 256, "width": 256, "heads": 8, "length": 128, "layers": 4},
        lambda: (numbers(256, 8, 128), numbers(256, 8, 128)),
    ),
    "Tagger": ({"vocab": 1000, "width": 128, "tags": 16}, lambda: (numbers(1000, 32, 32), numbers(16, 32, 32))),
    "GraphNet": (
        {"features": 64, "width": 128, "classes": 8},
        lambda: (normal(2000, 64), numbers(2000, 2, 10_000), numbers(8, 2000)),
    ),
    "VAE": ({"latent": 16}, lambda: (DRAW.random((256, 1, 8, 8)).astype(np.float32), normal(256, 16))),
    "ResNet": ({"width": 64, "classes": 100}, lambda: (normal(4, 3, 96, 96), numbers(100, 4))),
    "UNet": ({"width": 32}, lambda: (normal(2, 1, 64, 64), numbers(2, 2, 1, 64, 64).astype(np.float32))),
    "MLP": ({"features": 512, "width": 2048, "classes": 100}, lambda: (normal(1024, 512), numbers(100, 1024))),
}  # fmt: skip
NAMES = {"Tagger": "LSTM", "GraphNet": "graph net", "ResNet": "ResNet-18", "UNet": "U-Net"}


def zoo(library: str) -> types.ModuleType:
    """The models, of a library."""
    text = ZOO.read_text().replace("import torch.nn", f"import {library}.nn")
    text = text.replace("import torch\n", f"import {library} as torch\n")
    module = types.ModuleType(f"{library}_models")
    exec(compile(text, str(ZOO), "exec"), vars(module))
    return module


def made(library: str, models: types.ModuleType, name: str) -> tuple[Any, list[Any]]:
    """A model and its inputs."""
    lib: Any = importlib.import_module(library)
    sizes, arrays = WORK[name]
    lib.manual_seed(0)
    return getattr(models, name)(**sizes), [lib.from_numpy(array) for array in arrays()]


def of(library: str) -> Calls:
    """The steps of a library."""
    module = {"torch.compile": "torch"}.get(library, library)
    models, lib = zoo(module), importlib.import_module(module)
    found: Calls = {}
    for name in WORK:
        model, inputs = made(module, models, name)
        optimizer, loss = lib.optim.SGD(model.parameters(), 1e-4), lib.compile(model.loss)

        def step(loss: Any = loss, optimizer: Any = optimizer, inputs: list[Any] = inputs) -> None:
            optimizer.zero_grad()
            loss(*inputs).backward()
            optimizer.step()

        found[name] = step
        step()
    return found


def resident(which: str) -> float:
    """MB of this process: `VmRSS` now, or `VmHWM`, the most since it was last set back."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(which))
    return int(line.split()[1]) / 1024


def peak(library: str) -> float:
    """MB that steps take at most, of the models in `WORK` together."""
    importlib.import_module({"torch.compile": "torch"}.get(library, library))
    before = resident("VmRSS")
    steps = of(library)
    for turn in range(8):
        if turn == 3:
            Path("/proc/self/clear_refs").write_text("5")
        for step in steps.values():
            step()
    return resident("VmHWM") - before


def memory(threads: int) -> list[str]:
    """The table of peaks as Markdown; each figure is of the second of two processes."""
    lines = ["| MB | opweave | torch.compile |", "|---|---|---|"]
    environment = {**os.environ, **{f"{name}_NUM_THREADS": str(threads) for name in ("OMP", "OPENBLAS", "OPWEAVE")}}
    for name in WORK:
        cells: list[str] = []
        for library in LIBRARIES:
            command = [sys.executable, __file__, "--library", library, "--only", name, "--memory"]
            told = [subprocess.check_output(command, env=environment, text=True) for _ in range(2)]
            cells.append(told[-1].split()[-1])
        lines.append(f"| {NAMES.get(name, name)} | {' | '.join(cells)} |")
    return lines


def operations() -> dict[str, float]:
    """Of each step: operations of products and convolutions, as PyTorch counts them."""
    counter: Any = importlib.import_module("torch.utils.flop_counter").FlopCounterMode
    # What oneDNN does of a recurrent layer would not be counted.
    importlib.import_module("torch").backends.mkldnn.enabled = False
    models, found = zoo("torch"), {}
    for name in WORK:
        model, inputs = made("torch", models, name)
        with counter(display=False) as counted:
            model.loss(*inputs).backward()
        found[name] = float(counted.get_total_flops())
    return found


def main() -> None:
    """Print seconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", choices=LIBRARIES, help="serve one in this process")
    parser.add_argument("--operations", action="store_true", help="print what PyTorch counts")
    parser.add_argument("--memory", action="store_true", help="megabytes, not seconds")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each model in each round")
    parser.add_argument("--only", default="", help="parts of names, with commas between")
    options = parser.parse_args()
    for name in [name for name in WORK if not any(part in name for part in options.only.split(","))]:
        del WORK[name]
    if options.operations:
        print(json.dumps(operations()))
    elif options.library and options.memory:
        print(f"{peak(options.library):.0f}")
    elif options.library:
        serve(of(options.library))
    elif options.memory:
        print("\n".join(memory(options.threads)))
    else:
        pythons: dict[str, str] = dict.fromkeys(LIBRARIES, sys.executable)
        arguments = ("--only", options.only)
        print(
            json.dumps(
                all_of(pythons, options.threads, options.rounds, options.seconds, [*WORK], __file__, arguments),
                indent=1,
            )
        )


if __name__ == "__main__":
    main()
