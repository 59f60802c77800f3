"""Reductions: layouts without data, accuracy against float64, NaN, ties, empty and 0-d tensors, types, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from op_samples import check_meta, maker, ops_with_samples

import opweave
from opweave.registry import dtypes
from opweave.registry.errors import DTypeError, OutOfRangeError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import cumulative, reduction, statistics
from opweave.registry.tensor import from_numpy

aten = ops.aten
make = maker(dtypes.float32)


@pytest.mark.parametrize("op", ops_with_samples(reduction, cumulative, statistics), ids=str)
def test_layout_without_data(op: OpOverload) -> None:
    assert check_meta(op)


@pytest.mark.parametrize("axes", [[0], [1], [0, 1]], ids=str)
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float16, dtypes.bfloat16], ids=repr)
def test_long_sums_are_accurate(dtype: dtypes.DType, axes: list[int]) -> None:
    x = maker(dtype)(3000, 700, low=0, high=1)
    wide = x.numpy().astype(np.float64)
    half = 1e-3 if dtype is dtypes.float16 else 8e-3
    bound = 1e-6 if dtype is dtypes.float32 else half
    if dtype is not dtypes.float16 or len(axes) == 1:
        np.testing.assert_allclose(
            aten.sum.dim_IntList(x, axes).numpy().astype(np.float64), wide.sum(tuple(axes)), rtol=bound
        )
    for op, reference in ((aten.mean.dim(x, axes), wide.mean), (aten.var.correction(x, axes, correction=0), wide.var)):
        np.testing.assert_allclose(op.numpy().astype(np.float64), reference(tuple(axes)), rtol=2 * bound)


def test_variance_does_not_cancel() -> None:
    x = from_numpy((np.random.default_rng(0).standard_normal(10_000) + 1e4).astype(np.float32))
    expected = x.numpy().astype(np.float64).var(ddof=1)
    np.testing.assert_allclose(aten.var.default(x).item(), expected, rtol=1e-5)
    assert math.isnan(aten.var.default(make(1)).item())


def test_nan_wins_and_the_first_place_is_taken() -> None:
    x = from_numpy(np.array([[1.0, math.nan, 3.0, math.nan], [5.0, 5.0, -1.0, -1.0]]))
    for values, indices in (aten.max.dim(x, 1), (aten.amax.default(x, [1]), aten.argmax.default(x, 1))):
        np.testing.assert_array_equal(values.numpy(), [math.nan, 5])
        np.testing.assert_array_equal(indices.numpy(), [1, 0])
    for values, indices in (aten.min.dim(x, 1), (aten.amin.default(x, [1]), aten.argmin.default(x, 1))):
        np.testing.assert_array_equal(values.numpy(), [math.nan, -1])
        np.testing.assert_array_equal(indices.numpy(), [1, 2])
    assert math.isnan(aten.max.default(x).item())
    assert bool(aten.all.default(x)) and bool(aten.any.default(x))


def test_empty_tensors() -> None:
    x = make(0, 3)
    assert aten.sum.default(x).item() == 0
    assert aten.prod.default(x).item() == 1
    assert math.isnan(aten.mean.default(x).item())
    assert not aten.any.default(x) and bool(aten.all.default(x))
    assert aten.amax.default(x, [1]).shape == (0,)
    np.testing.assert_array_equal(aten.logsumexp.default(x, [0]).numpy(), [-math.inf] * 3)
    for op in (aten.amax, aten.amin, aten.argmax, aten.max):
        with pytest.raises(ShapeError, match="no identity"):
            op.default(x)
    with pytest.raises(OutOfRangeError, match="empty dimension"):
        aten.max.dim(x, 0)


def test_infinite_logsumexp() -> None:
    x = from_numpy(np.array([[-math.inf, -math.inf], [math.inf, 0.0], [1000.0, 1000.0]]))
    expected = [-math.inf, math.inf, 1000 + math.log(2)]
    np.testing.assert_allclose(aten.logsumexp.default(x, [1]).numpy(), expected)


@pytest.mark.parametrize("name", ["bool", "uint8", "int8", "int32", "int64"])
def test_integer_types(name: str) -> None:
    x = maker(dtypes.DTYPES[name])(4, 5)
    assert aten.sum.default(x).dtype is dtypes.int64
    assert aten.prod.dim_int(x, 0).dtype is dtypes.int64
    assert aten.cumsum.default(x, 1).dtype is dtypes.int64
    assert aten.amax.default(x).dtype is x.dtype
    assert aten.any.default(x).dtype is (dtypes.uint8 if name == "uint8" else dtypes.bool_)
    assert aten.mean.default(x, dtype=dtypes.float64).dtype is dtypes.float64
    assert aten.logsumexp.default(x, [0]).dtype is dtypes.float32
    with pytest.raises(DTypeError, match="mean: defined for floating"):
        aten.mean.default(x)
    with pytest.raises(DTypeError, match="var"):
        aten.var.default(x)


def test_sums_of_integers_wrap_nowhere_below_int64() -> None:
    assert aten.sum.default(from_numpy(np.full(1000, 127, np.int8))).item() == 127_000
    assert aten.sum.default(from_numpy(np.array([0.9, 0.9], np.float32)), dtype=dtypes.int64).item() == 0


def test_an_input_is_rounded_to_a_narrow_result_once() -> None:
    x = from_numpy(np.full(3, 1 + 2**-12, np.float32))
    assert aten.sum.default(x, dtype=dtypes.float16).item() == 3.0


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: aten.sum.dim_IntList(x, [2]), OutOfRangeError, "dimension out of range"),
        (lambda x: aten.sum.dim_IntList(x, [0, -2]), ShapeError, "twice"),
        (lambda x: aten.argmax.default(maker(dtypes.bool_)(3)), DTypeError, "not defined for bool"),
        (lambda x: aten.amax.default(maker(dtypes.complex64)(3)), DTypeError, "no order"),
        (lambda x: aten.cumsum.default(x, 5), OutOfRangeError, "dimension out of range"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(make(3, 4))


def test_ways_to_name_dimensions() -> None:
    a = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    x = from_numpy(a)
    for _ in range(2):
        for dim in (0, 1, -1, [1], (0, 2), [0, -1], [0, 1, 2]):
            axes = tuple(dim) if isinstance(dim, (list, tuple)) else dim
            for keep in (False, True):
                found = x.sum(dim, keepdim=keep)
                want = a.sum(axes, keepdims=keep)
                assert found.shape == want.shape and found.dtype is dtypes.float32
                np.testing.assert_array_equal(found.numpy(), want)
                np.testing.assert_array_equal(x.amax(dim, keep).numpy(), a.max(axes, keepdims=keep))
        assert x.sum([0], dtype=dtypes.float64).dtype is dtypes.float64 and x.sum(0).dtype is dtypes.float32
        assert x.sum().item() == a.sum() and x.sum([]).item() == a.sum()
        assert x.argmax(1).tolist() == a.argmax(1).tolist() and x.argmax().item() == 23
        np.testing.assert_array_equal(x.any(1).numpy(), a.any(1))
        np.testing.assert_array_equal(x.all(1).numpy(), a.all(1))
        np.testing.assert_array_equal(x.prod(0).numpy(), a.prod(0))
        with pytest.raises(ShapeError):
            from_numpy(np.zeros((0, 3))).amax(0)
        assert from_numpy(np.zeros((0, 3))).amax(1).shape == (0,)


def test_sums_along_outer_dimensions_hand_out_their_own_memory() -> None:
    a = np.random.default_rng(0).standard_normal((640, 5, 300)).astype(np.float32)
    x = from_numpy(a)
    first, second = x.sum(0), x.sum(0)
    first.zero_()
    np.testing.assert_allclose(second.numpy(), a.astype(np.float64).sum(0), rtol=1e-3, atol=1e-4)
    blocks = a.reshape(10, 64, 5, 300).sum(1)
    np.testing.assert_array_equal(second.numpy(), np.concatenate([blocks, np.zeros_like(a[:1])]).sum(0))
    assert aten.sum.dim_IntList(x[:, 0, :1], [1]).data_ptr() != x.data_ptr()


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "u1", "?", "c8"])
@pytest.mark.parametrize("shape", [(1,), (3, 0), (0, 3), (300, 700), (3, 70_001), (2, 3, 4)], ids=str)
def test_running_totals_round_once(dtype: str, shape: tuple[int, ...]) -> None:
    a = (np.random.default_rng(0).standard_normal(shape) * 3).astype(dtype)
    wide = np.float64 if a.dtype.kind == "f" else np.int64 if a.dtype.kind in "biu" else a.dtype
    for op, function in ((aten.cumsum.default, np.cumsum), (aten.cumprod.default, np.cumprod)):
        for dim in {0, len(shape) - 1}:
            found = op(from_numpy(a), dim).numpy()
            with np.errstate(all="ignore"):
                want = function(a.astype(wide), axis=dim).astype(found.dtype)
            np.testing.assert_array_equal(found, want)


def test_variance_leaves_its_input_alone() -> None:
    a = np.random.default_rng(0).standard_normal((30, 40)).astype(np.float32)
    x = from_numpy(a.copy())
    for dim, axes in ((1, 1), ([0, 1], None)):
        for keep in (False, True):
            variance, mean = opweave.var_mean(x, dim, keepdim=keep)
            np.testing.assert_allclose(variance.numpy(), a.var(axes, ddof=1, keepdims=keep), rtol=1e-5)
            np.testing.assert_allclose(mean.numpy(), a.mean(axes, keepdims=keep), atol=1e-6)
            np.testing.assert_allclose(x.std(dim, keepdim=keep).numpy(), a.std(axes, ddof=1, keepdims=keep), rtol=1e-5)
    np.testing.assert_array_equal(x.numpy(), a)
    assert opweave.var(from_numpy(np.array(3.0)), correction=0).item() == 0
