"""`out=` variants, results with names and schemas, against PyTorch."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from op_samples import as_list, replace_tensors
from oracle import REFUSALS, compare, to_torch

import opweave as ow
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload, registry
from opweave.registry.return_types import classes
from opweave.registry.tensor import Tensor


def _twin(op: OpOverload) -> Any:
    packet = getattr(torch.ops.aten, op.opname, None)
    return getattr(packet, op.overload) if packet is not None and op.overload in packet.overloads() else None


def test_schemas_are_those_of_pytorch() -> None:
    declared = [op for op in registry.operators.values() if op.namespace == "aten" and op.decl is not None]
    twins = [(op, twin) for op in declared if (twin := _twin(op)) is not None]
    assert len(twins) > 900
    assert [] == [(str(op._schema), str(twin._schema)) for op, twin in twins if str(op._schema) != str(twin._schema)]


def x() -> Tensor:
    return ow.from_numpy(np.random.default_rng(1).normal(size=(3, 4)))


def places(*sizes: int) -> Tensor:
    return ow.zeros(sizes, dtype=ow.int64)


def floats(*sizes: int) -> Tensor:
    return ow.zeros(sizes, dtype=ow.float64)


#: Calls with `out`: a tensor, or several.
CALLS: dict[str, tuple[Callable[..., Any], Any]] = {
    "max": (lambda m, x, out: m.max(x, 1, out=out), (floats(3), places(3))),
    "max, kept": (lambda m, x, out: m.max(x, dim=0, keepdim=True, out=out), (floats(1, 4), places(1, 4))),
    "max of two": (lambda m, x, out: m.max(x, x[0].neg(), out=out), floats(3, 4)),
    "min": (lambda m, x, out: m.min(x, -1, out=out), (floats(3), places(3))),
    "min of two": (lambda m, x, out: m.min(x, x[0].neg(), out=out), floats(3, 4)),
    "sort": (lambda m, x, out: m.sort(x, 0, True, out=out), (floats(3, 4), places(3, 4))),
    "sort, stable": (lambda m, x, out: m.sort(x, dim=0, stable=True, out=out), (floats(3, 4), places(3, 4))),
    "topk": (lambda m, x, out: m.topk(x, 2, out=out), (floats(3, 2), places(3, 2))),
    "kthvalue": (lambda m, x, out: m.kthvalue(x, 2, 0, out=out), (floats(4), places(4))),
    "aminmax": (lambda m, x, out: m.aminmax(x, dim=1, out=out), (floats(3), floats(3))),
    "where": (lambda m, x, out: m.where(x > 0, x, x[0], out=out), floats(3, 4)),
    "var": (lambda m, x, out: m.var(x, 1, out=out), floats(3)),
    "std": (lambda m, x, out: m.std(x, [1], True, out=out), floats(3)),
    "eye": (lambda m, x, out: m.eye(3, 2, out=out), places(3, 2)),
    "arange": (lambda m, x, out: m.arange(3, out=out), floats(3)),
    "arange from": (lambda m, x, out: m.arange(1, 7, 2, out=out), places(3)),
    "arange, rounded": (lambda m, x, out: m.arange(0.5, 4.4, out=out), places(4)),
    "linspace": (lambda m, x, out: m.linspace(0, 1, 5, out=out), floats(5)),
    "full": (lambda m, x, out: m.full((2, 3), 2.5, out=out), places(2, 3)),
    "zeros": (lambda m, x, out: m.zeros(2, 3, out=out), places(2, 3)),
    "ones": (lambda m, x, out: m.ones((2, 3), out=out), floats(2, 3)),
    "full_like": (lambda m, x, out: m.ops.aten.full_like.out(x, 1.75, out=out), floats(3, 4)),
    "to": (lambda m, x, out: m.ops.aten._to_copy.out(x * 9, out=out), places(3, 4)),
    "concat": (lambda m, x, out: m.concat([x, x], 1, out=out), floats(3, 8)),
    "pad": (lambda m, x, out: m.ops.aten.constant_pad_nd.out(x, [1, 1], 2, out=out), floats(3, 6)),
    "reflection": (lambda m, x, out: m.ops.aten.reflection_pad1d.out(x, [1, 2], out=out), floats(3, 7)),
    "linear": (lambda m, x, out: m.ops.aten.linear.out(x, x, out=out), floats(3, 3)),
    "gradient": (lambda m, x, out: m.ops.aten.tanh_backward.grad_input(x, x, grad_input=out), floats(3, 4)),
    "layer norm": (
        lambda m, x, out: m.ops.aten.native_layer_norm.out(
            x, [4], None, None, 1e-5, out0=out[0], out1=out[1], out2=out[2]
        ), (floats(3, 4), floats(3, 1), floats(3, 1)),
    ),
    "group norm": (
        lambda m, x, out: m.ops.aten.native_group_norm.out(
            x[:, :, None], None, None, 3, 4, 1, 2, 1e-5, out0=out[0], out1=out[1], out2=out[2]
        ), (floats(3, 4, 1), floats(3, 2), floats(3, 2)),
    ),
    "batch norm": (
        lambda m, x, out: m.ops.aten._native_batch_norm_legit.out(
            x, None, None, x[0].clone(), x[1].abs(), True, 0.1, 1e-5, out=out[0], save_mean=out[1], save_invstd=out[2]
        ), (floats(3, 4), floats(4), floats(4)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_out(name: str) -> None:
    call, out = CALLS[name]
    theirs_out = replace_tensors(out, to_torch)
    theirs, ours = call(torch, to_torch(x()), theirs_out), call(ow, x(), out)
    assert isinstance(ours, tuple) == isinstance(theirs, tuple)
    for mine, other, target in zip(as_list(ours), as_list(theirs), as_list(out), strict=True):
        assert mine is target
        compare(mine, other, name, "functional")
    assert all(a is b for a, b in zip(as_list(theirs), as_list(theirs_out), strict=True))


@pytest.mark.parametrize("out", [(floats(3),), (floats(3), places(3), places(3)), floats(3), (floats(3), 1)], ids=str)
def test_out_of_another_number_of_tensors(out: Any) -> None:
    with pytest.raises(REFUSALS):
        torch.max(to_torch(x()), 1, out=replace_tensors(out, to_torch))
    with pytest.raises(OpweaveError):
        ow.max(x(), 1, out=out)


#: What takes other arguments than a number; `test_opinfo` calls it.
OTHERS = {"geqrf", "histogram", "histogramdd", "lu_unpack", "qr", "slogdet", "svd", "triangular_solve"}


def fields_of(kind: Any) -> list[str]:
    """What PyTorch calls several results, as its texts say."""
    return [name for name in vars(kind) if isinstance(vars(kind)[name], types.MemberDescriptorType)]


@pytest.mark.parametrize("name", sorted(set(classes) & set(dir(torch.return_types))))
def test_names_of_results(name: str) -> None:
    assert set(classes[name]._fields) == set(fields_of(getattr(torch.return_types, name)))


@pytest.mark.parametrize(
    "name", sorted(name for name in set(classes) & set(dir(torch.return_types)) - OTHERS if hasattr(torch, name))
)
def test_results_have_the_names_of_pytorch(name: str) -> None:
    arguments = {"topk": (2,), "kthvalue": (2,), "sort": (), "aminmax": (), "frexp": ()}.get(name, (1,))
    theirs = getattr(torch, name)(to_torch(x()), *arguments)
    for ours in (getattr(ow, name)(x(), *arguments), getattr(x(), name)(*arguments)):
        for i, field in enumerate(ours._fields):
            assert getattr(theirs, field) is theirs[i]
            compare(getattr(ours, field), theirs[i], (name, field))
        assert len(ours) == len(theirs)


def test_those_without_names_are_plain() -> None:
    for call in (lambda m, t: m.var_mean(t, 1), lambda m, t: m.std_mean(t, 1)):
        assert type(call(torch, to_torch(x()))) is type(call(ow, x())) is tuple
