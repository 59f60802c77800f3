"""Tensors of PyTorch beside opweave's are refused in words, and never taken for numbers or compared as objects."""

from __future__ import annotations

import operator
from typing import Any

import pytest
import torch

import opweave
from opweave.registry.errors import ArgumentError

THEIRS = {"tensor": torch.ones(3), "parameter": torch.nn.Parameter(torch.ones(3))}
OPERATORS = [operator.add, operator.mul, operator.matmul, operator.eq, operator.ne, operator.lt, operator.truediv]


@pytest.mark.parametrize("theirs", THEIRS.values(), ids=THEIRS)
@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_operators(function: Any, theirs: Any) -> None:
    own = opweave.ones(3)
    for args in ((own, theirs), (theirs, own)):
        with pytest.raises(ArgumentError, match="a tensor of PyTorch among opweave's"):
            function(*args)


@pytest.mark.parametrize("theirs", THEIRS.values(), ids=THEIRS)
def test_functions(theirs: Any) -> None:
    own = opweave.ones(3)
    calls = [
        lambda: opweave.mm(opweave.ones(3, 3), theirs), lambda: opweave.cat([own, theirs]), lambda: opweave.sin(theirs),
        lambda: torch.add(theirs, own), lambda: torch.cat([theirs, own]),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(ArgumentError, match="a tensor of PyTorch among opweave's"):
            call()
    assert (opweave.from_dlpack(theirs.detach()) + own).tolist() == [2, 2, 2]


def test_a_subclass_that_answers_is_asked() -> None:
    class Answers(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func.__name__

    assert opweave.add(opweave.ones(3), torch.ones(3).as_subclass(Answers)) == "add"


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: opweave.add(x, y), lambda x, y: x.add(y), lambda x, y: x.mul_(y), lambda x, y: x.pow(y),
        lambda x, y: opweave.full((2,), y), lambda x, y: opweave.clamp(x, min=y),
        lambda x, y: opweave.nn.functional.leaky_relu(x, y),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sizes", [(), (1,), (2,)])
def test_a_tensor_of_pytorch_is_no_number(call: Any, sizes: tuple[int, ...]) -> None:
    x = opweave.ones(2)
    with pytest.raises(ArgumentError):
        call(x, torch.full(sizes, 0.5))
    assert x.tolist() == [1.0, 1.0]
