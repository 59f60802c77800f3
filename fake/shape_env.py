"""`ShapeEnv`: the symbols of a trace, what is known of them, and what the trace came to depend on.

A *backed* symbol stands for a size of an example, its hint. A decision on it takes the example's answer and becomes a
guard. An *unbacked* one stands for a number that depends on data; what is demanded of it (`check`) is verified when the
trace runs, and until then taken as true.

    ranges         s0 in [2, 64]           told at creation, or by guards that bound a single symbol
    replacements   s1 := s0, s2 := 4       told by guards that are equations
    facts          s0 % 8 == 0             all other guards

Sizes 0 and 1 are fixed at creation (a size of 1 broadcasts, so code differs there), and equal hints share a symbol
("duck shaping"): the relation is verified like any guard. Both can be switched off.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

from opweave.fake import symbolic
from opweave.fake.search import Replay, Trial, Undecided, settled
from opweave.fake.symbolic import SymBool, SymFloat, SymInt, SymNumber
from opweave.registry.errors import (
    ArgumentError,
    ConstraintError,
    DataDependentError,
    ShapeError,
    Site,
    is_own_file,
    user_frame,
)
from opweave.registry.interrupts import contextmanager
from opweave.registry.loading import load_heavy
from opweave.registry.spec import contiguous_strides

_CACHE_LIMIT = 1 << 16


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


class ShapeEnv:
    """The symbols of a trace; see the module.

    Parameters
    ----------
    duck_shape : bool
        Whether equal sizes of the example share a symbol.
    specialize_zero_one : bool
        Whether sizes 0 and 1 are fixed.
    """

    def __init__(self, *, duck_shape: bool = True, specialize_zero_one: bool = True):
        # These load sympy.
        self._x: Any = load_heavy("opweave.fake.expressions")
        self._bounds: Any = load_heavy("opweave.fake.bounds")
        self._form: Any = load_heavy("opweave.fake.expression_text")
        self._relations: Any = load_heavy("opweave.fake.relations")
        self.duck_shape = duck_shape
        self.specialize_zero_one = specialize_zero_one
        self.symbols: dict[Any, SymbolInfo] = {}
        #: Guards that are no equation and no bound of one symbol.
        self.facts: dict[Any, Guard] = {}
        #: Equations by the symbol that they replace.
        self.equations: dict[Any, Guard] = {}
        self.replacements: dict[Any, Any] = {}
        self.assertions: list[Assertion] = []
        #: Called with each new assertion; a tracer records it.
        self.on_assertion: Callable[[Assertion], None] | None = None
        self.frozen = False
        self._ranges = self._bounds.Ranges()
        self._by_hint: dict[int, Any] = {}
        self._unbacked = 0
        self._floats = 0
        self._backed = 0
        #: Numbers that only an op can tell when it runs, by what they follow from.
        self.told: dict[Any, Any] = {}
        self._interned: dict[tuple[type, Any], SymNumber] = {}
        self._made: dict[tuple[Any, ...], Any] = {}
        self._known: dict[Any, bool] = {}
        #: Relations that `known` could not tell, while facts, replacements and ranges were as `_open_in` says.
        self._open: set[Any] = set()
        self._open_in: tuple[int, ...] = ()
        self._simple: dict[Any, Any] = {}
        self._simple_with = 0
        self._texts = self._form.Texts()
        self._hints: dict[Any, Any] = {}
        #: Who answers decisions that depend on data, if any (`fake.search`).
        self.trial: Trial | Replay | None = None
        self._searchable = False

    # ---- symbols -----------------------------------------------------------------------------------------------------

    def new_size(
        self, hint: int, source: str, *, low: int | None = None, high: int | None = None, own: bool = False
    ) -> Any:
        """A symbolic size, or `hint` itself where it is fixed.

        Parameters
        ----------
        hint : int
            The example's size.
        source : str
            Where it can be read.
        low, high : int, optional
            A range that the user asks for; going outside is an error.
        own : bool
            Never share the symbol of another size.
        """
        asked = low is not None or high is not None
        least = (2 if self.specialize_zero_one else 0) if low is None else low
        if hint < least or (high is not None and hint > high):
            if asked:
                raise ConstraintError(
                    f"{source} is {hint}, outside of the range that was asked for", got=f"[{least}, {high}]",
                    hint="trace with a size in the range, or widen it",
                )  # fmt: skip
            return hint
        if self.specialize_zero_one and hint in (0, 1):
            return hint
        shared = self._by_hint.get(hint) if self.duck_shape and not own and not asked else None
        if shared is not None:
            self.symbols[shared].sources.append(source)
            return self.wrap(shared)
        info = SymbolInfo(f"s{self._backed}", hint, least, high, [source], user_frame())
        info.allowed = (least, high) if asked else None
        self._backed += 1
        symbol = self._declare(info)
        if not own and not asked:
            self._by_hint.setdefault(hint, symbol)
        return self.wrap(symbol)

    def new_unbacked(self, low: int = 0, high: int | None = None) -> Any:
        """A symbolic int that depends on data.

        Raises
        ------
        ArgumentError
            If the range is empty.
        """
        if high is not None and high < low:
            raise ArgumentError("the range of a dynamic size is empty", got=f"min={low}, max={high}")
        if low == high:
            return low
        info = SymbolInfo(f"u{self._unbacked}", None, low, high, [], user_frame())
        self._unbacked += 1
        return self.wrap(self._declare(info))

    def new_unbacked_float(self) -> Any:
        """A symbolic float that depends on data; it may be infinite or no number."""
        symbol = self._x.float_symbol(f"v{self._floats}")
        self.symbols[symbol] = SymbolInfo(f"v{self._floats}", None, 0, None, [], user_frame())
        self._ranges[symbol] = (-self._x.INFINITY, self._x.INFINITY)
        self._floats += 1
        return self.wrap(symbol, SymFloat)

    def _declare(self, info: SymbolInfo) -> Any:
        symbol = self._x.symbol(info.name, info.low)
        self.symbols[symbol] = info
        self._set_range(symbol)
        return symbol

    def _set_range(self, symbol: Any) -> None:
        info = self.symbols[symbol]
        high = self._x.INFINITY if info.high is None else self._x.number(info.high)
        self._ranges[symbol] = (self._x.number(info.low), high)

    def new_layout(
        self, sizes: Sequence[int], strides: Sequence[int], offset: int, source: str,
        dynamic: Callable[[int], dict[str, Any] | None],
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:  # fmt: skip
        """Symbolic sizes, strides and offset of a tensor.

        Parameters
        ----------
        sizes, strides, offset
            The example's.
        source : str
            How the tensor is read.
        dynamic : callable
            For a dimension the keywords of `new_size`, or None where its size is fixed.
        """
        found: list[Any] = []
        for d, size in enumerate(sizes):
            options = dynamic(d)
            found.append(size if options is None else self.new_size(size, f"{source}.shape[{d}]", **options))
        if all(type(size) is int for size in found):
            return tuple(found), tuple(strides), offset
        if tuple(strides) == contiguous_strides(sizes):
            return tuple(found), contiguous_strides(found), offset
        return tuple(found), self._strides(sizes, strides, found, source), offset

    def _strides(
        self, sizes: Sequence[int], strides: Sequence[int], found: Sequence[Any], source: str
    ) -> tuple[Any, ...]:
        """Strides as products of sizes where the example's are; a symbol of its own for what is none."""
        made: dict[int, Any] = {}
        for d in sorted(range(len(sizes)), key=lambda d: (strides[d], sizes[d] != 1, -d)):
            stride = strides[d]
            if stride in (0, 1):
                made[d] = stride
                continue
            inner = [e for e in made if sizes[e] > 0 and strides[e] and sizes[e] * strides[e] == stride]
            best = max(inner, key=lambda e: (strides[e], sizes[e]), default=None)
            if best is not None:
                made[d] = made[best] * found[best]
            else:
                made[d] = self.new_size(stride, f"{source}.stride()[{d}]", own=True)
        return tuple(made[d] for d in range(len(sizes)))

    # ---- numbers -----------------------------------------------------------------------------------------------------

    def wrap(self, expr: Any, kind: type[SymNumber] = SymInt) -> Any:
        """The number that an expression is: the same object for the same expression; a Python number if constant."""
        if self.replacements:
            expr = self.simplify(expr)
        found = self._interned.get((kind, expr))
        if found is None:
            value = self._x.plain(expr)
            if isinstance(value, (bool, int, float)):
                return float(value) if kind is SymFloat else value
            found = self._interned[kind, expr] = kind(self, expr)
        return found

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

    def _expr(self, value: Any) -> Any:
        if isinstance(value, SymNumber):
            if value.env is not self:
                raise ArgumentError(
                    "symbolic numbers of two traces cannot be used together", got=f"{value!r}",
                    hint="trace both functions as one",
                )  # fmt: skip
            return self.simplify(value.expr)
        return self._x.number(value)

    def binary(self, name: str, a: Any, b: Any) -> Any:
        """`a <op> b`; see `expressions.BINARY` for the names."""
        floating = name == "truediv" or any(isinstance(v, (float, SymFloat)) for v in (a, b))
        floating |= name == "pow" and type(b) is int and b < 0
        key = (name, a.expr if isinstance(a, SymNumber) else a, b.expr if isinstance(b, SymNumber) else b, floating)
        found = self._made.get(key)
        if found is None:
            if name in ("floordiv", "mod", "truediv") and not isinstance(b, SymNumber) and b == 0:
                raise ZeroDivisionError("division of a symbolic number by zero")
            if name not in ("min", "max", "pow") and any(v != v for v in (a, b) if type(v) is float):
                return math.nan
            left, right = self._expr(a), self._expr(b)
            expr = self._x.floating(name, left, right) if floating else self._x.BINARY[name](left, right)
            found = self.wrap(expr, SymFloat if floating else SymInt)
            if len(self._made) > _CACHE_LIMIT:
                self._made.clear()
            self._made[key] = found
        return found

    def rounded_down(self, value: Any) -> Any:
        """The largest int that is not above a number."""
        if not isinstance(value, SymFloat):
            return int(value // 1)
        down = self._x.rounded_down(self.simplify(value.expr))
        return int(float(value) // 1) if down is None else self.wrap(down)

    def relation(self, name: str, a: Any, b: Any) -> Any:
        """`a <rel> b`, as a bool where every value of the symbols gives the same."""
        key = (name, a.expr if isinstance(a, SymNumber) else a, b.expr if isinstance(b, SymNumber) else b)
        found = self._made.get(key)
        if found is None:
            if type(b) is float and b != b:
                return name == "ne"
            expr = self._relations.canonical(self._x.related(name, self._expr(a), self._expr(b)))
            known = self.known(expr)
            if known is None:
                if type(b) is int and 0 <= b <= 2 and isinstance(a, SymInt) and self.hint_of(expr) is None:
                    return SymBool(self, expr, (name, a.expr, b))
                return self._interned.setdefault((SymBool, expr), SymBool(self, expr))
            found = self._made[key] = known
        return found

    def logical(self, name: str, a: SymBool, b: Any = None) -> Any:
        """`a and b`, `a or b`, `not a`."""
        left, right = self._expr(a), None if b is None else self._expr(b)
        expr = ~left if name == "not" else (left & right if name == "and" else left | right)
        expr = self._relations.canonical(expr)
        known = self.known(expr)
        return known if known is not None else SymBool(self, expr)

    def wrap_any(self, expr: Any) -> Any:
        """`wrap` for an expression of any kind."""
        if getattr(expr, "is_Boolean", False) or getattr(expr, "is_Relational", False):
            return self._interned.setdefault((SymBool, expr), SymBool(self, expr))
        return self.wrap(expr, SymInt if expr.is_integer else SymFloat)

    def plain(self, expr: Any) -> Any:
        """A constant expression as a Python number; anything else as it is."""
        return self._x.plain(expr)

    def taken_apart(self, expr: Any) -> tuple[str, list[Any]]:
        """The operation at the top of an expression, by Python's name, and its operands."""
        return self._form.taken_apart(expr)

    def terms_of(self, expr: Any) -> list[tuple[int | None, list[Any]]]:
        """An expression as a sum of coefficients times factors; a coefficient that is no integer is None."""
        return self._form.terms(expr)

    def joined(self, name: str, a: Any, b: Any) -> Any:
        """Two operands put together."""
        return self._form.joined(name, a, b)

    def canonical(self, expr: Any) -> Any:
        """One form for relations that say the same."""
        return self._relations.canonical(self.simplify(expr))

    def python(self, expr: Any, name: Callable[[Any], str]) -> str:
        """An expression as Python; `name` gives each symbol's text."""
        return self._texts(expr, name)

    def text(self, expr: Any) -> str:
        """The expression as Python, with what is known put in."""
        return self._texts(self.simplify(expr))

    def hint_of(self, expr: Any) -> Any:
        """The value of an expression in the example; None if it depends on data."""
        found = self._hints.get(expr, self)
        if found is self:
            values = {s: self.symbols[s].hint for s in expr.free_symbols}
            found = None if None in values.values() else self._x.evaluated(expr, values)
            self._hints[expr] = found
        return found

    # ---- decisions ---------------------------------------------------------------------------------------------------

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

    def decide(self, expr: Any, of_size: tuple[str, Any, int] | None = None) -> bool:
        """The answer that the example gives; the trace depends on it from now on.

        Parameters
        ----------
        expr : sympy relation
            What is asked.
        of_size : tuple, optional
            See `SymBool`.

        Raises
        ------
        DataDependentError
            If it depends on data.
        """
        known = self.known(expr)
        if known is not None:
            return known
        expr = self._relations.canonical(self.simplify(expr))
        hint = self.hint_of(expr)
        if hint is None:
            asker = _asker()
            answer = self._answered(expr, of_size, asker) if is_own_file(asker) else None
            if answer is None:
                raise self.undecidable(expr)
            return answer
        self.assume(expr if hint else self._relations.negated(expr), user_frame())
        return bool(hint)

    def _answered(self, expr: Any, of_size: tuple[str, Any, int] | None, asker: str) -> bool | None:
        """The answer to what a rule of opweave's asks of data, if there is one."""
        # As it is for sizes of 2 and more: 0 and 1 mostly decide on nothing but strides that are not used. (What is 0
        # or 1 is no size.)
        two = self._x.number(2)
        larger = {s: (max(low, two) if high >= two else low, high) for s, (low, high) in self._ranges.items()}
        likely = self._relations.decide(expr, larger)
        if likely is None and of_size is not None:
            likely = self._of_larger(*of_size)
        if asker.endswith(_LAYOUTS):
            # A size, and what says of strides for larger ones is as good for 0 and 1.
            likely = self._of_larger(*of_size, is_size=True) if likely is None and of_size is not None else likely
            if likely is not None:
                return likely
        if self.trial is not None:
            return self.trial.answer(expr, likely)
        if self._searchable:
            raise Undecided
        return likely

    def undecidable(self, expr: Any) -> DataDependentError:
        """The error for a decision that depends on data."""
        declared = [self.symbols[s] for s in expr.free_symbols if s in self.symbols]  # others were made by a trial
        unbacked = sorted(info.name for info in declared if info.hint is None)
        made = "; ".join(
            f"{info.name} comes from {info.site.short}" for info in self.symbols.values() if info.name in unbacked
        )
        return DataDependentError(
            f"a decision on {self.text(expr)}, which depends on data", got=made,
            hint=f"say what must hold: opweave.check({self.text(expr)}), or avoid the branch with opweave.where or "
            "opweave.cond",
        )  # fmt: skip

    # ---- trying ------------------------------------------------------------------------------------------------------

    def ruled(self, what: str, rule: Callable[[], Any]) -> Any:
        """What the rule of an op gives, which may decide on numbers that depend on data (see `fake.search`)."""
        if not self._unbacked or self.trial is not None or self._searchable:
            return rule()
        self._searchable = True
        made, told = self._unbacked, dict(self.told)
        try:
            return rule()
        except Undecided:
            # What this run made is made again.
            for symbol in [s for s, info in self.symbols.items() if info.name[0] == "u" and int(info.name[1:]) >= made]:
                del self.symbols[symbol]
            self._unbacked, self.told = made, told
        finally:
            self._searchable = False
        return settled(self, what, rule, rule)

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Forget what becomes known inside the block."""
        kept = {name: getattr(self, name) for name in _STATE}
        self.symbols = {
            s: replace(info, sources=list(info.sources), bounded=list(info.bounded))
            for s, info in kept["symbols"].items()
        }
        for name in ("facts", "equations", "replacements", "_by_hint", "told"):
            setattr(self, name, dict(kept[name]))
        self.assertions = list(kept["assertions"])
        self._ranges = self._ranges.copied()
        self._made, self._known, self._open, self._simple = {}, {}, set(), {}
        try:
            yield
        finally:
            for name, value in kept.items():
                setattr(self, name, value)

    @contextmanager
    def answering(self, trial: Trial | Replay) -> Iterator[None]:
        """Let a run of a rule have its answers."""
        before, self.trial = self.trial, trial
        try:
            yield
        finally:
            self.trial = before

    def assume_in_branch(self, expr: Any) -> None:
        """Take a relation on data as true for the rest of a trial."""
        self.assume(self._relations.canonical(self.simplify(expr)), user_frame())

    def negated(self, expr: Any) -> Any:
        """The opposite of a relation."""
        return self._relations.negated(expr)

    def is_inequality(self, expr: Any) -> bool:
        """Whether a relation says that two numbers differ."""
        return isinstance(expr, self._x.sympy.Ne)

    def declares(self, expr: Any) -> bool:
        """Whether all symbols of an expression are known here."""
        return expr.free_symbols <= self.symbols.keys()

    def equal(self, a: Any, b: Any) -> bool:
        """Whether two numbers are the same for all values of the symbols."""
        if type(a) is int and type(b) is int:
            return a == b
        one, other = self._expr(a), self._expr(b)
        return one == other or self.known(self._relations.canonical(self._x.RELATIONS["eq"](one, other))) is True

    def _of_larger(self, relation: str, value: Any, constant: int, *, is_size: bool = False) -> bool | None:
        """What a comparison with a constant says of a size of 2 or more; None if the number may be negative."""
        value = self.simplify(value)
        at_least_0 = self._relations.canonical(self._x.RELATIONS["ge"](value, self._x.number(0)))
        if not is_size and self.known(at_least_0) is not True:
            return None
        at_most_1 = self._relations.canonical(self._x.RELATIONS["le"](value, self._x.number(1)))
        if not value.is_Symbol and not is_size and self.known(at_most_1) is True:
            return None  # a remainder by 2
        size = self._x.symbol("size", 2)
        compared = self._x.RELATIONS[relation](size, self._x.number(constant))
        return self._relations.decide(compared, {size: (self._x.number(2), self._x.INFINITY)})

    def fix(self, value: SymNumber) -> Any:
        """The number in the example, which the trace is specialised to.

        Raises
        ------
        DataDependentError
            If it depends on data.
        """
        expr = self.simplify(value.expr)
        plain = self._x.plain(expr)
        if not isinstance(plain, (int, float)):
            plain = self.hint_of(expr)
            if plain is None:
                raise DataDependentError(
                    f"the value of {self.text(expr)}, which depends on data, is needed as a plain number",
                    hint="pass it to an op as it is, or make the code that needs it a custom_op",
                )
            relation = self._x.RELATIONS["eq"](expr, self._x.number(plain))
            self.assume(self._relations.canonical(relation) if isinstance(value, SymInt) else relation, user_frame())
        return plain

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
        self._made.clear()
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

    # ---- what must hold ----------------------------------------------------------------------------------------------

    def check(self, condition: Any, message: str | Callable[[], str] | None = None) -> None:
        """Demand a condition: decided now if it can be, else when the trace runs; true from here on.

        Raises
        ------
        ShapeError
            If it does not hold.
        """
        expr = condition.expr if isinstance(condition, SymBool) else None
        known = bool(condition) if expr is None else self.known(expr)
        if known is None and expr is not None:
            hint = self.hint_of(expr)
            if hint is None:
                assertion = Assertion(
                    self._relations.canonical(self.simplify(expr)), _text(message, self.text(expr)), user_frame()
                )
                self.assertions.append(assertion)
                if self.on_assertion is not None and not isinstance(self.trial, Trial):
                    # First: what is assumed to be equal would be equal to itself.
                    self.on_assertion(assertion)
                self.assume(assertion.expr, assertion.site)
                return
            known = self.decide(expr)
        if not known:
            raise ShapeError(_text(message, str(condition)))

    # ---- the result --------------------------------------------------------------------------------------------------

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

    def range_of(self, value: Any) -> tuple[int, int | None]:
        """The least and largest value of a number; None where there is no largest."""
        if not isinstance(value, SymNumber):
            return int(value), int(value)
        low, high = self._bounds.bounds(self.simplify(value.expr), self._ranges)
        limit = self._x.INFINITY
        return (0 if low == -limit else int(low)), (None if high == limit else int(high))


def _asker() -> str:
    """The file that needs a decision: one of opweave's rules, or the user's code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in _FILES:
        frame = frame.f_back
    return "" if frame is None else frame.f_code.co_filename


#: What stands between a decision and who needs it.
_FILES = {__file__, symbolic.__file__}


def stands_between(file: str) -> None:
    """Note that frames of a file, which has an environment of its own, need no decisions themselves."""
    _FILES.add(file)


#: What asks nothing but whether the strides of a dimension matter.
_LAYOUTS = (os.path.join("registry", "spec.py"), os.path.join("registry", "memory_format.py"))

#: What a branch of a `ShapeEnv` has of its own.
_STATE = (
    "symbols", "facts", "equations", "replacements", "assertions", "_ranges", "_by_hint", "_unbacked", "_backed",
    "told", "_made", "_known", "_open", "_open_in", "_simple", "_simple_with",
)  # fmt: skip


def _text(message: str | Callable[[], str] | None, condition: str) -> str:
    found = message() if callable(message) else message
    return found or f"check: {condition} does not hold"
