"""Bytes saved for the backward of a transformer, beside PyTorch's min-cut partitioner; prints JSON.

Both count what the forward hands to the backward, inputs included. PyTorch decomposes as torch.compile does.
"""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

import torch
from functorch.compile import aot_function, min_cut_rematerialization_partition, nop
from torch._inductor.decomposition import select_decomp_table

import opweave

LAYERS, HEADS, WIDTH, BATCH, LENGTH = 4, 4, 64, 4, 32
SHAPES = [(WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)]


def transformer(library: Any, functional: Any) -> Any:
    """`f(x, *weights)`: the sum of what a transformer makes of float32[batch, length, width]."""

    def attention(x: Any, qkv: Any, mix: Any) -> Any:
        batch, length, width = x.shape
        parts = (x @ qkv).split(width, -1)
        q, k, v = [part.reshape(batch, length, HEADS, width // HEADS).transpose(1, 2) for part in parts]
        weights = (q @ k.transpose(-2, -1) * (width // HEADS) ** -0.5).softmax(-1)
        return (weights @ v).transpose(1, 2).reshape(batch, length, width) @ mix

    def f(x: Any, *weights: Any) -> Any:
        for i in range(LAYERS):
            qkv, mix, up, down = weights[4 * i : 4 * i + 4]
            x = x + attention(functional.layer_norm(x, [WIDTH]), qkv, mix)
            x = x + functional.gelu(functional.layer_norm(x, [WIDTH]) @ up) @ down
        return (x * x).sum()

    return f


def of_opweave() -> dict[str, int]:
    x = opweave.randn(BATCH, LENGTH, WIDTH)
    weights = [(opweave.randn(*shape) * 0.1).requires_grad_() for shape in SHAPES * LAYERS]
    found = {}
    f = transformer(opweave, opweave.nn.functional)
    for budget in (1.0, 0.5, 0.0):
        compiled = opweave.compile(f, options={"memory_budget": budget})
        compiled(x, *weights)
        found[f"budget {budget}"] = compiled.entries[0].partition.saved_bytes
    return found


def of_torch() -> int:
    saved: list[int] = []

    def partition(joint: Any, inputs: Any, *, num_fwd_outputs: int, **options: Any) -> Any:
        forward, backward = min_cut_rematerialization_partition(
            joint, inputs, num_fwd_outputs=num_fwd_outputs, **options
        )
        (outputs,) = next(node for node in forward.graph.nodes if node.op == "output").args
        values = [node.meta["val"] for node in outputs[num_fwd_outputs:]]
        saved.append(sum(math.prod(v.shape) * v.element_size() for v in values if isinstance(v, torch.Tensor)))
        return forward, backward

    f = aot_function(
        transformer(torch, torch.nn.functional), fw_compiler=nop, bw_compiler=nop, partition_fn=partition,
        decompositions=select_decomp_table(),
    )  # fmt: skip
    weights = [(torch.randn(*shape) * 0.1).requires_grad_() for shape in SHAPES * LAYERS]
    f(torch.randn(BATCH, LENGTH, WIDTH), *weights)
    return saved[0]


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(json.dumps({"torch min-cut": of_torch(), **of_opweave()}))


if __name__ == "__main__":
    main()
