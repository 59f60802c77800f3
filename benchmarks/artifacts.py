"""Artifacts of exported programs: how large they are, how long they take to make and to call, from C and from Python.

    python benchmarks/artifacts.py

A transformer block and a small convolution net, each beside the same program under `opweave.compile` and op by op, and
beside `torch.compile` and an AOTInductor package, where there is the C++ compiler that they need. One thread each.
The C program is built by `opweave[link]`'s compiler. Each figure is the least of all rounds, in microseconds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPWEAVE_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import opweave

Weights = list[np.ndarray[Any, Any]]
TARGETS = ("host", "x86-64-v2", "x86-64-v3", "aarch64")


def block(library: Any, width: int, heads: int) -> Callable[..., Any]:
    """A transformer block on (batch, length, width)."""
    f = library.nn.functional

    def run(x: Any, qkv: Any, out: Any, up: Any, down: Any) -> Any:
        batch, length, _ = x.shape
        rows = f.linear(f.layer_norm(x, (width,)), qkv)
        q, k, v = rows.reshape(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4).unbind(0)
        seen = f.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + f.linear(seen.transpose(1, 2).reshape(batch, length, width), out)
        return x + f.linear(f.gelu(f.linear(f.layer_norm(x, (width,)), up)), down)

    return run


def network(library: Any) -> Callable[..., Any]:
    """A small convolution net on (batch, 3, 32, 32)."""
    f = library.nn.functional

    def run(x: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        x = f.max_pool2d(f.relu(f.conv2d(x, a, padding=1)), 2)
        x = f.max_pool2d(f.relu(f.conv2d(x, b, padding=1)), 2)
        return f.linear(f.relu(f.conv2d(x, c, padding=1)).mean((2, 3)), d)

    return run


def models() -> dict[str, tuple[Callable[[Any], Callable[..., Any]], Weights]]:
    """Functions that make a model of a library, and what it is called with."""
    draw = np.random.default_rng(0)

    def real(*sizes: int) -> np.ndarray[Any, Any]:
        return draw.standard_normal(sizes, dtype=np.float32) * 0.1

    n = 256
    return {
        "block": (
            lambda library: block(library, n, 8),
            [real(1, 64, n), real(3 * n, n), real(n, n), real(4 * n, n), real(n, 4 * n)],
        ),
        "network": (
            network, [real(4, 3, 32, 32), real(32, 3, 3, 3), real(64, 32, 3, 3), real(64, 64, 3, 3), real(10, 64)]
        ),
    }  # fmt: skip


MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "model.h"
int main(int argc, char **argv) {
  model_model *m;
  int32_t code = model_create(NULL, NULL, 0, &m);
  int rank = argc - 2;
  int64_t sizes[8], found[8], total = 1, made = 1;
  for (int i = 0; i < rank; i++) total *= sizes[i] = atoll(argv[i + 2]);
  float *x = aligned_alloc(64, (total * 4 + 63) / 64 * 64);
  for (int64_t i = 0; i < total; i++) x[i] = (float)(i % 7) * 0.1f;
  DLTensor in = {x, {kDLCPU, 0}, rank, {kDLFloat, 32, 1}, sizes, NULL, 0};
  model_set_threads(1);
  if (!code) code = model_result_sizes(m, MODEL_FORWARD, &in, 1, found);
  for (int i = 0; i < MODEL_FORWARD_RESULT_DIMS; i++) made *= found[i];
  float *y = aligned_alloc(64, (made * 4 + 63) / 64 * 64);
  DLTensor out = {y, {kDLCPU, 0}, MODEL_FORWARD_RESULT_DIMS, {kDLFloat, 32, 1}, found, NULL, 0};
  double best = 1e9;
  for (int i = 0; i < atoi(argv[1]) && !code; i++) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    code = model_run(m, MODEL_FORWARD, &in, 1, &out, 1);
    clock_gettime(CLOCK_MONOTONIC, &b);
    double us = (b.tv_sec - a.tv_sec) * 1e6 + (b.tv_nsec - a.tv_nsec) / 1e3;
    if (us < best) best = us;
  }
  if (code) { fprintf(stderr, "%s\n", model_error(code)); return 1; }
  printf("%f\n", best);
  return 0;
}
"""


def least(run: Callable[[], Any], rounds: int) -> float:
    run()
    return min(timeit.repeat(run, number=3, repeat=rounds)) / 3 * 1e6


def measure(name: str, rounds: int) -> None:
    make, arrays = models()[name]
    x, *weights = [opweave.from_numpy(array) for array in arrays]
    model = make(opweave)

    def function(x: Any) -> Any:
        return model(x, *weights)

    folder = Path(tempfile.mkdtemp())
    with opweave.no_grad():
        program = opweave.export.export(function, (x,))
        print(f"{name}: {sum(w.nbytes for w in arrays[1:]):,} bytes of weights")
        for target in TARGETS:
            start = time.perf_counter()
            made = opweave.export.compile(program, folder / "model.o", target=target, weights="beside")
            print(f"  {target:<10} {made.nbytes:>8,} bytes of code in {time.perf_counter() - start:.2f} s")
        opweave.export.compile(program, folder / "model.so")
        loaded, compiled = opweave.load_compiled(folder / "model.so"), opweave.compile(function)
        want = function(x).numpy()
        print(f"  differs from eager by {np.abs(loaded(x).numpy() - want).max():.1e} (of {np.abs(want).max():.1f})")
        opweave.export.compile(program, folder / "model.o")
        (folder / "main.c").write_text(MAIN)
        command = [sys.executable, "-m", "ziglang", "cc", "-O2", "main.c", "model.o", "-lm", "-lpthread", "-o", "main"]
        subprocess.run(command, cwd=folder, check=True)
        sizes = map(str, x.shape)
        from_c = subprocess.run([folder / "main", str(3 * rounds), *sizes], capture_output=True, text=True, check=True)
        found = {
            "artifact from C": float(from_c.stdout),
            "artifact from Python": least(lambda: loaded(x), rounds),
            "opweave.compile": least(lambda: compiled(x), rounds),
            "op by op": least(lambda: function(x), rounds),
        }
    found |= peers(make, arrays, rounds, folder)
    for what, us in found.items():
        print(f"  {what:<22} {us:>9.1f} us  {us / found['artifact from C']:.2f}")


def peers(make: Callable[[Any], Callable[..., Any]], arrays: Weights, rounds: int, folder: Path) -> dict[str, float]:
    """The same of PyTorch, where it is installed."""
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(1)
    x, *weights = map(torch.from_numpy, arrays)
    model = make(torch)
    found: dict[str, float] = {}
    with torch.no_grad():
        found["torch eager"] = least(lambda: model(x, *weights), rounds)
        if shutil.which(os.environ.get("CXX", "g++")) is None:
            print("  no C++ compiler: torch.compile and AOTInductor are left out")
            return found

        class Module(torch.nn.Module):
            def forward(self, x: Any) -> Any:
                return model(x, *weights)

        compiled = torch.compile(model)
        found["torch.compile"] = least(lambda: compiled(x, *weights), rounds)
        package = torch._inductor.aoti_compile_and_package(
            torch.export.export(Module(), (x,)), package_path=str(folder / "model.pt2")
        )
        loaded = torch._inductor.aoti_load_package(package)
        found["AOTInductor"] = least(lambda: loaded(x), rounds)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args()
    for which in models():
        measure(which, options.rounds)
