"""Compiled functions whose sizes are left open: how many versions there are, what is asked for, what is told."""

from __future__ import annotations

import dataclasses
import logging
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.registry.errors import (
    ArgumentError,
    ConstraintError,
    DataDependentError,
    OutOfRangeError,
    ShapeError,
    UnsupportedError,
)

aten = opweave.ops.aten


def tensor(*sizes: int, seed: int = 0) -> opweave.Tensor:
    return opweave.from_numpy(np.random.default_rng([seed, *sizes]).normal(size=sizes).astype(np.float32))


def same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        for f, w in zip(found, wanted, strict=True):
            same(f, w)
    elif isinstance(wanted, opweave.Tensor):
        assert found.shape == wanted.shape and found.dtype is wanted.dtype
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-4)
    else:
        assert type(found) is type(wanted) and found == wanted


def compiled(fn: Callable[..., Any], **kwargs: Any) -> Any:
    return opweave.compile(fn, options={"recompile_limit": 40}, **kwargs)


@pytest.fixture
def recompiles(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], list[str]]]:
    logger = logging.getLogger("opweave")
    propagate, logger.propagate = logger.propagate, True
    with caplog.at_level(logging.DEBUG, "opweave.recompiles"):
        yield lambda: [r.getMessage() for r in caplog.records if r.name == "opweave.recompiles"]
    logger.propagate = propagate


# ---- how many versions ----------------------------------------------------------------------------------------------

EMBED, HEADS = 32, 4


def block(x, qkv_weight, out_weight, up, up_bias, down, down_bias):
    batch, length, _ = x.shape
    h = aten.layer_norm.default(x, [EMBED])
    parts = (h @ qkv_weight).split(EMBED, dim=-1)
    q, k, v = [part.reshape(batch, length, HEADS, EMBED // HEADS).transpose(1, 2) for part in parts]
    scores = (q @ k.transpose(-2, -1)) * (EMBED // HEADS) ** -0.5
    earlier = opweave.ones(length, length, dtype=opweave.bool).tril()
    attention = opweave.where(earlier, scores, float("-inf")).softmax(-1)
    x = x + (attention @ v).transpose(1, 2).reshape(batch, length, EMBED) @ out_weight
    h = aten.gelu.default(aten.layer_norm.default(x, [EMBED]) @ up + up_bias)
    return x + h @ down + down_bias


SHAPES = ((EMBED, 3 * EMBED), (EMBED, EMBED), (EMBED, 4 * EMBED), (4 * EMBED,), (4 * EMBED, EMBED), (EMBED,))


@pytest.mark.parametrize(("dynamic", "versions"), [(True, 1), (None, 2)])
@pytest.mark.slow
def test_a_transformer_block_over_a_hundred_sizes(dynamic, versions):
    weights = [tensor(*sizes) * 0.1 for sizes in SHAPES]
    fast = opweave.compile(block, dynamic=dynamic)
    chosen = random.Random(1)
    for _ in range(100):
        x = tensor(chosen.randint(2, 9), chosen.randint(2, 40), EMBED)
        same(fast(x, *weights), block(x, *weights))
    assert len(fast.entries) == versions


def test_a_size_is_fixed_until_another_comes():
    def fn(x):
        return x * 2

    fast = compiled(fn)
    for n, versions in ((5, 1), (5, 1), (7, 2), (9, 2), (100, 2), (1, 3), (0, 4), (1, 4), (6, 4)):
        same(fast(tensor(n, 3)), fn(tensor(n, 3)))
        assert len(fast.entries) == versions
    # The other dimension was the same all the time.
    fast(tensor(6, 4))
    assert len(fast.entries) == 5
    fast(tensor(6, 5))
    assert len(fast.entries) == 5


def test_without_open_sizes_each_has_a_version():
    fast = compiled(lambda x: x * 2, dynamic=False)
    for n in (3, 4, 5, 4, 3):
        fast(tensor(n))
    assert len(fast.entries) == 3


def test_what_is_recompiled_is_told(recompiles):
    fast = compiled(lambda x: x * 2)
    fast(tensor(4, 3))
    fast(tensor(5, 3))
    fast(tensor(1, 3))
    told = recompiles()
    assert "x.size(0) 4 → 5" in told[0]
    assert "x.size(0)" in told[1] and "1" in told[1]


def test_a_branch_on_a_size_is_a_guard(recompiles):
    def fn(x):
        return x * 2 if x.shape[0] > 10 else x + 1

    fast = compiled(fn, dynamic=True)
    for n in (4, 7, 10, 11, 60, 5):
        same(fast(tensor(n)), fn(tensor(n)))
    assert len(fast.entries) == 2
    assert "x.size(0) <= 10" in recompiles()[0]


@pytest.mark.parametrize(
    "decision",
    [
        lambda n: n / 3 > 1.0, lambda n: n / 3 >= 1.0, lambda n: n / 3 < 1, lambda n: n / 3 <= 1,
        lambda n: not n / 3 > 1, lambda n: n * 0.4 > 1.0, lambda n: n <= 3.7, lambda n: n / 2 != 1.5,
        lambda n: n * 0.5 == 2, lambda n: n // 3 > 1.5, lambda n: (n // 3) * 0.0625 >= 0.1,
        lambda n: (n * 0.3) / 3 == 0.5, lambda n: n / 3 == 7 / 3, lambda n: n * 0.1 + 0.2 > 0.7,
        lambda n: n * 0.1 * 3 == n * 0.3,
    ],
)  # fmt: skip
def test_a_branch_on_a_fraction_of_a_size(decision):
    # A relation of integers may be brought into the form `part + 1 <= 0`, one of fractions may not.
    def fn(x):
        return x * 2 if decision(x.shape[0]) else x * 3

    for first in (5, 2):
        fast = compiled(fn, dynamic=True)
        for n in (first, 2, 3, 4, 5, 7, 9):
            same(fast(tensor(n)), fn(tensor(n)))


def test_a_fraction_of_a_size_is_computed_where_the_function_runs():
    def fn(x):
        n = x.shape[0]
        row = opweave.zeros(n) + n / 7
        return (
            row,
            opweave.full((3,), n * 0.3 / 3),
            opweave.ones(2) + n,
            x * (n * 0.1 + 0.2),
            n * 2.0,
            n / 2 * 2,
            n // 2.0,
        )

    fast = compiled(fn, dynamic=True)
    for n in (5, 7, 10, 3):
        found, want = fast(tensor(n)), fn(tensor(n))
        for a, b in zip(found, want, strict=True):
            if isinstance(b, float):
                assert type(a) is float and a == b
            else:
                same(a, b)
    assert len(fast.entries) == 1


def test_sizes_that_were_equal_by_chance():
    def fn(x, y):
        return x * 2, y.sum(0)

    fast = compiled(fn, dynamic=True)
    for n, m in ((4, 4), (5, 7), (8, 9), (6, 6)):
        same(fast(tensor(n), tensor(m, 3)), fn(tensor(n), tensor(m, 3)))
    assert len(fast.entries) == 2


def test_broadcasting_at_sizes_of_one():
    def fn(x, y):
        return x + y

    fast = compiled(fn, dynamic=True)
    for n, m in ((3, 3), (3, 1), (1, 3), (1, 1), (0, 1), (0, 0), (5, 5), (7, 1)):
        same(fast(tensor(n, 2), tensor(m, 2)), fn(tensor(n, 2), tensor(m, 2)))
    with pytest.raises(ShapeError):
        fast(tensor(4, 2), tensor(5, 2))


def test_explain_says_what_must_hold_of_sizes():
    text = str(opweave.explain(compiled(lambda x: x.view(-1, 2).sum(1), dynamic=True))(tensor(6)))
    assert "1 version" in text and "x.size(0) % 2 == 0" in text and 'x: "f32[s0]"' in text


def test_the_eager_backend_keeps_sizes_open():
    fast = compiled(lambda x: (x * 2 + 1).sum(0), dynamic=True, backend="eager")
    for n in (3, 4):
        same(fast(opweave.ones(n, 2)), opweave.full((2,), n * 3.0))
    assert len(fast.entries) == 1


# ---- marks -----------------------------------------------------------------------------------------------------------


def test_a_marked_size_is_open_in_its_range():
    x = opweave.mark_dynamic(tensor(4, 5), 0, min=2, max=64)
    fast = compiled(lambda x: x * 2)
    fast(x)
    for n in (8, 64, 2):
        same(fast(tensor(n, 5)), tensor(n, 5) * 2)
    assert len(fast.entries) == 1
    same(fast(tensor(65, 5)), tensor(65, 5) * 2)
    assert len(fast.entries) == 2


def test_code_that_fixes_a_marked_size_is_an_error():
    x = opweave.mark_dynamic(tensor(4, 5), 0)
    fast = compiled(lambda x: x * 2 if x.shape[0] == 4 else x)
    with pytest.raises(ConstraintError, match=r"x.shape\[0\] was asked to be any size"):
        fast(x)


def test_a_marked_static_size_is_fixed():
    fast = compiled(lambda x: x * 2, dynamic=True)
    fast(opweave.mark_static(tensor(4, 5), 1))
    fast(tensor(9, 5))
    assert len(fast.entries) == 1
    same(fast(tensor(9, 6)), tensor(9, 6) * 2)
    assert len(fast.entries) == 2


def test_marks_that_make_no_sense():
    with pytest.raises(OutOfRangeError, match="no dimension 2"):
        opweave.mark_dynamic(tensor(4, 5), 2)
    with pytest.raises(OutOfRangeError, match="no dimension"):
        opweave.mark_static(tensor(4, 5), -3)
    with pytest.raises(ArgumentError, match="range"):
        opweave.mark_dynamic(tensor(4, 5), 0, min=8, max=4)
    with pytest.raises(ArgumentError, match="expected a tensor"):
        opweave.mark_dynamic(4, 0)  # type: ignore[arg-type]


# ---- int arguments ---------------------------------------------------------------------------------------------------


def test_int_arguments_are_left_open_once_they_change():
    def fn(x, n):
        return x * n, n + 1, x - n // 3, n * n, x + opweave.arange(3).sum() * n

    for dynamic in (None, True):
        fast = compiled(fn, dynamic=dynamic)
        for n in (3, 5, 7, 100, 2**31 - 1, 2**31, 2**33):
            same(fast(tensor(6, 11), n), fn(tensor(6, 11), n))
        assert len(fast.entries) == (1 if dynamic else 2)
        for n in (-4, 0, 1, -(2**40), 17):
            same(fast(tensor(6, 11), n), fn(tensor(6, 11), n))


def test_large_ints_keep_all_bits():
    def fn(x, n):
        return x * n, x + n, x == n

    fast = compiled(fn, dynamic=True)
    x = opweave.arange(4)
    for n in (5, 2**31, 2**40 + 1, 2**53 + 1, 2**62, -(2**40)):
        same(fast(x, n), fn(x, n))
        assert fast(x, n)[0].tolist() == [(v * n + 2**63) % 2**64 - 2**63 for v in range(4)]


def test_ints_as_places_and_bounds():
    def fn(x, n):
        return x[n], x[:n] * 2, x[n:], x.roll(n, 0), x.repeat(n, 1)

    fast = compiled(fn, dynamic=True)
    for n in (3, 5, 7, 2, 8, 1):
        same(fast(tensor(9, 3), n), fn(tensor(9, 3), n))


def test_truth_values_are_no_ints():
    def fn(x, flag, n):
        return (x * n if flag else x + n), flag, flag * n, (n > 3) * n if n > 3 else n

    fast = compiled(fn, dynamic=True)
    for n in (3, True, 5, False, 1, 0, 7):
        for flag in (True, False, 3, 4, 1):
            same(fast(tensor(4, 2), flag, n), fn(tensor(4, 2), flag, n))


# ---- results, memory, containers -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_gradients_over_sizes():
    def fn(x, w):
        first = ((x @ w).softmax(-1) * x.shape[0]).sum(0).relu().mean()
        return first + x.mean(1).sum() / x.shape[1] + x[1:].reshape(-1).sum() + x.std() + x.amax(0).sum()

    for dynamic, versions in ((True, 1), (None, 2)):
        fast = compiled(fn, dynamic=dynamic)
        for n in (5, 7, 3, 40):
            x, w, x_again, w_again = (
                t.requires_grad_() for t in (tensor(n, 4), tensor(4, 6), tensor(n, 4), tensor(4, 6))
            )
            fn(x, w).backward()
            fast(x_again, w_again).backward()
            same((x_again.grad, w_again.grad), (x.grad, w.grad))
        assert len(fast.entries) == versions


def test_inputs_are_written_at_any_size():
    def fn(x, b):
        n, m = x.shape
        x.add_(b)
        x[1:].mul_(2)
        x[:, : m // 2].add_(n)
        x.t()[0].fill_(7)
        x[-1].copy_(x[0])
        return x.sum(), x[1:]

    fast = compiled(fn, dynamic=True)
    for n, m in ((5, 8), (7, 6), (33, 70), (2, 3), (3, 3)):
        found, wanted = tensor(n, m), tensor(n, m)
        same(fast(found, tensor(m)), fn(wanted, tensor(m)))
        same(found, wanted)


def test_results_may_be_inputs_and_views_of_them():
    def fn(x):
        return x, x.t(), x[1:], x.view(-1)

    fast = compiled(fn, dynamic=True)
    for n, m in ((5, 8), (7, 6), (2, 3)):
        x = tensor(n, m)
        found = fast(x)
        assert found[0] is x
        x.add_(1)
        same(found, fn(x))
    assert len(fast.entries) == 1


def test_inputs_that_share_memory():
    fast = compiled(lambda x, y: (x * y + x, (x - y).sum()), dynamic=True)
    for n in (5, 7, 2):
        z = tensor(n + 2, 3)
        for x, y in ((z[:n], z[2:]), (z[:n], z[:n]), (z[:n], tensor(n, 3, seed=1))):
            same(fast(x, y), (x * y + x, (x - y).sum()))

    def writes(x, y):
        x.add_(1)
        return x * y

    fast = compiled(writes, dynamic=True, fullgraph=True)
    for n in (5, 7):
        same(fast(tensor(n, 3), tensor(n, 3, seed=1)), writes(tensor(n, 3), tensor(n, 3, seed=1)))
    z = tensor(9, 3)
    with pytest.raises(UnsupportedError, match="shares memory"):
        fast(z[:7], z[2:])


def test_random_numbers_are_eagers():
    def fn(x):
        return opweave.rand(x.shape[0], x.shape[1]) + x, opweave.randn(x.shape[1]), aten.rand_like.default(x)

    fast = compiled(fn, dynamic=True)
    for sizes in ((5, 8), (7, 6), (2, 3), (1, 5)):
        opweave.manual_seed(5)
        wanted = fn(tensor(*sizes)), opweave.rand(3)
        opweave.manual_seed(5)
        same((fast(tensor(*sizes)), opweave.rand(3)), wanted)


@dataclasses.dataclass
class Batch:
    x: opweave.Tensor
    n: int


def test_sizes_in_containers():
    def fn(d, tensors, *rest, k=None, **named):
        total = sum(t.sum() for t in rest) + (0 if k is None else k.sum()) + named.get("q", 0)
        return d["x"] * 2 + tensors[0].sum() + total, len(tensors), d.get("n", 0)

    fast = compiled(fn, dynamic=True)
    for n, m in ((3, 2), (4, 6), (5, 3), (1, 4)):
        args = ({"x": tensor(n, m), "n": n + 3}, [tensor(m), tensor(n)], tensor(n), tensor(m, n))
        same(fast(*args, k=tensor(n + 1), q=m), fn(*args, k=tensor(n + 1), q=m))
        same(fast(*args[:2]), fn(*args[:2]))

    def of_batch(batch):
        return batch.x * batch.n + batch.x.shape[0], batch.n

    fast = compiled(of_batch, dynamic=True)
    for n, m in ((3, 5), (4, 7), (5, -2)):
        same(fast(Batch(tensor(n, 3), m)), of_batch(Batch(tensor(n, 3), m)))


def test_control_flow_with_sizes_from_outside():
    def branches(x, y):
        n = x.shape[0]
        return opweave.cond(x.sum() > 0, lambda a: a[: n - 1] * n + y[: n - 1], lambda a: (a + y)[1:] - n, (x,))

    def loop(x):
        n = x.shape[0]
        return opweave.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 1.1 + n), (opweave.tensor(0), x))

    fast_branches, fast_loop = compiled(branches, dynamic=True), compiled(loop, dynamic=True)
    for n in (4, 6, 2, 9):
        for x in (tensor(n, 3) + 9, tensor(n, 3) - 9):
            same(fast_branches(x, tensor(n, 3)), branches(x, tensor(n, 3)))
        same(fast_loop(tensor(n, 3)), loop(tensor(n, 3)))
    assert len(fast_loop.entries) == 1


def test_one_compiled_function_in_another_and_under_vmap():
    inner = compiled(lambda x: x.softmax(-1) * x.shape[0], dynamic=True)

    def fn(x):
        return inner(x[1:]) + inner(x)[1:], inner(x.t())

    fast = compiled(fn, dynamic=True)
    for n, m in ((5, 8), (7, 6), (2, 3)):
        same(fast(tensor(n, m)), fn(tensor(n, m)))
        same(opweave.vmap(inner)(tensor(n, m)), tensor(n, m).softmax(-1) * m)


# ---- sizes that depend on data ---------------------------------------------------------------------------------------


def test_a_custom_op_with_a_size_of_its_own():
    @opweave.library.custom_op("dynamic_tests::nonzero", mutates_args=())
    def custom_nonzero(x: opweave.Tensor) -> opweave.Tensor:
        return opweave.from_numpy(np.stack(np.nonzero(x.numpy()), 1).astype("int64"))

    @custom_nonzero.register_fake
    def _(x):
        return x.new_empty([opweave.library.get_ctx().new_dynamic_size(), x.dim()], dtype=opweave.int64)

    fast = compiled(lambda x: custom_nonzero(x) * 2 + 1)
    for values in ([0.0, 1, 2], [1.0, 1, 1], [0.0, 0, 0], [0.0, 1, 0]):
        x = opweave.tensor(values)
        assert fast(x).tolist() == [[2 * i + 1] for i, v in enumerate(values) if v]
    assert len(fast.entries) == 1


def test_one_version_whatever_is_found():
    def fn(x):
        places = (x > 0).nonzero()
        z = x[x > 0]
        return places.shape[0], places.t() + 1, z * places.shape[0], z.sum(), (z > 1).any()

    fast = compiled(fn, dynamic=True)
    for x in (tensor(6, 4), tensor(6, 4) - 100, tensor(3, 9) + 100, opweave.tensor([[1.0, -1], [-1, -1]])):
        same(fast(x), fn(x))
    assert len(fast.entries) == 1


def test_a_branch_on_data_is_an_error():
    @opweave.compile(dynamic=True, fullgraph=True)
    def on_value(x):
        return x if x.sum() > 0 else -x

    @opweave.compile(fullgraph=True)
    def on_number(x):
        return x if x.sum().item() > 0 else -x

    with pytest.raises(DataDependentError, match="not known while tracing"):
        on_value(tensor(3))
    with pytest.raises(DataDependentError, match="depends on data"):
        on_number(opweave.ones(3, dtype=opweave.int64))
