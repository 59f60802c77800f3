"""Bounds of expressions over sizes, from the ranges of their symbols."""

from __future__ import annotations

from typing import Any

from opweave.fake.expressions import (
    INFINITY,
    ONE,
    ZERO,
    Bounds,
    FloorDiv,
    Mod,
    Rounded,
    as_float,
    coefficients,
    number,
    sympy,
)


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
        return (ZERO if expr.exp % 2 == 0 else -INFINITY), INFINITY
    if isinstance(expr, FloorDiv):
        (low, high), (least, most) = parts
        if least > 0:
            ends = [_floor(a, b) for a in (low, high) for b in (least, most)]
            return min(ends), max(ends)
    if isinstance(expr, Mod):
        (low, high), (least, most) = parts
        if least > 0:
            return (low, high) if low >= 0 and high < least else (ZERO, min(most - 1, high) if low >= 0 else most - 1)
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
    total: Any = ZERO
    for value in values:
        total += value
    return total


def _product(a: Bounds, b: Bounds) -> Bounds:
    ends = [ZERO if x == 0 or y == 0 else x * y for x in a for y in b]
    return min(ends), max(ends)


def _floor(a: Any, b: Any) -> Any:
    if b in (INFINITY, -INFINITY):
        return ZERO if a not in (INFINITY, -INFINITY) and a >= 0 else -ONE if a not in (INFINITY, -INFINITY) else a
    return a if a in (INFINITY, -INFINITY) else sympy.floor(a / b)


def shifted_bounds(part: Any, ranges: dict[Any, Bounds]) -> Bounds:
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
    factors = coefficients(rest) if rest != 0 else []
    least = constant if all(factor >= 0 for factor in factors) else -INFINITY
    return least, constant if all(factor <= 0 for factor in factors) else INFINITY
