"""CPU memory: 64-byte aligned blocks, kept and reused.

The first touch of fresh pages costs more than most kernels, so freed blocks wait in a list per size class instead of
going back to the system. A block is owned by every array that looks into it (it is their `base`): it comes back to
its list only when the last of them is gone, so no array can see its memory handed out again.
"""

from __future__ import annotations

import math
import mmap
import os
import threading
from collections import deque
from typing import Any

import numpy as np

from opweave.registry.errors import OutOfMemoryError

_ALIGN = 64
_SLAB = 1 << 20
_SMALL = 1 << 16
_UINT8 = np.dtype(np.uint8)

#: (capacity, address, mapping, offset in the mapping)
Entry = tuple[int, int, mmap.mmap, int]


class Block(np.ndarray):
    """A span of CPU memory that returns to the allocator when nothing refers to it any more.

    Attributes
    ----------
    ptr : int
        Address of the first byte.
    """

    __slots__ = ("entry", "home", "ptr")
    ptr: int
    entry: Entry
    home: deque[Entry]

    def __del__(self) -> None:
        try:
            entry = self.entry
        except AttributeError:  # an array that NumPy itself derives from a block owns nothing
            return
        capacity = entry[0]
        # Small blocks always come back, since dropping one would not release its slab.
        if capacity < _SMALL:
            self.home.append(entry)
            return
        pool = _pool
        with pool.lock:
            if pool.cached + capacity <= pool.limit:  # enough may be kept already
                pool.cached += capacity
                self.home.append(entry)


class _Pool:
    """Free blocks by size class. Small ones are carved from shared slabs, each large one is a mapping of its own."""

    def __init__(self) -> None:
        # Reentrant: collecting garbage while it is held may run a block's finaliser in the same thread. Taking from
        # and adding to a deque is atomic, so only the count of bytes and the dicts need the lock.
        self.lock = threading.RLock()
        self.free: dict[int, deque[Entry]] = {}
        self.home_of: dict[int, tuple[int, deque[Entry]]] = {}
        self.cached = 0
        self.limit = int(os.environ.get("OPWEAVE_CPU_CACHE_BYTES", str(2 << 30)))

    def home(self, nbytes: int) -> tuple[int, deque[Entry]]:
        """Size class of a request, and its free list; remembered by the exact size."""
        capacity = _size_class(nbytes)
        with self.lock:
            if len(self.home_of) > 1 << 14:
                self.home_of.clear()
            found = self.home_of[nbytes] = capacity, self.free.setdefault(capacity, deque())
        return found

    def fresh(self, capacity: int, home: deque[Entry]) -> Entry:
        """A block that was never used."""
        if capacity >= _SMALL:
            mapping = mmap.mmap(-1, capacity)
            if capacity >= 2 << 20 and hasattr(mmap, "MADV_HUGEPAGE"):
                mapping.madvise(mmap.MADV_HUGEPAGE)
            return capacity, _address(mapping), mapping, 0
        slab = mmap.mmap(-1, _SLAB)
        base = _address(slab)
        home.extend((capacity, base + at, slab, at) for at in range(capacity, _SLAB - capacity + 1, capacity))
        return capacity, base, slab, 0


def _address(mapping: mmap.mmap) -> int:
    return int(np.frombuffer(mapping, np.uint8, 1).__array_interface__["data"][0])


_pool = _Pool()
_homes = _pool.home_of
_new_array = np.ndarray.__new__


def _size_class(nbytes: int) -> int:
    """Round up to one of four steps an octave, at least a cache line (a page above the slab sizes)."""
    if nbytes <= _ALIGN:
        return _ALIGN
    step = 1 << max((nbytes - 1).bit_length() - 3, 12 if nbytes > _SMALL else 6)
    return (nbytes + step - 1) // step * step


def allocate(nbytes: int) -> Block:
    """An uninitialised block of at least `nbytes` bytes, 64-byte aligned.

    Raises
    ------
    OutOfMemoryError
        If the system has no such span.
    """
    try:
        capacity, home = _homes.get(nbytes) or _pool.home(nbytes)
        try:
            if capacity < _SMALL:
                entry = home.pop()
            else:
                with _pool.lock:
                    entry = home.pop()
                    _pool.cached -= capacity
        except IndexError:
            entry = _pool.fresh(capacity, home)
    except (OSError, ValueError, OverflowError) as error:
        raise OutOfMemoryError(
            f"cannot allocate {nbytes} bytes of CPU memory", got=str(error), hint="check the sizes; is one a typo?"
        ) from None
    block = _new_array(Block, (capacity,), _UINT8, entry[2], entry[3])
    block.entry = entry
    block.home = home
    block.ptr = entry[1]
    return block


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An uninitialised row-major array on a block of its own.

    NumPy's own small arrays are 16-byte aligned, which makes sums into one take up to 1.4 times as long.
    """
    return np.ndarray(shape, dtype, allocate(math.prod(shape) * dtype.itemsize))


def empty_cache() -> None:
    """Give cached CPU blocks back to the system (those carved from shared slabs stay)."""
    with _pool.lock:
        for capacity, waiting in _pool.free.items():
            if capacity >= _SMALL:
                _pool.cached -= capacity * len(waiting)
                waiting.clear()


def cached_bytes() -> int:
    """Bytes of large blocks that wait for reuse."""
    return _pool.cached
