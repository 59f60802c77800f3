"""Ways to call methods and functions that packages for PyTorch use."""

import pickle
import warnings

import numpy as np
import pytest
import torch
from oracle import close

import opweave

#: Functions that take None for no dimension in particular, and some that do not.
WITHOUT_A_DIMENSION = [
    "amin", "amax", "sum", "mean", "std", "var", "argmax", "argmin", "any", "all", "count_nonzero", "nansum", "nanmean",
    "logsumexp", "median", "prod", "cumsum", "flip", "mode", "softmax", "quantile",
]  # fmt: skip


@pytest.mark.parametrize("name", WITHOUT_A_DIMENSION)
def test_no_dimension_in_particular(name):
    x = np.arange(6.0).reshape(2, 3)
    for call in (lambda m: getattr(m, name)(m.tensor(x), dim=None), lambda m: getattr(m, name)(m.tensor(x), None)):
        try:
            wanted = call(torch)
        except TypeError:
            with pytest.raises(TypeError):
                call(opweave)
        else:
            close(call(opweave).numpy(), wanted.numpy(), "distributions", name)


def test_the_elements_of_a_dense_tensor():
    for m in (opweave, torch):
        x = m.ones(2, requires_grad=True)
        assert x.to_dense() is x
        assert x.to_dense(dtype=m.float64).dtype is m.float64
        x.to_dense(m.float64).sum().backward()
        assert x.grad.tolist() == [1.0, 1.0] and x.grad.dtype is m.float32


def test_the_type_of_tensors_that_none_is_said_for():
    for m in (opweave, torch):
        assert m.tensor([True, False]).type(m.Tensor).dtype is m.float32
        m.set_default_dtype(m.float64)
        try:
            assert m.tensor([True, False]).type(m.Tensor).tolist() == [1.0, 0.0]
            assert m.tensor([1]).type(m.Tensor).dtype is m.float64
        finally:
            m.set_default_dtype(m.float32)


@pytest.mark.parametrize("m", [opweave, torch], ids=["opweave", "torch"])
def test_a_module_whose_to_moves_by_cpu(m):
    class Mine(m.nn.Linear):
        def to(self, device):
            return self.cpu()

    assert Mine(2, 1).to("cpu").weight.device.type == "cpu"


class Wrapping(opweave.nn.Module):
    """Attributes that it lacks are those of the module inside."""

    def __init__(self, base):
        super().__init__()
        self.base = base

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.base, name)


def test_a_module_that_looks_into_another_is_pickled():
    found = pickle.loads(pickle.dumps(Wrapping(opweave.nn.Linear(2, 3))))
    assert found.out_features == 3


def test_draws_are_written_to_any_type():
    for m in (opweave, torch):
        for dtype in (m.bool, m.int64, m.float64):
            out = m.empty(3, dtype=dtype)
            assert m.bernoulli(m.tensor([0.0, 1.0, 1.0]), out=out) is out
            assert [float(x) for x in out.tolist()] == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("m", [opweave, torch], ids=["opweave", "torch"])
def test_hooks_of_a_module_are_found_where_packages_look(m):
    def before(module, args, kwargs=None):
        return None

    def after(*given):
        return None

    module = m.nn.Linear(2, 1)
    module.register_forward_pre_hook(before)
    module.register_forward_hook(after)
    numbers = [module.register_forward_hook(after, with_kwargs=True).id]
    numbers.append(module.register_forward_hook(after, always_call=True).id)
    module.register_forward_pre_hook(before, with_kwargs=True)
    assert list(module._forward_pre_hooks.values()) == [before, before]
    assert list(module._forward_hooks.values()) == [after] * 3
    assert [*module._forward_hooks_with_kwargs] == numbers[:1]
    assert [*module._forward_hooks_always_called] == numbers[1:]
    assert module(m.ones(2)).shape == (1,)
    del module._forward_hooks[numbers[0]]
    assert module(m.ones(2)).shape == (1,)


#: Calls with factors before the tensors, as packages of some age have them.
OLDER = [
    "x.add(2, x)", "m.add(x, 2, x)", "x.clone().add_(2, x)", "x.sub(2, x)", "m.sub(x, 2, x)", "x.addcmul(2, x, x)",
    "m.addcmul(x, 2, x, x)", "x.clone().addcmul_(-2, x, x)", "x.addcdiv(2, x, x)", "x.clone().addcdiv_(-2, x, x)",
    "a.addmm(2, a, a)", "a.addmm(2, 3, a, a)", "m.addmm(2, a, 3, a, a)", "m.addmm(2, a, a, a)",
    "a.clone().addmm_(2, 3, a, a)", "x.addmv(2, a, x)", "m.addmv(2, x, 3, a, x)", "a.addr(2, 3, x, x)",
    "m.addr(2, a, x, x)", "a.addbmm(2, a[None], a[None])", "m.baddbmm(2, a[None], 3, a[None], a[None])",
    "m.add(x, alpha=2, other=x)", "x.add(0.5, x[:1])",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("call", OLDER)
def test_factors_before_tensors(call):
    found = []
    for m in (opweave, torch):
        x, a = m.tensor([1.5, -2.0], requires_grad=True), m.arange(4.0).reshape(2, 2)
        result = eval(call, {"m": m, "x": x, "a": a})
        if "x" in call:
            result.sum().backward()
        found.append([result.detach().numpy(), *([x.grad.numpy()] if x.grad is not None else [])])
    for mine, theirs in zip(*found, strict=True):
        close(mine, theirs, "distributions", call)


def test_factors_before_tensors_of_many_calls():
    with pytest.warns(UserWarning, match="deprecated: give alpha=2 by name"):
        opweave.ones(2).add_(2, opweave.ones(2))
    x = opweave.zeros(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(300):
            x.add_(i, opweave.ones(3))
    assert x.tolist() == [sum(range(300))] * 3


def test_gradients_that_are_recorded_are_tensors_of_their_own():
    for m in (opweave, torch):
        x, g = m.ones(2, 3, requires_grad=True), m.ones(3, 2, requires_grad=True)
        x.t().backward(g, create_graph=True)
        assert not x.grad._is_view() and x.grad.stride() == (3, 1) and x.grad.requires_grad
        y, given = m.ones(2, requires_grad=True), m.ones(2)
        y.view(2).backward(given, create_graph=True)
        y.grad.detach().zero_()
        assert given.tolist() == [1.0, 1.0]
        w = m.ones(2, 3, requires_grad=True)
        (m.ones(1, 3) @ w.t()).pow(2).sum().backward(create_graph=True)
        assert w.grad.detach_() is w.grad and not w.grad.requires_grad


def test_parts_of_complex_numbers_are_assigned():
    for m in (opweave, torch):
        x = m.tensor([1 + 2j, 3 - 4j])
        x.imag = 0.0
        assert x.tolist() == [1, 3]
        x[..., 0].real = m.tensor(5.0)
        assert x.tolist() == [5, 3]
        y, w = m.ones(2), m.tensor([2.0, 3.0], requires_grad=True)
        y.real = w * 2
        y.sum().backward()
        assert y.tolist() == [4.0, 6.0] and w.grad.tolist() == [2.0, 2.0]
        with pytest.raises(RuntimeError):
            y.imag = 1.0


def test_a_view_as_numbers_of_python():
    for m in (opweave, torch):
        x = m.tensor([1.0, -2.0], dtype=m.float64)
        assert x.view(int).dtype is m.int64 and x.view(int).view(float).tolist() == [1.0, -2.0]
        with pytest.raises((TypeError, RuntimeError)):
            x.view(str)


def test_types_of_devices_are_read_from_an_error():
    for m in (opweave, torch):
        with pytest.raises(RuntimeError) as caught:
            m.device("notadevice")
        names = caught.value.args[0].split("Expected one of ")[1].split(" device type")[0].split(", ")
        assert {"cpu", "cuda", "meta"} <= set(names)


@pytest.mark.parametrize("kind", [bool, int, float, complex])
def test_types_of_python_as_dtypes(kind):
    for call in (
        lambda m: m.zeros(2, dtype=kind), lambda m: m.ones(2).to(kind), lambda m: m.tensor([1], dtype=kind),
        lambda m: m.ones(2).sum(dtype=kind), lambda m: m.ones_like(m.ones(2), dtype=kind),
        lambda m: m.full((2,), 1, dtype=kind), lambda m: m.asarray([1], dtype=kind),
    ):  # fmt: skip
        assert str(call(opweave).dtype).partition(".")[2] == str(call(torch).dtype).partition(".")[2]
