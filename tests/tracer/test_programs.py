"""Programs as users write them: the traced module gives what the function gives, and its fake values tell the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optree
import pytest
from hypothesis import given, strategies as st

import opweave
from opweave.nn import functional as F
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.interpreter import Interpreter, Transformer
from opweave.tracer.make_fx import make_fx
from opweave.tracer.parsing import parse

rng = np.random.default_rng(0)


def tensor(*sizes: int) -> Any:
    return opweave.from_numpy(rng.standard_normal(sizes, dtype=np.float32))


x, y, w, b = tensor(4, 8), tensor(4, 8), tensor(8), tensor(8)
mask = opweave.from_numpy(rng.random((4, 8)) > 0.5)
index = opweave.from_numpy(np.array([2, 0, 1]))


def assign_items(x: Any, y: Any) -> Any:
    z = x * 1
    z += y
    z[0] = 1
    z[1:3, 0] = y[0, 0]
    z[index, 1] = 7.0
    return z


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "gelu_softmax": lambda x, y: opweave.softmax(F.gelu(x * w + b) + y, -1),
    "layer_norm": lambda x, y: F.layer_norm(x, (8,), w, b),
    "linear": lambda x, y: F.linear(x, y) + x.mm(y.t()) + x @ y.T,
    "basic_indexing": lambda x, y: x[1:3, ::2] + y[0, 1] + x[..., None].sum(),
    "advanced_indexing": lambda x, y: x[index] + y[index, None][:, 0],
    "assignment": assign_items,
    "creation": lambda x, y: opweave.zeros_like(x) + opweave.arange(8) + opweave.ones(4, 1) + opweave.full((8,), 2.0),
    "new": lambda x, y: x.new_zeros((3,)) + x.new_full((3,), 2.0),
    "constant": lambda x, y: x * opweave.tensor([1.0, 2, 3, 4, 5, 6, 7, 8]),
    "reductions": lambda x, y: (x.sum(0), x.mean(), x.amax(1), x.var(1), x.argmax(), x.max(1), x.std(), x.cumsum(1)),
    "where": lambda x, y: opweave.where(x > 0, x, y).clamp(-1, 1).masked_fill(mask, 0.0),
    "shapes": lambda x, y: opweave.cat([x, y], 1).reshape(8, 8).permute(1, 0).contiguous().flatten().view(2, -1),
    "in_place": lambda x, y: x.clone().add_(y).mul_(2).relu_(),
    "casts": lambda x, y: x.to(opweave.float64) + y.to(opweave.int32),
    "several": lambda x, y: [opweave.stack([x, y]), *opweave.split(x, 2, 1), *opweave.unbind(y, 0)],
    "pointwise": lambda x, y: (x**2 - y).abs().sqrt() / (1 + y.exp()) % 2,
    "comparisons": lambda x, y: ((x > y) & (x < 1) | ~(x == y)).to(opweave.float32),
}


def check(program: Callable[..., Any], mode: str, *inputs: Any) -> GraphModule:
    expected = optree.tree_leaves(program(*inputs))
    module = make_fx(program, tracing_mode=mode)(*inputs)
    for run in (module, Interpreter(module).run, GraphModule(module.constants, Transformer(module.graph).transform())):
        results = optree.tree_leaves(run(*inputs))
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result.numpy(), wanted.numpy())
            assert result.spec == wanted.spec
    for node, wanted in zip(module.graph.outputs, expected, strict=True):
        assert node.meta["val"].spec == wanted.spec
    assert str(parse(module.code)) == module.code
    return module


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, mode: str) -> None:
    check(PROGRAMS[name], mode, x, y)


STEPS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a * 2 - b,
    lambda a, b: opweave.maximum(a, b),
    lambda a, b: a.sum(1, keepdim=True) + b,
    lambda a, b: opweave.softmax(a, 0),
    lambda a, b: a.t().clone().t(),
    lambda a, b: a[:, :1].expand(4, 8) + b,
    lambda a, b: opweave.where(a > b, a, 0.5),
    lambda a, b: a.clone().add_(b),
    lambda a, b: opweave.cat([a[:2], b[2:]], 0),
    lambda a, b: a.view(8, 4).t().reshape(4, 8) if a.is_contiguous() else a.neg(),
    lambda a, b: a.clone().mul_(0.5)[:, [0, 1, 2, 3, 4, 5, 6, 7]],
]


@given(
    st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8),
    st.sampled_from(["real", "fake"]),
)
def test_random_programs(plan: list[tuple[int, int, int]], mode: str) -> None:
    def program(x: Any, y: Any) -> Any:
        values = [x, y]
        for step, first, second in plan:
            values.append(STEPS[step](values[first % len(values)], values[second % len(values)]))
        return values[2:]

    module = check(program, mode, x, y)
    module.graph.lint()
