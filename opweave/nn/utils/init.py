"""Modules whose weights are not filled when they are made."""

from __future__ import annotations

import inspect
from typing import Any

from opweave.nn.modules.module import Module
from opweave.registry.errors import ArgumentError

__all__ = ["skip_init"]


def skip_init(module_cls: type[Any], *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters and buffers hold what happens to be in their memory.

    Parameters
    ----------
    module_cls : type
        Its class, which takes `device`.
    *args, **kwargs
        What the class takes.

    Raises
    ------
    RuntimeError
        If it is no class of modules, or takes no `device`.

    Examples
    --------
    >>> opweave.nn.utils.skip_init(opweave.nn.Linear, 3, 2).weight.shape
    opweave.Size([2, 3])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"skip_init: expected a class of modules, got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise ArgumentError("skip_init: the class takes no device", got=module_cls.__name__)
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)


def __dir__() -> list[str]:
    return sorted(__all__)
