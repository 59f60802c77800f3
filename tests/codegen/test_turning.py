"""Copies of what lies in another order: every element is where it belongs, and nothing else is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opweave
from opweave.codegen.turning import turn


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "f2", "i8"])
@pytest.mark.parametrize(("sizes", "order"), [
    ((40, 30), (1, 0)), ((257, 1001), (1, 0)), ((17, 16), (1, 0)), ((3, 50, 77), (0, 2, 1)), ((50, 3, 77), (2, 1, 0)),
    ((5, 20, 30, 40), (0, 3, 1, 2)), ((6, 40, 33), (2, 0, 1)),
], ids=str)  # fmt: skip
def test_arrays_are_turned(dtype: str, sizes: tuple[int, ...], order: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).integers(0, 20_000, sizes).astype(dtype).transpose(order)
    room = np.full((x.shape[0] + 2, *x.shape[1:]), 7, dtype)
    assert turn(x, room[1:-1])
    np.testing.assert_array_equal(room[1:-1], x)
    assert (room[0] == 7).all() and (room[-1] == 7).all()


def test_parts_of_arrays() -> None:
    x, room = np.random.default_rng(0).standard_normal((90, 120)).astype(np.float32), np.zeros((70, 95), np.float32)
    out = room[:, 10:87]
    assert turn(x[3:80, 5:75].T, out)
    np.testing.assert_array_equal(out, x[3:80, 5:75].T)
    assert not room[:, :10].any() and not room[:, 87:].any()


def test_what_is_left_to_other_ways() -> None:
    x = np.zeros((64, 64), np.float32)
    read_only = np.zeros((64, 64), np.float32)
    read_only.flags.writeable = False
    for source, out in (
        (x, np.zeros((64, 64), np.float32)), (x.T, np.zeros((64, 64), np.float64)), (x[::2].T, read_only[:, :32]),
        (x.astype(np.int8).T, np.zeros((64, 64), np.int8)), (x[:10].T, np.zeros((64, 10), np.float32)),
    ):  # fmt: skip
        assert not turn(source, out)


@pytest.mark.parametrize("dtype", [opweave.float32, opweave.bfloat16, opweave.float64, opweave.int64, opweave.bool])
def test_tensors(dtype: opweave.dtype) -> None:
    x = opweave.from_numpy(np.random.default_rng(0).integers(0, 100, (160, 128))).to(dtype)
    a = x.to(opweave.int64).numpy().copy()

    def wide(t: Any) -> Any:
        return t.to(opweave.int64).numpy()

    np.testing.assert_array_equal(wide(x.t().contiguous()), a.T)
    np.testing.assert_array_equal(wide(opweave.empty(128, 160, dtype=dtype).copy_(x.t())), a.T)
    square = x[:128]
    if dtype is not opweave.bool:
        for found in (
            square.t() + square,
            square + square.t(),
            opweave.add(square, square.t(), out=square.t().clone()),
        ):
            np.testing.assert_array_equal(wide(found), a[:128].T + a[:128])
    square.copy_(square.t())  # which lies in the same memory
    np.testing.assert_array_equal(wide(square), a[:128].T)
    image = x.view(2, 16, 8, 80).permute(0, 2, 3, 1)
    np.testing.assert_array_equal(wide(image.contiguous()), np.ascontiguousarray(wide(image)))
