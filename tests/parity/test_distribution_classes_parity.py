"""Which classes distributions are of, what they are made of, and what exponential families say of themselves."""

import numpy as np
import pytest
import torch
from oracle import close

import opweave

RNG = np.random.default_rng(0)
POSITIVE = RNG.uniform(0.5, 3.0, (2, 3))
LOGITS = RNG.normal(size=(2, 3))

#: Classes that transform another distribution, with parameters.
MADE = {
    "LogNormal": {"loc": LOGITS, "scale": POSITIVE},
    "HalfNormal": {"scale": POSITIVE},
    "HalfCauchy": {"scale": POSITIVE},
    "InverseGamma": {"concentration": POSITIVE, "rate": POSITIVE[:1]},
    "Weibull": {"scale": POSITIVE, "concentration": POSITIVE[:1]},
    "Gumbel": {"loc": LOGITS, "scale": POSITIVE},
    "Kumaraswamy": {"concentration1": POSITIVE, "concentration0": POSITIVE[:1]},
    "Pareto": {"scale": POSITIVE, "alpha": POSITIVE[:1]},
    "LogisticNormal": {"loc": LOGITS, "scale": POSITIVE},
    "RelaxedBernoulli": {"temperature": np.array(0.7), "logits": LOGITS},
    "RelaxedOneHotCategorical": {"temperature": np.array(0.7), "logits": LOGITS},
}

FAMILIES = {
    "Normal": {"loc": LOGITS, "scale": POSITIVE},
    "Exponential": {"rate": POSITIVE},
    "Gamma": {"concentration": POSITIVE, "rate": POSITIVE[:1]},
    "Chi2": {"df": POSITIVE},
    "Beta": {"concentration1": POSITIVE, "concentration0": POSITIVE[:1]},
    "Dirichlet": {"concentration": POSITIVE},
    "Bernoulli": {"logits": LOGITS},
    "Poisson": {"rate": POSITIVE},
    "ContinuousBernoulli": {"logits": LOGITS},
    "Wishart": {"df": np.array(4.5), "covariance_matrix": np.diag([1.0, 2.0])},
}


@pytest.fixture(autouse=True)
def double():
    """Parameters of one type with constants that the classes make."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def both(name, arguments):
    ours = getattr(opweave.distributions, name)(**{k: opweave.tensor(v) for k, v in arguments.items()})
    theirs = getattr(torch.distributions, name)(**{k: torch.tensor(v) for k, v in arguments.items()})
    return ours, theirs


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_by_transforms_says_of_which_and_by_which(name):
    first, second = both(name, MADE[name])
    wide = first.expand((4, *first.batch_shape)), second.expand((4, *second.batch_shape))
    for p, q in ((first, second), wide):
        assert isinstance(p, opweave.distributions.TransformedDistribution) and type(p).__name__ == name
        assert type(p.base_dist).__name__ == type(q.base_dist).__name__
        kinds = [type(t).__name__.strip("_").removesuffix("Transform") for t in p.transforms]
        assert kinds == [type(t).__name__.strip("_").removesuffix("Transform") for t in q.transforms]
        assert p.batch_shape == tuple(q.batch_shape) and p.event_shape == tuple(q.event_shape)
        torch.manual_seed(0)
        values = q.sample((5,))
        x = opweave.tensor(values.numpy())
        close(p.log_prob(x).numpy(), q.log_prob(values).numpy(), "distributions", name)
        if name not in ("HalfNormal", "HalfCauchy"):  # which are of two numbers each
            general = opweave.distributions.TransformedDistribution(p.base_dist, p.transforms)
            close(general.log_prob(x).numpy(), q.log_prob(values).numpy(), "distributions", name)
        for parameter in MADE[name]:
            close(getattr(p, parameter).numpy(), getattr(q, parameter).numpy(), "distributions", parameter)


@pytest.mark.parametrize("name", FAMILIES)
def test_exponential_families_have_natural_parameters_and_a_normalizer(name):
    p, q = both(name, FAMILIES[name])
    assert isinstance(p, opweave.distributions.ExponentialFamily)
    assert isinstance(q, torch.distributions.ExponentialFamily)
    for mine, theirs in zip(p._natural_params, q._natural_params, strict=True):
        close(mine.numpy(), theirs.numpy(), "distributions", "natural parameters")
    size = q._log_normalizer(*q._natural_params)
    close(p._log_normalizer(*p._natural_params).numpy(), size.numpy(), "distributions", "log normalizer")
    if name not in ("Beta", "Dirichlet", "Poisson"):  # the mean of their carrier measure has no formula
        general = opweave.distributions.ExponentialFamily.entropy(p)
        close(general.numpy(), q.entropy().numpy(), "distributions", "entropy")


def test_a_subclass_with_a_base_of_its_own():
    class Base(opweave.distributions.Normal):
        pass

    class Mine(opweave.distributions.LogNormal):
        def __init__(self, loc, scale):
            base = Base(opweave.tensor(loc), opweave.tensor(scale))
            transform = opweave.distributions.ExpTransform()
            super(opweave.distributions.LogNormal, self).__init__(base, transform)

        def expand(self, batch_shape, _instance=None):
            made = self._get_checked_instance(Mine, _instance)
            return super(opweave.distributions.LogNormal, self).expand(batch_shape, _instance=made)

    first = Mine(LOGITS, POSITIVE)
    second = torch.distributions.LogNormal(torch.tensor(LOGITS), torch.tensor(POSITIVE))
    for p, q in ((first, second), (first.expand((4, 2, 3)), second.expand((4, 2, 3)))):
        assert type(p) is Mine and type(p.base_dist) is Base
        close(p.mean.numpy(), q.mean.numpy(), "distributions", "mean")
        x = np.full((4, 2, 3), 0.7)
        close(p.log_prob(opweave.tensor(x)).numpy(), q.log_prob(torch.tensor(x)).numpy(), "distributions", "log_prob")


@pytest.mark.parametrize("check", [True, False])
def test_what_was_expanded_checks_values_as_before(check):
    ours = opweave.distributions.LogNormal(0.0, 1.0, validate_args=check).expand((3,))
    theirs = torch.distributions.LogNormal(0.0, 1.0, validate_args=check).expand((3,))
    for d, value in ((ours, opweave.tensor(-1.0)), (theirs, torch.tensor(-1.0))):
        if check:
            with pytest.raises(ValueError, match="value"):
                d.log_prob(value)
        else:
            assert d.log_prob(value).isnan().all()


@pytest.mark.parametrize("name", ["HalfNormal", "HalfCauchy", "LogNormal", "InverseGamma", "Pareto", "Weibull"])
def test_parameters_are_checked(name):
    arguments = {k: -v if (v > 0).all() else v for k, v in MADE[name].items()}
    with pytest.raises(ValueError, match=f"{name}: parameter"):
        getattr(opweave.distributions, name)(**{k: opweave.tensor(v) for k, v in arguments.items()})


def test_a_number_is_a_value_where_none_is_checked():
    ours = opweave.distributions.Normal(opweave.tensor(LOGITS), 2.0, validate_args=False)
    theirs = torch.distributions.Normal(torch.tensor(LOGITS), 2.0, validate_args=False)
    close(ours.cdf(0.5).numpy(), theirs.cdf(0.5).numpy(), "distributions", "cdf")
    for module in (opweave, torch):
        with pytest.raises(ValueError, match="must be a Tensor"):
            module.distributions.Normal(0.0, 1.0, validate_args=True).cdf(0.5)


def test_forms_of_a_covariance_are_found_by_super():
    class Mine(opweave.distributions.MultivariateNormal):
        @property
        def covariance_matrix(self):
            return super().covariance_matrix * 2

        @covariance_matrix.setter
        def covariance_matrix(self, value):
            pass

    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    d = Mine(opweave.zeros(2), opweave.tensor(matrix))
    close(d.covariance_matrix.numpy(), matrix * 2, "distributions", "covariance")
    theirs = torch.distributions.MultivariateNormal(torch.zeros(2), torch.tensor(matrix))
    close(d._unbroadcasted_scale_tril.numpy(), theirs._unbroadcasted_scale_tril.numpy(), "distributions", "factor")
    close(d.precision_matrix.numpy(), theirs.precision_matrix.numpy(), "distributions", "precision")


def test_a_module_that_is_a_distribution():
    class Prior(opweave.distributions.Gamma, opweave.nn.Module):
        def __init__(self, concentration, rate):
            opweave.nn.Module.__init__(self)
            opweave.distributions.Gamma.__init__(self, concentration, rate, validate_args=True)

    prior = Prior(opweave.tensor(LOGITS) ** 2, 3.0)
    wanted = torch.distributions.Gamma(torch.tensor(LOGITS) ** 2, 3.0).log_prob(torch.tensor(0.5))
    found = prior.log_prob(opweave.tensor(0.5, dtype=opweave.float64))
    close(found.numpy(), wanted.numpy(), "distributions", "log_prob")
    with pytest.raises(ValueError, match="concentration"):
        Prior(-1.0, 3.0)
