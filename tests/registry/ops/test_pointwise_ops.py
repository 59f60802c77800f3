"""Pointwise ops: promotion, wrapping, refusals, layouts, in-place and out= forms, chunked evaluation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_samples import maker

import opweave
from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, from_numpy

aten = ops.aten
make = maker(dtypes.float32)


def ints(*values: int, dtype: Any = np.int64) -> opweave.Tensor:
    return from_numpy(np.array(values, dtype))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (ints(1), 2, "int64"),
        (ints(1, dtype=np.int8), 300, "int8"),
        (ints(1, dtype=np.int8), 2.5, "float32"),
        (from_numpy(np.array([True])), 2, "int64"),
        (make(2, dtype=dtypes.bfloat16), 2, "bfloat16"),
        (make(2, dtype=dtypes.bfloat16), make(2, dtype=dtypes.float16), "float32"),
        (make(2), make(dtype=dtypes.float64), "float32"),
        (make(), make(2, dtype=dtypes.float64), "float64"),
        (ints(1), make(dtype=dtypes.float16), "float16"),
        (ints(1, dtype=np.uint8), ints(1, dtype=np.int8), "int16"),
        (make(2), 1j, "complex64"),
    ],
)
def test_promotion(left: Any, right: Any, expected: str) -> None:
    assert (left + right).dtype.name == expected
    assert opweave.result_type(left, right).name == expected
    assert (right + left).dtype.name == expected


def test_integers_wrap_and_numbers_too() -> None:
    assert (ints(127, dtype=np.int8) + 1).tolist() == [-128]
    assert (ints(1, dtype=np.uint8) - 2).tolist() == [255]
    assert (ints(1, dtype=np.uint8) + 256).tolist() == [1]
    assert (ints(2**62) * 4).tolist() == [0]


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_integer_division_by_zero_is_refused(name: str) -> None:
    function = getattr(opweave, name)
    for divisor in (0, ints(1, 0, 2)):
        with pytest.raises(ZeroDivisionError) as caught:
            function(ints(1, 2, 3), divisor)
        assert isinstance(caught.value, RuntimeError)
        assert "at:" in str(caught.value)
    assert function(ints(), ints()).tolist() == []
    assert not np.isfinite(function(make(3), 0.0).numpy()).any()


def test_division_rounds_as_told() -> None:
    x, y = ints(7, -7, 7, -7), ints(2, 2, -2, -2)
    assert (x // y).tolist() == [3, -4, -4, 3]
    assert opweave.div(x, y, rounding_mode="trunc").tolist() == [3, -3, -3, 3]
    assert (x % y).tolist() == [1, 1, -1, -1]
    assert opweave.fmod(x, y).tolist() == [1, -1, 1, -1]
    assert (x / y).dtype is opweave.float32
    with pytest.raises(ArgumentError, match="rounding_mode"):
        opweave.div(x, y, rounding_mode="up")


def test_shifts_go_on_past_the_width() -> None:
    x = ints(-8, 5, dtype=np.int8)
    assert (x << 1).tolist() == [-16, 10]
    assert (x << 8).tolist() == [0, 0]
    assert (x >> 100).tolist() == [-1, 0]
    assert (1 << ints(0, 3)).tolist() == [1, 8]
    with pytest.raises(DTypeError, match="bitwise_left_shift"):
        make(2) << 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: from_numpy(np.array([True])) - from_numpy(np.array([True])),
        lambda: ints(1) - from_numpy(np.array([True])),
        lambda: -from_numpy(np.array([True])),
        lambda: make(2, dtype=dtypes.complex64) < 1,
        lambda: opweave.maximum(make(2, dtype=dtypes.complex64), 1),
        lambda: opweave.floor(make(2, dtype=dtypes.complex64)),
        lambda: make(2) & 1,
        lambda: ints(1).add_(1.5),
        lambda: opweave.add(ints(1), 1, alpha=1.5),
        lambda: opweave.nn.functional.gelu(ints(1)),
        lambda: opweave.where(make(2), make(2), make(2)),
    ],
)
def test_refused_types(call: Any) -> None:
    with pytest.raises(DTypeError) as caught:
        call()
    assert "test_pointwise_ops.py" in str(caught.value)


def test_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(ShapeError, match="cannot broadcast dim -1: 3 with 5"):
        make(2, 3) + make(4, 5)
    with pytest.raises(ShapeError, match="does not fit"):
        make(3).add_(make(2, 3))
    with pytest.raises(ShapeError, match="share memory"):
        make(1, 3).expand(2, 3).add_(1)


def test_nothing_warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype in (dtypes.float32, dtypes.float64, dtypes.float16):
            x = from_numpy(np.array([-1e4, -1, 0, 1, 1e4], dtype.numpy))
            for name in ("exp", "log", "sqrt", "sigmoid", "reciprocal", "acos", "cosh", "tan", "rsqrt", "atanh"):
                getattr(opweave, name)(x)
            x / 0, x * x * x, x % 0, x**0.5, opweave.nn.functional.silu(x), opweave.nn.functional.softplus(x)
        ints(2**62) * 4, ints(-(2**63)) // -1


def test_half_types_are_computed_in_float32() -> None:
    x = from_numpy(np.array([300.0, -300.0], np.float16))
    np.testing.assert_array_equal(opweave.square(x).numpy(), [np.inf, np.inf])
    # The square overflows float16, its sum with -90000 does not.
    y = opweave.addcmul(from_numpy(np.array([-60000.0], np.float16)), x[:1], x[:1])
    np.testing.assert_array_equal(y.numpy(), [np.float16(30000)])


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.bfloat16, dtypes.int32], ids=repr)
def test_large_arrays_are_evaluated_in_pieces(dtype: DType) -> None:
    n = (1 << 17) + 5
    x = opweave.arange(n, dtype=dtype)
    y = x * 2 + x
    np.testing.assert_array_equal(y.numpy(), ((x.numpy() * 2).astype(dtype.numpy) + x.numpy()).astype(dtype.numpy))
    assert x.add_(1) is x and x._version == 1
    wide = opweave.arange(512 * 300, dtype=dtype).view(300, 512).t()
    np.testing.assert_array_equal((wide + wide).numpy(), wide.numpy() + wide.numpy())
    assert (wide + wide).stride() == wide.stride()


def test_in_place_on_overlapping_views() -> None:
    x = opweave.arange(100_000, dtype=opweave.int64)
    x[1:].add_(x[:-1])
    np.testing.assert_array_equal(x.numpy(), [0, *range(1, 199_998, 2)])


def test_out_writes_and_converts() -> None:
    x, out = make(3), opweave.empty(3, dtype=opweave.float64)
    assert opweave.exp(x, out=out) is out
    np.testing.assert_allclose(out.numpy(), np.exp(x.numpy()), rtol=1e-6)
    with pytest.raises(DTypeError, match="cannot be written"):
        opweave.exp(x, out=opweave.empty(3, dtype=opweave.int64))


def test_overloads_that_take_numbers() -> None:
    x = ints(1, 2, 3)
    assert aten.add.Scalar(x, 2, 3).tolist() == [7, 8, 9]
    assert aten.pow.Scalar(2, x).tolist() == [2, 4, 8]
    assert aten.pow.Tensor_Scalar(x, 2).tolist() == [1, 4, 9]
    assert aten.eq.Scalar(x, 2).tolist() == [False, True, False]
    assert aten.where.ScalarOther(x > 1, x, 0).tolist() == [0, 2, 3]
    assert aten.remainder.Scalar_Tensor(7, x).tolist() == [0, 1, 1]
    assert aten.mul_.Scalar(x, 2) is x and x._version == 1
    assert aten.clamp_min_.default(x, 4).tolist() == [4, 4, 6]
    assert aten.clamp_max.Tensor(x, ints(5, 3, 5)).tolist() == [4, 3, 5]
    assert opweave.make_fx(lambda t: aten.gt.Scalar(t, 1))(x).code.count("aten.gt.Tensor") == 1


def test_masked_fill() -> None:
    x = make(2, 3)
    mask = x > 0
    expected = np.where(mask.numpy(), np.float32(7), x.numpy())
    np.testing.assert_array_equal(x.masked_fill(mask, 7).numpy(), expected)
    np.testing.assert_array_equal(x.masked_fill(mask, from_numpy(np.array(7))).numpy(), expected)
    assert x.masked_fill_(mask, from_numpy(np.array(7.0))) is x
    np.testing.assert_array_equal(x.numpy(), expected)
    assert aten.masked_fill.Tensor(ints(1), ints(1) > 0, from_numpy(np.array(2.5))).tolist() == [2]
    with pytest.raises(ShapeError):
        aten.masked_fill.Tensor(x, mask, make(2))


def test_special_values() -> None:
    x = from_numpy(np.array([np.nan, np.inf, -np.inf, -0.0, 1.5], np.float16))
    np.testing.assert_array_equal(opweave.nan_to_num(x).numpy(), np.array([0, 65504, -65504, 0, 1.5], np.float16))
    np.testing.assert_array_equal(opweave.nan_to_num(x, 1.0, 2.0, 3.0).numpy()[:3], [1, 2, 3])
    assert opweave.sign(x).tolist() == [0, 1, -1, 0, 1]
    assert opweave.isposinf(x).tolist() == [False, True, False, False, False]
    assert opweave.signbit(x).tolist()[3]
    assert np.isnan(opweave.maximum(x, 0.0).numpy()[0]) and np.isnan(x.clamp(0, 1).numpy()[0])
    assert np.isnan(opweave.relu(x).numpy()[0])


def test_casts() -> None:
    x = from_numpy(np.array([-1.9, 0.0, 300.7]))
    assert x.to(opweave.int32).tolist() == [-1, 0, 300]
    assert x.bool().tolist() == [True, False, True]
    assert x.to(opweave.float64) is x
    assert x.to(opweave.float64, copy=True) is not x
    assert x.to(make(1)).dtype is opweave.float32 and x.to("cpu", opweave.float16).dtype is opweave.float16
    assert x.to("meta").device.type == "meta"
    assert x.type(opweave.int8).dtype is opweave.int8 and x.half().dtype is opweave.float16


def test_foreign_operands_get_their_turn() -> None:
    class Foreign:
        def __radd__(self, other: object) -> str:
            return "reflected"

        def __rlshift__(self, other: object) -> str:
            return "shifted"

    assert make(2) + Foreign() == "reflected"
    assert ints(1) << Foreign() == "shifted"
    with pytest.raises(TypeError):
        make(2) + "text"
    assert (np.arange(2.0) + make(2)).dtype is opweave.float64
    assert (np.float32(2) * make(2)).dtype is opweave.float32


@pytest.mark.parametrize("call", [lambda: aten._to_copy.default(3), lambda: aten.add.Tensor(1, 2)])
def test_numbers_alone_are_refused(call: Callable[[], Tensor]) -> None:
    with pytest.raises(ArgumentError, match="needs a tensor"):
        call()


@pytest.mark.parametrize("dtype", [dtypes.uint16, dtypes.uint32, dtypes.uint64], ids=str)
def test_complex_numbers_take_all_integers(dtype: DType) -> None:
    x = opweave.tensor([1, 2], dtype=dtype)
    for number in (1 + 2j, opweave.tensor(1 + 2j)):
        found = x * number
        assert found.tolist() == [1 + 2j, 2 + 4j] and found.dtype is dtypes.complex64
    assert opweave.result_type(x, opweave.tensor(1j, dtype=dtypes.complex128)) is dtypes.complex128


def test_ldexp_is_of_the_type_of_both() -> None:
    x = opweave.tensor(1j, dtype=dtypes.complex128)
    assert opweave.ldexp(x, opweave.ones(3, dtype=dtypes.int8)).dtype is dtypes.complex128


@pytest.mark.parametrize(
    ("order", "wanted"),  # by mpmath
    [
        (5, [678.7533428745797, 0.00010619843261418306, 9.862850617952512e-07]),
        (20, [-1.0229115768532278e21, -4.280419086657679e-05, -3.4220038826809603e-13]),
        (40, [-1.081765854756002e53, -2070.2717616689993, -1.5574407982482653e-13]),
    ],
)
def test_polygamma_of_high_order_keeps_its_digits(order: int, wanted: list[float]) -> None:
    found = opweave.polygamma(order, opweave.tensor([0.75, 12.25, 30.5], dtype=dtypes.float64))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=5e-15)
