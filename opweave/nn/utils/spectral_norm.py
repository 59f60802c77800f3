"""`spectral_norm` by a hook, as checkpoints have it that were written before there were parametrizations."""

from __future__ import annotations

from typing import Any

from opweave.nn import functional as F
from opweave.nn.modules.module import Module
from opweave.nn.parameter import Parameter
from opweave.nn.utils.parametrizations import rows_of
from opweave.registry.autograd.mode import no_grad
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]

aten = ops.aten


class SpectralNorm:
    """The hook: it computes a weight from `<name>_orig`, with `<name>_u` and `<name>_v` near its singular vectors."""

    def __init__(self, name: str, n_power_iterations: int, dim: int, eps: float) -> None:
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """The weight as it is now, after steps of the iteration if asked for."""
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = rows_of(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    aten.copy_.default(v, F.normalize(aten.mv.default(aten.t.default(matrix), u), dim=0, eps=self.eps))
                    aten.copy_.default(u, F.normalize(aten.mv.default(matrix, v), dim=0, eps=self.eps))
                if self.n_power_iterations > 0:  # later steps write to these
                    u, v = aten.clone.default(u), aten.clone.default(v)
        return aten.div.Tensor(weight, aten.dot.default(u, aten.mv.default(matrix, v)))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))


def _hooks(module: Module, name: str) -> list[int]:
    return [
        number for number, hook in module._forward_pre_hooks.items()
        if isinstance(hook, SpectralNorm) and hook.name == name
    ]  # fmt: skip


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """A weight over its largest singular value, computed before each call of the module.

    `opweave.nn.utils.parametrizations.spectral_norm` is the newer way.

    Parameters
    ----------
    module : Module
        Whose weight it is.
    name : str
        Of the weight.
    n_power_iterations : int
        Steps of the iteration at each call in training.
    eps : float
        Against divisions by zero.
    dim : int, optional
        The outputs; 1 for transposed convolutions and 0 for others by default.

    Raises
    ------
    RuntimeError
        If it has one for this weight.
    ValueError
        If `n_power_iterations` is not positive.

    Examples
    --------
    >>> linear = opweave.nn.utils.spectral_norm(opweave.nn.Linear(3, 2))
    >>> sorted(linear.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if _hooks(module, name):
        raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
    if n_power_iterations <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight: Any = module._parameters[name]
    with no_grad():
        matrix = rows_of(weight, dim)
        rows, columns = matrix._sizes
        u, v = aten.new_empty.default(matrix, [rows]), aten.new_empty.default(matrix, [columns])
        u = F.normalize(aten.normal_.default(u, 0, 1), dim=0, eps=eps)
        v = F.normalize(aten.normal_.default(v, 0, 1), dim=0, eps=eps)
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.detach())
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Make the weight a plain parameter again, as it is now.

    Raises
    ------
    ValueError
        If there is no `spectral_norm` of it.

    Examples
    --------
    >>> linear = opweave.nn.utils.spectral_norm(opweave.nn.Linear(3, 2))
    >>> sorted(opweave.nn.utils.remove_spectral_norm(linear).state_dict())
    ['bias', 'weight']
    """
    found = _hooks(module, name)
    if not found:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    hook: Any = module._forward_pre_hooks[found[0]]
    with no_grad():
        weight = hook.compute_weight(module, False)
    delattr(module, name)
    for end in ("_u", "_v", "_orig"):
        delattr(module, name + end)
    module.register_parameter(name, Parameter(weight.detach()))
    del module._forward_pre_hooks[found[0]]
    return module


def __dir__() -> list[str]:
    return sorted(__all__)
