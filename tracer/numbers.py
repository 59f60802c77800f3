"""Symbolic numbers in a graph: what computes them from the tensors at hand.

A trace does not record arithmetic on sizes. Where a symbolic number becomes an operand, nodes are added that compute
its expression from sizes of earlier tensors, each expression once:

    sym_size_int: "Sym(s0)" = ops.aten.sym_size.int(x_1, 0)
    mul: "Sym(2*s0)" = operator.mul(sym_size_int, 2)
"""

from __future__ import annotations

import math
import operator
from typing import Any

from opweave.fake.shape_env import Assertion, ShapeEnv
from opweave.fake.symbolic import SymNumber
from opweave.registry.errors import Site, TraceError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor
from opweave.tracer.graph import Graph, Node


class Numbers:
    """Adds the nodes of symbolic numbers to a graph.

    Parameters
    ----------
    graph : Graph
        Where they go.
    env : ShapeEnv
        Whose numbers.
    """

    def __init__(self, graph: Graph, env: ShapeEnv):
        self.graph = graph
        self.env = env
        #: Where a symbol can be read: (op, node, further arguments); the node itself where it is the number.
        self._readable: dict[Any, tuple[Any, Node, tuple[int, ...]]] = {}
        self._nodes: dict[Any, Node] = {}
        self.site: Site | None = None

    def bind(self, value: Any, node: Node) -> None:
        """Note which symbols can be read from a node's value."""
        if isinstance(value, SymNumber):
            self._note(value, None, node, ())
        elif isinstance(value, Tensor):
            aten = ops.aten
            for read, numbers in ((aten.sym_size.int, value._sizes), (aten.sym_stride.int, value._strides)):
                for d, number in enumerate(numbers):
                    if type(number) is not int:
                        self._note(number, read, node, (d,))
            if type(value._offset) is not int:
                self._note(value._offset, aten.sym_storage_offset.default, node, ())

    def _note(self, number: Any, read: Any, node: Node, args: tuple[int, ...]) -> None:
        expr = number.expr
        # Symbols that were replaced are noted too: an earlier operand may have been made of them.
        if isinstance(number, SymNumber) and (expr.is_Symbol or read is None) and expr not in self._readable:
            self._readable[expr] = (read, node, args)

    def node(self, number: SymNumber) -> Any:
        """The node that computes a number; a Python number where it is known.

        Raises
        ------
        TraceError
            If it is made of a symbol that no tensor of the graph tells.
        """
        expr = self.env.simplify(number.expr)
        return self._make(expr)

    def _make(self, expr: Any) -> Any:
        found = self._nodes.get(expr)
        if found is not None:
            return found
        if expr in self._readable:
            read, node, args = self._readable[expr]
            if read is None:
                return node
            return self._call(expr, read, (node, *args))
        plain = self.env.plain(expr)
        if isinstance(plain, (bool, int, float)):
            return plain
        if expr.is_Symbol:
            equal = next((s for s, e in self.env.replacements.items() if e == expr and s in self._readable), None)
            if equal is not None:
                return self._make(equal)
            raise TraceError(
                f"the symbolic number {expr} is not a size of any tensor in the graph",
                got=self.env.symbols[expr].site.short, hint="return a tensor of that size from the op that made it",
            )  # fmt: skip
        return self._compound(expr)

    def _compound(self, expr: Any) -> Any:
        name, parts = self.env.taken_apart(expr)
        if name in ("add", "mul", "and", "or", "min", "max"):
            function = _REPEATED[name]
            result: Any = None
            made: Any = None
            for part in parts:
                operand = self._make(part)
                if result is None:
                    result, made = operand, part
                    continue
                made = self.env.joined(name, made, part)
                known = self._nodes.get(made)
                result = known if known is not None else self._call(made, function, (result, operand))
            return result
        return self._call(expr, _SIMPLE[name], tuple([self._make(part) for part in parts]))

    def _call(self, expr: Any, target: Any, args: tuple[Any, ...]) -> Node:
        node = self.graph.create_node("call_function", target, args, {})
        node.meta.update(site=self.site, stack=None, val=self.env.wrap_any(expr))
        self._nodes[expr] = node
        return node

    def demand(self, assertion: Assertion) -> None:
        """Add a node that verifies what was demanded of numbers that depend on data."""
        condition = self._make(self.env.simplify(assertion.expr))
        if isinstance(condition, Node):
            node = self.graph.create_node(
                "call_function", ops.aten._assert_scalar.default, (condition, assertion.message), {}
            )
            node.meta.update(site=assertion.site, stack=None, val=None)


_REPEATED: dict[str, Any] = {
    "add": operator.add, "mul": operator.mul, "and": operator.and_, "or": operator.or_, "min": min, "max": max,
}  # fmt: skip
_SIMPLE: dict[str, Any] = {
    "sub": operator.sub, "floordiv": operator.floordiv, "mod": operator.mod, "truediv": operator.truediv,
    "pow": operator.pow, "neg": operator.neg, "not": operator.not_, "eq": operator.eq, "ne": operator.ne,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "floor": math.floor,
}  # fmt: skip
