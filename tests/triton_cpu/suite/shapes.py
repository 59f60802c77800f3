"""Operations that move elements: views, joins, gathers, sorts and counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from features import NO_NARROW_HISTOGRAM

from suite import case

Rng = np.random.Generator


def _draw(rng: Rng, shape: Any, dtype: str) -> Any:
    if dtype == "?":
        return rng.integers(0, 2, shape).astype(bool)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(-100, 100, shape).astype(dtype)


def moved(name: str, kernel: Any, source: Any, target: Any, reference: Any, dtype: str = "f4", **rest: Any) -> None:
    """A case where `kernel(x, out)` moves the elements of an array of one shape to another."""
    case(
        name,
        kernel,
        lambda rng: [_draw(rng, source, dtype), np.zeros(target, dtype)],
        lambda x, out: reference(x),
        1,
        **rest,
    )


# --- joins and splits


@triton.jit
def join_pairs(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    pairs = tl.join(tl.load(x + i, i < n), tl.load(y + i, i < n))
    at = i[:, None] * 2 + tl.arange(0, 2)[None, :]
    tl.store(out + at, pairs, at < 2 * n)


for _dtype in ("f4", "i1", "?"):
    case(
        f"join {_dtype}",
        join_pairs,
        lambda rng, t=_dtype: [*_draw(rng, (2, 99), t), np.zeros((99, 2), t), 99],
        lambda x, y, out, n: np.stack([x, y], -1),
        2,
        grid=(4,),
        constants={"BLOCK": 32},
    )


@triton.jit
def interleave_halves(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + tl.arange(0, 2 * BLOCK), tl.interleave(tl.load(x + i), tl.load(x + BLOCK + i)))


moved("interleave", interleave_halves, (128,), (128,), lambda x: x.reshape(2, 64).T.ravel(), constants={"BLOCK": 64})


@triton.jit
def rotate_pairs(x, angle, out, HEADS: tl.constexpr, HALF: tl.constexpr):
    """Rotary embedding of neighbouring elements: split, turn, join."""
    h = tl.arange(0, HEADS)[:, None]
    at = h * (2 * HALF) + tl.arange(0, 2 * HALF)[None, :]
    a, b = tl.split(tl.load(x + at).reshape(HEADS, HALF, 2))
    t = tl.load(angle + tl.arange(0, HALF))[None, :]
    turned = tl.join(a * tl.cos(t) - b * tl.sin(t), a * tl.sin(t) + b * tl.cos(t))
    tl.store(out + at, turned.reshape(HEADS, 2 * HALF))


def _rotated(x: Any, angle: Any, out: Any) -> Any:
    z = (x[:, ::2].astype("f8") + 1j * x[:, 1::2]) * np.exp(1j * angle.astype("f8"))
    return np.stack([z.real, z.imag], -1).reshape(x.shape)


case(
    "rotary embedding by split and join",
    rotate_pairs,
    lambda rng: [_draw(rng, (8, 32), "f4"), rng.uniform(0, 3, 16).astype("f4"), np.zeros((8, 32), "f4")],
    _rotated,
    2,
    constants={"HEADS": 8, "HALF": 16},
    rtol=2e-6,
    atol=1e-6,
)


@triton.jit
def split_twice(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i).reshape(N // 4, 2, 2)
    even, odd = v.split()
    a, c = even.split()
    b, d = odd.split()
    j = tl.arange(0, N // 4)
    tl.store(out + j, a - d)
    tl.store(out + N // 4 + j, b * c)


moved("split twice", split_twice, (64,), (2, 16), lambda x: np.stack([x[::4] - x[3::4], x[1::4] * x[2::4]]),
      constants={"N": 64})  # fmt: skip


@triton.jit
def split_scalars(x, out):
    a, b = tl.load(x + tl.arange(0, 2)).split()
    tl.store(out, a - b)
    tl.store(out + 1, a * b)


moved("split to scalars", split_scalars, (2,), (2,), lambda x: np.array([x[0] - x[1], x[0] * x[1]]))


@triton.jit
def join_scalars(x, out):
    tl.store(out + tl.arange(0, 2), tl.join(tl.load(x), tl.load(x + 1) + 1))


moved("join scalars", join_scalars, (2,), (2,), lambda x: x + np.array([0, 1], "f4"))


@triton.jit
def concatenate(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    both = tl.cat(tl.load(x + i), tl.load(y + i), can_reorder=True)
    tl.store(out + tl.arange(0, 2 * N), both * 2)


case(
    "cat",
    concatenate,
    lambda rng: [*_draw(rng, (2, 64), "i4"), np.zeros(128, "i4")],
    lambda x, y, out: np.concatenate([x, y]) * 2,
    2,
    constants={"N": 64},
)


@triton.jit
def concatenate_rows(x, y, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    both = tl.join(tl.load(x + at), tl.load(y + at)).permute(2, 0, 1).reshape(2 * M, N)
    tl.store(out + tl.arange(0, 2 * M)[:, None] * N + tl.arange(0, N)[None, :], both)


case(
    "concatenate rows",
    concatenate_rows,
    lambda rng: [*_draw(rng, (2, 8, 16), "f4"), np.zeros((16, 16), "f4")],
    lambda x, y, out: np.concatenate([x, y]),
    2,
    constants={"M": 8, "N": 16},
)


# --- permutations and reshapes


@triton.jit
def permute_three(
    x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, P: tl.constexpr, Q: tl.constexpr, R: tl.constexpr
):
    a, b, c = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    v = tl.permute(tl.load(x + a * B * C + b * C + c), P, Q, R)
    D: tl.constexpr = v.shape[0]
    E: tl.constexpr = v.shape[1]
    F: tl.constexpr = v.shape[2]
    d, e, f = tl.arange(0, D)[:, None, None], tl.arange(0, E)[None, :, None], tl.arange(0, F)[None, None, :]
    tl.store(out + d * E * F + e * F + f, v)


for _order in ((2, 0, 1), (1, 0, 2), (2, 1, 0), (0, 2, 1)):
    _shape = tuple(np.array((4, 8, 16))[list(_order)])
    moved(f"permute {_order}", permute_three, (4, 8, 16), _shape, lambda x, p=_order: x.transpose(p),
          constants={"A": 4, "B": 8, "C": 16, "P": _order[0], "Q": _order[1], "R": _order[2]})  # fmt: skip


@triton.jit
def permute_four(x, out, N: tl.constexpr):
    i = tl.arange(0, N * 2 * N * 4)
    v = tl.load(x + i).reshape(N, 2, N, 4)
    tl.store(out + i, tl.trans(v, 3, 1, 0, 2).reshape(N * 2 * N * 4))


moved("permute four dimensions", permute_four, (4, 2, 4, 4), (4, 2, 4, 4), lambda x: x.transpose(3, 1, 0, 2), "i2",
      constants={"N": 4})  # fmt: skip


@triton.jit
def transpose_tile(x, out, rows, cols, M: tl.constexpr, N: tl.constexpr):
    r = tl.program_id(0) * M + tl.arange(0, M)
    c = tl.program_id(1) * N + tl.arange(0, N)
    tile = tl.load(x + r[:, None] * cols + c[None, :], (r[:, None] < rows) & (c[None, :] < cols))
    tl.store(out + c[:, None] * rows + r[None, :], tile.T, (c[:, None] < cols) & (r[None, :] < rows))


for _dtype in ("f4", "f8", "i1", "f2"):
    case(
        f"transpose {_dtype}",
        transpose_tile,
        lambda rng, t=_dtype: [_draw(rng, (45, 70), t), np.zeros((70, 45), t), 45, 70],
        lambda x, out, rows, cols: x.T,
        1,
        grid=(3, 5),
        constants={"M": 16, "N": 16},
    )


@triton.jit
def blocks_of_image(x, out, SIZE: tl.constexpr, PATCH: tl.constexpr):
    """Patches of an image as rows."""
    i = tl.arange(0, SIZE * SIZE)
    v = tl.load(x + i).reshape(SIZE // PATCH, PATCH, SIZE // PATCH, PATCH).permute(0, 2, 1, 3)
    tl.store(out + i, tl.reshape(v, SIZE * SIZE))


moved("patches of an image", blocks_of_image, (16, 16), (16, 16),
      lambda x: x.reshape(4, 4, 4, 4).transpose(0, 2, 1, 3).reshape(16, 16),
      constants={"SIZE": 16, "PATCH": 4})  # fmt: skip


@triton.jit
def reorder_and_sum(x, out, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    wide = tl.reshape(v, (N // 8, 8), can_reorder=True)
    tl.store(out, tl.sum(tl.sum(wide, 1), 0))
    tl.store(out + 1, tl.max(tl.ravel(tl.view(v, (8, N // 8))), 0))


moved("reshape that may reorder", reorder_and_sum, (64,), (2,), lambda x: np.array([x.sum(), x.max()]), "i4",
      constants={"N": 64})  # fmt: skip


@triton.jit
def outer_sum(x, y, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a = tl.load(x + tl.arange(0, M)).expand_dims((1, 2))
    b = tl.load(y + tl.arange(0, N))[None, :, None]
    c = tl.broadcast_to(a, (M, N, K)) + tl.broadcast_to(b, (M, N, K)) * tl.arange(0, K)
    i = tl.arange(0, M * N * K)
    tl.store(out + i, c.reshape(M * N * K))


case(
    "broadcast over three dimensions",
    outer_sum,
    lambda rng: [_draw(rng, 8, "f4"), _draw(rng, 16, "f4"), np.zeros((8, 16, 4), "f4")],
    lambda x, y, out: x[:, None, None] + y[None, :, None] * np.arange(4, dtype="f4"),
    2,
    constants={"M": 8, "N": 16, "K": 4},
    rtol=1e-6,
    atol=1e-6,  # the product and the sum may be one fused operation
)


@triton.jit
def broadcast_pair(x, y, out, N: tl.constexpr):
    a, b = tl.broadcast(tl.load(x + tl.arange(0, N))[:, None], tl.load(y + tl.arange(0, N))[None, :])
    i = tl.arange(0, N)
    tl.store(out + i[:, None] * N + i[None, :], tl.where(a < b, a, b))


case(
    "broadcast two against each other",
    broadcast_pair,
    lambda rng: [*_draw(rng, (2, 32), "i4"), np.zeros((32, 32), "i4")],
    lambda x, y, out: np.minimum(x[:, None], y[None, :]),
    2,
    constants={"N": 32},
)


@triton.jit
def constants_and_scalars(x, out, fill, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    big = tl.full((N,), fill, tl.float32) + tl.zeros_like(v)
    tl.store(out + i, tl.where(v > 0, big, -1.0))
    tl.store(out + N + i, tl.where(i % 3 == 0, tl.zeros((N,), tl.float32), v))
    tl.store(out + 2 * N + i, tl.where(fill > 2.0, v, big))


case(
    "full, zeros and where with scalars",
    constants_and_scalars,
    lambda rng: [_draw(rng, 64, "f4"), np.zeros((3, 64), "f4"), 2.5],
    lambda x, out, fill: np.stack([np.where(x > 0, 2.5, -1), np.where(np.arange(64) % 3 == 0, 0, x), x]),
    1,
    constants={"N": 64},
)


@triton.jit
def swizzled(out, ROWS: tl.constexpr, COLS: tl.constexpr, GROUP: tl.constexpr):
    i = tl.program_id(0)
    j = tl.program_id(1)
    a, b = tl.swizzle2d(i, j, ROWS, COLS, GROUP)
    tl.store(out + i * COLS + j, a * 100 + b)


def _swizzle(out: Any) -> Any:
    order = [(r, c) for g in range(0, 7, 3) for c in range(5) for r in range(g, min(g + 3, 7))]
    return np.array([r * 100 + c for r, c in order]).reshape(7, 5)


case("swizzle2d", swizzled, lambda rng: [np.zeros((7, 5), "i4")], _swizzle, 0, grid=(7, 5),
     constants={"ROWS": 7, "COLS": 5, "GROUP": 3})  # fmt: skip


# --- gathers


@triton.jit
def gather_axis(x, at, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, AXIS: tl.constexpr):
    A: tl.constexpr = K if AXIS == 0 else M
    B: tl.constexpr = K if AXIS == 1 else N
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    grid = tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(out + grid, tl.gather(v, tl.load(at + grid), AXIS))


for _axis, _dtype in ((0, "f4"), (1, "f4"), (1, "i1"), (0, "f8"), (1, "?")):
    _shape = (32, 16) if _axis == 0 else (8, 32)
    case(
        f"gather along {_axis} of {_dtype}",
        gather_axis,
        lambda rng, t=_dtype, s=_shape, d=_axis: [
            _draw(rng, (8, 16), t), rng.integers(0, (8, 16)[d], s).astype("i4"), np.zeros(s, t)],
        lambda x, at, out, d=_axis: np.take_along_axis(x, at, d),
        2,
        constants={"M": 8, "N": 16, "K": 32, "AXIS": _axis},
    )  # fmt: skip


@triton.jit
def gather_cube(x, at, out, N: tl.constexpr, AXIS: tl.constexpr):
    i = tl.arange(0, N * N * N)
    v = tl.load(x + i).reshape(N, N, N)
    p = tl.load(at + i).reshape(N, N, N)
    tl.store(out + i, tl.gather(v * 2, p, AXIS).reshape(N * N * N))


for _axis in range(3):
    case(
        f"gather along {_axis} of a cube with 64-bit places",
        gather_cube,
        lambda rng: [_draw(rng, (4, 4, 4), "f4"), rng.integers(0, 4, (4, 4, 4)), np.zeros((4, 4, 4), "f4")],
        lambda x, at, out, d=_axis: np.take_along_axis(x * 2, at, d),
        2,
        constants={"N": 4, "AXIS": _axis},
    )


@triton.jit
def lookup(x, codes, table, out, n, BLOCK: tl.constexpr):
    """Codes of a byte through a table of sixteen."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(table + tl.arange(0, 16))
    c = tl.load(codes + i, i < n, 0)
    tl.store(out + i, tl.gather(values, (c & 15).to(tl.int32), 0) * tl.load(x + i, i < n), i < n)


case(
    "table lookup by gather",
    lookup,
    lambda rng: [
        _draw(rng, 300, "f4"), rng.integers(0, 256, 300).astype("u1"), _draw(rng, 16, "f4"), np.zeros(300, "f4"), 300],
    lambda x, codes, table, out, n: table[codes & 15] * x,
    3,
    grid=(3,),
    constants={"BLOCK": 128},
)  # fmt: skip


# --- histograms


@triton.jit
def count(x, out, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + tl.arange(0, BINS), tl.histogram(tl.load(x + i, i < n, 0), BINS, mask=i < n))


for _dtype in ("i4", "i8", "u1"):
    case(
        f"histogram of {_dtype} with a mask",
        count,
        lambda rng, t=_dtype: [rng.integers(0, 32, 500).astype(t), np.zeros(32, "i4"), 500],
        lambda x, out, n: np.bincount(x, minlength=32),
        1,
        constants={"BLOCK": 512, "BINS": 32},
        interpreter="" if _dtype == "i4" else "the interpreter's counts have the type of the data",
        missing="" if _dtype == "i4" else NO_NARROW_HISTOGRAM,
    )


@triton.jit
def count_all(x, out, BLOCK: tl.constexpr, BINS: tl.constexpr):
    v = tl.load(x + tl.arange(0, BLOCK))
    tl.store(out + tl.arange(0, BINS), tl.histogram(v, BINS))
    tl.store(out + BINS + tl.arange(0, BINS), tl.cumsum(tl.histogram(v * 2 % BINS, BINS), 0))


case(
    "two histograms and a running sum",
    count_all,
    lambda rng: [rng.integers(0, 16, 256).astype("i4"), np.zeros((2, 16), "i4")],
    lambda x, out: np.stack([np.bincount(x, minlength=16), np.bincount(x * 2 % 16, minlength=16).cumsum()]),
    1,
    constants={"BLOCK": 256, "BINS": 16},
)  # fmt: skip


# --- sorts


@triton.jit
def sort_rows(x, out, M: tl.constexpr, N: tl.constexpr, DOWN: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.sort(tl.load(x + at), descending=DOWN))


for _dtype, _down in (
    ("f4", False),
    ("f4", True),
    ("i4", True),
    ("i1", False),
    ("u4", False),
    ("f2", True),
    ("i8", False),
):
    case(
        f"sort {_dtype} {'down' if _down else 'up'}",
        sort_rows,
        lambda rng, t=_dtype: [
            _draw(rng, (4, 32), "f4").astype(t) if t == "f2" else _draw(rng, (4, 32), t),
            np.zeros((4, 32), t),
        ],
        lambda x, out, d=_down: np.sort(x, -1)[:, ::-1] if d else np.sort(x, -1),
        1,
        constants={"M": 4, "N": 32, "DOWN": _down},
    )  # fmt: skip


@triton.jit
def sort_cube(x, out, N: tl.constexpr):
    i = tl.arange(0, 4 * N)
    tl.store(out + i, tl.sort(tl.load(x + i).reshape(2, 2, N)).reshape(4 * N))


moved("sort the last of three dimensions", sort_cube, (2, 2, 64), (2, 2, 64), lambda x: np.sort(x, -1),
      constants={"N": 64})  # fmt: skip


@triton.jit
def largest(x, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    r = tl.arange(0, M)[:, None]
    v = tl.load(x + r * N + tl.arange(0, N)[None, :])
    tl.store(out + r * K + tl.arange(0, K)[None, :], tl.topk(v, K))


for _dtype in ("f4", "i4"):
    moved(f"topk of {_dtype}", largest, (8, 64), (8, 8), lambda x: np.sort(x, -1)[:, :-9:-1], _dtype,
          constants={"M": 8, "N": 64, "K": 8})  # fmt: skip


@triton.jit
def flip_dim(x, out, M: tl.constexpr, N: tl.constexpr, DIM: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.flip(tl.load(x + at), DIM))


for _dim in (0, 1):
    moved(f"flip dimension {_dim}", flip_dim, (8, 32), (8, 32), lambda x, d=_dim: np.flip(x, d), "i2",
          constants={"M": 8, "N": 32, "DIM": _dim})  # fmt: skip


@triton.jit
def median_of_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    r = tl.arange(0, M)
    ranked = tl.sort(tl.load(x + r[:, None] * N + tl.arange(0, N)[None, :]))
    middle = tl.sum(tl.where(tl.arange(0, N)[None, :] == N // 2, ranked, 0), 1)
    tl.store(out + r, middle)


moved("median by sorting", median_of_rows, (8, 32), (8,), lambda x: np.sort(x, 1)[:, 16],
      constants={"M": 8, "N": 32})  # fmt: skip


# --- uses before and after a store


@triton.jit
def reverse_in_place(x, N: tl.constexpr):
    """All is read before the first element is written."""
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(x + (N - 1 - i), v)
    tl.store(x + N + i, v + tl.flip(v, 0))


case("reverse in place", reverse_in_place, lambda rng: [_draw(rng, 128, "f4")],
     lambda x: np.concatenate([x[63::-1], x[:64] + x[63::-1]]), 0, constants={"N": 64})  # fmt: skip


@triton.jit
def old_and_new(x, out, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    tl.store(x + at, v.T)
    w = tl.load(x + at)
    tl.store(out + at, v - w)
    tl.store(out + N * N + at, tl.reshape(v, (N, N)) * 2)


case(
    "a transpose in place and both values of it",
    old_and_new,
    lambda rng: [_draw(rng, (16, 16), "f4"), np.zeros((2, 16, 16), "f4")],
    lambda x, out: (x.T, np.stack([x - x.T, x * 2])),
    (0, 1),
    constants={"N": 16},
)
