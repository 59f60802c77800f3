"""Kernels and rules registered on built-in ops: compiled code runs them, and notices when they come and go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.registry.kernels import KeysetKernel, fallthrough_kernel
from opweave.registry.keys import DispatchKey
from opweave.registry.library import Library
from opweave.registry.op import OpOverload, ops
from opweave.registry.tensor import Tensor, from_numpy

aten = ops.aten
Register = Callable[..., Any]


@pytest.fixture
def register() -> Iterator[Register]:
    """Register a kernel until the test ends; gives what undoes it."""
    made = []

    def register(op: OpOverload, kernel: Any, key: DispatchKey = DispatchKey.CPU) -> Any:
        made.append(op.register(key, kernel, override=True))
        return made[-1]

    yield register
    for registration in made:
        registration.undo()


def numbers(t: Tensor) -> np.ndarray[Any, Any]:
    return t.detach().numpy()


def always(value: float) -> Callable[..., Tensor]:
    def kernel(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return from_numpy(np.full(tuple(self.shape), value, np.float32))

    return kernel


def check(fn: Callable[..., Any], expected: list[Any], *inputs: Tensor) -> Any:
    compiled = opweave.compile(fn)
    assert compiled(*inputs).tolist() == expected == fn(*inputs).tolist()
    return compiled


def test_predicate(register):
    op = aten.exp.default
    assert not op.is_overridden("cpu")
    made = register(op, always(7.0))
    assert op.is_overridden("cpu") and not op.is_overridden("cuda") and not op.is_overridden("meta")
    made.undo()
    assert not op.is_overridden("cpu")
    made = register(op, always(7.0), DispatchKey.CompositeExplicitAutograd)
    assert op.is_overridden("cpu") and op.is_overridden("cuda")
    made.undo()
    rule = op.fake
    op.register_fake_rule(lambda self: opweave.empty_like(self))
    try:
        assert op.is_overridden("cpu")
    finally:
        op.register_fake_rule(rule)
    assert not op.is_overridden("cpu")


@pytest.mark.parametrize("backend", ["opweave", "eager"])
def test_a_pointwise_op_is_called(register, backend):
    register(aten.exp.default, always(7.0))
    f = opweave.compile(lambda x: x.exp() * 2.0 + 1.0, backend=backend)
    assert f(opweave.zeros(3)).tolist() == [15.0] * 3


def test_a_composite_op_is_called(register):
    register(aten._softmax.default, always(7.0))
    check(lambda x: x.softmax(-1) + 1.0, [8.0] * 3, opweave.zeros(3))


def test_a_part_of_a_composite_op_is_called(register):
    register(aten.exp.default, always(7.0))
    x = opweave.zeros(4)
    f = lambda x: opweave.ops.aten._softmax.default(x, -1, False)  # noqa: E731
    assert opweave.compile(f)(x).tolist() == [0.25] * 4


def test_a_constant_is_not_folded(register):
    register(aten.exp.default, always(7.0))
    check(lambda x: x + opweave.ones(3).exp(), [7.0] * 3, opweave.zeros(3))


def test_a_call_that_changes_nothing_is_kept(register):
    register(aten.mul.Tensor, always(7.0))
    check(lambda x: x * 1, [7.0] * 3, opweave.zeros(3))


def test_equal_calls_are_not_merged(register):
    calls = []

    def kernel(self: Tensor) -> Tensor:
        calls.append(1)
        return from_numpy(np.full(tuple(self.shape), float(len(calls)), np.float32))

    register(aten.exp.default, kernel)
    assert opweave.compile(lambda x: x.exp() + x.exp() * 10.0)(opweave.zeros(2)).tolist() == [21.0] * 2


def test_an_overridden_inplace_op_is_called(register):
    def kernel(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
        self.numpy()[...] = 7.0
        return self

    register(aten.add_.Tensor, kernel)

    def f(x):
        x.add_(1.0)
        return x * 2.0

    x = opweave.zeros(3)
    assert opweave.compile(f)(x).tolist() == [14.0] * 3
    assert x.tolist() == [7.0] * 3


def test_an_inplace_op_does_not_run_the_overridden_functional_one(register):
    register(aten.add.Tensor, always(7.0))

    def f(x):
        x.add_(1.0)
        return x * 2.0

    x, y = opweave.zeros(3), opweave.zeros(3)
    assert opweave.compile(f)(x).tolist() == f(y).tolist() == [2.0] * 3
    assert x.tolist() == y.tolist() == [1.0] * 3


def test_arguments_may_have_any_name():
    @opweave.library.custom_op("test_overrides::names", mutates_args=("self",))
    def names(self: Tensor, like: Tensor, val: float, target: float) -> None:
        self.numpy()[...] = like.numpy() * val + target

    def f(x, y):
        names(x, y, 2.0, 1.0)
        return x + 1.0

    assert opweave.compile(f)(opweave.zeros(2), opweave.ones(2)).tolist() == [4.0, 4.0]


def test_an_op_under_a_reduction_is_called(register):
    register(aten.relu.default, always(7.0))
    check(lambda x: x.relu().sum(), 21.0, opweave.zeros(3))


def test_other_strides_than_declared_are_repaired(register):
    register(aten.exp.default, lambda self: from_numpy(np.asfortranarray(np.exp(self.numpy()))))
    x = opweave.randn(3, 4)
    np.testing.assert_allclose(numbers(opweave.compile(lambda x: x.exp() * x)(x)), numbers(x.exp() * x), rtol=1e-6)


def test_registering_and_undoing_recompile(register):
    f = check(lambda x: x.exp() + 1.0, [2.0, 2.0], opweave.zeros(2))
    x = opweave.zeros(2)
    made = register(aten.exp.default, always(7.0))
    assert f(x).tolist() == [8.0, 8.0]
    made.undo()
    assert f(x).tolist() == [2.0, 2.0]


def test_registering_on_a_part_recompiles(register):
    f = opweave.compile(lambda x: x.softmax(-1))
    x = opweave.tensor([0.0, 1.0])
    before = f(x).tolist()
    parts = ("exp.default", "sub.Tensor", "div.Tensor", "amax.default", "sum.dim_IntList")
    for part in parts:
        name, overload = part.split(".")
        f.entries[0].checked[0] = -1
        register(getattr(getattr(aten, name), overload), always(7.0)).undo()
        assert f(x).tolist() == before
    assert f.last_graph is not None
    assert len(f.entries) == 1  # each change made the version before it unusable


def test_another_fake_rule_recompiles():
    f = opweave.compile(lambda x: x.exp() + 1.0)
    x, op = opweave.zeros(2), aten.exp.default
    f(x)
    rule, calls = op.fake, []

    def traced(self: Tensor) -> Tensor:
        calls.append(1)
        return opweave.empty_like(self)

    op.register_fake_rule(traced)
    try:
        assert f(x).tolist() == [2.0, 2.0]
        assert calls
        assert "exp = aten_exp(x)" in f.stages()["code"]
    finally:
        op.register_fake_rule(rule)


def test_an_autograd_kernel_runs_once(register):
    from_above = []

    def kernel(keys: Any, self: Tensor) -> Tensor:
        from_above.append(1)
        return aten.exp.default.redispatch(keys & opweave.registry.keys.after_autograd_keyset, self) * 3.0

    register(aten.exp.default, KeysetKernel(kernel), DispatchKey.AutogradCPU)
    x = opweave.zeros(2)
    assert aten.exp.default(x).tolist() == [3.0, 3.0]
    f = opweave.compile(lambda x: x.exp())
    assert f(x).tolist() == [3.0, 3.0]
    count = len(from_above)
    assert f(x).tolist() == [3.0, 3.0]
    assert len(from_above) == count  # it went into the trace


def test_an_overridden_op_below_an_autograd_kernel(register):
    register(aten.exp.default, always(7.0))
    register(
        aten.exp.default,
        KeysetKernel(lambda keys, self: aten.exp.default.redispatch(
            keys & opweave.registry.keys.after_autograd_keyset, self) * 3.0),
        DispatchKey.AutogradCPU,
    )  # fmt: skip
    f = opweave.compile(lambda x: x.exp())
    x = opweave.zeros(2)
    assert f(x).tolist() == f(x).tolist() == x.exp().tolist() == [21.0, 21.0]


@pytest.fixture
def library() -> Iterator[Callable[..., Library]]:
    """Make a library that lasts until the test ends."""
    made = []

    def make(*args: Any) -> Library:
        made.append(Library(*args))
        return made[-1]

    yield make
    for each in made:
        each._destroy()


def test_kernels_of_a_library(library):
    f = opweave.compile(lambda x: (x / 2.0).exp())
    x = opweave.zeros(2)
    assert f(x).tolist() == [1.0, 1.0]
    lib = library("aten", "IMPL")
    lib.impl("div.Tensor", always(0.5), "CPU")
    assert f(x).tolist() == (x / 2.0).exp().tolist() == aten.exp.default(always(0.5)(x)).tolist()
    lib._destroy()
    assert f(x).tolist() == [1.0, 1.0]


def test_an_op_written_with_others_in_a_library(library):
    lib = library("test_overrides_composite", "DEF")
    lib.define("scaled(Tensor x) -> Tensor")
    lib.impl("scaled", lambda x: x * 2.0, "CompositeImplicitAutograd")
    f = opweave.compile(lambda x: ops.test_overrides_composite.scaled(x) + 1.0)
    x = opweave.ones(2).requires_grad_()
    y = f(x)
    assert y.tolist() == [3.0, 3.0]
    assert "scaled" not in str(f.last_graph)
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2.0, 2.0]
    lib.impl("scaled", lambda x: x * 5.0, "CompositeImplicitAutograd", allow_override=True)
    assert f(x).tolist() == [6.0, 6.0]


def test_a_kernel_for_all_devices_in_place_of_a_body(library):
    lib = library("aten", "IMPL")
    f = opweave.compile(lambda x: x.softmax(-1) + 1.0)
    x = opweave.zeros(2)
    assert f(x).tolist() == [1.5, 1.5]
    lib.impl("softmax.int", lambda self, dim, dtype=None: always(3.0)(self), "CPU")
    assert f(x).tolist() == [4.0, 4.0] == (x.softmax(-1) + 1.0).tolist()


def test_a_fallback_recompiles(library):
    f = opweave.compile(lambda x: x.exp())
    x = opweave.zeros(2)
    f(x)
    first = f.entries[0]
    library("_", "IMPL").fallback(fallthrough_kernel, "AutogradCPU")
    assert f(x).tolist() == [1.0, 1.0]
    assert f.entries[0] is not first and not first.alive
