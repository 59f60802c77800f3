"""Functionalization: same results, same mutated inputs, same sharing of memory, no mutation left but the write-back."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given
from pass_checks import check, lines, tensor, trace
from random_programs import build, programs

import opweave
from opweave.passes import functionalize
from opweave.registry.errors import UnsupportedError
from opweave.tracer.graph import Graph


def functional(graph: Graph) -> Graph:
    graph = functionalize.run(graph)
    left = [n for n in graph if n.op == "call_function" and getattr(n.target, "is_mutable", False)]
    assert all(str(n.target) == "aten.copy_.default" and n.args[0].op == "placeholder" for n in left)
    return graph


@given(programs(mutate=True))
def test_random_programs(steps):
    check(functional, build(steps), tensor(2, 3), tensor(2, 3, seed=1), tensor(3, 2, seed=2))


def test_in_place_op_becomes_its_functional_form():
    def f(x):
        y = x * 2
        y.add_(1)
        return y

    assert lines(check(functional, f, tensor(3))) == [
        "mul = ops.aten.mul.Tensor(x_1, 2)",
        "add = ops.aten.add.Tensor(mul, 1)",
        "return (add,)",
    ]


def test_input_is_written_back():
    def f(x):
        x.mul_(2)
        return x + 1

    assert lines(check(functional, f, tensor(3))) == [
        "mul = ops.aten.mul.Tensor(x_1, 2)",
        "add = ops.aten.add.Tensor(mul, 1)",
        "copy_ = ops.aten.copy_.default(x_1, mul)",
        "return (add,)",
    ]


def test_write_through_a_reshape_is_undone_by_a_reshape():
    def f(x):
        x.view(-1).add_(1)
        return x.t() * 2

    assert [line.split(" = ")[1].split("(")[0] for line in lines(check(functional, f, tensor(2, 3)))[:-1]] == [
        "ops.aten.view.default",
        "ops.aten.add.Tensor",
        "ops.aten.view.default",
        "ops.aten.t.default",
        "ops.aten.mul.Tensor",
        "ops.aten.copy_.default",
    ]


def test_write_through_a_slice_is_a_copy_with_the_slice_replaced():
    def f(x):
        y = x.clone()
        y[1].add_(1)
        return y

    assert any("ops.write_view(" in line for line in lines(check(functional, f, tensor(2, 3))))


def test_results_share_memory_as_they_should():
    def f(x):
        b = x.clone()
        v = b[0]
        v.add_(1)
        return b, v, b.view(-1), b.clone()

    module = trace(f, tensor(2, 3))
    functionalize.run(module.graph)
    b, v, flat, copy = module(tensor(2, 3))
    assert v._storage is b._storage and flat._storage is b._storage and copy._storage is not b._storage


def test_views_of_inputs_stay_views_of_inputs():
    def f(x):
        v = x.t()
        x.add_(1)
        return v

    module = trace(f, tensor(2, 3))
    functionalize.run(module.graph)
    x = tensor(2, 3)
    assert module(x)._storage is x._storage


def test_swapped_inputs():
    def f(x, y):
        kept = x.clone()
        x.copy_(y)
        y.copy_(kept)

    check(functional, lambda x, y: (f(x, y), x + 0)[1], tensor(3), tensor(3, seed=1))


def test_op_on_a_tensor_and_its_copy_keeps_two_buffers():
    @opweave.library.custom_op("test_functionalize::accumulate", mutates_args=("out",))
    def accumulate(out: opweave.Tensor, x: opweave.Tensor) -> None:
        for i in range(3):
            out.numpy()[i] += x.numpy()[2 - i]

    def f(x):
        y = x.clone()
        accumulate(y, x)
        return y

    graph = check(functional, f, tensor(3))
    assert "ops.auto_functionalized(" in str(graph)

    def both(x):
        accumulate(x, x.clone())
        return x * 1

    check(functional, both, tensor(3))


def test_mutating_op_with_a_result():
    @opweave.library.custom_op("test_functionalize::bump", mutates_args=("x",))
    def bump(x: opweave.Tensor, by: float) -> opweave.Tensor:
        x.numpy()[...] += by
        return opweave.from_numpy(x.numpy() * 2)

    @bump.register_fake
    def _(x, by):
        return opweave.empty_like(x)

    def f(x):
        y = x[0]
        z = bump(y, 2.0)
        return z + x[0], y

    check(functional, f, tensor(2, 3))


def test_an_op_sees_its_own_writes_through_other_arguments():
    @opweave.library.custom_op("test_functionalize::running", mutates_args=("a",))
    def running(a: opweave.Tensor, b: opweave.Tensor, others: list[opweave.Tensor]) -> opweave.Tensor:
        for i in range(a.numel()):
            a.numpy()[i] += b.numpy()[i] + others[0].numpy()[0, i]
        return b.clone()

    @running.register_fake
    def _(a, b, others):
        return opweave.empty_like(b)

    def f(x):
        y = x * 1
        made = running(y[0, 1:], y.view(-1)[:3], [y[:, :3], x])
        return y[0] * 2, made, y

    graph = check(functional, f, tensor(2, 4))
    assert "ops.mutate_views('test_functionalize::running'" in str(graph)

    def on_gaps(x):
        part = x[:, ::2]
        running(part[0], part[0], [part[1:]])
        return x

    check(functional, on_gaps, tensor(2, 6))


def test_memory_as_two_types_is_refused_with_the_line():
    @opweave.library.custom_op("test_functionalize::shift", mutates_args=("a",))
    def shift(a: opweave.Tensor, b: opweave.Tensor) -> None:
        a.numpy()[...] = b.numpy()[::-1]

    def f(x):
        shift(x[0], x.view(opweave.int32))
        return x

    with pytest.raises(UnsupportedError) as caught:
        functionalize.run(trace(f, tensor(2, 3)).graph)
    line = inspect.getsourcelines(f)[1] + 1
    assert "it writes memory that it also gets as another type" in str(caught.value)
    assert f"test_functionalize.py:{line}" in str(caught.value)


def test_written_inputs():
    def f(x, y):
        y.add_(1)
        return x + y

    graph = functionalize.run(trace(f, tensor(3), tensor(3)).graph)
    assert functionalize.written_inputs(graph) == (1,)


def test_types_stay():
    def f(x):
        x.add_(opweave.from_numpy(np.ones(3)))
        return x * 1

    assert check(functional, f, tensor(3)) is not None
