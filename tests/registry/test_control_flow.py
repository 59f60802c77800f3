"""Control flow run eagerly: values against NumPy, gradients, batches, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import opweave
from opweave.registry.errors import (
    ArgumentError,
    DTypeError,
    OpweaveError,
    OutOfRangeError,
    ShapeError,
    UnsupportedError,
)

X = opweave.tensor([1.0, -2.0, 3.0])


def close(got, want):
    np.testing.assert_allclose(got.numpy(), np.asarray(want), rtol=1e-5, atol=1e-6)


# ---- cond ----


@pytest.mark.parametrize("pred", [True, opweave.tensor(True), opweave.tensor([[True]])])
def test_cond_takes_the_true_branch(pred):
    close(opweave.cond(pred, lambda x: x * 2, lambda x: x - 1, (X,)), X.numpy() * 2)


@pytest.mark.parametrize("pred", [False, opweave.tensor(False), opweave.tensor([False])])
def test_cond_takes_the_false_branch(pred):
    close(opweave.cond(pred, lambda x: x * 2, lambda x: x - 1, (X,)), X.numpy() - 1)


def test_cond_passes_pytrees_in_and_out():
    def branch(d, pair):
        return {"sum": d["a"] + pair[0], "nothing": None, "both": [pair[0], d["a"]]}

    operands = ({"a": X}, (X * 10,))
    got = opweave.cond(opweave.tensor(True), branch, branch, operands)
    close(got["sum"], X.numpy() * 11)
    close(got["both"][0], X.numpy() * 10)
    assert got["nothing"] is None and list(got) == ["sum", "nothing", "both"]


def test_cond_without_operands_closes_over_tensors():
    close(opweave.cond(X.sum() > 0, lambda: X + 1, lambda: X - 1), X.numpy() + 1)


def test_only_the_chosen_branch_has_a_gradient():
    x, w = X.clone().requires_grad_(), X.clone().requires_grad_()
    opweave.cond(x.sum() > 100, lambda x: x * x, lambda x: x * w, (x,)).sum().backward()
    close(x.grad, w.detach().numpy())
    close(w.grad, x.detach().numpy())


# ---- while_loop ----


def test_while_loop_counts():
    i, x = opweave.while_loop(lambda i, x: i < 4, lambda i, x: (i + 1, x * 2), (opweave.tensor(0), X))
    assert i.item() == 4
    close(x, X.numpy() * 16)


def test_while_loop_that_never_runs_gives_copies():
    (x,) = opweave.while_loop(lambda x: False, lambda x: (x * 2,), (X,))
    close(x, X.numpy())
    assert x.data_ptr() != X.data_ptr()


def test_while_loop_has_gradients():
    x = X.clone().requires_grad_()
    _, y = opweave.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (opweave.tensor(0), x * 1))
    y.sum().backward()
    close(x.grad, 4 * X.numpy() ** 3)


# ---- scan, map, associative_scan ----


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_scan_goes_over_a_dimension(dim, reverse):
    xs = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    init = np.zeros(xs.shape[1 - dim % 2], np.float32)
    carry, ys = opweave.scan(
        lambda c, x: (c * 0.5 + x, c * 2 + x), opweave.from_numpy(init), opweave.from_numpy(xs), dim=dim,
        reverse=reverse,
    )  # fmt: skip
    order = range(xs.shape[dim])[:: -1 if reverse else 1]
    state, rows = init, {}
    for i in order:
        x = xs.take(i, dim)
        rows[i] = state * 2 + x
        state = state * 0.5 + x
    close(carry, state)
    close(ys, np.stack([rows[i] for i in sorted(rows)], dim))


def test_scan_carries_and_returns_pytrees():
    def step(carry, x):
        return {"n": carry["n"] + 1, "s": carry["s"] + x["a"] * x["b"]}, (carry["s"] * 1, None)

    xs = {"a": opweave.arange(4.0), "b": opweave.ones(4) * 2}
    carry, (sums, nothing) = opweave.scan(step, {"n": opweave.tensor(0), "s": opweave.tensor(0.0)}, xs)
    assert carry["n"].item() == 4 and nothing is None
    close(carry["s"], 12)
    close(sums, [0, 0, 2, 6])


def test_results_of_a_scan_with_fewer_dimensions_are_stacked_in_front():
    _, ys = opweave.scan(lambda c, x: (c + 1, x.sum()), opweave.zeros(1), opweave.ones(3, 4), dim=1)
    close(ys, [3, 3, 3, 3])


def test_scan_of_nothing_gives_init():
    init = opweave.zeros(2)
    carry, ys = opweave.scan(lambda c, x: (c, c), init, [])
    assert carry is init and ys == []


def test_scan_has_gradients():
    xs, init = opweave.tensor([2.0, 3.0, 4.0], requires_grad=True), opweave.tensor(1.0, requires_grad=True)
    carry, ys = opweave.scan(lambda c, x: (c * x, c * x), init, xs)
    (carry + ys.sum()).backward()
    close(init.grad, 24 + 2 + 6 + 24)
    close(xs.grad, [12 + 1 + 3 + 12, 8 + 2 + 8, 6 + 6])


def test_map_stacks_results():
    xs, w = opweave.randn(5, 2, 3), opweave.randn(3, 4)
    got = opweave.map(lambda x, w: {"y": x @ w, "s": x.sum()}, xs, w)
    close(got["y"], xs.numpy() @ w.numpy())
    close(got["s"], xs.numpy().sum((1, 2)))


@pytest.mark.parametrize("mode", ["pointwise", "generic"])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8, 13])
def test_associative_scan_of_any_length(length, mode):
    x = opweave.randn(2, length)
    got = opweave.associative_scan(lambda a, b: a + b, x, 1, combine_mode=mode)
    close(got, np.cumsum(x.numpy(), 1))
    got = opweave.associative_scan(lambda a, b: a + b, x, -1, reverse=True, combine_mode=mode)
    close(got, np.cumsum(x.numpy()[:, ::-1], 1)[:, ::-1])


def test_associative_scan_keeps_the_order_of_what_does_not_commute():
    matrices = opweave.randn(6, 2, 2)
    got = opweave.associative_scan(lambda a, b: a @ b, matrices, 0, combine_mode="generic")
    want = [matrices[0].numpy()]
    for m in matrices.numpy()[1:]:
        want.append(want[-1] @ m)
    np.testing.assert_allclose(got.numpy(), np.stack(want), rtol=1e-4, atol=1e-5)


def test_associative_scan_of_a_pytree():
    a, b = opweave.rand(7), opweave.randn(7)  # the recurrence h = a * h + b
    got = opweave.associative_scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (a, b), 0)[1]
    h, want = 0.0, []
    for x, y in zip(a.numpy(), b.numpy(), strict=True):
        h = x * h + y
        want.append(h)
    close(got, want)


# ---- vmap ----

BATCH = opweave.tensor([[1.0, 2.0], [-5.0, 1.0], [0.5, 0.25]])


def test_vmap_of_cond_chooses_for_each_example():
    got = opweave.vmap(lambda x: opweave.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,)))(BATCH)
    close(got, [[2, 4], [-6, 0], [1, 0.5]])


def test_vmap_of_cond_with_one_predicate_for_all():
    calls = []

    def other(x):
        calls.append(1)
        return x

    got = opweave.vmap(lambda p, x: opweave.cond(p, lambda x: x * 2, other, (x,)), in_dims=(None, 0))(
        opweave.tensor(True), BATCH
    )
    close(got, BATCH.numpy() * 2)
    assert not calls


def test_vmap_of_while_loop_stops_each_example_by_itself():
    def double(x):
        return opweave.while_loop(lambda n, x: x.sum() < 10, lambda n, x: (n + 1, x * 2), (opweave.tensor(0), x))

    n, x = opweave.vmap(double)(opweave.tensor([[1.0, 2.0], [20.0, 1.0], [0.5, 0.25]]))
    assert n.tolist() == [2, 0, 4]
    close(x, [[4, 8], [20, 1], [8, 4]])


def test_vmap_of_scan_and_map():
    w = opweave.tensor([1.0, 2.0, 3.0])
    carry, ys = opweave.vmap(lambda xs, w: opweave.scan(lambda c, x: (c + x, c * w), opweave.tensor(0.0), xs))(BATCH, w)
    close(carry, BATCH.numpy().sum(1))
    close(ys, np.stack([np.zeros(3), BATCH.numpy()[:, 0] * w.numpy()], 1))
    close(opweave.vmap(lambda x: opweave.map(lambda y: y * y, x))(BATCH), BATCH.numpy() ** 2)
    sums = opweave.vmap(lambda x: opweave.associative_scan(lambda a, b: a + b, x, 0))(BATCH)
    close(sums, np.cumsum(BATCH.numpy(), 1))


def test_nested_vmap_of_cond_and_while_loop():
    def one(p, x):
        (y,) = opweave.while_loop(lambda x: x < 4, lambda x: (x + p,), (x,))
        return opweave.cond(y > 4, lambda y: y * 10, lambda y: y, (y,))

    got = opweave.vmap(opweave.vmap(one, in_dims=(None, 0)), in_dims=(0, None))(
        opweave.tensor([1.0, 3.0]), opweave.tensor([0.0, 2.0, 2.5])
    )
    close(got, [[4, 4, 45], [60, 50, 55]])


def test_gradients_of_vmapped_control_flow():
    def loss(x):
        y = opweave.cond(x.sum() > 0, lambda x: x * x, lambda x: -x, (x,))
        return opweave.scan(lambda c, v: (c * v, c * 1), opweave.tensor(1.0), y)[0]

    got = opweave.vmap(opweave.func.grad(loss))(BATCH)
    close(got, [[8, 4], [1, -5], [2 * 0.5 * 0.0625, 0.25 * 2 * 0.25]])


def test_a_write_to_an_operand_is_refused_where_both_branches_run():
    def f(x):
        return opweave.cond(x.sum() > 0, lambda x: x.mul_(2), lambda x: x * 1, (x,))

    with pytest.raises(UnsupportedError, match="true_fn runs for all examples of a vmap, and writes to a tensor"):
        opweave.vmap(f)(BATCH.clone())


# ---- what is refused ----

T = opweave.tensor(True)
ONES = opweave.ones(2, 3)

REFUSED = [
    (lambda: opweave.cond(1, abs, abs, (X,)), ArgumentError, "cond: pred must be a bool or a bool tensor"),
    (lambda: opweave.cond(X.double(), abs, abs, (X,)), ShapeError, "cond: pred must have one element"),
    (lambda: opweave.cond("yes", abs, abs, (X,)), ArgumentError, "cond: pred must be a bool or a bool tensor"),
    (lambda: opweave.cond(X > 0, abs, abs, (X,)), ShapeError, "cond: pred must have one element"),
    (lambda: opweave.cond(T, 3, abs, (X,)), ArgumentError, "cond: true_fn must be a function"),
    (lambda: opweave.cond(T, abs, abs, X), ArgumentError, "cond: operands must be a tuple"),
    (lambda: opweave.cond(T, abs, abs, ({"a": 2},)), ArgumentError, r"operands\[0\]\['a'\]: 2 \(int\)"),
    (lambda: opweave.cond(T, lambda x: 1, abs, (X,)), ArgumentError, "cond: true_fn must return tensors"),
    (lambda: opweave.cond(T, lambda x: x, lambda x: (x,), (X,)), ArgumentError,
     "cond: false_fn returns another structure than true_fn\n  got:  true_fn: \\*, false_fn: \\(\\*,\\)"),
    (lambda: opweave.cond(~T, lambda x: x, lambda x: (x, None), (X,)), ArgumentError,
     "cond: false_fn returns another structure than true_fn\n  got:  true_fn: \\*, false_fn: \\(\\*, None\\)"),
    (lambda: opweave.cond(T, lambda x: {"a": x}, lambda x: {"a": x.to(opweave.float64)}, (X,)), DTypeError,
     r"cond: false_fn does not fit true_fn: result\['a'\] has another dtype\n  got:  true_fn: f32\[3\], false_fn: f64"),
    (lambda: opweave.cond(~T, lambda x: (x, x), lambda x: (x, x[1:]), (X,)), ShapeError,
     r"cond: false_fn does not fit true_fn: result\[1\] has another shape"),
    (lambda: opweave.while_loop(lambda x: T, lambda x: (x,), X), ArgumentError, "carried_inputs must be a tuple"),
    (lambda: opweave.while_loop(lambda x: T, lambda x: (x,), (X, 1)), ArgumentError, "must hold nothing but tensors"),
    (lambda: opweave.while_loop(lambda x: 1, lambda x: (x,), (X,)), ArgumentError, "cond_fn must return a bool"),
    (lambda: opweave.while_loop(lambda x: x > 0, lambda x: (x,), (X,)), ShapeError, "cond_fn returns must have one"),
    (lambda: opweave.while_loop(lambda x: x.sum(), lambda x: (x,), (X,)), DTypeError, "must have dtype bool"),
    (lambda: opweave.while_loop(lambda x: T, lambda x: (x, x), (X,)), ArgumentError,
     "while_loop: body_fn returns another structure than carried_inputs"),
    (lambda: opweave.while_loop(lambda x: T, lambda x: (x[1:],), (X,)), ShapeError,
     r"what body_fn returns does not fit the carried values: result\[0\] has another shape"),
    (lambda: opweave.while_loop(lambda x: T, lambda x: (x > 0,), (X,)), DTypeError, "has another dtype"),
    (lambda: opweave.scan(lambda c, x: c, X, ONES), ArgumentError, "scan: combine_fn must return a pair"),
    (lambda: opweave.scan(lambda c, x: ((c,), x), X, ONES), ArgumentError, "another structure than init"),
    (lambda: opweave.scan(lambda c, x: (c[1:], x), X, ONES), ShapeError, "scan: the next carry does not fit the carry"),
    (lambda: opweave.scan(lambda c, x: (c, x), [], ONES), ArgumentError, "scan: init holds no tensor"),
    (lambda: opweave.scan(lambda c, x: (c, x), X, (ONES, X)), ShapeError, r"differ in length: \[2, 3\]"),
    (lambda: opweave.scan(lambda c, x: (c, x), X, opweave.ones(0, 3)), ShapeError, "scan: xs is empty"),
    (lambda: opweave.scan(lambda c, x: (c, x), X, ONES, dim=2), OutOfRangeError, "scan: dim 2 is out of range"),
    (lambda: opweave.scan(lambda c, x: (c, x), X, ONES, dim=1.0), ArgumentError, "scan: dim must be an int"),
    (lambda: opweave.scan(lambda c, x: (c, x), X, ONES, reverse=1), ArgumentError, "scan: reverse must be a bool"),
    (lambda: opweave.scan(lambda c, x: (c, x), X, (ONES, opweave.ones(2)), dim=1), ShapeError, "without dimension 1"),
    (lambda: opweave.map(abs, []), ArgumentError, "map: xs holds no tensor"),
    (lambda: opweave.map(abs, opweave.ones(0)), ShapeError, "map: xs is empty"),
    (lambda: opweave.map(abs, opweave.tensor(1.0)), ShapeError, "without dimension 0"),
    (lambda: opweave.map(lambda x, y: x, X, 3), ArgumentError, "map: args must hold nothing but tensors"),
    (lambda: opweave.map(lambda x: X[: int(x.item()) + 3], opweave.tensor([0, -1])), ShapeError,
     "map: f: step 1 does not fit step 0"),
    (lambda: opweave.associative_scan(lambda a, b: a, ONES, 0, combine_mode="x"), ArgumentError, "combine_mode"),
    (lambda: opweave.associative_scan(lambda a, b: a, [], 0), ArgumentError, "xs holds no tensor"),
    (lambda: opweave.associative_scan(lambda a, b: a[1:], ONES, 0), ShapeError, "does not fit a slice of xs"),
    (lambda: opweave.associative_scan(lambda a, b: (a, b), ONES, 0), ArgumentError, "another structure than xs"),
]  # fmt: skip


@pytest.mark.parametrize("index", range(len(REFUSED)))
def test_refused_calls_say_why(index):
    call, kind, text = REFUSED[index]
    with pytest.raises(kind, match=text) as caught:
        call()
    assert isinstance(caught.value, OpweaveError) and "test_control_flow.py" in str(caught.value)


def test_a_mismatch_is_found_at_each_call():
    def mismatched():
        return opweave.cond(T, lambda x: x, lambda x: x[1:], (X,))

    for _ in range(2):
        with pytest.raises(ShapeError, match="false_fn does not fit true_fn"):
            mismatched()


def test_a_branch_that_cannot_run_without_data_does_no_harm():
    got = opweave.cond(T, lambda x: x + 1, lambda x: x * x.sum().item(), (X,))
    close(got, X.numpy() + 1)
