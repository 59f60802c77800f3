"""Native code for calls that were written down (`registry.tape`): see `registry.replay` for what it is there for.

`install` gives the package's functions, the ops and the methods of `Tensor` the native code of `calls.ll`. Each has a
`_Known` from then on, whose `learn` that code asks when it sees a call that is like none before: it makes the call in
Python, has it written down, and puts what it came to in front of the others. Then it makes the call natively, too, and
keeps what was written only where the bits of both results are the same.
"""

from __future__ import annotations

import ctypes
import os
import sys
import types
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

from opweave.codegen.native import allocation, layout, objects
from opweave.codegen.native.calling import code
from opweave.codegen.native.written import Refused, Written
from opweave.registry import forking, replay
from opweave.registry.autograd.saved_hooks import saved_tensor_hooks
from opweave.registry.device import cpu
from opweave.registry.interrupts import contextmanager, deferred, let_through
from opweave.registry.keys import AUTOCAST_KEYS, state
from opweave.registry.op import OpOverload, registry
from opweave.registry.ops import surface
from opweave.registry.packet import OpOverloadPacket
from opweave.registry.tape import Casts, NotTaped, Tape, results_of, tensors_in
from opweave.registry.tape_recorder import record
from opweave.registry.tensor import Tensor, allocate

#: Calls of one function that are kept.
_MOST_CALLS = 32
_HAVE_VECTORCALL, _METHOD_DESCRIPTOR = 1 << 11, 1 << 17
#: Where a class has its flags: behind the head, 18 words (`PyTypeObject` in the stable part of CPython's structures).
_FLAGS_AT = object.__basicsize__ + 19 * ctypes.sizeof(ctypes.c_void_p)

_WORD = ctypes.sizeof(ctypes.c_void_p)


class _Head(ctypes.Structure):
    """The native side's `%Known`."""

    _fields_ = [
        ("epoch", ctypes.c_int64),
        ("first", ctypes.c_void_p),
        ("otherwise", ctypes.c_void_p),
        ("learn", ctypes.c_void_p),
        ("wait", ctypes.c_int64),
    ]


#: Whether what goes wrong where a call is written down is shown, and not only costs time.
verifying = os.environ.get("OPWEAVE_VERIFY", "0") not in ("", "0")
#: Held, and with something in it, while a call is written down: one at a time.
_lock = forking.lock()
_writing: set[bool] = set()
forking.after_fork_in_child(_writing.clear)
#: What stands behind each function, by its number (`id`).
known: dict[int, _Known] = {}


class _Known:
    """What stands behind a function: the calls of it that native code can make.

    Parameters
    ----------
    function : Replayable
        The function.
    otherwise : callable
        What it does in Python.
    """

    def __init__(self, function: Any, otherwise: Callable[..., Any]) -> None:
        self.function, self.otherwise = function, otherwise
        self.calls: list[Written] = []
        #: How often a call was written down, could not be, or made room for another one.
        self.written = self.failed = self.dropped = 0
        #: Whether autocast has a say in it.
        self.casts = False
        self._learn = self.learn
        self.head = _Head(0, None, id(otherwise), id(self._learn), 1)
        objects.keep_forever(self)
        known[id(function)] = self
        at = id(function) + replay.CODE_AT
        ctypes.c_void_p.from_address(at + _WORD).value = ctypes.addressof(self.head)
        ctypes.c_void_p.from_address(at).value = code.address("opweave_call")

    def learn(self, /, *args: Any, **kwargs: Any) -> Any:
        """Make a call in Python, and write it down."""
        included = state.include & ~state.exclude
        if included and (self.casts or included != AUTOCAST_KEYS["cpu"].bit):
            return self.otherwise(*args, **kwargs)
        if not _lock.acquire(blocking=False):
            return self.otherwise(*args, **kwargs)
        if _writing:
            _lock.release()
            return self.otherwise(*args, **kwargs)
        try:
            _writing.add(True)
            self.head.wait = 1 << 40
            tried = None
            result = self.otherwise(*args, **kwargs)
            try:
                if not all(type(t) is Tensor and t._device is cpu for t in results_of(result)):
                    raise NotTaped("no tensor of the CPU")
                if saved_tensor_hooks() is not None:
                    raise NotTaped("hooks that would see what it saves once more")
                tried = replay.epoch.value
                with deferred():
                    self._write(args, kwargs, result)
                self.written += 1
            except Casts:
                self.casts = True  # which are the calls that it makes then to be written down
            except Exception as error:
                let_through(error)
                self.failed += 1
                if verifying and not isinstance(error, NotTaped):
                    raise
                error.__traceback__ = error.__context__ = None  # whose frames would keep the result alive
                if tried is not None and tried == replay.epoch.value:
                    self._refuse(args, kwargs, tried)
            return result
        finally:
            # What is written down for nothing takes longer than what it saves.
            waste = 2 * self.failed + self.dropped + self.written // 32
            self.head.wait = 0 if not waste else 1 << min(3 + waste, 40)
            _writing.clear()
            _lock.release()

    def _refuse(self, args: tuple[Any, ...], kwargs: dict[str, Any], epoch: int) -> None:
        """Have calls like this one made in Python at once, so that others of the function are still written down."""
        try:
            self._put(Refused(args, kwargs))
            self.head.epoch = epoch
        except NotTaped:
            return

    def _write(self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
        epoch = replay.epoch.value
        if self.head.epoch != epoch:
            self._set([])
        args, kwargs = _told_apart(args, kwargs)
        tape, again = record(self.function, args, kwargs)
        if tape.target is not None:
            self._write_in_place(args, kwargs, result, tape, again, epoch)
            return
        written = Written(args, kwargs, result, tape, again)
        with self._tried(written, epoch):
            found = self.function(*args, **kwargs)
            if written.hits != 1 or not _alike(found, result, written.has_loops):
                raise NotTaped("another result")

    def _write_in_place(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor, tape: Tape, again: Tensor, epoch: int
    ) -> None:
        """The same of a call that writes to an argument: it is made on copies."""
        written = Written(args, kwargs, result, tape, again)
        copies: dict[int, Tensor] = {}

        def copied(value: Any) -> Any:
            if type(value) is not Tensor:
                return value
            if id(value) not in copies:
                made = copies[id(value)] = allocate(value._sizes, value._strides, value._dtype, cpu)
                made._array[...] = value._array
                made._keys = value._keys
            return copies[id(value)]

        given, named = [copied(v) for v in args], {name: copied(v) for name, v in kwargs.items()}
        with self._tried(written, epoch):
            found = self.function(*given, **named)
            target = copies[id(tape.target)]
            wanted: Any = tape.written
            same = found is target and written.hits == 1 and target._storage.version == 1
            if not same or target._array.tobytes() != wanted._array.tobytes():
                raise NotTaped("another result")

    @contextmanager
    def _tried(self, written: Written, epoch: int) -> Iterator[None]:
        """Have native code make a call from here on, and no longer if the block raises."""
        before = self.calls
        try:
            self._put(written)
            self.head.epoch = epoch
            yield
        except BaseException:
            self._set(before)
            raise

    def _put(self, written: Written) -> None:
        """Have a call stand in front of the others, in place of one where there are many."""
        kept = self.calls
        if len(kept) == _MOST_CALLS:
            least = min(kept, key=lambda call: call.hits)
            kept = [call for call in kept if call is not least]
            self.dropped += 1
        self._set([written, *kept])

    def _set(self, calls: list[Written]) -> None:
        for call, following in zip_longest(calls, calls[1:]):
            call.before(following)
        self.head.first = calls[0].address if calls else None
        # One that a thread is about to make is kept by that; a thread that looks through them has the lock.
        self.calls = calls


def _told_apart(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with a tensor or float that stands twice as two: what is written down of `x * x` is for `x * y`."""
    seen: set[int] = set()

    def once(value: Any) -> Any:
        if tensors_in(value) is value:  # a list of them
            return type(value)([once(item) for item in value])
        if type(value) is float:
            return value * 1.0  # another object, which nothing else is
        if type(value) is not Tensor or id(value) not in seen:
            seen.add(id(value))
            return value
        made = value._alias()
        made._keys, made._autograd, made._view_of = value._keys, value._autograd, value._view_of
        return made

    return tuple([once(value) for value in args]), {name: once(value) for name, value in kwargs.items()}


def _alike(found: Any, result: Any, has_elements: bool) -> bool:
    """Whether native code gave what Python gave."""
    if type(result) is not Tensor:
        same = type(found) is type(result) and len(found) == len(result)
        return same and all(_alike(a, b, has_elements) for a, b in zip(found, result, strict=True))
    names = ("_sizes", "_strides", "_offset", "_dtype", "_device", "_keys")
    if type(found) is not Tensor or any(getattr(found, name) != getattr(result, name) for name in names):
        return False
    if (found._view_of is None) != (result._view_of is None) or (found._autograd is None) != (result._autograd is None):
        return False
    return not has_elements or found._array.tobytes() == result._array.tobytes()


# ---- all functions ---------------------------------------------------------------------------------------------------


_KINDS = (replay.Function, OpOverloadPacket, OpOverload)
_installing = forking.lock()


def install(may_compile: bool) -> bool:
    """Let functions, ops and methods be replayed.

    Parameters
    ----------
    may_compile : bool
        Whether to compile the native code where the cache does not have it.

    Returns
    -------
    bool
        Whether there is nothing left to do: it was done, or cannot be done here.
    """
    if layout.tensors() is None or allocation.places() is None or not has_vectorcall():
        return True
    with _installing, deferred():
        if code.loaded is not None:
            return True
        if not may_compile and not code.is_kept():
            return False
        code.load()
        for kind in _KINDS:
            let_be_called(kind)
        replay.adopt = _adopt
        for op in list(registry.loaded.values()):
            if op._table and op.decl is not None:
                _adopt(op)
        for packet in list(registry.packets.values()):
            if packet.namespace == "aten":
                _Known(packet, types.MethodType(OpOverloadPacket.__call__, packet))
        for value in [*surface.functions().values(), *surface.methods]:
            if type(value) is replay.Function:
                _Known(value, value.__wrapped__)
    return True


def _adopt(op: OpOverload) -> None:
    """Let an op be replayed."""
    if id(op) not in known:
        _Known(op, types.MethodType(OpOverload.__call__, op))


def has_vectorcall() -> bool:
    """Whether functions are objects that can have native code, laid out as is known here."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return False  # what is noted is looked through without locks
    return replay.Replayable is not object and all(
        ctypes.c_ulong.from_address(id(kind) + _FLAGS_AT).value == kind.__flags__ for kind in _KINDS
    )


def let_be_called(kind: type) -> None:
    """Have the interpreter look for the code of objects of a class, and bind no methods where it calls them."""
    ctypes.c_ulong.from_address(id(kind) + _FLAGS_AT).value |= _HAVE_VECTORCALL | _METHOD_DESCRIPTOR
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
