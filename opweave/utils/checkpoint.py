"""`checkpoint`, under the name that `torch.utils.checkpoint` has for it."""

from opweave.registry.autograd.checkpoint import checkpoint

__all__ = ["checkpoint"]
