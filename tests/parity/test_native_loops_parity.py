"""Ops that have native loops of their own when called eagerly, at sizes that take these, beside PyTorch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from oracle import close, compare, to_torch

import opweave as ow

_FLOATS = (ow.float32, ow.float64, ow.bfloat16, ow.float16)


def _drawn(sizes: tuple[int, ...], dtype: Any, special: bool = True) -> Any:
    draw = np.random.default_rng(0)
    x = np.round(draw.standard_normal(sizes) * 3) / 2
    if special and dtype in _FLOATS:
        x.flat[draw.integers(0, x.size, 4)] = [math.nan, -0.0, math.inf, -math.inf]
    return ow.from_numpy(np.abs(x) if dtype is ow.uint8 else x).to(dtype)


@pytest.mark.parametrize("dtype", [*_FLOATS, ow.int64, ow.int32, ow.int16, ow.int8, ow.uint8, ow.bool])
@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extremes(name: str, dtype: Any) -> None:
    for sizes in ((3, 50), (7, 5, 600), (4,), (2, 1)):
        x = _drawn(sizes, dtype)
        for given in (x, x.transpose(0, -1)):
            for dim in range(-1, len(sizes)):
                found = getattr(ow, name)(given, dim)
                expected = getattr(torch, name)(to_torch(given), dim)
                for mine, theirs in zip(found, expected, strict=True):
                    compare(mine, theirs, (name, dim))
                signs = [np.signbit(t.double().numpy()) for t in (found[0], expected[0])]
                known = ~np.isnan(found[0].double().numpy())
                np.testing.assert_array_equal(signs[0][known], signs[1][known])


@pytest.mark.parametrize("dtype", [ow.float32, ow.float64])
@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, math.inf])
def test_distances(p: float, dtype: Any) -> None:
    direct = "donot_use_mm_for_euclid_dist"
    for mine, theirs in (((40, 64), (33, 64)), ((5, 40, 7), (33, 7)), ((2, 1, 30, 5), (3, 20, 5)), ((30, 1), (40, 1))):
        x, y = _drawn(mine, dtype, special=False), _drawn(theirs, dtype, special=False)
        for a, b in ((x, y), (x.transpose(-1, -2).contiguous().transpose(-1, -2), y)):
            expected = torch.cdist(to_torch(a), to_torch(b), p=p, compute_mode=direct)
            close(ow.cdist(a, b, p=p).numpy(), expected.numpy(), f"cdist, results, {np.dtype(dtype.numpy)}")
    x[0, 0], x[1, 0] = math.nan, math.inf
    found = ow.cdist(x, y, p=p)
    assert found[0].isnan().all() and (p == 0 or (found[1] == math.inf).all())


@pytest.mark.parametrize("dtype", [ow.float32, ow.float64, ow.bfloat16])
def test_pools_to_a_size(dtype: Any) -> None:
    functional = ow.nn.functional
    for sizes, wanted in (
        ((2, 3, 10, 13), [(7, 7), (1, 5), (20, 3), (10, 13), (4, 1)]),
        ((3, 31, 31), [(7, 7), (5, 2)]),
    ):
        x = _drawn(sizes, dtype)
        for size in wanted:
            means = torch.nn.functional.adaptive_avg_pool2d(to_torch(x), size)
            compare(functional.adaptive_avg_pool2d(x, size), means, size, "adaptive pooling")
            found = functional.adaptive_max_pool2d(x, size, return_indices=True)
            expected = torch.nn.functional.adaptive_max_pool2d(to_torch(x), size, return_indices=True)
            for mine, theirs in zip(found, expected, strict=True):
                compare(mine, theirs, size)


@pytest.mark.parametrize("padding", [None, 3])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_many_lengths(mode: str, padding: int | None) -> None:
    draw = np.random.default_rng(0)
    weight = _drawn((20, 9), ow.float32, special=False)
    weight[5, 2] = math.nan
    indices, offsets = (ow.from_numpy(v) for v in (draw.integers(0, 20, 150), np.array([0, 0, 7, 7, 30, 149])))
    found = ow.nn.functional.embedding_bag(indices, weight, offsets, mode=mode, padding_idx=padding)
    given = [to_torch(t) for t in (indices, weight, offsets)]
    expected = torch.nn.functional.embedding_bag(*given, mode=mode, padding_idx=padding)
    close(found.numpy(), expected.numpy(), "beside PyTorch")
