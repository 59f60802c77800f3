"""Sizes as kernels compute with them: plain ints, or integer polynomials in sizes that a trace does not fix.

A `SymInt` of a trace becomes a polynomial once (`size_of`); what is no polynomial in it (a floor division, a difference
that might be negative) is a `Variable` of its own. Arithmetic on small polynomials is exact and fast, and what it says
of two sizes (`less`, `divide`, `==`) holds for all values: no guard is ever added here. Where a choice is free, it is
made by the example's values (`hint`).

    SymInt 3*s0*s1 + s1      ->  Poly {(s0, s1): 3, (s1,): 1}
    SymInt s0 // 2           ->  Poly {(v,): 1} with a variable v, named after its expression
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from opweave.fake.symbolic import SymNumber

#: The value of a size that depends on data, where a choice is to be made.
UNKNOWN_HINT = 4096
#: Offsets below this fit in 32 bits, also those of lanes that are masked.
INT32_OFFSETS = (1 << 31) - (1 << 16)


class Variable:
    """A number that is known when a kernel is launched.

    Attributes
    ----------
    number : SymNumber
        What it is in the trace.
    text : str
        As Python, in the trace's symbols.
    low : int
        Its least value.
    high : int or None
        Its largest value; None where there is none.
    hint : int or float
        Its value in the example.
    """

    __slots__ = ("number", "text", "low", "high", "hint", "order")

    def __init__(self, number: SymNumber, low: int, high: int | None, hint: Any, order: int):
        self.number = number
        self.text = repr(number)
        self.low = low
        self.high = high
        self.hint = hint
        self.order = order

    @property
    def is_integer(self) -> bool:
        """Whether it is an int; else a float."""
        return self.number.kind == "int"

    def __repr__(self) -> str:
        return self.text if self.text.isidentifier() else f"({self.text})"


Monomial = tuple[Variable, ...]


class Poly:
    """An integer polynomial that is no constant; sums and products that are one become ints."""

    __slots__ = ("terms", "_hash")

    def __init__(self, terms: Mapping[Monomial, int]):
        self.terms = dict(terms)
        self._hash: int | None = None

    @property
    def hint(self) -> int:
        """Its value in the example."""
        return sum(c * math.prod(v.hint for v in monomial) for monomial, c in self.terms.items())

    def variables(self) -> frozenset[Variable]:
        """What it depends on."""
        return frozenset(v for monomial in self.terms for v in monomial)

    def __add__(self, other: Any) -> Size:
        terms = dict(self.terms)
        for monomial, c in _terms(other).items():
            terms[monomial] = terms.get(monomial, 0) + c
        return _made(terms)

    __radd__ = __add__

    def __neg__(self) -> Poly:
        return Poly({monomial: -c for monomial, c in self.terms.items()})

    def __sub__(self, other: Any) -> Size:
        return self + -other

    def __rsub__(self, other: Any) -> Size:
        return -self + other

    def __mul__(self, other: Any) -> Size:
        if not isinstance(other, (int, Poly)):
            return NotImplemented
        terms: dict[Monomial, int] = {}
        for left, a in self.terms.items():
            for right, b in _terms(other).items():
                monomial = tuple(sorted(left + right, key=_order)) if left and right else left or right
                terms[monomial] = terms.get(monomial, 0) + a * b
        return _made(terms)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def render(self, name: Callable[[Variable], str]) -> str:
        """Python text, with names for the variables."""
        text = ""
        for monomial, c in sorted(self.terms.items(), key=lambda item: (-len(item[0]), [v.order for v in item[0]])):
            factors = [name(v) for v in monomial]
            if abs(c) != 1 or not factors:
                factors.append(str(abs(c)))
            sign = (" - " if text else "-") if c < 0 else (" + " if text else "")
            text += sign + " * ".join(factors)
        return text

    def __repr__(self) -> str:
        return self.render(repr).replace(" * ", "*")


Size = int | Poly


def _order(variable: Variable) -> int:
    return variable.order


def _terms(value: Any) -> Mapping[Monomial, int]:
    return value.terms if isinstance(value, Poly) else {(): value}


def _made(terms: Mapping[Monomial, int]) -> Size:
    kept = {monomial: c for monomial, c in terms.items() if c}
    if not kept or (len(kept) == 1 and () in kept):
        return kept.get((), 0)
    return Poly(kept)


# ---- from the numbers of a trace -----------------------------------------------------------------------------------

_tables: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()


def size_of(value: Any, least: int = 1) -> Size:
    """A size or stride of a fake tensor.

    Parameters
    ----------
    value : int or SymInt
        The trace's number.
    least : int
        What it is at least. For a size 1, whatever the trace knows: kernels with nothing to do are not run.
    """
    if type(value) is int:
        return value
    if not isinstance(value, SymNumber):
        return int(value)
    env = value.env
    table = _tables.setdefault(env, {})
    expr = env.simplify(value.expr)
    key = (expr, least)
    found = table.get(key)
    if found is None:
        found = _polynomial(value, expr, table)
        if found is None or (isinstance(found, Poly) and not less(least - 1, found)):
            found = Poly({(_variable(value, expr, table, least),): 1})
        table[key] = found
    return found


def sizes(values: Iterable[Any]) -> tuple[Size, ...]:
    """`size_of` each."""
    return tuple([value if type(value) is int else size_of(value) for value in values])


def scalar_of(value: SymNumber) -> Poly:
    """A symbolic number that a kernel takes as it is."""
    env = value.env
    expr = env.simplify(value.expr)
    low = env.range_of(value)[0] if value.kind == "int" else 0
    return Poly({(_variable(value, expr, _tables.setdefault(env, {}), low),): 1})


def _polynomial(value: SymNumber, expr: Any, table: dict[Any, Any]) -> Size | None:
    """The expression as a polynomial in symbols; None where it is none."""
    env = value.env
    total: Any = 0
    for term in env.terms_of(expr):
        coefficient, factors = term
        if coefficient is None:
            return None
        product: Any = coefficient
        for factor in factors:
            low = env.range_of(env.wrap(factor))[0]
            product = product * Poly({(_variable(env.wrap(factor), factor, table, max(low, 1)),): 1})
        total = total + product
    return total


def _variable(value: SymNumber, expr: Any, table: dict[Any, Any], low: int) -> Variable:
    key = ("variable", expr, low)
    found = table.get(key)
    if found is None:
        hint = value.hint
        high = value.env.range_of(value)[1] if value.kind == "int" else None
        found = table[key] = Variable(value, low, high, UNKNOWN_HINT if hint is None else hint, len(table))
    return found


# ---- what is known of sizes ----------------------------------------------------------------------------------------


def hint(value: Size) -> int:
    """A size in the example."""
    return value if isinstance(value, int) else value.hint


def product(values: Iterable[Size]) -> Size:
    """All of them multiplied."""
    result: Size = 1
    for value in values:
        result = result * value
    return result


def least(value: Size) -> int | None:
    """A number that a size is never below; None where none is known."""
    if isinstance(value, int):
        return value
    # Each variable as its least value plus a step that is not negative: then signs tell.
    steps: dict[Monomial, int] = {}
    for monomial, c in value.terms.items():
        for part, factor in _shifted(monomial):
            steps[part] = steps.get(part, 0) + c * factor
    total = steps.pop((), 0)
    for monomial, c in steps.items():
        if c < 0:
            if any(v.high is None for v in monomial):
                return None
            total += c * math.prod((v.high or 0) - v.low for v in monomial)
    return total


def _shifted(monomial: Monomial) -> Iterator[tuple[Monomial, int]]:
    if not monomial:
        yield (), 1
        return
    first, rest = monomial[0], monomial[1:]
    for part, factor in _shifted(rest):
        yield (first, *part), factor
        if first.low:
            yield part, factor * first.low


def ceil_div(size: Size, block: int) -> Size:
    """How many blocks cover a size."""
    if isinstance(size, int):
        return -(-size // block)
    exact = divide(size, block)
    return exact if exact is not None else size_of((number_of(size) + (block - 1)) // block)


def number_of(size: Size) -> Any:
    """A size as a number of the trace."""
    if isinstance(size, int):
        return size
    total: Any = 0
    for monomial, c in size.terms.items():
        part: Any = c
        for variable in monomial:
            part = part * variable.number
        total = total + part
    return total


def less(a: Size, b: Size) -> bool:
    """Whether `a < b` for certain."""
    if isinstance(a, int) and isinstance(b, int):
        return a < b
    low = least(b - a)
    return low is not None and low > 0


def divide(a: Size, b: Size) -> Size | None:
    """`a / b` where that is a polynomial with integer coefficients; None where it is not, or `b` is 0."""
    if isinstance(b, int):
        if not b:
            return None
        if isinstance(a, int):
            return a // b if a % b == 0 else None
        return Poly({m: c // b for m, c in a.terms.items()}) if all(c % b == 0 for c in a.terms.values()) else None
    if a == b:
        return 1
    if isinstance(a, int):
        return 0 if a == 0 else None
    lead = _leading(b)
    quotient: Size = 0
    rest: Size = a
    for _ in range(32):
        if isinstance(rest, int):
            return quotient if rest == 0 else None
        top = _leading(rest)
        monomial = _without(top, lead)
        if monomial is None or rest.terms[top] % b.terms[lead]:
            return None
        part = _made({monomial: rest.terms[top] // b.terms[lead]})
        quotient, rest = quotient + part, rest - part * b
    return None


def _leading(poly: Poly) -> Monomial:
    return max(poly.terms, key=lambda m: (len(m), [v.order for v in m]))


def _without(monomial: Monomial, factor: Monomial) -> Monomial | None:
    rest = list(monomial)
    for variable in factor:
        if variable not in rest:
            return None
        rest.remove(variable)
    return tuple(rest)


def divmod_terms(value: Size, divisor: Size) -> tuple[Size, Size]:
    """`(q, r)` with `value == q * divisor + r`: exact, or for plain ints, or with `q` 0."""
    if isinstance(value, int) and isinstance(divisor, int):
        return value // divisor, value % divisor
    quotient = divide(value, divisor)
    return (0, value) if quotient is None else (quotient, 0)


def render(value: Size, name: Callable[[Variable], str] = repr) -> str:
    """Python text, in parentheses where it is a sum."""
    if isinstance(value, int):
        return str(value)
    text = value.render(name)
    return f"({text})" if len(value.terms) > 1 or text.startswith("-") else text


def variables_in(values: Iterable[Size]) -> Sequence[Variable]:
    """What sizes depend on, in order."""
    found = {v for value in values if isinstance(value, Poly) for v in value.variables()}
    return sorted(found, key=_order)
