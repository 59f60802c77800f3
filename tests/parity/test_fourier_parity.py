"""Fourier transforms against PyTorch: values, layouts, normalisation, derivatives, and what is refused."""

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
from opweave.registry import dtypes
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import fourier
from opweave.registry.tensor import Tensor, from_numpy


@pytest.mark.parametrize("op", ops_with_samples(fourier), ids=str)
def test_matches_pytorch(op: OpOverload) -> None:
    assert check(op)


def arguments(name: str, x: Tensor, dim: list[int], normalization: int, flag: bool) -> tuple[Any, ...]:
    if name == "_fft_c2r":
        return x, dim, normalization, 2 * x._sizes[dim[-1]] - (1 if flag and x._sizes[dim[-1]] > 1 else 2) or 1
    return x, dim, normalization, flag


NAMES = [("_fft_c2c", "complex128"), ("_fft_r2c", "float64"), ("_fft_c2r", "complex128")]


@pytest.mark.parametrize(("name", "dtype"), NAMES)
@pytest.mark.parametrize("sizes", [(2, 3, 4, 6), (1, 5, 1, 7), (8, 1, 2, 1)], ids=str)
def test_layouts_and_values(name: str, dtype: str, sizes: tuple[int, ...]) -> None:
    make = maker(getattr(dtypes, dtype))
    mine, theirs = getattr(ops.aten, name).default, getattr(torch.ops.aten, name).default
    whole = make(*sizes)
    count = 0
    for x in (whole, whole.permute(3, 1, 0, 2), ops.aten.slice.Tensor(make(*sizes[:3], 12), 3, 0, None, 2)):
        for length in (1, 2, 3, 4):
            for dim in itertools.permutations(range(4), length):
                args = arguments(name, x, list(dim), count % 3, count % 2 == 0)
                count += 1
                found, expected = mine(*args), theirs(to_torch(x), *args[1:])
                compare(found, expected, (name, args[1:], x._strides), "fft, layout of sizes 1")
                for size, a, b in zip(found._sizes, found._strides, expected.stride(), strict=True):
                    assert size == 1 or a == b, (name, args[1:], x._strides, found._strides, expected.stride())
    assert count == 192


@pytest.mark.parametrize("normalization", [0, 1, 2])
@pytest.mark.parametrize("name", ["rfft", "irfft", "rfft2", "irfft2", "fft", "ifft"])
def test_means_the_same(name: str, normalization: int) -> None:
    """PyTorch's functions of these names, which are written with the ops."""
    x = maker(dtypes.float64 if name[0] == "r" else dtypes.complex128)(3, 4, 5)
    dim = [1, 2] if name.endswith("2") else [2]
    backwards = name[0] == "i"
    norm = (
        ["forward", "ortho", "backward"][normalization]
        if backwards
        else ["backward", "ortho", "forward"][normalization]
    )
    options = {"dim": dim if name.endswith("2") else 2, "norm": norm}
    expected = getattr(torch.fft, name)(to_torch(x), **options)
    if "r" in name:
        op = ops.aten._fft_c2r if backwards else ops.aten._fft_r2c
        found = op.default(x, dim, normalization, 8 if backwards else True)
    else:
        found = ops.aten._fft_c2c.default(x, dim, normalization, not backwards)
    compare(found, expected, (name, norm), "fft, layout of sizes 1")


WRONG = [
    ("_fft_r2c", "int64", (4,), ([0], 0, True)), ("_fft_r2c", "complex64", (4,), ([0], 0, True)),
    ("_fft_r2c", "float16", (4,), ([0], 0, True)), ("_fft_c2c", "float32", (4,), ([0], 0, True)),
    ("_fft_c2r", "float32", (4,), ([0], 0, 6)), ("_fft_c2r", "complex64", (4,), ([0], 0, 9)),
    ("_fft_c2r", "complex64", (4,), ([0], 0, 5)), ("_fft_r2c", "float32", (4, 4), ([0, 0], 0, True)),
    ("_fft_c2c", "complex64", (4,), ([1], 0, True)), ("_fft_r2c", "float32", (2, 0), ([1], 0, True)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "dtype", "sizes", "rest"), WRONG, ids=str)
def test_refused(name: str, dtype: str, sizes: tuple[int, ...], rest: tuple[Any, ...]) -> None:
    x = maker(getattr(dtypes, dtype))(*sizes)
    meaningless = 0 in sizes or rest[0] != [0]
    if not (meaningless and left_out("fft of nothing, or twice over a dimension")):
        with pytest.raises((RuntimeError, IndexError)):
            getattr(torch.ops.aten, name).default(to_torch(x), *rest)
    with pytest.raises(OpweaveError):
        getattr(ops.aten, name).default(x, *rest)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize(("name", "dtype"), NAMES)
def test_gradients(name: str, dtype: str, compiled: bool) -> None:
    x = maker(getattr(dtypes, dtype))(3, 4, 5)
    for dim, flag in itertools.product(([2], [0], [2, 1], [0, 2]), (True, False)):
        rest = arguments(name, x, dim, 1, flag)[1:]

        def ours(t: Any, rest: Any = rest) -> Any:
            return getattr(ops.aten, name).default(t * t, *rest)

        mine, other = x.detach().requires_grad_(), to_torch(x).requires_grad_()
        found = (ow.compile(ours) if compiled else ours)(mine)
        expected = getattr(torch.ops.aten, name).default(other * other, *rest)
        weights = np.random.default_rng(0).standard_normal(tuple(expected.shape))
        weights = weights * (1 + 1j) if expected.is_complex() else weights
        (a,) = ow.autograd.grad(found, mine, from_numpy(weights), create_graph=not compiled)
        (b,) = torch.autograd.grad(expected, other, torch.from_numpy(weights), create_graph=True)
        close(a.detach().numpy(), b.detach().resolve_conj().numpy(), "fft, gradients")
        if not compiled:
            (a,) = ow.autograd.grad((a * a.conj_physical() if dtype != "float64" else a * a).real.sum(), mine)
            (b,) = torch.autograd.grad((b * b.conj_physical()).real.sum(), other)
            close(a.numpy(), b.resolve_conj().numpy(), "fft, gradients")
