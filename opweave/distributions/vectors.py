"""Distributions of vectors: Dirichlet's, the multivariate normal, and independent ones taken together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from opweave.distributions import constraints
from opweave.distributions.distribution import Distribution, aten
from opweave.distributions.exponential_family import ExponentialFamily
from opweave.registry.errors import DomainError, ShapeError
from opweave.registry.promote import broadcast_shapes
from opweave.registry.tensor import describe


class Dirichlet(ExponentialFamily):
    """Points of a simplex.

    Examples
    --------
    >>> opweave.distributions.Dirichlet(opweave.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    has_rsample = True
    arg_constraints = {"concentration": constraints.positive_vector}
    support = constraints.simplex  # type: ignore[assignment]

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.ndim < 1:
            raise ShapeError("Dirichlet: the last dimension has the concentrations", got=describe(concentration))
        self.concentration = concentration
        super().__init__(concentration._sizes[:-1], concentration._sizes[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.concentration.sum(-1, keepdim=True)

    @property
    def mode(self) -> Any:
        above = (self.concentration - 1).clamp(min=0)
        found = above / above.sum(-1, True)
        flat = (self.concentration < 1).all(-1, keepdim=True)
        highest = aten.one_hot.default(self.concentration.argmax(-1), self._event_shape[0]).to(found._dtype)
        return aten.where.self(flat, highest, found)

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, keepdim=True)
        return self.concentration * (total - self.concentration) / (total**2 * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        parts = aten._standard_gamma.default(self.concentration.expand(self._extended_shape(sample_shape)))
        return parts / parts.sum(-1, keepdim=True)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        c = self.concentration
        return aten.xlogy.Tensor(c - 1, value).sum(-1) + c.sum(-1).lgamma() - c.lgamma().sum(-1)

    def entropy(self) -> Any:
        c = self.concentration
        total, count = c.sum(-1), self._event_shape[0]
        size = c.lgamma().sum(-1) - total.lgamma()
        return size - (count - total) * total.digamma() - ((c - 1) * c.digamma()).sum(-1)

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


def _inverted(precision: Any) -> Any:
    """The lower factor of the inverse of a matrix."""
    flipped = aten.linalg_cholesky.default(precision.flip(-2, -1)).flip(-2, -1).mT
    eye = aten.eye.default(precision._sizes[-1], dtype=precision._dtype, device=precision._device)
    return aten.linalg_solve_triangular.default(flipped.mT, eye, upper=True).mT


def factor_of(name: str, matrix: Any) -> Any:
    """The lower factor of a covariance, which is given as itself, its inverse, or that factor."""
    if name == "scale_tril":
        return matrix
    return aten.linalg_cholesky.default(matrix) if name == "covariance_matrix" else _inverted(matrix)


class Derived:
    """An attribute that is computed when it is asked for, unless an object has one of its own; `super()` finds it."""

    def __init__(self, compute: Callable[[Any], Any]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else self.compute(instance)


class Factored:
    """The other forms of a covariance that is given in one of them: each follows from the factor."""

    #: As PyTorch names it, and as classes of packages look for it.
    _unbroadcasted_scale_tril: Any

    @Derived
    def scale_tril(self) -> Any:
        """The lower factor of the covariance."""
        return self._unbroadcasted_scale_tril

    @Derived
    def covariance_matrix(self) -> Any:
        """The covariance."""
        factor = self._unbroadcasted_scale_tril
        return factor @ factor.mT

    @Derived
    def precision_matrix(self) -> Any:
        """The inverse of the covariance."""
        return aten.cholesky_inverse.default(self._unbroadcasted_scale_tril)


class MultivariateNormal(Factored, Distribution):
    """Gauss's distribution of vectors: a mean, and the covariance as itself, its inverse, or its lower factor.

    Examples
    --------
    >>> d = opweave.distributions.MultivariateNormal(opweave.zeros(2), opweave.eye(2))
    >>> d.log_prob(opweave.zeros(2))
    tensor(-1.8379)
    """

    has_rsample = True
    arg_constraints = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    support = constraints.real_vector  # type: ignore[assignment]

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None, scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        given = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix, "scale_tril": scale_tril}
        present = {name: value for name, value in given.items() if value is not None}
        if len(present) != 1:
            raise DomainError(
                "MultivariateNormal: give one of covariance_matrix, precision_matrix, scale_tril",
                got=", ".join(present),
            )
        ((name, matrix),) = present.items()
        if loc.ndim < 1 or matrix.ndim < 2 or matrix._sizes[-2:] != (loc._sizes[-1],) * 2:
            raise ShapeError(
                f"MultivariateNormal: {name} is square, of the size of a value", got=describe([loc, matrix])
            )
        batch = broadcast_shapes("MultivariateNormal", matrix._sizes[:-2], loc._sizes[:-1])
        self.loc = loc.expand((*batch, loc._sizes[-1]))
        matrix = matrix.expand((*batch, *matrix._sizes[-2:]))
        self.__dict__[name] = matrix
        super().__init__(batch, loc._sizes[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    def _expanded(self, batch_shape: Sequence[int]) -> Any:
        n = self._event_shape[0]
        return MultivariateNormal(
            self.loc.expand((*batch_shape, n)), scale_tril=self.scale_tril.expand((*batch_shape, n, n)),
            validate_args=False,
        )  # fmt: skip

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return (self._unbroadcasted_scale_tril**2).sum(-1).expand((*self._batch_shape, *self._event_shape))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        noise = aten.randn.default(self._extended_shape(sample_shape), dtype=self.loc._dtype, device=self.loc._device)
        return self.loc + (self._unbroadcasted_scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        away = (value - self.loc).unsqueeze(-1)
        factor = self._unbroadcasted_scale_tril.expand((*away._sizes[:-2], *self._unbroadcasted_scale_tril._sizes[-2:]))
        scaled = aten.linalg_solve_triangular.default(factor, away, upper=False).squeeze(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + (scaled**2).sum(-1)) - self._half_log_det()

    def _half_log_det(self) -> Any:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def entropy(self) -> Any:
        return 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._half_log_det()


class Independent(Distribution):
    """Distributions of a batch taken together: the last dimensions of the batch make one value.

    Examples
    --------
    >>> d = opweave.distributions.Independent(opweave.distributions.Normal(opweave.zeros(2), 1.0), 1)
    >>> d.event_shape, d.log_prob(opweave.zeros(2))
    (opweave.Size([2]), tensor(-1.8379))
    """

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch = tuple(base_distribution.batch_shape)
        if not 0 <= reinterpreted_batch_ndims <= len(batch):
            raise DomainError(
                "Independent: reinterpreted_batch_ndims counts dimensions of the batch",
                got=f"{reinterpreted_batch_ndims} of {batch}",
            )
        kept = len(batch) - reinterpreted_batch_ndims
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(batch[:kept], (*batch[kept:], *base_distribution.event_shape), validate_args=validate_args)

    def _expanded(self, batch_shape: Sequence[int]) -> Any:
        own = self._event_shape[: self.reinterpreted_batch_ndims]
        return Independent(self.base_dist.expand((*batch_shape, *own)), self.reinterpreted_batch_ndims, False)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether values are differentiable in the parameters."""
        return self.base_dist.has_rsample

    @property
    def support(self) -> Any:
        return constraints.independent(self.base_dist.support, self.reinterpreted_batch_ndims)

    @property
    def mean(self) -> Any:
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        return self.base_dist.variance

    def _summed(self, value: Any) -> Any:
        count = self.reinterpreted_batch_ndims
        return value.sum(list(range(-count, 0))) if count else value

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        return self._summed(self.base_dist.log_prob(value))

    def entropy(self) -> Any:
        return self._summed(self.base_dist.entropy())

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"
