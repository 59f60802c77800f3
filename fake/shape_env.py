"""`ShapeEnv`: the symbolic numbers of a trace, and decisions on them.

A *backed* symbol stands for a size of an example, its hint. A decision on it takes the example's answer and becomes a
guard. An *unbacked* one stands for a number that depends on data; what is demanded of it (`check`) is verified when the
trace runs, and until then taken as true. `fake.constraints` holds what is known, and what the trace depends on.

Sizes 0 and 1 are fixed at creation (a size of 1 broadcasts, so code differs there), and equal hints share a symbol
("duck shaping"): the relation is verified like any guard. Both can be switched off.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import FrameType
from typing import Any

from opweave.fake import symbolic
from opweave.fake.constraints import Assertion, Constraints, Guard, SymbolInfo
from opweave.fake.search import Replay, Trial, Undecided, settled
from opweave.fake.symbolic import SymBool, SymFloat, SymInt, SymNumber
from opweave.registry.errors import (
    ArgumentError,
    ConstraintError,
    DataDependentError,
    OpweaveError,
    ShapeError,
    is_own_file,
    user_frame,
)
from opweave.registry.interrupts import contextmanager
from opweave.registry.spec import contiguous_strides

_CACHE_LIMIT = 1 << 16


class ShapeEnv(Constraints):
    """The symbols of a trace; see the module.

    Parameters
    ----------
    duck_shape : bool
        Whether equal sizes of the example share a symbol.
    specialize_zero_one : bool
        Whether sizes 0 and 1 are fixed.

    Examples
    --------
    >>> traced = opweave.make_fx(lambda x: x + 1, tracing_mode="symbolic")(opweave.ones(3, 4))
    >>> type(traced.shape_env).__name__
    'ShapeEnv'
    """

    def __init__(self, *, duck_shape: bool = True, specialize_zero_one: bool = True):
        super().__init__(specialize_zero_one)
        self.duck_shape = duck_shape
        self.assertions: list[Assertion] = []
        #: Called with each new assertion; a tracer records it.
        self.on_assertion: Callable[[Assertion], None] | None = None
        self._by_hint: dict[int, Any] = {}
        self._unbacked = 0
        self._floats = 0
        self._backed = 0
        #: Numbers that only an op can tell when it runs, by what they follow from.
        self.told: dict[Any, Any] = {}
        self._interned: dict[tuple[type, Any], SymNumber] = {}
        self._made: dict[tuple[Any, ...], Any] = {}
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
                    f"{source} is {hint}, outside of the range that was asked for",
                    got=f"[{least}, {high}]",
                    hint="trace with a size in the range, or widen it",
                )
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

    def new_layout(
        self,
        sizes: Sequence[int],
        strides: Sequence[int],
        offset: int,
        source: str,
        dynamic: Callable[[int], dict[str, Any] | None],
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
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

    def _expr(self, value: Any) -> Any:
        if isinstance(value, SymNumber):
            if value.env is not self:
                raise ArgumentError(
                    "symbolic numbers of two traces cannot be used together",
                    got=f"{value!r}",
                    hint="trace both functions as one",
                )
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

    def taken_apart(self, expr: Any) -> tuple[str, list[Any]]:
        """The operation at the top of an expression, by Python's name, and its operands."""
        return self._form.taken_apart(expr)

    def terms_of(self, expr: Any) -> list[tuple[int | None, list[Any]]]:
        """An expression as a sum of coefficients times factors; a coefficient that is no integer is None."""
        return self._form.terms(expr)

    def joined(self, name: str, a: Any, b: Any) -> Any:
        """Two operands put together."""
        return self._form.joined(name, a, b)

    # ---- decisions ---------------------------------------------------------------------------------------------------

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
            f"a decision on {self.text(expr)}, which depends on data",
            got=made,
            hint=f"say what must hold: opweave.check({self.text(expr)}), or avoid the branch with opweave.where or "
            "opweave.cond",
        )

    # ---- trying ------------------------------------------------------------------------------------------------------

    def ruled(self, what: str, rule: Callable[[], Any]) -> Any:
        """What the rule of an op gives, which may decide on numbers that depend on data (see `fake.search`)."""
        if self.trial is not None or self._searchable:
            return rule()
        if not self._unbacked:
            try:
                return rule()
            except OpweaveError:
                if not self._unbacked:
                    raise
            return self.ruled_again(what, rule)
        self._searchable = True
        made, told = self._unbacked, dict(self.told)
        try:
            return rule()
        except Undecided:
            self._forget(made, told)
        finally:
            self._searchable = False
        return settled(self, what, rule, rule)

    def ruled_again(self, what: str, rule: Callable[[], Any]) -> Any:
        """What a rule gives that failed after it made the first numbers that depend on data, as masks' counts."""
        self._forget(0, {})
        return settled(self, what, rule, rule)

    def _forget(self, made: int, told: dict[Any, Any]) -> None:
        """Forget what a run made, which is made again."""
        for symbol in [s for s, info in self.symbols.items() if info.name[0] == "u" and int(info.name[1:]) >= made]:
            del self.symbols[symbol]
        self._unbacked, self.told = made, told

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

    def _replace(self, symbol: Any, equal: Any, guard: Guard) -> None:
        super()._replace(symbol, equal, guard)
        self._made.clear()

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
