"""Optimizers beside PyTorch's, eagerly and compiled, over several steps."""

import numpy as np
import pytest

import opweave
from opweave import optim
from opweave.registry.errors import ArgumentError

torch = pytest.importorskip("torch")

from oracle import close

SIZES = [(4, 3), (7,), (2, 2, 2), (1,), (50,)]

CASES = {
    "sgd": (optim.sgd_, torch.optim.SGD, {"lr": 0.1}),
    "momentum": (optim.sgd_, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    "nesterov": (optim.sgd_, torch.optim.SGD, {"lr": 0.05, "momentum": 0.8, "nesterov": True}),
    "adam": (optim.adam_, torch.optim.Adam, {"lr": 0.01}),
    "adam with decay": (optim.adam_, torch.optim.Adam, {"lr": 0.01, "betas": (0.8, 0.95), "weight_decay": 0.1}),
    "adamw": (optim.adamw_, torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.1, "eps": 1e-6}),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_steps(case, compiled):
    ours, theirs, options = CASES[case]
    draw = np.random.default_rng(0)
    values = [draw.standard_normal(size).astype(np.float32) for size in SIZES]
    params = {"layers": [opweave.tensor(v) for v in values]}
    state = optim.sgd_init(params) if ours is optim.sgd_ else optim.adam_init(params)
    expected = [torch.tensor(v, requires_grad=True) for v in values]
    optimizer = theirs(expected, **options)
    step = opweave.compile(ours) if compiled else ours
    for _ in range(4):
        grads = [draw.standard_normal(size).astype(np.float32) for size in SIZES]
        step(params, {"layers": [opweave.tensor(g) for g in grads]}, state, **options)
        for p, g in zip(expected, grads, strict=True):
            p.grad = torch.tensor(g)
        optimizer.step()
    for one, other in zip(params["layers"], expected, strict=True):
        close(one.numpy(), other.detach().numpy(), "optim")
    if compiled:
        assert len(step.entries) == 1


def test_parameters_without_gradient_stay():
    params = [opweave.ones(3), opweave.ones(3)]
    optim.adam_(params, [opweave.ones(3), None], optim.adam_init(params), lr=0.5)
    assert params[1].tolist() == [1.0] * 3 and params[0].tolist() != [1.0] * 3


def test_what_does_not_fit_is_refused():
    params = [opweave.ones(3)]
    with pytest.raises(ArgumentError, match="must have one structure"):
        optim.sgd_(params, [opweave.ones(3)] * 2, lr=0.1)
    with pytest.raises(ArgumentError, match="a gradient has another shape"):
        optim.sgd_(params, [opweave.ones(1)], lr=0.1)
    with pytest.raises(ArgumentError, match="a momentum needs a state"):
        optim.sgd_(params, [opweave.ones(3)], lr=0.1, momentum=0.9)
