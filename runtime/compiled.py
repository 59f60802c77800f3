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
import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from opweave.passes.partition import TANGENT, WAY_BACK, Partition
from opweave.registry import forking
from opweave.registry.errors import ArgumentError, CompileError, UnrecordedError, UnsupportedError
from opweave.registry.interrupts import deferred, let_through
from opweave.registry.keys import ABOVE_VIEWS, AUTOCAST_MASK, BATCHED_BIT, GRAD, PYTHON_BIT, DispatchKey, state
from opweave.registry.op import OpOverload, ops, registry
from opweave.registry.overlap import disjoint
from opweave.registry.python_dispatch import tensors_in
from opweave.runtime.aliases import join
from opweave.runtime.capture import Captured, capture
from opweave.runtime.context import Context, below_autograd, compilable
from opweave.runtime.dynamic import Openness
from opweave.runtime.entry import DefaultsChangedError, Entry, Parameters, build
from opweave.runtime.logging import DEBUG, channel
from opweave.runtime.recording import counting, running
from opweave.runtime.sources import TensorInput, brief
from opweave.runtime.watching import Known
from opweave.tracer.graph import Graph
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.printing import print_graph

aten = ops.aten
_guards_log = channel("guards")
_graph_log = channel("graph")
_recompiles_log = channel("recompiles")


class RecompileLimitWarning(RuntimeWarning):
    """A function changed its guards so often that it now runs uncompiled."""


class UncompiledWarning(RuntimeWarning):
    """A function reads what cannot be recorded, and runs uncompiled."""


@dataclass
class Program:
    """What a graph became.

    Attributes
    ----------
    run : callable
        Takes the graph's inputs, returns the tuple of its outputs.
    written : tuple of int
        Positions of inputs it writes.
    stages : callable
        From the graph as captured to its printed forms by stage (``captured``, names of passes, ``code``); they are
        made again when asked for, so that a compilation does not pay for them.
    """

    run: Callable[..., Any]
    written: tuple[int, ...] = ()
    stages: Callable[[Graph], dict[str, str]] = lambda captured: {"captured": str(captured)}


class CompiledFunction:
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
        What to do where a function reads what cannot be recorded. True: raise. False: run it uncompiled, with a
        warning. None: raise only where that is sure to differ from call to call, or cannot be compared at all.

    Attributes
    ----------
    entries : list of Entry
        The compiled versions, newest first.
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
        fullgraph: bool | None = None,
    ) -> None:
        functools.update_wrapper(self, function, updated=())
        # An object's attributes may be called as methods here are.
        theirs: dict[str, Any] = getattr(function, "__dict__", {})
        vars(self).update({name: value for name, value in theirs.items() if not hasattr(type(self), name)})
        self.__wrapped__ = function
        self.entries: list[Entry] = []
        self._compile_graph = compile_graph
        self._split = split
        self._limit = limit
        self._openness = Openness(dynamic)
        self._lock = forking.lock()
        self._parameters = Parameters.of(function)
        name = getattr(function, "__name__", type(function).__name__)
        self._name = name if name.isidentifier() else "compiled"
        self._count = 0
        self._reasons: collections.Counter[str] = collections.Counter()
        self._warned = False
        self._fullgraph = fullgraph
        self._also = Known()
        #: Whether what does not fit a version runs uncompiled, since the function cannot be guarded.
        self._uncompiled = False
        self._bind = _binder(self._parameters)
        self._entry = build(self._name, self._parameters, [], self._miss)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
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
            self._bind = _binder(self._parameters)
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
            self._warned = self._uncompiled = False

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
        if fake or self._uncompiled or not compilable():
            # Being traced itself (its ops become part of the outer graph), or batched.
            return function(*args, **kwargs)
        with self._lock, deferred():
            reasons = self.mismatches(args, kwargs)
            fitting = next((entry for entry, reason in reasons if reason is None), None)
            fitting = fitting or self._version(reasons, args, kwargs)
            call = function if fitting is None else fitting.alone(self._name, self._parameters)
        return call(*args, **kwargs)

    def _version(
        self, reasons: list[tuple[Entry, str | None]], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Entry | None:
        """A new version for these arguments; None where the call has to run uncompiled."""
        self._tell(reasons)
        self._install([entry for entry in self.entries if entry.alive])
        if len(self.entries) >= self._limit:
            self._give_up()
            return None
        try:
            entry = self._compile(args, kwargs)
        except UnsupportedError as error:
            if not self._runs_uncompiled(error):
                raise
            self._uncompiled = True
            self._warn_uncompiled(error)
            return None
        self._install([entry, *self.entries])
        return entry

    def _runs_uncompiled(self, error: UnsupportedError) -> bool:
        if self._fullgraph:
            return False
        return isinstance(error, UnrecordedError) or (self._fullgraph is False and error.unguarded)

    def _warn_uncompiled(self, error: UnsupportedError) -> None:
        what = error.what.removeprefix("compile: ")
        text = f"{self._name} runs uncompiled: {what} ({error.at}). {(error.hint or '').capitalize()}"
        _recompiles_log.warning(text)
        warnings.warn(text, UncompiledWarning, stacklevel=6)

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
        warnings.warn(text, RecompileLimitWarning, stacklevel=6)

    def _compile(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry:
        function, index = self.__wrapped__, self._count
        self._count += 1
        arguments, call = self._bind(*args, **kwargs), _caller(function, self._parameters)
        context, changes = Context.now(), registry.builtin_version
        captured = capture(function, arguments, call, f"_ow_e{index}_", self._name, self._openness, also=self._also)
        backward = captured.backward
        if _graph_log.isEnabledFor(DEBUG):
            module = captured.module
            _graph_log.debug("%s", print_graph(module.graph, self._name, takes_self=bool(module.constants)))
        ops = captured.ops
        captured.inputs = _drop_unused(captured)
        joined = join(captured)
        keep = _without_gradients(captured)
        with below_autograd():
            program, partition = self._compile_both(captured)
        if backward is not None:
            backward.place(captured.inputs)
        opaque = bool(registry.fallbacks) or any(_above_backends(op) for op in ops)
        # What runs below must not be recorded once more, nor refused as a write to a leaf.
        opaque = opaque or any(t.tensor is not None and t.tensor._keys & GRAD for t in captured.inputs)
        run = running(counting(program.run, captured.relaid), backward, context, opaque)
        if captured.shape_env is not None:
            captured.guards.open(captured.shape_env, captured.numbers)
        self._relate_tensors(captured, program, joined)
        if any(node.target is aten.as_strided.default for node in keep):
            captured.guards.offsets()
        for guard in captured.guards.guards:
            _guards_log.debug("%s: %s", self._name, guard)
        entry = Entry(
            index, captured.guards, captured.inputs, captured.result, run, ops, program, keep, context, changes
        )
        entry.partition = partition
        captured.guards.release()
        for whole in joined.values():
            whole.tensor = None
        reason = entry.mismatch(self._parameters, args, kwargs)
        if reason is not None:
            raise CompileError(
                f"compile: {self._name} depends on something that changes by itself: {reason}",
                hint="a property or __getattr__ that gives another value each time cannot be compiled in",
            )
        return entry

    def _compile_both(self, captured: Captured) -> tuple[Program, Partition | None]:
        """The forward's program; the backward's is made when it is first asked for."""
        module, backward = captured.module, captured.backward
        if backward is None or backward.problem is not None:
            return self._compile_graph(module, self._name), None
        partition = self._split(module.graph, backward.outputs)
        backward.split(partition.forward, partition.backward, module.constants)
        module.graph = partition.forward.clone()
        program = self._compile_graph(module, self._name)
        constants, env = backward.constants, module.shape_env

        def compile_backward(graph: Graph, first: bool = False) -> Callable[..., Any]:
            way_back = GraphModule(dict(constants), graph, name=f"{self._name}_backward")
            way_back.shape_env = env
            with below_autograd(), nullcontext() if env is None or first else env.settled():
                return self._compile_graph(way_back, way_back.name).run

        backward.compile = compile_backward
        if env is not None:
            # With sizes left open it may add to what the version depends on, so it has to be made now.
            backward.compiled[frozenset()] = compile_backward(partition.backward.clone(), first=True)
        return program, partition

    def _relate_tensors(self, captured: Captured, program: Program, joined: dict[int, TensorInput]) -> None:
        """Guard how arguments share memory, where it makes a difference."""
        found = [captured.inputs[i] for i in program.written]
        written = [t for t in found if isinstance(t, TensorInput)]
        guards = captured.guards
        if written or captured.relaid or guards.scope.compares_identity:
            guards.distinct()
        if not written:
            return
        if not state.exclude & GRAD:
            for w in written:
                # A write through a view that autograd does not know of is refused.
                var, bit = w.source.var, GRAD
                test = f"({var}._view_of is None or {var}._keys & {bit} or not {var}._view_of._keys & {bit})"
                guards.require(test, w.source, lambda now: "a view made without recording")
        # Those that are views of one input lie where a guard says. What the graph does not read may share the memory:
        # the write is seen there as it is in eager code.
        read = {id(t) for t in captured.inputs}
        known = [joined.get(id(t), t) for t in guards.tensors]
        tensors = [*{id(t): t for t in known if id(t) in read}.values()]
        guards.disjoint(written, tensors)
        for w in written:
            for other in tensors:
                if other is not w and not disjoint((w.tensor,), (other.tensor,)):
                    raise UnsupportedError(
                        f"compile: {self._name} writes {w.source.text}, which shares memory with {other.source.text}",
                        got=f"{brief(w.tensor)} and {brief(other.tensor)} on one storage",
                        at=w.source.site,
                        hint=f"pass {other.source.text}.clone(), or call the uncompiled function for this case",
                    )


def _binder(parameters: Parameters) -> Callable[..., dict[str, Any]]:
    """A function that binds a call's arguments as the user's function would."""
    body = ", ".join(f"{name!r}: {name}" for name in parameters.names)
    namespace = dict(parameters.defaults)
    exec(f"def bind({parameters.declared}): return {{{body}}}", namespace)
    return namespace["bind"]


def _caller(function: Callable[..., Any], parameters: Parameters) -> Callable[[dict[str, Any]], Any]:
    """Calls the function with bound arguments by name."""
    namespace = {"function": function, "__name__": __name__}
    unpack = "\n".join(f"    {name} = bound[{name!r}]" for name in parameters.names)
    text = f"def call(bound):\n{unpack}\n    positional, named = {parameters.passed}\n    return positional, named"
    exec(text, namespace)
    split: Any = namespace["call"]

    def call(bound: dict[str, Any]) -> Any:
        positional, named = split(bound)
        return function(*positional, **named)

    return call


def _above_backends(op: OpOverload) -> bool:
    """Whether something is registered on an op that runs before any trace sees it."""
    high = (DispatchKey.Autograd, DispatchKey.Autocast)
    return any(key in high or (not key.is_alias and key.bit & (ABOVE_VIEWS | AUTOCAST_MASK)) for key in op.kernels)


def _without_gradients(captured: Captured) -> Graph:
    """The function itself, as captured."""
    graph = captured.module.graph.clone()
    if captured.backward is not None and captured.backward.problem is None:
        output = graph.output_node()
        output.args = (tuple(output.args[0][: captured.backward.outputs]),)
        for node in reversed(list(graph)):
            if not node.users and (WAY_BACK in node.meta or TANGENT in node.meta):
                graph.erase_node(node)
    return graph


def _drop_unused(captured: Captured) -> list[Any]:
    graph, kept = captured.module.graph, []
    inputs = [node for node in graph.placeholders() if TANGENT not in node.meta]
    for node, tensor in zip(inputs, captured.inputs, strict=True):
        if node.users:
            kept.append(tensor)
        else:
            graph.erase_node(node)
    return kept
