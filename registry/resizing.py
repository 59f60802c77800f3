"""Giving a tensor other sizes, in its memory or in other memory: what `out=` and `resize_` ask for.

Views, graphs and what autograd saved rely on a tensor's memory. So only a plain tensor gets other memory, which nothing
else shares; the rest is refused.
"""

from __future__ import annotations

import gc
import sys

import numpy as np

from opweave.registry.errors import ShapeError, UnsupportedError, warn_user
from opweave.registry.keys import GRAD, PYTHON_BIT, state
from opweave.registry.memory import Lease
from opweave.registry.spec import contiguous_strides, span
from opweave.registry.storage import Storage
from opweave.registry.tensor import Tensor, allocate, describe

#: References to a storage that one tensor holds, besides the argument of `getrefcount`.
_ONE = 2


def resize_result(name: str, target: Tensor, sizes: tuple[int, ...]) -> None:
    """Give a tensor that a result is written to the result's sizes, row-major, as PyTorch does.

    What was in it is lost. A warning says so where it had elements.

    Parameters
    ----------
    name : str
        Of the op, for messages.
    target : Tensor
        On a device with data.
    sizes : tuple of int
        Other than its own.

    Raises
    ------
    ShapeError
        If it needs more memory and cannot have other memory: other tensors share it, it requires grad, or it is a
        subclass.
    """
    if type(target) is not Tensor or target._keys & (GRAD | PYTHON_BIT):
        raise ShapeError(
            f"{name}: the result's shape {list(sizes)} does not fit the tensor written to", got=describe(target),
            hint="only plain tensors that require no grad are resized; pass one of the right shape",
        )  # fmt: skip
    strides = contiguous_strides(sizes)
    fits = (target._offset + span(sizes, strides)) * target._dtype.itemsize <= target._storage.nbytes
    shared = target._view_of is not None or sys.getrefcount(target._storage) > _ONE
    if not fits and (shared or _has_other_storage(target)):
        raise ShapeError(
            f"{name}: the result's shape {list(sizes)} needs more memory than the tensor written to has",
            got=f"{describe(target)}, whose memory other tensors share",
            hint="pass a tensor of the right shape, or an empty one of its own",
        )  # fmt: skip
    if target.numel():
        warn_user(
            f"An output with one or more elements was resized since it had shape {list(target._sizes)}, which does not "
            f"match the required output shape {list(sizes)}. Pass an empty tensor, or one of that shape."
        )
    if fits:
        target._sizes, target._strides, target._cached = sizes, strides, None
        return
    made = allocate(sizes, strides, target._dtype, target._device)
    version = target._storage.version
    target._storage, target._sizes, target._strides, target._offset = made._storage, sizes, strides, 0
    target._storage.version = version
    target._cached = None


def have_room(t: Tensor, sizes: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """Give a tensor memory for other sizes, if its own has no room for them.

    What was in it is copied; what is behind may be anything.

    Parameters
    ----------
    t : Tensor
        That requires no grad.
    sizes, strides : tuple of int
        What it is to show, from its offset on.

    Raises
    ------
    UnsupportedError
        If it needs more memory and cannot have other memory: other tensors share it, it comes from another library, it
        has no data, as in a trace, or is on a GPU.
    """
    storage = t._storage
    count = t._offset + span(sizes, strides)
    if count * t._dtype.itemsize <= storage.nbytes:
        return
    plain = type(t) is Tensor and not t._keys & PYTHON_BIT and not state.modes and not state.include
    # One reference more: the name here.
    shared = t._view_of is not None or sys.getrefcount(storage) > _ONE + 1
    if not plain or shared or not _is_own(t):
        raise UnsupportedError(
            f"resize_: {list(sizes)} needs more memory than the tensor has, and it keeps its memory", got=describe(t),
            hint="views, graphs and what autograd saved rely on it; make another: x = x.new_empty(sizes)",
        )  # fmt: skip
    made = allocate((count,), (1,), t._dtype, t._device)._storage
    made.bytes()[: storage.nbytes] = storage.bytes()[: storage.nbytes]
    made.version = storage.version
    t._storage, t._cached = made, None


def _has_other_storage(t: Tensor) -> bool:
    """Whether another storage looks into the memory of a tensor, as that of `x.data` does."""
    storage = t._storage
    return any(type(other) is Storage and other is not storage for other in gc.get_referrers(storage.owner))


def _is_own(t: Tensor) -> bool:
    """Whether nothing but the tensor's storage looks into its memory, which is on the CPU."""
    storage = t._storage
    is_array = type(storage.owner) is np.ndarray and storage.owner.base is None
    if not is_array and type(storage.owner) is not Lease:
        return False
    t._cached = storage._bytes = None  # arrays over it, which are made again
    return sys.getrefcount(storage.owner) <= _ONE
