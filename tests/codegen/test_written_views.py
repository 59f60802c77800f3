"""Replayed writes to views: their elements alone change, and what has a history is left to Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_large_calls import Watch, method

import opweave
from opweave.codegen.native import calls
from opweave.registry.errors import AutogradError
from opweave.registry.op import registry
from opweave.registry.tensor import Tensor

pytestmark = pytest.mark.skipif(not calls.install(True), reason="native code cannot know the layout of objects here")


@pytest.fixture(autouse=True)
def _as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests of the process changed built-in ops, and changed them back."""
    monkeypatch.setattr(registry, "shipped_version", registry.builtin_version)


def fresh() -> tuple[Tensor, np.ndarray[Any, Any]]:
    a = np.random.default_rng(0).standard_normal((20, 30)).astype(np.float32)
    return opweave.from_numpy(a.copy()), a


WRITES: dict[str, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "fill_": ("fill_", lambda v: v.fill_(2.5), lambda v: np.full_like(v, 2.5)),
    "zero_": ("zero_", lambda v: v.zero_(), np.zeros_like),
    "mul_": ("mul_", lambda v: v.mul_(0.5), lambda v: v * np.float32(0.5)),
    "add_": ("add_", lambda v: v.add_(v), lambda v: v + v),
    "clamp_": ("clamp_", lambda v: v.clamp_(-0.1, 0.1), lambda v: v.clip(np.float32(-0.1), np.float32(0.1))),
    "copy_": ("copy_", lambda v: v.copy_(v.flip(0)), lambda v: v[::-1]),
}
PLACES: dict[str, Any] = {
    "columns": np.s_[:, 3:9], "row": np.s_[4], "column": np.s_[:, 5], "steps": np.s_[1::2, ::3], "number": np.s_[3, 4],
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("write", WRITES)
def test_the_elements_of_the_view_alone_change(write: str, place: str) -> None:
    name, op, expected = WRITES[write]
    if write == "copy_" and place == "number":
        pytest.skip("has no dimension to flip")
    x, a = fresh()
    watch = Watch(method(name))
    for _ in range(4):
        before = x._version
        part = x[PLACES[place]]
        assert op(part) is part and x._version == part._version == before + 1
        a[PLACES[place]] = expected(a[PLACES[place]].copy())
        np.testing.assert_array_equal(x.numpy(), a)
    assert watch.made >= 2
    turned, b = x.t(), a.T
    for _ in range(4):
        op(turned[PLACES["steps"]])
        b[PLACES["steps"]] = expected(b[PLACES["steps"]].copy())
        np.testing.assert_array_equal(turned.numpy(), b)


def test_items_are_set() -> None:
    x, a = fresh()
    for _ in range(4):
        for place in PLACES.values():
            x[place] = 1.5
            a[place] = 1.5
        x[2] = x[3] * 2
        a[2] = a[3] * 2
        x[1:] = x[:-1]  # which lies in the same memory
        a[1:] = a[:-1].copy()
        np.testing.assert_array_equal(x.numpy(), a)


def test_memory_that_gets_a_history() -> None:
    x, _ = fresh()
    for _ in range(4):
        x[1].mul_(2.0)
    part = x[1]
    x.requires_grad_()
    with pytest.raises(AutogradError):
        part.mul_(2.0)
    with opweave.no_grad():
        hidden = x[2]
        hidden.mul_(2.0)
    with pytest.raises(AutogradError):
        hidden.mul_(2.0)


def test_memory_of_what_is_recorded() -> None:
    for _ in range(4):
        leaf = opweave.ones(6).requires_grad_()
        t = leaf * 1
        t[1:3].mul_(3.0)
        t[4] = 0.0
        opweave.zeros(6)[1:3].mul_(3.0)
        t.sum().backward()
        assert leaf.grad is not None and leaf.grad.tolist() == [1, 3, 3, 1, 0, 1]


def test_what_was_saved_is_known_to_have_changed() -> None:
    for _ in range(4):
        base, leaf = opweave.ones(4, 4), opweave.ones(4, 4).requires_grad_()
        product = leaf * base
        base[1].fill_(2.0)
        with pytest.raises(AutogradError):
            product.sum().backward()
