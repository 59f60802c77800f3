"""Pointwise bodies as steps give, bit for bit, what the bodies give on whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_samples import maker

import opweave
from opweave.registry import dtypes
from opweave.registry.op import registry
from opweave.registry.ops.kinds import PointwiseDecl, handler, steps as module
from opweave.registry.ops.kinds.steps import Ref, Step, trace
from opweave.registry.tensor import Tensor, from_numpy

K = handler(np)
OPS = [op for op in registry.operators.values() if isinstance(op.decl, PointwiseDecl) and op.decl.samples]
TYPES = (dtypes.float32, dtypes.float64, dtypes.int64, dtypes.uint8, dtypes.bool_)


def arrays_of(decl: PointwiseDecl, args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any], Any] | None:
    """The operands of a sample as flat arrays of one size and the compute type, attributes, and the result type."""
    operands, attributes = decl.operands(args, kwargs)
    compute, result = decl.types(*operands, **attributes)
    if compute.numpy is None:
        return None
    draw = np.random.default_rng(0)
    special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.5, 1e-40]) if compute.kind == "f" else np.arange(8)
    found = []
    for operand in operands:
        if isinstance(operand, Tensor):
            values = draw.standard_normal(700) * 4 if compute.kind == "f" else draw.integers(0, 100, 700)
            values[:64] = np.resize(draw.permutation(special), 64)
            found.append(values.astype(compute.numpy))
        else:
            found.append(float(operand) if compute.kind == "f" and isinstance(operand, int | float) else operand)
    return found, attributes, result


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_steps_equal_the_body(op: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE", 256)
    decl = op.decl
    for dtype in TYPES:
        try:
            samples = list(decl.samples(maker(dtype)))
        except Exception:  # samples of other types
            continue
        for args, kwargs in samples[:3]:
            try:
                case = arrays_of(decl, args, kwargs)
            except Exception:  # not defined for this type
                continue
            if case is None:
                continue
            given, attributes, result = case
            described = [v.dtype if isinstance(v, np.ndarray) else v for v in given]
            with np.errstate(all="ignore"):
                found = trace(lambda *x, a=attributes: decl.body(K, *x, **a), described)
                if found is None or found.dtype != result.numpy:
                    continue
                want = np.asarray(decl.body(K, *given, **attributes))
                out = np.empty(700, found.dtype)
                found.run([v for v in given if isinstance(v, np.ndarray)], out)
                assert out.dtype == want.dtype
                np.testing.assert_array_equal(out.view(np.uint8), np.broadcast_to(want, 700).copy().view(np.uint8))
                # In place: over the first operand, where it has the result's type.
                arrays = [v.copy() for v in given if isinstance(v, np.ndarray)]
                if arrays and arrays[0].dtype == found.dtype:
                    found.run(arrays, arrays[0])
                    np.testing.assert_array_equal(arrays[0].view(np.uint8), out.view(np.uint8))


LARGE = {
    "add": lambda x, y: x + y,
    "add a multiple": lambda x, y: opweave.add(x, y, alpha=3),
    "a number": lambda x, y: x + 2.5,
    "relu": lambda x, y: x.relu(),
    "clamp": lambda x, y: x.clamp(-0.5, 0.0),
    "clamp below": lambda x, y: x.clamp(min=0.0),
    "maximum": lambda x, y: opweave.maximum(x, y),
    "where": lambda x, y: opweave.where(x > 0, x, y),
    "where of integers": lambda x, y: opweave.where(x > 0, (x * 10).to(opweave.int64), 7),
    "where of numbers": lambda x, y: opweave.where(x > y, 1.0, 0.0),
    "where not zero": lambda x, y: opweave.where((x * 2).to(opweave.int64).to(opweave.bool), x, -0.0),
    "compared": lambda x, y: x <= y,
    "to float64": lambda x, y: x.to(opweave.float64),
    "to float16": lambda x, y: x.to(opweave.float16),
    "to integers": lambda x, y: (x * 100).to(opweave.int32),
    "several types": lambda x, y: x.to(opweave.float64) * y,
    "silu": lambda x, y: opweave.nn.functional.silu(x),
    "gelu": lambda x, y: opweave.nn.functional.gelu(x, approximate="tanh"),
    "threshold": lambda x, y: opweave.nn.functional.threshold(x, 0.1, -3.0),
    "in place": lambda x, y: x.clone().add_(y),
    "relu in place": lambda x, y: x.clone().relu_(),
    "onto itself": lambda x, y: (lambda z: z.mul_(z))(x.clone()),
    "masked": lambda x, y: x.masked_fill(y > 0, -1.0),
    "transposed": lambda x, y: (x.reshape(-1, 7).t() * 2 - 1).t().reshape(-1),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_tensors_are_as_their_parts(name: str) -> None:
    """Small tensors go another way, so that one holds the other to the same bits."""
    draw = np.random.default_rng(0)
    x, y = (draw.standard_normal(140_000).astype(np.float32) for _ in range(2))
    x[:4], y[:4] = [np.nan, -0.0, 0.0, np.inf], [1.0, 0.0, -0.0, np.nan]
    whole = LARGE[name](from_numpy(x), from_numpy(y)).numpy()
    parts = [
        LARGE[name](from_numpy(a), from_numpy(b)).numpy() for a, b in zip(np.split(x, 20), np.split(y, 20), strict=True)
    ]
    want = np.concatenate(parts)
    assert whole.dtype == want.dtype
    # The bits, but NaN for NaN: which of two NaNs an operation hands on is the processor's affair.
    nan = want != want
    np.testing.assert_array_equal(whole != whole, nan)
    np.testing.assert_array_equal(whole[~nan].view(np.uint8), want[~nan].view(np.uint8))


@pytest.mark.parametrize("name", ["add", "mul", "relu", "clamp", "sigmoid", "where", "maximum", "lt"])
def test_common_ops_have_steps(name: str) -> None:
    x = opweave.randn(70_000)
    calls = {"relu": (x,), "sigmoid": (x,), "clamp": (x, -1, 1), "where": (x > 0, x, x), "lt": (x, 1.0)}
    getattr(opweave, name)(*calls.get(name, (x, x)))
    found = [op.decl._steps for op in OPS if op.opname == name]
    assert any(steps is not None for known in found for steps in known.values())


def test_what_is_traced() -> None:
    f8 = np.dtype("f8")
    found = trace(lambda x, y: (x + y) * 2.0, [f8, f8])
    assert found is not None
    assert found.steps == (Step(np.add, (Ref(0), Ref(1)), f8), Step(np.multiply, (Ref(-1), 2.0), f8))
    assert found.result == Ref(-2) and found.lives == ((), (0,))


def test_what_cannot_be_traced() -> None:
    f8 = np.dtype("f8")
    assert trace(lambda x: x if x.any() else -x, [f8]) is None
    assert trace(lambda x: np.cumsum(x), [f8]) is None
    assert trace(lambda x: x + np.ones(3), [f8]) is None
    assert trace(lambda x: np.asarray(x), [f8]) is None
    assert trace(lambda x: 1.0, [f8]) is None


def test_many_temporaries_share_memory() -> None:
    made = 0

    def chain(x: Any) -> Any:
        for i in range(20):
            x = x * 1.5 + i
        return x

    found = trace(chain, [np.dtype("f4")])
    assert found is not None
    empty = np.empty

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal made
        made += 1
        return empty(*args, **kwargs)

    x, out = np.arange(100_000, dtype=np.float32), np.zeros(100_000, np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.np, "empty", counted)
        found.run([x], out)
    np.testing.assert_array_equal(out, chain(x))
    assert made <= 3
