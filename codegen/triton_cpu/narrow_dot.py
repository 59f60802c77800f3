"""tl.dot of bfloat16 and 8-bit numbers by the machine's instructions for them, in groups along what is summed over.

bfloat16 is summed in float32, as on GPUs; AVX512-BF16 takes numbers below the smallest normal one, 2^-126, as zero, and
rounds to such numbers likewise. 8-bit numbers are summed exactly.

The left operand lies row-major, the right one in panels of rows of groups: group g of column j holds what rows
g * size, g * size + 1, ... have there.
"""

from __future__ import annotations

from collections.abc import Callable

from opweave.codegen.instructions.emit import Buffer, splat, vector
from opweave.codegen.instructions.operands import ZEROS, Operand, Register
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.elementwise import binary, constant
from opweave.codegen.triton_cpu.lanes import ZERO, Index, Indices, replaced
from opweave.codegen.triton_cpu.loops import contiguous_dimension, nest, vector_loop
from opweave.codegen.triton_cpu.microkernel import (
    LANES,
    NARROW,
    Narrow,
    Shape,
    most_columns,
    multiply_groups,
    product,
)
from opweave.codegen.triton_cpu.tiles import transposed
from opweave.registry.triton.ttir import Op, Value

#: The highest bit of each byte.
_HIGH = -0x7F7F7F80


def instruction(cx: Context, op: Op) -> Narrow | None:
    """What multiplies the operands of tl.dot; None where the machine has nothing for them, or they are too small."""
    a, b = op.operands[:2]
    feature, narrow = NARROW.get(a.type.elem, ("", None))
    if narrow is None or not getattr(cx.features, feature) or cx.features.sanitize or cx.features.vector_bits != 512:
        return None
    if (b.type.elem, op.result.type.elem) != (a.type.elem, narrow.elem) or len(a.type.dims) != 2:
        return None
    return None if b.type.dims[1] % LANES or a.type.dims[1] % narrow.size else narrow


def multiply(cx: Context, narrow: Narrow, a: Value, b: Value, out: Buffer) -> None:
    """Add the product to `out`."""
    (m, k), n = a.type.dims, b.type.dims[1]
    left, right = _rows(cx, narrow, a), _panels(cx, narrow, b)
    correction = _corrections(cx, narrow, right, n, k // narrow.size) if narrow.shifted else None
    shape = Shape(narrow.elem, m, n, k // narrow.size, panels=True, narrow=narrow)
    product(cx, shape, left.pointer, right.pointer, out.pointer, correction)


def _rows(cx: Context, narrow: Narrow, v: Value) -> Buffer:
    """The left operand row-major, as it is multiplied."""
    known = cx.buffers.get(v)
    if known is not None and known.order is None and not narrow.shifted:
        return known
    em, elem, (m, k) = cx.em, v.type.elem, v.type.dims
    buffer, depth = em.buffer(v.type.dims, elem), LANES * narrow.size
    if known is None and m % LANES == 0 and k % depth == 0 and contiguous_dimension(cx, v) == 0:

        def tile(idx: Indices) -> None:
            """A square of groups, of rows from `idx` on."""
            groups = [_group(cx, narrow, v, idx, 1, g * narrow.size) for g in range(LANES)]
            for j, line in enumerate(transposed(cx, groups, "i32")):
                at = em.add(em.mul(em.add(idx[0].value, j), k), idx[1].value)
                _store(cx, LANES, line if not narrow.shifted else _shift(cx, line), em.offset(buffer.pointer, at, elem))

        with cx.lanes(LANES):
            _walk(cx, v, 1, depth, lambda idx: vector_loop(cx, m, [v], [], idx, 0, tile))
        return buffer

    def body(idx: Indices) -> None:
        x = cx.evaluate(v, idx)
        cx.store_buffer(buffer, binary(cx, "xor", [x, constant(elem, -128)]) if narrow.shifted else x, idx)

    nest(cx, v.type.dims, [v], [], body)
    return buffer


def _panels(cx: Context, narrow: Narrow, v: Value) -> Buffer:
    """The right operand in panels of rows of groups."""
    em, (k, n), width = cx.em, v.type.dims, _width(cx, v.type.dims[1])
    buffer, depth = em.buffer((k // narrow.size * n,), "i32"), LANES * narrow.size

    def place(row: Operand, column: Operand) -> Operand:
        """Where the group of a row is, and of a column."""
        inside = em.inst(f"and i64 {column}, {width - 1}") if n > width else column
        group = em.inst(f"lshr i64 {row}, {narrow.size.bit_length() - 1}")
        panel = em.mul(em.sub(column, inside), k // narrow.size) if n > width else 0
        return em.offset(buffer.pointer, em.add(em.add(panel, em.mul(group, width)), inside), "i32")

    if v not in cx.buffers and k % depth == 0 and contiguous_dimension(cx, v) == 0:

        def tile(idx: Indices) -> None:
            """A square of groups, of columns from `idx` on."""
            lines: list[Operand] = []
            for j in range(LANES):
                x = cx.operand(cx.evaluate(v, _moved(cx, idx, 1, j)))
                lines.append(em.inst(f"bitcast {cx.vector(v.type.elem)} {x} to {vector('i32', LANES)}"))
            with cx.lanes(LANES):
                groups = transposed(cx, lines, "i32")
            for g, group in enumerate(groups):
                _store(cx, LANES, group, place(em.add(idx[0].value, g * narrow.size), idx[1].value))

        with cx.lanes(depth):
            _walk(cx, v, 1, LANES, lambda idx: vector_loop(cx, k, [v], [], idx, 0, tile))
        return buffer

    def body(idx: Indices) -> None:
        _store(cx, width, _group(cx, narrow, v, idx, 0, 0), place(idx[0].value, idx[1].value))

    with cx.lanes(width):
        _walk(cx, v, 0, narrow.size, lambda idx: vector_loop(cx, n, [v], [], idx, 1, body))
    return buffer


def _width(cx: Context, n: int) -> int:
    """Columns of a panel: those that the microkernel works on."""
    return min(n, most_columns(cx) * LANES)


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
    em, t = cx.em, cx.vector("i32")
    bits = 32 // narrow.size
    found = Register("")
    for r in range(narrow.size):
        x = cx.operand(cx.evaluate(v, _moved(cx, idx, dim, start + r)))
        wide = em.inst(f"zext {cx.vector(v.type.elem)} {x} to {t}")
        if r:
            wide = em.inst(f"shl {t} {wide}, {splat(bits * r, 'i32', cx.width)}")
        found = em.inst(f"or {t} {found}, {wide}") if r else wide
    return found


def _shift(cx: Context, groups: Operand) -> Register:
    """8-bit numbers 128 higher."""
    return cx.em.inst(f"xor {cx.vector('i32')} {groups}, {splat(_HIGH, 'i32', cx.width)}")


def _store(cx: Context, width: int, groups: Operand, place: Operand) -> None:
    cx.em.line(f"store {vector('i32', width)} {groups}, ptr {place}, align 4")


def _corrections(cx: Context, narrow: Narrow, right: Buffer, n: int, k: int) -> Operand:
    """128 times the sum of each column of the right operand, `k` groups."""
    em, t, width = cx.em, vector("i32", LANES), _width(cx, n)
    buffer, high = em.buffer((n,), "i32"), splat(_HIGH, "i32", LANES)
    places = range(0, width, LANES)

    def panel(j: Operand) -> None:
        first = em.offset(right.pointer, em.mul(j, k), "i32")
        totals = [em.slot(t, ZEROS) for _ in places]

        def add(g: Operand) -> None:
            row = em.offset(first, em.mul(g, width), "i32")
            for place, total in zip(places, totals, strict=True):
                groups = em.inst(f"load {t}, ptr {em.offset(row, place, 'i32')}, align 4")
                added = multiply_groups(em, narrow, high, groups, em.inst(f"load {t}, ptr {total}"))
                em.line(f"store {t} {added}, ptr {total}")

        em.loop(0, k, 1, add)
        for place, total in zip(places, totals, strict=True):
            _store(cx, LANES, em.inst(f"load {t}, ptr {total}"), em.offset(buffer.pointer, em.add(j, place), "i32"))

    em.loop(0, n, width, panel)
    return buffer.pointer
