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
from opweave.registry.ops import batch_normalization, layer_normalization, normalization

OPS = [
    op for op in ops_with_samples(layer_normalization, normalization, batch_normalization)
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


@pytest.mark.parametrize("parameters", [False, True])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("sizes", [(0, 3, 4), (2, 3, 0), (0, 3), (2, 0, 3), (0,), (0, 0)], ids=str)
def test_running_statistics_learn_nothing_from_nothing(sizes, training, parameters):
    channels = sizes[1] if len(sizes) > 1 else 0
    found = []
    for lib in (opweave, torch):
        x = lib.zeros(sizes).requires_grad_()
        mean, variance = lib.full((channels,), 2.0), lib.full((channels,), 3.0)
        scale = lib.full((channels,), 2.0).requires_grad_() if parameters and channels else None
        y = lib.nn.functional.batch_norm(x, mean, variance, scale, scale, training)
        grad = lib.autograd.grad(y.sum(), [t for t in (x, scale) if t is not None])
        found.append([tuple(y.shape), mean.tolist(), variance.tolist(), [t.tolist() for t in grad]])
    assert found[0] == found[1]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
@pytest.mark.parametrize("sizes", [(4, 3, 5), (6, 3)], ids=str)
def test_native_batch_norm(sizes, dtype, training):
    rng = np.random.default_rng(4)
    arrays = [rng.random(n).astype(np.float32) + 0.5 for n in (sizes, 3, 3, 3, 3)]
    rest = 0.3, 1e-3
    calls = {
        "native_batch_norm": (training, *rest), "_native_batch_norm_legit": (training, *rest),
        "_batch_norm_with_update" if training else "_batch_norm_no_update": rest,
    }  # fmt: skip
    for name, options in calls.items():
        found = []
        for lib in (opweave, torch):
            kind = getattr(lib, dtype)
            x, weight, bias, mean, variance = (
                lib.from_numpy(a.copy()).to(kind).detach().requires_grad_(i < 3) for i, a in enumerate(arrays)
            )
            results = getattr(lib.ops.aten, name)(x, weight, bias, mean, variance, *options)
            assert [t.requires_grad for t in results] == [True] + [False] * (len(results) - 1)
            weights = lib.linspace(-1, 2, x.numel(), dtype=kind).reshape(sizes)
            grads = lib.autograd.grad((results[0] * weights).sum(), (x, weight, bias))
            # Gradients of bfloat16 cancel to a few of its digits.
            values = [*results, mean, variance, *(grads if dtype == "float64" else ())]
            found.append([t.detach().to(lib.float64).numpy() for t in values])
        for a, b in zip(*found, strict=True):
            assert a.shape == b.shape
            close(a, b, "autocast, gradients" if dtype == "bfloat16" else "batch_norm, gradients", name)


def test_native_batch_norm_into_tensors():
    x, mean, variance = opweave.randn(4, 3, 5), opweave.zeros(3), opweave.ones(3)
    wanted = opweave.native_batch_norm(x, None, None, mean.clone(), variance.clone(), True, 0.1, 1e-5)
    for sizes in ([(4, 3, 5), (3,), (3,)], [(0,)] * 3):
        outs = tuple(opweave.empty(n) for n in sizes)
        found = opweave.native_batch_norm(x, None, None, mean.clone(), variance.clone(), True, 0.1, 1e-5, out=outs)
        assert all(a is b for a, b in zip(found, outs, strict=True))
        assert all(opweave.equal(a, b) for a, b in zip(outs, wanted, strict=True))


def test_statistics_are_given_together():
    x, one = opweave.ones(2, 3), opweave.ones(3)
    for name, last in (("native_batch_norm", ()), ("batch_norm", (False,))):
        op = getattr(opweave.ops.aten, name)
        for mean, variance, training in ((one, None, True), (None, one, False), (None, None, False)):
            with pytest.raises(ArgumentError):
                op(x, None, None, mean, variance, training, 0.1, 1e-5, *last)


def test_one_element_has_no_variance():
    for sizes in ((1, 3), (1, 3, 1)):
        for lib in (opweave, torch):
            with pytest.raises(ValueError, match=r"element|value"):
                lib.nn.functional.batch_norm(lib.ones(sizes), None, None, training=True)
