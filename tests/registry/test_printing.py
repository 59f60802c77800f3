"""Tensors as text; `tests/parity/test_printing_parity.py` compares with PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import opweave as ow
from opweave.registry.errors import ArgumentError


@pytest.fixture(autouse=True)
def options():
    yield
    ow.set_printoptions(profile="default")


def test_one_format_for_all_elements():
    assert repr(ow.tensor([1.0, 20.0, float("nan")])) == "tensor([ 1., 20., nan])"
    assert repr(ow.tensor([0.5, -20.0])) == "tensor([  0.5000, -20.0000])"
    assert repr(ow.tensor([1e-5, 1.0])) == "tensor([1.0000e-05, 1.0000e+00])"
    assert repr(ow.tensor([True, False])) == "tensor([ True, False])"
    assert repr(ow.tensor([[1, -20], [3, 4]])) == "tensor([[  1, -20],\n        [  3,   4]])"
    assert repr(ow.tensor([1 + 2j, 0.5])) == "tensor([1.0000+2.j, 0.5000+0.j])"


def test_what_is_not_the_default_is_told():
    assert repr(ow.tensor([1.5], dtype=ow.float16)) == "tensor([1.5000], dtype=opweave.float16)"
    assert repr(ow.zeros(2, 0)) == "tensor([], size=(2, 0))"
    assert repr(ow.zeros(2, requires_grad=True)) == "tensor([0., 0.], requires_grad=True)"
    assert repr(ow.zeros((), requires_grad=True) * 2) == "tensor(0., grad_fn=<MulBackward0>)"
    assert repr(ow.empty(2, device="meta")) == "tensor(..., device='meta', size=(2,))"


def test_large_tensors_are_shown_in_part():
    assert repr(ow.arange(2000)) == "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])"
    ow.set_printoptions(threshold=5, edgeitems=1)
    assert repr(ow.arange(6)) == "tensor([0,  ..., 5])"
    ow.set_printoptions(profile="full")
    assert "..." not in repr(ow.from_numpy(np.zeros(3000)))


def test_options():
    ow.set_printoptions(precision=1, linewidth=20, sci_mode=False)
    assert repr(ow.tensor([1.25, 3.0, 1e-9])) == "tensor([1.2, 3.0,\n        0.0])"
    assert ow.get_printoptions() == {
        "precision": 1, "threshold": 1000, "edgeitems": 3, "linewidth": 20, "sci_mode": False,
    }  # fmt: skip
    with pytest.raises(ArgumentError, match="unknown profile"):
        ow.set_printoptions(profile="tiny")
