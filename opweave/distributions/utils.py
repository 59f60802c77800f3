"""What distributions are written with: the functions of `torch.distributions.utils`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opweave.distributions.discrete import clamp_probs
from opweave.distributions.distribution import aten, broadcast_all
from opweave.distributions.transform import sum_rightmost as _sum_rightmost  # PyTorch's name
from opweave.registry.autograd.mode import enable_grad
from opweave.registry.errors import DomainError, ShapeError
from opweave.registry.tensor import Tensor

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]  # fmt: skip
_ = _sum_rightmost


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any) -> Tensor:
    """Draws of the standard normal distribution."""
    return aten.randn.default(list(shape), dtype=dtype, device=device)


class lazy_property:  # PyTorch's name
    """An attribute that is computed when it is first asked for, with gradients, and kept on the object.

    Parameters
    ----------
    wrapped : callable
        The method that computes it.

    Examples
    --------
    >>> class Circle:
    ...     def __init__(self, radius):
    ...         self.radius = radius
    ...
    ...     @opweave.distributions.utils.lazy_property
    ...     def area(self):
    ...         return 3 * self.radius**2
    >>> Circle(2).area
    12
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__
        self.__name__ = wrapped.__name__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.__name__, value)
        return value


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The logarithms of probabilities, or, if `is_binary`, of their odds; 0 and 1 are moved by an epsilon.

    Parameters
    ----------
    probs : Tensor
        Between 0 and 1.
    is_binary : bool
        Whether each is that of an event by itself, and not one of several along the last dimension.

    Returns
    -------
    Tensor
        Of the same sizes.

    Examples
    --------
    >>> opweave.distributions.utils.probs_to_logits(opweave.tensor([0.5, 0.75]), is_binary=True)
    tensor([0.0000, 1.0986])
    """
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of logarithms of them, which need no norm, or, if `is_binary`, of logarithms of odds.

    Parameters
    ----------
    logits : Tensor
    is_binary : bool
        Whether each is that of an event by itself, and not one of several along the last dimension.

    Returns
    -------
    Tensor
        Of the same sizes.

    Examples
    --------
    >>> opweave.distributions.utils.logits_to_probs(opweave.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def _below(size: int, diag: int, device: Any) -> Tensor:
    """Where a square matrix has its lower triangle."""
    steps = aten.arange.default(size, device=device)
    return steps < steps.view(-1, 1) + (diag + 1)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The lower triangles of a batch of square matrices as vectors, row by row.

    Parameters
    ----------
    mat : Tensor
        Sizes (..., n, n).
    diag : int
        The last diagonal that belongs to the triangle.

    Returns
    -------
    Tensor
        Sizes (..., number of elements of the triangle).

    Raises
    ------
    DomainError
        If there is no such diagonal.

    Examples
    --------
    >>> opweave.distributions.utils.tril_matrix_to_vec(opweave.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1., 3., 4.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise DomainError(f"tril_matrix_to_vec: diag must be in [{-n}, {n - 1}]", got=str(diag))
    return mat[..., _below(n, diag, mat.device)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """A batch of square matrices whose lower triangles are vectors, row by row; all else is 0.

    Parameters
    ----------
    vec : Tensor
        Sizes (..., number of elements of a triangle).
    diag : int
        The last diagonal that belongs to the triangle.

    Returns
    -------
    Tensor
        Sizes (..., n, n).

    Raises
    ------
    ShapeError
        If a triangle of no matrix has so many elements.

    Examples
    --------
    >>> opweave.distributions.utils.vec_to_tril_matrix(opweave.tensor([1.0, 3.0, 4.0]))
    tensor([[1., 0.],
            [3., 4.]])
    """
    count, n = vec.shape[-1], abs(diag)
    while _triangle(n, diag) < count:
        n += 1
    if _triangle(n, diag) != count:
        raise ShapeError(
            f"vec_to_tril_matrix: a lower triangle up to diagonal {diag} has another number of elements",
            got=f"{count} elements",
            hint=f"{_triangle(n, diag)} make a matrix of {n} x {n}",
        )
    mat = aten.zeros.default([*vec.shape[:-1], n, n], dtype=vec.dtype, device=vec.device)
    mat[..., _below(n, diag, vec.device)] = vec
    return mat


def _triangle(n: int, diag: int) -> int:
    """How many elements the lower triangle of an n x n matrix has."""
    return sum(min(max(row + diag + 1, 0), n) for row in range(n))
