"""Tangents of eager calls: beside `func.jvp`, through compiled functions, users' ops and batches; what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opweave
from opweave import Tensor, library
from opweave.autograd import forward_ad
from opweave.registry.errors import AutogradError, DTypeError, UnsupportedError

X = opweave.from_numpy(np.random.default_rng(0).standard_normal((3, 4)))
V = opweave.from_numpy(np.random.default_rng(1).standard_normal((3, 4)))


def along(fn: Callable[[Tensor], Tensor], x: Tensor = X, v: Tensor = V) -> Tensor:
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(fn(forward_ad.make_dual(x, v.clone()))).tangent
    assert tangent is not None
    return tangent


def same_as_jvp(fn: Callable[[Tensor], Tensor]) -> None:
    _, expected = opweave.func.jvp(fn, (X,), (V,))
    assert opweave.allclose(along(fn), expected)


@opweave.compile
def compiled(x: Tensor) -> Tensor:
    return (x * x).sin()


def test_compiled_functions_run_op_by_op() -> None:
    compiled(X)
    assert opweave.allclose(along(compiled), 2 * X * V * (X * X).cos())


def test_calls_that_native_code_would_replay() -> None:
    for _ in range(1200):
        X * X
    assert opweave.allclose(along(lambda x: x * x), 2 * X * V)


def test_a_write_with_itself() -> None:
    assert opweave.allclose(along(lambda x: x.mul_(x), X.clone()), 2 * X * V)
    same_as_jvp(lambda x: x.clone().mul_(x.clone()))


def test_a_write_changes_the_given_tangent_and_no_other() -> None:
    x, v = X.clone(), V.clone()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, v)
        other = dual.clone()
        dual.mul_(2)
        assert opweave.equal(forward_ad.unpack_dual(other).tangent, V)
    assert opweave.equal(x, 2 * X)
    assert opweave.equal(v, 2 * V)


def test_views_made_before_a_write_have_tangents() -> None:
    def fn(x: Tensor) -> Tensor:
        y = opweave.zeros(3, 4, dtype=opweave.float64)
        row = y[1]
        y.add_(x)
        return row * row

    assert opweave.allclose(along(fn), 2 * X[1] * V[1])


def test_memory_that_two_tangents_would_share() -> None:
    memory = opweave.zeros(3, 4, dtype=opweave.float64)
    with forward_ad.dual_level():
        forward = forward_ad.make_dual(memory, V)
        with pytest.raises(UnsupportedError, match="another tensor with a tangent"):
            memory.add_(forward_ad.make_dual(X, V))
        assert opweave.equal(forward_ad.unpack_dual(forward).tangent, V)


def test_users_ops() -> None:
    @library.custom_op("forward_test::square", mutates_args=())
    def square(x: Tensor) -> Tensor:
        return opweave.from_numpy(x.numpy() ** 2)

    with pytest.raises(AutogradError, match="has no autograd formula"):
        along(square)
    square.register_autograd(
        lambda ctx, grad: 2 * ctx.saved_tensors[0] * grad,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    same_as_jvp(lambda x: square(x) * x)


def test_a_function_has_the_tangent_of_its_backward() -> None:
    class Straight(opweave.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.sign()

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            return grad * 3

    assert opweave.allclose(along(Straight.apply), 3 * V)


def test_control_flow_checkpoints_and_autocast() -> None:
    same_as_jvp(lambda x: opweave.cond(opweave.tensor(True), lambda t: t * t, lambda t: t, (x,)))
    same_as_jvp(lambda x: opweave.utils.checkpoint.checkpoint(lambda t: (t * t).sin(), x, use_reentrant=False))
    found = along(lambda x: opweave.autocast("cpu")(lambda: x.float() @ x.float().t())())
    assert found.dtype is opweave.bfloat16


def product(x: Tensor, v: Tensor) -> Tensor:
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(forward_ad.make_dual(x, v) ** 2).tangent
        assert found is not None
        return found


@pytest.mark.parametrize("transform", [opweave.vmap, opweave.compile, lambda f: opweave.make_fx(f)(X, V)])
def test_levels_inside_of_transforms(transform: Any) -> None:
    assert opweave.allclose(transform(product)(X, V), 2 * X * V)


def test_a_batch_of_tangents() -> None:
    assert opweave.allclose(opweave.vmap(lambda v: product(X[0], v))(V), 2 * X[0] * V)
    with forward_ad.dual_level():
        batch = opweave.vmap(lambda v: forward_ad.make_dual(X[0], v))(V)
        assert opweave.equal(forward_ad.unpack_dual(batch).tangent, V)


def test_dropout_draws_once() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(opweave.ones(64), 3 * opweave.ones(64))
        value, tangent = forward_ad.unpack_dual(opweave.nn.functional.dropout(dual, 0.5))
    assert opweave.equal(tangent, 3 * value)


def test_tangents_of_gradients_are_not_made_up() -> None:
    x = X.clone().requires_grad_()
    with forward_ad.dual_level():
        y = (forward_ad.make_dual(x, V) ** 3).sum()
        (grad,) = opweave.autograd.grad(y, x, retain_graph=True)
        assert opweave.allclose(grad, 3 * X * X)
        with pytest.raises(UnsupportedError, match="not known") as info:
            forward_ad.unpack_dual(grad * 2)
        assert "opweave.func.jvp" in str(info.value.hint)
        y.backward()
        with pytest.raises(UnsupportedError, match="not known"):
            forward_ad.unpack_dual(x.grad)
        dual = forward_ad.make_dual(X, V)
        with pytest.raises(UnsupportedError, match="not known"):
            forward_ad.unpack_dual(opweave.func.grad(lambda t: (t**3).sum())(dual))
    assert forward_ad.unpack_dual(x.grad).tangent is None


def test_what_is_refused() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(X, V)
        with pytest.raises(DTypeError, match="tangent of a real tensor"):
            forward_ad.make_dual(X, V * 1j)
        with opweave.inference_mode(), pytest.raises(UnsupportedError, match="inference mode"):
            dual * 2
    with opweave.no_grad():
        forward_ad.enter_dual_level()
    try:
        with pytest.raises(AutogradError, match="block that has ended"):
            forward_ad.make_dual(X, V)
    finally:
        forward_ad.exit_dual_level()


def test_a_failed_block_ends_its_level() -> None:
    with pytest.raises(ValueError, match="stop"), forward_ad.dual_level():
        raise ValueError("stop")
    with forward_ad.dual_level() as number:
        assert number == 0

    @forward_ad.dual_level()
    def inside() -> Any:
        return forward_ad.unpack_dual(forward_ad.make_dual(X, V)).tangent

    assert opweave.equal(inside(), V)
