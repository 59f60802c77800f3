"""The functions of `opweave.linalg` against those of `torch.linalg`: results, gradients, and what both refuse."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from op_samples import maker
from oracle import agree

import opweave
from opweave.registry import dtypes
from opweave.registry.errors import ShapeError

FLOATING = ["float32", "float64", "complex64", "complex128"]
ORDERS: list[Any] = [None, 0, 1, -1, 2, -2, 3.5, -0.5, math.inf, -math.inf]


@pytest.mark.parametrize("dtype", FLOATING)
def test_vector_norm(dtype: str) -> None:
    x = maker(getattr(dtypes, dtype))(3, 4, 2)
    for order, dim, keepdim in itertools.product(ORDERS[1:], (None, 0, -1, (0, 2), [1]), (False, True)):
        assert agree(
            lambda m, x: m.linalg.vector_norm(x, order, dim, keepdim),
            x,
            difference="linalg",
            note=(order, dim),  # noqa: B023
        )
    agree(lambda m, x: m.linalg.vector_norm(x, dtype=m.float64), x, difference="linalg")


@pytest.mark.parametrize("dtype", FLOATING)
def test_matrix_norm(dtype: str) -> None:
    x = maker(getattr(dtypes, dtype))(3, 4, 2)
    for order, dim, keepdim in itertools.product(
        ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf), ((-2, -1), (0, 1), (2, 0), [1, 2]), (False, True)
    ):
        assert agree(
            lambda m, x: m.linalg.matrix_norm(x, order, dim, keepdim),
            x,
            difference="linalg",
            note=(order, dim),  # noqa: B023
        )


def test_norm() -> None:
    for sizes in ((5,), (3, 4), (2, 3, 4)):
        x = maker(dtypes.float64)(*sizes)
        for order, dim in itertools.product(
            (None, 0, 1, -1, 3, math.inf, -math.inf, "fro"), (None, 0, -1, (0,), (0, 1), (1, 0))
        ):
            agree(lambda m, x: m.linalg.norm(x, order, dim), x, difference="linalg", note=(sizes, order, dim))  # noqa: B023


@pytest.mark.parametrize("sizes", [(0, 0), (0, 3), (3, 0), (2, 0, 3), (2, 3, 0), (0, 2, 3)], ids=str)
def test_norms_of_empty_matrices(sizes: tuple[int, ...]) -> None:
    """The largest of no sum is 0, the least is refused."""
    x = opweave.zeros(sizes, dtype=opweave.float64)
    for order, keepdim in itertools.product(("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf), (False, True)):
        for call in (
            lambda m, x: m.linalg.matrix_norm(x, order, keepdim=keepdim),  # noqa: B023
            lambda m, x: m.linalg.norm(x, order, dim=(-2, -1), keepdim=keepdim),  # noqa: B023
        ):
            try:
                call(torch, torch.zeros(sizes, dtype=torch.float64))
            except IndexError:
                with pytest.raises(ShapeError):
                    call(opweave, x)
            else:
                assert agree(call, x, order=0, note=order)


def test_refused_norms() -> None:
    f64, i64 = maker(dtypes.float64), maker(dtypes.int64)
    for call, x in [
        (lambda m, x: m.linalg.vector_norm(x), i64(3)), (lambda m, x: m.linalg.matrix_norm(x), f64(3)),
        (lambda m, x: m.linalg.matrix_norm(x, dim=(0, 0)), f64(3, 4)), (lambda m, x: m.linalg.norm(x, 7), f64(3, 4)),
        (lambda m, x: m.linalg.matrix_norm(x, dim=(0, 3)), f64(3, 4)), (lambda m, x: m.linalg.norm(x, 1), f64(3, 4, 2)),
        (lambda m, x: m.linalg.matrix_norm(x, "other"), f64(3, 4)),
        (lambda m, x: m.linalg.norm(x, dim=(0, 1, 2)), f64(3, 4, 2)),
        (lambda m, x: m.linalg.matrix_norm(x), i64(3, 4)),
    ]:  # fmt: skip
        assert not agree(call, x)


PRODUCTS: list[tuple[Any, tuple[tuple[int, ...], ...]]] = [
    (lambda m, a, b: m.linalg.matmul(a, b), ((2, 3, 4), (4, 5))),
    (lambda m, a, b: m.linalg.vecdot(a, b), ((3, 4), (4,))),
    (lambda m, a, b: m.linalg.vecdot(a, b, dim=0), ((3, 4), (3, 1))),
    (lambda m, a, b: m.linalg.cross(a, b), ((4, 3), (4, 3))),
    (lambda m, a, b: m.linalg.cross(a, b, dim=0), ((3, 4), (3, 1))),
    (lambda m, a, b: m.linalg.cross(a, b), ((2, 1, 3), (1, 4, 3))),
    (lambda m, a, b: m.linalg.multi_dot([a, b]), ((3, 4), (4, 2))),
    (lambda m, a, b, c: m.linalg.multi_dot([a, b, c]), ((3, 4), (4, 2), (2, 5))),
    (lambda m, a, b, c: m.linalg.multi_dot([a, b, c]), ((4,), (4, 2), (2,))),
    (lambda m, a, b, c, d: m.linalg.multi_dot((a, b, c, d)), ((2, 30), (30, 4), (4, 20), (20, 1))),
    (lambda m, a: m.linalg.matrix_power(a, 0), ((2, 3, 3),)),
    (lambda m, a: m.linalg.matrix_power(a, 1), ((3, 3),)),
    (lambda m, a: m.linalg.matrix_power(a, 5), ((2, 3, 3),)),
    (lambda m, a: m.linalg.matrix_power(a, 6), ((3, 3),)),
    (lambda m, a: m.linalg.matrix_power(a @ a.mT + 3, -2), ((3, 3),)),
    (lambda m, a: m.linalg.vander(a), ((4,),)),
    (lambda m, a: m.linalg.vander(a, N=5), ((2, 3),)),
    (lambda m, a: m.linalg.diagonal(a), ((2, 3, 4),)),
    (lambda m, a: m.linalg.diagonal(a, offset=1, dim1=0, dim2=2), ((2, 3, 4),)),
]


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("number", range(len(PRODUCTS)))
def test_products(number: int, dtype: str) -> None:
    call, sizes = PRODUCTS[number]
    make = maker(getattr(dtypes, dtype))
    assert agree(call, *[make(*s) for s in sizes], difference="linalg", note=number)


WRONG: list[tuple[Any, tuple[tuple[int, ...], ...]]] = [
    (lambda m, a, b: m.linalg.cross(a, b), ((4, 2), (4, 2))),
    (lambda m, a, b: m.linalg.cross(a, b), ((4, 3), (3,))),
    (lambda m, a, b: m.linalg.cross(a, b, dim=3), ((4, 3), (4, 3))),
    (lambda m, a: m.linalg.multi_dot([a]), ((4, 3),)),
    (lambda m, a, b: m.linalg.multi_dot([a, b]), ((4, 3), (4, 3))),
    (lambda m, a, b, c: m.linalg.multi_dot([a, b, c]), ((4, 3), (3,), (3, 4))),
    (lambda m, a: m.linalg.matrix_power(a, 2), ((4, 3),)),
    (lambda m, a: m.linalg.vander(a, N=1), ((3,),)),
    (lambda m, a, b: m.linalg.vecdot(a, b), ((3,), (4,))),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_refused_products(number: int) -> None:
    call, sizes = WRONG[number]
    assert not agree(call, *[maker(dtypes.float64)(*s) for s in sizes])


@pytest.mark.parametrize("name", ["cholesky_ex", "eig", "eigh", "inv_ex", "lu_factor_ex", "qr", "svd"])
@pytest.mark.parametrize("size", [(3, 3), (2, 1, 4, 4), (0, 2, 2)], ids=str)
def test_matrices_lie_by_columns(name: str, size: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).standard_normal(size)
    array = array @ array.swapaxes(-1, -2) + np.eye(size[-1])
    ours = getattr(opweave.linalg, name)(opweave.from_numpy(array))
    theirs = getattr(torch.linalg, name)(torch.from_numpy(array))
    for one, other in zip(ours, theirs, strict=True):
        assert one.stride() == other.stride()


@pytest.mark.parametrize(
    ("sizes", "left"),
    [
        (((3, 3), (3, 3)), True), (((3, 3), (3, 3)), False), (((2, 3, 3), (2, 3, 3)), True),
        (((2, 3, 3), (2, 3, 3)), False), (((2, 3, 3), (2, 3)), True), (((3, 3), (3,)), True),
    ],
    ids=str,
)  # fmt: skip
def test_solutions_lie_as_what_they_solve(sizes: tuple[tuple[int, ...], tuple[int, ...]], left: bool) -> None:
    draw = np.random.default_rng(0)
    a, b = (draw.standard_normal(size) for size in sizes)
    a = a + 3 * np.eye(3)
    found = opweave.linalg.solve(opweave.from_numpy(a), opweave.from_numpy(b), left=left)
    wanted = torch.linalg.solve(torch.from_numpy(a), torch.from_numpy(b), left=left)
    assert found.stride() == wanted.stride()
