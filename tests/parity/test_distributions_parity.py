"""Distributions beside PyTorch's: densities, moments, entropies, divergences, gradients; draws by their moments."""

import numpy as np
import pytest
import torch
from oracle import close

import opweave

RNG = np.random.default_rng(0)
MATRIX = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 0.5]])


def positive(*sizes):
    return RNG.uniform(0.3, 4.0, sizes)


def simplex(*sizes):
    x = RNG.uniform(0.1, 1.0, sizes)
    return x / x.sum(-1, keepdims=True)


#: Parameters of two distributions of a class, and values.
CASES = {
    "Normal": [{"loc": RNG.normal(size=(3, 2)), "scale": positive(2)} for _ in range(2)],
    "LogNormal": [{"loc": RNG.normal(size=(3, 2)), "scale": positive(3, 1) / 4} for _ in range(2)],
    "Uniform": [{"low": np.full(2, -1.5), "high": positive(3, 2)}, {"low": np.full(2, -2.0), "high": np.full(2, 5.0)}],
    "Exponential": [{"rate": positive(3)} for _ in range(2)],
    "Laplace": [{"loc": RNG.normal(size=3), "scale": positive(3)} for _ in range(2)],
    "Gamma": [{"concentration": positive(3, 2), "rate": positive(2)} for _ in range(2)],
    "Beta": [{"concentration1": positive(3), "concentration0": positive(3)} for _ in range(2)],
    "Dirichlet": [{"concentration": positive(3, 4)} for _ in range(2)],
    "MultivariateNormal": [{"loc": RNG.normal(size=(2, 3)), "covariance_matrix": MATRIX},
                           {"loc": RNG.normal(size=3), "scale_tril": np.linalg.cholesky(MATRIX * 1.5)}],
    "Bernoulli": [{"probs": RNG.uniform(0.1, 0.9, (3, 2))}, {"logits": RNG.normal(size=(3, 2))}],
    "Categorical": [{"probs": simplex(3, 4)}, {"logits": RNG.normal(size=(3, 4))}],
    "OneHotCategorical": [{"logits": RNG.normal(size=(3, 4))}, {"probs": simplex(3, 4)}],
    "Binomial": [{"total_count": np.array([3.0, 7.0, 1.0]), "probs": RNG.uniform(0.1, 0.9, 3)},
                 {"total_count": np.array([3.0, 7.0, 1.0]), "logits": RNG.normal(size=3)}],
    "Poisson": [{"rate": positive(3, 2)} for _ in range(2)],
}  # fmt: skip
CONTINUOUS = [name for name in CASES if getattr(torch.distributions, name).has_rsample]


def both(name, arguments):
    ours = {k: opweave.tensor(v, requires_grad=k != "total_count") for k, v in arguments.items()}
    theirs = {k: torch.tensor(v, requires_grad=k != "total_count") for k, v in arguments.items()}
    made = getattr(opweave.distributions, name)(**ours), getattr(torch.distributions, name)(**theirs)
    return made, list(ours.values()), list(theirs.values())


def same(found, wanted, what, difference="distributions"):
    close(found.detach().numpy(), wanted.detach().numpy(), difference, what)


def gradients(found, wanted, ours, theirs, what):
    """Of sums, in the parameters."""
    found.sum().backward(retain_graph=True)
    wanted.sum().backward(retain_graph=True)
    for a, b in zip(ours, theirs, strict=True):
        if b.grad is not None:
            same(a.grad, b.grad, f"gradients of {what}", "distributions, gradients")
            a.grad = b.grad = None


@pytest.mark.parametrize("name", CASES)
def test_densities_moments_and_entropies(name):
    for arguments in CASES[name]:
        (p, q), ours, theirs = both(name, arguments)
        assert p.batch_shape == tuple(q.batch_shape) and p.event_shape == tuple(q.event_shape)
        torch.manual_seed(0)
        values = q.sample((5,))
        x = opweave.tensor(values.numpy())
        same(p.log_prob(x), q.log_prob(values), "log_prob")
        gradients(p.log_prob(x), q.log_prob(values), ours, theirs, "log_prob")
        for what in ("mean", "variance", "stddev", "mode"):
            same(getattr(p, what), getattr(q, what), what)
        if name not in ("Poisson", "Binomial"):  # no difference: PyTorch has no entropy of these
            gradients(p.entropy(), q.entropy(), ours, theirs, "entropy")
        wide, their_wide = p.expand((4, *p.batch_shape)), q.expand((4, *q.batch_shape))
        assert wide.batch_shape == tuple(their_wide.batch_shape)
        same(wide.log_prob(x[:1]), their_wide.log_prob(values[:1]), "expanded")
        if p.has_enumerate_support:
            same(p.enumerate_support(), q.enumerate_support(), "enumerate_support")
            same(p.enumerate_support(False), q.enumerate_support(False), "enumerate_support")


@pytest.mark.parametrize("name", ["Normal", "LogNormal", "Uniform", "Exponential", "Laplace", "Gamma"])
def test_distribution_functions(name):
    (p, q), *_ = both(name, CASES[name][0])
    values = q.sample((4,))
    same(p.cdf(opweave.tensor(values.numpy())), q.cdf(values), "cdf", "distributions, gradients")
    if name != "Gamma":  # no difference: PyTorch has none either
        chances = torch.linspace(0.05, 0.95, 5, dtype=torch.float64).view(-1, *(1,) * len(q.batch_shape))
        same(p.icdf(opweave.tensor(chances.numpy())), q.icdf(chances), "icdf", "distributions, gradients")


@pytest.mark.parametrize("name", CASES)
def test_divergences(name):
    (p, q), ours, theirs = both(name, CASES[name][0])
    (p2, q2), more, their_more = both(name, CASES[name][1])
    found, wanted = opweave.distributions.kl_divergence(p, p2), torch.distributions.kl_divergence(q, q2)
    same(found, wanted, "kl_divergence")
    gradients(found, wanted, ours + more, theirs + their_more, "kl_divergence")


@pytest.mark.parametrize("name", CASES)
def test_draws_have_the_distribution(name):
    opweave.manual_seed(3)
    (p, q), ours, theirs = both(name, CASES[name][0])
    drawn = p.sample((4000,))
    assert drawn.shape == (4000, *q.batch_shape, *q.event_shape) and not drawn.requires_grad
    assert bool(torch.as_tensor(q.support.check(torch.tensor(drawn.numpy()))).all())
    if name == "Categorical":
        drawn = opweave.nn.functional.one_hot(drawn, 4).double()
        mean, deviation = q.probs, (q.probs * (1 - q.probs)).sqrt()
    else:
        mean, deviation = q.mean, q.stddev
    error = (drawn.double().mean(0).numpy() - mean.detach().numpy()) / deviation.detach().numpy()
    assert np.abs(error).max() < 5 / 4000**0.5
    if name in CONTINUOUS:
        torch.manual_seed(1)
        # The gradient of the mean of many draws is that of the mean.
        p.rsample((20000,)).mean(0).sum().backward()
        q.mean.sum().backward()
        for a, b in zip(ours, theirs, strict=True):
            if b.grad is not None:
                close(a.grad.numpy(), b.grad.numpy(), "distributions, gradients of means of draws")


def test_gamma_gradients_at_given_draws():
    shapes = np.array([0.05, 0.4, 1.0, 2.5, 20.0, 300.0])[:, None]
    draws = shapes * np.array([0.2, 0.7, 1.0, 1.3, 2.0])
    found = opweave.ops.aten._standard_gamma_grad(
        opweave.tensor(np.broadcast_to(shapes, draws.shape).copy()), opweave.tensor(draws)
    )
    wanted = torch._standard_gamma_grad(torch.tensor(np.broadcast_to(shapes, draws.shape).copy()), torch.tensor(draws))
    close(found.numpy(), wanted.numpy(), "gamma, gradients of draws")


def test_taken_together_and_what_is_refused():
    d = opweave.distributions
    (p, q), *_ = both("Normal", CASES["Normal"][0])
    ours, theirs = d.Independent(p, 1), torch.distributions.Independent(q, 1)
    x = torch.zeros(3, 2, dtype=torch.float64)
    same(ours.log_prob(opweave.zeros(3, 2, dtype=opweave.float64)), theirs.log_prob(x), "Independent")
    same(ours.entropy(), theirs.entropy(), "Independent")
    same(d.kl_divergence(ours, ours), torch.distributions.kl_divergence(theirs, theirs), "Independent")
    for bad in (
        lambda: d.Normal(0.0, -1.0), lambda: d.Bernoulli(1.5), lambda: d.Bernoulli(), lambda: d.Uniform(1.0, 0.0),
        lambda: d.Categorical(opweave.tensor([-1.0, 2.0])), lambda: d.Gamma(0.0, 1.0),
        lambda: d.MultivariateNormal(opweave.zeros(2), opweave.tensor([[1.0, 2.0], [2.0, 1.0]])),
        lambda: d.Exponential(1.0).log_prob(opweave.tensor(-1.0)), lambda: d.Poisson(1.0).log_prob(opweave.tensor(0.5)),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError)):
            bad()
    with pytest.raises(NotImplementedError, match="rsample"):
        d.Bernoulli(0.5).rsample()
    with pytest.raises(NotImplementedError, match="no formula"):
        d.kl_divergence(d.Normal(0.0, 1.0), d.Bernoulli(0.5))
    assert d.Normal(0.0, -1.0, validate_args=False).scale.item() == -1


def test_in_a_compiled_function():
    d = opweave.distributions

    def loss(mean, log_std):
        p = d.Normal(mean, log_std.exp())
        z = p.rsample()
        return (d.kl_divergence(p, d.Normal(0.0, 1.0)) + p.log_prob(z) - d.Laplace(0.0, 1.0).log_prob(z)).sum()

    mean = opweave.randn(4, 3, requires_grad=True)
    log_std = (opweave.randn(4, 3) * 0.1).requires_grad_()
    compiled = opweave.compile(loss, fullgraph=True)
    outcomes = []
    for function in (loss, compiled):
        mean.grad = log_std.grad = None
        opweave.manual_seed(5)
        found = function(mean, log_std)
        found.backward()
        outcomes.append([found.item(), mean.grad.numpy(), log_std.grad.numpy()])
    for a, b in zip(*outcomes, strict=True):
        close(a, b, "distributions, compiled")
    drawn = opweave.compile(lambda a: d.Gamma(a, 2.0).rsample(), fullgraph=True)(opweave.full((500,), 3.0))
    assert 1.2 < drawn.mean().item() < 1.8
