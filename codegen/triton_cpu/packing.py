"""Operands of tl.dot in memory as the microkernel reads them: the left one in rows, the right one in panels.

A panel is as many columns as the microkernel works on, row-major.
"""

from __future__ import annotations

from opweave.codegen.instructions.emit import FLOATS, SIZE, Buffer
from opweave.codegen.instructions.operands import Operand
from opweave.codegen.triton_cpu import tiles
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.elementwise import cast, to_f32
from opweave.codegen.triton_cpu.lanes import Indices, Lanes
from opweave.codegen.triton_cpu.loops import nest, outer_loops, vector_loop
from opweave.codegen.triton_cpu.microkernel import most_columns
from opweave.codegen.triton_cpu.refusal import unsupported
from opweave.registry.triton.ttir import Op, Value


def panel_width(cx: Context, elem: str, n: int) -> int:
    """Columns that the microkernel works on, of `n`, a power of two."""
    return min(n, most_columns(cx) * (cx.features.vector_bits // 8 // SIZE[elem]))


def pack_rows(cx: Context, op: Op, v: Value, target: Buffer) -> None:
    """Write an operand to a buffer of its rows, which may have more columns, in the buffer's type."""
    elem = target.elem
    check_operand(op, v, elem)
    if v not in cx.buffers and tiles.crossing(cx, v, elem) == (0, 1):

        def store(row: Operand, column: Operand, x: Operand) -> None:
            at = cx.em.add(cx.em.mul(row, target.shape[1]), column)
            _store_vector(cx, x, target, at)

        # Vectors along the columns come out of tiles that were read along the rows.
        tiles.read_across(cx, v, elem, 0, lambda x: _widen(cx, x, elem), store)
        return

    def body(idx: Indices) -> None:
        cx.store_buffer(target, _widen(cx, cx.evaluate(v, idx), elem), idx)

    nest(cx, v.type.dims, [v], [], body)


def pack_panels(cx: Context, op: Op, v: Value, target: Buffer, depth: int) -> None:
    """Write an operand to panels of `depth` rows, of which it may be a part, in the buffer's type."""
    elem = target.elem
    check_operand(op, v, elem)
    em, (k, n) = cx.em, v.type.dims
    width = panel_width(cx, elem, n)

    def place(row: Operand, column: Operand) -> Operand:
        inside = 0 if column == 0 else column if n == width else em.inst(f"and i64 {column}, {width - 1}")
        panel = em.sub(column, inside) if n > width else 0
        return em.add(em.add(em.mul(panel, depth), em.mul(row, width)), inside)

    if v not in cx.buffers and tiles.crossing(cx, v, elem) == (0, 1):
        tiles.read_across(
            cx, v, elem, 0, lambda x: _widen(cx, x, elem), lambda r, c, x: _store_vector(cx, x, target, place(r, c))
        )
        return

    def body(idx: Indices) -> None:
        x = cx.operand(_widen(cx, cx.evaluate(v, idx), elem))
        _store_vector(cx, x, target, place(idx[0].value, idx[1].value))

    with cx.lanes(width):
        outer_loops(cx, (k, n), (0,), lambda idx: vector_loop(cx, n, [v], [], idx, 1, body))


def check_operand(op: Op, v: Value, elem: str) -> None:
    """Refuse one that is not multiplied in this type."""
    if (v.type.elem in FLOATS) != (elem in FLOATS) or v.type.elem not in SIZE:
        raise unsupported(op, f"operands of type {v.type.elem} into {elem}")


def _widen(cx: Context, x: Lanes, elem: str) -> Lanes:
    if x.elem == elem:
        return x
    if elem in FLOATS:
        x = to_f32(cx, x)
        return x if x.elem == elem else cast(cx, "fpext", x, elem)
    return cast(cx, "sext", x, elem)


def _store_vector(cx: Context, x: Operand, target: Buffer, at: Operand) -> None:
    pointer = cx.em.offset(target.pointer, at, target.elem)
    cx.em.line(f"store {cx.vector(target.elem)} {x}, ptr {pointer}, align {SIZE[target.elem]}")
