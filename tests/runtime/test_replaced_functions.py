"""Functions and methods of this library that a user replaces after compiling."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

import opweave
from opweave import nn
from opweave.nn import functional as F

X = opweave.tensor([-2.0, 3.0])
SCALE = 2.0


def seven(_: Any, x: Any) -> Any:
    return x * 7


def nothing(_: Any) -> None:
    return


class Derived(nn.LeakyReLU):
    """A class of the user's."""


#: What is replaced -> owner, name, replacement.
REPLACED: dict[str, tuple[Any, str, Any]] = {
    "a function": (F, "leaky_relu", lambda x, *_: x * 7),
    "a function, by an object": (F, "leaky_relu", functools.partial(lambda k, x, *_: x * k, 5)),
    "a method": (nn.LeakyReLU, "forward", seven),
    "a method, by that of another class": (nn.LeakyReLU, "forward", nn.ReLU.forward),
    "a method, by an object": (nn.LeakyReLU, "forward", functools.partialmethod(lambda self, k, x: x * k, 5)),
    "a method of the base": (nn.Module, "__call__", lambda self, x: x * 7),
}
FORMS: dict[str, Callable[[Any], Any]] = {
    "module": opweave.compile,
    "forward": lambda module: opweave.compile(module.forward),
    "function": lambda module: opweave.compile(lambda x: module(x)),
    "whole": lambda module: opweave.compile(lambda x: module(x) + 0, fullgraph=True),
}
MODULES: dict[str, Callable[[], Any]] = {
    "alone": lambda: nn.LeakyReLU(0.5),
    "inside": lambda: nn.Sequential(nn.LeakyReLU(0.5)),
    "derived": lambda: Derived(0.5),
}


@pytest.mark.parametrize("what", REPLACED)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("module", MODULES)
def test_what_is_replaced_is_seen_until_it_is_put_back(what, form, module):
    owner, name, value = REPLACED[what]
    made = MODULES[module]()
    call = FORMS[form](made)
    eager = made.forward if form == "forward" else made
    for _ in range(2):
        assert call(X).tolist() == [-1.0, 3.0]
        with mock.patch.object(owner, name, value):
            assert call(X).tolist() == eager(X).tolist()
            assert call(X).tolist() == eager(X).tolist()
    assert call(X).tolist() == [-1.0, 3.0]


def test_versions_are_kept_for_when_it_is_put_back():
    module = nn.LeakyReLU(0.5)
    call = opweave.compile(lambda x: module(x), fullgraph=True)
    other = opweave.compile(lambda x: x + 1)
    for _ in range(3):
        call(X)
        other(X)
        with mock.patch.object(F, "leaky_relu", seven), mock.patch.object(nn.LeakyReLU, "forward", seven):
            call(X)
    assert len(call.entries) == 2
    assert len(other.entries) == 1
    new: Any = F
    new.something_new = 1
    call(X)
    del new.something_new
    call(X)
    assert len(call.entries) == 2


@pytest.mark.parametrize("what", ["a function", "a method"])
def test_variables_that_the_replacement_reads_are_seen(what, monkeypatch):
    owner, name, _ = REPLACED[what]
    module = nn.LeakyReLU(0.5)
    call = opweave.compile(lambda x: module(x), fullgraph=True)
    call(X)
    monkeypatch.setattr(owner, name, (lambda x, *_: x * SCALE) if owner is F else (lambda self, x: x * SCALE))
    assert call(X).tolist() == [-4.0, 6.0]
    monkeypatch.setattr(f"{__name__}.SCALE", 5.0)
    assert call(X).tolist() == [-10.0, 15.0]


def test_methods_of_optimizers_are_seen():
    weight = nn.Parameter(opweave.ones(2))
    optimizer = opweave.optim.SGD([weight], lr=1.0)

    @opweave.compile
    def step(x: Any) -> None:
        optimizer.zero_grad()
        (weight * x).sum().backward()
        optimizer.step()

    step(X)
    assert weight.tolist() == [3.0, -2.0]
    with mock.patch.object(opweave.optim.SGD, "step", nothing):
        step(X)
    assert weight.tolist() == [3.0, -2.0]
    step(X)
    assert weight.tolist() == [5.0, -5.0]


def test_the_reason_is_told():
    module = nn.LeakyReLU(0.5)
    call = opweave.compile(lambda x: module(x), fullgraph=True)
    call(X)
    with mock.patch.object(F, "leaky_relu", seven):
        assert "leaky_relu was replaced" in str(call.mismatches((X,), {})[0][1])
    with mock.patch.object(nn.LeakyReLU, "forward", seven):
        assert "LeakyReLU.forward" in str(call.mismatches((X,), {})[0][1])
