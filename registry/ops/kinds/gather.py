"""Gathers and scatters: elements are read or written at places that other tensors name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from opweave.registry.ops.kinds.composite import ExternDecl
from opweave.registry.spec import TensorSpec


class Place(NamedTuple):
    """A number from an index tensor.

    Attributes
    ----------
    index : Tensor
        An argument of the op.
    dims : tuple of int
        For each of its dimensions the result's that counts it; where its size is 1, it is not counted.
    """

    index: Any
    dims: tuple[int, ...]


class Places(NamedTuple):
    """Which element of a tensor each element of the result is.

    Attributes
    ----------
    source : Tensor
        The argument that is read.
    at : tuple of int or Place
        For each dimension of the source the result's dimension that counts it, or where its number comes from.
    wraps : bool
        Whether negative numbers count from the end.
    """

    source: Any
    at: tuple[int | Place, ...]
    wraps: bool


class Scatter(NamedTuple):
    """Where the elements of a scatter go.

    Attributes
    ----------
    places : Places
        Of the tensor that is written to a copy of, by the dimensions of what is written.
    values : Tensor
        The argument that is written; it broadcasts.
    accumulate : bool
        Whether it is added. If not, the last of several values for one place stays.
    """

    places: Places
    values: Any
    accumulate: bool


class GatherDecl(ExternDecl):
    """A call into a library that a kernel can stand in for.

    Attributes
    ----------
    places : callable
        `places(*args) -> Places`, or None where a kernel cannot say what the op does. Of a tensor it looks at the
        dtype and at `ndim`.
    """

    kind = "gather"

    def __init__(
        self, schema: str, body: Callable[..., Any], spec: Callable[..., TensorSpec],
        places: Callable[..., Places | None],
    ):  # fmt: skip
        super().__init__(schema, body, spec, ())
        self.places = places


class ScatterDecl(ExternDecl):
    """A call into a library that a kernel can stand in for.

    Attributes
    ----------
    target : callable
        `target(*args) -> Scatter`, or None where a kernel cannot say what the op does. Of a tensor it looks at the
        dtype and at `ndim`.
    """

    kind = "scatter"

    def __init__(
        self, schema: str, body: Callable[..., Any], spec: Callable[..., TensorSpec],
        target: Callable[..., Scatter | None],
    ):  # fmt: skip
        super().__init__(schema, body, spec, ())
        self.target = target


def scatter(
    schema: str, *, spec: Callable[..., TensorSpec], target: Callable[..., Scatter | None]
) -> Callable[[Callable[..., Any]], ScatterDecl]:
    """Declare an op that copies a tensor and writes to places in it; the decorated function is its eager kernel."""

    def declare(body: Callable[..., Any]) -> ScatterDecl:
        return ScatterDecl(schema, body, spec, target)

    return declare


def gather(
    schema: str, *, spec: Callable[..., TensorSpec], places: Callable[..., Places | None]
) -> Callable[[Callable[..., Any]], GatherDecl]:
    """Declare an op that reads the places that index tensors name; the decorated function is its eager kernel."""

    def declare(body: Callable[..., Any]) -> GatherDecl:
        return GatherDecl(schema, body, spec, places)

    return declare
