"""Joining, repeating, overwriting: layouts without data, values, versions, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_samples import check_meta, maker, ops_with_samples

import opweave
from opweave.registry import dtypes
from opweave.registry.errors import ArgumentError, OutOfRangeError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import copies, joining, rearranging
from opweave.registry.tensor import from_numpy

aten = ops.aten
make = maker(dtypes.float32)


@pytest.mark.parametrize("op", ops_with_samples(joining, rearranging, copies), ids=str)
def test_layout_without_data(op: OpOverload) -> None:
    assert check_meta(op)


def test_values_agree_with_numpy() -> None:
    x, y = make(3, 4), aten.t.default(make(4, 3))
    a, b = x.numpy(), y.numpy()
    for ours, theirs in (
        (aten.cat.default([x, y], 1), np.concatenate([a, b], 1)),
        (aten.stack.default([x, y], -1), np.stack([a, b], -1)),
        (aten.repeat.default(y, [2, 1, 3]), np.tile(b, (2, 1, 3))),
        (aten.flip.default(y, [0, 1]), b[::-1, ::-1]),
        (aten.roll.default(y, [1, -2], [0, 1]), np.roll(b, (1, -2), (0, 1))),
        (aten.vstack.default([x, y]), np.vstack([a, b])),
    ):
        np.testing.assert_array_equal(ours.numpy(), theirs)


def test_copy_broadcasts_converts_and_counts() -> None:
    x = from_numpy(np.zeros((2, 3), np.int32))
    aten.copy_.default(aten.t.default(x), from_numpy(np.array([1.9, -2.9])))
    np.testing.assert_array_equal(x.numpy(), [[1] * 3, [-2] * 3])
    assert x._version == 1
    with pytest.raises(ShapeError):
        aten.copy_.default(x, make(2, 2, 3))
    with pytest.raises(ShapeError, match="share memory"):
        aten.copy_.default(aten.expand.default(make(1, 3), [2, 3]), make(3))


def test_copy_of_an_overlapping_view() -> None:
    x = from_numpy(np.arange(5.0))
    aten.copy_.default(aten.slice.Tensor(x, 0, 0, 4), aten.slice.Tensor(x, 0, 1, 5))
    np.testing.assert_array_equal(x.numpy(), [1, 2, 3, 4, 4])


@pytest.mark.parametrize("dtype", list(dtypes.COMPUTED), ids=repr)
def test_fill(dtype: dtypes.DType) -> None:
    x = maker(dtype)(2, 3)
    assert aten.fill_.Scalar(x, 1) is x and (x.numpy() == 1).all()
    assert aten.zero_.default(x) is x and not x.numpy().any()
    assert x._version == 2
    assert aten.fill.Scalar(x, 1)._storage is not x._storage


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: aten.cat.default([make(2, 3), make(2, 4)]), ShapeError, "same except in dimension 0"),
        (lambda: aten.cat.default([make(2, 3)], 2), OutOfRangeError, "dimension out of range"),
        (lambda: aten.cat.default([make(), make()]), ShapeError, "0-d"),
        (lambda: aten.cat.default([]), ShapeError, "at least one"),
        (lambda: aten.stack.default([make(2), make(3)]), ShapeError, "same sizes"),
        (lambda: aten.repeat.default(make(2, 3), [2]), ShapeError, "count for each dimension"),
        (lambda: aten.roll.default(make(2, 3), [1], [0, 1]), ShapeError, "one shift for each"),
        (lambda: aten.fill_.Tensor(make(2), make(2)), ShapeError, "0-d"),
        (lambda: aten.fill_.Scalar(make(2), "a"), ArgumentError, "Scalar"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_cat_of_many_layouts_and_types() -> None:
    draw = np.random.default_rng(0)
    a, b = draw.standard_normal((3, 4)), draw.standard_normal((3, 4))
    x, y = from_numpy(a), from_numpy(b)
    for _ in range(2):
        for dim in (0, 1, -1):
            np.testing.assert_array_equal(aten.cat.default([x, y, x], dim).numpy(), np.concatenate([a, b, a], dim))
            parts = [x.t().contiguous().t(), y[:, ::2].t().t() if dim else y[::2], x[:0] if dim == 0 else x[:, :0]]
            want = np.concatenate([part.numpy() for part in parts], dim)
            found = aten.cat.default(parts, dim)
            np.testing.assert_array_equal(found.numpy(), want)
            assert found.is_contiguous()
        mixed = aten.cat.default([x, from_numpy(a.astype(np.float32)), from_numpy(np.ones((1, 4), np.int64))])
        assert mixed.dtype is dtypes.float64
        np.testing.assert_array_equal(mixed.numpy(), np.concatenate([a, a.astype(np.float32), np.ones((1, 4))]))
        # A 1-d tensor of size 0 goes with anything.
        np.testing.assert_array_equal(aten.cat.default([from_numpy(np.zeros(0)), x, y]).numpy(), np.concatenate([a, b]))
        for wrong, dim in (([x, y.t()], 0), ([x, x[0]], 0), ([x, y[:2]], 1), ([from_numpy(np.array(1.0))], 0)):
            with pytest.raises(ShapeError):
                aten.cat.default(wrong, dim)
        with pytest.raises(OutOfRangeError):
            aten.cat.default([x, y], 2)
        with pytest.raises(ArgumentError, match="cat"):
            aten.cat.default([x, None])
        with pytest.raises(ArgumentError, match="cat"):
            aten.cat.default([x, 1.0])


@pytest.mark.parametrize(
    ("shapes", "dim"), [([(2,), ()], 0), ([(), (2,)], 0), ([(2, 3), (2,)], 1), ([(2,), (2, 3)], 0)]
)
def test_cat_refuses_other_ranks(shapes, dim):
    with pytest.raises(ShapeError, match="cat"):
        opweave.cat([opweave.ones(shape) for shape in shapes], dim)
