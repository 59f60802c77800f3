"""`func.functionalize`: traces without in-place ops, and the same results and written arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest

import opweave
from opweave import Tensor, make_fx
from opweave.func import functionalize
from opweave.registry.errors import ArgumentError, UnsupportedError


def in_place(x: Tensor) -> Tensor:
    y = x.clone()
    y.add_(1)
    y[0] = 5
    return y * 2


def on_a_view(x: Tensor) -> Any:
    y = x * 1
    z = y[0]
    z.zero_()
    y[:, 1].exp_()
    return {"y": y, "z": [z]}


def by_a_mask(x: Tensor) -> Tensor:
    y = x.clone()
    y[y > 0] = 0.0
    return y


def of_an_argument(x: Tensor) -> Any:
    x.view(-1)[:3].mul_(2)
    return x + 1


def argument() -> Tensor:
    return opweave.from_numpy(np.arange(6.0).reshape(2, 3) - 2)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("f", [in_place, on_a_view, by_a_mask, of_an_argument])
def test_functional_forms(f: Callable[[Tensor], Any], mode: str) -> None:
    module = make_fx(functionalize(f), tracing_mode=mode)(argument())
    writes = [n for n in module.graph if getattr(n.target, "is_mutable", False)]
    assert [n.target.opname for n in writes] == (["copy_"] if f is of_an_argument else [])
    given = [argument() for _ in range(3)]
    results = [optree.tree_leaves(g(x)) for g, x in zip((f, functionalize(f), module), given, strict=True)]
    for expected, *others in zip(*([*leaves, x] for leaves, x in zip(results, given, strict=True)), strict=True):
        for found in others:
            np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_what_is_removed() -> None:
    with pytest.raises(UnsupportedError, match="views stay views"):
        functionalize(in_place, remove="mutations_and_views")
    with pytest.raises(ArgumentError, match="unknown value of remove"):
        functionalize(in_place, remove="all")
