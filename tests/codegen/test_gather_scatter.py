"""Gathers and scatters inside kernels give what eager gives, and check their places as eager does."""

from __future__ import annotations

import numpy as np
import pytest

import opweave
import opweave.nn.functional as F
from opweave.registry.errors import OutOfRangeError
from opweave.registry.tensor import Tensor, from_numpy

draw = np.random.default_rng(0)


def real(*sizes: int) -> Tensor:
    return from_numpy(draw.random(sizes).astype(np.float32))


def places(*sizes: int, low: int = -5, high: int = 5) -> Tensor:
    return from_numpy(draw.integers(low, high, sizes))


x, rows = real(6, 5, 7), real(5, 7)

GATHERS = {
    "embedding and layer_norm": (lambda w, i: F.layer_norm(F.embedding(i, w), (7,)), (rows, places(3, 4, low=0))),
    "second dimension": (lambda x, i: x[:, i] * 2, (x, places(9))),
    "indices apart": (lambda x, i, j: x[i, :, j].sum(-1), (x, places(4), places(3, 1))),
    "indices together": (lambda x, i, j: x[i, j] + 1, (x, places(4), places(3, 1))),
    "beside itself": (lambda x, i: x[i] + x, (x, places(6))),
    "of a computed value": (lambda x, i: x.exp()[i] * 3, (x, places(6))),
    "at a computed place": (lambda x, i: x[(i * 2) % 5], (x, places(6))),
    "gather": (lambda x, i: x.gather(1, i).relu(), (x, places(6, 3, 7, low=0))),
    "index_select": (lambda x, i: x.index_select(2, i).sum(2), (x, places(4, low=0))),
    "of a view": (lambda x, i: x.transpose(0, 2)[i] * 1.5, (x, places(4))),
    "in a reduction": (lambda x, i: x[i].softmax(-1), (x, places(4))),
    "at gathered places": (lambda x, i, j: x[i[j]] * 2, (x, places(5), places(3))),
    "of itself": (lambda i: i[i] + 1, (places(5),)),
    "used thrice": (lambda x, i: (x[i] * 2, x[i].sum(0), x[i].amax()), (x, places(6))),
    "small integers": (lambda x, i: x[i] * 2, (x, places(6).to(opweave.int8))),
    "one place": (lambda x, i: x[i] * 2, (x, from_numpy(np.array(3)))),
    "long columns": (lambda x, i: x[i].amax(0), (x, places(1000))),
    "long rows": (lambda x, i: x[i].amax(), (real(5, 3000), places(100, low=0))),
    "argmax": (lambda x, i: x[i].argmax(-1), (x, places(10))),
    "after a write": (lambda x, i: x.mul_(2)[i] + 1, (x, places(6))),
    "bool": (lambda x, i: ~x[i], (x > 0.5, places(6))),
}


def gradient(fn):
    def of_first(w, *rest):
        w = w.detach().requires_grad_()
        return opweave.autograd.grad(fn(w, *rest).sum(), w)[0]

    return of_first


SCATTERS = {
    "put": (lambda x, i, v: x.index_put([i], v), (x, places(9), real(9, 5, 7))),
    "add": (lambda x, i, v: x.index_put([i], v, True), (x, places(90), real(90, 5, 7))),
    "add numbers": (lambda x, i, v: x.index_put([i], v, True), (real(5), places(90), real(90))),
    "add at a grid": (
        lambda x, i, j, v: x.index_put([i, None, j], v, True),
        (x, places(4, 1), places(3), real(4, 3, 5)),
    ),
    "the last one stays": (lambda x, i, v: x.index_put([i], v), (real(5), places(50), real(50))),
    "values that broadcast": (lambda x, i, v: x.index_put([i], v), (x, places(9), real(7))),
    "one value": (lambda x, i, v: x.index_put([i], v, True), (x, places(9), real())),
    "into zeros": (lambda i, v: opweave.zeros(5, 7).index_put([i], v, True), (places(9), real(9, 7))),
    "scatter_add": (lambda x, i, v: x.scatter_add(1, i, v), (x, places(6, 9, 7, low=0), real(6, 9, 7))),
    "smaller index": (lambda x, i, v: x.scatter_add(0, i, v), (x, places(3, 2, 7, low=0), real(3, 2, 7))),
    "index of size 1": (lambda x, i, v: x.scatter_add(0, i, v), (x, places(3, 1, 7, low=0), real(3, 1, 7))),
    "scatter": (lambda x, i, v: opweave.ops.aten.scatter.src(x, 0, i, v), (x, places(3, 5, 7, low=0), real(3, 5, 7))),
    "as many values as elements": (lambda x, i, v: x.index_put([i, i], v, True), (real(5, 5), places(25), real(25))),
    "one place again and again": (lambda x, i, v: x.index_put([i.expand(6)], v, True), (real(5), places(1), real(6))),
    "one value at one place": (lambda x, i, v: x.index_put([i.expand(6)], v, True), (real(5), places(1), real())),
    "integers": (lambda x, i, v: x.index_put([i], v, True), (places(5), places(50), places(50))),
    "into a view": (lambda x, i, v: x.t().index_put([i], v, True), (real(3, 5), places(9), real(9, 3))),
    "in place": (lambda x, i, v: x.index_put_([i], v, True) + 1, (real(5, 3), places(50), real(50, 3))),
    "assigned": (lambda x, i, v: x.__setitem__(i, v), (real(5, 3), places(3), real(3, 3))),
    "into itself": (lambda x, i: x.index_put([i], x * 2, True), (real(5), places(5))),
    "of a computed value into itself": (lambda x, i: (x * 2).index_put([i], x * 2 + 1, True), (real(5), places(5))),
    "of a kept value into itself": (
        lambda x, i: (lambda y: y.index_put([i], y * 2, True))(x.exp()),
        (real(5), from_numpy(np.array([1, 2, 3, 4, 0]))),
    ),
    "at places of its own": (
        lambda x, v: (lambda y: y.index_put([y], v))(x * 2 % 5),
        (places(5, low=0), from_numpy(np.arange(5))),
    ),
    "gradient of embedding": (gradient(lambda w, i: F.embedding(i, w) ** 2), (rows, places(4, 9, low=0))),
    "with padding": (gradient(lambda w, i: F.embedding(i, w, padding_idx=2) ** 2), (rows, places(4, 9, low=0))),
    "gradient of gather": (gradient(lambda w, i: w.gather(1, i) ** 2), (rows, places(5, 9, low=0))),
}


def kernels_and_calls(fn, arguments) -> list[str]:
    fusion = opweave.explain(fn)(*[t.clone() for t in arguments]).versions[-1].fusion
    return [line for line in fusion.splitlines() if line.startswith(("kernel", "extern"))]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", [*GATHERS, *SCATTERS])
def test_compiled_equals_eager(name, dynamic):
    fn, arguments = {**GATHERS, **SCATTERS}[name]
    given = [[t.clone() for t in arguments] for _ in range(2)]
    eager, found = fn(*given[0]), opweave.compile(fn, dynamic=dynamic)(*given[1])
    results = [[r for r in (value if isinstance(value, tuple) else (value,)) if r is not None]
               for value in (eager, found)]  # fmt: skip
    for wanted, got in zip([*results[0], *given[0]], [*results[1], *given[1]], strict=True):
        assert (got.shape, got.stride(), got.dtype) == (wanted.shape, wanted.stride(), wanted.dtype)
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", [*GATHERS, *SCATTERS])
def test_they_are_kernels(name):
    fn, arguments = {**GATHERS, **SCATTERS}[name]
    steps = kernels_and_calls(fn, arguments)
    assert not [line for line in steps if line.startswith("extern") and "aten.copy_" not in line]


@pytest.mark.parametrize("wrong", [5, -6])
@pytest.mark.parametrize("fn", [
    lambda x, i: x[i] * 2, lambda x, i: x.index_put([i], x.sum(), True), lambda x, i: x[i].sum(),
])  # fmt: skip
def test_a_place_outside_is_an_error_as_in_eager(fn, wrong):
    compiled = opweave.compile(fn)
    good, bad = places(300), places(300)
    bad[290] = wrong
    wanted = fn(rows, good)
    np.testing.assert_allclose(compiled(rows, good).numpy(), wanted.numpy(), rtol=1e-5)
    with pytest.raises(OutOfRangeError, match=f"index {wrong} is out of range for dimension 0 with size 5"):
        fn(rows, bad)
    with pytest.raises(OutOfRangeError, match="an index is out of range for dimension 0 with size 5") as raised:
        compiled(rows, bad)
    assert "test_gather_scatter.py" in str(raised.value.at)
    np.testing.assert_allclose(compiled(rows, good).numpy(), wanted.numpy(), rtol=1e-5)


def test_a_gather_is_fused_with_what_reads_it():
    steps = kernels_and_calls(*GATHERS["embedding and layer_norm"])
    assert [line.split("  ")[1].strip() for line in steps] == ["fused: embedding, layer_norm"]


def test_a_gradient_is_added_where_zeros_were_made():
    fn, arguments = SCATTERS["into zeros"]
    code = opweave.explain(fn)(*arguments).versions[-1].code
    assert "index_put = full" in code and "_array[...]" not in code


def test_what_the_loop_of_a_scatter_cannot_do_stays_a_call():
    x, i = real(5).to(opweave.bfloat16), places(9)
    steps = kernels_and_calls(lambda x, i: x.index_put([i], x[i], True), (x, i))
    (call,) = [line for line in steps if line.startswith("extern")]
    assert "library call: sums of bfloat16" in call


def test_a_row_before_the_first_is_out_of_range_for_the_gradient_of_an_embedding():
    def f(g, i):
        return opweave.ops.aten.embedding_dense_backward.default(g, i, 5, -1, False)

    for call in (f, opweave.compile(f)):
        with pytest.raises(OutOfRangeError, match="out of range for dimension 0 with size 5"):
            call(real(3, 2), from_numpy(np.array([0, -1, 2])))


def test_what_a_kernel_computes_again_is_not_made_its_result():
    def f(x, w):
        b = (w * 0.25).floor() + 1
        b[2] = x.sum(0) * 0 + 2
        return w - w, b + 1

    x, w = opweave.ones(4, 4), opweave.arange(16.0).reshape(4, 4)
    for found, wanted in zip(opweave.compile(f)(x, w), f(x, w), strict=True):
        assert found.tolist() == wanted.tolist()
