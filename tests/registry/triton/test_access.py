"""What a kernel does with its pointers, as it is printed: a table of small kernels, one for each thing that is read."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from expecttest import assert_expected_inline

triton = pytest.importorskip("triton", reason="needs Triton")
tl: Any = pytest.importorskip("triton.language")

from triton.tools.tensor_descriptor import TensorDescriptor

from opweave.registry.errors import CompileError
from opweave.registry.tensor import from_numpy
from opweave.registry.triton.access import KernelAccesses, analyse
from opweave.registry.triton.effects import accesses


def f32(*shape: int) -> Any:
    return from_numpy(np.zeros(shape or (64,), np.float32))


def i32() -> Any:
    return from_numpy(np.zeros(64, np.int32))


def of(kernel: Any, *args: Any, **kwargs: Any) -> KernelAccesses:
    (found,) = accesses(kernel, args, kwargs)
    return found


def shown(kernel: Any, *args: Any, **kwargs: Any) -> str:
    """The text, with lines counted from the kernel's `def`."""
    first = kernel.starting_line_number

    def relative(m: re.Match[str]) -> str:
        return f"line {int(m.group(1)) - first:+d}"

    text = re.sub(r"\S*test_access\.py:(\d+)", relative, of(kernel, *args, **kwargs).text())
    return re.sub(r"  (where|if) ", r"\n    \1 ", re.sub(r" {3,}", "   ", text)) + "\n"


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    tl.store(out + i, tl.load(x + i, live) + tl.load(y + i, mask=live, other=0.0), live)


def test_pointwise() -> None:
    assert_expected_inline(
        shown(add, f32(), f32(), f32(), 100, 1024),
        """\
x   f32[1024]  load   [pid0*1024 + r0]:i32
    where pid0*1024 + r0 < n  line +4
y   f32[1024]  load   [pid0*1024 + r0]:i32
    where pid0*1024 + r0 < n  line +4
out  f32[1024]  store  [pid0*1024 + r0]:i32
    where pid0*1024 + r0 < n  line +4
""",
    )


@triton.jit
def matmul(a, b, c, M, N, K, sam, sak, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP_M: tl.constexpr):
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    in_group = GROUP_M * columns
    first = pid // in_group * GROUP_M
    size = min(rows - first, GROUP_M)
    pm = first + (pid % in_group) % size
    pn = (pid % in_group) // size
    m = (pm * BM + tl.arange(0, BM)) % M
    n = (pn * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    pa = a + m[:, None] * sam + k[None, :] * sak
    pb = b + k[:, None] * N + n[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(tl.cdiv(K, BK)):
        left = tl.load(pa, mask=k[None, :] < K - step * BK, other=0.0)
        total += tl.dot(left, tl.load(pb, mask=k[:, None] < K - step * BK, other=0.0))
        pa += BK * sak
        pb += BK * N
    m = pm * BM + tl.arange(0, BM)
    n = pn * BN + tl.arange(0, BN)
    tl.store(c + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


def test_matmul_in_groups() -> None:
    """Orders folded by hand keep their quotients and remainders; pointers that a loop moves count its turns."""
    assert_expected_inline(
        shown(matmul, f32(), f32(), f32(), 100, 90, 80, 80, 3, 32, 64, 16, 8),
        """\
a  f32[32, 16]  load   [k0*sak*16 + rem(q2*256 + rem(q3, q4)*32 + r0, M)*sam + r1*sak]:i32
    where r1 < K - k0*16  line +16
b  f32[16, 64]  load   [k0*N*16 + rem(div(q3, q4)*64 + r1, N) + r0*N]:i32
    where r0 < K - k0*16   line +17
c  f32[32, 64]  store  [q2*N*256 + div(q3, q4)*64 + rem(q3, q4)*N*32 + r0*N + r1]:i32
    where q2*256 + rem(q3, q4)*32 + r0 < M and div(q3, q4)*64 + r1 < N  line +22
q0: div(M + 31, 32)
q1: div(N + 63, 64)
q2: div(pid0, q1*8)
q3: rem(pid0, q1*8)
q4: min(q0 - q2*8, 8)
k0: turns of range(0, div(K + 15, 16), 1)  line +15
""",
    )


@triton.jit
def rows(x, out, n, stride, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64) * ROWS
    for i in range(ROWS):
        start = x + (row + i) * stride
        for c in range(0, n, BLOCK):
            j = c + tl.arange(0, BLOCK)
            tl.store(out + (row + i) * n + j, tl.load(start + j, j < n), j < n)


def test_loops_in_loops() -> None:
    assert_expected_inline(
        shown(rows, f32(), f32(), 100, 104, 4, 32),
        """\
x   f32[32]  load   [pid1*stride*4 + k0*stride + k1*32 + r0]:i32
    where k1*32 + r0 < n  line +7
out  f32[32]  store  [pid1*n*4 + k0*n + k1*32 + r0]:i32
    where k1*32 + r0 < n   line +7
k0: turns of range(0, 4, 1)  line +3
k1: turns of range(0, n, 32)  line +5
""",
    )


@triton.jit
def shapes(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    square = i[:, None, None] * n + i[None, None, :]
    flat = tl.reshape(tl.arange(0, BLOCK * BLOCK), (BLOCK, BLOCK))
    tl.store(out + tl.trans(flat), tl.load(x + flat))
    tl.store(out + tl.reshape(tl.broadcast_to(square, (BLOCK, 2, BLOCK)), (BLOCK * 2, BLOCK)), 6.0)
    tl.store(out + tl.reshape(flat, (BLOCK * BLOCK,)), 1.0)
    tl.store(x + tl.reshape(square, (BLOCK, BLOCK)), 2.0)
    tl.store(x + tl.permute(square, (2, 0, 1)), 3.0)
    tl.store(x + tl.ravel(square), 4.0)
    tl.store(x + (tl.arange(4, 8)[:, None] * 8 + i[None, :] * 0 + tl.num_programs(2)), 5.0)


def test_shapes_are_seen_through() -> None:
    assert_expected_inline(
        shown(shapes, f32(), f32(), 100, 8),
        """\
x   f32[8, 8]   load   [r0*8 + r1]   line +5
x   f32[8, 8]   store  [r0*n + r1]:i32   line +8
x   f32[8, 8, 1]  store  [r0 + r1*n]:i32   line +9
x   f32[64]   store  [floordiv(r0, 8)*n + mod(r0, 8)]:i32  line +10
x   f32[4, 8]   store  [r0*8 + programs2 + 32]:i32   line +11
out  f32[8, 8]   store  [r0 + r1*8]   line +5
out  f32[16, 8]   store  [floordiv(r0, 2)*n + r1]:i32   line +6
out  f32[64]   store  [r0]   line +7
""",
    )


@triton.jit
def integers(x, n, m: tl.int64, u: tl.uint32, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    pid = tl.program_id(0)
    tl.store(x + pid // 4 * 16 + pid % 4, 1.0)
    tl.store(x + (pid * BLOCK + i) // BLOCK, 1.0)
    tl.store(x + (pid * BLOCK + i) % 8, 1.0)
    tl.store(x + n // 4 + n % 4, 1.0)
    tl.store(x + pid // n + n % pid, 1.0)
    tl.store(x + (n & 15) + (n >> 2) + (n << 3), 1.0)
    tl.store(x + u // 3 + u % n.to(tl.uint32), 1.0)
    tl.store(x + m * m + tl.minimum(pid, n) + tl.maximum(i, n), 1.0)
    tl.store(x + (m * 2).to(tl.int32), 1.0)
    tl.store(x + (n ^ 3) + (n - n), 1.0)
    tl.store(x + tl.where(i < n, i, 0), 1.0)
    tl.store(x + (i < n).to(tl.int32), 1.0)


def test_integers() -> None:
    assert_expected_inline(
        shown(integers, f32(), 100, 7, 9, 16),
        """\
x  f32   store  [floordiv(pid0, 4)*16 + mod(pid0, 4)]:i32   line +4
x  f32[16]  store  [pid0]:i32   line +5
x  f32[16]  store  [mod(r0, 8)]:i32   line +6
x  f32   store  [div(n, 4) + rem(n, 4)]:i32   line +7
x  f32   store  [div(pid0, n) + rem(n, pid0)]:i32   line +8
x  f32   store  [floordiv(n, 4) + mod(n, 16) + n*8]:i32   line +9
x  f32   store  [floordiv(q0, 3) + mod(q0, mod(n, 4294967296))]:i32  line +10
x  f32[16]  store  [max(r0, n) + min(pid0, n) + m*m]:i32   line +11
x  f32   store  [m*2]:i32   line +12
x  f32   store  [%44]   line +13
x  f32[16]  store  [%47[r0]]   line +14
x  f32[16]  store  [%46[r0]]   line +15
q0: mod(u, 4294967296)
%44: arith.xori  line +13
%46: arith.cmpi  line +14
%47: arith.select  line +14
""",
    )


@triton.jit
def masks(x, n, m: tl.uint32, flag, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    j = i[:, None]
    tl.store(x + i, 1.0, (i >= 2) & (i < n) & (n > i + 1) & (i <= n - 3))
    tl.store(x + i, 1.0, (i == n) & (i != 3) & ~(i < 4))
    tl.store(x + i, 1.0, (i < n) | (i > 3))
    tl.store(x + i, 1.0, ~((i < n) | (i > 3)))
    tl.store(x + i, 1.0, ~((i < n) & (i > 3)))
    tl.store(x + i, 1.0, i.to(tl.uint32) < m)
    tl.store(x + i, 1.0, flag > 3)
    tl.store(x + i, 1.0, i < BLOCK)
    tl.store(x + i, 1.0, tl.load(x + i) > 0)
    tl.store(x + j * n + i[None, :], 1.0, (j < n) & (i < 2)[None, :])


def test_masks() -> None:
    assert_expected_inline(
        shown(masks, f32(), 100, 9, 5, 16),
        """\
x  f32[16]   store  [r0]
    where r0 >= 2 and r0 < n and r0 + 1 < n and n - 3 >= r0  line +4
x  f32[16]   store  [r0]
    where r0 == n and r0 != 3 and r0 >= 4   line +5
x  f32[16]   store  [r0]
    where %20[r0]   line +6
x  f32[16]   store  [r0]
    where r0 >= n and 3 >= r0   line +7
x  f32[16]   store  [r0]
    where not %22[r0]   line +8
x  f32[16]   store  [r0]
    where r0 < mod(m, 4294967296)   line +9
x  f32[16]   store  [r0]
    where 3 < flag   line +10
x  f32[16]   store  [r0]   line +11
x  f32[16]   load   [r0]   line +12
x  f32[16]   store  [r0]
    where %30[r0]   line +12
x  f32[16, 16]  store  [r0*n + r1]:i32
    where r0 < n and r1 < 2   line +13
%20: arith.ori  line +6
%22: arith.andi  line +8
%30: arith.cmpf  line +12
""",
    )


@triton.jit
def branches(x, y, n, m):
    if n > 3:
        if m == 5:
            tl.store(x, 1.0)
        else:
            tl.store(x + 1, 1.0)
    elif (n > 1) & (m > 1):
        tl.store(x + 2, 1.0)
    else:
        tl.store(x + 3, 1.0)
    i = n
    while i < m:
        tl.store(y + i, tl.load(y + i + 1))
        i += 2
    tl.store(y + i, 3.0)
    while tl.load(y + i) > 0:
        i += tl.load(y + i).to(tl.int32)


def test_branches_and_while() -> None:
    assert_expected_inline(
        shown(branches, f32(), f32(), 100, 90),
        """\
x  f32  store  [0]
    if 3 < n and m == 5   line +4
x  f32  store  [1]
    if 3 < n and m != 5   line +6
x  f32  store  [2]
    if 3 >= n and 1 < n and 1 < m  line +8
x  f32  store  [3]
    if 3 >= n and not %4   line +10
y  f32  load   [k0*2 + n + 1]:i32   line +13
y  f32  store  [k0*2 + n]:i32   line +13
y  f32  store  [trips0*2 + n]:i32   line +15
k0: turns of a while loop  line +12
%4: arith.andi  line +7
""",
    )


@triton.jit
def early(x, n, m):
    if n == 0:
        return
    tl.store(x, 1.0)
    if m > n:
        return
    tl.store(x + 1, 1.0)


@triton.jit
def merged(x, n, m):
    if n > 3:
        if m == 5:
            return
        tl.store(x + 1, 1.0)
    tl.store(x, 1.0)


def test_early_return() -> None:
    """Behind a return, its condition does not hold; where ways meet, nothing more is said than that there is one."""
    assert_expected_inline(
        shown(early, f32(), 100, 90),
        """\
x  f32  store  [0]
    if n != 0   line +4
x  f32  store  [1]
    if n != 0 and n >= m  line +7
""",
    )
    assert_expected_inline(
        shown(merged, f32(), 100, 90),
        """\
x  f32  store  [1]
    if 3 < n and m != 5  line +5
x  f32  store  [0]
    if ...   line +6
""",
    )


@triton.jit
def carried(x, y, n, s, ROWS: tl.constexpr):
    p, q, i, z = x, x, 0, 5
    t = 0
    for k in range(n, 100, 3):
        tl.store(p, 1.0)
        tl.store(q + i, 1.0)
        tl.store(y + t, z)
        p += s
        q += k
        i += 2
        t += i
        z += 0
    tl.store(p + i, 2.0)
    tl.store(y + z, 2.0)
    for _a in range(ROWS):
        for _b in range(n):
            tl.store(y, 1.0)
            y += 1
        y += 3


def test_what_loops_carry() -> None:
    """The same at each turn, also through a loop inside; what grows by another value each time is opaque."""
    assert_expected_inline(
        shown(carried, f32(), i32(), 7, 9, 4),
        """\
x  f32  store  [k0*s]   line +5
x  f32  store  [k0*2 + %x_4]:i32   line +6
x  f32  store  [trips0*2 + trips0*s]:i32  line +13
y  i32  store  [%arg8]   line +7
y  i32  store  [5]   line +14
y  i32  store  [k1*3 + k1*trips2 + k2]   line +17
k0: turns of range(n, 100, 3)  line +4
k1: turns of range(0, 4, 1)  line +15
k2: turns of range(0, n, 1)  line +16
%x_4: scf.for  line +4
%arg8: scf.for  line +4
""",
    )


@triton.jit
def chosen(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = x + n if n > 3 else x + 5
    tl.store(a + i, 1.0)
    b = tl.where(i < n, y + i, z + i)
    tl.store(x + i, tl.load(b))


def test_choices() -> None:
    """Among places in one buffer an address stays readable, though opaque; among buffers it does not."""
    assert_expected_inline(
        shown(chosen, f32(), f32(), f32(), 7, 8),
        """\
x  f32[8]  store   [%a_1 + r0]   line +4
x  f32[8]  store   [r0]   line +6
y  f32   escapes:  chosen among parameters (arith.select)  line +5
z  f32   escapes:  chosen among parameters (arith.select)  line +5
%a_1: scf.if  line +3
""",
    )
    found = of(chosen, f32(), f32(), f32(), 7, 8)
    assert [p.is_readable for p in found.parameters] == [True, False, False]
    assert found.written == {"x"}


@triton.jit
def same_select(x, y, z, n):
    p = x if n > 3 else y
    tl.store(p, tl.load(p + 1) + tl.load(z))


@triton.jit
def swapped(x, y, z, n):
    a, b = x, y
    for _ in range(n):
        tl.store(a, tl.load(z))
        a, b = b, a


@triton.jit
def while_chosen(x, y, n):
    p = x
    i = 0
    while i < n:
        p = y if i == 3 else p
        i += 1
    tl.store(p, 1.0)


def test_two_parameters_to_one_choice() -> None:
    assert_expected_inline(
        shown(same_select, f32(), f32(), f32(), 7),
        """\
x  f32  escapes:  chosen among parameters (arith.select)   line +2
x  f32  escapes:  chosen among parameters (arith.select), written  line +2
y  f32  escapes:  chosen among parameters (arith.select)   line +2
y  f32  escapes:  chosen among parameters (arith.select), written  line +2
z  f32  load   [0]   line +3
""",
    )
    assert_expected_inline(
        shown(swapped, f32(), f32(), f32(), 7),
        """\
x  f32  escapes:  chosen among parameters (scf.for), written  line +3
y  f32  escapes:  chosen among parameters (scf.for), written  line +3
z  f32  load   [0]   line +4
""",
    )
    assert_expected_inline(
        shown(while_chosen, f32(), f32(), 7),
        """\
x  f32  escapes:  chosen among parameters (scf.while), written  line +4
y  f32  escapes:  chosen among parameters (scf.while), written  line +4
""",
    )


@triton.jit
def from_integers(x, y, address, table):
    tl.store(address.to(tl.pointer_type(tl.float32)), 1.0)
    tl.store(y + 1, tl.load(tl.load(table).to(tl.pointer_type(tl.float32))))
    tl.store(y, x.to(tl.int64).to(tl.float32))


@triton.jit
def null_test(x, y):
    if x:
        tl.store(y, tl.load(x))


@triton.jit
def pointer_in_memory(x, table, y):
    tl.store(table.to(tl.pointer_type(tl.pointer_type(tl.float32))), x)
    tl.load(y)


@triton.jit
def printed(x, y):
    tl.device_print("x", x)
    tl.device_print("y", tl.load(y))


@triton.jit
def difference(x, y, z):
    tl.store(x + (y.to(tl.int64) - z.to(tl.int64)) // 4, 1.0)


def test_addresses_in_memory() -> None:
    int64 = from_numpy(np.zeros(64, np.int64))
    if tuple(map(int, triton.__version__.split(".")[:2])) >= (3, 9):
        with pytest.raises(CompileError, match=r"(?s)a pointer to pointers.*hint: keep addresses in a tensor of int64"):
            shown(pointer_in_memory, f32(), int64, f32())
        return
    assert_expected_inline(
        shown(pointer_in_memory, f32(), int64, f32()),
        """\
x   f32   escapes:  its address is stored  line +2
table  !tt.ptr<f32>  store   [0]   line +2
y   f32   unused
""",
    )


def test_addresses_as_integers() -> None:
    int64 = from_numpy(np.zeros(64, np.int64))
    assert_expected_inline(
        shown(from_integers, f32(), f32(), 1 << 40, int64),
        """\
x   f32  escapes:  an address from memory or an integer is written, written  line +2
x   f32  escapes:  an address from memory or an integer is read   line +3
x   f32  escapes:  made an integer   line +4
x   f32  escapes:  its address is stored   line +4
y   f32  store   [1]   line +3
y   f32  store   [0]   line +4
y   f32  escapes:  an address from memory or an integer is written, written  line +2
y   f32  escapes:  an address from memory or an integer is read   line +3
table  i64  load   [0]   line +3
table  i64  escapes:  an address from memory or an integer is written, written  line +2
table  i64  escapes:  an address from memory or an integer is read   line +3
""",
    )
    assert_expected_inline(
        shown(null_test, f32(), f32()),
        """\
x  f32  load   [0]
    if %0 != 0   line +3
x  f32  escapes:  compared with null  line +2
y  f32  store   [0]
    if %0 != 0   line +3
%0: tt.ptr_to_int  line +2
""",
    )
    assert_expected_inline(
        shown(printed, f32(), f32()),
        """\
x  f32  escapes:  its address is printed  line +2
y  f32  load   [0]   line +3
""",
    )
    assert_expected_inline(
        shown(difference, f32(), f32(), f32()),
        """\
x  f32  escapes:  chosen among parameters (arith.subi), written  line +2
y  f32  escapes:  made an integer   line +2
y  f32  escapes:  chosen among parameters (arith.subi), written  line +2
z  f32  escapes:  made an integer   line +2
z  f32  escapes:  chosen among parameters (arith.subi), written  line +2
""",
    )


@triton.jit
def atomics(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.atomic_add(x + i, 1.0, i < n)
    tl.atomic_max(y + i, i)
    tl.atomic_cas(y, 0, 1)
    tl.atomic_xchg(y + tl.load(y), 1)
    tl.load(y, volatile=True)


def test_atomics_and_volatile() -> None:
    assert_expected_inline(
        shown(atomics, f32(), i32(), 7, 8),
        """\
x  f32[8]  atomic add   [r0]
    where r0 < n  line +3
y  i32[8]  atomic max   [r0]   line +4
y  i32   atomic cas   [0]   line +5
y  i32   load   [0]   line +6
y  i32   atomic exch  [%9]   line +6
y  i32   load   [0]  volatile   line +7
%9: tt.load  line +6
""",
    )
    assert of(atomics, f32(), i32(), 7, 8).written == {"x", "y"}


@triton.jit(noinline=True)
def put(where, value, n):
    if n == 3:
        return
    tl.store(where + n, value)


@triton.jit(noinline=True)
def step(p, n):
    return p + n


@triton.jit(noinline=True)
def twice(p, n):
    return step(step(p, n), n)


@triton.jit(noinline=True)
def first_or(p, q, n):
    if n > 3:
        return p
    return q


@triton.jit
def calls(x, y, z, n):
    put(twice(x, n), tl.load(y), n)
    put(x, 2.0, 8)
    tl.store(first_or(y, z, n), 1.0)


def test_functions_are_followed() -> None:
    assert_expected_inline(
        shown(calls, f32(), f32(), f32(), 7),
        """\
x  f32  store   [n*3]
    if n != 3   line -20
x  f32  store   [8]   line -20
y  f32  load   [0]   line +2
y  f32  escapes:  chosen among parameters (tt.call), written  line +4
z  f32  escapes:  chosen among parameters (tt.call), written  line +4
""",
    )


def test_a_function_that_calls_itself_takes_what_it_is_given() -> None:
    text = (
        "module {\n  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {\n"
        "    tt.call @f(%x) : (!tt.ptr<f32>) -> ()\n    %0 = tt.load %y : !tt.ptr<f32>\n    tt.return\n  }\n"
        "  tt.func private @f(%p: !tt.ptr<f32>) {\n    tt.call @f(%p) : (!tt.ptr<f32>) -> ()\n    tt.return\n  }\n}\n"
    )
    assert_expected_inline(
        analyse(text).text() + "\n",
        """\
x  f32  escapes:  given to tt.call, written
y  f32  load      [0]
""",
    )


@triton.jit
def blocks(x, out, n, m, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(x + 4, (n, m), (m, 1), (0, tl.program_id(0) * BLOCK), (BLOCK, BLOCK), (1, 0))
    target = tl.make_block_ptr(out, (n, m), (1, n), (2, 3), (BLOCK, BLOCK), (1, 0))
    for _ in range(0, n, BLOCK):
        tl.store(target, tl.load(source, boundary_check=(0,), padding_option="zero"), boundary_check=(0, 1))
        source = tl.advance(source, (BLOCK, 0))
    tl.store(tl.advance(target, (0, 5)), tl.load(source))


def test_block_pointers() -> None:
    assert_expected_inline(
        shown(blocks, f32(), f32(), 100, 90, 8),
        """\
x   f32[8, 8]  load   [pid0*8 + k0*m*8 + r0*m + r1 + 4]:i32
    where k0*8 + r0 < n  (block pointer)  line +5
x   f32[8, 8]  load   [pid0*8 + trips0*m*8 + r0*m + r1 + 4]:i32  (block pointer)   line +7
out  f32[8, 8]  store  [r0 + r1*n + n*3 + 2]
    where r0 + 2 < n and r1 + 3 < m  (block pointer)   line +5
out  f32[8, 8]  store  [r0 + r1*n + n*8 + 2]  (block pointer)   line +7
k0: turns of range(0, n, 8)  line +4
""",
    )


@triton.jit
def descriptors(d, x, n, m, BLOCK: tl.constexpr):
    inner = tl.make_tensor_descriptor(x, [n, m], [m, 1], [BLOCK, BLOCK])
    value = d.load([tl.program_id(0) * BLOCK, 4])
    inner.store([n, 0], value)
    inner.atomic_add([0, 0], value)
    row = tl.make_tensor_descriptor(x, [n, m], [m, 1], [1, BLOCK])
    at = tl.load(x + tl.arange(0, 8)).to(tl.int32)
    row.scatter(row.gather(tl.arange(0, 8) * 2, 3), at, 5)


def test_descriptors() -> None:
    host = TensorDescriptor.from_tensor(f32(16, 16), [16, 16])
    assert_expected_inline(
        shown(descriptors, host, f32(), 100, 90, 16),
        """\
d  f32[16, 16]  load   [pid0*d.strides[0]*16 + r0*d.strides[0] + r1*d.strides[1] + d.strides[1]*4]:i32
    where pid0*16 + r0 >= 0 and pid0*16 + r0 < d.shape[0] and r1 + 4 < d.shape[1]  (descriptor)  line +3
x  f32[16, 16]  store   [r0*m + r1 + m*n]
    where r0 + n >= 0 and r0 + n < n and r1 < m  (descriptor)  line +4
x  f32[16, 16]  atomic add  [r0*m + r1]
    where r0 < n and r1 < m  (descriptor)   line +5
x  f32[8]   load   [r0]   line +7
x  f32[8, 16]   load   [r0*m*2 + r1 + 3]
    where r0*2 < n and r1 + 3 < m  (descriptor)   line +8
x  f32[8, 16]   store   [%at_11[r0]*m + r1 + 5]
    where %at_11[r0] >= 0 and %at_11[r0] < n and r1 + 5 < m  (descriptor)  line +8
%at_11: arith.fptosi  line +7
""",
    )


@triton.jit
def dead(x, y, z, FLAG: tl.constexpr, bias):
    if FLAG:
        tl.store(y, tl.load(x))
    else:
        tl.store(x, tl.load(y))
    if bias is not None:
        tl.store(z, tl.load(bias))


def test_branches_that_constants_rule_out() -> None:
    assert_expected_inline(
        shown(dead, f32(), f32(), f32(), True, None),
        """\
x  f32  load   [0]  line +3
y  f32  store   [0]  line +3
z  f32  unused
""",
    )


@triton.jit
def tuples(pair, deep, z):
    tl.store(pair[1] + pair[2], tl.load(pair[0]) + tl.load(z) + tl.load(deep[0][1] + deep[1]))


def test_tuples() -> None:
    args = ((f32(), f32(), 3), ((f32(), f32()), 9), f32())
    assert_expected_inline(
        shown(tuples, *args),
        """\
pair[0]   f32  load   [0]   line +2
pair[1]   f32  store   [pair[2]]  line +2
deep[0][0]  f32  unused
deep[0][1]  f32  load   [deep[1]]  line +2
z   f32  load   [0]   line +2
""",
    )
    assert of(tuples, *args).written == {"pair"}


@triton.jit
def narrow(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, 1.0)
    tl.store(x + i.to(tl.int64), 1.0)
    wide = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + wide, 1.0)
    tl.store(x + tl.program_id(0) + n + 5, 1.0)
    tl.store(x + tl.arange(0, BLOCK) * 4 + 5, 1.0)
    tl.store(y.to(tl.pointer_type(tl.int16), bitcast=True) + i, 1)
    tl.store((y + n).to(tl.pointer_type(tl.int8), bitcast=True) + 3, 1)
    tl.store((y.to(tl.pointer_type(tl.int8), bitcast=True) + n).to(tl.pointer_type(tl.int32), bitcast=True), 1)


def test_width_and_type() -> None:
    """Sums that 32 bits may not hold say so; elements of another size are counted in their own."""
    assert_expected_inline(
        shown(narrow, f32(), i32(), 7, 1024),
        """\
x  f32[1024]  store  [pid0*1024 + r0]:i32  line +3
x  f32[1024]  store  [pid0*1024 + r0]:i32  line +4
x  f32[1024]  store  [pid0*1024 + r0]   line +6
x  f32   store  [pid0 + n + 5]   line +7
x  f32[1024]  store  [r0*4 + 5]   line +8
y  i16[1024]  store  [pid0*1024 + r0]:i32  line +9
y  i8   store  [n*4 + 3]   line +10
y  i32   store  [%19]   line +11
%19: tt.bitcast  line +11
""",
    )


@triton.jit
def gathers(x, index, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = tl.load(index + i)
    tl.store(out + i[:, None] * n + i[None, :], tl.load(x + at[:, None] * n + i[None, :]))
    tl.store(out + tl.trans(at[:, None] * n + i[None, :]), 1.0)


def test_indices_from_memory_are_opaque() -> None:
    assert_expected_inline(
        shown(gathers, f32(), i32(), f32(), 7, 8),
        """\
x   f32[8, 8]  load   [%at_1[r0]*n + r1]:i32  line +4
index  i32[8]   load   [r0]   line +3
out   f32[8, 8]  store  [r0*n + r1]:i32   line +4
out   f32[8, 8]  store  [%at_1[r1]*n + r0]:i32  line +5
%at_1: tt.load  line +3
""",
    )
    found = of(gathers, f32(), i32(), f32(), 7, 8)
    assert not found["x"].accesses[0].is_followed and found["index"].accesses[0].is_followed


@triton.jit
def long_chain(x, out, n, STEPS: tl.constexpr, ROUNDS: tl.constexpr):
    p = x
    i = n
    j = n
    for _ in tl.static_range(STEPS):
        tl.store(out, tl.load(p))
        p += 3
        i += n
    for _ in range(n):
        for _ in tl.static_range(STEPS):
            j += n
        tl.store(out + j, 1.0)
    tl.store(out + i, 1.0)
    for _ in tl.static_range(ROUNDS):
        i = i // 3 * (i % 5) + i * i
    tl.store(out + i, 1.0)


def test_long_and_growing_chains() -> None:
    found = of(long_chain, f32(), f32(), 7, 300, 40)
    assert str(found["x"].accesses[-1].offset) == "897"
    in_loop, behind, last = found["out"].accesses[-3:]
    assert str(in_loop.offset) == "k0*n*300 + n*301 :i32" and str(behind.offset) == "n*301 :i32"
    assert not last.is_followed


def test_text_that_is_not_understood() -> None:
    """All pointers escape, and count as written."""
    text = (
        "module {\n  tt.func public @k(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32, %y: !tt.ptr<i8>) {\n"
        "    %0 = tt.something_new of %z : f32\n    tt.return\n  }\n}\n"
    )
    found = analyse(text)
    assert found.written == {"x", "y"} and not any(p.is_readable for p in found.parameters)


def test_branches_that_make_a_loop() -> None:
    text = (
        "module {\n  tt.func public @k(%x: !tt.ptr<f32>, %n: i32) {\n    cf.br ^bb1(%n : i32)\n"
        "  ^bb1(%i: i32):  // 2 preds: ^bb0, ^bb2\n    %0 = tt.addptr %x, %i : !tt.ptr<f32>, i32\n"
        "    %1 = tt.load %0 : !tt.ptr<f32>\n    %2 = arith.cmpi slt, %i, %n : i32\n"
        "    cf.cond_br %2, ^bb2, ^bb3\n  ^bb2:  // pred: ^bb1\n    %3 = arith.addi %i, %n : i32\n"
        "    cf.br ^bb1(%3 : i32)\n  ^bb3:  // pred: ^bb1\n    tt.return\n  }\n}\n"
    )
    assert_expected_inline(
        analyse(text).text() + "\n",
        """\
x  f32  load      [%i]  if ...
x  f32  escapes:  branches make a loop, written
x  f32  escapes:  branches make a loop, written
%i: an argument of a block
""",
    )


def test_an_operation_that_is_not_known() -> None:
    """It may write to all that it is given, and its result may point anywhere."""
    text = (
        "module {\n  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %z: !tt.ptr<f32>) {\n"
        '    %0 = "tt.new_op"(%x) : (!tt.ptr<f32>) -> !tt.ptr<f32>\n    %1 = tt.load %0 : !tt.ptr<f32>\n'
        "    %2 = tt.load %z : !tt.ptr<f32>\n    tt.return\n  }\n}\n"
    )
    found = analyse(text)
    assert found.written == {"x"}
    assert [[e.reason for e in p.escapes] for p in found.parameters] == [
        ["given to tt.new_op", "an address from memory or an integer is read"],
        ["an address from memory or an integer is read"],
        ["an address from memory or an integer is read"],
    ]
    assert len(found["z"].loads) == 1
