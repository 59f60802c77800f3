"""Products of which parts are read one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
ROWS, WIDTH = 32, 512


def real(*sizes: int, dtype: str = "float32") -> Tensor:
    # So small that a state of long ago counts little: errors do not grow from step to step.
    return from_numpy((DRAW.standard_normal(sizes) / 32).astype(dtype))


def recurrent(order: Callable[[list[Any]], Sequence[Any]] = list) -> Callable[..., Any]:
    """A state that takes rows of a product in, a few at each step."""

    def function(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
        parts = (x @ w).split(ROWS)
        state = parts[0]
        for part in order([*parts[1:]]):
            state = ((state @ u) + part).tanh()
        return state

    return function


def turned(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    """Reads columns of the rows, through views that are made before anything is read."""
    halves = [part.chunk(2, 1) for part in (x @ w).split(ROWS)]
    state = halves[0][0]
    for a, b in halves[1:]:
        state = ((state @ u) * a + b).tanh()
    return state


def kept(x: Tensor, w: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    whole = x @ w
    state = whole[:ROWS]
    for i in range(1, 20):
        state = ((state @ u) + whole[i * ROWS : (i + 1) * ROWS]).tanh()
    return state, whole


def overlapping(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    whole = x @ w
    state = whole[:ROWS]
    for i in range(1, 39):
        state = ((state @ u) + whole[i * ROWS // 2 : i * ROWS // 2 + ROWS]).tanh()
    return state


def at_once(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    parts = (x @ w).split(ROWS)
    total = parts[0]
    for part in parts[1:]:
        total = total.tanh() + part
    return total @ u


def some_rows(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    """Reads every other block, and the last rows in two sizes."""
    whole = x @ w
    state = whole[:ROWS]
    for i in range(2, 18, 2):
        state = ((state @ u) + whole[i * ROWS : (i + 1) * ROWS]).tanh()
    return state[:8] + whole[632:640]


def of(steps: int = 20, width: int = WIDTH, dtype: str = "float32") -> tuple[Tensor, ...]:
    return real(steps * ROWS, 64, dtype=dtype), real(64, width, dtype=dtype), real(width, width, dtype=dtype)


#: What is compiled, its arguments, and in how many parts the large product is made.
CASES: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...], int]] = {
    "forwards": (recurrent(), of(), 5),
    "backwards": (recurrent(lambda parts: parts[::-1]), of(), 5),
    "in no order": (recurrent(lambda parts: parts[::2] + parts[1::2]), of(), 5),
    "doubles": (recurrent(), of(dtype="float64"), 10),
    "a part more": (recurrent(), of(21), 6),
    "small": (recurrent(), of(4), 1),
    "columns of rows": (turned, (real(640, 64), real(64, WIDTH), real(256, 256)), 5),
    "kept": (kept, of(), 1),
    "overlapping": (overlapping, of(), 1),
    "read at once": (at_once, of(), 1),
    "not all rows": (some_rows, of(), 4),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_products_equal_eager(name: str) -> None:
    function, tensors, count = CASES[name]
    wanted, found = function(*tensors), opweave.compile(function)(*tensors)
    pairs = zip(wanted, found, strict=True) if isinstance(wanted, tuple) else [(wanted, found)]
    for want, have in pairs:
        assert (have.dtype, have.shape, have.stride()) == (want.dtype, want.shape, want.stride())
        np.testing.assert_allclose(have.numpy(), want.numpy(), rtol=1e-4, atol=1e-4)
    graph = dce.run(products.run(make_fx(function)(*tensors).graph))
    right = graph.placeholders()[1]
    assert sum(node.target is aten.mm.default and node.args[1] is right for node in graph) == count


def test_nan_stays_in_its_rows() -> None:
    x, w, u = of()
    x[3] = float("nan")
    found = opweave.compile(recurrent())(x, w, u).numpy()
    assert np.isnan(found[3]).all() and not np.isnan(np.delete(found, 3, 0)).any()
