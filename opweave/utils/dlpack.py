"""Capsules of DLPack, for libraries that take these; `opweave.from_dlpack` takes arrays of all that speak it."""

from __future__ import annotations

from typing import Any

from opweave.registry.exchange import from_dlpack
from opweave.registry.tensor import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule on the memory of a tensor, which one library can take.

    Parameters
    ----------
    tensor : Tensor
        What to hand out.

    Examples
    --------
    >>> from opweave.utils.dlpack import from_dlpack, to_dlpack
    >>> from_dlpack(to_dlpack(opweave.ones(2)))
    tensor([1., 1.])
    """
    return tensor.__dlpack__()
