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
import json
import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opweave.codegen import cache
from opweave.codegen.store import DAMAGE
from opweave.registry import forking
from opweave.registry.device import Device
from opweave.registry.dtypes import DTYPES
from opweave.registry.errors import CompileError, UnsupportedError
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
from opweave.runtime.facts import Untellable, facts
from opweave.runtime.logging import DEBUG, channel
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
_CONSTANT = re.compile(r"\0c(\d+)\b")


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
        self._guards: ValueGuards | None = guards
        self._constants = len(guards.constants)

    def take(self) -> ValueGuards | None:
        """The guards of the call, for a trace that adds to them; None the second time."""
        guards, self._guards = self._guards, None
        return guards

    # ---- keeping ---------------------------------------------------------------------------------------------------

    def keep(self, request: Request, entry: Entry, captured: Captured) -> None:
        """Keep a version, if another process can make it from what is kept."""
        described = None if self.key is None else _described(request, entry, captured, self._constants)
        self.record = described or {}
        if described is None or not self._keeps:
            return
        if captured.backward is not None:
            captured.backward.note = self._note
        self._write()

    def _write(self) -> None:
        assert self.key is not None
        cache.keep(self.key, {_FILE: json.dumps(self.record)})

    def _note(self, missing: frozenset[int], program: Program) -> None:
        """Keep the name of what runs a way back, too."""
        if program.key is not None:
            self.record["backward"]["programs"].append([sorted(missing), program.key])
            self._write()

    # ---- finding ---------------------------------------------------------------------------------------------------

    def found(self, request: Request) -> Entry | None:
        """The version that another process kept; None where there is none of use."""
        key = self.key
        if key is None:
            return None
        for place in cache.stores():
            files = place.read(key)
            if files is None:
                continue
            try:
                record = json.loads(files[_FILE])
                entry = self._entry(request, record)
            except DAMAGE as error:
                let_through(error)
                place.report_damage(key, error)
                continue
            except UnsupportedError as error:  # a trace says it with all there is to say
                let_through(error)
                return None
            if entry is not None and verifying:
                self._verify(request, entry)
            return entry
        return None

    def _entry(self, request: Request, record: dict[str, Any]) -> Entry | None:
        stand_ins = StandIns.of(request)
        run = _run_of(record["program"], record["device"])
        if run is None or stand_ins is None:
            return None
        guards = self.take() or guards_of(request)
        inputs = [guards.tensors[i] for i in record["inputs"]]
        written = [int(i) for i in record["written"]]
        called = {op: op.version for op in map(_op, record["ops"])}
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
        result = str(record["result"]).replace(_PREFIX, request.prefix)
        program = Program(run, tuple(written), again.stages, record["program"])
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
        self._request = replace(request, args=(), kwargs={}, arguments={}, openness=Openness(False), also=Known())
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
                            hint="ask for it before, or keep what the function reads as it is until its gradients came",
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
    result = _portable(entry.result, request.prefix, constants)
    if (
        result is None
        or program.key is None
        or captured.shape_env is not None
        or captured.numbers
        or captured.relaid
        or captured.module.constants
        or any(id(t) not in places for t in entry.inputs)
        or any(op.decl is None for op in entry.ops)
        or not request.also.is_empty
        or not (backward is None or _is_plain(backward))
    ):
        return None
    inputs = [guards.tensors[places[id(t)]] for t in entry.inputs]
    return {
        "program": program.key,
        "device": str(inputs[0].tensor._device) if inputs else "cpu",
        "written": list(program.written),
        "inputs": [places[id(t)] for t in entry.inputs],
        "result": result,
        "ops": sorted(op.name for op in entry.ops),
        "offsets": any(node.target is aten.as_strided.default for node in entry.graph),
        "backward": None if backward is None else _described_backward(backward),
    }


def _portable(result: str, prefix: str, constants: int) -> str | None:
    """The text that puts results together, for a version of any number; None if it needs an object of the trace's."""
    texts = [n.value for n in ast.walk(ast.parse(result, mode="eval")) if isinstance(n, ast.Constant)]
    text = result.replace(prefix, _PREFIX)
    if any(isinstance(value, str) and "_ow_" in value for value in texts):
        return None
    return None if any(int(number) >= constants for number in _CONSTANT.findall(text)) else text


def _is_plain(backward: Backward) -> bool:
    changed = backward.written or backward.rewritten or backward.relaid or backward.shown
    return not (backward.problem or changed or backward.constants or backward.compiled or backward.is_open)


def _described_backward(backward: Backward) -> dict[str, Any]:
    return {
        "outputs": backward.outputs,
        "attached": backward.attached,
        "positions": backward.positions,
        "specs": [[[*s.sizes], [*s.strides], s.dtype.name, str(s.device)] for s in backward.specs],
        "saved_outputs": backward.saved_outputs,
        "depends": [sorted(on) for on in backward.depends],
        "programs": [],
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

    def kept(missing: frozenset[int]) -> Callable[..., Any] | None:
        key = next((key for without, key in about["programs"] if frozenset(without) == missing), None)
        return None if key is None else _run_of(key, record["device"])

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


def _op(name: str) -> OpOverload:
    found = registry.operators[name]
    if found.decl is None:
        raise ValueError(f"{name} is not built in")
    return found
