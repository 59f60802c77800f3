"""Distributions with heavy tails: Cauchy's and its half, Student's, Pareto's and its generalization, Fisher's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opweave.distributions import constraints
from opweave.distributions.continuous import Chi2, Exponential, Gamma
from opweave.distributions.distribution import Distribution, aten, broadcast_all
from opweave.distributions.transformed import ClosedForm
from opweave.distributions.transforms import AbsTransform, AffineTransform, ExpTransform


def _full(like: Any, value: float) -> Any:
    return aten.full_like.default(like, value)


class Cauchy(Distribution):
    """Cauchy's distribution around `loc`, of half the width `scale` at half its height; it has no mean.

    Examples
    --------
    >>> d = opweave.distributions.Cauchy(0.0, 2.0)
    >>> d.cdf(opweave.tensor([-2.0, 0.0, 2.0]))
    tensor([0.2500, 0.5000, 0.7500])
    """

    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real  # type: ignore[assignment]

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc._sizes, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return _full(self.loc, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return _full(self.loc, math.inf)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        sizes = self._extended_shape(sample_shape)
        drawn = aten.rand.default(sizes, dtype=self.loc._dtype, device=self.loc._device)
        return self.loc + (math.pi * (drawn - 0.5)).tan() * self.scale

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Any:
        return math.log(4 * math.pi) + self.scale.log()


class HalfCauchy(ClosedForm):
    """How far from 0 the numbers of Cauchy's distribution are.

    Examples
    --------
    >>> opweave.distributions.HalfCauchy(2.0).cdf(opweave.tensor([0.0, 2.0]))
    tensor([0.0000, 0.5000])
    """

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative  # type: ignore[assignment]

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Any:
        """The width of Cauchy's distribution."""
        return self.base_dist.scale

    @property
    def mean(self) -> Any:
        return _full(self.scale, math.inf)

    @property
    def mode(self) -> Any:
        return aten.zeros_like.default(self.scale)

    @property
    def variance(self) -> Any:
        return _full(self.scale, math.inf)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self.base_dist.rsample(sample_shape).abs()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        found = math.log(2 / math.pi) - self.scale.log() - ((value / self.scale) ** 2).log1p()
        return aten.where.self(value >= 0, found, -math.inf)

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Any) -> Any:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)


class StudentT(Distribution):
    """Student's distribution of `df` degrees of freedom, moved to `loc` and stretched by `scale`.

    Examples
    --------
    >>> opweave.distributions.StudentT(opweave.tensor([3.0, 5.0])).variance
    tensor([3.0000, 1.6667])
    """

    has_rsample = True
    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real  # type: ignore[assignment]

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df._sizes, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return aten.where.self(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        found = self.scale**2 * self.df / (self.df - 2)
        few = aten.where.self(self.df > 1, math.inf, _full(self.df, math.nan))
        return aten.where.self(self.df > 2, found, few)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        sizes = self._extended_shape(sample_shape)
        noise = aten.randn.default(sizes, dtype=self.df._dtype, device=self.df._device)
        squares = Chi2(self.df, validate_args=False).rsample(sample_shape)
        return self.loc + self.scale * noise * (squares / self.df).rsqrt()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        away, df = (value - self.loc) / self.scale, self.df
        size = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi) + (0.5 * df).lgamma()
        return -0.5 * (df + 1) * (away**2 / df).log1p() - size + (0.5 * (df + 1)).lgamma()

    def entropy(self) -> Any:
        df = self.df
        beta = (0.5 * df).lgamma() + math.lgamma(0.5) - (0.5 * (1 + df)).lgamma()
        slope = (0.5 * (1 + df)).digamma() - (0.5 * df).digamma()
        return self.scale.log() + 0.5 * (df + 1) * slope + 0.5 * df.log() + beta


class Pareto(ClosedForm):
    """Pareto's distribution: numbers from `scale` on, whose tail falls as the power `alpha`.

    Examples
    --------
    >>> opweave.distributions.Pareto(1.0, 3.0).mean
    tensor(1.5000)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=False)
        super().__init__(base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args=validate_args)

    @property
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Any:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Any:
        return self.scale

    @property
    def variance(self) -> Any:
        a = self.alpha.clamp(min=2)
        return self.scale**2 * a / ((a - 1) ** 2 * (a - 2))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        sizes = self._extended_shape(sample_shape)
        drawn = aten.rand.default(sizes, dtype=self.scale._dtype, device=self.scale._device)
        return self.scale * (-(-drawn).log1p() / self.alpha).exp()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * value.log()

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return 1 - (self.scale / value) ** self.alpha

    def icdf(self, value: Any) -> Any:
        return self.scale * (-(-value).log1p() / self.alpha).exp()

    def entropy(self) -> Any:
        return (self.scale / self.alpha).log() + 1 + self.alpha.reciprocal()


class GeneralizedPareto(Distribution):
    """How far numbers are above a threshold `loc` that few exceed; the tail is the heavier the larger `concentration`.

    Parameters
    ----------
    loc : Tensor or float
        The threshold.
    scale : Tensor or float
        The width.
    concentration : Tensor or float
        0 makes the distribution exponential; below it numbers have an upper end.

    Examples
    --------
    >>> d = opweave.distributions.GeneralizedPareto(0.0, 1.0, 0.25)
    >>> d.mean, d.cdf(opweave.tensor(4.0))
    (tensor(1.3333), tensor(0.9375))
    """

    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc._sizes, validate_args=validate_args)

    @property
    def support(self) -> Any:
        """What values there are."""
        end = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, aten.where.self(self.concentration < 0, end, math.inf))

    def _parts(self) -> tuple[Any, Any]:
        """(where it is exponential, the concentration, 1 there)."""
        is_exponential = self.concentration.abs() <= 1e-8
        return is_exponential, aten.where.self(is_exponential, 1.0, self.concentration)

    @property
    def mean(self) -> Any:
        few = self.concentration < 1
        found = self.loc + self.scale / (1 - aten.where.self(few, self.concentration, 0.5))
        return aten.where.self(few, found, math.nan)

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        few = self.concentration < 0.5
        c = aten.where.self(few, self.concentration, 0.25)
        return aten.where.self(few, self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c)), math.nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        sizes = self._extended_shape(sample_shape)
        return self.icdf(aten.rand.default(sizes, dtype=self.loc._dtype, device=self.loc._device))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        z, (is_exponential, c) = (value - self.loc) / self.scale, self._parts()
        power, away = 1 / c + 1, c * z
        # At -1 all numbers up to the end are as likely, and at the end the logarithm of 0 is multiplied with 0.
        found = power * aten.where.self((power == 0) & (away == -1), 0.0, away).log1p()
        return -self.scale.log() - aten.where.self(is_exponential, z, found)

    def log_survival_function(self, value: Any) -> Any:
        """The logarithm of the probability of more than a value."""
        self._validate_sample(value)
        z, (is_exponential, c) = (value - self.loc) / self.scale, self._parts()
        return aten.where.self(is_exponential, -z, -(c * z).log1p() / c)

    def log_cdf(self, value: Any) -> Any:
        """The logarithm of `cdf`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Any) -> Any:
        return -self.log_survival_function(value).expm1()

    def icdf(self, value: Any) -> Any:
        is_exponential, c = self._parts()
        left = (-value).log1p()
        found = aten.where.self(is_exponential, -left, (-c * left).expm1() / c)
        return self.loc + self.scale * found

    def entropy(self) -> Any:
        return self.scale.log() + self.concentration + 1


class FisherSnedecor(Distribution):
    """The ratio of two means of squares, of `df1` and `df2` degrees of freedom.

    Examples
    --------
    >>> opweave.distributions.FisherSnedecor(2.0, 6.0).mean
    tensor(1.5000)
    """

    has_rsample = True
    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive  # type: ignore[assignment]

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        super().__init__(self.df1._sizes, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return aten.where.self(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Any:
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return aten.where.self(self.df1 > 2, found, math.nan)

    @property
    def variance(self) -> Any:
        a, b = self.df1, self.df2
        found = 2 * b**2 * (a + b - 2) / (a * (b - 2) ** 2 * (b - 4))
        return aten.where.self(b > 4, found, math.nan)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        above = Gamma(self.df1 * 0.5, self.df1 * 0.5, validate_args=False).rsample(sample_shape)
        below = Gamma(self.df2 * 0.5, self.df2 * 0.5, validate_args=False).rsample(sample_shape)
        return above / below

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        a, b = self.df1 * 0.5, self.df2 * 0.5
        ratio = self.df1 / self.df2
        size = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return size + a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()
