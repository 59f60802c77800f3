"""Kernels as Triton's tutorials have them: vector addition, fused softmax, matrix product, layer normalisation.

They are launched the ordinary way, `kernel[grid](...)`, through the plug-in.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.runtime.driver import driver as triton_driver

from opweave.codegen.triton_cpu.driver import activate
from opweave.codegen.triton_cpu.launch import HostArray


@pytest.fixture(scope="module", autouse=True)
def native_backend() -> Iterator[None]:
    before = triton_driver._active
    activate()
    yield
    triton_driver._active = before


def host(*arrays: np.ndarray) -> list[HostArray]:
    return [HostArray(a) for a in arrays]


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    start = tl.program_id(axis=0) * BLOCK_SIZE
    offsets = start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, total, mask=mask)


@pytest.mark.parametrize("n", [0, 1, 98432])
def test_vector_add(n: int) -> None:
    x, y = np.random.default_rng(0).random((2, n), dtype=np.float32)
    out = np.empty_like(x)
    add_kernel[(triton.cdiv(n, 1024),)](*host(x, y, out), n, BLOCK_SIZE=1024)
    np.testing.assert_array_equal(out, x + y)


@triton.jit
def softmax_kernel(out_ptr, in_ptr, in_stride, out_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0)):
        cols = tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        x = tl.load(in_ptr + row * in_stride + cols, mask=mask, other=-float("inf"))
        numerator = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * out_stride + cols, numerator / tl.sum(numerator, axis=0), mask=mask)


@pytest.mark.parametrize(("rows", "cols"), [(183, 781), (3, 1), (5, 64)])
def test_fused_softmax(rows: int, cols: int) -> None:
    x = np.random.default_rng(0).standard_normal((rows, cols)).astype(np.float32)
    out = np.empty_like(x)
    softmax_kernel[(4,)](*host(out, x), cols, cols, rows, cols, BLOCK_SIZE=triton.next_power_of_2(cols))
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=1e-6)


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


@pytest.mark.parametrize("dtype", [np.float16, np.float32], ids=["f16", "f32"])
@pytest.mark.parametrize("activation", ["", "leaky_relu"])
def test_matrix_multiplication(dtype: type, activation: str) -> None:
    m, n, k = 100, 70, 90
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    out = np.empty((m, n), dtype)
    matmul_kernel[lambda meta: (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)](
        *host(a, b, out),
        m,
        n,
        k,
        k,
        1,
        n,
        1,
        n,
        1,
        BLOCK_M=32,
        BLOCK_N=32,
        BLOCK_K=32,
        GROUP_M=8,
        ACTIVATION=activation,
    )
    want = a.astype(np.float64) @ b.astype(np.float64)
    want = np.where(want >= 0, want, 0.01 * want) if activation else want
    tolerance = 1e-5 if dtype is np.float32 else 2e-3
    np.testing.assert_allclose(out.astype(np.float64), want, rtol=tolerance, atol=tolerance)


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


@pytest.mark.parametrize("dtype", [np.float16, np.float32], ids=["f16", "f32"])
def test_layer_norm(dtype: type) -> None:
    m, n = 50, 300
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((m, n)) * 2 + 0.5).astype(dtype)
    w, b = rng.standard_normal((2, n)).astype(dtype)
    y, mean, rstd = np.empty_like(x), np.empty(m, np.float32), np.empty(m, np.float32)
    layer_norm_kernel[(m,)](*host(x, y, w, b, mean, rstd), n, n, 1e-5, BLOCK_SIZE=128)
    f = x.astype(np.float64)
    np.testing.assert_allclose(mean, f.mean(1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(rstd, 1 / np.sqrt(f.var(1) + 1e-5), rtol=1e-5)
    want = (f - f.mean(1, keepdims=True)) / np.sqrt(f.var(1, keepdims=True) + 1e-5) * w + b
    tolerance = 1e-4 if dtype is np.float32 else 1e-2
    np.testing.assert_allclose(y.astype(np.float64), want, rtol=tolerance, atol=tolerance)
