"""Symbolic sizes of an exported program: what `dynamic_shapes` asks for while tracing, and what each call must keep.

An `ExportEnv` makes a symbol for each `Dim`, and a symbol of its own for each `Dim.AUTO` and `Dim.DYNAMIC`. What the
code decides on sizes is checked at every call:

    ranges       batch in [2, 64]      of each symbol, as asked or as narrowed by the code
    equations    s1 == s0              of symbols that became equal to others or fixed (`Dim.AUTO` only)
    facts        s0 % 8 == 0           everything else

A rule of opweave's that asks whether a size is 0 or 1 is told that it is not: the graph is that of larger sizes. At a
call with such a size every result is compared with the size that the trace foresaw, so a difference cannot go unseen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

from opweave.fake import shape_env, symbolic
from opweave.fake.constraints import Guard, SymbolInfo
from opweave.fake.shape_env import ShapeEnv
from opweave.fake.symbolic import SymNumber
from opweave.registry.containers import is_sequence
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import ArgumentError, ConstraintError, ShapeError, Site, is_own_file, user_frame
from opweave.registry.tensor import Tensor, describe
from opweave.tracer.export.dims import DerivedDim, Dim, Wanted

_NUMBERS = frozenset({__file__, shape_env.__file__, symbolic.__file__})
shape_env.stands_between(__file__)


@dataclass(frozen=True)
class Asked:
    """What a user asked of a symbol.

    Attributes
    ----------
    label : str
        Name of the `Dim`; empty for `Dim.AUTO` and `Dim.DYNAMIC`.
    kind : str
        How messages call it.
    least : bool
        Whether a least value was given: then none of opweave's rules may narrow the range from below.
    """

    label: str
    kind: str
    least: bool


class ExportEnv(ShapeEnv):
    """The symbols of an exported program.

    Parameters
    ----------
    wanted : Wanted
        What is dynamic.
    paths : sequence of str
        How the tensors among the arguments are called, in order.
    """

    def __init__(self, wanted: Wanted, paths: Sequence[str]):
        super().__init__(duck_shape=False)
        self.asked: dict[Any, Asked] = {}
        self._paths = iter(paths)
        self._wanted = wanted
        self._dims: dict[str, tuple[Dim, Any]] = {}
        self._derived: dict[str, list[tuple[int, int, Any]]] = {}
        entries = [entry for sizes in wanted.values() for entry in sizes.values()]
        self._roots = {entry.name for entry in entries if isinstance(entry, Dim)}
        self._of_rule = False

    # ---- symbols -----------------------------------------------------------------------------------------------------

    def new_layout(
        self,
        sizes: Sequence[int],
        strides: Sequence[int],
        offset: int,
        source: str,
        dynamic: Callable[[int], dict[str, Any] | None],
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
        """The next tensor's sizes, as wanted."""
        path = next(self._paths, "")  # what comes after the arguments was brought along, and is fixed
        wanted = self._wanted.get(path, {})
        if not wanted:
            return tuple(sizes), tuple(strides), offset
        return super().new_layout(
            sizes,
            strides,
            offset,
            path,
            lambda d: {"wanted": (wanted[d], f"dim {d} of {path}")} if d in wanted else None,
        )

    def new_size(
        self,
        hint: int,
        source: str,
        *,
        low: int | None = None,
        high: int | None = None,
        own: bool = False,
        wanted: tuple[Any, str] | None = None,
    ) -> Any:
        """A size that is wanted, or a stride; a number that is an argument stays what it is."""
        if wanted is None:
            return super().new_size(hint, source, own=True) if own else hint
        entry, place = wanted
        if entry is Dim.AUTO and hint < 2:
            return hint
        if hint < 2:
            raise ConstraintError(
                f"export: {place} is {hint}, and code treats sizes 0 and 1 in ways of their own",
                got=repr(entry),
                hint="export with an example whose size is 2 or more; Dim.AUTO fixes such a size",
            )
        if isinstance(entry, Dim):
            return self.wrap(self._root(entry, hint, place))
        if isinstance(entry, DerivedDim):
            return self._from_root(entry, hint, place)
        symbol = self._symbol(hint, place, 0, None, Asked("", repr(entry), False))
        if entry is Dim.AUTO:
            self.symbols[symbol].allowed = None
        return self.wrap(symbol)

    def _symbol(self, hint: int, place: str, low: int, high: int | None, asked: Asked) -> Any:
        if hint < low or (high is not None and hint > high):
            raise ConstraintError(
                f"export: {place} is {hint}, outside of the range of {asked.kind}",
                got=_interval(low, high),
                hint="export with a size in the range, or widen it",
            )
        info = SymbolInfo(f"s{self._backed}", hint, low, high, [place], user_frame(), (low, high))
        self._backed += 1
        symbol = self._declare(info)
        self.asked[symbol] = asked
        return symbol

    def _root(self, dim: Dim, hint: int, place: str) -> Any:
        known = self._dims.get(dim.name)
        if known is None:
            symbol = self._symbol(hint, place, dim.min or 0, dim.max, Asked(dim.name, repr(dim), dim.min is not None))
            self._dims[dim.name] = dim, symbol
            return symbol
        other, symbol = known
        if (other.min, other.max) != (dim.min, dim.max):
            raise ArgumentError(f"export: two Dims are called {dim.name!r}", got=f"{other!r}, {dim!r}")
        info = self.symbols[symbol]
        if info.hint != hint:
            raise ConstraintError(
                f"export: {place} is {hint}, but {info.sources[0]} is {info.hint}, and both are {dim.name!r}",
                got=repr(dim),
                hint="sizes of one Dim are equal: use a Dim of another name, or other examples",
            )
        info.sources.append(place)
        return symbol

    def _from_root(self, entry: DerivedDim, hint: int, place: str) -> Any:
        root, rest = divmod(hint - entry.offset, entry.factor)
        if rest or root < 0:
            raise ConstraintError(
                f"export: {place} is {hint}, which no {entry.root.name!r} makes {entry!r}", got=repr(entry.root)
            )
        if entry.root.name in self._roots:
            symbol = self._root(entry.root, root, f"what {place} is made of")
            if self.symbols[symbol].sources[0].startswith("what"):  # read where it stands alone
                self.symbols[symbol].sources[:] = [entry.root.name]
            return self.wrap(symbol) * entry.factor + entry.offset
        # No size is the root itself, so the first derived one gets a symbol and tells the others.
        known = self._derived.setdefault(entry.root.name, [])
        for factor, offset, symbol in known:
            if (factor, offset) == (entry.factor, entry.offset):
                if self.symbols[symbol].hint != hint:
                    raise ConstraintError(
                        f"export: {place} is {hint}, but {self.symbols[symbol].sources[0]} differs", got=repr(entry)
                    )
                return self.wrap(symbol)
        low, high = entry.root.min or 0, entry.root.max
        ends = max(entry.factor * low + entry.offset, 0), None if high is None else entry.factor * high + entry.offset
        symbol = self._symbol(hint, place, *ends, Asked(repr(entry), repr(entry), entry.root.min is not None))
        if entry.factor > 1:
            self._fact(self._x.RELATIONS["eq"](self._x.Mod(symbol - entry.offset, entry.factor), 0))
        if known:
            factor, offset, other = known[0]
            if self.hint_of(other) != factor * root + offset:
                raise ConstraintError(
                    f"export: {place} is {hint}, which does not fit {self.symbols[other].sources[0]}", got=repr(entry)
                )
            self._fact(self._x.RELATIONS["eq"](factor * (symbol - entry.offset), entry.factor * (other - offset)))
        known.append((entry.factor, entry.offset, symbol))
        return self.wrap(symbol)

    def _fact(self, relation: Any) -> None:
        relation = self._relations.canonical(relation)
        self.facts[relation] = Guard(relation, user_frame())

    # ---- decisions ---------------------------------------------------------------------------------------------------

    def decide(self, expr: Any, of_size: tuple[str, Any, int] | None = None) -> bool:
        """The example's answer; whether a size is 0 or 1 is no question for opweave's own rules."""
        self._of_rule = _asked_by_rule()
        if self._of_rule and self.known(expr) is None and self.hint_of(expr) is not None:
            two = self._x.number(2)
            larger = {
                s: (max(low, two), high) if high >= two else (low, high) for s, (low, high) in self._ranges.items()
            }
            found = self._relations.decide(self._relations.canonical(self.simplify(expr)), larger)
            if found is not None:
                return found
        return super().decide(expr, of_size)

    def _keep_to(self, info: SymbolInfo, low: int | None, high: int | None, guard: Guard) -> None:
        if info.allowed is None:
            return
        symbol = next(s for s, i in self.symbols.items() if i is info)
        least, most = info.allowed
        asked = self.asked[symbol]
        # Where no least value was given, sizes that are too small for a rule are left to the check at calls.
        tolerated = high is None and low != most and not asked.least and (self._of_rule or (low or 0) <= 2)
        below = low is not None and low > least and not tolerated
        above = high is not None and (most is None or high < most)
        if not (below or above):
            return
        low = max(least, low or 0)
        high = most if high is None else high if most is None else min(high, most)
        name = asked.label if asked.label.isidentifier() else "size"
        fixed = low == high
        raise ConstraintError(
            f"export: {info.sources[0]} was asked to be {asked.kind}, any size in {_interval(least, most)}, but the "
            f"code needs {self._form.text(guard.expr, self.name_of)}",
            got=f"{info.hint} in the example",
            at=guard.site,
            hint=f"change the code, or leave the dim fixed: {low}, Dim.STATIC or Dim.AUTO"
            if fixed
            else f"change the code, or write Dim({name!r}, min={low}" + (")" if high is None else f", max={high})"),
        )

    def name_of(self, symbol: Any) -> str:
        """How messages call a symbol: its `Dim`'s name."""
        asked = self.asked.get(symbol)
        return asked.label if asked is not None and asked.label.isidentifier() else self.symbols[symbol].name

    def _replace(self, symbol: Any, equal: Any, guard: Guard) -> None:
        both = [symbol, *equal.free_symbols]
        if not equal.is_number and all(self.symbols[s].allowed is not None for s in both):
            places = " and ".join(self.symbols[s].sources[0] for s in both)
            other = self._form.text(equal, self.name_of)
            raise ConstraintError(
                f"export: {places} were asked to be independent, but the code needs {self.name_of(symbol)} == {other}",
                got=", ".join(f"{self.symbols[s].sources[0]} = {self.symbols[s].hint}" for s in both),
                at=guard.site,
                hint=f"write {other} for {self.symbols[symbol].sources[0]}, as a Dim or what is computed from one",
            )
        super()._replace(symbol, equal, guard)


def _asked_by_rule() -> bool:
    """Whether a rule of opweave's needs a decision, and not the user's code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in _NUMBERS:
        frame = frame.f_back
    return frame is not None and is_own_file(frame.f_code.co_filename)


def _interval(low: int | None, high: int | None) -> str:
    return f"[{low or 0}, {'inf' if high is None else high}]"


# ---- what a program keeps --------------------------------------------------------------------------------------------


def range_constraints(env: ShapeEnv) -> dict[str, tuple[int, int | None]]:
    """For each symbol that is not replaced its least and largest value; None where there is no largest."""
    return {info.name: (info.low, info.high) for s, info in env.symbols.items() if s not in env.replacements}


def demands(env: ShapeEnv) -> Iterator[Guard]:
    """What sizes must fulfil besides the ranges."""
    for symbol, guard in env.equations.items():
        if _backed(env, symbol) and _backed(env, env.replacements[symbol]):
            yield Guard(env._x.RELATIONS["eq"](symbol, env.replacements[symbol]), guard.site)
    for expr, guard in env.facts.items():
        if _backed(env, expr):
            yield Guard(expr, guard.site)


def _backed(env: ShapeEnv, expr: Any) -> bool:
    return all(env.symbols[s].hint is not None for s in expr.free_symbols)


def end_site(env: ShapeEnv, info: SymbolInfo, which: int) -> Site | None:
    """The line that narrowed a range from below (1) or above (2), if any."""
    end = info.low if which == 1 else info.high
    bound_of = env._relations.linear_bound
    telling = [g.site for g in info.bounded if (bound_of(g.expr) or (None, None, None))[which] == end]
    return telling[-1] if telling else None


class Binding:
    """Values of the symbols at a call.

    Parameters
    ----------
    env : ExportEnv
        Whose symbols.
    name : str
        The program, for messages.
    """

    def __init__(self, env: ExportEnv, name: str):
        self.env = env
        self.name = name
        self.values: dict[Any, Any] = {}
        self.places: dict[Any, str] = {}

    def read(self, path: str, expected: Tensor, value: Tensor) -> None:
        """Note the symbols that a tensor tells."""
        for what, numbers, given in (
            ("dim", expected._sizes, value._sizes),
            ("stride", expected._strides, value._strides),
        ):
            for d, (number, size) in enumerate(zip(numbers, given, strict=True)):
                if isinstance(number, SymNumber) and number.expr.is_Symbol and number.expr not in self.values:
                    self.values[number.expr] = size  # symbolic, where the program is traced again
                    self.places[number.expr] = f"{what} {d} of {path}" if what == "dim" else f"stride {d} of {path}"

    def number(self, number: Any) -> Any:
        """A size at this call; None if it depends on data."""
        if not isinstance(number, SymNumber):
            return number
        expr = number.expr if number.expr.free_symbols <= self.values.keys() else self.env.simplify(number.expr)
        return self._evaluated(expr) if expr.free_symbols <= self.values.keys() else None

    def _evaluated(self, expr: Any) -> Any:
        try:
            other = next((self.values[s].env for s in expr.free_symbols if isinstance(self.values[s], SymNumber)), None)
            if other is not None:
                # In the symbols of the trace that runs; what is asked of them becomes a guard of it.
                values = {s: other._expr(self.values[s]) for s in expr.free_symbols}
                return other.wrap_any(expr.xreplace(values))
            return self.env._x.evaluated(expr, {s: self.values[s] for s in expr.free_symbols})
        except ZeroDivisionError:  # it says nothing of these sizes
            return None

    def why(self, number: Any) -> str:
        """Where a size comes from, for messages."""
        if not isinstance(number, SymNumber):
            return str(number)
        name = self.env.name_of
        known = ", ".join(
            f"{name(s)} = {self.values[s]} ({self.places[s]})" for s in number.expr.free_symbols if s in self.values
        )
        return f"{self.env._form.text(number.expr, name)} = {self.number(number)}, with {known}"

    def site_of(self, number: Any) -> Site | None:
        """Where the sizes were asked for."""
        return next((self.env.symbols[s].site for s in sorted(number.expr.free_symbols, key=str)), None)

    def check(self) -> None:
        """Check ranges, equations and facts.

        Raises
        ------
        ShapeError
            Names the argument, the dimension, its value and the line that required another.
        """
        env = self.env
        for symbol, value in self.values.items():
            info = env.symbols[symbol]
            which = 1 if value < info.low else 2 if info.high is not None and value > info.high else 0
            if which:
                raise ShapeError(
                    f"{self.name}: {self.places[symbol]} is {value}, outside of {_interval(info.low, info.high)}",
                    got=str(value),
                    at=end_site(env, info, which) or info.site,
                    hint="export again for a wider range, if the code allows it",
                )
        name = env.name_of
        for guard in demands(env):
            symbols = sorted(guard.expr.free_symbols, key=str)
            if not all(s in self.values for s in symbols) or bool(self._evaluated(guard.expr)):
                continue
            places = ", ".join(f"{self.places[s]} is {self.values[s]}" for s in symbols)
            raise ShapeError(
                f"{self.name}: {places}, but the exported code needs {env._form.text(guard.expr, name)}",
                got=", ".join(f"{name(s)} = {self.values[s]}" for s in symbols),
                at=guard.site,
                hint="export again with such sizes",
            )

    @property
    def small(self) -> bool:
        """Whether a size is 0 or 1, of which opweave's rules were told that it does not happen."""
        return any(value < 2 for value in self.values.values())

    def check_result(self, node: Any, value: Any) -> None:
        """Compare a result with what the trace foresaw."""
        self._compare(node, node.meta.get("val"), value)

    def _compare(self, node: Any, expected: Any, value: Any) -> None:
        if is_sequence(expected):
            if is_sequence(value) and len(value) == len(expected):
                for one, other in zip(expected, value, strict=True):
                    self._compare(node, one, other)
            return
        if not isinstance(expected, Tensor) or not isinstance(value, Tensor):
            return
        sizes = [self.number(size) for size in expected._sizes]
        same = len(sizes) == len(value._sizes) and all(
            size is None or size == given for size, given in zip(sizes, value._sizes, strict=True)
        )
        if not same:
            raise ShapeError(
                f"{self.name}: {node.name} is {describe(value)}, and not of sizes {tuple(sizes)}: the code does "
                "something else for a size of 0 or 1",
                got=", ".join(f"{self.places[s]} = {v}" for s, v in self.values.items()),
                at=node.meta.get("site"),
                hint="call with larger sizes, or export for this one: Dim.STATIC",
            )
