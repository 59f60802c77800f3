"""The sanitizer: programs that depend on each other, results that nobody wrote, lanes that a mask left out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl

import opweave
from opweave.codegen.triton_cpu.driver import activate
from opweave.registry.errors import SanitizerError
from opweave.registry.tensor import Tensor, from_numpy


@pytest.fixture(scope="module", autouse=True)
def active() -> None:
    activate()


def numbers(*shape: int, dtype: str = "float32") -> Tensor:
    return from_numpy(np.arange(np.prod(shape)).reshape(shape).astype(dtype))


def line_of(kernel: Any) -> str:
    """The place of the line that ends with a comment."""
    lines, start = inspect.getsourcelines(kernel.fn)
    return next(f"{__file__}:{start + i}" for i, text in enumerate(lines) if text.rstrip().endswith("# BUG"))


def found(launch: Callable[[], Any], **options: Any) -> SanitizerError:
    with opweave.sanitize(**options), pytest.raises(SanitizerError) as error:
        launch()
    return error.value


def fine(launch: Callable[[], Any]) -> Any:
    with opweave.sanitize():
        return launch()


# ---- programs that depend on each other ------------------------------------------------------------------------------


@triton.jit
def shifted_in_place(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i + BLOCK, i + BLOCK < n, 0.0)
    tl.store(x + i, value, i < n)  # BUG


@triton.jit
def shifted_back(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i - BLOCK, (i >= BLOCK) & (i < n), 0.0)  # BUG
    tl.store(x + i, value + 1, i < n)


@triton.jit
def normalised_in_place(x, rows, cols, BLOCK: tl.constexpr):
    """The passes of a batch norm: each program reads whole columns and writes a part of them."""
    r = tl.arange(0, BLOCK)
    c = tl.program_id(1)
    column = tl.load(x + r * cols + c, r < rows, 0.0)
    mean = tl.sum(column, 0) / rows
    mine = tl.program_id(0) * (BLOCK // 2) + tl.arange(0, BLOCK // 2)
    part = tl.load(x + mine * cols + c, mine < rows, 0.0)
    tl.store(x + mine * cols + c, part - mean, mine < rows)  # BUG


@triton.jit
def added_by_swaps(x, out):
    """A first look at what others update is no race: the swap fails where it was too early."""
    value = tl.load(x + tl.program_id(0))
    seen = tl.load(out)
    done = False
    while not done:
        old = tl.atomic_cas(out, seen, seen + value)
        done = old == seen
        seen = old


@triton.jit
def own_elements(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)


@triton.jit
def gated_norm(x, mean, out, cols, BLOCK: tl.constexpr):
    """Two programs share a row: both write its mean."""
    row, half = tl.program_id(0), tl.program_id(1)
    c = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + c, c < cols, 0.0)
    m = tl.sum(value, 0) / cols
    tl.store(mean + row, m)  # BUG
    mine = half * (BLOCK // 2) + tl.arange(0, BLOCK // 2)
    tl.store(out + row * cols + mine, tl.load(x + row * cols + mine, mine < cols, 0.0) - m, mine < cols)


@triton.jit
def turns(data, lock, count, BLOCK: tl.constexpr):
    """Layer norm's gradient: programs add to a row in turns, and the first of them starts it."""
    i = tl.arange(0, BLOCK)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    began = tl.load(count)
    if began == 0:
        tl.atomic_xchg(count, 1)
        tl.store(data + i, i.to(tl.float32))
    else:
        tl.store(data + i, tl.load(data + i) + i)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def split_k(x, parts, done, out, n, BLOCK: tl.constexpr):
    """The last program adds what all have written."""
    p = tl.program_id(0)
    i = p * BLOCK + tl.arange(0, BLOCK)
    tl.store(parts + p, tl.sum(tl.load(x + i, i < n, 0.0), 0))
    if tl.atomic_add(done, 1) == tl.num_programs(0) - 1:
        k = tl.arange(0, 8)
        tl.store(out, tl.sum(tl.load(parts + k, k < tl.num_programs(0), 0.0), 0))


@triton.jit
def counted(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + i, i < n, 0), 1, i < n)


@triton.jit
def flagged(flag, data, out):
    p = tl.program_id(0)
    if p == 0:
        tl.store(data, 5.0)
        tl.atomic_xchg(flag, 1)
    else:
        while tl.load(flag, volatile=True) == 0:
            pass
        tl.store(out + p, tl.load(data))


RACES = [
    (shifted_in_place, (4,), lambda: (numbers(60), 60), {"BLOCK": 16}, "overwritten", (1, 0, 0), "element 16 of 60"),
    (shifted_back, (4,), lambda: (numbers(60), 60), {"BLOCK": 16}, "stale", (1, 0, 0), "element 0 of 60"),
    (normalised_in_place, (2, 3), lambda: (numbers(7, 3), 7, 3), {"BLOCK": 8}, "stale", (1, 0, 0), "element 0 of 21"),
]


@pytest.mark.parametrize("race", RACES, ids=lambda race: race[0].__name__)
def test_what_another_program_writes_or_reads(race: Any) -> None:
    kernel, grid, make, constants, category, program, element = race
    error = found(lambda: kernel[grid](*make(), **constants))
    assert (error.category, error.program, error.kernel) == (category, program, kernel.__name__)
    assert error.got is not None and error.got.startswith(element)
    if kernel in (shifted_in_place, shifted_back):
        assert error.at == line_of(kernel)
    if category == "stale":
        assert "another program has written" in error.what and "written before in program (0, 0, 0)" in error.got
    else:
        assert "that another program has read" in error.what and "read before in program (0, 0, 0)" in error.got


def test_one_program_may_do_so() -> None:
    fine(lambda: shifted_in_place[(1,)](numbers(60), 60, BLOCK=64))
    fine(lambda: own_elements[(4,)](numbers(60), 60, BLOCK=16))


def test_writes_of_one_value_are_reported_on_request() -> None:
    x = numbers(5, 6)

    def launch() -> Tensor:
        mean, out = opweave.empty(5), opweave.empty(5, 6)
        gated_norm[(5, 2)](x, mean, out, 6, BLOCK=8)
        return out

    out = fine(launch)
    np.testing.assert_allclose(out.numpy(), x.numpy() - x.numpy().mean(1, keepdims=True), rtol=1e-6)
    error = found(launch, benign=True)
    assert (error.category, error.program) == ("benign", (0, 1, 0)) and error.at == line_of(gated_norm)
    assert "the value of argument 'mean' that another program has written too" in error.what


def test_programs_that_wait_for_each_other() -> None:
    data, i32 = opweave.empty(16), opweave.int32
    fine(lambda: turns[(9,)](data, opweave.zeros(1, dtype=i32), opweave.zeros(1, dtype=i32), BLOCK=16))
    np.testing.assert_array_equal(data.numpy(), 9 * np.arange(16))
    out = fine(lambda: _split_k())
    assert out.item() == 100 * 99 / 2
    counts = opweave.zeros(5, dtype=i32)
    fine(lambda: counted[(4,)](numbers(50, dtype="int64") % 5, counts, 50, BLOCK=16))
    assert counts.tolist() == [10] * 5
    total = opweave.zeros(1, dtype=i32)
    fine(lambda: added_by_swaps[(9,)](numbers(9, dtype="int32"), total))
    assert total.item() == 36
    result = opweave.zeros(3)
    fine(lambda: flagged[(3,)](opweave.zeros(1, dtype=i32), opweave.zeros(1), result))
    assert result.tolist() == [0, 5, 5]


def _split_k() -> Tensor:
    out = opweave.empty(1)
    split_k[(7,)](numbers(100), opweave.empty(7), opweave.zeros(1, dtype=opweave.int32), out, 100, BLOCK=16)
    return out


# ---- results that nobody wrote ---------------------------------------------------------------------------------------


@triton.jit
def copied(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n), i < n)  # BUG


@opweave.library.triton_op("sanitizer_results::copied", mutates_args=())
def copied_op(x: Tensor, programs: int) -> Tensor:
    out = opweave.empty_like(x)
    opweave.library.wrap_triton(copied)[(programs,)](x, out, x.numel(), BLOCK=16)
    return out


def too_small(grid: int = 3, dtype: str = "float32") -> Tensor:
    x = numbers(60, dtype=dtype)
    out = opweave.empty_like(x)
    copied[(grid,)](x, out, 60, BLOCK=16)
    return out


READS: dict[str, Callable[[Tensor], Any]] = {
    "tolist": lambda t: t.tolist(),
    "numpy": lambda t: t.numpy(),
    "array": lambda t: np.asarray(t),
    "item": lambda t: t[59].item(),
    "op": lambda t: t + 1,
    "sum": lambda t: t.sum(),
    "copy": lambda t: opweave.zeros(60).copy_(t).sum() + t.clone().sum(),
    "product": lambda t: t.reshape(6, 10) @ opweave.zeros(10, 2),
    "kernel": lambda t: copied[(4,)](t, opweave.empty(60), 60, BLOCK=16),
}


@pytest.mark.parametrize("read", READS)
def test_a_grid_that_is_too_small(read: str) -> None:
    error = found(lambda: READS[read](too_small()))
    assert error.category == "unwritten"
    if read == "kernel":
        assert error.got is not None and error.got.startswith("element 48 of 60")
        return
    assert error.kernel == "copied" and line_of(copied) in (error.got or "")
    place = "element [0]" if read == "item" else "element [4, 8]" if read == "product" else "element [48]"
    assert place.strip("[]") in (error.got or "") or read == "item"
    fine(lambda: READS[read](too_small(4)))


def test_what_an_op_returns() -> None:
    error = found(lambda: copied_op(numbers(60), 3))
    assert "sanitizer_results.copied.default: returns memory that nobody has written" in error.what
    assert fine(lambda: copied_op(numbers(60), 4)).tolist() == list(range(60))


def test_the_part_that_was_written() -> None:
    def read() -> list[float]:
        out = too_small()
        assert (out[:48] + 1).tolist() == list(range(1, 49))
        out[48:] = 7.0
        return (out * 1).tolist()

    assert fine(read) == [*range(48), *[7.0] * 12]


def test_bytes_that_look_as_if_nobody_wrote_them() -> None:
    def read() -> list[int]:
        out = opweave.empty(9, dtype=opweave.uint8)
        out.fill_(0xCB)
        x = from_numpy(np.full(60, 0xCB, np.uint8))
        other = opweave.empty_like(x)
        copied[(4,)](x, other, 60, BLOCK=16)
        return [(out + 0).sum().item(), (other + 0).sum().item()]

    assert fine(read) == [9 * 0xCB, 60 * 0xCB]


# ---- lanes that a mask left out --------------------------------------------------------------------------------------


@triton.jit
def summed(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, i < n)  # BUG
    tl.store(out, tl.sum(value, 0))


@triton.jit
def greatest(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, i < n)  # BUG
    tl.store(out + i, value - tl.max(value, 0), i < n)


@triton.jit
def summed_in_a_loop(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + start + i, start + i < n)  # BUG
    tl.store(out, tl.sum(total, 0))


@triton.jit
def multiplied(x, out, n, BLOCK: tl.constexpr):
    r, c = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    a = tl.load(x + r * BLOCK + c, c < n)  # BUG
    tl.store(out + r * BLOCK + c, tl.dot(a, a, input_precision="ieee"))


@triton.jit
def decided(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, i < n)  # BUG
    if tl.max(value, 0) > 3:
        tl.store(out, 1.0)


@triton.jit
def addressed(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = tl.load(x + i, i < n).to(tl.int32)  # BUG
    tl.store(out + at, 1.0)


@triton.jit
def sorted_rows(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, i < n)  # BUG
    tl.store(out + i, tl.sort(value), i < n)


@triton.jit
def added(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, i < n)  # BUG
    tl.atomic_add(out, tl.sum(value, 0))


@triton.jit
def chosen_branch(x, out, n, flag, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.zeros((BLOCK,), tl.float32)
    if flag > 0:
        value = tl.load(x + i, i < n)  # BUG
    tl.store(out, tl.sum(value, 0))


@triton.jit
def masked_again(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, i < n)
    positive = (i < n) & (value > 2)
    tl.store(out, tl.sum(tl.where(i < n, value * 2, 0.0), 0) + tl.sum(positive.to(tl.int32), 0))
    tl.store(out + 1 + i, tl.cumsum(value, 0), i < n)
    at = tl.where(i < n, value, 0.0).to(tl.int32)
    tl.atomic_add(out + 40 + at, 1.0, i < n)
    tl.store(out + 20 + i, value, i < n)


@triton.jit
def products_masked_again(x, out, n, BLOCK: tl.constexpr):
    r, c = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    a = tl.load(x + r * BLOCK + c, r < n)
    b = tl.load(x + r * BLOCK + c)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for _ in range(2):
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(out + r * BLOCK + c, tl.trans(tl.trans(total)), r < n)


@pytest.mark.parametrize(
    "kernel",
    [summed, greatest, summed_in_a_loop, multiplied, decided, addressed, sorted_rows, added],
    ids=lambda kernel: kernel.__name__,
)
def test_lanes_that_nothing_is_known_of(kernel: Any) -> None:
    def launch(n: int) -> Any:
        return lambda: kernel[(1,)](numbers(256), opweave.zeros(256), n, BLOCK=16)

    error = found(launch(13))
    assert error.category == "undefined" and "lanes that a mask left out of a load" in error.what
    assert error.at == line_of(kernel) and "used at" in (error.got or "")
    fine(launch(16))  # no lane is left out


def test_a_branch_that_loads() -> None:
    def launch(flag: int) -> Any:
        return lambda: chosen_branch[(1,)](numbers(16), opweave.zeros(1), 13, flag, BLOCK=16)

    assert found(launch(1)).at == line_of(chosen_branch)
    fine(launch(0))


def test_lanes_that_are_hidden_again() -> None:
    out = opweave.zeros(60)
    fine(lambda: masked_again[(1,)](numbers(16), out, 13, BLOCK=16))
    assert out.tolist()[0] == 156 + 10
    fine(lambda: products_masked_again[(1,)](numbers(256), opweave.zeros(256), 13, BLOCK=16))
