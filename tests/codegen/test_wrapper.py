"""The wrapper: allocation, calls, views, buffers dropped at their last use."""

from __future__ import annotations

import numpy as np
import pytest
from compiling import bind, compiled, tensor, traced

from opweave.codegen.conform import conform
from opweave.codegen.wrapper import generate
from opweave.registry.device import cpu
from opweave.registry.dtypes import float32
from opweave.registry.errors import CompileError
from opweave.registry.op import ops
from opweave.registry.tensor import from_numpy

aten = ops.aten


def body(fn, *tensors):
    """The wrapper's statements without comments; those of what stands before it, too."""
    text = generate(traced(fn, *tensors)).source
    return [line.partition("  # ")[0].strip() for line in text.splitlines() if line.strip()]


def test_text():
    def f(x, y):
        return aten.relu.default(aten.mm.default(aten.exp.default(x), y))

    assert body(f, tensor(8, 8), tensor(8, 8)) == [
        "new_relu = allocator((8, 8), (8, 1), float32, cpu)",
        "@native",
        "def steps(x_1: float32, y_1: float32, relu: float32):",
        "memory = scratch(512)",
        "exp = memory",
        "mm = memory + 256",
        "fused_exp_0(1, 1, 1, x_1, exp)",
        "product(float32, (mm, (8, 8), (8, 1)), (exp, (8, 8), (8, 1)), (y_1, (8, 8), (8, 1)), 0, 1, fused_relu_1, "
        "(1, 1, 1), (mm, relu))",
        "def call(x_1, y_1):",
        "relu = new_relu()",
        "steps(x_1, y_1, relu)",
        "return (relu,)",
    ]


def test_parts_of_a_split_reduction_lie_in_memory_of_the_call():
    lines = body(lambda x: aten.sum.default(x), tensor(1 << 20))
    assert "kernel_0_part0 = memory" in lines
    assert lines[-3:] == ["sum_1 = new_sum_1()", "steps(x_1, sum_1)", "return (sum_1,)"]


def test_equal_regions_share_a_kernel():
    def f(x):
        for _ in range(4):
            x = aten.mm.default(aten.exp.default(x), x)
        return x

    assert len(generate(traced(f, tensor(8, 8))).kernels) == 1


def test_views_keep_the_offset_of_what_they_look_into():
    def f(x):
        return aten.slice.Tensor(x, 0, 2, 6), aten.select.int(aten.exp.default(x), 0, 3)

    x = aten.slice.Tensor(tensor(12, 4), 0, 1, 9)
    for found, wanted in zip(compiled(f, x)(x), f(x), strict=True):
        assert found.stride() == wanted.stride() and found.storage_offset() == wanted.storage_offset()
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-6)
    assert compiled(f, x)(x)[0].untyped_storage() == x.untyped_storage()


def test_inputs_are_returned_as_they_are():
    def f(x, y):
        return x, aten.add.Tensor(x, y)

    x, y = tensor(4), tensor(4, seed=1)
    first, added = compiled(f, x, y)(x, y)
    assert first is x
    np.testing.assert_array_equal(added.numpy(), x.numpy() + y.numpy())


@pytest.mark.parametrize("layout", ["transposed", "gaps"])
def test_what_an_opaque_op_returns_is_brought_into_the_promised_layout(layout):
    base = np.arange(24, dtype=np.float32)
    array = base.reshape(6, 4).T if layout == "transposed" else np.repeat(base.reshape(4, 6), 2, 1)[:, ::2]
    value = from_numpy(array)
    found = conform(value, (4, 6), (6, 1), float32, cpu, "demo.op")
    assert found.stride() == (6, 1)
    np.testing.assert_array_equal(found.numpy(), array)
    assert conform(found, (4, 6), (6, 1), float32, cpu, "demo.op") is found


def test_a_broken_fake_rule_is_named():
    with pytest.raises(CompileError) as caught:
        conform(tensor(3), (4,), (1,), float32, cpu, "demo.op")
    assert "demo.op: returned something else than its fake rule promised" in str(caught.value)
    assert "f32[3], the fake rule said f32[4]" in str(caught.value)


def test_empty_tensors():
    def f(x, y):
        return aten.add.Tensor(x, 1), aten.sum.dim_IntList(x, [0]), aten.exp.default(y)

    x, y = tensor(0, 4), tensor(3)
    added, total, exp = compiled(f, x, y)(x, y)
    assert added.shape == (0, 4)
    np.testing.assert_array_equal(total.numpy(), np.zeros(4, np.float32))
    np.testing.assert_allclose(exp.numpy(), np.exp(y.numpy()), rtol=1e-6)


def test_generated_code_is_bound_by_names_alone():
    generated = generate(traced(lambda x: aten.mm.default(x, aten.exp.default(x)), tensor(4, 4)))
    assert set(generated.names) == {"allocator", "float32", "cpu", "native", "product", "scratch"}
    assert bind(generated)(tensor(4, 4)) is not None
