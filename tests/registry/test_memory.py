"""The caching allocator: alignment, reuse, and that nothing alive is handed out again."""

import sys
import threading

import numpy as np
import pytest
from hypothesis import given, strategies as st

from opweave.registry import dtypes, memory
from opweave.registry.device import cpu
from opweave.registry.tensor import allocate


@given(st.integers(0, 1 << 22))
def test_blocks_are_aligned_and_large_enough(nbytes):
    block = memory.allocate(nbytes)
    assert block.ptr % 64 == 0 and block.nbytes >= nbytes
    assert block.nbytes <= max(64, nbytes * 1.3 + 4096)
    array = block.array()
    assert array.__array_interface__["data"][0] == block.ptr and array.nbytes == block.nbytes


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


@pytest.mark.parametrize("nbytes", [256, 1 << 17, 64 << 20])
@pytest.mark.parametrize("limit", [0, 2 << 30])
def test_a_block_comes_back_without_python_code(nbytes, limit, monkeypatch):
    memory.empty_cache()
    monkeypatch.setattr(memory._pool, "limit", limit)
    block, called = memory.allocate(nbytes), []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code) if event == "call" else None)
    try:
        del block
    finally:
        sys.setprofile(before)
    assert not called
    assert memory.cached_bytes() == (nbytes if limit and nbytes > 1 << 16 else 0)


@pytest.fixture
def eight_mib(monkeypatch):
    memory.empty_cache()
    monkeypatch.setattr(memory._pool, "limit", memory._pool.kept_bytes + (8 << 20))


@pytest.mark.usefixtures("eight_mib")
def test_what_waits_stays_within_the_limit_without_another_allocation():
    blocks = [memory.allocate(1 << 20) for _ in range(40)]
    newest = {block.ptr for block in blocks[-5:]}
    del blocks
    assert 5 << 20 <= memory.cached_bytes() <= 8 << 20
    again = [memory.allocate(1 << 20) for _ in range(8)]
    assert newest <= {block.ptr for block in again}
    del again
    assert memory.cached_bytes() <= 8 << 20
    huge = memory.allocate(9 << 20)
    del huge
    assert memory.cached_bytes() <= 8 << 20


@pytest.mark.usefixtures("eight_mib")
def test_memory_that_stays_in_use_does_not_keep_the_rest_from_waiting():
    weights = [memory.allocate(1 << 20) for _ in range(8)]
    for _ in range(3):
        temporary = [memory.allocate(1 << 20) for _ in range(6)]
        del temporary
    waiting = memory.cached_bytes()
    assert waiting >= 5 << 20
    del weights
    assert memory.cached_bytes() <= 8 << 20


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1 << 16, 3 << 20)), max_size=60))
def test_the_limit_holds_whatever_is_freed_when(steps):
    memory.empty_cache()
    before, memory._pool.limit = memory._pool.limit, memory._pool.kept_bytes + (8 << 20)
    try:
        alive, block = [], None
        for at, nbytes in steps:
            block = memory.allocate(nbytes)
            assert all(block.ptr + block.nbytes <= b.ptr or b.ptr + b.nbytes <= block.ptr for b in alive)
            alive.append(block)
            del alive[at : at + 2]
            assert memory.cached_bytes() <= 8 << 20
        del alive, block
        assert memory.cached_bytes() <= 8 << 20
    finally:
        memory._pool.limit = before


def test_threads_never_share_a_block():
    failures = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(300):
            size = int(rng.integers(1, 200_000))
            block = memory.allocate(size).array()
            block[:size] = seed
            if not (block[:size] == seed).all():
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
