"""Gradients of what was cut in pieces: one node, one copy, zeros for pieces that nothing reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.registry.errors import AutogradError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, from_numpy

DRAW = np.random.default_rng(0)
CUTS: dict[str, tuple[Callable[[Tensor], Sequence[Tensor]], str]] = {
    "split": (lambda x: x.split(2), "SplitBackward0"),
    "split columns": (lambda x: x.split(3, -1), "SplitBackward0"),
    "sizes": (lambda x: x.split([1, 0, 4]), "SplitWithSizesBackward0"),
    "chunk": (lambda x: x.chunk(3, 1), "SplitBackward0"),
    "unbind": (lambda x: x.unbind(1), "UnbindBackward0"),
    "of a view": (lambda x: x.t().split(2), "SplitBackward0"),
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", CUTS)
def test_gradients(name: str, compiled: bool) -> None:
    cut, node = CUTS[name]
    x = from_numpy(DRAW.standard_normal((5, 4))).requires_grad_()
    whole = from_numpy(np.arange(20.0).reshape(5, 4))

    def function(t: Tensor) -> Any:
        pieces = cut(t)
        return sum(((piece * piece * other).sum() for piece, other in list(zip(pieces, cut(whole), strict=True))[1:]))

    made_by = cut(x * 1)[0].grad_fn
    assert made_by is not None and made_by.name() == node
    found = opweave.compile(function) if compiled else function
    grad: Any = opweave.autograd.grad(found(x), [x])[0]
    first = cut(from_numpy(np.arange(20).reshape(5, 4)))[0].numpy().ravel()
    wanted = (2 * x * whole).detach().numpy()
    wanted.ravel()[first] = 0
    np.testing.assert_allclose(grad.numpy(), wanted)


def test_second_derivatives() -> None:
    x = from_numpy(DRAW.standard_normal((6, 3))).requires_grad_()
    assert opweave.autograd.gradgradcheck(lambda t: [p**3 for p in t.split(4)] + [t.unbind(1)[2] ** 3], (x,))


def test_the_sign_of_zero_stays() -> None:
    x = opweave.zeros(2, 2).requires_grad_()
    (x.unbind(0)[0] * -0.0).sum().backward()
    grad: Any = x.grad
    assert np.signbit(grad.numpy()[0]).all() and not np.signbit(grad.numpy()[1]).any()


def test_pieces_may_not_be_written() -> None:
    x = opweave.zeros(4).requires_grad_() * 1
    with pytest.raises(AutogradError, match="several views"):
        ops.aten.split.Tensor(x, 2)[0].add_(1)
