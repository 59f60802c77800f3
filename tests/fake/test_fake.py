"""Fake tensors: metadata as real ops would give it, and no data."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import opweave.registry.ops.surface  # noqa: F401
from opweave.fake.mode import FakeTensorMode
from opweave.fake.shape_env import ShapeEnv
from opweave.fake.tensor import FakeTensor
from opweave.registry import dtypes
from opweave.registry.autograd.mode import inference_mode
from opweave.registry.custom_op import custom_op
from opweave.registry.device import Device
from opweave.registry.errors import DataDependentError, DeviceError, FakeTensorError, ShapeError
from opweave.registry.higher_order import HigherOrderOperator
from opweave.registry.op import ops, registry
from opweave.registry.spec import contiguous
from opweave.registry.tensor import Tensor, from_numpy

aten = ops.aten


def tensor(*sizes: int) -> Tensor:
    return from_numpy(np.ones(sizes, np.float32))


def spec(t: Tensor) -> Any:
    return t.spec, t.storage_offset()


CALLS: list[tuple[str, Any]] = [
    ("add", lambda x, y: aten.add.Tensor(x, y, alpha=2)),
    ("compare", lambda x, y: aten.lt.Tensor(x, 1)),
    ("transposed", lambda x, y: aten.mul.Tensor(aten.t.default(x), 2)),
    ("sum", lambda x, y: aten.sum.dim_IntList(x, [1], True)),
    ("max", lambda x, y: aten.max.dim(x, 0)),
    ("softmax", lambda x, y: aten._softmax.default(x, -1, False)),
    ("mm", lambda x, y: aten.mm.default(aten.t.default(x), y)),
    ("slice", lambda x, y: aten.slice.Tensor(x, 1, 1, 3)),
    ("view", lambda x, y: aten.view.default(x, [2, 2, 4])),
    ("cat", lambda x, y: aten.cat.default([x, y], 1)),
    ("where", lambda x, y: aten.where.self(aten.gt.Tensor(x, 0), x, 0)),
    ("in place", lambda x, y: aten.add_.Tensor(x, y)),
    ("split", lambda x, y: aten.split_with_sizes.default(x, [1, 3], 1)),
    ("int mean", lambda x, y: aten.argmax.default(x, 1)),
]


@pytest.mark.parametrize(("call"), [c[1] for c in CALLS], ids=[c[0] for c in CALLS])
@pytest.mark.parametrize("active", [True, False])
def test_same_metadata_as_the_real_op(call: Any, active: bool) -> None:
    x, y = tensor(4, 4), tensor(4, 4)
    mode = FakeTensorMode()
    if active:
        with mode:
            fake = call(mode.from_tensor(x), mode.from_tensor(y))
    else:
        fake = call(mode.from_tensor(x), mode.from_tensor(y))
    real = call(x, y)
    for a, b in zip(*[r if isinstance(r, (list, tuple)) else [r] for r in (fake, real)], strict=True):
        assert isinstance(a, FakeTensor) and spec(a) == spec(b) and a.is_contiguous() == b.is_contiguous()


def test_conversion_is_remembered_and_keeps_views() -> None:
    mode = FakeTensorMode()
    x = tensor(4, 4)
    row = aten.select.int(x, 0, 1)
    fake_row, fake = mode.from_tensor(row), mode.from_tensor(x)
    assert mode.from_tensor(x) is fake and mode.from_tensor(fake) is fake
    assert fake_row._storage is fake._storage and fake_row._base is fake and spec(fake_row) == spec(row)
    assert mode.from_tensor(tensor(4, 4))._storage is not fake._storage
    assert aten.t.default(fake)._storage is fake._storage and aten.t.default(fake)._base is fake
    aten.add_.Tensor(fake_row, 1)
    assert fake._version == fake_row._version == 1
    fresh = mode.fresh(x)
    assert fresh is not fake and fresh._storage is fake._storage


def test_conversion_keeps_nothing_alive() -> None:
    mode = FakeTensorMode()
    x = tensor(4)
    mode.from_tensor(x)
    dead = weakref.ref(x)
    del x
    gc.collect()
    assert dead() is None and not mode._tensors and not mode._storages


def test_in_place_returns_the_tensor_itself() -> None:
    x = FakeTensorMode().from_tensor(tensor(4))
    assert aten.mul_.Tensor(x, 2) is x and x._version == 1
    with pytest.raises(ShapeError, match="does not fit the tensor written to"):
        aten.mul_.Tensor(x, FakeTensorMode.from_tensor(x.fake_mode, tensor(2, 4)))


def test_devices_are_the_real_ones() -> None:
    mode = FakeTensorMode()
    cuda = mode.make(contiguous((4,), dtypes.float32, Device("cuda", 0)))
    result = aten.mul.Tensor(cuda, 2)
    assert result.device == Device("cuda", 0) and "device='cuda:0'" in repr(result)
    number = mode.from_tensor(from_numpy(np.array(2, np.float32)))
    assert aten.mul.Tensor(cuda, number).device == Device("cuda", 0)
    other = mode.from_tensor(tensor(4))
    with pytest.raises(DeviceError, match="mul"):
        aten.mul.Tensor(cuda, other)
    with pytest.raises(DeviceError, match="cat: tensors on different devices"):
        aten.cat.default([cuda, other])


def test_real_tensors_among_fake_ones() -> None:
    mode, w = FakeTensorMode(), tensor(4)
    x = mode.from_tensor(tensor(4))
    with pytest.raises(FakeTensorError, match=r"aten.add.Tensor: a real tensor among fake ones\n  got:  f32.4."):
        aten.add.Tensor(x, w)
    with pytest.raises(FakeTensorError, match="allow_non_fake_inputs=True"):
        aten.cat.default([x, w])
    assert aten.add.Tensor(x, from_numpy(np.array(2, np.float32))).shape == (4,)
    lenient = FakeTensorMode(allow_non_fake_inputs=True)
    assert isinstance(aten.cat.default([lenient.from_tensor(w), w]), FakeTensor)
    with pytest.raises(FakeTensorError, match="another FakeTensorMode"):
        aten.add.Tensor(x, lenient.from_tensor(w))


def test_real_tensors_that_are_let_in() -> None:
    mode, w = FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv()), tensor(4)
    with mode:
        x = mode.from_tensor(tensor(6, 4), source="x")
        y = aten.mul.Tensor(x, w)
        assert repr(y._sizes) == "(s0, 4)"  # what is let in has the sizes that it has
        assert isinstance(aten.add.Tensor(w, w), FakeTensor) and mode.from_tensor(w) is mode.from_tensor(w)
        assert isinstance(aten.cat.default([w, y[0]]), FakeTensor)
        view = w[1:]
        assert isinstance(view, FakeTensor) and view._storage is mode.from_tensor(w)._storage
    assert not isinstance(w, FakeTensor) and not isinstance(w + w, FakeTensor)


@pytest.mark.parametrize("lenient", [False, True])
def test_writing_to_a_real_tensor_is_refused(lenient: bool) -> None:
    mode = FakeTensorMode(allow_non_fake_inputs=lenient)
    fake, total, several = mode.from_tensor(tensor(4)), from_numpy(np.array(0, np.float32)), tensor(4)
    for write in (
        lambda: total.add_(fake.sum()),
        lambda: aten.add.out(fake, fake, out=several),
        lambda: several.copy_(fake),
    ):
        with pytest.raises(FakeTensorError, match="write to a real tensor"):
            write()
    with mode, pytest.raises(FakeTensorError, match="write to a real tensor"):
        several.add_(1)
    assert total.item() == 0
    np.testing.assert_array_equal(several.numpy(), tensor(4).numpy())
    fake.add_(total)
    assert fake._version == 1


def test_no_data() -> None:
    x = FakeTensorMode().from_tensor(from_numpy(np.ones(1, np.int64)))
    for look in (bool, int, float, complex, np.asarray, lambda x: x.numpy(force=True)):
        with pytest.raises(
            DataDependentError, match=r"are not known while tracing\n  got:  i64.1.\n  at:   test_fake.py"
        ):
            look(x)
    with pytest.raises(DataDependentError, match="this tensor's values"):
        _ = x._array
    with pytest.raises(DataDependentError):
        _ = x.untyped_storage().data_ptr()
    assert len(x) == 1 and repr(x) == "FakeTensor(..., size=(1,), dtype=opweave.int64)" == f"{x}"
    with pytest.raises(FakeTensorError, match="cannot be pickled"):
        pickle.dumps(x)
    with pytest.raises(FakeTensorError, match="from_tensor"):
        FakeTensor([1, 2])
    other = copy.deepcopy(x)
    assert other._storage is not x._storage and other.spec == x.spec


def make_op(name: str, schema: str) -> Any:
    return registry.define(f"fake_test::{name}{schema}", replace=True)


class TestUserOps:
    def test_rule_runs_under_the_mode(self) -> None:
        op = make_op("rows", "(Tensor x, int n) -> Tensor")
        op.register_fake_rule(lambda x, n: aten.expand.default(aten.select.int(aten.clone.default(x), 0, 0), [n, 4]))
        assert op(FakeTensorMode().from_tensor(tensor(2, 4)), 7).shape == (7, 4)

    def test_no_rule(self) -> None:
        @custom_op("fake_test::opaque", mutates_args=())
        def opaque(x: Tensor, dim: int = 0) -> Tensor:
            return x

        with pytest.raises(FakeTensorError) as caught:
            opaque(FakeTensorMode().from_tensor(tensor(2)))
        assert str(caught.value).startswith("fake_test.opaque.default: no rule for tensors without data\n")
        assert "@opweave.library.register_fake('fake_test::opaque')\n      def _(x, dim):" in str(caught.value)

    def test_written_with_other_ops(self) -> None:
        from opweave.registry.keys import DispatchKey

        op = make_op("composed", "(Tensor x) -> Tensor")
        op.register(DispatchKey.CompositeExplicitAutograd, lambda x: aten.neg.default(aten.t.default(x)))
        assert op(FakeTensorMode().from_tensor(tensor(2, 3))).shape == (3, 2)

    def test_rule_that_returns_data(self) -> None:
        op = make_op("real", "(Tensor x) -> Tensor")
        op.register_fake_rule(lambda x: from_numpy(np.zeros(3)))
        with pytest.raises(FakeTensorError, match=r"the fake rule returned a tensor with data\n  got:  f64.3."):
            op(FakeTensorMode().from_tensor(tensor(2)))

    def test_rule_that_returns_its_input(self) -> None:
        op = make_op("alias", "(Tensor x) -> Tensor")
        op.register_fake_rule(lambda x: aten.view.default(x, [1, 2]))
        with pytest.raises(FakeTensorError, match="returned an input or a view of it"):
            op(FakeTensorMode().from_tensor(tensor(2)))
        viewing = make_op("declared", "(Tensor(a) x) -> Tensor(a)")
        viewing.register_fake_rule(lambda x: aten.view.default(x, [1, 2]))
        assert viewing(FakeTensorMode().from_tensor(tensor(2))).shape == (1, 2)

    def test_rule_with_the_wrong_number_of_results(self) -> None:
        op = make_op("pair", "(Tensor x) -> (Tensor, Tensor)")
        op.register_fake_rule(lambda x: aten.clone.default(x))
        with pytest.raises(FakeTensorError, match="the fake rule must return Tensor, Tensor"):
            op(FakeTensorMode().from_tensor(tensor(2)))

    def test_mutation_counts(self) -> None:
        op = make_op("write", "(Tensor(a!) x, *, Tensor(b!)[] more) -> ()")
        op.register_fake_rule(lambda x, more: None)
        mode = FakeTensorMode()
        x, y = mode.from_tensor(tensor(2)), mode.from_tensor(tensor(3))
        assert op(x, more=[y]) is None and (x._version, y._version) == (1, 1)

    def test_higher_order_op(self) -> None:
        op = HigherOrderOperator("fake_test_hop", lambda x: x)
        x = FakeTensorMode().from_tensor(tensor(2))
        with pytest.raises(FakeTensorError, match="fake_test_hop: no rule for tensors without data"):
            op(x)
        op.py_impl(FakeTensorMode)(lambda mode, x: mode.make(x.spec))
        assert op(x).shape == (2,)

    def test_requires_grad_follows_the_source(self) -> None:
        mode = FakeTensorMode()
        x = tensor(2).requires_grad_()
        assert mode.from_tensor(x).requires_grad and not mode.from_tensor(tensor(2)).requires_grad
        assert not mode.from_tensor(x.detach()).requires_grad
        with inference_mode():
            made = tensor(2).clone()
        assert mode.from_tensor(made).is_inference()

    def test_another_rule_for_a_builtin_op(self) -> None:
        rule = aten.exp.default.fake
        aten.exp.default.register_fake_rule(lambda self: self.new_empty((7,)))
        try:
            assert FakeTensorMode().from_tensor(tensor(2)).exp().shape == (7,)
        finally:
            assert rule is not None
            aten.exp.default.register_fake_rule(rule)
        assert FakeTensorMode().from_tensor(tensor(2)).exp().shape == (2,)
