"""Counts and times of launches, kernel by kernel."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import triton
import triton.language as tl

import opweave

pytestmark = pytest.mark.usefixtures("active", "no_device_of_an_earlier_test")


@triton.jit
def doubled(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)


@triton.jit
def tripled(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) * 3, i < n)


def _launches(found: opweave.LaunchProfile) -> dict[str, tuple[int, int]]:
    return {k.name: (k.launches, k.programs) for k in found.kernels}


def test_launches_are_counted_within_the_context_only() -> None:
    x = opweave.ones(1000)
    doubled[(4,)](x, 1000, BLOCK=256)
    with opweave.profile() as found:
        assert found.kernels == []
        for _ in range(5):
            doubled[(4,)](x, 1000, BLOCK=256)
        doubled[(8,)](x, 1000, BLOCK=128)
        tripled[(2,)](x, 1000, BLOCK=512)
        tripled[(0,)](x, 1000, BLOCK=512)
    doubled[(4,)](x, 1000, BLOCK=256)
    assert _launches(found) == {"doubled": (6, 28), "tripled": (1, 2)}
    assert all(k.seconds > 0 for k in found.kernels)
    assert [k.seconds for k in found.kernels] == sorted((k.seconds for k in found.kernels), reverse=True)
    assert (x.numpy() == 2.0**8 * 3).all()


def test_contexts_within_contexts() -> None:
    x = opweave.ones(16)
    with opweave.profile() as outer:
        doubled[(1,)](x, 16, BLOCK=16)
        with opweave.profile() as inner:
            doubled[(1,)](x, 16, BLOCK=16)
        doubled[(1,)](x, 16, BLOCK=16)
    assert _launches(inner) == {"doubled": (1, 1)} and _launches(outer) == {"doubled": (3, 3)}


def test_launches_of_all_threads_are_counted() -> None:
    x = [opweave.ones(64) for _ in range(4)]
    doubled[(1,)](x[0], 64, BLOCK=64)
    with opweave.profile() as found:
        threads = [threading.Thread(target=lambda t=t: [doubled[(1,)](t, 64, BLOCK=64) for _ in range(200)]) for t in x]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert _launches(found) == {"doubled": (800, 800)}


def test_kernels_of_compiled_functions_are_counted_and_those_that_are_gone() -> None:
    x = opweave.from_numpy(np.ones(100, np.float32))

    with opweave.profile() as found:
        compiled = opweave.compile(lambda x: (x * 2).exp())
        compiled(x)
        compiled(x)
        del compiled
    (kernel,) = found.kernels
    assert kernel.launches == 2 and "exp" in kernel.name


def test_the_table() -> None:
    rows = [opweave.KernelProfile("softmax", 4, 64, 0.003), opweave.KernelProfile("copy", 100, 100, 0.001)]
    assert str(opweave.LaunchProfile(rows)).splitlines() == [
        "kernel   launches  programs  total ms  mean us  share",
        "softmax         4        64     3.000    750.0  75.0%",
        "copy          100       100     1.000     10.0  25.0%",
    ]
    assert str(opweave.LaunchProfile()) == "kernel  launches  programs  total ms  mean us  share"
