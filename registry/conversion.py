"""Tensors of what others hold: `asarray` and `frombuffer`, as PyTorch has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.registry.device import Device, cpu, parse_device
from opweave.registry.dtypes import DType, as_dtype
from opweave.registry.errors import ArgumentError, ShapeError
from opweave.registry.exchange import from_dlpack
from opweave.registry.ops import copies, creation
from opweave.registry.tensor import Tensor, from_numpy


def asarray(
    obj: Any, *, dtype: DType | None = None, device: Device | str | None = None, copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of data, which shares memory with it where it can.

    Parameters
    ----------
    obj : Tensor, array, object that speaks DLPack, buffer, number or nested sequence
        A tensor is given back as it is, an array or buffer lends its memory, numbers are copied.
    dtype, device : optional
        Where the data has another type, or is elsewhere, it is copied.
    copy : bool, optional
        True: always copy. False: never, which is an error where it must be.
    requires_grad : bool
        Whether autograd records what is done with a tensor that is new.

    Raises
    ------
    ArgumentError
        If `copy` is false and the data has to be copied.

    Examples
    --------
    >>> opweave.asarray([1.0, 2.0])
    tensor([1., 2.])
    """
    wanted = None if dtype is None else as_dtype(dtype)
    shared = True
    if not isinstance(obj, (Tensor, np.ndarray, np.generic)) and hasattr(obj, "__array_interface__"):
        obj = np.asarray(obj)
    if isinstance(obj, Tensor):
        found = obj
    elif isinstance(obj, np.ndarray) and obj.flags.writeable and all(stride >= 0 for stride in obj.strides):
        found = from_numpy(obj)
    elif not isinstance(obj, np.generic) and hasattr(obj, "__dlpack__") and not isinstance(obj, np.ndarray):
        found = from_dlpack(obj)
    elif isinstance(obj, (bytearray, memoryview)):
        found = frombuffer(obj, dtype=wanted or creation.get_default_dtype())
    else:
        shared = False
        found = creation.tensor(obj, dtype=wanted)
    place = found._device if device is None else parse_device(device)
    changed = found._dtype is not (wanted or found._dtype) or found._device is not place
    if copy is False and (changed or not shared):
        raise ArgumentError("asarray: the data would have to be copied", got=f"copy=False, {type(obj).__name__}")
    if changed:
        found = copies.to(found, device=place, dtype=wanted or found._dtype)
    elif copy and shared:
        found = found.clone()
    if requires_grad and not found.requires_grad:
        return found.detach().requires_grad_()
    return found


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A vector over the memory of an object that has Python's buffer protocol.

    Parameters
    ----------
    buffer : bytes-like
        Whose memory is shared; that of `bytes` is copied, since tensors can be written.
    dtype : DType
        Of the elements.
    count : int
        How many; -1: as many as there are.
    offset : int
        Bytes before the first.
    requires_grad : bool
        Whether autograd records what is done with it.

    Raises
    ------
    ShapeError
        If there are fewer elements, or none, or the bytes do not make whole ones.

    Examples
    --------
    >>> opweave.frombuffer(bytearray(b"ab"), dtype=opweave.uint8)
    tensor([97, 98], dtype=opweave.uint8)
    """
    kind = as_dtype(dtype)
    view = memoryview(buffer).cast("B")
    there = len(view) - offset
    if not 0 <= offset < max(len(view), 1) or not len(view):
        raise ShapeError("frombuffer: offset must be inside the buffer", got=f"offset={offset} of {len(view)} bytes")
    if count == 0 or count < -1:
        raise ShapeError("frombuffer: count must be positive, or -1", got=f"count={count}")
    if count == -1:
        if there % kind.itemsize:
            raise ShapeError("frombuffer: the bytes make no whole elements", got=f"{there} bytes of {kind.name}")
        count = there // kind.itemsize
    if count * kind.itemsize > there:
        raise ShapeError("frombuffer: the buffer is too small", got=f"{there} bytes for {count} of {kind.name}")
    array = np.frombuffer(view, np.uint8, count * kind.itemsize, offset)
    typed = array.view(kind.numpy)
    if not typed.flags.writeable:
        typed = typed.copy()
    if kind.bits is not None:
        found = Tensor._from_array(typed, cpu)
    else:
        found = from_numpy(typed)
    return found.requires_grad_() if requires_grad else found
