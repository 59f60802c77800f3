"""`linear_cross_entropy`, whole and in pieces, beside PyTorch's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from oracle import agree, close

import opweave as ow
from opweave.registry.errors import ArgumentError

REDUCTIONS = ("mean", "sum", "none")


def drawn(*sizes: int, seed: int = 0) -> ow.Tensor:
    return ow.from_numpy(np.asarray(np.random.default_rng([seed, *sizes]).standard_normal(sizes)))


def classes(*sizes: int, below: int = 6) -> ow.Tensor:
    return ow.from_numpy(np.asarray(np.random.default_rng([7, *sizes]).integers(0, below, sizes)))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_beside_pytorch(weighted: bool, reduction: str) -> None:
    cases = [
        (drawn(7, 4), drawn(6, 4), classes(7), drawn(6)), (drawn(4), drawn(6, 4), classes(), drawn(6)),
        (drawn(7, 4), drawn(6, 2, 3, 4), classes(7, 2, 3), drawn(6, 2, 3)),
        (drawn(7, 4), drawn(6, 4), drawn(7, 6).softmax(1), drawn(6)),
    ]  # fmt: skip
    for (x, w, t, b), ignored in itertools.product(cases, (None, 1)):
        weight = drawn(6, seed=3).abs()

        def call(m: Any, x: Any, w: Any, t: Any, b: Any, weight: Any, ignored: Any = ignored) -> Any:
            given = weight if weighted else None
            return m.nn.functional.linear_cross_entropy(
                x, w, t, linear_bias=b, weight=given, reduction=reduction, ignore_index=ignored
            )

        taken = agree(call, x, w, t, b, weight, constants=[4] if t.dtype is ow.int64 else [2, 4])
        assert taken == (t.dtype is ow.int64 or ignored is None)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_in_pieces(compiled: bool, weighted: bool, reduction: str) -> None:
    x, w, b = (t.requires_grad_() for t in (drawn(7, 4), drawn(6, 4), drawn(6)))
    weight, targets = drawn(6, seed=3).abs() if weighted else None, classes(7)
    found = []
    for options in (None, ow.nn.LinearCrossEntropyOptions(batch_chunk_size=3), ow.nn.LinearCrossEntropyOptions()):

        def call(x: Any, w: Any, b: Any, options: Any = options) -> Any:
            return ow.nn.functional.linear_cross_entropy(
                x, w, targets, linear_bias=b, weight=weight, reduction=reduction, ignore_index=2, options=options
            )

        loss = (ow.compile(call, fullgraph=True) if compiled else call)(x, w, b)
        grads = ow.autograd.grad(loss.sum(), (x, w, b))
        found.append([t.detach().numpy() for t in (loss, *grads)])
    for other in found[1:]:
        for a, c in zip(found[0], other, strict=True):
            close(a, c, "control flow in float64")


@pytest.mark.parametrize(
    "options",
    [{}, {"batch_chunk_size": 5}, {"batch_chunk_size": 500}, {"chunking_method": "aspect_ratio"},
     {"chunking_method": "aspect_ratio:4"}, {"chunking_method": None}],
    ids=str,
)  # fmt: skip
def test_sizes_of_pieces(options: dict[str, Any]) -> None:
    for batch, features, count in ((256, 32, 1000), (7, 4, 6), (100, 64, 10), (1, 1, 1), (33, 5, 7)):
        theirs = torch.nn.LinearCrossEntropyOptions(**options)._adjust(
            batch, features, count, torch.float32, torch.device("cpu")
        )
        ours = ow.nn.LinearCrossEntropyOptions(**options).examples(batch, features, count)
        assert ours == theirs.batch_chunk_size


@pytest.mark.parametrize(
    "options",
    [{"batch_chunk_size": 0}, {"chunking_method": "rows"}, {"chunking_method": "aspect_ratio:0"},
     {"acc_policy": "exact"}],
    ids=str,
)  # fmt: skip
def test_options_that_both_refuse(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"invalid|must"):
        torch.nn.LinearCrossEntropyOptions(**options)
    with pytest.raises(ArgumentError):
        ow.nn.LinearCrossEntropyOptions(**options)


@pytest.mark.parametrize(
    "sizes",
    [((2, 3, 3), (2, 3), (3,)), ((2, 3), (2,), (2,)), ((2, 3), (2, 4), (2,)), ((3,), (2, 4, 3), (4,))],
    ids=str,
)  # fmt: skip
def test_sizes_that_both_refuse(sizes: Any) -> None:
    x, w, t = drawn(*sizes[0]), drawn(*sizes[1]), classes(*sizes[2], below=2)
    assert not agree(lambda m, x, w, t: m.nn.functional.linear_cross_entropy(x, w, t), x, w, t)


def test_the_module() -> None:
    ours = ow.nn.LinearCrossEntropyLoss(4, 6, out_features=(2,), bias=True)
    theirs = torch.nn.LinearCrossEntropyLoss(4, 6, out_features=(2,), bias=True)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    theirs.load_state_dict({name: torch.from_numpy(t.numpy().copy()) for name, t in ours.state_dict().items()})
    x, t = drawn(7, 4).float(), classes(7, 2)
    close(
        ours(x, t).detach().numpy(),
        theirs(torch.from_numpy(x.numpy()), torch.from_numpy(t.numpy())).detach().numpy(),
        "beside PyTorch",
    )
