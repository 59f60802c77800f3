"""tl.dot: a register-blocked microkernel on packed operands.

Both operands are packed in the type they are multiplied in: the left one row-major, the right one in panels as wide as
the microkernel, each row-major. The innermost loop over k keeps a block of `rows` x `columns` accumulators in
registers; what it reads of a panel stays in the first cache while all rows pass by. Where the accumulator is carried by
the enclosing loop and used only here, it is updated in place. Types that the machine has an instruction for are
multiplied as they are (`narrow_dot`), others of 8 and 16 bits are widened where they are packed.
"""

from __future__ import annotations

from opweave.codegen.instructions.emit import FLOATS, SIZE, Buffer
from opweave.codegen.instructions.operands import Operand
from opweave.codegen.triton_cpu import narrow_dot, tiles
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.control import copy
from opweave.codegen.triton_cpu.elementwise import cast, from_f32, to_f32
from opweave.codegen.triton_cpu.lanes import ZERO, Indices, Lanes
from opweave.codegen.triton_cpu.loops import fill, nest, outer_loops, vector_loop, vector_width
from opweave.codegen.triton_cpu.microkernel import Shape, most_columns, product
from opweave.codegen.triton_cpu.operations import root
from opweave.codegen.triton_cpu.refusal import unsupported
from opweave.registry.dataclass import dataclass
from opweave.registry.triton.ttir import Op, Value


@root("tt.dot")
def dot(cx: Context, op: Op) -> None:
    a, b, c = op.operands[:3]
    if len(a.type.dims) not in (2, 3):
        raise unsupported(op, "only two- and three-dimensional operands")
    elem = op.result.type.elem
    narrow = narrow_dot.instruction(cx, op)
    if narrow is not None:
        out = _accumulator(cx, op, c)
        narrow_dot.multiply(cx, narrow, a, b, out)
        cx.buffers[op.result] = out
        return
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
        product(cx, Shape(compute, m, n, k, isinstance(b, Panels)), *(p.pointer for p in parts))
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
