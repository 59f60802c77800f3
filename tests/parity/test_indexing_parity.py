"""Indexing against PyTorch: the ops sample by sample, and `x[...]` with all kinds of index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from op_samples import maker, ops_with_samples, replace_tensors
from oracle import check, compare, to_torch

import opweave
from opweave.registry import dtypes
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import indexing, scatter, selection
from opweave.registry.ops.subscript import getitem, setitem
from opweave.registry.tensor import Tensor, from_numpy

rows = from_numpy(np.array([2, 0, -1]))
grid = from_numpy(np.array([[1, 0], [2, 2]]))
mask = from_numpy(np.array([True, False, True, True]))
plane = from_numpy(np.arange(20).reshape(4, 5) % 3 == 0)
number = from_numpy(np.array(2))

KEYS: list[Any] = [
    0, -1, (1, 2), (slice(None), 2), (..., 1), (..., None), None, (None, 0, None), slice(1, 3), slice(None, None, 2),
    slice(-3, 100), slice(3, 1), (slice(None), slice(1, 4, 2), -1), ..., (), (0, 0, 0), (np.int64(1), slice(None)),
    [0, 2], rows, (slice(None), rows), (rows, rows), (rows, slice(None), rows), (grid, None, grid),
    (0, rows), (slice(None), 0, rows), (rows, 0), (rows, slice(None), 0), (0, slice(None), rows), (..., rows), mask,
    (mask, 1), (mask, [0, 1, 2]), plane, (plane, 0), (plane, rows.tolist()[:1]), number, (number, rows), True, False,
    (None, True), (rows, None, slice(1, 3)), (slice(None), [True, False, True, True, False]), np.array([1, 0]), [],
]  # fmt: skip


@pytest.mark.parametrize("op", ops_with_samples(indexing, scatter, selection), ids=str)
def test_matches_pytorch(op: OpOverload) -> None:
    assert check(op)


def _theirs(key: Any) -> Any:
    return replace_tensors(key, to_torch)


def _layouts() -> list[Tensor]:
    make = maker(dtypes.float32)
    return [make(4, 5, 3), ops.aten.permute.default(make(5, 3, 4), [2, 0, 1])]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_getitem(key: Any) -> None:
    for x in _layouts():
        compare(getitem(x, key), to_torch(x)[_theirs(key)], key)


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_setitem(key: Any) -> None:
    for x in _layouts():
        other = to_torch(x)
        part = getitem(x, key)
        values: list[Any] = [7, from_numpy(np.array(2.5, np.float32)), True]
        # One value for all: with repeated places any of several would do.
        values.append(from_numpy(np.full((1, *part._sizes), 3, np.float32)))
        for value in values:
            setitem(x, key, value)
            other[_theirs(key)] = to_torch(value) if isinstance(value, Tensor) else value
            compare(x, other, key)


@pytest.mark.parametrize("key", [4, (0, 5), (0, 0, 0, 0), [4], (slice(None), [7]), [True] * 3])
def test_refused_alike(key: Any) -> None:
    x = _layouts()[0]
    with pytest.raises(IndexError):
        getitem(x, key)
    with pytest.raises(IndexError):
        to_torch(x)[key]


@pytest.mark.parametrize(
    ("sizes", "name"),
    [((0,), "uint8"), ((2, 0), "uint8"), ((2, 0), "int64"), ((0,), "float32"), ((3,), "int32")],
    ids=str,
)
def test_gradients_of_gather_by_indices_of_other_types(sizes: tuple[int, ...], name: str) -> None:
    found = []
    for m in (opweave, torch):
        x = m.arange(5.0).requires_grad_()
        picked = m.gather(x, 0, m.ones(sizes, dtype=getattr(m, name)))
        (grad,) = m.autograd.grad(picked.sum(), x)
        found.append([tuple(picked.shape), grad.tolist()])
    assert found[0] == found[1]
