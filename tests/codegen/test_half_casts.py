"""Conversions from and to half types by native code, and what eager calls make of them."""

from __future__ import annotations

import numpy as np
import pytest

import opweave
from opweave.codegen import half_casts
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
        assert half_casts.convert(source, out)
        with np.errstate(all="ignore"):
            _assert_same(out, source.astype(kind))
    truths = np.empty(source.shape, np.bool_)
    assert half_casts.convert(source, truths)
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
    assert half_casts.convert(source, out)
    with np.errstate(all="ignore"):
        _assert_same(out, source.astype(half))


@pytest.mark.parametrize("half", HALVES)
def test_elements_may_lie_apart_and_ends_are_like_the_rest(half: np.dtype) -> None:
    source = _singles()[:1000]
    whole = np.empty(source.shape, half)
    half_casts.convert(source, whole)
    for step in (2, 3, -1):
        out = np.zeros(2 * len(source[::step]), half)[::2]
        assert half_casts.convert(source[::step], out)
        np.testing.assert_array_equal(out.copy().view(np.uint16), whole[::step].copy().view(np.uint16))
    for count in range(40):
        out = np.empty(count, half)
        assert half_casts.convert(source[:count], out)
        np.testing.assert_array_equal(out.view(np.uint16), whole[:count].view(np.uint16))


def test_what_it_cannot_do_is_left_to_others() -> None:
    matrix = np.zeros((3, 4), np.float16)
    assert not half_casts.convert(matrix.T, np.zeros((4, 3), np.float32))
    assert not half_casts.convert(matrix, np.zeros((4, 3), np.float32))
    assert not half_casts.convert(matrix, np.zeros((3, 4), np.int64))
    assert not half_casts.convert(np.zeros(4), np.zeros(4, np.float16))  # float64 is rounded once
    frozen = np.zeros(4, np.float32)
    frozen.flags.writeable = False
    assert not half_casts.convert(np.zeros(4, np.float16), frozen)


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
