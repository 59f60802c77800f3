"""Attention as one kernel beside products and a softmax, and beside PyTorch: `python benchmarks/attention.py`.

Least wall time over alternating rounds, in milliseconds, of a compiled call: the forward, and forward with backward.
`apart` is the same without the kernel. A last column has PyTorch's time by the kernel's.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--rounds", type=int, default=7)
parser.add_argument("--shapes", nargs="*", help="batch,heads,queries,keys,width")
parser.add_argument("--masks", nargs="*", default=["none", "causal", "mask"])
parser.add_argument("--dtype", default="float32")
parser.add_argument("--forward", action="store_true", help="no backward")
OPTIONS = parser.parse_args()
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPWEAVE_NUM_THREADS"):
    os.environ[_name] = str(OPTIONS.threads)

import torch  # noqa: E402

import opweave as ow  # noqa: E402
from opweave.passes import attention  # noqa: E402

SHAPES = (
    "1,1,16,16,64", "4,4,32,32,32", "8,8,64,64,32", "2,4,128,128,64", "4,12,256,256,64", "1,8,512,512,64",
    "1,8,512,512,80", "1,4,1024,1024,128", "1,8,2048,2048,64", "1,1,2048,2048,64", "1,8,1,2048,64",
)  # fmt: skip


def least(calls: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """Milliseconds of each, after one call that does not count."""
    times = [float("inf")] * len(calls)
    for call in calls:
        call()
    for _ in range(rounds):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            once = time.perf_counter() - start
            again = max(1, min(50, int(0.003 / once)))
            start = time.perf_counter()
            for _ in range(again):
                call()
            times[k] = min(times[k], (time.perf_counter() - start) / again)
    return [t * 1e3 for t in times]


def function(f: Any, kind: str, mask: Any, times: int = 0) -> Callable[..., Any]:
    """Attention with one sort of mask, by a library's `functional`; what is compiled depends on `times`."""
    if kind == "mask":
        return lambda q, k, v: (times, f.scaled_dot_product_attention(q, k, v, mask))[1]
    return lambda q, k, v: (times, f.scaled_dot_product_attention(q, k, v, is_causal=kind == "causal"))[1]


def measure(shape: str, kind: str) -> str:
    """A row of the table."""
    batch, heads, queries, keys, width = map(int, shape.split(","))
    dtype = getattr(torch, OPTIONS.dtype)
    theirs = [torch.randn(batch, heads, n, width).to(dtype) for n in (queries, keys, keys)]
    seen = torch.ones(queries, keys, dtype=torch.bool).tril()
    grad = torch.randn(batch, heads, queries, width).to(dtype)
    cells: list[str] = []
    for backward in (False, True)[: 1 if OPTIONS.forward else 2]:
        cells += compared(kind, backward, theirs, seen, grad)
    return f"| {shape} | {kind} | {' | '.join(cells)} |"


def compared(kind: str, backward: bool, theirs: Sequence[Any], seen: Any, grad: Any) -> list[str]:
    """Times of the kernel, of what it replaces and of PyTorch, and how they are to each other."""
    tensors = [t.clone().requires_grad_(backward) for t in theirs]
    ours_seen = ow.tensor(seen.numpy())
    own = [ow.from_dlpack(t.clone()).requires_grad_(backward) for t in theirs]
    given = ow.from_dlpack(grad)

    def ours(pays: Callable[..., bool], own: Any = own, given: Any = given) -> Callable[[], Any]:
        call = ow.compile(function(ow.nn.functional, kind, ours_seen, int(pays(0))))
        real, attention.pays = attention.pays, pays
        out = call(*own)
        if backward:
            ow.autograd.grad(out, own, given)
        attention.pays = real
        return (lambda: ow.autograd.grad(call(*own), own, given)) if backward else (lambda: call(*own))

    def torchs(tensors: Any = tensors) -> Any:
        out = function(torch.nn.functional, kind, seen)(*tensors)
        return torch.autograd.grad(out, tensors, grad) if backward else out

    kernel, apart, peer = least([ours(lambda *a, **k: True), ours(lambda *a, **k: False), torchs], OPTIONS.rounds)
    return [f"{kernel:.3f}", f"{apart:.3f}", f"{peer:.3f}", f"{apart / kernel:.2f}", f"{peer / kernel:.2f}"]


def main() -> None:
    torch.set_num_threads(OPTIONS.threads)
    columns = ["kernel", "apart", "torch", "apart/kernel", "torch/kernel"]
    names = ["shape", "mask", *columns, *([] if OPTIONS.forward else [f"both: {c}" for c in columns])]
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for shape in OPTIONS.shapes or SHAPES:
        for kind in OPTIONS.masks:
            print(measure(shape, kind), flush=True)


if __name__ == "__main__":
    main()
