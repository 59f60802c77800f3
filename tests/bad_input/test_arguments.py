"""Arguments of the wrong kind, device or dtype, to ops and to compiled functions."""

import numpy as np
import pytest
from mistakes import fresh_op, refused

import opweave
from opweave.registry.device import is_cuda_available
from opweave.registry.errors import (
    ArgumentError,
    DeviceError,
    DTypeError,
    OutOfMemoryError,
    OutOfRangeError,
    ShapeError,
    UnsupportedError,
)

X = opweave.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
Z = opweave.from_numpy((np.arange(3) + 2j).astype(np.complex64))


def double(x):
    return x * 2


@pytest.mark.parametrize("value", [None, "a", object(), X.numpy(), {1: X}, {1}, (t for t in (X,))])
def test_no_tensor_where_one_is_due(value):
    for op in (fresh_op(lambda x: x.clone()), opweave.ops.aten.add.Tensor):
        with refused(ArgumentError, "expected a Tensor", __file__):
            op(value) if op is not opweave.ops.aten.add.Tensor else op(value, X)


@pytest.mark.parametrize("value", [[X, None], {X}, (t for t in (X,)), {1: X}])
def test_no_list_of_tensors_where_one_is_due(value):
    with refused(ArgumentError, "", __file__):
        fresh_op(lambda x: x[0].clone(), schema="(Tensor[] x) -> Tensor")(value)
    with refused(ArgumentError, "", __file__):
        opweave.cat(value)


@pytest.mark.parametrize(
    ("kind", "value"), [("int", "a"), ("int", 1.5), ("int[]", [1, "a"]), ("bool", 3), ("float", "1"), ("str", 1)]
)
def test_no_number_where_one_is_due(kind, value):
    with refused(ArgumentError, f"argument 'n' must be {kind}", __file__):
        fresh_op(lambda x, n: x.clone(), schema=f"(Tensor x, {kind} n) -> Tensor")(X, value)


@pytest.mark.parametrize("call", [lambda f: f(), lambda f: f(X, X), lambda f: f(y=X)])
def test_arguments_that_do_not_bind(call):
    with refused(ArgumentError, "argument", __file__):
        call(opweave.compile(double))
    with refused(ArgumentError, "argument", __file__):
        call(fresh_op(lambda x: x.clone()))


@pytest.mark.parametrize(
    ("f", "kind"),
    [
        (lambda: X.sum(7), OutOfRangeError),
        (lambda: X.sum("a"), ArgumentError),
        (lambda: X.reshape(4, 4), ShapeError),
        (lambda: X.reshape(-1, -1), ShapeError),
        (lambda: X @ X, ShapeError),
        (lambda: X["a"], ArgumentError),
        (lambda: X[1.5], ArgumentError),
        (lambda: X[5], OutOfRangeError),
        (lambda: X[0, 0, 0], OutOfRangeError),
        (lambda: opweave.zeros(-1), ShapeError),
        (lambda: opweave.zeros("a"), ArgumentError),
        (lambda: opweave.zeros(2**62, 2**62), OutOfMemoryError),
        (lambda: opweave.zeros(2, dtype="foo"), DTypeError),
        (lambda: opweave.tensor([[1, 2], [3]]), ShapeError),
        (lambda: opweave.tensor("abc"), DTypeError),
        (lambda: opweave.from_numpy([1, 2]), DTypeError),
        (lambda: opweave.from_numpy(np.array(["a"])), DTypeError),
        (lambda: opweave.from_numpy(np.array([object()])), DTypeError),
        (lambda: opweave.empty(2, device="tpu"), DeviceError),
        (lambda: X.to("cpu:1"), DeviceError),
    ],
)
def test_tensor_functions(f, kind):
    with refused(kind, "", __file__):
        f()


def test_memory_errors_are_what_python_calls_them():
    with pytest.raises(MemoryError):
        opweave.zeros(2**45)


# ---- devices -------------------------------------------------------------------------------------------------------


def test_meta_tensors_do_not_compile():
    with refused(DeviceError, "meta tensors", __file__, got="f32[2, 3] on meta"):
        opweave.compile(double)(opweave.empty(2, 3, device="meta"))


def test_devices_that_do_not_mix():
    for f in (lambda a, b: a + b, opweave.compile(lambda a, b: a + b)):
        with refused(DeviceError, "different devices", __file__):
            f(opweave.empty(2, 3, device="meta"), X)


@pytest.mark.skipif(is_cuda_available(), reason="there is a GPU")
@pytest.mark.parametrize("f", [lambda: X.to("cuda"), lambda: opweave.empty(2, device="cuda"), lambda: X.cuda()])
def test_no_gpu(f):
    with refused(DeviceError, "cuda: not available", __file__):
        f()


def test_huge_sizes_without_data_are_fine():
    assert (opweave.empty(10**9, 10**9, device="meta") * 2).numel() == 10**18
    with opweave.FakeTensorMode():
        assert (opweave.empty(10**6, 10**6, 10**3) + 1).sum(0).shape == (10**6, 10**3)


# ---- compiled functions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [(i for i in range(3)), iter([1, 2]), open("/dev/null"), enumerate("ab")],  # noqa: SIM115
)
def test_state_that_no_guard_sees(value):
    with refused(UnsupportedError, "cannot be guarded", __file__):
        opweave.compile(lambda x, g: x + len(str(g)), fullgraph=True)(X, value)


def test_tensors_as_keys():
    with refused(UnsupportedError, "tensors as keys", __file__):
        opweave.compile(lambda x, d: x * d[x], fullgraph=True)(X, {X: 2.0})
    with refused(UnsupportedError, "a set of tensors", __file__):
        opweave.compile(lambda x, d: x * len(d), fullgraph=True)(X, {X})


def test_odd_keys_are_fine():
    f = opweave.compile(lambda x, d: x * d[1, 2] * d[None])
    assert f(X, {(1, 2): 2.0, None: 3.0}).tolist() == (X * 6).tolist()


def test_containers_that_contain_themselves():
    loop = []
    loop.append(loop)
    with refused(ArgumentError, "contains itself", __file__, got="Tensor, list"):
        opweave.compile(lambda x, loop: x + len(loop), fullgraph=True)(X, loop)
    deep = X
    for _ in range(900):
        deep = [deep]
    with refused(UnsupportedError, "nested too deep", __file__):
        opweave.compile(lambda x: 1, fullgraph=True)(deep)


@pytest.mark.parametrize("fn", [3, "f", X])
def test_what_is_no_function(fn):
    with refused(UnsupportedError, "expected a function", __file__):
        opweave.compile(fn)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"backend": "foo"}, UnsupportedError),
        ({"options": {"foo": 1}}, UnsupportedError),
        ({"options": 3}, ArgumentError),
        ({"options": {"recompile_limit": "a"}}, ArgumentError),
    ],
)
def test_options(options, kind):
    with refused(kind, "compile:", __file__):
        opweave.compile(double, **options)


def test_generators_are_not_compiled():
    def numbers(x):
        yield x * 2

    with refused(UnsupportedError, "returns a builtins.generator", __file__):
        opweave.compile(numbers, fullgraph=True)(X)


def test_what_the_function_itself_raises_stays_as_it_is():
    with pytest.raises(TypeError, match="unsupported operand type") as caught:
        opweave.compile(double)(object())
    assert caught.traceback[-1].path.name == "test_arguments.py"


@pytest.mark.parametrize(
    "f",
    [
        lambda z, x: z * z + 1,
        lambda z, x: (z * 2).sum() + x * 2,
        lambda z, x: z.abs() + x,
        lambda z, x: x * 1j,
        lambda z, x: (x + 1).exp() * z,
    ],
)
def test_complex_numbers_never_come_out_wrong(f):
    np.testing.assert_allclose(opweave.compile(f)(Z, X).numpy(), f(Z, X).numpy(), rtol=1e-6)


# ---- in place ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda f: f, opweave.compile])
@pytest.mark.parametrize(
    ("f", "make", "kind"),
    [
        (lambda y: y.add_(1), lambda: opweave.ones(1).expand(3), ShapeError),
        (lambda y: y.add_(1.5), lambda: opweave.ones(3, dtype=opweave.int32), DTypeError),
        (lambda y: y.mul_(1j), lambda: opweave.ones(3), DTypeError),
        (lambda y: y.add_(opweave.ones(2, 3)), lambda: opweave.ones(3), ShapeError),
    ],
)
def test_in_place_that_cannot_be(f, make, kind, wrap):
    with refused(kind, "_: ", __file__):
        wrap(f)(make())


def test_in_place_counts_versions():
    y = X.clone()
    before = y._version
    opweave.compile(lambda y: y.add_(1))(y)
    y[0].add_(1)
    assert y._version == before + 2


def test_overlapping_arguments():
    y = opweave.ones(4)
    with refused(UnsupportedError, "shares memory", __file__):
        opweave.compile(lambda a, b: a.add_(b), dynamic=True, fullgraph=True)(y[1:], y[:-1])
    opweave.compile(lambda a, b: a.add_(b))(y[1:], y[:-1])
    assert y.tolist() == [1.0, 2.0, 2.0, 2.0]
