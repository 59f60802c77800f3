"""Ops that only put elements elsewhere, each to a place that its index says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Unpack

from opweave.registry.ops.kinds.composite import ExternDecl
from opweave.registry.ops.kinds.loops import Call, Demand, Operand, Point, Space
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.ops.kinds.writing import with_traits
from opweave.registry.spec import TensorSpec


class IndexMapDecl(ExternDecl):
    """A call into a library that a kernel can stand in for.

    Attributes
    ----------
    origin : callable
        `origin(index, sizes, *args)` is the index of the operand's element that the result has at `index`, linear in
        it; each element goes to one place. `args` are the schema's arguments after the first.
    """

    kind = "move"
    is_library_call = False
    apart = ""
    cost = 1

    def __init__(
        self, schema: str, body: Callable[..., Any], spec: Callable[..., TensorSpec],
        origin: Callable[..., Sequence[Any]],
    ):  # fmt: skip
        super().__init__(schema, body, spec)
        self.origin = origin

    def demands(self, call: Call, operand: Operand, demand: Demand, space: Space) -> Iterable[Demand]:
        arguments = self.bind(call.args, call.kwargs)[1:]
        return [demand.at(tuple(self.origin(demand.index, call.result.sizes, *arguments)), demand.exact)]

    def evaluate(self, call: Call, point: Point) -> Any:
        operand = call.operands[0]
        (demand,) = self.demands(call, operand, point.demand, point.space)
        return point.value(operand, demand)


def index_map(
    schema: str, *, spec: Callable[..., TensorSpec], origin: Callable[..., Sequence[Any]], **traits: Unpack[Traits]
) -> Callable[[Callable[..., Any]], IndexMapDecl]:
    """Declare an op that puts elements elsewhere; the decorated function is its eager kernel."""

    def declare(body: Callable[..., Any]) -> IndexMapDecl:
        return with_traits(IndexMapDecl(schema, body, spec, origin), **traits)

    return declare
