"""Eigenvalues and singular values of matrices.

Derivatives: Giles 2008, Boeddeker et al. 2017 (complex), Wan & Zhang 2019 (complex singular values). Vectors are unique
only up to a phase, and gradients are right for functions that do not depend on it.
"""

from __future__ import annotations

from typing import Any

from opweave.registry import dtypes
from opweave.registry.errors import ArgumentError, LinAlgError, ShapeError
from opweave.registry.loading import load_heavy
from opweave.registry.op import ops
from opweave.registry.ops import matrices
from opweave.registry.ops.gradients import conjugate
from opweave.registry.ops.kinds import composite, extern
from opweave.registry.ops.matrices import (
    SAMPLED,
    check_matrix,
    check_square,
    columns,
    columns_of,
    diag_embed,
    diagonal,
    mH,
    mT,
    raise_errors,
    real_type,
    rows,
    spec_of,
    without_imaginary,
)
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten


def _row(t: Any) -> Any:
    return aten.unsqueeze.default(t, -2)


def _column(t: Any) -> Any:
    return aten.unsqueeze.default(t, -1)


def _run(op: str, compute: Any) -> Any:
    try:
        return compute()
    except Exception as error:
        if type(error).__name__ == "LinAlgError":
            raise LinAlgError(
                f"{op}: {error}", hint="a matrix with a NaN or an infinity has no decomposition"
            ) from None
        raise


# ---- Hermitian matrices --------------------------------------------------------------------------------------------


def _eigh_specs(A: Tensor, UPLO: str = "L", compute_v: bool = True) -> tuple[TensorSpec, TensorSpec]:
    check_square("linalg.eigh", A)
    if UPLO.upper() not in ("L", "U"):
        raise ArgumentError("linalg.eigh: Expected UPLO argument to be 'L' or 'U'", got=f"UPLO={UPLO!r}")
    return spec_of(A._sizes[:-1], real_type(A), A), columns_of(A._sizes if compute_v else (0,), A._dtype, A)


@extern(
    'aten::_linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)',
    spec=_eigh_specs,
    outs=("eigenvalues", "eigenvalues", "eigenvectors"),
)
def _linalg_eigh(A: Tensor, UPLO: str = "L", compute_v: bool = True) -> tuple[Tensor, Tensor]:
    """Eigenvalues in ascending order, and the orthonormal eigenvectors as columns; one triangle is read."""
    values, vectors = (allocate_like(spec) for spec in _eigh_specs(A, UPLO, compute_v))
    linalg = A._device.xp.linalg
    if compute_v:
        values._array[...], vectors._array[...] = _run("linalg.eigh", lambda: linalg.eigh(A._array, UPLO.upper()))
    else:
        values._array[...] = _run("linalg.eigvalsh", lambda: linalg.eigvalsh(A._array, UPLO.upper()))
    return values, vectors


@_linalg_eigh.backward
def _eigh_backward(grads: Any, A: Tensor, UPLO: str, compute_v: bool, result: Tensor, result1: Tensor) -> tuple[Any]:
    L = result
    gL: Any = grads[0]
    gV: Any = grads[1] if compute_v else None
    if gL is None and gV is None:
        return (None,)
    V = result1 if compute_v else aten._linalg_eigh.default(A, UPLO, True)[1]
    if gV is None:
        return (aten.matmul.default(V * _row(gL), mH(V)),)
    turned = mH(V) @ gV
    # What a Hermitian change of A turns is skew.
    inner = _over_gaps((turned - mH(turned)) * 0.5, _row(L) - _column(L))
    if gL is not None:
        inner = inner + diag_embed(aten._to_copy.default(gL, dtype=inner._dtype))
    return (V @ inner @ mH(V),)  # type: ignore[operator]  # bound by the surface


def _over_gaps(t: Any, gaps: Any) -> Any:
    """Elements over the difference of two values, 0 on the diagonal."""
    size = t._sizes[-1]
    eye = aten.eye.default(size, dtype=dtypes.bool_, device=t._device)
    return aten.masked_fill.Scalar(t / aten.masked_fill.Scalar(gaps, eye, 1), eye, 0)


@composite(
    'aten::linalg_eigh(Tensor self, str UPLO="L") -> (Tensor eigenvalues, Tensor eigenvectors)',
    outs=("eigvals", "eigvals", "eigvecs"),
)
def linalg_eigh(self: Tensor, UPLO: str = "L") -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of Hermitian matrices."""
    return aten._linalg_eigh.default(self, UPLO, True)


@composite('aten::linalg_eigvalsh(Tensor self, str UPLO="L") -> Tensor', outs="out")
def linalg_eigvalsh(self: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of Hermitian matrices, in ascending order."""
    return aten._linalg_eigh.default(self, UPLO, False)[0]


# ---- any square matrices -------------------------------------------------------------------------------------------


def _eig_specs(self: Tensor) -> tuple[TensorSpec, TensorSpec]:
    check_square("linalg.eig", self)
    wide = self._dtype.to_complex()
    return spec_of(self._sizes[:-1], wide, self), columns_of(self._sizes, wide, self)


@extern(
    "aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)",
    spec=_eig_specs,
    outs=("out", "eigenvalues", "eigenvectors"),
)
def linalg_eig(self: Tensor) -> tuple[Tensor, Tensor]:
    """Complex eigenvalues of square matrices in no order, and eigenvectors of length 1 as columns."""
    values, vectors = (allocate_like(spec) for spec in _eig_specs(self))
    values._array[...], vectors._array[...] = _run("linalg.eig", lambda: self._device.xp.linalg.eig(self._array))
    return values, vectors


@linalg_eig.backward
def _eig_backward(grads: Any, self: Tensor, result: Tensor, result1: Tensor) -> tuple[Any]:
    gL, gV = grads
    if gL is None and gV is None:
        return (None,)
    return (_eig_gradient(self, result, result1, gL, gV),)


def _eig_gradient(A: Tensor, L: Any, V: Any, gL: Any, gV: Any) -> Any:
    H = mH(V)
    if gV is None:
        inner = _column(gL) * H
    else:
        turned = H @ gV
        # Vectors keep their length.
        turned = turned - (H @ V) * _row(aten.real.default(diagonal(turned)))
        inner = _over_gaps(turned, conjugate(_row(L) - _column(L)))
        if gL is not None:
            inner = inner + diag_embed(gL)
        inner = inner @ H
    return without_imaginary(aten.linalg_solve.default(H, inner), A)


def _eigvals_spec(self: Tensor) -> TensorSpec:
    return _eig_specs(self)[0]


@extern("aten::_linalg_eigvals(Tensor self) -> Tensor", spec=_eigvals_spec)
def _linalg_eigvals(self: Tensor) -> Tensor:
    values = allocate_like(_eigvals_spec(self))
    values._array[...] = _run("linalg.eigvals", lambda: self._device.xp.linalg.eigvals(self._array))
    return values


@_linalg_eigvals.backward
def _eigvals_backward(grad: Tensor, self: Tensor) -> tuple[Any]:
    L, V = aten.linalg_eig.default(self)
    # In whatever order the vectors are found, it is that of the values.
    return (_eig_gradient(self, L, V, grad, None),)


@composite("aten::linalg_eigvals(Tensor self) -> Tensor", outs="out")
def linalg_eigvals(self: Tensor) -> Tensor:
    """Complex eigenvalues of square matrices, in no order."""
    return aten._linalg_eigvals.default(self)


# ---- singular values -----------------------------------------------------------------------------------------------


def _svd_specs(
    A: Tensor, full_matrices: bool = False, compute_uv: bool = True, driver: str | None = None
) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
    check_matrix("linalg.svd", A)
    if driver is not None and A._device.is_host:
        raise ArgumentError(
            "linalg.svd: keyword argument `driver=` is only supported on CUDA inputs", got=f"driver={driver!r}"
        )
    *batch, m, n = A._sizes
    k = min(m, n)
    left = (*batch, m, m if full_matrices else k) if compute_uv else (0,)
    right = (*batch, n if full_matrices else k, n) if compute_uv else (0,)
    return columns_of(left, A._dtype, A), spec_of((*batch, k), real_type(A), A), columns_of(right, A._dtype, A)


@extern(
    "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None)"
    " -> (Tensor U, Tensor S, Tensor Vh)",
    spec=_svd_specs,
    outs=("U", "U", "S", "Vh"),
)
def _linalg_svd(
    A: Tensor, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V^H with A = U diag(S) V^H; S is in descending order."""
    U, S, Vh = (allocate_like(spec) for spec in _svd_specs(A, full_matrices, compute_uv))
    linalg = A._device.xp.linalg
    if compute_uv:
        U._array[...], S._array[...], Vh._array[...] = _run(
            "linalg.svd", lambda: linalg.svd(A._array, full_matrices=full_matrices)
        )
    else:
        S._array[...] = _run("linalg.svdvals", lambda: linalg.svd(A._array, compute_uv=False))
    return U, S, Vh


@_linalg_svd.backward
def _svd_backward(
    grads: Any, A: Tensor, full_matrices: bool, compute_uv: bool, result: Tensor, result1: Tensor, result2: Tensor
) -> tuple[Any]:
    m, n = A._sizes[-2:]
    k = min(m, n)
    left: Any = result
    right: Any = result2
    gU: Any = grads[0] if compute_uv else None
    gS: Any = grads[1]
    gVh: Any = grads[2] if compute_uv else None
    if gU is None and gS is None and gVh is None:
        return (None,)
    if not compute_uv:
        left, _, right = aten._linalg_svd.default(A, False, True)
    elif full_matrices:  # what the columns beyond are is not determined, so no function of theirs has a gradient
        left, right = columns(left, 0, k), rows(right, 0, k)
        gU = None if gU is None else columns(gU, 0, k)
        gVh = None if gVh is None else rows(gVh, 0, k)
    if gU is None and gVh is None:
        return (aten.matmul.default(left * _row(gS), right),)
    return (_svd_gradient(left, result1, right, gU, gS, gVh, m, n, k),)


def _svd_gradient(U: Any, S: Any, Vh: Any, gU: Any, gS: Any, gVh: Any, m: int, n: int, k: int) -> Any:
    squares = S * S
    gaps = _row(squares) - _column(squares)
    inner: Any = None
    phase: Any = None
    if gU is not None:
        turned = mH(U) @ gU
        skew = turned - mH(turned)
        phase = diagonal(skew)
        inner = _over_gaps(skew, gaps) * _row(S)
    if gVh is not None:
        turned = Vh @ mH(gVh)
        skew = turned - mH(turned)
        other = _column(S) * _over_gaps(skew, gaps)
        inner = other if inner is None else inner + other
        phase = phase if phase is not None else -diagonal(skew)
    if U._dtype.kind == "c":  # the phases of U and V are turned together
        inner = inner + diag_embed(phase / (2 * S))
    if gS is not None:
        inner = inner + diag_embed(aten._to_copy.default(gS, dtype=inner._dtype))
    found = U @ inner @ Vh
    if gU is not None and m > k:
        found = found + ((gU - U @ (mH(U) @ gU)) / _row(S)) @ Vh
    if gVh is not None and n > k:
        found = found + (U / _row(S)) @ (gVh - (gVh @ mH(Vh)) @ Vh)
    return found


@composite(
    "aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
    outs=("U", "U", "S", "Vh"),
)
def linalg_svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V^H with A = U diag(S) V^H."""
    return aten._linalg_svd.default(A, full_matrices, True, driver=driver)


@composite("aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", outs="out")
def linalg_svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """Singular values, in descending order."""
    return aten._linalg_svd.default(A, False, False, driver=driver)[1]


@composite(
    "aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
    outs=("U", "U", "S", "V"),
)
def svd(self: Tensor, some: bool = True, compute_uv: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V (not transposed); without vectors, zeros stand for U and V."""
    check_matrix("svd", self)
    if compute_uv:
        U, S, Vh = aten._linalg_svd.default(self, not some, True)
        return U, S, mH(Vh)
    *batch, m, n = self._sizes
    values = aten._linalg_svd.default(self, False, False)[1]
    return aten.new_zeros.default(self, [*batch, m, m]), values, aten.new_zeros.default(self, [*batch, n, n])


# ---- symmetric indefinite matrices ---------------------------------------------------------------------------------


def _lapack(op: str) -> Any:
    """LAPACK's functions that NumPy has not."""
    try:
        return load_heavy("scipy.linalg.lapack")
    except ImportError:
        raise LinAlgError(f"{op}: needs SciPy's LAPACK", hint="pip install scipy") from None


_LETTERS = {dtypes.float32: "s", dtypes.float64: "d", dtypes.complex64: "c", dtypes.complex128: "z"}


def _ldl_name(t: Tensor, hermitian: bool, what: str) -> str:
    letter = _LETTERS[t._dtype]
    return f"{letter}{'he' if hermitian and letter in 'cz' else 'sy'}{what}"


def _ldl_specs(self: Tensor, hermitian: bool = False, check_errors: bool = False) -> tuple[TensorSpec, ...]:
    check_square("linalg.ldl_factor_ex", self)
    return (
        spec_of(self._sizes, self._dtype, self), spec_of(self._sizes[:-1], dtypes.int32, self),
        spec_of(self._sizes[:-2], dtypes.int32, self),
    )  # fmt: skip


@extern(
    "aten::linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False)"
    " -> (Tensor LD, Tensor pivots, Tensor info)",
    spec=_ldl_specs,
    outs=("out", "LD", "pivots", "info"),
)
def linalg_ldl_factor_ex(
    self: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The compact L D L^T, or L D L^H, of symmetric or Hermitian matrices (Bunch & Kaufman), of the lower triangle."""
    LD, pivots, info = (allocate_like(spec) for spec in _ldl_specs(self))
    info._array[...] = 0
    if self.numel():
        factor = getattr(_lapack("linalg.ldl_factor"), _ldl_name(self, hermitian, "trf"))
        flat = self._array.reshape(-1, *self._sizes[-2:])
        into = LD._array.reshape(flat.shape), pivots._array.reshape(-1, self._sizes[-1]), info._array.reshape(-1)
        for k, matrix in enumerate(flat):
            found, places, code = factor(matrix, lower=1)
            into[0][k], into[1][k], into[2][k] = self._device.xp.tril(found), places, code
    if check_errors:
        raise_errors("linalg.ldl_factor_ex", info, "The diagonal block D[{info},{info}] is exactly singular.")
    return LD, pivots, info


@composite(
    "aten::linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
    outs=("out", "LD", "pivots"),
)
def linalg_ldl_factor(self: Tensor, *, hermitian: bool = False) -> tuple[Tensor, Tensor]:
    """`linalg_ldl_factor_ex` without the info."""
    return aten.linalg_ldl_factor_ex.default(self, hermitian=hermitian, check_errors=True)[:2]


def _ldl_solve_spec(LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool = False) -> TensorSpec:
    check_square("linalg.ldl_solve", LD, B)
    if B._sizes[-2] != LD._sizes[-1] or pivots._sizes != LD._sizes[:-1]:
        raise ShapeError("linalg.ldl_solve: the sizes do not fit", got=describe([LD, pivots, B]))
    return spec_of((*matrices.batch_of("linalg.ldl_solve", LD, B), *B._sizes[-2:]), B._dtype, B)


@extern(
    "aten::linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
    spec=_ldl_solve_spec,
    outs="out",
)
def linalg_ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """X with A X = B, from the factorization of A."""
    out = allocate_like(_ldl_solve_spec(LD, pivots, B))
    if out.numel():
        solve = getattr(_lapack("linalg.ldl_solve"), _ldl_name(LD, hermitian, "trs"), None)
        xp, batch = LD._device.xp, out._sizes[:-2]
        wide = [
            xp.broadcast_to(t._array, (*batch, *t._sizes[t.ndim - count :])).reshape(-1, *t._sizes[t.ndim - count :])
            for t, count in ((LD, 2), (pivots, 1), (B, 2))
        ]
        into = out._array.reshape(wide[2].shape)
        for k, (factors, places, right) in enumerate(zip(*wide, strict=True)):
            into[k] = (
                _ldl_substitute(xp, factors, places, right, hermitian)
                if solve is None
                else solve(factors, places, right, lower=1)[0]
            )
    return out


def _ldl_substitute(xp: Any, factors: Any, places: Any, right: Any, hermitian: bool) -> Any:
    """L D L^T X = B block by block (LAPACK's `sytrs`, lower)."""
    n = factors.shape[0]
    x = right.astype(factors.dtype, copy=True)
    turned = (lambda a: a.conj()) if hermitian else (lambda a: a)
    blocks = []
    k = 0
    while k < n:
        size = 1 if places[k] > 0 else 2
        end = k + size
        other = abs(int(places[end - 1])) - 1
        x[[end - 1, other]] = x[[other, end - 1]]
        x[end:] -= factors[end:, k:end] @ x[k:end]
        if size == 1:
            x[k] = x[k] / (factors[k, k].real if hermitian else factors[k, k])
        else:
            d = factors[k:end, k:end].copy()
            d[0, 1] = turned(d[1, 0])
            if hermitian:
                d[0, 0], d[1, 1] = d[0, 0].real, d[1, 1].real
            x[k:end] = xp.linalg.solve(d, x[k:end])
        blocks.append((k, end, other))
        k = end
    for start, end, other in reversed(blocks):
        x[start:end] -= turned(factors[end:, start:end]).T @ x[end:]
        x[[end - 1, other]] = x[[other, end - 1]]
    return x


for _decl in (_linalg_eigh, linalg_eig, _linalg_eigvals, _linalg_svd, linalg_ldl_factor_ex, linalg_ldl_solve):
    _decl.batching(matrices.batch_matrices)
    _decl.sample_dtypes = SAMPLED
linalg_eigvalsh.sample_dtypes = linalg_svdvals.sample_dtypes = SAMPLED


# ---- samples -------------------------------------------------------------------------------------------------------


@linalg_eigvalsh.with_samples
def _(make: Make) -> Samples:
    yield (matrices.positive(make, 3, 3),), {}


@linalg_svdvals.with_samples
def _(make: Make) -> Samples:
    yield (mT(aten.cat.default([matrices.positive(make, 3, 3), make(2, 3)])),), {}
    yield (matrices.positive(make, 2, 2, 2),), {}


for _decl in (
    linalg_eig,
    linalg_eigh,
    linalg_eigvals,
    linalg_eigvalsh,
    linalg_svd,
    linalg_svdvals,
    svd,
):
    _decl.autocast = {"cpu": "fp32"}
