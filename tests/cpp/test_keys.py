"""Kernels at the keys above a device, and autograd, in C++."""

import numpy as np
import pytest

import opweave
from opweave import FakeTensorMode, make_fx
from opweave.registry import autocast
from opweave.registry.errors import FakeTensorError, RegistrationError
from opweave.testing import assert_close


@pytest.fixture(scope="module")
def k(ops):
    return ops("keys.cpp", "cppkeys")


def test_an_autograd_kernel_with_a_function(k):
    x = opweave.randn(3, 4, requires_grad=True)
    y = k.square(x)
    assert y.requires_grad and y.grad_fn.name() == "SquareBackward"
    (y * 3).sum().backward()
    assert_close(x.grad, 6 * x.detach())
    assert not k.square(x.detach()).requires_grad
    with opweave.no_grad():
        assert not k.square(x).requires_grad


def test_it_is_differentiated_twice(k):
    x = opweave.randn(3, requires_grad=True)
    (g,) = opweave.autograd.grad(k.square(x).sum(), x, create_graph=True)
    (h,) = opweave.autograd.grad(g.sum(), x)
    assert h.tolist() == [2, 2, 2]


def test_gradients_are_those_of_small_differences(k):
    x = opweave.rand(4, requires_grad=True)
    step = 1e-2
    for i in range(4):
        delta = np.zeros(4, np.float32)
        delta[i] = step
        high, low = (k.square(x.detach() + opweave.from_numpy(s * delta)).sum().item() for s in (1, -1))
        (grad,) = opweave.autograd.grad(k.square(x).sum(), x)
        assert abs((high - low) / (2 * step) - grad[i].item()) < 1e-2


def test_several_outputs_and_options(k):
    x = opweave.randn(2, 3, requires_grad=True)
    values, index = k.sort_both(x)
    assert values.requires_grad and not index.requires_grad
    w = opweave.randn(2, 3)
    (values * w).sum().backward()
    expected = np.zeros((2, 3), np.float32)
    np.put_along_axis(expected, index.numpy(), w.numpy(), -1)
    assert_close(x.grad, opweave.from_numpy(expected))


def test_a_saved_tensor_that_is_written_later_is_noticed(k):
    x = opweave.randn(3, requires_grad=True)
    z = x * 1
    y = k.square(z)
    with opweave.no_grad():
        z.add_(1)
    with pytest.raises(RuntimeError, match=r"modified|written|in place|version"):
        y.sum().backward()


def test_a_composite_kernel_is_differentiated_by_its_ops(k):
    x = opweave.randn(2, 3, requires_grad=True)
    k.composite(x).sum().backward()
    expected = 2 * x.detach().numpy()
    expected[:, 0] += 1
    assert_close(x.grad, opweave.from_numpy(expected))


def test_meta_and_fake_tensors(k):
    assert k.square(opweave.empty(3, 4, device="meta")).shape == (3, 4)
    with FakeTensorMode() as mode:
        x = mode.from_tensor(opweave.randn(5, 6))
        y = k.square(x)
        assert type(y).__name__ == "FakeTensor" and y.shape == (5, 6)
        assert k.composite(x).shape == (5,)


def test_what_is_traced(k):
    x = opweave.randn(3, 4)
    targets = [
        str(n.target) for n in make_fx(lambda x: k.composite(k.square(x)))(x).graph.nodes if n.op == "call_function"
    ]
    assert targets[0] == "cppkeys.square.default"
    assert not any("composite" in t for t in targets) and any("aten.mul" in t for t in targets)


def test_compiled_with_its_gradient(k):
    def f(x):
        return k.composite(k.square(x.sin())).cos()

    compiled = opweave.compile(f, fullgraph=True)
    x = opweave.randn(3, 4, requires_grad=True)
    y = x.detach().clone().requires_grad_()
    assert_close(compiled(x), f(y))
    compiled(x).sum().backward()
    f(y).sum().backward()
    assert_close(x.grad, y.grad)


def test_opcheck(k):
    x = opweave.randn(3, 4, requires_grad=True)
    opweave.library.opcheck(k.square.default, (x,))


def test_a_batching_rule(k):
    x = opweave.randn(2, 3)
    assert_close(opweave.vmap(k.batched)(x), x * 2 + 1)
    assert_close(k.batched(x), x * 2)
    assert_close(opweave.vmap(k.composite)(opweave.ones(2, 3, 4)), opweave.full((2, 3), 5.0))


def test_a_boxed_autograd_kernel(k):
    x = opweave.randn(3)
    before = k.seen()
    assert_close(k.counted(x.requires_grad_()), x.detach() ** 2)
    assert k.seen() == before + 1


def test_a_kernel_that_takes_the_keys(k):
    x = opweave.randn(3)
    assert_close(k.keyed(x.requires_grad_(), 2.0), x.detach() * 2 + 1)
    assert str(k.keyed.default._schema) == "cppkeys::keyed(Tensor x, float by) -> Tensor"


def test_an_autocast_kernel(k):
    x = opweave.randn(3).to(opweave.bfloat16)
    assert k.cast(x).dtype is opweave.bfloat16
    with opweave.autocast("cpu", dtype=opweave.bfloat16):
        assert k.cast(x).dtype is opweave.float32
        assert k.cast(opweave.ones(2, dtype=opweave.int64)).dtype is opweave.int64


def test_a_part_of_an_argument_is_copied(k):
    x = opweave.randn(3, 2)
    part = k.part(x)
    assert part.tolist() == x[1:2].tolist()
    part.zero_()
    assert x[1].tolist() != [0, 0]


def test_guards_and_modes(k):
    x = opweave.randn(3, requires_grad=True)
    assert k.requires_grad(x) and not k.requires_grad(x.detach())
    assert not k.no_grad(x).requires_grad and opweave.is_grad_enabled()
    assert k.grad_mode()
    with opweave.no_grad():
        assert not k.grad_mode()


def test_a_view_is_one_of_the_argument(k):
    x = opweave.randn(2, 3)
    y = k.view_of(x)
    assert y.data_ptr() == x.data_ptr() and y.shape == (3, 2) and y._is_view()
    assert opweave.ops.cppkeys.view_of.default.is_view


def test_missing_rules_say_where_they_are(k):
    with FakeTensorMode() as mode:
        x = mode.from_tensor(opweave.randn(3))
        with pytest.raises(FakeTensorError, match="no rule for tensors without data"):
            k.missing(x)
        with pytest.raises(RegistrationError) as caught:
            k.elsewhere(x)
    text = str(caught.value)
    assert "cppkeys_rules_that_are_not_installed" in text and "pip install cppkeys" in text and "keys.cpp:" in text


def test_the_module_that_a_library_names_is_imported(k, tmp_path, monkeypatch):
    (tmp_path / "cppkeys_rules_that_are_not_installed.py").write_text(
        "import opweave\n\n\n@opweave.library.register_fake('cppkeys::elsewhere')\ndef _(x):\n"
        "    return opweave.empty_like(x)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with FakeTensorMode() as mode:
        assert k.elsewhere(mode.from_tensor(opweave.randn(3))).shape == (3,)


def test_autocast_casts_a_parameter_once(k):
    x, w = opweave.randn(3), opweave.randn(3, requires_grad=True)
    with opweave.autocast("cpu", opweave.bfloat16):
        assert not autocast.thread.casts
        result = k.lower(x, w)
        assert [dtype for _, dtype in autocast.thread.casts] == [opweave.bfloat16]
        assert k.lower(x, w).tolist() == result.tolist() and len(autocast.thread.casts) == 1
        with opweave.no_grad():
            assert k.lower(x, w).tolist() == result.tolist()
    low = w.detach().to(opweave.bfloat16)
    assert result.tolist() == (x.to(opweave.bfloat16) * low + low).tolist()
    result.sum().backward()
    assert w.grad is not None and w.grad.dtype is opweave.float32
