"""Compiled for one size and called with others, a program gives what eager gives: values, sizes, strides and types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from expecttest import assert_expected_inline

import opweave
from opweave.registry.errors import OpweaveError, ShapeError

aten = opweave.ops.aten
Program = Callable[[opweave.Tensor, opweave.Tensor], Any]
PROGRAMS: list[Program] = []
#: Small, equal by chance, empty and large.
SIZES = ((5, 8), (7, 6), (1, 5), (4, 1), (0, 3), (2, 2), (33, 70), (4, 300))


def program(fn: Program) -> Program:
    PROGRAMS.append(fn)
    return fn


def tensor(*sizes: int, seed: int = 0) -> opweave.Tensor:
    return opweave.from_numpy(np.random.default_rng([seed, *sizes]).normal(size=sizes).astype(np.float32))


def leaves(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def outcome(fn: Callable[..., Any], *args: Any) -> Any:
    """What a call returns, or the error it raises."""
    try:
        return fn(*args)
    except (OpweaveError, ZeroDivisionError) as error:
        return error


def same(found: Any, wanted: Any) -> None:
    """Both are the same results, or errors that are caught as the same."""
    if isinstance(wanted, Exception):
        assert type(found) is type(wanted), found
        return
    if isinstance(found, Exception):
        raise found
    for f, w in zip(leaves(found), leaves(wanted), strict=True):
        assert type(f) is type(w)
        if isinstance(w, opweave.Tensor):
            assert f.shape == w.shape and f.dtype is w.dtype and f.stride() == w.stride()
            np.testing.assert_allclose(f.numpy(), w.numpy(), rtol=2e-4, atol=2e-4)
        else:
            assert f == w


# ---- programs over two tensors of one shape -------------------------------------------------------------------------


@program
def views(x, y):
    return x.reshape(-1).view(x.shape[0], -1).t() + 1, (x.reshape(-1) * 2).reshape(x.shape)


@program
def outer(x, y):
    return (x[:, None, :] * x[None, :, :]).sum(-1), (x[:, None, :] * y[None, :, :]).sum(0)


@program
def softmax(x, y):
    return x.softmax(-1), x.softmax(0), x.log_softmax(1)


@program
def moments(x, y):
    return x.mean(), x.mean(0), x.var(1), x.std(0), x.var()


@program
def extremes(x, y):
    return x.amax(0), x.amin(1), x.argmax(1), x.argmax(0), x.argmax(), x.max()


@program
def joined(x, y):
    across = opweave.cat([x, y.t().contiguous().t()], 1)
    return opweave.cat([x, y], 0) * 2, opweave.stack([x, y], 1).sum(1), across


@program
def cut(x, y):
    return x[1:] * x[:-1], x[:, ::2] + 1, x[-1] * 2, x[:, 1:].sum(1), x[1:].sum(0), (x[1:] > 0).any(0)


@program
def halves(x, y):
    z = opweave.cat([x, x * 3], 0)
    return z.view(2, -1, x.shape[1]).sum(0), z.view(x.shape[0], 2, -1) + 1, x[: x.shape[0] // 2] * 2


@program
def counting(x, y):
    n, m = x.shape
    places = opweave.arange(n * m).view(n, m)
    return opweave.arange(m) * x, opweave.arange(0, n).sum(), x + opweave.arange(n)[:, None], (places // m) * 100


@program
def made(x, y):
    return opweave.full((x.shape[0], 3), 2.5) + 1, opweave.zeros(x.shape[1]), opweave.ones_like(x) * x.shape[0]


@program
def sizes_as_numbers(x, y):
    n, m = x.shape
    return x * n, x / m, x + (n * m - 3), x.sum() / x.numel(), x / (m**0.5), x * (1.0 / n), x - n % 3, n + 1, n > 3


@program
def products(x, y):
    return x @ y.t(), (x.t() @ y).relu(), aten.addmm.default(opweave.zeros(x.shape[0]), x, y.t())


@program
def written(x, y):
    z = x.clone()
    z.add_(y)
    z[0].mul_(3)
    z[:, 1] = 5
    z[1:].copy_(y[:-1])
    return z


@program
def masked(x, y):
    below = opweave.ones(x.shape[0], x.shape[1], dtype=opweave.bool).tril()
    return opweave.where(below, x, float("-inf")).softmax(-1)


@program
def stretched(x, y):
    return x.mean(0, keepdim=True).expand(x.shape) + x, x[0].expand(x.shape[0], -1).sum(0), x[:, None].expand(-1, 3, -1)


@program
def moved(x, y):
    return x.cumsum(0) * 2, x.flip(0) + 1, x.roll(1, 0), x.repeat(2, 1) + 1


@program
def chosen(x, y):
    rows = aten.index_select.default(x, 0, opweave.arange(x.shape[0] - 1))
    return x.gather(1, x.argmax(1, keepdim=True)), x[x.argmax(0)], rows


@program
def transposed(x, y):
    return (x.t() + 1).contiguous(), x.t().softmax(-1), x.t()[1:] * 2, (x + y).t()


@program
def three_dimensions(x, y):
    z = x[:, :, None] * y[:, None, :]
    return z.permute(2, 0, 1).contiguous() + 1, z.sum((0, 2)), z.permute(1, 0, 2).reshape(x.shape[1], -1).sum(1)


@program
def truth(x, y):
    return (x > 0).any(1), (x > 0).all(0), (x > 0).sum(), x.isnan().any()


@program
def branching(x, y):
    z = x * 2 if x.shape[0] * x.shape[1] > 40 else x + 1
    return z + z.t() if x.shape[0] == x.shape[1] else z


@program
def parts(x, y):
    a, b = x.split([2, x.shape[0] - 2], 0)
    c, d = opweave.cat([x, y], 1).chunk(2, 1)
    return a.sum(0) + b.sum(0), c * d.sigmoid()


@program
def found(x, y):
    places = (x > 0).nonzero()
    return places.shape[0], places + 1, (places * 2).sum(0)


@program
def picked(x, y):
    z = x[x > 0]
    return z * 2, z.sum(), z.mean(), z.shape, (z > 1).any(), (z > 1).all(), z.std()


@program
def counted(x, y):
    n = (x > 0).sum().item()
    return x * n, n, opweave.arange(n + 3) - n


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_any_size_gives_what_eager_gives(fn):
    # Each program begins with another size: 0 and 1 first, equal sizes first, a large one first.
    first = PROGRAMS.index(fn) % len(SIZES)
    compiled = opweave.compile(fn, dynamic=(True, None)[first % 2], options={"recompile_limit": 40})
    for sizes in (*SIZES[first:], *SIZES[:first]):
        x, y, x_again, y_again = (tensor(*sizes, seed=seed) for seed in (0, 1, 0, 1))
        same(outcome(compiled, x, y), outcome(fn, x_again, y_again))


LAYOUTS: dict[str, Callable[[int, int], opweave.Tensor]] = {
    "row-major": tensor,
    "transposed": lambda a, b: tensor(b, a).t(),
    "every second column": lambda a, b: tensor(a, 2 * b)[:, ::2],
    "every second row": lambda a, b: tensor(2 * a, b)[::2],
    "columns of a wider one": lambda a, b: tensor(a, b + 3)[:, 1 : b + 1],
    "one row for all": lambda a, b: tensor(1, b).expand(a, b),
    "one column for all": lambda a, b: tensor(a, 1).expand(a, b),
}


@pytest.mark.parametrize("first", ["row-major", "transposed", "every second column", "one row for all"])
def test_any_layout_gives_what_eager_gives(first):
    def fn(x):
        return x.reshape(-1) * 2, x.sum(0), (x + 1).t(), x.t().contiguous(), x[1:] + x[:1]

    compiled = opweave.compile(fn, dynamic=True, options={"recompile_limit": 40})
    same(compiled(LAYOUTS[first](4, 8)), fn(LAYOUTS[first](4, 8)))
    for layout in LAYOUTS:
        for a, b in ((4, 4), (5, 3)):
            x = LAYOUTS[layout](a, b)
            same(compiled(x), fn(x))


def test_reductions_over_what_turns_out_empty():
    def backed(x):
        z = x[2:]
        return z.sum(0), z.sum(1), z.mean(0), z.prod(0), z.var(0), (z > 0).any(), (z > 0).all(0), (z * 2).cumsum(0)

    def unbacked(x):
        z = x[x > 0]
        return z.sum(), z.mean(), z.prod(), z.var(), z.std(), aten.var.correction(z, [0], correction=3), (z > 1).any()

    for fn in (backed, unbacked):
        compiled = opweave.compile(fn, dynamic=True)
        for x in (tensor(5, 4), tensor(2, 4) - 100, tensor(7, 3), tensor(2, 4), tensor(9, 2) - 100, tensor(4, 1)):
            same(compiled(x), fn(x))


def test_slices_of_a_size_that_depends_on_data():
    def fn(x):
        z = x[x > 0]
        return z[:2] * 2, z[1:], z[:-1] + 1, z[::2], z[2:5].sum(), z[-3:]

    compiled = opweave.compile(fn, dynamic=True)
    for x in (tensor(9), tensor(4) - 100, opweave.ones(1), opweave.ones(2), tensor(300)):
        same(compiled(x), fn(x))
    assert len(compiled.entries) <= 2  # a size of 1 has its own


def test_a_size_that_depends_on_data_is_not_squeezed_in_silence():
    compiled = opweave.compile(lambda x: x[x > 0].squeeze(0) * 2)
    same(compiled(opweave.ones(3)), opweave.full((3,), 2.0))
    with pytest.raises(ShapeError, match="squeeze"):
        compiled(opweave.tensor([1.0, -1.0, -1.0]))


# ---- what is printed -------------------------------------------------------------------------------------------------


def code(fn: Callable[..., Any], *args: Any) -> str:
    """The generated text without the places in the user's code."""
    compiled = opweave.compile(fn, dynamic=True)
    compiled(*args)
    lines = [line.partition("  # ")[0].rstrip() for line in compiled.stages()["code"].splitlines()]
    return "\n".join(line for line in lines if line and not line.startswith("import"))


def test_text_of_a_pointwise_kernel():
    assert_expected_inline(
        code(lambda x, b: (x + b).relu() * x.shape[0], tensor(5, 8), tensor(8)),
        """\
@native
def steps(x: float32, b: float32, mul: float32, s0: int, s1: int):
    fused_add_relu_mul_0(((s0 + 7) // 8)*((s1 + 255) // 256), 1, 1, x, b, mul, s0, s1, (s1 + 255) // 256)
def compiled(x, b):
    s0 = x._sizes[0]
    s1 = x._sizes[1]
    mul = allocate((s0, s1), (s1, 1), float32, cpu)
    steps(x, b, mul, s0, s1)
    return (mul,)
@triton.jit
def fused_add_relu_mul_0(x, b, out, s0, s1, n2, ROWS: tl.constexpr, COLS: tl.constexpr):
    pid = tl.program_id(0)
    r = ((pid // n2) * ROWS + tl.arange(0, ROWS))[:, None]
    live_r = r < s0
    c = ((pid % n2) * COLS + tl.arange(0, COLS))[None, :]
    live_c = c < s1
    t0 = tl.load(x + r * s1 + c, live_r & live_c)
    t1 = tl.load(b + c, live_c)
    t2 = t0 + t1
    t3 = tl.where(t2 < 0.0, 0.0, t2)
    tl.store(out + r * s1 + c, t3 * tl.cast(s0, tl.int64).to(tl.float32), live_r & live_c)""",  # noqa: E501
    )


def test_text_of_a_row_reduction():
    assert_expected_inline(
        code(lambda x: x.reshape(x.shape[0] * x.shape[1], -1).sum(1), tensor(5, 6, 40)),
        """\
@native
def steps(x: float32, sum_1: float32, s0: int, s1: int, s2: int):
    fused_sum_0((s0*s1 + 7) // 8, 1, 1, x, sum_1, s0, s1, s2)
def compiled(x):
    s0 = x._sizes[0]
    s1 = x._sizes[1]
    s2 = x._sizes[2]
    sum_1 = allocate((s0*s1,), (1,), float32, cpu)
    steps(x, sum_1, s0, s1, s2)
    return (sum_1,)
@triton.jit
def fused_sum_0(x, out, s0, s1, s2, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]
    live_r = r < s0 * s1
    acc = tl.full([ROWS, 1], 0.0, tl.float32)
    for start in range(0, s2, COLS):
        c = (start + tl.arange(0, COLS))[None, :]
        live_c = c < s2
        t0 = tl.load(x + r * s2 + c, live_r & live_c, 0.0)
        acc += tl.sum(t0, 1, keep_dims=True)
    tl.store(out + r, acc, live_r)""",
    )


def test_text_of_a_size_that_depends_on_data():
    assert_expected_inline(
        code(lambda x: (x > 0).nonzero() * 2 + x.shape[0] // 2, tensor(5)),
        """\
@native
def steps(x: float32, gt: bool_, s0: int):
    fused_gt_0((s0 + 255) // 256, 1, 1, x, gt, s0)
@native
def steps_(nonzero: int64, add: int64, s0: int, u0: int):
    fused_mul_add_1((u0 + 4095) // 4096, 1, 1, nonzero, add, u0, s0 // 2)
def compiled(x):
    s0 = x._sizes[0]
    gt = allocate((s0,), (1,), bool_, cpu)
    steps(x, gt, s0)
    nonzero = aten_nonzero(gt)
    del gt
    u0 = nonzero._sizes[0]
    add = allocate((u0, 1), (1, 1), int64, cpu)
    steps_(nonzero, add, s0, u0)
    del nonzero
    return (add,)
@triton.jit
def fused_gt_0(x, out, s0, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
    live = i < s0
    t0 = tl.load(x + i, live)
    tl.store(out + i, t0 > 0.0, live)
@triton.jit
def fused_mul_add_1(nonzero, out, u0, n1, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
    live = i < u0
    t0 = tl.load(nonzero + i, live)
    t1 = t0 * 2
    tl.store(out + i, t1 + tl.cast(n1, tl.int64), live)""",
    )


def test_a_size_that_a_guard_holds_to_one_is_stretched():
    """The second part of three columns has `n - (n + 1) // 2` of them, which no expression shows to be 1."""

    def run(a):
        first, second = a.chunk(2, 1)
        return first + second

    compiled = opweave.compile(run, dynamic=True)
    for columns in (3, 2, 3):
        a = opweave.arange(3 * columns, dtype=opweave.float32).reshape(3, columns)
        np.testing.assert_array_equal(compiled(a).numpy(), run(a).numpy())
