"""Random programs over tensors whose sizes are variables: each runs at any sizes, and fixes none by itself."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opweave.registry.dtypes import DTYPES
from opweave.registry.errors import OpweaveError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, from_numpy

aten = ops.aten
Step = tuple[str, int, int, int]
Sizes = tuple[int, int, int]
#: Sizes at which a step has to work for being part of a program; what works by chance at one fails at the other.
TRIED: tuple[Sizes, Sizes] = ((7, 11, 6), (4, 5, 9))
LARGEST = 20000
_ORDERS = [list(itertools.permutations(range(rank))) for rank in range(5)]

STEPS = ("unary", "binary", "binary", "number", "size", "permute", "unsqueeze", "squeeze", "slice", "slice", "select",
         "flatten", "merge", "swap", "pieces", "expand", "cat", "stack", "reduce", "reduce", "arg", "softmax", "var",
         "cumsum", "flip", "roll", "outer", "matmul", "arange", "full", "where", "repeat", "chunk", "gather",
         "triangle", "index", "write", "mean", "stride")  # fmt: skip


def programs(largest: int = 9) -> st.SearchStrategy[list[Step]]:
    """Lists of steps; numbers choose operands and parameters."""
    number = st.integers(0, 1000)
    return st.lists(st.tuples(st.sampled_from(STEPS), number, number, number), min_size=1, max_size=largest)


@st.composite
def layouts(draw: st.DrawFn) -> list[tuple[tuple[int, ...], str]]:
    """For each input its dimensions, as places in `Sizes`, and how it lies in memory."""
    layout = st.sampled_from(["plain", "plain", "plain", "transposed", "gaps", "offset", "stretched"])
    dims = st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=3).map(tuple)
    return draw(st.lists(st.tuples(dims, layout), min_size=1, max_size=2))


def inputs(
    wanted: list[tuple[tuple[int, ...], str]], sizes: Sizes, dtype: str = "float64", seed: int = 0
) -> list[Tensor]:
    """Tensors of these layouts."""
    return [_laid_out([sizes[d] for d in dims], dtype, layout, seed + n) for n, (dims, layout) in enumerate(wanted)]


def _laid_out(sizes: list[int], dtype: str, layout: str, seed: int) -> Tensor:
    rng = np.random.default_rng([seed, *sizes])

    def make(shape: list[int]) -> Tensor:
        values = rng.integers(-4, 5, shape) if DTYPES[dtype].kind in "iu" else rng.normal(size=shape)
        return from_numpy(np.asarray(values).astype(DTYPES[dtype].numpy))

    last = len(sizes) - 1
    if layout == "transposed":
        return aten.permute.default(make(sizes[::-1]), list(range(last, -1, -1)))
    if layout == "gaps":
        return aten.slice.Tensor(make([*sizes[:-1], sizes[-1] * 2]), last, 0, sizes[-1] * 2, 2)
    if layout == "offset":
        return aten.slice.Tensor(make([sizes[0] + 2, *sizes[1:]]), 0, 2, sizes[0] + 2)
    if layout == "stretched":
        return aten.expand.default(make([1, *sizes[1:]]), sizes)
    return make(sizes)


def checked(steps: list[Step], wanted: list[tuple[tuple[int, ...], str]]) -> list[Step]:
    """The steps that work, one after the other, at both sizes of `TRIED`."""
    pools: list[list[Any]] = [list(inputs(wanted, sizes)) for sizes in TRIED]
    kept: list[Step] = []
    for name, i, j, n in steps:
        try:
            made = [step(pool, name, i, j, n) for pool in pools]
        except (OpweaveError, ValueError, TypeError, IndexError, ZeroDivisionError):
            continue
        if all(m is not None and m.numel() <= LARGEST and m.ndim <= 4 for m in made):
            for pool, value in zip(pools, made, strict=True):
                pool.append(value)
            kept.append((name, i, j, n))
    return kept


def build(steps: list[Step]) -> Callable[..., tuple[Tensor, ...]]:
    """The program as a function; returns every third value it made, and the last."""

    def program(*tensors: Tensor) -> tuple[Tensor, ...]:
        pool = list(tensors)
        for name, i, j, n in steps:
            made = step(pool, name, i, j, n)
            if made is None:
                raise LookupError(f"{name} does not apply at these sizes")
            pool.append(made)
        found = pool[len(tensors) :]
        return (*found[::3], *found[-1:]) if found else (aten.neg.default(pool[0]),)

    return program


def step(pool: list[Any], name: str, i: int, j: int, n: int) -> Tensor | None:
    """One step; None or an error where it does not apply."""
    a, b = pool[-1 - i % min(len(pool), 4)], pool[j % len(pool)]
    sizes = tuple(a.shape)
    rank = len(sizes)
    d = n % rank if rank else 0
    match name:
        case "unary":
            return getattr(a, ("neg", "tanh", "abs", "relu", "sigmoid")[n % 5])()
        case "binary":
            return (a + b, a - b, a * b, aten.maximum.default(a, b))[n % 4]
        case "where":
            return aten.where.self(a > 0, a, b)
        case "number":
            return (a + 2, a * -1, a * 0.5)[n % 3]
        case "arange":
            return aten.arange.default(b.shape[j % b.ndim]) * 1.0
        case "unsqueeze":
            return aten.unsqueeze.default(a, n % (rank + 1))
        case "flatten":
            return a.reshape(-1)
        case "cat":
            return aten.cat.default([a, b], d) if a.ndim == b.ndim else None
        case "stack":
            return aten.stack.default([a, b], n % (rank + 1))
        case "matmul":
            return a @ (b if n % 2 else b.transpose(-1, -2)) if rank == 2 and b.ndim == 2 else None
    if not rank:
        return None
    size = sizes[d]
    match name:
        case "size":
            return (a * size, a + size // 2, a / (size + 1), a - size % 3)[j % 4]
        case "permute":
            return a.permute(_ORDERS[rank][n % len(_ORDERS[rank])])
        case "squeeze":
            return aten.squeeze.dim(a, d)
        case "slice":
            k = 1 + j % 3
            start, end, by = ((k, None, 1), (None, -k, 1), (None, None, k), (None, size // 2, 1), (size // 2, None, 1),
                              (k, -1, 2), (-k, None, 1), (None, k, 1))[(i + j) % 8]  # fmt: skip
            return aten.slice.Tensor(a, d, start, end, by)
        case "select":
            return aten.select.int(a, d, (0, -1, size // 2)[j % 3])
        case "merge":
            return a.reshape(*sizes[:d], -1, *sizes[d + 2 :]) if d + 1 < rank else None
        case "swap":
            return a.reshape(*sizes[::-1])
        case "pieces":
            # Twice the tensor, and that cut anew: sizes like 2 * s0 and s0 * s1 / s1.
            twice = aten.cat.default([a, a * 2], d)
            new = ((2, size), (size, 2), (-1,), (2 * size,))[j % 4]
            return twice.reshape(*sizes[:d], *new, *sizes[d + 1 :])
        case "expand":
            return aten.expand.default(aten.unsqueeze.default(a, 0), [size if j % 2 else 3, *sizes])
        case "reduce":
            dims = sorted({(n + e) % rank for e in range(1 + j % rank)})
            return (aten.sum.dim_IntList, aten.amax.default, aten.sum.dim_IntList)[n % 3](a, dims, bool(i % 2))
        case "mean":
            return a.mean() if j % 3 == 0 else aten.mean.dim(a, [d], bool(i % 2))
        case "arg":
            return aten.argmax.default(a, None if j % 3 == 0 else d, bool(j % 2)) * 1.0
        case "softmax":
            return a.softmax(d) if j % 2 else a.log_softmax(d)
        case "var":
            return aten.var.correction(a, [d], correction=j % 2, keepdim=bool(i % 2))
        case "cumsum":
            return a.cumsum(d)
        case "flip":
            return aten.flip.default(a, [d])
        case "roll":
            return aten.roll.default(a, [1 + j % 2], [d])
        case "outer":
            return (a.unsqueeze(d) * a.unsqueeze(d + 1)) if rank < 3 else None
        case "full":
            return aten.full.default([*sizes, 2] if j % 2 else list(sizes), 1.5) + a.sum()
        case "repeat":
            return a.repeat(*[2 if e == d else 1 for e in range(rank)])
        case "chunk":
            return aten.chunk.default(a, 2, d)[j % 2]
        case "gather":
            return aten.gather.default(a, d, aten.argmax.default(a, d, True))
        case "index":
            return aten.index_select.default(a, d, aten.arange.default(size) // 2)
        case "triangle":
            return (aten.tril if j % 2 else aten.triu).default(a, n % 3 - 1) if rank > 1 else None
        case "write":
            made = a.clone()
            if j % 3 == 0:
                aten.copy_.default(aten.slice.Tensor(made, d, 1, None, 1), aten.slice.Tensor(a, d, None, -1, 1))
            elif j % 3 == 1:
                aten.select.int(made, d, -1).mul_(size)
            else:
                aten.slice.Tensor(made, d, 0, size // 2, 1).add_(1)
            return made
        case "stride":
            return a.t() * 1 if rank == 2 else a.contiguous() + a.numel()
    raise AssertionError(name)
