"""Running totals in kernels: what they share one with, and that they are what eager ones are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opweave
from opweave import Tensor
from opweave.testing import assert_close


def real(*sizes: int, dtype: str = "float32") -> Tensor:
    return opweave.from_numpy((np.random.default_rng(sum(sizes)).standard_normal(sizes) * 3).astype(dtype))


def code_of(function: Callable[..., Any], *args: Tensor) -> str:
    return opweave.explain(function)(*args).versions[-1].code


def test_the_code_of_rows() -> None:
    code = code_of(lambda x: opweave.cumsum(x * 2, -1) + 1, real(40, 30))
    assert "fused_mul_cumsum_add_0(1, 1, 1, x, add)" in code
    assert "tl.cumsum(" in code and "aten_cumsum" not in code


CASES: dict[str, tuple[Callable[[Tensor], Any], Tensor, int]] = {
    # with the number of kernels
    "rows": (lambda x: opweave.cumsum(x * 2, -1) + 1, real(7, 30), 1),
    "columns": (lambda x: opweave.cumsum(x * 2, 0) + 1, real(300, 70), 1),
    "the middle dimension": (lambda x: opweave.cumsum(x * 2, 1) + 1, real(3, 40, 70), 1),
    "the middle of few columns": (lambda x: opweave.cumsum(x * 2, 1) + 1, real(30, 40, 3), 1),
    "one row": (lambda x: opweave.cumsum(x, 0), real(100), 1),
    "a long row": (lambda x: opweave.cumsum(x, 1) * 2, real(2, 4096), 1),
    "long columns": (lambda x: opweave.cumsum(x, 0) * 2, real(4096, 33), 1),
    "a product": (lambda x: opweave.cumprod(opweave.sigmoid(x), -1) * x, real(5, 33), 1),
    "softmax after": (lambda x: opweave.softmax(opweave.cumsum(x, -1), -1), real(9, 50), 1),
    "softmax before": (lambda x: opweave.cumsum(opweave.softmax(x, -1), -1), real(9, 50), 1),
    "softmax of rows before columns": (lambda x: opweave.cumsum(opweave.softmax(x, -1), 0), real(9, 50), 2),
    "twice": (lambda x: x.cumsum(-1).cumsum(-1), real(9, 50), 1),
    "twice, across": (lambda x: x.cumsum(-1).cumsum(0), real(9, 50), 2),
    "a regrouped operand": (lambda x: x.view(9, 5, 10).transpose(1, 2).reshape(9, 50).cumsum(-1) * 2, real(9, 50), 1),
    "a regrouped result": (
        lambda x: (x.cumsum(-1) * 2).view(9, 5, 10).transpose(1, 2).contiguous(),
        real(9, 50),
        2,
    ),
    "a transposed operand": (lambda x: x.t().cumsum(-1) * 2, real(9, 50), 1),
    "a transposed result": (lambda x: x.t().cumsum(-1).t() * 2, real(9, 50), 1),
    "truth values": (lambda x: (x > 0).cumsum(-1) * 2, real(9, 50), 1),
    "a total of totals": (lambda x: x.cumsum(-1).sum(-1), real(9, 50), 1),
    "every other total": (lambda x: x.cumsum(-1)[:, ::2] * 2, real(9, 50), 2),
    "the last total": (lambda x: opweave.relu(x) + x.cumsum(1)[:, -1:], real(40, 33), 2),
    "totals backwards": (lambda x: x.cumsum(1).flip(1) * 2, real(9, 50), 1),
    "a stretched row": (lambda x: x.expand(9, 50).cumsum(-1) * 2, real(9, 1), 1),
    "a stretched column": (lambda x: x.expand(9, 50).cumsum(0) * 2, real(1, 50), 1),
    "a constant": (lambda x: opweave.ones_like(x).cumsum(1) * x, real(9, 50), 1),
    "one of several pieces": (lambda x: opweave.cat([x.cumsum(1), x * 2], 1), real(9, 50), 2),
    "used three times": (lambda x: (lambda y: (y, y.sum(1), y * 2))(x.cumsum(1)), real(40, 33), 1),
    "used across": (lambda x: (lambda y: (y, y.sum(0), y * 2))(x.cumsum(1)), real(40, 33), 2),
    "between statistics": (lambda x: (x - x.mean(1, True)).cumsum(1) / x.std(1, keepdim=True), real(40, 33), 1),
    "from the end": (lambda x: x.flip([1]).cumsum(1).flip([1]) * 2, real(9, 50), 1),
    "from the end of columns": (lambda x: x.flip([0]).cumsum(0).flip([0]) * 2, real(70, 30), 1),
    "a product from the end": (lambda x: (x * 0.1).flip([1]).cumprod(1).flip([1]) * 2, real(9, 50), 1),
    "too long a row": (lambda x: x.cumsum(1) * 2, real(2, 4097), 1),
    "one element": (lambda x: x.cumsum(0) * 2, real(1, 33), 1),
    "no elements": (lambda x: x.cumsum(0) * 2, real(0, 33), 0),
    "gradients": (lambda x: opweave.func.grad(lambda x: (x.cumsum(1) ** 2).sum())(x), real(9, 50), 1),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_compiled_equals_eager(case: tuple[Callable[[Tensor], Any], Tensor, int]) -> None:
    function, x, kernels = case
    assert_close(opweave.compile(function)(x), function(x), rtol=1e-5, atol=2e-5, check_stride=True)
    assert code_of(function, x).count("@triton.jit") == kernels


@pytest.mark.parametrize("function", [lambda x: x.cumsum(1), lambda x: x.cumsum(0), lambda x: x.cumprod(1)])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32"])
def test_totals_have_the_same_bits(function: Callable[[Tensor], Tensor], dtype: str) -> None:
    """They run in float64, or int64 that wraps around, in the same order as eager ones, and are rounded once."""
    x = real(33, 41, dtype=dtype)
    got, wanted = opweave.compile(function)(x), function(x)
    assert got.dtype is wanted.dtype and "aten_cum" not in code_of(function, x)
    np.testing.assert_array_equal(got.numpy().view(np.uint8), wanted.numpy().view(np.uint8))


def test_nan_and_infinity_reach_what_comes_after() -> None:
    x = np.ones((2, 10), np.float32)
    x[0, 3], x[1, 4], x[1, 7] = np.nan, np.inf, -np.inf
    found = opweave.compile(lambda x: opweave.cumsum(x, 1))(opweave.from_numpy(x)).numpy()
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, np.cumsum(x, 1))


def test_another_type_for_the_total() -> None:
    function = lambda x: opweave.cumsum(x, 0, dtype=opweave.float32) / 2  # noqa: E731
    x = real(9, 50, dtype="int32")
    assert_close(opweave.compile(function)(x), function(x), rtol=0, atol=0)


def test_open_sizes() -> None:
    compiled = opweave.compile(lambda x: opweave.cumsum(x * 2, -1) + 1, dynamic=True)
    for rows, columns in ((7, 30), (8, 31), (1, 5), (3, 5000)):
        x = real(rows, columns)
        assert_close(compiled(x), opweave.cumsum(x * 2, -1) + 1, rtol=1e-5, atol=1e-4)
