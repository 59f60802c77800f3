"""Bodies that are loops of native code: they give what their steps give, for any number of elements."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest

import opweave
from opweave.codegen import bodies
from opweave.registry import native_bodies
from opweave.registry.native_bodies import natively

_FUNCTIONS = {
    "erfc": opweave.erfc, "erfinv": opweave.erfinv, "lgamma": opweave.lgamma, "digamma": opweave.digamma,
    "i0": opweave.i0, "i0e": opweave.special.i0e, "i1": opweave.special.i1, "i1e": opweave.special.i1e,
    "trigamma": lambda x: opweave.polygamma(1, x),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [opweave.float32, opweave.float64])
@pytest.mark.parametrize("name", _FUNCTIONS)
def test_native_code_gives_what_the_steps_give(name: str, dtype: opweave.dtype, monkeypatch: Any) -> None:
    draw = np.random.default_rng(0)
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, -3.0, 1e-30, -1e-30, 1e30, 5e-324, 27.5, -27.5, 0.5]
    numbers = draw.uniform(-1, 1, 500) if name == "erfinv" else draw.uniform(-30, 30, 500)
    x = opweave.from_numpy(np.array([*ends, *numbers, *draw.uniform(0.1, 3, 100)])).to(dtype)
    found = _FUNCTIONS[name](x).numpy()
    monkeypatch.setattr(native_bodies.compiled, "call", None)
    expected = _FUNCTIONS[name](x.clone()).numpy()
    rtol = 2e-7 if dtype is opweave.float32 else 2e-13
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=0 if name != "lgamma" else rtol)


@pytest.mark.parametrize("dtype", [opweave.float32, opweave.float64])
@pytest.mark.parametrize("name", _FUNCTIONS)
def test_bits_do_not_depend_on_how_many_elements_there_are(name: str, dtype: opweave.dtype) -> None:
    x = opweave.from_numpy(np.random.default_rng(0).uniform(-0.9, 0.9, 90_000)).to(dtype)
    whole = _FUNCTIONS[name](x).numpy()
    for begin, end in ((0, 1), (3, 1003), (70_000, 90_000)):
        for _ in range(3):  # the calls after the first are replayed
            np.testing.assert_array_equal(_FUNCTIONS[name](x[begin:end]).numpy(), whole[begin:end])
    np.testing.assert_array_equal(_FUNCTIONS[name](x[::7]).numpy(), whole[::7])


def test_a_body_that_cannot_be_written_runs_step_by_step() -> None:
    def looks(k: Any, x: Any) -> Any:
        return x + 1 if float(np.asarray(x).flat[0]) > 0 else x - 1

    assert bodies.read(looks, "looks", np.dtype(np.float32), 1) is None
    np.testing.assert_array_equal(natively(looks)(bodies.ArrayScalars(np), np.ones(3)), [2.0, 2.0, 2.0])


def test_names_tell_steps_apart() -> None:
    first, second = (
        bodies.read(body, "same", np.dtype(np.float64), 1)
        for body in (lambda k, x: k.exp(x) + 1.0, lambda k, x: k.exp(x) + 2.0)
    )
    assert first is not None and second is not None and first.name != second.name


def test_the_logarithm_of_the_gamma_function_keeps_its_digits_where_it_is_small() -> None:
    """It is 0 at 1 and 2."""
    draw = np.random.default_rng(0)
    about = [np.array([1.0, 2.0]) + draw.standard_normal((200, 2)) * scale for scale in (1e-1, 1e-4, 1e-9)]
    x = np.concatenate([*(part.ravel() for part in about), draw.uniform(0.01, 12, 1000), [1.0, 2.0, 0.5, 1.5, 2.5]])
    found = opweave.lgamma(opweave.from_numpy(x)).numpy()
    np.testing.assert_allclose(found, [float(mpmath.loggamma(v)) for v in x.tolist()], rtol=10 * 2.0**-53)
