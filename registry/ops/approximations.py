"""Differences on a grid, and factorizations of low rank by random projections (Halko et al. 2011)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.registry.errors import ArgumentError, DTypeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.matrices import check_matrix, mH
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, describe

aten = ops.aten


# ---- differences ---------------------------------------------------------------------------------------------------


def gradient(
    input: Tensor, *, spacing: Any = 1, dim: int | Sequence[int] | None = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The slope along dimensions, by central differences; at the edges from one side.

    Parameters
    ----------
    input : Tensor
        Values on a grid.
    spacing : number, or sequence of number or Tensor
        How far apart the points are: a number for all dimensions or one for each, or the coordinates along each.
    dim : int or sequence of int, optional
        By default all.
    edge_order : 1 or 2
        How exact the differences at the edges are.

    Returns
    -------
    tuple of Tensor
        One for each dimension.

    Examples
    --------
    >>> opweave.gradient(opweave.tensor([1.0, 4.0, 9.0]))
    (tensor([3., 4., 5.]),)
    """
    if edge_order not in (1, 2):
        raise ArgumentError("gradient: edge_order must be 1 or 2", got=f"edge_order={edge_order}")
    if dim is None:
        dims = list(range(input.ndim))
    else:
        given: Any = dim if isinstance(dim, (list, tuple)) else [dim]
        dims = [wrap_dim(d, input.ndim, "gradient") for d in given]
    if len(set(dims)) < len(dims):
        raise ShapeError("gradient: a dimension is given twice", got=f"dim={dim}")
    spacing = 1 if spacing is None else spacing
    steps = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(steps) != len(dims):
        raise ShapeError("gradient: expected a spacing for each dimension", got=f"{len(steps)} for {len(dims)}")
    if input._dtype.kind not in "fc":
        input = aten.mul.Scalar(input, 1.0)
    return tuple([_slope(input, d, step, edge_order) for d, step in zip(dims, steps, strict=True)])


def _slope(x: Any, dim: int, step: Any, edge_order: int) -> Any:
    size = x._sizes[dim]
    if size <= edge_order:
        raise ShapeError("gradient: each dimension must have at least edge_order + 1 elements", got=describe(x))

    def at(start: int, end: int | None) -> Any:
        return aten.slice.Tensor(x, dim, start, end)

    gaps: Any = None
    if isinstance(step, Tensor):
        if step.ndim != 1 or step._sizes[0] != size:
            raise ShapeError("gradient: coordinates must be a vector of the dimension's size", got=describe(step))
        line = [-1 if d == dim else 1 for d in range(x.ndim)]
        gaps = aten.reshape.default(aten.diff.default(step), line)
        before, after = aten.slice.Tensor(gaps, dim, 0, size - 2), aten.slice.Tensor(gaps, dim, 1, None)
        first, last = aten.slice.Tensor(gaps, dim, 0, 1), aten.slice.Tensor(gaps, dim, size - 2, None)
    else:
        before = after = first = last = step
    inner = None
    if size > 2:
        low, middle, high = at(0, size - 2), at(1, size - 1), at(2, None)
        if isinstance(step, Tensor):
            inner = (
                -after / (before * (before + after)) * low
                + (after - before) / (before * after) * middle
                + before / (after * (before + after)) * high
            )
        else:
            inner = (high - low) / (2 * step)
    if edge_order == 1:
        left, right = (at(1, 2) - at(0, 1)) / first, (at(size - 1, None) - at(size - 2, size - 1)) / last
    elif isinstance(step, Tensor):
        a, b = first, aten.slice.Tensor(gaps, dim, 1, 2)
        left = -(2 * a + b) / (a * (a + b)) * at(0, 1) + (a + b) / (a * b) * at(1, 2) - a / (b * (a + b)) * at(2, 3)
        a, b = aten.slice.Tensor(gaps, dim, size - 3, size - 2), last
        right = (
            b / (a * (a + b)) * at(size - 3, size - 2)
            - (a + b) / (a * b) * at(size - 2, size - 1)
            + (2 * b + a) / (b * (a + b)) * at(size - 1, None)
        )
    else:
        left = (-1.5 * at(0, 1) + 2 * at(1, 2) - 0.5 * at(2, 3)) / step
        right = (0.5 * at(size - 3, size - 2) - 2 * at(size - 2, size - 1) + 1.5 * at(size - 1, None)) / step
    return aten.cat.default([left, right] if inner is None else [left, inner, right], dim)


# ---- low rank ------------------------------------------------------------------------------------------------------


def _range_of(A: Any, q: int, niter: int) -> Any:
    """Orthonormal columns that span most of what A maps to."""
    drawn = aten.randn.default([A._sizes[-1], q], dtype=A._dtype.to_real(), device=A._device)
    found = aten.linalg_qr.default(A @ aten._to_copy.default(drawn, dtype=A._dtype))[0]
    for _ in range(niter):
        other = aten.linalg_qr.default(mH(A) @ found)[0]
        found = aten.linalg_qr.default(A @ other)[0]
    return found


def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> tuple[Any, Any, Any]:
    """The q largest singular values of A, or of A - M, with their vectors, by a random projection.

    Parameters
    ----------
    A : Tensor
        (..., m, n)
    q : int, optional
        A little more than the rank; 6 by default.
    niter : int, optional
        How often the projection is made better; 2 by default.
    M : Tensor, optional
        What is subtracted.

    Returns
    -------
    U, S, V : Tensor
        (..., m, q), (..., q) and (..., n, q)

    Examples
    --------
    >>> [t.shape for t in opweave.svd_lowrank(opweave.ones(5, 4), q=2)]
    [opweave.Size([5, 2]), opweave.Size([2]), opweave.Size([4, 2])]
    """
    check_matrix("svd_lowrank", A)
    whole: Any = A if M is None else aten.sub.Tensor(A, M)
    m, n = A._sizes[-2:]
    count = min(6 if q is None else q, m, n)
    rounds = 2 if niter is None else niter
    is_wide = m < n
    q_columns = _range_of(mH(whole) if is_wide else whole, count, rounds)
    U, S, Vh = aten._linalg_svd.default(whole @ q_columns if is_wide else mH(q_columns) @ whole, False, True)
    return (U, S, q_columns @ mH(Vh)) if is_wide else (q_columns @ U, S, mH(Vh))


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Any, Any, Any]:
    """Principal components: `svd_lowrank` of A without the means of its columns.

    Parameters
    ----------
    A : Tensor
        (..., m, n): m observations of n variables.
    q : int, optional
        How many components, by default 6 or all.
    center : bool
        Whether to subtract the means.
    niter : int
        How often the projection is made better.

    Examples
    --------
    >>> [t.shape for t in opweave.pca_lowrank(opweave.ones(5, 4), q=2)]
    [opweave.Size([5, 2]), opweave.Size([2]), opweave.Size([4, 2])]
    """
    check_matrix("pca_lowrank", A)
    m, n = A._sizes[-2:]
    count = min(6, m, n) if q is None else q
    if not 0 <= count <= min(m, n):
        raise ShapeError(f"pca_lowrank: q(={count}) must be non-negative and not greater than {min(m, n)}")
    if A._dtype.kind not in "fc":
        raise DTypeError("pca_lowrank: expected floating or complex numbers", got=describe(A))
    mean = aten.mean.dim(A, [-2], True) if center else None
    return svd_lowrank(A, count, niter, mean)


#: Functions of the package that are no ops.
FUNCTIONS = {"gradient": gradient, "svd_lowrank": svd_lowrank, "pca_lowrank": pca_lowrank}
