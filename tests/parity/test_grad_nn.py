"""Gradients of products, softmax, normalisation, losses and attention: PyTorch's, and those of finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from oracle import close, to_torch

import opweave as ow
from opweave.autograd import grad, gradcheck, gradgradcheck
from opweave.registry.errors import AutogradError

Sizes = tuple[int, ...]


def tensor(*sizes: int, seed: int = 0, complex: bool = False, dtype: Any = None) -> ow.Tensor:
    rng = np.random.default_rng([seed, *sizes])
    values = rng.standard_normal(sizes) + (1j * rng.standard_normal(sizes) if complex else 0)
    made = ow.from_numpy(np.array(values))
    return (made if dtype is None else made.to(dtype)).requires_grad_()


def array(t: Any) -> np.ndarray:
    if isinstance(t, torch.Tensor):
        t = t.detach().resolve_conj()
        return (t.float() if t.dtype == torch.bfloat16 else t).numpy()
    t = t.detach()
    return (t.float() if t.dtype is ow.bfloat16 else t).numpy()


def twin(value: Any) -> Any:
    """The same argument for PyTorch, a leaf where ours is one."""
    if isinstance(value, ow.Tensor):
        return to_torch(value.detach()).requires_grad_(value.requires_grad)
    return value


def vector_like(t: Any, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(tuple(t.shape))
    return values + 1j * rng.standard_normal(tuple(t.shape)) if np.iscomplexobj(array(t)) else values


def derivatives(module: Any, fn: Callable[..., Any], args: Any, order: int) -> list[np.ndarray]:
    """Outputs, then gradients of a weighted sum of them, then gradients of a weighted sum of those."""
    leaves = [a for a in args if hasattr(a, "requires_grad") and a.requires_grad]
    outputs = fn(*args)
    outputs = [t for t in (outputs if isinstance(outputs, (tuple, list)) else [outputs]) if t.requires_grad]
    found = [array(t) for t in outputs]
    for step in range(order):
        if not outputs:  # constants: their derivatives are zero
            found += [np.zeros_like(array(t)) for t in leaves]
            continue  # no difference: zeros are what such a derivative is
        vectors = [module.from_numpy(np.array(vector_like(t, 7 + step))).to(t.dtype) for t in outputs]
        outputs = module.autograd.grad(
            outputs, leaves, vectors, create_graph=step + 1 < order, allow_unused=True, materialize_grads=True
        )
        found += [array(t) for t in outputs]
        outputs = [t for t in outputs if t.requires_grad]
    return found


def same(
    ours: Callable[..., Any], theirs: Callable[..., Any], args: Any, order: int = 2, difference: str = "nn, gradients"
) -> None:
    mine = derivatives(ow, ours, args, order)
    expected = derivatives(torch, theirs, [twin(a) for a in args], order)
    assert len(mine) == len(expected)
    for a, b in zip(mine, expected, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        close(a, b, difference)


# ---- products ------------------------------------------------------------------------------------------------------

PRODUCTS = [
    ("mm", (3, 4), (4, 2)),
    ("bmm", (2, 3, 4), (2, 4, 2)),
    ("mv", (3, 4), (4,)),
    ("dot", (4,), (4,)),
    ("outer", (3,), (2,)),
    ("matmul", (4,), (4,)),
    ("matmul", (4,), (4, 3)),
    ("matmul", (4,), (2, 4, 3)),
    ("matmul", (2, 3, 4), (4,)),
    ("matmul", (2, 3, 4), (4, 3)),
    ("matmul", (2, 1, 3, 4), (5, 4, 2)),
    ("mm", (0, 4), (4, 2)),
    ("mm", (3, 0), (0, 2)),
]


@pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize(("name", "a", "b"), PRODUCTS, ids=str)
def test_products(name: str, a: Sizes, b: Sizes, complex: bool) -> None:
    args = tensor(*a, complex=complex), tensor(*b, seed=1, complex=complex)
    same(getattr(ow, name), getattr(torch, name), args)
    if 0 not in a:
        assert gradcheck(getattr(ow, name), args, fast_mode=True)
        assert gradgradcheck(getattr(ow, name), args, fast_mode=True)


SCALED = [("addmm", (3, 4), (4, 2)), ("addmv", (3, 4), (4,)), ("baddbmm", (2, 3, 4), (2, 4, 2))]


@pytest.mark.parametrize("self_sizes", [None, (), (1,)], ids=str)
@pytest.mark.parametrize(("beta", "alpha"), [(1, 1), (2, 3), (0.5, -1.5), (0, 2)])
@pytest.mark.parametrize(("name", "a", "b"), SCALED, ids=str)
def test_scaled_products(name: str, a: Sizes, b: Sizes, beta: float, alpha: float, self_sizes: Any) -> None:
    whole = a[:-1] + b[-1:] if len(b) > 1 else a[:-1]
    args = tensor(*(whole if self_sizes is None else self_sizes)), tensor(*a, seed=1), tensor(*b, seed=2)
    same(
        lambda *t: getattr(ow, name)(*t, beta=beta, alpha=alpha),
        lambda *t: getattr(torch, name)(*t, beta=beta, alpha=alpha),
        args,
    )


@pytest.mark.parametrize(("name", "a", "b"), SCALED, ids=str)
def test_scaled_products_of_complex_tensors(name: str, a: Sizes, b: Sizes) -> None:
    args = tensor(1, complex=True), tensor(*a, seed=1, complex=True), tensor(*b, seed=2, complex=True)
    same(
        lambda *t: getattr(ow, name)(*t, beta=2 - 1j, alpha=0.5 + 3j),
        lambda *t: getattr(torch, name)(*t, beta=2 - 1j, alpha=0.5 + 3j),
        args,
    )


@pytest.mark.parametrize("sizes", [(4,), (3, 4), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("bias", [False, True])
def test_linear(sizes: Sizes, bias: bool) -> None:
    args = [tensor(*sizes), tensor(5, 4, seed=1)] + ([tensor(5, seed=2)] if bias else [])
    same(ow.nn.functional.linear, torch.nn.functional.linear, args)


def test_half_types_are_multiplied_with_one_rounding() -> None:
    args = [tensor(3, 4, dtype=ow.bfloat16), tensor(4, 2, seed=1, dtype=ow.bfloat16)]
    args = [a.detach().requires_grad_() for a in args]
    same(ow.mm, torch.mm, args, order=1, difference="nn, gradients of bfloat16")


# ---- softmax -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize(("sizes", "dim"), [((3, 4), 1), ((3, 4), 0), ((2, 3, 4), -2), ((), 0), ((0, 3), 1)], ids=str)
def test_softmax(name: str, sizes: Sizes, dim: int) -> None:
    x = tensor(*sizes)
    same(lambda t: getattr(ow, name)(t, dim), lambda t: getattr(torch, name)(t, dim), [x])
    if 0 not in sizes:
        assert gradcheck(lambda t: getattr(ow, name)(t, dim), x)
        assert gradgradcheck(lambda t: getattr(ow, name)(t, dim), x)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_in_another_type(name: str) -> None:
    x = tensor(3, 4, dtype=ow.float16).detach().requires_grad_()
    same(
        lambda t: getattr(ow, name)(t, 1, dtype=ow.float32),
        lambda t: getattr(torch, name)(t, 1, dtype=torch.float32),
        [x], order=1, difference="nn, gradients of float32",
    )  # fmt: skip
    assert x.grad is None


@pytest.mark.parametrize("name", ["_softmax_backward_data", "_log_softmax_backward_data"])
def test_softmax_backward_is_differentiable(name: str) -> None:
    args = tensor(3, 4), tensor(3, 4, seed=1)
    ours = getattr(ow.ops.aten, name).default
    assert gradcheck(lambda g, out: ours(g, out, 1, ow.float64), args)
    assert gradgradcheck(lambda g, out: ours(g, out, 1, ow.float64), args)


# ---- normalisation -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("affine", ["none", "weight", "both"])
@pytest.mark.parametrize(
    ("sizes", "inner"), [((3, 4), (4,)), ((2, 3, 4), (3, 4)), ((4,), (4,)), ((0, 4), (4,))], ids=str
)
def test_layer_norm(sizes: Sizes, inner: Sizes, affine: str) -> None:
    weights = [tensor(*inner, seed=1)] if affine != "none" else []
    weights += [tensor(*inner, seed=2)] if affine == "both" else []
    args = [tensor(*sizes), *weights]
    same(
        lambda x, *rest: ow.nn.functional.layer_norm(x, inner, *rest),
        lambda x, *rest: torch.nn.functional.layer_norm(x, inner, *rest),
        args, difference="nn, gradients through norms",
    )  # fmt: skip
    if 0 not in sizes:
        assert gradgradcheck(lambda x, *rest: ow.nn.functional.layer_norm(x, inner, *rest), args, fast_mode=True)


def test_layer_norm_mean_and_scale_have_gradients() -> None:
    """PyTorch leaves these out in silence."""
    args = tensor(3, 4), tensor(4, seed=1), tensor(4, seed=2)
    layer_norm = ow.ops.aten.native_layer_norm.default
    assert gradcheck(lambda x, w, b: layer_norm(x, [4], w, b, 1e-5), args)
    assert gradcheck(lambda x: layer_norm(x, [4], None, None, 1e-5)[2], args[0])
    assert gradgradcheck(lambda x, w, b: layer_norm(x, [4], w, b, 1e-5), args)


@pytest.mark.parametrize("mask", [[True, True, True], [True, False, True], [False, True, False]], ids=str)
def test_layer_norm_backward_gives_what_the_mask_asks_for(mask: list[bool]) -> None:
    x, g, w = tensor(3, 4).detach(), tensor(3, 4, seed=1).detach(), tensor(4).detach()
    _, mean, rstd = ow.ops.aten.native_layer_norm.default(x, [4], w, w, 1e-5)
    ours = ow.ops.aten.native_layer_norm_backward.default(g, x, [4], mean, rstd, w, w, mask)
    theirs = torch.ops.aten.native_layer_norm_backward.default(
        twin(g), twin(x), [4], twin(mean), twin(rstd), twin(w), twin(w), mask
    )
    assert [t is not None for t in ours] == mask
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            close(array(a), array(b), "nn, gradients")


def test_layer_norm_without_a_gradient_for_the_input() -> None:
    x, w = tensor(3, 4).detach(), tensor(4)
    same(
        lambda x, w: ow.nn.functional.layer_norm(x, [4], w),
        lambda x, w: torch.nn.functional.layer_norm(x, [4], w),
        [x, w],
    )


@pytest.mark.parametrize("affine", [False, True])
def test_rms_norm(affine: bool) -> None:
    args = [tensor(2, 3, 4)] + ([tensor(4, seed=1)] if affine else [])
    same(
        lambda x, *w: ow.nn.functional.rms_norm(x, [4], *w, eps=1e-5),
        lambda x, *w: torch.nn.functional.rms_norm(x, [4], *w, eps=1e-5),
        args, difference="nn, gradients through norms",
    )  # fmt: skip


# ---- losses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_mse_loss(reduction: str) -> None:
    args = tensor(3, 4), tensor(3, 4, seed=1)
    same(
        lambda a, b: ow.nn.functional.mse_loss(a, b, reduction=reduction),
        lambda a, b: torch.nn.functional.mse_loss(a, b, reduction=reduction),
        args,
    )


CLASSES = ow.from_numpy(np.array([1, 0, 4, 2]))


@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy_loss"])
@pytest.mark.parametrize("ignored", [-100, 0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_classification_losses(name: str, reduction: str, weighted: bool, ignored: int) -> None:
    weight = ow.from_numpy(np.array([0.5, 1.5, 2.0, 0.0, 1.0])) if weighted else None

    def loss(module: Any, target: Any, weight: Any) -> Callable[..., Any]:
        fn = getattr(module.ops.aten, name)
        return lambda x: fn(x, target, weight, ["none", "mean", "sum"].index(reduction), ignored)

    x = tensor(4, 5)
    same(loss(ow, CLASSES, weight), loss(torch, twin(CLASSES), twin(weight)), [x])
    assert gradcheck(loss(ow, CLASSES, weight), x)
    assert gradgradcheck(loss(ow, CLASSES, weight), x, fast_mode=True)


def test_one_example_without_a_batch() -> None:
    target = ow.from_numpy(np.array(3))
    same(
        lambda x: ow.nn.functional.cross_entropy(x, target),
        lambda x: torch.nn.functional.cross_entropy(x, twin(target)),
        [tensor(5)],
    )


def test_a_loss_that_ignores_every_row_gives_no_gradient() -> None:
    target = ow.from_numpy(np.full(4, 2))
    x = tensor(4, 5)
    ow.ops.aten.nll_loss(x, target, None, 1, 2).backward()
    np.testing.assert_array_equal(array(x.grad), np.zeros((4, 5)))


def test_class_weights_have_no_gradient_and_say_so() -> None:
    weight = tensor(5)
    loss = ow.ops.aten.nll_loss(tensor(4, 5), CLASSES, weight)
    with pytest.raises(AutogradError, match="class weights"):
        loss.backward()


# ---- attention and dropout -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["plain", "causal", "scaled", "bool mask", "float mask"])
def test_attention(case: str) -> None:
    q, k, v = tensor(2, 3, 4), tensor(2, 5, 4, seed=1), tensor(2, 5, 6, seed=2)
    extra: list[ow.Tensor] = []
    if case == "bool mask":
        extra = [ow.from_numpy(np.arange(15).reshape(3, 5) % 3 != 0)]
    elif case == "float mask":
        extra = [tensor(3, 5, seed=3)]
    options = {"causal": {"is_causal": True}, "scaled": {"scale": 0.3}}.get(case, {})
    order = 1 if case == "float mask" else 2
    same(
        lambda *t: ow.nn.functional.scaled_dot_product_attention(*t, **options),
        lambda *t: torch.nn.functional.scaled_dot_product_attention(*t, **options),
        [q, k, v, *extra], order=order, difference="nn, gradients of attention",
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["bool", "float"])
def test_rows_that_a_mask_leaves_empty_have_no_gradient(kind: str) -> None:
    mask = np.ones((3, 5), bool)
    mask[1] = False
    given = ow.from_numpy(mask if kind == "bool" else np.where(mask, 0.0, -np.inf))
    q, k, v = tensor(3, 4), tensor(5, 4, seed=1), tensor(5, 6, seed=2)
    out = ow.nn.functional.scaled_dot_product_attention(q, k, v, given)
    found = grad(out.sum(), [q, k, v])
    assert all(np.isfinite(array(g)).all() for g in found)
    assert (array(found[0])[1] == 0).all() and (array(found[0])[0] != 0).any()


def test_dropout_passes_the_gradient_of_what_it_kept() -> None:
    x = tensor(200)
    out = ow.nn.functional.dropout(x, 0.25)
    out.sum().backward()
    kept = array(out) != 0
    assert 0.5 < kept.mean() < 0.95
    close(array(x.grad), np.where(kept, 1 / 0.75, 0), "dropout")


def test_dropout_of_everything_and_of_nothing() -> None:
    x = tensor(5)
    (found,) = grad(ow.nn.functional.dropout(x, 1.0).sum(), x)
    assert (array(found) == 0).all()
    (found,) = grad(ow.nn.functional.dropout(x, 0.5, training=False).sum(), x)
    assert (array(found) == 1).all()


# ---- a small network -----------------------------------------------------------------------------------------------


def test_a_network_of_them() -> None:
    def network(module: Any, target: Any) -> Callable[..., Any]:
        f = module.nn.functional

        def run(x: Any, w1: Any, b1: Any, w2: Any, gain: Any) -> Any:
            hidden = f.layer_norm(f.linear(x, w1, b1), [8], gain)
            return f.cross_entropy(f.linear(module.tanh(hidden), w2), target)

        return run

    args = [tensor(4, 3), tensor(8, 3, seed=1), tensor(8, seed=2), tensor(5, 8, seed=3), tensor(8, seed=4)]
    same(network(ow, CLASSES), network(torch, twin(CLASSES)), args, difference="nn, gradients through norms")
