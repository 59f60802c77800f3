"""Compiled arithmetic rounds where eager arithmetic does: no product and sum become one operation."""

from __future__ import annotations

import numpy as np
import pytest

import opweave
from opweave import Tensor


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_number_is_the_same_wherever_it_is_computed(dtype: str) -> None:
    """`place` and `weight` are computed in several kernels, in some of which the product has other users."""

    def resample(x: Tensor) -> tuple[Tensor, ...]:
        product = x * 1.7
        place = product + 0.3
        weight = place - opweave.floor(place)
        return product, opweave.floor(place), weight, weight.sum(0), (place * 3 - product).cumsum(0)

    x = opweave.from_numpy(np.random.default_rng(0).standard_normal((300, 70)).astype(dtype))
    got, wanted = opweave.compile(resample)(x), resample(x)
    for mine, right in zip(got[:3], wanted[:3], strict=True):
        np.testing.assert_array_equal(mine.numpy(), right.numpy())
    np.testing.assert_array_equal(got[4].numpy(), wanted[4].numpy())
