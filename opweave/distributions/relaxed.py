"""Relaxed distributions: discrete ones made smooth by a temperature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.distributions import constraints
from opweave.distributions.discrete import Binary, Categorical, one_of
from opweave.distributions.distribution import Distribution, aten, broadcast_all
from opweave.distributions.positive import uniform
from opweave.distributions.transformed import ClosedForm
from opweave.distributions.transforms import ExpTransform, SigmoidTransform
from opweave.registry.tensor import Tensor


def _temperature(temperature: Any, like: Any) -> Any:
    if isinstance(temperature, Tensor):
        return temperature
    return aten.full.default([], temperature, dtype=like._dtype, device=like._device)


class LogitRelaxedBernoulli(Binary):
    """The logits of numbers from 0 to 1 that come near the ends as the temperature falls.

    Examples
    --------
    >>> opweave.distributions.relaxed.LogitRelaxedBernoulli(0.5, 0.5).log_prob(opweave.tensor(0.0))
    tensor(-2.0794)
    """

    has_rsample = True
    support = constraints.real  # type: ignore[assignment]

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        one_of("LogitRelaxedBernoulli", probs, logits)
        (given,) = broadcast_all(probs if logits is None else logits)
        self.temperature = _temperature(temperature, given)
        self.__dict__["probs" if logits is None else "logits"] = given
        super().__init__(given._sizes, validate_args=validate_args)

    def _expanded(self, batch_shape: Sequence[int]) -> Any:
        return self._own_class()(self.temperature, logits=self.logits.expand(batch_shape), validate_args=False)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        drawn = uniform(self.logits, self._extended_shape(sample_shape))
        return (drawn.log() - (-drawn).log1p() + self.logits) / self.temperature

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        away = logits - value * self.temperature
        return self.temperature.log() + away - 2 * away.exp().log1p()


class _Relaxed(ClosedForm):
    """What has a temperature, and chances that are given as `probs` or as `logits`, in the distribution below it."""

    def _given_parameters(self) -> dict[str, Any]:
        return self.base_dist._given_parameters()

    @property
    def temperature(self) -> Any:
        """How far from the ends, or the corners, values are."""
        return self.base_dist.temperature

    @property
    def probs(self) -> Any:
        """The chances."""
        return self.base_dist.probs

    @property
    def logits(self) -> Any:
        """The logarithms of the chances, or of the odds."""
        return self.base_dist.logits


class RelaxedBernoulli(_Relaxed):
    """Numbers from 0 to 1 that come near the ends as the temperature falls; differentiable in the chances.

    Examples
    --------
    >>> opweave.distributions.RelaxedBernoulli(0.5, 0.5).log_prob(opweave.tensor(0.5))
    tensor(-0.6931)
    """

    arg_constraints = Binary.arg_constraints
    support = constraints.unit_interval  # type: ignore[assignment]

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)


class ExpRelaxedCategorical(Distribution):
    """Logarithms of the points of `RelaxedOneHotCategorical`.

    Examples
    --------
    >>> d = opweave.distributions.relaxed.ExpRelaxedCategorical(1.0, opweave.tensor([0.5, 0.5]))
    >>> d.log_prob(opweave.tensor([0.5, 0.5]).log())
    tensor(-1.3863)
    """

    has_rsample = True
    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # type: ignore[assignment]

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs=probs, logits=logits, validate_args=validate_args)
        shape = self._categorical._given._sizes
        self.temperature = _temperature(temperature, self._categorical._given)
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def probs(self) -> Any:
        """The chances of the classes."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """Their logarithms."""
        return self._categorical.logits

    def _expanded(self, batch_shape: Sequence[int]) -> Any:
        wide = self._categorical.expand(batch_shape)
        return self._own_class()(self.temperature, logits=wide.logits, validate_args=False)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        drawn = uniform(self.logits, self._extended_shape(sample_shape))
        scores = (self.logits - (-drawn.log()).log()) / self.temperature
        return scores.log_softmax(-1)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        count = self._event_shape[0]
        logits, logs = broadcast_all(self.logits, value)
        size = aten.full_like.default(self.temperature, float(count)).lgamma() + self.temperature.log() * (count - 1)
        return (logits - logs * self.temperature).log_softmax(-1).sum(-1) + size


class RelaxedOneHotCategorical(_Relaxed):
    """Points of a simplex that come near its corners as the temperature falls; differentiable in the chances.

    Examples
    --------
    >>> d = opweave.distributions.RelaxedOneHotCategorical(1.0, opweave.tensor([0.5, 0.5]))
    >>> d.log_prob(opweave.tensor([0.5, 0.5]))
    tensor(0.)
    """

    arg_constraints = ExpRelaxedCategorical.arg_constraints
    support = constraints.simplex  # type: ignore[assignment]

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
