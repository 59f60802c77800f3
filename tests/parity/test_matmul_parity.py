"""The matrix products, sample by sample, against PyTorch."""

from __future__ import annotations

import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out
from op_samples import ops_with_samples
from oracle import check

import opweave
from opweave.registry.op import OpOverload
from opweave.registry.ops import linear, matmul


@pytest.mark.parametrize(
    "op",
    [
        op
        for op in [*ops_with_samples(matmul), *ops_with_samples(linear)]
        if op.namespace == "aten" or not left_out("samples, ops that PyTorch does not have")
    ],
    ids=str,
)
def test_matches_pytorch(op: OpOverload) -> None:
    assert check(op)


def test_beside_pytorch_in_one_process() -> None:
    """Both use the processor's units for tiles, in turns on one thread and at once on two."""
    rng = np.random.default_rng(0)
    values = [rng.integers(-3, 4, sizes).astype(np.float32) for sizes in ((70, 200), (200, 90))]
    exact = values[0] @ values[1]
    ours = [opweave.from_numpy(x).bfloat16() for x in values]
    theirs = [torch.from_numpy(x).bfloat16() for x in values]
    rounded = torch.from_numpy(exact).bfloat16().float().numpy()
    wrong: list[str] = []

    def multiply(first: bool) -> None:
        for i in range(50):
            for ours_now in (first, not first):
                found = opweave.mm(*ours).float().numpy() if ours_now else torch.mm(*theirs).float().numpy()
                if not (found == rounded).all():
                    wrong.append(f"{'opweave' if ours_now else 'torch'} {i}")

    multiply(True)
    threads = [threading.Thread(target=multiply, args=(first,)) for first in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
