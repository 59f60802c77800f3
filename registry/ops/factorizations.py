"""Factorizations of matrices: Cholesky, QR, LU, eigenvalues, singular values, LDL.

Derivatives: Walter & Lehmann 2010 (QR), Giles 2008 (eigenvalues, singular values), Murray 2016 (Cholesky), and for LU
what follows from differentiating P A = L U. Where vectors are unique only up to a phase, a gradient is right for
functions that do not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.errors import ArgumentError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops import matrices
from opweave.registry.ops.kinds import composite, extern
from opweave.registry.ops.matrices import (
    SAMPLED,
    check_matrix,
    check_square,
    columns,
    columns_of,
    diag_embed,
    diagonal,
    each,
    mH,
    raise_errors,
    rows,
    spec_of,
    tril,
    triu,
    zero_or,
)
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten


# ---- Cholesky ------------------------------------------------------------------------------------------------------

_NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order "
    "{info} is not positive-definite)."
)


def _cholesky_specs(self: Tensor, upper: bool = False, check_errors: bool = False) -> tuple[TensorSpec, TensorSpec]:
    check_square("linalg.cholesky", self)
    return columns_of(self._sizes, self._dtype, self), spec_of(self._sizes[:-2], dtypes.int32, self)


@extern(
    "aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)",
    spec=_cholesky_specs,
    outs=("L", "L", "info"),
)
def linalg_cholesky_ex(self: Tensor, *, upper: bool = False, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """The lower triangular L of A = L L^H, or the upper one."""
    result, info = (allocate_like(spec) for spec in _cholesky_specs(self, upper))
    info._array[...] = 0
    xp = self._device.xp
    given = self._array
    # LAPACK reads one triangle.
    lower = xp.conj(xp.swapaxes(given, -1, -2)) if upper else given

    def failed(matrix: Any) -> tuple[Any, int]:
        return xp.tril(matrix), next(k for k in range(1, matrix.shape[-1] + 1) if not _is_positive(xp, matrix[:k, :k]))

    found = each(xp.linalg.cholesky, failed, info._array, lower)
    result._array[...] = xp.conj(xp.swapaxes(found, -1, -2)) if upper else found
    if check_errors:
        raise_errors("linalg.cholesky", info, _NOT_POSITIVE)
    return result, info


def _is_positive(xp: Any, matrix: Any) -> bool:
    try:
        xp.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


@linalg_cholesky_ex.backward
def _cholesky_backward(grads: Any, result: Tensor, upper: bool) -> tuple[Any]:
    grad = grads[0]
    if grad is None:
        return (None,)
    L, g = (mH(result), mH(grad)) if upper else (result, grad)
    inner = tril(aten.matmul.default(mH(L), g))
    inner = inner + mH(tril(inner, -1))
    left = aten.linalg_solve_triangular.default(mH(L), inner, upper=True)
    return (aten.linalg_solve_triangular.default(L, left, upper=False, left=False) * 0.5,)


@composite("aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", outs="out")
def linalg_cholesky(self: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangular L of A = L L^H for Hermitian positive definite matrices, or the upper one."""
    return aten.linalg_cholesky_ex.default(self, upper=upper, check_errors=True)[0]


@composite("aten::cholesky(Tensor self, bool upper=False) -> Tensor", outs="out")
def cholesky(self: Tensor, upper: bool = False) -> Tensor:
    """As `linalg.cholesky`."""
    return aten.linalg_cholesky_ex.default(self, upper=upper, check_errors=True)[0]


# ---- QR ------------------------------------------------------------------------------------------------------------


def _qr_specs(A: Tensor, mode: str = "reduced") -> tuple[TensorSpec, TensorSpec]:
    check_matrix("linalg.qr", A)
    if mode not in ("reduced", "complete", "r"):
        raise ArgumentError("linalg.qr: unknown mode", got=f"mode={mode!r}", hint="'reduced', 'complete' or 'r'")
    *batch, m, n = A._sizes
    inner = m if mode == "complete" else min(m, n)
    q = (0,) if mode == "r" else (*batch, m, inner)
    return columns_of(q, A._dtype, A), columns_of((*batch, inner, n), A._dtype, A)


@extern('aten::linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)', spec=_qr_specs, outs=("out", "Q", "R"))
def linalg_qr(A: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """Q with orthonormal columns and an upper triangular R with A = Q R."""
    Q, R = (allocate_like(spec) for spec in _qr_specs(A, mode))
    xp = A._device.xp
    if mode == "r":
        R._array[...] = xp.linalg.qr(A._array, mode="r")
    else:
        Q._array[...], R._array[...] = xp.linalg.qr(A._array, mode=mode)
    return Q, R


@linalg_qr.backward
def _qr_backward(grads: Any, A: Tensor, mode: str, result: Tensor, result1: Tensor) -> tuple[Any]:
    m, n = A._sizes[-2:]
    if mode == "r":
        raise ArgumentError("linalg.qr: mode='r' has no derivative, since Q is not computed", hint="mode='reduced'")
    if mode == "complete" and m > n:
        raise ArgumentError("linalg.qr: mode='complete' has a derivative only for m <= n", got=describe(A))
    Q, R = result, result1
    gQ, gR = zero_or(grads[0], Q), zero_or(grads[1], R)
    if m >= n:
        return (_square_qr(Q, R, gQ, gR),)
    # R2 = Q^H A2 of the columns beyond the square.
    R1, A2, gR2 = columns(R, 0, m), columns(A, m, n), columns(gR, m, n)
    first = _square_qr(Q, R1, gQ + A2 @ mH(gR2), columns(gR, 0, m))
    return (aten.cat.default([first, Q @ gR2], -1),)  # type: ignore[operator]  # bound by the surface


def _square_qr(Q: Any, R: Any, gQ: Any, gR: Any) -> Any:
    upper = triu(gR @ mH(R) - mH(Q) @ gQ)
    whole = upper + mH(upper)
    whole = whole - diag_embed(aten._to_copy.default(_real(diagonal(whole)), dtype=whole._dtype)) * 0.5
    return aten.linalg_solve_triangular.default(mH(R), gQ + Q @ whole, upper=False, left=False)


def _real(t: Tensor) -> Any:
    return aten.real.default(t) if t._dtype.kind == "c" else t


@composite("aten::qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", outs=("Q", "Q", "R"))
def qr(self: Tensor, some: bool = True) -> tuple[Tensor, Tensor]:
    """As `linalg.qr`, `"reduced"` or `"complete"`."""
    return aten.linalg_qr.default(self, "reduced" if some else "complete")


def _geqrf_specs(self: Tensor) -> tuple[TensorSpec, TensorSpec]:
    check_matrix("geqrf", self)
    *batch, m, n = self._sizes
    return columns_of(self._sizes, self._dtype, self), spec_of((*batch, min(m, n)), self._dtype, self)


@extern("aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)", spec=_geqrf_specs, outs=("a", "a", "tau"))
def geqrf(self: Tensor) -> tuple[Tensor, Tensor]:
    """LAPACK's QR: R above the diagonal, below it the vectors of the reflections whose factors are tau."""
    a, tau = (allocate_like(spec) for spec in _geqrf_specs(self))
    if self.numel():
        h, tau._array[...] = self._device.xp.linalg.qr(self._array, mode="raw")
        a._array[...] = h.swapaxes(-1, -2)
    return a, tau


def _reflections(A: Tensor, tau: Tensor) -> Iterable[tuple[Any, Any]]:
    """Vectors (as columns) and factors of H_i = 1 - tau_i v_i v_i^H."""
    k = tau._sizes[-1]
    m = A._sizes[-2]
    v = tril(columns(A, 0, k), -1) + aten.eye.m(m, k, dtype=A._dtype, device=A._device)
    for i in range(k):
        yield columns(v, i, i + 1), aten.unsqueeze.default(aten.slice.Tensor(tau, -1, i, i + 1), -1)


def _check_reflections(op: str, A: Tensor, tau: Tensor) -> None:
    check_matrix(op, A)
    if A._sizes[-2] < A._sizes[-1]:
        raise ShapeError(f"{op}: A must have at least as many rows as columns", got=describe(A))
    if tau._sizes[:-1] != A._sizes[:-2] or not tau.ndim or tau._sizes[-1] > A._sizes[-1]:
        raise ShapeError(f"{op}: tau must have a factor for at most each column", got=describe([A, tau]))
    if A._dtype is not tau._dtype:
        raise ShapeError(f"{op}: A and tau must have one dtype", got=describe([A, tau]))


@composite("aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor", outs="out")
def linalg_householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of H_1 H_2 ... of reflections as LAPACK keeps them."""
    _check_reflections("linalg.householder_product", input, tau)
    *batch, m, n = input._sizes
    found: Any = aten.expand.default(aten.eye.m(m, n, dtype=input._dtype, device=input._device), [*batch, m, n])
    for v, factor in reversed(list(_reflections(input, tau))):
        found = found - (factor * v) @ (mH(v) @ found)
    return found if tau._sizes[-1] else aten.copy.default(aten.contiguous.default(input), found)  # a gradient of zeros


@composite("aten::orgqr(Tensor self, Tensor input2) -> Tensor", outs="out")
def orgqr(self: Tensor, input2: Tensor) -> Tensor:
    """As `linalg.householder_product`."""
    return aten.linalg_householder_product.default(self, input2)


@composite(
    "aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor", outs="out"
)
def ormqr(self: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Q C, or C Q, with all columns of the Q that reflections are; or with its conjugate transpose."""
    check_matrix("ormqr", self, input3)
    found: Any = input3
    reflections = list(_reflections(self, input2))
    # Q C applies the last reflection first; from the right it is the other way round.
    for v, factor in reflections if left == transpose else reversed(reflections):
        factor = mH(factor) if transpose else factor
        found = found - (factor * v) @ (mH(v) @ found) if left else found - (found @ v) @ (factor * mH(v))
    return aten.clone.default(found) if not reflections else found


# ---- LU ------------------------------------------------------------------------------------------------------------

#: Columns that are eliminated one by one, before the rest of the matrix is brought up to date with a product.
_PANEL = 32


def _lu_specs(A: Tensor, pivot: bool = True, check_errors: bool = False) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
    check_matrix("linalg.lu_factor", A)
    *batch, m, n = A._sizes
    return (
        columns_of(A._sizes, A._dtype, A), spec_of((*batch, min(m, n)), dtypes.int32, A),
        spec_of(batch, dtypes.int32, A),
    )  # fmt: skip


@extern(
    "aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False)"
    " -> (Tensor LU, Tensor pivots, Tensor info)",
    spec=_lu_specs,
    outs=("out", "LU", "pivots", "info"),
)
def linalg_lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """L below the diagonal of LU and U above, with the swapped rows, counted from 1 (Golub & Van Loan 3.4)."""
    LU, pivots, info = (allocate_like(spec) for spec in _lu_specs(A))
    m, n = A._sizes[-2:]
    xp = A._device.xp
    count = math.prod(A._sizes[:-2])
    a = xp.ascontiguousarray(A._array).reshape(count, m, n).copy()
    swaps = xp.zeros((count, min(m, n)), np.int32)
    codes = xp.zeros(count, np.int32)
    if count:
        eliminate(xp, a, swaps, codes, pivot)
    LU._array[...] = a.reshape(A._sizes)
    pivots._array[...] = swaps.reshape(pivots._sizes)
    info._array[...] = codes.reshape(info._sizes)
    if check_errors:
        raise_errors("linalg.lu_factor", info, "U[{info},{info}] is zero and using it would divide by zero.")
    return LU, pivots, info


def eliminate(xp: Any, a: Any, swaps: Any, codes: Any, pivot: bool) -> None:
    """Factor a batch of matrices in place, a panel of columns after the other."""
    count, m, n = a.shape
    every = xp.arange(count)
    size = min(m, n)
    for start in range(0, size, _PANEL):
        end = min(start + _PANEL, size)
        for j in range(start, end):
            chosen = xp.abs(a[:, j:, j]).argmax(1) + j if pivot else xp.full(count, j)
            swaps[:, j] = chosen + 1
            moved = a[every, chosen].copy()
            a[every, chosen] = a[:, j]
            a[:, j] = moved
            divisor = a[:, j, j]
            is_zero = divisor == 0
            codes[(codes == 0) & is_zero] = j + 1
            a[:, j + 1 :, j] /= xp.where(is_zero, 1, divisor)[:, None]
            if j + 1 < end:
                a[:, j + 1 :, j + 1 : end] -= a[:, j + 1 :, j, None] * a[:, j, None, j + 1 : end]
        if end < n:
            for j in range(start + 1, end):  # the triangle of the panel, solved for the columns behind it
                a[:, j, end:] -= (a[:, j, None, start:j] @ a[:, start:j, end:])[:, 0]
            a[:, end:, end:] -= a[:, end:, start:end] @ a[:, start:end, end:]


@linalg_lu_factor_ex.backward
def _lu_backward(grads: Any, A: Tensor, pivot: bool, result: Tensor, result1: Tensor) -> tuple[Any]:
    grad = grads[0]
    if grad is None:
        return (None,)
    m, n = A._sizes[-2:]
    k = min(m, n)
    P, L, U = aten.lu_unpack.default(result, result1, True, pivot)
    gL, gU = tril(columns(grad, 0, k), -1), triu(rows(grad, 0, k))
    found = _square_lu(L, U, gL, gU, m, n, k)
    return (aten.matmul.default(P, found) if pivot else found,)


def _square_lu(L: Any, U: Any, gL: Any, gU: Any, m: int, n: int, k: int) -> Any:
    """The gradient of P^T A."""
    solve = aten.linalg_solve_triangular.default
    L1, U1, gL1, gU1 = rows(L, 0, k), columns(U, 0, k), rows(gL, 0, k), columns(gU, 0, k)
    beside = below = None
    if n > k:  # U2 = L^-1 A2
        U2 = columns(U, k, n)
        beside = solve(mH(L1), columns(gU, k, n), upper=True, unitriangular=True)
        gL1 = gL1 - tril(beside @ mH(U2), -1)
    if m > k:  # L2 = A2 U^-1
        L2 = rows(L, k, m)
        below = solve(mH(U1), rows(gL, k, m), upper=False, left=False)
        gU1 = gU1 - triu(mH(L2) @ below)
    inner = tril(mH(L1) @ gL1, -1) + triu(gU1 @ mH(U1))
    inner = solve(mH(L1), inner, upper=True, unitriangular=True)
    found = solve(mH(U1), inner, upper=False, left=False)
    if beside is not None:
        found = aten.cat.default([found, beside], -1)
    return found if below is None else aten.cat.default([found, below], -2)


@composite(
    "aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)", outs=("out", "LU", "pivots")
)
def linalg_lu_factor(A: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor]:
    """`linalg_lu_factor_ex` without the info."""
    return aten.linalg_lu_factor_ex.default(A, pivot=pivot)[:2]


def _unpack_specs(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[TensorSpec, ...]:
    check_matrix("lu_unpack", LU_data)
    if unpack_pivots and LU_pivots._dtype is not dtypes.int32:
        raise ArgumentError("lu_unpack: LU_pivots must be int32", got=describe(LU_pivots))
    *batch, m, n = LU_data._sizes
    k = min(m, n)
    sizes = (
        (*batch, m, m) if unpack_pivots else (0,),
        *(((*batch, m, k), (*batch, k, n)) if unpack_data else ((0,), (0,))),
    )
    return tuple([spec_of(s, LU_data._dtype, LU_data) for s in sizes])


@extern(
    "aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True)"
    " -> (Tensor P, Tensor L, Tensor U)",
    spec=_unpack_specs,
    outs=("out", "P", "L", "U"),
)
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Tensor, ...]:
    """P, L and U of a factorization as `linalg_lu_factor` gives it."""
    P, L, U = results = tuple(
        allocate_like(spec) for spec in _unpack_specs(LU_data, LU_pivots, unpack_data, unpack_pivots)
    )
    xp = LU_data._device.xp
    m, n = LU_data._sizes[-2:]
    k = min(m, n)
    if unpack_data:
        L._array[...] = xp.tril(LU_data._array[..., :k], -1)
        places = xp.arange(k)
        L._array[..., places, places] = 1
        U._array[...] = xp.triu(LU_data._array[..., :k, :])
    if unpack_pivots:
        swaps = LU_pivots._array.reshape(math.prod(LU_pivots._sizes[:-1]), LU_pivots._sizes[-1])
        order = row_order(xp, swaps, m)
        P._array[...] = 0
        every = xp.arange(order.shape[0])[:, None]
        flat = xp.zeros((order.shape[0], m, m), P._dtype.numpy)
        flat[every, order, xp.arange(m)] = 1
        P._array[...] = flat.reshape(P._sizes)
    return results


def row_order(xp: Any, swaps: Any, m: int) -> Any:
    """Which row of A each row of L U is, from the swaps that were made."""
    order = xp.tile(xp.arange(m), (swaps.shape[0], 1))
    every = xp.arange(swaps.shape[0])
    for j in range(swaps.shape[1]):
        other = swaps[:, j] - 1
        moved = order[every, other].copy()
        order[every, other] = order[:, j]
        order[:, j] = moved
    return order


def _unpack_backward(grads: Any, LU_data: Tensor, unpack_data: bool) -> tuple[Any, ...]:
    if not unpack_data or (grads[1] is None and grads[2] is None):
        return None, None
    *_, m, n = LU_data._sizes
    found: Any = aten.zeros_like.default(LU_data)
    if grads[1] is not None:
        lower = tril(grads[1], -1)
        found = aten.constant_pad_nd.default(lower, [0, n - min(m, n), 0, 0])
    if grads[2] is not None:
        found = found + aten.constant_pad_nd.default(triu(grads[2]), [0, 0, 0, m - min(m, n)])
    return found, None


lu_unpack.backward(_unpack_backward, differentiable=(1, 2))


@composite(
    "aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", outs=("out", "P", "L", "U")
)
def linalg_lu(A: Tensor, *, pivot: bool = True) -> tuple[Tensor, ...]:
    """P, a lower triangular L with ones on its diagonal, and an upper triangular U with A = P L U."""
    LU, pivots, _ = aten.linalg_lu_factor_ex.default(A, pivot=pivot)
    return aten.lu_unpack.default(LU, pivots, True, pivot)


def lu_function(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> tuple[Tensor, ...]:
    """The factorization of A as `linalg.lu_factor` gives it, with the infos if they are asked for.

    Parameters
    ----------
    A : Tensor
        (..., m, n)
    pivot : bool
        Whether to swap rows.
    get_infos : bool
        Whether to give the infos, too.
    out : sequence of Tensor, optional
        Where to write the results.

    Examples
    --------
    >>> [t.shape for t in opweave.lu(opweave.eye(3))]
    [opweave.Size([3, 3]), opweave.Size([3])]
    """
    found = aten.linalg_lu_factor_ex.default(A, pivot=pivot)
    found = tuple(found) if get_infos else tuple(found[:2])
    if out is not None:
        for target, result in zip(out, found, strict=True):
            aten.add.out(result, 0, out=target)
        return tuple(out)
    return found


#: A function of the package, and method, that is no op.
METHODS = {"lu": lu_function}

for _decl in (linalg_cholesky_ex, linalg_qr, geqrf, linalg_lu_factor_ex, lu_unpack):
    _decl.batching(matrices.batch_matrices)
    _decl.sample_dtypes = SAMPLED
linalg_cholesky.sample_dtypes = SAMPLED


# ---- samples -------------------------------------------------------------------------------------------------------


@linalg_cholesky_ex.with_samples
@linalg_cholesky.with_samples
def _(make: Make) -> Samples:
    yield (matrices.positive(make, 3, 3),), {}
    yield (matrices.positive(make, 2, 2, 2),), {"upper": True}


@linalg_qr.with_samples
def _(make: Make) -> Samples:
    yield (matrices.well(make, 4, 3),), {}
    yield (matrices.well(make, 2, 3, 4),), {}


@linalg_lu_factor_ex.with_samples
def _(make: Make) -> Samples:
    yield (matrices.well(make, 4, 3),), {}
    yield (matrices.well(make, 2, 3, 4),), {}


@lu_unpack.with_samples
def _(make: Make) -> Samples:
    pivots = aten._to_copy.default(aten.arange.start(2, 5), dtype=dtypes.int32)
    yield (make(4, 3), pivots), {}
    yield (make(3, 4), aten.clone.default(pivots), True, False), {}


for _decl in (
    cholesky,
    geqrf,
    linalg_cholesky,
    linalg_cholesky_ex,
    linalg_householder_product,
    linalg_qr,
    orgqr,
    ormqr,
    qr,
):
    _decl.autocast = {"cpu": "fp32"}
