"""Sorting against PyTorch: order of NaN and of equal elements, types, layouts, derivatives, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out
from op_samples import maker, ops_with_samples
from oracle import check, close, compare, to_torch, values_of

import opweave as ow
from opweave.registry import dtypes
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import sorting
from opweave.registry.tensor import Tensor, from_numpy

TYPES = ("float32", "float64", "float16", "bfloat16", "uint8", "int8", "int32", "int64", "bool_", "complex64")


@pytest.mark.parametrize("op", ops_with_samples(sorting), ids=str)
def test_matches_pytorch(op: OpOverload) -> None:
    assert check(op)


def repeating(dtype: str, *sizes: int, seed: int = 0) -> Tensor:
    """Few values, many times each; NaN, infinities and both zeros where there are some."""
    rng = np.random.default_rng([seed, *sizes])
    kind = getattr(dtypes, dtype)
    values = np.array([-2, 0, 1, 3]) if kind.kind in "if" else np.array([0, 1, 3])
    if kind.kind == "f":
        values = np.array([-1.5, -0.0, 0.0, 2, np.inf, -np.inf, np.nan, -np.nan])
    picked = from_numpy(np.array(rng.choice(values, sizes)))
    return picked.to(kind)


def layouts(dtype: str) -> list[Tensor]:
    x = repeating(dtype, 4, 6, 5)
    return [x, x.permute(2, 0, 1), ops.aten.slice.Tensor(x, 1, 0, None, 2), repeating(dtype, 60), repeating(dtype),
            ops.aten.expand.default(repeating(dtype, 1, 6, 1), [3, 6, 2]), repeating(dtype, 2, 0, 3)]  # fmt: skip


def pairs_agree(ours: Any, theirs: Any, note: Any) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        compare(mine, other, note)


@pytest.mark.parametrize("dtype", TYPES)
def test_sort(dtype: str) -> None:
    for x in layouts(dtype):
        for dim, descending in itertools.product((-1, 0, 1, 3, -4), (False, True)):
            note = (dtype, x._sizes, dim, descending)
            try:
                theirs = torch.sort(to_torch(x), dim=dim, descending=descending, stable=True)
            except (RuntimeError, IndexError) as error:
                kind = IndexError if isinstance(error, IndexError) else RuntimeError
                with pytest.raises(OpweaveError) as raised:
                    ow.sort(x, dim, descending)
                assert isinstance(raised.value, kind)
                continue  # no difference: both refuse
            pairs_agree(ow.sort(x, dim, descending), theirs, note)
            pairs_agree(x.sort(stable=True, dim=dim, descending=descending), theirs, note)
            compare(x.argsort(dim, descending), theirs[1], note)
            signs = [np.signbit(values_of(t)) for t in (x.sort(dim, descending)[0], theirs[0])]
            if x._dtype.kind == "f":
                known = ~np.isnan(values_of(theirs[0]))
                np.testing.assert_array_equal(signs[0][known], signs[1][known])


@pytest.mark.parametrize("dtype", TYPES)
def test_topk(dtype: str) -> None:
    for x in layouts(dtype):
        for dim, k, largest, ordered in itertools.product(
            (-1, 0, 1, 3), (-1, 0, 1, 3, 4, 5, 60, 61), (True, False), (True, False)
        ):
            note = (dtype, x._sizes, dim, k, largest, ordered)
            try:
                values, indices = torch.topk(to_torch(x), k, dim, largest, ordered)
            except (RuntimeError, IndexError) as error:
                kind = IndexError if isinstance(error, IndexError) else RuntimeError
                with pytest.raises(OpweaveError) as raised:
                    x.topk(k, dim, largest, ordered)
                assert isinstance(raised.value, kind), note
                continue  # no difference: both refuse
            mine, places = ow.topk(x, k, dim, largest, ordered)
            if not ordered and values.ndim and values.numel() and left_out("topk, any order"):
                values = torch.sort(values, dim, descending=largest)[0]
            assert places._dtype is dtypes.int64 and places._sizes == tuple(indices.shape) == mine._sizes
            if mine.numel():
                assert mine._strides == tuple(values.contiguous().stride()) == places._strides, note
            np.testing.assert_array_equal(values_of(mine), values_of(values), err_msg=str(note))
            # Of equal elements the first are taken, so the places are those of a stable sort.
            if x._sizes and mine.numel():
                ordered_places = torch.sort(to_torch(x), dim=dim, descending=largest, stable=True)[1]
                np.testing.assert_array_equal(places.numpy(), ordered_places.narrow(dim, 0, k).numpy())


@pytest.mark.parametrize("sizes", [(5,), (3, 4), (2, 3, 4), ()], ids=str)
def test_gradients(sizes: tuple[int, ...]) -> None:
    calls = [
        (lambda m, t: m.sort(t, 0, True)[0] ** 2), (lambda m, t: m.sort(t, -1)[0] ** 3),
        (lambda m, t: m.topk(t, 1, 0)[0] ** 2), (lambda m, t: m.msort(t) ** 2),
    ]  # fmt: skip
    for fn in calls:
        x = maker(dtypes.float64)(*sizes)
        mine, other = x.detach().requires_grad_(), to_torch(x).requires_grad_()
        found, expected = fn(ow, mine), fn(torch, other)
        (ours,) = ow.autograd.grad(found.sum(), mine, create_graph=True)
        (theirs,) = torch.autograd.grad(expected.sum(), other, create_graph=True)
        compare(ours.detach(), theirs.detach(), sizes)
        (ours,) = ow.autograd.grad((ours**2).sum(), mine)
        (theirs,) = torch.autograd.grad((theirs**2).sum(), other)
        compare(ours, theirs, sizes)


def test_compiled() -> None:
    x = repeating("float32", 6, 8)

    def fn(module: Any, t: Any) -> Any:
        values, places = module.sort(t * 2, dim=1, descending=True)
        largest, where = module.topk(t, 3, 0)
        return values + 1, places * 2, largest.exp(), where

    ours = ow.compile(lambda t: fn(ow, t), dynamic=True)
    for t in (x, repeating("float32", 4, 3)):
        found, expected = ours(t), fn(ow, t)
        for mine, other in zip(found, expected, strict=True):
            close(mine.numpy(), other.numpy(), "sort, compiled")
        compare(found[0], fn(torch, to_torch(t))[0], t._sizes)


@pytest.mark.parametrize(
    "sizes", [((0, 0), (0, 0)), ((0, 3), (0, 2)), ((3, 0), (3, 2)), ((2, 3), (2, 0)), ((0,), (4,))], ids=str
)
def test_searches_without_elements(sizes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    for right, out_int32 in itertools.product((False, True), repeat=2):
        found = []
        for m in (ow, torch):
            given = [m.zeros(n) for n in sizes]
            found.append(m.searchsorted(*given, right=right, out_int32=out_int32))
        compare(*found, sizes)
