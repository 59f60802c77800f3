"""Launches that find their kernel without Triton: they must find the one that Triton would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from hypothesis import given, strategies as st
from triton import knobs

import opweave
from opweave.codegen.native.arguments import HostArray
from opweave.codegen.triton_cpu.relaunch import Known
from opweave.registry.errors import ArgumentError, OpweaveError, SanitizerError

NUMBER = tl.constexpr(2)
pytestmark = pytest.mark.usefixtures("active", "no_device_of_an_earlier_test")


@triton.jit
def _scaled(x, out, n, factor, BLOCK: tl.constexpr = 8, OFFSET: tl.constexpr = 0):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * factor + OFFSET, i < n)


@triton.jit
def _previous(x, n, BLOCK: tl.constexpr):
    """Each element plus the one before it, in place."""
    i = tl.arange(0, BLOCK)
    before = tl.load(x + i - 1, (i > 0) & (i < n), 0)
    tl.store(x + i, tl.load(x + i, i < n) + before, i < n)


@triton.jit(do_not_specialize=["n"])
def _typed(x, n, m: tl.int64, flag, factor: tl.float32, BLOCK: tl.constexpr):
    pass


def _known(kernel: Any) -> Known:
    return kernel.__dict__["_opweave_launches"]


def _array(n: int, start: int = 0, dtype: Any = np.float32) -> HostArray:
    raw = np.zeros(n * 8 + 64, np.uint8)
    shift = -raw.ctypes.data % 16 + start
    return HostArray(raw[shift : shift + n * np.dtype(dtype).itemsize].view(dtype))


_memory = [_array(8), _array(8, 4), _array(8, 0, np.int32), _array(4, 8, np.float64)]
_memory += [opweave.from_numpy(a.array) for a in _memory]
_pointers = st.sampled_from([*_memory, None])
_numbers = st.one_of(
    st.sampled_from([0, 1, -1, 16, 17, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**40, 2**63 - 1, 2**63, 2**63 + 16]),
    st.integers(-(2**33), 2**33), st.booleans(), st.sampled_from([0.0, -0.0, 1.0, 1.5]), st.none(), _pointers,
)  # fmt: skip
_constants = st.sampled_from(
    [1, True, 1.0, 0, False, 0.0, -0.0, None, "1", "int", 16, 16.0, tl.int32, tl.int64, "int32"]
)


@given(st.lists(st.tuples(_pointers, _numbers, _numbers, _numbers, _numbers, _constants), min_size=12, max_size=30))
def test_what_is_one_launch_here_is_one_to_triton(launches: list[tuple[Any, ...]]) -> None:
    """Where two lists of arguments have one key, Triton describes them alike."""
    binder = _typed.create_binder()[4]
    known, seen = Known(_typed), {}
    for arguments in launches:
        *first, constant = arguments
        key = known.key(tuple(first), {"BLOCK": constant})
        assert key is not None
        try:
            specialization = str(binder(*first, BLOCK=constant)[1])
        except (OverflowError, TypeError):
            specialization = "refused"
        assert seen.setdefault(key, specialization) == specialization


def test_arguments_of_other_kinds_go_to_triton() -> None:
    known = Known(_scaled)
    x = _memory[0]
    for odd in (np.int64(3), np.zeros(3), (1, 2), "text", x.array, tl.float32):
        assert known.key((x, x, odd, 1.0), {}) is None
    assert known.key((x, x, 1, 1.0), {"BLOCK": [8]}) is None
    assert known.key((x,) * 7, {}) is None


def test_results_are_those_of_the_arguments() -> None:
    """Alignment, 1, the type of a number, defaults and keywords change from launch to launch and back."""
    x = np.arange(64, dtype=np.float32)
    wholes, shifted = HostArray(x), HostArray(x[1:])
    launches: list[tuple[HostArray, int, Any, dict[str, Any]]] = [
        (wholes, 32, 2.0, {}),
        (shifted, 32, 2.0, {}),
        (wholes, 1, 3.0, {}),
        (wholes, 33, 3, {}),
        (wholes, 33, 1, {"BLOCK": 16}),
        (wholes, 33, 1.0, {"OFFSET": 5, "BLOCK": 16}),
        (wholes, 33, 1.0, {"BLOCK": 16, "OFFSET": 5}),
        (wholes, 33, 1.0, {"BLOCK": 16, "OFFSET": 6, "num_warps": 8}),
    ]
    for _ in range(3):
        for array, n, factor, options in launches:
            out = HostArray(np.full(64, -1, np.float32))
            _scaled[lambda meta, n=n: (triton.cdiv(n, meta["BLOCK"]),)](array, out, n, factor=factor, **options)
            expected = array.array[:n] * factor + options.get("OFFSET", 0)
            np.testing.assert_array_equal(out.array[:n], expected)
            assert (out.array[n:] == -1).all()
    assert len(_known(_scaled).launches) == len(launches)


def test_keywords_in_any_order() -> None:
    x, out = (opweave.arange(8, dtype=opweave.float32), opweave.zeros(8))
    for _ in range(2):
        _scaled[(1,)](factor=2.0, out=out, n=8, x=x)
        np.testing.assert_array_equal(out.numpy(), 2 * x.numpy())
        _scaled[1, 1](x, n=8, factor=3.0, out=out)
        np.testing.assert_array_equal(out.numpy(), 3 * x.numpy())


@triton.jit
def _counted(out, TYPE: tl.constexpr):
    tl.store(out, tl.full((), 2**31 - 1, TYPE) + tl.full((), 1, TYPE))


def test_types_tell_kernels_apart_and_are_found_again() -> None:
    out = opweave.zeros(1, dtype=opweave.int64)
    for turn in range(3):
        for dtype, expected in ((tl.int32, -(2**31)), (tl.int64, 2**31), (tl.uint32, 2**31)):
            _counted[(1,)](out, TYPE=dtype)
            assert out.item() == expected
        if turn:
            assert len(_known(_counted).launches) == 3


def test_memory_that_is_shared_is_noticed_every_time() -> None:
    @triton.jit
    def reversed_into(x, out, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + BLOCK - 1 - i))

    for _ in range(2):
        x, out = HostArray(np.arange(64, dtype=np.float32)), HostArray(np.zeros(64, np.float32))
        reversed_into[(1,)](x, out, BLOCK=64)
        np.testing.assert_array_equal(out.array, np.arange(64)[::-1])
        reversed_into[(1,)](x, x, BLOCK=64)
        np.testing.assert_array_equal(x.array, np.arange(64)[::-1])


def test_read_only_memory_is_refused_every_time() -> None:
    x, fixed = np.ones(8, np.float32), np.zeros(8, np.float32)
    fixed.flags.writeable = False
    for _ in range(2):
        _scaled[(1,)](HostArray(x), HostArray(x.copy()), 8, 2.0)
        with pytest.raises(ArgumentError, match="written by the kernel"):
            _scaled[(1,)](HostArray(x), HostArray(fixed), 8, 2.0)
    assert not fixed.any()


def test_a_grid_of_four_is_refused_every_time() -> None:
    x = opweave.ones(8)
    for _ in range(2):
        _scaled[(1,)](x, x, 8, 2.0)
        with pytest.raises(ArgumentError, match="one to three sizes"):
            _scaled[1, 1, 1, 1](x, x, 8, 2.0)


def test_a_changed_global_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    @triton.jit
    def kernel(out):
        tl.store(out, NUMBER)

    out = opweave.zeros(1)
    for _ in range(2):
        kernel[(1,)](out)
        assert out.item() == 2
    monkeypatch.setitem(globals(), "NUMBER", tl.constexpr(3))
    with pytest.raises(RuntimeError, match="NUMBER has changed"):
        kernel[(1,)](out)


def test_hooks_hear_of_every_launch() -> None:
    x, heard = opweave.ones(8), []

    def hook(metadata: Any) -> None:
        heard.append(metadata.get()["name"])

    _scaled[(1,)](x, x, 8, 1.0)
    knobs.runtime.launch_enter_hook.add(hook)
    try:
        _scaled[(1,)](x, x, 8, 1.0)
        _scaled[(1,)](x, x, 8, 1.0)
    finally:
        knobs.runtime.launch_enter_hook.remove(hook)
    _scaled[(1,)](x, x, 8, 1.0)
    assert heard == ["_scaled", "_scaled"]


def test_hooks_before_the_run_are_called() -> None:
    @triton.jit
    def kernel(x):
        tl.store(x, 1.0)

    x, heard = opweave.zeros(1), []
    kernel[(1,)](x)
    kernel.add_pre_run_hook(lambda *args, **kwargs: heard.append(args))
    kernel[(1,)](x)
    assert len(heard) == 1


def test_forgotten_kernels_are_compiled_again() -> None:
    @triton.jit
    def kernel(x):
        tl.store(x, 1.0)

    x = opweave.zeros(1)
    first = kernel[(1,)](x)
    assert kernel[(1,)](x) is first
    kernel.device_caches.clear()
    again = kernel[(1,)](x)
    assert again is not first and kernel[(1,)](x) is again


def test_the_debug_knob_makes_another_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    @triton.jit
    def kernel(x, n):
        tl.device_assert(n < 8, "too large")
        tl.store(x, n)

    x = opweave.zeros(1)
    for _ in range(2):
        kernel[(1,)](x, 9)
    with knobs.runtime.scope():
        knobs.runtime.debug = True
        for _ in range(2):
            with pytest.raises(OpweaveError, match="too large"):
                kernel[(1,)](x, 9)
    kernel[(1,)](x, 9)


def test_the_sanitizer_is_asked_every_time() -> None:
    x = opweave.ones(8)
    for _ in range(2):
        _previous[(1,)](x, 8, BLOCK=8)
        with opweave.sanitize(), pytest.raises(SanitizerError):
            _previous[(1,)](x, 9, BLOCK=16)


def test_a_warm_up_launches_nothing() -> None:
    x = opweave.zeros(8)
    for _ in range(2):
        _scaled.warmup(x, x, 8, 1.0, OFFSET=1, grid=(1,))
    assert not x.numpy().any()
    _scaled[(1,)](x, x, 8, 1.0, OFFSET=1)
    assert x.numpy().all()


def test_tensors_on_other_devices_are_not_remembered() -> None:
    x = opweave.ones(8)
    _scaled[(1,)](x, x, 8, 1.0)
    with pytest.raises(OpweaveError):
        _scaled[(1,)](x.to("meta"), x, 8, 1.0)
