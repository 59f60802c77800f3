"""Calls written down: made under a mode that sees the ops they lead to, which write what they do on a `Tape`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from opweave.registry.device import cpu
from opweave.registry.interrupts import let_through
from opweave.registry.keys import ABOVE_VIEWS, DispatchMode, state
from opweave.registry.op import OpOverload, registry
from opweave.registry.packet import OpOverloadPacket
from opweave.registry.tape import AT_PLACES, MOST_CALLS, Loop, NotTaped, Tape, recording, results_of, tensors_in
from opweave.registry.tensor import Tensor


class _Recorder(DispatchMode):
    """Makes the calls of functional ops, and writes them down; refuses others before they do anything."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.depth = 0

    def __torch_dispatch__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        decl = getattr(func, "decl", None)
        tape = self.tape
        kwargs = kwargs or {}
        if decl is None or func.is_random or len(tape.steps) == MOST_CALLS or tape.target is not None:
            raise NotTaped(str(func))
        if func.is_mutable:
            return self._writing(func, decl, args, kwargs)
        by_parts = decl.is_composite and "replay" not in vars(decl)
        result = self._parts(func, decl, args, kwargs) if by_parts else func(*args, **kwargs)
        if not all(type(t) is Tensor and t._device is cpu for t in results_of(result)):
            raise NotTaped(str(func))
        if not by_parts:
            tape.steps.append((func, args, kwargs, result))
        # What autograd knows nothing of is its parts to it, which came by.
        if not self.depth and not (by_parts and func.derivative_source()[1] is None):
            tape.calls.append((func, args, kwargs, result))
        return result

    def _parts(self, func: OpOverload, decl: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The ops that a composite is written with, where that is what its kernel is."""
        if decl.by_parts not in func.kernels.values():
            raise NotTaped(str(func))
        hidden = int(self.depth > 0 or func.derivative_source()[1] is not None)
        self.depth += hidden
        try:
            with self:
                return decl.body(*args, **kwargs)
        finally:
            self.depth -= hidden

    def _writing(self, func: OpOverload, decl: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        """What an op in place computes, which is not written."""
        found = decl.as_functional(args, kwargs)
        if found is None or not decl.is_inplace or self.depth or type(args[0]) is not Tensor:
            raise NotTaped(str(func))
        op, given, keywords = found
        with self:
            self.tape.written = op(*given, **keywords)
        self.tape.target = args[0]
        return args[0]

    def data_accessed(self, tensor: Any, what: str) -> None:
        raise NotTaped(what)


def _changes_tensors(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call may change its arguments before any mode sees an op in place: it can be made but once."""
    function = getattr(getattr(function, "__wrapped__", function), "packet", function)
    # A packet's first overload tells: all are in place, or none is.
    op = next(iter(function._overloads.values())) if isinstance(function, OpOverloadPacket) else function
    decl = op.decl if isinstance(op, OpOverload) else None
    is_seen = getattr(decl, "is_inplace", False) or getattr(decl, "copies_back", False)
    return isinstance(op, OpOverload) and op.is_mutable and not is_seen


def record(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tape, Any]:
    """Make a call whose ops are functional, or that is one op in place, and write it down; nothing is written to.

    Parameters
    ----------
    function : callable
        What is called.
    args, kwargs
        Its arguments; the tensors among them are on the CPU.

    Returns
    -------
    tape : Tape
        What it does, its ops' loops not yet written.
    result : Tensor, or tuple or list of them
        What it gives.

    Raises
    ------
    NotTaped
        If it leads to an op that is neither functional nor the form of one in place, or gives something else than a
        tensor.
    """
    if registry.builtin_version != registry.shipped_version or registry.fallbacks:
        raise NotTaped("ops that were changed")
    if _changes_tensors(function, args, kwargs):
        raise NotTaped("a change that is no write")
    given = (*args, *kwargs.values())
    tape = Tape([t for value in given for t in tensors_in(value)], numbers=[v for v in given if type(v) is float])
    before = state.exclude
    state.exclude = before | ABOVE_VIEWS
    recording.add(threading.get_ident())
    try:
        with _Recorder(tape):
            result = function(*args, **kwargs)
    except NotTaped:
        raise
    except Exception as error:
        let_through(error)
        raise NotTaped("what raises") from None
    finally:
        recording.discard(threading.get_ident())
        state.exclude = before
    if not all(type(t) is Tensor for t in results_of(result)):
        raise NotTaped("no tensor")
    for op, given, keywords, found in tape.steps:
        op.decl.replay(tape, given, keywords, found)
    if tape.target is not None:
        _place(tape, tape.target)
    return tape, result


def _place(tape: Tape, target: Tensor) -> None:
    """Have elements be written in the argument itself where others name them, and not in a copy of it.

    That all numbers name places is known before the first is written: another call of the loop would write it again.
    """
    out, own = tape.value(tape.written), tape.value(target)
    writes = [loop for loop in tape.loops if getattr(loop.operands[-1].value, "buffer", None) == out.buffer]
    if len(writes) < 2 or writes != tape.loops[-len(writes) :] or sum(t is target for t in tape.inputs) > 1:
        return
    copy, *placed = writes
    is_copy = copy.function == "copied" and [operand.value for operand in copy.operands] == [own, out]
    if not is_copy or any(loop.function not in AT_PLACES for loop in placed):
        return
    asked = [
        Loop("within", loop.types[:1], loop.outer if numbers.steps[0] else 1, loop.counts if loop.steps[0] else (1,),
             loop.steps[:1], (numbers,), loop.data)
        for loop in placed for numbers in loop.operands[:1]
    ]  # fmt: skip
    tape.loops[-len(writes) :] = [*asked, *placed]
    tape.is_placed = True
