"""Compiled code rounds where eager code does, and leaves out only what changes no value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opweave
from opweave import Tensor

HALVES = (opweave.float16, opweave.bfloat16)
#: Chains of ops in which the digits of a wider type would show.
CHAINS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "remainder of a quotient": lambda x, y: (x / y).remainder(1),
    "difference": lambda x, y: (x * y + x) - x * y,
    "comparison": lambda x, y: (x * 0.1) * y == x * (y * 0.1),
    "floor": lambda x, y: (x * y * 3).floor(),
    "what is returned and compared": lambda x, y: (lambda z: (z, z > z.max() * 0.999))(x * y),
    "sum": lambda x, y: (x * y).sum(1),
    "cancelled": lambda x, y: x.tanh() - 1,
    "tiny": lambda x, y: (x * 1e-4) * 1e-4 * 1e8,
    "constant": lambda x, y: opweave.full_like(x, 0.1) * y,
    "cast up": lambda x, y: (x * y).float() - x.float() * y.float(),
    "cast down": lambda x, y: (x.float() * y.float()).to(x.dtype) + y,
    "mean": lambda x, y: (x + y).mean(0) * 3,
    "softmax": lambda x, y: (x * y).softmax(1) - y,
    "maximum": lambda x, y: (x * y).amax(1, keepdim=True) - x * y,
}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("name", CHAINS)
def test_half_types_are_rounded_after_each_op(name: str, dtype: opweave.dtype) -> None:
    draw = np.random.default_rng(3)
    x, y = (opweave.from_numpy(draw.standard_normal((8, 64)).astype(np.float32)).to(dtype) for _ in range(2))
    found, expected = opweave.compile(CHAINS[name])(x, y), CHAINS[name](x, y)
    for one, other in zip(*([t] if isinstance(t, Tensor) else t for t in (found, expected)), strict=True):
        assert one.dtype is other.dtype
        if name in ("softmax", "cancelled"):  # exponentials of the two may differ in float32's last digit
            step = 2.0**-8 if dtype is opweave.bfloat16 else 2.0**-11
            np.testing.assert_allclose(one.float().numpy(), other.float().numpy(), atol=2 * step)
        else:
            np.testing.assert_array_equal(one.float().numpy(), other.float().numpy())


def test_constants_have_the_digits_of_their_type() -> None:
    def function(x: Tensor) -> Any:
        tenth = opweave.full((4,), 0.1)
        return tenth.double() * x, opweave.full((4,), 0.1, dtype=opweave.bfloat16).double() * x, tenth.half().double()

    x = opweave.ones(4, dtype=opweave.float64)
    for one, other in zip(opweave.compile(function)(x), function(x), strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


IDENTITIES: dict[str, Callable[[Tensor], Tensor]] = {
    "x * 1": lambda x: x * 1,
    "1 * x": lambda x: 1 * x,
    "x / 1": lambda x: x / 1,
    "x - 0": lambda x: x - 0,
    "x + 0": lambda x: x + 0,
    "x + -0.0": lambda x: x + (-0.0),
    "x ** 1": lambda x: x**1,
    "-(-x)": lambda x: x.neg().neg(),
    "0 - x": lambda x: 0 - x,
}


@pytest.mark.parametrize("dtype", [opweave.float32, opweave.complex64], ids=str)
@pytest.mark.parametrize("name", IDENTITIES)
def test_what_seems_to_change_nothing_keeps_signs_of_zeros(name: str, dtype: opweave.dtype) -> None:
    parts = (0.0, -0.0, 1.5, -2.0, math.inf, math.nan)
    values = [complex(a, b) for a, b in itertools.product(parts, parts)] if dtype.is_complex else list(parts)
    x = opweave.tensor(values, dtype=dtype)
    found, expected = (f(x).numpy() for f in (opweave.compile(IDENTITIES[name]), IDENTITIES[name]))
    for part in (np.real, np.imag):
        one, other = part(found), part(expected)
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(np.signbit(one) & ~np.isnan(one), np.signbit(other) & ~np.isnan(other))


@pytest.mark.parametrize("dtype", [opweave.float32, opweave.float64], ids=str)
def test_next_numbers_are_numpys(dtype: opweave.dtype) -> None:
    least = float(np.finfo(dtype.numpy).smallest_subnormal)
    largest = float(np.finfo(dtype.numpy).max)
    values = [0.0, -0.0, least, -least, 3 * least, 1.0, -1.0, 1e-30, largest, -largest, math.inf, -math.inf, math.nan]
    x, y = (np.array(pair, dtype.numpy) for pair in zip(*itertools.product(values, values), strict=True))
    with np.errstate(over="ignore"):
        expected = np.nextafter(x, y)
    for call in (opweave.nextafter, opweave.compile(opweave.nextafter)):
        found = call(opweave.from_numpy(x), opweave.from_numpy(y)).numpy()
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found) | np.isnan(found), np.signbit(expected) | np.isnan(expected))
