"""Softmax, normalisation, losses, attention: kernels against decompositions and float64, types, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_samples import as_list, calls, check_meta, layouts, maker, ops_with_samples

import opweave
from opweave.registry import dtypes
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import softmax
from opweave.registry.tensor import from_numpy

aten = ops.aten
make = maker(dtypes.float32)
HALF = (dtypes.float16, dtypes.bfloat16)


@pytest.mark.parametrize("op", ops_with_samples(softmax), ids=str)
def test_layout_without_data(op: OpOverload) -> None:
    assert check_meta(op)


@pytest.mark.parametrize(
    "op", [aten._softmax.default, aten._log_softmax.default, aten.native_layer_norm.default], ids=str
)
def test_kernel_agrees_with_decomposition(op: OpOverload) -> None:
    for dtype, (args, kwargs) in calls(op):
        by_kernel, by_body = op(*args, **kwargs), op.decl.body(*args, **kwargs)
        assert layouts(by_kernel) == layouts(by_body)
        for a, b in zip(as_list(by_kernel), as_list(by_body), strict=True):
            relative = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 2e-6}.get(dtype.name, 1e-13)
            np.testing.assert_allclose(
                a.numpy().astype(np.float64), b.numpy().astype(np.float64), rtol=relative, atol=relative
            )


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("dtype", [*HALF, dtypes.float32, dtypes.float64], ids=repr)
def test_softmax_is_rounded_once(dtype: dtypes.DType) -> None:
    x = maker(dtype)(50, 333, low=-20, high=20)
    exact = _softmax(x.numpy().astype(np.float64))
    result = aten.softmax.int(x, -1)
    assert result.dtype is dtype
    bound = {"float16": 2**-11, "bfloat16": 2**-8, "float32": 4e-6}.get(dtype.name, 1e-14)
    tiny = 2.0**-24 if dtype is dtypes.float16 else 0
    np.testing.assert_allclose(result.numpy().astype(np.float64), exact, rtol=1.01 * bound, atol=tiny)
    np.testing.assert_allclose(
        aten.log_softmax.int(x, -1).numpy().astype(np.float64), np.log(exact), rtol=1.1 * bound, atol=1e-6
    )


def test_softmax_of_extreme_values() -> None:
    x = from_numpy(np.array([[1e38, 1e38], [-np.inf, 0], [-np.inf, -np.inf], [np.nan, 0]], np.float32))
    np.testing.assert_array_equal(
        aten.softmax.int(x, 1).numpy(), [[0.5, 0.5], [0, 1], [np.nan, np.nan], [np.nan, np.nan]]
    )


def test_layer_norm_against_float64() -> None:
    x, weight, bias = make(64, 1000, low=100, high=101), make(1000), make(1000)
    wide = x.numpy().astype(np.float64)
    mean, var = wide.mean(1, keepdims=True), wide.var(1, keepdims=True)
    out, found_mean, rstd = aten.native_layer_norm.default(x, [1000], weight, bias, 1e-5)
    np.testing.assert_allclose(found_mean.numpy(), mean, rtol=1e-6)
    np.testing.assert_allclose(rstd.numpy(), 1 / np.sqrt(var + 1e-5), rtol=1e-4)
    exact = (wide - mean) / np.sqrt(var + 1e-5) * weight.numpy() + bias.numpy()
    np.testing.assert_allclose(out.numpy(), exact, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("dtype", HALF, ids=repr)
def test_layer_norm_statistics_follow_the_affine_type(dtype: dtypes.DType) -> None:
    x = maker(dtype)(3, 8)
    assert aten.native_layer_norm.default(x, [8], None, None, 1e-5)[1].dtype is dtype
    out, mean, rstd = aten.native_layer_norm.default(x, [8], make(8), make(8), 1e-5)
    assert out.dtype is dtype and mean.dtype is rstd.dtype is dtypes.float32 and mean.shape == (3, 1)


def test_dropout_without_training_is_the_input() -> None:
    x = make(3, 4)
    assert aten.dropout.default(x, 0.5, False) is x
    dropped = aten.dropout.default(make(100, 100, low=1, high=1), 0.25, True).numpy()
    np.testing.assert_allclose(np.unique(dropped), [0, 1 / 0.75])
    assert abs((dropped == 0).mean() - 0.25) < 0.03


def test_ignored_targets_do_not_count() -> None:
    x, target = make(3, 4), from_numpy(np.array([1, -100, 2]))
    scores = np.log(_softmax(x.numpy().astype(np.float64)))
    expected = -(scores[0, 1] + scores[2, 2]) / 2
    np.testing.assert_allclose(aten.cross_entropy_loss.default(x, target).item(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: aten.softmax.int(from_numpy(np.arange(3)), 0), DTypeError, "floating types only"),
        (lambda x: aten.softmax.int(x, 2), IndexError, "dimension out of range"),
        (lambda x: aten._softmax.default(x, 1, True), DTypeError, "half_to_float"),
        (lambda x: aten.layer_norm.default(x, [3]), ShapeError, "must end in normalized_shape"),
        (lambda x: aten.layer_norm.default(x, [4], make(3)), ShapeError, "weight must have shape"),
        (lambda x: aten.layer_norm.default(from_numpy(np.ones((2, 4), int)), [4]), DTypeError, "floating types only"),
        (lambda x: aten.dropout.default(x, 1.5, True), ArgumentError, "between 0 and 1"),
        (lambda x: aten.cross_entropy_loss.default(x, from_numpy(np.array([1]))), ShapeError, "target"),
        (lambda x: aten.cross_entropy_loss.default(x, from_numpy(np.array([1, 2, 4]))), IndexError, "index 4"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(make(3, 4))


def test_native_dropout_tells_what_it_kept():
    opweave.manual_seed(0)
    x = opweave.ones(50, 40)
    for train in (True, None):
        found, kept = opweave.ops.aten.native_dropout.default(x, 0.25, train)
        np.testing.assert_allclose(found.numpy(), kept.numpy() / 0.75, rtol=1e-6)
        assert 0.7 < kept.numpy().mean() < 0.8
    nothing, kept = opweave.ops.aten.native_dropout.default(x, 1.0, True)
    assert not nothing.any().item() and not kept.any().item()
