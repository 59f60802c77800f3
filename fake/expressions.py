"""Expressions over sizes: sympy's, with floor division and remainder that simplify as sizes need.

All numbers in them are exact: a float is the rational number that it is. An operation on floats that rounds is a
function of its own, which sympy does not rearrange: `(n * 0.3) / 3` is rounded twice, in this order.

This module loads sympy, which takes longer than opweave itself; `ShapeEnv` loads it when the first one is made.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import sympy as _sympy

#: Untyped, since sympy's annotations do not follow its classes.
sympy: Any = _sympy
Bounds = tuple[Any, Any]

INFINITY = sympy.oo
ZERO, ONE = sympy.Integer(0), sympy.Integer(1)


def _divided(part: Any, divisor: Any) -> Any:
    """`part / divisor` where that is an integer expression for certain."""
    if divisor.is_Integer and part.is_Integer:
        return part / divisor if part % divisor == 0 else None
    quotient = part / divisor
    denominator = sympy.fraction(quotient)[1]
    return quotient if denominator == 1 and not quotient.atoms(sympy.Rational) - quotient.atoms(sympy.Integer) else None


def _split(a: Any, b: Any) -> tuple[Any, Any]:
    """(q, r) with `a == q * b + r`, as much as possible in q."""
    whole, rest = ZERO, ZERO
    for term in sympy.Add.make_args(sympy.expand(a)):
        part = _divided(term, b)
        if part is None:
            rest += term
        else:
            whole += part
    return whole, rest


class FloorDiv(sympy.Function):
    """`a // b`, rounded towards minus infinity."""

    nargs = (2,)
    is_integer = True

    @classmethod
    def eval(cls, a: Any, b: Any) -> Any:
        """Simplify; None keeps it as it is."""
        if b == 1:
            return a
        if b == -1:
            return -a
        if a.is_zero and b.is_nonzero:
            return ZERO
        if a.is_Integer and b.is_Integer and b != 0:
            return sympy.Integer(int(a) // int(b))
        if b.is_Integer and b < 0:  # type: ignore[attr-defined]
            return FloorDiv(-a, -b)
        if isinstance(a, FloorDiv) and a.args[1].is_positive and b.is_positive:  # type: ignore[attr-defined]
            return FloorDiv(a.args[0], a.args[1] * b)
        whole, rest = _split(a, b)
        if rest == 0:
            return whole
        if whole != 0:
            return whole + FloorDiv(rest, b)
        if b.is_Integer and b > 0:  # type: ignore[attr-defined]
            # (4 s) // 6 == (2 s) // 3
            common = sympy.gcd_list([*coefficients(rest), b])
            if common > 1:
                return FloorDiv(sympy.expand(rest / common), b / common)
        return None

    def _eval_is_nonnegative(self) -> bool | None:
        a, b = self.args
        return True if a.is_nonnegative and b.is_positive else None


class Mod(sympy.Function):
    """`a % b` with the sign of b, as Python has it."""

    nargs = (2,)
    is_integer = True

    @classmethod
    def eval(cls, a: Any, b: Any) -> Any:
        """Simplify; None keeps it as it is."""
        if b == 1 or a.is_zero or a == b:
            return ZERO
        if a.is_Integer and b.is_Integer and b != 0:
            return sympy.Integer(int(a) % int(b))
        whole, rest = _split(a, b)
        if rest == 0:
            return ZERO
        if whole != 0:
            return Mod(rest, b)
        if b.is_Integer and b > 0:  # type: ignore[attr-defined]
            # (6 s) % 4 == 2 ((3 s) % 2)
            common = sympy.gcd_list([*coefficients(rest), b])
            if common > 1:
                return common * Mod(sympy.expand(rest / common), b / common)
        return None

    def _eval_is_nonnegative(self) -> bool | None:
        return True if self.args[1].is_positive else None


class Rounded(sympy.Function):
    """An operation on floats whose result may have to be rounded.

    Attributes
    ----------
    operation : str
        Its name in `BINARY`.
    """

    nargs = (2,)
    is_real = True
    operation = ""

    @classmethod
    def eval(cls, a: Any, b: Any) -> Any:
        """The float that Python computes from two numbers; None keeps what has symbols."""
        if not (a.is_number and b.is_number):
            return None
        return number(_PYTHON[cls.operation](as_float(a), as_float(b)))


_PYTHON: dict[str, Callable[[float, float], float]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": math.pow,
}  # fmt: skip
_ROUNDED: dict[str, Any] = {
    name: type(f"Float{name.capitalize()}", (Rounded,), {"operation": name}) for name in _PYTHON
}


def as_float(value: Any) -> float:
    """A constant expression as a float; infinite beyond the largest one."""
    try:
        return int(value.p) / int(value.q) if value.is_Rational else float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def is_exact(expr: Any) -> bool:
    """Whether floats hold the expression's values: integers over powers of two, put together without rounding.

    A product of symbols is taken to be below 2**32, as the numbers of elements are.
    """
    if expr.is_Rational:
        return abs(expr.p) < _MOST and expr.q <= _MOST and not expr.q & (expr.q - 1)
    if expr.is_integer:
        return all(abs(constant) < _MOST for constant in expr.atoms(sympy.Integer))
    return bool(expr.is_Add or expr.is_Mul) and all(map(is_exact, expr.args))


class Compared(sympy.logic.boolalg.BooleanFunction):
    """A comparison of floats that may be no numbers: of such, neither `a < b` nor `a >= b` holds."""

    nargs = (2,)
    relation = ""

    @classmethod
    def eval(cls, a: Any, b: Any) -> Any:
        """The answer for two numbers; None keeps what has symbols."""
        if a.is_number and b.is_number:
            return sympy.true if getattr(operator, cls.relation)(as_float(a), as_float(b)) else sympy.false
        return None


COMPARED: dict[str, Any] = {
    name: type(f"Float{name.capitalize()}Relation", (Compared,), {"relation": name})
    for name in ("eq", "ne", "lt", "le", "gt", "ge")
}


def float_symbol(name: str) -> Any:
    """A symbol for a float."""
    return sympy.Symbol(name, real=True)


def related(name: str, a: Any, b: Any) -> Any:
    """`a <rel> b`."""
    if all(symbol.is_integer for symbol in a.free_symbols | b.free_symbols):
        return RELATIONS[name](a, b)
    return COMPARED[name](a, b)


#: What gives the same number for two small ints as for the floats that equal them.
_PLAIN = frozenset({"add", "sub", "mul"})

#: Up to here the numerators and denominators of constants leave a product with a size exact.
_MOST = 1 << 20


def floating(name: str, a: Any, b: Any) -> Any:
    """`a <op> b` in floats; an operation that does not round is exact arithmetic."""
    if name in ("min", "max"):
        return BINARY[name](a, b)
    if name == "mul" and -1 in (a, b):
        return -a if b == -1 else -b
    if is_exact(a) and is_exact(b):
        if name in ("add", "sub", "mul"):
            return BINARY[name](a, b)
        if name == "truediv" and b.is_Rational and b.p and not abs(b.p) & (abs(b.p) - 1):
            return a / b
        if name in ("floordiv", "mod"):
            whole = quotient_down(a, b)
            return whole if name == "floordiv" else sympy.expand(a - whole * b)
    if name != "truediv":  # Python would compute with ints where both are
        a = _ROUNDED["truediv"](a, ONE) if a.is_integer and not (a.is_number or is_exact(a) and name in _PLAIN) else a
        b = _ROUNDED["truediv"](b, ONE) if b.is_integer and not (b.is_number or is_exact(b)) else b
    return _ROUNDED[name](a, b)


def quotient_down(a: Any, b: Any) -> Any:
    """The largest integer that is not above `a / b`, for exact expressions."""
    (above, below), (over, under) = a.as_numer_denom(), b.as_numer_denom()
    return FloorDiv(sympy.expand(above * under), sympy.expand(below * over))


def rounded_down(expr: Any) -> Any:
    """The largest integer that is not above a float; None where no expression tells it."""
    if is_exact(expr):
        return quotient_down(expr, ONE)
    # A quotient of numbers that floats hold is not rounded up to an integer.
    held = isinstance(expr, _ROUNDED["truediv"]) and all(map(is_exact, expr.args))
    return quotient_down(*expr.args) if held else None


def coefficients(a: Any) -> list[Any]:
    return [term.as_coeff_Mul()[0] for term in sympy.Add.make_args(a)]


def symbol(name: str, low: int) -> Any:
    """An integer symbol that is at least `low`, as far as sympy's assumptions can say it."""
    if low > 0:
        return sympy.Symbol(name, integer=True, positive=True)
    return sympy.Symbol(name, integer=True, nonnegative=True) if low == 0 else sympy.Symbol(name, integer=True)


def power(a: Any, b: Any) -> Any:
    """`a ** b`."""
    return sympy.expand(a**b) if b.is_Integer and b >= 0 else a**b


def _times(a: Any, b: Any) -> Any:
    return sympy.expand(a * b) if a.is_Add or b.is_Add else a * b


#: What the operators of symbolic integers make.
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": _times, "floordiv": FloorDiv, "mod": Mod, "pow": power,
    "truediv": lambda a, b: floating("truediv", a, b), "min": sympy.Min, "max": sympy.Max,
}  # fmt: skip

RELATIONS: dict[str, Any] = {
    "eq": sympy.Eq, "ne": sympy.Ne, "lt": sympy.Lt, "le": sympy.Le, "gt": sympy.Gt, "ge": sympy.Ge,
}  # fmt: skip


def number(value: Any) -> Any:
    """A Python number as an expression."""
    if isinstance(value, bool):
        return sympy.true if value else sympy.false
    if isinstance(value, int):
        return sympy.Integer(value)
    return sympy.Rational(*value.as_integer_ratio()) if math.isfinite(value) else sympy.Float(value)


def plain(expr: Any) -> Any:
    """A constant expression as a Python number; anything else as it is."""
    if expr.is_Integer:
        return int(expr)
    if expr is sympy.true or expr is sympy.false:
        return bool(expr)
    if not expr.is_number:
        return expr
    # Inside of others sympy leaves some constants as they were put together: `max(2, 5)`.
    return int(expr) if expr.is_integer else as_float(expr)


def evaluated(expr: Any, values: dict[Any, int]) -> Any:
    """The number that an expression is, for given values of its symbols."""
    return plain(sympy.sympify(expr.xreplace({key: sympy.Integer(value) for key, value in values.items()})))
