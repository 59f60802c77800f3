"""tl.dot: a register-blocked microkernel on packed operands.

Both operands are packed in the type they are multiplied in: the left one row-major, the right one in panels as wide as
the microkernel, each row-major. The innermost loop over k keeps a block of `rows` x `columns` accumulators in
registers; what it reads of a panel stays in the first cache while all rows pass by. Where the accumulator is carried by
the enclosing loop and used only here, it is updated in place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from opweave.codegen.triton_cpu import tiles
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.control import copy
from opweave.codegen.triton_cpu.elementwise import cast, from_f32, to_f32
from opweave.codegen.triton_cpu.emit import FLOATS, LLVM_TYPE, SIZE, Buffer, vector
from opweave.codegen.triton_cpu.lanes import ZERO, Indices, Lanes
from opweave.codegen.triton_cpu.loops import fill, nest, outer_loops, vector_loop, vector_width
from opweave.codegen.triton_cpu.operands import Operand, Register
from opweave.codegen.triton_cpu.operations import root
from opweave.codegen.triton_cpu.refusal import unsupported
from opweave.registry.triton.ttir import Op, Value

#: Bytes that stay in the first cache beside what passes by.
HALF_CACHE = 32 * 1024


@root("tt.dot")
def dot(cx: Context, op: Op) -> None:
    a, b, c = op.operands[:3]
    if len(a.type.dims) not in (2, 3):
        raise unsupported(op, "only two- and three-dimensional operands")
    elem = op.result.type.elem
    compute = "f32" if elem in ("f16", "bf16") else elem
    packed_a = _pack(cx, op, a, compute)
    packed_b = _pack_panels(cx, op, b, compute) if _panels_pay(cx, op, compute) else _pack(cx, op, b, compute)
    multiply(cx, op, c, packed_a, packed_b, compute)


def multiply(cx: Context, op: Op, c: Value, a: Buffer, b: Buffer, compute: str) -> None:
    """Make the result of `op`, c plus the product of two packed operands (or of a batch of them)."""
    elem = op.result.type.elem
    out = _accumulator(cx, op, c)
    work = out if compute == elem else Buffer(cx.em.buffer(out.shape, compute).pointer, out.shape, compute)
    if work is not out:
        _convert(cx, out, work)
    batch, (m, k), n = (a.shape[0] if len(a.shape) == 3 else 1), a.shape[-2:], b.shape[-1]
    for item in range(batch):
        parts = [
            Buffer(cx.em.offset(buffer.pointer, item * size, buffer.elem), (), buffer.elem)
            for buffer, size in ((a, m * k), (b, k * n), (work, m * n))
        ]
        _Product(cx, compute, m, n, k, *(p.pointer for p in parts), panels=isinstance(b, Panels)).emit()
    if work is not out:
        _convert(cx, work, out)
    cx.buffers[op.result] = out


def _widen(cx: Context, x: Lanes, elem: str) -> Lanes:
    if x.elem == elem:
        return x
    if elem in FLOATS:
        x = to_f32(cx, x)
        return x if x.elem == elem else cast(cx, "fpext", x, elem)
    return cast(cx, "sext", x, elem)


def _pack(cx: Context, op: Op, v: Value, elem: str) -> Buffer:
    """The operand in memory, row-major, in the type it is multiplied in."""
    known = cx.buffers.get(v)
    if known is not None and known.elem == elem and known.order is None:
        return known
    _check_operand(op, v, elem)
    buffer = cx.em.buffer(v.type.dims, elem)
    crossing = tiles.crossing(cx, v, elem) if known is None else None
    if crossing == (0, 1):

        def store(row: Operand, column: Operand, x: Operand) -> None:
            at = cx.em.add(cx.em.mul(row, v.type.dims[1]), column)
            _store_vector(cx, x, buffer, at)

        # Vectors along the columns come out of tiles that were read along the rows.
        tiles.read_across(cx, v, elem, 0, lambda x: _widen(cx, x, elem), store)
        return buffer

    def body(idx: Indices) -> None:
        cx.store_buffer(buffer, _widen(cx, cx.evaluate(v, idx), elem), idx)

    nest(cx, v.type.dims, [v], [], body)
    return buffer


def _check_operand(op: Op, v: Value, elem: str) -> None:
    if (v.type.elem in FLOATS) != (elem in FLOATS) or v.type.elem not in SIZE:
        raise unsupported(op, f"operands of type {v.type.elem} into {elem}")


def _store_vector(cx: Context, x: Operand, buffer: Buffer, at: Operand) -> None:
    pointer = cx.em.offset(buffer.pointer, at, buffer.elem)
    cx.em.line(f"store {cx.vector(buffer.elem)} {x}, ptr {pointer}, align {SIZE[buffer.elem]}")


@dataclass(frozen=True)
class Panels(Buffer):
    """A matrix as panels of columns, each row-major."""


def panel_width(cx: Context, elem: str) -> int:
    """Columns that the microkernel works on."""
    return most_columns(cx) * (cx.features.vector_bits // 8 // SIZE[elem])


def most_columns(cx: Context) -> int:
    """Registers side by side: the more, the fewer elements of the left operand are read for each multiplication."""
    return 4 if cx.features.registers == 32 else 2


def _panels_pay(cx: Context, op: Op, elem: str) -> bool:
    """Whether the right operand has several panels, and rows enough pass by each."""
    (m, _), n = op.operands[0].type.dims[-2:], op.operands[1].type.dims[-1]
    width = panel_width(cx, elem)
    if cx.features.sanitize:
        return False
    return len(op.operands[1].type.dims) == 2 and elem in ("f32", "f64") and n > width and not n % width and m >= 12


def _pack_panels(cx: Context, op: Op, v: Value, elem: str) -> Panels:
    """The right operand in panels."""
    _check_operand(op, v, elem)
    em, (k, n), width = cx.em, v.type.dims, panel_width(cx, elem)
    buffer = em.buffer((k * n,), elem)

    def place(row: Operand, column: Operand) -> Operand:
        inside = 0 if column == 0 else em.inst(f"and i64 {column}, {width - 1}")
        panel = column if inside == 0 else em.inst(f"sub i64 {column}, {inside}")
        return em.add(em.add(em.mul(panel, k), em.mul(row, width)), inside)

    crossing = tiles.crossing(cx, v, elem) if v not in cx.buffers else None
    if crossing == (0, 1):
        tiles.read_across(
            cx, v, elem, 0, lambda x: _widen(cx, x, elem), lambda r, c, x: _store_vector(cx, x, buffer, place(r, c))
        )
        return Panels(buffer.pointer, v.type.dims, elem)

    def body(idx: Indices) -> None:
        x = cx.operand(_widen(cx, cx.evaluate(v, idx), elem))
        _store_vector(cx, x, buffer, place(idx[0].value, idx[1].value))

    with cx.lanes(width):
        outer_loops(cx, (k, n), (0,), lambda idx: vector_loop(cx, n, [v], [], idx, 1, body))
    return Panels(buffer.pointer, v.type.dims, elem)


def _accumulator(cx: Context, op: Op, c: Value) -> Buffer:
    """Where the result goes: over the carried accumulator if nothing else reads it, else into a copy."""
    known = cx.buffers.get(c)
    if known is not None and c.op is None and c.users == [op] and op.operands.count(c) == 1 and _only_yielded(op, c):
        return known
    out = cx.em.buffer(op.result.type.dims, op.result.type.elem)
    if known is not None:
        copy(cx, known, out)
    else:
        fill(cx, [c], [out])
    return out


def _only_yielded(op: Op, c: Value) -> bool:
    """The result goes back into the place of the accumulator in the next iteration."""
    users = op.result.users
    if len(users) != 1 or users[0].name != "scf.yield" or users[0].block is not op.block or c.block is not op.block:
        return False
    return users[0].operands.index(op.result) == c.index - 1


def _convert(cx: Context, source: Buffer, target: Buffer) -> None:
    """Copy between the accumulator's type and the type it is computed in."""
    count = 1
    for d in source.shape:
        count *= d
    flat = [Buffer(b.pointer, (count,), b.elem) for b in (source, target)]

    def body(idx: Indices) -> None:
        x = to_f32(cx, cx.load_buffer(flat[0], idx))
        cx.store_buffer(flat[1], from_f32(cx, x, target.elem), idx)

    with cx.lanes(vector_width(cx, count, ["f32"])):
        vector_loop(cx, count, [], [], (ZERO,), 0, body)


class _Product:
    """C += A B for row-major A (m, k), C (m, n), and B (k, n), row-major or in panels, at constant sizes."""

    def __init__(
        self,
        cx: Context,
        elem: str,
        m: int,
        n: int,
        k: int,
        a: Operand,
        b: Operand,
        c: Operand,
        *,
        panels: bool = False,
    ) -> None:
        self.fma = "fma" if cx.features.fma else "fmuladd"
        self.em, self.elem, self.m, self.n, self.k, self.a, self.b, self.c = cx.em, elem, m, n, k, a, b, c
        lanes = cx.features.vector_bits // 8 // SIZE[elem]
        while n % lanes:
            lanes //= 2
        self.lanes = lanes
        self.columns = next(c for c in (4, 2, 1) if c <= most_columns(cx) and n % (c * lanes) == 0)
        self.width = self.columns * lanes
        self.pitch = self.width if panels else n
        """Elements from a row of B to the next."""
        # The rest of the registers is for a row of B and an element of A.
        most = cx.features.registers * 3 // 4 // self.columns
        self.rows = math.ceil(m / math.ceil(m / most))
        self.depth = k
        while self.width * self.depth * SIZE[elem] > HALF_CACHE and self.depth % 2 == 0:
            self.depth //= 2
        self.type = vector(elem, lanes)

    def emit(self) -> None:
        """All rows meet a part of B that stays in the cache."""
        em, whole = self.em, self.m - self.m % self.rows

        def part(j: Operand, k: Operand) -> None:
            em.loop(0, whole, self.rows, lambda i: self._block(i, j, k, self.rows))
            if whole < self.m:
                self._block(whole, j, k, self.m - whole)

        em.loop(
            0, self.n, self.width,
            lambda j: em.loop(0, self.k, self.depth, lambda k: part(j, k)),
        )  # fmt: skip

    def _block(self, i: Operand, j: Operand, start: Operand, count: int) -> None:
        """`count` rows from i, a panel's columns from j, and `depth` products of each from `start`."""
        em, t = self.em, self.type
        rows = [em.add(i, r) for r in range(count)]
        a_rows = [em.offset(self.a, em.add(em.mul(r, self.k), start), self.elem) for r in rows]
        c_rows = [em.offset(self.c, em.add(em.mul(r, self.n), j), self.elem) for r in rows]
        panel = em.mul(j, self.k) if self.pitch == self.width else j
        b_column = em.offset(self.b, em.add(panel, em.mul(start, self.pitch)), self.elem)
        size = SIZE[self.elem]
        places = [[em.offset(c, q * self.lanes, self.elem) for q in range(self.columns)] for c in c_rows]
        sums = [[em.slot(t, em.inst(f"load {t}, ptr {p}, align {size}")) for p in row] for row in places]

        def step(k: Operand) -> None:
            b_row = em.offset(b_column, em.mul(k, self.pitch), self.elem)
            bs = [
                em.inst(f"load {t}, ptr {em.offset(b_row, q * self.lanes, self.elem)}, align {size}")
                for q in range(self.columns)
            ]
            for a_row, row in zip(a_rows, sums, strict=True):
                a = self._broadcast(em.inst(f"load {LLVM_TYPE[self.elem]}, ptr {em.offset(a_row, k, self.elem)}"))
                for b, slot in zip(bs, row, strict=True):
                    self._accumulate(a, b, slot)

        # More at once would only take longer to compile.
        unrolled = next(u for u in (4, 2, 1) if u == 1 or self.depth % u == 0 and u * self.rows * self.columns <= 48)

        def steps(k: Operand) -> None:
            for u in range(unrolled):
                step(em.add(k, u))

        em.loop(0, self.depth, unrolled, steps)
        for places_row, row in zip(places, sums, strict=True):
            for place, slot in zip(places_row, row, strict=True):
                em.line(f"store {t} {em.inst(f'load {t}, ptr {slot}')}, ptr {place}, align {size}")

    def _broadcast(self, x: Register) -> Register:
        if self.lanes == 1:
            return x
        one = self.em.inst(f"insertelement {self.type} poison, {LLVM_TYPE[self.elem]} {x}, i64 0")
        return self.em.inst(
            f"shufflevector {self.type} {one}, {self.type} poison, <{self.lanes} x i32> zeroinitializer"
        )

    def _accumulate(self, a: Register, b: Register, slot: Register) -> None:
        em, t = self.em, self.type
        old = em.inst(f"load {t}, ptr {slot}")
        if self.elem in FLOATS:
            new = em.intrinsic(self.fma, self.elem, self.lanes, [a, b, old])
        else:
            new = em.inst(f"add {t} {em.inst(f'mul {t} {a}, {b}')}, {old}")
        em.line(f"store {t} {new}, ptr {slot}")
