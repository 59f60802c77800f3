"""Compiled functions mean what they say where a graph would not: types, `try`, names that load late, draws by a
generator, second derivatives."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import opweave
from opweave import Tensor
from opweave.registry.errors import AutogradError, UnsupportedError


class Failed(Exception):
    """What the op raises."""


@opweave.library.custom_op("kept_meaning::fails", mutates_args=())
def fails(x: Tensor) -> Tensor:
    raise Failed


@fails.register_fake
def _(x: Tensor) -> Tensor:
    return opweave.empty_like(x)


def by_is(x: Tensor) -> Tensor:
    return x + 1 if type(x) is Tensor else x * 100


def by_equality(x: Tensor) -> Tensor:
    return x + 1 if type(x) == opweave.Tensor else x * 100  # noqa: E721


def by_membership(x: Tensor) -> Tensor:
    return x + 1 if type(x) in (int, Tensor) else x * 100


def by_except(x: Tensor) -> Tensor:
    try:
        return fails(x)
    except Failed:
        return x + 1


def by_bare_except(x: Tensor) -> Tensor:
    try:
        y = fails(x * 1)
    except:  # noqa: E722
        y = x + 1
    finally:
        x = x * 2
    return y


def by_except_of_a_caller(x: Tensor) -> Tensor:
    def inner(x: Tensor) -> Tensor:
        return fails(x)

    try:
        return inner(x)
    except (ValueError, Failed):
        return x + 1


FUNCTIONS = [by_is, by_equality, by_membership, by_except, by_bare_except, by_except_of_a_caller]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_functions_that_no_graph_means(function: Callable[..., Any]) -> None:
    x = opweave.ones(3)
    compiled = opweave.compile(function)
    assert compiled(x).tolist() == compiled(x).tolist() == [2.0, 2.0, 2.0]
    with pytest.raises(UnsupportedError, match=r"the type of a traced tensor|stands in a `try`"):
        opweave.compile(function, fullgraph=True)(x)


def test_what_a_finally_or_with_hands_on_is_one_graph() -> None:
    @opweave.library.custom_op("kept_meaning::doubles", mutates_args=())
    def doubles(x: Tensor) -> Tensor:
        return x * 2

    doubles.register_fake(lambda x: opweave.empty_like(x))

    def function(x: Tensor) -> Tensor:
        with opweave.no_grad():
            x = doubles(x)
        try:
            return doubles(x)
        finally:
            x = x + 1

    assert opweave.compile(function, fullgraph=True)(opweave.ones(2)).tolist() == [4.0, 4.0]


def test_a_name_that_a_module_loads_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(ModuleType):
        def __getattr__(self, name: str) -> Any:
            if name != "factor":
                raise AttributeError(name)
            self.factor = 3.0
            return self.factor

    late = Late("late")
    monkeypatch.setitem(sys.modules, "late", late)

    def function(x: Tensor) -> Tensor:
        return x * late.factor if hasattr(late, "factor") else x

    compiled = opweave.compile(function)
    for _ in range(2):
        assert compiled(opweave.ones(2)).tolist() == [3.0, 3.0]
    assert len(compiled.entries) == 1  # the second call found it there


def test_draws_by_a_generator_of_the_function() -> None:
    generator = opweave.Generator()

    def function(x: Tensor) -> Tensor:
        return x + opweave.rand(4, generator=generator)

    x = opweave.zeros(4)
    generator.manual_seed(5)
    expected = [function(x).tolist(), function(x).tolist()]
    generator.manual_seed(5)
    compiled = opweave.compile(function)
    assert [compiled(x).tolist(), compiled(x).tolist()] == expected


def test_second_derivatives_reach_inputs_that_the_backward_does_not_read() -> None:
    """They are refused, in place of being none: the backward reads what was computed of the input."""

    @opweave.library.custom_op("kept_meaning::cubes", mutates_args=())
    def cubes(x: Tensor) -> tuple[Tensor, Tensor]:
        return x**3, 3 * x**2

    cubes.register_fake(lambda x: (opweave.empty_like(x), opweave.empty_like(x)))
    cubes.register_autograd(
        lambda ctx, grad, _: grad * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output[1]),
    )
    x = opweave.tensor([1.0, 2.0], requires_grad=True)
    (first,) = opweave.autograd.grad(opweave.compile(lambda x: cubes(x)[0])(x).sum(), x, create_graph=True)
    np.testing.assert_array_equal(first.detach().numpy(), [3.0, 12.0])
    with pytest.raises(AutogradError, match="cannot be differentiated"):
        opweave.autograd.grad(first.sum(), x, allow_unused=True)
    weight = opweave.tensor([2.0, 3.0])
    (constant,) = opweave.autograd.grad(opweave.compile(lambda x: x * weight)(x).sum(), x, create_graph=True)
    assert not constant.requires_grad
