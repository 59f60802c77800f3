"""Relations of expressions: one form for those that say the same, whether they hold, and what they tell of a symbol."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from opweave.fake.bounds import bounds, shifted_bounds
from opweave.fake.expression_text import is_negative, unsigned
from opweave.fake.expressions import Bounds, FloorDiv, Mod, coefficients, sympy


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
        least, most = shifted_bounds(part, ranges)
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
    whole = sympy.expand(part * math.lcm(1, *[int(factor.q) for factor in coefficients(part) if factor.is_Rational]))
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


def _cases(part: Any, factor: Any, extreme: Any, ranges: dict[Any, Bounds], divisible: Iterable[Any]) -> bool | None:
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
        part = -part if terms and is_negative(min(terms, key=unsigned)) else part
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
    factors = coefficients(part)
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
