"""`biject_to` and `transform_to`: transforms of unconstrained numbers to what a constraint allows.

scale = transform_to(constraints.positive)(raw)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.distributions.constraints import (
    Constraint,
    corr_cholesky,
    lower_cholesky,
    positive_definite,
    real,
    simplex,
)
from opweave.distributions.transforms import (
    AffineTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SigmoidTransform,
    SoftmaxTransform,
    StickBreakingTransform,
    Transform,
    identity_transform,
)
from opweave.registry.errors import UnsupportedError

Factory = Callable[[Constraint], Transform]


class ConstraintRegistry:
    """Transforms by the sorts of constraints.

    Examples
    --------
    >>> opweave.distributions.transform_to(opweave.distributions.constraints.positive)(opweave.zeros(1))
    tensor([1.])
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._factories: dict[str, Factory] = {}

    def register(self, constraint: Constraint, factory: Factory | None = None) -> Any:
        """Have a function make the transform for constraints of this one's kind; without it, a decorator.

        Parameters
        ----------
        constraint : Constraint
            One of that kind.
        factory : callable, optional
            Given a constraint, makes the transform.
        """
        if factory is None:
            return lambda made: self.register(constraint, made)
        self._factories[constraint.kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        """The transform whose values are those that a constraint allows.

        Raises
        ------
        UnsupportedError
            If there is none for constraints of this kind.
        """
        factory = self._factories.get(constraint.kind)
        if factory is None:
            raise UnsupportedError(
                f"{self.name}: no transform to {constraint}", hint=f"{self.name}.register(constraint, factory) adds one"
            )
        return factory(constraint)


#: Transforms with an inverse and a density.
biject_to = ConstraintRegistry("biject_to")
#: Transforms that may take more numbers than there are degrees of freedom, which suits optimizers.
transform_to = ConstraintRegistry("transform_to")


def _above(c: Constraint) -> Transform:
    return ExpTransform() if c.bounds == (0.0,) else ComposeTransform([ExpTransform(), AffineTransform(c.bounds[0], 1)])


def _below(c: Constraint) -> Transform:
    return ComposeTransform([ExpTransform(), AffineTransform(c.bounds[0], -1)])


def _between(c: Constraint) -> Transform:
    low, high = c.bounds
    if c.bounds == (0.0, 1.0):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


for _registry in (biject_to, transform_to):
    _registry.register(real, lambda c: identity_transform)
    for _kind in ("GreaterThan", "GreaterThanEq"):
        _registry._factories[_kind] = _above
    _registry._factories["LessThan"] = _below
    for _kind in ("Interval", "HalfOpenInterval"):
        _registry._factories[_kind] = _between
    _registry._factories["IndependentConstraint"] = lambda c, to=_registry: IndependentTransform(
        to(c.bounds[0]), c.bounds[1]
    )
    _registry.register(corr_cholesky, lambda c: CorrCholeskyTransform())
    _registry.register(lower_cholesky, lambda c: LowerCholeskyTransform())
    _registry.register(positive_definite, lambda c: PositiveDefiniteTransform())
biject_to.register(simplex, lambda c: StickBreakingTransform())
transform_to.register(simplex, lambda c: SoftmaxTransform())
