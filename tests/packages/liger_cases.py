"""Liger's ops."""

from __future__ import annotations

from case import LABELLED, LINEAR, NORM, PAIR, ROWS, Case, integers, normal, uniform
from formulas import cross_entropy, depth_attention, jsd, jsd_of, layer, rms, rotated, silu, sparsemax

DECIDES = "the backward looks whether the gradient that comes is 1"
SEARCHES = "the first call looks for implementations, under a lock"

LIGER = [
    Case("liger_kernel.ops:LigerSiLUMulFunction", PAIR, lambda t, x, y: silu(t, x) * y),
    Case("liger_kernel.ops:LigerGELUMulFunction", PAIR,
         lambda t, x, y: t.nn.functional.gelu(x, approximate="tanh") * y),
    Case("liger_kernel.ops:LigerReLUSquaredFunction", ROWS, lambda t, x: x.clamp(min=0) ** 2),
    Case("liger_kernel.ops:LigerRMSNormFunction", NORM, rms,
         lambda op, t, x, weight: op(x, weight, 1e-6, 0.0, "llama", False)),
    Case("liger_kernel.ops:LigerLayerNormFunction", {**NORM, "bias": normal(64)}, layer,
         lambda op, t, x, weight, bias: op(x, weight, bias, 1e-5)),
    Case("liger_kernel.ops:LigerFusedAddRMSNormFunction",
         {"x": normal(6, 64), "r": normal(6, 64), "weight": normal(64)}, lambda t, x, r, weight: rms(t, x + r, weight),
         lambda op, t, x, r, weight: op(x, r, weight, 1e-6, 0.0, "llama", False)[0]),
    Case("liger_kernel.ops:LigerGroupNormFunction", {"x": normal(2, 8, 20), "weight": normal(8), "bias": normal(8)},
         lambda t, x, weight, bias: t.nn.functional.group_norm(x, 4, weight, bias, 1e-6),
         lambda op, t, x, weight, bias: op(x, weight, bias, 8, 4, 1e-6)),
    Case("liger_kernel.ops:LigerSoftmaxFunction", ROWS, lambda t, x: x.softmax(-1)),
    Case("liger_kernel.ops:LigerSparsemaxFunction", ROWS, sparsemax, lambda op, t, x: op(x, -1)),
    Case("liger_kernel.ops:LigerCrossEntropyFunction", LABELLED, cross_entropy,
         lambda op, t, logits, target: op(logits * 1, target, None)[0],
         breaks="it looks whether all targets are ignored"),
    Case("liger_kernel.ops:LigerFusedLinearCrossEntropyFunction", LINEAR,
         lambda t, x, weight, target: cross_entropy(t, x @ weight.t(), target),
         lambda op, t, x, weight, target: op(x, weight, target)[0], breaks=DECIDES),
    Case("liger_kernel.ops:LigerKLDivLossFunction", {"x": normal(6, 48), "y": uniform(6, 48, low=0.1)},
         lambda t, x, y: (y * (y.log() - x)).sum() / x.shape[0], constant=("y",), breaks=DECIDES),
    Case("liger_kernel.ops:LigerJSDFunction", PAIR,
         lambda t, x, y: jsd(t, x.log_softmax(-1), y.log_softmax(-1)),
         lambda op, t, x, y: op(x.log_softmax(-1), y.log_softmax(-1)), constant=("y",), breaks=SEARCHES),
    Case("liger_kernel.ops:LigerTVDLossFunction", PAIR,
         lambda t, x, y: 0.5 * (x.softmax(-1) - y.softmax(-1)).abs().sum() / x.shape[0],
         lambda op, t, x, y: op(x.softmax(-1), y.softmax(-1)), constant=("y",), breaks=DECIDES),
    Case("liger_kernel.ops:LigerRopeFunction",
         {"q": normal(1, 4, 8, 16), "k": normal(1, 2, 8, 16), "cos": normal(1, 8, 8), "sin": normal(1, 8, 8)},
         lambda t, q, k, cos, sin: tuple(
             rotated(t, x, t.cat([cos, cos], -1)[:, None], t.cat([sin, sin], -1)[:, None]) for x in (q, k)),
         lambda op, t, q, k, cos, sin: op(q * 1, k * 1, t.cat([cos, cos], -1), t.cat([sin, sin], -1)),
         constant=("cos", "sin")),
    Case("liger_kernel.ops:LigerEmbeddingFunction", {"weight": normal(20, 16), "at": integers(3, 5, high=20)},
         lambda t, weight, at: weight[at]),
    Case("liger_kernel.ops:LigerPolyNormFunction", {"x": normal(6, 64), "weight": normal(3), "bias": normal()},
         lambda t, x, weight, bias: sum(
             weight[i] * rms(t, x ** (3 - i), 1.0) for i in range(3)) + bias,
         lambda op, t, x, weight, bias: op(x, weight, bias, 1e-6, False)),
    Case("liger_kernel.ops:LigerFusedGateUpSiLUMulFunction", {"y": normal(6, 96)},
         lambda t, y: silu(t, y[:, :48]) * y[:, 48:]),
    Case("liger_kernel.ops:LigerModulatedRMSNormFunction",
         {"x": normal(6, 64), "weight": normal(64), "scale": normal(6, 64), "shift": normal(6, 64)},
         lambda t, x, weight, scale, shift: (1 + scale) * rms(t, x, weight) + shift,
         lambda op, t, x, weight, scale, shift: op(x, weight, scale, shift, 1e-6, 0.0, "llama", False)),
    Case("liger_kernel.ops:LigerAttnResFunction", {"v": normal(3, 2, 5, 32), "query": normal(32), "weight": normal(32)},
         depth_attention, lambda op, t, v, query, weight: op(v, query, weight, 1e-6)),
    Case("liger_kernel.ops:LigerFusedLinearJSDFunction",
         {"x": normal(8, 32), "weight": normal(64, 32, scale=0.3), "y": normal(8, 32),
          "other": normal(64, 32, scale=0.3)},
         lambda t, x, weight, y, other: jsd_of(t, x @ weight.t(), y @ other.t()), constant=("y", "other"),
         breaks=SEARCHES),
    Case("liger_kernel.ops:LigerFusedLinearKLDivFunction",
         {"x": normal(8, 32), "weight": normal(64, 32, scale=0.3), "logits": normal(8, 64)},
         lambda t, x, weight, logits: (
             logits.softmax(-1) * (logits.log_softmax(-1) - (x @ weight.t()).log_softmax(-1))).sum() / 8,
         lambda op, t, x, weight, logits: op(x, weight, logits.softmax(-1)), constant=("logits",), breaks=SEARCHES),
]  # fmt: skip
