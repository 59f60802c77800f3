"""Sums of products as one product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.passes import dce, products
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, from_numpy
from opweave.tracer.make_fx import make_fx

aten = ops.aten
DRAW = np.random.default_rng(0)


def real(*sizes: int, dtype: str = "float32") -> Tensor:
    return from_numpy(DRAW.standard_normal(sizes).astype(dtype))


def summed(*operands: Tensor) -> Tensor:
    """The sum of the products of pairs."""
    total = operands[0] @ operands[1]
    for i in range(2, len(operands), 2):
        total = total + operands[i] @ operands[i + 1]
    return total


def pairs(count: int, *, k: int = 4, dtype: str = "float32", turned: bool = False) -> tuple[Tensor, ...]:
    lefts = [real(k, 24, dtype=dtype).t() if turned else real(24, k, dtype=dtype) for _ in range(count)]
    return tuple(t for left in lefts for t in (left, real(k, 16, dtype=dtype)))


def shared(x: Tensor, *rest: Tensor) -> Any:
    """Gradients of parts of one tensor: these stand side by side already, in the other order."""
    parts = [t * 2 for t in rest]
    joined = aten.cat.default(parts[::-1])
    total = summed(*(t for part in parts for t in (part.t(), x)))
    return joined, total


#: What is compiled, its arguments, and the products that are left.
CASES: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...], int]] = {
    "three": (summed, pairs(3), 1),
    "two": (summed, pairs(2), 2),
    "many terms each": (summed, pairs(3, k=64), 3),
    "doubles": (summed, pairs(5, dtype="float64"), 1),
    "transposed": (summed, pairs(5, turned=True), 1),
    "some transposed": (summed, (*pairs(2, turned=True), *pairs(2)), 1),
    "side by side already": (shared, (real(4, 16), *(real(4, 24) for _ in range(5))), 1),
    "something else between": (
        lambda y, *t: (summed(*t[:4]) + y + summed(*t[4:])).exp(), (real(24, 16), *pairs(5)), 1
    ),
    "one is read too": (
        lambda a, b, *t: ((p := a @ b), p + summed(*t)), pairs(4), 2
    ),
    "twice the same": (lambda a, b, *t: (p := a @ b) + p + summed(*t), pairs(4), 2),
    "with a factor": (lambda a, b, *t: opweave.add(summed(*t), a @ b, alpha=2), pairs(4), 2),
    "of stretched sums": (lambda y, *t: (summed(*t) + y).sum(0), (real(16), *pairs(3)), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_sums_equal_eager(name: str) -> None:
    function, tensors, count = CASES[name]
    wanted, found = function(*tensors), opweave.compile(function)(*tensors)
    pairs_ = zip(wanted, found, strict=True) if isinstance(wanted, tuple) else [(wanted, found)]
    for want, have in pairs_:
        assert (have.dtype, have.shape, have.stride()) == (want.dtype, want.shape, want.stride())
        np.testing.assert_allclose(have.numpy(), want.numpy(), rtol=1e-4, atol=1e-4)
    graph = dce.run(products.run(make_fx(function)(*tensors).graph))
    assert sum(node.target is aten.mm.default for node in graph) == count


def test_nan_stays_where_it_is() -> None:
    operands = [t.clone() for t in pairs(4)]
    operands[2][5, 1] = float("nan")
    found = opweave.compile(summed)(*operands).numpy()
    assert np.isnan(found[5]).all() and not np.isnan(np.delete(found, 5, 0)).any()
