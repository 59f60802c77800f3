"""Creation against PyTorch: the declared samples, the types that data is given, and layouts of `*_like`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out
from op_samples import maker, ops_with_samples
from oracle import check, compare, to_torch

import opweave
from opweave.registry.dtypes import COMPUTED
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import creation

DATA: list[Any] = [
    1, 2.5, True, 1 + 2j, [], [[], []], [1, 2.5], [True, 2], [[1, 2], [3, 4]], (1, (2,))[0], np.float64(2), np.int8(3),
    [np.float32(1), 2.5], np.arange(6).reshape(2, 3).T, np.array(True), np.zeros((0, 3), np.float16), [1j, 2],
    [np.arange(2), np.arange(2)], 2**40, [[1.5, True], [2, 3]],
]  # fmt: skip


@pytest.mark.parametrize("op", ops_with_samples(creation), ids=str)
def test_matches_pytorch(op: OpOverload) -> None:
    assert check(op)


@pytest.mark.parametrize("data", DATA, ids=repr)
@pytest.mark.filterwarnings("ignore:Creating a tensor from a list")
def test_tensor(data: Any) -> None:
    compare(opweave.tensor(data), torch.tensor(data), data)
    for name in ("float16", "int64", "bool"):
        if not np.iscomplexobj(np.array(data)):
            try:
                theirs = torch.tensor(data, dtype=getattr(torch, name))
            except TypeError:
                assert left_out("tensor of NumPy numbers in another type")
                continue
            compare(opweave.tensor(data, dtype=getattr(opweave, name)), theirs, (data, name))


LAYOUTS = {
    "contiguous": lambda x: x,
    "permuted": lambda x: ops.aten.permute.default(x, [2, 0, 1]),
    "gaps": lambda x: ops.aten.slice.Tensor(x, 2, 0, None, 2),
    "permuted gaps": lambda x: ops.aten.slice.Tensor(ops.aten.permute.default(x, [2, 0, 1]), 1, 0, 1),
    "expanded": lambda x: ops.aten.expand.default(ops.aten.slice.Tensor(x, 1, 0, 1), [2, 3, 4]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["empty_like", "zeros_like", "ones_like", "rand_like", "randn_like", "clone"])
def test_layout_of_the_like(name: str, layout: str) -> None:
    x = LAYOUTS[layout](maker(opweave.float32)(2, 3, 4))
    ours, theirs = getattr(opweave, name)(x), getattr(torch, name)(to_torch(x))
    assert ours.stride() == theirs.stride() and ours.dtype.name == str(theirs.dtype).removeprefix("torch.")


@pytest.mark.parametrize("dtype", COMPUTED, ids=repr)
def test_full_and_arange_in_every_type(dtype: Any) -> None:
    kind = getattr(torch, dtype.name)
    for value in (1, 0, True, 2.75):
        compare(opweave.full((2, 3), value, dtype=dtype), torch.full((2, 3), value, dtype=kind), (dtype, value))
    if dtype.kind in "iuf":
        compare(opweave.arange(3, 40, 7, dtype=dtype), torch.arange(3, 40, 7, dtype=kind), dtype)
        compare(opweave.arange(0.5, 9, 1.25, dtype=dtype), torch.arange(0.5, 9, 1.25, dtype=kind), dtype)
        compare(opweave.eye(3, 2, dtype=dtype), torch.eye(3, 2, dtype=kind), dtype)


def test_triangles() -> None:
    x = maker(opweave.float32)(2, 4, 5)
    for diagonal in range(-5, 7):
        for name in ("tril", "triu"):
            ours, theirs = getattr(opweave, name)(x, diagonal), getattr(torch, name)(to_torch(x), diagonal)
            compare(ours, theirs, (name, diagonal))
