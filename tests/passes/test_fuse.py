"""Which nodes become one kernel, which do not, and what is said about it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from opweave.passes import canonicalize, cse, dce, decompose, fold, functionalize
from opweave.passes.fuse import MAX_MEMBERS, fuse
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, from_numpy
from opweave.tracer.graph import Graph
from opweave.tracer.make_fx import make_fx

aten = ops.aten


def tensor(*sizes: int, dtype: Any = np.float32) -> Tensor:
    return from_numpy(np.ones(sizes, dtype))


def fused(fn: Callable[..., Any], *tensors: Tensor) -> Graph:
    graph = make_fx(fn, tracing_mode="fake")(*tensors).graph
    for run in (functionalize.run, decompose.run, canonicalize.run, fold.run, cse.run, dce.run, fuse):
        graph = run(graph)
    graph.lint()
    assert nx.is_directed_acyclic_graph(graph)
    return graph


def kernels(graph: Graph) -> list[list[str]]:
    """Names of the ops in every region."""
    found = [node.target for node in graph.nodes if isinstance(node.target, Graph)]
    return [[n.target.opname for n in region.nodes if n.op == "call_function"] for region in found]


def calls(graph: Graph) -> list[str]:
    """What stays a call."""
    skipped = (operator.getitem,)
    return [
        str(n.target) for n in graph.nodes
        if n.op == "call_function" and not isinstance(n.target, Graph) and n.target not in skipped
    ]  # fmt: skip


def reasons(graph: Graph) -> str:
    return "\n".join(map(str, graph.graph["fusion"]))


X = (64, 256)


def test_a_chain_is_one_kernel():
    graph = fused(lambda x, b: aten.relu.default(aten.add.Tensor(aten.mul.Tensor(x, 2), b)), tensor(*X), tensor(256))
    assert kernels(graph) == [["mul", "add", "relu"]]
    assert calls(graph) == []
    (line,) = reasons(graph).splitlines()
    assert line.startswith("kernel 0  fused: mul, add, relu                   reads 2 buffers, writes 1; test_fuse.py:")


def test_softmax_of_a_chain_is_one_kernel():
    def f(x, a, b, r):
        return aten.softmax.int(aten.add.Tensor(aten.gelu.default(aten.add.Tensor(aten.mul.Tensor(x, a), b)), r), -1)

    graph = fused(f, tensor(*X), tensor(256), tensor(256), tensor(*X))
    assert len(kernels(graph)) == 1 and calls(graph) == []


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w, b: aten.layer_norm.default(x, [256], w, b, 1e-5),
        lambda x, w, b: aten.log_softmax.int(x, -1),
        lambda x, w, b: aten.var.correction(x, [1], correction=1),
        lambda x, w, b: aten.native_layer_norm.default(x, [256], w, b, 1e-5),
        lambda x, w, b: (aten.sum.dim_IntList(x, [1]), aten.amax.default(x, [1]), aten.mul.Tensor(x, w)),
        lambda x, w, b: aten.mul.Tensor(aten.mean.dim(aten.exp.default(x), [1]), 3),
    ],
    ids=["layer_norm", "log_softmax", "var", "native_layer_norm", "siblings", "epilogue"],
)
def test_one_kernel(f):
    graph = fused(f, tensor(*X), tensor(256), tensor(256))
    assert len(kernels(graph)) == 1 and calls(graph) == []


def test_reductions_over_different_axes_are_two_kernels():
    graph = fused(lambda x: (aten.sum.dim_IntList(x, [0]), aten.sum.dim_IntList(x, [1])), tensor(*X))
    assert len(kernels(graph)) == 2
    graph = fused(lambda x: aten.sum.dim_IntList(aten.sum.dim_IntList(x, [0]), [0]), tensor(*X))
    assert kernels(graph) == [["sum"], ["sum"]]


def test_an_opaque_op_splits_and_says_so():
    graph = fused(lambda x, y: aten.relu.default(aten.mm.default(aten.neg.default(x), y)), tensor(8, 8), tensor(8, 8))
    assert kernels(graph) == [["neg"], ["relu"]]
    assert calls(graph) == ["aten.mm.default"]
    assert "extern    aten.mm                                 library call; test_fuse.py:" in reasons(graph)


def test_nothing_waits_for_itself():
    """A value needed both inside and behind an opaque op cannot drag both sides into one kernel."""

    def f(x):
        y = aten.exp.default(x)
        return aten.add.Tensor(aten.mm.default(y, y), y)

    graph = fused(f, tensor(8, 8))
    assert kernels(graph) == [["exp"], ["add"]]
    assert "another step stands between it and its user" in reasons(graph)


def test_a_view_alone_is_no_kernel():
    graph = fused(lambda x: aten.permute.default(x, [1, 0]), tensor(*X))
    assert kernels(graph) == [] and calls(graph) == ["aten.permute.default"]
    assert "view      aten.permute" in reasons(graph) and "metadata only" in reasons(graph)


def test_views_are_read_through():
    def f(x, y):
        return aten.add.Tensor(aten.view.default(aten.permute.default(aten.exp.default(x), [1, 0]), [256, 64]), y)

    graph = fused(f, tensor(*X), tensor(256, 64))
    assert len(kernels(graph)) == 1 and calls(graph) == []


def test_a_view_of_a_result_is_made_from_the_stored_buffer():
    graph = fused(lambda x: aten.permute.default(aten.exp.default(x), [1, 0]), tensor(*X))
    assert kernels(graph) == [["exp"]] and calls(graph) == ["aten.permute.default"]


def test_cheap_values_are_computed_twice_rather_than_stored():
    def f(x):
        y = aten.mul.Tensor(x, 2)
        return aten.sum.dim_IntList(y, [0]), aten.sum.dim_IntList(y, [1])

    assert sorted(kernels(fused(f, tensor(*X)))) == [["mul", "sum"], ["mul", "sum"]]


def test_a_value_that_is_computed_twice_may_also_be_a_result():
    def f(x):
        y = aten.neg.default(x)
        part = aten.slice.Tensor(y, 1, 1, 3, 2)
        return y, aten.neg.default(aten.neg.default(part)), aten.add.Tensor(part, x)

    graph = fused(f, tensor(1, 2))
    stored = [n for n in graph.nodes if n.op == "call_function" and n.target is operator.getitem]
    assert len(stored) == 3


def test_expensive_stretched_values_are_stored():
    graph = fused(lambda x, w: aten.mul.Tensor(x, aten.exp.default(w)), tensor(*X), tensor(256))
    assert kernels(graph) == [["exp"], ["mul"]]
    assert "would be recomputed 64 times" in reasons(graph)


def test_unsupported_types_stay_calls():
    graph = fused(lambda x: aten.mul.Tensor(x, 2), tensor(4, dtype=np.complex64))
    assert kernels(graph) == [] and "dtype complex64 has no Triton type" in reasons(graph)


def test_empty_tensors_stay_calls():
    graph = fused(lambda x: aten.mul.Tensor(x, 2), tensor(0, 4))
    assert kernels(graph) == [] and "no elements" in reasons(graph)


def test_kernels_stay_small():
    def f(x):
        for i in range(MAX_MEMBERS + 40):
            x = aten.sin.default(aten.add.Tensor(x, i))
        return x

    graph = fused(f, tensor(8))
    assert all(len(kernel) <= MAX_MEMBERS for kernel in kernels(graph)) and len(kernels(graph)) == 3
    assert "ops already" in reasons(graph)


def test_long_rows_that_need_splitting_are_not_fused_with_what_follows():
    graph = fused(lambda x: aten.div.Tensor(x, aten.sum.default(x)), tensor(1 << 20))
    assert kernels(graph) == [["sum"], ["div"]]
    assert "1 rows of 1048576: split over programs instead" in reasons(graph)


@given(st.lists(st.tuples(st.sampled_from(["unary", "binary", "opaque", "row", "column"]), st.integers(0, 99),
                          st.integers(0, 99)), min_size=1, max_size=25))  # fmt: skip
def test_any_graph_stays_acyclic_and_complete(steps):
    def f(x, y):
        pool = [x, y]
        for name, i, j in steps:
            a, b = pool[i % len(pool)], pool[j % len(pool)]
            match name:
                case "unary":
                    pool.append(aten.exp.default(a))
                case "binary":
                    pool.append(aten.add.Tensor(a, b))
                case "opaque":
                    pool.append(aten.mm.default(a, b))
                case _:
                    pool.append(aten.sub.Tensor(a, aten.amax.default(a, [int(name == "row")], True)))
        return tuple(pool[2:][-5:])

    graph = fused(f, tensor(8, 8), tensor(8, 8))
    outputs = graph.output_node().args[0]
    assert len(outputs) == min(len(steps), 5)
    for node in graph.nodes:
        if isinstance(node.target, Graph):
            node.target.lint()
            assert len(node.args) == len(node.target.placeholders())
