"""Functions of `opweave.linalg`.

Written by `python -m opweave.typing_stubs` from the declarations of the ops; see there."""

from builtins import tuple as _tuple
from collections.abc import Sequence
from typing import Literal, overload
from opweave.registry import return_types
from opweave.registry.argument_types import Bool, DTypeLike, Float, Int, Number
from opweave.registry.tensor import Tensor
from opweave.registry.errors import LinAlgError as LinAlgError

def cholesky(A: Tensor, *, upper: Bool = False, out: Tensor | None = None) -> Tensor:
    """The lower triangular L of A = L L^H for Hermitian positive definite matrices, or the upper one.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    upper : bool, default False
        Whether the upper triangle is meant.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 1.0], [1.0, 3.0]])
    >>> opweave.linalg.cholesky(x).shape
    opweave.Size([2, 2])"""
    ...
def cholesky_ex(A: Tensor, *, upper: Bool = False, check_errors: Bool = False, out: _tuple[Tensor, Tensor] | None = None) -> return_types.linalg_cholesky_ex:
    """The lower triangular L of A = L L^H, or the upper one.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    upper : bool, default False
        Whether the upper triangle is meant.
    check_errors : bool, default False
        Whether to raise where it fails, instead of saying so in `info`.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.linalg_cholesky_ex
        A named tuple of tensors: L, info.

    Examples
    --------
    >>> x = opweave.tensor([[1.8, -0.1, 0.0], [-0.1, 4.0, 0.1], [0.0, 0.1, 6.2]])
    >>> [t.shape for t in opweave.linalg.cholesky_ex(x)]
    [opweave.Size([3, 3]), opweave.Size([])]"""
    ...
@overload
def cond(A: Tensor, p: Number | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def cond(A: Tensor, p: Literal['fro', 'nuc'], *, out: Tensor | None = None) -> Tensor:
    """How much solving with a matrix may magnify errors: its norm times that of its inverse.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    p : number or {'fro', 'nuc'}, optional
        The p of the norm.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 0.0], [0.0, 1.0]])
    >>> opweave.linalg.cond(x)
    tensor(2.)"""
    ...
@overload
def cross(A: Tensor, other: Tensor | Number, *, dim: Int = -1, out: Tensor | None = None) -> Tensor: ...
@overload
def cross(A: Tensor, other: Tensor | Number, *, axis: Int = -1, out: Tensor | None = None) -> Tensor:
    """The product of vectors in space, of three elements in dimension `dim`.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    other : Tensor or number
        The other tensor; shapes broadcast.
    dim : int, default -1
        The dimension, counted from the end where negative.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 0.0, 0.0])
    >>> y = opweave.tensor([0.0, 1.0, 0.0])
    >>> opweave.linalg.cross(x, y)
    tensor([0., 0., 1.])"""
    ...
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Determinants of square matrices.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.linalg.det(x)
    tensor(-2.)"""
    ...
def diagonal(A: Tensor, *, offset: Int = 0, dim1: Int = -2, dim2: Int = -1) -> Tensor:
    """A view of the diagonals of the matrices in two dimensions, the last two by default.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    offset : int, default 0
        Which diagonal: 0 the main one, positive numbers above it.
    dim1 : int, default -2
        Another dimension.
    dim2 : int, default -1
        The second of the matrix's dimensions.

    Returns
    -------
    Tensor
        A tensor over the same memory: what is written to one is in the other.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.linalg.diagonal(x)
    tensor([1., 4.])"""
    ...
def eig(A: Tensor, *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.linalg_eig:
    """Complex eigenvalues of square matrices in no order, and eigenvectors of length 1 as columns.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.linalg_eig
        A named tuple of tensors: eigenvalues, eigenvectors.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> [t.shape for t in opweave.linalg.eig(x)]
    [opweave.Size([2]), opweave.Size([2, 2])]"""
    ...
def eigh(A: Tensor, UPLO: Literal['L', 'U'] = 'L', *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.linalg_eigh:
    """Eigenvalues and eigenvectors of Hermitian matrices.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    UPLO : {'L', 'U'}, default 'L'
        Which triangle is read, the lower or the upper one.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.linalg_eigh
        A named tuple of tensors: eigenvalues, eigenvectors.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 1.0], [1.0, 3.0]])
    >>> [t.shape for t in opweave.linalg.eigh(x)]
    [opweave.Size([2]), opweave.Size([2, 2])]"""
    ...
def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Complex eigenvalues of square matrices, in no order.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.linalg.eigvals(x).shape
    opweave.Size([2])"""
    ...
def eigvalsh(A: Tensor, UPLO: Literal['L', 'U'] = 'L', *, out: Tensor | None = None) -> Tensor:
    """Eigenvalues of Hermitian matrices, in ascending order.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    UPLO : {'L', 'U'}, default 'L'
        Which triangle is read, the lower or the upper one.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 1.0], [1.0, 3.0]])
    >>> opweave.linalg.eigvalsh(x).shape
    opweave.Size([2])"""
    ...
def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of H_1 H_2 ... of reflections as LAPACK keeps them.

    Parameters
    ----------
    input : Tensor
        The tensor.
    tau : Tensor
        The factors of the reflections.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0], [0.5]])
    >>> y = opweave.tensor([1.0])
    >>> opweave.linalg.householder_product(x, y).shape
    opweave.Size([2, 1])"""
    ...
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> opweave.linalg.inv(x)
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])"""
    ...
def inv_ex(A: Tensor, *, check_errors: Bool = False, out: _tuple[Tensor, Tensor] | None = None) -> return_types.linalg_inv_ex:
    """The inverse of square matrices.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    check_errors : bool, default False
        Whether to raise where it fails, instead of saying so in `info`.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.linalg_inv_ex
        A named tuple of tensors: inverse, info.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> opweave.linalg.inv_ex(x)
    opweave.return_types.linalg_inv_ex(
    inverse=tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]]),
    info=tensor(0, dtype=opweave.int32))"""
    ...
def ldl_factor(A: Tensor, *, hermitian: Bool = False, out: _tuple[Tensor, Tensor] | None = None) -> return_types.linalg_ldl_factor:
    """`linalg_ldl_factor_ex` without the info.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    hermitian : bool, default False
        Whether the matrices are Hermitian.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.linalg_ldl_factor
        A named tuple of tensors: LD, pivots.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 1.0], [1.0, 3.0]])
    >>> [t.shape for t in opweave.linalg.ldl_factor(x)]
    [opweave.Size([2, 2]), opweave.Size([2])]"""
    ...
def ldl_factor_ex(A: Tensor, *, hermitian: Bool = False, check_errors: Bool = False, out: _tuple[Tensor, Tensor, Tensor] | None = None) -> return_types.linalg_ldl_factor_ex:
    """The compact L D L^T, or L D L^H, of symmetric or Hermitian matrices (Bunch & Kaufman), of the lower triangle.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    hermitian : bool, default False
        Whether the matrices are Hermitian.
    check_errors : bool, default False
        Whether to raise where it fails, instead of saying so in `info`.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.linalg_ldl_factor_ex
        A named tuple of tensors: LD, pivots, info.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 1.0], [1.0, 3.0]])
    >>> [t.shape for t in opweave.linalg.ldl_factor_ex(x)]
    [opweave.Size([2, 2]), opweave.Size([2]), opweave.Size([])]"""
    ...
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: Bool = False, out: Tensor | None = None) -> Tensor:
    """X with A X = B, from the factorization of A.

    Parameters
    ----------
    LD : Tensor
        The factorization, as `linalg.ldl_factor` gives it.
    pivots : Tensor
        The rows that were swapped.
    B : Tensor
        The right side: matrices, or vectors where that is clear.
    hermitian : bool, default False
        Whether the matrices are Hermitian.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 0.0], [0.5, 2.5]])
    >>> y = opweave.tensor([1, 2], dtype=opweave.int32)
    >>> z = opweave.tensor([[2.0], [1.0]])
    >>> opweave.linalg.ldl_solve(x, y, z).shape
    opweave.Size([2, 1])"""
    ...
def lstsq(A: Tensor, b: Tensor, rcond: Float | None = None, *, driver: Literal['gels', 'gelsy', 'gelsd', 'gelss'] | None = None, out: _tuple[Tensor, Tensor, Tensor, Tensor] | None = None) -> return_types.linalg_lstsq:
    """X of least norm that makes the norm of A X - B least, by singular values.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    b : Tensor
        The right side.
    rcond : float, optional
        The relative tolerance.
    driver : {'gels', 'gelsy', 'gelsd', 'gelss'}, optional
        LAPACK's routine; for the signature's sake.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.linalg_lstsq
        A named tuple of tensors: solution, residuals, rank, singular_values.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    >>> y = opweave.tensor([[1.0], [4.0], [9.0]])
    >>> opweave.linalg.lstsq(x, y)
    opweave.return_types.linalg_lstsq(
    solution=tensor([[1.],
            [2.]]),
    residuals=tensor([]),
    rank=tensor(2),
    singular_values=tensor([]))"""
    ...
def lu(A: Tensor, *, pivot: Bool = True, out: _tuple[Tensor, Tensor, Tensor] | None = None) -> return_types.linalg_lu:
    """P, a lower triangular L with ones on its diagonal, and an upper triangular U with A = P L U.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    pivot : bool, default True
        Whether rows are swapped.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.linalg_lu
        A named tuple of tensors: P, L, U.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> [t.shape for t in opweave.linalg.lu(x)]
    [opweave.Size([2, 2]), opweave.Size([2, 2]), opweave.Size([2, 2])]"""
    ...
def lu_factor(A: Tensor, *, pivot: Bool = True, out: _tuple[Tensor, Tensor] | None = None) -> return_types.linalg_lu_factor:
    """`linalg_lu_factor_ex` without the info.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    pivot : bool, default True
        Whether rows are swapped.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.linalg_lu_factor
        A named tuple of tensors: LU, pivots.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> [t.shape for t in opweave.linalg.lu_factor(x)]
    [opweave.Size([2, 2]), opweave.Size([2])]"""
    ...
def lu_factor_ex(A: Tensor, *, pivot: Bool = True, check_errors: Bool = False, out: _tuple[Tensor, Tensor, Tensor] | None = None) -> return_types.linalg_lu_factor_ex:
    """L below the diagonal of LU and U above, with the swapped rows, counted from 1 (Golub & Van Loan 3.4).

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    pivot : bool, default True
        Whether rows are swapped.
    check_errors : bool, default False
        Whether to raise where it fails, instead of saying so in `info`.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.linalg_lu_factor_ex
        A named tuple of tensors: LU, pivots, info.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> [t.shape for t in opweave.linalg.lu_factor_ex(x)]
    [opweave.Size([2, 2]), opweave.Size([2]), opweave.Size([])]"""
    ...
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: Bool = True, adjoint: Bool = False, out: Tensor | None = None) -> Tensor:
    """X with A X = B or X A = B, from the factorization of A; or with A^H.

    Parameters
    ----------
    LU : Tensor
        The factorization, as `linalg.lu_factor` gives it.
    pivots : Tensor
        The rows that were swapped.
    B : Tensor
        The right side: matrices, or vectors where that is clear.
    left : bool, default True
        Whether the matrix stands on the left of the unknown.
    adjoint : bool, default False
        Whether to solve with the transposed and conjugated matrix.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[3.0, 4.0], [0.5, 2.0]])
    >>> y = opweave.tensor([1, 2], dtype=opweave.int32)
    >>> z = opweave.tensor([[3.0], [2.0]])
    >>> opweave.linalg.lu_solve(x, y, z)
    tensor([[0.6667],
            [0.2500]])"""
    ...
def matmul(A: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; see `opweave.matmul`.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> opweave.linalg.matmul(x, y)
    tensor([[2., 1.],
            [4., 3.]])"""
    ...
def matrix_exp(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The exponential of square matrices, by scaling and squaring (Higham 2005).

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[0.0, 1.0], [0.0, 0.0]])
    >>> opweave.linalg.matrix_exp(x)
    tensor([[1., 1.],
            [0., 1.]])"""
    ...
@overload
def matrix_norm(A: Tensor, ord: Number, dim: Sequence[Int] = ..., keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def matrix_norm(A: Tensor, ord: Number, axis: Sequence[Int] = ..., keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def matrix_norm(A: Tensor, ord: Literal['fro', 'nuc'] = 'fro', dim: Sequence[Int] = ..., keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def matrix_norm(A: Tensor, ord: Literal['fro', 'nuc'] = 'fro', axis: Sequence[Int] = ..., keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """A norm of matrices: Frobenius, nuclear, or the largest or least sum or singular value.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    ord : number or {'fro', 'nuc'}, default 'fro'
        Which norm.
    dim : sequence of int, default (-2, -1)
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    dtype : dtype, optional
        The element type of the result.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.linalg.matrix_norm(x)
    tensor(5.4772)"""
    ...
def matrix_power(A: Tensor, n: Int, *, out: Tensor | None = None) -> Tensor:
    """The n-th power of square matrices, by repeated squaring; of the inverse where n is negative.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    n : int
        A whole number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> opweave.linalg.matrix_power(x, 2)
    tensor([[ 7., 10.],
            [15., 22.]])"""
    ...
@overload
def matrix_rank(A: Tensor, *, atol: Float | None = None, rtol: Float | None = None, hermitian: Bool = False, out: Tensor | None = None) -> Tensor: ...
@overload
def matrix_rank(input: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: Bool = False, out: Tensor | None = None) -> Tensor: ...
@overload
def matrix_rank(A: Tensor, tol: Float, hermitian: Bool = False, *, out: Tensor | None = None) -> Tensor: ...
@overload
def matrix_rank(input: Tensor, tol: Tensor, hermitian: Bool = False, *, out: Tensor | None = None) -> Tensor:
    """How many singular values of a matrix count, by an absolute and a relative tolerance.

    Parameters
    ----------
    input : Tensor, optional
        The tensor.
    A : Tensor, optional
        Matrices in the last two dimensions; all others are a batch.
    tol : float or Tensor, optional
        The tolerance.
    hermitian : bool, default False
        Whether the matrices are Hermitian.
    atol : float or Tensor, optional
        The absolute tolerance.
    rtol : float or Tensor, optional
        The relative tolerance.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [2.0, 4.0]])
    >>> opweave.linalg.matrix_rank(x)
    tensor(1)"""
    ...
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of matrices in the order of the fewest multiplications; the first and last may be vectors.

    Parameters
    ----------
    tensors : sequence of Tensor
        The tensors.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> y = opweave.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> opweave.linalg.multi_dot([x, y])
    tensor([[2., 1.],
            [4., 3.]])"""
    ...
@overload
def norm(A: Tensor, ord: Number | None = None, dim: Int | Sequence[Int] | None = None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def norm(A: Tensor, ord: Number | None = None, axis: Int | Sequence[Int] | None = None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def norm(A: Tensor, ord: Literal['fro', 'nuc'], dim: Int | Sequence[Int] | None = None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def norm(A: Tensor, ord: Literal['fro', 'nuc'], axis: Int | Sequence[Int] | None = None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """A vector norm, or a matrix norm where `ord` is given and there are two dimensions.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    ord : number or {'fro', 'nuc'}, optional
        Which norm.
    dim : int or sequence of int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    dtype : dtype, optional
        The element type of the result.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.linalg.norm(x)
    tensor(3.7417)"""
    ...
@overload
def pinv(A: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: Bool = False, out: Tensor | None = None) -> Tensor: ...
@overload
def pinv(A: Tensor, *, atol: Float | None = None, rtol: Float | None = None, hermitian: Bool = False, out: Tensor | None = None) -> Tensor: ...
@overload
def pinv(A: Tensor, rcond: Float, hermitian: Bool = False, *, out: Tensor | None = None) -> Tensor: ...
@overload
def pinv(A: Tensor, rcond: Tensor, hermitian: Bool = False, *, out: Tensor | None = None) -> Tensor:
    """The Moore-Penrose inverse, by singular values above the larger of atol and rtol times the largest.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    rcond : float or Tensor, optional
        The relative tolerance.
    hermitian : bool, default False
        Whether the matrices are Hermitian.
    atol : Tensor or float, optional
        The absolute tolerance.
    rtol : Tensor or float, optional
        The relative tolerance.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> opweave.linalg.pinv(x)
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])"""
    ...
def qr(A: Tensor, mode: Literal['reduced', 'complete', 'r'] = 'reduced', *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.linalg_qr:
    """Q with orthonormal columns and an upper triangular R with A = Q R.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    mode : {'reduced', 'complete', 'r'}, default 'reduced'
        How it is done.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.linalg_qr
        A named tuple of tensors: Q, R.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> [t.shape for t in opweave.linalg.qr(x)]
    [opweave.Size([2, 2]), opweave.Size([2, 2])]"""
    ...
def slogdet(A: Tensor, *, out: _tuple[Tensor, Tensor] | None = None) -> return_types.linalg_slogdet:
    """The sign (a phase, for complex numbers) and the logarithm of the magnitude of determinants.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.linalg_slogdet
        A named tuple of tensors: sign, logabsdet.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> opweave.linalg.slogdet(x)
    opweave.return_types.linalg_slogdet(
    sign=tensor(1.),
    logabsdet=tensor(2.0794))"""
    ...
def solve(A: Tensor, B: Tensor, *, left: Bool = True, out: Tensor | None = None) -> Tensor:
    """X with A X = B, or X A = B, for square invertible matrices A.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    B : Tensor
        The right side: matrices, or vectors where that is clear.
    left : bool, default True
        Whether the matrix stands on the left of the unknown.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> y = opweave.tensor([2.0, 2.0])
    >>> opweave.linalg.solve(x, y)
    tensor([1.0000, 0.5000])"""
    ...
def solve_ex(A: Tensor, B: Tensor, *, left: Bool = True, check_errors: Bool = False, out: _tuple[Tensor, Tensor] | None = None) -> return_types.linalg_solve_ex:
    """X with A X = B, or X A = B.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    B : Tensor
        The right side: matrices, or vectors where that is clear.
    left : bool, default True
        Whether the matrix stands on the left of the unknown.
    check_errors : bool, default False
        Whether to raise where it fails, instead of saying so in `info`.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.linalg_solve_ex
        A named tuple of tensors: result, info.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> y = opweave.tensor([2.0, 2.0])
    >>> opweave.linalg.solve_ex(x, y)
    opweave.return_types.linalg_solve_ex(
    result=tensor([1.0000, 0.5000]),
    info=tensor(0, dtype=opweave.int32))"""
    ...
def solve_triangular(A: Tensor, B: Tensor, *, upper: Bool, left: Bool = True, unitriangular: Bool = False, out: Tensor | None = None) -> Tensor:
    """X with A X = B, or X A = B, for triangular matrices, of which the other triangle is not read.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    B : Tensor
        The right side: matrices, or vectors where that is clear.
    upper : bool
        Whether the upper triangle is meant.
    left : bool, default True
        Whether the matrix stands on the left of the unknown.
    unitriangular : bool, default False
        Whether the diagonal is 1, and not read.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 1.0], [0.0, 4.0]])
    >>> y = opweave.tensor([[3.0], [4.0]])
    >>> opweave.linalg.solve_triangular(x, y, upper=True)
    tensor([[1.],
            [1.]])"""
    ...
def svd(A: Tensor, full_matrices: Bool = True, *, driver: Literal['gesvd', 'gesvdj', 'gesvda'] | None = None, out: _tuple[Tensor, Tensor, Tensor] | None = None) -> return_types.linalg_svd:
    """U, S and V^H with A = U diag(S) V^H.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    full_matrices : bool, default True
        Whether the matrices of vectors are square.
    driver : {'gesvd', 'gesvdj', 'gesvda'}, optional
        LAPACK's routine; for the signature's sake.
    out : tuple of Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    return_types.linalg_svd
        A named tuple of tensors: U, S, Vh.

    Examples
    --------
    >>> x = opweave.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> [t.shape for t in opweave.linalg.svd(x, full_matrices=False)]
    [opweave.Size([2, 2]), opweave.Size([2]), opweave.Size([2, 3])]"""
    ...
def svdvals(A: Tensor, *, driver: Literal['gesvd', 'gesvdj', 'gesvda'] | None = None, out: Tensor | None = None) -> Tensor:
    """Singular values, in descending order.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    driver : {'gesvd', 'gesvdj', 'gesvda'}, optional
        LAPACK's routine; for the signature's sake.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([[2.0, 0.0], [0.0, 1.0]])
    >>> opweave.linalg.svdvals(x).shape
    opweave.Size([2])"""
    ...
def tensorinv(A: Tensor, ind: Int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a tensor as a matrix from its last dimensions to its first `ind`.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    ind : int, default 2
        How many dimensions are the rows.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.eye(4).view(4, 2, 2)
    >>> opweave.linalg.tensorinv(x, 1).shape
    opweave.Size([2, 2, 4])"""
    ...
@overload
def tensorsolve(A: Tensor, other: Tensor | Number, dims: Sequence[Int] | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def tensorsolve(A: Tensor, other: Tensor | Number, axis: Sequence[Int] | None = None, *, out: Tensor | None = None) -> Tensor:
    """X with tensordot(self, X) = other; `dims` of self are moved to the end first.

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    other : Tensor or number
        The other tensor; shapes broadcast.
    dims : sequence of int, optional
        The dimensions, counted from the end where negative.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.eye(4).view(4, 2, 2)
    >>> y = opweave.ones(4)
    >>> opweave.linalg.tensorsolve(x, y).shape
    opweave.Size([2, 2])"""
    ...
def vander(x: Tensor, *, N: Int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element (as many as elements, if not given) in a new last dimension.

    Parameters
    ----------
    x : Tensor
        The tensor.
    N : int, optional
        How many powers.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.linalg.vander(x)
    tensor([[1., 1., 1.],
            [1., 2., 4.],
            [1., 3., 9.]])"""
    ...
@overload
def vecdot(x: Tensor, y: Tensor, *, dim: Int = -1, out: Tensor | None = None) -> Tensor: ...
@overload
def vecdot(x: Tensor, y: Tensor, *, axis: Int = -1, out: Tensor | None = None) -> Tensor:
    """Σ conj(x) y over a dimension, of tensors that are broadcast.

    Parameters
    ----------
    x : Tensor
        The tensor.
    y : Tensor
        The values.
    dim : int, default -1
        The dimension, counted from the end where negative.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> y = opweave.tensor([4.0, 5.0, 6.0])
    >>> opweave.linalg.vecdot(x, y)
    tensor(32.)"""
    ...
@overload
def vector_norm(A: Tensor, ord: Number = 2, dim: Int | Sequence[Int] | None = None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def vector_norm(A: Tensor, ord: Number = 2, axis: Int | Sequence[Int] | None = None, keepdim: Bool = False, *, dtype: DTypeLike | None = None, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """The p-norm of all elements, or over dimensions: (Σ |x|^p)^(1/p).

    Parameters
    ----------
    A : Tensor
        Matrices in the last two dimensions; all others are a batch.
    ord : number, default 2
        Which norm.
    dim : int or sequence of int, optional
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    dtype : dtype, optional
        The element type of the result.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([3.0, 4.0])
    >>> opweave.linalg.vector_norm(x)
    tensor(5.)"""
    ...

__all__ = ['LinAlgError', 'cholesky', 'cholesky_ex', 'cond', 'cross', 'det', 'diagonal', 'eig', 'eigh', 'eigvals', 'eigvalsh', 'householder_product', 'inv', 'inv_ex', 'ldl_factor', 'ldl_factor_ex', 'ldl_solve', 'lstsq', 'lu', 'lu_factor', 'lu_factor_ex', 'lu_solve', 'matmul', 'matrix_exp', 'matrix_norm', 'matrix_power', 'matrix_rank', 'multi_dot', 'norm', 'pinv', 'qr', 'slogdet', 'solve', 'solve_ex', 'solve_triangular', 'svd', 'svdvals', 'tensorinv', 'tensorsolve', 'vander', 'vecdot', 'vector_norm']
