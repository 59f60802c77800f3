"""Integers of a kernel as polynomials: sums of products of leaves, with integer coefficients.

A leaf is what the arithmetic of a kernel starts from (a program id, a lane of a range, the turn of a loop, an
argument), what is not a sum or product (a quotient, a remainder, a minimum), or what is not known (`Opaque`):

    pid0*1024 + r0                  x + tl.program_id(0) * 1024 + tl.arange(0, 1024)
    r0*n + k0*64 + r1               rows of length n, 64 columns at each turn of a loop
    floordiv(pid0, 4)*n + r0        a grid folded by hand

A polynomial says what an integer would be if no step of its computation left its type's range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any

from opweave.registry.dataclass import dataclass
from opweave.registry.triton.ttir import Op, Value

Bounds = tuple[int | None, int | None]
"""The least and the greatest value, both included; None where there is no bound."""


class Leaf:
    """What a polynomial is made of."""

    rank = 0
    """Where it stands in a printed product."""

    def text(self) -> str:
        raise NotImplementedError

    def bounds(self) -> Bounds:
        return (None, None)

    def parts(self) -> tuple[Polynomial, ...]:
        """The polynomials that it is computed from."""
        return ()

    def rebuilt(self, parts: tuple[Polynomial, ...]) -> Polynomial:
        """The same of other polynomials."""
        del parts
        return Polynomial.of(self)

    def computed(self, *values: Any) -> Any:
        """Its value, given those of its parts: integers, or arrays of them."""
        raise NotImplementedError

    def order(self) -> tuple[Any, ...]:
        return self.rank, self.text()

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True)
class Program(Leaf):
    """`tl.program_id(axis)`; `count` is the number of programs along it where that is known."""

    axis: int
    count: int | None = None
    rank = 0

    def text(self) -> str:
        return f"pid{self.axis}"

    def bounds(self) -> Bounds:
        return (0, 2**31 - 2 if self.count is None else max(self.count - 1, 0))


@dataclass(frozen=True)
class Programs(Leaf):
    """`tl.num_programs(axis)`."""

    axis: int
    rank = 6

    def text(self) -> str:
        return f"programs{self.axis}"

    def bounds(self) -> Bounds:
        return (1, 2**31 - 1)


@dataclass(frozen=True)
class Range(Leaf):
    """The index of a lane along dimension `dim` of the block that the polynomial is about: 0 up to `extent`."""

    dim: int
    extent: int
    rank = 5

    def text(self) -> str:
        return f"r{self.dim}"

    def bounds(self) -> Bounds:
        return (0, self.extent - 1)

    def order(self) -> tuple[Any, ...]:
        return self.rank, self.text(), self.extent


@dataclass(frozen=True)
class Loop:
    """A loop of a kernel.

    Attributes
    ----------
    number : int
        Place among the kernel's loops, in program order.
    kind : {"for", "while"}
        A `while` has no bounds.
    lower, upper, step : Polynomial or None
        `range(lower, upper, step)`.
    outer : tuple of int
        Numbers of the loops around it, outermost first.
    op : Op
        The operation.
    bits : int
        Width of the narrowest type that a sum or product in the bounds may leave; 64 where none may be narrower.
    """

    number: int
    kind: str
    lower: Polynomial | None
    upper: Polynomial | None
    step: Polynomial | None
    outer: tuple[int, ...]
    op: Op = field(repr=False)
    bits: int = 64

    def text(self) -> str:
        if self.kind == "while":
            return f"k{self.number}: turns of a while loop"
        return f"k{self.number}: turns of range({self.lower}, {self.upper}, {self.step})"

    def __hash__(self) -> int:
        return id(self.op)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loop) and other.op is self.op


@dataclass(frozen=True)
class Counter(Leaf):
    """How often a loop's body has run before: 0 in the first turn, whatever the loop's bounds and step are.

    The condition of a `while` is computed once more than its body is run.
    """

    loop: Loop
    rank = 1

    def text(self) -> str:
        return f"k{self.loop.number}"

    def bounds(self) -> Bounds:
        loop = self.loop
        if loop.upper is None or loop.lower is None or loop.step is None:
            return (0, None)
        (low, _), (_, high), (least, _) = loop.lower.bounds, loop.upper.bounds, loop.step.bounds
        if low is None or high is None or least is None or least <= 0:
            return (0, None)
        return (0, max(0, -((low - high) // least) - 1))


@dataclass(frozen=True)
class Trips(Leaf):
    """How often a loop's body runs in all."""

    loop: Loop
    rank = 2

    def text(self) -> str:
        return f"trips{self.loop.number}"

    def bounds(self) -> Bounds:
        high = Counter(self.loop).bounds()[1]
        return (0, None if high is None else high + 1)


@dataclass(frozen=True)
class Argument(Leaf):
    """A number among the kernel's arguments, read as signed; `index` is its place among the TTIR parameters."""

    index: int
    name: str
    type: str
    rank = 6

    def text(self) -> str:
        return self.name


@dataclass(frozen=True)
class Known(Leaf):
    """A number that is known when the kernel is launched, and not before: a size; `key` tells it from others."""

    name: str
    key: Any = None
    low: int | None = None
    high: int | None = None
    rank = 6

    def text(self) -> str:
        return self.name

    def bounds(self) -> Bounds:
        return (self.low, self.high)


@dataclass(frozen=True)
class Opaque(Leaf):
    """A value that is not followed any further.

    Attributes
    ----------
    value : Value
        The value; a truth value counts as 0 or 1. Of an address, its distance from the parameter, in elements.
    along : tuple of int
        For each dimension of the value's own block, the dimension of the block that the polynomial is about.
    part : int
        Which of the numbers in it: 0, or of a block pointer the dimension + 1.
    number : int
        Place among the kernel's opaque values.
    """

    value: Value
    along: tuple[int, ...] = ()
    part: int = 0
    number: int = field(default=0, compare=False)
    rank = 4

    def text(self) -> str:
        name = self.value.name + (f".{self.part}" if self.part else "")
        return name + (f"[{', '.join(f'r{d}' for d in self.along)}]" if self.along else "")

    def bounds(self) -> Bounds:
        return (0, 1) if self.value.type.elem == "i1" else (None, None)

    def order(self) -> tuple[Any, ...]:
        return self.rank, self.text(), self.number


@dataclass(frozen=True)
class Quotient(Leaf):
    """A division, rounded down (`floordiv`) or toward zero (`div`)."""

    dividend: Polynomial
    divisor: Polynomial
    down: bool
    rank = 3

    def text(self) -> str:
        return f"{'floordiv' if self.down else 'div'}({self.dividend}, {self.divisor})"

    def parts(self) -> tuple[Polynomial, ...]:
        return self.dividend, self.divisor

    def rebuilt(self, parts: tuple[Polynomial, ...]) -> Polynomial:
        return quotient(parts[0], parts[1], self.down)

    def computed(self, *values: Any) -> Any:
        a, b = values
        rounded = a // b
        return rounded if self.down else rounded + ((a % b != 0) & ((a < 0) != (b < 0)))

    def bounds(self) -> Bounds:
        (low, high), (least, most) = self.dividend.bounds, self.divisor.bounds
        if low is None or low < 0 or least is None or least < 0:
            return (None, None)
        # Nothing is divided by 0.
        return (0 if not most else low // most, None if high is None else high // max(1, least))


@dataclass(frozen=True)
class Remainder(Leaf):
    """What a division leaves: of the divisor's sign (`mod`), or of the dividend's (`rem`)."""

    dividend: Polynomial
    divisor: Polynomial
    down: bool
    rank = 3

    def text(self) -> str:
        return f"{'mod' if self.down else 'rem'}({self.dividend}, {self.divisor})"

    def parts(self) -> tuple[Polynomial, ...]:
        return self.dividend, self.divisor

    def rebuilt(self, parts: tuple[Polynomial, ...]) -> Polynomial:
        return remainder(parts[0], parts[1], self.down)

    def computed(self, *values: Any) -> Any:
        a, b = values
        left = a % b
        return left if self.down else left - b * ((left != 0) & ((a < 0) != (b < 0)))

    def bounds(self) -> Bounds:
        (low, high), (least, most) = self.dividend.bounds, self.divisor.bounds
        if least is None or least < 0:
            positive = low is not None and low >= 0 and not self.down
            return (0, high) if positive else (None, None)
        top = None if most is None else most - 1
        if low is not None and low >= 0 and high is not None:
            top = high if top is None else min(top, high)
        if self.down or (low is not None and low >= 0):
            return (0, top)
        return (None if most is None else 1 - most, top)


@dataclass(frozen=True)
class Extreme(Leaf):
    """The lesser or the greater of two."""

    kind: str
    first: Polynomial
    second: Polynomial
    rank = 3

    def text(self) -> str:
        return f"{self.kind}({self.first}, {self.second})"

    def parts(self) -> tuple[Polynomial, ...]:
        return self.first, self.second

    def rebuilt(self, parts: tuple[Polynomial, ...]) -> Polynomial:
        return extreme(self.kind, *parts)

    def computed(self, *values: Any) -> Any:
        a, b = values
        return a + (b - a) * ((b < a) if self.kind == "min" else (b > a))

    def bounds(self) -> Bounds:
        (a, b), (c, d) = self.first.bounds, self.second.bounds
        if self.kind == "min":
            return (None if a is None or c is None else min(a, c), b if d is None else d if b is None else min(b, d))
        return (a if c is None else c if a is None else max(a, c), None if b is None or d is None else max(b, d))


Monomial = tuple[Leaf, ...]
"""A product of leaves, in the order of `Leaf.order`; a square names its leaf twice."""


@dataclass(frozen=True)
class Polynomial:
    """A sum of products; `terms` holds each product with its coefficient, none of them zero, in one order."""

    terms: tuple[tuple[Monomial, int], ...] = ()

    @staticmethod
    def of(value: int | Leaf) -> Polynomial:
        if isinstance(value, Leaf):
            return Polynomial((((value,), 1),))
        return Polynomial((((), value),)) if value else Polynomial()

    @staticmethod
    def sum(terms: Mapping[Monomial, int]) -> Polynomial:
        """Of products and their coefficients, in any order."""
        kept = [(product, c) for product, c in terms.items() if c]
        if len(kept) > 1:
            for product, c in kept:
                whole = _undivided(product, c, terms)
                if whole is not None:
                    return whole
            kept.sort(key=lambda term: (not term[0], [leaf.order() for leaf in term[0]]))
        return Polynomial(tuple(kept))

    def __add__(self, other: Polynomial | int) -> Polynomial:
        other = Polynomial.of(other) if isinstance(other, int) else other
        if not other.terms or not self.terms:
            return self if self.terms else other
        found = dict(self.terms)
        for product, c in other.terms:
            found[product] = found.get(product, 0) + c
        return Polynomial.sum(found)

    def __sub__(self, other: Polynomial | int) -> Polynomial:
        return self + other * -1

    def __mul__(self, other: Polynomial | int) -> Polynomial:
        if isinstance(other, int):
            return Polynomial(tuple((product, c * other) for product, c in self.terms)) if other else Polynomial()
        if (factor := other.constant) is not None:
            return self * factor
        found: dict[Monomial, int] = {}
        for a, c in self.terms:
            for b, d in other.terms:
                product = tuple(sorted((*a, *b), key=Leaf.order))
                found[product] = found.get(product, 0) + c * d
        return Polynomial.sum(found)

    @property
    def constant(self) -> int | None:
        """Its value where it has no leaves."""
        if not self.terms:
            return 0
        (product, c), *rest = self.terms
        return c if not product and not rest else None

    @property
    def single(self) -> Leaf | None:
        """The leaf that it is."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and len(self.terms[0][0]) == 1:
            return self.terms[0][0][0]
        return None

    @cached_property
    def bounds(self) -> Bounds:
        """Between which values it is, for all values of its leaves."""
        low: int | None = 0
        high: int | None = 0
        for product, c in self.terms:
            a, b = _times((c, c), product)
            low = None if low is None or a is None else low + a
            high = None if high is None or b is None else high + b
        return low, high

    @cached_property
    def size(self) -> int:
        """How many leaves it is written with, those of its parts counted each time."""
        return sum(1 + sum(part.size for part in leaf.parts()) for product, _ in self.terms for leaf in product)

    def leaves(self) -> Iterator[Leaf]:
        """Its leaves, and those of the polynomials in them."""
        for product, _ in self.terms:
            for leaf in product:
                yield leaf
                for part in leaf.parts():
                    yield from part.leaves()

    def substitute(self, replacement: Callable[[Leaf], Polynomial | None]) -> Polynomial:
        """With other polynomials in the place of leaves; None keeps one, with its parts substituted."""
        total = Polynomial()
        for product, c in self.terms:
            term = Polynomial.of(c)
            for leaf in product:
                new = replacement(leaf)
                if new is None:
                    new = leaf.rebuilt(tuple(p.substitute(replacement) for p in leaf.parts()))
                term = term * new
            total = total + term
        return total

    def evaluate(self, value: Callable[[Leaf], Any]) -> Any:
        """Its value, given those of leaves without parts: integers, or arrays that broadcast."""
        total: Any = 0
        for product, c in self.terms:
            term: Any = c
            for leaf in product:
                parts = leaf.parts()
                term = term * (leaf.computed(*[p.evaluate(value) for p in parts]) if parts else value(leaf))
            total = total + term
        return total

    def __str__(self) -> str:
        text = ""
        plus = next((k for k, (_, c) in enumerate(self.terms) if c > 0), 0)
        for product, c in (*self.terms[plus : plus + 1], *self.terms[:plus], *self.terms[plus + 1 :]):
            factors = [leaf.text() for leaf in product]
            if abs(c) != 1 or not factors:
                factors.append(str(abs(c)))
            sign = ("-" if c < 0 else "") if not text else " - " if c < 0 else " + "
            text += sign + "*".join(factors)
        return text or "0"


def _undivided(product: Monomial, c: int, terms: Mapping[Monomial, int]) -> Polynomial | None:
    """Where a remainder stands beside as many times its quotient: the sum with what was divided in their place."""
    for k, leaf in enumerate(product):
        if isinstance(leaf, Remainder) and (divisor := leaf.divisor.constant):
            others = (*product[:k], *product[k + 1 :])
            partner = tuple(sorted((*others, Quotient(leaf.dividend, leaf.divisor, leaf.down)), key=Leaf.order))
            if terms.get(partner) == c * divisor:
                rest = Polynomial.sum({p: d for p, d in terms.items() if p not in (product, partner)})
                return rest + leaf.dividend * Polynomial(((others, c),))
    return None


def _times(bounds: Bounds, product: Monomial) -> Bounds:
    """Between which values a multiple of a product is."""
    for leaf in product:
        (a, b), (c, d) = bounds, leaf.bounds()
        if a is not None and a == b:
            low, high = (c, d) if a > 0 else (d, c)
            bounds = (0, 0) if a == 0 else (None if low is None else a * low, None if high is None else a * high)
        elif None not in (a, b, c, d):
            corners = [x * y for x in (a, b) for y in (c, d)]  # type: ignore[operator]
            bounds = min(corners), max(corners)
        elif c is not None and c >= 0 and a is not None and a >= 0:
            bounds = a * c, None
        elif c is not None and c >= 0 and b is not None and b <= 0:
            bounds = None, b * c
        else:
            bounds = None, None
    return bounds


def is_within(p: Polynomial, low: int, high: int) -> bool:
    """Whether it is known to be from `low` to `high`, both included."""
    a, b = p.bounds
    return a is not None and b is not None and low <= a and b <= high


def is_natural(p: Polynomial) -> bool:
    """Whether it is known not to be negative."""
    low = p.bounds[0]
    return low is not None and low >= 0


def _split(p: Polynomial, divisor: int) -> tuple[Polynomial, Polynomial]:
    """`(h, l)` with `p == h * divisor + l`, as much in `h` as possible."""
    high: dict[Monomial, int] = {}
    low: dict[Monomial, int] = {}
    for product, c in p.terms:
        if product and c % divisor:
            low[product] = c
            continue
        high[product], rest = divmod(c, divisor)
        if rest:
            low[product] = rest
    return Polynomial.sum(high), Polynomial.sum(low)


def quotient(p: Polynomial, q: Polynomial, down: bool) -> Polynomial:
    """`p / q`, rounded down or toward zero."""
    divisor = q.constant
    if divisor and p.constant is not None:
        return Polynomial.of(Quotient(p, q, down).computed(p.constant, divisor))
    if divisor is not None and divisor > 0:
        if down or is_natural(p):
            high, low = _split(p, divisor)
            if is_within(low, 0, divisor - 1):
                return high
            if low.constant is not None:
                return high + low.constant // divisor
            return high + Polynomial.of(Quotient(low, q, True))
        if divisor == 1:
            return p
    down = down or (is_natural(p) and is_natural(q))
    return Polynomial.of(Quotient(p, q, down))


def remainder(p: Polynomial, q: Polynomial, down: bool) -> Polynomial:
    """What `quotient` leaves."""
    divisor = q.constant
    if divisor and p.constant is not None:
        return Polynomial.of(Remainder(p, q, down).computed(p.constant, divisor))
    if divisor is not None and divisor > 0:
        if down or is_natural(p):
            low = _split(p, divisor)[1]
            if is_within(low, 0, divisor - 1):
                return low
            return Polynomial.of(Remainder(low, q, True))
        if divisor == 1:
            return Polynomial()
    down = down or (is_natural(p) and is_natural(q))
    return Polynomial.of(Remainder(p, q, down))


def extreme(kind: str, a: Polynomial, b: Polynomial) -> Polynomial:
    """The lesser (`min`) or the greater (`max`) of two."""
    low, high = (a - b).bounds
    if high is not None and high <= 0:
        return a if kind == "min" else b
    if low is not None and low >= 0:
        return b if kind == "min" else a
    return Polynomial.of(Extreme(kind, a, b))
