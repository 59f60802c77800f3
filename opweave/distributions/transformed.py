"""Distributions of transformed values, and mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.distributions import constraints
from opweave.distributions.continuous import Normal
from opweave.distributions.discrete import Categorical
from opweave.distributions.distribution import Distribution, aten
from opweave.distributions.transforms import (
    ComposeTransform,
    StickBreakingTransform,
    Transform,
    sum_rightmost,
)
from opweave.distributions.vectors import Independent
from opweave.registry.errors import DomainError, ShapeError
from opweave.registry.tensor import describe


class TransformedDistribution(Distribution):
    """The distribution of what transforms make of values of another one.

    Parameters
    ----------
    base_distribution : Distribution
        Of what goes in.
    transforms : Transform or sequence of Transform
        The first one first.
    validate_args : bool, optional
        Whether values are checked.

    Raises
    ------
    DomainError
        If what is to transform is no transform.
    ShapeError
        If a transform takes values of more dimensions than there are.

    Examples
    --------
    >>> d = opweave.distributions
    >>> steps = [d.SigmoidTransform().inv, d.AffineTransform(1.0, 2.0)]
    >>> d.TransformedDistribution(d.Uniform(0.0, 1.0), steps).log_prob(opweave.tensor(1.0))
    tensor(-2.0794)
    """

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise DomainError("TransformedDistribution: transforms are expected", got=repr(transforms)[:200])
        whole = ComposeTransform(self.transforms)
        shape = (*base_distribution.batch_shape, *base_distribution.event_shape)
        own = len(base_distribution.event_shape)
        if len(shape) < whole.domain.event_dim:
            raise ShapeError(
                f"TransformedDistribution: values of {whole.domain.event_dim} dimensions are needed", got=str(shape)
            )
        after = whole.forward_shape(shape)
        before = whole.inverse_shape(after)
        if before != shape:
            base_distribution = base_distribution.expand(before[: len(before) - own])
        if whole.domain.event_dim > own:
            base_distribution = Independent(base_distribution, whole.domain.event_dim - own)
        self.base_dist: Any = base_distribution
        event = max(whole.codomain.event_dim, own + whole.codomain.event_dim - whole.domain.event_dim)
        cut = len(after) - event
        super().__init__(after[:cut], after[cut:], validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether values are differentiable in the parameters."""
        return self.base_dist.has_rsample

    def _expanded(self, batch_shape: Sequence[int]) -> Any:
        whole = ComposeTransform(self.transforms)
        before = whole.inverse_shape((*batch_shape, *self._event_shape))
        base = self.base_dist.expand(before[: len(before) - len(self.base_dist.event_shape)])
        return TransformedDistribution(base, self.transforms, validate_args=False)

    @property
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        found, event = self.transforms[-1].codomain, len(self._event_shape)
        return constraints.independent(found, event - found.event_dim) if event > found.event_dim else found

    def _transformed(self, x: Any) -> Any:
        for transform in self.transforms:
            x = transform(x)
        return x

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self._transformed(self.base_dist.sample(sample_shape)).detach()

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        event, found, y = len(self._event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event += transform.domain.event_dim - transform.codomain.event_dim
            found = found - sum_rightmost(transform.log_abs_det_jacobian(x, y), event - transform.domain.event_dim)
            y = x
        return found + sum_rightmost(self.base_dist.log_prob(y), event - len(self.base_dist.event_shape))

    def _rising(self, value: Any) -> Any:
        """Probabilities, turned where the transforms fall together."""
        sign = ComposeTransform(self.transforms).sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._rising(self.base_dist.cdf(value))

    def icdf(self, value: Any) -> Any:
        return self._transformed(self.base_dist.icdf(self._rising(value)))

    def __repr__(self) -> str:
        return f"TransformedDistribution({self.base_dist}, {self.transforms})"


class ClosedForm(TransformedDistribution):
    """What transforms make of another distribution, where there are formulas for densities, means and the rest."""

    has_rsample = True  # type: ignore[assignment]

    def _given_parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.arg_constraints}

    def _expanded(self, batch_shape: Sequence[int]) -> Any:
        grown = object.__new__(self._own_class())
        grown.__dict__.update(self.__dict__)
        grown.__dict__.update(super()._expanded(batch_shape).__dict__)
        # Parameters that the base does not have are kept beside it.
        for name in self.arg_constraints:
            if name in self.__dict__:
                grown.__dict__[name] = self.__dict__[name].expand(batch_shape)
        return grown

    def __repr__(self) -> str:
        return Distribution.__repr__(self)


class LogisticNormal(ClosedForm):
    """Probabilities of n + 1 classes, made of n independent normal numbers by breaking a stick.

    Examples
    --------
    >>> opweave.distributions.LogisticNormal(opweave.zeros(3), opweave.ones(3)).event_shape
    opweave.Size([4])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Any:
        """The means of the normal numbers."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Any:
        """Their standard deviations."""
        return self.base_dist.base_dist.scale


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last dimension of a batch.

    Parameters
    ----------
    mixture_distribution : Categorical
        How likely each of them is.
    component_distribution : Distribution
        Its batch has one dimension more than the mixture's: the components.
    validate_args : bool, optional
        Whether values are checked.

    Examples
    --------
    >>> d = opweave.distributions
    >>> parts = d.Normal(opweave.tensor([0.0, 4.0]), 1.0)
    >>> d.MixtureSameFamily(d.Categorical(opweave.tensor([0.25, 0.75])), parts).mean
    tensor(3.)
    """

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(mixture_distribution, Categorical):
            raise DomainError(
                "MixtureSameFamily: the mixture is a Categorical", got=type(mixture_distribution).__name__
            )
        if not isinstance(component_distribution, Distribution):
            raise DomainError(
                "MixtureSameFamily: the components are a Distribution", got=type(component_distribution).__name__
            )
        *batch, count = component_distribution.batch_shape or (0,)
        weights = mixture_distribution.probs
        if count != weights._sizes[-1] or any(
            a != b and a != 1 for a, b in zip(reversed(weights._sizes[:-1]), reversed(batch), strict=False)
        ):
            raise ShapeError(
                "MixtureSameFamily: the last dimension of the batch has the components",
                got=f"{component_distribution.batch_shape} for {describe(weights)}",
            )
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        self._count = count
        super().__init__(tuple(batch), component_distribution.event_shape, validate_args=validate_args)

    def _expanded(self, batch_shape: Sequence[int]) -> Any:
        return MixtureSameFamily(
            self.mixture_distribution.expand(batch_shape),
            self.component_distribution.expand((*batch_shape, self._count)), validate_args=False,
        )  # fmt: skip

    @property
    def support(self) -> Any:
        return self.component_distribution.support

    def _weights(self) -> Any:
        weights = self.mixture_distribution.probs
        return weights.reshape((*weights._sizes, *[1] * len(self._event_shape)))

    def _mixed(self, values: Any) -> Any:
        """The mean over the components."""
        return (self._weights() * values).sum(-1 - len(self._event_shape))

    @property
    def mean(self) -> Any:
        return self._mixed(self.component_distribution.mean)

    @property
    def variance(self) -> Any:
        means = self.component_distribution.mean
        middle = self._mixed(means).unsqueeze(-1 - len(self._event_shape))
        return self._mixed(self.component_distribution.variance) + self._mixed((means - middle) ** 2)

    def _apart(self, value: Any) -> Any:
        return value.unsqueeze(-1 - len(self._event_shape))

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        event = len(self._event_shape)
        chosen = self.mixture_distribution.expand(self._batch_shape).sample(sample_shape)
        drawn = self.component_distribution.sample(sample_shape)
        chosen = chosen.reshape((*chosen._sizes, 1, *[1] * event))
        chosen = chosen.expand((*chosen._sizes[: chosen.ndim - event], *self._event_shape))
        return aten.gather.default(drawn, drawn.ndim - 1 - event, chosen).squeeze(-1 - event)

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        found = self.component_distribution.log_prob(self._apart(value))
        return (found + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def cdf(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return (self.component_distribution.cdf(self._apart(value)) * self.mixture_distribution.probs).sum(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamily({self.mixture_distribution}, {self.component_distribution})"
