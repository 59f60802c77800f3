"""Distributions of counts: geometric, negative binomial, multinomial."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.distributions import constraints
from opweave.distributions.discrete import Binary, Categorical, one_of
from opweave.distributions.distribution import Distribution, aten, broadcast_all
from opweave.distributions.positive import uniform
from opweave.registry.autograd.mode import no_grad
from opweave.registry.errors import ArgumentError


class Geometric(Binary):
    """How many tries fail before one of chance `probs` does not.

    Examples
    --------
    >>> opweave.distributions.Geometric(0.25).mean
    tensor(3.)
    """

    support = constraints.nonnegative_integer  # type: ignore[assignment]

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        one_of("Geometric", probs, logits)
        (given,) = broadcast_all(probs if logits is None else logits)
        self.__dict__["probs" if logits is None else "logits"] = given
        super().__init__(given._sizes, validate_args=validate_args)
        if self._validate_args and probs is not None:
            self._check(constraints.positive, given, "probs")

    @property
    def mean(self) -> Any:
        return self.probs.reciprocal() - 1

    @property
    def mode(self) -> Any:
        return aten.zeros_like.default(self.probs)

    @property
    def variance(self) -> Any:
        return (self.probs.reciprocal() - 1) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        with no_grad():
            drawn = uniform(self.probs, self._extended_shape(sample_shape))
            return (drawn.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        value, probs = broadcast_all(value, self.probs)
        sure = (probs == 1) & (value == 0)
        probs = aten.where.self(sure, 0, probs)
        return value * (-probs).log1p() + aten.where.self(sure, 0, self.probs.log())

    def entropy(self) -> Any:
        return aten.binary_cross_entropy_with_logits.default(self.logits, self.probs, None, None, 0) / self.probs


class NegativeBinomial(Binary):
    """How many tries of chance `probs` succeed before `total_count` have failed.

    Examples
    --------
    >>> opweave.distributions.NegativeBinomial(4.0, 0.5).mean
    tensor(4.)
    """

    arg_constraints = {
        "total_count": constraints.nonnegative, "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }  # fmt: skip
    support = constraints.nonnegative_integer  # type: ignore[assignment]

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        one_of("NegativeBinomial", probs, logits)
        self.total_count, given = broadcast_all(total_count, probs if logits is None else logits)
        self.total_count = self.total_count.to(given._dtype)
        self.__dict__["probs" if logits is None else "logits"] = given
        super().__init__(given._sizes, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Any:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Any:
        return self.mean / (-self.logits).sigmoid()

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        with no_grad():
            shapes = self.total_count.expand(self._extended_shape(sample_shape))
            rates = aten._standard_gamma.default(shapes) * self.logits.exp()
            return aten.poisson.default(rates)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logsigmoid = aten.log_sigmoid.default
        density = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        size = -(self.total_count + value).lgamma() + (1 + value).lgamma() + self.total_count.lgamma()
        return density - aten.where.self(self.total_count + value == 0, 0.0, size)


class Multinomial(Distribution):
    """How often each class comes in `total_count` draws.

    Examples
    --------
    >>> opweave.distributions.Multinomial(8, opweave.tensor([0.25, 0.75])).mean
    tensor([2., 6.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if not isinstance(total_count, int):
            raise ArgumentError("Multinomial: total_count is one number for the batch", got=type(total_count).__name__)
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits, validate_args=validate_args)
        shape = self._categorical.probs._sizes
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def probs(self) -> Any:
        """The chances of the classes."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """Their logarithms."""
        return self._categorical.logits

    @property
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def _expanded(self, batch_shape: Sequence[int]) -> Any:
        wide = self._categorical.expand(batch_shape)
        return Multinomial(self.total_count, logits=wide.logits, validate_args=False)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        with no_grad():
            drawn = self._categorical.sample((self.total_count, *sample_shape))
            counts = aten.one_hot.default(drawn, self._event_shape[0]).sum(0)
            return counts.to(self.probs._dtype)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        likelihood = aten.where.self((value == 0) & (logits == -float("inf")), 0, logits * value)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + likelihood.sum(-1)
