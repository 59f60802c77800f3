"""Rules over one worklist: until none fits, with what they make and what reads it."""

from __future__ import annotations

from expecttest import assert_expected_inline

import opweave
from opweave.registry.op import ops
from opweave.tracer.emission import Emitter
from opweave.tracer.graph import Graph, Node
from opweave.tracer.make_fx import make_fx
from opweave.tracer.rewrite import rewrite

aten = ops.aten


def halved(node: Node, emit: Emitter) -> Node | None:
    """`exp(x)` as `exp(x/2)**2`, of an operand that is no such half."""
    operand = node.args[0]
    if operand.target is aten.div.Tensor:
        return None
    half = emit.call(aten.exp.default, emit.call(aten.div.Tensor, operand, 2, like=node), like=node)
    return emit.call(aten.mul.Tensor, half, half, like=node)


def apart(node: Node, emit: Emitter) -> list[Node] | None:
    return [emit.call(op, *node.args, like=node) for op in (aten.var.correction, aten.mean.dim)]


RULES = {aten.exp.default: (halved,), aten.var_mean.correction: (apart,)}


def body(graph: Graph) -> str:
    return "\n".join(line.partition("#")[0].strip() for line in str(graph).splitlines()[1:])


def test_what_a_rule_makes_is_looked_at_too() -> None:
    def f(x):
        spread, middle = opweave.var_mean(x.exp().exp(), 0)
        return spread + middle

    module = make_fx(f, tracing_mode="fake")(opweave.ones(4))
    for last_first in (False, True):
        graph = rewrite(module.graph.clone(), lambda node: RULES.get(node.target, ()), last_first=last_first)
        graph.lint()
        assert [n.target for n in graph if n.target in RULES] == [aten.exp.default] * 2
    module.graph = graph
    module.recompile()
    x = opweave.rand(4)
    assert opweave.allclose(module(x), f(x))
    assert_expected_inline(
        body(graph),
        """\
div_1: "f32[4]" = ops.aten.div.Tensor(x_1, 2)
exp_3: "f32[4]" = ops.aten.exp.default(div_1)
mul_1: "f32[4]" = ops.aten.mul.Tensor(exp_3, exp_3)
div: "f32[4]" = ops.aten.div.Tensor(mul_1, 2)
exp_2: "f32[4]" = ops.aten.exp.default(div)
mul: "f32[4]" = ops.aten.mul.Tensor(exp_2, exp_2)
var: "f32[]" = ops.aten.var.correction(mul, [0])
mean: "f32[]" = ops.aten.mean.dim(mul, [0])
add: "f32[]" = ops.aten.add.Tensor(var, mean)
return (add,)""",
    )
