"""Reductions: NaN, ties, accuracy, and every schedule."""

from __future__ import annotations

import numpy as np
import pytest
from compiling import bind, compiled, small_target, tensor, traced

from opweave.codegen import wrapper
from opweave.codegen.backends import BACKENDS, CPU, CUDA
from opweave.codegen.loops.nest import LoopNest, Store, needs_int64
from opweave.codegen.loops.steps import plan
from opweave.codegen.loops.values import Buffer, Values
from opweave.codegen.triton_source import print_kernel
from opweave.registry.dtypes import float32
from opweave.registry.op import ops
from opweave.registry.tensor import from_numpy
from opweave.tracer.loops.index import Axis, Index

aten = ops.aten

#: Row whole, row looped, columns, split in two kernels, accumulated in lanes.
SCHEDULES = {
    "usual": small_target(),
    "looped": small_target(whole_row=16, chunk=8, split_at=1 << 40),
    "split": small_target(whole_row=16, chunk=8, programs=64, split_at=16),
    "lanes": small_target(whole_row=16, chunk=16, columns=8, split_at=1 << 40, lane_accumulators=True),
}


@pytest.fixture(params=list(SCHEDULES))
def numbers(request, monkeypatch):
    monkeypatch.setattr(BACKENDS["cpu"], "schedule", SCHEDULES[request.param])
    return request.param


def run(fn, *arrays):
    tensors = [from_numpy(a) for a in arrays]
    found = compiled(fn, *tensors)(*tensors)
    return (found[0] if isinstance(found, tuple) else found).numpy()


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("name", ["amax", "amin"])
def test_nan_wins(numbers, name, axis):
    x = np.random.default_rng(0).normal(size=(192, 130)).astype(np.float32)
    x[5, 7] = np.nan
    op = getattr(aten, name).default
    found = run(lambda t: op(t, [] if axis is None else [axis]), x)
    np.testing.assert_array_equal(found, getattr(np, name)(x, axis=axis))


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64])
def test_the_first_of_equals_is_reported(numbers, name, axis, dtype):
    x = np.random.default_rng(0).integers(-3, 4, (192, 130)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[3, 9] = x[3, 50] = x[100, 9] = np.nan
    op = getattr(aten, name).default
    found = run(lambda t: op(t, axis), x)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, getattr(np, name)(x, axis=axis))


@pytest.mark.parametrize("fill", [-np.inf, np.inf])
def test_rows_of_one_infinity(numbers, fill):
    x = np.full((33, 70), fill, np.float32)
    np.testing.assert_array_equal(run(lambda t: aten.amax.default(t, [1]), x), x.max(1))
    np.testing.assert_array_equal(run(lambda t: aten.argmax.default(t, 1), x), 0)
    np.testing.assert_array_equal(run(lambda t: aten.argmin.default(t, 0), x), 0)


@pytest.mark.parametrize("axes", [[0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]])
def test_any_axes(numbers, axes):
    x = np.random.default_rng(0).normal(size=(12, 10, 18)).astype(np.float64)
    for keepdim in (False, True):
        found = run(lambda t, keepdim=keepdim: aten.sum.dim_IntList(t, axes, keepdim), x)
        np.testing.assert_allclose(found, x.sum(tuple(axes), keepdims=keepdim), rtol=1e-12, atol=1e-12)


def test_truth_and_products(numbers):
    x = np.random.default_rng(0).normal(size=(64, 40)).astype(np.float32)
    x[3] = 0
    np.testing.assert_array_equal(run(lambda t: aten.any.dim(aten.gt.Tensor(t, 2.5), 1), x), (x > 2.5).any(1))
    np.testing.assert_array_equal(run(lambda t: aten.all.dim(aten.gt.Tensor(t, -2.0), 0), x), (x > -2).all(0))
    small = np.random.default_rng(0).integers(1, 3, (64, 20))
    np.testing.assert_array_equal(run(lambda t: aten.prod.dim_int(t, 1), small), small.prod(1))


@pytest.mark.parametrize(("shape", "axis"), [((1 << 22,), 0), ((8192, 512), 0), ((512, 8192), 1)])
def test_float32_sums_are_as_accurate_as_pairwise(shape, axis):
    x = np.random.default_rng(0).random(shape).astype(np.float32)
    exact = x.sum(axis, dtype=np.float64)
    error = np.abs(run(lambda t: aten.sum.dim_IntList(t, [axis]), x) - exact) / exact
    assert error.max() < 1e-6


def test_results_do_not_change_from_run_to_run():
    x = tensor(1 << 20)
    f = compiled(lambda t: aten.sum.default(t), x)
    assert len({float(f(x)[0] if isinstance(f(x), tuple) else f(x)) for _ in range(20)}) == 1


def test_what_is_stored_once_a_row_beside_full_results(numbers):
    def f(x, w, b):
        return aten.native_layer_norm.default(x, [96], w, b, 1e-5)

    x, w, b = tensor(64, 96), tensor(96, seed=1), tensor(96, seed=2)
    for found, wanted in zip(bind(wrapper.generate(traced(f, x, w, b)))(x, w, b), f(x, w, b), strict=True):
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)


def test_far_offsets_are_64_bit():
    rows, columns = Axis("i", 1 << 20), Axis("j", 1 << 12)
    values = Values()
    source = Buffer("x", float32, (1 << 20, 1 << 12), (1 << 12, 1))
    out = Buffer("out", float32, (1 << 20, 1 << 12), (1 << 12, 1))
    offset = Index.of(rows) * (1 << 12) + Index.of(columns)
    store = Store(out, offset, values.load(source, offset), "copy", None)
    nest = LoopNest(("copy",), (rows, columns), (), (source,), (out,), (store,))
    assert needs_int64(nest)
    for target in (CPU, CUDA):
        ((stage, chosen),) = plan(nest, target)
        assert "tl.program_id(0).to(tl.int64)" in print_kernel(stage, chosen, 0).source


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_single_elements(shape):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    np.testing.assert_allclose(
        run(lambda t: aten.sum.default(aten.exp.default(t)), np.asarray(x)), np.exp(x).sum(), rtol=1e-6
    )
    np.testing.assert_array_equal(run(lambda t: aten.argmax.default(aten.neg.default(t)), np.asarray(x)), 0)
