"""Bags of rows against PyTorch: results, gradients, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out
from op_samples import ops_with_samples
from oracle import check, close, compare, to_torch

import opweave as ow
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import embedding
from opweave.registry.tensor import Tensor, from_numpy


@pytest.mark.parametrize("op", ops_with_samples(embedding), ids=str)
def test_matches_pytorch(op: OpOverload) -> None:
    assert check(op)


def whole(*values: int, kind: Any = np.int64) -> Tensor:
    return from_numpy(np.array(values, kind))


def matrix(dtype: Any = np.float64) -> Tensor:
    # Equal elements, of which the first in a bag is the maximum.
    return from_numpy((np.random.default_rng(0).integers(-3, 4, (8, 5)) * 0.5).astype(dtype))


INDICES = (3, 0, 7, 7, 2, 5, 3, 3, 1)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_gradients(mode: int, compiled: bool) -> None:
    for scaled, padding, last, weighted in itertools.product((False, True), (-1, 3), (False, True), (False, True)):
        if (weighted and mode) or (compiled and scaled != last):
            continue  # no difference: sums alone have weights, and half of the rest is compiled
        factors = from_numpy(np.random.default_rng(1).standard_normal(9)) if weighted else None
        offsets = whole(0, 2, 2, 6, 9) if last else whole(0, 2, 2, 6)

        divided = left_out("embedding_bag, gradients scaled by frequency")  # below, in PyTorch's place

        def run(module: Any, weight: Any, factors: Any, places: Any, starts: Any) -> Any:
            op = module.ops.aten._embedding_bag.default
            by_count = scaled and (module is ow or not divided)  # noqa: B023
            return op(weight, places, starts, by_count, mode, False, factors, last, padding)  # noqa: B023

        mine = [t.detach().requires_grad_() for t in (matrix(), factors) if t is not None]
        others = [to_torch(t.detach()).requires_grad_() for t in mine]
        places = whole(*INDICES)

        def ours(*t: Any) -> Any:
            return run(ow, t[0], t[1] if weighted else None, places, offsets)  # noqa: B023

        found = (ow.compile(ours) if compiled else ours)(*mine)
        expected = run(torch, others[0], others[1] if weighted else None, to_torch(places), to_torch(offsets))
        note = (scaled, padding, last, weighted)
        for a, b in zip(found, expected, strict=True):
            compare(a.detach(), b.detach(), note)
        vector = np.random.default_rng(2).standard_normal(tuple(expected[0].shape))
        found = ow.autograd.grad(found[0], mine, from_numpy(vector))
        expected = torch.autograd.grad(expected[0], others, torch.from_numpy(vector))
        if scaled and mode < 2:
            counts = np.maximum(np.bincount(INDICES, minlength=8), 1)
            expected = [expected[0] / torch.from_numpy(counts)[:, None], *expected[1:]]
        for a, b in zip(found, expected, strict=True):
            close(a.numpy(), b.numpy(), "embedding_bag, gradients", note)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_types_and_special_numbers(mode: int) -> None:
    values = matrix(np.float32).numpy().copy()
    values[[3, 2], [0, 1]] = np.nan
    values[7, 2] = -np.inf
    weight = from_numpy(values)
    for kinds in itertools.product((np.int32, np.int64), repeat=2):
        places, starts = whole(*INDICES, kind=kinds[0]), whole(0, 2, 2, 6, kind=kinds[1])
        found = ops.aten._embedding_bag.default(weight, places, starts, False, mode)
        expected = torch.ops.aten._embedding_bag.default(
            to_torch(weight), to_torch(places), to_torch(starts), False, mode
        )
        for a, b in zip(found, expected, strict=True):
            compare(a, b, (mode, kinds))
    for padding in (None, 3, -5):
        found = ow.embedding_bag(weight, places, starts, False, mode, False, None, False, padding)
        expected = torch.embedding_bag(
            to_torch(weight), to_torch(places), to_torch(starts), False, mode, False, None, False, padding
        )
        compare(found[0], expected[0], (mode, padding))


def test_refused() -> None:
    weight, places, starts = matrix(), whole(*INDICES), whole(0, 2, 6)
    factors = from_numpy(np.ones(9))
    wrong: list[tuple[Any, ...]] = [
        (weight, places, whole(1, 2)), (weight, places, whole(0, 10)), (weight, places + 1, starts),
        (weight, places.to(ow.float32), starts), (weight[0], places, starts), (weight.to(ow.int64), places, starts),
        (weight, places, starts, False, 1, False, factors), (weight, places, starts, False, 0, False, factors[:4]),
        (weight, places, starts, False, 0, False, factors.to(ow.float32)), (weight, places, starts[None]),
    ]  # fmt: skip
    for args in wrong:
        with pytest.raises((RuntimeError, IndexError)):
            torch.ops.aten._embedding_bag.default(*[to_torch(a) if isinstance(a, Tensor) else a for a in args])
        with pytest.raises(OpweaveError):
            ops.aten._embedding_bag.default(*args)
    for starts in (whole(0, 5, 3), whole()):  # on which PyTorch ends the process, or takes what it finds
        with pytest.raises(OpweaveError):
            ops.aten._embedding_bag.default(weight, places, starts)
