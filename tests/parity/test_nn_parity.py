"""The ops of neural networks, sample by sample, against PyTorch."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from op_samples import ops_with_samples
from oracle import check

from opweave.registry.op import OpOverload
from opweave.registry.ops import softmax


@pytest.mark.parametrize("op", ops_with_samples(softmax), ids=str)
def test_matches_pytorch(op: OpOverload) -> None:
    assert check(op)
