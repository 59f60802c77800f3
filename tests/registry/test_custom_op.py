"""Operators that users declare."""

from collections.abc import Sequence

import numpy as np
import pytest

import opweave
from opweave.registry import dtypes
from opweave.registry.custom_op import CustomOpDef, custom_op
from opweave.registry.device import Device, meta
from opweave.registry.errors import ArgumentError, DispatchError, RegistrationError, SchemaError
from opweave.registry.library import find_op
from opweave.registry.op import ops, registry
from opweave.registry.op_rules import register_fake, register_kernel
from opweave.registry.tensor import Tensor, allocate, from_numpy


def tensor(*values):
    return from_numpy(np.array(values, np.float32))


def test_a_function_becomes_an_op():
    @custom_op("test_co::sin", mutates_args=())
    def sin(x: Tensor) -> Tensor:
        """The sine."""
        return from_numpy(np.sin(x.numpy()))

    assert isinstance(sin, CustomOpDef) and sin.__doc__ == "The sine."
    assert str(sin._opoverload._schema) == "test_co::sin(Tensor x) -> Tensor"
    x = tensor(0.5, 2)
    np.testing.assert_array_equal(sin(x).numpy(), np.sin(x.numpy()))
    np.testing.assert_array_equal(ops.test_co.sin(x).numpy(), np.sin(x.numpy()))
    np.testing.assert_array_equal(ops.test_co.sin.default(x=x).numpy(), np.sin(x.numpy()))


def test_mutating_op_counts_the_version():
    @custom_op("test_co::sin_", mutates_args={"x"}, device_types="cpu")
    def sin_(x: Tensor) -> None:
        np.sin(x.numpy(), out=x.numpy())

    x = tensor(0.5, 2)
    expected = np.sin(x.numpy())
    assert sin_(x) is None
    assert x._version == 1
    np.testing.assert_array_equal(x.numpy(), expected)
    assert str(sin_._opoverload._schema) == "test_co::sin_(Tensor(a0!) x) -> ()"


def test_factory_chooses_by_its_device_argument():
    @custom_op("test_co::make", mutates_args={}, device_types="cpu")
    def make(device: Device) -> Tensor:
        return tensor(1, 1, 1)

    assert make("cpu").tolist() == [1, 1, 1] and make(Device("cpu")).numel() == 3
    with pytest.raises(DispatchError, match="no kernel for meta"):
        make("meta")


def test_one_device_without_a_tensor_or_device_argument_is_refused():
    with pytest.raises(RegistrationError, match="needs a tensor or a device argument"):

        @custom_op("test_co::nothing", mutates_args=(), device_types="cpu")
        def nothing(n: int) -> Tensor:
            return tensor(n)


def test_kernels_for_other_devices():
    @custom_op("test_co::dev", mutates_args=(), device_types="cpu")
    def dev(x: Tensor) -> Tensor:
        return tensor(1)

    x = allocate((1,), (1,), dtypes.float32, meta)
    with pytest.raises(DispatchError, match="no kernel for meta tensors"):
        dev(x)

    @register_kernel("test_co::dev", "meta")
    def _(x):
        return allocate((5,), (1,), dtypes.float32, meta)

    assert dev(x).shape == (5,) and dev(tensor(2)).tolist() == [1]

    @dev.register_kernel(["cpu", "cuda"])
    def _(x):
        return tensor(7)

    assert dev(tensor(2)).tolist() == [7]
    with pytest.raises(ArgumentError, match="unknown device type 'tpu'"):
        register_kernel("test_co::dev", "tpu", lambda x: x)


def test_fake_rule_runs_on_meta_tensors():
    @custom_op("test_co::linear", mutates_args=())
    def linear(x: Tensor, w: Tensor) -> Tensor:
        raise NotImplementedError("never called")

    @register_fake("test_co::linear")
    def _(x, w):
        assert x.shape[1] == w.shape[1]
        return allocate((x.shape[0], w.shape[0]), (w.shape[0], 1), x.dtype, x.device)

    out = linear(allocate((2, 3), (3, 1), dtypes.float32, meta), allocate((4, 3), (3, 1), dtypes.float32, meta))
    assert out.shape == (2, 4)


def test_results_are_checked_against_the_schema():
    @custom_op("test_co::wrong", mutates_args=())
    def wrong(x: Tensor, what: str) -> tuple[Tensor, Tensor]:
        return {"one": tensor(1), "three": (tensor(1),) * 3, "type": (tensor(1), 2), "ok": (tensor(1), tensor(2))}[what]

    assert [t.tolist() for t in wrong(tensor(1), "ok")] == [[1], [2]]
    for what in ("one", "three", "type"):
        with pytest.raises(ArgumentError, match="implementation must return Tensor, Tensor"):
            wrong(tensor(1), what)


def test_outputs_that_alias_inputs_are_refused():
    @custom_op("test_co::alias", mutates_args=())
    def alias(x: Tensor, how: str) -> Tensor:
        return x if how == "same" else from_numpy(x.numpy()[1:])

    for how in ("same", "through numpy"):
        with pytest.raises(RegistrationError, match="an output shares memory with an input"):
            alias(tensor(1, 2, 3), how)


def test_schema_can_be_given_and_must_agree():
    op = custom_op(
        "test_co::given", lambda x, y: tensor(x.item() + y), mutates_args=(), schema="(Tensor x, float y=1) -> Tensor"
    )
    assert op(tensor(1)).tolist() == [2] and op(tensor(1), y=3).tolist() == [4]
    with pytest.raises(RegistrationError, match="mutates_args and the schema disagree"):
        custom_op("test_co::bad", lambda x: None, mutates_args=("x",), schema="(Tensor x) -> ()")
    with pytest.raises(SchemaError):
        custom_op("test_co::bad", lambda x: None, mutates_args=(), schema="(Tensr x) ->")
    assert "test_co::bad" not in registry.operators


def test_unknown_mutation_marks_every_tensor():
    @custom_op("test_co::unknown", mutates_args="unknown")
    def unknown(x: Tensor, ys: Sequence[Tensor], n: int = 1) -> None:
        return None

    assert unknown._opoverload.mutated_args == ("x", "ys")


def test_names_and_types_are_checked():
    def body(x: Tensor) -> Tensor:
        return x

    for name in ("noname", "a::b.default", "a::", "1a::b"):
        with pytest.raises(ArgumentError, match="malformed name"):
            custom_op(name, body, mutates_args=())
    with pytest.raises(RegistrationError, match="no op 'test_co::absent'"):
        register_fake("test_co::absent", body)
    with pytest.raises(SchemaError, match="x"):

        @custom_op("test_co::untyped", mutates_args=())
        def untyped(x) -> Tensor:
            return x


def test_defining_again_replaces_the_op_everywhere():
    def make(value):
        @custom_op("test_co::hot", mutates_args=())
        def hot(x: Tensor) -> Tensor:
            return tensor(value)

        return hot

    first = make(1)
    packet = ops.test_co.hot
    assert packet(tensor(0)).tolist() == [1]
    version = first._opoverload.version
    second = make(2)
    assert ops.test_co.hot(tensor(0)).tolist() == [2] and second._opoverload.version > version
    assert find_op("test_co::hot") is second._opoverload is find_op(second)


def test_builtin_ops_are_not_replaced_by_accident():
    with pytest.raises(RegistrationError, match="already defined"):
        custom_op("aten::silu", lambda self: self, mutates_args=(), schema="(Tensor self) -> Tensor")
    with pytest.raises(RegistrationError, match="already has a fake rule"):
        register_fake("aten::silu", lambda self: self)


def test_arguments_may_have_any_name():
    @custom_op("names::of_code", mutates_args=())
    def of_code(keys: Tensor, op: int, state: Tensor, table: float, result: float = 2.0, call: int = 3) -> Tensor:
        return keys * op + state * table * result + call

    @custom_op("names::of_autograd", mutates_args=())
    def of_autograd(ctx: Tensor, node: Tensor, before: float, owner: Tensor | None = None) -> Tensor:
        return ctx * before + node

    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[2]

    of_autograd.register_autograd(lambda ctx, grad: (grad * ctx.factor, grad, None, None), setup_context=setup_context)
    ones = opweave.ones(2)
    assert of_code(ones, op=3, state=ones, table=1).tolist() == [8.0, 8.0]
    x = opweave.ones(2, requires_grad=True)
    made = of_autograd(node=x, ctx=x, before=3)
    assert made.tolist() == [4.0, 4.0]
    assert opweave.autograd.grad(made.sum(), x)[0].tolist() == [4.0, 4.0]


def test_two_tensors_of_one_array_share_its_memory():
    array = np.ones(3, np.float32)

    @custom_op("names::same_array", mutates_args=())
    def same_array(x: Tensor) -> Tensor:
        return opweave.from_numpy(array)

    assert same_array(opweave.ones(3)).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(RegistrationError, match="shares memory with an input"):
        same_array(opweave.from_numpy(array))
