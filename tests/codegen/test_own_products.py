"""Products of float32 that native code of one's own makes: its code is there for those, and only for those."""

from __future__ import annotations

import numpy as np
import pytest

import opweave
from opweave.codegen import blas
from opweave.codegen.native import llvm
from opweave.registry import dtypes

pytestmark = pytest.mark.skipif(not blas.is_native(), reason="NumPy's BLAS is not OpenBLAS")
wide = pytest.mark.skipif(llvm.host().vector_bits != 512, reason="it makes products by registers of 512 bits")


def multiplied(m: int, k: int, n: int) -> np.ndarray:
    """A product, eager and compiled, for fixed sizes and any: all the same bits, and right."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    x, y = opweave.from_numpy(a), opweave.from_numpy(b)
    found = (x @ y).numpy()
    np.testing.assert_allclose(found, a.astype(np.float64) @ b, rtol=1e-4, atol=1e-3)
    for dynamic in (False, True):
        np.testing.assert_array_equal(opweave.compile(lambda x, y: x @ y, dynamic=dynamic)(x, y).numpy(), found)
    return found


@wide
def test_its_code_is_there_for_what_it_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas._own_at, "value", None)
    x = opweave.randn(32, 64)
    few = opweave.compile(lambda x, y: x @ y)
    few(x, opweave.randn(64, 128))
    assert blas._own_at.value is None
    multiplied(32, 300, 128)
    assert blas._own_at.value is not None


@wide
@pytest.mark.parametrize("sizes", [(32, 64, 128), (33, 257, 31), (200, 700, 33), (257, 64, 4096), (2, 1024, 1024)])
def test_bits_do_not_hang_on_what_was_multiplied_before(sizes: tuple[int, int, int]) -> None:
    before = multiplied(*sizes)
    multiplied(32, 300, 128)
    np.testing.assert_array_equal(multiplied(*sizes), before)


def rows_of(x: np.ndarray, how: str) -> np.ndarray:
    """The same numbers, laid out in a way."""
    if how == "across":
        return np.ascontiguousarray(x.T).T
    if how == "apart":
        wide = np.full((x.shape[0], x.shape[1] + 5), np.nan, np.float32)
        wide[:, 2:-3] = x
        return wide[:, 2:-3]
    if how == "scattered":
        spread = np.full((x.shape[0], 2 * x.shape[1]), np.nan, np.float32)
        spread[:, ::2] = x
        return spread[:, ::2]
    return x


@wide
@pytest.mark.parametrize("turned", [(False, False), (False, True), (True, False), (True, True)], ids=str)
def test_batches(turned: tuple[bool, bool]) -> None:
    """Of matrices that are neither small nor of one row, one dimension of a batch or two, in any order."""
    rng = np.random.default_rng(2)
    for batch, (m, k, n) in [
        ((8,), (64, 64, 64)),
        ((3, 5), (33, 70, 65)),
        ((2,), (300, 257, 90)),
        ((4,), (2, 900, 40)),
    ]:
        operands: list[opweave.Tensor] = []
        for (rows, columns), is_turned in zip(((m, k), (k, n)), turned, strict=True):
            sizes = (columns, *batch, rows) if is_turned else (*batch, rows, columns)
            x = opweave.from_numpy(rng.standard_normal(sizes, np.float32))
            operands.append(x.movedim(0, -1) if is_turned else x)
        wanted = np.matmul(*(x.numpy().astype(np.float64) for x in operands))
        found = opweave.matmul(*operands).numpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)
        np.testing.assert_array_equal(opweave.matmul(*operands).numpy(), found)
        np.testing.assert_array_equal(opweave.compile(lambda x, y: x @ y)(*operands).numpy(), found)
        relu = opweave.compile(lambda x, y: opweave.relu(x @ y + 1))(*operands)
        np.testing.assert_allclose(relu.numpy(), np.maximum(wanted + 1, 0), rtol=1e-4, atol=1e-3)


@wide
@pytest.mark.parametrize("right", ["beside", "across", "apart", "scattered"])
@pytest.mark.parametrize("left", ["beside", "across", "apart", "scattered"])
def test_operands_in_any_layout(left: str, right: str) -> None:
    """Rows are read where they lie or packed, panels are packed as they are needed or before."""
    rng = np.random.default_rng(1)
    for m, k, n in [(256, 300, 64), (255, 513, 200), (97, 256, 65), (2, 3000, 130), (300, 257, 900), (700, 64, 1000)]:
        a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
        x, y = opweave.from_numpy(rows_of(a, left)), opweave.from_numpy(rows_of(b, right))
        wanted = a.astype(np.float64) @ b
        found = (x @ y).numpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)
        np.testing.assert_array_equal(opweave.compile(lambda x, y: x @ y)(x, y).numpy(), found)
        relu = opweave.compile(lambda x, y: opweave.relu(x @ y + 1))(x, y)
        np.testing.assert_allclose(relu.numpy(), np.maximum(wanted + 1, 0), rtol=1e-4, atol=1e-3)


@wide
def test_one_row_for_all_and_numbers_that_are_not_finite() -> None:
    rng = np.random.default_rng(2)
    row, b = rng.standard_normal((1, 300), np.float32), rng.standard_normal((300, 200), np.float32)
    x = opweave.from_numpy(row).expand(64, 300)
    np.testing.assert_allclose((x @ opweave.from_numpy(b)).numpy(), np.repeat(row @ b, 64, 0), rtol=1e-4, atol=1e-4)
    a = rng.standard_normal((64, 300), np.float32)
    a[3, 7], a[63, 299], b[0, 0] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        wanted = a.astype(np.float64) @ b
    found = opweave.from_numpy(a) @ opweave.from_numpy(b)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-3)


@wide
def test_a_result_between_other_numbers() -> None:
    rng = np.random.default_rng(4)
    for m, k, n in [(256, 300, 64), (255, 513, 200), (300, 257, 896), (700, 64, 1000)]:
        a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
        whole = opweave.full((m, n + 9), 7.0)
        blas.multiply(whole[:, 5 : n + 5], opweave.from_numpy(a), opweave.from_numpy(b))
        found = whole.numpy()
        np.testing.assert_allclose(found[:, 5 : n + 5], a.astype(np.float64) @ b, rtol=1e-4, atol=1e-3)
        assert (found[:, :5] == 7).all() and (found[:, n + 5 :] == 7).all()


@wide
def test_a_result_in_the_place_of_an_operand() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((300, 300), np.float32), rng.standard_normal((300, 300), np.float32)
    for f in (lambda x, y: x.copy_(x @ y), lambda x, y: opweave.mm(x, y, out=x)):
        for g in (f, opweave.compile(f)):
            x = opweave.from_numpy(a.copy())
            g(x, opweave.from_numpy(b))
            np.testing.assert_allclose(x.numpy(), a.astype(np.float64) @ b, rtol=1e-4, atol=1e-3)


@wide
def test_a_deep_product_is_whole_before_its_kernel_runs() -> None:
    rng = np.random.default_rng(3)
    for m, k, n in [(256, 512, 2048), (512, 300, 256), (2000, 256, 300)]:
        a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
        x, y = opweave.from_numpy(a), opweave.from_numpy(b)
        for dynamic in (False, True):
            found = opweave.compile(lambda x, y: (x @ y).softmax(-1), dynamic=dynamic)(x, y).numpy()
            np.testing.assert_allclose(found, (x @ y).softmax(-1).numpy(), rtol=1e-4, atol=1e-6)


def test_which_products_may_be() -> None:
    assert blas.is_own(dtypes.float32, (32, 128), 300)
    assert not blas.is_own(dtypes.float32, (32, 128), 64)  # 2^18 multiplications
    assert not blas.is_own(dtypes.float64, (32, 128), 300)
    assert not blas.is_own(dtypes.float32, (1, 1024), 1024)
    assert blas.is_own(dtypes.float32, (1024, 1024), 1024)
    assert blas.is_own(dtypes.float32, (4096, 1025), 1024) == blas.is_narrow()
    assert blas.is_own(dtypes.float32, (4, 32, 128), 300)
    assert not blas.is_own(dtypes.float32, (400, 16, 128), 16)  # small ones
    assert blas.is_own(dtypes.float32, ("n", 16, 128), 16)
    assert blas.is_own(dtypes.float32, (1, 32, 128), 300)
