"""Ops that combine each element with those before it along a dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from opweave.registry.dtypes import DType, float64, int64
from opweave.registry.ops.kinds.composite import ExternDecl
from opweave.registry.ops.kinds.loops import Call, Demand, Point, Space
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.ops.kinds.writing import with_traits
from opweave.registry.promote import not_computed
from opweave.registry.spec import TensorSpec

#: Elements of a row up to which a program holds it whole, as running totals need.
MAX_SCAN = 4096


class ScanDecl(ExternDecl):
    """A call into a library that a kernel can stand in for where it holds a row.

    Attributes
    ----------
    combine : str
        `"cumsum"` or `"cumprod"`.
    """

    kind = "scan"
    is_library_call = False
    apart = ""
    spans = True

    def __init__(self, schema: str, body: Callable[..., Any], spec: Callable[..., TensorSpec], combine: str):
        super().__init__(schema, body, spec)
        self.combine = combine

    def params(self, args: Sequence[Any], kwargs: dict[str, Any], ndim: int) -> tuple[Any, int]:
        """The operand, and the dimension that it runs along, counted from the front."""
        operand, dim = self.bind(args, kwargs)[:2]
        return operand, dim % max(ndim, 1)

    def objection(self, call: Call) -> str:
        _, dim = self.params(call.args, call.kwargs, call.result.ndim)
        size = call.result._sizes[dim] if call.result.ndim else 1
        fits = type(size) is int and 1 < size <= MAX_SCAN
        return "" if fits else f"library call: a running total of {size} elements"

    def admit(self, call: Call, demands: Sequence[Demand], space: Space) -> str:
        """The axis that it runs along becomes a reduced one."""
        if any(demand.guards for demand in demands):
            return "one of several pieces"
        if len(demands) != 1 or not space.runs_over(call.result.sizes, demands[0]):
            return "running totals needed at several indices, or not of every element"
        index = demands[0].index
        _, dim = self.params(call.args, call.kwargs, len(index))
        axis = next(iter(index[dim].axes()), None)
        if axis is None or call.indices.runs_backwards(axis, index[dim]) is None:
            return "running totals needed at a regrouped index"
        if space.reduced not in ([], [axis]):
            return "runs along another axis"
        space.kept = [other for other in space.kept if other is not axis]
        space.reduced = [axis]
        space.join(call, demands)
        space.frames.setdefault(call.result.sizes, index)
        return ""

    def evaluate(self, call: Call, point: Point) -> Any:
        index, result = point.demand.index, call.result._dtype
        _, dim = self.params(call.args, call.kwargs, len(index))
        x = point.k.cast(point.value(call.operands[0], point.demand), wide_type(result))
        (axis,) = point.space.reduced
        backwards = bool(call.indices.runs_backwards(axis, index[dim]))
        total = point.scan(self.combine.removeprefix("cum"), x, backwards)
        if self.combine == "cumsum" and result.kind in "fc":
            total = total + 0.0  # a sum begins at 0, which -0 added to it leaves
        return point.k.cast(total, result)


def wide_type(result: DType) -> DType:
    """What a running total is computed in: it rounds at every step."""
    if result.is_stored:
        raise not_computed(result)
    return float64 if result.is_floating_point else int64 if result.kind in "biu" else result


def scan(
    schema: str, *, spec: Callable[..., TensorSpec], combine: str, **traits: Unpack[Traits]
) -> Callable[[Callable[..., Any]], ScanDecl]:
    """Declare an op that combines elements with those before them; the decorated function is its eager kernel."""

    def declare(body: Callable[..., Any]) -> ScanDecl:
        return with_traits(ScanDecl(schema, body, spec, combine), **traits)

    return declare
