"""Distributions of matrices: Wishart's, of covariances, and that of Lewandowski, Kurowicka and Joe, of correlations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opweave.distributions import constraints
from opweave.distributions.continuous import Beta, Chi2
from opweave.distributions.distribution import Distribution, aten, broadcast_all, concrete
from opweave.distributions.exponential_family import ExponentialFamily
from opweave.distributions.vectors import Factored, factor_of
from opweave.registry.autograd.mode import no_grad
from opweave.registry.errors import DomainError, ShapeError
from opweave.registry.promote import broadcast_shapes
from opweave.registry.tensor import Tensor, describe

_EPS = {8: 2.0**-52, 4: 2.0**-23}
_TINY = {8: 2.0**-1022, 4: 2.0**-126}


def multi_digamma(x: Any, p: int) -> Any:
    """The derivative of `mvlgamma`."""
    steps = aten.arange.default(p, dtype=x._dtype, device=x._device) / 2
    return (x.unsqueeze(-1) - steps).digamma().sum(-1)


class Wishart(Factored, ExponentialFamily):
    """Covariances of `df` normal vectors; their own covariance is given as itself, its inverse, or its lower factor.

    Parameters
    ----------
    df : Tensor or float
        Degrees of freedom, more than the size of a vector less 1.
    covariance_matrix, precision_matrix, scale_tril : Tensor
        One of them.

    Examples
    --------
    >>> d = opweave.distributions.Wishart(opweave.tensor(3.0), opweave.eye(2))
    >>> d.mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    has_rsample = True
    support = constraints.positive_definite  # type: ignore[assignment]
    _mean_carrier_measure = 0  # type: ignore[assignment]

    @property
    def arg_constraints(self) -> Any:  # type: ignore[override]  # the degrees of freedom depend on the sizes
        """What parameters must be."""
        return {
            "covariance_matrix": constraints.positive_definite, "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky, "df": constraints.greater_than(self._event_shape[-1] - 1),
        }  # fmt: skip

    def __init__(
        self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        present = {name: value for name, value in given.items() if value is not None}
        if len(present) != 1:
            raise DomainError(
                "Wishart: give one of covariance_matrix, precision_matrix, scale_tril", got=", ".join(present)
            )
        ((name, matrix),) = present.items()
        if matrix.ndim < 2 or matrix._sizes[-1] != matrix._sizes[-2]:
            raise ShapeError(f"Wishart: {name} is a square matrix, or a batch of them", got=describe(matrix))
        size = matrix._sizes[-1]
        df = df if isinstance(df, Tensor) else aten.full.default([], df, dtype=matrix._dtype, device=matrix._device)
        if concrete(df) and bool((df <= size - 1).any()):
            raise DomainError(
                f"Wishart: df is more than the size of a vector less 1, which is {size - 1}", got=describe(df),
                hint="df=size + 1, for instance",
            )  # fmt: skip
        batch = broadcast_shapes("Wishart", matrix._sizes[:-2], df._sizes)
        self.df = df.expand(batch)
        matrix = matrix.expand((*batch, size, size))
        self.__dict__[name] = matrix
        super().__init__(batch, (size, size), validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    @property
    def _count(self) -> int:
        return self._event_shape[-1]

    @property
    def mean(self) -> Any:
        return self.df.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df - self._count - 1
        factor = aten.where.self(factor <= 0, math.nan, factor)
        return factor.view((*self._batch_shape, 1, 1)) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        matrix = self.covariance_matrix
        diagonal = matrix.diagonal(dim1=-2, dim2=-1)
        return self.df.view((*self._batch_shape, 1, 1)) * (matrix**2 + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape: Sequence[int] = (), max_try_correction: int | None = None) -> Any:
        """Values that are differentiable in the parameters, by Bartlett's decomposition.

        Parameters
        ----------
        sample_shape : sequence of int
            How many for each distribution of the batch.
        max_try_correction : int, optional
            For the signature's sake: no draw is corrected.
        """
        sizes, like = self._extended_shape(sample_shape), self._unbroadcasted_scale_tril
        steps = aten.arange.default(self._count, dtype=like._dtype, device=like._device)
        squares = Chi2(self.df.unsqueeze(-1) - steps, validate_args=False).rsample(sample_shape)
        lower = aten.randn.default(sizes, dtype=like._dtype, device=like._device).tril(-1)
        noise = lower + aten.diag_embed.default(squares.sqrt().clamp(min=_EPS[like._dtype.itemsize]))
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def half_log_det(self) -> Any:
        """Half of the logarithm of the determinant of the covariance."""
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        df, p = self.df, self._count
        size = df * (p * math.log(2) / 2 + self.half_log_det()) + aten.mvlgamma.default(df / 2, p)
        factor = (
            self._unbroadcasted_scale_tril.expand((*value._sizes[:-2], p, p))
            if value.ndim > self._unbroadcasted_scale_tril.ndim
            else self._unbroadcasted_scale_tril
        )
        trace = aten.cholesky_solve.default(value, factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (df - p - 1) / 2 * aten.linalg_slogdet.default(value)[1] - trace / 2 - size

    def entropy(self) -> Any:
        df, p = self.df, self._count
        size = (p + 1) * (p * math.log(2) / 2 + self.half_log_det()) + aten.mvlgamma.default(df / 2, p)
        return size - (df - p - 1) / 2 * multi_digamma(df / 2, p) + df * p / 2

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return -self.precision_matrix / 2, (self.df - self._count - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        p = self._count
        half = y + (p + 1) / 2
        size = p * math.log(2) - aten.linalg_slogdet.default(-2 * x)[1]
        return half * size + aten.mvlgamma.default(half, p)


class LKJCholesky(Distribution):
    """Lower factors of correlations, the nearer to none the larger `concentration` is; 1 makes all of them as likely.

    Draws are made row by row, by the onion method (Lewandowski, Kurowicka and Joe, 2009).

    Parameters
    ----------
    dim : int
        The size of the matrices.
    concentration : Tensor or float
        The density of a correlation is in proportion to its determinant to the power of this less 1.

    Examples
    --------
    >>> factor = opweave.distributions.LKJCholesky(3, 0.5).sample()
    >>> opweave.allclose((factor @ factor.mT).diagonal(), opweave.ones(3))
    True
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky  # type: ignore[assignment]

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise DomainError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.", got=repr(dim),
                hint="LKJCholesky(3)",
            )  # fmt: skip
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration._sizes, (dim, dim), validate_args=validate_args)

    def _expanded(self, batch_shape: Sequence[int]) -> Any:
        return LKJCholesky(self.dim, self.concentration.expand(batch_shape), validate_args=False)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        sizes, like = self._extended_shape(sample_shape), self.concentration
        with no_grad():
            rows = (aten.arange.default(self.dim, dtype=like._dtype, device=like._device) - 1).clamp(min=0)
            others = (like + 0.5 * (self.dim - 2)).unsqueeze(-1) - 0.5 * rows
            # Of the k elements beside the diagonal the sum of the squares is of Beta(k / 2, ·).
            length = Beta(0.5 * rows + 0.5, others, validate_args=False).sample(sample_shape).unsqueeze(-1)
            noise = aten.randn.default(sizes, dtype=like._dtype, device=like._device).tril(-1)
            # The first row has no elements but the diagonal.
            norm = noise.norm(dim=-1, keepdim=True)
            lower = length.sqrt() * noise / aten.where.self(norm == 0, 1.0, norm)
            rest = (1 - (lower**2).sum(-1)).clamp(min=_TINY[like._dtype.itemsize])
            return lower + aten.diag_embed.default(rest.sqrt())

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        # The determinant is the product of the squares of the diagonal, and the derivative of the product of a factor
        # with itself a product of its powers.
        rows = aten.arange.start(2, self.dim + 1, device=self.concentration._device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - rows
        density = (order * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log()).sum(-1)
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        return density - (0.5 * n * math.log(math.pi) + aten.mvlgamma.default(alpha - 0.5, n) - alpha.lgamma() * n)
