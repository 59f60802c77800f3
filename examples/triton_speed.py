"""Triton kernels at the speed that a CPU allows: streams, a transpose, row-wise fusions, a matrix product.

What they owe to the CPU is the size of their blocks alone: some thousand elements a program, so that a program is worth
its start, and tiles that stay in the cache. The kernels themselves would run on a GPU. `cache_modifier=".cs"` says that
what is stored is not read soon: it goes to memory past the caches, and a CPU does not first read what it writes over.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    tl.store(out + i, tl.load(x + i, live), live, cache_modifier=".cs")


def copy(x: Any, out: Any) -> None:
    """out = x, for vectors."""
    n = x.numel()
    copy_kernel[(triton.cdiv(n, 16384),)](x, out, n, BLOCK=16384)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    tl.store(out + i, tl.load(x + i, live) + tl.load(y + i, live), live, cache_modifier=".cs")


def add(x: Any, y: Any, out: Any) -> None:
    """out = x + y, for vectors."""
    n = x.numel()
    add_kernel[(triton.cdiv(n, 16384),)](x, y, out, n, BLOCK=16384)


@triton.jit
def transpose_kernel(x, out, rows, cols, HIGH: tl.constexpr, WIDE: tl.constexpr):
    r = tl.program_id(0) * HIGH + tl.arange(0, HIGH)
    c = tl.program_id(1) * WIDE + tl.arange(0, WIDE)
    live = (r[:, None] < rows) & (c[None, :] < cols)
    tile = tl.load(x + r[:, None] * cols + c[None, :], live)
    tl.store(out + c[:, None] * rows + r[None, :], tl.trans(tile), tl.trans(live), cache_modifier=".cs")


def transpose(x: Any, out: Any) -> None:
    """out = x.T, contiguous."""
    rows, cols = x.shape
    # A row of the result's tile is two lines of the cache, which are written past it.
    grid = triton.cdiv(rows, 32), triton.cdiv(cols, 1024)
    transpose_kernel[grid](x, out, rows, cols, HIGH=32, WIDE=1024)


@triton.jit
def softmax_kernel(x, out, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    live = c < cols
    at = tl.program_id(0) * cols + c
    row = tl.load(x + at, live, -float("inf"))
    powers = tl.exp(row - tl.max(row, 0))
    tl.store(out + at, powers / tl.sum(powers, 0), live)


def softmax(x: Any, out: Any) -> None:
    """Softmax of each row of a contiguous matrix."""
    rows, cols = x.shape
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))


@triton.jit
def layer_norm_kernel(x, w, b, out, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    live = c < cols
    at = tl.program_id(0) * cols + c
    row = tl.load(x + at, live, 0.0)
    centered = tl.where(live, row - tl.sum(row, 0) / cols, 0.0)
    scale = tl.rsqrt(tl.sum(centered * centered, 0) / cols + 1e-5)
    tl.store(out + at, centered * scale * tl.load(w + c, live) + tl.load(b + c, live), live)


def layer_norm(x: Any, weight: Any, bias: Any, out: Any) -> None:
    """Each row of a contiguous matrix normalised, scaled and shifted."""
    rows, cols = x.shape
    layer_norm_kernel[(rows,)](x, weight, bias, out, cols, BLOCK=triton.next_power_of_2(cols))


@triton.jit
def gelu_chain_kernel(u, v, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    x = tl.load(u + i, live) * 0.7 + 0.1
    y = tl.load(v + i, live)
    # 1 + tanh(z) is 2 sigmoid(2 z).
    gelu = x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))
    tl.store(out + i, gelu * (y * tl.sigmoid(y)), live)


def gelu_chain(u: Any, v: Any, out: Any) -> None:
    """out = gelu(0.7 u + 0.1) * silu(v), for vectors."""
    n = u.numel()
    gelu_chain_kernel[(triton.cdiv(n, 8192),)](u, v, out, n, BLOCK=8192)


@triton.jit
def cross_entropy_kernel(scores, labels, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    live = c < cols
    s = tl.load(scores + row * cols + c, live, -float("inf"))
    most = tl.max(s, 0)
    total = tl.sum(tl.exp(s - most), 0)
    own = tl.load(scores + row * cols + tl.load(labels + row))
    tl.store(out + row, most + tl.log(total) - own)


def cross_entropy(scores: Any, labels: Any, out: Any) -> None:
    """Of each row, minus the logarithm of the probability of its label."""
    rows, cols = scores.shape
    cross_entropy_kernel[(rows,)](scores, labels, out, cols, BLOCK=triton.next_power_of_2(cols))


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        at = start + k
        left = tl.load(a + rows[:, None] * K + at[None, :], (rows[:, None] < M) & (at[None, :] < K), 0.0)
        right = tl.load(b + at[:, None] * N + cols[None, :], (at[:, None] < K) & (cols[None, :] < N), 0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c + rows[:, None] * N + cols[None, :], total, inside)


def matmul(a: Any, b: Any, out: Any) -> None:
    """out = a @ b, for contiguous matrices."""
    (m, k), n = a.shape, b.shape[1]
    grid = triton.cdiv(m, 256), triton.cdiv(n, 256)
    matmul_kernel[grid](a, b, out, m, n, k, BLOCK_M=256, BLOCK_N=256, BLOCK_K=128)
