"""C functions made at run time, as a C extension would define them."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterable
from typing import Any

from opweave.codegen.native import objects

FASTCALL, NOARGS = 0x80, 0x04  # METH_FASTCALL, METH_NOARGS


class MethodDef(ctypes.Structure):
    """CPython's `PyMethodDef`."""

    _fields_ = [
        ("ml_name", ctypes.c_char_p),
        ("ml_meth", ctypes.c_void_p),
        ("ml_flags", ctypes.c_int),
        ("ml_doc", ctypes.c_char_p),
    ]


def definition(name: str, address: int, flags: int, text: str) -> MethodDef:
    """What all functions of one code share; never freed, as the code must never be.

    Parameters
    ----------
    name, text : str
        Of the functions.
    address : int
        Of their code.
    flags : int
        `FASTCALL` or `NOARGS`.
    """
    made = MethodDef(name.encode(), address, flags, text.encode())
    objects.keep_forever(made)
    return made


def function(of: MethodDef, owner: object, module: str) -> Callable[..., Any]:
    """A function that is given `owner` as its `self`, and keeps it alive."""
    return _new()(ctypes.addressof(of), owner, module)


def c_api(names: Iterable[str]) -> dict[str, int]:
    """Addresses of functions of Python's C API, by name."""
    return {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in names}


@functools.cache
def _new() -> Callable[[int, object, object], Any]:
    """`PyCFunction_NewEx(definition, self, module)`."""
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
    return prototype(("PyCFunction_NewEx", ctypes.pythonapi))
