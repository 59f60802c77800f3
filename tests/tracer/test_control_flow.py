"""Traced control flow: printed graphs, graphs that run, print and read back, and what is refused."""

from __future__ import annotations

import copy

import numpy as np
import optree
import pytest

import opweave
from opweave.registry.errors import (
    ArgumentError,
    DTypeError,
    FakeTensorError,
    GraphError,
    OpweaveError,
    ShapeError,
    UnsupportedError,
)
from opweave.tracer.interpreter import Interpreter
from opweave.tracer.parsing import parse

W = opweave.tensor([5.0, 6.0, 7.0])
P = opweave.tensor(True)


def close(got, want):
    got, want = optree.tree_leaves(got), optree.tree_leaves(want)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


def branches(p, x, y):
    z = x + 1
    return opweave.cond(p, lambda x: (x.cos() + z, {"k": y * 2}), lambda x: (x.sin() + W, {"k": y * 3}), (x,))


def loop(n, x):
    def body(i, x):
        return i + 1, (x * W).sin()

    return opweave.while_loop(lambda i, x: i < n, body, (opweave.zeros((), dtype=opweave.int64), x.T.contiguous().T))


def scanned(c, xs):
    return opweave.scan(lambda c, x: (c + x * W, ((c * x).sum(), None)), c, xs, dim=1, reverse=True)


def mapped(xs, v):
    def f(x, v):
        return opweave.cond(x.sum() > 0, lambda x: x * v, lambda x: x + W, (x,))

    return opweave.map(f, xs, v)


def associative(x):
    return opweave.associative_scan(lambda a, b: a * b + a, x, 0)


def loop_in_branch(p, n, x):
    def count(x):
        return opweave.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * 2), (opweave.tensor(0), x))[1]

    return opweave.cond(p, count, lambda x: x * 1, (x,))


def batched(x):
    def one(x):
        (y,) = opweave.while_loop(lambda y: y.sum() < 9, lambda y: (y * 2 + W[0],), (x,))
        carry, ys = opweave.scan(lambda c, v: (c + v * x.sum(), c * 1), opweave.zeros(()), y)
        z = opweave.cond(carry > 20, lambda y: y + carry, lambda y: -y, (y,))
        return z, ys, opweave.map(lambda v: v * carry, y)

    return opweave.vmap(one)(x)


def unbatched_predicate(p, x):
    return opweave.vmap(lambda x: opweave.cond(p, lambda: x * 2, lambda: x + W))(x)


X, X2 = opweave.randn(3), opweave.tensor([1.0, -2.0, 0.5])
CASES = [
    (branches, [(P, X, opweave.ones(2)), (~P, X2, opweave.zeros(2))]),
    (loop, [(opweave.tensor(3), opweave.randn(2, 3)), (opweave.tensor(0), opweave.randn(2, 3))]),
    (scanned, [(opweave.randn(3), opweave.randn(3, 4)), (X2, opweave.ones(3, 4))]),
    (mapped, [(opweave.randn(6, 3), X), (-opweave.rand(6, 3), X2)]),
    (associative, [(opweave.randn(7, 2),), (opweave.randn(7, 2),)]),
    (loop_in_branch, [(P, opweave.tensor(2), X), (~P, opweave.tensor(2), X), (P, opweave.tensor(0), X)]),
    (batched, [(opweave.rand(4, 3),), (opweave.rand(4, 3) * 5,)]),
    (unbatched_predicate, [(P, opweave.randn(4, 3)), (~P, opweave.randn(4, 3))]),
]


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize(("fn", "inputs"), CASES, ids=[fn.__name__ for fn, _ in CASES])
def test_traced_functions_run_for_all_inputs(fn, inputs, mode):
    traced = opweave.make_fx(fn, tracing_mode=mode)(*inputs[0])
    traced.graph.lint()
    again = opweave.make_fx(traced, tracing_mode=mode)(*inputs[0])
    for given in inputs:
        want = fn(*given)
        close(traced(*given), want)
        close(copy.deepcopy(traced)(*given), want)
        close(again(*given), want)
        close(list(Interpreter(traced).run(*given)), want)


@pytest.mark.parametrize(("fn", "inputs"), CASES, ids=[fn.__name__ for fn, _ in CASES])
def test_printed_graphs_read_back(fn, inputs):
    traced = opweave.make_fx(fn, tracing_mode="fake")(*inputs[0])
    read = parse(traced.code)
    assert str(read) == traced.code
    for given in inputs:
        close(list(Interpreter(read, traced.constants).run(*given)), fn(*given))


def test_branches_are_functions_in_the_printed_function():
    def f(p, x):
        return opweave.cond(p, lambda x: x.cos(), lambda x: x + W, (x,))

    code = opweave.make_fx(f, tracing_mode="fake")(P, X).code
    assert [line.partition("  #")[0].rstrip() for line in code.splitlines()] == [
        'def forward(self, p_1: "b8[]", x_1: "f32[3]"):',
        '    def true_graph_0(x_1: "f32[3]", unused_1: "f32[3]"):',
        '        cos: "f32[3]" = ops.aten.cos.default(x_1)',
        "        return (cos,)",
        "",
        '    def false_graph_0(x_1: "f32[3]", w_1: "f32[3]"):',
        '        add: "f32[3]" = ops.aten.add.Tensor(x_1, w_1)',
        "        return (add,)",
        "",
        '    _tensor_constant0: "f32[3]" = self._tensor_constant0',
        '    cond: "(f32[3],)" = ops.cond(p_1, true_graph_0, false_graph_0, (x_1, _tensor_constant0))',
        '    getitem: "f32[3]" = operator.getitem(cond, 0)',
        "    return (getitem,)",
    ]


def test_branches_are_modules_of_the_traced_module():
    traced = opweave.make_fx(branches, tracing_mode="fake")(P, X, opweave.ones(2))
    (got, _) = traced.true_graph_0(X, X + 1, opweave.ones(2), W)
    close(got, X.cos() + X + 1)
    with pytest.raises(AttributeError, match="true_graph_1"):
        traced.true_graph_1  # noqa: B018


def test_two_calls_have_functions_of_different_names():
    def f(p, x):
        y = opweave.cond(p, lambda x: x + 1, lambda x: x - 1, (x,))
        return opweave.cond(~p, lambda x: x * 2, lambda x: x * 3, (y,))

    traced = opweave.make_fx(f, tracing_mode="fake")(P, X)
    assert [name for name in ("true_graph_0", "false_graph_0", "true_graph_1") if f"def {name}(" in traced.code] == [
        "true_graph_0", "false_graph_0", "true_graph_1",
    ]  # fmt: skip
    close(traced(P, X), (X + 1) * 3)


def test_a_changed_branch_runs_as_changed():
    traced = opweave.make_fx(lambda p, x: opweave.cond(p, lambda x: x + 1, lambda x: x - 1, (x,)), tracing_mode="fake")(
        P, X
    )
    close(traced(P, X), X + 1)
    (add,) = traced.true_graph_0.graph.find_nodes(target=opweave.ops.aten.add.Tensor)
    add.args = (add.args[0], 10)
    close(traced(P, X), X + 10)


def test_clones_have_functions_of_their_own():
    graph = opweave.make_fx(lambda p, x: opweave.cond(p, lambda x: x + 1, lambda x: x - 1, (x,)), tracing_mode="fake")(
        P, X
    ).graph
    copied = graph.clone()
    (node,) = copied.find_nodes(target=opweave.ops.cond)
    (add,) = node.args[1].find_nodes(target=opweave.ops.aten.add.Tensor)
    add.args = (add.args[0], 10)
    assert "10" in str(copied) and "10" not in str(graph)


def test_a_broken_branch_breaks_the_graph():
    graph = opweave.make_fx(lambda p, x: opweave.cond(p, lambda x: x + 1, lambda x: x - 1, (x,)), tracing_mode="fake")(
        P, X
    ).graph
    (node,) = graph.find_nodes(target=opweave.ops.cond)
    node.args[1].remove_node(node.args[1].output_node())
    with pytest.raises(GraphError, match="no output"):
        graph.lint()


def test_a_bool_predicate_chooses_while_tracing():
    code = opweave.make_fx(
        lambda x: opweave.cond(False, lambda x: x.cos(), lambda x: x.sin(), (x,)), tracing_mode="fake"
    )(X).code
    assert "sin" in code and "cos" not in code and "cond" not in code


def test_results_without_data_look_as_branches_say():
    with opweave.FakeTensorMode() as mode:
        p, x, xs = mode.from_tensor(P), mode.from_tensor(X), mode.from_tensor(opweave.ones(4, 3))
        y = opweave.cond(p, lambda x: x.double(), lambda x: x.double() * 2, (x,))
        assert tuple(y.shape) == (3,) and y.dtype is opweave.float64
        (z,) = opweave.while_loop(lambda x: x.sum() > 0, lambda x: (x - 1,), (x,))
        carry, ys = opweave.scan(lambda c, x: (c + x, x.sum() > 0), x, xs)
        assert tuple(z.shape) == tuple(carry.shape) == (3,)
        assert tuple(ys.shape) == (4,) and ys.dtype is opweave.bool
        assert tuple(opweave.map(lambda x: x[:2], xs).shape) == (4, 2)
        with pytest.raises(ShapeError, match="false_fn does not fit true_fn"):
            opweave.cond(p, lambda x: x, lambda x: x[1:], (x,))


def test_symbolic_sizes_go_through():
    def f(p, x):
        return opweave.cond(p, lambda x: x.cos() * 2, lambda x: x.sin(), (x,))

    traced = opweave.make_fx(f, tracing_mode="symbolic")(P, opweave.randn(5))
    for size in (5, 9):
        x = opweave.randn(size)
        close(traced(~P, x), x.sin())
        close(traced(P, x), x.cos() * 2)


# ---- what is refused ----


def writes(x):
    x.add_(1)
    return x * 2


def writes_outside(x):
    W.mul_(2)
    return x * 2


REFUSED = [
    (lambda p, x: opweave.cond(p, writes, lambda x: x * 1, (x,)), UnsupportedError,
     "cond: true_fn writes to a tensor that it was given"),
    (lambda p, x: opweave.cond(p, lambda x: x * 1, writes_outside, (x,)), UnsupportedError,
     "cond: false_fn writes to a tensor that it was given"),
    (lambda p, x: opweave.cond(p, lambda x: x, lambda x: x * 1, (x,)), UnsupportedError,
     "cond: true_fn: its result 0 is a tensor that it was given, or a view of it"),
    (lambda p, x: opweave.cond(p, lambda x: x * 1, lambda x: W, (x,)), UnsupportedError, "false_fn: its result 0"),
    (lambda p, x: opweave.cond(x, abs, abs, (x,)), ShapeError, "cond: pred must have one element"),
    (lambda p, x: opweave.cond(p, lambda x: x * 1, lambda x: (x * 1,), (x,)), ArgumentError, "another structure"),
    (lambda p, x: opweave.cond(p, lambda x: {"a": x * 1}, lambda x: {"a": x > 0}, (x,)), DTypeError,
     r"false_fn does not fit true_fn: result\['a'\] has another dtype"),
    (lambda p, x: opweave.while_loop(lambda x: p, lambda x: (x.sum(),), (x,)), ShapeError, r"result\[0\] has another"),
    (lambda p, x: opweave.scan(lambda c, v: (c.double() + v, v * 1), x.sum(), x), DTypeError, "next carry does not"),
]  # fmt: skip


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("index", range(len(REFUSED)))
def test_traces_refuse(index, mode):
    fn, kind, text = REFUSED[index]
    before = W.numpy().copy()
    with pytest.raises(kind, match=text):
        opweave.make_fx(fn, tracing_mode=mode)(P, X)
    assert (W.numpy() == before).all()


SHARED = [
    lambda x: opweave.scan(lambda c, v: (c + v,) * 2, x.sum() * 0, x.flatten()),
    lambda x: opweave.scan(lambda c, v: ((c[1], c[0] + v), c), (x[0], x[1]), x),
    lambda x: opweave.scan(lambda c, v: (v, c), x[0], x),
    lambda x: opweave.scan(lambda c, v: ({"h": v, "c": c["h"]}, (c["c"], v)), {"h": x[0], "c": x[1]}, x, reverse=True),
    lambda x: opweave.while_loop(lambda i, y, z: i < 3, lambda i, y, z: (i + 1, z, y), (opweave.tensor(0), x, x * 2)),
    lambda x: opweave.map(lambda v: v, x),
    lambda x: opweave.map(lambda v: (v, v[:1], v), x),
]


@pytest.mark.parametrize("f", SHARED)
def test_results_of_steps_may_be_what_is_carried_or_given(f):
    x = opweave.from_numpy(np.random.default_rng(0).normal(size=(4, 3)))
    expected = optree.tree_leaves(f(x))
    for made in (
        *(opweave.make_fx(f, tracing_mode=mode)(x) for mode in ("real", "fake", "symbolic")),
        opweave.compile(f),
    ):
        found = optree.tree_leaves(made(x))
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy())
            other_memory = [t for t in (x, *found) if t is not one]
            assert not any(np.shares_memory(one.numpy(), t.numpy()) for t in other_memory)


def test_a_refusal_that_is_caught_is_raised_at_the_end():
    def f(p, x):
        try:
            return opweave.cond(p, writes, lambda x: x * 1, (x,))
        except OpweaveError:
            return x

    with pytest.raises(UnsupportedError, match="true_fn writes"):
        opweave.make_fx(f, tracing_mode="fake")(P, X)


def test_a_fake_tensor_from_elsewhere_is_refused():
    stranger = opweave.FakeTensorMode().from_tensor(W)
    with pytest.raises((FakeTensorError, OpweaveError)):
        opweave.make_fx(
            lambda p, x: opweave.cond(p, lambda x: x + stranger, lambda x: x * 1, (x,)), tracing_mode="fake"
        )(P, X)


def test_values_of_tensors_in_branches():
    for mode in ("real", "fake", "symbolic"):
        f = lambda p, x: opweave.cond(p, lambda x: x * x.sum().item(), lambda x: x * 1, (x,))  # noqa: E731
        assert opweave.make_fx(f, tracing_mode=mode)(P, X)(P, X).tolist() == f(P, X).tolist()
    with pytest.raises(OpweaveError, match="not known while tracing"):
        opweave.make_fx(lambda p, x: opweave.cond(p, lambda x: x * float(x.sum()), lambda x: x * 1, (x,)))(P, X)


SYMBOLIC = [
    lambda p, x: opweave.cond(p, lambda x: x.reshape(-1) * x.shape[0], lambda x: x.flatten() + x.shape[1], (x,)),
    lambda p, x: opweave.scan(lambda c, v: (c + v, c * v.shape[0]), opweave.zeros(x.shape[1]), x)[1],
    lambda p, x: opweave.map(lambda v: v * 2 + x.sum(0), x),
    lambda p, x: opweave.while_loop(lambda x: x.sum() < 100, lambda x: (x * 2,), (x,))[0],
    lambda p, x: opweave.func.grad(lambda x: opweave.scan(lambda c, v: (c * v, c + v), x.sum(0), x)[1].sum())(x),
]


@pytest.mark.parametrize("fn", SYMBOLIC)
def test_one_symbolic_trace_is_good_for_all_sizes(fn):
    traced = opweave.make_fx(fn, tracing_mode="symbolic")(P, opweave.rand(5, 4))
    for shape in ((5, 4), (7, 3)):
        for p in (P, ~P):
            x = opweave.rand(*shape)
            close(traced(p, x), fn(p, x))


def test_an_associative_scan_fixes_the_length():
    traced = opweave.make_fx(associative, tracing_mode="symbolic")(opweave.rand(5, 4))
    x = opweave.rand(5, 7)
    close(traced(x), associative(x))
    assert any("5" in str(guard) for guard in traced.shape_env.guards())
