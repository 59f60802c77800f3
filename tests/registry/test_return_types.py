"""Results that have names: what functions of the package and methods give where a schema names its results."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import opweave
from opweave import Tensor
from opweave.registry.return_types import classes

CALLS = {
    "max": lambda x: (opweave.max(x, 1), x.max(1)),
    "min": lambda x: (opweave.min(x, 0, True), x.min(dim=0, keepdim=True)),
    "sort": lambda x: (opweave.sort(x), x.sort(-1)),
    "topk": lambda x: (opweave.topk(x, 2), x.topk(2)),
    "kthvalue": lambda x: (opweave.kthvalue(x, 2), x.kthvalue(2)),
    "aminmax": lambda x: (opweave.aminmax(x), x.aminmax()),
}


@pytest.fixture
def x() -> Tensor:
    return opweave.from_numpy(np.random.default_rng(0).normal(size=(3, 4)))


@pytest.mark.parametrize("name", CALLS)
def test_results_have_names(x, name):
    wanted = getattr(opweave.ops.aten, name)(x, *{"max": (1,), "min": (0, True), "topk": (2,), "kthvalue": (2,)}.get(
        name, ()))  # fmt: skip
    assert type(wanted) is tuple  # the op's own are plain
    fields = ("min", "max") if name == "aminmax" else ("values", "indices")
    for found in CALLS[name](x):
        assert type(found) is getattr(opweave.return_types, name) and isinstance(found, tuple)
        first, second = found
        assert getattr(found, fields[0]) is first and getattr(found, fields[1]) is second
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_one_result_is_a_tensor(x):
    assert type(opweave.max(x)) is Tensor and type(x.min()) is Tensor
    assert type(opweave.max(x, x * 2)) is Tensor
    np.testing.assert_array_equal(x.max(-x).numpy(), np.abs(x.numpy()))
    np.testing.assert_array_equal(opweave.min(x, -x).numpy(), -np.abs(x.numpy()))


def test_it_prints_and_is_copied(x):
    found = opweave.arange(4.0).reshape(2, 2).max(1)
    assert str(found) == "opweave.return_types.max(\nvalues=tensor([1., 3.]),\nindices=tensor([1, 1]))"
    assert type(copy.copy(found)) is type(found)
    assert pickle.loads(pickle.dumps(type(found))) is type(found)
    assert set(CALLS) <= set(dir(opweave.return_types))
    with pytest.raises(AttributeError, match="'sum'"):
        _ = opweave.return_types.sum


def test_it_stays_in_transforms(x):
    kind = classes["max"]
    for call in (opweave.compile(lambda t: t.max(1)), opweave.make_fx(lambda t: t.max(1))(x)):
        found = call(x)
        assert type(found) is kind
        np.testing.assert_array_equal(found.indices.numpy(), x.numpy().argmax(1))
    assert type(opweave.vmap(lambda row: row.max(0))(x)) is kind
    leaf = x.clone().requires_grad_()
    opweave.compile(lambda t: t.max(1))(leaf).values.sum().backward()
    np.testing.assert_array_equal(leaf.grad.numpy(), x.numpy() == x.numpy().max(1, keepdims=True))


def test_it_stays_in_saved_programs(x, tmp_path):
    program = opweave.export.export(lambda t: {"most": t.max(1)}, (x,))
    opweave.export.save(program, tmp_path / "program.zip")
    found = opweave.export.load(tmp_path / "program.zip").module()(x)["most"]
    assert type(found) is classes["max"]
    np.testing.assert_array_equal(found.values.numpy(), x.numpy().max(1))
