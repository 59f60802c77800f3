"""Symbolic numbers: their arithmetic agrees with Python's, and what is decided on them becomes a guard."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import opweave
from opweave.fake.mode import FakeTensorMode
from opweave.fake.shape_env import ShapeEnv
from opweave.fake.symbolic import (
    SymBool,
    SymFloat,
    SymInt,
    check,
    statically_known_true,
    sym_max,
    sym_min,
    sym_not,
)
from opweave.registry.errors import ArgumentError, ConstraintError, DataDependentError, ShapeError

HERE = "test_symbolic.py"


def guards(env: ShapeEnv) -> list[str]:
    """What the trace came to depend on, as text."""
    return [env.guard_text(guard) for guard in env.guards()]


# ---- arithmetic ----------------------------------------------------------------------------------------------------

OPERATIONS = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, sym_max, sym_min)


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Steps (operation, operand, operand); operands are earlier values or small constants."""
    return draw(
        st.lists(st.tuples(st.integers(0, 6), st.integers(-4, 30), st.integers(-4, 30)), min_size=1, max_size=8)
    )


def run(steps: list[tuple[int, int, int]], sizes: list[Any]) -> list[Any]:
    values = list(sizes)
    for name, i, j in steps:
        a = values[i % len(values)]
        operation = OPERATIONS[name]
        if operation in (operator.floordiv, operator.mod):
            b = sizes[j % 3] if j > 3 else abs(j) + 1
        else:
            b = values[j % len(values)] if j > 3 else j
        values.append(operation(a, b))
    return values


@settings(max_examples=120)
@given(
    programs(),
    st.lists(st.integers(2, 40), min_size=3, max_size=3),
    st.lists(st.integers(2, 40), min_size=3, max_size=3),
)
def test_expressions_agree_with_ints_at_the_example_and_elsewhere(
    steps: list[tuple[int, int, int]], example: list[int], other: list[int]
) -> None:
    env = ShapeEnv(duck_shape=False)
    symbols = [env.new_size(size, f"x.shape[{d}]") for d, size in enumerate(example)]
    made, here, there = run(steps, symbols), run(steps, example), run(steps, other)
    assert [value.hint if isinstance(value, SymInt) else value for value in made] == here
    if env.guards():
        return  # good for the sizes that fit them
    values = dict(zip([s.expr for s in symbols], other, strict=True))
    for value, expected in zip(made, there, strict=True):
        found = env._x.evaluated(value.expr, values) if isinstance(value, SymInt) else value
        assert found == expected, (value, values)


def test_what_simplifies() -> None:
    env = ShapeEnv()
    a, b = env.new_size(6, "x.shape[0]"), env.new_size(8, "x.shape[1]")
    told = {
        "s0": a, "s0 + s1": a + b, "2*s0 + s0*s1": a * b + 2 * a, "s0 ": (a * b) // b, "2*s0 + 1": (a * 4 + 2) // 2,
        "(s0 + 7) // 8": (a + 7) // 8, "-s0 + 3": 3 - a, "s0 / 2": a / 2, "s0**2": a**2, "s0 % 4": a % 4,
        "s0 // 6": a // 2 // 3, "max(s0, s1)": sym_max(a, b),
    }  # fmt: skip
    assert {str(value): text.strip() for text, value in told.items()} == {t.strip(): t.strip() for t in told}
    assert a - a == 0 and type(a - a) is int
    assert (a * b * 4) % b == 0 and type((a * b * 4) % b) is int
    assert env.new_size(6, "y.shape[0]") is a  # equal sizes share a symbol
    assert not env.guards()


def test_floats_and_rounding() -> None:
    env = ShapeEnv()
    n = env.new_size(7, "x.shape[0]")
    assert isinstance(n / 2, SymFloat) and (n / 2).hint == 3.5
    assert str(math.floor(n / 2)) == "s0 // 2" and math.ceil(n / 2).hint == 4
    assert math.floor(n) is n and round(n) is n
    assert (n * 0.5).hint == 3.5 and str(n & 3) == "s0 % 4" and str(n << 2) == "4*s0" and str(n >> 1) == "s0 // 2"
    assert not env.guards()
    assert float(n) == 7.0 and guards(env) == ["s0 == 7"]


FLOATING = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, sym_max,
    sym_min,
)  # fmt: skip
CONSTANTS = (0.3, 0.1, 1 / 3, 2.0, 0.5, 1.5, 3, 7, -2, -0.7, 1e-3, 100.0, 2**30 + 1)
RELATIONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
steps_of_floats = st.lists(
    st.tuples(st.sampled_from(FLOATING), st.integers(0, 9), st.integers(0, 9), st.sampled_from(CONSTANTS)),
    min_size=1, max_size=6,
)  # fmt: skip


def run_floats(steps: list[Any], sizes: tuple[Any, Any]) -> list[Any]:
    """The values; a step that Python refuses, or that does not stay a modest number, is left out."""
    values = [*sizes]
    for operation, i, j, constant in steps:
        a, b = values[i % len(values)], values[j % len(values)] if j < 5 else constant
        a, b = (b, a) if j == 9 else (a, b)
        if operation is operator.pow:
            b = 2 if j % 2 else 0.5
        numbers = [v.hint if isinstance(v, (SymInt, SymFloat)) else v for v in (a, b)]
        if operation in (operator.truediv, operator.floordiv, operator.mod) and numbers[1] == 0:
            continue
        if operation is operator.pow and not 0 < numbers[0] < 1e6:
            continue
        values.append(operation(a, b))
    return values


@settings(max_examples=300)
@given(steps_of_floats, st.tuples(st.integers(2, 60), st.integers(2, 60)), st.data())
def test_floats_are_rounded_where_python_rounds_them(steps: list[Any], sizes: tuple[int, int], data: Any) -> None:
    env = ShapeEnv(duck_shape=False)
    symbolic = run_floats(steps, (env.new_size(sizes[0], "x.shape[0]"), env.new_size(sizes[1], "x.shape[1]")))
    plain = run_floats(steps, sizes)
    assert len(symbolic) == len(plain)
    names = {"s0": sizes[0], "s1": sizes[1], "min": min, "max": max}
    for value, number in zip(symbolic, plain, strict=True):
        if isinstance(value, (SymInt, SymFloat)):
            assert value.hint == number and eval(str(value), names) == number, str(value)
            # An extreme of an int and a float is a float, whichever it is.
            mixed = any(step[0] in (sym_max, sym_min) for step in steps)
            assert mixed or isinstance(value, SymFloat) == isinstance(number, float)
        else:
            assert value == number
    i, j = (data.draw(st.integers(0, len(plain) - 1)) for _ in range(2))
    relation = data.draw(st.sampled_from(RELATIONS))
    other, number = data.draw(st.sampled_from([(symbolic[j], plain[j]), (plain[j], plain[j])]))
    found = bool(relation(symbolic[i], other))
    assert found == relation(plain[i], number)
    # Wherever the guards hold, the answer is the same.
    tests = [compile(text, "guard", "eval") for text in guards(env)]
    for n in range(2, 61, 3):
        at = {"s0": n, "s1": sizes[1], "min": min, "max": max}
        try:
            if all(eval(test, at) for test in tests):
                left, right = (eval(str(v), at) for v in (symbolic[i], other))
                assert relation(left, right) == found, (n, guards(env))
        except ZeroDivisionError:  # Python's own answer at this size
            pass
        except TypeError as error:  # and so is this: a power of a negative number has no order
            if "complex" not in str(error):
                raise


def test_a_quotient_inside_of_another_may_be_negative() -> None:
    env = ShapeEnv(duck_shape=False)
    for d in range(8):  # in which order the quotients were met depended on their hashes
        n = env.new_size(4, f"x.shape[{d}]")
        relations = (n // 2 - 9) // 5 + n // 2 >= 1, (n // 5 - 7) // 4 + n // 5 + 1 >= 0
        assert not any(map(statically_known_true, relations))
        assert [bool(relation) for relation in relations] == [False, False]


def test_large_and_small_floats() -> None:
    env = ShapeEnv()
    n = env.new_size(4, "x.shape[0]")
    assert n * 1e307 > 1e300 and (n * 1e300) * -1e10 < -1e300 and n / 1e-300 > 1e300 and n * 1e300 < 1e302
    assert n + 1e16 == 1e16 + 5 and n * 5e-324 > 0 and n * 1e-200 * 1e-200 == 0


def test_what_floats_hold_is_not_rounded() -> None:
    env = ShapeEnv()
    n = env.new_size(7, "x.shape[0]")
    assert str(math.floor(n * 1.5)) == "(3*s0) // 2" and str(math.ceil(n / 0.25)) == "4*s0"
    assert str(n * 0.3 / 3) == "(s0 * 0.3) / 3" and (n * 0.3) / 3 != 0.7 and 0.1 + 0.2 * n == 0.1 + 0.2 * 7
    assert math.floor(n / 3).hint == 2 and str(math.floor(n / 3)) == "s0 // 3"
    assert isinstance(n * 2.0 + 1, SymFloat) and isinstance(n * 2 + 1, SymInt)
    assert math.isnan(n * math.nan) and (n / 3 != math.nan) is True and n * 0.3 < math.inf


def test_as_keys_and_copies() -> None:
    env = ShapeEnv()
    n = env.new_size(5, "x.shape[0]")
    assert {n: 1}[n] == 1 and (n, 2) == (n, 2) and copy.deepcopy(n) is n
    assert f"{n + 1:>8}" == "  s0 + 1"
    with pytest.raises(ArgumentError, match="cannot be pickled"):
        pickle.dumps(n)
    with pytest.raises(ArgumentError, match="two traces"):
        n + ShapeEnv().new_size(5, "y.shape[0]") * 2
    with pytest.raises(ZeroDivisionError):
        n // 0


# ---- decisions -----------------------------------------------------------------------------------------------------


def test_a_decision_takes_the_answer_of_the_example() -> None:
    env = ShapeEnv()
    a, b = env.new_size(6, "x.shape[0]"), env.new_size(8, "x.shape[1]")
    assert isinstance(a < 10, SymBool)
    assert not env.guards()
    assert bool(a < 10)
    assert not a > b
    assert b % 8 == 0
    assert guards(env) == ["s0 <= 9", "s0 <= s1", "s1 % 8 == 0"]
    assert all(guard.site.file.endswith(HERE) for guard in env.guards())
    # What follows from these is known, and no guard.
    assert (a < 20) is True and (a <= b) is True and (b % 8 != 0) is False
    assert len(env.guards()) == 3


def test_sizes_0_and_1_are_fixed_and_others_are_known_to_be_larger() -> None:
    env = ShapeEnv()
    assert env.new_size(0, "x.shape[0]") == 0 and type(env.new_size(1, "x.shape[1]")) is int
    n = env.new_size(4, "x.shape[2]")
    assert (n == 1) is False and (n > 1) is True and (n != 0) is True and bool(n) and n + n > 3
    assert not env.guards()
    free = ShapeEnv(specialize_zero_one=False)
    m = free.new_size(1, "x.shape[0]")
    assert isinstance(m, SymInt) and m == 1 and guards(free) == ["s0 == 1"]


def test_equations_unify() -> None:
    env = ShapeEnv(duck_shape=False)
    a, b, c = (env.new_size(6, f"x.shape[{d}]") for d in range(3))
    assert a == b
    assert str(b + c) == "s0 + s2" and (a == b) is True
    assert c + 2 == a + 2
    assert str(a + b + c) == "3*s0"
    assert a == 6
    assert str(a * b) == "36" and int(c) == 6
    assert guards(env) == ["s1 == 6", "s2 == 6", "s0 == 6"]


def test_logic() -> None:
    env = ShapeEnv()
    n = env.new_size(6, "x.shape[0]")
    both, either = (n > 3) & (n < 9), (n > 30) | (n < 9)
    assert isinstance(both, SymBool) and isinstance(either, SymBool) and isinstance(~both, SymBool)
    assert sym_not(n < 100).hint is False and not statically_known_true(n > 3) and statically_known_true(n > 1)
    assert not env.guards()
    assert both and guards(env) == ["s0 >= 4", "s0 <= 8"]


def test_a_range_that_was_asked_for_is_kept() -> None:
    env = ShapeEnv()
    n = env.new_size(16, "x.shape[0]", low=2, high=64)
    assert (n <= 64) is True and (n > 64) is False
    with pytest.raises(ConstraintError, match=r"any size in \[2, 64\], but the code needs s0 <= 31"):
        bool(n < 32)
    with pytest.raises(ConstraintError, match="needs s0 == 16"):
        int(n)
    with pytest.raises(ConstraintError, match="outside of the range"):
        env.new_size(100, "x.shape[0]", high=64)
    assert guards(env) == ["s0 >= 2", "s0 <= 64"]


# ---- what depends on data ------------------------------------------------------------------------------------------


def test_a_decision_on_data_is_refused_with_a_hint() -> None:
    env = ShapeEnv()
    n = env.new_unbacked(0, 100)
    assert (n >= 0) is True and (n > 100) is False and n.hint is None
    with pytest.raises(DataDependentError, match=r"a decision on .* depends on data") as refused:
        bool(n > 3)
    assert "opweave.check(" in str(refused.value) and HERE in str(refused.value)
    with pytest.raises(DataDependentError, match="needed as a plain number"):
        range(n)


def test_what_was_demanded_may_be_relied_on() -> None:
    env = ShapeEnv()
    n, m = env.new_unbacked(), env.new_unbacked()
    seen = []
    env.on_assertion = seen.append
    check(n >= 4, "needs four")
    check(n == m)
    assert (n > 3) is True and (n + 1 > 4) is True and str(n + m) == "2*u0"
    assert [(a.message, a.site.file.endswith(HERE)) for a in seen] == [
        ("needs four", True), ("check: u0 == u1 does not hold", True)
    ]  # fmt: skip
    assert not env.guards() and len(env.assertions) == 2
    with pytest.raises(ShapeError, match="too small"):
        check(n < 2, lambda: "too small")


def test_check_on_plain_values() -> None:
    check(True)
    check(3 > 2, "no")
    with pytest.raises(ShapeError, match="no such"):
        check(False, "no such")
    for wrong in (1, None, opweave.ones(2) > 0):
        with pytest.raises(ArgumentError, match="must be a bool"):
            check(wrong)
    env = ShapeEnv()
    n = env.new_size(6, "x.shape[0]")
    check(n < 10)
    assert guards(env) == ["s0 <= 9"]
    with pytest.raises(ShapeError):
        check(n > 10)


# ---- tensors -------------------------------------------------------------------------------------------------------


def test_layouts_of_inputs() -> None:
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = opweave.zeros(4, 6, 1)
    fake = mode.from_tensor(x, source="x")
    assert str(list(fake.shape)) == "[s0, s1, 1]" and str(fake.stride()) == "(s1, 1, 1)"
    assert str(list(mode.from_tensor(x.transpose(0, 1), source="y").stride())) == "[1, s1, 1]"
    part = mode.from_tensor(opweave.zeros(4, 16)[:, 2:8], source="z")
    assert str(list(part.shape)) == "[s0, s1]" and part.stride(0).hint == 16 and part.storage_offset() == 2
    assert mode.from_tensor(opweave.zeros(4, 6), static_shapes=True).shape == (4, 6)
    only = mode.from_tensor(opweave.zeros(4, 6), dynamic=lambda d: {} if d == 0 else None)
    assert str(list(only.shape)) == "[s0, 6]" and str(list(only.stride())) == "[6, 1]"


def test_results_whose_size_depends_on_data() -> None:
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = mode.from_tensor(opweave.zeros(4, 6), source="x")
    with mode:
        places = x.nonzero()
        assert str(list(places.shape)) == "[u0, 2]" and str(list(x[x > 0].shape)) == "[u1]"
        assert str(list(opweave.cat([places, places]).shape)) == "[2*u0, 2]"
        assert str(list((places.float() @ places.t().float()).shape)) == "[u0, u0]"
        assert str(list(places.reshape(-1).shape)) == "[2*u0]"
        with pytest.raises(DataDependentError, match=r"u0 == 0|0 == u0"):
            _ = "none" if places.shape[0] == 0 else "some"
        n = x.sum().long().item()
        assert isinstance(n, SymInt) and n.hint is None
        total = x.sum().item()
        assert isinstance(total, SymFloat) and total.hint is None and isinstance(total * 2 + n, SymFloat)
        with pytest.raises(DataDependentError, match="a decision on v0"):
            _ = "high" if total > 3 else "low"
        assert isinstance((x.sum() > 0).item(), SymBool)


# ---- rounded divisions, remainders, extremes -----------------------------------------------------------------------

ROUNDING = (operator.add, operator.sub, operator.floordiv, operator.mod, sym_max, sym_min, operator.floordiv)
RELATED = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
PLAIN = {sym_max: max, sym_min: min}


def computed(steps: list[tuple[int, int, int]], values: list[Any], plain: bool) -> Any:
    values = list(values)
    for which, left, right in steps:
        operation = ROUNDING[which]
        a = values[left % len(values)]
        b = right % 5 + 1 if operation in (operator.floordiv, operator.mod) else values[right % len(values)]
        values.append((PLAIN.get(operation, operation) if plain else operation)(a, b))  # type: ignore[arg-type]
    return values[-1]


STEPS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=4)


@settings(max_examples=200)
@given(STEPS, STEPS, st.integers(0, 5), st.integers(1, 4), st.integers(2, 4), st.booleans())
def test_what_is_decided_holds_for_all_sizes(
    one: list[tuple[int, int, int]], other: list[tuple[int, int, int]], which: int, k: int, low: int, fixed: bool
) -> None:
    env = ShapeEnv()
    s, t = env.new_size(4 * k, "x", low=low, high=17), env.new_size(5, "y", low=2, high=9)
    assert s % k == 0 and s + t > 0
    if fixed:
        assert (s + t) // 2 <= 15
    related = RELATED[which](computed(one, [s, t, 1, 3], False), computed(other, [t, s, 2], False))
    if isinstance(related, bool):
        symbolic, known = None, related
    else:
        symbolic, known = related.expr, env.known(related.expr)
    expected = set()
    for a in range(low, 18):
        for b in range(2, 10):
            if a % k or (fixed and (a + b) // 2 > 15):
                continue
            true = RELATED[which](computed(one, [a, b, 1, 3], True), computed(other, [b, a, 2], True))
            expected.add(true)
            if symbolic is not None:
                assert bool(env._x.evaluated(symbolic, {s.expr: a, t.expr: b})) is true
    assert known is None or expected == {known}


def test_guards_on_divisions_say_one_thing_once() -> None:
    env = ShapeEnv()
    s, t = env.new_size(8, "x"), env.new_size(6, "y")
    assert s * t % 2 == 0 and s * t // 2 * 2 == s * t and (s * t + 1) // 2 == s * t // 2 and s * t - s * t // 2 * 2 <= 0
    assert guards(env) == ["(s0*s1) % 2 == 0"]
    env = ShapeEnv()
    s = env.new_size(8, "x")
    assert (6 * s) % 24 == 0 and s // 4 * 4 == s and s // 2 * 2 == s and s // 4 >= 2 and s // 2 != 1
    assert guards(env) == ["s0 >= 8", "s0 % 4 == 0"]
    assert s // 3 < s and -(-s // 2) <= s and s // -2 < 0
    assert guards(env) == ["s0 >= 8", "s0 % 4 == 0"]


def test_the_extremes_of_numbers_that_depend_on_data() -> None:
    env = ShapeEnv()
    s, u = env.new_size(8, "x"), env.new_unbacked()
    assert statically_known_true(sym_min(u, s) <= s) and statically_known_true(sym_max(u - 1, 0) <= u)
    assert statically_known_true(sym_max(u, s) >= s) and statically_known_true(sym_min(u, s) >= 0)
    assert statically_known_true(u - sym_max(u - 1, 0) <= 1) and not statically_known_true(sym_min(u, s) >= 1)
    assert guards(env) == []


def test_an_equation_that_is_demanded_is_verified() -> None:
    env = ShapeEnv()
    told = []
    env.on_assertion = lambda assertion: told.append(env.text(assertion.expr))
    s, u = env.new_size(8, "x"), env.new_unbacked()
    check(u + 2 == s)
    assert told == ["s0 == u0 + 2"] and statically_known_true(u == s - 2)


# ---- what rules demand ---------------------------------------------------------------------------------------------

DEMANDS = {
    "unfold": (lambda y: y.unfold(-1, 3, 1), lambda n: n >= 3), "view": (lambda y: y.view(2, -1), lambda n: n % 2 == 0),
    "fixed view": (lambda y: y.view(2, 3), lambda n: n == 6), "narrow": (lambda y: y.narrow(0, 1, 2), lambda n: n >= 3),
    "sum of parts": (lambda y: y.split([2, 3]), lambda n: n == 5),
    "product": (lambda y: y @ opweave.ones(4), lambda n: n == 4),
    "amax": (lambda y: y.amax(), lambda n: n >= 1), "select": (lambda y: y[2], lambda n: n >= 3),
    "empty product": (lambda y: y @ opweave.ones(0), lambda n: n == 0),
    "nothing": (lambda y: y * 2 + 1, lambda n: True),
    "copies": (lambda y: opweave.cat([y, y]).sum(), lambda n: True),
    "windows": (lambda y: y.unfold(0, 2, 2)[1], lambda n: n >= 4),
    "conv": (lambda y: opweave.nn.functional.conv1d(y[None, None], opweave.ones(1, 1, 3)), lambda n: n >= 3),
}  # fmt: skip


@pytest.mark.parametrize("name", DEMANDS)
def test_what_an_op_demands_of_a_size_on_data(name: str) -> None:
    f, holds = DEMANDS[name]
    mode = FakeTensorMode()
    with mode:
        f(mode.from_tensor(opweave.ones(9)).nonzero().squeeze(1).float())
    env = mode.shape_env
    assert env is not None
    (u0,) = env.symbols
    for n in range(9):
        found = all(bool(a.expr.xreplace({u0: env._x.number(n)})) for a in env.assertions)
        assert found == holds(n), (n, [a.message for a in env.assertions])


def test_floats_on_data_may_be_no_numbers() -> None:
    env = ShapeEnv()
    v = env.new_unbacked_float()
    smaller = v < 1
    assert isinstance(smaller, SymBool) and env.known((~smaller).expr) is None
    env.check(smaller)
    assert (v < 1) is True and isinstance(v >= 1, SymBool)  # NaN is neither
    assert not statically_known_true(v - v == 0) and not statically_known_true(v * 0 == 0)


def test_a_trial_leaves_no_mark() -> None:
    env = ShapeEnv()
    s = env.new_size(4, "x.shape[0]")
    u = env.new_unbacked(0)
    with env.branch():
        env.assume_in_branch((u == s).expr)
        assert repr(u) == "s0" and env.new_unbacked().expr.name == "u1"
    assert repr(u) == "u0" and not env.facts and not env.replacements and env.new_unbacked().expr.name == "u1"
