"""The user's code that a trace runs: what was followed by reading it must be all of it.

`runtime.dependencies` finds code by following names. Python runs code in other ways too: a descriptor's `__get__`, a
rule that was registered for an op, a callback that a library keeps. So each function that is entered while a trace runs
is noted, and one that was not followed has to be, before what was traced may be used.
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

from opweave.registry.dataclass import dataclass
from opweave.registry.errors import is_own_file
from opweave.registry.interrupts import contextmanager, let_through
from opweave.runtime.purity import THIRD_PARTY, is_library

#: Code that libraries make of text without saying whose it is.
_GENERATED = ("<class 'networkx", "<lambdifygenerated", "<attrs")


_IMPORTS = frozenset({"importlib", "_frozen_importlib", "_frozen_importlib_external", "zipimport", "linecache"})


@dataclass
class Known:
    """What traces of a function were seen to do that reading its code does not tell.

    Attributes
    ----------
    functions : list of function
        Ran though no name leads to them.
    rules : list of function
        The same, called back by opweave: rules of ops.
    ignored : list
        Objects in which rules keep books of their own, so that they change by tracing.
    """

    functions: list[types.FunctionType] = field(default_factory=list)
    rules: list[types.FunctionType] = field(default_factory=list)
    ignored: list[Any] = field(default_factory=list)
    #: Whether gradients were asked for that no name in the code leads to.
    gradients: bool = False
    #: Whether it may draw random numbers, which stand-ins stand for in traces.
    draws: bool = False
    #: Whether to look on while traces run: that takes half as long again.
    watching: bool = False
    #: The code that calls were seen to run, where following all that names lead to finds what no guard can tell of;
    #: other code is not followed then. A trace that runs more adds it.
    ran: set[types.CodeType] | None = None
    #: The code that a trace had under its guards, so that what it left changed was put back. It runs more than a call
    #: does: the way back, with the hooks and formulas of gradients.
    traced: set[types.CodeType] = field(default_factory=set)

    @property
    def names_nothing(self) -> bool:
        """Whether there is no function."""
        return not (self.functions or self.rules or self.ran)

    def add(self, missed: list[tuple[types.FunctionType, bool]], changed: list[Any]) -> bool:
        """Add what a trace showed; whether there was anything new."""
        old = {f.__code__ for f in (*self.functions, *self.rules)}
        new = [(f, rule) for f, rule in missed if f.__code__ not in old]
        self.functions += [f for f, rule in new if not rule]
        self.rules += [f for f, rule in new if rule]
        if self.ran is not None:
            self.ran.update(f.__code__ for f, _ in new)
        kept = {id(value) for value in self.ignored}
        more = [value for value in changed if id(value) not in kept]
        self.ignored += more
        return bool(new or more)


class Watch:
    """Code of the user that ran: its frame's globals, the values of its free variables, whether opweave called it."""

    def __init__(self) -> None:
        self.entered: dict[types.CodeType, tuple[dict[str, Any], dict[str, Any], bool]] = {}
        #: All code that ran, by id: hashing code objects takes longer than calling them.
        self.passed: dict[int, types.CodeType] = {}
        self._others: dict[int, types.CodeType] = {}

    def note(self, frame: types.FrameType) -> None:
        """Called for a function that is entered the first time."""
        code = frame.f_code
        self.passed[id(code)] = code
        if code.co_name == "__del__":  # of garbage that happens to be collected now
            return
        module = frame.f_globals.get("__name__")
        if (
            is_library(module)
            or (module or "").startswith("namedtuple_")
            or is_own_file(code.co_filename)
            or code.co_filename.startswith(_GENERATED)
        ):
            return
        if code.co_name == "<module>" or self._foreign(frame.f_back):
            # An import, or what another library calls: not the function's own doing.
            del self.passed[id(code)]
            self._others[id(code)] = code
            return
        values = {name: frame.f_locals[name] for name in code.co_freevars if name in frame.f_locals}
        back = frame.f_back
        self.entered[code] = (frame.f_globals, values, back is not None and is_own_file(back.f_code.co_filename))

    def _foreign(self, frame: types.FrameType | None) -> bool:
        if frame is None or id(frame.f_code) in self._others:
            return frame is not None
        top = str(frame.f_globals.get("__name__")).partition(".")[0]
        return top in THIRD_PARTY or top in _IMPORTS

    def unknown(self, known: Iterable[types.FunctionType]) -> list[tuple[types.FunctionType, bool]]:
        """Functions that ran, besides those given and what is defined inside of them; whether each is a rule."""
        seen: set[types.CodeType] = set()
        for function in known:
            _add_nested(function.__code__, seen)
        rest = [code for code in self.entered if code not in seen]
        if not rest:
            return []
        found = [f for f in gc.get_referrers(*rest) if isinstance(f, types.FunctionType) and f.__code__ in self.entered]
        functions = [f for f in found if self._ran(f)]
        named = {f.__code__ for f in functions}
        for code in rest:
            if code not in named:  # made for one call, and gone
                space, values, _ = self.entered[code]
                cells = tuple(types.CellType(values[n]) if n in values else types.CellType() for n in code.co_freevars)
                functions.append(types.FunctionType(code, space, closure=cells))
        return [(f, self.entered[f.__code__][2]) for f in functions]

    def _ran(self, function: types.FunctionType) -> bool:
        space, values, _ = self.entered[function.__code__]
        if function.__globals__ is not space:
            return False
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            try:
                if name in values and cell.cell_contents is not values[name]:
                    return False
            except ValueError as error:  # assigned since, or never
                let_through(error)
                continue
        return True


def _add_nested(code: types.CodeType, found: set[types.CodeType]) -> None:
    found.add(code)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _add_nested(constant, found)


@contextmanager
def watched(on: bool) -> Iterator[Watch]:
    """Note the functions that this thread enters in the block. A tracer that is set already goes on as it did."""
    watch = Watch()
    if not on:
        yield watch
        return
    before = sys.gettrace()
    note, passed = watch.note, watch.passed

    def trace(frame: types.FrameType, event: Any, argument: Any) -> Any:
        if id(frame.f_code) not in passed:
            note(frame)

    def traced(frame: types.FrameType, event: Any, argument: Any) -> Any:
        trace(frame, event, argument)
        return before(frame, event, argument)  # type: ignore[misc]

    sys.settrace(trace if before is None else traced)
    try:
        yield watch
    finally:
        sys.settrace(before)
