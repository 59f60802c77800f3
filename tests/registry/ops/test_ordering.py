"""Orders of elements, and their beginnings, are those of a stable sort; products of whole numbers are exact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import opweave
from opweave.registry.ops.ordering import beginning, order
from opweave.registry.ops.whole_products import whole_product

TYPES = ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u4", "u8", "?")


def _stable(array: Any, axis: int, descending: bool) -> Any:
    if not descending:
        return np.argsort(array, axis=axis, kind="stable")
    backwards = np.argsort(np.flip(array, axis), axis=axis, kind="stable")
    return array.shape[axis] - 1 - np.flip(backwards, axis)


def _elements(draw: np.random.Generator, dtype: Any, sizes: tuple[int, ...]) -> Any:
    """Few different ones or many, with NaN of either sign, infinities and zeros of either sign where there are such."""
    if draw.random() < 0.4:
        return draw.integers(0, 3, sizes).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return draw.integers(limits.min, limits.max, sizes, dtype=dtype, endpoint=True)
    array = (draw.standard_normal(sizes) * 100).astype(dtype)
    if dtype.kind == "f":
        for value in (math.nan, -math.nan, math.inf, -math.inf, -0.0, 0.0, 6e-8):
            array[draw.random(sizes) < draw.choice([0.0, 0.02, 0.2])] = value
    return array


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 1 << 32), name=st.sampled_from(TYPES), descending=st.booleans(), long=st.booleans())
def test_orders_are_those_of_a_stable_sort(seed: int, name: str, descending: bool, long: bool) -> None:
    draw = np.random.default_rng(seed)
    sizes = tuple(draw.integers(120, 300, 1)) + (2,) if long else tuple(draw.integers(1, 9, draw.integers(1, 4)))
    array = _elements(draw, np.dtype(name), tuple(map(int, sizes)))
    for axis in range(array.ndim):
        expected = _stable(array, axis, descending)
        np.testing.assert_array_equal(order(np, array, axis, descending), expected)
        for count in {0, 1, array.shape[axis] // 5, array.shape[axis]}:
            first = (slice(None),) * axis + (slice(0, count),)
            np.testing.assert_array_equal(beginning(np, array, axis, descending, count), expected[first])


@pytest.mark.parametrize("bits", [4, 20, 31, 62])
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1 << 32))
def test_products_of_whole_numbers_wrap_as_numpys(bits: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    m, n, p = (int(size) for size in draw.integers(1, 40, 3))
    a, b = draw.integers(-(1 << bits), 1 << bits, (m, n)), draw.integers(-(1 << bits), 1 << bits, (n, p))
    for x in (a, b):
        x.flat[0] = draw.choice([np.iinfo(np.int64).min, np.iinfo(np.int64).max, 0, 1])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(whole_product(a, b), a @ b)


@pytest.mark.parametrize("name", ["int64", "int32", "uint8"])
def test_large_products_of_whole_numbers_are_numpys(name: str) -> None:
    draw = np.random.default_rng(0)
    a, b = (draw.integers(0, 200, sizes).astype(name) for sizes in ((3, 40, 50), (3, 50, 30)))
    x, y = opweave.from_numpy(a), opweave.from_numpy(b)
    np.testing.assert_array_equal((x @ y).numpy(), a @ b)
    np.testing.assert_array_equal(opweave.baddbmm(x @ y, x, y, beta=3, alpha=2).numpy(), (5 * (a @ b)).astype(name))
    np.testing.assert_array_equal((x[0] @ y[0].t().contiguous().t()).numpy(), a[0] @ b[0])
