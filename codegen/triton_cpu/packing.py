"""Operands of tl.dot in memory as the microkernel reads them: the left one in rows, the right one in panels.

A panel is as many columns as the microkernel works on, row-major.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from opweave.codegen.instructions.emit import FLOATS, SIZE, Buffer
from opweave.codegen.instructions.operands import Operand
from opweave.codegen.triton_cpu import tiles
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.elementwise import cast, to_f32
from opweave.codegen.triton_cpu.lanes import Index, Indices, Key, Lanes
from opweave.codegen.triton_cpu.loops import contiguous_dimension, everywhere, nest, vector_width
from opweave.codegen.triton_cpu.microkernel import most_columns
from opweave.codegen.triton_cpu.plan import bounded_everywhere
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

    if len(v.type.dims) == 2 and not cx.features.sanitize and contiguous_dimension(cx, v) != 0:

        def row_part(row: Operand, column: Operand, lines: Sequence[Indices]) -> None:
            cx.store_buffer(target, _widen(cx, cx.evaluate(v, lines[0]), elem), lines[0])

        visit(cx, v, vector_width(cx, v.type.dims[1], [elem]), 1, row_part)
        return

    def body(idx: Indices) -> None:
        cx.store_buffer(target, _widen(cx, cx.evaluate(v, idx), elem), idx)

    nest(cx, v.type.dims, [v], [], body)


def pack_panels(cx: Context, op: Op, v: Value, target: Buffer, depth: int) -> None:
    """Write an operand to panels of `depth` rows, of which it may be a part, in the buffer's type."""
    elem = target.elem
    check_operand(op, v, elem)
    em, n = cx.em, v.type.dims[1]
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

    def body(row: Operand, column: Operand, lines: Sequence[Indices]) -> None:
        _store_vector(cx, cx.operand(_widen(cx, cx.evaluate(v, lines[0]), elem)), target, place(row, column))

    visit(cx, v, width, 1, body)


def visit(
    cx: Context, v: Value, width: int, step: int, body: Callable[[Operand, Operand, Sequence[Indices]], None]
) -> None:
    """Walk through a matrix, `step` rows and `width` columns at a time.

    What is emitted twice: for where all masks in it are true, and for where they may not be.

    Parameters
    ----------
    body : callable
        Gets the first row, the first column, and the index of each row there.
    """
    em, (m, n) = cx.em, v.type.dims
    keys, lane = [cx.fresh_key("k") for _ in range(2)], cx.fresh_key("v")
    rows = [cx.fresh_key("t") for _ in range(step)]

    def walk(assumed: dict[Key, bool]) -> None:
        saved, cx.assumed = cx.assumed, {**cx.assumed, **assumed}

        def at(row: Operand, column: Operand) -> None:
            with cx.scope():
                cx.positioned, cx.origins[lane] = True, column
                across = Index(column, 1, lane)
                body(row, column, [(Index(em.add(row, r), 0, key), across) for r, key in enumerate(rows)])
                cx.positioned = False

        with cx.scope():
            em.loop(0, m, step, lambda row: em.loop(0, n, width, lambda column: at(row, column)))
        cx.assumed = saved

    with cx.lanes(width):
        if v in cx.buffers or not bounded_everywhere(cx, [v], [], v.type.dims, keys):
            walk({})
            return
        with cx.scope():
            conditions, comparisons = everywhere(cx, [v], [], v.type.dims, keys)
        variants = {keys[0]: rows, keys[1]: [lane]}
        assumed = {
            (leaf, tuple(names)): True
            for leaf, at in comparisons
            for names in itertools.product(*(variants.get(name, (name,)) for name in at))
        }
        if not conditions:
            walk(assumed)
            return
        whole = conditions[0]
        for more in conditions[1:]:
            whole = em.inst(f"and i1 {whole}, {more}")
        em.when(whole, lambda: walk(assumed), lambda: walk({}))


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
