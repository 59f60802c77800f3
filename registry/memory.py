"""CPU memory: 64-byte aligned blocks, kept and reused.

The first touch of fresh pages costs more than most kernels, so freed blocks wait in a list per size class instead of
going back to the system. A block is owned by every array that looks into it (it is their `base`): it comes back to
its list only when the last of them is gone, so no array can see its memory handed out again.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections import deque
from typing import Any

import numpy as np

_ALIGN = 64
_SLAB = 1 << 20
_SMALL = 1 << 16
_UINT8 = np.dtype(np.uint8)


class Block(np.ndarray):
    """A span of CPU memory that returns to the allocator when nothing refers to it any more.

    Attributes
    ----------
    ptr : int
        Address of the first byte.
    """

    __slots__ = ("ptr", "entry")
    ptr: int
    entry: tuple[int, int, Any, int]

    def __del__(self) -> None:
        # The attribute is missing on arrays that NumPy itself derives from a block; those own nothing.
        entry = getattr(self, "entry", None)
        if entry is not None:
            _give_back(entry)


class _Pool:
    """Free blocks by size class. An entry is (capacity, address, mapping, offset in the mapping)."""

    def __init__(self) -> None:
        # Reentrant: collecting garbage inside `take` may run a block's finaliser in the same thread.
        self.lock = threading.RLock()
        self.free: dict[int, deque[tuple[int, int, Any, int]]] = {}
        self.cached = 0
        self.limit = int(os.environ.get("OPWEAVE_CPU_CACHE_BYTES", str(2 << 30)))

    def take(self, capacity: int) -> tuple[int, int, Any, int]:
        with self.lock:
            waiting = self.free.get(capacity)
            if waiting:
                self.cached -= capacity
                return waiting.pop()
        return self._fresh(capacity)

    def _fresh(self, capacity: int) -> tuple[int, int, Any, int]:
        if capacity >= _SMALL:
            mapping = mmap.mmap(-1, capacity)
            if capacity >= 2 << 20 and hasattr(mmap, "MADV_HUGEPAGE"):
                mapping.madvise(mmap.MADV_HUGEPAGE)
            return capacity, _address(mapping), mapping, 0
        slab = mmap.mmap(-1, _SLAB)
        base = _address(slab)
        spare = [(capacity, base + at, slab, at) for at in range(capacity, _SLAB - capacity + 1, capacity)]
        with self.lock:
            self.free.setdefault(capacity, deque()).extend(spare)
            self.cached += capacity * len(spare)
        return capacity, base, slab, 0


def _address(mapping: mmap.mmap) -> int:
    return int(np.frombuffer(mapping, np.uint8, 1).__array_interface__["data"][0])


_pool = _Pool()


def _give_back(entry: tuple[int, int, Any, int]) -> None:
    pool, capacity = _pool, entry[0]
    with pool.lock:
        # Slab entries always come back: dropping one would not release its slab.
        if capacity < _SMALL or pool.cached + capacity <= pool.limit:
            pool.free.setdefault(capacity, deque()).append(entry)
            pool.cached += capacity


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
    MemoryError
        If the system has no such span.
    """
    try:
        entry = _pool.take(_size_class(nbytes))
    except (OSError, ValueError, OverflowError) as error:
        raise MemoryError(f"cannot allocate {nbytes} bytes of CPU memory: {error}") from None
    block = np.ndarray.__new__(Block, (entry[0],), _UINT8, entry[2], entry[3])
    block.entry = entry
    block.ptr = entry[1]
    return block


def empty_cache() -> None:
    """Give cached CPU blocks back to the system (those carved from shared slabs stay)."""
    with _pool.lock:
        for capacity, waiting in _pool.free.items():
            if capacity >= _SMALL:
                _pool.cached -= capacity * len(waiting)
                waiting.clear()


def cached_bytes() -> int:
    """Bytes waiting for reuse."""
    return _pool.cached
