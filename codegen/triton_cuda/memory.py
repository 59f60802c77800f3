"""Memory that launches need besides their arguments, from CuPy's pool."""

from __future__ import annotations

import ctypes
from typing import Any

from triton.runtime import _allocation

from opweave.codegen.triton_cuda.library import check, cupy, libcuda


class _Buffer:
    """Device memory that goes back to CuPy's pool when dropped, in the order of its stream."""

    __slots__ = ("_memory",)

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def data_ptr(self) -> int:
        return self._memory.ptr


def allocate(size: int, alignment: int, stream: int | None) -> _Buffer:
    """An allocator for `triton.set_allocator`: memory of CuPy's pool, for use on `stream`."""
    cuda = cupy().cuda
    if stream is None or stream == cuda.get_current_stream().ptr:
        return _Buffer(cuda.alloc(size))  # blocks are aligned to 512 bytes
    with cuda.ExternalStream(stream) if stream else cuda.Stream.null:
        return _Buffer(cuda.alloc(size))


def scratch(size: int, alignment: int, stream: int, device: int) -> Any:
    if not size:
        return None
    chosen = _allocation._allocator.get()
    # `triton.set_allocator` is per context, so a new thread starts without.
    if not isinstance(chosen, _allocation.NullAllocator):
        return chosen(size, alignment, stream)
    with cupy().cuda.Device(device):
        return allocate(size, alignment, stream)


def profile_scratch(size: int, alignment: int, stream: int, device: int) -> Any:
    if not size:
        return None
    chosen = _allocation._profile_allocator.get()
    if not isinstance(chosen, _allocation.NullAllocator):
        return chosen(size, alignment, stream)
    with cupy().cuda.Device(device):
        return allocate_zeros(size, alignment, stream)


def allocate_zeros(size: int, alignment: int, stream: int | None) -> _Buffer:
    """The same, filled with zeros: what an instrumented kernel starts from where nobody chose its memory."""
    made = allocate(size, alignment, stream)
    check(libcuda().cuMemsetD8Async(ctypes.c_uint64(made.data_ptr()), 0, size, ctypes.c_void_p(stream or 0)))
    return made
