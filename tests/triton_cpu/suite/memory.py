"""Loads and stores: masks, block pointers, descriptors, pointers from memory, aliasing, narrow types."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import triton
import triton.language as tl
from features import NO_BLOCK_POINTERS

from suite import case

Array = np.ndarray[Any, Any]


def draw(rng: np.random.Generator, *shape: int, dtype: Any = np.int32) -> Array:
    return rng.integers(-99, 99, shape).astype(dtype)


# -- masks


@triton.jit
def masked_copy(x, out, n, other, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, (i < n) & (i % 3 != 0), other), i < n)


for _dtype in ("bool", "int8", "uint8", "int16", "int64", "float16", "bfloat16", "float64"):
    _np: Any = ml_dtypes.bfloat16 if _dtype == "bfloat16" else np.dtype(_dtype)
    case(
        f"masked copy of {_dtype} with another value", masked_copy,
        lambda rng, d=_np: (draw(rng, 100).astype(d), np.zeros(100, d), 83, 1),
        lambda x, out, n, other: np.where(np.arange(100) < n, np.where(np.arange(100) % 3 != 0, x, x.dtype.type(1)),
                                          out),
        1, grid=(4,), constants={"BLOCK": 32},
        interpreter="takes the number 1 for the bits of a bfloat16" if _dtype == "bfloat16" else "",
    )  # fmt: skip


@triton.jit
def other_is_a_tensor(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n, tl.load(y + i) * 2))
    tl.store(out + BLOCK + i, tl.load(x + i * 0, i < n, i))
    tl.store(out + 2 * BLOCK + i, tl.load(x, n > 200, 7) + i)
    tl.store(out, 99, mask=n > 200)


case(
    "masks whose other value is a tensor", other_is_a_tensor,
    lambda rng: (draw(rng, 64), draw(rng, 64), np.zeros((3, 64), np.int32), 50),
    lambda x, y, out, n: np.stack([np.where(np.arange(64) < n, x, 2 * y), np.where(np.arange(64) < n, x[0],
                                   np.arange(64)), 7 + np.arange(64)]), 2, constants={"BLOCK": 64},
)  # fmt: skip


@triton.jit
def masks_of_many_kinds(x, out, n, lo, flag, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i, (i >= lo) & (i < n), -1)
    b = tl.load(x + i, (i < lo) | (i >= n), -2)
    c = tl.load(x + i, (i < n) & (flag > 0), -3)
    d = tl.load(x + i, ~(i < n), -4)
    e = tl.load(x + i, i != lo, -5)
    tl.store(out + i, a)
    tl.store(out + BLOCK + i, b, i > 2)
    tl.store(out + 2 * BLOCK + i, c, (n > i) & (i % 2 == 0))
    tl.store(out + 3 * BLOCK + i, d, BLOCK - 2 > i)
    tl.store(out + 4 * BLOCK + i, e, (i <= n) & (lo <= i))


def _many_masks(x: Array, out: Array, n: int, lo: int, flag: int) -> Array:
    i = np.arange(64)
    w = np.where
    return np.stack([
        w((i >= lo) & (i < n), x, -1), w(i > 2, w((i < lo) | (i >= n), x, -2), 0),
        w((i < n) & (i % 2 == 0), w((i < n) & (flag > 0), x, -3), 0), w(i < 62, w(i >= n, x, -4), 0),
        w((i <= n) & (lo <= i), w(i != lo, x, -5), 0),
    ])  # fmt: skip


for _args in ((50, 3, 1), (0, 64, 0), (64, 0, -1), (-5, 70, 1), (33, 32, 0)):
    case(
        f"masks with bounds {_args}", masks_of_many_kinds,
        lambda rng, a=_args: (draw(rng, 64), np.zeros((5, 64), np.int32), *a), _many_masks, 1,
        constants={"BLOCK": 64},
    )  # fmt: skip


@triton.jit
def narrow_index_masks(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK).to(tl.int8)
    live = i < n
    tl.store(out + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, BLOCK), live, -1))


case(
    "a mask of int8 indices that wrap", narrow_index_masks,
    lambda rng: (draw(rng, 256), np.zeros(256, np.int32), 100),
    lambda x, _, n: np.where(np.arange(256).astype(np.int8) < n, x, -1), 1, constants={"BLOCK": 256},
)  # fmt: skip


@triton.jit
def wrapping_offsets(x, out, start, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    hashed = (i + start) * 1664525 + 1013904223
    at = hashed % BLOCK
    at = tl.where(at < 0, at + BLOCK, at)
    tl.store(out + i, tl.load(x + at))
    tl.store(out + BLOCK + i, (hashed < 0).to(tl.int32))
    tl.store(out + 2 * BLOCK + i, (i + start) < start)


def _wrapping(x: Array, _: Array, start: int) -> Array:
    with np.errstate(over="ignore"):
        i = np.arange(64, dtype=np.int32)
        s = i + np.int32(start)
        h = s * np.int32(1664525) + np.int32(1013904223)
        return np.stack([x[h % 64], h < 0, s < start])


case(
    "offsets that wrap in int32", wrapping_offsets,
    lambda rng: (draw(rng, 64), np.zeros((3, 64), np.int32), 2**31 - 20), _wrapping, 1, constants={"BLOCK": 64},
)  # fmt: skip


# -- strides


@triton.jit
def strided(x, out, sx, so, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i * so, tl.load(x + i * sx) + 1)


for _sx, _so in ((1, 2), (3, 1), (0, 1), (5, 4)):
    case(
        f"strides {_sx} and {_so}", strided,
        lambda rng, s=(_sx, _so): (draw(rng, 200), np.zeros(200, np.int32), *s),
        lambda x, out, a, b: np.where((np.arange(200) % b == 0) & (np.arange(200) < 32 * b),
                                      x[np.minimum(np.arange(200) // b * a, 199)] + 1, out), 1,
        constants={"BLOCK": 32},
    )  # fmt: skip


@triton.jit
def backwards(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    end = x + (n - 1)
    tl.store(out + i, tl.load(end - i, i < n, 0))
    tl.store(out + 2 * BLOCK - 1 - i, tl.load(x + i.to(tl.int64), i < n, 0))


case(
    "negative offsets", backwards, lambda rng: (draw(rng, 50), np.zeros(128, np.int32), 50),
    lambda x, *_: np.concatenate([x[::-1], np.zeros(28), x[::-1]]), 1, constants={"BLOCK": 64},
)  # fmt: skip


@triton.jit
def transpose(x, out, rows, cols, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    live = (r[:, None] < rows) & (c[None, :] < cols)
    v = tl.load(x + r[:, None] * cols + c[None, :], live)
    tl.store(out + c[:, None] * rows + r[None, :], tl.trans(v), (c[:, None] < cols) & (r[None, :] < rows))


for _dtype in ("int8", "float16", "float32", "int64"):
    case(
        f"transpose of {_dtype}", transpose,
        lambda rng, d=_dtype: (draw(rng, 37, 21, dtype=d), np.zeros((21, 37), d), 37, 21), lambda x, *_: x.T, 1,
        grid=(3, 2), constants={"BLOCK": 16},
    )  # fmt: skip


@triton.jit
def gather_scatter(x, index, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    at = tl.load(index + i, live, 0)
    tl.store(out + at, tl.load(x + at, live, 0.0) * 2, live)


case(
    "gather and scatter through an index", gather_scatter,
    lambda rng: (draw(rng, 100, dtype=np.float32), rng.permutation(100), np.zeros(100, np.float32), 90),
    lambda x, index, out, n: np.where(np.isin(np.arange(100), index[:n]), x * 2, out), 2, grid=(4,),
    constants={"BLOCK": 32},
)  # fmt: skip


# -- block pointers


@triton.jit
def block_copy(x, out, rows, cols, r0, c0, M: tl.constexpr, N: tl.constexpr, PAD: tl.constexpr):
    src = tl.make_block_ptr(x, (rows, cols), (cols, 1), (r0, c0), (M, N), (1, 0))
    dst = tl.make_block_ptr(out, (M, N), (N, 1), (0, 0), (M, N), (1, 0))
    tl.store(dst, tl.load(src, boundary_check=(0, 1), padding_option=PAD))


def _window(x: Array, r0: int, c0: int, fill: float) -> Array:
    out = np.full((16, 32), fill)
    for i in range(16):
        for j in range(32):
            if 0 <= r0 + i < x.shape[0] and 0 <= c0 + j < x.shape[1]:
                out[i, j] = x[r0 + i, c0 + j]
    return out


for _r0, _c0, _pad in ((0, 0, "zero"), (5, 10, "zero"), (-3, -7, "nan"), (10, 20, "nan"), (40, 0, "zero")):
    case(
        f"block pointer at {_r0}, {_c0}, padded with {_pad}", block_copy,
        lambda rng, at=(_r0, _c0): (draw(rng, 20, 37, dtype=np.float32), np.ones((16, 32), np.float32), 20, 37, *at),
        lambda x, o, r, c, r0, c0, p=_pad: _window(x, r0, c0, np.nan if p == "nan" else 0.0), 1,
        constants={"M": 16, "N": 32, "PAD": _pad}, missing=NO_BLOCK_POINTERS,
    )  # fmt: skip


@triton.jit
def block_row_sums(x, out, rows, cols, M: tl.constexpr, N: tl.constexpr):
    src = tl.make_block_ptr(x, (rows, cols), (cols, 1), (tl.program_id(0) * M, 0), (M, N), (1, 0))
    total = tl.zeros((M,), tl.int32)
    for _ in range(0, cols, N):
        total += tl.sum(tl.load(src, boundary_check=(0, 1), padding_option="zero"), 1)
        src = tl.advance(src, (0, N))
    dst = tl.make_block_ptr(out, (rows,), (1,), (tl.program_id(0) * M,), (M,), (0,))
    tl.store(dst, total, boundary_check=(0,))


case(
    "a block pointer that advances", block_row_sums,
    lambda rng: (draw(rng, 21, 50), np.zeros(21, np.int32), 21, 50), lambda x, *_: x.sum(1), 1, grid=(3,),
    constants={"M": 8, "N": 16}, missing=NO_BLOCK_POINTERS,
)  # fmt: skip


@triton.jit
def block_transposed(x, out, rows, cols, M: tl.constexpr, N: tl.constexpr):
    src = tl.make_block_ptr(x, (cols, rows), (1, cols), (0, 0), (N, M), (0, 1))
    dst = tl.make_block_ptr(out, (cols, rows), (rows, 1), (0, 0), (N, M), (1, 0))
    tl.store(dst, tl.load(src, boundary_check=(1,)), boundary_check=(0, 1))


case(
    "a block pointer over a transposed matrix", block_transposed,
    lambda rng: (draw(rng, 13, 32), np.zeros((32, 13), np.int32), 13, 32), lambda x, *_: x.T, 1,
    constants={"M": 16, "N": 32}, missing=NO_BLOCK_POINTERS,
)  # fmt: skip


# -- descriptors


@triton.jit
def descriptor_copy(x, out, rows, cols, r0, c0, M: tl.constexpr, N: tl.constexpr):
    src = tl.make_tensor_descriptor(x, [rows, cols], [cols, 1], [M, N])
    dst = tl.make_tensor_descriptor(out, [rows, cols], [cols, 1], [M, N])
    dst.store([r0, c0], src.load([r0, c0]) * 2)


for _r0, _c0 in ((0, 0), (8, 32), (16, 32)):
    case(
        f"descriptors at {_r0}, {_c0}", descriptor_copy,
        lambda rng, at=(_r0, _c0): (draw(rng, 20, 40, dtype=np.float32), np.zeros((20, 40), np.float32), 20, 40, *at),
        lambda x, out, r, c, r0, c0: np.where(
            (np.arange(20)[:, None] // 8 * 8 == r0) & (np.arange(40) // 32 * 32 == c0), 2 * x, out), 1,
        constants={"M": 8, "N": 32},
    )  # fmt: skip


@triton.jit
def descriptor_of_rank(x, out, A, B, C, D, E, RANK: tl.constexpr):
    if RANK == 1:
        d = tl.make_tensor_descriptor(x, [E], [1], [16])
        v = d.load([16])
        tl.store(out + tl.arange(0, 16), v)
    elif RANK == 3:
        d = tl.make_tensor_descriptor(x, [C, D, E], [D * E, E, 1], [2, 4, 16])
        v = d.load([1, 2, 0])
        tl.store(out + tl.arange(0, 128), tl.reshape(v, [128]))
    else:
        d = tl.make_tensor_descriptor(x, [A, B, C, D, E], [B * C * D * E, C * D * E, D * E, E, 1], [1, 2, 2, 4, 16])
        v = d.load([1, 1, 0, 2, 16])
        tl.store(out + tl.arange(0, 256), tl.reshape(v, [256]))


def _rank(x: Array, out: Array, *shape_and_rank: int) -> Array:
    padded = np.pad(x, ((0, 1), (0, 1), (0, 1), (0, 3), (0, 16)))
    sizes = {1: (16,), 3: (2, 4, 16), 5: (1, 2, 2, 4, 16)}
    starts = {1: (16,), 3: (1, 2, 0), 5: (1, 1, 0, 2, 16)}
    rank = shape_and_rank[-1]
    if rank == 1:
        return np.pad(x.ravel()[16:20], (0, 12))
    block = padded if rank == 5 else np.pad(x[0, 0], ((0, 1), (0, 3), (0, 16)))
    window = tuple(slice(s, s + n) for s, n in zip(starts[rank], sizes[rank], strict=True))
    return block[window].ravel()


for _rank_ in (1, 3, 5):
    case(
        f"a descriptor of rank {_rank_}", descriptor_of_rank,
        lambda rng, r=_rank_: (draw(rng, 2, 3, 2, 5, 20, dtype=np.float32),
                               np.zeros({1: 16, 3: 128, 5: 256}[r], np.float32), 2, 3, 2, 5, 20),
        lambda x, out, *s, r=_rank_: _rank(x, out, *s, r), 1, constants={"RANK": _rank_},
    )  # fmt: skip


@triton.jit
def descriptor_gather(x, index, out, rows, cols, M: tl.constexpr, N: tl.constexpr):
    src = tl.make_tensor_descriptor(x, [rows, cols], [cols, 1], [1, N])
    i = tl.load(index + tl.arange(0, M))
    v = src.gather(i, 4)
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], v)


case(
    "a descriptor's gather", descriptor_gather,
    lambda rng: (draw(rng, 20, 16, dtype=np.float32), rng.integers(0, 20, 8, np.int32),
                 np.zeros((8, 16), np.float32), 20, 16),
    lambda x, i, *_: np.pad(x, ((0, 0), (0, 4)))[i, 4:20], 2, constants={"M": 8, "N": 16},
)  # fmt: skip


@triton.jit
def descriptor_scatter(x, index, out, rows, cols, M: tl.constexpr, N: tl.constexpr):
    dst = tl.make_tensor_descriptor(out, [rows, cols], [cols, 1], [1, N])
    i = tl.load(index + tl.arange(0, M))
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    dst.scatter(v, i, 4)


def _scattered(x: Array, i: Array, out: Array, *_: int) -> Array:
    out[i, 4:] = x[:, :12]
    return out


case(
    "a descriptor's scatter", descriptor_scatter,
    lambda rng: (draw(rng, 8, 16, dtype=np.float32), rng.permutation(20)[:8].astype(np.int32),
                 np.zeros((20, 16), np.float32), 20, 16), _scattered, 2, constants={"M": 8, "N": 16},
)  # fmt: skip


@triton.jit
def descriptor_atomics(x, out, rows, cols, M: tl.constexpr, N: tl.constexpr, OP: tl.constexpr):
    src = tl.make_tensor_descriptor(x, [rows, cols], [cols, 1], [M, N])
    dst = tl.make_tensor_descriptor(out, [rows, cols], [cols, 1], [M, N])
    v = src.load([tl.program_id(0) * M, 0])
    if OP == "add":
        dst.atomic_add([0, 0], v)
    elif OP == "min":
        dst.atomic_min([0, 0], v)
    elif OP == "max":
        dst.atomic_max([0, 0], v)
    elif OP == "and":
        dst.atomic_and([0, 0], v)
    elif OP == "or":
        dst.atomic_or([0, 0], v)
    else:
        dst.atomic_xor([0, 0], v)


_ufuncs: dict[str, Any] = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
                           "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip


def _accumulated(ufunc: Any, x: Array, out: Array) -> Array:
    for start in range(0, len(x), 8):
        part = x[start : start + 8]
        out[: len(part)] = ufunc(out[: len(part)], part)
    if len(x) % 8 and ufunc in (np.minimum, np.maximum, np.bitwise_and):
        # Rows outside read as zero, and are stored where they are inside.
        out[len(x) % 8 : 8] = ufunc(out[len(x) % 8 : 8], 0)
    return out


for _op, _ufunc in _ufuncs.items():
    case(
        f"a descriptor's atomic {_op}", descriptor_atomics,
        lambda rng: (draw(rng, 20, 20), draw(rng, 20, 20), 20, 20),
        lambda x, out, *_, u=_ufunc: _accumulated(u, x, out),
        1, grid=(3,), constants={"M": 8, "N": 32, "OP": _op}, interpreter="it has no atomics of descriptors",
    )  # fmt: skip


# -- pointers as data


@triton.jit
def pointer_table(table, out, n, BLOCK: tl.constexpr):
    p = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * n + i, tl.load(p + i, i < n, 0.0) + 1, i < n)


_KEPT: list[Array] = []


def _table(rng: np.random.Generator) -> tuple[Any, ...]:
    _KEPT[:] = [draw(rng, 20, dtype=np.float32) for _ in range(3)]
    return np.array([a.ctypes.data for a in _KEPT]), np.zeros((3, 20), np.float32), 20


case(
    "a table of pointers", pointer_table, _table, lambda *_: np.stack(_KEPT) + 1, 1, grid=(3,),
    constants={"BLOCK": 32},
)  # fmt: skip


@triton.jit
def pointer_tensors(x, table, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    p = tl.load(table + i).to(tl.pointer_type(tl.float32))
    tl.store(out + i, tl.load(p + i))
    tl.store(p + i, tl.load(p) + i)


def _rows(rng: np.random.Generator) -> tuple[Any, ...]:
    matrix = draw(rng, 8, 8, dtype=np.float32)
    return matrix, matrix.ctypes.data + 32 * np.arange(8), np.zeros(8, np.float32)


def _diagonal(x: Array, *_: Array) -> tuple[Array, Array]:
    k = np.arange(8)
    read = x[k, k].copy()
    x[k, k] = x[:, 0] + k
    return x, read


case(
    "a tensor of pointers from memory", pointer_tensors, _rows, _diagonal, (0, 2), constants={"BLOCK": 8},
)  # fmt: skip


@triton.jit
def pointer_choice(x, y, out, flag, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    p = x if flag > 0 else y
    q = tl.where(i % 2 == 0, x + i, y + i)
    tl.store(out + i, tl.load(p + i))
    tl.store(out + BLOCK + i, tl.load(q))
    tl.store(out + 2 * BLOCK + i, (q.to(tl.int64) - x.to(tl.int64) == i * 4).to(tl.int32))


for _flag in (0, 1):
    case(
        f"a choice between pointers, way {_flag}", pointer_choice,
        lambda rng, f=_flag: (draw(rng, 32), draw(rng, 32), np.zeros((3, 32), np.int32), f * 5, 32),
        lambda x, y, _, f, n: np.stack([x if f else y, np.where(np.arange(32) % 2 == 0, x, y), np.arange(32) % 2 == 0]),
        2, constants={"BLOCK": 32},
    )  # fmt: skip


# -- the same memory read and written


@triton.jit
def read_after_write(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    before = tl.load(x + i)
    tl.store(x + i, before * 2)
    middle = tl.load(x + (BLOCK - 1 - i))
    tl.store(x + i, middle + 1)
    after = tl.load(x + i)
    tl.store(out + i, before)
    tl.store(out + BLOCK + i, middle)
    tl.store(out + 2 * BLOCK + i, after)


case(
    "loads on either side of stores", read_after_write,
    lambda rng: (draw(rng, 64), np.zeros((3, 64), np.int32)),
    lambda x, _: (2 * x[::-1] + 1, np.stack([x, 2 * x[::-1], 2 * x[::-1] + 1])), (0, 1), constants={"BLOCK": 64},
)  # fmt: skip


@triton.jit
def rotate_in_place(x, n, shift, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + (i + shift) % n, i < n)
    tl.store(x + i, v, i < n)


for _shift in (1, 5, 40):
    case(
        f"rotation in place by {_shift}", rotate_in_place, lambda rng, s=_shift: (draw(rng, 50), 50, s),
        lambda x, n, s: np.roll(x, -s), 0, constants={"BLOCK": 64},
    )  # fmt: skip


@triton.jit
def transpose_in_place(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = i[:, None] * BLOCK + i[None, :]
    tl.store(x + at, tl.trans(tl.load(x + at)))


case(
    "transpose in place", transpose_in_place, lambda rng: (draw(rng, 32, 32),), lambda x: x.T, 0,
    constants={"BLOCK": 32},
)  # fmt: skip


@triton.jit
def two_names_of_one_place(table, x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    y = tl.load(table).to(tl.pointer_type(tl.int32))
    v = tl.load(y + BLOCK - 1 - i)
    tl.store(x + i, v)


def _aliased(rng: np.random.Generator) -> tuple[Any, ...]:
    x = draw(rng, 64)
    return np.array([x.ctypes.data]), x


case(
    "two names of one place", two_names_of_one_place, _aliased, lambda _, x: x[::-1], 1, constants={"BLOCK": 64},
)  # fmt: skip


@triton.jit
def shifted_alias(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    p = x + 1
    v = tl.load(x + i, i < n - 1)
    tl.store(p + i, v, i < n - 1)


case(
    "a copy onto the next element", shifted_alias, lambda rng: (draw(rng, 50), 50),
    lambda x, n: np.concatenate([x[:1], x[:-1]]), 0, constants={"BLOCK": 64},
)  # fmt: skip


@triton.jit
def loop_through_memory(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for k in range(n):
        a = tl.load(x + i)
        b = tl.load(x + (i ^ 1))
        tl.store(x + i, a + b * k)


def _through_memory(x: Array, n: int) -> Array:
    for k in range(n):
        x = x + x[np.arange(32) ^ 1] * k
    return x


case(
    "a loop whose state is in memory", loop_through_memory,
    lambda rng: (rng.integers(-9, 9, 32), 6), _through_memory, 0, constants={"BLOCK": 32},
)  # fmt: skip


@triton.jit
def conditional_write(x, out, flag, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    w = tl.load(x + i * 0)
    if flag > 0:
        tl.store(x + i, v + 100)
    tl.store(out + i, v + w)
    tl.store(out + BLOCK + i, tl.load(x + i))


for _flag in (0, 2):
    case(
        f"a store in a branch between loads, way {_flag}", conditional_write,
        lambda rng, f=_flag: (draw(rng, 32), np.zeros((2, 32), np.int32), f),
        lambda x, _, f: (x + 100 * (f > 0), np.stack([x + x[0], x + 100 * (f > 0)])), (0, 1), constants={"BLOCK": 32},
    )  # fmt: skip


@triton.jit
def scalars_in_order(x, out):
    a = tl.load(x)
    tl.store(x, a + 1)
    b = tl.load(x)
    tl.store(x + 1, a + b)
    tl.store(x, b * 2)
    tl.store(out, a)
    tl.store(out + 1, b)
    tl.store(out + 2, tl.load(x) + tl.load(x + 1))


case(
    "scalar loads and stores in order", scalars_in_order,
    lambda rng: (np.array([5, 6], np.int32), np.zeros(3, np.int32)),
    lambda *_: (np.array([12, 11]), np.array([5, 6, 23])), (0, 1),
)  # fmt: skip


@triton.jit
def duplicates(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i // 4, tl.load(x + i // 4))


case(
    "several lanes that store one number", duplicates, lambda rng: (draw(rng, 16), np.zeros(16, np.int32)),
    lambda x, _: x, 1, constants={"BLOCK": 64},
)  # fmt: skip


@triton.jit
def hints_and_caches(x, out, n, BLOCK: tl.constexpr):
    i = tl.multiple_of(tl.arange(0, BLOCK), BLOCK)
    p = tl.max_contiguous(x + i, BLOCK)
    tl.assume(n > 0)
    v = tl.load(p, i < n, 0, cache_modifier=".cg", eviction_policy="evict_last", volatile=True)
    tl.debug_barrier()
    tl.store(out + i, v, i < n, cache_modifier=".cs", eviction_policy="evict_first")


case(
    "cache modifiers and hints", hints_and_caches, lambda rng: (draw(rng, 40), np.zeros(40, np.int32), 40),
    lambda x, *_: x, 1, constants={"BLOCK": 64},
)  # fmt: skip


@triton.jit
def long_offsets(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK).to(tl.int64)
    far = x + (1 << 33) * tl.program_id(1).to(tl.int64) + 3_000_000_000
    tl.store(out + i, tl.load(far + (i - 3_000_000_000)))
    u = tl.arange(0, BLOCK).to(tl.uint32)
    tl.store(out + BLOCK + i, tl.load(x + u))


case(
    "offsets beyond 32 bits", long_offsets, lambda rng: (draw(rng, 32), np.zeros((2, 32), np.int32), 32),
    lambda x, *_: np.stack([x, x]), 1, constants={"BLOCK": 32},
)  # fmt: skip


@triton.jit
def bool_buffers(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i, i < n, 0)
    b = tl.load(x + (n - 1 - i), i < n, 1)
    flags = (a ^ b) | (i == 3)
    for _ in range(2):
        flags = flags & (a | b)
    tl.store(out + i, flags, i < n)
    tl.store(out + n + i, tl.trans(tl.reshape(flags, [8, 8])).reshape([64]), i < n)


def _bool_buffers(x: Array, _: Array, n: int) -> Array:
    a, b = np.zeros(64, bool), np.ones(64, bool)
    a[:n], b[:n] = x, x[::-1]
    f = ((a ^ b) | (np.arange(64) == 3)) & (a | b)
    return np.concatenate([f[:n], f.reshape(8, 8).T.ravel()[:n]])


case(
    "booleans in buffers", bool_buffers, lambda rng: (rng.random(50) < 0.5, np.zeros(100, bool), 50), _bool_buffers, 1,
    constants={"BLOCK": 64},
)  # fmt: skip


@triton.jit
def unsigned_indices(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    u = (i + 120).to(tl.uint8)
    tl.store(out + i, tl.load(x + u))
    s = (i * 2).to(tl.int16)
    tl.store(out + BLOCK + i, tl.load(x + s))


case(
    "unsigned bytes as indices", unsigned_indices, lambda rng: (draw(rng, 256), np.zeros((2, 64), np.int32)),
    lambda x, _: np.stack([x[120:184], x[:128:2]]), 1, constants={"BLOCK": 64},
)  # fmt: skip


@triton.jit
def rows_by_pointer_arithmetic(x, out, rows, cols, M: tl.constexpr, N: tl.constexpr):
    base = x + tl.arange(0, M) * cols
    p = base[:, None] + tl.arange(0, N)[None, :]
    live = tl.arange(0, N)[None, :] < cols
    v = tl.load(p, live, 0)
    q = tl.broadcast_to(out + tl.arange(0, N)[None, :] * rows, (M, N)) + tl.arange(0, M)[:, None]
    tl.store(q, v, live)


case(
    "pointers broadcast from rows", rows_by_pointer_arithmetic,
    lambda rng: (draw(rng, 8, 13), np.zeros((13, 8), np.int32), 8, 13), lambda x, *_: x.T, 1,
    constants={"M": 8, "N": 16},
)  # fmt: skip


@triton.jit
def overlapping_stores(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + i, v)
    tl.store(out + i + 1, v * 2)
    tl.store(out + n + i, v * 3, i > 3)
    tl.store(out + 2 * i, v * 4, i % 5 == 0)


def _overlapping(x: Array, out: Array, n: int) -> Array:
    i = np.arange(256)
    out[i] = x
    out[i + 1] = 2 * x
    out[(n + i)[4:]] = (3 * x)[4:]
    out[(2 * i)[::5]] = (4 * x)[::5]
    return out


case(
    "stores that overlap, in order", overlapping_stores,
    lambda rng: (draw(rng, 256), np.zeros(600, np.int32), 7), _overlapping, 1, constants={"BLOCK": 256},
)  # fmt: skip


@triton.jit
def masked_pointer_table(table, out, rows, cols, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.arange(0, M), tl.arange(0, N)
    live = r < rows
    p = tl.load(table + r, live, 0).to(tl.pointer_type(tl.int32))
    inside = live[:, None] & (c[None, :] < cols)
    v = tl.load(p[:, None] + c[None, :], inside, -1)
    tl.store(out + r[:, None] * N + c[None, :], v)


def _matrix_rows(rng: np.random.Generator) -> tuple[Any, ...]:
    x = draw(rng, 5, 13)
    _KEPT[:] = [x]
    return x.ctypes.data + 13 * 4 * np.arange(5), np.zeros((8, 16), np.int32), 5, 13


case(
    "rows whose pointers are loaded under a mask", masked_pointer_table, _matrix_rows,
    lambda *_: np.pad(_KEPT[0], ((0, 3), (0, 3)), constant_values=-1), 1, constants={"M": 8, "N": 16},
)  # fmt: skip


@triton.jit
def pointers_chosen_in_branches(x, y, n, flag, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    source, target = x, y
    if flag > 0:
        source, target = y, x
    v = tl.load(source + (n - 1 - i), i < n)
    tl.store(target + i, v, i < n)
    w = tl.load(target + (n - 1 - i), i < n)
    tl.store(target + i, w + 1, i < n)


for _flag in (0, 1):
    case(
        f"a reversal through chosen pointers, way {_flag}", pointers_chosen_in_branches,
        lambda rng, f=_flag: (draw(rng, 50), draw(rng, 50), 50, 2 * f),
        lambda x, y, n, f: (y + 1, y) if f else (x, x + 1), (0, 1), constants={"BLOCK": 64},
    )  # fmt: skip


@triton.jit
def store_in_a_helper(p, v, live):
    tl.store(p, v, live)
    return tl.load(p, live, 0)


@triton.jit
def helpers_that_write(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i, i < n, 0)
    b = store_in_a_helper(x + (n - 1 - i), a * 2, i < n)
    c = store_in_a_helper(x + i, a + b, i < n)
    tl.store(out + i, a + b + c, i < n)


def _helpers(x: Array, _: Array, n: int) -> tuple[Array, Array]:
    return 3 * x, 6 * x


case(
    "helpers that write between loads", helpers_that_write,
    lambda rng: (draw(rng, 50), np.zeros(50, np.int32), 50), _helpers, (0, 1), constants={"BLOCK": 64},
)  # fmt: skip


@triton.jit
def sliding_window(x, n, steps, BLOCK: tl.constexpr):
    """Each step reads what the step before has written, shifted."""
    i = tl.arange(0, BLOCK)
    p = x + i
    for _ in range(steps):
        left = tl.load(p - 1, (i > 0) & (i < n), 0)
        right = tl.load(p + 1, i < n - 1, 0)
        tl.store(p, left + right, i < n)


def _sliding(x: Array, n: int, steps: int) -> Array:
    for _ in range(steps):
        x = np.concatenate([[0], x[:-1]]) + np.concatenate([x[1:], [0]])
    return x


case(
    "a stencil in place, several steps", sliding_window, lambda rng: (rng.integers(-9, 9, 100), 100, 6), _sliding, 0,
    constants={"BLOCK": 128},
)  # fmt: skip


@triton.jit
def mixed_widths(a, b, c, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    live = i < n
    x = tl.load(a + i, live, 0).to(tl.float64)
    y = tl.load(b + i, live, 0)
    z = tl.load(c + i, live, 0)
    tl.store(out + i, x * y.to(tl.float64) + z, live)
    tl.store(a + i, (y + z.to(tl.int8)).to(tl.int8), live)
    tl.store(c + i, (x + y).to(tl.float16), live)


def _mixed(a: Array, b: Array, c: Array, out: Array, n: int) -> tuple[Array, Array, Array]:
    x, y, z = a.astype(np.float64), b.astype(np.float64), c.astype(np.float64)
    return (b + c.astype(np.int8)).astype(np.int8), (x + y).astype(np.float16), x * y + z


case(
    "types of many widths in one kernel", mixed_widths,
    lambda rng: (rng.integers(-99, 99, 77, np.int8), rng.integers(-9, 9, 77).astype(np.int8),
                 rng.integers(-99, 99, 77).astype(np.float16), np.zeros(77, np.float64), 77),
    _mixed, (0, 2, 3), constants={"BLOCK": 128},
)  # fmt: skip
