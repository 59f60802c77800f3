"""Random programs of what can fuse: pointwise ops, broadcasts, views and reductions over tensors of any layout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

from opweave.registry.dtypes import DTYPES
from opweave.registry.errors import OpweaveError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, from_numpy

aten = ops.aten
UNARY = ("neg", "tanh", "abs", "relu", "square")
BINARY = ("add", "sub", "mul", "maximum")
LARGEST = 30000

Step = tuple[str, int, int, int]
_STEPS = ("unary", "unary", "binary", "binary", "binary", "number", "permute", "unsqueeze", "slice", "select", "view",
          "expand", "reduce", "reduce", "arg", "cast")  # fmt: skip


def programs() -> st.SearchStrategy[list[Step]]:
    """Lists of steps; numbers choose operands and parameters."""
    number = st.integers(0, 1000)
    return st.lists(st.tuples(st.sampled_from(_STEPS), number, number, number), min_size=1, max_size=12)


@st.composite
def inputs(draw: st.DrawFn, dtypes: tuple[str, ...]) -> list[Tensor]:
    """Tensors that broadcast with each other, contiguous, permuted, with gaps, or stretched."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 5, 8, 16, 33, 64, 130]), min_size=1, max_size=3))
    while math.prod(sizes) > 9000:
        sizes.pop()
    dtype = draw(st.sampled_from(dtypes))
    found = []
    for seed in range(draw(st.integers(1, 3))):
        own = [size if draw(st.integers(0, 4)) else 1 for size in sizes][draw(st.sampled_from([0, 0, 0, 1])) :]
        found.append(
            _laid_out(own, dtype, draw(st.sampled_from(["plain", "plain", "permuted", "gaps", "offset"])), seed)
        )
    return found


def _laid_out(sizes: list[int], dtype: str, layout: str, seed: int) -> Tensor:
    rng = np.random.default_rng(seed)
    kind = DTYPES[dtype].kind

    def make(shape: list[int]) -> Tensor:
        values = rng.integers(-4, 5, shape) if kind in "iu" else rng.normal(size=shape)
        return from_numpy(np.asarray(values).astype(DTYPES[dtype].numpy))

    if layout == "permuted":
        order = list(rng.permutation(len(sizes)))
        return aten.permute.default(make([sizes[d] for d in order]), [order.index(d) for d in range(len(sizes))])
    if layout == "gaps" and sizes:
        return aten.slice.Tensor(make([sizes[0] * 2, *sizes[1:]]), 0, 0, sizes[0] * 2, 2)
    if layout == "offset" and sizes:
        return aten.slice.Tensor(make([*sizes[:-1], sizes[-1] + 3]), len(sizes) - 1, 2, sizes[-1] + 2)
    return make(sizes)


def build(steps: list[Step]) -> Any:
    """The program as a function; returns every third value it made, and the last."""

    def program(*tensors: Tensor) -> tuple[Tensor, ...]:
        pool = list(tensors)
        for name, i, j, n in steps:
            a, b = pool[-1 - i % min(len(pool), 5)], pool[j % len(pool)]
            try:
                made = step(name, a, b, j, n)
            except OpweaveError:
                continue
            if made is not None and made.numel() <= LARGEST and made.ndim <= 5:
                pool.append(made)
        made = pool[len(tensors) :]
        return tuple(dict.fromkeys([*made[::3], *made[-1:]])) or (aten.neg.default(pool[0]),)

    return program


def step(name: str, a: Tensor, b: Tensor, j: int, n: int) -> Tensor | None:
    """One step; None or an error where it does not apply."""
    sizes = tuple(a.shape)
    dim = n % len(sizes) if sizes else 0
    match name:
        case "unary":
            return getattr(aten, UNARY[n % len(UNARY)]).default(a)
        case "binary":
            packet = getattr(aten, BINARY[n % len(BINARY)])
            return packet(a, b)
        case "number":
            return (aten.add if n % 2 else aten.mul).Tensor(a, (2, -1, 3)[j % 3])
        case "permute":
            return aten.permute.default(a, [int(d) for d in np.random.default_rng(n).permutation(len(sizes))])
        case "unsqueeze":
            return aten.unsqueeze.default(a, n % (len(sizes) + 1))
        case "cast":
            # Rounded, as last bits decide otherwise which whole number it becomes.
            return aten._to_copy.default(
                aten.round.default(a), dtype=DTYPES[("float32", "float64", "int32", "float16")[n % 4]]
            )
        case "view":
            return aten.view.default(a, regrouped(a.numel(), n))
        case "arg":
            return aten.argmax.default(a, None if j % 3 == 0 else dim, bool(j % 2)) if sizes else None
        case "reduce":
            axes = sorted({(n + d) % len(sizes) for d in range(1 + j % len(sizes))}) if sizes else []
            op = (aten.sum.dim_IntList, aten.sum.dim_IntList, aten.amax.default, aten.mean.dim)[n % 4]
            return op(a, axes, bool(j % 2)) if sizes else None
    if not sizes:
        return None
    if name == "slice":
        start = j % sizes[dim]
        return aten.slice.Tensor(a, dim, start, start + 1 + n % sizes[dim], 1 + j % 2)
    if name == "select":
        return aten.select.int(a, dim, j % sizes[dim])
    return aten.expand.default(a, [3, *sizes]) if n % 2 else aten.expand.default(a, [s if s > 1 else 2 for s in sizes])


def regrouped(total: int, seed: int) -> list[int]:
    """Some sizes with this product."""
    rng = np.random.default_rng(seed)
    sizes: list[int] = []
    while total > 1 and len(sizes) < 4:
        divisors = [d for d in range(2, total + 1) if total % d == 0]
        sizes.append(int(rng.choice(divisors)))
        total //= sizes[-1]
    if total > 1:
        sizes.append(total)
    rng.shuffle(sizes)
    return sizes
