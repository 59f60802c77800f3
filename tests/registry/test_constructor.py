"""`Tensor(...)`, `x.new(...)`, sizes, `x.data`, and objects that say what functions of tensors are for them."""

from __future__ import annotations

import gc
import pickle
from typing import Any

import numpy as np
import pytest

import opweave
from opweave import Tensor
from opweave.registry.errors import ArgumentError, AutogradError, DTypeError, ShapeError


@pytest.mark.parametrize(
    ("args", "sizes"),
    [
        ((), (0,)),
        ((4,), (4,)),
        ((2, 3), (2, 3)),
        ((0,), (0,)),
        ((np.int64(3),), (3,)),
        ((opweave.Size([2, 3]),), (2, 3)),
    ],
    ids=["nothing", "one", "two", "zero", "numpy", "size"],
)
def test_numbers_are_sizes(args: tuple[Any, ...], sizes: tuple[int, ...]) -> None:
    made = Tensor(*args)
    assert made.shape == sizes and made.dtype is opweave.float32
    assert opweave.zeros(1, dtype=opweave.int8).new(*args).shape == sizes
    assert opweave.zeros(1, dtype=opweave.int8).new(*args).dtype is opweave.int8


@pytest.mark.parametrize("data", [[2, 3], (2, 3), range(2, 4), np.array([2, 3]), np.array([2.0, 3.0])], ids=repr)
def test_sequences_are_elements(data: Any) -> None:
    assert Tensor(data).tolist() == [2.0, 3.0] and Tensor(data).dtype is opweave.float32
    assert opweave.zeros(1, dtype=opweave.int64).new(data).tolist() == [2, 3]
    opweave.set_default_dtype(opweave.float64)
    try:
        assert Tensor(data).dtype is Tensor(2).dtype is opweave.float64
    finally:
        opweave.set_default_dtype(opweave.float32)


def test_a_tensor_is_looked_into() -> None:
    x = opweave.tensor([1, 2])
    Tensor(x)[0] = 7
    assert x.tolist() == [7, 2] and Tensor(x).dtype is opweave.int64
    with pytest.raises(DTypeError, match=r"new: expected a tensor of opweave\.float32"):
        opweave.zeros(1).new(x)


@pytest.mark.parametrize("args", [(2.5,), (True,), ("a",), (None,), (2, 3.0), ([1], [2])], ids=repr)
def test_what_is_neither_is_refused(args: tuple[Any, ...]) -> None:
    with pytest.raises(ArgumentError, match="Tensor: expected sizes, or a sequence of elements"):
        Tensor(*args)


def test_sizes_are_not_negative() -> None:
    with pytest.raises(ShapeError, match="must not be negative"):
        Tensor(-1)


def test_sizes_stay_sizes() -> None:
    s = opweave.ones(2, 3, 4).shape
    for found, expected in [
        (s[1:], (3, 4)), (s[::-1], (4, 3, 2)), (s + (1,), (2, 3, 4, 1)), ((1,) + s, (1, 2, 3, 4)), (s[:0], ()),
        (s * 2, (2, 3, 4, 2, 3, 4)), (2 * s, (2, 3, 4, 2, 3, 4)), (s + s[1:], (2, 3, 4, 3, 4)),
        (pickle.loads(pickle.dumps(s)), (2, 3, 4)), (opweave.broadcast_shapes((2, 1), (3,)), (2, 3)),
        (opweave.Size([opweave.tensor(3), True]), (3, 1)),
    ]:  # fmt: skip
        assert type(found) is opweave.Size and found == expected
    assert type(s[0]) is int and s[-2:].numel() == 12
    with pytest.raises(TypeError, match="can only concatenate"):
        s + [1]  # pyright: ignore[reportUnusedExpression]
    with pytest.raises(TypeError, match=r"Size: expected whole numbers; got 1\.5"):
        opweave.Size([1.5])


def test_writes_to_data_are_not_counted() -> None:
    x = opweave.ones(3, requires_grad=True)
    y = x * 1
    z = (y * y).sum()
    y.data[0] = 5  # a backward pass sees what is there now, as in PyTorch
    y.data.mul_(2)
    assert y.tolist() == [10, 2, 2] and not y.data.requires_grad and not y.data._is_view()
    z.backward()
    assert x.grad is not None and x.grad.tolist() == [20, 4, 4]
    assert y.data.untyped_storage() == y.untyped_storage() and y.data.data_ptr() == y.data_ptr()
    y = x * 1
    z = (y * y).sum()
    y.detach()[0] = 5
    with pytest.raises(AutogradError, match="modified by an in-place operation"):
        z.backward()


def test_writes_to_data_reach_views_and_overlaps_are_seen() -> None:
    x = opweave.arange(6.0)
    x[1:].copy_(x.data[:-1])
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    double = opweave.compile(lambda a, b: a.mul_(2) + b)
    assert double(x, x.data).tolist() == [0, 0, 4, 8, 12, 16]


def test_memory_that_data_looks_into_is_kept() -> None:
    x = opweave.ones(3)
    other = x.data
    with pytest.raises(ShapeError, match="whose memory other tensors share"):
        opweave.exp(opweave.zeros(5), out=x)
    x[0] = 7
    assert other.tolist() == [7, 1, 1]
    del other
    gc.collect()  # what noted the first write for later ones has held it
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        opweave.exp(opweave.zeros(5), out=x)
    assert x.tolist() == [1] * 5


class Meters:
    """A number with a unit."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert types == (cls,)
        if func is opweave.exp:
            return NotImplemented
        plain = [a.value if isinstance(a, Meters) else a for a in args]
        if func in (opweave.cat, opweave.stack):
            plain[0] = [a.value if isinstance(a, Meters) else a for a in plain[0]]
        return Meters(func(*plain, **(kwargs or {})))


def test_objects_say_what_functions_are_for_them() -> None:
    x = opweave.tensor([1.0, 2.0])
    for found, expected in [
        (opweave.add(Meters(x), x), [2, 4]), (opweave.mul(x, Meters(x)), [1, 4]), (opweave.sum(Meters(x)), 3),
        (opweave.cat([x, Meters(x)]), [1, 2, 1, 2]), (opweave.sum(Meters(x), dim=0, keepdim=True), [3]),
    ]:  # fmt: skip
        assert isinstance(found, Meters) and found.value.tolist() == expected
    with pytest.raises(TypeError, match=r"no implementation in the __torch_function__ of Meters"):
        opweave.exp(Meters(x))
    with pytest.raises(ArgumentError, match="add: no overload takes these arguments"):
        opweave.add(x, object())
