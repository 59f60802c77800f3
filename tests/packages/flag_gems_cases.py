"""Ops of FlagGems."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from case import LABELLED, NORM, PAIR, ROWS, Case, Make, integers, normal, uniform
from formulas import cross_entropy, gradient_of, layer, silu, weight_normed

#: Why these are no single graph.
LAUNCHES = "kernels are made, and found by the addresses of their arguments, by FlagGems itself"


def _gems(name: str, inputs: dict[str, Make], plain: Callable[..., Any], call: Any = None, **about: Any) -> Case:
    return Case(f"flag_gems.ops:{name}", inputs, plain, call, backward=False, **{"breaks": LAUNCHES, **about})


GEMS = [
    _gems("add", PAIR, lambda t, x, y: x + y),
    _gems("mul", PAIR, lambda t, x, y: x * y),
    _gems("exp", ROWS, lambda t, x: x.exp()),
    _gems("silu", ROWS, silu),
    _gems("tanh", ROWS, lambda t, x: x.tanh()),
    _gems("relu", ROWS, lambda t, x: x.clamp(min=0)),
    _gems("gelu", ROWS, lambda t, x: t.nn.functional.gelu(x)),
    _gems("rsqrt", {"x": uniform(6, 48, low=0.1)}, lambda t, x: t.rsqrt(x)),
    _gems("sum", ROWS, lambda t, x: x.sum()),
    _gems("sum_dim", ROWS, lambda t, x: x.sum(1), lambda op, t, x: op(x, [1])),
    _gems("mean_dim", ROWS, lambda t, x: x.mean(1), lambda op, t, x: op(x, [1])),
    _gems("amax", ROWS, lambda t, x: x.amax(1), lambda op, t, x: op(x, [1])),
    _gems("argmax", ROWS, lambda t, x: x.argmax(1), lambda op, t, x: op(x, 1)),
    _gems("softmax", ROWS, lambda t, x: x.softmax(-1), lambda op, t, x: op(x, -1)),
    _gems("log_softmax", ROWS, lambda t, x: x.log_softmax(-1), lambda op, t, x: op(x, -1)),
    _gems("cumsum", ROWS, lambda t, x: x.cumsum(1), lambda op, t, x: op(x, 1), breaks=""),
    _gems("mm", {"a": normal(32, 48), "b": normal(48, 40)}, lambda t, a, b: a @ b, slow=True, tolerance=2e-3),
    _gems("bmm", {"a": normal(2, 16, 24), "b": normal(2, 24, 20)}, lambda t, a, b: a @ b, slow=True, tolerance=2e-3),
    _gems("sigmoid", ROWS, lambda t, x: t.sigmoid(x)),
    _gems("flip", ROWS, lambda t, x: x.flip(1), lambda op, t, x: op(x, [1])),
    _gems("abs", ROWS, lambda t, x: x.abs()),
    _gems("neg", ROWS, lambda t, x: -x),
    _gems("cos", ROWS, lambda t, x: x.cos()),
    _gems("sin", ROWS, lambda t, x: x.sin()),
    _gems("erf", ROWS, lambda t, x: t.erf(x)),
    _gems("reciprocal", ROWS, lambda t, x: 1 / x),
    _gems("isnan", ROWS, lambda t, x: t.isnan(x)),
    _gems("sub", PAIR, lambda t, x, y: x - y),
    _gems("true_divide", PAIR, lambda t, x, y: x / y),
    _gems("le", PAIR, lambda t, x, y: x <= y),
    _gems("pow_tensor_scalar", ROWS, lambda t, x: x**3, lambda op, t, x: op(x, 3)),
    _gems("clamp", ROWS, lambda t, x: x.clamp(-0.5, 0.5), lambda op, t, x: op(x, -0.5, 0.5)),
    _gems("triu", ROWS, lambda t, x: x.triu(1), lambda op, t, x: op(x, 1)),
    _gems("max", ROWS, lambda t, x: x.max()),
    _gems("prod", {"x": uniform(4, 5, low=0.5, high=1.5)}, lambda t, x: x.prod()),
    _gems("all", {"x": integers(6, 8, high=2)}, lambda t, x: x.all()),
    _gems("vector_norm", ROWS, lambda t, x: x.square().sum().sqrt()),
    _gems("gather", {"x": normal(6, 48), "at": integers(6, 9, high=48)}, lambda t, x, at: x.gather(1, at),
          lambda op, t, x, at: op(x, 1, at)),
    _gems("index_select", {"x": normal(6, 48), "at": integers(9, high=48)}, lambda t, x, at: x[:, at],
          lambda op, t, x, at: op(x, 1, at)),
    _gems("cat", PAIR, lambda t, x, y: t.cat([x, y], 1), lambda op, t, x, y: op([x, y], 1), breaks=""),
    _gems("layer_norm", {**NORM, "bias": normal(64)}, layer,
          lambda op, t, x, weight, bias: op(x, [64], weight, bias)[0]),
    _gems("addmm", {"c": normal(32, 40), "a": normal(32, 48), "b": normal(48, 40)}, lambda t, c, a, b: c + a @ b,
          slow=True, tolerance=2e-3),
    _gems("mv", {"a": normal(32, 48), "b": normal(48)}, lambda t, a, b: a @ b, slow=True, tolerance=2e-3),
    _gems("gelu_backward", PAIR, gradient_of(lambda t, x: t.nn.functional.gelu(x)), gradient=True),
    _gems("silu_backward", PAIR, gradient_of(silu), gradient=True),
    _gems("tanh_backward", PAIR, gradient_of(lambda t, x: t.tanh(x)), lambda op, t, x, y: op(x, t.tanh(y)),
          gradient=True),
    _gems("sigmoid_backward", PAIR, gradient_of(lambda t, x: t.sigmoid(x)), lambda op, t, x, y: op(x, t.sigmoid(y)),
          gradient=True),
    _gems("softmax_backward", PAIR, gradient_of(lambda t, x: x.softmax(-1)),
          lambda op, t, x, y: op(x, y.softmax(-1), -1, t.float32), gradient=True),
    _gems("log_softmax_backward", PAIR, gradient_of(lambda t, x: x.log_softmax(-1)),
          lambda op, t, x, y: op(x, y.log_softmax(-1), -1, t.float32), gradient=True),
    _gems("threshold_backward", PAIR, gradient_of(lambda t, x: x.clamp(min=0)), lambda op, t, x, y: op(x, y, 0.0),
          gradient=True),
    _gems("embedding_backward", {"g": normal(7, 16), "at": integers(7, high=9)},
          lambda t, g, at: t.zeros(9, 16, dtype=g.dtype).index_add(0, at, g), lambda op, t, g, at: op(g, at, 9, -1),
          gradient=True),
    Case("flag_gems.fused.silu_and_mul:SiluAndMul", PAIR, lambda t, x, y: silu(t, x) * y, breaks=LAUNCHES),
    Case("flag_gems.fused.gelu_and_mul:GeluAndMul", PAIR, lambda t, x, y: t.nn.functional.gelu(x) * y, breaks=LAUNCHES),
    Case("flag_gems.fused.outer:Outer", {"x": normal(12), "y": normal(20)}, lambda t, x, y: x[:, None] * y,
         tolerance=2e-3, breaks=LAUNCHES),
    Case("flag_gems.fused.weight_norm:WeightNorm", {"v": normal(8, 32), "g": normal(8, 1)}, weight_normed,
         lambda op, t, v, g: op(v, g, 0), breaks=LAUNCHES),
    Case("flag_gems.fused.cross_entropy_loss:CrossEntropyLoss", LABELLED, cross_entropy,
         lambda op, t, logits, target: op(logits, target, None, 1, -100, 0.0), breaks=LAUNCHES),
    Case("flag_gems.fused.instance_norm:InstanceNorm", {"x": normal(2, 4, 40), "weight": normal(4), "bias": normal(4)},
         lambda t, x, weight, bias: t.nn.functional.instance_norm(x, weight=weight, bias=bias),
         lambda op, t, x, weight, bias: op(x, weight, bias, None, None, True), breaks=LAUNCHES),
]  # fmt: skip
