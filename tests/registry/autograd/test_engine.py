"""Backward passes: what they accumulate, keep, refuse, and in which order hooks see gradients."""

from __future__ import annotations

import collections
import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import opweave as ow
from opweave.autograd import backward, grad
from opweave.autograd.graph import saved_tensors_hooks
from opweave.registry.errors import ArgumentError, AutogradError
from opweave.registry.keys import DispatchMode


def leaf(*values: float, dtype: Any = np.float64) -> ow.Tensor:
    return ow.from_numpy(np.array(values, dtype)).requires_grad_()


def plain(*values: float) -> ow.Tensor:
    return ow.from_numpy(np.array(values, np.float64))


def close(t: ow.Tensor | None, *expected: float) -> None:
    assert t is not None
    np.testing.assert_allclose(t.detach().numpy(), np.array(expected))


# ---- what is accumulated -------------------------------------------------------------------------------------------


def test_backward_adds_to_grad_each_time() -> None:
    x = leaf(1, 2)
    (x * x).sum().backward()
    close(x.grad, 2, 4)
    first = x.grad
    (x * 3).sum().backward()
    close(x.grad, 5, 7)
    assert x.grad is first  # in place, as PyTorch does


def test_grad_can_be_reset_and_set() -> None:
    x = leaf(1, 2)
    (x * x).sum().backward()
    x.grad = None
    (x * x).sum().backward()
    close(x.grad, 2, 4)
    x.grad = plain(10, 20)
    (x * x).sum().backward()
    close(x.grad, 12, 24)
    with pytest.raises(AutogradError, match="shape"):
        x.grad = plain(1, 2, 3)


def test_accumulated_gradients_are_nobody_elses() -> None:
    x, y = leaf(1, 2), leaf(3, 4)
    given = plain(1, 1)
    (x + y).backward(given)
    assert x.grad is not y.grad and x.grad is not given
    (x * 2).sum().backward()
    close(x.grad, 3, 3)
    close(y.grad, 1, 1)
    close(given, 1, 1)


def test_the_given_gradient_is_not_written_through_a_view_or_through_inputs() -> None:
    x = leaf(1, 2)
    given = plain(1, 1)
    backward(x.view(2), given, inputs=[x])
    (x * 2).sum().backward()
    close(x.grad, 3, 3)
    close(given, 1, 1)


def test_two_outputs_at_once_and_one_that_leads_to_the_other() -> None:
    x = leaf(1, 2)
    y = x * x
    z = y * 3
    backward([y.sum(), z.sum()])
    close(x.grad, 8, 16)
    y = x * x
    (found,) = grad([y, y * 3], x, [plain(1, 1), plain(10, 10)])
    close(found, 62, 124)


def test_an_output_given_twice_counts_twice() -> None:
    x = leaf(2)
    y = x * x
    backward([y, y], [plain(1), plain(10)])
    close(x.grad, 44)


def test_a_leaf_as_output() -> None:
    x = leaf(3)
    x.backward()
    close(x.grad, 1)
    (found,) = grad(x, x)
    close(found, 1)


def test_a_diamond_sums_before_it_goes_on() -> None:
    x = leaf(2)
    y = x * x
    seen = []
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 3 + y * 4).sum().backward()
    close(x.grad, 28)
    assert seen == [7.0]


def test_gradients_are_summed_over_broadcast_dimensions_and_cast() -> None:
    x, y = leaf(1, 2, 3), ow.from_numpy(np.ones((2, 3), np.float32)).requires_grad_()
    s = ow.from_numpy(np.array(2.0, np.float32)).requires_grad_()
    (x * y * s).sum().backward()
    close(x.grad, 4, 4, 4)
    assert y.grad.dtype is ow.float32 and s.grad.dtype is ow.float32 and s.grad.shape == ()
    assert s.grad.item() == 12


# ---- arguments -----------------------------------------------------------------------------------------------------


def test_only_a_one_element_output_has_an_implicit_gradient() -> None:
    x = leaf(1, 2)
    with pytest.raises(AutogradError, match="one-element"):
        (x * 2).backward()
    (leaf(5).view(1, 1) * 2).backward()


def test_shape_and_dtype_of_given_gradients() -> None:
    x = leaf(1, 2)
    with pytest.raises(AutogradError, match="shape"):
        (x * 2).backward(plain(1, 2, 3))
    with pytest.raises(ArgumentError):
        backward([x * 2, x * 3], [plain(1, 2)])
    with pytest.raises(AutogradError, match="real"):
        (x * 2).backward(ow.from_numpy(np.ones(2) + 1j))
    (found,) = grad(x * 2, x, ow.from_numpy(np.ones(2, np.float32)))
    assert found.dtype is ow.float64
    with pytest.raises(ArgumentError):
        (x * 2).backward([1.0, 1.0])


def test_a_complex_output_needs_a_gradient() -> None:
    x = ow.from_numpy(np.array([1 + 2j])).requires_grad_()
    with pytest.raises(AutogradError, match="complex"):
        (x * x).backward()


def test_what_does_not_require_grad() -> None:
    x = leaf(1)
    with pytest.raises(AutogradError, match="does not require grad"):
        plain(1).backward()
    with pytest.raises(AutogradError, match="does not require grad"):
        grad(x * 2, plain(1))


def test_unused_inputs() -> None:
    x, y = leaf(1), leaf(2)
    with pytest.raises(AutogradError, match="not used"):
        grad(x * 2, [x, y])
    found = grad(x * 2, [x, y], allow_unused=True)
    close(found[0], 2)
    assert found[1] is None
    found = grad(x * 2, [x, y], materialize_grads=True)
    close(found[1], 0)
    with pytest.raises(ArgumentError):
        grad(x * 2, [x, y], materialize_grads=True, allow_unused=False)
    assert x.grad is None and y.grad is None


def test_grad_of_what_lies_between() -> None:
    x = leaf(2)
    y = x * x
    z = y * y
    found = grad(z, [y, x, z])
    close(found[0], 8)
    close(found[1], 32)
    close(found[2], 1)
    assert x.grad is None


class Seen(DispatchMode):
    """How often each op is called."""

    def __init__(self) -> None:
        self.calls: collections.Counter[str] = collections.Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls[func.opname] += 1
        return func(*args, **(kwargs or {}))


def test_only_what_is_asked_for_is_computed() -> None:
    x, w, b = (ow.from_numpy(np.random.default_rng(k).random(s)).requires_grad_() for k, s in enumerate([(2, 3)] * 3))
    y = x.mm(w.t()) + b.sum()
    parts = ow.stack([y, y * b[0, 0]]).sum()
    for asked, products in (([x], 1), ([w], 1), ([b], 0), ([x, w, b], 2)):
        with Seen() as seen:
            found = grad(parts, asked, retain_graph=True)
        assert seen.calls["mm"] == products
        every = dict(zip((id(x), id(w), id(b)), grad(parts, [x, w, b], retain_graph=True), strict=True))
        for t, one in zip(asked, found, strict=True):
            np.testing.assert_array_equal(one.numpy(), every[id(t)].numpy())


def test_backward_with_inputs_leaves_the_others_alone() -> None:
    x, y = leaf(2), leaf(3)
    seen = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.item()))
    backward(x * y, inputs=[x])
    close(x.grad, 3)
    assert y.grad is None and seen == [3.0]
    backward(x * y, inputs=x)
    close(x.grad, 6)
    with pytest.raises(AutogradError):
        backward(x * y, inputs=[])


def test_backward_with_an_input_that_is_no_leaf() -> None:
    x = leaf(2)
    y = x * x
    backward(y * 3, inputs=[y])
    close(y.grad, 3)
    assert x.grad is None


# ---- how long the graph lives --------------------------------------------------------------------------------------


def test_a_second_backward_needs_the_graph_retained() -> None:
    x = leaf(2)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    close(x.grad, 8)
    with pytest.raises(AutogradError, match="second time"):
        y.backward()


def test_what_was_saved_is_let_go() -> None:
    x = leaf(2)
    kept = plain(5)
    y = x * kept
    gone = weakref.ref(kept)
    del kept
    assert gone() is not None
    y.backward()
    assert gone() is None


def test_the_graph_dies_without_the_garbage_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(2)
        y = (x * x).exp()
        node = weakref.ref(y.grad_fn)
        del y
        assert node() is None
    finally:
        gc.enable()


def test_create_graph_makes_higher_derivatives() -> None:
    x = leaf(3)
    y = x * x * x
    (first,) = grad(y, x, create_graph=True)
    (second,) = grad(first, x, create_graph=True)
    (third,) = grad(second, x)
    close(first, 27)
    close(second, 18)
    close(third, 6)
    assert not third.requires_grad


def test_backward_with_create_graph_gives_a_grad_with_history() -> None:
    x = leaf(3)
    (x * x).backward(create_graph=True)
    assert x.grad.requires_grad
    (second,) = grad(x.grad, x)
    close(second, 2)


def test_writing_to_what_was_saved_is_refused() -> None:
    x, y = leaf(1, 2), plain(3, 4)
    z = x * y
    y.add_(1)
    with pytest.raises(AutogradError, match="modified by an in-place"):
        z.sum().backward()
    z = x + y
    y.add_(1)
    z.sum().backward()  # nothing was saved


def test_writing_to_a_saved_result_is_refused() -> None:
    x = leaf(1, 2)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(AutogradError, match="modified by an in-place"):
        y.sum().backward()


def test_leaves_are_not_written_in_place() -> None:
    x = leaf(1, 2)
    with pytest.raises(AutogradError, match="leaf"):
        x.add_(1)
    with pytest.raises(AutogradError, match="leaf"):
        x.view(2).add_(1)
    with ow.no_grad():
        x.add_(1)
    close(x, 2, 3)
    assert x.requires_grad and x.is_leaf


# ---- hooks ---------------------------------------------------------------------------------------------------------


def test_tensor_hooks_run_in_order_and_change_the_gradient() -> None:
    x = leaf(1, 2)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(("first", g.numpy().tolist())))
    y.register_hook(lambda g: g * 10)
    last = y.register_hook(lambda g: seen.append(("last", g.numpy().tolist())))
    y.sum().backward(retain_graph=True)
    assert seen == [("first", [1, 1]), ("last", [10, 10])]
    close(x.grad, 20, 20)
    last.remove()
    last.remove()
    y.sum().backward()
    assert len(seen) == 3


def test_a_hook_on_a_leaf_sees_the_whole_gradient() -> None:
    x = leaf(2)
    seen = []
    x.register_hook(lambda g: seen.append(g.item()))
    with x.register_hook(lambda g: g + 1):
        (x * 3 + x * 4).backward()
    close(x.grad, 8)
    (found,) = grad(x * 5, x)
    close(found, 5)
    assert seen == [7.0, 5.0]


def test_a_hook_must_keep_shape_and_dtype() -> None:
    x = leaf(1, 2)
    handle = x.register_hook(lambda g: g.sum())
    with pytest.raises(AutogradError, match="hook"):
        (x * 2).sum().backward()
    handle.remove()
    x.register_hook(lambda g: 3.0)
    with pytest.raises(AutogradError, match="hook"):
        (x * 2).sum().backward()


def test_retained_gradients_are_those_after_the_hooks() -> None:
    x = leaf(2)
    y = x * x
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 100,))
    y.backward()
    assert y.retains_grad
    close(y.grad, 3)
    close(x.grad, 1200)


def test_node_hooks() -> None:
    x, y = leaf(2), leaf(5)
    z = x * y
    seen = []

    def after(inputs: Any, outputs: Any) -> Any:
        seen.append(([g.item() for g in inputs], [g.item() for g in outputs]))
        return inputs[0] * 10, inputs[1]

    z.grad_fn.register_prehook(lambda gs: (gs[0] * 2,))
    handle = z.grad_fn.register_hook(after)
    z.backward(retain_graph=True)
    close(x.grad, 100)
    close(y.grad, 4)
    assert seen == [([10.0, 4.0], [2.0])]
    handle.remove()
    z.backward()
    close(x.grad, 110)


def test_hooks_on_the_accumulator_of_a_leaf() -> None:
    x = leaf(2)
    y = x * 3
    seen = []
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_hook(lambda inputs, outputs: seen.append((inputs, outputs[0].item(), x.grad.item())))
    y.backward()
    assert seen == [((), 3.0, 3.0)]


def test_hooks_after_accumulation() -> None:
    x = leaf(2)
    seen = []

    def step(t: ow.Tensor) -> None:
        seen.append(t.grad.item())
        t.grad = None

    handle = x.register_post_accumulate_grad_hook(step)
    (x * 3).backward()
    assert seen == [3.0] and x.grad is None
    handle.remove()
    (x * 3).backward()
    close(x.grad, 3)
    with pytest.raises(AutogradError):
        (x * 2).register_post_accumulate_grad_hook(step)


def test_hooks_need_a_gradient_to_wait_for() -> None:
    with pytest.raises(AutogradError):
        plain(1).register_hook(lambda g: None)
    with pytest.raises(AutogradError):
        plain(1).retain_grad()


def test_a_hook_may_run_backward_itself() -> None:
    x, y = leaf(2), leaf(3)

    @ow.enable_grad()
    def hook(g: ow.Tensor) -> None:
        (y * y).backward()

    x.register_hook(hook)
    (x * 5).backward()
    close(x.grad, 5)
    close(y.grad, 6)


# ---- grad modes ----------------------------------------------------------------------------------------------------


def test_no_grad_as_context_and_decorator() -> None:
    x = leaf(1)
    with ow.no_grad():
        assert not ow.is_grad_enabled()
        y = x * 2
        with ow.enable_grad():
            z = x * 2
    assert not y.requires_grad and y.is_leaf and z.requires_grad
    assert ow.is_grad_enabled()

    @ow.no_grad()
    def f() -> bool:
        return (x * 2).requires_grad

    @ow.no_grad
    def g() -> bool:
        return (x * 2).requires_grad

    @ow.enable_grad()
    def h() -> bool:
        return (x * 2).requires_grad

    assert not f() and not g()
    with ow.no_grad():
        assert h()
    assert f.__name__ == "f"


def test_modes_end_with_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), ow.no_grad():
        1 / 0
    assert ow.is_grad_enabled()


def test_set_grad_enabled_in_every_way() -> None:
    x = leaf(1)
    ow.set_grad_enabled(False)
    try:
        assert not (x * 2).requires_grad
    finally:
        ow.set_grad_enabled(True)
    with ow.set_grad_enabled(False):
        assert not ow.is_grad_enabled()
    assert ow.is_grad_enabled()

    @ow.set_grad_enabled(False)
    def f() -> bool:
        return (x * 2).requires_grad

    assert ow.is_grad_enabled() and not f()
    with ow.no_grad():
        assert not f() and not ow.is_grad_enabled()
    assert not f() and ow.is_grad_enabled()


def test_a_decorated_generator_does_not_leak_its_mode() -> None:
    x = leaf(1)

    @ow.no_grad()
    def steps() -> Any:
        got = yield (x * 2).requires_grad
        yield got, (x * 2).requires_grad
        return "end"

    generator = steps()
    assert next(generator) is False and ow.is_grad_enabled()
    assert generator.send("sent") == ("sent", False) and ow.is_grad_enabled()
    with pytest.raises(StopIteration) as stopped:
        next(generator)
    assert stopped.value.value == "end" and ow.is_grad_enabled()


def test_modes_belong_to_a_thread() -> None:
    seen = []
    with ow.no_grad():
        thread = threading.Thread(target=lambda: seen.append(ow.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_backward_does_not_record_itself() -> None:
    x = leaf(2)
    seen = []
    y = x * x
    y.register_hook(lambda g: seen.append(ow.is_grad_enabled()))
    y.backward(retain_graph=True)
    grad(y, x, create_graph=True)
    assert seen == [False, True]
    with ow.no_grad():
        (found,) = grad((y,), x, create_graph=True)
    assert found.requires_grad


def test_inference_mode() -> None:
    x = leaf(1, 2)
    with ow.inference_mode():
        assert ow.is_inference_mode_enabled() and not ow.is_grad_enabled()
        made = x * 2
        made.add_(1)
        with ow.inference_mode(False):
            assert not ow.is_inference_mode_enabled() and ow.is_grad_enabled()
            assert (x * 2).requires_grad
        assert ow.is_inference_mode_enabled()
    assert not ow.is_inference_mode_enabled()
    assert made.is_inference() and not made.requires_grad and not x.is_inference()
    with pytest.raises(AutogradError, match="inference"):
        x * made
    with pytest.raises(AutogradError, match="inference"):
        made.requires_grad_()
    assert (x + made).requires_grad  # nothing is saved
    assert (x * made.clone()).requires_grad


def test_inference_mode_as_decorator() -> None:
    @ow.inference_mode
    def f() -> ow.Tensor:
        return plain(1) * 2

    @ow.inference_mode()
    def g() -> ow.Tensor:
        return plain(1) * 2

    assert f().is_inference() and g().is_inference()


def test_grad_of_detached_and_required_again() -> None:
    x = leaf(3)
    y = (x * x).detach().requires_grad_()
    (y * 2).backward()
    close(y.grad, 2)
    assert x.grad is None
    with pytest.raises(AutogradError, match="floating"):
        ow.from_numpy(np.array([1])).requires_grad_()
    with pytest.raises(AutogradError, match="leaves"):
        (x * 2).requires_grad_(False)


# ---- saved tensors -------------------------------------------------------------------------------------------------


def test_saved_tensors_can_be_packed() -> None:
    x, y = leaf(2), leaf(5)
    packed = []

    def pack(t: ow.Tensor) -> Any:
        packed.append(t.detach().numpy().copy())
        return packed[-1]

    with saved_tensors_hooks(pack, ow.from_numpy):
        z = (x * y).exp()
    grads = grad(z, [x, y])
    assert len(packed) == 3
    close(grads[0], 5 * np.exp(10))
    close(grads[1], 2 * np.exp(10))


def test_packed_results_are_differentiated_again() -> None:
    x = leaf(0.5)
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x.exp()
        (first,) = grad(y, x, create_graph=True)
    (second,) = grad(first, x)
    close(second, np.exp(0.5))


# ---- size and threads ----------------------------------------------------------------------------------------------


def test_a_deep_graph_neither_recurses_nor_overflows_when_it_goes() -> None:
    assert sys.getrecursionlimit() < 10_000
    x = leaf(1)
    y = x
    for _ in range(10_000):
        y = y + x
    y.backward()
    close(x.grad, 10_001)
    for _ in range(10_000):
        y = y * 1.0
    del y
    gc.collect()


def test_a_wide_graph() -> None:
    x = leaf(1)
    total = x * 0
    for k in range(500):
        total = total + x * k
    total.backward()
    close(x.grad, sum(range(500)))


def test_threads_run_backward_by_themselves() -> None:
    shared = leaf(1)
    wrong = []

    def work(k: int) -> None:
        x = leaf(float(k))
        for _ in range(20):
            x.grad = None
            y = x * x * shared
            with ow.no_grad():
                _ = x * x
            y.backward()
            if x.grad.item() != 2 * k:
                wrong.append((k, x.grad.item()))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    close(shared.grad, 20 * sum(k * k for k in range(1, 5)))


def test_outputs_without_a_gradient_count_as_zero() -> None:
    x = ow.from_numpy(np.array([[3.0, 1.0], [2.0, 5.0]])).requires_grad_()
    layer_norm = ow.ops.aten.native_layer_norm.default
    _, mean, rstd = layer_norm(x, [2], None, None, 0.0)
    (found,) = grad(mean.sum(), x, retain_graph=True)
    np.testing.assert_allclose(found.numpy(), np.full((2, 2), 0.5))
    (found,) = grad(rstd.sum(), x)
    np.testing.assert_allclose(found.numpy(), [[-0.5, 0.5], [2 / 9, -2 / 9]])
