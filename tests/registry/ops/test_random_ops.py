"""Random numbers: seeds, generators, threads, ranges and moments."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.registry.device import cpu
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.random_generator import default_generator

FLOATS = (opweave.float32, opweave.float64, opweave.float16, opweave.bfloat16)


def draw() -> list[Any]:
    """Some of everything."""
    x = opweave.zeros(3)
    made = [opweave.rand(3), opweave.randn(3), opweave.randint(0, 9, (3,)), opweave.randperm(5)]
    made += [opweave.rand_like(x), opweave.bernoulli(x, 0.5), x.normal_(), x.clone().uniform_(2, 3)]
    made += [opweave.normal(1.0, 2.0, (3,))]
    return [t.tolist() for t in made]


def test_a_seed_gives_the_same_numbers() -> None:
    opweave.manual_seed(7)
    first = draw()
    assert draw() != first
    assert opweave.manual_seed(7).initial_seed() == 7
    assert draw() == first


def test_a_generator_is_independent() -> None:
    def with_generator() -> list[Any]:
        g = opweave.Generator().manual_seed(3)
        x = opweave.zeros(3)
        made = (opweave.rand(3, generator=g), opweave.randn(3, generator=g), opweave.randperm(4, generator=g),
                opweave.randint(5, (3,), generator=g), opweave.randint(2, 5, (3,), generator=g),
                x.bernoulli_(0.5, generator=g), opweave.normal(0.0, 1.0, (2,), generator=g))  # fmt: skip
        return [t.tolist() for t in made]

    first = with_generator()
    draw()
    assert with_generator() == first
    opweave.manual_seed(7)
    expected = draw()
    opweave.manual_seed(7)
    with_generator()
    assert draw() == expected


def test_threads_do_not_disturb_each_other() -> None:
    found: dict[int, Any] = {}

    def work(seed: int) -> None:
        opweave.manual_seed(seed)
        found[seed] = [opweave.rand(100).tolist() for _ in range(50)]

    opweave.manual_seed(0)
    before = opweave.rand(3).tolist()
    opweave.manual_seed(0)
    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert opweave.rand(3).tolist() == before
    for seed, numbers in dict(found).items():
        work(seed)
        assert found[seed] == numbers


@pytest.mark.parametrize("dtype", FLOATS, ids=repr)
def test_distributions(dtype: Any) -> None:
    opweave.manual_seed(1)
    n = 40_000
    uniform = opweave.rand(n, dtype=dtype).numpy().astype(np.float64)
    assert uniform.min() >= 0 and uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.01 and abs(uniform.var() - 1 / 12) < 0.005
    normal = opweave.randn(n, dtype=dtype).numpy().astype(np.float64)
    assert abs(normal.mean()) < 0.03 and abs(normal.std() - 1) < 0.03
    shifted = opweave.zeros(n, dtype=dtype).normal_(3, 0.5).numpy().astype(np.float64)
    assert abs(shifted.mean() - 3) < 0.02 and abs(shifted.std() - 0.5) < 0.02
    coins = opweave.bernoulli(opweave.full((n,), 0.3, dtype=dtype)).numpy().astype(np.float64)
    assert set(coins.tolist()) == {0, 1} and abs(coins.mean() - 0.3) < 0.02


def test_integers_cover_their_range() -> None:
    opweave.manual_seed(2)
    assert set(opweave.randint(-2, 3, (200,)).tolist()) == {-2, -1, 0, 1, 2}
    assert set(opweave.randint(256, (5000,), dtype=opweave.uint8).tolist()) == set(range(256))
    assert sorted(opweave.randperm(50).tolist()) == list(range(50))
    x = opweave.zeros(3, 4).t()
    assert opweave.randint_like(x, 2, 5).stride() == x.stride()
    assert opweave.randint_like(x, 5, dtype=opweave.int16).dtype is opweave.int16


@pytest.mark.parametrize("dtype", FLOATS, ids=repr)
def test_fills(dtype: Any) -> None:
    opweave.manual_seed(4)

    def of(name: str, *numbers: Any) -> Any:
        x = opweave.zeros(200, 100, dtype=dtype).t()
        assert getattr(x, name)(*numbers) is x
        return x.numpy().astype(np.float64)

    waits = of("exponential_", 2.0)
    assert waits.min() > 0 or dtype is opweave.float16
    assert abs(waits.mean() - 0.5) < 0.02 and abs(waits.std() - 0.5) < 0.02
    assert not of("exponential_", math.inf).any()
    spread = of("cauchy_", 3.0, 0.5)
    assert np.abs(np.quantile(spread, [0.25, 0.5, 0.75]) - [2.5, 3, 3.5]).max() < 0.05
    logs = np.log(of("log_normal_", 0.5, 0.25))
    assert abs(logs.mean() - 0.5) < 0.02 and abs(logs.std() - 0.25) < 0.02
    trials = of("geometric_", 0.25)
    assert trials.min() == 1 and abs(trials.mean() - 4) < 0.1
    top = {"float16": 1 << 11, "bfloat16": 1 << 8, "float32": 1 << 24, "float64": 1 << 53}[dtype.name]
    whole = of("random_")
    assert (whole == np.round(whole)).all() and 0 <= whole.min() and 0.9 * top < whole.max() <= top
    assert set(of("random_", 3).ravel().tolist()) == {0, 1, 2}
    assert set(of("random_", -1, 2).ravel().tolist()) == {-1, 0, 1}
    coins = of("bernoulli_", opweave.linspace(0, 1, 200))
    assert abs(coins.mean(axis=0) - np.linspace(0, 1, 200)).max() < 0.2 and not coins[:, 0].any() and coins[:, -1].all()


def test_fills_of_integers() -> None:
    opweave.manual_seed(5)
    assert set(opweave.zeros(5000, dtype=opweave.uint8).random_().tolist()) == set(range(256))
    assert set(opweave.zeros(5000, dtype=opweave.int8).random_().tolist()) == set(range(128))
    assert set(opweave.zeros(5000, dtype=opweave.int8).random_(-3, None).tolist()) == set(range(-3, 128))
    assert set(opweave.zeros(99, dtype=opweave.bool).random_().tolist()) == {False, True}
    wide = opweave.zeros(999, dtype=opweave.int64).random_(-(2**63), None).numpy()
    assert wide.min() < -(2**62) and wide.max() > 2**62
    assert opweave.zeros(999, dtype=opweave.int32).geometric_(0.9).numpy().min() == 1
    x = opweave.zeros(3, requires_grad=True)
    (x * 2).exponential_().sum().backward()
    assert x.grad is not None and not x.grad.numpy().any()
    assert opweave.compile(lambda x: x.clone().random_(2, 3))(x.detach()).tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: opweave.rand(2, dtype=opweave.int64), DTypeError),
        (lambda: opweave.rand(-1), ShapeError),
        (lambda: opweave.randint(3, 3, (2,)), ArgumentError),
        (lambda: opweave.randint(300, (2,), dtype=opweave.uint8), ArgumentError),
        (lambda: opweave.randperm(-1), ShapeError),
        (lambda: opweave.rand(2, generator=3), ArgumentError),
        (lambda: opweave.bernoulli(opweave.zeros(2), 1.5), ArgumentError),
        (lambda: opweave.bernoulli(opweave.full((2,), 2.0)), ArgumentError),
        (lambda: opweave.zeros(2).normal_(0, -1), ArgumentError),
        (lambda: opweave.zeros(2).uniform_(1, 0), ArgumentError),
        (lambda: opweave.zeros(2, dtype=opweave.int64).uniform_(), DTypeError),
        (lambda: opweave.zeros(2, dtype=opweave.int64).exponential_(), DTypeError),
        (lambda: opweave.zeros(2).exponential_(0.0), ArgumentError),
        (lambda: opweave.zeros(2).cauchy_(0, -1), ArgumentError),
        (lambda: opweave.zeros(2).log_normal_(0, 0), ArgumentError),
        (lambda: opweave.zeros(2).geometric_(1.0), ArgumentError),
        (lambda: opweave.zeros(2, dtype=opweave.bool).geometric_(0.5), DTypeError),
        (lambda: opweave.zeros(2).random_(3, 3), ArgumentError),
        (lambda: opweave.zeros(2, dtype=opweave.float16).random_(0, 70000), ArgumentError),
        (lambda: opweave.zeros(2, dtype=opweave.uint8).random_(-1, 3), ArgumentError),
        (lambda: opweave.zeros(2, dtype=opweave.complex64).random_(), DTypeError),
        (lambda: opweave.zeros(2).bernoulli_(opweave.zeros(3)), ShapeError),
        (lambda: opweave.zeros(2).bernoulli_(opweave.full((2,), 1.5)), ArgumentError),
        (lambda: opweave.zeros(2).bernoulli_(opweave.zeros(2, dtype=opweave.int64)), DTypeError),
    ],
)
def test_refused(call: Any, error: type[Exception]) -> None:
    for run in (call, opweave.compile(call)):
        before = default_generator(cpu).state
        with pytest.raises(error):
            run()
        assert default_generator(cpu).state == before


def test_random_ops_say_that_they_are() -> None:
    for op in (ops.aten.rand.default, ops.aten.randn_like.generator, ops.aten.randint.low, ops.aten.bernoulli.p):
        assert "nondeterministic_seeded" in op.tags


def test_a_trace_draws_anew() -> None:
    module = opweave.make_fx(lambda x: x + opweave.rand_like(x))(opweave.zeros(4))
    opweave.manual_seed(5)
    first = module(opweave.zeros(4)).tolist()
    assert module(opweave.zeros(4)).tolist() != first
    opweave.manual_seed(5)
    assert module(opweave.zeros(4)).tolist() == first


def test_what_is_dense_is_filled_as_it_lies() -> None:
    for dtype in (*FLOATS, opweave.complex64):
        x, y = opweave.zeros(6, 5, dtype=dtype), opweave.zeros(5, 6, dtype=dtype).t()
        apart = opweave.zeros(6, 10, dtype=dtype)
        for name, numbers in (("uniform_", (-1.0, 3.0)), ("normal_", (1.0, 0.5))):
            found = []
            for t in (x, y, apart[:, ::2], x[1:]):
                opweave.manual_seed(9)
                version = t._version
                assert getattr(t, name)(*numbers) is t and t._version == version + 1
                found.append(t.tolist() if t is not y else t.t().reshape(6, 5).tolist())
            assert found[0] == found[1] == found[2] and found[3] == [*found[0][:5]]
        assert not apart[:, 1::2].numpy().any()
