"""Gradients of every op with samples, compiled: equal to the op's own, and to differences of its values."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.registry import dtypes
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload, registry

sys.path.insert(0, str(Path(__file__).parents[1] / "registry" / "ops"))

from op_samples import as_list, maker, replace_tensors

#: How many samples of an op are compiled; the first are the plainest.
SAMPLES = 1


#: Ops whose sample has no differences to compare with, and why.
NOT_CHECKED = {
    "aten.pow.Tensor_Tensor": "powers of negative numbers are NaN",
    "aten._to_copy.default": "casts to a narrower type",
    "aten._ctc_loss.default": "the formula takes probabilities to add up to 1, which a difference changes",
    **dict.fromkeys(
        ("aten.linalg_cholesky.default", "aten.linalg_cholesky_ex.default", "aten.linalg_eigvalsh.default"),
        "of symmetric matrices, which a difference of one element is not",
    ),
}


def _tested(op: OpOverload) -> bool:
    decl = op.decl
    if decl is None or decl.samples is None or op.is_mutable or op.opname == "empty_like":
        return False
    taken = op.decl.sample_dtypes
    return (not taken or "f" in {d.kind for d in taken}) and "nondeterministic_seeded" not in map(str, op.tags)


def _leaves(args: Any, kwargs: Any) -> tuple[Any, Any, list[opweave.Tensor]]:
    found: list[opweave.Tensor] = []

    def enter(t: opweave.Tensor) -> opweave.Tensor:
        if t.dtype.kind != "f":
            return t
        found.append(t.detach().requires_grad_())
        return found[-1]

    args, kwargs = replace_tensors((args, kwargs), enter)
    return args, kwargs, found


def _gradients(results: Any, leaves: list[opweave.Tensor]) -> list[Any]:
    outputs = [t for t in as_list(results) if t is not None and t.requires_grad]
    weights = [opweave.arange(t.numel(), dtype=t.dtype).reshape(t.shape) * 0.25 + 1 for t in outputs]
    found = opweave.autograd.grad(outputs, leaves, weights, allow_unused=True)
    return [None if t is None else t.numpy() for t in found]


def check_differences(compiled: Any, args: Any, kwargs: Any, leaves: list[opweave.Tensor]) -> None:
    """Compare a compiled function's gradients with differences of its values."""

    def run(*values: opweave.Tensor) -> tuple[opweave.Tensor, ...]:
        entered = iter(values)
        results = compiled(*replace_tensors((args, kwargs), lambda t: next(entered) if t.dtype.kind == "f" else t))
        return tuple([t for t in as_list(results) if t is not None and t.dtype.kind == "f"])

    # Of large ones some directions are checked, not every element.
    results = [t for t in as_list(compiled(args, kwargs)) if t is not None]
    large = sum(t.numel() for t in leaves) + sum(t.numel() for t in results) > 200
    assert opweave.autograd.gradcheck(run, tuple(leaves), fast_mode=large)


@pytest.mark.parametrize("op", [op for op in registry.operators.values() if _tested(op)], ids=str)
def test_compiled_gradients(op: OpOverload) -> None:
    count = 0
    for args, kwargs in op.decl.samples(maker(dtypes.float64, 1)):
        args, kwargs, leaves = _leaves(args, kwargs)
        if not leaves or count == SAMPLES or sum(t.numel() for t in leaves) == 0:
            continue
        try:
            expected = _gradients(op(*args, **kwargs), leaves)
        except OpweaveError:
            continue  # what cannot be differentiated is tested on its own
        if all(t is None for t in expected):
            continue
        compiled = opweave.compile(lambda args, kwargs: op(*args, **kwargs))
        found = _gradients(compiled(args, kwargs), leaves)
        for one, other in zip(found, expected, strict=True):
            if other is None:
                assert one is None or not one.any(), f"{op} {args} {kwargs}"
            else:
                np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10, err_msg=f"{op} {args} {kwargs}")
        assert len(compiled.entries) == 1
        if str(op) not in NOT_CHECKED:
            check_differences(compiled, args, kwargs, leaves)
        count += 1
    if not count:
        pytest.skip("no sample of it has a gradient")
