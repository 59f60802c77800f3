"""`Function`: operations with a forward and a backward of the user's own."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import opweave as ow
from opweave.autograd import Function, grad, gradcheck, gradgradcheck
from opweave.autograd.function import once_differentiable
from opweave.autograd.graph import saved_tensors_hooks
from opweave.registry.errors import ArgumentError, AutogradError


def leaf(*values: float) -> ow.Tensor:
    return ow.from_numpy(np.array(values, np.float64)).requires_grad_()


def close(t: ow.Tensor | None, *expected: float) -> None:
    assert t is not None
    np.testing.assert_allclose(t.detach().numpy(), np.array(expected))


class Exp(Function):
    """Saves its output."""

    @staticmethod
    def forward(ctx: Any, x: ow.Tensor) -> ow.Tensor:
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, g: ow.Tensor) -> ow.Tensor:
        (result,) = ctx.saved_tensors
        return g * result


class Scale(Function):
    """Saves its inputs, in the style with a context apart; takes an argument that is no tensor."""

    @staticmethod
    def forward(x: ow.Tensor, y: ow.Tensor, n: int) -> ow.Tensor:
        return x * y * n

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, y, ctx.n = inputs
        ctx.save_for_backward(x, y)

    @staticmethod
    def backward(ctx: Any, g: ow.Tensor) -> Any:
        x, y = ctx.saved_tensors
        return (
            g * y * ctx.n if ctx.needs_input_grad[0] else None,
            g * x * ctx.n if ctx.needs_input_grad[1] else None,
            None,
        )


# ---- both styles ---------------------------------------------------------------------------------------------------


def test_context_in_forward() -> None:
    x = leaf(0.5, 1.0)
    y = Exp.apply(x)
    assert y.requires_grad and not y.is_leaf and "Exp" in repr(y.grad_fn)
    y.sum().backward()
    close(x.grad, *np.exp([0.5, 1.0]))
    assert gradcheck(Exp.apply, x)
    assert gradgradcheck(Exp.apply, x)


def test_context_apart() -> None:
    x, y = leaf(2, 3), leaf(5, 7)
    Scale.apply(x, y, 10).sum().backward()
    close(x.grad, 50, 70)
    close(y.grad, 20, 30)
    assert gradcheck(lambda a, b: Scale.apply(a, b, 3), (x, y))
    assert gradgradcheck(lambda a, b: Scale.apply(a, b, 3), (x, y))


def test_what_needs_a_gradient() -> None:
    seen = []

    class Look(Scale):
        @staticmethod
        def backward(ctx: Any, g: ow.Tensor) -> Any:
            seen.append(ctx.needs_input_grad)
            return Scale.backward(ctx, g)

    x, y = leaf(2), leaf(5).detach()
    Look.apply(x, y, 1).backward()
    assert seen == [(True, False, False)]
    close(x.grad, 5)


def test_forward_is_not_recorded_and_runs_without_grad_mode() -> None:
    seen = []

    class Look(Function):
        @staticmethod
        def forward(ctx: Any, x: ow.Tensor) -> ow.Tensor:
            seen.append((ow.is_grad_enabled(), (x * 2).requires_grad))
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: ow.Tensor) -> ow.Tensor:
            seen.append(ow.is_grad_enabled())
            return g * 2

    x = leaf(1)
    y = Look.apply(x)
    grad(y, x, retain_graph=True)
    grad(y, x, create_graph=True)
    assert seen == [(False, False), False, True]


def test_without_a_gradient_to_compute_nothing_is_recorded() -> None:
    assert not Exp.apply(leaf(1).detach()).requires_grad
    with ow.no_grad():
        assert not Exp.apply(leaf(1)).requires_grad


def test_a_function_is_not_instantiated_and_needs_a_backward() -> None:
    with pytest.raises(AutogradError, match="apply"):
        Exp()

    class Nothing(Function):
        @staticmethod
        def forward(ctx: Any, x: ow.Tensor) -> ow.Tensor:
            return x * 2

    with pytest.raises(NotImplementedError):
        Nothing.apply(leaf(1)).backward()


def test_vjp_is_another_name_of_backward() -> None:
    class Double(Function):
        @staticmethod
        def forward(ctx: Any, x: ow.Tensor) -> ow.Tensor:
            return x * 2

        @staticmethod
        def vjp(ctx: Any, g: ow.Tensor) -> ow.Tensor:
            return g * 2

    x = leaf(1)
    Double.apply(x).backward()
    close(x.grad, 2)


# ---- outputs -------------------------------------------------------------------------------------------------------


class Halves(Function):
    """Two outputs; says what gradients it was given."""

    given: list[Any] = []

    @staticmethod
    def forward(ctx: Any, x: ow.Tensor, materialize: bool) -> Any:
        ctx.set_materialize_grads(materialize)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, a: Any, b: Any) -> Any:
        Halves.given.append([None if g is None else g.numpy().tolist() for g in (a, b)])
        return (0 if a is None else a * 2) + (0 if b is None else b * 3), None


@pytest.mark.parametrize("materialize", [True, False])
def test_missing_gradients_of_outputs(materialize: bool) -> None:
    Halves.given.clear()
    x = leaf(1, 2)
    first, second = Halves.apply(x, materialize)
    second.sum().backward()
    close(x.grad, 3, 3)
    assert Halves.given == [[[0, 0] if materialize else None, [1, 1]]]
    first, second = Halves.apply(x, materialize)
    (first + second).sum().backward()
    close(x.grad, 8, 8)


def test_outputs_that_are_no_tensors_pass() -> None:
    class Named(Function):
        @staticmethod
        def forward(ctx: Any, x: ow.Tensor) -> Any:
            return x * 2, "name", None

        @staticmethod
        def backward(ctx: Any, g: Any, *others: Any) -> Any:
            assert others == (None, None)
            return g * 2

    x = leaf(1)
    y, name, nothing = Named.apply(x)
    assert name == "name" and nothing is None
    y.backward()
    close(x.grad, 2)


def test_outputs_that_are_not_differentiable() -> None:
    class Sort(Function):
        @staticmethod
        def forward(ctx: Any, x: ow.Tensor) -> Any:
            rank, copied = x.argmax(), x * 5
            ctx.mark_non_differentiable(rank, copied)
            return x * 2, rank, copied

        @staticmethod
        def backward(ctx: Any, g: Any, *_: Any) -> Any:
            return g * 2

    x = leaf(1, 3)
    y, rank, copied = Sort.apply(x)
    assert y.requires_grad and not rank.requires_grad and not copied.requires_grad and copied.is_leaf
    y.sum().backward()
    close(x.grad, 2, 2)


def test_an_input_that_comes_back_is_another_tensor() -> None:
    class Same(Function):
        @staticmethod
        def forward(ctx: Any, x: ow.Tensor) -> ow.Tensor:
            return x

        @staticmethod
        def backward(ctx: Any, g: ow.Tensor) -> ow.Tensor:
            return g * 10

    x = leaf(1)
    y = Same.apply(x)
    assert y is not x and x.is_leaf
    y.backward()
    close(x.grad, 10)


# ---- writing in place ----------------------------------------------------------------------------------------------


class Doubled(Function):
    @staticmethod
    def forward(ctx: Any, x: ow.Tensor) -> ow.Tensor:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, g: ow.Tensor) -> ow.Tensor:
        return g * 2


def test_a_dirty_input_gets_the_new_history() -> None:
    x = leaf(1, 2)
    y = x * 5
    z = Doubled.apply(y)
    assert z is y
    close(z, 10, 20)
    y.sum().backward()
    close(x.grad, 10, 10)


def test_an_output_that_shares_memory_is_not_written() -> None:
    class View(Function):
        @staticmethod
        def forward(ctx: Any, x: ow.Tensor) -> ow.Tensor:
            return x.view(2, 1)

        @staticmethod
        def backward(ctx: Any, g: ow.Tensor) -> ow.Tensor:
            return g.view(2)

    y = View.apply(leaf(1, 2) * 1)
    with pytest.raises(AutogradError, match="shares memory"):
        y.mul_(10)
    with pytest.raises(AutogradError, match="shares memory"):
        y[:1].mul_(10)
    y.clone().mul_(10)
    Exp.apply(leaf(1)).mul_(2)


def test_a_dirty_leaf_is_refused() -> None:
    with pytest.raises(AutogradError, match="leaf"):
        Doubled.apply(leaf(1))


def test_a_dirty_input_must_be_returned() -> None:
    class Lost(Function):
        @staticmethod
        def forward(ctx: Any, x: ow.Tensor) -> ow.Tensor:
            ctx.mark_dirty(x)
            return x * 2

    with pytest.raises(AutogradError, match="returned"):
        Lost.apply(leaf(1) * 1)


# ---- what is saved -------------------------------------------------------------------------------------------------


def test_saved_tensors_are_checked_and_let_go() -> None:
    x, y = leaf(2), leaf(3)
    z = y * 1
    out = Scale.apply(x, z, 1)
    with ow.no_grad():
        z.add_(1)
    with pytest.raises(AutogradError, match="modified by an in-place"):
        out.backward()
    out = Exp.apply(x)
    out.backward()
    with pytest.raises(AutogradError, match="second time"):
        out.backward()


def test_only_tensors_are_saved() -> None:
    class Wrong(Exp):
        @staticmethod
        def forward(ctx: Any, x: ow.Tensor) -> ow.Tensor:
            ctx.save_for_backward(x, 3)
            return x * 2

    with pytest.raises(ArgumentError, match="tensors"):
        Wrong.apply(leaf(1))


def test_none_can_be_saved() -> None:
    class Maybe(Function):
        @staticmethod
        def forward(ctx: Any, x: ow.Tensor) -> ow.Tensor:
            ctx.save_for_backward(None, x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: ow.Tensor) -> ow.Tensor:
            nothing, x = ctx.saved_tensors
            assert nothing is None
            return g * x * 2

    assert gradcheck(Maybe.apply, leaf(1, 2))


class Square(Function):
    """Saves a tensor that is neither an input nor an output."""

    @staticmethod
    def forward(ctx: Any, x: ow.Tensor) -> ow.Tensor:
        doubled = x * 2
        ctx.save_for_backward(doubled)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: ow.Tensor) -> ow.Tensor:
        (doubled,) = ctx.saved_tensors
        return g * doubled


def test_a_second_derivative_through_a_saved_intermediate_is_refused() -> None:
    x = leaf(3)
    (first,) = grad(Square.apply(x), x)
    close(first, 6)
    (first,) = grad(Square.apply(x), x, create_graph=True)
    close(first, 6)
    with pytest.raises(AutogradError, match="neither an input nor an output"):
        grad(first, x, allow_unused=True, retain_graph=True)
    with pytest.raises(AutogradError, match="neither an input nor an output"):
        first.backward()


def test_saved_tensors_go_through_the_hooks() -> None:
    seen = []

    def pack(t: ow.Tensor) -> np.ndarray:
        seen.append(t.item())
        return t.detach().numpy() * 10

    x, y = leaf(2), leaf(3)
    with saved_tensors_hooks(pack, ow.from_numpy):
        out = Scale.apply(x, y, 1)
    out.backward()
    assert seen == [2.0, 3.0]
    close(x.grad, 30)


def test_a_call_dies_without_the_garbage_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(1)
        y = Exp.apply(x)
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


# ---- what backward returns -----------------------------------------------------------------------------------------


def returning(*values: Any) -> type[Function]:
    class Given(Function):
        @staticmethod
        def forward(ctx: Any, x: ow.Tensor, n: Any) -> ow.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: ow.Tensor) -> Any:
            return tuple(g * v if isinstance(v, float) else v for v in values)

    return Given


def test_the_number_of_gradients() -> None:
    x = leaf(1)
    returning(2.0, None).apply(x, 3).backward()
    close(x.grad, 2)
    returning(2.0, None, None).apply(x, 3).backward()
    close(x.grad, 4)
    for wrong in ((2.0,), (2.0, None, 2.0)):
        with pytest.raises(AutogradError, match="gradients for 2 inputs"):
            returning(*wrong).apply(x, 3).backward()


def test_gradients_that_are_wrong() -> None:
    x = leaf(1)
    with pytest.raises(AutogradError, match="no tensor"):
        returning(2.0, 2.0).apply(x, 3).backward()
    with pytest.raises(AutogradError, match="tensor or None"):
        returning("text", None).apply(x, 3).backward()

    class Shape(Exp):
        @staticmethod
        def backward(ctx: Any, g: ow.Tensor) -> ow.Tensor:
            return ow.ones(3, dtype=ow.float64)

    with pytest.raises(RuntimeError, match="shape"):
        Shape.apply(leaf(1, 2)).sum().backward()


def test_none_and_a_gradient_for_what_needs_none() -> None:
    x, y = leaf(1), leaf(2).detach()

    class Both(Function):
        @staticmethod
        def forward(ctx: Any, x: ow.Tensor, y: ow.Tensor) -> ow.Tensor:
            return x * y

        @staticmethod
        def backward(ctx: Any, g: ow.Tensor) -> Any:
            return None, g

    assert grad(Both.apply(x, y), x, allow_unused=True) == (None,)
    Both.apply(x, y).backward()
    assert x.grad is None and y.grad is None


def test_gradients_are_cast_to_the_type_of_the_input() -> None:
    class Wide(Function):
        @staticmethod
        def forward(ctx: Any, x: ow.Tensor) -> ow.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: ow.Tensor) -> ow.Tensor:
            return (g * 2).double()

    x = ow.from_numpy(np.ones(2, np.float32)).requires_grad_()
    Wide.apply(x).sum().backward()
    assert x.grad.dtype is ow.float32


# ---- once_differentiable -------------------------------------------------------------------------------------------


class Once(Function):
    @staticmethod
    def forward(ctx: Any, x: ow.Tensor) -> ow.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: ow.Tensor) -> ow.Tensor:
        assert not ow.is_grad_enabled()
        (x,) = ctx.saved_tensors
        return ow.from_numpy(g.numpy() * 2 * x.detach().numpy())


def test_once_differentiable() -> None:
    x = leaf(3)
    Once.apply(x).backward()
    close(x.grad, 6)
    (first,) = grad(Once.apply(x), x, create_graph=True)
    close(first, 6)
    with pytest.raises(AutogradError, match="once_differentiable"):
        grad(first, x, allow_unused=True, retain_graph=True)


def test_once_differentiable_leaves_the_incoming_gradient_alone() -> None:
    class Pass(Function):
        @staticmethod
        def forward(ctx: Any, x: ow.Tensor) -> ow.Tensor:
            return x * 1

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, g: ow.Tensor) -> ow.Tensor:
            return g

    x, v = leaf(3), leaf(2)
    grad(Pass.apply(x), x, v, create_graph=True)
    assert v.is_leaf
    (v * 5).backward()
    close(v.grad, 5)
