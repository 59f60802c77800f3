"""Ops that are declared wrongly, rules that do not tell the truth, and a registry that stays as it was."""

import numpy as np
import pytest
from mistakes import fresh_op, refused

import opweave
from opweave import Tensor
from opweave.library import custom_op, register_fake, register_kernel
from opweave.registry.custom_op import definitions
from opweave.registry.errors import (
    ArgumentError,
    CompileError,
    DispatchError,
    FakeTensorError,
    RegistrationError,
    SchemaError,
)
from opweave.registry.op import registry

X = opweave.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))


def copy(x):
    return x.clone()


# ---- declarations --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["noname", "a::b.default", "::x", "a::", 3, None])
def test_names(name):
    with refused(ArgumentError, "malformed name", __file__):
        custom_op(name, copy, mutates_args=(), schema="(Tensor x) -> Tensor")


@pytest.mark.parametrize("name", ["aten::sin", "aten::add"])
def test_built_in_ops_are_not_replaced(name):
    before = dict(registry.operators)
    with refused(RegistrationError, "already defined", __file__):
        custom_op(name, copy, mutates_args=(), schema="(Tensor x) -> Tensor")
    assert registry.operators == before and (X + X).tolist() == (X * 2).tolist()


@pytest.mark.parametrize(
    ("schema", "column"),
    [
        ("(Tensor x -> Tensor", 11),
        ("(Tensr x) -> Tensor", 2),
        ("(Tensor x, Tensor x) -> Tensor", 12),
        ("(Tensor x, int n=) -> Tensor", 18),
        ("", 1),
    ],
)
def test_schemas_are_pointed_into(schema, column):
    with pytest.raises(SchemaError) as caught:
        custom_op("mistakes::pointed", copy, mutates_args=(), schema=schema)
    error = caught.value
    text, pointer = error.got.splitlines()
    assert text == "mistakes::pointed" + schema
    assert f"column {column + len('mistakes::pointed')}" in pointer
    assert error.at.file == __file__ and "mistakes::pointed" not in registry.operators


def test_what_is_no_schema_or_function():
    with refused(ArgumentError, "schema must be text", __file__):
        custom_op("mistakes::a", copy, mutates_args=(), schema=3)
    with refused(ArgumentError, "implementation must be a function", __file__):
        custom_op("mistakes::a", 3, mutates_args=(), schema="(Tensor x) -> Tensor")
    with refused(ArgumentError, "fake rule must be a function", __file__):
        fresh_op(copy).register_fake(3)
    with refused(ArgumentError, "kernel must be a function", __file__):
        fresh_op(copy).register_kernel("cpu", 3)


def test_functions_that_the_op_cannot_call():
    with refused(RegistrationError, "the implementation cannot be called", __file__, got="def copy(x)"):
        custom_op("mistakes::a", copy, mutates_args=(), schema="(Tensor x, int n) -> Tensor")
    with refused(RegistrationError, "the fake rule cannot be called", __file__):
        fresh_op(copy).register_fake(lambda: None)
    with refused(RegistrationError, "the kernel cannot be called", __file__):
        fresh_op(copy).register_kernel("cpu", lambda x, y: x)


def test_a_fake_rule_need_not_repeat_defaults():
    op = fresh_op(lambda x, n: x * n, lambda x, n: opweave.empty_like(x), "(Tensor x, int n=2) -> Tensor")
    assert opweave.compile(lambda x: op(x) + 1)(X).tolist() == (X * 2 + 1).tolist()


@pytest.mark.parametrize("mutates", ["x", ("z",), ("n",), None, (1,), 3])
def test_mutates_args(mutates):
    def f(x: Tensor, n: int) -> Tensor:
        return x.clone()

    with refused(SchemaError, "mutates_args", __file__):
        custom_op("mistakes::a", f, mutates_args=mutates)
    assert "mistakes::a" not in registry.operators


def test_mutates_args_and_schema_disagree():
    with refused(RegistrationError, "disagree", __file__):
        custom_op("mistakes::a", lambda x: None, mutates_args=(), schema="(Tensor(a!) x) -> ()")


def test_annotations():
    def none(x):
        return x

    def odd(x: Tensor, d: dict) -> Tensor:
        return x

    def star(*x: Tensor) -> Tensor:
        return x[0]

    def text(x: Tensor) -> str:
        return ""

    def forward(x: "Tensr") -> Tensor:  # noqa: F821
        return x

    for f in (none, odd, star, text, forward):
        with refused(SchemaError, f"infer_schema({f.__name__})", __file__):
            custom_op("mistakes::a", f, mutates_args=())


@pytest.mark.parametrize("devices", ["tpu", 3, ["cpu", "tpu"], [None]])
def test_device_types(devices):
    with refused(ArgumentError, "unknown device type", __file__):
        custom_op("mistakes::a", copy, mutates_args=(), schema="(Tensor x) -> Tensor", device_types=devices)
    with refused(ArgumentError, "unknown device type", __file__):
        fresh_op(copy).register_kernel(devices, copy)


def test_ops_that_are_not_there():
    with refused(RegistrationError, "no op", __file__):
        register_fake("nope::nope", copy)
    with refused(ArgumentError, "expected an op", __file__):
        register_kernel(3, "cpu", copy)
    with refused(RegistrationError, "already has a fake rule", __file__):
        register_fake("aten::sin", copy)
    with pytest.raises(AttributeError, match="nope::nope"):
        opweave.ops.nope.nope(X)


def test_a_definition_that_fails_leaves_no_trace():
    before, names = dict(registry.operators), set(definitions)
    with pytest.raises(ArgumentError):
        custom_op("mistakes::half", copy, mutates_args=(), schema="(Tensor x) -> Tensor", device_types="tpu")
    assert registry.operators == before and set(definitions) == names
    assert not hasattr(opweave.ops.mistakes, "half")


@pytest.mark.parametrize(
    "bad", [{"device_types": "tpu"}, {"schema": "(Tensr x) -> Tensor"}, {"schema": "(Tensor x, int n) -> Tensor"}]
)
def test_a_redefinition_that_fails_leaves_the_old_one(bad):
    old = custom_op("mistakes::kept", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    old.register_fake(lambda x: opweave.empty_like(x))
    f = opweave.compile(lambda x: opweave.ops.mistakes.kept(x) * 2)
    f(X)
    with pytest.raises((ArgumentError, SchemaError, RegistrationError)):
        custom_op("mistakes::kept", copy, mutates_args=(), **{"schema": "(Tensor x) -> Tensor", **bad})
    assert definitions["mistakes::kept"] is old
    for again in (old, opweave.ops.mistakes.kept):
        assert again(X).tolist() == (X + 1).tolist()
    assert f(X).tolist() == ((X + 1) * 2).tolist()


def test_a_redefinition_is_used_by_compiled_code():
    results = []
    f = opweave.compile(lambda x: opweave.ops.mistakes.again(x) * 2)
    for by in (1, 2):
        op = custom_op("mistakes::again", lambda x, by=by: x + by, mutates_args=(), schema="(Tensor x) -> Tensor")
        op.register_fake(lambda x: opweave.empty_like(x))
        results.append(f(X)[0, 0].item())
    assert results == [2, 4]


# ---- results that are not what was promised ------------------------------------------------------------------------


@pytest.mark.parametrize("result", [3, None, X.numpy(), (X.clone(),), [X.clone()]])
@pytest.mark.parametrize("wrap", [lambda f: f, opweave.compile])
def test_an_implementation_of_the_wrong_type(result, wrap):
    op = fresh_op(lambda x: result, lambda x: opweave.empty_like(x))
    with refused(ArgumentError, "the implementation must return Tensor", __file__):
        wrap(lambda x: op(x))(X)


@pytest.mark.parametrize("body", [lambda x: x, lambda x: x[0], lambda x: opweave.from_numpy(x.numpy())])
def test_an_implementation_that_returns_its_argument(body):
    with refused(RegistrationError, "shares memory with an input", __file__):
        fresh_op(body)(X)


def test_an_implementation_whose_outputs_share_memory():
    def twice(x):
        y = x * 2
        return y, y

    with refused(RegistrationError, "two outputs share memory", __file__):
        fresh_op(twice, schema="(Tensor x) -> (Tensor, Tensor)")(X)


@pytest.mark.parametrize("result", [3, None, np.zeros((2, 3)), (1,), "x"])
def test_a_fake_rule_of_the_wrong_type(result):
    op = fresh_op(copy, lambda x: result)
    with refused(FakeTensorError, "the fake rule must return Tensor", __file__):
        opweave.compile(lambda x: op(x) + 1)(X)


def test_a_fake_rule_that_returns_data_or_its_argument():
    with refused(FakeTensorError, "a tensor with data", __file__):
        opweave.compile(fresh_op(copy, lambda x: opweave.from_numpy(np.zeros((2, 3), np.float32))))(X)
    with refused(FakeTensorError, "returned an input", __file__):
        opweave.compile(fresh_op(copy, lambda x: x))(X)


LIES = [
    lambda x: x.new_empty(200, 300),
    lambda x: x.new_empty(1, 1),
    lambda x: x.new_empty(6),
    lambda x: opweave.empty(2, 3, dtype=opweave.float64),
]
USES = [
    lambda y, x: y + 1,
    lambda y, x: y,
    lambda y, x: y.sum(),
    lambda y, x: y[..., -1:].exp(),
    lambda y, x: opweave.cat([y.reshape(-1), x.to(y.dtype).reshape(-1)]),
]


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("lie", LIES)
def test_a_fake_rule_that_lies_is_found_before_memory_is_read(lie, use):
    op = fresh_op(copy, lie)
    with refused(CompileError, "something else than its fake rule promised", __file__, got="f32[2, 3]"):
        opweave.compile(lambda x: use(op(x), x))(X)


def test_a_result_on_another_device():
    op = fresh_op(lambda x: opweave.empty(2, 3, device="meta"), lambda x: opweave.empty_like(x))
    with refused(CompileError, "something else than its fake rule promised", __file__, got="on meta"):
        opweave.compile(lambda x: op(x) + 1)(X)


@pytest.mark.parametrize("real", [1, 3])
def test_a_list_of_another_length(real):
    op = fresh_op(
        lambda x: [x + i for i in range(real)],
        lambda x: [opweave.empty_like(x), opweave.empty_like(x)],
        "(Tensor x) -> Tensor[]",
    )
    with refused(CompileError, "another number of tensors", __file__, got=f"{real} tensors"):
        opweave.compile(lambda x: op(x)[1] + 1)(X)


def test_one_of_several_results():
    op = fresh_op(
        lambda x: (x + 1, x.sum()),
        lambda x: (opweave.empty_like(x), opweave.empty_like(x)),
        "(Tensor x) -> (Tensor, Tensor)",
    )
    with refused(CompileError, "something else", __file__, got="f32[]"):
        opweave.compile(lambda x: op(x)[1] + 1)(X)


@pytest.mark.parametrize(
    "body",
    [
        copy,
        lambda x: x.clone().t().contiguous().t(),
        lambda x: opweave.cat([x, x], 1)[:, :3],
        lambda x: opweave.cat([x.reshape(-1), x.reshape(-1)])[1:7].reshape(2, 3) * 0 + x,
    ],
)
@pytest.mark.parametrize("fake", [opweave.empty_like, lambda x: opweave.empty_strided((2, 3), (1, 2))])
def test_other_strides_are_put_right(body, fake):
    op = fresh_op(lambda x: body(x), lambda x: fake(x))
    assert opweave.compile(lambda x: op(x) + 1)(X).tolist() == (X + 1).tolist()


def test_what_an_implementation_raises_keeps_its_traceback():
    def broken(x):
        raise KeyError("inside")

    op = fresh_op(broken, opweave.empty_like)
    for f in (op, opweave.compile(lambda x: op(x) + 1)):
        with pytest.raises(KeyError, match="inside") as caught:
            f(X)
        assert caught.traceback[-1].name == "broken"


def by_numpy(x):
    x.numpy()[...] += 1
    return x.clone()


def by_an_op(x):
    x.add_(1)
    return x.clone()


def in_a_list(x):
    x[1].numpy()[0] = 7
    return x[1].clone()


@pytest.mark.parametrize("wrap", [lambda f: f, opweave.compile])
@pytest.mark.parametrize(
    ("body", "schema", "given"),
    [
        (by_numpy, "(Tensor x) -> Tensor", lambda: X.clone()),
        (by_an_op, "(Tensor x) -> Tensor", lambda: X.clone()),
        (by_an_op, "(Tensor? x) -> Tensor", lambda: X.clone()),
        (in_a_list, "(Tensor[] x) -> Tensor", lambda: [X, X.clone()]),
        (lambda x: (by_numpy(x), 3)[1], "(Tensor x) -> int", lambda: X.clone()),
        (lambda x: (by_an_op(x), 3)[1], "(Tensor x) -> int", lambda: X.clone()),
        (by_numpy, "(Tensor x) -> Tensor", lambda: opweave.zeros(3, 1 << 18).t()),  # of which a part is compared
    ],
)
def test_a_write_that_is_not_declared(body, schema, given, wrap):
    if wrap is opweave.compile and ("int" in schema or "?" in schema):
        pytest.skip("compiled code reads no numbers of opaque ops")
    op = fresh_op(body, lambda x: opweave.empty_like(x[1] if isinstance(x, list) else x), schema)
    with refused(RegistrationError, "writes to its argument 'x', which the op does not declare", __file__):
        wrap(lambda x: op(x))(given())


def test_a_write_by_an_op_is_noticed_on_every_call():
    calls = []

    def late(x):
        calls.append(x)
        return by_an_op(x) if len(calls) == 6 else x.clone()

    op = fresh_op(late)
    for _ in range(5):
        op(X.clone())
    with refused(RegistrationError, "writes to its argument", __file__):
        op(X.clone())


def test_what_is_declared_may_be_written():
    op = custom_op("mistakes::writes", lambda x, y: x.add_(y) and None, mutates_args=("x",),
                   schema="(Tensor(a!) x, Tensor y) -> ()")  # fmt: skip
    y = opweave.zeros(1)
    for _ in range(5):
        op(y, opweave.ones(1))
    assert y.item() == 5


def test_a_device_without_kernel():
    op = custom_op("mistakes::gpu_only", copy, mutates_args=(), schema="(Tensor x) -> Tensor", device_types="cuda")
    with refused(DispatchError, "no kernel for CPU", __file__):
        op(X)
