"""Padding against PyTorch: the declared samples, many paddings, layouts and types, derivatives, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out
from op_samples import maker, ops_with_samples
from oracle import check, close, compare, to_torch

import opweave as ow
from opweave.nn import functional
from opweave.registry import dtypes
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import padding
from opweave.registry.tensor import Tensor, from_numpy

TYPES = ("float32", "float64", "float16", "bfloat16", "uint8", "int8", "int32", "int64", "complex64", "bool_")


@pytest.mark.parametrize("op", ops_with_samples(padding), ids=str)
def test_matches_pytorch(op: OpOverload) -> None:
    # PyTorch adds up gradients in half types, step by step.
    assert check(op)


def both(op: str, x: Tensor, *args: Any) -> str:
    """Compare one call with PyTorch's; ``"refused"`` where both refuse it."""
    note = (op, x._sizes, x._strides, x._dtype, args)
    try:
        theirs = getattr(torch.ops.aten, op).default(to_torch(x), *args)
    except (RuntimeError, IndexError, TypeError, ValueError):
        with pytest.raises(OpweaveError):
            getattr(ops.aten, op).default(x, *args)
        return "refused"
    if min(theirs.shape, default=0) < 0:  # which only an empty batch lets pass
        return "refused"
    same(getattr(ops.aten, op).default(x, *args), theirs, note)
    return "same"


def same(ours: Tensor, theirs: Any, note: Any) -> None:
    """Compare values and layout; the stride of a dimension of size 1 says nothing."""
    compare(ours, theirs, note, "pad")
    if ours.numel():
        for size, mine, other in zip(ours._sizes, ours._strides, theirs.stride(), strict=True):
            assert size == 1 or mine == other, (note, ours._strides, theirs.stride())


def layouts(*sizes: int, dtype: Any = dtypes.float32) -> list[Tensor]:
    make = maker(dtype)
    plain = make(*sizes)
    order = [0, *range(2, len(sizes)), 1] if len(sizes) > 1 else [0]
    innermost = ow.permute(plain, order).contiguous().permute([order.index(d) for d in range(len(sizes))])
    wide = make(*sizes[:-1], 2 * sizes[-1])
    return [plain, innermost, ow.ops.aten.slice.Tensor(wide, -1, 0, None, 2), plain.transpose(0, -1)]


@pytest.mark.parametrize(
    "sizes", [(4,), (3, 4), (2, 3, 4), (2, 3, 4, 5), (1, 2, 3, 2, 3), (1, 1, 1, 1), (0, 3)], ids=str
)
def test_constant(sizes: tuple[int, ...]) -> None:
    seen = set()
    for x in layouts(*sizes):
        for pair in itertools.product((-5, -2, 0, 1, 3), repeat=2):
            seen.add(both("constant_pad_nd", x, list(pair), 1.5))
            if len(sizes) > 1:
                seen.add(both("constant_pad_nd", x, [0, 1, *pair]))
                seen.add(both("constant_pad_nd", x, [*pair, *pair[::-1]], -2))
            if len(sizes) > 2:
                seen.add(both("constant_pad_nd", x, [*pair, 0, 0, 1, 0]))
    assert seen == {"same", "refused"}


@pytest.mark.parametrize("dtype", TYPES)
def test_types_of_constants(dtype: str) -> None:
    seen = set()
    for value in (0, 1, -1, 2.5, True, 200, 300, -300, 70000, 1e6, 1e39, float("inf"), float("nan"), 1j, 2 + 0j):
        if dtype in ("uint8", "int8", "int32", "int64", "bool_") and value != value:
            continue  # no difference: NaN is no whole number
        x = maker(getattr(dtypes, dtype))(2, 3)
        seen.add(both("constant_pad_nd", x, [1, 0], value))
    assert "same" in seen


EDGES = [f"{mode}_pad{count}d" for mode in ("reflection", "replication") for count in (1, 2, 3)]


@pytest.mark.parametrize("op", EDGES)
def test_edges(op: str) -> None:
    count = int(op[-2])
    seen = set()
    whole = (2, 3, *(4, 3, 5)[:count])
    pairs = [(0, 0), (1, 2), (2, 0), (-1, 1), (2, -2), (-2, -1), (4, 1), (-4, 0), (-3, 3), (5, 5), (-6, 8)]
    for sizes in (whole, whole[1:], whole[2:], (0, *whole[1:]), (2, 0, *whole[2:]), (*whole[:-1], 0)):
        for x in layouts(*sizes):
            for i, pair in enumerate(pairs):
                rest = pairs[(i * 3) % 4] if i % 2 else (0, 0)
                seen.add(both(op, x, [*pair, *rest, 1, 0][: 2 * count]))
    seen.add(both(op, maker(dtypes.float32)(*whole), [1] * (2 * count - 1)))
    assert seen == {"same", "refused"}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", EDGES)
def test_types_of_edges(op: str, dtype: str) -> None:
    count = int(op[-2])
    x = maker(getattr(dtypes, dtype))(2, 3, *(4, 3, 5)[:count])
    assert both(op, x, [1, 2, 0, 1, 2, 2][: 2 * count]) == ("refused" if dtype == "bool_" else "same")


PADS = [
    ((2, 5), [1, 2]), ((2, 3, 5), [1, -2]), ((2, 3, 5), [1, 1, 2, 0]), ((1, 2, 3, 4), [3, 0, 0, 2]),
    ((1, 2, 2, 3, 4), [1, 2, 0, 1, 1, 1]), ((2, 3, 5), [5, 5]), ((2, 3, 5), [6, 0]), ((2, 3, 5), [-2, -3]),
    ((2, 3, 5), [-3, -3]), ((2, 3), [1, 1, 1, 1]), ((3,), [1, 1]), ((2, 3, 5), [1]), ((2, 3, 5), [2, -1]),
    ((2, 3, 5), [-2, 1]),
]  # fmt: skip


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular", "other"])
@pytest.mark.parametrize(("sizes", "pad"), PADS, ids=str)
def test_by_name(sizes: tuple[int, ...], pad: list[int], mode: str) -> None:
    for x in layouts(*sizes):
        try:
            theirs = torch.nn.functional.pad(to_torch(x), pad, mode)
        except (RuntimeError, NotImplementedError):
            with pytest.raises(OpweaveError):
                functional.pad(x, pad, mode)
            continue  # no difference: both refuse
        if mode == "circular" and any(n > x._sizes[-1] + min(*pad[:2], 0) for n in pad[:2]):
            assert left_out("padding, circular, by more than there is")
            continue
        same(functional.pad(x, pad, mode), theirs, (sizes, pad, mode))
    if mode != "constant":
        with pytest.raises(OpweaveError):
            functional.pad(x, pad, mode, 1.0)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize(("sizes", "pad"), PADS[:5], ids=str)
def test_compiled(sizes: tuple[int, ...], pad: list[int], mode: str) -> None:
    def fn(module: Any, pad_of: Any, x: Any) -> Any:
        return pad_of(module.exp(x), pad, mode) * 2

    for x in layouts(*sizes)[:2]:
        other = to_torch(x).requires_grad_()
        mine = x.detach().requires_grad_()
        expected = fn(torch, torch.nn.functional.pad, other)
        found = ow.compile(lambda x: fn(ow, functional.pad, x))(mine)
        weights = np.random.default_rng(0).standard_normal(tuple(expected.shape)).astype(np.float32)
        compare(found.detach(), expected.detach(), (sizes, pad, mode), "pad, compiled")
        (theirs,) = torch.autograd.grad(expected, other, torch.from_numpy(weights))
        (ours,) = ow.autograd.grad(found, mine, from_numpy(weights))
        close(ours.numpy(), theirs.numpy(), "pad, compiled gradients")


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_sizes_that_vary(mode: str) -> None:
    fn = ow.compile(lambda x: functional.pad(x * 2, [1, 2], mode), dynamic=True)
    for size in (4, 7, 9):
        x = maker(dtypes.float32)(2, 3, size)
        compare(fn(x), torch.nn.functional.pad(to_torch(x) * 2, [1, 2], mode), (size, mode))
