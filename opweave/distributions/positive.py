"""Distributions of positive numbers and of extremes: log-normal, half normal, Weibull's, Gumbel's and others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opweave.distributions import constraints
from opweave.distributions.continuous import Exponential, Gamma, Normal, Uniform
from opweave.distributions.distribution import aten, broadcast_all
from opweave.distributions.transformed import ClosedForm
from opweave.distributions.transforms import AbsTransform, AffineTransform, ExpTransform, PowerTransform

#: Euler's constant.
EULER = 0.57721566490153286060


def limits(like: Any) -> tuple[float, float]:
    """(the least number, how far from 1 the greatest is) of which, and of whose complements, logarithms are finite."""
    return {"float64": (2.0**-1022, 2.0**-52), "float32": (2.0**-126, 2.0**-23)}.get(
        like._dtype.name, (2.0**-14, 2.0**-7)
    )


def _full(like: Any, value: float) -> Any:
    return aten.full_like.default(like, value)


def uniform(like: Any, sizes: Sequence[int]) -> Any:
    """Numbers in (0, 1), neither of them so near the ends that the logarithm of it or of its complement is infinite."""
    tiny, eps = limits(like)
    return aten.rand.default(sizes, dtype=like._dtype, device=like._device).clamp(tiny, 1 - eps)


class LogNormal(ClosedForm):
    """The distribution of the exponential of a normal number of mean `loc` and standard deviation `scale`.

    Examples
    --------
    >>> opweave.distributions.LogNormal(opweave.tensor(0.0), opweave.tensor(1.0)).mean
    tensor(1.6487)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive  # type: ignore[assignment]

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=False), ExpTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Any:
        """The mean of the normal numbers."""
        return self.base_dist.loc

    @property
    def scale(self) -> Any:
        """Their standard deviation."""
        return self.base_dist.scale

    @property
    def mean(self) -> Any:
        return (self.loc + self.scale**2 / 2).exp()

    @property
    def mode(self) -> Any:
        return (self.loc - self.scale**2).exp()

    @property
    def variance(self) -> Any:
        return (self.scale**2).expm1() * (2 * self.loc + self.scale**2).exp()

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self.base_dist.rsample(sample_shape).exp()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logs = value.log()
        return self.base_dist.log_prob(logs) - logs

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return self.base_dist.cdf(value.log())

    def icdf(self, value: Any) -> Any:
        return self.base_dist.icdf(value).exp()

    def entropy(self) -> Any:
        return self.base_dist.entropy() + self.loc


class HalfNormal(ClosedForm):
    """How far from 0 normal numbers of standard deviation `scale` are.

    Examples
    --------
    >>> opweave.distributions.HalfNormal(2.0).mean
    tensor(1.5958)
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative  # type: ignore[assignment]

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Any:
        """The standard deviation of the normal numbers."""
        return self.base_dist.scale

    @property
    def mean(self) -> Any:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Any:
        return aten.zeros_like.default(self.scale)

    @property
    def variance(self) -> Any:
        return self.scale**2 * (1 - 2 / math.pi)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self.base_dist.rsample(sample_shape).abs()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return aten.where.self(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)


class InverseGamma(ClosedForm):
    """The reciprocals of numbers of a gamma distribution.

    Examples
    --------
    >>> opweave.distributions.InverseGamma(3.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive  # type: ignore[assignment]

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=False)
        power = aten.full.default([], -1.0, dtype=base.rate._dtype, device=base.rate._device)
        super().__init__(base, PowerTransform(power), validate_args=validate_args)

    @property
    def concentration(self) -> Any:
        """The shape of the gamma distribution."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Any:
        """The rate of the gamma distribution."""
        return self.base_dist.rate

    @property
    def mean(self) -> Any:
        return aten.where.self(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self) -> Any:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Any:
        a = self.concentration
        return aten.where.self(a > 2, self.rate**2 / ((a - 1) ** 2 * (a - 2)), math.inf)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self.base_dist.rsample(sample_shape).reciprocal()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return self.base_dist.log_prob(value.reciprocal()) - 2 * value.log()

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return 1 - self.base_dist.cdf(value.reciprocal())

    def entropy(self) -> Any:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Weibull(ClosedForm):
    """Weibull's distribution: times until something fails.

    Examples
    --------
    >>> opweave.distributions.Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive  # type: ignore[assignment]

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        base = Exponential(aten.ones_like.default(self.scale), validate_args=False)
        steps = [PowerTransform(self.concentration.reciprocal()), AffineTransform(0, self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.scale * (1 + self.concentration.reciprocal()).lgamma().exp()

    @property
    def mode(self) -> Any:
        k = self.concentration
        return self.scale * ((k - 1) / k) ** k.reciprocal()

    @property
    def variance(self) -> Any:
        inverse = self.concentration.reciprocal()
        return self.scale**2 * ((1 + 2 * inverse).lgamma().exp() - (2 * (1 + inverse).lgamma()).exp())

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        drawn = uniform(self.scale, self._extended_shape(sample_shape))
        return self.scale * (-drawn.log()) ** self.concentration.reciprocal()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        k, ratio = self.concentration, value / self.scale
        return (k / self.scale).log() + (k - 1) * ratio.log() - ratio**k

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return -(-((value / self.scale) ** self.concentration)).expm1()

    def icdf(self, value: Any) -> Any:
        return self.scale * (-(-value).log1p()) ** self.concentration.reciprocal()

    def entropy(self) -> Any:
        inverse = self.concentration.reciprocal()
        return EULER * (1 - inverse) + (self.scale * inverse).log() + 1


class Gumbel(ClosedForm):
    """Gumbel's distribution: the greatest of many numbers.

    Examples
    --------
    >>> opweave.distributions.Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real  # type: ignore[assignment]

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        tiny, eps = limits(self.loc)
        base = Uniform(_full(self.loc, tiny), _full(self.loc, 1 - eps), validate_args=False)
        steps = [ExpTransform().inv, AffineTransform(0, -1), ExpTransform().inv, AffineTransform(self.loc, -self.scale)]
        super().__init__(base, steps, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc + self.scale * EULER

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def stddev(self) -> Any:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Any:
        return self.stddev**2

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self.loc - self.scale * (-uniform(self.loc, self._extended_shape(sample_shape)).log()).log()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        away = (self.loc - value) / self.scale
        return away - away.exp() - self.scale.log()

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value: Any) -> Any:
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Any:
        return self.scale.log() + 1 + EULER


class Kumaraswamy(ClosedForm):
    """Kumaraswamy's distribution of numbers from 0 to 1: much like the beta distribution, with a closed form.

    Examples
    --------
    >>> opweave.distributions.Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints = {
        "concentration1": constraints.positive, "concentration0": constraints.positive,
    }  # fmt: skip
    support = constraints.unit_interval  # type: ignore[assignment]

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(_full(self.concentration0, 0.0), _full(self.concentration0, 1.0), validate_args=False)
        powers = [PowerTransform(c.reciprocal()) for c in (self.concentration0, self.concentration1)]
        super().__init__(base, [powers[0], AffineTransform(1, -1), powers[1]], validate_args=validate_args)

    def _moment(self, n: int) -> Any:
        inner = 1 + n / self.concentration1
        b = self.concentration0
        return (b.log() + inner.lgamma() + b.lgamma() - (inner + b).lgamma()).exp()

    @property
    def mean(self) -> Any:
        return self._moment(1)

    @property
    def mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        found = (a.reciprocal() * ((a - 1) / (a * b - 1)).log()).exp()
        return aten.where.self((a < 1) | (b < 1), math.nan, found)

    @property
    def variance(self) -> Any:
        return self._moment(2) - self._moment(1) ** 2

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        drawn = uniform(self.concentration1, self._extended_shape(sample_shape))
        return self.icdf(drawn)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        a, b = self.concentration1, self.concentration0
        rest = aten.special_xlog1py.default(b - 1, -(value**a))
        return (a * b).log() + aten.xlogy.Tensor(a - 1, value) + rest

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return -(self.concentration0 * (-(value**self.concentration1)).log1p()).expm1()

    def icdf(self, value: Any) -> Any:
        rest = -((-value).log1p() / self.concentration0).expm1()
        return rest ** self.concentration1.reciprocal()

    def entropy(self) -> Any:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + EULER
        return 1 - b.reciprocal() + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
