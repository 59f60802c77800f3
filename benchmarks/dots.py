"""`tl.dot` beside NumPy and PyTorch: square products by a plain blocked kernel, `python benchmarks/dots.py`.

Least processor time of one thread over alternating rounds, in billions of operations a second.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPWEAVE_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import opweave as ow  # noqa: E402

TILES = ((32, 32, 32), (64, 64, 64), (128, 128, 64))


@triton.jit
def product(a_ptr, b_ptr, c_ptr, n, ACC: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_ptrs = a_ptr + rm[:, None] * n + rk[None, :]
    b_ptrs = b_ptr + rk[:, None] * n + rn[None, :]
    acc = tl.zeros((BM, BN), ACC)
    for k in range(0, n, BK):
        a = tl.load(a_ptrs, mask=(rm[:, None] < n) & (rk[None, :] + k < n), other=0)
        b = tl.load(b_ptrs, mask=(rk[:, None] + k < n) & (rn[None, :] < n), other=0)
        acc = tl.dot(a, b, acc, input_precision="ieee", out_dtype=ACC)
        a_ptrs += BK
        b_ptrs += BK * n
    tl.store(c_ptr + rm[:, None] * n + rn[None, :], acc, mask=(rm[:, None] < n) & (rn[None, :] < n))


def least(calls: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """Seconds of each, after one call that does not count."""
    times = [float("inf")] * len(calls)
    for number in range(rounds + 1):
        for k, call in enumerate(calls):
            start = time.thread_time()
            call()
            if number:
                times[k] = min(times[k], time.thread_time() - start)
    return times


def measure(kind: str, n: int, rounds: int) -> str:
    """A row of the table."""
    dtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.int8}[kind]
    x, y = ((torch.randn(n, n) * 9).to(dtype) for _ in range(2))
    whole = dtype is torch.int8
    a, b = ow.from_dlpack(x), ow.from_dlpack(y)
    c = ow.empty(n, n, dtype=ow.int32 if whole else ow.float32)

    def launch(tile: tuple[int, int, int]) -> Callable[[], Any]:
        bm, bn, bk = tile
        grid = (triton.cdiv(n, bm), triton.cdiv(n, bn))
        acc = tl.int32 if whole else tl.float32
        return lambda: product[grid](a, b, c, n, ACC=acc, BM=bm, BN=bn, BK=bk)

    left, right = (x.numpy(), y.numpy()) if kind == "float32" else (None, None)
    peers = [lambda: torch._int_mm(x, y) if whole else torch.mm(x, y)]
    if left is not None:
        peers.append(lambda: left @ right)
    rates = [2 * n**3 / t / 1e9 for t in least([*map(launch, TILES), *peers], rounds)]
    cells = [f"{rate:.0f}" for rate in rates] + ["-"] * (len(TILES) + 2 - len(rates))
    return f"| {kind} | {n} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[256, 512, 1024, 2048])
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    columns = ["type", "size", *("x".join(map(str, tile)) for tile in TILES), "torch", "NumPy"]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for kind in ("float32", "bfloat16", "int8"):
        for n in options.sizes:
            print(measure(kind, n, options.rounds), flush=True)


if __name__ == "__main__":
    main()
