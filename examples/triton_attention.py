"""Fused attention in Triton, forward and backward: no matrix of scores is ever stored.

Rows of queries meet the keys block by block. What is carried is the sum of the weights so far, the largest score, and
the weighted sum of the values, rescaled whenever the largest score grows. The backward pass computes the weights again
from the scores and the logarithm of their sum, which the forward pass leaves in `lse`, in base 2.
"""

from __future__ import annotations

import math
from typing import Any

import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, length,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1).to(tl.int64)
    start = head * length * D
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    inside = rows[:, None] < length
    q = tl.load(q_ptr + start + rows[:, None] * D + d[None, :], inside, 0.0)
    largest = tl.full([BLOCK_M], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, D], tl.float32)
    end = length
    if CAUSAL:
        end = tl.minimum(length, (tl.program_id(0) + 1) * BLOCK_M)
    for first in range(0, end, BLOCK_N):
        cols = first + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + start + cols[None, :] * D + d[:, None], cols[None, :] < length, 0.0)
        scores = tl.dot(q, k, input_precision="ieee") * scale
        seen = cols[None, :] < length
        if CAUSAL:
            seen = seen & (cols[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        new = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp2(scores - new[:, None])
        shrink = tl.exp2(largest - new)
        total = total * shrink + tl.sum(weights, 1)
        v = tl.load(v_ptr + start + cols[:, None] * D + d[None, :], cols[:, None] < length, 0.0)
        acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None], input_precision="ieee")
        largest = new
    tl.store(o_ptr + start + rows[:, None] * D + d[None, :], (acc / total[:, None]).to(o_ptr.dtype.element_ty), inside)
    tl.store(lse_ptr + head * length + rows, largest + tl.log2(total), rows < length)


@triton.jit
def attention_delta_kernel(o_ptr, do_ptr, delta_ptr, count, D: tl.constexpr, BLOCK_M: tl.constexpr):
    """Of each row, what softmax's derivative subtracts: the output times its gradient, summed."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    at = rows[:, None] * D + tl.arange(0, D)[None, :]
    inside = rows[:, None] < count
    o = tl.load(o_ptr + at, inside, 0.0).to(tl.float32)
    do = tl.load(do_ptr + at, inside, 0.0).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(o * do, 1), rows < count)


@triton.jit
def attention_dkdv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, dk_ptr, dv_ptr, lse_ptr, delta_ptr, scale, natural_scale, length,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Gradients of a block of keys and values, which all queries that see them add to."""
    head = tl.program_id(1).to(tl.int64)
    start = head * length * D
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    d = tl.arange(0, D)
    at = cols[:, None] * D + d[None, :]
    inside = cols[:, None] < length
    k, v = tl.load(k_ptr + start + at, inside, 0.0), tl.load(v_ptr + start + at, inside, 0.0)
    dk = tl.zeros([BLOCK_N, D], tl.float32)
    dv = tl.zeros([BLOCK_N, D], tl.float32)
    begin = 0
    if CAUSAL:
        begin = tl.program_id(0) * BLOCK_N // BLOCK_M * BLOCK_M
    for first in range(begin, length, BLOCK_M):
        rows = first + tl.arange(0, BLOCK_M)
        live = rows < length
        q = tl.load(q_ptr + start + rows[:, None] * D + d[None, :], live[:, None], 0.0)
        do = tl.load(do_ptr + start + rows[:, None] * D + d[None, :], live[:, None], 0.0)
        lse = tl.load(lse_ptr + head * length + rows, live, 0.0)
        delta = tl.load(delta_ptr + head * length + rows, live, 0.0)
        seen = live[None, :] & inside
        if CAUSAL:
            seen = seen & (cols[:, None] <= rows[None, :])
        scores = tl.dot(k, tl.trans(q), input_precision="ieee") * scale
        p = tl.where(seen, tl.exp2(scores - lse[None, :]), 0.0)
        dv = tl.dot(p.to(do.dtype), do, dv, input_precision="ieee")
        dp = tl.dot(v, tl.trans(do), input_precision="ieee")
        ds = p * (dp - delta[None, :])
        dk = tl.dot(ds.to(q.dtype), q, dk, input_precision="ieee")
    tl.store(dk_ptr + start + at, (dk * natural_scale).to(dk_ptr.dtype.element_ty), inside)
    tl.store(dv_ptr + start + at, dv.to(dv_ptr.dtype.element_ty), inside)


@triton.jit
def attention_dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, dq_ptr, lse_ptr, delta_ptr, scale, natural_scale, length,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Gradient of a block of queries, over all the keys that it sees."""
    head = tl.program_id(1).to(tl.int64)
    start = head * length * D
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    at = rows[:, None] * D + d[None, :]
    inside = rows[:, None] < length
    q, do = tl.load(q_ptr + start + at, inside, 0.0), tl.load(do_ptr + start + at, inside, 0.0)
    lse = tl.load(lse_ptr + head * length + rows, rows < length, 0.0)
    delta = tl.load(delta_ptr + head * length + rows, rows < length, 0.0)
    dq = tl.zeros([BLOCK_M, D], tl.float32)
    end = length
    if CAUSAL:
        end = tl.minimum(length, (tl.program_id(0) + 1) * BLOCK_M)
    for first in range(0, end, BLOCK_N):
        cols = first + tl.arange(0, BLOCK_N)
        live = cols[:, None] < length
        k = tl.load(k_ptr + start + cols[:, None] * D + d[None, :], live, 0.0)
        v = tl.load(v_ptr + start + cols[:, None] * D + d[None, :], live, 0.0)
        seen = cols[None, :] < length
        if CAUSAL:
            seen = seen & (cols[None, :] <= rows[:, None])
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        p = tl.where(seen, tl.exp2(scores - lse[:, None]), 0.0)
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision="ieee")
    tl.store(dq_ptr + start + at, (dq * natural_scale).to(dq_ptr.dtype.element_ty), inside)


def attention(
    q: Any, k: Any, v: Any, out: Any, lse: Any, causal: bool, block: int = 32, keys: int | None = None
) -> None:
    """out = softmax(q kᵀ / √D) v for contiguous (batch, heads, length, D); lse is (batch, heads, length), float32."""
    batch, heads, length, width = q.shape
    scale = 1 / (math.sqrt(width) * math.log(2))  # exp2 is cheaper than exp
    attention_kernel[(triton.cdiv(length, block), batch * heads)](
        q, k, v, out, lse, scale, length, D=width, BLOCK_M=block, BLOCK_N=keys or block, CAUSAL=causal
    )


def attention_backward(
    q: Any, k: Any, v: Any, out: Any, lse: Any, grad: Any, delta: Any, grads: tuple[Any, Any, Any], causal: bool,
    block: int = 32,
) -> None:  # fmt: skip
    """Gradients of q, k and v, from that of the output; `delta` is scratch memory like `lse`."""
    batch, heads, length, width = q.shape
    dq, dk, dv = grads
    natural = 1 / math.sqrt(width)
    count = batch * heads * length
    attention_delta_kernel[(triton.cdiv(count, block),)](out, grad, delta, count, D=width, BLOCK_M=block)
    grid = (triton.cdiv(length, block), batch * heads)
    sizes = {"D": width, "BLOCK_M": block, "BLOCK_N": block, "CAUSAL": causal}
    scales = natural / math.log(2), natural
    attention_dkdv_kernel[grid](q, k, v, grad, dk, dv, lse, delta, *scales, length, **sizes)
    attention_dq_kernel[grid](q, k, v, grad, dq, lse, delta, *scales, length, **sizes)
