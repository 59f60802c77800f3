"""What is picked from a pointwise result is computed of what is picked from its operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from expecttest import assert_expected_inline
from pass_checks import before_and_after, check, tensor

import opweave
from opweave.passes import lookups
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, from_numpy
from opweave.tracer.graph import Graph

aten = ops.aten


def places(*sizes: int, below: int) -> Tensor:
    return from_numpy(np.random.default_rng(3).integers(0, below, sizes))


def sources(graph: Graph) -> list[str]:
    """Of each lookup, what it looks into."""
    found = [node for node in graph if node.target in lookups.PICKS]
    return [node.args[0].name if node.args[0].op == "placeholder" else node.args[0].target.opname for node in found]


X, T = tensor(6, 10), places(6, 1, below=10)
DEEPER: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]] = {
    "a chain": (lambda x, t: aten.gather.default(aten.exp.default(aten.mul.Tensor(x, 3)), 1, t), (X, T)),
    "a column": (lambda x, t, m: aten.gather.default(aten.sub.Tensor(x, m), 1, t), (X, T, tensor(6, 1))),
    "a row": (lambda x, t, w: aten.gather.default(aten.mul.Tensor(x, w), 1, t), (X, T, tensor(10))),
    "a number as a tensor": (
        lambda x, t, s: aten.gather.default(aten.mul.Tensor(x, s), 1, t),
        (X, T, opweave.tensor(3.0)),
    ),
    "another type": (lambda x, t: aten.gather.default(aten._to_copy.default(x, dtype=opweave.float64), 1, t), (X, T)),
    "from behind": (lambda x, t: aten.gather.default(aten.neg.default(x), -1, t), (X, T)),
    "slices": (lambda x, i: aten.index_select.default(aten.exp.default(x), 1, i), (X, places(4, below=10))),
    "slices beside a column": (
        lambda x, i, m: aten.index_select.default(aten.add.Tensor(x, m), 1, i),
        (X, places(4, below=10), tensor(6, 1)),
    ),
    "rows of a table": (
        lambda w, i, s: aten.embedding.default(aten.mul.Tensor(aten._to_copy.default(w, dtype=opweave.float32), s), i),
        (from_numpy(np.arange(-60, 60, dtype=np.int8).reshape(12, 10)), places(2, 3, below=12), tensor(12, 1)),
    ),
    "rows beside a row": (
        lambda w, i, s: aten.embedding.default(aten.mul.Tensor(w, s), i),
        (tensor(12, 10), places(2, 3, below=12), tensor(1, 10)),
    ),
}


@pytest.mark.parametrize("case", DEEPER)
def test_operands_are_looked_up(case):
    f, args = DEEPER[case]
    graph = check(lookups.run, f, *args)
    names = {node.name for node in graph.placeholders()}
    assert set(sources(graph)) <= {*names, "expand"}


def _other_result(x: Tensor, t: Tensor) -> Any:
    y = aten.exp.default(x)
    return y, aten.gather.default(y, 1, t)


STAY: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...]]] = {
    "more than there was": (
        lambda x, i: aten.index_select.default(aten.exp.default(x), 1, i),
        (X, places(11, below=10)),
    ),
    "what is needed anyway, and much of it": (_other_result, (X, places(6, 5, below=10))),
    "a sum": (lambda x, t: aten.gather.default(aten.cumsum.default(x, 1), 1, t), (X, T)),
    "fewer rows": (
        lambda x, t, m: aten.gather.default(aten.sub.Tensor(x, m), 1, t),
        (X, places(3, 1, below=10), tensor(6, 1)),
    ),
}


@pytest.mark.parametrize("case", STAY)
def test_what_stays(case):
    f, args = STAY[case]
    graph = check(lookups.run, f, *args)
    assert not {node.name for node in graph.placeholders()} & {*sources(graph)}


def test_few_of_what_is_needed_anyway():
    graph = check(lookups.run, _other_result, tensor(6, 16), places(6, 1, below=16))
    (name,) = sources(graph)
    assert name in {node.name for node in graph.placeholders()}


def test_the_graph():
    text = before_and_after(
        lookups.run, lambda x, m, t: aten.gather.default(aten.sub.Tensor(x, m), 1, t), X, tensor(6, 1), T
    )
    assert_expected_inline(
        text,
        """\
sub = ops.aten.sub.Tensor(x_1, m_1)
gather = ops.aten.gather.default(sub, 1, t_1)
return (gather,)
->
sub = ops.aten.sub.Tensor(x_1, m_1)
gather_1 = ops.aten.gather.default(x_1, 1, t_1)
sub_1 = ops.aten.sub.Tensor(gather_1, m_1)
return (sub_1,)""",
    )


@pytest.mark.parametrize("wrong", [10, -11])
def test_a_place_outside_is_an_error(wrong):
    t = from_numpy(np.full((6, 1), wrong))
    with pytest.raises(IndexError, match="out of"):
        opweave.compile(lambda x, t: x.exp().gather(1, t))(X, t)


def test_a_cross_entropy_writes_no_log_probabilities():
    """Against numbers in 64 bits, with a class that is ignored."""
    x = np.random.default_rng(0).standard_normal((40, 70), dtype=np.float32) * 4
    t = np.random.default_rng(1).integers(0, 70, 40)
    t[::7] = -100
    f = opweave.compile(lambda x, t: opweave.nn.functional.cross_entropy(x, t))
    args = from_numpy(x), from_numpy(t)
    f(*args)
    with opweave.profile() as seen:
        found = f(*args).item()
    wide = x.astype(np.float64)
    logs = wide - np.log(np.exp(wide).sum(-1, keepdims=True))
    counted = t != -100
    assert found == pytest.approx(-logs[counted, t[counted]].mean(), rel=1e-6)
    assert [kernel.launches for kernel in seen.kernels] == [1, 1]
