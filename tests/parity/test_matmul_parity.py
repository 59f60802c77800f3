"""The matrix products, sample by sample, against PyTorch."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out
from op_samples import ops_with_samples
from oracle import check

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
