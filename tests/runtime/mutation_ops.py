"""Ops and kernels that write their arguments, for `mutation_programs`; a script that it prints brings them along."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import triton
import triton.language as tl

import opweave
from opweave.library import custom_op, triton_op, wrap_triton


# op: accumulate
@custom_op("mutation_ops::accumulate", mutates_args=("out",))
def accumulate(out: opweave.Tensor, x: opweave.Tensor) -> None:
    """Reads `x` backwards between writes, so that one buffer given as both would show."""
    mine, other = out.numpy(), x.numpy()
    for i in range(len(mine)):
        mine[i] = mine[i] + other[len(mine) - 1 - i]


# op: bump
@custom_op("mutation_ops::bump", mutates_args=("x",))
def bump(x: opweave.Tensor, by: int) -> opweave.Tensor:
    x.numpy()[...] += by
    return opweave.from_numpy(np.array(x.numpy() * 2, order="C"))


@bump.register_fake
def _(x, by):
    return opweave.empty(x.shape, dtype=x.dtype)


# op: swap
@custom_op("mutation_ops::swap", mutates_args=("a", "b"))
def swap(a: opweave.Tensor, b: opweave.Tensor) -> None:
    kept = a.numpy().copy()
    a.numpy()[...] = b.numpy()
    b.numpy()[...] = kept * 2


# op: shift_all
@custom_op("mutation_ops::shift_all", mutates_args=("many",))
def shift_all(many: Sequence[opweave.Tensor], by: int) -> None:
    for i, t in enumerate(many):
        t.numpy()[...] += by + i


# op: anything
@custom_op("mutation_ops::anything", mutates_args="unknown")
def anything(x: opweave.Tensor, y: opweave.Tensor) -> None:
    x.numpy()[...] += y.numpy().sum().astype(x.numpy().dtype)


# op: maybe
@custom_op("mutation_ops::maybe", mutates_args=("out",))
def maybe(x: opweave.Tensor, out: opweave.Tensor | None) -> opweave.Tensor:
    if out is not None:
        out.numpy()[...] = x.numpy() * 3
    return opweave.from_numpy(np.array(x.numpy() + 1, order="C"))


@maybe.register_fake
def _(x, out):
    return opweave.empty(x.shape, dtype=x.dtype)


# op: tripled
@custom_op("mutation_ops::tripled", mutates_args=())
def tripled(x: opweave.Tensor) -> opweave.Tensor:
    return opweave.from_numpy(np.array(x.numpy() * 3, dtype=x.numpy().dtype, order="C"))


@tripled.register_fake
def _(x):
    return opweave.empty(x.shape, dtype=x.dtype)


tripled.register_autograd(lambda ctx, grad: grad * 3)


# op: halve_and_add
@triton.jit
def halve_and_add(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    live = i < n
    tl.store(out + i, tl.load(out + i, live) * 2 + tl.load(x + i, live), live)


# op: launch
def launch(x: opweave.Tensor, out: opweave.Tensor) -> None:
    wrap_triton(halve_and_add)[(1,)](x, out, x.numel(), BLOCK=32)


# op: doubled_into
@triton_op("mutation_ops::doubled_into", mutates_args=("out",))
def doubled_into(out: opweave.Tensor, x: opweave.Tensor) -> None:
    wrap_triton(halve_and_add)[(1,)](x, out, x.numel(), BLOCK=32)


# op: doubled
@triton_op("mutation_ops::doubled", mutates_args=())
def doubled(x: opweave.Tensor) -> opweave.Tensor:
    out = opweave.zeros_like(x)
    wrap_triton(halve_and_add)[(1,)](x, out, x.numel(), BLOCK=32)
    return out + x
