"""How loops are laid out before they are emitted, as `OPWEAVE_LOGS=lowering` shows it."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import triton
import triton.language as tl
from expecttest import assert_expected_inline
from native import ttir

from opweave.codegen.triton_cpu.analysis import TargetFeatures
from opweave.codegen.triton_cpu.lower import lower


def plans(caplog: pytest.LogCaptureFixture, kernel: Any, signature: dict[str, str], constants: dict[str, Any]) -> str:
    with caplog.at_level(logging.DEBUG, "opweave.lowering"):
        signature |= dict.fromkeys(constants, "constexpr")
        lower(ttir(kernel, signature, constants), features=TargetFeatures(vector_bits=256))
    return caplog.records[-1].getMessage()


@triton.jit
def _masked(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def test_a_loop_is_split_by_its_mask(caplog: pytest.LogCaptureFixture) -> None:
    text = plans(caplog, _masked, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"BLOCK": 256})
    assert_expected_inline(
        text,
        """\
_masked
tt.store %8, %12, %6: 32 of 256 elements at a time, in a row
  before the loop: %10, %4, %5, %cst, %8
  true below a bound: %6
  beyond the bound: nothing""",
    )


@triton.jit
def _transposed(x, y, n, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(y + i * N + j, tl.load(x + j * N + i) + 1)


def test_the_vector_dimension_is_where_stores_are_contiguous(caplog: pytest.LogCaptureFixture) -> None:
    text = plans(caplog, _transposed, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"N": 4})
    assert_expected_inline(
        text,
        """\
_transposed
%15 is kept in a buffer of 4x4 f32
%15: 4 of 4 elements at a time, along dimension 0 of 2
  before the loop: %14
tt.store %8, %16: 4 of 4 elements at a time, along dimension 1 of 2
  before the loop: %cst, %8""",
    )


@triton.jit
def _softmax(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    e = tl.exp(tl.load(x + i, mask=i < n, other=-float("inf")))
    tl.store(y + i, e / tl.sum(e, 0), mask=i < n)


def test_what_is_dear_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    text = plans(caplog, _softmax, {"x": "*fp32", "y": "*fp32", "n": "i32"}, {"BLOCK": 64})
    assert_expected_inline(
        text,
        """\
_softmax
%6 is kept in a buffer of 64 f32
%6: 32 of 64 elements at a time, in a row
  before the loop: %4, %0, %1, %cst
  true below a bound: %2
tt.store %8, %11, %2: 32 of 64 elements at a time, in a row
  before the loop: %10, %8, %0, %1
  true below a bound: %2
  beyond the bound: nothing""",
    )


@triton.jit
def _rows(x, y, m, n, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    inside = (i < m) & (j < n)
    tl.store(y + i * N + j, tl.load(x + i * N + j, mask=inside, other=1.0))


def test_a_condition_that_does_not_vary_is_asked_before(caplog: pytest.LogCaptureFixture) -> None:
    text = plans(caplog, _rows, {"x": "*fp32", "y": "*fp32", "m": "i32", "n": "i32"}, {"M": 8, "N": 128})
    assert_expected_inline(
        text,
        """\
_rows
tt.store %16, %21: 32 of 128 elements at a time, along dimension 1 of 2
  before the loop: %20, %5, %3, %6, %cst, %16
  true below a bound: %7
  everywhere or nowhere: %5""",
    )
