"""Kernels of random arithmetic go where the analysis says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

pytest.importorskip("triton", reason="needs Triton")

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
