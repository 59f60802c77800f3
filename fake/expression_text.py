"""Expressions taken apart, and as Python text in the order in which one would write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.fake.expressions import RELATIONS, Compared, FloorDiv, Mod, Rounded, plain, sympy

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
        if not is_negative(terms[0]) and is_negative(terms[-1]) and not terms[-1].is_number:
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
    return bool(term.is_number), is_negative(term), str(term)


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
            minus = is_negative(term)
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


def unsigned(term: Any) -> str:
    return str(abs(term.as_coeff_Mul()[0]) * term.as_coeff_Mul()[1])


def is_negative(term: Any) -> bool:
    return bool(term.as_coeff_Mul()[0].is_negative)


def _sides(expr: Any) -> tuple[Any, Any]:
    """Positive terms left, the others right: how one would write it."""
    if expr.rhs != 0:
        return expr.lhs, expr.rhs
    terms = sympy.Add.make_args(expr.lhs)
    left = sympy.Add(*[term for term in terms if not is_negative(term)])
    return left, sympy.Add(*[-term for term in terms if is_negative(term)])


def _inner(expr: Any, name: Callable[[Any], str], text: Texts, around: str = "") -> str:
    found = text(expr, name)
    simple = expr.is_Symbol or (expr.is_number and not is_negative(expr)) or isinstance(expr, (sympy.Max, sympy.Min))
    return found if simple or (around == "mul" and (expr.is_Mul or expr.is_Pow)) else f"({found})"
