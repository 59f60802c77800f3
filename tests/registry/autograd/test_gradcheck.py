"""`gradcheck` finds what is wrong, and `functional` gives the matrices that are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opweave as ow
from opweave.autograd import Function, GradcheckError, functional, grad, gradcheck, gradgradcheck
from opweave.registry.errors import ArgumentError, AutogradError, OpweaveError, ShapeError, UnsupportedError

FAST = pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])


def leaf(*sizes: int, complex: bool = False, dtype: Any = np.float64) -> ow.Tensor:
    rng = np.random.default_rng(sum(sizes))
    values = rng.standard_normal(sizes) + (1j * rng.standard_normal(sizes) if complex else 0)
    return ow.from_numpy(values.astype(np.complex128 if complex else dtype)).requires_grad_()


def function(forward: Callable[..., Any], backward: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one tensor with this backward, `backward(x, *gradients)`."""

    class Made(Function):
        @staticmethod
        def forward(ctx: Any, x: ow.Tensor) -> Any:
            ctx.save_for_backward(x)
            ctx.set_materialize_grads(False)
            return forward(x)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            (x,) = ctx.saved_tensors
            return backward(x, *grads)

    return Made.apply


def through(g: Any, factor: Callable[[Any], Any]) -> Any:
    return None if g is None else factor(g)


# ---- right gradients -----------------------------------------------------------------------------------------------


@FAST
@pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
def test_right_gradients_pass(fast: bool, complex: bool) -> None:
    x, y = leaf(2, 3, complex=complex), leaf(3, 2, complex=complex)
    assert gradcheck(lambda a, b: (a.mm(b), a * 2), (x, y), fast_mode=fast)
    assert gradgradcheck(lambda a, b: a.mm(b).mm(a), (x, y), fast_mode=fast)
    assert gradcheck(lambda a: a.real * 3, x, fast_mode=fast)
    assert x.grad is None


@FAST
def test_only_inputs_that_require_grad_are_checked(fast: bool) -> None:
    x, y = leaf(3), leaf(3).detach()
    assert gradcheck(lambda a, b, n: a * b.detach() * n, (x, y, 3), fast_mode=fast)
    assert gradgradcheck(lambda a, b, n: a * a * b * n, (x, y, 3), fast_mode=fast)


def test_the_inputs_come_out_as_they_went_in() -> None:
    x = leaf(2, 3)
    before = x.detach().numpy().copy()
    gradcheck(lambda a: a.exp(), x)
    np.testing.assert_array_equal(x.detach().numpy(), before)


def test_views_and_empty_tensors() -> None:
    whole = leaf(3, 4).detach()
    assert gradcheck(lambda a: a * a, whole.t().requires_grad_())
    assert gradcheck(lambda a: a * a, leaf(0, 3))
    with pytest.raises(ArgumentError, match="share memory"):
        gradcheck(lambda a: a * a, whole[:1].expand(3, 4).detach().requires_grad_())


def test_second_derivatives_with_gradients_of_ones_own() -> None:
    x = leaf(3)
    assert gradgradcheck(lambda a: a * a, x, ow.from_numpy(np.array([1.0, 2.0, 3.0])).requires_grad_())
    assert gradgradcheck(lambda a: a * a, x, gen_non_contig_grad_outputs=True)


# ---- wrong ones ----------------------------------------------------------------------------------------------------


@FAST
def test_a_wrong_factor_is_found_and_shown(fast: bool) -> None:
    wrong = function(lambda x: x * x, lambda x, g: through(g, lambda g: g * x))
    x = ow.from_numpy(np.array([0.5, 2.0])).requires_grad_()
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0") as caught:
        gradcheck(wrong, x, fast_mode=fast)
    assert isinstance(caught.value, RuntimeError)
    text = str(caught.value)
    assert "numerical" in text and "analytical" in text and "0.5" in text and "4." in text
    assert gradcheck(wrong, x, fast_mode=fast, raise_exception=False) is False


@FAST
def test_one_wrong_element_of_the_second_output_is_found(fast: bool) -> None:
    scale = ow.from_numpy(np.array([1.0, 1.0, 1.01]))
    wrong = function(lambda x: (x * 2, x * 3), lambda x, a, b: a * 2 if b is None else b * 3 * scale)
    with pytest.raises(GradcheckError, match="output 1 with respect to input 0"):
        gradcheck(wrong, leaf(3), fast_mode=fast)


@FAST
def test_a_missing_conjugate_is_found(fast: bool) -> None:
    z = leaf(3, complex=True)
    factor = ow.from_numpy(np.array([1j, 2.0, 1 - 1j]))
    wrong = function(lambda x: x * factor, lambda x, g: through(g, lambda g: g * factor))
    with pytest.raises(GradcheckError, match="part of complex outputs"):
        gradcheck(wrong, z, fast_mode=fast)
    right = function(lambda x: x * factor, lambda x, g: through(g, lambda g: g * factor.conj_physical()))
    assert gradcheck(right, z, fast_mode=fast)


@FAST
def test_a_wrong_second_derivative_is_found(fast: bool) -> None:
    wrong = function(lambda x: x * x, lambda x, g: through(g, lambda g: g * 2 * x.detach()))
    x = leaf(3)
    assert gradcheck(wrong, x, fast_mode=fast)
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradgradcheck(wrong, x, fast_mode=fast)


def test_a_gradient_that_is_lost_is_found() -> None:
    x = leaf(3)
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradcheck(lambda a: a.detach() * a, x)
    with pytest.raises(GradcheckError, match="does not require grad, but changes"):
        gradcheck(lambda a: a.detach() * 2, x)
    assert gradcheck(lambda a: a.detach() * 0, x)


def test_a_backward_that_differs_from_run_to_run() -> None:
    runs = [0]

    def backward(x: ow.Tensor, g: Any) -> Any:
        runs[0] += 1
        return through(g, lambda g: g * (2 + 1e-7 * runs[0]))

    unsteady = function(lambda x: x * 2, backward)
    with pytest.raises(GradcheckError, match="not deterministic"):
        gradcheck(unsteady, leaf(2))
    with pytest.raises(GradcheckError, match="not deterministic"):
        gradcheck(unsteady, leaf(2), fast_mode=True)
    assert gradcheck(unsteady, leaf(2), nondet_tol=1e-3)


def test_a_backward_that_does_not_multiply_with_the_gradient() -> None:
    careless = function(lambda x: x.sum(), lambda x, g: None if g is None else ow.ones_like(x))
    with pytest.raises(GradcheckError, match="not multiplied"):
        gradcheck(careless, leaf(3))


def test_undefined_gradients() -> None:
    careless = function(lambda x: x * 2, lambda x, g: g * 2)
    with pytest.raises(GradcheckError, match="cannot cope with an undefined gradient"):
        gradcheck(careless, leaf(3))
    constant = function(lambda x: x * 2, lambda x, g: ow.ones_like(x) if g is None else g * 2)
    with pytest.raises(GradcheckError, match="not zero"):
        gradcheck(constant, leaf(3))
    assert gradcheck(constant, leaf(3), check_undefined_grad=False)


def test_outputs_that_change_their_shape() -> None:
    def jump(a: ow.Tensor) -> ow.Tensor:
        return a * 2 if a.sum().item() > 1 else a.sum()

    with pytest.raises(GradcheckError, match="shape"):
        gradcheck(jump, ow.from_numpy(np.array([0.5, 0.5])).requires_grad_())


# ---- arguments -----------------------------------------------------------------------------------------------------


def test_low_precision_is_warned_about() -> None:
    with pytest.warns(UserWarning, match="float64"):
        gradcheck(lambda a: a * 2, leaf(2, dtype=np.float32), eps=1e-3, atol=1e-2)


def test_what_cannot_be_checked() -> None:
    with pytest.raises(ArgumentError, match="require grad"):
        gradcheck(lambda a: a * 2, leaf(2).detach())
    with pytest.raises(UnsupportedError):
        gradcheck(lambda a: a * 2, leaf(2), check_forward_ad=True)
    with pytest.raises(UnsupportedError):
        gradgradcheck(lambda a: a * 2, leaf(2), check_fwd_over_rev=True)


def test_tolerances_and_steps() -> None:
    off = function(lambda x: x * 2, lambda x, g: through(g, lambda g: g * 2.01))
    with pytest.raises(GradcheckError):
        gradcheck(off, leaf(2))
    assert gradcheck(off, leaf(2), rtol=0.02)
    assert gradcheck(off, leaf(2), atol=0.02)


# ---- functional ----------------------------------------------------------------------------------------------------


def cubes(x: ow.Tensor) -> ow.Tensor:
    return x * x * x


def same(t: ow.Tensor, expected: Any) -> None:
    np.testing.assert_allclose(t.detach().numpy(), expected, rtol=1e-12, atol=1e-12)


X = np.array([1.0, -2.0, 3.0])
V = np.array([10.0, 20.0, 30.0])


def test_products_with_the_jacobian() -> None:
    x, v = ow.from_numpy(X), ow.from_numpy(V)
    out, found = functional.vjp(cubes, x, v)
    same(out, X**3)
    same(found, 3 * X**2 * V)
    out, found = functional.jvp(cubes, x, v)
    same(out, X**3)
    same(found, 3 * X**2 * V)
    assert not found.requires_grad and not out.requires_grad
    m = ow.from_numpy(np.arange(6.0).reshape(2, 3))
    same(functional.jvp(lambda t: m.mv(t), x, v)[1], m.numpy() @ V)
    same(functional.vjp(lambda t: m.mv(t), x, ow.from_numpy(V[:2]))[1], m.numpy().T @ V[:2])
    _, found = functional.vjp(lambda t: t.sum(), x)
    same(found, np.ones(3))


def test_products_with_many_inputs_and_outputs() -> None:
    x, y, v = ow.from_numpy(X), ow.from_numpy(X + 1), ow.from_numpy(V)
    outs, found = functional.vjp(lambda a, b: (a * b, a + 2), (x, y), (v, v))
    assert isinstance(outs, tuple) and len(outs) == 2
    same(found[0], V * (X + 1) + V)
    same(found[1], V * X)
    _, found = functional.jvp(lambda a, b: (a * b, a + 2), (x, y), (v, v))
    same(found[0], V * (X + 1) + V * X)
    same(found[1], V)


def test_products_with_the_hessian() -> None:
    x, v = ow.from_numpy(X), ow.from_numpy(V)
    for product in (functional.vhp, functional.hvp):
        out, found = product(lambda t: cubes(t).sum(), x, v)
        same(out, (X**3).sum())
        same(found, 6 * X * V)
        _, found = product(lambda a, b: (a * a * b).sum(), (x, x), (v, v))
        same(found[0], 4 * X * V)
        same(found[1], 2 * X * V)
    with pytest.raises(ShapeError, match="one-element"):
        functional.hvp(cubes, x, v)


def test_jacobian() -> None:
    x = ow.from_numpy(X)
    same(functional.jacobian(cubes, x), np.diag(3 * X**2))
    m = ow.from_numpy(np.arange(6.0).reshape(2, 3))
    found = functional.jacobian(lambda a, b: (a.mv(b), b * 2), (m, x))
    assert [[part.shape for part in row] for row in found] == [[(2, 2, 3), (2, 3)], [(3, 2, 3), (3, 3)]]
    same(found[0][1], m.numpy())
    same(found[0][0], np.einsum("ik,j->ikj", np.eye(2), X))
    same(found[1][0], np.zeros((3, 2, 3)))
    same(found[1][1], 2 * np.eye(3))


def test_hessian() -> None:
    x = ow.from_numpy(X)
    same(functional.hessian(lambda t: cubes(t).sum(), x), np.diag(6 * X))
    found = functional.hessian(lambda a, b: (a * a * b).sum(), (x, x + 1))
    same(found[0][0], np.diag(2 * (X + 1)))
    same(found[0][1], np.diag(2 * X))
    same(found[1][0], np.diag(2 * X))
    same(found[1][1], np.zeros((3, 3)))
    same(functional.hessian(lambda t: (t * 2).sum(), x), np.zeros((3, 3)))


def test_results_can_be_differentiated() -> None:
    x = ow.from_numpy(X).requires_grad_()
    found = functional.jacobian(cubes, x, create_graph=True)
    (second,) = grad(found.sum(), x)
    same(second, 6 * X)
    _, found = functional.vjp(cubes, x, ow.from_numpy(V), create_graph=True)
    (second,) = grad(found.sum(), x)
    same(second, 6 * X * V)
    v = ow.from_numpy(V).requires_grad_()
    _, found = functional.jvp(cubes, x, v, create_graph=True)
    first, second = grad(found.sum(), [v, x])
    same(first, 3 * X**2)
    same(second, 6 * X * V)


def test_they_work_where_nothing_is_recorded() -> None:
    with ow.no_grad():
        same(functional.jacobian(cubes, ow.from_numpy(X)), np.diag(3 * X**2))
        assert not ow.is_grad_enabled()


def test_strict_refuses_what_does_not_depend() -> None:
    x, y = ow.from_numpy(X), ow.from_numpy(X)
    same(functional.jacobian(lambda a, b: a * 2, (x, y))[1], np.zeros((3, 3)))
    with pytest.raises(AutogradError, match="strict"):
        functional.jacobian(lambda a, b: a * 2, (x, y), strict=True)
    with pytest.raises(AutogradError, match="strict"):
        functional.vjp(lambda a: y * 2, x, y, strict=True)
    with pytest.raises(AutogradError, match="strict"):
        functional.hessian(lambda a: (a * 2).sum(), x, strict=True)


def test_vectors_must_fit() -> None:
    x = ow.from_numpy(X)
    with pytest.raises(AutogradError, match="left out"):
        functional.vjp(cubes, x)
    with pytest.raises(ShapeError):
        functional.vjp(cubes, x, ow.from_numpy(V[:2]))
    with pytest.raises(ShapeError):
        functional.jvp(cubes, x, (x, x))
    with pytest.raises(ArgumentError):
        functional.jacobian(lambda t: 3, x)
    with pytest.raises(OpweaveError):
        functional.jacobian(cubes, x, strategy="sideways")
    with pytest.raises(OpweaveError, match="wants vectorize"):
        functional.jacobian(cubes, x, strategy="forward-mode")
    with pytest.raises(AutogradError, match="floating"):
        functional.jacobian(cubes, ow.from_numpy(np.array([1, 2])))


# ---- many vectors at once ------------------------------------------------------------------------------------------


def test_a_batch_of_backward_passes() -> None:
    x = leaf(3)
    vectors = ow.from_numpy(np.arange(6.0).reshape(2, 3))
    (found,) = grad(cubes(x), x, vectors, is_grads_batched=True)
    same(found, 3 * x.detach().numpy() ** 2 * vectors.numpy())
    assert gradcheck(lambda a: (a.mm(a), a * 2), leaf(2, 2), check_batched_grad=True)


def test_jacobians_by_one_batched_pass() -> None:
    m, x = ow.from_numpy(np.arange(6.0).reshape(2, 3)), ow.from_numpy(X)
    turn = functional.jacobian(lambda a, b: (a.mv(b), b * 2), (m, x))
    once = functional.jacobian(lambda a, b: (a.mv(b), b * 2), (m, x), vectorize=True)
    for row, expected in zip(once, turn, strict=True):
        for part, value in zip(row, expected, strict=True):
            same(part, value.numpy())
    same(functional.hessian(lambda t: cubes(t).sum(), x, vectorize=True), np.diag(6 * X))
