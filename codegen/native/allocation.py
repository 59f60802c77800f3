"""New tensors of a fixed layout, made by a C function: what a compiled function returns.

`allocation.ll` does what `registry.tensor.allocate_bytes` does, whose slots it knows from `layout`. Where it does not,
where no memory is free, and on other devices, Python allocates.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable
from typing import Any

from opweave.codegen import native
from opweave.codegen.native import functions, layout, objects
from opweave.registry import memory
from opweave.registry.device import Device
from opweave.registry.dtypes import DType, float32
from opweave.registry.memory import Lease, Span
from opweave.registry.spec import span
from opweave.registry.storage import Storage
from opweave.registry.tensor import Tensor, allocate, key_bits

_C_API = (
    "PyTuple_GetItem", "PyLong_AsVoidPtr", "PyObject_Vectorcall", "PyErr_Clear", "Py_IncRef", "Py_DecRef",
)  # fmt: skip


def source() -> str:
    """The LLVM IR of what makes tensors."""
    return native.source("allocation", numbers={})


CODE = objects.Code(source, "tensors", objects.PROMOTED)


def allocator(sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> Callable[[], Tensor]:
    """A function that makes uninitialised tensors of one layout.

    Parameters
    ----------
    sizes, strides, dtype, device
        As of `registry.tensor.allocate`.
    """
    found = words(sizes, strides, dtype, device, key_bits(device))
    if found is None:
        return functools.partial(allocate, sizes, strides, dtype, device)
    return functions.function(_definition(), found, "new_tensor")


def words(
    sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device, keys: int
) -> tuple[int, tuple[Any, ...]] | None:
    """The address of the `%New` that makes such tensors, and what has to live as long; None where Python makes them."""
    otherwise = functools.partial(allocate, sizes, strides, dtype, device)
    known = places() if device.is_host else None
    if known is None:
        return None
    nbytes = span(sizes, strides) * dtype.itemsize
    pop = memory.free_list(nbytes).pop
    values = {
        "device": device, "nbytes": nbytes, "version": 0, "saved": False, "_sizes": sizes, "_strides": strides,
        "_offset": 0, "_dtype": dtype, "_device": device, "_keys": keys,
    }  # fmt: skip
    of_storage, of_tensor = (
        [(known[kind][name], values.get(name)) for name in _FIXED[kind]] for kind in (Storage, Tensor)
    )
    laid = [
        *map(id, (pop, otherwise, object.__new__, Lease, Storage, Tensor)),
        known[Lease]["__del__"], known[Lease]["span"], known[Span]["release"], known[Span]["ptr"],
        known[Storage]["owner"], known[Storage]["_ptr"], known[Tensor]["_storage"], len(of_storage), len(of_tensor),
        *(word for place, value in (*of_storage, *of_tensor) for word in (place, id(value))),
    ]  # fmt: skip
    packed = ctypes.create_string_buffer(struct.pack(f"{len(laid)}Q", *laid))
    return ctypes.addressof(packed), (packed, pop, otherwise, [value for _, value in (*of_storage, *of_tensor)])


@functools.cache
def _definition() -> functions.MethodDef:
    code = CODE.load(("opweave_new",), functions.c_api(_C_API))
    return functions.definition("new_tensor", code.address("opweave_new"), functions.NOARGS, "A new tensor.")


#: Slots that are the same in all tensors of a layout; None where `allocator` has no other value.
_FIXED: dict[type, tuple[str, ...]] = {
    Storage: ("device", "nbytes", "version", "saved", "_bytes", "views"),
    Tensor: (
        "_sizes", "_strides", "_offset", "_dtype", "_device", "_keys", "_cached", "_view_of", "_autograd",
    ),
}  # fmt: skip


@functools.cache
def places() -> dict[type, dict[str, int]] | None:
    """Where the slots are, by class; None where that cannot be told, or where classes have others."""
    sample: Any = allocate((1,), (1,), float32, Device("cpu"))
    storage = sample._storage
    lease = storage.owner
    samples = {
        Tensor: (sample, ("_storage", *_FIXED[Tensor])), Storage: (storage, ("owner", "_ptr", *_FIXED[Storage])),
        Lease: (lease, ("__del__", "span")), Span: (lease.span, ("release", "ptr")),
    }  # fmt: skip
    found = {kind: {name: layout.slot(of, name) for name in names} for kind, (of, names) in samples.items()}
    if any(place is None for slots in found.values() for place in slots.values()):
        return None
    return {kind: {name: place or 0 for name, place in slots.items()} for kind, slots in found.items()}
