"""tl.dot: a register-blocked microkernel on packed operands.

Both operands are packed in the type they are multiplied in: the left one row-major, the right one in panels as wide as
the microkernel, each row-major. The innermost loop over k keeps a block of `rows` x `columns` accumulators in
registers; what it reads of a panel stays in the first cache while all rows pass by. Where the accumulator is carried by
the enclosing loop and used only here, it is updated in place. Types that the machine has an instruction for are
multiplied as they are (`narrow_dot`), others of 8 and 16 bits are widened where they are packed.
"""

from __future__ import annotations

from opweave.codegen.instructions.emit import Buffer
from opweave.codegen.triton_cpu import narrow_dot
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.control import copy
from opweave.codegen.triton_cpu.dot_loop import is_only_carried
from opweave.codegen.triton_cpu.elementwise import from_f32, to_f32
from opweave.codegen.triton_cpu.lanes import ZERO, Indices
from opweave.codegen.triton_cpu.loops import fill, vector_loop, vector_width
from opweave.codegen.triton_cpu.microkernel import Shape, product
from opweave.codegen.triton_cpu.operations import root
from opweave.codegen.triton_cpu.packing import pack_panels, pack_rows, panel_width
from opweave.codegen.triton_cpu.refusal import unsupported
from opweave.registry.dataclass import dataclass
from opweave.registry.triton.ttir import Op, Value


@root("tt.dot")
def dot(cx: Context, op: Op) -> None:
    a, b, c = op.operands[:3]
    if len(a.type.dims) not in (2, 3):
        raise unsupported(op, "only two- and three-dimensional operands")
    waiting = cx.waiting.get(op)
    if waiting is not None:
        waiting.take()
        return
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
        shape = Shape(compute, m, n, k, depth=k if isinstance(b, Panels) else 0)
        product(cx, shape, parts[0].pointer, parts[1].pointer, parts[2].pointer)
    if work is not out:
        _convert(cx, work, out)
    cx.buffers[op.result] = out


def _pack(cx: Context, op: Op, v: Value, elem: str) -> Buffer:
    """The operand in memory, row-major, in the type it is multiplied in."""
    known = cx.buffers.get(v)
    if known is not None and known.elem == elem and known.order is None:
        return known
    buffer = cx.em.buffer(v.type.dims, elem)
    pack_rows(cx, op, v, buffer)
    return buffer


@dataclass(frozen=True)
class Panels(Buffer):
    """A matrix as panels of columns, each row-major."""


def _panels_pay(cx: Context, op: Op, elem: str) -> bool:
    """Whether the right operand has several panels, and rows enough pass by each."""
    (m, _), n = op.operands[0].type.dims[-2:], op.operands[1].type.dims[-1]
    if cx.features.sanitize:
        return False
    several = n > panel_width(cx, elem, n)
    return len(op.operands[1].type.dims) == 2 and elem in ("f32", "f64") and several and m >= 12


def _pack_panels(cx: Context, op: Op, v: Value, elem: str) -> Panels:
    """The right operand in panels."""
    buffer = cx.em.buffer((v.type.numel,), elem)
    pack_panels(cx, op, v, buffer, v.type.dims[0])
    return Panels(buffer.pointer, v.type.dims, elem)


def _accumulator(cx: Context, op: Op, c: Value) -> Buffer:
    """Where the result goes: over the carried accumulator if nothing else reads it, else into a copy."""
    known = cx.buffers.get(c)
    if known is not None and is_only_carried(op):
        return known
    out = cx.em.buffer(op.result.type.dims, op.result.type.elem)
    if known is not None:
        copy(cx, known, out)
    else:
        fill(cx, [c], [out])
    return out


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
