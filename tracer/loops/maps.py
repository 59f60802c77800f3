"""Users' kernels that compute each element of what they store from one element of each tensor that they load.

Such a kernel is a pointwise op. Its launch becomes a call of an op of its own, whose declaration holds what the kernel
computes (`registry.triton.expression`):

    out = empty(...)
    launch = triton_kernel_wrapper_functional(curve_kernel, x_ptr=x, out_ptr=out, n=4096)   ->   y = curve_kernel(x)
    y = launch['out_ptr']
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from opweave.registry.errors import Site, UnsupportedError
from opweave.registry.op import OpOverload
from opweave.registry.ops.kinds.base import Kind
from opweave.registry.ops.kinds.loops import Call, Point
from opweave.registry.triton.expression import Expression
from opweave.tracer.loops.element_maps import evaluate

_COSTLY = ("math.", "tt.extern_elementwise", "tt.precise", "arith.divf", "arith.remf", "arith.divsi", "arith.remsi")
_CHEAP_MATH = ("math.abs", "math.fma", "math.floor", "math.ceil")
_MANY = 8


class MapDecl(Kind):
    """What an op of a user's kernel computes.

    Parameters
    ----------
    name : str
        The kernel's.
    expression : Expression
        What it stores to one of its pointers.
    numbers : mapping of str to number
        Its arguments that are numbers.
    site : Site or None
        Where it is launched.

    Attributes
    ----------
    op : OpOverload
        Takes the tensors that are loaded, in the order of `expression.loads`.
    is_expensive : bool
        Whether it is too much to be computed twice.
    """

    kind = "map"
    cost = 1
    elementwise = True

    def __init__(
        self, name: str, expression: Expression, numbers: Mapping[str, Any], site: Site | None = None
    ) -> None:  # fmt: skip
        self.expression, self.numbers = expression, dict(numbers)
        operands = ", ".join(f"Tensor p{i}" for i in range(len(expression.loads)))
        word = re.sub(r"\W", "_", name)
        self.op = OpOverload(f"triton_kernel::{word}", f"triton_kernel::{word}({operands}) -> Tensor", site=site)
        self.op.decl, self.op.fake = self, self.fake
        self.text = f"{expression}\nof {', '.join(sorted(expression.single))}\nwith {self.numbers!r}"
        computed = [s.name for s in expression.steps if s.name not in ("load", "number", "constant")]
        self.is_expensive = len(computed) > _MANY or any(
            step.startswith(_COSTLY) and not step.startswith(_CHEAP_MATH) for step in computed
        )

    def evaluate(self, call: Call, point: Point) -> Any:
        loaded: dict[str, Any] = {}
        for name, operand in zip(self.expression.loads, call.arguments(), strict=True):
            index = call.indices.broadcast(point.demand.index, operand.sizes, call.result.sizes)
            loaded[name] = point.value(operand, point.demand.at(index))
        return point.k.cast(evaluate(point.k, self.expression, loaded, self.numbers), call.result._dtype)

    def fake(self, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"{self.op.opname}: a kernel's launch is called in compiled code only")
