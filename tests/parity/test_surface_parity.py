"""Methods, operators and functions of the package as a user writes them, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from oracle import compare, to_torch

import opweave

#: Run with `t` the package, `x` f32[3], `n` i64[3] and `m` b8[3].
EXPRESSIONS = """
1 - x; 2 ** x; 7 // x; x % 2; -x; abs(x); +x; ~m; m & (x < 2); m | m; m ^ m; n << 1; 3 >> n; x @ x; n // 2; n / 2
x == 1; x != x; x <= n; 1 < x; x.add(1, alpha=2); x.sub(x, alpha=2); t.rsub(x, 1); t.true_divide(x, 2); t.multiply(x, x)
x.div(2, rounding_mode="floor"); x.div(n, rounding_mode="trunc"); t.remainder(x, 2); x.fmod(2); x.pow(2); t.pow(2, x)
x.masked_fill(m, 0.5); t.where(m, x, 0.0); x.where(m, x * 2); t.where(m, 1, x); x.clamp(min=0); t.clamp(x, max=1)
x.clip(0, 1); x.clamp_min(0); x.clamp_max(x * 0); t.maximum(x, n); x.lerp(x * 2, 0.5); t.lerp(x, x * 2, x)
x.addcmul(x, x, value=0.5); x.atan2(x); t.logaddexp(x, x); x.copysign(-1.0); x.nan_to_num(); x.frac(); x.rsqrt()
x.round(); x.sign(); t.square(x); x.trunc(); t.absolute(x); t.exp2(x); x.erf(); t.sigmoid(x); x.logical_not()
x.isfinite(); t.logical_and(m, x > 1); n.bitwise_and(1); t.bitwise_left_shift(n, 1); n.__rlshift__(1)
x.double(); x.half(); x.bfloat16(); x.long(); x.int(); x.bool(); x.to(t.float64); x.to(n); x.type(t.int16); x.type_as(n)
t.full((2,), 3); t.full([2], True); t.arange(3); t.zeros(2, 2); t.ones_like(x, dtype=t.int32); x.new_full((2,), 1.5)
t.eye(2).tril(); t.scalar_tensor(2.5); t.linspace(0, 1, steps=4); t.tensor([1, 2]).new_zeros(2, 3)
t.triu(t.ones(3, 3), 1); x.softmax(0); t.softmax(x, -1); t.log_softmax(x, 0); t.concat([x, x])
x.expand(2, 3); x.isclose(x); x.mul_(2).add_(1); x.copy_(n); x.zero_(); x.fill_(2); x.sigmoid_(); x.clamp_(0, 1)
x.masked_fill_(m, 3); t.result_type(n, 2.5); t.allclose(x, x); x.equal(x); t.is_tensor(x)
t.numel(x); x[1].item(); float(x[0]); int(n[2])
"""
FUNCTIONAL = """
relu(x); relu6(x); gelu(x); gelu(x, approximate="tanh"); silu(x); mish(x); selu(x); celu(x, 2.0); elu(x, 0.5)
leaky_relu(x, 0.2); hardtanh(x); hardtanh(x, -0.5, 0.5); hardsigmoid(x); hardswish(x); logsigmoid(x); softplus(x)
softplus(x, 2.0, 1.0); threshold(x, 0.0, 5.0); sigmoid(x); tanh(x); softmax(x, dim=0); log_softmax(x, dim=0)
layer_norm(x, (3,)); rms_norm(x, (3,)); linear(x, x.expand(2, 3)); mse_loss(x, x * 2); mse_loss(x, x, reduction="none")
"""


def _split(text: str) -> list[str]:
    return [part.strip() for line in text.strip().splitlines() for part in line.split(";")]


def _check(expression: str) -> None:
    ours: dict[str, Any] = {
        "t": opweave,
        "x": opweave.tensor([1.0, -2.5, 3.0]),
        "n": opweave.tensor([1, 2, 3]),
        "m": opweave.tensor([True, False, True]),
    }
    theirs = {name: torch if name == "t" else to_torch(value) for name, value in ours.items()}
    found, expected = eval(expression, ours), eval(expression, theirs)
    if isinstance(expected, torch.Tensor):
        compare(found, expected, expression, "activation, eager")
    elif isinstance(expected, torch.dtype):
        assert found.name == str(expected).removeprefix("torch.")
    else:
        assert type(found) is type(expected) and np.array_equal(found, expected)


@pytest.mark.parametrize("expression", _split(EXPRESSIONS))
def test_surface(expression: str) -> None:
    _check(expression)


@pytest.mark.parametrize("expression", _split(FUNCTIONAL))
def test_functional(expression: str) -> None:
    _check(f"t.nn.functional.{expression}")


def test_the_names_that_types_had() -> None:
    for dtype in opweave.registry.dtypes.DTYPES.values():
        if hasattr(torch, dtype.name):
            theirs = torch.empty(1, dtype=getattr(torch, dtype.name)).type()
            assert opweave.empty(1, dtype=dtype).type() == theirs
    for name in ("torch.DoubleTensor", "torch.LongTensor", "torch.BoolTensor"):
        mine, other = opweave.tensor([0.5, 2.0]).type(name), torch.tensor([0.5, 2.0]).type(name)
        assert (mine.type(), mine.tolist()) == (name, other.tolist())
    for name in ("DoubleTensor", "torch.float64", "opweave.DoubleTensor"):
        with pytest.raises(ValueError, match="invalid type"):
            torch.ones(1).type(name)
        with pytest.raises(ValueError, match="invalid type"):
            opweave.ones(1).type(name)
