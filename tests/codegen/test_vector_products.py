"""Products of few rows, or of one column, by native code that reads the matrix once, beside NumPy in more precision."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.codegen import blas
from opweave.codegen.native import llvm, objects, vector_products

#: Its letter in LLVM, and what a sum of so many terms of about 1 may be off by.
TYPES = {"float": (np.float32, np.longdouble, 2e-6), "double": (np.float64, np.longdouble, 4e-15)}
#: Rows, summands, columns: parts of registers, of blocks and of groups of rows.
SIZES = [
    (1, 1, 1), (1, 5, 3), (1, 16, 16), (1, 33, 31), (1, 100, 130), (1, 300, 257), (1, 0, 4), (2, 65, 40), (3, 7, 129),
    (4, 64, 64), (5, 50, 70), (16, 31, 35), (17, 31, 35), (4, 1, 200), (9, 40, 1), (100, 77, 1), (257, 64, 1),
    (33, 0, 1),
]  # fmt: skip
LAYOUTS = ("plain", "turned", "apart")


def laid(x: np.ndarray, layout: str) -> np.ndarray:
    """The same numbers, which lie in memory as the layout says."""
    if layout == "turned":
        return np.ascontiguousarray(x.T).T
    if layout == "apart":
        wide = np.full((x.shape[0], x.shape[1] + 3), np.nan, x.dtype)
        wide[:, 1:-2] = x
        return wide[:, 1:-2]
    return x


def code(real: str, bits: int) -> Any:
    """`i1 go(i64 m, i64 n, i64 k, ptr a, steps, ptr b, steps, ptr c, step)`."""
    given = ", ".join(f"{kind} %x{i}" for i, kind in enumerate("i64 i64 i64 ptr i64 i64 ptr i64 i64 ptr i64".split()))
    text = "\n".join([
        vector_products.module(real, bits), f"define i32 @go({given}) {{",
        f"%made = call i1 @{vector_products.symbol(real)}({given})", "%found = zext i1 %made to i32", "ret i32 %found",
        "}",
    ])  # fmt: skip
    return objects.load(llvm.compile_object(text, level=objects.PROMOTED), ("go",))


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("real", TYPES)
def test_registers_of_all_widths(real: str, bits: int) -> None:
    loaded = code(real, bits)
    kinds = [ctypes.c_void_p if kind == "p" else ctypes.c_int64 for kind in "iiipiipiipi"]
    go = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(loaded.address("go"))
    dtype, exact, off = TYPES[real]
    rng = np.random.default_rng(0)
    made = 0
    for m, k, n in SIZES:
        for left in LAYOUTS:
            for right in LAYOUTS:
                a, b = (
                    laid(rng.uniform(-1, 1, sizes).astype(dtype), how)
                    for sizes, how in (((m, k), left), ((k, n), right))
                )
                c = np.full((m + 2, n + 5), 7, dtype)
                steps = [[s // dtype().itemsize for s in x.strides] for x in (a, b, c)]
                start = c[1:, 2:].ctypes.data
                found = go(m, n, k, a.ctypes.data, *steps[0], b.ctypes.data, *steps[1], start, steps[2][0])
                if found:
                    made += 1
                    wanted = np.full(c.shape, 7, exact)
                    wanted[1 : m + 1, 2 : n + 2] = a.astype(exact) @ b.astype(exact)
                    np.testing.assert_allclose(c, wanted.astype(dtype), rtol=off, atol=off * max(k, 1) ** 0.5)
                else:
                    assert (c == 7).all()
                    assert m > 16 or right == "turned" or not k  # NumPy says nothing of how nothing lies
    assert made > len(SIZES) * 5


@pytest.mark.skipif(not blas.is_native(), reason="NumPy's BLAS is not OpenBLAS")
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("real", TYPES)
def test_as_ops(real: str, left: str, right: str) -> None:
    dtype, exact, off = TYPES[real]
    rng = np.random.default_rng(1)
    for m, k, n in [(1, 33, 31), (9, 40, 1), (1, 1024, 1000), (3, 4096, 300), (8, 700, 260), (900, 300, 1)]:
        a, b = rng.uniform(-1, 1, (m, k)).astype(dtype), rng.uniform(-1, 1, (k, n)).astype(dtype)
        x, y = opweave.from_numpy(laid(a, left)), opweave.from_numpy(laid(b, right))
        wanted = (a.astype(exact) @ b.astype(exact)).astype(dtype)
        close = {"rtol": off, "atol": 2 * off * max(k, 1) ** 0.5}
        compiled = opweave.compile(lambda x, y: x @ y, dynamic=False)
        np.testing.assert_allclose((x @ y).numpy(), wanted, **close)
        np.testing.assert_allclose(compiled(x, y).numpy(), wanted, **close)
        batch = opweave.bmm(opweave.stack([x, x * 2]), opweave.stack([y, y]))
        np.testing.assert_allclose(
            batch.numpy(), np.stack([wanted, wanted * 2]), **(close | {"atol": 2 * close["atol"]})
        )
        relu = opweave.compile(lambda x, y: opweave.relu(x @ y + 1))(x, y)
        np.testing.assert_allclose(relu.numpy(), np.maximum(wanted + 1, 0), **close)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_not_finite(dtype: Any) -> None:
    a, b = np.ones((1, 40), dtype), np.ones((40, 70), dtype)
    b[3, 5], b[4, 6], a[0, 7] = np.nan, np.inf, 0
    b[7, 8] = np.inf  # by 0
    x, y = opweave.from_numpy(a), opweave.from_numpy(b)
    with np.errstate(invalid="ignore"):
        wanted = a @ b
    for right in (y, y.mT.contiguous().mT):
        for _ in range(3):
            np.testing.assert_array_equal((x @ right).numpy(), wanted)
            np.testing.assert_array_equal((right.mT @ x.mT).numpy(), wanted.T)


#: Results' sizes about where slabs end, and sums.
ENDS = [
    (m, n, k)
    for m in (1, 2, 16, 17, 100, 128, 129, 144, 145, 257, 1040, 1041, 2000)
    for n in (1, 2, 31, 128, 129, 257) for k in (3, 300)
]  # fmt: skip


@pytest.mark.skipif(not blas.is_native(), reason="NumPy's BLAS is not OpenBLAS")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_its_code_is_there_for_what_it_makes(monkeypatch: pytest.MonkeyPatch, dtype: Any) -> None:
    """The same bits whether it is there or not, unless it was said to be needed; then `multiply` has it."""
    rng = np.random.default_rng(2)
    needed = 0
    library = blas._library()
    assert library is not None
    for m, n, k in ENDS:
        a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
        x, y = opweave.from_numpy(a), opweave.from_numpy(b)
        found = []
        for vectors in (True, False):
            with monkeypatch.context() as patch:
                if vectors:
                    library.have_for(x.dtype, ("m", "n"), k)
                else:
                    patch.setattr(blas._vectors_at[x.dtype], "value", None)
                out = opweave.empty(m, n, dtype=x.dtype)
                blas.multiply(out, x, y)
                found.append(out.numpy())
                assert (blas._vectors_at[x.dtype].value is not None) == (vectors or blas.has_vectors((m, n)))
        np.testing.assert_array_equal(*found)
        needed += blas.has_vectors((m, n))
    assert 0 < needed < len(ENDS)
    assert blas.has_vectors(("m", 128)) and blas.has_vectors((128, "n"))
