"""`examples/weave.py`, the idea in one file: what it prints, that it computes the same fused, and what it refuses."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from expecttest import assert_expected_inline

import opweave

FILE = Path(__file__).parents[1] / "examples" / "weave.py"


def _module(name: str, path: Path, head: str = "") -> ModuleType:
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # dataclasses look their module up
    exec(compile(head + path.read_text(), str(path), "exec"), vars(module))
    return module


@pytest.fixture
def weave():
    yield _module("weave", FILE)
    del sys.modules["weave"]


def _tensors(weave, *shapes):
    rng = np.random.default_rng(1)
    return [weave.Tensor(rng.standard_normal(shape)) for shape in shapes]


def test_what_it_prints(weave, capsys):
    weave.main()
    assert_expected_inline(
        capsys.readouterr().out,
        """\
def forward(x, w, scale):
    mul = ops.mul(x, x)  # [3, 6]
    sum = ops.sum(mul)  # [3, 1]
    div = ops.div(sum, 6)  # [3, 1]
    add = ops.add(div, 1e-05)  # [3, 1]
    sqrt = ops.sqrt(add)  # [3, 1]
    div_1 = ops.div(x, sqrt)  # [3, 6]
    mul_1 = ops.mul(div_1, scale)  # [3, 6]
    gate = ops.gate(mul_1, x, 2.0)  # [3, 6]
    mm = ops.mm(gate, w)  # [3, 5]
    silu = ops.silu(mm)  # [3, 5]
    mul_2 = ops.mul(silu, 0.5)  # [3, 5]
    amax = ops.amax(mul_2)  # [3, 1]
    sub = ops.sub(mul_2, amax)  # [3, 5]
    exp = ops.exp(sub)  # [3, 5]
    sum_1 = ops.sum(exp)  # [3, 1]
    div_2 = ops.div(exp, sum_1)  # [3, 5]
    return div_2

def forward(x, w, scale):
    gate = fused_0(x, scale)  # mul, sum, div, add, sqrt, div, mul, gate
    mm = ops.mm(gate, w)  # [3, 5]
    div_2 = fused_1(mm)  # silu, mul, amax, sub, exp, sum, div
    return div_2

@triton.jit
def fused_0(x_ptr, scale_ptr, gate_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    mask = col < 6
    x = tl.load(x_ptr + row * 6 + col, mask)
    scale = tl.load(scale_ptr + col, mask)
    mul = x * x
    sum = tl.sum(tl.where(mask, mul, 0.0), 0)
    div = sum / 6
    add = div + 1e-05
    sqrt = tl.sqrt(add)
    div_1 = x / sqrt
    mul_1 = div_1 * scale
    gate = mul_1 / (1 + tl.exp(-2.0 * x))
    tl.store(gate_ptr + row * 6 + col, gate, mask)

@triton.jit
def fused_1(mm_ptr, div_2_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    mask = col < 5
    mm = tl.load(mm_ptr + row * 5 + col, mask)
    silu = mm / (1 + tl.exp(-mm))
    mul_2 = silu * 0.5
    amax = tl.max(tl.where(mask, mul_2, float('-inf')), 0)
    sub = mul_2 - amax
    exp = tl.exp(sub)
    sum_1 = tl.sum(tl.where(mask, exp, 0.0), 0)
    div_2 = exp / sum_1
    tl.store(div_2_ptr + row * 5 + col, div_2, mask)

What the kernels compute is what the eager calls compute.
""",
    )


def test_it_is_one_short_file_that_needs_numpy_alone():
    text = FILE.read_text()
    assert len(text.splitlines()) <= 400
    imports = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Import | ast.ImportFrom)]
    modules = {n.module if isinstance(n, ast.ImportFrom) else n.names[0].name for n in imports}
    assert {name.partition(".")[0] for name in modules if name} - sys.stdlib_module_names == {"numpy"}


def _chain(ops, x, y):
    return ops.exp(x * 0.5) + y


def _broadcast(ops, x, y):
    return (x + y) * ops.sum(y), ops.amax(x)


def _two_rows(ops, x, y):
    return ops.softmax(x) / (ops.sum(x * y) + 3), ops.sqrt(ops.exp(y))


def _around(ops, x, y):
    # The sum needs the product, which needs what could be in the sum's kernel.
    e = ops.exp(x)
    return e + ops.mm(e, y)


@pytest.mark.parametrize(
    ("function", "shapes", "kernels"),
    [
        (_chain, [(5, 7), (5, 7)], 1),
        (_chain, [(2, 3, 4), (3, 1)], 1),
        (_broadcast, [(2, 3, 4), (3, 4)], 3),
        (_broadcast, [(4, 1), (4, 6)], 2),
        (_two_rows, [(3, 16), (3, 16)], 3),
        (_around, [(4, 4), (4, 4)], 2),
    ],
)
def test_fused_is_what_eager_is(weave, function, shapes, kernels):
    def called(x, y):
        return function(weave.ops, x, y)

    args = _tensors(weave, *shapes)
    fused = weave.fuse(weave.trace(called, *args))
    assert sum(isinstance(step, weave.Region) for step in fused.steps) == kernels
    eager, compiled = called(*args), weave.compile(called)(*args)
    for a, b in zip(*([r] if isinstance(r, weave.Tensor) else r for r in (eager, compiled)), strict=True):
        np.testing.assert_allclose(a.data, b.data, rtol=1e-5, atol=1e-6)


def test_a_printed_graph_is_python(weave):
    args = _tensors(weave, (3, 6), (6, 5), (6,))
    names = {"ops": weave.ops}
    exec(str(weave.trace(weave.model, *args)), names)
    np.testing.assert_array_equal(names["forward"](*args).data, weave.model(*args).data)


def test_a_tensor_from_outside_is_a_constant(weave):
    x, y = _tensors(weave, (2, 3), (3,))
    graph = weave.fuse(weave.trace(lambda x: x * y, x))
    assert str(graph) == "def forward(x):\n    mul = fused_0(x, constant)  # mul\n    return mul"
    np.testing.assert_array_equal(graph(x).data, (x * y).data)


def test_the_kernels_are_triton(weave, tmp_path):
    x, w, scale = args = _tensors(weave, (3, 6), (6, 5), (6,))
    fused = weave.fuse(weave.trace(weave.model, *args))
    regions = [step for step in fused.steps if isinstance(step, weave.Region)]
    path = tmp_path / "kernels.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n\n" + "\n\n\n".join(map(weave.triton_text, regions))
    )
    kernels = _module("weave_kernels", path)

    def launch(name, *inputs):
        result = opweave.empty(3, inputs[0].shape[1])
        getattr(kernels, name)[(3,)](*inputs, result, BLOCK=8)
        return result

    x, w, scale = (opweave.from_numpy(arg.data) for arg in args)
    result = launch("fused_1", launch("fused_0", x, scale) @ w)
    np.testing.assert_allclose(result.numpy(), weave.model(*args).data, rtol=1e-5)
    del sys.modules["weave_kernels"]


def test_what_is_wrong_is_said(weave):
    with pytest.raises(ValueError, match="not a schema: 'f\\(Tensor\\)'"):
        weave.Op("f(Tensor)")
    with pytest.raises(ValueError, match="there is an op 'add' already"):
        weave.Op("add(Tensor x) -> Tensor")
    opaque = weave.Op("opaque(Tensor x) -> Tensor")
    x = weave.Tensor([1.0])
    with pytest.raises(NotImplementedError, match="opaque has no kernel for \\['CPU'\\]"):
        opaque(x)
    opaque.register(weave.Key.CPU)(lambda x: x)
    assert opaque(x) is x
    with pytest.raises(NotImplementedError, match="opaque has no kernel for \\['FAKE'\\]"):
        weave.trace(opaque, x)
    assert not weave.traces
    with pytest.raises(TypeError, match="missing a required argument: 'other'"):
        weave.ops.add(x)
