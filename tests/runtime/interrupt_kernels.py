"""Kernels that `interrupts.py` interrupts; Triton reads their source from a file."""

import triton
import triton.language as tl

import opweave
from opweave.codegen.triton_cpu.driver import activate
from opweave.library import triton_op, wrap_triton

activate()


@triton.jit
def counted(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i)
    for _ in range(n):
        value = value + 1.0
    tl.store(x + i, value)


@triton.jit
def scaled(x, y, n, C: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, i < n) * C, i < n)


@triton.jit
def moved(x, y, n, C: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.load(x + i, i < n) + C, i < n)


@triton_op("interrupts::shifted", mutates_args=())
def shifted(x: opweave.Tensor, by: int) -> opweave.Tensor:
    y = opweave.empty_like(x)
    wrap_triton(moved)[(3,)](x, y, x.numel(), C=by, B=16)
    return y
