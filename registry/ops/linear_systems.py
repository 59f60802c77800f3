"""Systems of linear equations, inverses, determinants, least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import bound, call, one_by_one, ranked, stretched, wrap
from opweave.registry.errors import ArgumentError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import factorizations, matrices
from opweave.registry.ops.gradients import conjugate
from opweave.registry.ops.kinds import composite, extern
from opweave.registry.ops.matrices import (
    SAMPLED,
    batch_of,
    check_matrix,
    check_square,
    columns_of,
    diag_embed,
    each,
    identity_like,
    mH,
    mT,
    raise_errors,
    real_type,
    spec_of,
    tril,
    triu,
)
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten

_SINGULAR = "The solver failed because the input matrix is singular."


def _failed_as(values: Any) -> Any:
    """What stands for a result that there is none of, and which pivot is zero, by elimination."""

    def failed(matrix: Any, *others: Any) -> tuple[Any, int]:
        n = matrix.shape[-1]
        a, swaps, codes = matrix[None].copy(), np.zeros((1, n), np.int32), np.zeros(1, np.int32)
        factorizations.eliminate(np, a, swaps, codes, True)
        shaped = others[0] if others else matrix
        return np.full(shaped.shape, np.nan, values.dtype), int(codes[0]) or n

    return failed


# ---- solving -------------------------------------------------------------------------------------------------------


def _is_vector(A: Tensor, B: Tensor) -> bool:
    """Whether B is vectors, one for each matrix, and not matrices."""
    return B.ndim == 1 or (A.ndim - 1 == B.ndim and B._sizes == A._sizes[:-1])


def _solve_specs(A: Tensor, B: Tensor, left: bool = True, check_errors: bool = False) -> tuple[TensorSpec, TensorSpec]:
    vector = _is_vector(A, B)
    check_square("linalg.solve", A)
    if B._dtype is not A._dtype:
        raise ShapeError("linalg.solve: Expected A and B to have the same dtype", got=describe([A, B]))
    if vector and not left:
        raise ShapeError("linalg.solve: Vector broadcasting of the left hand side is not supported for left=False")
    n = A._sizes[-1]
    right = (*B._sizes, 1) if vector else B._sizes
    if len(right) < 2 or right[-2 if left else -1] != n:
        raise ShapeError(
            "linalg.solve: Incompatible shapes of A and B for the equation " + ("AX = B" if left else "XA = B"),
            got=describe([A, B]),
        )
    batch = batch_of("linalg.solve", A, B) if not vector else _vector_batch(A, B)
    sizes = (*batch, n) if vector else (*batch, *right[-2:])
    spec = (columns_of if left else spec_of)(sizes, A._dtype, A)
    return spec, spec_of(A._sizes[:-2], dtypes.int32, A)


def _vector_batch(A: Tensor, B: Tensor) -> tuple[int, ...]:
    return tuple(A._sizes[:-2]) if B.ndim == 1 else tuple(B._sizes[:-1])


@extern(
    "aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False)"
    " -> (Tensor result, Tensor info)",
    spec=_solve_specs,
    outs=("out", "result", "info"),
)
def linalg_solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """X with A X = B, or X A = B."""
    result, info = (allocate_like(spec) for spec in _solve_specs(A, B, left))
    xp = A._device.xp
    info._array[...] = 0
    vector = _is_vector(A, B)
    a, b = A._array, B._array[..., None] if vector else B._array
    if not left:
        a, b = xp.swapaxes(a, -1, -2), xp.swapaxes(b, -1, -2)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if result.numel():
        wide = xp.broadcast_to(a, (*batch, *a.shape[-2:])), xp.broadcast_to(b, (*batch, *b.shape[-2:]))
        codes = xp.zeros(batch, np.int32)
        found = each(xp.linalg.solve, _failed_as(a), codes, *wide)
        if not left:
            found = xp.swapaxes(found, -1, -2)
        result._array[...] = found[..., 0] if vector else found
        if codes.any():
            info._array[...] = codes if codes.shape == info._sizes else codes.max()
    if check_errors:
        raise_errors("linalg.solve", info, _SINGULAR)
    return result, info


@linalg_solve_ex.backward
def _solve_backward(grads: Any, A: Tensor, B_spec: Any, left: bool, result: Tensor, needs: Any) -> tuple[Any, Any]:
    grad = grads[0]
    if grad is None:
        return None, None
    vector = len(B_spec.sizes) == 1 or (A.ndim - 1 == len(B_spec.sizes) and B_spec.sizes == A._sizes[:-1])
    gB = aten.linalg_solve_ex.default(mH(A), grad, left=left)[0]
    gA: Any = None
    if needs[0]:
        if vector:
            gA = -(aten.unsqueeze.default(gB, -1) * conjugate(aten.unsqueeze.default(result, -2)))
        else:
            gA = -(gB @ mH(result)) if left else -(mH(result) @ gB)
    return gA, gB


@linalg_solve_ex.batching
def _batch_solve(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    values = bound(op, args, kwargs)
    matrix, right = values["A"], values["B"]
    vector = _is_vector(matrix, right)
    if vector:
        right = aten.unsqueeze.default(right, -1)
    rank = max(matrix.ndim, right.ndim)
    # What each matrix has to say needs a dimension for it, so none is shared.
    whole = stretched(matrix, level)
    for _ in range(rank - matrix.ndim):
        whole = aten.unsqueeze.default(whole, 1)
    result, info = call(op, {**values, "A": whole, "B": ranked(right, level, rank)})
    for _ in range(rank - matrix.ndim):
        info = aten.select.int(info, 1, 0)
    return wrap((aten.squeeze.dim(result, -1) if vector else result, info), level)


@composite("aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor", outs="out")
def linalg_solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X with A X = B, or X A = B, for square invertible matrices A."""
    return aten.linalg_solve_ex.default(A, B, left=left, check_errors=True)[0]


#: Rows of a triangle that is worth being parted into halves.
_LEAST_HALF = 16

# ---- triangles -----------------------------------------------------------------------------------------------------


def _triangular_spec(
    self: Tensor, B: Tensor, upper: bool, left: bool = True, unitriangular: bool = False
) -> TensorSpec:
    check_square("linalg.solve_triangular", self, B)
    if B._sizes[-2 if left else -1] != self._sizes[-1]:
        raise ShapeError(
            "linalg.solve_triangular: Incompatible shapes of A and B for the equation "
            + ("AX = B" if left else "XA = B"), got=describe([self, B]),
        )  # fmt: skip
    return spec_of((*batch_of("linalg.solve_triangular", self, B), *B._sizes[-2:]), B._dtype, B)


@extern(
    "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False)"
    " -> Tensor",
    spec=_triangular_spec,
    outs="out",
)
def linalg_solve_triangular(
    self: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """X with A X = B, or X A = B, for triangular matrices, of which the other triangle is not read."""
    out = allocate_like(_triangular_spec(self, B, upper, left, unitriangular))
    if not out.numel():
        return out
    xp, n = self._device.xp, self._sizes[-1]
    a, b = self._array, B._array
    if not left:
        a, b, upper = xp.swapaxes(a, -1, -2), xp.swapaxes(b, -1, -2), not upper
    if not upper:  # elimination has nothing to do in an upper triangle
        a, b = a[..., ::-1, ::-1], b[..., ::-1, :]
    a = xp.triu(a)
    places = xp.arange(n)
    if unitriangular:
        a[..., places, places] = 1
    batch = out._sizes[:-2]
    is_zero = a[..., places, places] == 0
    if is_zero.any():  # as substitution does: infinities, and what they lead to
        found = _substituted(xp, a, xp.broadcast_to(b, (*batch, *b.shape[-2:])))
    else:
        found = _solved_by_parts(xp, a, xp.broadcast_to(b, (*batch, *b.shape[-2:])))
    if not upper:
        found = found[..., ::-1, :]
    out._array[...] = found if left else xp.swapaxes(found, -1, -2)
    return out


def _solved_by_parts(xp: Any, a: Any, b: Any) -> Any:
    """X with A X = B of an upper triangle: the lower half first, and what it leaves of the upper one, by a product."""
    half = a.shape[-1] // 2
    if half < _LEAST_HALF:
        return xp.linalg.solve(a, b)
    low = _solved_by_parts(xp, a[..., half:, half:], b[..., half:, :])
    high = _solved_by_parts(xp, a[..., :half, :half], b[..., :half, :] - a[..., :half, half:] @ low)
    return xp.concatenate([high, low], axis=-2)


def _substituted(xp: Any, a: Any, b: Any) -> Any:
    x = b.copy()
    with np.errstate(all="ignore"):
        for i in range(a.shape[-1] - 1, -1, -1):
            x[..., i, :] = (x[..., i, :] - (a[..., i, None, i + 1 :] @ x[..., i + 1 :, :])[..., 0, :]) / a[
                ..., i, i, None
            ]
    return x


@linalg_solve_triangular.backward
def _triangular_backward(
    grad: Tensor, self: Tensor, upper: bool, left: bool, unitriangular: bool, result: Tensor, needs: Any
) -> tuple[Any, Any]:
    gB = aten.linalg_solve_triangular.default(mH(self), grad, upper=not upper, left=left, unitriangular=unitriangular)
    gA: Any = None
    if needs[0]:
        whole = -(gB @ mH(result)) if left else -(mH(result) @ gB)
        off = int(unitriangular)
        gA = triu(whole, off) if upper else tril(whole, -off)
    return gA, gB


@composite(
    "aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False)"
    " -> (Tensor solution, Tensor cloned_coefficient)",
    outs=("X", "X", "M"),
)
def triangular_solve(
    self: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Tensor, Tensor]:
    """X with A X = B for triangular matrices A, or their transpose, and a copy of A."""
    check_square("triangular_solve", A, self)
    batch = list(batch_of("triangular_solve", self, A))
    wide = aten.expand.default(A, [*batch, *A._sizes[-2:]])
    given, is_upper = (mT(wide), not upper) if transpose else (wide, upper)
    B = aten.expand.default(self, [*batch, *self._sizes[-2:]])
    found = aten.linalg_solve_triangular.default(given, B, upper=is_upper, unitriangular=unitriangular)
    return found, aten.clone.default(wide)


@composite(
    "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
    outs="out",
)
def linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with A X = B or X A = B, from the factorization of A; or with A^H."""
    check_square("linalg.lu_solve", LU, B)
    if pivots._dtype is not dtypes.int32:
        raise ArgumentError("linalg.lu_solve: pivots should be a Tensor of int32", got=describe(pivots))
    P = aten.lu_unpack.default(LU, pivots, False, True)[0]
    solve = aten.linalg_solve_triangular.default
    if not left:  # X A = B is A^H X^H = B^H
        return mH(_lu_solved(solve, P, LU, mH(B), not adjoint))
    return _lu_solved(solve, P, LU, B, adjoint)


def _lu_solved(solve: Any, P: Any, LU: Any, B: Any, adjoint: bool) -> Any:
    if adjoint:  # A^H = U^H L^H P^T
        first = solve(mH(LU), B, upper=False)
        return _reordered(P, solve(mH(LU), first, upper=True, unitriangular=True))
    return solve(LU, solve(LU, _reordered(mT(P), B), upper=False, unitriangular=True), upper=True)


def _reordered(P: Any, B: Any) -> Any:
    """P @ B of a permutation: no product, whose rows would all have what is NaN in one, and that autocasting rounds."""
    n, columns = B._sizes[-2:]
    if n == 0:
        return B
    sizes = [*np.broadcast_shapes(tuple(P._sizes[:-2]), tuple(B._sizes[:-2])), n, columns]
    rows = aten.argmax.default(aten.abs.default(P), -1, True)
    return aten.gather.default(aten.expand.default(B, sizes), -2, aten.expand.default(rows, sizes))


@composite("aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", outs="out")
def lu_solve(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """As `linalg.lu_solve`."""
    return linalg_lu_solve.body(LU_data, LU_pivots, self)


# ---- inverses and determinants -------------------------------------------------------------------------------------


def _inv_specs(A: Tensor, check_errors: bool = False) -> tuple[TensorSpec, TensorSpec]:
    check_square("linalg.inv", A)
    return columns_of(A._sizes, A._dtype, A), spec_of(A._sizes[:-2], dtypes.int32, A)


@extern(
    "aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
    spec=_inv_specs,
    outs=("inverse", "inverse", "info"),
)
def linalg_inv_ex(A: Tensor, *, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """The inverse of square matrices."""
    inverse, info = (allocate_like(spec) for spec in _inv_specs(A))
    info._array[...] = 0
    inverse._array[...] = each(A._device.xp.linalg.inv, _failed_as(A._array), info._array, A._array)
    if check_errors:
        raise_errors(
            "linalg.inv", info,
            "The diagonal element {info} is zero, the inversion could not be completed because the input matrix is "
            "singular.",
        )  # fmt: skip
    return inverse, info


@linalg_inv_ex.backward
def _inv_backward(grads: Any, result: Tensor) -> tuple[Any]:
    return (None if grads[0] is None else -(mH(result) @ grads[0] @ mH(result)),)  # type: ignore[operator]


@composite("aten::linalg_inv(Tensor A) -> Tensor", outs="out")
def linalg_inv(A: Tensor) -> Tensor:
    """The inverse of square matrices."""
    return aten.linalg_inv_ex.default(A, check_errors=True)[0]


@composite("aten::inverse(Tensor self) -> Tensor", outs="out")
def inverse(self: Tensor) -> Tensor:
    """As `linalg.inv`."""
    return aten.linalg_inv_ex.default(self, check_errors=True)[0]


def _det_spec(A: Tensor) -> TensorSpec:
    check_square("linalg.det", A)
    return spec_of(A._sizes[:-2], A._dtype, A)


@extern("aten::linalg_det(Tensor A) -> Tensor", spec=_det_spec, outs="out")
def linalg_det(A: Tensor) -> Tensor:
    """Determinants of square matrices."""
    return matrices.made(_det_spec(A), A._device.xp.linalg.det(A._array))


@linalg_det.backward
def _det_backward(grad: Tensor, A: Tensor, result: Tensor) -> tuple[Any]:
    """The cofactors: by the inverse, and where there is none by singular values, U (products of the others) V^H."""
    if not A._sizes[-1]:
        return (aten.zeros_like.default(A),)
    singular = aten.unsqueeze.default(aten.unsqueeze.default(aten.eq.Scalar(result, 0), -1), -1)
    scale = aten.unsqueeze.default(aten.unsqueeze.default(grad, -1), -1)
    eye = identity_like(A, A._sizes[-1])
    regular: Any = aten.where.self(singular, eye, A)
    direct = conjugate(aten.unsqueeze.default(aten.unsqueeze.default(result, -1), -1)) * mH(
        aten.linalg_inv_ex.default(regular)[0]
    )
    apart = diag_embed(aten.arange.start(1, A._sizes[-1] + 1, dtype=A._dtype, device=A._device))
    U, S, Vh = aten._linalg_svd.default(aten.where.self(singular, A, apart), False, True)
    size = S._sizes[-1]
    others = aten.masked_fill.Scalar(
        aten.expand.default(aten.unsqueeze.default(S, -2), [*S._sizes, size]),
        aten.eye.default(size, dtype=dtypes.bool_, device=S._device), 1,
    )  # fmt: skip
    products = aten.prod.dim_int(others, -1)
    turn = aten.linalg_det.default(U) * aten.linalg_det.default(Vh)
    by_values = conjugate(aten.unsqueeze.default(aten.unsqueeze.default(turn, -1), -1)) * (
        (U * aten.unsqueeze.default(products, -2)) @ Vh
    )
    return (scale * aten.where.self(singular, by_values, direct),)


@composite("aten::det(Tensor self) -> Tensor")
def det(self: Tensor) -> Tensor:
    """As `linalg.det`."""
    return aten.linalg_det.default(self)


def _slogdet_specs(A: Tensor) -> tuple[TensorSpec, TensorSpec]:
    check_square("linalg.slogdet", A)
    return spec_of(A._sizes[:-2], A._dtype, A), spec_of(A._sizes[:-2], real_type(A), A)


@extern(
    "aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    spec=_slogdet_specs,
    outs=("out", "sign", "logabsdet"),
)
def linalg_slogdet(A: Tensor) -> tuple[Tensor, Tensor]:
    """The sign (a phase, for complex numbers) and the logarithm of the magnitude of determinants."""
    sign, logabsdet = (allocate_like(spec) for spec in _slogdet_specs(A))
    sign._array[...], logabsdet._array[...] = A._device.xp.linalg.slogdet(A._array)
    return sign, logabsdet


@linalg_slogdet.backward
def _slogdet_backward(grads: Any, A: Tensor, result: Tensor) -> tuple[Any]:
    g_sign, g_log = grads
    scale: Any = g_log
    if A._dtype.kind == "c" and g_sign is not None:
        turned = aten.imag.default(g_sign * conjugate(result)) * 1j  # type: ignore[operator]  # bound by the surface
        scale = turned if g_log is None else turned + g_log
    if scale is None:
        return (None if g_sign is None else aten.zeros_like.default(A),)
    scale = aten.unsqueeze.default(aten.unsqueeze.default(scale, -1), -1)
    return (scale * mH(aten.linalg_inv_ex.default(A)[0]),)


@composite("aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)", outs=("out", "sign", "logabsdet"))
def slogdet(self: Tensor) -> tuple[Tensor, Tensor]:
    """As `linalg.slogdet`."""
    return aten.linalg_slogdet.default(self)


@composite("aten::logdet(Tensor self) -> Tensor")
def logdet(self: Tensor) -> Tensor:
    """The logarithm of determinants; NaN where one is negative."""
    sign, log = aten.linalg_slogdet.default(self)
    return aten.add.Tensor(aten.log.default(sign), log)


# ---- least squares -------------------------------------------------------------------------------------------------

_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _lstsq_specs(self: Tensor, b: Tensor, rcond: float | None = None, driver: str | None = None) -> tuple[Any, ...]:
    check_matrix("linalg.lstsq", self)
    if driver not in (None, *_DRIVERS):
        raise ArgumentError("linalg.lstsq: unknown driver", got=f"driver={driver!r}", hint=", ".join(_DRIVERS))
    vector = _is_vector_right(self, b)
    right = (*b._sizes, 1) if vector else b._sizes
    *batch, m, n = self._sizes
    if len(right) < 2 or right[-2] != m or b._dtype is not self._dtype:
        raise ShapeError("linalg.lstsq: input and other do not fit", got=describe([self, b]))
    batch = list(np.broadcast_shapes(tuple(batch), tuple(right[:-2])))
    count = right[-1]
    named = driver or "gelsy"
    has_residuals = m > n and named != "gelsy"
    solution = (*batch, n) if vector else (*batch, n, count)
    real = real_type(self)
    return (
        columns_of(solution, self._dtype, self), spec_of((*batch, count) if has_residuals else (0,), real, self),
        spec_of(self._sizes[:-2] if named != "gels" else (0,), dtypes.int64, self),
        spec_of((*self._sizes[:-2], min(m, n)) if named in ("gelsd", "gelss") else (0,), real, self),
    )  # fmt: skip


def _is_vector_right(A: Tensor, b: Tensor) -> bool:
    return A.ndim - 1 == b.ndim and A._sizes[:-1] == b._sizes


@extern(
    "aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None)"
    " -> (Tensor solution, Tensor residuals, Tensor rank, Tensor singular_values)",
    spec=_lstsq_specs,
    tags="dynamic_output_shape",
    outs=("out", "solution", "residuals", "rank", "singular_values"),
)
def linalg_lstsq(
    self: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> tuple[Tensor, ...]:
    """X of least norm that makes the norm of A X - B least, by singular values."""
    solution, residuals, rank, values = (allocate_like(spec) for spec in _lstsq_specs(self, b, rcond, driver))
    vector = _is_vector_right(self, b)
    xp = self._device.xp
    right = b._array[..., None] if vector else b._array
    m, n = self._sizes[-2:]
    U, S, Vh = xp.linalg.svd(self._array, full_matrices=False)
    share = np.finfo(S.dtype).eps * max(m, n) if rcond is None else rcond
    kept = S > share * S.max(axis=-1, keepdims=True, initial=0)
    weights = xp.where(kept, 1 / xp.where(kept, S, 1), 0)
    coefficients = xp.conj(xp.swapaxes(U, -1, -2)) @ right
    found = xp.conj(xp.swapaxes(Vh, -1, -2)) @ (weights[..., None] * coefficients)
    solution._array[...] = found[..., 0] if vector else found
    if driver in ("gelsd", "gelss") and not kept.all():  # which find the rank; there are residuals of full rank alone
        residuals = allocate_like(spec_of((0,), residuals._dtype, residuals))
    elif residuals.ndim > 1 or residuals._sizes != (0,):
        left = self._array @ found - right
        residuals._array[...] = (xp.abs(left) ** 2).sum(-2)
    if rank._sizes != (0,):
        rank._array[...] = kept.sum(-1)
    if values._sizes != (0,):
        values._array[...] = S
    return solution, residuals, rank, values


def _lstsq_backward(grads: Any, self: Tensor, b: Tensor, needs: Any, result: Tensor) -> tuple[Any, Any]:
    """X = A^+ B for matrices of full rank; residuals are orthogonal to the columns of A."""
    grad, of_residuals = grads[:2]
    vector = _is_vector_right(self, b)
    right: Any = aten.unsqueeze.default(b, -1) if vector else b
    gA: Any = None
    gB: Any = None
    if grad is not None:
        g = aten.unsqueeze.default(grad, -1) if vector else grad
        P = aten.linalg_pinv.atol_rtol_tensor(self)
        gB = mH(P) @ g
        gA = pinv_gradient(g @ mH(right), P, self) if needs[0] else None
    if of_residuals is not None and of_residuals.numel():
        X: Any = aten.unsqueeze.default(result, -1) if vector else result
        left = (right - self @ X) * (2 * aten.unsqueeze.default(of_residuals, -2))  # type: ignore[operator]
        gB = left if gB is None else gB + left
        if needs[0]:
            gA = -left @ mH(X) if gA is None else gA - left @ mH(X)
    return gA, aten.squeeze.dim(gB, -1) if vector and gB is not None else gB


linalg_lstsq.backward(_lstsq_backward, differentiable=(0, 1))


@linalg_lstsq.batching
def _batch_lstsq(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    values = bound(op, args, kwargs)
    matrix, right = values["self"], values["b"]
    vector = _is_vector_right(matrix, right)
    if vector:
        right = aten.unsqueeze.default(right, -1)
    if matrix.ndim != right.ndim:
        return one_by_one(op, level, args, kwargs)
    results = call(op, {**values, "self": stretched(matrix, level), "b": stretched(right, level)})
    solution, *rest = matrices.with_a_batch(results, level)
    return wrap((aten.squeeze.dim(solution, -1) if vector else solution, *rest), level)


def pinv_gradient(grad: Any, P: Any, A: Any) -> Any:
    """The gradient of A behind its pseudoinverse P (Golub & Pereyra 1973)."""
    G = mH(grad)
    first = G @ P @ mH(P)
    last = mH(P) @ P @ G
    return first - A @ (P @ first) + last - (last @ P) @ A - mH(P) @ grad @ mH(P)


for _decl in (linalg_solve_triangular, linalg_inv_ex, linalg_det, linalg_slogdet):
    _decl.batching(matrices.batch_matrices)
for _decl in (linalg_solve_ex, linalg_solve_triangular, linalg_inv_ex, linalg_det, linalg_slogdet, linalg_lstsq):
    _decl.sample_dtypes = SAMPLED
linalg_solve.sample_dtypes = linalg_inv.sample_dtypes = SAMPLED


# ---- samples -------------------------------------------------------------------------------------------------------


@linalg_solve_ex.with_samples
def _(make: Make) -> Samples:
    yield (matrices.well(make, 3, 3), make(3, 2)), {}
    yield (matrices.well(make, 2, 3, 3), make(2, 3)), {}
    yield (matrices.well(make, 2, 3, 3), make(4, 3)), {"left": False}


@linalg_solve.with_samples
def _(make: Make) -> Samples:
    yield (matrices.well(make, 3, 3), make(3)), {}


@linalg_solve_triangular.with_samples
def _(make: Make) -> Samples:
    yield (matrices.well(make, 3, 3), make(3, 2)), {"upper": True}
    yield (matrices.well(make, 2, 3, 3), make(4, 3)), {"upper": False, "left": False, "unitriangular": True}


@linalg_inv_ex.with_samples
@linalg_inv.with_samples
@linalg_det.with_samples
@linalg_slogdet.with_samples
def _(make: Make) -> Samples:
    yield (matrices.well(make, 3, 3),), {}
    yield (matrices.well(make, 2, 2, 2),), {}


@linalg_lstsq.with_samples
def _(make: Make) -> Samples:
    yield (matrices.well(make, 4, 3), make(4, 2)), {}


for _decl in (
    inverse,
    linalg_inv,
    linalg_inv_ex,
    linalg_lstsq,
    linalg_solve,
    lu_solve,
    triangular_solve,
):
    _decl.autocast = {"cpu": "fp32"}
