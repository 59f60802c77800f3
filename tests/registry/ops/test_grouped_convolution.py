"""Convolution in groups against its definition in float64."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

import opweave as ow

Sizes = Sequence[int]


def correlated(x: np.ndarray, w: np.ndarray, groups: int, stride: Sizes, padding: Sizes, dilation: Sizes) -> np.ndarray:
    """The definition, a place of the windows at a time."""
    spatial, wide = range(len(stride)), x.dtype
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    counts = [
        (n - d * (k - 1) - 1) // s + 1
        for n, k, s, d in zip(x.shape[2:], w.shape[2:], stride, dilation, strict=True)
    ]  # fmt: skip
    out = np.zeros((x.shape[0], groups, w.shape[0] // groups, *counts), wide)
    for tap in itertools.product(*map(range, w.shape[2:])):
        first = [t * d for t, d in zip(tap, dilation, strict=True)]
        at = tuple(slice(first[i], first[i] + (counts[i] - 1) * stride[i] + 1, stride[i]) for i in spatial)
        part = x[(..., *at)].reshape(x.shape[0], groups, -1, math.prod(counts))
        filters = w[(..., *tap)].reshape(groups, -1, w.shape[1])
        out += (filters @ part).reshape(out.shape)
    return out.reshape(x.shape[0], w.shape[0], *counts)


def drawn(*sizes: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *sizes]).standard_normal(sizes)


def by_hand(
    x: np.ndarray, w: np.ndarray, y: np.ndarray, groups: int, stride: Sizes, padding: Sizes, dilation: Sizes
) -> tuple[np.ndarray, np.ndarray]:
    """The gradients of input and weight: each column is the result for a unit vector, times `y`."""
    of_x, of_w = np.zeros_like(x), np.zeros_like(w)
    steps = groups, stride, padding, dilation
    for place in np.ndindex(x.shape[1:]):
        unit = np.zeros_like(x[:1])
        unit[(0, *place)] = 1
        image = correlated(unit, w, *steps)
        of_x[(slice(None), *place)] = (image * y).reshape(len(y), -1).sum(1)
    for place in np.ndindex(w.shape):
        unit = np.zeros_like(w)
        unit[place] = 1
        of_w[place] = (correlated(x, unit, *steps) * y).sum()
    return of_x, of_w


CASES = [
    # channels, filters, groups, sizes, kernel, stride, padding, dilation
    (4, 4, 4, (7, 6), (3, 3), (1, 1), (1, 1), (1, 1)),
    (4, 4, 4, (9, 8), (3, 3), (2, 2), (1, 1), (1, 1)),
    (3, 3, 3, (11, 9), (5, 5), (1, 1), (2, 2), (1, 1)),
    (3, 3, 3, (11, 9), (5, 4), (3, 2), (2, 0), (1, 2)),
    (4, 8, 4, (8, 7), (3, 2), (2, 3), (1, 1), (2, 3)),
    (4, 2, 2, (7, 6), (3, 3), (1, 2), (0, 2), (2, 1)),
    (6, 4, 2, (7, 6), (2, 3), (2, 1), (1, 0), (1, 1)),
    (4, 4, 4, (13,), (3,), (4,), (1,), (2,)),  # some phases have no tap
    (4, 6, 2, (13,), (1,), (3,), (0,), (1,)),
    (2, 4, 2, (5, 4, 6), (3, 2, 2), (1, 2, 2), (1, 0, 1), (1, 1, 2)),
    (2, 2, 2, (5, 4, 6), (2, 3, 2), (2, 1, 1), (1, 1, 0), (1, 1, 1)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_result_and_gradients_follow_the_definition(case):
    c, o, groups, sizes, kernel, stride, padding, dilation = case
    x, w = drawn(3, c, *sizes), drawn(o, c // groups, *kernel, seed=1)
    steps = list(stride), list(padding), list(dilation)
    wanted = correlated(x, w, groups, *steps)
    y = drawn(*wanted.shape, seed=2)
    wanted_x, wanted_w = by_hand(x, w, y, groups, *steps)
    rest = *steps, False, [0] * len(sizes), groups
    image, filters, grad = ow.from_numpy(x), ow.from_numpy(w), ow.from_numpy(y)
    found = ow.ops.aten.convolution(image, filters, None, *rest).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    of_x, of_w, _ = ow.ops.aten.convolution_backward(grad, image, filters, None, *rest, [True, True, False])
    np.testing.assert_allclose(of_x.numpy(), wanted_x, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(of_w.numpy(), wanted_w, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("channels", "groups"), [(32, 32), (32, 4)])
def test_float32_is_as_accurate_as_its_terms_allow(channels, groups):
    x, w = drawn(4, channels, 28, 28), drawn(channels, channels // groups, 3, 3, seed=1)
    y = drawn(4, channels, 28, 28, seed=2)
    options = None, [1, 1], [1, 1], [1, 1], False, [0, 0], groups
    found = {}
    for dtype in (np.float32, np.float64):
        a, b, g = (ow.from_numpy(np.asarray(v.astype(np.float32).astype(dtype))) for v in (x, w, y))
        found[dtype] = [
            ow.ops.aten.convolution(a, b, *options).numpy(),
            *(t.numpy() for t in ow.ops.aten.convolution_backward(g, a, b, *options, [True, True, False])[:2]),
        ]
    for one, exact in zip(found[np.float32], found[np.float64], strict=True):
        assert one.dtype == np.float32
        assert np.abs(one - exact).max() <= 2e-6 * np.abs(exact).max()


@pytest.mark.parametrize("channels_in_group", [1, 2])
def test_infinite_numbers_stay_where_they_belong(channels_in_group):
    groups = 3
    x, w = (
        drawn(2, groups * channels_in_group, 6, 5),
        drawn(groups * channels_in_group, channels_in_group, 3, 3, seed=1),
    )
    options = None, [1, 1], [1, 1], [1, 1], False, [0, 0], groups
    y = drawn(2, groups * channels_in_group, 6, 5, seed=2)

    def back(x, w, y):
        a, b, g = ow.from_numpy(x), ow.from_numpy(w), ow.from_numpy(y)
        return [t.numpy() for t in ow.ops.aten.convolution_backward(g, a, b, *options, [True, True, False])[:2]]

    # An input is infinite at a border: what no window multiplies by it is as without it.
    odd = x.copy()
    odd[0, 0, 2, 4] = np.inf
    plain, found = back(x, w, y)[1], back(odd, w, y)[1]
    assert np.isinf(found[:channels_in_group, 0, :, 1:]).all()
    found[:channels_in_group, 0, :, 1:] = plain[:channels_in_group, 0, :, 1:]
    np.testing.assert_allclose(found, plain, rtol=1e-12)
    out = ow.ops.aten.convolution(ow.from_numpy(odd), ow.from_numpy(w), *options).numpy()
    normal = ow.ops.aten.convolution(ow.from_numpy(x), ow.from_numpy(w), *options).numpy()
    near = np.zeros(out.shape, bool)
    near[0, :channels_in_group, 1:4, 3:5] = True
    assert np.isinf(out[near]).all()
    np.testing.assert_allclose(out[~near], normal[~near], rtol=1e-12)
    # A weight is infinite: at the border no gradient lies below it.
    heavy = w.copy()
    heavy[0, 0, 0, 0] = np.inf
    of_x = back(x, heavy, y)[0]
    plain = back(x, w, y)[0]
    assert np.isinf(of_x[:, 0, :-1, :-1]).all()
    assert np.isfinite(of_x[:, 0, -1, :]).all() and np.isfinite(of_x[:, 0, :, -1]).all()
    np.testing.assert_allclose(of_x[:, 0, -1], plain[:, 0, -1], rtol=1e-12)


def test_the_same_twice():
    x, w = drawn(8, 48, 30, 31).astype(np.float32), drawn(48, 1, 5, 5, seed=1).astype(np.float32)
    options = None, [2, 1], [2, 2], [1, 1], False, [0, 0], 48
    one, two = (ow.ops.aten.convolution(ow.from_numpy(x), ow.from_numpy(w), *options).numpy() for _ in range(2))
    assert (one == two).all()


@pytest.mark.parametrize("dtype", [ow.int32, ow.int64, ow.uint8, ow.complex64, ow.complex128, ow.float16, ow.bfloat16])
def test_types(dtype):
    x, w = (ow.from_numpy(np.rint(drawn(*s) * 3) % 4).to(dtype) for s in ((2, 4, 6, 5), (4, 1, 3, 3)))
    found = ow.ops.aten.convolution(x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 4)
    numbers = [t.to(ow.complex128 if dtype.kind == "c" else ow.float64).numpy() for t in (x, w)]
    wanted = correlated(numbers[0], numbers[1], 4, [1, 1], [1, 1], [1, 1])
    assert found.dtype is dtype
    assert (found.to(ow.complex128 if dtype.kind == "c" else ow.float64).numpy() == wanted).all()


def test_a_layout_that_is_not_contiguous():
    x, w = drawn(2, 7, 6, 4), drawn(3, 5, 1, 4, seed=1)
    image = ow.from_numpy(x).permute(0, 3, 1, 2)
    filters = ow.from_numpy(w).permute(3, 2, 0, 1)
    found = ow.ops.aten.convolution(image, filters, None, [1, 2], [1, 2], [1, 1], False, [0, 0], 4).numpy()
    wanted = correlated(x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1), 4, [1, 2], [1, 2], [1, 1])
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
