"""Where Python keeps what native code reads: offsets into objects, as this interpreter lays them out.

A slot's offset stands in its descriptor. Nothing of the interpreter's promises where; so what is found is tried on an
object, and where it does not hold, there is no layout and Python reads the objects.
"""

from __future__ import annotations

import ctypes
import functools
from typing import NamedTuple

from opweave.registry.device import Device
from opweave.registry.dtypes import float32
from opweave.registry.tensor import allocate

_WORD = ctypes.sizeof(ctypes.c_void_p)


class TensorLayout(NamedTuple):
    """Bytes from the start of an object.

    Attributes
    ----------
    type : int
        Of any object's type.
    storage, offset : int
        Of a tensor's slots.
    pointer : int
        Of its storage's address.
    sizes, strides, dtype, keys : int
        Of a tensor's slots.
    """

    type: int
    storage: int
    offset: int
    pointer: int
    sizes: int
    strides: int
    dtype: int
    keys: int


#: Stands in native code that is never asked, where there is no layout.
NOWHERE = TensorLayout(*[0] * 8)


@functools.cache
def tensors() -> TensorLayout | None:
    """The layout of tensors; None where native code cannot know it."""
    sample = allocate((1,), (1,), float32, Device("cpu"))
    head = object.__basicsize__ - _WORD
    names = ("_storage", "_offset", "_sizes", "_strides", "_dtype", "_keys")
    storage, offset, *rest = (slot(sample, name) for name in names)
    found = (storage, offset, slot(sample._storage, "_ptr"), *rest)
    if _read(sample, head) != id(type(sample)) or None in found:
        return None
    return TensorLayout(head, *(place or 0 for place in found))


def slot(sample: object, name: str) -> int | None:
    """Where objects of a class have a slot.

    Parameters
    ----------
    sample : object
        One of them, whose slot holds something.
    name : str
        Of the slot.

    Returns
    -------
    int or None
        Bytes from the start; None where it cannot be told.
    """
    kind = type(sample)
    descriptor = next((c.__dict__[name] for c in kind.__mro__ if name in c.__dict__), None)
    if type(descriptor).__name__ != "member_descriptor":
        return None
    # Behind the head of each object: its class, its name and qualified name, and the `PyMemberDef`, whose third
    # word is the offset.
    member = ctypes.c_void_p.from_address(id(descriptor) + object.__basicsize__ + 3 * _WORD).value
    place = ctypes.c_ssize_t.from_address(member + 2 * _WORD).value if member else 0
    if not 0 < place < kind.__basicsize__ or _read(sample, place) != id(getattr(sample, name)):
        return None
    return place


def _read(of: object, place: int) -> int | None:
    return ctypes.c_void_p.from_address(id(of) + place).value
