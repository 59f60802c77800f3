"""Loops of a replayed call that are one program: the bits are those of the loops, and nothing between is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_large_calls import Watch, stands_in_python

import opweave
from opweave import ops
from opweave.codegen.joined_loops import joined
from opweave.codegen.native import calls
from opweave.registry.op import registry
from opweave.registry.rows import RowProgram
from opweave.registry.tape import Value
from opweave.registry.tape_recorder import record
from opweave.registry.tensor import Tensor

aten = ops.aten
pytestmark = pytest.mark.skipif(not calls.install(True), reason="native code cannot know the layout of objects here")


@pytest.fixture(autouse=True)
def _as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests of the process changed built-in ops, and changed them back."""
    monkeypatch.setattr(registry, "shipped_version", registry.builtin_version)


def drawn(count: int, seed: int, is_odd: bool = True) -> Tensor:
    x = np.random.default_rng(seed).standard_normal(count).astype(np.float32)
    if is_odd:
        x[:6] = np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-42
    return opweave.from_numpy(x)


#: An op, and a call of it with two tensors and a mask.
FORMS: dict[str, tuple[Any, Callable[[Tensor, Tensor, Tensor], Any]]] = {
    "huber_loss": (aten.huber_loss, lambda x, y, m: aten.huber_loss(x, y, 0, 0.7)),
    "smooth_l1_loss": (aten.smooth_l1_loss, lambda x, y, m: aten.smooth_l1_loss(x, y, 0)),
    "l1_loss": (aten.l1_loss, lambda x, y, m: aten.l1_loss(x, y, 0)),
    "soft_margin_loss": (aten.soft_margin_loss, lambda x, y, m: aten.soft_margin_loss(x, y, 0)),
    "binary_cross_entropy_with_logits": (
        aten.binary_cross_entropy_with_logits,
        lambda x, y, m: aten.binary_cross_entropy_with_logits(x, y, None, None, 0),
    ),
    "addcmul": (aten.addcmul, lambda x, y, m: aten.addcmul(x, y, x, value=0.3)),
    "where": (aten.where, lambda x, y, m: aten.where(m, x, y)),
}  # fmt: skip


@pytest.mark.parametrize("count", [1500, 40_001, 100_003])
@pytest.mark.parametrize("name", FORMS)
def test_bits_are_those_of_the_loops(name: str, count: int) -> None:
    function, op = FORMS[name]
    x, y = drawn(count, 0), drawn(count, 1)
    mask = drawn(count, 2, is_odd=False) > 0

    def call() -> Any:
        return op(x, y, mask)

    expected = stands_in_python(function, call)
    watch = Watch(function)
    found = [call() for _ in range(4)][-1]
    assert watch.made >= 2
    same = found.numpy().view(np.int32) == expected.numpy().view(np.int32)
    assert np.all(same | np.isnan(found.numpy()) & np.isnan(expected.numpy()))


@pytest.mark.parametrize("count", [5000, 100_003])
def test_losses_and_sums_of_what_is_not_nan(count: int) -> None:
    x, y = drawn(count, 0, is_odd=False), drawn(count, 1, is_odd=False)
    holes = opweave.where(x > 1.0, float("nan"), x)
    a, b = x.double().numpy(), y.double().numpy()
    size = np.abs(a - b)
    huber = np.where(size <= 1, size * size / 2, size - 0.5).mean()
    for function, call, expected in (
        (aten.huber_loss, lambda: aten.huber_loss(x, y), huber),
        (aten.mse_loss, lambda: aten.mse_loss(x, y), (size * size).mean()),
        (aten.nansum, lambda: opweave.nansum(holes), a[a <= 1].sum()),
    ):
        watch = Watch(function)
        found = [call().item() for _ in range(4)]
        assert watch.made >= 2 and len(set(found)) == 1
        assert abs(found[0] - expected) <= 1e-5 * max(1.0, abs(expected), 1e-2 * np.abs(a).sum())


def test_what_the_history_keeps_is_there() -> None:
    x, y = drawn(3000, 0, is_odd=False).requires_grad_(), drawn(3000, 1, is_odd=False)
    grads = []
    for _ in range(5):
        x.grad = None
        aten.binary_cross_entropy_with_logits(x, y, None, None, 1).backward()
        assert x.grad is not None
        grads.append(x.grad.numpy())
    expected = (1 / (1 + np.exp(-x.detach().double().numpy())) - y.double().numpy()) / 3000
    for grad in grads:
        np.testing.assert_allclose(grad, expected, atol=1e-9)


def test_which_loops_are_joined() -> None:
    x, y = drawn(2000, 0), drawn(2000, 1)
    tape, result = record(aten.l1_loss, (x, y, 0), {})
    assert len(tape.loops) == 2
    (whole,) = joined(tape.loops, {tape.value(result).buffer})
    assert isinstance(whole.function, RowProgram) and len(whole.operands) == 3
    # What lies between is needed: the loops stay.
    between = tape.loops[0].operands[-1].value
    assert isinstance(between, Value)
    assert joined(tape.loops, {tape.value(result).buffer, between.buffer}) == tape.loops
    small, found = record(aten.l1_loss, (x[:1000], y[:1000], 0), {})
    assert joined(small.loops, {small.value(found).buffer}) == small.loops
    wide, found = record(aten.l1_loss, (x.double(), y.double(), 0), {})
    assert joined(wide.loops, {wide.value(found).buffer}) == wide.loops
