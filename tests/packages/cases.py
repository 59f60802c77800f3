"""All cases, of which `operations.py` counts the ops."""

from __future__ import annotations

from typing import Any

from case import Case, integers, normal, uniform
from fla_cases import FLA
from flag_gems_cases import GEMS
from formulas import cross_entropy
from liger_cases import LIGER

COUNTS = "it counts the targets that are not ignored"

CUT = [
    Case("cut_cross_entropy:linear_cross_entropy",
         {"e": normal(128, 64, scale=0.3), "c": normal(160, 64, scale=0.3), "targets": integers(128, high=160)},
         lambda t, e, c, targets: cross_entropy(t, e @ c.t(), targets),
         lambda op, t, e, c, targets: op(e.bfloat16(), c.bfloat16(), targets, impl="cce").float(),
         breaks=COUNTS, tolerance=2e-2),
    Case("cut_cross_entropy:linear_cross_entropy",
         {"e": normal(16, 32, scale=0.3), "c": normal(64, 32, scale=0.3), "targets": integers(16, high=64)},
         lambda t, e, c, targets: cross_entropy(t, e @ c.t(), targets),
         lambda op, t, e, c, targets: op(e, c, targets, impl="torch_compile"), breaks=COUNTS, label="torch_compile"),
]  # fmt: skip


def _quantized(op: Any, t: Any, x: Any, scale: Any) -> Any:
    return op(x, (1, x.shape[1]), scale, t.zeros_like(scale, dtype=t.int32), t.int8, -127, 127).float()


def _chosen(op: Any, t: Any, x: Any) -> Any:
    from torchao.quantization.quant_primitives import MappingType

    return op(x, MappingType.SYMMETRIC, (1, 48), t.int8)


TORCHAO = [
    Case("torchao.quantization.quant_primitives:quantize_affine",
         {"x": normal(6, 48), "scale": uniform(6, low=0.01, high=0.05)},
         lambda t, x, scale: t.clamp(t.round(x * (1 / scale)[:, None]), -127, 127), _quantized, backward=False),
    Case("torchao.quantization.quant_primitives:dequantize_affine",
         {"x": integers(6, 48, high=100), "scale": uniform(6, low=0.01, high=0.05)},
         lambda t, x, scale: x * scale[:, None],
         lambda op, t, x, scale: op(x.to(t.int8), (1, 48), scale, t.zeros_like(scale, dtype=t.int32), t.int8),
         backward=False),
    Case("torchao.quantization.quant_primitives:choose_qparams_affine", {"x": normal(6, 48)},
         lambda t, x: (x.abs().amax(1) / 127.5, t.zeros(6)), _chosen, backward=False),
    Case("torchao.quantization.quant_primitives:_fake_quantize_affine",
         {"x": normal(6, 48), "scale": uniform(6, low=0.01, high=0.05)},
         lambda t, x, scale: t.clamp(t.round(x * (1 / scale)[:, None]), -127, 127) * scale[:, None],
         lambda op, t, x, scale: op(
             x, (1, 48), scale, t.zeros_like(scale, dtype=t.int32), t.int8, -127, 127), backward=False),
    Case("torchao.kernel.intmm:int_scaled_matmul",
         {"a": integers(32, 48, high=100), "b": integers(48, 40, high=100), "scale": uniform(32, 1)},
         lambda t, a, b, scale: (a.double() @ b.double()) * scale,
         lambda op, t, a, b, scale: op(a.to(t.int8), b.to(t.int8), scale), backward=False),
]  # fmt: skip

CASES = [*LIGER, *FLA, *CUT, *GEMS, *TORCHAO]
