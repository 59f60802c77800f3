"""Which products and sums of a kernel become one operation, and that it hangs on the kernel alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from expecttest import assert_expected_inline

import opweave
from opweave.codegen.contraction import contracted
from opweave.codegen.native import llvm


def _body(text: str) -> str:
    lines = "\n".join(f"    {line}" for line in text.splitlines())
    return f"module {{\n  tt.func public @f(%a: f32, %b: f32, %c: f32, %p: !tt.ptr<f32>) {{\n{lines}\n  }}\n}}\n"


def test_a_sum_takes_the_product_on_its_left_else_the_one_on_its_right() -> None:
    text = _body(
        """%0 = arith.mulf %a, %b : f32
%1 = arith.mulf %b, %c : f32
%2 = arith.addf %0, %1 : f32
%3 = arith.mulf %a, %a : f32
%4 = arith.subf %2, %3 : f32
%5 = arith.mulf %4, %b : f32
%6 = arith.subf %5, %c : f32
tt.store %p, %6 : !tt.ptr<f32>
tt.return"""
    )
    assert_expected_inline(
        contracted(text),
        """\
module {
  tt.func public @f(%a: f32, %b: f32, %c: f32, %p: !tt.ptr<f32>) {
    %1 = arith.mulf %b, %c : f32
    %2 = math.fma %a, %b, %1 : f32
    %negated4 = arith.negf %a : f32
    %4 = math.fma %negated4, %a, %2 : f32
    %negated6 = arith.negf %c : f32
    %6 = math.fma %4, %b, %negated6 : f32
    tt.store %p, %6 : !tt.ptr<f32>
    tt.return
  }
}
""",
    )


def test_what_is_used_twice_is_narrow_or_stands_in_another_block_stays() -> None:
    text = _body(
        """%0 = arith.mulf %a, %b : f32
%1 = arith.addf %0, %0 : f32
%2 = arith.mulf %a, %c : f32
%3 = arith.addf %2, %1 : f32
%4 = arith.addf %2, %3 : f32
%5 = arith.truncf %4 : f32 to f16
%6 = arith.mulf %5, %5 : f16
%7 = arith.addf %6, %5 : f16
%8 = arith.extf %7 : f16 to f32
%9 = arith.mulf %8, %8 : f32
%true = arith.constant true
scf.if %true {
  %10 = arith.addf %9, %c : f32
  tt.store %p, %10 : !tt.ptr<f32>
}
tt.return"""
    )
    assert contracted(text) == text


@triton.jit
def _turned(x, y, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, a * b - b * 3.3)
    tl.store(out + BLOCK + i, 3.3 - a * a)


@pytest.mark.skipif(not llvm.host().fma, reason="without the instruction nothing becomes one operation")
@pytest.mark.parametrize("allowed", [True, False])
def test_results_have_one_rounding_where_an_operation_is_one(allowed: bool) -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(64).astype("f") for _ in range(2))
    out = opweave.empty(128)
    _turned[(1,)](opweave.tensor(x), opweave.tensor(y), out, BLOCK=64, enable_fp_fusion=allowed)
    # A product of two f32 is exact in f64, and so is what is left of it here, but for the last rounding.
    a, b, c = x.astype("d"), y.astype("d"), np.float64(np.float32(3.3))
    half = np.float32 if not allowed else np.float64
    first = half(a * b).astype("d") - np.float32(b * c).astype("d")
    assert np.array_equal(out.numpy()[:64], first.astype("f"))
    assert np.array_equal(out.numpy()[64:], (c - half(a * a).astype("d")).astype("f"))


def test_what_is_put_into_a_kernel_does_not_choose_between_its_products() -> None:
    def twice(x: Any, y: Any) -> Any:
        out = opweave.empty(128)
        _turned[(1,)](x * 2, y, out, BLOCK=64)
        return out * y.repeat(2)

    x, y = opweave.randn(64), opweave.randn(64)
    fused = opweave.compile(twice)(x, y)
    assert np.array_equal(fused.numpy(), twice(x, y).numpy())
