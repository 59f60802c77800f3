"""Whatever is fused gives what running the ops one by one gives: shapes, layouts, types and numbers."""

from __future__ import annotations

import numpy as np
import pytest
from compiling import bind, small_target, traced
from hypothesis import given, settings, strategies as st
from random_regions import aten, build, inputs, programs

from opweave.codegen import wrapper
from opweave.codegen.backends import BACKENDS
from opweave.registry.tensor import Tensor, from_numpy

pytestmark = pytest.mark.property

TOLERANCE = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-4, "float64": 1e-9}

TARGETS = {
    "usual": small_target(),
    # Sizes at which small tensors need every kind of loop, split and tile.
    "tiny": small_target(
        flat=16, square=(4, 8), whole_row=8, bundle=8, chunk=4, columns=8, column_rows=2, programs=8, split_at=64
    ),
    "lanes": small_target(
        flat=64, whole_row=16, bundle=32, chunk=8, columns=4, column_rows=4, split_at=1 << 30, lane_accumulators=True
    ),
}


def assert_same(found: Tensor, wanted: Tensor, source: str) -> None:
    assert found.shape == wanted.shape and found.dtype is wanted.dtype
    if wanted.numel() > 1:
        strides = [(f, w) for f, w, s in zip(found.stride(), wanted.stride(), wanted.shape, strict=True) if s > 1]
        assert all(f == w for f, w in strides), strides
    a, b = (t.numpy().astype(np.float64) for t in (found, wanted))
    # Integers become float32 on the way to a floating result.
    integers_on_the_way = TOLERANCE["float32"] if wanted.dtype.is_floating_point else 0
    tolerance = max(TOLERANCE.get(source, integers_on_the_way), TOLERANCE.get(wanted.dtype.name, 0))
    scale = max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0)))
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("target", list(TARGETS))
@settings(max_examples=60)
@given(programs(), st.data())
def test_fused_equals_eager(target, steps, data):
    # Half types round where eager does not; integers and argmax of them are exact, of floats decided by last bits.
    dtypes = ("float32", "float64", "int32", "int64", "int8")
    if any(name in ("arg", "cast") for name, *_ in steps):
        dtypes = ("float64", "int32", "int64")
        steps = [step for step in steps if step[0] != "cast" or step[3] % 4 != 3]
    tensors = data.draw(inputs(dtypes))
    program = build(steps)
    wanted = program(*tensors)
    chosen = BACKENDS["cpu"].schedule
    BACKENDS["cpu"].schedule = TARGETS[target]
    try:
        generated = wrapper.generate(traced(program, *tensors))
    finally:
        BACKENDS["cpu"].schedule = chosen
    found = bind(generated)(*tensors)
    assert len(found) == len(wanted)
    for f, w in zip(found, wanted, strict=True):
        assert_same(f, w, "float32" if any(name == "cast" for name, *_ in steps) else tensors[0].dtype.name)


@settings(max_examples=40)
@given(programs(), inputs(("float16", "bfloat16")))
def test_half_types(steps, tensors):
    steps = [step for step in steps if step[0] not in ("arg", "cast")]
    program = build(steps[:6] or [("unary", 0, 0, 0)])
    wanted = program(*tensors)
    for f, w in zip(bind(wrapper.generate(traced(program, *tensors)))(*tensors), wanted, strict=True):
        assert_same(f, w, tensors[0].dtype.name)


@settings(max_examples=30)
@given(programs(), inputs(("float32",)))
def test_generating_twice_gives_the_same_text(steps, tensors):
    program = build(steps)
    first, second = (wrapper.generate(traced(program, *tensors)) for _ in range(2))
    assert first.source == second.source
    assert [k.source for k in first.kernels] == [k.source for k in second.kernels]


def test_a_long_reduction_whose_result_nothing_needs():
    x = from_numpy(np.arange(128.0).reshape(64, 1, 2))

    def program(x: Tensor) -> tuple[Tensor, ...]:
        # The place of the only element of a dimension is 0, whatever that element is.
        return (aten.argmax.default(aten.argmax.default(x, None, True), 0),)

    chosen = BACKENDS["cpu"].schedule
    BACKENDS["cpu"].schedule = TARGETS["tiny"]
    try:
        generated = wrapper.generate(traced(program, x))
    finally:
        BACKENDS["cpu"].schedule = chosen
    (found,) = bind(generated)(x)
    assert found.tolist() == [[0]]
