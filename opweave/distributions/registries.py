"""`biject_to` and `transform_to`: transforms of unconstrained numbers to what a constraint allows.

scale = transform_to(constraints.positive)(raw)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.distributions.constraints import (
    Constraint,
    cat,
    corr_cholesky,
    greater_than,
    greater_than_eq,
    half_open_interval,
    independent,
    interval,
    less_than,
    lower_cholesky,
    positive_definite,
    positive_semidefinite,
    real,
    simplex,
    stack,
)
from opweave.distributions.transforms import (
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SigmoidTransform,
    SoftmaxTransform,
    StackTransform,
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
        self._factories: dict[type[Constraint], Factory] = {}

    def register(self, constraint: Constraint | type[Constraint], factory: Factory | None = None) -> Any:
        """Have a function make the transform for constraints of this one's class; without it, a decorator.

        Parameters
        ----------
        constraint : Constraint or type
            The class, or one of it.
        factory : callable, optional
            Given a constraint, makes the transform.
        """
        if factory is None:
            return lambda made: self.register(constraint, made)
        self._factories[constraint if isinstance(constraint, type) else type(constraint)] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        """The transform whose values are those that a constraint allows.

        Raises
        ------
        UnsupportedError
            If there is none for constraints of this class.
        """
        factory = self._factories.get(type(constraint))
        if factory is None:
            raise UnsupportedError(
                f"{self.name}: no transform to {constraint}", hint=f"{self.name}.register(constraint, factory) adds one"
            )
        return factory(constraint)


#: Transforms with an inverse and a density.
biject_to = ConstraintRegistry("biject_to")
#: Transforms that may take more numbers than there are degrees of freedom, which suits optimizers.
transform_to = ConstraintRegistry("transform_to")


def _above(c: Any) -> Transform:
    if isinstance(c.lower_bound, (int, float)) and c.lower_bound == 0:
        return ExpTransform()
    return ComposeTransform([ExpTransform(), AffineTransform(c.lower_bound, 1)])


def _below(c: Any) -> Transform:
    return ComposeTransform([ExpTransform(), AffineTransform(c.upper_bound, -1)])


def _between(c: Any) -> Transform:
    low, high = c.lower_bound, c.upper_bound
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and (low, high) == (0, 1):
        return SigmoidTransform()
    return ComposeTransform([SigmoidTransform(), AffineTransform(low, high - low)])


def _each(to: ConstraintRegistry) -> Factory:
    return lambda c: IndependentTransform(to(c.base_constraint), c.reinterpreted_batch_ndims)  # type: ignore[attr-defined]


def _parts(to: ConstraintRegistry, make: Any) -> Factory:
    return lambda c: make([to(part) for part in c.cseq], c.dim, *([c.lengths] if hasattr(c, "lengths") else []))  # type: ignore[attr-defined]


for _registry in (biject_to, transform_to):
    _registry.register(real, lambda c: identity_transform)
    for _kind in (greater_than, greater_than_eq):
        _registry.register(_kind, _above)
    _registry.register(less_than, _below)
    for _kind in (interval, half_open_interval):
        _registry.register(_kind, _between)
    _registry.register(independent, _each(_registry))
    _registry.register(cat, _parts(_registry, CatTransform))
    _registry.register(stack, _parts(_registry, StackTransform))
    _registry.register(corr_cholesky, lambda c: CorrCholeskyTransform())
    _registry.register(lower_cholesky, lambda c: LowerCholeskyTransform())
    for _kind in (positive_definite, positive_semidefinite):
        _registry.register(_kind, lambda c: PositiveDefiniteTransform())
biject_to.register(simplex, lambda c: StickBreakingTransform())
transform_to.register(simplex, lambda c: SoftmaxTransform())
