"""Ops that lay tensors side by side: each element of the result is an element of one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Unpack

from opweave.registry.ops.kinds.composite import ExternDecl
from opweave.registry.ops.kinds.loops import Call, Demand, Operand, Point, Size, Space
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.ops.kinds.writing import with_traits
from opweave.registry.spec import TensorSpec


class Pieces(NamedTuple):
    """What lies side by side.

    Attributes
    ----------
    parts : sequence of Tensor
        Arguments of the op, in order; their sizes differ in one dimension only.
    dim : int
        That dimension.
    """

    parts: Sequence[Any]
    dim: int


class ConcatDecl(ExternDecl):
    """A call into a library that a kernel can stand in for.

    Attributes
    ----------
    pieces : callable
        `pieces(*args) -> Pieces`. Of a tensor it looks at the dtype and at `ndim`.
    """

    kind = "pieces"
    is_library_call = False
    apart = ""
    cost = 1
    copies_only = True

    def __init__(
        self, schema: str, body: Callable[..., Any], spec: Callable[..., TensorSpec], pieces: Callable[..., Pieces]
    ):
        super().__init__(schema, body, spec)
        self.pieces = pieces

    def parts(self, call: Call) -> Iterable[tuple[Any, int, Size, Size]]:
        """Each tensor that lies side by side, the dimension, and where its piece starts and stops there."""
        found, start = self.pieces(*call.arguments()), 0
        for part in found.parts:
            stop = start + part.sizes[found.dim]
            yield part, found.dim, start, stop
            start = stop

    def demands(self, call: Call, operand: Operand, demand: Demand, space: Space) -> Iterable[Demand]:
        return [demand.within(dim, start, stop) for part, dim, start, stop in self.parts(call) if part == operand]

    def evaluate(self, call: Call, point: Point) -> Any:
        pieces: list[tuple[Any, Demand]] = []
        for part, dim, start, stop in self.parts(call):
            demand = point.demand.within(dim, start, stop)
            pieces.append((point.k.cast(point.value(part, demand), call.result._dtype), demand))
        return point.select(pieces)


def concat(
    schema: str, *, spec: Callable[..., TensorSpec], pieces: Callable[..., Pieces], **traits: Unpack[Traits]
) -> Callable[[Callable[..., Any]], ConcatDecl]:
    """Declare an op that lays tensors side by side; the decorated function is its eager kernel."""

    def declare(body: Callable[..., Any]) -> ConcatDecl:
        return with_traits(ConcatDecl(schema, body, spec, pieces), **traits)

    return declare
