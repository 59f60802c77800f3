"""What parameters and values of distributions must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor

__all__ = [
    "Constraint", "boolean", "corr_cholesky", "independent", "integer_interval", "interval", "lower_cholesky",
    "nonnegative", "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_vector", "real",
    "real_vector", "simplex", "unit_interval",
]  # fmt: skip

_ = _surface  # binds the operators


class Constraint:
    """Which values are allowed.

    Attributes
    ----------
    is_discrete : bool
        Whether they are whole numbers.
    event_dim : int
        How many dimensions make one value.
    kind : str
        What sort of constraint it is, by which `biject_to` and `transform_to` find a transform.
    bounds : tuple
        The ends of an interval; of a constraint that is made of another, that one and how many dimensions it adds.

    Examples
    --------
    >>> opweave.distributions.constraints.positive.check(opweave.tensor([-1.0, 2.0]))
    tensor([False,  True])
    """

    def __init__(
        self, name: str, holds: Callable[[Any], Any], *, is_discrete: bool = False, event_dim: int = 0,
        kind: str = "", bounds: tuple[Any, ...] = (),
    ):  # fmt: skip
        self.name = name
        self.kind = kind or name.partition("(")[0]
        self.bounds = bounds
        self.is_discrete = is_discrete
        self.event_dim = event_dim
        self._holds = holds

    def check(self, value: Tensor) -> Tensor:
        """A bool tensor: which values are allowed."""
        return self._holds(value)

    def __repr__(self) -> str:
        return self.name


def _cholesky(value: Any) -> Any:
    lower = (value.tril() == value).flatten(-2).all(-1)
    return lower & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _correlation(value: Any) -> Any:
    eps = {8: 2.0**-52, 4: 2.0**-23}.get(value._dtype.itemsize, 2.0**-7)
    unit = ((value.norm(dim=-1) - 1).abs() <= 10 * eps * value._sizes[-1]).all(-1)
    return unit & _cholesky(value)


def _definite(value: Any) -> Any:
    symmetric = ((value - value.mT).abs() <= 1e-6 * (1 + value.abs())).flatten(-2).all(-1)
    return symmetric & (ops.aten.linalg_cholesky_ex.default(value)[1] == 0)


real = Constraint("Real()", lambda x: x == x)
real_vector = Constraint("IndependentConstraint(Real(), 1)", lambda x: (x == x).all(-1), event_dim=1, bounds=(real, 1))
boolean = Constraint("Boolean()", lambda x: (x == 0) | (x == 1), is_discrete=True)
positive = Constraint("GreaterThan(lower_bound=0.0)", lambda x: x > 0, bounds=(0.0,))
nonnegative = Constraint("GreaterThanEq(lower_bound=0.0)", lambda x: x >= 0, bounds=(0.0,))
positive_integer = Constraint("IntegerGreaterThan(lower_bound=1)", lambda x: (x % 1 == 0) & (x >= 1), is_discrete=True)
nonnegative_integer = Constraint(
    "IntegerGreaterThan(lower_bound=0)", lambda x: (x % 1 == 0) & (x >= 0), is_discrete=True
)
unit_interval = Constraint(
    "Interval(lower_bound=0.0, upper_bound=1.0)", lambda x: (x >= 0) & (x <= 1), bounds=(0.0, 1.0)
)
simplex = Constraint("Simplex()", lambda x: (x >= 0).all(-1) & ((x.sum(-1) - 1).abs() < 1e-6), event_dim=1)
one_hot = Constraint(
    "OneHot()", lambda x: ((x == 0) | (x == 1)).all(-1) & (x.sum(-1) == 1), is_discrete=True, event_dim=1
)
lower_cholesky = Constraint("LowerCholesky()", _cholesky, event_dim=2)
corr_cholesky = Constraint("CorrCholesky()", _correlation, event_dim=2)
positive_definite = Constraint("PositiveDefinite()", _definite, event_dim=2)
positive_vector = Constraint(
    "IndependentConstraint(GreaterThan(lower_bound=0.0), 1)", lambda x: (x > 0).all(-1), event_dim=1,
    bounds=(positive, 1),
)  # fmt: skip
lower_triangular = Constraint("LowerTriangular()", lambda x: (x.tril() == x).flatten(-2).all(-1), event_dim=2)


def interval(low: Any, high: Any) -> Constraint:
    """Numbers from `low` to `high`.

    Examples
    --------
    >>> opweave.distributions.constraints.interval(0, 1).check(opweave.tensor([0.5, 2.0]))
    tensor([ True, False])
    """
    name = f"Interval(lower_bound={low}, upper_bound={high})"
    return Constraint(name, lambda x: (x >= low) & (x <= high), bounds=(low, high))


def half_open_interval(low: Any, high: Any) -> Constraint:
    """Numbers from `low` to below `high`."""
    name = f"HalfOpenInterval(lower_bound={low}, upper_bound={high})"
    return Constraint(name, lambda x: (x >= low) & (x < high), bounds=(low, high))


def greater_than(low: Any) -> Constraint:
    """Numbers above `low`."""
    return Constraint(f"GreaterThan(lower_bound={low})", lambda x: x > low, bounds=(low,))


def greater_than_eq(low: Any) -> Constraint:
    """Numbers from `low` on."""
    return Constraint(f"GreaterThanEq(lower_bound={low})", lambda x: x >= low, bounds=(low,))


def less_than(high: Any) -> Constraint:
    """Numbers below `high`."""
    return Constraint(f"LessThan(upper_bound={high})", lambda x: x < high, bounds=(high,))


def multinomial(total: Any) -> Constraint:
    """Counts that add up to `total`."""
    return Constraint("Multinomial()", lambda x: (x >= 0).all(-1) & (x.sum(-1) == total), is_discrete=True, event_dim=1)


def integer_interval(low: Any, high: Any) -> Constraint:
    """Whole numbers from `low` to `high`.

    Examples
    --------
    >>> opweave.distributions.constraints.integer_interval(0, 3).check(opweave.tensor([0.5, 2.0]))
    tensor([False,  True])
    """
    return Constraint(
        f"IntegerInterval(lower_bound={low}, upper_bound={high})",
        lambda x: (x % 1 == 0) & (x >= low) & (x <= high), is_discrete=True,
    )  # fmt: skip


def independent(base: Constraint, count: int) -> Constraint:
    """A constraint of whose values `count` dimensions make one.

    Examples
    --------
    >>> constraints = opweave.distributions.constraints
    >>> constraints.independent(constraints.positive, 1).check(opweave.ones(3))
    tensor(True)
    """

    def holds(value: Any) -> Any:
        found = base.check(value)
        return found.flatten(-count).all(-1) if count else found

    name = f"IndependentConstraint({base}, {count})"
    return Constraint(name, holds, is_discrete=base.is_discrete, event_dim=base.event_dim + count, bounds=(base, count))


def __dir__() -> list[str]:
    return sorted(__all__)
