"""`Transform`: what all transforms of values have in common, and those that are made of others."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

from opweave.distributions import constraints
from opweave.distributions.distribution import aten
from opweave.registry.errors import DomainError, ShapeError, UnsupportedError


def sum_rightmost(value: Any, count: int) -> Any:
    """The sum over the last `count` dimensions."""
    return value.sum(list(range(-count, 0))) if count else value


class Transform:
    """A function of values that can be differentiated.

    Parameters
    ----------
    cache_size : int
        1 keeps the last value and its image, which then are each other's exactly; 0 keeps none.

    Attributes
    ----------
    domain, codomain : Constraint
        What it takes, and what it gives.
    bijective : bool
        Whether there is an inverse.

    Examples
    --------
    >>> doubled: opweave.distributions.Transform = opweave.distributions.AffineTransform(0.0, 2.0)
    >>> doubled.inv(opweave.tensor([2.0])), doubled.log_abs_det_jacobian(opweave.ones(1), opweave.ones(1))
    (tensor([1.]), tensor([0.6931]))
    """

    bijective = False
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise DomainError("Transform: cache_size is 0 or 1", got=repr(cache_size))
        self._cache_size = cache_size
        self._cached: tuple[Any, Any] = (None, None)

    @property
    def sign(self) -> Any:
        """1 where it rises, -1 where it falls."""
        raise UnsupportedError(f"{type(self).__name__}.sign is not there")

    @property
    def event_dim(self) -> int:
        """How many dimensions make one value, of both sides."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise DomainError("Transform: one of event_dim for both sides is not there", got=repr(self))
        return self.domain.event_dim

    @property
    def inv(self) -> Any:
        """The inverse."""
        return _Inverse(self)

    def with_cache(self, cache_size: int = 1) -> Any:
        """The same transform, which keeps its last value or not."""
        if self._cache_size == cache_size:
            return self
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        Transform.__init__(other, cache_size)
        return other

    def __call__(self, x: Any) -> Any:
        if self._cache_size == 0:
            return self._call(x)
        if self._cached[0] is not x:
            self._cached = (x, self._call(x))
        return self._cached[1]

    def _inv_call(self, y: Any) -> Any:
        if self._cache_size == 0:
            return self._inverse(y)
        if self._cached[1] is not y:
            self._cached = (self._inverse(y), y)
        return self._cached[0]

    def _call(self, x: Any) -> Any:
        raise UnsupportedError(f"{type(self).__name__} is not there")

    def _inverse(self, y: Any) -> Any:
        raise UnsupportedError(f"{type(self).__name__} has no inverse")

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of how much it stretches volumes at a value x whose image is y."""
        raise UnsupportedError(f"{type(self).__name__}.log_abs_det_jacobian is not there")

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The sizes of the image of a tensor of these sizes."""
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The sizes of a tensor whose image has these sizes."""
        return tuple(shape)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class _Inverse(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self._inv = transform

    @property
    def inv(self) -> Any:
        return self._inv

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return self._inv.codomain

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return self._inv.domain

    @property
    def bijective(self) -> Any:  # type: ignore[override]
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Inverse) and self._inv == other._inv

    def __hash__(self) -> int:
        return hash((_Inverse, self._inv))

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def _inv_call(self, y: Any) -> Any:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"


class PlainTransform(Transform):
    """A transform without parameters: those of a class are equal."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))


class ComposeTransform(Transform):
    """Transforms one after another, the first one first.

    Examples
    --------
    >>> d = opweave.distributions
    >>> d.ComposeTransform([d.ExpTransform().inv, d.AffineTransform(1.0, 2.0)])(opweave.tensor([1.0]))
    tensor([1.])
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(tuple(self.parts))

    @property
    def domain(self) -> Any:  # type: ignore[override]
        if not self.parts:
            return constraints.real
        found, event_dim = self.parts[0].domain, self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim = max(event_dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return constraints.independent(found, event_dim - found.event_dim) if event_dim > found.event_dim else found

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        if not self.parts:
            return constraints.real
        found, event_dim = self.parts[-1].codomain, self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim = max(event_dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return constraints.independent(found, event_dim - found.event_dim) if event_dim > found.event_dim else found

    @property
    def bijective(self) -> Any:  # type: ignore[override]
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        return functools.reduce(operator.mul, [part.sign for part in self.parts], 1)

    @property
    def inv(self) -> Any:
        return ComposeTransform([part.inv for part in reversed(self.parts)])

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if cache_size == self._cache_size else ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return aten.zeros_like.default(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        event_dim, terms = self.domain.event_dim, []
        for part, before, after in zip(self.parts, values, values[1:], strict=False):
            terms.append(sum_rightmost(part.log_abs_det_jacobian(before, after), event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return tuple(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return tuple(shape)

    def __repr__(self) -> str:
        return f"ComposeTransform({self.parts!r})"


#: What leaves values as they are.
identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last dimensions make one value.

    Examples
    --------
    >>> t = opweave.distributions.IndependentTransform(opweave.distributions.ExpTransform(), 1)
    >>> x = opweave.tensor([[1.0, 2.0]])
    >>> t.log_abs_det_jacobian(x, t(x))
    tensor([3.])
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> Any:  # type: ignore[override]
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def with_cache(self, cache_size: int = 1) -> Any:
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    def _call(self, x: Any) -> Any:
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """The last dimensions of a value in other sizes.

    Examples
    --------
    >>> opweave.distributions.ReshapeTransform((2, 2), (4,))(opweave.ones(3, 2, 2)).shape
    opweave.Size([3, 4])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ShapeError(
                "ReshapeTransform: both shapes have as many elements", got=f"{self.in_shape}, {self.out_shape}"
            )

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Any) -> Any:
        return x.reshape((*x._sizes[: x.ndim - len(self.in_shape)], *self.out_shape))

    def _inverse(self, y: Any) -> Any:
        return y.reshape((*y._sizes[: y.ndim - len(self.out_shape)], *self.in_shape))

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return aten.new_zeros.default(x, list(x._sizes[: x.ndim - len(self.in_shape)]))

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return _in_place_of(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return _in_place_of(shape, self.out_shape, self.in_shape)


def _in_place_of(shape: Sequence[int], ends: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    cut = len(shape) - len(ends)
    if cut < 0 or tuple(shape[cut:]) != ends:
        raise ShapeError(f"ReshapeTransform: the last dimensions are {ends}", got=str(tuple(shape)))
    return (*shape[:cut], *others)
