"""Ops that combine each element with those before it along a dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opweave.registry.dtypes import DType, float64, int64
from opweave.registry.ops.kinds.composite import ExternDecl
from opweave.registry.spec import TensorSpec


class ScanDecl(ExternDecl):
    """A call into a library that a kernel can stand in for where it holds a row.

    Attributes
    ----------
    combine : str
        `"cumsum"` or `"cumprod"`.
    """

    kind = "scan"

    def __init__(self, schema: str, body: Callable[..., Any], spec: Callable[..., TensorSpec], combine: str):
        super().__init__(schema, body, spec, ())
        self.combine = combine

    def params(self, args: Sequence[Any], kwargs: dict[str, Any], ndim: int) -> tuple[Any, int]:
        """The operand, and the dimension that it runs along, counted from the front."""
        operand, dim = self.bind(args, kwargs)[:2]
        return operand, dim % max(ndim, 1)


def wide_type(result: DType) -> DType:
    """What a running total is computed in: it rounds at every step."""
    return float64 if result.is_floating_point else int64 if result.kind in "biu" else result


def scan(schema: str, *, spec: Callable[..., TensorSpec], combine: str) -> Callable[[Callable[..., Any]], ScanDecl]:
    """Declare an op that combines elements with those before them; the decorated function is its eager kernel."""

    def declare(body: Callable[..., Any]) -> ScanDecl:
        return ScanDecl(schema, body, spec, combine)

    return declare
