"""tl.dot of bfloat16 and 8-bit numbers by the machine's instructions for them, in groups along what is summed over.

bfloat16 is summed in float32, as on GPUs; AMX and AVX512-BF16 take numbers below the smallest normal one, 2^-126, as
zero, and round to such numbers likewise. 8-bit numbers are summed exactly.

The left operand lies row-major, the right one in panels of rows of groups: group g of column j holds what rows
g * size, g * size + 1, ... have there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opweave.codegen.instructions.emit import Buffer, splat, vector
from opweave.codegen.instructions.operands import ZEROS, Operand, Register
from opweave.codegen.native import amx
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.lanes import ZERO, Index, Indices, replaced
from opweave.codegen.triton_cpu.loops import contiguous_dimension, nest, vector_loop
from opweave.codegen.triton_cpu.microkernel import HIGH, LANES, NARROW, Narrow, Shape, product
from opweave.codegen.triton_cpu.packing import panel_width, visit
from opweave.codegen.triton_cpu.tiles import transposed
from opweave.registry.triton.ttir import Op, Value


def instruction(cx: Context, op: Op) -> Narrow | None:
    """What multiplies the operands of tl.dot; None where the machine has nothing for them, or they are too small."""
    a, b = op.operands[:2]
    if cx.features.sanitize or cx.features.vector_bits != 512 or len(a.type.dims) != 2:
        return None
    (m, k), n = a.type.dims, b.type.dims[1]
    for feature, narrow in NARROW.get(a.type.elem, ()):
        types = b.type.elem, op.result.type.elem
        if not getattr(cx.features, feature) or types != (a.type.elem, narrow.elem) or n % LANES:
            continue
        # Of what a tile has of k, half is the least.
        if k % (narrow.size * amx.ROWS // 2) == 0 and m % amx.ROWS == 0 if narrow.tiles else k % narrow.size == 0:
            return narrow
    return None


def multiply(cx: Context, narrow: Narrow, a: Value, b: Value, out: Buffer) -> None:
    """Add the product to `out`."""
    (m, k), n = a.type.dims, b.type.dims[1]
    left, depth = cx.buffers.get(a), k // narrow.size
    if left is None or left.order is not None:
        left = cx.em.buffer(a.type.dims, a.type.elem)
        pack_rows(cx, narrow, a, left)
    right = cx.em.buffer((depth * n,), "i32")
    pack_panels(cx, narrow, b, right, depth)
    shape = Shape(narrow.elem, m, n, depth, depth=depth, narrow=narrow)
    product(cx, shape, left.pointer, right.pointer, out.pointer)


def pack_rows(cx: Context, narrow: Narrow, v: Value, target: Buffer) -> None:
    """Write the left operand to a buffer of its rows, which may have more columns, as it is multiplied."""
    em, elem, (m, k) = cx.em, v.type.elem, v.type.dims
    count = min(LANES, k // narrow.size)
    if v not in cx.buffers and m % LANES == 0 and k % (count * narrow.size) == 0 and contiguous_dimension(cx, v) == 0:

        def tile(idx: Indices) -> None:
            """A square of groups, of rows from `idx` on; where there are fewer, it is filled up."""
            groups: list[Operand] = [_group(cx, narrow, v, idx, 1, g * narrow.size) for g in range(count)]
            groups += [ZEROS] * (LANES - count)
            for j, line in enumerate(transposed(cx, groups, "i32")):
                at = em.add(em.mul(em.add(idx[0].value, j), target.shape[1]), idx[1].value)
                place = em.offset(target.pointer, at, elem)
                if count < LANES:
                    some = ", ".join(f"i32 {i}" for i in range(count))
                    kind = vector("i32", LANES)
                    line = em.inst(f"shufflevector {kind} {line}, {kind} poison, <{count} x i32> <{some}>")
                _store(cx, count, line, place)

        with cx.lanes(LANES):
            _walk(cx, v, 1, count * narrow.size, lambda idx: vector_loop(cx, m, [v], [], idx, 0, tile))
        return

    def body(idx: Indices) -> None:
        cx.store_buffer(target, cx.evaluate(v, idx), idx)

    nest(cx, v.type.dims, [v], [], body)


def pack_panels(cx: Context, narrow: Narrow, v: Value, target: Buffer, rows: int) -> None:
    """Write the right operand to panels of `rows` rows of groups, of which it may be a part."""
    em, (k, n) = cx.em, v.type.dims
    width, depth = panel_width(cx, "i32", n), LANES * narrow.size

    def place(row: Operand, column: Operand) -> Operand:
        """Where the group of a row is, and of a column."""
        inside = em.inst(f"and i64 {column}, {width - 1}") if n > width else column
        group = em.inst(f"lshr i64 {row}, {narrow.size.bit_length() - 1}")
        panel = em.mul(em.sub(column, inside), rows) if n > width else 0
        return em.offset(target.pointer, em.add(em.add(panel, em.mul(group, width)), inside), "i32")

    if v not in cx.buffers and k % depth == 0 and contiguous_dimension(cx, v) == 0:

        def tile(idx: Indices) -> None:
            """A square of groups, of columns from `idx` on."""
            lines: list[Operand] = []
            for j in range(LANES):
                x = cx.operand(cx.evaluate(v, _moved(cx, idx, 1, j)))
                lines.append(em.inst(f"bitcast {cx.vector(v.type.elem)} {x} to {vector('i32', LANES)}"))
            with cx.lanes(LANES):
                groups = [_kept(cx, narrow, group) for group in transposed(cx, lines, "i32")]
            for g, group in enumerate(groups):
                _store(cx, LANES, group, place(em.add(idx[0].value, g * narrow.size), idx[1].value))

        with cx.lanes(depth):
            _walk(cx, v, 1, LANES, lambda idx: vector_loop(cx, k, [v], [], idx, 0, tile))
        return

    def body(row: Operand, column: Operand, lines: Sequence[Indices]) -> None:
        _store(cx, width, _kept(cx, narrow, _grouped(cx, narrow, v, lines)), place(row, column))

    visit(cx, v, width, narrow.size, body)


def _walk(cx: Context, v: Value, dim: int, step: int, body: Callable[[Indices], None]) -> None:
    """Visit every `step`th position along one dimension."""

    def at(i: Operand) -> None:
        with cx.scope():
            body(replaced((ZERO, ZERO), dim, Index(i, 0, cx.fresh_key("i"))))

    cx.em.loop(0, v.type.dims[dim], step, at)


def _moved(cx: Context, idx: Indices, dim: int, by: int) -> Indices:
    """An index some places further along a dimension without lanes."""
    return idx if by == 0 else replaced(idx, dim, Index(cx.em.add(idx[dim].value, by), 0, cx.fresh_key("t")))


def _group(cx: Context, narrow: Narrow, v: Value, idx: Indices, dim: int, start: int) -> Register:
    """Neighbours along `dim` from `start` places behind `idx`, in 32 bits of each lane, the first one lowest."""
    return _grouped(cx, narrow, v, [_moved(cx, idx, dim, start + r) for r in range(narrow.size)])


def _grouped(cx: Context, narrow: Narrow, v: Value, places: Sequence[Indices]) -> Register:
    """What is at some places, in 32 bits of each lane, the first one lowest."""
    em, t = cx.em, cx.vector("i32")
    bits = 32 // narrow.size
    found = Register("")
    for r, place in enumerate(places):
        x = cx.operand(cx.evaluate(v, place))
        wide = em.inst(f"zext {cx.vector(v.type.elem)} {x} to {t}")
        if r:
            wide = em.inst(f"shl {t} {wide}, {splat(bits * r, 'i32', cx.width)}")
        found = em.inst(f"or {t} {found}, {wide}") if r else wide
    return found


def _kept(cx: Context, narrow: Narrow, groups: Operand) -> Operand:
    """Groups of the right operand as they are stored: 8-bit numbers 128 higher, where they are to have no sign."""
    if not narrow.shifted:
        return groups
    return cx.em.inst(f"xor {cx.vector('i32')} {groups}, {splat(HIGH, 'i32', cx.width)}")


def _store(cx: Context, width: int, groups: Operand, place: Operand) -> None:
    cx.em.line(f"store {vector('i32', width)} {groups}, ptr {place}, align 4")
