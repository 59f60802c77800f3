"""tl.dot of bfloat16 and 8-bit numbers by the machine's instructions for them, in groups along what is summed over.

bfloat16 is summed in float32, as on GPUs; AMX and AVX512-BF16 take numbers below the smallest normal one, 2^-126, as
zero, and round to such numbers likewise. 8-bit numbers are summed exactly.

The left operand lies row-major, the right one in panels of rows of groups: group g of column j holds what rows
g * size, g * size + 1, ... have there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from opweave.codegen.instructions.emit import Buffer, splat, vector
from opweave.codegen.instructions.operands import Operand, Register
from opweave.codegen.native import amx
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.elementwise import binary, constant
from opweave.codegen.triton_cpu.lanes import ZERO, Index, Indices, Key, replaced
from opweave.codegen.triton_cpu.loops import contiguous_dimension, everywhere, nest, vector_loop
from opweave.codegen.triton_cpu.microkernel import HIGH, LANES, NARROW, Narrow, Shape, product
from opweave.codegen.triton_cpu.packing import panel_width
from opweave.codegen.triton_cpu.plan import bounded_everywhere
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
    if left is None or left.order is not None or narrow.shifted:
        left = cx.em.buffer(a.type.dims, a.type.elem)
        pack_rows(cx, narrow, a, left)
    right = cx.em.buffer((depth * n,), "i32")
    pack_panels(cx, narrow, b, right, depth)
    shape = Shape(narrow.elem, m, n, depth, depth=depth, narrow=narrow)
    product(cx, shape, left.pointer, right.pointer, out.pointer)


def pack_rows(cx: Context, narrow: Narrow, v: Value, target: Buffer) -> None:
    """Write the left operand to a buffer of its rows, which may have more columns, as it is multiplied."""
    em, elem, (m, k) = cx.em, v.type.elem, v.type.dims
    depth = LANES * narrow.size
    if v not in cx.buffers and m % LANES == 0 and k % depth == 0 and contiguous_dimension(cx, v) == 0:

        def tile(idx: Indices) -> None:
            """A square of groups, of rows from `idx` on."""
            groups = [_group(cx, narrow, v, idx, 1, g * narrow.size) for g in range(LANES)]
            for j, line in enumerate(transposed(cx, groups, "i32")):
                at = em.add(em.mul(em.add(idx[0].value, j), target.shape[1]), idx[1].value)
                place = em.offset(target.pointer, at, elem)
                _store(cx, LANES, line if not narrow.shifted else _shift(cx, line), place)

        with cx.lanes(LANES):
            _walk(cx, v, 1, depth, lambda idx: vector_loop(cx, m, [v], [], idx, 0, tile))
        return

    def body(idx: Indices) -> None:
        x = cx.evaluate(v, idx)
        cx.store_buffer(target, binary(cx, "xor", [x, constant(elem, -128)]) if narrow.shifted else x, idx)

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
                groups = transposed(cx, lines, "i32")
            for g, group in enumerate(groups):
                _store(cx, LANES, group, place(em.add(idx[0].value, g * narrow.size), idx[1].value))

        with cx.lanes(depth):
            _walk(cx, v, 1, LANES, lambda idx: vector_loop(cx, k, [v], [], idx, 0, tile))
        return

    keys, lane = [cx.fresh_key("k") for _ in range(2)], cx.fresh_key("v")
    rows_apart = [cx.fresh_key("t") for _ in range(narrow.size)]

    def groups(assumed: dict[Key, bool]) -> None:
        """All groups, where masks are known to be true, or nothing is known."""
        saved, cx.assumed = cx.assumed, {**cx.assumed, **assumed}

        def step(row: Operand, column: Operand) -> None:
            with cx.scope():
                cx.positioned, cx.origins[lane] = True, column
                at = Index(column, 1, lane)
                lines = [(Index(em.add(row, r), 0, key), at) for r, key in enumerate(rows_apart)]
                _store(cx, width, _grouped(cx, narrow, v, lines), place(row, column))
                cx.positioned = False

        with cx.scope():
            em.loop(0, k, narrow.size, lambda row: em.loop(0, n, width, lambda column: step(row, column)))
        cx.assumed = saved

    with cx.lanes(width):
        if v in cx.buffers or not bounded_everywhere(cx, [v], [], v.type.dims, keys):
            groups({})
            return
        with cx.scope():
            conditions, comparisons = everywhere(cx, [v], [], v.type.dims, keys)
        variants = {keys[0]: rows_apart, keys[1]: [lane]}
        assumed = {
            (leaf, tuple(names)): True
            for leaf, at in comparisons
            for names in itertools.product(*(variants.get(name, (name,)) for name in at))
        }
        if not conditions:
            groups(assumed)
            return
        whole = conditions[0]
        for more in conditions[1:]:
            whole = em.inst(f"and i1 {whole}, {more}")
        em.when(whole, lambda: groups(assumed), lambda: groups({}))


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


def _shift(cx: Context, groups: Operand) -> Register:
    """8-bit numbers 128 higher."""
    return cx.em.inst(f"xor {cx.vector('i32')} {groups}, {splat(HIGH, 'i32', cx.width)}")


def _store(cx: Context, width: int, groups: Operand, place: Operand) -> None:
    cx.em.line(f"store {vector('i32', width)} {groups}, ptr {place}, align 4")
