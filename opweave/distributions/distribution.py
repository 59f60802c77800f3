"""`Distribution`: what all distributions have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from opweave.distributions.constraints import Constraint, is_dependent
from opweave.registry.autograd.mode import no_grad
from opweave.registry.errors import DomainError, ShapeError, UnsupportedError
from opweave.registry.op import ops
from opweave.registry.ops import creation, surface as _surface
from opweave.registry.promote import broadcast_shapes
from opweave.registry.strided import Size
from opweave.registry.tensor import Tensor, describe

_ = _surface  # declares the ops
aten = ops.aten
_PACKAGE = __name__.rpartition(".")[0]


def broadcast_all(*values: Any) -> list[Any]:
    """Parameters as tensors of one size; numbers take the type of the first tensor, or the default type."""
    tensors = [value for value in values if isinstance(value, Tensor)]
    dtype = tensors[0]._dtype if tensors else creation.get_default_dtype()
    device = tensors[0]._device if tensors else None
    found = [v if isinstance(v, Tensor) else aten.full.default([], v, dtype=dtype, device=device) for v in values]
    sizes = broadcast_shapes("distributions", *[t._sizes for t in found])
    return [t if t._sizes == sizes else aten.expand.default(t, sizes) for t in found]


def concrete(t: Tensor) -> bool:
    """Whether a tensor's elements can be looked at: not while a function is traced."""
    return t._storage.owner is not None


class Distribution:
    """A batch of distributions.

    Parameters
    ----------
    batch_shape : sequence of int
        Of the distributions.
    event_shape : sequence of int
        Of a value of one.
    validate_args : bool, optional
        Whether parameters and values are checked; by default as `set_default_validate_args` says. Tensors of a function
        that is being traced have no elements to check.

    Raises
    ------
    DomainError
        If a parameter is not what it must be.

    Examples
    --------
    >>> d = opweave.distributions.Normal(opweave.zeros(2), 1.0)
    >>> d.batch_shape, d.event_shape, d.sample((3,)).shape
    (opweave.Size([2]), opweave.Size([]), opweave.Size([3, 2]))
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    _validate_args = True

    def __init__(
        self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            for name, value in self._given_parameters().items():
                constraint = self.arg_constraints[name]
                if not is_dependent(constraint):  # which nobody can tell of
                    self._check(constraint, value, f"parameter {name}")

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check parameters and values where they are not told."""
        Distribution._validate_args = bool(value)

    def _check(self, constraint: Constraint, value: Any, what: str) -> None:
        if not concrete(value):
            return
        with no_grad():
            good = constraint.check(value).all()
        if concrete(good) and not bool(good):
            raise DomainError(
                f"{type(self).__name__}: {what} is outside of {constraint}", got=describe(value),
                hint="validate_args=False does not look",
            )  # fmt: skip

    @property
    def batch_shape(self) -> Size:
        """The sizes of the batch."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The sizes of a value."""
        return self._event_shape

    @property
    def support(self) -> Constraint:
        """What values there are."""
        raise UnsupportedError(f"{type(self).__name__}.support is not there")

    @property
    def mean(self) -> Any:
        """The mean."""
        raise UnsupportedError(f"{type(self).__name__}.mean is not there")

    @property
    def mode(self) -> Any:
        """The likeliest value."""
        raise UnsupportedError(f"{type(self).__name__}.mode is not there")

    @property
    def variance(self) -> Any:
        """The variance."""
        raise UnsupportedError(f"{type(self).__name__}.variance is not there")

    @property
    def stddev(self) -> Any:
        """The standard deviation."""
        return self.variance.sqrt()

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> tuple[int, ...]:
        return (*sample_shape, *self._batch_shape, *self._event_shape)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Values, which nothing is differentiated through.

        Parameters
        ----------
        sample_shape : sequence of int
            How many for each distribution of the batch.

        Returns
        -------
        Tensor
            Of shape `sample_shape + batch_shape + event_shape`.
        """
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Values that are differentiable in the parameters.

        Raises
        ------
        UnsupportedError
            For discrete distributions.
        """
        raise UnsupportedError(f"{type(self).__name__} has no rsample: its values are not differentiable in parameters")

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or of the probability, of a value."""
        raise UnsupportedError(f"{type(self).__name__}.log_prob is not there")

    def cdf(self, value: Any) -> Any:
        """The probability of no more than a value."""
        raise UnsupportedError(f"{type(self).__name__}.cdf is not there")

    def icdf(self, value: Any) -> Any:
        """The value that a probability is `cdf` of."""
        raise UnsupportedError(f"{type(self).__name__}.icdf is not there")

    def entropy(self) -> Any:
        """The entropy, in nats."""
        raise UnsupportedError(f"{type(self).__name__}.entropy is not there")

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values of a discrete distribution, along a new first dimension."""
        raise UnsupportedError(f"{type(self).__name__}.enumerate_support is not there")

    def _get_checked_instance(self, cls: type[Any], _instance: Any = None) -> Any:
        """What `expand` of a subclass fills: a new object, or the one that a subclass of it made."""
        if _instance is None and type(self).__init__ is not cls.__init__:
            what = f"{type(self).__name__}: a subclass with an __init__ of its own needs an expand of its own"
            raise UnsupportedError(what, got=f"expand of {cls.__name__}")
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _given_parameters(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distributions with a larger batch, which shares their parameters.

        A subclass that has an `__init__` of its own hands on the object that it fills as `_instance`.
        """
        found, own = self._expanded(batch_shape), self._own_class()
        found.__dict__.pop("_validate_args", None)  # parameters were checked; values are, as before
        if "_validate_args" in self.__dict__:
            found._validate_args = self._validate_args
        if _instance is None and type(self) is own:
            return found
        made = self._get_checked_instance(own, _instance)
        made.__dict__.update(found.__dict__)
        return made

    def _own_class(self) -> Any:
        """The class of this package that it is an object of, or of a user's subclass of."""
        return next(kind for kind in type(self).__mro__ if kind.__module__.startswith(_PACKAGE))

    def _expanded(self, batch_shape: Sequence[int]) -> Any:
        grown = {}
        for name, value in self._given_parameters().items():
            event = self.arg_constraints[name].event_dim
            grown[name] = value.expand((*batch_shape, *value.shape[value.ndim - event :]))
        return self._own_class()(**grown, validate_args=False)

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            if not self._validate_args:  # formulas take numbers, where nobody looks
                return
            raise DomainError("log_prob: the value must be a Tensor", got=type(value).__name__)
        event = len(self._event_shape)
        if value.ndim < event or value._sizes[value.ndim - event :] != tuple(self._event_shape):
            raise ShapeError(
                f"{type(self).__name__}: the last dimensions of a value are {tuple(self._event_shape)}",
                got=describe(value),
            )
        broadcast_shapes(type(self).__name__, value._sizes, (*self._batch_shape, *self._event_shape))
        if self._validate_args:
            self._check(self.support, value, "the value")

    def __repr__(self) -> str:
        inner = ", ".join(
            f"{name}: {value if value.numel() == 1 else value.size()}"
            for name, value in self._given_parameters().items()
        )
        return f"{type(self).__name__}({inner})"
