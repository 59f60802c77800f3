"""Symbolic numbers in a graph: what computes them from the tensors at hand.

A trace does not record arithmetic on sizes. Where a symbolic number becomes an operand, nodes are added that compute
its expression from sizes of earlier tensors, each expression once:

    sym_size_int: "Sym(s0)" = ops.aten.sym_size.int(x_1, 0)
    mul: "Sym(2*s0)" = _python.mul(sym_size_int, 2)
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from opweave.fake.constraints import Assertion
from opweave.fake.shape_env import ShapeEnv
from opweave.fake.symbolic import SymBool, SymFloat, SymNumber
from opweave.registry.errors import Site, TraceError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor
from opweave.tracer.graph import Graph, Node

#: Whose functions say little of their types.
_python: Any = operator

_ITEM = ops.aten._local_scalar_dense.default


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
        #: The same for sizes that are no symbols: `2*s0`.
        self._composed: dict[Any, tuple[Any, Node, tuple[int, ...]]] = {}
        self._nodes: dict[Any, Node] = {}
        self._floats: dict[Any, Node] = {}
        self.site: Site | None = None
        #: Brings a symbol of an outer graph in, if it can.
        self.bring: Callable[[Any], bool] | None = None

    def bind(self, value: Any, node: Node) -> None:
        """Note which symbols can be read from a node's value."""
        if isinstance(value, SymNumber):
            self._note(value, None, node, ())
            if isinstance(value, SymBool):
                for symbol in value.expr.free_symbols if node.target is _ITEM else ():
                    self._readable.setdefault(symbol, (None, node, ()))  # True is 1
        elif isinstance(value, Tensor):
            aten = ops.aten
            for read, numbers in ((aten.sym_size.int, value._sizes), (aten.sym_stride.int, value._strides)):
                for d, number in enumerate(numbers):
                    if type(number) is not int:
                        self._note(number, read, node, (d,))
            if type(value._offset) is not int:
                self._note(value._offset, aten.sym_storage_offset.default, node, ())

    def bind_item(self, symbol: Any, node: Node) -> None:
        """Note that a tensor of one element holds a symbol."""
        self._readable.setdefault(symbol, (_ITEM, node, ()))

    def _note(self, number: Any, read: Any, node: Node, args: tuple[int, ...]) -> None:
        expr = number.expr
        if not isinstance(number, SymNumber):
            return
        # Symbols that were replaced are noted too: an earlier operand may have been made of them.
        where = self._readable if expr.is_Symbol or read is None else self._composed
        where.setdefault(expr, (read, node, args))

    def node(self, number: SymNumber) -> Any:
        """The node that computes a number; a Python number where it is known.

        Raises
        ------
        TraceError
            If it is made of a symbol that no tensor of the graph tells.
        """
        expr = self.env.simplify(number.expr)
        made = self._make(expr)
        if not isinstance(number, SymFloat) or not expr.is_integer:
            return made
        # What makes the expression computes in ints where it can: `n / 2 * 2` is n, but a float.
        if not isinstance(made, Node):
            return float(made)
        found = self._floats.get(expr)
        if found is None:
            found = self._floats[expr] = self.graph.create_node("call_function", _python.truediv, (made, 1), {})
            found.meta.update(site=self.site, stack=None, val=self.env.wrap(expr, SymFloat))
        return found

    def _make(self, expr: Any) -> Any:
        found = self._nodes.get(expr)
        if found is not None:
            return found
        if expr in self._readable:
            return self._read(expr, *self._readable[expr])
        plain = self.env.plain(expr)
        if isinstance(plain, (bool, int, float)):
            return plain
        if expr in self._composed and not all(map(self._tells, expr.free_symbols)):
            return self._read(expr, *self._composed[expr])
        if expr.is_Symbol:
            equal = self._equal(expr)
            if equal is not None:
                return self._make(equal)
            solved = self._solved(expr)
            if solved is not None:
                return solved
            if self.bring is not None and self.bring(expr):
                return self._make(expr)
            raise TraceError(
                f"the symbolic number {expr} is not a size of any tensor in the graph",
                got=self.env.symbols[expr].site.short, hint="return a tensor of that size from the op that made it",
            )  # fmt: skip
        return self._compound(expr)

    def _read(self, expr: Any, read: Any, node: Node, args: tuple[int, ...]) -> Node:
        return node if read is None else self._call(expr, read, (node, *args))

    def _equal(self, symbol: Any) -> Any:
        """Another symbol of the same value that can be read."""
        return next((s for s, e in self.env.replacements.items() if e == symbol and s in self._readable), None)

    def _tells(self, symbol: Any) -> bool:
        return symbol in self._readable or self._equal(symbol) is not None

    def _solved(self, symbol: Any) -> Any:
        """A symbol computed from a size that is linear in it: the graph of a function whose input has 2*s0 rows."""
        for expr, (read, node, args) in self._composed.items():
            expr = self.env.simplify(expr)
            if not expr.is_polynomial(symbol):
                continue
            factor = expr.expand().coeff(symbol, 1)
            rest = (expr - factor * symbol).expand()
            if not factor.is_Integer or factor == 0 or symbol in rest.free_symbols:
                continue
            if all(map(self._tells, rest.free_symbols)):
                size = self._nodes.get(expr) or self._call(expr, read, (node, *args))
                moved = size
                if rest != 0:
                    moved = self._call(expr - rest, _python.sub, (size, self._make(rest)))
                return moved if factor == 1 else self._call(symbol, _python.floordiv, (moved, int(factor)))
        return None

    def _compound(self, expr: Any) -> Any:
        name, parts = self.env.taken_apart(expr)
        function = _FUNCTIONS[name]
        if len(parts) > 2:
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
        return self._call(expr, function, tuple([self._make(part) for part in parts]))

    def _call(self, expr: Any, target: Any, args: tuple[Any, ...]) -> Node:
        node = self.graph.create_node("call_function", target, args, {})
        node.meta.update(site=self.site, stack=None, val=self.env.wrap_any(expr))
        self._nodes[expr] = node
        return node

    def forget(self, nodes: list[Node]) -> None:
        """Nodes that are no longer in the graph."""
        gone = set(nodes)
        self._nodes = {expr: node for expr, node in self._nodes.items() if node not in gone}
        self._readable = {expr: read for expr, read in self._readable.items() if read[1] not in gone}

    def tells(self, expr: Any) -> bool:
        """Whether the graph can compute an expression by now."""
        return all(
            self._tells(s) or s in self._nodes or self._is_composed(s) for s in self.env.simplify(expr).free_symbols
        )

    def _is_composed(self, symbol: Any) -> bool:
        return any(symbol in self.env.simplify(expr).free_symbols for expr in self._composed)

    def demand(self, assertion: Assertion) -> None:
        """Add a node that verifies what was demanded of numbers that depend on data."""
        condition = self._make(self.env.simplify(assertion.expr))
        if isinstance(condition, Node):
            node = self.graph.create_node(
                "call_function", ops.aten._assert_scalar.default, (condition, assertion.message), {}
            )
            node.meta.update(site=assertion.site, stack=None, val=None)


_FUNCTIONS: dict[str, Any] = {
    "add": _python.add, "mul": _python.mul, "and": _python.and_, "or": _python.or_, "min": min, "max": max,
    "sub": _python.sub, "floordiv": _python.floordiv, "mod": _python.mod, "truediv": _python.truediv,
    "pow": _python.pow, "neg": _python.neg, "not": _python.not_, "eq": _python.eq, "ne": _python.ne,
    "lt": _python.lt, "le": _python.le, "gt": _python.gt, "ge": _python.ge, "floor": math.floor,
}  # fmt: skip
