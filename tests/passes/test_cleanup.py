"""canonicalize, fold, cse, dce, decompose: nothing a result shows, and the text that is expected."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from pass_checks import check, lines, tensor, trace
from random_programs import build, programs

import opweave
from opweave.passes import canonicalize, cse, dce, decompose, fold
from opweave.registry.op import ops
from opweave.registry.tensor import from_numpy

aten = ops.aten


def special(*sizes: int):
    values = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-45, 3.5]
    return from_numpy(np.resize(np.array(values, np.float32), sizes))


@pytest.mark.parametrize("run", [canonicalize.run, fold.run, cse.run, dce.run, decompose.run])
@given(steps=programs(mutate=False))
def test_random_programs(run, steps):
    check(run, build(steps), special(2, 3), special(2, 3), tensor(3, 2, seed=2))


def after(run, fn, *tensors) -> list[str]:
    return lines(check(run, fn, *tensors))


def clean(graph):
    return dce.run(canonicalize.run(graph))


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x * 1 + x,
        lambda x: 1 * x + x,
        lambda x: x / 1 + x,
        lambda x: (x - 0) + x,
        lambda x: x.neg().neg() + x,
        lambda x: x**1 + x,
        lambda x: x.t().t() + x,
        lambda x: x.view(6).view(2, 3) + x,
        lambda x: x.to(opweave.float64).to(opweave.float32) + x,
        lambda x: x.permute(1, 0).permute(1, 0) + x,
    ],
)
def test_identities(fn):
    add, result = after(clean, fn, special(2, 3))
    assert add.endswith("ops.aten.add.Tensor(x_1, x_1)") and result.startswith("return (add")


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: (x + 0) + x,  # -0.0 becomes 0.0
        lambda x: (x * 0) + x,  # NaN and infinity
        lambda x: (x * 1.5) / 1.5 + x,
        lambda x: x.to(opweave.float16).to(opweave.float32) + x,  # rounds
        lambda x: x.to(opweave.int32).to(opweave.float32).relu(),
    ],
)
def test_what_only_looks_like_an_identity(fn):
    assert len(after(clean, fn, tensor(2, 3))) > 2


def test_integers_lose_plus_zero():
    x = from_numpy(np.arange(6).reshape(2, 3))
    assert after(clean, lambda x: (x + 0) * x, x) == ["mul = ops.aten.mul.Tensor(x_1, x_1)", "return (mul,)"]


def test_a_result_stays_a_tensor_of_its_own():
    x = tensor(3)
    module = trace(lambda x: x * 1, x)
    clean(module.graph)
    result = module(x)
    assert result is not x and result._storage is not x._storage


def test_cse_merges_equal_nodes():
    assert after(cse.run, lambda x: (x + 1) * (x + 1), tensor(3)) == [
        "add = ops.aten.add.Tensor(x_1, 1)",
        "mul = ops.aten.mul.Tensor(add, add)",
        "return (mul,)",
    ]


def test_cse_tells_numbers_of_different_types_apart():
    x = from_numpy(np.arange(3))
    assert len(after(cse.run, lambda x: (x + 1) * (x + 1.0), x)) == 4
    assert len(after(cse.run, lambda x: (x * 0.0) + (x * -0.0), tensor(3))) == 4


def test_cse_leaves_separate_results_separate():
    module = trace(lambda x: (x + 1, x + 1), tensor(3))
    cse.run(module.graph)
    a, b = module(tensor(3))
    assert a is not b and a._storage is not b._storage


def test_cse_leaves_random_draws_clones_and_opaque_ops():
    @opweave.library.custom_op("test_cleanup::opaque", mutates_args=())
    def opaque(x: opweave.Tensor) -> opweave.Tensor:
        return opweave.from_numpy(x.numpy() + 1)

    opaque.register_fake(lambda x: opweave.empty_like(x))
    assert len(after(cse.run, lambda x: opaque(x) * opaque(x), tensor(3))) == 4
    assert len(after(cse.run, lambda x: x.clone() + x.clone(), tensor(3))) == 4
    graph = trace(lambda x: opweave.rand(3) + opweave.rand(3) + x, tensor(3)).graph
    before = len(graph)
    assert len(cse.run(graph)) == before


def test_dce():
    def f(x):
        x * 2
        (x + 1).relu()
        return x - 1

    assert after(dce.run, f, tensor(3)) == ["sub = ops.aten.sub.Tensor(x_1, 1)", "return (sub,)"]


def test_dce_keeps_effects():
    def f(x):
        opweave.rand(3)
        x.add_(1)
        return x * 2

    text = str(dce.run(trace(f, tensor(3)).graph))
    assert "rand" in text and "add_" in text


def test_fold_uniform_tensors():
    def f(x):
        return x * (opweave.full((2, 3), 2.0) * 3 + 1)

    first, second, _ = after(lambda g: dce.run(fold.run(g)), f, tensor(2, 3))
    assert "ops.aten.full.default([2, 3], 7.0, dtype=opweave.float32" in first and "mul" in second


def test_fold_rounds_as_the_op_does():
    check(fold.run, lambda x: x + (opweave.full((2, 3), 0.1) * 3), tensor(2, 3))
    check(fold.run, lambda x: x + (opweave.full((2, 3), 7) // 2), tensor(2, 3))


def test_decompose_softmax_and_layer_norm():
    x, w, b = tensor(4, 8), tensor(8, seed=1), tensor(8, seed=2)
    for fn in (lambda x, w, b: opweave.softmax(x, -1), lambda x, w, b: opweave.nn.functional.layer_norm(x, (8,), w, b)):
        graph = check(decompose.run, fn, x, w, b, tolerance=1e-5)
        kinds = {n.target.decl.kind for n in graph if hasattr(n.target, "decl")}
        assert "composite" not in kinds and "reduction" in kinds


def test_decomposed_nodes_have_the_users_line():
    graph = decompose.run(trace(lambda x: opweave.softmax(x, -1), tensor(4, 8)).graph)
    assert {n.meta["site"].file for n in graph if n.op == "call_function"} == {__file__}


def test_what_replaces_a_value_lies_as_it_did():
    """A stretched tensor negated twice is a tensor of its own, which can be viewed as a stretched one cannot."""
    function = lambda x: x.expand(2, 2).neg().neg().view(4) * 2  # noqa: E731
    x = tensor(1, 2)
    np.testing.assert_array_equal(opweave.compile(function)(x).numpy(), function(x).numpy())


def test_a_constant_seen_as_another_type_keeps_its_bits():
    def f(x):
        bits = x.new_full((2,), 2).view(opweave.float16)
        return bits.square_(), (opweave.zeros(2) + 1).view(opweave.int32) + x

    x = opweave.tensor([1])
    for mine, theirs in zip(opweave.compile(f)(x), f(x), strict=True):
        assert mine.tolist() == theirs.tolist()
    assert f(x)[0].tolist() == [0.0] * 8 and f(x)[1].tolist() == [0x3F800001] * 2


@pytest.mark.parametrize("exponent", [0, 1, 3, 5, 6])
def test_powers_of_constants(exponent):
    def f(x):
        return x.fill_(3).pow(exponent), opweave.full((2,), 3).pow(opweave.full((2,), exponent)) + x * 0

    for found in opweave.compile(f)(opweave.tensor([2, -7])):
        assert found.tolist() == [3**exponent] * 2
