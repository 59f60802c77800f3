"""Every function of the scalar vocabulary, printed as Triton and run natively, against the handler that eager uses."""

from __future__ import annotations

import numpy as np
import pytest
from compiling import evaluate

from opweave.codegen.loops.recorder import Recorder
from opweave.codegen.loops.values import Require, Values, topological
from opweave.registry.dtypes import DTYPES
from opweave.registry.errors import DivisionByZeroError
from opweave.registry.scalar import BINARY, UNARY_ANY, UNARY_FLOAT, ArrayScalars

EAGER = ArrayScalars(np)
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    3.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-30,
    20.0,
    -20.0,
    80.0,
    0.999,
]
INTEGERS = ("int8", "uint8", "int16", "int32", "int64")


def floats(dtype):
    rng = np.random.default_rng(0)
    x = np.concatenate([SPECIAL, rng.normal(size=300) * 3, rng.random(200), rng.normal(size=100) * 30]).astype(dtype)
    return x, np.concatenate([rng.permutation(x[: len(SPECIAL)]), rng.permutation(x[len(SPECIAL) :])])


def integers(dtype):
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    low, high = max(info.min, -(1 << 40)), min(info.max, 1 << 40)
    x = np.concatenate([[info.min, info.max, info.min, 0, 1], rng.integers(low, high, 200)]).astype(dtype)
    y = np.concatenate([[-1 if info.min else 2, 3, 1, 5, 1], rng.integers(-7 if info.min else 1, 9, 200)]).astype(dtype)
    y[y == 0] = 3
    return x, y


def assert_close(found, wanted, ulps):
    assert found.dtype == wanted.dtype
    if wanted.dtype.kind != "f":
        np.testing.assert_array_equal(found, wanted)
        return
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(wanted))
    found, wanted = np.where(same, 1, found), np.where(same, 1, wanted)
    error = np.abs(found - wanted) / np.spacing(np.abs(wanted))
    assert error.max() <= ulps, f"{error.max()} ulp"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*UNARY_FLOAT, *UNARY_ANY])
def test_unary(name, dtype):
    x, _ = floats(dtype)
    x = x[np.abs(x) < 80] if name in ("exp", "exp2", "sinh", "cosh", "expm1", "sigmoid") else x
    with np.errstate(all="ignore"):
        # float64 is the judge: NumPy's own float32 functions are off by several ulp.
        wanted = np.asarray(getattr(EAGER, name)(x.astype(np.float64)))
        wanted = wanted.astype(dtype) if wanted.dtype.kind == "f" else wanted
    assert_close(evaluate(lambda k, a: getattr(k, name)(a), x), wanted, 6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, dtype):
    x, y = floats(dtype)
    with np.errstate(all="ignore"):
        wanted = np.asarray(getattr(EAGER, name)(x, y))
    assert_close(evaluate(lambda k, a, b: getattr(k, name)(a, b), x, y), wanted, 6)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    "name", ["abs", "sign", "neg", "isnan", "isinf", "isfinite", "signbit", "logical_not", "floor", "round"]
)
def test_unary_on_integers(name, dtype):
    x, _ = integers(dtype)
    with np.errstate(all="ignore"):
        wanted = np.asarray(getattr(EAGER, name)(x))
    np.testing.assert_array_equal(evaluate(lambda k, a: getattr(k, name)(a), x), wanted)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ["maximum", "minimum", "fmod", "remainder", "floor_divide", "trunc_divide"])
def test_binary_on_integers(name, dtype):
    x, y = integers(dtype)
    with np.errstate(all="ignore"):
        wanted = np.asarray(getattr(EAGER, name)(x, y))
    np.testing.assert_array_equal(evaluate(lambda k, a, b: getattr(k, name)(a, b), x, y), wanted)


@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide", "trunc_divide"])
def test_integer_division_by_zero_is_reported(name):
    x = np.array([5, -5, 0], np.int32)
    with pytest.raises(DivisionByZeroError, match="integer division by zero"):
        evaluate(lambda k, a, b: getattr(k, name)(a, b), x, np.zeros(3, np.int32))
    with pytest.raises(DivisionByZeroError):
        evaluate(lambda k, a: getattr(k, name)(a, 0), x)
    k = Recorder(Values())
    k.checks = False  # a GPU does not wait to find out
    assert not any(isinstance(v, Require) for v in topological([k.trunc_divide(k.term(5), k.term(0)).value]))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    "body",
    [
        lambda k, a, b: a + b,
        lambda k, a, b: a - b,
        lambda k, a, b: a * b,
        lambda k, a, b: a & b,
        lambda k, a, b: a | b,
        lambda k, a, b: a ^ b,
        lambda k, a, b: a << b,
        lambda k, a, b: a >> b,
        lambda k, a, b: k.pow(a, b),
        lambda k, a, b: k.where(a < b, a, b),
    ],
    ids=["add", "sub", "mul", "and", "or", "xor", "lshift", "rshift", "pow", "where"],
)
def test_integers_wrap(body, dtype):
    x, y = integers(dtype)
    y = np.abs(y % 8).astype(dtype)
    with np.errstate(all="ignore"):
        wanted = np.asarray(body(EAGER, x, y))
    np.testing.assert_array_equal(evaluate(body, x, y), wanted)


def test_shifts_by_the_width_or_more():
    x = np.array([1, -1, 7, -8], np.int32)
    by = np.array([32, 32, 40, 100], np.int32)
    np.testing.assert_array_equal(evaluate(lambda k, a, b: a << b, x, by), [0, 0, 0, 0])
    np.testing.assert_array_equal(evaluate(lambda k, a, b: a >> b, x, by), [0, -1, 0, -1])


@pytest.mark.parametrize("target", [d.name for d in DTYPES.values() if d.triton is not None])
@pytest.mark.parametrize("source", ["float32", "float64", "float16", "int64", "int32", "int8", "uint8", "bool"])
def test_casts(source, target):
    x = np.array([0, 1, -1, 2.7, -2.7, 100, 120.5, 300, -300, 30000]).astype(np.float64)
    x = (np.abs(x) % 256 if source == "uint8" else np.clip(x, -128, 127) if source == "int8" else x).astype(source)
    with np.errstate(all="ignore"):
        wanted = np.asarray(EAGER.cast(x, DTYPES[target]))
    found = evaluate(lambda k, a: k.cast(a, DTYPES[target]), x)
    if target.startswith("float8"):  # NumPy takes no NaN of theirs for another
        found, wanted = found.astype(np.float32), wanted.astype(np.float32)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("number", [0.1, 1 / 3, 1e300, 5e-324, 1e-40])
def test_constants_of_float64_kernels_keep_all_digits(number):
    x = np.array([1.0, -2.0])
    np.testing.assert_array_equal(evaluate(lambda k, a: a * number, x), x * number)
    np.testing.assert_array_equal(evaluate(lambda k, a: k.maximum(a, number), x), np.maximum(x, number))
    np.testing.assert_array_equal(evaluate(lambda k, a: k.where(a > 0, number, -number), x), [number, -number])


def test_float32_stays_float32():
    x = np.array([1.0, 3.0], np.float32)
    found = evaluate(lambda k, a: k.pow(a, 2.5) + 0.1, x)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, x**2.5 + np.float32(0.1), rtol=1e-6)


def test_truth_values():
    a = np.array([True, True, False, False])
    b = np.array([True, False, True, False])
    for body in (lambda k, x, y: x & y, lambda k, x, y: x | y, lambda k, x, y: x ^ y, lambda k, x, y: x + y,
                 lambda k, x, y: x * y, lambda k, x, y: k.maximum(x, y), lambda k, x, y: k.logical_not(x)):  # fmt: skip
        np.testing.assert_array_equal(evaluate(body, a, b), body(EAGER, a, b))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_constant_zero_keeps_its_sign(dtype):
    """Triton makes a positive zero of `-0.0`."""
    x = np.array([-1.0, -0.0, 0.0, 2.0], dtype)
    bodies = {
        "sum": lambda k, v: v * 0.0 + -0.0,
        "choice": lambda k, v: k.where(v > 0.0, v, -0.0),
        "positive": lambda k, v: v + 0.0,
        "product": lambda k, v: v * -0.0,
    }
    found = {name: np.signbit(evaluate(body, x)).tolist() for name, body in bodies.items()}
    assert found == {
        "sum": [True, True, False, False],
        "choice": [True, True, True, False],
        "positive": [True, False, False, False],
        "product": [False, False, True, True],
    }
