"""Matrix products of compiled code, which run as slabs on the pool."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import opweave
from opweave.codegen import blas
from opweave.registry.tensor import Tensor, from_numpy

DRAW = np.random.default_rng(0)
LIBRARY = blas._library()
needs_openblas = pytest.mark.skipif(LIBRARY is None, reason="NumPy's BLAS is not OpenBLAS")


def operand(*sizes: int, dtype: str = "float32", layout: str = "rows") -> Tensor:
    *batch, rows, columns = sizes
    if layout == "rows":
        return from_numpy(DRAW.standard_normal(sizes).astype(dtype))
    if layout == "columns":
        return from_numpy(DRAW.standard_normal((*batch, columns, rows)).astype(dtype)).transpose(-1, -2)
    if layout == "part":
        whole = from_numpy(DRAW.standard_normal((*batch, rows + 3, columns + 5)).astype(dtype))
        return whole[..., 1 : rows + 1, 2 : columns + 2]
    assert layout == "steps"
    return from_numpy(DRAW.standard_normal((*batch, rows, 2 * columns)).astype(dtype))[..., ::2]


def exact(a: Tensor, b: Tensor) -> np.ndarray:
    return a.numpy().astype(np.float64) @ b.numpy().astype(np.float64)


def check(found: np.ndarray, a: Tensor, b: Tensor) -> None:
    """Against the product, within the bound for sums of k products: k units of the sum of their magnitudes."""
    magnitude = np.abs(a.numpy().astype(np.float64)) @ np.abs(b.numpy().astype(np.float64))
    unit = np.finfo(a.numpy().dtype).eps / 2
    assert np.all(np.abs(found - exact(a, b)) <= a.shape[-1] * unit * magnitude)


LAYOUTS = ["rows", "columns", "part", "steps"]
SIZES = [
    (300, 70, 40),
    (40, 70, 300),
    (129, 129, 129),
    (1, 2000, 400),
    (400, 2000, 1),
    (700, 1, 700),
    (256, 64, 640),
    (1030, 20, 300),
    (2, 1000, 300),
    (33, 1100, 517),
    (300, 513, 700),
]


def product(a: Tensor, b: Tensor) -> Tensor:
    out = opweave.full((*a.shape[:-1], b.shape[-1]), np.nan, dtype=a.dtype)
    blas.multiply(out, a, b)
    return out


@needs_openblas
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
def test_products_of_all_layouts(left: str, right: str, dtype: str) -> None:
    for m, k, n in SIZES:
        a, b = operand(m, k, dtype=dtype, layout=left), operand(k, n, dtype=dtype, layout=right)
        check(product(a, b).numpy(), a, b)


@needs_openblas
@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
def test_batches(left: str, right: str) -> None:
    for count, m, k, n in [(7, 50, 33, 60), (3, 300, 65, 200), (2, 1, 500, 900)]:
        a, b = operand(count, m, k, layout=left), operand(count, k, n, layout=right)
        check(product(a, b).numpy(), a, b)


@needs_openblas
def test_a_batch_of_one_matrix() -> None:
    a, b = operand(9, 60, 70), operand(1, 70, 80).expand(9, 70, 80)
    check(product(a, b).numpy(), a, b)


@needs_openblas
def test_nan_and_infinity_go_through() -> None:
    a, b = operand(300, 64), operand(64, 300)
    a.numpy()[5, 3], a.numpy()[200, 0] = np.nan, np.inf
    with np.errstate(all="ignore"):
        want = a.numpy() @ b.numpy()
    np.testing.assert_array_equal(np.isnan(product(a, b).numpy()), np.isnan(want))
    np.testing.assert_array_equal(np.isinf(product(a, b).numpy()), np.isinf(want))


@needs_openblas
@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("right", LAYOUTS)
def test_two_batch_dimensions_in_any_order(left: str, right: str) -> None:
    for counts, m, k, n in [((2, 3), 40, 33, 60), ((3, 2), 5, 4, 3), ((2, 2), 300, 65, 70), ((1, 4), 1, 5, 1)]:
        a, b = operand(*counts, m, k, layout=left), operand(*counts, k, n, layout=right)
        check(product(a, b).numpy(), a, b)
        swapped = b.transpose(0, 1).contiguous().transpose(0, 1)
        out = opweave.full((counts[0], m, counts[1], n), np.nan).transpose(1, 2)
        blas.multiply(out, a, swapped)
        check(out.numpy(), a, b)


@needs_openblas
@pytest.mark.parametrize("sizes", [(0, 5, 7), (5, 0, 7), (5, 7, 0), (300, 0, 300), (1, 1, 1)])
def test_empty_ones(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    for batch in ((), (2,), (2, 3), (0,), (0, 3), (3, 0)):
        a, b = operand(*batch, m, k), operand(*batch, k, n)
        np.testing.assert_array_equal(product(a, b).numpy(), (a.numpy() @ b.numpy()))


def test_another_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "_library", lambda: None)
    a, b = operand(2, 3, 40, 30), operand(2, 3, 30, 20)
    check(product(a, b).numpy(), a, b)


@needs_openblas
def test_results_do_not_depend_on_the_number_of_threads() -> None:
    from opweave.codegen.native import pool

    a, b = operand(700, 300), operand(300, 500)
    before, found = pool.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            pool.set_num_threads(count)
            found.append(product(a, b).numpy())
    finally:
        pool.set_num_threads(before)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@needs_openblas
def test_the_library_keeps_its_threads() -> None:
    assert LIBRARY is not None
    before = LIBRARY.get_threads()
    a, b = operand(300, 300), operand(300, 300)
    with ThreadPoolExecutor(8) as threads:
        for found in threads.map(lambda _: product(a, b), range(64)):
            check(found.numpy(), a, b)
    assert LIBRARY.get_threads() == before


@needs_openblas
def test_compiled_code_calls_it() -> None:
    a, b = operand(300, 70), operand(70, 300)
    check(opweave.compile(lambda a, b: a @ b)(a, b).numpy(), a, b)
    report = opweave.explain(lambda a, b: a @ b)(a, b)
    assert "product(" in report.versions[-1].code


# ---- small ones, in registers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layouts", [(a, b) for a in LAYOUTS for b in LAYOUTS], ids="-".join)
def test_small_products(layouts: tuple[str, str], dtype: str) -> None:
    """Rows and columns around those of a block; what BLAS has to copy or read transposed is there, too."""
    for rows, depth, columns in [(1, 1, 1), (1, 7, 16), (2, 3, 4), (3, 1, 5), (4, 9, 15), (5, 16, 17), (7, 2, 33),
                                 (8, 64, 8), (9, 5, 31), (31, 32, 32), (32, 32, 32), (33, 32, 31)]:  # fmt: skip
        a = operand(rows, depth, dtype=dtype, layout=layouts[0])
        b = operand(depth, columns, dtype=dtype, layout=layouts[1])
        check(product(a, b).numpy(), a, b)
        batched = operand(3, rows, depth, dtype=dtype, layout=layouts[0])
        many = operand(3, depth, columns, dtype=dtype, layout=layouts[1])
        check(product(batched, many).numpy(), batched, many)


@pytest.mark.parametrize("sizes", [(0, 3, 2), (3, 0, 2), (3, 2, 0)])
def test_small_products_of_nothing(sizes: tuple[int, int, int]) -> None:
    rows, depth, columns = sizes
    found = product(operand(rows, depth), operand(depth, columns))
    np.testing.assert_array_equal(found.numpy(), np.zeros((rows, columns)))


def test_small_products_write_nothing_else() -> None:
    """The last block of a row lies over the one before, not over what is beside it."""
    for rows, columns in ((5, 17), (3, 3), (6, 31)):
        around = opweave.full((rows + 2, columns + 4), 7.0)
        inside = around[1:-1, 2:-2]
        a, b = operand(rows, 9), operand(9, columns)
        blas.multiply(inside, a, b)
        check(inside.numpy(), a, b)
        edge = around.numpy().copy()
        edge[1:-1, 2:-2] = 7
        np.testing.assert_array_equal(edge, 7)


def test_special_values_in_small_products() -> None:
    values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 3e38, 1e-45], np.float32)
    a, b = (np.resize(np.roll(values, shift), (8, 5)) for shift in (0, 3))
    with np.errstate(all="ignore"):
        found = opweave.compile(lambda a, b: a @ b)(from_numpy(a), from_numpy(b.T.copy())).numpy()
        np.testing.assert_array_equal(np.isnan(found), np.isnan(a.astype(np.float64) @ b.T.astype(np.float64)))


@pytest.mark.parametrize("rows", [3, 16, 40])
def test_what_follows_a_small_product(rows: int) -> None:
    """One program or several; with numbers that a kernel takes, too."""
    a, b, c = operand(rows, 12), operand(12, 17), operand(rows, 17)
    for function in (
        lambda a, b, c: (a @ b + c).relu(),
        lambda a, b, c: (a @ b).softmax(-1) * c,
        lambda a, b, c: ((a @ b).sum(0), a @ b),
        lambda a, b, c: (a @ b)[:, None, :] * c[None],
    ):
        for found, wanted in zip(opweave.compile(function)(a, b, c), function(a, b, c), strict=True):
            np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("sizes", [(520, 20, 48), (1030, 128, 512), (300, 255, 300), (513, 3, 1000)], ids=str)
def test_what_follows_a_large_product_of_few_terms(sizes: tuple[int, int, int], threads: int) -> None:
    m, k, n = sizes
    a, b, bias = operand(m, k), operand(k, n, layout="columns"), operand(1, n)[0]
    before = opweave.get_num_threads()
    opweave.set_num_threads(threads)
    try:
        found = opweave.compile(lambda a, b, bias: (a @ b + bias).relu())(a, b, bias).numpy()
    finally:
        opweave.set_num_threads(before)
    expected = np.maximum(exact(a, b) + bias.numpy().astype(np.float64), 0)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
