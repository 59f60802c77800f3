"""Users' Triton kernels with producers and consumers: fused beside the same with `fuse_launches` off; prints a table.

    python benchmarks/fused_launches.py                    times of calls (ms) and of compiling (s), one and two threads

A call: medians over alternating calls, each number of threads in a process of its own. Compiling: a process with empty
caches compiles the launch with its neighbours, another one the kernel and the neighbours apart; medians of such pairs.
Results of both are the same bits, or it stops.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import triton
import triton.language as tl

import opweave
from opweave import Tensor
from opweave.nn.functional import gelu


@triton.jit
def film_kernel(x_ptr, out_ptr, exposure, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, i < n) * exposure
    y = x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14)
    tl.store(out_ptr + i, tl.minimum(tl.maximum(y, 0.0), 1.0), i < n)


@triton.jit
def softmax_kernel(out_ptr, x_ptr, columns, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + c, mask=c < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + row * columns + c, e / tl.sum(e, 0), mask=c < columns)


@triton.jit
def product_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a += i[:, None] * K + k[None, :]
    b += k[:, None] * N + j[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(a), tl.load(b), total)
        a += BK
        b += BK * N
    tl.store(c + i[:, None] * N + j[None, :], total)


@triton.jit
def rope_kernel(q, cos, sin, HALF: tl.constexpr, HEADS: tl.constexpr):
    token, i = tl.program_id(0), tl.arange(0, HALF)
    head = tl.arange(0, HEADS)[:, None]
    c, s = tl.load(cos + token * HALF + i)[None, :], tl.load(sin + token * HALF + i)[None, :]
    first = q + (token * HEADS + head) * 2 * HALF + i[None, :]
    x, y = tl.load(first), tl.load(first + HALF)
    tl.store(first, x * c - y * s)
    tl.store(first + HALF, y * c + x * s)


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


def film(x: Tensor) -> Tensor:
    out = opweave.empty_like(x)
    film_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, 0.9, x.numel(), BLOCK=1024)
    return out


def softmax(x: Tensor) -> Tensor:
    out = opweave.empty_like(x)
    softmax_kernel[(x.shape[0],)](out, x, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


def product(a: Tensor, b: Tensor) -> Tensor:
    m, k, n = *a.shape, b.shape[1]
    c = opweave.empty(m, n)
    product_kernel[(m // 64, n // 64)](a, b, c, m, n, k, BM=64, BN=64, BK=32)
    return c


def rope(q: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    rope_kernel[(q.shape[0],)](q, cos, sin, HALF=q.shape[2] // 2, HEADS=q.shape[1])
    return q


def _real(*sizes: int) -> Tensor:
    return opweave.from_numpy(np.random.default_rng(sum(sizes)).standard_normal(sizes, dtype=np.float32))


Program = tuple[Callable[..., Tensor], Callable[[], list[Tensor]]]
#: What is computed, and of what.
PROGRAMS: dict[str, Program] = {
    "film(x * x).sqrt() * w": (
        lambda x, w: film(x * x).sqrt() * w, lambda: [_real(3, 1024, 1024), _real(3, 1024, 1024)]),
    "film(x) * a row": (lambda x, w: film(x) * w, lambda: [_real(2048, 1000), _real(1000)]),
    "softmax(x * 2) * m * 1.1 + r": (
        lambda x, m, r: softmax(x * 2) * m * 1.1 + r,
        lambda: [_real(4096, 1000), _real(4096, 1000), _real(4096, 1000)]),
    "softmax(x * w + b) * m * 1.1 + r": (
        lambda x, w, b, m, r: softmax(x * w + b) * m * 1.1 + r,
        lambda: [_real(4096, 1000), _real(1000), _real(1000), _real(4096, 1000), _real(4096, 1000)]),
    "the same, 256 x 512": (
        lambda x, w, b, m, r: softmax(x * w + b) * m * 1.1 + r,
        lambda: [_real(256, 512), _real(512), _real(512), _real(256, 512), _real(256, 512)]),
    "gelu(a @ b + bias) in bf16": (
        lambda a, b, s: gelu(product(a, b) + s, approximate="tanh").bfloat16(),
        lambda: [_real(1024, 256), _real(256, 1024), _real(1024)]),
    "the same, thin": (
        lambda a, b, s: gelu(product(a, b) + s, approximate="tanh").bfloat16(),
        lambda: [_real(4096, 32), _real(32, 1024), _real(1024)]),
    "the same, beyond the caches": (
        lambda a, b, s: gelu(product(a, b) + s, approximate="tanh").bfloat16(),
        lambda: [_real(8192, 32), _real(32, 4096), _real(4096)],
    ),
    "gelu(relu(a) @ b + bias)": (
        lambda a, b, s: gelu(product(a.relu(), b) + s, approximate="tanh"),
        lambda: [_real(512, 512), _real(512, 512), _real(512)]),
    "rope(q * 0.125) in place": (
        lambda q, c, s: rope(q * 0.125, c, s), lambda: [_real(2048, 16, 128), _real(2048, 64), _real(2048, 64)]),
    "rope of 8192 tokens": (
        lambda q, c, s: rope(q * 0.125, c, s), lambda: [_real(8192, 16, 128), _real(8192, 64), _real(8192, 64)]),
    "rope(q + bias) in place, + r": (
        lambda q, b, c, s, r: rope(q + b, c, s) + r,
        lambda: [_real(2048, 16, 128), _real(128), _real(2048, 64), _real(2048, 64), _real(2048, 16, 128)]),
}  # fmt: skip


def compiled(function: Callable[..., Tensor], fused: bool) -> Callable[..., Tensor]:
    return opweave.compile(function, options={"fuse_launches": fused})


def call_times(rounds: int, only: str) -> dict[str, list[float]]:
    """Milliseconds of the programs with such a name, unfused and fused."""
    found: dict[str, list[float]] = {}
    for name, (function, inputs) in PROGRAMS.items():
        if only not in name:
            continue
        calls, args = [compiled(function, fused) for fused in (False, True)], inputs()
        first, second = (call(*args) for call in calls)
        assert opweave.equal(first, second), name
        del first, second
        times: list[list[float]] = [[], []]
        for _ in range(rounds):
            for call, taken in zip(calls, times, strict=True):
                start = time.perf_counter()
                call(*args)
                taken.append((time.perf_counter() - start) * 1e3)
        found[name] = [statistics.median(taken) for taken in times]
    return found


def compile_times(name: str, fused: bool) -> list[float]:
    """Seconds of the first call of a program, when everything that is loaded once has been."""
    warm = compiled(lambda x: opweave.exp(x).sum(-1), True)
    warm(_real(8, 8))
    copy_kernel[(1,)](_real(16), opweave.empty(16), 16, BLOCK=16)  # none of the program's: its parts compile, too
    function, inputs = PROGRAMS[name]
    args = inputs()
    start = time.perf_counter()
    compiled(function, fused)(*args)
    return [time.perf_counter() - start]


def in_process(*options: str, threads: int = 1) -> Any:
    """What this file prints with these options, in a process with empty caches."""
    with tempfile.TemporaryDirectory() as caches:
        folders = {"OPWEAVE_CACHE_DIR": f"{caches}/opweave", "TRITON_CACHE_DIR": f"{caches}/triton"}
        limits = dict.fromkeys(("OPWEAVE_NUM_THREADS", "OMP_NUM_THREADS"), str(threads))
        environment = {**os.environ, **folders, **limits}
        command = [sys.executable, __file__, *options]
        return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25, help="calls of each program")
    parser.add_argument("--processes", type=int, default=3, help="pairs of processes that compile")
    parser.add_argument("--only", default="", help="part of the names of programs")
    parser.add_argument("--serve", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        what, *name = options.serve
        calls = call_times(options.rounds, options.only) if what == "calls" else None
        print(json.dumps(compile_times(name[0], what == "fused") if calls is None else calls))
        return
    asked = ("--rounds", str(options.rounds), "--only", options.only)
    times = [in_process(*asked, "--serve", "calls", threads=n) for n in (1, 2)]
    columns = ("unfused", "fused", "ratio")
    print(f"{'':34}", *(f"{text:>9}" for text in (*columns, *columns, "parts s", "fused s", "ratio")))
    for name in times[0]:
        pairs = [[in_process("--serve", how, name)[0] for how in ("parts", "fused")] for _ in range(options.processes)]
        parts, fused = (statistics.median(taken) for taken in zip(*pairs, strict=True))
        row = [f"{v:9.2f}" for a, b in (found[name] for found in times) for v in (a, b, a / b)]
        print(f"{name:34}", *row, f"{parts:9.3f} {fused:9.3f} {fused / parts:9.2f}", flush=True)


if __name__ == "__main__":
    main()
