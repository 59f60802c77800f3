"""`PYBIND11_MODULE`: a module of C++ functions becomes ops and a Python module, without pybind11."""

import importlib.util
import shutil
from pathlib import Path

import pytest

import opweave
from opweave.registry.errors import CompileError
from opweave.testing import assert_close
from opweave.utils import cpp_extension

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"
)
pytest.importorskip("tvm_ffi", reason="op libraries in C++ need apache-tvm-ffi")
SOURCE = Path(__file__).parent / "sources" / "module.cpp"


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """The library, imported as what it is for Python: an extension module."""
    path = cpp_extension.load(
        "bound_ext", SOURCE, extra_cflags=["-O0", "-Wall", "-Wextra", "-Wno-unused-parameter"],
        build_directory=tmp_path_factory.mktemp("bound"), is_standalone=True,
    )  # fmt: skip
    spec = importlib.util.spec_from_file_location("bound_ext", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_functions_are_ops_with_the_schema_of_their_type(module):
    space = opweave.ops.bound_ext
    assert module.scaled is space.scaled and {*dir(space)} == {n for n in dir(module) if not n.startswith("__")}
    packets = [getattr(space, name) for name in dir(space)]
    shown = {p.opname: [str(getattr(p, o)._schema).partition("::")[2] for o in p.overloads()] for p in packets}
    assert shown == {
        "both": ["both(Tensor[] xs, Tensor? y=None, *, bool flag=False) -> (Tensor, Tensor)"],
        "fill": ["fill(Tensor(a!) arg0, Tensor arg1, float arg2) -> ()"],
        "grow_": ["grow_(Tensor(a!) arg0, Tensor arg1) -> Tensor(a!)"],
        "name": ["name() -> str"],
        "norms": ["norms(Tensor arg0) -> Tensor[]"],
        "pairs": ["pairs(Tensor x) -> (Tensor, int)"],
        "scaled": ["scaled(Tensor x, float by=2., int n=1) -> Tensor"],
        "small": ["small(int arg0) -> int"],
        "text": ['text(str a="by default", int[] sizes=[1, 2], float limit=inf) -> str'],
        "which": ["which(Tensor arg0) -> int", "which.overload1(Tensor arg0, Tensor arg1) -> int"],
    }


def test_they_compute_and_write(module):
    x = opweave.arange(6.0).view(2, 3) - 2
    assert_close(module.scaled(x), x * 2 + 1)
    assert_close(module.scaled(x, n=3, by=1.5), x * 1.5 + 3)
    y, dim = module.pairs(x)
    assert_close(y, x + 1)
    assert dim == 2 and module.which(x) == 1 and module.which(x, x) == 2 and module.name() == "hello"
    total, rows, all_of = module.norms(x)
    assert_close(total, (x * x).sum().sqrt())
    assert_close(rows, x.abs().sum(1))
    assert_close(all_of, (x * x).sum().sqrt().view(1, 1))
    first, second = module.both([x, x.double() + 1])
    assert_close(first, -x)
    assert_close(second, x + 1)
    assert module.both([x, x], y, flag=True)[1].tolist() == y.tolist()
    assert module.text() == "by default2!" and module.text("b", [1], 1.0) == "b1"
    z, before = opweave.zeros(2, 3), x.clone()
    module.fill(z, x, 7.0)
    assert_close(z, x + 7)
    assert module.grow_(z, x) is z
    assert_close(z, x * 2 + 7)
    assert_close(x, before)


def test_they_are_differentiated_and_compiled(module):
    x = opweave.randn(3).requires_grad_()
    module.scaled(x, 3.0).sum().backward()
    assert x.grad.tolist() == [3.0] * 3

    def f(x):
        z = x * 2
        module.fill(z, x, 1.0)
        return module.scaled(z) + module.pairs(x)[0]

    x = opweave.randn(5)
    assert_close(opweave.compile(f, fullgraph=True)(x), f(x))


def test_mistakes_are_typed_errors(module):
    x = opweave.zeros(1, 1, 1, 1)
    with pytest.raises(RuntimeError, match="too many dimensions"):
        module.pairs(x)
    with pytest.raises(ValueError, match="the number 256 does not fit into 8 bits"):
        module.small(256)
    with pytest.raises(ValueError, match="the number -1 does not fit"):
        module.small(-1)
    with pytest.raises(TypeError, match="scaled"):
        module.scaled("no tensor")


def test_what_there_is_not_is_named(tmp_path):
    source = "struct S {};\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { py::class_<S> s; }\n"
    with pytest.raises(CompileError, match="has no classes"):
        cpp_extension.load_inline("not_bound", source, extra_cflags=["-fsyntax-only"], build_directory=tmp_path)
