"""The divergence of Kullback and Leibler between distributions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from opweave.distributions.continuous import Beta, Exponential, Gamma, Laplace, Normal, Uniform
from opweave.distributions.counts import Geometric
from opweave.distributions.discrete import Bernoulli, Binomial, Categorical, OneHotCategorical, Poisson
from opweave.distributions.distribution import Distribution, aten
from opweave.distributions.heavy import Cauchy, Pareto
from opweave.distributions.positive import EULER, Gumbel, HalfNormal, LogNormal
from opweave.distributions.transformed import TransformedDistribution
from opweave.distributions.transforms import sum_rightmost
from opweave.distributions.vectors import Dirichlet, Independent, MultivariateNormal
from opweave.registry.errors import ArgumentError, UnsupportedError

Rule = Callable[[Any, Any], Any]
_RULES: dict[tuple[type, type], Rule] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Rule], Rule]:
    """A decorator: the function gives the divergence of distributions of these classes.

    Raises
    ------
    ArgumentError
        If one is no class of distributions.

    Examples
    --------
    >>> class Mine(opweave.distributions.Normal):
    ...     pass
    >>> @opweave.distributions.register_kl(Mine, Mine)
    ... def divergence(p, q):
    ...     return opweave.zeros(())
    >>> mine = Mine(opweave.tensor(0.0), 1.0)
    >>> opweave.distributions.kl_divergence(mine, mine)
    tensor(0.)
    """
    for kind in (type_p, type_q):
        if not isinstance(kind, type):  # libraries have distributions of their own
            raise ArgumentError("register_kl: expected classes of distributions", got=repr(kind), hint="type(p)")

    def register(rule: Rule) -> Rule:
        _RULES[type_p, type_q] = rule
        return rule

    return register


def kl_divergence(p: Distribution, q: Distribution) -> Any:
    """The divergence of q from p: the mean under p of log(p / q).

    Raises
    ------
    UnsupportedError
        If there is no formula for these classes.

    Examples
    --------
    >>> Normal = opweave.distributions.Normal
    >>> opweave.distributions.kl_divergence(Normal(opweave.tensor(0.0), 1.0), Normal(opweave.tensor(1.0), 1.0))
    tensor(0.5000)
    """
    # The nearest classes that a rule is for.
    for kind_p in type(p).__mro__:
        for kind_q in type(q).__mro__:
            rule = _RULES.get((kind_p, kind_q))
            if rule is not None:
                return rule(p, q)
    raise UnsupportedError(
        f"kl_divergence: no formula for {type(p).__name__} and {type(q).__name__}", hint="register_kl adds one"
    )


@register_kl(Normal, Normal)
def _(p: Normal, q: Normal) -> Any:
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(LogNormal, LogNormal)
def _(p: LogNormal, q: LogNormal) -> Any:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Bernoulli, Bernoulli)
def _(p: Bernoulli, q: Bernoulli) -> Any:
    softplus = aten.softplus.default
    succeed = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    fail = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    first = aten.where.self(p.probs == 0, 0, aten.where.self(q.probs == 0, float("inf"), succeed))
    second = aten.where.self(p.probs == 1, 0, aten.where.self(q.probs == 1, float("inf"), fail))
    return first + second


@register_kl(Binomial, Binomial)
def _(p: Binomial, q: Binomial) -> Any:
    found = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return aten.where.self(p.total_count > q.total_count, float("inf"), found)


@register_kl(Categorical, Categorical)
def _(p: Categorical, q: Categorical) -> Any:
    parts = p.probs * (p.logits - q.logits)
    parts = aten.where.self((q.probs == 0).expand_as(parts), float("inf"), parts)
    return aten.where.self((p.probs == 0).expand_as(parts), 0, parts).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _(p: OneHotCategorical, q: OneHotCategorical) -> Any:
    return kl_divergence(p._categorical, q._categorical)


@register_kl(Poisson, Poisson)
def _(p: Poisson, q: Poisson) -> Any:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Exponential, Exponential)
def _(p: Exponential, q: Exponential) -> Any:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Laplace, Laplace)
def _(p: Laplace, q: Laplace) -> Any:
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * (-away / p.scale).exp() - 1


@register_kl(Uniform, Uniform)
def _(p: Uniform, q: Uniform) -> Any:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return aten.where.self((q.low > p.low) | (q.high < p.high), float("inf"), found)


@register_kl(Gamma, Gamma)
def _(p: Gamma, q: Gamma) -> Any:
    a, b = p.concentration, q.concentration
    return (
        b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)
    )


@register_kl(Beta, Beta)
def _(p: Beta, q: Beta) -> Any:
    size = q.concentration1.lgamma() + q.concentration0.lgamma() + p._total.lgamma()
    size = size - p.concentration1.lgamma() - p.concentration0.lgamma() - q._total.lgamma()
    first = (p.concentration1 - q.concentration1) * p.concentration1.digamma()
    second = (p.concentration0 - q.concentration0) * p.concentration0.digamma()
    return size + first + second + (q._total - p._total) * p._total.digamma()


@register_kl(Dirichlet, Dirichlet)
def _(p: Dirichlet, q: Dirichlet) -> Any:
    a, b = p.concentration, q.concentration
    total = a.sum(-1, keepdim=True)
    size = total.squeeze(-1).lgamma() - b.sum(-1).lgamma() + (b.lgamma() - a.lgamma()).sum(-1)
    return size + ((a - b) * (a.digamma() - total.digamma())).sum(-1)


@register_kl(MultivariateNormal, MultivariateNormal)
def _(p: MultivariateNormal, q: MultivariateNormal) -> Any:
    n = p.event_shape[0]
    factors = aten.broadcast_tensors.default([q.scale_tril, p.scale_tril])
    solve = functools.partial(aten.linalg_solve_triangular.default, upper=False)
    trace = (solve(factors[0], factors[1]) ** 2).flatten(-2).sum(-1)
    away = (q.loc - p.loc).unsqueeze(-1)
    far = (solve(factors[0], away.expand((*factors[0]._sizes[:-2], n, 1))) ** 2).flatten(-2).sum(-1)
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + far - n)


@register_kl(Independent, Independent)
def _(p: Independent, q: Independent) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise UnsupportedError("kl_divergence: of Independent with other numbers of dimensions there is no formula")
    return p._summed(kl_divergence(p.base_dist, q.base_dist))


@register_kl(Cauchy, Cauchy)
def _(p: Cauchy, q: Cauchy) -> Any:
    return ((p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2).log() - (4 * p.scale * q.scale).log()


@register_kl(Geometric, Geometric)
def _(p: Geometric, q: Geometric) -> Any:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _(p: Gumbel, q: Gumbel) -> Any:
    ratio, away = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return -ratio.log() + away + ratio * EULER + ((1 + ratio).lgamma() - away).exp() - (1 + EULER)


@register_kl(HalfNormal, HalfNormal)
def _(p: HalfNormal, q: HalfNormal) -> Any:
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Pareto, Pareto)
def _(p: Pareto, q: Pareto) -> Any:
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return aten.where.self(p.scale < q.scale, float("inf"), found)


@register_kl(TransformedDistribution, TransformedDistribution)
def _(p: TransformedDistribution, q: TransformedDistribution) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise UnsupportedError("kl_divergence: of values that are transformed in different ways there is no formula")
    extra = len(p.event_shape) - len(p.base_dist.event_shape)
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), extra)


@register_kl(Exponential, Gamma)
def _(p: Exponential, q: Gamma) -> Any:
    ratio = q.rate / p.rate
    return -q.concentration * ratio.log() + ratio + q.concentration.lgamma() + q.concentration * EULER - (1 + EULER)


@register_kl(Gamma, Exponential)
def _(p: Gamma, q: Exponential) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Laplace, Normal)
def _(p: Laplace, q: Normal) -> Any:
    variance = q.scale**2
    ratio = p.scale**2 / variance
    half = 0.5 * (math.log(2 / math.pi) + ratio.log())
    return -half + ratio + 0.5 * p.loc**2 / variance - p.loc * q.loc / variance + 0.5 * q.loc**2 / variance - 1


@register_kl(Uniform, Normal)
def _(p: Uniform, q: Normal) -> Any:
    width = p.high - p.low
    size = (math.sqrt(math.pi * 2) * q.scale / width).log()
    return size + (width**2 / 12 + ((p.high + p.low - 2 * q.loc) / 2) ** 2) / (2 * q.scale**2)
