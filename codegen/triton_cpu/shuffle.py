"""Operations that move elements between positions: join, split, cat, gather, histogram."""

from __future__ import annotations

from opweave.codegen.instructions.emit import LLVM_TYPE, SIZE, Buffer, splat, storage, vector
from opweave.codegen.instructions.operands import FALSE, I1, I8, I64, PTR, TRUE, VOID, ZEROS
from opweave.codegen.triton_cpu.access import report
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.elementwise import cast, compare, select
from opweave.codegen.triton_cpu.lanes import Index, Indices, Lanes
from opweave.codegen.triton_cpu.loops import fill, materialize, outer_loops
from opweave.codegen.triton_cpu.operations import lazy, root
from opweave.registry.triton.ttir import Op, Value


def index_lanes(cx: Context, i: Index) -> Lanes:
    """A position as an i64 value."""
    return Lanes("affine", 0, "i64", i.lane, i.key) if i.lane else Lanes("uniform", i.value, "i64")


@lazy("tt.join", cost=0, rearranges=True)
def _join(cx: Context, v: Value, idx: Indices) -> Lanes:
    """The last position, 0 or 1, picks the operand."""
    assert v.op is not None
    a, b = (cx.evaluate(o, idx[:-1]) for o in v.op.operands)
    last = idx[-1]
    if last.value in (0, 1) and not last.lane:
        return a if last.value == 0 else b
    return select(cx, compare(cx, "eq", index_lanes(cx, last), Lanes("uniform", 0, "i64")), a, b)


@lazy("tt.split", cost=0, rearranges=True)
def _split(cx: Context, v: Value, idx: Indices) -> Lanes:
    assert v.op is not None
    return cx.evaluate(v.op.operands[0], (*idx, Index(v.index, 0, f"split{v.index}")))


@root("tt.cat")
def _cat(cx: Context, op: Op) -> None:
    """One buffer that the operands fill one after the other."""
    buffer = cx.em.buffer(op.result.type.dims, op.result.type.elem)
    position = 0
    for v in op.operands:
        start = cx.em.offset(buffer.pointer, position, buffer.elem)
        fill(cx, [v], [Buffer(start, v.type.dims, buffer.elem)])
        position += v.type.numel
    cx.buffers[op.result] = buffer


@root("tt.gather", lingers=True)
def _prepare_gather(cx: Context, op: Op) -> None:
    """The source is read at any place: it must be in memory. The gather itself stays lazy."""
    materialize(cx, [op.operands[0]])


@lazy("tt.gather", rearranges=True)
def _gather(cx: Context, v: Value, idx: Indices) -> Lanes:
    assert v.op is not None
    em, op, axis = cx.em, v.op, v.op.int_attr("axis")
    buffer = cx.buffers[op.operands[0]]
    at = cx.evaluate(op.operands[1], idx)
    picked = at if SIZE[at.elem] == 8 else cast(cx, "zext", at, "i64")
    parts = [picked if d == axis else index_lanes(cx, i) for d, i in enumerate(idx)]
    w, values = cx.operands(parts)
    t = vector("i64", w)
    position = values[0]
    for extent, value in zip(buffer.shape[1:], values[1:], strict=True):
        position = em.inst(f"mul {t} {position}, {splat(extent, 'i64', w)}")
        position = em.inst(f"add {t} {position}, {value}")
    if cx.features.sanitize:
        far = compare(cx, "uge", picked, Lanes("uniform", buffer.shape[axis], "i64"))
        report(cx, op, "index", far, idx)
    mem = storage(buffer.elem)
    if w == 1:
        x = em.inst(f"load {LLVM_TYPE[mem]}, ptr {em.offset(buffer.pointer, position, mem)}")
        result = Lanes("uniform" if all(p.uniform for p in parts) else "vector", x, mem)
    else:
        pointers = em.inst(f"getelementptr {LLVM_TYPE[mem]}, ptr {buffer.pointer}, {t} {position}")
        result = Lanes("vector", cx.gather(mem, pointers, cx.constant(TRUE, "i1"), ZEROS), mem)
    return cast(cx, "trunc", result, "i1") if buffer.elem == "i1" else Lanes(result.kind, result.value, buffer.elem)


@root("tt.histogram")
def _histogram(cx: Context, op: Op) -> None:
    """Counts, element by element; elements that are masked off or outside all bins are left out."""
    em, source = cx.em, op.operands[0]
    counts = em.buffer(op.result.type.dims, op.result.type.elem)
    t, bins = LLVM_TYPE[counts.elem], op.result.type.numel
    size = bins * SIZE[counts.elem]
    em.call(VOID, "llvm.memset.p0.i64", [(PTR, counts.pointer), (I8, 0), (I64, size), (I1, FALSE)])

    def element(idx: Indices) -> None:
        x = cx.evaluate(source, idx)
        inside = em.inst(f"icmp ult {LLVM_TYPE[x.elem]} {x.value}, {bins}")
        if len(op.operands) > 1:
            inside = em.inst(f"and i1 {inside}, {cx.evaluate(op.operands[1], idx).value}")

        def count() -> None:
            wide = x.value if SIZE[x.elem] == 8 else em.inst(f"zext {LLVM_TYPE[x.elem]} {x.value} to i64")
            slot = em.offset(counts.pointer, wide, counts.elem)
            seen = em.inst(f"load {t}, ptr {slot}")
            em.line(f"store {t} {em.inst(f'add {t} {seen}, 1')}, ptr {slot}")

        em.when(inside, count)

    materialize(cx, [source] if cx.cost(source) > 0 else [])
    with cx.lanes(1):
        outer_loops(cx, source.type.dims, range(len(source.type.dims)), element)
    cx.buffers[op.result] = counts
