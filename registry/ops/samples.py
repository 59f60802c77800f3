"""Sample arguments that several families share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

#: Makes a tensor of some sizes; see `Decl.samples`.
Make = Callable[..., Tensor]
#: Positional and keyword arguments of calls.
Samples = Iterable[tuple[tuple[Any, ...], dict[str, Any]]]


def pairs(make: Make) -> Samples:
    """Two operands: equal shapes, broadcast, 0-d, transposed, empty, and a number."""
    yield (make(3, 4), make(3, 4, low=1)), {}
    yield (make(3, 1), make(4, low=1)), {}
    yield (make(2, 3), make(low=1)), {}
    yield (ops.aten.transpose.int(make(4, 3), 0, 1), make(3, 4, low=1)), {}
    yield (make(0, 4), make(1, 4, low=1)), {}
    yield (make(3), 2), {}


def triples(make: Make) -> Samples:
    return [((make(3, 4), make(3, 4), make(4, low=1)), {}), ((make(2, 1), make(2, 3), make(low=1)), {})]


def bounded_pairs(make: Make) -> Samples:
    return [((make(3, 4), make(4, low=0.5, high=2.0)), {})]


def near_and_far(make: Make) -> Samples:
    return [((make(3, 4, low=0.1, high=0.9),), {}), ((make(30, low=-6.0, high=20.0),), {})]
