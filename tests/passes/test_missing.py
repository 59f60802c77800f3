"""Gradients that do not come are not zeros: what stands behind them is not computed."""

import itertools

import numpy as np
import pytest

import opweave
from opweave.passes.missing import run as without_missing

RESULTS = [c for n in (1, 2, 3) for c in itertools.combinations(range(3), n)]


def three(x, w):
    a = x * w
    return a, opweave.log(x) * w.sum(), opweave.sqrt(x) + a


def gradients(f, used):
    x = opweave.tensor([0.0, 1.0, 4.0]).requires_grad_()
    w = opweave.tensor([1.0, 2.0, 3.0]).requires_grad_()
    results = f(x, w)
    found = opweave.autograd.grad([results[i].sum() for i in used], [x, w], allow_unused=True)
    return [None if g is None else g.tolist() for g in found]


@pytest.mark.parametrize("dynamic", [False, True])
def test_as_if_the_results_were_never_made(dynamic):
    compiled = opweave.compile(three, dynamic=dynamic)
    for used in RESULTS:
        assert gradients(compiled, used) == gradients(three, used), used
    assert gradients(compiled, (0,)) == [[1.0, 2.0, 3.0], [0.0, 1.0, 4.0]]  # the slope of log is infinite at 0
    assert len(compiled.entries) == 1


def test_a_written_argument_that_nobody_differentiates():
    def f(x):
        y = x.round()
        x.log_()
        return y

    for call in (f, opweave.compile(f)):
        leaf = opweave.tensor([0.5, float("nan"), 0.0]).requires_grad_()
        call(leaf * 1).sum().backward()
        assert leaf.grad.tolist() == [0.0, 0.0, 0.0]


def test_a_function_gets_zeros_for_one_of_its_results():
    class Both(opweave.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, one, other):
            return one * 2 + other.clamp(min=1.0)

    def f(x):
        one, other = Both.apply(x)
        return one, other.sqrt()

    for call in (f, opweave.compile(f)):
        x = opweave.ones(3).requires_grad_()
        assert opweave.autograd.grad(call(x)[0].sum(), x)[0].tolist() == [3.0, 3.0, 3.0]


def test_random_draws_of_the_way_back_stay_where_they_are():
    def f(x):
        return x * 2, opweave.nn.functional.dropout(x, 0.5)

    compiled = opweave.compile(f)
    for used in (0, 1):
        found = []
        for call in (f, compiled):
            opweave.manual_seed(3)
            x = opweave.arange(1.0, 33.0).requires_grad_()
            found.append(opweave.autograd.grad(call(x)[used].sum(), x)[0].numpy())
        np.testing.assert_array_equal(*found)


def test_the_graph():
    def back(s, g0, g1):
        a = g0 * s
        b = g1 / s
        c = a + b
        return c, b.sin(), opweave.cat([a, b])

    x = opweave.ones(2)
    graph = opweave.make_fx(back, tracing_mode="fake")(x, x, x).graph
    without = without_missing(graph.clone(), 2, {1})
    printed = str(without)
    assert "aten.div" not in printed and "aten.sin" not in printed and "aten.add" not in printed
    assert "aten.zeros.default([2]" in printed  # what cat reads
    mul = next(node for node in without if node.name == "mul")
    assert without.output_node().args[0][:2] == (mul, None)
    assert without_missing(graph.clone(), 2, {0, 1}).output_node().args[0] == (None, None, None)
