"""The sanitizer: bugs that it finds, with line, program and index, and kernels that it lets pass."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import suite
import triton
import triton.language as tl
from test_suite import wrap

import opweave
from opweave.codegen.triton_cpu.driver import activate
from opweave.library import wrap_triton
from opweave.registry.errors import SanitizerError
from opweave.registry.tensor import Tensor, from_numpy


@pytest.fixture(scope="module", autouse=True)
def active() -> None:
    activate()


def numbers(n: int, dtype: str = "float32") -> Tensor:
    return from_numpy(np.arange(n).astype(dtype))


# ---- seeded bugs: the line that is wrong ends with a comment --------------------------------------------------------


@triton.jit
def no_mask(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i)  # BUG
    tl.store(out + i, value, i < n)


@triton.jit
def unmasked_store(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, i < n)
    tl.store(out + i, value)  # BUG


@triton.jit
def wrong_bound(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i <= n), i < n)  # BUG


@triton.jit
def one_before(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    left = tl.load(x + i - 1, i < n)  # BUG
    tl.store(out + i, left, i < n)


@triton.jit
def wrong_stride(x, out, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    value = tl.load(x + row * BLOCK + c, c < cols)  # BUG
    tl.store(out + row * cols + c, value, c < cols)


@triton.jit
def swapped_sizes(x, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, COLS)[None, :]
    tile = tl.load(x + r * ROWS + c)  # BUG
    tl.store(out + r * COLS + c, tile)


@triton.jit
def loop_too_far(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n + 1, BLOCK):
        total += tl.load(x + start + i)  # BUG
    tl.store(out + i, total)


@triton.jit
def moving_pointer(x, out, steps, BLOCK: tl.constexpr):
    p = x + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(steps):
        total += tl.load(p)  # BUG
        p += BLOCK
    tl.store(out + tl.arange(0, BLOCK), total)


@triton.jit
def gathered(x, places, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = tl.load(places + i, i < n, 0)
    tl.store(out + i, tl.load(x + at), i < n)  # BUG


@triton.jit
def histogram(x, bins, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(bins + tl.load(x + i, i < n, 0), 1, i < n)  # BUG


@triton.jit
def scalar_beyond(x, out):
    last = tl.load(x + tl.num_programs(0))  # BUG
    tl.store(out + tl.program_id(0), last)


@triton.jit
def misaligned(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    p = (x.to(tl.pointer_type(tl.uint8)) + 2).to(tl.pointer_type(tl.float32))
    tl.store(out + i, tl.load(p + i, i < 4), i < 4)  # BUG


@triton.jit
def sum_into(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(out + i, i < n) + tl.load(x + i, i < n), i < n)  # BUG


@triton.jit
def half_written(x, out, scratch, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(scratch + i, tl.load(x + i, i < n), i < n - 1)
    tl.debug_barrier()
    tl.store(out + i, tl.load(scratch + i, i < n), i < n)  # BUG


@triton.jit
def overlapping(out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * (BLOCK - 1) + tl.arange(0, BLOCK)
    tl.store(out + i, i + tl.program_id(0), i < n)  # BUG


@triton.jit
def all_to_one(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out, tl.sum(tl.load(x + i, i < n, 0), 0))  # BUG


@triton.jit
def plain_and_atomic(x, out, n, BLOCK: tl.constexpr):
    if tl.program_id(0) == 0:
        tl.store(out, 0.0)
    else:
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.atomic_add(out, tl.sum(tl.load(x + i, i < n, 0), 0))  # BUG


@triton.jit
def block_pointer(x, out, n, BLOCK: tl.constexpr):
    p = tl.make_block_ptr(x, (n,), (1,), (tl.program_id(0) * BLOCK,), (BLOCK,), (0,))
    value = tl.load(p)  # BUG
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, value, i < n)


@triton.jit
def inner(x, i):
    return tl.load(x + i)  # BUG


@triton.jit
def in_a_function(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, inner(x, i + 1), i < n)


@triton.jit
def while_too_far(x, out, n):
    k = 0
    total = 0.0
    while k <= n:
        total += tl.load(x + k)  # BUG
        k += 1
    tl.store(out, total)


@triton.jit
def chosen(x, y, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    source = tl.where(i < 4, x + i, y + i)
    tl.store(out + i, tl.load(source))  # BUG


@triton.jit
def on_the_third_axis(out, n):
    at = tl.program_id(2) * n + tl.program_id(1)
    tl.store(out + at, at)  # BUG


@dataclass(frozen=True)
class Bug:
    """A wrong kernel: its launch, and what must be said about it."""

    kernel: Any
    launch: Callable[[], Any]
    says: str
    element: str
    program: tuple[int, int, int]
    index: tuple[int, ...]


def go(kernel: Any, grid: tuple[int, ...], *args: Any, **constants: Any) -> Callable[[], Any]:
    return lambda: kernel[grid](*args, **constants)


OUT = "reads outside the memory of argument 'x'"
BUGS = [
    Bug(
        no_mask,
        go(no_mask, (2,), numbers(100), numbers(100), 100, BLOCK=64),
        OUT,
        "element 100 of 100",
        (1, 0, 0),
        (36,),
    ),
    Bug(
        unmasked_store,
        go(unmasked_store, (2,), numbers(100), numbers(100), 100, BLOCK=64),
        "writes outside the memory of argument 'out'",
        "element 100 of 100",
        (1, 0, 0),
        (36,),
    ),
    Bug(
        wrong_bound,
        go(wrong_bound, (1,), numbers(100), numbers(100), 100, BLOCK=128),
        OUT,
        "element 100 of 100",
        (0, 0, 0),
        (100,),
    ),
    Bug(
        one_before,
        go(one_before, (1,), numbers(100), numbers(100), 100, BLOCK=128),
        OUT,
        "element -1 of 100",
        (0, 0, 0),
        (0,),
    ),
    Bug(
        wrong_stride,
        go(wrong_stride, (5,), numbers(50), numbers(50), 5, 10, BLOCK=16),
        OUT,
        "element 50 of 50",
        (3, 0, 0),
        (2,),
    ),
    Bug(
        swapped_sizes,
        go(swapped_sizes, (1,), numbers(32), numbers(32), ROWS=8, COLS=4),
        OUT,
        "element 32 of 32",
        (0, 0, 0),
        (4, 0),
    ),
    Bug(
        loop_too_far,
        go(loop_too_far, (1,), numbers(64), numbers(32), 64, BLOCK=32),
        OUT,
        "element 64 of 64",
        (0, 0, 0),
        (0,),
    ),
    Bug(
        moving_pointer,
        go(moving_pointer, (1,), numbers(64), numbers(32), 3, BLOCK=32),
        OUT,
        "element 64 of 64",
        (0, 0, 0),
        (0,),
    ),
    Bug(
        gathered,
        go(gathered, (1,), numbers(10), from_numpy(np.array([0, 9, 10, 3])), numbers(4), 4, BLOCK=8),
        OUT,
        "element 10 of 10",
        (0, 0, 0),
        (2,),
    ),
    Bug(
        histogram,
        go(histogram, (1,), from_numpy(np.array([1, 0, 5, 3])), numbers(4, "int32"), 4, BLOCK=4),
        "updates outside the memory of argument 'bins'",
        "element 5 of 4",
        (0, 0, 0),
        (2,),
    ),
    Bug(scalar_beyond, go(scalar_beyond, (3,), numbers(3), numbers(3)), OUT, "element 3 of 3", (0, 0, 0), ()),
    Bug(
        misaligned,
        go(misaligned, (1,), numbers(8), numbers(8), BLOCK=8),
        "reads argument 'x' at an address that is no multiple of 4",
        "element 0 and 2 bytes of 8",
        (0, 0, 0),
        (0,),
    ),
    Bug(
        sum_into,
        lambda: sum_into[(1,)](numbers(9), opweave.empty(9), 9, BLOCK=16),
        "reads memory of argument 'out' that nobody has written",
        "element 0 of 9",
        (0, 0, 0),
        (0,),
    ),
    Bug(
        half_written,
        lambda: half_written[(1,)](numbers(9), numbers(9), opweave.empty(9), 9, BLOCK=16),
        "reads memory of argument 'scratch' that nobody has written",
        "element 8 of 9",
        (0, 0, 0),
        (8,),
    ),
    Bug(
        overlapping,
        go(overlapping, (3,), numbers(64, "int32"), 64, BLOCK=16),
        "writes an element of argument 'out' that another program has written",
        "element 15 of 64",
        (1, 0, 0),
        (0,),
    ),
    Bug(
        all_to_one,
        go(all_to_one, (3,), numbers(64), numbers(1), 64, BLOCK=32),
        "writes an element of argument 'out' that another program has written",
        "element 0 of 1",
        (1, 0, 0),
        (),
    ),
    Bug(
        plain_and_atomic,
        go(plain_and_atomic, (3,), numbers(64), numbers(1), 64, BLOCK=32),
        "updates an element of argument 'out' that another program has written",
        "element 0 of 1",
        (1, 0, 0),
        (),
    ),
    Bug(
        block_pointer,
        go(block_pointer, (2,), numbers(100), numbers(100), 100, BLOCK=64),
        OUT,
        "element 100 of 100",
        (1, 0, 0),
        (36,),
    ),
    Bug(
        in_a_function,
        go(in_a_function, (1,), numbers(8), numbers(8), 8, BLOCK=8),
        OUT,
        "element 8 of 8",
        (0, 0, 0),
        (7,),
    ),
    Bug(while_too_far, go(while_too_far, (1,), numbers(8), numbers(1), 8), OUT, "element 8 of 8", (0, 0, 0), ()),
    Bug(
        chosen,
        go(chosen, (1,), numbers(8), numbers(6), numbers(8), BLOCK=8),
        "reads outside the memory of the arguments",
        "address 0x",
        (0, 0, 0),
        (6,),
    ),
    Bug(
        on_the_third_axis,
        go(on_the_third_axis, (1, 3, 2), numbers(6, "int32"), 4),
        "writes outside the memory of argument 'out'",
        "element 6 of 6",
        (0, 2, 1),
        (),
    ),
]


def line_of(kernel: Any) -> int:
    """The line with the bug, in a kernel or in what it calls."""
    for function in (kernel, inner):
        lines, start = inspect.getsourcelines(function.fn)
        for i, text in enumerate(lines):
            if text.rstrip().endswith("# BUG"):
                return start + i
    raise AssertionError(f"{kernel} has no bug")


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.kernel.__name__)
def test_seeded_bugs(bug: Bug) -> None:
    with opweave.sanitize(), pytest.raises(SanitizerError) as error:
        bug.launch()
    found = error.value
    assert found.what == f"{bug.kernel.__name__}: {bug.says}"
    assert found.got is not None and found.got.startswith(bug.element), found.got
    assert (found.kernel, found.program, found.index) == (bug.kernel.__name__, bug.program, bug.index)
    assert found.at == f"{__file__}:{line_of(bug.kernel)}"


def test_the_message() -> None:
    with opweave.sanitize(), pytest.raises(SanitizerError) as error:
        overlapping[(3,)](numbers(64, "int32"), 64, BLOCK=16)
    assert str(error.value).splitlines() == [
        "overlapping: writes an element of argument 'out' that another program has written",
        "  got:  element 15 of 64, index (0,) of a block of [16], in program (1, 0, 0); written before in program "
        "(0, 0, 0)",
        f"  at:   {__file__}:{line_of(overlapping)}",
        "  hint: use an atomic, or another grid",
    ]


# ---- what is right passes --------------------------------------------------------------------------------------------


@triton.jit
def locked_sum(x, out, lock, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + i, i < n, 0), 0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out, tl.load(out) + total)
    tl.atomic_xchg(lock, 0)


@triton.jit
def table_of_pointers(table, out, BLOCK: tl.constexpr):
    p = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * BLOCK + i, tl.load(p + i))


def test_programs_that_take_turns_by_a_lock() -> None:
    x, out = numbers(100), opweave.zeros(1)
    with opweave.sanitize():
        locked_sum[(4,)](x, out, opweave.zeros(1, dtype=opweave.int32), 100, BLOCK=32)
    assert out.item() == 4950


def test_memory_that_is_reached_by_addresses_alone() -> None:
    x, y, out = numbers(8), numbers(8), opweave.zeros(16)
    table = from_numpy(np.array([x.data_ptr(), y.data_ptr()]))
    with opweave.sanitize():
        table_of_pointers[(2,)](table, out, BLOCK=8)
    np.testing.assert_array_equal(out.numpy(), np.r_[np.arange(8), np.arange(8)])
    table.numpy()[1] = 8
    with opweave.sanitize(), pytest.raises(SanitizerError, match="no argument's"):
        table_of_pointers[(2,)](table, out, BLOCK=8)


def test_memory_from_empty_that_others_write() -> None:
    with opweave.sanitize():
        for fill in (lambda t: t.fill_(1), lambda t: t.numpy().fill(1), lambda t: t.copy_(numbers(9))):
            out = opweave.empty(9)
            fill(out)
            sum_into[(1,)](numbers(9), out, 9, BLOCK=16)
        out = opweave.empty_like(numbers(9))
        unmasked_store[(1,)](numbers(9)[:8], out[:8], 8, BLOCK=8)
        sum_into[(1,)](numbers(9), out, 8, BLOCK=16)
        with pytest.raises(SanitizerError, match="nobody has written"):
            sum_into[(1,)](numbers(9), out, 9, BLOCK=16)


def test_a_read_only_array() -> None:
    x = np.arange(9, dtype=np.float32)
    x.flags.writeable = False
    with opweave.sanitize(), pytest.raises(opweave.registry.errors.OpweaveError, match="read-only"):
        wrap_triton(unmasked_store)[(1,)](numbers(8), x, 8, BLOCK=8)


def test_on_and_off() -> None:
    out = numbers(64, "int32")
    overlapping[(3,)](out, 64, BLOCK=16)  # nobody looks
    with opweave.sanitize():
        with opweave.sanitize(False):
            overlapping[(3,)](out, 64, BLOCK=16)
        with pytest.raises(SanitizerError):
            overlapping[(3,)](out, 64, BLOCK=16)
    overlapping[(3,)](out, 64, BLOCK=16)
    np.testing.assert_array_equal(out.numpy()[:46], np.arange(46) + np.minimum(np.arange(46) // 15, 2))


def test_a_whole_process() -> None:
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_sanitizer as t
t.activate()
t.overlapping[(1,)](t.numbers(64, "int32"), 64, BLOCK=16)
try:
    t.overlapping[(3,)](t.numbers(64, "int32"), 64, BLOCK=16)
except t.SanitizerError as error:
    print(error.program)
"""
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "OPWEAVE_SANITIZE": "1"}
    )
    assert run.stdout == "(1, 0, 0)\n", run.stderr


WHOLE = os.environ.get("OPWEAVE_FULL_MATRIX") == "1"
SOME = sorted(suite.CASES)[:: 1 if WHOLE else 9]


@pytest.mark.parametrize("name", SOME)
def test_no_alarm_on_the_suite(name: str) -> None:
    with opweave.sanitize():
        suite.run(suite.CASES[name], wrap)


# -- compiled functions


@triton.jit
def _shifted(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i + 1, i < n), i < n)  # one too far


@opweave.library.triton_op("sanitizer_test::shifted", mutates_args=())
def shifted(x: opweave.Tensor) -> opweave.Tensor:
    out = opweave.empty_like(x)
    opweave.library.wrap_triton(_shifted)[(1,)](x, out, x.shape[0], BLOCK=64)
    return out


def test_kernels_in_compiled_functions_are_sanitized() -> None:
    compiled = opweave.compile(lambda x: shifted(x * 2) + 1)
    whole = opweave.arange(33, dtype=opweave.float32)

    def read(x: opweave.Tensor) -> list[float]:
        return (compiled(x)[:-1] - 1).tolist()  # what the last one is, nobody knows

    expected = (whole[1:32] * 2).tolist()
    assert read(whole[:32]) == expected
    entries = list(compiled.entries)
    for _ in range(2):
        with opweave.sanitize():
            with pytest.raises(SanitizerError, match="_shifted"):
                compiled(whole[:32])
            with opweave.sanitize(False):
                assert read(whole[:32]) == expected
        assert read(whole[:32]) == expected
    assert compiled.entries == entries
