"""What parameters and values of distributions must be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.registry import dtypes
from opweave.registry.errors import ShapeError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor, describe

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
    "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
    "positive_vector", "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip

_ = _surface  # binds the operators


class Constraint:
    """Which values are allowed; a subclass says it in `check`.

    Attributes
    ----------
    is_discrete : bool
        Whether they are whole numbers.
    event_dim : int
        How many dimensions make one value.

    Examples
    --------
    >>> opweave.distributions.constraints.positive.check(opweave.tensor([-1.0, 2.0]))
    tensor([False,  True])
    """

    is_discrete: bool = False
    event_dim: int = 0

    def check(self, value: Tensor) -> Tensor:
        """A bool tensor: which values are allowed."""
        raise NotImplementedError(f"{type(self).__name__}.check")

    def __repr__(self) -> str:
        return f"{type(self).__name__.removeprefix('_')}()"


# ---- one constraint of each class ------------------------------------------------------------------------------------


class _Simple(Constraint):
    def __init__(self) -> None:
        super().__init__()


class _Real(_Simple):
    def check(self, value: Any) -> Any:
        return value == value  # NaN is not


class _Boolean(_Simple):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value == 0) | (value == 1)


class _Simplex(_Simple):
    event_dim = 1

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _OneHot(_Simple):
    is_discrete, event_dim = True, 1

    def check(self, value: Any) -> Any:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _LowerTriangular(_Simple):
    event_dim = 2

    def check(self, value: Any) -> Any:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Any) -> Any:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value: Any) -> Any:
        eps = {8: 2.0**-52, 4: 2.0**-23}.get(value._dtype.itemsize, 2.0**-7)
        unit = ((value.norm(dim=-1) - 1).abs() <= 10 * eps * value._sizes[-1]).all(-1)
        return unit & super().check(value)


class _Square(_Simple):
    event_dim = 2

    def check(self, value: Any) -> Any:
        found = value._sizes[-2] == value._sizes[-1]
        return ops.aten.full.default(list(value._sizes[:-2]), found, dtype=dtypes.bool_, device=value._device)


class _Symmetric(_Square):
    def check(self, value: Any) -> Any:
        square = super().check(value)
        if value._sizes[-2] != value._sizes[-1]:
            return square
        return ((value - value.mT).abs() <= 1e-6 * (1 + value.abs())).flatten(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        if value._sizes[-2] != value._sizes[-1]:
            return symmetric
        return symmetric & (ops.aten.linalg_eigvalsh.default(value) >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value: Any) -> Any:
        symmetric = super().check(value)
        if value._sizes[-2] != value._sizes[-1]:
            return symmetric
        return symmetric & (ops.aten.linalg_cholesky_ex.default(value)[1] == 0)


# ---- with bounds -----------------------------------------------------------------------------------------------------


class _Bounded(Constraint):
    """Numbers between bounds, which are attributes of these names."""

    _names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name}={getattr(self, name)}" for name in self._names)
        return f"{type(self).__name__.removeprefix('_')}({bounds})"


class _Above(_Bounded):
    _names = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        super().__init__()
        self.lower_bound = lower_bound


class _Below(_Bounded):
    _names = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        super().__init__()
        self.upper_bound = upper_bound


class _Between(_Bounded):
    _names = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        super().__init__()
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


class _GreaterThan(_Above):
    """Numbers above a bound.

    Examples
    --------
    >>> opweave.distributions.constraints.greater_than(1).check(opweave.tensor([1.0, 2.0]))
    tensor([False,  True])
    """

    def check(self, value: Any) -> Any:
        return value > self.lower_bound


class _GreaterThanEq(_Above):
    """Numbers from a bound on.

    Examples
    --------
    >>> opweave.distributions.constraints.greater_than_eq(1).check(opweave.tensor([1.0, 0.0]))
    tensor([ True, False])
    """

    def check(self, value: Any) -> Any:
        return value >= self.lower_bound


class _LessThan(_Below):
    """Numbers below a bound.

    Examples
    --------
    >>> opweave.distributions.constraints.less_than(1).check(opweave.tensor([1.0, 0.0]))
    tensor([False,  True])
    """

    def check(self, value: Any) -> Any:
        return value < self.upper_bound


class _Interval(_Between):
    """Numbers from one to another.

    Examples
    --------
    >>> opweave.distributions.constraints.interval(0, 1).check(opweave.tensor([0.5, 2.0]))
    tensor([ True, False])
    """

    def check(self, value: Any) -> Any:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """Numbers from one to below another.

    Examples
    --------
    >>> opweave.distributions.constraints.half_open_interval(0, 1).check(opweave.tensor([0.0, 1.0]))
    tensor([ True, False])
    """

    def check(self, value: Any) -> Any:
        return (value >= self.lower_bound) & (value < self.upper_bound)


class _IntegerInterval(_Between):
    """Whole numbers from one to another.

    Examples
    --------
    >>> opweave.distributions.constraints.integer_interval(0, 3).check(opweave.tensor([0.5, 2.0]))
    tensor([False,  True])
    """

    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Above):
    is_discrete = True

    def check(self, value: Any) -> Any:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Multinomial(Constraint):
    """Counts that add up to a number at most.

    Examples
    --------
    >>> opweave.distributions.constraints.multinomial(3).check(opweave.tensor([[1, 2], [3, 1]]))
    tensor([ True, False])
    """

    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound: Any) -> None:
        super().__init__()
        self.upper_bound = upper_bound

    def check(self, value: Any) -> Any:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


# ---- of others -------------------------------------------------------------------------------------------------------


class _IndependentConstraint(Constraint):
    """A constraint of whose values several dimensions make one.

    Examples
    --------
    >>> constraints = opweave.distributions.constraints
    >>> constraints.independent(constraints.positive, 1).check(opweave.ones(3))
    tensor(True)
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        super().__init__()
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]  # follows another's
        """Whether the values are whole numbers."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]  # follows another's
        """How many dimensions make one value."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Any) -> Any:
        count, found = self.reinterpreted_batch_ndims, self.base_constraint.check(value)
        if found.ndim < count:
            raise ShapeError(
                f"{self!r}: a value has {self.event_dim} dimensions at least", got=describe(value),
                hint="the last dimensions make one value",
            )  # fmt: skip
        return found.flatten(-count).all(-1) if count else found

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """Values that a constraint allows for each of a mixture's components.

    Examples
    --------
    >>> constraints = opweave.distributions.constraints
    >>> constraints.MixtureSameFamilyConstraint(constraints.positive).check(opweave.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        super().__init__()
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]  # follows another's
        """Whether the values are whole numbers."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]  # follows another's
        """How many dimensions make one value."""
        return self.base_constraint.event_dim

    def check(self, value: Any) -> Any:
        found = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return found.flatten(value.ndim - self.event_dim).all(-1) if found.ndim > value.ndim - self.event_dim else found

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Parts(Constraint):
    """Constraints of parts of a value along a dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        super().__init__()
        self.cseq, self.dim = list(cseq), dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]  # follows others'
        """Whether some values are whole numbers."""
        return any(part.is_discrete for part in self.cseq)


class _Cat(_Parts):
    """Constraints of parts of a value that lie one behind the other.

    Examples
    --------
    >>> constraints = opweave.distributions.constraints
    >>> both = constraints.cat([constraints.positive, constraints.real], 0, [1, 2])
    >>> both.check(opweave.tensor([-1.0, -2.0, 3.0]))
    tensor([False,  True,  True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)

    @property
    def event_dim(self) -> int:  # type: ignore[override]  # follows others'
        """How many dimensions make one value."""
        return max(part.event_dim for part in self.cseq)

    def check(self, value: Any) -> Any:
        pieces = ops.aten.split_with_sizes.default(value, self.lengths, self.dim)
        checked = [part.check(piece) for part, piece in zip(self.cseq, pieces, strict=True)]
        return ops.aten.cat.default(checked, self.dim)


class _Stack(_Parts):
    """A constraint for each place along a dimension.

    Examples
    --------
    >>> constraints = opweave.distributions.constraints
    >>> constraints.stack([constraints.positive, constraints.real], 0).check(opweave.tensor([-1.0, -2.0]))
    tensor([False,  True])
    """

    @property
    def event_dim(self) -> int:  # type: ignore[override]  # follows others'
        """How many dimensions make one value."""
        dim = max(part.event_dim for part in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Any) -> Any:
        pieces = ops.aten.unbind.int(value, self.dim)
        return ops.aten.stack.default([p.check(v) for p, v in zip(self.cseq, pieces, strict=True)], self.dim)


class _Dependent(Constraint):
    """A support that depends on parameters: of no use where there are none.

    Examples
    --------
    >>> dependent = opweave.distributions.constraints.dependent
    >>> dependent(is_discrete=False, event_dim=1).event_dim
    1
    """

    def __init__(self, *, is_discrete: Any = None, event_dim: Any = None) -> None:
        super().__init__()
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]  # may be unknown
        """Whether the values are whole numbers."""
        return self._known("is_discrete", self._is_discrete)

    @property
    def event_dim(self) -> int:  # type: ignore[override]  # may be unknown
        """How many dimensions make one value."""
        return self._known("event_dim", self._event_dim)

    def _known(self, name: str, value: Any) -> Any:
        if value is None:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    def __call__(self, *, is_discrete: Any = None, event_dim: Any = None) -> _Dependent:
        """The same with what is known."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is None else is_discrete,
            event_dim=self._event_dim if event_dim is None else event_dim,
        )

    def check(self, value: Any) -> Any:
        raise ValueError("Cannot determine validity of dependent constraint")


class _DependentProperty(property, _Dependent):
    """A property that is a `dependent` constraint of the class; `dependent_property(is_discrete=...)` decorates.

    Examples
    --------
    >>> constraints = opweave.distributions.constraints
    >>> class Below:
    ...     @constraints.dependent_property(is_discrete=False, event_dim=0)
    ...     def support(self):
    ...         return constraints.less_than(3.0)
    >>> Below.support.event_dim, Below().support
    (0, LessThan(upper_bound=3.0))
    """

    def __init__(self, fn: Any = None, *, is_discrete: Any = None, event_dim: Any = None) -> None:
        super().__init__(fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Any) -> Any:  # type: ignore[override]  # it decorates
        """Decorate a method."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on parameters.

    Examples
    --------
    >>> constraints = opweave.distributions.constraints
    >>> constraints.is_dependent(constraints.dependent), constraints.is_dependent(constraints.real)
    (True, False)
    """
    return isinstance(constraint, _Dependent)


dependent, dependent_property = _Dependent(), _DependentProperty
independent, cat, stack = _IndependentConstraint, _Cat, _Stack
boolean, one_hot, real = _Boolean(), _OneHot(), _Real()
real_vector = independent(real, 1)
greater_than, greater_than_eq, less_than = _GreaterThan, _GreaterThanEq, _LessThan
interval, half_open_interval, integer_interval = _Interval, _HalfOpenInterval, _IntegerInterval
positive, nonnegative, unit_interval = _GreaterThan(0.0), _GreaterThanEq(0.0), _Interval(0.0, 1.0)
positive_vector = independent(positive, 1)
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
multinomial = _Multinomial
simplex, lower_triangular, lower_cholesky, corr_cholesky = (
    _Simplex(),
    _LowerTriangular(),
    _LowerCholesky(),
    _CorrCholesky(),
)
square, symmetric = _Square(), _Symmetric()
positive_semidefinite, positive_definite = _PositiveSemidefinite(), _PositiveDefinite()


def __dir__() -> list[str]:
    return sorted(__all__)
