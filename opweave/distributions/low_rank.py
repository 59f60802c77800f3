"""The multivariate normal whose covariance is a diagonal and a product of few columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opweave.distributions import constraints
from opweave.distributions.distribution import Distribution, aten
from opweave.registry.errors import ShapeError
from opweave.registry.promote import broadcast_shapes
from opweave.registry.tensor import describe


class LowRankMultivariateNormal(Distribution):
    """Gauss's distribution of vectors with the covariance W Wᵀ + D, where W has few columns and D is a diagonal.

    Nothing is computed with matrices that are larger than W, but what is asked for: `scale_tril`, `covariance_matrix`
    and `precision_matrix`.

    Parameters
    ----------
    loc : Tensor
        The mean.
    cov_factor : Tensor
        W, of a row for each element.
    cov_diag : Tensor
        The diagonal of D.

    Examples
    --------
    >>> W = opweave.tensor([[1.0], [0.0]])
    >>> opweave.distributions.LowRankMultivariateNormal(opweave.zeros(2), W, opweave.ones(2)).covariance_matrix
    tensor([[2., 0.],
            [0., 1.]])
    """

    has_rsample = True
    arg_constraints = {
        "loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }  # fmt: skip
    support = constraints.real_vector  # type: ignore[assignment]

    def __init__(self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None) -> None:
        fits = loc.ndim >= 1 and cov_factor.ndim >= 2 and cov_diag.ndim >= 1
        if not fits or not loc._sizes[-1] == cov_factor._sizes[-2] == cov_diag._sizes[-1]:
            raise ShapeError(
                "LowRankMultivariateNormal: loc, cov_factor and cov_diag have as many elements, or rows, as a value",
                got=describe([loc, cov_factor, cov_diag]), hint="loc (n,), cov_factor (n, rank), cov_diag (n,)",
            )  # fmt: skip
        batch = broadcast_shapes(
            "LowRankMultivariateNormal", loc._sizes[:-1], cov_factor._sizes[:-2], cov_diag._sizes[:-1]
        )
        self.loc = loc.expand((*batch, loc._sizes[-1]))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor._sizes[-2:]))
        self.cov_diag = cov_diag.expand((*batch, loc._sizes[-1]))
        super().__init__(batch, loc._sizes[-1:], validate_args=validate_args)
        rank = cov_factor._sizes[-1]
        eye = aten.eye.default(rank, dtype=loc._dtype, device=loc._device)
        #: Of I + Wᵀ D⁻¹ W, from which the inverse and the determinant of the covariance follow.
        self._inner = aten.linalg_cholesky.default(eye + self.scaled_factor() @ self.cov_factor)

    def scaled_factor(self) -> Any:
        """Wᵀ D⁻¹."""
        return self.cov_factor.mT / self.cov_diag.unsqueeze(-2)

    def solved(self, value: Any) -> Any:
        """What the square of a vector of Wᵀ D⁻¹ times columns has in the inverse of the covariance, as factors."""
        inner = self._inner
        batch = broadcast_shapes("LowRankMultivariateNormal", inner._sizes[:-2], value._sizes[:-2])
        return aten.linalg_solve_triangular.default(
            inner.expand((*batch, *inner._sizes[-2:])), value.expand((*batch, *value._sizes[-2:])), upper=False
        )

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return (self.cov_factor**2).sum(-1) + self.cov_diag

    @property
    def scale_tril(self) -> Any:
        """The lower factor of the covariance."""
        # Of D^-½ (W Wᵀ + D) D^-½, none of whose eigenvalues is less than 1.
        root = self.cov_diag.sqrt().unsqueeze(-1)
        scaled = self.cov_factor / root
        eye = aten.eye.default(self._event_shape[0], dtype=root._dtype, device=root._device)
        return root * aten.linalg_cholesky.default(scaled @ scaled.mT + eye)

    @property
    def covariance_matrix(self) -> Any:
        """W Wᵀ + D."""
        return self.cov_factor @ self.cov_factor.mT + aten.diag_embed.default(self.cov_diag)

    @property
    def precision_matrix(self) -> Any:
        """The inverse of the covariance, by Woodbury's identity."""
        part = self.solved(self.scaled_factor())
        return aten.diag_embed.default(self.cov_diag.reciprocal()) - part.mT @ part

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        sizes, like = self._extended_shape(sample_shape), self.loc
        rank = self.cov_factor._sizes[-1]
        few = aten.randn.default((*sizes[:-1], rank, 1), dtype=like._dtype, device=like._device)
        many = aten.randn.default(sizes, dtype=like._dtype, device=like._device)
        return self.loc + (self.cov_factor @ few).squeeze(-1) + self.cov_diag.sqrt() * many

    def log_det(self) -> Any:
        """The logarithm of the determinant of the covariance."""
        return 2 * self._inner.diagonal(dim1=-2, dim2=-1).log().sum(-1) + self.cov_diag.log().sum(-1)

    def distance(self, away: Any) -> Any:
        """The squares of Mahalanobis' distances: away · covariance⁻¹ · away."""
        part = self.solved(self.scaled_factor() @ away.unsqueeze(-1))
        return (away**2 / self.cov_diag).sum(-1) - (part**2).flatten(-2).sum(-1)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        size = self._event_shape[0] * math.log(2 * math.pi) + self.log_det()
        return -0.5 * (size + self.distance(value - self.loc))

    def entropy(self) -> Any:
        return 0.5 * (self._event_shape[0] * (1 + math.log(2 * math.pi)) + self.log_det())
