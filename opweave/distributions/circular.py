"""Angles: von Mises' distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opweave.distributions import constraints
from opweave.distributions.distribution import Distribution, aten, broadcast_all
from opweave.registry.autograd.mode import no_grad
from opweave.registry.dtypes import float64


class VonMises(Distribution):
    """Angles around `loc`, in radians, the nearer to it the larger `concentration` is.

    Draws are those that are accepted of proposals (Best and Fisher, 1979), in a loop that a compiled function runs in
    Python.

    Examples
    --------
    >>> d = opweave.distributions.VonMises(opweave.tensor(0.0), opweave.tensor(4.0))
    >>> d.variance, d.log_prob(opweave.tensor(0.0))
    (tensor(0.1365), tensor(-0.2628))
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real  # type: ignore[assignment]

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc._sizes, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        """The mean direction."""
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        """The circular variance: 1 less the length of the mean of the directions."""
        k = self.concentration
        return 1 - aten.special_i1e.default(k) / aten.special_i0e.default(k)

    def log_prob(self, value: Any) -> Any:
        self._validate_sample(value)
        k = self.concentration
        # log I₀(k) = log(e⁻ᵏ I₀(k)) + k, and k·cos(x) − k = −2k·sin²(x / 2)
        away = -2 * k * ((value - self.loc) / 2).sin() ** 2
        return away - math.log(2 * math.pi) - aten.special_i0e.default(k).log()

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        sizes = self._extended_shape(sample_shape)
        with no_grad():
            loc, k = self.loc.to(float64), self.concentration.to(float64)
            tau = 1 + (1 + 4 * k**2).sqrt()
            rho = (tau - (2 * tau).sqrt()) / (2 * k)
            ratio = aten.where.self(k < 1e-5, 1 / k + k, (1 + rho**2) / (2 * rho))
            x = aten.zeros.default(sizes, dtype=float64, device=loc._device)
            done = aten.zeros_like.default(x) != 0
            while not bool(done.all()):
                first, second, third = aten.rand.default([3, *sizes], dtype=float64, device=loc._device).unbind()
                z = (math.pi * first).cos()
                f = (1 + ratio * z) / (ratio + z)
                c = k * (ratio - f)
                accepted = (c * (2 - c) - second > 0) | ((c / second).log() + 1 - c >= 0)
                x = aten.where.self(accepted & ~done, (third - 0.5).sign() * f.clamp(-1, 1).acos(), x)
                done = done | accepted
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc._dtype)
