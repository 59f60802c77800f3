"""Distributions of numbers: normal, uniform, exponential, Laplace's, gamma, beta."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opweave.distributions import constraints
from opweave.distributions.distribution import Distribution, aten, broadcast_all
from opweave.distributions.exponential_family import ExponentialFamily

_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


class Normal(ExponentialFamily):
    """Gauss's distribution, of mean `loc` and standard deviation `scale`.

    Examples
    --------
    >>> d = opweave.distributions.Normal(opweave.tensor(0.0), opweave.tensor(1.0))
    >>> d.log_prob(opweave.tensor(0.0)), d.cdf(opweave.tensor(0.0))
    (tensor(-0.9189), tensor(0.5000))
    """

    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real  # type: ignore[assignment]
    _mean_carrier_measure = 0  # type: ignore[assignment]

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc._sizes, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def stddev(self) -> Any:
        return self.scale

    @property
    def variance(self) -> Any:
        return self.scale**2

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        noise = aten.randn.default(self._extended_shape(sample_shape), dtype=self.loc._dtype, device=self.loc._device)
        return self.loc + noise * self.scale

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return -((value - self.loc) ** 2) / (2 * self.scale**2) - self.scale.log() - _HALF_LOG_TAU

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Any) -> Any:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Any:
        return 0.5 + _HALF_LOG_TAU + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.loc / self.scale**2, -0.5 * self.scale**-2

    def _log_normalizer(self, x: Any, y: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return -0.25 * x**2 / y + 0.5 * (-math.pi / y).log()


class Uniform(Distribution):
    """Numbers from `low` to below `high`, all alike.

    Examples
    --------
    >>> opweave.distributions.Uniform(opweave.tensor(0.0), opweave.tensor(4.0)).mean
    tensor(2.)
    """

    has_rsample = True
    arg_constraints = {"low": constraints.real, "high": constraints.real}

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low._sizes, validate_args=validate_args)
        if self._validate_args:
            self._check(constraints.positive, self.high - self.low, "high - low")

    @property
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Any:
        return (self.low + self.high) / 2

    @property
    def mode(self) -> Any:
        return self.low * math.nan

    @property
    def variance(self) -> Any:
        return (self.high - self.low) ** 2 / 12

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        drawn = aten.rand.default(self._extended_shape(sample_shape), dtype=self.low._dtype, device=self.low._device)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        inside = (self.low <= value) & (self.high > value)
        return inside.to(self.low._dtype).log() - (self.high - self.low).log()

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Any) -> Any:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Any:
        return (self.high - self.low).log()


class Exponential(ExponentialFamily):
    """Times between events of a rate.

    Examples
    --------
    >>> opweave.distributions.Exponential(opweave.tensor(2.0)).mean
    tensor(0.5000)
    """

    has_rsample = True
    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative  # type: ignore[assignment]
    _mean_carrier_measure = 0  # type: ignore[assignment]

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate._sizes, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.rate.reciprocal()

    @property
    def stddev(self) -> Any:
        return self.mean

    @property
    def mode(self) -> Any:
        return aten.zeros_like.default(self.rate)

    @property
    def variance(self) -> Any:
        return self.rate**-2

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        drawn = aten.rand.default(self._extended_shape(sample_shape), dtype=self.rate._dtype, device=self.rate._device)
        return -(-drawn).log1p() / self.rate

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return -(-self.rate * value).expm1()

    def icdf(self, value: Any) -> Any:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Any:
        return 1.0 - self.rate.log()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (-self.rate,)

    def _log_normalizer(self, x: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return -(-x).log()


class Laplace(Distribution):
    """Two exponential distributions back to back, around `loc`.

    Examples
    --------
    >>> opweave.distributions.Laplace(opweave.tensor(0.0), opweave.tensor(1.0)).variance
    tensor(2.)
    """

    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real  # type: ignore[assignment]

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc._sizes, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return 2 * self.scale**2

    @property
    def stddev(self) -> Any:
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        drawn = aten.rand.default(self._extended_shape(sample_shape), dtype=self.loc._dtype, device=self.loc._device)
        # Numbers in (-1, 1): of 0 the logarithm below would be infinite.
        centred = (2 * drawn - 1).clamp(min=-1 + 2.0**-24)
        return self.loc - self.scale * centred.sign() * (-centred.abs()).log1p()

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * (-away.abs() / self.scale).expm1()

    def icdf(self, value: Any) -> Any:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Any:
        return 1 + (2 * self.scale).log()


class Gamma(ExponentialFamily):
    """The gamma distribution of a shape `concentration` and a `rate`.

    Examples
    --------
    >>> opweave.distributions.Gamma(opweave.tensor(3.0), opweave.tensor(2.0)).mean
    tensor(1.5000)
    """

    has_rsample = True
    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative  # type: ignore[assignment]
    _mean_carrier_measure = 0  # type: ignore[assignment]

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration._sizes, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        return self.concentration / self.rate**2

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        shapes = self.concentration.expand(self._extended_shape(sample_shape))
        return aten._standard_gamma.default(shapes) / self.rate

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        shape, rate = self.concentration, self.rate
        return aten.xlogy.Tensor(shape, rate) + aten.xlogy.Tensor(shape - 1, value) - rate * value - shape.lgamma()

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        return aten.igamma.default(self.concentration, self.rate * value)

    def entropy(self) -> Any:
        shape = self.concentration
        return shape - self.rate.log() + shape.lgamma() + (1.0 - shape) * shape.digamma()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return (x + 1).lgamma() - (x + 1) * (-y).log()


class Beta(ExponentialFamily):
    """The beta distribution; `concentration1` is what pulls to 1, `concentration0` to 0.

    Examples
    --------
    >>> opweave.distributions.Beta(opweave.tensor(2.0), opweave.tensor(2.0)).mean
    tensor(0.5000)
    """

    has_rsample = True
    arg_constraints = {
        "concentration1": constraints.positive, "concentration0": constraints.positive,
    }  # fmt: skip
    support = constraints.unit_interval  # type: ignore[assignment]

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1._sizes, validate_args=validate_args)

    @property
    def _total(self) -> Any:
        return self.concentration1 + self.concentration0

    @property
    def mean(self) -> Any:
        return self.concentration1 / self._total

    @property
    def mode(self) -> Any:
        a, b = self.concentration1, self.concentration0
        inner = (a - 1) / (a + b - 2)
        ends = aten.where.self(a == b, math.nan, (a > b).to(a._dtype))
        return aten.where.self((a > 1) & (b > 1), inner, aten.where.self((a < 1) & (b < 1), ends, inner.clamp(0, 1)))

    @property
    def variance(self) -> Any:
        return self.concentration1 * self.concentration0 / (self._total**2 * (self._total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        sizes = self._extended_shape(sample_shape)
        ups = aten._standard_gamma.default(self.concentration1.expand(sizes))
        downs = aten._standard_gamma.default(self.concentration0.expand(sizes))
        return ups / (ups + downs)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        a, b = self.concentration1, self.concentration0
        size = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return aten.xlogy.Tensor(a - 1, value) + aten.xlogy.Tensor(b - 1, 1 - value) + size

    def entropy(self) -> Any:
        a, b, total = self.concentration1, self.concentration0, self._total
        size = a.lgamma() + b.lgamma() - total.lgamma()
        return size - (a - 1) * a.digamma() - (b - 1) * b.digamma() + (total - 2) * total.digamma()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.concentration1, self.concentration0

    def _log_normalizer(self, x: Any, y: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return x.lgamma() + y.lgamma() - (x + y).lgamma()


class Chi2(Gamma):
    """The distribution of sums of `df` squares of normal numbers.

    Examples
    --------
    >>> opweave.distributions.Chi2(3.0).mean
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (self.df,) = broadcast_all(df)
        super().__init__(0.5 * self.df, 0.5, validate_args=validate_args)
