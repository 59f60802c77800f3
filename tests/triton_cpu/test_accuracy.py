"""The errors of mathematical functions, on a sample of what benchmarks/accuracy.py goes through."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def _script() -> Any:
    spec = importlib.util.spec_from_file_location("accuracy", Path(__file__).parents[2] / "benchmarks" / "accuracy.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["accuracy"] = module  # its dataclasses look up their annotations there
    spec.loader.exec_module(module)
    return module


accuracy = _script()
_STRIDE = 10_007  # a prime: all bits of the numbers vary


@pytest.mark.parametrize("name", accuracy.FUNCTIONS)
def test_a_float32_function_is_as_exact_as_it_should_be(name: str) -> None:
    function = accuracy.FUNCTIONS[name]
    if function.arity == 2:
        pairs = accuracy.random_pairs(np.float32, 1, np.random.default_rng(0))
        inputs = ((x[:100_000], y[:100_000]) for x, y in pairs)
    else:
        inputs = ((x,) for x in accuracy.bit_patterns(_STRIDE))
    result = accuracy.measure(function, "f32", inputs)
    assert result.tried > 100_000
    assert not result.bad
    assert result.worst <= function.goal, result.where


@pytest.mark.parametrize(
    ("name", "low", "high", "bound"),
    [
        ("tanh", 0.2, 0.4, 1.5), ("log", 0.5, 2.0, 1.0), ("log2", 0.5, 2.0, 1.1), ("log10", 0.5, 2.0, 1.1),
        ("exp", -2.0, 2.0, 1.4), ("erf", 0.8, 1.1, 1.5), ("sin", 1.0, 8.0, 1.6), ("erfc", 1.0, 3.0, 0.51),
    ],
)  # fmt: skip
def test_errors_where_a_function_passes_from_one_formula_to_the_next(
    name: str, low: float, high: float, bound: float
) -> None:
    x = np.linspace(low, high, 300_000, dtype=np.float32)
    result = accuracy.measure(accuracy.FUNCTIONS[name], "f32", iter([(x,)]))
    assert result.worst <= bound, result.where


def test_an_error_of_one_unit_is_found() -> None:
    exact = np.array([1.5, 0.0, np.inf, np.nan, 1.0, 3.0])
    got = np.array([np.nextafter(np.float32(1.5), 2), -0.0, 1.0, np.nan, np.nan, 3.0], np.float32)
    np.testing.assert_array_equal(accuracy.errors(got, exact), [1, np.inf, np.inf, 0, np.inf, 0])
