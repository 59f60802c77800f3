"""Ops of packages that were written for PyTorch and Triton, each with a plain formula for the same.

A case is run twice: `plain` by PyTorch in float64, and the package's op by opweave in float32, forward and backward.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Make = Callable[[np.random.Generator], np.ndarray]


def normal(*sizes: int, scale: float = 1.0) -> Make:
    return lambda rng: np.asarray(rng.standard_normal(sizes) * scale, np.float32)


def uniform(*sizes: int, low: float = 0.0, high: float = 1.0) -> Make:
    return lambda rng: rng.uniform(low, high, sizes).astype(np.float32)


def integers(*sizes: int, high: int) -> Make:
    return lambda rng: rng.integers(0, high, sizes)


def unit(*sizes: int) -> Make:
    def made(rng: np.random.Generator) -> np.ndarray:
        x = rng.standard_normal(sizes)
        return (x / np.linalg.norm(x, axis=-1, keepdims=True)).astype(np.float32)

    return made


@dataclass(frozen=True)
class Case:
    """One op.

    Attributes
    ----------
    where : str
        `module:name`; an autograd function is applied.
    inputs : dict of str to callable
        Make the arguments from a generator of numbers.
    plain : callable
        `plain(torch, **inputs)`: the same in plain operations.
    call : callable
        `call(op, torch, **inputs)`, where the op takes them otherwise than in order.
    constant : tuple of str
        Floating inputs that have no gradient.
    backward : bool
        Whether gradients are compared.
    compiled : bool
        Whether the op is run inside `compile` as well.
    tolerance : float
        Of results and gradients, relative to their greatest.
    """

    where: str
    inputs: dict[str, Make]
    plain: Callable[..., Any]
    call: Callable[..., Any] | None = None
    constant: tuple[str, ...] = ()
    backward: bool = True
    compiled: bool = False
    tolerance: float = 2e-4
    label: str = ""

    @property
    def name(self) -> str:
        return self.where + (f"[{self.label}]" if self.label else "")

    def arrays(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return {name: make(rng) for name, make in self.inputs.items()}


def _silu(t: Any, x: Any) -> Any:
    return x * t.sigmoid(x)


def _rms(t: Any, x: Any, weight: Any, eps: float = 1e-6) -> Any:
    return x * t.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


def _layer(t: Any, x: Any, weight: Any, bias: Any, eps: float = 1e-5) -> Any:
    centred = x - x.mean(-1, keepdim=True)
    return centred * t.rsqrt(centred.pow(2).mean(-1, keepdim=True) + eps) * weight + bias


def _cross_entropy(t: Any, logits: Any, target: Any) -> Any:
    return (t.logsumexp(logits, -1) - logits.gather(-1, target[:, None])[:, 0]).mean()


def _rotated(t: Any, x: Any, cos: Any, sin: Any) -> Any:
    half = x.shape[-1] // 2
    return x * cos + t.cat([-x[..., half:], x[..., :half]], -1) * sin


def _gates(k: Any, g: Any) -> Any:
    """Log-decay of a step as it multiplies the rows of a state."""
    return g.exp()[..., None] if g.ndim == k.ndim else g.exp()[..., None, None]


def _recurrent(t: Any, q: Any, k: Any, v: Any, g: Any = None, beta: Any = None, scale: float | None = None) -> Any:
    """Linear attention step by step: [B, T, H, D] each, decay `g`, the delta rule with `beta`."""
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    state, found = t.zeros_like(k[:, 0, :, :, None] * v[:, 0, :, None, :]), []
    for i in range(q.shape[1]):
        if g is not None:
            state = state * _gates(k, g)[:, i]
        value = v[:, i]
        if beta is not None:
            value = (value - (state * k[:, i, :, :, None]).sum(-2)) * beta[:, i, :, None]
        state = state + k[:, i, :, :, None] * value[:, :, None, :]
        found.append((state * (q[:, i] * scale)[..., None]).sum(-2))
    return t.stack(found, 1)


def _attention(t: Any, q: Any, k: Any, v: Any) -> Any:
    scores = t.einsum("bthd,bshd->bhts", q, k) * q.shape[-1] ** -0.5
    rows = t.arange(q.shape[1])
    scores = scores.masked_fill(rows[None, :] > rows[:, None], -float("inf"))
    return t.einsum("bhts,bshd->bthd", scores.softmax(-1), v)


def _first(op: Any, _: Any, **inputs: Any) -> Any:
    return op(**inputs)[0]


def _slopes(t: Any, heads: int) -> Any:
    return t.log(1 - 2.0 ** (-5 - t.arange(heads, dtype=t.float64)))


def _retention(t: Any, q: Any, k: Any, v: Any) -> Any:
    return _recurrent(t, q, k, v, _slopes(t, q.shape[2]).to(q.dtype).expand(q.shape[:3]))


def _based(t: Any, q: Any, k: Any, v: Any) -> Any:
    scores = t.einsum("bthd,bshd->bhts", q * q.shape[-1] ** -0.5, k)
    scores = (1 + scores + 0.5 * scores**2).tril()
    return t.einsum("bhts,bshd->bthd", scores / (scores.sum(-1, keepdim=True) + 1e-6), v)


def _jsd(t: Any, x: Any, y: Any) -> Any:
    p, q = x.exp(), y.exp()
    m = ((p + q) / 2).log()
    return (0.5 * q * (y - m) + 0.5 * p * (x - m)).sum() / x.shape[0]


def _sparsemax(t: Any, x: Any) -> Any:
    z = x.sort(-1, descending=True).values
    total = z.cumsum(-1) - 1
    count = t.arange(1, x.shape[-1] + 1, dtype=x.dtype)
    size = (z * count > total).sum(-1, keepdim=True)
    return (x - total.gather(-1, size - 1) / size).clamp(min=0)


def _causal_conv(t: Any, x: Any, weight: Any) -> Any:
    width = weight.shape[1]
    padded = t.cat([t.zeros_like(x[:, : width - 1]), x], 1)
    found = sum(padded[:, i : i + x.shape[1]] * weight[:, i] for i in range(width))
    return _silu(t, found)


def _shift(t: Any, x: Any) -> Any:
    return t.cat([t.zeros_like(x[:, :1]), x[:, :-1]], 1) - x


def _hgrn(t: Any, x: Any, g: Any) -> Any:
    state, found = t.zeros_like(x[:, 0]), []
    for i in range(x.shape[1]):
        state = g[:, i].exp() * state + x[:, i]
        found.append(state)
    return t.stack(found, 1)


def _rwkv6(t: Any, r: Any, k: Any, v: Any, w: Any, u: Any) -> Any:
    state, found = t.zeros_like(k[:, 0, :, :, None] * v[:, 0, :, None, :]), []
    for i in range(r.shape[1]):
        added = k[:, i, :, :, None] * v[:, i, :, None, :]
        found.append(((state + u[None, :, :, None] * added) * (r[:, i] * r.shape[-1] ** -0.5)[..., None]).sum(-2))
        state = state * w[:, i].exp()[..., None] + added
    return t.stack(found, 1)


QKV = {name: normal(1, 32, 2, 16, scale=0.5) for name in "qkv"}
DELTA = {"q": unit(1, 32, 2, 16), "k": unit(1, 32, 2, 16), "v": normal(1, 32, 2, 16)}
GATE = {"g": uniform(1, 32, 2, 16, low=-0.5, high=-0.05)}
HEAD_GATE = {"g": uniform(1, 32, 2, low=-0.5, high=-0.05)}
BETA = {"beta": uniform(1, 32, 2, low=0.2, high=0.9)}
ROWS = {"x": normal(6, 48)}
PAIR = {"x": normal(6, 48), "y": normal(6, 48)}
NORM = {"x": normal(6, 64), "weight": normal(64)}
LABELLED = {"logits": normal(8, 100), "target": integers(8, high=100)}
LINEAR = {"x": normal(16, 32), "weight": normal(64, 32, scale=0.3), "target": integers(16, high=64)}

LIGER = [
    Case("liger_kernel.ops:LigerSiLUMulFunction", PAIR, lambda t, x, y: _silu(t, x) * y, compiled=True),
    Case("liger_kernel.ops:LigerGELUMulFunction", PAIR,
         lambda t, x, y: t.nn.functional.gelu(x, approximate="tanh") * y, compiled=True),
    Case("liger_kernel.ops:LigerReLUSquaredFunction", ROWS, lambda t, x: x.clamp(min=0) ** 2, compiled=True),
    Case("liger_kernel.ops:LigerRMSNormFunction", NORM, _rms,
         lambda op, t, x, weight: op(x, weight, 1e-6, 0.0, "llama", False), compiled=True),
    Case("liger_kernel.ops:LigerLayerNormFunction", {**NORM, "bias": normal(64)}, _layer,
         lambda op, t, x, weight, bias: op(x, weight, bias, 1e-5), compiled=True),
    Case("liger_kernel.ops:LigerFusedAddRMSNormFunction",
         {"x": normal(6, 64), "r": normal(6, 64), "weight": normal(64)}, lambda t, x, r, weight: _rms(t, x + r, weight),
         lambda op, t, x, r, weight: op(x, r, weight, 1e-6, 0.0, "llama", False)[0]),
    Case("liger_kernel.ops:LigerGroupNormFunction", {"x": normal(2, 8, 20), "weight": normal(8), "bias": normal(8)},
         lambda t, x, weight, bias: t.nn.functional.group_norm(x, 4, weight, bias, 1e-6),
         lambda op, t, x, weight, bias: op(x, weight, bias, 8, 4, 1e-6), compiled=True),
    Case("liger_kernel.ops:LigerSoftmaxFunction", ROWS, lambda t, x: x.softmax(-1), compiled=True),
    Case("liger_kernel.ops:LigerSparsemaxFunction", ROWS, _sparsemax, lambda op, t, x: op(x, -1)),
    Case("liger_kernel.ops:LigerCrossEntropyFunction", LABELLED, _cross_entropy,
         lambda op, t, logits, target: op(logits * 1, target, None)[0], compiled=True),
    Case("liger_kernel.ops:LigerFusedLinearCrossEntropyFunction", LINEAR,
         lambda t, x, weight, target: _cross_entropy(t, x @ weight.t(), target),
         lambda op, t, x, weight, target: op(x, weight, target)[0]),
    Case("liger_kernel.ops:LigerKLDivLossFunction", {"x": normal(6, 48), "y": uniform(6, 48, low=0.1)},
         lambda t, x, y: (y * (y.log() - x)).sum() / x.shape[0], constant=("y",)),
    Case("liger_kernel.ops:LigerJSDFunction", PAIR,
         lambda t, x, y: _jsd(t, x.log_softmax(-1), y.log_softmax(-1)),
         lambda op, t, x, y: op(x.log_softmax(-1), y.log_softmax(-1)), constant=("y",)),
    Case("liger_kernel.ops:LigerTVDLossFunction", PAIR,
         lambda t, x, y: 0.5 * (x.softmax(-1) - y.softmax(-1)).abs().sum() / x.shape[0],
         lambda op, t, x, y: op(x.softmax(-1), y.softmax(-1)), constant=("y",)),
    Case("liger_kernel.ops:LigerRopeFunction",
         {"q": normal(1, 4, 8, 16), "k": normal(1, 2, 8, 16), "cos": normal(1, 8, 8), "sin": normal(1, 8, 8)},
         lambda t, q, k, cos, sin: tuple(
             _rotated(t, x, t.cat([cos, cos], -1)[:, None], t.cat([sin, sin], -1)[:, None]) for x in (q, k)),
         lambda op, t, q, k, cos, sin: op(q * 1, k * 1, t.cat([cos, cos], -1), t.cat([sin, sin], -1)),
         constant=("cos", "sin")),
    Case("liger_kernel.ops:LigerEmbeddingFunction", {"weight": normal(20, 16), "at": integers(3, 5, high=20)},
         lambda t, weight, at: weight[at], compiled=True),
    Case("liger_kernel.ops:LigerPolyNormFunction", {"x": normal(6, 64), "weight": normal(3), "bias": normal()},
         lambda t, x, weight, bias: sum(
             weight[i] * _rms(t, x ** (3 - i), 1.0) for i in range(3)) + bias,
         lambda op, t, x, weight, bias: op(x, weight, bias, 1e-6, False)),
]  # fmt: skip

FLA = [
    Case("fla.modules.activations:swish", ROWS, _silu, compiled=True),
    Case("fla.modules.activations:sigmoid", ROWS, lambda t, x: t.sigmoid(x), compiled=True),
    Case("fla.modules.activations:logsigmoid", ROWS, lambda t, x: t.nn.functional.logsigmoid(x), compiled=True),
    Case("fla.modules.activations:swiglu", PAIR, lambda t, x, y: _silu(t, x) * y, compiled=True),
    Case("fla.modules.activations:sqrelu", ROWS, lambda t, x: x.clamp(min=0) ** 2),
    Case("fla.modules.activations:elu_p1", ROWS, lambda t, x: t.nn.functional.elu(x) + 1, compiled=True),
    Case("fla.modules.layernorm:layer_norm", {**NORM, "bias": normal(64)}, _layer, compiled=True),
    Case("fla.modules.layernorm:rms_norm", NORM, functools.partial(_rms, eps=1e-5),
         lambda op, t, x, weight: op(x, weight, None, eps=1e-5), compiled=True),
    Case("fla.modules.layernorm:group_norm", {"x": normal(6, 64), "weight": normal(64), "bias": normal(64)},
         lambda t, x, weight, bias: t.nn.functional.group_norm(x, 4, weight, bias, 1e-5),
         lambda op, t, x, weight, bias: op(x, weight, bias, eps=1e-5, num_groups=4)),
    Case("fla.modules.l2norm:l2norm", ROWS,
         lambda t, x: x * t.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6), compiled=True),
    Case("fla.modules.fused_norm_gate:rms_norm_gated", {"x": normal(6, 64), "g": normal(6, 64), "weight": normal(64)},
         lambda t, x, g, weight: _rms(t, x, weight, 1e-5) * _silu(t, g),
         lambda op, t, x, g, weight: op(x, g, weight, None)),
    Case("fla.modules.rotary:rotary_embedding",
         {"x": normal(1, 12, 2, 16), "cos": normal(12, 8), "sin": normal(12, 8)},
         lambda t, x, cos, sin: _rotated(t, x, t.cat([cos, cos], -1)[:, None], t.cat([sin, sin], -1)[:, None]),
         constant=("cos", "sin")),
    Case("fla.modules.fused_cross_entropy:cross_entropy_loss", LABELLED, _cross_entropy,
         lambda op, t, logits, target: op(logits, target)[0].mean()),
    Case("fla.modules.fused_linear_cross_entropy:fused_linear_cross_entropy_loss", LINEAR,
         lambda t, x, weight, target: _cross_entropy(t, x @ weight.t(), target),
         lambda op, t, x, weight, target: op(x, target, weight)),
    Case("fla.modules.token_shift:token_shift", {"x": normal(2, 12, 32)}, _shift, compiled=True),
    Case("fla.modules.convolution:causal_conv1d", {"x": normal(1, 20, 32), "weight": normal(32, 4)}, _causal_conv,
         lambda op, t, x, weight: op(x, weight, activation="silu")[0]),
    Case("fla.ops.utils:chunk_global_cumsum", {"s": normal(1, 40, 2)}, lambda t, s: s.cumsum(1), backward=False,
         compiled=True),
    Case("fla.ops.utils:chunk_local_cumsum", {"g": normal(1, 32, 2)},
         lambda t, g: g.view(1, 2, 16, 2).cumsum(2).view(1, 32, 2), lambda op, t, g: op(g, 16), backward=False),
    Case("fla.ops.utils:mean_pooling", {"x": normal(1, 32, 2, 16)},
         lambda t, x: x.view(1, 2, 16, 2, 16).mean(2), lambda op, t, x: op(x, 16)),
    Case("fla.ops.utils:softmax_fwd", ROWS, lambda t, x: x.softmax(-1), backward=False, compiled=True),
    Case("fla.ops.utils:logsumexp_fwd", ROWS, lambda t, x: t.logsumexp(x, -1), backward=False, compiled=True),
    Case("fla.ops:fused_recurrent_gla", {**QKV, **GATE}, _recurrent,
         lambda op, t, q, k, v, g: op(q, k, v, g)[0]),
    Case("fla.ops:fused_recurrent_simple_gla", {**QKV, **HEAD_GATE}, _recurrent, _first, compiled=True),
    Case("fla.ops:fused_recurrent_linear_attn", QKV, _recurrent,
         lambda op, t, **x: op(**x, normalize=False)[0]),
    Case("fla.ops:fused_recurrent_retention", QKV, _retention, _first),
    Case("fla.ops:fused_recurrent_delta_rule", {**DELTA, **BETA}, _recurrent, _first),
    Case("fla.ops:fused_recurrent_gated_delta_rule", {**DELTA, **HEAD_GATE, **BETA}, _recurrent, _first,
         backward=False),
    Case("fla.ops:fused_recurrent_hgrn", {"x": normal(1, 24, 32), "g": uniform(1, 24, 32, low=-1, high=-0.1)}, _hgrn,
         _first),
    Case("fla.ops:fused_recurrent_rwkv6",
         {"r": normal(1, 24, 2, 16), "k": normal(1, 24, 2, 16), "v": normal(1, 24, 2, 16),
          "w": uniform(1, 24, 2, 16, low=-0.5, high=-0.05), "u": normal(2, 16)}, _rwkv6, _first, tolerance=1e-3),
    Case("fla.ops:chunk_gla", {**QKV, **GATE}, _recurrent, _first, tolerance=2e-3),
    Case("fla.ops:chunk_simple_gla", {**QKV, **HEAD_GATE}, _recurrent, _first, tolerance=2e-3),
    Case("fla.ops:chunk_retention", QKV, _retention, _first, tolerance=2e-3),
    Case("fla.ops:chunk_gated_delta_rule", {**DELTA, **HEAD_GATE, **BETA}, _recurrent, _first, tolerance=2e-3),
    Case("fla.ops:parallel_attn", QKV, _attention, tolerance=2e-3),
    Case("fla.ops:parallel_based", QKV, _based, tolerance=2e-3),
]  # fmt: skip

CUT = [
    Case("cut_cross_entropy:linear_cross_entropy",
         {"e": normal(128, 64, scale=0.3), "c": normal(160, 64, scale=0.3), "targets": integers(128, high=160)},
         lambda t, e, c, targets: _cross_entropy(t, e @ c.t(), targets),
         lambda op, t, e, c, targets: op(e.bfloat16(), c.bfloat16(), targets, impl="cce").float(),
         tolerance=2e-2),
    Case("cut_cross_entropy:linear_cross_entropy",
         {"e": normal(16, 32, scale=0.3), "c": normal(64, 32, scale=0.3), "targets": integers(16, high=64)},
         lambda t, e, c, targets: _cross_entropy(t, e @ c.t(), targets),
         lambda op, t, e, c, targets: op(e, c, targets, impl="torch_compile"), label="torch_compile"),
]  # fmt: skip


def _gems(name: str, inputs: dict[str, Make], plain: Callable[..., Any], call: Any = None, **about: Any) -> Case:
    return Case(f"flag_gems.ops:{name}", inputs, plain, call, backward=False, **about)


GEMS = [
    _gems("add", PAIR, lambda t, x, y: x + y),
    _gems("mul", PAIR, lambda t, x, y: x * y),
    _gems("exp", ROWS, lambda t, x: x.exp()),
    _gems("silu", ROWS, _silu),
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
    _gems("cumsum", ROWS, lambda t, x: x.cumsum(1), lambda op, t, x: op(x, 1)),
    _gems("mm", {"a": normal(32, 48), "b": normal(48, 40)}, lambda t, a, b: a @ b, tolerance=2e-3),
    _gems("bmm", {"a": normal(2, 16, 24), "b": normal(2, 24, 20)}, lambda t, a, b: a @ b, tolerance=2e-3),
    _gems("sigmoid", ROWS, lambda t, x: t.sigmoid(x)),
    _gems("flip", ROWS, lambda t, x: x.flip(1), lambda op, t, x: op(x, [1])),
]  # fmt: skip


def _quantized(op: Any, t: Any, x: Any, scale: Any) -> Any:
    return op(x, (1, x.shape[1]), scale, t.zeros_like(scale, dtype=t.int32), t.int8, -127, 127).float()


TORCHAO = [
    Case("torchao.quantization.quant_primitives:quantize_affine",
         {"x": normal(6, 48), "scale": uniform(6, low=0.01, high=0.05)},
         lambda t, x, scale: t.clamp(t.round(x * (1 / scale)[:, None]), -127, 127), _quantized, backward=False),
    Case("torchao.quantization.quant_primitives:dequantize_affine",
         {"x": integers(6, 48, high=100), "scale": uniform(6, low=0.01, high=0.05)},
         lambda t, x, scale: x * scale[:, None],
         lambda op, t, x, scale: op(x.to(t.int8), (1, 48), scale, t.zeros_like(scale, dtype=t.int32), t.int8),
         backward=False),
]  # fmt: skip

CASES = [*LIGER, *FLA, *CUT, *GEMS, *TORCHAO]
