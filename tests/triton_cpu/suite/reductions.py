"""Reductions and scans: any axis, any combine function, several operands, NaNs and ties."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import triton
import triton.language as tl

from suite import case

Array = np.ndarray[Any, Any]
F32 = np.finfo(np.float32).eps


def normal(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> Array:
    return rng.standard_normal(shape).astype(dtype)


def integers(rng: np.random.Generator, *shape: int, dtype: Any = np.int32) -> Array:
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


# -- sums, products, extremes


@triton.jit
def row_statistics(x, total, largest, smallest, rows, cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    r = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    c = tl.arange(0, BLOCK_N)
    live = (r[:, None] < rows) & (c[None, :] < cols)
    at = x + r[:, None] * cols + c[None, :]
    tl.store(total + r, tl.sum(tl.load(at, live, 0), 1), r < rows)
    tl.store(largest + r, tl.max(tl.load(at, live, -100), 1), r < rows)
    tl.store(smallest + r, tl.min(tl.load(at, live, 100), 1), r < rows)


case(
    "sums and extremes of the rows of a ragged matrix", row_statistics,
    lambda rng: (rng.integers(-100, 100, (13, 50), np.int32, endpoint=True), *np.zeros((3, 13), np.int32), 13, 50),
    lambda x, *_: (x.sum(1), x.max(1), x.min(1)), (1, 2, 3), grid=(4,), constants={"BLOCK_M": 4, "BLOCK_N": 64},
)  # fmt: skip
case(
    "sums of float rows", row_statistics,
    lambda rng: (normal(rng, 13, 50), *np.zeros((3, 13), np.float32), 13, 50),
    lambda x, *_: (x.astype(np.float64).sum(1), x.max(1), x.min(1)), (1, 2, 3), grid=(4,),
    constants={"BLOCK_M": 4, "BLOCK_N": 64}, rtol=0.0, atol=64 * float(F32),  # 50 additions of numbers about 1
)  # fmt: skip


@triton.jit
def reduce_axis(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr, OP: tl.constexpr):
    i, j, k = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    at = i * (B * C) + j * C + k
    v = tl.load(x + at)
    if OP == "sum":
        y = tl.sum(v, AXIS, keep_dims=True)
    elif OP == "max":
        y = tl.max(v, AXIS, keep_dims=True)
    elif OP == "min":
        y = tl.min(v, AXIS, keep_dims=True)
    elif OP == "xor":
        y = tl.xor_sum(v, AXIS, keep_dims=True)
    elif OP == "or":
        y = tl.reduce_or(v, AXIS, keep_dims=True)
    elif OP == "argmax":
        y = tl.argmax(v, AXIS, keep_dims=True)
    else:
        y = tl.argmin(v, AXIS, keep_dims=True)
    tl.store(out + at, tl.broadcast_to(y, (A, B, C)).to(out.dtype.element_ty))


NUMPY_REDUCTIONS: dict[str, Any] = {
    "sum": lambda x, a: x.sum(a, dtype=x.dtype if x.itemsize > 4 else np.int32, keepdims=True),
    "max": lambda x, a: x.max(a, keepdims=True),
    "min": lambda x, a: x.min(a, keepdims=True),
    "xor": lambda x, a: np.bitwise_xor.reduce(x, a, keepdims=True),
    "or": lambda x, a: np.bitwise_or.reduce(x, a, keepdims=True),
    "argmax": lambda x, a: x.argmax(a, keepdims=True),
    "argmin": lambda x, a: x.argmin(a, keepdims=True),
}
for _axis in range(3):
    for _op, _dtype in zip(
        NUMPY_REDUCTIONS, ("int64", "int16", "uint8", "int32", "int8", "int8", "uint16"), strict=True
    ):
        case(
            f"{_op} of {_dtype} along axis {_axis} of three, kept", reduce_axis,
            lambda rng, d=_dtype: (integers(rng, 4, 8, 16, dtype=d), np.zeros((4, 8, 16), np.int64)),
            lambda x, out, op=_op, a=_axis: np.broadcast_to(NUMPY_REDUCTIONS[op](x, a), out.shape), 1,
            constants={"A": 4, "B": 8, "C": 16, "AXIS": _axis, "OP": _op},
        )  # fmt: skip


@triton.jit
def sum_everything(x, out, N: tl.constexpr, M: tl.constexpr):
    at = tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :]
    v = tl.load(x + at)
    tl.store(out, tl.sum(v))
    tl.store(out + 1, tl.sum(v, dtype=tl.int64))
    tl.store(out + 2, tl.max(v))
    tl.store(out + 3, tl.sum(tl.sum(v, 1, dtype=tl.int64), 0))


case(
    "reductions over all axes, narrow and wide", sum_everything,
    lambda rng: (integers(rng, 16, 8), np.zeros(4, np.int64)),
    lambda x, _: np.array([x.sum(dtype=np.int32), x.sum(dtype=np.int64), x.max(), x.sum(dtype=np.int64)]), 1,
    constants={"N": 16, "M": 8}, interpreter="sums int32 in int64, and then cannot store the sum as int32",
)  # fmt: skip


@triton.jit
def bool_reductions(x, out, rows: tl.constexpr, cols: tl.constexpr):
    at = tl.arange(0, rows)[:, None] * cols + tl.arange(0, cols)[None, :]
    v = tl.load(x + at)
    r = tl.arange(0, rows)
    tl.store(out + r, tl.sum((v > 0).to(tl.int32), 1))
    tl.store(out + rows + r, tl.max((v > 0).to(tl.int1), 1).to(tl.int32))
    tl.store(out + 2 * rows + r, tl.xor_sum((v > 0).to(tl.int1), 1).to(tl.int32))
    tl.store(out + 3 * rows + r, tl.reduce_or((v > 1.5).to(tl.int1), 1).to(tl.int32))
    tl.store(out + 4 * rows + r, tl.sum(v > 0, 1).to(tl.int32))


def _bool_reference(x: Array, _: Array) -> Array:
    p = x > 0
    return np.stack([p.sum(1), p.any(1), p.sum(1) % 2, (x > 1.5).any(1), p.sum(1)])


case(
    "reductions of booleans", bool_reductions,
    lambda rng: (normal(rng, 8, 16), np.zeros((5, 8), np.int32)), _bool_reference, 1,
    constants={"rows": 8, "cols": 16},
)  # fmt: skip


@triton.jit
def float_extremes(x, out, index, rows: tl.constexpr, cols: tl.constexpr):
    at = tl.arange(0, rows)[:, None] * cols + tl.arange(0, cols)[None, :]
    v = tl.load(x + at)
    r = tl.arange(0, rows)
    tl.store(out + r, tl.max(v, 1))
    tl.store(out + rows + r, tl.min(v, 1))
    tl.store(index + r, tl.argmax(v, 1))
    tl.store(index + rows + r, tl.argmin(v, 1))


def _with_nans(rng: np.random.Generator) -> Array:
    x = rng.integers(-3, 4, (8, 32)).astype(np.float32)
    x[0] = np.nan
    x[1, 1:] = np.nan
    x[2, ::3] = np.nan
    x[3] = -np.inf
    x[4] = np.inf
    x[5, 1::2] = -np.inf
    return x


@triton.jit
def nan_extremes(x, out, rows: tl.constexpr, cols: tl.constexpr):
    at = tl.arange(0, rows)[:, None] * cols + tl.arange(0, cols)[None, :]
    v = tl.load(x + at)
    r = tl.arange(0, rows)
    tl.store(out + r, tl.max(v, 1))
    tl.store(out + rows + r, tl.min(v, 1))
    c = tl.arange(0, cols)
    w = tl.load(x + c[:, None] + tl.arange(0, rows)[None, :] * cols)
    tl.store(out + 2 * rows + r, tl.max(w, 0))
    tl.store(out + 3 * rows + r, tl.min(w, 0))


def _nan_reference(x: Array, _: Array) -> Array:
    with np.errstate(invalid="ignore"):
        big, small = np.fmax.reduce(x, 1), np.fmin.reduce(x, 1)
    return np.stack([big, small, big, small])


for _dtype in ("float32", "float16", "float64", "bfloat16"):
    _np: Any = ml_dtypes.bfloat16 if _dtype == "bfloat16" else np.dtype(_dtype)
    case(
        f"extremes of {_dtype} pass over NaNs, and a row of NaNs is NaN", nan_extremes,
        lambda rng, d=_np: (_with_nans(rng).astype(d), np.zeros((4, 8), np.float64)), _nan_reference, 1,
        constants={"rows": 8, "cols": 32},
    )  # fmt: skip


case(
    "first of equal extremes", float_extremes,
    lambda rng: (rng.integers(-2, 3, (16, 64)).astype(np.float32), np.zeros((2, 16), np.float32),
                 np.zeros((2, 16), np.int32)),
    lambda x, *_: (np.stack([x.max(1), x.min(1)]), np.stack([x.argmax(1), x.argmin(1)])), (1, 2),
    constants={"rows": 16, "cols": 64},
)  # fmt: skip


@triton.jit
def extremes_without_ties(x, out, value, rows: tl.constexpr, cols: tl.constexpr):
    at = tl.arange(0, rows)[:, None] * cols + tl.arange(0, cols)[None, :]
    v = tl.load(x + at)
    best, where = tl.max(v, 0, return_indices=True, return_indices_tie_break_left=False)
    c = tl.arange(0, cols)
    tl.store(out + c, where)
    tl.store(value + c, best)


case(
    "argmax without ties", extremes_without_ties,
    lambda rng: (rng.permutation(512).astype(np.int64).reshape(16, 32), np.zeros(32, np.int32), np.zeros(32, np.int64)),
    lambda x, *_: (x.argmax(0), x.max(0)), (1, 2), constants={"rows": 16, "cols": 32},
)  # fmt: skip


# -- combine functions of several operands


@triton.jit
def welford_combine(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    delta = mean_b - mean_a
    share = tl.where(n == 0, 0.0, n_b / tl.maximum(n, 1.0))
    return mean_a + delta * share, m2_a + m2_b + delta * delta * n_a * share, n


@triton.jit
def welford(x, mean, variance, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    live = c < cols
    v = tl.load(x + row * cols + c, live, 0.0)
    m, m2, n = tl.reduce((v, tl.zeros_like(v), live.to(tl.float32)), 0, welford_combine)
    tl.store(mean + row, m)
    tl.store(variance + row, m2 / n)


case(
    "variance by a combine function of three operands", welford,
    lambda rng: (normal(rng, 5, 200), np.zeros(5, np.float32), np.zeros(5, np.float32), 5, 200),
    lambda x, *_: (x.astype(np.float64).mean(1), x.astype(np.float64).var(1)), (1, 2), grid=(5,),
    constants={"BLOCK": 256}, rtol=1e-5, atol=1e-6,  # 8 levels of combining, each some roundings
)  # fmt: skip


@triton.jit
def absolute_maximum(a, b):
    return tl.maximum(tl.abs(a), tl.abs(b))


@triton.jit
def clamped_sum(a, b):
    total = a + b
    return tl.where(total > 100, 100, total)


@triton.jit
def product(a, b):
    return a * b


@triton.jit
def custom_reductions(x, out, rows: tl.constexpr, cols: tl.constexpr):
    at = tl.arange(0, rows)[:, None] * cols + tl.arange(0, cols)[None, :]
    v = tl.load(x + at)
    c = tl.arange(0, cols)
    tl.store(out + c, tl.reduce(v, 0, absolute_maximum))
    tl.store(out + cols + c, tl.reduce(tl.abs(v), 0, clamped_sum))
    tl.store(out + 2 * cols + c, tl.reduce(v, 0, product))
    tl.store(out + 3 * cols + c, tl.reduce(v.to(tl.int8), 0, product).to(tl.int32))


def _custom_reference(x: Array, _: Array) -> Array:
    with np.errstate(over="ignore"):
        small = np.multiply.reduce(x.astype(np.int8), 0, dtype=np.int8)
        return np.stack(
            [np.abs(x).max(0), np.minimum(np.abs(x).sum(0), 100), np.multiply.reduce(x, 0, dtype=np.int32), small]
        )


case(
    "combine functions with clamps and products", custom_reductions,
    lambda rng: (rng.integers(-9, 10, (16, 32), np.int32), np.zeros((4, 32), np.int32)), _custom_reference, 1,
    constants={"rows": 16, "cols": 32},
)  # fmt: skip


@triton.jit
def branching_combine(a, b):
    if a > b:
        result = a * 2
    else:
        result = b * 2
    return result // 2


@triton.jit
def reduce_with_a_branch(x, out, rows: tl.constexpr, cols: tl.constexpr):
    at = tl.arange(0, rows)[:, None] * cols + tl.arange(0, cols)[None, :]
    v = tl.load(x + at)
    tl.store(out + tl.arange(0, rows), tl.reduce(v, 1, branching_combine))
    tl.store(out + rows + tl.arange(0, cols), tl.reduce(v, 0, branching_combine))
    tl.store(out + rows + cols + at, tl.associative_scan(v, 1, branching_combine))


case(
    "a combine function with an if", reduce_with_a_branch,
    lambda rng: (rng.integers(-999, 999, (8, 16), np.int32), np.zeros(24 + 128, np.int32)),
    lambda x, _: np.concatenate([x.max(1), x.max(0), np.maximum.accumulate(x, 1).ravel()]), 1,
    constants={"rows": 8, "cols": 16},
)  # fmt: skip


@triton.jit
def looping_combine(a, b):
    for _ in range(3):
        a, b = tl.maximum(a, b), tl.minimum(a, b)
    return a


@triton.jit
def reduce_with_a_loop(x, out, N: tl.constexpr):
    tl.store(out, tl.reduce(tl.load(x + tl.arange(0, N)), 0, looping_combine))


case(
    "a combine function with a loop", reduce_with_a_loop,
    lambda rng: (rng.integers(-999, 999, 64, np.int32), np.zeros(1, np.int32)), lambda x, _: x.max(), 1,
    constants={"N": 64},
)  # fmt: skip


@triton.jit
def nested_reductions(x, out, rows: tl.constexpr, cols: tl.constexpr):
    at = tl.arange(0, rows)[:, None] * cols + tl.arange(0, cols)[None, :]
    v = tl.load(x + at)
    centred = v - tl.max(v, 1)[:, None]
    e = tl.exp(centred)
    p = e / tl.sum(e, 1)[:, None]
    best = tl.max(p, 0)
    tl.store(out + at, p * (p == best[None, :]).to(tl.float32))


def _nested_reference(x: Array, _: Array) -> Array:
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    p = e / e.sum(1, keepdims=True)
    return p * (p == p.max(0))


case(
    "a reduction of a softmax along the other axis", nested_reductions,
    lambda rng: (normal(rng, 16, 32), np.zeros((16, 32), np.float32)), _nested_reference, 1,
    constants={"rows": 16, "cols": 32}, rtol=1e-5,  # exp to an ulp, 32 additions
)  # fmt: skip


@triton.jit
def softmax(x, out, rows: tl.constexpr, cols: tl.constexpr):
    at = tl.arange(0, rows)[:, None] * cols + tl.arange(0, cols)[None, :]
    v = tl.load(x + at)
    tl.store(out + at, tl.softmax(v, 1))
    tl.store(out + rows * cols + at, tl.softmax(v, 0, keep_dims=True))


def _softmax(x: Array, axis: int) -> Array:
    e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@triton.jit
def softmax_columns(x, out, rows: tl.constexpr, cols: tl.constexpr):
    at = tl.arange(0, rows)[:, None] * cols + tl.arange(0, cols)[None, :]
    tl.store(out + at, tl.softmax(tl.load(x + at), 0, keep_dims=True))


case(
    "softmax of the columns", softmax_columns,
    lambda rng: (normal(rng, 16, 32), np.zeros((16, 32), np.float32)), lambda x, _: _softmax(x, 0), 1,
    constants={"rows": 16, "cols": 32}, rtol=1e-6,
)  # fmt: skip


@triton.jit
def accumulate_over_tiles(x, out, n, BLOCK: tl.constexpr):
    total = 0.0
    best = -float("inf")
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + i, i < n, 0.0)
        total += tl.sum(v)
        best = tl.maximum(best, tl.max(tl.where(i < n, v, -float("inf"))))
    tl.store(out, total)
    tl.store(out + 1, best)


for _n in (0, 1, 64, 333):
    case(
        f"scalars carried over {_n} elements", accumulate_over_tiles,
        lambda rng, n=_n: (rng.integers(-50, 50, n + 1).astype(np.float32), np.zeros(2, np.float32), n),
        lambda x, _, n: np.array([x[:n].sum(), x[:n].max(initial=-np.inf)]), 1, constants={"BLOCK": 64},
    )  # fmt: skip


# -- scans


@triton.jit
def scan_axis(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr,
              OP: tl.constexpr):  # fmt: skip
    i, j, k = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    at = i * (B * C) + j * C + k
    v = tl.load(x + at)
    if OP == "sum":
        y = tl.cumsum(v, AXIS, reverse=REVERSE)
    else:
        y = tl.cumprod(v, AXIS, reverse=REVERSE)
    tl.store(out + at, y)


def _scan(op: str, axis: int, reverse: bool, x: Array) -> Array:
    y = np.flip(x, axis) if reverse else x
    y = np.cumsum(y, axis, dtype=np.int32) if op == "sum" else np.cumprod(y, axis, dtype=np.int32)
    return np.flip(y, axis) if reverse else y


for _axis in range(3):
    for _op in ("sum", "prod"):
        for _reverse in (False, True):
            case(
                f"cum{_op} along axis {_axis}{', from the end' if _reverse else ''}", scan_axis,
                lambda rng: (rng.integers(-9, 10, (4, 8, 16), np.int32), np.zeros((4, 8, 16), np.int32)),
                lambda x, _, a=_axis, o=_op, r=_reverse: _scan(o, a, r, x), 1,
                constants={"A": 4, "B": 8, "C": 16, "AXIS": _axis, "REVERSE": _reverse, "OP": _op},
            )  # fmt: skip


@triton.jit
def recurrence(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def linear_recurrence(a, b, out, rows: tl.constexpr, cols: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, rows)[:, None] * cols + tl.arange(0, cols)[None, :]
    _, h = tl.associative_scan((tl.load(a + at), tl.load(b + at)), 1, recurrence, reverse=REVERSE)
    tl.store(out + at, h)


def _recurrence(a: Array, b: Array, reverse: bool) -> Array:
    if reverse:
        return _recurrence(a[:, ::-1], b[:, ::-1], False)[:, ::-1]
    h = np.zeros(b.shape)
    for k in range(b.shape[1]):
        h[:, k] = (h[:, k - 1] if k else 0) * a[:, k] + b[:, k]
    return h


for _reverse in (False, True):
    case(
        f"linear recurrence by a scan of pairs{', from the end' if _reverse else ''}", linear_recurrence,
        lambda rng: (rng.random((4, 32), np.float32), normal(rng, 4, 32), np.zeros((4, 32), np.float32)),
        lambda a, b, _, r=_reverse: _recurrence(a.astype(np.float64), b.astype(np.float64), r), 2,
        constants={"rows": 4, "cols": 32, "REVERSE": _reverse}, rtol=1e-5, atol=1e-6,  # 32 steps of two roundings
    )  # fmt: skip


@triton.jit
def rolling(a_value, a_flag, b_value, b_flag):
    return tl.where(b_flag, b_value, a_value + b_value), a_flag | b_flag


@triton.jit
def segmented_sum(x, flags, out, N: tl.constexpr):
    i = tl.arange(0, N)
    total, _ = tl.associative_scan((tl.load(x + i), tl.load(flags + i)), 0, rolling)
    tl.store(out + i, total)


def _segmented(x: Array, flags: Array, _: Array) -> Array:
    out, total = np.zeros_like(x), 0
    for k in range(len(x)):
        total = x[k] if flags[k] else total + x[k]
        out[k] = total
    return out


case(
    "segmented sum by a scan that carries a flag", segmented_sum,
    lambda rng: (rng.integers(-99, 99, 128), rng.random(128) < 0.1, np.zeros(128, np.int64)), _segmented, 2,
    constants={"N": 128},
)  # fmt: skip


@triton.jit
def compact(x, out, count, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    keep = v > 0
    place = tl.cumsum(keep.to(tl.int32), 0) - 1
    tl.store(out + place, v, keep)
    tl.store(count, tl.max(place) + 1)


def _compact(x: Array, out: Array, _: Array) -> tuple[Array, Array]:
    kept = x[x > 0]
    out[: len(kept)] = kept
    return out, np.array([len(kept)])


case(
    "compaction by a prefix sum", compact,
    lambda rng: (normal(rng, 256), np.zeros(256, np.float32), np.zeros(1, np.int32)), _compact, (1, 2),
    constants={"N": 256},
)  # fmt: skip


@triton.jit
def small_scans(x, out8, out64, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out64 + i, tl.cumsum(v, 0))
    tl.store(out8 + i, tl.associative_scan(v, 0, product))
    tl.store(out64 + N + i, tl.cumsum(v, 0, dtype=tl.int64, reverse=True))


def _small_scans(x: Array, *_: Any) -> tuple[Array, Array]:
    with np.errstate(over="ignore"):
        up = np.cumsum(x, dtype=np.int32)
        return np.multiply.accumulate(x, dtype=np.int8), np.stack([up, np.cumsum(x[::-1], dtype=np.int64)[::-1]])


case(
    "scans of bytes", small_scans,
    lambda rng: (integers(rng, 64, dtype=np.int8), np.zeros(64, np.int8), np.zeros((2, 64), np.int64)),
    _small_scans, (1, 2), constants={"N": 64},
)  # fmt: skip


@triton.jit
def one_element(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)[:, None]
    tl.store(out + i, tl.sum(v, 1))
    tl.store(out + N + i, tl.argmax(v, 1).to(tl.float32))
    tl.store(out + 2 * N + i[:, None], tl.cumsum(v, 1))


case(
    "reductions and scans of one element", one_element,
    lambda rng: (normal(rng, 16), np.zeros((3, 16), np.float32)), lambda x, _: np.stack([x, 0 * np.abs(x), x]), 1,
    constants={"N": 16},
)  # fmt: skip


@triton.jit
def half_sums(x, out, rows: tl.constexpr, cols: tl.constexpr):
    at = tl.arange(0, rows)[:, None] * cols + tl.arange(0, cols)[None, :]
    tl.store(out + tl.arange(0, rows), tl.sum(tl.load(x + at), 1))


for _np in (np.float16, ml_dtypes.bfloat16):
    case(
        f"sums of {np.dtype(_np).name} stay in it", half_sums,
        lambda rng, d=_np: (rng.integers(-2, 3, (8, 64)).astype(d), np.zeros(8, d)),
        lambda x, _: x.astype(np.float64).sum(1), 1, constants={"rows": 8, "cols": 64},
        interpreter="sums the bits of bfloat16" if _np is ml_dtypes.bfloat16 else "",
    )  # fmt: skip


@triton.jit
def unsigned_extremes(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out, tl.max(v))
    tl.store(out + 1, tl.min(v))
    tl.store(out + 2, tl.max(tl.where(v > 5, v, 5)))
    tl.store(out + 3 + i, tl.sort(v))


for _dtype in ("uint8", "uint32", "uint64"):
    case(
        f"extremes of {_dtype}", unsigned_extremes,
        lambda rng, d=_dtype: (integers(rng, 32, dtype=d), np.zeros(35, d)),
        lambda x, _: np.concatenate([[x.max(), x.min(), x.max()], np.sort(x)]), 1, constants={"N": 32},
    )  # fmt: skip
