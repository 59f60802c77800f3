"""`Tensor.__dlpack_c_exchange_api__`: how other libraries take and make tensors, by DLPack's table of C functions.

The table is native code (`codegen.native.exchange`), made when somebody first asks for it. What is here is what that
code leaves to Python: tensors that are not plain, memory of other devices, and errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opweave.registry import memory
from opweave.registry.device import Device, cpu, cuda, parse_device
from opweave.registry.dlpack import opened
from opweave.registry.dtypes import BY_DLPACK, DType
from opweave.registry.errors import ArgumentError, AutogradError, DeviceError, DTypeError, ShapeError, UnsupportedError
from opweave.registry.hooks import Hook
from opweave.registry.interrupts import let_through
from opweave.registry.keys import BATCHED_BIT, GRAD, PYTHON_BIT, state
from opweave.registry.memory import Foreign, Lease
from opweave.registry.spec import contiguous_strides, span
from opweave.registry.storage import Storage
from opweave.registry.tensor import Tensor, describe, make, when_read

#: Of the table, and of the tensors that are handed out.
VERSION = (1, 3)
#: DLPack's number of main memory that a GPU reads, too.
_CUDA_HOST = 3
_READ_ONLY = 1
#: Makes the table, as a capsule; None where native code cannot know how objects are laid out. `opweave` supplies it.
make_table: Hook[[], Any] = Hook()


class _Table:
    """`Tensor.__dlpack_c_exchange_api__` until it is first read, which puts the table in its place."""

    def __get__(self, instance: object, owner: type) -> Any:
        made = None if make_table.call is None else make_table.call()
        if made is None:  # consumers then ask for `__dlpack__`
            raise AttributeError("__dlpack_c_exchange_api__")
        setattr(Tensor, "__dlpack_c_exchange_api__", made)  # noqa: B010  # of the class, whatever its subclass is
        return made


setattr(Tensor, "__dlpack_c_exchange_api__", _Table())  # noqa: B010

# ---- tensors that go out -------------------------------------------------------------------------------------------

_WHAT = "a call of another library"


def facts(t: Any) -> tuple[int, int, int, int]:
    """Where a tensor's data is: the address of its first element, DLPack's device and its number, flags.

    Raises
    ------
    DataDependentError
        If it has no data, as a fake tensor, or other data for each example of a `vmap`.
    UnsupportedError
        If it is of a class that handles ops itself: what its data is, it alone knows.
    AutogradError
        If it requires grad, and this is no kernel: the other library would lose track of it.
    """
    if not isinstance(t, Tensor):
        raise ArgumentError(f"{_WHAT}: expected a Tensor", got=f"{t!r} ({type(t).__name__})")
    if state.modes:
        t._look(_WHAT)
    if when_read.call is not None:
        t._hand_out("numpy")
    if t._keys & BATCHED_BIT:
        t.data_ptr()
    if t._keys & PYTHON_BIT:
        t.data_ptr()
        raise UnsupportedError(
            f"{_WHAT}: {type(t).__name__} handles ops itself", got=describe(t), hint="pass the tensor that it wraps"
        )
    if t._keys & GRAD and not state.exclude & GRAD:
        raise AutogradError(
            f"{_WHAT}: the tensor requires grad, and the library would lose track of it", got=describe(t),
            hint="use x.detach(), or make the function an op and register its gradient (opweave.library.register_ffi)",
        )  # fmt: skip
    storage = t._storage
    address = storage.ptr + t._offset * t._dtype.itemsize
    if not t._device.is_host:
        return address, *t._device.__dlpack_device__(), 0
    read_only = type(storage.owner) is not Lease and not storage.bytes().flags.writeable
    return address, cpu.memory.dlpack, 0, _READ_ONLY if read_only else 0


# ---- tensors that come in ------------------------------------------------------------------------------------------


def dtype_of(code: int, bits: int, lanes: int) -> DType:
    """The element type that DLPack describes so.

    Raises
    ------
    DTypeError
        If opweave has none.
    """
    found = BY_DLPACK.get(code | bits << 8 | lanes << 16)
    if found is None:
        raise DTypeError(
            "a tensor of another library: opweave has no such element type",
            got=f"DLPack's code {code}, {bits} bits, {lanes} lanes",
            hint="supported: " + ", ".join(dtype.name for dtype in BY_DLPACK.values()),
        )
    return found


def device_of(kind: int, number: int) -> Device:
    """The device that DLPack has numbers for.

    Raises
    ------
    DeviceError
        If opweave has none.
    """
    if kind in (cpu.memory.dlpack, _CUDA_HOST):
        return cpu
    if kind == cuda.memory.dlpack:
        return Device("cuda", number)
    raise DeviceError("a tensor of another library: opweave has no such device", got=f"DLPack's device {kind}:{number}")


def _unpacked(word: int) -> tuple[int, int, int]:
    return word & 255, word >> 8 & 255, word >> 16


def _check_sizes(ndim: int, sizes: Sequence[int], what: str) -> None:
    if ndim < 0 or any(size < 0 for size in sizes):
        raise ShapeError(f"{what}: sizes must not be negative", got=f"{ndim} dimensions, sizes {tuple(sizes)}")


def adopt(capsule: object, about: tuple[int, int, int, int, int, int], sizes: tuple[int, ...], strides: Any) -> Tensor:
    """A tensor on another library's memory.

    Parameters
    ----------
    capsule : object
        What keeps the memory.
    about : tuple of int
        The number of dimensions, the word of the dtype (`DType.dlpack`), the address, DLPack's device and its number,
        flags.
    sizes : tuple of int
        Sizes.
    strides : tuple of int or None
        Strides in elements; those of a row-major layout where None.

    Raises
    ------
    DTypeError, DeviceError
        If opweave has no such element type or device, or the memory may not be written.
    ShapeError
        If sizes or strides are negative, or nothing is at the address.
    """
    ndim, word, address, kind, number, flags = about
    what = "a tensor of another library"
    dtype, device = dtype_of(*_unpacked(word)), device_of(kind, number)
    _check_sizes(ndim, sizes, what)
    if flags & _READ_ONLY:
        raise DTypeError(f"{what}: its memory is read-only", hint="pass a copy: tensors of opweave can be written")
    steps = contiguous_strides(sizes) if strides is None else strides
    if any(step < 0 and size > 1 for size, step in zip(sizes, steps, strict=True)):
        raise ShapeError(f"{what}: strides must not be negative", got=f"strides {steps}", hint="pass a copy")
    steps = tuple([max(step, 0) for step in steps])
    nbytes = span(sizes, steps) * dtype.itemsize
    if nbytes > 2**63 - 1 or (nbytes and not address):
        raise ShapeError(f"{what}: it has no memory", got=f"sizes {sizes}, strides {steps} at address {address}")
    owner: Any = Foreign(capsule, address & (2**64 - 1), nbytes)
    if not device.is_host:
        xp = device.xp
        span_of = xp.cuda.UnownedMemory(owner.address, max(nbytes, 1), owner, device.index)
        owner = xp.ndarray((nbytes,), "u1", xp.cuda.MemoryPointer(span_of, 0))
    return make(Storage(device, nbytes, owner, address & (2**64 - 1)), sizes, steps, 0, dtype, device)


def refuse(about: tuple[int]) -> None:
    """Refuse a tensor of a version of DLPack that is not known, of which nothing else can be told."""
    raise UnsupportedError(
        "a tensor of another library: it is of another version of DLPack", got=f"version {about[0]}",
        hint=f"version {VERSION[0]} is known here",
    )  # fmt: skip


def from_dlpack(source: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor that shares the memory of another library's array.

    Parameters
    ----------
    source : object
        An array that speaks DLPack: of NumPy, CuPy, PyTorch, JAX, tvm-ffi. Or the capsule that its `__dlpack__` gave.
    device : Device or str, optional
        Where the tensor is to be; where the array is by default. On another device it is a copy.
    copy : bool, optional
        True: always a copy. False: never one, or an error. None: only for another device.

    Raises
    ------
    ArgumentError
        If it does not speak DLPack.
    DTypeError, DeviceError, ShapeError
        If opweave has no such tensors, or the memory may not be written.

    Examples
    --------
    >>> import numpy as np
    >>> opweave.from_dlpack(np.ones(2, dtype=np.float32))
    tensor([1., 1.])
    """
    capsule = source if type(source).__name__ == "PyCapsule" else _capsule_of(source)
    found = opened(capsule)
    if found is None:
        raise ArgumentError(
            "from_dlpack: what __dlpack__ gave is no tensor, or was taken before", got=repr(capsule),
            hint="a capsule can be taken once: ask the array for another one",
        )  # fmt: skip
    lent, managed = found
    if managed is not None and managed.major != VERSION[0]:
        refuse((managed.major,))
    ndim = max(lent.ndim, 0)
    flags = 0 if managed is None else managed.flags
    if copy:
        flags &= ~_READ_ONLY
    about = lent.ndim, lent.dtype, lent.data + lent.byte_offset, lent.device, lent.number, flags
    # The capsule gives the memory back when it goes.
    made: Any = adopt(capsule, about, tuple(lent.shape[:ndim]), tuple(lent.strides[:ndim]) if lent.strides else None)
    target = made._device if device is None else parse_device(device)
    if target is not made._device:
        if copy is False:
            raise DeviceError(
                f"from_dlpack: from {made._device} to {target} only a copy comes", got="copy=False", hint="copy=None"
            )
        return made.to(target)
    return made.clone() if copy else made


def _capsule_of(source: Any) -> Any:
    if not hasattr(source, "__dlpack__"):
        raise ArgumentError(
            "from_dlpack: expected an array that speaks DLPack", got=f"{source!r} ({type(source).__name__})",
            hint="opweave.tensor(data) takes lists and numbers",
        )  # fmt: skip
    try:
        return source.__dlpack__(max_version=VERSION)
    except TypeError as error:  # written before there were versions
        let_through(error)
        return source.__dlpack__()


# ---- memory and streams --------------------------------------------------------------------------------------------


def lend(about: tuple[int, int, int, int], sizes: tuple[int, ...]) -> tuple[Any, int]:
    """Memory for another library's result: what keeps it, and its address.

    Parameters
    ----------
    about : tuple of int
        The number of dimensions, the word of the dtype, DLPack's device and its number.
    sizes : tuple of int
        Sizes.

    Raises
    ------
    DTypeError, DeviceError, ShapeError
        As `adopt`.
    OutOfMemoryError
        If there is not so much.
    """
    ndim, word, kind, number = about
    dtype, device = dtype_of(*_unpacked(word)), device_of(kind, number)
    _check_sizes(ndim, sizes, "memory for another library")
    nbytes = math.prod(sizes) * dtype.itemsize
    if device.is_host:
        lease = memory.allocate(nbytes)
        return lease, lease.span.ptr
    array = device.memory.allocate(nbytes, device.index)
    return array, int(array.data.ptr)


def work_stream(about: tuple[int, int]) -> int:
    """The stream that a device's work goes to.

    Parameters
    ----------
    about : tuple of int
        DLPack's device and its number.
    """
    kind, number = about
    if kind != cuda.memory.dlpack:
        return 0
    with cuda.xp.cuda.Device(number):
        return int(cuda.xp.cuda.get_current_stream().ptr)
