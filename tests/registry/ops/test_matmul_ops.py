"""Matrix products: layouts without data, accuracy, operands as they lie in memory, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from op_samples import check_meta, maker, ops_with_samples

from opweave.registry import dtypes
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import linear, matmul
from opweave.registry.ops.matmul import _for_blas
from opweave.registry.tensor import from_numpy

aten = ops.aten
make, ints = maker(dtypes.float32), maker(dtypes.int64)


@pytest.mark.parametrize("op", [*ops_with_samples(matmul), *ops_with_samples(linear)], ids=str)
def test_layout_without_data(op: OpOverload) -> None:
    assert check_meta(op)


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64], ids=repr)
def test_accuracy(dtype: dtypes.DType) -> None:
    a, b = maker(dtype, 1)(40, 500), maker(dtype, 2)(500, 30)
    left, right = a.numpy().astype(np.float64), b.numpy().astype(np.float64)
    size = np.abs(left) @ np.abs(right)
    bound = {"float16": 2**-11, "bfloat16": 2**-8, "float32": 1e-6}.get(dtype.name, 1e-14)
    for result in (aten.mm.default(a, b), aten.matmul.default(a, b)):
        assert result.dtype is dtype
        assert (np.abs(result.numpy().astype(np.float64) - left @ right) <= bound * size).all()


def test_the_result_is_allocated_by_the_tensor_library() -> None:
    result = aten.mm.default(make(8, 8), make(8, 8))
    assert result.data_ptr() % 64 == 0 and result._storage._ptr is not None


def test_transposed_operands_are_not_copied() -> None:
    a = np.zeros((6, 4), np.float32)
    for array in (a, a.T, a[:, :2], a[::2], a[1:, 1:].T, np.zeros((2, 3, 4)).transpose(0, 2, 1)):
        assert _for_blas(np, array) is array
    for array in (a[:, ::2], np.broadcast_to(a[:1], (6, 4))):
        assert _for_blas(np, array).flags.c_contiguous


def test_beta_zero_ignores_the_input() -> None:
    nothing = from_numpy(np.full((3,), np.nan, np.float32))
    a, b = make(2, 4), make(4, 3)
    result = aten.addmm.default(nothing, a, b, beta=0, alpha=2)
    np.testing.assert_allclose(result.numpy(), 2 * (a.numpy() @ b.numpy()), rtol=1e-6)


def test_an_empty_inner_dimension_gives_zeros() -> None:
    assert not aten.mm.default(make(2, 0), make(0, 3)).numpy().any()
    assert aten.matmul.default(make(0, 2), make(2, 3)).shape == (0, 3)
    assert aten.linear.default(make(2, 0), make(3, 0), make(3)).shape == (2, 3)


def test_integers_wrap() -> None:
    x = from_numpy(np.full((1, 2), 100, np.uint8))
    assert aten.mm.default(x, aten.t.default(x)).item() == 20000 % 256


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda a, b: aten.mm.default(a, a), ShapeError, r"cannot multiply \[2, 3\] by \[2, 3\]"),
        (lambda a, b: aten.mm.default(a, make(3)), ShapeError, "2-d and 2-d"),
        (lambda a, b: aten.mm.default(a, b.double()), DTypeError, "same dtype"),
        (lambda a, b: aten.mm.default(a.bool(), b.bool()), DTypeError, "not defined for bool"),
        (lambda a, b: aten.bmm.default(make(2, 2, 3), make(3, 3, 2)), ShapeError, "cannot multiply"),
        (lambda a, b: aten.addmm.default(make(3), a, b), ShapeError, "broadcast"),
        (lambda a, b: aten.addmm.default(ints(2), ints(2, 3), ints(3, 2), alpha=math.nan), DTypeError, "not fit"),
        (lambda a, b: aten.matmul.default(a, make()), ShapeError, "at least one dimension"),
        (lambda a, b: aten.matmul.default(make(2, 2, 3), make(3, 3, 2)), ShapeError, "broadcast"),
        (lambda a, b: aten.matmul.default(make(2, 2, 3), make(4)), ShapeError, "cannot multiply"),
        (lambda a, b: aten.linear.default(a, make(4, 2)), ShapeError, "cannot multiply"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(make(2, 3), make(3, 2))


@pytest.mark.parametrize(
    "dtype", [dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16, dtypes.complex64], ids=str
)
@pytest.mark.parametrize("turned", [False, True], ids=["plain", "turned"])
@pytest.mark.parametrize(
    "sizes", [(1, 1), (3, 5), (1, 40), (40, 1), (64, 64), (100, 300), (0, 3), (3, 0), (600, 700)], ids=str
)
def test_products_with_a_vector_are_the_same_each_time(
    sizes: tuple[int, int], turned: bool, dtype: dtypes.DType
) -> None:
    rng = np.random.default_rng(0)
    m, k = sizes
    aten = ops.aten
    for apart in (1, 2):
        matrix = from_numpy(rng.standard_normal((k, m) if turned else (m, k))).to(dtype)
        matrix = matrix.mT if turned else matrix
        vector, term = (from_numpy(rng.standard_normal(n * apart)).to(dtype)[::apart] for n in (k, m))
        column = from_numpy(rng.standard_normal((k, 1))).to(dtype)
        wide = [
            x.to(dtypes.complex128 if dtype.kind == "c" else dtypes.float64).numpy() for x in (matrix, vector, term)
        ]
        calls = {
            "mv": (lambda: aten.mv(matrix, vector), wide[0] @ wide[1]),
            "addmv": (lambda: aten.addmv(term, matrix, vector), wide[2] + wide[0] @ wide[1]),
            "dot": (lambda: aten.dot(vector, vector), wide[1] @ wide[1]),
            "column": (lambda: aten.mm(matrix, column), wide[0] @ column.to(dtypes.complex128).numpy()),
        }  # fmt: skip
        for call, wanted in calls.values():
            found = [call() for _ in range(5)]
            step = {2: 2.0**-7, 4: 1e-5}.get(dtype.itemsize, 1e-5 if dtype.kind == "c" else 1e-12)
            for x in found:
                assert x.shape == wanted.shape
                got = x.to(dtypes.complex128).numpy()
                np.testing.assert_allclose(got, wanted, rtol=step, atol=step * max(k, 1) ** 0.5)
                np.testing.assert_array_equal(x.to(dtypes.complex128).numpy(), found[0].to(dtypes.complex128).numpy())
