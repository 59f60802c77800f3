"""The continuous Bernoulli distribution: numbers from 0 to 1 with a density that rises or falls exponentially."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opweave.distributions import constraints
from opweave.distributions.discrete import Binary, clamp_probs, one_of
from opweave.distributions.distribution import aten, broadcast_all
from opweave.distributions.exponential_family import ExponentialFamily


class ContinuousBernoulli(Binary, ExponentialFamily):
    """Numbers x of [0, 1] with a density in proportion to probsˣ (1 − probs)¹⁻ˣ (Loaiza-Ganem and Cunningham, 2019).

    Parameters
    ----------
    probs, logits : Tensor or float
        One of them; `logits` is the logarithm of the odds.
    lims : tuple of float
        Between these `probs`, near 0.5, formulas divide by almost 0: there their Taylor series is taken.

    Examples
    --------
    >>> d = opweave.distributions.ContinuousBernoulli(probs=opweave.tensor([0.5, 0.9]))
    >>> d.mean
    tensor([0.5000, 0.6699])
    """

    has_rsample = True
    support = constraints.unit_interval  # type: ignore[assignment]
    _mean_carrier_measure = 0  # type: ignore[assignment]

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        one_of("ContinuousBernoulli", probs, logits)
        (given,) = broadcast_all(probs if logits is None else logits)
        self._lims = lims
        self.__dict__["probs" if logits is None else "logits"] = given
        super().__init__(given._sizes, validate_args=validate_args)
        if logits is None:
            self.__dict__["probs"] = clamp_probs(given)

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        return clamp_probs(found) if name == "probs" else found

    def _expanded(self, batch_shape: Sequence[int]) -> Any:
        found = super()._expanded(batch_shape)
        found._lims = self._lims
        return found

    def _is_steep(self) -> Any:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _parts(self) -> tuple[Any, Any, Any]:
        """(where formulas hold, the chances there and others elsewhere, the logarithm of their odds, negated)."""
        steep = self._is_steep()
        probs = aten.where.self(steep, self.probs, self._lims[0])
        return steep, probs, (-probs).log1p() - probs.log()

    def log_normalizer(self) -> Any:
        """The logarithm of what the density is multiplied with, to be one."""
        steep, probs, odds = self._parts()
        low, high = (aten.where.self(half, probs, end) for half, end in ((probs <= 0.5, 0.0), (probs >= 0.5, 1.0)))
        size = odds.abs().log() - aten.where.self(probs <= 0.5, (-2 * low).log1p(), (2 * high - 1).log())
        x = (self.probs - 0.5) ** 2
        return aten.where.self(steep, size, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> Any:
        steep, probs, odds = self._parts()
        x = self.probs - 0.5
        return aten.where.self(steep, probs / (2 * probs - 1) + 1 / odds, 0.5 + (1 / 3 + 16 / 45 * x**2) * x)

    @property
    def variance(self) -> Any:
        steep, probs, odds = self._parts()
        x = (self.probs - 0.5) ** 2
        found = probs * (probs - 1) / (1 - 2 * probs) ** 2 + 1 / odds**2
        return aten.where.self(steep, found, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        sizes, like = self._extended_shape(sample_shape), self._given
        return self.icdf(aten.rand.default(sizes, dtype=like._dtype, device=like._device))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return value * logits - aten.softplus.default(logits) + self.log_normalizer()

    def cdf(self, value: Any) -> Any:
        self._validate_sample(value)
        steep, probs, _ = self._parts()
        found = (probs**value * (1 - probs) ** (1 - value) + probs - 1) / (2 * probs - 1)
        return aten.where.self(steep, found, value).clamp(0, 1)

    def icdf(self, value: Any) -> Any:
        steep, probs, odds = self._parts()
        found = ((-probs + value * (2 * probs - 1)).log1p() - (-probs).log1p()) / -odds
        return aten.where.self(steep, found, value)

    def entropy(self) -> Any:
        fail, succeed = (-self.probs).log1p(), self.probs.log()
        return self.mean * (fail - succeed) - self.log_normalizer() - fail

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        steep = (x <= low) | (x > high)
        cut = aten.where.self(steep, x, low)
        return aten.where.self(steep, cut.expm1().abs().log() - cut.abs().log(), x / 2 + x**2 / 24 - x**4 / 2880)
