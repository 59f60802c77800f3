"""What a call of compiled code asks and notes of arguments that it writes: their memory is apart, they were written."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from opweave.codegen import native
from opweave.codegen.native import allocation, functions, layout, objects
from opweave.codegen.native.alike import MOST
from opweave.registry.dtypes import DType
from opweave.registry.overlap import disjoint
from opweave.registry.storage import Storage
from opweave.registry.tensor import Tensor

_C_API = (
    "PyTuple_GetItem", "PyTuple_Size", "PyLong_AsVoidPtr", "PyLong_AsLongLong", "PyLong_AsUnsignedLongLong",
    "PyLong_FromLongLong", "PyObject_Vectorcall", "PyObject_VectorcallMethod", "Py_IncRef", "Py_DecRef",
)  # fmt: skip


def source() -> str:
    """The LLVM IR."""
    at = layout.tensors() or layout.NOWHERE
    places = allocation.places() or {}
    numbers = {
        "TYPE": at.type, "STORAGE": at.storage, "OFFSET": at.offset, "POINTER": at.pointer, "SIZES": at.sizes,
        "STRIDES": at.strides, "DTYPE": at.dtype, "VERSION": places.get(Storage, {}).get("version"),
    }  # fmt: skip
    return native.source("mutation", numbers=numbers)


CODE = objects.Code(source, "mutation", objects.PROMOTED)


class _Owner(NamedTuple):
    """What the function keeps alive; native code reads the first."""

    native: int
    memory: object
    otherwise: Callable[..., bool]
    dtypes: tuple[DType, ...]


def apart(written: int, dtypes: Sequence[DType]) -> Callable[..., bool] | None:
    """A function that tells whether no written tensor shares memory with another one.

    Parameters
    ----------
    written : int
        How many of the tensors, the first ones, are written.
    dtypes : sequence of DType
        Of all tensors.

    Returns
    -------
    callable or None
        `apart(*tensors) -> bool`; None where there are too many, or where native code does not know how they lie in
        memory.
    """
    count = len(dtypes)
    if count > MOST or layout.tensors() is None:
        return None

    def otherwise(*tensors: Tensor) -> bool:
        return disjoint(tensors[:written], tensors[written:])

    words = [count, id(otherwise)]
    for i, dtype in enumerate(dtypes):
        words += [id(dtype), dtype.itemsize, int(i < written), i]
    memory = (ctypes.c_int64 * len(words))(*words)
    owner = _Owner(ctypes.addressof(memory), memory, otherwise, tuple(dtypes))
    return functions.function(_definition("apart"), owner, "apart")


@functools.cache
def bumper() -> Callable[..., None]:
    """A function that counts a mutation of the memory of each of the tensors that it is given."""
    if layout.tensors() is None or allocation.places() is None:

        def bump(*tensors: Tensor) -> None:
            for t in tensors:
                t._bump()

        return bump
    return functions.function(_definition("bump"), None, "bump")


@functools.cache
def _definition(name: str) -> functions.MethodDef:
    address = _code().address(f"opweave_{name}")
    return functions.definition(name, address, functions.FASTCALL, f"{name}(*tensors)")


@functools.cache
def _code() -> objects.LoadedCode:
    named = {"name.bump": "_bump"}
    objects.keep_forever(named)
    given: dict[str, object] = {
        "_Py_NoneStruct": None, "_Py_TrueStruct": True, "_Py_FalseStruct": False, "PyLong_Type": int,
        "PyTuple_Type": tuple, "opweave_tensor": Tensor, **named,
    }  # fmt: skip
    imports = functions.c_api(_C_API) | {symbol: id(value) for symbol, value in given.items()}
    return CODE.load(("opweave_apart", "opweave_bump"), imports)
