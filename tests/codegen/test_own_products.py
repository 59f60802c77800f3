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


def test_which_products_may_be() -> None:
    assert blas.is_own(dtypes.float32, (32, 128), 300)
    assert not blas.is_own(dtypes.float32, (32, 128), 64)  # 2^18 multiplications
    assert not blas.is_own(dtypes.float64, (32, 128), 300)
    assert not blas.is_own(dtypes.float32, (1, 1024), 1024)
    assert not blas.is_own(dtypes.float32, (1024, 1024), 1024)
    assert not blas.is_own(dtypes.float32, (4, 32, 128), 300)
    assert blas.is_own(dtypes.float32, (1, 32, 128), 300)
