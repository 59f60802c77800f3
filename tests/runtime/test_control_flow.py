"""Compiled control flow gives what the uncompiled function gives."""

from __future__ import annotations

import numpy as np
import optree
import pytest

import opweave
from opweave.registry.errors import AutogradError, ShapeError, UnsupportedError

W = opweave.tensor([5.0, 6.0, 7.0])


def close(got, want):
    got, want = optree.tree_leaves(got), optree.tree_leaves(want)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert a.shape == b.shape and a.dtype is b.dtype
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


def branches(x, y):
    z = opweave.softmax(x + 1, -1)
    return opweave.cond(
        x.sum() > 0, lambda x: (x.cos() + z, {"k": y.sum(0)}), lambda x: (x.sin() + W, {"k": y[0] * 3}), (x,)
    )


def loop(n, x):
    def body(i, x):
        return i + 1, (x.T * 2).T  # of another layout than its input

    return opweave.while_loop(lambda i, x: i < n, body, (opweave.zeros((), dtype=opweave.int64), x))


def scanned(c, xs):
    return opweave.scan(lambda c, x: (c + x * W, ((c * x).sum(), x.cumsum(0))), c, xs, dim=1, reverse=True)


def mapped(xs, v):
    def f(x, v):
        return opweave.cond(x.sum() > 0, lambda x: x * v, lambda x: x + W, (x,))

    return opweave.map(f, xs, v)


def associative(x):
    return opweave.associative_scan(lambda a, b: a * b + a, x, 0)


def local_writes(x):
    def true_fn(x):
        y = x.clone()
        y[0] = 7
        y.add_(1)
        return y

    return opweave.cond(x.sum() > 0, true_fn, lambda x: x.clone(), (x,)).mul_(2)


def views(x):
    y = x.T[1:]
    return opweave.cond(x.sum() > 0, lambda y: y.clone(), lambda y: y.T.contiguous().T * 1, (y,)).reshape(-1)


def batched(x):
    def one(x):
        (y,) = opweave.while_loop(lambda y: y.sum() < 9, lambda y: (y * 2 + W[0],), (x,))
        return opweave.cond(y.max() > 5, lambda y: y + W, lambda y: -y, (y,))

    return opweave.vmap(one)(x)


def ragged(pred, x):
    _, y = opweave.while_loop(lambda going, y: going, lambda going, y: (y.sum() < 50, y * 2), (pred, x))
    return y


A, B = opweave.randn(3), opweave.tensor([1.0, 2.0, 0.5])
CASES = [
    (branches, [(B, opweave.randn(2, 3)), (-B, opweave.randn(2, 3))]),
    (loop, [(opweave.tensor(3), opweave.randn(2, 3)), (opweave.tensor(0), opweave.randn(2, 3))]),
    (scanned, [(A, opweave.randn(3, 4)), (B, opweave.ones(3, 4))]),
    (mapped, [(opweave.randn(6, 3), A), (-opweave.rand(6, 3), B)]),
    (associative, [(opweave.randn(7, 2),), (opweave.randn(7, 2),)]),
    (local_writes, [(B,), (-B,)]),
    (views, [(opweave.rand(3, 4),), (-opweave.rand(3, 4),)]),
    (batched, [(opweave.rand(4, 3),), (opweave.rand(4, 3) * 5,)]),
    (ragged, [(opweave.tensor(True), B), (opweave.tensor(False), B)]),
]


@pytest.mark.parametrize("backend", ["opweave", "eager"])
@pytest.mark.parametrize(("fn", "inputs"), CASES, ids=[fn.__name__ for fn, _ in CASES])
def test_compiled_once_for_all_values(fn, inputs, backend):
    compiled = opweave.compile(fn, backend=backend)
    for given in [*inputs, *inputs]:
        close(compiled(*given), fn(*given))
    assert len(compiled.entries) == 1


def test_branches_become_kernels():
    compiled = opweave.compile(branches)
    compiled(*CASES[0][1][0])
    code = compiled.stages()["code"]
    assert "def true_graph_0(" in code and "def false_graph_0(" in code
    # The branch is one kernel that reads the softmax made before, not a call for each op.
    assert "fused_cos_add" in code and "aten_cos" not in code


def test_results_are_no_aliases_of_what_was_given():
    @opweave.compile
    def f(n, x):
        (y,) = opweave.while_loop(lambda x: n > 0, lambda x: (x + 1,), (x,))
        z = opweave.cond(n > 0, lambda x: x + 1, lambda x: x.clone(), (x,))
        return y, z

    x = opweave.ones(3)
    for t in f(opweave.tensor(0), x):
        close(t, x)
        t.fill_(9)
    assert x.tolist() == [1, 1, 1]


def test_programs_that_differ_in_a_branch_only_do_not_share_code():
    first = opweave.compile(lambda x: opweave.cond(x.sum() > 0, lambda x: x * 2, lambda x: x * 3, (x,)))
    second = opweave.compile(lambda x: opweave.cond(x.sum() > 0, lambda x: x * 2, lambda x: x * 4, (x,)))
    close(first(-B), -B * 3)
    close(second(-B), -B * 4)


def test_code_comes_from_the_disk_cache(monkeypatch):
    def build():
        return opweave.compile(lambda x: opweave.cond(x.sum() > 0, lambda x: x * 2, lambda x: x * 3, (x,)))

    close(build()(B), B * 2)
    monkeypatch.setattr("opweave.pipeline.generate", lambda *a, **k: pytest.fail("generated again"))
    close(build()(-B), -B * 3)


def test_the_order_of_random_numbers_is_kept():
    def f(x):
        opweave.cond(x.sum() > 0, lambda x: opweave.rand(3), lambda x: x * 1, (x,))
        return opweave.rand(3) + opweave.cond(x.sum() > 0, lambda x: opweave.rand(3), lambda x: x * 1, (x,))

    opweave.manual_seed(3)
    want = f(B)
    opweave.manual_seed(3)
    close(opweave.compile(f)(B), want)


def test_a_custom_op_in_a_branch_is_called_for_that_branch_only():
    calls = []

    @opweave.library.custom_op("control_flow_test::twice", mutates_args=())
    def twice(x: opweave.Tensor) -> opweave.Tensor:
        calls.append(1)
        return opweave.from_numpy(x.numpy() * 2)

    twice.register_fake(lambda x: opweave.empty_like(x))
    compiled = opweave.compile(lambda x: opweave.cond(x.sum() > 0, lambda x: twice(x) + 1, lambda x: x * 3, (x,)))
    close(compiled(-B), -B * 3)
    assert not calls
    close(compiled(B), B * 2 + 1)
    assert len(calls) == 1


def test_a_new_version_of_an_op_in_a_branch_is_noticed():
    @opweave.library.custom_op("control_flow_test::changing", mutates_args=())
    def changing(x: opweave.Tensor) -> opweave.Tensor:
        return opweave.from_numpy(x.numpy() * 2)

    changing.register_fake(lambda x: opweave.empty_like(x))
    compiled = opweave.compile(lambda x: opweave.cond(x.sum() > 0, lambda x: changing(x), lambda x: x * 3, (x,)))
    close(compiled(B), B * 2)
    changing.register_fake(lambda x: x.new_empty(2))
    with pytest.raises(ShapeError, match="does not fit"):
        compiled(B)


def test_mismatches_are_found_when_compiling():
    with pytest.raises(ShapeError, match="false_fn does not fit true_fn"):
        opweave.compile(lambda x: opweave.cond(x.sum() > 0, lambda x: x * 1, lambda x: x[1:] * 1, (x,)))(B)


def test_aliases_and_writes_are_refused():
    with pytest.raises(UnsupportedError, match="true_fn: its result 0 is a tensor that it was given"):
        opweave.compile(lambda x: opweave.cond(x.sum() > 0, lambda x: x, lambda x: x * 1, (x,)), fullgraph=True)(B)
    with pytest.raises(UnsupportedError, match="writes to a tensor that it was given"):
        opweave.compile(
            lambda x: opweave.cond(x.sum() > 0, lambda x: x.add_(1) * 1, lambda x: x * 1, (x,)), fullgraph=True
        )(B.clone())


NEEDS_GRAD = [
    lambda x, w: opweave.while_loop(lambda x: x.sum() < 30, lambda x: (x + 1,), (w,))[0],
    lambda x, w: opweave.while_loop(lambda x: x.sum() < 30, lambda x: (x + w.exp(),), (x,))[0],
]


@pytest.mark.parametrize("fn", NEEDS_GRAD)
def test_gradients_through_compiled_loops(fn):
    w, v = (B.clone().requires_grad_() for _ in range(2))
    (opweave.compile(fn)(B, w) ** 2).sum().backward()
    (fn(B, v) ** 2).sum().backward()
    close(w.grad, v.grad)
    with opweave.no_grad():
        close(opweave.compile(fn)(B, w), fn(B, w))
    close(opweave.compile(fn)(B, w.detach()), fn(B, w).detach())


def test_gradients_around_control_flow_are_those_of_the_uncompiled_function():
    def f(x, w):
        scale = opweave.cond(x.sum() > 0, lambda x: x * 2, lambda x: x * 3, (x,))
        return (w * scale).sum()

    for x in (B, -B):
        w, v = B.clone().requires_grad_(), B.clone().requires_grad_()
        opweave.compile(f)(x, w).backward()
        f(x, v).backward()
        close(w.grad, v.grad)


def test_gradients_of_a_compiled_associative_scan():
    def f(x):
        return (opweave.associative_scan(lambda a, b: a * b, x, 0) * x).sum()

    x = opweave.rand(6).requires_grad_()
    y = x.detach().clone().requires_grad_()
    opweave.compile(f)(x).backward()
    f(y).backward()
    close(x.grad, y.grad)


def gradients(fn, inputs):
    """Gradients of a function of all results that require grad, with respect to all inputs of floating dtype."""
    given = [t.detach().clone().requires_grad_() if t.dtype.is_floating_point else t for t in inputs]
    results = [t for t in optree.tree_leaves(fn(*given)) if t.requires_grad]
    loss = sum(((t * t).sum() + t.sum() for t in results[1:]), (results[0] * results[0]).sum() + results[0].sum())
    wanted = [t for t in given if t.requires_grad]
    grads = opweave.autograd.grad(loss, wanted, allow_unused=True)
    return [opweave.zeros_like(t) if g is None else g for g, t in zip(grads, wanted, strict=True)]


def cond_with_closures(x, w):
    z = (x * w).sin()
    return opweave.cond(x.sum() > 0, lambda x: (x * w + z * (z * 2), w.sum() * x), lambda x: (x.cos() * z, x * 1), (x,))


def cond_with_parts_that_are_not_recorded(x, w):
    def true_fn(x):
        with opweave.no_grad():
            y = x * 3
        return y * x + w.detach() * w

    return opweave.cond(x.sum() > 0, true_fn, lambda x: x * 2 + W * w, (x,))


def nested_conds(x, w):
    def inner(x):
        return opweave.cond(x[0] > 0, lambda: x * w, lambda: x.exp() + w)

    return opweave.cond(x.sum() > 0, inner, lambda x: x * 2 + 0 * w, (x,))


def map_with_shared_tensors(x, w):
    u = w.sin()
    return opweave.map(lambda v, w: (v * u * w, (u * v).sum(), v > 0), opweave.stack([x, x * 2, -x]), w)


def scan_with_closures(x, w):
    u = w * 2
    xs = opweave.stack([x, -x, x * 3, x.sin()])
    return opweave.scan(lambda c, v: ((c * v + u).sin(), (c * w, v.sum() * c.sum(), v > 0)), x, xs)


def scan_whose_carry_gets_a_history_late(x, w):
    init = opweave.zeros(()), opweave.zeros(()), opweave.tensor(0)
    return opweave.scan(
        lambda c, v: ((c[0] + v * w.sum(), c[1] + c[0], c[2] + 1), c[1] * 2), init, x.detach(), reverse=True
    )


def scan_with_a_carry_that_starts_anew(x, w):
    xs = opweave.stack([x, w, x * w])
    return opweave.scan(lambda c, v: ((v.detach() * 1, c[1] * v), c[0] * c[1]), (x, w), xs)


def everything(x, w):
    def step(c, v):
        y = opweave.cond(v.sum() > 0, lambda: c * v * w, lambda: c.sin() + v)
        return y, opweave.map(lambda e: e * w.sum(), y)

    return opweave.scan(step, x, opweave.stack([x, -x, w]))


def vmap_of_cond(x, w):
    return opweave.vmap(lambda v: opweave.cond(v.sum() > 0, lambda v: v * w, lambda v: v.sin() * w, (v,)))(
        opweave.stack([x, -x])
    )


def vmap_of_scan(x, w):
    return opweave.vmap(lambda v: opweave.scan(lambda c, e: (c * e + w.sum(), c * e), w.sum(), v))(
        opweave.stack([x, -x])
    )


@pytest.mark.parametrize(
    "fn",
    [
        cond_with_closures, cond_with_parts_that_are_not_recorded, nested_conds, map_with_shared_tensors,
        scan_with_closures, scan_whose_carry_gets_a_history_late, scan_with_a_carry_that_starts_anew, everything,
        vmap_of_cond, vmap_of_scan,
    ],
)  # fmt: skip
def test_gradients_through_compiled_control_flow(fn):
    compiled = opweave.compile(fn)
    for x in ([0.5, 1.0, 2.0], [-1.0, 4.0, 0.5], [-1.0, -0.5, -2.0]):
        inputs = opweave.tensor(x), opweave.tensor([0.3, -1.2, 0.7])
        close(gradients(compiled, inputs), gradients(fn, inputs))


SECOND = [
    lambda x: opweave.cond(x.sum() > 0, lambda x: (x * x * x).sum(), lambda x: x.sin().sum(), (x,)),
    lambda x: opweave.map(lambda v: v * v * v, x).sum(),
    lambda x: opweave.scan(lambda c, v: (c * v, c * v * v), x.sum(), x)[1].sum(),
]


@pytest.mark.parametrize("fn", SECOND)
def test_traces_of_first_and_second_derivatives(fn):
    def first(x):
        return opweave.func.grad(fn)(x)

    def second(x):
        return opweave.func.grad(lambda x: (first(x) ** 2).sum())(x)

    def batched(x):
        return opweave.vmap(first)(opweave.stack([x, -x]))

    for derivative in (first, second, opweave.func.jacrev(first), batched):
        x = opweave.randn(3)
        traced = opweave.make_fx(derivative)(x)
        for given in (x, -x):
            close(traced(given), derivative(given))


def test_a_closure_that_vmap_batches_has_no_silent_gradient():
    def f(x):
        return opweave.vmap(lambda v: opweave.map(lambda e: e * v.sum(), v))(x)

    x = opweave.randn(4, 3).requires_grad_()
    with pytest.raises(UnsupportedError, match="closes over a tensor that requires grad inside vmap"):
        opweave.compile(f, fullgraph=True)(x)


def test_an_operand_that_is_written_later_is_noticed_by_backward():
    def f(x):
        y = x * 2
        z = opweave.cond(x.sum() > 0, lambda y: y * y, lambda y: y.sin(), (y,))
        y.mul_(3)
        return z.sum()

    with pytest.raises(AutogradError, match="modified by an in-place operation"):
        opweave.compile(f)(opweave.ones(3).requires_grad_()).backward()
