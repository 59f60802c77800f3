"""First and second derivatives of every op with samples, beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

import comparisons
import differences
from differences import left_out
from op_samples import as_list, maker, replace_tensors
from oracle import REFUSALS, _argument, hold_close, to_torch

import opweave as ow
from opweave.registry import dtypes
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload, registry
from opweave.registry.tensor import Tensor

LEFT_OUT = {name for name, found in differences.NOT_DIFFERENTIATED.items() if found.left_out}
#: Number of results that PyTorch differentiates.
DIFFERENTIABLE = {"native_layer_norm": 1}


def _tested(op: OpOverload) -> bool:
    decl = op.decl
    if decl is None or decl.samples is None or op.is_mutable or op.opname in LEFT_OUT:
        return False
    packet = getattr(torch.ops.aten, op.opname, None)
    return (
        packet is not None and op.overload in packet.overloads() and "nondeterministic_seeded" not in map(str, op.tags)
    )


def _leaf(t: Tensor) -> Tensor:
    """A leaf in the layout of the sample; integers have no gradient."""
    if t._dtype.kind not in "fc":
        return t
    return t.detach().requires_grad_()


def _twin(t: Tensor) -> Any:
    return to_torch(t.detach()).requires_grad_(t.requires_grad)


def _weights(t: Any, seed: int, module: Any) -> Any:
    rng = np.random.default_rng(seed)
    values: Any = rng.uniform(0.5, 1.5, tuple(t.shape))
    if str(t.dtype).rpartition(".")[2].startswith("complex"):
        values = values + 1j * rng.uniform(0.5, 1.5, tuple(t.shape))
    return module.from_numpy(np.array(values)).to(t.dtype)


def _array(t: Any) -> Any:
    return t.detach().resolve_conj().numpy() if isinstance(t, torch.Tensor) else t.detach().numpy()


def _derivatives(module: Any, results: Any, leaves: list[Any], orders: int) -> list[Any]:
    """Gradients of a weighted sum of the results, then gradients of a weighted sum of those."""
    found: list[Any] = []
    outputs = [t for t in as_list(results) if t is not None and t.requires_grad]
    for order in range(orders):
        if not outputs:  # constants to autograd
            found += [np.zeros(tuple(t.shape)) for t in leaves]
            continue  # no difference: zeros are what such a derivative is
        outputs = module.autograd.grad(
            outputs, leaves, [_weights(t, 3 + order, module) for t in outputs], create_graph=order + 1 < orders,
            allow_unused=True, materialize_grads=True,
        )  # fmt: skip
        found += [_array(t) for t in outputs]
        outputs = [t for t in outputs if t.requires_grad]
    return found


def _of_pytorch(target: Any, args: Any, kwargs: Any, count: int | None, leaves: list[Any]) -> list[Any] | None:
    """Both derivatives; the first alone where PyTorch has no second; None where it has none."""
    for orders in (2, 1):
        try:
            return _derivatives(torch, as_list(target(*args, **kwargs))[:count], leaves, orders)
        except REFUSALS:
            continue  # no difference: then the first alone is compared
    return None


@pytest.mark.parametrize("op", [op for op in registry.operators.values() if _tested(op)], ids=str)
def test_matches_pytorch(op: OpOverload) -> None:
    target = getattr(getattr(torch.ops.aten, op.opname), op.overload)
    taken = op.decl.sample_dtypes
    kinds = {d.kind for d in taken} if taken else {"f"}
    named = f"gradients, {op.opname}"
    allowed = differences.of_test(named if named in differences.TESTS else "gradients")
    count = 0
    for dtype in [d for d in (dtypes.float64, dtypes.complex128) if d.kind in kinds]:
        for args, kwargs in op.decl.samples(maker(dtype, 1)):
            leaves: list[Tensor] = []

            def enter(t: Tensor, leaves: list[Tensor] = leaves) -> Tensor:
                leaf = _leaf(t)
                leaves.extend([leaf] if leaf.requires_grad else [])
                return leaf

            mine = replace_tensors((args, kwargs), enter)
            twins: list[Any] = []

            def double(t: Tensor, twins: list[Any] = twins) -> Any:
                twin = _twin(t)
                twins.extend([twin] if twin.requires_grad else [])
                return twin

            theirs = _argument(replace_tensors(mine, double))
            narrow = any(t._dtype.itemsize < 8 for t in leaves)
            if not leaves or narrow and left_out("gradients of samples with a narrow tensor"):
                continue
            note = f"{op} {dtype} {args} {kwargs}"
            compared = DIFFERENTIABLE.get(op.opname)
            expected = _of_pytorch(target, *theirs, compared, twins)
            if expected is None:
                continue  # no difference: what PyTorch refuses is tested on its own
            try:
                orders = len(expected) // len(leaves)
                found = _derivatives(ow, as_list(op(*mine[0], **mine[1]))[:compared], leaves, orders)
            except OpweaveError as error:
                raise AssertionError(f"{note}: PyTorch differentiates this") from error
            assert len(found) == len(expected), note
            for a, b in zip(found, expected, strict=True):
                assert a.shape == b.shape, note
                hold_close(a, b, allowed, note)
            comparisons.note("gradient", str(op))
            count += 1
    if not count:
        pytest.skip("no sample of it has a gradient in PyTorch")  # no difference: there is nothing to compare
