"""`opweave.func` against `torch.func`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from oracle import close

import opweave

Case = Callable[[Any, Any, list[Any]], Any]
_CASES: list[Case] = []


def case(fn: Case) -> Case:
    """A function of (the library, its func module, inputs) that both libraries must agree on."""
    _CASES.append(fn)
    return fn


def _inputs() -> list[Any]:
    rng = np.random.default_rng(7)
    shapes = [(4,), (3, 4), (5, 4), (2, 4), (4, 3), (3,), (5, 3)]
    return [rng.uniform(-1.5, 1.5, shape) for shape in shapes]


def _flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [t for key in sorted(value) for t in _flat(value[key])]
    if isinstance(value, (tuple, list)):
        return [t for item in value for t in _flat(item)]
    return [np.asarray(value.detach().numpy())]


def _structure(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _structure(item) for key, item in value.items()}
    return [_structure(item) for item in value] if isinstance(value, (tuple, list)) else "tensor"


# ---- functions of one vector, matrix and so on ---------------------------------------------------------------------


def _scalar(lib: Any) -> Callable[[Any], Any]:
    return lambda x: (x.sin() * x).sum() + (x * x * x).mean()


def _vector(lib: Any) -> Callable[[Any], Any]:
    return lambda x: lib.stack([(x * x).sum(), x[0] * x[1], x.exp().sum(), x[2].sin()])


def _loss(params: Any, x: Any, y: Any) -> Any:
    """A small network on one example."""
    w1, b1, w2, b2 = params["w1"], params["b1"], params["w2"], params["b2"]
    hidden = (x @ w1.T + b1).tanh()
    return ((hidden @ w2.T + b2 - y) ** 2).sum()


def _params(v: list[Any]) -> dict[str, Any]:
    return {"w1": v[1], "b1": v[5], "w2": v[4][:, :].reshape(4, 3), "b2": v[0]}


@case
def gradient(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.grad(_scalar(lib))(v[0])


@case
def gradient_and_value(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.grad_and_value(_scalar(lib))(v[1])


@case
def gradient_of_a_gradient(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.grad(func.grad(lambda x: x.sin() * x * x))(v[0][0])


@case
def third_derivative(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.grad(func.grad(func.grad(lambda x: x.exp() * x * x)))(v[0][1])


@case
def nested_derivatives_are_told_apart(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.grad(lambda x: x * func.grad(lambda y: x * y * y)(x * x))(v[0][0])


@case
def inner_derivative_of_a_constant(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.grad(lambda x: x * func.grad(lambda y: x + y)(v[0][1]))(v[0][0])


@case
def several_arguments(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.grad(lambda a, b, c: (a * b).sum() * c.sum(), argnums=(0, -1))(v[1], v[1] * 2, v[0])


@case
def auxiliary_results(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.grad(lambda x: ((x * x).sum(), {"twice": x * 2}), has_aux=True)(v[0])


@case
def nested_containers(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.grad(_loss)(_params(v), v[0], v[0] * 2)


@case
def per_example_gradients_of_shared_weights(lib: Any, func: Any, v: list[Any]) -> Any:
    return lib.vmap(func.grad(_loss), in_dims=(None, 0, 0))(_params(v), v[2], v[2] * 0.5)


@case
def per_example_gradients_and_values(lib: Any, func: Any, v: list[Any]) -> Any:
    return lib.vmap(func.grad_and_value(_loss), in_dims=(None, 0, 0))(_params(v), v[2], v[2] * 0.5)


@case
def gradients_of_captured_batches(lib: Any, func: Any, v: list[Any]) -> Any:
    return lib.vmap(lambda x: func.grad(lambda w: (w * x).sum() ** 2)(v[0]))(v[2])


@case
def gradient_that_no_example_takes_part_in(lib: Any, func: Any, v: list[Any]) -> Any:
    return lib.vmap(lambda x: func.grad(lambda w: (w * w).sum())(v[0]))(v[2])


@case
def gradient_of_a_sum_with_a_shared_term(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.grad(lambda w: lib.vmap(lambda x: (w + x).sum())(v[2]).sum())(v[0])


@case
def gradient_of_vmap(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.grad(lambda w: lib.vmap(lambda x: (w * x).sin().sum())(v[2]).sum())(v[0])


@case
def gradient_of_vmap_of_a_gradient(lib: Any, func: Any, v: list[Any]) -> Any:
    def per_example(w: Any, x: Any) -> Any:
        return func.grad(lambda w: (w * x).sum() ** 3)(w)

    return func.grad(lambda w: (lib.vmap(per_example, in_dims=(None, 0))(w, v[2]) ** 2).sum())(v[0])


@case
def vmap_of_vmap_of_a_gradient(lib: Any, func: Any, v: list[Any]) -> Any:
    inner = lib.vmap(func.grad(lambda w, x: (w * x).sum() ** 3), in_dims=(None, 0))
    return lib.vmap(inner, in_dims=(0, None))(v[1], v[2])


@case
def vector_jacobian_product(lib: Any, func: Any, v: list[Any]) -> Any:
    output, product = func.vjp(_vector(lib), v[0])
    return output, product(v[0] * 3), product(v[0])


@case
def vector_jacobian_product_of_several(lib: Any, func: Any, v: list[Any]) -> Any:
    output, product = func.vjp(lambda a, b: (a * b, (a + b).sum()), v[1], v[0])
    return output, product((v[1], v[0][0]))


@case
def batched_vectors(lib: Any, func: Any, v: list[Any]) -> Any:
    _, product = func.vjp(_vector(lib), v[0])
    return lib.vmap(product)(v[2])


@case
def products_with_a_shared_vector_inside_vmap(lib: Any, func: Any, v: list[Any]) -> Any:
    def one(x: Any) -> Any:
        _, product = func.vjp(lambda w: w + x, v[0])
        return product(v[0])

    return lib.vmap(one)(v[2])


@case
def jacobian_vector_product(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.jvp(_vector(lib), (v[0],), (v[0] * 2,))


@case
def jacobian_vector_product_of_several(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.jvp(lambda a, b: (a * b).sum(0), (v[1], v[0]), (v[1] * 2, v[0] * 3))


@case
def jacobian_vector_product_inside_vmap(lib: Any, func: Any, v: list[Any]) -> Any:
    return lib.vmap(lambda x, t: func.jvp(_vector(lib), (x,), (t,)))(v[2], v[2] * 0.5)


@case
def gradient_of_a_jacobian_vector_product(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.grad(lambda x: func.jvp(_vector(lib), (x,), (v[0],))[1].sum())(v[0] * 0.5)


@case
def jacobian_by_rows(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.jacrev(_vector(lib))(v[0])


@case
def jacobian_by_columns(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.jacfwd(_vector(lib))(v[0])


@case
def jacobian_of_a_matrix_function(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.jacrev(lambda a: (a @ v[4]).sin())(v[1]), func.jacfwd(lambda a: (a @ v[4]).sin())(v[1])


@case
def jacobian_with_several_arguments_and_results(lib: Any, func: Any, v: list[Any]) -> Any:
    def both(a: Any, b: Any) -> Any:
        return {"first": a @ b, "second": (a * a).sum(0)}

    return func.jacrev(both, argnums=(0, 1))(v[1], v[4]), func.jacfwd(both, argnums=(0, 1))(v[1], v[4])


@case
def jacobian_with_auxiliary_results(lib: Any, func: Any, v: list[Any]) -> Any:
    function = lambda x: (x * x, x.sum())
    return func.jacrev(function, has_aux=True)(v[0]), func.jacfwd(function, has_aux=True)(v[0])


@case
def jacobian_in_chunks(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.jacrev(_vector(lib), chunk_size=3)(v[0])


@case
def jacobian_inside_vmap(lib: Any, func: Any, v: list[Any]) -> Any:
    return lib.vmap(func.jacrev(_vector(lib)))(v[2]), lib.vmap(func.jacfwd(_vector(lib)))(v[2])


@case
def hessian(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.hessian(_scalar(lib))(v[0]), func.hessian(lambda w: _loss(w, v[0], v[0]).sin())(_params(v))


@case
def hessian_inside_vmap(lib: Any, func: Any, v: list[Any]) -> Any:
    return lib.vmap(func.hessian(_scalar(lib)))(v[2])


@case
def jacobian_of_a_jacobian(lib: Any, func: Any, v: list[Any]) -> Any:
    return func.jacrev(func.jacrev(_vector(lib)))(v[0]), func.jacfwd(func.jacfwd(_vector(lib)))(v[0])


@case
def writes_in_place(lib: Any, func: Any, v: list[Any]) -> Any:
    def changed(x: Any) -> Any:
        y = x.clone()
        y[1:3].mul_(x[0])
        y[0] = x.sum()
        return y.sin().sum()

    return func.grad(changed)(v[0]), lib.vmap(func.grad(changed))(v[2]), func.hessian(changed)(v[0])


@case
def indices_of_a_batch(lib: Any, func: Any, v: list[Any]) -> Any:
    at = lib.tensor([1, 3, 0, 2, 1])
    return lib.vmap(lambda x, i: x[i] * 2)(v[2], at), lib.vmap(lambda i: v[0][i])(at)


_WRITTEN: dict[str, Callable[[Any, Any, Any], Any]] = {
    "whole": lambda lib, func, x: func.grad(lambda x: x.mul_(2).sum())(x),
    "a view": lambda lib, func, x: func.grad(lambda x: (x[1:].mul_(2), x.sum())[1])(x),
    "in a batch": lambda lib, func, x: lib.vmap(func.grad(lambda x: x.mul_(2).sum()))(x[None]),
    "nested": lambda lib, func, x: func.grad(lambda x: func.grad(lambda y: y.add_(1).sum())(x).sum())(x),
    "vjp": lambda lib, func, x: func.vjp(lambda x: x.mul_(2), x),
}


@pytest.mark.parametrize("call", _WRITTEN.values(), ids=_WRITTEN)
def test_arguments_that_are_differentiated_are_not_written(call: Callable[[Any, Any, Any], Any]) -> None:
    """Their gradient would be that after the write."""
    for lib in (torch, opweave):
        x = lib.ones(4)
        with pytest.raises(RuntimeError, match=r"in-place|in place"):
            call(lib, lib.func, x)
        assert x.tolist() == [1.0] * 4


@pytest.mark.parametrize("fn", _CASES, ids=lambda fn: fn.__name__)
def test_matches_pytorch(fn: Case) -> None:
    ours = fn(opweave, opweave.func, [opweave.tensor(a) for a in _inputs()])
    theirs = fn(torch, torch.func, [torch.tensor(a) for a in _inputs()])
    assert _structure(ours) == _structure(theirs)
    for mine, other in zip(_flat(ours), _flat(theirs), strict=True):
        assert mine.shape == other.shape
        close(mine, other, "func")
