"""The function that runs when a compiled function is called: guards, then the compiled code, in one piece of Python.

For ``def f(x, n=2)`` with one compiled entry the generated text is

    def f(x, n=d0):
        s = state.__dict__
        if s["include"] == 0 and s["exclude"] == 0 and ...:  # no mode is active, calls are recorded
            try:
                ok = type(x) is T and x._sizes == (8,) and ... and type(n) is int and n == 2
            except errors:
                ok = False
            if ok:
                o = run0(x)
                return o[0]
        return miss((x, n), {})

Python binds the arguments itself, constants are globals of the text, and nothing else stands between the caller and the
kernel launches.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import linecache
import types
from collections.abc import Callable
from dataclasses import field
from typing import Any

from opweave.registry.dataclass import dataclass
from opweave.registry.interrupts import let_through
from opweave.registry.op import OpOverload, registry
from opweave.registry.patches import difference, replaced
from opweave.runtime.context import NAMES, Context
from opweave.runtime.guards import GuardSet
from opweave.runtime.sources import MISSING, NumberInput, Source, TensorInput

_LOOKUP = (KeyError, IndexError, AttributeError, ValueError, TypeError, RuntimeError)
_GLOBALS = {
    **NAMES,
    "_ow_errors": _LOOKUP,
    "_ow_let_through": let_through,
    "_ow_registry": registry,
    "__name__": "opweave.runtime.entry",
}
_BUILTINS = frozenset({"type", "len", "id", "repr", "int", "float", "str", "list", "tuple", "dict"})
_serial = itertools.count()


@dataclass
class Parameters:
    """A function's parameter list, as text.

    Attributes
    ----------
    declared : str
        As it stands in the ``def`` line; defaults are named constants.
    passed : str
        ``positional tuple, keyword dict`` that pass everything on.
    names : tuple of str
        The parameters' names.
    defaults : dict
        Names of defaults -> values.
    """

    declared: str
    passed: str
    names: tuple[str, ...]
    defaults: dict[str, Any] = field(default_factory=dict)
    #: Expression that is true while the function's defaults are those, over `owner`; empty where it has none.
    current: str = ""
    owner: Any = None

    @staticmethod
    def of(function: Callable[..., Any]) -> Parameters:
        """Read a function's signature; what has none takes `*args, **kwargs`."""
        found = Parameters._read(function)
        owner = _plain_function(function)
        if owner is not None and found.defaults:
            found.owner = owner
            tests = [f"_ow_function.__defaults__ is {_name(found, owner.__defaults__)}"] if owner.__defaults__ else []
            for key, value in (owner.__kwdefaults__ or {}).items():
                tests.append(
                    f"(_ow_function.__kwdefaults__ or {{}}).get({key!r}, _ow_changed) is {_name(found, value)}"
                )
            found.current = " and ".join(tests)
        return found

    def binder(self) -> Callable[..., dict[str, Any]]:
        """A function that binds a call's arguments as the user's function would."""
        body = ", ".join(f"{name!r}: {name}" for name in self.names)
        namespace = dict(self.defaults)
        exec(f"def bind({self.declared}): return {{{body}}}", namespace)
        return namespace["bind"]

    @staticmethod
    def _read(function: Callable[..., Any]) -> Parameters:
        try:
            parameters = list(inspect.signature(function, follow_wrapped=False).parameters.values())
        except (TypeError, ValueError) as error:
            let_through(error)
            return Parameters("*args, **kwargs", "args, kwargs", ("args", "kwargs"))
        if any(p.name in _BUILTINS for p in parameters):  # the guards' text needs these names for themselves
            return Parameters("*args, **kwargs", "args, kwargs", ("args", "kwargs"))
        declared: list[str] = []
        positional: list[str] = []
        keywords: list[str] = []
        defaults: dict[str, Any] = {}
        star = slash = False
        for p in parameters:
            text = p.name
            if p.default is not p.empty:
                defaults[f"_ow_d{len(defaults)}"] = p.default
                text = f"{p.name}=_ow_d{len(defaults) - 1}"
            if slash and p.kind is not p.POSITIONAL_ONLY:
                declared.append("/")
                slash = False
            slash = slash or p.kind is p.POSITIONAL_ONLY
            if p.kind is p.VAR_POSITIONAL:
                declared.append(f"*{p.name}")
                positional.append(f"*{p.name}")
                star = True
            elif p.kind is p.VAR_KEYWORD:
                declared.append(f"**{p.name}")
                keywords.append(f"**{p.name}")
            elif p.kind is p.KEYWORD_ONLY:
                declared += [text] if star else ["*", text]
                star = True
                keywords.append(f"{p.name!r}: {p.name}")
            else:
                declared.append(text)
                positional.append(p.name)
        if slash:
            declared.append("/")
        passed = f"({''.join(name + ', ' for name in positional)}), {{{', '.join(keywords)}}}"
        return Parameters(", ".join(declared), passed, tuple(p.name for p in parameters), defaults)


def _plain_function(function: Any) -> types.FunctionType | None:
    """The Python function whose defaults a callable's parameters have."""
    while isinstance(function, (types.MethodType, functools.partial)):
        function = function.__func__ if isinstance(function, types.MethodType) else function.func
    if not isinstance(function, types.FunctionType):
        function = inspect.getattr_static(type(function), "__call__", None)
    return function if isinstance(function, types.FunctionType) else None


def _name(parameters: Parameters, value: Any) -> str:
    name = f"_ow_k{len(parameters.defaults)}"
    parameters.defaults[name] = value
    return name


class DefaultsChangedError(Exception):
    """The function's defaults were assigned anew: what binds its arguments has to be made again."""


@dataclass(eq=False)
class Entry:
    """One compiled version of a function.

    Attributes
    ----------
    index : int
        Counts the versions of one function.
    guards : GuardSet
        When it may be used.
    inputs : list of TensorInput or NumberInput
        What is passed to `run`, in order.
    result : str
        Expression over `run`'s outputs `_ow_o` that makes the function's result.
    run : callable
        The compiled graph: tensors in, tuple of tensors out.
    ops : dict
        Op -> version, for the ops that were traced.
    program : object
        The artifact behind `run`, with its stages, for inspection.
    graph : Graph
        As captured.
    partition : Partition or None
        How forward and backward were cut apart, where there is a backward.
    traced : tuple or callable
        These two, or what traces the function again to have them: another process did it.
    """

    index: int
    guards: GuardSet
    inputs: list[TensorInput | NumberInput]
    result: str
    run: Callable[..., Any]
    ops: dict[OpOverload, int]
    program: Any
    traced: tuple[Any, Any] | Callable[[], tuple[Any, Any]] = (None, None)
    #: The thread's state that it was traced in.
    context: Context = field(default_factory=Context.now)
    #: How often built-in ops had been changed before it was traced.
    builtins: int = field(default_factory=lambda: registry.builtin_version)
    #: What was registered for whole keys.
    fallbacks: Any = field(default_factory=lambda: registry.fallbacks)
    #: The functions of this library that users had replaced.
    patches: Any = field(default_factory=replaced)
    #: Cleared when an op it used was registered anew: it can never be used again.
    alive: bool = True
    #: Registry version at which `ops` was last found unchanged; a one-element list that the predicate reads.
    checked: list[int] = field(default_factory=lambda: [registry.version])
    #: Why the versions before it did not fit the call that it was made for, newest first.
    reasons: tuple[str, ...] = ()
    #: What each call draws by Python's generators, once the guards hold.
    draws: list[Source] = field(default_factory=list)
    #: How it is differentiated, where it is.
    backward: Any = None
    _why: Callable[..., tuple[int, Any]] | None = None

    @property
    def graph(self) -> Any:
        """See above."""
        return self._traced()[0]

    @property
    def partition(self) -> Any:
        """See above."""
        return self._traced()[1]

    def _traced(self) -> tuple[Any, Any]:
        if not isinstance(self.traced, tuple):
            self.traced = self.traced()
        return self.traced

    @property
    def compiled_graph(self) -> Any:
        """What went through the passes: the graph as captured, or the forward's part of it."""
        return self.graph if self.partition is None else self.partition.forward

    @functools.cached_property
    def _folded(self) -> tuple[list[str], dict[str, Callable[..., bool]]]:
        return self.guards.folded(f"_ow_e{self.index}_alike")

    @property
    def test(self) -> str:
        """The predicate."""
        return " and ".join([*self._folded[0], f"_ow_registry.version == _ow_e{self.index}_checked[0]"])

    def constants(self) -> dict[str, Any]:
        """Globals its text needs."""
        own = {f"_ow_e{self.index}_run": self.run, f"_ow_e{self.index}_checked": self.checked}
        own.update(self.context.constants())
        return {**self.guards.constants, **self._folded[1], **own}

    def ops_unchanged(self) -> str | None:
        """None if every op is as it was traced (noting so); else which one changed."""
        version = registry.version
        for op, known in self.ops.items():
            if registry.operators.get(op.name) is not op or op.version != known:
                self.alive = False
                return f"{op} was registered anew"
        if self.builtins != registry.builtin_version or self.fallbacks is not registry.fallbacks:
            self.alive = False
            return "built-in ops were changed"
        patched = difference(self.patches)
        if patched is not None:  # which may be undone
            return patched
        self.checked[0] = version
        return None

    def alone(self, name: str, parameters: Parameters) -> Callable[..., Any]:
        """This version without its guards, for a call that is known to fit."""
        lines = [f"def {name}({parameters.declared}):"]
        lines += [f"    {guard.test}" for guard in self.guards.guards if ":=" in guard.test]
        lines += _call_lines(self, "    ")
        return _define(name, "\n".join(lines), {**parameters.defaults, **self.constants()})

    def mismatch(self, parameters: Parameters, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """The first guard that fails for these arguments, worded; None if all hold."""
        changed = self.context.difference()
        if changed is not None:
            return changed
        if self._why is None:
            self._why = _explainer(self, parameters)
        at, value = self._why(*args, **kwargs)
        if at < 0:
            return self.ops_unchanged()
        guard = self.guards.guards[at]
        try:
            text = guard.explain(value)
        except Exception as error:  # wording must never hide the recompilation itself
            let_through(error)
            text = f"{guard.source.text} changed ({type(error).__name__} while describing it)"
        return f"{text} ({guard.source.site.short})"


def _explainer(entry: Entry, parameters: Parameters) -> Callable[..., tuple[int, Any]]:
    lines = [f"def why({parameters.declared}):", "    _ow_at = 0", "    try:"]
    for i, guard in enumerate(entry.guards.guards):
        lines += [f"        _ow_at = {i}", f"        if not ({guard.test}): return _ow_at, {guard.source.var}"]
    lines += ["        pass", "    except _ow_errors as _ow_error:", "        _ow_let_through(_ow_error)"]
    lines += ["        return _ow_at, _ow_missing", "    return -1, None"]
    return _define("why", "\n".join(lines), {**parameters.defaults, **entry.constants(), "_ow_missing": MISSING})


def build(
    name: str, parameters: Parameters, entries: list[Entry], miss: Callable[[tuple[Any, ...], dict[str, Any]], Any]
) -> Callable[..., Any]:
    """Generate the function that a call runs.

    Parameters
    ----------
    name : str
        Name of the user's function, which binding errors show.
    parameters : Parameters
        Its parameter list.
    entries : list of Entry
        In the order they are tried.
    miss : callable
        Takes over when no entry fits.
    """
    if not name.isidentifier():
        name = "compiled"
    lines = [f"def {name}({parameters.declared}):"]
    constants: dict[str, Any] = {**parameters.defaults, "_ow_miss": miss}
    if parameters.current:
        constants.update(_ow_function=parameters.owner, _ow_changed=DefaultsChangedError)
        lines += [f"    if not ({parameters.current}): raise _ow_changed"]
    if entries:
        lines.append("    _ow_s = _ow_state.__dict__")
    context = None
    for entry in entries:
        constants.update(entry.constants())
        if entry.context != context:
            context = entry.context
            lines.append(f"    if {context.test}:")
        lines += [
            "        try:",
            f"            _ow_ok = {entry.test}",
            "        except _ow_errors as _ow_error:",
            "            _ow_let_through(_ow_error)",
            "            _ow_ok = False",
            "        if _ow_ok:",
            *_call_lines(entry, "            "),
        ]
    lines.append(f"    return _ow_miss({parameters.passed})")
    return _define(name, "\n".join(lines), constants)


def _call_lines(entry: Entry, indent: str) -> list[str]:
    inputs = ", ".join(t.source.var for t in entry.inputs)
    drawn = [f"{indent}{source.var} = {source.load}" for source in entry.draws]
    return [*drawn, f"{indent}_ow_o = _ow_e{entry.index}_run({inputs})", f"{indent}return {entry.result}"]


def _define(name: str, text: str, constants: dict[str, Any]) -> Callable[..., Any]:
    namespace = {**constants, **_GLOBALS}
    filename = f"<opweave entry {next(_serial)} {name}>"
    exec(compile(text, filename, "exec"), namespace)
    # A debugger or traceback can show the lines.
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    return namespace[name]
