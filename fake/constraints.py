"""What is known of the symbols of a trace, and which of it the trace depends on.

ranges         s0 in [2, 64]           told at creation, or by guards that bound a single symbol
replacements   s1 := s0, s2 := 4       told by guards that are equations
facts          s0 % 8 == 0             all other guards
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

from opweave.fake.symbolic import SymNumber
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import ConstraintError, ShapeError, Site
from opweave.registry.interrupts import contextmanager
from opweave.registry.loading import load_heavy


@dataclass(slots=True)
class Guard:
    """Something a trace depends on.

    Attributes
    ----------
    expr : sympy relation
        True in the example.
    site : Site
        The user's line that asked.
    """

    expr: Any
    site: Site


@dataclass(slots=True)
class Assertion:
    """What is to be verified of numbers that depend on data, when the trace runs.

    Attributes
    ----------
    expr : sympy relation
        What must hold.
    message : str
        Text of the error where it does not.
    site : Site
        The user's line that demanded it.
    """

    expr: Any
    message: str
    site: Site


@dataclass(slots=True)
class SymbolInfo:
    """What is known of a symbol.

    Attributes
    ----------
    name : str
        `s0` if backed, `u0` if not.
    hint : int or None
        Its value in the example.
    low, high : int and int or None
        Its range.
    sources : list of str
        Where it can be read: `x.shape[0]`.
    site : Site
        Where it was made.
    allowed : tuple
        The range that a user asked for, if any: leaving it is an error, and not a reason to specialise.
    bounded : list of Guard
        The guards that narrowed the range.
    """

    name: str
    hint: int | None
    low: int
    high: int | None
    sources: list[str]
    site: Site
    allowed: tuple[int, int | None] | None = None
    bounded: list[Guard] = field(default_factory=list)


class Constraints:
    """What is known of symbols; see the module.

    Parameters
    ----------
    specialize_zero_one : bool
        Whether sizes 0 and 1 are fixed, so that a size is 2 at least.
    """

    def __init__(self, specialize_zero_one: bool) -> None:
        self.specialize_zero_one = specialize_zero_one
        # These load sympy.
        self._x: Any = load_heavy("opweave.fake.expressions")
        self._bounds: Any = load_heavy("opweave.fake.bounds")
        self._form: Any = load_heavy("opweave.fake.expression_text")
        self._relations: Any = load_heavy("opweave.fake.relations")
        self.symbols: dict[Any, SymbolInfo] = {}
        #: Guards that are no equation and no bound of one symbol.
        self.facts: dict[Any, Guard] = {}
        #: Equations by the symbol that they replace.
        self.equations: dict[Any, Guard] = {}
        self.replacements: dict[Any, Any] = {}
        self.frozen = False
        self._ranges = self._bounds.Ranges()
        self._known: dict[Any, bool] = {}
        #: Relations that `known` could not tell, while facts, replacements and ranges were as `_open_in` says.
        self._open: set[Any] = set()
        self._open_in: tuple[int, ...] = ()
        self._simple: dict[Any, Any] = {}
        self._simple_with = 0
        self._texts = self._form.Texts()
        self._hints: dict[Any, Any] = {}

    # ---- symbols -----------------------------------------------------------------------------------------------------

    def _declare(self, info: SymbolInfo) -> Any:
        symbol = self._x.symbol(info.name, info.low)
        self.symbols[symbol] = info
        self._set_range(symbol)
        return symbol

    def _set_range(self, symbol: Any) -> None:
        info = self.symbols[symbol]
        high = self._x.INFINITY if info.high is None else self._x.number(info.high)
        self._ranges[symbol] = (self._x.number(info.low), high)

    def raise_lows(self, least: int) -> None:
        """Take it that every size of an input is so large at least, which somebody else checks."""
        for symbol, info in self.symbols.items():
            if info.hint is not None:
                info.low = max(info.low, least)
                self._set_range(symbol)

    def declares(self, expr: Any) -> bool:
        """Whether all symbols of an expression are known here."""
        return expr.free_symbols <= self.symbols.keys()

    def hint_of(self, expr: Any) -> Any:
        """The value of an expression in the example; None if it depends on data."""
        found = self._hints.get(expr, self)
        if found is self:
            values = {s: self.symbols[s].hint for s in expr.free_symbols}
            found = None if None in values.values() else self._x.evaluated(expr, values)
            self._hints[expr] = found
        return found

    def range_of(self, value: Any) -> tuple[int, int | None]:
        """The least and largest value of a number; None where there is no largest."""
        if not isinstance(value, SymNumber):
            return int(value), int(value)
        low, high = self._bounds.bounds(self.simplify(value.expr), self._ranges)
        limit = self._x.INFINITY
        return (0 if low == -limit else int(low)), (None if high == limit else int(high))

    # ---- expressions -------------------------------------------------------------------------------------------------

    def simplify(self, expr: Any) -> Any:
        """The expression with what is known to be equal put in."""
        if not self.replacements:
            return expr
        if self._simple_with != len(self.replacements):
            self._simple_with = len(self.replacements)
            self._simple.clear()
        found = self._simple.get(expr, self)
        if found is self:
            simple = expr.xreplace(self.replacements)
            found = self._simple[expr] = None if simple is expr else simple
        return expr if found is None else found  # itself, so that callers can see whether anything changed

    def canonical(self, expr: Any) -> Any:
        """One form for relations that say the same."""
        return self._relations.canonical(self.simplify(expr))

    def negated(self, expr: Any) -> Any:
        """The opposite of a relation."""
        return self._relations.negated(expr)

    def is_inequality(self, expr: Any) -> bool:
        """Whether a relation says that two numbers differ."""
        return isinstance(expr, self._x.sympy.Ne)

    def plain(self, expr: Any) -> Any:
        """A constant expression as a Python number; anything else as it is."""
        return self._x.plain(expr)

    def text(self, expr: Any) -> str:
        """The expression as Python, with what is known put in."""
        return self._texts(self.simplify(expr))

    def python(self, expr: Any, name: Callable[[Any], str]) -> str:
        """An expression as Python; `name` gives each symbol's text."""
        return self._texts(expr, name)

    # ---- what is known -----------------------------------------------------------------------------------------------

    def known(self, expr: Any) -> bool | None:
        """Whether a relation holds for all values that the symbols may have (True), none (False), or some (None)."""
        found = self._known.get(expr)
        state = len(self.facts), len(self.replacements), self._ranges.changes
        if state != self._open_in:
            self._open.clear()
            self._open_in = state
        if found is None and expr not in self._open:
            simple = self.simplify(expr)
            if simple is not expr:
                simple = self._relations.canonical(simple)
            found = self._relations.decide(simple, self._ranges)
            if found is None and simple in self.facts:
                found = True
            if found is None and self.facts and self._relations.negated(simple) in self.facts:
                found = False
            if found is None and self._relations.follows(simple, self.facts):
                found = True
            if found is None:
                found = self._relations.decide_exactly(simple, self._ranges, self._divisible())
            if found is None:
                self._open.add(expr)
            else:
                self._known[expr] = found
        return found

    def _divisible(self) -> list[Any]:
        """The remainders that guards and checks say are 0."""
        found = [self._relations.remainder_of(fact) for fact in self.facts]
        return [one for one in found if one is not None]

    # ---- what becomes known ------------------------------------------------------------------------------------------

    def assume(self, expr: Any, site: Site, *, of_code: bool = False) -> None:
        """Take a relation as true from now on.

        Parameters
        ----------
        expr : sympy relation
            What holds.
        site : Site
            Where that was decided.
        of_code : bool
            Whether it limits the code that is made, and not what the user's function can do: for sizes beyond it there
            will be other code, also where the user asked for any size.

        Raises
        ------
        ConstraintError
            If it contradicts a range that the user asked for.
        """
        guard = Guard(expr, site)
        if self.frozen:
            raise ShapeError("a decision on a size after the trace was finished", got=self.text(expr))
        self._known.clear()
        self._open.clear()
        if isinstance(expr, self._x.sympy.And):
            for part in expr.args:
                self.assume(self._relations.canonical(part), site, of_code=of_code)
            return
        bound = self._relations.linear_bound(expr)
        if bound is not None:
            symbol, low, high = bound
            info = self.symbols[symbol]
            if not of_code:
                self._keep_to(info, low, high, guard)
            info.low = max(info.low, low) if low is not None else info.low
            info.high = high if info.high is None else info.high if high is None else min(info.high, high)
            info.bounded.append(guard)
            self._set_range(symbol)
            if info.low == info.high:
                self._replace(symbol, self._x.number(info.low), guard)
            return
        solution = self._relations.solved(expr)
        if solution is not None:
            symbol, equal = solution
            info = self.symbols[symbol]
            if equal.is_Integer:
                self._keep_to(info, int(equal), int(equal), guard)
            elif info.allowed is not None and equal.is_Symbol and self.symbols[equal].allowed is None:
                symbol, equal = equal, symbol  # the range that was asked for stays with the symbol
            self._replace(symbol, equal, guard)
            return
        self.facts[expr] = guard

    @contextmanager
    def settled(self) -> Iterator[None]:
        """Refuse further decisions inside the block."""
        before, self.frozen = self.frozen, True
        try:
            yield
        finally:
            self.frozen = before

    def _keep_to(self, info: SymbolInfo, low: int | None, high: int | None, guard: Guard) -> None:
        """Refuse to leave a range that the user asked for."""
        if info.allowed is None:
            return
        least, most = info.allowed
        if (low is not None and low > least) or (high is not None and (most is None or high < most)):
            raise ConstraintError(
                f"{info.sources[0]} was asked to be any size in [{least}, {'inf' if most is None else most}], but the "
                f"code needs {self.text(guard.expr)}",
                got=f"{info.name} = {info.hint}",
                at=guard.site,
                hint=f"change the code, or the range: min={max(least, low or least)}, "
                f"max={high if high is not None else most}",
            )

    def _replace(self, symbol: Any, equal: Any, guard: Guard) -> None:
        if not equal.is_number and self.symbols[symbol].hint is not None:
            self._narrow(symbol, equal, guard)
        self.equations[symbol] = guard
        step = {symbol: equal}
        self.replacements = {s: self._x.sympy.expand(e.xreplace(step)) for s, e in self.replacements.items()}
        self.replacements[symbol] = equal
        self._simple.clear()
        facts, self.facts = self.facts, {}
        for expr, fact in facts.items():
            simple = self._relations.canonical(self.simplify(expr))
            if self._relations.decide(simple, self._ranges) is None:
                self.facts[simple] = fact

    def _narrow(self, symbol: Any, equal: Any, guard: Guard) -> None:
        """Give the range of a symbol to the one that replaces it."""
        if not equal.is_Symbol:
            return
        gone, stays = self.symbols[symbol], self.symbols[equal]
        stays.low = max(stays.low, gone.low)
        stays.high = (
            gone.high if stays.high is None else stays.high if gone.high is None else min(stays.high, gone.high)
        )
        self._set_range(equal)

    # ---- what the trace depends on -----------------------------------------------------------------------------------

    def guards(self) -> list[Guard]:
        """What the trace depends on, without what follows from the rest; for backed symbols only."""
        found: list[Guard] = []
        for symbol, guard in self.equations.items():
            equal = self.replacements[symbol]
            if self._is_backed(symbol) and self._is_backed(equal):
                found.append(Guard(self._x.RELATIONS["eq"](symbol, equal), guard.site))
        default = 2 if self.specialize_zero_one else 0
        for symbol, info in self.symbols.items():
            if info.hint is None or symbol in self.replacements:
                continue
            for which, end, relation in ((1, info.low, "ge"), (2, info.high, "le")):
                telling = [g.site for g in info.bounded if self._relations.linear_bound(g.expr)[which] == end]
                site = telling[-1] if telling else None
                if end is not None and (site is not None or (relation == "ge" and end > 0) or relation == "le"):
                    if relation == "ge" and end == default and site is None and info.allowed is None:
                        continue
                    expr = self._x.RELATIONS[relation](symbol, self._x.number(end))
                    found.append(Guard(expr, site or info.site))
        for expr, guard in self.facts.items():
            if self._is_backed(expr) and self._relations.decide(expr, self._ranges) is None and not self._implied(expr):
                found.append(Guard(expr, guard.site))
        return found

    def _implied(self, expr: Any) -> bool:
        """Whether what is known of remainders tells a fact; of two that tell each other, the first stays."""
        if self._relations.follows(expr, self.facts):
            return True
        own = self._relations.remainder_of(expr)
        if own is None:
            return self._relations.decide_exactly(expr, self._ranges, self._divisible()) is True
        others = [one for one in self._divisible() if one != own]
        return self._relations.decide_exactly(expr, self._ranges, others) is True

    def guard_text(self, guard: Guard, name: Callable[[Any], str] = str) -> str:
        """A guard as Python; `name` gives each symbol's text."""
        return self._form.text(guard.expr, name)

    def _is_backed(self, expr: Any) -> bool:
        return all(self.symbols[s].hint is not None for s in expr.free_symbols)
