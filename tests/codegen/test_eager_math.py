"""Functions that NumPy has none of: eager calls give what compiled kernels give, at any length and layout."""

from __future__ import annotations

import math

import numpy as np
import pytest

import opweave
from opweave.codegen import eager_math


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_erf_is_within_two_units(dtype: type) -> None:
    x = np.concatenate([np.linspace(-6, 6, 4001), np.geomspace(1e-30, 1, 200)]).astype(dtype)
    exact = np.array([math.erf(value) for value in x.astype(np.float64)])
    found = eager_math.apply("erf", x)
    assert found is not None and found.dtype == dtype
    assert np.all(np.abs(found - exact) <= 2 * np.spacing(np.abs(exact).astype(dtype)))
    ends = eager_math.apply("erf", np.array([np.nan, np.inf, -np.inf, -0.0, 0.0], dtype))
    np.testing.assert_array_equal(ends, np.array([np.nan, 1, -1, -0.0, 0], dtype))
    assert ends is not None and math.copysign(1, ends[3]) == -1


def test_an_element_does_not_depend_on_its_place() -> None:
    x = np.random.default_rng(0).standard_normal(67).astype(np.float32)
    whole = eager_math.apply("erf", x)
    assert whole is not None
    for begin, end in ((0, 1), (3, 20), (50, 67), (5, 5)):
        np.testing.assert_array_equal(eager_math.apply("erf", x[begin:end]), whole[begin:end])
    np.testing.assert_array_equal(eager_math.apply("erf", x[::-3]), whole[::-3])
    one = eager_math.apply("erf", np.asarray(x[4]))
    assert one is not None and one.shape == () and one == whole[4]
    assert eager_math.apply("erf", x.astype(np.float16)) is None


@pytest.mark.parametrize("dtype", [opweave.float32, opweave.float64, opweave.bfloat16])
def test_eager_calls_have_the_bits_of_compiled_ones(dtype: opweave.dtype) -> None:
    x = opweave.from_numpy(np.random.default_rng(0).standard_normal((5, 33))).to(dtype)
    functions = [opweave.erf, opweave.nn.functional.gelu, lambda x: x**3, lambda x: x**-1, lambda x: x**-2]
    compiled = opweave.compile(lambda x: [function(x) for function in functions], fullgraph=True)(x)
    for function, found in zip(functions, compiled, strict=True):
        np.testing.assert_array_equal(found.double().numpy(), function(x).double().numpy())


def test_powers_that_are_products() -> None:
    x = np.array([-1.5, -0.0, 0.0, 2.0, np.inf, -np.inf, np.nan], np.float32)
    t = opweave.from_numpy(x)
    with np.errstate(all="ignore"):
        for exponent, expected in ((3, x * x * x), (-1, 1 / x), (-2, 1 / (x * x))):
            np.testing.assert_array_equal((t**exponent).numpy(), expected)
            np.testing.assert_array_equal((t ** float(exponent)).numpy(), expected)
