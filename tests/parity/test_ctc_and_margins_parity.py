"""Losses of sequences and of margins between classes, and what stands beside them, against PyTorch, with gradients."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from op_samples import ops_with_samples
from oracle import agree, check

import opweave as ow
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload
from opweave.registry.ops import ctc

REDUCTIONS = ["mean", "sum", "none"]


def drawn(*sizes: int, dtype: Any = ow.float64, seed: int = 0) -> ow.Tensor:
    return ow.from_numpy(np.asarray(np.random.default_rng([seed, *sizes]).standard_normal(sizes))).to(dtype)


def classes(*sizes: int, low: int = 0, below: int = 5) -> ow.Tensor:
    return ow.from_numpy(np.asarray(np.random.default_rng([7, *sizes]).integers(low, below, sizes)))


# ---- ctc -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ops_with_samples(ctc), ids=str)
def test_samples(op: OpOverload) -> None:
    assert check(op)


LENGTHS = [([9, 7, 9, 3], [3, 2, 4, 2]), ([9, 9, 9, 9], [0, 1, 2, 3]), ([2, 9, 0, 0], [4, 4, 0, 1])]


@pytest.mark.parametrize(("times", "lengths"), LENGTHS, ids=["fit", "short", "some that do not fit"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_sequences(times: list[int], lengths: list[int], reduction: str) -> None:
    x = ow.log_softmax(drawn(9, 4, 5), -1)
    rows = classes(4, max(lengths) + 1, low=1)
    rows[1, :2] = 3  # equal neighbours need a blank between them
    line = ow.cat([rows[i, :n] for i, n in enumerate(lengths)])
    for targets, zero, tensors, blank in itertools.product((rows, line), (False, True), (False, True), (0, 4)):
        given = targets if not blank else targets - 1

        def call(m: Any, x: Any, t: Any, options: Any = (blank, reduction, zero), tensors: bool = tensors) -> Any:
            both = (m.tensor(times), m.tensor(lengths)) if tensors else (times, lengths)
            return m.nn.functional.ctc_loss(x, t, *both, *options)

        assert agree(call, x, given, note=(zero, tensors, blank))
    assert agree(lambda m, x, t: m.nn.functional.ctc_loss(x, t, times, lengths), x.float(), rows.int(),
                 difference="functional")  # fmt: skip


def test_one_sequence_and_impossible_classes() -> None:
    x = ow.log_softmax(drawn(6, 5), -1)
    agree(lambda m, x: m.nn.functional.ctc_loss(x, m.tensor([1, 2, 2]), (6,), (3,)), x)
    agree(lambda m, x: m.nn.functional.ctc_loss(x, m.tensor([1, 2]), m.tensor(6), m.tensor(2), reduction="none"), x)
    values = x.numpy().copy().reshape(6, 1, 5)
    values[2, 0, 3] = values[4, 0, 1] = -np.inf
    values[3, 0, :4] = -900.0
    x = ow.from_numpy(values)
    agree(lambda m, x: m.nn.functional.ctc_loss(x, m.tensor([[1, 2]]), (6,), (2,), zero_infinity=True), x)
    agree(lambda m, x: m.nn.functional.ctc_loss(x, m.tensor([[4, 2]]), (6,), (2,)), x)


@pytest.mark.parametrize(
    ("targets", "times", "lengths", "blank"),
    [
        ([[1, 2]], (7,), (2,), 0), ([[1, 2]], (6,), (3,), 0), ([1, 2], (6,), (3,), 0), ([[1, 2]], (6, 6), (2,), 0),
        ([[1, 2]], (6,), (2,), 5), ([[[1, 2]]], (6,), (2,), 0), ([[1, 2], [1, 2]], (6,), (2,), 0),
        ([[1, 2]], (6,), (-1,), 0),
    ],
    ids=str,
)  # fmt: skip
def test_sequences_that_are_refused(targets: Any, times: Any, lengths: Any, blank: int) -> None:
    with pytest.raises(OpweaveError):
        ow.nn.functional.ctc_loss(drawn(6, 1, 5), ow.tensor(targets), times, lengths, blank)
    with pytest.raises(OpweaveError):
        ow.nn.functional.ctc_loss(drawn(6, 1, 5), ow.tensor([[1, 7]]), (6,), (2,))


def test_sequences_compiled() -> None:
    x, targets = ow.log_softmax(drawn(9, 4, 5), -1), classes(4, 3, low=1)
    times, lengths = ow.tensor([9, 8, 7, 9]), ow.tensor([3, 1, 2, 0])

    def loss(x: ow.Tensor) -> ow.Tensor:
        # A mean would be added up in another order.
        return ow.nn.functional.ctc_loss(x * 2, targets, times, lengths, reduction="none")

    found = []
    for run in (loss, ow.compile(loss)):
        leaf = x.detach().requires_grad_()
        value = run(leaf)
        value.backward(ow.ones_like(value))
        found.append((value.tolist(), leaf.grad.numpy()))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


# ---- margins -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_margins_of_classes(reduction: str) -> None:
    x, weight = drawn(6, 5), drawn(5, seed=1).abs()
    for p, margin, weighted in itertools.product((1, 2), (1.0, 0.3), (False, True)):

        def call(m: Any, x: Any, t: Any, w: Any, given: Any = (p, margin), weighted: bool = weighted) -> Any:
            return m.nn.functional.multi_margin_loss(x, t, *given, w if weighted else None, reduction=reduction)

        assert agree(call, x, classes(6), weight, constants=[2])
        assert agree(call, x[0], classes(), weight, constants=[2])
        assert agree(call, x.float(), classes(6), weight.float(), constants=[2], difference="functional")


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", ["multi_margin_loss", "multilabel_margin_loss"])
def test_margins_of_one_number(name: str, reduction: str) -> None:
    """It is the only class; a target may be a number or a vector of one."""

    def call(m: Any, x: Any, t: Any) -> Any:
        return getattr(m.nn.functional, name)(x, t, reduction=reduction)

    for sizes, places in itertools.product(((), (1,)), repeat=2):
        assert agree(call, drawn(*sizes), ow.zeros(places, dtype=ow.int64), note=(sizes, places))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_margins_of_several_classes(reduction: str) -> None:
    targets = np.array([[1, 3, -1, 2], [0, 0, 2, -1], [-1, 1, 2, 3], [3, 2, 1, 0]])

    def call(m: Any, x: Any, t: Any) -> Any:
        return m.nn.functional.multilabel_margin_loss(x, t, reduction=reduction)

    assert agree(call, drawn(4, 4), ow.from_numpy(targets))
    assert agree(call, drawn(4), ow.from_numpy(targets[0].copy()))
    assert not agree(call, drawn(4, 4), ow.from_numpy(targets[0].copy()))


@pytest.mark.parametrize("swap", [False, True])
def test_triplets_by_a_distance(swap: bool) -> None:
    tensors = [drawn(5, 3, seed=n) for n in range(3)]

    def call(m: Any, *tensors: Any) -> list[Any]:
        f = m.nn.functional.triplet_margin_with_distance_loss
        own = f(*tensors, distance_function=lambda a, b: (a - b).abs().sum(-1), margin=0.7, swap=swap)
        return [own, f(*tensors, swap=swap), f(*tensors, reduction="none")]

    assert agree(call, *tensors, difference="functional")


# ---- places of a grid, noise ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("corners", [False, True])
def test_places_of_affine_maps(corners: bool) -> None:
    for theta, size in (
        (drawn(2, 2, 3), [2, 3, 4, 5]),
        (drawn(1, 3, 4), [1, 2, 3, 4, 2]),
        (drawn(1, 2, 3), [1, 1, 1, 6]),
    ):

        def call(m: Any, theta: Any, size: Any = size) -> Any:
            return m.nn.functional.affine_grid(theta, size, align_corners=corners)

        assert agree(call, theta, difference="functional")
    assert not agree(lambda m, t: m.nn.functional.affine_grid(t, [1, 2, 3, 4], align_corners=corners), drawn(2, 2, 3))


def test_choices_by_noise() -> None:
    logits = ow.tensor([0.0, 1.0, 2.0]).expand(20000, 3).requires_grad_()
    hard = ow.nn.functional.gumbel_softmax(logits, tau=0.7, hard=True)
    values = hard.detach().numpy()
    assert np.abs(np.sort(values, 1) - [0, 0, 1]).max() < 1e-6
    shares = np.exp([0.0, 1.0, 2.0])
    assert np.abs(values.mean(0) - shares / shares.sum()).max() < 0.02
    ow.manual_seed(3)
    soft = ow.nn.functional.gumbel_softmax(logits, dim=0)
    assert np.abs(soft.detach().numpy().sum(0) - 1).max() < 1e-3
    (grad,) = ow.autograd.grad([(hard * ow.arange(3.0)).sum()], [logits])
    assert np.isfinite(grad.numpy()).all() and grad.numpy().any()
