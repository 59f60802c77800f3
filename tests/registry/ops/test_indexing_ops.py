"""Indexing: layouts without data, values against NumPy, what is a view, errors."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from op_samples import as_meta, check_meta, maker, ops_with_samples

import opweave
from opweave.registry import dtypes
from opweave.registry.errors import ArgumentError, DataDependentError, DTypeError, OutOfRangeError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import embedding, indexing, scatter
from opweave.registry.ops.outer_places import outer_places
from opweave.registry.ops.subscript import getitem, setitem
from opweave.registry.tensor import from_numpy

aten = ops.aten
make = maker(dtypes.float32)
mask = np.array([True, False, True])
places = from_numpy(np.array([2, 0, 2]))


@pytest.mark.parametrize("op", ops_with_samples(indexing, scatter, embedding), ids=str)
def test_layout_without_data(op: OpOverload) -> None:
    assert check_meta(op)


BASIC: list[Any] = [0, -1, (1, 2), slice(1, None), (..., 0), (None, 1), ..., (), (slice(None, None, 2), None, -1)]


@pytest.mark.parametrize("key", BASIC, ids=repr)
def test_basic_indices_give_views(key: Any) -> None:
    x = make(3, 4, 2)
    array = x.numpy()
    part = getitem(x, key)
    np.testing.assert_array_equal(part.numpy(), array[key])
    assert part._base is x
    expected = array.copy()
    expected[key] = 9
    setitem(x, key, 9)
    np.testing.assert_array_equal(x.numpy(), expected)
    assert x._version == part._version == 1


ADVANCED: list[Any] = [
    [0, 2], (slice(None), [1, 1, 0]), ([0, 1], [1, 2]), ([0, 1], slice(None), [1, 0]), mask, (mask, 1), (mask, [1, 3]),
    np.array([[0, 1], [2, 2]]), (..., [0, 1]), (None, [0]), np.eye(3, 4) > 0,
]  # fmt: skip


@pytest.mark.parametrize("key", ADVANCED, ids=repr)
def test_advanced_indices_copy(key: Any) -> None:
    x = make(3, 4, 2)
    array = x.numpy()
    part = getitem(x, key)
    np.testing.assert_array_equal(part.numpy(), array[key])
    assert part._storage is not x._storage
    expected = array.copy()
    expected[key] = 9
    setitem(x, key, 9)
    np.testing.assert_array_equal(x.numpy(), expected)
    assert x._version == 1


def test_an_integer_is_taken_before_index_tensors() -> None:
    # PyTorch's rule; NumPy would count the 0 as an index array and move the result's dimension to the front.
    assert getitem(make(2, 3, 4), (0, slice(None), [1, 1])).shape == (3, 2)


def test_assignment_broadcasts_and_converts() -> None:
    x = make(3, 4)
    setitem(x, 0, from_numpy(np.arange(4)))
    setitem(x, (slice(1, 3), slice(0, 2)), [[1, 2], [3, 4]])
    setitem(x, (slice(None), [3]), np.float64(0.5))
    setitem(x, (0, 0), from_numpy(np.full((1, 1, 1), 8)))
    np.testing.assert_array_equal(x.numpy()[0], [8, 1, 2, 0.5])
    np.testing.assert_array_equal(x.numpy()[1:, :2], [[1, 2], [3, 4]])


def test_overlapping_assignment_reads_before_it_writes() -> None:
    x = from_numpy(np.arange(6.0))
    setitem(x, slice(1, None), getitem(x, slice(None, -1)))
    np.testing.assert_array_equal(x.numpy(), [0, 0, 1, 2, 3, 4])


def test_accumulate_adds_up_repeated_places() -> None:
    for dtype in (dtypes.float32, dtypes.bfloat16, dtypes.int64):
        x = maker(dtype)(3, low=0, high=0)
        ones = maker(dtype)(3, low=1, high=1)
        aten.index_put_.default(x, [places], ones, True)
        np.testing.assert_array_equal(x.numpy().astype(np.float32), [1, 0, 2])


def test_data_dependent_sizes() -> None:
    x = from_numpy(np.array([[1.0, 0.0], [0.0, np.nan]]))
    np.testing.assert_array_equal(aten.nonzero.default(x).numpy(), [[0, 0], [1, 1]])
    assert aten.nonzero.default(make()).shape == (1, 0)
    some = from_numpy(np.array([True, False]))
    np.testing.assert_array_equal(aten.masked_select.default(x, some).numpy(), [1, 0])
    for call in (
        lambda t: aten.nonzero.default(t), lambda t: aten.masked_select.default(t, as_meta(some)),
        lambda t: aten.index.Tensor(t, [as_meta(some)]),
    ):  # fmt: skip
        with pytest.raises(DataDependentError, match="depends on data"):
            call(as_meta(x))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: getitem(x, 3), OutOfRangeError, "index 3 is out of range for dimension 0 with size 3"),
        (lambda x: getitem(x, (0, -5)), OutOfRangeError, "index -5 is out of range"),
        (lambda x: getitem(x, (0, 0, 0)), OutOfRangeError, "too many indices"),
        (lambda x: getitem(x, (..., ...)), OutOfRangeError, "one ellipsis"),
        (lambda x: getitem(x, [0, 3]), OutOfRangeError, "index 3 is out of range"),
        (lambda x: getitem(x, [-4]), OutOfRangeError, "index -4 is out of range"),
        (lambda x: getitem(x, [True, False]), OutOfRangeError, "does not fit"),
        (lambda x: getitem(x, 1.5), ArgumentError, "only integers"),
        (lambda x: getitem(x, "a"), ArgumentError, "only integers"),
        (lambda x: getitem(x, [0.5]), ArgumentError, "integers or bools"),
        (lambda x: getitem(x, slice(None, None, -1)), ShapeError, "positive"),
        (lambda x: getitem(x, x), DTypeError, "integer type or bool"),
        (lambda x: getitem(make(), 0), OutOfRangeError, "0-d"),
        (lambda x: setitem(x, 0, make(3)), ShapeError, "broadcast"),
        (lambda x: setitem(x, [0], make(2, 3)), ShapeError, "broadcast"),
        (lambda x: setitem(x, 0, object()), ArgumentError, "cannot assign"),
        (lambda x: aten.index_put_.default(x, [places], from_numpy(np.arange(4))), DTypeError, "tensor's type"),
        (lambda x: aten.index_select.default(x, 0, from_numpy(np.array([-1]))), OutOfRangeError, "index -1"),
        (lambda x: aten.index_select.default(x, 0, from_numpy(np.zeros((1, 1), int))), ShapeError, "vector"),
        (lambda x: aten.gather.default(x, 0, from_numpy(np.array([[3]]))), OutOfRangeError, "index 3"),
        (lambda x: aten.gather.default(x, 0, places), ShapeError, "as many dimensions"),
        (lambda x: aten.gather.default(x, 0, make(3, 4)), DTypeError, "int64"),
        (lambda x: aten.scatter.src(x, 0, from_numpy(np.array([[9]])), make(1, 1)), OutOfRangeError, "index 9"),
        (lambda x: aten.embedding.default(x, from_numpy(np.array([3]))), OutOfRangeError, "index 3"),
        (lambda x: aten.embedding.default(x, make(2)), DTypeError, "int32 or int64"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(make(3, 4))


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.bfloat16, dtypes.complex128, dtypes.bool_], ids=repr)
def test_one_index_tensor_takes_along_its_dimension(kind: str, dtype: dtypes.DType) -> None:
    draw = np.random.default_rng(0)
    source = from_numpy(draw.integers(-5, 5, (300, 4, 7))).to(dtype)
    sizes = (300, 4, 7)
    for view, order in ((source, (0, 1, 2)), (source.permute(2, 0, 1), (2, 0, 1))):
        array = view._array
        for dim in range(3):
            bound = min(sizes[order[dim]], 127)
            for shape in ((5,), (2, 3), (0,), (1, 1), (40, 30)):
                places = draw.integers(-bound, bound, shape).astype(kind)
                key = (slice(None),) * dim + (from_numpy(places),)
                for _ in range(2):
                    found = view[key]
                    want = array[(slice(None),) * dim + (places,)]
                    np.testing.assert_array_equal(found._array.astype("c16"), want.astype("c16"))
                    fake = aten.index.Tensor(view.to("meta"), [None] * dim + [from_numpy(places).to("meta")])
                    assert found.stride() == fake.stride() and found.shape == fake.shape


def test_an_index_out_of_range_is_refused_each_time() -> None:
    x = from_numpy(np.arange(12.0).reshape(3, 4))
    assert x[from_numpy(np.array([-3, 2]))][:, 0].tolist() == [0.0, 8.0]
    for wrong in (3, -4):
        for _ in range(2):
            with pytest.raises(OutOfRangeError, match=f"index {wrong} is out of range"):
                x[from_numpy(np.array([0, wrong]))]
    with pytest.raises(OutOfRangeError, match="out of range"):
        from_numpy(np.zeros((0, 4)))[from_numpy(np.array([0]))]
    assert from_numpy(np.zeros((0, 4)))[from_numpy(np.zeros(0, np.int64))].shape == (0, 4)


def test_slices_are_those_of_lists() -> None:
    draw = random.Random(0)
    for _ in range(400):
        size = draw.randrange(0, 6)
        rows = np.arange(size * 2.0).reshape(size, 2)
        bounds = [draw.choice([None, 0, draw.randrange(-9, 9), 2**63 - 1]) for _ in range(2)]
        key = slice(bounds[0], bounds[1], draw.choice([None, 1, 2, 3]))
        x = from_numpy(rows)
        assert x[key].tolist() == rows[key].tolist()
        assert x[key]._is_view() and x[key].storage_offset() <= rows.size
        assert x[key].shape == x.to("meta")[key].shape and x[key].stride() == x.to("meta")[key].stride()


@pytest.mark.parametrize("value", [2.0, -1.0])
def test_masks_without_dimensions_are_not_read_by_a_trace(value):
    """In traces that were made with the other truth, too."""

    def read(x):
        return x[x > 0], x[x > 0, None], x[None][None, x > 0]

    def write(x):
        y = x.clone()
        y[x > 0] = -1.5
        y[x < 0] = y * 2
        return y

    x, other = opweave.tensor(value), opweave.tensor(-value)
    expected = [t.numpy() for t in read(x)]
    assert [t.shape for t in expected] == [(int(value > 0),), (int(value > 0), 1), (1, int(value > 0), 1)]
    for run in (opweave.compile(read), opweave.make_fx(read, tracing_mode="fake")(other)):
        for mine, theirs in zip(run(x), expected, strict=True):
            np.testing.assert_array_equal(mine.numpy(), theirs)
    for run in (write, opweave.compile(write), opweave.make_fx(write, tracing_mode="fake")(other)):
        assert run(x).item() == (-1.5 if value > 0 else -2.0)


def _outer_index(draw: np.random.Generator, sizes: tuple[int, ...]) -> tuple[Any, ...]:
    """Index arrays with a dimension each, from some dimension on, or one array of any shape."""
    first = int(draw.integers(0, len(sizes)))
    count = int(draw.integers(1, min(3, len(sizes) - first) + 1))
    before = (1,) * int(draw.integers(3))  # dimensions that none of them has
    where: list[Any] = [slice(None)] * first
    for own, size in enumerate(sizes[first : first + count]):
        length = int(draw.integers(1, 40))
        numbers = (
            np.sort(draw.integers(0, size, length)), draw.integers(-size, size, length),
            np.minimum(np.arange(length) // 2, size - 1), np.clip((np.arange(length) - 1) // 2, 0, size - 1),
        )[int(draw.integers(4))]  # fmt: skip
        if count == 1 and not length % 2:
            numbers = numbers.reshape(2, -1)
        lead = before if own != 1 else ()
        where.append(numbers.reshape(*lead, *(1,) * own, -1, *(1,) * (count - 1 - own)) if count > 1 else numbers)
    return tuple(where)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_indices_with_a_dimension_each(dtype: str) -> None:
    draw = np.random.default_rng(0)
    added = 0
    for sizes in [(7, 90, 40), (300, 40), (5, 3, 60, 31), (400, 6), (2, 900)] * 12:
        where = _outer_index(draw, sizes)
        places = outer_places(where, sizes)
        assert places is not None
        numbers = np.arange(np.prod(sizes)).reshape(sizes)
        named = numbers[where]
        assert named.shape == places.sizes(sizes)
        np.testing.assert_array_equal(places.taken(numbers), named)
        target = draw.choice([0.0, -0.0, 1.0, 3.0], sizes).astype(dtype)
        source = draw.choice([0.0, -0.0, 1.0, 2.0], named.shape).astype(dtype)
        wanted = target.copy()
        np.add.at(wanted, where, source)
        if places.add(target, source):
            added += 1
            np.testing.assert_array_equal(target, wanted)
            np.testing.assert_array_equal(np.signbit(target.astype(float)), np.signbit(wanted.astype(float)))
    assert added > 20


def test_scatters_in_place_touch_what_is_named() -> None:
    base = opweave.zeros(6, 5)
    view = base[1:5, ::2]
    index = opweave.tensor([[0, 0, 3], [3, 1, 3]])
    assert view.scatter_add_(0, index, opweave.ones(2, 3)) is view
    wanted = np.zeros((4, 3), np.float32)
    np.add.at(wanted, (index.numpy(), np.arange(3)), 1)
    np.testing.assert_array_equal(view.numpy(), wanted)
    assert base.sum() == 6 and base._version == 1
    with pytest.raises(OutOfRangeError):
        view.scatter_(0, index + 2, opweave.ones(2, 3))
    np.testing.assert_array_equal(view.numpy(), wanted)
    moved = opweave.arange(12.0).view(4, 3)
    moved.index_add_(0, opweave.tensor([0, 1, 1]), moved[1:])  # what it reads is what was there
    np.testing.assert_array_equal(moved[:2].numpy(), [[3, 5, 7], [18, 21, 24]])
    with pytest.raises(ShapeError, match="share memory"):
        opweave.zeros(1, 3).expand(4, 3).scatter_add_(0, index, opweave.ones(2, 3))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int16", "bool", "complex64"])
def test_nonzero_of_many(dtype: str) -> None:
    for sizes in ((30, 40), (7, 30, 50), (2000, 1), (1, 2000), (0, 2000)):
        values = np.random.default_rng(0).choice([-0.0, 0.0, 1.0, np.nan if dtype[0] in "fb" else 2.0], sizes)
        x = opweave.from_numpy(values.astype(np.float32)).to(getattr(opweave, dtype))
        for t in (x, x.transpose(0, -1)):
            wanted = np.stack(np.nonzero(t.to(opweave.complex128).numpy()), axis=1)
            np.testing.assert_array_equal(t.nonzero().numpy(), wanted)
