"""Parameters as one vector, and back."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from opweave.registry.errors import ArgumentError, ShapeError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

__all__ = ["parameters_to_vector", "vector_to_parameters"]

aten = ops.aten


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements one after the other; gradients flow back.

    Examples
    --------
    >>> opweave.nn.utils.parameters_to_vector(opweave.nn.Linear(3, 2).parameters()).shape
    opweave.Size([8])
    """
    return aten.cat.default([aten.reshape.default(p, [-1]) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let parameters look into the parts of a vector.

    Raises
    ------
    ArgumentError
        If it is no tensor.
    ShapeError
        If it is too short.

    Examples
    --------
    >>> layer = opweave.nn.Linear(1, 1)
    >>> opweave.nn.utils.vector_to_parameters(opweave.tensor([2.0, 3.0]), layer.parameters())
    >>> layer.weight.item(), layer.bias.item()
    (2.0, 3.0)
    """
    given: object = vec
    if not isinstance(given, Tensor):
        raise ArgumentError("vector_to_parameters: expected a tensor", got=type(vec).__name__)
    begin = 0
    given_parameters: Iterable[Any] = parameters
    for parameter in given_parameters:
        count = math.prod(parameter._sizes)
        if begin + count > vec.numel():
            raise ShapeError("vector_to_parameters: the vector is too short", got=describe(vec))
        part = aten.slice.Tensor(vec.detach(), 0, begin, begin + count)
        part = aten.view.default(part, list(parameter._sizes))
        parameter.data = part
        begin += count


def __dir__() -> list[str]:
    return sorted(__all__)
