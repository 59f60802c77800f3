"""Products of one right operand, which the first of them packs for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from compiling import traced

import opweave
from opweave.codegen import blas
from opweave.codegen.host.text import text
from opweave.codegen.wrapper import host_program
from opweave.registry.device import cpu
from opweave.registry.tensor import Tensor, from_numpy

pytestmark = pytest.mark.skipif(not blas.is_native(), reason="NumPy's BLAS is not OpenBLAS")
DRAW = np.random.default_rng(0)


def real(*sizes: int, dtype: str = "float32") -> Tensor:
    return from_numpy((DRAW.standard_normal(sizes) / 16).astype(dtype))


@pytest.fixture(autouse=True)
def restored_threads() -> Iterator[None]:
    before = opweave.get_num_threads()
    yield
    opweave.set_num_threads(before)


def chain(count: int) -> Callable[..., Tensor]:
    """A state that is multiplied by a matrix so many times."""

    def function(x: Tensor, w: Tensor) -> Tensor:
        for _ in range(count):
            x = (x @ w).sin() + x
        return x

    return function


def transposed(x: Tensor, w: Tensor) -> Tensor:
    return chain(5)(x, w.t())


def columns(x: Tensor, w: Tensor) -> Tensor:
    """What is multiplied lies in the other order."""
    return chain(5)(x.t(), w).t()


def wide(x: Tensor, w: Tensor) -> Tensor:
    """More columns than rows of the right operand."""
    for _ in range(5):
        x = (x @ w).sin()[:, : x.shape[1]] + x
    return x


def changed(x: Tensor, w: Tensor) -> Tensor:
    """The matrix is another after some products, in the same memory."""
    first = chain(5)(x, w)
    w.mul_(0.5)
    return chain(5)(first, w)


def of_two(x: Tensor, w: Tensor) -> Tensor:
    """Two right operands in turns."""
    v = w + 1 / 16
    for _ in range(5):
        x = ((x @ w).sin() @ v).cos()
    return x


def batched(x: Tensor, w: Tensor) -> Tensor:
    for _ in range(5):
        x = (x @ w).sin()
    return x


#: What is compiled, its arguments, and how many operands are packed.
CASES: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...], int]] = {
    "whole panels": (chain(6), (real(32, 128), real(128, 128)), 1),
    "parts of panels": (chain(6), (real(32, 150), real(150, 150)), 1),
    "few columns more": (chain(6), (real(20, 129), real(129, 129)), 1),
    "deep": (chain(6), (real(48, 300), real(300, 300)), 1),
    "many rows": (chain(4), (real(250, 128), real(128, 128)), 1),
    "more rows than pay": (chain(4), (real(300, 128), real(128, 128)), 0),
    "rows that fill nothing": (chain(5), (real(3, 1024), real(1024, 1024)), 1),
    "small": (chain(6), (real(16, 64), real(64, 64)), 1),
    "smaller": (chain(6), (real(8, 64), real(64, 64)), 0),
    "three": (chain(3), (real(32, 128), real(128, 128)), 0),
    "transposed": (transposed, (real(32, 160), real(160, 160)), 1),
    "columns": (columns, (real(160, 32), real(160, 160)), 1),
    "wide": (wide, (real(32, 128), real(128, 512)), 1),
    "of two": (of_two, (real(32, 128), real(128, 128)), 2),
    "doubles": (chain(6), (real(32, 128, dtype="float64"), real(128, 128, dtype="float64")), 0),
    "batches": (batched, (real(4, 32, 128), real(4, 128, 128)), 0),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_products_equal_eager(name: str) -> None:
    function, tensors, count = CASES[name]
    wanted = function(*tensors).numpy()
    compiled = opweave.compile(function)
    found = []
    for threads in (1, 2, 3):
        opweave.set_num_threads(threads)
        found += [compiled(*tensors).numpy() for _ in range(3)]
    for have in found[1:]:
        np.testing.assert_array_equal(have, found[0])
    np.testing.assert_allclose(found[0], wanted, rtol=1e-4, atol=1e-4)
    shown = text(host_program(traced(function, *tensors), "call", cpu))
    assert len({word for word in shown.split() if word.rstrip(",").endswith("_packed")}) >= count
    assert (" packed at " in shown) == (count > 0)


def test_a_matrix_that_changes_is_packed_anew() -> None:
    x, w = real(32, 128), real(128, 128)
    copy = w.clone()
    wanted, compiled = changed(x, copy).numpy(), opweave.compile(changed)
    before = w.clone()
    np.testing.assert_allclose(compiled(x, w).numpy(), wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(w.numpy(), copy.numpy())
    np.testing.assert_array_equal(w.numpy(), before.numpy() / 2)
    for _ in range(2):  # what was packed at one call is nothing to the next
        wanted = changed(x, copy).numpy()
        np.testing.assert_allclose(compiled(x, w).numpy(), wanted, rtol=1e-4, atol=1e-4)


def test_nan_and_infinities() -> None:
    x, w = real(32, 128), real(128, 128)
    x[3, 5], w[7, 9] = float("nan"), float("inf")
    with np.errstate(all="ignore"):
        wanted = chain(4)(x, w).numpy()
    np.testing.assert_array_equal(np.isnan(opweave.compile(chain(4))(x, w).numpy()), np.isnan(wanted))


def test_results_while_the_profiler_watches() -> None:
    x, w = real(32, 128), real(128, 128)
    compiled = opweave.compile(chain(5))
    wanted = compiled(x, w).numpy()
    with opweave.profile():
        np.testing.assert_array_equal(compiled(x, w).numpy(), wanted)
