"""`nn.utils.prune` beside PyTorch's: masks, pruned parameters, gradients, state dicts, errors."""

import numpy as np
import pytest
import torch
import torch.nn.utils.prune as theirs
from oracle import close

import opweave
from opweave.nn.utils import prune as ours

RNG = np.random.default_rng(0)
WEIGHT = RNG.standard_normal((4, 3, 2)).astype(np.float32)
BIAS = RNG.standard_normal(4).astype(np.float32)
SCORES = RNG.standard_normal((4, 3, 2)).astype(np.float32)
MASK = (RNG.standard_normal((4, 3, 2)) > 0).astype(np.float32)


def module(lib):
    made = lib.nn.Conv1d(3, 4, 2)
    made.load_state_dict({"weight": lib.from_numpy(WEIGHT.copy()), "bias": lib.from_numpy(BIAS.copy())})
    return made


def _custom(prune):
    class Positive(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            return default_mask * (t > 0)

    return Positive


CASES = {
    "identity": lambda lib, p, m: p.identity(m, "weight"),
    "l1": lambda lib, p, m: p.l1_unstructured(m, "weight", 5),
    "l1, fraction": lambda lib, p, m: p.l1_unstructured(m, "weight", 0.3),
    "l1, nothing": lambda lib, p, m: p.l1_unstructured(m, "weight", 0),
    "l1, scores": lambda lib, p, m: p.l1_unstructured(m, "weight", 5, importance_scores=lib.from_numpy(SCORES)),
    "l1, bias": lambda lib, p, m: p.l1_unstructured(m, "bias", 2),
    "l2 of channels": lambda lib, p, m: p.ln_structured(m, "weight", 2, n=2, dim=0),
    "l1 of channels": lambda lib, p, m: p.ln_structured(m, "weight", 0.4, n=1, dim=-2),
    "largest of channels": lambda lib, p, m: p.ln_structured(m, "weight", 1, n=float("inf"), dim=1),
    "mask": lambda lib, p, m: p.custom_from_mask(m, "weight", lib.from_numpy(MASK)),
    "own": lambda lib, p, m: _custom(p).apply(m, "weight"),
    "twice": lambda lib, p, m: p.l1_unstructured(p.l1_unstructured(m, "weight", 5), "weight", 4),
    "channels, then elements": lambda lib, p, m: p.l1_unstructured(
        p.ln_structured(m, "weight", 1, n=2, dim=0), "weight", 0.5
    ),
    "elements, then channels": lambda lib, p, m: p.ln_structured(
        p.custom_from_mask(m, "weight", lib.from_numpy(MASK)), "weight", 1, n=2, dim=0
    ),
    "three times": lambda lib, p, m: p.custom_from_mask(
        p.l1_unstructured(p.l1_unstructured(m, "weight", 3), "weight", 3), "weight", lib.from_numpy(MASK)
    ),
    "global": lambda lib, p, m: p.global_unstructured([(m, "weight"), (m, "bias")], p.L1Unstructured, amount=7),
    "global, scores": lambda lib, p, m: p.global_unstructured(
        [(m, "weight"), (m, "bias")], p.L1Unstructured, {(m, "weight"): lib.from_numpy(SCORES)}, amount=7
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_masks_and_gradients(name):
    modules = []
    for lib, prune in ((opweave, ours), (torch, theirs)):
        made = module(lib)
        CASES[name](lib, prune, made)
        made(lib.from_numpy(np.ones((2, 3, 5), np.float32))).sum().backward()
        modules.append(made)
    mine, other = modules
    assert sorted(mine.state_dict()) == sorted(other.state_dict())
    for key, t in other.state_dict().items():
        close(mine.state_dict()[key].numpy(), t.numpy(), "nn.utils", key)
    close(mine.weight.detach().numpy(), other.weight.detach().numpy(), "nn.utils")
    gradients = {key: t.grad.numpy() for key, t in other.named_parameters()}
    for key, t in mine.named_parameters():
        close(t.grad.numpy(), gradients[key], "nn.utils, gradients", key)
    assert ours.is_pruned(mine) == theirs.is_pruned(other) is True
    which = "bias" if name == "l1, bias" else "weight"
    ours.remove(mine, which)
    theirs.remove(other, which)
    assert sorted(mine.state_dict()) == sorted(other.state_dict())
    close(getattr(mine, which).detach().numpy(), getattr(other, which).detach().numpy(), "nn.utils")
    assert isinstance(getattr(mine, which), opweave.nn.Parameter)


@pytest.mark.parametrize("name", ["random_unstructured", "random_structured"])
def test_random_masks(name):
    """How many elements, or channels, are left; which ones is random."""
    dim = {"dim": 0} if name == "random_structured" else {}
    counts = []
    for lib, prune in ((opweave, ours), (torch, theirs)):
        made = getattr(prune, name)(module(lib), "weight", amount=0.5, **dim)
        getattr(prune, name)(made, "weight", amount=1, **dim)
        mask = made.weight_mask.numpy()
        counts.append((mask.sum(), sorted(mask.reshape(4, -1).sum(1)) if dim else None))
    assert counts[0] == counts[1]


ERRORS = {
    "text": lambda lib, p, m: p.l1_unstructured(m, "weight", "a"),
    "negative": lambda lib, p, m: p.l1_unstructured(m, "weight", -1),
    "more than all": lambda lib, p, m: p.l1_unstructured(m, "weight", 1.5),
    "too many": lambda lib, p, m: p.l1_unstructured(m, "weight", 100),
    "channels of a vector": lambda lib, p, m: p.ln_structured(m, "bias", 1, n=2, dim=0),
    "no such dimension": lambda lib, p, m: p.random_structured(m, "weight", 1, dim=3),
    "scores of other sizes": lambda lib, p, m: p.l1_unstructured(m, "weight", 1, importance_scores=lib.ones(2)),
    "mask of other sizes": lambda lib, p, m: p.custom_from_mask(m, "weight", lib.ones(2)),
    "not pruned": lambda lib, p, m: p.remove(m, "weight"),
    "no such parameter": lambda lib, p, m: p.l1_unstructured(m, "wait", 1),
    "global of channels": lambda lib, p, m: p.global_unstructured([(m, "weight")], p.LnStructured, amount=1, n=2),
    "scores that are no dict": lambda lib, p, m: p.global_unstructured(
        [(m, "weight")], p.L1Unstructured, [1], amount=1
    ),
    "another name": lambda lib, p, m: p.PruningContainer(p.L1Unstructured.apply(m, "bias", 1)).add_pruning_method(
        p.L1Unstructured.apply(m, "weight", 1)
    ),
    "no method": lambda lib, p, m: p.PruningContainer(p.L1Unstructured.apply(m, "bias", 1)).add_pruning_method(1),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    with pytest.raises(Exception) as info:  # noqa: PT011  # its class is what ours is held against
        ERRORS[name](torch, theirs, module(torch))
    made = module(opweave)
    with pytest.raises(info.type):
        ERRORS[name](opweave, ours, made)
    made(opweave.ones(1, 3, 4))
    if name not in ("another name", "no method"):
        assert sorted(made.state_dict()) == ["bias", "weight"]


def test_a_failed_second_pruning_leaves_the_first():
    made = ours.l1_unstructured(module(opweave), "weight", 3)
    before = made.weight_mask
    with pytest.raises(ValueError, match="smaller than the number"):
        ours.l1_unstructured(made, "weight", 100)
    assert made.weight_mask is before
    assert len(ours.l1_unstructured(made, "weight", 1)._forward_pre_hooks) == 1


def test_a_pruned_module_is_compiled_and_trained():
    made = ours.l1_unstructured(module(opweave), "weight", 5)
    compiled = opweave.compile(made)
    optimizer = opweave.optim.SGD(made.parameters(), lr=0.1)
    x = opweave.ones(2, 3, 5)
    for _ in range(2):
        optimizer.zero_grad()
        compiled(x).square().sum().backward()
        optimizer.step()
    close(compiled(x).detach().numpy(), made(x).detach().numpy(), "nn.utils")
    assert int((made.weight == 0).sum()) == 5
