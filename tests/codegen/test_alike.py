"""Layouts of tensors, and whether objects are different ones, as native code asks it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opweave
from opweave.codegen.native.alike import MOST, Laid, alike, distinct
from opweave.registry.tensor import Tensor


def laid(t: Tensor) -> Laid:
    return Laid(t._sizes, t._strides, t._dtype, t._keys)


X = opweave.zeros(3, 4)


class Mine(Tensor):
    pass


OTHERS = {
    "sizes": opweave.zeros(4, 3),
    "fewer dimensions": opweave.zeros(12),
    "strides": opweave.zeros(4, 3).t(),
    "dtype": opweave.zeros(3, 4, dtype=opweave.float64),
    "gradient": opweave.zeros(3, 4, requires_grad=True),
    "device": opweave.zeros(3, 4, device="meta"),
    "class": opweave.zeros(3, 4).as_subclass(Mine) if hasattr(X, "as_subclass") else object(),
    "None": None,
    "number": 3.0,
    "array": np.zeros((3, 4), np.float32),
    "no tensor at all": object(),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_is_laid_out_otherwise(what: str) -> None:
    fits: Any = alike([laid(X), laid(X)])
    assert fits(opweave.ones(3, 4), X) is True
    assert fits(OTHERS[what], X) is False and fits(X, OTHERS[what]) is False


def test_layouts_are_compared_by_value() -> None:
    """Sizes are objects of their own in each tensor."""
    wanted = Laid(tuple(map(int, "34")), tuple(map(int, "41")), opweave.float32, int(str(X._keys)))
    fits: Any = alike([wanted])
    assert fits(X) and fits(opweave.zeros(6, 4)[::1][3:]) and not fits(opweave.zeros(6, 4)[::2])
    big = 10**6
    far: Any = alike([Laid((big,), (1,), opweave.float32, X._keys)])
    assert far(opweave.zeros(10**6)) and not far(opweave.zeros(10**6 + 1))


def test_another_number_of_objects() -> None:
    fits: Any = alike([laid(X)])
    assert fits() is False and fits(X, X) is False


@pytest.mark.parametrize("count", [1, 2, 5, 17, 100, MOST])
def test_objects_are_told_apart(count: int) -> None:
    apart: Any = distinct(count)
    objects = [object() for _ in range(count)]
    assert apart(*objects) is True
    draw = np.random.default_rng(count)
    for _ in range(20 if count > 1 else 0):
        i, j = draw.choice(count, 2, replace=False)
        assert apart(*[objects[j] if k == i else each for k, each in enumerate(objects)]) is False
    assert apart(*objects) is True


def test_too_many_objects_are_told_apart_in_python() -> None:
    assert distinct(MOST + 1) is None


def test_what_raises_while_it_is_compared() -> None:
    class Odd(int):
        def __eq__(self, other: object) -> bool:
            raise ZeroDivisionError

        __hash__ = int.__hash__

    fits: Any = alike([Laid((Odd(3), 4), (4, 1), opweave.float32, X._keys)])
    with pytest.raises(ZeroDivisionError):
        fits(X)


def test_calls_that_do_not_fit_compile_anew() -> None:
    """Parameters, elements of containers and of `*args`, many of them; two that become one."""

    def total(x: Tensor, pair: tuple[Tensor, Tensor], *more: Tensor) -> Tensor:
        found = x * 2 + pair[0] - pair[1]
        for each in more:
            found = found + each
        return found

    compiled: Any = opweave.compile(total, dynamic=False)
    many = [opweave.full((3, 4), float(i)) for i in range(9)]

    def check(*tensors: Tensor) -> int:
        x, a, b, *more = tensors
        wanted = x.numpy() * 2 + a.numpy() - b.numpy() + sum(t.numpy() for t in more)
        before = len(compiled.entries)
        np.testing.assert_array_equal(compiled(x, (a, b), *more).numpy(), wanted)
        return len(compiled.entries) - before

    assert check(*many) == 1 and check(*many) == 0
    assert check(*[opweave.full((3, 4), -float(i)) for i in range(9)]) == 0
    assert check(*many[:8], opweave.ones(4)) == 1  # another size at the end
    assert check(*many[:3], many[3], many[3], *many[5:]) == 0  # one object twice, where nothing is written
    assert check(*many) == 0 and check(*many[:8]) == 1
    with pytest.raises((TypeError, AttributeError)):
        compiled(many[0], (many[1], None), *many[3:])
    assert check(*many) == 0


def test_one_of_many_that_is_written_is_given_twice() -> None:
    def write(x: Tensor, *more: Tensor) -> Tensor:
        found = x.mul_(2) * 1
        for each in more:
            found = found + each
        return found

    compiled: Any = opweave.compile(write, dynamic=False)
    for twice in (None, 0, 3, None, 5):
        mine, theirs = ([opweave.full((3, 4), float(i)) + 1 for i in range(7)] for _ in range(2))
        for tensors in (mine, theirs):
            if twice is not None:
                tensors[twice] = tensors[-1]
        np.testing.assert_array_equal(compiled(*mine).numpy(), write(*theirs).numpy())
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert len(compiled.entries) == 4
