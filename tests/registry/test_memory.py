"""The caching allocator: alignment, reuse, and that nothing alive is handed out again."""

import threading

import numpy as np
from hypothesis import given, strategies as st

from opweave.registry import dtypes, memory
from opweave.registry.device import cpu
from opweave.registry.tensor import allocate


@given(st.integers(0, 1 << 22))
def test_blocks_are_aligned_and_large_enough(nbytes):
    block = memory.allocate(nbytes)
    assert block.ptr % 64 == 0 and block.nbytes >= nbytes
    assert block.nbytes <= max(64, nbytes * 1.3 + 4096)
    assert block.__array_interface__["data"][0] == block.ptr


def test_arrays_own_their_block():
    for shape in ((), (0, 3), (5,), (3, 70_000)):
        array = memory.empty(shape, np.dtype("f8"))
        assert array.shape == shape and array.dtype == np.float64 and array.flags.c_contiguous
        address = array.__array_interface__["data"][0]
        array[...] = 1.5
        view = array[:1] if shape else array
        del array
        other = memory.empty(shape, np.dtype("f8"))
        other[...] = 0
        assert (view == 1.5).all() and address % 64 == 0


def test_a_freed_block_is_used_again():
    block = memory.allocate(1 << 20)
    ptr = block.ptr
    del block
    assert memory.allocate(1 << 20).ptr == ptr


def test_memory_under_a_numpy_view_is_not_reused():
    t = allocate((300_000,), (1,), dtypes.float32, cpu)
    view = t.numpy()[10:20].reshape(2, 5)
    ptr = t.data_ptr()
    view[...] = 7
    del t
    others = [allocate((300_000,), (1,), dtypes.float32, cpu) for _ in range(4)]
    for other in others:
        other.numpy()[...] = 0
        assert other.data_ptr() != ptr
    assert (view == 7).all()


def test_empty_cache_gives_large_blocks_back():
    memory.empty_cache()
    small = memory.cached_bytes()
    block = memory.allocate(3 << 20)
    size = block.nbytes
    del block
    assert memory.cached_bytes() == small + size
    memory.empty_cache()
    assert memory.cached_bytes() == small


def test_threads_never_share_a_block():
    failures = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(300):
            size = int(rng.integers(1, 200_000))
            block = memory.allocate(size)
            block[:size] = seed
            if not (block[:size] == seed).all():
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
