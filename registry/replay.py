"""Calls that native code replays: what a function of the package, a method or an op leads to for arguments like these.

Between `x + y` and the loop that adds there is much Python, which finds out each time what it found out before. So a
call that was made is written down (`registry.tape`): which arguments it is for, and which loops over memory, or which
view, it came to. `codegen.native.calls` has that as native code, which runs the next call like it; a call that is not
like one before goes the way that it always went, in Python. What it stands on besides the arguments is

- the thread's state (`registry.keys.state`): the same excluded, and included nothing besides, or autocast;
- what is registered, the default dtype, the hooks: a change of any of them forgets all (`forget`).

Functions that may be replayed are objects of classes derived from `Replayable`.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from opweave.registry.described import Document, Signed
from opweave.registry.interrupts import let_through

#: What was written down before it was another number holds no longer; native code reads it, so it is never freed.
epoch = ctypes.c_int64(0)


def forget() -> None:
    """Let no call be replayed that was written down so far."""
    epoch.value += 1


class _Slot(ctypes.Structure):
    """CPython's `PyType_Slot`."""

    _fields_ = [("slot", ctypes.c_int), ("pfunc", ctypes.c_void_p)]


class _Spec(ctypes.Structure):
    """CPython's `PyType_Spec`."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    ]


class _Member(ctypes.Structure):
    """CPython's `PyMemberDef`."""

    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


_WORD = ctypes.sizeof(ctypes.c_void_p)
#: Where an object of a `Replayable` has the address of its native code, which is 0 at first, and behind it what that
#: code reads.
CODE_AT = object.__basicsize__
_T_PYSSIZET, _READONLY, _TP_MEMBERS = 19, 1, 72
_DEFAULT, _BASETYPE = 1 << 18, 1 << 10


def _base() -> type:
    """A class whose objects have room for two words, the first of which is where the vectorcall protocol looks."""
    members = (_Member * 2)(_Member(b"__vectorcalloffset__", _T_PYSSIZET, CODE_AT, _READONLY, None))
    slots = (_Slot * 2)(_Slot(_TP_MEMBERS, ctypes.addressof(members)))
    spec = _Spec(b"opweave.registry.replay.Replayable", CODE_AT + 2 * _WORD, 0, _DEFAULT | _BASETYPE, slots)
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(("PyType_FromSpec", ctypes.pythonapi))
    made = make(ctypes.addressof(spec))
    _kept.append((members, slots, spec))
    return made


_kept: list[Any] = []

if sys.implementation.name == "cpython":
    Replayable: Any = _base()
else:
    Replayable = object

#: Calls in Python before native code is looked for in the cache, and before it is compiled.
FIRST, MANY = 64, 1024
#: Called with whether it may be compiled; gives whether that is all that can be done. `runtime` supplies it.
install: Callable[[bool], bool] | None = None
#: Called with an op that is called for the first time, once native code is there.
adopt: Callable[[Any], None] | None = None
#: Called with an op of a C++ library, and keys that it is called with for the first time since it was changed.
direct: Callable[[Any, int], None] | None = None
#: Calls in Python so far, counted where that costs nothing to speak of; none are counted any more where it is negative.
calls = 0


def count() -> None:
    """Count a call that was made in Python."""
    global calls
    if calls < 0:
        return
    calls += 1
    if (calls == FIRST or calls == MANY) and install is not None:
        is_last = calls == MANY
        if install(is_last) or is_last:
            calls = -1


def unlearn(function: Any) -> None:
    """Take away an object's native code, so that it is called in Python."""
    if Replayable is not object:
        ctypes.c_void_p.from_address(id(function) + CODE_AT).value = None


#: Gives what is called where a function could not take its arguments; `registry.overriding` puts it here.
instead: list[Callable[[Any, tuple[Any, ...], dict[str, Any]], Callable[[], Any] | None]] = []


#: What a function has of what it does; its docstring and its signature are made when they are asked for.
_NAMES = ("__module__", "__name__", "__qualname__")


class Function(Replayable):
    __doc__: Any = Document(
        """A function of the package, or a method of `Tensor`, that may be replayed.

    Parameters
    ----------
    function : callable
        What it does.
    """
    )
    __signature__ = Signed()

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function, _NAMES)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if calls >= 0:
            count()
        try:
            return self.__wrapped__(*args, **kwargs)
        except (TypeError, AttributeError) as error:
            let_through(error)
            call = instead[0](self, args, kwargs)
            if call is None:
                raise
        return call()  # whose own errors have nothing to do with that one

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> str:
        return self.__qualname__

    def __deepcopy__(self, memo: object) -> Function:
        return self
