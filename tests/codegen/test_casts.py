"""Conversions of real numbers by native code, and what eager calls make of them."""

from __future__ import annotations

import numpy as np
import pytest

import opweave
from opweave.codegen import casts
from opweave.registry import dtypes

BFLOAT16 = dtypes.bfloat16.numpy
HALVES = [pytest.param(BFLOAT16, id="bfloat16"), pytest.param(np.dtype(np.float16), id="float16")]
OTHERS = ["bool", "uint8", "int8", "int16", "int32", "int64", "float32"]
ALL_BITS = np.arange(1 << 16, dtype=np.uint16)


def _singles() -> np.ndarray:
    """Of all magnitudes, with many that lie between two half numbers."""
    bits = np.random.default_rng(0).integers(0, 1 << 32, 1 << 16, dtype=np.uint32)
    ties = ALL_BITS.astype(np.uint32) << 16 | 0x8000
    return np.concatenate([bits, ties, ALL_BITS.astype(np.uint32) << 13]).view(np.float32)


def _assert_same(found: np.ndarray, wanted: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        wide = [x.astype(np.float32) for x in (found, wanted)]
    none = np.isnan(wide[1])
    np.testing.assert_array_equal(np.isnan(wide[0]), none)
    np.testing.assert_array_equal(found.view(np.uint8).reshape(len(found), -1)[~none],
                                  wanted.view(np.uint8).reshape(len(wanted), -1)[~none])  # fmt: skip


@pytest.mark.parametrize("half", HALVES)
def test_all_half_numbers_become_wide_exactly(half: np.dtype) -> None:
    source = ALL_BITS.view(half)
    for kind in (np.float32, np.float64):
        out = np.empty(source.shape, kind)
        assert casts.convert(source, out)
        with np.errstate(all="ignore"):
            _assert_same(out, source.astype(kind))
    truths = np.empty(source.shape, np.bool_)
    assert casts.convert(source, truths)
    np.testing.assert_array_equal(truths, source.astype(np.float32) != 0)


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("other", OTHERS)
def test_numbers_are_rounded_once_to_the_nearest_half_number(half: np.dtype, other: str) -> None:
    if other == "float32":
        source = _singles()
    elif other == "bool":
        source = ALL_BITS % 3 == 0
    else:
        least, most = np.iinfo(other).min, np.iinfo(other).max
        source = np.random.default_rng(1).integers(least, most, 5001, dtype=other, endpoint=True)
    out = np.empty(source.shape, half)
    assert casts.convert(source, out)
    with np.errstate(all="ignore"):
        _assert_same(out, source.astype(half))


@pytest.mark.parametrize("half", HALVES)
def test_elements_may_lie_apart_and_ends_are_like_the_rest(half: np.dtype) -> None:
    source = _singles()[:1000]
    whole = np.empty(source.shape, half)
    casts.convert(source, whole)
    for step in (2, 3, -1):
        out = np.zeros(2 * len(source[::step]), half)[::2]
        assert casts.convert(source[::step], out)
        np.testing.assert_array_equal(out.copy().view(np.uint16), whole[::step].copy().view(np.uint16))
    for count in range(40):
        out = np.empty(count, half)
        assert casts.convert(source[:count], out)
        np.testing.assert_array_equal(out.view(np.uint16), whole[:count].view(np.uint16))


REAL = [
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
    BFLOAT16,
]  # fmt: skip


def _edges(dtype: np.dtype) -> np.ndarray:
    """Numbers of a type: random ones, those at the ends of others, halves, zeros, NaN and infinities."""
    draw = np.random.default_rng(5)
    if dtype.kind == "b":
        return draw.integers(0, 2, 301).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        some = [0, 1, info.min, info.max, info.max - 1]
        return np.concatenate([np.array(some, dtype), draw.integers(info.min, info.max, 300, dtype, endpoint=True)])
    ends = [s * 2.0**n + d for n in (7, 8, 15, 16, 31, 32, 63, 64) for s in (1, -1) for d in (-1, -0.5, 0, 0.5, 1)]
    some = [0.0, -0.0, 0.5, -0.5, 1.5, np.nan, np.inf, -np.inf, 1e-30, *ends]
    with np.errstate(all="ignore"):
        return np.concatenate([np.array(some), draw.normal(size=300) * 10.0 ** draw.integers(-3, 12, 300)]).astype(
            dtype
        )


def _truncated(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """One by one, in Python's numbers."""
    wide, found = 64 if dtype.itemsize == 8 else 32, []
    for value in x.astype(np.float64).tolist():
        most = 1 << (wide if dtype.kind == "u" and 8 * dtype.itemsize == wide else wide - 1)
        fits = -(1 << (wide - 1)) <= value < most
        found.append((int(value) if fits else -(1 << (wide - 1))) % (1 << 8 * dtype.itemsize))
    return np.array(found, np.uint64).astype(f"u{dtype.itemsize}").view(dtype)


@pytest.mark.parametrize("target", REAL, ids=str)
@pytest.mark.parametrize("source", REAL, ids=str)
def test_every_real_type_becomes_every_other(source: str, target: str) -> None:
    given, kind = _edges(np.dtype(source)), np.dtype(target)
    if given.dtype == kind or (source, target) == ("float64", "float16"):
        assert not casts.convert(given, np.empty(given.shape, kind))
        return
    floats = given.dtype.kind not in "biu"
    with np.errstate(all="ignore"):
        single = given.astype(np.float32) if floats and given.dtype.itemsize == 2 or kind == BFLOAT16 else given
        if kind.kind == "b":
            wanted = single != 0
        else:
            wanted = _truncated(single, kind) if floats and kind.kind in "iu" else single.astype(kind)
    for step in (1, 2, -3):
        out = np.empty(2 * len(given[::step]), kind)[:: 1 if step == 1 else 2][: len(given[::step])]
        assert casts.convert(given[::step], out)
        _assert_same(out.copy(), wanted[::step].copy())
    # As ops have it: of few and of many elements, in Python and as it is replayed.
    names = [str(dtypes.from_numpy(np.dtype(name))).removeprefix("opweave.") for name in (source, target)]
    for repeats in (1, 200):
        x = opweave.from_numpy(
            np.tile(given.view(np.uint8 if given.dtype.kind == "b" else f"u{given.itemsize}"), repeats)
        )
        x = x.view(getattr(opweave, names[0]))
        for _ in range(3):
            found = x.to(getattr(opweave, names[1]))
        _assert_same(found._array, np.tile(wanted, repeats))


def test_what_it_cannot_do_is_left_to_others() -> None:
    matrix = np.zeros((3, 4), np.float16)
    assert not casts.convert(matrix.T, np.zeros((4, 3), np.float32))
    assert not casts.convert(matrix, np.zeros((4, 3), np.float32))
    assert not casts.convert(matrix, np.zeros((3, 4), np.complex64))
    assert not casts.convert(matrix, np.zeros((3, 4), np.float16))
    assert not casts.convert(np.zeros(4), np.zeros(4, np.float16))  # float64 is rounded once
    frozen = np.zeros(4, np.float32)
    frozen.flags.writeable = False
    assert not casts.convert(np.zeros(4, np.float16), frozen)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
@pytest.mark.parametrize("sizes", [(3, 5), (70, 90), (400, 300)], ids=str)
def test_ops_on_half_types_compute_in_float32_and_round_once(name: str, sizes: tuple[int, ...]) -> None:
    dtype = getattr(opweave, name)
    draw = np.random.default_rng(2)
    x, y = (opweave.from_numpy(draw.standard_normal(sizes).astype(np.float32)).to(dtype) for _ in range(2))
    wide, other = x.to(opweave.float32), y.to(opweave.float32)
    for f in (
        lambda a, b: a + b, lambda a, b: a * 3, lambda a, b: opweave.relu(a), lambda a, b: a.exp(), lambda a, b: -a,
        lambda a, b: opweave.where(a > b, a, b), lambda a, b: a.amax(0), lambda a, b: a.t() + b.t(),
        lambda a, b: a.floor(), lambda a, b: a[:, 1:] / b[:, 1:], lambda a, b: a.softmax(1), lambda a, b: a.sum(1),
    ):  # fmt: skip
        found = [f(x, y) for _ in range(3)][-1]  # in Python, and as it is replayed
        wanted = f(wide, other).to(dtype)
        assert found.dtype is dtype
        assert found.stride() == wanted.stride()
        assert found.to(opweave.float32).numpy().tobytes() == wanted.to(opweave.float32).numpy().tobytes()
    assert (x < y).numpy().tobytes() == (wide < other).numpy().tobytes()


def test_half_numbers_overflow_and_keep_signs_of_zeros() -> None:
    x = opweave.tensor([65504.0, -65504.0, 0.0, -0.0, float("nan")] * 100, dtype=opweave.float16)
    for _ in range(3):
        doubled = (x * 2).to(opweave.float32).numpy()
        np.testing.assert_array_equal(doubled[:5], np.array([np.inf, -np.inf, 0, -0.0, np.nan], np.float32))
        assert np.signbit(doubled[3])
        assert not np.signbit(doubled[2])


@pytest.mark.parametrize("name", ["float32", "bfloat16", "int64"])
@pytest.mark.parametrize("columns", [3, 40])
def test_rows_that_are_added_where_others_were_add_up_in_order(name: str, columns: int) -> None:
    dtype = getattr(opweave, name)
    draw = np.random.default_rng(3)
    x, source = (opweave.from_numpy(draw.standard_normal((n, columns)).astype(np.float32) * 9) for n in (5, 30))
    places = draw.integers(0, 5, 30)
    x, source = x.to(dtype), source.to(dtype)
    wide = opweave.int64 if name == "int64" else opweave.float32
    wanted = x.to(wide).numpy().copy()
    np.add.at(wanted, places, source.to(wide).numpy())
    for op in (opweave.index_add, lambda t, dim, at, rows: t.index_put([at], rows, accumulate=True)):
        found = op(x, 0, opweave.from_numpy(places), source)
        np.testing.assert_array_equal(found.to(wide).numpy(), opweave.from_numpy(wanted).to(dtype).to(wide).numpy())
    replaced = opweave.index_copy(x, 0, opweave.from_numpy(places[:4]), source[:4])
    kept = x.to(wide).numpy().copy()
    kept[places[:4]] = source[:4].to(wide).numpy()
    np.testing.assert_array_equal(replaced.to(wide).numpy(), kept)
