"""Objects that are no tensors and say what functions are for them: asked with what PyTorch asks with."""

import pytest
import torch

import opweave


class Asked:
    """What it is asked about, and with which arguments."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, args, kwargs or {}


#: Calls with such an object `o` and a tensor `x`, and what is asked about.
CALLS = {
    "torch.linalg.eigh(o)": "torch.linalg.eigh", "torch.linalg.svd(o)": "torch.linalg.svd",
    "torch.linalg.svd(o, full_matrices=False)": "torch.linalg.svd", "torch.linalg.norm(o)": "torch.linalg.norm",
    "torch.isclose(x, o)": "torch.isclose", "torch.allclose(o, x)": "torch.allclose",
    "torch.equal(x, o)": "torch.equal",
    "torch.matmul(x, o)": "torch.matmul", "torch.einsum('ij,jk->ik', o, x)": "torch.einsum",
    "torch.broadcast_tensors(o, x)": "torch.broadcast_tensors", "torch.tensordot(x, o)": "torch.tensordot",
    "torch.meshgrid(o, x)": "torch.meshgrid", "torch.cdist(x, o)": "torch.cdist", "torch.norm(o)": "torch.norm",
    "torch.max(o, 1)": "torch.max", "torch.split(o, 1)": "torch.split", "torch.stack([x, o])": "torch.stack",
    "x.matmul(o)": "torch.Tensor.matmul", "x.add(o)": "torch.Tensor.add", "x.sub(o)": "torch.Tensor.sub",
    "x.masked_fill(o, 0.0)": "torch.Tensor.masked_fill",
    "x + o": "torch.Tensor.add", "x - o": "torch.Tensor.sub", "x * o": "torch.Tensor.mul",
    "x @ o": "torch.Tensor.matmul",
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_what_is_asked_about(call):
    found = []
    for module in (torch, opweave):
        names = {"torch": module, "o": Asked(), "x": module.ones(2, 2)}
        function, args, _ = eval(call, names)
        assert function == eval(CALLS[call], names), function
        assert any(arg is names["o"] for arg in (*args, *(args[0] if isinstance(args[0], (list, tuple)) else ())))
        found.append(len(args))
    assert found[0] == found[1] or "einsum" in call  # whose operands PyTorch writes apart


@pytest.mark.parametrize("module", [opweave, torch], ids=["opweave", "torch"])
def test_an_operator_that_is_declined_is_left_to_the_reflected_one(module):
    class Declines:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

        def __radd__(self, other):
            return "mine"

    assert module.ones(2) + Declines() == "mine"
    with pytest.raises(TypeError):
        module.ones(2) - Declines()
    with pytest.raises(TypeError):
        module.ones(2).sub(Declines())


def test_errors_of_who_is_asked_are_its_own():
    class Refuses:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise NotImplementedError(f"no {func.__name__}")

    for call in (lambda: opweave.equal(opweave.ones(1), Refuses()), lambda: opweave.ones(1) * Refuses()):
        with pytest.raises(NotImplementedError, match=r"^no (equal|mul)$"):
            call()
