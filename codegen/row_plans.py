"""What a row program (`registry.rows`) says: its values, and the passes over a row that they are computed in."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from opweave.registry.rows import RowProgram

#: Functions by what they are in LLVM: of one number, of several, and to truths.
FORMULAS = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh", "erf", "fmod", "remainder", "floor_divide",
            "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh")  # fmt: skip
INTRINSICS = {"sqrt": "sqrt", "abs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint"}
COMPARISONS = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}
#: What is kept for a later pass.
COSTLY = FORMULAS
NEUTRAL = {"sum": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}
#: Elements that go on from those before them, in float64: what each is combined by, and what the first begins with.
RUNNING = {"running_sum": ("fadd", 0.0), "running_prod": ("fmul", 1.0)}


class Value:
    """Elements of a row, or a number of it.

    Parameters
    ----------
    kind : str
        An operation, a fold (`"sum"`), `"down"`, `"load"` or `"const"`.
    args : tuple of Value
        What it is computed of.
    data : int or float
        Which operand is loaded, or stored as; or the constant.
    is_row : bool
        Whether it has elements.
    level : int
        The pass in which its elements are computed, or before which the number is known.
    """

    __slots__ = ("args", "data", "is_row", "kind", "level")
    data: Any

    def __init__(self, kind: str, args: tuple[Value, ...], data: Any, is_row: bool, level: int) -> None:
        self.kind, self.args, self.data, self.is_row, self.level = kind, args, data, is_row, level

    def __add__(self, other: Value | float) -> Value:
        return _applied("add", self, other)

    def __radd__(self, other: float) -> Value:
        return _applied("add", other, self)

    def __sub__(self, other: Value | float) -> Value:
        return _applied("sub", self, other)

    def __rsub__(self, other: float) -> Value:
        return _applied("sub", other, self)

    def __mul__(self, other: Value | float) -> Value:
        return _applied("mul", self, other)

    def __rmul__(self, other: float) -> Value:
        return _applied("mul", other, self)

    def __truediv__(self, other: Value | float) -> Value:
        return _applied("div", self, other)

    def __rtruediv__(self, other: float) -> Value:
        return _applied("div", other, self)

    def __neg__(self) -> Value:
        return _applied("neg", self)


def _applied(kind: str, *given: Value | float) -> Value:
    args = tuple([v if isinstance(v, Value) else Value("const", (), float(v), False, 0) for v in given])
    return Value(kind, args, None, any(v.is_row for v in args), max(v.level for v in args))


class Rows:
    """What bodies call their functions of: `k`."""

    def apply(self, function: str, *args: Value) -> Value:
        """A function by its name: those of this class, of `FORMULAS`, `INTRINSICS`, comparisons and choices."""
        return _applied(function, *args)

    def exp(self, x: Value) -> Value:
        return _applied("exp", x)

    def log(self, x: Value) -> Value:
        return _applied("log", x)

    def sqrt(self, x: Value) -> Value:
        return _applied("sqrt", x)

    def abs(self, x: Value) -> Value:
        return _applied("abs", x)

    def finite(self, x: Value) -> Value:
        """0 in the place of NaN and what is infinite."""
        return _applied("finite", x)

    def stored(self, x: Value, like: Value) -> Value:
        """What is left of a value where it is stored in the type of an operand."""
        return Value("stored", (x,), like.data, x.is_row, x.level)

    def sum(self, x: Value) -> Value:
        return Value("sum", (x,), None, False, x.level + 1)

    def prod(self, x: Value) -> Value:
        return Value("prod", (x,), None, False, x.level + 1)

    def max(self, x: Value) -> Value:
        """The largest element, or NaN where there is one."""
        return Value("max", (x,), None, False, x.level + 1)

    def min(self, x: Value) -> Value:
        """The least element, or NaN where there is one."""
        return Value("min", (x,), None, False, x.level + 1)

    def running_sum(self, x: Value) -> Value:
        """The sums of all elements up to each, rounded once."""
        return _applied("running_sum", x)

    def running_prod(self, x: Value) -> Value:
        return _applied("running_prod", x)

    def down(self, x: Value) -> Value:
        """The sums over rows."""
        return Value("down", (x,), None, True, x.level)


class Plan(NamedTuple):
    """What the passes do."""

    results: list[Value]
    #: All values that each pass ends in: results, folds, sums over rows, and what is kept.
    passes: list[list[Value]]
    #: Costly elements that a later pass needs.
    kept: list[Value]


@functools.cache
def planned(program: RowProgram) -> Plan:
    loads = [Value("load", (), i, form in ("rows", "columns", "chosen"), 0) for i, form in enumerate(program.forms)]
    results = program.body(Rows(), *loads)
    folds: list[Value] = []
    for value in reached(results, lambda v: v.args):
        if value.kind in NEUTRAL:
            folds.append(value)
    count = 1 + max([*(f.args[0].level for f in folds), *(r.level for r in results if r.is_row)])
    passes: list[list[Value]] = [[] for _ in range(count)]
    for value in [*folds, *(r for r in results if r.is_row)]:
        passes[value.args[0].level if value.kind in NEUTRAL else value.level].append(value)
    kept: list[Value] = []
    for number in range(count - 1, 0, -1):
        for value in reached(elements_of(passes[number]), parts_in(number)):
            if value.kind in COSTLY and value.is_row and value.level < number and value not in kept:
                kept.append(value)
                passes[value.level].append(value)
    return Plan(results, passes, kept)


def elements_of(ends: Iterable[Value]) -> list[Value]:
    return [v.args[0] if v.kind in NEUTRAL or v.kind == "down" else v for v in ends]


def parts_in(number: int) -> Callable[[Value], Iterable[Value]]:
    """What a pass computes a value of."""

    def parts(value: Value) -> Iterable[Value]:
        if value.kind in COSTLY and value.level < number:
            return ()
        return [arg for arg in value.args if arg.is_row]

    return parts


def reached(roots: Iterable[Value], parts: Callable[[Value], Iterable[Value]]) -> list[Value]:
    """All values that follow from some, once each, in an order that does not change."""
    found: dict[int, Value] = {}
    waiting = list(roots)
    while waiting:
        value = waiting.pop()
        if id(value) not in found:
            found[id(value)] = value
            waiting.extend(parts(value))
    return list(found.values())
