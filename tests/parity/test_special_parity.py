"""Special functions and less common arithmetic against PyTorch, with first and second derivatives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from op_samples import ops_with_samples
from oracle import agree, check

import opweave as ow
from opweave.registry.op import OpOverload
from opweave.registry.ops import special


@pytest.mark.parametrize("op", ops_with_samples(special), ids=str)
def test_samples(op: OpOverload) -> None:
    assert check(op, difference="functional")


FAR = [1e-5, -1e-5, 1e8, 1e30, 0.0, -0.0, -3.0, np.inf, -np.inf, np.nan, 1.0, 2.0, 1 + 1e-9, 2 - 1e-9, 0.25, 0.5]


@pytest.mark.parametrize("name", ["lgamma", "digamma", "erfinv", "sinc", "logit", "deg2rad", "rad2deg"])
def test_values(name: str) -> None:
    values = np.concatenate([np.linspace(-1.2, 1.2, 301), FAR])
    if name in ("lgamma", "digamma"):
        values = np.concatenate([np.linspace(-8.9, 30, 401), FAR])
    if name == "erfinv":
        values = np.concatenate([values, [1 - 1e-10, 1 - 1e-15, -1 + 1e-12, 1e-300]])
    for dtype in (ow.float64, ow.float32):
        x = ow.from_numpy(values).to(dtype)
        agree(lambda m, x: getattr(m, name)(x), x, order=0, difference="functional")
    agree(lambda m, x: getattr(m, name)(x), ow.arange(5), order=0, difference="functional")


@pytest.mark.parametrize("name", ["lgamma", "digamma", "erfinv", "sinc", "logit", "deg2rad", "rad2deg"])
def test_derivatives(name: str) -> None:
    low, high = (-0.9, 0.9) if name in ("erfinv",) else (0.05, 0.95) if name == "logit" else (0.3, 4.7)
    x = ow.linspace(low, high, 25, dtype=ow.float64)
    order = {"digamma": 0, "lgamma": 1}.get(name, 2)  # the next is by trigamma, of which PyTorch has nine digits
    agree(lambda m, x: getattr(m, name)(x), x, order=order, difference="functional")


def test_derivatives_of_digamma() -> None:
    values = np.concatenate([np.linspace(-5.3, 20, 400), [0.0, -1.0, np.nan, 1e6]])
    for order in (0, 2, 3, 5):
        x = ow.from_numpy(values if not order else values[values > 0.1])
        agree(lambda m, x: m.polygamma(order, x), x, order=0, difference="functional")  # noqa: B023
        y = ow.linspace(0.3, 6, 9, dtype=ow.float64)
        agree(lambda m, x: x.polygamma(order), y, order=int(order > 0), difference="functional")  # noqa: B023


def test_the_first_derivative_of_digamma() -> None:
    """By known values, since PyTorch has nine digits of it."""
    x = ow.tensor([1.0, 0.5, 2.0, -0.5, -2.5], dtype=ow.float64)
    found, half = ow.polygamma(1, x), math.pi**2 / 2
    wanted = [math.pi**2 / 6, half, math.pi**2 / 6 - 1, half + 4, half + 4 + 4 / 9 + 4 / 25]
    assert np.abs(found.numpy() / wanted - 1).max() < 1e-14


def test_a_clipped_logit() -> None:
    x = ow.linspace(-0.2, 1.2, 15, dtype=ow.float64)
    agree(lambda m, x: m.logit(x, 0.1), x, difference="functional")
    agree(lambda m, x: x.logit(eps=0.3), x, difference="functional")


@pytest.mark.parametrize("name", ["fmax", "fmin", "hypot", "logaddexp2"])
def test_pairs(name: str) -> None:
    some = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 3.0])
    x, y = (ow.from_numpy(np.ascontiguousarray(a)) for a in (np.repeat(some, 8), np.tile(some, 8)))

    def call(m: Any, x: Any, y: Any) -> Any:
        return getattr(m, name)(x, y)

    agree(call, x, y, order=0, difference="functional")
    z = ow.from_numpy(np.random.default_rng(0).standard_normal((3, 4)))
    agree(call, z, z[0] + 0.3, order=2 if name == "hypot" else 1, difference="functional")
    if name == "hypot":
        big = ow.tensor([1e300, 3e-300, 0.0], dtype=ow.float64)
        agree(lambda m, x: m.hypot(x, x), big, order=0, difference="functional")


#: `t` is the package, `x` f64[3], `n` and `k` i64[3].
EXPRESSIONS = """
t.gcd(n, k); n.lcm(k); n.clone().gcd_(k); t.gcd(n, k.int()); t.gcd(x, k); t.ldexp(x, k.abs()); x.float_power(2)
t.float_power(2, n); n.float_power(k.abs()); x.abs().float_power(x); t.positive(x); x.positive(); t.isreal(x)
t.arccos(x / 9); x.arctanh(); t.fix(x); x.moveaxis(0, 0); t.positive(x > 0)
"""


@pytest.mark.parametrize("expression", [e.strip() for e in EXPRESSIONS.replace("\n", ";").split(";") if e.strip()])
def test_expression(expression: str) -> None:
    def call(m: Any, x: Any, n: Any, k: Any) -> Any:
        return eval(expression, {"t": m, "x": x, "n": n, "k": k})

    agree(call, ow.tensor([1.5, -0.5, 3.0], dtype=ow.float64), ow.tensor([12, -18, 0]), ow.tensor([8, 27, -5]),
          difference="functional")  # fmt: skip
