"""Random numbers whose distributions have parameters for each element: Poisson's, binomial, gamma's, Dirichlet's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import bound, call, stretched, wrap
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.creation import layout_like
from opweave.registry.ops.gradients import zeros
from opweave.registry.ops.kinds import extern
from opweave.registry.ops.random import filled
from opweave.registry.ops.samples import Make
from opweave.registry.promote import broadcast_shapes
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten
_SEEDED = "nondeterministic_seeded"


def _same(self: Tensor, *_: Any) -> TensorSpec:
    return layout_like("a sample", self, None, None, None)


def _check(op: str, holds: Callable[[Any], Any], what: str, *tensors: Tensor) -> None:
    for t in tensors:
        if not t._dtype.is_floating_point:
            raise DTypeError(f"{op}: only floating types", got=describe(t))
        if t._storage.owner is not None and not bool(holds(t._array).all()):
            raise ArgumentError(f"{op}: {what}", got=describe(t))


@extern("aten::poisson(Tensor self, Generator? generator=None) -> Tensor", spec=_same, tags=_SEEDED, outs="out")
def poisson(self: Tensor, generator: Any = None) -> Tensor:
    """Numbers of events at rates that the elements are."""
    _check("poisson", lambda x: x >= 0, "a rate must not be negative", self)
    return filled(_same(self), lambda source, _: source.poisson(self._array.astype(np.float64)), generator)


def _binomial_spec(count: Tensor, prob: Tensor, *_: Any) -> TensorSpec:
    if count._dtype is not prob._dtype:
        raise DTypeError(
            "binomial: expected one dtype", got=describe([count, prob]), hint="convert one with .to(dtype)"
        )
    return contiguous(broadcast_shapes("binomial", count._sizes, prob._sizes), count._dtype, count._device)


@extern("aten::binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor", spec=_binomial_spec,
        tags=_SEEDED, outs="out")  # fmt: skip
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Numbers of successes in `count` trials, each of chance `prob`."""
    _check("binomial", lambda x: x >= 0, "a count must not be negative", count)
    _check("binomial", lambda x: (x >= 0) & (x <= 1), "the elements are probabilities", prob)
    found = _binomial_spec(count, prob)

    def drawn(source: Any, _: Any) -> Any:
        xp = count._device.xp
        n, p = (xp.broadcast_to(t._array, found.sizes).astype(np.float64) for t in (count, prob))
        return source.binomial(n.astype(np.int64), p)

    return filled(found, drawn, generator)


@extern("aten::_standard_gamma(Tensor self, Generator? generator=None) -> Tensor", spec=_same, tags=_SEEDED, outs="out")
def standard_gamma(self: Tensor, generator: Any = None) -> Tensor:
    """Numbers of gamma distributions whose shapes the elements are; never 0."""
    _check("_standard_gamma", lambda x: x >= 0, "a shape must not be negative", self)
    least = float(np.finfo(self._dtype.compute.numpy).tiny)

    def drawn(source: Any, _: Any) -> Any:
        return self._device.xp.maximum(source.standard_gamma(self._array.astype(np.float64)), least)

    return filled(_same(self), drawn, generator)


#: Nodes and weights of Gauss and Legendre on [0, 1].
@functools.cache
def _nodes() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    nodes, weights = np.polynomial.legendre.leggauss(64)
    return (nodes + 1) / 2, weights / 2


def _gamma_slopes(xp: Any, shape: Any, x: Any, digamma: Any) -> Any:
    """The derivative of a draw `x` by its distribution's shape, at the same quantile.

    It is minus the derivative of the distribution function by the shape, over the density. As an integral over log t,
    from the draw to the nearer tail, integrands have no cancellation and one scale.
    """
    below = x < shape

    def exponent(s: Any, shape: Any, x: Any, below: Any) -> Any:
        return xp.where(below, -shape * s - x * xp.expm1(-s), shape * s - x * xp.expm1(s))

    low, high = xp.full(x.shape, 1e-12), xp.where(below, 1e6 / xp.minimum(shape, 1.0), 100.0)
    for _ in range(60):  # where the integrand has become e**-40
        middle = xp.sqrt(low * high)
        beyond = exponent(middle, shape, x, below) < -40
        low, high = xp.where(beyond, low, middle), xp.where(beyond, middle, high)
    nodes, weights = map(xp.asarray, _nodes())
    s = high[..., None] * nodes
    wide = tuple(a[..., None] for a in (shape, x, below))
    away = xp.log(x)[..., None] + xp.where(wide[2], -s, s) - digamma[..., None]
    total = (xp.exp(exponent(s, *wide)) * away * weights).sum(-1) * high * x
    return xp.where(below, -total, total)


@extern("aten::_standard_gamma_grad(Tensor self, Tensor output) -> Tensor", spec=_same, outs="out")
def standard_gamma_grad(self: Tensor, output: Tensor) -> Tensor:
    """How draws of gamma distributions change with the shapes."""
    found = allocate_like(_same(self))
    with np.errstate(all="ignore"):
        shape, x = self._array.astype(np.float64), output._array.astype(np.float64)
        psi = aten.digamma.default(aten._to_copy.default(self, dtype=dtypes.float64))._array
        found._array[...] = _gamma_slopes(self._device.xp, shape, x, psi)
    return found


@standard_gamma_grad.batching
def _slopes_of_batch(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return wrap(call(op, {name: stretched(t, level) for name, t in bound(op, args, kwargs).items()}), level)


standard_gamma.backward(self=lambda grad, self, result: grad * aten._standard_gamma_grad.default(self, result))


@extern(
    "aten::_sample_dirichlet(Tensor self, Generator? generator=None) -> Tensor", spec=_same, tags=_SEEDED, outs="out"
)
def sample_dirichlet(self: Tensor, generator: Any = None) -> Tensor:
    """Points of simplices, one for each row of concentrations."""
    _check("_sample_dirichlet", lambda x: x > 0, "a concentration must be positive", self)
    if not self.ndim:
        raise ShapeError("_sample_dirichlet: expected at least 1 dimension", got=describe(self))
    least = float(np.finfo(self._dtype.compute.numpy).tiny)

    def drawn(source: Any, _: Any) -> Any:
        xp = self._device.xp
        parts = xp.maximum(source.standard_gamma(self._array.astype(np.float64)), least)
        return xp.clip(parts / parts.sum(-1, keepdims=True), least, 1.0)

    return filled(_same(self), drawn, generator)


poisson.backward(self=zeros)
binomial.backward(count=zeros, prob=zeros)


def _shapes(make: Make) -> Iterator[Any]:
    yield (make(3, 4, low=0.5, high=5.0),), {}
    yield (make(0, low=0.5, high=5.0),), {}


for _decl in (poisson, standard_gamma, sample_dirichlet):
    _decl.with_samples(_shapes)
    _decl.sample_dtypes = (dtypes.float32, dtypes.float64)
standard_gamma_grad.with_samples(lambda make: [((make(3, 4, low=0.5, high=5.0), make(3, 4, low=0.1, high=9.0)), {})])
binomial.with_samples(lambda make: [((make(3, 1, low=0.0, high=9.0).floor(), make(4, low=0.0, high=1.0)), {})])
for _decl in (standard_gamma_grad, binomial):
    _decl.sample_dtypes = (dtypes.float32, dtypes.float64)
