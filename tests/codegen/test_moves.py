"""Elements that are put elsewhere, in kernels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import opweave
from opweave import Tensor
from opweave.testing import assert_close


def real(*sizes: int) -> Tensor:
    return opweave.from_numpy(np.random.default_rng(sum(sizes)).standard_normal(sizes).astype(np.float32))


CASES: dict[str, tuple[Callable[[Tensor], Tensor], Tensor, int]] = {
    # with the number of kernels
    "a flip": (lambda x: (x * 2).flip([0]) + 1, real(7, 30), 1),
    "of both": (lambda x: (x * 2).flip([0, 1]) + 1, real(7, 30), 1),
    "twice": (lambda x: (x * 2).flip([-1]).flip([-1]) + 1, real(7, 30), 1),
    "alone": (lambda x: x.flip([1]), real(7, 30), 1),
    "before a sum of columns": (lambda x: x.flip([-1]).sum(0), real(7, 30), 1),
    "before a sum of rows": (lambda x: x.flip([-1]).sum(1), real(7, 30), 1),
    "before softmax": (lambda x: x.flip([-1]).softmax(1), real(7, 30), 1),
    "after softmax": (lambda x: x.softmax(1).flip([1]) * 2, real(7, 30), 2),
    "before a view": (lambda x: x.flip([1]).view(7, 3, 11) * 2, real(7, 33), 1),
    "between views": (lambda x: x.view(7, 3, 11).flip([1]).view(7, 33) * 2, real(7, 33), 1),
    "a piece": (lambda x: opweave.cat([x.flip([1]), x * 2], 1), real(7, 33), 1),
    "of a part": (lambda x: x[:, 3:20].flip([1]) + x[:, :17], real(20, 33), 1),
    "and transposed": (lambda x: x.flip([0, 1]).t() * x.t(), real(200, 333), 1),
    "padded": (lambda x: opweave.nn.functional.pad(x.flip([1]), (2, 2)), real(20, 5), 2),
    "no elements": (lambda x: x.flip([0]), real(0, 33), 0),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_compiled_equals_eager(case: tuple[Callable[[Tensor], Tensor], Tensor, int]) -> None:
    function, x, kernels = case
    got = opweave.compile(function)(x)
    assert_close(got, function(x), rtol=1e-5, atol=1e-5, check_stride=True)
    assert opweave.explain(function)(x).versions[-1].code.count("@triton.jit") == kernels
    assert got.data_ptr() != x.data_ptr() or not x.numel()


def test_open_sizes() -> None:
    compiled = opweave.compile(lambda x: (x * 2).flip([-1]) + x.flip([0]), dynamic=True)
    for rows, columns in ((7, 30), (8, 31), (1, 5), (2, 3)):
        x = real(rows, columns)
        assert_close(compiled(x), (x * 2).flip([-1]) + x.flip([0]), rtol=0, atol=0)
