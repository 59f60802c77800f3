"""Transforms of values, with their inverses and densities; the names of `torch.distributions.transforms`.

t = ComposeTransform([AffineTransform(0.0, 2.0), TanhTransform()])
y = t(x)
t.inv(y), t.log_abs_det_jacobian(x, y)
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

from opweave.distributions import constraints
from opweave.distributions.constraints import Constraint
from opweave.distributions.distribution import Distribution, aten
from opweave.distributions.transform import (
    ComposeTransform as ComposeTransform,
    IndependentTransform as IndependentTransform,
    PlainTransform,
    ReshapeTransform as ReshapeTransform,
    Transform,
    identity_transform as identity_transform,
    sum_rightmost,
)
from opweave.registry.errors import ShapeError
from opweave.registry.promote import broadcast_shapes
from opweave.registry.tensor import Tensor


class ExpTransform(PlainTransform):
    """The exponential.

    Examples
    --------
    >>> opweave.distributions.ExpTransform()(opweave.tensor([0.0]))
    tensor([1.])
    """

    codomain = constraints.positive
    bijective = True
    sign = +1  # type: ignore[assignment]

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return x


class PowerTransform(Transform):
    """A power of positive numbers.

    Examples
    --------
    >>> opweave.distributions.PowerTransform(2.0)(opweave.tensor([3.0]))
    tensor([9.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = exponent if isinstance(exponent, Tensor) else aten.full.default([], exponent)

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

    def _call(self, x: Any) -> Any:
        return x**self.exponent

    def _inverse(self, y: Any) -> Any:
        return y ** self.exponent.reciprocal()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return (self.exponent * y / x).abs().log()


class SigmoidTransform(PlainTransform):
    """The logistic function.

    Examples
    --------
    >>> opweave.distributions.SigmoidTransform()(opweave.tensor([0.0]))
    tensor([0.5000])
    """

    codomain = constraints.unit_interval
    bijective = True
    sign = +1  # type: ignore[assignment]

    def _call(self, x: Any) -> Any:
        return _within(x.sigmoid())

    def _inverse(self, y: Any) -> Any:
        y = _within(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -aten.softplus.default(-x) - aten.softplus.default(x)


def _within(y: Any) -> Any:
    """Numbers of (0, 1), kept from its ends."""
    tiny, eps = {"float64": (2.0**-1022, 2.0**-52), "float32": (2.0**-126, 2.0**-23)}.get(
        y._dtype.name, (2.0**-14, 2.0**-10)
    )
    return y.clamp(tiny, 1 - eps)


class SoftplusTransform(PlainTransform):
    """`log(1 + exp(x))`.

    Examples
    --------
    >>> opweave.distributions.SoftplusTransform()(opweave.tensor([0.0]))
    tensor([0.6931])
    """

    codomain = constraints.positive
    bijective = True
    sign = +1  # type: ignore[assignment]

    def _call(self, x: Any) -> Any:
        return aten.softplus.default(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -aten.softplus.default(-x)


class TanhTransform(PlainTransform):
    """The hyperbolic tangent; with `cache_size=1` the inverse of an image is exact.

    Examples
    --------
    >>> opweave.distributions.TanhTransform()(opweave.tensor([0.0]))
    tensor([0.])
    """

    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1  # type: ignore[assignment]

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return 2.0 * (math.log(2.0) - x - aten.softplus.default(-2.0 * x))


class AbsTransform(PlainTransform):
    """The absolute value, of which the positive number is taken for the inverse.

    Examples
    --------
    >>> opweave.distributions.AbsTransform()(opweave.tensor([-2.0]))
    tensor([2.])
    """

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.abs()

    def _inverse(self, y: Any) -> Any:
        return y


class AffineTransform(Transform):
    """`loc + scale * x`; `event_dim` dimensions make one value.

    Examples
    --------
    >>> opweave.distributions.AffineTransform(1.0, 2.0)(opweave.tensor([3.0]))
    tensor([7.])
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    @property
    def sign(self) -> Any:
        return self.scale.sign() if isinstance(self.scale, Tensor) else (self.scale > 0) - (self.scale < 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        return all(
            bool((mine == its).all()) if isinstance(mine == its, Tensor) else mine == its
            for mine, its in ((self.loc, other.loc), (self.scale, other.scale))
        )

    def __hash__(self) -> int:
        return hash(AffineTransform)

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        shape, scale = x._sizes, self.scale
        if isinstance(scale, Tensor):
            found = scale.abs().log()
        else:
            found = aten.full_like.default(x, math.log(abs(scale)))
        if self._event_dim:
            return sum_rightmost(found.expand(shape), self._event_dim)
        return found.expand(shape)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return _joined(shape, self.loc, self.scale)

    inverse_shape = forward_shape


def _joined(shape: Sequence[int], *parameters: Any) -> tuple[int, ...]:
    return broadcast_shapes("AffineTransform", tuple(shape), *[p._sizes for p in parameters if isinstance(p, Tensor)])


class CumulativeDistributionTransform(Transform):
    """The distribution function of a distribution.

    Examples
    --------
    >>> d = opweave.distributions.Normal(0.0, 1.0)
    >>> opweave.distributions.CumulativeDistributionTransform(d)(opweave.tensor([0.0]))
    tensor([0.5000])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1  # type: ignore[assignment]

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return self.distribution.support

    def _call(self, x: Any) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self.distribution.log_prob(x)


class SoftmaxTransform(PlainTransform):
    """Logits to probabilities; many logits have the same, so there is no density.

    Examples
    --------
    >>> opweave.distributions.SoftmaxTransform()(opweave.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Any:
        found = (x - x.amax(-1, True)).exp()
        return found / found.sum(-1, True)

    def _inverse(self, y: Any) -> Any:
        return y.log()


class StickBreakingTransform(PlainTransform):
    """n numbers to n + 1 probabilities: each takes its part of what is left of a stick.

    Examples
    --------
    >>> opweave.distributions.StickBreakingTransform()(opweave.zeros(2))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _offset(x: Any) -> Any:
        """The logarithm of how many parts are left."""
        n = x._sizes[-1]
        return aten.arange.start_step(n, 0, -1, dtype=x._dtype, device=x._device).log()

    def _call(self, x: Any) -> Any:
        parts = _within((x - self._offset(x)).sigmoid())
        left = (1 - parts).cumprod(-1)
        one = aten.ones_like.default(left[..., :1])
        return aten.cat.default([parts, one], -1) * aten.cat.default([one, left], -1)

    def _inverse(self, y: Any) -> Any:
        first = y[..., :-1]
        tiny = 2.0**-1022 if y._dtype.itemsize == 8 else 2.0**-126
        left = (1 - first.cumsum(-1)).clamp(min=tiny)
        return first.log() - left.log() + self._offset(first)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        x = x - self._offset(x)
        return (-x + aten.log_sigmoid.default(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return (*shape[:-1], shape[-1] - 1)


class CorrCholeskyTransform(PlainTransform):
    """n(n − 1) / 2 numbers to the lower factor of an n × n correlation, whose rows have the length 1.

    The numbers go to (-1, 1) and stand in the rows below the diagonal, where each takes its part, with its sign, of
    what is left of the row's square.

    Examples
    --------
    >>> opweave.distributions.CorrCholeskyTransform()(opweave.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    @staticmethod
    def _below(matrix: Any, offset: int = -1) -> Any:
        """What stands below the diagonal, row by row."""
        n = matrix._sizes[-1]
        rows, columns = aten.tril_indices.default(n, n, offset, device=matrix._device).unbind()
        return matrix[..., rows, columns]

    def _call(self, x: Any) -> Any:
        eps = 2.0**-52 if x._dtype.itemsize == 8 else 2.0**-23
        x = x.tanh().clamp(-1 + eps, 1 - eps)
        n = self.forward_shape(x._sizes)[-1]
        rows, columns = aten.tril_indices.default(n, n, -1, device=x._device).unbind()
        places = aten.zeros.default([n, n], dtype=rows._dtype, device=x._device)
        places = aten.index_put.default(places, [rows, columns], aten.arange.default(x._sizes[-1], device=x._device))
        lower = aten.ones.default([n, n], dtype=x._dtype, device=x._device).tril(-1)
        parts = x[..., places] * lower
        left = (1 - parts**2).sqrt().cumprod(-1)
        before = aten.cat.default([aten.ones_like.default(left[..., :1]), left[..., :-1]], -1)
        return (parts + aten.eye.default(n, dtype=x._dtype, device=x._device)) * before

    def _inverse(self, y: Any) -> Any:
        left = 1 - (y * y).cumsum(-1)
        before = aten.cat.default([aten.ones_like.default(left[..., :1]), left[..., :-1]], -1)
        part = self._below(y) / self._below(before).sqrt()
        return (part.log1p() - (-part).log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        left = self._below(1 - (y * y).cumsum(-1), -2)
        slope = x + aten.softplus.default(-2 * x) - math.log(2.0)
        return 0.5 * left.log().sum(-1) - 2 * slope.sum(-1)

    def forward_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        count = shape[-1] if len(shape) else 0
        n = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if not len(shape) or n * (n - 1) // 2 != count:
            raise ShapeError(
                "CorrCholeskyTransform: the last dimension has n(n - 1) / 2 numbers", got=repr(tuple(shape)),
                hint="3 of them for a matrix of 3 rows",
            )  # fmt: skip
        return (*shape[:-1], n, n)

    def inverse_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        if len(shape) < 2 or shape[-1] != shape[-2]:
            raise ShapeError("CorrCholeskyTransform: expected square matrices", got=repr(tuple(shape)))
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


class LowerCholeskyTransform(PlainTransform):
    """Matrices to lower ones with a positive diagonal; what is above it is dropped.

    Examples
    --------
    >>> opweave.distributions.LowerCholeskyTransform()(opweave.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Any:
        return x.tril(-1) + aten.diag_embed.default(x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y: Any) -> Any:
        return y.tril(-1) + aten.diag_embed.default(y.diagonal(dim1=-2, dim2=-1).log())


class PositiveDefiniteTransform(PlainTransform):
    """Matrices to positive definite ones, by their Cholesky factors.

    Examples
    --------
    >>> opweave.distributions.PositiveDefiniteTransform()(opweave.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Any:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Any:
        return LowerCholeskyTransform().inv(aten.linalg_cholesky.default(y))


class _Parts(Transform):
    """Transforms of parts along a dimension."""

    def __init__(self, transforms: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.transforms, self.dim = [t.with_cache(cache_size) for t in transforms], dim

    def _split(self, value: Any) -> list[Any]:
        raise NotImplementedError

    def _joined(self, values: list[Any]) -> Any:
        raise NotImplementedError

    def _paired(self, value: Any) -> Iterator[tuple[Transform, Any]]:
        return zip(self.transforms, self._split(value), strict=True)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return _widest([t.domain for t in self.transforms])

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return _widest([t.codomain for t in self.transforms])

    @property
    def bijective(self) -> Any:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self if cache_size == self._cache_size else type(self)(self.transforms, self.dim, cache_size=cache_size)

    def _call(self, x: Any) -> Any:
        return self._joined([t(part) for t, part in self._paired(x)])

    def _inverse(self, y: Any) -> Any:
        return self._joined([t.inv(part) for t, part in self._paired(y)])


def _widest(parts: list[Constraint]) -> Constraint:
    """What holds where each of the parts does, as far as its sizes tell."""
    return max(parts, key=lambda part: part.event_dim)


class StackTransform(_Parts):
    """Transforms, one for each index of a dimension.

    Examples
    --------
    >>> d = opweave.distributions
    >>> d.StackTransform([d.ExpTransform(), d.identity_transform], 0)(opweave.zeros(2))
    tensor([1., 0.])
    """

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return self._stacked(super().domain)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return self._stacked(super().codomain)

    def _stacked(self, part: Constraint) -> Constraint:
        """What holds of all of them, whose dimension is one of a value where it is counted from the end."""
        return constraints.independent(part, 1) if self.dim + part.event_dim < 0 else part

    def _split(self, value: Any) -> list[Any]:
        return list(aten.unbind.int(value, self.dim))

    def _joined(self, values: list[Any]) -> Any:
        return aten.stack.default(values, self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        pairs = zip(self._paired(x), self._split(y), strict=True)
        return aten.stack.default([t.log_abs_det_jacobian(a, b) for (t, a), b in pairs], self.dim)


class CatTransform(_Parts):
    """Transforms, one for each of some ranges of a dimension, of `lengths`.

    Examples
    --------
    >>> d = opweave.distributions
    >>> d.CatTransform([d.ExpTransform(), d.identity_transform], 0, [1, 2])(opweave.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = list(lengths) if lengths is not None else [1] * len(self.transforms)

    def with_cache(self, cache_size: int = 1) -> Any:
        if cache_size == self._cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _split(self, value: Any) -> list[Any]:
        return list(aten.split_with_sizes.default(value, self.lengths, self.dim))

    def _joined(self, values: list[Any]) -> Any:
        return aten.cat.default(values, self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        event_dim = self.domain.event_dim
        terms = [
            sum_rightmost(t.log_abs_det_jacobian(a, b), event_dim - t.domain.event_dim)
            for (t, a), b in zip(self._paired(x), self._split(y), strict=True)
        ]
        dim = self.dim if self.dim < 0 else self.dim - x.ndim
        if dim + event_dim < 0:
            return aten.cat.default(terms, dim + event_dim)
        return functools.reduce(operator.add, terms)
