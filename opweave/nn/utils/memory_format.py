"""The layout of convolutions' weights."""

from __future__ import annotations

from typing import Any

from opweave.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from opweave.nn.modules.module import Module
from opweave.registry.op import ops

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

aten = ops.aten


def _convert(module: Module, memory_format: Any, kinds: tuple[type[Module], ...]) -> Module:
    for part in module.modules():
        if isinstance(part, kinds):
            weight: Any = part.weight
            weight.data = aten.clone.default(weight.detach(), memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Lay out the weights of all convolutions of images, also those inside other modules.

    Examples
    --------
    >>> conv = opweave.nn.Conv2d(2, 3, 2)
    >>> conv = opweave.nn.utils.convert_conv2d_weight_memory_format(conv, opweave.channels_last)
    >>> conv.weight.stride()
    (8, 1, 4, 2)
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Module, memory_format: Any) -> Module:
    """Lay out the weights of all convolutions of volumes, also those inside other modules.

    Examples
    --------
    >>> conv = opweave.nn.Conv3d(2, 3, 1)
    >>> conv = opweave.nn.utils.convert_conv3d_weight_memory_format(conv, opweave.channels_last_3d)
    >>> conv.weight.stride()[1]
    1
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))


def __dir__() -> list[str]:
    return sorted(__all__)
