"""Calls of ops of C++ libraries that find their kernel in native code (`direct.ll`).

What an op's entry does in Python, and what counts its writes, takes longer than most such kernels take to be called. So
an op whose kernel for plain tensors of the CPU is a C++ function gets native code of its own, which knows that kernel
and what each argument must be. It is told nothing more: where a kernel, a fallback or a rule changes, it is taken away
(`forget`), and the next call in Python brings it back.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import types
from typing import Any

from opweave.codegen import native
from opweave.codegen.native import allocation, calls, functions, layout, objects
from opweave.registry import dtypes, replay
from opweave.registry.device import cpu
from opweave.registry.interrupts import deferred
from opweave.registry.keys import GRAD, state
from opweave.registry.op import OpOverload
from opweave.registry.schema import ListType, OptionalType, Type
from opweave.registry.storage import Storage
from opweave.registry.tensor import Tensor, key_bits
from opweave.registry.types import INTS

_C_API = (
    "PyDict_GetItem", "PyObject_GetAttr", "PyLong_AsLongLong", "PyLong_FromLongLong", "PyTuple_Size",
    "PyTuple_GetItem", "PyList_Size", "PyList_GetItem", "PyObject_Vectorcall", "PyErr_Clear", "PyThreadState_Get",
    "PyThreadState_GetID", "Py_IncRef", "Py_DecRef",
)  # fmt: skip
_WORD = ctypes.sizeof(ctypes.c_void_p)
_OPTIONAL = 8
_KINDS = {"Tensor": 0, "int": 1, "SymInt": 1, "float": 2, "bool": 3, "str": 4, "Scalar": 5}
_NUMBERS = 6
_PLAIN = key_bits(cpu)


def source() -> str:
    """The LLVM IR of a call."""
    at = layout.tensors() or layout.NOWHERE
    places = allocation.places() or {}
    of_tensor, of_storage = places.get(Tensor, {}), places.get(Storage, {})
    numbers = {
        "TYPE": at.type, "STORAGE": at.storage, "KEYS": of_tensor.get("_keys"), "VIEW_OF": of_tensor.get("_view_of"),
        "VERSION": of_storage.get("version"), "KNOWN": replay.CODE_AT + _WORD, "GRAD": GRAD, "OPTIONAL": _OPTIONAL,
    }  # fmt: skip
    return native.source("thread", "direct", numbers=numbers)


@functools.cache
def _address() -> int | None:
    """The address of the code; None where native code cannot know how objects are laid out."""
    if layout.tensors() is None or allocation.places() is None or not calls.has_vectorcall():
        return None
    names = {"name.dict": "__dict__", "name.include": "include", "name.exclude": "exclude"}
    given: dict[str, Any] = {
        "_Py_NoneStruct": None, "PyLong_Type": int, "PyFloat_Type": float, "PyBool_Type": bool, "PyUnicode_Type": str,
        "PyList_Type": list, "PyTuple_Type": tuple, "opweave_tensor": Tensor, "opweave_keys": _PLAIN,
        "opweave_zero": 0, "opweave_state": state, "opweave_default": dtypes._default,
    }  # fmt: skip
    objects.keep_forever((names, given))
    imports = functions.c_api(_C_API) | {symbol: id(value) for symbol, value in (*names.items(), *given.items())}
    with deferred():
        code = objects.Code(source, "direct", objects.PROMOTED).load(("opweave_direct",), imports)
        calls.let_be_called(OpOverload)
    return code.address("opweave_direct")


def adopt(op: OpOverload, keys: int) -> None:
    """Let an op be called directly, where its arguments are of types that native code knows.

    Parameters
    ----------
    op : OpOverload
        Of a C++ library.
    keys : int
        Those whose kernel has been found; native code takes that of plain tensors of the CPU.
    """
    if keys != _PLAIN:
        return
    parameters = [_parameter(a.type) for a in op._schema.arguments]
    if None in parameters or not parameters or any(a.kwarg_only for a in op._schema.arguments):
        return
    kernel = op._table.get(_PLAIN)
    address = None if kernel is None else _address()
    if address is None:
        return
    changes = getattr(kernel, "changes_first", None)
    run: Any = kernel if changes is None else changes[0]
    otherwise = types.MethodType(OpOverload.__call__, op)
    defaults = [a.default if a.has_default else None for a in op._schema.arguments]
    least = 1 + max((i for i, a in enumerate(op._schema.arguments) if not a.has_default), default=-1)
    head = [len(parameters), least, id(run), id(otherwise), -1 if changes is None else 0]
    head.append(0 if changes is None else int(changes[1]))
    words = [*head, *(word for p, d in zip(parameters, defaults, strict=True) for word in (p or 0, id(d)))]
    laid = ctypes.create_string_buffer(struct.pack(f"{len(words)}q", *words))
    objects.keep_forever((laid, run, otherwise, defaults))  # a thread may be in it
    at = id(op) + replay.CODE_AT
    ctypes.c_void_p.from_address(at + _WORD).value = ctypes.addressof(laid)
    ctypes.c_void_p.from_address(at).value = address


def _parameter(kind: Type) -> int | None:
    if isinstance(kind, OptionalType):
        found = _parameter(kind.element)
        return None if found is None else found | _OPTIONAL
    if isinstance(kind, ListType):
        return _NUMBERS if kind.element in INTS and kind.size is None else None
    return _KINDS.get(str(kind))
