"""Divergences of exponential families, of normal distributions of low rank, and of two classes beside each other."""

from __future__ import annotations

import math
from typing import Any

from opweave.distributions.continuous import Beta, Exponential, Gamma, Laplace, Normal, Uniform
from opweave.distributions.continuous_bernoulli import ContinuousBernoulli
from opweave.distributions.distribution import Distribution, aten
from opweave.distributions.divergence import register_kl
from opweave.distributions.exponential_family import ExponentialFamily
from opweave.distributions.heavy import Pareto
from opweave.distributions.low_rank import LowRankMultivariateNormal
from opweave.distributions.matrices import Wishart, multi_digamma
from opweave.distributions.positive import Gumbel
from opweave.distributions.vectors import MultivariateNormal
from opweave.registry.errors import ShapeError, UnsupportedError


def register_all() -> None:
    """Have `kl_divergence` know them."""
    register_kl(ExponentialFamily, ExponentialFamily)(_families)
    register_kl(Wishart, Wishart)(_wishart)
    register_kl(ContinuousBernoulli, ContinuousBernoulli)(_continuous_bernoulli)
    register_kl(ContinuousBernoulli, Exponential)(_to_exponential)
    register_kl(ContinuousBernoulli, Normal)(_to_normal)
    register_kl(ContinuousBernoulli, Uniform)(_to_uniform)
    register_kl(Beta, ContinuousBernoulli)(_to_continuous_bernoulli)
    register_kl(Uniform, ContinuousBernoulli)(_from_uniform)
    register_kl(ContinuousBernoulli, Pareto)(_infinite)
    for kind in (Exponential, Gamma, Gumbel, Laplace, Normal, Pareto):
        register_kl(kind, ContinuousBernoulli)(_infinite)
    register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)(_low_rank)
    register_kl(MultivariateNormal, LowRankMultivariateNormal)(_low_rank)
    register_kl(LowRankMultivariateNormal, MultivariateNormal)(_from_low_rank)


def _infinite(p: Distribution, q: Distribution) -> Any:
    """Where p has values that q has not."""
    like = next(iter(p._given_parameters().values()))
    return aten.full_like.default(like, math.inf)


def _families(p: ExponentialFamily, q: ExponentialFamily) -> Any:
    """A Bregman divergence of the normalizer."""
    if type(p) is not type(q):
        raise UnsupportedError(
            "kl_divergence: no formula for two exponential families",
            got=f"{type(p).__name__} and {type(q).__name__}", hint="register_kl adds one",
        )  # fmt: skip
    size, means = p.normalizer_and_means()
    found = q._log_normalizer(*q._natural_params) - size
    for mine, other, mean in zip(p._natural_params, q._natural_params, means, strict=True):
        away = (other - mine) * mean
        extra = away.ndim - found.ndim
        found = found - (away.sum(list(range(-extra, 0))) if extra > 0 else away)
    return found


def _wishart(p: Wishart, q: Wishart) -> Any:
    n = p.event_shape[-1]
    if q.event_shape[-1] != n:
        raise ShapeError("kl_divergence: matrices of other sizes", got=f"{p.event_shape} and {q.event_shape}")
    factors = aten.broadcast_tensors.default([q.scale_tril, p.scale_tril])
    trace = (aten.linalg_solve_triangular.default(factors[0], factors[1], upper=False) ** 2).flatten(-2).sum(-1)
    size = q.df * (q.half_log_det() - p.half_log_det()) + p.df / 2 * (trace - n)
    gammas = aten.mvlgamma.default(q.df / 2, n) - aten.mvlgamma.default(p.df / 2, n)
    return size + gammas + (p.df - q.df) / 2 * multi_digamma(p.df / 2, n)


# ---- continuous Bernoulli ------------------------------------------------------------------------------------------


def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Any:
    mine, other = p.log_normalizer() + (-p.probs).log1p(), q.log_normalizer() + (-q.probs).log1p()
    return p.mean * (p.logits - q.logits) + mine - other


def _to_continuous_bernoulli(p: Any, q: ContinuousBernoulli) -> Any:
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q.log_normalizer()


def _from_uniform(p: Uniform, q: ContinuousBernoulli) -> Any:
    outside = (p.high > 1) | (p.low < 0)
    return aten.where.self(outside, math.inf, _to_continuous_bernoulli(p, q))


def _to_exponential(p: ContinuousBernoulli, q: Exponential) -> Any:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


def _to_normal(p: ContinuousBernoulli, q: Normal) -> Any:
    away = p.variance + (p.mean - q.loc) ** 2
    return -p.entropy() + 0.5 * math.log(2 * math.pi) + q.scale.log() + away / (2 * q.scale**2)


def _to_uniform(p: ContinuousBernoulli, q: Uniform) -> Any:
    outside = (q.low > 0) | (q.high < 1)
    return aten.where.self(outside, math.inf, -p.entropy() + (q.high - q.low).log())


# ---- normal distributions of low rank ------------------------------------------------------------------------------


def _alike(p: Distribution, q: Distribution) -> int:
    if p.event_shape != q.event_shape:
        raise ShapeError(
            "kl_divergence: vectors of other sizes", got=f"{tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )
    return p.event_shape[0]


def _squares(matrix: Any) -> Any:
    return (matrix**2).flatten(-2).sum(-1)


def _low_rank(p: Any, q: LowRankMultivariateNormal) -> Any:
    n = _alike(p, q)
    inner = q.solved(q.scaled_factor())
    if isinstance(p, LowRankMultivariateNormal):
        size, root = p.log_det(), p.cov_diag.sqrt()
        trace = (p.cov_diag / q.cov_diag).sum(-1) - _squares(inner * root.unsqueeze(-2))
        factor = p.cov_factor
    else:
        size, trace, factor = 2 * p._half_log_det(), 0.0, p.scale_tril
    trace = trace + _squares(factor * q.cov_diag.rsqrt().unsqueeze(-1)) - _squares(inner @ factor)
    return 0.5 * (q.log_det() - size + trace + q.distance(q.loc - p.loc) - n)


def _from_low_rank(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Any:
    n = _alike(p, q)
    away = (q.loc - p.loc).unsqueeze(-1)
    root = aten.diag_embed.default(p.cov_diag.sqrt())
    columns = [p.cov_factor, root, away]
    batch = aten.broadcast_tensors.default([t[..., :1, :1] for t in [q.scale_tril, *columns]])[0]._sizes[:-2]
    joined = aten.cat.default([t.expand((*batch, *t._sizes[-2:])) for t in columns], -1)
    factor = q.scale_tril.expand((*batch, n, n))
    solved = aten.linalg_solve_triangular.default(factor, joined, upper=False)
    return 0.5 * (2 * q._half_log_det() - p.log_det() + _squares(solved) - n)
