"""Versions kept on disk: what a function became in one process, for the next one that calls it.

A function is read for what it may depend on in every process (`runtime.dependencies`), which takes a millisecond. Where
all of that can be told as text (`runtime.facts`), a version that was traced from the same facts is what a trace would
give again: its record says how arguments become inputs of the generated code, what is guarded besides, and how results
are put together. So neither the tracer nor the passes are loaded. What asks for the graph itself, as `explain` does and
gradients of a part of the results, traces the function again with stand-ins for the arguments.

With ``OPWEAVE_VERIFY=1`` each version that is found is traced as well, and must be the same.
"""

from __future__ import annotations

import ast
import importlib
import json
import logging
import os
import re
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opweave.codegen import cache
from opweave.codegen.store import DAMAGE
from opweave.registry import forking
from opweave.registry.autograd.registered import RegisteredBackward
from opweave.registry.containers import is_dict
from opweave.registry.device import Device
from opweave.registry.dtypes import DTYPES
from opweave.registry.errors import CompileError, OpweaveError, UnsupportedError
from opweave.registry.interrupts import let_through
from opweave.registry.loading import load_heavy
from opweave.registry.op import OpOverload, ops, registry
from opweave.registry.spec import TensorSpec
from opweave.runtime import code
from opweave.runtime.backward import Backward
from opweave.runtime.containers import tensors_of
from opweave.runtime.context import Context, below_autograd
from opweave.runtime.dependencies import guards_of, name_of
from opweave.runtime.dynamic import Openness
from opweave.runtime.entry import Entry
from opweave.runtime.facts import Untellable, facts, op_facts
from opweave.runtime.logging import DEBUG, channel
from opweave.runtime.purity import is_library
from opweave.runtime.recording import is_opaque, running
from opweave.runtime.relations import relate
from opweave.runtime.request import Program, Request
from opweave.runtime.sources import TensorInput
from opweave.runtime.stand_ins import StandIns
from opweave.runtime.values import ValueGuards
from opweave.runtime.watching import Known

if TYPE_CHECKING:
    from opweave.runtime.capture import Captured

aten = ops.aten
#: Whether each version that is found is traced, too.
verifying = os.environ.get("OPWEAVE_VERIFY", "0") not in ("", "0")
_log = logging.getLogger("opweave.kernels")
_guards_log = channel("guards")
#: Channels that tell of what a version that is found never goes through.
_TELLING = ("graph", "passes", "fusion", "loops", "host", "code", "ttir", "lowering", "llvm", "asm")
_FILE = "version.json"
#: Stands for the start of a version's own names; no printed text has it.
_PREFIX = "\0"
_CONSTANT = r"\0c(\d+)\b"


class Wanted:
    """What a call reads, and the version that is kept for it, if one is.

    Parameters
    ----------
    request : Request
        The call.
    keeps : bool
        Whether a version that is made for it is kept.

    Attributes
    ----------
    key : str or None
        The name that such a version is kept under; None where no text tells what the call reads.
    record : dict
        What is kept.
    """

    def __init__(self, request: Request, *, keeps: bool = True) -> None:
        guards = guards_of(request)
        self.key = _key(request, guards)
        self.record: dict[str, Any] = {}
        self._keeps = keeps
        if self.key is not None and request.also.names_nothing and _also(request, self.key):
            guards = guards_of(request)
            self.key = _key(request, guards)
        self._guards: ValueGuards | None = guards
        self._constants = len(guards.constants)
        self._alone = request.also.names_nothing

    def take(self) -> ValueGuards | None:
        """The guards of the call, for a trace that adds to them; None the second time."""
        guards, self._guards = self._guards, None
        return guards

    # ---- keeping ---------------------------------------------------------------------------------------------------

    def keep(self, request: Request, entry: Entry, captured: Captured) -> None:
        """Keep a version, if another process can make it from what is kept."""
        also = None
        if request.also.gradients:  # what other processes read of the function does not tell
            self.key = None
        if self.key is not None and self._alone and not request.also.names_nothing:
            # The trace ran what no name leads to: that belongs to what the function reads.
            also, self._alone = (self.key, _named(request.also)), False
            guards = guards_of(request)
            self.key, self._constants = _key(request, guards), len(guards.constants)
            if also[1] is None or [t.source.text for t in guards.tensors] != [
                t.source.text for t in captured.guards.tensors
            ]:
                self.key = None
        described = None if self.key is None else _described(request, entry, captured, self._constants)
        self.record = described or {}
        if described is None or not self._keeps:
            return
        if also is not None:
            cache.keep(also[0], {_FILE: json.dumps({"also": also[1]})})
        if captured.backward is not None:
            captured.backward.note = self._note
        self._write()

    def _write(self) -> None:
        assert self.key is not None
        cache.keep(self.key, {_FILE: json.dumps(self.record)})

    def _note(self, missing: frozenset[int], program: Program) -> None:
        """Keep the name of what runs a way back, too."""
        if program.key is not None:
            self.record["backward"]["programs"].append([sorted(missing), program.key, program.device])
            self._write()

    # ---- finding ---------------------------------------------------------------------------------------------------

    def found(self, request: Request) -> Entry | None:
        """The version that another process kept; None where there is none of use."""
        key = self.key
        if key is None:
            return None
        for place, files in cache.entries(key):
            try:
                record = json.loads(files[_FILE])
                if is_dict(record) and record.keys() == {"also"}:
                    return None  # what it names is not here, or leads to another version
                record = _checked(record)
                entry = self._entry(request, record)
            except UnsupportedError as error:  # a trace says it with all there is to say
                let_through(error)
                return None
            except (*DAMAGE, IndexError, SyntaxError, OpweaveError) as error:
                let_through(error)
                place.report_damage(key, error)
                continue
            cache.mend(key, place, files)
            if entry is not None and verifying:
                self._verify(request, entry)
            return entry
        return None

    def _entry(self, request: Request, record: dict[str, Any]) -> Entry | None:
        stand_ins = StandIns.of(request)
        run = _run_of(record["program"], record["device"])
        called = _called(record["ops"])
        if run is None or stand_ins is None or called is None:
            return None
        guards = self.take() or guards_of(request)
        inputs = [guards.tensors[i] for i in record["inputs"]]
        written = [int(i) for i in record["written"]]
        again = _Again(request, Context.now(), stand_ins, self.key, record)
        backward = None
        if record["backward"] is not None:
            backward = _backward(name_of(request.function), record, again)
            backward.note = self._note
        whole = running(run, backward, again.context, is_opaque(called, inputs))
        guards.settle()
        relate(request.name, guards, inputs, written)
        if record["offsets"]:
            guards.offsets()
        for guard in guards.guards:
            _guards_log.debug("%s: %s", request.name, guard)
        for module, name in record["made"]:
            if not is_library(module):
                raise ValueError(f"{module} is no library")
            guards.constant(getattr(importlib.import_module(module), name))
        result = str(record["result"]).replace(_PREFIX, request.prefix)
        program = Program(run, tuple(written), again.stages, record["program"], record["device"])
        entry = Entry(request.index, guards, [*inputs], result, whole, called, program, again.graphs, again.context)
        entry.backward = backward
        self.record = record
        guards.release()
        return entry if entry.mismatch(request.parameters, request.args, request.kwargs) is None else None

    def _verify(self, request: Request, entry: Entry) -> None:
        """Trace the call as well: it must become what was found."""
        again: _Again = entry.traced.__self__  # type: ignore[union-attr]
        traced = Wanted(replace(request, openness=Openness(False)), keeps=False)
        again.accept(load_heavy("opweave.runtime.versions").make(request, traced), traced)


class _Again:
    """The version that was found, traced in this process when something asks for what is not kept.

    Parameters
    ----------
    request : Request
        The call that it was found for.
    context : Context
        The thread's state in that call.
    stand_ins : StandIns
        For its arguments.
    key : str
        What the call read, in one name.
    record : dict
        What was kept.
    """

    def __init__(
        self, request: Request, context: Context, stand_ins: StandIns, key: str | None, record: dict[str, Any]
    ) -> None:
        # The arguments' memory is not to be held.
        also = Known([*request.also.functions], [*request.also.rules])
        self._request = replace(request, args=(), kwargs={}, arguments={}, openness=Openness(False), also=also)
        self.context, self._stand_ins, self._key, self._record = context, stand_ins, key, record
        self._entry: Entry | None = None
        self._lock = forking.lock()

    def entry(self) -> Entry:
        """The version.

        Raises
        ------
        CompileError
            If the function would now become another one.
        """
        with self._lock:
            if self._entry is None:
                with self.context.entered():
                    args, kwargs = self._stand_ins.made()
                    arguments = self._request.parameters.binder()(*args, **kwargs)
                    request = replace(self._request, args=args, kwargs=kwargs, arguments=arguments)
                    wanted = Wanted(request, keeps=False)
                    if wanted.key != self._key:
                        raise CompileError(
                            f"compile: what {request.name} reads has changed since it was called, so its graph is lost",
                            hint="ask for it before, or compile the function again",
                        )
                    self.accept(load_heavy("opweave.runtime.versions").make(request, wanted), wanted)
            assert self._entry is not None
            return self._entry

    def accept(self, entry: Entry, wanted: Wanted) -> None:
        """Take a version that was traced, which must be the one that was kept.

        Raises
        ------
        CompileError
            If it is another one.
        """
        old, new = _without_programs(self._record), _without_programs(wanted.record)
        if old != new:
            changed = [f"{name} {old[name]!r} → {new.get(name)!r}" for name in old if old[name] != new.get(name)]
            raise CompileError(
                f"compile: {self._request.name} is not what was kept for it any more", got=", ".join(changed)
            )
        self._entry = entry

    def graphs(self) -> tuple[Any, Any]:
        """The graph as captured, and how it was cut in two."""
        entry = self.entry()
        return entry.graph, entry.partition

    def stages(self, captured: Any) -> dict[str, str]:
        """For `Program.stages`."""
        return self.entry().program.stages(captured)

    def backward(self) -> Backward:
        """The way back, with its graph."""
        return self.entry().backward


def _key(request: Request, guards: ValueGuards) -> str | None:
    """A name for everything that decides what the call becomes."""
    if request.settings is None or any(channel(name).isEnabledFor(DEBUG) for name in _TELLING):
        return None
    given = {id(t) for t in tensors_of(list(request.arguments.values()))}
    if not _is_fixed(request, [t for t in guards.tensors if id(t.tensor) in given], guards):
        return None
    try:
        return cache.key_of("version", *facts(request, guards))
    except Untellable as error:
        _log.debug("%s is traced in every process: no text tells %s", request.name, error)
        return None
    except Exception as error:  # the user's objects and kernels may raise anything when they are asked
        let_through(error)
        _log.debug("%s is traced in every process: what it reads raised %r", request.name, error)
        return None


def _is_fixed(request: Request, given: Sequence[TensorInput], guards: ValueGuards) -> bool:
    """Whether no size and no number is left open."""
    openness = request.openness
    openness.note(given)
    ints = {name: value for name, value in request.arguments.items() if type(value) is int and name in guards.ints}
    openness.note_ints(ints)
    opened = any(openness.options(t) is not None for t in given)
    return not opened and not any(openness.leaves_open(name, value) for name, value in ints.items())


# ---- versions as plain values ----------------------------------------------------------------------------------------


def _described(request: Request, entry: Entry, captured: Captured, constants: int) -> dict[str, Any] | None:
    """A version; None where it holds what no plain value says."""
    guards, program, backward = captured.guards, entry.program, captured.backward
    places = {id(t): i for i, t in enumerate(guards.tensors)}
    result = entry.result.replace(request.prefix, _PREFIX)
    made = _made(entry, request.prefix, result, constants)
    if (
        made is None
        or program.key is None
        or captured.shape_env is not None
        or captured.numbers
        or captured.relaid
        or captured.module.constants
        or any(id(t) not in places for t in entry.inputs)
        or not (backward is None or _is_plain(backward))
    ):
        return None
    way_back = None if backward is None else _described_backward(backward)
    if way_back is None and backward is not None:
        return None
    return {
        "program": program.key,
        "device": program.device,
        "written": list(program.written),
        "inputs": [places[id(t)] for t in entry.inputs],
        "result": result,
        "made": made,
        "ops": {op.name: op_facts(op) for op in sorted(entry.ops, key=lambda op: op.name)},
        "offsets": any(node.target is aten.as_strided.default for node in entry.graph),
        "backward": way_back,
    }


def _checked(record: Any) -> dict[str, Any]:
    """A record whose values are of the types that they have to be; what they say is as true as the code beside them."""
    numbers = (list, int)
    expected = {
        "program": str, "device": str, "written": numbers, "inputs": numbers, "result": str, "made": (list, list),
        "ops": dict, "offsets": bool, "backward": (dict, type(None)),
    }  # fmt: skip
    if not is_dict(record) or record.keys() != expected.keys():
        raise ValueError("a record needs " + ", ".join(expected))
    for name, kind in expected.items():
        value: Any = record[name]
        outer, inner = kind if isinstance(kind, tuple) else (kind, None)
        right = type(value) is outer and (outer is not list or all(type(each) is inner for each in value))
        if not right and not (name == "backward" and value is None):
            raise ValueError(f"{name} is {value!r}")
    ast.parse(record["result"].replace(_PREFIX, "_ow_"), mode="eval")
    return record


def _made(entry: Entry, prefix: str, result: str, constants: int) -> list[list[str]] | None:
    """Where the libraries' classes are found that a result names; None if it names something else besides."""
    texts = [n.value for n in ast.walk(ast.parse(entry.result, mode="eval")) if isinstance(n, ast.Constant)]
    if any(isinstance(value, str) and "_ow_" in value for value in texts):
        return None
    numbers = sorted({int(number) for number in re.findall(_CONSTANT, result) if int(number) >= constants})
    if numbers != list(range(constants, constants + len(numbers))):
        return None
    made: list[list[str]] = []
    for number in numbers:
        value = entry.guards.constants[f"{prefix}c{number}"]
        module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if not is_library(module) or getattr(sys.modules.get(module or ""), name or "", None) is not value:
            return None
        made.append([module or "", name or ""])
    return made


def _is_plain(backward: Backward) -> bool:
    changed = backward.written or backward.rewritten or backward.relaid or backward.shown
    return not (backward.problem or changed or backward.constants or backward.compiled or backward.is_open)


def _described_backward(backward: Backward) -> dict[str, Any] | None:
    try:
        marks = [load_heavy("opweave.passes.missing").FORMULA]
        graph = load_heavy("opweave.tracer.export.alone").encode(backward.graph, marks)
    except UnsupportedError as error:
        let_through(error)
        return None
    return {
        "outputs": backward.outputs,
        "attached": backward.attached,
        "positions": backward.positions,
        "specs": [[[*s.sizes], [*s.strides], s.dtype.name, str(s.device)] for s in backward.specs],
        "saved_outputs": backward.saved_outputs,
        "depends": [sorted(on) for on in backward.depends],
        "programs": [],
        "graph": graph,
    }


def _without_programs(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record without what is added to it later."""
    backward = record.get("backward")
    return {**record, "backward": backward and {**backward, "programs": []}}


def _backward(name: str, record: Mapping[str, Any], again: _Again) -> Backward:
    about = record["backward"]
    made = Backward(
        name,
        int(about["outputs"]),
        [int(i) for i in about["attached"]],
        [],
        [TensorSpec(tuple(n), tuple(s), DTYPES[t], Device(d)) for n, s, t, d in about["specs"]],
        positions=[int(i) for i in about["positions"]],
        saved_outputs=[None if i is None else int(i) for i in about["saved_outputs"]],
        depends=[frozenset(on) for on in about["depends"]],
    )
    made.again = again.backward
    made.stored = lambda: load_heavy("opweave.tracer.export.alone").decode(about["graph"])

    def kept(missing: frozenset[int]) -> Callable[..., Any] | None:
        found = next((each for each in about["programs"] if frozenset(each[0]) == missing), None)
        return None if found is None else _run_of(found[1], found[2])

    made.kept = kept
    return made


def _run_of(key: str, device: str) -> Callable[..., Any] | None:
    """What runs generated code that was kept."""
    artifact = cache.find(str(key))
    if artifact is None:
        return None
    generated = code.unpack(artifact.files)
    if None in generated.names.values() or generated.attributes:
        return None
    with below_autograd():
        return code.run(generated, artifact.path, Device(device), {}).call


def _called(ops: Mapping[str, str]) -> dict[OpOverload, int] | None:
    """The ops that a version calls, with their versions now; None where one is not what it was."""
    found: dict[OpOverload, int] = {}
    for name, about in ops.items():
        packet = registry.packets.get(name.partition(".")[0])
        if packet is not None and packet.is_waiting and not about:
            continue  # a built-in op as it always is: its file need not be run
        op = registry.operators.get(name)
        if op is None or op_facts(op) != about:
            return None
        found[op] = op.version
    return found


# ---- what no name leads to -------------------------------------------------------------------------------------------


def _also(request: Request, key: str) -> bool:
    """Add what traces of the same function ran in other processes; whether there is anything, and all of it."""
    for place, files in cache.entries(key):
        try:
            names = json.loads(files[_FILE]).get("also", [])
            found = [(_function(str(module), str(name)), bool(rule)) for module, name, rule in names]
        except DAMAGE as error:
            let_through(error)
            place.report_damage(key, error)
            continue
        if found and all(function is not None for function, _ in found):
            return request.also.add([(function, rule) for function, rule in found if function is not None], [])
    return False


def _named(also: Known) -> list[tuple[str, str, bool]] | None:
    """Names of functions by which another process finds them; None where one has none."""
    names = [(f.__module__, f.__qualname__, False) for f in also.functions]
    names += [(f.__module__, f.__qualname__, True) for f in also.rules]
    found = [_function(module, name) for module, name, _ in names]
    same = all(one is other for one, other in zip(found, (*also.functions, *also.rules), strict=True))
    return names if same else None


def _function(module: str, name: str) -> types.FunctionType | None:
    """A function of a module, or one that was registered for a user's op."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if isinstance(found, types.FunctionType):
        return found
    registered = {
        id(function): function
        for op in list(registry.loaded.values())
        if isinstance(op.derivative, RegisteredBackward)
        for function in (op.derivative.backward, op.derivative.setup_context)
        if isinstance(function, types.FunctionType) and (function.__module__, function.__qualname__) == (module, name)
    }
    return next(iter(registered.values())) if len(registered) == 1 else None
