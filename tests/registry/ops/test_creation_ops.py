"""Creation: sizes, types and layouts of new tensors; data from Python and NumPy."""

from __future__ import annotations

import collections
import math
from array import array as packed
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.registry import dtypes
from opweave.registry.errors import ArgumentError, DTypeError, IntegerRangeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.tensor import from_numpy


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (1, "int64"), (1.5, "float32"), (True, "bool"), (1j, "complex64"), ([1, 2.5], "float32"), ([], "float32"),
        ([True, 2], "int64"), ([[1], [2]], "int64"), (np.float64(1), "float64"), ([np.float64(1), 2], "float64"),
        (np.arange(3, dtype=np.int16), "int16"), (np.zeros(0, np.int8), "int8"), (np.float16(1), "float16"),
    ],
)  # fmt: skip
def test_type_of_data(data: Any, expected: str) -> None:
    assert opweave.tensor(data).dtype.name == expected
    assert opweave.tensor(data).shape == np.shape(data)
    assert opweave.tensor(data, dtype=opweave.complex128).dtype is opweave.complex128


def test_tensor_copies_and_as_tensor_shares() -> None:
    a = np.arange(4.0)
    copy, shared = opweave.tensor(a), opweave.as_tensor(a)
    a[0] = 9
    assert copy.tolist()[0] == 0 and shared.tolist()[0] == 9
    assert opweave.as_tensor(shared) is shared
    assert opweave.as_tensor(a, dtype=opweave.float32).dtype is opweave.float32
    assert opweave.tensor(shared).data_ptr() != shared.data_ptr()
    assert opweave.tensor([opweave.tensor(1.5), 2]).tolist() == [1.5, 2]
    assert opweave.tensor(a[::-1]).tolist() == a[::-1].tolist()


@pytest.mark.parametrize("data", ["text", [None], {"a": 1}, object()])
def test_data_that_is_none(data: Any) -> None:
    with pytest.raises(DTypeError):
        opweave.tensor(data)
    with pytest.raises(DTypeError, match="complex"):
        opweave.tensor(1j, dtype=opweave.float16)
    with pytest.raises(ShapeError, match="ragged"):
        opweave.tensor([[1], [1, 2]])


def test_default_dtype() -> None:
    opweave.set_default_dtype(opweave.float64)
    try:
        made = (opweave.tensor(1.5), opweave.zeros(2), opweave.full([2], 1.0), opweave.arange(0.5), opweave.rand(2))
        assert {t.dtype.name for t in made} == {"float64"}
        assert (opweave.tensor([1]) / 2).dtype is opweave.float64
    finally:
        opweave.set_default_dtype(opweave.float32)
    with pytest.raises(DTypeError):
        opweave.set_default_dtype(opweave.int32)


def test_sizes_written_out_or_listed() -> None:
    for made in (opweave.zeros(2, 3), opweave.zeros((2, 3)), opweave.ones([2, 3]), opweave.empty(2, 3),
                 opweave.rand(2, 3), opweave.zeros(size=(2, 3))):  # fmt: skip
        assert made.shape == (2, 3) and made.is_contiguous()
    assert opweave.zeros(()).shape == ()
    with pytest.raises(ShapeError):
        opweave.zeros(-1)


def test_like_keeps_a_dense_layout() -> None:
    x = opweave.empty(2, 3, 4).permute(2, 0, 1)
    for function in (opweave.empty_like, opweave.zeros_like, opweave.rand_like, opweave.randn_like):
        assert function(x).stride() == x.stride()
    assert opweave.full_like(x, 2, dtype=opweave.int8).dtype is opweave.int8
    assert opweave.ones_like(x[:, :, ::2]).is_contiguous() is False
    assert opweave.zeros_like(x[:1].expand(5, 2, 3)).stride() == (6, 3, 1)


def test_new_from_a_tensor() -> None:
    x = opweave.zeros(2, dtype=opweave.int16)
    assert x.new_zeros(2, 3).spec[:3] == ((2, 3), (3, 1), opweave.int16)
    assert x.new_empty([4], dtype=opweave.float64).dtype is opweave.float64
    assert x.new_full((2,), 7).tolist() == [7, 7] and x.new_ones(1).tolist() == [1]
    assert x.new_empty_strided((2, 2), (1, 2)).stride() == (1, 2)


def test_sequences() -> None:
    assert opweave.arange(3).tolist() == [0, 1, 2]
    assert opweave.arange(1, 2, 0.25).tolist() == [1, 1.25, 1.5, 1.75]
    assert opweave.arange(5, 0, -2).dtype is opweave.int64
    assert opweave.linspace(0, 1, 5).tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert opweave.linspace(3, 4, 1).tolist() == [3]
    assert opweave.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    for bad in ((0, 1, 0), (0, 5, -1), (0, math.inf)):
        with pytest.raises(ArgumentError):
            opweave.arange(*bad)


@pytest.mark.parametrize("diagonal", [-2, -1, 0, 1, 5])
def test_triangles(diagonal: int) -> None:
    for array in (np.arange(12.0).reshape(3, 4), np.arange(24).reshape(2, 3, 4), np.ones((3, 3), bool)):
        x = from_numpy(array.copy())
        np.testing.assert_array_equal(x.tril(diagonal).numpy(), np.tril(array, diagonal))
        np.testing.assert_array_equal(opweave.triu(x, diagonal).numpy(), np.triu(array, diagonal))
        assert x.tril(diagonal).dtype is x.dtype
        assert x.triu_(diagonal) is x
        np.testing.assert_array_equal(x.numpy(), np.triu(array, diagonal))
    with pytest.raises(ShapeError):
        opweave.tril(opweave.zeros(3))


def test_meta_device_needs_no_memory() -> None:
    huge = opweave.zeros(1 << 40, device="meta")
    assert (huge + 1).shape == (1 << 40,)
    assert ops.aten.empty.memory_format([2], device="meta").device.type == "meta"


def test_each_number_fills_anew() -> None:
    for _ in range(2):
        assert not np.signbit(opweave.full((3,), 0.0).numpy()).any()
        assert np.signbit(opweave.full((3,), -0.0).numpy()).all()
        kinds = [opweave.full((2,), value).dtype for value in (1, 1.0, True, 1j)]
        assert kinds == [dtypes.int64, dtypes.float32, dtypes.bool_, dtypes.complex64]
        assert opweave.full([2, 3], 7, dtype=dtypes.int16).tolist() == [[7] * 3] * 2
        assert opweave.zeros(2, 3).shape == (2, 3) and opweave.zeros([3, 2]).shape == (3, 2)
        assert opweave.zeros((2,), device="meta").device.type == "meta"
        first, second = opweave.zeros(4), opweave.zeros(4)
        first.add_(1.0)
        assert second.tolist() == [0.0] * 4 and opweave.ones(4).tolist() == [1.0] * 4
        with pytest.raises(ShapeError):
            opweave.zeros(-1)
        with pytest.raises(ArgumentError):
            opweave.zeros([1.5])


@pytest.mark.parametrize(
    "sizes", [(300, 400), (400, 300), (3, 200, 150), (1, 70000), (70000, 1), (5000, 4, 4)], ids=str
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool", "complex128"])
def test_triangles_of_large_matrices(sizes: tuple[int, ...], dtype: str) -> None:
    values = np.random.default_rng(0).integers(-2, 3, sizes)
    x = opweave.from_numpy(values).to(getattr(opweave, dtype))
    exact = x.to(opweave.complex128).numpy()
    for diagonal in (0, 1, -70, 10**6, -(10**6)):
        for given, array in ((x, exact), (x.transpose(-1, -2), exact.swapaxes(-1, -2))):
            for name in ("tril", "triu"):
                found = getattr(opweave, name)(given, diagonal)
                assert found.is_contiguous() and found.dtype is x.dtype
                np.testing.assert_array_equal(found.to(opweave.complex128).numpy(), getattr(np, name)(array, diagonal))


def test_gradients_of_triangles() -> None:
    x = opweave.ones(300, 300, requires_grad=True)
    (x.tril(1).square() + x.triu(2)).sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(
        x.grad.numpy(), np.tril(np.full((300, 300), 2.0), 1) + np.triu(np.ones((300, 300)), 2)
    )


def test_large_ranges_are_made_in_blocks() -> None:
    for start, end, step in (
        (0, 100_003, 1),
        (5, 300_000, 3),
        (200_000, 5, -1),
        (0.5, 100_000.25, 1),
        (0, 70_000.0, 1),
    ):
        found = opweave.arange(start, end, step, dtype=opweave.float64).numpy()
        np.testing.assert_array_equal(found, np.arange(start, end, step, dtype=np.float64))
    np.testing.assert_array_equal(opweave.eye(300, 401).numpy(), np.eye(300, 401))
    np.testing.assert_allclose(opweave.linspace(3, -7.5, 99_999, dtype=opweave.float64), np.linspace(3, -7.5, 99_999))


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (2**63, None), ([1, 2**63], None), ([-1, 2**63], None), (2**63, dtypes.int32), ([2**63], dtypes.uint8),
        (math.nan, dtypes.int32), ([1.0, math.nan], dtypes.int64), ([math.inf], dtypes.uint8), (1e20, dtypes.int64),
        (2.0**63, dtypes.int64), (-0.5, dtypes.uint8), ([255.9], dtypes.uint8), (300, dtypes.uint8),
    ],
)  # fmt: skip
def test_numbers_that_a_type_does_not_hold_are_refused(data: Any, dtype: Any) -> None:
    with pytest.raises(IntegerRangeError, match="out of the range"):
        opweave.tensor(data, dtype=dtype)


def test_numbers_at_the_ends_of_a_type_are_taken() -> None:
    assert opweave.tensor([2**63 - 1, -(2**63)]).tolist() == [2**63 - 1, -(2**63)]
    assert opweave.tensor([2**64 - 1, -1], dtype=dtypes.uint64).tolist() == [2**64 - 1, 2**64 - 1]
    assert opweave.tensor([1.9, -1.9], dtype=dtypes.int32).tolist() == [1, -1]
    assert opweave.tensor(2**63, dtype=dtypes.float32).item() == 2.0**63
    assert opweave.tensor(math.nan, dtype=dtypes.bool_).item() is True
    # An array is converted, as NumPy does it.
    assert opweave.tensor(np.array([300]), dtype=dtypes.uint8).tolist() == [44]


def test_sequences_of_numbers_are_lists() -> None:
    for data in (range(3), packed("h", [0, 1, 2]), collections.deque([0, 1, 2])):
        made = opweave.tensor(data)
        assert made.tolist() == [0, 1, 2] and made.dtype is dtypes.int64
    assert opweave.tensor([range(2), (3, 4)]).tolist() == [[0, 1], [3, 4]]


def test_arrays_of_the_other_byte_order_are_copied() -> None:
    given = np.arange(3, dtype=np.float32).astype(">f4")
    for made in (opweave.tensor(given), opweave.as_tensor(given)):
        assert made.tolist() == [0, 1, 2] and made.dtype is dtypes.float32
    with pytest.raises(DTypeError, match="byte order"):  # writes to it would not reach the array
        from_numpy(given)
