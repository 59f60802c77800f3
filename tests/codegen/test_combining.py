"""Elements combined at places that an index names, in native code, large and replayed, beside NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_calls import Watch

import opweave
from opweave import ops
from opweave.codegen.native import calls
from opweave.registry.errors import OpweaveError
from opweave.registry.op import registry
from opweave.registry.ops import combining
from opweave.registry.tensor import Tensor

aten = ops.aten
pytestmark = pytest.mark.skipif(not calls.install(True), reason="native code cannot know the layout of objects here")

TYPES = ("float32", "float64", "int64", "int32", "uint8", "bfloat16", "float16")
UFUNCS = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


@pytest.fixture(autouse=True)
def _as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests of the process changed built-in ops, and changed them back."""
    monkeypatch.setattr(registry, "shipped_version", registry.builtin_version)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What native code said."""
    said: list[bool] = []
    inner = combining.native.call
    assert inner is not None

    def call(*args: Any) -> Any:
        found = inner(*args)
        said.append(bool(found))
        return found

    monkeypatch.setattr(combining.native, "call", call)
    return said


def drawn(sizes: Any, dtype: str, seed: int, layout: str = "plain") -> Tensor:
    """Whole numbers, few enough that sums of them are exact."""
    low = 0 if dtype == "uint8" else -2
    draw = np.random.default_rng(seed)
    if layout == "turned" and len(sizes) > 1:
        return opweave.tensor(draw.integers(low, 3, sizes[::-1])).to(getattr(opweave, dtype)).permute(
            *reversed(range(len(sizes)))
        )  # fmt: skip
    if layout == "stepped":
        return opweave.tensor(draw.integers(low, 3, (*sizes[:-1], 2 * sizes[-1]))).to(getattr(opweave, dtype))[..., ::2]
    return opweave.tensor(draw.integers(low, 3, sizes)).to(getattr(opweave, dtype))


def numbers(sizes: tuple[int, ...], below: int, seed: int) -> Tensor:
    return opweave.tensor(np.random.default_rng(seed).integers(0, below, sizes))


def wide(t: Tensor) -> np.ndarray:
    return t.to(opweave.float64).numpy().copy()


def grid(axis: int, places: np.ndarray) -> tuple[Any, ...]:
    where: list[Any] = list(np.ogrid[tuple(slice(n) for n in places.shape)])
    where[axis] = places
    return tuple(where)


#: Sizes of the target, of the index, and the dimension.
SHAPES = {
    "vector": ((50,), (3000,), 0),
    "rows": ((40, 17), (300, 17), 0),
    "columns": ((9, 40), (9, 333), 1),
    "middle": ((5, 12, 7), (5, 60, 7), 1),
    "smaller": ((8, 20, 9), (5, 90, 7), 1),
}


@pytest.mark.parametrize("layout", ["plain", "turned", "stepped"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_all_reductions(dtype: str, shape: str, layout: str, ran: list[bool]) -> None:
    sizes, of_index, axis = SHAPES[shape]
    target, source = drawn(sizes, dtype, 0, layout), drawn(of_index, dtype, 1, layout)
    at = numbers(of_index, sizes[axis], 2)
    where = grid(axis, at.numpy())
    for reduce, ufunc in UFUNCS.items():
        if reduce == "prod" and dtype != "float64":
            continue  # products of many are no number of the type
        expected = wide(target)
        with np.errstate(all="ignore"):
            ufunc.at(expected, where, wide(source))
        expected = expected.astype(np.uint8).astype(np.float64) if dtype == "uint8" else expected
        np.testing.assert_array_equal(wide(aten.scatter_reduce.two(target, axis, at, source, reduce)), expected)
        if reduce == "sum":
            np.testing.assert_array_equal(wide(target.clone().scatter_add_(axis, at, source)), expected)
            np.testing.assert_array_equal(wide(opweave.scatter_add(target, axis, at, source)), expected)
    last = wide(target)
    last[where] = wide(source)
    np.testing.assert_array_equal(wide(target.clone().scatter_(axis, at, source)), last)
    assert any(ran)


@pytest.mark.parametrize("shape", ["vector", "rows", "columns", "middle"])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16"])
def test_slices_that_an_index_names(dtype: str, shape: str, ran: list[bool]) -> None:
    sizes, of_index, axis = SHAPES[shape]
    target, source = drawn(sizes, dtype, 0), drawn(of_index, dtype, 1)
    at = numbers(of_index[axis : axis + 1], sizes[axis], 2)
    expected = wide(target)
    np.add.at(expected, (*(slice(None),) * axis, at.numpy()), wide(source))
    np.testing.assert_array_equal(wide(target.clone().index_add_(axis, at, source)), expected)
    index = [*(slice(None),) * axis, at - sizes[axis]]
    put = target.clone()
    if axis == 0:
        np.testing.assert_array_equal(wide(put.index_put_((at - sizes[0],), source, accumulate=True)), expected)
    put[tuple(index)] += 0 * source  # what is read and written by numbers that count from the end
    np.testing.assert_array_equal(wide(put), expected if axis == 0 else wide(target))


def test_pairs_of_numbers(ran: list[bool]) -> None:
    target, source = drawn((30, 40, 3), "float32", 0), drawn((5000, 3), "float32", 1)
    first, second = numbers((5000,), 30, 2) - 15, numbers((5000,), 40, 3)
    expected = wide(target)
    np.add.at(expected, (first.numpy(), second.numpy()), wide(source))
    found = target.index_put((first, second), source, accumulate=True)
    np.testing.assert_array_equal(wide(found), expected)
    assert any(ran)
    turned = drawn((40, 30, 3), "float32", 4).transpose(0, 1)  # whose first two dimensions are no one
    expected = wide(turned)
    np.add.at(expected, (first.numpy(), second.numpy()), wide(source))
    np.testing.assert_array_equal(wide(turned.clone().index_put_((first, second), source, accumulate=True)), expected)


def test_extremes_of_numbers_that_are_none() -> None:
    for count in (4, 300):
        source = opweave.tensor([1.0, float("nan"), 3.0, -5.0] * (count // 4))
        at = opweave.tensor([0, 1, 2, 2] * (count // 4))
        for _ in range(4):
            for reduce, wanted in (("amax", [1, np.nan, 3, np.nan]), ("amin", [0, np.nan, -5, np.nan])):
                start: Any = opweave.tensor([0.0, 0.0, 0.0, float("nan")])
                np.testing.assert_array_equal(start.scatter_reduce(0, at, source, reduce).numpy(), wanted)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_means(dtype: str, include_self: bool) -> None:
    for count in (10, 20_000):
        target, source, at = drawn((7,), dtype, 0), drawn((count,), dtype, 1), numbers((count,), 6, 2)
        total, counts = wide(target) if include_self else np.zeros(7), np.full(7, float(include_self))
        np.add.at(total, at.numpy(), wide(source))
        np.add.at(counts, at.numpy(), 1)
        untouched = counts == 0
        mean = total / np.maximum(counts, 1)
        mean = np.floor(mean) if dtype == "int64" else mean.astype(dtype).astype(np.float64)
        mean[untouched] = wide(target)[untouched]
        for _ in range(4):
            found = target.scatter_reduce(0, at, source, "mean", include_self=include_self)
            np.testing.assert_allclose(wide(found), mean, rtol=1e-6 if dtype == "float32" else 0)


def test_order_is_that_of_the_elements_for_any_number_of_threads() -> None:
    draw = np.random.default_rng(0)
    values = draw.standard_normal((20_000, 64)).astype(np.float32)
    at = draw.integers(0, 50, 20_000)
    expected = np.zeros((50, 64), np.float32)
    for row, number in enumerate(at):
        expected[number] += values[row]
    threads = opweave.get_num_threads()
    try:
        for count in (1, 2, 3):
            opweave.set_num_threads(count)
            for dim, source in ((0, values), (1, values.T.copy())):
                made = opweave.zeros(*((50, 64) if dim == 0 else (64, 50)))
                made.index_add_(dim, opweave.tensor(at), opweave.tensor(source))
                whole = opweave.tensor(at).reshape((-1, 1) if dim == 0 else (1, -1)).expand(source.shape).contiguous()
                other = opweave.zeros_like(made).scatter_add_(dim, whole, opweave.tensor(source))
                for found in (made, other):
                    assert (found if dim == 0 else found.t().contiguous()).numpy().tobytes() == expected.tobytes()
    finally:
        opweave.set_num_threads(threads)


FORMS: dict[str, tuple[Any, Callable[[Tensor, Tensor, Tensor], Any]]] = {
    "scatter_": (aten.scatter_, lambda x, at, source: x.scatter_(0, at, source)),
    "scatter_add_": (aten.scatter_add_, lambda x, at, source: x.scatter_add_(0, at, source)),
    "scatter_reduce_": (aten.scatter_reduce_, lambda x, at, source: x.scatter_reduce_(0, at, source, "amax")),
    "index_put_": (aten.index_put_, lambda x, at, source: x.index_put_((at,), source, accumulate=True)),
    "index_copy_": (aten.index_copy_, lambda x, at, source: x.index_copy_(0, at, source)),
    "index_add_": (aten.index_add_, lambda x, at, source: x.index_add_(0, at, source)),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_in_place_are_replayed(name: str) -> None:
    packet, call = FORMS[name]
    at, source = numbers((30,), 8, 0), drawn((30,), "float32", 1)
    call(opweave.zeros(8), at, source)  # an op is known from its first call on
    watch = Watch(packet)
    x = opweave.zeros(8)
    once = None
    for turn in range(1, 6):
        made = call(x, at, source)
        assert made is x and x._version == turn
        once = x.clone() if once is None else once
        if name in ("scatter_", "scatter_reduce_", "index_copy_"):
            assert x.tolist() == once.tolist()
        else:
            assert x.tolist() == (turn * once).tolist()
    assert watch.made >= 3


@pytest.mark.parametrize("count", [30, 5000, 100_000])
@pytest.mark.parametrize("name", FORMS)
def test_a_wrong_number_is_found_before_anything_is_written(name: str, count: int) -> None:
    _, call = FORMS[name]
    source, right = drawn((count,), "float32", 1), numbers((count,), 8, 0)
    for wrong in (8, -9, 2**40):
        at = right.clone()
        at[count // 2] = wrong
        x = opweave.ones(8)
        for _ in range(4):
            call(opweave.ones(8), right, source)
            with pytest.raises(OpweaveError, match="out of range"):
                call(x, at, source)
            assert x.tolist() == [1.0] * 8


def test_what_is_read_may_lie_in_what_is_written() -> None:
    for _ in range(5):
        memory = opweave.arange(40, dtype=opweave.float32)
        apart = opweave.arange(40, dtype=opweave.float32)
        at = opweave.tensor([9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
        opweave.zeros(20).scatter_add_(0, at, opweave.zeros(10))  # one of these sizes that is replayed
        memory[:20].scatter_add_(0, at, memory[5:15])
        apart[:20].scatter_add_(0, at, memory.new_tensor(range(5, 15)))
        assert memory.tolist() == apart.tolist()
        x = opweave.arange(10, dtype=opweave.float32)
        assert x.scatter_(0, at, x).tolist() == list(range(9, -1, -1))
        places = opweave.arange(10)
        assert places.index_put_((places,), places, accumulate=True).tolist() == [2 * n for n in range(10)]
