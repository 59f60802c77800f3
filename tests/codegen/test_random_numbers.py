"""Random numbers as functions of a key: the words, and that eager calls, arrays and kernels give the same bits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opweave
import opweave.nn.functional as F
from opweave.registry import families
from opweave.registry.errors import ArgumentError
from opweave.registry.ops.kinds import handler
from opweave.registry.random_generator import default_generator

K = handler(np)


# The vectors that Random123 comes with (kat_vectors, philox4x32 with 10 rounds): counter, key, words.
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def _joined(low: int, high: int) -> np.ndarray[Any, Any]:
    return np.array([low | high << 32], np.uint64).view(np.int64)


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN, ids=["zeros", "ones", "pi"])
def test_words(counter: tuple[int, ...], key: tuple[int, ...], words: tuple[int, ...]) -> None:
    found = K.philox(_joined(*key), _joined(*counter[2:]), _joined(*counter[:2]))
    assert [int(word[0]) for word in found] == list(words)


def _drawn(call: Callable[[], Any], seed: int = 2**63 + 12345) -> Any:
    opweave.manual_seed(seed)
    return call()


DRAWS: dict[str, Callable[[], Any]] = {
    "rand": lambda: opweave.rand(1037),
    "rand_f64": lambda: opweave.rand(53, dtype=opweave.float64),
    "rand_f16": lambda: opweave.rand(53, dtype=opweave.float16),
    "rand_bf16": lambda: opweave.rand(53, dtype=opweave.bfloat16),
    "rand_complex": lambda: opweave.rand(5, 3, dtype=opweave.complex64),
    "rand_none": lambda: opweave.rand(0, 3),
    "rand_one": lambda: opweave.rand(()),
    "randint": lambda: opweave.randint(-5, 100, (7, 9)),
    "randint_u8": lambda: opweave.randint(256, (77,), dtype=opweave.uint8),
    "randint_wide": lambda: opweave.randint(-(2**63), 2**62, (7, 9)),
    "randint_all": lambda: opweave.randint(-(2**63), 2**63 - 1, (7, 9)),
    "bernoulli": lambda: opweave.full((7, 9), 0.25).bernoulli_(0.3),
    "random": lambda: opweave.zeros(63, dtype=opweave.int16).random_(),
    "uniform": lambda: opweave.zeros(63).uniform_(-2, 2),
    "uniform_f16": lambda: opweave.zeros(63, dtype=opweave.float16).uniform_(0, 8),
}
#: Logarithm and cosine are NumPy's on arrays.
NEAR: dict[str, Callable[[], Any]] = {
    "randn": lambda: opweave.randn(1037),
    "randn_f64": lambda: opweave.randn(53, dtype=opweave.float64),
    "randn_bf16": lambda: opweave.randn(53, dtype=opweave.bfloat16),
    "randn_complex": lambda: opweave.randn(53, dtype=opweave.complex64),
    "normal": lambda: opweave.normal(3.0, 0.5, (63,)),
    "normal_complex": lambda: opweave.normal(3.0, 0.5, (63,), dtype=opweave.complex64),
    "normal_filled": lambda: opweave.zeros(63, dtype=opweave.complex64).normal_(3.0, 0.5),
    "uniform_complex": lambda: opweave.zeros(63, dtype=opweave.complex64).uniform_(2.0, 3.0),
    "exponential": lambda: opweave.zeros(63).exponential_(2.0),
    "cauchy": lambda: opweave.zeros(63, dtype=opweave.float64).cauchy_(),
    "log_normal": lambda: opweave.zeros(63).log_normal_(0.5, 0.25),
}


@pytest.mark.parametrize("name", [*DRAWS, *NEAR])
def test_native_code_gives_what_arrays_give(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call = {**DRAWS, **NEAR}[name]
    expected = _drawn(call)
    monkeypatch.setattr(families.family("philox").native, "call", None)
    found = _drawn(call)
    assert found.dtype is expected.dtype and found.stride() == expected.stride()
    if name in DRAWS:
        assert found.tolist() == expected.tolist()
    else:
        digits = {"bfloat16": 8, "float64": 49}.get(found.dtype.name, 20)
        one, other = (t.numpy().astype("c16") for t in (found, expected))
        np.testing.assert_allclose(one, other, rtol=2.0**-digits, atol=1e-6)


@pytest.mark.parametrize("name", [*DRAWS, "randn", "randn_f64", "randn_bf16", "randn_complex"])
def test_kernels_give_what_eager_calls_give(name: str) -> None:
    call = {**DRAWS, **NEAR}[name]
    compiled = opweave.compile(call, fullgraph=True)
    expected, found = _drawn(lambda: [call(), call()]), _drawn(lambda: [compiled(), compiled()])
    assert [t.tolist() for t in found] == [t.tolist() for t in expected]
    assert found[0].numel() < 2 or found[0].tolist() != found[1].tolist()
    assert [t.dtype for t in found] == [t.dtype for t in expected]


MOVED = [
    "normal", "normal_complex", "normal_filled", "uniform_complex", "exponential", "cauchy", "log_normal",
]  # fmt: skip


@pytest.mark.parametrize("name", MOVED)
def test_kernels_give_nearly_what_eager_calls_give(name: str) -> None:
    expected, found = _drawn(NEAR[name]), _drawn(opweave.compile(NEAR[name], fullgraph=True))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=2e-6, atol=1e-7)


def test_an_element_follows_from_its_place_alone() -> None:
    long = _drawn(lambda: opweave.randn(100))
    assert _drawn(lambda: opweave.randn(7)).tolist() == long[:7].tolist()
    last = opweave.zeros(2, 3, 4, 5).contiguous(memory_format=opweave.channels_last)
    found, flat = _drawn(lambda: opweave.rand_like(last)), _drawn(lambda: opweave.rand(120))
    assert found.stride() == last.stride()
    assert found.permute(0, 2, 3, 1).reshape(-1).tolist() == flat.tolist()
    compiled = opweave.compile(opweave.rand_like, fullgraph=True)
    again = _drawn(lambda: compiled(last))
    assert again.stride() == last.stride() and again.tolist() == found.tolist()


def test_places_beyond_32_bits() -> None:
    words = K.philox(np.int64(1), np.int64(2), np.array([5, 5 + (1 << 32), 5 + (1 << 40)]))
    assert len({int(word) for word in words[0]}) == 3


def test_dropout_is_one_kernel() -> None:
    compiled = opweave.compile(lambda x: F.dropout(x, 0.25) * 2)
    x = opweave.ones(300, 70)
    expected, found = _drawn(lambda: F.dropout(x, 0.25) * 2), _drawn(lambda: compiled(x))
    assert found.tolist() == expected.tolist()
    kernels = [part.strip() for part in compiled.stages()["code"].split("@triton.jit")[1:]]
    assert [re.sub(r" +#.*", "", kernel) for kernel in kernels] == [
        """\
def fused_rand_like_lt_mul_0(philox_key, x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < 21000
    t0 = tl.load(x + i, live)
    t1 = tl.load(philox_key)
    t2 = tl.load(philox_key + 1)
    t3, t4, t5, t6 = tl.philox(t1, i.to(tl.uint32), 0, t2.to(tl.uint32), (t2 >> 32).to(tl.uint32))
    t7 = (t3 >> 8).to(tl.int32).to(tl.float32) * 5.960464477539063e-08
    t8 = t7 < 0.75
    tl.store(out + i, t0 * t8.to(tl.float32) * 1.3333333333333333 * 2.0, live)"""
    ]


def test_a_way_back_draws_the_same_numbers_again() -> None:
    x = opweave.randn(64, 33, requires_grad=True)

    def step(x: Any) -> Any:
        kept = F.dropout(x.sin(), 0.4)
        return (kept * opweave.randn_like(kept)).sum()

    compiled = opweave.compile(step)
    (expected,) = _drawn(lambda: opweave.autograd.grad(step(x), (x,)))
    (found,) = _drawn(lambda: opweave.autograd.grad(compiled(x), (x,)))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_sizes_that_are_open() -> None:
    def draw(x: Any) -> Any:
        return F.dropout(x, 0.3) + opweave.randn(x.shape[0], 3)[:, :1] + opweave.randint(0, 9, x.shape)

    compiled = opweave.compile(draw, dynamic=True, fullgraph=True)
    for count in (5, 9, 0, 33):
        x = opweave.ones(count, 17)
        np.testing.assert_array_equal(_drawn(lambda: compiled(x)).numpy(), _drawn(lambda: draw(x)).numpy())


def test_a_generator_of_ones_own() -> None:
    g = opweave.Generator()

    def draw(x: Any) -> Any:
        return opweave.rand(3, 4, generator=g) + opweave.randn(3, 4, generator=g) * x

    x = opweave.ones(3, 4)
    compiled = opweave.compile(draw)
    opweave.manual_seed(1)
    before = default_generator(x.device).state
    for seed in (4, -4):
        g.manual_seed(seed)
        expected = [draw(x).tolist(), draw(x).tolist()]
        g.manual_seed(seed)
        assert [compiled(x).tolist(), compiled(x).tolist()] == expected
    assert default_generator(x.device).state == before


def test_the_state_is_a_seed_and_a_count() -> None:
    opweave.manual_seed(2**64 - 3)
    opweave.rand(3), opweave.randperm(4)
    kept = opweave.get_rng_state()
    assert kept.dtype is opweave.uint8 and kept.numpy().view(np.uint64).tolist() == [2**64 - 3, 2]
    expected = opweave.rand(5).tolist(), opweave.randperm(9).tolist()
    opweave.manual_seed(0)
    opweave.set_rng_state(kept)
    assert (opweave.rand(5).tolist(), opweave.randperm(9).tolist()) == expected
    g = opweave.Generator().manual_seed(-1)
    assert g.initial_seed() == 2**64 - 1 and g.get_offset() == 0
    first, other = opweave.rand(3, generator=g).tolist(), g.clone_state()
    assert opweave.rand(3, generator=g).tolist() == opweave.rand(3, generator=other).tolist() != first
    g.set_offset(0)
    assert opweave.rand(3, generator=g).tolist() == first
    assert opweave.rand(3, generator=g.set_state(kept)).tolist() == expected[0][:3]
    for wrong in (opweave.zeros(16), opweave.zeros(15, dtype=opweave.uint8), None):
        with pytest.raises(ArgumentError, match="no state of a generator"):
            opweave.set_rng_state(wrong)  # type: ignore[arg-type]
    for seed in (2**64, -(2**63) - 1, "a", None):
        with pytest.raises(ArgumentError, match="seed"):
            opweave.manual_seed(seed)  # type: ignore[arg-type]


def test_neighbouring_keys_have_nothing_in_common() -> None:
    """Seeds and draws that follow one another, as they do in programs: correlations are those of chance."""
    rows = []
    for seed in range(20):
        opweave.manual_seed(seed)
        rows += [opweave.randn(20_000).numpy() for _ in range(5)]
    found = np.corrcoef(np.stack(rows)) - np.eye(100)
    assert np.abs(found).max() < 5.5 / math.sqrt(20_000)  # of 4950 numbers of that deviation


def test_tails() -> None:
    opweave.manual_seed(0)
    x = np.sort(opweave.randn(1_000_000).numpy().astype(np.float64))
    for limit, chance in ((1.0, 0.158655), (2.0, 0.0227501), (3.0, 0.00134990), (4.0, 3.16712e-05)):
        for count in ((x > limit).sum(), (x < -limit).sum()):
            assert abs(count - chance * 1e6) < 5 * math.sqrt(chance * 1e6)
    assert np.abs(x).max() > 4.5
