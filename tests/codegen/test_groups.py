"""Many small kernels of one form in one launch, and kernels that write their results where they belong."""

import itertools

import numpy as np
import pytest

import opweave


def tensors(sizes, seed=0, dtype=np.float32):
    draw = np.random.default_rng(seed)
    return [opweave.from_numpy(draw.standard_normal(size).astype(dtype)) for size in sizes]


def momentum_(params, grads, buffers, lr):
    for p, g, b in zip(params, grads, buffers, strict=True):
        b.mul_(0.9).add_(g)
        p.sub_(b * lr)


def launches(compiled):
    code = compiled.stages()["code"].partition("import triton")[0]
    return [line.strip() for line in code.splitlines() if line.strip().startswith("fused_")]


SIZES = [(100, 30), (7,), (64, 64), (1,), (5000,), (3, 3, 3), (8193,)]


def test_updates_of_many_tensors_are_one_launch():
    groups = [tensors(SIZES, seed) for seed in range(3)]
    expected = [[t.clone() for t in group] for group in groups]
    compiled = opweave.compile(momentum_)
    lr = opweave.tensor(0.1)
    for _ in range(3):
        momentum_(*expected, lr)
        compiled(*groups, lr)
    for group, others in zip(groups, expected, strict=True):
        for one, other in zip(group, others, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)
    assert len(launches(compiled)) == 2  # the tensor of one element has a kernel of its own
    assert "copy_" not in compiled.stages()["code"] and "allocate" not in compiled.stages()["code"]


def test_the_kernel_of_a_group():
    compiled = opweave.compile(lambda xs, y: [x * y for x in xs])
    compiled(tensors([(5,), (6,), (7,), (8,)]), opweave.tensor(2.0))
    source = compiled.stages()["code"].partition("@triton.jit")[2]
    lines = [line.partition("  # ")[0].rstrip() for line in source.strip().splitlines()]
    assert lines == [
        "def fused_mul_group_0(addresses, owners, starts, sizes, y, count, BLOCK: tl.constexpr):",
        "    program = tl.program_id(0)",
        "    member = tl.load(owners + program)",
        "    xs_0 = tl.load(addresses + member).to(tl.pointer_type(tl.float32))",
        "    out = tl.load(addresses + (count + member)).to(tl.pointer_type(tl.float32))",
        "    i = tl.load(starts + program) + tl.arange(0, BLOCK)",
        "    live = i < tl.load(sizes + member)",
        "    t0 = tl.load(xs_0 + i, live)",
        "    t1 = tl.load(y)",
        "    tl.store(out + i, t0 * t1, live)",
    ]


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.float16, np.bool_])
def test_types(dtype):
    xs, ys = ([t.to(opweave.from_numpy(np.zeros(1, dtype)).dtype) for t in tensors(SIZES, s)] for s in (1, 2))

    def f(xs, ys):
        return [(x == y) | (x != x) for x, y in zip(xs, ys, strict=True)]

    for one, other in zip(opweave.compile(f)(xs, ys), f(xs, ys), strict=True):
        assert one.tolist() == other.tolist()


def test_members_that_need_each_other_stay_in_order():
    def chain(xs):
        for before, after in itertools.pairwise(xs):
            after.add_(before.cumsum(0) * 0 + before)
        return xs[-1] * 1

    def shift(xs):
        # Each reads what the next one writes.
        made = [x * 2 for x in xs]
        for x, y in zip(xs, made[1:] + made[:1], strict=True):
            x.copy_(y + 1)

    for f in (chain, shift):
        one, other = tensors([(50,)] * 6), tensors([(50,)] * 6)
        f(one)
        opweave.compile(f)(other)
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


def test_two_forms_are_two_launches():
    def f(xs):
        return [x.sin() for x in xs] + [x.exp() for x in xs]

    compiled = opweave.compile(f)
    xs = tensors([(40,), (50,), (60,), (70,)])
    for one, other in zip(compiled(xs), f(xs), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)
    assert len(launches(compiled)) <= 2


# ---- results stored where they belong ------------------------------------------------------------------------------


def test_a_kernel_reads_other_elements_of_what_it_would_write():
    def flipped(x):
        x.copy_(x.t() + 1)

    def rows(x):
        x.sub_(x.sum(-1, keepdim=True))

    def shifted(x):
        x.copy_(x[:1] * x)

    for f in (flipped, rows, shifted):
        one, other = tensors([(33, 33)])[0], tensors([(33, 33)])[0]
        f(one)
        compiled = opweave.compile(f)
        compiled(other)
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)


def test_old_contents_that_are_read_later_are_kept():
    def f(x, w):
        old = x.sin()
        x.mul_(2)
        return old @ w, x @ w

    (one, w), (other, _) = tensors([(8, 8), (8, 8)]), tensors([(8, 8), (8, 8)])
    for a, b in zip(f(one, w), opweave.compile(f)(other, w), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_a_result_that_is_returned_too_is_not_the_input():
    def f(x):
        y = x * 2
        x.copy_(y)
        return y

    x = opweave.arange(4.0)
    y = opweave.compile(f)(x)
    y.add_(1)
    assert (y - x).tolist() == [1.0] * 4
