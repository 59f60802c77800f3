"""Guards: what a compiled function depends on, and how that is told to a user.

A guard is a Python expression for one fact that the trace may have used, over names that `GuardSet` hands out. The
expressions become one predicate (`runtime.entry`); each also knows its variable in the user's words and the line that
reads it, so that a recompile can be explained: ``x.size(0) 3 → 5 (model.py:12)``. Which facts there are to a value is
told by `runtime.values` and, for what has attributes, `runtime.objects`.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from opweave.codegen.native.alike import Laid, alike, distinct
from opweave.codegen.native.mutation import apart
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import Site
from opweave.registry.overlap import disjoint
from opweave.runtime.sources import MISSING, NumberInput, Scope, Source, TensorInput, brief

if TYPE_CHECKING:
    from opweave.fake.shape_env import ShapeEnv


#: Tensors that are compared by an expression and not natively.
_FEW = 4


@dataclass(slots=True)
class Guard:
    """One fact: `test` is true as long as it holds; `explain` words how the present value differs.

    Attributes
    ----------
    laid : Laid, optional
        The layout that the test asks of the source, if it asks nothing else.
    fetched : str
        The expression of the source in such a test.
    native : callable, optional
        Makes a function that asks the same of some variables natively; None of it where there is none.
    asked : tuple of str
        Those variables.
    """

    test: str
    source: Source
    explain: Callable[[Any], str]
    laid: Laid | None = None
    fetched: str = ""
    native: Callable[[], Callable[..., bool] | None] | None = None
    asked: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.source.text}: {self.test}  ({self.source.site.short})"


class GuardSet:
    """Guards of one compiled entry.

    Parameters
    ----------
    scope : Scope
        What the code names, which decides how deep objects are looked into.
    prefix : str
        Start of all names that the guards' expressions use, distinct for each entry.

    Attributes
    ----------
    guards : list of Guard
        In the order they are to be tested.
    constants : dict
        Names used by the expressions -> values.
    tensors : list of TensorInput
        Every tensor met.
    """

    def __init__(self, scope: Scope, prefix: str) -> None:
        self.scope = scope
        self.prefix = prefix
        self.guards: list[Guard] = []
        self.constants: dict[str, Any] = {}
        self.tensors: list[TensorInput] = []
        self.seen: dict[int, tuple[Any, Source]] = {}
        #: Of each int the guard on its value.
        self.ints: dict[str, Guard] = {}
        #: Whether a trace may run code of the user's that no name leads to.
        self.calls_back = False
        #: Ids of objects that rules of ops keep, which a trace may change; and of those that it did.
        self.books: set[int] = set()
        self.ignored: set[int] = set()
        #: Whether gradients of all tensors are guarded, and the ids of those whose are.
        self.asks_gradients = False
        self.gradients: set[int] = set()
        #: The names that lead to functions that draw random numbers: a namespace, the name in it, what stands for it.
        self.draws: list[tuple[dict[str, Any], str, Any]] = []
        #: Called once the trace is done, for what tracing itself moves.
        self.late: list[Callable[[], None]] = []
        self._constant_names: dict[int, str] = {}
        #: How the layout of a tensor is tested: the guard, its parts, where in them, and what is fixed.
        self._layouts: dict[int, tuple[Guard, list[str], int, tuple[set[int], set[int]]]] = {}
        self._count = 0

    # ---- building blocks -------------------------------------------------------------------------------------------

    def constant(self, value: Any) -> str:
        """A name for a value in the predicate's globals."""
        name = self._constant_names.get(id(value))
        if name is None:
            name = self._constant_names[id(value)] = f"{self.prefix}c{len(self.constants)}"
            self.constants[name] = value
        return name

    def source(self, load: str, text: str, site: Site) -> Source:
        """A source that is fetched where it is first tested."""
        self._count += 1
        return Source(load, text, site, f"{self.prefix}v{self._count}")

    def argument(self, name: str, site: Site) -> Source:
        """A parameter of the function: the variable is there already."""
        return Source(name, name, site, name, bound=True)

    def get(self, source: Source) -> str:
        """Expression of a source's value: fetched and assigned the first time, the variable afterwards."""
        if source.bound:
            return source.var
        source.bound = True
        return f"({source.var} := {source.load})"

    def require(self, test: str, source: Source, explain: Callable[[Any], str]) -> None:
        """Add a guard."""
        self.guards.append(Guard(test, source, explain))

    def same(self, source: Source, value: Any) -> None:
        """Require the very object."""
        literal = repr(value) if value is None or value is True or value is False else self.constant(value)
        text = source.text
        self.require(f"{self.get(source)} is {literal}", source, lambda now: f"{text} {brief(value)} → {brief(now)}")

    def exact_type(self, source: Source, value: Any) -> None:
        """Require the very type."""
        old = type(value)
        text = source.text
        name = old.__name__ if old in (int, float, str, list, tuple, dict) else self.constant(old)
        self.require(
            f"type({self.get(source)}) is {name}",
            source,
            lambda now: f"type({text}) {old.__name__} → {'nothing' if now is MISSING else type(now).__name__}",
        )

    def equal(self, source: Source, value: Any) -> None:
        """Require the type and the value; `nan` equals itself, `-0.0` differs from `0.0`."""
        text = source.text
        self.exact_type(source, value)
        var = source.var
        if isinstance(value, float) and (value != value or value == 0.0 or math.isinf(value)):
            # repr tells all of these apart.
            test = f"repr({var}) == {repr(value)!r}"
        elif isinstance(value, complex):
            test = f"repr({var}) == {repr(value)!r}"
        else:
            test = f"{var} == {value!r}"
        self.require(test, source, lambda now: f"{text} {brief(value)} → {brief(now)}")
        if type(value) is int:
            self.ints[text] = self.guards[-1]

    def settle(self) -> None:
        """Take what tracing itself moved as it is now, after the trace."""
        for update in self.late:
            update()

    def release(self) -> None:
        """Let go of the values that were compiled for: they may be large, and the guards' texts do without them."""
        self.seen.clear()
        self._layouts.clear()
        self.ints.clear()
        self.late.clear()
        for t in self.tensors:
            t.tensor = t.options = None

    def folded(self, prefix: str) -> tuple[list[str], dict[str, Callable[..., bool]]]:
        """The tests, those of layouts that stand side by side as one native call.

        Parameters
        ----------
        prefix : str
            Of the names of functions in the tests.

        Returns
        -------
        tests : list of str
            Expressions, in the order they are to be tested.
        functions : dict
            What stands behind the names.
        """
        functions: dict[str, Callable[..., bool]] = {}
        tests: list[str] = []

        def call(function: Callable[..., bool], arguments: Iterable[str]) -> None:
            name = f"{prefix}{len(functions)}"
            functions[name] = function
            tests.append(f"{name}({', '.join(arguments)})")

        for is_laid, found in itertools.groupby(self.guards, lambda guard: guard.laid is not None):
            run = list(found)
            function = alike([guard.laid for guard in run if guard.laid is not None]) if is_laid else None
            if function is not None:
                call(function, [guard.fetched for guard in run])
                continue
            for guard in run:
                function = guard.native() if guard.native is not None else None
                if function is None:
                    tests.append(guard.test)
                else:
                    call(function, guard.asked)
        return tests, functions

    # ---- sizes that are left open ----------------------------------------------------------------------------------

    def open(self, env: ShapeEnv, numbers: Iterable[NumberInput]) -> None:
        """Test sizes, strides and ints as far as the trace depends on them, once it is finished.

        Each symbol is read where it first stands alone, `s0 := x._sizes[0]`; a layout is compared as a whole.
        """
        names: dict[Any, str] = {}
        for number in numbers:
            guard, symbol = self.ints[number.source.text], number.value.expr
            if symbol in names:
                guard.test = f"{number.source.var} == {names[symbol]}"
            else:
                names[symbol] = number.source.var
                guard.test = "True"
        for t in self.tensors:
            if t.sizes:
                self._open(t, names)
        found_guards = env.guards()
        texts = {env.guard_text(found) for found in found_guards}
        for symbol, name in names.items():
            info = env.symbols[symbol]
            if f"{symbol} >= {info.low}" not in texts:  # that sizes are not 0 or 1 goes without saying there
                source = Source("", _size_text(info.sources[0]), info.site, name, bound=True)
                self.require(
                    f"{name} >= {info.low}",
                    source,
                    lambda now, info=info: f"{_size_text(info.sources[0])} {info.hint} → {now}",
                )
        for found in found_guards:
            if any(symbol not in names for symbol in found.expr.free_symbols):
                continue  # of a tensor that the graph does not have
            words = env.guard_text(found, lambda symbol: _size_text(env.symbols[symbol].sources[0]))
            first = min(names[symbol] for symbol in found.expr.free_symbols)
            source = Source("", words, found.site, first, bound=True)
            self.require(
                env.guard_text(found, names.__getitem__), source, lambda now, words=words: f"{words} is not so any more"
            )

    def _open(self, t: TensorInput, names: dict[Any, str]) -> None:
        guard, tests, at, fixed = self._layouts[id(t)]
        var = t.source.var
        for which, numbers in enumerate((t.sizes, t.strides)):
            attribute = ("_sizes", "_strides")[which]
            parts: list[str] = []
            known = len(names)
            read = functools.partial(self._read, names, f"{var}.{attribute}", numbers)
            for d, number in enumerate(numbers):
                if type(number) is int:
                    parts.append(str(number))
                else:
                    fixed[which].discard(d)
                    parts.append(number.env.python(number.expr, read))
            fresh = len(names) > known
            test = f"{var}.{attribute} == ({', '.join(parts)}{',' * (len(parts) == 1)})"
            tests[at + which] = f"len({var}.{attribute}) == {len(parts)} and {test}" if fresh else test
        guard.test, guard.laid = " and ".join(tests), None

    def _read(self, names: dict[Any, str], owner: str, numbers: tuple[Any, ...], symbol: Any) -> str:
        """A symbol in a test: read from a layout where it stands alone in it, the first time."""
        if symbol in names:
            return names[symbol]
        at = next(d for d, number in enumerate(numbers) if type(number) is not int and number.expr == symbol)
        name = names[symbol] = f"{self.prefix}{symbol.name}"
        return f"({name} := {owner}[{at}])"

    # ---- relations between tensors ---------------------------------------------------------------------------------

    def distinct(self) -> None:
        """Require that tensors that were different objects stay so."""
        variables = [t.source for t in self.tensors]
        if len(variables) > _FEW:
            ids = ", ".join(f"id({v.var})" for v in variables)
            names = ", ".join(v.text for v in variables)
            self.require(
                f"len({{{ids}}}) == {len(variables)}", variables[0], lambda now: f"two of {names} became one object"
            )
            self._asks_natively(functools.partial(distinct, len(variables)), variables)
            return
        for i, one in enumerate(variables):
            for other in variables[i + 1 :]:
                text = f"{other.text} is {one.text}"
                self.require(f"{other.var} is not {one.var}", other, lambda now, text=text: f"{text} False → True")

    def offsets(self) -> None:
        """Require that tensors start where they did in their memory, from whose start `as_strided` counts."""
        for t in self.tensors:
            offset, text = t.tensor._offset, t.source.text
            if t.options is None and type(offset) is int:
                self.require(
                    f"{t.source.var}._offset == {offset}",
                    t.source,
                    lambda now, offset=offset, text=text: f"{text}.storage_offset() {offset} → {now._offset}",
                )

    def disjoint(self, written: list[TensorInput], inputs: list[TensorInput]) -> None:
        """Require that no tensor's memory overlaps that of a tensor which the function writes."""
        others = [t for t in inputs if all(t is not w for w in written)]
        if not written or len(written) + len(others) < 2:
            return
        call = f"{self.constant(disjoint)}(({_tuple(written)}), ({_tuple(others)}))"
        names = ", ".join(w.source.text for w in written)
        self.require(call, written[0].source, lambda now: f"memory of {names} overlaps another tensor's")
        tensors = [*written, *others]
        if len(tensors) > _FEW:
            dtypes = [t.tensor._dtype for t in tensors]
            self._asks_natively(functools.partial(apart, len(written), dtypes), [t.source for t in tensors])

    def _asks_natively(self, make: Callable[[], Callable[..., bool] | None], variables: Iterable[Source]) -> None:
        """Say how the last guard is asked natively."""
        self.guards[-1].native, self.guards[-1].asked = make, tuple([v.var for v in variables])


def _size_text(source: str) -> str:
    """`x.size(0)` of `x.shape[0]`, the form in which changed sizes are told."""
    return re.sub(r"\.shape\[(\d+)\]$", r".size(\1)", source)


def _tuple(inputs: list[TensorInput]) -> str:
    return "".join(f"{t.source.var}, " for t in inputs)
