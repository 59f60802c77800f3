"""What nodes show of what they save, hooks on it, and gradients of tensors that are no leaves."""

from __future__ import annotations

import numpy as np
import pytest

import opweave as ow
from opweave.autograd.graph import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    increment_version,
    save_on_cpu,
    saved_tensors_hooks,
)
from opweave.registry.errors import AutogradError


def leaf() -> ow.Tensor:
    return ow.tensor([0.5, 2.0], requires_grad=True)


def test_nodes_show_what_they_saved() -> None:
    x = leaf()
    y = x.exp()
    assert y.grad_fn._saved_result.tolist() == y.tolist()
    product = x * y
    assert product.grad_fn._saved_other.tolist() == y.tolist()
    for name in ("_saved_nothing", "nothing"):
        assert not hasattr(product.grad_fn, name)
    product.sum().backward()
    with pytest.raises(AutogradError, match="a second time"):
        _ = y.grad_fn._saved_result


def test_saving_in_main_memory() -> None:
    x = leaf()
    with save_on_cpu(pin_memory=True):
        y = (x * x * x).sum()
    y.backward()
    np.testing.assert_array_equal(x.grad.numpy(), 3 * x.detach().numpy() ** 2)


def test_hooks_can_be_refused() -> None:
    def hooked() -> None:
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            pass

    with disable_saved_tensors_hooks("not here"), pytest.raises(AutogradError, match="not here"):
        hooked()
    hooked()


def test_a_retained_gradient_is_a_tensor_of_its_own() -> None:
    x = leaf()
    y = x * 1
    y.retain_grad()
    z = y * 1
    z.register_hook(lambda grad: None)
    y.register_hook(lambda grad: None)
    z.sum().backward()
    assert y.grad.stride() == (1,)
    y.grad.mul_(100)
    assert x.grad.tolist() == [1.0, 1.0]


def written_after(x: ow.Tensor) -> ow.Tensor:
    """sin(2 x) * exp(2 x) + sqrt(2 x), while what each op saved is written to."""
    a = x * 2
    b = a.sin()
    c = a.exp()
    d = b * c
    e = a.sqrt()
    f = d + e
    for t in (a, b, c, e):
        t.mul_(10)
    a[0].zero_()
    return f


def test_what_is_saved_may_be_written_to() -> None:
    x, plain = leaf(), leaf()
    with allow_mutation_on_saved_tensors():
        written_after(x).sum().backward()
    a = plain * 2
    (a.sin() * a.exp() + a.sqrt()).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), plain.grad.numpy(), rtol=1e-6)
    with pytest.raises(AutogradError):
        written_after(leaf()).sum().backward()


def test_what_may_be_written_to_differentiates_twice() -> None:
    x, plain = leaf(), leaf()
    with allow_mutation_on_saved_tensors():
        (first,) = ow.autograd.grad(written_after(x).sum(), x, create_graph=True)
        (second,) = ow.autograd.grad(first.sum(), x)
    a = plain * 2
    (first,) = ow.autograd.grad((a.sin() * a.exp() + a.sqrt()).sum(), plain, create_graph=True)
    (expected,) = ow.autograd.grad(first.sum(), plain)
    np.testing.assert_allclose(second.numpy(), expected.numpy(), rtol=1e-5)


def test_a_tensor_that_several_ops_save_is_copied_once() -> None:
    context = allow_mutation_on_saved_tensors()
    with context:
        x = leaf()
        y = [x.sin(), x.cos(), x * x]
        assert len(context._copies) == 1
    sum(y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos([0.5, 2.0]) - np.sin([0.5, 2.0]) + [1, 4], rtol=1e-6)


def test_a_write_from_elsewhere_is_noted() -> None:
    x = leaf()
    y = x * 2
    z = y.sin()
    increment_version([y])
    with pytest.raises(AutogradError):
        z.sum().backward()
