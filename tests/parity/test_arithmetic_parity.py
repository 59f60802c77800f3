"""Arithmetic at its edges beside PyTorch, eager and compiled: powers of what has no root, bits seen as another type."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

import comparisons
from differences import left_out

import opweave

EDGES = (-math.inf, -0.0, 0.0, math.inf, math.nan, -2.0, 2.0, 1.0)


def bits(t: Any) -> list[int]:
    """A tensor's memory, with every NaN the same."""
    package = torch if isinstance(t, torch.Tensor) else opweave
    if t.dtype in (package.complex64, package.complex128):
        t = package.view_as_real(t)
    if t.dtype in (package.float16, package.bfloat16, package.float32, package.float64):
        t = package.where(package.isnan(t), math.nan, t)
    return t.contiguous().reshape(-1).view(package.uint8).tolist()


def same(function: Callable[..., Any], *values: Any, dtype: str = "float32", note: Any = "") -> None:
    """Compare all bits of `function(package, *tensors)` and of its arguments after it, eager and compiled."""

    def run(package: Any, call: Callable[..., Any]) -> list[list[int]]:
        tensors = [package.tensor(list(v), dtype=getattr(package, dtype)) for v in values]
        found = call(*tensors)
        return [bits(t) for t in (*(found if isinstance(found, tuple) else (found,)), *tensors)]

    theirs = run(torch, lambda *tensors: function(torch, *tensors))
    ours = lambda *tensors: function(opweave, *tensors)  # noqa: E731
    comparisons.note_test()
    assert run(opweave, ours) == theirs, (note, "eager")
    assert run(opweave, opweave.compile(ours)) == theirs, (note, "compiled")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_powers_by_numbers_and_by_tensors(dtype: str) -> None:
    """A number 0.5 is a square root, a tensor of 0.5 is C's pow."""
    exponents = [0.5, -0.5, 0.0, 1.0, 2.0, -1.0, math.inf, -math.inf, math.nan]

    def numbers(m: Any, x: Any) -> Any:
        return tuple(x**e for e in exponents)

    def tensors(m: Any, x: Any) -> Any:
        kind = getattr(m, dtype)
        one = tuple(x ** m.tensor(e, dtype=kind) for e in exponents)
        many = tuple(x ** m.tensor([e] * 8, dtype=kind) for e in exponents)
        return one + many + tuple(x[:, None] ** m.tensor([[e, e]], dtype=kind) for e in exponents)

    root = torch.tensor([2.0], dtype=torch.float64).sqrt().item()
    if (
        dtype == "float64"
        and root != math.sqrt(2)
        and left_out("roots of float64, where those of PyTorch's vectors are not the nearest")
    ):
        same(lambda m, x: tuple(x**e for e in exponents if e != 0.5), EDGES, dtype=dtype)
    elif dtype != "float16" or not left_out("powers of float16 by one half"):
        same(numbers, EDGES, dtype=dtype)
    if (dtype, torch.backends.cpu.get_cpu_capability()) == ("float64", "AVX2") and left_out(
        "powers of float64 by minus one half, without AVX-512"
    ):
        exponents.remove(-0.5)
    same(tensors, EDGES, dtype=dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float32", "float64", "float16"])
def test_remainders_by_numbers_that_are_none(dtype: str) -> None:
    numbers = (math.nan, math.inf, -math.inf, 2.5)
    same(lambda m, x: tuple(x % n for n in numbers), (3, 0, 7, 100), dtype=dtype)
    same(lambda m, x: tuple(m.fmod(x, n) for n in numbers), (3, 0, 7, 100), dtype=dtype)
    same(lambda m, x: tuple(x // n for n in numbers), (3, 0, 7, 100), dtype=dtype)


def _double_bits(m: Any, x: Any) -> Any:
    x.view(m.int32).mul_(2)
    return x + 0


def _part(m: Any, x: Any) -> Any:
    x.view(m.int32)[1:3].fill_(7)
    return x + 0, x.view(m.int16) + 0


def _narrow_then_wide(m: Any, x: Any) -> Any:
    x = x.clone()
    narrow = x.view(m.int16)
    narrow[::2].add_(3)
    wide = x[1:3].view(m.int32)
    wide.bitwise_xor_(1 << 30)
    return x, narrow, wide


def _bytes_and_back(m: Any, x: Any) -> Any:
    x = x + 1
    part = x.view(m.uint8)[..., 4:12].view(m.float32)
    part.mul_(2)
    return x, part + 0


def _row(m: Any, x: Any) -> Any:
    x.view(2, 4)[1].view(m.int64).bitwise_not_()
    return x + 0


def _complex(m: Any, x: Any) -> Any:
    m.view_as_complex(x.view(4, 2)).mul_(1j)
    m.view_as_complex(x.view(4, 2)).real.add_(1)
    return x + 0


def _parts(m: Any, x: Any) -> Any:
    z = m.complex(x, x + 1)
    m.view_as_real(z)[:, 1].neg_()
    return z, z.imag + 0


def _base_written(m: Any, x: Any) -> Any:
    whole = x.view(m.int32)
    x.add_(1)
    return whole + 0, whole.view(m.float32) * 2


def _both_written(m: Any, x: Any) -> Any:
    wide = x.view(m.float64)
    wide[0] = 1.5
    x[2] = 9.0
    return x + 0, wide + 0


def _every_other(m: Any, x: Any) -> Any:
    x = x.clone()
    x.view(2, 4).view(m.int16)[:, ::2].copy_(m.arange(8).view(2, 4))
    return x


def _strided(m: Any, x: Any) -> Any:
    x[::2].view(m.int32).add_(1)
    return x + 0


WRITES = (
    _double_bits, _part, _narrow_then_wide, _bytes_and_back, _row, _complex, _parts, _base_written, _both_written,
    _every_other, _strided,
)  # fmt: skip


@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__)
def test_writes_through_views_of_another_type(write: Callable[..., Any]) -> None:
    same(write, (-3.0, -1.5, 0.0, 1.5, 3.0, 4.5, 6.0, 7.5))
