"""Parametrizations that models use: weights with a norm of their own, and of spectral norm 1."""

from __future__ import annotations

from typing import Any

from opweave.nn import functional as F
from opweave.nn.modules.module import Module
from opweave.nn.utils import parametrize
from opweave.registry.autograd.mode import no_grad
from opweave.registry.errors import ArgumentError, UnsupportedError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

aten = ops.aten


def norm_of(v: Tensor, dim: int) -> Tensor:
    """The norms over all dimensions but one, kept; over all of them for -1."""
    if dim == -1:
        return aten.linalg_vector_norm.default(v, 2)
    others = [d for d in range(v.ndim) if d != dim]
    return aten.linalg_vector_norm.default(v, 2, others, True)


def rows_of(weight: Tensor, dim: int) -> Tensor:
    """A weight as a matrix with a row for each index of a dimension."""
    order = [dim, *(d for d in range(weight.ndim) if d != dim)]
    turned = weight if dim == 0 else aten.permute.default(weight, order)
    return aten.reshape.default(turned, [turned._sizes[0], -1])


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """g v / |v|."""
        return aten.mul.Tensor(weight_v, aten.div.Tensor(weight_g, norm_of(weight_v, self.dim)))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Norms and vectors."""
        return norm_of(weight, self.dim), aten.clone.default(weight)


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """A weight as its norms, `original0`, times its direction, `original1` (Salimans & Kingma 2016).

    Parameters
    ----------
    module : Module
        Whose weight it is.
    name : str
        Of the weight.
    dim : int or None
        Norms are over all other dimensions; None for one norm.

    Examples
    --------
    >>> layer = opweave.nn.utils.parametrizations.weight_norm(opweave.nn.Linear(3, 2))
    >>> sorted(name for name, _ in layer.named_parameters())
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    return parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got {n_power_iterations}")
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(f"Dimension out of range for a weight of {weight.ndim} dimensions: {dim}")
        self.dim = dim if dim >= 0 else dim + weight.ndim
        self.eps = eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            with no_grad():
                matrix = rows_of(weight, self.dim)
                rows, columns = matrix._sizes
                u, v = aten.new_empty.default(matrix, [rows]), aten.new_empty.default(matrix, [columns])
                self.register_buffer("_u", F.normalize(aten.normal_.default(u, 0, 1), dim=0, eps=eps))
                self.register_buffer("_v", F.normalize(aten.normal_.default(v, 0, 1), dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _iterate(self, matrix: Tensor, times: int) -> None:
        """Bring both vectors nearer to the singular ones of the largest singular value, in place."""
        with no_grad():
            for _ in range(times):
                u = F.normalize(aten.mv.default(matrix, self._v), dim=0, eps=self.eps)
                aten.copy_.default(self._u, u)
                v = F.normalize(aten.mv.default(aten.t.default(matrix), self._u), dim=0, eps=self.eps)
                aten.copy_.default(self._v, v)

    def forward(self, weight: Tensor) -> Tensor:
        """The weight over its largest singular value; in training after a step that finds it better."""
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = rows_of(weight, self.dim)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u, v = aten.clone.default(self._u), aten.clone.default(self._v)
        return aten.div.Tensor(weight, aten.dot.default(u, aten.mv.default(matrix, v)))

    def right_inverse(self, value: Tensor) -> Tensor:
        """The value: any weight may be the original."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """A weight over its largest singular value, which is found by iteration (Miyato et al. 2018).

    Parameters
    ----------
    module : Module
        Whose weight it is.
    name : str
        Of the weight.
    n_power_iterations : int
        Steps of the iteration at each use in training.
    eps : float
        Against divisions by zero.
    dim : int, optional
        The outputs; 1 for transposed convolutions and 0 for others by default.

    Examples
    --------
    >>> layer = opweave.nn.utils.parametrizations.spectral_norm(opweave.nn.Linear(3, 2), n_power_iterations=50)
    >>> round(opweave.linalg.matrix_norm(layer.weight, 2).item(), 2)
    1.0
    """
    weight: Any = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ArgumentError(f"Module '{type(module).__name__}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def _orthonormal(matrix: Any) -> Any:
    """The orthogonal factor of a matrix, whose other factor has a positive diagonal."""
    reflectors, tau = aten.geqrf.default(matrix)
    factor = aten.linalg_householder_product.default(reflectors, tau)
    return factor * reflectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _is_orthonormal(matrix: Any) -> bool:
    rows, columns = matrix._sizes[-2:]
    eye = aten.eye.default(columns, dtype=matrix._dtype, device=matrix._device)
    eps = 10 * rows * (2.0**-52 if matrix._dtype.name in ("float64", "complex128") else 2.0**-23)
    return bool(
        aten.allclose.default(matrix.mH @ matrix, eye.expand((*matrix._sizes[:-2], columns, columns)), 1e-5, eps)
    )


class _Orthogonal(Module):
    base: Any

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if weight._dtype.is_complex and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = tuple(weight._sizes), orthogonal_map
        self.based = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, weight: Any) -> Any:
        """A matrix with orthonormal columns, or rows where there are fewer of them."""
        wide = weight._sizes[-2] < weight._sizes[-1]
        x = weight.mT if wide else weight
        rows, columns = x._sizes[-2:]
        if self.orthogonal_map == "householder":
            lower = x.tril(-1)
            tau = 2.0 / (1.0 + (lower * lower).sum(-2))
            made = aten.linalg_householder_product.default(lower, tau)
            made = made * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            lower = x.tril()
            if rows != columns:
                rest = aten.new_zeros.default(lower, [*lower._sizes[:-1], rows - columns])
                lower = aten.cat.default([lower, rest], -1)
            skew = lower - lower.mH
            if self.orthogonal_map == "matrix_exp":
                made = aten.linalg_matrix_exp.default(skew)
            else:
                eye = aten.eye.default(rows, dtype=skew._dtype, device=skew._device)
                made = aten.linalg_solve.default(eye - 0.5 * skew, eye + 0.5 * skew)
            made = made[..., :columns]
        if self.based:
            made = self.base @ made
        return made.mT if wide else made

    def right_inverse(self, value: Any) -> Any:
        """What gives the orthogonal matrix nearest to a value, or, without a base, its reflectors."""
        if tuple(value._sizes) != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {value.shape}."
            )
        wide = value._sizes[-2] < value._sizes[-1]
        x = value.mT if wide else value
        rows, columns = x._sizes[-2:]
        if not self.based:
            if self.orthogonal_map != "householder":
                raise UnsupportedError(
                    f"orthogonal: a weight cannot be assigned to {self.orthogonal_map} without a base",
                    hint="use_trivialization=True",
                )
            reflectors, tau = aten.geqrf.default(x)
            diagonal = reflectors.diagonal(dim1=-2, dim2=-1).sign()
            diagonal = aten.where.self(tau == 0.0, -diagonal, diagonal)
            found = (
                reflectors.tril(-1)
                + reflectors.triu(1)
                + aten.constant_pad_nd.default(aten.diag_embed.default(diagonal), [0, 0, 0, rows - columns])
            )
            return found.mT if wide else found
        if rows == columns:
            self.base = aten.clone.default(x) if _is_orthonormal(x) else _orthonormal(x)
        else:
            drawn = aten.randn.default([*x._sizes[:-1], rows - columns], dtype=x._dtype, device=x._device)
            self.base = _orthonormal(aten.cat.default([x, drawn], -1))
        count = min(self.shape[-2:])
        diagonal = aten.full.default([*self.shape[:-2], count], -1.0, dtype=x._dtype, device=x._device)
        square = aten.diag_embed.default(diagonal)
        return aten.constant_pad_nd.default(square, [0, self.shape[-1] - count, 0, self.shape[-2] - count])


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """A weight whose columns are orthonormal, or whose rows where there are fewer of them.

    Parameters
    ----------
    module : Module
        Whose weight it is.
    name : str
        Of the weight, of two dimensions or more.
    orthogonal_map : str, optional
        How it is made of numbers without constraints: "matrix_exp", "cayley" or "householder". By default the first
        for square and complex matrices, the last for others.
    use_trivialization : bool
        Whether it is a change of a base, which starts as the weight there is (Lezcano-Casado 2019).

    Raises
    ------
    ValueError
        If there is no such weight or map, or the map is not for complex numbers.

    Examples
    --------
    >>> linear = opweave.nn.utils.parametrizations.orthogonal(opweave.nn.Linear(3, 3))
    >>> opweave.allclose(linear.weight @ linear.weight.T, opweave.eye(3), atol=1e-5)
    True
    """
    weight: Any = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{type(module).__name__}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight._sizes[-2] == weight._sizes[-1] or weight._dtype.is_complex
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)


def __dir__() -> list[str]:
    return sorted(__all__)
