"""The native code of replayed calls: its text (`calls` and what it takes in), and what that refers to."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from opweave.codegen import native
from opweave.codegen.native import allocation, functions, layout, objects
from opweave.registry import dtypes, replay
from opweave.registry.keys import AUTOCAST_KEYS, GRAD, state
from opweave.registry.storage import Storage
from opweave.registry.strided import Size
from opweave.registry.tape import MOST_NUMBER
from opweave.registry.tensor import Tensor

_C_API = (
    "PyDict_GetItem", "PyObject_GetAttr", "PyObject_RichCompareBool", "PyLong_AsLongLong", "PyLong_FromLongLong",
    "PyFloat_AsDouble", "PyTuple_GetItem", "PyTuple_Size", "PyList_Size", "PyList_GetItem", "PyList_New",
    "PyList_Append", "PyWeakref_NewRef", "PyErr_Occurred", "PyErr_Clear", "PyThreadState_Get", "PyThreadState_GetID",
    "PyLong_AsVoidPtr", "PyObject_Vectorcall", "Py_IncRef", "Py_DecRef",
)  # fmt: skip
#: Arguments that a call may have.
MOST_ARGUMENTS = 10
#: Tensors that are made besides the result, for those who save them.
MOST_KEPT = 12
#: Of all tensors and numbers in a frame: arguments are more where they are lists.
MOST_PLACES = 2 * MOST_ARGUMENTS + 1 + MOST_KEPT
#: Bytes of elements that the loops of `elements.ll` are for.
_WIDTHS = (1, 2, 4, 8, 16)
#: Types that are converted to each other, as LLVM has them.
_TYPES = {"b1": "i8", "u1": "i8", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "f4": "float", "f8": "double"}
_NAMES = {np.dtype(name): name for name in _TYPES}
#: What becomes of two elements, one of which is at a place, in LLVM: of floats and of whole numbers.
_COMBINED = {
    "added": ("%total = fadd {} %before, %value", "%total = add {} %before, %value"),
    "multiplied": ("%total = fmul {} %before, %value", "%total = mul {} %before, %value"),
    **{
        name: (
            # NaN, once there, stays.
            f"%is.nan = fcmp uno {{0}} %before, %before\n  %beyond = fcmp o{order} {{0}} %before, %value\n"
            "  %keep = or i1 %is.nan, %beyond\n  %total = select i1 %keep, {0} %before, {0} %value",
            f"%keep = icmp s{order} {{0}} %before, %value\n  %total = select i1 %keep, {{0}} %before, {{0}} %value",
        )
        for name, order in (("greatest", "ge"), ("least", "le"))
    },
}  # fmt: skip
_ADDED = [
    {"NAME": name, "TYPE": dtype, "LLVM": llvm, "COMBINE": of_two[dtype[0] != "f"].format(llvm)}
    for name, of_two in _COMBINED.items() for dtype, llvm in _TYPES.items() if dtype[0] in "fi"
]  # fmt: skip


def _extreme(name: str, dtype: str, llvm: str) -> dict[str, str]:
    """What the place of the greatest or least element is in LLVM."""
    verb = "gt" if name == "argmax" else "lt"
    if dtype[0] == "f":
        compare, is_nan = f"fcmp o{verb}", "fcmp uno"
    else:
        compare, is_nan = f"icmp {'s' if dtype[0] == 'i' else 'u'}{verb}", "icmp ne"
    return {"NAME": name, "TYPE": dtype, "LLVM": llvm, "COMPARE": compare, "IS_NAN": is_nan}


_EXTREMES = [_extreme(name, *each) for name in ("argmax", "argmin") for each in _TYPES.items()]
_WORD = ctypes.sizeof(ctypes.c_void_p)


def source() -> str:
    """The LLVM IR of a call."""
    at = layout.tensors() or layout.NOWHERE
    places = allocation.places() or {}
    of_tensor, of_storage = places.get(Tensor, {}), places.get(Storage, {})
    numbers = {
        "TYPE": at.type, "STORAGE": at.storage, "OFFSET": at.offset, "POINTER": at.pointer,
        "T_SIZES": of_tensor.get("_sizes"), "T_STRIDES": of_tensor.get("_strides"), "T_DTYPE": of_tensor.get("_dtype"),
        "T_DEVICE": of_tensor.get("_device"), "T_KEYS": of_tensor.get("_keys"),
        "T_VIEW_OF": of_tensor.get("_view_of"), "VIEWS": of_storage.get("views"),
        "VERSION": of_storage.get("version"), "OWNER": of_storage.get("owner"), "SLICE": object.__basicsize__,
        "KNOWN": replay.CODE_AT + _WORD, "FRAME": 2 * MOST_PLACES, "NUMBERS": MOST_PLACES,
        "MOST_NUMBER": MOST_NUMBER, "NO_AUTOCAST": ~AUTOCAST_KEYS["cpu"].bit, "GIVEN": MOST_PLACES,
        "GRAD": GRAD,
        "KEPT": MOST_KEPT,
    }  # fmt: skip
    parts = [native.source("allocation", "thread", "calls", numbers=numbers)]
    parts += [native.source("elements", numbers={"BITS": 8 * width, "BYTES": width}) for width in _WIDTHS]
    parts += [native.source("places", numbers={"BITS": 8 * width, "BYTES": width}) for width in _WIDTHS]
    parts += [native.source("adding", numbers=adding) for adding in _ADDED]
    parts += [native.source("extremes", numbers=extreme) for extreme in _EXTREMES]
    return "\n".join(parts)


_SYMBOLS = (
    "opweave_call",
    "within.64",
    *[f"{name}.{8 * width}" for name in ("copied", "chosen", "taken", "scattered") for width in _WIDTHS],
    *[f"{adding['NAME']}.{adding['TYPE']}" for adding in _ADDED],
    *[f"{extreme['NAME']}.{extreme['TYPE']}" for extreme in _EXTREMES],
)  # fmt: skip


def _imports() -> dict[str, int]:
    names = {
        "name.dict": "__dict__", "name.include": "include", "name.exclude": "exclude", "name.dtype": "dtype",
        "name.ptr": "ptr",
    }  # fmt: skip
    objects.keep_forever(names)
    kinds: dict[str, type] = {
        "PyLong_Type": int, "PyFloat_Type": float, "PyTuple_Type": tuple, "PyList_Type": list, "PySlice_Type": slice,
        "PyUnicode_Type": str, "opweave_tensor": Tensor, "opweave_size": Size,
    }  # fmt: skip
    given = {"_Py_NoneStruct": None, "opweave_zero": 0, "opweave_state": state, "opweave_default": dtypes._default,
             "note_view": Storage.note_view}  # fmt: skip
    objects.keep_forever(given)
    return (
        functions.c_api(_C_API)
        | {symbol: id(text) for symbol, text in names.items()}
        | {symbol: id(value) for symbol, value in (*kinds.items(), *given.items())}
        | {"opweave_epoch": ctypes.addressof(replay.epoch)}
    )


_CODE = objects.Code(source, "calls", objects.PROMOTED)


class Code:
    """The native code, once it is there."""

    def __init__(self) -> None:
        self.loaded: objects.LoadedCode | None = None

    def is_kept(self) -> bool:
        """Whether the cache has it."""
        return _CODE.is_kept()

    def load(self) -> None:
        """Have it there."""
        self.loaded = _CODE.load(_SYMBOLS, _imports())

    def address(self, symbol: str) -> int:
        """Of one of its functions."""
        assert self.loaded is not None
        return self.loaded.address(symbol)

    def loop(self, name: str, types: tuple[np.dtype[Any], ...]) -> int | None:
        """The address of a loop over elements of some types, as `tape.Loop` names it; None where there is none."""
        if name in (*_COMBINED, "argmax", "argmin"):
            last = [_NAMES.get(types[-1 if name in _COMBINED else 0], "")]
        else:
            last = [str(8 * types[-1].itemsize)]
        symbol = ".".join([name, *last])
        return self.address(symbol) if symbol in _SYMBOLS else None


code = Code()
