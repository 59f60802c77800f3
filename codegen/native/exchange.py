"""`Tensor.__dlpack_c_exchange_api__`, a table of C functions: their text (`exchange.ll`), and what it refers to."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from opweave.codegen import native
from opweave.codegen.native import allocation, functions, layout, objects
from opweave.registry import dtypes, exchange, memory
from opweave.registry.device import cpu
from opweave.registry.dtypes import float32
from opweave.registry.interrupts import deferred
from opweave.registry.keys import GRAD, TENSOR_BITS, state
from opweave.registry.memory import Foreign, Lease, Span
from opweave.registry.storage import Storage
from opweave.registry.tensor import Tensor, allocate, key_bits

_C_API = (
    "PyDict_GetItem", "PyLong_AsLongLong", "PyLong_AsUnsignedLongLong", "PyLong_FromLongLong",
    "PyLong_FromUnsignedLongLong", "PyLong_AsVoidPtr", "PyTuple_Size", "PyTuple_New", "PyTuple_SetItem",
    "PyTuple_GetItem", "PyErr_Occurred", "PyErr_NoMemory", "PyErr_Fetch", "PyErr_NormalizeException", "PyErr_Clear",
    "PyObject_Str", "PyObject_GetAttr", "PyObject_Vectorcall", "PyUnicode_AsUTF8AndSize", "PyBytes_FromStringAndSize",
    "PyBytes_AsString", "PyBytes_Size", "PyCapsule_New", "PyCapsule_GetPointer", "PyCapsule_SetDestructor",
    "PyType_GenericAlloc", "PyMem_RawMalloc", "PyMem_RawFree", "PyGILState_Ensure", "PyGILState_Release",
    "Py_IsInitialized", "PyThreadState_Get", "PyThreadState_GetID", "Py_IncRef", "Py_DecRef",
)  # fmt: skip
#: In the order of `DLPackExchangeAPI`.
_FUNCTIONS = ("opweave_allocate", "opweave_from_tensor", "opweave_to_tensor", "opweave_show_tensor", "opweave_stream")
_NAME = b"dlpack_exchange_api"


def source() -> str:
    """The LLVM IR of the table's functions."""
    places, at = allocation.places() or {}, layout.tensors() or layout.NOWHERE
    of_tensor, of_storage, of_foreign = places.get(Tensor, {}), places.get(Storage, {}), _places_of_foreign() or {}
    numbers = {
        "TYPE": at.type, "STORAGE": at.storage, "OFFSET": at.offset, "POINTER": at.pointer,
        "T_SIZES": of_tensor.get("_sizes"), "T_STRIDES": of_tensor.get("_strides"), "T_DTYPE": of_tensor.get("_dtype"),
        "T_DEVICE": of_tensor.get("_device"), "T_KEYS": of_tensor.get("_keys"), "T_CACHED": of_tensor.get("_cached"),
        "T_VIEW_OF": of_tensor.get("_view_of"), "T_AUTOGRAD": of_tensor.get("_autograd"), "T_DIMS": _place_of_dims(),
        "OWNER": of_storage.get("owner"), "S_NBYTES": of_storage.get("nbytes"), "S_DEVICE": of_storage.get("device"),
        "S_VERSION": of_storage.get("version"), "S_SAVED": of_storage.get("saved"),
        "S_BYTES": of_storage.get("_bytes"), "S_VIEWS": of_storage.get("views"),
        "F_CAPSULE": of_foreign.get("capsule"), "F_ADDRESS": of_foreign.get("address"),
        "F_NBYTES": of_foreign.get("nbytes"), "ITEMSIZE": layout.slot(float32, "itemsize"),
        "DLPACK": layout.slot(float32, "dlpack"), "ARRAY_FLAGS": _place_of_flags(),
        "FINALISER": places.get(Lease, {}).get("__del__"), "SPAN": places.get(Lease, {}).get("span"),
        "RELEASE": places.get(Span, {}).get("release"), "ADDRESS": places.get(Span, {}).get("ptr"),
        "GRAD": GRAD, "EXTRAORDINARY": ~(TENSOR_BITS["cpu"] | GRAD), "MAJOR": exchange.VERSION[0],
        "MINOR": exchange.VERSION[1],
    }  # fmt: skip
    return native.source("allocation", "thread", "exchange", numbers=numbers)


def table() -> Any:
    """The table as a capsule; None where native code cannot know how objects are laid out."""
    unknown = None in (layout.tensors(), allocation.places(), _places_of_foreign(), _place_of_dims())
    if unknown or not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    with deferred():
        code = objects.Code(source, "exchange", objects.PROMOTED).load(_FUNCTIONS, _imports())
        major, minor = exchange.VERSION
        words = (ctypes.c_uint64 * 7)(major | minor << 32, 0, *[code.address(name) for name in _FUNCTIONS])
        objects.keep_forever((words, _NAME))
        return _capsule()(ctypes.addressof(words), _NAME, None)


def _capsule() -> Any:
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return prototype(("PyCapsule_New", ctypes.pythonapi))


def _imports() -> dict[str, int]:
    names = {"name.dict": "__dict__", "name.include": "include", "name.exclude": "exclude", "name.ptr": "ptr",
             "name.name": "__name__", "name.pop": "pop"}  # fmt: skip
    given: dict[str, Any] = {
        "_Py_NoneStruct": None, "opweave_zero": 0, "opweave_false": False, "opweave_cpu": cpu,
        "opweave_keys": key_bits(cpu), "opweave_dtypes": dtypes.BY_DLPACK, "opweave_tensor": Tensor,
        "opweave_storage": Storage, "opweave_lease": Lease, "opweave_foreign": Foreign, "opweave_ndarray": np.ndarray,
        "opweave_state": state, "opweave_default": dtypes._default, "opweave_facts": exchange.facts,
        "opweave_adopt": exchange.adopt, "opweave_refuse": exchange.refuse, "opweave_lend": exchange.lend,
        "opweave_work_stream": exchange.work_stream, "opweave_homes": memory.free_lists(),
    }  # fmt: skip
    objects.keep_forever((names, given))
    return functions.c_api(_C_API) | {symbol: id(value) for symbol, value in (*names.items(), *given.items())}


def _places_of_foreign() -> dict[str, int] | None:
    sample = Foreign(object(), 1 << 40, 1 << 41)
    found = {name: layout.slot(sample, name) for name in Foreign.__slots__}
    return {name: place or 0 for name, place in found.items()} if all(found.values()) else None


def _place_of_dims() -> int | None:
    sample = allocate((1,), (1,), float32, cpu)
    sample._dims = bytes(16)
    return layout.slot(sample, "_dims")


def _place_of_flags() -> int:
    """Where NumPy's arrays have their flags, of which one says that they may be written; 0 if that does not hold."""
    place = object.__basicsize__ + 6 * ctypes.sizeof(ctypes.c_void_p)
    written, read = np.zeros(1), np.zeros(1)
    read.flags.writeable = False
    flags = [ctypes.c_int.from_address(id(array) + place).value for array in (written, read)]
    return place if flags == [array.flags.num for array in (written, read)] else 0
