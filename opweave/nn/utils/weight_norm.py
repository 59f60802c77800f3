"""`weight_norm` by a hook, as checkpoints have it that were written before there were parametrizations."""

from __future__ import annotations

from typing import Any

from opweave.nn.modules.module import Module
from opweave.nn.parameter import Parameter
from opweave.nn.utils.parametrizations import norm_of
from opweave.registry.autograd.mode import no_grad
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

aten = ops.aten


class WeightNorm:
    """The hook: it computes a weight from `<name>_g`, its norms, and `<name>_v`, its direction."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """The weight as it is now."""
        v, g = getattr(module, self.name + "_v"), getattr(module, self.name + "_g")
        return aten.mul.Tensor(v, aten.div.Tensor(g, norm_of(v, self.dim)))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def _hooks(module: Module, name: str) -> list[int]:
    return [
        number for number, hook in module._forward_pre_hooks.items()
        if isinstance(hook, WeightNorm) and hook.name == name
    ]  # fmt: skip


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """A weight as its norms, `weight_g`, times its direction, `weight_v`, computed before each call of the module.

    `opweave.nn.utils.parametrizations.weight_norm` is the newer way.

    Parameters
    ----------
    module : Module
        Whose weight it is.
    name : str
        Of the weight.
    dim : int or None
        Norms are over all other dimensions; None for one norm.

    Raises
    ------
    RuntimeError
        If it has one for this weight.

    Examples
    --------
    >>> linear = opweave.nn.utils.weight_norm(opweave.nn.Linear(3, 2))
    >>> [name for name, _ in linear.named_parameters()]
    ['bias', 'weight_g', 'weight_v']
    """
    if _hooks(module, name):
        raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, dim)
    weight: Any = getattr(module, name)
    del module._parameters[name]
    with no_grad():
        module.register_parameter(name + "_g", Parameter(norm_of(weight, hook.dim)))
        module.register_parameter(name + "_v", Parameter(aten.clone.default(weight)))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Make the weight a plain parameter again, as it is now.

    Raises
    ------
    ValueError
        If there is no `weight_norm` of it.

    Examples
    --------
    >>> linear = opweave.nn.utils.weight_norm(opweave.nn.Linear(3, 2))
    >>> [name for name, _ in opweave.nn.utils.remove_weight_norm(linear).named_parameters()]
    ['bias', 'weight']
    """
    found = _hooks(module, name)
    if not found:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    hook: Any = module._forward_pre_hooks[found[0]]
    weight = hook.compute_weight(module).detach()
    for end in ("", "_g", "_v"):
        delattr(module, name + end)
    module.register_parameter(name, Parameter(weight))
    del module._forward_pre_hooks[found[0]]
    return module


def __dir__() -> list[str]:
    return sorted(__all__)
