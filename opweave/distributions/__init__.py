"""Distributions: values to draw, their probabilities, and gradients through draws; the names of `torch.distributions`.

d = opweave.distributions.Normal(mean, std)
loss = kl_divergence(d, prior).sum() - likelihood(d.rsample()).sum()
"""

from opweave.distributions import constraints
from opweave.distributions.continuous import Beta, Exponential, Gamma, Laplace, LogNormal, Normal, Uniform
from opweave.distributions.discrete import Bernoulli, Binomial, Categorical, OneHotCategorical, Poisson
from opweave.distributions.distribution import Distribution
from opweave.distributions.divergence import kl_divergence, register_kl
from opweave.distributions.vectors import Dirichlet, Independent, MultivariateNormal

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Dirichlet", "Distribution", "Exponential", "Gamma", "Independent",
    "Laplace", "LogNormal", "MultivariateNormal", "Normal", "OneHotCategorical", "Poisson", "Uniform", "constraints",
    "kl_divergence", "register_kl",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
