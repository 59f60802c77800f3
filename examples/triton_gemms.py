"""Matrix products beyond one product of two: groups in one launch, persistent programs, scaled narrow formats."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


@triton.jit
def grouped_gemm_kernel(
    a_table, b_table, c_table, sizes_ptr, groups, KIND: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Programs take the tiles of all products in turn, whichever product they belong to."""
    tile = tl.program_id(0)
    before = 0
    for g in range(groups):
        m, n, k = tl.load(sizes_ptr + 3 * g), tl.load(sizes_ptr + 3 * g + 1), tl.load(sizes_ptr + 3 * g + 2)
        across = tl.cdiv(n, BLOCK_N)
        count = tl.cdiv(m, BLOCK_M) * across
        while tile >= before and tile < before + count:
            a = tl.load(a_table + g).to(tl.pointer_type(KIND))
            b = tl.load(b_table + g).to(tl.pointer_type(KIND))
            c = tl.load(c_table + g).to(tl.pointer_type(KIND))
            rows = (tile - before) // across * BLOCK_M + tl.arange(0, BLOCK_M)
            cols = (tile - before) % across * BLOCK_N + tl.arange(0, BLOCK_N)
            total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
            for start in range(0, k, BLOCK_K):
                inner = start + tl.arange(0, BLOCK_K)
                x = tl.load(a + rows[:, None] * k + inner[None, :], (rows[:, None] < m) & (inner[None, :] < k), 0.0)
                y = tl.load(b + inner[:, None] * n + cols[None, :], (inner[:, None] < k) & (cols[None, :] < n), 0.0)
                total = tl.dot(x, y, total, input_precision="ieee")
            tl.store(c + rows[:, None] * n + cols[None, :], total.to(KIND), (rows[:, None] < m) & (cols[None, :] < n))
            tile += tl.num_programs(0)
        before += count


def grouped_gemm(a_table: Any, b_table: Any, c_table: Any, sizes: Any, kind: Any, programs: int = 4) -> None:
    """Products of contiguous matrices given by their addresses; `sizes` holds m, n and k of each, int32."""
    grouped_gemm_kernel[(programs,)](
        a_table, b_table, c_table, sizes, sizes.shape[0], KIND=kind, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32
    )


@triton.jit
def persistent_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):  # fmt: skip
    """As many programs as there are processors; each walks over tiles through tensor descriptors, b transposed."""
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    b = tl.make_tensor_descriptor(b_ptr, [N, K], [K, 1], [BLOCK_N, BLOCK_K])
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    blocks_m, blocks_n, steps = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    in_group = GROUP_M * blocks_n
    for tile in tl.range(tl.program_id(0), blocks_m * blocks_n, tl.num_programs(0), flatten=True):
        first = tile // in_group * GROUP_M
        size = min(blocks_m - first, GROUP_M)
        row = (first + tile % in_group % size) * BLOCK_M
        col = tile % in_group // size * BLOCK_N
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for k in range(steps):
            x, y = a.load([row, k * BLOCK_K]), b.load([col, k * BLOCK_K])
            total = tl.dot(x, y.T, total, input_precision="ieee")
        c.store([row, col], total.to(c_ptr.dtype.element_ty))


def persistent_matmul(a: Any, b_transposed: Any, out: Any, programs: int = 3) -> None:
    """out = a · b for contiguous a (M, K) and b given as (N, K); K and N in multiples of 16 bytes."""
    (m, k), n = a.shape, b_transposed.shape[0]
    persistent_matmul_kernel[(programs,)](a, b_transposed, out, m, n, k, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32, GROUP_M=4)


@triton.jit
def block_scaled_matmul_kernel(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, M, N, K, A: tl.constexpr, B: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Operands of 8 or 4 bits a number, with a power of two for every 32 of them along K."""
    A_PACK: tl.constexpr = 2 if A == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B == "e2m1" else 1
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        ka = start // A_PACK + tl.arange(0, BLOCK_K // A_PACK)
        kb = start // B_PACK + tl.arange(0, BLOCK_K // B_PACK)
        ks = start // 32 + tl.arange(0, BLOCK_K // 32)
        x = tl.load(a_ptr + rows[:, None] * (K // A_PACK) + ka[None, :], rows[:, None] < M, 0)
        y = tl.load(b_ptr + cols[None, :] * (K // B_PACK) + kb[:, None], cols[None, :] < N, 0)
        xs = tl.load(a_scale_ptr + rows[:, None] * (K // 32) + ks[None, :], rows[:, None] < M, 0)
        ys = tl.load(b_scale_ptr + cols[:, None] * (K // 32) + ks[None, :], cols[:, None] < N, 0)
        total = tl.dot_scaled(x, xs, A, y, ys, B, total)
    at = rows[:, None] * N + cols[None, :]
    tl.store(c_ptr + at, total, (rows[:, None] < M) & (cols[None, :] < N))


def block_scaled_matmul(
    a: Any, a_scale: Any, b: Any, b_scale: Any, out: Any, inner: int, formats: tuple[str, str] = ("e4m3", "e4m3")
) -> None:
    """out = a · bᵀ of matrices of bytes, (M, K) and (N, K) (half as wide for e2m1), scaled by (M, K/32), (N, K/32)."""
    m, n = out.shape
    block_scaled_matmul_kernel[(triton.cdiv(m, 32), triton.cdiv(n, 32))](
        a, a_scale, b, b_scale, out, m, n, inner, A=formats[0], B=formats[1], BLOCK_M=32, BLOCK_N=32, BLOCK_K=64
    )
