"""Random numbers in compiled functions are those of eager from the same seed, in the forward and for the gradients."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import opweave
import opweave.nn.functional as F
from opweave.library import custom_op

x = opweave.from_numpy(np.linspace(-1, 1, 64).astype(np.float32).reshape(8, 8))


def both(fn, *arguments):
    """Results from seed 3, eager and compiled, the second time too."""
    compiled = opweave.compile(fn)
    found = []
    for call in (fn, compiled, compiled):
        opweave.manual_seed(3)
        found.append(call(*arguments))
    return found


def assert_equal(found):
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_allclose(two.numpy(), one.numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("fn", [
    lambda x: (F.dropout(x, 0.3) * 2, opweave.rand(3)),
    lambda x: (opweave.rand_like(x) + x, opweave.randn(2, 2), opweave.randint(0, 9, (4,)), opweave.randperm(7)),
    lambda x: (x.clone().uniform_(), x.clone().normal_(), x.clone().bernoulli_(0.5)),
    lambda x: opweave.cond(x.sum() > 5, lambda x: (F.dropout(x, 0.5),), lambda x: (opweave.rand_like(x),), (x,)),
])  # fmt: skip
def test_compiled_draws_what_eager_draws(fn):
    assert_equal(both(fn, x))


def test_draws_keep_their_order_where_kernels_change_it():
    def f(x):
        p = x.sigmoid()
        first = opweave.bernoulli(p)  # waits for a kernel that the line after the next is part of
        return first, opweave.rand(8, 8), p * 2, opweave.rand(3)

    assert_equal(both(f, x))


STEPS = ("rand", "bernoulli", "dropout", "exp", "sum", "mul")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 7), st.integers(0, 7)), min_size=2, max_size=10))
def test_any_program_draws_in_order(steps):
    def f(x):
        pool = [x]
        for name, i, j in steps:
            a, b = pool[i % len(pool)], pool[j % len(pool)]
            pool.append({
                "rand": lambda a, b: opweave.rand_like(a),
                "bernoulli": lambda a, b: opweave.bernoulli(a.sigmoid()),
                "dropout": lambda a, b: F.dropout(a + b, 0.4),
                "exp": lambda a, b: (a.tanh() + b).exp().log1p(),
                "sum": lambda a, b: a.sum(0, keepdim=True).tanh() + b,
                "mul": lambda a, b: a.tanh() * b.tanh(),
            }[name](a, b))  # fmt: skip
        return tuple(pool[1:])

    assert_equal(both(f, x))


@pytest.mark.parametrize("keep", [False, True])
def test_gradients_belong_to_the_numbers_of_the_forward(keep):
    w = opweave.ones(8, 8, requires_grad=True)

    def region(x):
        return F.dropout((x @ w).exp(), 0.5) * opweave.rand(8, 8)

    def f(x):
        y = opweave.checkpoint(region)(x) if keep else region(x)
        return (y.sum(),)

    gradients = [opweave.autograd.grad(loss, w) for (loss,) in both(f, x)]
    assert_equal(gradients)
    assert gradients[0][0].abs().sum().item() > 0


def test_ops_with_effects_of_their_own_keep_their_order():
    seen = []

    @custom_op("test_random::note", mutates_args=())
    def note(x: opweave.Tensor, name: str) -> opweave.Tensor:
        seen.append(name)
        return x.clone()

    note.register_fake(lambda x, name: opweave.empty_like(x))

    def f(x):
        p = x.exp()
        first = note(p, "first")
        second = note(x, "second")
        return first, second, note(p * 2, "third"), p + 1

    compiled = opweave.compile(f)
    for call in (f, compiled, compiled):
        call(x)
    assert seen == ["first", "second", "third"] * 3
