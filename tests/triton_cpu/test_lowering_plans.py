"""How loops are laid out before they are emitted, as `OPWEAVE_LOGS=lowering` shows it."""

from __future__ import annotations

import logging
import re
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from expecttest import assert_expected_inline
from native import launch, ttir

import opweave
from opweave.codegen.aot import as_ttir, function_source
from opweave.codegen.kernel import APART
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


@triton.jit
def _scores(x, mask, y, stride, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    e = tl.exp(tl.load(x + row * stride + i, mask=i < n, other=-float("inf")))
    kept = tl.load(mask + row * stride + i, mask=i < n)
    tl.store(y + row * stride + i, e / tl.sum(e, 0) * kept, mask=i < n)


_SCORES = {"x": "*fp32", "mask": "*fp32", "y": "*bf16", "stride": "i32", "n": "i32"}


def test_what_is_needed_soon_is_asked_for_where_most_is_computed(caplog: pytest.LogCaptureFixture) -> None:
    text = plans(caplog, _scores, _SCORES, {"BLOCK": 512})
    assert_expected_inline(
        text,
        """\
_scores
%9 is kept in a buffer of 512 f32
%9: 32 of 512 elements at a time, in a row
  before the loop: %7, %1, %2, %cst
  true below a bound: %3
  asks for: %12, %16
  asks for, for the next program: %7
tt.store %16, %21, %3: 32 of 512 elements at a time, in a row
  before the loop: %18, %12, %1, %2, %16
  true below a bound: %3
  beyond the bound: nothing""",
    )


def prefetches(kernel: Any, signature: dict[str, str], constants: dict[str, Any]) -> list[tuple[str, int, int]]:
    """Of each prefetch which argument its address is made from, and whether it is for writing and how near."""
    signature |= dict.fromkeys(constants, "constexpr")
    text = lower(ttir(kernel, signature, constants), features=TargetFeatures(vector_bits=256)).llvm_ir
    made = dict(re.findall(r"(%\w+) = (.*)", text))

    def origin(register: str) -> str:
        of = made[register]
        return origin(re.search(r"ptr (%\w+)", of)[1]) if of.startswith("getelementptr i8") else of

    slots = {f"load ptr, ptr {slot}": name for name, slot in zip(signature, _slots(text), strict=False)}
    found = re.findall(r"@llvm.prefetch.p0\(ptr (%\w+), i32 (\d), i32 (\d)", text)
    return [(slots[origin(p)], int(write), int(near)) for p, write, near in found]


def _slots(text: str) -> list[str]:
    first = re.search(r"ptr %args\n", text) and "%args"
    return [first, *re.findall(r"(%\w+) = getelementptr i64, ptr %args, i64 \d+", text)]


def test_lines_are_asked_for() -> None:
    """Two lines a step of 32 f32, one of 32 bf16."""
    found = prefetches(_scores, dict(_SCORES), {"BLOCK": 512})
    assert found == [("mask", 0, 3)] * 2 + [("y", 1, 3)] + [("x", 0, 2)] * 2


@triton.jit
def _every_third(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * 3 * BLOCK + tl.arange(0, BLOCK)
    e = tl.exp(tl.load(x + i))
    tl.store(y + i, e / tl.sum(e, 0))


def test_the_next_program_is_as_far_away_as_its_addresses_say() -> None:
    constants = {"x": "*fp32", "y": "*fp32", "BLOCK": "constexpr"}
    text = lower(ttir(_every_third, constants, {"BLOCK": 512}), features=TargetFeatures(vector_bits=256)).llvm_ir
    far = re.findall(r"(%\w+) = getelementptr i8, ptr %\w+, i64 6144\n", text)
    assert len(far) == 1 and 3 * 512 * 4 == 6144
    asked = re.findall(r"prefetch.p0\(ptr (%\w+), i32 0, i32 2", text)
    assert f"{asked[0]} = getelementptr i8, ptr {far[0]}, " in text
    assert f"{asked[1]} = getelementptr i8, ptr {asked[0]}, i64 64" in text


@triton.jit
def _looked_up(x, rows, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.load(rows + tl.program_id(0))
    e = tl.exp(tl.load(x + row * BLOCK + i))
    tl.store(y + tl.program_id(0) // 2 * BLOCK + i, e / tl.sum(e, 0))


@triton.jit
def _in_turns(x, y, rows, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        e = tl.exp(tl.load(x + row * BLOCK + i))
        tl.store(y + row * BLOCK + i, e / tl.sum(e, 0))


def test_only_addresses_that_are_known_are_asked_for() -> None:
    """Where the next program reads is not, if it looks that up; in a loop it is the next turn's."""
    signature = {"x": "*fp32", "rows": "*i32", "y": "*fp32"}
    assert prefetches(_looked_up, signature, {"BLOCK": 512}) == [("y", 1, 3)] * 2
    signature = {"x": "*fp32", "y": "*fp32", "rows": "i32"}
    assert prefetches(_in_turns, signature, {"BLOCK": 512}) == [("y", 1, 3)] * 2 + [("x", 0, 2)] * 2
    assert not prefetches(_in_turns, {"x": "*fp32", "y": "*fp32", "rows": "i32"}, {"BLOCK": 64})


@triton.jit
def _doubled_often(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.program_id(0)
    for _ in tl.static_range(48):
        v = v + v
    e = tl.exp(tl.load(x + v + i))
    tl.store(y + i, e / tl.sum(e, 0))


def test_each_number_that_an_address_is_made_of_is_looked_at_once() -> None:
    """There are 2^48 ways from this address to the program's number."""
    constants = {"x": "*fp32", "y": "*fp32", "BLOCK": "constexpr"}
    found = lower(ttir(_doubled_often, constants, {"BLOCK": 512}), features=TargetFeatures(vector_bits=256)).llvm_ir
    assert "@llvm.prefetch.p0(" in found


@pytest.mark.parametrize("kernel", [_looked_up, _in_turns], ids=["looked up", "in turns"])
def test_asking_changes_nothing(kernel: Any) -> None:
    x = opweave.randn(6, 512)
    y, rows = opweave.zeros(6, 512), opweave.tensor([3, 3, 1, 1, 4, 4], dtype=opweave.int32)
    if kernel is _looked_up:
        kernel[(6,)](x, rows, y, BLOCK=512)
        wanted = opweave.softmax(x[rows.long()[::2]], -1)
        y = y[:3]
    else:
        kernel[(2,)](x, y, 6, BLOCK=512)
        wanted = opweave.softmax(x, -1)
    np.testing.assert_allclose(y.numpy(), wanted.numpy(), rtol=2e-6)


@triton.jit
def _by_table(addresses, count, BLOCK: tl.constexpr):
    member = tl.program_id(0)
    x = tl.load(addresses + member).to(tl.pointer_type(tl.float32))
    y = tl.load(addresses + (count + member)).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, BLOCK)
    total = tl.load(x + i) + tl.load(y + i)
    tl.store(x + i, total)
    tl.store(y + i, total * 2)


def test_what_is_read_and_written_by_a_table_is_kept_first_unless_its_addresses_are_apart(caplog):
    texts = []
    for known in ({}, {"addresses": [[APART, 1]]}):
        source = function_source(_by_table, {"addresses": "*i64", "count": "i32"}, {"BLOCK": 256}, known)
        with caplog.at_level(logging.DEBUG, "opweave.lowering"):
            lower(as_ttir(source, {}), features=TargetFeatures(vector_bits=256))
        texts.append(caplog.records[-1].getMessage())
    assert_expected_inline(
        "\n".join(texts),
        """\
_by_table
%14 is kept in a buffer of 256 f32
%14: 32 of 256 elements at a time, in a row
  before the loop: %13
%11 is kept in a buffer of 256 f32
tt.store %10, %15: 32 of 256 elements at a time, in a row
  before the loop: %10
tt.store %13, %16: 32 of 256 elements at a time, in a row
  before the loop: %cst, %13
_by_table
tt.store %10, %15; tt.store %13, %16: 32 of 256 elements at a time, in a row
  before the loop: %10, %13, %cst""",
    )


@triton.jit
def _residual(x, r, w, h, y, AGAIN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = tl.program_id(0) * BLOCK + i
    first = tl.load(x + at)
    total = first + tl.load(r + at)
    scaled = total / tl.sum(total * total, 0) * tl.load(w + i)
    if AGAIN:
        scaled += first
    tl.store(h + at, total)
    tl.store(y + at, scaled)


def test_a_sum_is_kept_in_the_place_of_what_it_is_made_of(caplog: pytest.LogCaptureFixture) -> None:
    signature: dict[str, str] = dict.fromkeys("xrwhy", "*fp32")
    text = plans(caplog, _residual, dict(signature), {"AGAIN": False, "BLOCK": 64})
    assert len(re.findall("is kept in a buffer", text)) == 1
    text = plans(caplog, _residual, dict(signature), {"AGAIN": True, "BLOCK": 64})
    assert len(re.findall("is kept in a buffer", text)) == 2


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("in_place", [False, True])
def test_what_is_stored_over_what_was_read_is_what_was_read_before(again: bool, in_place: bool) -> None:
    rng = np.random.default_rng(0)
    x, r, w = (rng.standard_normal(n).astype(np.float32) for n in (3 * 64, 3 * 64, 64))
    total = (x.astype(np.float64) + r).reshape(3, 64)
    expected = total / (total * total).sum(1, keepdims=True) * w + (x.reshape(3, 64) if again else 0)
    h, y = (x, r) if in_place else (np.zeros_like(x), np.zeros_like(x))
    launch(_residual, (3,), x, r, w, h, y, AGAIN=again, BLOCK=64)
    np.testing.assert_allclose(h, total.ravel(), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(y, expected.ravel(), rtol=1e-5, atol=1e-6)
