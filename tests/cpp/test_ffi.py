"""Libraries of others: functions of tvm-ffi libraries as ops, and ops as functions of tvm-ffi hosts."""

from __future__ import annotations

import gc
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
import types
from pathlib import Path

import numpy as np
import pytest

import opweave
from opweave import ops
from opweave.library import Library, register_autograd, register_fake, register_ffi, to_ffi
from opweave.registry import dtypes, errors
from opweave.registry.errors import (
    ArgumentError,
    AutogradError,
    DTypeError,
    OpweaveError,
    RegistrationError,
    SchemaError,
    ShapeError,
    UnsupportedError,
)
from opweave.registry.op import registry

tvm_ffi = pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed")
CXX = shutil.which("c++") or shutil.which("clang++")
needs_compiler = pytest.mark.skipif(CXX is None, reason="there is no C++ compiler")
SOURCE = Path(__file__).parent / "others" / "kernels.cpp"


def reference(x, w, eps=1e-6):
    return x / ((x * x).mean(-1, keepdim=True) + eps).sqrt() * w


# ---- a library that was built without opweave: registered, traced, compiled, differentiated ------------------------


def test_names(norm):
    assert list(norm) == [f"ffi_norm::{name}" for name in ("rms", "rms_backward", "scale_", "scaled_", "scaled")]
    assert norm["ffi_norm::rms"] is ops.ffi_norm.rms.default


def test_eager(norm):
    x, w = opweave.randn(4, 8), opweave.randn(8)
    assert opweave.testing.assert_close(ops.ffi_norm.rms(x, w), reference(x, w)) is None
    opweave.testing.assert_close(ops.ffi_norm.rms(x, w, eps=0.5), reference(x, w, 0.5))
    assert ops.ffi_norm.rms(x[:0], w).shape == (0, 8)


def test_gradients(norm):
    x, w = opweave.randn(4, 8, requires_grad=True), opweave.randn(8, requires_grad=True)
    grad = opweave.randn(4, 8)
    found = opweave.autograd.grad(ops.ffi_norm.rms(x, w), (x, w), grad)
    wanted = opweave.autograd.grad(reference(x, w), (x, w), grad)
    for a, b in zip(found, wanted, strict=True):
        opweave.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_traced_and_exported(norm, tmp_path):
    x, w = opweave.randn(4, 8), opweave.randn(8)

    def f(x, w):
        return ops.ffi_norm.rms(x * 2, w).sum(-1)

    for mode in ("real", "fake", "symbolic"):
        graph = opweave.make_fx(f, tracing_mode=mode)(x, w)
        assert "ops.ffi_norm.rms.default" in graph.code
        opweave.testing.assert_close(graph(x, w), f(x, w))
    path = tmp_path / "norm.owp"
    opweave.export.save(opweave.export.export(f, (x, w)), path)
    loaded = opweave.export.load(path)
    opweave.testing.assert_close(loaded.module()(x, w), f(x, w))


def test_compiled(norm):
    x, w = opweave.randn(4, 8, requires_grad=True), opweave.randn(8, requires_grad=True)

    def f(x, w):
        y = ops.ffi_norm.rms(opweave.relu(x) + 1, w) * 3
        ops.ffi_norm.scale_(y, 0.5)
        return opweave.softmax(y, -1)

    def g(x, w):
        return opweave.softmax(ops.ffi_norm.rms(opweave.relu(x) + 1, w) * 3, -1)

    with opweave.no_grad():
        opweave.testing.assert_close(opweave.compile(f)(x, w), f(x, w))
    compiled = opweave.compile(g)
    opweave.testing.assert_close(compiled(x, w), g(x, w))
    ours = opweave.autograd.grad(compiled(x, w)[:, 0].sum(), (x, w))
    for a, b in zip(ours, opweave.autograd.grad(g(x, w)[:, 0].sum(), (x, w)), strict=True):
        opweave.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_batched(norm):
    x, w = opweave.randn(3, 8, 4), opweave.randn(8)
    found = opweave.vmap(ops.ffi_norm.rms, in_dims=(2, None))(x, w)
    opweave.testing.assert_close(found, reference(x.movedim(2, 0), w))


def test_opcheck(norm):
    x, w = opweave.randn(4, 8, requires_grad=True), opweave.randn(8, requires_grad=True)
    opweave.library.opcheck(ops.ffi_norm.rms.default, (x, w))
    opweave.library.opcheck(ops.ffi_norm.scale_.default, (opweave.randn(3), 2.0))
    opweave.library.opcheck(ops.ffi_norm.scaled.default, (opweave.randn(3, requires_grad=True), 2.0))


def test_what_is_written(norm):
    x = opweave.arange(6.0).reshape(2, 3)
    ops.ffi_norm.scale_(x.t()[1:], 10)
    assert x.tolist() == [[0, 10, 20], [3, 40, 50]] and x._version == 1
    assert ops.ffi_norm.scaled_(x, by=0.1) is x and x._version == 2
    assert ops.ffi_norm.scaled_(x).tolist() == [[0, 2, 4], [pytest.approx(0.6), 8, 10]]
    y = opweave.ones(3, requires_grad=True)
    with pytest.raises(AutogradError):
        ops.ffi_norm.scale_(y, 2)
    z = ops.ffi_norm.scaled(y, 3)
    assert (z.tolist(), y.tolist()) == ([3, 3, 3], [1, 1, 1])
    z.sum().backward()
    assert y.grad.tolist() == [3, 3, 3]


def test_versions_tell_backward_of_writes(norm):
    x = opweave.ones(3, requires_grad=True)
    y = x.exp()
    z = y * 1
    ops.ffi_norm.scale_(y.detach(), 2)
    with pytest.raises(AutogradError, match="modified"):
        y.sum().backward()
    assert z.tolist() != []


# ---- values -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def values(library):
    register_ffi(str(library), {
        "ffi_values::doubled(Tensor x) -> Tensor": ("doubled", lambda x: opweave.empty_like(x)),
        "ffi_values::counted(int n) -> Tensor": "counted",
        "ffi_values::living() -> int": "living",
        "ffi_values::many(Tensor[] xs) -> Tensor[]": "many",
        "ffi_values::pair(Tensor a, Tensor b) -> (Tensor, Tensor)": "many((a, b))",
        "ffi_values::same(Tensor x) -> Tensor": "same",
        "ffi_values::summed(int[] xs, int? extra=None) -> int": "summed",
        "ffi_values::sizes(Tensor x) -> int": "summed(x.shape, x.dim())",
        "ffi_values::described(ScalarType dtype, Device device, *, str name, bool loud=False) -> str": "described",
        "ffi_values::fail(str kind) -> ()": "fail",
        "ffi_values::wrong_count(Tensor x, Tensor y) -> Tensor": "doubled",
        "ffi_values::wrong_type(str x) -> Tensor": "counted",
        "ffi_values::wrong_result(int n) -> str": "living()",
        "ffi_values::surprising(Tensor x) -> ()": "doubled",
        "ffi_values::unruly(Tensor x) -> Tensor out": "rms(out, x, x, 1.0)",
        "ffi_values::reused(Tensor x) -> Tensor out": ("rms(out, x, x, 1.0)", lambda x: x),
        "ffi_values::typed(Tensor x) -> Tensor out": ("rms(out, x, x, 1.0)", lambda x: 3),
    })  # fmt: skip
    return ops.ffi_values


def test_results(values):
    x = opweave.arange(4.0)
    y = values.doubled(x)
    assert type(y) is opweave.Tensor and y.tolist() == [0, 2, 4, 6] and y.data_ptr() % 64 == 0
    assert [t.tolist() for t in values.many([x, y])] == [[0, 2, 4, 6], [0, 4, 8, 12]]
    assert type(values.many([])) is list
    pair = values.pair(x, y)
    assert type(pair) is tuple and pair[1].tolist() == [0, 4, 8, 12]
    assert values.summed([1, 2, 3]) == 6 and values.summed((1, 2), extra=4) == 7 and values.sizes(x[None]) == 7
    text = values.described(opweave.bfloat16, "cpu", name="x", loud=True)
    assert (type(text), text) == (str, "x: code 4, 16 bits, device 1!")
    for dtype in (opweave.bool, opweave.complex64, opweave.uint8):
        code, bits, _ = dtype.__dlpack_data_type__()
        assert f"code {code}, {bits} bits" in values.described(dtype, opweave.device("cpu"), name="x" * 50)


def test_memory_of_the_library_is_freed_with_the_last_tensor_on_it(values):
    before = values.living()
    t = values.counted(5)
    assert type(t) is opweave.Tensor and t.dtype is opweave.int64 and values.living() == before + 1
    view = t[2:].numpy()
    del t
    assert view.tolist() == [2, 3, 4] and values.living() == before + 1
    del view
    gc.collect()
    assert values.living() == before


def test_a_result_that_is_an_argument_is_refused(values):
    with pytest.raises(RegistrationError, match="shares memory"):
        values.same(opweave.ones(3))


def test_threads(values, norm):
    w = opweave.ones(8)

    def work():
        for i in range(200):
            x = opweave.full((2, 8), float(i + 1))
            assert values.doubled(x).tolist() == (x * 2).tolist()
            assert ops.ffi_norm.rms(x, w).sum().item() == pytest.approx(16, rel=1e-4)

    failed = []
    threads = [threading.Thread(target=lambda: _noting(work, failed)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def _noting(work, failed):
    try:
        work()
    except BaseException as error:
        failed.append(error)


# ---- errors of calls -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("ValueError", ValueError),
        ("IndexError", IndexError),
        ("runtime_error", RuntimeError),
        ("bad_alloc", RuntimeError),
    ],
)
def test_errors_of_the_library(values, kind, error):
    with pytest.raises(error) as caught:
        values.fail(kind)
    assert caught.type is error
    if kind == "ValueError":
        assert str(caught.value) == "a bad value"


def test_a_library_may_raise_errors_of_opweave(values):
    with pytest.raises(ShapeError) as caught:
        values.fail("ShapeError")
    assert (caught.value.what, caught.value.got, caught.value.hint) == ("a bad shape", "[3]", "another one")


def test_errors_of_a_call(values, norm):
    x = opweave.ones(3)
    refused = [
        (lambda: values.wrong_count(x, x), ArgumentError, "takes other arguments than its schema says"),
        (lambda: values.wrong_type("a"), ArgumentError, "Expected `int`"),
        (lambda: values.wrong_result(1), ArgumentError, "must return str"),
        (lambda: values.surprising(x), ArgumentError, "only writes"),
        (lambda: values.unruly(x), RegistrationError, "register_fake('ffi_values::unruly'"),
        (lambda: values.reused(x), RegistrationError, "memory that is in use"),
        (lambda: values.typed(x), ArgumentError, "must return 1 tensors"),
        (lambda: values.doubled(None), ArgumentError, "expected a Tensor"),
        (lambda: values.doubled(), ArgumentError, "missing"),
        (lambda: values.doubled(x, x), ArgumentError, "positional"),
        (lambda: values.doubled(np.ones(3)), ArgumentError, "expected a Tensor"),
        (lambda: values.summed([1.5]), ArgumentError, "xs"),
        (lambda: values.doubled(x.to(opweave.float64)), TypeError, "float32 is wanted"),
        (lambda: ops.ffi_norm.rms(x, opweave.ones(2)), ValueError, "w has 2 elements"),
        (lambda: values.doubled(opweave.ones(3, device="meta")).numpy(), OpweaveError, "meta"),
    ]
    for call, error, text in refused:
        with pytest.raises(error) as caught:
            call()
        assert text in str(caught.value), caught.value
    assert x.tolist() == [1, 1, 1]


def test_a_rule_may_come_later(values):
    lib = Library("ffi_values", "FRAGMENT")
    register_fake("ffi_values::unruly", lambda x: opweave.empty_like(x), lib=lib)
    assert values.unruly(opweave.ones(1, 3)).shape == (1, 3)
    del lib
    gc.collect()


# ---- registrations -------------------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize(
    ("functions", "error", "text"),
    [
        ({"ffi_bad::f(Tensor x) -> Tensor": "missing"}, RegistrationError, "there is no function 'missing' in /"),
        ({"ffi_bad::f(Tensor x -> Tensor": "doubled"}, SchemaError, "column"),
        ({"f(Tensor x) -> Tensor": "doubled"}, SchemaError, "has no namespace"),
        ({"aten::add.Tensor(Tensor a, Tensor b) -> Tensor": "doubled"}, RegistrationError, "already defined"),
        ({"ffi_bad::f(Tensor x) -> Tensor": 3}, ArgumentError, "got:  3"),
        ({"ffi_bad::f(Tensor x) -> Tensor": "a b"}, ArgumentError, "'a b'"),
        ({"ffi_bad::f(Tensor x) -> Tensor": ("doubled", 3)}, ArgumentError, "the rule must be a function"),
        ({"ffi_bad::f(Tensor x) -> Tensor": ("doubled", lambda: 3)}, RegistrationError, "the rule cannot be called"),
        ({"ffi_bad::f(Tensor x) -> Tensor": "doubled(y)"}, SchemaError, "'y' is no argument and no return"),
        ({"ffi_bad::f(Tensor x) -> Tensor": "doubled(open('a'))"}, SchemaError, "'open' is no argument"),
        ({"ffi_bad::f(Tensor x) -> Tensor": "doubled(x=x)"}, SchemaError, "by position"),
        ({"ffi_bad::f(Tensor[] x) -> Tensor": "doubled(*x)"}, SchemaError, "by position"),
        ({"ffi_bad::f(Tensor x) -> Tensor": "doubled(x)(x)"}, SchemaError, "by position"),
        ({"ffi_bad::f(Tensor x) -> Tensor": "doubled(x,,)"}, SchemaError, "this is no call"),
        ({"ffi_bad::f(Tensor x) -> (Tensor a, Tensor b)": "doubled(a, x)"}, SchemaError, "all of the returns"),
        ({"ffi_bad::f(Tensor(a!) x) -> ()": "doubled(3)"}, SchemaError, "x: written by the schema"),
        ({"ffi_bad::f(Tensor(a) x) -> Tensor(a)": "doubled"}, SchemaError, "but no view"),
        ({"ffi_bad::f(Tensor(a!) x) -> (Tensor(a!), Tensor)": "doubled"}, SchemaError, "some are fresh"),
        ({"ffi_bad::f(complex x) -> Tensor": "doubled"}, SchemaError, "no values of type complex"),
        ({"ffi_bad::f(Tensor x, Generator? g) -> Tensor": "doubled"}, SchemaError, "no values of type Generator"),
        ({"ffi_bad::f(Tensor x, ...) -> Tensor": "doubled"}, SchemaError, "'...'"),
        ({3: "doubled"}, ArgumentError, "a schema must be text"),
        (["doubled"], ArgumentError, "expected a mapping"),
    ],
)
def test_what_is_refused_leaves_nothing(library, functions, error, text):
    good = {"ffi_bad::good(Tensor x) -> Tensor": ("doubled", lambda x: opweave.empty_like(x))}
    before = dict(registry.operators)
    for given in (functions, {**good, **functions} if isinstance(functions, dict) else functions):
        with pytest.raises(error) as caught:
            register_ffi(library, given)
        assert text in str(caught.value) and "test_ffi.py" in str(caught.value), caught.value
        assert registry.operators == before
    made = register_ffi(library, good, lib=(lib := Library("ffi_bad", "FRAGMENT")))
    assert made["ffi_bad::good"](opweave.ones(2)).tolist() == [2, 2]
    with pytest.raises(error if error is not RegistrationError else OpweaveError):
        register_ffi(library, functions, lib=lib)
    assert made["ffi_bad::good"](opweave.ones(2)).tolist() == [2, 2]
    lib._destroy()
    assert registry.operators == before


@needs_compiler
def test_libraries_own_their_ops(library):
    lib = Library("ffi_owned", "DEF")
    (op,) = register_ffi(library, {"ffi_owned::doubled(Tensor x) -> Tensor": "doubled"}, lib=lib).values()
    assert op(opweave.ones(1)).tolist() == [2]
    with pytest.raises(RegistrationError):
        register_ffi(library, {"ffi_owned::doubled(Tensor x) -> Tensor": "doubled"}, lib=lib)
    with pytest.raises(RegistrationError, match="another namespace"):
        register_ffi(library, {"ffi_other::doubled(Tensor x) -> Tensor": "doubled"}, lib=lib)
    with pytest.raises(RegistrationError, match="IMPL"):
        register_ffi(library, {"ffi_owned::d(Tensor x) -> Tensor": "doubled"}, lib=Library("ffi_owned", "IMPL"))
    with pytest.raises(ArgumentError, match="Library"):
        register_ffi(library, {}, lib="ffi_owned")
    del lib, op
    gc.collect()
    assert not any(name.startswith("ffi_owned") for name in registry.operators)


@needs_compiler
def test_where_functions_come_from(library, tmp_path):
    module = tvm_ffi.load_module(library)
    holder = types.SimpleNamespace(inner=types.SimpleNamespace(twice=lambda x: x * 2), plain=module.doubled)
    sources = [(library, "doubled"), (str(library), "doubled"), (module, "doubled"), (holder, "plain"),
               (holder, "inner.twice"), (None, "testing.echo(2 * x)"), (module, "testing.echo(x * 2)")]  # fmt: skip
    for source, symbol in sources:
        lib = Library("ffi_sources", "FRAGMENT")
        if "testing" in symbol:
            register_ffi(source, {"ffi_sources::f(int x) -> int": symbol}, lib=lib)
            assert ops.ffi_sources.f(4) == 8
        else:
            register_ffi(source, {"ffi_sources::f(Tensor x) -> Tensor": symbol}, lib=lib)
            assert ops.ffi_sources.f(opweave.ones(2)).tolist() == [2, 2]
        lib._destroy()
    text = tmp_path / "text.so"
    text.write_text("no library")
    for path, said in ((tmp_path / "none.so", "there is no library"), (text, "no library that can be loaded"),
                       (SOURCE, "no library that can be loaded"), (tmp_path, "there is no library")):  # fmt: skip
        with pytest.raises(RegistrationError, match=said):
            register_ffi(path, {"ffi_sources::f(Tensor x) -> Tensor": "doubled"})


# ---- ops as functions of hosts -------------------------------------------------------------------------------------


def test_ops_as_functions():
    add = to_ffi("aten::add.Tensor")
    x = opweave.arange(3.0)
    assert isinstance(add, tvm_ffi.Function)
    assert add(x, x).tolist() == [0, 2, 4] and add(x, x, 3).tolist() == [0, 4, 8]
    theirs = tvm_ffi.from_dlpack(np.arange(3, dtype="f4"))
    assert np.from_dlpack(add(theirs, theirs)).tolist() == [0, 2, 4]
    assert to_ffi(ops.aten.cat)([x, x]).tolist() == [0, 1, 2, 0, 1, 2]
    assert [t.tolist() for t in to_ffi("aten::split.Tensor")(x, 2)] == [[0, 1], [2]]
    values, places = to_ffi("aten::max.dim")(x, 0)
    assert (values.item(), places.item()) == (2, 2)
    full = to_ffi("aten::full")
    assert np.from_dlpack(full([2], 7, tvm_ffi.dtype("int32"), None, tvm_ffi.device("cpu"))).tolist() == [7, 7]
    assert to_ffi("aten::mul_.Tensor")(x, x) is not None and x.tolist() == [0, 1, 4]


@needs_compiler
def test_hosts_in_cpp(library):
    name = f"ffi_test.add.{os.getpid()}"
    to_ffi("aten::add.Tensor", name=name)
    try:
        module = tvm_ffi.load_module(library)
        x = opweave.arange(3.0)
        assert module.hosted(name, x, x).tolist() == [0, 2, 4]
        assert module.hosted(name, x, 1).tolist() == [1, 2, 3]
        told = module.told(name, x, opweave.ones(2))
        assert told.startswith("ShapeError | add: cannot broadcast") and "hint:" in told
        with pytest.raises(ShapeError) as caught:
            module.hosted(name, x, opweave.ones(2))
        with pytest.raises(ShapeError) as direct:
            ops.aten.add.Tensor(x, opweave.ones(2))
        assert (caught.value.what, caught.value.got, caught.value.hint) == (
            direct.value.what, direct.value.got, direct.value.hint)  # fmt: skip
        with pytest.raises(RegistrationError, match="there is a function"):
            to_ffi("aten::mul.Tensor", name=name)
        assert module.hosted(name, x, x).tolist() == [0, 2, 4]
    finally:
        tvm_ffi.registry.remove_global_func(name)


def test_what_is_no_op_is_refused(monkeypatch):
    for bad, error in (("aten::nothing", RegistrationError), (3, ArgumentError)):
        with pytest.raises(error):
            to_ffi(bad)
    for name in (3, ""):
        with pytest.raises(ArgumentError, match="name must be text"):
            to_ffi("aten::relu", name=name)
    with pytest.raises(ArgumentError, match="takes 1 arguments, 2 were given"):
        to_ffi("aten::relu")(opweave.ones(2), 3)
    with pytest.raises(ArgumentError):
        to_ffi("aten::relu")()
    monkeypatch.delitem(dtypes.BY_DLPACK, opweave.uint16.dlpack)
    with pytest.raises(DTypeError, match="no such element type"):
        to_ffi("aten::relu")(tvm_ffi.from_dlpack(np.ones(2, "u2")))


@pytest.mark.parametrize(
    "kind", [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, OpweaveError)]
)
def test_errors_keep_their_class_and_parts(kind):
    to_ffi("aten::relu")  # makes the classes known
    raised = kind("what\nin two lines", got="1\n2", at="here", hint="do\n  this")

    def fail():
        raise raised

    with pytest.raises(kind) as caught:
        tvm_ffi.convert(fail)()
    again = caught.value
    assert type(again) is kind and str(again) == str(raised)
    assert (again.what, again.got, again.at, again.hint) == (raised.what, raised.got, raised.at, raised.hint)


def test_without_tvm_ffi(monkeypatch):
    from opweave.registry import ffi

    def missing(name):
        raise ImportError("No module named 'tvm_ffi'")

    ffi._ffi.cache_clear()
    monkeypatch.setattr(ffi, "load_heavy", missing)
    for call in (lambda: register_ffi(None, {}), lambda: to_ffi("aten::relu")):
        with pytest.raises(UnsupportedError, match=r"opweave\[ffi\]"):
            call()


# ---- libraries of public wheels ------------------------------------------------------------------------------------


def test_the_library_in_the_wheel_of_tvm_ffi():
    lib = Library("ffi_wheel", "DEF")
    register_ffi(Path(tvm_ffi.__file__).parent / "lib" / "libtvm_ffi_testing.so", {
        "ffi_wheel::next(int x) -> int": "testing.add_one",
        "ffi_wheel::again(int[] x) -> int[]": "testing.schema_id_arr_int",
        "ffi_wheel::fail(str kind, str message) -> ()": "testing.test_raise_error",
    }, lib=lib)  # fmt: skip
    assert ops.ffi_wheel.next(3) == 4 and ops.ffi_wheel.again([1, 2]) == [1, 2]
    with pytest.raises(KeyError, match="gone"):
        ops.ffi_wheel.fail("KeyError", "gone")
    lib._destroy()


def _xgrammar():
    found = importlib.util.find_spec("xgrammar")
    for folder in found.submodule_search_locations or () if found else ():
        yield from Path(folder).glob("libxgrammar_bindings*.so")


def test_a_library_of_a_public_wheel():
    """xgrammar masks the logits of tokens that a grammar does not allow; its functions take addresses and layouts."""
    library = next(_xgrammar(), None)
    if library is None:
        pytest.skip("xgrammar is not installed (pip install --no-deps xgrammar)")
    lib = Library("ffi_tokens", "DEF")
    call = ("xgrammar.tvm_ffi_binding.kernels.apply_token_bitmask_inplace_cpu({0}.data_ptr(), {0}.shape, {0}.stride(), "
            "mask.data_ptr(), mask.shape, mask.stride(), vocabulary, None, {0}.dtype.name)")  # fmt: skip
    register_ffi(library, {
        "ffi_tokens::mask_(Tensor(a!) logits, Tensor mask, int vocabulary) -> ()": call.format("logits"),
        "ffi_tokens::mask(Tensor logits, Tensor mask, int vocabulary) -> Tensor out":
            (call.format("out"), lambda logits, mask, vocabulary: logits.clone()),
        "ffi_tokens::regex(str regex, bool named=True) -> str": "xgrammar.tvm_ffi_binding.testing._regex_to_ebnf",
    }, lib=lib)  # fmt: skip

    def keep(ctx, inputs, output):
        ctx.refused = output.isinf()

    def backward(ctx, grad):
        return opweave.where(ctx.refused, 0.0, grad), None, None

    register_autograd("ffi_tokens::mask", backward, setup_context=keep, lib=lib)
    mask = opweave.from_numpy(np.array([[0x55555555, 1], [-1, -1]], np.int32))
    for dtype in (opweave.float32, opweave.bfloat16):
        logits = opweave.randn(2, 40).to(dtype)
        allowed = opweave.ones(2, 40, dtype=opweave.bool)
        allowed[0, 1::2] = False
        allowed[0, 33:] = False
        wanted = logits.masked_fill(~allowed, float("-inf"))
        assert ops.ffi_tokens.mask(logits, mask, 40).tolist() == wanted.tolist()
        ops.ffi_tokens.mask_(logits, mask, 40)
        assert logits.tolist() == wanted.tolist() and logits._version == 1

    def f(x):
        return opweave.softmax(ops.ffi_tokens.mask(x * 2, mask, 40), -1)

    x = opweave.randn(2, 40, requires_grad=True)
    assert "ops.ffi_tokens.mask.default" in opweave.make_fx(f)(x.detach()).code
    compiled = opweave.compile(f)
    opweave.testing.assert_close(compiled(x), f(x))
    ours, theirs = (opweave.autograd.grad(g(x)[:, 0].sum(), x)[0] for g in (compiled, f))
    opweave.testing.assert_close(ours, theirs)
    assert ours[0, 1] == 0 and ours[0, 2] != 0
    assert ops.ffi_tokens.regex("[a-z]+x?") == 'root ::= [a-z]+ "x"?\n'
    lib._destroy()


@needs_compiler
def test_the_page_runs(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "ffi.md").read_text()
    blocks = re.findall(r"^```(\w+)\n(?:(?:#|//) (\w+\.\w+)\n)?(.*?)^```$", text, re.M | re.S)
    files = {}
    for _, name, body in blocks:
        files[name] = files.get(name, "") + body
    assert set(files) == {"norm.cpp", "norm.py", ""}
    for name in ("norm.cpp", "norm.py"):
        (tmp_path / name).write_text(files[name])
    bin_folder = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    subprocess.run(files[""], shell=True, cwd=tmp_path, check=True, env=dict(os.environ, PATH=bin_folder))
    where = dict(os.environ, PYTHONPATH=str(Path(opweave.__file__).parents[1]))
    done = subprocess.run([sys.executable, "norm.py"], cwd=tmp_path, capture_output=True, text=True, env=where)
    assert not done.returncode, done.stderr
    assert done.stdout == "opweave.Size([4, 8]) opweave.Size([8])\nopweave.Size([4, 8])\n"
