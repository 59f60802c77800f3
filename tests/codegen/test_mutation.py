"""Whether written tensors are apart, and that they were written, as native code asks and notes it."""

from __future__ import annotations

import logging
import threading
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.codegen.native.alike import MOST
from opweave.codegen.native.mutation import apart, bumper
from opweave.registry.errors import DataDependentError
from opweave.registry.overlap import disjoint
from opweave.registry.tensor import Tensor

Array = Any


def asked(written: int, *tensors: Tensor) -> bool:
    """What native code says, which must be what Python says."""
    function: Any = apart(written, [t._dtype for t in tensors])
    found = function(*tensors)
    assert found is disjoint(tensors[:written], tensors[written:])
    assert function(*tensors) is found  # it remembers in which order they lie
    return found


# ---- memory that is apart --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_views_at_random(seed: int) -> None:
    draw = np.random.default_rng(seed)
    dtypes = opweave.float32, opweave.float64, opweave.int8
    bases = [opweave.zeros(80, dtype=dtypes[i]) for i in draw.integers(0, 3, 3)]
    answers = [0, 0]
    for _ in range(100):
        views: list[Tensor] = []
        for _ in range(draw.integers(2, 7)):
            base = bases[draw.integers(3)]
            sizes = [int(n) for n in draw.choice(5, draw.integers(0, 4), p=[0.04, 0.24, 0.24, 0.24, 0.24])]
            strides = [int(n) for n in draw.integers(0, 6, len(sizes))]
            views.append(base.as_strided(sizes, strides, int(draw.integers(0, 30))))
        answers[asked(int(draw.integers(0, len(views) + 1)), *views)] += 1
    assert min(answers) > 0


@pytest.mark.parametrize("count", [1, 2, 64, MOST])
def test_many_in_any_order(count: int) -> None:
    base = opweave.zeros(8 * count)
    parts: Array = np.empty(count, object)
    parts[:] = [base[8 * i : 8 * i + 8] for i in range(count)]
    function: Any = apart(count // 2, [base._dtype] * count)
    draw = np.random.default_rng(count)
    for _ in range(5):
        draw.shuffle(parts)
        assert function(*parts) is True
        if count > 1:
            last = parts[-1]
            parts[-1] = parts[0]
            assert function(*parts) is False
            parts[-1] = last


def test_neighbours_and_what_is_only_read() -> None:
    x = opweave.zeros(10)
    assert asked(1, x[:5], x[5:])
    assert not asked(1, x[:6], x[5:])
    assert asked(0, x[:6], x[5:], x)
    assert asked(1, x[:5], x[5:], x[5:])
    assert asked(1, x[:0], x, x[3:3]) and asked(3, x[2:2], x[5:5], x)
    assert not asked(2, x[:3], x[2:2], x)


def test_one_that_ends_behind_the_next() -> None:
    x = opweave.zeros(100)
    assert not asked(1, x[50:60], x[0:100], x[10:20])
    assert asked(1, x[50:60], x[0:40], x[10:20], x[70:])
    assert not asked(2, x[0:100:50], x[20:30])


def test_too_many_and_other_types() -> None:
    x, y = opweave.zeros(4), opweave.zeros(4)
    assert apart(1, [x._dtype] * (MOST + 1)) is None
    function: Any = apart(1, [x._dtype, x._dtype])
    assert function(x, y) is True
    bytes_ = x.view(opweave.int8)
    assert function(x, bytes_) is False  # of another dtype than told: Python looks
    assert function(x.view(opweave.int8)[:8], x[2:]) is True


class Mine(Tensor):
    """Counts its mutations itself."""

    seen: list[Any] = []

    def _bump(self) -> None:
        self.seen.append(self)


def test_a_subclass_and_a_tensor_without_memory() -> None:
    x = opweave.zeros(4)
    mine = Tensor._make_subclass(Mine, x)
    assert not asked(1, mine, x) and asked(1, mine[:2], x[2:])
    function: Any = apart(1, [x._dtype] * 2)
    with pytest.raises(DataDependentError):
        function(x, opweave.zeros(4, device="meta"))


# ---- versions --------------------------------------------------------------------------------------------------------


def test_versions_are_counted() -> None:
    bump = bumper()
    x, y = opweave.zeros(4), opweave.zeros(4, requires_grad=True)
    before = y._version
    bump(x, y, x[1:], x)
    assert (x._version, y._version) == (3, before + 1)
    bump()
    x._storage.version = 2**40
    bump(x)
    assert x._version == 2**40 + 1


def test_a_method_of_its_own() -> None:
    mine = Tensor._make_subclass(Mine, opweave.zeros(4))
    Mine.seen.clear()
    bumper()(mine, mine)
    assert len(Mine.seen) == 2 and mine._version == 0
    with pytest.raises(AttributeError):
        bumper()(3)


def test_threads_lose_none() -> None:
    x, bump = opweave.zeros(4), bumper()

    def work(natively: bool) -> None:
        for _ in range(2000):
            if natively:
                bump(x)
            else:
                x._bump()

    threads = [threading.Thread(target=work, args=(i % 2 == 0,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x._version == 8000


# ---- in compiled functions -------------------------------------------------------------------------------------------


def step_(params: list[Tensor], grads: list[Tensor], buffers: list[Tensor]) -> None:
    for p, g, b in zip(params, grads, buffers, strict=True):
        b.mul_(0.5).add_(g)
        p.sub_(b * 0.25)


SIZES = [(5,), (100, 3), (8193,), (7, 7), (64,), (2, 3, 4)]


def lists(seed: int, *more: tuple[int, ...]) -> list[list[Tensor]]:
    draw, sizes = np.random.default_rng(seed), [*SIZES, *more]
    return [[opweave.from_numpy(draw.standard_normal(s).astype(np.float32)) for s in sizes] for _ in range(3)]


def same(found: list[list[Tensor]], expected: list[list[Tensor]]) -> None:
    for some, others in zip(found, expected, strict=True):
        for one, other in zip(some, others, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)


def test_a_group_is_one_native_call() -> None:
    compiled, given, expected = opweave.compile(step_), lists(0), lists(0)
    for _ in range(3):
        compiled(*given)
        step_(*expected)
    same(given, expected)
    code = compiled.stages()["code"]
    assert "steps(" in code and "places = table(" in code and "addresses_of" not in code and "_bump" not in code
    for one, other in zip(given[0], expected[0], strict=True):
        assert one._version == other._version
    assert all(t._version == 0 for t in given[1])


def test_some_without_elements() -> None:
    compiled, given, expected = (opweave.compile(step_), *(lists(0, (0,), (7,), (2, 0, 3)) for _ in range(2)))
    for _ in range(2):
        compiled(*given)
        step_(*expected)
    same(given, expected)


def test_other_tensors_at_each_call() -> None:
    compiled, given, expected = opweave.compile(step_), lists(1), lists(1)
    compiled(*given)
    step_(*expected)
    for seed in range(2, 5):
        for lists_, fresh in ((given, lists(seed)), (expected, lists(seed))):
            lists_[1][1] = fresh[1][1]
            lists_[2][0] = opweave.cat([fresh[2][0], fresh[2][4]])[2:7]  # a view, not at the start of its memory
            lists_[0][3] = fresh[0][3]
        compiled(*given)
        step_(*expected)
        same(given, expected)


def test_arguments_that_come_to_share_memory() -> None:
    """One that writes through an alias must not be taken for one with memory of its own."""
    compiled = opweave.compile(step_)
    given = lists(5)
    compiled(*given)
    whole = opweave.zeros(200)
    for lists_, memory in ((given := lists(6), whole), (expected := lists(6), whole.clone())):
        lists_[0][0], lists_[1][0] = memory[:5], memory[3:8]
    compiled(*given)
    step_(*expected)
    same(given, expected)


def test_one_tensor_twice() -> None:
    compiled = opweave.compile(step_)
    compiled(*lists(7))
    for lists_ in (given := lists(8), expected := lists(8)):
        lists_[2][0] = lists_[0][0]
    compiled(*given)
    step_(*expected)
    same(given, expected)


def test_launches_that_are_logged() -> None:
    """They run as Python, over a table in memory of its own."""
    logger = logging.getLogger("opweave.launches")
    level = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        compiled, given, expected = opweave.compile(lambda a, b, c: step_(a, b, c)), lists(9), lists(9)
        compiled(*given)
        step_(*expected)
        same(given, expected)
    finally:
        logger.setLevel(level)


def test_threads_that_update_their_own() -> None:
    compiled = opweave.compile(step_)
    compiled(*lists(0))
    given, expected = [lists(i) for i in range(4)], [lists(i) for i in range(4)]

    def work(i: int) -> None:
        for _ in range(50):
            compiled(*given[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        for _ in range(50):
            step_(*expected[i])
        same(given[i], expected[i])


def test_a_group_with_work_before_and_behind() -> None:
    def f(xs: list[Tensor], w: Tensor) -> tuple[Tensor, list[Tensor]]:
        y = (w @ w).sum()
        for x in xs:
            x.mul_(y)
        return xs[0].sum() + y, [x + 1 for x in xs]

    draw = np.random.default_rng(0)
    w = opweave.from_numpy(draw.standard_normal((8, 8)).astype(np.float32))
    given, expected = ([opweave.full((n,), 1.5) for n in (5, 6, 7, 8, 9, 10)] for _ in range(2))
    compiled = opweave.compile(f)
    for _ in range(2):
        (one, ones), (other, others) = compiled(given, w), f(expected, w)
        same([[one], ones, given], [[other], others, expected])
