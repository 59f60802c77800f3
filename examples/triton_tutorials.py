"""Triton kernels as its tutorials have them: vector addition, fused softmax, matrix product, dropout, layer
normalisation forward and backward, functions of libdevice.

Each has a function that launches it the ordinary way, `kernel[grid](...)`. Pointers may be anything with `data_ptr()`
and a dtype: tensors of opweave or PyTorch. Without a GPU, importing opweave is what makes the kernels run natively.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    start = tl.program_id(axis=0) * BLOCK_SIZE
    offsets = start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


def vector_add(x: Any, y: Any, out: Any) -> None:
    """out = x + y for vectors."""
    n = out.numel()
    add_kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK_SIZE=1024)


@triton.jit
def softmax_kernel(out_ptr, in_ptr, in_stride, out_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0)):
        cols = tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        x = tl.load(in_ptr + row * in_stride + cols, mask=mask, other=-float("inf"))
        numerator = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + cols, numerator / tl.sum(numerator, axis=0), mask=mask)


def softmax(x: Any, out: Any, programs: int = 4) -> None:
    """Softmax over the rows of a contiguous matrix."""
    rows, cols = x.shape
    softmax_kernel[(programs,)](out, x, cols, cols, rows, cols, BLOCK_SIZE=triton.next_power_of_2(cols))


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, BLOCK_M:
    tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    ACTIVATION: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    blocks_m, blocks_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    in_group = GROUP_M * blocks_n
    group = pid // in_group
    first = group * GROUP_M
    size = min(blocks_m - first, GROUP_M)
    pid_m = first + (pid % in_group) % size
    pid_n = (pid % in_group) // size
    rm = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    rn = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    rk = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (rm[:, None] * stride_am + rk[None, :] * stride_ak)
    b_ptrs = b_ptr + (rk[:, None] * stride_bk + rn[None, :] * stride_bn)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=rk[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=rk[:, None] < K - k * BLOCK_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator, input_precision="ieee")
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if ACTIVATION == "leaky_relu":
        accumulator = leaky_relu(accumulator)
    cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * cm[:, None] + stride_cn * cn[None, :]
    tl.store(c_ptrs, accumulator.to(c_ptr.dtype.element_ty), mask=(cm[:, None] < M) & (cn[None, :] < N))


def matmul(a: Any, b: Any, out: Any, activation: str = "", block: int = 32) -> None:
    """out = a · b for contiguous matrices, optionally through leaky_relu."""
    (m, k), n = a.shape, b.shape[1]

    def grid(meta: dict[str, Any]) -> tuple[int]:
        return (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)

    matmul_kernel[grid](
        a, b, out, m, n, k, k, 1, n, 1, n, 1, BLOCK_M=block, BLOCK_N=block, BLOCK_K=block, GROUP_M=8,
        ACTIVATION=activation,
    )  # fmt: skip


@triton.jit
def layer_norm_kernel(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, N, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    total = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for start in range(0, N, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        total += tl.load(x_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    squares = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for start in range(0, N, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / N + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, N, BLOCK_SIZE):
        cols = start + tl.arange(0, BLOCK_SIZE)
        mask = cols < N
        w, b = tl.load(w_ptr + cols, mask=mask), tl.load(b_ptr + cols, mask=mask)
        x = tl.load(x_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + cols, (x - mean) * rstd * w + b, mask=mask)


def layer_norm(x: Any, weight: Any, bias: Any, out: Any, mean: Any, rstd: Any, block: int = 128) -> None:
    """Normalise the rows of a contiguous matrix; also gives each row's mean and reciprocal standard deviation."""
    rows, cols = x.shape
    layer_norm_kernel[(rows,)](x, out, weight, bias, mean, rstd, cols, cols, 1e-5, BLOCK_SIZE=block)


@triton.jit
def layer_norm_dx_kernel(
    dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, locks_ptr, N, GROUPS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    """The input's gradient of a row, and the row's share of the weight's and bias's, added to one of GROUPS sums.

    A lock guards each group, and a count behind the locks says whether anybody has written there yet.
    """
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < N
    x = tl.load(x_ptr + row * N + cols, mask, 0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * N + cols, mask, 0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask, 0.0).to(tl.float32)
    mean, rstd = tl.load(mean_ptr + row), tl.load(rstd_ptr + row)
    xhat = tl.where(mask, (x - mean) * rstd, 0.0)
    wdy = tl.where(mask, w * dy, 0.0)
    along = tl.sum(xhat * wdy, 0) / N
    shift = tl.sum(wdy, 0) / N
    tl.store(dx_ptr + row * N + cols, (wdy - (xhat * along + shift)) * rstd, mask)
    group = row % GROUPS
    dw, db = dy * xhat, dy
    lock, count = locks_ptr + group, locks_ptr + GROUPS + group
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        dw += tl.load(dw_ptr + group * N + cols, mask, 0.0)
        db += tl.load(db_ptr + group * N + cols, mask, 0.0)
    tl.store(dw_ptr + group * N + cols, dw, mask)
    tl.store(db_ptr + group * N + cols, db, mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def layer_norm_dwdb_kernel(
    parts_dw_ptr, parts_db_ptr, dw_ptr, db_ptr, groups, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    """The sums of the groups, added up."""
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    dw = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    db = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for first in range(0, groups, BLOCK_M):
        rows = first + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < groups) & (cols[None, :] < N)
        at = rows[:, None] * N + cols[None, :]
        dw += tl.load(parts_dw_ptr + at, mask, 0.0)
        db += tl.load(parts_db_ptr + at, mask, 0.0)
    tl.store(dw_ptr + cols, tl.sum(dw, 0), cols < N)
    tl.store(db_ptr + cols, tl.sum(db, 0), cols < N)


def layer_norm_backward(
    x: Any,
    weight: Any,
    mean: Any,
    rstd: Any,
    grad: Any,
    grads: tuple[Any, Any, Any],
    parts: tuple[Any, Any],
    locks: Any,
) -> None:
    """Gradients of the input, the weight and the bias.

    `parts` are two scratch matrices, (groups, columns) in float32; `locks` holds 2 · groups int32 zeros.
    """
    rows, cols = x.shape
    (dx, dw, db), (parts_dw, parts_db) = grads, parts
    groups = parts_dw.shape[0]
    layer_norm_dx_kernel[(rows,)](
        dx, grad, parts_dw, parts_db, x, weight, mean, rstd, locks, cols, GROUPS=groups,
        BLOCK_SIZE=triton.next_power_of_2(cols),
    )  # fmt: skip
    layer_norm_dwdb_kernel[(triton.cdiv(cols, 64),)](
        parts_dw, parts_db, dw, db, min(groups, rows), cols, BLOCK_M=16, BLOCK_N=64
    )


@triton.jit
def dropout_kernel(x_ptr, keep_ptr, out_ptr, n, p, BLOCK_SIZE: tl.constexpr):
    i = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = i < n
    x, keep = tl.load(x_ptr + i, mask), tl.load(keep_ptr + i, mask)
    tl.store(out_ptr + i, tl.where(keep, x / (1 - p), 0.0), mask)


@triton.jit
def seeded_dropout_kernel(x_ptr, out_ptr, n, p, seed, BLOCK_SIZE: tl.constexpr):
    """No mask in memory: a number's place and the seed say whether it is kept."""
    i = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = i < n
    x = tl.load(x_ptr + i, mask)
    keep = tl.rand(seed, i) > p
    tl.store(out_ptr + i, tl.where(keep, x / (1 - p), 0.0), mask)


def dropout(x: Any, keep: Any, out: Any, p: float) -> None:
    """out = x / (1 - p) where `keep` is set, else 0."""
    n = x.numel()
    dropout_kernel[(triton.cdiv(n, 1024),)](x, keep, out, n, p, BLOCK_SIZE=1024)


def seeded_dropout(x: Any, out: Any, p: float, seed: int, block: int = 1024) -> None:
    """Dropout that a seed determines, whatever the block."""
    n = x.numel()
    seeded_dropout_kernel[(triton.cdiv(n, block),)](x, out, n, p, seed, BLOCK_SIZE=block)


@triton.jit
def asin_kernel(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    i = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = i < n
    tl.store(y_ptr + i, libdevice.asin(tl.load(x_ptr + i, mask=mask)), mask=mask)


def asin(x: Any, out: Any) -> None:
    """The arc sine, from the library of device functions."""
    n = x.numel()
    asin_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK_SIZE=1024)
