"""Distributions: values to draw, their probabilities, and gradients through draws; the names of `torch.distributions`.

d = opweave.distributions.Normal(mean, std)
loss = kl_divergence(d, prior).sum() - likelihood(d.rsample()).sum()
"""

from opweave.distributions import constraints, relaxed, transforms, utils
from opweave.distributions.circular import VonMises
from opweave.distributions.continuous import Beta, Chi2, Exponential, Gamma, Laplace, Normal, Uniform
from opweave.distributions.continuous_bernoulli import ContinuousBernoulli
from opweave.distributions.counts import Geometric, Multinomial, NegativeBinomial
from opweave.distributions.discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
    Poisson,
)
from opweave.distributions.distribution import Distribution
from opweave.distributions.divergence import kl_divergence, register_kl
from opweave.distributions.divergences import register_all as _register_all
from opweave.distributions.exponential_family import ExponentialFamily
from opweave.distributions.heavy import Cauchy, FisherSnedecor, GeneralizedPareto, HalfCauchy, Pareto, StudentT
from opweave.distributions.low_rank import LowRankMultivariateNormal
from opweave.distributions.matrices import LKJCholesky, Wishart
from opweave.distributions.positive import Gumbel, HalfNormal, InverseGamma, Kumaraswamy, LogNormal, Weibull
from opweave.distributions.registries import biject_to, transform_to
from opweave.distributions.relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from opweave.distributions.transformed import LogisticNormal, MixtureSameFamily, TransformedDistribution
from opweave.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from opweave.distributions.vectors import Dirichlet, Independent, MultivariateNormal

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "CatTransform", "Categorical", "Cauchy", "Chi2",
    "ComposeTransform", "ContinuousBernoulli", "CorrCholeskyTransform", "CumulativeDistributionTransform", "Dirichlet",
    "Distribution", "ExpTransform", "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "GeneralizedPareto",
    "Geometric", "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "IndependentTransform", "InverseGamma",
    "Kumaraswamy", "LKJCholesky", "Laplace", "LogNormal", "LogisticNormal", "LowRankMultivariateNormal",
    "LowerCholeskyTransform", "MixtureSameFamily", "Multinomial", "MultivariateNormal", "NegativeBinomial", "Normal",
    "OneHotCategorical", "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "PositiveDefiniteTransform",
    "PowerTransform", "RelaxedBernoulli", "RelaxedOneHotCategorical", "ReshapeTransform", "SigmoidTransform",
    "SoftmaxTransform", "SoftplusTransform", "StackTransform", "StickBreakingTransform", "StudentT", "TanhTransform",
    "Transform", "TransformedDistribution", "Uniform", "VonMises", "Weibull", "Wishart", "biject_to", "constraints",
    "identity_transform", "kl_divergence", "register_kl", "relaxed", "transform_to", "transforms",
    "utils",
]  # fmt: skip

_register_all()


def __dir__() -> list[str]:
    return sorted(__all__)
