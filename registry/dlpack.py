"""DLPack's structures, as its capsules hold them."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

#: The names of capsules that nobody has taken yet, with a version before the tensor and without.
VERSIONED, PLAIN = b"dltensor_versioned", b"dltensor"


class Lent(ctypes.Structure):
    """DLPack's `DLTensor`."""

    _fields_ = [
        ("data", ctypes.c_int64), ("device", ctypes.c_int32), ("number", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint32), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_int64),
    ]  # fmt: skip


class Versioned(ctypes.Structure):
    """What begins a `DLManagedTensorVersioned`."""

    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", Lent),
    ]  # fmt: skip


@functools.cache
def _getter() -> Any:
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    return prototype(("PyCapsule_GetPointer", ctypes.pythonapi))


def opened(capsule: Any) -> tuple[Lent, Versioned | None] | None:
    """The tensor in a capsule, with what stands before it; None if it is no tensor's, or was taken."""
    is_valid = ctypes.pythonapi.PyCapsule_IsValid
    if is_valid(ctypes.py_object(capsule), VERSIONED):
        managed = Versioned.from_address(_getter()(capsule, VERSIONED))
        return managed.tensor, managed
    if is_valid(ctypes.py_object(capsule), PLAIN):
        return Lent.from_address(_getter()(capsule, PLAIN)), None
    return None


def relabelled(capsule: Any, word: int) -> Any:
    """A capsule of bits as one of numbers: its tensor gets the element type (`DType.dlpack`)."""
    found = opened(capsule)
    assert found is not None, "who made a capsule has not given it away"
    found[0].dtype = word
    return capsule
