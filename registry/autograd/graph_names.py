"""The names of `torch.autograd.graph`: the recorded graph as users look at it, and hooks on it."""

from __future__ import annotations

from opweave.registry.autograd.gradient_edges import GradientEdge, get_gradient_edge, register_multi_grad_hook
from opweave.registry.autograd.graph import Node, allow_mutation_on_saved_tensors
from opweave.registry.autograd.saved_hooks import (
    disable_saved_tensors_hooks,
    increment_version,
    save_on_cpu,
    saved_tensors_hooks,
)

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)
