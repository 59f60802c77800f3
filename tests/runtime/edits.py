"""Edits between two calls of a compiled function, of many kinds; what it gives must be what the function itself gives.

    python tests/runtime/edits.py --count 500 --seed 0 --torch

A case is a program: state, a function `f` that reads it, and an edit. The function is compiled and called, the state is
edited, and it is called again, compiled and as it is. `stale` is a compiled result that differs. Kinds of values are
put at each of many places (a global, a closure, a class attribute, a default, an element of a container, ...); other
kinds are programs of their own. With `--torch` the same programs run on PyTorch, with the backend "eager".

    python tests/runtime/edits.py --anew --count 500

The edit is made in another process, so to say: the program is set up again under the same name, edited, and compiled
anew, while what the first one became is on disk. Set up once more and not edited, it should be `found` there.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import linecache
import random
import re
import sys
import textwrap
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PRELUDE = """
import abc, array, collections, contextvars, copy, dataclasses, datetime, decimal, enum, fractions, functools, gc
import inspect, itertools, locale, logging, math, operator, os, pathlib, sys, tempfile, threading, types, typing, uuid
import warnings, weakref
import numpy as np
x = T.arange(6.0) + 1
"""


@dataclass(frozen=True)
class Case:
    """One program.

    Attributes
    ----------
    kind, place : str
        What is edited, and where it sits.
    setup : str
        Defines `f`; what it is called with is `x`, or `arguments()` where that is defined.
    edit : str
        Run between the calls.
    undo : str
        Puts back what outlives the program.
    """

    kind: str
    place: str
    setup: str
    edit: str
    undo: str = ""


# ---- values, at any place ------------------------------------------------------------------------------------------

#: Kind -> (value, other value, what a function computes of it).
VALUES: dict[str, tuple[str, str, str]] = {
    "int": ("2", "3", "V"),
    "int and bool": ("1", "True", "2 if type(V) is bool else 3"),
    "float": ("2.5", "3.5", "V"),
    "negative zero": ("0.0", "-0.0", "math.copysign(1.0, V)"),
    "nan": ("math.nan", "2.0", "1 if V != V else V"),
    "complex negative zero": ("complex(1.0, 0.0)", "complex(1.0, -0.0)", "math.copysign(1.0, V.imag)"),
    "text": ("'ab'", "'abc'", "len(V)"),
    "bytes": ("b'ab'", "b'ac'", "V[1]"),
    "None": ("None", "3", "1 if V is None else V"),
    "Ellipsis": ("...", "3", "1 if V is Ellipsis else V"),
    "range": ("range(0, 10, 3)", "range(0, 12, 3)", "V.stop"),
    "slice": ("slice(0, 2)", "slice(0, 3)", "V.stop"),
    "tuple of types": ("(1, 2)", "(1, 2.0)", "sum(type(i) is float for i in V) + 1"),
    "list": ("[1, 2]", "[1, 3]", "V[1]"),
    "list length": ("[1, 2]", "[1, 2, 3]", "len(V)"),
    "dict value": ("{'a': 1}", "{'a': 2}", "V['a']"),
    "dict order": ("{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}", "list(V.values())[0]"),
    "dict key type": ("{1: 5.0}", "{True: 5.0}", "sum(type(k) is bool for k in V) + 1"),
    "dict text key type": ("{'a': 1}", "{Text('a'): 1}", "sum(type(k) is Text for k in V) + 1"),
    "set element type": ("{1}", "{True}", "sum(type(k) is bool for k in V) + 1"),
    "set element zero": ("{0.0}", "{-0.0}", "math.copysign(1.0, list(V)[0])"),
    "frozenset": ("frozenset({1, 2})", "frozenset({1, 3})", "sum(V)"),
    "deque": ("collections.deque([1], maxlen=3)", "collections.deque([1], maxlen=4)", "V.maxlen"),
    "defaultdict": ("collections.defaultdict(int)", "collections.defaultdict(One)", "V.default_factory() + 2"),
    "OrderedDict": (
        "collections.OrderedDict(a=1, b=2)", "collections.OrderedDict(b=2, a=1)", "list(V.values())[0]",
    ),
    "Counter": ("collections.Counter('aab')", "collections.Counter('abb')", "V['a']"),
    "ChainMap": ("collections.ChainMap({'a': 1}, {'a': 2})", "collections.ChainMap({}, {'a': 2})", "V['a']"),
    "UserDict": ("collections.UserDict(a=1)", "collections.UserDict(a=2)", "V['a']"),
    "mappingproxy": ("types.MappingProxyType({'a': 1})", "types.MappingProxyType({'a': 2})", "V['a']"),
    "SimpleNamespace": ("types.SimpleNamespace(a=1)", "types.SimpleNamespace(a=2)", "V.a"),
    "namedtuple": ("Pair(1, 2)", "Pair(1, 3)", "V.b"),
    "dataclass": ("Data(1)", "Data(2)", "V.a + len(V.more)"),
    "dataclass, frozen with slots": ("Frozen(1)", "Frozen(2)", "V.a"),
    "object attribute": ("Thing(1)", "Thing(2)", "V.a"),
    "object type": ("Thing(1)", "Other(1)", "V.twice()"),
    "slots": ("Slotted(1)", "Slotted(2)", "V.a"),
    "enum member": ("Colour.RED", "Colour.BLUE", "V.value"),
    "int subclass": ("Number(1)", "Number(2)", "V + 1"),
    "int subclass attribute": ("Number(1).put(1)", "Number(1).put(2)", "V.extra"),
    "text subclass": ("Text('a')", "Text('abc')", "len(V)"),
    "list subclass": ("Items([1])", "Items([2])", "V[0]"),
    "dict subclass": ("Table(a=1)", "Table(a=2)", "V['a']"),
    "tuple subclass": ("Row((1, 2))", "Row((1, 3))", "V[1]"),
    "Decimal": ("decimal.Decimal('1.0')", "decimal.Decimal('1.00')", "len(str(V))"),
    "Fraction": ("fractions.Fraction(1, 2)", "fractions.Fraction(3, 2)", "float(V)"),
    "datetime": ("datetime.datetime(2020, 1, 1)", "datetime.datetime(2020, 1, 1, fold=1)", "V.fold + 1"),
    "timezone": (
        "datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.timezone.utc)",
        "datetime.datetime(2020, 1, 1, 13, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))", "V.hour",
    ),
    "timedelta": ("datetime.timedelta(1)", "datetime.timedelta(2)", "V.days"),
    "uuid": ("uuid.UUID(int=1)", "uuid.UUID(int=2)", "V.int"),
    "path": ("pathlib.PurePosixPath('a')", "pathlib.PurePosixPath('ab')", "len(V.name)"),
    "NumPy scalar zero": ("np.float32(0.0)", "np.float32(-0.0)", "math.copysign(1.0, float(V))"),
    "NumPy scalar type": ("np.float32(2)", "np.float64(2)", "V.itemsize"),
    "NumPy dtype": ("np.dtype('<f4')", "np.dtype('<f8')", "V.itemsize"),
    "NumPy array content": ("np.array([1.0, 2.0])", "np.array([1.0, 3.0])", "float(V[1])"),
    "NumPy array zero": ("np.array([0.0])", "np.array([-0.0])", "math.copysign(1.0, float(V[0]))"),
    "NumPy array strides": ("np.zeros((2, 2))", "np.zeros((2, 2)).T", "V.strides[0]"),
    "bytearray": ("bytearray(b'ab')", "bytearray(b'ac')", "V[1]"),
    "array.array": ("array.array('i', [1])", "array.array('i', [2])", "V[0]"),
    "memoryview": ("memoryview(b'ab')", "memoryview(b'ac')", "V[1]"),
    "partial": ("functools.partial(pow, 2)", "functools.partial(pow, 3)", "V(2)"),
    "bound method": ("Thing(1).twice", "Thing(2).twice", "V()"),
    "function": ("one", "two", "V()"),
    "class": ("Thing", "Other", "V(1).twice()"),
    "attrgetter": ("operator.attrgetter('a')", "operator.attrgetter('b')", "V(Data(1, b=4))"),
    "dtype": ("T.float32", "T.float64", "V.itemsize"),
    "tensor shape": ("T.ones(2)", "T.ones(3)", "V.shape[0]"),
    "tensor type": ("T.ones(2)", "T.ones(2, dtype=T.float64)", "V.element_size()"),
    "tensor offset": ("T.arange(6.0)[1:3]", "T.arange(6.0)[2:4]", "V.storage_offset()"),
    "tensor strides": ("T.ones(2, 2)", "T.ones(2, 2).t()", "V.stride()[0] + 2 * V.stride()[1]"),
    "tensor attribute": ("tagged(1)", "tagged(2)", "V.tag"),
    "tensor without attribute": ("T.ones(2)", "tagged(2)", "getattr(V, 'tag', 1)"),
    "requires_grad": ("T.ones(2)", "T.ones(2, requires_grad=True)", "2 if V.requires_grad else 1"),
    "exception arguments": ("ValueError(1)", "ValueError(2)", "V.args[0]"),
    "generic alias": ("list[int]", "list[bool]", "1 + (V.__args__[0] is bool)"),
    "weak reference": ("weakref.ref(KEPT[0])", "weakref.ref(KEPT[1])", "V().a"),
    "context variable": ("variable(1)", "variable(2)", "V.get()"),
    "thread local": ("local(1)", "local(2)", "V.a"),
    "nested": ("{'k': [Data(({1: 1},))]}", "{'k': [Data(({True: 1},))]}", "1 + (type([*V['k'][0].a[0]][0]) is bool)"),
}  # fmt: skip

CLASSES = """
Pair = collections.namedtuple("Pair", "a b")
@dataclasses.dataclass
class Data:
    a: typing.Any
    more: list = dataclasses.field(default_factory=list)
    b: int = 7
@dataclasses.dataclass(frozen=True)
class Frozen:
    __slots__ = ("a",)
    a: int
class Thing:
    def __init__(self, a): self.a = a
    def twice(self): return self.a * 2
class Other(Thing):
    def twice(self): return self.a * 5
class Slotted:
    __slots__ = ("a", "__weakref__")
    def __init__(self, a): self.a = a
class Number(int):
    def put(self, extra):
        self.extra = extra
        return self
class Text(str): pass
class Items(list): pass
class Table(dict): pass
class Row(tuple): pass
class Colour(enum.Enum):
    RED = 1
    BLUE = 2
def One(): return 1
def one(): return 1
def two(): return 2
def tagged(tag):
    t = T.ones(2)
    t.tag = tag
    return t
def variable(value):
    v = contextvars.ContextVar("v")
    v.set(value)
    return v
def local(value):
    v = threading.local()
    v.a = value
    return v
KEPT = [Thing(1), Thing(2)]
"""

#: Place -> (setup, edit); OLD and NEW are the values, READ what is computed of `V`.
PLACES: dict[str, tuple[str, str]] = {
    "global": ("G = OLD\ndef f(x): return x * (READ:G)", "G = NEW"),
    "closure": (
        """
        def make():
            v = OLD
            def f(x): return x * (READ:v)
            def put():
                nonlocal v
                v = NEW
            return f, put
        f, put = make()""",
        "put()",
    ),
    "argument": ("given = OLD\ndef f(x, v): return x * (READ:v)\ndef arguments(): return (x, given)", "given = NEW"),
    "keyword": (
        "given = OLD\ndef f(x, **kw): return x * (READ:kw['v'])\ndef arguments(): return (x, {'v': given})",
        "given = NEW",
    ),
    "instance": (
        "class Model:\n    pass\nm = Model()\nm.v = OLD\ndef f(x): return x * (READ:m.v)", "m.v = NEW",
    ),
    "class": ("class Model:\n    v = OLD\nm = Model()\ndef f(x): return x * (READ:m.v)", "Model.v = NEW"),
    "base class": (
        "class Base:\n    v = OLD\nclass Model(Base): pass\nm = Model()\ndef f(x): return x * (READ:m.v)",
        "Base.v = NEW",
    ),
    "subclass shadows": (
        "class Base:\n    v = OLD\nclass Model(Base): pass\nm = Model()\ndef f(x): return x * (READ:m.v)",
        "Model.v = NEW",
    ),
    "instance shadows": ("class Model:\n    v = OLD\nm = Model()\ndef f(x): return x * (READ:m.v)", "m.v = NEW"),
    "module": ("mod = types.ModuleType('edited_mod')\nmod.v = OLD\ndef f(x): return x * (READ:mod.v)", "mod.v = NEW"),
    "default": ("def g(x, v=OLD): return x * (READ:v)\ndef f(x): return g(x)", "g.__defaults__ = (NEW,)"),
    "keyword default": (
        "def g(x, *, v=OLD): return x * (READ:v)\ndef f(x): return g(x)", "g.__kwdefaults__ = {'v': NEW}",
    ),
    "list element": ("L = [0, OLD]\ndef f(x): return x * (READ:L[1])", "L[1] = NEW"),
    "dict element": ("D = {'k': OLD}\ndef f(x): return x * (READ:D['k'])", "D['k'] = NEW"),
    "dict by number": ("D = {3: OLD}\ndef f(x): return x * (READ:D[3])", "D[3] = NEW"),
    "nested": ("D = {'k': [Thing(OLD)]}\ndef f(x): return x * (READ:D['k'][0].a)", "D['k'][0].a = NEW"),
    "function attribute": ("def g(): pass\ng.v = OLD\ndef f(x): return x * (READ:g.v)", "g.v = NEW"),
    "slot": ("S = Slotted(OLD)\ndef f(x): return x * (READ:S.a)", "S.a = NEW"),
    "property": (
        """
        class Model:
            def __init__(self): self._v = OLD
            @property
            def v(self): return self._v
        m = Model()
        def f(x): return x * (READ:m.v)""",
        "m._v = NEW",
    ),
    "getattr, computed": (
        "class Model: pass\nm = Model()\nm.v1 = OLD\nn = 1\ndef f(x): return x * (READ:getattr(m, 'v' + str(n)))",
        "m.v1 = NEW",
    ),
    "partial argument": (
        "def g(v, x): return x * (READ:v)\np = functools.partial(g, OLD)\ndef f(x): return p(x)",
        "p = functools.partial(g, NEW)",
    ),
    "namespace": ("ns = types.SimpleNamespace(v=OLD)\ndef f(x): return x * (READ:ns.v)", "ns.v = NEW"),
    "helper in a loop": (
        "G = OLD\ndef g(x): return x * (READ:G)\nSTEPS = [g]\ndef f(x):\n    for s in STEPS: x = s(x)\n    return x",
        "G = NEW",
    ),
}  # fmt: skip


def _inlined(text: str, read: str) -> str:
    """`(READ:g)` replaced by what is computed of `g`."""
    while "(READ:" in text:
        start = text.index("(READ:")
        end, depth = start, 0
        while end == start or depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        where = text[start + len("(READ:") : end - 1]
        done = re.sub(r"\bV\b", lambda _, where=where: where, read)
        text = f"{text[:start]}({done}){text[end:]}"
    return text


def value_cases() -> Iterator[Case]:
    """Each kind of value at each place."""
    for kind, (old, new, read) in VALUES.items():
        for place, (setup, edit) in PLACES.items():
            text = textwrap.dedent(setup).replace("OLD", old).replace("NEW", new)
            yield Case(kind, place, CLASSES + _inlined(text, read), edit.replace("NEW", new))


# ---- programs of their own -----------------------------------------------------------------------------------------


def program_cases() -> Iterator[Case]:
    """The programs of `edit_programs.txt`."""
    text = (Path(__file__).parent / "edit_programs.txt").read_text()
    for part in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        kind, _, place = head.partition(": ")
        setup, edit, *undo = re.split(r"^--- \w+\n", body, flags=re.MULTILINE)
        yield Case(kind, place, setup.replace("%include classes\n", CLASSES), edit, "".join(undo))


def all_cases() -> list[Case]:
    """Every case."""
    return [*value_cases(), *program_cases()]


# ---- running one ---------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What became of a case: ``equal``, ``stale``, ``refused`` or ``no effect`` (the edit changes nothing eagerly)."""

    kind: str
    why: str = ""
    warned: bool = False


def attempt(case: Case, library: Any, compile: Any) -> Outcome:
    """Run a case."""
    name = f"edits_{next(_serial)}"
    module = types.ModuleType(name)
    sys.modules[name] = module  # as dataclasses want it
    space = module.__dict__
    space["T"] = library
    _run(PRELUDE + case.setup, space, f"<{name}>")
    arguments = space.get("arguments", lambda: (space["x"],))
    look = space.get("look", lambda result: result)

    def call(function: Any) -> Any:
        given = arguments()
        keywords = given[-1] if case.place == "keyword" else {}
        try:
            return _plain(look(function(*(given[:-1] if keywords else given), **keywords)))
        except Exception as error:
            if type(error).__name__ in _REFUSALS:
                return f"refused: {error}"
            return f"{type(error).__name__}"

    compiled = compile(space["f"])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            first = call(space["f"])
            got_first = call(compiled)
            try:
                _run(case.edit, space, f"<{name} edit>")
                expected, got = call(space["f"]), call(compiled)
                again = call(compiled)
            finally:
                _run(case.undo, space, f"<{name} undo>")
        finally:
            del sys.modules[name]
    warned = any("uncompiled" in str(w.message) for w in told)
    if isinstance(got, str) and got.startswith("refused") or str(got_first).startswith("refused"):
        return Outcome("refused", got if isinstance(got, str) else str(got_first), warned)
    if repr(got_first) != repr(first):
        return Outcome("stale", f"at once: {got_first} for {first}", warned)
    if repr(got) != repr(expected) or repr(again) != repr(expected):
        return Outcome("stale", f"{got} for {expected}", warned)
    return Outcome("no effect" if repr(first) == repr(expected) else "equal", warned=warned)


def attempt_anew(case: Case, library: Any, compile: Any) -> Outcome:
    """Run a case as three processes would: as it is, edited, and as it is."""
    results = []
    found = [0]
    for edited in (False, True, False):
        name = "edits_anew"
        module = sys.modules[name] = types.ModuleType(name)
        space = module.__dict__
        space["T"] = library
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _run(PRELUDE + case.setup, space, f"<{name}>")
            arguments, look = space.get("arguments", lambda: (space["x"],)), space.get("look", lambda result: result)

            def call(function: Any, arguments: Any = arguments, look: Any = look) -> Any:
                given = arguments()
                keywords = given[-1] if case.place == "keyword" else {}
                try:
                    return _plain(look(function(*(given[:-1] if keywords else given), **keywords)))
                except Exception as error:
                    refused = type(error).__name__ in _REFUSALS
                    return f"refused: {error}" if refused else f"{type(error).__name__}"

            try:
                if edited:
                    _run(case.edit, space, f"<{name} edit>")
                expected = call(space["f"])
                compiled = compile(space["f"])
                got = call(compiled)
                found = [1 for entry in compiled.entries if not isinstance(entry.traced, tuple)]
            finally:
                if edited:
                    _run(case.undo, space, f"<{name} undo>")
                del sys.modules[name]
        results.append((expected, got))
    refused = next((got for _, got in results if isinstance(got, str) and got.startswith("refused")), None)
    if refused is not None:
        return Outcome("refused", refused)
    # Kernels round in their own way.
    wrong = next((f"{got} for {expected}" for expected, got in results if not _near(got, expected)), None)
    if wrong is not None:
        return Outcome("stale", wrong)
    if repr(results[0]) == repr(results[1]):
        return Outcome("no effect")
    return Outcome("found" if found else "equal")


def _near(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)) and type(one) is type(other) and len(one) == len(other):
        return all(map(_near, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == other or abs(one - other) <= 1e-6 * abs(other) or repr(one) == repr(other)
    return repr(one) == repr(other)


_serial = itertools.count()
_REFUSALS = ("UnsupportedError", "UnrecordedError", "Unsupported", "CompileError", "InternalTorchDynamoError")


def _run(text: str, space: dict[str, Any], name: str) -> None:
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), space)


def _plain(value: Any) -> Any:
    return value.detach().tolist() if hasattr(value, "detach") else value


def sample(count: int, seed: int) -> list[Case]:
    """Cases of all kinds, by turns."""
    draw = random.Random(seed)
    by_kind: dict[str, list[Case]] = collections.defaultdict(list)
    for case in all_cases():
        by_kind[case.kind].append(case)
    for cases in by_kind.values():
        draw.shuffle(cases)
    rows = itertools.zip_longest(*by_kind.values())
    return [case for row in rows for case in row if case is not None][:count]


def opweave_compile(function: Any) -> Any:
    """As the tests use it: without kernels."""
    import opweave

    return opweave.compile(function, backend="eager")


def main() -> int:
    """Print a table by kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--torch", action="store_true", help="run torch.compile beside it")
    parser.add_argument("--kind", help="only kinds that a regular expression finds")
    parser.add_argument("--anew", action="store_true", help="compile anew after the edit, beside what is on disk")
    options = parser.parse_args()
    import opweave

    run = attempt_anew if options.anew else attempt
    columns = {"opweave": (opweave, opweave.compile if options.anew else opweave_compile)}
    if options.torch:
        import torch

        def torch_compile(function: Any) -> Any:
            torch._dynamo.reset()
            return torch.compile(function, backend="eager")

        columns["torch"] = (torch, torch_compile)
    cases = [
        c
        for c in sample(10**6 if options.kind else options.count, options.seed)
        if re.search(options.kind or "", c.kind)
    ]
    table: dict[str, dict[str, collections.Counter[str]]] = {}
    for case in cases:
        for column, (library, compiler) in columns.items():
            outcome = run(case, library, compiler)
            row = table.setdefault(case.kind, {c: collections.Counter() for c in columns})
            row[column][outcome.kind] += 1
            row[column]["uncompiled"] += outcome.warned
            if outcome.kind in ("stale", "refused", "no effect") and column == "opweave":
                print(f"# {outcome.kind}: {case.kind}, {case.place}: {outcome.why[:300]}", file=sys.stderr)
    heads = ("equal", "found", "stale", "refused", "uncompiled", "no effect")
    print(f"{'kind':40}" + "".join(f"{c + ' ' + h:>20}" for c in columns for h in heads))
    total = {c: collections.Counter() for c in columns}
    for kind, row in table.items():
        for column, counts in row.items():
            total[column].update(counts)
        print(f"{kind:40}" + "".join(f"{row[c][h]:>20}" for c in columns for h in heads))
    print(
        f"{len(cases)} edits of {len(table)} kinds".ljust(40)
        + "".join(f"{total[c][h]:>20}" for c in columns for h in heads)
    )
    return 1 if total["opweave"]["stale"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
