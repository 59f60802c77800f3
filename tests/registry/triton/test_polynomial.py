"""Polynomials of a kernel's integers: what they are worth, what they are between, how they print."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from opweave.registry.triton.polynomial import (
    Argument,
    Leaf,
    Polynomial,
    Program,
    Range,
    extreme,
    quotient,
    remainder,
)
from opweave.registry.triton.shapes import reordered, reshaped

pid, lane, row = Polynomial.of(Program(0)), Polynomial.of(Range(1, 16)), Polynomial.of(Range(0, 8))
n, m = Polynomial.of(Argument(2, "n", "i32")), Polynomial.of(Argument(3, "m", "i32"))


def const(value: int) -> Polynomial:
    return Polynomial.of(value)


@pytest.mark.parametrize(
    ("polynomial", "text"),
    [
        (lane + pid * 1024, "pid0*1024 + r1"),
        (n * row + lane - 1, "r0*n + r1 - 1"),
        ((pid + row) * (n - m), "pid0*n - pid0*m - r0*m + r0*n"),
        (n - n, "0"),
        (const(-4), "-4"),
        (quotient(pid * 16 + lane, const(16), down=False), "pid0"),
        (remainder(pid * 16 + lane, const(16), down=False), "r1"),
        (quotient(pid * 16 + lane, const(4), down=False), "pid0*4 + floordiv(r1, 4)"),
        (quotient(n, const(4), down=False), "div(n, 4)"),
        (quotient(n * 4 + 9, const(4), down=True), "n + 2"),
        (remainder(n, const(4), down=True), "mod(n, 4)"),
        (remainder(n * 4 + 9, const(4), down=False), "rem(n*4 + 9, 4)"),
        (extreme("min", lane, const(20)), "r1"),
        (extreme("max", lane, n), "max(r1, n)"),
    ],
)
def test_text(polynomial: Polynomial, text: str) -> None:
    assert str(polynomial) == text


def test_bounds() -> None:
    assert (row * 16 + lane).bounds == (0, 127) and (row - lane).bounds == (-15, 7)
    assert (pid - 1).bounds[0] == -1 and n.bounds == (None, None) and (n * row).bounds == (None, None)
    assert remainder(n, const(5), down=True).bounds == (0, 4) and remainder(n, const(5), down=False).bounds == (-4, 4)
    assert quotient(row, lane + 1, down=False).bounds == (0, 7)
    assert extreme("min", n, lane).bounds == (None, 15) and extreme("max", n, lane).bounds == (0, None)


def test_reshape_and_transposition() -> None:
    flat = Polynomial.of(Range(0, 128))
    grid = reshaped(flat, (128,), (8, 16))
    assert grid is not None
    assert grid == row * 16 + lane and reshaped(grid, (8, 16), (128,)) == flat
    assert reordered(grid, (1, 0)) == Polynomial.of(Range(1, 8)) * 16 + Polynomial.of(Range(0, 16))
    assert str(reshaped(grid, (8, 16), (2, 64))) == "r0*64 + r1"
    assert str(reshaped(lane, (8, 16), (2, 64))) == "mod(r1, 16)"
    assert str(reshaped(row, (8, 1, 16), (8, 16))) == "r0"


numbers = st.integers(-20, 20)


@st.composite
def polynomials(draw: Any, depth: int = 3) -> tuple[Polynomial, Any]:
    """One, and a function that computes it as Triton would from the leaves' values."""
    leaf = draw(st.sampled_from([pid, lane, row, n, m]))
    if depth == 0:
        return leaf, lambda env: env[leaf.single]
    p, f = draw(polynomials(depth - 1))
    kind = draw(st.sampled_from(["+", "-", "*", "c", "//", "%", "floor", "mod", "min", "max"]))
    if kind in ("+", "-", "*", "min", "max"):
        q, g = draw(polynomials(depth - 1))
        if kind in ("min", "max"):
            return extreme(kind, p, q), lambda env: (min if kind == "min" else max)(f(env), g(env))
        made = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}[kind]
        return made(p, q), lambda env: made(f(env), g(env))
    c = draw(st.integers(1, 17))
    if kind == "c":
        return p * c + c, lambda env: f(env) * c + c
    if kind == "//":
        return quotient(p, const(c), down=False), lambda env: int(np.sign(f(env))) * (abs(f(env)) // c)
    if kind == "%":
        return remainder(p, const(c), down=False), lambda env: int(np.sign(f(env))) * (abs(f(env)) % c)
    if kind == "floor":
        return quotient(p, const(c), down=True), lambda env: f(env) // c
    return remainder(p, const(c), down=True), lambda env: f(env) % c


@given(polynomials(), st.integers(0, 9), st.integers(0, 15), st.integers(0, 7), numbers, numbers)
def test_value_bounds_and_substitution(made: Any, p: int, k: int, r: int, a: int, b: int) -> None:
    polynomial, compute = made
    env: dict[Leaf | None, int] = {
        pid.single: p, lane.single: k, row.single: r, n.single: a, m.single: b,
    }  # fmt: skip
    value = polynomial.evaluate(lambda leaf: env[leaf])
    assert value == compute(env)
    low, high = polynomial.bounds
    assert (low is None or low <= value) and (high is None or value <= high)
    known = polynomial.substitute(lambda leaf: const(env[leaf]) if leaf in env else None)
    assert known.constant == value


def test_evaluation_of_arrays() -> None:
    grid = quotient(row * 16 + lane - 40, const(3), down=False) + extreme("max", row * n, lane)
    at = {row.single: np.arange(8)[:, None], lane.single: np.arange(16)[None], n.single: 2}
    flat = np.arange(128).reshape(8, 16) - 40
    expected = np.sign(flat) * (abs(flat) // 3) + np.maximum(np.arange(8)[:, None] * 2, np.arange(16)[None])
    np.testing.assert_array_equal(grid.evaluate(lambda leaf: at[leaf]), expected)
