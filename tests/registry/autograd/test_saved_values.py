"""What nodes show of what they save, hooks on it, and gradients of tensors that are no leaves."""

from __future__ import annotations

import numpy as np
import pytest

import opweave as ow
from opweave.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
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
