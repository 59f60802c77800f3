"""Ways to call methods and functions that packages for PyTorch use."""

import pickle

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
