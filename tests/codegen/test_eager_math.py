"""Functions of arrays by formulas of kernels: eager calls give what compiled ones give, at any length and layout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies

import opweave
from opweave.codegen import eager_math
from opweave.registry.scalar import OWN, OWN_BINARY, OWN_SINGLE, RENAMED, elementary


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_erf_is_within_two_units(dtype: type) -> None:
    x = np.concatenate([np.linspace(-6, 6, 4001), np.geomspace(1e-30, 1, 200)]).astype(dtype)
    exact = np.array([math.erf(value) for value in x.astype(np.float64)])
    found = eager_math.apply("erf", x)
    assert found is not None and found.dtype == dtype
    assert np.all(np.abs(found - exact) <= 2 * np.spacing(np.abs(exact).astype(dtype)))
    ends = eager_math.apply("erf", np.array([np.nan, np.inf, -np.inf, -0.0, 0.0], dtype))
    np.testing.assert_array_equal(ends, np.array([np.nan, 1, -1, -0.0, 0], dtype))
    assert ends is not None and math.copysign(1, ends[3]) == -1


def test_an_element_does_not_depend_on_its_place() -> None:
    x = np.random.default_rng(0).standard_normal(67).astype(np.float32)
    whole = eager_math.apply("erf", x)
    assert whole is not None
    for begin, end in ((0, 1), (3, 20), (50, 67), (5, 5)):
        np.testing.assert_array_equal(eager_math.apply("erf", x[begin:end]), whole[begin:end])
    np.testing.assert_array_equal(eager_math.apply("erf", x[::-3]), whole[::-3])
    one = eager_math.apply("erf", np.asarray(x[4]))
    assert one is not None and one.shape == () and one == whole[4]
    assert eager_math.apply("erf", x.astype(np.float16)) is None


@pytest.mark.parametrize("dtype", [opweave.float32, opweave.float64, opweave.bfloat16])
def test_eager_calls_have_the_bits_of_compiled_ones(dtype: opweave.dtype) -> None:
    x = opweave.from_numpy(np.random.default_rng(0).standard_normal((5, 33))).to(dtype)
    functions = [opweave.erf, opweave.nn.functional.gelu, lambda x: x**3, lambda x: x**-1, lambda x: x**-2]
    compiled = opweave.compile(lambda x: [function(x) for function in functions], fullgraph=True)(x)
    for function, found in zip(functions, compiled, strict=True):
        np.testing.assert_array_equal(found.double().numpy(), function(x).double().numpy())


def test_powers_that_are_products() -> None:
    x = np.array([-1.5, -0.0, 0.0, 2.0, np.inf, -np.inf, np.nan], np.float32)
    t = opweave.from_numpy(x)
    with np.errstate(all="ignore"):
        for exponent, expected in ((3, x * x * x), (-1, 1 / x), (-2, 1 / (x * x))):
            np.testing.assert_array_equal((t**exponent).numpy(), expected)
            np.testing.assert_array_equal((t ** float(exponent)).numpy(), expected)


#: In units of the last place; NumPy's own are 2.4, 2.7, 2.5, 3.3, 2.0, 2.9, 1.9 and 1.4.
_ERRORS = {"exp": 1.4, "exp2": 1.2, "expm1": 1.4, "log": 0.8, "log2": 1.0, "log10": 1.0, "log1p": 1.5, "tanh": 1.5}


@pytest.mark.parametrize("name", OWN)
def test_functions_of_float32_are_more_exact_than_those_of_numpy(name: str) -> None:
    bits = np.random.default_rng(0).integers(0, 1 << 32, 1 << 18, np.uint32).view(np.float32)
    ends = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.0, -1.0, 3.4e38, -3.4e38, 88.8, -104], np.float32
    )
    x = np.concatenate([bits, np.random.default_rng(1).standard_normal(1 << 16).astype(np.float32), ends])
    with np.errstate(all="ignore"):
        found, exact = elementary(name)(x), getattr(np, name)(x.astype(np.float64))
        rounded = exact.astype(np.float32)
        finite = np.isfinite(rounded)
        np.testing.assert_array_equal(found[~finite], rounded[~finite])
        unit = np.spacing(np.abs(rounded[finite])).astype(np.float64)
        assert (np.abs(found[finite] - exact[finite]) / unit).max() < _ERRORS[name] + 0.1
        zero = rounded == 0
        np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(rounded[zero]))


@pytest.mark.parametrize("name", OWN)
def test_functions_go_over_any_layout_and_types(name: str) -> None:
    own, theirs = elementary(name), getattr(np, name)
    x = np.random.default_rng(0).uniform(0.1, 2, (37, 300)).astype(np.float32)
    whole = own(x)
    for part in (np.s_[:, ::3], np.s_[::-2, ::-1], np.s_[5], np.s_[:, 7:8], np.s_[3, 4], np.s_[:0]):
        np.testing.assert_array_equal(own(x[part]), whole[part])
        out = np.zeros((*x[part].shape, 2), np.float32)[..., 1]
        own(x[part], out=out)
        np.testing.assert_array_equal(out, whole[part])
    np.testing.assert_array_equal(own(x.T), whole.T)
    np.testing.assert_array_equal(own(x[0], out=x[0]), whole[0])  # in place
    for dtype in (np.float16, np.complex64, np.int64):
        with np.errstate(all="ignore"):
            given = x[1].astype(dtype)
            if dtype is np.int64:  # which is computed in float64, by native code
                np.testing.assert_array_equal(own(given), own(given.astype(np.float64)))
            else:
                np.testing.assert_array_equal(own(given), theirs(given))
    assert type(own(0.5)) is type(theirs(0.5)) and own(0.5) == pytest.approx(theirs(0.5), rel=5e-16)


def _bits(t: opweave.Tensor) -> np.ndarray[Any, Any]:
    """What tells all numbers apart; NaN is one."""
    x = t.numpy()
    return np.where(np.isnan(x), 0x7FC00000, x.view(np.int32))


@pytest.mark.parametrize("function", [
    opweave.sigmoid, opweave.nn.functional.silu, opweave.nn.functional.softplus, opweave.nn.functional.elu,
    opweave.nn.functional.mish, opweave.log1p, opweave.logit, opweave.exp, lambda x: opweave.logaddexp(x, 0.5 * x),
], ids=["sigmoid", "silu", "softplus", "elu", "mish", "log1p", "logit", "exp", "logaddexp"])  # fmt: skip
def test_bits_do_not_depend_on_how_many_elements_there_are(function: Any) -> None:
    x = np.random.default_rng(0).standard_normal(90_000).astype(np.float32)
    x[:6] = np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-42
    with np.errstate(all="ignore"):
        whole = _bits(function(opweave.from_numpy(x)))
        compiled = opweave.compile(function, fullgraph=True)(opweave.from_numpy(x))
        np.testing.assert_array_equal(_bits(compiled), whole)
        for count in (7, 300, 1500, 40_000):
            part = opweave.from_numpy(x[:count].copy())
            for _ in range(3):  # written down, and replayed
                np.testing.assert_array_equal(_bits(function(part)), whole[:count])
            apart = opweave.from_numpy(x[: 2 * count])[::2]
            np.testing.assert_array_equal(_bits(function(apart)), whole[: 2 * count : 2])


#: In units of the last place of float64.
_ERRORS64 = {"exp": 0.9, "exp2": 0.9, "expm1": 1.0, "log": 0.8, "log2": 0.8, "log10": 0.8, "log1p": 0.9, "tanh": 0.8}


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="nothing more exact to compare with")
@pytest.mark.parametrize("name", OWN)
def test_functions_of_float64_are_exact_to_a_unit(name: str) -> None:
    draw = np.random.default_rng(0)
    ends = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1.0, -1.0, 1.7e308, -1.7e308, 709.9, -746])
    x = np.concatenate([
        draw.integers(0, 1 << 64, 1 << 14, np.uint64).view(np.float64), draw.standard_normal(1 << 16),
        draw.uniform(-700, 700, 1 << 14), draw.uniform(0.5, 2, 1 << 14), 1e-6 * draw.standard_normal(1 << 14), ends,
    ])  # fmt: skip
    with np.errstate(all="ignore"):
        found, exact = elementary(name)(x), getattr(np, name)(x.astype(np.longdouble))
        rounded = exact.astype(np.float64)
        finite = np.isfinite(rounded)
        np.testing.assert_array_equal(found[~finite], rounded[~finite])
        unit = np.spacing(np.abs(rounded[finite]))
        assert (np.abs(found[finite] - exact[finite]) / unit).max() < _ERRORS64[name] + 0.1
        zero = rounded == 0
        np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(rounded[zero]))


@pytest.mark.parametrize("name", OWN_SINGLE)
def test_functions_by_way_of_float64_are_rounded_once(name: str) -> None:
    draw = np.random.default_rng(0)
    ends = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1, -1, 2, -2, 1e38, -1e38, 90, 1e-5], np.float32
    )
    x = np.concatenate([
        draw.integers(0, 1 << 32, 1 << 16, np.uint32).view(np.float32),
        *[(scale * draw.standard_normal(1 << 15)).astype(np.float32) for scale in (0.3, 1, 1000)],
        np.repeat(ends, ends.size),
    ])  # fmt: skip
    others = np.concatenate([draw.permutation(x[: -(ends.size**2)]), np.tile(ends, ends.size)])
    given = (x, others) if name == "atan2" else (x,)
    with np.errstate(all="ignore"):
        exact = getattr(np, RENAMED[name] if name in RENAMED else name)(*[v.astype(np.float64) for v in given])
        found, rounded = elementary(name)(*given), exact.astype(np.float32)
        finite = np.isfinite(rounded)
        np.testing.assert_array_equal(found[~finite], rounded[~finite])
        unit = np.spacing(np.abs(rounded[finite])).astype(np.float64)
        assert (np.abs(found[finite] - exact[finite]) / unit).max() < 0.51
        np.testing.assert_array_equal(np.signbit(found[finite]), np.signbit(rounded[finite]))


def _numbers(dtype: type) -> Any:
    return strategies.floats(width=32 if dtype is np.float32 else 64, allow_nan=True, allow_infinity=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", OWN_BINARY)
@given(data=strategies.data())
def test_what_is_left_of_a_division_is_exact(name: str, dtype: type, data: Any) -> None:
    pairs = data.draw(strategies.lists(strategies.tuples(_numbers(dtype), _numbers(dtype)), min_size=1, max_size=20))
    ends = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.5, -2.0, 3.0, float(np.finfo(dtype).tiny) / 4]
    a, b = np.array([*pairs, *[(x, y) for x in ends for y in ends]], dtype).T
    own = eager_math.ufunc(name)
    assert own is not None
    with np.errstate(all="ignore"):
        rest = np.fmod(a, b)
        expected = {
            "fmod": rest, "floor_divide": np.floor_divide(a, b),
            "remainder": np.where((rest < 0) & (b > 0) | (rest > 0) & (b < 0), rest + b, rest),
        }[name]  # fmt: skip
        found = own(a, b)
    np.testing.assert_array_equal(found, expected)
    told = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[told]), np.signbit(expected[told]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_and_broadcast_operands(dtype: type) -> None:
    own = eager_math.ufunc("fmod")
    assert own is not None
    a = np.random.default_rng(0).standard_normal((7, 300)).astype(dtype)
    b = np.abs(np.random.default_rng(1).standard_normal(300)).astype(dtype) + dtype(0.1)
    for x, y in ((a, b), (a, dtype(0.7)), (dtype(5), b), (a[:, ::-1], b[::-1]), (a[:, :1], b[:1]), (a.T[:7], b[:7])):
        np.testing.assert_array_equal(own(x, y), np.fmod(x, y))
    np.testing.assert_array_equal(own(a[0], b, out=a[0]), np.fmod(np.array(own(a[0], b)), b))
