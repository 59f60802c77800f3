"""Kernels that follow a product slab by slab: which do, and that nothing is different for it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opweave
from opweave import Tensor
from opweave.codegen import blas, narrow_products
from opweave.codegen.native import objects, pool
from opweave.nn import functional as F
from opweave.registry import tape
from opweave.registry.ops import matmul

_WORD, _ADDRESS, _INT = ctypes.c_int64, ctypes.c_void_p, ctypes.c_int
_RUN = ctypes.CFUNCTYPE(_INT, _ADDRESS, _ADDRESS, _WORD, _INT, _INT, _INT, _ADDRESS)
_OWN = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each product that a kernel may follow, whether it did."""
    library = blas._library()
    if library is None:
        pytest.skip("NumPy's BLAS is not OpenBLAS: there are no slabs")
    found: list[bool] = []
    run = _RUN(pool.run_address())
    then = list(blas._FIELDS).index("then")

    def noting(code: int, words: int, *rest: Any) -> int:
        given = (ctypes.c_int64 * len(blas._FIELDS)).from_address(words)
        if given[0] in routines:  # and not a kernel that is launched alone
            found.append(given[then] != 0)
        return run(code, words, *rest)

    own = _OWN(narrow_products.float_address())

    def noting_own(words: int) -> int:
        found.append(False)  # it has no slabs
        return own(words)

    callbacks = _RUN(noting), _OWN(noting_own)
    address, own_address = (ctypes.cast(callback, ctypes.c_void_p).value for callback in callbacks)
    with monkeypatch.context() as patch:
        patch.setattr(pool, "run_address", lambda: address)
        spied_at = ctypes.c_void_p(own_address)
        patch.setattr(blas, "_own_at", spied_at)
        # As where BLAS has kernels for all of the machine's registers: else it makes no products that are followed.
        found_library = blas._found()
        assert found_library is not None
        wide = found_library._replace(is_narrow=False)
        patch.setattr(blas, "_found", lambda: wide)
        spied = blas._library.__wrapped__()
    symbols = blas._found().symbols
    routines = {symbols["blas_sgemm"], symbols["blas_dgemm"]}
    objects.keep_forever((callbacks, spied_at))
    monkeypatch.setattr(blas, "_library", lambda: spied)
    # Eager products are NumPy's then, and not counted.
    monkeypatch.setattr(matmul.large, "call", None)
    monkeypatch.setattr(tape, "_MOST_ON_POOL", tape.MOST_PRODUCTS)
    return found


def tensor(*sizes: int, seed: int = 0) -> Tensor:
    return opweave.from_numpy(np.random.default_rng(seed + sum(sizes)).standard_normal(sizes).astype(np.float32))


def check(function: Callable[..., Tensor], *args: Tensor, **options: Any) -> None:
    """Compare a compiled function with the function."""
    got, wanted = opweave.compile(function, **options)(*args), function(*args)
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=2e-5, atol=1e-4)
    assert got._strides == wanted._strides


def code_of(function: Callable[..., Any], *args: Tensor) -> str:
    return opweave.explain(function)(*args).versions[-1].code


def linear(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return opweave.relu(F.linear(x, w, b))


def test_the_code_says_what_follows() -> None:
    code = code_of(lambda x, w: opweave.relu(opweave.mm(x, w)) * 2, tensor(512, 64), tensor(64, 256))
    call = "(w, (64, 256), (256, 1)), 8192, 1, fused_relu_mul_0, (16, 1, 1), (mm, mul))"
    assert code.count("product(") == 1 and call in code


@pytest.mark.parametrize(
    ("rows", "columns", "follows"),
    [
        (512, 256, True),  # two slabs or more
        (300, 256, True),  # the last one smaller
        (257, 64, True),
        (100, 40, True),  # one slab, whatever a program takes
        (100, 41, True),
        (1, 7, True),
        (512, 1000, True),  # a program is some rows
        (512, 5, False),  # programs that read of two slabs
        (100, 3000, False),  # slabs are columns
    ],
)
def test_a_bias_and_an_activation_follow(rows: int, columns: int, follows: bool, followed: list[bool]) -> None:
    check(linear, tensor(rows, 30), tensor(columns, 30), tensor(columns))
    assert followed == [follows]


def test_a_row_reduction_follows(followed: list[bool]) -> None:
    check(lambda x, w: opweave.softmax(opweave.mm(x, w), -1), tensor(600, 30), tensor(30, 200))
    check(lambda x, w: F.layer_norm(opweave.mm(x, w) + x, (50,)), tensor(600, 50), tensor(50, 50))
    assert followed == [True, True]


def test_a_column_reduction_does_not(followed: list[bool]) -> None:
    check(lambda x, w: opweave.mm(x, w).sum(0), tensor(600, 30), tensor(30, 200))
    check(lambda x, w: opweave.mm(x, w).cumsum(0) * 2, tensor(600, 30), tensor(30, 200))
    assert True not in followed


def test_a_reader_of_other_rows_does_not(followed: list[bool]) -> None:
    x, w = tensor(512, 30), tensor(30, 256)
    check(lambda x, w: opweave.mm(x, w)[1:] + opweave.mm(x, w)[:-1], x, w)
    check(lambda x, w: opweave.mm(x, w).flip(0) * 2, x, w)
    check(lambda x, w: opweave.mm(x, w).t() * opweave.mm(w.t(), x.t()), x, w)
    check(lambda x, w, i: opweave.mm(x, w)[i] * 2, x, w, opweave.from_numpy(np.arange(511, -1, -1)))
    assert True not in followed[:2] and not followed[-1]


def test_batches(followed: list[bool]) -> None:
    check(lambda a, b: opweave.bmm(a, b) * 2 + 1, tensor(9, 64, 20), tensor(9, 20, 128))
    check(lambda a, b: opweave.bmm(a, b) * 2 + 1, tensor(3, 256, 20), tensor(3, 20, 128))
    assert followed == [True, True]
    check(lambda a, b: opweave.bmm(a, b) * 2 + 1, tensor(3, 300, 20), tensor(3, 20, 128))  # a short slab in each
    assert followed[2:] == [False]


def test_views_in_between(followed: list[bool]) -> None:
    x, w, b = tensor(8, 64, 30), tensor(128, 30), tensor(128)
    check(linear, x, w, b)
    check(lambda x, w, b: linear(x, w, b).view(8, 64, 4, 32) + 1, x, w, b)
    assert followed == [True, True]


def test_of_two_products_the_later_is_followed(followed: list[bool]) -> None:
    check(
        lambda x, w, v: F.silu(opweave.mm(x, w)) * opweave.mm(x, v), tensor(512, 30), tensor(30, 256), tensor(30, 256)
    )
    assert followed == [False, True]


def test_operands_live_until_the_kernel_runs(followed: list[bool]) -> None:
    """The second product, which comes in between, is the last to name what both read."""

    def both(x: Tensor, w: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        shown = (x * 2).view(512, 30)
        first = opweave.mm(shown, w)
        second = opweave.mm(shown, v)
        return opweave.relu(first), second

    args = tensor(512, 30), tensor(30, 256), tensor(30, 64)
    for got, wanted in zip(opweave.compile(both)(*args), both(*args), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=2e-5, atol=1e-4)
    assert sorted(followed) == [False, True]


def test_a_product_that_more_than_one_kernel_reads(followed: list[bool]) -> None:
    def both(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        y = opweave.mm(x, w)
        return opweave.relu(y), y.sum(0) + y.sum(1)[:256]

    x, w = tensor(512, 30), tensor(30, 256)
    for got, wanted in zip(opweave.compile(both)(x, w), both(x, w), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=2e-5, atol=1e-3)


def test_inputs_that_are_written_meanwhile(followed: list[bool]) -> None:
    """The kernel writes what other slabs still read: it waits for the whole product."""

    def step(x: Tensor, w: Tensor) -> Tensor:
        x.copy_(opweave.relu(opweave.mm(x, w)))
        return x

    x, w = tensor(512, 256), tensor(256, 256)
    wanted = step(x.clone(), w)
    got = opweave.compile(step)(x, w)
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=2e-5, atol=1e-4)
    assert True not in followed


def test_sizes_that_are_open(followed: list[bool]) -> None:
    compiled = opweave.compile(linear, dynamic=True)
    for rows in (512, 300, 77, 513):
        x, w, b = tensor(rows, 30), tensor(256, 30), tensor(256)
        np.testing.assert_allclose(compiled(x, w, b).numpy(), linear(x, w, b).numpy(), rtol=2e-5, atol=1e-4)


def test_no_slab_means_the_kernel_still_runs(followed: list[bool]) -> None:
    check(linear, tensor(0, 30), tensor(20, 30), tensor(20))
    check(linear, tensor(20, 0), tensor(30, 0), tensor(30))


def test_watched_launches_are_launches(followed: list[bool]) -> None:
    x, w, b = tensor(512, 30), tensor(256, 30), tensor(256)
    compiled = opweave.compile(linear)
    before = compiled(x, w, b)
    with opweave.profile() as found:
        after = compiled(x, w, b)
    assert [kernel.launches for kernel in found.kernels] == [1]
    assert followed == [True, False]
    np.testing.assert_array_equal(before.numpy(), after.numpy())
    np.testing.assert_array_equal(compiled(x, w, b).numpy(), before.numpy())
    assert followed[2:] == [True]


def test_without_slabs_numpy_multiplies_and_the_kernel_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    for where in ("_found", "_library"):
        monkeypatch.setattr(blas, where, lambda: None)
    check(linear, tensor(300, 30), tensor(200, 30), tensor(200))


def test_gradients(followed: list[bool]) -> None:
    x, w, b = (tensor(*sizes).requires_grad_() for sizes in ((300, 64), (256, 64), (256,)))
    wanted = opweave.autograd.grad(linear(x, w, b).sum(), (x, w, b))
    got = opweave.autograd.grad(opweave.compile(linear)(x, w, b).sum(), (x, w, b))
    for mine, right in zip(got, wanted, strict=True):
        np.testing.assert_allclose(mine.numpy(), right.numpy(), rtol=2e-5, atol=2e-3)
