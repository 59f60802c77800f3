"""Sizes and indices with symbols: what is computed and what is claimed of them holds at whatever values they take."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, given, settings, strategies as st

from opweave.fake.shape_env import ShapeEnv
from opweave.tracer.loops.index import Axis, Digit, Index, linearize, regroup, row_major
from opweave.tracer.loops.size import (
    Poly,
    Size,
    Variable,
    ceil_div,
    divide,
    divmod_terms,
    hint,
    least,
    less,
    number_of,
    product,
    render,
    scalar_of,
    size_of,
    sizes,
    variables_in,
)

Values = Mapping[str, int]


def symbols(hints: list[int]) -> list[Any]:
    """Numbers `s0, s1, ...` of one trace."""
    env = ShapeEnv(duck_shape=False)
    return [env.new_size(h, f"x.shape[{d}]") for d, h in enumerate(hints)]


def value_of(size: Size, values: Values) -> int:
    """A size at values of the symbols."""
    if isinstance(size, int):
        return size
    return sum(c * math.prod(number(v, values) for v in monomial) for monomial, c in size.terms.items())


def number(variable: Variable, values: Values) -> int:
    return eval(variable.text, {"min": min, "max": max}, dict(values))


def possible(found: list[Size], values: Values) -> bool:
    """Whether all numbers that sizes are made of lie in their ranges: a size of 0 never reaches a kernel."""
    known = [(number(v, values), v) for v in variables_in(found)]
    return all(v.low <= n and (v.high is None or n <= v.high) for n, v in known)


@st.composite
def expressions(draw: st.DrawFn, s: list[Any], *, exact: bool = False) -> Any:
    """Arithmetic of a trace on its numbers."""
    leaf = st.one_of(st.sampled_from(s), st.integers(-3, 6))
    operators = ("+", "-", "*") if exact else ("+", "-", "*", "//", "%")
    result = draw(leaf)
    for _ in range(draw(st.integers(0, 4))):
        other = draw(leaf)
        if draw(st.booleans()):
            result, other = other, result
        match draw(st.sampled_from(operators)):
            case "+":
                result = result + other
            case "-":
                result = result - other
            case "*":
                result = result * other
            case "//":
                result = result // (other if type(other) is int and other > 0 else 2)
            case "%":
                result = result % (other if type(other) is int and other > 0 else 3)
    return result


hints = st.lists(st.integers(2, 40), min_size=2, max_size=3)
several_values = st.lists(st.lists(st.integers(2, 60), min_size=3, max_size=3), min_size=1, max_size=4)


def named(values: list[int]) -> Values:
    return {f"s{d}": value for d, value in enumerate(values)}


# ---- polynomials -----------------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(hints, st.data(), several_values)
def test_a_size_is_worth_what_its_number_is(example, data, several):
    s = symbols(example)
    value = data.draw(expressions(s))
    found = size_of(value, data.draw(st.sampled_from([0, 1])))
    assert hint(found) == (value if type(value) is int else value.hint)
    for values in map(named, several):
        wanted = eval(repr(value), {"min": min, "max": max}, dict(values))
        assert value_of(found, values) == wanted
        assert eval(render(found), {"min": min, "max": max}, dict(values)) == wanted
        again = number_of(found)
        assert eval(repr(again), {"min": min, "max": max}, dict(values)) == wanted


@settings(max_examples=200)
@given(hints, st.data(), several_values)
def test_arithmetic_agrees_with_that_of_ints(example, data, several):
    s = symbols(example)
    a, b, c = (size_of(data.draw(expressions(s)), 0) for _ in range(3))
    for values in map(named, several):
        x, y, z = (value_of(v, values) for v in (a, b, c))
        assert value_of(a + b, values) == x + y
        assert value_of(a - b, values) == x - y
        assert value_of(a * b, values) == x * y
        assert value_of(-a, values) == -x
        assert value_of(product([a, b, c]), values) == x * y * z
        assert value_of(a - b + c * a, values) == x - y + z * x
        assert a != b or x == y
    assert a - a == 0 and type(a - a) is int
    assert (a + b) * c == c * b + a * c and hash(a + b) == hash(b + a)


@settings(max_examples=300)
@given(hints, st.data(), several_values)
def test_what_is_known_of_two_sizes_holds(example, data, several):
    s = symbols(example)
    a, b = (size_of(data.draw(expressions(s)), 0) for _ in range(2))
    low, is_less, quotient = least(a), less(a, b), divide(a, b)
    whole, rest = divmod_terms(a, b) if b != 0 else (0, a)
    for values in map(named, several):
        x, y = value_of(a, values), value_of(b, values)
        assert value_of(whole, values) * y + value_of(rest, values) == x
        if quotient is not None:
            assert value_of(quotient, values) * y == x
        if possible([a, b], values):
            assert low is None or x >= low
            assert not is_less or x < y


@settings(max_examples=200)
@given(hints, st.data())
def test_a_product_is_divided_by_its_factors(example, data):
    s = symbols(example)
    a, b = (size_of(data.draw(expressions(s, exact=True)), 0) for _ in range(2))
    assume(a != 0 and b != 0)
    assert divide(a * b, b) == a


@settings(max_examples=100)
@given(hints, st.data(), st.integers(1, 64), several_values)
def test_blocks_cover_a_size(example, data, block, several):
    size = size_of(data.draw(expressions(symbols(example))), 0)
    for values in map(named, several):
        assert value_of(ceil_div(size, block), values) == -(-value_of(size, values) // block)


def test_sizes_that_are_told():
    a, b = symbols([5, 7])
    assert [repr(size) for size in sizes([a * b + 3, a * 2, a // 2, 4])] == ["s0*s1 + 3", "s0*2", "(s0 // 2)", "4"]
    assert size_of(a * 2 - a) == size_of(a) and size_of(a - a) == 0
    # Two ways to write it, one variable.
    assert size_of((a + 1) // 2) == size_of((1 + a) // 2)
    assert less(size_of(a), size_of(a * b)) and not less(size_of(a), size_of(b))
    assert less(size_of(a), size_of(a + 1)) and not less(size_of(a + 1), size_of(a))
    assert least(size_of(a)) == 2 and least(size_of(a * b)) == 4
    # As a size it is 1 or more, since nothing runs where it is not; as a number it may be 0.
    assert least(size_of(a - 2)) == 1 and least(size_of(a - 2, 0)) == 0
    assert divide(size_of(a * b * 6), size_of(b * 2)) == size_of(a * 3)
    assert divide(size_of(a * b + a), size_of(b + 1)) == size_of(a)
    assert divide(size_of(a), size_of(b)) is None and divide(3, size_of(a)) is None and divide(size_of(a), 0) is None
    assert divide(0, size_of(a)) == 0


def test_sizes_that_depend_on_data():
    env = ShapeEnv()
    u = env.new_unbacked(0, 10)
    assert least(size_of(u)) == 1 and less(size_of(u), 11) and not less(size_of(u), 10)
    # As a number that a kernel computes with it may be 0.
    assert least(scalar_of(u)) == 0
    assert least(30 - size_of(u) * 3) == 0
    assert hint(size_of(env.new_unbacked())) == 4096


def test_a_size_with_a_range():
    env = ShapeEnv()
    s = env.new_size(8, "x.shape[0]", low=4, high=16)
    assert least(size_of(s)) == 4 and less(size_of(s), 17) and not less(size_of(s), 16)
    assert less(3 - size_of(s), 0) and less(size_of(s) * size_of(s), 257)


# ---- indices ---------------------------------------------------------------------------------------------------------


def at(index: Index, point: Mapping[Axis, int], values: Values) -> int:
    """An index at values of its axes and of the symbols, digit by digit."""
    total = value_of(index.const, values)
    for atom, coefficient in index.terms.items():
        if isinstance(atom, Digit):
            part = at(atom.base, point, values) // value_of(atom.divisor, values)
            part = part if atom.modulus is None else part % value_of(atom.modulus, values)
        else:
            part = point[atom]
        total += value_of(coefficient, values) * part
    return total


def dimensions(s: list[Any]) -> st.SearchStrategy[Size]:
    a, b = s[0], s[1]
    return st.sampled_from([size_of(size) for size in (1, 2, 3, 6, a, b, a * 2, a * b, a + 1, b * 3, a // 2, a - 1)])


def points(axes: list[Axis], values: Values, rng: random.Random) -> list[dict[Axis, int]]:
    """All of a small space, the corners and some of a large one."""
    ends = [value_of(axis.size, values) for axis in axes]
    if min(ends, default=1) < 1:
        return []
    if math.prod(ends) <= 40:
        chosen = list(itertools.product(*map(range, ends)))
    else:
        chosen = list(itertools.product(*[(0, end - 1) for end in ends]))
        chosen += [tuple(rng.randrange(end) for end in ends) for _ in range(20)]
    return [dict(zip(axes, point, strict=True)) for point in chosen]


def all_sizes(axes: list[Axis], indices: list[Index]) -> list[Size]:
    return [*[axis.size for axis in axes], *[size for index in indices for size in index.sizes()]]


@settings(max_examples=100)
@given(hints, st.data(), several_values, st.randoms(use_true_random=False))
def test_index_arithmetic_agrees_with_that_of_ints(example, data, several, rng):
    s = symbols(example)
    dims = dimensions(s)
    axes = [Axis(f"a{d}", data.draw(dims)) for d in range(data.draw(st.integers(1, 3)))]
    steps: list[tuple[str, Any]] = []
    indices = [Index.of(axis) for axis in axes]
    start = list(indices)
    for _ in range(data.draw(st.integers(1, 6))):
        name = data.draw(st.sampled_from(["+", "+", "*", "//", "%", "const", "flip"]))
        other = data.draw(st.sampled_from(range(len(indices)))) if name in "+" else data.draw(dims)
        one = data.draw(st.sampled_from(range(len(indices))))
        if name == "flip":
            one = one % len(axes)
        index = indices[one]
        match name:
            case "+":
                made = index + indices[other]
            case "*":
                made = index * other
            case "//":
                made = index // other
            case "%":
                made = index % other
            case "const":
                made = index + other
            case _:
                made = start[one] * -1 + (axes[one].size - 1)
        indices.append(made)
        steps.append((name, (one, other)))
    last = indices[-1]
    limit = data.draw(dims)
    low, high, below = *last.bounds(), last.below(limit)
    for values in map(named, several):
        if not possible([*all_sizes(axes, indices), limit], values):
            continue
        for point in points(axes, values, rng):
            known = [point[axis] for axis in axes]
            for name, (one, other) in steps:
                x = known[one]
                if name == "+":
                    known.append(x + known[other])
                elif name == "flip":
                    known.append(value_of(axes[one].size, values) - 1 - x)
                else:
                    n = value_of(other, values)
                    known.append({"*": x * n, "//": x // n, "%": x % n, "const": x + n}[name])
            assert at(last, point, values) == known[-1]
            names = {axis.name: value for axis, value in point.items()}
            text = last.render(lambda axis: axis.name, lambda v: f"({v.text})")
            assert eval(text, {"min": min, "max": max}, {**names, **values}) == known[-1]
            assert value_of(low, values) <= known[-1] <= value_of(high, values)
            assert not below or 0 <= known[-1] < value_of(limit, values)


@settings(max_examples=80)
@given(hints, st.data(), several_values, st.randoms(use_true_random=False))
def test_regrouping_names_the_same_element(example, data, several, rng):
    s = symbols(example)
    factors = data.draw(st.lists(st.sampled_from([2, 3, s[0], s[1], s[0] + 1]), min_size=1, max_size=4))

    def grouped() -> list[Size]:
        # The factors, in another order, with neighbours multiplied.
        found: list[Any] = [1]
        for factor in data.draw(st.permutations(factors)):
            if data.draw(st.booleans()):
                found.append(1)
            found[-1] = found[-1] * factor
        return [size_of(size) for size in found]

    first, second, third = grouped(), grouped(), grouped()
    axes = [Axis(f"a{d}", size) for d, size in enumerate(first)]
    there = regroup(regroup([Index.of(axis) for axis in axes], first, second), second, third)
    back = linearize(there, row_major(third))
    for values in map(named, several):
        if not possible(all_sizes(axes, [*there, back]), values):
            continue
        for point in points(axes, values, rng):
            linear = 0
            for axis in axes:
                linear = linear * value_of(axis.size, values) + point[axis]
            assert at(back, point, values) == linear
            rest = linear
            for part, size in reversed(list(zip(there, third, strict=True))):
                n = value_of(size, values)
                assert at(part, point, values) == rest % n
                rest //= n


@settings(max_examples=60)
@given(hints, st.data(), several_values, st.randoms(use_true_random=False))
def test_substitution_is_evaluation_in_two_steps(example, data, several, rng):
    s = symbols(example)
    dims = dimensions(s)
    inner, outer, tile = (data.draw(dims) for _ in range(3))
    a, b = Axis("a", inner), Axis("b", outer)
    whole = Axis("c", inner * outer)
    index = (Index.of(whole) // tile) * 5 + Index.of(whole) % tile
    found = index.substitute({whole: Index.of(b) * inner + Index.of(a)})
    for values in map(named, several):
        if not possible(all_sizes([a, b, whole], [index, found]) + [tile], values):
            continue
        for point in points([a, b], values, rng):
            at_whole = point[b] * value_of(inner, values) + point[a]
            assert at(found, point, values) == at(index, {whole: at_whole}, values)


def test_digits_that_go_whatever_the_sizes_are():
    m, n = map(size_of, symbols([5, 7]))
    a, b = Axis("a", m), Axis("b", n)
    flat = Index.of(a) * n + Index.of(b)
    assert flat // n == Index.of(a) and flat % n == Index.of(b)
    assert flat.below(m * n) and not flat.below(m * n - 1) and not flat.below(n)
    assert flat.bounds() == (0, m * n - 1)
    assert repr(flat // m) == "((a * s1 + b) // s0)"
    assert repr((flat + 1) // n) == "a + ((b + 1) // s1)"
    assert regroup([Index.of(a), Index.of(b)], [m, n], [m * n]) == (flat,)
    assert regroup([flat], [m * n], [m, n]) == (Index.of(a), Index.of(b))
    assert regroup([Index.of(a) * 2, Index.of(b)], [m * 2, n], [m, 2, n]) == (Index.of(a), Index(), Index.of(b))


def test_a_divisor_is_one_operand_in_the_text():
    m = symbols([8])[0]
    axis = Axis("a", size_of(m * 50))
    text = repr(Index.of(axis) // size_of(m // 2 * 3))
    assert text == "(a // ((s0 // 2) * 3))"
    assert eval(text, {"a": 100, "s0": 8}) == 100 // 12


def test_sizes_that_may_differ_are_not_regrouped():
    m, n = map(size_of, symbols([6, 6]))
    with pytest.raises(ValueError, match="not known to have as many elements"):
        regroup([Index.of(Axis("a", m))], [m], [n])


def test_a_polynomial_is_no_int():
    m = size_of(symbols([5])[0])
    assert isinstance(m, Poly) and m != 5 and (m == 5) is False
    assert isinstance(m * 0, int) and isinstance(m - m + 2, int)
