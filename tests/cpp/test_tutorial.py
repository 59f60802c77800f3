"""PyTorch's tutorial for custom C++ ops: its sources as published, with opweave under the name of torch."""

import sys
import types
from pathlib import Path

import numpy as np
import pytest

import opweave
from opweave import make_fx
from opweave.testing import assert_close

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def extension(ops):
    space = ops("tutorial/muladd.cpp", "extension_cpp")
    source = (HERE / "sources" / "tutorial" / "ops.py").read_text()
    module = types.ModuleType("extension_cpp_ops")
    present = sys.modules.get("torch")
    # Opweave under the other name, with the one private function that the tutorial uses.
    torch = sys.modules["torch"] = types.ModuleType("torch")
    torch.__dict__.update({**vars(opweave), "_check": opweave.check})
    try:
        exec(compile(source, "ops.py", "exec"), module.__dict__)
    finally:
        if present is None:
            del sys.modules["torch"]
        else:
            sys.modules["torch"] = present
    module.space = space
    return module


def samples(requires_grad=False):
    def tensor(*size):
        return opweave.randn(*size, requires_grad=requires_grad)

    return [
        (tensor(3), tensor(3), 1),
        (tensor(20), tensor(20), 3.14),
        (tensor(20), opweave.randn(20), -123),
        (opweave.randn(2, 3), tensor(2, 3), -0.3),
    ]


def reference(a, b, c):
    return a * b + c


@pytest.mark.parametrize("case", range(4))
def test_correctness(extension, case):
    args = samples()[case]
    assert_close(extension.mymuladd(*args), reference(*args))


@pytest.mark.parametrize("case", range(4))
def test_gradients(extension, case):
    a, b, c = samples(requires_grad=True)[case]
    wanted = [t for t in (a, b) if t.requires_grad]
    out = extension.mymuladd(a, b, c)
    grad = opweave.randn(*out.shape)
    found = opweave.autograd.grad(out, wanted, grad)
    assert_close(found, opweave.autograd.grad(reference(a, b, c), wanted, grad))


@pytest.mark.parametrize("case", range(4))
def test_opcheck(extension, case):
    for requires_grad in (False, True):
        args = samples(requires_grad)[case]
        opweave.library.opcheck(opweave.ops.extension_cpp.mymuladd.default, args)


def test_out_variant(extension):
    a, b, out = opweave.rand(2, 3), opweave.rand(2, 3), opweave.zeros(2, 3)
    before = out._version
    extension.myadd_out(a, b, out)
    assert_close(out, a + b)
    assert out._version > before
    opweave.library.opcheck(opweave.ops.extension_cpp.myadd_out.default, (a, b, out))


def test_it_is_traced_compiled_and_differentiated_there(extension):
    def f(x, y):
        return opweave.relu(extension.mymuladd(x * 2, y, 1.0)) + 1

    x, y = opweave.randn(3, 4), opweave.randn(3, 4)
    graph = make_fx(f, tracing_mode="symbolic")(x, y)
    assert "extension_cpp.mymuladd.default" in [str(n.target) for n in graph.graph.nodes if n.op == "call_function"]
    compiled = opweave.compile(f, fullgraph=True)
    assert_close(compiled(x, y), f(x, y))
    p = opweave.randn(3, 4, requires_grad=True)
    compiled(p, y).sum().backward()
    q = p.detach().clone().requires_grad_()
    f(q, y).sum().backward()
    assert_close(p.grad, q.grad)


def test_a_compiled_function_that_writes(extension):
    def f(a, b):
        out = opweave.zeros(2, 3)
        extension.myadd_out(a * 2, b, out)
        return out.sin()

    a, b = opweave.rand(2, 3), opweave.rand(2, 3)
    assert_close(opweave.compile(f, fullgraph=True)(a, b), (a * 2 + b).sin())


def test_it_is_exported(extension, tmp_path):
    a, b = opweave.randn(2, 3), opweave.randn(2, 3)
    program = opweave.export.export(lambda a, b: extension.mymuladd(a, b, 2.0).exp(), (a, b))
    opweave.export.save(program, str(tmp_path / "model.owx"))
    loaded = opweave.export.load(str(tmp_path / "model.owx"))
    assert_close(loaded.module()(a, b), (a * b + 2).exp())


def test_vmap_rule_and_autocast(extension):
    lib = opweave.library.Library("extension_cpp", "FRAGMENT")

    @opweave.library.register_vmap("extension_cpp::mymul", lib=lib)
    def rule(info, in_dims, a, b):
        a = a if in_dims[0] is None else a.movedim(in_dims[0], 0)
        b = b if in_dims[1] is None else b.movedim(in_dims[1], 0)
        a = a.expand(info.batch_size, *a.shape).contiguous() if in_dims[0] is None else a
        b = b.expand(info.batch_size, *b.shape).contiguous() if in_dims[1] is None else b
        return extension.space.mymul(a, b), 0

    a, b = opweave.randn(5, 3), opweave.randn(3)
    assert_close(opweave.vmap(extension.space.mymul, in_dims=(0, None))(a, b), a * b)
    opweave.library.register_autocast("extension_cpp::mymuladd", "cpu", opweave.float32, lib=lib)
    with opweave.autocast("cpu", dtype=opweave.bfloat16):
        assert extension.mymuladd(a.to(opweave.bfloat16), a, 1.0).dtype is opweave.float32
    lib._destroy()


def test_methods_of_numpy_agree(extension):
    a, b = np.float32([1, 2]), np.float32([3, 4])
    result = extension.mymuladd(opweave.from_numpy(a), opweave.from_numpy(b), 0.5)
    assert result.tolist() == [3.5, 8.5]
