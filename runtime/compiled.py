"""`CompiledFunction`: a function with its compiled versions, each with the guards under which it may be used.

A call runs one generated function (`runtime.entry`) that tests guards and calls compiled code. What fits no version
comes here: it is compiled, under a lock, and the reason is logged. After too many versions the function keeps running
as plain Python, and says so.
"""

from __future__ import annotations

import collections
import functools
import inspect
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from opweave.registry import forking
from opweave.registry.errors import (
    ArgumentError,
    DataDependentError,
    DTypeError,
    OpweaveError,
    TraceError,
    UnsupportedError,
    warn_user,
)
from opweave.registry.interrupts import deferred, let_through
from opweave.registry.keys import BATCHED_BIT, PYTHON_BIT
from opweave.registry.loading import load_heavy
from opweave.registry.python_dispatch import tensors_in
from opweave.runtime import progress
from opweave.runtime.context import compilable
from opweave.runtime.dynamic import Openness
from opweave.runtime.entry import DefaultsChangedError, Entry, Parameters, build
from opweave.runtime.logging import channel
from opweave.runtime.modules import is_module
from opweave.runtime.records import Wanted
from opweave.runtime.request import Program, Request
from opweave.runtime.sources import brief
from opweave.runtime.watching import Known, watched

if TYPE_CHECKING:
    from opweave.passes.partition import Partition
    from opweave.tracer.graph import Graph
    from opweave.tracer.graph_module import GraphModule

_recompiles_log = channel("recompiles")
#: Why a function is no single graph.
_BREAKS = (DataDependentError, TraceError, UnsupportedError)


class RecompileLimitWarning(RuntimeWarning):
    """A function changed its guards so often that it now runs uncompiled."""


P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
Q = ParamSpec("Q")


class CompiledFunction(Generic[P, R]):
    """A callable that behaves as the function it was made from, compiled for the arguments it meets.

    Parameters
    ----------
    function : callable
        The user's function, method or callable object.
    compile_graph : callable
        ``(GraphModule, name) -> Program``.
    split : callable
        ``(joint graph, number of results) -> Partition``.
    limit : int
        Compiled versions before further ones run uncompiled.
    dynamic : bool, optional
        Whether sizes of arguments are left open: all, none, or those that change.
    fullgraph : bool, optional
        Whether a function that is no single graph raises; else it runs in parts (`runtime.parts`).
    settings : str, optional
        What decides about the program of a graph, as text; without it every process traces the function.
    told : callable, optional
        Makes the call that a new version was compiled for: `(this function, the version, args, kwargs) -> result`. With
        ``ran=True`` that call was made in Python already, and it only takes note.

    Attributes
    ----------
    entries : list of Entry
        The compiled versions, newest first.
    parts : Parts or None
        Its segments, where it is no single graph (`runtime.parts`); calls that fit no version run in parts then.
    """

    __opweave_wrapper__ = True

    def __init__(
        self,
        function: Callable[..., Any],
        compile_graph: Callable[[GraphModule, str], Program],
        *,
        split: Callable[[Graph, int], Partition],
        limit: int = 8,
        dynamic: bool | None = None,
        fullgraph: bool = False,
        settings: str | None = None,
        told: Callable[..., Any] | None = None,
    ) -> None:
        functools.update_wrapper(self, function, updated=())
        # An object's attributes may be called as methods here are.
        theirs: dict[str, Any] = getattr(function, "__dict__", {})
        vars(self).update({name: value for name, value in theirs.items() if not hasattr(type(self), name)})
        self.__wrapped__ = function
        self.entries: list[Entry] = []
        self._compile_graph = compile_graph
        self._split = split
        self._settings = settings
        self._told = told
        #: A version that was made after the call it is for; the next one is told, too.
        self._untold: Entry | None = None
        self._limit = limit
        self._openness = Openness(dynamic)
        self._lock = forking.lock()
        self._parameters = Parameters.of(function)
        name = getattr(function, "__name__", type(function).__name__)
        if name == "__call__":  # of a module, say
            name = type(getattr(function, "__self__", function)).__name__
        self._name = name if name.isidentifier() else "compiled"
        self._count = 0
        self._reasons: collections.Counter[str] = collections.Counter()
        self._warned = False
        self._fullgraph = fullgraph
        self._also = Known()
        self.parts: Any = None
        #: Whether the next call is traced once more: what was in the way may be done at the first call alone, or stand
        #: in code that calls do not run.
        self._again = False
        self._bind = self._parameters.binder()
        self._entry = build(self._name, self._parameters, [], self._miss)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return self._entry(*args, **kwargs)
        except DefaultsChangedError:
            self._renew()
            return self(*args, **kwargs)
        except TypeError as error:
            if self._parameters_changed(error):
                self._renew()
                return self(*args, **kwargs)
            explained = self._explain(error, args, kwargs)
            if explained is error:
                raise
            raise explained from None

    def _renew(self) -> None:
        """Read the function's parameters again: its defaults were assigned anew, and versions bind the old ones."""
        with self._lock:
            self._parameters = Parameters.of(self.__wrapped__)
            self._bind = self._parameters.binder()
            self._install([])

    def _parameters_changed(self, error: TypeError) -> bool:
        """Whether arguments do not bind because the function got defaults, or lost them, after it was compiled."""
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            return False
        return Parameters.of(self.__wrapped__).declared != self._parameters.declared

    def _explain(self, error: TypeError, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
        """Arguments that do not bind as an ArgumentError; any other TypeError as it is."""
        frame = error.__traceback__
        # Binding fails in __call__ itself, before any frame of the entry exists.
        if isinstance(error, ArgumentError) or frame is None or frame.tb_next is not None:
            return error
        given = ", ".join([*map(brief, args), *(f"{key}={brief(value)}" for key, value in kwargs.items())])
        try:
            signature = f"{inspect.signature(self.__wrapped__, follow_wrapped=False)}"
        except (TypeError, ValueError) as unsigned:
            let_through(unsigned)
            signature = f"({self._parameters.declared})"
        return ArgumentError(str(error), got=f"({given})", hint=f"def {self._name}{signature}")

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> CompiledFunction[P, R]: ...
    @overload
    def __get__(
        self: CompiledFunction[Concatenate[S, Q], R], instance: S, owner: type | None = None
    ) -> Callable[Q, R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<compiled {getattr(self.__wrapped__, '__qualname__', self._name)}, {len(self.entries)} versions>"

    @property
    def last_graph(self) -> Graph | None:
        """The graph captured last, None before the first call."""
        return max(self.entries, key=lambda e: e.index).graph if self.entries else None

    def mismatches(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[tuple[Entry, str | None]]:
        """Each version, and why it does not fit these arguments; None if it does."""
        with self._lock:
            return [(entry, entry.mismatch(self._parameters, args, kwargs)) for entry in self.entries]

    def stages(self) -> dict[str, str]:
        """The newest version at every stage of its compilation, printed."""
        return self.entries[0].program.stages(self.entries[0].compiled_graph) if self.entries else {}

    def reset(self) -> None:
        """Forget all compiled versions."""
        with self._lock:
            self._install([])
            self._reasons.clear()
            self._openness.forget()
            self._also = Known()
            self._warned = False
            self.parts = None
            self._again = False

    # ---- a call that fits no version -------------------------------------------------------------------------------

    def _miss(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        function = self.__wrapped__
        try:
            fake = any(t._keys & (PYTHON_BIT | BATCHED_BIT) for t in tensors_in([*args, *kwargs.values()]))
        except RecursionError:
            raise ArgumentError(
                f"compile: an argument of {self._name} is nested too deep, or contains itself",
                got=", ".join(type(value).__name__ for value in (*args, *kwargs.values())),
                hint="pass the tensors in flat lists or dicts",
            ) from None
        if fake or not compilable():
            # Being traced itself (its ops become part of the outer graph), or batched.
            return function(*args, **kwargs)
        if self.parts is not None and not self._again:
            return self.parts.call(function, args, kwargs)
        if self._also.ran is not None and not self._again and len(self.entries) < self._limit:
            return self._shown(args, kwargs)
        with self._lock, deferred():
            found, made = self._found(args, kwargs)
            call = found.alone(self._name, self._parameters) if isinstance(found, Entry) else function
        if isinstance(found, Exception):
            return self._shown(args, kwargs) if self._fullgraph else self._in_parts(found, args, kwargs)
        if self._told is not None and isinstance(found, Entry) and (made or self._is_untold(found)):
            return self._told(self, found, args, kwargs)
        return call(*args, **kwargs)

    def _is_untold(self, entry: Entry) -> bool:
        """Whether a version's first call is this one; from now on calls find it by themselves."""
        with self._lock:
            found, self._untold = entry is self._untold, None
            if found:
                self._install(self.entries)
        return found

    def version_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Entry | None, bool]:
        """The version for these arguments, compiled if need be, and whether it was; None if they run in parts, or not
        compiled."""
        with self._lock, deferred():
            in_parts = self.parts is not None and not self._again
            found, made = (None, False) if in_parts else self._found(args, kwargs)
            if self._fullgraph and isinstance(found, Exception):
                raise found
            if isinstance(found, _BREAKS):
                self.parts = self._parts_of(found)
        return (found, made) if isinstance(found, Entry) else (None, False)

    def _found(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Entry | Exception | None, bool]:
        """What `_version` gives, or the version that fits; and whether it is new."""
        reasons = self.mismatches(args, kwargs)
        fitting = next((entry for entry, reason in reasons if reason is None), None)
        if fitting is not None:
            return fitting, False
        found = self._version(reasons, args, kwargs)
        if isinstance(found, Entry):
            self.parts = None
        self._again = self.parts is None and isinstance(found, UnsupportedError) and not self._fullgraph
        return found, True

    def _in_parts(self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call that is no single graph, and those after it, in parts."""
        parts = self._parts_of(error) if self.parts is None else self.parts
        if isinstance(error, _BREAKS):
            self.parts = parts
        # Any other error may be the function's own. Then it is raised here, as it would be without compilation.
        looks_on = self._again and self._also.ran is None
        with watched(looks_on) as watch:
            result = parts.call(self.__wrapped__, args, kwargs)
        if looks_on:
            self._also.ran = {*watch.entered, *self._also.traced}
        self.parts = parts
        return result

    def _shown(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call in Python, which shows what it runs, and a version that follows that alone.

        What else a trace would run, nobody knows before, so what it would leave changed could not be put back.
        """
        also = self._also
        with self._lock:
            fitting = next((entry for entry, reason in self.mismatches(args, kwargs) if reason is None), None)
        if fitting is not None:
            if self._told is not None and self._is_untold(fitting):
                return self._told(self, fitting, args, kwargs)
            return fitting.alone(self._name, self._parameters)(*args, **kwargs)
        with watched(True) as watch:
            result = self.__wrapped__(*args, **kwargs)
        with self._lock, deferred():
            before, also.ran = also.ran, {*(also.ran or ()), *watch.entered}
            try:
                found, made = self._found(args, kwargs)
            except BaseException:
                also.ran = before
                raise
            if isinstance(found, Exception):
                self.parts = self._parts_of(found)
            if made and isinstance(found, Entry) and self._told is not None:
                self._untold = found
                self._entry = build(self._name, self._parameters, self.entries[1:], self._miss)
        if self._untold is not None and self._told is not None:
            self._told(self, self._untold, args, kwargs, ran=True)
        return result

    def _runs_surely(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether what cannot be guarded stands in code that calls run, as far as that is known before one."""
        if self._also.ran is not None:
            return True
        self._also.ran = _certain_code(self.__wrapped__)
        try:
            Wanted(self._request(args, kwargs), keeps=False)
        except UnsupportedError:
            return True
        finally:
            self._also.ran = None
        return False

    def _parts_of(self, error: Exception) -> Any:
        reason = f"{getattr(error, 'what', error)} ({getattr(error, 'at', 'not known where')})"
        return load_heavy("opweave.runtime.parts").Parts(self._name, self.__wrapped__, self._compile_graph, reason)

    def _version(
        self, reasons: list[tuple[Entry, str | None]], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Entry | Exception | None:
        """A new version for these arguments; why the call has to run in parts; None where it has to run uncompiled."""
        self._tell(reasons)
        self._install([entry for entry in self.entries if entry.alive])
        if len(self.entries) >= self._limit:
            self._give_up()
            return None
        try:
            request = self._request(args, kwargs)
            try:
                wanted = Wanted(request)
            except UnsupportedError as error:
                if self._fullgraph and self._runs_surely(args, kwargs):
                    raise
                return error.with_traceback(None)
            entry = self._compile(request, wanted)
        except _BREAKS as error:
            if self._fullgraph:
                raise
            return error.with_traceback(None)
        except Exception as error:
            let_through(error)
            # Python's own may come of what stands for numbers while tracing, and so may dtypes that are not known. Ours
            # say what is wrong with a call, an op or its rules, or with what stands for a random number.
            own = isinstance(error, OpweaveError) and not isinstance(error, DTypeError) and not self._also.draws
            if self._fullgraph or own:
                raise
            return error.with_traceback(None)
        if not self._fullgraph and (cause := _undecided(entry)) is not None:
            return cause.with_traceback(None)
        entry.reasons = tuple([reason for _, reason in reasons if reason is not None])
        self._install([entry, *self.entries])
        return entry

    def _install(self, entries: list[Entry]) -> None:
        self.entries = entries
        self._entry = build(self._name, self._parameters, entries, self._miss)

    def _tell(self, reasons: Iterable[tuple[Entry, str | None]]) -> None:
        for entry, reason in reasons:
            if entry is self.entries[0] and reason is not None:
                self._reasons[reason.split(" ")[0]] += 1
            _recompiles_log.debug("recompile %s: %s", self._name, reason)

    def _give_up(self) -> None:
        if self._warned:
            return
        self._warned = True
        changing = ", ".join(f"{what} ({count} times)" for what, count in self._reasons.most_common(3))
        text = (
            f"{self._name}: {self._limit} compiled versions reached, further ones run uncompiled; "
            f"what kept changing: {changing}. "
            "Pass what varies as a tensor, or raise the limit: opweave.compile(..., options={'recompile_limit': n})"
        )
        _recompiles_log.warning(text)
        warn_user(text, RecompileLimitWarning)

    def _compile(self, request: Request, wanted: Wanted) -> Entry:
        found = wanted.found(request)
        if found is not None:
            return found
        with progress.shown(self._name):
            load_heavy("opweave.codegen.native.preparing").begin()
            return load_heavy("opweave.runtime.versions").make(request, wanted)

    def _request(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Request:
        self._count += 1
        return Request(
            self.__wrapped__,
            self._name,
            self._count - 1,
            self._parameters,
            args,
            kwargs,
            self._bind(*args, **kwargs),
            self._openness,
            self._compile_graph,
            self._split,
            self._settings if self._also.ran is None else None,
            self._also,
        )


def _certain_code(function: Any) -> set[types.CodeType]:
    """The code that every call of a function runs."""
    while isinstance(function, types.MethodType):
        function = function.__func__
    if not isinstance(function, types.FunctionType):
        kind: Any = type(function)
        function = getattr(kind, "forward" if is_module(kind) else "__call__", None)
    return {function.__code__} if isinstance(function, types.FunctionType) else set()


def _undecided(entry: Entry) -> DataDependentError | None:
    """Why its backward cannot be traced, where that is a decision that depends on data."""
    problem = None if entry.backward is None else entry.backward.problem
    cause = None if problem is None else problem.__cause__
    return cause if isinstance(cause, DataDependentError) else None
