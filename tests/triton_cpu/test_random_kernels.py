"""Kernels made at random compute what NumPy does. `random_kernels.py` runs as many more as one likes."""

from __future__ import annotations

import pytest
from random_kernels import generate, run

pytestmark = pytest.mark.property


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_kernels(first: int) -> None:
    for seed in range(first, first + 10):
        run(generate(seed))


def test_a_seed_makes_one_kernel() -> None:
    assert generate(5).source == generate(5).source
    assert generate(5).source != generate(6).source
