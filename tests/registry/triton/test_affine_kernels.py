"""Kernels of random arithmetic go where the analysis says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

triton = pytest.importorskip("triton", reason="needs Triton")
tl: Any = pytest.importorskip("triton.language")

from affine_kernels import Generator, predicted

from opweave.registry.tensor import from_numpy
from opweave.registry.triton.effects import accesses


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_predicted_offsets_are_those_that_are_touched(seed: int) -> None:
    kernel = Generator(np.random.default_rng(seed)).kernel()
    touched = kernel.touched()
    base, size = (-int(touched.min()), int(touched.max()) - int(touched.min()) + 1) if touched.size else (0, 1)
    base += 3  # of which Triton assumes nothing
    compiled, out = kernel.compiled(), np.zeros(size + 3, np.int32)
    arguments = {**kernel.arguments, "base": base}

    (found,) = accesses(compiled, (), {"out": from_numpy(out), **arguments})
    if touched.size:
        (access,) = found["out"].atomics
        assert found["out"].is_readable and access.is_followed, found.text()
        compiled[kernel.grid](from_numpy(out), **arguments)
    else:
        assert found["out"].is_readable
        if not found["out"].atomics:
            return
        (access,) = found["out"].atomics
    expected = np.bincount(touched + base, minlength=size + 3)
    assert np.array_equal(out, expected), kernel.source
    said = predicted(access, kernel.grid, arguments)
    assert np.array_equal(np.sort(said), np.sort(touched + base)), f"{kernel.source}\n{found.text()}"


@triton.jit
def through_block_pointers(out, n, m, sn, sm, a, b, by, turns, A: tl.constexpr, B: tl.constexpr):
    at = tl.make_block_ptr(out + 7, (n, m), (sn, sm), (a + tl.program_id(0) * A, b), (A, B), (1, 0))
    ones = tl.full((A, B), 1, tl.int32)
    for _ in range(turns):
        tl.store(at, ones, boundary_check=(0, 1))
        at = tl.advance(at, (by, 1))


@triton.jit
def through_descriptors(out, n, m, a, b, A: tl.constexpr, B: tl.constexpr):
    at = tl.make_tensor_descriptor(out, (n, m), (m, 1), (A, B))
    at.store([a + tl.program_id(0) * A, b + tl.program_id(1)], tl.full((A, B), 1, tl.int32))


small = st.integers(-5, 12)


def check_places(kernel: Any, grid: tuple[int, int], size: int, constants: dict[str, int], arguments: Any) -> None:
    """What a kernel sets to 1 is what the analysis says that it stores to."""
    out = np.zeros(size, np.int32)
    kernel[grid](from_numpy(out), **arguments, **constants)
    (found,) = accesses(kernel, (), {"out": from_numpy(out), **arguments, **constants})
    (access,) = found["out"].stores
    assert np.array_equal(np.flatnonzero(out), np.unique(predicted(access, grid, arguments))), found.text()


@given(st.integers(2, 9), st.integers(2, 9), small, small, st.integers(-3, 9), st.integers(2, 4), st.booleans())
def test_block_pointers(n: int, m: int, a: int, b: int, by: int, turns: int, turned: bool) -> None:
    sn, sm = (2, 2 * n) if turned else (m + 3, 2)
    arguments = {"n": n, "m": m, "sn": sn, "sm": sm, "a": a, "b": b, "by": by, "turns": turns}
    check_places(through_block_pointers, (3, 1), 400, {"A": 4, "B": 8}, arguments)


@given(st.integers(2, 9), st.sampled_from([4, 8, 12]), small, small)
def test_descriptors(n: int, m: int, a: int, b: int) -> None:
    check_places(through_descriptors, (3, 2), 400, {"A": 4, "B": 8}, {"n": n, "m": m, "a": a, "b": b})
