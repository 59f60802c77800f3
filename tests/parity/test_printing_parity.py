"""Tensors as text: that of PyTorch, character by character, under many options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

import comparisons
from op_samples import maker
from oracle import to_torch

import opweave as ow
from opweave.registry.dtypes import COMPUTED
from opweave.registry.errors import ArgumentError
from opweave.registry.tensor import Tensor, from_numpy

INF, NAN = float("inf"), float("nan")


@pytest.fixture(autouse=True)
def options() -> Iterator[None]:
    """Every test begins and ends with the first options."""
    for module in (ow, torch):
        module.set_printoptions(profile="default")
    yield
    for module in (ow, torch):
        module.set_printoptions(profile="default")


#: A line broken before what follows the elements.
BREAK = re.compile(r",\n +(?=(size|dtype|grad_fn|requires_grad)=)")


def same(x: Tensor, other: Any = None) -> None:
    comparisons.note_test()
    theirs = repr(to_torch(x.detach()).requires_grad_(x.requires_grad) if other is None else other)
    mine, expected = repr(x), theirs.replace("torch.", "opweave.")
    assert max(map(len, mine.splitlines())) <= max(
        ow.get_printoptions()["linewidth"], 2 + max(map(len, theirs.splitlines()))
    )
    if "dtype=" in theirs:  # a longer name may not fit in the line any more
        mine, expected = BREAK.sub(", ", mine), BREAK.sub(", ", expected)
    assert mine == expected, theirs
    assert str(x) == repr(x)


VALUES: list[Any] = [
    0.0, -0.0, 1.0, 1.5, -2.25, 1e-5, 1e9, INF, -INF, NAN, [], [[]], [0.0], [0.0, NAN], [1.0, INF, NAN],
    [1.5, INF, -INF], [1, 1000], [1, 1001], [1.0, 1000.5], [1e-4, 0.05], [9.9e-5, 1e-4], [1e8, 1e8], [1e8 + 16, 1e8],
    [123456.75], [1e20, 1], [-1e-10, 1e10], [0.1, 0.22, 0.333], [-0.1, 0.22, 10.333], [1e-45], [3e38, 1],
    [2.5, 1e-30, 0], [99999.99], [-5, 100],
    [[1.0, 2.5], [-3, 4]], [[[1.0, 2.5], [-3, 4]], [[1, 1], [1, 1]]], [[[[1e-3]]]], [0.99995, 0.99994], [1e3, 1, NAN],
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_floating_point(dtype: str) -> None:
    for value in VALUES:
        with np.errstate(all="ignore"):
            same(from_numpy(np.array(value, np.float64)).to(getattr(ow, dtype)))


@pytest.mark.parametrize("dtype", list(COMPUTED), ids=repr)
def test_every_type_and_shape(dtype: Any) -> None:
    make = maker(dtype)
    for sizes in ((), (1,), (3,), (40,), (2, 3), (3, 2, 2), (2, 1, 3, 2), (0,), (0, 3), (3, 0), (30, 40), (1001,)):
        same(make(*sizes))
        if dtype.kind == "i":
            same(make(*sizes, low=-9, high=100) if dtype.itemsize < 8 else make(*sizes) * 10**12)


def test_complex() -> None:
    for value in ([1 + 2j], 1.5 - 1j, [0j], [1e-5 + 1j, 3], [complex(NAN, 1), complex(1, -INF)], [-0.0 - 0j, 1j * 1e9],
                  [[1 + 1j, 2.25], [-3j, 100 + 1e-3j]], []):  # fmt: skip
        for kind in (np.complex64, np.complex128):
            same(from_numpy(np.array(value, kind)))


def test_layouts() -> None:
    x = maker(ow.float32)(4, 6, 5)
    for part in (x.permute(2, 0, 1), x[:, ::2], x[0].t(), x[1, 2], x[0, 0, 0], x.unsqueeze(1), x.expand(2, 4, 6, 5)):
        same(part)


@pytest.mark.parametrize(
    "sizes", [(1001,), (7, 200), (20, 20, 20), (2, 600), (3, 4, 100), (1100, 1), (2, 2, 2, 200)], ids=str
)
def test_large(sizes: tuple[int, ...]) -> None:
    for dtype in (ow.float32, ow.int64, ow.complex64, ow.bool):
        x = maker(dtype)(*sizes)
        same(x)
        for settings in ({"edgeitems": 1}, {"edgeitems": 2, "linewidth": 40}, {"edgeitems": 0}, {"threshold": 10**5}):
            for module in (ow, torch):
                module.set_printoptions(**settings)
            same(x)
            for module in (ow, torch):
                module.set_printoptions(profile="default")


@pytest.mark.parametrize(
    "settings",
    [
        {"precision": 2}, {"precision": 0}, {"precision": 9}, {"sci_mode": True}, {"sci_mode": False},
        {"linewidth": 30}, {"linewidth": 5}, {"threshold": 3}, {"threshold": 0, "edgeitems": 1}, {"profile": "short"},
        {"profile": "full"}, {"profile": "short", "precision": 6}, {"sci_mode": True, "precision": 1},
        {"threshold": float("inf")},
    ],
    ids=str,
)  # fmt: skip
def test_options(settings: dict[str, Any]) -> None:
    for module in (ow, torch):
        module.set_printoptions(**settings)
    for value in VALUES:
        same(from_numpy(np.array(value, np.float64)).to(ow.float32))
    for dtype in (ow.float64, ow.int32, ow.bool, ow.complex64, ow.bfloat16):
        for sizes in ((), (5,), (30,), (3, 4), (2, 3, 8), (40, 50)):
            same(maker(dtype)(*sizes))
    given = torch._tensor_str.get_printoptions()
    assert ow.get_printoptions() == given


def test_options_come_one_by_one() -> None:
    for module in (ow, torch):
        module.set_printoptions(precision=2, sci_mode=True)
        module.set_printoptions(edgeitems=1)
    same(maker(ow.float32)(3))
    with pytest.raises(ArgumentError, match="profile"):
        ow.set_printoptions(profile="long")


@pytest.mark.parametrize("sizes", [(), (3,), (2, 3), (40,), (0,), (0, 2), (12,), (13,), (60, 60)], ids=str)
def test_what_stands_behind(sizes: tuple[int, ...]) -> None:
    for kind in (ow.float32, ow.float64, ow.complex128, ow.float16):
        same(maker(kind)(*sizes).requires_grad_())
        x = maker(kind)(*sizes).requires_grad_()
        other = to_torch(x.detach()).requires_grad_()
        for call in (lambda t: t * 2, lambda t: t.exp(), lambda t: t.sum(), lambda t: t.reshape(-1)):
            same(call(x), call(other))


def test_default_dtype() -> None:
    before = ow.get_default_dtype()
    try:
        for name in ("float64", "float32"):
            ow.set_default_dtype(getattr(ow, name))
            torch.set_default_dtype(getattr(torch, name))
            for dtype in (ow.float32, ow.float64, ow.complex64, ow.complex128):
                same(maker(dtype)(2))
                same(maker(dtype)(0))
    finally:
        ow.set_default_dtype(before)
        torch.set_default_dtype(torch.float32)


def test_without_data() -> None:
    for dtype in ("float32", "int64", "float64"):
        ours = ow.empty(2, 3, dtype=getattr(ow, dtype), device="meta")
        same(ours, torch.empty(2, 3, dtype=getattr(torch, dtype), device="meta"))


def test_a_subclass_has_its_name() -> None:
    class Meters(ow.Tensor):
        pass

    assert re.match(r"Meters\(\[1\., 2\.\]\)$", repr(ow.Tensor._make_subclass(Meters, ow.tensor([1.0, 2.0]))))
