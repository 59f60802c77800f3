"""einsum, repetition, windows, scatters that add and the like against PyTorch: results, gradients, what both refuse."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out
from op_samples import maker
from oracle import agree, close, compare, to_torch

import opweave as ow
from opweave.registry import dtypes
from opweave.registry.tensor import Tensor, from_numpy


def drawn(*sizes: int, dtype: str = "float64", seed: int = 0) -> Tensor:
    return maker(getattr(dtypes, dtype), seed)(*sizes)


EQUATIONS: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
    ("i->", ((3,),)), ("ij->ji", ((3, 4),)), ("ij->j", ((3, 4),)), ("ii->", ((3, 3),)), ("ii", ((3, 3),)),
    ("iij->ij", ((3, 3, 2),)), ("iii->i", ((3, 3, 3),)), ("i,i->", ((3,), (3,))), ("i,j->ij", ((3,), (4,))),
    ("ij,jk->ik", ((3, 4), (4, 2))), ("ij,jk", ((3, 4), (4, 2))), ("ij,kj->ik", ((3, 4), (2, 4))),
    ("ba,cb", ((3, 4), (2, 3))), ("ij,ij->ij", ((3, 4), (3, 4))), ("ij,ij->", ((3, 4), (3, 4))),
    ("bij,bjk->bik", ((2, 3, 4), (2, 4, 2))), ("bij,bjk->ikb", ((2, 3, 4), (2, 4, 2))),
    ("bij,jk->bik", ((2, 3, 4), (4, 2))),
    ("ij,j->i", ((3, 4), (4,))), ("i,ij->j", ((3,), (3, 4))), ("i,ij,j->", ((3,), (3, 4), (4,))),
    ("ij,jk,kl->il", ((3, 4), (4, 2), (2, 5))),
    ("ijk,ilm,njm,nlk,abc->", ((2, 3, 4), (2, 5, 3), (6, 3, 3), (6, 5, 4), (2, 2, 2))),
    ("bqhd,bkhd->bhqk", ((2, 3, 2, 4), (2, 5, 2, 4))), ("bhqk,bkhd->bqhd", ((2, 2, 3, 5), (2, 5, 2, 4))),
    ("...ij,...jk->...ik", ((2, 3, 3, 4), (3, 4, 2))), ("...i,...i->...", ((2, 3), (3,))), ("...->...", ((2, 3),)),
    ("...ij->...ji", ((2, 3, 4),)), ("...ij,jk", ((2, 3, 4), (4, 2))), ("i...,j...->ij...", ((3, 2), (4, 2))),
    ("...i,i...->...", ((2, 3), (3, 2))), ("ij...,jk...->ik...", ((3, 4, 2), (4, 5, 1))),
    ("bn,anm,bm->ba", ((2, 3), (4, 3, 5), (2, 5))),
    (" i j , j k -> i k ", ((3, 4), (4, 2))), ("Ab,bA->A", ((3, 4), (4, 3))), ("aB,Bc", ((3, 4), (4, 3))),
    ("ij,jk->ik", ((3, 1), (4, 2))), ("ij,ij->ij", ((3, 1), (1, 4))), ("i,i->i", ((1,), (4,))),
    ("ij,ij->i", ((3, 1), (3, 1))),
    ("ij,jk->ik", ((3, 0), (0, 2))), ("ij,jk->ik", ((0, 3), (3, 2))), ("->", ((),)), (",->", ((), ())),
    (",i->i", ((), (3,))),
    ("ii,i->i", ((3, 3), (3,))), ("iji,jk->ik", ((3, 2, 3), (2, 4))), ("...", ((2, 3),)), ("i...->", ((3, 2),)),
]  # fmt: skip


@pytest.mark.parametrize(("equation", "sizes"), EQUATIONS, ids=str)
def test_einsum(equation: str, sizes: Any) -> None:
    for dtype in ("float64", "float32", "complex128"):
        operands = [drawn(*s, dtype=dtype, seed=i) for i, s in enumerate(sizes)]
        assert agree(
            lambda m, *t: m.einsum(equation, *t),
            *operands,
            difference="einsum",
            note=equation,
            order=2 if dtype == "float64" else 1,
        )
    whole = [drawn(*s, dtype="int64", seed=i) for i, s in enumerate(sizes)]
    assert agree(lambda m, *t: m.einsum(equation, list(t)), *whole, difference="einsum", note=equation)


@pytest.mark.parametrize(
    ("equation", "sizes"),
    [
        ("ij,jk->ik", ((3, 4),)), ("ij->i", ((3,),)), ("ij,jk->ik", ((3, 4), (3, 2))), ("i->ij", ((3,),)),
        ("i->ii", ((3,),)), ("ii->i", ((3, 4),)), ("i1->i", ((3, 4),)), ("......", ((3,),)), ("i,j", ((3,),)),
        ("i", ((3, 4),)), ("ij", ((3,),)),
    ],
    ids=str,
)  # fmt: skip
def test_equations_that_both_refuse(equation: str, sizes: Any) -> None:
    assert not agree(lambda m, *t: m.einsum(equation, *t), *[drawn(*s) for s in sizes], note=equation)


def test_other_forms() -> None:
    a, b, c = drawn(3, 4), drawn(4, 5, seed=1), drawn(5, 2, seed=2)
    assert agree(lambda m, a, b: m.einsum(a, [0, 1], b, [1, 2], [2, 0]), a, b, difference="einsum")
    assert agree(lambda m, a, b: m.einsum(a, [..., 1], b, [1, 30]), a, b, difference="einsum")
    for path in ([0, 1, 0, 1], [1, 2, 0, 1], [0, 2, 0, 1]):
        assert agree(
            lambda m, a, b, c: m.ops.aten.einsum.default("ij,jk,kl->li", [a, b, c], path=path), a, b, c,  # noqa: B023
            difference="einsum",
        )  # fmt: skip
    run = ow.compile(lambda a, b: ow.einsum("ij,jk->ki", a, b) + 1)
    close(run(a, b).numpy(), (a.numpy() @ b.numpy()).T + 1, "einsum, compiled")


def test_repetition() -> None:
    for x in (drawn(3, 4), drawn(4, 3).t(), drawn(6, dtype="int64")):
        for dim, repeats in itertools.product((None, 0, -1), (0, 1, 2)):
            assert agree(lambda m, x: m.repeat_interleave(x, repeats, dim), x)  # noqa: B023
            assert agree(lambda m, x: x.repeat_interleave(repeats, dim=dim), x)  # noqa: B023
            size = x.numel() if dim is None else x._sizes[dim]
            counts = np.random.default_rng(size).integers(0, 4, size)
            assert agree(lambda m, x: m.repeat_interleave(x, m.from_numpy(counts.copy()), dim), x)  # noqa: B023
    for call in (
        lambda m, x: m.repeat_interleave(x, -1), lambda m, x: m.repeat_interleave(x, m.tensor([1, 2]), 0),
        lambda m, x: m.repeat_interleave(x, m.tensor([1, -1, 2]), 0), lambda m, x: m.repeat_interleave(m.tensor([1.0])),
        lambda m, x: m.repeat_interleave(x, 2, 0, output_size=5), lambda m, x: m.repeat_interleave(x, 2, 3),
    ):  # fmt: skip
        assert not agree(call, drawn(3, 2))
    assert agree(lambda m: m.repeat_interleave(m.tensor([2, 0, 3])))
    x = drawn(3)
    x.repeat_interleave(1).mul_(0)
    assert x.numpy().all()


def test_windows() -> None:
    for x in (drawn(7, 5), drawn(5, 7).t(), drawn(2, 6, 3)):
        for dim, size, step in itertools.product((0, 1, -1), (1, 2, 3), (1, 2, 4)):
            agree(lambda m, x: x.unfold(dim, size, step), x, order=2, note=(dim, size, step))  # noqa: B023
    for dim, size, step in ((0, 8, 1), (2, 1, 1), (0, -1, 1), (0, 1, 0)):
        assert not agree(lambda m, x: x.unfold(dim, size, step), drawn(7, 5))  # noqa: B023
    x = ow.zeros(6)
    x.unfold(0, 2, 2)[1] += 5
    assert x.tolist() == [0, 0, 5, 5, 0, 0]


def test_scatters_that_add() -> None:
    index = np.array([[0, 1, 1, 2], [2, 2, 0, 1]])
    for reduce, dtype in itertools.product(("add", "multiply"), ("float64", "float32", "int64")):
        x, src = drawn(3, 4, dtype=dtype), drawn(2, 4, dtype=dtype, seed=1)

        def both(m: Any, x: Any, s: Any) -> Any:
            i = m.from_numpy(index.copy())
            written = x.clone()
            return (
                m.scatter(x, 0, i, s, reduce=reduce),
                x.scatter(0, i, 3, reduce=reduce),  # noqa: B023
                written.scatter_(0, i, s, reduce=reduce),
                x.clone().scatter_(0, i, 2, reduce=reduce),
            )  # noqa: B023

        assert agree(both, x, src, order=0)
    assert not agree(
        lambda m, x: m.scatter(x, 0, m.from_numpy(index.copy()), x[:2], reduce="mean"), drawn(3, 4), order=0
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "float16"])
def test_the_kth(dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = from_numpy(rng.permutation(60).reshape(4, 5, 3)).to(getattr(ow, dtype))
    for k, dim, keepdim in itertools.product((1, 2, 3), (0, 1, -1), (False, True)):
        found, expected = ow.kthvalue(x, k, dim, keepdim), torch.kthvalue(to_torch(x), k, dim, keepdim)
        for a, b in zip(found, expected, strict=True):
            compare(a, b, (k, dim, keepdim))
    if dtype == "float64":
        assert agree(lambda m, x: m.kthvalue(x, 2, 0)[0], x, order=2)
        assert agree(lambda m, x: x.kthvalue(3)[0], from_numpy(np.array([1.0, np.nan, 0.5, -np.inf])))
    for k in (0, 5):
        assert not agree(lambda m, x: m.kthvalue(x, k, 0), x)  # noqa: B023


SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-300,
    0.5,
    1.2499999,
    1.25,
    2.85,
    5.9,
    6.0,
    27.0,
    30.0,
    -7.0,
]


def test_special_numbers() -> None:
    x = from_numpy(np.array(SPECIAL))
    for call in (
        lambda m, x: m.erfc(x), lambda m, x: m.sgn(x), lambda m, x: m.round(x, decimals=2),
        lambda m, x: x.round(decimals=-1),
        lambda m, x: m.heaviside(x.detach(), m.full_like(x.detach(), 0.5)),
    ):  # fmt: skip
        assert agree(call, x, difference="einsum")
        assert agree(call, x.float(), difference="einsum")
    z = from_numpy(np.array([0, 1 + 1j, -3j, 2, -1e-3 + 4j]))
    assert agree(lambda m, z: m.sgn(z), z)
    assert agree(lambda m, z: m.sgn(z), z[1:].contiguous(), order=2) and left_out("sgn, second derivative at 0")
    assert not agree(lambda m, x: m.heaviside(x, x.float()), x)


def test_spaced_by_powers() -> None:
    for start, end, steps, base in itertools.product((0, -1.5, 2), (3, 0.25), (0, 1, 2, 7), (10.0, 2.0, 0.5)):
        for dtype in ("float64", "float32"):
            assert agree(
                lambda m: m.logspace(start, end, steps, base, dtype=getattr(m, dtype)), difference="einsum",  # noqa: B023
                note=(start, end, steps, base),
            )  # fmt: skip


def test_new_tensor() -> None:
    for dtype, data in itertools.product(("float64", "int32", "bool"), (1, [1, 2], [[True, False]], [2.5])):
        assert agree(
            lambda m: m.zeros(2, dtype=getattr(m, dtype)).new_tensor(data, dtype=m.float32 if data == 1 else None)  # noqa: B023
        )
    assert ow.zeros(1).new_tensor([1.0], requires_grad=True).requires_grad


def test_draws_follow_their_weights() -> None:
    ow.manual_seed(0)
    weights = ow.tensor([[0.0, 1.0, 3.0, 0.0], [2.0, 2.0, 0.0, 4.0]])
    drawn_places = ow.multinomial(weights, 8000, replacement=True).numpy()
    for row, expected in zip(drawn_places, ([0, 0.25, 0.75, 0], [0.25, 0.25, 0, 0.5]), strict=True):
        close(np.bincount(row, minlength=4) / 8000, expected, "draws")
    firsts = np.array([ow.multinomial(weights[1], 3).tolist() for _ in range(3000)])
    assert (np.sort(firsts, 1) == [0, 1, 3]).all()
    close(np.bincount(firsts[:, 0], minlength=4) / 3000, [0.25, 0.25, 0, 0.5], "draws")
    for call in (lambda m, w: m.multinomial(w, 5), lambda m, w: m.multinomial(w, 0), lambda m, w: m.multinomial(-w, 1),
                 lambda m, w: m.multinomial(w * 0, 1), lambda m, w: m.multinomial(w.long(), 1)):  # fmt: skip
        assert not agree(call, weights)
