"""Adding at places that repeat, in half types: sums are float32's, rounded once, however many there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import opweave as ow
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

aten = ops.aten
PLACES = 3
#: Half of a step between neighbours, and as much again for what float32 loses.
STEP = {"float16": 2**-10, "bfloat16": 2**-7}
SUMS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "scatter_add": lambda x, at, source: ow.scatter_add(x, 0, at, source),
    "index_add": lambda x, at, source: ow.index_add(x, 0, at, source),
    "index_add_": lambda x, at, source: x.clone().index_add_(0, at, source),
    "index_put": lambda x, at, source: ow.index_put(x, [at], source, True),
    "index_put_": lambda x, at, source: ow.index_put_(x.clone(), [at], source, True),
    "put_": lambda x, at, source: x.clone().put_(at, source, True),
    "embedding": lambda x, at, source: x + aten.embedding_dense_backward.default(
        source.reshape(-1, 1), at, PLACES, -1, False
    ).reshape(-1),
    "among others": lambda x, at, source: ow.scatter_add(x, 0, at, source * 2) / 2,
}  # fmt: skip


def _doubles(x: Tensor) -> Any:
    return x.to(ow.float64).numpy()


@pytest.mark.parametrize("count", [30, 20_000])
@pytest.mark.parametrize("dtype", STEP)
@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_sums_of_many_are_exact(name: str, dtype: str, count: int, compiled: bool) -> None:
    rng = np.random.default_rng(0)
    source = ow.from_numpy(rng.random(count, dtype=np.float32)).to(getattr(ow, dtype))
    at, x = ow.from_numpy(rng.integers(0, PLACES, count)), ow.zeros(PLACES, dtype=source.dtype)
    expected = np.zeros(PLACES)
    np.add.at(expected, at.numpy(), _doubles(source))
    function = ow.compile(SUMS[name]) if compiled else SUMS[name]
    for _ in range(4):  # later calls may be replayed
        np.testing.assert_allclose(_doubles(function(x, at, source)), expected, rtol=STEP[dtype])


@pytest.mark.parametrize("dtype", STEP)
def test_sums_overflow_only_at_the_end(dtype: str) -> None:
    x, at = ow.zeros(2, dtype=getattr(ow, dtype)), ow.tensor([0, 0, 0, 1, 1])
    source = ow.tensor([60000.0, 60000.0, -60000.0, 1.0, float("nan")], dtype=x.dtype)
    for function in (SUMS["scatter_add"], ow.compile(SUMS["scatter_add"])):
        first, second = function(x, at, source).tolist()
        assert abs(first - 60000) <= 60000 * STEP[dtype] and np.isnan(second)


@pytest.mark.parametrize("dtype", STEP)
@pytest.mark.parametrize(
    ("sizes", "named"),
    [
        ((1000, 8), ([3, -1, 3, 999, -997, 3],)),
        ((1000, 8), ([3, -1, 3, 999, -997, 3], slice(None))),
        ((100, 80), ([[3, -1, 3], [99, -97, 3]], [0, 79, 0])),
        ((40, 30, 20), ([5, 5, -35], [7, 7, 7])),
        ((1000,), (7,)),
        ((10, 9, 80), (slice(None), [1, 1, 1])),
        ((0, 4), ([],)),
    ],
    ids=["rows", "rows and slice", "elements", "lines", "number", "not first", "nothing"],
)
@pytest.mark.parametrize("turned", [False, True], ids=["plain", "turned"])
def test_few_places_of_many(dtype: str, sizes: tuple[int, ...], named: tuple[Any, ...], turned: bool) -> None:
    rng = np.random.default_rng(1)
    x = ow.from_numpy(rng.standard_normal(sizes[::-1] if turned else sizes)).to(getattr(ow, dtype))
    x = x.permute(tuple(range(len(sizes)))[::-1]) if turned else x
    places = tuple(part if isinstance(part, slice) else np.asarray(part, np.int64) for part in named)
    expected = _doubles(x).copy()
    values = ow.from_numpy(rng.standard_normal(expected[places].shape)).to(x.dtype)
    np.add.at(expected, cast(Any, places), _doubles(values))
    indices = [None if isinstance(part, slice) else ow.from_numpy(part) for part in places]
    found = ow.index_put(x, indices, values, True)
    np.testing.assert_allclose(_doubles(found), expected, rtol=STEP[dtype], atol=STEP[dtype] / 8)
    untouched = expected == _doubles(x)
    np.testing.assert_array_equal(_doubles(found)[untouched], _doubles(x)[untouched])
