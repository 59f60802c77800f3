"""Tensors that are made in their places in another, and kernels over views of what they read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compiling import traced

import opweave
from opweave.codegen.host.build import build
from opweave.codegen.host.steps import Call, Copy, Launch, Program
from opweave.codegen.wrapper import host_program
from opweave.registry.device import cpu
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, from_numpy

aten = ops.aten
DRAW = np.random.default_rng(0)


def real(*sizes: int, dtype: str = "float32") -> Tensor:
    return from_numpy(DRAW.standard_normal(sizes).astype(dtype))


def steps_of(function: Callable[..., Any], *tensors: Tensor) -> Program:
    """The steps of a graph, with the checks of what each pass leaves."""
    assert host_program(traced(function, *tensors), "call", cpu).steps
    return build(traced(function, *tensors), "call", cpu)


def count(program: Program, kind: type[Any]) -> int:
    return sum(isinstance(step, kind) for step in program.steps)


def same(function: Callable[..., Any], *tensors: Tensor) -> None:
    """Compare a function's results with those of its compiled form."""
    wanted, found = function(*tensors), opweave.compile(function)(*tensors)
    for want, have in zip(wanted, found, strict=True):
        assert (have.dtype, have.shape, have.stride()) == (want.dtype, want.shape, want.stride())
        np.testing.assert_allclose(have.numpy(), want.numpy(), rtol=1e-6, atol=1e-6)


def gates(x: Tensor, y: Tensor) -> Any:
    """Four results of one kernel, side by side in the last dimension, for a product."""
    parts = [aten.add.Tensor(x, y), aten.mul.Tensor(x, y), aten.sub.Tensor(x, y), aten.neg.default(x)]
    joined = aten.cat.default(parts, -1)
    return joined, aten.mm.default(joined, aten.t.default(joined))


def test_a_kernel_stores_each_piece_in_its_place() -> None:
    program = steps_of(gates, real(8, 16), real(8, 16))
    assert (count(program, Launch), count(program, Copy), count(program, Call)) == (1, 0, 0)
    same(lambda x, y: gates(x, y)[:1], real(8, 16), real(8, 16))
    same(lambda x, y: gates(x, y)[:1], real(8, 3), real(8, 3))  # whose pieces begin at addresses that are not aligned


def test_products_are_made_in_their_places() -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        products = [aten.mm.default(x, y), aten.mm.default(y, x)]
        return aten.cat.default(products), aten.mm.default(*products)

    program = steps_of(function, real(32, 32), real(32, 32))
    assert (count(program, Copy), count(program, Call)) == (0, 0)
    x, y = real(32, 32), real(32, 32)
    found = opweave.compile(lambda x, y: function(x, y))(x, y)
    for have, want in zip(found, function(x, y), strict=True):
        np.testing.assert_allclose(have.numpy(), want.numpy(), rtol=1e-4, atol=1e-4)


def test_what_is_returned_too_is_copied() -> None:
    def function(x: Tensor, y: Tensor) -> Any:
        products = [aten.mm.default(x, y), aten.mm.default(y, x)]
        return aten.cat.default(products), products[0]

    assert count(steps_of(function, real(32, 32), real(32, 32)), Copy) == 1
    whole, part = opweave.compile(function)(real(32, 32), real(32, 32))
    whole.zero_()
    assert part.abs().sum().item() > 0  # it shares no memory


def many(*pieces: Tensor) -> Any:
    joined = aten.cat.default([aten.mul.Tensor(piece, 2) for piece in pieces])
    return joined, aten.sum.dim_IntList(joined, [0])


CASES: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]] = {
    "many": (many, tuple(real(3, 5) for _ in range(12))),
    "many as they are": (lambda *t: (aten.cat.default(list(t)),), tuple(real(4, 4) for _ in range(12))),
    "many columns": (lambda *t: (aten.cat.default(list(t), -1),), tuple(real(4, n) for n in range(12))),
    "many transposed": (lambda *t: (aten.cat.default([x.t() for x in t]),), tuple(real(4, 5) for _ in range(10))),
    "one many times": (lambda x: (aten.cat.default([x] * 12, 1) + 1,), (real(3, 2),)),
    "views of one": (lambda x: (aten.cat.default([x[:, i] for i in range(12)]),), (real(3, 12),)),
    "stacked": (lambda *t: (aten.stack.default([x.exp() for x in t], 1),), tuple(real(3, 5) for _ in range(12))),
    "nested": (
        lambda *t: (aten.cat.default([aten.cat.default([x * 2, x + 1], 1) for x in t]),),
        tuple(real(3, 5) for _ in range(10)),
    ),
    "whole numbers": (
        lambda *t: (aten.cat.default([x + 1 for x in t]),), tuple(from_numpy(np.arange(i, i + 3)) for i in range(10))
    ),
    "truths": (lambda *t: (aten.cat.default([x > 0 for x in t]),), tuple(real(3, 5) for _ in range(10))),
    "halves": (lambda *t: (aten.cat.default(list(t), 1),), tuple(real(3, 5, dtype="float16") for _ in range(10))),
    "complex": (lambda *t: (aten.cat.default(list(t), 1),), tuple(real(3, 5, dtype="complex64") for _ in range(10))),
    "of several types": (
        lambda *t: (aten.cat.default(list(t)),), tuple(real(3, 5, dtype=d) for d in ("float32", "float64") * 5)
    ),
    "a piece read by a kernel": (
        lambda x, y: ((t := [x * y, x + y, x - y]) and (aten.cat.default(t), aten.sin.default(t[0]))),
        (real(4, 8), real(4, 8)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_compiled_equals_eager(name: str) -> None:
    function, tensors = CASES[name]
    same(function, *tensors)


def test_written_pieces_are_not_each_others() -> None:
    def function(x: Tensor) -> Any:
        pieces = [x * i for i in range(10)]
        joined = aten.cat.default(pieces)
        aten.index_put_.default(joined, [opweave.tensor([0, 1])], opweave.full((2, 4), 7.0))
        return joined, pieces[0] + 1

    same(function, real(3, 4))


# ---- views of inputs -----------------------------------------------------------------------------------------------


def test_kernels_of_other_parts_are_one() -> None:
    def function(x: Tensor, w: Tensor) -> Any:
        h = aten.mm.default(x[0], w)
        for i in range(1, 5):
            h = aten.mm.default(aten.tanh.default(aten.add.Tensor(x[i], h)), w)
        return (h,)

    program = host_program(traced(function, real(5, 8, 8), real(8, 8)), "call", cpu)
    assert len(program.kernels) == 1
    x, w = real(5, 8, 8), real(8, 8)
    found, wanted = opweave.compile(function)(x, w)[0].numpy(), function(x, w)[0].numpy()
    # Five products of eight terms in another order, which cancel.
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


PARTS: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]] = {
    "a part": (lambda x: (x[3:] * 2,), (real(9, 5),)),
    "two parts": (lambda x: (x[3:6] * x[6:],), (real(9, 5),)),
    "not aligned": (lambda x: (x[1:] + 1, x[2:].sum(0)), (real(9, 5),)),
    "columns": (lambda x: (x[:, 2:] + x[:, 1:-1],), (real(9, 5),)),
    "strided": (lambda x: (x[1::2].exp(),), (real(9, 5),)),
    "written": (lambda x: (x[:4].copy_(x[4:8] * 2), x[1:] + 0), (real(9, 5),)),
    "shifted in place": (lambda x: (x.copy_(aten.cat.default([x[1:] * 2, x[:1]])),), (real(9, 5),)),
    "looked up": (lambda x, i: (x[2:][i] + x[2:5],), (real(9, 5), from_numpy(np.array([3, 0, 6])))),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_equal_eager(name: str) -> None:
    function, tensors = PARTS[name]
    wanted, found = [t.clone() for t in tensors], [t.clone() for t in tensors]
    for want, have in zip(function(*wanted), opweave.compile(function)(*found), strict=True):
        np.testing.assert_allclose(have.numpy(), want.numpy(), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(found[0].numpy(), wanted[0].numpy())


@pytest.mark.parametrize("dim", [-2, 2])
@pytest.mark.parametrize("last", [False, True])
def test_nothing_goes_with_tensors_of_any_rank(dim: int, last: bool) -> None:
    """As a cache of keys that is empty at first."""
    kept, new = opweave.empty(0), opweave.from_numpy(np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4))

    def step(kept: opweave.Tensor, new: opweave.Tensor) -> opweave.Tensor:
        doubled = new * 2
        return opweave.cat([doubled, kept] if last else [kept, doubled], dim)

    found = opweave.compile(step, fullgraph=True)(kept, new)
    assert found.shape == new.shape
    np.testing.assert_array_equal(found.numpy(), step(kept, new).numpy())
    nothing = opweave.compile(lambda a, b: opweave.cat([a, b], -1) + 1, fullgraph=True)(kept, kept)
    assert nothing.shape == (0,)
