"""Distributions of whole numbers and classes: Bernoulli's, categorical, one-hot, binomial, Poisson's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.distributions import constraints
from opweave.distributions.distribution import Distribution, aten, broadcast_all
from opweave.distributions.exponential_family import ExponentialFamily
from opweave.registry.autograd.mode import no_grad
from opweave.registry.errors import DomainError, ShapeError
from opweave.registry.tensor import Tensor, describe


def one_of(name: str, probs: Any, logits: Any) -> None:
    """Refuse both and neither."""
    if (probs is None) == (logits is None):
        raise DomainError(f"{name}: give either probs or logits", got=f"probs={probs!r}, logits={logits!r}"[:200])


def clamp_probs(probs: Any) -> Any:
    """Probabilities, none of them so near 0 or 1 that its logarithm is infinite."""
    eps = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}[probs._dtype.name]
    return probs.clamp(eps, 1 - eps)


class Binary(Distribution):
    """What has a chance, given as `probs` or as `logits`, the logarithm of the odds."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}

    def __getattr__(self, name: str) -> Any:
        if name == "probs" and "logits" in self.__dict__:
            return self.__dict__["logits"].sigmoid()
        if name == "logits" and "probs" in self.__dict__:
            probs = clamp_probs(self.__dict__["probs"])
            return probs.log() - (-probs).log1p()
        raise AttributeError(name)

    @property
    def _given(self) -> Any:
        return self.__dict__.get("probs", self.__dict__.get("logits"))


class Bernoulli(Binary, ExponentialFamily):
    """1 with a probability, else 0.

    Examples
    --------
    >>> d = opweave.distributions.Bernoulli(probs=opweave.tensor(0.25))
    >>> d.mean, d.log_prob(opweave.tensor(1.0))
    (tensor(0.2500), tensor(-1.3863))
    """

    has_enumerate_support = True
    support = constraints.boolean  # type: ignore[assignment]
    _mean_carrier_measure = 0  # type: ignore[assignment]

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        one_of("Bernoulli", probs, logits)
        (given,) = broadcast_all(probs if logits is None else logits)
        self.__dict__["probs" if logits is None else "logits"] = given
        super().__init__(given._sizes, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        return aten.where.self(self.probs == 0.5, float("nan"), (self.probs >= 0.5).to(self.probs._dtype))

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        with no_grad():
            return aten.bernoulli.default(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return value * logits - aten.softplus.default(logits)

    def entropy(self) -> Any:
        return aten.softplus.default(self.logits) - self.logits * self.probs

    def enumerate_support(self, expand: bool = True) -> Any:
        found = aten.arange.default(2, dtype=self._given._dtype, device=self._given._device)
        found = found.view(-1, *(1,) * len(self._batch_shape))
        return found.expand(-1, *self._batch_shape) if expand else found

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return aten.softplus.default(x)


class Binomial(Binary):
    """How many of `total_count` trials succeed.

    Examples
    --------
    >>> d = opweave.distributions.Binomial(4, probs=opweave.tensor(0.5))
    >>> d.log_prob(opweave.tensor(2.0)).exp()
    tensor(0.3750)
    """

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        one_of("Binomial", probs, logits)
        given = probs if logits is None else logits
        given = given if isinstance(given, Tensor) else broadcast_all(given)[0]
        counts = total_count if isinstance(total_count, Tensor) else aten.full_like.default(given, total_count)
        self.total_count, given = broadcast_all(counts.to(given._dtype), given)
        self.__dict__["probs" if logits is None else "logits"] = given
        super().__init__(given._sizes, validate_args=validate_args)
        if self._validate_args:
            self._check(constraints.nonnegative_integer, self.total_count, "parameter total_count")

    def _expanded(self, batch_shape: Sequence[int]) -> Any:
        name = "probs" if "probs" in self.__dict__ else "logits"
        return Binomial(
            self.total_count.expand(batch_shape), validate_args=False, **{name: self._given.expand(batch_shape)}
        )

    @property
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        sizes = self._extended_shape(sample_shape)
        with no_grad():
            return aten.binomial.default(self.total_count.expand(sizes), self.probs.expand(sizes))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        n, logits = self.total_count, self.logits
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return ways + value * logits - n * aten.softplus.default(logits)

    def entropy(self) -> Any:
        values = aten.arange.default(
            int(self.total_count.max()) + 1, dtype=self._given._dtype, device=self._given._device
        )
        values = values.view(-1, *(1,) * len(self._batch_shape))
        inside = values <= self.total_count
        shown = aten.where.self(inside, values, 0)
        logs = Binomial(self.total_count, logits=self.logits, validate_args=False).log_prob(shown)
        return -aten.where.self(inside, logs.exp() * logs, 0).sum(0)


class Poisson(ExponentialFamily):
    """How many events there are, of a rate.

    Examples
    --------
    >>> opweave.distributions.Poisson(opweave.tensor(3.0)).mean
    tensor(3.)
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer  # type: ignore[assignment]

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate._sizes, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.rate

    @property
    def variance(self) -> Any:
        return self.mean

    @property
    def mode(self) -> Any:
        return self.rate.floor()

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        with no_grad():
            return aten.poisson.default(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        return aten.xlogy.Tensor(value, rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (self.rate.log(),)

    def _log_normalizer(self, x: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return x.exp()


class Categorical(Distribution):
    """The number of a class; the last dimension of `probs` or `logits` has the classes.

    Examples
    --------
    >>> d = opweave.distributions.Categorical(probs=opweave.tensor([0.25, 0.75]))
    >>> d.log_prob(opweave.tensor(1)).exp(), d.sample((5,)).shape
    (tensor(0.7500), opweave.Size([5]))
    """

    has_enumerate_support = True
    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        one_of("Categorical", probs, logits)
        given = probs if logits is None else logits
        if given.ndim < 1:
            raise ShapeError("Categorical: the last dimension has the classes", got=describe(given))
        if logits is None:
            self.__dict__["probs"] = given / given.sum(-1, keepdim=True)
        else:
            self.__dict__["logits"] = given - given.logsumexp(-1, keepdim=True)
        self._classes = given._sizes[-1]
        super().__init__(given._sizes[:-1], validate_args=validate_args)

    def __getattr__(self, name: str) -> Any:
        if name == "probs" and "logits" in self.__dict__:
            return self.__dict__["logits"].softmax(-1)
        if name == "logits" and "probs" in self.__dict__:
            return clamp_probs(self.__dict__["probs"]).log()
        raise AttributeError(name)

    @property
    def support(self) -> Any:
        return constraints.integer_interval(0, self._classes - 1)

    @property
    def mean(self) -> Any:
        return aten.full.default(list(self._batch_shape), float("nan"), dtype=self.probs._dtype)

    @property
    def variance(self) -> Any:
        return self.mean

    @property
    def mode(self) -> Any:
        return self.probs.argmax(-1)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        count = 1
        for n in sample_shape:
            count *= n
        with no_grad():
            rows = self.probs.reshape(-1, self._classes)
            return aten.multinomial.default(rows, count, True).t().reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        value = value.to(dtype=aten.argmax.default(self._given)._dtype).unsqueeze(-1)
        shown, logs = aten.broadcast_tensors.default([value, self.logits])
        return aten.gather.default(logs, -1, shown[..., :1]).squeeze(-1)

    @property
    def _given(self) -> Any:
        return self.__dict__.get("probs", self.__dict__.get("logits"))

    def entropy(self) -> Any:
        least = -3.4028234663852886e38 if self.logits._dtype.itemsize == 4 else -1.7976931348623157e308
        return -(self.logits.clamp(min=least) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        found = aten.arange.default(self._classes, device=self._given._device)
        found = found.view(-1, *(1,) * len(self._batch_shape))
        return found.expand(-1, *self._batch_shape) if expand else found


class OneHotCategorical(Distribution):
    """A class as a vector of zeros and one 1.

    Examples
    --------
    >>> d = opweave.distributions.OneHotCategorical(probs=opweave.tensor([0.25, 0.75]))
    >>> d.log_prob(opweave.tensor([0.0, 1.0])).exp()
    tensor(0.7500)
    """

    has_enumerate_support = True
    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot  # type: ignore[assignment]

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._categorical = Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, (self._categorical._classes,), validate_args=validate_args)

    @property
    def probs(self) -> Any:
        """The probabilities of the classes."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """Their logarithms."""
        return self._categorical.logits

    def _given_parameters(self) -> dict[str, Any]:
        return self._categorical._given_parameters()

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        return self._hot(self.probs.argmax(-1))

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def _hot(self, at: Any) -> Any:
        return aten.one_hot.default(at, self._categorical._classes).to(self.probs._dtype)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        return self._hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Any:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        classes = self._categorical._classes
        found = aten.eye.default(classes, dtype=self.probs._dtype).view(
            classes, *(1,) * len(self._batch_shape), classes
        )
        return found.expand(classes, *self._batch_shape, classes) if expand else found


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """Classes as vectors with a 1, whose gradient is handed to the chances as it is.

    Examples
    --------
    >>> d = opweave.distributions.OneHotCategoricalStraightThrough(opweave.tensor([0.0, 1.0]))
    >>> d.rsample()
    tensor([0., 1.])
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())
