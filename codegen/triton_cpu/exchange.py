"""`x ^ xor_sum(x)` along an axis of two elements: each element becomes its partner, as in `tl.sort` and `tl.flip`.

Triton has no other way to write that exchange. Read as one operation it takes neither a reduction nor a loop of its
own: its operand is in memory, and where the result is evaluated, the other position along the axis is read.
"""

from __future__ import annotations

from opweave.codegen.instructions.operands import LLVMType, Operand, Register
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.lanes import Index, Indices, Lanes, replaced
from opweave.codegen.triton_cpu.loops import materialize
from opweave.codegen.triton_cpu.operations import lazy, root
from opweave.registry.triton.ttir import Function, Op, Value, walk

EXCHANGE = "opweave.exchange"


def find_exchanges(function: Function) -> None:
    """Replace each such pair of operations by an `opweave.exchange`, whose attribute is the axis."""
    for op in list(walk(function.body)):
        if op.name != "arith.xori" or not op.result.type.is_tensor:
            continue
        for x, other in (op.operands, op.operands[::-1]):
            reduction = _reduction_behind(other)
            if reduction is None or reduction.operands != [x] or not _is_xor_of_two(reduction, x):
                continue
            axis = reduction.int_attr("axis")
            if _stands_again(other, reduction, axis):
                op.name, op.attrs, op.operands = EXCHANGE, f"axis = {axis}", [x]
                _drop_use(other, op)
                break


def _reduction_behind(v: Value) -> Op | None:
    """The reduction that `v` spreads over an axis again."""
    while v.op is not None and v.op.name in ("tt.broadcast", "tt.expand_dims", "tt.splat"):
        v = v.op.operands[0]
    return v.op if v.op is not None and v.op.name == "tt.reduce" else None


def _is_xor_of_two(op: Op, x: Value) -> bool:
    region = op.regions[0]
    if x.type.dims[op.int_attr("axis")] != 2 or len(region) != 1 or len(region[0].ops) != 2:
        return False
    combine, end = region[0].ops
    return combine.name == "arith.xori" and combine.operands == region[0].args and end.operands == combine.results


def _stands_again(v: Value, reduction: Op, axis: int) -> bool:
    """Whether the way from the reduction to `v` puts the axis back where it was."""
    rank = len(reduction.operands[0].type.dims)
    while v.op is not None and v.op is not reduction:
        if v.op.name == "tt.expand_dims" and v.op.int_attr("axis") != axis:
            return False
        if v.op.name == "tt.splat" and rank != 1:
            return False
        if v.op.name == "tt.broadcast":  # only along the axis
            source = v.op.operands[0].type.dims
            if any(a != b and d != axis for d, (a, b) in enumerate(zip(source, v.type.dims, strict=True))):
                return False
        v = v.op.operands[0]
    return True


def _drop_use(v: Value, user: Op) -> None:
    """`user` no longer uses v: what is used by nothing then goes."""
    v.users.remove(user)
    op = v.op
    if op is None or any(r.users for r in op.results):
        return
    op.block.ops.remove(op)
    for operand in dict.fromkeys(op.operands):
        _drop_use(operand, op)


@root(EXCHANGE)
def _prepare_exchange(cx: Context, op: Op) -> None:
    """The operand is read at two places: it must be in memory (what only looks at its bits otherwise comes after)."""
    source = op.operands[0]
    while source not in cx.buffers and source.op is not None and source.op.name == "tt.bitcast":
        source = source.op.operands[0]
    materialize(cx, [source])


@lazy(EXCHANGE, rearranges=True)
def _exchange(cx: Context, v: Value, idx: Indices) -> Lanes:
    assert v.op is not None
    axis, source = v.op.int_attr("axis"), v.op.operands[0]
    i = idx[axis]
    if i.lane and cx.width == 2:  # the whole axis is in the lanes
        x = cx.evaluate(source, idx)
        t = cx.type_of(x)
        return x if x.uniform else Lanes("vector", _swapped(cx, cx.operand(x), t), x.elem)
    partner = Index(cx.em.sub(1, i.value), 0, f"other {i.key}")
    return cx.evaluate(source, replaced(idx, axis, partner))


def _swapped(cx: Context, x: Operand, t: LLVMType) -> Register:
    return cx.em.inst(f"shufflevector {t} {x}, {t} poison, <2 x i32> <i32 1, i32 0>")
