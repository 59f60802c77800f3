"""Parametrizations that models use: weights with a norm of their own, and of spectral norm 1."""

from __future__ import annotations

from typing import Any

from opweave.nn import functional as F
from opweave.nn.modules.module import Module
from opweave.nn.utils import parametrize
from opweave.registry.autograd.mode import no_grad
from opweave.registry.errors import ArgumentError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

__all__ = ["spectral_norm", "weight_norm"]

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
    """
    weight: Any = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ArgumentError(f"Module '{type(module).__name__}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def __dir__() -> list[str]:
    return sorted(__all__)
