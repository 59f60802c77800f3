"""Normalisation, sample by sample, against PyTorch; and the running statistics that batch normalisation writes."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from op_samples import ops_with_samples
from oracle import check, close

import opweave
from opweave.registry.errors import ArgumentError, ShapeError
from opweave.registry.op import OpOverload
from opweave.registry.ops import layer_normalization, normalization

OPS = [
    op for op in (*ops_with_samples(layer_normalization), *ops_with_samples(normalization))
    if op.name.startswith("aten::")
]  # fmt: skip


@pytest.mark.parametrize("op", OPS, ids=str)
def test_matches_pytorch(op: OpOverload) -> None:
    assert check(op)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("sizes", [(4, 3, 5), (6, 3), (1, 3, 2, 2)])
def test_batch_norm_with_running_statistics(sizes, compiled, training):
    draw = np.random.default_rng(0)
    arrays = [draw.random(n).astype(np.float32) + 0.5 for n in (sizes, 3, 3, 3, 3)]

    def run(lib, x, weight, bias, mean, variance):
        return lib.nn.functional.batch_norm(x, mean, variance, weight, bias, training, 0.3, 1e-3)

    ours = [opweave.from_numpy(a.copy()).requires_grad_(i < 3) for i, a in enumerate(arrays)]
    theirs = [torch.from_numpy(a.copy()).requires_grad_(i < 3) for i, a in enumerate(arrays)]

    def mine(*arguments):
        return run(opweave, *arguments)

    found = (opweave.compile(mine) if compiled else mine)(*ours)
    wanted = run(torch, *theirs)
    close(found.detach().numpy(), wanted.detach().numpy(), "batch_norm, compiled")
    for one, other in zip(ours[3:], theirs[3:], strict=True):
        close(one.numpy(), other.numpy(), "batch_norm, compiled")
    weights = draw.random(sizes).astype(np.float32)
    gradients = opweave.autograd.grad((found * opweave.from_numpy(weights)).sum(), ours[:3])
    expected = torch.autograd.grad((wanted * torch.from_numpy(weights)).sum(), theirs[:3])
    for one, other in zip(gradients, expected, strict=True):
        close(one.numpy(), other.numpy(), "batch_norm, gradients")


def test_group_norm_of_a_module():
    x = np.random.default_rng(1).random((2, 6, 4, 3)).astype(np.float32)
    found = opweave.nn.functional.group_norm(opweave.from_numpy(x), 3, eps=1e-3)
    wanted = torch.nn.functional.group_norm(torch.from_numpy(x), 3, eps=1e-3)
    close(found.numpy(), wanted.numpy(), "batch_norm, compiled")


@pytest.mark.parametrize("call", [
    lambda F, x: F.batch_norm(x, None, None),
    lambda F, x: F.group_norm(x, 4),
    lambda F, x: F.batch_norm(x[0, 0], None, None, training=True),
])  # fmt: skip
def test_both_refuse(call):
    with pytest.raises((ArgumentError, ShapeError)):
        call(opweave.nn.functional, opweave.ones(2, 6, 3))
    with pytest.raises((RuntimeError, ValueError, TypeError, IndexError)):
        call(torch.nn.functional, torch.ones(2, 6, 3))
