"""Index arithmetic: integer expressions over the axes of an iteration space.

An `Index` is `const + sum(coefficient * atom)` where an atom is an `Axis` or a `Digit`, `(base // divisor) % modulus`,
the form that regrouping dimensions produces. Ranges are known (an axis runs from 0 to its size), so most digits
simplify away: with `b < 6`, `(6 * a + b) // 6` is `a`. Coefficients are plain integers here; nothing but `+`, `*` and
comparisons is asked of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence


class Axis:
    """A loop variable running over `range(size)`; two axes are equal only if they are the same object."""

    __slots__ = ("name", "size")

    def __init__(self, name: str, size: int):
        self.name = name
        self.size = size

    @property
    def top(self) -> int:
        """Largest value."""
        return self.size - 1

    def __repr__(self) -> str:
        return f"{self.name}<{self.size}"


class Digit:
    """`(base // divisor) % modulus`; no modulus where the quotient cannot reach it."""

    __slots__ = ("base", "divisor", "modulus", "_key")

    def __init__(self, base: Index, divisor: int, modulus: int | None):
        self.base = base
        self.divisor = divisor
        self.modulus = modulus
        self._key = (base, divisor, modulus)

    @property
    def top(self) -> int:
        """Largest value."""
        top = self.base.bounds()[1] // self.divisor
        return top if self.modulus is None else min(top, self.modulus - 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Digit) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


Atom = Axis | Digit


class Index:
    """An immutable integer expression over axes.

    Parameters
    ----------
    terms : mapping of atom to int
        Coefficients; zeros are dropped.
    const : int
        Added constant.
    """

    __slots__ = ("terms", "const", "_hash")

    def __init__(self, terms: Mapping[Atom, int] | None = None, const: int = 0):
        self.terms: dict[Atom, int] = {a: c for a, c in terms.items() if c} if terms else {}
        self.const = const
        self._hash: int | None = None

    @staticmethod
    def of(axis: Axis) -> Index:
        """The axis itself; 0 for an axis with a single value."""
        return Index({axis: 1}) if axis.size != 1 else ZERO

    def __add__(self, other: Index | int) -> Index:
        if isinstance(other, int):
            return self if not other else Index(self.terms, self.const + other)
        if not other.terms:
            return self + other.const
        if not self.terms:
            return other + self.const
        terms = dict(self.terms)
        for atom, coefficient in other.terms.items():
            terms[atom] = terms.get(atom, 0) + coefficient
        return Index(terms, self.const + other.const)

    def __mul__(self, factor: int) -> Index:
        if factor == 1:
            return self
        if factor == 0:
            return ZERO
        return Index({a: c * factor for a, c in self.terms.items()}, self.const * factor)

    def bounds(self) -> tuple[int, int]:
        """Smallest and largest value."""
        low = high = self.const
        for atom, coefficient in self.terms.items():
            reach = coefficient * atom.top
            if reach > 0:
                high += reach
            else:
                low += reach
        return low, high

    def __floordiv__(self, divisor: int) -> Index:
        if divisor == 1:
            return self
        whole = {a: c // divisor for a, c in self.terms.items() if c % divisor == 0}
        rest = Index({a: c for a, c in self.terms.items() if c % divisor}, self.const % divisor)
        quotient = Index(whole, self.const // divisor)
        low, high = rest.bounds()
        if low >= 0 and high < divisor:
            return quotient
        return quotient + _quotient(rest, divisor)

    def __mod__(self, modulus: int) -> Index:
        rest = Index({a: c for a, c in self.terms.items() if c % modulus}, self.const % modulus)
        low, high = rest.bounds()
        if low >= 0 and high < modulus:
            return rest
        for step in _steps(rest, modulus):
            coarse, fine = _split(rest, step)
            if fine is not None:
                return ((coarse % (modulus // step)) * step) + fine
        digit = _lone_digit(rest)
        if digit is not None and (digit.modulus is None or digit.modulus % modulus == 0):
            return _digit(digit.base, digit.divisor, modulus)
        return _digit(rest, 1, modulus)

    def axes(self) -> frozenset[Axis]:
        """All axes it depends on."""
        found: set[Axis] = set()
        for atom in self.terms:
            found |= {atom} if isinstance(atom, Axis) else atom.base.axes()
        return frozenset(found)

    def digits(self) -> Iterable[Digit]:
        """All digits in it, inner ones too."""
        for atom in self.terms:
            if isinstance(atom, Digit):
                yield atom
                yield from atom.base.digits()

    def substitute(self, values: Mapping[Axis, Index]) -> Index:
        """Replace axes by expressions and simplify."""
        if not self.terms:
            return self
        result = Index(None, self.const)
        for atom, coefficient in self.terms.items():
            if isinstance(atom, Axis):
                part = values.get(atom) or Index({atom: 1})
            else:
                part = atom.base.substitute(values) // atom.divisor
                if atom.modulus is not None:
                    part = part % atom.modulus
            result = result + part * coefficient
        return _rejoined(result)

    def stride(self, axis: Axis) -> int | None:
        """Coefficient of an axis, None where the axis is inside a digit."""
        for atom in self.terms:
            if isinstance(atom, Digit) and axis in atom.base.axes():
                return None
        return self.terms.get(axis, 0)

    def render(self, name: Callable[[Axis], str]) -> str:
        """Python text with names for the axes, largest strides first."""
        parts = []
        for atom, coefficient in sorted(self.terms.items(), key=lambda item: -abs(item[1])):
            if isinstance(atom, Axis):
                text = name(atom)
            else:
                text = atom.base.render(name)
                text = f"({text})" if len(atom.base.terms) + bool(atom.base.const) > 1 else text
                text += f" // {atom.divisor}" if atom.divisor != 1 else ""
                if atom.modulus is not None:
                    text = (f"({text})" if atom.divisor != 1 else text) + f" % {atom.modulus}"
                text = f"({text})"
            parts.append(text if coefficient == 1 else f"{text} * {coefficient}")
        if self.const or not parts:
            parts.append(str(self.const))
        return " + ".join(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and self.const == other.const and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.const, frozenset(self.terms.items())))
        return self._hash

    def __repr__(self) -> str:
        return self.render(lambda axis: axis.name)


ZERO = Index()


def _steps(index: Index, limit: int) -> list[int]:
    """Coefficients that divide `limit`, the largest first: places where the expression may split in two."""
    return sorted({abs(c) for c in index.terms.values() if 1 < abs(c) < limit and limit % c == 0}, reverse=True)


def _split(index: Index, step: int) -> tuple[Index, Index | None]:
    """`index == coarse * step + fine` with `0 <= fine < step`; fine is None if that does not hold."""
    coarse = Index({a: c // step for a, c in index.terms.items() if c % step == 0}, index.const // step)
    fine = Index({a: c for a, c in index.terms.items() if c % step}, index.const % step)
    low, high = fine.bounds()
    return coarse, fine if low >= 0 and high < step else None


def _lone_digit(index: Index) -> Digit | None:
    if len(index.terms) == 1 and not index.const:
        atom, coefficient = next(iter(index.terms.items()))
        if coefficient == 1 and isinstance(atom, Digit):
            return atom
    return None


def _quotient(index: Index, divisor: int) -> Index:
    for step in _steps(index, divisor):
        coarse, fine = _split(index, step)
        if fine is not None:
            return coarse // (divisor // step)
    digit = _lone_digit(index)
    if digit is not None:
        if digit.modulus is None:
            return _digit(digit.base, digit.divisor * divisor, None)
        if digit.modulus % divisor == 0:
            return _digit(digit.base, digit.divisor * divisor, digit.modulus // divisor)
    return _digit(index, divisor, None)


def _digit(base: Index, divisor: int, modulus: int | None) -> Index:
    top = base.bounds()[1] // divisor
    if modulus is not None and top < modulus:
        modulus = None
    if modulus is None and divisor == 1:
        return base
    if modulus is None and top == 0:
        return ZERO
    return Index({Digit(base, divisor, modulus): 1})


def linearize(index: Sequence[Index], strides: Sequence[int]) -> Index:
    """`sum(index * stride)`."""
    result = ZERO
    for part, stride in zip(index, strides, strict=True):
        result = result + part * stride
    return _rejoined(result)


def _rejoined(index: Index) -> Index:
    """`(b // d) * d + b % d` as `b` again, wherever both digits have fitting coefficients."""
    low = {atom: atom for atom in index.terms if isinstance(atom, Digit) and atom.divisor == 1}
    for atom in low:
        for other, coefficient in index.terms.items():
            if not isinstance(other, Digit) or other.base != atom.base or other.divisor != atom.modulus:
                continue
            factor = index.terms[atom]
            if coefficient == factor * other.divisor:
                terms = {a: c for a, c in index.terms.items() if a is not atom and a is not other}
                whole = atom.base if other.modulus is None else atom.base % (other.divisor * other.modulus)
                return _rejoined(Index(terms, index.const) + whole * factor)
    return index


def regroup(index: Sequence[Index], sizes: Sequence[int], target: Sequence[int]) -> tuple[Index, ...]:
    """The index into `target` sizes that names the same element, in row-major order, as `index` into `sizes`.

    Dimensions are matched in groups of equal extent, so that what does not take part in a regrouping stays simple.
    """
    result: list[Index] = []
    i = j = 0
    while i < len(sizes) or j < len(target):
        i_end, j_end = i, j
        have = want = 1
        while True:
            if have == want and (i_end > i or j_end > j):
                break
            if (have <= want and i_end < len(sizes)) or j_end == len(target):
                have *= sizes[i_end]
                i_end += 1
            else:
                want *= target[j_end]
                j_end += 1
        flat = linearize(index[i:i_end], _row_major(sizes[i:i_end]))
        for size, stride in zip(target[j:j_end], _row_major(target[j:j_end]), strict=True):
            result.append((flat // stride) % size if size != 1 else ZERO)
        i, j = i_end, j_end
    return tuple(result)


def _row_major(sizes: Sequence[int]) -> list[int]:
    return [math.prod(sizes[d + 1 :]) for d in range(len(sizes))]
