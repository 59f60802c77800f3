"""Index arithmetic: integer expressions over the axes of an iteration space.

An `Index` is `const + sum(coefficient * atom)` where an atom is an `Axis` or a `Digit`, `(base // divisor) % modulus`,
the form that regrouping dimensions produces. Ranges are known (an axis runs from 0 to its size), so most digits
simplify away: with `b < 6`, `(6 * a + b) // 6` is `a`. Coefficients, divisors and axes' sizes are ints or polynomials
in sizes that are not fixed (`tracer.loops.size`); what simplifies does so for all their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from opweave.registry.interrupts import let_through
from opweave.tracer.loops.size import Poly, Size, Variable, divide, divmod_terms, hint, least, less, product, render


class Axis:
    """A loop variable running over `range(size)`; two axes are equal only if they are the same object."""

    __slots__ = ("name", "size")

    def __init__(self, name: str, size: Size):
        self.name = name
        self.size = size

    @property
    def top(self) -> Size:
        """Largest value."""
        return self.size - 1

    def __repr__(self) -> str:
        return f"{self.name}<{self.size}"


class Digit:
    """`(base // divisor) % modulus`; no modulus where the quotient cannot reach it."""

    __slots__ = ("base", "divisor", "modulus", "_key")

    def __init__(self, base: Index, divisor: Size, modulus: Size | None):
        self.base = base
        self.divisor = divisor
        self.modulus = modulus
        self._key = (base, divisor, modulus)

    @property
    def top(self) -> Size:
        """Largest value, or something larger."""
        top = _quotient_of_bound(self.base.bounds()[1], self.divisor)
        return top if self.modulus is None or less(top, self.modulus) else self.modulus - 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Digit) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


Atom = Axis | Digit


class Index:
    """An immutable integer expression over axes.

    Parameters
    ----------
    terms : mapping of atom to Size
        Coefficients; zeros are dropped.
    const : Size
        Added constant.
    """

    __slots__ = ("terms", "const", "_hash")

    def __init__(self, terms: Mapping[Atom, Size] | None = None, const: Size = 0):
        self.terms: dict[Atom, Size] = {a: c for a, c in terms.items() if c} if terms else {}
        self.const = const
        self._hash: int | None = None

    @staticmethod
    def of(axis: Axis) -> Index:
        """The axis itself; 0 for an axis with a single value."""
        return Index({axis: 1}) if axis.size != 1 else ZERO

    def __add__(self, other: Index | Size) -> Index:
        if not isinstance(other, Index):
            return self if not other else Index(self.terms, self.const + other)
        if not other.terms:
            return self + other.const
        if not self.terms:
            return other + self.const
        terms = dict(self.terms)
        for atom, coefficient in other.terms.items():
            terms[atom] = terms.get(atom, 0) + coefficient
        return Index(terms, self.const + other.const)

    def __mul__(self, factor: Size) -> Index:
        if factor == 1:
            return self
        if factor == 0:
            return ZERO
        return Index({a: c * factor for a, c in self.terms.items()}, self.const * factor)

    def bounds(self) -> tuple[Size, Size]:
        """Smallest and largest value."""
        low = high = self.const
        for atom, coefficient in self.terms.items():
            reach = coefficient * atom.top
            if hint(coefficient) > 0:  # strides have one sign for all sizes
                high = high + reach
            else:
                low = low + reach
        return low, high

    def below(self, limit: Size) -> bool:
        """Whether all values lie in `range(limit)`, for certain."""
        low, high = self.bounds()
        return less(-1, low) and less(high, limit)

    def __floordiv__(self, divisor: Size) -> Index:
        if divisor == 1:
            return self
        whole, rest = _divided(self, divisor)
        return whole if rest.below(divisor) else whole + _quotient(rest, divisor)

    def __mod__(self, modulus: Size) -> Index:
        _, rest = _divided(self, modulus)
        if rest.below(modulus):
            return rest
        for step in _steps(rest, modulus):
            coarse, fine = _divided(rest, step)
            if fine.below(step):
                return ((coarse % _exact(modulus, step)) * step) + fine
        digit = _lone_digit(rest)
        if digit is not None and (digit.modulus is None or divide(digit.modulus, modulus) is not None):
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

    def stride(self, axis: Axis) -> Size | None:
        """Coefficient of an axis, None where the axis is inside a digit."""
        for atom in self.terms:
            if isinstance(atom, Digit) and axis in atom.base.axes():
                return None
        return self.terms.get(axis, 0)

    def render(self, name: Callable[[Axis], str], variable: Callable[[Variable], str] = repr) -> str:
        """Python text with names for the axes and for sizes that are not fixed, largest strides first."""
        parts: list[str] = []
        for atom, coefficient in sorted(self.terms.items(), key=lambda item: -abs(hint(item[1]))):
            if isinstance(atom, Axis):
                text = name(atom)
            else:
                text = atom.base.render(name, variable)
                text = f"({text})" if len(atom.base.terms) + bool(atom.base.const) > 1 else text
                text += f" // {_operand(atom.divisor, variable)}" if atom.divisor != 1 else ""
                if atom.modulus is not None:
                    text = (f"({text})" if atom.divisor != 1 else text) + f" % {_operand(atom.modulus, variable)}"
                text = f"({text})"
            parts.append(text if coefficient == 1 else f"{text} * {render(coefficient, variable)}")
        if parts and isinstance(self.const, int) and self.const < 0:
            return f"{' + '.join(parts)} - {-self.const}"
        if self.const or not parts:
            parts.append(render(self.const, variable))
        return " + ".join(parts)

    def sizes(self) -> Iterable[Size]:
        """All coefficients, divisors and constants in it."""
        yield self.const
        for atom, coefficient in self.terms.items():
            yield coefficient
            if isinstance(atom, Digit):
                yield atom.divisor
                if atom.modulus is not None:
                    yield atom.modulus
                yield from atom.base.sizes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and self.const == other.const and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.const, frozenset(self.terms.items())))
        return self._hash

    def __repr__(self) -> str:
        return self.render(lambda axis: axis.name)


ZERO = Index()


def _operand(size: Size, variable: Callable[[Variable], str]) -> str:
    if isinstance(size, int):
        return str(size)
    text = size.render(variable)
    return text if text in map(variable, size.variables()) else f"({text})"


def _exact(a: Size, b: Size) -> Size:
    quotient = divide(a, b)
    assert quotient is not None, f"{b} does not divide {a}"
    return quotient


def _quotient_of_bound(bound: Size, divisor: Size) -> Size:
    """Something that `bound // divisor` does not exceed."""
    if isinstance(bound, int) and isinstance(divisor, int):
        return bound // divisor
    if less(bound, divisor):
        return 0
    whole, rest = 0, bound
    # (6 a + b) // 6 is at most a where b stays below 6.
    terms = bound.terms if not isinstance(bound, int) else {}
    for monomial, c in terms.items():
        part = product([c, *[_single(v) for v in monomial]])
        quotient = divide(part, divisor)
        if quotient is not None:
            whole, rest = whole + quotient, rest - part
    if less(rest, divisor):
        return whole
    low = least(bound)
    # The largest value of an index is not negative, even where that is not known.
    return bound if low is None or low >= 0 else bound - low


def _single(variable: Variable) -> Size:
    return Poly({(variable,): 1})


def _divided(index: Index, divisor: Size) -> tuple[Index, Index]:
    """`(q, r)` with `index == q * divisor + r`, as much as divides exactly in `q`."""
    whole: dict[Atom, Size] = {}
    rest: dict[Atom, Size] = {}
    for atom, coefficient in index.terms.items():
        quotient = divide(coefficient, divisor)
        if quotient is None:
            rest[atom] = coefficient
        else:
            whole[atom] = quotient
    quotient, remainder = divmod_terms(index.const, divisor)
    return Index(whole, quotient), Index(rest, remainder)


def _steps(index: Index, limit: Size) -> list[Size]:
    """Coefficients that divide `limit`, the largest first: places where the expression may split in two."""
    found = {c if hint(c) > 0 else -c for c in index.terms.values()}
    return sorted((c for c in found if c != 1 and c != limit and divide(limit, c) is not None), key=hint, reverse=True)


def _lone_digit(index: Index) -> Digit | None:
    if len(index.terms) == 1 and not index.const:
        atom, coefficient = next(iter(index.terms.items()))
        if coefficient == 1 and isinstance(atom, Digit):
            return atom
    return None


def _quotient(index: Index, divisor: Size) -> Index:
    for step in _steps(index, divisor):
        coarse, fine = _divided(index, step)
        if fine.below(step):
            return coarse // _exact(divisor, step)
    digit = _lone_digit(index)
    if digit is not None:
        if digit.modulus is None:
            return _digit(digit.base, digit.divisor * divisor, None)
        fewer = divide(digit.modulus, divisor)
        if fewer is not None:
            return _digit(digit.base, digit.divisor * divisor, fewer)
    return _digit(index, divisor, None)


def _digit(base: Index, divisor: Size, modulus: Size | None) -> Index:
    top = _quotient_of_bound(base.bounds()[1], divisor)
    if modulus is not None and less(top, modulus):
        modulus = None
    if modulus is None and divisor == 1:
        return base
    if modulus is None and top == 0:
        return ZERO
    return Index({Digit(base, divisor, modulus): 1})


def linearize(index: Sequence[Index], strides: Sequence[Size]) -> Index:
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
            if coefficient == other.divisor * factor:
                terms = {a: c for a, c in index.terms.items() if a is not atom and a is not other}
                whole = atom.base if other.modulus is None else atom.base % (other.modulus * other.divisor)
                return _rejoined(Index(terms, index.const) + whole * factor)
    return index


def regroup(index: Sequence[Index], sizes: Sequence[Size], target: Sequence[Size]) -> tuple[Index, ...]:
    """The index into `target` sizes that names the same element, in row-major order, as `index` into `sizes`.

    Dimensions are matched in groups of equal extent, so that what does not take part in a regrouping stays simple.
    """
    result: list[Index] = []
    for (i, i_end), (j, j_end) in groups(sizes, target):
        flat = linearize(index[i:i_end], row_major(sizes[i:i_end]))
        for size, stride in zip(target[j:j_end], row_major(target[j:j_end]), strict=True):
            result.append((flat // stride) % size if size != 1 else ZERO)
    return tuple(result)


def can_regroup(sizes: Sequence[Size], target: Sequence[Size]) -> bool:
    """Whether both are known to have as many elements."""
    try:
        groups(sizes, target)
    except ValueError as error:
        let_through(error)
        return False
    return True


def groups(sizes: Sequence[Size], target: Sequence[Size]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Shortest runs of dimensions, in both, that have the same extent.

    Raises
    ------
    ValueError
        If it is not known that both have as many elements.
    """
    found: list[tuple[tuple[int, int], tuple[int, int]]] = []
    i = j = 0
    while i < len(sizes) or j < len(target):
        i_end, j_end = i, j
        have: Size = 1
        want: Size = 1
        while have != want or (i_end == i and j_end == j):
            if i_end == len(sizes) and j_end == len(target):
                raise ValueError(f"sizes {list(target)} are not known to have as many elements as {list(sizes)}")
            if (hint(have) <= hint(want) and i_end < len(sizes)) or j_end == len(target):
                have = have * sizes[i_end]
                i_end += 1
            else:
                want = want * target[j_end]
                j_end += 1
        found.append(((i, i_end), (j, j_end)))
        i, j = i_end, j_end
    return found


def row_major(sizes: Sequence[Size]) -> list[Size]:
    """Strides of a contiguous layout."""
    return [product(sizes[d + 1 :]) for d in range(len(sizes))]


def broadcast(index: Sequence[Index], sizes: Sequence[Size], out: Sequence[Size]) -> tuple[Index, ...]:
    """The element of an operand of these sizes that belongs to an element of a result of sizes `out`."""
    lead = len(out) - len(sizes)
    return tuple([
        # A size that is no number may be held to 1 by a guard: it was stretched if the result is larger.
        ZERO if size == 1 or (hint(size) == 1 and hint(whole) != 1) else part
        for size, whole, part in zip(sizes, out[lead:], index[lead:], strict=True)
    ])  # fmt: skip


def runs_backwards(axis: Axis, part: Index) -> bool | None:
    """Whether a dimension's index counts down as an axis counts up, None if it does neither."""
    if part == Index.of(axis):
        return False
    return True if part == Index.of(axis) * -1 + (axis.size - 1) else None
