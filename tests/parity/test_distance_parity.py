"""Distances against PyTorch: values, broadcasting, derivatives, special numbers, and what is refused."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out
from op_samples import maker, ops_with_samples
from oracle import check, close, compare, to_torch

import opweave as ow
from opweave.registry import dtypes
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import distance
from opweave.registry.tensor import Tensor, from_numpy

ORDERS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, math.inf]


@pytest.mark.parametrize("op", ops_with_samples(distance), ids=str)
def test_matches_pytorch(op: OpOverload) -> None:
    # The layout of a gradient is not that of PyTorch where it adds nothing up.
    assert check(op)


def rows(*sizes: int, seed: int = 0, dtype: Any = np.float64) -> Tensor:
    """Rows of which some are equal, with elements that are equal too."""
    rng = np.random.default_rng([seed, *sizes])
    return from_numpy((rng.integers(-2, 3, sizes) * 0.75).astype(dtype))


@pytest.mark.parametrize("p", ORDERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(p: float, dtype: Any) -> None:
    for a, b in [
        ((4, 3), (6, 3)),
        ((2, 4, 3), (6, 3)),
        ((3, 1, 4, 2), (2, 5, 2)),
        ((1, 1), (1, 1)),
        ((30, 5), (40, 5)),
    ]:
        x1, x2 = rows(*a, dtype=dtype), rows(*b, seed=1, dtype=dtype)
        for mode in (None, 2):
            theirs = torch.cdist(
                to_torch(x1), to_torch(x2), p,
                "use_mm_for_euclid_dist_if_necessary" if mode is None else "donot_use_mm_for_euclid_dist",
            )  # fmt: skip
            through = "cdist, from products" if mode is None and a[0] > 25 else "cdist, results"
            found = ow.cdist(x1, x2, p, mode)
            assert found._sizes == tuple(theirs.shape) and found._strides == theirs.stride()
            close(found.numpy(), theirs.numpy(), f"{through}, {np.dtype(dtype)}")
    for n in (0, 1, 2, 3, 9, 40):
        x = rows(n, 3, seed=2, dtype=dtype)
        compare(ow.pdist(x, p), torch.pdist(to_torch(x), p), (n, p), "cdist")


def test_special_numbers() -> None:
    values = np.array([[np.nan, 1.0], [np.inf, 0.0], [-np.inf, 2.0], [0.0, -0.0], [np.inf, 1.0]])
    x = from_numpy(values)
    for p in ORDERS:
        if p == math.inf and left_out("cdist of NaN by the largest difference"):
            assert np.isnan(ow.cdist(x, x, p).numpy()[0]).all()
        else:
            compare(ow.cdist(x, x, p), torch.cdist(to_torch(x), to_torch(x), p), p)
        compare(ow.pdist(x, p), torch.pdist(to_torch(x), p), p)


def test_pairs_of_many_rows() -> None:
    """The rows of each pair, found from its number: all of them for each count of rows."""
    for n in [*range(2, 40), 100, 333, 1000]:
        count = n * (n - 1) // 2
        first, second = distance._pairs(ow.zeros(n, 1), count)
        expected = np.triu_indices(n, 1)
        np.testing.assert_array_equal(first.numpy(), expected[0])
        np.testing.assert_array_equal(second.numpy(), expected[1])


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("p", ORDERS)
def test_gradients(p: float, compiled: bool) -> None:
    def calls(module: Any) -> list[Any]:
        return [lambda a, b: module.cdist(a * 2, b, p) ** 2, lambda a, b: module.pdist(a * 3, p) ** 2 * b.sum()]

    for (a, b), (ours, theirs) in itertools.product(
        [(rows(4, 3), rows(5, 3, seed=1)), (rows(6, 2), rows(3, 2))], zip(calls(ow), calls(torch), strict=True)
    ):
        mine = [t.detach().requires_grad_() for t in (a, b)]
        others = [to_torch(t.detach()).requires_grad_() for t in (a, b)]
        found = (ow.compile(ours) if compiled else ours)(*mine)
        expected = theirs(*others)
        close(found.detach().numpy(), expected.detach().numpy(), "distance, results")
        found = ow.autograd.grad(found.sum(), mine)
        expected = torch.autograd.grad(expected.sum(), others)
        for left, right in zip(found, expected, strict=True):
            close(left.numpy(), right.numpy(), "distance, gradients")


def test_broadcast_gradients() -> None:
    a, b = rows(2, 1, 4, 3), rows(3, 5, 3)
    mine = [t.detach().requires_grad_() for t in (a, b)]
    others = [to_torch(t.detach()).requires_grad_() for t in (a, b)]
    found = ow.autograd.grad((ow.cdist(*mine, 3.0) ** 2).sum(), mine)
    expected = torch.autograd.grad((torch.cdist(*others, 3.0) ** 2).sum(), others)
    for left, right in zip(found, expected, strict=True):
        close(left.numpy(), right.numpy(), "distance, gradients")


WRONG = [
    ("cdist", ((4, 3), (5, 2)), (2.0,)), ("cdist", ((3,), (5, 3)), (2.0,)), ("cdist", ((4, 3), (5, 3)), (-1.0,)),
    ("cdist", ((4, 3), (5, 3)), (math.nan,)), ("cdist", ((4, 3), (5, 3)), (2.0, 3)), ("pdist", ((4, 3, 2),), (2.0,)),
    ("cdist", ((2, 4, 3), (3, 5, 3)), (2.0,)), ("pdist", ((4,),), (2.0,)), ("pdist", ((4, 3),), (-1.0,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "sizes", "rest"), WRONG, ids=str)
def test_refused(name: str, sizes: tuple[tuple[int, ...], ...], rest: tuple[Any, ...]) -> None:
    args = [rows(*s) for s in sizes]
    with pytest.raises((RuntimeError, IndexError)):
        getattr(torch.ops.aten, name).default(*map(to_torch, args), *rest)
    with pytest.raises(OpweaveError):
        getattr(ops.aten, name).default(*args, *rest)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int64", "complex64"])
def test_types_that_are_refused(dtype: str) -> None:
    x = maker(getattr(dtypes, dtype))(4, 3)
    for fn, other in ((lambda m, t: m.cdist(t, t), "cdist"), (lambda m, t: m.pdist(t), "pdist")):
        with pytest.raises((RuntimeError, NotImplementedError)):
            fn(torch, to_torch(x))
        with pytest.raises(OpweaveError, match=other):
            fn(ow, x)
