"""Every second element, and so on: loaded as whole vectors, lanes picked."""

from __future__ import annotations

import numpy as np
import pytest

import opweave
from opweave.registry.tensor import Tensor, from_numpy

TYPES = ("float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")


@pytest.mark.parametrize("step", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", TYPES)
def test_compiled_equals_numpy(dtype: str, step: int) -> None:
    for size in (7, 64, 131, 1000):
        x = (np.random.default_rng(0).standard_normal((3, size)) * 50).astype(dtype)

        def function(t: Tensor) -> tuple[Tensor, ...]:
            return tuple([~t[:, begin::step] if t.dtype is opweave.bool else t[:, begin::step] + 0 for begin in (0, 1)])

        for begin, found in enumerate(opweave.compile(function)(from_numpy(x))):
            part = x[:, begin::step]
            np.testing.assert_array_equal(found.numpy(), ~part if dtype == "bool" else part)
