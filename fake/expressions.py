"""Expressions over sizes: sympy's, with floor division and remainder that simplify as sizes need.

All numbers in them are exact: a float is the rational number that it is. An operation on floats that rounds is a
function of its own, which sympy does not rearrange: `(n * 0.3) / 3` is rounded twice, in this order.

This module loads sympy, which takes longer than opweave itself; `ShapeEnv` loads it when the first one is made.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import sympy as _sympy

#: Untyped, since sympy's annotations do not follow its classes.
sympy: Any = _sympy
Bounds = tuple[Any, Any]

INFINITY = sympy.oo
_ZERO, _ONE = sympy.Integer(0), sympy.Integer(1)


def _divided(part: Any, divisor: Any) -> Any:
    """`part / divisor` where that is an integer expression for certain."""
    if divisor.is_Integer and part.is_Integer:
        return part / divisor if part % divisor == 0 else None
    quotient = part / divisor
    denominator = sympy.fraction(quotient)[1]
    return quotient if denominator == 1 and not quotient.atoms(sympy.Rational) - quotient.atoms(sympy.Integer) else None


def _split(a: Any, b: Any) -> tuple[Any, Any]:
    """(q, r) with `a == q * b + r`, as much as possible in q."""
    whole, rest = _ZERO, _ZERO
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
            return _ZERO
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
            common = sympy.gcd_list([*_coefficients(rest), b])
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
            return _ZERO
        if a.is_Integer and b.is_Integer and b != 0:
            return sympy.Integer(int(a) % int(b))
        whole, rest = _split(a, b)
        if rest == 0:
            return _ZERO
        if whole != 0:
            return Mod(rest, b)
        if b.is_Integer and b > 0:  # type: ignore[attr-defined]
            # (6 s) % 4 == 2 ((3 s) % 2)
            common = sympy.gcd_list([*_coefficients(rest), b])
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
        a = _ROUNDED["truediv"](a, _ONE) if a.is_integer and not (a.is_number or is_exact(a) and name in _PLAIN) else a
        b = _ROUNDED["truediv"](b, _ONE) if b.is_integer and not (b.is_number or is_exact(b)) else b
    return _ROUNDED[name](a, b)


def quotient_down(a: Any, b: Any) -> Any:
    """The largest integer that is not above `a / b`, for exact expressions."""
    (above, below), (over, under) = a.as_numer_denom(), b.as_numer_denom()
    return FloorDiv(sympy.expand(above * under), sympy.expand(below * over))


def rounded_down(expr: Any) -> Any:
    """The largest integer that is not above a float; None where no expression tells it."""
    if is_exact(expr):
        return quotient_down(expr, _ONE)
    # A quotient of numbers that floats hold is not rounded up to an integer.
    held = isinstance(expr, _ROUNDED["truediv"]) and all(map(is_exact, expr.args))
    return quotient_down(*expr.args) if held else None


def _coefficients(a: Any) -> list[Any]:
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


# ---- ranges --------------------------------------------------------------------------------------------------------


class Ranges(dict[Any, Bounds]):
    """Bounds by symbol, with those of all expressions that were asked for: sizes have most of their parts in common.

    Attributes
    ----------
    changes : int
        How often a symbol's bounds became others.
    """

    def __init__(self) -> None:
        super().__init__()
        self.changes = 0
        self._found: dict[Any, Bounds] = {}

    def __setitem__(self, symbol: Any, bounds: Bounds) -> None:
        if symbol in self and self[symbol] != bounds:
            self.changes += 1
            self._found.clear()
        super().__setitem__(symbol, bounds)

    def copied(self) -> Ranges:
        """The same bounds, which may become others."""
        found = Ranges()
        dict.update(found, self)
        found.changes = self.changes
        return found

    def of(self, expr: Any) -> Bounds:
        """`bounds` of an expression."""
        found = self._found.get(expr)
        if found is None:
            found = self._found[expr] = _bounds(expr, self)
        return found


def bounds(expr: Any, ranges: dict[Any, Bounds]) -> Bounds:
    """The least and largest value of an expression, for symbols in these ranges; may be wider than need be."""
    if expr.is_Symbol:
        return ranges.get(expr, (-INFINITY, INFINITY))
    return ranges.of(expr) if isinstance(ranges, Ranges) else _bounds(expr, ranges)


def _bounds(expr: Any, ranges: dict[Any, Bounds]) -> Bounds:
    if expr.is_number:
        return expr, expr
    parts = [bounds(arg, ranges) for arg in expr.args]
    if expr.is_Add:
        return _sum(part[0] for part in parts), _sum(part[1] for part in parts)
    if expr.is_Mul:
        low, high = parts[0]
        for part in parts[1:]:
            low, high = _product((low, high), part)
        return low, high
    if expr.is_Pow and expr.exp.is_Integer and expr.exp > 0:
        low, high = parts[0]
        if low >= 0:
            return low**expr.exp, high**expr.exp
        return (_ZERO if expr.exp % 2 == 0 else -INFINITY), INFINITY
    if isinstance(expr, FloorDiv):
        (low, high), (least, most) = parts
        if least > 0:
            ends = [_floor(a, b) for a in (low, high) for b in (least, most)]
            return min(ends), max(ends)
    if isinstance(expr, Mod):
        (low, high), (least, most) = parts
        if least > 0:
            return (low, high) if low >= 0 and high < least else (_ZERO, min(most - 1, high) if low >= 0 else most - 1)
    if isinstance(expr, sympy.Max):
        return max(part[0] for part in parts), max(part[1] for part in parts)
    if isinstance(expr, sympy.Min):
        return min(part[0] for part in parts), min(part[1] for part in parts)
    if isinstance(expr, Rounded):
        return _rounded_bounds(expr.operation, *parts)
    return -INFINITY, INFINITY


def _rounded_bounds(name: str, a: Bounds, b: Bounds) -> Bounds:
    """Rounding keeps the order of numbers, so that of the exact bounds gives bounds."""
    if name == "add":
        ends = a[0] + b[0], a[1] + b[1]
    elif name == "sub":
        ends = a[0] - b[1], a[1] - b[0]
    elif name == "mul":
        ends = _product(a, b)
    elif name == "truediv" and b[0] > 0:
        ends = _product(a, (1 / b[1], 1 / b[0]))
    else:
        return -INFINITY, INFINITY
    low, high = (end if end in (INFINITY, -INFINITY) else number(as_float(end)) for end in ends)
    return low, high


def _sum(values: Any) -> Any:
    total: Any = _ZERO
    for value in values:
        total += value
    return total


def _product(a: Bounds, b: Bounds) -> Bounds:
    ends = [_ZERO if x == 0 or y == 0 else x * y for x in a for y in b]
    return min(ends), max(ends)


def _floor(a: Any, b: Any) -> Any:
    if b in (INFINITY, -INFINITY):
        return _ZERO if a not in (INFINITY, -INFINITY) and a >= 0 else -_ONE if a not in (INFINITY, -INFINITY) else a
    return a if a in (INFINITY, -INFINITY) else sympy.floor(a / b)


def _shifted_bounds(part: Any, ranges: dict[Any, Bounds]) -> Bounds:
    """Bounds of a polynomial whose terms vary together, as in `s0*s1 - s1`, which `bounds` cannot tell.

    Each symbol is written as its least value plus something that is not negative. If all coefficients then have one
    sign, the constant term is a bound.
    """
    known = dict(ranges)
    # The outer ones first: the others are inside of them.
    for atom in sorted(part.atoms(FloorDiv, Mod, sympy.Max, sympy.Min, Rounded), key=sympy.count_ops, reverse=True):
        dummy = sympy.Dummy(integer=True) if atom.is_integer else sympy.Dummy(real=True)
        known[dummy] = bounds(atom, ranges)
        part = part.xreplace({atom: dummy})
    steps = {}
    for one in part.free_symbols:
        low = known.get(one, (-INFINITY, INFINITY))[0]
        if low == -INFINITY:
            return -INFINITY, INFINITY
        steps[one] = low + sympy.Dummy(integer=True, nonnegative=True)
    moved = sympy.expand(part.xreplace(steps))
    constant, rest = moved.as_coeff_Add()
    factors = _coefficients(rest) if rest != 0 else []
    least = constant if all(factor >= 0 for factor in factors) else -INFINITY
    return least, constant if all(factor <= 0 for factor in factors) else INFINITY


# ---- truth ---------------------------------------------------------------------------------------------------------


def decide(expr: Any, ranges: dict[Any, Bounds]) -> bool | None:
    """Whether a relation holds for all values in the ranges (True), none (False), or some (None)."""
    if expr is sympy.true or expr is sympy.false:
        return bool(expr)
    if isinstance(expr, sympy.And):
        found = [decide(part, ranges) for part in expr.args]
        return False if False in found else True if all(found) else None
    if isinstance(expr, sympy.Or):
        found = [decide(part, ranges) for part in expr.args]
        return True if True in found else False if all(part is False for part in found) else None
    if isinstance(expr, sympy.Not):
        found_one = decide(expr.args[0], ranges)
        return None if found_one is None else not found_one
    if not expr.is_Relational:
        return None
    part = sympy.expand(expr.lhs - expr.rhs)
    low, high = bounds(part, ranges)
    if part.is_Add and (low <= 0 <= high):
        least, most = _shifted_bounds(part, ranges)
        low, high = max(low, least), min(high, most)
    if isinstance(expr, sympy.Eq):
        return True if low == high == 0 else False if low > 0 or high < 0 else None
    if isinstance(expr, sympy.Ne):
        return False if low == high == 0 else True if low > 0 or high < 0 else None
    if isinstance(expr, sympy.StrictLessThan):
        return True if high < 0 else False if low >= 0 else None
    if isinstance(expr, sympy.LessThan):
        return True if high <= 0 else False if low > 0 else None
    if isinstance(expr, sympy.StrictGreaterThan):
        return True if low > 0 else False if high <= 0 else None
    return True if low >= 0 else False if high < 0 else None


def _unfloored(part: Any, divisible: Iterable[Any]) -> Any:
    """An expression with `a // k` as `(a - a % k) / k`, and remainders that are known to be 0 put in."""
    while True:
        floors = [f for f in part.atoms(FloorDiv) if f.args[1].is_Integer and f.args[1] > 0]
        if not floors:
            break
        outer = max(floors, key=sympy.count_ops)
        a, k = outer.args
        part = sympy.expand(part.xreplace({outer: (a - Mod(a, k)) / k}))
    zeros = {}
    for rest in part.atoms(Mod):
        for one in divisible:
            beyond = sympy.expand(rest.args[0] - one.args[0])
            if beyond.is_Integer and rest.args[1].is_Integer and one.args[1] % rest.args[1] == 0:
                zeros[rest] = sympy.Integer(int(beyond) % int(rest.args[1]))
    return sympy.expand(part.xreplace(zeros)) if zeros else part


def decide_exactly(expr: Any, ranges: dict[Any, Bounds], divisible: Iterable[Any]) -> bool | None:
    """`decide` for a relation in which divisions are rounded; `divisible` are remainders that are 0."""
    if not getattr(expr, "is_Relational", False) or not expr.has(FloorDiv, Mod, sympy.Max, sympy.Min):
        return None
    by_case = _decide_by_case(expr, ranges, divisible)
    if by_case is not None or not expr.has(FloorDiv, Mod):
        return by_case
    part = _unfloored(sympy.expand(expr.lhs - expr.rhs), divisible)
    whole = sympy.expand(part * math.lcm(1, *[int(factor.q) for factor in _coefficients(part) if factor.is_Rational]))
    return decide(expr.func(whole, 0, evaluate=False), ranges)


def _decide_by_case(expr: Any, ranges: dict[Any, Bounds], divisible: Iterable[Any]) -> bool | None:
    """A canonical relation in which the larger or smaller of numbers stands: with each of them in its place."""
    part = expr.lhs - expr.rhs
    extreme = max(part.atoms(sympy.Max, sympy.Min), key=sympy.count_ops, default=None)
    if extreme is None:
        return None
    factor = part.coeff(extreme, 1)
    if not factor.is_Integer or sympy.expand(part - factor * extreme).has(extreme):
        return None
    if isinstance(expr, (sympy.Eq, sympy.Ne)):
        sides = [_cases(side, factor * sign, extreme, ranges, divisible) for side, sign in ((part, 1), (-part, -1))]
        equal = False if False in sides else True if all(sides) else None
        return equal if equal is None or isinstance(expr, sympy.Eq) else not equal
    return _cases(part, factor, extreme, ranges, divisible) if isinstance(expr, sympy.LessThan) else None


def _cases(
    part: Any, factor: Any, extreme: Any, ranges: dict[Any, Bounds], divisible: Iterable[Any]
) -> bool | None:  # fmt: skip
    """Whether `part <= 0`; the part is as large as in the worst case, or as small as in the best."""
    found = []
    for one in extreme.args:
        case = sympy.Le(sympy.expand(part.xreplace({extreme: one})), 0, evaluate=False)
        known = decide(case, ranges)
        found.append(decide_exactly(case, ranges, divisible) if known is None else known)
    if isinstance(extreme, sympy.Max) == bool(factor > 0):
        return False if False in found else True if all(found) else None
    return True if True in found else False if all(one is False for one in found) else None


def follows(expr: Any, facts: Iterable[Any]) -> bool:
    """Whether a canonical `part <= 0` follows from one that asks for more: from `part + 1 <= 0`."""
    if not isinstance(expr, sympy.LessThan) or not is_whole(expr):
        return False
    constant, rest = expr.lhs.as_coeff_Add()
    for fact in facts:
        if isinstance(fact, sympy.LessThan) and is_whole(fact):
            least, same = fact.lhs.as_coeff_Add()
            if same == rest and least > constant:
                return True
    return False


def remainder_of(expr: Any) -> Any:
    """For a canonical `a % k == 0` the remainder, else None."""
    if isinstance(expr, sympy.Eq) and isinstance(expr.lhs, Mod) and expr.lhs.args[1].is_Integer and expr.rhs == 0:
        return expr.lhs
    return None


def is_whole(relation: Any) -> bool:
    """Whether a relation compares integers: the form of others is not canonical, and no bound is read from it."""
    return bool(relation.lhs.is_integer and relation.rhs.is_integer)


def canonical(expr: Any) -> Any:
    """One form for relations of integers that say the same: `part <= 0`, `part == 0` or `part != 0`, in lowest terms.

    A relation of other numbers stays as it is.
    """
    if not getattr(expr, "is_Relational", False):
        return expr.func(*map(canonical, expr.args)) if isinstance(expr, (sympy.And, sympy.Or, sympy.Not)) else expr
    if not is_whole(expr):
        return expr
    part = sympy.expand(expr.lhs - expr.rhs)
    if isinstance(expr, (sympy.Eq, sympy.Ne)):
        if part.has(FloorDiv):
            # 2 * (s // 2) == s says that s % 2 == 0.
            plain_part = _unfloored(part, ())
            part = plain_part if isinstance(plain_part.as_coeff_Mul()[1], Mod) else part
        terms = [term for term in sympy.Add.make_args(part) if not term.is_number]
        part = -part if terms and _sign(min(terms, key=_unsigned)) else part
        return (sympy.Eq if isinstance(expr, sympy.Eq) else sympy.Ne)(_lowest(part), 0, evaluate=False)
    if isinstance(expr, (sympy.GreaterThan, sympy.StrictGreaterThan)):
        part = -part
    if isinstance(expr, (sympy.StrictLessThan, sympy.StrictGreaterThan)):
        part = part + 1  # integers
    if part.has(FloorDiv, Mod):
        factor, rest = _unfloored(part, ()).as_coeff_Mul()
        if factor > 0 and isinstance(rest, Mod):  # not above 0, so 0
            return sympy.Eq(rest, 0, evaluate=False)
    return sympy.Le(_unrounded(_lowest(part)), 0, evaluate=False)


def _unrounded(part: Any) -> Any:
    """For `part <= 0`, what says the same of `a` where the part is `a // k` and a constant."""
    constant, rest = part.as_coeff_Add()
    sign, floor = rest.as_coeff_Mul()
    if not isinstance(floor, FloorDiv) or abs(sign) != 1 or not constant.is_Integer:
        return part
    a, k = floor.args
    if not (k.is_Integer and k > 0):
        return part
    # a // k <= -c where a <= -c * k + k - 1; a // k >= c where a >= c * k.
    return _lowest(sympy.expand(a + constant * k - k + 1 if sign == 1 else constant * k - a))


def _lowest(part: Any) -> Any:
    factors = _coefficients(part)
    if not all(factor.is_Integer for factor in factors):
        return part
    common = sympy.gcd_list(factors)
    return sympy.expand(part / common) if common > 1 else part


def negated(expr: Any) -> Any:
    """The opposite, in canonical form."""
    return canonical(sympy.Not(expr))


def linear_bound(expr: Any) -> tuple[Any, int | None, int | None] | None:
    """For a canonical `a * s + b <= 0`: the symbol, and the least or the largest value that it says; else None."""
    if not isinstance(expr, sympy.LessThan) or len(expr.free_symbols) != 1 or not is_whole(expr):
        return None
    (one,) = expr.free_symbols
    a, b = expr.lhs.coeff(one, 1), expr.lhs.coeff(one, 0)
    if not (a.is_Integer and b.is_Integer) or sympy.expand(a * one + b - expr.lhs) != 0:
        return None
    if a > 0:
        return one, None, int(sympy.floor(-b / a))
    return one, int(sympy.ceiling(-b / a)), None


def solved(expr: Any) -> tuple[Any, Any] | None:
    """For `part == 0`: a symbol that stands alone in it, and what it equals; None where there is none."""
    if not isinstance(expr, sympy.Eq) or not is_whole(expr):
        return None
    part = sympy.expand(expr.lhs - expr.rhs)
    # The youngest symbol gives way to the others.
    for one in sorted(part.free_symbols, key=lambda s: (s.name[0], int(s.name[1:])), reverse=True):
        if part.has(FloorDiv, Mod) and any(one in atom.free_symbols for atom in part.atoms(FloorDiv, Mod)):
            continue
        a = part.coeff(one, 1)
        rest = sympy.expand(part - a * one)
        if abs(a) == 1 and one not in rest.free_symbols:
            return one, sympy.expand(-rest * a)
    return None


# ---- parts ---------------------------------------------------------------------------------------------------------

_FUNCTIONS: dict[Any, str] = {
    FloorDiv: "floordiv", Mod: "mod", sympy.Eq: "eq", sympy.Ne: "ne", sympy.StrictLessThan: "lt",
    sympy.LessThan: "le", sympy.StrictGreaterThan: "gt", sympy.GreaterThan: "ge", sympy.Max: "max", sympy.Min: "min",
    sympy.And: "and", sympy.Or: "or", sympy.Not: "not", sympy.Pow: "pow", sympy.floor: "floor",
}  # fmt: skip
_JOINED: dict[str, Any] = {
    "add": sympy.Add, "mul": sympy.Mul, "and": sympy.And, "or": sympy.Or, "min": sympy.Min, "max": sympy.Max,
}  # fmt: skip


def taken_apart(expr: Any) -> tuple[str, list[Any]]:
    """The operation at the top of an expression, by the name of Python's, and its operands."""
    if expr.is_Relational:
        return _FUNCTIONS[type(expr)], list(_sides(expr))
    if isinstance(expr, Compared):
        return expr.relation, list(expr.args)
    if isinstance(expr, Rounded):
        return expr.operation, list(expr.args)
    if expr.is_Add:
        terms = sorted(expr.args, key=_order)
        if not _sign(terms[0]) and _sign(terms[-1]) and not terms[-1].is_number:
            return "sub", [sympy.Add(*terms[:-1]), -terms[-1]]
        return "add", terms
    if expr.is_Mul:
        numerator, denominator = sympy.fraction(expr)
        if denominator != 1:
            return "truediv", [numerator, denominator]
        if expr.args[0] == -1:
            return "neg", [-expr]
        return "mul", [*expr.args[1:], expr.args[0]] if expr.args[0].is_number else list(expr.args)
    return _FUNCTIONS[type(expr)], list(expr.args)


def joined(name: str, a: Any, b: Any) -> Any:
    """Two operands of `taken_apart` put together again."""
    return _JOINED[name](a, b)


def terms(expr: Any) -> list[tuple[int | None, list[Any]]]:
    """An expression as a sum of coefficients times factors; a coefficient that is no integer is None."""
    found: list[tuple[int | None, list[Any]]] = []
    for term in sympy.Add.make_args(sympy.expand(expr)):
        coefficient, rest = term.as_coeff_Mul()
        factors: list[Any] = []
        whole = bool(coefficient.is_Integer)
        for factor in sympy.Mul.make_args(rest):
            base, exponent = factor.as_base_exp()
            if exponent.is_Integer and exponent > 0:
                factors += [base] * int(exponent) if base != 1 else []
            else:
                whole = False
        found.append((int(coefficient) if whole else None, factors))
    return found


# ---- text ----------------------------------------------------------------------------------------------------------


class Texts:
    """The text of expressions, each made once: what is derived from a size repeats its text."""

    def __init__(self) -> None:
        self._found: dict[Any, str] = {}
        self._orders: dict[Any, tuple[bool, bool, str]] = {}

    def __call__(self, expr: Any, name: Callable[[Any], str] = str) -> str:
        """`text` of an expression."""
        if name is not str:
            return _text(expr, name, self)
        found = self._found.get(expr)
        if found is None:
            found = self._found[expr] = _text(expr, name, self)
        return found

    def order(self, term: Any) -> tuple[bool, bool, str]:
        """Where a term stands in its sum."""
        found = self._orders.get(term)
        if found is None:
            found = self._orders[term] = _order(term)
        return found


def _order(term: Any) -> tuple[bool, bool, str]:
    """Positive terms first, constants last."""
    return bool(term.is_number), _sign(term), str(term)


def text(expr: Any, name: Callable[[Any], str] = str) -> str:
    """The expression as Python; `name` gives each symbol's text."""
    return Texts()(expr, name)


def _text(expr: Any, name: Callable[[Any], str], text: Texts) -> str:
    if expr.is_Symbol:
        return name(expr)
    if expr.is_number or expr in (sympy.true, sympy.false):
        return repr(plain(expr))
    if isinstance(expr, sympy.Not):
        return f"not ({text(expr.args[0], name)})"
    if isinstance(expr, (sympy.And, sympy.Or)):
        word = " and " if isinstance(expr, sympy.And) else " or "
        return word.join(f"({text(part, name)})" for part in expr.args)
    if expr.is_Relational:
        left, right = _sides(expr)
        sign = _SIGNS[type(expr)]
        if left.is_number:
            left, right, sign = right, left, _SWAPPED[sign]
        return f"{text(left, name)} {sign} {text(right, name)}"
    if isinstance(expr, Compared):
        left, right = (_inner(part, name, text) for part in expr.args)
        return f"{left} {_SIGNS[RELATIONS[expr.relation]]} {right}"
    if isinstance(expr, FloorDiv):
        return f"{_inner(expr.args[0], name, text)} // {_inner(expr.args[1], name, text)}"
    if isinstance(expr, Mod):
        return f"{_inner(expr.args[0], name, text)} % {_inner(expr.args[1], name, text)}"
    if isinstance(expr, Rounded):
        return f"{_inner(expr.args[0], name, text)} {_OPERATORS[expr.operation]} {_inner(expr.args[1], name, text)}"
    if isinstance(expr, (sympy.Max, sympy.Min)):
        word = "max" if isinstance(expr, sympy.Max) else "min"
        return f"{word}({', '.join(text(part, name) for part in expr.args)})"
    if expr.is_Add:
        terms = sorted(expr.args, key=text.order)
        found = text(terms[0], name)
        for term in terms[1:]:
            minus = _sign(term)
            found += f" {'-' if minus else '+'} {_inner(-term if minus else term, name, text, 'mul')}"
        return found
    if expr.is_Mul:
        numerator, denominator = sympy.fraction(expr)
        if denominator != 1:
            return f"{_inner(numerator, name, text)} / {_inner(denominator, name, text)}"
        sign = "-" if expr.args[0] == -1 else ""
        factors = expr.args[1:] if sign else expr.args
        return sign + "*".join(_inner(part, name, text) for part in factors)
    if expr.is_Pow:
        return f"{_inner(expr.base, name, text)}**{_inner(expr.exp, name, text)}"
    raise TypeError(f"an expression of a kind that is not known: {expr}")


_SIGNS = {
    sympy.Eq: "==", sympy.Ne: "!=", sympy.StrictLessThan: "<", sympy.LessThan: "<=", sympy.StrictGreaterThan: ">",
    sympy.GreaterThan: ">=",
}  # fmt: skip


_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
}  # fmt: skip

#: Of a relation with its sides swapped.
_SWAPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _unsigned(term: Any) -> str:
    return str(abs(term.as_coeff_Mul()[0]) * term.as_coeff_Mul()[1])


def _sign(term: Any) -> bool:
    return bool(term.as_coeff_Mul()[0].is_negative)


def _sides(expr: Any) -> tuple[Any, Any]:
    """Positive terms left, the others right: how one would write it."""
    if expr.rhs != 0:
        return expr.lhs, expr.rhs
    terms = sympy.Add.make_args(expr.lhs)
    left = sympy.Add(*[term for term in terms if not _sign(term)])
    return left, sympy.Add(*[-term for term in terms if _sign(term)])


def _inner(expr: Any, name: Callable[[Any], str], text: Texts, around: str = "") -> str:
    found = text(expr, name)
    simple = expr.is_Symbol or (expr.is_number and not _sign(expr)) or isinstance(expr, (sympy.Max, sympy.Min))
    return found if simple or (around == "mul" and (expr.is_Mul or expr.is_Pow)) else f"({found})"


def evaluated(expr: Any, values: dict[Any, int]) -> Any:
    """The number that an expression is, for given values of its symbols."""
    return plain(sympy.sympify(expr.xreplace({key: sympy.Integer(value) for key, value in values.items()})))
