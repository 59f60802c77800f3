"""Exponential families: distributions with natural parameters θ, whose log density is θ·t(x) − A(θ) + k(x)."""

from __future__ import annotations

from typing import Any

from opweave.distributions.distribution import Distribution
from opweave.registry.autograd.engine import grad
from opweave.registry.autograd.mode import enable_grad, is_grad_enabled
from opweave.registry.errors import UnsupportedError


class ExponentialFamily(Distribution):
    """A base for distributions with natural parameters, from whose log normalizer the entropy and divergences follow.

    A subclass has `_natural_params`, `_log_normalizer` and the mean of k(x), `_mean_carrier_measure`.

    Examples
    --------
    >>> class Coin(opweave.distributions.ExponentialFamily):
    ...     _mean_carrier_measure = 0
    ...
    ...     def __init__(self, logits):
    ...         self.logits = logits
    ...         super().__init__(logits.shape)
    ...
    ...     @property
    ...     def _natural_params(self):
    ...         return (self.logits,)
    ...
    ...     def _log_normalizer(self, x):
    ...         return opweave.nn.functional.softplus(x)
    >>> Coin(opweave.tensor(0.0)).entropy()
    tensor(0.6931)
    """

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise UnsupportedError(f"{type(self).__name__}._natural_params is not there")

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise UnsupportedError(f"{type(self).__name__}._log_normalizer is not there")

    @property
    def _mean_carrier_measure(self) -> float:
        raise UnsupportedError(f"{type(self).__name__}._mean_carrier_measure is not there")

    def normalizer_and_means(self) -> tuple[Any, list[Any]]:
        """A(θ), and its derivatives, which are the means of t(x); differentiable in the parameters."""
        parameters = self._natural_params
        recorded = is_grad_enabled() and any(t.requires_grad for t in parameters)
        with enable_grad():
            given = [t if t.requires_grad and recorded else t.detach().requires_grad_() for t in parameters]
            # Each a node of its own, so that parameters that are one tensor, or depend on each other, are told apart.
            apart = [t.view_as(t) for t in given]
            size = self._log_normalizer(*apart)
            means = grad(size.sum(), apart, create_graph=recorded)
        return (size if recorded else size.detach()), list(means)

    def entropy(self) -> Any:
        size, means = self.normalizer_and_means()
        found = size - self._mean_carrier_measure
        for parameter, mean in zip(self._natural_params, means, strict=True):
            product = parameter * mean
            found = found - product.reshape((*self._batch_shape, -1)).sum(-1)
        return found
