"""Index expressions: regrouping and simplification agree with arithmetic on every point."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given, strategies as st

from opweave.tracer.loops.index import Axis, Index, linearize, regroup


@st.composite
def shapes(draw, count):
    """Several shapes with the same number of elements."""
    total = draw(st.sampled_from([1, 12, 16, 24, 30, 36, 60]))
    found = []
    for _ in range(count):
        rest, sizes = total, []
        while rest > 1:
            size = draw(st.sampled_from([d for d in range(1, rest + 1) if rest % d == 0]))
            sizes.append(size)
            rest //= size
        found.append(tuple(sizes))
    return found


def values(index, axes, point):
    return index.substitute({axis: Index(None, at) for axis, at in zip(axes, point, strict=True)}).const


@given(shapes(3))
def test_regroup_twice_names_the_same_element(sizes):
    first, second, third = sizes
    axes = [Axis(f"a{d}", size) for d, size in enumerate(first)]
    index = regroup(regroup([Index.of(a) for a in axes], first, second), second, third)
    for linear, point in enumerate(itertools.product(*map(range, first))):
        expected = tuple(map(int, np.unravel_index(linear, third))) if third else ()
        assert tuple(values(part, axes, point) for part in index) == expected
        names = {axis.name: at for axis, at in zip(axes, point, strict=True)}
        assert tuple(eval(part.render(lambda axis: axis.name), names) for part in index) == expected


@given(shapes(2))
def test_regroup_and_back_is_linear(sizes):
    first, second = sizes
    axes = [Axis(f"a{d}", size) for d, size in enumerate(first)]
    there = regroup([Index.of(a) for a in axes], first, second)
    back = linearize(there, [math.prod(second[d + 1 :]) for d in range(len(second))])
    for linear, point in enumerate(itertools.product(*map(range, first))):
        assert values(back, axes, point) == linear


def test_what_does_not_take_part_stays_simple():
    a, b, c = (Axis(name, size) for name, size in (("a", 4), ("b", 6), ("c", 5)))
    index = regroup([Index.of(a), Index.of(b), Index.of(c)], (4, 6, 5), (4, 30))
    assert [repr(part) for part in index] == ["a", "b * 5 + c"]
    assert repr(regroup([Index.of(a), Index.of(b)], (4, 6), (2, 2, 6))) == "((a // 2), (a % 2), b)"


def test_ranges_simplify_digits():
    a, b = Axis("a", 4), Axis("b", 6)
    flat = Index.of(a) * 6 + Index.of(b)
    assert flat // 6 == Index.of(a)
    assert flat % 6 == Index.of(b)
    assert repr((flat + 1) // 6) == "a + ((b + 1) // 6)"
    assert repr(flat // 12) == "(a // 2)"
    assert repr(flat % 12) == "(a % 2) * 6 + b"
