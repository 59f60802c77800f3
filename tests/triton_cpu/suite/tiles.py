"""Values that are read in one direction and needed in the other: transposes, and products of transposed operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl

from suite import case

Array = np.ndarray[Any, Any]


def draw(rng: np.random.Generator, *sizes: int, dtype: str = "float32") -> Array:
    return rng.integers(-8, 9, sizes).astype(dtype)


@triton.jit
def transpose(x, out, rows, cols, HIGH: tl.constexpr, WIDE: tl.constexpr):
    r = tl.program_id(0) * HIGH + tl.arange(0, HIGH)
    c = tl.program_id(1) * WIDE + tl.arange(0, WIDE)
    live = (r[:, None] < rows) & (c[None, :] < cols)
    tile = tl.load(x + r[:, None] * cols + c[None, :], live)
    tl.store(out + c[:, None] * rows + r[None, :], tl.trans(tile), tl.trans(live))


for _type in ("float32", "float64", "int32", "float16", "int64", "uint8"):
    for _rows, _cols, _high, _wide in ((32, 64, 32, 64), (33, 70, 16, 32), (5, 130, 8, 64), (9, 9, 4, 16)):
        case(
            f"transpose of {_rows} x {_cols} {_type}", transpose,
            lambda rng, r=_rows, c=_cols, t=_type: [draw(rng, r * c, dtype=t if t != "uint8" else "int8").astype(t),
                                                    np.zeros(r * c, t), r, c],
            lambda x, out, r, c: x.reshape(r, c).T.reshape(-1), 1,
            grid=(-(-_rows // _high), -(-_cols // _wide)), constants={"HIGH": _high, "WIDE": _wide},
        )  # fmt: skip


@triton.jit
def both_directions(x, out, sums, N: tl.constexpr):
    """The tile is needed as it lies, too, and again after it was stored."""
    r, c = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tile = tl.load(x + r * N + c)
    tl.store(out + r * N + c, tl.trans(tile) * 2 + tile)
    tl.store(sums + tl.arange(0, N), tl.sum(tile, 1))


case(
    "a tile in both directions", both_directions,
    lambda rng: [draw(rng, 1024), np.zeros(1024, "f4"), np.zeros(32, "f4")],
    lambda x, out, sums: ((x.reshape(32, 32).T * 2 + x.reshape(32, 32)).reshape(-1), x.reshape(32, 32).sum(1)), (1, 2),
    constants={"N": 32},
)  # fmt: skip


@triton.jit
def in_place(x, N: tl.constexpr):
    r, c = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(x + r * N + c, tl.trans(tl.load(x + r * N + c)))


case("transpose a block in place", in_place, lambda rng: [draw(rng, 4096)],
     lambda x: x.reshape(64, 64).T.reshape(-1), 0,
     constants={"N": 64})  # fmt: skip


@triton.jit
def product(a, b, c, M, N, K, AM, AK, BK, BN, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), c.dtype.element_ty)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        left = tl.load(a + m[:, None] * AM + k[None, :] * AK, (m[:, None] < M) & (k[None, :] < K), 0.0)
        right = tl.load(b + k[:, None] * BK + n[None, :] * BN, (k[:, None] < K) & (n[None, :] < N), 0.0)
        total = tl.dot(left, right, total, input_precision="ieee", out_dtype=c.dtype.element_ty)
    tl.store(c + m[:, None] * N + n[None, :], total, (m[:, None] < M) & (n[None, :] < N))


def _operands(rng: np.random.Generator, m: int, n: int, k: int, left: bool, right: bool, dtype: str) -> list[Any]:
    a, b = draw(rng, m * k, dtype=dtype), draw(rng, k * n, dtype=dtype)
    steps = (*((1, m) if left else (k, 1)), *((1, k) if right else (n, 1)))
    return [a, b, np.zeros(m * n, dtype), m, n, k, *steps]


def _product(a: Array, b: Array, c: Array, m: int, n: int, k: int, am: int, ak: int, bk: int, bn: int) -> Array:
    left = a.reshape(k, m).T if am == 1 and ak == m and m > 1 else a.reshape(m, k)
    right = b.reshape(n, k).T if bk == 1 and bn == k and k > 1 else b.reshape(k, n)
    return (left @ right).reshape(-1)


for _type in ("float32", "float64"):
    for _left in (False, True):
        for _right in (False, True):
            for _m, _n, _k in ((64, 64, 32), (50, 70, 45), (16, 33, 64)):
                case(
                    f"product {_m} {_n} {_k} of {_type}{' left.T' * _left}{' right.T' * _right}", product,
                    lambda rng, rest=(_m, _n, _k, _left, _right, _type): _operands(rng, *rest),
                    _product, 2, grid=(-(-_m // 32), -(-_n // 64)),
                    constants={"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 16},
                )  # fmt: skip


@triton.jit
def chained(a, b, c, out, N: tl.constexpr):
    """The first product is the right operand of the second, and its transpose the left one."""
    r, i = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    at = r * N + i
    inner = tl.dot(tl.load(a + at), tl.load(b + at), input_precision="ieee")
    both = tl.dot(tl.trans(inner), inner, input_precision="ieee")
    tl.store(out + at, tl.dot(both, tl.trans(tl.load(c + at)), input_precision="ieee"))


def _chained(a: Array, b: Array, c: Array, out: Array) -> Array:
    x, y, z = (v.astype("f8").reshape(32, 32) for v in (a, b, c))
    return ((x @ y).T @ (x @ y) @ z.T).reshape(-1)


case(
    "chained products", chained,
    lambda rng: [*(rng.integers(-2, 3, 1024).astype("f4") for _ in range(3)), np.zeros(1024, "f4")], _chained, 3,
    constants={"N": 32},
)  # fmt: skip
