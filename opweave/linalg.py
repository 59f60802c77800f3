"""Linear algebra: those functions of `torch.linalg` that need no decomposition of a matrix."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError, ShapeError, UnsupportedError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.promote import broadcast_shapes
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, describe

__all__ = [
    "cross", "diagonal", "matmul", "matrix_norm", "matrix_power", "multi_dot", "norm", "vander", "vecdot",
    "vector_norm",
]  # fmt: skip

_ = _surface  # declares the ops
aten = ops.aten
Dims = int | Sequence[int] | None


def _numeric(op: str, x: Tensor) -> None:
    if x._dtype.kind not in "fc":
        raise DTypeError(f"{op}: expected floating point or complex numbers", got=describe(x), hint="x.to(float32)")


# ---- norms ---------------------------------------------------------------------------------------------------------


def vector_norm(
    x: Tensor, ord: float = 2, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """(Σ |x|^ord)^(1 / ord) over the given dimensions, or over all elements.

    Parameters
    ----------
    x : Tensor
        Floating point or complex.
    ord : float
        inf and -inf are the largest and smallest magnitude, 0 counts elements other than 0.
    dim : int or sequence of int, optional
        All by default.
    keepdim : bool
        Keep these dimensions, of size 1.
    dtype : DType, optional
        The type to convert to first.

    Returns
    -------
    Tensor
        Real, of the input's precision.
    """
    _numeric("vector_norm", x)
    if x._dtype.kind == "c":
        if dtype is not None and dtype.kind != "c":
            raise DTypeError("vector_norm: a complex tensor needs a complex dtype", got=f"dtype={dtype!r}")
        x = aten.abs.default(x if dtype is None else aten._to_copy.default(x, dtype=dtype))
        dtype = None
    dims = None if dim is None else list(dim) if isinstance(dim, (list, tuple)) else [dim]
    return aten.linalg_vector_norm.default(x, ord, dims, keepdim, dtype=dtype)  # type: ignore[arg-type]


def matrix_norm(
    A: Tensor,
    ord: float | str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """A norm of the matrices in two dimensions.

    Parameters
    ----------
    A : Tensor
        (..., m, n), floating point or complex.
    ord : float or str
        `"fro"`: the root of the sum of squares; 1 and -1: the largest and smallest sum of magnitudes of a column;
        inf and -inf: of a row. Norms by singular values (2, -2, `"nuc"`) are not there.
    dim : (int, int)
        The dimensions of the matrices.
    keepdim : bool
        Keep them, of size 1.
    dtype : DType, optional
        The type to convert to first.

    Raises
    ------
    UnsupportedError
        For norms by singular values.
    """
    _numeric("matrix_norm", A)
    if A.ndim < 2:
        raise ShapeError("matrix_norm: expected a matrix or a batch of matrices", got=describe(A))
    if not isinstance(dim, (list, tuple)) or len(dim) != 2:
        raise ShapeError("matrix_norm: dim must have two dimensions", got=f"dim={dim}")
    rows, columns = (wrap_dim(d, A.ndim, "matrix_norm") for d in dim)
    if rows == columns:
        raise ShapeError("matrix_norm: the two dimensions must differ", got=f"dim={dim}")
    if isinstance(ord, str) and ord == "fro":
        return vector_norm(A, 2, [rows, columns], keepdim, dtype=dtype)
    if ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2):
        raise UnsupportedError("matrix_norm: there are no singular values here", got=f"ord={ord!r}", hint="ord='fro'")
    if isinstance(ord, str) or abs(ord) not in (1, math.inf):
        raise ShapeError("matrix_norm: unknown norm", got=f"ord={ord!r}", hint="'fro', 1, -1, inf or -inf")
    summed, compared = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm(A, 1, [summed], True, dtype=dtype)
    found = (aten.amax if ord > 0 else aten.amin).default(sums, [compared], True)
    return found if keepdim else aten.squeeze.dims(found, [rows, columns])


def norm(
    A: Tensor, ord: float | str | None = None, dim: Dims = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """A matrix norm where `ord` is given and there are two dimensions, else a vector norm.

    Parameters
    ----------
    A : Tensor
    ord : float or str, optional
        As in `vector_norm` and `matrix_norm`; by default 2, of all elements or of those in `dim`.
    dim : int or sequence of int, optional
        One dimension for vectors, two for matrices; by default all, of which `ord` allows at most two.
    keepdim : bool
        Keep the dimensions, of size 1.
    dtype : DType, optional
        The type to convert to first.
    """
    dims = None if dim is None else list(dim) if isinstance(dim, (list, tuple)) else [dim]
    if dims is not None and len(dims) not in (1, 2):
        raise ShapeError("norm: dim must be one dimension or two", got=f"dim={dim}")
    if dims is None and ord is not None and A.ndim not in (1, 2):
        raise ShapeError("norm: with ord and without dim, a vector or a matrix", got=describe(A), hint="give dim")
    if isinstance(ord, str) or (ord is not None and (len(dims) if dims is not None else A.ndim) == 2):
        return matrix_norm(A, ord, [0, 1] if dims is None else dims, keepdim, dtype=dtype)  # type: ignore[arg-type]
    return vector_norm(A, 2 if ord is None else ord, dims, keepdim, dtype=dtype)  # type: ignore[arg-type]


# ---- products ------------------------------------------------------------------------------------------------------


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product; see `opweave.matmul`."""
    return aten.matmul.default(input, other)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """Σ conj(x) y over a dimension, of tensors that are broadcast.

    Raises
    ------
    DTypeError
        If the types are not one floating or complex type.
    """
    _numeric("vecdot", x)
    if x._dtype is not y._dtype:
        raise DTypeError("vecdot: expected two tensors of one dtype", got=describe([x, y]))
    left = aten.conj_physical.default(x) if x._dtype.kind == "c" else x
    return aten.sum.dim_IntList(aten.mul.Tensor(left, y), [dim])


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The product of vectors in space, of three elements in dimension `dim`.

    Raises
    ------
    ShapeError
        If the tensors have different numbers of dimensions, or other than 3 elements in that one.
    """
    if input.ndim != other.ndim:
        raise ShapeError("cross: expected tensors with as many dimensions", got=describe([input, other]))
    d = wrap_dim(dim, input.ndim, "cross")
    if not input.ndim or input._sizes[d] != 3 or other._sizes[d] != 3:
        raise ShapeError("cross: expected 3 elements in the dimension", got=f"dim={dim} of {describe([input, other])}")
    sizes = list(broadcast_shapes("cross", input._sizes, other._sizes))
    a, b = (aten.expand.default(t, sizes) for t in (input, other))

    def turned(t: Tensor, by: int) -> Tensor:
        return aten.roll.default(t, [-by], [d])

    return aten.sub.Tensor(aten.mul.Tensor(turned(a, 1), turned(b, 2)), aten.mul.Tensor(turned(a, 2), turned(b, 1)))


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of matrices in the order of the fewest multiplications; the first and last may be vectors.

    Raises
    ------
    ShapeError
        If there are fewer than two, one in between is no matrix, or sizes do not fit.
    """
    given = list(tensors)
    if len(given) < 2:
        raise ShapeError("multi_dot: expected at least 2 tensors", got=f"{len(given)}")
    for place, t in enumerate(given):
        if t.ndim != 2 and not (t.ndim == 1 and place in (0, len(given) - 1)):
            raise ShapeError("multi_dot: expected matrices, the first and the last maybe vectors", got=describe(given))
    for a, b in itertools.pairwise(given):
        if a._sizes[-1] != b._sizes[0] or a._dtype is not b._dtype:
            raise ShapeError("multi_dot: neighbours do not fit", got=describe([a, b]))
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


def matrix_power(A: Tensor, n: int) -> Tensor:
    """The n-th power of square matrices, by repeated squaring.

    Raises
    ------
    ShapeError
        If the matrices are not square.
    UnsupportedError
        If n is negative: there is no inverse here.
    """
    if A.ndim < 2 or A._sizes[-1] != A._sizes[-2]:
        raise ShapeError("matrix_power: expected square matrices", got=describe(A))
    if A._dtype.kind not in "fc":
        raise DTypeError("matrix_power: expected floating point or complex numbers", got=describe(A))
    if n < 0:
        raise UnsupportedError("matrix_power: there is no inverse here", got=f"n={n}")
    if n == 0:
        size = A._sizes[-1]
        one = aten.eye.default(size, dtype=A._dtype, device=A._device)
        return aten.copy.default(aten.contiguous.default(A), one)  # with a gradient, of zeros
    found: Any = None
    square = A
    while True:
        if n & 1:
            found = square if found is None else aten.matmul.default(found, square)
        n >>= 1
        if not n:
            return aten.clone.default(found) if found is A else found
        square = aten.matmul.default(square, square)


def vander(x: Tensor, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element (as many as elements, if not given) in a new last dimension."""
    if not x.ndim:
        raise ShapeError("vander: expected a tensor with a dimension", got=describe(x))
    count = x._sizes[-1] if N is None else N
    if count <= 1:
        raise ShapeError("vander: N must be greater than 1", got=f"N={count}")
    wide = aten.expand.default(aten.unsqueeze.default(x, -1), [*x._sizes, count - 1])
    powers = aten.cumprod.default(wide, -1)
    ones = aten.ones.default([*x._sizes, 1], dtype=powers._dtype, device=powers._device)
    return aten.cat.default([ones, powers], -1)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A view of the diagonals of the matrices in two dimensions, the last two by default."""
    return aten.diagonal.default(A, offset, dim1, dim2)
