"""NaN in a backward pass is told with the line of the forward call; edges, and hooks on several gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opweave
from opweave import Tensor, autograd
from opweave.autograd.graph import get_gradient_edge, register_multi_grad_hook
from opweave.registry.errors import ArgumentError, AutogradError


def line_of(function: Callable[..., Any], offset: int) -> str:
    return f"test_anomaly.py:{function.__code__.co_firstlineno + offset} in {function.__name__}"


def root(x: Tensor) -> Tensor:
    y = x * 2
    return y.sqrt()


@pytest.mark.parametrize("function", [root, opweave.compile(root)], ids=["eager", "compiled"])
def test_nan_names_the_forward_call(function: Callable[[Tensor], Tensor]) -> None:
    x = opweave.tensor([-1.0, 4.0], requires_grad=True)
    for _ in range(3):
        with autograd.detect_anomaly(), pytest.raises(AutogradError, match="'SqrtBackward0' returned nan") as info:
            function(x).sum().backward()
        assert str(info.value.at) == line_of(root, 2)
    assert x.grad is None
    function(x).sum().backward()  # and nothing is looked for outside
    assert np.isnan(x.grad.numpy()[0])


def test_nan_of_calls_that_native_code_would_replay() -> None:
    x = opweave.tensor([-1.0, 4.0], requires_grad=True)
    for _ in range(1200):
        x.sqrt()
    with autograd.detect_anomaly(), pytest.raises(AutogradError, match="SqrtBackward0") as info:
        x.sqrt().sum().backward()
    assert "test_anomaly.py" in str(info.value.at)


def test_nan_of_a_function_and_in_a_second_derivative() -> None:
    class Bad(autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            return grad * float("nan")

    x = opweave.tensor([0.0, 1.0], requires_grad=True)
    with autograd.detect_anomaly(), pytest.raises(AutogradError, match="BadBackward"):
        Bad.apply(x).sum().backward()

    def power(x: Tensor) -> Tensor:
        return (x.abs() ** 1.5).sum()

    with autograd.detect_anomaly():
        (grad,) = autograd.grad(power(x), x, create_graph=True)
        with pytest.raises(AutogradError, match="returned nan") as info:
            (grad.log() * grad).sum().backward()  # log(0) · 0
    assert str(info.value.at).startswith("test_anomaly.py:")


def test_only_errors_are_told_without_check_nan() -> None:
    class Fails(autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            raise ValueError("no gradient today")

    x = opweave.tensor([-1.0], requires_grad=True)
    with autograd.detect_anomaly(check_nan=False):
        assert opweave.is_anomaly_enabled()
        assert not opweave.is_anomaly_check_nan_enabled()
        x.sqrt().backward()
        with pytest.raises(ValueError, match="no gradient today") as info:
            Fails.apply(x).backward()
    assert any("forward call: test_anomaly.py" in note for note in info.value.__notes__)


def test_modes_nest_and_end() -> None:
    switch = autograd.set_detect_anomaly(True)
    assert opweave.is_anomaly_enabled()
    with autograd.set_detect_anomaly(False):
        assert not opweave.is_anomaly_enabled()
    assert opweave.is_anomaly_enabled()
    switch.__exit__(None, None, None)
    assert not opweave.is_anomaly_enabled()

    @autograd.detect_anomaly()
    def inside() -> bool:
        return opweave.is_anomaly_enabled()

    assert inside()
    assert not opweave.is_anomaly_enabled()


def test_anomalies_of_a_batch() -> None:
    def loss(x: Tensor) -> Tensor:
        return x.sqrt().sum()

    x = opweave.tensor([[1.0, 4.0], [-1.0, 1.0]])
    with autograd.detect_anomaly():
        assert opweave.vmap(opweave.func.grad(loss))(x.abs()).shape == (2, 2)
        with pytest.raises(AutogradError, match="SqrtBackward0"):
            opweave.vmap(opweave.func.grad(loss))(x)


# ---- edges and hooks -------------------------------------------------------------------------------------------------


def test_hooks_on_several_gradients() -> None:
    a, b = opweave.ones(2, requires_grad=True), opweave.ones(2, requires_grad=True)
    c, d = a * b, a * b
    seen: list[list[bool]] = []
    handle = register_multi_grad_hook((a, b, c, d), lambda grads: seen.append([g is not None for g in grads]))
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    (c + d).sum().backward(retain_graph=True)
    assert seen == [[True, True, True, False], [True, False, True, False], [True, True, True, True]]
    handle.remove()
    c.sum().backward(retain_graph=True)
    assert len(seen) == 3
    firsts: list[list[float]] = []
    with register_multi_grad_hook((a, c), lambda grad: firsts.append(grad.tolist()), mode="any"):
        (c * 3).sum().backward(retain_graph=True)
        (c * 2).sum().backward()
    assert firsts == [[3.0, 3.0], [2.0, 2.0]]
    with pytest.raises(ArgumentError, match="unknown mode"):
        register_multi_grad_hook((a,), print, mode="some")
    with pytest.raises(AutogradError, match="does not require grad"):
        register_multi_grad_hook((opweave.ones(2),), print)


def test_a_hook_waits_for_the_pass_it_is_in() -> None:
    """A pass within a hook is another one."""
    a = opweave.ones(2, requires_grad=True)
    b = a * 2
    seen: list[int] = []
    register_multi_grad_hook((a, b), lambda grads: seen.append(sum(g is not None for g in grads)))

    nested = [b.sum()]

    def inner(grad: Tensor) -> None:
        if nested:
            autograd.grad(nested.pop(), a, retain_graph=True)

    b.register_hook(inner)
    b.sum().backward()
    assert seen == [2, 2]


def test_edges_stand_for_tensors() -> None:
    x = opweave.tensor([2.0, 3.0], requires_grad=True)
    y = x * x
    z = y.exp()
    edge = get_gradient_edge(y)
    assert edge.node is y.grad_fn
    (grad,) = autograd.grad(z.sum(), edge, retain_graph=True)
    assert opweave.equal(grad, z.detach())
    (grad,) = autograd.grad(edge, x, grad_outputs=opweave.ones(2), retain_graph=True)
    assert grad.tolist() == [4.0, 6.0]
    autograd.backward(z.sum(), inputs=[get_gradient_edge(x)], retain_graph=True)
    assert opweave.allclose(x.grad, 2 * x * z)
    with pytest.raises(AutogradError, match="but that of a leaf"):
        autograd.backward(z.sum(), inputs=[edge])
    with pytest.raises(ArgumentError, match="gradient of its own"):
        autograd.grad(edge, x)
    with pytest.raises(AutogradError, match="not used"):
        autograd.grad(x.sum(), edge)
    with pytest.raises(AutogradError, match="does not require grad"):
        get_gradient_edge(opweave.ones(2))
