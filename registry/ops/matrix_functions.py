"""Norms, ranks, pseudoinverses and functions of matrices, and products of several."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops import linear_systems, matrices, spectra
from opweave.registry.ops.gradients import conjugate
from opweave.registry.ops.kinds import composite, extern
from opweave.registry.ops.matrices import SAMPLED, check_matrix, check_square, mH, mT, spec_of
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import broadcast_shapes
from opweave.registry.spec import TensorSpec
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, describe

aten = ops.aten
_NEEDED = spectra  # declares what these are written with
Dims = int | Sequence[int] | None


# ---- norms ---------------------------------------------------------------------------------------------------------


def _numeric(op: str, x: Tensor) -> None:
    if x._dtype.kind not in "fc":
        raise DTypeError(
            f"{op}: Expected a floating point or complex tensor as input", got=describe(x), hint="x.to(float32)"
        )


def _vector_norm(x: Tensor, ord: Any, dim: Any, keepdim: bool, dtype: DType | None) -> Any:
    _numeric("linalg.vector_norm", x)
    if x._dtype.kind == "c":
        if dtype is not None and dtype.kind != "c":
            raise DTypeError("linalg.vector_norm: a complex tensor needs a complex dtype", got=f"dtype={dtype!r}")
        x = aten.abs.default(x if dtype is None else aten._to_copy.default(x, dtype=dtype))
        dtype = None
    return aten.linalg_vector_norm.default(x, ord, dim, keepdim, dtype=dtype)


def _extreme(sizes: Tensor, dim: int, ord: Any, keepdim: bool) -> Tensor:
    """The largest of sizes, for a positive order, or the least; the largest of none is 0."""
    if ord < 0:
        return aten.amin.default(sizes, [dim], keepdim)
    # A sum of none, too, is 0.
    return (aten.amax.default if sizes._sizes[dim] else aten.sum.dim_IntList)(sizes, [dim], keepdim)


def _matrix_norm(A: Tensor, ord: Any, dim: Sequence[int], keepdim: bool, dtype: DType | None) -> Any:
    op = "linalg.matrix_norm"
    _numeric(op, A)
    if A.ndim < 2:
        raise ShapeError(f"{op}: The input tensor A must have at least 2 dimensions", got=describe(A))
    if len(dim) != 2:
        raise ShapeError(f"{op}: dim must be a 2-tuple", got=f"dim={dim}")
    of_rows, of_columns = (wrap_dim(d, A.ndim, op) for d in dim)
    if of_rows == of_columns:
        raise ShapeError(f"{op}: dims must be different", got=f"dim={dim}")
    if ord == "fro":
        return _vector_norm(A, 2, [of_rows, of_columns], keepdim, dtype)
    whole = A if dtype is None else aten._to_copy.default(A, dtype=dtype)
    if ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2):
        order = [d for d in range(A.ndim) if d not in (of_rows, of_columns)]
        values = aten.linalg_svdvals.default(aten.permute.default(whole, [*order, of_rows, of_columns]))
        if ord == "nuc":
            found = aten.sum.dim_IntList(values, [-1])
        else:
            found = _extreme(values, -1, ord, False)
        if keepdim:
            found = aten.unsqueeze.default(aten.unsqueeze.default(found, -1), -1)
            places = [*order, of_rows, of_columns]
            found = aten.permute.default(found, [places.index(d) for d in range(A.ndim)])
        return found
    if isinstance(ord, str) or abs(ord) not in (1, math.inf):
        raise ShapeError(f"{op}: Order {ord} not supported", hint="'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    summed, compared = (of_rows, of_columns) if abs(ord) == 1 else (of_columns, of_rows)
    sums = _vector_norm(whole, 1, [summed], True, None)
    found = _extreme(sums, compared, ord, True)
    return found if keepdim else aten.squeeze.dims(found, [of_rows, of_columns])


def _norm(A: Tensor, ord: Any, dim: Any, keepdim: bool, dtype: DType | None) -> Any:
    dims = None if dim is None else list(dim) if isinstance(dim, (list, tuple)) else [dim]
    if dims is not None and len(dims) not in (1, 2):
        raise ShapeError("linalg.norm: If dim is specified, it must be of length 1 or 2", got=f"dim={dim}")
    if dims is None and ord is not None and A.ndim not in (1, 2):
        raise ShapeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D", got=describe(A),
            hint="give dim",
        )  # fmt: skip
    if isinstance(ord, str) or (ord is not None and (len(dims) if dims is not None else A.ndim) == 2):
        return _matrix_norm(A, ord, [0, 1] if dims is None else dims, keepdim, dtype)
    return _vector_norm(A, 2 if ord is None else ord, dims, keepdim, dtype)


_REST = "bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"


@composite(f"aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, {_REST}", outs="out")
def linalg_norm(self: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """A matrix norm where `ord` is given and there are two dimensions, else a vector norm; by default the 2-norm."""
    return _norm(self, ord, dim, keepdim, dtype)


@composite(f"aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, {_REST}", outs="ord_str_out")
def linalg_norm_named(self: Tensor, ord: str, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm `"fro"` or `"nuc"` of matrices."""
    return _norm(self, ord, dim, keepdim, dtype)


@composite(f"aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], {_REST}", outs="out")
def linalg_matrix_norm(
    self: Tensor, ord: Any, dim: Sequence[int] = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The largest or smallest sum of magnitudes of a column (1, -1) or row (inf, -inf), or singular value (2, -2)."""
    return _matrix_norm(self, ord, dim, keepdim, dtype)


@composite(
    f'aten::linalg_matrix_norm.str_ord(Tensor self, str ord="fro", int[] dim=[-2, -1], {_REST}', outs="str_ord_out"
)
def linalg_matrix_norm_named(
    self: Tensor, ord: str = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The root of the sum of squares (`"fro"`), or the sum of singular values (`"nuc"`)."""
    return _matrix_norm(self, ord, dim, keepdim, dtype)


@composite("aten::linalg_cond(Tensor self, Scalar? p=None) -> Tensor", outs="out")
def linalg_cond(self: Tensor, p: Any = None) -> Tensor:
    """How much solving with a matrix may magnify errors: its norm times that of its inverse."""
    return _cond(self, p)


@composite("aten::linalg_cond.p_str(Tensor self, str p) -> Tensor", outs="p_str_out")
def linalg_cond_named(self: Tensor, p: str) -> Tensor:
    """The same by the norm `"fro"` or `"nuc"`."""
    return _cond(self, p)


def _cond(A: Tensor, p: Any) -> Any:
    check_matrix("linalg.cond", A)
    if p is None or (not isinstance(p, str) and abs(p) == 2):
        if 0 in A._sizes[-2:]:
            return aten.new_zeros.default(A, A._sizes[:-2], dtype=matrices.real_type(A))
        values = aten.linalg_svdvals.default(A)
        largest, smallest = (aten.select.int(values, -1, place) for place in (0, -1))
        return aten.div.Tensor(smallest, largest) if p == -2 else aten.div.Tensor(largest, smallest)
    check_square("linalg.cond", A)
    if not A._sizes[-1]:
        return aten.new_zeros.default(A, A._sizes[:-2], dtype=matrices.real_type(A))
    inverse, info = aten.linalg_inv_ex.default(A)
    found = _matrix_norm(A, p, (-2, -1), False, None) * _matrix_norm(inverse, p, (-2, -1), False, None)
    return aten.masked_fill.Scalar(found, aten.ne.Scalar(info, 0), math.inf)


# ---- ranks and pseudoinverses --------------------------------------------------------------------------------------


def _threshold(A: Tensor, largest: Any, atol: Any, rtol: Any) -> Any:
    """Below which a singular value counts as 0: the larger of atol and rtol times the largest."""
    if rtol is None:
        share = float(np.finfo(A._dtype.numpy).eps) * max(A._sizes[-2:])
        # Where atol is more than 0 it is enough.
        if isinstance(atol, Tensor):
            rtol = aten.where.ScalarSelf(aten.gt.Scalar(atol, 0), 0.0, _full(largest, share))
        else:
            rtol = 0.0 if atol is not None and atol > 0 else share
    atol = 0.0 if atol is None else atol
    relative = largest * (aten.unsqueeze.default(rtol, -1) if isinstance(rtol, Tensor) else rtol)
    if isinstance(atol, Tensor):
        return aten.maximum.default(
            aten.unsqueeze.default(aten._to_copy.default(atol, dtype=largest._dtype), -1), relative
        )
    return aten.clamp_min.default(relative, atol)


def _full(like: Tensor, value: float) -> Any:
    return aten.scalar_tensor.default(value, dtype=like._dtype, device=like._device)


def _singular_values(A: Tensor, hermitian: bool) -> Any:
    if hermitian:
        return aten.abs.default(aten.linalg_eigvalsh.default(A))
    return aten.linalg_svdvals.default(A)


def _rank(A: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Any:
    check_matrix("linalg.matrix_rank", A)
    for name, value in (("atol", atol), ("rtol", rtol)):
        if isinstance(value, Tensor) and value._dtype.kind == "c":
            raise DTypeError(f"linalg.matrix_rank: {name} tensor of complex type is not supported", got=describe(value))
    values = _singular_values(A, hermitian)
    if not values._sizes[-1]:
        return aten.new_zeros.default(A, A._sizes[:-2], dtype=dtypes.int64)
    limit = _threshold(A, aten.amax.default(values, [-1], True), atol, rtol)
    return aten.sum.dim_IntList(aten.gt.Tensor(values, limit), [-1])


_LIMITS = "*, float? atol=None, float? rtol=None, bool hermitian=False) -> Tensor"
_LIMIT_TENSORS = "*, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor"


@composite(f"aten::linalg_matrix_rank.atol_rtol_float(Tensor self, {_LIMITS}", outs="atol_rtol_float_out")
def linalg_matrix_rank(self: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """How many singular values are above the larger of atol and rtol times the largest."""
    return _rank(self, atol, rtol, hermitian)


@composite(f"aten::linalg_matrix_rank.atol_rtol_tensor(Tensor input, {_LIMIT_TENSORS}", outs="atol_rtol_tensor_out")
def linalg_matrix_rank_of_tensors(
    input: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False
) -> Tensor:
    """The same with limits for each matrix."""
    return _rank(input, atol, rtol, hermitian)


@composite("aten::linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) -> Tensor", outs="out")
def linalg_matrix_rank_above(self: Tensor, tol: float, hermitian: bool = False) -> Tensor:
    """How many singular values are above a number."""
    return _rank(self, tol, 0.0, hermitian)


@composite(
    "aten::linalg_matrix_rank.tol_tensor(Tensor input, Tensor tol, bool hermitian=False) -> Tensor",
    outs="out_tol_tensor",
)
def linalg_matrix_rank_above_tensor(input: Tensor, tol: Tensor, hermitian: bool = False) -> Tensor:
    """How many singular values are above a number for each matrix."""
    return _rank(input, tol, 0.0, hermitian)


def _pinv(A: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Any:
    check_matrix("linalg.pinv", A)
    if 0 in A._sizes:
        return aten.new_empty.default(A, [*A._sizes[:-2], A._sizes[-1], A._sizes[-2]])
    if hermitian:
        values, left = aten.linalg_eigh.default(A)
        right, size = mH(left), aten.abs.default(values)
    else:
        left, values, right = aten._linalg_svd.default(A, False, True)
        size = values
    kept = aten.gt.Tensor(size, _threshold(A, aten.amax.default(size, [-1], True), atol, rtol))
    inverse = aten.where.self(kept, aten.reciprocal.default(aten.where.self(kept, values, 1)), 0)
    return aten.matmul.default(mH(right) * aten.unsqueeze.default(inverse, -2), mH(left))


@composite(
    f"aten::linalg_pinv.atol_rtol_tensor(Tensor self, {_LIMIT_TENSORS}", explicit=True, outs="atol_rtol_tensor_out"
)
def linalg_pinv(self: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """The Moore-Penrose inverse, by singular values above the larger of atol and rtol times the largest."""
    return _pinv(self, atol, rtol, hermitian)


linalg_pinv.backward(self=lambda grad, self, result: linear_systems.pinv_gradient(grad, result, self))


def _as_tensors(A: Tensor, *limits: Any) -> list[Any]:
    return [v if v is None or isinstance(v, Tensor) else
            aten.scalar_tensor.default(v, dtype=matrices.real_type(A), device=A._device) for v in limits]  # fmt: skip


def _pinv_by(A: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Any:
    atol, rtol = _as_tensors(A, atol, rtol)
    return aten.linalg_pinv.atol_rtol_tensor(A, atol=atol, rtol=rtol, hermitian=hermitian)


@composite(f"aten::linalg_pinv.atol_rtol_float(Tensor self, {_LIMITS}", outs="atol_rtol_float_out")
def linalg_pinv_by_numbers(self: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """The same with numbers."""
    return _pinv_by(self, atol, rtol, hermitian)


@composite("aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor", outs="out")
def linalg_pinv_above(self: Tensor, rcond: float, hermitian: bool = False) -> Tensor:
    """The same by singular values above a share of the largest."""
    return _pinv_by(self, 0.0, rcond, hermitian)


@composite(
    "aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor", outs="out_rcond_tensor"
)
def linalg_pinv_above_tensor(self: Tensor, rcond: Tensor, hermitian: bool = False) -> Tensor:
    """The same by singular values above a share of the largest, for each matrix."""
    return _pinv_by(self, 0.0, rcond, hermitian)


@composite("aten::pinverse(Tensor self, float rcond=1e-15) -> Tensor")
def pinverse(self: Tensor, rcond: float = 1e-15) -> Tensor:
    """As `linalg.pinv`."""
    return _pinv_by(self, 0.0, rcond, False)


# ---- functions -----------------------------------------------------------------------------------------------------

#: Coefficients of the Padé approximant of degree 13, and the norm up to which it is exact (Higham 2005).
_PADE = (64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
         670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1)  # fmt: skip
_PADE_RADIUS = 5.371920351148152


def _exp_spec(self: Tensor) -> TensorSpec:
    check_square("linalg.matrix_exp", self)
    return spec_of(self._sizes, self._dtype, self)


@extern("aten::linalg_matrix_exp(Tensor self) -> Tensor", spec=_exp_spec, outs="out")
def linalg_matrix_exp(self: Tensor) -> Tensor:
    """The exponential of square matrices, by scaling and squaring (Higham 2005)."""
    xp, n = self._device.xp, self._sizes[-1]
    if not self.numel():
        return matrices.made(_exp_spec(self), self._array)
    wide = self._array.astype(np.complex128 if self._dtype.kind == "c" else np.float64)
    norms = xp.abs(wide).sum(-2).max(-1)
    with np.errstate(all="ignore"):
        halvings = xp.where(norms > _PADE_RADIUS, xp.ceil(xp.log2(norms / _PADE_RADIUS)), 0)
    halvings = xp.where(xp.isfinite(halvings), halvings, 0)
    a = wide / xp.exp2(halvings)[..., None, None]
    eye = xp.eye(n)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    b = _PADE
    odd = a @ (a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * eye)
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * eye
    found = xp.linalg.solve(even - odd, even + odd)
    for k in range(int(halvings.max())):
        found = xp.where((halvings > k)[..., None, None], found @ found, found)
    return matrices.made(_exp_spec(self), found)


@linalg_matrix_exp.backward
def _exp_backward(grad: Tensor, self: Tensor) -> tuple[Any]:
    """In the corner of the exponential of a matrix twice as large (Mathias 1996)."""
    n = self._sizes[-1]
    adjoint = mH(self)
    above = aten.cat.default([adjoint, grad], -1)
    below = aten.cat.default([aten.zeros_like.default(adjoint), adjoint], -1)
    whole = aten.linalg_matrix_exp.default(aten.cat.default([above, below], -2))
    return (matrices.columns(matrices.rows(whole, 0, n), n, 2 * n),)


@composite("aten::matrix_exp(Tensor self) -> Tensor")
def matrix_exp(self: Tensor) -> Tensor:
    """As `linalg.matrix_exp`."""
    return aten.linalg_matrix_exp.default(self)


@composite("aten::linalg_matrix_power(Tensor self, int n) -> Tensor", outs="out")
def linalg_matrix_power(self: Tensor, n: int) -> Tensor:
    """The n-th power of square matrices, by repeated squaring; of the inverse where n is negative."""
    check_square("linalg.matrix_power", self)
    if n < 0:
        self, n = aten.linalg_inv.default(self), -n
    if n == 0:
        one = matrices.identity_like(self, self._sizes[-1])
        return aten.copy.default(aten.contiguous.default(self), one)  # with a gradient, of zeros
    found: Any = None
    square = self
    while True:
        if n & 1:
            found = square if found is None else aten.matmul.default(found, square)
        n >>= 1
        if not n:
            return aten.clone.default(found) if found is self else found
        square = aten.matmul.default(square, square)


@composite("aten::matrix_power(Tensor self, int n) -> Tensor", outs="out")
def matrix_power(self: Tensor, n: int) -> Tensor:
    """As `linalg.matrix_power`."""
    return linalg_matrix_power.body(self, n)


# ---- tensors as matrices -------------------------------------------------------------------------------------------


@composite("aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor", outs="out")
def linalg_tensorinv(self: Tensor, ind: int = 2) -> Tensor:
    """The inverse of a tensor as a matrix from its last dimensions to its first `ind`."""
    if ind <= 0:
        raise ShapeError("linalg.tensorinv: Expected a strictly positive integer for 'ind'", got=f"ind={ind}")
    after, before = self._sizes[ind:], self._sizes[:ind]
    if math.prod(after) != math.prod(before):
        raise ShapeError("linalg.tensorinv: Expected self to satisfy prod(shape[ind:]) == prod(shape[:ind])",
                         got=describe(self))  # fmt: skip
    matrix = aten.reshape.default(self, [math.prod(before), math.prod(after)])
    return aten.reshape.default(aten.linalg_inv.default(matrix), [*after, *before])


@composite("aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor", outs="out")
def linalg_tensorsolve(self: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """X with tensordot(self, X) = other; `dims` of self are moved to the end first."""
    if dims is not None:
        self = aten.movedim.intlist(self, list(dims), list(range(self.ndim - len(dims), self.ndim)))
    shape = self._sizes[other.ndim :]
    size = math.prod(shape)
    if size != math.prod(self._sizes[: other.ndim]):
        raise ShapeError(
            "linalg.tensorsolve: Expected self to satisfy prod(shape[other.ndim:]) == prod(shape[:other.ndim])",
            got=describe([self, other]),
        )
    matrix = aten.reshape.default(self, [size, size])
    return aten.reshape.default(aten.linalg_solve.default(matrix, aten.reshape.default(other, [-1])), list(shape))


# ---- products ------------------------------------------------------------------------------------------------------


@composite("aten::linalg_matmul(Tensor self, Tensor other) -> Tensor", outs="out")
def linalg_matmul(self: Tensor, other: Tensor) -> Tensor:
    """The matrix product; see `opweave.matmul`."""
    return aten.matmul.default(self, other)


@composite("aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", outs="out")
def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Σ conj(x) y over a dimension, of tensors that are broadcast."""
    _numeric("linalg.vecdot", x)
    if x._dtype is not y._dtype:
        raise DTypeError("linalg.vecdot: Expected two tensors of one dtype", got=describe([x, y]))
    return aten.sum.dim_IntList(aten.mul.Tensor(conjugate(x), y), [dim])


@composite("aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", outs="out")
def linalg_cross(self: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The product of vectors in space, of three elements in dimension `dim`."""
    if self.ndim != other.ndim:
        raise ShapeError(
            "linalg.cross: inputs must have the same number of dimensions", got=describe([self, other])
        )  # fmt: skip
    d = wrap_dim(dim, self.ndim, "linalg.cross")
    if not self.ndim or self._sizes[d] != 3 or other._sizes[d] != 3:
        raise ShapeError(
            f"linalg.cross: inputs dimension {dim} must have length 3", got=describe([self, other])
        )  # fmt: skip
    sizes = list(broadcast_shapes("linalg.cross", self._sizes, other._sizes))
    a, b = (aten.expand.default(t, sizes) for t in (self, other))

    def turned(t: Tensor, by: int) -> Tensor:
        return aten.roll.default(t, [-by], [d])

    return aten.sub.Tensor(aten.mul.Tensor(turned(a, 1), turned(b, 2)), aten.mul.Tensor(turned(a, 2), turned(b, 1)))


@composite("aten::linalg_multi_dot(Tensor[] tensors) -> Tensor", outs="out")
def linalg_multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of matrices in the order of the fewest multiplications; the first and last may be vectors."""
    given: list[Any] = list(tensors)
    if len(given) < 2:
        raise ShapeError("linalg.multi_dot: expected at least 2 tensors", got=f"{len(given)}")
    for place, t in enumerate(given):
        if t.ndim != 2 and not (t.ndim == 1 and place in (0, len(given) - 1)):
            raise ShapeError(
                "linalg.multi_dot: expected matrices, the first and the last maybe vectors", got=describe(given)
            )
    for a, b in itertools.pairwise(given):
        if a._sizes[-1] != b._sizes[0] or a._dtype is not b._dtype:
            raise ShapeError("linalg.multi_dot: neighbours do not fit", got=describe([a, b]))
    row, column = given[0].ndim == 1, given[-1].ndim == 1
    if row:
        given[0] = aten.unsqueeze.default(given[0], 0)
    if column:
        given[-1] = aten.unsqueeze.default(given[-1], 1)
    found = _product(given, _best_cuts([given[0]._sizes[0], *(t._sizes[1] for t in given)]), 0, len(given))
    if row:
        found = aten.squeeze.dim(found, 0)
    return aten.squeeze.dim(found, -1) if column else found


def _best_cuts(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to cut each run of matrices for the fewest multiplications (Godbole 1973)."""
    count = len(sizes) - 1
    cost = {(i, i + 1): 0 for i in range(count)}
    cuts: dict[tuple[int, int], int] = {}
    for length in range(2, count + 1):
        for i in range(count - length + 1):
            j = i + length
            ways = {k: cost[i, k] + cost[k, j] + sizes[i] * sizes[k] * sizes[j] for k in range(i + 1, j)}
            cuts[i, j] = min(ways, key=lambda k: ways[k])
            cost[i, j] = ways[cuts[i, j]]
    return cuts


def _product(given: list[Tensor], cuts: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if j == i + 1:
        return given[i]
    k = cuts[i, j]
    return aten.mm.default(_product(given, cuts, i, k), _product(given, cuts, k, j))


@composite("aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor")
def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element (as many as elements, if not given) in a new last dimension."""
    if not x.ndim and N is None:
        raise ShapeError("linalg.vander: Expected dim of x to be greater than 0 without N", got=describe(x))
    x = x if x.ndim else aten.unsqueeze.default(x, 0)
    count = x._sizes[-1] if N is None else N
    if count <= 1:
        raise ShapeError("linalg.vander: N must be greater than 1", got=f"N={count}")
    wide = aten.expand.default(aten.unsqueeze.default(x, -1), [*x._sizes, count - 1])
    powers = aten.cumprod.default(wide, -1)
    ones = aten.ones.default([*x._sizes, 1], dtype=powers._dtype, device=powers._device)
    return aten.cat.default([ones, powers], -1)


@composite("aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)")
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A view of the diagonals of the matrices in two dimensions, the last two by default."""
    return aten.diagonal.default(A, offset, dim1, dim2)


linalg_matrix_exp.batching(matrices.batch_matrices)
for _decl in (linalg_matrix_exp, linalg_pinv, linalg_matrix_power):
    _decl.sample_dtypes = SAMPLED
linalg_matrix_rank.sample_dtypes = SAMPLED


# ---- samples -------------------------------------------------------------------------------------------------------


@linalg_matrix_exp.with_samples
@linalg_pinv.with_samples
def _(make: Make) -> Samples:
    yield (matrices.well(make, 3, 3),), {}
    yield (matrices.well(make, 2, 2, 2),), {}


@linalg_matrix_rank.with_samples
def _(make: Make) -> Samples:
    yield (mT(matrices.well(make, 3, 3)),), {}


@linalg_matrix_power.with_samples
def _(make: Make) -> Samples:
    yield (matrices.well(make, 3, 3), 3), {}
    yield (matrices.well(make, 3, 3), -2), {}


for _decl in (
    linalg_cond,
    linalg_cond_named,
    linalg_matrix_rank_above,
    linalg_matrix_rank,
    linalg_matrix_rank_of_tensors,
    linalg_matrix_rank_above_tensor,
    linalg_tensorinv,
    linalg_tensorsolve,
    pinverse,
):
    _decl.autocast = {"cpu": "fp32"}
for _decl in (
    linalg_matrix_norm,
    linalg_matrix_norm_named,
):
    _decl.autocast = {"cuda": "fp32"}
for _decl in (linalg_multi_dot,):
    _decl.autocast = {"cuda": "lower_precision_fp"}
linalg_vecdot.autocast = {"cpu": "lower_precision_fp", "cuda": "lower_precision_fp"}
