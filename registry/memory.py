"""CPU memory: 64-byte aligned blocks, kept and reused.

The first touch of fresh pages costs more than most kernels, so freed blocks wait in a list per size class instead of
going back to the system. A block is leased by every tensor and array that looks into it (`Lease`): it comes back to
its list only when the last of them is gone, so no array can see its memory handed out again.

Coming back runs no Python code, since the handler of a signal would run there, and Python drops what a finaliser
raises. So which large blocks may wait is settled when memory is mapped, and not when they come back: those that may,
in use or waiting, are together no larger than `OPWEAVE_CPU_CACHE_BYTES` (2 GiB). Where one more would exceed that,
the oldest in use lose the right and go to the system once they are free: weights do not hold it for good, and what
waits stays within the limit though a program frees all it has and never allocates again.

The memory belongs to one process: a forked child has what its parent had, as it was, in pages of its own.
"""

from __future__ import annotations

import math
import mmap
import os
import weakref
from collections import deque
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from opweave.registry import forking
from opweave.registry.errors import OutOfMemoryError
from opweave.registry.interrupts import let_through

_ALIGN = 64
_SLAB = 1 << 20
_SMALL = 1 << 16
_BATCH = 64  # spans that are carved from a slab at once
_UINT8 = np.dtype(np.uint8)


class Span:
    """Memory that one block at a time may use.

    Attributes
    ----------
    capacity : int
        Bytes.
    ptr : int
        Address of the first.
    mapping : mmap
        The pages, `offset` bytes into which it begins.
    release : callable
        Puts it back to the list it came from.
    waiting : list of Span
        Of a large one, what `release` puts there: itself, or nothing once it was dropped.
    """

    __slots__ = ("__weakref__", "capacity", "mapping", "offset", "ptr", "release", "waiting")

    def __init__(self, capacity: int, mapping: mmap.mmap, base: int, offset: int, home: deque[Span]) -> None:
        self.capacity = capacity
        self.mapping = mapping
        self.offset = offset
        self.ptr = base + offset
        self.release: Any
        if capacity < _SMALL:  # always comes back, since dropping it would not release its slab
            self.release = partial(home.append, self)
        else:
            self.waiting = [self]
            self.release = partial(home.extend, self.waiting)

    def drop(self) -> None:
        """Let the pages go with the last reference to them, now or when the block is gone."""
        self.waiting.clear()


class Lease:
    """The use of a span of CPU memory, which returns to the allocator when nothing refers to the lease any more.

    The finaliser of a lease is what stands in its slot `__del__`, which is implemented in C.

    Attributes
    ----------
    span : Span
        The memory.
    """

    __slots__ = ("__del__", "span")
    span: Span

    @property
    def ptr(self) -> int:
        """Address of the first byte."""
        return self.span.ptr

    @property
    def nbytes(self) -> int:
        """How many there are."""
        return self.span.capacity

    def array(self) -> np.ndarray[Any, Any]:
        """The bytes; the array keeps the lease."""
        span = self.span
        found: Any = _new_array(_Bytes, (span.capacity,), _UINT8, span.mapping, span.offset)
        found.lease = self
        return found


class Foreign:
    """Memory of the CPU that another library lends, and gets back with the last reference to this.

    Attributes
    ----------
    capsule : object
        What gives it back when it goes.
    address, nbytes : int
        Of the memory.
    """

    __slots__ = ("capsule", "address", "nbytes")

    def __init__(self, capsule: Any, address: int, nbytes: int) -> None:
        self.capsule, self.address, self.nbytes = capsule, address, nbytes

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {"data": (self.address, False), "shape": (self.nbytes,), "typestr": "|u1", "version": 3}

    def array(self) -> np.ndarray[Any, Any]:
        """The bytes; the array keeps the memory."""
        return np.asarray(self)


class _Bytes(np.ndarray):
    """An array of the bytes of a lease; what NumPy derives from it has it as its base."""

    __slots__ = ("lease",)


class _Pool:
    """Free blocks by size class. Small ones are carved from shared slabs, each large one is a mapping of its own."""

    def __init__(self) -> None:
        # Reentrant: collecting garbage while it is held may run a block's finaliser in the same thread. Taking from
        # and adding to a deque is atomic, so only the dicts and what may wait need the lock.
        self.lock = forking.short_lock()
        self.free: dict[int, deque[Span]] = {}
        self.home_of: dict[int, tuple[int, deque[Span]]] = {}
        #: Of each small size, the slab that is being carved: its address, and where its unused parts begin.
        self.slabs: dict[int, tuple[mmap.mmap, int, Iterator[int]]] = {}
        #: Large spans that may wait, oldest first, and their bytes (those that are gone count until `make_room` looks).
        self.kept: list[weakref.ref[Span]] = []
        self.kept_bytes = 0
        self.limit = int(os.environ.get("OPWEAVE_CPU_CACHE_BYTES", str(2 << 30)))

    def home(self, nbytes: int) -> tuple[int, deque[Span]]:
        """Size class of a request, and its free list; remembered by the exact size."""
        capacity = _size_class(nbytes)
        with self.lock:
            if len(self.home_of) > 1 << 14:
                self.home_of.clear()
            found = self.home_of[nbytes] = capacity, self.free.setdefault(capacity, deque())
        return found

    def fresh(self, capacity: int, home: deque[Span]) -> Span:
        """A span that was never used."""
        if capacity >= _SMALL:
            mapping = _map(capacity)
            if capacity >= 2 << 20 and hasattr(mmap, "MADV_HUGEPAGE"):
                mapping.madvise(mmap.MADV_HUGEPAGE)
            span = Span(capacity, mapping, _address(mapping), 0, home)
            with self.lock:
                if self.kept_bytes + capacity > self.limit:
                    self.make_room(capacity)
                if self.kept_bytes + capacity <= self.limit:
                    self.kept_bytes += capacity
                    self.kept.append(weakref.ref(span))
                else:
                    span.drop()
            return span
        slab, base, starts = self.slabs.get(capacity) or (None, 0, iter(()))
        start = next(starts, None)  # atomic: a finaliser or a signal's handler may come here meanwhile
        if slab is None or start is None:
            slab, start = _map(_SLAB), 0
            base, starts = _address(slab), iter(range(_BATCH * capacity, _SLAB - capacity + 1, _BATCH * capacity))
            self.slabs[capacity] = slab, base, starts
        end = min(start + _BATCH * capacity, _SLAB - capacity + 1)
        home.extend([Span(capacity, slab, base, at, home) for at in range(start + capacity, end, capacity)])
        return Span(capacity, slab, base, start, home)

    def large(self) -> list[tuple[int, deque[Span]]]:
        """Size and list of the classes whose spans are mappings of their own."""
        return [(size, waiting) for size, waiting in list(self.free.items()) if size >= _SMALL]

    def make_room(self, capacity: int) -> None:
        """Have the oldest spans in use not come back, as far as that lets another one do so."""
        large = self.large()
        waiting_bytes = sum(size * len(waiting) for size, waiting in large)
        # All spans are looked at, so it is done for a good part of them at once, or not at all.
        part = self.limit >> 3
        if waiting_bytes + capacity > self.limit or self.kept_bytes - waiting_bytes + capacity < part:
            return
        self.count()
        waiting = set(map(id, chain.from_iterable([spans for _, spans in large])))
        excess = self.kept_bytes + capacity + part - self.limit
        for reference in list(self.kept):
            if excess <= 0:
                break
            span = reference()
            if span is not None and span.waiting and id(span) not in waiting:
                span.drop()
                excess -= span.capacity
        for _, spans in large:  # what another thread put back meanwhile
            for span in [span for span in list(spans) if not span.waiting]:
                try:
                    spans.remove(span)
                except ValueError as error:  # and took again
                    let_through(error)
        self.count()

    def count(self) -> None:
        """Forget the spans that are gone, as those that were dropped, and find the bytes of the others."""
        self.kept[:] = filter(weakref.ref.__call__, self.kept)  # in one step: a handler may come here and add one
        found = [span for reference in list(self.kept) if (span := reference()) is not None]
        self.kept_bytes = sum(span.capacity for span in found if span.waiting)


def _map(nbytes: int) -> mmap.mmap:
    """Fresh pages of this process's own. Python shares those that it maps without being told otherwise."""
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, nbytes)  # Windows, which has no fork
    return mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _address(mapping: mmap.mmap) -> int:
    return int(np.frombuffer(mapping, np.uint8, 1).__array_interface__["data"][0])


_pool = _Pool()
_homes = _pool.home_of
_new_array = np.ndarray.__new__
_new_lease = object.__new__


def _size_class(nbytes: int) -> int:
    """Round up to one of four steps an octave, at least a cache line (a page above the slab sizes)."""
    if nbytes <= _ALIGN:
        return _ALIGN
    step = 1 << max((nbytes - 1).bit_length() - 3, 12 if nbytes > _SMALL else 6)
    return (nbytes + step - 1) // step * step


def allocate(nbytes: int) -> Lease:
    """Uninitialised memory of at least `nbytes` bytes, 64-byte aligned.

    Raises
    ------
    OutOfMemoryError
        If the system has no such span.
    """
    try:
        capacity, home = _homes.get(nbytes) or _pool.home(nbytes)
        try:
            span = home.pop()
        except IndexError:
            span = _pool.fresh(capacity, home)
    except (OSError, ValueError, OverflowError) as error:
        let_through(error)
        raise OutOfMemoryError(
            f"cannot allocate {nbytes} bytes of CPU memory", got=str(error), hint="check the sizes; is one a typo?"
        ) from None
    lease = _new_lease(Lease)
    lease.__del__ = span.release  # type: ignore[method-assign]
    lease.span = span
    return lease


def free_list(nbytes: int) -> deque[Span]:
    """What is free for requests of this size; it may be empty."""
    return _pool.home(nbytes)[1]


def free_lists() -> dict[int, tuple[int, deque[Span]]]:
    """What is free, with the size class, for the sizes that were asked for before; always the same dict."""
    return _homes


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An uninitialised row-major array on a block of its own.

    NumPy's own small arrays are 16-byte aligned, which makes sums into one take up to 1.4 times as long.
    """
    return np.ndarray(shape, dtype, allocate(math.prod(shape) * dtype.itemsize).array())


def empty_cache() -> None:
    """Give cached CPU blocks back to the system (those carved from shared slabs stay)."""
    with _pool.lock:
        for _, waiting in _pool.large():
            while waiting:
                waiting.pop().drop()
        _pool.count()


def cached_bytes() -> int:
    """Bytes of large blocks that wait for reuse."""
    return sum(size * len(waiting) for size, waiting in _pool.large())


forking.after_fork_in_child(_pool.count)
