"""Zeros, and their signs, where a formula could lose them: running sums, and elu of a factor that is not finite."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from oracle import values_of

import opweave

ROWS = np.array([[-0.0, -0.0, 1.0], [-0.0, 0.0, -0.0], [2.0, -2.0, -0.0]])


def same(mine: Any, other: Any, note: Any) -> None:
    a, b = np.asarray(values_of(mine)), np.asarray(values_of(other))
    assert np.array_equal(a, b, equal_nan=True), (note, a, b)
    for part in ("real", "imag"):
        signs = [np.signbit(getattr(t, part)) for t in (a, b)]
        assert np.array_equal(*signs) or np.isnan(a).any(), (note, a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "complex64", "int64"])
def test_running_sums_begin_at_zero(dtype: str) -> None:
    """In Python, replayed by native code, and along any dimension; a number by itself stays as it is."""
    for view in (lambda t: t, lambda t: t.t(), lambda t: t[0], lambda t: t[0, 0]):
        mine, other = (
            view(lib.complex(lib.tensor(ROWS), lib.tensor(ROWS)).to(lib.complex64))
            if dtype == "complex64"
            else view(lib.tensor(ROWS).to(getattr(lib, dtype)))
            for lib in (opweave, torch)
        )
        for dim in range(max(other.ndim, 1)):
            for _ in range(4):
                same(mine.cumsum(dim), other.cumsum(dim), (dtype, dim))


def test_compiled_running_sums_begin_at_zero() -> None:
    compiled = opweave.compile(lambda t: t.cumsum(1) * 1)
    same(compiled(opweave.tensor(ROWS)), torch.tensor(ROWS).cumsum(1), "compiled")


@pytest.mark.parametrize("alpha", [math.inf, -math.inf, math.nan, -1.0])
@pytest.mark.parametrize("name", ["elu", "celu"])
def test_zero_stays_zero_whatever_the_factor(name: str, alpha: float) -> None:
    values = [0.0, -0.0, 1.0, math.inf, math.nan]
    for dtype in ("float32", "float64", "bfloat16"):
        mine, other = (
            getattr(lib.nn.functional, name)(lib.tensor(values, dtype=getattr(lib, dtype)), alpha)
            for lib in (opweave, torch)
        )
        same(mine.double(), other.double(), (name, alpha, dtype))
    if name == "elu":
        compiled = opweave.compile(lambda t: opweave.nn.functional.elu(t, alpha) * 1)
        same(compiled(opweave.tensor(values)), torch.nn.functional.elu(torch.tensor(values), alpha), "compiled")
