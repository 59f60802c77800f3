"""Which elements a launch's stores reach, and where an access lies in a tensor, beside every program run by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

triton = pytest.importorskip("triton", reason="needs Triton")
tl: Any = pytest.importorskip("triton.language")

from opweave.registry.tensor import from_numpy
from opweave.registry.triton.access import Access, KernelAccesses
from opweave.registry.triton.coverage import covers, covers_open, is_apart
from opweave.registry.triton.effects import accesses
from opweave.registry.triton.known import digits, in_launch
from opweave.registry.triton.masks import Fact
from opweave.registry.triton.polynomial import Counter, Known, Leaf, Polynomial, Program, Range


@triton.jit
def flat(out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 1.0, i < n)


@triton.jit
def rows(out, stride, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * stride + i, 1.0, i < n)


@triton.jit
def row_in_steps(out, stride, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(out + tl.program_id(0) * stride + i, 1.0, i < n)


@triton.jit
def swizzled(out, m, n, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    across = tl.cdiv(n, BN)
    first = (pid // (GROUP * across)) * GROUP
    height = min(tl.cdiv(m, BM) - first, GROUP)
    i = (first + (pid % (GROUP * across)) % height) * BM + tl.arange(0, BM)
    j = ((pid % (GROUP * across)) // height) * BN + tl.arange(0, BN)
    tl.store(out + i[:, None] * n + j[None, :], 1.0, (i[:, None] < m) & (j[None, :] < n))


@triton.jit
def persistent(out, n, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tl.cdiv(n, BLOCK), PROGRAMS):
        i = tile * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, 1.0, i < n)


@triton.jit
def halves(q, n, HALF: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    live = i < HALF
    row = q + tl.program_id(0) * n
    a = tl.load(row + i, live)
    b = tl.load(row + i + HALF, live)
    tl.store(row + i, -b, live)
    tl.store(row + i + HALF, a, live)


@triton.jit
def shifted(q, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(q + i, tl.load(q + (i + 1) % n, i < n), i < n)


@triton.jit
def read_back(q, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(q + i, tl.load(q + i, i < n) * 2, i < n)
    tl.store(q + i, tl.load(q + i, i < n) * 2, i < n)


@triton.jit
def repeated(q, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for _ in range(3):
        tl.store(q + i, tl.load(q + i, i < n) * 2, i < n)


def of(kernel: Any, grid: Sequence[int], *args: Any, **kwargs: Any) -> KernelAccesses:
    out = from_numpy(np.zeros(4, np.float32))
    (found,) = accesses(kernel, (out, *args), kwargs)
    numbers = dict(zip(kernel.arg_names[1:], args, strict=False))
    return in_launch(found, {name: Polynomial.of(value) for name, value in numbers.items()}, (*grid, 1, 1)[:3])


def by_hand(access: Access, grid: Sequence[int]) -> Iterator[dict[Leaf, Any]]:
    """The values of leaves, for each program, turn of a loop and lane whose mask holds."""
    counts = (*grid, 1, 1)[:3]
    for place in product(*map(range, counts)):
        programs: dict[Leaf, Any] = {Program(a, n): p for a, (p, n) in enumerate(zip(place, counts, strict=True))}
        for turns in _turns(list(access.loops), programs):
            for lane in product(*map(range, access.shape)):
                lanes = {Range(d, n): i for d, (i, n) in enumerate(zip(lane, access.shape, strict=True))}
                values = {**turns, **lanes}
                if all(_holds(fact, values) for fact in access.mask):
                    yield values


def _turns(loops: list[Any], values: dict[Leaf, Any]) -> Iterator[dict[Leaf, Any]]:
    if not loops:
        yield values
        return
    loop = loops[0]
    low, high, step = (p.evaluate(values.__getitem__) for p in (loop.lower, loop.upper, loop.step))
    for k in range(len(range(low, high, step))):
        yield from _turns(loops[1:], {**values, Counter(loop): k})


def _holds(fact: Fact, values: dict[Leaf, Any]) -> bool:
    left, right = (p.evaluate(values.__getitem__) for p in (fact.left, fact.right))
    return bool(left < right if fact.relation == "<" else left >= right)


def reached(found: Sequence[Access], grid: Sequence[int]) -> set[int]:
    return {a.offset.polynomial.evaluate(v.__getitem__) for a in found for v in by_hand(a, grid)}


def row_major(sizes: Sequence[int]) -> list[int]:
    return [prod(sizes[d + 1 :]) for d in range(len(sizes))]


def check(kernel: Any, sizes: list[int], grid: list[int], *args: int, complete: bool = False, **kwargs: Any) -> None:
    """What is said to be covered is; and it is said where it should be."""
    stores = of(kernel, grid, *args, **kwargs).parameters[0].stores
    try:
        truth = reached(stores, grid) >= set(range(prod(sizes)))
    except ZeroDivisionError:  # a program beyond the last one
        truth = False
    said = covers(stores, sizes, row_major(sizes), grid)
    assert truth or not said
    assert said or not (truth and complete)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 200), st.integers(1, 9))
def test_a_flat_range_is_covered_where_the_grid_is_large_enough(n: int, programs: int) -> None:
    for sizes in ([n], [1, n]):
        check(flat, sizes, [programs], n, BLOCK=32, complete=True)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.integers(1, 70), st.integers(-1, 1), st.integers(-1, 1))
def test_rows_are_covered_by_a_program_each(m: int, n: int, fewer: int, less: int) -> None:
    for kernel in (rows, row_in_steps):
        live = max(1, n + less)
        block = triton.next_power_of_2(live) if kernel is rows else 16
        check(kernel, [m, n], [max(1, m + fewer)], n, live, BLOCK=block, complete=less == 0)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 3), st.integers(-1, 1))
def test_swizzled_tiles_are_covered(m: int, n: int, group: int, more: int) -> None:
    tiles = -(-m // 8) * -(-n // 16)
    grid = [max(1, tiles + more)]
    # Dimensions of size 1 are no dimensions to a caller. One column of tiles whose last group is not full is not seen.
    seen = n > 16 or -(-m // 8) % group == 0 or m <= 8 * group
    check(swizzled, [m, n], grid, m, n, BM=8, BN=16, GROUP=group, complete=m > 1 and n > 1 and more <= 0 and seen)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 200), st.integers(1, 4), st.integers(0, 2))
def test_a_persistent_grid_is_followed(n: int, programs: int, missing: int) -> None:
    check(persistent, [n], [max(1, programs - missing)], n, PROGRAMS=programs, BLOCK=16, complete=True)


@pytest.mark.parametrize(
    ("kernel", "n", "apart"), [(halves, 12, True), (shifted, 12, False), (read_back, 12, False), (repeated, 12, False)]
)
def test_in_place_kernels_may_read_elsewhere_only_if_each_element_is_read_before_it_is_written(
    kernel: Any, n: int, apart: bool
) -> None:
    wide = kernel is halves
    kwargs = {"HALF": 6, "BLOCK": 8} if wide else {"BLOCK": 4}
    sizes = [5, n] if wide else [n]
    grid = [5] if wide else [3]
    (parameter,) = of(kernel, grid, n, **kwargs).parameters
    assert is_apart(parameter.loads, parameter.stores, sizes, row_major(sizes), grid) is apart


def test_two_programs_may_not_share_what_they_write_in_place() -> None:
    (parameter,) = of(halves, [2], 0, HALF=6, BLOCK=8).parameters
    assert not is_apart(parameter.loads, parameter.stores, [12], [1], [2])


def test_half_of_a_row_is_not_all_of_it() -> None:
    (parameter,) = of(halves, [5], 14, HALF=6, BLOCK=8).parameters
    assert not is_apart(parameter.loads, parameter.stores, [5, 14], [14, 1], [5])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 7), min_size=1, max_size=3), st.data())
def test_digits_are_the_index_of_the_element(sizes: list[int], data: st.DataObject) -> None:
    strides = row_major(sizes)
    terms = data.draw(st.lists(st.integers(0, 40), min_size=2, max_size=2))
    lanes = Range(0, 4)
    offset = Polynomial.of(Program(0, 5)) * terms[0] + Polynomial.of(lanes) * terms[1]
    found = digits(offset, [Polynomial.of(n) for n in sizes], [Polynomial.of(s) for s in strides], ())
    if found is None:
        return
    for pid, lane in product(range(5), range(4)):
        at = pid * terms[0] + lane * terms[1]
        if at < prod(sizes):
            index = [d.evaluate({Program(0, 5): pid, lanes: lane}.__getitem__) for d in found]
            assert index == list(np.unravel_index(at, sizes))


def test_open_sizes_are_covered_where_the_grid_is_said_to_reach() -> None:
    size = Polynomial.of(Known("s0", "s0", 2, None))
    out = from_numpy(np.zeros(4, np.float32))
    (found,) = accesses(flat, (out, 100), {"BLOCK": 32})
    (store,) = in_launch(found, {"n": size}, (None, 1, 1)).parameters[0].stores
    asked: list[tuple[Leaf, int, int]] = []

    def reaches(leaf: Leaf, length: int, dim: int) -> bool:
        asked.append((leaf, length, dim))
        return True

    assert covers_open(store, [size], [Polynomial.of(1)], reaches)
    assert asked == [(Program(0), 32, 0)]
    assert not covers_open(store, [size], [Polynomial.of(1)], lambda *_: False)
    assert not covers_open(store, [size + 1], [Polynomial.of(1)], reaches)  # the mask leaves the last one out
